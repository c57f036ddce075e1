"""LOCAL_RESPONSE_NORMALIZATION and its gradient: elements over a power of the squares around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either
from dml_conformance.backends.reference.functions import of_ends
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._windows import gathered, seen
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.operators._windows import Window
from dml_conformance.spec.structures import LocalResponse, LocalResponseGrad

Around = Callable[[Enclosure], Enclosure]
# Beyond it products of a gradient's steps overflow in one order and not in another, and are then infinite, 0 or a NaN.
MOST = 2.0**20


def normalize(desc: LocalResponse, arrays: Arrays) -> dict[str, Any]:
    """output[c] = input[c] / (Bias + Alpha / LocalSize * sum(input[r] ^ 2 for r in region(c))) ^ Beta"""
    data_type = desc.output_tensor.data_type
    numbers = as_numbers(arrays["input_tensor"], data_type)

    def formula(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance).of(numbers)
        base = either(*(_base(desc, x, divisor, around) for divisor, around, _ in _readings(desc)))
        is_open = ~(base.low > 0) & ~np.isnan(base.low)
        return _over(x, _powers(base, desc.beta)).opened(is_open).to(data_type)

    return {"output_tensor": formula}


def gradient(desc: LocalResponseGrad, arrays: Arrays) -> dict[str, Any]:
    """output[c] = gradient[c] / base(c)^Beta - 2 * Alpha / LocalSize * Beta * input[c] * sum(terms)

    There is a term for each element r of whose region c is: gradient[r] * input[r] / base(r)^(Beta + 1).
    """
    data_type = desc.output_gradient_tensor.data_type
    numbers = [as_numbers(arrays[key], data_type) for key in ("input_tensor", "input_gradient_tensor")]

    def formula(tolerance: Tolerance) -> Enclosure:
        x, g = map(Evaluation(tolerance).of, numbers)
        found = []
        for divisor, around, seeing in _readings(desc):
            base = _base(desc, x, divisor, around)
            powers, next_powers = _powers(base, desc.beta), _powers(base, desc.beta + 1)
            terms = either(_over(g * x, next_powers), g * _over(x, next_powers), g * (_over(x, powers) / base))
            factor = x.operand(2.0 * desc.alpha) * desc.beta / divisor
            total = seeing(terms)
            # As the chain rule has it, step by step: what is lost of a subnormal term is multiplied by the input then.
            step = _powers(base, desc.beta - 1)[0] * desc.beta
            stepwise = seeing(g * _over(_over(x, powers), powers) * step * (x.operand(desc.alpha) / divisor))
            away = either(factor * x * total, factor * (x * total), x * 2.0 * stepwise)
            known = (base.low > 0) & (base.high < MOST**2) & (np.abs(x.value) < MOST) & (np.abs(g.value) < MOST)
            is_open = seeing(Enclosure(x.evaluation, np.where(known, 0.0, 1.0))).value > 0
            found.append((_over(g, powers) - away).opened(is_open))
        return either(*found).to(data_type)

    return {"output_gradient_tensor": formula}


def _readings(desc: LocalResponse | LocalResponseGrad) -> Iterator[tuple[float, Around, Around]]:
    """In each reading the divisor of Alpha, the sum over a region, and that over what has an element in its region."""
    before, behind = (desc.local_size - 1) // 2, desc.local_size // 2
    if desc.cross_channel:
        yield desc.local_size, partial(_across, before, behind), partial(_across, behind, before)
        return
    most = max(desc.input_tensor.sizes[2:]) - 1  # beyond it regions of more are the same
    before, behind = min(before, most), min(behind, most)
    ways = {(before, behind), (behind, before)}
    for divisor, (first, last) in product(sorted({desc.local_size, desc.local_size**2}), sorted(ways)):
        yield divisor, partial(_within, first, last), partial(_within, last, first)


def _base(desc: LocalResponse | LocalResponseGrad, x: Enclosure, divisor: float, around: Around) -> Enclosure:
    """Bias + Alpha / LocalSize * sum(input[r] ^ 2 for r in region)"""
    total, alpha = around(x * x), x.operand(desc.alpha)
    weighted = either((alpha / divisor) * total, alpha * total / divisor, alpha * (total / divisor))
    return weighted + float(desc.bias)


def _powers(base: Enclosure, exponent: float) -> list[Enclosure]:
    """A power and that of the opposite exponent."""
    ways = (exponent, -exponent)
    return [of_ends("pow", lambda a, b: [base.xp.pow(a, b)], base, base.operand(way)) for way in ways]


def _over(x: Enclosure, powers: list[Enclosure]) -> Enclosure:
    """Divided by a power, or times that of the opposite exponent."""
    return either(x / powers[0], x * powers[1])


def _across(before: int, behind: int, x: Enclosure) -> Enclosure:
    """The sum over channels around each."""
    batch, channels, rows, columns = x.shape
    in_rows = x.reshape(batch, channels, rows * columns).permute(0, 2, 1)
    found = in_rows.each(partial(gathered, places=[_places(channels, before, behind)])).sum((3,))
    return found.reshape(batch, rows * columns, channels).permute(0, 2, 1).reshape(*x.shape)


def _within(before: int, behind: int, x: Enclosure) -> Enclosure:
    """The sum over rows and columns around each."""
    places = [_places(length, before, behind) for length in x.shape[2:]]
    return x.each(partial(gathered, places=places)).reshape(*x.shape, -1).sum((4,)).reshape(*x.shape)


def _places(length: int, before: int, behind: int) -> Any:
    """By place, those around it; `length` for what is beyond the end, of which no more is looked at than there is."""
    before, behind = min(before, length - 1), min(behind, length - 1)
    return seen(Window(before + behind + 1, 1, 1, before, behind), length, length)


OPERATORS: dict[str, Compute] = {
    "LOCAL_RESPONSE_NORMALIZATION": normalize,
    "LOCAL_RESPONSE_NORMALIZATION_GRAD": gradient,
}
CUTS: dict[str, Cut] = dict.fromkeys(OPERATORS, CutRows(lambda desc: (1,) if desc.cross_channel else (2, 3)))
