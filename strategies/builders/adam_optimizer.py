"""Descriptors of ADAM_OPTIMIZER."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dml_conformance.spec.datatypes import FLOATS, DataType
from dml_conformance.spec.operator import Field, with_tensors
from dml_conformance.spec.operators.adam_optimizer import NAME, STEP
from dml_conformance.spec.structures import AdamOptimizer
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder
from dml_conformance.strategies.builders._scalars import float32
from dml_conformance.strategies.context import Context
from dml_conformance.strategies.edits import edit
from dml_conformance.strategies.tensors import tensor

# Sizes of weights with LearningRate, Beta1, Beta2 and Epsilon: the paper's, of the first layer of LeNet-5; those of a
# discriminator (Radford and others, DCGAN, 2015), of a Transformer's projection (Vaswani and others, 2017), and of
# GPT-3's (Brown and others, 2020), both of a few columns.
NETWORKS = (
    ((6, 1, 5, 5), (1e-3, 0.9, 0.999, 1e-8)),
    ((8, 3, 5, 5), (2e-4, 0.5, 0.999, 1e-8)),
    ((1, 1, 512, 4), (7e-4, 0.9, 0.98, 1e-9)),
    ((1, 1, 768, 4), (6e-4, 0.9, 0.95, 1e-8)),
)
MEMBERS = {
    "learning_rate": (0.5, float32(1e-3), 1.0, -0.25),
    "beta1": (float32(0.9), 0.5, 0.0),
    "beta2": (float32(0.999), 0.75, 0.0),
    "epsilon": (float32(1e-8), 0.125, 2.0**-23, 0.0),
}


class AdamOptimizerBuilder(ElementWiseBuilder[AdamOptimizer]):
    def types(self, ctx: Context) -> Mapping[str, DataType]:
        """Of those that the table has for the step, UINT32."""
        found = super().types(ctx)
        return {**found, STEP: DataType.UINT32} if found[STEP] in ctx.table[STEP].data_types else found

    def sizes_of(self, field: Field, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return (1,) * len(sizes) if field.name == STEP else sizes

    def edges(self, ctx: Context) -> Iterator[AdamOptimizer]:
        """Besides, weights of real networks, trained as these were."""
        yield from super().edges(ctx)
        for sizes, found in NETWORKS:
            yield edit(self.of_sizes(ctx, sizes), **dict(zip(MEMBERS, map(float32, found), strict=True)))

    def break_step_data_type(self, ctx: Context) -> AdamOptimizer:
        desc, data_type = self.build(ctx), ctx.chooser.variant(sorted(FLOATS))
        return with_tensors(desc, {"training_step_tensor": tensor(ctx, data_type, desc.training_step_tensor.sizes)})


BUILDERS = {NAME: AdamOptimizerBuilder(NAME, **MEMBERS)}
