"""DIAGONAL_MATRIX and DIAGONAL_MATRIX1."""

from __future__ import annotations

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, boundary_runs, numbers, small_runs, with_values
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.spec.datatypes import ALL, DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators, rules
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

NAMES = ("DIAGONAL_MATRIX", "DIAGONAL_MATRIX1")


def places_of_value(run: Run) -> list[bool]:
    """Where Value stands, by the pages' pseudocode."""
    desc, found = run.desc, []
    for *_, y, x in slow.walk(desc.output_tensor.sizes):
        if desc.operator == "DIAGONAL_MATRIX":
            found.append(y + desc.offset == x)
        else:
            begin, end = desc.diagonal_fill_begin, desc.diagonal_fill_end
            found.append((end >= begin) ^ (x - y >= begin) ^ (x - y < end))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_slow_reference(name: str) -> None:
    for run in (*small_runs(name), *boundary_runs(name, HIGHEST)):
        desc, expected = run.desc, run.expected["output_tensor"]
        data_type, sizes = desc.output_tensor.data_type, desc.output_tensor.sizes
        if prod_above(sizes, 2000):
            continue
        found = numbers(expected.values, data_type).reshape(-1)
        free = np.zeros(found.size, bool) if expected.open is None else expected.open.reshape(-1)
        rest = [0] * found.size
        if getattr(desc, "input_tensor", None) is not None:
            memory = run.memory("input_tensor")
            rest = [int.from_bytes(memory.element(c), "little") for c in slow.walk(sizes)]
        bits = expected.values.reshape(-1)
        value = desc.value if data_type.is_float else int(desc.value) if np.isfinite(desc.value) else 0
        for is_value, element, number, other, is_free in zip(
            places_of_value(run), bits, found, rest, free, strict=True
        ):
            if is_value:
                assert is_free or number == NUMBERS[data_type].type(value), desc
            else:
                assert not is_free
                assert element == other, desc


def prod_above(sizes: tuple[int, ...], most: int) -> bool:
    return int(np.prod(sizes)) > most


def matrix(data_type: DataType, offset: int, value: float, *sizes: int) -> Run:
    return with_values(operators()["DIAGONAL_MATRIX"].desc(TensorDesc.of(data_type, sizes), offset, value), HIGHEST)


def band(begin: int, end: int, source: np.ndarray | None = None) -> np.ndarray:
    """5 by 7 elements of FLOAT32, Value 3."""
    tensor = TensorDesc.of(DataType.FLOAT32, (5, 7))
    arrays = {} if source is None else {"input_tensor": source}
    desc = operators()["DIAGONAL_MATRIX1"].desc(None if source is None else tensor, tensor, 1, 3.0, begin, end)
    return numbers(with_values(desc, HIGHEST, **arrays).expected["output_tensor"].values, DataType.FLOAT32)


def test_one_diagonal_is_a_band_of_one() -> None:
    """As the page of DIAGONAL_MATRIX1 says."""
    for offset in range(-6, 9):
        whole = numbers(matrix(DataType.FLOAT32, offset, 3.0, 5, 7).expected["output_tensor"].values, DataType.FLOAT32)
        assert (band(offset, offset + 1) == whole).all()


def test_a_band_and_its_inverse_make_a_whole() -> None:
    source = np.arange(35, dtype=np.float32).reshape(5, 7) + 10
    for begin, end in ((-2, 3), (0, 1), (-9, 0), (4, 20)):
        inside, outside = band(begin, end, source), band(end, begin, source)
        assert ((inside == 3) ^ (outside == 3)).all()
        assert (np.where(inside == 3, outside, inside) == source).all()
    assert (band(2, 2, source) == source).all()


@pytest.mark.parametrize("data_type", sorted(ALL), ids=lambda data_type: data_type.name)
def test_a_value_that_a_type_does_not_have(data_type: DataType) -> None:
    """Without its fraction, as the page says; left open where it is beyond the type."""
    for value, whole in ((10.6, 10), (-2.75, -2), (300.0, 300), (-1.0, -1), (float("nan"), None), (2.0**80, 2**80)):
        value = float(np.float32(value))
        expected = matrix(data_type, 0, value, 2, 2).expected["output_tensor"]
        if data_type.is_float:
            assert expected.free is None
            continue
        assert data_type.limits is not None
        if whole is not None and data_type.limits[0] <= np.floor(value) and np.ceil(value) <= data_type.limits[1]:
            assert expected.open is None
            assert numbers(expected.values, data_type).tolist() == [[whole, 0], [0, whole]]
        else:
            assert expected.free is not None
            assert expected.free.tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_those_of_the_whole(name: str) -> None:
    for run in small_runs(name, 40):
        assert (run.parts("output_tensor").values == run.expected["output_tensor"].values).all()


def test_its_sizes_follow_from_nothing() -> None:
    assert "DIAGONAL_MATRIX.output-sizes" not in rules()
    for sizes in ((1, 1), (7, 2), (2, 3, 4, 5)):
        assert decide(matrix(DataType.FLOAT32, 0, 1.0, *sizes).desc, HIGHEST).outcome is Outcome.ACCEPT


def test_far_diagonals_do_not_come_round() -> None:
    for offset in (2**31 - 1, -(2**31)):
        run = matrix(DataType.INT8, 0, 1.0, 3, 3)
        moved = Run(replace(run.case, desc=replace(run.desc, offset=offset)), {})
        assert not moved.expected["output_tensor"].values.any()
