"""What a backend claims binds it: within its claims a case that is declined has failed, outside nothing is asked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from five_operators import TileDesc
from scripted_backend import ScriptedBackend, raising, rejecting

from dml_conformance.backends.base import Capabilities, Scope, Unsupported
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.throughput import measure
from dml_conformance.conformance.judge.judge import DECLINED, Judge
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import CLAIMS, DESCRIPTOR_CATEGORIES, Category
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome

LEVEL = Level.L6_4
PAIR, FOUR = (TensorDesc.of(DataType.FLOAT32, (size,)) for size in (2, 4))
TWICE = TileDesc(PAIR, FOUR, (2,))
ALONE = frozenset({Category.EXECUTION})


def tile(desc: TileDesc = TWICE, *, data: bool = True, in_place: bool = False) -> Case:
    recipes = {"input_tensor": Recipe("random-bits", 1, in_place=in_place)} if data else None
    return Case.of(desc, LEVEL, recipes, rule="TILE.values")


def invalid() -> Case:
    return Case.of(TileDesc(PAIR, FOUR, (3,)), LEVEL, rule="TILE.output-sizes")


def verdict(backend: ReferenceBackend, case: Case) -> Record:
    return Judge(backend, "mine").record(case, Phase.SWEEP)


@pytest.mark.parametrize("message", ["no such kernel", ""])
@pytest.mark.parametrize(("step", "case"), [("validate", tile()), ("execute", tile()), ("validate", invalid())])
def test_what_is_declined_within_the_claims_has_failed(step: str, case: Case, message: str) -> None:
    record = verdict(ScriptedBackend(**{step: raising(Unsupported(message))}), case)
    assert (record.verdict, record.rule) == (Verdict.FAIL, CLAIMS)
    assert record.reason == f"{DECLINED}: {message or 'without a reason'}"


def test_who_claims_execution_alone_and_refuses_what_is_valid_has_declined_it() -> None:
    record = verdict(ScriptedBackend(validate=rejecting, enforces=ALONE), tile())
    assert (record.verdict, record.rule, record.answered) == (Verdict.FAIL, CLAIMS, "reject")
    assert record.reason.startswith(f"{DECLINED} by refusing a valid descriptor")


def test_what_the_specification_leaves_open_may_be_declined() -> None:
    output = TensorDesc.of(DataType.FLOAT32, (4,), (0,))  # whose elements share memory
    case = tile(msgspec.structs.replace(TWICE, output_tensor=output), data=False)
    assert case.outcome is Outcome.UNSPECIFIED
    assert verdict(ScriptedBackend(validate=raising(Unsupported("no"))), case).verdict is Verdict.OBSERVED


STRIDED = TileDesc(TensorDesc.of(DataType.FLOAT32, (2,), (2,)), FOUR, (2,))
BIG = TensorDesc.of(DataType.FLOAT32, (1, 1, 1, 1))
RELU = descriptor_classes()["ACTIVATION_RELU"](None, None)
FUSED = Case.of(descriptor_classes()["GEMM"](BIG, BIG, None, BIG, 0, 0, 1.0, 0.0, RELU), LEVEL)
REDUCED = Case.of(descriptor_classes()["REDUCE"](2, BIG, BIG, (0,)), LEVEL)
IDENTITY = Case.of(
    descriptor_classes()["ELEMENT_WISE_IDENTITY"](PAIR, PAIR, None),
    LEVEL,
    {"input_tensor": Recipe("random-bits", 1, in_place=True)},
    rule="EXECUTION.in-place",
)


@pytest.mark.parametrize(
    ("scope", "case", "told"),
    [
        (Scope(data_types={"*": ("FLOAT16", "UINT8")}), tile(), "InputTensor of FLOAT32"),
        (Scope(data_types={"OutputTensor": (DataType.UINT8,)}), tile(), "OutputTensor of FLOAT32"),
        (Scope(ranks=(2, 4)), tile(), "InputTensor of 1 dimensions"),
        (Scope(most_elements=3), tile(), "OutputTensor of 4 elements"),
        (Scope(strides=False), tile(STRIDED), "InputTensor with strides"),
        (Scope(least_alignment=256), tile(), "InputTensor with an alignment of 0 bytes"),
        (Scope(attributes={"Repeats": (1, 3)}), tile(), "Repeats of 2"),
        (Scope(attributes={"FusedActivation": ()}), FUSED, "FusedActivation of ACTIVATION_RELU"),
        (Scope(attributes={"Function": ("SUM", "MAX")}), REDUCED, "Function of AVERAGE"),
        (Scope(in_place=False), IDENTITY, "execution in place"),
        (Scope(operators=("TILE", "GATHER"), most_elements=1), tile(), "InputTensor of 2 elements"),
        (Scope(most_elements=1), invalid(), "InputTensor of 2 elements"),
    ],
)
def test_outside_of_a_scope_nothing_is_asked(scope: Scope, case: Case, told: str) -> None:
    backend = ScriptedBackend(scopes=(Scope(), scope))
    record = verdict(backend, case)
    assert (record.verdict, record.reason) == (Verdict.NOT_SUPPORTED, f"outside of the claims: {told}")
    assert backend.asked == []


@pytest.mark.parametrize(
    "scope",
    [
        Scope(data_types={"*": ("UINT8",), "InputTensor": ("FLOAT32",), "OutputTensor": ("FLOAT32",)}),
        Scope(ranks=(1,), most_elements=4, strides=False, in_place=False, attributes={"Repeats": (2,), "Axis": ()}),
        Scope(operators=("GATHER",), most_elements=1),
    ],
)
def test_within_its_scopes_a_backend_is_judged(scope: Scope) -> None:
    assert verdict(ScriptedBackend(scopes=(scope,)), tile()).verdict is Verdict.PASS
    failed = verdict(ScriptedBackend(validate=raising(Unsupported("no")), scopes=(scope,)), tile())
    assert failed.verdict is Verdict.FAIL


def test_who_does_nothing_in_place_is_not_tried_in_place_beside() -> None:
    """As small cases are else, of which the operator lets an output lie in an input's memory."""
    recipes = [Recipe("random-bits", seed) for seed in range(20)]
    executions = []
    for scopes in ((Scope(in_place=False),), ()):
        backend = ScriptedBackend(scopes=scopes)
        for recipe in recipes:
            assert verdict(backend, Case.of(IDENTITY.desc, LEVEL, {"input_tensor": recipe})).verdict is Verdict.PASS
        executions.append(backend.asked.count("execute"))
    assert executions[0] < executions[1]


@pytest.mark.parametrize(
    ("enforces", "case", "told"),
    [
        (ALONE, invalid(), "category shape is not claimed"),
        (ALONE, tile(data=False), "decisions are not claimed"),
        (DESCRIPTOR_CATEGORIES - {Category.SHAPE}, invalid(), "category shape is not claimed"),
    ],
)
def test_of_categories_that_are_not_claimed_nothing_is_asked(
    enforces: frozenset[Category], case: Case, told: str
) -> None:
    backend = ScriptedBackend(enforces=enforces)
    record = verdict(backend, case)
    assert (record.verdict, record.reason, backend.asked) == (Verdict.NOT_SUPPORTED, told, [])


def test_what_structs_cannot_hold_is_not_asked_of_who_gets_structs() -> None:
    desc = msgspec.structs.replace(TWICE, repeats=(-1,))  # a UINT in the API
    case = Case.of(desc, LEVEL, rule="TILE.repeats")
    backend = ScriptedBackend(form="DirectML.h")
    record = verdict(backend, case)
    assert record.verdict is Verdict.NOT_SUPPORTED
    assert "structs cannot hold" in record.reason
    assert backend.asked == []
    assert verdict(backend, tile()).verdict is Verdict.PASS


def test_execution_that_is_not_claimed_is_not_timed() -> None:
    judges = [Judge(ScriptedBackend(enforces=enforces), "mine") for enforces in (DESCRIPTOR_CATEGORIES, set(Category))]
    timed = [list(measure(judge, ["TILE"], [LEVEL], BUDGETS["quick"])) for judge in judges]
    assert [bool(rows) for rows in timed] == [False, True]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"data_types": ["FLOAT32"]}, "Scope.data_types: expected a dict of collections of data types by field"),
        ({"data_types": {"*": ["FLOAT31"]}}, "Scope.data_types['*']: expected data types such as 'FLOAT32'"),
        ({"ranks": ("4",)}, "Scope.ranks: expected whole numbers; found '4'"),
        ({"most_elements": "many"}, "Scope.most_elements: expected a whole number or None"),
        ({"strides": None}, "Scope.strides: expected True or False"),
        ({"operators": "TILE"}, "Scope.operators: expected a collection of names"),
    ],
)
def test_a_scope_of_another_form_is_told(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError) as raised:
        Scope(**fields)
    assert str(raised.value).startswith(told)


def test_claims_are_read_back_from_what_a_certificate_says() -> None:
    scopes = (
        Scope(("TILE",), {"*": ("FLOAT32", "UINT8")}, (4, 5), 1, strides=False, in_place=False, least_alignment=256),
        Scope(attributes={"Function": ("SUM", 3)}),
        Scope(),
    )
    claims = msgspec.structs.replace(ReferenceBackend().capabilities(), scopes=scopes, form="DirectML.h")
    told = claims.as_json()
    assert told["scopes"][2] == {}
    assert Capabilities(**told) == claims
