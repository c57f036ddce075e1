"""The page on bounds: how wide each is, and how much of it implementations need.

It is made of what `dml-conformance accuracy --format json` printed and certificates say (`docs/measured`), and of the
errors that the real library was seen to make (`spec/data/observed_accuracy.json`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.conformance.accuracy.functions import TYPES, computed, function, functions
from dml_conformance.spec.accuracy import DIRECTML, TOLERANCES, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import inputs
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.registry import operator
from dml_conformance.spec.sources import read_data

TOO_WIDE = 4.0  # times what is needed


class ObservedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The largest error that the real library was seen to make over a range.

    Attributes:
        over: the range.
        count: of results.
        error: in units in the last place.
        absolute: the largest difference from the exact value, maybe at another place.
        arguments: where the error was found.
        found: the result there.
    """

    over: str
    count: int
    error: float
    absolute: float
    arguments: tuple[float, ...]
    found: float


class ObservedAccuracy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was seen of one library on one device; `operators` by operator and data type."""

    library: str
    device: str
    measured: str
    method: str
    operators: dict[str, dict[str, tuple[ObservedError, ...]]]


class LargestError(msgspec.Struct, frozen=True):
    largest: float | str


class Result(msgspec.Struct, frozen=True):
    """Of what the command prints of an operator, what is needed here."""

    operator: str
    data_type: str
    bound: str
    wrong: int
    error: LargestError
    used: float | str


class MeasuredBackend(msgspec.Struct, frozen=True):
    name: str
    device: str
    versions: dict[str, str]


class MeasuredAccuracy(msgspec.Struct, frozen=True):
    """What the command prints."""

    backend: MeasuredBackend
    accuracy: str
    exhaustive: bool
    results: tuple[Result, ...]

    def of(self, name: str, data_type: DataType) -> Result | None:
        key = (name, data_type.name)
        return next((one for one in self.results if (one.operator, one.data_type) == key), None)


class JudgedErrors(msgspec.Struct, frozen=True):
    """Of what a certificate says of an operator's results, what is needed here."""

    operator: str
    data_type: str
    results: int
    largest_ulp: float
    of_the_bound: float
    wrong: int


class CampaignRun(msgspec.Struct, frozen=True):
    budget: str
    accuracy: str
    finished: str


class CampaignAccuracy(msgspec.Struct, frozen=True):
    """Of a certificate, what is needed here."""

    headline: str
    backend: MeasuredBackend
    run: CampaignRun
    accuracy: tuple[JudgedErrors, ...]


@cache
def observed_accuracy() -> ObservedAccuracy:
    return read_data("observed_accuracy", ObservedAccuracy)


def read_measured(folder: Path) -> list[MeasuredAccuracy]:
    """What is recorded in a folder, in the order of the files' names."""
    return [
        msgspec.json.decode(path.read_bytes(), type=MeasuredAccuracy) for path in sorted(folder.glob("accuracy-*.json"))
    ]


def read_campaigns(folder: Path) -> list[CampaignAccuracy]:
    """What is recorded of campaigns in a folder, in the order of the files' names."""
    return [
        msgspec.json.decode(path.read_bytes(), type=CampaignAccuracy) for path in sorted(folder.glob("campaign-*.json"))
    ]


def as_markdown(measured: Sequence[MeasuredAccuracy], campaigns: Sequence[CampaignAccuracy] = ()) -> str:
    """A table for each tolerance, and one of what the certificates have of all operators beside these."""
    sections = [
        _section(tolerance, [one for one in measured if one.accuracy == tolerance.name])
        for tolerance in TOLERANCES.values()
    ]
    return "\n\n".join([*sections, *([_in_campaigns(campaigns)] if campaigns else [])])


def _in_campaigns(campaigns: Sequence[CampaignAccuracy]) -> str:
    lines = [
        "## In campaigns",
        "",
        (
            "What the results of other operators took of their bounds in campaigns, by their certificates: 100 % is "
            "the last number that is right. An error in units in the last place stands beside it where it is known; of "
            "sums and products it is not, as their bounds are intervals."
        ),
        "",
    ]
    for one in campaigns:
        run = f"{one.run.budget}, tolerance {one.run.accuracy}, {one.run.finished[:10]}"
        lines.append(f"- {_described(one.backend)}; {run}: {one.headline}")
    found = [{(each.operator, each.data_type): each for each in one.accuracy} for one in campaigns]
    columns = ["operator", "type", *(one.backend.name for one in campaigns)]
    lines += ["", f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    for name, data_type in sorted({key for each in found for key in each if key[0] not in functions()}):
        cells = (_errors_cell(each.get((name, data_type))) for each in found)
        lines.append(f"| {' | '.join((name, data_type, *cells))} |")
    return "\n".join(lines)


def _errors_cell(errors: JudgedErrors | None) -> str:
    if errors is None:
        return ""
    known = f", {errors.largest_ulp:.3g} ULP" if errors.results else ""
    wrong = f", {errors.wrong:,} wrong" if errors.wrong else ""
    return f"{errors.of_the_bound:.0%}{known}{wrong}"


def _section(tolerance: Tolerance, measured: Sequence[MeasuredAccuracy]) -> str:
    lines = [f"## {tolerance.name}", "", f"{tolerance.summary[0].upper()}{tolerance.summary[1:]}.", ""]
    lines += [f"- {_about(one)}" for one in measured]
    if tolerance is DIRECTML:
        seen = observed_accuracy()
        lines.append(f"- DirectML: {seen.library} on {seen.device}, {seen.measured}; {seen.method}")
    headers = ["operator", "type", "bound", *(one.backend.name for one in measured)]
    headers += ["DirectML"] if tolerance is DIRECTML else []
    rows = [[*headers, "bound / needed"], ["---"] * (len(headers) + 1), *_rows(tolerance, measured)]
    lines += ["", *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)]
    return "\n".join(lines)


def _about(one: MeasuredAccuracy) -> str:
    of_one = "all numbers" if one.exhaustive else "a sample of FLOAT32, all of FLOAT16"
    return f"{_described(one.backend)}; {of_one}, where there is one argument, else a sample"


def _described(backend: MeasuredBackend) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in backend.versions.items())
    return f"{backend.name}: {backend.device}, {versions}"


def _rows(tolerance: Tolerance, measured: Sequence[MeasuredAccuracy]) -> Iterator[list[str]]:
    for name in functions():
        for data_type in TYPES:
            if function(name, data_type) is None or not operator(name).primitives:
                continue
            bound = operator(name).bound(tolerance, data_type)
            cells, needed = [], []
            for one in measured:
                text, used = _cell(one.of(name, data_type), bound)
                cells.append(text)
                needed.append(used)
            if tolerance is DIRECTML:
                text, used = _observed_cell(name, data_type)
                cells.append(text)
                needed.append(used)
            yield [name, data_type.name, bound, *cells, _ratio([used for used in needed if used is not None])]


def _cell(result: Result | None, bound: str) -> tuple[str, float | None]:
    """The largest error, how much of the bound that is, and of what is right that part."""
    if result is None:
        return "", None
    error = float(result.error.largest)
    if result.bound != bound:
        return f"{error:.3g}, held to another bound", None
    used = float(result.used)
    wrong = f", {result.wrong:,} wrong" if result.wrong else ""
    # Those that are wrong and no farther away than the bound allows are no numbers, or should be none.
    return (f"{error:.3g} ({used:.0%}){wrong}", used) if used <= 1 else (f"{error:.3g}{wrong}", None)


def _observed_cell(name: str, data_type: DataType) -> tuple[str, float | None]:
    """The same of what the real library was seen to do, at the places where its errors were the largest."""
    seen = observed_accuracy().operators.get(name, {}).get(data_type.name, ())
    of = function(name, data_type)
    if not seen or of is None or not of.found.is_element_wise:
        return "", None
    desc = of.desc(1, len(seen))
    arguments = zip(*(one.arguments for one in seen), strict=True)
    arrays = [
        np.array(each, NUMBERS[slot.tensor.data_type]) for slot, each in zip(inputs(desc), arguments, strict=True)
    ]
    found = computed(desc, arrays)
    assert found is not None
    results = np.array([one.found for one in seen], NUMBERS[data_type]).reshape(found.arguments[0].shape)
    judged = of.judged(found, results, DIRECTML)
    if not judged.is_counted.any():
        return "", None
    error, used = float(judged.error.max()), float(judged.used.max())
    primitives = operator(name).primitives
    absolute = PRIMITIVES[primitives[0]].bound(DIRECTML, data_type).absolute if len(primitives) == 1 else 0.0
    if absolute:  # the largest difference is elsewhere, and at least this part there, if that is the wider bound
        used = max([used, *(part for one in seen if (part := one.absolute / absolute) <= 1)])
    if not judged.is_right.all():
        return f"{error:.3g}, {int((~judged.is_right).sum())} wrong", None
    return f"{error:.3g} ({used:.0%})", used


def _ratio(needed: Sequence[float]) -> str:
    if not needed:
        return ""
    if not max(needed):
        return "**never needed**"
    ratio = 1 / max(needed)
    return f"**{ratio:.1f}**" if round(ratio, 1) > TOO_WIDE else f"{ratio:.1f}"
