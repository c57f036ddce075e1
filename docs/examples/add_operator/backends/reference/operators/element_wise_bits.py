"""ELEMENT_WISE_BIT_NOT: bits that are inverted."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.layout import Array, Arrays, Compute


def bit_not(desc: Any, arrays: Arrays) -> dict[str, Array]:
    """output[c...] = ~input[c...]"""
    return {"output_tensor": ~arrays["input_tensor"]}


OPERATORS: dict[str, Compute] = {"ELEMENT_WISE_BIT_NOT": bit_not}
