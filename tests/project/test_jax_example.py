"""The example that makes a backend of JAX: it conforms where JAX is not known to differ, and wrong rows are seen.

JAX is imported by the backend's own process alone: its threads forbid that other tests fork theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from family_cases import example, executed, numbers
from places import ROOT

from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.spec.accuracy import DIRECTML, PRECISE
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.cases import numbered_case

EXAMPLES = ROOT / "docs" / "examples"
EXAMPLE = f"{EXAMPLES / 'jax_backend.py'}:JaxBackend"
CASES, TRIED = 6, 2_000  # of an operator that are judged, and of how many
KINDS = (
    *("ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_IF", "ELEMENT_WISE_BIT_SHIFT_RIGHT", "CAST"),
    *("ELEMENT_WISE_TANH", "ELEMENT_WISE_ATAN_YX", "ELEMENT_WISE_LOGICAL_LESS_THAN", "ELEMENT_WISE_MODULUS_FLOOR"),
    *("ELEMENT_WISE_CLIP1", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_QUANTIZE_LINEAR", "ACTIVATION_SCALED_ELU"),
    *("ACTIVATION_SOFTMAX1", "REDUCE", "ARGMAX", "CUMULATIVE_SUMMATION", "TOP_K1"),
    *("GEMM", "CONVOLUTION", "AVERAGE_POOLING1", "MAX_POOLING2", "MEAN_VARIANCE_NORMALIZATION2"),
    *("GATHER", "SCATTER", "SLICE1", "SPLIT", "JOIN", "TILE", "PADDING1", "FILL_VALUE_CONSTANT"),
)
FAULTS = {
    "ELEMENT_WISE_ADD": "lambda d, a, b: a - b",
    "GEMM": "lambda d, a, b, c=None: (a @ b).astype('bfloat16')",
    "TILE": "lambda d, x: jax_backend.jnp.repeat(x, d.repeats[-1], -1).reshape(d.made[0].shape)",
}
# What docs/explanation/jax.md has of subnormal numbers.
SUBNORMAL: dict[str, tuple[dict[str, Any], float]] = {
    "ELEMENT_WISE_SIGN": ({"input": [1e-40]}, 0.0),
    "ELEMENT_WISE_FLOOR": ({"input": [-1e-45]}, -0.0),
    "ELEMENT_WISE_LOG": ({"input": [1.25e-41]}, -np.inf),
    "ELEMENT_WISE_SQRT": ({"input": [1.25e-41]}, 0.0),
    "ACTIVATION_GELU": ({"input": [1.25e-41]}, 0.0),
    "ELEMENT_WISE_EXP": ({"input": [-88.0]}, 0.0),
    "ELEMENT_WISE_MAX": ({"a": [1e-40], "b": [0.0]}, 0.0),
    "ELEMENT_WISE_CLIP": ({"input": [1e-40], "min": 0.0, "max": 1.0}, 0.0),
    "ELEMENT_WISE_SUBTRACT": ({"a": [1.5e-38], "b": [1.2e-38]}, 0.0),
    "ELEMENT_WISE_ATAN_YX": ({"a": [-1e-45], "b": [9.6e-4]}, -0.0),
    "ELEMENT_WISE_MODULUS_FLOOR": ({"a": [1e-45], "b": [-0.188]}, 1e-45),
}


def judged(judge: Judge, operator: str) -> list[Record]:
    """The first cases within the claims."""
    every = (numbered_case(1, operator, HIGHEST, number) for number in range(TRIED))
    valid = (case for case in every if case.outcome is Outcome.ACCEPT and case.data is not None)
    records = (judge.record(case, Phase.SWEEP) for case in valid)
    return list(islice((record for record in records if record.verdict is not Verdict.NOT_SUPPORTED), CASES))


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with closing(IsolatedBackend(EXAMPLE)) as backend:
        yield Judge(backend, EXAMPLE)


@pytest.mark.few(8)
@pytest.mark.parametrize("operator", KINDS)
def test_it_conforms(operator: str, judge: Judge) -> None:
    records = judged(judge, operator)
    assert len(records) == CASES
    assert {record.verdict for record in records} == {Verdict.PASS}, [record.reason for record in records]


@pytest.mark.parametrize("operator", SUBNORMAL)
def test_subnormal_numbers_are_taken_for_zero(operator: str, judge: Judge) -> None:
    members, known = SUBNORMAL[operator]
    run = example(operator, **members)
    found = numbers(executed(judge.backend, run)["output_tensor"], DataType.FLOAT32)
    assert found == np.float32(known)
    assert run.holds(found, tolerance=DIRECTML).all()
    assert not run.holds(found, tolerance=PRECISE).any()


def test_what_it_claims(judge: Judge) -> None:
    claims = judge.capabilities
    assert (claims.name, claims.enforces, claims.accelerated) == ("jax:cpu", {Category.EXECUTION}, False)
    assert len(claims.operators) == 123
    assert set(KINDS) <= set(claims.operators)


@pytest.mark.parametrize("operator", FAULTS)
def test_a_wrong_row_is_found(operator: str, tmp_path: Path, isolated: Callable[..., IsolatedBackend]) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        f"import sys\nsys.path.append({str(EXAMPLES)!r})\nimport jax_backend\n"
        f"jax_backend.OPERATORS[{operator!r}] = {FAULTS[operator]}\nWrong = jax_backend.JaxBackend\n"
    )
    name = f"{file}:Wrong"
    records = judged(Judge(isolated(name), name), operator)
    assert Verdict.FAIL in {record.verdict for record in records}, [record.reason for record in records]


def test_a_device_that_is_not_there_is_told(isolated: Callable[..., IsolatedBackend]) -> None:
    with pytest.raises(BackendError, match="JAX has no device 'cpu:7'"):
        isolated(f"{EXAMPLE}:cpu:7")
