"""What each operator of ONNX becomes, as the families in `operators/` state it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from dml_conformance.backends.onnxruntime.table import MICROSOFT
from dml_conformance.conformance.exchange.onnx import operators as families
from dml_conformance.conformance.exchange.onnx.node import Mapped, ModelNode, Sizes

__all__ = ["MICROSOFT", "Mapping", "mappings", "maps", "shape_of"]


class Mapping(NamedTuple):
    """What one operator of ONNX becomes.

    Attributes:
        make: the operations of a node.
        to: the operators of DirectML that may come of it; none where its value is the memory of another one.
        sizes: of the outputs, from the node, for operators that ONNX has no schema of.
        typed_by: the input whose data type each of these outputs has; the last one is that of all that follow.
    """

    make: Callable[[ModelNode], Mapped]
    to: tuple[str, ...]
    sizes: Callable[[ModelNode], list[Sizes]] | None = None
    typed_by: tuple[int, ...] = (0,)


_FOUND: dict[tuple[str, str], Mapping] = {}


def maps(
    op_types: str,
    to: str = "",
    domain: str = "",
    sizes: Callable[[ModelNode], list[Sizes]] | None = None,
    *typed_by: int,
) -> Callable[[Callable[[ModelNode], Mapped]], Callable[[ModelNode], Mapped]]:
    """State that a function maps operators of ONNX, named with spaces between, to some of DirectML."""

    def state(make: Callable[[ModelNode], Mapped]) -> Callable[[ModelNode], Mapped]:
        for op_type in op_types.split():
            assert (domain, op_type) not in _FOUND, op_type
            _FOUND[domain, op_type] = Mapping(make, tuple(to.split()), sizes, typed_by or (0,))
        return make

    return state


@cache
def mappings() -> dict[tuple[str, str], Mapping]:
    """What is mapped, by domain and operator."""
    for module in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return dict(sorted(_FOUND.items()))


def shape_of(n: int) -> Callable[[ModelNode], list[Sizes]]:
    """The first output has the sizes of an input."""
    return lambda node: [node.input(n).sizes]
