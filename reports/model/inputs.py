"""What the inputs of a small case hold, as arrays that can be pasted into Python."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference.layout import bits
from dml_conformance.spec.case import MODEL_ORIGIN, Case
from dml_conformance.spec.descriptor import Slot, inputs, outputs
from dml_conformance.spec.expectation import Bits
from dml_conformance.strategies.values import NUMPY_TYPE, buffer_size, materialize

MOST_BYTES = 2**20  # of all inputs together; what is larger is not made for this
MOST_SHOWN = 32  # elements of an array that is shown whole
FIRST = 8  # elements of any other

Index = tuple[int | slice, ...]


def input_lines(case_json: Mapping[str, Any], place: tuple[int, ...] = ()) -> list[str]:
    """For each input of a case a line such as `InputTensor = np.array([-4, 0, 0], np.int32)`.

    Before them stands the layer that the case is, where it is one of a model. Of a large one these are the first
    elements, and those that a wrong element depends on if it has the output's sizes, or more where these are 1. None of
    a case that is not executed, is too large to be made for this, or cannot be read.

    Args:
        case_json: as a record has it.
        place: coordinates in an output.
    """
    layer = _layer(case_json)
    return layer + (_input_lines(case_json, place) if case_json.get("data") else [])


def _layer(case_json: Mapping[str, Any]) -> list[str]:
    origin = str(case_json.get("origin", ""))
    return [f"Layer of {origin.removeprefix(MODEL_ORIGIN)}"] if origin.startswith(MODEL_ORIGIN) else []


def _input_lines(case_json: Mapping[str, Any], place: tuple[int, ...]) -> list[str]:
    try:
        case = Case.from_json(dict(case_json))
        slots = inputs(case.desc)
        if sum(_bytes_made(slot) for slot in slots) > MOST_BYTES:
            return []
        contents = materialize(case)
        sizes = {slot.tensor.sizes for slot in outputs(case.desc)}
        return [line for slot in slots for line in _lines(slot, contents[slot.key], _needed(slot, place, sizes))]
    except (ValueError, TypeError, LookupError, RecursionError):
        return []


def _bytes_made(slot: Slot) -> int:
    """Bytes that are made to look at an input; where two elements share one, these are taken apart."""
    is_taken_apart = slot.tensor.data_type.shares_bytes
    return buffer_size(slot.tensor) + (slot.tensor.element_count if is_taken_apart else 0)


def _needed(slot: Slot, place: tuple[int, ...], outputs_sizes: Collection[tuple[int, ...]]) -> Index:
    """Coordinates of what an element at a place depends on, a slice along what is reduced; () where none are known."""
    for sizes in outputs_sizes:
        pairs = list(zip(slot.tensor.sizes, sizes, strict=False))
        if len(slot.tensor.sizes) == len(sizes) == len(place) and all(there in (here, 1) for here, there in pairs):
            return tuple(n if here == there else slice(None) for n, (here, there) in zip(place, pairs, strict=True))
    return ()


def _lines(slot: Slot, content: Any, needed: Index) -> Iterator[str]:
    tensor = slot.tensor
    elements = bits(Binding(content, 0, content.size), tensor)
    if elements.size <= MOST_SHOWN:
        yield f"{slot.name} = {_array(elements.reshape(-1), slot)}{_reshaped(elements)}"
        return
    sizes = " by ".join(map(str, tensor.sizes))
    yield f"{slot.name}, {sizes}, begins with {_array(elements.flat[:FIRST], slot)}"
    if any(needed) and elements[needed].size <= MOST_SHOWN:
        at = ", ".join(":" if isinstance(n, slice) else str(n) for n in needed)
        yield f"{slot.name}[{at}] = {_array(elements[needed].reshape(-1), slot)}{_reshaped(elements[needed])}"


def _reshaped(elements: Bits) -> str:
    return "" if elements.ndim < 2 else f".reshape({', '.join(map(str, elements.shape))})"


def _array(elements: Bits, slot: Slot) -> str:
    """Elements as Python text; by their bits where they are NaNs that `np.nan` is not."""
    kind = NUMPY_TYPE[slot.tensor.data_type]
    numbers = np.ascontiguousarray(elements).view(kind)
    name = f"np.{kind.name}"
    if kind.kind == "f" and (np.isnan(numbers) & (elements != kind.type(np.nan).view(elements.dtype))).any():
        shown = ", ".join(f"0x{bit:0{kind.itemsize * 2}x}" for bit in elements.tolist())
        return f"np.array([{shown}], np.uint{kind.itemsize * 8}).view({name})"
    return f"np.array([{', '.join(map(_number, numbers))}], {name})"


def _number(number: np.generic) -> str:
    text = str(number)
    return text.replace("nan", "np.nan").replace("inf", "np.inf")
