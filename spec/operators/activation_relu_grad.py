"""The gradient of the rectifier: ACTIVATION_RELU_GRAD."""

from __future__ import annotations

from dml_conformance.spec.operators._element_wise import element_wise

SPECS = (element_wise("ACTIVATION_RELU_GRAD"),)
