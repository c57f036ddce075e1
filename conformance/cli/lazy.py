"""The root command: subcommands imported when they are called, and every exception turned into one line."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

import click

from dml_conformance.conformance.cli.errors import CommandState, Interruption, run
from dml_conformance.spec.errors import closest


class CommandLine(click.Group):
    """A group whose commands stand in other modules.

    Args:
        commands: by name, the `module:attribute` beside this one, and what the list of commands says of it.
    """

    def __init__(self, *args: Any, commands: Mapping[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.known = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.known:
            return None
        command = resolve_name(f"{__package__}.{self.known[cmd_name][0]}")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.known[name][1]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.known and (close := closest(args[0], self.known)):
            ctx.fail(f"No such command {args[0]!r}; did you mean {close}?")
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
        state = extra.setdefault("obj", CommandState(owns_process=args is None))

        def command() -> Any:
            return super(CommandLine, self).main(args, prog_name, complete_var, standalone_mode=False, **extra)

        if not standalone_mode:
            return command()
        _end_on_sigterm()
        try:
            code: Any = run(command, state)
        except SystemExit as end:
            code = end.code
        if state.has_backend and state.owns_process:
            atexit.register(_exit, code)  # called first, before what a backend has registered
        sys.exit(code)


def _exit(code: int) -> None:
    """End this process with a code that nothing else changes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _end_on_sigterm() -> None:
    """Being told to end, by a CI system that cancels for example, leaves as little behind as Ctrl-C does."""

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with suppress(ValueError):  # not in the main thread: whoever runs this there handles its own signals
        signal.signal(signal.SIGTERM, end)
