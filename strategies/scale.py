"""Cases of scale: what an implementation gets wrong only where numbers pass 16, 24 or 32 bits.

Long axes under every type of indices, outputs of more elements than grids have blocks, addresses beyond what short
integers and FLOAT32 count to, and descriptors that are valid only to who multiplies in 32 bits. Inputs are small where
that is possible: what is long has a stride of 0 or 1. Like the boundaries these are walked, not drawn, and the cheap
ones come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import IntEnum
from itertools import count, product
from typing import Any, NamedTuple

import msgspec

from dml_conformance.spec.case import OFFSET_ALIGNMENT, Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import DATA, INDICES, OperatorSpec, Slot, inputs, outputs, slots, with_tensors
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes, packed_strides
from dml_conformance.spec.tensor_rules import BINDING
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies import values
from dml_conformance.strategies.builders import FAR_INDICES, Builder, builder, is_sibling
from dml_conformance.strategies.cases import execution_rules, patterns
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.edits import described, edit_tensor
from dml_conformance.strategies.tensors import broadcast_along


class Reach(IntEnum):
    """How many bits are passed by what is executed; each reach has the cases of those before it."""

    BITS_16 = 16
    BITS_24 = 24
    BITS_32 = 32


PLACES = ("first", "middle", "last")
# Axes that indices run over. Of the longest ones the last 64 elements have numbers that FLOAT32 rounds.
AXES: Mapping[Reach, tuple[int, ...]] = {Reach.BITS_16: (257, 65_537), Reach.BITS_24: (2**24 + 67,), Reach.BITS_32: ()}
# Inputs packed in memory, with the bytes of an element: rows whose addresses pass 24 and 32 bits.
PACKED_INPUTS: Mapping[Reach, tuple[tuple[int, tuple[int, ...]], ...]] = {
    Reach.BITS_16: (),
    Reach.BITS_24: ((4, (65_537, 13, 5)), (8, (65_537, 7, 5))),
    Reach.BITS_32: ((2, (65_537, 32_771, 1)), (1, (2**31 + 67, 1, 1))),
}
# Outputs with the bytes of an element. Many rows, a long middle, long rows; then more elements than FLOAT32 counts, or
# 65,535 blocks of 256 have; then more than 2^31. More than 2^32 bytes are between elements that lie far apart.
OUTPUTS: Mapping[Reach, tuple[tuple[int, tuple[int, ...]], ...]] = {
    Reach.BITS_16: ((1, (65_545, 1, 3)), (2, (2, 65_545, 3)), (1, (1, 3, 65_545))),
    Reach.BITS_24: ((1, (66_845, 251, 1)), (1, (5_592_415, 1, 3)), (2, (1, 3, 5_592_415))),
    Reach.BITS_32: ((1, (8_555_715, 251, 1)), (1, (1, 7, 306_783_385))),
}
MOST_BESIDE = 2**20  # elements of an output where a long axis is not the only dimension
MOST_BYTES = 2**34 - 2**20  # of the tensors of a case, which fewer machines would have
MOST_DENSE = 2**20  # elements of an input that all have a place of their own
MOST_ADDED = 2**20  # elements of an input for each of an output
# Not one of them a power of two, though some are but for a bit that is cut off.
WRONG_ALIGNMENTS = (2**31 + 16, 3 * 2**30, 2**32 - 16)
# Elements after which the data of large outputs begin again where results are rounded, so that of few it is computed
# what is right. It is prime: no address cut to fewer bits leads to the same element of another turn.
ROUNDED_PERIOD = 4_093
LEAST_REPEATED = 8 * ROUNDED_PERIOD  # elements of an output from which on that saves work
SURPLUS = 9  # elements that an overlapping input has more or less than its indices have bytes for


def scale_cases(operator: str, level: Level, reach: Reach, beyond: Reach | None = None) -> Iterator[Case]:
    """All cases of scale of one operator at one level, in a fixed order; the same on every machine.

    Args:
        operator: its name.
        level: of the cases.
        reach: how far they go.
        beyond: of this reach are those that are left out; None where none are.
    """
    spec = operator_named(operator)
    if level < spec.introduced_in:
        return
    scale = _ScaleCases(spec, level, builder(operator))
    groups = [] if beyond is not None else [scale.decided(), scale.overlapping()]
    for bits in (bits for bits in Reach if bits <= reach and (beyond is None or bits > beyond)):
        if bits is Reach.BITS_16 or not is_sibling(operator):
            groups += [scale.long_axes(bits), scale.outputs(bits), scale.packed_inputs(bits), scale.far_bound(bits)]
        if bits is not Reach.BITS_32 or not is_sibling(operator):
            groups.append(scale.far_apart(bits))
    for group in groups:
        with suppress(Impossible):  # no tensor of this operator is as large at this level
            yield from group


class _ScaleCases(NamedTuple):
    """One operator at one level."""

    spec: OperatorSpec
    level: Level
    builder: Builder[OperatorDesc]

    def decided(self) -> Iterator[Case]:
        """Descriptors that break a rule, and seem to keep it where 32 bits are all that is computed with."""
        plain = self._context()
        yield from self._rejected("wrapping", self.builder.wrapping(plain))
        too_many = [self.builder.vast(plain, sizes) for sizes in ((1, 65_537, 65_537), (65_537, 1, 65_537))]
        yield from self._rejected("elements", map(_counted_in_32_bits, dict.fromkeys(too_many)))
        too_long = self.builder.huge(_of_type(plain, self._of_width(4)), (32_769, 32_771))
        yield from self._rejected("bytes", map(_counted_in_32_bits, too_long))
        desc = self.builder.long_axis(plain, (3, 5, 7), 0)
        for slot in slots(desc):
            yield from self._rejected(f"strides/{slot.name}", iter([_with_wrapping_stride(desc, slot)]))
            wrong = (
                edit_tensor(desc, slot.key, guaranteed_base_offset_alignment=alignment)
                for alignment in WRONG_ALIGNMENTS
            )
            yield from self._rejected(f"alignment/{slot.name}", wrong)

    def overlapping(self) -> Iterator[Case]:
        """An input in the memory of its own index tensor, a little longer or shorter than that."""
        if self.spec.index is None:
            return
        data_type = self._of_width(4)
        for seed, (index_type, surplus) in enumerate(product(self._context().index_types, (SURPLUS, -SURPLUS))):
            ctx = _of_type(self._context(index_type), data_type)
            indices = described(self.builder.long_axis(ctx, (1, FAR_INDICES, 1), 1), self.spec.index.indices)
            length = indices.total_tensor_size_in_bytes // data_type.size + surplus
            if length < 1:
                continue
            desc = self.builder.long_axis(ctx, (1, length, 1), 1)
            name = f"overlapping/{'longer' if surplus > 0 else 'shorter'}/{index_type.name}"
            yield self._executed(name, desc, Recipe(values.OVERLAPPING, seed), Recipe(values.IN_RANGE, seed))

    def long_axes(self, bits: Reach) -> Iterator[Case]:
        """Every type of indices along axes that fewer bits cannot number, wherever they stand among the dimensions.

        Of a large axis without indices nothing stands beside it, so that all places are one in memory.
        """
        seeds = count()
        is_alone = self.spec.index is None and bits is not Reach.BITS_16
        for length, place in product(AXES[bits], (2,) if is_alone else range(3)):
            for index_type in self._context().index_types or (None,):
                for pattern in self._far_patterns(index_type, bits, place):
                    seed = next(seeds)
                    ctx = _of_type(self._context(index_type), self._moved(bits, seed))
                    kind = f"/{index_type.name}/{pattern}" if index_type is not None else ""
                    name = f"axis/{length}/{PLACES[place]}{kind}"
                    with suppress(Impossible):  # not at every place
                        desc = _thin(self._of_long_axis(ctx, bits, length, place))
                        yield self._executed(name, desc, Recipe(values.RANDOM_BITS, seed), Recipe(pattern, seed))

    def outputs(self, bits: Reach) -> Iterator[Case]:
        """Outputs of many rows and of long ones; beyond 32 bits one where all is in one row, and none that a sum of all
        is."""
        for seed, (width, sizes) in enumerate(OUTPUTS[bits]):
            ctx = _of_type(self._context(), self._of_width(width))
            name = "output/" + "x".join(map(str, sizes))
            with suppress(Impossible):  # not in rows of this length
                desc = _thin(self.builder.vast(ctx, sizes))
                if bits is Reach.BITS_32 and ((seed and _is_one_row(desc)) or _adds_too_many(desc)):
                    continue
                yield self._executed(name, desc, Recipe(values.RANDOM_BITS, seed), Recipe(values.FAR, seed))

    def packed_inputs(self, bits: Reach) -> Iterator[Case]:
        """Rows beyond short addresses, in an input without strides; nothing but indices takes few of them."""
        if bits is Reach.BITS_32 and self.spec.index is None:
            return  # indices of pooling are results, as many as there are
        index_types = [t for t in self._context().index_types if bits is not Reach.BITS_32 or t is not DataType.INT32]
        for seed, (width, sizes) in enumerate(PACKED_INPUTS[bits]):
            data_type = self._of_width(width)
            if index_types and data_type.size >= width:
                ctx = _of_type(self._context(index_types[seed % len(index_types)]), data_type)
                desc = self.builder.long_axis(ctx, sizes, 0)
                name = "packed/" + "x".join(map(str, sizes))
                yield self._executed(name, desc, Recipe(values.RANDOM_BITS, seed), Recipe(values.FAR, seed))

    def far_apart(self, bits: Reach) -> Iterator[Case]:
        """A few elements of each tensor in turn, at addresses that short integers do not hold; beyond 32 bits, where
        each takes 4 GiB, of an input and an output."""
        if bits is Reach.BITS_16:
            return
        ctx = _of_type(self._context(), self._of_width(2))
        plain = self.builder.long_axis(ctx, (3, 5, 7), 0)
        several = [(seed, slot) for seed, slot in enumerate(slots(plain)) if slot.tensor.element_count > 1]
        if bits is Reach.BITS_32:
            several = list({slot.field.is_output: (seed, slot) for seed, slot in several}.values())
        for seed, slot in several:
            desc = _with_stride(plain, slot, lambda tensor, steps: 2**bits // (tensor.data_type.size * steps) + 5)
            name = f"apart/{bits}-bits/{slot.name}"
            yield self._executed(name, desc, Recipe(values.RANDOM_BITS, seed), Recipe(values.FAR, seed))

    def far_bound(self, bits: Reach) -> Iterator[Case]:
        """Small tensors in one resource, all of them beyond what 32 bits address."""
        if bits is Reach.BITS_32:
            desc = self.builder.long_axis(_of_type(self._context(), self._of_width(4)), (3, 5, 7), 0)
            case = self._executed("bound", desc, Recipe(values.RANDOM_BITS), Recipe(values.FAR))
            placement = Placement((2**bits + OFFSET_ALIGNMENT,), heap=True)
            yield msgspec.structs.replace(case, rule=BINDING, placement=placement)

    def _of_long_axis(self, ctx: Context, bits: Reach, length: int, place: int) -> Any:
        """A descriptor with two elements along every other dimension, or one where those are too many to move."""
        for beside in (2, 1) if self.spec.index is not None or bits is Reach.BITS_16 else (1,):
            desc = self.builder.long_axis(ctx, tuple(length if d == place else beside for d in range(3)), place)
            if all(slot.tensor.element_count <= MOST_BESIDE for slot in outputs(desc)):
                break
        return desc

    def _context(self, index_type: DataType | None = None) -> Context:
        ctx = Context.at(SeededChooser(""), self.spec, self.level).but(layout="packed")
        return ctx if index_type is None else ctx.but(index_types=(index_type,))

    def _of_width(self, width: int) -> DataType:
        """A data type of so many bytes; where there is none, the one that is nearest above it, else below."""
        return _nearest(self._context().types[_moved_group(self._context())], width)

    def _moved(self, bits: Reach, number: int) -> DataType:
        """The data type for a long axis: each in turn, and where it takes much memory the smallest."""
        types = self._context().types[_moved_group(self._context())]
        wide = [data_type for data_type in types if data_type.size > 1] or types
        return wide[number % len(wide)] if bits is Reach.BITS_16 else self._of_width(1)

    def _far_patterns(self, index_type: DataType | None, bits: Reach, place: int) -> tuple[str, ...]:
        """Where an axis takes much memory, indices of a signed type are negative in the middle, and there alone."""
        if index_type is None or not index_type.is_signed_integer:
            return (values.FAR,)
        if bits is Reach.BITS_16:
            return values.FAR, values.FAR_NEGATIVE
        return (values.FAR_NEGATIVE if place == 1 else values.FAR,)

    def _rejected(self, name: str, descs: Iterator[Any]) -> Iterator[Case]:
        for n, desc in enumerate(descs):
            origin = f"{self.spec.name}/{self.level}/scale/{name}/{n}"
            found = Case.of(desc, self.level, origin=origin)
            if found.outcome is Outcome.REJECT:  # elements may be too small for as many bytes
                yield msgspec.structs.replace(found, rule=found.broken[0])

    def _executed(self, name: str, desc: OperatorDesc, data: Recipe, indices: Recipe) -> Case:
        if sum(slot.tensor.total_tensor_size_in_bytes for slot in slots(desc)) > MOST_BYTES:
            raise Impossible
        index, seeds, recipes = self.spec.index, count(data.seed), {}
        # What regions take out of data does not begin again where the data do, so there repeating saves no work.
        taken = {pattern for field in self.spec.input_fields for pattern in patterns(self.spec, field)}
        has_regions = not taken.isdisjoint(values.REGION_PATTERNS)
        least = MOST_BESIDE if has_regions else LEAST_REPEATED
        is_large = any(slot.tensor.element_count > least for slot in outputs(desc))
        # A scale tensor's steps round too, and no primitive is named for them.
        is_rounded = self.spec.primitives or any(f.name.endswith("ScaleTensor") for f in self.spec.tensor_fields)
        repeats = is_large and is_rounded
        for slot in inputs(desc):
            if index is not None and slot.key == index.indices:
                recipes[slot.key] = indices
            else:  # no two inputs have the same bits
                recipe = _in_domain(self.spec, slot, Recipe(data.pattern, next(seeds)))
                if repeats and recipe.pattern not in (*values.INDEX_PATTERNS, *values.REGION_PATTERNS):
                    recipe = msgspec.structs.replace(recipe, period=ROUNDED_PERIOD)
                recipes[slot.key] = recipe
        about = "negative-indices" if indices.pattern == values.FAR_NEGATIVE else "values"
        rule = f"{self.spec.name}.{about}"
        assert rule in execution_rules(self.spec.name, self.level)
        origin = f"{self.spec.name}/{self.level}/scale/{name}"
        return Case.of(desc, self.level, recipes, rule=rule, origin=origin)


def _of_type(ctx: Context, data_type: DataType) -> Context:
    """With this type of what is moved, and everything but indices of about its width."""
    moved = _moved_group(ctx)
    for group, types in ctx.types.items():
        if group != INDICES:
            ctx = ctx.of_types(group, (data_type if group == moved else _nearest(types, data_type.size),))
    return ctx


def _moved_group(ctx: Context) -> str:
    return DATA if DATA in ctx.types else next(iter(ctx.types))


def _nearest(types: tuple[DataType, ...], width: int) -> DataType:
    return min(types, key=lambda data_type: (data_type.size < width, abs(data_type.size - width)))


def _in_domain(spec: OperatorSpec, slot: Slot, recipe: Recipe) -> Recipe:
    """The recipe, or one of the input's own domain."""
    own = patterns(spec, slot.field)
    return recipe if recipe.pattern in (*own, values.OVERLAPPING) else Recipe(values.most_diverse(own), recipe.seed)


def _thin(desc: OperatorDesc) -> Any:
    """The descriptor with its large inputs in little memory, of which no output takes all.

    Of data the elements overlap, one step along any dimension being the next byte; indices are those of one place along
    the longest dimension, again and again.
    """
    spec = spec_of(desc)
    for slot in inputs(desc):
        tensor = slot.tensor
        if tensor.element_count > MOST_DENSE:
            longest = max(range(len(tensor.sizes)), key=tensor.sizes.__getitem__)
            repeated = broadcast_along(longest, tensor.sizes)
            strides = repeated if spec.group(slot.field) == INDICES else (1,) * len(tensor.sizes)
            desc = with_tensors(desc, {slot.key: TensorDesc.of(tensor.data_type, tensor.sizes, strides)})
    return desc


def _is_one_row(desc: OperatorDesc) -> bool:
    """Whether no large tensor has elements along more than one dimension."""
    large = (slot.tensor.sizes for slot in slots(desc) if slot.tensor.element_count > MOST_DENSE)
    return all(sum(size > 1 for size in sizes) == 1 for sizes in large)


def _adds_too_many(desc: OperatorDesc) -> bool:
    """Whether results are sums of so many elements that in FLOAT16 they may be anything."""
    read, written = (max((slot.tensor.element_count for slot in part(desc)), default=0) for part in (inputs, outputs))
    return read > MOST_ADDED * written


def _with_stride(desc: OperatorDesc, slot: Slot, stride: Any) -> Any:
    """The descriptor with another stride of one tensor's outermost dimension of more than one element.

    Args:
        desc: its tensors are packed.
        slot: the tensor's.
        stride: gives it, from the tensor and the steps that the dimension has.
    """
    tensor = slot.tensor
    outermost = next(d for d, size in enumerate(tensor.sizes) if size > 1)
    strides = list(packed_strides(tensor.sizes))
    strides[outermost] = stride(tensor, tensor.sizes[outermost] - 1)
    return with_tensors(desc, {slot.key: TensorDesc.of(tensor.data_type, tensor.sizes, strides)})


def _with_wrapping_stride(desc: OperatorDesc, slot: Slot) -> Any:
    """Two steps along the outermost dimension are 2^32 elements, and the bytes are those without them."""
    if slot.tensor.element_count == 1:
        return desc
    desc = _with_stride(desc, slot, lambda tensor, steps: 2**31)
    tensor = described(desc, slot.key)
    outermost = next(d for d, size in enumerate(tensor.sizes) if size > 1)
    inner = [1 if d == outermost else size for d, size in enumerate(tensor.sizes)]
    total = minimum_size_in_bytes(tensor.data_type, inner, tensor.strides)
    return edit_tensor(desc, slot.key, total_tensor_size_in_bytes=total)


def _counted_in_32_bits(desc: OperatorDesc) -> Any:
    """The descriptor with its tensors' sizes, and their bytes, as they come out where all is counted so."""
    for slot in slots(desc):
        total = (slot.tensor.element_count % 2**32 * slot.tensor.data_type.size + 3 & ~3) % 2**32
        sizes = tuple(size % 2**32 for size in slot.tensor.sizes)  # as a product of others one may be more
        desc = edit_tensor(desc, slot.key, sizes=sizes, total_tensor_size_in_bytes=total)
    return desc
