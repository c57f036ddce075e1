"""The DxDispatch model that the page makes: the same files, to the byte, that `export-model` writes, in an archive."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import report_data
from strength.mutants.strides import InputStridesIgnored

from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.exchange.dxdispatch.exporting import NotExpressible, export
from dml_conformance.conformance.judge.compare import shown
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.cases import Cases
from dml_conformance.reports.html import CASE_SCRIPTS, STATIC_SCRIPTS, report_html
from dml_conformance.reports.records import Phase, Record, Verdict
from dml_conformance.reports.stream import FanOut
from dml_conformance.reports.summary import Summary
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.gather import GatherDesc
from dml_conformance.spec.operators.tile import TileDesc
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, Reading
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, numbered_case
from dml_conformance.strategies.scale import Reach, scale_cases
from dml_conformance.strategies.values import DATA_PATTERNS, INDEX_PATTERNS, UNSIGNED_OF_SIZE

Show = Callable[..., Any]

TEMPLATES = Path(report_html.__code__.co_filename).parent / "templates"
ALL_TYPES = [data_type for data_type in DataType if data_type.size]


def some_cases() -> Iterator[Case]:
    for operator in operators():
        for level in (Level.L3_0, HIGHEST):
            if applicable_rules(operator, level):
                yield from example_cases(operator, level).values()
                yield from (numbered_case(7, operator, level, n) for n in range(40))
        yield from list(boundary_cases(operator, HIGHEST))[::7]
        yield from list(scale_cases(operator, HIGHEST, Reach.BITS_16))[::5]


def every_pattern() -> Iterator[Case]:
    """Each type with each pattern, and indices whose elements share memory."""
    for data_type in ALL_TYPES:
        for pattern in DATA_PATTERNS:
            desc = TileDesc(TensorDesc.of(data_type, (3, 7)), TensorDesc.of(data_type, (3, 14)), (1, 2))
            yield Case.of(desc, HIGHEST, {"input_tensor": Recipe(pattern, 2**32 - 3)})
    for index_type in (DataType.INT32, DataType.INT64, DataType.UINT32, DataType.UINT64):
        for pattern in INDEX_PATTERNS:
            for strides in (None, (0, 1), (1, 0), (1, 1), (1, 2), (2, 3)):
                source = TensorDesc.of(DataType.FLOAT16, (5, 9), (10, 1))
                indices = TensorDesc.of(index_type, (4, 6), strides)
                desc = GatherDesc(source, indices, TensorDesc.of(DataType.FLOAT16, (4, 6)), 1, 2)
                desc = msgspec.structs.replace(
                    desc,
                    input_tensor=TensorDesc.of(DataType.FLOAT16, (1, 5, 9), (1, 10, 1)),
                    indices_tensor=TensorDesc.of(index_type, (1, 4, 6), None if strides is None else (0, *strides)),
                    output_tensor=TensorDesc.of(DataType.FLOAT16, (5, 4, 6)),
                    axis=2,
                )
                data = {"input_tensor": Recipe("random-bits", 11), "indices_tensor": Recipe(pattern, 12)}
                yield Case.of(desc, HIGHEST, data, rule="GATHER.values")


def explicit_values() -> Iterator[Case]:
    for data_type, values in (
        (DataType.FLOAT16, (0.1, -2.5, 65504, 6e-8, 1e-9, 2049, 0.000061)),
        (DataType.FLOAT32, (0.1, -0.0, 3.4e38, 1e-45, 16777217, 1e-60, 7)),
        (DataType.FLOAT64, (0.1, -0.0, 1.7e308, 5e-324, 2**63 + 1, 1, 1e22)),
        (DataType.INT8, (-128, 127, 0, -1, 1, 2, 3.0)),
        (DataType.UINT64, (2**64 - 1, 2**63, 0, 1, 2**53 + 1, 5, 6)),
        (DataType.INT64, (-(2**63), 2**63 - 1, 0, -1, 2**53 + 1, 5, 6)),
    ):
        desc = TileDesc(TensorDesc.of(data_type, (7,), (2,)), TensorDesc.of(data_type, (14,)), (2,))
        yield Case.of(desc, HIGHEST, {"input_tensor": Recipe("explicit", 5, values)})


@cache
def records() -> tuple[Record, ...]:
    """The cases as a backend with faults does them, so that there are differences to list."""
    judge = Judge(InputStridesIgnored(), "wrong.py:InputStridesIgnored")
    cases = [*some_cases(), *every_pattern(), *explicit_values()]
    unique = {case.digest: case for case in cases}
    return tuple(judge.record(case, Phase.SWEEP) for case in unique.values())


def exported(record: Record) -> dict[str, bytes] | str:
    """The files of a model by Python, or why there is none."""
    try:
        model = export(Case.from_json(record.case_json), record)
    except NotExpressible as error:
        return str(error)
    return {"name": model.name.encode(), **model.all_files()}


def carried(record: Record) -> str:
    """What a page holds of a case."""
    cases = Cases()
    report_data.feed(cases, [record])
    parts = [*cases.differing.parts.values(), *cases.others.parts.values()]
    (text,) = (text for part in parts for text in part.texts())
    return text.decode()


@pytest.fixture
def scripts(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A page with the scripts that make a model, and none of those that show anything."""
    names = [name for name in CASE_SCRIPTS if name not in (*STATIC_SCRIPTS, "explorer")]
    text = "\n".join((TEMPLATES / "script" / f"{name}.js").read_text(encoding="utf-8") for name in names)
    page = browser.new_page()
    page.add_script_tag(content=text)
    yield page
    page.close()


MAKE = """
([line, verdict, digest, rules]) => {
  const whole = wholeCase(line);
  const text = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  try {
    const { name, files } = dxdispatchModel(parseExactly(whole.json), whole, verdict, digest, rules);
    return { name, files: files.map(([file, bytes]) => [file, text(bytes)]) };
  } catch (error) {
    return `${error.constructor.name}: ${error.message}`;
  }
}
"""


def test_the_files_are_those_of_export_model(scripts: Any) -> None:
    rules = {
        rule["id"]: [rule["statement"], rule["source"], rule["erratum"]]
        for rule in report_data.campaign(operators=tuple(operators())).rules
    }
    kinds: dict[str, int] = {}
    for record in records():
        made = scripts.evaluate(MAKE, [carried(record), record.verdict, record.case[:12], rules])
        wanted = exported(record)
        if isinstance(wanted, str):
            assert made == f"NotExpressible: {wanted}"
            kinds["refused"] = kinds.get("refused", 0) + 1
            continue
        assert not isinstance(made, str), (made, record.case_json)
        files = {name: msgspec.json.decode(f'"{content}"', type=bytes) for name, content in made["files"]}
        assert {"name": made["name"].encode(), **files} == wanted, record.case_json
        kind = f"{record.expected} {len(files)} {record.verdict}"
        kinds[kind] = kinds.get(kind, 0) + 1
    assert len(records()) > 600
    wanted_kinds = ("ACCEPT 7 pass", "ACCEPT 6 pass", "ACCEPT 7 fail", "REJECT 2 pass", "UNSPECIFIED 2 observed")
    assert set(kinds) >= {*wanted_kinds, "refused"}, kinds


def test_numbers_are_shown_as_they_are_recorded(scripts: Any) -> None:
    for data_type in ALL_TYPES:
        bits = UNSIGNED_OF_SIZE[data_type.size]
        content = hashlib.shake_128(data_type.name.encode()).digest(500 * data_type.size)
        elements = [0, 1, int.from_bytes(b"\xff" * data_type.size, "little")]
        some = [*elements, *np.frombuffer(content, bits).tolist()]
        if data_type is DataType.FLOAT64:  # the limits of plain notation
            some += np.array([1e16, 1e15, 123456.75, 1e-4, 1e-5, 0.1, 1e100]).view(bits).tolist()
        wanted = shown(np.array(some, bits), data_type)
        element = "BigInt" if data_type.size == 8 else "Number"
        made = scripts.evaluate(
            f"([texts, type]) => texts.map({element}).map((bits) => [shownValue(bits, type), shownBits(bits, type)])",
            [[str(value) for value in some], data_type.name],
        )
        assert [tuple(pair) for pair in made] == wanted


def page_of(path: Path, *shown_records: Record, **changes: object) -> Path:
    summary, cases = Summary(), Cases()
    report_data.feed(FanOut(summary, cases), shown_records, **changes)
    path.write_text(report_html(summary, cases), encoding="utf-8")
    return path


def test_the_model_is_downloaded_as_an_archive(show: Show, tmp_path: Path) -> None:
    record = next(r for r in records() if r.verdict is Verdict.FAIL and r.differences and r.data_type == "FLOAT32")
    page = show(page_of(tmp_path / "report.html", record), f"#cases?case={record.case[:12]}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the DxDispatch model").click()
    wanted = exported(record)
    assert isinstance(wanted, dict)
    name = wanted.pop("name").decode()
    assert download.value.suggested_filename == f"{name}.zip"
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
        assert archive.testzip() is None
        assert {info.filename: archive.read(info) for info in archive.infolist()} == {
            f"{name}/{file}": content for file, content in wanted.items()
        }


@pytest.mark.parametrize("kind", ["large", "reading", "none"])
def test_where_there_is_no_model_to_download_the_page_says_why(show: Show, tmp_path: Path, kind: str) -> None:
    sizes = (1, 1, 900, 900) if kind == "large" else (1, 1, 2, 3)
    source = TensorDesc.of(DataType.FLOAT32, sizes)
    if kind == "none":
        source = msgspec.structs.replace(source, flags=4)
    desc = TileDesc(source, TensorDesc.of(DataType.FLOAT32, sizes), (1, 1, 1, 1))
    case = Case.of(desc, HIGHEST, {"input_tensor": Recipe("ramp", 1)} if kind != "none" else {})
    assert (case.outcome is Outcome.REJECT) == (kind == "none")
    record = Judge(InputStridesIgnored(), "wrong.py:InputStridesIgnored").record(case, Phase.SWEEP)
    changes = {"spec": Reading.OBSERVED} if kind == "reading" else {}
    page = show(page_of(tmp_path / "report.html", record, **changes), f"#cases?case={record.case[:12]}")
    page.wait_for_selector("#case-title")
    reason = {
        "large": "its tensors take 6,480,000 bytes",
        "reading": "another reading of the specification",
        "none": "InputTensor.Flags is 4",
    }[kind]
    page.wait_for_selector(f"#case p:has-text('{reason}')")
    assert page.get_by_role("button", name="Download the DxDispatch model").count() == 0
    assert page.get_by_text("export-model").count() == (kind != "none")
