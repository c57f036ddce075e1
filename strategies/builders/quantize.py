"""Descriptors of QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import DATA, EACH
from dml_conformance.spec.operators.quantize import DEQUANTIZE, NONE, QUANTIZE, SCALE, SCALE_ZERO_POINT
from dml_conformance.spec.structures import Quantize
from dml_conformance.strategies.builders import LONG_AXES, Builder, four
from dml_conformance.strategies.builders._element_wise import LONGEST_AXIS
from dml_conformance.strategies.context import SIMPLEST_FIRST, Context
from dml_conformance.strategies.edits import edit, resize, resize_at, with_data_type
from dml_conformance.strategies.tensors import sizes, tensor


def _divisors(size: int) -> list[int]:
    """Numbers of blocks along a dimension: one for all, one for each, others."""
    return [1, *(n for n in range(size, 1, -1) if size % n == 0)]


class BlockQuantizeBuilder(Builder[Quantize]):
    """One of the two, by blocks of any lengths that there are."""

    longest_axis = LONGEST_AXIS

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_quantize = name == QUANTIZE

    def build(self, ctx: Context, kind: int | None = None) -> Quantize:
        """Of a quantization type, or any."""
        whole = sizes(ctx, ctx.chooser.choice(ctx.ranks), ctx.least)
        decided = ctx.chooser.several(0, 3, len(whole))
        counts = [_divisors(size)[n % len(_divisors(size))] for n, size in zip(decided, whole, strict=True)]
        return self._build(ctx, whole, counts, kind)

    def of_sizes(self, ctx: Context, sizes: tuple[int, ...]) -> Quantize:
        """Every row is a block."""
        types = {group: types if group == EACH else types[:1] for group, types in ctx.types.items()}
        plain = ctx.but(layout="packed", types=types)
        return self._build(plain, sizes, (*sizes[:-1], 1), SCALE_ZERO_POINT)

    def edges(self, ctx: Context) -> Iterator[Quantize]:
        """Every dimension count; long axes of one block and of many; in all types weights by blocks of 32
        rows, as Phi-3's ONNX models of 4 bits have them (int4-rtn-block-32), and odd numbers of elements."""
        yield from self.of_every_rank(ctx)
        ones = (1,) * (ctx.ranks[0] - 1)
        for length in LONG_AXES:
            for count in (1, 2, length):
                yield self._build(ctx, (*ones, length), (*ones, count))
        for data_type, quantized in product(ctx.data_types, ctx.types["quantized"]):
            plain = ctx.but(data_types=(data_type,), layout="packed").of_types("quantized", (quantized,))
            for kind in (SCALE, SCALE_ZERO_POINT):
                yield self._build(plain, four(64, 40), four(2, 40), kind)
                yield self._build(plain, (*ones, 15), (*ones, 5), kind)

    def _build(self, ctx: Context, whole: Sequence[int], counts: Sequence[int], kind: int | None = None) -> Quantize:
        choice, allowed = ctx.chooser.choice, ctx.types[EACH]
        numbers, integers = (
            choice(tuple(of for of in ctx.types[group] if of in allowed) or ctx.types[group])
            for group in (DATA, "quantized")
        )
        types = (numbers, integers)
        # A zero point of a type that the table lacks would be wrong beside the input or output of that type.
        must = (ctx.complete and integers in allowed) or not any(of.is_float for of in allowed)
        kind = kind or (SCALE_ZERO_POINT if must else choice((SCALE, SCALE_ZERO_POINT)))
        first, last = types if self._is_quantize else types[::-1]
        return self._desc(
            tensor(ctx, first, tuple(whole)),
            kind,
            tuple(tensor(ctx, of, tuple(counts)) for of in types[:kind]),
            tensor(ctx, last, tuple(whole), output=True),
        )

    def break_quantization_type(self, ctx: Context) -> Quantize:
        return edit(self.build(ctx), quantization_type=NONE)

    def break_quantization_count(self, ctx: Context) -> Quantize:
        """One tensor too few or too many."""
        desc = self.build(ctx)
        if ctx.chooser.variant(("one more", "another type")) == "one more":
            return edit(desc, quantization_tensors=(*desc.quantization_tensors, desc.quantization_tensors[-1]))
        return edit(desc, quantization_type=SCALE + SCALE_ZERO_POINT - desc.quantization_type)

    def break_quantization_data_types(self, ctx: Context) -> Quantize:
        desc = self.build(ctx, SCALE_ZERO_POINT)
        place = ctx.chooser.variant((0, 1))
        own: DataType = desc.quantization_tensors[place].data_type
        alike = [of for of in SIMPLEST_FIRST if of in ctx.table["QuantizationTensors"].data_types and of != own]
        return with_data_type(desc, f"quantization_tensors[{place}]", ctx.chooser.choice(alike))

    def break_blocks(self, ctx: Context) -> Quantize:
        """One block more than there are elements along a dimension, in all of the tensors."""
        desc = self.build(ctx)
        place = ctx.chooser.integer(0, len(desc.input_tensor.sizes) - 1)
        more = ctx.chooser.variant((desc.input_tensor.sizes[place] + 1, 2 * desc.input_tensor.sizes[place]))
        for n in range(len(desc.quantization_tensors)):
            desc = resize_at(desc, f"quantization_tensors[{n}]", place, more)
        return desc

    def break_zero_point_sizes(self, ctx: Context) -> Quantize:
        """One zero point for all, of several scales."""
        desc = self._build(ctx, (2,) * ctx.ranks[0], (2,) * ctx.ranks[0], SCALE_ZERO_POINT)
        return resize(desc, "quantization_tensors[1]", (1,) * len(desc.input_tensor.sizes))


BUILDERS = {name: BlockQuantizeBuilder(name) for name in (QUANTIZE, DEQUANTIZE)}
