"""`dml-conformance accuracy`: how far from the exact value results are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.conformance.cli.lines import complain, echo
from dml_conformance.conformance.cli.options import OPERATOR, format_option
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.spec.accuracy import DIRECTML, TOLERANCES, Tolerance

if TYPE_CHECKING:
    from dml_conformance.backends.base import Backend, Capabilities
    from dml_conformance.conformance.accuracy.measure import Accuracy
    from dml_conformance.spec.datatypes import DataType

# What of the errors is told besides the largest one.
QUANTILE = 0.999


@click.command()
@click.option("--backend", "backend_name", required=True, metavar="NAME", help="As for certify.")
@click.option(
    "--operator",
    "names",
    multiple=True,
    type=OPERATOR,
    help="Operator such as ELEMENT_WISE_EXP; may be repeated. Without it all that are functions of numbers.",
)
@click.option(
    "--accuracy",
    "tolerance",
    type=click.Choice(tuple(TOLERANCES)),
    default=DIRECTML.name,
    show_default=True,
    help="Tolerance whose bounds results are held to.",
)
@click.option("--exhaustive", is_flag=True, help="Try all 4,294,967,296 FLOAT32 numbers where there is one argument.")
@click.option(
    "--per-binade",
    type=click.IntRange(1, 2**23),
    metavar="N",
    help="FLOAT32 numbers to try of each exponent and sign; 8,192 if not given.",
)
@click.option("--binades", is_flag=True, help="Show the errors by argument too; JSON has them anyway.")
@format_option("text", "json")
@click.pass_context
def accuracy(
    context: click.Context,
    backend_name: str,
    names: tuple[str, ...],
    tolerance: str,
    exhaustive: bool,
    per_binade: int | None,
    binades: bool,
    format_: str,
) -> None:
    """Measure how far from the exact values the results of operators are that compute element by element, or rows.

    One argument is all FLOAT16 numbers, and FLOAT32 numbers of every exponent, with --exhaustive all. Of several, and
    of rows, a sample is tried. Where a torch backend works on an accelerator, one argument is made and its results are
    judged there. The backend runs in this process.

    Exit code 0: all results are within the bounds; 1: some are not; 2: wrong usage, or nothing can be measured; 3: the
    backend failed, or the device does not compute what is expected.
    """
    if exhaustive and per_binade is not None:
        raise click.UsageError("--exhaustive and --per-binade exclude each other; give one of them.")
    from dml_conformance.backends.loading import load_backend
    from dml_conformance.conformance.accuracy.numbers import SAMPLED

    held_to = TOLERANCES[tolerance]
    backend = load_backend(backend_name)
    try:
        sampled = None if exhaustive else per_binade or SAMPLED
        found = list(_measured(backend, tuple(dict.fromkeys(names)), held_to, sampled))
        claims = backend.capabilities()
    finally:
        close = getattr(backend, "close", None)
        if close is not None:
            close()
    if not found:
        raise click.UsageError(f"--backend {backend_name} does none of what was asked for.")
    if format_ == "json":
        print_json(as_json(found, claims, held_to, is_exhaustive=exhaustive))
    else:
        _print(found, held_to, claims, with_binades=binades)
    context.exit(Exit.NOT_CONFORMANT if any(one.wrong for one in found) else Exit.CONFORMANT)


def _measured(backend: Backend, names: Sequence[str], tolerance: Tolerance, sampled: int | None) -> Iterator[Accuracy]:
    """Every operator with every type that it is measured with; what the backend refuses is told, and left out."""
    from dml_conformance.conformance.accuracy.measure import RefusedError, measure, works_on_device
    from dml_conformance.reports.views.console import Steps

    for name, data_type, count in list(_planned(backend, names, sampled)):
        with Steps(f"{name} {data_type.name}", count, "numbers") as steps:
            try:
                yield measure(
                    backend,
                    name,
                    data_type,
                    tolerance,
                    sampled=sampled,
                    on_device=works_on_device(backend) and data_type.size == 4,
                    advance=steps.advance,
                )
            except RefusedError as reason:
                complain(f"left out: {reason}")


def _planned(backend: Backend, names: Sequence[str], sampled: int | None) -> Iterator[tuple[str, DataType, int]]:
    """What is measured, and how many numbers are tried."""
    from dml_conformance.conformance.accuracy.functions import TYPES, function, functions
    from dml_conformance.conformance.accuracy.measure import AccuracyError
    from dml_conformance.conformance.accuracy.numbers import parts

    claimed = backend.capabilities().operators
    for name in names or [name for name in functions() if name in claimed]:
        found = [(data_type, of) for data_type in TYPES if (of := function(name, data_type))]
        if not found:
            raise AccuracyError(f"--operator {name}: expected a function of numbers, such as ELEMENT_WISE_EXP")
        for data_type, of in found:
            yield name, data_type, sum(part.size for part in parts(of, 2**24, sampled))


def as_json(
    found: Sequence[Accuracy], claims: Capabilities, tolerance: Tolerance, *, is_exhaustive: bool
) -> dict[str, Any]:
    """The results as `accuracy --format json` prints them.

    Returns:
        `format` (1; another number when a member changes its meaning), `backend` (name, device, versions), `accuracy`,
        `exhaustive` and `results`. A result has `operator`, `data_type`, `bound`, `tried`, `counted`, `wrong`, `worst`
        (argument, expected, found, error), `error` (the largest, in units in the last place; at which argument; what
        99.9 % do not exceed), `used` (the largest part of what the bound allows) and `binades` (from which argument, to
        which, error, used). What is not finite is a text; where there are several arguments, `argument` and `at` are
        lists, and the binades are those of the first floating-point one.
    """
    return {
        "format": 1,
        "backend": {"name": claims.name, "device": claims.device, "versions": dict(sorted(claims.versions.items()))},
        "accuracy": tolerance.name,
        "exhaustive": is_exhaustive,
        "results": [_result_json(one, tolerance) for one in found],
    }


def _result_json(one: Accuracy, tolerance: Tolerance) -> dict[str, Any]:
    from dml_conformance.spec.registry import operator

    error, at = one.error
    return {
        "operator": one.operator,
        "data_type": one.data_type.name,
        "bound": operator(one.operator).bound(tolerance, one.data_type),
        "tried": one.tried,
        "counted": one.counted,
        "wrong": one.wrong,
        "worst": [
            {
                "argument": _arguments(wrong.arguments),
                "expected": wrong.expected,
                "found": _number(wrong.found),
                "error": _number(wrong.error),
            }
            for wrong in one.worst
        ],
        "error": {"largest": _number(error), "at": _arguments(at), "quantile": _number(one.quantile(QUANTILE))},
        "used": _number(one.most_used),
        "binades": [
            {"from": _number(low), "to": _number(high), "error": _number(worst), "used": _number(used)}
            for low, high, worst, used in one.binades()
        ],
    }


def _arguments(arguments: Sequence[float]) -> Any:
    """One as it is, several as a list; 0 where nothing was counted."""
    numbers = [_number(each) for each in arguments] or [0.0]
    return numbers if len(numbers) > 1 else numbers[0]


def _number(number: float) -> float | str:
    """As JSON has it."""
    return number if math.isfinite(number) else str(number)


def _print(found: Sequence[Accuracy], tolerance: Tolerance, claims: Capabilities, *, with_binades: bool) -> None:
    print_table(
        ("operator", "type", "tried", "wrong", "error", "at", f"{QUANTILE:.1%}", "of bound"),
        (
            (
                one.operator,
                one.data_type.name,
                f"{one.tried:,}",
                f"{one.wrong:,}" if one.wrong else "-",
                f"{one.error[0]:.4g}",
                _text(one.error[1], 6),
                f"{one.quantile(QUANTILE):.3g}",
                f"{one.most_used:.2f}",
            )
            for one in found
        ),
        whole=8,
    )
    for one in found:
        if one.wrong:
            _print_wrong(one)
        if with_binades:
            _print_binades(one)
    tried, wrong = sum(one.tried for one in found), sum(one.wrong for one in found)
    echo()
    echo(f"{claims.name} on {claims.device}")
    echo(f"errors in units in the last place, held to the tolerance {tolerance.name}")
    echo(f"{tried:,} results, {wrong:,} wrong")


def _print_wrong(one: Accuracy) -> None:
    echo()
    echo(f"{one.operator} {one.data_type.name}, the farthest of {one.wrong:,} that are wrong:")
    print_table(
        ("of", "expected", "found", "error"),
        ((_text(w.arguments, 9), w.expected, f"{w.found:.9g}", f"{w.error:.4g}") for w in one.worst),
        whole=4,
    )


def _text(arguments: Sequence[float], digits: int) -> str:
    return ", ".join(f"{each:.{digits}g}" for each in arguments)


def _print_binades(one: Accuracy) -> None:
    echo()
    echo(f"{one.operator} {one.data_type.name} by argument:")
    print_table(
        ("from", "to", "error", "of bound"),
        ((f"{low:.6g}", f"{high:.6g}", f"{error:.4g}", f"{used:.2f}") for low, high, error, used in one.binades()),
        whole=4,
    )
