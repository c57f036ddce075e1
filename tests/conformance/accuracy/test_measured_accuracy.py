"""Measuring accuracy: what is tried, what is found wrong, and that both ways of judging come to the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace
from places import ROOT

from dml_conformance.backends.base import Answer, Bindings, Unsupported
from dml_conformance.backends.loading import load_backend
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.reference.layout import NUMBERS
from dml_conformance.conformance.accuracy import measure as measuring
from dml_conformance.conformance.accuracy.functions import TYPES, WIDTH, Function, function, functions
from dml_conformance.conformance.accuracy.measure import Accuracy, AccuracyError, RefusedError, measure
from dml_conformance.conformance.accuracy.numbers import Part, drawn, numbers_of, parts
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, TOLERANCES, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.errors import BrokenRunError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, inputs

torch = pytest.importorskip("torch")
mpmath = pytest.importorskip("mpmath")

from array_api_compat import torch as of_torch  # noqa: E402

from dml_conformance.backends.torch import TorchBackend  # noqa: E402

FLOAT32, FLOAT16 = DataType.FLOAT32, DataType.FLOAT16
HAS_CUDA = torch.cuda.is_available()
EXP = "ELEMENT_WISE_EXP"
ON_CPU = (of_torch, torch.device("cpu"))


def sample(data_type: DataType, *where: Any, count: int = 48) -> Any:
    """Numbers of every binade, in one array."""
    (part,) = parts(of(EXP, data_type), 2**20, count)
    return numbers_of(part, data_type, *where)


def of(name: str, data_type: DataType = FLOAT32) -> Function:
    found = function(name, data_type)
    assert found is not None
    return found


class Faulty(ReferenceBackend):
    """The reference, but for one number in 65,536, of which the result is a few units in the last place away."""

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        super().execute(desc, level, inputs, outputs)
        width = np.dtype(f"u{desc.input_tensor.data_type.size}")  # type: ignore[attr-defined]
        arguments, results = inputs["input_tensor"].view.view(width), outputs["output_tensor"].view.view(width)
        results[(arguments & 0xFFFF) == 0x3C01] += 40


class FaultyOnDevice(TorchBackend):
    """The same where tensors are."""

    def execute_on_device(
        self, desc: OperatorDesc, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]
    ) -> None:
        super().execute_on_device(desc, inputs, outputs)
        where = (inputs["input_tensor"].view(torch.int32) & 0xFFFF) == 0x3C01
        outputs["output_tensor"].view(torch.int32)[where] += 40


class Lazy(ReferenceBackend):
    """It writes nothing."""

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        pass


# --- what is tried ----------------------------------------------------------------------------------------------------


def test_all_numbers_of_16_bits_are_tried_once() -> None:
    (part,) = parts(of(EXP, FLOAT16), 2**20, 7)
    bits = numbers_of(part, FLOAT16).view(np.uint16)
    assert sorted(bits.reshape(-1).tolist()) == list(range(2**16))


@pytest.mark.parametrize("most", [2**20, 2**24])
def test_the_parts_are_all_numbers_of_32_bits(most: int) -> None:
    every = list(parts(of(EXP), most, None))
    assert sum(part.size for part in every) == 2**32
    assert {part.size for part in every} == {most}
    assert len({(part.binade, part.start) for part in every}) == len(every) == 2**32 // most


def test_a_binade_has_each_of_its_numbers_once() -> None:
    found = [numbers_of(Part(5, 1, start, start + 2**22), FLOAT32) for start in (0, 2**22)]
    bits = np.concatenate(found, axis=1).view(np.uint32)
    assert (bits[0] == (5 << 23) + np.arange(2**23)).all()


def test_a_sample_has_numbers_of_every_binade() -> None:
    bits = sample(FLOAT32, count=16).view(np.uint32)
    assert bits.shape == (512, 16)
    assert (bits >> 23 == np.arange(512)[:, None]).all()
    assert len(np.unique(bits)) == bits.size


def test_other_arguments_are_of_many_kinds_and_the_same_each_time() -> None:
    part = Part(120, 8, 0, 2**12, 2**11)
    for name in ("ELEMENT_WISE_ADD", "ELEMENT_WISE_POW"):
        desc = of(name).desc(8, 2**12)
        first, second = drawn(part, desc, of(name))
        assert (first == numbers_of(part, FLOAT32)).all()
        with np.errstate(all="ignore"):
            ratio = abs(second / first)
            kinds = {
                "alike": (ratio > 1 / 8) & (ratio < 16),
                "nearly the same": abs(ratio - 1) < 1e-6,
                "the other sign": second == -first,
                "whole": (second == np.rint(second)) & (abs(second) <= 16),
                "large": abs(second) > 1e10,
                "small": abs(second) < 1e-10,
                "no number": np.isnan(second),
            }
        for kind, found in kinds.items():
            assert found.any(), kind
        assert all(
            (one.view("u4") == other.view("u4")).all()
            for one, other in zip((first, second), drawn(part, desc, of(name)), strict=True)
        )


def test_integers_are_of_any_bits_or_small() -> None:
    name = "ELEMENT_WISE_DEQUANTIZE_LINEAR"
    part = Part(120, 1, 0, 2**12)
    desc = of(name).desc(1, 2**12)
    numbers, scales, zero_points = drawn(part, desc, of(name))
    assert [slot.key for slot in inputs(desc)] == ["input_tensor", "scale_tensor", "zero_point_tensor"]
    assert (scales == numbers_of(part, FLOAT32)).all()
    assert (numbers != zero_points).any()
    for found in (numbers, zero_points):
        assert found.dtype.itemsize == 1
        assert (found == np.iinfo(found.dtype).max).any()
        assert 0.4 < (abs(found.astype(int)) <= 16).mean() < 0.7


def test_rows_have_numbers_up_to_the_end_of_a_binade() -> None:
    name = "ACTIVATION_SOFTMAX"
    (rows,) = drawn(Part(127, 3, 0, 2**10), of(name).desc(3, 2**10), of(name))
    assert of(name).desc(3, 2**10).input_tensor.sizes == (1, 1, 3 * 2**10 // WIDTH, WIDTH)
    for row, end in zip(rows, (2.0, 4.0, 8.0), strict=True):
        assert 0.9 * end < row.max() < end
        assert -end < row.min() < -0.9 * end
    (part,) = parts(of(name, FLOAT16), 2**22, 100)
    assert (part.rows, part.end) == (64, 64)


# --- judging ----------------------------------------------------------------------------------------------------------


def judged(name: str, arguments: Any, results: Any, tolerance: Tolerance) -> Any:
    function_of = of(name)
    return function_of.judged(function_of.found._replace(arguments=(arguments,)), results, tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES.values(), ids=TOLERANCES)
@pytest.mark.parametrize("data_type", TYPES, ids=lambda data_type: data_type.name)
@pytest.mark.parametrize("name", [name for name in functions() if of(name).is_of_one])
def test_torch_computes_every_formula(name: str, data_type: DataType, tolerance: Tolerance) -> None:
    """The same intervals as on NumPy's arrays, but for the last places of FLOAT64's functions."""
    found = of(name, data_type).found
    numbers = sample(data_type)
    own, other = (found._replace(arguments=(each,))(tolerance) for each in (numbers, torch.from_numpy(numbers.copy())))
    assert isinstance(other.value, torch.Tensor)
    assert (other.nan.numpy() == own.nan).all()
    pairs = ((own.value, other.value, 1.0), (own.low, other.low, 0.98), (own.high, other.high, 0.98))
    for one, two, part in pairs:  # ends may be those of another unit in the last place
        is_beyond = np.isinf(one) | np.isinf(two.numpy())
        is_near = np.isclose(one, two.numpy(), rtol=2.0**-48, atol=2.0**-1022, equal_nan=True)
        assert (is_near | is_beyond).mean() >= part


@pytest.mark.parametrize("where", [(), ON_CPU], ids=["numpy", "torch"])
@pytest.mark.parametrize("name", ["EXP", "LOG", "SIN", "TANH", "ERF", "ATAN", "ASINH", "COSH"])
def test_errors_are_those_of_exact_arithmetic(name: str, where: tuple[Any, ...]) -> None:
    arguments = sample(FLOAT32, *where, count=2)
    found = of(f"ELEMENT_WISE_{name}").found
    xp = array_namespace(arguments)
    with np.errstate(all="ignore"):
        results = xp.astype(found._replace(arguments=(arguments,))(PRECISE).value, xp.float32)
    results = xp.nextafter(results, xp.zeros_like(results))
    of_results = judged(f"ELEMENT_WISE_{name}", arguments, results, PRECISE)
    exact = getattr(mpmath, {"ATAN": "atan", "ASINH": "asinh"}.get(name, name.lower()))
    tried = 0
    with mpmath.workprec(200):
        rows = zip(*(np.asarray(part).reshape(-1) for part in (arguments, results, *of_results[:3])), strict=True)
        for argument, result, is_right, is_counted, error in list(rows)[::3]:
            if not is_counted or not 2.0**-126 < abs(result) < 2.0**120:
                continue
            value = exact(mpmath.mpf(float(argument)))
            unit = 2.0 ** float(np.frexp(float(value))[1] - 24)
            right = abs(mpmath.mpf(float(result)) - value) / unit
            assert float(error) == pytest.approx(float(right), rel=1e-5, abs=1e-5)
            assert is_right
            tried += 1
    assert tried > 20


def test_the_part_that_is_used_is_that_of_the_way_to_the_interval_s_end() -> None:
    numbers = np.array([[1.5, 3.0]], np.float32)
    exact = np.log(numbers.astype(np.float64))
    moved = (exact + np.array([[2.0, 1.0]]) * 2.0**-24 * np.array([[1.0, -2.0]])).astype(np.float32)
    found = judged("ELEMENT_WISE_LOG", numbers, moved, PRECISE)
    assert found.used[0] == pytest.approx(found.error[0] / 4, rel=1e-5)


def test_what_may_be_taken_for_zero_has_no_error() -> None:
    numbers = np.float32([1.0, 2.0**-126, 2.0**-125, 2.0**-130, 2.0**-140])
    of_two, zeros = of("ELEMENT_WISE_MULTIPLY"), np.zeros(5, np.float32)
    product = of_two.found._replace(arguments=(numbers, np.ones(5, np.float32)))
    assert of_two.judged(product, zeros, PRECISE).is_counted.all()
    found = of_two.judged(product, zeros, DIRECTML)
    assert found.is_right.tolist() == [False, False, False, True, True]
    assert found.is_counted.tolist() == [True, False, True, False, False]
    quotient = of("ELEMENT_WISE_DIVIDE").found._replace(arguments=(numbers, numbers[::-1].copy()))
    found = of("ELEMENT_WISE_DIVIDE").judged(quotient, np.float32([1, 1, 1, 0, 0]), DIRECTML)
    assert found.is_counted.tolist() == [False, False, True, False, False]


def test_the_sign_of_zero_counts_where_it_is_kept() -> None:
    zeros = np.array([[0.0, -0.0]], np.float32)
    assert judged("ELEMENT_WISE_SQRT", zeros, zeros, PRECISE).is_right.all()
    assert not judged("ELEMENT_WISE_SQRT", zeros, -zeros, PRECISE).is_right.any()


# --- measuring --------------------------------------------------------------------------------------------------------


def test_torch_is_within_the_bounds_and_both_ways_find_the_same() -> None:
    backend, told = TorchBackend("cpu"), list[int]()
    for name in (EXP, "ELEMENT_WISE_ASINH", "ELEMENT_WISE_SIN"):
        one, other = (
            measure(backend, name, FLOAT32, PRECISE, sampled=64, on_device=way, advance=told.append)
            for way in (False, True)
        )
        assert (one.tried, one.counted, one.wrong) == (other.tried, other.counted, other.wrong)
        assert one.error[0] == pytest.approx(other.error[0])
        assert one.error[1] == other.error[1]
        assert one.most_used == pytest.approx(other.most_used)
        assert (np.abs(one.histogram - other.histogram) <= 2).all()
        assert [row[:2] for row in one.binades()] == [row[:2] for row in other.binades()]
        if name == EXP:
            assert (one.tried, sum(told), one.wrong, one.worst) == (2**15, 2**16, 0, [])
            assert 0.5 < one.error[0] < 2.0
            assert 0.1 < one.most_used < 0.5
            assert one.quantile(0.5) <= one.quantile(0.999) <= one.error[0]


def test_parts_come_to_the_same_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measure(Faulty(), EXP, FLOAT16, PRECISE)
    monkeypatch.setattr(measuring, "ON_HOST", 2**8)
    monkeypatch.setattr(measuring._OnHost, "most", 2**8)
    found = measure(Faulty(), EXP, FLOAT16, PRECISE)
    assert (found.tried, found.wrong, found.worst) == (whole.tried, whole.wrong, whole.worst)
    assert (found.histogram == whole.histogram).all()
    assert found.binades() == whole.binades()


def test_one_wrong_number_in_65536_is_found() -> None:
    found = measure(Faulty(), EXP, FLOAT16, DIRECTML)
    assert found.wrong == 1
    (wrong,) = found.worst
    assert wrong.arguments == (1 + 2.0**-10,)
    assert 39 < wrong.error < 41
    assert wrong.expected == "2.72070312 to 2.72265625"
    assert found.error == (wrong.error, wrong.arguments)


def test_wrong_numbers_of_32_bits_are_found() -> None:
    of_device = FaultyOnDevice("cpu")
    for backend, on_device in ((Faulty(), False), (of_device, True)):
        found = measure(backend, "ELEMENT_WISE_RECIP", FLOAT32, PRECISE, sampled=2**11, on_device=on_device)
        assert 5 < found.wrong < 50
        assert len(found.worst) == min(found.wrong, 10)
        arguments = np.array([wrong.arguments[0] for wrong in found.worst], np.float32)
        assert (arguments.view(np.uint32) & 0xFFFF == 0x3C01).all()
        assert [wrong.error for wrong in found.worst] == sorted((w.error for w in found.worst), reverse=True)


class FaultyInPairs(ReferenceBackend):
    """The reference, but where one argument is 3 and the other 4."""

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        super().execute(desc, level, inputs, outputs)
        a, b = (inputs[key].view.view(np.float16) for key in ("a_tensor", "b_tensor"))
        outputs["output_tensor"].view.view(np.uint16)[(a == 3) & (b == 4)] += 5


def test_a_wrong_result_of_two_arguments_is_found() -> None:
    found = measure(FaultyInPairs(), "ELEMENT_WISE_MULTIPLY", FLOAT16, DIRECTML)
    assert (found.tried, found.error) == (2**22, (5.0, (3.0, 4.0)))
    assert 0 < found.wrong < 100
    assert {(wrong.arguments, wrong.error, wrong.expected) for wrong in found.worst} == {((3.0, 4.0), 5.0, "12")}


@pytest.mark.parametrize("name", [name for name in functions() if not of(name).is_of_one])
@pytest.mark.parametrize("data_type", TYPES, ids=lambda data_type: data_type.name)
def test_torch_is_within_the_bounds_of_several_numbers_and_rows(name: str, data_type: DataType) -> None:
    found = measure(TorchBackend("cpu"), name, data_type, PRECISE, sampled=WIDTH)
    assert found.wrong == 0, found.worst
    assert found.most_used <= 1.0
    assert found.counted > found.tried / 20


def test_what_is_not_written_is_wrong() -> None:
    found = measure(Lazy(), EXP, FLOAT16, DIRECTML)
    assert found.wrong == 2**16 - 2 * (2**10 - 1)  # of NaN a NaN is right
    assert found.counted == 0
    assert found.quantile(0.5) == 0.0
    assert found.binades() == []


def test_an_exact_operator_has_no_error() -> None:
    found = measure(ReferenceBackend(), "ELEMENT_WISE_ABS", FLOAT16, DIRECTML)
    assert (found.wrong, found.error[0], found.most_used, found.quantile(1.0)) == (0, 0.0, 0.0, 0.0)


def test_intervals_that_are_not_the_references_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a device has an exponential of its own."""
    exp = of_torch.exp
    monkeypatch.setattr(of_torch, "exp", lambda numbers: exp(numbers) * (1 + 2.0**-21))
    with pytest.raises(BrokenRunError, match=r"ELEMENT_WISE_EXP: the intervals computed for .* not the reference's"):
        measure(TorchBackend("cpu"), EXP, FLOAT32, DIRECTML, sampled=64, on_device=True)


def test_what_cannot_be_measured_is_told() -> None:
    class Refusing(ReferenceBackend):
        def validate(self, desc: OperatorDesc, level: Level) -> Answer:
            return Answer(False, "no such type")

    class Unable(ReferenceBackend):
        def validate(self, desc: OperatorDesc, level: Level) -> Answer:
            raise Unsupported("not here")

    class Failing(ReferenceBackend):
        def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
            raise RuntimeError("lost")

    with pytest.raises(AccuracyError, match="GATHER has no bounds as a function with FLOAT32 results"):
        measure(ReferenceBackend(), "GATHER", FLOAT32, DIRECTML)
    with pytest.raises(RefusedError, match="refuses FLOAT16: no such type"):
        measure(Refusing(), EXP, FLOAT16, DIRECTML)
    with pytest.raises(RefusedError, match="refuses FLOAT16: not here"):
        measure(Unable(), EXP, FLOAT16, DIRECTML)
    with pytest.raises(BrokenRunError, match="the backend fails: RuntimeError: lost"):
        measure(Failing(), EXP, FLOAT16, DIRECTML)


def test_neighbouring_binades_with_like_errors_are_one() -> None:
    of_16_bits = np.finfo(NUMBERS[FLOAT16])
    found = Accuracy(EXP, FLOAT16)
    for binade, error in ((0, 0.1), (1, 0.5), (2, 0.9), (3, 1.9), (4, 2.9), (6, 1.9), (31, 1.0), (32, 0.2)):
        found.largest[binade], found.used[binade] = (error, (0.0,)), error / 2
    assert found.binades() == [
        (-float(of_16_bits.tiny), 2 * float(of_16_bits.tiny), 0.5, 0.25),
        (2.0**-13, 2.0**-12, 0.9, 0.45),
        (2.0**-12, 2.0**-10, 2.9, 1.45),
        (2.0**-9, 2.0**-8, 1.9, 0.95),
        (np.inf, np.inf, 1.0, 0.5),
    ]


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device here")
@pytest.mark.parametrize("name", [name for name in functions() if of(name).is_of_one])
def test_a_device_comes_to_the_same(name: str) -> None:
    backend = TorchBackend("cuda")
    assert measuring.works_on_device(backend)
    one, other = (measure(backend, name, FLOAT32, DIRECTML, sampled=2**11, on_device=way) for way in (False, True))
    assert one.tried == other.tried == 2**20
    # Near a subnormal end of an interval the last place of FLOAT64 decides whether an error counts.
    assert one.counted == pytest.approx(other.counted, abs=3)
    assert (one.wrong, other.wrong) == (0, 0)
    assert one.error[0] == pytest.approx(other.error[0], rel=1e-6)
    assert one.most_used == pytest.approx(other.most_used, rel=1e-6)


@pytest.mark.parametrize("name", functions())
def test_numpy_is_within_the_bounds_of_every_function(name: str) -> None:
    """Also so that the documents' example, by which bounds are measured, goes on with the reference."""
    backend = load_backend(f"{ROOT / 'docs/examples/numpy_backend.py'}:NumPyBackend")
    for tolerance in TOLERANCES.values():
        found = measure(backend, name, FLOAT32, tolerance, sampled=16)
        assert found.tried
        assert not found.wrong
