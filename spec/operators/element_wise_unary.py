"""Functions of one number: ELEMENT_WISE_ABS, _EXP, _SIN and their like, most of them after `x * Scale + Bias`.

Each function that is rounded is a primitive.
"""

from __future__ import annotations

from dml_conformance.spec.operators._element_wise import element_wise

FUNCTIONS = (
    *("ABS", "ACOS", "ASIN", "ATAN", "CEIL", "COS", "EXP", "FLOOR", "LOG", "RECIP", "SIN", "SQRT", "TAN", "SIGN"),
    *("ERF", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "ROUND", "NEGATE"),
)
SPECS = tuple(element_wise(f"ELEMENT_WISE_{name}") for name in FUNCTIONS)
