"""The root command: subcommands imported when they are called, and every exception turned into one line."""

from __future__ import annotations

import difflib
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from dml_conformance.conformance.cli.errors import CommandState, Interruption, run


class CommandLine(click.Group):
    """A group whose commands stand in other modules.

    Args:
        commands_at: `module:attribute` of each command, by name.
        short_help_of: what the list of commands says of each, by name; where it is None, they are imported for it.
    """

    def __init__(
        self, *args: Any, commands_at: Mapping[str, str], short_help_of: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.commands_at, self.short_help_of = commands_at, short_help_of

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_at:
            return None
        module, _, attribute = self.commands_at[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.short_help_of is None:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.short_help_of[name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        close = difflib.get_close_matches(args[0], self.commands_at, n=1)
        if args[0] not in self.commands_at and close:
            ctx.fail(f"No such command {args[0]!r}; did you mean {close[0]}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        # click would end both with code 1, which here says that a backend is not conformant.
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, KeyboardInterrupt) as error:
            raise Interruption from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """As click's, with the exit codes of this program and one line for every error."""
        state = extra.setdefault("obj", CommandState())

        def command() -> Any:
            return super(CommandLine, self).main(args, prog_name, complete_var, standalone_mode=False, **extra)

        if not standalone_mode:
            return command()
        _end_on_sigterm()
        sys.exit(run(command, state))


def _end_on_sigterm() -> None:
    """Being told to end, by a CI system that cancels for example, leaves as little behind as Ctrl-C does."""

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with suppress(ValueError):  # not in the main thread: whoever runs this there handles its own signals
        signal.signal(signal.SIGTERM, end)
