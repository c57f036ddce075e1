"""Multi-head attention, one query after another in plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx_node
import pytest
from family_cases import Run, assert_conforms, numbers, small_runs, with_values

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operators.attention import HOLDS, MASK_TYPE, SPECS, STACKED, Parts, parts
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide

ATTENTION, GROUPED = SPECS
OPERATORS = [spec.name for spec in SPECS]
KINDS = {DataType.FLOAT32: np.float32, DataType.FLOAT16: np.float16, DataType.INT32: np.int32}
NEITHER = ("mask_tensor", "past_key_tensor")


def element(run: Run, key: str, *place: int) -> float:
    """Of a tensor that may have leading ones; 0 of one that is not there."""
    if getattr(run.desc, key) is None:
        return 0.0
    memory = run.memory(key)
    whole = (0,) * (len(memory.tensor.sizes) - len(place)) + place
    return float(np.frombuffer(memory.element(whole), KINDS[memory.tensor.data_type])[0])


def held(run: Run, of: str, b: int, h: int, i: int, d: int) -> float:
    """An element of a head of query, key or value, with its bias; those from before come first."""
    sizes = parts(run.desc)
    assert isinstance(sizes, Parts)
    if of != "q" and i < sizes.past:
        return element(run, "past_key_tensor" if of == "k" else "past_value_tensor", b, h, i, d)
    i -= sizes.past if of != "q" else 0
    name = next(
        name for name, all_ in HOLDS.items() if of in all_ and getattr(run.desc, attribute_of(name)) is not None
    )
    size = dict(zip("qkv", sizes[:3], strict=True))[of].size
    stacked = (b, i, h, HOLDS[name].index(of), d)
    found = element(run, attribute_of(name), *(stacked if name in STACKED else (b, i, h * size + d)))
    before = sum(part.hidden for part in sizes[: "qkv".index(of)])
    return found + element(run, "bias_tensor", before + h * size + d)


def largest(run: Run, of: str) -> float:
    """How far from 0 an element of query, key or value is."""
    sizes = parts(run.desc)
    assert isinstance(sizes, Parts)
    part = dict(zip("qkv", sizes[:3], strict=True))[of]
    every = np.ndindex(part.batch, part.heads, part.length if of == "q" else sizes.keys, part.size)
    return max(abs(held(run, of, *place)) for place in every)


def is_masked(run: Run, b: int, h: int, i: int, j: int) -> bool:
    if run.desc.mask_tensor is None:
        return False
    if run.desc.mask_type == MASK_TYPE.BOOLEAN:
        return element(run, "mask_tensor", b, h, i, j) == 0
    is_behind = j >= element(run, "mask_tensor", 0, b)
    return is_behind or (
        run.desc.mask_type == MASK_TYPE.KEY_SEQUENCE_END_START and j < element(run, "mask_tensor", 1, b)
    )


def attended(run: Run, b: int, h: int, i: int) -> list[float]:
    """What one query attends to, where MaskFilterValue is added."""
    desc, sizes = run.desc, parts(run.desc)
    scores, shared = [], h // (sizes.query.heads // sizes.key.heads)
    for j in range(sizes.keys):
        products = [held(run, "q", b, h, i, d) * held(run, "k", b, shared, j, d) for d in range(sizes.query.size)]
        score = math.fsum(products) * desc.scale + element(run, "relative_position_bias_tensor", b, h, i, j)
        scores.append(score + (desc.mask_filter_value if is_masked(run, b, h, i, j) else 0.0))
    weights = [math.exp(score - max(scores)) for score in scores]
    return [
        math.fsum(weight * held(run, "v", b, shared, j, d) for j, weight in enumerate(weights)) / math.fsum(weights)
        for d in range(sizes.value.size)
    ]


def plain_runs(name: str, count: int) -> list[Run]:
    """Those of finite numbers and of masks that mean something."""
    open_type = MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END
    return [
        run
        for run in small_runs(name, count)
        if "special" not in {recipe.pattern for recipe in (run.case.data or {}).values()}
        and (run.desc.mask_tensor is None or run.desc.mask_type != open_type)
    ]


def ends(run: Run, key: str) -> tuple[Any, Any]:
    within, kind = run.expected[key].within, run.desc.output_tensor.data_type
    assert within is not None
    low, high = (numbers(end, kind).astype(float) for end in (within.low, within.high))
    return (low.reshape(low.shape[-3:]), high.reshape(high.shape[-3:])) if key == "output_tensor" else (low, high)


@pytest.mark.parametrize("name", OPERATORS)
def test_outputs_lie_around_the_formula(name: str) -> None:
    """Scores are off by few of their units, and weights by as much as that is of 1; rounded to FLOAT16 by far more."""
    seen = plain = 0
    for run in plain_runs(name, 160):
        desc, sizes = run.desc, parts(run.desc)
        assert isinstance(sizes, Parts)
        low, high = ends(run, "output_tensor")
        for b, h, i in np.ndindex(*sizes.scores[:3]):
            for d, value in enumerate(attended(run, b, h, i)):
                place = (b, i, h * sizes.value.size + d)
                unit = float(np.spacing(KINDS[desc.output_tensor.data_type](abs(value)))) + 2.0**-120
                assert low[place] - unit <= value <= high[place] + unit, (desc, place)
                seen += 1
        if desc.mask_tensor is None and desc.output_tensor.data_type is DataType.FLOAT32:
            q, k, v = (largest(run, of) for of in "qkv")
            score = sizes.query.size * q * k * abs(desc.scale)
            assert (high - low).max() <= 2.0**-15 * (1 + score) * v, desc
            plain += 1
    assert seen > 1000
    assert plain > 9


@pytest.mark.parametrize("name", OPERATORS)
def test_present_ones_are_those_from_before_and_the_new_ones(name: str) -> None:
    seen = 0
    for run in plain_runs(name, 160):
        for key, of in (("output_present_key_tensor", "k"), ("output_present_value_tensor", "v")):
            if getattr(run.desc, key) is None or run.desc.bias_tensor is not None:
                continue
            low, high = ends(run, key)
            for b, h, j, d in np.ndindex(*low.shape[-4:]):
                value = held(run, of, b, h, j, d)
                place = (*(0,) * (low.ndim - 4), b, h, j, d)
                assert value in (low[place], high[place])
                seen += 1
    assert seen > 200


def of(kind: Any = np.float32, **given: Any) -> Run:
    """One head of one element and one query, 1, which has the keys as scores; values are 1, 2, ..."""
    keys = np.asarray(given.pop("keys", (0.0, 0.0)), kind)
    arrays = {
        "query_tensor": np.ones((1, 1, 1), kind),
        "key_tensor": keys.reshape(1, -1, 1),
        "value_tensor": np.arange(1, keys.size + 1).reshape(1, -1, 1).astype(kind),
        **{key: given.pop(key) for key in list(given) if isinstance(given[key], np.ndarray)},
    }
    tensors: dict[str, Any] = {field.attribute: None for field in ATTENTION.fields if field.is_tensor}
    tensors |= {key: TensorDesc.of(DataType[array.dtype.name.upper()], array.shape) for key, array in arrays.items()}
    tensors["output_tensor"] = TensorDesc.of(DataType[np.dtype(kind).name.upper()], (1, 1, 1))
    members = {"scale": 1.0, "mask_filter_value": -10000.0, "head_count": 1, "mask_type": MASK_TYPE.NONE}
    return with_values(ATTENTION.desc(**tensors | members | given), HIGHEST, **arrays)


def right(run: Run, value: float, key: str = "output_tensor", place: int = 0) -> bool:
    expected, data_type = run.expected[key], run.desc.output_tensor.data_type
    assert expected.within is not None
    bits = np.full(expected.values.shape, value, KINDS[data_type]).view(f"u{data_type.size}")
    return bool(expected.within.holds(bits, data_type).reshape(-1)[place])


@pytest.mark.parametrize(
    ("kind", "mask", "value"),
    [
        ("KEY_SEQUENCE_LENGTH", [[2]], 1.5),
        ("KEY_SEQUENCE_END_START", [[3], [1]], 2.5),
        ("KEY_SEQUENCE_END_START", [[2], [3]], 2.5),  # of nothing but what is masked the mean is that of all
        ("BOOLEAN", [[[[0, 1, 0, 1]]]], 3.0),
    ],
)
def test_what_is_masked_counts_for_nothing(kind: str, mask: Any, value: float) -> None:
    run = of(keys=(0, 0, 0, 0), mask_tensor=np.array(mask, np.int32), mask_type=MASK_TYPE[kind])
    assert right(run, value)
    assert not right(run, value + 0.5)
    assert_conforms(TorchBackend("cpu"), run)


def test_the_filter_is_added_or_set() -> None:
    """Of scores 1 and 3, of which the second is masked with -1: weights of 1 and 2, or of 1 and -1."""
    mask = np.array([1, 0], np.int32).reshape(1, 1, 1, 2)
    run = of(keys=(1, 3), mask_tensor=mask, mask_type=MASK_TYPE.BOOLEAN, mask_filter_value=-1.0)
    added, replaced = (1 + 1 / (1 + math.exp(-other)) for other in (1, -2))
    assert right(run, added)
    assert right(run, replaced)
    assert not right(run, added + 0.01)
    assert not right(run, replaced - 0.01)


@pytest.mark.parametrize("other", [2, -1])
def test_masks_that_mean_nothing_are_open(other: int) -> None:
    mask = np.array([1, other], np.int32).reshape(1, 1, 1, 2)
    assert right(of(mask_tensor=mask, mask_type=MASK_TYPE.BOOLEAN), math.nan)
    assert not right(of(mask_tensor=abs(mask) // 2 + 0 * mask, mask_type=MASK_TYPE.BOOLEAN), math.nan)
    starts = np.array([[1, 0, 1, 0, 2]], np.int32)
    assert right(of(mask_tensor=starts, mask_type=MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END), math.nan)


def test_present_keys_have_the_bias_or_not() -> None:
    present = TensorDesc.of(DataType.FLOAT32, (1, 1, 2, 1))
    run = of(keys=(1, 2), bias_tensor=np.array([0, 4, 0], np.float32), output_present_key_tensor=present)
    for value in (1.0, 5.0):
        assert right(run, value, "output_present_key_tensor")
    assert not right(run, 6.0, "output_present_key_tensor")


def test_weights_of_float16_are_rounded_or_not() -> None:
    """Of equal scores of three keys each weighs a third, which FLOAT16 has with an error of 2^-13 of it."""
    values = np.array([1024, 0, 0], np.float16).reshape(1, 3, 1)
    run = of(np.float16, keys=(0, 0, 0), value_tensor=values)
    for value in (341.25, 341.5):
        assert right(run, value)
    assert not right(run, 342.0)


def test_a_query_that_sees_nothing_has_no_mean() -> None:
    nothing = np.full((1, 1, 1, 2), -np.inf, np.float32)
    run = of(relative_position_bias_tensor=nothing)
    assert right(run, math.nan)
    assert right(run, 0.0)
    assert not right(run, 1.5)


def test_query_key_and_value_are_given_once() -> None:
    desc = of().desc
    stacked = TensorDesc.of(DataType.FLOAT32, (1, 2, 1, 2, 1))
    assert decide(desc, HIGHEST).rules == ()
    for changes, rules in (
        ({"query_tensor": None}, ["query-alone"]),
        ({"stacked_key_value_tensor": stacked}, ["key-alone", "value-alone"]),
        ({"key_tensor": None, "stacked_key_value_tensor": stacked}, ["value-alone"]),
        ({"key_tensor": None, "value_tensor": None, "stacked_key_value_tensor": stacked}, []),
    ):
        fields = {field.attribute: getattr(desc, field.attribute) for field in ATTENTION.fields}
        found = decide(ATTENTION.desc(**fields | changes), HIGHEST).rules
        assert list(found) == [f"MULTIHEAD_ATTENTION.{rule}" for rule in rules]


def test_onnxruntime_agrees() -> None:
    """Its MultiHeadAttention has neither masks of heads nor starts, nor past values of another size; it stacks
    nothing on this processor, and looks at the past only where it is asked for what is present."""
    seen = with_past = 0
    for run in plain_runs("MULTIHEAD_ATTENTION", 400):
        desc, sizes = run.desc, parts(run.desc)
        assert isinstance(sizes, Parts)
        is_length = desc.mask_type == MASK_TYPE.KEY_SEQUENCE_LENGTH
        if desc.output_tensor.data_type is not DataType.FLOAT32 or (desc.mask_tensor is not None and not is_length):
            continue
        if sizes.past and sizes.value.size != sizes.key.size:
            continue
        given = onnx_node.elements(run)
        query, key, value = (
            [
                [[held(run, of, b, h, i, d) for h in range(part.heads) for d in range(part.size)] for i in where]
                for b in range(part.batch)
            ]
            for of, part, where in (
                ("q", sizes.query, range(sizes.query.length)),
                ("k", sizes.key, range(sizes.past, sizes.keys)),
                ("v", sizes.value, range(sizes.past, sizes.keys)),
            )
        )
        arrays = {
            "query": np.float32(query),
            "key": np.float32(key),
            "value": np.float32(value),
            "bias": None,
            "key_padding_mask": given["mask_tensor"].reshape(-1) if "mask_tensor" in given else None,
            "attention_bias": given.get("relative_position_bias_tensor"),
            "past_key": given.get("past_key_tensor"),
            "past_value": given.get("past_value_tensor"),
        }
        for name in ("attention_bias", "past_key", "past_value"):
            if arrays[name] is not None:
                arrays[name] = arrays[name].reshape(arrays[name].shape[-4:])
        found, *present = onnx_node.computed(
            "MultiHeadAttention",
            arrays,
            outputs=(np.float32,) * (3 if sizes.past else 1),
            domain="com.microsoft",
            num_heads=desc.head_count,
            scale=desc.scale,
            mask_filter_value=desc.mask_filter_value,
        )
        low, high = ends(run, "output_tensor")
        assert ((low <= found) & (found <= high)).all(), run.desc
        for key, now in zip(("output_present_key_tensor", "output_present_value_tensor"), present, strict=False):
            if getattr(desc, key) is not None:
                low, high = ends(run, key)
                assert ((low <= now) & (now <= high)).all(), run.desc
                with_past += 1
        seen += 1
    assert seen > 30
    assert with_past > 5


def grouped(heads: int, key_heads: int, **given: Any) -> Any:
    """A descriptor of one query and two keys, of heads of one element."""
    tensors = dict.fromkeys(field.attribute for field in GROUPED.tensor_fields) | {
        "query_tensor": TensorDesc.of(DataType.FLOAT32, (1, 1, heads)),
        "key_tensor": TensorDesc.of(DataType.FLOAT32, (1, 2, key_heads)),
        "value_tensor": TensorDesc.of(DataType.FLOAT32, (1, 2, key_heads)),
        "output_tensor": TensorDesc.of(DataType.FLOAT32, (1, 1, heads)),
    }
    members = {"scale": 1.0, "mask_filter_value": 0.0, "mask_type": MASK_TYPE.NONE}
    return GROUPED.desc(**tensors | members | {"query_head_count": heads, "key_value_head_count": key_heads} | given)


def test_heads_of_queries_share_those_of_keys_in_runs() -> None:
    """Two heads of values, 1 and 2, and each of them for three heads of queries."""
    run = with_values(
        grouped(6, 2),
        HIGHEST,
        query_tensor=np.ones((1, 1, 6), np.float32),
        key_tensor=np.zeros((1, 2, 2), np.float32),
        value_tensor=np.array([[[1, 2], [1, 2]]], np.float32),
    )
    assert [right(run, 1.0, place=h) for h in range(6)] == [True] * 3 + [False] * 3
    assert [right(run, 2.0, place=h) for h in range(6)] == [False] * 3 + [True] * 3
    assert_conforms(TorchBackend("cpu"), run)


@pytest.mark.parametrize(
    ("desc", "outcome", "rules"),
    [
        (grouped(6, 2), Outcome.ACCEPT, []),
        (grouped(3, 2), Outcome.UNSPECIFIED, ["key-value-head-count-divides"]),
        (grouped(1, 2), Outcome.UNSPECIFIED, ["key-value-head-count-divides"]),
        (grouped(6, 0), Outcome.REJECT, ["key-value-head-count-range"]),
        (
            grouped(2, 2, past_sequence_lengths_tensor=TensorDesc.of(DataType.INT32, (1,))),
            Outcome.UNSPECIFIED,
            ["past-lengths"],
        ),
        (
            # As onnxruntime's provider has it, whose present keys are as long as they may become.
            grouped(
                6,
                2,
                past_sequence_lengths_tensor=TensorDesc.of(DataType.INT32, (1,)),
                output_present_key_tensor=TensorDesc.of(DataType.FLOAT32, (1, 2, 64, 1)),
                output_present_value_tensor=TensorDesc.of(DataType.FLOAT32, (1, 2, 64, 1)),
            ),
            Outcome.UNSPECIFIED,
            ["past-lengths"],
        ),
    ],
)
def test_what_counts_and_lengths_go_together(desc: Any, outcome: Outcome, rules: list[str]) -> None:
    decision = decide(desc, HIGHEST)
    assert decision.outcome is outcome
    assert [rule.partition(".")[2] for rule in decision.rules if "TENSOR" not in rule] == rules


@pytest.mark.parametrize(("heads", "key_heads"), [(6, 2), (4, 1), (3, 3)])
@pytest.mark.parametrize(("past", "queries"), [(0, 5), (0, 1), (7, 1)])
def test_onnxruntime_agrees_on_groups(heads: int, key_heads: int, past: int, queries: int) -> None:
    """Its GroupQueryAttention masks what comes after each query, so the last one sees all keys."""
    generator, batch, size = np.random.default_rng(heads + past), 2, 8
    keys = past + queries
    shapes = {
        "query_tensor": (batch, queries, heads * size),
        "key_tensor": (batch, queries, key_heads * size),
        "value_tensor": (batch, queries, key_heads * size),
        "past_key_tensor": (batch, key_heads, past, size) if past else None,
        "past_value_tensor": (batch, key_heads, past, size) if past else None,
    }
    arrays = {
        key: generator.normal(size=of).astype(np.float32) if of is not None else None for key, of in shapes.items()
    }
    results = {
        "output_tensor": shapes["query_tensor"],
        "output_present_key_tensor": (batch, key_heads, keys, size),
        "output_present_value_tensor": (batch, key_heads, keys, size),
    }
    tensors = {key: TensorDesc.of(DataType.FLOAT32, of) for key, of in (shapes | results).items() if of is not None}
    given = {key: array for key, array in arrays.items() if array is not None}
    run = with_values(grouped(heads, key_heads, scale=0.5, **tensors), HIGHEST, **given)
    assert decide(run.desc, HIGHEST).outcome is Outcome.ACCEPT
    output, *present = onnx_node.computed(
        "GroupQueryAttention",
        arrays | {"seqlens_k": np.full(batch, keys - 1, np.int32), "total_sequence_length": np.array(keys, np.int32)},
        outputs=(np.float32,) * 3,
        domain="com.microsoft",
        num_heads=heads,
        kv_num_heads=key_heads,
        scale=0.5,
    )
    for key, found in zip(results, (output, *present), strict=True):
        low, high = ends(run, key)
        within = (low <= found) & (found <= high)
        assert within[:, -1].all() if key == "output_tensor" else within.all()
