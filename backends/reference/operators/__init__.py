"""What each operator computes, to be read as its definition: a module for each family, named as in `spec/operators/`.

A module exports `OPERATORS`, a function for each operator: it gets the descriptor and the input tensors by slot as
arrays of bit patterns, and returns the outputs by slot, as arrays or as expectations. It may export `CUTS` too; see
`parts`. Modules whose names begin with an underscore are shared by others.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from dml_conformance.backends.reference.layout import Arrays, Compute, as_bits, as_numbers, bits
from dml_conformance.backends.reference.parts import Cut

__all__ = ["CUTS", "OPERATORS", "Arrays", "Compute", "as_bits", "as_numbers", "bits"]


def _stated(name: str) -> Iterator[tuple[str, Any]]:
    """What the modules export by this name."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            yield from getattr(importlib.import_module(f"{__name__}.{module.name}"), name, {}).items()


OPERATORS: dict[str, Compute] = dict(_stated("OPERATORS"))
CUTS: dict[str, Cut] = dict(_stated("CUTS"))
