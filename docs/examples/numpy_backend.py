"""What NumPy's own functions give for functions of one number: of FLOAT32, and for FLOAT16 rounded once more."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.base import Bindings, Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.reference.layout import NUMBERS, bits
from dml_conformance.backends.reference.operators import OPERATORS
from dml_conformance.spec.levels import Level


class NumPyBackend(ReferenceBackend):
    """Computes in FLOAT32 what the reference computes in FLOAT64."""

    def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(super().capabilities(), name="numpy")

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        source, target = desc.input_tensor, desc.output_tensor
        found = OPERATORS[desc.operator](desc, {"input_tensor": bits(inputs["input_tensor"], source)})["output_tensor"]
        with np.errstate(all="ignore"):
            results = found.function(found.arguments[0].astype(np.float32)).astype(NUMBERS[target.data_type])
        bits(outputs["output_tensor"], target)[...] = results.view(f"u{target.data_type.size}")
