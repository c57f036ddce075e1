"""Functions of one number: ELEMENT_WISE_ABS, _EXP, _SIN and their like, most of them after `x * Scale + Bias`.

Each function that is rounded is a primitive.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise

LEAST = "left open are the least number of a signed integer type"
SCALED = "; with ScaleBias, of x * Scale + Bias"


def _function(
    name: str,
    of: str,
    formula: str,
    *primitives: str,
    nan: str = "of a NaN it is a NaN",
    **more: Any,
) -> OperatorSpec:
    has_scale = name not in ("NEGATE", "SIGN", "ROUND")
    return element_wise(
        f"ELEMENT_WISE_{name}",
        f"every output element is {of}{SCALED if has_scale else ''}; {nan}",
        primitives=primitives,
        in_own_type=True,
        domains={"InputTensor": "reals"},
        summary=f"computes {of.replace('the input element', 'every element')}",
        pseudocode=f"output[c...] = {formula}",
        **more,
    )


SPECS = (
    _function(
        "ABS",
        "the absolute value of the input element",
        "abs(x)",
        nan=f"of a NaN it is a NaN; {LEAST}, and integers with ScaleBias",
        settles=("ELEMENT_WISE_ABS-1", "ELEMENT_WISE_ABS-2"),
    ),
    _function("ACOS", "the arccosine of the input element", "acos(x)", "acos"),
    _function("ASIN", "the arcsine of the input element", "asin(x)", "asin"),
    _function("ATAN", "the arctangent of the input element", "atan(x)", "atan"),
    _function("CEIL", "the least whole number that is not less than the input element", "ceil(x)"),
    _function("COS", "the cosine of the input element", "cos(x)", "cos"),
    _function("EXP", "the exponential of the input element", "exp(x)", "exp"),
    _function("FLOOR", "the greatest whole number that is not greater than the input element", "floor(x)"),
    _function(
        "LOG",
        "the natural logarithm of the input element",
        "log(x)",
        "log",
        nan="of a NaN or a negative number it is a NaN",
        settles=("ELEMENT_WISE_LOG-1",),
    ),
    _function("RECIP", "the reciprocal of the input element", "1 / x", "reciprocal"),
    _function("SIN", "the sine of the input element", "sin(x)", "sin"),
    _function("SQRT", "the square root of the input element", "sqrt(x)", "sqrt"),
    _function(
        "TAN",
        "the tangent of the input element",
        "tan(x)",
        "tan",
    ),
    _function(
        "SIGN",
        "-1, 0 or 1, as the input element is less than 0, neither or greater",
        "(x > 0) - (x < 0)",
        nan="of a NaN it is 0",
        settles=("ELEMENT_WISE_SIGN-1",),
    ),
    _function("ERF", "the error function of the input element", "erf(x)", "erf"),
    _function(
        "SINH",
        "the hyperbolic sine of the input element",
        "sinh(x)",
        "sinh",
    ),
    _function(
        "COSH",
        "the hyperbolic cosine of the input element",
        "cosh(x)",
        "cosh",
    ),
    _function("TANH", "the hyperbolic tangent of the input element", "tanh(x)", "tanh"),
    _function("ASINH", "the inverse hyperbolic sine of the input element", "asinh(x)", "asinh"),
    _function("ACOSH", "the inverse hyperbolic cosine of the input element", "acosh(x)", "acosh"),
    _function("ATANH", "the inverse hyperbolic tangent of the input element", "atanh(x)", "atanh"),
    _function(
        "ROUND",
        "the input element rounded to a whole number as RoundingMode says",
        "round(x, RoundingMode)",
    ),
    _function(
        "NEGATE",
        "the input element with the other sign",
        "-x",
        nan=f"of a NaN it is a NaN; {LEAST}",
        settles=("ELEMENT_WISE_NEGATE-1",),
    ),
)
