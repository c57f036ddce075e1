"""The numbers that functions are tried with, binade by binade."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.conformance.accuracy.functions import WIDTH, Function
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import OperatorDesc, inputs

SAMPLED = 2**13  # FLOAT32 numbers of each binade where not all are tried; eight times as many of FLOAT16's few
SCATTER = 12345  # an odd number that numbers between steps are made with


class Part(NamedTuple):
    """Numbers of some binades, as many of each: a row for each of these.

    Attributes:
        binade: the first one: sign and exponent, as they stand in the bits.
        rows: how many binades.
        start, end: which mantissas of each, counted in steps.
        step: from one mantissa to about the next one.
    """

    binade: int
    rows: int
    start: int
    end: int
    step: int = 1

    @property
    def size(self) -> int:
        return self.rows * (self.end - self.start)


def parts(of: Function, most: int, sampled: int | None) -> Iterator[Part]:
    """What the leading argument of a function is tried with, at most so many numbers at a time.

    Args:
        of: the function; with one argument, all FLOAT16 numbers are tried.
        most: how many at a time.
        sampled: how many FLOAT32 numbers of each binade; None for all that one argument can be.
    """
    data_type = of.leading[1]
    info = np.finfo(NUMBERS[data_type])
    binades, columns, step = 2 ** (int(info.nexp) + 1), 2 ** int(info.nmant), 1
    if not of.is_of_one:
        sampled = max(sampled or SAMPLED, WIDTH)
        sampled -= sampled % WIDTH
        columns, step = (sampled, columns // sampled) if columns >= sampled else (8 * sampled, 1)
    elif sampled is not None and data_type is DataType.FLOAT32:
        columns, step = min(columns, sampled), max(1, columns // sampled)
    rows = max(1, most // columns)
    for binade in range(0, binades, rows):
        for start in range(0, columns, most):
            yield Part(binade, min(rows, binades - binade), start, min(start + most, columns), step)


def numbers_of(part: Part, data_type: DataType, xp: Any = np, device: Any = None) -> Any:
    """The numbers of a part, a row for each binade; between steps they lie anywhere, in each binade elsewhere."""
    bits = int(np.finfo(NUMBERS[data_type]).nmant)
    binades = xp.arange(part.binade, part.binade + part.rows, dtype=xp.int64, device=device)[:, None]
    steps = xp.arange(part.start, part.end, dtype=xp.int64, device=device)
    mantissas = (steps * part.step + steps * (SCATTER + 2 * binades) % part.step) % 2**bits
    patterns = xp.astype((binades << bits) | mantissas, getattr(xp, f"int{8 * data_type.size}"))
    return patterns.view(getattr(xp, data_type.name.lower()))


def drawn(part: Part, desc: OperatorDesc, of: Function) -> list[Any]:
    """The arguments of a function for a part; the same at each call.

    The leading one has the part's numbers. Where a result depends on whole rows, those of a row are of any size up to
    the end of its binade, positive or negative. Other floating-point arguments are numbers of any bits; of like size;
    small, whole ones too; and the leading ones but for their last bits, positive or negative. Integers are of any bits
    or small.
    """
    leading, first = of.leading[0], numbers_of(part, of.leading[1])
    found = []
    for place, slot in enumerate(inputs(desc)):
        data_type = slot.tensor.data_type
        chance = np.random.default_rng((part.binade, part.start, place))
        if place != leading:
            found.append(_companions(first, data_type, chance))
        elif of.found.is_element_wise:
            found.append(first)
        else:
            ends = np.ldexp(1.0, np.frexp(np.abs(first[:, :1].astype(np.float64)))[1])
            numbers = (ends * chance.uniform(-1.0, 1.0, first.shape)).astype(first.dtype)
            found.append(np.where(np.isfinite(first[:, :1]), numbers, first))
    return found


def _companions(first: Any, data_type: DataType, chance: np.random.Generator) -> Any:
    """Numbers to be computed with others; see `drawn`."""
    kind, shape = NUMBERS[data_type], first.shape
    anything = chance.integers(0, 2 ** (8 * data_type.size), shape, UNSIGNED[data_type.size], endpoint=False)
    small = chance.uniform(-16.0 if data_type.is_float or data_type.is_signed_integer else 0.0, 16.0, shape)
    if not data_type.is_float:
        return np.where(chance.random(shape) < 0.5, anything.view(kind), small.astype(kind))
    sign = chance.choice((-1.0, 1.0), shape)
    like = first * chance.uniform(1.0, 2.0, shape) * np.ldexp(1.0, chance.integers(-3, 4, shape)) * sign
    last_bits = first.view(UNSIGNED[first.itemsize]) ^ chance.integers(0, 16, shape, UNSIGNED[first.itemsize])
    nearly = last_bits.view(first.dtype) * sign
    ways = (anything.view(kind), like, small, np.rint(small), nearly)
    return np.choose(chance.integers(0, len(ways), shape), [way.astype(kind) for way in ways])
