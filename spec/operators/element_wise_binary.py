"""Arithmetic on two numbers: ELEMENT_WISE_ADD, _DIVIDE, _MAX, _MODULUS_FLOOR, _ATAN_YX and their like.

ADD1 is ADD of floating-point numbers with an activation function of the sum, if one is given.

Devices cut sums and products in FLOAT32, as Direct3D lets them, and so does the software device that the real library
was observed on in FLOAT16; another makes infinity of sums next above the largest number. A quotient may be a product
with the reciprocal of the divisor, and is so on real devices; a remainder and an angle inherit what that loses. An
activation of a sum is one of any sum that ADD may come to.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import Rules
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.operators._fused import (
    FUSED_ACTIVATIONS,
    flat_softplus,
    fusion_rules,
    newer_activation,
)
from dml_conformance.spec.sources import FLOATING_POINT_RULES, Source

NAN = "of a NaN it is a NaN"
WRAPS = "; integers lose the bits that their type does not have"
DIVISOR = (
    "; integers are left open where the divisor is 0, and where it is -1 and the other element the least of the type"
)


def _operation(
    name: str,
    of: str,
    values: str,
    formula: str,
    *primitives: str,
    settles: int = 1,
    own_rules: Rules = (),
    also: tuple[Source, ...] = (Source(FLOATING_POINT_RULES),),
) -> OperatorSpec:
    """One of them; its statement settles the first errata of its own."""
    return element_wise(
        f"ELEMENT_WISE_{name}",
        f"every output element is {of}{values}",
        primitives=primitives,
        in_own_type=True,
        domains={"ATensor": "terms", "BTensor": "terms"},
        summary=f"computes {of}",
        pseudocode=f"output[c...] = {formula}",
        also=also,
        own_rules=own_rules,
        settles=tuple(f"ELEMENT_WISE_{name}-{n}" for n in range(1, settles + 1)),
    )


def _extreme(name: str, greater: str) -> OperatorSpec:
    return _operation(
        name,
        f"the {greater} of two elements",
        "; where one is a NaN it is the other, as Direct3D has it, or a NaN; of two zeros it is either, and subnormal "
        "FLOAT32 numbers may count as 0",
        f"{name.lower()}(a[c...], b[c...])",
    )


def _remainder(name: str, rounding: str, of: str, primitive: str, also: str = "") -> OperatorSpec:
    return _operation(
        f"MODULUS_{name}",
        f"what is left of the element of ATensor when the multiple of BTensor's is taken away that their quotient, "
        f"rounded toward {of}, counts",
        "; as the quotient is one of floating-point numbers, it may be a whole number off where it is near one or has "
        f"no room for fractions, and the multiple has an error of its own; {NAN}, and by an infinity, of which the "
        f"formula takes away 0 times, it may be one; by 0 it is a NaN, "
        f"and where the quotient of others overflows it is left open{also}{DIVISOR}",
        f"a[c...] - b[c...] * {rounding}(a[c...] / b[c...])",
        primitive,
        *("divide", "reciprocal", "multiply", "add"),
        settles=2,
    )


SPECS = (
    _operation(
        "ADD",
        "the sum of two elements",
        f"; {NAN}, and so it is of opposite infinities{WRAPS}",
        "a[c...] + b[c...]",
        "add",
    ),
    _operation(
        "SUBTRACT",
        "the element of ATensor less that of BTensor",
        f"; {NAN}, and so it is of like infinities{WRAPS}",
        "a[c...] - b[c...]",
        "add",
    ),
    _operation(
        "MULTIPLY",
        "the product of two elements",
        f"; {NAN}, and so it is of an infinity and 0{WRAPS}",
        "a[c...] * b[c...]",
        "multiply",
    ),
    _operation(
        "DIVIDE",
        "the element of ATensor divided by that of BTensor",
        f"; {NAN}, and so it is of two zeros or two infinities; another number by 0 is infinite; where the reciprocal "
        "of the divisor is infinite, or as a subnormal FLOAT32 number is taken for 0, it may be what comes of that; "
        f"the quotient of integers is rounded toward 0{DIVISOR}",
        "a[c...] / b[c...]",
        *("divide", "reciprocal", "multiply"),
    ),
    _extreme("MAX", "greater"),
    _extreme("MIN", "lesser"),
    _operation(
        "MEAN",
        "half the sum of two elements",
        f"; {NAN}, and so it is of opposite infinities; where the sum would be infinite, it may be infinite; a half of "
        "an odd sum of integers is rounded down where the sum is positive, and either way where it is negative; where "
        "their type does not have the sum, it is left open",
        "(a[c...] + b[c...]) / 2",
        "add",
        "multiply",
    ),
    _remainder("TRUNCATE", "trunc", "0", "remainder"),
    _remainder(
        "FLOOR",
        "floor",
        "negative infinity",
        "modulus",
        "; it may be made of what TRUNCATE leaves, and be 0 where that is a subnormal FLOAT32 number",
    ),
    _operation(
        "ATAN_YX",
        "the angle from the X axis of the point whose Y is the element of ATensor and whose X is that of BTensor",
        f", from -pi to pi; {NAN}; at the origin, for subnormal FLOAT32 numbers as for zeros, it is left open, and so "
        "it is where both elements are infinite; that of a subnormal FLOAT32 Y may be as if it had the other sign",
        "atan2(a[c...], b[c...])",
        *("atan2", "atan", "divide", "reciprocal"),
        settles=0,
    ),
    _operation(
        "DIFFERENCE_SQUARE",
        "the square of the difference of two elements",
        f", which is rounded before it is squared; {NAN}, and so it is of like infinities{WRAPS}",
        "(a[c...] - b[c...]) * (a[c...] - b[c...])",
        "add",
        "multiply",
    ),
    _operation(
        "ADD1",
        "the sum of two elements, or with FusedActivation that activation of the sum",
        f"; without an activation {NAN}, and so it is of opposite infinities; with one, the sum may be rounded before "
        "or not, and right is what the rules of the activation's operator make of it, its bound in place of the sum's",
        "activation(a[c...] + b[c...])",
        "add",
        own_rules=fusion_rules("ELEMENT_WISE_ADD1", "ELEMENT_WISE_ADD1-2", "ELEMENT_WISE_ADD1-3"),
        also=(FUSED_ACTIVATIONS, Source(FLOATING_POINT_RULES)),
    ),
)
DIVERGENCES = {
    "DIV-fused-activations-newer-than-the-list": newer_activation,
    "DIV-fused-softplus-of-any-steepness": flat_softplus,
}
