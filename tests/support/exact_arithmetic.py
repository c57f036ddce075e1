"""Formulas evaluated in 200 bits, each step rounded as a right implementation may round it, drawn at random.

Numbers are mpmath's, or Python floats where they are zeros, infinities and NaN, which mpmath has no signs of.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

from dml_conformance.backends.reference.enclosure import Evaluation
from dml_conformance.backends.reference.floats import FORMATS
from dml_conformance.spec.accuracy import Bound, Subnormals
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.primitives import PRIMITIVES

Num = Any
mp.prec = 200
LARGEST, LEAST = mpf(2) ** 1023, mpf(2) ** -1022  # beyond these FLOAT64 has infinities and zeros


def is_special(x: Num) -> bool:
    return isinstance(x, float)


def as_number(x: float) -> Num:
    return mpf(x) if math.isfinite(x) and x != 0 else float(x)


def sign(x: Num) -> float:
    return math.copysign(1.0, x) if is_special(x) else (1.0 if x > 0 else -1.0)


def limited(x: Num) -> Num:
    """As FLOAT64 could have it."""
    if is_special(x):
        return x
    if x == 0:
        return 0.0
    if abs(x) > LARGEST:
        return sign(x) * math.inf
    return math.copysign(0.0, sign(x)) if abs(x) < LEAST else x


def unit(x: Num, data_type: DataType) -> Num:
    """A unit in the last place."""
    of = FORMATS[data_type]
    _, exponent = mpmath.frexp(x)
    found = mpf(2) ** (exponent - 1) * of.epsilon
    return min(max(found, mpf(of.subnormal)), mpf(of.beyond) * of.epsilon / 2)


class Steps:
    """The steps of one evaluation.

    Args:
        evaluation: whose bounds are kept.
        seed: of what is drawn.
    """

    def __init__(self, evaluation: Evaluation, seed: int) -> None:
        self.evaluation, self.random = evaluation, random.Random(seed)
        # What is drawn at each step, or at all: rounded to nearest, kept as it is, or as far off as may be.
        self.habit = self.random.choice(("nearest", "exact", "far", "mixed", "mixed"))

    def flushed(self, x: Num, data_type: DataType | None) -> Num:
        if data_type is None or is_special(x) or self.evaluation.tolerance.subnormals[data_type] is Subnormals.KEPT:
            return x
        return math.copysign(0.0, sign(x)) if abs(x) < FORMATS[data_type].normal and self.random.random() < 0.5 else x

    def result(self, name: str, exact: Num, bound: Bound | None = None) -> Num:
        """Of a primitive, within its bound of the exact one."""
        data_type = self.evaluation.data_type
        exact = limited(exact)
        if data_type is None or is_special(exact):
            return exact
        primitive = PRIMITIVES[name]
        bound = bound or primitive.bound(self.evaluation.tolerance, data_type)
        habit = self.random.choice(("nearest", "exact", "far")) if self.habit == "mixed" else self.habit
        if habit == "exact":
            found = exact
        else:
            step = unit(exact, data_type)
            near = mp.nint(exact / step) * step
            if habit == "nearest" or bound.ulp == 0.5:
                found = near
            elif primitive.keeps:
                found = sign(exact) * mp.floor(abs(exact) / step) * step
            else:
                units = bound.ulp * step
                allowed = units + bound.absolute if bound.is_sum else max(units, mpf(bound.absolute))
                found = exact + self.random.choice((-1, 1, self.random.uniform(-1, 1))) * allowed
                found = max(found, mpf(primitive.least)) if primitive.least > -math.inf else found
                if primitive.keeps_sign and found * exact < 0:
                    return math.copysign(0.0, sign(exact))
            of = FORMATS[data_type]
            if (
                abs(found) >= of.beyond
                or (bound.ulp == 0.5 and abs(found) > of.largest)
                or (abs(found) >= of.beyond * bound.overflow and self.random.random() < 0.5)
            ):
                found = sign(found) * math.inf
        return self.flushed(limited(found), data_type)

    # --- arithmetic ---

    def add(self, a: Num, b: Num) -> Num:
        if is_special(a) and is_special(b):
            return as_number(float(np.float64(a) + np.float64(b)))
        if is_special(a) or is_special(b):
            special, number = (a, b) if is_special(a) else (b, a)
            return special if special != 0 else self.result("add", number)
        return self.result("add", a + b)

    def sub(self, a: Num, b: Num) -> Num:
        return self.add(a, -b)

    def mul(self, a: Num, b: Num) -> Num:
        if is_special(a) or is_special(b):
            a, b = (x if is_special(x) else sign(x) for x in (a, b))
            return float(np.float64(a) * np.float64(b))
        of = None if self.evaluation.data_type is None else FORMATS[self.evaluation.data_type]
        if of is not None and abs(mpmath.frexp(b)[0]) == 0.5 and of.normal <= abs(a * b) <= of.largest:
            return a * b
        return self.result("multiply", a * b)

    def div(self, a: Num, b: Num) -> Num:
        primitive, tolerance = PRIMITIVES["divide"], self.evaluation.tolerance
        may_be = primitive.by_reciprocal and not tolerance.is_precise and self.evaluation.data_type is not None
        if may_be and self.random.random() < 0.5:
            return self.mul(a, self.reciprocal(b))
        return self._quotient("divide", a, b)

    def reciprocal(self, x: Num) -> Num:
        return self._quotient("reciprocal", mpf(1), x)

    def _quotient(self, name: str, a: Num, b: Num) -> Num:
        if is_special(a) or is_special(b):
            a, b = (x if is_special(x) else sign(x) for x in (a, b))
            with np.errstate(all="ignore"):
                return float(np.float64(a) / np.float64(b))
        return self.result(name, a / b)

    def maximum(self, a: Num, b: Num) -> Num:
        if a != a or b != b:
            return self.random.choice((math.nan, b if a != a else a))
        return a if a > b else b

    def minimum(self, a: Num, b: Num) -> Num:
        return -self.maximum(-a, -b)

    def neg(self, x: Num) -> Num:
        return -x

    def abs(self, x: Num) -> Num:
        return abs(x)

    def square(self, x: Num) -> Num:
        return self.mul(x, x)

    # --- functions ---

    def function(self, name: str, x: Num) -> Num:
        data_type = self.evaluation.data_type
        exact, special = FUNCTIONS[name]
        if x != x:
            return math.nan
        bound = Bound() if data_type is None else PRIMITIVES[name].bound(self.evaluation.tolerance, data_type)
        if not is_special(x) and data_type is not None:
            if abs(x) > bound.reach and self.random.random() < 0.5:
                return mpf(self.random.uniform(*(max(min(end, 1e30), -1e30) for end in bound.beyond)))
            way = self.random.choice((-1, 0, 1, self.random.uniform(-1, 1)))
            x = limited(x + way * (abs(x) * bound.argument + bound.shift))
        if is_special(x):
            with np.errstate(all="ignore"):
                found = special(x)
            return found if is_special(found) else self.result(name, found)
        found = exact(x)
        return found if is_special(found) else self.result(name, found)


@dataclass
class _Domain:
    """A function of mpmath's, NaN outside of where it is real."""

    function: Callable[[Num], Num]
    least: float = -math.inf
    most: float = math.inf

    def __call__(self, x: Num) -> Num:
        if not self.least <= x <= self.most:
            return math.nan
        return as_special(self.function(x))


def as_special(x: Num) -> Num:
    if mpmath.isnan(x) or mpmath.isinf(x):
        return float(x)
    return 0.0 if x == 0 else x


def _exp(x: Num) -> Num:
    """Where its exponent has a reasonable number of digits."""
    if abs(x) > 2000:
        return math.inf if x > 0 else 0.0
    return mp.exp(x)


def _sinh(x: Num) -> Num:
    return sign(x) * math.inf if abs(x) > 2000 else mp.sinh(x)


def _tanh(x: Num) -> Num:
    return mpf(sign(x)) if abs(x) > 2000 else mp.tanh(x)


def _erf(x: Num) -> Num:
    return mpf(sign(x)) if abs(x) > 2000 else mp.erf(x)


def _of(function: Any) -> Callable[[float], Num]:
    return lambda x: as_number(float(function(np.float64(x))))


def _sigmoid(x: Num) -> Num:
    exponential = _exp(-x)
    return 0.0 if exponential == math.inf else 1 / (1 + mpf(exponential))


def _softplus(x: Num) -> Num:
    return x if x > 2000 else mp.log1p(mp.exp(x)) if x > -2000 else mpf(0)


FUNCTIONS: dict[str, tuple[Callable[[Num], Num], Callable[[float], Num]]] = {
    "exp": (lambda x: as_special(_exp(x)), _of(np.exp)),
    "expm1": (lambda x: as_special(mp.expm1(x)) if abs(x) < 2000 else math.inf if x > 0 else mpf(-1), _of(np.expm1)),
    "log": (_Domain(mp.log, 0.0), _of(np.log)),
    "sqrt": (_Domain(mp.sqrt, 0.0), _of(np.sqrt)),
    "sin": (_Domain(mp.sin), _of(np.sin)),
    "cos": (_Domain(mp.cos), _of(np.cos)),
    "tan": (_Domain(mp.tan), _of(np.tan)),
    "asin": (_Domain(mp.asin, -1.0, 1.0), _of(np.arcsin)),
    "acos": (_Domain(mp.acos, -1.0, 1.0), lambda x: mp.pi / 2 if x == 0 else math.nan),
    "atan": (_Domain(mp.atan), lambda x: sign(x) * mp.pi / 2 if x else x),
    "sinh": (lambda x: as_special(_sinh(x)), _of(np.sinh)),
    "cosh": (lambda x: as_special(mp.cosh(x) if abs(x) < 2000 else mpf("inf")), _of(np.cosh)),
    "tanh": (_tanh, _of(np.tanh)),
    "asinh": (_Domain(mp.asinh), _of(np.arcsinh)),
    "acosh": (_Domain(mp.acosh, 1.0), _of(np.arccosh)),
    "atanh": (lambda x: sign(x) * math.inf if abs(x) == 1 else _Domain(mp.atanh, -1.0, 1.0)(x), _of(np.arctanh)),
    "erfc": (lambda x: as_special(mp.erfc(x)) if abs(x) < 2000 else 0.0 if x > 0 else mpf(2), _of(math.erfc)),
    "softplus": (lambda x: as_special(_softplus(x)), _of(lambda x: np.logaddexp(x, 0.0))),
    "erf": (_erf, lambda x: x if x == 0 else mpf(sign(x))),
    "sigmoid": (lambda x: as_special(_sigmoid(x)), _of(lambda x: 1 / (1 + np.exp(-x)))),
}
