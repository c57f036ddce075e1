"""The page on bounds: what stands in its cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dml_conformance.conformance.accuracy.functions import functions
from dml_conformance.conformance.accuracy.page import MeasuredAccuracy, as_markdown, observed_accuracy, read_campaigns
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator_facts import operator_facts
from dml_conformance.spec.registry import operator

SQRT = "ELEMENT_WISE_SQRT"
BOUND = operator(SQRT).bound(DIRECTML, DataType.FLOAT32)


def measured(**changed: Any) -> MeasuredAccuracy:
    result = {
        "operator": SQRT,
        "data_type": "FLOAT32",
        "bound": BOUND,
        "wrong": 0,
        "error": {"largest": 0.125},
        "used": 0.125,
    }
    return msgspec.convert(
        {
            "backend": {"name": "mine", "device": "a device", "versions": {"mine": "1"}},
            "accuracy": DIRECTML.name,
            "exhaustive": True,
            "results": [result | changed],
        },
        MeasuredAccuracy,
    )


def row(page: str, tolerance: str, name: str = SQRT, data_type: str = "FLOAT32") -> list[str]:
    section = page.partition(f"## {tolerance}\n")[2].partition("\n## ")[0]
    (line,) = (line for line in section.splitlines() if line.startswith(f"| {name} | {data_type} |"))
    return [cell.strip() for cell in line.strip("|").split(" | ")][2:]


def test_what_is_needed_most_is_what_counts() -> None:
    page = as_markdown([measured(), measured(used=0.25)])
    assert row(page, "directml")[1:3] == ["0.125 (12%)", "0.125 (25%)"]
    assert row(page, "directml")[3].startswith("0.944 (94%)")  # DirectML
    assert row(page, "directml")[4] == "1.1"
    assert "- mine: a device, mine 1; all numbers" in page


@pytest.mark.parametrize(("used", "ratio"), [(0.125, "**8.0**"), (0.25, "4.0"), (0.0, "**never needed**")])
def test_a_bound_that_is_too_wide_is_marked(used: float, ratio: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = msgspec.structs.replace(observed_accuracy(), operators={})
    monkeypatch.setattr("dml_conformance.conformance.accuracy.page.observed_accuracy", lambda: nothing)
    page = as_markdown([measured(used=used)])
    assert row(page, "directml")[-1] == ratio
    assert row(page, "precise")[-1] == ""


@pytest.mark.parametrize(
    ("changed", "cell"),
    [
        ({"wrong": 1234, "used": 1.5}, "0.125, 1,234 wrong"),
        ({"wrong": 1234, "used": 0.5}, "0.125 (50%), 1,234 wrong"),
        ({"bound": "2 ULP"}, "0.125, held to another bound"),
        ({"used": "inf", "wrong": 1, "error": {"largest": "inf"}}, "inf, 1 wrong"),
        ({"operator": "ELEMENT_WISE_EXP"}, ""),
    ],
)
def test_what_does_not_say_what_is_needed_does_not_count(changed: dict[str, Any], cell: str) -> None:
    cells = row(as_markdown([measured(**changed)]), "directml")
    assert cells[1] == cell
    assert cells[-1] == "1.1"  # by DirectML


def test_what_was_observed_is_of_operators_that_there_are() -> None:
    seen = observed_accuracy()
    assert set(seen.operators) <= set(operator_facts())
    assert len(set(seen.operators) & set(functions())) > 15
    for types in seen.operators.values():
        assert set(types) <= {"FLOAT32", "FLOAT16"}
        assert all(one.count > 0 and one.error >= 0 and one.arguments for rows in types.values() for one in rows)


def test_what_campaigns_took_of_the_bounds_of_other_operators(tmp_path: Path) -> None:
    """Those that are tried on numbers and rows stand above; a certificate that lacks one leaves its cell empty."""

    def certificate(name: str, *accuracy: tuple[str, str, int, float, float, int]) -> None:
        keys = ("operator", "data_type", "results", "largest_ulp", "of_the_bound", "wrong")
        made = {
            "headline": "agrees",
            "backend": {"name": name, "device": "a device", "versions": {"mine": "1"}},
            "run": {"budget": "standard", "accuracy": "directml", "finished": "2026-11-30T03:31:30Z"},
            "accuracy": [dict(zip(keys, each, strict=True)) for each in accuracy],
        }
        (tmp_path / f"campaign-{name}.json").write_bytes(msgspec.json.encode(made))

    certificate("one", ("GEMM", "FLOAT32", 0, 0.0, 0.25, 0), (SQRT, "FLOAT32", 9, 0.5, 0.5, 0))
    certificate("two", ("GEMM", "FLOAT32", 0, 0.0, 1.5, 1_234), ("DEQUANTIZE", "FLOAT16", 8, 0.123456, 0.0, 0))
    about = "a device, mine 1; standard, tolerance directml, 2026-11-30: agrees"
    section = as_markdown([], read_campaigns(tmp_path)).split("## In campaigns")[1]
    assert section.splitlines()[-7:] == [
        f"- one: {about}",
        f"- two: {about}",
        "",
        "| operator | type | one | two |",
        "| --- | --- | --- | --- |",
        "| DEQUANTIZE | FLOAT16 |  | 0%, 0.123 ULP |",
        "| GEMM | FLOAT32 | 25% | 150%, 1,234 wrong |",
    ]
    assert "## In campaigns" not in as_markdown([])
