"""Expected outputs that others wrote: the WebNN conformance tests, on every backend that runs on the host."""

from __future__ import annotations

from collections import Counter

import pytest
import webnn
from slow_reference import bind, read_output

from dml_conformance.backends.base import Backend
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.validator import Outcome, decide

CASES = [
    pytest.param(case, id=f"{vector['id']}-{case.desc.operator}")
    for vector in webnn.vectors()
    for case in webnn.cases(vector)
]


@pytest.fixture(scope="module", params=["reference", "torch"])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "reference":
        return ReferenceBackend()
    pytest.importorskip("torch")
    from dml_conformance.backends.torch import TorchBackend

    return TorchBackend("cpu")


def test_all_vectors_are_here() -> None:
    counts = Counter(vector["op"] for vector in webnn.vectors())
    assert counts == {"gather": 38, "gather_elements": 12, "gather_nd": 14, "tile": 6}
    assert len({vector["id"] for vector in webnn.vectors()}) == 70
    # gather_nd is stated twice: as GATHER_ND and as GATHER_ND1 without batches.
    assert len(CASES) == 70 + 14


@pytest.mark.parametrize("case", CASES)
def test_vector(case: webnn.Case, backend: Backend) -> None:
    assert decide(case.desc, HIGHEST).outcome is Outcome.ACCEPT
    assert backend.validate(case.desc, HIGHEST).accepted
    tensor = getattr(case.desc, "output_tensor")  # noqa: B009 - OperatorDesc names no tensors
    output = bind(tensor, b"\xcd")
    backend.execute(case.desc, HIGHEST, case.inputs, {"output_tensor": output})
    assert read_output(case.desc, output) == case.expected
