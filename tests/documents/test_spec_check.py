"""`spec check` on the specification as it is, and on ones with a fault put in."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from dml_conformance.backends.reference import Expectation, expected_output
from dml_conformance.documents.consistency import CHECKS, Report, Standard, check_specification
from dml_conformance.spec.datatypes import types
from dml_conformance.spec.errata import errata
from dml_conformance.spec.examples import examples, illustrations, layouts
from dml_conformance.spec.history import Aspect, LevelChange, OperatorIntroduction
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Support
from dml_conformance.spec.registry import operators, rules


@pytest.fixture(scope="module")
def own() -> Report:
    return check_specification()


def test_every_contradiction_is_a_known_erratum(own: Report) -> None:
    assert own.new == ()
    assert own.stale == ()
    assert own.ok
    assert len(own.findings) == sum(len(erratum.checks) for erratum in errata().values()) > 30


def test_checks_look_at_something_and_findings_are_sentences_with_stable_ids(own: Report) -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(checked.subjects > 0 for checked in own.checks)
    ids = [finding.id for checked in own.checks for finding in checked.findings]
    assert len(ids) == len(set(ids))
    subjects = {*operators(), *rules(), *examples(), *illustrations(), *layouts(), "TENSOR"}
    assert {name.partition(":")[0] for name in ids} <= subjects
    assert all(finding.what for finding in own.findings.values())


def test_json_has_everything(own: Report) -> None:
    written = json.loads(json.dumps(own.as_json()))
    assert written["ok"] is True
    assert {finding["id"]: finding["erratum"] for finding in written["findings"]} == own.explained_by
    assert [erratum["id"] for erratum in written["errata"]] == list(errata())
    assert [check["name"] for check in written["checks"]] == [check.name for check in CHECKS]
    assert written["new"] == written["stale"] == []


def test_a_contradiction_without_erratum_is_new() -> None:
    known = dict(errata())
    del known["GATHER-2"]
    report = check_specification(replace(OWN, errata=known))
    assert {finding.id for finding in report.new} == {"GATHER/3:decision"}
    assert not report.ok
    assert report.as_json()["new"] == ["GATHER/3:decision"]


def test_an_erratum_whose_contradiction_is_gone_is_stale() -> None:
    stale = msgspec.structs.replace(errata()["TILE-2"], checks=("TILE:data-types", "TILE:nothing"))
    report = check_specification(replace(OWN, errata={**errata(), "TILE-2": stale}))
    assert report.stale == (("TILE:nothing", "TILE-2"),)
    assert report.new == ()
    assert not report.ok
    assert report.as_json()["stale"] == [{"finding": "TILE:nothing", "erratum": "TILE-2"}]


def test_more_types_than_others_have_leave_an_erratum_stale() -> None:
    known = operators()["TILE"].tables[Level.L4_1]["InputTensor"]
    support = replace(known, data_types=known.data_types | types("FLOAT64"))
    report = check_specification(with_table("TILE", Level.L4_1, InputTensor=support))
    assert ("TILE:data-types", "TILE-2") in report.stale


OWN = Standard.own()


def with_entry(kind: str, name: str, **fields: Any) -> Standard:
    """The standard with one of its operators, examples, illustrations or layouts changed."""
    known = getattr(OWN, kind)
    change = replace if kind == "operators" else msgspec.structs.replace
    return replace(OWN, **{kind: {**known, name: change(known[name], **fields)}})


def with_table(name: str, level: Level, **tensors: Support) -> Standard:
    """The standard with rows of a table changed: those of the tensors named."""
    spec = operators()[name]
    tables = {**spec.tables, level: {**spec.tables.get(level, {}), **tensors}}
    changed = replace(spec)
    # They stand where the properties keep what they have made.
    vars(changed).update(tables=tables, variants={"": tables})
    return replace(OWN, operators={**OWN.operators, name: changed})


def with_history(**fields: Any) -> Standard:
    return replace(OWN, history=msgspec.structs.replace(OWN.history, **fields))


def with_introduction(name: str, header: str, history: str | None) -> Standard:
    return with_history(introductions={**OWN.history.introductions, name: OperatorIntroduction(header, history)})


def with_change(level: str, aspect: Aspect, *names: str) -> Standard:
    return with_history(changes=(*OWN.history.changes, LevelChange(level, aspect, names)))


def without_changes(name: str) -> Standard:
    changes = tuple(
        msgspec.structs.replace(change, operators=tuple(other for other in change.operators if other != name))
        for change in OWN.history.changes
        if change.operators != (name,)
    )
    return with_history(changes=changes)


def without_history(name: str) -> Standard:
    return with_history(introductions={n: said for n, said in OWN.history.introductions.items() if n != name})


def with_later_rule(rule_id: str, since: Level) -> Standard:
    name = rule_id.partition(".")[0]
    rules = (replace(rule, since=since) if rule.id == rule_id else rule for rule in OWN.operators[name].own_rules)
    return with_entry("operators", name, own_rules=tuple(rules))


def wrong_reference(desc: Any, inputs: Any) -> dict[str, Expectation]:
    """Right but for the last element of every output."""
    outputs = {key: expected.values.copy() for key, expected in expected_output(desc, inputs).items()}
    for values in outputs.values():
        values.flat[-1] ^= 1
    return {key: Expectation(values) for key, values in outputs.items()}


def open_reference(desc: Any, inputs: Any) -> dict[str, Expectation]:
    """Leaves every element open."""
    outputs = {key: expected.values for key, expected in expected_output(desc, inputs).items()}
    return {key: Expectation(values, values == values, "input_tensor") for key, values in outputs.items()}


def failing_reference(desc: Any, inputs: Any) -> dict[str, Expectation]:
    """Gives up on every descriptor."""
    raise IndexError("no such axis")


FLOATS = Support(frozenset({4}), types("FLOAT32"))
KNOWN = {check for erratum in errata().values() for check in erratum.checks}
VALUED = {f"{example.id}:values" for example in examples().values() if example.values} - KNOWN
FAULTS: list[tuple[str, Standard, set[str]]] = [
    ("a level loses types", with_table("GATHER", Level.L4_1, InputTensor=FLOATS), {"GATHER:table-4_1"}),
    (
        "a level loses types of indices",
        with_table("GATHER", Level.L4_1, IndicesTensor=Support(frozenset(range(1, 9)), types("INT64"))),
        {"GATHER:table-4_1"},
    ),
    (
        "a level loses dimensions",
        with_table("TILE", Level.L4_1, InputTensor=Support(frozenset({4}), types("INT64"))),
        {"TILE:table-4_1"},
    ),
    (
        "a table that changes nothing",
        with_table("TILE", Level.L6_0, **(operators()["TILE"].table_at(Level.L6_0) or {})),
        {"TILE:table-6_0", "TILE:history-6_0"},
    ),
    (
        "a lowest table above the introduction",
        with_entry(
            "operators",
            "GATHER_ND",
            facts=msgspec.structs.replace(operators()["GATHER_ND"].facts, introduced_in="2_0"),
        ),
        {"GATHER_ND:lowest-table", "GATHER_ND:introduced-in-header", "GATHER_ND:introduced-in-history"},
    ),
    ("a rule that a lower level lacks", with_later_rule("TILE.repeats", Level.L4_0), {"TILE.repeats:since"}),
    ("another level in the header", with_introduction("TILE", "2_0", None), {"TILE:introduced-in-header"}),
    ("another level in the history", with_introduction("TILE", "1_0", "2_1"), {"TILE:introduced-in-history"}),
    ("an operator nobody looked up", without_history("TILE"), {"TILE:history"}),
    ("a change that no table shows", with_change("5_0", Aspect.DATA_TYPES, "TILE"), {"TILE:history-5_0-data-types"}),
    (
        "a change that the table does not show",
        with_change("4_1", Aspect.DIMENSION_COUNTS, "GATHER"),
        {"GATHER:history-4_1-dimension-counts"},
    ),
    (
        "tables that the history does not know",
        without_changes("TILE"),
        {"TILE:history-2_1", "TILE:history-3_1", "TILE:history-4_1"},
    ),
    ("a wrong reference", replace(OWN, reference=wrong_reference), VALUED),
    ("a reference that says nothing", replace(OWN, reference=open_reference), VALUED),
    ("a reference that fails", replace(OWN, reference=failing_reference), VALUED),
    (
        "another lowest level",
        with_entry("examples", "TILE/1", minimum_level="2_1"),
        {"TILE/1:introduction", "TILE/1:level-1_0", "TILE/1:level-2_0"},
    ),
    (
        "a lowest level that does not hold",
        with_entry("examples", "GATHER_ND/1", minimum_level="2_1"),
        {"GATHER_ND/1:decision", "GATHER_ND/1:level-2_1"},
    ),
    (
        "values that do not fill the sizes",
        with_entry(
            "examples", "GATHER/1", values={**examples()["GATHER/1"].values, "InputTensor": [[11, 12], [13, 14]]}
        ),
        {"GATHER/1:InputTensor-values"},
    ),
    (
        "ragged values",
        with_entry(
            "examples",
            "GATHER/2",
            values={**examples()["GATHER/2"].values, "OutputTensor": [[1, 2], [3, 4, 3], [4, 5], [6]]},
        ),
        {"GATHER/2:OutputTensor-values"},
    ),
    (
        "a wrong printed output",
        with_entry(
            "examples",
            "GATHER_ELEMENTS/1",
            values={**examples()["GATHER_ELEMENTS/1"].values, "OutputTensor": [[4, 8, 3], [7, 2, 4]]},
        ),
        {"GATHER_ELEMENTS/1:values"},
    ),
    (
        "an illustration that selects something else",
        with_entry("illustrations", "GATHER/index-dimensions", meaningful=(4, 6)),
        {"GATHER/index-dimensions:selection"},
    ),
    (
        "wrong batches",
        with_entry("illustrations", "GATHER_ND1/batch-dimension-count", batches=(1, 3)),
        {"GATHER_ND1/batch-dimension-count:selection"},
    ),
    (
        "sizes that no tensor has",
        with_entry("illustrations", "GATHER_ND1/batch-dimension-count", id="GATHER_ND/batches", batches=()),
        {"GATHER_ND/batches:tuple-size"},
    ),
    ("strides that are not packed", with_entry("layouts", "strides/columns", packed=True), {"strides/columns:packed"}),
    ("memory too short", with_entry("layouts", "strides/columns", memory="ADBEC"), {"strides/columns:span"}),
    ("memory read otherwise", with_entry("layouts", "strides/rows", reads="ADBECF"), {"strides/rows:reads"}),
]


@pytest.mark.parametrize(("standard", "expected"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_found(standard: Standard, expected: set[str]) -> None:
    report = check_specification(standard)
    assert {finding.id for finding in report.new} >= expected
    assert not report.ok


# Of operators that gather and tile, of one that joins, and of one with several outputs.
SIZED = [name for name in examples() if name.startswith(("GATHER", "TILE/", "JOIN/", "SPLIT/"))]


@pytest.mark.few(6)
@pytest.mark.parametrize("name", SIZED)
def test_sizes_that_the_formula_does_not_give_are_found(name: str) -> None:
    example = examples()[name]
    desc = copy.deepcopy(example.desc)
    outputs = desc.get("OutputTensors") or [desc["OutputTensor"]]
    outputs[-1]["Sizes"] = [n + 1 for n in outputs[-1]["Sizes"]]
    found = check_specification(with_entry("examples", name, desc=desc, values={}, minimum_level=None)).findings
    assert f"{name}:sizes" in found
