"""What a right implementation may give of a person's arrays: intervals, tolerances that admit them, and errors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_array_max_ulp

import dml_conformance
from dml_conformance.conformance.accuracy.enclosure import (
    OutputEnclosure,
    bindings_of,
    completed,
    enclosure,
    output_enclosures,
    step_costs,
)
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, TOLERANCES, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.expectation import Expectation, Within
from dml_conformance.spec.forms import FormError, desc_from_json
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

PRODUCT = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0}
SUM = {"Function": "SUM", "Axes": [1]}
ROWS = {"Axes": [1]}
QUANTIZE = {"OutputTensor": {"DataType": "INT8", "Sizes": [64]}}


def described(operator: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"DML_OPERATOR_{operator}", "desc": fields}


def one(operator: str, fields: dict[str, Any], arrays: dict[str, Any], **options: Any) -> OutputEnclosure:
    """What is right of an operator with one output."""
    (found,) = enclosure(described(operator, fields), arrays, **options).values()
    return found


def drawn(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def of_numbers(dtype: str, low: Any, value: Any, high: Any, nan: Any = None) -> OutputEnclosure:
    """Elements with these intervals."""
    data_type = DataType[np.dtype(dtype).name.upper()]
    bits = [np.asarray(part, dtype).view(f"u{data_type.size}") for part in (low, value, high)]
    within = Within(bits[0], bits[2], None if nan is None else np.asarray(nan))
    return OutputEnclosure("OutputTensor", data_type, Expectation(bits[1], within=within))


ROUNDED = {
    "sums that cancel": ("GEMM", PRODUCT, {"ATensor": drawn("float32", 4, 60), "BTensor": drawn("float32", 60, 5)}),
    "FLOAT16": ("GEMM", PRODUCT, {"ATensor": drawn("float16", 4, 60), "BTensor": drawn("float16", 60, 5)}),
    "rows": ("ACTIVATION_SOFTMAX1", ROWS, {"InputTensor": drawn("float32", 3, 40)}),
    "subnormal numbers": ("ELEMENT_WISE_EXP", {}, {"InputTensor": np.float32([-103, -90, -87, 0, 80])}),
    "subnormal FLOAT16": ("ACTIVATION_SOFTMAX1", ROWS, {"InputTensor": np.float16([[0, -8, -15, -17]])}),
    "whole numbers": (
        "ELEMENT_WISE_QUANTIZE_LINEAR",
        QUANTIZE,
        {
            "InputTensor": (np.arange(64, dtype=np.float32) - 31.5) * np.float32(0.7),
            "ScaleTensor": np.full(64, 0.7, np.float32),
            "ZeroPointTensor": np.zeros(64, np.int8),
        },
    ),
}


@pytest.mark.parametrize(("operator", "fields", "arrays"), ROUNDED.values(), ids=ROUNDED)
def test_tolerances_admit_every_right_result(operator: str, fields: Any, arrays: Any) -> None:
    """Compared in the elements' own type, and in FLOAT64; no smaller ones do."""
    found = one(operator, fields, arrays)
    rtol, atol, both, ulp = found.tolerances
    assert atol > 0
    for end in (found.low, found.high):
        for wide in (end.dtype, np.float64):
            got, value = end.astype(wide), found.value.astype(wide)
            if np.isfinite(rtol):
                assert_allclose(got, value, rtol=rtol, atol=0)
            assert_allclose(got, value, rtol=0, atol=atol)
            assert_allclose(got, value, rtol=both[0], atol=both[1])
    ends = np.stack([found.low, found.high]).astype(np.float64)
    away = np.abs(ends - found.value.astype(np.float64))
    number = found.value.dtype.type if found.data_type.is_float else np.float64
    assert away.max() > float(np.nextafter(number(atol), number(0)))
    if np.isfinite(rtol):
        assert (away > float(np.nextafter(number(rtol), number(0))) * np.abs(found.value.astype(np.float64))).any()
    if found.data_type.is_float:
        farthest = [assert_array_max_ulp(end, found.value, maxulp=ulp).max() for end in (found.low, found.high)]
        assert max(farthest) == ulp


@pytest.mark.parametrize(("operator", "fields", "arrays"), ROUNDED.values(), ids=ROUNDED)
def test_both_ends_are_right_and_what_is_next_to_them_is_not(operator: str, fields: Any, arrays: Any) -> None:
    found = one(operator, fields, arrays)
    for end, way in ((found.low, -1), (found.high, 1)):
        found.check(end)
        beyond = np.nextafter(end, way * np.inf) if found.data_type.is_float else end + end.dtype.type(way)
        assert not found.is_right(beyond.astype(end.dtype)).any()
        for place in found.widest(2):
            got = end.copy()
            got[place] = beyond[place]
            with pytest.raises(AssertionError, match=r"OutputTensor: 1 of \d+ elements are wrong; .* at \[\d+") as told:
                found.check(got)
            shown = ", ".join(map(str, place))
            assert f"at [{shown}], is {got[place].item()!r}, and right is from" in str(told.value)
            assert f"{found.low[place].item()!r} to {found.high[place].item()!r}" in str(told.value)


def test_the_pair_allows_least_on_average() -> None:
    """Three numbers of unlike sizes whose errors lie on a line: both tolerances are its slope and its height at 0."""
    value = np.array([1.0, 16.0, 4096.0])
    away = 2.0**-10 + value * 2.0**-12
    found = of_numbers("float32", value - away, value, value + away)
    rtol, atol = found.tolerances.both
    assert (rtol, atol) == pytest.approx((2.0**-12, 2.0**-10), rel=2e-3)
    assert found.tolerances.rtol > 4 * rtol
    assert found.tolerances.atol > 100 * atol


def test_where_exact_bits_are_right_they_are_the_only_ones() -> None:
    """Also the sign of a zero, and a NaN's payload, which a message tells by the bits."""
    source = np.array([1.5, -0.0, np.nan, np.inf], np.float32)
    found = one("ELEMENT_WISE_IDENTITY", {}, {"InputTensor": source})
    for part in (found.value, found.low, found.high):
        assert_array_equal(part.view(np.uint32), source.view(np.uint32))
    assert found.tolerances == (0.0, 0.0, (0.0, 0.0), 0)
    assert found.widest(3) == []
    assert_array_equal(found.nan, np.isnan(source))
    found.check(source)
    got = source.copy()
    got[1] = 0.0
    with pytest.raises(AssertionError, match=r"at \[1\], is 0\.0, and right is -0\.0$"):
        found.check(got)
    got = source.copy()
    got[2] = np.uint32(0x7FC00001).view(np.float32)
    with pytest.raises(AssertionError, match=r"is nan \(0x7fc00001\), and right is nan \(0x7fc00000\)$"):
        found.check(got)


def test_where_nan_is_right() -> None:
    """Alone any NaN is right, and tolerances are those of the numbers; besides a number no tolerance admits it."""
    found = one("ELEMENT_WISE_LOG", {}, {"InputTensor": np.float32([-1.0, 3.0])})
    assert_array_equal(found.nan, [True, False])
    assert np.isnan(found.low[0])
    assert np.isnan(found.high[0])
    assert 0 < found.tolerances.rtol < 1e-5
    found.check(np.array([0xFFC00001, np.float32(np.log(3)).view(np.uint32)], np.uint32).view(np.float32))
    with pytest.raises(AssertionError, match=r"at \[0\], is 0\.0, and right is NaN"):
        found.check(np.float32([0.0, np.log(3)]))
    for value in (1.0, np.nan):
        besides = of_numbers("float32", [1.0], [value], [2.0], [True])
        assert besides.tolerances[:3] == (np.inf, np.inf, (np.inf, np.inf))
        assert besides.is_right(np.float32([np.nan])).all()


def test_where_infinity_is_right_no_tolerance_admits_it() -> None:
    found = of_numbers("float32", [3e38, 0.0], [3.4e38, 1.0], [np.inf, 1.0])
    assert found.tolerances[:3] == (np.inf, np.inf, (np.inf, np.inf))
    found.check(np.float32([np.inf, 0.5]))


def test_no_relative_tolerance_admits_a_number_beside_zero() -> None:
    found = of_numbers("float32", [-1e-6, 1.0], [0.0, 1.0], [1e-6, 1.0])
    assert found.tolerances.rtol == np.inf
    assert found.tolerances.atol == pytest.approx(1e-6)


def test_the_worst_element_is_farthest_outside_for_what_is_allowed_there() -> None:
    """NaN is worse than any number."""
    found = of_numbers("float32", [0.0, 99.0, 5.0], [0.5, 100.0, 5.0], [1.0, 101.0, 5.0])
    for got, worst in (([3.0, 103.0, 5.0], 0), ([1.1, 113.0, 5.0], 1), ([1.1, 113.0, 5.1], 2), ([np.nan, 0.0, 6.0], 0)):
        with pytest.raises(AssertionError, match=rf"the worst one, at \[{worst}\]"):
            found.check(np.float32(got))


def test_an_enclosure_is_shown_in_one_line() -> None:
    found = of_numbers("float32", [1.0], [1.5], [2.0])
    assert repr(found).startswith("<OutputTensor, FLOAT32 of shape (1,): rtol 0.3333")
    assert ", or atol 0.5, or rtol 0.3333" in repr(found)
    assert repr(found).endswith(", or 4194304 ULP>")


def test_the_widest_elements_are_those_of_most_units() -> None:
    """Those that are exact are none."""
    found = of_numbers("float32", [1.0, 64.0, 5.0, 2.0], [1.5, 65.0, 5.0, 2.5], [2.0, 66.0, 5.0, 2.75])
    assert found.widest(2) == [(0,), (3,)]
    assert found.widest(9) == [(0,), (3,), (1,)]


def test_elements_that_may_be_anything_are_marked() -> None:
    """Those of an index out of range are any element of the input's memory; tolerances are those of the others."""
    arrays = {"InputTensor": np.float32([1.0, 2.0, 4.0]), "IndicesTensor": np.int32([1, 7])}
    fields = {"OutputTensor": {"DataType": "FLOAT32", "Sizes": [2]}, "Axis": 0, "IndexDimensions": 1}
    found = one("GATHER", fields, arrays)
    assert_array_equal(found.from_memory, [False, True])
    assert (found.low[1], found.high[1]) == (1.0, 4.0)
    assert_array_equal(found.is_right(np.float32([2.0, 4.0])), [True, True])
    assert_array_equal(found.is_right(np.float32([2.0, 3.0])), [True, False])
    with pytest.raises(AssertionError, match=r"at \[1\], is 3\.0, and right is any element of the input"):
        found.check(np.float32([2.0, 3.0]))
    bits = np.array([0, 1], np.uint32)
    free = OutputEnclosure("OutputTensor", DataType.UINT32, Expectation(bits, free=np.array([True, False])))
    assert_array_equal([free.low, free.high], [[0, 1], [2**32 - 1, 1]])
    assert free.tolerances.atol == 0
    free.check(np.uint32([77, 1]))


# --- descriptors and arrays -------------------------------------------------------------------------------------------


def test_tensors_that_follow_may_be_left_out() -> None:
    """The same of a whole descriptor, as an object, as JSON, and as JSON with the arrays' tensors left out."""
    arrays = {"ATensor": drawn("float32", 2, 3), "BTensor": drawn("float32", 3, 4)}
    tensors = {
        name: {"DataType": "FLOAT32", "Sizes": sizes}
        for name, sizes in (("ATensor", [2, 3]), ("BTensor", [3, 4]), ("OutputTensor", [2, 4]))
    }
    short, whole = described("GEMM", PRODUCT), described("GEMM", tensors | PRODUCT)
    a, b, output = (TensorDesc.of(DataType.FLOAT32, of["Sizes"]) for of in tensors.values())
    transform = descriptor_classes()["GEMM"].fields[4].kind.from_json("NONE", "")
    built = descriptor_classes()["GEMM"](a, b, None, output, transform, transform, 1.0, 0.0, None)
    found = [
        dml_conformance.enclosure(desc, arrays)["OutputTensor"] for desc in (built, whole, short, json.dumps(short))
    ]
    for each in found:
        assert each.value.shape == (2, 4)
        assert_array_equal([each.low, each.high], [found[0].low, found[0].high])


def test_the_bounds_are_those_of_the_tolerance_that_is_asked_for() -> None:
    arrays = {"InputTensor": drawn("float32", 50)}
    wide, narrow = (one("ELEMENT_WISE_ERF", {}, arrays, accuracy=name) for name in ("directml", "precise"))
    assert wide.tolerances.ulp > narrow.tolerances.ulp > 0


def test_arrays_have_logical_shape_wherever_elements_lie() -> None:
    """Of strided tensors, and of elements of 4 bits, which have a byte each."""
    source = drawn("float32", 2, 3)
    strided = {"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [1, 2]}
    found = one("ELEMENT_WISE_IDENTITY", {"InputTensor": strided}, {"InputTensor": source[:, ::-1][:, ::-1]})
    assert_array_equal(found.value, source)
    four = {
        "InputTensor": {"DataType": "INT4", "Sizes": [1, 3]},
        "QuantizationType": "SCALE",
        "QuantizationTensors": [{"DataType": "FLOAT32", "Sizes": [1, 1]}],
        "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 3]},
    }
    arrays = {"InputTensor": np.int8([[-8, 3, 7]]), "QuantizationTensors[0]": np.float32([[2.0]])}
    assert_array_equal(one("DEQUANTIZE", four, arrays).value, [[-16.0, 6.0, 14.0]])
    with pytest.raises(FormError, match=r"^InputTensor: has values that do not fit its tensor, .* 4 bits$"):
        one("DEQUANTIZE", four, arrays | {"InputTensor": np.int8([[-8, 3, 8]])})


A, B = drawn("float32", 2, 3), drawn("float32", 3, 4)
SHARED = {"ATensor": {"DataType": "FLOAT32", "Sizes": [2, 3], "Strides": [0, 1]}}
RESAMPLE = {"InterpolationMode": "NEAREST_NEIGHBOR", "ScaleCount": 2, "Scales": [2.0, 2.0]}
ERRORS: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "an array that is missing": ("GEMM", PRODUCT, {"ATensor": A}, r"^BTensor: missing; GEMM needs an array for it$"),
    "an array of a tensor that is missing": (
        "GEMM",
        PRODUCT | {"BTensor": {"DataType": "FLOAT32", "Sizes": [3, 4]}},
        {"ATensor": A},
        r"^BTensor: missing; expected an array, float32 of shape \(3, 4\)$",
    ),
    "another shape": (
        "GEMM",
        PRODUCT | {"ATensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}},
        {"ATensor": A.T, "BTensor": B},
        r"^ATensor: expected float32 of shape \(2, 3\), found float32 of shape \(3, 2\)$",
    ),
    "another type": (
        "GEMM",
        PRODUCT | {"ATensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}},
        {"ATensor": A.astype(np.float64), "BTensor": B},
        r"^ATensor: expected float32 of shape \(2, 3\), found float64 of shape \(2, 3\)$",
    ),
    "a type that no tensor has": (
        "GEMM",
        PRODUCT,
        {"ATensor": A.astype(complex), "BTensor": B},
        r"^ATensor: expected an array of one of the types float32, .*; found complex128$",
    ),
    "a name that is none": ("GEMM", PRODUCT, {"ATensors": A}, r"^ATensors: GEMM has no such input .*mean ATensor\?$"),
    "a place that an array of tensors has not": (
        "JOIN",
        {"InputTensors": [{"DataType": "FLOAT32", "Sizes": [2, 3]}], "Axis": 0},
        {"InputTensors[1]": A},
        r"^InputTensors\[1\]: JOIN has no such input tensor; did you mean InputTensors\[0\]\?$",
    ),
    "an array of tensors that is not stated": (
        "JOIN",
        {"Axis": 0},
        {"InputTensors[0]": A},
        r"^InputTensors\[0\]: JOIN has no such input tensor; state the tensors of InputTensors in the descriptor$",
    ),
    "a broken rule": (
        "GEMM",
        PRODUCT,
        {"ATensor": A, "BTensor": A},
        r"^GEMM at 6_4: breaks GEMM\.output-sizes \(.+\): BTensor\.Sizes: \{2,3\}, ATensor has \{2,3\}; .+",
    ),
    "an output's type that does not follow": (
        "TOP_K",
        {"Axis": 1, "K": 2},
        {"InputTensor": A},
        r"breaks TOP_K\.data-types .*OutputIndexTensor\.DataType: FLOAT32.*; OutputIndexTensor is left out.*state it",
    ),
    "two broken rules": (
        "GEMM",
        PRODUCT | {"OutputTensor": {"DataType": "FLOAT16", "Sizes": [2, 5]}},
        {"ATensor": A, "BTensor": B},
        r"breaks GEMM\.\S+ .*; also broken: GEMM\.\S+$",
    ),
    "output sizes that do not follow": (
        "RESAMPLE",
        RESAMPLE,
        {"InputTensor": A},
        r"^OutputTensor: missing; RESAMPLE needs it, as its sizes do not follow from the rest$",
    ),
    "elements that share memory": (
        "GEMM",
        PRODUCT | SHARED,
        {"ATensor": A, "BTensor": B},
        r"^ATensor: has values that do not fit its tensor, which has Strides by which elements share memory$",
    ),
    "no descriptor": (
        "GEMM",
        {"Alpha": 1.0},
        {"ATensor": A, "BTensor": B},
        r"^desc\.TransA: missing; expected one of NONE, TRANSPOSE$",
    ),
}


@pytest.mark.parametrize(("operator", "fields", "arrays", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_name_the_field_or_the_rule(
    operator: str, fields: dict[str, Any], arrays: dict[str, Any], message: str
) -> None:
    with pytest.raises(FormError, match=message):
        one(operator, fields, arrays)


def test_other_arguments_that_are_wrong() -> None:
    arrays = {"InputTensor": A}
    exp = described("ELEMENT_WISE_EXP", {})
    with pytest.raises(FormError, match=r"^accuracy: expected directml or precise, found 'exact'$"):
        enclosure(exp, arrays, accuracy="exact")
    with pytest.raises(ValueError, match="7_7"):
        enclosure(exp, arrays, level="7_7")
    with pytest.raises(ValueError, match="descriptor: 1:1: not JSON"):
        enclosure("exp", arrays)
    with pytest.raises(FormError, match="expected an operator as an object with type and desc, found a list"):
        enclosure([exp], arrays)
    found = enclosure(exp, arrays)["OutputTensor"]
    for got, message in (
        (A.T, r"^OutputTensor: expected float32 of shape \(2, 3\), found float32 of shape \(3, 2\)$"),
        (A.tolist(), r"^OutputTensor: expected float32 .*, found float64 of shape \(2, 3\)$"),
    ):
        with pytest.raises(FormError, match=message):
            found.check(got)


def costs(operator: str, fields: dict[str, Any], arrays: dict[str, Any], tolerance: Tolerance) -> dict[str, float]:
    """What the steps of an operator cost, by name."""
    desc = completed(desc_from_json(described(operator, fields)), arrays, HIGHEST)
    bindings = bindings_of(desc, arrays)
    found = output_enclosures(desc, bindings, tolerance)
    return dict(step_costs(desc, bindings, tolerance, found)["OutputTensor"])


def test_a_step_costs_what_the_right_values_would_be_nearer_to_each_other_without() -> None:
    softmax = costs("ACTIVATION_SOFTMAX1", ROWS, {"InputTensor": drawn("float32", 3, 40)}, PRECISE)
    assert list(softmax) == sorted(softmax, key=lambda name: -softmax[name])
    assert {"exp", "add"} <= softmax.keys() <= {"exp", "add", "divide"}
    assert sum(softmax.values()) == pytest.approx(1, abs=0.1)
    product = costs("GEMM", PRODUCT, {"ATensor": drawn("float32", 4, 60), "BTensor": drawn("float32", 60, 5)}, DIRECTML)
    assert product["add"] > product["multiply"] > 0
    assert sum(product.values()) == pytest.approx(1, abs=0.1)
    assert costs("ELEMENT_WISE_LOG", {}, {"InputTensor": np.float32([0.5, 2, 9])}, DIRECTML) == {"log": 1.0}


def test_steps_of_an_operator_that_another_one_holds_cost_too() -> None:
    fused = PRODUCT | {"FusedActivation": described("ACTIVATION_TANH", {})}
    found = costs("GEMM", fused, {"ATensor": 0.1 * drawn("float32", 4, 6), "BTensor": drawn("float32", 6, 5)}, DIRECTML)
    assert next(iter(found)) == "tanh"


def test_where_no_step_loses_anything_none_costs_anything() -> None:
    whole = {"ATensor": np.ones((4, 6), np.float32), "BTensor": np.ones((6, 5), np.float32)}
    assert costs("GEMM", PRODUCT, whole, DIRECTML) == {}
    assert costs("ELEMENT_WISE_IDENTITY", {}, {"InputTensor": np.float32([1e-40, 1])}, DIRECTML) == {}


def test_of_what_is_judged_no_step_is_taken_to_lose_nothing() -> None:
    assert not any(tolerance.lossless for tolerance in TOLERANCES.values())


class OnDevice:
    """An array that cannot be had here, as a tensor of torch's on a device."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("copy it to the host first")


def test_an_array_that_cannot_be_had_here() -> None:
    with pytest.raises(FormError, match=r"^InputTensor: .* NumPy's, found OnDevice: copy it to the host first$"):
        one("ELEMENT_WISE_EXP", {}, {"InputTensor": OnDevice()})
