"""Elements that are compared, combined or shifted wrongly with those at the same place of another tensor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import in_order, nans
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.operator import with_tensors
from strength.mutants.base import EXECUTED, Arrays, Bindings, Mutant, WrongValues, bound, memory_in_order, plants, right
from strength.mutants.base import compute as rightly_computed

EITHER, POSITIVE, NEGATIVE = enumeration("DML_IS_INFINITY_MODE")
CONNECTIVES = ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR", "LOGICAL_NOT")
ORDERED = (
    "LOGICAL_GREATER_THAN",
    "LOGICAL_LESS_THAN",
    "LOGICAL_GREATER_THAN_OR_EQUAL",
    "LOGICAL_LESS_THAN_OR_EQUAL",
)
COMPARISONS = ("LOGICAL_EQUALS", *ORDERED)
SHIFTS = ("BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT")
TWO_OPERANDS = ("element_wise_logic", "element_wise_bits", "element_wise_binary")
# By bytes of an element: the bit of a NaN that makes it a quiet one.
QUIET = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}


class Named(WrongValues, abstract=True):
    """A bug of some element-wise operators.

    Attributes:
        names: of the operators, without what all begin with.
    """

    names: ClassVar[tuple[str, ...]]
    families = ("element_wise_logic", "element_wise_bits")

    @classmethod
    def operators(cls) -> tuple[str, ...]:
        return tuple(name for name in super().operators() if name.removeprefix("ELEMENT_WISE_") in cls.names)


def truths(desc: Any, found: Any) -> Arrays:
    """1 where something is found, else 0."""
    return {"output_tensor": np.asarray(found).astype(UNSIGNED[desc.output_tensor.data_type.size])}


# --- two operands -----------------------------------------------------------------------------------------------------


class OtherSecondOperand(Mutant, abstract=True):
    """Reads other elements of the second operand."""

    families, has, rules = TWO_OPERANDS, ("b_tensor",), EXECUTED

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        tensor, binding = desc.b_tensor, inputs["b_tensor"]
        if not self.is_misread(tensor):
            return rightly_computed(desc, inputs)
        packed, memory = bound(tensor.data_type, memory_in_order(tensor, binding))
        return rightly_computed(with_tensors(desc, {"b_tensor": packed}), {**inputs, "b_tensor": memory})

    def is_misread(self, tensor: Any) -> bool:
        """Whether this tensor is read as if it were packed."""
        raise NotImplementedError


@plants("is_misread", OtherSecondOperand)
def SecondOperandTakenForPacked(tensor: Any) -> bool:
    """Reads the second operand without its strides."""
    return tensor.strides is not None


@plants("is_misread", OtherSecondOperand)
def SecondOperandsBroadcastIgnored(tensor: Any) -> bool:
    """Reads the second operand without its strides where one of them is 0."""
    return tensor.strides is not None and 0 in tensor.strides


class SecondOperandWithTheStridesOfTheFirst(Mutant):
    families, has, rules = TWO_OPERANDS, ("b_tensor",), EXECUTED

    def computed(self, desc: Any, inputs: Bindings) -> Any:
        tensor, binding = desc.b_tensor, inputs["b_tensor"]
        strides = desc.a_tensor.effective_strides
        memory = memory_in_order(replace(tensor, strides=None), binding).reshape(-1)
        places = sum(np.ix_(*(np.arange(n) * step for n, step in zip(tensor.sizes, strides, strict=True))), start=0)
        packed, read = bound(tensor.data_type, memory[np.minimum(places, memory.size - 1)])
        return rightly_computed(with_tensors(desc, {"b_tensor": packed}), {**inputs, "b_tensor": read})


@plants("found", WrongValues, families=TWO_OPERANDS, has=("b_tensor",))
def FirstOperandTwice(desc: Any, arrays: Arrays) -> Arrays:
    return right(desc, {**arrays, "b_tensor": arrays["a_tensor"]})


@plants("found", Named, names=(*ORDERED, *SHIFTS))
def OperandsSwapped(desc: Any, arrays: Arrays) -> Arrays:
    return right(desc, {"a_tensor": arrays["b_tensor"], "b_tensor": arrays["a_tensor"]})


# --- truth values -----------------------------------------------------------------------------------------------------


class OtherTruths(Named, abstract=True):
    """Takes other numbers for true ones."""

    names = CONNECTIVES

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(desc, {key: self.true(array).astype(array.dtype) for key, array in arrays.items()})

    def true(self, numbers: Any) -> Any:
        raise NotImplementedError


@plants("true", OtherTruths)
def OnlyOneIsTrue(numbers: Any) -> Any:
    return numbers == 1


@plants("true", OtherTruths)
def OddNumbersAreTrue(numbers: Any) -> Any:
    return numbers & 1 != 0


@plants("true", OtherTruths)
def TruthOfTheLowByte(numbers: Any) -> Any:
    return numbers & 0xFF != 0


@plants("true", OtherTruths)
def NumbersOfTheTopBitAreFalse(numbers: Any) -> Any:
    """Takes numbers above 0 for true, as those of signed types."""
    return numbers.view(f"i{numbers.itemsize}") > 0


@plants("found", Named, names=("LOGICAL_AND", "LOGICAL_XOR"))
def BitwiseForLogical(desc: Any, arrays: Arrays) -> Arrays:
    """Combines the bits of two numbers, and looks whether any is set."""
    operation = np.bitwise_and if desc.operator.endswith("_AND") else np.bitwise_xor
    return truths(desc, operation(arrays["a_tensor"], arrays["b_tensor"]) != 0)


@plants("found", Named, names=("LOGICAL_OR",))
def OrKeepsNumbers(desc: Any, arrays: Arrays) -> Arrays:
    """Gives the first operand where that is true, else the second."""
    return {"output_tensor": np.where(arrays["a_tensor"] != 0, arrays["a_tensor"], arrays["b_tensor"])}


@plants("found", Named, names=("LOGICAL_XOR",))
def XorAsInequality(desc: Any, arrays: Arrays) -> Arrays:
    """Compares the numbers, and not whether they are true."""
    return truths(desc, arrays["a_tensor"] != arrays["b_tensor"])


@plants("found", Named, names=("LOGICAL_NOT",))
def NotAsInvertedBits(desc: Any, arrays: Arrays) -> Arrays:
    return truths(desc, ~arrays["input_tensor"] != 0)


class OtherOne(Named, abstract=True):
    """Writes another number for true."""

    names = (*CONNECTIVES, *COMPARISONS, "IS_NAN", "IS_INFINITY")

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return {"output_tensor": self.written_as(right(desc, arrays)["output_tensor"])}

    def written_as(self, ones: Any) -> Any:
        raise NotImplementedError


@plants("written_as", OtherOne)
def TrueAsAllOnes(ones: Any) -> Any:
    """Writes a number of all bits for true, as vector instructions do."""
    return np.where(ones != 0, ~np.zeros_like(ones), ones)


@plants("written_as", OtherOne)
def TrueInverted(ones: Any) -> Any:
    return ones ^ 1


# --- comparisons ------------------------------------------------------------------------------------------------------


class ComparesOthers(Named, abstract=True):
    """Compares other numbers than those of the operands."""

    names = COMPARISONS

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.a_tensor.data_type
        with np.errstate(all="ignore"):
            operands = (self.taken(as_numbers(arrays[key], data_type), data_type) for key in ("a_tensor", "b_tensor"))
            return truths(desc, compared(desc.operator, *operands))

    def taken(self, numbers: Any, data_type: DataType) -> Any:
        raise NotImplementedError


def compared(operator: str, a: Any, b: Any) -> Any:
    """What a comparison finds."""
    operations = (np.equal, np.greater, np.less, np.greater_equal, np.less_equal)
    return dict(zip(COMPARISONS, operations, strict=True))[operator.removeprefix("ELEMENT_WISE_")](a, b)


@plants("taken", ComparesOthers, names=ORDERED, since="2_1")
def ComparesUnsignedAsSigned(numbers: Any, data_type: DataType) -> Any:
    return numbers.view(f"i{numbers.itemsize}") if numbers.dtype.kind == "u" else numbers


@plants("taken", ComparesOthers, names=ORDERED, since="2_1")
def ComparesSignedAsUnsigned(numbers: Any, data_type: DataType) -> Any:
    return numbers.view(f"u{numbers.itemsize}") if numbers.dtype.kind == "i" else numbers


@plants("taken", ComparesOthers, since="2_1")
def ComparesIntegersAsFloat32(numbers: Any, data_type: DataType) -> Any:
    return numbers.astype(np.float32) if numbers.dtype.kind in "iu" else numbers


@plants("taken", ComparesOthers, since="4_1")
def ComparesIntegersAsFloat64(numbers: Any, data_type: DataType) -> Any:
    return numbers.astype(np.float64) if numbers.dtype.kind in "iu" else numbers


@plants("taken", ComparesOthers, since="4_1")
def ComparesLowHalves(numbers: Any, data_type: DataType) -> Any:
    """Compares the low 32 bits of 64."""
    return numbers.astype(f"{numbers.dtype.kind}4") if numbers.itemsize == 8 else numbers


@plants("taken", ComparesOthers)
def ComparesFloatsAsBits(numbers: Any, data_type: DataType) -> Any:
    """Compares floats as integers: a NaN is equal to itself, and negative ones stand in the opposite order."""
    return numbers.view(f"i{numbers.itemsize}") if data_type.is_float else numbers


@plants("taken", ComparesOthers)
def ComparesFloatsInTotalOrder(numbers: Any, data_type: DataType) -> Any:
    """Puts NaN of either sign beyond the infinities."""
    return in_order(numbers.view(UNSIGNED[numbers.itemsize]), data_type) if data_type.is_float else numbers


@plants("taken", ComparesOthers)
def ComparesMagnitudesOnly(numbers: Any, data_type: DataType) -> Any:
    return np.abs(numbers) if data_type.is_float else numbers


@plants("taken", ComparesOthers)
def ComparesFloat16WithoutSubnormals(numbers: Any, data_type: DataType) -> Any:
    """Takes subnormal FLOAT16 numbers for 0, which they are not."""
    return np.where(np.abs(numbers) < 2.0**-14, 0, numbers) if data_type is DataType.FLOAT16 else numbers


@plants("taken", ComparesOthers)
def ComparesFloat32AsFloat16(numbers: Any, data_type: DataType) -> Any:
    return numbers.astype(np.float16) if data_type is DataType.FLOAT32 else numbers


class OtherResults(Named, abstract=True):
    """Finds something else of some pairs of floats."""

    names = COMPARISONS

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        data_type = desc.a_tensor.data_type
        if not data_type.is_float:
            return {}
        elements = arrays["a_tensor"], arrays["b_tensor"]
        kept = right(desc, arrays)["output_tensor"]
        return {"output_tensor": np.where(self.where(*elements, data_type), self.instead(kept, *elements), kept)}

    def where(self, a: Any, b: Any, data_type: DataType) -> Any:
        raise NotImplementedError

    def instead(self, kept: Any, a: Any, b: Any) -> Any:
        """The opposite."""
        return kept ^ 1


@plants("where", OtherResults)
def ComparisonsWithNanTrue(a: Any, b: Any, data_type: DataType) -> Any:
    return nans(a, data_type) | nans(b, data_type)


@plants("where", OtherResults)
def NanEqualToItself(a: Any, b: Any, data_type: DataType) -> Any:
    """Finds a NaN equal to one of the same bits, and neither less nor greater."""
    return nans(a, data_type) & (a == b)


@plants("where", OtherResults)
def ZerosOfDifferentSignTold(a: Any, b: Any, data_type: DataType) -> Any:
    """Takes -0 and 0 for different numbers, in whichever order they stand."""
    a, b = (element.view(NUMBERS[data_type]) for element in (a, b))
    return (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))


@plants("where", OtherResults)
def InfinitiesUnequal(a: Any, b: Any, data_type: DataType) -> Any:
    """Finds that an infinity is not equal to itself, as it finds of a NaN."""
    return np.isinf(a.view(NUMBERS[data_type])) & (a == b)


@plants("found", Named, names=("LOGICAL_EQUALS",))
def EqualsByBits(desc: Any, arrays: Arrays) -> Arrays:
    return truths(desc, arrays["a_tensor"] == arrays["b_tensor"])


@plants("found", Named, names=("LOGICAL_EQUALS",))
def EqualsWithinATolerance(desc: Any, arrays: Arrays) -> Arrays:
    """Finds numbers equal that are next to each other."""
    data_type = desc.a_tensor.data_type
    a, b = (in_order(arrays[key], data_type).astype(np.float64) for key in ("a_tensor", "b_tensor"))
    near = (np.abs(a - b) == 1) & ~nans(arrays["a_tensor"], data_type) & ~nans(arrays["b_tensor"], data_type)
    return truths(desc, near | (right(desc, arrays)["output_tensor"] != 0))


@plants("found", Named, names=ORDERED)
def EqualsCountOtherwise(desc: Any, arrays: Arrays) -> Arrays:
    """Counts equal numbers where the relation is strict, and where it is not it does not."""
    a, b = (as_numbers(arrays[key], desc.a_tensor.data_type) for key in ("a_tensor", "b_tensor"))
    kept = right(desc, arrays)["output_tensor"]
    return {"output_tensor": np.where(a == b, kept ^ 1, kept)}


# --- classes of floats ------------------------------------------------------------------------------------------------


class OtherClass(Named, abstract=True):
    """Finds other floats to be of the class that is asked for."""

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        elements = arrays["input_tensor"]
        infinity = np.array(np.inf, NUMBERS[desc.input_tensor.data_type]).view(elements.dtype)
        return truths(desc, self.holds(elements, infinity))

    def holds(self, elements: Any, infinity: Any) -> Any:
        raise NotImplementedError


def _magnitude(elements: Any) -> Any:
    return elements & elements.dtype.type(2 ** (8 * elements.itemsize - 1) - 1)


@plants("holds", OtherClass, names=("IS_NAN",))
def InfinityTakenForNan(elements: Any, infinity: Any) -> Any:
    return _magnitude(elements) >= infinity


@plants("holds", OtherClass, names=("IS_NAN",))
def QuietNanAlone(elements: Any, infinity: Any) -> Any:
    """Finds no signalling NaN."""
    return _magnitude(elements) >= infinity | elements.dtype.type(QUIET[elements.itemsize])


@plants("holds", OtherClass, names=("IS_NAN",))
def NegativeNanMissed(elements: Any, infinity: Any) -> Any:
    """Compares bits as signed integers."""
    return elements.view(f"i{elements.itemsize}") > infinity.view(f"i{elements.itemsize}")


@plants("holds", OtherClass, names=("IS_NAN",))
def DefaultNanAlone(elements: Any, infinity: Any) -> Any:
    """Looks for the NaN that computing gives, without a payload."""
    kind = np.dtype(f"f{elements.itemsize}")
    return _magnitude(elements) == np.array(np.nan, kind).view(elements.dtype)


class OtherMode(Named, abstract=True):
    """Takes InfinityMode for another one."""

    names = ("IS_INFINITY",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        return right(replace(desc, infinity_mode=int(self.mode(desc.infinity_mode))), arrays)

    def mode(self, mode: int) -> int:
        raise NotImplementedError


@plants("mode", OtherMode)
def InfinityModeIgnored(mode: int) -> int:
    return int(EITHER)


@plants("mode", OtherMode)
def InfinityModesSwapped(mode: int) -> int:
    return {int(POSITIVE): int(NEGATIVE), int(NEGATIVE): int(POSITIVE)}.get(mode, mode)


@plants("mode", OtherMode)
def EitherInfinityTakenForPositive(mode: int) -> int:
    return int(POSITIVE) if mode == EITHER else mode


class OtherInfinities(Named, abstract=True):
    """Looks for infinities of the right sign among other elements."""

    names = ("IS_INFINITY",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        elements = arrays["input_tensor"]
        infinity = np.array(np.inf, NUMBERS[desc.input_tensor.data_type]).view(elements.dtype)
        is_more = self.is_more(_magnitude(elements), infinity)
        return right(desc, {"input_tensor": np.where(is_more, infinity | (elements ^ _magnitude(elements)), elements)})

    def is_more(self, magnitudes: Any, infinity: Any) -> Any:
        """Which elements are taken for infinities too."""
        raise NotImplementedError


@plants("is_more", OtherInfinities)
def NanTakenForInfinity(magnitudes: Any, infinity: Any) -> Any:
    """Looks at the exponent alone."""
    return magnitudes > infinity


@plants("is_more", OtherInfinities)
def LargestNumberTakenForInfinity(magnitudes: Any, infinity: Any) -> Any:
    return magnitudes == infinity - infinity.dtype.type(1)


# --- bits -------------------------------------------------------------------------------------------------------------


@plants("found", Named, names=("BIT_AND", "BIT_OR", "BIT_XOR"))
def LogicalForBitwise(desc: Any, arrays: Arrays) -> Arrays:
    """Combines whether the operands are 0, as the logical operator of that name does."""
    operation = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}[desc.operator.rpartition("_")[2]]
    return truths(desc, operation(arrays["a_tensor"] != 0, arrays["b_tensor"] != 0))


@plants("found", Named, names=("BIT_OR", "BIT_XOR"))
def OrAndXorSwapped(desc: Any, arrays: Arrays) -> Arrays:
    operation = np.bitwise_or if desc.operator.endswith("_XOR") else np.bitwise_xor
    return {"output_tensor": operation(arrays["a_tensor"], arrays["b_tensor"])}


class CombinesNumbers(Named, abstract=True):
    """Takes floats for numbers, and combines the bits of what that leaves of them."""

    names, since = ("BIT_AND", "BIT_OR", "BIT_XOR", "BIT_NOT", "BIT_COUNT"), "4_1"

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        read = {key: self.left(array, getattr(desc, key).data_type) for key, array in arrays.items()}
        return right(desc, read)

    def left(self, elements: Any, data_type: DataType) -> Any:
        raise NotImplementedError


@plants("left", CombinesNumbers)
def OperandsFlushed(elements: Any, data_type: DataType) -> Any:
    """Takes subnormal floats for zeros."""
    if not data_type.is_float:
        return elements
    numbers = elements.view(NUMBERS[data_type])
    return np.where(np.abs(numbers) < np.finfo(numbers.dtype).tiny, elements ^ _magnitude(elements), elements)


@plants("left", CombinesNumbers)
def OperandsQuieted(elements: Any, data_type: DataType) -> Any:
    """Sets the quiet bit of a NaN."""
    if not data_type.is_float:
        return elements
    return np.where(nans(elements, data_type), elements | elements.dtype.type(QUIET[elements.itemsize]), elements)


@plants("left", CombinesNumbers)
def FloatsTakenForIntegers(elements: Any, data_type: DataType) -> Any:
    """Converts floats to whole numbers before it looks at bits."""
    if not data_type.is_float:
        return elements
    with np.errstate(all="ignore"):
        numbers = elements.view(NUMBERS[data_type]).astype(np.float64)
        return np.where(np.abs(numbers) < 2.0**60, numbers, 0).astype(np.int64).astype(elements.dtype)


class OtherCount(Named, abstract=True):
    """Counts other bits."""

    names = ("BIT_COUNT",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        counted = self.counted(arrays["input_tensor"], desc.input_tensor.data_type)
        counts = [(counted >> counted.dtype.type(bit)) & counted.dtype.type(1) for bit in range(8 * counted.itemsize)]
        return truths(desc, sum(counts))

    def counted(self, elements: Any, data_type: DataType) -> Any:
        raise NotImplementedError


@plants("counted", OtherCount, since="4_1")
def CountsTheLow32Bits(elements: Any, data_type: DataType) -> Any:
    return elements & elements.dtype.type(0xFFFF_FFFF) if elements.itemsize == 8 else elements


@plants("counted", OtherCount, since="4_1")
def CountsRepeatedSigns(elements: Any, data_type: DataType) -> Any:
    """Widens elements of signed types to 64 bits before it counts."""
    if not data_type.is_signed_integer:
        return elements
    return elements.view(f"i{elements.itemsize}").astype(np.int64).view(np.uint64)


@plants("counted", OtherCount)
def CountsZeros(elements: Any, data_type: DataType) -> Any:
    return ~elements


@plants("counted", OtherCount)
def TopBitNotCounted(elements: Any, data_type: DataType) -> Any:
    return _magnitude(elements)


class ShiftsOtherwise(Named, abstract=True):
    """Shifts other elements, by another count or in another way; counts are below the bits of the type."""

    names = SHIFTS

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        a, b = arrays["a_tensor"], arrays["b_tensor"]
        count = np.minimum(b, b.dtype.type(8 * b.itemsize - 1))
        return {"output_tensor": self.shifted(a, count, is_left=desc.operator.endswith("_LEFT")).astype(a.dtype)}

    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        raise NotImplementedError


def shift(a: Any, count: Any, is_left: bool) -> Any:
    return np.left_shift(a, count) if is_left else np.right_shift(a, count)


class ShiftsByOtherCount(ShiftsOtherwise, abstract=True):
    mask: ClassVar[int]

    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        return shift(a, count & count.dtype.type(self.mask), is_left)


class ShiftCountOf3Bits(ShiftsByOtherCount):
    """Takes the low 3 bits of a count, enough for a byte."""

    mask = 7


class ShiftCountOf5Bits(ShiftsByOtherCount):
    """Takes the low 5 bits of a count, as shader instructions do, of elements of 64 bits too."""

    since, mask = "4_1", 31


class ShiftsByOneMore(ShiftsOtherwise):
    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        return shift(shift(a, count, is_left), count.dtype.type(1), is_left)


class ShiftsTheOtherWay(ShiftsOtherwise):
    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        return shift(a, count, not is_left)


class Rotates(ShiftsOtherwise):
    """Lets bits that leave on one side come in on the other."""

    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        width = a.dtype.type(8 * a.itemsize)
        returned = shift(a, (width - count) % width, not is_left)
        return np.where(count == 0, a, shift(a, count, is_left) | returned)


class ArithmeticRightShift(ShiftsOtherwise):
    """Repeats the top bit on the right shift."""

    names = ("BIT_SHIFT_RIGHT",)

    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        return np.right_shift(a.view(f"i{a.itemsize}"), count.view(f"i{a.itemsize}")).view(a.dtype)


class BitsShiftedOutStay(ShiftsOtherwise):
    """Shifts to the left and back in a type that is too wide, or multiplies without a loss of what leaves the type."""

    names = ("BIT_SHIFT_LEFT",)

    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        wide = np.left_shift(a.astype(np.uint64), count.astype(np.uint64))
        return np.minimum(wide, np.uint64(np.iinfo(a.dtype).max))


class ShiftsByTheFirstCount(ShiftsOtherwise):
    """Takes the first count for all elements."""

    def shifted(self, a: Any, count: Any, *, is_left: bool) -> Any:
        return shift(a, count.reshape(-1)[0], is_left)
