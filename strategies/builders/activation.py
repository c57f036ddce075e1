"""Descriptors of activation functions of one number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.activation import SPECS
from dml_conformance.spec.structures import Activation
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit

# What attributes are tried with, the usual value first.
_NUMBERS: dict[str, dict[str, Sequence[float]]] = {
    "CELU": {"alpha": (1.0, 0.5, 20.0, -1.0, 0.0)},
    "ELU": {"alpha": (1.0, 0.5, -1.5, 1e4, 0.0)},
    "HARD_SIGMOID": {"alpha": (0.2, 1.0, -0.5, 100.0, 0.0), "beta": (0.5, 0.0, -0.25, 1.0)},
    "HARD_SWISH": {"alpha": (1 / 6, 1.0, -0.5, 100.0, 0.0), "beta": (0.5, 0.0, -0.25, 1.0)},
    "LEAKY_RELU": {"alpha": (0.01, 1.0, -0.5, 3.0, 1e4, 0.0)},
    "LINEAR": {"alpha": (1.0, -0.75, 3.0, 0.2, 0.0), "beta": (0.0, 0.5, -1.25)},
    "PARAMETRIC_SOFTPLUS": {"alpha": (1.0, -0.5, 3.0, 0.0), "beta": (1.0, -2.0, 0.25, 30.0, 0.0)},
    "SCALED_ELU": {"alpha": (1.6732632, 0.5, -1.0, 0.0), "gamma": (1.050701, 3.0, -0.5, 0.0)},
    "SCALED_TANH": {"alpha": (1.0, 1.7159, -2.0, 0.0), "beta": (0.5, 2 / 3, -1.0, 100.0, 0.0)},
    "SHRINK": {"bias": (0.0, 3.0, 0.5, -1.0), "threshold": (0.5, 2.0, 0.0, -1.0)},
    "SOFTPLUS": {"steepness": (1.0, 2.0, 1.5, 50.0)},
    "SWISH": {"sigmoid_input_scale": (1.0, 1.702, -1.0, 10.0, 0.0)},
    "THRESHOLDED_RELU": {"alpha": (1.0, 0.5, -2.0, 0.0)},
}
ATTRIBUTES = {
    name: {attribute: tuple(map(float32, every)) for attribute, every in attributes.items()}
    for name, attributes in _NUMBERS.items()
}


class SoftplusBuilder(ElementWiseBuilder[Activation]):
    def edges(self, ctx: Context) -> Iterator[Activation]:
        """Any steepness from 6_4 on."""
        yield from super().edges(ctx)
        for steepness in (0.5, -1.0, 2.0**-6, 0.0) if ctx.level >= Level.L6_4 else ():
            yield edit(self.build(ctx), steepness=steepness)


BUILDERS = {
    spec.name: ElementWiseBuilder[Activation](spec.name, **ATTRIBUTES.get(spec.name.removeprefix("ACTIVATION_"), {}))
    for spec in SPECS
} | {"ACTIVATION_SOFTPLUS": SoftplusBuilder("ACTIVATION_SOFTPLUS", **ATTRIBUTES["SOFTPLUS"])}
