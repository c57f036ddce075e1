"""ADAM_OPTIMIZER: a step of training by Adam (Kingma and Ba, Adam: a method for stochastic optimization, 2015)."""

from __future__ import annotations

from dml_conformance.spec.constraints import checked, leading_ones, same_sizes, types_comparable, within
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise, first_sizes
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import AdamOptimizer

NAME = "ADAM_OPTIMIZER"
STEP = "TrainingStepTensor"  # a group of its own
ALIKE = ("InputFirstMomentTensor", "InputSecondMomentTensor", "GradientTensor")  # like InputParametersTensor


def _step_data_type(desc: AdamOptimizer, level: Level) -> Breach | None:
    found = desc.training_step_tensor.data_type
    return None if found is DataType.UINT32 else Breach(f"{STEP}.DataType", found.name)


SPECS = (
    element_wise(
        NAME,
        *(same_sizes(name, "InputParametersTensor") for name in ALIKE),
        leading_ones(STEP, 0, name="step-sizes"),
        checked("step-data-type", _step_data_type, Category.LEVEL_SUPPORT, types_comparable),
        within(("Beta1", "Beta2"), 0.0, 1.0, name="decay-rates"),
        shape=first_sizes,
    ),
)
