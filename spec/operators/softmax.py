"""Activation functions along axes: ACTIVATION_SOFTMAX, _LOG_SOFTMAX and _HARDMAX, and SOFTMAX1, LOG_SOFTMAX1, HARDMAX1.

Bounds. An exponential loses as much as its argument is large, and a sum as much as it has steps one after another: in
a tree of n terms the logarithm of n, and some more where each thread adds several. What that comes to was observed on
the real library for SOFTMAX1, also in FLOAT16, whose sum and result are each cut or rounded to it; that of LOG_SOFTMAX
follows from it: of a sum that is a part of it away the logarithm is away by as much.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.accuracy import EXACT, Bound, Bounds, bounds
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec, ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.operators._element_wise import accuracy_rules, same_sizes
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def axes_of(desc: Any) -> tuple[int, ...]:
    """The axes that elements are taken together along: Axes, or the last one."""
    return getattr(desc, "axes", (len(desc.input_tensor.sizes) - 1,))


def _effective_rank(desc: Any, level: Level) -> Breach | None:
    leading = desc.input_tensor.sizes[:-2]
    first = next((d for d, size in enumerate(leading) if size > 1), None)
    return None if first is None else Breach(f"InputTensor.Sizes[{first}]", str(leading[first]))


def _axes_range(desc: Any, level: Level) -> list[Breach]:
    count = len(desc.input_tensor.sizes)
    return [
        Breach(f"Axes[{n}]", f"{axis}, InputTensor has {count} dimensions")
        for n, axis in enumerate(desc.axes)
        if axis >= count
    ]


def _operator(
    name: str, of: str, formula: str, nan: str, stated: Bounds, settles: tuple[str, ...], precise: Bounds
) -> OperatorSpec:
    name = f"ACTIVATION_{name}"
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    if name.endswith("1"):
        along = "those along Axes"
        own = Rule(
            f"{name}.axes-range",
            Category.ATTRIBUTES,
            "every one of Axes is below InputTensor.DimensionCount",
            Source(page, "Axes"),
            "count axes from 0, over all dimensions, leading ones included",
            check=_axes_range,
            needs=shapes_comparable(name),
        )
    else:
        along = "those along the last dimension"
        own = Rule(
            f"{name}.effective-rank",
            Category.SHAPE,
            "all sizes of InputTensor but the last two are 1",
            Source(page, "InputTensor"),
            f"use {name}1, or let the leading sizes be 1",
            check=_effective_rank,
            needs=shapes_comparable(name),
        )
    suffix = own.id.partition(".")[2]
    return operator_spec(
        name,
        shape=same_sizes,
        own_rules=(
            own,
            output_sizes_rule(name, Source(page, "Tensor constraints"), shapes_comparable(name) | ids(name, suffix)),
        ),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                f"every output element is {of.format(along)}; {nan}",
                Source(page, "Description"),
                settles=tuple(f"{name}-{n}" for n in settles),
            ),
            *accuracy_rules(name, stated),
        ),
        bounds=stated,
        precise=precise,
        domains={"InputTensor": "rows" if stated is not EXACT else "comparable"},
        summary=f"computes {of.format(along)}".partition(",")[0],
        pseudocode=f"output[c...] = {formula}",
    )


# The reference adds what the steps before lose: see `backends.reference.operators.softmax`.
STATED = bounds(Bound(4.0), Bound(2.0))
LOG_STATED = bounds(Bound(2.0, 2.0**-21), Bound(2.0, 3 * 2.0**-11))  # the sum may be cut to FLOAT16, and then the rest
PRECISE = bounds(Bound(4.0), Bound(1.0))
LOG_PRECISE = bounds(Bound(2.0), Bound(1.0))
TWICE = "left open where an axis is named twice"


def _of(suffix: str) -> tuple[OperatorSpec, ...]:
    named = f"; {TWICE}" if suffix else ""
    also = ("2",) if suffix else ()
    return (
        _operator(
            f"SOFTMAX{suffix}",
            "the exponential of the input element divided by the sum of the exponentials of {}, as if nothing "
            "overflowed; analysis allows 2^-23 (6 + 1.75 d + 2 e + log2(n) + sqrt(n) / 16) of it more, where n "
            "elements are taken together, d is how far x is below the largest one, and e is the mean of that over all, "
            "weighted by the results",
            "exp(x - max) / sum(exp(x... - max))",
            "a NaN among the elements, or nothing but negative infinities, makes all of them NaN; a positive infinity "
            "is a NaN, and what is beside it a NaN or 0" + named,
            STATED,
            ("1", *also),
            PRECISE,
        ),
        _operator(
            f"LOG_SOFTMAX{suffix}",
            "the input element minus the logarithm of the sum of the exponentials of {}, as if nothing overflowed; "
            "analysis allows 2^-23 (6 + d + 2 e + log2(n) + sqrt(n) / 16) more, where n elements are taken together, d "
            "is how far x is below the largest one, and e is the mean of that over all, weighted by the softmax",
            "x - max - ln(sum(exp(x... - max)))",
            "a NaN among the elements, or nothing but negative infinities, makes all of them NaN; a positive infinity "
            "is a NaN, and what is beside it a NaN or negatively infinite" + named,
            LOG_STATED,
            ("1", *also),
            LOG_PRECISE,
        ),
        _operator(
            f"HARDMAX{suffix}",
            "1 where the input element is the first of the largest among {}, in row-major order, and else 0",
            "c == first(argmax(x...)) ? 1 : 0",
            "elements among which there is a NaN are left open, and so is which of several zeros and subnormals is the "
            "largest, unless they are all the same zero"
            + ("; all are where Axes are not in ascending order, or name an axis twice" if suffix else ""),
            EXACT,
            ("1", *also),
            {},
        ),
    )


SPECS = (*_of(""), *_of("1"))
