"""Small worked values of all families: what is right of them, and what is not; torch gives what is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from family_cases import assert_conforms, described, example

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Tolerance
from dml_conformance.spec.field_kinds import ScaleBias, Size2d
from dml_conformance.spec.operators.attention import MASK_TYPE
from dml_conformance.spec.operators.reduce import FUNCTION
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.builders._fused import activation

INF, NAN = math.inf, math.nan
F32, F16 = np.float32, np.float16
FLOATS = (F32, F16)
I8, U8, I16, U16, I32, U32, I64, U64 = (np.dtype(f"{sign}{size}").type for size in (1, 2, 4, 8) for sign in "iu")
PI = math.pi


def sizes(kind: Any, *of: int) -> Any:
    """A tensor of another type than the lists are of."""
    return described("ACTIVATION_RELU", kind, input=of).input_tensor


class Example(NamedTuple):
    """A case and what is right of one of its outputs.

    Attributes:
        operator: its name.
        given: the members, as `example` takes them; lists are tensors of each of `kinds`.
        right: results of which every element is right, of None nothing is asked.
        wrong: results of which none is.
        kinds: the element types of lists.
        key: the output that this is about; "" for the first one.
        imprecise: results that are right, but not to who computes precisely.
    """

    operator: str
    given: dict[str, Any]
    right: Sequence[Any] = ()
    wrong: Sequence[Any] = ()
    kinds: Sequence[Any] = (F32,)
    key: str = ""
    imprecise: Sequence[Any] = ()


# Of pairs: operator, kinds, A, B, what is right, what is wrong.
PAIRS: list[tuple[str, Sequence[Any], Any, Any, list[Any], list[Any]]] = [
    ("ADD", FLOATS, INF, -INF, [NAN], [INF, 0]),
    ("ADD", FLOATS, 1, 2, [3], [3.01, NAN]),
    ("MULTIPLY", FLOATS, INF, 0, [NAN], [0]),
    ("DIVIDE", FLOATS, 1, 0, [INF], [-INF, NAN]),
    ("DIVIDE", FLOATS, -1, 0, [-INF], [INF]),
    ("DIVIDE", FLOATS, 0, 0, [NAN], [0]),
    ("DIVIDE", FLOATS, 1, 3, [1 / 3], [0.3343, 0.332]),
    ("MAX", FLOATS, NAN, -5, [-5, NAN], [0]),
    ("MIN", FLOATS, 5, NAN, [5, NAN], [0]),
    ("MAX", FLOATS, NAN, NAN, [NAN], [0, -INF]),
    ("MAX", FLOATS, 0, -0.0, [0, -0.0], [1]),
    ("DIFFERENCE_SQUARE", FLOATS, 1, 3, [4], [-4, -8]),
    ("MEAN", FLOATS, INF, -INF, [NAN], [0]),
    ("MEAN", [F16], 65504, 65504, [65504, INF], [-INF, 0]),
    ("MEAN", [F32], 2.0**127, 2.0**127, [2.0**127, INF], [-INF, 0]),
    ("MEAN", FLOATS, 16376, 16376, [16376], [INF]),
    # Remainders have the sign of one operand; a quotient that is whole may be below that.
    *(("MODULUS_TRUNCATE", FLOATS, a, b, [right], [-right]) for a, b, right in ((5, 3, 2), (-5, 3, -2), (5, -3, 2))),
    *(("MODULUS_FLOOR", FLOATS, a, b, [right], [-right]) for a, b, right in ((5, 3, 2), (-5, 3, 1), (5, -3, -1))),
    ("MODULUS_FLOOR", FLOATS, 6, 3, [0, 3], [-1, 4]),
    ("MODULUS_TRUNCATE", FLOATS, 5, INF, [5, NAN], [0]),
    ("MODULUS_TRUNCATE", FLOATS, 5, 0, [NAN], [5]),
    # Of FLOAT16 it may be one of FLOAT32, as the reciprocal of the divisor is beyond FLOAT16.
    ("MODULUS_FLOOR", [F16], -0.583, 173 * 2.0**-24, [-(2.0**-24), -173 * 2.0**-24], [200 * -173 * 2.0**-24]),
    # It may be a unit off, here a half of 4,729,355.001, or next to 1 by a subnormal reciprocal; but not two units.
    ("MODULUS_TRUNCATE", [F32], 60989252.0, 12.895892143249512, [-12.0], [-20.0]),
    ("MODULUS_FLOOR", [F32], 60989252.0, 12.895892143249512, [-12.0], [-20.0]),
    ("MODULUS_TRUNCATE", [F32], -1.69955336e38, 1.69955346e38, [2.0**103, 2.0**104, -1.69955336e38], [1.6e38]),
    ("MODULUS_TRUNCATE", [F16], 6.984375, -6.99609375, [6.984375], [6.984375 - 6.99609375]),
    ("MODULUS_TRUNCATE", [F16], -0.001, 0.00100613, [-0.001], [-0.001 + 0.00100613]),
    ("MODULUS_FLOOR", [F32], 1.3804425e-38, -1.3804418e-38, [-1.3804411e-38, 0], [1.2e-38]),
    ("MODULUS_FLOOR", [F32], 1.5e-38, -2.2e-38, [-0.7e-38], [1.5e-38]),
    # Quotients may be products with a reciprocal, which may be subnormal, or beyond FLOAT16.
    ("DIVIDE", [F32], 2.0**100, 2.0**126 * 1.5, [2.0**-26 / 1.5, 0], [2.0**-25, INF]),
    ("DIVIDE", [F16], 2.0**-24, 2.0**-24, [1, INF], [0.5, -INF]),
    *(
        ("ATAN_YX", FLOATS, y, x, [n * PI], [n * PI + 0.01, NAN])
        for y, x, n in (
            (1, 1, 0.25),
            (1, -1, 0.75),
            (-1, -1, -0.75),
            (-1, 1, -0.25),
            (0, -1, 1),
            (1, 0, 0.5),
            (0, 1, 0),
        )
    ),
    ("ATAN_YX", FLOATS, 0, 0, [0, PI, NAN, INF], []),
    ("ATAN_YX", FLOATS, NAN, 1, [NAN], [PI / 4]),
    *(("ATAN_YX", [F32], y, -1, [PI, -PI], []) for y in (-1e-39, 1e-39)),
    *(("ATAN_YX", [F32], y, 1, [0], [PI]) for y in (-1e-39, 1e-39)),
    ("ATAN_YX", [F16], -6e-8, -1, [-PI], [PI]),
    ("ATAN_YX", [F32], -2e-38, -1, [-PI], [PI]),
    ("ATAN_YX", [F32], 1.5e38, 5e36, [1.5374753, PI / 2], [PI / 2 + 0.01, 1.5274753]),
    ("ATAN_YX", [F32], 1.5e37, 5e35, [1.5374753], [PI / 2]),
    ("ADD", [I32], 2**31 - 1, 1, [-(2**31)], [2**31 - 1]),
    ("MULTIPLY", [U64], 2**40 + 1, 2**40 + 1, [2**41 + 1], [1]),
    ("DIVIDE", [I32], -7, 2, [-3], [-4]),
    ("MEAN", [I32], -7, 2, [-2, -3], [-1, -4]),
    ("MEAN", [U32], 3, 4, [3], [4]),
    ("MEAN", [I32], 2**31 - 1, 1, [2**30, -(2**30), 7], []),
    ("MODULUS_FLOOR", [I8], 5, 0, [0, 5, -1], []),
    ("MAX", [U8], 200, 100, [200], [100]),
    # Powers.
    *(
        ("POW", FLOATS, base, power, [right], [wrong])
        for base, power, right, wrong in (
            (2.0, 3.0, 8.0, 7.9),
            (-2.0, 3.0, -8.0, 8.0),
            (-2.0, 2.0, 4.0, -4.0),
            (-2.0, 0.5, NAN, 1.4142),
            (4.0, -0.5, 0.5, 2.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, NAN, INF),
            (INF, 0.0, NAN, INF),
            (1.0, NAN, 1.0, 0.0),
            (0.0, -1.0, INF, 0.0),
            (-0.0, -1.0, INF, NAN),
            (-INF, 0.5, NAN, -INF),
            (-INF, 3.0, -INF, INF),
            (NAN, 1.0, NAN, 1.0),
            (3.0, 1e4, INF, 1.0),
            (0.5, 1e4, 0.0, 1.0),
        )
    ),
]


def pair(name: str, kinds: Sequence[Any], a: Any, b: Any, right: list[Any], wrong: list[Any]) -> Example:
    members = ("input", "exponent") if name == "POW" else ("a", "b")
    return Example(f"ELEMENT_WISE_{name}", {members[0]: [a], members[1]: [b]}, right, wrong, kinds)


def quantized(x: Any, scale: Any, zero: Any, kind: Any, name: str = "QUANTIZE") -> tuple[str, dict[str, Any]]:
    given = {"input": np.array(x), "scale": np.array(scale), "zero_point": zero, "output": sizes(kind, len(x))}
    return f"ELEMENT_WISE_{name}_LINEAR", given


def added(a: Any, b: Any, by: float, zero: int | None, kind: Any = U8) -> tuple[str, dict[str, Any]]:
    """Of numbers, each with a scale and a zero point or none."""
    given: dict[str, Any] = {"output_scale": F32([by]), "output": sizes(kind, len(a[0]))}
    for name, (x, scale, point) in (("a", a), ("b", b)):
        given |= {name: np.array(x, kind), f"{name}_scale": F32([scale])}
        given[f"{name}_zero_point"] = None if point is None else np.array([point], kind)
    given["output_zero_point"] = None if zero is None else np.array([zero], kind)
    return "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", given


def fused(name: str, *attributes: float, **sum_: Any) -> tuple[str, dict[str, Any]]:
    members = [field for field in operators()[f"ACTIVATION_{name}"].fields if not field.is_tensor]
    chosen = activation(f"ACTIVATION_{name}", **{f.attribute: x for f, x in zip(members, attributes, strict=True)})
    return "ELEMENT_WISE_ADD1", {**sum_, "fused_activation": chosen}


TWO_16 = {"a": F16([60000]), "b": F16([60000])}
NEAR_16 = {"a": F16([2048]), "b": F16([1])}
SHRUNK = I8([-128, -127, -3, -2, 2, 3, 127])

# Of limits, of which those of integers are cut, those of NaN are none, and those out of order give either.
LIMITS: list[tuple[str, Sequence[Any], list[float], float, float, list[Any], list[Any]]] = [
    ("CLIP", (*FLOATS, I8, U8), [0, 1, 5, 6, 7, 100, 127], 1, 6, [(1, 1, 5, 6, 6, 6, 6)], [(0, 2, 4, 5, 7, 7, 7)]),
    ("CLIP1", (*FLOATS, I64, U64), [0, 1, 5, 6, 7, 100, 127], 1, 6, [(1, 1, 5, 6, 6, 6, 6)], [(0, 2, 4, 5, 7, 7, 7)]),
    ("CLIP", [U32], [2**31, 3], 4, 100, [(100, 4)], [(4, 3)]),
    ("CLIP1", [U32], [2**31, 3], 4, 100, [(100, 4)], [(4, 3)]),
    ("CLIP1", [I64], [0, 2**63 - 1], 2**53 + 1, 2**63 - 2, [(2**53 + 1, 2**63 - 2)], [(2**53, 2**63 - 1)]),
    ("CLIP", [I32], [-5, -2, 4], -2.75, 3.5, [(-2, -2, 3)], [(-3, -3, 4)]),
    ("THRESHOLD", [I32], [-5, -2], -2.75, INF, [(-3, -2), (-2, -2)], [(-4, -3), (-1, -1)]),
    ("CLIP", [U8], [1, 2], -1, 3, [0, 255], []),
    ("CLIP", [U8], [1, 2], 0, 300, [0, 255], []),
    ("CLIP", [U8], [1, 2], NAN, 3, [0, 255], []),
    ("CLIP", [U8], [1, 2], -INF, INF, [0, 255], []),
    ("CLIP", (I16, F32), [0, 9], 4, 2, [2, 4], [0, 9]),
    ("CLIP1", (I16, F32), [0, 9], 4, 2, [2, 4], [0, 9]),
    ("CLIP", FLOATS, [NAN], -1.0, 2.0, [NAN, -1, 2], [3, -2]),
    ("THRESHOLD", FLOATS, [NAN], 2.0, INF, [NAN, 2], [0]),
    ("CLIP", FLOATS, [-7, 1], NAN, 0.5, [(-7, 0.5)], [(-6, 1)]),
    ("CLIP", [F16], [0, 1, INF], 0.1, 1e6, [(0.1, 1, INF), (0.1, 1, 65504)], [(0.2, 2, NAN)]),
    ("CLIP", [F16], [INF], 0.0, INF, [INF], [65504]),
    ("THRESHOLD", [F16], [1], 1e6, INF, [INF, 65504], [65472]),
]


def limited(
    name: str, kinds: Sequence[Any], x: list[float], low: float, high: float, right: list[Any], wrong: list[Any]
) -> Example:
    members = {"min": low} if name == "THRESHOLD" else {"min": low, "max": high}
    return Example(f"ELEMENT_WISE_{name}", {"input": x, **members}, right, wrong, kinds)


# Of gradients: the operator, kinds, what was read, the gradients, limits.
PASSED: list[tuple[str, Sequence[Any], list[float], list[float], Sequence[float], list[Any], list[Any]]] = [
    *(
        (name, (I8, U64, *FLOATS), [0, 1, 2, 5, 6, 7], [3] * 6, (1, 6), [(0, 0, 3, 3, 0, 0)], [(3, 3, 0, 2, 3, 3)])
        for name in ("CLIP_GRAD", "CLIP_GRAD1")
    ),
    ("CLIP_GRAD", FLOATS, [NAN, 0], [5, NAN], (-1.0, 1.0), [(0, NAN), (5, NAN)], [(NAN, 0)]),
    ("CLIP_GRAD1", FLOATS, [NAN, 0], [5, NAN], (-1.0, 1.0), [(0, NAN), (5, NAN)], [(NAN, 0)]),
    ("CLIP_GRAD", FLOATS, [3], [5], (NAN, 1.0), [0], [5]),
    ("CLIP_GRAD1", FLOATS, [3], [5], (NAN, 1.0), [0], [5]),
    # Integers at a limit with a fraction, or one that FLOAT32 has not, are open.
    ("CLIP_GRAD", [I32], [-3, -2, 3, 4], [7] * 4, (-2.75, 3.5), [(0, 7, 7, 0), (0, 0, 0, 0)], [(7, None, None, 7)]),
    ("CLIP_GRAD", [I64], [2**24 + 1, 2**24 + 3], [7, 7], (2.0**24, 2.0**40), [(0, 7), (7, 7)], [(None, 0)]),
    ("RELU_GRAD", (I8, I32, *FLOATS), [0, 1, -1], [5, 6, 7], (), [(0, 6, 0)], [(5, 5, 7)]),
    ("RELU_GRAD", [F32], [NAN, 1e-40, 1], [5, 6, NAN], (), [(5, 6, NAN), (0, 0, NAN)], [(-1, -1, 0)]),
]


def passed(
    name: str, kinds: Sequence[Any], x: Any, gradient: Any, limits: Sequence[float], right: list[Any], wrong: list[Any]
) -> Example:
    members = dict(zip(("min", "max"), limits, strict=False))
    room = "ACTIVATION" if name == "RELU_GRAD" else "ELEMENT_WISE"
    return Example(f"{room}_{name}", {"input": x, "input_gradient": gradient, **members}, right, wrong, kinds)


ELEMENT_WISE = [
    *(pair(*row) for row in PAIRS),
    *(
        Example(f"ELEMENT_WISE_{name}", {"a": np.full(13, 0x7D00, U16).view(F16), "b": np.full(13, 3, F16)}, [3])
        for name in ("MAX", "MIN")  # signaling NaN are dropped wherever they stand
    ),
    *(
        Example(f"ELEMENT_WISE_{name}", {"a": np.repeat(ends, 8), "b": np.tile(ends, 8)})
        for name in ("DIVIDE", "MODULUS_FLOOR", "MODULUS_TRUNCATE")
        for ends in [np.array([0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], U64)]
    ),
    # Powers of integers, and powers of floats by integers; bases keep their sign however much they are moved.
    Example(
        "ELEMENT_WISE_POW",
        {"input": I32([2, 3, -3, 5, 7]), "exponent": F32([5, 0.5, 3, -1, 0])},
        [(32, 1, -27, 0, 1), (31, 2, -26, 0, 1)],
        [(33, 0, 27, 1, 2), (30, 3, -28, None, None)],
    ),
    Example("ELEMENT_WISE_POW", {"input": I32([8]), "exponent": F32([1 / 3])}, [2, 1], [3]),
    Example("ELEMENT_WISE_POW", {"input": I8([11, -2, 0]), "exponent": F16([3, 0.5, -1])}, [127, -128]),
    Example(
        "ELEMENT_WISE_POW",
        {"input": F32([-1.5, -2, 1]), "exponent": I32([3, -2, -(2**31)])},
        [(-3.375, 0.25, 1)],
        [(3.375, -0.25, -1)],
    ),
    Example(
        "ELEMENT_WISE_POW",
        {"input": F32([-0.5, -1.25, -2]), "exponent": F32([16, 101, -5])},
        [(0.5**16, -(1.25**101), -(2.0**-5))],
        [(-(0.5**16), 1.25**101, 2.0**-5), (0.5**16 * 1.001, -(1.25**101) * 1.001, -(2.0**-5) * 1.001)],
    ),
    Example(
        "ELEMENT_WISE_POW",
        {"input": F16([-15.5, 0]), "exponent": F32([1e-39, 1e-39])},
        [(NAN, 0), (1, NAN), (1, 1)],
        [(2, INF)],
    ),
    Example(
        "ELEMENT_WISE_POW",
        {"input": I8([-128, -1, 2, 3, 11, 11]), "exponent": I8([1, -3, 7, 4, 2, 3])},
        [(-128, -1, 127, 81, 121, 127), (-128, -1, -128, 81, 121, -128)],
        [(127, 1, None, 80, 120, None)],
    ),
    Example("ELEMENT_WISE_CONSTANT_POW", {"input": F16([-1, 1]), "exponent": 2049.0}, [(-1, 1), (1, 1)], [(2, 2)]),
    *(limited(*each) for each in LIMITS),
    *(passed(*each) for each in PASSED),
    Example(
        "ELEMENT_WISE_CLIP",
        {"input": [-4, 1, 4], "min": -1.0, "max": 6.0, "scale_bias": ScaleBias(3.0, -1.0)},
        [(-1, 2, 6)],
        [(-4, 1, 11)],
    ),
    # Bits and truth.
    Example(
        "ELEMENT_WISE_BIT_SHIFT_LEFT",
        {"a": U16([0x8001] * 5), "b": U16([0, 15, 16, 17, 65535])},
        [(0x8001, 0x8000, 0, 0, 0), (0x8001, 0x8000, 7, 7, 7)],
        [(1, 1, None, None, None)],
    ),
    Example(
        "ELEMENT_WISE_BIT_SHIFT_RIGHT",
        {"a": U16([0x8001] * 5), "b": U16([0, 15, 16, 17, 65535])},
        [(0x8001, 1, 0, 0, 0), (0x8001, 1, 7, 7, 7)],
        [(1, 0, None, None, None)],
    ),
    *(
        Example(
            f"ELEMENT_WISE_LOGICAL_{name}",
            {"a": [NAN] * 4 + [0, 0, INF], "b": [NAN, 0, INF, -INF, NAN, -0.0, -INF], "output": sizes(U8, 7)},
            [(0, 0, 0, 0, 0, zeros, infinities)],
            [(1, 1, 1, 1, 1, 1 - zeros, 1 - infinities)],
            FLOATS,
        )
        for name, zeros, infinities in (
            ("EQUALS", 1, 0),
            ("GREATER_THAN", 0, 1),
            ("LESS_THAN", 0, 0),
            ("GREATER_THAN_OR_EQUAL", 1, 1),
            ("LESS_THAN_OR_EQUAL", 1, 0),
        )
    ),
    Example(
        "ELEMENT_WISE_LOGICAL_LESS_THAN",
        {"a": F32([1e-40, 0, 0, 1e-40]), "b": F32([1e-40, 1e-40, 1, -1]), "output": sizes(U8, 4)},
        [(0, 0, 1, 0), (0, 1, 1, 0)],
        [(1, 2, 0, 1)],
    ),
    Example(
        "ELEMENT_WISE_LOGICAL_LESS_THAN",
        {"a": F16([6e-8, 0, 0, 6e-8]), "b": F16([6e-8, 6e-8, 1, -1]), "output": sizes(U8, 4)},
        [(0, 1, 1, 0)],
        [(1, 0, 0, 1)],
    ),
    *(
        Example(
            "ELEMENT_WISE_LOGICAL_GREATER_THAN",
            {"a": of([least]), "b": of([1]), "output": sizes(U8, 1)},
            [int(least > 0)],
            [int(least < 0)],
        )
        for of, least in (
            (I8, -(2**7)),
            (U8, 2**7),
            (I16, -(2**15)),
            (U16, 2**15),
            (I32, -(2**31)),
            (U32, 2**31),
            (I64, -(2**63)),
            (U64, 2**63),
        )
    ),
    Example(
        "ELEMENT_WISE_IDENTITY",
        {"input": [3, 4], "scale_bias": ScaleBias(0.1, 1.0)},
        [(1.3, 1.4)],
        [(1.300001, 1.400001), (1.299999, 1.399999)],
    ),
    # Subnormal numbers of FLOAT32 may be flushed, those of FLOAT16 are kept.
    *(
        Example(f"ELEMENT_WISE_{name}", {"input": [x]}, [kept], [2], imprecise=[flushed])
        for name, x, kept, flushed in (
            ("ABS", -1e-40, 1e-40, 0),
            ("NEGATE", 1e-40, -1e-40, 0),
            ("SIGN", -1e-40, -1, 0),
            ("CEIL", 1e-40, 1, 0),
            ("FLOOR", -1e-40, -1, 0),
            ("RECIP", 2e38, 5e-39, 0),
            ("RECIP", 2.0**-127, 2.0**127, INF),
            ("LOG", 1e-40, -92.10340371976183, -INF),
            ("SQRT", 2.0**-130, 2.0**-65, 0),
            ("EXP", -100, 3.720075976020836e-44, 0),
        )
    ),
    Example("ELEMENT_WISE_RECIP", {"input": [-1e-40]}, [-INF], [INF]),
    *(
        Example(f"ELEMENT_WISE_{name}", {"input": F16([6e-8, -6e-5])}, [], [(None, 0)])
        for name in ("ABS", "NEGATE", "SIGN", "TAN", "ATAN")
    ),
    Example("ELEMENT_WISE_SIGN", {"input": F16([6e-8, -6e-8])}, [(1, -1)], [0]),
    # The least integer has no absolute value, and no opposite.
    *(
        Example(f"ELEMENT_WISE_{name}", {"input": I8([-128, -127, -1, 0, 1, 127])}, [right], [wrong])
        for name, right, wrong in (
            ("SIGN", (-1, -1, -1, 0, 1, 1), (1, 0, 1, 1, 0, 0)),
            ("ABS", (77, 127, 1, 0, 1, 127), (None, -127, -1, 1, -1, -127)),
            ("ABS", (-3, 127, 1, 0, 1, 127), (None, 0, 0, 1, 0, 0)),
            ("NEGATE", (77, 127, 1, 0, -1, -127), (None, -127, -1, 1, 1, 127)),
            ("NEGATE", (-3, 127, 1, 0, -1, -127), (None, 0, 0, 1, 0, 0)),
        )
    ),
    Example("ELEMENT_WISE_SIGN", {"input": U8([128, 255, 0])}, [(1, 1, 0)], [(255, 0, 1)]),
    Example("ELEMENT_WISE_ABS", {"input": I32([-3, 4]), "scale_bias": ScaleBias(0.5, 0.0)}, [7, -9]),
    # Shrunk integers are exact or open.
    Example(
        "ACTIVATION_SHRINK",
        {"input": SHRUNK, "bias": -1.0, "threshold": 2.0},
        [(7, -128, -4, 0, 0, 4, 7), (0, -128, -4, 0, 0, 4, 0)],
        [(None, -127, -2, 1, 1, 2, None)],
    ),
    Example("ACTIVATION_SHRINK", {"input": SHRUNK, "bias": 0.5, "threshold": 2.0}, [7, -9]),
]

# Of -inf, inf and NaN: what is right; a NaN is demanded where it stands alone.
AT_INFINITY: list[tuple[str, dict[str, float], Any, Any, list[Any]]] = [
    ("CELU", {"alpha": 0.5}, -0.5, INF, [0, NAN]),
    ("ELU", {"alpha": 0.5}, -0.5, INF, [NAN]),
    ("GELU", {}, NAN, INF, [NAN]),
    ("HARD_SIGMOID", {"alpha": 0.2, "beta": 0.5}, 0, 1, [0, 1, NAN]),
    ("HARD_SWISH", {"alpha": 0.2, "beta": 0.5}, NAN, INF, [NAN]),
    ("LEAKY_RELU", {"alpha": -0.5}, INF, INF, [NAN]),
    ("LINEAR", {"alpha": -2.0, "beta": 0.5}, INF, -INF, [NAN]),
    ("PARAMETRIC_SOFTPLUS", {"alpha": 2.0, "beta": 0.5}, 0, INF, [NAN]),
    ("RELU", {}, 0, INF, [0, NAN]),
    ("SCALED_ELU", {"alpha": 0.5, "gamma": 2.0}, -1, INF, [NAN]),
    ("SCALED_TANH", {"alpha": 2.0, "beta": -0.5}, 2, -2, [NAN]),
    ("SHRINK", {"bias": 0.5, "threshold": 0.5}, -INF, INF, [0]),
    ("SIGMOID", {}, 0, 1, [NAN]),
    ("SOFTPLUS", {"steepness": 2.0}, 0, INF, [NAN]),
    ("SOFTSIGN", {}, NAN, NAN, [NAN]),
    ("SWISH", {"sigmoid_input_scale": 1.0}, NAN, INF, [NAN]),
    ("TANH", {}, -1, 1, [NAN]),
    ("THRESHOLDED_RELU", {"alpha": 1.0}, 0, INF, [0]),
]

ACTIVATIONS = [
    *(
        Example(
            f"ACTIVATION_{name}",
            {"input": [-INF, INF, NAN], **members},
            [(low, high, each) for each in nan],
            [
                (0.25 if low != low else NAN, 0.25 if high != high else NAN, None),
                (low + 3 if abs(low) < 9 else 1, high - 3 if abs(high) < 9 else 1, 3),
            ],
            FLOATS,
        )
        for name, members, low, high, nan in AT_INFINITY
    ),
    Example("ACTIVATION_SOFTPLUS", {"input": [100, 1000, 1e30], "steepness": 1.0}, [(100, 1000, 1e30)], [INF, NAN]),
    Example(
        "ACTIVATION_PARAMETRIC_SOFTPLUS", {"input": [1000, 1e30], "alpha": 2.0, "beta": 0.5}, [(1000, 1e30)], [INF, NAN]
    ),
    Example("ACTIVATION_TANH", {"input": [-45, -1e30, 1e30]}, [(-1, -1, 1)], [INF, NAN]),
    Example("ACTIVATION_SWISH", {"input": [-100, -1e30, 1e30], "sigmoid_input_scale": 1.0}, [(0, 0, 1e30)], [INF, NAN]),
    Example("ACTIVATION_GELU", {"input": [-1e30, 1e30]}, [(0, 1e30)], [INF, NAN]),
    Example("ACTIVATION_SIGMOID", {"input": [-1e30, 1e30]}, [(0, 1)], [INF, NAN]),
    # What is at a threshold is not above it.
    Example("ACTIVATION_THRESHOLDED_RELU", {"input": [1, 1 + 2.0**-23], "alpha": 1.0}, [(0, 1 + 2.0**-23)], [(1, 0)]),
    Example(
        "ACTIVATION_SHRINK",
        {"input": [0.5, -0.5, 0.75, -0.75], "bias": 0.25, "threshold": 0.5},
        [(0, 0, 0.5, -0.5)],
        [(0.25, -0.25, 0, 0)],
    ),
    # A comparison may take a subnormal number for 0, which a slope is compared with nothing for.
    *(
        Example(
            f"ACTIVATION_{name}",
            {"input": [-1e-39, -2e-38], "alpha": 0.0},
            [0],
            [(-2e-39, -2e-38)],
            imprecise=[(-1e-39, 0)],
        )
        for name in ("LEAKY_RELU", "ELU")
    ),
    *(
        Example(f"ACTIVATION_{name}", {"input": F16([-6e-8]), "alpha": 0.0}, [0], [-6e-8])
        for name in ("LEAKY_RELU", "ELU")
    ),
    Example(
        "ACTIVATION_PARAMETERIZED_RELU",
        {"input": [-1e-39, -1e-39, -4], "slope": [-4, 0, -1e-39]},
        [(4e-39, 0, 4e-39)],
        [(4.1e-39, 1e-42, 4.1e-39), (-1.1e-39, -1.1e-39, -1e-42)],
    ),
    Example(
        "ACTIVATION_PARAMETERIZED_RELU",
        {"input": [-3, 2, 0], "slope": [5, 7, 3]},
        [(-15, 2, 0)],
        [(-3, 14, 3)],
        (I8, I16, I32, *FLOATS),
    ),
    Example("ACTIVATION_PARAMETERIZED_RELU", {"input": I8([-128, -2]), "slope": I8([2, 100])}, [1, 99]),
    Example("ACTIVATION_CELU", {"input": [1, -1], "alpha": 0.0}, [7, NAN]),
    Example("ACTIVATION_SOFTPLUS", {"input": [1, -1], "steepness": 0.0}, [7, NAN]),
    # Activations of sums, whose sum is infinite in FLOAT16 or not, rounded or not, flushed or not.
    Example(*fused("TANH", a=[INF], b=[-INF]), [NAN], [0], FLOATS),
    Example(*fused("RELU", a=[NAN, -1], b=[1, -2]), [(NAN, 0), (0, 0)], [(1, -3)], FLOATS),
    Example(*fused("THRESHOLDED_RELU", 0.5, a=[NAN], b=[1]), [0], [NAN], FLOATS),
    Example(*fused("IDENTITY", a=[1], b=[2]), [3], [0], FLOATS),
    Example(*fused("LINEAR", 0.25, 0.0, **TWO_16), [30000, INF], [NAN]),
    Example(*fused("LINEAR", 0.0, 1.0, **TWO_16), [1, NAN]),
    Example(*fused("SIGMOID", **TWO_16), [1], [NAN]),
    Example(*fused("SOFTSIGN", **TWO_16), [1, NAN]),
    Example(*fused("LINEAR", 1.0, -2048.0, **NEAR_16), [0, 1, 2], [32, -32]),
    Example(*fused("ELU", INF, a=[-1], b=[0]), [0, 1, NAN]),
    Example(*fused("LINEAR", 2.0**24, 0.0, a=[1.5 * 2.0**-126], b=[-(2.0**-126)]), [2.0**-103, 0], [1]),
    # Rows.
    *(
        Example(f"ACTIVATION_{name}", {"input": row}, [right], [wrong], FLOATS)
        for name, row, right, wrong in (
            ("SOFTMAX", [0, NAN, 1], NAN, 0),
            ("SOFTMAX", [-INF, -INF], NAN, 0),
            ("SOFTMAX", [INF, INF], NAN, 0),
            ("SOFTMAX", [-INF, 0], (0, 1), (NAN, NAN)),
            ("SOFTMAX", [0, INF, -INF], (NAN, NAN, NAN), (1, 0, 1)),
            ("SOFTMAX", [0, INF, -INF], (0, NAN, 0), (1, 1, 1)),
            ("LOG_SOFTMAX", [0, INF, -INF], (-INF, NAN, -INF), (1, -INF, 1)),
            ("LOG_SOFTMAX", [0, NAN, 1], NAN, -INF),
            ("LOG_SOFTMAX", [-INF, -INF], NAN, -INF),
            ("LOG_SOFTMAX", [-INF, 0], (-INF, 0), NAN),
        )
    ),
    Example("ACTIVATION_SOFTMAX", {"input": [1000, 1000, -1000, -3e38]}, [(0.5, 0.5, 0, 0)], [NAN, 0.50001]),
    Example(
        "ACTIVATION_LOG_SOFTMAX",
        {"input": [1000, 1000, -1000, -3e38]},
        [(-math.log(2), -math.log(2), -2000 - math.log(2), -3e38)],
        [NAN, -INF],
    ),
    Example(
        "ACTIVATION_LOG_SOFTMAX",
        {"input": F16([-4, 0])},
        [(-4.01815, -0.01815)],
        [(-4.03, -0.013)],
        imprecise=[(-4.018, -math.log(1043 / 1024))],
    ),
    Example("ACTIVATION_SOFTMAX1", {"input": [[3, -7]], "axes": ()}, [1], [0.9, NAN]),
]

PAD = {"padding_mode": 0, "start_padding": (1,), "end_padding": (0,)}
REGION = {"input_pixel_offset": 0.5, "output_pixel_offset": -0.5, "out_of_bounds_input_value": -7.0}
REGION |= {"batch_indices": U32([0]), "spatial_scale_x": 1.0, "spatial_scale_y": 1.0, "align_regions_to_corners": False}


def row(*numbers: Any, kind: Any = F32) -> Any:
    """An image of one row; of None nothing is asked."""
    return np.array(numbers, object if None in numbers else kind).reshape(1, 1, 1, -1)


def pooled(
    name: str, image: Any, count: int, size: int, step: int = 1, before: int = 0, **more: Any
) -> tuple[str, Any]:
    """Windows along the last dimension, with padding before it; versions have dilations of 1."""
    given = {"input": image, "output": (1, 1, 1, count), "window_size": (1, size), "strides": (1, step)}
    given |= {"start_padding": (0, before), "end_padding": (0, 0)}
    if name in ("AVERAGE_POOLING1", "QUANTIZED_LINEAR_AVERAGE_POOLING"):
        given["dilations"] = (1, 1)
    return name, given | more


def pooled_integers(
    numbers: Any,
    zero: int | None,
    count: int,
    size: int,
    before: int,
    is_counted: bool,
    scale: float = 1.0,
    by: float = 1.0,
) -> tuple[str, Any]:
    one = (1, 1, 1, 1)
    more = {
        "input_scale": np.full(one, scale, F32),
        "output_scale": np.full(one, by, F32),
        "include_padding": is_counted,
    }
    more |= {"output": sizes(I8, 1, 1, 1, count), "input_zero_point": None if zero is None else np.full(one, zero, I8)}
    return pooled("QUANTIZED_LINEAR_AVERAGE_POOLING", row(*numbers, kind=I8), count, size, 1, before, **more)


def convolved(x: Any, filters: Any, count: int, direction: int, kind: Any = F32, **more: Any) -> tuple[str, Any]:
    given = {"strides": (1,), "dilations": (1,), "start_padding": (0,), "end_padding": (0,), "output_padding": (0,)}
    given |= {"mode": 1, "direction": direction, "group_count": 1, "output": sizes(kind, 1, 1, count)}
    return "CONVOLUTION", {"input": np.array([x], kind), "filter": np.array([filters], kind), **given, **more}


def multiplied(a: Any, b: Any, c: Any = None, kind: Any = F32, **more: Any) -> tuple[str, Any]:
    given = {
        "a": np.array([a], kind),
        "b": np.array(b, kind).reshape(-1, 1),
        "c": None if c is None else np.array([[c]], kind),
    }
    return "GEMM", {"output": sizes(kind, 1, 1), "trans_a": 0, "trans_b": 0, "alpha": 1.0, "beta": 1.0, **given, **more}


def quotient(total: int, scale: float, zero: int | None = None, of: float = 1.0) -> tuple[str, Any]:
    """Of a whole number and 1, whose scales are `of` and 1 / `of`, by a scale."""
    given = {
        "a": I8([[total]]),
        "b": I8([[1]]),
        "a_scale": F32([of]),
        "b_scale": F32([1 / of]),
        "output_scale": F32([scale]),
    }
    return "QUANTIZED_LINEAR_MATRIX_MULTIPLY", given | {"output_zero_point": None if zero is None else I8([zero])}


def reduced(name: str, kind: Any, *numbers: Any) -> tuple[str, Any]:
    output = sizes(U32 if name.startswith("ARG") else kind, 1, 1)
    return "REDUCE", {"function": FUNCTION[name], "input": np.array([numbers], kind), "output": output, "axes": (1,)}


def scanned(name: str, *numbers: float, direction: int = 0, kind: Any = F32) -> tuple[str, Any]:
    exclusive = "has_exclusive_" + ("sum" if name == "SUMMATION" else "product")
    return f"CUMULATIVE_{name}", {
        "input": row(*numbers, kind=kind),
        "axis": 3,
        "axis_direction": direction,
        exclusive: False,
    }


WINDOWS = [
    Example(
        *pooled("AVERAGE_POOLING1", row(3, 5, 7, 9), 2, 2, 2, 1, include_padding=False), [row(3, 6)], [row(1.5, 6.01)]
    ),
    Example(
        *pooled("AVERAGE_POOLING1", row(3, 5, 7, 9), 2, 2, 2, 1, include_padding=True), [row(1.5, 6)], [row(3, 6.01)]
    ),
    Example(
        *pooled("AVERAGE_POOLING1", row(3), 2, 1, 1, 1, include_padding=False), [row(NAN, 3), row(0, 3)], [row(1, NAN)]
    ),
    Example(*pooled("AVERAGE_POOLING1", row(3), 2, 1, 1, 1, include_padding=True), [row(0, 3)], [NAN]),
    Example(
        *pooled(
            "AVERAGE_POOLING", F16([[[[65504, 65504]]]]), 1, 2, include_padding=False, output=sizes(F16, 1, 1, 1, 1)
        ),
        [65504],
        [INF],
    ),
    *(
        Example(
            "MAX_POOLING_GRAD",
            {
                "input": x,
                "input_gradient": row(2, 3),
                "output_gradient": (1, 1, 1, 4),
                "window_size": (1, 2),
                "strides": (1, 2),
                "start_padding": (0, 0),
                "end_padding": (0, 0),
                "dilations": (1, 1),
            },
            right,
            wrong,
        )
        for x, right, wrong in (
            (row(0, -0.0, -1, NAN), [row(2, 0, 3, 0), row(0, 2, 0, 3)], [row(3, 3, 4, 4), row(-1, -1, -1, -1)]),
            (row(7, 7, -1, -1), [row(2, 0, 3, 0)], [row(0, 2, 0, 3)]),
        )
    ),
    Example(
        *pooled("MAX_POOLING1", row(NAN, -5, NAN, NAN, 0, -0.0), 4, 2, 2, 2),
        [row(NAN, NAN, NAN, 0), row(7, -5, NAN, 0)],
        [row(None, -4, None, NAN), row(None, 0, None, 1)],
    ),
    Example(
        *pooled("MAX_POOLING1", row(NAN, -5, NAN, NAN, 0, -0.0), 4, 2, 2, 2, output_indices=sizes(U32, 1, 1, 1, 4)),
        [0, 9],
        key="output_indices_tensor",
    ),
    Example(*pooled("LP_POOLING", row(3, -5), 1, 2, p=1), [-2, 8, NAN], [9, -3]),
    Example(*pooled("LP_POOLING", row(3, -4), 1, 2, p=2), [5], [5.001, NAN]),
    Example(*pooled_integers([16], 6, 1, 2, 1, True), [5], [4, 6]),
    Example(*pooled_integers([16], 6, 1, 2, 1, False), [10], [9, 5]),
    Example(*pooled_integers([16], 6, 2, 1, 1, False), [row(0, 10), row(99, 10)], [row(None, 9)]),
    Example(*pooled_integers([16], 6, 2, 1, 1, True), [row(0, 10)], [row(1, 11)]),
    Example(*pooled_integers([1, 2, -2], None, 2, 2, 0, False), [row(1, 0), row(2, 0)], [row(0, 1), row(3, -1)]),
    Example(*pooled_integers([100, 100], None, 1, 2, 0, False, 4.0), [127], [126]),
    Example(*pooled_integers([10, 20], None, 1, 2, 0, False, 0.1, 0.3), [5], [4, 6]),
    *(Example(*pooled_integers([1, 2], None, 1, 2, 0, False, 1.0, by), [7, -9]) for by in (0.0, INF, NAN, 1e-40)),
    *(
        Example(
            "ROI_POOLING",
            {
                "input": np.arange(1, 13, dtype=F32).reshape(2, 1, 1, 6),
                "roi": F32([[rows]]),
                "output": (len(rows), 1, 1, columns),
                "spatial_scale": 1.0,
                "pooled_size": Size2d(width=columns, height=1),
            },
            [np.reshape(r, (-1, 1, 1, columns)) for r in right],
            [np.reshape(w, (-1, 1, 1, columns)) for w in wrong],
        )
        for rows, columns, right, wrong in (
            ([[0, 1, 0, 3, 0], [1, 0, 0, 0, 0]], 1, [[4, 7]], [[5, 8], [3, 6]]),
            ([[0, 0, 0, 4, 0]], 2, [[3, 5]], [[2, 4], [4, 6]]),
            ([[0, 0.5, 0, 0.5, 0], [0, 1.5, 0, 1.5, 0]], 1, [[1, 3], [2, 3]], [[3, 2]]),
            ([[0, -4, 0, 2, 0], [0, 4, 0, 90, 0]], 1, [[3, 6]], [[2, 5]]),
            ([[0, 7, 0, 9, 0]], 1, [[INF], [-5]], []),
            ([[0, 3, 0, 1, 0]], 1, [[INF], [-5]], []),
            ([[2, 0, 0, 1, 0]], 1, [[INF], [-5]], []),
            ([[0, NAN, 0, 1, 0]], 1, [[INF], [-5]], []),
        )
    ),
]

SUMS = [
    # Output padding is 0 where nothing reaches it; beside an infinite weight padding is open; sums are of FLOAT32.
    Example(
        *convolved([[1, 2]], [[3, 5]], 5, 1, strides=(2,), output_padding=(1,)),
        [[[(3, 5, 6, 10, 0)]]],
        [[[(4, 4, 5, 9, 1)]]],
    ),
    Example(
        *convolved([[1, 2]], [[3, 5]], 4, 1, strides=(2,), end_padding=(1,), output_padding=(1,)),
        [[[(3, 5, 6, 10)]], [[(3, 5, 6, -7)]]],
        [[[(4, 4, 5, None)]]],
    ),
    Example(
        *convolved([[1, 2]], [[INF, 1]], 2, 0, start_padding=(1,)), [[[(NAN, INF)]], [[(1, INF)]]], [[[(None, 1)]]]
    ),
    Example(*convolved([[2048]] + [[1]] * 2048, [[1]] * 2049, 1, 0, F16), [4096], [2048], imprecise=[4092]),
    # What is multiplied by 0 is read or not; products may be rounded to FLOAT16 before C is added, and sums in parts.
    Example(*multiplied([2], [3], INF, beta=0.0), [6, NAN], [7]),
    Example(*multiplied([NAN], [3], 6, alpha=0.0), [6, NAN], [7]),
    Example(*multiplied([2048, *(1,) * 8], [1] * 9, kind=F16), [2056], [2048]),
    Example(*multiplied([60000, 60000], [1, -1], kind=F16), [0], [INF]),
    Example(
        *multiplied([1 + 3 * 2.0**-10], [1 + 3 * 2.0**-10], -1, F16),
        [(1 + 3 * 2.0**-10) ** 2 - 1],
        [5 * 2.0**-10],
        imprecise=[6 * 2.0**-10],
    ),
    Example(*multiplied([300], [300], -60000, F16), [30000, INF, 5504], [5500]),
    Example(*multiplied([15] * 128, [1] * 128, kind=F16), [1920], [1919, 1921]),
    Example(*multiplied([1000] * 64 + [-1000] * 64 + [60, 1], [60] * 130, kind=F16), [3660], [], imprecise=[NAN]),
    Example(
        "MATRIX_MULTIPLY_INTEGER",
        {
            "a": np.full((1, 33_100), 255, U8),
            "b": np.repeat([[255, 1]], 33_100, 0).astype(U8),
            "output": sizes(I32, 1, 2),
        },
        [[(0, 255 * 33_100)], [(7, 255 * 33_100)]],
        [[(None, 0)]],
    ),
    *(
        Example(*quotient(total, scale, zero, of), [right], [right - 1, right and right - 2])
        for total, scale, zero, right in ((5, 2.0, None, 2), (7, 2.0, 1, 5), (-5, 2.0, 0, -2), (100, 0.5, 3, 127))
        for of in (1.0, -0.25)
    ),
    Example(*quotient(15, 10.0), [1, 2], [0, 3]),
    *(Example(*quotient(5, scale), [77, -99]) for scale in (0.0, INF, NAN, 1e-40)),
    Example(
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        {
            "a": np.full((1, 8), 77, U8),
            "b": np.ones((8, 1), U8),
            "a_scale": F16([0.3]),
            "b_scale": F16([1]),
            "output": sizes(F16, 1, 1),
        },
        [77 * 8 * float(F16(0.3)), float(F16(77 * float(F16(0.3)))) * 8],
        [float(F16(77 * float(F16(0.3)))) * 8 + 1],
    ),
    Example(
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        {
            "a": np.ones((1, 2304), U8),
            "b": np.ones((2304, 1), U8),
            "a_scale": F16([1]),
            "b_scale": F16([1]),
            "output": sizes(F16, 1, 1),
        },
        [2304],
        [2048],
    ),
    *(
        Example(*reduced(name, kind, *numbers), [right], [wrong])
        for name, numbers, kind, right, wrong in (
            ("ARGMAX", (1, 3, 3), F32, 1, 2),
            ("ARGMIN", (1, 3, 1), I8, 0, 2),
            ("SUM", (2**31 - 1, 2), I32, -(2**31) + 1, 2**31 - 1),
            ("L1", (-3, 2), I64, 5, -1),
            ("MULTIPLY", (2**63, 3), U64, 2**63, 0),
            ("MULTIPLY", (-3.0, 5.0), F16, -15.0, 15.0),
            ("SUM", (2048.0, *(1.0,) * 8), F16, 2056.0, 2048.0),
            ("SUM", (60000.0, 60000.0, -60000.0), F16, 60000.0, INF),
            ("LOG_SUM_EXP", (1000.0, 0.0), F32, 1000.0, INF),
            ("LOG_SUM_EXP", (INF, 0.0), F32, INF, 0.0),
            ("AVERAGE", (1.0, 2.0), F32, 1.5, 3.0),
            ("MAX", (-0.5, -7.0), F32, -0.5, 0.0),
        )
    ),
    *(
        Example(*scanned("SUMMATION", 3, -5, 2, 7, kind=kind), [row(3, -2, 0, 7)], [row(3.1, -1, 1, 8)])
        for kind in FLOATS
    ),
    *(
        Example(*scanned("PRODUCT", 3, -0.5, 2, 7, direction=1, kind=kind), [row(-21, -7, 14, 7)], [row(21, 7, 15, 8)])
        for kind in FLOATS
    ),
    Example(
        *scanned("PRODUCT", 1e30, 1e30, 1e-30, 0, 2),
        [row(1e30, INF, INF, 0, 0), row(1e30, INF, 1e30, NAN, NAN)],
        [row(INF, 1e38, 1, 1, 1)],
    ),
    Example(
        *scanned("PRODUCT", -1e-30, 1e-30, 1e30, 3),
        [row(-1e-30, 0, 0, 0), row(-1e-30, 0, -1e-30, -3e-30)],
        [row(0, 1e-30, 1e-30, NAN)],
    ),
    Example(*scanned("SUMMATION", 1, INF, 1, -INF, 1), [row(1, INF, INF, NAN, NAN)], [row(2, 0, 0, 0, 0)]),
    *(
        Example(*scanned(name, *numbers, direction=direction))
        for numbers in ([1, NAN, 0], [2, INF, 0, 1], [0, 3e38, 3e38, -3e38], [1e-45, 1e38, 1e38])
        for name in ("SUMMATION", "PRODUCT")
        for direction in (0, 1)
    ),
    Example(
        "FOLD",
        {
            "input": F32([[[0, 0, 1], [0.25, 2.0**-24, 0], [2.0**-24, 0, 0]]]),
            "output": (1, 1, 3),
            "window_sizes": (3,),
            "strides": (1,),
            "dilations": (1,),
            "start_padding": (1,),
            "end_padding": (1,),
        },
        [[[(0.25, 1, 0)]], [[(0.25, 1 + 2.0**-23, 0)]]],
        [[[(0.5, 1 - 2.0**-23, 1)]], [[(0, 1 + 2.0**-21, NAN)]]],
    ),
]

QUANTIZED = [
    Example(
        *quantized(F32([4.5, 4.6, 45]), F32([3, 3, 3]), U8([0] * 3), U8),
        [(2, 2, 15), (1, 2, 15)],
        [(3, 1, 14), (0, 3, 16)],
    ),
    Example(
        *quantized(F32([NAN, 1, 1, 1, 1, INF, -INF]), F32([1, 0, INF, NAN, 1e-40, 1, 1]), I8([0] * 7), I8),
        [(7, 7, 7, 7, 7, 127, -128), (-9, -9, -9, -9, -9, 127, -128)],
        [(None,) * 5 + (126, -127)],
    ),
    *(
        Example(
            *quantized(kind([5, 10, 100, 0]), to([0.5, -0.25, 3, 7]), kind([10, 5, 0, 0]), to, "DEQUANTIZE"),
            [(-2.5, -1.25, 300, 0)],
            [(None if kind is U32 else 2.5, 1.25, 301, 1)],
        )
        for kind in (I8, U8, I16, U16, I32, U32)
        for to in FLOATS
    ),
    Example(
        *quantized(U32([5, 10]), F32([0.5, INF]), U32([10, 5]), F32, "DEQUANTIZE"),
        [(9, INF), (NAN, INF)],
        [(None, -INF)],
    ),
    # Integers of 32 bits may be rounded first; what is beyond FLOAT16 may be cut.
    Example(
        *quantized(I32([2**24 + 1, 2**31 - 1, 9]), F32([1] * 3), I32([2**24, -1, 1]), F32, "DEQUANTIZE"),
        [(1, 2**31, 8), (0, NAN, 8)],
        [(9, None, 9)],
    ),
    Example(
        *quantized(I32([60000, -60000, 60000]), F16([4, 4, INF]), None, F16, "DEQUANTIZE"),
        [(65504, -65504, INF), (INF, -INF, INF)],
        [(65408, 65504, 65504), (NAN, 0, NAN)],
    ),
    Example(*quantized(I32([60000]), F32([1e38]), None, F32, "DEQUANTIZE"), [INF], [float(np.finfo(F32).max)]),
    Example(*quantized(U8([5, 5]), F32([0, 1]), None, F32, "DEQUANTIZE"), [(0, 5), (NAN, 5)], [(None, 4)]),
    Example(*added(([1, 0, 5], INF, None), ([1, 0, 5], -INF, None), 1.0, None), [7, 9]),
    Example(*added(([1, 0, 5], 1.0, None), ([1, 0, 5], 1.0, None), 0.0, None), [7, 9]),
    Example(
        *added(([1, 0, 5], INF, None), ([1, 0, 5], 1.0, 9), 1.0, None), [(255, 3, 255), (255, 9, 255)], [(254, None, 0)]
    ),
    # Of the whole numbers 0 counts as an element, or does not; what has no range is open.
    *(
        Example(
            "DYNAMIC_QUANTIZE_LINEAR",
            {"input": F32(x), "output": sizes(kind, len(x)), "output_scale": (1,), "output_zero_point": sizes(kind, 1)},
            right,
            wrong,
            key=key,
        )
        for kind, x, key, right, wrong in (
            (U8, [10, 20, 15], "output_tensor", [(128, 255, 191), (255, 255, 255)], []),
            (U8, [10, 20, 15], "output_scale_tensor", [20 / 255, 10 / 255], [30 / 255]),
            (U8, [10, 20, 15], "output_zero_point_tensor", [0], [1]),
            *(
                (I8, x, key, [3, 9], [])
                for x in ([0, -0.0], [3, 3], [1, INF], [1, NAN], [1e-44, -1e-44])
                for key in ("output_tensor", "output_scale_tensor", "output_zero_point_tensor")
            ),
        )
    ),
]

MOVED = [
    # Constants that their type does not have lose their fraction, lie beside it, or are open.
    *(
        Example(
            "PADDING",
            {"input": np.zeros(1, kind), "output": sizes(kind, 2), "padding_value": value, **PAD},
            [(r, 0) for r in right],
            [(w, None) for w in wrong],
        )
        for kind, value, right, wrong in (
            (I32, 10.6, [10], [11]),
            (I8, -10.6, [-10], [-11]),
            (U8, 255.5, [255], [0]),
            (U8, -0.75, [0], [255]),
            (I8, 127.9, [127], [126]),
            (I32, -(2.0**31), [-(2**31)], [0]),
            (I64, 2.0**62, [2**62], [0]),
            (F32, 0.5, [0.5], [0]),
            (np.float64, -INF, [-INF], [0]),
            (F16, 65504.0, [65504], [INF]),
            (U8, 256.0, [0, 77], []),
            (I8, -129.0, [0, 77], []),
            (I32, 2.0**31, [0, 77], []),
            (U16, NAN, [0, 77], []),
            (F16, 0.1, [0.0999755859375, 0.10003662109375], [0.09991455078125, 0.10009765625]),
            (F16, 1e-7, [0, 2.0**-24, 2.0**-23], [-(2.0**-24), 3 * 2.0**-24]),
            (F16, 65520.0, [65504, INF], [65472, NAN]),
        )
    ),
    *(
        Example(
            "PADDING1",
            {"input": np.zeros(1, kind), "output": sizes(kind, 2), "padding_value": value, **PAD},
            [(value, 0)],
            [(0, None)],
        )
        for kind, value in (
            (I8, -128),
            (U8, 255),
            (I16, -(2**15)),
            (U32, 2**32 - 1),
            (I64, 2**63 - 1),
            (U64, 2**64 - 1),
            (F16, -INF),
            (F32, NAN),
        )
    ),
    *(
        Example(
            "DIAGONAL_MATRIX",
            {"output": sizes(kind, 2, 2), "offset": offset, "value": value},
            [np.array(right)],
            [np.array(wrong)],
        )
        for kind, offset, value, right, wrong in (
            (I8, 0, 10.6, [[10, 0], [0, 10]], [[11, 1], [1, 11]]),
            (I32, 1, -2.75, [[0, -2], [0, 0]], [[1, -3], [1, 1]]),
            (F32, -1, 2.5, [[0, 0], [2.5, 0]], [[1, 1], [0, 1]]),
            (U8, 0, 300.0, [[7, 0], [0, 9]], [[None, 1], [1, None]]),
            (U8, 0, -1.0, [[7, 0], [0, 9]], [[None, 1], [1, None]]),
            (I32, 0, NAN, [[7, 0], [0, 9]], [[None, 1], [1, None]]),
            (I8, 2**31 - 1, 1.0, [[0, 0], [0, 0]], [[1, 1], [1, 1]]),
            (I8, -(2**31), 1.0, [[0, 0], [0, 0]], [[1, 1], [1, 1]]),
        )
    ),
    *(
        Example(
            "FILL_VALUE_SEQUENCE",
            {"output": sizes(kind, 1, 4), "value_start": start, "value_delta": delta},
            [[r] for r in right],
            [[w] for w in wrong],
        )
        for kind, start, delta, right, wrong in (
            (U8, 254, 1, [(254, 255, 0, 1)], [(255, 0, 1, 2)]),
            (U64, 1, 2**64 - 1, [(1, 0, 2**64 - 1, 2**64 - 2)], [(2, 1, 0, 0)]),
            (I8, 126, 1, [(126, 127, 5, -7)], [(125, 126, None, None)]),
            (I64, 2 - 2**63, -1, [(2 - 2**63, 1 - 2**63, -(2**63), 7)], [(0, 0, 0, None)]),
            (F16, 2046.0, 1.0, [(2046, 2047, 2048, 2048), (2046, 2047, 2048, 2050)], [(2047, 2048, 2046, None)]),
            (
                F32,
                2.0**24,
                2.0,
                [(2.0**24, 2.0**24 + 2, 2.0**24 + 4, 2.0**24 + 6)],
                [(0, 2.0**24, 2.0**24 + 2, 2.0**24 + 4)],
            ),
            (
                F32,
                float(F32(0.1)),
                float(F32(0.1)),
                [tuple(F32(0.1) * F32(n) for n in (1, 2, 3, 4)), (F32(0.1), *np.cumsum(F32([0.1] * 4))[1:])],
                [(0.2, 0.3, 0.4, 0.5)],
            ),
            (F32, -1.0, 0.0, [-1], [0]),
        )
    ),
    *(
        Example(
            "ONE_HOT",
            {"indices": kind([[index]]), "values": F32([[5, 9]]), "output": sizes(F32, 1, 4), "axis": 1},
            [right],
            [wrong],
        )
        for kind, index, right, wrong in (
            (I32, 0, [(9, 5, 5, 5)], [(5, 9, 9, 9)]),
            (U32, 3, [(5, 5, 5, 9)], [(9, 9, 9, 5)]),
            (U32, 2**32 - 1, [5], [9]),
            (U64, 2**63, [5], [9]),
            (I64, 4, [5], [9]),
            (I64, -1, [(5, 5, 5, 9)], [(9, 9, 9, 5)]),
            (I32, -4, [(9, 5, 5, 5)], [(5, 9, 9, 9)]),
        )
    ),
    *(
        Example("SCATTER", {"input": [0, 0, 0], "indices": I32([0, index]), "updates": [1, 1], "axis": 0}, [0, 77])
        for index in (3, -4)
    ),
    # What has no order is open where it is selected.
    *(
        Example(
            "TOP_K1",
            {
                "input": F32([x]),
                "output_value": (1, 2),
                "output_index": sizes(U32, 1, 2),
                "axis": 1,
                "k": 2,
                "axis_direction": 1,
            },
            right,
            wrong,
            key=key,
        )
        for x, key, right, wrong in (
            *(
                (x, key, [0, 77], [])
                for x in ([1, NAN, 2], [0, -0.0, -1])
                for key in ("output_value_tensor", "output_index_tensor")
            ),
            ([1e-40, -1, -2], "output_value_tensor", [[(77, None)]], []),
            ([1e-40, -1, -2], "output_index_tensor", [[(77, None)]], []),
            ([0, 0, -1], "output_index_tensor", [[(0, 1)]], [[(1, 2)]]),
            ([INF, -INF, 0], "output_index_tensor", [[(0, 2)]], [[(2, 1)]]),
            ([0, -0.0, 1, 2], "output_index_tensor", [[(3, 2)]], [[(2, 3)]]),
        )
    ),
    *(
        Example("ARGMAX", {"input": F32(x), "output": sizes(I64, 1), "axes": (0,), "axis_direction": 0}, right, wrong)
        for x, right, wrong in (
            ([1, NAN], [0, 1], []),
            ([NAN], [0], [1]),
            ([0, -0.0], [0, 1], []),
            ([-1, 0, 0], [1], [0, 2]),
            ([0, -0.0, 1], [2], [0]),
        )
    ),
    *(
        Example(
            "ARGMAX",
            {
                "input": I32([[[0], [1], [2]], [[3], [4], [5]]]),
                "output": sizes(I64, *of),
                "axes": axes,
                "axis_direction": 0,
            },
            right,
            wrong,
        )
        for axes, of, right, wrong in (
            ((0, 1), (1, 1, 1), [5], [2]),
            ((1, 0), (1, 1, 1), [5, 0], []),
            ((2, 0), (1, 3, 1), [1], [0]),
        )
    ),
]


def attended(*keys: float, kind: Any = F32, **more: Any) -> tuple[str, dict[str, Any]]:
    """One head of one element and one query, 1, which has the keys as scores; values are 1, 2, ..."""
    given = {"query": np.ones((1, 1, 1), kind), "key": np.array(keys, kind).reshape(1, -1, 1), "scale": 1.0}
    given |= {"value": np.arange(1, len(keys) + 1).reshape(1, -1, 1).astype(kind), "output": sizes(kind, 1, 1, 1)}
    given |= {"mask_filter_value": -10000.0, "head_count": 1, "mask_type": MASK_TYPE.NONE}
    return "MULTIHEAD_ATTENTION", {**given, **more}


def masked(kind: str, mask: Any, *keys: float, **more: Any) -> tuple[str, dict[str, Any]]:
    return attended(*keys, mask=np.array(mask, I32), mask_type=MASK_TYPE[kind], **more)


def unit(name: str, x: Any, weights: Any, kind: Any = F32, **more: Any) -> tuple[str, dict[str, Any]]:
    """Sequences of single elements, and states of one: gates of 1/2 but for weights, and the identity.

    The states of RNN are 2 x + h, those of GRU x + 3/4 h, the cells of LSTM c / 2 + x + h / 2, and half of that is h.
    """
    functions = {"RNN": ("IDENTITY",), "GRU": ("SIGMOID", "IDENTITY"), "LSTM": ("SIGMOID", "IDENTITY", "IDENTITY")}
    x = np.array(x, kind).reshape(1, len(x), -1, 1)
    given = {"input": x, "weight": np.array(weights, kind).reshape(1, 1, -1, 1), "direction": 0}
    given["recurrence"] = np.array([*weights[:-1], weights[-1] / 2], kind).reshape(1, 1, -1, 1)
    given["output_sequence"] = sizes(kind, x.shape[1], 1, x.shape[2], 1)
    given["output_single"] = sizes(kind, 1, 1, x.shape[2], 1)
    given["activation_descs"] = tuple(activation(f"ACTIVATION_{one}") for one in functions[name])
    if name == "LSTM":
        given |= {"output_cell_single": given["output_single"], "clip_threshold": 0.0, "use_clip_threshold": False}
        given["couple_input_forget"] = False
    if name == "GRU":
        given["linear_before_reset"] = False
    return name, {**given, **more}


def cell(**more: Any) -> tuple[str, dict[str, Any]]:
    """One step of an LSTM from the cell state 2 with gates of 0 or 1, all 1 but for their peepholes: to 2 + 3."""
    step = activation("ACTIVATION_HARD_SIGMOID", alpha=1.0, beta=0.0)
    functions = (step, *[activation("ACTIVATION_IDENTITY")] * 2)
    return unit("LSTM", [[1]], (1, 1, 1, 3), cell_mem_init=F32([[[[2]]]]), activation_descs=functions, **more)


SINGLE, CELL = "output_single_tensor", "output_cell_single_tensor"
LENGTHS = U32([2, 1]).reshape(1, 1, 1, 2)
FROM_0, FROM_1 = [(1, 2), (3, 4)], (0, 0, 2)
TO_THIRD = np.array([1024, 0, 0], F16).reshape(1, 3, 1)
GRU_BIAS = F32([0, 0, 0, 0, 0, 4]).reshape(1, 1, 1, 6)
NEXT = 1.0 + 3 * 2.0**-10

NETWORKS = [
    Example(*masked("KEY_SEQUENCE_LENGTH", [[2]], 0, 0, 0, 0), [1.5], [2]),
    Example(*masked("KEY_SEQUENCE_END_START", [[3], [1]], 0, 0, 0, 0), [2.5], [2, 3]),
    Example(*masked("KEY_SEQUENCE_END_START", [[2], [3]], 0, 0, 0, 0), [2.5], [2, 3]),  # all is masked alike
    Example(*masked("BOOLEAN", [[[[0, 1, 0, 1]]]], 0, 0, 0, 0), [3], [2.5]),
    # The filter is added to scores of 1 and 3, or set; what means nothing is open.
    Example(
        *masked("BOOLEAN", [[[[1, 0]]]], 1, 3, mask_filter_value=-1.0),
        [1 + 1 / (1 + math.exp(-1)), 1 + 1 / (1 + math.exp(2))],
        [1.75, 1.11],
    ),
    *(Example(*masked("BOOLEAN", [[[[1, other]]]], 0, 0), [NAN]) for other in (2, -1)),
    Example(*masked("BOOLEAN", [[[[1, 0]]]], 0, 0), [1], [NAN]),
    Example(*masked("KEY_QUERY_SEQUENCE_LENGTH_START_END", [[1, 0, 1, 0, 2]], 0, 0), [NAN]),
    Example(
        *attended(1, 2, bias=F32([0, 4, 0]), output_present_key=(1, 1, 2, 1)),
        [[[[(1,), (2,)]]], [[[(5,), (6,)]]]],
        [[[[(6,), (7,)]]]],
        key="output_present_key_tensor",
    ),
    Example(*attended(0, 0, 0, kind=F16, value=TO_THIRD), [341.25, 341.5], [342]),
    Example(*attended(0, 0, relative_position_bias=np.full((1, 1, 1, 2), -INF, F32)), [NAN, 0], [1.5]),
    # Each sequence ends at its own end, in either direction; what stands behind it is open.
    *(
        Example(*unit(name, FROM_0, weights, direction=direction, sequence_lengths=LENGTHS), [right], [wrong], key=key)
        for name, weights, of_step in (
            ("RNN", (2,), lambda x, h: (2 * x + h, 2 * x + h)),
            ("GRU", (0, 0, 2), lambda x, h: (x + 0.75 * h, x + 0.75 * h)),
        )
        for direction, first, second in ((0, 1, 3), (1, 3, 1))
        for key, right, wrong in (
            (SINGLE, [[[[of_step(second, of_step(first, 0)[0])[0]], [of_step(2, 0)[0]]]]], [[[[99], [98]]]]),
        )
    ),
    Example(
        *unit("LSTM", FROM_0, (0, 0, 0, 2), sequence_lengths=LENGTHS),
        [[[[[1.875], [1]]]]],
        [[[[[3], [2]]]]],
        key=SINGLE,
    ),
    Example(
        *unit("LSTM", FROM_0, (0, 0, 0, 2), sequence_lengths=LENGTHS), [[[[[3.75], [2]]]]], [[[[[5], [3]]]]], key=CELL
    ),
    Example(
        *unit("GRU", FROM_0, FROM_1, sequence_lengths=LENGTHS),
        [[[[[1], [2]]], [[[3.75], [NAN]]]], [[[[1], [2]]], [[[3.75], [7]]]]],
        [[[[[2], [1]]], [[[3], [None]]]]],
    ),
    # The reset is before the product, or after the bias: half of 2 + 4, and half of 2 + 4 / 2.
    *(
        Example(
            *unit("GRU", [[1]], FROM_1, bias=GRU_BIAS, linear_before_reset=is_linear), [right], [5 - right], key=SINGLE
        )
        for is_linear, right in ((False, 3), (True, 2))
    ),
    # States of FLOAT16 are rounded between steps or not, and what gates are computed of only to who is not precise.
    Example(
        *unit("GRU", [[1], [2.0**-11]], FROM_1, kind=F16, hidden_init=F16([[[[2.0**-10]]]])),
        [0.75 * (1 + 0.75 * 2.0**-10) + 2.0**-11, 0.75 * (1 + 2.0**-10) + 2.0**-11],
        [0.75 + 5 * 2.0**-10],
        key=SINGLE,
    ),
    Example(
        *unit("GRU", [[NEXT]], (0, 0, NEXT), kind=F16, bias=F16([0, 0, -1, 0, 0, 0]).reshape(1, 1, 1, 6)),
        [(NEXT**2 - 1) / 2],
        [5 * 2.0**-11],
        key=SINGLE,
        imprecise=[3 * 2.0**-10],
    ),
    # The output gate sees the cell state before or after; coupled gates forget what is not let in.
    Example(*cell(peephole=F32([0, -0.25, 0]).reshape(1, 1, 1, 3)), [2.5, 0], [5], key=SINGLE),
    Example(*cell(peephole=F32([0, -0.25, 0]).reshape(1, 1, 1, 3)), [5], [4], key=CELL),
    Example(*cell(peephole=F32([0, 0, 0]).reshape(1, 1, 1, 3)), [5], [0, 2.5], key=SINGLE),
    Example(*cell(use_clip_threshold=True, clip_threshold=1.5), [3.5], [5], key=CELL),
    Example(*cell(use_clip_threshold=True, clip_threshold=1.5), [3.5, 1.5], [5], key=SINGLE),
    *(Example(*cell(use_clip_threshold=True, clip_threshold=x), [17], key=CELL) for x in (-1.0, NAN)),
    Example(*cell(couple_input_forget=True), [3], [5], key=CELL),
]

LAYERS = [
    Example(
        "LP_NORMALIZATION",
        {"input": row(3, -4), "axis": 3, "epsilon": 1.0, "p": 2},
        [row(3 / 6, -4 / 5), row(3 / 5, -4 / 6)],
        [row(0.61, -0.81), row(0.49, -0.66)],
    ),
    Example(
        "LP_NORMALIZATION",
        {"input": row(3, -4), "axis": 3, "epsilon": 1.0, "p": 1},
        [row(3 / 8, -4 / 7), row(3 / 7, -4 / 8)],
        [row(0.44, -0.58), row(0.37, -0.49)],
    ),
    Example(
        "LP_NORMALIZATION",
        {"input": [[[[0, 0]], [[0, 2]]]], "axis": 3, "epsilon": 0.0, "p": 2},
        [[[[(0, NAN)], [(0, 1)]]]],
        [[[[(1, 1)], [(NAN, 0)]]]],
    ),
    Example(
        "LP_NORMALIZATION",
        {"input": [[[[0, 0]], [[0, 2]]]], "axis": 3, "epsilon": 0.5, "p": 2},
        [[[[(0, 0)], [(0, 0.8)]]]],
        [NAN],
    ),
    *(
        Example(
            "LOCAL_RESPONSE_NORMALIZATION",
            {"input": F32(x), "cross_channel": is_cross, "local_size": 2, "alpha": 1.0, "beta": 1.0, "bias": bias},
            [np.reshape(r, np.shape(x)) for r in right],
            [np.reshape(w, np.shape(x)) for w in wrong],
        )
        for x, is_cross, bias, right, wrong in (
            ([[[[1]], [[2]], [[3]]]], True, 1.0, [[1 / 3.5, 2 / 7.5, 3 / 5.5]], [[1 / 1.5, 2 / 3.5, 3 / 7.5]]),
            ([[[[1, 2]]]], False, 1.0, [[1 / 3.5, 2 / 3.5], [1 / 1.25, 1]], [[0.285, 0.571], [0.801, 1.001]]),
            ([[[[1]], [[0]], [[0]], [[0]]]], True, 0.0, [[2, 0, 7, 7]], [[1, None, None, None]]),
        )
    ),
    Example(
        "VALUE_SCALE_2D",
        {"input": np.arange(12, dtype=F32).reshape(1, 3, 2, 2), "scale": 3.0, "bias": (1.0, -2.0, 5.0)},
        [3 * np.arange(12).reshape(1, 3, 2, 2) + np.reshape([1, -2, 5], (3, 1, 1))],
        [3 * np.arange(12).reshape(1, 3, 2, 2)],
    ),
    Example(
        "VALUE_SCALE_2D",
        {"input": np.ones((1, 1, 1, 1), F16), "scale": 1.0, "bias": (2049.0,)},
        [2048, 2050],
        [2046, 2052],
    ),
    # Epsilon is inside the root, and the variance that of all; of FLOAT16 mean and variance may be rounded.
    *(
        Example(
            name,
            {"input": np.array(x, kind).reshape(1, 1, 1, -1), "epsilon": epsilon, **more, **extra},
            [row(*r) for r in right],
            [row(*w) for w in wrong],
            imprecise=[row(*r) for r in imprecise],
        )
        for name, more in (
            ("MEAN_VARIANCE_NORMALIZATION", {"cross_channel": False, "normalize_variance": True}),
            ("MEAN_VARIANCE_NORMALIZATION1", {"axes": (3,), "normalize_variance": True}),
            ("MEAN_VARIANCE_NORMALIZATION2", {"axes": (3,), "use_mean": True, "use_variance": True}),
        )
        for kind, x, epsilon, extra, right, wrong, imprecise in (
            (F32, [-1, 1, 3, 5], 4.0, {}, [(-1, -1 / 3, 1 / 3, 1)], [(-1.01, -0.3, 0.3, 1.01)], []),
            (
                F16,
                [1024, 1024, 1025],
                0.0,
                {},
                [(-(0.5**0.5), -(0.5**0.5), 2**0.5)],
                [],
                [(0, 0, 3**0.5)],
            ),
            (F16, np.array([-2, 1, 2]) * 2.0**-24, 0.0, {}, [], [], [np.array([-2, 1, 2]) / 3**0.5]),
            (
                F16,
                [-0.001, 0.001],
                0.0,
                {},
                [(-1, 1)],
                [(-1.04, 1.04), (-0.98, 0.98)],
                [(-1.0242, 1.0242), (-0.9937, 0.9937)],
            ),
            (F16, [-300, 300], 0.0, {}, [(-1, 1)], [(-1.18, 1.18)], [(-(300 / 65504**0.5), 300 / 65504**0.5), (0, 0)]),
            *(
                (kind, x, epsilon, {}, [], [], [])
                for x in ([2, 2, 2], [1, INF, 0], [NAN, 1])
                for kind in FLOATS
                for epsilon in (0.0, 1.0)
            ),
        )
    ),
    Example(
        "MEAN_VARIANCE_NORMALIZATION1",
        {"input": row(1024, 1024, 1025, kind=F16), "axes": (3,), "normalize_variance": False, "epsilon": 0.0},
        [row(-1 / 3, -1 / 3, 2 / 3)],
        [row(-1, -1, 0)],
        imprecise=[row(0, 0, 1)],
    ),
    Example(
        "MEAN_VARIANCE_NORMALIZATION1",
        {"input": row(-1, 1, 3, 5), "axes": (3,), "normalize_variance": False, "epsilon": 0.0},
        [row(-3, -1, 1, 3)],
        [row(-1, -1 / 3, 1 / 3, 1)],
    ),
    *(
        Example(
            "MEAN_VARIANCE_NORMALIZATION2",
            {"input": row(3, 5), "axes": (3,), "use_mean": has_mean, "use_variance": is_divided, "epsilon": 0.0},
            [row(*r) for r in right],
            [row(*w) for w in wrong],
        )
        for has_mean, is_divided, right, wrong in (
            (False, True, [(3 / 17**0.5, 5), (3, 5 / 17**0.5)], [(0.72, 5.01), (3.01, 1.2)]),
            (False, False, [(3, 5)], [(-1, 1)]),
            (True, True, [(-1, 1)], [(3, 5)]),
        )
    ),
    *(
        Example(
            "MEAN_VARIANCE_NORMALIZATION",
            {
                "input": F32([[[x]] for x in ([0, 2], [6, 8])]).reshape(1, 2, 1, 2),
                "cross_channel": is_cross,
                "normalize_variance": False,
                "epsilon": 0.0,
            },
            [F32(right).reshape(1, 2, 1, 2)],
            [F32(wrong).reshape(1, 2, 1, 2)],
        )
        for is_cross, right, wrong in ((False, [-1, 1, -1, 1], [-4, -2, 2, 4]), (True, [-4, -2, 2, 4], [-1, 1, -1, 1]))
    ),
    Example(
        "BATCH_NORMALIZATION_TRAINING",
        {
            "input": F32([[[[1]]], [[[3]]]]),
            "scale": F32([[[[1]]]]),
            "bias": F32([[[[0]]]]),
            "output_mean": (1, 1, 1, 1),
            "output_variance": (1, 1, 1, 1),
            "epsilon": 0.25,
        },
        [1],
        [2],
        key="output_variance_tensor",
    ),
    # A tie goes to the higher coordinate, or in gradients either way; averages of whole numbers are exact.
    *(
        Example(
            name,
            {"input": U8([1, 2, 3, 4]), "output": sizes(U8, 2), "interpolation_mode": 0, "scales": (0.5,), **more},
            [(2, 4)],
            [(1, 3)],
        )
        for name, more in (
            ("RESAMPLE", {}),
            ("RESAMPLE1", {"input_pixel_offsets": (0.5,), "output_pixel_offsets": (-0.5,)}),
        )
    ),
    Example(
        "RESAMPLE2",
        {
            "input": np.arange(9, dtype=U8),
            "output": sizes(U8, 3),
            "interpolation_mode": 0,
            "rounding_direction": 1,
            "scales": (float(F32(1 / 3)),),
            "input_pixel_offsets": (0.5,),
            "output_pixel_offsets": (-0.5,),
        },
    ),
    Example(
        "UPSAMPLE_2D",
        {
            "input": row(0, 4, 8),
            "output": (1, 1, 1, 6),
            "scale_size": Size2d(width=2, height=1),
            "interpolation_mode": 1,
        },
        [row(0, 1, 3, 5, 7, 8)],
        [row(1, 2, 4, 4, 8, 7)],
    ),
    Example(
        "RESAMPLE_GRAD",
        {
            "input_gradient": row(1, 2),
            "output_gradient": (1, 1, 1, 4),
            "interpolation_mode": 0,
            "scales": (1.0, 1.0, 1.0, 0.5),
            "input_pixel_offsets": (0.5,) * 4,
            "output_pixel_offsets": (-0.5,) * 4,
        },
        [row(1, 0, 2, 0), row(0, 1, 0, 2), 0],
        [row(2, 2, 3, 3), -1],
    ),
    *(
        Example(
            "RESAMPLE_GRAD1",
            {
                "input_gradient": F32(given),
                "output_gradient": (count,),
                "interpolation_mode": mode,
                "scales": (scale,),
                "input_pixel_offsets": (offset,),
                "output_pixel_offsets": (-offset,),
                **more,
            },
            right,
            wrong,
        )
        for given, count, mode, scale, offset, more, right, wrong in (
            ([1, 2], 4, 0, 0.5, 0.5, {"rounding_direction": 0}, [(0, 1, 0, 2)], [(1, 0, 2, 0)]),
            (
                [1, INF, 2, -INF, INF, 4, 5, 6, 7, 8, NAN, 9],
                6,
                0,
                2.0,
                0.0,
                {"rounding_direction": 1},
                [(INF, -INF, INF, 11, 15, NAN)],
                [(1, 2, 4, 10, 14, 9)],
            ),
            ([1, INF, 2, -INF, INF, 4, 5, 6, 7, 8, NAN, 9], 6, 1, 2.0, 0.0, {"rounding_direction": 1}, [NAN], []),
        )
    ),
    *(
        Example(
            "ROI_ALIGN1",
            {
                "input": np.arange(16, dtype=F32).reshape(1, 1, 4, 4),
                "roi": F32([corners]),
                "output": (1, 1, *np.shape(right[0])),
                "reduction_function": function,
                "interpolation_mode": mode,
                **REGION,
                "minimum_samples_per_output": least,
                "maximum_samples_per_output": most,
                **more,
            },
            [[[r]] for r in right],
            [[[w]] for w in wrong],
        )
        for corners, function, mode, least, most, more, right, wrong in (
            (
                [0, 1, 4, 3],
                2,
                1,
                1,
                1,
                {},
                [[(4.5, 6.5), (8.5, 10.5)]],
                [[(4.6, 6.4), (8.6, 10.4)]],
            ),  # from height, not width
            ([0, 0, 4, 4], 2, 1, 2, 2, {}, [[(2.5, 4.5), (10.5, 12.5)]], [[(2.6, 4.6), (10.4, 12.6)]]),
            ([0, 0, 4, 4], 2, 1, 1, 9, {}, [[(2.5, 4.5), (10.5, 12.5)]], [[(2.6, 4.6), (10.4, 12.6)]]),
            (
                [4, 0, 0, 4],
                2,
                1,
                1,
                1,
                {},
                [[(3, 2, 1, 0), (7, 6, 5, 4), (11, 10, 9, 8), (15, 14, 13, 12)]],
                [[(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15)]],
            ),
            ([1.5, 1.5, 1.5, 1.5], 2, 1, 1, 1, {}, [[(5, 5), (5, 5)]], [[(4.9, 4.9), (5.1, 5.1)]]),
            (
                [-4, 0, 4, 1],
                2,
                0,
                1,
                1,
                {},
                [[(-7, -7, -7, -7, 0, 1, 2, 3)], [(-7, -7, -7, 0, 0, 1, 2, 3)]],
                [[(0, 0, 0, 1, 1, 0, 1, 2)]],
            ),
            ([-2, 0, 2, 1], 7, 1, 4, 4, {"out_of_bounds_input_value": 9.0}, [[(2.5,)], [(9,)]], [[(2.4,)], [(9.1,)]]),
            ([1, 0, 3, 1], 2, 0, 1, 1, {}, [[(1,)], [(2,)]], [[(0.9,)], [(2.1,)]]),
            (
                [0, 0, 4, 4],
                2,
                1,
                1,
                1,
                {"align_regions_to_corners": True},
                [[(-7, 0), (8, 15)]],
                [[(-8, -9), (None, 16)]],
            ),
            ([0, 0, 2, 2], 2, 1, 1, 1, {"batch_indices": U32([2])}, [[(INF,)], [(-7,)]], []),
        )
    ),
]

EXAMPLES = [*ELEMENT_WISE, *ACTIVATIONS, *WINDOWS, *SUMS, *QUANTIZED, *MOVED, *NETWORKS, *LAYERS]


def asked(result: Any) -> tuple[Any, Any]:
    """A result, and of which elements it is asked."""
    flat = np.array(result, object)
    return np.where(flat == None, 0, flat), flat != None  # noqa: E711


@pytest.mark.few(len(EXAMPLES))
@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row.operator)
def test_worked_values(row: Example) -> None:
    for kind in row.kinds:
        run = example(row.operator, kind, **row.given)
        for results, is_right in ((row.right, True), (row.imprecise, True), (row.wrong, False)):
            for values, where in map(asked, results):
                assert (run.holds(values, row.key) == is_right)[
                    np.broadcast_to(where, run.holds(values, row.key).shape)
                ].all(), (kind, values)
        for values, _ in map(asked, row.imprecise):
            assert not run.holds(values, row.key, PRECISE).all(), (kind, values)
        assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize("tolerance", [DIRECTML, PRECISE], ids=lambda tolerance: tolerance.name)
def test_what_filters_a_score_may_be_added_to_its_bias_first(tolerance: Tolerance) -> None:
    """Of a filter of -10,000 that is rounded twice, each time by as much as 2^-11."""
    scores, biases = F32([1.5, 1.0]) * F32(2.0**-10), F32([1.5, -3.0]) * F32(2.0**-10)
    operator, given = masked("BOOLEAN", [[[[0, 0]]]], *scores, relative_position_bias=biases.reshape(1, 1, 1, 2))
    one, other = map(float, scores + (biases + F32(-10_000)))
    value = 1 + 1 / (1 + math.exp(one - other))
    assert example(operator, **given).holds(value, tolerance=tolerance).all()
    assert not example(operator, **given).holds(value - 0.01, tolerance=tolerance).any()


def test_what_is_subnormal_is_multiplied_with_its_error() -> None:
    """A softplus of one unit more or less comes to three units; a hundred of them are too many."""
    least, alpha = 2.0**-149, 3.0
    run = example("ACTIVATION_PARAMETRIC_SOFTPLUS", input=[-92.0], alpha=alpha, beta=1.0)
    exact = round(math.exp(-92.0) / least)
    for more, is_right in ((-3, True), (0, True), (3, True), (100, False), (-100, False)):
        assert run.holds(alpha * (exact + more) * least, tolerance=PRECISE).tolist() == [is_right], more
