"""Operator descriptors as DirectML's structs lie in memory, ready to be sent to the process that has the library.

The structs of an operator and of its tensors are laid out once, for the address at which that process receives them;
a descriptor then costs one `pack_into` for each. All pointers point into the same block of memory:

    length of the block, 8 bytes | DML_OPERATOR_DESC | DML_x_OPERATOR_DESC | for each tensor: DML_TENSOR_DESC,
    DML_BUFFER_TENSOR_DESC, Sizes, Strides | for each array: its entries

How an operator's struct looks follows from its descriptor class, whose fields are the header's, in the header's
order: a tensor is a pointer, a number a UINT, a tuple of numbers a pointer to UINTs with their count before it (one
count for several in a row, as in `DimensionCount, Offsets, Sizes, Strides`).

Source: DirectML.h in DirectX-Headers (MIT).
"""

from __future__ import annotations

import struct
import types
from enum import Enum
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml.headers import OperatorType
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.tensor import TensorDesc

# Native sizes and alignment throughout, as the C compiler has them.
HEADER = struct.Struct("@Q")
OPERATOR_DESC = struct.Struct("@IP")  # Type, Desc
# DML_TENSOR_DESC {Type, Desc}, then DML_BUFFER_TENSOR_DESC {DataType, Flags, DimensionCount, Sizes, Strides,
# TotalTensorSizeInBytes, GuaranteedBaseOffsetAlignment} and what C adds to make its size a multiple of 8.
TENSOR_DESC = struct.Struct("@IPIIIPPQI0Q")
TENSOR_DESC_SIZE = struct.calcsize("@IP")
UINT_SIZE = struct.calcsize("@I")
OPERATOR_DESC_AT = HEADER.size

MOST_ENTRIES = 32  # more than DML_TENSOR_DIMENSION_COUNT_MAX1, so that too many can be asked about
ARRAY_SIZE = MOST_ENTRIES * UINT_SIZE
ARRAYS = tuple(struct.Struct(f"@{count}I") for count in range(MOST_ENTRIES + 1))
BLOCK_SIZE = 1 << 14  # bytes that the receiver sets aside


class MemberKind(Enum):
    """What a member of a descriptor class becomes in its struct."""

    TENSOR = "pointer to a tensor"
    UINT = "UINT"
    ARRAY = "UINT count and pointer to UINTs"
    NEXT_ARRAY = "pointer to UINTs, counted with the array before"


class StructMember(NamedTuple):
    """One member: the Python attribute, and what it becomes."""

    attribute: str
    kind: MemberKind


def members(desc_type: type[OperatorDesc]) -> tuple[StructMember, ...]:
    """The members of an operator's struct, from its descriptor class.

    Raises:
        Unsupported: one has a type that has no place in a struct here.
    """
    hints = get_type_hints(desc_type)
    found: list[StructMember] = []
    for attribute in desc_type.__struct_fields__:
        kind = _kind(hints[attribute])
        if kind is None:
            raise Unsupported(f"{desc_type.__name__}.{attribute} is of a type that this backend cannot pass on")
        if kind is MemberKind.ARRAY and found and found[-1].kind in (MemberKind.ARRAY, MemberKind.NEXT_ARRAY):
            kind = MemberKind.NEXT_ARRAY
        found.append(StructMember(attribute, kind))
    return tuple(found)


def tensor_members(desc_type: type[OperatorDesc]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The attributes that are tensors, in the order of the struct: inputs, and outputs.

    Raises:
        Unsupported: see `members`.
    """
    tensors = [member.attribute for member in members(desc_type) if member.kind is MemberKind.TENSOR]
    outputs = tuple(name for name in tensors if name.startswith("output"))  # as DirectML names them all
    return tuple(name for name in tensors if name not in outputs), outputs


def struct_format(layout: tuple[StructMember, ...]) -> str:
    """The operator's struct in the notation of Python's struct module."""
    codes = {MemberKind.TENSOR: "P", MemberKind.UINT: "I", MemberKind.ARRAY: "IP", MemberKind.NEXT_ARRAY: "P"}
    return "@" + "".join(codes[member.kind] for member in layout) + "0Q"


def _kind(hint: Any) -> MemberKind | None:
    if get_origin(hint) in (Union, types.UnionType):  # an optional tensor is a pointer that may be null
        wanted = [part for part in get_args(hint) if part is not type(None)]
        return _kind(wanted[0]) if len(wanted) == 1 else None
    if hint is TensorDesc:
        return MemberKind.TENSOR
    if isinstance(hint, type) and issubclass(hint, int):
        return MemberKind.UINT
    if get_origin(hint) is tuple and get_args(hint) == (int, Ellipsis):
        return MemberKind.ARRAY
    return None


class Packer:
    """Lays descriptors out for one receiver.

    Args:
        address: where the receiver will have the block, in its own memory.
    """

    def __init__(self, address: int) -> None:
        self._address = address
        self._blocks: dict[type[OperatorDesc], _Block] = {}

    def pack(self, desc: OperatorDesc) -> bytearray:
        """The block of a descriptor; good until the next call.

        Raises:
            Unsupported: the API has no way to say it: a number that does not fit its field, strides that are not as
                many as sizes, an operator or a field not known here, or more entries than there is room for.
        """
        block = self._blocks.get(type(desc))
        if block is None:
            block = self._blocks[type(desc)] = _Block(type(desc), self._address)
        try:
            return block.pack(desc)
        except struct.error as error:
            raise Unsupported(f"DirectML's structs cannot hold this descriptor: {error}") from None


class _Block:
    """The memory of one kind of operator; all that does not change is written once."""

    def __init__(self, desc_type: type[OperatorDesc], address: int) -> None:
        if desc_type.operator not in OperatorType.__members__:
            known = ", ".join(OperatorType.__members__)
            raise Unsupported(f"the directml backend has no {desc_type.operator}; it has {known}")
        self._address = address
        layout = members(desc_type)
        self._struct = struct.Struct(struct_format(layout))
        self._struct_at = OPERATOR_DESC_AT + OPERATOR_DESC.size
        end = self._struct_at + self._struct.size
        self._members: list[tuple[str, MemberKind, int]] = []  # with where its own memory starts in the block
        for attribute, kind in layout:
            self._members.append((attribute, kind, end))
            if kind is MemberKind.TENSOR:
                end += TENSOR_DESC.size + 2 * ARRAY_SIZE
            elif kind is not MemberKind.UINT:
                end += ARRAY_SIZE
        assert end <= BLOCK_SIZE, f"the structs of {desc_type.operator} need {end} bytes"
        self._block = bytearray(end)
        HEADER.pack_into(self._block, 0, end)
        desc_address = address + self._struct_at
        OPERATOR_DESC.pack_into(self._block, OPERATOR_DESC_AT, OperatorType[desc_type.operator], desc_address)

    def pack(self, desc: OperatorDesc) -> bytearray:
        address = self._address
        values: list[int] = []
        counted = 0
        for attribute, kind, at in self._members:
            value = getattr(desc, attribute)
            if kind is MemberKind.UINT:
                values.append(value)
            elif kind is MemberKind.TENSOR:
                values.append(0 if value is None else self._pack_tensor(at, value))
            else:
                if kind is MemberKind.ARRAY:
                    counted = len(value)
                    values.append(counted)
                elif len(value) != counted:
                    raise Unsupported(f"{attribute} has {len(value)} entries, and shares a count of {counted}")
                _array(counted).pack_into(self._block, at, *value)
                values.append(address + at)
        self._struct.pack_into(self._block, self._struct_at, *values)
        return self._block

    def _pack_tensor(self, at: int, tensor: TensorDesc) -> int:
        """Returns the tensor's address at the receiver."""
        block, address = self._block, self._address
        sizes, strides = tensor.sizes, tensor.strides
        count = len(sizes)
        array = _array(count)
        sizes_at = at + TENSOR_DESC.size
        strides_at = sizes_at + ARRAY_SIZE
        array.pack_into(block, sizes_at, *sizes)
        if strides is not None:
            if len(strides) != count:
                raise Unsupported(f"{len(strides)} strides for {count} sizes; DirectML has one DimensionCount for both")
            array.pack_into(block, strides_at, *strides)
        TENSOR_DESC.pack_into(
            block,
            at,
            tensor.type,
            address + at + TENSOR_DESC_SIZE,
            tensor.data_type,
            tensor.flags,
            count,
            address + sizes_at,
            0 if strides is None else address + strides_at,
            tensor.total_tensor_size_in_bytes,
            tensor.guaranteed_base_offset_alignment,
        )
        return address + at


def _array(count: int) -> struct.Struct:
    if count > MOST_ENTRIES:
        raise Unsupported(f"an array of {count} entries; this backend has room for {MOST_ENTRIES}")
    return ARRAYS[count]
