"""Descriptors of ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from dml_conformance.spec.structures import ActivationReluGrad
from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

BUILDERS = {"ACTIVATION_RELU_GRAD": ElementWiseBuilder[ActivationReluGrad]("ACTIVATION_RELU_GRAD")}
