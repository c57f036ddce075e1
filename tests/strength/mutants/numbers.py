"""Numbers that are taken for others: conversions, conditions, and scalars of a descriptor."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.operators._conversion import converted
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import SCALAR
from dml_conformance.spec.registry import operators
from strength.mutants.base import (
    Arrays,
    WrongValues,
    computes,
    fault,
    main_output,
    misreads,
    numbers,
    of_input,
    plants,
    right,
)

# --- conversions ------------------------------------------------------------------------------------------------------


def otherwise_converted(taken: Any, desc: Any, arrays: Arrays) -> Any:
    """Converts something else than the numbers that it is given."""
    return converted(taken(x=numbers(desc, arrays)["input_tensor"]), desc.output_tensor.data_type).values


computes(otherwise_converted, families=("cast",)).each(
    ThroughFloat32=fault(
        lambda x: x.astype(np.float32) if x.itemsize > 2 else x,
        "Converts by way of FLOAT32, which does not have all integers.",
        since="3_0",  # below it no integer has more than 16 bits
    ),
    ThroughInt32=fault(
        lambda x: np.clip(x.astype(np.float64), -(2**31), 2**31 - 1).astype(np.int32), "Converts by way of INT32."
    ),
    SignedTakenForUnsigned=fault(lambda x: x.view(f"u{x.itemsize}"), kinds="i"),
    UnsignedTakenForSigned=fault(lambda x: x.view(f"i{x.itemsize}"), kinds="u"),
    NanTakenForZero=fault(lambda x: np.nan_to_num(x, posinf=np.inf, neginf=-np.inf), kinds="f"),
)


@computes(families=("cast",), kinds="f", since="3_0")
def LowHalfSaturated(desc: Any, arrays: Arrays) -> Any:
    """Converts floats to UINT64 in halves, and the lower one from the whole number (seen on an NVIDIA H200)."""
    if desc.output_tensor.data_type is not DataType.UINT64:
        return {}
    found = right(desc, arrays)["output_tensor"]
    return np.where(found >= 2**32, found | 2**32 - 1, found)


@computes(families=("cast",))
def ReinterpretsBits(desc: Any, arrays: Arrays) -> Any:
    """Copies elements to another type of the same width."""
    if desc.input_tensor.data_type.size != desc.output_tensor.data_type.size:
        return {}
    return arrays["input_tensor"]


@computes(families=("cast",), kinds="f")
def RoundsHalvesUpTwice(desc: Any, arrays: Arrays) -> Any:
    """Adds a half before it rounds up to a whole number."""
    if desc.output_tensor.data_type.is_float:
        return {}
    rounded = np.ceil(numbers(desc, arrays)["input_tensor"].astype(np.float64) + 0.5)
    return converted(rounded, desc.output_tensor.data_type).values


# --- copies and conditions --------------------------------------------------------------------------------------------


misreads(of_input("input_tensor"), families=("element_wise_copy",), lacks=("scale_bias", "condition_tensor")).each(
    IdentityAddsZero=fault(lambda x: x + 0, "Computes x + 0, of -0 too."),
)
misreads(families=("element_wise_copy",), has=("condition_tensor",)).each(
    OneAloneIsTrue=fault(
        lambda arrays: {"condition_tensor": arrays["condition_tensor"] == 1},
        "Takes the other branch for a condition other than 0 and 1.",
    ),
    OddIsTrue=fault(
        lambda arrays: {"condition_tensor": arrays["condition_tensor"] & 1}, "Looks at the lowest bit of a condition."
    ),
    BranchesSwapped=lambda arrays: {"a_tensor": arrays["b_tensor"], "b_tensor": arrays["a_tensor"]},
)


# --- scalars ----------------------------------------------------------------------------------------------------------


class ScalarsTakenOtherwise(WrongValues, abstract=True):
    """Takes the numbers of DML_SCALAR_UNION for others."""

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        scalars = {name for name, spec in operators().items() if any(field.kind is SCALAR for field in spec.fields)}
        return tuple(name for name in super().operators() if name in scalars)

    def descriptor(self, desc: Any) -> Any:
        if main_output(desc).tensor.data_type.is_float:
            return desc
        names = [field.attribute for field in desc.fields if field.kind is SCALAR]
        return replace(desc, **{name: self.taken(getattr(desc, name)) for name in names})

    def taken(self, number: int) -> int | float:
        """The number in place of an integer."""
        raise NotImplementedError


plants("taken", ScalarsTakenOtherwise).each(
    ScalarThroughFloat32=fault(
        lambda number: float(np.float32(number)), "Keeps the number in a FLOAT32, whatever its type is."
    ),
    ScalarCutTo8Bits=fault(lambda number: int(number) & 0xFF, "Reads the first byte of an integer."),
)


# --- sequences --------------------------------------------------------------------------------------------------------


def of_other_places(places: Any, desc: Any, arrays: Arrays) -> Any:
    """Has in each place the value of an element of another number."""
    values = right(desc, arrays)["output_tensor"]
    return values.reshape(-1)[places(sizes=values.shape, n=np.arange(values.size)).reshape(-1)]


computes(of_other_places, families=("fill_value",), has=("value_delta",)).each(
    SequenceBeginsAnewInEachRow=lambda sizes, n: n % sizes[-1],
    SequenceGoesDownTheColumns=lambda sizes, n: n.reshape(sizes[::-1]).transpose(),
    SequenceBeginsAStepLate=lambda n: np.minimum(n + 1, n.size - 1),
)


@computes(families=("fill_value",), has=("value_delta",))
def SequenceStopsAtTheEnds(desc: Any, arrays: Arrays) -> Any:
    """Holds on to the least or largest number of an unsigned type, where the sequence starts again."""
    limits = desc.output_tensor.data_type.limits
    if limits is None or limits[0] < 0:
        return {}
    values = right(desc, arrays)["output_tensor"].copy()
    start, delta = int(desc.value_start), int(desc.value_delta)
    held = [min(max(start + n * delta, limits[0]), limits[1]) for n in range(min(values.size, 4096))]
    values.reshape(-1)[: len(held)] = held
    return values
