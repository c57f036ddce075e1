"""ONNX Runtime as a backend: it agrees with the reference where it is not known to differ, and wrong nodes are seen."""

from __future__ import annotations

import importlib
import sys
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from family_cases import assert_conforms, example, executed, kind_of
from msgspec.structs import replace

from dml_conformance.backends.loading import BackendError, load_backend
from dml_conformance.backends.onnxruntime import backend as backend_module
from dml_conformance.backends.onnxruntime.backend import OnnxRuntimeBackend
from dml_conformance.backends.onnxruntime.forms import WITHOUT_FORM, beyond_onnx, form_of, mapped_operators
from dml_conformance.backends.onnxruntime.graph import FormGraph, FormNode
from dml_conformance.backends.onnxruntime.models import MOST_SESSIONS, Sessions, model_of
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Verdict
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.field_kinds import Size2d
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.cases import numbered_case

CASES, TRIED = 8, 2_000  # of an operator that are judged, and of how many
SIGMOID, TANH = (operators()[f"ACTIVATION_{name}"].desc(None, None) for name in ("SIGMOID", "TANH"))
REGIONS = {"reduction_function": 2, "interpolation_mode": 1, "spatial_scale_x": 0.5, "spatial_scale_y": 0.5}
REGIONS |= {"input_pixel_offset": 0.5, "output_pixel_offset": -0.5, "out_of_bounds_input_value": 0.0}
REGIONS |= {"align_regions_to_corners": False}
PLACE = {"start_padding": (1,), "end_padding": (0,), "dilations": (2,), "strides": (3,), "window_sizes": (3,)}


class Difference(NamedTuple):
    """A case in which the runtime gives something else than what is right; docs/explanation/onnxruntime.md has them."""

    operator: str
    members: dict[str, Any]
    found: Any
    kind: Any = np.float32


DIFFERENCES = (
    Difference("REDUCE", {"input": [2**53, 1], "output": (1,), "function": 10, "axes": (0,)}, 2**53, np.int64),
    Difference("REDUCE", {"input": [2**31 - 1, 1], "output": (1,), "function": 10, "axes": (0,)}, 2**31 - 1, np.int32),
    Difference("ELEMENT_WISE_IF", {"condition": np.uint8([1]), "a": [-0.0], "b": [1.0], "output": (1,)}, 0.0),
    Difference("ACTIVATION_SIGMOID", {"input": [-19.0, -13.9]}, [0.0, 9.238719940185547e-07]),
    Difference(
        "GRU",
        {"input": [[[[1]]]], "weight": [[[[-20], [0], [0]]]], "recurrence": [[[[0], [0], [0]]]]}
        | {"hidden_init": [[[[1e30]]]], "output_sequence": (1, 1, 1, 1), "activation_descs": (SIGMOID, TANH)}
        | {"direction": 0, "linear_before_reset": True},
        0.0,
    ),
    Difference(
        "GRU",
        {"input": [[[[0]], [[0]]]], "weight": [[[[0], [0], [0]]]], "recurrence": [[[[0], [-1], [0]]]]}
        | {"bias": [[[[np.nan, 0, 0, 0, 0, 0]]]], "output_sequence": (2, 1, 1, 1)}
        | {"activation_descs": (SIGMOID, TANH), "direction": 0, "linear_before_reset": True},
        [0.0, 0.0],
    ),
    Difference(
        "LSTM",
        {"input": [[[[-20]]]], "weight": [[[[0], [3], [0], [20]]]], "recurrence": [[[[0], [0], [0], [0]]]]}
        | {"output_sequence": (1, 1, 1, 1), "activation_descs": (SIGMOID, TANH, TANH), "direction": 0}
        | {"clip_threshold": 1.0, "use_clip_threshold": False, "couple_input_forget": False},
        0.0,
    ),
    Difference(
        "FOLD",
        {"input": [[[1], [2], [3], [4], [5], [6]]], "output": (1, 2, 6), **PLACE},
        [[[0, 2, 0, 3, 0, 4], [0, 0, 0, 0, 0, 0]]],
    ),
    Difference(
        "ROI_POOLING",
        {"input": [[[[np.inf, np.nan, 1]]]], "roi": [[[[0, 0, 0, 2, 0]]]], "output": (1, 1, 1, 1)}
        | {"spatial_scale": 1.0, "pooled_size": Size2d(1, 1)},
        1.0,
    ),
    Difference(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
        {"a": [1], "a_scale": np.float32([0.5]), "b": [0], "b_scale": np.float32([1])}
        | {"output_scale": np.float32([1]), "output_zero_point": np.uint8([1]), "output": (1,)},
        2,
        np.uint8,
    ),
    Difference(
        "LOCAL_RESPONSE_NORMALIZATION",
        {"input": [[[[1e10]], [[1]], [[1]], [[1]]]], "cross_channel": True, "local_size": 3}
        | {"alpha": 1.0, "beta": 1.0, "bias": 1.0},
        [2.999999970665357e-10, 2.9999999047965676e-20, np.inf, -3.0],
    ),
    Difference(
        "ROI_POOLING",
        {"input": [[[[-np.inf]]]], "roi": [[[[0, 0, 0, 0, 0]]]], "output": (1, 1, 1, 1)}
        | {"spatial_scale": 1.0, "pooled_size": Size2d(1, 1)},
        np.finfo(np.float32).min,
    ),
    Difference(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
        {"a": [255], "a_scale": np.float32([1e5]), "b": [0], "b_scale": np.float32([1])}
        | {"output_scale": np.float32([1e-6]), "output": (1,)},
        0,
        np.uint8,
    ),
    Difference(
        "ROI_ALIGN1",
        {"input": [[[[np.inf]]]], "roi": np.float32([[5, 5, 7, 7]]), "batch_indices": np.uint32([0])}
        | {"output": (1, 1, 1, 1), **REGIONS, "minimum_samples_per_output": 1, "maximum_samples_per_output": 1},
        np.nan,
    ),
)
# Of which hardly any case has a form, and which has an example of its own.
RARE = {"ROI_ALIGN1"}
DIFFERING = {each.operator for each in DIFFERENCES}
ALIKE = [name for name in mapped_operators() if name not in DIFFERING | RARE]


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(OnnxRuntimeBackend(), "onnxruntime")


def cases(operator: str) -> list[Case]:
    """Some valid cases that have a form."""
    every = (numbered_case(1, operator, HIGHEST, number) for number in range(TRIED))
    valid = (case for case in every if case.outcome is Outcome.ACCEPT and case.data is not None)
    return list(islice((case for case in valid if not beyond_onnx(case.desc)), CASES))


def test_how_many_operators_are_mapped() -> None:
    assert len(mapped_operators()) == 175
    assert set(mapped_operators()) | WITHOUT_FORM.keys() == set(operators())
    assert not set(mapped_operators()) & WITHOUT_FORM.keys()


@pytest.mark.few(24)
@pytest.mark.parametrize("operator", ALIKE)
def test_it_agrees_with_the_reference(operator: str, judge: Judge) -> None:
    some = cases(operator)
    assert some
    records = [judge.record(case, Phase.SWEEP) for case in some]
    assert {record.verdict for record in records} == {Verdict.PASS}, [record.reason for record in records]


def test_regions_are_aligned() -> None:
    images = np.random.default_rng(7).normal(1, 2, (2, 3, 7, 8)).astype(np.float32)
    members = {**REGIONS, "minimum_samples_per_output": 2, "maximum_samples_per_output": 2}
    rows = np.float32([[1, 2, 9, 7], [-3, 0, 12, 15]])
    run = example("ROI_ALIGN1", input=images, roi=rows, batch_indices=np.uint32([0, 1]), output=(2, 3, 3, 2), **members)
    assert_conforms(OnnxRuntimeBackend(), run)


@pytest.mark.parametrize("operator", sorted(DIFFERING - RARE))
def test_where_it_differs_it_differs_in_values_alone(operator: str, judge: Judge) -> None:
    records = [judge.record(case, Phase.SWEEP) for case in cases(operator)]
    assert records
    wrong = [record for record in records if record.verdict is not Verdict.PASS]
    assert all(record.rule.startswith(f"{operator}.") for record in wrong), [record.reason for record in wrong]
    assert all(record.verdict is Verdict.FAIL for record in wrong), [record.reason for record in wrong]


@pytest.mark.parametrize("known", DIFFERENCES, ids=lambda known: known.operator)
def test_known_differences(known: Difference) -> None:
    run = example(known.operator, known.kind, **known.members)
    (output,) = outputs(run.desc)
    found = executed(OnnxRuntimeBackend(), run)[output.key].view(kind_of(output.tensor.data_type))
    assert np.allclose(found.ravel(), np.ravel(known.found), rtol=1e-8, atol=0, equal_nan=True)
    assert not run.holds(found).all()


def planted(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Have every node that has an attribute get it wrong."""

    def changed(desc: Any) -> FormGraph:
        graph = form_of(desc)
        graph.nodes = [
            FormNode(node.op_type, node.inputs, node.outputs, {**node.attributes, name: value}, node.domain)
            if name in node.attributes
            else node
            for node in graph.nodes
        ]
        return graph

    monkeypatch.setattr(backend_module, "form_of", changed)


@pytest.mark.parametrize(
    ("operator", "name", "value"),
    [("ACTIVATION_ELU", "alpha", 0.75), ("CUMULATIVE_SUMMATION", "exclusive", 1), ("MAX_POOLING1", "strides", [1, 1])],
)
def test_a_wrong_attribute_is_found(
    operator: str, name: str, value: Any, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, name, value)
    verdicts = {judge.record(case, Phase.SWEEP).verdict for case in cases(operator)}
    assert verdicts & {Verdict.FAIL, Verdict.CRASH}


def test_what_has_no_form_is_not_asked(judge: Judge) -> None:
    members = {"padding_mode": 3, "padding_value": 0.0, "start_padding": (1,), "end_padding": (0,)}
    run = example("PADDING", input=[1.0], output=(2,), **members)
    record = judge.record(replace(run.case, data={"input_tensor": Recipe("ramp", 0)}), Phase.SWEEP)
    assert record.verdict is Verdict.NOT_SUPPORTED
    assert record.reason == "outside of the claims: no form in ONNX: Pad with padding_mode of SYMMETRIC"


def test_it_claims_execution_alone() -> None:
    claims = OnnxRuntimeBackend().capabilities()
    assert (claims.enforces, claims.form) == ({Category.EXECUTION}, "ONNX")
    assert claims.versions.keys() == {"onnx", "onnxruntime"}


def test_sessions_are_used_again() -> None:
    sessions = Sessions(["CPUExecutionProvider"])
    for number in range(3):
        run = example("ACTIVATION_RELU", input=[1.0] * (number + 1))
        sessions.run(form_of(run.desc), {"input_tensor": run.arrays["input_tensor"]})
    assert sessions.count == 1
    for number in range(MOST_SESSIONS + 3):
        run = example("ACTIVATION_ELU", input=[1.0], alpha=float(number))
        sessions.run(form_of(run.desc), {"input_tensor": run.arrays["input_tensor"]})
    assert sessions.count == MOST_SESSIONS


def test_what_is_large_is_no_part_of_a_model() -> None:
    members = {name: (value,) * 2 for name, value in (("strides", 1), ("dilations", 1), ("window_sizes", 3))}
    members |= {"start_padding": (0, 0), "end_padding": (0, 0)}
    images = np.arange(34**2, dtype=np.float32).reshape(1, 1, 34, 34)
    run = example("UNFOLD", input=images, output=(1, 9, 32**2), **members)
    assert len(model_of(form_of(run.desc)).SerializeToString()) < 1_000
    assert_conforms(OnnxRuntimeBackend(), run)


def test_a_limit_beyond_float16_is_infinite() -> None:
    """And nothing is said of it."""
    run = example("ELEMENT_WISE_CLIP", np.float16, input=[-1.0, 3.0, np.inf], min=0.0, max=1e5)
    assert_conforms(OnnxRuntimeBackend(), run)


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_a_missing_package_is_told(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, backend_module.__name__)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        BackendError, match=r"needs onnx and ONNX Runtime; run: pip install 'dml-conformance\[onnxruntime\]'"
    ):
        load_backend("onnxruntime")
    monkeypatch.undo()
    importlib.import_module(backend_module.__name__)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("onnxruntime:tpu", "there is no device 'tpu'; expected one of cpu, cuda, dml, openvino"),
        ("onnxruntime:dml", "has no DmlExecutionProvider; run: pip install onnxruntime-directml"),
    ],
)
def test_a_provider_that_is_not_there_is_told(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module.onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(BackendError) as raised:
        load_backend(name)
    assert told in str(raised.value)
