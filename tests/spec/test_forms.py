"""Descriptors as JSON: what is written is read back, DxDispatch's short forms are taken, every fault is located."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from five_operators import GatherDesc, TileDesc

from dml_conformance.spec.datatypes import DataType, TensorFlag, TensorType
from dml_conformance.spec.examples import examples
from dml_conformance.spec.field_kinds import KINDS, EnumKind, enumerations
from dml_conformance.spec.forms import FormError, desc_from_json, desc_to_json, tensor_from_json, tensor_to_json
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX, TensorDesc
from dml_conformance.spec.validator import decide

GATHER: dict[str, Any] = {
    "type": "DML_OPERATOR_GATHER",
    "desc": {
        "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 2]},
        "IndicesTensor": {"DataType": "UINT32", "Sizes": [1, 4]},
        "OutputTensor": {"DataType": "FLOAT32", "Sizes": [4, 2]},
        "Axis": 0,
        "IndexDimensions": 1,
    },
}
TILE: dict[str, Any] = {
    "type": "DML_OPERATOR_TILE",
    "desc": {
        "InputTensor": {"DataType": "INT8", "Sizes": [3]},
        "OutputTensor": {"DataType": "INT8", "Sizes": [6]},
        "Repeats": [2],
    },
}
DELETED = object()


def changed(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    """A copy with one member set, or deleted."""
    result = copy.deepcopy(value)
    *parents, name = path.split(".")
    owner = result
    for parent in parents:
        owner = owner[parent]
    if new is DELETED:
        del owner[name]
    else:
        owner[name] = new
    return result


TENSORS = [
    TensorDesc.of(DataType.FLOAT32, (3, 2)),
    TensorDesc.of(DataType.INT8, (5,)),
    TensorDesc.of(DataType.FLOAT16, (2, 3), (0, 1)),
    TensorDesc.of(DataType.UINT64, (2, 2), (1, 2), flags=TensorFlag.OWNED_BY_DML, alignment=32),
    TensorDesc(DataType.FLOAT64, (1,), None, UINT64_MAX, 5, UINT32_MAX),
    TensorDesc(DataType.UNKNOWN, (2,), (UINT32_MAX,), 16, type=TensorType.INVALID),
    TensorDesc(DataType.INT4, (0, 3), None, 0),
    TensorDesc(DataType.UINT8, (), None, 4),
    TensorDesc(DataType.UINT8, (2,) * 9, None, 512),
]


@pytest.mark.parametrize("tensor", TENSORS, ids=str)
def test_a_tensor_is_read_back_as_it_was_written(tensor: TensorDesc) -> None:
    written = json.loads(json.dumps(tensor_to_json(tensor)))
    assert tensor_from_json(written, "t") == tensor


@pytest.mark.parametrize("example", [e for e in examples().values() if e.printed is not None], ids=lambda e: e.id)
def test_a_descriptor_is_read_back_as_it_was_written(example: Any) -> None:
    written = json.loads(json.dumps(desc_to_json(example.printed)))
    assert desc_from_json(written) == example.printed
    assert written["type"] == f"DML_OPERATOR_{example.operator}"


def test_a_null_tensor_is_read_back() -> None:
    desc = desc_from_json(changed(GATHER, "desc.IndicesTensor", None))
    assert isinstance(desc, GatherDesc)
    assert desc.indices_tensor is None
    assert desc_from_json(desc_to_json(desc)) == desc
    assert desc_from_json(changed(GATHER, "desc.IndicesTensor", DELETED)) == desc


@pytest.mark.parametrize(
    "short",
    [
        changed(GATHER, "type", "GATHER"),
        {"Type": GATHER["type"], "Desc": GATHER["desc"]},
        {"type": GATHER["type"], **GATHER["desc"]},
        {"Type": GATHER["type"], **GATHER["desc"]},
        changed(GATHER, "desc.InputTensor", {"Type": "BUFFER", "Desc": {"DataType": "FLOAT32", "Sizes": [3, 2]}}),
        changed(GATHER, "desc.InputTensor.DataType", "DML_TENSOR_DATA_TYPE_FLOAT32"),
        changed(GATHER, "desc.InputTensor.DataType", 1),
        changed(GATHER, "desc.InputTensor.Flags", "NONE"),
        changed(GATHER, "desc.InputTensor.Flags", "DML_TENSOR_FLAG_NONE"),
        changed(GATHER, "desc.InputTensor.Strides", None),
        changed(GATHER, "desc.InputTensor.DimensionCount", 2),
        changed(GATHER, "desc.InputTensor.TotalTensorSizeInBytes", 24),
        changed(GATHER, "desc.InputTensor.TotalTensorSizeInBytes", None),
        changed(GATHER, "desc.InputTensor.GuaranteedBaseOffsetAlignment", 0),
        changed(GATHER, "desc.InputTensor.Type", "DML_TENSOR_TYPE_BUFFER"),
    ],
    ids=lambda short: json.dumps(short)[:70],
)
def test_short_forms_mean_the_same(short: dict[str, Any]) -> None:
    assert desc_from_json(short) == desc_from_json(GATHER)


def test_count_of_an_array_may_be_left_out() -> None:
    desc = desc_from_json(TILE)
    assert isinstance(desc, TileDesc)
    assert desc.repeats == (2,)
    assert desc_from_json(changed(TILE, "desc.RepeatsCount", 1)) == desc
    assert desc.input_tensor.total_tensor_size_in_bytes == 4  # three bytes, rounded up


def test_a_total_size_of_0_is_one_that_is_too_small() -> None:
    """Read by way of the form for text alone, and as a value; a tensor that is written is read as it was."""
    given = changed(GATHER, "desc.InputTensor.TotalTensorSizeInBytes", 0)
    desc = desc_from_json(given)
    assert desc.input_tensor.total_tensor_size_in_bytes == 0
    assert desc_from_json(desc_to_json(desc)) == desc
    assert decide(desc, HIGHEST).rules == ("TENSOR.total-size",)


def test_no_size_is_computed_where_it_could_not_be_held() -> None:
    # The product of so many sizes has millions of digits.
    tensor = tensor_from_json({"DataType": "UINT8", "Sizes": [UINT32_MAX] * 100_000}, "t")
    assert tensor.total_tensor_size_in_bytes == 0
    assert tensor_from_json({"DataType": "FLOAT64", "Sizes": [UINT32_MAX] * 8}, "t").total_tensor_size_in_bytes == (
        UINT64_MAX
    )


T = "desc.InputTensor"
FAULTS: list[tuple[Any, str, str]] = [
    (None, "", "expected an operator as an object with type and desc, found null"),
    ([], "", "found a list"),
    (7, "", "found the number 7"),
    (True, "", "found true or false"),
    ("GATHER", "", "found text"),
    ({}, "type", "missing; expected an operator such as DML_OPERATOR_GATHER"),
    ({"type": 67}, "type", "expected an operator's name, found the number 67"),
    ({"type": "DML_OPERATOR_GEMMA"}, "type", "unknown operator 'DML_OPERATOR_GEMMA'; did you mean DML_OPERATOR_GEMM?"),
    ({"type": "GATHER", "desc": []}, "desc", "expected an object with the fields of DML_OPERATOR_GATHER, found a list"),
    (changed(GATHER, "desc.Axes", 1), "desc.Axes", "has no such field; did you mean Axis?"),
    (changed(GATHER, "desc.Xyzzy", 1), "desc.Xyzzy", "has no such field; it has InputTensor"),
    (changed(GATHER, "desc.Axis", DELETED), "desc.Axis", "missing; expected UINT"),
    (changed(GATHER, "desc.Axis", -1), "desc.Axis", "expected a whole number from 0 to 4294967295, found -1"),
    (changed(GATHER, "desc.Axis", 2**32), "desc.Axis", "found 4294967296"),
    (changed(GATHER, "desc.Axis", 1.0), "desc.Axis", "found 1.0"),
    (changed(GATHER, "desc.Axis", "1"), "desc.Axis", "found '1'"),
    (changed(GATHER, "desc.Axis", True), "desc.Axis", "found True"),
    (changed(GATHER, "desc.Axis", None), "desc.Axis", "found None"),
    (changed(GATHER, "desc.Axis", "x" * 100), "desc.Axis", "x..."),
    (changed(TILE, "desc.Repeats", DELETED), "desc.Repeats", "missing; expected a list of whole numbers"),
    (changed(TILE, "desc.Repeats", 2), "desc.Repeats", "expected a list of whole numbers, found the number 2"),
    (changed(TILE, "desc.Repeats", [-2]), "desc.Repeats[0]", "found -2"),
    (changed(TILE, "desc.RepeatsCount", 2), "desc.RepeatsCount", "is 2, but Repeats has 1 entries"),
    (changed(TILE, "desc.RepeatsCount", 0), "desc.RepeatsCount", "is 0, but Repeats has 1 entries"),
    (changed(TILE, "desc.RepeatsCount", "1"), "desc.RepeatsCount", "expected a whole number"),
    (changed(GATHER, T, 5), T, "expected a tensor as an object with DataType and Sizes, found the number 5"),
    (changed(GATHER, T, {"Desc": 5}), f"{T}.Desc", "expected an object with DataType and Sizes"),
    (changed(GATHER, T, {"Desc": {}, "Sizes": []}), f"{T}.Sizes", "DML_TENSOR_DESC has no such field"),
    (changed(GATHER, f"{T}.Size", [1]), f"{T}.Size", "did you mean Sizes?"),
    (changed(GATHER, f"{T}.DataType", DELETED), f"{T}.DataType", "missing; every tensor states it"),
    (changed(GATHER, f"{T}.Sizes", DELETED), f"{T}.Sizes", "missing; every tensor states it"),
    (changed(GATHER, f"{T}.DataType", "FLOAT"), f"{T}.DataType", "expected one of UNKNOWN, FLOAT32"),
    (changed(GATHER, f"{T}.DataType", 14), f"{T}.DataType", "found 14"),
    (changed(GATHER, f"{T}.DataType", True), f"{T}.DataType", "found True"),
    (changed(GATHER, f"{T}.DataType", []), f"{T}.DataType", "found []"),
    (changed(GATHER, f"{T}.Type", "TEXTURE"), f"{T}.Type", "expected one of INVALID, BUFFER"),
    (changed(GATHER, f"{T}.Flags", "OWNED"), f"{T}.Flags", "expected one of NONE, OWNED_BY_DML"),
    (changed(GATHER, f"{T}.Flags", -1), f"{T}.Flags", "expected a whole number"),
    (changed(GATHER, f"{T}.Sizes", 3), f"{T}.Sizes", "expected a list of whole numbers"),
    (changed(GATHER, f"{T}.Sizes", [3, None]), f"{T}.Sizes[1]", "found None"),
    (changed(GATHER, f"{T}.Sizes", [3, 2**32]), f"{T}.Sizes[1]", "found 4294967296"),
    (changed(GATHER, f"{T}.Strides", [1]), f"{T}.Strides", "expected 2 entries as in Sizes, found 1"),
    (changed(GATHER, f"{T}.Strides", [1, -1]), f"{T}.Strides[1]", "found -1"),
    (changed(GATHER, f"{T}.Strides", {}), f"{T}.Strides", "found an object"),
    (changed(GATHER, f"{T}.DimensionCount", 3), f"{T}.DimensionCount", "is 3, but Sizes has 2 entries"),
    (changed(GATHER, f"{T}.TotalTensorSizeInBytes", 2**64), f"{T}.TotalTensorSizeInBytes", "to 18446744073709551615"),
    (
        changed(GATHER, f"{T}.GuaranteedBaseOffsetAlignment", 1.5),
        f"{T}.GuaranteedBaseOffsetAlignment",
        "expected a whole number",
    ),
]


@pytest.mark.parametrize(("value", "where", "problem"), FAULTS, ids=[f"{w or 'root'}: {p}" for _, w, p in FAULTS])
def test_a_fault_is_located_and_named(value: Any, where: str, problem: str) -> None:
    with pytest.raises(FormError) as caught:
        desc_from_json(value)
    assert caught.value.where == where
    assert problem in caught.value.problem
    assert str(caught.value) == (f"{where}: {caught.value.problem}" if where else caught.value.problem)
    assert "\n" not in str(caught.value)


def test_a_fault_is_located_below_the_path_given() -> None:
    with pytest.raises(FormError) as caught:
        desc_from_json(changed(GATHER, f"{T}.Sizes", [-1, 2]), "dispatchables.g")
    assert caught.value.where == "dispatchables.g.desc.InputTensor.Sizes[0]"


@pytest.mark.parametrize("kind", enumerations().values(), ids=list(enumerations()))
def test_an_enumerator_reaches_another_process_as_its_number(kind: EnumKind) -> None:
    for enumerator in kind.enum:
        assert pickle.loads(pickle.dumps(enumerator)) == enumerator


def test_a_whole_number_in_a_float_field_is_written_as_it_is_read_back() -> None:
    kind = KINDS["FLOAT"]
    assert json.dumps(kind.to_json(3)) == json.dumps(kind.to_json(kind.from_json(3, ""))) == "3.0"
