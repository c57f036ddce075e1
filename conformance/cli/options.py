"""Option values that the commands share: feature levels, operators, output formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from conformance.corpus import Shard
    from spec.levels import Level

    _LevelParam = click.ParamType[Level]
    _NameParam = click.ParamType[str]
    _ShardParam = click.ParamType[Shard]
else:  # generic only in newer versions of click
    _LevelParam = _NameParam = _ShardParam = click.ParamType

_F = TypeVar("_F", bound=Callable[..., Any])


class LevelType(_LevelParam):
    """A feature level: `3_0`, `3.0` or `DML_FEATURE_LEVEL_3_0`."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Level:
        from spec.levels import Level

        if isinstance(value, Level):
            return value
        try:
            return Level.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from spec.levels import Level

        return [CompletionItem(level.label) for level in Level if level.label.startswith(incomplete)]


class OperatorType(_NameParam):
    """An operator's name: `GATHER` or `DML_OPERATOR_GATHER`, in any case."""

    name = "operator"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from spec.registry import operator

        try:
            return operator(value.upper()).name
        except KeyError as error:
            self.fail(error.args[0], param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from spec.registry import operators

        return [CompletionItem(name) for name in operators() if name.startswith(incomplete.upper())]


class ShardType(_ShardParam):
    """One of several parts: `3/16`."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        from conformance.corpus import Shard

        if isinstance(value, Shard):
            return value
        try:
            return Shard.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


LEVEL = LevelType()
OPERATOR = OperatorType()
SHARD = ShardType()


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


def with_device_words(backend_name: str, *words: str | None) -> str:
    """The name of a directml backend with more words about its device, as `directml:5_2,no-doubles` has them.

    Raises:
        click.UsageError: there are words, but the backend is another.
    """
    family, _, device = backend_name.partition(":")
    given = [word for word in words if word]
    if given and family != "directml":
        raise click.UsageError(f"--device-profile and --d3d12 are for --backend directml, not for {backend_name}.")
    described = ",".join(filter(None, (device, *given)))
    return f"{family}:{described}" if given else backend_name
