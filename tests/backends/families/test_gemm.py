"""GEMM, held against sums over coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.reference import expected_output
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Profile
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.gemm import GEMM
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders._fused import activation

KINDS = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16}


def element(run: Run, key: str, place: slow.Coordinates) -> float:
    return float(np.frombuffer(run.memory(key).element(place), KINDS[run.desc.output_tensor.data_type])[0])


def slow_gemm(run: Run, c: slow.Coordinates) -> tuple[float, float]:
    """An element before its activation, and what it would be if all its terms were positive."""
    desc, (*lead, m, n) = run.desc, c
    inner = desc.a_tensor.sizes[-2] if desc.trans_a else desc.a_tensor.sizes[-1]
    terms = [
        desc.alpha
        * element(run, "a_tensor", (*lead, k, m) if desc.trans_a else (*lead, m, k))
        * element(run, "b_tensor", (*lead, n, k) if desc.trans_b else (*lead, k, n))
        for k in range(inner)
    ]
    terms += [desc.beta * element(run, "c_tensor", c)] if desc.c_tensor else []
    if not all(map(math.isfinite, terms)):
        return math.nan, math.nan
    return math.fsum(terms), math.fsum(map(abs, terms))


def test_what_is_expected_lies_around_the_slow_reference() -> None:
    seen = exact = 0
    for run in small_runs("GEMM", 120):
        if run.desc.fused_activation is not None:
            continue
        data_type, expected = run.desc.output_tensor.data_type, run.expected["output_tensor"]
        assert expected.within is not None
        low, high = (
            numbers(part, data_type).astype(float).reshape(-1) for part in (expected.within.low, expected.within.high)
        )
        info = np.finfo(KINDS[data_type])
        is_moderate = {recipe.pattern for recipe in (run.case.data or {}).values()}.isdisjoint(("finite", "special"))
        for n, c in list(enumerate(slow.walk(run.desc.output_tensor.sizes)))[:30]:
            y, most = slow_gemm(run, c)
            if not most < float(info.max) / 2:
                continue
            unit = float(info.eps) * abs(y) + 2.0**-22 * most + 4 * float(info.tiny)
            assert low[n] - unit <= y <= high[n] + unit
            if is_moderate:  # a subnormal factor may be taken for 0
                assert high[n] - low[n] <= 3 * unit + 2.0**-22 * 64 * most
            seen += 1
            exact += low[n] == high[n] != 0
    assert seen > 300
    assert exact > 40


def of(a: Any, b: Any, c: Any = None, kind: Any = np.float32, **members: Any) -> Run:
    arrays = {key: np.array(part, kind) for key, part in (("a_tensor", a), ("b_tensor", b), ("c_tensor", c)) if part}
    data_type = DataType[np.dtype(kind).name.upper()]
    tensors = {key: TensorDesc.of(data_type, array.shape) for key, array in arrays.items()}
    sizes = (len(a), len(b[0]))
    given = {"c_tensor": None, "trans_a": 0, "trans_b": 0, "alpha": 1.0, "beta": 1.0, "fused_activation": None}
    desc = GEMM.desc(**{**given, **tensors, "output_tensor": TensorDesc.of(data_type, sizes), **members})
    return with_values(desc, HIGHEST, **arrays)


def right(run: Run, value: float, profile: Profile = DIRECTML) -> bool:
    data_type = run.desc.output_tensor.data_type
    expected = expected_output(run.desc, run.bindings, profile)["output_tensor"]
    assert expected.within is not None
    bits = np.array([[value]], KINDS[data_type]).view(f"u{data_type.size}")
    return bool(expected.within.holds(bits, data_type).all())


def test_what_is_multiplied_by_0_is_read_or_not() -> None:
    for run in (of([[2.0]], [[3.0]], [[math.inf]], beta=0.0), of([[math.nan]], [[3.0]], [[6.0]], alpha=0.0)):
        assert right(run, 6.0)
        assert right(run, math.nan)
        assert not right(run, 7.0)
        assert_conforms(TorchBackend("cpu"), run)


def test_sums_are_of_float32() -> None:
    run = of([[2048.0, *(1.0,) * 8]], [[1.0]] * 9, kind=np.float16)
    assert right(run, 2056.0)
    assert not right(run, 2048.0)
    run = of([[60000.0, 60000.0]], [[1.0], [-1.0]], kind=np.float16)
    assert right(run, 0.0)
    assert not right(run, math.inf)


def test_a_float16_product_is_rounded_before_c_is_added_unless_that_is_to_be_precise() -> None:
    x = 1.0 + 3 * 2.0**-10
    run = of([[x]], [[x]], [[-1.0]], kind=np.float16)
    for profile, is_right in ((DIRECTML, True), (PRECISE, False)):
        assert right(run, x * x - 1.0, profile)
        assert right(run, 6 * 2.0**-10, profile) is is_right
        assert not right(run, 5 * 2.0**-10, profile)
    run = of([[300.0]], [[300.0]], [[-60000.0]], kind=np.float16)
    assert right(run, 30000.0)
    assert right(run, math.inf)
    assert right(run, 5504.0)  # the largest number less 60,000
    assert not right(run, 5500.0)


@pytest.mark.parametrize("count", [64, 128])
def test_a_long_float16_sum_is_one_of_rounded_parts_unless_that_is_to_be_precise(count: int) -> None:
    numbers = np.random.default_rng(3).uniform(0.5, 1.0, (2, count)).astype(np.float16)
    products = numbers[0].astype(float) * numbers[1]
    run = of([numbers[0].tolist()], numbers[1].reshape(-1, 1).tolist(), kind=np.float16)

    def cut(values: Any) -> Any:
        unit = 2.0 ** (np.floor(np.log2(values)) - 10)
        return np.floor(values / unit) * unit

    assert right(run, products.sum(), PRECISE)
    in_parts = float(cut(cut(products.reshape(4, -1).sum(1)).sum()))
    assert [right(run, in_parts, profile) for profile in (DIRECTML, PRECISE)] == [count == 128, False]
    for profile in (DIRECTML, PRECISE):
        assert not right(run, float(products[1:].sum()), profile)


def test_sums_of_whole_numbers_and_of_what_overflows_in_parts() -> None:
    run = of([[15.0] * 128], [[1.0]] * 128, kind=np.float16)
    assert [right(run, value) for value in (1919.0, 1920.0, 1921.0)] == [False, True, False]
    run = of([[1000.0] * 64 + [-1000.0] * 64 + [60.0, 1.0]], [[60.0]] * 130, kind=np.float16)
    assert right(run, 3660.0)
    assert right(run, math.nan)
    assert not right(run, 0.0, PRECISE)


def test_a_softmax_is_fused_from_6_1_on() -> None:
    tensor = TensorDesc.of(DataType.FLOAT32, (2, 3, 3))
    plain = of([[1.0]], [[1.0]]).desc
    outcomes = {}
    for name, members in (("SOFTMAX", {}), ("SOFTMAX1", {"axes": (2,)}), ("SOFTMAX1", {"axes": (3,)})):
        fused = activation(f"ACTIVATION_{name}", **members)
        for sizes in ((2, 3, 3), (1, 3, 3)):
            tensor = TensorDesc.of(DataType.FLOAT32, sizes)
            desc = type(plain)(tensor, tensor, None, tensor, 0, 0, 1.0, 0.0, fused)
            accepted = [decide(desc, level).outcome is Outcome.ACCEPT for level in (Level.L6_0, Level.L6_1)]
            outcomes[name, *members.values(), sizes[0]] = accepted
            torch = TorchBackend("cpu")
            assert [torch.validate(desc, level).accepted for level in (Level.L6_0, Level.L6_1)] == accepted
    assert outcomes == {
        ("SOFTMAX", 2): [False, False],
        ("SOFTMAX", 1): [False, True],
        ("SOFTMAX1", (2,), 2): [False, True],
        ("SOFTMAX1", (2,), 1): [False, True],
        ("SOFTMAX1", (3,), 2): [False, False],
        ("SOFTMAX1", (3,), 1): [False, False],
    }
