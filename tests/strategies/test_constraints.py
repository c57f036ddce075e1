"""Kinds of constraints: what each finds, how it is broken, and what is valid at its ends.

The kinds that operators use are held by the tests of all rules; here are also those that none uses yet, declared for
operators that have what they are about.
"""

from __future__ import annotations

from typing import Any

import pytest

from dml_conformance.spec.constraints import (
    Constraint,
    Quantity,
    broadcastable,
    count,
    distinct,
    divides,
    exclusive,
    given,
    member,
    rank,
    size_at,
    size_within,
    together,
    within,
)
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import Breach
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.constraints import at_ends, breaking
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit, resize

QUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR"
NOT_USED_YET = [
    ("ACTIVATION_SOFTMAX1", distinct("Axes")),
    (QUANTIZE, broadcastable("ScaleTensor", "InputTensor")),
    (QUANTIZE, together("ScaleTensor", "ZeroPointTensor")),
    ("DIAGONAL_MATRIX1", exclusive("InputTensor", "OutputTensor")),
    ("TOP_K1", within("K", 1, member("Axis"))),
    ("ONE_HOT", size_within("ValuesTensor", -1, 2, None)),
]


def built(operator: str, seed: int = 0, **but: Any) -> tuple[Context, Any]:
    but = {"layout": "packed", "complete": True, **but}
    ctx = Context.at(SeededChooser(seed), operators()[operator], HIGHEST).but(**but)
    return ctx, builder(operator).build(ctx)


def broken(constraint: Constraint, desc: Any) -> list[Breach]:
    found = constraint.check(desc, HIGHEST)
    return [found] if isinstance(found, Breach) else found or []


@pytest.mark.parametrize(("operator", "constraint"), NOT_USED_YET, ids=lambda one: getattr(one, "kind", one))
def test_a_kind_breaks_what_it_declares(operator: str, constraint: Constraint) -> None:
    for seed in range(10):
        ctx, _ = built(operator, seed, complete=False)
        assert any(broken(constraint, desc) for desc in breaking(constraint, builder(operator).build, ctx))


@pytest.mark.parametrize(
    ("operator", "constraint"),
    [
        ("TOP_K1", within("K", 1, member("Axis"))),
        ("DEPTH_TO_SPACE", divides("BlockSize", Quantity("12", "{} is 12", lambda desc: 12))),
        (QUANTIZE, together("ScaleTensor", "ZeroPointTensor")),
        ("ONE_HOT", size_within("ValuesTensor", -1, 2, 3)),
    ],
    ids=lambda one: getattr(one, "kind", one),
)
def test_what_is_at_the_ends_keeps_a_constraint(operator: str, constraint: Constraint) -> None:
    ctx, _ = built(operator, ranks=(4,))
    made = list(at_ends(constraint, builder(operator).build, ctx))
    assert any(not broken(constraint, desc) for desc in made)


def test_what_is_wrong_is_said_in_the_users_numbers() -> None:
    _, softmax = built("ACTIVATION_SOFTMAX1", ranks=(4,))
    assert broken(distinct("Axes"), edit(softmax, axes=(1, 0, 1))) == [("Axes[2]", "1, once more")]
    assert broken(count("Axes", rank("InputTensor")), edit(softmax, axes=(0,))) == [
        ("Axes", "1 entries, InputTensor has 4 dimensions")
    ]
    _, quantize = built(QUANTIZE, ranks=(2,))
    quantize = resize(resize(quantize, "input_tensor", (2, 3)), "scale_tensor", (1, 3))
    assert broken(broadcastable("ScaleTensor", "InputTensor"), quantize) == []
    wrong = resize(quantize, "scale_tensor", (2, 2))
    assert broken(broadcastable("ScaleTensor", "InputTensor"), wrong) == [
        ("ScaleTensor.Sizes", "{2,2}, InputTensor has {2,3}")
    ]
    missing = edit(quantize, zero_point_tensor=None)
    assert broken(broadcastable("ZeroPointTensor", "InputTensor"), missing) == []
    assert broken(given("ZeroPointTensor"), missing) == [("ZeroPointTensor", "null")]
    assert broken(together("ScaleTensor", "ZeroPointTensor"), missing) == [("", "ScaleTensor given")]
    both = exclusive("ScaleTensor", "ZeroPointTensor", least=1)
    assert broken(both, quantize) == [("", "ScaleTensor and ZeroPointTensor given")]
    assert broken(both, missing) == []
    assert broken(both, edit(missing, scale_tensor=None)) == [("", "none given")]


def test_a_declaration_has_words_of_its_own_or_those_of_its_kind() -> None:
    rule = divides("GroupCount", size_at("FilterTensor", 0)).rule("CONVOLUTION", "page")
    assert (rule.id, rule.statement) == ("CONVOLUTION.group-count-divides", "GroupCount divides FilterTensor.Sizes[0]")
    assert "TENSOR.sizes" in rule.needs
    own = given("A", name="it", statement="it is there", remedy="give it", after=("enumerators",)).rule("GEMM", "page")
    assert (own.id, own.statement, own.remedy) == ("GEMM.it", "it is there", "give it")
    assert own.needs == {"GEMM.introduced-in", "GEMM.enumerators"}
