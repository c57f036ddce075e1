"""What PyTorch computes, beside the reference, in the boundaries of every operator."""

from __future__ import annotations

from typing import Any

import pytest
from family_cases import assert_conforms, boundary_runs, small_runs
from triton_interpreter import HAS_CUDA

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.backends.torch import operators as torch_rows
from dml_conformance.backends.torch.decisions import decide
from dml_conformance.backends.torch.operators import TorchOperator, torch_operators
from dml_conformance.spec.accuracy import DIRECTML, TOLERANCES
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.registry import operators
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import resize_at

# Operators whose elements are those of their places.
POSITIONAL = ("DIAGONAL_MATRIX", "DIAGONAL_MATRIX1", "FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE")


@pytest.mark.few(3, 48)
@pytest.mark.parametrize("name", operators())
def test_torch_agrees_with_the_reference(name: str) -> None:
    agrees(TorchBackend("cpu"), name)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device here")
@pytest.mark.few(3, 48)
@pytest.mark.parametrize("name", operators())
def test_torch_on_cuda_agrees_with_the_reference(name: str) -> None:
    agrees(TorchBackend("cuda"), name)


@pytest.mark.few(3, 48)
@pytest.mark.parametrize("name", [name for name, of in torch_operators().items() if of.apart or of.alike])
def test_parts_make_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three elements of the largest tensor or little more, as far as the operator can be cut."""
    counts, parts = [], TorchOperator.parts

    def counted(*of: Any) -> list[Any]:
        found = list(parts(*of))
        counts.append(len(found))
        return found

    monkeypatch.setattr(torch_rows, "MOST_IN_A_PART", 3)
    monkeypatch.setattr(TorchOperator, "parts", counted)
    for run in (*small_runs(name), *boundary_runs(name, HIGHEST)):
        assert_conforms(TorchBackend("cpu"), run, [DIRECTML])
    assert max(counts) > 1 or name in POSITIONAL


def agrees(backend: TorchBackend, name: str) -> None:
    """Under each tolerance, at the newest level; what is computed is the same at the others."""
    for run in small_runs(name):
        assert_conforms(backend, run, TOLERANCES.values())
    for level in dict.fromkeys((operators()[name].introduced_in, HIGHEST)):
        for run in boundary_runs(name, level):
            assert_conforms(backend, run, TOLERANCES.values() if level is HIGHEST else [DIRECTML])


def test_sizes_that_differ_are_refused() -> None:
    """Where all tensors have the same sizes; these operators are not tried to decide."""
    alike = [name for name, operator in torch_operators().items() if operator.alike and operators()[name].input_fields]
    assert len(alike) > 80
    for name in alike:
        context = Context.at(SeededChooser(name), operators()[name], HIGHEST).but(layout="packed", complete=True)
        desc = builder(name).build(context)
        assert decide(desc, HIGHEST).accepted, name
        output = outputs(desc)[0]
        longer = resize_at(desc, output.key, -1, output.tensor.sizes[-1] + 1)
        assert not decide(longer, HIGHEST).accepted, name
