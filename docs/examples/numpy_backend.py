"""What NumPy's functions give for operators whose results are rounded: of FLOAT32, and for FLOAT16 rounded again."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.base import Bindings, Capabilities
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.reference.layout import NUMBERS, bits
from dml_conformance.backends.reference.operators import OPERATORS
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs as input_slots

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
COMPUTED_IN = {"float16": np.float32, **dict.fromkeys(INTEGERS, np.int64)}


class NumPyBackend(ReferenceBackend):
    """Computes in FLOAT32 what the reference computes in FLOAT64."""

    def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(super().capabilities(), name="numpy")

    def execute(self, desc: Any, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        target = desc.output_tensor
        arrays = {slot.key: bits(inputs[slot.key], slot.tensor) for slot in input_slots(desc)}
        found = OPERATORS[desc.operator](desc, arrays)["output_tensor"]
        arguments = [each.astype(COMPUTED_IN.get(each.dtype.name, each.dtype)) for each in found.arguments]
        with np.errstate(all="ignore"):
            if found.inner is not None:
                taken, rest = arguments[: found.inner.takes], arguments[found.inner.takes :]
                arguments = [found.inner.function(*taken), *rest]
            results = found.function(*arguments).astype(NUMBERS[target.data_type])
        bits(outputs["output_tensor"], target)[...] = results.view(f"u{target.data_type.size}")
