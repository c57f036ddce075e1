"""Divergences and observations: what is on record hangs together with the specification and the functions beside it.

That the library still behaves so is asked in test_audit.py, where it is installed.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from five_operators import GatherDesc, GatherNd1Desc, TileDesc
from msgspec.structs import replace

from dml_conformance.backends.base import Binding
from dml_conformance.backends.directml.library import DISTRIBUTION, RELEASES
from dml_conformance.backends.reference import expected_output
from dml_conformance.conformance.judge.compare import right
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.divergences import (
    RECOGNISED_BY,
    Divergence,
    ValueDivergence,
    divergences,
    recognise,
    value_divergences,
)
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.forms import desc_from_json, desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.libraries import libraries
from dml_conformance.spec.observations import CONDITIONS, Observation, observations
from dml_conformance.spec.operator import OperatorDesc, outputs, slots, with_tensors
from dml_conformance.spec.registry import operators, rules
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.table_divergences import TABLE_DIVERGENCES
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import ACCEPTED, Decision, Outcome, Reading, decide
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.values import NUMPY_TYPE, materialize

EVERY = list(divergences().values())
OBSERVED = list(observations().values())
AGREEING = {Outcome.ACCEPT: "accept", Outcome.REJECT: "reject"}


def by_id(divergence: Divergence) -> str:
    return divergence.id


def by_rule(observation: Observation) -> str:
    return observation.rule


I8 = DataType.INT8


def tensor(*sizes: int, data_type: DataType = DataType.FLOAT32, **more: Any) -> TensorDesc:
    return TensorDesc.of(data_type, sizes, **more)


def row(size: int) -> TensorDesc:
    return tensor(1, 1, 1, size)


def ones(count: int) -> TensorDesc:
    return tensor(*(1,) * count)


def indices(*sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
    return TensorDesc.of(DataType.UINT32, sizes, strides)


def described(operator: str, *values: Any) -> OperatorDesc:
    return operators()[operator].desc(*values)


def gather(of: tuple[int, ...], index: tuple[int, ...], output: tuple[int, ...], axis: int, count: int) -> GatherDesc:
    return GatherDesc(tensor(*of), indices(*index), tensor(*output), axis, count)


def tile(of: TensorDesc, output: TensorDesc | None = None) -> TileDesc:
    return TileDesc(of, output or replace(of, flags=0), (1,) * len(of.sizes))


def greatest(of_indices: tuple[int, ...]) -> OperatorDesc:
    """MAX_POOLING1 of one element, to an output of twelve."""
    return described("MAX_POOLING1", ones(4), tensor(1, 1, 3, 4), indices(*of_indices), *[(1, 1)] * 2, *[(0, 0)] * 2)


def gradient_of_greatest(
    strides: tuple[int, ...], window: tuple[int, ...], padding: tuple[int, ...], count: int
) -> OperatorDesc:
    """MAX_POOLING_GRAD of a row of three elements, and so many windows."""
    none, each = (0,) * len(strides), (1,) * len(strides)
    return described("MAX_POOLING_GRAD", row(3), row(count), row(3), strides, window, none, padding, each)


LEAKY = described("ACTIVATION_PARAMETERIZED_RELU", None, None, None)


# --- libraries ----------------------------------------------------------------------------------------------------


def test_libraries_are_those_that_can_be_installed() -> None:
    known = {level.label: f"{DISTRIBUTION} {release.version}" for level, release in RELEASES.items()}
    assert {library.level: library.distribution for library in libraries().values()} == known
    assert list(libraries()) == [level.label for level in sorted(RELEASES)]
    assert str(libraries()["6_2"]) == "DirectML 1.13 (6_2)"


# --- divergences --------------------------------------------------------------------------------------------------


def test_data_and_functions_go_together() -> None:
    assert set(divergences()) == set(RECOGNISED_BY)


@pytest.mark.parametrize("divergence", EVERY, ids=by_id)
def test_a_divergence_is_well_formed(divergence: Divergence) -> None:
    assert set(divergence.operators) <= set(operators())
    of_operators = {rule.id for name in divergence.operators for rule in operators()[name].rules}
    assert set(divergence.rules) <= {*rules(), *of_operators}
    assert divergence.rules
    assert divergence.libraries
    assert list(divergence.libraries) == [level for level in libraries() if level in divergence.libraries]
    assert AGREEING.get(divergence.specification) != divergence.answer
    for text in (divergence.finding, divergence.reason, divergence.evidence):
        assert text[0].isupper() or text[0].isdigit()
        assert text.endswith(".")
        assert text.isascii()
    if divergence.operators:
        assert {rule.partition(".")[0] for rule in divergence.rules} == set(divergence.operators)


@pytest.mark.parametrize("divergence", EVERY, ids=by_id)
def test_its_smallest_descriptor_shows_it(divergence: Divergence) -> None:
    """At every level at which it was seen; in the form that is written everywhere; and it alone explains the answer."""
    desc = divergence.desc
    assert desc_to_json(desc) == divergence.descriptor
    for label in divergence.libraries:
        decision = decide(desc, Level.parse(label))
        assert decision.outcome is divergence.specification
        assert set(decision.rules) <= set(divergence.rules)
        assert recognise(desc, decision, divergence.answer, Level.parse(label)) == (divergence,)
        for answer in {"accept", "reject", "crash"} - {divergence.answer}:
            assert not divergence.explains(desc, decision, answer)


# For each divergence, what makes of the smallest descriptor that shows it one that is as near as can be, and whether
# that shows it too; some are of other operators.
NEIGHBOURS: list[tuple[str, dict[str, Any] | OperatorDesc, bool]] = [
    *(("alignment-below-16", {"input_tensor": tensor(1, alignment=n)}, 0 < n < 16) for n in (0, 1, 15, 16, 17, 64)),
    *(
        ("total-size-of-too-many-elements", {"input_tensor": TensorDesc(of, (1,), None, total)}, shows)
        for of, total, shows in (
            (I8, 1, False),
            (I8, 2**32 - 1, False),
            (I8, 2**32, True),
            (I8, 2**33, True),
            (DataType.FLOAT32, 4 * 2**32 - 1, False),
            (DataType.UINT4, 2**32, False),
        )
    ),
    *(
        (
            "reduce-function-beyond-int",
            {"function": function, "input_tensor": tensor(1, data_type=of), "output_tensor": tensor(1, data_type=of)},
            function >= 2**31 and of.is_float,
        )
        for function in (10, 12, 2**31 - 1, 2**31, 2**32 - 1)
        for of in (DataType.FLOAT32, DataType.INT32)
    ),
    ("tile-float64", {"output_tensor": tensor(1)}, False),
    *(
        (
            "tile-sizes-in-32-bits",
            {"input_tensor": row(size), "output_tensor": row(output), "repeats": (1, 1, 1, repeat)},
            shows,
        )
        for size, repeat, output, shows in (
            (65_537, 65_537, 131_073, True),
            (3, 2_863_311_531, 2, False),
            (3, 2, 6, False),
            (2**16, 2**16, 1, False),
        )
    ),
    *(
        ("strided-size-in-32-bits", {"input_tensor": TensorDesc(DataType.FLOAT32, (3,), strides, total)}, False)
        for strides, total in (((2**31,), 3), ((2**31,), 2**34 + 4), (None, 4))
    ),
    ("attention-heads-left-over", {"head_count": 1}, False),
    ("attention-mask-type-of-any-number", {"mask_type": 0}, False),
    ("attention-keys-from-before-alone", {"past_key_tensor": None}, False),
    ("attention-types-beside-stacked", {"output_tensor": tensor(1, data_type=I8)}, False),
    # Of 2^64 bytes and some more the rest, a multiple of 4; of 2^64 when it is rounded up alone, all.
    *(
        (
            "strided-size-in-64-bits",
            {"input_tensor": TensorDesc(of, (size,), (stride,), total), "output_tensor": tensor(1, data_type=of)},
            total >= least,
        )
        for of, size, stride, least in (
            (DataType.FLOAT32, 2**31, 2**31 + 1, 4),
            (DataType.FLOAT32, 2**31 + 1, 2**31 + 4, 2**35 + 4),
            (DataType.FLOAT16, 2**32 - 1, 2**31 + 1, 2**64),
        )
        for total in (4, 2**35, 2**35 + 4)
    ),
    ("strided-size-in-64-bits", {"input_tensor": TensorDesc(DataType.FLOAT32, (3,), (1,), 12)}, False),
    *(
        ("padding-input-beyond-int", {"input_tensor": tensor(size), "output_tensor": tensor(size)}, size >= 2**31)
        for size in (2**31 - 1, 2**31)
    ),
    ("gather-writes-before-its-sizes", {"axis": 1}, False),
    # The rightmost sizes are those of the output, neither smaller nor larger.
    *(
        ("gather-crops-any-size", gather((2, 3), (3, 4), output, 1, 2), output == (3, 4))
        for output in ((3, 4), (3, 3), (3, 5), (2, 4), (4, 4))
    ),
    # Nothing is cropped, nor where there are fewer sizes.
    ("gather-crops-any-size", gather((2, 1), (1, 1), (2, 1), 1, 2), False),
    ("gather-crops-any-size", gather((2, 1), (1, 1), (2, 1), 1, 1), False),
    ("gather-crops-any-size", gather((2, 4), (1, 3), (3, 4), 0, 1), False),
    ("gather-crops-any-size", gather((3, 5, 7), (1, 1, 1), (1, 5, 7), 0, 0), False),
    # At most as many dimensions as before Axis, and more than the input has, leading ones left out.
    *(
        ("gather-index-batch-longer-than-input", gather((1, 1, 1), (1, 2, 1), (1, 1, 1), axis, 1), axis > 0)
        for axis in range(3)
    ),
    ("gather-index-batch-longer-than-input", gather((2, 1), (2, 1), (2, 1), 1, 1), False),
    ("gather-index-batch-longer-than-input", gather((1, 1), (2, 1), (1, 1), 0, 1), False),
    ("gather-index-batch-longer-than-input", gather((1, 1), (1, 2), (1, 2), 1, 1), False),
    # Sizes before the indexed one, padded with ones on the left.
    *(
        ("gather-scalar-index-any-first-size", gather((3, 5, 7), (1, 1, 1), output, 0, count), expected)
        for output, count, expected in (
            ((9, 5, 7), 0, True),
            ((9, 4, 7), 0, False),
            ((9, 5, 6), 0, False),
            ((9, 5, 7), 1, False),
        )
    ),
    ("gather-scalar-index-any-first-size", gather((1, 1), (1, 1), (1, 2), 0, 0), False),
    *(
        (
            "scale-bias-of-64-bits",
            {"input_tensor": tensor(1, data_type=of), "output_tensor": tensor(1, data_type=of), "scale_bias": scaled},
            shows,
        )
        for of, scaled, shows in (
            (DataType.INT64, ScaleBias(1.0, 1.0), True),
            (DataType.INT64, ScaleBias(1.0, -0.0), False),
            (DataType.INT64, None, False),
            (DataType.FLOAT32, ScaleBias(2.0, 1.0), False),
        )
    ),
    *(
        ("clip1-limits-of-any-type", {"min_max_data_type": kind}, shows)
        for kind, shows in ((DataType.INT32, True), (14, True), (DataType.FLOAT32, False))
    ),
    *(
        (name, {"fused_activation": activation}, shows)
        for name, activation, shows in (
            ("fused-activations-newer-than-the-list", None, False),
            ("fused-activations-newer-than-the-list", described("ACTIVATION_SWISH", None, None, 1.0), True),
            ("fused-activations-newer-than-the-list", described("ACTIVATION_SWISH", ones(1), None, 1.0), False),
            ("fused-activations-newer-than-the-list", described("ACTIVATION_RELU", None, None), False),
            ("fused-activations-newer-than-the-list", LEAKY, False),
            ("fused-softplus-of-any-steepness", None, False),
            ("fused-softplus-of-any-steepness", described("ACTIVATION_SOFTPLUS", None, None, 0.0), True),
            ("fused-softplus-of-any-steepness", described("ACTIVATION_SOFTPLUS", None, None, 1.0), False),
            ("fused-softplus-of-any-steepness", described("ACTIVATION_ELU", None, None, 0.5), False),
            ("convolution-dies-of-a-fused-slope", None, False),
            ("convolution-dies-of-a-fused-slope", described("ACTIVATION_RELU", None, None), False),
            ("convolution-dies-of-a-fused-slope", LEAKY, True),
        )
    ),
    # Any sizes but those of batch and channels; nothing where there are more windows than dimensions.
    *(
        (name, {"output_tensor": tensor(*sizes, data_type=of)}, shows)
        for name, of in (
            ("average-pooling-of-any-windows", DataType.FLOAT32),
            ("pooling-of-any-windows", DataType.FLOAT32),
            ("convolution-of-any-windows", DataType.FLOAT32),
            ("integer-convolution-of-any-windows", DataType.INT32),
            ("quantized-average-pooling-of-any-sizes", I8),
        )
        for sizes, shows in (((1, 1, 3, 4), True), ((1, 2, 1, 1), False), ((2, 1, 1, 1), False))
    ),
    *(
        (name, dict.fromkeys(("strides", "start_padding", "end_padding", *more), (1,) * 4), False)
        for name, *more in (
            ("average-pooling-of-any-windows", "window_size"),
            ("pooling-of-any-windows", "window_size"),
            ("convolution-of-any-windows", "dilations", "output_padding"),
        )
    ),
    *(
        ("pooling-of-any-windows", greatest(indices), indices == (1, 1, 3, 4))
        for indices in ((1, 1, 3, 4), (1, 1, 3, 3), (1, 2, 3, 4))
    ),
    ("quantized-average-pooling-of-any-sizes", {"input_scale_tensor": tensor(7)}, True),
    ("quantized-average-pooling-of-two-types", {"output_tensor": tensor(1, 1, 1, 1, data_type=I8)}, False),
    *(
        ("max-pooling-grad-of-more-dimensions", gradient_of_greatest(*windows), shows)
        for *windows, shows in (
            ((1, 1, 0), (1, 1, 0), (0, 0, 9), 3, True),
            ((1, 1, 0, 1), (1, 1, 0, 1), (0, 0, 0, 0), 3, False),
            ((1, 1), (1, 4), (0, 0), 1, True),
            ((1, 1), (1, 4), (0, 0), 2, False),
            ((1, 1), (1, 1), (0, 2**32 - 2), 1, True),
            ((1, 0), (1, 1), (0, 0), 3, False),
        )
    ),
    ("diagonal-matrix-of-64-bits", {"output_tensor": tensor(1, 1, data_type=DataType.UINT64)}, True),
    ("diagonal-matrix-of-64-bits", {"output_tensor": tensor(1, 1)}, False),
    *(
        ("one-hot-values-of-another-dimension-count", described("ONE_HOT", *map(ones, counts), 0), shows)
        for counts, shows in (((2, 1, 2), True), ((2, 2, 2), False), ((1, 2, 2), False), ((2, 2, 1), False))
    ),
    # BlockSize squared is 954437177 in 32 bits; one that is no larger than it is shows nothing.
    *(
        ("depth-to-space-block-in-32-bits", {"output_tensor": tensor(1, 1, height, 1), "block_size": block}, False)
        for height, block in ((2863311530, 2863311531), (2863311531, 2863311532), (2863311531, 2))
    ),
    *(
        ("depth-to-space-divides-by-zero", {"block_size": block}, block in (2**16, 2**31))
        for block in (0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**31)
    ),
    *(("resample-tiny-scale", {"scales": (n,) * 4}, n == 2.0**-24) for n in (0.0, 2.0**-24, 2.0**-23, 1.0)),
    *(
        ("resample-fewer-dimensions-at-5_0", {"input_tensor": ones(rank), "output_tensor": ones(rank)}, rank < 4)
        for rank in (1, 3, 4, 5)
    ),
    # Input and output have as many dimensions, and the rest is right.
    *(
        (
            "scatter-nd-dimension-counts",
            {
                "input_tensor": ones(ranks[0]),
                "indices_tensor": indices(*sizes),
                "updates_tensor": ones(ranks[1]),
                "output_tensor": ones(ranks[2]),
            },
            shows,
        )
        for ranks, sizes, shows in (
            ((2, 3, 2), (1,), True),
            ((1, 1, 2), (1,), False),
            ((1, 1, 1), (1, 2), False),
        )
    ),
    ("scatter-nd-dimension-counts", {"input_dimension_count": 2}, False),
    # A stride of 0 over a size above 1.
    ("scatter-nd-repeated-indices", {"indices_tensor": indices(1, 2, strides=(0, 1))}, False),
    ("scatter-nd-repeated-indices", {"indices_tensor": indices(1, 1, strides=(0, 0))}, False),
    # One coordinate too many, and one dimension of indices beside it.
    ("scatter-nd-tuple-beyond-input", {"indices_dimension_count": 1}, False),
    ("scatter-nd-tuple-beyond-input", {"indices_tensor": indices(1, 1)}, False),
    *(("slice-strides-beyond-int", {"strides": (n,)}, n >= 2**31) for n in (0, 1, 2**31 - 1, 2**31)),
    # The last of five elements is four strides away, which is nothing in 32 bits, or more.
    *(
        ("slice-reach-in-32-bits", {"input_tensor": tensor(2), "offsets": (offset,), "strides": (stride,)}, shows)
        for offset, stride, shows in ((0, 2**30, True), (1, 2**30, True), (2, 2**30, False), (0, 2**30 + 1, False))
    ),
    ("slice-reach-in-32-bits", {"input_tensor": tensor(2), "sizes": (3,), "strides": (2**31,)}, False),
    *(
        ("slice-reach-in-32-bits", described("SLICE1", tensor(9), tensor(5), (0,), (window,), (2**30,)), window > 0)
        for window in (0, 1, 2)
    ),
    *(
        (
            "slice-grad-empty-window",
            {
                "input_gradient_tensor": tensor(count),
                "output_gradient_tensor": tensor(3),
                "input_window_offsets": (offset,),
                "input_window_sizes": (window,),
            },
            shows,
        )
        for count, offset, window, shows in ((1, 0, 0, True), (3, 0, 0, True), (3, 1, 0, False), (1, 0, 1, False))
    ),
    *(
        (
            "padding-sizes-in-32-bits",
            {"output_tensor": tensor(output), "start_padding": (start,), "end_padding": (end,)},
            shows,
        )
        for start, end, output, shows in (
            (2**32 - 1, 0, 2, True),
            (2**31, 2**31, 3, True),
            (2**32 - 1, 0, 3, False),
            (1, 1, 5, False),
        )
    ),
    *(("recurrent-direction-of-any-number", {"direction": n}, n > 2) for n in (0, 2, 3)),
    ("recurrent-owns-no-tensors", {"direction": 0}, True),
    ("recurrent-owns-no-tensors", {"weight_tensor": tensor(1, 1, 3, 1)}, False),
    *(
        ("join-input-beyond-int", described("JOIN", (tensor(count),), tensor(count), 0), count >= 2**31)
        for count in (1, 2**31 - 1, 2**31, 2**32 - 1)
    ),
    ("join-split-whole-missing", {"output_tensor": ones(4)}, False),
    ("join-split-whole-missing", {"input_tensors": ()}, False),
    ("products-of-unlike-dimension-counts", {"output_tensor": tensor(2, 1)}, False),
    ("integer-to-float-of-unlike-types", {"bias_tensor": tensor(1, 1, 1, 1, data_type=DataType.FLOAT16)}, False),
]


@pytest.mark.parametrize(("name", "near", "shows"), NEIGHBOURS)
def test_a_divergence_is_recognised_where_it_shows(name: str, near: dict[str, Any] | OperatorDesc, shows: bool) -> None:
    desc = replace(divergences()[f"DIV-{name}"].desc, **near) if isinstance(near, dict) else near
    assert RECOGNISED_BY[f"DIV-{name}"](desc) is shows


def test_every_divergence_has_neighbours_that_do_not_show_it() -> None:
    assert {f"DIV-{name}" for name, _, shows in NEIGHBOURS if not shows} == set(divergences()) - set(TABLE_DIVERGENCES)


def plain(name: str) -> OperatorDesc:
    desc = read_data("plain", dict[str, list[dict[str, object]]])[name][0]
    return desc_from_json({"type": f"DML_OPERATOR_{name}", "desc": desc})


# Nothing plain has a type of a later table or of none.
OF_TABLES = {
    "DIV-tables-ahead-of-their-level": DataType.FLOAT64,
    "DIV-operators-ahead-of-their-level": DataType.UINT4,
    "DIV-integers-beyond-the-tables": DataType.FLOAT64,
    "DIV-resample-grad-of-fewer-dimensions": 5,
    "DIV-optimizer-of-any-dimensions": None,
    "DIV-filter-zero-point-as-its-scale": None,
    "DIV-quantize-dies-of-a-missing-tensor": None,
    "DIV-attention-without-heads": None,
}


def test_every_divergence_of_tables_has_a_neighbour() -> None:
    assert set(OF_TABLES) == set(TABLE_DIVERGENCES)


@pytest.mark.parametrize("name", OF_TABLES)
def test_neighbours_do_not_show_a_divergence_of_tables(name: str) -> None:
    known, change = divergences()[name], OF_TABLES[name]
    for operator in known.operators:
        desc = plain(operator)
        if operator == "DIAGONAL_MATRIX":
            change = DataType.UINT4  # whose newest table has FLOAT64
        if isinstance(change, DataType):
            desc = with_tensors(desc, {s.key: TensorDesc.of(change, s.tensor.sizes) for s in slots(desc)})
        elif change is not None:
            desc = with_tensors(desc, {s.key: TensorDesc.of(s.tensor.data_type, (1,) * change) for s in slots(desc)})
        assert not TABLE_DIVERGENCES[name](desc)
        for label in known.libraries:
            level = Level.parse(label)
            assert known not in recognise(desc, decide(desc, level), known.answer, level)


def test_missing_tensors_are_no_hindrance() -> None:
    desc = replace(tile(tensor(1, alignment=8)), output_tensor=None)
    assert RECOGNISED_BY["DIV-alignment-below-16"](desc)


def test_an_answer_that_agrees_is_explained_by_nothing() -> None:
    desc = tile(tensor(1, alignment=8))
    assert not recognise(desc, ACCEPTED, "accept", Level.L6_2)
    assert not recognise(desc, ACCEPTED, "crash", Level.L6_2)


def test_accepting_is_explained_only_if_every_broken_rule_is() -> None:
    """FLOAT64 does not explain why a TILE without repeats is accepted."""
    float64 = divergences()["DIV-tile-float64"].desc
    both = replace(float64, repeats=(0,))
    decision = decide(both, Level.L6_2)
    assert set(decision.rules) == {"TILE.data-types", "TILE.repeats"}
    assert not recognise(both, decision, "accept", Level.L6_2)
    assert recognise(float64, decide(float64, Level.L6_2), "accept", Level.L6_2)


def test_two_divergences_explain_together_what_none_does_alone() -> None:
    """A TILE of FLOAT64 whose repeats come to 1 modulo 2^32."""
    desc = TileDesc(tensor(3, data_type=DataType.FLOAT64), tensor(1, data_type=DataType.FLOAT64), (2_863_311_531,))
    decision = decide(desc, Level.L6_2)
    assert set(decision.rules) == {"TILE.data-types", "TILE.output-sizes"}
    found = recognise(desc, decision, "accept", Level.L6_2)
    assert {known.id for known in found} == {"DIV-tile-float64", "DIV-tile-sizes-in-32-bits"}


def test_of_two_divergences_that_of_the_library_explains() -> None:
    """Cut to 32 bits or to 64, what is described is large enough."""
    large = TensorDesc(DataType.FLOAT32, (2**31,), (2**31 + 1,), 2**34)
    desc = replace(divergences()["DIV-strided-size-in-64-bits"].desc, input_tensor=large)
    for label, bits in (("5_2", 32), ("6_2", 64)):
        level = Level.parse(label)
        found = recognise(desc, decide(desc, level), "accept", level)
        assert [known.id for known in found] == [f"DIV-strided-size-in-{bits}-bits"]


def test_another_operator_is_not_recognised() -> None:
    """A crash of TILE is none of GATHER's, whatever its fields are called."""
    assert not recognise(tile(tensor(1)), ACCEPTED, "crash", Level.L6_2)


# --- observations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("observation", OBSERVED, ids=by_rule)
def test_an_observation_is_well_formed(observation: Observation) -> None:
    assert rules()[observation.rule].erratum is not None
    assert (observation.answer == "depends") == (observation.rule in CONDITIONS)
    assert observation.libraries
    assert set(observation.libraries) <= set(libraries())
    answers = {"accept", "reject"} if observation.answer == "depends" else {observation.answer}
    assert {witness.answer for witness in observation.witnesses} == answers
    for text in (observation.finding, observation.evidence):
        assert text.endswith(".")
        assert text.isascii()


@pytest.mark.parametrize("observation", OBSERVED, ids=by_rule)
def test_its_witnesses_are_open_for_this_rule_alone_and_settled_by_it(observation: Observation) -> None:
    for witness in observation.witnesses:
        desc = witness.desc
        assert desc_to_json(desc) == witness.descriptor
        for label in observation.libraries:
            level = Level.parse(label)
            open_ = decide(desc, level)
            assert (open_.outcome, open_.rules, open_.observations) == (Outcome.UNSPECIFIED, (observation.rule,), ())
            assert open_.errata == (rules()[observation.rule].erratum,)
            (violation,) = open_.violations
            assert re.split(r"\W", violation.where)[0] in {"", *(field.name for field in desc.fields)}
            assert violation.found
            settled = decide(desc, level, Reading.OBSERVED)
            assert AGREEING[settled.outcome] == witness.answer
            assert settled.rules == (observation.rule,)
            assert settled.observations == (observation,)
            assert settled.errata == open_.errata


def test_only_what_cannot_be_asked_is_not_observed() -> None:
    """Levels and operators that no build has."""
    newest = max(Level.parse(label) for label in libraries())
    askable = {spec.name for spec in operators().values() if spec.introduced_in <= newest}
    left_open = {rule.id for rule in rules().values() if rule.erratum is not None}
    unobserved = left_open - set(observations())
    assert {rule for rule in unobserved if rule.partition(".")[0] in {*askable, "TENSOR"}} == {
        "BATCH_NORMALIZATION.spatial-dimensions",
        "GATHER.shape-before-2_1",
        "NONZERO_COORDINATES.same-dimension-count-before-4_0",
    }


def test_the_source_of_an_observation_names_the_newest_library() -> None:
    observation = observations()["TENSOR.output-overlap"]
    assert observation.source == "observed: DirectML 1.13 (6_2)"
    assert json.loads(json.dumps(observation.as_json())) == {
        "rule": "TENSOR.output-overlap",
        "source": "observed: DirectML 1.13 (6_2)",
        "libraries": ["5_0", "5_2", "6_2"],
        "finding": observation.finding,
    }


def observed(desc: OperatorDesc, level: Level = Level.L6_2) -> Decision:
    return decide(desc, level, Reading.OBSERVED)


@pytest.mark.parametrize(
    ("of", "indices", "axis", "count", "outcome"),
    [
        ((2, 1), (2, 1), 1, 1, Outcome.ACCEPT),
        ((1, 2, 3, 1), (1, 2, 3, 1), 3, 1, Outcome.ACCEPT),
        ((1, 2, 3, 1), (1, 1, 2, 1), 3, 1, Outcome.ACCEPT),  # the batch is what the input begins with
        ((1, 2, 3, 1), (1, 1, 3, 1), 3, 1, Outcome.REJECT),
        ((3, 1), (2, 1), 1, 1, Outcome.REJECT),
        ((2, 1), (2, 1), 0, 1, Outcome.REJECT),  # no dimension before Axis
        ((1, 1), (2, 1), 1, 1, Outcome.UNSPECIFIED),  # the process ends
        ((1, 1, 1), (2, 1, 1), 0, 2, Outcome.UNSPECIFIED),  # it writes where it must not
    ],
)
def test_leading_index_sizes_of_gather(
    of: tuple[int, ...], indices: tuple[int, ...], axis: int, count: int, outcome: Outcome
) -> None:
    sizes = (*of[:axis], *indices[len(indices) - count :], *of[axis + 1 :])
    desc = gather(of, indices, sizes[-len(of) :], axis, count)
    assert decide(desc, Level.L6_2).rules == ("GATHER.leading-index-sizes",)
    assert observed(desc).outcome is outcome


def test_one_observed_refusal_is_enough() -> None:
    """Unequal batches are accepted; with an output of stride 0 the descriptor is rejected, and for that alone."""
    desc = observations()["GATHER_ND1.batch-sizes"].witnesses[0].desc
    assert isinstance(desc, GatherNd1Desc)
    overlapping = replace(desc, output_tensor=tensor(*desc.output_tensor.sizes, strides=(0, 0)))
    assert set(decide(overlapping, Level.L6_2).rules) == {"GATHER_ND1.batch-sizes", "TENSOR.output-overlap"}
    decision = observed(overlapping)
    assert (decision.outcome, decision.rules) == (Outcome.REJECT, ("TENSOR.output-overlap",))
    assert [observation.rule for observation in decision.observations] == ["TENSOR.output-overlap"]
    interleaved = replace(desc, output_tensor=tensor(1, 3, strides=(1, 0)))
    assert observed(interleaved).outcome is Outcome.REJECT
    accepted = replace(desc, output_tensor=tensor(1, 3, strides=(0, 1)))
    assert (observed(accepted).outcome, observed(accepted).rules) == (Outcome.ACCEPT, ("GATHER_ND1.batch-sizes",))


def test_what_has_no_observation_stays_open() -> None:
    """At 2_0 the shapes of GATHER are a question of their own, whatever else is answered."""
    desc = gather((1, 1, 1, 2), (1, 1, 1, 1), (1, 1, 1, 2), 2, 2)
    assert decide(desc, Level.L2_0).rules == ("GATHER.shape-before-2_1",)
    assert observed(desc, Level.L2_0).outcome is Outcome.UNSPECIFIED
    overlapping = replace(desc, output_tensor=tensor(1, 1, 1, 2, strides=(0, 0, 0, 0)))
    decision = observed(overlapping, Level.L2_0)
    assert (decision.outcome, decision.rules) == (Outcome.REJECT, ("TENSOR.output-overlap",))


@pytest.mark.parametrize("operator", operators())
def test_observations_change_nothing_that_the_pages_decide(operator: str) -> None:
    changed = 0
    for case in boundary_cases(operator, Level.L6_2):
        settled = observed(case.desc)
        read = case.read(Reading.OBSERVED)
        assert (read.outcome, read.broken) == (settled.outcome, settled.rules)
        assert case.read(Reading.DOCUMENTED) is case
        if case.outcome is Outcome.UNSPECIFIED:
            changed += settled.outcome is not Outcome.UNSPECIFIED
        else:
            assert (settled.outcome, settled.rules, settled.observations) == (case.outcome, case.broken, ())
    assert changed or operators()[operator].introduced_in > Level.L6_2


def test_a_case_that_is_read_is_otherwise_the_same() -> None:
    case = Case.of(observations()["TENSOR.output-overlap"].witnesses[0].desc, Level.L6_2, rule="TENSOR.output-overlap")
    read = case.read(Reading.OBSERVED)
    assert read.outcome is Outcome.REJECT
    assert read.digest == case.digest
    assert replace(read, outcome=case.outcome) == case


@pytest.mark.parametrize("operator", sorted({name for known in EVERY for name in known.operators} & set(operators())))
def test_a_tensor_without_dimensions_may_be_asked_about(operator: str) -> None:
    level = operators()[operator].introduced_in
    desc = next(case.desc for case in boundary_cases(operator, level) if case.outcome is Outcome.ACCEPT)
    for slot in slots(desc):
        spoiled = with_tensors(desc, {slot.key: replace(slot.tensor, sizes=(), strides=None)})
        for answer in ("accept", "reject", "crash"):
            found = recognise(spoiled, decide(spoiled, level), answer, level)
            assert all(known.answer == answer for known in found)


# --- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", value_divergences().values(), ids=lambda known: known.id)
def test_a_case_is_valid_and_the_library_wrong_about_it(known: ValueDivergence) -> None:
    """By the specification alone; what the library computed is what somebody saw."""
    case = Case.from_json(known.case)
    assert case.outcome is Outcome.ACCEPT
    assert set(known.rules) <= set(rules())
    assert set(known.libraries) <= set(libraries())
    bound = {key: Binding(content, 0, content.size) for key, content in materialize(case).items()}
    (output,) = outputs(case.desc)
    expected = expected_output(case.desc, bound)[output.key]
    computed = np.array([*map(float, known.computed)]).astype(NUMPY_TYPE[output.tensor.data_type])
    actual = computed.view(expected.values.dtype).reshape(expected.values.shape)
    assert not right(actual, expected, output.tensor.data_type, None).all()
    for text in (known.finding, known.reason):
        assert text[0].isupper()
        assert text.endswith(".")
        assert text.isascii()
