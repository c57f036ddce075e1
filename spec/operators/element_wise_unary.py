"""Functions of one number: ELEMENT_WISE_ABS, _EXP, _SIN and their like, most of them after `x * Scale + Bias`.

Bounds. Direct3D states that of RECIP and SQRT. The others were observed on the real library, whose functions are made
of the few that shaders have: an exponential loses as much as its argument is large, what is computed as a difference
or a polynomial has an absolute error near its zeros, and FLOAT16 is computed in FLOAT32 and rounded once, or cut.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.accuracy import EXACT, Bound, Bounds, Ground, bounds, computed_in_float32
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise

LEAST = "left open are the least number of a signed integer type"
SCALED = "; with ScaleBias, of x * Scale + Bias"


def observed(absolute: float = 0.0, ulp: float = 1.0, **more: Any) -> Bounds:
    return computed_in_float32(Bound(ulp, absolute, **more))


# Of exp(x) and exp(-x): infinite where these are, though half of them is not.
EXPONENTIAL_SUM = observed(ulp=4.0, argument=2.0**-23, overflow=0.5)
EXPONENTIAL_DIFFERENCE = observed(1.8e-7, 4.0, argument=2.0**-23, overflow=0.5)
PERIODIC = observed(2.0**-20, argument=2.0**-22, reach=1e4, beyond=(-1.0, 1.0))
DIRECT3D = Bound(1.0, ground=Ground.DIRECT3D)
# What NumPy, torch and CUDA give: up to 3.7 units in the last place in FLOAT32, and what is computed so in FLOAT16.
FEW_ULP = bounds(Bound(4.0), Bound(1.0))
FEW_ULP_OF_SUMS = bounds(Bound(4.0, overflow=0.5), Bound(1.0))  # of exp(x) and exp(-x), as above
ROUNDED = bounds(DIRECT3D, DIRECT3D)
# As torch computes it in FLOAT16: by a polynomial whose error is absolute.
ERROR_FUNCTION = bounds(Bound(2.0), Bound(1.0, 2.0**-20))


def _function(
    name: str,
    of: str,
    formula: str,
    stated: Bounds,
    precise: Bounds | None = None,
    nan: str = "of a NaN it is a NaN",
    **more: Any,
) -> OperatorSpec:
    has_scale = name not in ("NEGATE", "SIGN", "ROUND")
    return element_wise(
        f"ELEMENT_WISE_{name}",
        f"every output element is {of}{SCALED if has_scale else ''}; {nan}",
        bounds=stated,
        precise=(precise or FEW_ULP) if stated is not EXACT else {},
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
        EXACT,
        nan=f"of a NaN it is a NaN; {LEAST}, and integers with ScaleBias",
        settles=("ELEMENT_WISE_ABS-1", "ELEMENT_WISE_ABS-2"),
    ),
    _function("ACOS", "the arccosine of the input element", "acos(x)", observed(7e-5, 4.0)),
    _function("ASIN", "the arcsine of the input element", "asin(x)", observed(7e-5, 4.0)),
    _function("ATAN", "the arctangent of the input element", "atan(x)", observed(ulp=4096.0)),
    _function("CEIL", "the least whole number that is not less than the input element", "ceil(x)", EXACT),
    _function("COS", "the cosine of the input element", "cos(x)", PERIODIC),
    _function("EXP", "the exponential of the input element", "exp(x)", observed(ulp=4.0, argument=2.0**-23)),
    _function("FLOOR", "the greatest whole number that is not greater than the input element", "floor(x)", EXACT),
    _function(
        "LOG",
        "the natural logarithm of the input element",
        "log(x)",
        observed(2.0**-21, 3.0),
        nan="of a NaN or a negative number it is a NaN",
        settles=("ELEMENT_WISE_LOG-1",),
    ),
    _function("RECIP", "the reciprocal of the input element", "1 / x", ROUNDED, ROUNDED),
    _function("SIN", "the sine of the input element", "sin(x)", PERIODIC),
    _function("SQRT", "the square root of the input element", "sqrt(x)", ROUNDED, ROUNDED),
    _function(
        "TAN",
        "the tangent of the input element",
        "tan(x)",
        observed(2.0**-20, argument=2.0**-22, shift=2.0**-20, reach=1e4),
    ),
    _function(
        "SIGN",
        "-1, 0 or 1, as the input element is less than 0, neither or greater",
        "(x > 0) - (x < 0)",
        EXACT,
        nan="of a NaN it is 0",
        settles=("ELEMENT_WISE_SIGN-1",),
    ),
    _function("ERF", "the error function of the input element", "erf(x)", observed(2.0**-19), ERROR_FUNCTION),
    _function(
        "SINH",
        "the hyperbolic sine of the input element",
        "sinh(x)",
        EXPONENTIAL_DIFFERENCE,
        FEW_ULP_OF_SUMS,
    ),
    _function(
        "COSH",
        "the hyperbolic cosine of the input element",
        "cosh(x)",
        EXPONENTIAL_SUM,
        FEW_ULP_OF_SUMS,
    ),
    _function("TANH", "the hyperbolic tangent of the input element", "tanh(x)", observed(8e-7)),
    _function("ASINH", "the inverse hyperbolic sine of the input element", "asinh(x)", observed(2.0**-21, 4.0)),
    _function("ACOSH", "the inverse hyperbolic cosine of the input element", "acosh(x)", observed(2.0**-21, 3.0)),
    _function("ATANH", "the inverse hyperbolic tangent of the input element", "atanh(x)", observed(2.0**-19, 4.0)),
    _function(
        "ROUND",
        "the input element rounded to a whole number as RoundingMode says",
        "round(x, RoundingMode)",
        EXACT,
    ),
    _function(
        "NEGATE",
        "the input element with the other sign",
        "-x",
        EXACT,
        nan=f"of a NaN it is a NaN; {LEAST}",
        settles=("ELEMENT_WISE_NEGATE-1",),
    ),
)
