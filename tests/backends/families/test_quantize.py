"""QUANTIZE and DEQUANTIZE, and the elements of 4 bits that they have."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import slow_reference as slow
from family_cases import assert_conforms, boundary_runs, is_right, small_runs, tensor, with_values
from msgspec.structs import replace
from onnx_node import computed, elements

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.judge.memory import CaseMemory
from dml_conformance.spec import nibbles
from dml_conformance.spec.case import Placement
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.operators.quantize import DEQUANTIZE, NONE, QUANTIZE
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

TORCH = TorchBackend("cpu")
KINDS = {"INT8": np.int8, "UINT8": np.uint8, "INT4": ml_dtypes.int4, "UINT4": ml_dtypes.uint4}


def described(name: str, integers: str, numbers: str, sizes: Any, counts: Any, has_zero_point: bool = True) -> Any:
    kinds = (DataType[numbers], DataType[integers])
    first, last = kinds if name == QUANTIZE else kinds[::-1]
    kind = 1 + has_zero_point
    blocks = tuple(TensorDesc.of(of, counts) for of in kinds[:kind])
    return operators()[name].desc(TensorDesc.of(first, sizes), kind, blocks, TensorDesc.of(last, sizes))


def run_of(desc: Any, x: Any, scale: Any, zero_point: Any = None) -> Any:
    """A case of these elements; those of 4 bits are packed."""
    arrays = {"input_tensor": x, "quantization_tensors[0]": scale, "quantization_tensors[1]": zero_point}
    for key, array in arrays.items():
        if array is not None and tensor(desc, key).data_type.shares_bytes:
            held = np.resize(np.asarray(array).astype(np.int8).view(np.uint8).ravel(), array.size + array.size % 2)
            arrays[key] = nibbles.packed(held)
    run = with_values(desc, HIGHEST, **{key: array for key, array in arrays.items() if array is not None})
    assert_conforms(TORCH, run)
    return run


def holds(run: Any, results: Any) -> Any:
    expected, data_type = run.expected["output_tensor"], run.desc.output_tensor.data_type
    return is_right(expected, np.ascontiguousarray(results).view(f"u{results.itemsize}"), data_type)


def block_of(coordinates: Any, whole: Any, counts: Any) -> Any:
    """The coordinates of the block that an element is in."""
    return tuple(c // Fraction(size, count) for c, size, count in zip(coordinates, whole, counts, strict=True))


@pytest.mark.parametrize("name", [QUANTIZE, DEQUANTIZE])
def test_every_element_has_the_scale_and_zero_point_of_its_block(name: str) -> None:
    """By the formula in rational numbers, wherever it has one result."""
    checked = 0
    for run in small_runs(name):
        desc, arrays, expected = run.desc, elements(run), run.expected["output_tensor"]
        limits = desc.output_tensor.data_type.limits
        for c in slow.walk(desc.output_tensor.sizes):
            block = block_of(c, desc.input_tensor.sizes, desc.quantization_tensors[0].sizes)
            x = float(arrays["input_tensor"][c])
            scale = float(arrays["quantization_tensors[0]"][block])
            zero = int(arrays["quantization_tensors[1]"][block]) if len(desc.quantization_tensors) > 1 else 0
            mantissa = math.frexp(scale)[0]
            if not (math.isfinite(x) and math.isfinite(scale) and abs(mantissa) == 0.5) or abs(scale) < 2.0**-13:
                continue
            if name == DEQUANTIZE:
                exact = (x - zero) * scale
                own = np.float64(exact).astype(desc.output_tensor.data_type.name.lower())
                found = expected.values[c].view(own.dtype)
                checked += bool(own == found)
                assert own == found, (desc, c)
            elif abs(x) >= 2.0**-126 or x == 0:
                whole = min(max(round(Fraction(x) / Fraction(scale)) + zero, limits[0]), limits[1])
                assert int(expected.values[c].view(np.int8 if limits[0] else np.uint8)) == whole, (desc, c)
                checked += 1
    assert checked > 500


@pytest.mark.parametrize("name", [QUANTIZE, DEQUANTIZE])
def test_boundary_cases_are_right_on_torch(name: str) -> None:
    for n, run in enumerate(boundary_runs(name, HIGHEST)):
        if n % 5 == 0:
            assert_conforms(TORCH, run)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", [np.float32, np.float16])
@pytest.mark.parametrize("axis", [0, 1])
def test_blocks_are_those_of_onnxruntime(kind: str, numbers: Any, axis: int) -> None:
    """Which has blocks along one dimension."""
    random, own = np.random.default_rng(5), KINDS[kind]
    least, most = DataType[kind].limits or (0, 0)
    sizes, counts = (6, 8), (2, 8) if axis == 0 else (6, 2)
    x = (random.standard_normal(sizes) * 9).astype(numbers)
    scale = np.ldexp(1.0, random.integers(-2, 2, counts)).astype(numbers)
    zero_point = random.integers(least, most, counts, endpoint=True).astype(own)
    name = np.dtype(numbers).name.upper()
    along = {"axis": axis, "block_size": sizes[axis] // counts[axis]}
    (found,) = computed("QuantizeLinear", {"x": x, "s": scale, "z": zero_point}, outputs=(own,), **along)
    run = run_of(described(QUANTIZE, kind, name, sizes, counts), x, scale, zero_point)
    assert holds(run, found).all()
    assert not holds(run, found ^ 1).any()
    q = random.integers(least, most, sizes, endpoint=True).astype(own)
    (found,) = computed("DequantizeLinear", {"x": q, "s": scale, "z": zero_point}, outputs=(numbers,), **along)
    run = run_of(described(DEQUANTIZE, kind, name, sizes, counts), q, scale, zero_point)
    assert holds(run, found).all()
    assert not holds(run, found + numbers(1)).any()


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_the_first_of_two_elements_is_in_the_low_half_of_a_byte(kind: str) -> None:
    """[1, 2, 3, 4, 5] is 21 43 05 on the page of the types."""
    desc = described(DEQUANTIZE, kind, "FLOAT32", (5,), (1,), has_zero_point=False)
    run = with_values(
        desc,
        HIGHEST,
        **{"input_tensor": np.array([0x21, 0x43, 0xF5], np.uint8), "quantization_tensors[0]": np.ones(1, np.float32)},
    )
    assert run.expected["output_tensor"].values.view(np.float32).tolist() == [1, 2, 3, 4, 5]
    assert_conforms(TORCH, run)


@pytest.mark.parametrize("backend", [TORCH, ReferenceBackend()], ids=["torch", "reference"])
@pytest.mark.parametrize(("kind", "written"), [("INT4", "e1c3a5"), ("UINT4", "0103a5")])
def test_the_first_of_two_results_goes_to_the_low_half_of_a_byte(kind: str, written: str, backend: Backend) -> None:
    """The half that an odd count leaves over is the memory's own."""
    desc = described(QUANTIZE, kind, "FLOAT32", (5,), (1,), has_zero_point=False)
    x = np.array([1, -2, 3, -4, 5], np.float32)
    run = with_values(desc, HIGHEST, **{"input_tensor": x, "quantization_tensors[0]": np.ones(1, np.float32)})
    held = np.full(4, 0xA5, np.uint8)
    backend.execute(desc, HIGHEST, run.bindings, {"output_tensor": Binding(held, 0, 4)})
    assert held.tobytes().hex() == f"{written}a5"


def test_strides_of_elements_of_4_bits_count_elements() -> None:
    wide = TensorDesc.of(DataType.INT4, (2, 2), (3, 1))
    assert wide.total_tensor_size_in_bytes == 4
    held = np.array([0x98, 0xF7, 0xA1, 0xCC], np.uint8)
    found = nibbles.elements(held, wide)
    assert found.view(np.int8).tolist() == [[-8, -7], [-1, 1]]
    nibbles.put(held, wide, np.array([[1, 2], [3, 4]], np.uint8))
    assert held.tobytes().hex() == "2137a4cc"


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_what_stands_between_elements_keeps_its_value_on_torch(kind: str) -> None:
    numbers, output = TensorDesc.of(DataType.FLOAT32, (3,)), TensorDesc.of(DataType[kind], (3,), (2,))
    desc = operators()[QUANTIZE].desc(numbers, 1, (TensorDesc.of(DataType.FLOAT32, (1,)),), output)
    run = run_of(desc, np.array([1, 2, 3], np.float32), np.ones(1, np.float32))
    held = np.full(4, 0xA5, np.uint8)
    TORCH.execute(desc, HIGHEST, run.bindings, {"output_tensor": Binding(held, 0, 4)})
    assert held.tobytes().hex() == "a1a2a3a5"


def test_results_of_4_bits_end_at_their_limits() -> None:
    x = np.array([-9, -8, 7, 8, 15, 16, 1e30, -math.inf, math.nan], np.float32)
    for kind, wanted in (("INT4", [-8, -8, 7, 7, 7, 7, 7, -8]), ("UINT4", [0, 0, 7, 8, 15, 15, 15, 0])):
        run = run_of(described(QUANTIZE, kind, "FLOAT32", (9,), (1,), has_zero_point=False), x, np.ones(1, np.float32))
        expected = run.expected["output_tensor"]
        assert expected.values.view(np.int8)[:8].tolist() == wanted
        assert expected.free is not None
        assert expected.free.tolist() == [False] * 8 + [True]


@pytest.mark.parametrize("name", [QUANTIZE, DEQUANTIZE])
def test_blocks_have_whole_lengths(name: str) -> None:
    for counts, is_valid in (((1, 1), True), ((4, 6), True), ((2, 3), True), ((3, 1), False), ((8, 1), False)):
        desc = described(name, "UINT4", "FLOAT16", (4, 6), counts)
        rules = () if is_valid else (f"{name}.blocks",)
        assert decide(desc, HIGHEST).rules == rules
        assert TORCH.validate(desc, HIGHEST).accepted is is_valid


@pytest.mark.parametrize("name", [QUANTIZE, DEQUANTIZE])
def test_what_the_page_leaves_open(name: str) -> None:
    plain = described(name, "INT8", "FLOAT32", (4,), (2,))
    scale = plain.quantization_tensors[0]
    other = {
        "quantization-type": {"quantization_type": NONE},
        "quantization-data-types": {"quantization_tensors": (scale, TensorDesc.of(DataType.UINT8, (2,)))},
        "zero-point-sizes": {"quantization_tensors": (scale, TensorDesc.of(DataType.INT8, (1,)))},
    }
    for rule, changes in other.items():
        decision = decide(replace(plain, **changes), HIGHEST)
        assert decision.outcome is Outcome.UNSPECIFIED
        assert decision.rules == (f"{name}.{rule}",)
    few = replace(plain, quantization_tensors=(scale,))
    assert decide(few, HIGHEST).rules == (f"{name}.quantization-count",)
    assert not TORCH.validate(few, HIGHEST).accepted


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_no_poison_of_4_bits_is_right_or_what_it_was_before(kind: str) -> None:
    x = np.arange(-20, 21, dtype=np.float32)
    run = run_of(described(QUANTIZE, kind, "FLOAT32", (41,), (1,), has_zero_point=False), x, np.ones(1, np.float32))
    (slot,) = outputs(run.desc)
    expected, memory = run.expected["output_tensor"], CaseMemory(run.desc, Placement())
    last = None
    for _ in range(20):
        now = memory.poison(slot, expected, last)
        assert not (now.elements == expected.values).any()
        assert last is None or not (now.elements == last.poison).any()
        last = now
