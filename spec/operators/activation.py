"""Activation functions of one number: ACTIVATION_RELU, _ELU, _SIGMOID, _SOFTPLUS and their like.

Bounds. What is made of sums, products and quotients rests on Direct3D's rules. SIGMOID and TANH were observed on the
real library. The others are made of functions that were: what is left of a difference, or of a logarithm near 1, has
an absolute error, as large as the coefficient before it; and an exponential loses as much as its argument is large.
FLOAT16 is computed in FLOAT32 and rounded once, or cut; only of sums and products every step may be rounded to it.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.accuracy import EXACT, Bound, Bounds, Ground, bounds, computed_in_float32
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.rules import Breach, Category, Rule
from dml_conformance.spec.sources import FLOATING_POINT_RULES, LEVEL_HISTORY, Source

ONE_STEP = Bound(1.0, ground=Ground.DIRECT3D)
IN_STEPS = "; product and sum are rounded one by one, or both at once, and FLOAT16 may have FLOAT16's coefficients"
NAN_TO_NAN = "; of a NaN it is a NaN"
COMPARED = "; a subnormal FLOAT32 number may count as 0 where it is compared, and then it stays what it is" + NAN_TO_NAN
NAN_TO_ZERO = "; a NaN is neither greater nor less than anything, so of a NaN it is 0"
# What is multiplied by a coefficient and then loses what an exponential's argument loses.
SCALED = 2.0**-22
LEAST = 2.0**-126  # that is no subnormal of FLOAT32


def composed(ulp: float, absolute: float = 0.0, argument: float = 0.0, unit: str = "") -> Bounds:
    """Of what is computed in FLOAT32, and rounded or cut to FLOAT16."""
    return computed_in_float32(Bound(ulp, absolute, argument, unit=unit))


def to_nearest(ulp: float, absolute: float = 0.0, argument: float = 0.0, unit: str = "") -> Bounds:
    """Of what is computed in FLOAT32, and rounded to the nearest number of FLOAT16."""
    float32 = Bound(ulp, absolute, argument, unit=unit)
    return bounds(float32, Bound(1.0, 2 * absolute, argument, unit=unit))


# At most four times what torch needs on processors, which has functions such as expm1 and log1p.
PRECISE = to_nearest(4.0)
PRECISE_SCALED = to_nearest(4.0, argument=SCALED)


def _function(
    name: str, of: str, formula: str, stated: Bounds, precise: Bounds | None = None, nan: str = NAN_TO_NAN, **more: Any
) -> OperatorSpec:
    domains = more.pop("domains", {"InputTensor": "reals"})
    has_attributes = name not in ("RELU", "PARAMETERIZED_RELU", "GELU", "SIGMOID", "SOFTSIGN", "TANH")
    finite = "; left open where a coefficient is infinite or NaN" if has_attributes else ""
    return element_wise(
        f"ACTIVATION_{name}",
        f"every output element is {of}{nan}{finite}",
        bounds=stated,
        precise=precise or {},
        domains=domains,
        summary=f"computes {of.partition(';')[0].replace('the input element', 'every element')}",
        pseudocode=f"output[c...] = {formula}",
        **more,
    )


def _steepness(desc: Any, level: Level) -> Breach | None:
    return None if desc.steepness >= 1.0 else Breach("Steepness", str(desc.steepness))


SPECS = (
    _function(
        "CELU",
        "the CELU of the input element",
        "max(0, x) + min(0, Alpha * (exp(x / Alpha) - 1))",
        composed(4.0, 3 * 2.0**-23, SCALED, "|Alpha|"),
        to_nearest(4.0, LEAST, SCALED, "|Alpha|"),
        nan="; of a NaN it is a NaN or 0, as max and min have it; left open where Alpha is 0",
        settles=("ACTIVATION_CELU-1", "ACTIVATION_CELU-2"),
    ),
    _function(
        "ELU",
        "the ELU of the input element",
        "x >= 0 ? x : Alpha * (exp(x) - 1)",
        composed(4.0, 3 * 2.0**-23, 2.0**-23, "|Alpha|"),
        PRECISE,
        nan=COMPARED,
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "GELU",
        "the GELU of the input element, by the error function",
        "0.5 * x * (1 + erf(x / sqrt(2)))",
        composed(4.0, 2.0**-20, unit="|x|"),
        to_nearest(4.0, 2.0**-22, unit="|x|"),
    ),
    _function(
        "HARD_SIGMOID",
        f"the input element times Alpha plus Beta, clamped to 0 and 1{IN_STEPS}",
        "max(0, min(Alpha * x + Beta, 1))",
        EXACT,
        nan="; where the sum is a NaN it is a NaN or from 0 to 1, as max and min have it",
        settles=("ACTIVATION_HARD_SIGMOID-1",),
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "HARD_SWISH",
        f"the input element times its hard sigmoid{IN_STEPS}",
        "x * max(0, min(Alpha * x + Beta, 1))",
        bounds(ONE_STEP, ONE_STEP),
        nan=f"{NAN_TO_NAN}; where the sum is one besides, the hard sigmoid is a NaN or from 0 to 1",
        settles=("ACTIVATION_HARD_SWISH-1",),
    ),
    _function(
        "LEAKY_RELU",
        "the input element, times Alpha where it is not at least 0",
        "x >= 0 ? x : Alpha * x",
        bounds(ONE_STEP, Bound(2.0, ground=Ground.WEBNN)),
        nan=COMPARED,
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "LINEAR",
        f"the input element times Alpha plus Beta{IN_STEPS}",
        "Alpha * x + Beta",
        EXACT,
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "PARAMETERIZED_RELU",
        "the input element, times that of SlopeTensor where it is not at least 0; left open where an integer type does "
        "not have the product",
        "x >= 0 ? x : slope[c...] * x",
        bounds(ONE_STEP, ONE_STEP),
        nan=COMPARED,
        also=(Source(FLOATING_POINT_RULES),),
        settles=("ACTIVATION_PARAMETERIZED_RELU-1",),
        domains={"InputTensor": "terms", "SlopeTensor": "terms"},
    ),
    _function(
        "PARAMETRIC_SOFTPLUS",
        "Alpha times the softplus of the input element times Beta",
        "Alpha * ln(1 + exp(Beta * x))",
        composed(4.0, 2.0**-21, SCALED, "|Alpha|"),
        PRECISE_SCALED,
        settles=("ACTIVATION_PARAMETRIC_SOFTPLUS-1",),
    ),
    _function(
        "RELU",
        "the input element, or 0 where that is more",
        "max(0, x)",
        EXACT,
        nan="; of a NaN it is a NaN or 0, as max has it",
        settles=("ACTIVATION_RELU-1",),
    ),
    _function(
        "SCALED_ELU",
        "Gamma times the ELU of the input element",
        "x > 0 ? Gamma * x : Gamma * (Alpha * exp(x) - Alpha)",
        composed(4.0, 3 * 2.0**-23, 2.0**-23, "|Alpha * Gamma|"),
        PRECISE,
    ),
    _function(
        "SCALED_TANH",
        "Alpha times the hyperbolic tangent of the input element times Beta",
        "Alpha * tanh(Beta * x)",
        composed(4.0, 3 * 2.0**-22, SCALED, "|Alpha|"),
        PRECISE,
    ),
    _function(
        "SHRINK",
        "the input element minus Bias where it is above Threshold, plus Bias where it is below -Threshold, else 0; "
        "left open of an integer where Bias, Threshold or the result is none of its type, and beyond 2^24",
        "x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0",
        bounds(ONE_STEP, Bound(2.0, ground=Ground.DIRECT3D)),
        nan=NAN_TO_ZERO,
        settles=("ACTIVATION_SHRINK-1",),
        domains={"InputTensor": "terms"},
    ),
    _function(
        "SIGMOID",
        "the logistic function of the input element",
        "1 / (1 + exp(-x))",
        composed(4.0, argument=2.0**-23),
        to_nearest(4.0, LEAST),
    ),
    _function(
        "SOFTPLUS",
        "the softplus of the input element times Steepness, divided by Steepness; left open where that is 0",
        "ln(1 + exp(Steepness * x)) / Steepness",
        composed(4.0, 2.0**-21, SCALED, "/ |Steepness|"),
        PRECISE_SCALED,
        settles=("ACTIVATION_SOFTPLUS-1",),
        own_rules=(
            Rule(
                "ACTIVATION_SOFTPLUS.steepness-range",
                Category.ATTRIBUTES,
                "below 6_4 Steepness is at least 1",
                Source("ns-directml-dml_activation_softplus_operator_desc", "OutputTensor"),
                "ask for level 6_4, or use PARAMETRIC_SOFTPLUS",
                until=Level.L6_4,
                check=_steepness,
                settles=("ACTIVATION_SOFTPLUS-3",),
                also=(Source(LEVEL_HISTORY, "DML_FEATURE_LEVEL_6_4"),),
            ),
        ),
    ),
    _function(
        "SOFTSIGN",
        "the input element divided by 1 plus its absolute value, which above 2^126 may count as infinite",
        "x / (1 + abs(x))",
        bounds(Bound(3.0, ground=Ground.WEBNN), Bound(1.0, ground=Ground.WEBNN)),
        to_nearest(3.0),
    ),
    _function(
        "SWISH",
        "the input element times the logistic function of SigmoidInputScale times it",
        "x / (1 + exp(-SigmoidInputScale * x))",
        composed(6.0, argument=SCALED),
        PRECISE_SCALED,
    ),
    _function(
        "TANH",
        "the hyperbolic tangent of the input element",
        "tanh(x)",
        composed(1.0, 8e-7),
        PRECISE,
        settles=("ACTIVATION_TANH-1",),
    ),
    _function(
        "THRESHOLDED_RELU",
        "the input element where it is above Alpha, else 0",
        "x > Alpha ? x : 0",
        EXACT,
        nan=NAN_TO_ZERO,
    ),
)
