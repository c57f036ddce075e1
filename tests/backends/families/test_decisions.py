"""What descriptors of all families are accepted, and by which rules others are not; torch decides the same."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from family_cases import described

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.forms import desc_from_json, desc_to_json
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operators.attention import MASK_TYPE
from dml_conformance.spec.operators.quantize import NONE
from dml_conformance.spec.operators.reduce import FUNCTION
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders._fused import activation

TORCH = TorchBackend("cpu")
F32, F16 = np.float32, np.float16


def of(kind: Any, *sizes: int) -> Any:
    """A tensor of a type that is not the others'."""
    return described("ACTIVATION_RELU", kind, input=sizes).input_tensor


class Decision(NamedTuple):
    """The rules that a descriptor breaks below a level, and at and above which it breaks none.

    Attributes:
        operator: its name.
        given: the members, as `described` takes them.
        rules: without the operator's name.
        since: None where they are broken at every level that has the operator; the first level where none are broken.
    """

    operator: str
    given: dict[str, Any]
    rules: tuple[str, ...] = ()
    since: Level | None = None


IMAGE, FULL = (1, 3, 2, 4), (2, 3, 2, 4)
CHANNELS = (1, 3, 1, 1)
BATCH = {"input": FULL, "scale": CHANNELS, "bias": CHANNELS, "spatial": False, "epsilon": 0.5}
NORMALIZED = {"input": IMAGE, "axes": (2, 3), "normalize_variance": True, "epsilon": 0.5}
SLICED = {"input": (5,), "output": (2,), "input_window_offsets": (0,), "input_window_sizes": (5,)}
SLICED |= {"input_window_strides": (2,)}
REDUCED = {"input": of(np.int32, 1, 1, 1, 2), "output": of(np.int32, 1, 1, 1, 1), "axes": (3,)}
ONE = of(np.int16, 1)
BLOCKS = {"quantization_type": 2, "output": of(np.int8, 4), "quantization_tensors": [of(F32, 2), of(np.int8, 2)]}
ADDED = {key: of(np.uint8, 2, 3) for key in ("a", "b", "output")}
ADDED |= {f"{key}_scale": (1, 1) for key in ("a", "b", "output")}
ADDED |= {f"{key}_zero_point": of(np.uint8, 1, 1) for key in ("a", "b", "output")}
DYNAMIC = {"input": (2, 3), "output": of(np.int8, 2, 3), "output_scale": (1, 1), "output_zero_point": of(np.int8, 1, 1)}
QUERY = {"query": (1, 1, 1), "key": (1, 2, 1), "value": (1, 2, 1), "output": (1, 1, 1), "scale": 1.0}
QUERY |= {"mask_filter_value": 0.0, "head_count": 1, "mask_type": MASK_TYPE.NONE}
UNIT = {"input": (1, 2, 1, 1), "weight": (1, 1, 1, 1), "recurrence": (1, 1, 1, 1), "direction": 0}
UNIT |= {"activation_descs": (activation("ACTIVATION_TANH"),)}
STACKED = {"key": None, "value": None, "stacked_key_value": (1, 2, 1, 2, 1)}


def fused(name: str, rule: str = "", since: Level | None = None, **members: Any) -> Decision:
    given = {"a": (1, 2, 3, 4), "b": (1, 2, 3, 4), "fused_activation": activation(name, **members)}
    return Decision("ELEMENT_WISE_ADD1", given, (rule,) if rule else (), since)


def joined(sizes: list[Any], axis: int, whole: Any, *rules: str) -> list[Decision]:
    """Of JOIN, and of SPLIT, which has no rule for inputs that differ."""
    parts = [of(np.uint16, *part) for part in sizes]
    split = tuple("output-sizes" if rule == "input-sizes" else rule for rule in rules)
    return [
        Decision("JOIN", {"input_tensors": parts, "output": of(np.uint16, *whole), "axis": axis}, rules),
        Decision("SPLIT", {"input": of(np.uint16, *whole), "output_tensors": parts, "axis": axis}, split),
    ]


DECISIONS = [
    *(
        Decision("ACTIVATION_SOFTPLUS", {"input": (1, 1, 1, 3), "steepness": x}, ("steepness-range",), Level.L6_4)
        for x in (0.5, -1.0)
    ),
    Decision("ACTIVATION_SOFTPLUS", {"input": (3,), "steepness": 1.0}),
    *(
        Decision(f"ACTIVATION_{name}1", {"input": (2, 3), "axes": (axis,)}, () if axis == 1 else ("axes-range",))
        for name in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX")
        for axis in (1, 2, 2**32 - 1)
    ),
    *(
        Decision(f"ACTIVATION_{name}", {"input": sizes}, rules)
        for name in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX")
        for sizes, rules in (((1, 1, 2, 3), ()), ((2, 1, 3), ("effective-rank",)))
    ),
    fused("ACTIVATION_RELU"),
    fused("ACTIVATION_SHRINK", bias=0.0, threshold=0.5),
    fused("ACTIVATION_CELU", "fused-activation", Level.L3_0, alpha=1.0),
    *(fused(f"ACTIVATION_{name}", "fused-activation") for name in ("GELU", "PARAMETERIZED_RELU", "SOFTMAX")),
    fused("ACTIVATION_SWISH", "fused-activation", sigmoid_input_scale=1.0),
    fused("ACTIVATION_HARD_SWISH", "fused-activation", alpha=1.0, beta=1.0),
    fused("ELEMENT_WISE_IDENTITY", "fused-activation"),
    fused("ACTIVATION_RELU", "fused-activation", input_tensor=of(F32, 1)),
    fused("ACTIVATION_RELU", "fused-activation", output_tensor=of(F32, 1)),
    *(fused("ACTIVATION_SOFTPLUS", "fused-steepness", Level.L6_4, steepness=x) for x in (0.5, math.nan)),
    fused("ACTIVATION_SOFTPLUS", steepness=1.0),
    *(
        Decision(
            "GEMM",
            {
                "a": sizes,
                "b": sizes,
                "output": sizes,
                "trans_a": 0,
                "trans_b": 0,
                "alpha": 1.0,
                "beta": 0.0,
                "fused_activation": activation(f"ACTIVATION_{name}", **members),
            },
            ("fused-activation",),
            since,
        )
        for name, members, sizes, since in (
            ("SOFTMAX", {}, (2, 3, 3), None),
            ("SOFTMAX", {}, (1, 3, 3), Level.L6_1),
            ("SOFTMAX1", {"axes": (2,)}, (2, 3, 3), Level.L6_1),
            ("SOFTMAX1", {"axes": (2,)}, (1, 3, 3), Level.L6_1),
            ("SOFTMAX1", {"axes": (3,)}, (2, 3, 3), None),
        )
    ),
    Decision(
        "ELEMENT_WISE_CLIP1",
        {"input": of(np.int8, 2), "min_max_data_type": int(DataType.INT16), "min": 0, "max": 1},
        ("min-max-data-type",),
    ),
    Decision(
        "ELEMENT_WISE_CLIP_GRAD1",
        {
            "input": of(np.int8, 2),
            "input_gradient": of(np.int8, 2),
            "min_max_data_type": int(DataType.INT16),
            "min": 0,
            "max": 1,
        },
        ("min-max-data-type",),
    ),
    Decision(
        "ELEMENT_WISE_POW",
        {"input": (1, 1, 1, 2), "exponent": of(F16, 1, 1, 1, 2)},
        ("exponent-data-type",),
        Level.L3_0,
    ),
    Decision("ELEMENT_WISE_LOGICAL_EQUALS", {"a": (2, 3), "b": (2, 3), "output": of(np.uint8, 2, 3)}),
    Decision("CAST", {"input": of(np.float64, 2, 3), "output": of(np.uint8, 2, 3)}),
    *(
        Decision("DIAGONAL_MATRIX", {"output": sizes, "offset": 0, "value": 1.0})
        for sizes in ((1, 1), (7, 2), (2, 3, 4, 5))
    ),
    *(
        Decision(
            f"ELEMENT_WISE_{name}_LINEAR",
            {"input": given, "scale": (1, 1, 1, 2), "output": output},
            ("zero-point",),
            Level.L6_2,
        )
        for name, given, output in (
            ("QUANTIZE", (1, 1, 1, 2), of(np.uint8, 1, 1, 1, 2)),
            ("DEQUANTIZE", of(np.uint8, 1, 1, 1, 2), (1, 1, 1, 2)),
        )
    ),
    *(
        Decision(
            "ELEMENT_WISE_QUANTIZE_LINEAR",
            {"input": of(kind, 2), "scale": of(scale, 2), "zero_point": of(np.int8, 2), "output": of(np.int8, 2)},
            rules,
        )
        for kind, scale, rules in (
            (F32, F32, ()),
            (F16, F16, ()),
            (np.int32, F32, ()),
            (F32, F16, ("scale-data-type",)),
            (F16, F32, ("scale-data-type",)),
            (np.int32, F16, ("scale-data-type",)),
        )
    ),
    *(
        Decision(
            name,
            {
                "input": of(F16 if name == "QUANTIZE" else np.uint8, 4, 6),
                "quantization_type": 2,
                "output": of(np.uint8 if name == "QUANTIZE" else F16, 4, 6),
                "quantization_tensors": [of(F16, *counts), of(np.uint8, *counts)],
            },
            rules,
        )
        for name in ("QUANTIZE", "DEQUANTIZE")
        for counts, rules in (((1, 1), ()), ((4, 6), ()), ((2, 3), ()), ((3, 1), ("blocks",)), ((8, 1), ("blocks",)))
    ),
    Decision("QUANTIZE", {"input": (4,), **BLOCKS, "quantization_type": NONE}, ("quantization-type",)),
    Decision(
        "QUANTIZE",
        {"input": (4,), **BLOCKS, "quantization_tensors": [of(F32, 2), of(np.uint8, 2)]},
        ("quantization-data-types",),
    ),
    Decision(
        "QUANTIZE",
        {"input": (4,), **BLOCKS, "quantization_tensors": [of(F32, 2), of(np.int8, 1)]},
        ("zero-point-sizes",),
    ),
    Decision("QUANTIZE", {"input": (4,), **BLOCKS, "quantization_tensors": [of(F32, 2)]}, ("quantization-count",)),
    Decision("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", ADDED),
    *(
        Decision("DYNAMIC_QUANTIZE_LINEAR", DYNAMIC | changes, rules)
        for changes, rules in (
            ({}, ()),
            ({"output_scale": (1, 2)}, ("output-sizes",)),
            ({"output_zero_point": of(np.int8, 2, 3)}, ("output-sizes",)),
        )
    ),
    *joined([(2, 3), (2, 4)], 1, (2, 7)),
    *joined([(2, 3), (2, 4)], 0, (4, 3), "input-sizes"),
    *joined([(2, 3), (2, 4)], 2, (2, 7), "axis-range"),
    *joined([(2, 3), (2, 4)], 1, (2, 8), "output-sizes"),
    *joined([(2, 3), (2, 4)], 1, (1, 7), "output-sizes"),
    *joined([(1, 2**31), (1, 2**31)], 1, (1, 1), "output-sizes"),
    Decision("JOIN", {"input_tensors": [], "output": ONE, "axis": 0}, ("required-tensors",)),
    Decision("SPLIT", {"input": ONE, "output_tensors": [], "axis": 0}, ("required-tensors",)),
    *(
        Decision("SLICE1", SLICED | changes, rules)
        for changes, rules in (
            ({}, ()),
            ({"input_window_offsets": (1,)}, ("window-range",)),
            ({"input_window_offsets": (2**32 - 1,)}, ("window-range",)),
            ({"input_window_sizes": (4,)}, ()),
            ({"input_window_sizes": (2,)}, ("output-sizes",)),
            ({"input_window_sizes": (0,)}, ("window-sizes",)),
            ({"input_window_strides": (0,)}, ("strides",)),
            ({"input_window_strides": (-2,)}, ()),
            ({"input_window_strides": (-5,)}, ("output-sizes",)),
            ({"input_window_strides": (-(2**31),)}, ("output-sizes",)),
            ({"input_window_strides": (2, 1)}, ("array-lengths",)),
        )
    ),
    *(
        Decision(
            "PADDING",
            {
                "input": (1, 1, 1, 2),
                "output": (1, 1, 1, 5),
                "padding_mode": mode,
                "padding_value": 0.0,
                "start_padding": (0, 0, 0, 1),
                "end_padding": (0, 0, 0, 2),
            },
            ("enumerators",),
            since,
        )
        for mode, since in ((2, Level.L1_0), (3, Level.L3_0), (4, Level.L6_4))
    ),
    Decision(
        "PADDING",
        {
            "input": (1, 2),
            "output": (2, 2),
            "padding_mode": 2,
            "padding_value": 0.0,
            "start_padding": (1, 0),
            "end_padding": (0, 0),
        },
        ("reflection-of-one",),
    ),
    *(
        Decision(
            "NONZERO_COORDINATES",
            {"input": sizes, "output_count": of(np.uint32, 1), "output_coordinates": of(np.uint32, *rows)},
            rules,
        )
        for sizes, rows, rules in (
            ((1, 2, 4), (8, 2), ()),
            ((1, 2, 4), (1, 8, 3), ()),
            ((1, 2, 4), (8, 1), ("coordinates",)),
            ((1, 2, 4), (8, 4), ("coordinates",)),
            ((1, 2, 4), (9, 2), ("output-sizes",)),
            ((1, 2, 4), (2, 4, 2), ("output-sizes",)),
            ((1, 1), (1, 1), ()),
            ((7,), (7, 1), ()),
            ((7,), (7,), ("dimension-counts",)),
        )
    ),
    *(
        Decision("VALUE_SCALE_2D", {"input": (1, channels, 2, 2), "scale": 1.0, "bias": (0.0,) * count}, rules)
        for channels, count, rules in (
            (3, 3, ()),
            (1, 1, ()),
            (2, 2, ("channel-count",)),
            (1, 3, ("channels",)),
            (2, 4, ("channel-count", "channels")),
        )
    ),
    *(
        Decision(
            "RANDOM_GENERATOR",
            {"input_state": of(np.uint32, *sizes), "output": of(np.uint32, 1, 1, 1, 4), "type": 0},
            rules,
        )
        for sizes, rules in (
            ((1, 1, 1, 6), ()),
            *((sizes, ("state-size",)) for sizes in ((1, 1, 1, 5), (1, 1, 1, 7))),
            ((1, 1, 2, 6), ("leading-input-state-sizes",)),
            *(
                (sizes, ("state-size", "leading-input-state-sizes"))
                for sizes in ((1, 1, 6, 1), (6, 1, 1, 1), (1, 1, 2, 3))
            ),
        )
    ),
    Decision("BATCH_NORMALIZATION", BATCH | {"mean": IMAGE, "variance": IMAGE}),
    Decision("BATCH_NORMALIZATION", BATCH | {"mean": IMAGE, "variance": CHANNELS}, ("spatial",), Level.L4_0),
    Decision("MEAN_VARIANCE_NORMALIZATION1", NORMALIZED | {"scale": IMAGE, "bias": IMAGE}),
    Decision("MEAN_VARIANCE_NORMALIZATION1", NORMALIZED | {"scale": IMAGE}, ("scale-and-bias",), Level.L5_2),
    Decision(
        "MEAN_VARIANCE_NORMALIZATION1", NORMALIZED | {"scale": (1, 1, 2, 4), "bias": IMAGE}, ("channels",), Level.L4_0
    ),
    *(
        Decision("REDUCE", REDUCED | {"function": FUNCTION[name]}, ("data-types",), since)
        for name, since in (
            ("SUM", Level.L2_1),
            ("MAX", Level.L2_1),
            ("L1", Level.L5_0),
            ("ARGMAX", Level.L3_0),
            ("AVERAGE", None),
        )
    ),
    *(
        Decision("MULTIHEAD_ATTENTION", QUERY | changes, rules)
        for changes, rules in (
            ({}, ()),
            ({"query": None}, ("query-alone",)),
            ({"stacked_key_value": (1, 2, 1, 2, 1)}, ("key-alone", "value-alone")),
            (STACKED | {"value": (1, 2, 1)}, ("value-alone",)),
            (STACKED, ()),
        )
    ),
    Decision("RNN", UNIT, ("an-output",)),
    Decision("RNN", UNIT | {"output_single": (1, 1, 1, 1)}),
    Decision("RNN", UNIT | {"output_sequence": (2, 1, 1, 1)}),
]


@pytest.mark.few(len(DECISIONS))
@pytest.mark.parametrize("row", DECISIONS, ids=lambda row: row.operator)
def test_decisions(row: Decision) -> None:
    desc = described(row.operator, **row.given)
    broken = tuple(f"{row.operator}.{rule}" for rule in row.rules)
    levels = [HIGHEST] if row.since is None else [*Level][[*Level].index(row.since) - 1 :]
    for level in levels:
        decision = decide(desc, level)
        is_right = not row.rules or (row.since is not None and level >= row.since)
        assert decision.rules == (() if is_right else broken), level
        if decision.outcome is not Outcome.UNSPECIFIED:
            assert TORCH.validate(desc, level).accepted is is_right, level
    if row.operator == "ELEMENT_WISE_ADD1":
        assert desc_to_json(desc_from_json(desc_to_json(desc))) == desc_to_json(desc)
