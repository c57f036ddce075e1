"""What tensors hold: patterns that a name and a seed fix to the last byte, with what they promise to contain."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from five_operators import GatherNdDesc, TileDesc

from dml_conformance.spec import tensor as tensor_module
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc, without_gaps
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.values import (
    DOMAINS,
    INDEX_PATTERNS,
    LIMITS,
    NUMPY_TYPE,
    PERIOD,
    UNSIGNED_OF_SIZE,
    buffer_size,
    check_recipes,
    fill,
    materialize,
    random_bytes,
)

EVERY_PATTERN = dict.fromkeys(pattern for patterns in DOMAINS.values() for pattern in patterns)
VALUE_PATTERNS = [pattern for pattern in EVERY_PATTERN if pattern not in INDEX_PATTERNS]
MOVED = [data_type for data_type in DataType if data_type.bits >= 8]
FLOATS = [data_type for data_type in MOVED if data_type.is_float]
INTEGERS = [data_type for data_type in MOVED if not data_type.is_float]
INDEX_TYPES = [DataType.INT32, DataType.UINT32, DataType.INT64, DataType.UINT64]
MANTISSA = {2: 10, 4: 23, 8: 52}

# SHA-256 over the bytes of one tensor of every type; the same on every machine. A failure shows the new value.
GOLDEN = {
    "ramp": "8c7435a7d8ae241fe641216b425b0968ffb1869d872580ea0d626493d7baa9b3",
    "random-bits": "944db8ec99d17688d942e35de1d7d578ce1dc624bf25cf9c6a023ac78909aece",
    "special": "f4b969678ab3dd7703f297a65642db53232c1e8b23fcd606cd70178953eaef33",
    "small-integers": "cc34c2e98795ade35fad3dfd1acc4bc0ab686054402860ec7d19391dce701547",
    "truths": "7ae93d35a52d33140437179a0daad2f240f7de9dcc2a8c25f9025a9d9c2761f9",
    "finite": "5ff87258c4a649a50e36a59493d7e1b957b12fece586d6e28e4b87010c073a3b",
    "limits": "cd812c280a537b3d6b09fdbf58f0588a0ebe9dc770d95e97bf3c485fab760490",
    "special-pairs": "898a45a4f729c8884620593143aef539ece77efbbbd8bb3010c8da8555016e8b",
    "shifts": "5ea0e5a7c2ab132aeb76a2d23952e69567e20cc4556a9bc37cd7678b8b38be79",
    "moderate": "3932f80175c2b5d2f8538f95368994db6d3a25cc62b9b579cae96d0e1cd01a9c",
    "critical": "40dcb618b9651286c6bd0bcbba2b1162fa28358b1d79e41eb3e0be51a4654f42",
    "all-values": "46e1bd237d32c0807eab1188b147b2217191ab9045ad8b2e9e966aa8c0266c93",
    "positive": "2d0100d5f91e396cfec507fc95ac7c8ba974c0240b6c9bef81ddb377eae9dceb",
    "cancelling": "b075b444c8a2a7bb95675084b37e2ddb6c9ca936fd5715dda724314764106381",
    "weights": "050633decea4555d9f80807d5c0ecfaeb1a7ad0b46962df59c6d34d270eeab04",
    "factors": "14324c604ad0aa2e00480b95807761f0b4a42c6b165c8300d47daac04f450b96",
    "scales": "ddb784ef1bf6f804d0ec33cf345bb982c7f1b5230461ca563064032dbc4d85db",
    "steps": "44b33e20187ecdc4db1d5ed2e1783dff2966ee02a656ecf9f4c2f9d1ffb9a3f8",
    "counters": "072c6ef94c0d8ac8d16980b1c2a4cab03800c8b7b9027df5a4cf9d2d6ea4529a",
    "in-range": "5cd95fc1003bccbe2af957ef2b55b4eecd6d57fc9f046393718957393e5726f0",
    "boundary": "1b1cbf1e815258a5efe6655ee56457560d25919f2e555f30abf9a65d6bccbe09",
    "repeated": "d8fb2a45a09b758c22c60e1d3d1438b4b0f06b81315f3328dcf31176da500fcc",
    "negative": "d3daf691bf948e44165cae909dca2cab26d2e50cf803ecaf3573dcd12e110ed7",
    "mixed-sign": "a528a6dbb874c3d05b8b54d4444a3579526227892a48c668ceaf89622248d7cb",
    "out-of-range": "0d6664806136abe0d56df998984ab8f1267fcabeec314ad3dab23f621a2eaa18",
    "far": "3aab93cda8fef4a118e89dc925715e9360359ecf1d60ea068fd0b13cea806488",
    "far-negative": "ce6ba691d8f284a9d924ba262b8598bc51ce822286f79e5be449c90682f24f80",
    "regions": "d6298f50f08e4bce275905aeab8c67609204bf5fba22de4bc87b557c2ff34296",
    "fractional-regions": "d030a27182fcbe5ba6a7e478e5e3518385b7cd93d40bdc1f1a874d3160dfc63e",
    "wide-regions": "db31e4e245ac24010e6e186c469ccc62463a2111400497e68cf43cf79dd42ad8",
    "outlying-regions": "b67a24fb875c80cade2ce70993e98674a6faa9c30e6c401ef06f0451b29e070e",
}


def bits(data_type: DataType, pattern: str, count: int, seed: int = 0) -> Any:
    """The elements of a packed vector as unsigned integers."""
    content = fill(TensorDesc.of(data_type, (count,)), Recipe(pattern, seed))
    return content.view(UNSIGNED_OF_SIZE[data_type.size])[:count]


def indices(
    data_type: DataType, pattern: str, limits: Sequence[int], seed: int = 0, sizes: tuple[int, ...] = (64,)
) -> list[int]:
    content = fill(TensorDesc.of(data_type, sizes), Recipe(pattern, seed), limits)
    return content.view(NUMPY_TYPE[data_type])[: int(np.prod(sizes))].tolist()


# --- the same bytes everywhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", GOLDEN)
def test_golden_bytes(pattern: str) -> None:
    """A case is a recipe: whoever runs it elsewhere must get the same bytes."""
    digest = hashlib.sha256()
    types = MOVED if pattern in VALUE_PATTERNS else INDEX_TYPES
    for data_type in types:
        strides = (7, 2) if pattern not in VALUE_PATTERNS else None
        tensor = TensorDesc.of(data_type, (5, 3), strides)
        for seed in (0, 1, 65535):
            digest.update(fill(tensor, Recipe(pattern, seed), (7, 3, 70_000)))
    assert digest.hexdigest() == GOLDEN[pattern], "the bytes of a pattern have changed; reported cases mean others now"


@pytest.mark.parametrize(
    ("pattern", "signed", "unsigned"),
    [
        ("ramp", "21436587", "21436587"),
        ("scales", "44132241", "44132241"),
        ("moderate", "9d2de222", "9323e22e"),
        ("random-bits", "035d9e22", "035d9e22"),
        ("small-integers", "30312cd1", "74756015"),
        ("critical", "21d3fe10", "21c3ed0f"),
    ],
)
def test_golden_bytes_of_halves(pattern: str, signed: str, unsigned: str) -> None:
    """Two elements in each byte, the first in its low half, as the page of DML_TENSOR_DATA_TYPE has them."""
    for data_type, content in ((DataType.INT4, signed), (DataType.UINT4, unsigned)):
        assert fill(TensorDesc.of(data_type, (5,)), Recipe(pattern, 1)).tobytes().hex() == content


def test_listed_halves_are_packed_low_half_first() -> None:
    content = fill(TensorDesc.of(DataType.INT4, (5,)), Recipe("explicit", values=(1, -2, 3, -4, 5)))
    assert content[:2].tobytes().hex() == "e1c3"
    assert content[2] & 15 == 5


@pytest.mark.parametrize("data_type", MOVED)
def test_products_of_factors_neither_vanish_nor_overflow(data_type: DataType) -> None:
    factors = bits(data_type, "factors", 4000, 7).view(NUMPY_TYPE[data_type])
    if data_type.is_float:
        products = np.cumprod(factors.astype(np.float64))
        assert (np.abs(products) > 1 / 16).all()
        assert (np.abs(products) < 16).all()
        assert 0.4 < (factors < 0).mean() < 0.6
    else:
        assert np.cumprod(factors, dtype=factors.dtype).all()


def test_random_bytes_depend_on_pattern_and_seed_alone() -> None:
    assert random_bytes(4, "a", 0).tobytes() == hashlib.shake_128(b"a/0").digest(4)
    assert random_bytes(100, "a", 0)[:4].tobytes() == random_bytes(4, "a", 0).tobytes()
    assert not random_bytes(4, "a", 0).flags.writeable
    long = random_bytes(3_000_000, "a", 0)
    assert long[:1_048_583].tobytes() == hashlib.shake_128(b"a/0").digest(1_048_583)
    assert (long[1_048_583:] == long[:-1_048_583]).all()
    assert not long.flags.writeable


@pytest.mark.parametrize("surplus", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("pattern", [*VALUE_PATTERNS, "in-range", "explicit"])
def test_a_buffer_is_as_long_as_what_is_bound(pattern: str, surplus: int) -> None:
    """TotalTensorSizeInBytes rounded up to a multiple of 4."""
    data_type = DataType.INT64 if pattern == "in-range" else DataType.UINT16
    tensor = TensorDesc.of(data_type, (3,))
    tensor = TensorDesc(data_type, (3,), None, tensor.total_tensor_size_in_bytes + surplus)
    content = fill(tensor, Recipe(pattern, values=(1, 2, 3) if pattern == "explicit" else ()), (3,))
    assert content.size == buffer_size(tensor) == -(-tensor.total_tensor_size_in_bytes // 4) * 4
    assert content.dtype == np.uint8


# --- what is moved ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data_type", MOVED)
def test_a_ramp_starts_again_where_its_type_ends(data_type: DataType) -> None:
    """No two neighbours are ever the same."""
    ramp = bits(data_type, "ramp", 70_000)
    assert not np.any(ramp[1:] == ramp[:-1])
    assert len(np.unique(ramp)) == min(70_000, {1: 256, 2: 65536}.get(data_type.size, 70_000)) or data_type.is_float


@pytest.mark.parametrize("data_type", FLOATS)
def test_special_floats_are_all_there(data_type: DataType) -> None:
    """Of both signs: zero, least and largest subnormal, least normal, largest number, infinity, NaNs of both kinds."""
    width, mantissa = data_type.size * 8, MANTISSA[data_type.size]
    infinity = ((1 << (width - 1)) - 1) >> mantissa << mantissa
    quiet = 1 << (mantissa - 1)
    wanted = {0, 1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, infinity, infinity | quiet, infinity | 1}
    wanted |= {value | 1 << (width - 1) for value in wanted}
    found = bits(data_type, "special", 20)
    assert wanted <= set(found.tolist())
    values = found.view(NUMPY_TYPE[data_type])
    assert np.signbit(values[values == 0]).tolist() == [False, True]
    nans = found[np.isnan(values)]
    assert {bool(bit) for bit in nans & found.dtype.type(quiet)} == {False, True}
    assert len({int(payload) for payload in nans & found.dtype.type(quiet - 1)}) >= 3


@pytest.mark.parametrize("data_type", INTEGERS)
def test_special_integers_are_all_there(data_type: DataType) -> None:
    """The extremes of the signed and the unsigned type of that width, and what a float of that width does not hold."""
    top = 1 << (data_type.size * 8 - 1)
    found = set(bits(data_type, "special", 9).tolist())
    assert {0, 1, top - 1, top, top + 1, 2 * top - 1} <= found
    if data_type.size >= 4:
        real = {4: np.float32, 8: np.float64}[data_type.size]
        assert any(int(real(value)) != value for value in found)


@pytest.mark.parametrize("data_type", MOVED)
def test_two_operands_have_every_pair_of_special_values(data_type: DataType) -> None:
    length = 20 if data_type.is_float else 9
    special = set(bits(data_type, "special", length).tolist())
    for seeds in ((0, 1), (7, 2)):
        operands = [bits(data_type, "special-pairs", length**2, seed).tolist() for seed in seeds]
        assert len(set(zip(*operands, strict=True))) == length**2
        assert {element for operand in operands for element in operand} == special


@pytest.mark.parametrize("data_type", MOVED)
def test_shifts_are_mostly_by_fewer_bits_than_there_are(data_type: DataType) -> None:
    width = 8 * data_type.size
    found = bits(data_type, "shifts", 4000).tolist()
    assert set(range(width + 2)) <= set(found)
    assert 2**width - 1 in found
    assert 0.08 < sum(shift >= width for shift in found) / len(found) < 0.18


# --- indices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 7, 300, 70_000, 2**31 - 1])
@pytest.mark.parametrize("data_type", INDEX_TYPES)
def test_indices_of_every_pattern_keep_their_range(data_type: DataType, limit: int) -> None:
    for seed in range(10):
        assert all(0 <= index < limit for index in indices(data_type, "in-range", (limit,), seed))
        assert set(indices(data_type, "boundary", (limit,), seed)) == {0, limit - 1}
        (repeated,) = set(indices(data_type, "repeated", (limit,), seed))
        assert 0 <= repeated < limit
        if data_type.is_signed_integer:
            assert all(-limit <= index <= -1 for index in indices(data_type, "negative", (limit,), seed))
            mixed = indices(data_type, "mixed-sign", (limit,), seed)
            assert all(-limit <= index < limit for index in mixed)
            assert {index < 0 for index in mixed} == {False, True}


@pytest.mark.parametrize("limit", [1, 7, 70_000])
@pytest.mark.parametrize("data_type", INDEX_TYPES)
def test_out_of_range_means_it(data_type: DataType, limit: int) -> None:
    """The first index always is, others may not be; far ones go to the ends of the type and beyond 32 bits."""
    lowest = -limit if data_type.is_signed_integer else 0
    everything: set[int] = set()
    for seed in range(60):
        found = indices(data_type, "out-of-range", (limit,), seed)
        assert not lowest <= found[0] < limit
        everything.update(found)
    inside = {index for index in everything if lowest <= index < limit}
    outside = everything - inside
    assert inside
    assert {limit, limit + 1} <= outside
    top = 2 ** (data_type.size * 8 - 1)
    if data_type.is_signed_integer:
        assert {-limit - 1, -limit - 2, -top, top - 1} <= outside
    else:
        assert {top - 1, top, top + 1, 2 * top - 1} <= outside
    if data_type.size == 8:
        assert limit + 2**32 in outside  # in range for who reads the low half
        assert any(abs(index) > 2**32 for index in outside)


def test_each_coordinate_of_a_tuple_has_its_own_limit() -> None:
    for seed in range(20):
        found = indices(DataType.INT64, "in-range", (2, 100, 3), seed, (10, 3))
        columns = np.array(found).reshape(10, 3)
        assert (columns.min(axis=0) >= 0).all()
        assert (columns < (2, 100, 3)).all()
    assert columns[:, 1].max() > 3  # the largest limit is made use of


def test_coordinates_that_share_memory_keep_the_least_limit() -> None:
    """With a stride of 0 one element is several coordinates."""
    tensor = TensorDesc.of(DataType.UINT32, (4, 2), (1, 0))
    for seed in range(20):
        content = fill(tensor, Recipe("in-range", seed), (2, 100))
        assert (content.view("<u4")[:4] < 2).all()
    apart = TensorDesc.of(DataType.UINT32, (4, 2), (5, 2))
    largest = max(
        int(np.ndarray((4, 2), "<u4", fill(apart, Recipe("in-range", seed), (2, 100)), strides=(20, 8))[:, 1].max())
        for seed in range(20)
    )
    assert largest > 50


@pytest.mark.parametrize("limit", [1, 3, 64, 257, 65_537, 2**24 + 67])
@pytest.mark.parametrize("data_type", INDEX_TYPES)
def test_far_indices_reach_the_far_end(data_type: DataType, limit: int) -> None:
    """The last element first, a quarter of it and of its 64 neighbours each; negative ones from the other end."""
    for seed in range(8):
        found = indices(data_type, "far", (limit,), seed)
        assert found[0] == limit - 1
        assert all(0 <= index < limit for index in found)
        assert sum(index == limit - 1 for index in found) >= 6
        assert sum(index >= limit - 64 for index in found) >= 16
        if data_type.is_signed_integer:
            negative = indices(data_type, "far-negative", (limit,), seed)
            assert negative[0] == -limit
            assert all(-limit <= index <= -1 for index in negative)
            assert sum(index < 64 - limit for index in negative) >= 16
    if limit > 1000:
        assert min(indices(data_type, "far", (limit,), 0)) < limit // 2


def test_far_indices_have_one_draw_for_what_a_stride_of_0_repeats() -> None:
    tensor = TensorDesc.of(DataType.UINT32, (2**31, 3), (0, 1))
    alone = TensorDesc.of(DataType.UINT32, (3,))
    assert fill(tensor, Recipe("far", 4), (1000,)).tobytes() == fill(alone, Recipe("far", 4), (1000,)).tobytes()
    both = TensorDesc.of(DataType.UINT32, (4, 2), (1, 0))  # what is two coordinates keeps the least limit
    assert (fill(both, Recipe("far", 4), (2, 100)).view("<u4") < 2).all()


# --- explicit values --------------------------------------------------------------------------------------------------


def test_explicit_values_stand_where_strides_say() -> None:
    tensor = TensorDesc.of(DataType.INT32, (2, 3), (1, 4))
    content = fill(tensor, Recipe("explicit", values=(1, 2, 3, -4, -5, -6)))
    view = np.ndarray((2, 3), "<i4", content, strides=(4, 16))
    assert view.tolist() == [[1, 2, 3], [-4, -5, -6]]
    assert fill(TensorDesc.of(DataType.FLOAT16, (2,)), Recipe("explicit", values=(0.5, -2))).view("<f2").tolist() == [
        0.5,
        -2.0,
    ]


@pytest.mark.parametrize(
    ("data_type", "values", "message"),
    [
        (DataType.INT32, (1, 2), "2 explicit values for 3 elements"),
        (DataType.INT32, (), "0 explicit values for 3 elements"),
        (DataType.INT32, (1, 2, 2**31), "the explicit value 2147483648 does not fit INT32"),
        (DataType.UINT32, (1, 2, -1), "the explicit value -1 does not fit UINT32"),
        (DataType.UINT8, (1, 2, 256), "the explicit value 256 does not fit UINT8"),
        (DataType.INT64, (1, 2, 0.5), "the explicit value 0.5 does not fit INT64"),
        (DataType.FLOAT16, (1, 2, 65520), "the explicit value 65520 does not fit FLOAT16"),
        (DataType.FLOAT32, (1, 2, 1e39), r"the explicit value 1e\+39 does not fit FLOAT32"),
    ],
)
def test_explicit_values_that_do_not_fit(data_type: DataType, values: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fill(TensorDesc.of(data_type, (3,)), Recipe("explicit", values=values))


def test_an_unknown_pattern() -> None:
    tensor = TensorDesc.of(DataType.INT32, (3,))
    with pytest.raises(
        ValueError,
        match=r"unknown pattern 'noise'; known here: ramp, .*, out-of-range, far, far-negative, explicit, .*$",
    ):
        fill(tensor, Recipe("noise"), (3,))
    with pytest.raises(ValueError, match=r"unknown pattern 'boundary'; known here: ramp, random-bits, special"):
        fill(tensor, Recipe("boundary"))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range(seed: int) -> None:
    with pytest.raises(ValueError, match=f"expected a seed from 0 to 4294967295, found {seed}"):
        fill(TensorDesc.of(DataType.INT32, (3,)), Recipe("ramp", seed))
    assert fill(TensorDesc.of(DataType.FLOAT16, (3,)), Recipe("ramp", 2**32 - 1)).size == 8


# --- whole cases ------------------------------------------------------------------------------------------------------


def test_materialize_fills_every_input() -> None:
    """The limits of the indices come from the operator: GATHER_ND has one for each coordinate."""
    desc = GatherNdDesc(
        TensorDesc.of(DataType.FLOAT32, (1, 3, 50)),
        TensorDesc.of(DataType.INT64, (1, 40, 2)),
        TensorDesc.of(DataType.FLOAT32, (1, 1, 40)),
        2,
        2,
    )
    case = Case.of(desc, HIGHEST, {"input_tensor": Recipe("ramp", 1), "indices_tensor": Recipe("boundary", 5)})
    content = materialize(case)
    assert set(content) == {"input_tensor", "indices_tensor"}
    assert content["input_tensor"].tobytes() == fill(desc.input_tensor, Recipe("ramp", 1)).tobytes()
    pairs = content["indices_tensor"].view("<i8").reshape(40, 2)
    assert [set(column) for column in pairs.T.tolist()] == [{0, 2}, {0, 49}]


@pytest.mark.parametrize("length", [10, 100])
def test_an_overlapping_input_begins_with_its_indices(length: int) -> None:
    desc = GatherNdDesc(
        TensorDesc.of(DataType.UINT8, (1, length)),
        TensorDesc.of(DataType.INT32, (6, 1)),
        TensorDesc.of(DataType.UINT8, (1, 6)),
        1,
        2,
    )
    case = Case.of(desc, HIGHEST, {"input_tensor": Recipe("overlapping", 3), "indices_tensor": Recipe("in-range", 5)})
    content = materialize(case)
    source, beside = content["input_tensor"].tobytes(), content["indices_tensor"].tobytes()
    assert len(source) == buffer_size(desc.input_tensor)
    assert source[: len(beside)] == beside[: len(source)]
    assert source[len(beside) :] == random_bytes(len(source), "overlapping", 3).tobytes()[len(beside) :]
    for data in (
        {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("overlapping")},
        {"input_tensor": Recipe("overlapping")},
    ):
        with pytest.raises(ValueError, match="Tensor: "):
            materialize(Case.of(desc, HIGHEST, data))
    tensor = TensorDesc.of(DataType.UINT8, (4,))
    with pytest.raises(ValueError, match="InputTensor: the pattern 'overlapping' is for an input beside an index"):
        check_recipes(Case.of(TileDesc(tensor, tensor, (1,)), HIGHEST, {"input_tensor": Recipe("overlapping")}))


def test_materialize_without_indices() -> None:
    tensor = TensorDesc.of(DataType.UINT8, (4,))
    content = materialize(Case.of(TileDesc(tensor, tensor, (1,)), HIGHEST, {"input_tensor": Recipe("ramp", 9)}))
    assert {name: data.tolist() for name, data in content.items()} == {"input_tensor": [9, 10, 11, 12]}


def test_golden_names_every_pattern() -> None:
    assert set(GOLDEN) == {*VALUE_PATTERNS, *INDEX_PATTERNS}
    assert all(one != other for one, other in pairwise(GOLDEN.values()))


# --- explicit bits ------------------------------------------------------------------------------------------------


def test_explicit_bits_are_stored_as_they_are() -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (2, 2), (1, 2))
    bits = (0x7FA00001, 0xFF800000, 0x80000000, 1)
    content = fill(tensor, Recipe("explicit-bits", values=bits))
    assert content.view("<u4").reshape(2, 2).T.ravel().tolist() == list(bits)


@pytest.mark.parametrize("bits", [(1,), (1, 1 << 16), (1, -1), (1, 0.5)])
def test_explicit_bits_have_to_fit(bits: tuple[int | float, ...]) -> None:
    with pytest.raises(ValueError, match="explicit"):
        fill(TensorDesc.of(DataType.FLOAT16, (2,)), Recipe("explicit-bits", values=bits))


@pytest.mark.parametrize("data_type", MOVED, ids=lambda data_type: data_type.name)
def test_limits_are_those_of_every_type_that_this_one_reaches(data_type: DataType) -> None:
    tensor = TensorDesc.of(data_type, (2048,))
    numbers = set(fill(tensor, Recipe(LIMITS, 0)).view(NUMPY_TYPE[data_type]).tolist())
    for other in INTEGERS:
        least, most = other.limits or (0, 0)
        for number in (least - 1, least, most, most + 1):
            if data_type.is_float:
                with np.errstate(over="ignore"):
                    nearest = float(NUMPY_TYPE[data_type].type(number))
                assert nearest in numbers or not np.isfinite(nearest), (other, number)
            elif data_type.limits and data_type.limits[0] <= number <= data_type.limits[1]:
                assert number in numbers, (other, number)


def test_every_type_is_cast_to_every_type_at_their_limits() -> None:
    table = operators()["CAST"].table_at(HIGHEST)
    pairs = set(product(table["InputTensor"].data_types, table["OutputTensor"].data_types))
    cases = [case for case in boundary_cases("CAST", HIGHEST) if "/conversions/" in case.origin]
    assert {(case.desc.input_tensor.data_type, case.desc.output_tensor.data_type) for case in cases} == pairs
    for case in cases:
        number = NUMPY_TYPE[case.desc.input_tensor.data_type]
        every = fill(TensorDesc.of(case.desc.input_tensor.data_type, (4096,)), Recipe(LIMITS, 0))
        assert set(materialize(case)["input_tensor"].view(number).tolist()) == set(every.view(number).tolist())


# --- arguments of functions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data_type", MOVED, ids=lambda data_type: data_type.name)
def test_all_values_are_all_of_8_and_16_bits_and_all_upper_halves(data_type: DataType) -> None:
    found = bits(data_type, "all-values", 65_536, 7)
    upper = found >> found.dtype.type(max(0, data_type.bits - 16))
    assert len(np.unique(upper)) == 2 ** min(16, data_type.bits)
    if data_type.size > 2:
        assert len(np.unique(found & found.dtype.type(0xFFFF))) > 30_000


@pytest.mark.parametrize("data_type", MOVED, ids=lambda data_type: data_type.name)
def test_moderate_numbers_are_of_every_size(data_type: DataType) -> None:
    found = fill(TensorDesc.of(data_type, (20_000,)), Recipe("moderate")).view(NUMPY_TYPE[data_type])[:20_000]
    if data_type.is_float:
        assert np.abs(found).min() >= 2.0**-12
        assert np.abs(found).max() < 2.0**6
        assert len(np.unique(np.frexp(found)[1])) == 18
        assert 0.4 < np.signbit(found).mean() < 0.6
    else:
        widths = {abs(int(number)).bit_length() for number in found}
        assert set(range(1, data_type.bits - data_type.is_signed_integer + 1)) <= widths
        assert (found < 0).any() == data_type.is_signed_integer


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda data_type: data_type.name)
def test_critical_numbers_are_halves_turns_and_ends_with_their_neighbours(data_type: DataType) -> None:
    kind = NUMPY_TYPE[data_type].type
    found = fill(TensorDesc.of(data_type, (4096,)), Recipe("critical")).view(NUMPY_TYPE[data_type])
    for number in (0.5, 1.0, 2.5, np.pi / 2, np.pi, 8 * np.pi, 11.09, 10_000.0):
        number = kind(number)
        for near in (number, np.nextafter(number, kind(0)), np.nextafter(number, kind(np.inf))):
            assert near in found, number
            assert -near in found, number
    assert np.isnan(found).any()
    assert np.isinf(found).any()
    assert (found == 0).any()


FUNCTIONS = [name for name, spec in operators().items() if set(spec.domains.values()) == {"reals"}]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number_meet_all_values_of_8_and_16_bits(name: str) -> None:
    spec = operators()[name]
    table = spec.table_at(HIGHEST)
    assert table is not None
    wanted = {data_type for data_type in table["InputTensor"].data_types if data_type.size <= 2}
    met = set()
    for case in boundary_cases(name, HIGHEST):
        if "/values/all-values/" not in case.origin:
            continue
        data_type = case.desc.input_tensor.data_type
        if case.origin.endswith("/large") and data_type in wanted:
            elements = np.unique(materialize(case)["input_tensor"].view(UNSIGNED_OF_SIZE[data_type.size]))
            if len(elements) == 2**data_type.bits:
                met.add(data_type)
    assert met == wanted


@pytest.mark.parametrize("pattern", ["random-bits", "special", "in-range", "explicit"])
def test_between_elements_far_apart_there_are_zeros(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, strides = (2, 3, 2), (1000, 2, 300)
    values = tuple(range(12)) if pattern == "explicit" else ()
    recipe, limits = Recipe(pattern, 5, values), (7,) if pattern == "in-range" else ()
    apart = TensorDesc.of(DataType.UINT32, sizes, strides)
    monkeypatch.setattr(tensor_module, "FAR", 400)
    together = without_gaps(apart)
    content, expected = fill(apart, recipe, limits), fill(together, recipe, limits)
    held, near = (
        np.ndarray(sizes, "<u4", memory, strides=[4 * stride for stride in tensor.effective_strides])
        for memory, tensor in ((content, apart), (expected, together))
    )
    assert content.size == buffer_size(apart)
    assert np.array_equal(held, near)
    assert len(np.unique(held)) > 4
    assert not any(content[4 * start : 4 * stop].any() for start, stop in ((5, 300), (305, 1000), (1005, 1300)))


@pytest.mark.parametrize(("pattern", "period"), [("positive", PERIOD), ("factors", PERIOD + 1)])
def test_large_data_of_drawn_elements_begin_again(pattern: str, period: int) -> None:
    content = fill(TensorDesc.of(DataType.FLOAT16, (3 * PERIOD,)), Recipe(pattern, 2)).view("<f2")
    assert np.array_equal(content[: period // 2], content[period : period + period // 2])
    assert not np.array_equal(content[: period // 2], content[period // 2 : period // 2 * 2])
    if pattern == "factors":
        assert abs(np.log2(np.abs(content[: 2 * PERIOD]).astype(np.float64)).sum()) < 2**8
