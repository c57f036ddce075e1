"""ELEMENT_WISE_LOGICAL_*, ELEMENT_WISE_IS_NAN and ELEMENT_WISE_IS_INFINITY."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators, rules
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

CONNECTIVES = ("AND", "OR", "XOR", "NOT")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQUALS": lambda a, b: a == b,
    "GREATER_THAN": lambda a, b: a > b,
    "LESS_THAN": lambda a, b: a < b,
    "GREATER_THAN_OR_EQUAL": lambda a, b: a >= b,
    "LESS_THAN_OR_EQUAL": lambda a, b: a <= b,
}
FLOATS = {DataType.FLOAT16: "<e", DataType.FLOAT32: "<f"}
EITHER, POSITIVE, NEGATIVE = enumeration("DML_IS_INFINITY_MODE")


def value(element: bytes, data_type: DataType) -> int | float:
    """The number that an element is."""
    if data_type in FLOATS:
        number: float = struct.unpack(FLOATS[data_type], element)[0]
        return number
    return int.from_bytes(element, "little", signed=data_type.name.startswith("INT"))


def as_zero(number: int | float, data_type: DataType) -> int | float:
    """A FLOAT32 number as who flushes subnormals takes it."""
    is_subnormal = data_type is DataType.FLOAT32 and abs(number) < 2.0**-126
    return math.copysign(0.0, number) if is_subnormal else number


def slow_element(name: str, run: Run, c: slow.Coordinates) -> set[int]:
    """What is right of an element: 1, 0, or both."""
    if name == "NOT":
        return {int(not any(run.memory("input_tensor").element(c)))}
    if name.startswith("IS_"):
        data_type = run.desc.input_tensor.data_type
        number = value(run.memory("input_tensor").element(c), data_type)
        if name == "IS_NAN":
            return {int(number != number)}
        wanted = {EITHER: (math.inf, -math.inf), POSITIVE: (math.inf,), NEGATIVE: (-math.inf,)}
        return {int(number in wanted[run.desc.infinity_mode])}
    a, b = (run.memory(key).element(c) for key in ("a_tensor", "b_tensor"))
    if name in CONNECTIVES:
        true = [any(a), any(b)].count(True)
        return {int(true in {"AND": (2,), "OR": (1, 2), "XOR": (1,)}[name])}
    data_type = run.desc.a_tensor.data_type
    numbers = value(a, data_type), value(b, data_type)
    flushed = (as_zero(number, data_type) for number in numbers)
    return {int(COMPARISONS[name](*numbers)), int(COMPARISONS[name](*flushed))}


def found(run: Run) -> list[set[int]]:
    """What is expected of each element."""
    expected = run.expected["output_tensor"]
    assert expected.one_of is None
    assert expected.free is None
    values = [{int(v)} for v in expected.values.flat]
    if expected.within is not None and expected.intervals is not None:
        for n in np.flatnonzero(expected.intervals):
            values[n] = set(range(int(expected.within.low.flat[n]), int(expected.within.high.flat[n]) + 1))
    return values


@pytest.mark.parametrize(
    "name", [*CONNECTIVES, *COMPARISONS, "IS_NAN", "IS_INFINITY"], ids=lambda name: name.lower().replace("_", "-")
)
def test_agrees_with_the_slow_reference(name: str) -> None:
    operator = f"ELEMENT_WISE_{name}" if name.startswith("IS_") else f"ELEMENT_WISE_LOGICAL_{name}"
    seen: dict[int, int] = {0: 0, 1: 0}
    for run in small_runs(operator, 200):
        expected = found(run)
        assert expected == [slow_element(name, run, c) for c in slow.walk(run.desc.output_tensor.sizes)], run.desc
        assert (run.parts("output_tensor").values == run.expected["output_tensor"].values).all()
        for right in expected:
            for truth in right:
                seen[truth] += 1
    assert min(seen.values()) > 100, seen


def compare(name: str, a: Any, b: Any) -> Run:
    data_type = DataType[a.dtype.name.upper()]
    tensors = (
        TensorDesc.of(data_type, a.shape),
        TensorDesc.of(data_type, a.shape),
        TensorDesc.of(DataType.UINT8, a.shape),
    )
    desc = operators()[f"ELEMENT_WISE_LOGICAL_{name}"].desc(*tensors)
    return with_values(desc, HIGHEST, a_tensor=a, b_tensor=b)


def values(name: str, a: Any, b: Any) -> Any:
    return compare(name, a, b).expected["output_tensor"].values.astype(bool)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.uint8, np.int64, np.uint64])
def test_of_numbers_exactly_one_of_three_is_true(kind: Any) -> None:
    random = np.random.default_rng(4)
    a, b = (random.integers(0, 20, 2000).astype(kind) - kind(0 if np.dtype(kind).kind == "u" else 10) for _ in range(2))
    equal, greater, less = (values(name, a, b) for name in ("EQUALS", "GREATER_THAN", "LESS_THAN"))
    assert (equal.astype(int) + greater + less == 1).all()
    assert (values("GREATER_THAN_OR_EQUAL", a, b) == ~less).all()
    assert (values("LESS_THAN_OR_EQUAL", a, b) == ~greater).all()
    assert (values("GREATER_THAN", b, a) == less).all()
    assert equal.any()
    assert not equal.all()


def test_the_top_bit_is_a_sign_of_signed_types_alone() -> None:
    for width in (8, 16, 32, 64):
        top, one = (np.array([n], f"u{width // 8}") for n in (2 ** (width - 1), 1))
        assert values("GREATER_THAN", top, one).all()
        assert values("LESS_THAN", top.view(f"i{width // 8}"), one.view(f"i{width // 8}")).all()


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_nan_is_neither_equal_nor_more_nor_less(kind: Any) -> None:
    nan, others = np.full(4, np.nan, kind), np.array([np.nan, 0, np.inf, -np.inf], kind)
    for name in COMPARISONS:
        for operands in ((nan, others), (others, nan)):
            run = compare(name, *operands)
            assert found(run) == [{0}] * 4
            assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_zeros_are_equal(kind: Any) -> None:
    run = [values(name, np.array([0.0, -0.0], kind), np.array([-0.0, 0.0], kind)) for name in COMPARISONS]
    assert [r.all() for r in run] == [True, False, False, True, True]
    assert [r.any() for r in run] == [True, False, False, True, True]


@pytest.mark.parametrize(
    ("kind", "tiny", "open_results"),
    [(np.float32, 1e-40, [{0}, {0, 1}, {1}, {0}]), (np.float16, 6e-8, [{0}, {1}, {1}, {0}])],
)
def test_what_depends_on_subnormals_of_float32_is_open(kind: Any, tiny: float, open_results: list[set[int]]) -> None:
    a, b = np.array([tiny, 0, 0, tiny], kind), np.array([tiny, tiny, 1, -1], kind)
    run = compare("LESS_THAN", a, b)
    assert found(run) == open_results
    assert_conforms(TorchBackend("cpu"), run)


def test_an_infinity_is_of_one_sign() -> None:
    source = TensorDesc.of(DataType.FLOAT16, (2**16,))
    every = np.arange(2**16, dtype=np.uint16)
    modes = [
        operators()["ELEMENT_WISE_IS_INFINITY"].desc(source, TensorDesc.of(DataType.UINT8, (2**16,)), int(mode))
        for mode in (EITHER, POSITIVE, NEGATIVE)
    ]
    either, positive, negative = (
        np.flatnonzero(with_values(desc, HIGHEST, input_tensor=every).expected["output_tensor"].values)
        for desc in modes
    )
    assert (either.tolist(), positive.tolist(), negative.tolist()) == ([0x7C00, 0xFC00], [0x7C00], [0xFC00])


def test_connectives_keep_de_morgans_laws() -> None:
    random = np.random.default_rng(8)
    a, b = (random.integers(0, 4, 300).astype(np.uint32) << np.uint32(shift) for shift in (0, 8))
    tensor = TensorDesc.of(DataType.UINT32, (300,))

    def logical(name: str, *operands: Any) -> Any:
        desc = operators()[f"ELEMENT_WISE_LOGICAL_{name}"].desc(*[tensor] * (len(operands) + 1))
        keys = ("input_tensor",) if len(operands) == 1 else ("a_tensor", "b_tensor")
        return with_values(desc, HIGHEST, **dict(zip(keys, operands, strict=True))).expected["output_tensor"].values

    both = logical("NOT", logical("AND", a, b))
    assert (both == logical("OR", logical("NOT", a), logical("NOT", b))).all()
    assert (logical("XOR", a, b) == logical("AND", logical("OR", a, b), both)).all()
    assert set(both.tolist()) == {0, 1}


def test_results_have_a_type_of_their_own_only_where_inputs_are_no_truth_values() -> None:
    same = {name for name in operators() if f"{name}.same-data-type" in rules()}
    assert {f"ELEMENT_WISE_LOGICAL_{name}" for name in (*CONNECTIVES, *COMPARISONS)} <= same
    assert not same & {"ELEMENT_WISE_IS_NAN", "ELEMENT_WISE_IS_INFINITY"}
    floats, truths = (TensorDesc.of(data_type, (2, 3)) for data_type in (DataType.FLOAT32, DataType.UINT8))
    desc = operators()["ELEMENT_WISE_LOGICAL_EQUALS"].desc(floats, floats, truths)
    assert decide(desc, HIGHEST).outcome is Outcome.ACCEPT
