"""Descriptors of ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from dml_conformance.strategies.builders._element_wise import ElementWiseBuilder

BUILDERS = {"ACTIVATION_RELU_GRAD": ElementWiseBuilder("ACTIVATION_RELU_GRAD")}
