"""Running sums and products that are others."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.spec.operators.cumulative import DIRECTION, is_exclusive
from strength.mutants.base import Arrays, WrongValues, fault, numbers, plants


class OtherScan(WrongValues, abstract=True):
    """Scans rows otherwise; floating-point numbers in FLOAT64, rounded once."""

    families = ("cumulative",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        x, axis = numbers(desc, arrays)["input_tensor"], self.axis(desc.axis)
        is_product = desc.operator == "CUMULATIVE_PRODUCT"
        is_decreasing = desc.axis_direction == DIRECTION.DECREASING
        x = x.astype(np.float64) if x.dtype.kind == "f" else x
        rows = self.turned(np.moveaxis(x, axis, -1), is_decreasing)
        found = self.scan(rows, is_product).astype(rows.dtype)
        if is_exclusive(desc):
            found = self.shifted(found, rows, int(is_product))
        return np.moveaxis(self.turned_back(found, is_decreasing), -1, axis)

    def axis(self, axis: int) -> int:
        return axis

    def turned(self, rows: Any, is_decreasing: bool) -> Any:
        return rows[..., ::-1] if is_decreasing else rows

    def turned_back(self, rows: Any, is_decreasing: bool) -> Any:
        return rows[..., ::-1] if is_decreasing else rows

    def scan(self, rows: Any, is_product: bool) -> Any:
        return scanned(rows, is_product)

    def shifted(self, found: Any, rows: Any, empty: int) -> Any:
        return behind(empty, found)


def scanned(rows: Any, is_product: bool) -> Any:
    return (np.cumprod if is_product else np.cumsum)(rows, axis=-1, dtype=rows.dtype)


def behind(first: int, found: Any) -> Any:
    return np.concatenate((np.full_like(found[..., :1], first), found[..., :-1]), -1)


plants("axis", OtherScan).each(
    ScannedAlongTheAxisBefore=lambda axis: max(axis - 1, 0),
    ScannedAlongTheLastAxis=lambda: -1,
)
plants("turned", OtherScan).each(
    DirectionOfTheResultAlone=fault(lambda rows: rows, "Scans upwards, and turns what it finds around."),
)
plants("turned_back", OtherScan).each(
    ResultLeftInScanOrder=fault(
        lambda rows: rows, "Scans downwards, and writes what it finds from the first element on."
    ),
)


def _by_the_inverse(found: Any, rows: Any, empty: int) -> Any:
    if rows.dtype.kind == "f":
        return found.astype(np.float32) / rows if empty else found.astype(np.float32) - rows
    return found // np.where(rows == 0, 1, rows) if empty else found - rows


plants("shifted", OtherScan).each(
    ElementNeverLeftOut=lambda found: found,
    LeftOutAtTheOtherEnd=fault(
        lambda found, empty: np.concatenate((found[..., 1:], np.full_like(found[..., :1], empty)), -1),
        "Moves results by one the wrong way.",
    ),
    LeftOutByTheInverse=fault(
        _by_the_inverse, "Takes the element out of its own result again, as if nothing were lost by that."
    ),
    FirstOneIsZero=fault(
        lambda found, empty: behind(1 - empty, found),
        "Starts a product that leaves elements out at 0 too, and a sum at 1.",
    ),
)


def in_blocks(rows: Any, is_product: bool, size: int) -> list[Any]:
    return [scanned(rows[..., start : start + size], is_product) for start in range(0, rows.shape[-1], size)]


def _with_one_carry(rows: Any, is_product: bool) -> Any:
    blocks = in_blocks(rows, is_product, 128)
    carried = [block[..., -1:] for block in blocks]
    combined = [one * to if is_product else one + to for one, to in zip(blocks[1:], carried, strict=False)]
    return np.concatenate([*blocks[:1], *combined], -1)


def _without_the_last(rows: Any, is_product: bool) -> Any:
    found = scanned(rows, is_product)
    return np.concatenate((found[..., :-1], found[..., -2:][..., :1]), -1)


def _as_float64(rows: Any, is_product: bool) -> Any:
    limits, wide = np.iinfo(rows.dtype), scanned(rows.astype(np.float64), is_product)
    top = np.nextafter(float(limits.max), 0) if limits.bits == 64 else float(limits.max)
    return np.nan_to_num(np.clip(wide, float(limits.min), top))


def _saturated(rows: Any, is_product: bool) -> Any:
    limits, wide = np.iinfo(rows.dtype), scanned(rows.astype(np.float64), is_product)
    exact = scanned(rows, is_product)
    return np.where(wide > float(limits.max), limits.max, np.where(wide < float(limits.min), limits.min, exact))


plants("scan", OtherScan).each(
    BlocksNotCarried=fault(
        lambda rows, is_product: np.concatenate(in_blocks(rows, is_product, 64), -1),
        "Begins anew after 64 elements, as a block of threads does that is not given the ones before it.",
    ),
    CarryOfThePreviousBlockAlone=fault(
        _with_one_carry, "Carries from one block of 128 elements to the next what that one has of its own."
    ),
    LastElementNotReached=fault(_without_the_last, "Repeats the one before."),
    RunningTallyInFloat16=fault(
        lambda rows, is_product: scanned(rows.astype(np.float16), is_product).astype(np.float64), kinds="f"
    ),
    IntegersScannedAsFloat64=fault(_as_float64, kinds=("i", "u")),
    IntegersScannedIn32Bits=fault(
        lambda rows, is_product: scanned(rows.astype(np.uint32), is_product), kinds=("i", "u")
    ),
    RunningIntegersSaturate=fault(_saturated, "Stays at the end of its type instead of losing bits.", kinds=("i", "u")),
)
