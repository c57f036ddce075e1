"""Activation functions along axes: ACTIVATION_SOFTMAX, _LOG_SOFTMAX and _HARDMAX, and SOFTMAX1, LOG_SOFTMAX1, HARDMAX1.

The sum is one of FLOAT32; of FLOAT16 tensors it may be kept in FLOAT16, cut or rounded to it, as the real library does.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import axis_of, leading_ones
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec, operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import same_sizes
from dml_conformance.spec.rules import Breach
from dml_conformance.spec.structures import Softmax


def axes_of(desc: Softmax) -> tuple[int, ...]:
    """The axes that elements are taken together along: Axes, or the last one."""
    return getattr(desc, "axes", (len(desc.input_tensor.sizes) - 1,))


def _effective_rank(desc: Softmax, level: Level) -> Breach | None:
    leading = desc.input_tensor.sizes[:-2]
    first = next((d for d, size in enumerate(leading) if size > 1), None)
    return None if first is None else Breach(f"InputTensor.Sizes[{first}]", str(leading[first]))


def _operator(name: str) -> OperatorSpec:
    last_two = leading_ones("InputTensor", 2, name="effective-rank", check=_effective_rank)
    own, depends_on = (axis_of("Axes"), "axes-range") if name.endswith("1") else (last_two, "effective-rank")
    sizes = output_sizes(depends_on, is_any=True, section="Tensor constraints")
    return operator_spec(f"ACTIVATION_{name}", shape=same_sizes, own_rules=(own, sizes))


FUNCTIONS = ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX", "SOFTMAX1", "LOG_SOFTMAX1", "HARDMAX1")
SPECS = tuple(_operator(name) for name in FUNCTIONS)
