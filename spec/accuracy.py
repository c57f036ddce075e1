"""How far from the exact value a result may be: bounds, and the tolerances that exchange them.

No page of DirectML states an accuracy (erratum ACCURACY-1), so each bound names what it rests on: Direct3D's rules on
numbers, the tolerances of the WebNN tests, or what the real library was seen to do. A result is right where it lies
within its operator's bound of the exact value; `backends.reference.enclosure` makes intervals of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from dml_conformance.spec.datatypes import DataType


class Ground(StrEnum):
    """What a bound rests on."""

    DIRECT3D = "Direct3D's floating-point rules"
    WEBNN = "the tolerances of the WebNN tests"
    OBSERVED = "what the real library was seen to do"
    EXACT = "the exact result is a number of the type"


class Subnormals(StrEnum):
    """What becomes of subnormal numbers, as arguments and as results."""

    KEPT = "kept"
    FLUSHED = "taken for zero"
    EITHER = "kept or taken for zero"


@dataclass(frozen=True)
class Bound:
    """How far from the exact value y = f(x) a result may be: `ulp` or `absolute`, whichever is more, from some f(x').

    Attributes:
        ulp: units in the last place of y, in the result's type.
        absolute: as a number, or as a part of `unit`.
        argument: how far x' may be from x, as a part of |x|: a function that is steep there multiplies what is lost
            where its argument is brought into the range of a table or a polynomial.
        shift: how much farther, as a number.
        reach: the largest |x| that this holds for.
        beyond: the least and the greatest value that is right where |x| is larger.
        overflow: the part of the largest number from which on infinity is right too, as where what is computed on the
            way is that much larger.
        steps: what may be rounded on the way besides, in words; how far off that is, the operator's function says.
        unit: what `absolute` is a part of, in the operator's own terms, as `|Alpha|`; "" for 1.
        is_sum: whether `absolute` comes on top of `ulp`, as where it is an error before the last rounding.
        ground: what it rests on.
    """

    ulp: float = 0.0
    absolute: float = 0.0
    argument: float = 0.0
    shift: float = 0.0
    reach: float = math.inf
    beyond: tuple[float, float] = (-math.inf, math.inf)
    overflow: float = 1.0
    steps: str = ""
    unit: str = ""
    is_sum: bool = False
    ground: Ground = Ground.OBSERVED

    @property
    def is_exact(self) -> bool:
        """Whether nothing but the exact value is right."""
        return not (self.ulp or self.absolute or self.argument or self.shift or self.steps)

    @property
    def formula(self) -> str:
        """`4 ULP, of an argument that is 1.2e-07 |x| away`."""
        if self.is_exact:
            return "exact"
        near = [f"{self.ulp:g} ULP"] if self.ulp else []
        near += [f"{self.absolute:.3g} {self.unit}".rstrip()] if self.absolute else []
        text = (" plus " if self.is_sum else " or ").join(near) or "0"
        away = [f"{self.argument:.3g} |x|"] if self.argument else []
        away += [f"{self.shift:.3g}"] if self.shift else []
        if away:
            text += f", of an argument up to {' + '.join(away)} away"
        if self.steps:
            text += f", of {self.steps}"
        if self.reach < math.inf:
            text += f", for |x| up to {self.reach:g}, beyond it from {self.beyond[0]:g} to {self.beyond[1]:g}"
        if self.overflow < 1.0:
            text += f", infinite from {self.overflow:g} of the largest number on"
        return text


# By the type of the result.
Bounds = Mapping[DataType, Bound]

EXACT: Bounds = {DataType.FLOAT32: Bound(ground=Ground.EXACT), DataType.FLOAT16: Bound(ground=Ground.EXACT)}


def bounds(float32: Bound, float16: Bound) -> Bounds:
    """A bound for each type of floating-point numbers that operators compute with."""
    return {DataType.FLOAT32: float32, DataType.FLOAT16: float16}


def computed_in_float32(bound: Bound) -> Bounds:
    """Of what is computed in FLOAT32 under a bound, and for FLOAT16 rounded once more, or cut.

    Direct3D's rules on data conversion have FLOAT32 cut to FLOAT16: that is a unit in the last place. Those of FLOAT32
    are 2^-13 of FLOAT16's.
    """
    return bounds(bound, replace(bound, ulp=1.0 + bound.ulp * 2.0**-13, is_sum=True))


@dataclass(frozen=True)
class Tolerance:
    """A set of bounds that results are held to.

    Attributes:
        name: as `--accuracy` takes it.
        summary: whom it is for.
        subnormals: what may become of those of each type.
        is_precise: whether an operator's precise bounds hold where it states some.
        cut: types whose largest number may stand for a finite one beyond it: Direct3D's rules on data conversion have
            FLOAT32 cut to FLOAT16 so, while others round it to infinity.
        stored: types of tensors in which sums may be kept on the way, though they are computed in FLOAT32: a product
            to which something is added, parts of a long sum, a mean and a variance. The real library was seen to keep
            them so.
        sum_lambda: how many times sqrt(n) half units the errors of n additions, rounded to nearest, may come to. If
            each is independent and uniform in half a unit either way, more than that comes of one sum in
            exp(3 / 2 * lambda^2) / 2: of 4, in 10^10. That additions are rounded so was observed on the real library;
            in products of FLOAT16 tensor cores cut, so those may lose all that n additions can.
        lossless: primitives that are taken to lose nothing, to see what they cost; none where results are judged.
    """

    name: str
    summary: str
    subnormals: Mapping[DataType, Subnormals]
    is_precise: bool = False
    cut: frozenset[DataType] = frozenset()
    stored: frozenset[DataType] = frozenset()
    sum_lambda: float = 4.0
    lossless: frozenset[str] = frozenset()

    def bound(self, stated: Bounds, precise: Bounds, data_type: DataType) -> Bound:
        """Of the bounds that an operator states, the one for results of a type."""
        return precise[data_type] if self.is_precise and data_type in precise else stated[data_type]


DIRECTML = Tolerance(
    "directml",
    "whatever computes as well as DirectML itself does on Direct3D's floating-point rules",
    {DataType.FLOAT32: Subnormals.EITHER, DataType.FLOAT16: Subnormals.KEPT},
    cut=frozenset({DataType.FLOAT16}),
    stored=frozenset({DataType.FLOAT16}),
)
PRECISE = Tolerance(
    "precise",
    "what has a mathematical library of full precision, as processors and CUDA have",
    {DataType.FLOAT32: Subnormals.KEPT, DataType.FLOAT16: Subnormals.KEPT},
    is_precise=True,
)
TOLERANCES = {tolerance.name: tolerance for tolerance in (DIRECTML, PRECISE)}
