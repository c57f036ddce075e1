"""Arithmetic on two numbers: ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like.

ADD1 is ADD of floating-point numbers with an activation function of the sum, if one is given.

Devices cut sums and products in FLOAT32, as Direct3D lets them, and so does the software device that the real library
was observed on in FLOAT16; another makes infinity of sums next above the largest number. A quotient may be a product
with the reciprocal of the divisor, and is so on real devices; a remainder and an angle inherit what that loses. An
activation of a sum is one of any sum that ADD may come to.
"""

from __future__ import annotations

from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.operators._fused import fusion_rules

OPERATIONS = (
    *("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MAX", "MIN", "MEAN", "MODULUS_TRUNCATE", "MODULUS_FLOOR", "ATAN_YX"),
    "DIFFERENCE_SQUARE",
)
SPECS = (
    *(element_wise(f"ELEMENT_WISE_{name}") for name in OPERATIONS),
    element_wise("ELEMENT_WISE_ADD1", *fusion_rules()),
)
