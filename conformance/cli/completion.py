"""`completion`: the script that makes a shell complete commands, options, operators and levels."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

COMPLETE_VARIABLE = "_DML_CONFORMANCE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    \b
    bash   eval "$(dml-conformance completion bash)"            in ~/.bashrc
    zsh    eval "$(dml-conformance completion zsh)"             in ~/.zshrc
    fish   dml-conformance completion fish | source             in ~/.config/fish/config.fish

    The script calls the program again with _DML_CONFORMANCE_COMPLETE set; _DML_CONFORMANCE_COMPLETE=bash_source (or
    zsh_source, fish_source) prints it too.
    """
    root = context.find_root()
    cls = get_completion_class(shell)
    assert cls is not None
    click.echo(cls(root.command, {}, "dml-conformance", COMPLETE_VARIABLE).source())
