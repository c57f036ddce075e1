"""Functions of elements along axes that take others together, or lose more than they may on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, as_numbers
from strength.mutants.base import Arrays, Mutant, WrongValues, plants

SOFT = ("SOFTMAX", "LOG_SOFTMAX")


class OtherAlong(WrongValues, abstract=True):
    """Computes something else of the elements along some axes, in FLOAT64 and rounded once.

    Attributes:
        names: of the operators, without what all begin with and without the number of those with Axes.
    """

    names: ClassVar[tuple[str, ...]] = ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX")
    families = ("softmax",)

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if name[len("ACTIVATION_") :].rstrip("1") in cls.names)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        source, data_type = arrays["input_tensor"], desc.input_tensor.data_type
        axes = sorted(set(self.axes(getattr(desc, "axes", (source.ndim - 1,)), source.ndim)))
        order = [d for d in range(source.ndim) if d not in axes] + axes
        with np.errstate(all="ignore"):
            moved = as_numbers(source, data_type).astype(np.float64).transpose(order)
        rows = moved.reshape(*moved.shape[: source.ndim - len(axes)], -1)
        name = desc.operator[len("ACTIVATION_") :].rstrip("1")
        with np.errstate(all="ignore"):
            values = np.asarray(self.of(rows, name)).reshape(moved.shape).transpose(np.argsort(order))
            return {"output_tensor": values.astype(NUMBERS[data_type]).view(source.dtype)}

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """The axes that it takes in place of those."""
        return axes

    def of(self, rows: Any, name: str) -> Any:
        """What it makes of rows; the right thing here."""
        if name == "HARDMAX":
            return _one_at(rows, rows.argmax(-1)[..., None])
        below = rows - rows.max(-1, keepdims=True)
        part = np.exp(below)
        total = part.sum(-1, keepdims=True)
        return part / total if name == "SOFTMAX" else below - np.log(total)


def other(*names: str) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants("of", OtherAlong, names=names)


def _one_at(rows: Any, places: Any) -> Any:
    found = np.zeros(rows.shape)
    np.put_along_axis(found, places, 1.0, -1)
    return found


# --- other elements ---------------------------------------------------------------------------------------------------


@plants("axes", OtherAlong)
def AxisBeforeThatOne(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Works along the dimension before each."""
    return tuple(max(axis - 1, 0) for axis in axes)


@plants("axes", OtherAlong, has=("axes",))
def LastAxisAlone(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Works along the last of several axes."""
    return axes[-1:]


@plants("axes", OtherAlong, has=("axes",))
def LastDimensionWhateverAxes(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (rank - 1,)


@plants("axes", OtherAlong, has=("axes",))
def FlattenedFromTheFirstAxis(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Works along all dimensions from the first axis on, as older frameworks do."""
    return tuple(range(min(axes), rank)) if axes else axes


@plants("axes", OtherAlong, has=("axes",))
def AxesCountedFromTheEnd(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(rank - 1 - axis for axis in axes)


@plants("axes", OtherAlong, lacks=("axes",))
def AllDimensions(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Takes all elements together, not those of each row."""
    return tuple(range(rank))


# --- soft -------------------------------------------------------------------------------------------------------------


@other(*SOFT)
def MaximumNotSubtracted(rows: Any, name: str) -> Any:
    """Computes exponentials of the elements themselves, which overflow in FLOAT32."""
    part = np.exp(rows).astype(np.float32).astype(np.float64)
    total = part.sum(-1, keepdims=True)
    return part / total if name == "SOFTMAX" else rows - np.log(total)


@other(*SOFT)
def SumInFloat16(rows: Any, name: str) -> Any:
    """Adds exponentials up in FLOAT16."""
    below = rows - rows.max(-1, keepdims=True)
    part = np.exp(below)
    total = part.astype(np.float16).cumsum(-1, dtype=np.float16)[..., -1:].astype(np.float64)
    return part / total if name == "SOFTMAX" else below - np.log(total)


@other(*SOFT)
def ExponentialsInFloat16(rows: Any, name: str) -> Any:
    below = rows - rows.max(-1, keepdims=True)
    part = np.exp(below).astype(np.float16).astype(np.float64)
    total = part.sum(-1, keepdims=True)
    return part / total if name == "SOFTMAX" else np.log(part / total)


@other("LOG_SOFTMAX")
def LogarithmOfFloat16(rows: Any, name: str) -> Any:
    """Takes the logarithm of the softmax as FLOAT16 has it."""
    part = np.exp(rows - rows.max(-1, keepdims=True))
    return np.log((part / part.sum(-1, keepdims=True)).astype(np.float16).astype(np.float64))


@other("LOG_SOFTMAX")
def LogarithmOfFloat32(rows: Any, name: str) -> Any:
    """Takes the logarithm of the softmax as FLOAT32 has it, which is infinite where that is 0."""
    part = np.exp(rows - rows.max(-1, keepdims=True))
    return np.log((part / part.sum(-1, keepdims=True)).astype(np.float32).astype(np.float64))


@other("LOG_SOFTMAX")
def LogarithmToBase2(rows: Any, name: str) -> Any:
    below = rows - rows.max(-1, keepdims=True)
    return (below - np.log(np.exp(below).sum(-1, keepdims=True))) / np.log(2.0)


@other("SOFTMAX")
def PowersOf2(rows: Any, name: str) -> Any:
    """Takes powers of 2 for exponentials."""
    part = np.exp2(rows - rows.max(-1, keepdims=True))
    return part / part.sum(-1, keepdims=True)


@other(*SOFT)
def OneIsAddedToTheSum(rows: Any, name: str) -> Any:
    """Adds 1 to the sum, as the softmax of attention that may attend to nothing."""
    below = rows - rows.max(-1, keepdims=True)
    part = np.exp(below)
    total = part.sum(-1, keepdims=True) + np.exp(-rows.max(-1, keepdims=True))
    return part / total if name == "SOFTMAX" else below - np.log(total)


@other(*SOFT)
def MaximumOfThePositive(rows: Any, name: str) -> Any:
    """Begins the search for the largest at 0, so that exponentials vanish where all elements are far below."""
    largest = np.fmax(rows.max(-1, keepdims=True), 0.0)
    part = np.exp(rows - largest).astype(np.float32).astype(np.float64)
    total = part.sum(-1, keepdims=True)
    return part / total if name == "SOFTMAX" else rows - largest - np.log(total)


# --- hard -------------------------------------------------------------------------------------------------------------


@other("HARDMAX")
def LastMaximum(rows: Any, name: str) -> Any:
    return _one_at(rows, rows.shape[-1] - 1 - rows[..., ::-1].argmax(-1)[..., None])


@other("HARDMAX")
def EveryMaximum(rows: Any, name: str) -> Any:
    return rows == rows.max(-1, keepdims=True)


@other("HARDMAX")
def LargestMagnitude(rows: Any, name: str) -> Any:
    return _one_at(rows, np.abs(rows).argmax(-1)[..., None])


@other("HARDMAX")
def MinimumTaken(rows: Any, name: str) -> Any:
    return _one_at(rows, rows.argmin(-1)[..., None])


@other("HARDMAX")
def ElementItselfKept(rows: Any, name: str) -> Any:
    """Writes the largest element in place of 1."""
    return _one_at(rows, rows.argmax(-1)[..., None]) * np.nan_to_num(rows)
