"""What tensors hold: named patterns that, with a seed, fix every byte of a buffer on every machine.

Contents are never drawn. A recipe names a pattern and a seed; bytes come from SHAKE-128, which is the same
everywhere. Only explicit values, of worked examples and of index tensors small enough to shrink, stand in a case.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from dml_conformance.spec import nibbles
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import OperatorDesc, Slot, inputs, outputs
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc, clusters, without_gaps

Bytes = npt.NDArray[np.uint8]
Unsigned = npt.NDArray[Any]
_T = TypeVar("_T")

NUMPY_TYPE: Mapping[DataType, np.dtype] = {
    data_type: np.dtype(data_type.unpacked.name.lower()).newbyteorder("<") for data_type in DataType if data_type.size
}
MANTISSA_BITS: Mapping[int, int] = {2: 10, 4: 23, 8: 52}
UNSIGNED_OF_SIZE: Mapping[int, np.dtype] = {size: np.dtype(f"<u{size}") for size in (1, 2, 4, 8)}

RAMP, RANDOM_BITS, SPECIAL = "ramp", "random-bits", "special"
DATA_PATTERNS = (RAMP, RANDOM_BITS, SPECIAL)
SMALL_INTEGERS, TRUTHS, FINITE, LIMITS = "small-integers", "truths", "finite", "limits"
SPECIAL_PAIRS, SHIFTS = "special-pairs", "shifts"
MODERATE, CRITICAL, ALL_VALUES = "moderate", "critical", "all-values"
SCALES, STEPS, COUNTERS = "scales", "steps", "counters"
POSITIVE, CANCELLING, WEIGHTS = "positive", "cancelling", "weights"
FACTORS = "factors"
IN_RANGE, BOUNDARY, REPEATED, NEGATIVE, MIXED, OUT_OF_RANGE, FAR, FAR_NEGATIVE = (
    "in-range",
    "boundary",
    "repeated",
    "negative",
    "mixed-sign",
    "out-of-range",
    "far",
    "far-negative",
)
# Of tensors whose last dimension has the corners of regions, of the plainest first; see `_regions`.
REGIONS, FRACTIONAL_REGIONS, WIDE_REGIONS, OUTLYING_REGIONS = (
    "regions",
    "fractional-regions",
    "wide-regions",
    "outlying-regions",
)
REGION_PATTERNS = (REGIONS, FRACTIONAL_REGIONS, WIDE_REGIONS, OUTLYING_REGIONS)
# Which values an input takes where not any bits will do; a name that `OperatorSpec.domains` has.
DOMAINS: Mapping[str, tuple[str, ...]] = {
    "bits": DATA_PATTERNS,
    "small integers": (SMALL_INTEGERS,),  # that every type has, floats too: sums of them are exact in any order
    "truths": (TRUTHS,),  # 0, 1 and other numbers
    "finite": (RAMP, FINITE),  # neither NaN nor infinity
    # Any bits too, but many that are the same number in every type, and such as other types just have or do not.
    "numbers": (SMALL_INTEGERS, *DATA_PATTERNS, LIMITS),
    "comparable": (SMALL_INTEGERS, FINITE, RAMP, SPECIAL),  # many that are equal, and any; few that have no order
    "zeros": (SMALL_INTEGERS, TRUTHS, *DATA_PATTERNS),  # many that are 0, and hardly any
    "operands": (SMALL_INTEGERS, RANDOM_BITS, SPECIAL_PAIRS),  # two that have all pairs of what is special
    "compared": (FINITE, SMALL_INTEGERS, SPECIAL_PAIRS),  # two that are often equal
    "conditions": (SPECIAL_PAIRS, TRUTHS),  # 0, 1 and other numbers, of many bits too
    "classes": (FINITE, SPECIAL),  # many infinities and NaN among floats
    "shifts": (SHIFTS,),  # counts of bits
    "reals": (ALL_VALUES, MODERATE, CRITICAL),  # arguments of a function
    "rows": (SMALL_INTEGERS, MODERATE, FINITE, SPECIAL),  # elements along axes, few of them NaN
    # What is added up: whole numbers first, then sums of one sign, such that cancel, any magnitudes, what is special.
    "sums": (SMALL_INTEGERS, POSITIVE, CANCELLING, MODERATE, FINITE, SPECIAL),
    # What is multiplied: whole numbers first, then such that products of many neither vanish nor overflow.
    "factors": (SMALL_INTEGERS, FACTORS, POSITIVE, MODERATE, SPECIAL),
    # Of normalization: means, scales and biases; variances, few of them below 0.
    "parameters": (SMALL_INTEGERS, WEIGHTS, POSITIVE, MODERATE, SPECIAL),
    "variances": (POSITIVE, SCALES),
    # Of recurrences: whole numbers first, then weights by which states neither vanish nor saturate.
    "recurrent": (SMALL_INTEGERS, WEIGHTS, MODERATE, SPECIAL),
    "lengths": (BOUNDARY, IN_RANGE),  # from 0 on
    "regions": REGION_PATTERNS,
    "scales": (SCALES,),  # what numbers are quantized by
    "steps": (SCALES, STEPS),  # the same of factors, whose products are larger than they are
    "quantized": (SMALL_INTEGERS, RANDOM_BITS, MODERATE),  # integers that stand for factors
    "biases": (SMALL_INTEGERS, MODERATE),  # what is added to sums of their products
    "zero points": (SMALL_INTEGERS, RANDOM_BITS),
    "training steps": (SMALL_INTEGERS, MODERATE),
    "scales and zero points": (SCALES, MODERATE),  # where one field has both
    "generator state": (RANDOM_BITS, COUNTERS),
    "terms": (MODERATE, RANDOM_BITS, SPECIAL_PAIRS, SMALL_INTEGERS, CRITICAL),  # of an operation on two numbers
}

UNSIGNED_INDEX_PATTERNS = (IN_RANGE, BOUNDARY, REPEATED)
SIGNED_INDEX_PATTERNS = (*UNSIGNED_INDEX_PATTERNS, NEGATIVE, MIXED)
INDEX_PATTERNS = (*SIGNED_INDEX_PATTERNS, OUT_OF_RANGE, FAR, FAR_NEGATIVE)
NEGATIVE_PATTERNS = (NEGATIVE, MIXED, FAR_NEGATIVE)  # for signed types alone
FAR_END = 64  # elements at the end of an axis that half of the far indices are among
OVERLAPPING = "overlapping"  # for an input beside an index tensor: its memory begins where the index tensor's does
EXPLICIT = "explicit"
EXPLICIT_BITS = "explicit-bits"  # where the elements are no numbers that JSON has: NaN with its payload, infinity
MAX_SEED = 2**32 - 1
# Bytes after which random ones begin again, so that large buffers take no longer than to be written. It is prime: no
# address cut to fewer bits, and no index, leads from a byte to the same one of another turn.
PERIOD = 1_048_583


def most_diverse(patterns: Sequence[str]) -> str:
    """Of the patterns of a domain the one whose values repeat least: the second, where there are several."""
    return patterns[min(1, len(patterns) - 1)]


def random_bytes(count: int, pattern: str, seed: int) -> Bytes:
    """`count` bytes that depend on nothing but pattern and seed; read-only."""
    drawn = hashlib.shake_128(f"{pattern}/{seed}".encode()).digest(min(count, PERIOD))
    random = np.resize(np.frombuffer(drawn, np.uint8), count) if count > PERIOD else np.frombuffer(drawn, np.uint8)
    random.flags.writeable = False
    return random


def overlaps(case: Case) -> bool:
    """Whether the inputs of a case lie in one range of memory."""
    return any(recipe.pattern == OVERLAPPING for recipe in (case.data or {}).values())


def buffer_size(tensor: TensorDesc) -> int:
    """Bytes bound for a tensor: TotalTensorSizeInBytes rounded up to 4, as every bound buffer must be."""
    return (tensor.total_tensor_size_in_bytes + 3) & ~3


def materialize(case: Case) -> dict[str, Bytes]:
    """The bytes of every input of a case, by the keys of their slots; a multiple of 4 long each.

    Raises:
        ValueError: an input has no recipe, or one that `fill` refuses; the message names the tensor.
    """
    contents = _of_inputs(case, fill)
    for attribute, recipe in (case.data or {}).items():
        if recipe.pattern == OVERLAPPING:
            contents[attribute] = overlaid(contents[attribute], contents[_indices_of(case)])
    return contents


def overlaid(content: Bytes, indices: Bytes | None) -> Bytes:
    """What an input holds that begins in memory where its index tensor does: bytes of both are the index tensor's.

    Raises:
        ValueError: there is no index tensor beside it.
    """
    if indices is None:
        raise ValueError(f"the pattern {OVERLAPPING!r} is for an input beside an index tensor")
    return np.concatenate((indices[: content.size], content[indices.size :]))


def _indices_of(case: Case) -> str:
    """The index tensor's attribute; "" where there is none."""
    index = spec_of(case.desc).index
    return "" if index is None else index.indices


def check_recipes(case: Case) -> None:
    """Raise what `materialize` would raise, without making the data; the case is valid and has some."""
    _of_inputs(case, _check)


def _of_inputs(case: Case, make: Callable[..., _T]) -> dict[str, _T]:
    spec, data = spec_of(case.desc), case.data or {}
    index = spec.index
    content: dict[str, _T] = {}
    for slot in inputs(case.desc):
        is_index = slot.key == _indices_of(case)
        limits = index.limits(case.desc) if index is not None and is_index else length_limits(case.desc, slot)
        if slot.key not in data:
            raise ValueError(f"{slot.name}: there is no recipe for its data")
        if data[slot.key].pattern == OVERLAPPING and (is_index or index is None):
            raise ValueError(f"{slot.name}: the pattern {OVERLAPPING!r} is for an input beside an index tensor")
        if data[slot.key].in_place:
            _check_in_place(case.desc, slot)
        make_index = partial(make, has_duplicates=index is None or index.has_duplicates) if is_index else make
        try:
            content[slot.key] = make_index(slot.tensor, data[slot.key], limits)
        except ValueError as error:
            raise ValueError(f"{slot.name}: {error}") from None
    return content


def length_limits(desc: OperatorDesc, slot: Slot) -> tuple[int, ...]:
    """What the elements of an input that counts elements of another stay below; nothing for other inputs."""
    most = spec_of(desc).lengths.get(slot.field.name)
    return () if most is None else (most(desc) + 1,)


def in_place_input(case: Case) -> str:
    """Key of the input whose memory an output is bound to; "" where all have their own."""
    return next((key for key, recipe in (case.data or {}).items() if recipe.in_place), "")


def overwritable_input(case: Case) -> Slot | None:
    """The first input whose memory an output may be bound to as well; None where there is none, or one is already."""
    spec = spec_of(case.desc)
    if not spec.facts.in_place or in_place_input(case) or overlaps(case):
        return None
    over = (slot for slot in inputs(case.desc) if spec.may_overwrite(slot.field))
    return next((slot for slot in over if is_alike(slot.tensor, output_in_place(case.desc, slot.key).tensor)), None)


def output_in_place(desc: OperatorDesc, key: str) -> Slot:
    """The output that is bound to the memory of an input: that of the same place among those which may be, if there are
    so many, else the first."""
    may_overwrite, found = spec_of(desc).may_overwrite, outputs(desc)
    place = [slot.key for slot in inputs(desc) if may_overwrite(slot.field)].index(key)
    return found[place if place < len(found) else 0]


def _check_in_place(desc: OperatorDesc, slot: Slot) -> None:
    """Raises ValueError where an output cannot be bound to the memory of this input."""
    spec = spec_of(desc)
    if not spec.may_overwrite(slot.field):
        raise ValueError(f"{slot.name}: in_place: {spec.name} does not work in place by its page")
    output = output_in_place(desc, slot.key)
    if not is_alike(slot.tensor, output.tensor):
        raise ValueError(f"{slot.name}: in_place: its width, sizes, strides or bytes are not those of {output.name}")


def is_alike(one: TensorDesc, other: TensorDesc) -> bool:
    """Whether the elements of two tensors lie alike in memory."""
    return (one.data_type.size, one.sizes, one.effective_strides, one.total_tensor_size_in_bytes) == (
        other.data_type.size,
        other.sizes,
        other.effective_strides,
        other.total_tensor_size_in_bytes,
    )


def _check(tensor: TensorDesc, recipe: Recipe, limits: Sequence[int], *, has_duplicates: bool = True) -> None:
    """Raise what `fill` raises."""
    _check_named(recipe, limits)
    if recipe.pattern in _LISTING:
        _listed(tensor, recipe)


def _check_named(recipe: Recipe, limits: Sequence[int]) -> None:
    """Raise ValueError for a seed out of range and a pattern that is none of this tensor's."""
    if not 0 <= recipe.seed <= MAX_SEED:
        raise ValueError(f"expected a seed from 0 to {MAX_SEED}, found {recipe.seed}")
    if recipe.period < 0 or (recipe.period and recipe.pattern not in _DATA):
        raise ValueError(f"expected a period of 0, or above it for a pattern of data; found {recipe.period}")
    known = (*_DATA, *REGION_PATTERNS, *(INDEX_PATTERNS if limits else ()), EXPLICIT, EXPLICIT_BITS)
    if recipe.pattern not in known:
        names = ", ".join(name for name in known if name != OVERLAPPING)
        raise ValueError(f"unknown pattern {recipe.pattern!r}; known here: {names}")


def fill(tensor: TensorDesc, recipe: Recipe, limits: Sequence[int] = (), *, has_duplicates: bool = True) -> Bytes:
    """The bytes of one tensor's buffer.

    Args:
        tensor: a valid tensor.
        recipe: pattern and seed.
        limits: for index patterns, the sizes that indices run over: one for all, or one for each position along the
            last dimension.
        has_duplicates: whether indices of a pattern may be equal; where not, see `_without_duplicates`.

    Raises:
        ValueError: unknown pattern, one of indices without limits, a seed out of range, or values that do not fit.
    """
    if tensor.data_type.shares_bytes:
        _check(tensor, recipe, limits)
        wide = replace(tensor, data_type=tensor.data_type.unpacked, total_tensor_size_in_bytes=2 * buffer_size(tensor))
        return nibbles.packed(fill(wide, recipe, limits, has_duplicates=has_duplicates))
    _check_named(recipe, limits)
    size = buffer_size(tensor)
    near = without_gaps(tensor)
    if near is not tensor:  # between clusters there are zeros, which take no memory until they are read
        content, parts = np.zeros(size, np.uint8), clusters(tensor)
        there = fill(near, recipe, limits, has_duplicates=has_duplicates)
        for n, part in enumerate(parts):
            length = part.stop - part.start
            content[part] = there[n * length : (n + 1) * length]
        return content
    if recipe.pattern in _DATA:
        period = recipe.period or _PERIODS.get(recipe.pattern, size)
        made = min(size, period * tensor.data_type.size)
        content = _DATA[recipe.pattern](tensor.data_type, made, recipe.seed)
        return content if made == size else np.resize(content, size)
    if recipe.pattern in _LISTING:
        values = _listed(tensor, recipe)
    elif recipe.pattern in REGION_PATTERNS:
        values = _regions(tensor, recipe)
    else:
        values = _indices(tensor, recipe, limits, has_duplicates)
    buffer = random_bytes(size, "padding", recipe.seed).copy()
    element = tensor.data_type.size
    view = np.ndarray(
        values.shape,
        UNSIGNED_OF_SIZE[element],
        buffer,
        strides=tuple(stride * element for stride in tensor.effective_strides),
    )
    view[...] = values
    return buffer


def _ramp(data_type: DataType, size: int, seed: int) -> Bytes:
    """0, 1, 2, ... from the seed on over the whole buffer, padding included, as far as the type counts exactly."""
    count = -(-size // data_type.size)
    numbers = np.arange(seed, seed + count, dtype=np.uint64)
    if data_type.is_float:
        numbers %= np.uint64(2 ** (MANTISSA_BITS[data_type.size] + 1))
    return numbers.astype(NUMPY_TYPE[data_type]).view(np.uint8)[:size]


def _random_bits(data_type: DataType, size: int, seed: int) -> Bytes:
    """Every bit pattern: with NaN payloads, infinities, subnormals and both zeros among floats."""
    return random_bytes(size, RANDOM_BITS, seed)


def _small_integers(data_type: DataType, size: int, seed: int) -> Bytes:
    """Whole numbers from 0 to 7, or from -4 to 3 where the type has a sign."""
    least = 0 if data_type.limits is not None and not data_type.is_signed_integer else -4
    return _numbers(random_bytes(-(-size // data_type.size), SMALL_INTEGERS, seed) % 8, least, data_type, size)


def _truths(data_type: DataType, size: int, seed: int) -> Bytes:
    """0 half of the time, of a float with either sign, else 1 or another number."""
    drawn = random_bytes(-(-size // data_type.size), TRUTHS, seed)
    numbers = np.where(drawn & 1, 0, np.where(drawn & 2, 1, drawn >> 2)).astype(NUMPY_TYPE[data_type])
    if data_type.is_float:
        numbers[drawn & 3 == 3] = -0.0
    return numbers.view(np.uint8)[:size]


def _numbers(drawn: Unsigned, least: int, data_type: DataType, size: int) -> Bytes:
    return (drawn.astype(np.int64) + least).astype(NUMPY_TYPE[data_type]).view(np.uint8)[:size]


def _finite(data_type: DataType, size: int, seed: int) -> Bytes:
    """Any bits but those of NaN and infinity, in whose place stands the largest finite number."""
    bits = random_bytes(-(-size // data_type.size) * data_type.size, FINITE, seed).copy()
    if data_type.is_float:
        numbers = bits.view(NUMPY_TYPE[data_type])
        numbers[~np.isfinite(numbers)] = np.finfo(numbers.dtype).max
    return bits[:size]


def _shifts(data_type: DataType, size: int, seed: int) -> Bytes:
    """Counts below the bits of the type; of eight about one is the bits or more."""
    bits = data_type.bits
    drawn = random_bytes(-(-size // data_type.size), SHIFTS, seed)
    beyond = np.array((bits, bits + 1, 2 * bits, 2**bits - 1), np.uint64)
    counts = np.where(drawn < 224, drawn % bits, beyond[drawn % 4])
    return counts.astype(UNSIGNED_OF_SIZE[data_type.size]).view(np.uint8)[:size]


def _moderate(data_type: DataType, size: int, seed: int) -> Bytes:
    """Of either sign, where the type has one: floats from 2^-12 to 2^6, integers of as many bits as often as others."""
    count = -(-size // data_type.size)
    drawn = random_bytes(8 * count, MODERATE, seed).view("<u8")
    if not data_type.is_float:
        kept = drawn >> (np.uint64(64) - np.uint64(1) - (drawn & np.uint64(63)) % np.uint64(data_type.bits))
        numbers = kept.astype(UNSIGNED_OF_SIZE[data_type.size])
        if data_type.is_signed_integer:
            numbers = np.where(drawn >> np.uint64(8) & np.uint64(1), ~numbers + numbers.dtype.type(1), numbers)
        return np.ascontiguousarray(numbers).view(np.uint8)[:size]
    mantissa = MANTISSA_BITS[data_type.size]
    bias = 2 ** (data_type.bits - 2 - mantissa) - 1
    exponents = np.uint64(bias - 12) + (drawn & np.uint64(0xFF)) % np.uint64(18)
    signs = (drawn >> np.uint64(8) & np.uint64(1)) << np.uint64(data_type.bits - 1)
    bits = signs | exponents << np.uint64(mantissa) | drawn >> np.uint64(64 - mantissa)
    moderate: Bytes = bits.astype(UNSIGNED_OF_SIZE[data_type.size]).view(np.uint8)[:size]
    return moderate


def _positive(data_type: DataType, size: int, seed: int) -> Bytes:
    """Floats from 1/2 to 2; integers of as many bits as often as others."""
    if not data_type.is_float:
        return _moderate(data_type, size, seed)
    drawn = random_bytes(4 * -(-size // data_type.size), POSITIVE, seed).view("<u4")
    found = np.ldexp(0.5 + (drawn >> 1) / 2.0**32, (drawn & 1).astype(np.int32))
    return found.astype(NUMPY_TYPE[data_type]).view(np.uint8)[:size]


def _cancelling(data_type: DataType, size: int, seed: int) -> Bytes:
    """Floats in pairs that differ in sign, and in their last bits alone; integers of any bits."""
    if not data_type.is_float:
        return random_bytes(size, CANCELLING, seed)
    numbers = _moderate(data_type, size + 2 * data_type.size, seed).view(NUMPY_TYPE[data_type]).copy()
    near = numbers[: len(numbers) // 2 * 2 : 2] * NUMPY_TYPE[data_type].type(-1 - 2.0**-8)
    numbers[1 : 2 * len(near) : 2] = near
    return numbers.view(np.uint8)[:size]


def _factors(data_type: DataType, size: int, seed: int) -> Bytes:
    """Floats of either sign in pairs, from 1/2 to 2, whose products are near 1; odd integers, whose products lose high
    bits alone, and never come to 0."""
    if not data_type.is_float:
        bits = random_bytes(-(-size // data_type.size) * data_type.size, FACTORS, seed)
        odd: Unsigned = bits.view(UNSIGNED_OF_SIZE[data_type.size]) | 1
        return odd.view(np.uint8)[:size]
    numbers: npt.NDArray[Any] = _positive(data_type, size + 2 * data_type.size, seed).view(NUMPY_TYPE[data_type]).copy()
    pairs = numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
    pairs[:, 1] = 1 / pairs[:, 0]
    signs = np.where(random_bytes(len(numbers), FACTORS, seed) & 1, 1, -1).astype(numbers.dtype)
    factors: Bytes = (numbers * signs).view(np.uint8)[:size]
    return factors


def _weights(data_type: DataType, size: int, seed: int) -> Bytes:
    """Floats from -1 to 1, all as likely; integers of as many bits as often as others."""
    if not data_type.is_float:
        return _moderate(data_type, size, seed)
    drawn = random_bytes(4 * -(-size // data_type.size), WEIGHTS, seed).view("<i4")
    return (drawn / 2.0**31).astype(NUMPY_TYPE[data_type]).view(np.uint8)[:size]


def _scales(data_type: DataType, size: int, seed: int) -> Bytes:
    """Powers of two from 2^-4 to 2^3, and as many numbers between them; one in 16 is negative, one in 32 special."""
    count = -(-size // data_type.size)
    drawn = random_bytes(4 * count, SCALES, seed).view("<u4")
    if not data_type.is_float:
        return _numbers(drawn % 4, 1, data_type, size)
    fractions = np.where(drawn & 1, (drawn >> 16) / 2.0**16, 0.0)
    found = np.ldexp(1.0 + fractions, (drawn >> 1 & 7).astype(np.int32) - 4)
    found = np.where(drawn >> 4 & 15, found, -found).astype(NUMPY_TYPE[data_type])
    special = _special_bits(data_type).view(found.dtype)
    return np.where(drawn >> 8 & 31, found, special[(drawn >> 16) % len(special)]).view(np.uint8)[:size]


def _steps(data_type: DataType, size: int, seed: int) -> Bytes:
    """The same, 2^6 times less: of integers of 8 bits the products are numbers of a few bits then."""
    scales = _scales(data_type, size + (-size) % data_type.size, seed)
    if not data_type.is_float:
        return scales[:size]
    with np.errstate(invalid="ignore"):  # of signaling NaN
        steps: Bytes = np.ldexp(scales.view(NUMPY_TYPE[data_type]), -6).view(np.uint8)
    return steps[:size]


def _counters(data_type: DataType, size: int, seed: int) -> Bytes:
    """Words of all bits half of the time, else such with up to 7 less or any: what is added carries through several."""
    words = random_bytes(-(-size // data_type.size) * data_type.size, COUNTERS, seed)
    words = words.view(UNSIGNED_OF_SIZE[data_type.size])
    near = ~np.where(words & 2, 0, words >> 2 & 7)
    return np.where(words & 3 == 1, words, near).astype(words.dtype).view(np.uint8)[:size]


def _critical(data_type: DataType, size: int, seed: int) -> Bytes:
    """Arguments at which functions turn, end, overflow or are tied, in turn, from the seed's on."""
    return _in_turn(_critical_numbers(data_type), size, seed)


def _all_values(data_type: DataType, size: int, seed: int) -> Bytes:
    """Every value of a type of 8 and 16 bits, in turn from the seed's on; of a wider one every upper 16 bits."""
    count = np.arange(seed, seed + -(-size // data_type.size), dtype=np.uint64)
    if data_type.size > 2:
        rest = data_type.bits - 16
        drawn = random_bytes(8 * len(count), ALL_VALUES, seed).view("<u8")
        count = (count & np.uint64(0xFFFF)) << np.uint64(rest) | drawn >> np.uint64(64 - rest)
    return count.astype(UNSIGNED_OF_SIZE[data_type.size]).view(np.uint8)[:size]


def _overlapping(data_type: DataType, size: int, seed: int) -> Bytes:
    """What such an input holds beyond the index tensor."""
    return random_bytes(size, OVERLAPPING, seed)


def _special(data_type: DataType, size: int, seed: int) -> Bytes:
    """The patterns that implementations get wrong, in turn, from the seed's on."""
    return _in_turn(_special_bits(data_type), size, seed)


def _limits(data_type: DataType, size: int, seed: int) -> Bytes:
    """Numbers that other types just have or just do not, in turn, from the seed's on."""
    return _in_turn(_limit_numbers(data_type), size, seed)


def _in_turn(table: npt.NDArray[Any], size: int, seed: int) -> Bytes:
    count = -(-size // table.itemsize)
    return table[(np.arange(count) + seed) % len(table)].view(np.uint8)[:size]


def _special_pairs(data_type: DataType, size: int, seed: int) -> Bytes:
    """The same patterns in turn; where the seed is odd, each as many times in a row as there are patterns.

    So two operands with seeds of which one is odd have every pair of patterns, and others equal ones.
    """
    table = _special_bits(data_type)
    turns = np.arange(-(-size // data_type.size)) // (len(table) if seed % 2 else 1)
    return table[(turns + seed // 2) % len(table)].view(np.uint8)[:size]


_DATA: Mapping[str, Callable[[DataType, int, int], Bytes]] = {
    RAMP: _ramp,
    RANDOM_BITS: _random_bits,
    SPECIAL: _special,
    SMALL_INTEGERS: _small_integers,
    TRUTHS: _truths,
    FINITE: _finite,
    LIMITS: _limits,
    SPECIAL_PAIRS: _special_pairs,
    SHIFTS: _shifts,
    MODERATE: _moderate,
    SCALES: _scales,
    STEPS: _steps,
    COUNTERS: _counters,
    POSITIVE: _positive,
    CANCELLING: _cancelling,
    WEIGHTS: _weights,
    FACTORS: _factors,
    CRITICAL: _critical,
    ALL_VALUES: _all_values,
    OVERLAPPING: _overlapping,
}
# Those of which each element comes of a few bytes of its own, drawn alone: after so many elements they begin again.
# Factors come in pairs, and so begin again after an even number.
_DRAWN = (SMALL_INTEGERS, TRUTHS, FINITE, SHIFTS, MODERATE, SCALES, COUNTERS, POSITIVE, WEIGHTS)
_PERIODS = {**dict.fromkeys(_DRAWN, PERIOD), FACTORS: PERIOD + 1}


@lru_cache
def _special_bits(data_type: DataType) -> Unsigned:
    """Special bit patterns of a type. Floats: both zeros, the least and largest subnormal, the least normal, the
    largest finite, infinities, quiet and signalling NaN with payloads, of both signs. Integers: 0, 1, all ones, the
    extremes of the signed type, and values that a detour through a float of that width would change."""
    bits = data_type.size * 8
    if data_type.is_float:
        mantissa = MANTISSA_BITS[data_type.size]
        infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
        quiet = 1 << (mantissa - 1)
        positive = (
            0,
            1,
            (1 << mantissa) - 1,
            1 << mantissa,
            infinity - 1,
            infinity,
            infinity | quiet,
            infinity | quiet | 0x15,
            infinity | 1,
            infinity | (quiet - 1),
        )
        patterns = [*positive, *(value | 1 << (bits - 1) for value in positive)]
    else:
        top = 1 << (bits - 1)
        patterns = [0, 1, 2 * top - 1, top, top - 1, top + 1, 2 * top - 2, 0x55 * (2 * top // 255), top // 2 + 1]
    return np.array(patterns, dtype=np.uint64).astype(UNSIGNED_OF_SIZE[data_type.size])


@lru_cache
def _limit_numbers(data_type: DataType) -> npt.NDArray[Any]:
    """Of either sign, as far as the type has them: 0, every power of two up to 2^64, and what is 1 more and less. Of
    floats also what is a half more and less, their neighbours, powers down to 2^-26, and where FLOAT16 ends."""
    number = NUMPY_TYPE[data_type]
    if not data_type.is_float:
        least, most = data_type.limits or (0, 0)
        whole = {sign * (2**k + more) for k in range(65) for more in (-1, 0, 1) for sign in (1, -1)}
        return np.array(sorted(n for n in whole if least <= n <= most), number)
    powers = [2.0**k for k in range(-26, 65)]
    beside = [power + more for power in powers if power >= 1 for more in (-1, -0.5, 0.5, 1)]
    with np.errstate(over="ignore"):
        positive = np.array([0.0, 65_504, 65_519, 65_520, *powers, *beside], np.float64).astype(number)
        near = [np.nextafter(positive, number.type(end)) for end in (0, np.inf)]
    every = np.unique(np.concatenate((positive, *near)))
    every = every[np.isfinite(every)]
    return np.concatenate((every, -every))


@lru_cache
def _critical_numbers(data_type: DataType) -> npt.NDArray[Any]:
    """Of either sign, with their neighbours: whole numbers and halves, multiples of an eighth of pi, where exponentials
    and their like overflow, underflow or reach 1, where floats have no fractions left; and all that is special."""
    number, special = NUMPY_TYPE[data_type], _special_bits(data_type).view(NUMPY_TYPE[data_type])
    if not data_type.is_float:
        least, most = data_type.limits or (0, 0)
        about = {n for m in (0, least, most, least // 2, most // 2, 46341, 65536) for n in range(m - 3, m + 4)}
        return np.array(sorted(n for n in about if least <= n <= most), number)
    turns = [k * math.pi / 8 for k in range(1, 65)]
    ends = [8.3, 9.01, 10.4, 11.09, 15.25, 16.64, 17.33, 44.36, 87.34, 88.38, 88.73, 89.42, 103.28, 103.98]
    halves = [k / 2 for k in range(1, 33)]
    last = 2.0 ** MANTISSA_BITS[data_type.size]
    whole = [last / 2 - 0.5, last / 2 + 0.5, last - 1, last, last + 1, 2 * last]
    small = [2.0**-k for k in range(1, 14)]
    with np.errstate(over="ignore"):
        found = np.array([*halves, *turns, *ends, *whole, *small, 1e3, 1e4, 6e4], np.float64).astype(number)
    found = found[np.isfinite(found)]
    near = np.concatenate((found, *(np.nextafter(found, number.type(end)) for end in (0, np.inf))))
    return np.concatenate((near, -near, special))


_LISTING = (EXPLICIT, EXPLICIT_BITS)


def _listed(tensor: TensorDesc, recipe: Recipe) -> Unsigned:
    """Elements that a recipe lists, as numbers or as the unsigned integers that have their bits."""
    values, data_type = recipe.values, tensor.data_type
    if len(values) != tensor.element_count:
        raise ValueError(f"{len(values)} explicit values for {tensor.element_count} elements")
    bits = UNSIGNED_OF_SIZE[data_type.size]
    number = bits if recipe.pattern == EXPLICIT_BITS else NUMPY_TYPE[data_type]
    for value in values:
        if not _fits(value, number, data_type.bits):
            if recipe.pattern == EXPLICIT_BITS:
                raise ValueError(f"the explicit bits {value} are no whole number of {data_type.bits} bits")
            raise ValueError(f"the explicit value {value} does not fit {data_type.name}")
    array = np.array(values if number.kind == "f" else [int(value) for value in values], number)
    return array.view(bits).reshape(tensor.sizes)


def _fits(value: int | float, number: np.dtype[Any], bits: int) -> bool:
    """Whether a number can be stored: an integer exactly, a float without becoming infinite."""
    if number.kind == "f":
        return not math.isfinite(value) or abs(value) <= float(np.finfo(number).max)
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if number.kind == "i" else (0, 2**bits)
    return least <= value < most and value == int(value)


def _regions(tensor: TensorDesc, recipe: Recipe) -> Unsigned:
    """Corners x1, y1, x2, y2 along the last dimension, behind the number of an image, 0 or 1, where there is a fifth.

    They are whole numbers below 8, or have any fractions, or reach to 128; the second one of a pair is not less. Those
    that are outlying are quarters from -6 to 14 in any order: regions that are turned round, empty, outside of images.
    """
    draws = np.frombuffer(random_bytes(8 * tensor.element_count, recipe.pattern, recipe.seed), "<u8")
    whole = (draws.reshape(-1, tensor.sizes[-1]) % np.uint64(2**16)).astype(np.float64)
    before = max(tensor.sizes[-1] - 4, 0)
    images, corners = whole[:, :before] % 2, whole[:, before:]
    if recipe.pattern == OUTLYING_REGIONS:
        corners = corners % 81 / 4 - 6
    else:
        most = {REGIONS: 8, FRACTIONAL_REGIONS: 2**16, WIDE_REGIONS: 128}[recipe.pattern]
        corners = corners % most * (2.0**-13 if recipe.pattern == FRACTIONAL_REGIONS else 1)
        if corners.shape[1] == 4:
            corners = np.concatenate((np.minimum(*np.hsplit(corners, 2)), np.maximum(*np.hsplit(corners, 2))), 1)
    found = np.concatenate((images, corners), 1).reshape(tensor.sizes)
    bits = UNSIGNED_OF_SIZE[tensor.data_type.size]
    if not tensor.data_type.is_float:
        return np.floor(found).astype(np.int64).astype(bits)
    return found.astype(NUMPY_TYPE[tensor.data_type]).view(bits)


def _indices(tensor: TensorDesc, recipe: Recipe, limits: Sequence[int], has_duplicates: bool) -> Unsigned:
    """Index values of a pattern as bits of the tensor's type, in the tensor's sizes.

    Far ones have one draw for all that a stride of 0 repeats, and size 1 there.
    """
    sizes = tensor.sizes
    if recipe.pattern in (FAR, FAR_NEGATIVE):
        sizes = tuple([size if stride else 1 for size, stride in zip(sizes, tensor.effective_strides, strict=True)])
    if len(limits) > 1 and tensor.strides is not None and not _rows_apart((*sizes[:-1], tensor.sizes[-1]), tensor):
        limits = (min(limits),)  # elements share memory, so a value must be in range for every coordinate
    draws = np.frombuffer(random_bytes(8 * math.prod(sizes), recipe.pattern, recipe.seed), "<u8").reshape(sizes)
    limit = np.array(limits, np.uint64)
    with np.errstate(over="ignore"):
        values = _INDEX[recipe.pattern](draws, limit, tensor.data_type)
        if not has_duplicates:
            values = _without_duplicates(values, draws, limits, is_at_ends=recipe.pattern in _AT_ENDS)
    return values.astype(UNSIGNED_OF_SIZE[tensor.data_type.size])


_AT_ENDS = (BOUNDARY, FAR, FAR_NEGATIVE)


def _without_duplicates(values: Unsigned, draws: Unsigned, limits: Sequence[int], *, is_at_ends: bool) -> Unsigned:
    """Other indices of the same signs, no two of which name one place.

    Tuples differ from each other, and so do indices where there are no more than places. Of more indices those along
    any one dimension differ, as far as there are places for them.

    Args:
        values: as 64 bits each.
        draws: random numbers, as many.
        limits: see `fill`.
        is_at_ends: whether the first ones are the last place, the first place, the one before the last, and so on.
    """
    sizes, places = (values.shape[:-1], math.prod(limits)) if len(limits) > 1 else (values.shape, limits[0])
    start, step, *steps = np.resize(draws.reshape(-1)[: 2 + len(sizes)], 2 + len(sizes)).tolist()
    number: Unsigned
    if math.prod(sizes) <= places:
        number = np.arange(math.prod(sizes), dtype=np.uint64).reshape(sizes)
    else:
        along = [
            np.arange(n, dtype=np.uint64) * np.uint64(_coprime(s, places)) for n, s in zip(sizes, steps, strict=True)
        ]
        number = np.asarray(sum(np.ix_(*along), start=np.uint64(0)) % np.uint64(places))
    if is_at_ends:
        half = number // np.uint64(2)
        number = np.where(number & np.uint64(1), half, np.uint64(places - 1) - half)
    else:
        number = (np.uint64(start % places) + number * np.uint64(_coprime(step, places))) % np.uint64(places)
    if len(limits) > 1:
        number = np.stack(np.unravel_index(number.astype(np.int64), tuple(limits)), axis=-1).astype(np.uint64)
    is_negative = values >> np.uint64(63) != 0
    return np.where(is_negative, number - np.array(limits, np.uint64), number)


def _coprime(draw: int, places: int) -> int:
    """A step by which one comes to every place, one after another."""
    step = draw % places
    while math.gcd(step, places) != 1:
        step += 1
    return step


def _rows_apart(sizes: Sequence[int], tensor: TensorDesc) -> bool:
    """Whether no two elements share memory; packed-like layouts only, which is what matters for speed."""
    step = 1
    for stride, size in sorted(zip(tensor.effective_strides, sizes, strict=True)):
        if size > 1:
            if stride < step:
                return False
            step = stride * size
    return True


def _in_range(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    return draws % limit


def _boundary(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    return np.where(draws & np.uint64(1), limit - np.uint64(1), np.uint64(0))


def _repeated(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    return np.full(draws.shape, draws.flat[0] % limit.min())


def _negative(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    return np.uint64(0) - np.uint64(1) - draws % limit


def _mixed(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    positive = (draws >> np.uint64(1)) % limit
    return np.where(draws & np.uint64(1), positive - limit, positive)


def _out_of_range(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    """One element in two out of range, the first one always: just outside, far outside, and at the type's ends."""
    one, all_ones = np.uint64(1), np.uint64(2**64 - 1)
    bits = np.uint64(data_type.size * 8)
    top = one << (bits - one)
    far: list[Any] = [limit, limit + one, top - one, limit + np.uint64(255), limit + np.uint64(65535)]
    if data_type.is_signed_integer:
        far += [np.uint64(0) - limit - one, np.uint64(0) - limit - np.uint64(2), top]
    else:
        far += [top, (all_ones >> (np.uint64(64) - bits)), top + one]
    if data_type.size == 8:
        far += [limit + np.uint64(2**32), np.uint64(2**63) - limit]
    outside = np.stack([np.broadcast_to(value, draws.shape) for value in far])
    chosen = np.take_along_axis(outside, ((draws >> one) % np.uint64(len(far))).astype(np.intp)[None], axis=0)[0]
    is_outside = (draws & one).astype(bool)
    is_outside.flat[0] = True
    return np.where(is_outside, chosen, (draws >> np.uint64(8)) % limit)


def _far(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    """The last index, one of the last 64, or any other: whatever an index is cut to, some are others then."""
    kind, rest, last = draws & np.uint64(3), draws >> np.uint64(2), limit - np.uint64(1)
    near_end = last - rest % np.minimum(limit, np.uint64(FAR_END))
    chosen = np.where(kind == 0, last, np.where(kind == 1, near_end, rest % limit))
    chosen.flat[0] = last.flat[0]
    return chosen


def _far_negative(draws: Unsigned, limit: Unsigned, data_type: DataType) -> Unsigned:
    """As far from the end of the axis as `_far` has them from the start."""
    return np.uint64(0) - np.uint64(1) - _far(draws, limit, data_type)


_INDEX: Mapping[str, Callable[[Unsigned, Unsigned, DataType], Unsigned]] = {
    IN_RANGE: _in_range,
    BOUNDARY: _boundary,
    REPEATED: _repeated,
    NEGATIVE: _negative,
    MIXED: _mixed,
    OUT_OF_RANGE: _out_of_range,
    FAR: _far,
    FAR_NEGATIVE: _far_negative,
}
