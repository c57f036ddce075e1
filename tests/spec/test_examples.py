"""The pages' worked examples: printed, corrected, and as cases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from page_factories import LABELS
from places import recorded

from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.examples import Example, examples, illustrations, layouts
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Outcome, decide

EVERY = list(examples().values())
TYPED = [example for example in EVERY if example.minimum_level is not None]


def by_id(example: Example) -> str:
    return example.id


def test_examples_are_of_operators_and_most_have_types() -> None:
    assert {example.operator for example in EVERY} <= set(operators())
    assert len(EVERY) > len(TYPED) >= len(EVERY) - 6
    assert list(examples()) == [example.id for example in EVERY]


@pytest.mark.parametrize("example", TYPED, ids=by_id)
def test_the_corrected_example_is_valid_from_its_level_on(example: Example) -> None:
    assert example.corrected is not None
    assert example.level is not None
    for level in Level:
        accepted = decide(example.corrected, level).outcome is Outcome.ACCEPT
        assert accepted == (level >= example.level), level


@pytest.mark.parametrize("example", TYPED, ids=by_id)
def test_only_corrections_tell_printed_and_corrected_apart(example: Example) -> None:
    assert (example.printed == example.corrected) == (not example.corrections)


@pytest.mark.parametrize("example", TYPED, ids=by_id)
def test_a_case_is_accepted_and_survives_json(example: Example) -> None:
    assert example.level is not None
    for level in (example.level, Level.L6_4):
        case = example.case(level)
        assert case.outcome is Outcome.ACCEPT
        assert case.origin == f"example {example.id}"
        assert case.rule == f"{example.operator}.values"
        assert set(case.data) == {slot.key for slot in inputs(case.desc)}
        for slot in inputs(case.desc):
            assert case.data[slot.key].pattern == "explicit"
            assert len(case.data[slot.key].values) == slot.tensor.element_count
        assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case


@pytest.mark.parametrize("example", TYPED, ids=by_id)
def test_a_case_below_the_lowest_level_is_refused(example: Example) -> None:
    for level in Level:
        if example.level is not None and level < example.level:
            with pytest.raises(ValueError, match=f"valid from level {example.level} on, not at {level}"):
                example.case(level)


@pytest.mark.parametrize("example", [e for e in EVERY if e not in TYPED], ids=by_id)
def test_an_example_without_types_is_shapes_only(example: Example) -> None:
    assert example.printed is None
    assert example.corrected is None
    assert example.level is None
    with pytest.raises(ValueError, match="printed without types"):
        example.case(Level.L6_4)
    desc: Any = example.with_types(DataType.INT64, DataType.INT32)
    for field in example.spec.tensor_fields:
        expected = DataType.INT32 if field.name == "IndicesTensor" else DataType.INT64
        allowed = example.spec.tables[max(example.spec.tables)][field.name].data_types
        assert getattr(desc, field.attribute).data_type is (expected if expected in allowed else min(allowed))


def test_with_types_keeps_the_types_that_are_printed() -> None:
    example = examples()["GATHER/1"]
    assert example.with_types(DataType.INT8, DataType.INT64) == example.corrected


def test_sources() -> None:
    assert str(examples()["TILE/1"].source) == "ns-directml-dml_tile_operator_desc, example 1"


def test_elements_are_row_major() -> None:
    assert examples()["GATHER_ND1/2"].elements("IndicesTensor") == (0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0)
    with pytest.raises(KeyError):
        examples()["GATHER_ND/0"].elements("InputTensor")


def test_figures_belong_to_operators_and_are_named_once() -> None:
    for figure in illustrations().values():
        assert figure.operator in operators()
        assert figure.tensor in {field.name for field in operators()[figure.operator].tensor_fields}
    assert len(illustrations()) >= 8
    assert len(layouts()) == 7


# The facts go by dimension counts and data types.
LEVEL_OF_ENUMERATOR = {"PADDING/4": "3_0"}


def printed_tensors(example: Example) -> dict[str, Any]:
    """The tensors of an example as printed, those of an array each for itself."""
    found = {}
    for field in example.spec.tensor_fields:
        value = example.desc.get(field.name)
        several = {f"{field.name}[{n}]": one for n, one in enumerate(value)} if isinstance(value, list) else {}
        found |= several or ({field.name: value} if value else {})
    return found


def test_examples_are_those_on_record() -> None:
    facts = {entry["id"]: entry for entry in recorded("examples") if entry["id"].partition("/")[0] in operators()}
    assert set(facts) <= set(examples())
    for name, entry in facts.items():
        example = examples()[name]
        assert example.minimum_level == LEVEL_OF_ENUMERATOR.get(name, entry["min_feature_level"])
        for attribute, value in entry["attributes"].items():
            assert example.desc[attribute] == value, name
        printed = printed_tensors(example)
        assert set(entry["tensors"]) == set(printed)
        for tensor, facts in entry["tensors"].items():
            assert printed[tensor]["Sizes"] == facts["sizes"], name
            assert printed[tensor].get("DataType") == facts["data_type"], name
            if name != "SLICE_GRAD/1":  # which has letters for values
                assert example.values.get(tensor) == facts["values"], name
            assert LABELS.get(name, {}).get(tensor) == facts.get("printed_name"), name
        corrected = entry.get("corrected", {})
        corrections = dict(corrected.get("attributes", {}))
        for tensor, fields in corrected.get("tensors", {}).items():
            names = {"data_type": "DataType", "sizes": "Sizes"}
            corrections |= {f"{tensor}.{names[field]}": value for field, value in fields.items()}
        unprinted = {field: value for field, value in example.unprinted.items() if field in corrections}
        assert example.corrections | unprinted == corrections, name
