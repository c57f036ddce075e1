"""One node of a model with all that is known of it, and what a mapping makes of it: descriptors over its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from msgspec.structs import replace

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field, OperatorDesc, descriptor_classes, slots, with_tensors
from dml_conformance.spec.field_kinds import BOOL, FLOAT, FLOATS, OPERATORS, TENSOR, TENSORS, EnumKind, enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc, packed_strides

WIDE = (DataType.INT64, DataType.UINT64)
LEAST_RANK = 4  # dimensions that every level takes; smaller tensors get leading ones
DATA_TYPES = {
    getattr(onnx.TensorProto, name): data_type
    for name, data_type in (
        ("FLOAT", DataType.FLOAT32),
        ("FLOAT16", DataType.FLOAT16),
        ("DOUBLE", DataType.FLOAT64),
        ("BOOL", DataType.UINT8),
        *((data_type.name, data_type) for data_type in DataType if not data_type.is_float and data_type.bits),
    )
}

Sizes = tuple[int, ...]


class NotMapped(Exception):
    """Why a node becomes no descriptor, in words that follow a colon."""


class ModelValue(NamedTuple):
    """A value of the model.

    Attributes:
        name: unique in the model, functions and branches inlined.
        type: as ONNX has it.
        constant: what it holds, where that is known.
    """

    name: str
    type: onnx.TypeProto
    constant: npt.NDArray[Any] | None = None

    @property
    def sizes(self) -> Sizes:
        """The sizes of the tensor; raises NotMapped where they are not known."""
        if not self.type.HasField("tensor_type"):
            raise NotMapped(f"{self.name!r} is {self.type.WhichOneof('value') or 'of no known type'}, and no tensor")
        if not self.type.tensor_type.HasField("shape"):
            raise NotMapped(f"the shape of {self.name!r} is not known")
        dims = self.type.tensor_type.shape.dim
        for n, dim in enumerate(dims):
            if not dim.HasField("dim_value"):
                raise NotMapped(f"size {n} of {self.name!r} depends on data")
        return tuple(dim.dim_value for dim in dims)

    @property
    def data_type(self) -> DataType:
        """The type of its elements; raises NotMapped for one that DirectML has not."""
        found = self.type.tensor_type.elem_type
        if found not in DATA_TYPES:
            name = onnx.TensorProto.DataType.Name(found)
            raise NotMapped(f"{self.name!r} holds {name}, which DirectML has no data type for")
        return DATA_TYPES[found]

    @property
    def is_bool(self) -> bool:
        return bool(self.type.tensor_type.elem_type == onnx.TensorProto.BOOL)

    @property
    def has_negatives(self) -> bool:
        """Whether it is known to hold whole numbers below 0."""
        known = self.constant
        return known is not None and known.dtype.kind == "i" and bool((known < 0).any())

    def known(self) -> npt.NDArray[Any]:
        """What it holds; raises NotMapped where that is not known before the model runs."""
        if self.constant is None:
            raise NotMapped(f"{self.name!r} is no constant, and DirectML has it as an attribute")
        return self.constant


class View(NamedTuple):
    """A tensor that views the packed memory of a value.

    Attributes:
        value: its name.
        tensor: the description.
    """

    value: str
    tensor: TensorDesc


class ValueBinding(NamedTuple):
    """A value of the model at a tensor of a descriptor.

    Attributes:
        slot: key of the tensor, `input_tensor` or `input_tensors[2]`.
        value: name in the model, functions inlined. What one descriptor of a node leaves for the next is named by the
            node's first output, `conv1_out#0`. The memory is packed, in row-major order, and all of it is bound; what
            is not written of it is zero.
    """

    slot: str
    value: str


class Operation(NamedTuple):
    """A descriptor, and what is bound to its tensors."""

    desc: OperatorDesc
    inputs: tuple[ValueBinding, ...]
    outputs: tuple[ValueBinding, ...]


class Alias(NamedTuple):
    """A value that is the memory of another one; nothing is executed."""

    value: str
    of: str


Mapped = Iterator[Operation | Alias]


@dataclass(frozen=True)
class ModelNode:
    """A node.

    Attributes:
        name: of the node, or of its first output where it has none.
        op_type: `Conv`.
        domain: "" for ONNX's own.
        version: of the operator, the opset that it came with in this form.
        inputs: None where one is left out.
        outputs: likewise.
        attributes: those that are given, and the defaults of the schema.
        level: the feature level of the descriptors.
    """

    name: str
    op_type: str
    domain: str
    version: int
    inputs: tuple[ModelValue | None, ...]
    outputs: tuple[ModelValue | None, ...]
    attributes: dict[str, Any]
    level: Level

    def optional(self, n: int) -> ModelValue | None:
        """An input that may be left out."""
        return self.inputs[n] if n < len(self.inputs) else None

    def input(self, n: int) -> ModelValue:
        """An input; raises NotMapped where it is left out."""
        found = self.optional(n)
        if found is None:
            raise NotMapped(f"input {n} is left out")
        return found

    def output(self, n: int = 0) -> ModelValue | None:
        """An output, or None where nothing asks for it."""
        return self.outputs[n] if n < len(self.outputs) else None

    @cached_property
    def result(self) -> ModelValue:
        """The first output; raises NotMapped where it is left out."""
        found = self.output(0)
        if found is None:
            raise NotMapped("its first output is left out")
        return found

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as Python has it: text for bytes, a tuple for a list."""
        return self.attributes.get(name, default)

    def axis(self, rank: int, default: int = 0, name: str = "axis") -> int:
        """An attribute that names a dimension, counted from the first one."""
        return from_first(self.attribute(name, default), rank)

    def has(self, operator: str) -> bool:
        """Whether the level has an operator."""
        return operators()[operator].introduced_in <= self.level

    def newest(self, *names: str) -> str:
        """The first of several operators that the level has, or the last of them."""
        return next((name for name in names if self.has(name)), names[-1])

    def between(self, number: int, data_type: DataType, sizes: Sequence[int]) -> View:
        """A value that one descriptor of the node leaves for the next one."""
        return View(f"{self.result.name}#{number}", TensorDesc.of(data_type, padded(sizes)))


def from_first(axis: int, rank: int) -> int:
    """An axis counted from the first dimension; raises NotMapped where there is none."""
    if not -rank <= axis < max(rank, 1):
        raise NotMapped(f"axis {axis} is none of {rank} dimensions")
    return axis + rank if axis < 0 else axis


def padded(sizes: Sequence[int], rank: int = LEAST_RANK, fill: int = 1) -> Sizes:
    """Sizes, or an array of as many entries, with so many dimensions at least: more of them lead."""
    return (*(fill,) * (rank - len(sizes)), *sizes)


def view(value: ModelValue, sizes: Sequence[int] | None = None, strides: Sequence[int] | None = None) -> View:
    """A tensor over a value: with its own sizes and leading ones, or with others."""
    sizes = padded(value.sizes) if sizes is None else tuple(sizes)
    return View(value.name, TensorDesc.of(value.data_type, sizes, strides))


def optional_view(value: ModelValue | None, sizes: Sequence[int] | None = None) -> View | None:
    """The same of a value that may be left out."""
    return None if value is None else view(value, sizes)


def broadcast(value: ModelValue, sizes: Sequence[int], own: Sequence[int] | None = None) -> View:
    """A value stretched to other sizes: a dimension of size 1 that is repeated has stride 0.

    Args:
        value: what is stretched.
        sizes: of the tensor.
        own: the sizes that the value is read with, as many as are stretched or fewer; its own if not given.

    Raises:
        NotMapped: they do not fit.
    """
    return stretched(view(value), sizes, value.sizes if own is None else own)


def stretched(packed: View, sizes: Sequence[int], own: Sequence[int]) -> View:
    """The same of packed memory that is viewed already."""
    sizes = padded(sizes)
    read = padded(own, len(sizes))
    if len(read) > len(sizes) or any(one not in (1, size) for one, size in zip(read, sizes, strict=True)):
        raise NotMapped(f"{packed.value!r} has sizes {list(own)}, which do not broadcast to {list(sizes)}")
    strides = [0 if size == 1 else stride for size, stride in zip(read, packed_strides(read), strict=True)]
    return viewed(packed, sizes, None if read == sizes else strides)


def viewed(packed: View, sizes: Sequence[int], strides: Sequence[int] | None = None) -> View:
    """Memory with other sizes and strides."""
    return View(packed.value, TensorDesc.of(packed.tensor.data_type, sizes, strides))


def transposed(value: ModelValue, permutation: Sequence[int], sizes: Sequence[int] | None = None) -> View:
    """A value with its dimensions in another order."""
    sizes = value.sizes if sizes is None else tuple(sizes)
    strides = packed_strides(sizes)
    turned = [sizes[d] for d in permutation]
    leading = padded(turned)
    return view(value, leading, padded([strides[d] for d in permutation], len(leading), prod(sizes)))


def retyped(one: View, data_type: DataType) -> View:
    """A view of the same memory as elements of another type of the same size."""
    return View(one.value, TensorDesc.of(data_type, one.tensor.sizes, one.tensor.strides))


def operation(name: str, **fields: Any) -> Operation:
    """A descriptor of an operator over views.

    Args:
        name: of the operator.
        fields: by attribute; tensors as views, enumerators by their names. What is left out is null.
    """
    kind = descriptor_classes()[name]
    bound: dict[bool, list[ValueBinding]] = {False: [], True: []}
    values: dict[str, Any] = {}
    for field in kind.fields:
        given = fields.pop(field.attribute, () if field.kind in (TENSORS, OPERATORS) else None)
        views = {}
        if field.kind is TENSORS:
            views = {f"{field.attribute}[{n}]": one for n, one in enumerate(given)}
            values[field.attribute] = tuple(one.tensor for one in given)
        elif field.kind is TENSOR:
            views = {} if given is None else {field.attribute: given}
            values[field.attribute] = None if given is None else given.tensor
        else:
            values[field.attribute] = _attribute(field, given)
        bound[field.is_output] += [ValueBinding(key, one.value) for key, one in views.items()]
    assert not fields, f"{name} has no {', '.join(fields)}"
    return Operation(kind(**values), tuple(bound[False]), tuple(bound[True]))


def in_halves(made: Operation) -> Operation:
    """The same with the lower halves of integers of 64 bits alone, by strides twice as long."""
    wide = {slot.key: slot.tensor for slot in slots(made.desc) if slot.tensor.data_type in WIDE}
    return made._replace(desc=with_tensors(made.desc, {key: _lower_half(tensor) for key, tensor in wide.items()}))


def _lower_half(tensor: TensorDesc) -> TensorDesc:
    strides = [2 * stride for stride in tensor.effective_strides]
    half = TensorDesc.of(DataType.UINT32, tensor.sizes, strides)
    return replace(half, total_tensor_size_in_bytes=half.total_tensor_size_in_bytes + DataType.UINT32.size)


def _attribute(field: Field, given: Any) -> Any:
    if isinstance(field.kind, EnumKind):
        return enumeration(field.kind.name)[given] if isinstance(given, str) else given
    if field.kind is FLOAT:
        return float(np.float32(given))
    if field.kind is FLOATS:
        return tuple(float(np.float32(number)) for number in given)
    if field.kind is BOOL:
        return bool(given)
    if field.kind is OPERATORS:
        return tuple(given)
    return tuple(int(number) for number in given) if isinstance(given, list | tuple) else given


def activation(name: str, **attributes: float) -> OperatorDesc:
    """An operator inside of another one, whose tensors are null."""
    return operation(f"ACTIVATION_{name}", **attributes).desc


def scalar(value: ModelValue, data_type: DataType) -> int | float:
    """The one element of a constant, as an attribute of a type; raises NotMapped where it is none."""
    known = value.known()
    if known.size != 1:
        raise NotMapped(f"{value.name!r} has {known.size} elements, and is one number for DirectML")
    number = known.reshape(())[()]
    return float(number) if data_type.is_float else int(number)


def integers(value: ModelValue) -> list[int]:
    """The elements of a constant."""
    return [int(number) for number in value.known().ravel()]
