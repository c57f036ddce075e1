"""Option values that the commands share: feature levels, operators, output formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Generic, TypeVar

import click
from click.shell_completion import CompletionItem

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")


class ParsedType(click.ParamType, Generic[_T]):  # type: ignore[type-arg] # generic itself only in newer versions
    """What is parsed of a text.

    Args:
        name: of the kind of value.
        parse: makes the value; raises ValueError or KeyError, whose message says what was expected.
        known: texts that it may be completed to.
    """

    def __init__(self, name: str, parse: Callable[[str], _T], known: Callable[[], Iterable[str]] = list) -> None:
        self.name = name
        self._parse, self._known = parse, known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> _T:
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return] # it is converted already
        try:
            return self._parse(value)
        except (ValueError, KeyError) as error:
            self.fail(error.args[0], param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(text) for text in self._known() if text.startswith(incomplete.upper())]


def later(where: str) -> Callable[..., Any]:
    """What is `module:function` in this package, imported when it is called: `--help` and completion answer at once."""
    return lambda *arguments: resolve_name(f"dml_conformance.{where}")(*arguments)


def _levels() -> list[str]:
    from dml_conformance.spec.levels import Level

    return [level.label for level in Level]


def _operator(text: str) -> str:
    from dml_conformance.spec.registry import operator

    return operator(text.upper()).name


def _devices(text: str) -> tuple[int, ...]:
    if text.strip().lower() == "all":
        return ()
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isascii() and number.isdecimal() for number in numbers):
        raise ValueError(f"expected all, or numbers of devices such as 0,1, found {text!r}")
    found = tuple(map(int, numbers))
    if len(set(found)) < len(found):
        raise ValueError(f"a device is named twice in {text!r}")
    return found


def _walls(text: str) -> tuple[str, ...]:
    from dml_conformance.backends.processes.walls import ALL_WALLS

    found = tuple(wall.strip() for wall in text.split(","))
    if unknown := [wall for wall in found if wall not in ALL_WALLS]:
        raise ValueError(f"expected some of {', '.join(ALL_WALLS)}, found {unknown[0]!r}")
    return found


def _networks(text: str) -> tuple[str, ...]:
    from dml_conformance.conformance.exchange.networks.stored import networks_named

    return tuple(dict.fromkeys(name for each in text.split(",") for name in networks_named(each.strip())))


PATH = click.Path(path_type=Path)
LEVEL = ParsedType("level", later("spec.levels:Level.parse"), _levels)  # `3_0`, `3.0` or `DML_FEATURE_LEVEL_3_0`
# `GATHER` or `DML_OPERATOR_GATHER`, in any case.
OPERATOR = ParsedType("operator", _operator, later("spec.registry:operators"))
SHARD = ParsedType("shard", later("conformance.exchange.corpus:Shard.parse"))  # one of several parts: `3/16`
SIZE = ParsedType("size", later("backends.processes.limits:parse_size"))  # an amount of memory, `4GiB`, in bytes
DEVICES = ParsedType("devices", _devices)  # numbers of devices, `0,2`, each once; `all` is none in particular


NETWORKS = ParsedType("networks", _networks)  # names of networks, or beginnings of some


def format_option(*formats: str) -> Callable[[_F], _F]:
    """`--format`, the first being the default."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Form of the output.",
    )


def out_option(help_text: str, *flags: str, required: bool = True) -> Callable[[_F], _F]:
    """`--out`, a folder."""
    return click.option(*flags, "--out", "folder", required=required, type=PATH, help=help_text)


def replace_option(what: str) -> Callable[[_F], _F]:
    """`--replace`."""
    return click.option("--replace", is_flag=True, help=f"Replace {what}.")


def seed_option(what: str) -> Callable[[_F], _F]:
    """`--seed`."""
    return click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True, help=f"Of {what}.")


def campaign_seed_option(what: str) -> Callable[[_F], _F]:
    """`--seed`; None for one that is drawn."""
    return click.option(
        "--seed",
        type=ParsedType("seed", _seed_or_secret),
        default=0,
        show_default=True,
        metavar="N|secret",
        help=f"Of {what}; secret draws one, and tells a commitment to it first and the seed in the end.",
    )


def _seed_or_secret(text: str) -> int | None:
    if text == "secret":
        return None
    if text.isascii() and text.isdecimal() and len(text) <= 20 and int(text) < 2**64:
        return int(text)
    raise ValueError(f"expected a number from 0 to 2^64-1, or secret; found {text!r}")


def file_option(flag: str, name: str, metavar: str, help_text: str) -> Callable[[_F], _F]:
    """A file that a command reads or executes on."""
    return click.option(flag, name, type=PATH, metavar=metavar, help=help_text)


def walls_option(help_text: str) -> Callable[[_F], _F]:
    """`--require-walls`, names of walls."""
    return click.option(
        "--require-walls",
        "required_walls",
        type=ParsedType("walls", _walls),
        default=(),
        metavar="memory,descendants,files",
        help=help_text,
    )


results_argument = click.argument("results", metavar="RESULTS...", nargs=-1, required=True, type=PATH)
levels_option = click.option(
    "--level", "levels", multiple=True, type=LEVEL, help="Feature level such as 3_0; may be repeated."
)
operators_option = click.option(
    "--operator", "operators", multiple=True, type=OPERATOR, help="Operator such as GATHER; may be repeated."
)

# A value of `spec.validator.Reading`.
spec_option = click.option(
    "--spec",
    type=click.Choice(("documented", "observed")),
    default="documented",
    show_default=True,
    help="What the pages leave open stays open, or is decided as the real library was observed to.",
)
# A key of `spec.accuracy.TOLERANCES`.
accuracy_option = click.option(
    "--accuracy",
    type=click.Choice(("directml", "precise")),
    default="directml",
    show_default=True,
    help="How near results of arithmetic have to be: as DirectML's own, or as full-precision libraries'.",
)
# As a judge takes it.
repeat_option = click.option(
    "--repeat",
    type=click.IntRange(1, 10_000),
    default=2,
    show_default=True,
    help="Executions of each case, with other poison in its outputs each time; many hunt for races. "
    "Where it is 2, cases above 16 MiB are executed once.",
)


def isolation_options(command: _F) -> _F:
    """`--in-process`, `--time-limit`, `--memory-limit`; the command gets `limits: Limits | None`, None in process."""

    @wraps(command)
    def with_limits(
        *args: Any, in_process: bool, time_limit: float | None, memory_limit: int | None, **others: Any
    ) -> Any:
        from dml_conformance.backends.processes.limits import Limits

        if in_process and (time_limit, memory_limit) != (None, None):
            raise click.UsageError(
                "--in-process excludes --time-limit and --memory-limit, which nothing could enforce."
            )
        limits = None
        click.get_current_context().obj.has_backend = in_process
        if not in_process:
            limits = Limits(Limits.seconds if time_limit is None else time_limit, memory_limit)
        return command(*args, limits=limits, **others)

    for option in (
        click.option(
            "--memory-limit",
            type=SIZE,
            metavar="SIZE",
            help="Memory that the backend's process may take, such as 4GiB; without it there is no limit.",
        ),
        click.option(
            "--time-limit",
            type=click.FloatRange(min=0, min_open=True, max=86_400),
            metavar="SECONDS",
            help="Seconds that the backend may take over a case; 60 if not given.",
        ),
        click.option(
            "--in-process",
            is_flag=True,
            help="Run the backend in the harness's own process, for debugging: what ends the one ends the other.",
        ),
    ):
        with_limits = option(with_limits)
    return with_limits  # type: ignore[return-value]
