"""What a backend is: something that decides on descriptors and executes them on buffers, as the API does.

A backend never calls `spec.validator` or the reference: then its answers would be this project's own. It sees
descriptors, levels and memory, nothing of what is expected of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, Slot, slots
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES, Category
from dml_conformance.spec.tensor import TensorDesc, clusters, packed_strides

Bytes = npt.NDArray[np.uint8]
_T = TypeVar("_T")


LARGE_RESOURCE = 2**26  # bytes
NEAR = 4096  # bytes before a tensor and behind it in which it is looked for writes outside of it


class Binding(NamedTuple):
    """A range of a resource bound to a tensor, as `DML_BUFFER_BINDING`.

    Attributes:
        buffer: the whole resource, one byte an entry. A device backend copies all of it to the device and, for an
            output, all of it back, so that writes outside the bound range show; of a large one see `looked_at`.
        offset: bytes from the resource's start; a multiple of 16 and of the tensor's GuaranteedBaseOffsetAlignment.
        size: bytes bound; at least the tensor's TotalTensorSizeInBytes, and a multiple of 4.
    """

    buffer: Bytes
    offset: int
    size: int

    @property
    def view(self) -> Bytes:
        """The bound bytes alone."""
        return self.buffer[self.offset : self.offset + self.size]


class BoundTensor(NamedTuple):
    """Where a tensor lies in memory.

    Attributes:
        start: byte at which it starts.
        size: bytes bound.
        tensor: itself.
    """

    start: int
    size: int
    tensor: TensorDesc


def looked_at(length: int, tensors: Iterable[BoundTensor]) -> list[slice]:
    """The parts of so many bytes that a copy of them needs: all of few, of many what is near elements and ends."""
    if length <= LARGE_RESOURCE:
        return [slice(0, length)]
    places = []
    for start, size, tensor in tensors:
        places += [(start + part.start, start + part.stop) for part in clusters(tensor)]
        places.append((start + size, start + size))
    found: list[slice] = []
    for begin, end in sorted(places):
        start, stop = max(begin - NEAR, 0), min(end + NEAR, length)
        if found and start <= found[-1].stop:
            start, stop = found[-1].start, max(stop, found[-1].stop)
            found.pop()
        found.append(slice(start, stop))
    return found


# By slot: `input_tensor`, or `input_tensors[2]` for one of an array; missing optional tensors have none.
Bindings = Mapping[str, Binding]


class Answer(msgspec.Struct, frozen=True):
    """A backend's decision on a descriptor.

    Attributes:
        accepted: whether the backend would create the operator.
        reason: why not, in the backend's own words.
    """

    accepted: bool
    reason: str = ""


class Unsupported(Exception):
    """Raised by a backend for what it does not do; within its claims a difference, see `Capabilities.scopes`."""


# What a backend may raise. SystemExit would end a run in whose process it is, with a code of the backend's choice.
RAISED = (Exception, SystemExit)

# Other forms of descriptors, which do not have all of them: the structs of DirectML.h, and models of ONNX.
FORMS = ("DirectML.h", "ONNX")

# Of what a backend says of itself; reports show all of it, and say it more than once.
LONGEST_NAME, MOST_NAMES = 1_000, 1_000


class Scope(msgspec.Struct, frozen=True):
    """What of some operators' descriptors a backend claims; a field that is not given restricts nothing.

    Types may be given as text, `FLOAT32`, in any collection.

    Attributes:
        operators: names; empty for all that the backend claims.
        data_types: by field of the descriptor (`InputTensor`), or by `*` for each that has none of its own.
        ranks: dimension counts that tensors have.
        most_elements: that a tensor has.
        strides: whether tensors have strides other than those of packed ones.
        attributes: by field of the descriptor (`Function`, `FusedActivation`) the values that it has, as JSON has them:
            names of enumerations, and of the operator in a field that has one. Without one in it a descriptor is
            claimed.
        in_place: whether an output is bound to the memory of an input.
        least_alignment: bytes of `GuaranteedBaseOffsetAlignment` that each tensor states.

    Raises:
        TypeError: a field is of another type; the message names it, what was expected and what was found.
    """

    operators: tuple[str, ...] = ()
    data_types: dict[str, tuple[DataType, ...]] = {}
    ranks: tuple[int, ...] = ()
    most_elements: int | None = None
    strides: bool = True
    attributes: dict[str, tuple[str | int | float, ...]] = {}
    in_place: bool = True
    least_alignment: int = 0

    def __post_init__(self) -> None:
        whole = int | None if self.most_elements is None else int
        for field, kind, expected in (
            ("data_types", dict, "a dict of collections of data types by field"),
            ("most_elements", whole, "a whole number or None"),
            ("attributes", dict, "a dict of collections of values by field"),
            ("strides", bool, "True or False"),
            ("in_place", bool, "True or False"),
            ("least_alignment", int, "a whole number of bytes"),
        ):
            if not isinstance(value := getattr(self, field), kind):
                raise _wrong_claim(field, expected, value, "Scope")
        types = {
            name: tuple(_each(f"data_types[{name!r}]", given, _data_type, "data types such as 'FLOAT32'", "Scope"))
            for name, given in self.data_types.items()
        }
        values = {
            name: tuple(_each(f"attributes[{name!r}]", given, _value, "texts or numbers", "Scope"))
            for name, given in self.attributes.items()
        }
        for field, claimed in (
            ("operators", tuple(_each("operators", self.operators, _text, "names such as 'TILE'", "Scope"))),
            ("attributes", values),
            ("ranks", tuple(_each("ranks", self.ranks, _whole, "whole numbers", "Scope"))),
            ("data_types", types),
        ):
            msgspec.structs.force_setattr(self, field, claimed)

    def outside(self, desc: OperatorDesc, *, is_in_place: bool = False) -> str:
        """What of a descriptor is not in this scope, in words; "" where all of it is, or the operator is none of it.

        Args:
            desc: valid or not.
            is_in_place: whether an output is bound to the memory of an input.
        """
        if self.operators and desc.operator not in self.operators:
            return ""
        if is_in_place and not self.in_place:
            return "execution in place"
        for field in type(desc).fields:
            if field.name in self.attributes:
                for value in _values(field, desc):
                    if value not in self.attributes[field.name]:
                        return f"{field.name} of {value}"
        return next(filter(None, (self._outside(slot) for slot in slots(desc))), "")

    def as_json(self) -> dict[str, Any]:
        """The fields that are given."""
        anything = msgspec.structs.asdict(Scope())
        every: dict[str, Any] = msgspec.structs.asdict(self)
        given = {name: value for name, value in every.items() if value != anything[name]}
        if self.data_types:
            given["data_types"] = {name: [each.name for each in types] for name, types in self.data_types.items()}
        if self.attributes:
            given["attributes"] = {name: list(values) for name, values in self.attributes.items()}
        for name in given.keys() & {"operators", "ranks"}:
            given[name] = list(given[name])
        return given

    def _outside(self, slot: Slot) -> str:
        tensor = slot.tensor
        types = self.data_types.get(slot.field.name, self.data_types.get("*"))
        if types is not None and tensor.data_type not in types:
            return f"{slot.name} of {tensor.data_type.name}"
        if self.ranks and len(tensor.sizes) not in self.ranks:
            return f"{slot.name} of {len(tensor.sizes)} dimensions"
        if self.most_elements is not None and tensor.element_count > self.most_elements:
            return f"{slot.name} of {tensor.element_count:,} elements"
        if not self.strides and tensor.strides is not None and tensor.strides != packed_strides(tensor.sizes):
            return f"{slot.name} with strides"
        if tensor.guaranteed_base_offset_alignment < self.least_alignment:
            return f"{slot.name} with an alignment of {tensor.guaranteed_base_offset_alignment} bytes"
        return ""


class Capabilities(msgspec.Struct, frozen=True):
    """What a backend says of itself. It is asked for this once, before any case, and it binds: a case within the claims
    that is declined is a difference, and outside of them nothing is asked.

    Levels and categories may also be given as text, `4_1` and `shape`, in any collection. No text has more than
    `LONGEST_NAME` characters, and of versions and operators there are `MOST_NAMES` at most.

    Attributes:
        name: as on the command line, `torch:cpu`.
        device: the hardware, in words.
        versions: of the libraries and drivers that the answers depend on.
        levels: feature levels claimed.
        operators: operator names claimed (`GATHER`).
        enforces: rule categories that its decisions claim to cover. Who refuses what breaks rules of any category says
            with it that the rest is accepted: acceptance is claimed with each.
        executes: whether it executes at all.
        decides_at: the level by whose rules it decides, whatever level it is asked for; None where it goes by the level
            asked for. What only a lower level forbids (an operator, a data type, a dimension count that came later) is
            then accepted, and a decision for a lower level is claimed only where it does not depend on that.
        accelerated: whether it executes on a device other than the host's processor, which takes larger tensors to be
            busy, and longer to be warm.
        scopes: what of the operators' descriptors is claimed, where that is not all: what is in each of them.
        form: the form that descriptors reach it in, one of `FORMS`, where it is not theirs; the judge itself looks
            which descriptors have it, and the others are not claimed.
        paths: where its work is done in one of several ways, which part of it is done in which, and why not in another
            one; what it falls back to stands here.

    Raises:
        TypeError: a field is of another type; the message names it, what was expected and what was found.
    """

    name: str
    device: str
    versions: dict[str, str]
    levels: tuple[Level, ...]
    operators: tuple[str, ...]
    enforces: frozenset[Category]
    executes: bool = True
    decides_at: Level | None = None
    accelerated: bool = False
    scopes: tuple[Scope, ...] = ()
    form: str = ""
    paths: dict[str, str] = {}

    def __post_init__(self) -> None:
        for field, kind, expected in _PLAIN_CLAIMS:
            if not isinstance(value := getattr(self, field), kind):
                raise _wrong_claim(field, expected, value)
        if self.form and self.form not in FORMS:
            raise _wrong_claim("form", f"'' or one of {', '.join(FORMS)}", self.form)
        for field, texts in (("versions", self.versions), ("paths", self.paths)):
            if not all(isinstance(text, str) for item in texts.items() for text in item):
                raise _wrong_claim(field, "a dict of texts", texts)
        own = self.decides_at
        for field, claimed in (
            ("levels", tuple(_each("levels", self.levels, _level, "feature levels such as Level.L4_1 or '4_1'"))),
            ("operators", tuple(_each("operators", self.operators, _text, "names such as 'TILE'"))),
            ("enforces", frozenset(_each("enforces", self.enforces, Category, f"categories: {_CATEGORIES}"))),
            ("scopes", tuple(_each("scopes", self.scopes, _scope, "objects of Scope"))),
            ("decides_at", None if own is None else next(_each("decides_at", (own,), _level, "a feature level"))),
        ):
            msgspec.structs.force_setattr(self, field, claimed)
        if not self.enforces.isdisjoint(DESCRIPTOR_CATEGORIES):
            msgspec.structs.force_setattr(self, "enforces", self.enforces | {Category.ACCEPTANCE})

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "device": self.device,
            "versions": dict(sorted(self.versions.items())),
            "levels": [level.label for level in self.levels],
            "operators": list(self.operators),
            "enforces": sorted(str(category) for category in self.enforces),
            "executes": self.executes,
            "decides_at": None if self.decides_at is None else self.decides_at.label,
            "accelerated": self.accelerated,
            "scopes": [scope.as_json() for scope in self.scopes],
            "form": self.form,
            "paths": dict(self.paths),
        }


def check_claims(claims: Capabilities) -> None:
    """Raises ValueError where texts are too long or too many; names the field, what it has and what it may."""
    _check_text("name", claims.name)
    _check_text("device", claims.device)
    for field, texts in (("versions", claims.versions), ("paths", claims.paths)):
        _check_count(field, texts)
        for name, text in texts.items():
            _check_text(f"{field}: a name", name)
            _check_text(f"{field}[{name!r}]", text)
    _check_count("scopes", claims.scopes)
    for number, scope in enumerate(claims.scopes):
        for field in ("operators", "data_types", "ranks", "attributes"):
            _check_count(f"scopes[{number}].{field}", getattr(scope, field))
    _check_count("operators", claims.operators)
    for number, operator in enumerate(claims.operators):
        _check_text(f"operators[{number}]", operator)


def _check_text(field: str, text: str) -> None:
    if len(text) > LONGEST_NAME:
        raise ValueError(f"{field}: expected at most {LONGEST_NAME:,} characters, found {len(text):,}")


def _check_count(field: str, entries: Sized) -> None:
    if len(entries) > MOST_NAMES:
        raise ValueError(f"{field}: expected at most {MOST_NAMES} entries, found {len(entries):,}")


_PLAIN_CLAIMS: tuple[tuple[str, type, str], ...] = (
    ("name", str, "a text"),
    ("device", str, "a text"),
    ("versions", dict, "a dict of texts"),
    ("executes", bool, "True or False"),
    ("accelerated", bool, "True or False"),
    ("form", str, "a text"),
    ("paths", dict, "a dict of texts"),
)
_CATEGORIES = ", ".join(Category)


def _each(
    field: str, values: Any, read: Callable[[Any], _T], expected: str, kind: str = "Capabilities"
) -> Iterator[_T]:
    """What a field of `Capabilities`, or of another kind, claims, one by one."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise _wrong_claim(field, f"a collection of {expected}", values, kind)
    for value in values:
        try:
            yield read(value)
        except (ValueError, TypeError, KeyError):
            raise _wrong_claim(field, expected, value, kind) from None


def _level(value: Any) -> Level:
    return Level.parse(value) if isinstance(value, str) else Level(value)


def _data_type(value: Any) -> DataType:
    return DataType[value] if isinstance(value, str) else DataType(value)


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


def _value(value: Any) -> str | int | float:
    if not isinstance(value, str | int | float):
        raise TypeError
    return value


def _values(field: Field, desc: OperatorDesc) -> Iterator[Any]:
    """What a field of a descriptor holds, as `Scope.attributes` has it, one by one; nothing where it is empty."""
    found = getattr(desc, field.attribute)
    every = found if isinstance(found, tuple) else () if found is None else (found,)
    if any(isinstance(value, OperatorDesc) for value in every):
        yield from (value.operator for value in every if value is not None)
    elif every:
        told = field.kind.to_json(found)
        yield from told if isinstance(found, tuple) else (told,)


def _scope(value: Any) -> Scope:
    return value if isinstance(value, Scope) else Scope(**value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _wrong_claim(field: str, expected: str, found: object, kind: str = "Capabilities") -> TypeError:
    shown = repr(found)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return TypeError(f"{kind}.{field}: expected {expected}; found {shown}, of type {type(found).__name__}")


class Backend(Protocol):
    """The three things that a backend does.

    Tensors are named by their slots' keys, as `spec.descriptor.slots` has them: `input_tensor`, `input_tensors[2]`. An
    operator without inputs gets no inputs, and a missing optional tensor has no binding.
    """

    def capabilities(self) -> Capabilities:
        """What the backend claims; called once, cheap."""

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        """Decide on a descriptor, as CreateOperator does.

        Raises:
            Unsupported: it does not answer; a difference, as only what is claimed is asked.
        """

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        """Run the operator once: read the inputs' bound ranges, write the outputs'.

        The descriptor has been accepted by `validate`. Inputs must come back unchanged, and so must every byte of an
        output's resource outside the output's TotalTensorSizeInBytes.

        Raises:
            Unsupported: it is not executed; a difference likewise.
            MemoryError: there is not enough memory, which is none where the case is large.
        """


class OutOfMemory(MemoryError):
    """Raised by a backend where a device's memory does not suffice for a batch; a smaller one may fit."""


class Execution(NamedTuple):
    """One case of a batch: the arguments of one `execute`."""

    desc: OperatorDesc
    level: Level
    inputs: Bindings
    outputs: Bindings


@runtime_checkable
class Batched(Protocol):
    """What a backend adds if it can execute many small cases at once.

    It must come to the same bytes as `execute`, case by case: it is what a sweep runs, while examples, boundaries and
    search go one by one. A class that inherits it and has an `execute` of its own is not asked: the batches would be
    those of another backend.
    """

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        """Run each execution once, in any order or all at once; they do not depend on each other.

        All bindings of a batch share one resource, the same `Binding.buffer`. In it every tensor has guard bytes
        around it and starts at a multiple of 16 and of its GuaranteedBaseOffsetAlignment. A device backend copies the
        resource to the device in one piece and, after the work, back in one piece, so that nothing that was written
        there goes unseen. What `execute` must keep unchanged stays unchanged here too.

        Raises:
            MemoryError: there is not enough memory for so many; the batch is tried again in two halves. Errors of
                other libraries are turned into `OutOfMemory`.
            Unsupported: not claimed for these; they are executed one by one.
            Exception: anything else; the cases are executed one by one, to find the one that is to blame.
        """


@runtime_checkable
class Timed(Protocol):
    """What a backend adds if it can time its device; without it the harness times `execute` on the host's clock."""

    def time_execution(
        self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings, repeats: int
    ) -> list[float]:
        """Seconds of each of `repeats` runs in a row on the device, after a warm-up, transfers to and from it excluded.

        The harness asks for more and more of them until the last take as long as those before: they are to follow each
        other closely, so that the device does not cool down in between. The outputs' resources come back as after
        `execute`, with what the last run made: the harness compares them.
        """

    def time_copy(self, size: int, repeats: int) -> list[float]:
        """Seconds of each of `repeats` copies of `size` bytes from device memory to device memory."""


@runtime_checkable
class TimedCold(Protocol):
    """What a backend adds to `Timed` if it can empty its device's caches before each run.

    What is timed then is the device alone: where work is queued, its launch waits in the queue.
    """

    def time_execution_cold(
        self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings, repeats: int
    ) -> list[float]:
        """As `Timed.time_execution`, with nothing of the tensors in any cache when a run begins.

        Raises:
            Unsupported: the caches of this device are not emptied.
        """

    def time_copy_cold(self, size: int, repeats: int) -> list[float]:
        """As `Timed.time_copy`, likewise."""


@runtime_checkable
class HasDevices(Protocol):
    """What a backend's class adds if there may be several devices to choose from, so that work is spread over them."""

    @staticmethod
    def devices(device: str) -> Sequence[str]:
        """The devices that can be given in place of `device`, a device as the class takes it or "" for none given;
        empty where `device` is one already."""


def takes_batches(backend: object) -> bool:
    """Whether a backend executes batches, and by the same class as single cases.

    A class that inherits `execute_batch` and has an `execute` of its own would be judged by what it does not do.
    """
    return isinstance(backend, Batched) and _definer(backend, "execute_batch") <= _definer(backend, "execute")


def _definer(backend: object, method: str) -> int:
    """How far up among a backend's classes a method is defined; below all of them where it is the object's own."""
    for distance, ancestor in enumerate(type(backend).__mro__):
        if method in vars(ancestor):
            return distance
    return -1
