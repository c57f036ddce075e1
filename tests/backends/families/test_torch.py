"""What PyTorch computes, beside the reference, in the boundaries of every operator."""

from __future__ import annotations

import pytest
from family_cases import assert_conforms, boundary_runs, small_runs

from dml_conformance.backends.torch import TorchBackend
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.registry import operators


@pytest.mark.few(3, 48)
@pytest.mark.parametrize("name", operators())
def test_torch_agrees_with_the_reference(name: str) -> None:
    backend = TorchBackend("cpu")
    for run in small_runs(name):
        assert_conforms(backend, run)
    for level in dict.fromkeys((operators()[name].introduced_in, HIGHEST)):
        for run in boundary_runs(name, level):
            assert_conforms(backend, run)
