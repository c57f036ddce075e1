"""The primitive operations that operators are made of, and how far from the exact result of each its own may be.

An operator's accuracy follows from its formula: `backends.reference.enclosure` adds to each operation of it what is
stated here, once, by operation, by tolerance and by the type that it is computed in. Of what a bound leaves out:

- A result is also right unrounded, as in a fused multiply and add, and in wider steps where it is beyond the largest
  number of the type; there infinity is right as well.
- A subnormal number, as an argument or as a result, may be taken for zero where the tolerance says so.
- A coefficient times expm1, softplus or tanh is one function with it: the error is in units of the product, and an
  absolute one is times the coefficient.
- A sum of n terms, in any order and in any tree, has n - 1 additions. Each loses half a unit in the last place of its
  result at most, or a whole one where it may be cut, and, of one sign, no more than the lesser number; none is larger
  than as many of the largest positive terms together, or of the negative ones. What is lost so, r, comes to sum r in
  the worst case (Higham, Accuracy and Stability of Numerical Algorithms, chapter 4), and as errors that are rounded to
  nearest differ in sign, to lambda * sqrt(sum r^2) as a rule (Higham and Mary, A new approach to probabilistic rounding
  error analysis, 2019): the lesser of both is right. Where terms repeat, or are so small that they are lost, errors are
  alike, and what they add up to is right too.
- A product of rows of n terms has the error of the n products besides: sum |a b| * ulp / 2 or more (chapter 3).
- A running product of n factors has n - 1 products, of runs of factors that follow each other, in any order. Each
  loses what a product does, or where it is no normal number as much as these may, times what is before and after the
  run; where a run overflows, infinity is right too. Factors with few digits lose none.
- A variance of n terms loses what its sum of squares does. The error e of the mean adds no more than e^2 to it,
  for the deviations from the mean cancel each other (chapter 1.9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dml_conformance.spec.accuracy import EXACT, Bound, Bounds, Ground, Tolerance, bounds, computed_in_float32
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.sources import FLOATING_POINT_RULES, Source


@dataclass(frozen=True)
class Primitive:
    """An operation of numbers.

    Attributes:
        formula: of the result.
        stated: how far from the exact result of the arguments that it is given its result may be, by the type.
        precise: the same in the precise tolerance.
        keeps: whether a result that the type has is right alone, as where others are rounded to nearest or cut.
        least: no result is less.
        keeps_sign: whether no result has the other sign than the exact one.
        by_reciprocal: whether it may be a product with a reciprocal, outside of the precise tolerance.
        source: where the bound stands, if it is published.
    """

    formula: str
    stated: Bounds
    precise: Bounds
    keeps: bool = False
    least: float = -math.inf
    keeps_sign: bool = False
    by_reciprocal: bool = False
    source: Source | None = None

    def bound(self, tolerance: Tolerance, data_type: DataType) -> Bound:
        """How far off a result may be that is computed in a type."""
        return tolerance.bound(self.stated, self.precise, data_type)


def observed(absolute: float = 0.0, ulp: float = 1.0, argument: float = 0.0, overflow: float = 1.0) -> Bounds:
    """Of a function of the real library's, which computes it in FLOAT32."""
    return computed_in_float32(Bound(ulp, absolute, argument, overflow=overflow))


# Of functions whose argument is brought into their period.
PERIODIC = computed_in_float32(Bound(1.0, 2.0**-20, 2.0**-22, reach=1e4, beyond=(-1.0, 1.0)))
TANGENT = computed_in_float32(Bound(1.0, 2.0**-20, 2.0**-22, 2.0**-20, reach=1e4))


DIRECT3D = Bound(1.0, ground=Ground.DIRECT3D)
STEP = bounds(DIRECT3D, Bound(1.0, ground=Ground.WEBNN))
QUOTIENT = bounds(DIRECT3D, DIRECT3D)
NEAREST = bounds(Bound(0.5), Bound(0.5))
RULES = Source(FLOATING_POINT_RULES)
# What NumPy, torch and CUDA give: up to 3.7 units in the last place in FLOAT32, and what is computed so in FLOAT16.
FEW_ULP = bounds(Bound(4.0), Bound(1.0))
# exp(x) and exp(-x), of which half is taken: infinite where these are.
FEW_ULP_OF_SUMS = bounds(Bound(4.0, overflow=0.5), Bound(1.0))
# As torch computes it in FLOAT16: by a polynomial whose error is absolute.
ERROR_FUNCTION = bounds(Bound(2.0), Bound(1.0, 2.0**-20))
LEAST_NORMAL = 2.0**-126
LOGISTIC = bounds(Bound(4.0, LEAST_NORMAL), Bound(1.0, 2 * LEAST_NORMAL))
POWER = computed_in_float32(Bound(4.0, argument=2.0**-22))

PRIMITIVES: dict[str, Primitive] = {
    "add": Primitive("a + b", STEP, NEAREST, keeps=True, source=RULES),
    "multiply": Primitive("a * b", STEP, NEAREST, keeps=True, source=RULES),
    "divide": Primitive("a / b, or a * (1 / b)", QUOTIENT, NEAREST, keeps_sign=True, by_reciprocal=True, source=RULES),
    "reciprocal": Primitive("1 / x", QUOTIENT, QUOTIENT, keeps_sign=True, source=RULES),
    "sqrt": Primitive("sqrt(x)", QUOTIENT, QUOTIENT, least=0.0, source=RULES),
    "exp": Primitive("exp(x)", observed(ulp=4.0, argument=2.0**-23), FEW_ULP, least=0.0),
    # With the products that ELU, CELU and SCALED_ELU are: NumPy needs 3.28 ULP of the last one's.
    "expm1": Primitive("a * (exp(x) - 1)", observed(3 * 2.0**-23, 4.0, argument=2.0**-23), FEW_ULP),
    "log": Primitive("ln(x)", observed(2.0**-21, 3.0), FEW_ULP),
    "pow": Primitive("a^b", POWER, bounds(Bound(3.0), Bound(1.0))),
    "sin": Primitive("sin(x)", PERIODIC, FEW_ULP),
    "cos": Primitive("cos(x)", PERIODIC, FEW_ULP),
    "tan": Primitive("tan(x)", TANGENT, FEW_ULP),
    "asin": Primitive("asin(x)", observed(7e-5, 4.0), FEW_ULP),
    "acos": Primitive("acos(x)", observed(7e-5, 4.0), FEW_ULP),
    "atan": Primitive("atan(x)", observed(ulp=4096.0), FEW_ULP),
    "sinh": Primitive("sinh(x)", observed(1.8e-7, 4.0, argument=2.0**-23, overflow=0.5), FEW_ULP_OF_SUMS),
    "cosh": Primitive("cosh(x)", observed(ulp=4.0, argument=2.0**-23, overflow=0.5), FEW_ULP_OF_SUMS),
    "tanh": Primitive("tanh(x)", observed(7.8e-7), FEW_ULP),
    "asinh": Primitive("asinh(x)", observed(2.0**-21, 4.0), FEW_ULP),
    "acosh": Primitive("acosh(x)", observed(2.0**-21, 3.0), FEW_ULP),
    "atanh": Primitive("atanh(x)", observed(2.0**-19, 4.0), FEW_ULP),
    "erf": Primitive("erf(x)", observed(2.0**-19), ERROR_FUNCTION),
    # What 1 + erf(x) loses where erf(x) is near -1, as an error of its own.
    "erfc": Primitive("1 - erf(x)", observed(2.0**-19, 4.0), bounds(Bound(2.0, 2.0**-21), Bound(1.0, 2.0**-20))),
    "atan2": Primitive("atan2(y, x)", observed(ulp=4096.0), FEW_ULP),
    "remainder": Primitive("a - b * trunc(a / b), in one step", QUOTIENT, EXACT, source=RULES),
    "modulus": Primitive("a - b * floor(a / b), in one step", QUOTIENT, bounds(Bound(1.0), Bound(1.0)), source=RULES),
    "softplus": Primitive("a * ln(1 + exp(x))", observed(2.0**-21, 4.0, argument=2.0**-23), FEW_ULP),
    "sigmoid": Primitive("1 / (1 + exp(-x))", observed(ulp=4.0, argument=2.0**-23), LOGISTIC, least=0.0),
}
