"""Descriptors as JSON, in the form that DxDispatch reads: DirectML's own field names and enumerators.

    {"type": "DML_OPERATOR_GATHER", "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 2]}, ..., "Axis": 0}}

Reading takes DxDispatch's short forms: enumerators without their prefix, a tensor without its `Desc` level, fields
beside `type` instead of under `desc`, and defaults for Type, Flags, DimensionCount, Strides, TotalTensorSizeInBytes
and GuaranteedBaseOffsetAlignment. Form is checked here, meaning in `spec.validator`: a number that does not fit the
API's integer, or an array whose count field disagrees, is no descriptor at all and raises `FormError`.

Source of the form: the DxDispatch guide in microsoft/DirectML.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any

import msgspec

from dml_conformance.spec.datatypes import DataType, TensorFlag, TensorType
from dml_conformance.spec.descriptor import Field, OperatorDesc, descriptor_classes
from dml_conformance.spec.errors import closest
from dml_conformance.spec.field_kinds import (
    OPERATOR,
    SCALAR,
    TENSOR,
    UINT,
    UINTS,
    FormError,
    join,
    kind_of,
    read_enum,
    read_whole,
    shown,
)
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX, TensorDesc, minimum_size_in_bytes
from dml_conformance.spec.tensor_rules import MAX_DIMENSIONS

__all__ = ["FormError", "desc_from_json", "desc_from_usual_text", "desc_to_json", "tensor_from_json", "tensor_to_json"]

TENSOR_FIELDS = (
    "Type",
    "DataType",
    "Flags",
    "DimensionCount",
    "Sizes",
    "Strides",
    "TotalTensorSizeInBytes",
    "GuaranteedBaseOffsetAlignment",
)


def tensor_to_json(tensor: TensorDesc) -> dict[str, Any]:
    """All fields of a tensor that are not at their default."""
    result: dict[str, Any] = {"DataType": tensor.data_type.name, "Sizes": list(tensor.sizes)}
    if tensor.type is not TensorType.BUFFER:
        result["Type"] = tensor.type.name
    if tensor.flags:
        result["Flags"] = "OWNED_BY_DML" if tensor.flags == TensorFlag.OWNED_BY_DML else tensor.flags
    if tensor.strides is not None:
        result["Strides"] = list(tensor.strides)
    result["TotalTensorSizeInBytes"] = tensor.total_tensor_size_in_bytes
    if tensor.guaranteed_base_offset_alignment:
        result["GuaranteedBaseOffsetAlignment"] = tensor.guaranteed_base_offset_alignment
    return result


def desc_to_json(desc: OperatorDesc) -> dict[str, Any]:
    """A descriptor as `{"type": ..., "desc": {...}}`; what `desc_from_json` reads back."""
    fields: dict[str, Any] = {}
    for field in desc.fields:
        value = getattr(desc, field.attribute)
        if field.count_field:
            fields.setdefault(field.count_field, len(value))
        fields[field.name] = field.kind.to_json(value)
    return {"type": f"DML_OPERATOR_{desc.operator}", "desc": fields}


def desc_from_json(value: Any, where: str = "") -> OperatorDesc:
    """Read one descriptor.

    Args:
        value: parsed JSON.
        where: path of `value` in its file, for messages.

    Raises:
        FormError: naming the field, what was expected and what was found.
    """
    if not isinstance(value, dict):
        raise FormError(where, f"expected an operator as an object with type and desc, found {kind_of(value)}")
    described = _operator(value, where)
    inner = _either(value, "desc", "Desc")
    if inner is None:
        fields, path = {name: item for name, item in value.items() if name not in ("type", "Type")}, where
    else:
        fields, path = inner, join(where, "desc")
        if not isinstance(fields, dict):
            raise FormError(
                path,
                f"expected an object with the fields of DML_OPERATOR_{described.operator}, found {kind_of(fields)}",
            )
    known = [name for field in described.fields for name in (field.count_field, field.name) if name]
    _reject_unknown(fields, known, path, described.__name__)
    return described(**{field.attribute: _field(described, field, fields, path) for field in described.fields})


def desc_from_usual_text(name: str, text: msgspec.Raw | bytes) -> OperatorDesc | None:
    """Read one descriptor that is written as `desc_to_json` writes it, more than twice as fast as `desc_from_json`.

    Whatever is not written like that, be it one of the short forms or wrong, is `desc_from_json`'s to read or refuse.

    Args:
        name: `DML_OPERATOR_GATHER`.
        text: JSON of its fields.

    Returns:
        What `desc_from_json` would return, or None where the text is not in this form.
    """
    reader = _usual_readers().get(name)
    if reader is None:
        return None
    described, decoder = reader
    values = []
    try:
        form = decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    for field in described.fields:
        value = getattr(form, field.attribute)
        if type(value) is _UsualTensor:
            value = value.tensor()
            if value is None:
                return None
        elif field.count_field and getattr(form, field.count_field) != len(value):
            return None
        values.append(value)
    return described(*values)


_Uint = Annotated[int, msgspec.Meta(ge=0, le=UINT32_MAX)]
_DATA_TYPES = dict(DataType.__members__)
_FLAGS = dict(TensorFlag.__members__)


class _UsualTensor(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    gc=False,
    rename={
        "data_type": "DataType",
        "sizes": "Sizes",
        "strides": "Strides",
        "total": "TotalTensorSizeInBytes",
        "flags": "Flags",
        "alignment": "GuaranteedBaseOffsetAlignment",
    },
):
    """A tensor as `tensor_to_json` writes it, unless its Type is another than BUFFER."""

    data_type: str
    sizes: tuple[_Uint, ...]
    strides: tuple[_Uint, ...] | None = None
    total: Annotated[int, msgspec.Meta(ge=0)] | None = None
    flags: str | _Uint = 0
    alignment: _Uint = 0

    def tensor(self) -> TensorDesc | None:
        """What it describes; None where its fields do not go together."""
        data_type = _DATA_TYPES.get(self.data_type)
        flags = _FLAGS.get(self.flags, -1) if isinstance(self.flags, str) else self.flags
        if data_type is None or flags < 0 or (self.total or 0) > UINT64_MAX:
            return None
        if self.strides is not None and len(self.strides) != len(self.sizes):
            return None
        return _tensor(data_type, self.sizes, self.strides, self.total, flags, self.alignment)


@cache
def _usual_readers() -> dict[str, tuple[type[OperatorDesc], msgspec.json.Decoder[Any]]]:
    """By operator the class of its descriptors, and what decodes the text of its fields into their Python attributes.

    Those with a field of another kind than tensors and plain numbers are left out.
    """
    readers = {}
    for described in descriptor_classes().values():
        fields = described.fields
        if not all(field.kind is TENSOR or (field.kind.usual and field.kind is not SCALAR) for field in fields):
            continue
        needed: dict[str, Any] = {}
        defaulted: list[Any] = []
        for field in fields:
            if field.is_tensor:
                defaulted.append((field.attribute, _UsualTensor | None, None))
            else:
                needed[field.attribute] = field.kind.usual
                if field.count_field:
                    needed[field.count_field] = UINT.usual
        form = msgspec.defstruct(
            f"_Usual{described.operator}",
            [*needed.items(), *defaulted],
            frozen=True,
            forbid_unknown_fields=True,
            rename={field.attribute: field.name for field in fields},
        )
        readers[f"DML_OPERATOR_{described.operator}"] = (described, msgspec.json.Decoder(form))
    return readers


def tensor_from_json(value: Any, where: str) -> TensorDesc:
    """Read one tensor, with or without its `Desc` level; raises FormError."""
    if not isinstance(value, dict):
        raise FormError(where, f"expected a tensor as an object with DataType and Sizes, found {kind_of(value)}")
    tensor_type = read_enum(TensorType, "DML_TENSOR_TYPE_", value.get("Type", "BUFFER"), join(where, "Type"))
    if "Desc" in value:
        _reject_unknown(value, ("Type", "Desc"), where, "DML_TENSOR_DESC")
        value, where = value["Desc"], join(where, "Desc")
        if not isinstance(value, dict):
            raise FormError(where, f"expected an object with DataType and Sizes, found {kind_of(value)}")
    _reject_unknown(value, TENSOR_FIELDS, where, "DML_BUFFER_TENSOR_DESC")
    for required in ("DataType", "Sizes"):
        if required not in value:
            raise FormError(join(where, required), "missing; every tensor states it")
    data_type = read_enum(DataType, "DML_TENSOR_DATA_TYPE_", value["DataType"], join(where, "DataType"))
    sizes = UINTS.from_json(value["Sizes"], join(where, "Sizes"))
    _count(value, "DimensionCount", len(sizes), "Sizes", where)
    strides = None
    if value.get("Strides") is not None:
        strides = UINTS.from_json(value["Strides"], join(where, "Strides"))
        if len(strides) != len(sizes):
            raise FormError(join(where, "Strides"), f"expected {len(sizes)} entries as in Sizes, found {len(strides)}")
    total = value.get("TotalTensorSizeInBytes")
    if total is not None:
        total = read_whole(total, join(where, "TotalTensorSizeInBytes"), 0, UINT64_MAX)
    alignment = UINT.from_json(
        value.get("GuaranteedBaseOffsetAlignment", 0), join(where, "GuaranteedBaseOffsetAlignment")
    )
    flags = _flags(value.get("Flags", 0), join(where, "Flags"))
    return _tensor(data_type, sizes, strides, total, flags, alignment, tensor_type)


def _tensor(
    data_type: DataType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...] | None,
    total: int | None,
    flags: int = TensorFlag.NONE,
    alignment: int = 0,
    tensor_type: TensorType = TensorType.BUFFER,
) -> TensorDesc:
    """A tensor of these fields; without a total size it has the smallest one."""
    # The product of very many sizes may have a million digits.
    if total is None and 0 not in sizes and len(sizes) <= MAX_DIMENSIONS:
        total = min(minimum_size_in_bytes(data_type, sizes, strides), UINT64_MAX)
    return TensorDesc(data_type, sizes, strides, total or 0, flags, alignment, tensor_type)


def _operator(value: Mapping[str, Any], where: str) -> type[OperatorDesc]:
    name = _either(value, "type", "Type")
    path = join(where, "type")
    if name is None:
        raise FormError(path, "missing; expected an operator such as DML_OPERATOR_GATHER")
    if not isinstance(name, str):
        raise FormError(path, f"expected an operator's name, found {kind_of(name)}")
    short = name.removeprefix("DML_OPERATOR_")
    if short not in descriptor_classes():
        close = closest(short, descriptor_classes())
        hint = (
            f"did you mean DML_OPERATOR_{close}?" if close else "`dml-conformance operators` lists those of DirectML.h"
        )
        raise FormError(path, f"unknown operator {shown(name)}; {hint}")
    return descriptor_classes()[short]


def _field(described: type[OperatorDesc], field: Field, fields: Mapping[str, Any], where: str) -> Any:
    path = join(where, field.name)
    if field.is_tensor and field.name not in fields:  # a missing tensor is a null pointer: the validator's business
        return None if field.kind is TENSOR else ()
    if field.name not in fields and not field.optional:
        raise FormError(path, f"missing; expected {field.kind.expects}")
    value = field.kind.from_json(fields.get(field.name), path)
    if field.count_field:
        _count(fields, field.count_field, len(value), field.name, where)
    if field.kind is SCALAR:
        _check_scalar(value, fields[next(f.name for f in described.fields if f.attribute == field.typed_by)], path)
    return value


def _check_scalar(value: float | int, type_form: Any, where: str) -> None:
    """Raise FormError where a number is none of its data type; a type that is none holds any."""
    name = str(type_form).removeprefix("DML_TENSOR_DATA_TYPE_")
    data_type = DataType.__members__.get(name)
    if data_type is not None and not data_type.is_float and data_type.limits is not None:
        least, most = data_type.limits
        if value != value or value in (math.inf, -math.inf) or value != int(value) or not least <= value <= most:
            raise FormError(where, f"expected a number of {name}, found {shown(value)}")


def _count(fields: Mapping[str, Any], count_field: str, count: int, array: str, where: str) -> None:
    if count_field in fields and UINT.from_json(fields[count_field], join(where, count_field)) != count:
        raise FormError(join(where, count_field), f"is {fields[count_field]}, but {array} has {count} entries")


def _flags(value: Any, where: str) -> int:
    if isinstance(value, str):
        return read_enum(TensorFlag, "DML_TENSOR_FLAG_", value, where)
    return UINT.from_json(value, where)


def _reject_unknown(fields: Mapping[str, Any], known: Iterable[str], where: str, struct: str) -> None:
    known = list(known)
    for name in fields:
        if name not in known:
            close = closest(name, known)
            hint = f"did you mean {close}?" if close else f"it has {', '.join(known)}"
            raise FormError(join(where, shown(name).strip("'")), f"{struct} has no such field; {hint}")


def _either(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if name in value), None)


TENSOR.bind(tensor_to_json, tensor_from_json)
OPERATOR.bind(desc_to_json, desc_from_json)
