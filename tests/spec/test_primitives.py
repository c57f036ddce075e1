"""Primitives: operators are made of them, a rule says how far off they are, and a ground stands behind each."""

from __future__ import annotations

from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Ground
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.registry import operator, operators, rules


def test_operators_are_made_of_primitives_and_a_rule_says_so() -> None:
    named = set()
    for name, spec in operators().items():
        assert (f"{name}.accuracy" in rules()) == bool(spec.primitives), name
        for primitive in spec.primitives:
            assert PRIMITIVES[primitive].formula in rules()[f"{name}.accuracy"].statement, name
        named |= set(spec.primitives)
    assert named == PRIMITIVES.keys()


def test_a_bound_in_words_is_that_of_the_type_that_is_computed_in() -> None:
    exp, elu = operator("ELEMENT_WISE_EXP"), operator("ACTIVATION_ELU")
    assert exp.bound(PRECISE, DataType.FLOAT32) == "4 ULP"
    assert exp.bound(PRECISE, DataType.FLOAT16) == "1 ULP"
    assert elu.bound(PRECISE, DataType.FLOAT32) == "4 ULP"
    assert elu.bound(PRECISE, DataType.FLOAT16) == "4 ULP; then rounded"
    assert operator("ELEMENT_WISE_ABS").bound(DIRECTML, DataType.FLOAT16) == "exact"


def test_what_direct3d_states_has_its_page() -> None:
    for name, primitive in PRIMITIVES.items():
        is_published = primitive.stated[DataType.FLOAT32].ground is Ground.DIRECT3D
        assert (primitive.source is not None) == is_published, name
        assert primitive.formula
