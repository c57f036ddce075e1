"""Functions of elements along axes that take others together, or lose more than they may on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from strength.mutants.base import Arrays, WrongValues, fault, plants, wide

LOG = ("LOG_SOFTMAX", "LOG_SOFTMAX1")
SOFT = ("SOFTMAX", "SOFTMAX1", *LOG)


class OtherAlong(WrongValues, abstract=True):
    """Computes something else of the elements along some axes, in FLOAT64 and rounded once."""

    families = ("softmax",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        x = wide(desc, arrays)["input_tensor"]
        axes = sorted(set(self.axes(getattr(desc, "axes", (x.ndim - 1,)), x.ndim)))
        order = [d for d in range(x.ndim) if d not in axes] + axes
        moved = x.transpose(order)
        rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
        found = self.of(rows, desc.operator.removeprefix("ACTIVATION_").rstrip("1"))
        return found.reshape(moved.shape).transpose(np.argsort(order))

    def axes(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """The axes that it takes in place of those."""
        return axes

    def of(self, rows: Any, name: str) -> Any:
        """What it makes of rows; the right thing here."""
        return one_at(rows, rows.argmax(-1)) if name == "HARDMAX" else soft(rows, name)


def one_at(rows: Any, places: Any) -> Any:
    found = np.zeros(rows.shape)
    np.put_along_axis(found, places[..., None], 1.0, -1)
    return found


def greatest(rows: Any) -> Any:
    return rows.max(-1, keepdims=True)


def summed(part: Any) -> Any:
    return part.sum(-1, keepdims=True)


def soft(rows: Any, name: str, largest: Any = None, part: Any = np.exp, total: Any = summed) -> Any:
    """The softmax, or its logarithm, by something that is subtracted, exponentials of the rest, and their sum."""
    below = rows - (greatest(rows) if largest is None else largest)
    parts = part(below)
    return parts / total(parts) if name == "SOFTMAX" else below - np.log(total(parts))


# --- other elements ---------------------------------------------------------------------------------------------------


plants("axes", OtherAlong).each(
    AxisBeforeThatOne=fault(
        lambda axes: tuple(max(axis - 1, 0) for axis in axes), "Works along the dimension before each."
    ),
    LastAxisAlone=fault(lambda axes: axes[-1:], "Works along the last of several axes.", has=("axes",)),
    LastDimensionWhateverAxes=fault(lambda rank: (rank - 1,), has=("axes",)),
    FlattenedFromTheFirstAxis=fault(
        lambda axes, rank: tuple(range(min(axes), rank)) if axes else axes,
        "Works along all dimensions from the first axis on, as older frameworks do.",
        has=("axes",),
    ),
    AxesCountedFromTheEnd=fault(lambda axes, rank: tuple(rank - 1 - axis for axis in axes), has=("axes",)),
    AllDimensions=fault(
        lambda rank: tuple(range(rank)), "Takes all elements together, not those of each row.", lacks=("axes",)
    ),
)


# --- soft -------------------------------------------------------------------------------------------------------------


def in_float32(below: Any) -> Any:
    return np.exp(below).astype(np.float32).astype(np.float64)


def in_float16(below: Any) -> Any:
    return np.exp(below).astype(np.float16).astype(np.float64)


def summed_in_float16(part: Any) -> Any:
    return part.astype(np.float16).cumsum(-1, dtype=np.float16)[..., -1:].astype(np.float64)


plants("of", OtherAlong).each(
    MaximumNotSubtracted=fault(
        lambda rows, name: soft(rows, name, 0.0, in_float32),
        "Computes exponentials of the elements themselves, which overflow in FLOAT32.",
        names=SOFT,
    ),
    SumInFloat16=fault(
        lambda rows, name: soft(rows, name, total=summed_in_float16), "Adds exponentials up in FLOAT16.", names=SOFT
    ),
    ExponentialsInFloat16=fault(
        lambda rows, name: (np.array if name == "SOFTMAX" else np.log)(soft(rows, "SOFTMAX", part=in_float16)),
        names=SOFT,
    ),
    LogarithmOfFloat16=fault(
        lambda rows: np.log(soft(rows, "SOFTMAX").astype(np.float16).astype(np.float64)),
        "Takes the logarithm of the softmax as FLOAT16 has it.",
        names=LOG,
    ),
    LogarithmOfFloat32=fault(
        lambda rows: np.log(soft(rows, "SOFTMAX").astype(np.float32).astype(np.float64)),
        "Takes the logarithm of the softmax as FLOAT32 has it, which is infinite where that is 0.",
        names=LOG,
    ),
    LogarithmToBase2=fault(lambda rows, name: soft(rows, name) / np.log(2.0), names=LOG),
    PowersOf2=fault(
        lambda rows, name: soft(rows, name, part=np.exp2),
        "Takes powers of 2 for exponentials.",
        names=("SOFTMAX", "SOFTMAX1"),
    ),
    OneIsAddedToTheSum=fault(
        lambda rows, name: soft(rows, name, total=lambda part: summed(part) + np.exp(-greatest(rows))),
        "Adds 1 to the sum, as the softmax of attention that may attend to nothing.",
        names=SOFT,
    ),
    MaximumOfThePositive=fault(
        lambda rows, name: soft(rows, name, np.fmax(greatest(rows), 0.0), in_float32),
        "Begins the search for the largest at 0, so that exponentials vanish where all elements are far below.",
        names=SOFT,
    ),
)


# --- hard -------------------------------------------------------------------------------------------------------------


plants("of", OtherAlong, names=("HARDMAX", "HARDMAX1")).each(
    LastMaximum=lambda rows: one_at(rows, rows.shape[-1] - 1 - rows[..., ::-1].argmax(-1)),
    EveryMaximum=lambda rows: rows == greatest(rows),
    LargestMagnitude=lambda rows: one_at(rows, np.abs(rows).argmax(-1)),
    MinimumTaken=lambda rows: one_at(rows, rows.argmin(-1)),
    ElementItselfKept=fault(
        lambda rows: one_at(rows, rows.argmax(-1)) * np.nan_to_num(rows), "Writes the largest element in place of 1."
    ),
)
