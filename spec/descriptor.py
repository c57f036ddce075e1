"""Operator descriptors: one class for each `DML_*_OPERATOR_DESC`, made from the facts, and the tensors in them.

A *slot* is one tensor of a descriptor, wherever it sits. Its key is the same in bindings, recipes and results:
`input_tensor`, or `input_tensors[2]` for one of an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from dml_conformance.spec.field_kinds import (
    OPERATOR,
    OPERATORS,
    SCALAR,
    TENSOR,
    TENSORS,
    ArrayKind,
    Kind,
    kind_named,
)
from dml_conformance.spec.operator_facts import FieldFacts, OperatorFacts, operator_facts
from dml_conformance.spec.operator_facts import Role as FactsRole
from dml_conformance.spec.tensor import TensorDesc

_D = TypeVar("_D", bound="OperatorDesc")


class Role(StrEnum):
    """What a field is to its operator; stated by the facts, as names mislead (OutputScaleTensor is an input)."""

    INPUT = "input"
    OUTPUT = "output"
    ATTRIBUTE = "attribute"


@dataclass(frozen=True, eq=False)  # each is made once, and compared far too often to look at what it says
class Field:
    """One member of the `DML_*_OPERATOR_DESC` structure.

    Attributes:
        name: DirectML's name.
        attribute: the same in snake_case, the Python attribute.
        kind: what it holds.
        role: what it is to the operator.
        optional: whether it may be null.
        count_field: for an array, the member that holds its length; it has no Python attribute of its own.
        typed_by: for a scalar, the attribute that holds its data type.
    """

    name: str
    attribute: str
    kind: Kind
    role: Role = Role.ATTRIBUTE
    optional: bool = False
    count_field: str = ""
    typed_by: str = ""

    @cached_property
    def is_tensor(self) -> bool:
        """Whether it holds a tensor or an array of them."""
        return self.kind in (TENSOR, TENSORS)

    @cached_property
    def is_output(self) -> bool:
        return self.role is Role.OUTPUT


class Slot(NamedTuple):
    """One tensor of a descriptor.

    Attributes:
        key: `input_tensor`, `input_tensors[2]`.
        name: the same in DirectML's names, `InputTensors[2]`.
        field: the field that it sits in.
        tensor: as described.
    """

    key: str
    name: str
    field: Field
    tensor: TensorDesc


class OperatorDesc(msgspec.Struct, frozen=True, dict=True):
    """Base of the descriptors; their attributes are the header's members in snake_case and in its order.

    Attributes:
        operator: `GATHER`.
        type_value: of the enumerator in DML_OPERATOR_TYPE.
        fields: the members.
    """

    operator: ClassVar[str]
    type_value: ClassVar[int]
    fields: ClassVar[tuple[Field, ...]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.operator, msgspec.structs.astuple(self))

    # A decision asks for these some thirty times, and the judge as often again.
    @cached_property
    def _slots(self) -> tuple[Slot, ...]:
        return tuple(_found_slots(self))

    @cached_property
    def _inputs(self) -> tuple[Slot, ...]:
        return tuple([slot for slot in self._slots if not slot.field.is_output])

    @cached_property
    def _outputs(self) -> tuple[Slot, ...]:
        return tuple([slot for slot in self._slots if slot.field.is_output])


def _restored(operator: str, values: tuple[Any, ...]) -> OperatorDesc:
    return descriptor_classes()[operator](*values)


def slots(desc: OperatorDesc) -> tuple[Slot, ...]:
    """The tensors that a descriptor has, in the order of the structure; missing ones are left out."""
    return desc._slots


def inputs(desc: OperatorDesc) -> tuple[Slot, ...]:
    """The slots that the operator reads."""
    return desc._inputs


def outputs(desc: OperatorDesc) -> tuple[Slot, ...]:
    """The slots that the operator writes."""
    return desc._outputs


def _found_slots(desc: OperatorDesc) -> Iterator[Slot]:
    for attribute, field in _tensor_fields(type(desc)):
        found = getattr(desc, attribute)
        if field.kind is TENSORS:
            for n, tensor in enumerate(found):
                if tensor is not None:
                    yield Slot(f"{attribute}[{n}]", f"{field.name}[{n}]", field, tensor)
        elif found is not None:
            yield Slot(attribute, field.name, field, found)


@cache
def _tensor_fields(kind: type[OperatorDesc]) -> tuple[tuple[str, Field], ...]:
    return tuple((field.attribute, field) for field in kind.fields if field.kind in (TENSOR, TENSORS))


def tensor_at(desc: OperatorDesc, key: str) -> TensorDesc | None:
    """The tensor with this key; None where it is missing."""
    attribute, place = split_key(key)
    value = getattr(desc, attribute)
    return value if place is None else value[place]  # type: ignore[no-any-return]


def with_tensors(desc: _D, tensors: Mapping[str, TensorDesc | None]) -> _D:
    """The descriptor with other tensors at these keys."""
    changes: dict[str, Any] = {}
    for key, tensor in tensors.items():
        attribute, place = split_key(key)
        if place is None:
            changes[attribute] = tensor
        else:
            array = changes.get(attribute, getattr(desc, attribute))
            changes[attribute] = (*array[:place], tensor, *array[place + 1 :])
    return msgspec.structs.replace(desc, **changes)


def counted_together(desc: OperatorDesc, field: Field) -> list[Field]:
    """The arrays that share their count with this one, itself included."""
    return [other for other in desc.fields if other.count_field == field.count_field]


def split_key(key: str) -> tuple[str, int | None]:
    """Attribute and place in its array: `("input_tensors", 2)`, `("input_tensor", None)`."""
    attribute, bracket, place = key.partition("[")
    return attribute, int(place[:-1]) if bracket else None


def attribute_of(name: str) -> str:
    """DirectML's name of a member in snake_case: `ATensor` is `a_tensor`, `OutputSizeOfK` is `output_size_of_k`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def fields_of(facts: OperatorFacts) -> tuple[Field, ...]:
    """The members of a structure, each count together with the arrays that it counts."""
    found: list[Field] = []
    members = iter(_with_next(facts.fields))
    count = ""
    for member, following in members:
        if member.type == "UINT" and member.name.endswith("Count") and following is not None and _is_counted(following):
            count = member.name
            continue
        kind = _kind(member)
        count = count if isinstance(kind, ArrayKind) else ""
        typed_by = _type_before(found) if kind is SCALAR else ""
        found.append(
            Field(member.name, attribute_of(member.name), kind, _role(member), member.optional, count, typed_by)
        )
    return tuple(found)


def _with_next(members: Iterable[FieldFacts]) -> Iterator[tuple[FieldFacts, FieldFacts | None]]:
    every = list(members)
    return zip(every, (*every[1:], None), strict=True)


def _is_counted(member: FieldFacts) -> bool:
    return isinstance(_kind(member), ArrayKind)


def _kind(member: FieldFacts) -> Kind:
    if member.is_tensor:
        return TENSORS if member.role in (FactsRole.INPUTS, FactsRole.OUTPUTS) else TENSOR
    kind = kind_named(member.type)
    return OPERATORS if kind is OPERATOR and member.name.endswith("Descs") else kind


def _role(member: FieldFacts) -> Role:
    if not member.is_tensor:
        return Role.ATTRIBUTE
    return Role.OUTPUT if member.role in (FactsRole.OUTPUT, FactsRole.OUTPUTS) else Role.INPUT


def _type_before(found: list[Field]) -> str:
    """The nearest member before a scalar that holds a data type."""
    return next(field.attribute for field in reversed(found) if field.kind.name == "DML_TENSOR_DATA_TYPE")


def _class(name: str, facts: OperatorFacts) -> type[OperatorDesc]:
    fields = fields_of(facts)
    namespace = {"operator": name, "type_value": facts.value, "fields": fields, "__doc__": f"`{facts.structure}`."}
    members = [(field.attribute, field.kind.python) for field in fields]
    bases = (OperatorDesc,)
    return msgspec.defstruct(facts.structure, members, bases=bases, namespace=namespace, frozen=True)  # type: ignore[return-value]


_CLASSES: dict[str, type[OperatorDesc]] = {}


def descriptor_classes() -> Mapping[str, type[OperatorDesc]]:
    """The descriptor classes of all operators by name, in the order of DML_OPERATOR_TYPE; made at the first call."""
    if not _CLASSES:
        _CLASSES.update({name: _class(name, facts) for name, facts in operator_facts().items()})
    return _CLASSES
