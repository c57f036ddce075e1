"""Numbers that are taken for others: conversions, conditions, and scalars of a descriptor."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS, as_bits, as_numbers
from dml_conformance.backends.reference.operators._conversion import converted
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import SCALAR
from dml_conformance.spec.registry import operators
from strength.mutants.base import Arrays, WrongValues, main_output, plants, right

# --- conversions ------------------------------------------------------------------------------------------------------


class ConvertsOtherwise(WrongValues, abstract=True):
    """Converts something else than the numbers that it is given."""

    families = ("cast",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
        with np.errstate(all="ignore"):
            taken = self.taken(numbers)
        return {"output_tensor": converted(taken, desc.output_tensor.data_type).values}

    def taken(self, numbers: Any) -> Any:
        """The numbers in place of those."""
        raise NotImplementedError


@plants("taken", ConvertsOtherwise, since="3_0")  # below it no integer has more than 16 bits
def ThroughFloat32(numbers: Any) -> Any:
    """Converts by way of FLOAT32, which does not have all integers."""
    return numbers.astype(np.float32) if numbers.itemsize > 2 else numbers


@plants("taken", ConvertsOtherwise)
def ThroughInt32(numbers: Any) -> Any:
    """Converts by way of INT32."""
    return np.clip(numbers.astype(np.float64), -(2**31), 2**31 - 1).astype(np.int32)


@plants("taken", ConvertsOtherwise)
def SignedTakenForUnsigned(numbers: Any) -> Any:
    return numbers.view(f"u{numbers.itemsize}") if numbers.dtype.kind == "i" else numbers


@plants("taken", ConvertsOtherwise)
def UnsignedTakenForSigned(numbers: Any) -> Any:
    return numbers.view(f"i{numbers.itemsize}") if numbers.dtype.kind == "u" else numbers


@plants("taken", ConvertsOtherwise)
def NanTakenForZero(numbers: Any) -> Any:
    return np.nan_to_num(numbers, posinf=np.inf, neginf=-np.inf) if numbers.dtype.kind == "f" else numbers


@plants("found", WrongValues, since="3_0", families=("cast",))
def LowHalfSaturated(desc: Any, arrays: Arrays) -> Arrays:
    """Converts floats to UINT64 in halves, and the lower one from the whole number (seen on an NVIDIA H200)."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    found = right(desc, arrays)["output_tensor"]
    if numbers.dtype.kind != "f" or desc.output_tensor.data_type is not DataType.UINT64:
        return {}
    return {"output_tensor": np.where(found >= 2**32, found | 2**32 - 1, found)}


@plants("found", WrongValues, families=("cast",))
def ReinterpretsBits(desc: Any, arrays: Arrays) -> Arrays:
    """Copies elements to another type of the same width."""
    if desc.input_tensor.data_type.size != desc.output_tensor.data_type.size:
        return {}
    return {"output_tensor": arrays["input_tensor"]}


@plants("found", WrongValues, families=("cast",))
def RoundsHalvesUpTwice(desc: Any, arrays: Arrays) -> Arrays:
    """Adds a half before it rounds up to a whole number."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    if numbers.dtype.kind != "f" or desc.output_tensor.data_type.is_float:
        return {}
    with np.errstate(all="ignore"):
        rounded = np.ceil(numbers.astype(np.float64) + 0.5)
    return {"output_tensor": converted(rounded, desc.output_tensor.data_type).values}


# --- copies -----------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("element_wise_copy",), lacks=("scale_bias", "condition_tensor"))
def IdentityAddsZero(desc: Any, arrays: Arrays) -> Arrays:
    """Computes x + 0, of -0 too."""
    numbers = as_numbers(arrays["input_tensor"], desc.input_tensor.data_type)
    with np.errstate(invalid="ignore"):  # of signaling NaN
        return {"output_tensor": as_bits(numbers + 0, desc.output_tensor)}


# --- conditions -------------------------------------------------------------------------------------------------------


@plants("found", WrongValues, families=("element_wise_copy",), has=("condition_tensor",))
def OneAloneIsTrue(desc: Any, arrays: Arrays) -> Arrays:
    """Takes the other branch for a condition other than 0 and 1."""
    return right(desc, {**arrays, "condition_tensor": arrays["condition_tensor"] == 1})


@plants("found", WrongValues, families=("element_wise_copy",), has=("condition_tensor",))
def OddIsTrue(desc: Any, arrays: Arrays) -> Arrays:
    """Looks at the lowest bit of a condition."""
    return right(desc, {**arrays, "condition_tensor": arrays["condition_tensor"] & 1})


@plants("found", WrongValues, families=("element_wise_copy",), has=("condition_tensor",))
def BranchesSwapped(desc: Any, arrays: Arrays) -> Arrays:
    return right(desc, {**arrays, "a_tensor": arrays["b_tensor"], "b_tensor": arrays["a_tensor"]})


# --- scalars ----------------------------------------------------------------------------------------------------------


class ScalarsTakenOtherwise(WrongValues, abstract=True):
    """Takes the numbers of DML_SCALAR_UNION for others."""

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        scalars = {name for name, spec in operators().items() if any(field.kind is SCALAR for field in spec.fields)}
        return tuple(name for name in super().operators() if name in scalars)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = main_output(desc).tensor.data_type
        names = [field.attribute for field in desc.fields if field.kind is SCALAR]
        return right(replace(desc, **{name: self.taken(getattr(desc, name), data_type) for name in names}), arrays)

    def taken(self, number: int | float, data_type: DataType) -> int | float:
        """The number in place of one."""
        raise NotImplementedError


@plants("taken", ScalarsTakenOtherwise)
def ScalarThroughFloat32(number: int | float, data_type: DataType) -> int | float:
    """Keeps the number in a FLOAT32, whatever its type is."""
    return number if data_type.limits is None else float(np.float32(number))


@plants("taken", ScalarsTakenOtherwise)
def ScalarCutTo8Bits(number: int | float, data_type: DataType) -> int | float:
    """Reads the first byte of an integer."""
    return number if data_type.limits is None else int(number) & 0xFF


# --- sequences --------------------------------------------------------------------------------------------------------


class OtherSequence(WrongValues, abstract=True):
    """Has other numbers of elements than those in row-major order."""

    families, has = ("fill_value",), ("value_delta",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        values = right(desc, arrays)["output_tensor"]
        places = self.places(values.shape)
        return {"output_tensor": values.reshape(-1)[places.reshape(-1)].reshape(values.shape)}

    def places(self, sizes: tuple[int, ...]) -> Any:
        """The number of the element whose value stands in the place of each."""
        raise NotImplementedError


@plants("places", OtherSequence)
def SequenceBeginsAnewInEachRow(sizes: tuple[int, ...]) -> Any:
    return np.broadcast_to(np.arange(sizes[-1]), sizes)


@plants("places", OtherSequence)
def SequenceGoesDownTheColumns(sizes: tuple[int, ...]) -> Any:
    return np.arange(np.prod(sizes)).reshape(sizes[::-1]).transpose()


@plants("places", OtherSequence)
def SequenceBeginsAStepLate(sizes: tuple[int, ...]) -> Any:
    count = int(np.prod(sizes))
    return np.minimum(np.arange(1, count + 1), count - 1).reshape(sizes)


@plants("found", WrongValues, families=("fill_value",), has=("value_delta",))
def SequenceStopsAtTheEnds(desc: Any, arrays: Arrays) -> Arrays:
    """Holds on to the least or largest number of an unsigned type, where the sequence starts again."""
    limits = desc.output_tensor.data_type.limits
    if limits is None or limits[0] < 0:
        return {}
    low, high = limits
    start, delta = int(desc.value_start), int(desc.value_delta)
    count = desc.output_tensor.element_count
    numbers = [min(max(start + n * delta, low), high) for n in range(min(count, 4096))]
    values = right(desc, arrays)["output_tensor"].copy()
    values.reshape(-1)[: len(numbers)] = np.array(numbers, NUMBERS[desc.output_tensor.data_type])
    return {"output_tensor": values}
