"""A backend that is right, written from the published facts alone and as little like the others as can be.

What it accepts is one table of clauses over plain integers. What it executes is compiled into arithmetic on addresses:
the number of an output element gives its digits, the digits give the byte where it stands, the byte where its index
stands and, with that index, the byte that it comes from. No array has more than `BLOCK` entries, whatever the size of
the output. In a batch, executions of equal descriptors are one program, and which of them it is one more digit.

Nothing of the specification's rules, the reference or the torch backend is imported. Where the pages leave a descriptor
open this backend takes what has a meaning: elements of an output that share memory, sizes of leading dimensions that
are called irrelevant, batches of an input that are walked once more where the indices have more of them.
"""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Answer, Binding, Bytes, Capabilities, Execution, Unsupported
from dml_conformance.spec.datatypes import DataType, TensorFlag, TensorType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category

BLOCK = 2**20  # output elements that are computed at once

# --- what there is ----------------------------------------------------------------------------------------------------

FLOATS = "FLOAT32 FLOAT16"
NARROW = f"{FLOATS} INT8 INT16 INT32 UINT8 UINT16 UINT32"
WIDE = f"{NARROW} INT64 UINT64"
ALL = f"{WIDE} FLOAT64"
INDICES = "INT64 INT32 UINT64 UINT32"

# From a level on: the least and the greatest rank, the types of the data, and those of the indices.
FROM_2_1 = (("2_1", 4, 4, NARROW, "UINT32"), ("3_0", 1, 8, NARROW, INDICES), ("4_1", 1, 8, ALL, INDICES))
SUPPORT = {
    "GATHER": (("1_0", 4, 4, FLOATS, "UINT32"), *FROM_2_1),
    "GATHER_ELEMENTS": FROM_2_1,
    "GATHER_ND": FROM_2_1,
    "GATHER_ND1": FROM_2_1[1:],
    "TILE": (
        ("1_0", 4, 4, FLOATS, ""),
        ("2_1", 4, 4, NARROW, ""),
        ("3_1", 1, 8, NARROW, ""),
        ("4_1", 1, 8, WIDE, ""),
    ),
}
WIDTHS = {name: int("".join(filter(str.isdigit, name))) // 8 for name in ALL.split()}


class Plain(NamedTuple):
    """A tensor in integers."""

    kind: str
    width: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    total: int
    alignment: int
    flags: int
    is_buffer: bool

    @property
    def last(self) -> int:
        """Number of the last place that an element has."""
        return sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True))


def plain(tensor: Any) -> Plain:
    """A tensor of a descriptor."""
    sizes = tuple(tensor.sizes)
    strides = tuple(prod(sizes[d + 1 :]) for d in range(len(sizes))) if tensor.strides is None else tensor.strides
    kind = DataType(tensor.data_type).name
    total, alignment = tensor.total_tensor_size_in_bytes, tensor.guaranteed_base_offset_alignment
    is_buffer = tensor.type == TensorType.BUFFER
    return Plain(kind, WIDTHS.get(kind, 0), sizes, tuple(strides), total, alignment, int(tensor.flags), is_buffer)


class Facts(NamedTuple):
    """A descriptor at a level in integers; a tensor that it lacks is None.

    Attributes:
        operator: its name.
        row: of `SUPPORT`; None below the level that introduced the operator.
        desc: for its attributes.
    """

    operator: str
    row: tuple[str, int, int, str, str] | None
    source: Plain | None
    indices: Plain | None
    output: Plain | None
    desc: Any

    @classmethod
    def of(cls, desc: Any, level: Level) -> Facts:
        rows = [row for row in SUPPORT[desc.operator] if Level.parse(row[0]) <= level]
        tensors = (getattr(desc, f"{role}_tensor", None) for role in ("input", "indices", "output"))
        found = (None if tensor is None else plain(tensor) for tensor in tensors)
        return cls(desc.operator, rows[-1] if rows else None, *found, desc)

    @property
    def tensors(self) -> list[Plain]:
        return [tensor for tensor in (self.source, self.indices, self.output) if tensor is not None]


# --- what is accepted -------------------------------------------------------------------------------------------------


class Clause(NamedTuple):
    """One thing that has to hold; those before it do.

    Attributes:
        says: what.
        holds: whether it does, of `Facts`.
        operators: that it is about, in words; "" = all.
    """

    says: str
    holds: Callable[[Any], bool]
    operators: str = ""


def each(holds: Callable[[Plain], bool]) -> Callable[[Facts], bool]:
    """Of every tensor."""
    return lambda facts: all(map(holds, facts.tensors))


def fits_ranks(facts: Any) -> bool:
    return all(facts.row[1] <= len(tensor.sizes) <= facts.row[2] for tensor in facts.tensors)


def fits_types(facts: Any) -> bool:
    indices = "" if facts.indices is None else facts.indices.kind
    return facts.source.kind in facts.row[3].split() and (indices in facts.row[4].split() or not facts.row[4])


def has_no_other_flags(facts: Any) -> bool:
    return facts.output.flags == 0 and all(tensor.flags in (0, TensorFlag.OWNED_BY_DML) for tensor in facts.tensors)


def is_complete(facts: Facts) -> bool:
    return len(facts.tensors) == (2 if facts.operator == "TILE" else 3)


def agrees_off_axis(facts: Any) -> bool:
    pairs = enumerate(zip(facts.source.sizes, facts.indices.sizes, strict=True))
    return all(d == facts.desc.axis or one == other for d, (one, other) in pairs)


def output_sizes_follow(facts: Any) -> bool:
    """The axes' sizes are those of the output but for leading ones, of which either may have more."""
    sizes, found = [axis.size for axis in layout(facts).axes], list(facts.output.sizes)
    longest = max(len(sizes), len(found))
    return [1] * (longest - len(sizes)) + sizes == [1] * (longest - len(found)) + found


def batches_of(desc: Any) -> int:
    return int(getattr(desc, "batch_dimension_count", 0))


def has_dimensions_for_a_tuple(facts: Any) -> bool:
    return bool(facts.indices.sizes[-1] <= facts.desc.input_dimension_count - batches_of(facts.desc))


def fits_rank(facts: Any) -> bool:
    return len(layout(facts).axes) <= len(facts.output.sizes)


ON_AXIS, ND = "GATHER GATHER_ELEMENTS", "GATHER_ND GATHER_ND1"
CLAUSES = (
    Clause("the level has the operator", lambda f: f.row is not None),
    Clause("every tensor is given", is_complete),
    Clause("a tensor is a buffer", each(lambda t: t.is_buffer)),
    Clause("the level has the ranks", fits_ranks),
    Clause("the level has the types", fits_types),
    Clause("input and output are of one type", lambda f: f.source.kind == f.output.kind),
    Clause("all ranks are equal", lambda f: len({len(tensor.sizes) for tensor in f.tensors}) == 1),
    Clause("there is a stride for each size", each(lambda t: len(t.strides) == len(t.sizes))),
    Clause("only an input has a flag, the one that there is", has_no_other_flags),
    Clause("no size is 0", each(lambda t: min(t.sizes) > 0)),
    Clause("elements are numbered in 32 bits", each(lambda t: prod(t.sizes) < 2**32)),
    Clause(
        "the total covers all places, in words of 4 bytes",
        each(lambda t: t.total >= -(-(t.last + 1) * t.width // 4) * 4),
    ),
    Clause("an alignment has one bit", each(lambda t: t.alignment.bit_count() <= 1)),
    Clause("an alignment aligns elements", each(lambda t: t.alignment == 0 or t.alignment >= t.width)),
    Clause("the axis is one", lambda f: 0 <= f.desc.axis < len(f.source.sizes), ON_AXIS),
    Clause("indices have so many dimensions", lambda f: 0 <= f.desc.index_dimensions <= len(f.indices.sizes), "GATHER"),
    Clause("indices are as the input off the axis", agrees_off_axis, "GATHER_ELEMENTS"),
    Clause("the input has so many dimensions", lambda f: 1 <= f.desc.input_dimension_count <= len(f.source.sizes), ND),
    Clause(
        "indices have so many dimensions", lambda f: 1 <= f.desc.indices_dimension_count <= len(f.indices.sizes), ND
    ),
    Clause(
        "the batches are dimensions that count",
        lambda f: 0 <= batches_of(f.desc) < min(f.desc.input_dimension_count, f.desc.indices_dimension_count),
        ND,
    ),
    Clause("a tuple addresses dimensions that are left", has_dimensions_for_a_tuple, ND),
    Clause("nothing is cropped", fits_rank, ND),
    Clause("each dimension has a repeat", lambda f: len(f.desc.repeats) == len(f.source.sizes), "TILE"),
    Clause("no repeat is 0", lambda f: min(f.desc.repeats) > 0, "TILE"),
    Clause("the output's sizes follow", output_sizes_follow),
)


def first_broken(facts: Facts) -> str:
    """What the first clause says that does not hold; "" where all do."""
    about = (clause for clause in CLAUSES if not clause.operators or facts.operator in clause.operators.split())
    return next((clause.says for clause in about if not clause.holds(facts)), "")


# --- what is walked ---------------------------------------------------------------------------------------------------


class Axis(NamedTuple):
    """One dimension of the work.

    Attributes:
        size: coordinates.
        source: places from one to the next in the input.
        index: the same in the indices.
        wraps: coordinates after which the input begins anew.
    """

    size: int
    source: int
    index: int
    wraps: int


class Lookup(NamedTuple):
    """A coordinate of the input that is read.

    Attributes:
        place: in the indices, beyond what the axes say.
        source: places from one such coordinate to the next in the input.
        limit: how many there are.
    """

    place: int
    source: int
    limit: int


class Layout(NamedTuple):
    """The axes, outermost first, and what is looked up."""

    axes: list[Axis]
    lookups: list[Lookup]


def layout(facts: Any) -> Layout:
    """How an operator walks its tensors."""
    return LAYOUTS[facts.operator](facts.desc, facts.source, facts.indices)


def along(tensor: Plain, first: int, end: int) -> list[Axis]:
    """Axes that walk some dimensions of the input alone."""
    return [Axis(tensor.sizes[d], tensor.strides[d], 0, tensor.sizes[d]) for d in range(first, end)]


def gather(desc: Any, source: Plain, indices: Plain) -> Layout:
    rank, axis = len(source.sizes), desc.axis
    asked = [Axis(indices.sizes[d], 0, indices.strides[d], 1) for d in range(rank - desc.index_dimensions, rank)]
    axes = [*along(source, 0, axis), *asked, *along(source, axis + 1, rank)]
    return Layout(axes, [Lookup(0, source.strides[axis], source.sizes[axis])])


def gather_elements(desc: Any, source: Plain, indices: Plain) -> Layout:
    axes = [
        Axis(size, 0 if d == desc.axis else source.strides[d], indices.strides[d], size)
        for d, size in enumerate(indices.sizes)
    ]
    return Layout(axes, [Lookup(0, source.strides[desc.axis], source.sizes[desc.axis])])


def gather_nd(desc: Any, source: Plain, indices: Plain) -> Layout:
    rank, batches = len(source.sizes), batches_of(desc)
    first, walked = rank - desc.input_dimension_count, rank - desc.indices_dimension_count
    coordinates = indices.sizes[-1]
    axes = []
    for d in range(walked, rank - 1):
        batch = first + d - walked
        is_batch = d - walked < batches
        stride, wraps = (source.strides[batch], source.sizes[batch]) if is_batch else (0, 1)
        axes.append(Axis(indices.sizes[d], stride, indices.strides[d], wraps))
    first += batches
    lookups = [
        Lookup(t * indices.strides[-1], source.strides[first + t], source.sizes[first + t]) for t in range(coordinates)
    ]
    return Layout([*axes, *along(source, first + coordinates, rank)], lookups)


def tile(desc: Any, source: Plain, indices: None) -> Layout:
    dimensions = zip(source.sizes, source.strides, desc.repeats, strict=True)
    return Layout([Axis(size * repeat, stride, 0, size) for size, stride, repeat in dimensions], [])


LAYOUTS: Mapping[str, Callable[..., Layout]] = {
    "GATHER": gather,
    "GATHER_ELEMENTS": gather_elements,
    "GATHER_ND": gather_nd,
    "GATHER_ND1": gather_nd,
    "TILE": tile,
}


# --- what is executed -------------------------------------------------------------------------------------------------

Numbers = npt.NDArray[np.int64]


class Term(NamedTuple):
    """`weight * (number // divisor % modulus)` bytes of an address; no modulus where it would change nothing."""

    weight: int
    divisor: int
    modulus: int | None

    def of(self, number: Numbers) -> Numbers:
        digit = number if self.divisor == 1 else number // self.divisor
        return (digit if self.modulus is None else digit % self.modulus) * self.weight


class Read(NamedTuple):
    """An index at an address, and the bytes of the input's address that one more of it adds.

    Attributes:
        start: bytes from the start of the indices.
        terms: what an output element's number adds to that.
        form: of the number there, for NumPy.
        weight, limit: as in `Lookup`, in bytes.
    """

    start: int
    terms: tuple[Term, ...]
    form: str
    weight: int
    limit: int

    def of(self, memory: Bytes, address: Numbers) -> Numbers:
        """The bytes that it adds: counted from the end below 0, and the nearest that there is out of range."""
        found = words(memory, self.form)[address + self.start]
        if self.form.startswith("<u"):
            return np.minimum(found, found.dtype.type(self.limit - 1)).astype(np.int64) * self.weight
        found = found.astype(np.int64)
        return (found + self.limit * (found < 0)).clip(0, self.limit - 1) * self.weight


class Program(NamedTuple):
    """What computes the addresses of an operator's elements.

    Attributes:
        count: elements of the output.
        form: of an element, for NumPy.
        output, source: of their addresses.
        reads: what is added to the source's.
    """

    count: int
    form: str
    output: tuple[Term, ...]
    source: tuple[Term, ...]
    reads: tuple[Read, ...]


@lru_cache(4096)
def compiled(desc: Any) -> Program:
    """The program of a descriptor that is accepted."""
    facts: Any = Facts.of(desc, max(Level))
    axes, lookups = layout(facts)
    width, count = facts.source.width, prod(facts.output.sizes)
    kind = facts.indices
    index_terms = (
        () if kind is None else terms(((axis.size, axis.index * kind.width, axis.size) for axis in axes), count)
    )
    reads = [
        Read(
            look.place * kind.width,
            index_terms,
            f"<{'u' if kind.kind.startswith('U') else 'i'}{kind.width}",
            look.source * width,
            look.limit,
        )
        for look in lookups
    ]
    places = zip(facts.output.sizes, facts.output.strides, strict=True)
    return Program(
        count,
        f"<u{width}",
        terms(((size, stride * width, size) for size, stride in places), count),
        terms(((axis.size, axis.source * width, axis.wraps) for axis in axes), count),
        tuple(reads),
    )


def terms(dimensions: Any, count: int) -> tuple[Term, ...]:
    """What a walk over dimensions of so many coordinates, bytes from one to the next, and coordinates after which it
    begins anew makes of the number of an element out of `count`."""
    found, divisor = [], 1
    for size, weight, wraps in reversed(list(dimensions)):
        if weight and size > 1 and wraps > 1:
            found.append(Term(weight, divisor, None if divisor * wraps >= count else wraps))
        divisor *= size
    return tuple(found)


def words(memory: Bytes, form: str) -> npt.NDArray[Any]:
    """Memory as numbers, one from each byte on."""
    return np.ndarray((len(memory) - np.dtype(form).itemsize + 1,), form, memory, 0, (1,))


class Member(NamedTuple):
    """The bindings of one execution."""

    source: Binding
    indices: Binding
    output: Binding


def address(terms: Sequence[Term], base: Numbers, number: Numbers) -> Numbers:
    return sum((term.of(number) for term in terms), base)


def run(program: Program, members: Sequence[Member]) -> None:
    """Execute a program on members that have their buffers in common, as if their outputs were one."""
    source, indices, output = (binding.buffer for binding in members[0])
    starts = np.array([[binding.offset for binding in member] for member in members], np.int64)
    for number in blocks(program.count * len(members)):
        member, position = (0, number) if len(members) == 1 else np.divmod(number, program.count)
        from_source, from_indices, from_output = starts[member].T
        found = address(program.source, from_source, position)
        for read in program.reads:
            found = found + read.of(indices, address(read.terms, from_indices, position))
        words(output, program.form)[address(program.output, from_output, position)] = words(source, program.form)[found]


def blocks(count: int) -> Iterator[Numbers]:
    """The numbers below `count`, in blocks."""
    for first in range(0, count, BLOCK):
        yield np.arange(first, min(first + BLOCK, count), dtype=np.int64)


class AddressMachine:
    """Implements `backends.base.Backend` and `Batched`."""

    def capabilities(self) -> Capabilities:
        versions = {"numpy": np.__version__, "python": platform.python_version()}
        device = f"addresses on {platform.machine()}"
        return Capabilities("address-machine", device, versions, tuple(Level), tuple(SUPPORT), frozenset(Category))

    def validate(self, desc: Any, level: Level) -> Answer:
        if desc.operator not in SUPPORT:
            raise Unsupported(f"no operator {desc.operator}")
        broken = first_broken(Facts.of(desc, level))
        return Answer(not broken, broken and f"not so: {broken}")

    def execute(self, desc: Any, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> None:
        run(compiled(desc), [member_of(inputs, outputs)])

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        groups: defaultdict[Any, list[Member]] = defaultdict(list)
        for desc, _, inputs, outputs in executions:
            member = member_of(inputs, outputs)
            groups[(desc, *(id(binding.buffer) for binding in member))].append(member)
        for (desc, *_), members in groups.items():
            run(compiled(desc), members)


def member_of(inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]) -> Member:
    """The bindings of an execution; a TILE's input stands for the indices that it has not."""
    source = inputs["input_tensor"]
    return Member(source, inputs.get("indices_tensor", source), outputs["output_tensor"])
