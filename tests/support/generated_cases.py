"""Cases from a seed, for tests that need many: small sizes, every rank, type, layout and kind of index; broken ones.

Shapes are worked out here by hand, tables of types and dimension counts are the registry's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from random import Random
from typing import Any, NamedTuple

import slow_reference as slow
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from msgspec.structs import replace

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operators, spec_of
from dml_conformance.spec.tensor import TensorDesc, implied_size_in_bytes, packed_strides
from dml_conformance.spec.validator import Outcome, decide

Sizes = tuple[int, ...]

INPUTS = ("input_tensor", "indices_tensor")
NAMES = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1", "TILE")


class Case(NamedTuple):
    """A valid descriptor with memory for its inputs."""

    desc: Any
    level: Level
    inputs: Mapping[str, Binding]


class Generator:
    """Valid cases from a seed: small sizes, every rank, type, layout and kind of index."""

    def __init__(self, seed: object) -> None:
        self.random = Random(str(seed))

    def case(self, name: str | None = None, level: Level | None = None, *, indices: str | None = None) -> Case:
        """One case; `indices` names their kind: in-range, any-sign, or wild."""
        levels = [each for each in Level if name is None or each >= operators()[name].introduced_in]
        level = level or self.random.choice(levels)
        exists = [op for op in NAMES if operators()[op].introduced_in <= level]
        name = name or self.random.choice(exists)
        table = operators()[name].table_at(level)
        assert table is not None
        rank = self.random.choice(sorted(table["InputTensor"].dimension_counts))
        kind = self.random.choice(sorted(table["InputTensor"].data_types))
        index_types = table["IndicesTensor"].data_types if "IndicesTensor" in table else {DataType.UINT32}
        index_kind = self.random.choice(sorted(index_types))
        desc = getattr(self, f"_{name.lower()}")(rank, kind, index_kind)
        return self.filled(desc, level, indices or self.random.choice(["in-range", "any-sign", "wild"]))

    def sizes(self, count: int, most: int = 48) -> Sizes:
        """Sizes of at least 1 whose product is at most `most`."""
        sizes = [1] * count
        for d in self.random.sample(range(count), count):
            sizes[d] = self.random.randint(1, max(1, min(5, most // prod(sizes))))
        return tuple(sizes)

    def tensor(self, kind: DataType, sizes: Sequence[int], *, output: bool = False) -> TensorDesc:
        """Any layout that the role allows, sometimes with a larger total size and a promised alignment."""
        layouts = ["null", "packed", "padded", "permuted", "padded-permuted"]
        layout = self.random.choice(layouts if output else [*layouts, "broadcast", "overlapping"])
        strides: list[int] | None = None
        if layout == "packed":
            strides = list(packed_strides(sizes))
        elif layout == "overlapping":
            strides = [self.random.randint(0, 3) for _ in sizes]
        elif layout != "null":
            order = list(range(len(sizes)))
            if "permuted" in layout:
                self.random.shuffle(order)
            strides, step = [0] * len(sizes), 1
            for d in reversed(order):
                if "padded" in layout:
                    step += self.random.choice([0, 0, 1, 3])
                if layout != "broadcast" or self.random.random() < 0.5:
                    strides[d] = step
                    step *= sizes[d]
        tensor = TensorDesc.of(kind, sizes, strides, alignment=self.random.choice([0, 0, 8, 16, 64]))
        return replace(
            tensor,
            total_tensor_size_in_bytes=tensor.total_tensor_size_in_bytes + self.random.choice([0, 0, 1, 4, 20]),
            flags=0 if output else self.random.choice([0, 0, 1]),
        )

    def _gather(self, rank: int, kind: DataType, index_kind: DataType) -> GatherDesc:
        axis, index_dimensions = self.random.randrange(rank), self.random.randint(0, rank)
        source, index = list(self.sizes(rank)), list(self.sizes(index_dimensions, 8))
        cropped = max(0, index_dimensions - 1)
        for d in range(min(cropped, axis)):
            source[d] = 1
        for d in range(cropped - axis):
            index[d] = 1
        full = (*source[:axis], *index, *source[axis + 1 :])
        output = full[cropped:] if cropped else (1,) * (rank - len(full)) + full
        return GatherDesc(
            self.tensor(kind, source),
            self.tensor(index_kind, [1] * (rank - index_dimensions) + index),
            self.tensor(kind, output, output=True),
            axis,
            index_dimensions,
        )

    def _gather_elements(self, rank: int, kind: DataType, index_kind: DataType) -> GatherElementsDesc:
        axis, source = self.random.randrange(rank), self.sizes(rank)
        index = (*source[:axis], self.random.randint(1, 5), *source[axis + 1 :])
        return GatherElementsDesc(
            self.tensor(kind, source), self.tensor(index_kind, index), self.tensor(kind, index, output=True), axis
        )

    def _gather_nd(self, rank: int, kind: DataType, index_kind: DataType) -> GatherNdDesc:
        tensors, of_source, of_index, _ = self._blocks(rank, kind, index_kind, batched=False)
        return GatherNdDesc(*tensors, of_source, of_index)

    def _gather_nd1(self, rank: int, kind: DataType, index_kind: DataType) -> GatherNd1Desc:
        tensors, of_source, of_index, batches = self._blocks(rank, kind, index_kind, batched=True)
        return GatherNd1Desc(*tensors, of_source, of_index, batches)

    def _blocks(
        self, rank: int, kind: DataType, index_kind: DataType, *, batched: bool
    ) -> tuple[tuple[TensorDesc, TensorDesc, TensorDesc], int, int, int]:
        of_source, of_index = self.random.randint(1, rank), self.random.randint(1, rank)
        batches = self.random.randrange(min(of_source, of_index)) if batched else 0
        addressable = of_source - batches
        coordinates = self.random.randint(max(1, of_index - 1 + addressable - rank), addressable)
        source = self.sizes(of_source)
        walked = (*source[:batches], *self.sizes(of_index - 1 - batches, 6))
        full = (*walked, *source[batches + coordinates :])
        tensors = (
            self.tensor(kind, (1,) * (rank - of_source) + source),
            self.tensor(index_kind, (1,) * (rank - of_index) + (*walked, coordinates)),
            self.tensor(kind, (1,) * (rank - len(full)) + full, output=True),
        )
        return tensors, of_source, of_index, batches

    def _tile(self, rank: int, kind: DataType, index_kind: DataType) -> TileDesc:
        source, repeats = self.sizes(rank, 16), self.sizes(rank, 8)
        output = [size * repeat for size, repeat in zip(source, repeats, strict=True)]
        return TileDesc(self.tensor(kind, source), self.tensor(kind, output, output=True), repeats)

    def filled(self, desc: Any, level: Level, indices: str) -> Case:
        """The case of a descriptor, with random bytes in its inputs and indices of a kind."""
        inputs = {}
        for name in INPUTS:
            tensor = getattr(desc, name, None)
            if tensor is not None:
                offset = 64 * self.random.randrange(3)
                content = self.random.randbytes(tensor.total_tensor_size_in_bytes)
                inputs[name] = slow.bind(tensor, content, offset=offset)
        rule = spec_of(desc).index
        if rule is not None:
            limits, tensor = rule.limits(desc), desc.indices_tensor
            numbers = (
                self._index(limits[c[-1]] if len(limits) > 1 else limits[0], tensor.data_type, indices)
                for c in slow.walk(tensor.sizes)
            )
            slow.store(tensor, inputs["indices_tensor"], numbers)
        return Case(desc, level, inputs)

    def _index(self, size: int, kind: DataType, indices: str) -> int:
        bits = 8 * kind.size - int(kind.is_signed_integer)
        lowest = -(1 << bits) if kind.is_signed_integer else 0
        if indices == "wild" and self.random.random() < 0.3:
            wild = [
                size,
                size + 1,
                -size - 1,
                1 << 31,
                1 << 32,
                (1 << bits) - 1,
                (1 << bits) - size,
                lowest,
                lowest + 1,
            ]
            return self.random.choice([index for index in wild if lowest <= index < 1 << bits])
        first = -size if kind.is_signed_integer and indices != "in-range" else 0
        return self.random.randint(first, size - 1)


HUGE = (2**16, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
HUGE_TOTALS = (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 4, 2**64 - 1)


def broken(random: Random, desc: Any, *, huge: bool = False) -> Any:
    """A descriptor with one to three of its fields changed, to huge values or to likely ones; most are invalid."""
    for _ in range(random.randint(1, 3)):
        field = random.choice(spec_of(desc).fields)
        value = getattr(desc, field.attribute)
        if field.is_tensor:
            changed = None if value is None else broken_tensor(random, value, huge)
        elif isinstance(value, tuple):
            some = random.choice((value[1:], (*value, 1), tuple(random.randint(0, 3) for _ in value)))
            changed = tuple(random.choice(HUGE) for _ in value) if huge else some
        else:
            changed = random.choice(HUGE) if huge else max(0, value + random.choice((-1, 1, 1, 8)))
        desc = replace(desc, **{field.attribute: changed})
    return desc


def broken_tensor(random: Random, tensor: TensorDesc, huge: bool) -> TensorDesc | None:
    def replaced(values: tuple[int, ...]) -> tuple[int, ...]:
        if not values:
            return (1,)
        changed = list(values)
        d = random.randrange(len(changed))
        near = (0, 1, changed[d] + 1, changed[d] * 2, changed[d] - 1)
        changed[d] = random.choice(HUGE if huge else near)
        return tuple(max(value, 0) for value in changed)

    total = tensor.total_tensor_size_in_bytes
    strides = tensor.strides or packed_strides(tensor.sizes)
    smallest = bytes_needed(tensor)
    changes: list[dict[str, Any]] = [
        {"sizes": replaced(tensor.sizes)},
        {"sizes": replaced(tensor.sizes), "strides": None},
        {"strides": replaced(strides)},
        {"sizes": (1, *tensor.sizes), "strides": None},
        {"sizes": tensor.sizes[1:], "strides": None},
        {"data_type": random.choice(list(DataType))},
        {"flags": random.choice((1, 2, 3, 2**32 - 1))},
        {"type": TensorType.INVALID},
        {"guaranteed_base_offset_alignment": random.choice((1, 2, 3, 4, 8, 12, 48, 2**31, 2**32 - 1))},
        {
            "total_tensor_size_in_bytes": random.choice(
                (0, total - 4, total - 1, total + 1, smallest, max(smallest - 1, 0))
            )
        },
    ]
    if huge:
        changes.append({"total_tensor_size_in_bytes": random.choice(HUGE_TOTALS)})
    elif random.random() < 0.02:
        return None
    changed = replace(tensor, **random.choice(changes))
    if random.random() < 0.5 and 0 < bytes_needed(changed) < 2**64 - 4:  # what the change needs, as well
        changed = replace(changed, total_tensor_size_in_bytes=(bytes_needed(changed) + 3) & ~3)
    return changed


def bytes_needed(tensor: TensorDesc) -> int:
    """What a tensor spans; 0 where nobody can say."""
    sizes, strides = tensor.sizes, tensor.strides
    if 0 in sizes or not tensor.data_type.size or (strides is not None and len(strides) != len(sizes)):
        return 0
    return implied_size_in_bytes(tensor.data_type, sizes, strides)


def check_execution(backend: Backend, case: Case) -> int:
    """Execute once and hold every byte against what it has to be by the slow reference.

    Returns:
        How many elements were left open: those hold some element of the input.
    """
    desc, inputs = case.desc, case.inputs
    output = slow.bind(desc.output_tensor, b"\xa5\x5a\xc3", offset=64)
    before, held = bytes(output.buffer), {name: bytes(binding.buffer) for name, binding in inputs.items()}
    backend.execute(desc, case.level, inputs, {"output_tensor": output})
    assert {name: bytes(binding.buffer) for name, binding in inputs.items()} == held, "an input changed"
    own = {output.offset + byte for place in slow.places_of_elements(desc.output_tensor) for byte in place}
    after = bytes(output.buffer)
    assert all(after[n] == before[n] for n in range(len(after)) if n not in own), "wrote beside the elements"
    memory = slow.Memory(bytes(inputs["input_tensor"].view), desc.input_tensor)
    allowed = {int.from_bytes(memory.element(c), "little") for c in slow.walk(desc.input_tensor.sizes)}
    expected = slow.expected_output(desc, inputs)
    for found, wanted in zip(slow.read_output(desc, output), expected.elements, strict=True):
        assert found in allowed if wanted is None else found == wanted, case
    return sum(expected.open)


def bound(tensor: TensorDesc, elements: Iterable[int]) -> Binding:
    binding = slow.bind(tensor, b"\xee")
    slow.store(tensor, binding, elements)
    return binding


def made(desc: OperatorDesc, *elements: Iterable[int], level: Level = HIGHEST) -> Case:
    """A case of the highest level from the elements of its input tensors."""
    assert decide(desc, level).outcome is Outcome.ACCEPT
    names = [name for name in INPUTS if hasattr(desc, name)]
    inputs = {name: bound(getattr(desc, name), values) for name, values in zip(names, map(list, elements), strict=True)}
    return Case(desc, level, inputs)
