"""Option values that the commands share: feature levels, operators, output formats."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from pathlib import Path

    from dml_conformance.conformance.exchange.corpus import Shard
    from dml_conformance.spec.levels import Level

    _LevelParam = click.ParamType[Level]
    _SizeParam = click.ParamType[int]
    _NameParam = click.ParamType[str]
    _ShardParam = click.ParamType[Shard]
    _DevicesParam = click.ParamType[tuple[int, ...]]
    _ResourceParam = click.ParamType[tuple[str, float]]
else:  # generic only in newer versions of click
    _LevelParam = _NameParam = _ShardParam = _SizeParam = _DevicesParam = _ResourceParam = click.ParamType

_F = TypeVar("_F", bound=Callable[..., Any])


class LevelType(_LevelParam):
    """A feature level: `3_0`, `3.0` or `DML_FEATURE_LEVEL_3_0`."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Level:
        from dml_conformance.spec.levels import Level

        if isinstance(value, Level):
            return value
        try:
            return Level.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from dml_conformance.spec.levels import Level

        return [CompletionItem(level.label) for level in Level if level.label.startswith(incomplete)]


class OperatorParameter(_NameParam):
    """An operator's name: `GATHER` or `DML_OPERATOR_GATHER`, in any case."""

    name = "operator"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from dml_conformance.spec.registry import operator

        try:
            return operator(value.upper()).name
        except KeyError as error:
            self.fail(error.args[0], param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from dml_conformance.spec.registry import operators

        return [CompletionItem(name) for name in operators() if name.startswith(incomplete.upper())]


class ShardType(_ShardParam):
    """One of several parts: `3/16`."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        from dml_conformance.conformance.exchange.corpus import Shard

        if isinstance(value, Shard):
            return value
        try:
            return Shard.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SizeType(_SizeParam):
    """An amount of memory, `4GiB`, in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from dml_conformance.backends.processes.limits import parse_size

        if isinstance(value, int):
            return value
        try:
            return parse_size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class DevicesType(_DevicesParam):
    """Numbers of devices, `0,2`, each once; `all` is none in particular."""

    name = "devices"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        if value.strip().lower() == "all":
            return ()
        numbers = [text.strip() for text in value.split(",")]
        if not all(text.isascii() and text.isdecimal() for text in numbers):
            self.fail(f"expected all, or numbers of devices such as 0,1, found {value!r}", param, ctx)
        found = tuple(map(int, numbers))
        if len(set(found)) < len(found):
            self.fail(f"a device is named twice in {value!r}", param, ctx)
        return found


class ResourceType(_ResourceParam):
    """What a worker of a cluster was started with: `cuda`, which is `cuda=1`, or `memory=4e9`."""

    name = "resource"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, equals, number = value.partition("=")
        try:
            amount = float(number) if equals else 1.0
        except ValueError:
            amount = 0.0
        if not name.strip() or not 0 < amount < float("inf"):
            self.fail(f"expected a resource of workers such as cuda or cuda=2, found {value!r}", param, ctx)
        return name.strip(), amount


LEVEL = LevelType()
OPERATOR = OperatorParameter()
SHARD = ShardType()
SIZE = SizeType()
DEVICES = DevicesType()
RESOURCE = ResourceType()


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


def spec_option() -> Callable[[_F], _F]:
    """`--spec`, a value of `spec.validator.Reading`."""
    return click.option(
        "--spec",
        type=click.Choice(("documented", "observed")),
        default="documented",
        show_default=True,
        help="What the pages leave open stays open, or is decided as the real library was observed to.",
    )


def repeat_option() -> Callable[[_F], _F]:
    """`--repeat`, as a judge takes it."""
    return click.option(
        "--repeat",
        type=click.IntRange(1, 10_000),
        default=2,
        show_default=True,
        help="Executions of each case, with other poison in its outputs each time; many hunt for races.",
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


def with_device_words(backend_name: str, profile: str | None, d3d12: Path | None) -> str:
    """The name of a directml backend with more words about its device, as `directml:5_2,no-doubles` has them.

    Args:
        backend_name: as it was given.
        profile: of the null device; None for none.
        d3d12: library that the backend executes on; a `d3d12` that the name has already then means this one.

    Raises:
        click.UsageError: there are words, but the backend is another, or has another device.
    """
    if profile is None and d3d12 is None:
        return backend_name
    family, _, device = backend_name.partition(":")
    if family != "directml":
        raise click.UsageError(f"--device-profile and --d3d12 are for --backend directml, not for {backend_name}.")
    words = [word for word in (*device.split(","), profile) if word]
    if d3d12 is not None:
        named = f"d3d12={d3d12}"
        for word in words:
            if word.partition("=")[0] in ("d3d12", "warp") and word not in ("d3d12", named):
                raise click.UsageError(f"--d3d12 {d3d12} and {word!r} of {backend_name} are two devices; name one.")
        words = [*(word for word in words if word not in ("d3d12", named)), named]
    return f"{family}:{','.join(words)}"
