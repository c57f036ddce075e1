"""Where the library does not do what the pages say: known differences, with id, smallest case and a judgement.

A divergence is recognised in a descriptor by a function of its name below. Nothing here changes a decision: what the
pages say stays what a backend is held to. `spec audit` holds the live library to this list, so that it is complete and
every entry of it still shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, Literal

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.operator import OperatorDesc, is_whole, slots
from dml_conformance.spec.registry import of_families
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.tensor import MAX_ELEMENTS, TensorDesc, from_first_above_one, minimum_size_in_bytes
from dml_conformance.spec.validator import Decision, Outcome

Answer = Literal["accept", "reject", "crash"]


class Divergence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One difference between the specification and the library.

    Attributes:
        id: `DIV-` and a few words.
        operators: names of the operators concerned; empty = all.
        rules: ids of the rules concerned.
        libraries: levels of the builds that show it.
        specification: the decision on such a descriptor.
        answer: the library's; `crash` where its process dies.
        descriptor: the smallest one known that shows it, in the form that `spec.forms` reads.
        finding: what the library does, in a sentence or two.
        fault: who is thought to be wrong.
        reason: why.
        evidence: how it was found.
    """

    id: str
    operators: tuple[str, ...]
    rules: tuple[str, ...]
    libraries: tuple[str, ...]
    specification: Outcome
    answer: Answer
    descriptor: dict[str, Any]
    finding: str
    fault: Literal["page", "library", "unclear"]
    reason: str
    evidence: str

    @property
    def desc(self) -> OperatorDesc:
        return desc_from_json(self.descriptor)

    def explains(self, desc: OperatorDesc, decision: Decision, answer: str) -> bool:
        """Whether this is why the library gave an answer that the decision does not agree with.

        A crash is none of the answers that a decision could ask for, so there the decision is not looked at. Where the
        library accepts, it has to overlook every rule that is broken.
        """
        if answer != self.answer or (self.operators and desc.operator not in self.operators):
            return False
        if answer != "crash" and decision.outcome is not self.specification:
            return False
        if answer == "accept" and not set(decision.rules) <= {*self.rules}:
            return False
        return RECOGNISED_BY[self.id](desc)


@cache
def divergences() -> dict[str, Divergence]:
    """All of them by id, in the order of the data file."""
    return {divergence.id: divergence for divergence in read_data("divergences", list[Divergence])}


def recognise(desc: OperatorDesc, decision: Decision, answer: str) -> Divergence | None:
    """The divergence that explains the library's answer to a descriptor; None if none is known."""
    return next((known for known in divergences().values() if known.explains(desc, decision, answer)), None)


def _tensors(desc: OperatorDesc) -> list[TensorDesc]:
    return [slot.tensor for slot in slots(desc)]


def alignment_below_16(desc: OperatorDesc) -> bool:
    return any(0 < tensor.guaranteed_base_offset_alignment < 16 for tensor in _tensors(desc))


def total_size_of_too_many_elements(desc: OperatorDesc) -> bool:
    sized = (tensor for tensor in _tensors(desc) if tensor.data_type.size)
    return any(tensor.total_tensor_size_in_bytes // tensor.data_type.size > MAX_ELEMENTS for tensor in sized)


def tile_float64(desc: OperatorDesc) -> bool:
    return all(tensor.data_type is DataType.FLOAT64 for tensor in _tensors(desc))


def tile_sizes_in_32_bits(desc: Any) -> bool:
    tensors = (desc.input_tensor, desc.output_tensor)
    if None in tensors or not len(desc.repeats) == len(tensors[0].sizes) == len(tensors[1].sizes):
        return False
    tiled = tuple(size * repeat for size, repeat in zip(tensors[0].sizes, desc.repeats, strict=True))
    return bool(tiled != tensors[1].sizes == tuple(size % 2**32 for size in tiled))


def strided_size_in_32_bits(desc: OperatorDesc) -> bool:
    """Every tensor that is too small has strides, and is large enough where their sum is cut to 32 bits."""
    small = [
        tensor
        for tensor in _tensors(desc)
        if tensor.total_tensor_size_in_bytes < minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    ]
    return bool(small) and all(
        tensor.strides is not None and tensor.total_tensor_size_in_bytes >= _size_in_32_bits(tensor, tensor.strides)
        for tensor in small
    )


def _size_in_32_bits(tensor: TensorDesc, strides: tuple[int, ...]) -> int:
    last = sum((size - 1) * stride for size, stride in zip(tensor.sizes, strides, strict=True)) % 2**32
    return ((last + 1) * tensor.data_type.size + 3) & ~3


def _if_whole(recognised: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """The function, for descriptors that lack no tensor; False for others."""

    @wraps(recognised)
    def guarded(desc: Any) -> bool:
        return is_whole(desc) and recognised(desc)

    return guarded


def gather_writes_before_its_sizes(desc: Any) -> bool:
    return bool(desc.index_dimensions > desc.axis + 1)


@_if_whole
def gather_crops_any_size(desc: Any) -> bool:
    found = _gather_sizes(desc)
    return len(found) > len(desc.output_tensor.sizes) and _aligned(desc) == desc.output_tensor.sizes


@_if_whole
def gather_scalar_index_any_first_size(desc: Any) -> bool:
    return desc.index_dimensions == 0 and _aligned(desc)[1:] == tuple(desc.output_tensor.sizes[1:])


@_if_whole
def gather_index_batch_longer_than_input(desc: Any) -> bool:
    """What the library takes for a batch of indices has at most as many dimensions as there are before Axis, but more
    than the input has. Leading ones are left out on both sides.
    """
    leading = desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.index_dimensions]
    count = len(from_first_above_one(leading))
    return len(from_first_above_one(desc.input_tensor.sizes)) < count <= int(desc.axis)


def _gather_sizes(desc: Any) -> tuple[int, ...]:
    """The input's sizes with that of Axis replaced by the last IndexDimensions index sizes."""
    sizes, of_indices = desc.input_tensor.sizes, desc.indices_tensor.sizes
    last = of_indices[len(of_indices) - desc.index_dimensions :]
    return (*sizes[: desc.axis], *last, *sizes[desc.axis + 1 :])


def _aligned(desc: Any) -> tuple[int, ...]:
    """Those sizes at the right of the output's dimensions; whatever is too much on the left is gone."""
    sizes, count = _gather_sizes(desc), len(desc.output_tensor.sizes)
    return ((1,) * count + sizes)[-count:]


def _id(function: Callable[[Any], bool]) -> str:
    return "DIV-" + function.__name__.replace("_", "-")


RECOGNISED_BY: Mapping[str, Callable[[Any], bool]] = {
    _id(function): function
    for function in (
        alignment_below_16,
        total_size_of_too_many_elements,
        tile_float64,
        tile_sizes_in_32_bits,
        strided_size_in_32_bits,
        gather_writes_before_its_sizes,
        gather_crops_any_size,
        gather_scalar_index_any_first_size,
        gather_index_batch_longer_than_input,
    )
} | of_families("DIVERGENCES")
