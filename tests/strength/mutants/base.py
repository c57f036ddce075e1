"""What every wrong backend starts from: the reference with hooks in its steps, and what faults are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Binding
from dml_conformance.backends.reference import ReferenceBackend, layout
from dml_conformance.backends.reference.operators import compute_of
from dml_conformance.backends.reference.parts import as_expectation
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import OperatorDesc, OperatorSpec, Slot, slots, tensor_at, with_tensors
from dml_conformance.spec.registry import families, operators, rules, spec_of
from dml_conformance.spec.rules import ACCEPTANCE
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes
from dml_conformance.spec.validator import Decision, decide
from dml_conformance.strategies.builders import is_sibling
from dml_conformance.strategies.cases import applicable_rules, patterns
from dml_conformance.strategies.values import DATA_PATTERNS

Bindings = Mapping[str, Binding]
Arrays = Mapping[str, Any]  # bits, by slot
INT64_MAX = 2**63 - 1
GATHERS = ("gather", "gather_elements", "gather_nd")  # families that read through indices

EXECUTED = (
    "values",
    "negative-indices",
    "out-of-range-indices",
    "EXECUTION.strides",
    "EXECUTION.in-place",
    "EXECUTION.output-bounds",
    "EXECUTION.inputs-unchanged",
)


class Executed(NamedTuple):
    """What the reference makes of a descriptor: a digest of the inputs' bytes, and the elements of each output."""

    desc: Any
    digest: bytes
    found: Arrays


@lru_cache(maxsize=20_000)
def decided(desc: OperatorDesc, level: Level) -> Decision:
    """The decision on a descriptor, made once for all wrong backends."""
    return decide(desc, level)


@lru_cache(maxsize=20_000)
def right_answer(desc: OperatorDesc, level: Level) -> Answer:
    """What the reference answers, once for all wrong backends."""
    return ReferenceBackend().validate(desc, level)


class SharedReference(ReferenceBackend):
    """The reference, which takes the outputs of what was expected, or executed last, on the same inputs.

    Attributes:
        known: by descriptor, an object and no equal one, as 0.0 equals -0.0: what is expected of it.
        last: what was executed last: most wrong backends execute the same twice.
    """

    known: ClassVar[dict[int, Executed]] = {}
    last: ClassVar[Executed | None] = None

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return right_answer(desc, level)

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        digest = digest_of(inputs)
        for seen in (self.known.get(id(desc)), SharedReference.last):
            if seen is not None and seen.desc is desc and seen.digest == digest and seen.found.keys() >= outputs.keys():
                for key, binding in outputs.items():
                    layout.put(binding, tensor_at(desc, key), seen.found[key])
                return
        super().execute(desc, level, inputs, outputs)
        found = {key: layout.bits(binding, tensor_at(desc, key)).copy() for key, binding in outputs.items()}
        SharedReference.last = Executed(desc, digest, found)


REFERENCE = SharedReference()


class Mutant(SharedReference):
    """The reference with a single fault; a subclass that is not `abstract` is one of `MUTANTS`.

    It takes something for something else (`seen`, `level_seen`), or computes, alters or writes something else. Most
    are a function that takes the place of one of these steps (`plants`).

    Attributes:
        rules: where the suite must catch it; one without a subject is the operator's own (`values`: `TILE.values`).
        also: rules that it breaks besides.
        has: attributes of the descriptors in which the fault shows; every operator that has them all must find it.
        lacks: attributes that they must not have.
        families: the families of operators that it can be planted in; empty = all.
        names: of these the operators, with or without what the names of a family begin with; empty = all.
        but: those that are left out.
        reads: whether it shows in an input.
        indexes: whether it shows in what an index tensor addresses.
        moves: whether it shows in elements that are moved bit for bit, whatever they are.
        since: the level from which on it shows; "" = from the operator's introduction.
        until: the level from which on it no longer shows; "" = to the highest.
        where: whether it shows in an operator at a level besides; None = in each.
    """

    rules: ClassVar[tuple[str, ...]]
    also: ClassVar[tuple[str, ...]] = ()
    has: ClassVar[tuple[str, ...]] = ()
    lacks: ClassVar[tuple[str, ...]] = ()
    families: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ()
    but: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[bool] = False
    indexes: ClassVar[bool] = False
    moves: ClassVar[bool] = False
    since: ClassVar[str] = ""
    until: ClassVar[str] = ""
    where: ClassVar[Callable[[str, Level], bool] | None] = None

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            MUTANTS.append(cls)

    @classmethod
    def family(cls) -> str:
        """What its fault is about: the module that it stands in."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    @cache
    def operators(cls) -> tuple[str, ...]:
        """The operators that have what its fault needs.

        Where another operator stands for one in what their family shares, the faults of that one are its own alone.
        """
        return tuple(
            name
            for name, spec in operators().items()
            if {field.attribute for field in spec.fields}.issuperset(cls.has)
            and {field.attribute for field in spec.fields}.isdisjoint(cls.lacks)
            and (not cls.families or families()[name] in cls.families)
            and (not cls.names or _is_named(name, cls.names))
            and not _is_named(name, cls.but)
            and (not cls.reads or spec.input_fields)
            and (not cls.indexes or spec.index is not None)
            and (not cls.moves or moves_bits(spec))
            and (cls.families or cls.names or not is_sibling(name))
        )

    @classmethod
    def shows_at(cls, operator: str, level: Level) -> bool:
        """Whether the fault can be told from a right answer by this operator at this level."""
        least = Level.parse(cls.since) if cls.since else operators()[operator].introduced_in
        exists = level >= operators()[operator].introduced_in or "introduced-in" in cls.rules
        if not exists or level < least or (cls.until and level >= Level.parse(cls.until)):
            return False
        if cls.where is not None and not cls.where(operator, level):
            return False
        return not cls.caught_at(operator).isdisjoint(applicable_rules(operator, level))

    @classmethod
    def decides_only(cls) -> bool:
        """Whether what it executes is the reference's, so that no execution can give it away."""
        executes_so = cls.execute is Mutant.execute and not hasattr(cls, "execute_batch")
        return executes_so and all(
            getattr(cls, step) is getattr(Mutant, step) for step in ("computed", "altered", "written")
        )

    @classmethod
    def caught_at(cls, operator: str) -> frozenset[str]:
        """Ids of `rules` for one operator."""
        return _ids(operator, cls.rules)

    @classmethod
    def broken(cls, operator: str) -> frozenset[str]:
        """Ids of `rules` and `also` for one operator."""
        return _ids(operator, cls.rules + cls.also)

    def validate(self, desc: Any, level: Level) -> Answer:
        return self.answered(super().validate(self.seen(desc), self.level_seen(desc, level)), desc, level)

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        if self.reads and not inputs:  # all of them are optional
            super().execute(desc, level, inputs, outputs)
            return
        execute(desc, inputs, outputs, but=main_output(desc).key)
        with np.errstate(all="ignore"):
            values = self.altered(desc, self.computed(desc, inputs))
        self.written(desc, values, outputs[main_output(desc).key])

    def seen(self, desc: Any) -> Any:
        """The descriptor that it decides on."""
        return desc

    def level_seen(self, desc: Any, level: Level) -> Level:
        """The level that it decides at."""
        return level

    def answered(self, answer: Answer, desc: Any, level: Level) -> Answer:
        """What it makes of the decision before it gives it."""
        return answer

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        """The main output's elements as bits; other outputs are right."""
        return compute(desc, inputs)

    def altered(self, desc: Any, values: Any) -> Any:
        """What it makes of them before it writes them."""
        return values

    def written(self, desc: Any, values: Any, output: Binding) -> None:
        write(desc, values, output)


MUTANTS: list[type[Mutant]] = []


class Fault(NamedTuple):
    """What takes the place of a step, the fault in words, and attributes of the mutant."""

    function: Callable[..., Any]
    about: str
    traits: dict[str, Any]


def fault(function: Callable[..., Any], about: str = "", **traits: Any) -> Fault:
    """A mutant whose name does not say all, or that has attributes of its own."""
    return Fault(function, about, traits)


class OtherStep:
    """One step of a base that mutants do otherwise, each by a function of its own.

    As a decorator it makes a mutant of the name and docstring of a function. The function gets what it names of what
    the step gets, without the backend; the module that it stands in is the mutant's family.
    """

    def __init__(self, step: str, base: type[Mutant], by: Callable[..., Any] | None, traits: Mapping[str, Any]) -> None:
        self._step, self._base, self._by, self._traits = step, base, by, traits

    def __call__(self, function: Callable[..., Any]) -> type[Mutant]:
        return self._planted(function.__name__, fault(function, function.__doc__ or ""))

    def each(self, **rows: Fault | Callable[..., Any]) -> None:
        """Make a mutant of every row of a table, by name; a bare function is a row."""
        for name, given in rows.items():
            self._planted(name, given if isinstance(given, Fault) else fault(given))

    def _planted(self, name: str, made: Fault) -> type[Mutant]:
        names = list(signature(getattr(self._base, self._step)).parameters)[1:]
        wanted, by = list(signature(made.function).parameters), self._by
        assert by is not None or set(wanted) <= set(names), f"{name}: {self._step} has {names}, not {wanted}"

        def part(**given: Any) -> Any:
            return made.function(*(given[name] for name in wanted))

        def step(_: Mutant, *given: Any) -> Any:
            return part(**dict(zip(names, given, strict=True))) if by is None else by(part, *given)

        traits = {"__module__": made.function.__module__, "__doc__": made.about or None, **self._traits, **made.traits}
        return variant(name, self._base, **traits, **{self._step: step})


def plants(step: str, base: type[Mutant] = Mutant, by: Callable[..., Any] | None = None, **traits: Any) -> OtherStep:
    """Make mutants of functions, which do a step of a base otherwise.

    Args:
        step: a method of the base.
        base: what the mutants are besides.
        by: where the functions are no more than a part of the step: it gets one, which takes keywords, and what the
            step gets, and does the step with it.
        traits: attributes of the mutants.
    """
    return OtherStep(step, base, by, traits)


def misreads(by: Callable[..., Any] | None = None, **traits: Any) -> OtherStep:
    """Make mutants that take elements of inputs for others."""
    return plants("inputs", WrongValues, by, **traits)


def computes(by: Callable[..., Any] | None = None, **traits: Any) -> OtherStep:
    """Make mutants that find other elements."""
    return plants("found", WrongValues, by, **traits)


def variant(name: str, base: type[Mutant], **traits: Any) -> type[Mutant]:
    """A mutant that differs from another, or from an abstract one, by attributes alone."""
    return type(name, (base,), {"__module__": base.__module__, **traits})


class WrongDecision(Mutant, abstract=True):
    """A bug of `validate` alone."""

    def seen(self, desc: Any) -> Any:
        return with_tensors(desc, {name: self.tensor_seen(tensor) for name, tensor in tensors(desc)})

    def tensor_seen(self, tensor: TensorDesc) -> TensorDesc:
        """The tensor that it decides on, in the place of each."""
        return tensor


class WrongValues(Mutant, abstract=True):
    """Computes other elements of some outputs: the right ones of other inputs or of another descriptor, or others.

    Attributes:
        kinds: what the type of the first input's elements begins with where results are others, as NumPy has it: "f2",
            or ("i", "u"); else they are right.
    """

    rules = ("values",)
    kinds: ClassVar[str | tuple[str, ...]] = ""

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        arrays = {slot.key: layout.bits(inputs[slot.key], slot.tensor) for slot in of_role(desc, is_output=False)}
        with np.errstate(all="ignore"):
            found = self.found(*self.given(desc, arrays)) if self.concerns(desc) else {}
            if not isinstance(found, Mapping):
                found = {main_output(desc).key: found}
            if not outputs.keys() <= found.keys():
                found = {**right(desc, arrays), **found}
            for slot in of_role(desc, is_output=True):
                layout.put(outputs[slot.key], slot.tensor, as_elements(found[slot.key], slot.tensor))

    def concerns(self, desc: Any) -> bool:
        """Whether elements are of the kinds whose results are others."""
        return not self.kinds or kind_of(of_role(desc, is_output=False)[0].tensor).startswith(self.kinds)

    def given(self, desc: Any, arrays: Arrays) -> tuple[Any, Arrays]:
        """The descriptor and the bits of each input that it computes with."""
        others = self.inputs(desc, arrays)
        bits = {key: as_elements(others[key], tensor_at(desc, key)) for key in arrays.keys() & others.keys()}
        return self.descriptor(desc), {**arrays, **bits}

    def descriptor(self, desc: Any) -> Any:
        """The descriptor that it takes it for."""
        return desc

    def inputs(self, desc: Any, arrays: Arrays) -> Arrays:
        """Other elements of some inputs, which it takes in the place of those that there are."""
        return {}

    def found(self, desc: Any, arrays: Arrays) -> Any:
        """From the bits of each input those of the outputs that are wrong, by slot, or of the main one alone.

        Numbers may stand for their bits.
        """
        return right(desc, arrays)


def kind_of(tensor: TensorDesc) -> str:
    """The type of a tensor's elements as NumPy has it: "f4"."""
    return layout.NUMBERS[tensor.data_type].str[1:]


def as_elements(found: Any, tensor: TensorDesc) -> Any:
    """What was found for a tensor as bits: numbers are rounded to its type, unsigned ones as wide as it are bits."""
    values, width = np.asarray(found), tensor.data_type.size
    if values.dtype != layout.UNSIGNED[width]:
        values = np.ascontiguousarray(values.astype(layout.NUMBERS[tensor.data_type])).view(layout.UNSIGNED[width])
    return values.reshape(tensor.sizes) if values.size == tensor.element_count else values


def of_input(key: str) -> Callable[..., Any]:
    """By other numbers of one input, `x`: a part of `WrongValues.inputs`."""

    def taken(function: Callable[..., Any], desc: Any, arrays: Arrays) -> Arrays:
        return {key: function(x=numbers(desc, arrays)[key], desc=desc)} if key in arrays else {}

    return taken


class RejectsValid(WrongDecision, abstract=True):
    """Refuses some of what is valid."""

    rules = (ACCEPTANCE,)

    def answered(self, answer: Answer, desc: Any, level: Level) -> Answer:
        return Answer(False, "not here") if answer.accepted and self.refused(desc) else answer

    def refused(self, desc: Any) -> bool:
        """Whether it turns down this descriptor, which is valid."""
        return any(self.tensor_refused(tensor) for _, tensor in tensors(desc))

    def tensor_refused(self, tensor: TensorDesc) -> bool:
        """Whether it turns down every descriptor with such a tensor."""
        raise NotImplementedError


def breaks_alone(desc: Any, level: Level, rule: str) -> bool:
    """Whether a descriptor is invalid by this rule and no other."""
    return decided(desc, level).rules == (rule,)


def compute(desc: Any, inputs: Bindings) -> Any:
    """The right elements as bits; open ones as the reference has them."""
    memory = {slot.key: scratch(slot.tensor) for slot in of_role(desc, is_output=True)}
    REFERENCE.execute(desc, HIGHEST, inputs, memory)
    main = main_output(desc)
    return np.ascontiguousarray(layout.bits(memory[main.key], main.tensor))


def scratch(tensor: TensorDesc) -> Binding:
    """Memory for a tensor."""
    size = max(tensor.total_tensor_size_in_bytes, least_total(tensor))
    return Binding(np.zeros(size, np.uint8), 0, size)


def numbers(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """Inputs as the numbers that they are, by slot."""
    return {key: layout.as_numbers(array, tensor_at(desc, key).data_type) for key, array in arrays.items()}


def wide(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """Inputs as FLOAT64 numbers, by slot."""
    return {key: array.astype(np.float64) for key, array in numbers(desc, arrays).items()}


def zeroed(array: Any, place: Any) -> Any:
    """A copy with zeros at a place."""
    found = array.copy()
    found[place] = 0
    return found


def right(desc: Any, arrays: Arrays) -> dict[str, Any]:
    """The right elements of every output, from those of the inputs, by slot."""
    found = compute_of(desc.operator)(desc, arrays)
    return {
        slot.key: as_expectation(found[slot.key], desc, slot.tensor, DIRECTML).values
        for slot in of_role(desc, is_output=True)
    }


def write(desc: Any, values: Any, output: Binding) -> None:
    """Put the main output's elements where they belong."""
    layout.put(output, main_output(desc).tensor, values)


def execute(desc: Any, inputs: Bindings, outputs: Bindings, but: str = "") -> None:
    """What a right backend does, with all outputs but one."""
    written = [slot for slot in of_role(desc, is_output=True) if slot.key != but]
    if written:
        memory = {slot.key: scratch(slot.tensor) for slot in of_role(desc, is_output=True)}
        REFERENCE.execute(desc, HIGHEST, inputs, memory | {slot.key: outputs[slot.key] for slot in written})


def of_role(desc: Any, *, is_output: bool) -> list[Slot]:
    """The tensors that are outputs, or inputs."""
    return [slot for slot in slots(desc) if slot.field.is_output is is_output]


def main_output(desc: Any) -> Slot:
    """The largest output, which most operators have no other than; of several the first."""
    return max(of_role(desc, is_output=True), key=lambda slot: slot.tensor.element_count)


# Inputs that other outputs are computed from: who misreads them is right in the main one.
UNREAD = dict.fromkeys(("BATCH_NORMALIZATION_GRAD", "ROI_ALIGN_GRAD"), ("InputTensor",))


def source(desc: Any) -> Slot:
    """The first input that the main output is computed from."""
    every = of_role(desc, is_output=False)
    return next(slot for slot in every if slot.field.name not in UNREAD.get(desc.operator, ()))


def rows_of(operator: str, level: Level) -> Mapping[str, Any]:
    """What the table of a level has of an operator's tensors; nothing below its first level."""
    return operators()[operator].table_at(level) or {}


def types_of_output(operator: str, level: Level) -> frozenset[DataType]:
    """The data types of the main output."""
    name = operators()[operator].output_fields[0].name
    return frozenset(rows_of(operator, level)[name].data_types) if rows_of(operator, level) else frozenset()


def moves_bits(spec: OperatorSpec) -> bool:
    """Whether any bits may come in, and come out in the output as they are."""
    is_any = bool(spec.input_fields) and patterns(spec, spec.input_fields[0]) == DATA_PATTERNS
    return is_any and spec.group(spec.input_fields[0]) == spec.group(spec.output_fields[0])


def digest_of(inputs: Bindings) -> bytes:
    """A digest of the bytes that are bound."""
    digest = hashlib.blake2b()
    for key, bound in inputs.items():
        digest.update(key.encode())
        digest.update(bound.view)
    return digest.digest()


def _is_named(operator: str, names: tuple[str, ...]) -> bool:
    return not {operator, operator.removeprefix("ELEMENT_WISE_"), operator.removeprefix("ACTIVATION_")}.isdisjoint(
        names
    )


def _ids(operator: str, names: tuple[str, ...]) -> frozenset[str]:
    named = (name if "." in name else f"{operator}.{name}" for name in names)
    return frozenset(rule for rule in named if rule in rules())


def tensors(desc: Any) -> list[tuple[str, TensorDesc]]:
    """The tensors that are given, by attribute."""
    return [(slot.key, slot.tensor) for slot in slots(desc)]


def least_total(tensor: TensorDesc) -> int:
    """The least TotalTensorSizeInBytes of a tensor."""
    return minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)


def with_enough_bytes(tensor: TensorDesc, asked: int) -> TensorDesc:
    """The tensor with all the bytes that it needs, if it has as many as are asked for."""
    total = tensor.total_tensor_size_in_bytes
    return tensor if total < asked else replace(tensor, total_tensor_size_in_bytes=max(total, least_total(tensor)))


def with_named_type(desc: Any, taken: DataType, by: DataType) -> Any:
    """The descriptor with another data type where an attribute names this one."""
    named = [field.attribute for field in desc.fields if field.attribute.endswith("_data_type")]
    return replace(desc, **{name: int(by) for name in named if getattr(desc, name) == taken})


def rank(desc: Any) -> int:
    return len(slots(desc)[0].tensor.sizes)


def bound(data_type: DataType, values: Any) -> tuple[TensorDesc, Binding]:
    """A packed tensor of these elements in memory of its own."""
    buffer = np.frombuffer(np.ascontiguousarray(values).tobytes() + b"\0" * 4, np.uint8)
    return TensorDesc.of(data_type, values.shape), Binding(buffer, 0, buffer.size)


def numbers_of(binding: Binding, tensor: TensorDesc) -> Any:
    """The elements of a tensor as numbers; writing to them writes to the buffer."""
    return layout.as_numbers(layout.bits(binding, tensor), tensor.data_type)


def indices_key(desc: Any) -> str:
    """The key of the index tensor."""
    index = spec_of(desc).index
    assert index is not None, f"{desc.operator} has no indices"
    return index.indices


def index_numbers(desc: Any, inputs: Bindings) -> Any:
    """The index tensor as int64; what does not fit is the largest, out of range either way."""
    key = indices_key(desc)
    numbers = numbers_of(inputs[key], tensor_at(desc, key))
    return np.minimum(numbers, INT64_MAX).astype(np.int64) if numbers.dtype == np.uint64 else numbers.astype(np.int64)


def with_indices(desc: Any, inputs: Bindings, numbers: Any) -> Any:
    """The output's elements, had the index tensor held these numbers."""
    tensor, binding = bound(DataType.INT64, numbers)
    key = indices_key(desc)
    return compute(with_tensors(desc, {key: tensor}), {**inputs, key: binding})


def with_packed_source(desc: Any, inputs: Bindings) -> Any:
    """The output's elements, had the input tensor no strides."""
    return with_source(desc, inputs, memory_in_order(source(desc).tensor, inputs[source(desc).key]))


def with_source(desc: Any, inputs: Bindings, elements: Any) -> Any:
    """The output's elements, had the input tensor held these."""
    return with_elements(desc, inputs, source(desc).key, elements)


def with_elements(desc: Any, inputs: Bindings, key: str, elements: Any) -> Any:
    """The output's elements, had one input held these, packed."""
    tensor, binding = bound(tensor_at(desc, key).data_type, elements)
    return compute(with_tensors(desc, {key: tensor}), {**inputs, key: binding})


def memory_in_order(tensor: TensorDesc, binding: Binding) -> Any:
    """A tensor's memory read element by element as if it were packed, the last one over and over where it ends."""
    width = tensor.data_type.size
    memory = np.frombuffer(binding.view, layout.UNSIGNED[width], tensor.total_tensor_size_in_bytes // width)
    return memory[np.minimum(np.arange(tensor.element_count), memory.size - 1)].reshape(tensor.sizes)


def limits(desc: Any) -> Any:
    """The sizes that indices run over, as they broadcast against the index tensor."""
    index = spec_of(desc).index
    return np.array(index.limits(desc))
