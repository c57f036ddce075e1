"""The tables of all operators held against what the live library takes.

From a plain descriptor of each operator, which the library accepts, others are made that differ in the data types and
dimension counts of their tensors, or lack one. A table's cell is found right if the library takes it in some of them:
which tensors go together is for the rules of the operator, not for its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any, NamedTuple

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field, OperatorDesc, outputs, slots, with_tensors
from dml_conformance.spec.field_kinds import TENSOR, UINT, ArrayKind, WholeKind, enumeration
from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec, Table
from dml_conformance.spec.operator_facts import Support
from dml_conformance.spec.registry import operators
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.tensor_rules import max_dimension_count
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.chooser import Chooser, SeededChooser

DRAWN = 40  # descriptors with other tensors at random, where no likely one is accepted
MOST_COMBINED = 3  # whole-number attributes of which all combinations are tried
DATA_TYPES = tuple(data_type for data_type in DataType if data_type is not DataType.UNKNOWN)


class LibraryAnswer(StrEnum):
    """What the library does with a descriptor."""

    ACCEPT = "accept"
    REJECT = "reject"
    CRASH = "crash"
    NOT_CLAIMED = "not claimed"


Ask = Callable[[OperatorDesc], LibraryAnswer]


class Aspect(StrEnum):
    """What a question is about."""

    DATA_TYPE = "data type"
    DIMENSION_COUNT = "dimension count"
    NULL = "null"


class Question(NamedTuple):
    """Whether a tensor may be something.

    Attributes:
        operator, variant: variant is the name of the reduce function, "" where there is none.
        tensor: DirectML's name of the field.
        aspect: what it is about.
        value: the data type's name, the count, or "".
    """

    operator: str
    variant: str
    tensor: str
    aspect: Aspect
    value: str


@dataclass(frozen=True)
class Difference:
    """A question to which the library's answer is not that of the facts.

    Attributes:
        allowed: by the facts.
        desc: that the library accepts, though they do not; the first of those that it refuses, though they allow it;
            or one that it dies of.
        answer: the library's to it.
    """

    question: Question
    allowed: bool
    desc: OperatorDesc
    answer: LibraryAnswer


@dataclass
class TableFindings:
    """What was found of one operator.

    Attributes:
        tried: number of questions.
        differences: where the library does otherwise.
        left_out: what was not tried, and why.
    """

    operator: str
    tried: int = 0
    differences: list[Difference] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def agreed(self) -> int:
        """Number of questions to which the library answered as the facts do."""
        return self.tried - len({difference.question for difference in self.differences})


def plain_descriptors() -> dict[str, list[OperatorDesc]]:
    """Those that the library accepts, by operator; together they have nearly every tensor of it."""
    found = read_data("plain", dict[str, list[dict[str, Any]]])
    return {
        name: [desc_from_json({"type": f"DML_OPERATOR_{name}", "desc": desc}) for desc in descs]
        for name, descs in found.items()
    }


def hold_tables(ask: Ask, level: Level, names: Iterable[str] = ()) -> Iterator[TableFindings]:
    """Ask about operators one after the other.

    Args:
        ask: for the library's answer to a descriptor.
        level: its own.
        names: of the operators; all by default.
    """
    every = plain_descriptors()
    for name in names or operators():
        yield _of_operator(ask, operators()[name], level, every.get(name, []))


def _of_operator(ask: Ask, spec: OperatorSpec, level: Level, plain: list[OperatorDesc]) -> TableFindings:
    found = TableFindings(spec.name)
    if spec.introduced_in > level:
        found.left_out.append(f"came with {spec.introduced_in}, and the library speaks {level}")
        return found
    for variant in spec.variants:
        table = spec.table_at(level, variant)
        if table is None:
            found.left_out.append(f"{variant} has no table at {level}")
            continue
        tries = (_of_variant(desc, variant, table) for desc in plain)
        accepted = (next((base for base in bases if ask(base) is LibraryAnswer.ACCEPT), None) for bases in tries)
        bases = [base for base in accepted if base is not None]
        if not bases:
            found.left_out.append(" ".join(filter(None, (variant, "no plain descriptor is accepted"))))
            continue
        questions = _TableQuestions(ask, level, variant, table)
        for tensor in spec.tensor_fields:
            with_it = [base for base in bases if any(slot.field is tensor for slot in slots(base))]
            if with_it:
                questions.ask_about(tensor, with_it, [base for base in bases if base not in with_it], found)
            else:
                found.left_out.append(f"{tensor.name}: no plain descriptor has it")
    return found


def _of_variant(desc: OperatorDesc, variant: str, table: Table) -> Iterator[Any]:
    """The descriptor with another function, and outputs of a type that goes with that."""
    if not variant:
        yield desc
        return
    functions = next(field.kind.name for field in desc.fields if field.name == "Function")
    function = int(enumeration(functions)[variant])
    of_function = msgspec.structs.replace(desc, function=function)
    yield of_function
    for slot in outputs(of_function):
        for data_type in sorted(table[slot.field.name].data_types):
            yield _with_types(of_function, {slot.key: data_type})


@dataclass(frozen=True)
class _TableQuestions:
    """Asks about the tensors of one operator at one level."""

    ask: Ask
    level: Level
    variant: str
    table: Table

    def ask_about(
        self, tensor: Field, bases: list[OperatorDesc], others: list[OperatorDesc], found: TableFindings
    ) -> None:
        """Ask about a tensor, from descriptors that have it; the others lack it."""
        row: Support = self.table[tensor.name]
        counts = range(1, max_dimension_count(self.level) + 1)
        if row.data_types:
            for data_type in DATA_TYPES:
                tries = (desc for base in bases for desc in _typed(base, tensor, data_type, self.table))
                self._hold(found, tensor, Aspect.DATA_TYPE, data_type.name, data_type in row.data_types, tries)
        else:
            found.left_out.append(f"data types of {tensor.name}: the page leaves them open")
        if row.dimension_counts:
            for count in counts:
                tries = (desc for base in bases for desc in _of_count(base, tensor, count, self.table))
                self._hold(found, tensor, Aspect.DIMENSION_COUNT, str(count), count in row.dimension_counts, tries)
        else:
            found.left_out.append(f"dimension counts of {tensor.name}: the page leaves them open")
        if tensor.kind is TENSOR:
            without = [*others, *(desc for base in bases for desc in _without(base, tensor))]
            # A tensor that may be null at some level may have to be given below it, by a rule of the operator's own.
            may_be = any(decide(desc, self.level).outcome is not Outcome.REJECT for desc in without)
            self._hold(found, tensor, Aspect.NULL, "", tensor.optional and may_be, without)

    def _hold(
        self,
        found: TableFindings,
        tensor: Field,
        aspect: Aspect,
        value: str,
        allowed: bool,
        tries: Iterable[OperatorDesc],
    ) -> None:
        """Hold the library's answer against the facts: it is to accept one of the descriptors, or none."""
        question = Question(found.operator, self.variant, tensor.name, aspect, value)
        found.tried += 1
        refused: list[OperatorDesc] = []
        answers: set[LibraryAnswer] = set()
        for desc in tries:
            answer = self.ask(desc)
            if answer is LibraryAnswer.CRASH and answer not in answers:
                found.differences.append(Difference(question, allowed, desc, answer))
            answers.add(answer)
            if answer is LibraryAnswer.ACCEPT:
                if not allowed:
                    found.differences.append(Difference(question, allowed, desc, answer))
                return
            refused.append(desc)
        if allowed:
            within = (desc for desc in refused if decide(desc, self.level).outcome is not Outcome.REJECT)
            found.differences.append(Difference(question, allowed, next(within, refused[0]), LibraryAnswer.REJECT))


def _together(base: OperatorDesc, tensor: Field, alike: Callable[[TensorDesc], Any], may: Callable[[str], bool]) -> Any:
    """Sets of keys of tensors that may have to change together, the field's own among them; the likeliest first."""
    own = frozenset(slot.key for slot in slots(base) if slot.field is tensor)
    value = next(alike(slot.tensor) for slot in slots(base) if slot.field is tensor)
    every = [slot.key for slot in slots(base)]
    same = frozenset(slot.key for slot in slots(base) if alike(slot.tensor) == value)
    allowed = frozenset(slot.key for slot in slots(base) if may(slot.field.name))
    sets = [same | own, allowed | own, (allowed & same) | own, own, frozenset(every)]
    sets += [own | {key} for key in every] + [(same | own) - {key} | own for key in every]
    return dict.fromkeys(sets)


def _typed(base: OperatorDesc, tensor: Field, data_type: DataType, table: Table) -> Iterator[OperatorDesc]:
    """The descriptor with another data type of one tensor, and of others that may share it."""
    numbers = [f.attribute for f in base.fields if f.kind.name == "DML_TENSOR_DATA_TYPE"]
    along = [dict.fromkeys(numbers, int(data_type)), {}] if numbers else [{}]
    for keys in _together(base, tensor, lambda t: t.data_type, lambda name: data_type in table[name].data_types):
        for changes in along:
            yield _with_types(msgspec.structs.replace(base, **changes), dict.fromkeys(keys, data_type))
    chooser: Chooser = SeededChooser(f"{base.operator}/{tensor.name}/{data_type.name}")
    for n in range(DRAWN):
        types = {}
        for slot in slots(base):
            options = sorted(table[slot.field.name].data_types) or DATA_TYPES
            types[slot.key] = data_type if slot.field is tensor else chooser.choice(options)
        yield _with_types(msgspec.structs.replace(base, **along[n % len(along)]), types)


def _with_types(desc: OperatorDesc, types: dict[str, DataType]) -> OperatorDesc:
    tensors = {slot.key: slot.tensor for slot in slots(desc)}
    return with_tensors(desc, {key: TensorDesc.of(kind, tensors[key].sizes) for key, kind in types.items()})


def _of_count(base: OperatorDesc, tensor: Field, count: int, table: Table) -> Iterator[OperatorDesc]:
    """The descriptor with more or fewer leading dimensions of one tensor and of others, and attributes that may fit."""
    before = next(len(slot.tensor.sizes) for slot in slots(base) if slot.field is tensor)
    tensors = {slot.key: slot.tensor for slot in slots(base)}
    attributes = list(_attributes(base, before, count))
    for keys in _together(base, tensor, lambda t: len(t.sizes), lambda name: count in table[name].dimension_counts):
        changed = with_tensors(base, {key: _with_count(tensors[key], count) for key in keys})
        for values in attributes:
            yield msgspec.structs.replace(changed, **values)


def _with_count(tensor: TensorDesc, count: int) -> TensorDesc:
    sizes = tensor.sizes[max(len(tensor.sizes) - count, 0) :]
    return TensorDesc.of(tensor.data_type, (1,) * (count - len(sizes)) + sizes)


def _attributes(base: OperatorDesc, before: int, count: int) -> Iterator[dict[str, Any]]:
    """What arrays and numbers of a descriptor may be for so many dimensions instead of as many as before."""
    arrays = {f: getattr(base, f.attribute) for f in base.fields if isinstance(f.kind, ArrayKind) and not f.is_tensor}
    resized = {f.attribute: _resized(array, len(array) + count - before) for f, array in arrays.items()}
    numbers = [f for f in base.fields if isinstance(f.kind, WholeKind)]
    options = []
    for number in numbers:
        value = getattr(base, number.attribute)
        least = 0 if number.kind is UINT else value
        options.append(tuple(dict.fromkeys((value, max(value + count - before, least), count, 0))))
    every = product(*options) if len(options) <= MOST_COMBINED else zip(*(_padded(o) for o in options), strict=True)
    for values in list(every):
        named = {f.attribute: value for f, value in zip(numbers, values, strict=True)}
        yield named
        if resized:
            yield named | resized


def _padded(options: tuple[int, ...]) -> tuple[int, ...]:
    return options + options[-1:] * (4 - len(options))


def _resized(array: tuple[Any, ...], length: int) -> tuple[Any, ...]:
    return array[:1] * (length - len(array)) + array[max(len(array) - length, 0) :] if length > 0 else ()


def _without(base: OperatorDesc, tensor: Field) -> Iterator[OperatorDesc]:
    """The descriptor without one tensor; where it is optional also without others that are."""
    alone = with_tensors(base, {tensor.attribute: None})
    yield alone
    if tensor.optional:
        others = [slot.key for slot in slots(alone) if slot.field.optional]
        yield from (with_tensors(alone, {key: None}) for key in others)
        yield with_tensors(alone, dict.fromkeys(others))
