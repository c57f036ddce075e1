"""Sums, products and windows, by the pages' formulas, one term after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product
from operator import add, mul
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import (
    LEAST_NORMAL,
    Element,
    Run,
    count_around,
    kind_of,
    nearest,
    small_runs,
    unit,
    without_activation,
)

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operators.average_pooling import QUANTIZED as POOLING
from dml_conformance.spec.operators.convolution import INTEGER, LINEAR
from dml_conformance.spec.operators.cumulative import DIRECTION, is_exclusive
from dml_conformance.spec.operators.fold import windows
from dml_conformance.spec.operators.matrix_multiply import INTEGER as MATRIX_INTEGER
from dml_conformance.spec.operators.matrix_multiply import LINEAR as MATRIX_LINEAR
from dml_conformance.spec.operators.matrix_multiply import TO_FLOAT
from dml_conformance.spec.operators.reduce import FUNCTION

BACKWARD, TURNED = 1, 0
LARGE = {DataType.FLOAT32: 1e38, DataType.FLOAT16: 6e4}
Terms = dict[slow.Coordinates, list[float]]


def one(array: Any, place: int = 0) -> Any:
    """A scale or zero point of a row, a column or a channel; 0 where there is none."""
    return 0 if array is None else array.reshape(-1)[place if array.size > 1 else 0].item()


def are_scales(*scales: float) -> bool:
    """Such that neither they nor their reciprocals are far from 1."""
    return all(math.isfinite(scale) and 2.0**-12 < abs(scale) < 2.0**12 for scale in scales)


# --- products ---------------------------------------------------------------------------------------------------------


def gemm(run: Run) -> Iterator[Element]:
    desc, arrays, data_type = run.desc, run.arrays, run.desc.output_tensor.data_type
    info = np.finfo(kind_of(data_type))
    for c in list(slow.walk(desc.output_tensor.sizes))[:30]:
        *lead, m, n = c
        row = arrays["a_tensor"][(*lead, slice(None), m) if desc.trans_a else (*lead, m)].tolist()
        column = arrays["b_tensor"][(*lead, n) if desc.trans_b else (*lead, slice(None), n)].tolist()
        terms = [desc.alpha * a * b for a, b in zip(row, column, strict=True)]
        terms += [desc.beta * float(arrays["c_tensor"][c])] if desc.c_tensor else []
        if not all(map(math.isfinite, terms)) or not sum(map(abs, terms)) < float(info.max) / 2:
            continue
        y, most = math.fsum(terms), math.fsum(map(abs, terms))
        slack = float(info.eps) * abs(y) + 2.0**-22 * most + 4 * float(info.tiny)
        is_moderate = run.patterns.isdisjoint(("finite", "special"))  # else a subnormal factor may be taken for 0
        yield "output_tensor", c, y, slack, 3 * slack + 2.0**-22 * 64 * most if is_moderate else math.inf


def factors(run: Run, c: slow.Coordinates) -> list[tuple[int, int]]:
    """The pairs of integers, less their zero points, that an element of a matrix is the sum of the products of."""
    *lead, m, n = c
    a, b = run.arrays["a_tensor"][(*lead, m)], run.arrays["b_tensor"][(*lead, slice(None), n)]
    zeros = (one(run.arrays.get(f"{of}_zero_point_tensor"), at) for of, at in (("a", m), ("b", n)))
    of_a, of_b = map(int, zeros)
    return [(x - of_a, y - of_b) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def matrix_of_integers(run: Run) -> Iterator[Element]:
    for c in slow.walk(run.desc.output_tensor.sizes):
        yield "output_tensor", c, sum(x * y for x, y in factors(run, c)), 0, 0


def quantized_matrix(run: Run) -> Iterator[Element]:
    """To integers or to numbers, to which a bias is added."""
    arrays, data_type = run.arrays, run.desc.output_tensor.data_type
    for c in slow.walk(run.desc.output_tensor.sizes):
        scales = one(arrays["a_scale_tensor"], c[-2]), one(arrays["b_scale_tensor"], c[-1])
        by = one(arrays.get("output_scale_tensor", np.ones(1)), c[-2])
        if not are_scales(*scales, by):
            continue
        pairs, scale = factors(run, c), Fraction(scales[0]) * Fraction(scales[1]) / Fraction(by)
        real, most = sum(x * y for x, y in pairs) * scale, sum(abs(x * y) for x, y in pairs) * abs(scale)
        if not data_type.is_float:
            zero = int(one(arrays.get("output_zero_point_tensor"), c[-2]))
            yield "output_tensor", c, *nearest(real, most, zero, data_type)
            continue
        bias = float(arrays["bias_tensor"][c]) if "bias_tensor" in arrays else 0.0
        is_small = all(abs(x) < 2**20 > abs(y) and abs(x * y) < 2**20 for x, y in pairs)
        if most < 2**15 and abs(bias) < 2**100 and is_small:
            info = np.finfo(kind_of(data_type))
            slack = 2 * float(info.eps) * (float(most) + abs(bias)) + 4 * float(info.tiny)
            is_float32 = data_type is DataType.FLOAT32
            yield "output_tensor", c, real + Fraction(bias), slack, 4 * len(pairs) * slack if is_float32 else math.inf


# --- convolution ------------------------------------------------------------------------------------------------------


def convolution(run: Run) -> Iterator[Element]:
    """The products that every output element is the sum of, with the bias, wherever a filter's element meets one."""
    desc, arrays, data_type = run.desc, run.arrays, run.desc.output_tensor.data_type
    found: Terms = {c: [] for c in slow.walk(desc.output_tensor.sizes)}
    source, filters = arrays["input_tensor"], arrays["filter_tensor"]
    is_backward = desc.direction == BACKWARD
    shown = source.shape if is_backward else desc.output_tensor.sizes  # what windows are counted by
    for first, second, *w in slow.walk(filters.shape):
        channel = first // (len(filters) // desc.group_count) * filters.shape[1] + second
        at = tuple(
            n - 1 - place if desc.mode == TURNED else place for place, n in zip(w, filters.shape[2:], strict=True)
        )
        for n, *b in product(range(len(source)), *map(range, shown[2:])):
            place = [
                x * s + y * g - p
                for x, s, y, g, p in zip(b, desc.strides, w, desc.dilations, desc.start_padding, strict=True)
            ]
            ends = (n, first, *b), (n, channel, *place)
            read, target = ends if is_backward else ends[::-1]
            if target in found and all(0 <= x < size for x, size in zip(read, source.shape, strict=True)):
                found[target].append(float(source[read]) * float(filters[(first, second, *at)]))
    is_told = np.isfinite(source).all() and np.isfinite(filters).all()  # else a product with padding may be a NaN
    for c, terms in found.items():
        if desc.bias_tensor is not None:
            terms.append(float(arrays["bias_tensor"].reshape(-1)[c[1]]))
        size = sum(map(abs, terms))
        more = zip(c[2:], desc.output_tensor.sizes[2:], desc.output_padding, strict=True)
        if size < 2.0 ** (14 if data_type is DataType.FLOAT16 else 120) and all(
            at < n - added for at, n, added in more
        ):
            exact = math.fsum(terms)
            slack = 4 * size * (len(terms) + 2) * 2.0**-23 + 2.0**-121 * (len(terms) + 1)
            width = 2 * slack + 3 * unit(exact, data_type) if is_told else math.inf
            yield "output_tensor", c, exact, unit(exact, data_type), width


def convolution_of_integers(run: Run) -> Iterator[Element]:
    """Exact, or in units of scales."""
    desc, arrays, data_type = run.desc, run.arrays, run.desc.output_tensor.data_type
    source, filters = arrays["input_tensor"], arrays["filter_tensor"]
    for c in slow.walk(desc.output_tensor.sizes):
        n, o, *b = c
        first = o // (len(filters) // desc.group_count) * filters.shape[1]
        points = one(arrays.get("input_zero_point_tensor")), one(arrays.get("filter_zero_point_tensor"), o)
        products = []
        for channel, *w in slow.walk(filters.shape[1:]):
            place = [
                x * s + y * g - p
                for x, s, y, g, p in zip(b, desc.strides, w, desc.dilations, desc.start_padding, strict=True)
            ]
            if all(0 <= at < size for at, size in zip(place, source.shape[2:], strict=True)):
                x, weight = int(source[(n, first + channel, *place)]), int(filters[(o, channel, *w)])
                products.append((x - points[0]) * (weight - points[1]))
        if desc.operator == INTEGER:
            yield "output_tensor", c, sum(products), 0, 0
            continue
        scales = [one(arrays[f"{name}_scale_tensor"], o) for name in ("input", "filter", "output")]
        products.append(one(arrays.get("bias_tensor"), o))
        if are_scales(*scales) and max(abs(sum(products)), *map(abs, products)) < 2**31:
            scale = Fraction(scales[0]) * Fraction(scales[1]) / Fraction(scales[2])
            zero = int(one(arrays.get("output_zero_point_tensor")))
            yield "output_tensor", c, *nearest(sum(products) * scale, sum(map(abs, products)) * scale, zero, data_type)


# --- along dimensions -------------------------------------------------------------------------------------------------


def cumulative(run: Run) -> Iterator[Element]:
    desc, (x,), data_type = run.desc, run.arrays.values(), run.desc.output_tensor.data_type
    operation, empty = (add, 0) if desc.operator == "CUMULATIVE_SUMMATION" else (mul, 1)
    for c in list(slow.walk(x.shape))[:20]:
        row = x[(*c[: desc.axis], slice(None), *c[desc.axis + 1 :])].tolist()
        order = list(range(len(row)))
        if desc.axis_direction == DIRECTION.DECREASING:
            order.reverse()
        taken = [row[at] for at in order[: order.index(c[desc.axis]) + (not is_exclusive(desc))]]
        if not all(map(math.isfinite, taken)):
            continue
        y = list(accumulate(map(Fraction, taken), operation, initial=Fraction(empty)))[-1]
        if not data_type.is_float:
            least = data_type.limits[0]  # type: ignore[index]
            yield "output_tensor", c, (int(y) - least) % 2**data_type.bits + least, 0, 0
        elif y == 0 or 1e-30 < abs(y) < 6e4:
            yield "output_tensor", c, y, unit(y, data_type), math.inf


SLOW_REDUCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "AVERAGE": lambda row: math.fsum(row) / len(row),
    "L1": lambda row: sum(map(abs, row)),
    "L2": lambda row: math.sqrt(math.fsum(x * x for x in row)),
    "LOG_SUM": lambda row: math.log(math.fsum(row)) if math.fsum(row) > 0 else math.nan,
    "LOG_SUM_EXP": lambda row: max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row)),
    "MAX": max,
    "MIN": min,
    "MULTIPLY": math.prod,
    "SUM": lambda row: sum(row) if isinstance(row[0], int) else math.fsum(row),
    "SUM_SQUARE": lambda row: sum(x * x for x in row),
    "ARGMAX": lambda row: row.index(max(row)),
    "ARGMIN": lambda row: row.index(min(row)),
}


def reduction(run: Run) -> Iterator[Element]:
    desc, (x,), data_type = run.desc, run.arrays.values(), run.desc.output_tensor.data_type
    name, of_floats, free = FUNCTION(desc.function).name, x.dtype.kind == "f", run.expected["output_tensor"].free
    for c in list(slow.walk(desc.output_tensor.sizes))[:20]:
        row = (
            x[tuple(slice(None) if d in desc.axes else slice(at, at + 1) for d, at in enumerate(c))]
            .reshape(-1)
            .tolist()
        )
        if (of_floats and not all(at == 0 or 1e-30 < abs(at) < 1e4 for at in row)) or (free is not None and free[c]):
            continue
        y = SLOW_REDUCTIONS[name](row)
        if not data_type.is_float:
            least = data_type.limits[0]  # type: ignore[index]
            yield "output_tensor", c, (y - least) % 2**data_type.bits + least, 0, 0
        elif math.isfinite(y) and 1e-30 < abs(y) < 6e4:
            largest, info = max(map(abs, row)), np.finfo(kind_of(data_type))
            is_sum = name in ("SUM", "AVERAGE", "LOG_SUM")
            slack = float(info.eps) * abs(y) + float(info.smallest_subnormal) + 1e-6 * (1 + largest * is_sum * 1e-3)
            width = 4 * slack + 1e-5 * len(row) * largest + 1e-5 * abs(y)
            yield "output_tensor", c, y, slack, math.inf if name in ("LOG_SUM", "MULTIPLY") else width


def fold(run: Run) -> Iterator[Element]:
    """Each element of the columns is added where its window has it."""
    desc, (x,), counts = run.desc, run.arrays.values(), windows(run.desc)
    assert isinstance(counts, tuple)
    terms: Terms = {c: [] for c in slow.walk(desc.output_tensor.sizes)}
    inside, steps = list(slow.walk(desc.window_sizes)), list(slow.walk(counts))
    for n, row, column in slow.walk(x.shape):
        w, b = inside[row % len(inside)], steps[column]
        place = [b[d] * desc.strides[d] + w[d] * desc.dilations[d] - desc.start_padding[d] for d in range(len(w))]
        if (target := (n, row // len(inside), *place)) in terms:
            terms[target].append(float(x[n, row, column]))
    for c, every in terms.items():
        size = sum(map(abs, every))
        if size < 1e38:
            is_whole = all(x == round(x) and abs(x) < 2**16 for x in every)
            slack = 0.0 if is_whole else size * 2.0**-23 + 2.0**-149
            yield (
                "output_tensor",
                c,
                math.fsum(every),
                slack,
                2 * len(every) * slack + len(inside) * 2.0**-123 * (slack > 0),
            )


# --- windows ----------------------------------------------------------------------------------------------------------


def places(desc: Any, image: Sequence[int], c: slow.Coordinates) -> list[slow.Coordinates]:
    """Where the elements of the window of `c` stand in an image of these sizes; what is padding is left out."""
    found = []
    for w in slow.walk(desc.window_size):
        gaps = getattr(desc, "dilations", (1,) * len(w))
        at = [c[2 + d] * desc.strides[d] + w[d] * gaps[d] - desc.start_padding[d] for d in range(len(w))]
        if all(0 <= place < size for place, size in zip(at, image[2:], strict=True)):
            found.append((*c[:2], *at))
    return found


def row_of(run: Run, c: slow.Coordinates) -> list[Any]:
    x = run.arrays["input_tensor"]
    return [x[place].item() for place in places(run.desc, x.shape, c)]


def max_pooling(run: Run) -> Iterator[Element]:
    """The greatest, and its place, but for windows of NaN and of what may be taken for 0."""
    desc, x = run.desc, run.arrays["input_tensor"]
    for c in slow.walk(desc.output_tensor.sizes):
        row, at = row_of(run, c), places(desc, x.shape, c)
        if not row or any(e != e for e in row) or abs(max(row)) < LEAST_NORMAL.get(desc.input_tensor.data_type, 0):
            continue
        yield "output_tensor", c, max(row), 0, 0
        if getattr(desc, "output_indices_tensor", None) is not None:
            yield "output_indices_tensor", c, int(np.ravel_multi_index(at[row.index(max(row))], x.shape)), 0, 0


def lp_pooling(run: Run) -> Iterator[Element]:
    """Of odd powers of negative numbers that is one of two readings."""
    desc, data_type = run.desc, run.desc.input_tensor.data_type
    for c in slow.walk(desc.output_tensor.sizes):
        row = row_of(run, c)
        if all(e == 0 or 1e-2 < abs(e) < 1e3 for e in row):
            norm = math.fsum(abs(e) ** desc.p for e in row) ** (1 / desc.p)
            slack = norm * 2.0**-17 + 1.01 * unit(norm, data_type) + 1e-30
            has_one = desc.p % 2 == 0 or min(row, default=0) >= 0
            yield "output_tensor", c, norm, slack, 2 * slack if has_one else math.inf


def average_pooling(run: Run) -> Iterator[Element]:
    desc, data_type = run.desc, run.desc.output_tensor.data_type
    for c in slow.walk(desc.output_tensor.sizes):
        row = row_of(run, c)
        count = math.prod(desc.window_size) if desc.include_padding else len(row)
        if not count or not all(abs(x) < LARGE[data_type] for x in row):
            continue
        mean, size = sum(map(Fraction, row)) / count, sum(abs(Fraction(x)) for x in row) / count
        if size * count < 2**126:
            # A quotient may be a product by a reciprocal: 1 unit of each, and the reciprocal's may weigh two.
            width = float(size) * count * 2.0**-22 + 6 * unit(mean, data_type) + 2.0**-123 * math.prod(desc.window_size)
            yield "output_tensor", c, mean, unit(mean, data_type), width


def average_of_integers(run: Run) -> Iterator[Element]:
    """Dequantized, averaged, quantized; of half a number either neighbour."""
    desc, arrays, data_type = run.desc, run.arrays, run.desc.output_tensor.data_type
    for c in slow.walk(desc.output_tensor.sizes):
        scale, by = (one(arrays[f"{of}_scale_tensor"], c[1]) for of in ("input", "output"))
        row, zero = row_of(run, c), int(one(arrays.get("input_zero_point_tensor"), c[1]))
        count = math.prod(desc.window_size) if desc.include_padding else len(row)
        if count and are_scales(scale, by):
            quotient = Fraction(sum(x - zero for x in row)) * Fraction(scale) / count / Fraction(by)
            most = sum(abs(x - zero) for x in row) * Fraction(scale) / count / Fraction(by)
            added = int(one(arrays.get("output_zero_point_tensor"), c[1]))
            yield "output_tensor", c, *nearest(quotient, most, added, data_type)


def pooling_gradient(run: Run) -> Iterator[Element]:
    """To the first of the greatest, or to all in parts. Of windows of NaN, or of what may be taken for 0, nothing."""
    desc, given, data_type = run.desc, run.arrays["input_gradient_tensor"], run.desc.output_gradient_tensor.data_type
    sizes = desc.output_gradient_tensor.sizes
    found: Terms = {c: [] for c in slow.walk(sizes)}
    for c in slow.walk(given.shape):
        at = places(desc, sizes, c)
        if desc.operator == "AVERAGE_POOLING_GRAD":
            count = math.prod(desc.window_size) if desc.include_padding else len(at)
            for place in at:
                found[place].append(float(given[c]) / count)
            continue
        row = row_of(run, c)
        if any(x != x for x in row) or abs(max(row, default=1)) < LEAST_NORMAL[data_type]:
            for place in at:
                found[place].append(math.nan)
        elif at:
            found[at[row.index(max(row))]].append(float(given[c]))
    for c, terms in found.items():
        if all(x == 0 or 1e-3 < abs(x) < 1e3 for x in terms):
            exact, size = math.fsum(terms), sum(map(abs, terms))
            slack = size * 2.0**-20 + 1.5 * unit(exact, data_type) * (size > 0)
            yield "output_gradient_tensor", c, exact, slack, 2 * slack


def roi_window(first: int, last: int, n: int, count: int, size: int) -> list[int]:
    """The elements that a window along a dimension sees, by the formulas of the page."""
    length = last - first + 1
    ends = range(n * length // count + first, ((n + 1) * length + count - 1) // count + first)
    return [place for place in ends if 0 <= place < size]


def roi_pooling(run: Run) -> Iterator[Element]:
    """Of regions whose corners are no halves, and windows that see a number."""
    desc, (images, regions) = run.desc, run.arrays.values()
    for n, (image, *row) in enumerate(regions.reshape(-1, 5).astype(float)):
        x1, y1, x2, y2 = corners = [corner * desc.spatial_scale for corner in row]
        if (
            image >= len(images)
            or any(abs(corner % 1 - 0.5) < 1e-4 for corner in corners)
            or row[0] > row[2]
            or row[1] > row[3]
        ):
            continue
        for c, y, x in slow.walk(desc.output_tensor.sizes[1:]):
            of_rows = roi_window(round(y1), round(y2), y, desc.pooled_size.height, images.shape[2])
            of_columns = roi_window(round(x1), round(x2), x, desc.pooled_size.width, images.shape[3])
            seen = [images[int(image), c, i, j].item() for i in of_rows for j in of_columns]
            if seen and not any(e != e for e in seen) and (max(seen) == 0 or abs(max(seen)) >= 2.0**-14):
                yield "output_tensor", (n, c, y, x), max(seen), 0, 0 if max(seen) else math.inf


SLOW: dict[str, tuple[Callable[[Run], Iterator[Element]], int]] = {
    "GEMM": (gemm, 120),
    MATRIX_INTEGER: (matrix_of_integers, 100),
    **dict.fromkeys((MATRIX_LINEAR, TO_FLOAT), (quantized_matrix, 100)),
    "CONVOLUTION": (convolution, 90),
    **dict.fromkeys((INTEGER, LINEAR), (convolution_of_integers, 60)),
    **dict.fromkeys(("CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT"), (cumulative, 90)),
    "REDUCE": (reduction, 300),
    "FOLD": (fold, 60),
    **dict.fromkeys(("MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2"), (max_pooling, 60)),
    **dict.fromkeys(("LP_POOLING", "LP_POOLING1"), (lp_pooling, 60)),
    **dict.fromkeys(("AVERAGE_POOLING", "AVERAGE_POOLING1"), (average_pooling, 40)),
    POOLING: (average_of_integers, 80),
    **dict.fromkeys(("MAX_POOLING_GRAD", "AVERAGE_POOLING_GRAD"), (pooling_gradient, 80)),
    "ROI_POOLING": (roi_pooling, 120),
}


@pytest.mark.few(len(SLOW))
@pytest.mark.parametrize("name", SLOW)
def test_what_is_expected_lies_around_the_formula(name: str) -> None:
    function, count = SLOW[name]
    runs = map(without_activation, small_runs(name, count))
    assert sum(count_around(run, function(run)) for run in runs) > 100
