"""What each operator computes, to be read as its definition: a module for each family, named as in `spec/operators/`.

A module exports `OPERATORS`, a function for each operator: it gets the descriptor and the input tensors by slot as
arrays of bit patterns, and returns the outputs by slot, as arrays or as expectations. It may export `CUTS` too; see
`parts`. Modules whose names begin with an underscore are shared by others.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers, bits
from dml_conformance.backends.reference.parts import Cuts
from dml_conformance.spec.registry import families

__all__ = ["Arrays", "Compute", "as_bits", "as_numbers", "bits", "compute_of", "cut_of"]


@cache
def _family(operator: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{families()[operator]}")


def compute_of(operator: str) -> Compute:
    """What computes an operator.

    Raises:
        KeyError: DirectML has no such operator.
    """
    found: Compute = _family(operator).OPERATORS[operator]
    return found


def cut_of(operator: str) -> Cuts | None:
    """How an operator's outputs are cut into parts that are computed alone; None where they are not."""
    found: Cuts | None = getattr(_family(operator), "CUTS", {}).get(operator)
    return found
