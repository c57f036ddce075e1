"""Activation functions of one number: ACTIVATION_RELU, _ELU, _SIGMOID, _SOFTPLUS and their like.

What has a function that is not straight is computed in FLOAT32 and rounded once to FLOAT16, or cut; of sums and
products alone every step may be rounded to it.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.sources import FLOATING_POINT_RULES, LEVEL_HISTORY, Source

IN_STEPS = "; product and sum are rounded one by one, or both at once, and FLOAT16 may have FLOAT16's coefficients"
NAN_TO_NAN = "; of a NaN it is a NaN"
COMPARED = "; a subnormal FLOAT32 number may count as 0 where it is compared, and then it stays what it is" + NAN_TO_NAN
NAN_TO_ZERO = "; a NaN is neither greater nor less than anything, so of a NaN it is 0"
# What is made of sums and products.
OF_OWN_TYPE = ("HARD_SIGMOID", "HARD_SWISH", "LEAKY_RELU", "LINEAR", "PARAMETERIZED_RELU", "SHRINK", "SIGMOID", "TANH")


def _function(name: str, of: str, formula: str, *primitives: str, nan: str = NAN_TO_NAN, **more: Any) -> OperatorSpec:
    domains = more.pop("domains", {"InputTensor": "reals"})
    has_attributes = name not in ("RELU", "PARAMETERIZED_RELU", "GELU", "SIGMOID", "SOFTSIGN", "TANH")
    finite = "; left open where a coefficient is infinite or NaN" if has_attributes else ""
    return element_wise(
        f"ACTIVATION_{name}",
        f"every output element is {of}{nan}{finite}",
        primitives=primitives,
        in_own_type=name in OF_OWN_TYPE,
        domains=domains,
        summary=f"computes {of.partition(';')[0].replace('the input element', 'every element')}",
        pseudocode=f"output[c...] = {formula}",
        **more,
    )


SPECS = (
    _function(
        "CELU",
        "the CELU of the input element",
        "max(0, x) + min(0, Alpha * (exp(x / Alpha) - 1))",
        *("divide", "reciprocal", "expm1", "multiply"),
        nan="; of a NaN it is a NaN or 0, as max and min have it; left open where Alpha is 0",
        settles=("ACTIVATION_CELU-1", "ACTIVATION_CELU-2"),
    ),
    _function(
        "ELU",
        "the ELU of the input element",
        "x >= 0 ? x : Alpha * (exp(x) - 1)",
        "expm1",
        nan=COMPARED,
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "GELU",
        "the GELU of the input element, by the error function",
        "0.5 * x * (1 + erf(x / sqrt(2)))",
        *("erfc", "multiply"),
    ),
    _function(
        "HARD_SIGMOID",
        f"the input element times Alpha plus Beta, clamped to 0 and 1{IN_STEPS}",
        "max(0, min(Alpha * x + Beta, 1))",
        *("multiply", "add"),
        nan="; where the sum is a NaN it is a NaN or from 0 to 1, as max and min have it",
        settles=("ACTIVATION_HARD_SIGMOID-1",),
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "HARD_SWISH",
        f"the input element times its hard sigmoid{IN_STEPS}",
        "x * max(0, min(Alpha * x + Beta, 1))",
        *("multiply", "add"),
        nan=f"{NAN_TO_NAN}; where the sum is one besides, the hard sigmoid is a NaN or from 0 to 1",
        settles=("ACTIVATION_HARD_SWISH-1",),
    ),
    _function(
        "LEAKY_RELU",
        "the input element, times Alpha where it is not at least 0",
        "x >= 0 ? x : Alpha * x",
        "multiply",
        nan=COMPARED,
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "LINEAR",
        f"the input element times Alpha plus Beta{IN_STEPS}",
        "Alpha * x + Beta",
        *("multiply", "add"),
        also=(Source(FLOATING_POINT_RULES),),
    ),
    _function(
        "PARAMETERIZED_RELU",
        "the input element, times that of SlopeTensor where it is not at least 0; left open where an integer type does "
        "not have the product",
        "x >= 0 ? x : slope[c...] * x",
        "multiply",
        nan=COMPARED,
        also=(Source(FLOATING_POINT_RULES),),
        settles=("ACTIVATION_PARAMETERIZED_RELU-1",),
        domains={"InputTensor": "terms", "SlopeTensor": "terms"},
    ),
    _function(
        "PARAMETRIC_SOFTPLUS",
        "Alpha times the softplus of the input element times Beta",
        "Alpha * ln(1 + exp(Beta * x))",
        *("multiply", "softplus"),
        settles=("ACTIVATION_PARAMETRIC_SOFTPLUS-1",),
    ),
    _function(
        "RELU",
        "the input element, or 0 where that is more",
        "max(0, x)",
        nan="; of a NaN it is a NaN or 0, as max has it",
        settles=("ACTIVATION_RELU-1",),
    ),
    _function(
        "SCALED_ELU",
        "Gamma times the ELU of the input element",
        "x > 0 ? Gamma * x : Gamma * (Alpha * exp(x) - Alpha)",
        *("expm1", "multiply"),
    ),
    _function(
        "SCALED_TANH",
        "Alpha times the hyperbolic tangent of the input element times Beta",
        "Alpha * tanh(Beta * x)",
        *("multiply", "tanh"),
    ),
    _function(
        "SHRINK",
        "the input element minus Bias where it is above Threshold, plus Bias where it is below -Threshold, else 0; "
        "left open of an integer where Bias, Threshold or the result is none of its type, and beyond 2^24",
        "x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0",
        "add",
        nan=NAN_TO_ZERO,
        settles=("ACTIVATION_SHRINK-1",),
        domains={"InputTensor": "terms"},
    ),
    _function(
        "SIGMOID",
        "the logistic function of the input element",
        "1 / (1 + exp(-x))",
        "sigmoid",
    ),
    _function(
        "SOFTPLUS",
        "the softplus of the input element times Steepness, divided by Steepness; left open where that is 0",
        "ln(1 + exp(Steepness * x)) / Steepness",
        *("multiply", "softplus"),
        settles=("ACTIVATION_SOFTPLUS-1",),
        own_rules=(
            within(
                "Steepness",
                1.0,
                None,
                statement="below 6_4 Steepness is at least 1",
                section="OutputTensor",
                remedy="ask for level 6_4, or use PARAMETRIC_SOFTPLUS",
                until=Level.L6_4,
                settles=("ACTIVATION_SOFTPLUS-3",),
                also=(Source(LEVEL_HISTORY, "DML_FEATURE_LEVEL_6_4"),),
            ),
        ),
    ),
    _function(
        "SOFTSIGN",
        "the input element divided by 1 plus its absolute value, which above 2^126 may count as infinite",
        "x / (1 + abs(x))",
        *("add", "divide", "reciprocal"),
    ),
    _function(
        "SWISH",
        "the input element times the logistic function of SigmoidInputScale times it",
        "x / (1 + exp(-SigmoidInputScale * x))",
        *("multiply", "sigmoid"),
    ),
    _function(
        "TANH",
        "the hyperbolic tangent of the input element",
        "tanh(x)",
        "tanh",
        settles=("ACTIVATION_TANH-1",),
    ),
    _function(
        "THRESHOLDED_RELU",
        "the input element where it is above Alpha, else 0",
        "x > Alpha ? x : 0",
        nan=NAN_TO_ZERO,
    ),
)
