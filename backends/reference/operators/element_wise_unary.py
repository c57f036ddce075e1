"""Functions of one number: ELEMENT_WISE_ABS, _EXP, _SIN and their like."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import neg
from typing import Any

import numpy as np

from dml_conformance.backends.reference import functions
from dml_conformance.backends.reference.enclosure import Enclosure, either
from dml_conformance.backends.reference.floats import Array, namespace
from dml_conformance.backends.reference.formula import Formula, scaled
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, cut_elementwise
from dml_conformance.spec.expectation import Expectation
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, ElementWiseUnary

HALVES_TO_EVEN, TOWARD_ZERO, TOWARD_INFINITY = enumeration("DML_ROUNDING_MODE")


def compute(
    function: Callable[[Enclosure], Enclosure], desc: ElementWiseUnary, arrays: Arrays, keeps_zero_signs: bool = False
) -> dict[str, Formula]:
    """output[c...] = function(input[c...]); with ScaleBias, of input[c...] * Scale + Bias"""
    data_type, scale_bias = desc.input_tensor.data_type, getattr(desc, "scale_bias", None)
    return {
        "output_tensor": Formula(
            lambda x: function(scaled(x, scale_bias)),
            (as_numbers(arrays["input_tensor"], data_type),),
            data_type,
            keeps_zero_signs=keeps_zero_signs,
            is_chained=scale_bias is not None,
        )
    }


def compute_any(
    function: Callable[[Any], Any], of_integers: Callable[[Array], Array], desc: ElementWiseUnary, arrays: Arrays
) -> Any:
    """The same, for integers too: exact; free where the type has no such number, and with ScaleBias."""
    data_type = desc.input_tensor.data_type
    if data_type.is_float:
        return compute(function, desc, arrays)
    numbers = as_numbers(arrays["input_tensor"], data_type)
    found = of_integers(numbers).astype(numbers.dtype)
    least, most = data_type.limits or (0, 0)
    is_free = np.full(numbers.shape, getattr(desc, "scale_bias", None) is not None)
    if of_integers is not sign_of and least == -most - 1:
        is_free |= numbers == least
    return {
        "output_tensor": Expectation(found.view(arrays["input_tensor"].dtype), free=is_free if is_free.any() else None)
    }


def round_to_whole(desc: DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, arrays: Arrays) -> dict[str, Formula]:
    """output[c...] = input[c...] as a whole number: of two that are as near the even one, the one nearer to zero, or
    the nearest one, of two the one farther from zero"""
    return compute(partial(functions.stepped, _ROUNDED[desc.rounding_mode]), desc, arrays)


def _half_away_from_zero(numbers: Array) -> Array:
    """x = whole + fraction; 2^52 and more have none, and adding a half to them would round."""
    xp = namespace(numbers)
    whole = xp.trunc(numbers)
    return xp.where(abs(numbers - whole) >= 0.5, whole + xp.sign(numbers), whole)


def sign(x: Enclosure) -> Enclosure:
    """-1, 0 or 1; as the page's formula has it, what is neither less nor greater than 0 gives 0"""
    found = functions.stepped(sign_of, x)
    return found if x.maybe_nan is None else either(found, found * 0.0)


def sign_of(numbers: Array) -> Array:
    xp = namespace(numbers)
    signed = numbers.dtype if xp.isdtype(numbers.dtype, "real floating") else xp.int64
    return xp.astype(numbers > 0, signed) - xp.astype(numbers < 0, signed)


def _rounding(name: str) -> Callable[[Array], Array]:
    """A function of the arrays' namespace."""
    return lambda numbers: getattr(namespace(numbers), name)(numbers)


_ROUNDED: dict[int, Callable[[Array], Array]] = {
    HALVES_TO_EVEN: _rounding("round"),
    TOWARD_ZERO: _rounding("trunc"),
    TOWARD_INFINITY: _half_away_from_zero,
}
_FUNCTIONS: dict[str, Callable[[Enclosure], Enclosure]] = {
    **{name: getattr(functions, name.lower()) for name in ("ACOS", "ACOSH", "ASIN", "ASINH", "ATAN", "ATANH", "COS")},
    **{name: getattr(functions, name.lower()) for name in ("COSH", "ERF", "EXP", "LOG", "SIN", "SINH", "TAN", "TANH")},
    **{name: partial(functions.stepped, _rounding(name.lower())) for name in ("CEIL", "FLOOR")},
    "RECIP": Enclosure.reciprocal,
}
OPERATORS: dict[str, Compute] = {
    **{f"ELEMENT_WISE_{name}": partial(compute, function) for name, function in _FUNCTIONS.items()},
    "ELEMENT_WISE_ABS": partial(compute_any, abs, np.abs),
    "ELEMENT_WISE_NEGATE": partial(compute_any, neg, np.negative),
    "ELEMENT_WISE_ROUND": round_to_whole,
    "ELEMENT_WISE_SIGN": partial(compute_any, sign, sign_of),
    "ELEMENT_WISE_SQRT": partial(compute, functions.sqrt, keeps_zero_signs=True),
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, cut_elementwise)
