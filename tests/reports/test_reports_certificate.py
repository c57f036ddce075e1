"""The certificate and the published schemas: what is written keeps to them, and they are as strict as they say."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import report_data
from places import ROOT
from report_data import plain

from dml_conformance.conformance import schemas
from dml_conformance.conformance.schemas import SCHEMAS
from dml_conformance.reports.model.records import Record, Verdict
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.views.certificate import Certificate, CertificateError
from dml_conformance.spec.registry import operators

DOCS = ROOT / "docs" / "schemas"


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8")))


def certified(records: tuple[Record, ...], **changes: Any) -> Certificate:
    return Certificate.of(report_data.summary_of(records, **changes))


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certified(report_data.some_faulty())


@pytest.fixture(scope="module")
def content(certificate: Certificate) -> Any:
    return json.loads(certificate.to_json())


@pytest.mark.parametrize(
    ("changes", "place", "told"),
    [
        ({}, "run", {"spec": "documented"}),
        ({"spec": "observed"}, "run", {"spec": "observed"}),
        ({}, "backend", {"decides_at": None}),
        ({"backend": report_data.backend(decides_at="6_2")}, "backend", {"decides_at": "6_2"}),
        ({"backend": report_data.backend(accelerated=True)}, "backend", {"accelerated": True}),
        ({"backend": report_data.backend(paths={"all": "eager"})}, "backend", {"paths": {"all": "eager"}}),
    ],
)
def test_it_says_how_a_run_was_judged_and_how_its_backend_works(
    changes: dict[str, Any], place: str, told: dict[str, Any]
) -> None:
    written = json.loads(certified(report_data.some_sound()[:9], **changes).to_json())
    validator("certificate").validate(written)
    assert {name: written[place][name] for name in told} == told


def test_what_counts_as_the_specification_is_known() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec"):
        certified((), spec="guessed")


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_the_published_schemas_are_those_of_the_types(name: str) -> None:
    assert (DOCS / name).read_bytes() == schemas.published(name), "run python -m conformance.schemas docs/schemas"


def test_schemas_are_written_where_asked(tmp_path: Path) -> None:
    schemas.main(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in DOCS.iterdir())


def objects(schema: Any, path: str = "") -> Any:
    """Every schema of an object with properties inside a schema, with its path."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and not path.endswith("/properties"):  # which may name a field so
            yield path, schema
        for name, inner in schema.items():
            yield from objects(inner, f"{path}/{name}")
    elif isinstance(schema, list):
        for i, inner in enumerate(schema):
            yield from objects(inner, f"{path}/{i}")


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_schemas_are_valid_and_strict(name: str) -> None:
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    found = dict(objects(schema))
    assert found
    for path, inner in found.items():
        # The branch of one operator narrows what the case around it has closed already.
        if "oneOf" not in path and not any(path.endswith(f"/{o}") for o in operators()):
            assert inner["additionalProperties"] is False, path


@pytest.mark.parametrize(
    "name",
    [
        "certificate.schema.json",
        "record.schema.json",
        "pages.schema.json",
        "errata.schema.json",
        "checked-pages.schema.json",
    ],
)
def test_every_field_is_described(name: str) -> None:
    for path, inner in objects(SCHEMAS[name]()):
        if inner.get("title"):  # a type of ours
            for field, schema in inner["properties"].items():
                assert schema.get("description"), f"{path}/{field}"


def begun() -> Summary:
    summary = Summary()
    summary.start(report_data.campaign())
    summary.record(report_data.some_sound()[0])
    return summary


NARROWER = "conformant within narrower claims"  # as the backend makes no promise about memory's layout


@pytest.mark.parametrize(
    ("summary", "told"),
    [
        (lambda: report_data.summary_of(report_data.some_faulty()), ("not conformant", report_data.FINISHED, True)),
        (lambda: report_data.summary_of(report_data.some_sound()), (NARROWER, report_data.FINISHED, True)),
        (lambda: report_data.summary_of(()), ("incomplete", report_data.FINISHED, True)),
        (begun, ("incomplete", "", False)),
    ],
    ids=["faulty", "sound", "none", "begun"],
)
def test_certificates_keep_to_their_schema(summary: Callable[[], Summary], told: tuple[str, str, bool]) -> None:
    content = json.loads(Certificate.of(summary()).to_json())
    validator("certificate").validate(content)
    assert (content["outcome"], content["run"]["finished"], content["run"]["complete"]) == told


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c.update(extra=1),
        lambda c: c["backend"].update(extra=1),
        lambda c: c.pop("digests"),
        lambda c: c.update(outcome="fine"),
        lambda c: c["schema"].update(version=1),
        lambda c: c["counts"].update({"pass": -1}),
        lambda c: c["counts"].pop("not-supported"),
        lambda c: c["digests"].update(results="abc"),
        lambda c: c["decisions"][0].update(verdict="maybe"),
        lambda c: c["matrix"][0].update(level="3.0"),
        lambda c: c["run"].update(seed="7"),
    ],
)
def test_schema_and_reader_refuse_the_same(content: Any, edit: Callable[[Any], object]) -> None:
    changed = copy.deepcopy(content)
    edit(changed)
    assert not validator("certificate").is_valid(changed)
    with pytest.raises(CertificateError, match="not a certificate of version 2"):
        Certificate.from_json(json.dumps(changed))


def test_what_was_written_can_be_read(certificate: Certificate) -> None:
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize(
    "text", [b"PK\x03\x04", b'{"format": "\xff"}', b'{"backend": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"]
)
def test_text_that_is_no_json_is_no_certificate(text: bytes) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


def test_the_certificate_says_what_the_records_say(content: Any) -> None:
    records = report_data.some_faulty()
    assert content["outcome"] == "not conformant"
    assert content["counts"] == {str(v): sum(r.verdict is v for r in records) for v in Verdict}
    cells = {(cell["operator"], cell["level"]): cell for cell in content["matrix"]}
    assert len(cells) == 5 * 15
    assert cells["TILE", "6_0"]["counts"]["pass"] == sum(
        (r.operator, r.level, r.verdict) == ("TILE", "6_0", "pass") for r in records
    )
    assert sum(entry["count"] for entry in content["decisions"]) == len(records)
    assert content["not_claimed"]["categories"] == ["memory-layout"]
    assert "TENSOR.total-size" in content["not_claimed"]["rules"]
    failed = {record.case: record for record in records if record.verdict in ("fail", "crash", "timeout")}
    failures = report_data.summary_of(records).failures.values()
    groups = {(str(group.kind), group.operator, group.rule): group for group in failures}
    assert any(len(group.shown()) > len(group.samples) for group in groups.values())
    for failure in content["failures"]:
        group = groups[failure["kind"], failure["operator"], failure["rule"]]
        assert [sample["case"] for sample in failure["samples"]] == [record.case for record in group.shown()]
        for sample in failure["samples"]:
            record = failed[sample["case"]]
            assert (sample["expected"], sample["answered"]) == (record.expected, record.answered)
            assert (sample["level"], sample["phase"]) == (record.level, record.phase)
            assert sample["reproduce"] == record.reproduce
            assert len(sample["differences"]) == len(record.differences)
            assert record.level in failure["levels"]
    assert sum(failure["count"] for failure in content["failures"]) == len(
        [record for record in records if record.verdict in ("fail", "crash", "timeout")]
    )
    for row, measured in zip(content["throughput"], report_data.throughputs(), strict=True):
        assert (row["output_bytes"], row["caches"]) == (measured.output_bytes, str(measured.caches))
        assert row["median_seconds"] == float(f"{sorted(measured.seconds)[3]:.6g}")
        assert row["bytes_per_second"] == pytest.approx(measured.useful_bytes / sorted(measured.seconds)[3], 1e-5)
        assert row["fraction_of_copy"] == pytest.approx(row["bytes_per_second"] / row["copy_bytes_per_second"], 1e-5)
    assert content["run"]["seed"] == report_data.campaign().seed
    assert content["backend"] == {**report_data.campaign().backend, "scopes": [], "form": ""}


def test_the_same_results_give_the_same_certificate(certificate: Certificate) -> None:
    assert certified(report_data.some_faulty()).to_json() == certificate.to_json()


def test_capabilities_of_a_real_backend_fit() -> None:
    from dml_conformance.backends.base import Capabilities
    from dml_conformance.spec.levels import Level
    from dml_conformance.spec.rules import Category

    claims = Capabilities("mine", "card", {"driver": "1"}, tuple(Level), ("GATHER",), frozenset(Category))
    assert certified((), backend=claims.as_json()).backend.enforces == sorted(map(str, Category))


# Cases and records.


def test_cases_and_records_keep_to_their_schemas(is_exhaustive: bool) -> None:
    of_case, of_record = validator("case"), validator("record")
    faulty, sound = (400, 100) if is_exhaustive else (120, 30)
    for record in (*report_data.some_faulty()[:faulty], *report_data.some_sound()[:sound]):
        of_case.validate(record.case_json)
        of_record.validate(json.loads(msgspec.json.encode(record)))


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c.pop("level"),
        lambda c: c.update(level="7_0"),
        lambda c: c.update(type="DML_OPERATOR_ABS"),
        lambda c: c.update(type="DML_OPERATOR_TILE"),
        lambda c: c["desc"].update(axis=0),
        lambda c: c["desc"].pop("Axis"),
        lambda c: c["desc"]["InputTensor"].update(Sizes=[-1]),
        lambda c: c["desc"]["InputTensor"].update(Sizes=[2**32]),
        lambda c: c["desc"]["InputTensor"].update(DataType="FLOAT8"),
        lambda c: c["desc"]["InputTensor"].update(Flags=0),  # that is the default
        lambda c: c["data"].update(OutputTensor={"pattern": "ramp"}),
        lambda c: c["data"].update(InputTensor={"seed": 1}),
        lambda c: c["expect"].update(decision="MAYBE"),
    ],
)
def test_the_case_schema_refuses(edit: Callable[[Any], object]) -> None:
    case = next(r for r in report_data.some_sound() if r.operator == "GATHER" and r.expected == "ACCEPT").case_json
    schema = validator("case")
    schema.validate(case)
    changed = copy.deepcopy(case)
    edit(changed)
    assert not schema.is_valid(changed)
    record = json.loads(msgspec.json.encode(msgspec.structs.replace(plain(), case_json=changed)))
    assert not validator("record").is_valid(record)


@pytest.mark.parametrize("change", [{"case": "xyz"}, {"answered": "yes"}, {"verdict": "ok"}, {"more": 1}, {"rank": -1}])
def test_the_record_schema_refuses(change: dict[str, Any]) -> None:
    record = json.loads(msgspec.json.encode(report_data.some_sound()[0]))
    schema = validator("record")
    schema.validate(record)
    assert not schema.is_valid({**record, **change})


def test_a_null_tensor_and_odd_flags_have_a_form() -> None:
    case = copy.deepcopy(report_data.some_sound()[0].case_json)
    case["desc"]["OutputTensor"] = None
    case["desc"]["InputTensor"]["Flags"] = 6
    case["desc"]["InputTensor"]["Type"] = "INVALID"
    validator("case").validate(case)
