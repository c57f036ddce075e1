"""Running sums and products that are others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dml_conformance.backends.reference.layout import UNSIGNED, as_numbers
from dml_conformance.spec.operators.cumulative import DIRECTION, is_exclusive
from strength.mutants.base import Arrays, Mutant, WrongValues, plants
from strength.mutants.sums import rounded


class OtherScan(WrongValues, abstract=True):
    """Scans rows otherwise; floating-point numbers in FLOAT64, rounded once.

    Attributes:
        kinds: of numbers whose results are others, by NumPy's letter; the rest is right.
    """

    families = ("cumulative",)
    kinds: ClassVar[str] = "fiu"

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
        if numbers.dtype.kind not in self.kinds:
            return {}
        axis, is_decreasing = self.axis(desc.axis), desc.axis_direction == DIRECTION.DECREASING
        is_product = desc.operator == "CUMULATIVE_PRODUCT"
        with np.errstate(all="ignore"):
            wide = numbers.astype(np.float64) if numbers.dtype.kind == "f" else numbers
            rows = self.turned(np.moveaxis(wide, axis, -1), is_decreasing)
            found = self.scan(rows, is_product).astype(rows.dtype)
            if is_exclusive(desc):
                found = self.shifted(found, rows, int(is_product))
            found = np.moveaxis(self.turned_back(found, is_decreasing), -1, axis)
            if found.dtype.kind == "f":
                return {"output_tensor": rounded(found, desc)}
            return {"output_tensor": np.ascontiguousarray(found).view(UNSIGNED[found.itemsize])}

    def axis(self, axis: int) -> int:
        return axis

    def turned(self, rows: Any, is_decreasing: bool) -> Any:
        return rows[..., ::-1] if is_decreasing else rows

    def turned_back(self, rows: Any, is_decreasing: bool) -> Any:
        return rows[..., ::-1] if is_decreasing else rows

    def scan(self, rows: Any, is_product: bool) -> Any:
        return scanned(rows, is_product)

    def shifted(self, found: Any, rows: Any, empty: int) -> Any:
        return np.concatenate((np.full_like(found[..., :1], empty), found[..., :-1]), -1)


def scanned(rows: Any, is_product: bool) -> Any:
    return (np.cumprod if is_product else np.cumsum)(rows, axis=-1, dtype=rows.dtype)


def scans(step: str, kinds: str = "fiu") -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherScan, kinds=kinds)


@scans("axis")
def ScannedAlongTheAxisBefore(axis: int) -> int:
    return max(axis - 1, 0)


@scans("axis")
def ScannedAlongTheLastAxis(axis: int) -> int:
    return -1


@scans("turned")
def DirectionOfTheResultAlone(rows: Any, is_decreasing: bool) -> Any:
    """Scans upwards, and turns what it finds around."""
    return rows


@scans("turned_back")
def ResultLeftInScanOrder(rows: Any, is_decreasing: bool) -> Any:
    """Scans downwards, and writes what it finds from the first element on."""
    return rows


@scans("shifted")
def ElementNeverLeftOut(found: Any, rows: Any, empty: int) -> Any:
    return found


@scans("shifted")
def LeftOutAtTheOtherEnd(found: Any, rows: Any, empty: int) -> Any:
    """Moves results by one the wrong way."""
    return np.concatenate((found[..., 1:], np.full_like(found[..., :1], empty)), -1)


@scans("shifted")
def LeftOutByTheInverse(found: Any, rows: Any, empty: int) -> Any:
    """Takes the element out of its own result again, as if nothing were lost by that."""
    with np.errstate(all="ignore"):
        if rows.dtype.kind == "f":
            return found.astype(np.float32) / rows if empty else found.astype(np.float32) - rows
        return found // np.where(rows == 0, 1, rows) if empty else found - rows


@scans("shifted")
def FirstOneIsZero(found: Any, rows: Any, empty: int) -> Any:
    """Starts a product that leaves elements out at 0 too, and a sum at 1."""
    return np.concatenate((np.full_like(found[..., :1], 1 - empty), found[..., :-1]), -1)


@scans("scan")
def BlocksNotCarried(rows: Any, is_product: bool) -> Any:
    """Begins anew after 64 elements, as a block of threads does that is not given the ones before it."""
    starts = range(0, rows.shape[-1], 64)
    return np.concatenate([scanned(rows[..., start : start + 64], is_product) for start in starts], -1)


@scans("scan")
def CarryOfThePreviousBlockAlone(rows: Any, is_product: bool) -> Any:
    """Carries from one block of 128 elements to the next what that one has of its own."""
    starts = range(0, rows.shape[-1], 128)
    blocks = [scanned(rows[..., start : start + 128], is_product) for start in starts]
    carried = [block[..., -1:] for block in blocks]
    combined = [one * to if is_product else one + to for one, to in zip(blocks[1:], carried, strict=False)]
    return np.concatenate([*blocks[:1], *combined], -1)


@scans("scan")
def LastElementNotReached(rows: Any, is_product: bool) -> Any:
    """Repeats the one before."""
    found = scanned(rows, is_product)
    return np.concatenate((found[..., :-1], found[..., -2:][..., :1]), -1)


@scans("scan", "f")
def RunningTallyInFloat16(rows: Any, is_product: bool) -> Any:
    return scanned(rows.astype(np.float16), is_product).astype(np.float64)


@scans("scan", "iu")
def IntegersScannedAsFloat64(rows: Any, is_product: bool) -> Any:
    limits, wide = np.iinfo(rows.dtype), scanned(rows.astype(np.float64), is_product)
    top = np.nextafter(float(limits.max), 0) if limits.bits == 64 else float(limits.max)
    return np.nan_to_num(np.clip(wide, float(limits.min), top))


@scans("scan", "iu")
def IntegersScannedIn32Bits(rows: Any, is_product: bool) -> Any:
    return scanned(rows.astype(np.uint32), is_product)


@scans("scan", "iu")
def RunningIntegersSaturate(rows: Any, is_product: bool) -> Any:
    """Stays at the end of its type instead of losing bits."""
    limits, wide = np.iinfo(rows.dtype), scanned(rows.astype(np.float64), is_product)
    exact = scanned(rows, is_product)
    return np.where(wide > float(limits.max), limits.max, np.where(wide < float(limits.min), limits.min, exact))
