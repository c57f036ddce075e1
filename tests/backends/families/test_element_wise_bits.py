"""ELEMENT_WISE_BIT_AND, _OR, _XOR, _NOT, _COUNT, _SHIFT_LEFT and _SHIFT_RIGHT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc

BINARY = ("AND", "OR", "XOR", "SHIFT_LEFT", "SHIFT_RIGHT")
UNARY = ("NOT", "COUNT")
WIDTHS = {DataType.UINT8: np.uint8, DataType.UINT16: np.uint16, DataType.UINT32: np.uint32, DataType.UINT64: np.uint64}


def digits(element: bytes) -> list[bool]:
    """The bits of an element, the lowest first."""
    return [bool(byte >> bit & 1) for byte in element for bit in range(8)]


def number(bits: list[bool]) -> int:
    return sum(2**place for place, is_set in enumerate(bits) if is_set)


def shifted(bits: list[bool], by: int) -> list[bool] | None:
    """To the left, or for a negative count to the right, with zeros that come in; None where nothing stays."""
    if abs(by) >= len(bits):
        return None
    return [0 <= place - by < len(bits) and bits[place - by] for place in range(len(bits))]


def slow_element(name: str, operands: list[bytes]) -> int | None:
    """What comes of the elements at one place, bit by bit; None where that is open."""
    first, *others = map(digits, operands)
    if name == "COUNT":
        return sum(first)
    if name == "NOT":
        return number([not bit for bit in first])
    if name.startswith("SHIFT"):
        count = int.from_bytes(operands[1], "little")
        found = shifted(first, count if name == "SHIFT_LEFT" else -count)
        return None if found is None else number(found)
    together: Callable[[bool, bool], bool] = {
        "AND": lambda a, b: a and b,
        "OR": lambda a, b: a or b,
        "XOR": lambda a, b: a is not b,
    }[name]
    return number([together(a, b) for a, b in zip(first, others[0], strict=True)])


def slow_elements(name: str, run: Run) -> list[int | None]:
    keys = ("input_tensor",) if name in UNARY else ("a_tensor", "b_tensor")
    memory = [run.memory(key) for key in keys]
    return [slow_element(name, [m.element(c) for m in memory]) for c in slow.walk(run.desc.output_tensor.sizes)]


def found(run: Run) -> list[int | None]:
    """The elements that are expected, None for one that is open."""
    expected = run.expected["output_tensor"]
    assert expected.one_of is None
    assert expected.within is None
    free = np.zeros(expected.values.shape, bool) if expected.free is None else expected.free
    return [None if f else v for v, f in zip(expected.values.flat, free.flat, strict=True)]


@pytest.mark.parametrize("name", [*BINARY, *UNARY])
def test_agrees_with_the_slow_reference(name: str) -> None:
    judged = 0
    for run in small_runs(f"ELEMENT_WISE_BIT_{name}"):
        elements = found(run)
        assert elements == slow_elements(name, run), run.desc
        judged += sum(element is not None for element in elements)
        parts = run.parts("output_tensor")
        assert [None if f else v for v, f in zip(parts.values.flat, parts.free.flat, strict=True)] == elements
    assert judged > 1000


def compute(name: str, *operands: Any, output: DataType | None = None) -> Any:
    """The expected elements of packed vectors of unsigned integers."""
    data_type = DataType[operands[0].dtype.name.upper()]
    tensor = TensorDesc.of(data_type, operands[0].shape)
    tensors = [*(tensor for _ in operands), TensorDesc.of(output or data_type, operands[0].shape)]
    keys = ("input_tensor",) if len(operands) == 1 else ("a_tensor", "b_tensor")
    desc = operators()[f"ELEMENT_WISE_BIT_{name}"].desc(*tensors)
    return with_values(desc, HIGHEST, **dict(zip(keys, operands, strict=True))).expected["output_tensor"].values


def numbers(data_type: DataType, seed: int, most: int | None = None) -> Any:
    kind = WIDTHS[data_type]
    return np.random.default_rng(seed).integers(
        0, np.iinfo(kind).max if most is None else most, 500, kind, endpoint=True
    )


@pytest.mark.parametrize("data_type", WIDTHS)
def test_and_is_or_of_the_inverted(data_type: DataType) -> None:
    a, b = numbers(data_type, 1), numbers(data_type, 2)
    inverted = compute("OR", compute("NOT", a), compute("NOT", b))
    assert (compute("AND", a, b) == compute("NOT", inverted)).all()
    assert (compute("XOR", compute("XOR", a, b), b) == a).all()


@pytest.mark.parametrize("data_type", WIDTHS)
def test_counts_of_what_two_have_in_common_and_of_the_rest_add_up(data_type: DataType) -> None:
    a, b = numbers(data_type, 3), numbers(data_type, 4)
    count = [compute("COUNT", x, output=DataType.UINT8) for x in (a, b, compute("AND", a, b), compute("OR", a, b))]
    assert (count[0] + count[1] == count[2] + count[3]).all()
    assert (count[0] + compute("COUNT", compute("NOT", a), output=DataType.UINT8) == data_type.bits).all()
    assert compute("COUNT", a, output=DataType.UINT32).tolist() == count[0].tolist()


@pytest.mark.parametrize("data_type", WIDTHS)
def test_shifts_multiply_and_divide_by_powers_of_two(data_type: DataType) -> None:
    a, by = numbers(data_type, 5), numbers(data_type, 6, data_type.bits - 1)
    powers = [2 ** int(n) for n in by]
    left = [int(x) * power % 2**data_type.bits for x, power in zip(a, powers, strict=True)]
    assert compute("SHIFT_LEFT", a, by).tolist() == left
    assert compute("SHIFT_RIGHT", a, by).tolist() == [int(x) // power for x, power in zip(a, powers, strict=True)]
    back = compute("SHIFT_RIGHT", compute("SHIFT_LEFT", a, by), by)
    assert (back <= a).all()


@pytest.mark.parametrize("name", ["SHIFT_LEFT", "SHIFT_RIGHT"])
def test_a_shift_by_all_bits_or_more_is_open(name: str) -> None:
    tensor = TensorDesc.of(DataType.UINT16, (5,))
    a, by = np.full(5, 0x8001, np.uint16), np.array([0, 15, 16, 17, 65535], np.uint16)
    desc = operators()[f"ELEMENT_WISE_BIT_{name}"].desc(tensor, tensor, tensor)
    run = with_values(desc, HIGHEST, a_tensor=a, b_tensor=by)
    last = 0x8000 if name == "SHIFT_LEFT" else 1
    assert found(run) == [0x8001, last, None, None, None]
    assert_conforms(TorchBackend("cpu"), run)
