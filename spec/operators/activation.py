"""Activation functions of one number: ACTIVATION_RELU, _ELU, _SIGMOID, _SOFTPLUS and their like.

What has a function that is not straight is computed in FLOAT32 and rounded once to FLOAT16, or cut; of sums and
products alone every step may be rounded to it.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import within
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise

BEFORE_SOFTPLUS = (
    *("CELU", "ELU", "GELU", "HARD_SIGMOID", "HARD_SWISH", "LEAKY_RELU", "LINEAR", "PARAMETERIZED_RELU"),
    *("PARAMETRIC_SOFTPLUS", "RELU", "SCALED_ELU", "SCALED_TANH", "SHRINK", "SIGMOID"),
)
SPECS = (
    *(element_wise(f"ACTIVATION_{name}") for name in BEFORE_SOFTPLUS),
    element_wise("ACTIVATION_SOFTPLUS", within("Steepness", 1.0, None, until=Level.L6_4)),
    *(element_wise(f"ACTIVATION_{name}") for name in ("SOFTSIGN", "SWISH", "TANH", "THRESHOLDED_RELU")),
)
