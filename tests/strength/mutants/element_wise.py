"""Elements that are compared, combined or shifted wrongly with those at the same place of another tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import in_order, nans
from dml_conformance.spec.field_kinds import enumeration
from strength.mutants.base import (
    EXECUTED,
    Arrays,
    Bindings,
    WrongValues,
    compute,
    computes,
    fault,
    memory_in_order,
    misreads,
    numbers,
    plants,
    right,
    with_elements,
)

EITHER, POSITIVE, NEGATIVE = enumeration("DML_IS_INFINITY_MODE")
CONNECTIVES = ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR", "LOGICAL_NOT")
ORDERED = (
    *("LOGICAL_GREATER_THAN", "LOGICAL_LESS_THAN", "LOGICAL_GREATER_THAN_OR_EQUAL", "LOGICAL_LESS_THAN_OR_EQUAL"),
)
COMPARISONS = ("LOGICAL_EQUALS", *ORDERED)
SHIFTS = ("BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT")
TWO_OPERANDS = ("element_wise_logic", "element_wise_bits", "element_wise_binary")
# By bytes of an element: the bit of a NaN that makes it a quiet one.
QUIET = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}


# --- two operands -----------------------------------------------------------------------------------------------------


def packed_where(is_misread: Any, desc: Any, inputs: Bindings) -> Any:
    """Reads the second operand as if it were packed, where it is misread."""
    if not is_misread(tensor=desc.b_tensor):
        return compute(desc, inputs)
    return with_elements(desc, inputs, "b_tensor", memory_in_order(desc.b_tensor, inputs["b_tensor"]))


plants("computed", by=packed_where, families=TWO_OPERANDS, has=("b_tensor",), rules=EXECUTED).each(
    SecondOperandTakenForPacked=fault(
        lambda tensor: tensor.strides is not None, "Reads the second operand without its strides."
    ),
    SecondOperandsBroadcastIgnored=fault(
        lambda tensor: tensor.strides is not None and 0 in tensor.strides,
        "Reads the second operand without its strides where one of them is 0.",
    ),
)


@plants("computed", families=TWO_OPERANDS, has=("b_tensor",), rules=EXECUTED)
def SecondOperandWithTheStridesOfTheFirst(desc: Any, inputs: Bindings) -> Any:
    tensor, strides = desc.b_tensor, desc.a_tensor.effective_strides
    memory = memory_in_order(replace(tensor, strides=None), inputs["b_tensor"]).reshape(-1)
    places = sum(np.ix_(*(np.arange(n) * step for n, step in zip(tensor.sizes, strides, strict=True))), start=0)
    return with_elements(desc, inputs, "b_tensor", memory[np.minimum(places, memory.size - 1)])


misreads().each(
    FirstOperandTwice=fault(lambda arrays: {"b_tensor": arrays["a_tensor"]}, families=TWO_OPERANDS, has=("b_tensor",)),
    OperandsSwapped=fault(
        lambda arrays: {"a_tensor": arrays["b_tensor"], "b_tensor": arrays["a_tensor"]}, names=(*ORDERED, *SHIFTS)
    ),
)


# --- truth values -----------------------------------------------------------------------------------------------------


def of_each(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Takes other elements in the place of each input's."""
    return {
        key: function(elements=array, data_type=getattr(desc, key).data_type).astype(array.dtype)
        for key, array in arrays.items()
    }


misreads(of_each, names=CONNECTIVES).each(
    OnlyOneIsTrue=lambda elements: elements == 1,
    OddNumbersAreTrue=lambda elements: elements & 1 != 0,
    TruthOfTheLowByte=lambda elements: elements & 0xFF != 0,
    NumbersOfTheTopBitAreFalse=fault(
        lambda elements: elements.view(f"i{elements.itemsize}") > 0,
        "Takes numbers above 0 for true, as those of signed types.",
    ),
)


def of_both(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Combines the bits of two operands."""
    return function(a=arrays["a_tensor"], b=arrays["b_tensor"], is_and=desc.operator.endswith("_AND"))


computes(of_both).each(
    BitwiseForLogical=fault(
        lambda a, b, is_and: (a & b if is_and else a ^ b) != 0,
        "Combines the bits of two numbers, and looks whether any is set.",
        names=("LOGICAL_AND", "LOGICAL_XOR"),
    ),
    OrKeepsNumbers=fault(
        lambda a, b: np.where(a != 0, a, b),
        "Gives the first operand where that is true, else the second.",
        names=("LOGICAL_OR",),
    ),
    XorAsInequality=fault(
        lambda a, b: a != b, "Compares the numbers, and not whether they are true.", names=("LOGICAL_XOR",)
    ),
)


@computes(names=("LOGICAL_NOT",))
def NotAsInvertedBits(arrays: Arrays) -> Any:
    return ~arrays["input_tensor"] != 0


def of_results(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Writes another number for true."""
    return function(ones=right(desc, arrays)["output_tensor"])


computes(of_results, names=(*CONNECTIVES, *COMPARISONS, "IS_NAN", "IS_INFINITY")).each(
    TrueAsAllOnes=fault(
        lambda ones: np.where(ones != 0, ~np.zeros_like(ones), ones),
        "Writes a number of all bits for true, as vector instructions do.",
    ),
    TrueInverted=lambda ones: ones ^ 1,
)


# --- comparisons ------------------------------------------------------------------------------------------------------


def compared(taken: Any, desc: Any, arrays: Arrays) -> Any:
    """Compares other numbers than those of the operands."""
    operations = (np.equal, np.greater, np.less, np.greater_equal, np.less_equal)
    compare = dict(zip(COMPARISONS, operations, strict=True))[desc.operator.removeprefix("ELEMENT_WISE_")]
    return compare(*(taken(x=numbers(desc, arrays)[key]) for key in ("a_tensor", "b_tensor")))


computes(compared, names=COMPARISONS).each(
    ComparesUnsignedAsSigned=fault(lambda x: x.view(f"i{x.itemsize}"), kinds="u", names=ORDERED, since="2_1"),
    ComparesSignedAsUnsigned=fault(lambda x: x.view(f"u{x.itemsize}"), kinds="i", names=ORDERED, since="2_1"),
    ComparesIntegersAsFloat32=fault(lambda x: x.astype(np.float32), kinds=("i", "u"), since="2_1"),
    ComparesIntegersAsFloat64=fault(lambda x: x.astype(np.float64), kinds=("i", "u"), since="4_1"),
    ComparesLowHalves=fault(
        lambda x: x.astype(f"{x.dtype.kind}4"), "Compares the low 32 bits of 64.", kinds=("f8", "i8", "u8"), since="4_1"
    ),
    ComparesFloatsAsBits=fault(
        lambda x: x.view(f"i{x.itemsize}"),
        "Compares floats as integers: a NaN is equal to itself, and negative ones stand in the opposite order.",
        kinds="f",
    ),
    ComparesFloatsInTotalOrder=fault(
        lambda x: in_order(x.view(UNSIGNED[x.itemsize]), DataType[f"FLOAT{8 * x.itemsize}"]),
        "Puts NaN of either sign beyond the infinities.",
        kinds="f",
    ),
    ComparesMagnitudesOnly=fault(lambda x: np.abs(x), kinds="f"),
    ComparesFloat16WithoutSubnormals=fault(
        lambda x: np.where(np.abs(x) < 2.0**-14, 0, x),
        "Takes subnormal FLOAT16 numbers for 0, which they are not.",
        kinds="f2",
    ),
    ComparesFloat32AsFloat16=fault(lambda x: x.astype(np.float16), kinds="f4"),
)


def the_opposite(where: Any, desc: Any, arrays: Arrays) -> Any:
    """Finds the opposite of some pairs."""
    a, b = (numbers(desc, arrays)[key] for key in ("a_tensor", "b_tensor"))
    is_other = where(a=a, b=b, is_same=arrays["a_tensor"] == arrays["b_tensor"])
    return right(desc, arrays)["output_tensor"] ^ is_other


computes(the_opposite, names=COMPARISONS, kinds="f").each(
    ComparisonsWithNanTrue=lambda a, b: np.isnan(a) | np.isnan(b),
    NanEqualToItself=fault(
        lambda a, is_same: np.isnan(a) & is_same,
        "Finds a NaN equal to one of the same bits, and neither less nor greater.",
    ),
    ZerosOfDifferentSignTold=fault(
        lambda a, b: (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)),
        "Takes -0 and 0 for different numbers, in whichever order they stand.",
    ),
    InfinitiesUnequal=fault(
        lambda a, is_same: np.isinf(a) & is_same, "Finds that an infinity is not equal to itself, as it finds of a NaN."
    ),
)


@computes(names=("LOGICAL_EQUALS",))
def EqualsByBits(arrays: Arrays) -> Any:
    return arrays["a_tensor"] == arrays["b_tensor"]


@computes(names=("LOGICAL_EQUALS",))
def EqualsWithinATolerance(desc: Any, arrays: Arrays) -> Any:
    """Finds numbers equal that are next to each other."""
    data_type = desc.a_tensor.data_type
    a, b = (in_order(arrays[key], data_type).astype(np.float64) for key in ("a_tensor", "b_tensor"))
    near = (np.abs(a - b) == 1) & ~nans(arrays["a_tensor"], data_type) & ~nans(arrays["b_tensor"], data_type)
    return near | (right(desc, arrays)["output_tensor"] != 0)


computes(the_opposite, names=ORDERED).each(
    EqualsCountOtherwise=fault(
        lambda a, b: a == b, "Counts equal numbers where the relation is strict, and where it is not it does not."
    ),
)


# --- classes of floats ------------------------------------------------------------------------------------------------


def of_bits(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Looks at the bits of floats, and at them without the sign."""
    bits = arrays["input_tensor"]
    infinity = np.array(np.inf, NUMBERS[desc.input_tensor.data_type]).view(bits.dtype)
    return function(bits=bits, magnitudes=_magnitude(bits), infinity=infinity)


def _magnitude(elements: Any) -> Any:
    return elements & elements.dtype.type(2 ** (8 * elements.itemsize - 1) - 1)


computes(of_bits, names=("IS_NAN",)).each(
    InfinityTakenForNan=lambda magnitudes, infinity: magnitudes >= infinity,
    QuietNanAlone=fault(
        lambda magnitudes, infinity: magnitudes >= infinity | infinity.dtype.type(QUIET[infinity.itemsize]),
        "Finds no signalling NaN.",
    ),
    NegativeNanMissed=fault(
        lambda bits, infinity: bits.view(f"i{bits.itemsize}") > infinity.view(f"i{bits.itemsize}"),
        "Compares bits as signed integers.",
    ),
    DefaultNanAlone=fault(
        lambda bits, magnitudes: magnitudes == np.array(np.nan, f"f{bits.itemsize}").view(bits.dtype),
        "Looks for the NaN that computing gives, without a payload.",
    ),
)


def of_mode(mode: Any, desc: Any) -> Any:
    """Takes InfinityMode for another one."""
    return replace(desc, infinity_mode=int(mode(mode=desc.infinity_mode)))


plants("descriptor", WrongValues, of_mode, names=("IS_INFINITY",)).each(
    InfinityModeIgnored=lambda: EITHER,
    InfinityModesSwapped=lambda mode: {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}.get(mode, mode),
    EitherInfinityTakenForPositive=lambda mode: POSITIVE if mode == EITHER else mode,
)


def more_infinities(is_more: Any, desc: Any, arrays: Arrays) -> Any:
    """Looks for infinities of the right sign among other elements."""

    def taken(bits: Any, magnitudes: Any, infinity: Any) -> Any:
        signs = bits ^ magnitudes
        return np.where(is_more(magnitudes=magnitudes, infinity=infinity), infinity | signs, bits)

    return {"input_tensor": of_bits(taken, desc, arrays)}


misreads(more_infinities, names=("IS_INFINITY",)).each(
    NanTakenForInfinity=fault(lambda magnitudes, infinity: magnitudes > infinity, "Looks at the exponent alone."),
    LargestNumberTakenForInfinity=lambda magnitudes, infinity: magnitudes == infinity - infinity.dtype.type(1),
)


# --- bits -------------------------------------------------------------------------------------------------------------


@computes(names=("BIT_AND", "BIT_OR", "BIT_XOR"))
def LogicalForBitwise(desc: Any, arrays: Arrays) -> Any:
    """Combines whether the operands are 0, as the logical operator of that name does."""
    operation = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}[desc.operator.rpartition("_")[2]]
    return operation(arrays["a_tensor"] != 0, arrays["b_tensor"] != 0).astype(arrays["a_tensor"].dtype)


@computes(names=("BIT_OR", "BIT_XOR"))
def OrAndXorSwapped(desc: Any, arrays: Arrays) -> Any:
    operation = np.bitwise_or if desc.operator.endswith("_XOR") else np.bitwise_xor
    return operation(arrays["a_tensor"], arrays["b_tensor"])


# Takes floats for numbers, and combines the bits of what that leaves of them.
of_floats = {"names": ("BIT_AND", "BIT_OR", "BIT_XOR", "BIT_NOT", "BIT_COUNT"), "kinds": "f", "since": "4_1"}


@misreads(of_each, **of_floats)
def OperandsFlushed(elements: Any, data_type: Any) -> Any:
    """Takes subnormal floats for zeros."""
    x = elements.view(NUMBERS[data_type])
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, elements ^ _magnitude(elements), elements)


@misreads(of_each, **of_floats)
def OperandsQuieted(elements: Any, data_type: Any) -> Any:
    """Sets the quiet bit of a NaN."""
    return np.where(nans(elements, data_type), elements | elements.dtype.type(QUIET[elements.itemsize]), elements)


@misreads(of_each, **of_floats)
def FloatsTakenForIntegers(elements: Any, data_type: Any) -> Any:
    """Converts floats to whole numbers before it looks at bits."""
    x = elements.view(NUMBERS[data_type]).astype(np.float64)
    return np.where(np.abs(x) < 2.0**60, x, 0).astype(np.int64)


def other_count(counted: Any, desc: Any, arrays: Arrays) -> Any:
    """Counts other bits."""
    bits = counted(elements=arrays["input_tensor"])
    return sum((bits >> bits.dtype.type(place)) & bits.dtype.type(1) for place in range(8 * bits.itemsize))


computes(other_count, names=("BIT_COUNT",)).each(
    CountsTheLow32Bits=fault(
        lambda elements: elements & elements.dtype.type(0xFFFF_FFFF), kinds=("f8", "i8", "u8"), since="4_1"
    ),
    CountsRepeatedSigns=fault(
        lambda elements: elements.view(f"i{elements.itemsize}").astype(np.int64).view(np.uint64),
        "Widens elements of signed types to 64 bits before it counts.",
        kinds="i",
        since="4_1",
    ),
    CountsZeros=lambda elements: ~elements,
    TopBitNotCounted=_magnitude,
)


def shifted(function: Any, desc: Any, arrays: Arrays) -> Any:
    """Shifts other elements, by another count or in another way; counts are below the bits of the type."""
    a, b = arrays["a_tensor"], arrays["b_tensor"]
    count = np.minimum(b, b.dtype.type(8 * b.itemsize - 1))
    return function(a=a, count=count, is_left=desc.operator.endswith("_LEFT")).astype(a.dtype)


def shift(a: Any, count: Any, is_left: bool) -> Any:
    return np.left_shift(a, count) if is_left else np.right_shift(a, count)


computes(shifted, names=SHIFTS).each(
    ShiftCountOf3Bits=fault(
        lambda a, count, is_left: shift(a, count & count.dtype.type(7), is_left),
        "Takes the low 3 bits of a count, enough for a byte.",
    ),
    ShiftCountOf5Bits=fault(
        lambda a, count, is_left: shift(a, count & count.dtype.type(31), is_left),
        "Takes the low 5 bits of a count, as shader instructions do, of elements of 64 bits too.",
        since="4_1",
    ),
    ShiftsByOneMore=lambda a, count, is_left: shift(shift(a, count, is_left), count.dtype.type(1), is_left),
    ShiftsTheOtherWay=lambda a, count, is_left: shift(a, count, not is_left),
)


@computes(shifted, names=SHIFTS)
def Rotates(a: Any, count: Any, is_left: bool) -> Any:
    """Lets bits that leave on one side come in on the other."""
    width = a.dtype.type(8 * a.itemsize)
    returned = shift(a, (width - count) % width, not is_left)
    return np.where(count == 0, a, shift(a, count, is_left) | returned)


computes(shifted).each(
    ArithmeticRightShift=fault(
        lambda a, count: np.right_shift(a.view(f"i{a.itemsize}"), count.view(f"i{a.itemsize}")),
        "Repeats the top bit on the right shift.",
        names=("BIT_SHIFT_RIGHT",),
    ),
    BitsShiftedOutStay=fault(
        lambda a, count: np.minimum(a.astype(np.uint64) << count.astype(np.uint64), np.uint64(np.iinfo(a.dtype).max)),
        "Shifts to the left and back in a type that is too wide, or multiplies without a loss of what leaves the type.",
        names=("BIT_SHIFT_LEFT",),
    ),
    ShiftsByTheFirstCount=fault(
        lambda a, count, is_left: shift(a, count.reshape(-1)[0], is_left),
        "Takes the first count for all elements.",
        names=SHIFTS,
    ),
)
