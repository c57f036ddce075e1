"""Descriptors as JSON, in the form that DxDispatch reads: DirectML's own field names and enumerators.

    {"type": "DML_OPERATOR_GATHER", "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 2]}, ..., "Axis": 0}}

Reading takes DxDispatch's short forms: enumerators without their prefix, a tensor without its `Desc` level, fields
beside `type` instead of under `desc`, and defaults for Type, Flags, DimensionCount, Strides, TotalTensorSizeInBytes
and GuaranteedBaseOffsetAlignment. Form is checked here, meaning in `spec.validator`: a number that does not fit the
API's integer, or an array whose count field disagrees, is no descriptor at all and raises `FormError`.

Source of the form: the DxDispatch guide in microsoft/DirectML.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec

from dml_conformance.spec.datatypes import DataType, TensorFlag, TensorType
from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.operator import Field, FieldKind, OperatorDesc, OperatorSpec
from dml_conformance.spec.registry import operators, spec_of
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX, TensorDesc, minimum_size_in_bytes
from dml_conformance.spec.tensor_rules import MAX_DIMENSIONS

_E = TypeVar("_E", bound=IntEnum)

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


class FormError(BadInputError, ValueError):
    """Input that is not in the form of a descriptor.

    Attributes:
        where: path of the field, `desc.InputTensor.Sizes[2]`.
        problem: what was expected there and what was found.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}" if where else problem)
        self.where = where
        self.problem = problem


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
    spec = spec_of(desc)
    fields: dict[str, Any] = {}
    for field in spec.fields:
        value = getattr(desc, field.attribute)
        if field.is_tensor:
            fields[field.name] = None if value is None else tensor_to_json(value)
        elif field.kind is FieldKind.UINT_ARRAY:
            fields[field.count_field] = len(value)
            fields[field.name] = list(value)
        else:
            fields[field.name] = value
    return {"type": spec.dml_name, "desc": fields}


def desc_from_json(value: Any, where: str = "") -> OperatorDesc:
    """Read one descriptor.

    Args:
        value: parsed JSON.
        where: path of `value` in its file, for messages.

    Raises:
        FormError: naming the field, what was expected and what was found.
    """
    if not isinstance(value, dict):
        raise FormError(where, f"expected an operator as an object with type and desc, found {_kind(value)}")
    spec = _operator(value, where)
    inner = _either(value, "desc", "Desc")
    if inner is None:
        fields, path = {name: item for name, item in value.items() if name not in ("type", "Type")}, where
    else:
        fields, path = inner, _join(where, "desc")
        if not isinstance(fields, dict):
            raise FormError(path, f"expected an object with the fields of {spec.dml_name}, found {_kind(fields)}")
    known = [name for field in spec.fields for name in (field.count_field, field.name) if name]
    _reject_unknown(fields, known, path, f"DML_{spec.name}_OPERATOR_DESC")
    return spec.desc(**{field.attribute: _field(field, fields, path) for field in spec.fields})


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
    spec, decoder = reader
    values = []
    try:
        form = decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    for field in spec.fields:
        value = getattr(form, field.attribute)
        if type(value) is _UsualTensor:
            value = value.tensor()
            if value is None:
                return None
        elif field.count_field and getattr(form, field.count_field) != len(value):
            return None
        values.append(value)
    return spec.desc(*values)


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
    total: Annotated[int, msgspec.Meta(ge=0)] = 0
    flags: str | _Uint = 0
    alignment: _Uint = 0

    def tensor(self) -> TensorDesc | None:
        """What it describes; None where its fields do not go together."""
        data_type = _DATA_TYPES.get(self.data_type)
        flags = _FLAGS.get(self.flags, -1) if isinstance(self.flags, str) else self.flags
        if data_type is None or flags < 0 or self.total > UINT64_MAX:
            return None
        if self.strides is not None and len(self.strides) != len(self.sizes):
            return None
        return _tensor(data_type, self.sizes, self.strides, self.total, flags, self.alignment)


@cache
def _usual_readers() -> dict[str, tuple[OperatorSpec, msgspec.json.Decoder[Any]]]:
    """By operator its specification, and what decodes the text of its fields into their Python attributes."""
    readers = {}
    for spec in operators().values():
        needed: list[Any] = []
        defaulted: list[Any] = []
        for field in spec.fields:
            if field.is_tensor:
                defaulted.append((field.attribute, _UsualTensor | None, None))
            elif field.kind is FieldKind.UINT_ARRAY:
                needed += [(field.attribute, tuple[_Uint, ...]), (field.count_field, _Uint)]
            else:
                needed.append((field.attribute, _Uint))
        form = msgspec.defstruct(
            f"_Usual{spec.name}",
            [*needed, *defaulted],
            frozen=True,
            forbid_unknown_fields=True,
            rename={field.attribute: field.name for field in spec.fields},
        )
        readers[spec.dml_name] = (spec, msgspec.json.Decoder(form))
    return readers


def tensor_from_json(value: Any, where: str) -> TensorDesc:
    """Read one tensor, with or without its `Desc` level; raises FormError."""
    if not isinstance(value, dict):
        raise FormError(where, f"expected a tensor as an object with DataType and Sizes, found {_kind(value)}")
    tensor_type = _enum(TensorType, "DML_TENSOR_TYPE_", value.get("Type", "BUFFER"), _join(where, "Type"))
    if "Desc" in value:
        _reject_unknown(value, ("Type", "Desc"), where, "DML_TENSOR_DESC")
        value, where = value["Desc"], _join(where, "Desc")
        if not isinstance(value, dict):
            raise FormError(where, f"expected an object with DataType and Sizes, found {_kind(value)}")
    _reject_unknown(value, TENSOR_FIELDS, where, "DML_BUFFER_TENSOR_DESC")
    for required in ("DataType", "Sizes"):
        if required not in value:
            raise FormError(_join(where, required), "missing; every tensor states it")
    data_type = _enum(DataType, "DML_TENSOR_DATA_TYPE_", value["DataType"], _join(where, "DataType"))
    sizes = _uints(value["Sizes"], _join(where, "Sizes"))
    _count(value, "DimensionCount", len(sizes), "Sizes", where)
    strides = None
    if value.get("Strides") is not None:
        strides = _uints(value["Strides"], _join(where, "Strides"))
        if len(strides) != len(sizes):
            raise FormError(_join(where, "Strides"), f"expected {len(sizes)} entries as in Sizes, found {len(strides)}")
    total = _uint(value.get("TotalTensorSizeInBytes", 0), _join(where, "TotalTensorSizeInBytes"), UINT64_MAX)
    alignment = _uint(value.get("GuaranteedBaseOffsetAlignment", 0), _join(where, "GuaranteedBaseOffsetAlignment"))
    flags = _flags(value.get("Flags", 0), _join(where, "Flags"))
    return _tensor(data_type, sizes, strides, total, flags, alignment, tensor_type)


def _tensor(
    data_type: DataType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...] | None,
    total: int,
    flags: int = TensorFlag.NONE,
    alignment: int = 0,
    tensor_type: TensorType = TensorType.BUFFER,
) -> TensorDesc:
    """A tensor of these fields; a total size of 0 stands for the smallest one."""
    if total == 0 and 0 not in sizes and len(sizes) <= MAX_DIMENSIONS:  # beyond, the product may have a million digits
        total = min(minimum_size_in_bytes(data_type, sizes, strides), UINT64_MAX)
    return TensorDesc(data_type, sizes, strides, total, flags, alignment, tensor_type)


def _operator(value: Mapping[str, Any], where: str) -> OperatorSpec:
    name = _either(value, "type", "Type")
    path = _join(where, "type")
    if name is None:
        raise FormError(path, "missing; expected an operator such as DML_OPERATOR_GATHER")
    if not isinstance(name, str):
        raise FormError(path, f"expected an operator's name, found {_kind(name)}")
    short = name.removeprefix("DML_OPERATOR_")
    if short not in operators():
        known = ", ".join(spec.dml_name for spec in operators().values())
        raise FormError(path, f"unknown operator {_shown(name)}; known here: {known}")
    return operators()[short]


def _field(field: Field, fields: Mapping[str, Any], where: str) -> Any:
    path = _join(where, field.name)
    if field.is_tensor:  # a missing tensor is a null pointer: the validator's business
        value = fields.get(field.name)
        return None if value is None else tensor_from_json(value, path)
    if field.name not in fields:
        raise FormError(path, f"missing; expected {'a list of ' if field.kind is FieldKind.UINT_ARRAY else ''}UINT")
    if field.kind is FieldKind.UINT_ARRAY:
        values = _uints(fields[field.name], path)
        _count(fields, field.count_field, len(values), field.name, where)
        return values
    return _uint(fields[field.name], path)


def _uint(value: Any, where: str, most: int = UINT32_MAX) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise FormError(where, f"expected a whole number from 0 to {most}, found {_shown(value)}")
    return value


def _uints(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise FormError(where, f"expected a list of whole numbers, found {_kind(value)}")
    if all(type(item) is int and 0 <= item <= UINT32_MAX for item in value):  # no path to be made for each
        return tuple(value)
    return tuple(_uint(item, f"{where}[{i}]") for i, item in enumerate(value))


def _count(fields: Mapping[str, Any], count_field: str, count: int, array: str, where: str) -> None:
    if count_field in fields and _uint(fields[count_field], _join(where, count_field)) != count:
        raise FormError(_join(where, count_field), f"is {fields[count_field]}, but {array} has {count} entries")


def _flags(value: Any, where: str) -> int:
    if isinstance(value, str):
        return _enum(TensorFlag, "DML_TENSOR_FLAG_", value, where)
    return _uint(value, where)


def _enum(enum: type[_E], prefix: str, value: Any, where: str) -> _E:
    if isinstance(value, str) and value.removeprefix(prefix) in enum.__members__:
        return enum[value.removeprefix(prefix)]
    if isinstance(value, int) and not isinstance(value, bool) and value in enum._value2member_map_:
        return enum(value)
    raise FormError(where, f"expected one of {', '.join(enum.__members__)}, found {_shown(value)}")


def _reject_unknown(fields: Mapping[str, Any], known: Iterable[str], where: str, struct: str) -> None:
    known = list(known)
    for name in fields:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}"
            raise FormError(_join(where, _shown(name).strip("'")), f"{struct} has no such field; {hint}")


def _either(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if name in value), None)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), f"the number {_shown(value)}" if isinstance(value, int | float) else "something else")
