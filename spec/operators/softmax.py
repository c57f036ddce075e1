"""Activation functions along axes: ACTIVATION_SOFTMAX, _LOG_SOFTMAX and _HARDMAX, and SOFTMAX1, LOG_SOFTMAX1, HARDMAX1.

The sum is one of FLOAT32; of FLOAT16 tensors it may be kept in FLOAT16, cut or rounded to it, as the real library does.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import axis_of, leading_ones
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec, ids, operator_spec, output_sizes_rule, shapes_comparable
from dml_conformance.spec.operators._element_wise import formula_rules, same_sizes
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import Source


def axes_of(desc: Any) -> tuple[int, ...]:
    """The axes that elements are taken together along: Axes, or the last one."""
    return getattr(desc, "axes", (len(desc.input_tensor.sizes) - 1,))


def _effective_rank(desc: Any, level: Level) -> Breach | None:
    leading = desc.input_tensor.sizes[:-2]
    first = next((d for d, size in enumerate(leading) if size > 1), None)
    return None if first is None else Breach(f"InputTensor.Sizes[{first}]", str(leading[first]))


def _operator(
    name: str, of: str, formula: str, nan: str, primitives: tuple[str, ...], settles: tuple[str, ...]
) -> OperatorSpec:
    name = f"ACTIVATION_{name}"
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    if name.endswith("1"):
        along = "those along Axes"
        own, depends_on = axis_of("Axes"), "axes-range"
    else:
        along, depends_on = "those along the last dimension", "effective-rank"
        own = leading_ones(
            "InputTensor",
            2,
            name=depends_on,
            statement="all sizes of InputTensor but the last two are 1",
            remedy=f"use {name}1, or let the leading sizes be 1",
            check=_effective_rank,
        )
    return operator_spec(
        name,
        shape=same_sizes,
        own_rules=(
            own,
            output_sizes_rule(
                name,
                Source(page, "Tensor constraints"),
                shapes_comparable(name) | ids(name, depends_on),
                is_any=True,
            ),
        ),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                f"every output element is {of.format(along)}; {nan}",
                Source(page, "Description"),
                settles=tuple(f"{name}-{n}" for n in settles),
            ),
            *formula_rules(name, primitives),
        ),
        primitives=primitives,
        domains={"InputTensor": "rows" if primitives else "comparable"},
        summary=f"computes {of.format(along)}".partition(",")[0],
        pseudocode=f"output[c...] = {formula}",
    )


TWICE = "left open where an axis is named twice"


def _of(suffix: str) -> tuple[OperatorSpec, ...]:
    named = f"; {TWICE}" if suffix else ""
    also = ("2",) if suffix else ()
    return (
        _operator(
            f"SOFTMAX{suffix}",
            "the exponential of the input element divided by the sum of the exponentials of {}, as if nothing "
            "overflowed",
            "exp(x - max) / sum(exp(x... - max))",
            "a NaN among the elements, or nothing but negative infinities, makes all of them NaN; a positive infinity "
            "is a NaN, and what is beside it a NaN or 0" + named,
            ("exp", "add", "divide", "reciprocal", "multiply"),
            ("1", *also),
        ),
        _operator(
            f"LOG_SOFTMAX{suffix}",
            "the input element minus the logarithm of the sum of the exponentials of {}, as if nothing overflowed",
            "x - max - ln(sum(exp(x... - max)))",
            "a NaN among the elements, or nothing but negative infinities, makes all of them NaN; a positive infinity "
            "is a NaN, and what is beside it a NaN or negatively infinite" + named,
            ("exp", "add", "log"),
            ("1", *also),
        ),
        _operator(
            f"HARDMAX{suffix}",
            "1 where the input element is the first of the largest among {}, in row-major order, and else 0",
            "c == first(argmax(x...)) ? 1 : 0",
            "elements among which there is a NaN are left open, and so is which of several zeros and subnormals is the "
            "largest, unless they are all the same zero"
            + ("; all are where Axes are not in ascending order, or name an axis twice" if suffix else ""),
            (),
            ("1", *also),
        ),
    )


SPECS = (*_of(""), *_of("1"))
