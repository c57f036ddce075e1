"""What is particular to one operator, and no worked value can say: elements of 4 bits, outputs in the place of inputs,
indices beyond what they name, words of random numbers, FLOAT16 numbers one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from family_cases import Run, assert_conforms, boundary_runs, described, example, executed, small_runs, tensor
from msgspec.structs import replace
from torch.utils._python_dispatch import TorchDispatchMode

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.reference import ReferenceBackend, expected_output
from dml_conformance.backends.reference.layout import bits
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.memory import CaseMemory
from dml_conformance.reports.model.records import Verdict
from dml_conformance.spec import nibbles
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import Size2d, enumeration
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import EXPLICIT, output_in_place

TORCH, REFERENCE = TorchBackend("cpu"), ReferenceBackend()

# --- elements of 4 bits -----------------------------------------------------------------------------------------------


def quantized(kind: str, x: list[float], strides: tuple[int, ...] | None = None) -> Run:
    """Numbers quantized by 1, without a zero point."""
    output = TensorDesc.of(DataType[kind], (len(x),), strides)
    one = [np.ones(1, np.float32)]
    return example("QUANTIZE", input=x, quantization_type=1, quantization_tensors=one, output=output)


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_the_first_of_two_elements_is_in_the_low_half_of_a_byte(kind: str) -> None:
    """[1, 2, 3, 4, 5] is 21 43 05 on the page of the types."""
    source, one = TensorDesc.of(DataType[kind], (5,)), [np.ones(1, np.float32)]
    members = {"quantization_type": 1, "quantization_tensors": one, "output": (5,)}
    desc = described("DEQUANTIZE", input=source, **members)
    held = {"input_tensor": np.array([0x21, 0x43, 0xF5, 0], np.uint8), "quantization_tensors[0]": one[0].view(np.uint8)}
    run = Run(Case.of(desc, HIGHEST), {key: Binding(content, 0, 4) for key, content in held.items()})
    assert run.expected["output_tensor"].values.view(np.float32).tolist() == [1, 2, 3, 4, 5]
    assert_conforms(TORCH, run)


@pytest.mark.parametrize("backend", [TORCH, REFERENCE], ids=["torch", "reference"])
@pytest.mark.parametrize(
    ("kind", "x", "strides", "written"),
    [
        ("INT4", [1, -2, 3, -4, 5], None, "e1c3a5a5"),  # the half that an odd count leaves over is the memory's own
        ("UINT4", [1, -2, 3, -4, 5], None, "0103a5a5"),
        ("INT4", [1, 2, 3], (2,), "a1a2a3a5"),
        ("UINT4", [1, 2, 3], (2,), "a1a2a3a5"),
    ],
)
def test_results_go_to_their_halves_of_bytes(kind: str, x: Any, strides: Any, written: str, backend: Backend) -> None:
    run, held = quantized(kind, x, strides), np.full(4, 0xA5, np.uint8)
    backend.execute(run.desc, HIGHEST, run.bindings, {"output_tensor": Binding(held, 0, 4)})
    assert held.tobytes().hex() == written


def test_strides_of_elements_of_4_bits_count_elements() -> None:
    wide = TensorDesc.of(DataType.INT4, (2, 2), (3, 1))
    assert wide.total_tensor_size_in_bytes == 4
    held = np.array([0x98, 0xF7, 0xA1, 0xCC], np.uint8)
    assert nibbles.elements(held, wide).view(np.int8).tolist() == [[-8, -7], [-1, 1]]
    nibbles.put(held, wide, np.array([[1, 2], [3, 4]], np.uint8))
    assert held.tobytes().hex() == "2137a4cc"


@pytest.mark.parametrize(("kind", "ends"), [("INT4", [-8, -8, 7, 7, 7, 7, -8]), ("UINT4", [0, 0, 7, 8, 15, 15, 0])])
def test_results_of_4_bits_end_at_their_limits_and_are_told_from_poison(kind: str, ends: list[int]) -> None:
    run = quantized(kind, [-9, -8, 7, 8, 15, 1e30, -math.inf, math.nan])
    expected = run.expected["output_tensor"]
    assert expected.values.view(np.int8)[:7].tolist() == ends
    assert expected.free is not None
    assert expected.free.tolist() == [False] * 7 + [True]
    assert_conforms(TORCH, run)
    (slot,), memory, last = outputs(run.desc), CaseMemory(run.desc, Placement()), None
    for _ in range(20):
        now = memory.poison(slot, expected, last)
        assert not (now.elements == expected.values)[:7].any()
        assert last is None or not (now.elements == last.poison).any()
        last = now


# --- memory -----------------------------------------------------------------------------------------------------------

MOMENTS = ("input_parameters_tensor", "input_first_moment_tensor", "input_second_moment_tensor", "gradient_tensor")
UPDATED = ("output_parameters_tensor", "output_first_moment_tensor", "output_second_moment_tensor")
STEP = "training_step_tensor"


def adam(step: int = 3, kind: Any = np.float32, **given: Any) -> Run:
    """An optimizer of 24 weights, with random elements where none are given."""
    drawn = np.abs(np.random.default_rng(5).normal(0, 1, (4, 1, 2, 3, 4))) + 0.1
    members: dict[str, Any] = {"learning_rate": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 0.125}
    with np.errstate(over="ignore"):
        for key, own in zip(MOMENTS, drawn, strict=True):
            name = key.removesuffix("_tensor")
            members[name] = np.broadcast_to(given.pop(name, own), own.shape).astype(kind)
    return example("ADAM_OPTIMIZER", kind, training_step=np.full((1, 1, 1, 1), step, np.uint32), **members | given)


class OneByOne(ReferenceBackend):
    """Computes each output, in an order, from what the inputs' memory holds when its turn comes."""

    def __init__(self, *order: str) -> None:
        super().__init__()
        self.order = order

    def execute(self, desc: Any, level: Any, inputs: Any, outputs: Any) -> None:
        for key in self.order:
            bits(outputs[key], tensor(desc, key))[...] = expected_output(desc, inputs)[key].values


def verdict_in_place(backend: Any, key: str) -> Verdict:
    data = {each: Recipe("positive", seed) for seed, each in enumerate(MOMENTS)}
    data[STEP] = Recipe("explicit", values=(3,))
    data[key] = replace(data[key], in_place=True)
    return Judge(backend, "").judge(Case.of(adam().desc, HIGHEST, data, rule="EXECUTION.in-place")).verdict


@pytest.mark.parametrize(("order", "wrong"), [(UPDATED, {MOMENTS[3]}), (UPDATED[::-1], {MOMENTS[1], MOMENTS[2]})])
def test_an_output_in_the_place_of_an_input_is_what_it_is_elsewhere(order: tuple[str, ...], wrong: set[str]) -> None:
    """Each in that of its own, and OutputParametersTensor in that of the gradients too."""
    found = {key: output_in_place(adam().desc, key).key for key in MOMENTS}
    assert found == {**dict(zip(MOMENTS, UPDATED, strict=False)), MOMENTS[3]: UPDATED[0]}
    assert {key for key in MOMENTS if verdict_in_place(OneByOne(*order), key) is Verdict.FAIL} == wrong
    assert {verdict_in_place(REFERENCE, key) for key in MOMENTS} == {Verdict.PASS}
    assert verdict_in_place(REFERENCE, STEP) is Verdict.ERROR, "of which the page says so"


def test_step_0_is_a_nan_or_not_corrected() -> None:
    run = adam(0)
    x, m, v, g, _ = (array.astype(float) for array in run.arrays.values())
    found = x - 0.5 * (0.5 * m + 0.5 * g) / (np.sqrt(0.75 * v + 0.25 * g * g) + 0.125)
    low, high, nan = run.ends(UPDATED[0])
    assert nan.all()
    assert ((low <= found + 1e-7) & (found - 1e-7 <= high) & (high - low < 2e-6)).all()
    assert not run.ends(UPDATED[1])[2].any()
    assert not run.ends(UPDATED[2])[2].any()


def test_what_a_correction_by_little_loses_is_right_and_no_more() -> None:
    """Of 1 - 0.999, in the first step, a unit of 0.999 is 6e-5; from 2^16 steps on nothing is corrected."""
    for step, part in ((1, 2e-3), (2**16, 2e-6)):
        run = adam(step, beta2=float(np.float32(0.999)), beta1=0.0, epsilon=0.0)
        low, high, _ = run.ends(UPDATED[0])
        assert (high - low < part * np.abs(low - run.arrays[MOMENTS[0]]) + 1e-6).all()
        assert (high > low).all()


def test_float16_moments_may_be_rounded_before_they_are_used_and_those_below_0_have_no_root() -> None:
    run = adam(kind=np.float16)
    x, m, v, g, _ = (array.astype(float) for array in run.arrays.values())
    m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g * g
    alpha = math.sqrt(1 - 0.75**3) / (1 - 0.5**3)
    for used in ((m, v), (m.astype(np.float16).astype(float), v.astype(np.float16).astype(float))):
        assert run.holds(x - 0.5 * alpha * used[0] / (np.sqrt(used[1]) + 0.125), UPDATED[0]).all()
    low, high, nan = adam(input_second_moment=-9.0, gradient=1.0).ends(UPDATED[0])
    assert (nan & (low > high)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_torch_takes_special_steps_as_well(kind: Any) -> None:
    for number in (math.inf, -math.inf, math.nan, 3e38, 1e-45, 6e-8, -0.0, -1.0):
        for key in MOMENTS:
            for step, epsilon in ((1, 0.0), (2**32 - 1, 0.125), (0, 0.0)):
                assert_conforms(TORCH, adam(step, kind, epsilon=epsilon, **{key.removesuffix("_tensor"): number}))
    for beta1, beta2 in ((0.0, 0.0), (1.0, 0.5), (0.5, 1.0), (1.0, 1.0), (1 - 2.0**-24, 1 - 2.0**-24)):
        for step in (0, 1, 2**24 + 1, 2**32 - 1):
            assert_conforms(TORCH, adam(step, kind, beta1=beta1, beta2=beta2))


@pytest.mark.parametrize("beyond", [60, 61, 2**63, 2**64 - 1])
def test_an_index_beyond_the_output_leaves_all_of_it_open(beyond: int) -> None:
    """No page says what it does; but neither torch nor the reference may break, or write elsewhere in memory."""
    values = np.arange(1, 25, dtype=np.int16).reshape(1, 2, 3, 4)
    places = np.random.default_rng(7).permutation(60)[:24].astype(np.uint64).reshape(values.shape)
    places[0, 0, 0, 1] = beyond
    output = TensorDesc.of(DataType.INT16, (1, 2, 5, 6))
    run = example("MAX_UNPOOLING", input=values, indices=places, output=output)
    free = run.expected["output_tensor"].free
    assert free is not None
    assert free.all()
    for backend in (TORCH, REFERENCE):
        listed = {"input_tensor": values, "indices_tensor": places}
        data = {key: Recipe(EXPLICIT, values=tuple(array.reshape(-1).tolist())) for key, array in listed.items()}
        case = Case.of(run.desc, HIGHEST, data, rule="MAX_UNPOOLING.values")
        assert Judge(backend, "any").judge(case).verdict is Verdict.PASS
        assert np.count_nonzero(executed(backend, run)["output_tensor"]) == values.size - 1


def test_a_long_image_takes_torch_no_step_for_each_of_its_places() -> None:
    """One of 2^24 took more than the 60 s that a case has."""

    class Counted(TorchDispatchMode):
        steps = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.steps += 1
            return func(*args, **(kwargs or {}))

    images, regions = np.arange(8000.0).reshape(2, 1, 1, 4000), [[[[0, 1, 0, 3, 0], [1, 0, 0, 3999, 0]]]]
    size = Size2d(width=1, height=1)
    run = example(
        "ROI_POOLING", input=np.float32(images), roi=regions, output=(2, 1, 1, 1), spatial_scale=1.0, pooled_size=size
    )
    with Counted() as counted:
        assert_conforms(TORCH, run)
    assert 0 < counted.steps < 1000


@pytest.mark.parametrize("name", ["SCATTER", "SCATTER_ND"])
def test_no_index_of_updates_is_made_twice(name: str) -> None:
    """Where every index has memory of its own; of whatever pattern and sign they are, and they are not all alike."""
    patterns = set()
    for n, run in enumerate(boundary_runs(name, HIGHEST)):
        index = run.desc.indices_tensor
        if n % 3 == 0 and index.strides is None:
            found = run.arrays["indices_tensor"].astype(object)
            if name == "SCATTER":
                size = run.desc.input_tensor.sizes[run.desc.axis]
                rows = np.moveaxis(found % size, run.desc.axis, -1)
            else:
                first = len(index.sizes) - run.desc.input_dimension_count
                limits = np.array(run.desc.input_tensor.sizes[first:][: index.sizes[-1]], object)
                rows = np.array(
                    [[str(each) for each in (found % limits).reshape(-1, index.sizes[-1]).tolist()]], object
                )
            for row in rows.reshape(-1, rows.shape[-1]).tolist():
                assert len(set(row)) == len(row), run.desc
            patterns.add(run.case.data["indices_tensor"].pattern)  # type: ignore[index]
    assert patterns >= {"in-range", "boundary", "negative", "mixed-sign"}


# --- random numbers ---------------------------------------------------------------------------------------------------

# Counter, key and answer of philox4x32 with 10 rounds, from the file kat_vectors of Random123.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def made(state: list[int], count: int) -> tuple[list[int], list[int]]:
    """So many words, and the state after them."""
    given, output = np.array(state, np.uint32).reshape(1, 1, 1, 6), TensorDesc.of(DataType.UINT32, (1, 1, 1, count))
    after = TensorDesc.of(DataType.UINT32, (1, 1, 1, 6))
    run = example("RANDOM_GENERATOR", input_state=given, output=output, output_state=after, type=0)
    assert_conforms(TORCH, run)
    found, state = (run.expected[key].values.reshape(-1).tolist() for key in ("output_tensor", "output_state_tensor"))
    return found, state


def slow_philox(counter: int, key: list[int]) -> list[int]:
    """The four words of a counter, one round after the other as the paper draws them."""
    right0, left0, right1, left1 = (counter >> 32 * n & 0xFFFFFFFF for n in range(4))
    k0, k1 = key
    for _ in range(10):
        p, q = 0xD2511F53 * right0, 0xCD9E8D57 * right1
        right0, left0, right1, left1 = (q >> 32) ^ left0 ^ k0, q & 0xFFFFFFFF, (p >> 32) ^ left1 ^ k1, p & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [right0, left0, right1, left1]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_published_answers(counter: str, key: str, answer: str) -> None:
    assert made([*words(counter), *words(key)], 4)[0] == words(answer)
    assert slow_philox(sum(word << 32 * n for n, word in enumerate(words(counter))), words(key)) == words(answer)


def test_random_elements_are_the_words_of_one_counter_after_the_other() -> None:
    carried = 0
    for run in small_runs("RANDOM_GENERATOR", 90):
        state = run.arrays["input_state_tensor"].reshape(-1).tolist()
        counter, count = sum(word << 32 * n for n, word in enumerate(state[:4])), run.desc.output_tensor.element_count
        groups = (count + 3) // 4
        every = [word for n in range(groups) for word in slow_philox((counter + n) % 2**128, state[4:])]
        assert run.expected["output_tensor"].values.reshape(-1).tolist() == every[:count]
        if run.desc.output_state_tensor is not None:
            after = (counter + groups) % 2**128
            wanted = [*(after >> 32 * n & 0xFFFFFFFF for n in range(4)), *state[4:]]
            assert run.expected["output_state_tensor"].values.reshape(-1).tolist() == wanted
            carried += after >> 32 != counter >> 32
    assert carried > 10


def test_many_random_elements_are_those_of_a_few() -> None:
    state, count = [0xFFFFFFFE, 0xFFFFFFFF, 5, 6, 7, 8], 1_050_001
    first, after = made(state, count)
    counter = sum(word << 32 * n for n, word in enumerate(state[:4])) + count // 4
    assert first[-1] == slow_philox(counter, state[4:])[0]
    assert made(after, 4)[0] == slow_philox(counter + 1, state[4:])


# --- every number of a type -------------------------------------------------------------------------------------------


def test_an_infinity_is_of_one_sign() -> None:
    every, output = np.arange(2**16, dtype=np.uint16).view(np.float16), TensorDesc.of(DataType.UINT8, (2**16,))
    found = []
    for mode in enumeration("DML_IS_INFINITY_MODE"):
        run = example("ELEMENT_WISE_IS_INFINITY", input=every, output=output, infinity_mode=int(mode))
        found.append(np.flatnonzero(run.expected["output_tensor"].values).tolist())
    assert found == [[0x7C00, 0xFC00], [0x7C00], [0xFC00]]


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("mode", "rounded"),
    [
        (0, (-2, -2, -2, -0.0, 0, 0, 2, 2, 4)),
        (1, (-2, -1, -1, -0.0, 0, 0, 1, 2, 3)),
        (2, (-3, -2, -2, -1, 0, 1, 2, 3, 4)),
    ],
)
def test_modes_of_rounding(kind: Any, mode: int, rounded: tuple[float, ...]) -> None:
    x = np.array([-2.5, -1.75, -1.5, -0.5, 0.25, 0.5, 1.5, 2.5, 3.5], kind)
    modes = [int(each) for each in enumeration("DML_ROUNDING_MODE")]
    run = example("ELEMENT_WISE_ROUND", input=x, rounding_mode=modes[mode])
    assert run.expected["output_tensor"].values.view(kind).tolist() == list(rounded)
    largest = np.array([np.nextafter(kind(0.5), kind(0)), 2.0 ** np.finfo(kind).nmant - 0.5], kind)
    whole = example("ELEMENT_WISE_ROUND", input=largest, rounding_mode=modes[mode]).expected["output_tensor"].values
    assert whole.view(kind).tolist() == [0, 2.0 ** np.finfo(kind).nmant - (mode == 1)]


@pytest.mark.parametrize("fused", [None, ("RELU", {}), ("SHRINK", {"bias": 0.5, "threshold": 1.0})])
def test_elements_that_share_memory_have_the_results_of_those_that_do_not(fused: Any) -> None:
    """They are computed once for each place."""
    from dml_conformance.strategies.builders._fused import activation

    a, b = np.linspace(-3, 2, 6, dtype=np.float32), np.linspace(1, -4, 6, dtype=np.float32)
    chosen = fused and activation(f"ACTIVATION_{fused[0]}", **fused[1])
    once, each = (
        expected_output(
            desc,
            {
                key: Binding(np.tile(of, repeats).view(np.uint8), 0, 24 * repeats)
                for key, of in (("a_tensor", a), ("b_tensor", b))
            },
        )["output_tensor"]
        for strides, repeats in (((0, 1), 1), (None, 4))
        for source in [TensorDesc.of(DataType.FLOAT32, (4, 6), strides)]
        for desc in [described("ELEMENT_WISE_ADD1", a=source, b=source, output=(4, 6), fused_activation=chosen)]
    )
    assert once.within is not None
    assert each.within is not None
    for one, other in (
        (once.values, each.values),
        (once.within.low, each.within.low),
        (once.within.high, each.within.high),
    ):
        assert (one == other).all()


# --- what is lost of subnormal numbers --------------------------------------------------------------------------------


def test_a_gradient_may_lose_a_subnormal_term_before_it_is_multiplied() -> None:
    """As the chain rule has it, the input is the last factor, and what is lost of the others grows by it."""
    x, g = (np.array([number], np.float32).reshape(1, 1, 1, 1) for number in (-861059.6, -1e-45))
    of = {"cross_channel": True, "local_size": 1, "alpha": 1.0, "beta": -0.5, "bias": 1.0}
    run = example("LOCAL_RESPONSE_NORMALIZATION_GRAD", input=x, input_gradient=g, output_gradient=(1, 1, 1, 1), **of)
    assert_conforms(TORCH, run, TOLERANCES.values())


def test_a_square_that_overflows_may_have_a_subnormal_reciprocal() -> None:
    run = example("ELEMENT_WISE_CONSTANT_POW", input=[-2.757e19, 1.8e19, 3e38, 1e-20, 1e-39], exponent=-2.0)
    assert_conforms(TORCH, run, TOLERANCES.values())
