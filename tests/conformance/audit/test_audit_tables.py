"""Tables held against a library, which is made up here; the real one is asked in test_audit.py."""

from __future__ import annotations

import pytest

from dml_conformance.conformance.audit.tables import (
    Aspect,
    Difference,
    LibraryAnswer,
    TableFindings,
    hold_tables,
    plain_descriptors,
)
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, is_whole, slots
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Outcome, decide

LEVEL = Level.L6_2


def as_specified(desc: OperatorDesc, level: Level = LEVEL) -> LibraryAnswer:
    is_broken = decide(desc, level).outcome is Outcome.REJECT
    return LibraryAnswer.REJECT if is_broken else LibraryAnswer.ACCEPT


def differences(found: TableFindings) -> list[tuple[str, Aspect, str, bool, str]]:
    def told(difference: Difference) -> tuple[str, Aspect, str, bool, str]:
        question = difference.question
        return question.tensor, question.aspect, question.value, difference.allowed, str(difference.answer)

    return [told(difference) for difference in found.differences]


@pytest.mark.parametrize("name", operators())
def test_there_are_plain_descriptors_of_every_operator_that_a_library_has(name: str) -> None:
    """They keep all that is known of the operator; a library of 6_2 accepts them, and test_audit.py asks it."""
    plain = plain_descriptors().get(name, [])
    assert bool(plain) is (operators()[name].introduced_in <= LEVEL)
    for desc in plain:
        assert decide(desc, LEVEL).outcome is not Outcome.REJECT


@pytest.mark.parametrize("name", ["TILE", "JOIN", "CONVOLUTION", "REDUCE", "FILL_VALUE_CONSTANT"])
def test_a_library_as_specified(name: str) -> None:
    (found,) = hold_tables(as_specified, LEVEL, (name,))
    assert found.differences == []
    tensors = len(operators()[name].tensor_fields) * len(operators()[name].variants)
    assert found.agreed == found.tried > 20 * tensors
    assert found.left_out == []


@pytest.mark.parametrize(("level", "allowed"), [(Level.L5_2, False), (Level.L6_2, True)])
def test_a_tensor_that_a_rule_asks_for_below_a_level_is_no_null(level: Level, allowed: bool) -> None:
    """ZeroPointTensor, from 6_2 on: a library as specified has no difference, one that does otherwise has one."""

    def otherwise(desc: OperatorDesc) -> LibraryAnswer:
        if getattr(desc, "zero_point_tensor", None) is not None:
            return as_specified(desc, level)
        return LibraryAnswer.REJECT if allowed else as_specified(desc, LEVEL)

    name = "ELEMENT_WISE_DEQUANTIZE_LINEAR"
    (found,) = hold_tables(lambda desc: as_specified(desc, level), level, (name,))
    assert found.differences == []
    (found,) = hold_tables(otherwise, level, (name,))
    assert ("ZeroPointTensor", Aspect.NULL, "", allowed, "reject" if allowed else "accept") in differences(found)


def test_a_library_that_takes_more_or_less() -> None:
    def answer(desc: OperatorDesc) -> LibraryAnswer:
        types = {slot.tensor.data_type for slot in slots(desc)}
        if types == {DataType.FLOAT64} and is_whole(desc):
            return LibraryAnswer.ACCEPT
        return LibraryAnswer.REJECT if DataType.FLOAT16 in types else as_specified(desc)

    (found,) = hold_tables(answer, LEVEL, ("ACTIVATION_RELU",))
    assert differences(found) == [
        ("InputTensor", Aspect.DATA_TYPE, "FLOAT16", True, "reject"),
        ("InputTensor", Aspect.DATA_TYPE, "FLOAT64", False, "accept"),
        ("OutputTensor", Aspect.DATA_TYPE, "FLOAT16", True, "reject"),
        ("OutputTensor", Aspect.DATA_TYPE, "FLOAT64", False, "accept"),
    ]
    assert found.agreed == found.tried - 4


def test_a_library_that_dies_and_one_that_wants_what_is_optional() -> None:
    def answer(desc: OperatorDesc) -> LibraryAnswer:
        missing = {f.name for f in desc.fields if f.is_tensor and getattr(desc, f.attribute) is None}
        if "FilterTensor" in missing:
            return LibraryAnswer.CRASH
        return LibraryAnswer.REJECT if missing else as_specified(desc)

    (found,) = hold_tables(answer, LEVEL, ("CONVOLUTION",))
    assert differences(found) == [
        ("FilterTensor", Aspect.NULL, "", False, "crash"),
        ("BiasTensor", Aspect.NULL, "", True, "reject"),
    ]


def test_what_cannot_be_tried_is_said() -> None:
    newest, refused = hold_tables(lambda desc: LibraryAnswer.REJECT, LEVEL, ("UNFOLD", "TILE"))
    assert (newest.tried, newest.left_out) == (0, ["came with 6_4, and the library speaks 6_2"])
    assert (refused.tried, refused.left_out) == (0, ["no plain descriptor is accepted"])
