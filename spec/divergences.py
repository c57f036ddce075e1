"""Where the library does not do what the pages say: known differences, with id, smallest case and a judgement.

A divergence is recognised in a descriptor by a function of its name, below or in the module of its family. Nothing
here changes a decision: what the pages say stays what a backend is held to. `spec audit` holds the live library to
this list, so that it is complete and every entry of it still shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain, combinations
from typing import Any, Literal

import msgspec

from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, is_whole, slots
from dml_conformance.spec.operators._fused import FUSED_DIVERGENCES
from dml_conformance.spec.registry import of_families
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.table_divergences import TABLE_DIVERGENCES
from dml_conformance.spec.tensor import MAX_ELEMENTS, TensorDesc, minimum_size_in_bytes, span_in_elements
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
        """Whether this is why the library gave an answer that the decision does not agree with, or a part of it.

        A crash is none of the answers that a decision could ask for, so there the decision is not looked at. Where the
        library accepts, this is why it overlooks those of the broken rules that the divergence has.
        """
        if answer != self.answer or (self.operators and desc.operator not in self.operators):
            return False
        if answer != "crash" and decision.outcome is not self.specification:
            return False
        if answer == "accept" and decision.rules and not set(decision.rules) & {*self.rules}:
            return False
        # What is recognised for some operators goes by their tensors, unless it is about one that is missing.
        is_readable = not self.operators or is_whole(desc) or any(r.endswith(".required-tensors") for r in self.rules)
        return is_readable and RECOGNISED_BY[self.id](desc)


class ValueDivergence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A valid case of which the library computes something else than the specification says.

    No library executes where the specification is audited, so these are observations of single runs on a device.

    Attributes:
        id: `DIV-` and a few words.
        rules: ids of the rules that the case fails.
        libraries: levels of the builds that were run.
        case: the smallest one known, in the form that `spec.case` reads.
        computed: what the library came to, the elements of the output in row-major order.
        finding: what the library does, in a sentence or two.
        fault: who is thought to be wrong; `layer` is what translates Direct3D 12 for the device's driver.
        reason: why.
        devices: where it was seen.
    """

    id: str
    rules: tuple[str, ...]
    libraries: tuple[str, ...]
    case: dict[str, Any]
    computed: tuple[float | str, ...]
    finding: str
    fault: Literal["library", "layer", "driver"]
    reason: str
    devices: tuple[str, ...]


@cache
def divergences() -> dict[str, Divergence]:
    """All of them by id, in the order of the data file."""
    return {divergence.id: divergence for divergence in read_data("divergences", list[Divergence])}


@cache
def value_divergences() -> dict[str, ValueDivergence]:
    """All of them by id, in the order of the data file."""
    return {known.id: known for known in read_data("value_divergences", list[ValueDivergence])}


def recognise(desc: OperatorDesc, decision: Decision, answer: str, library: Level) -> tuple[Divergence, ...]:
    """The divergences that explain the answer of the library of a level to a descriptor; none if it is not known why.

    One is enough for most. Where the library accepts, it has to overlook every rule that is broken, and several may
    say why. Those on record for that library come first.
    """
    known = sorted(divergences().values(), key=lambda each: library.label not in each.libraries)
    parts = [each for each in known if each.explains(desc, decision, answer)]
    broken = set(decision.rules) if answer == "accept" else set()
    together = chain.from_iterable(combinations(parts, count) for count in range(1, len(parts) + 1))
    return next((some for some in together if broken <= {rule for each in some for rule in each.rules}), ())


def _tensors(desc: OperatorDesc) -> list[TensorDesc]:
    return [slot.tensor for slot in slots(desc)]


def alignment_below_16(desc: OperatorDesc) -> bool:
    return any(0 < tensor.guaranteed_base_offset_alignment < 16 for tensor in _tensors(desc))


def total_size_of_too_many_elements(desc: OperatorDesc) -> bool:
    sized = (tensor for tensor in _tensors(desc) if tensor.data_type.bits >= 8)
    return any(tensor.total_tensor_size_in_bytes // tensor.data_type.size > MAX_ELEMENTS for tensor in sized)


def strided_size_in_32_bits(desc: OperatorDesc) -> bool:
    """Every tensor that is too small has strides, and is large enough where their sum is cut to 32 bits."""
    return _is_large_enough(desc, lambda tensor, last: (last % 2**32 + 1) * tensor.data_type.size)


def strided_size_in_64_bits(desc: OperatorDesc) -> bool:
    """The same where the size in bytes, before it is rounded up, is cut to 64 bits."""
    return _is_large_enough(desc, lambda tensor, last: (last + 1) * tensor.data_type.size % 2**64)


def _is_large_enough(desc: OperatorDesc, size: Callable[[TensorDesc, int], int]) -> bool:
    small = [
        tensor
        for tensor in _tensors(desc)
        if tensor.total_tensor_size_in_bytes < minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    ]
    return bool(small) and all(
        tensor.strides is not None
        and tensor.total_tensor_size_in_bytes
        >= (size(tensor, span_in_elements(tensor.sizes, tensor.strides) - 1) + 3) & ~3
        for tensor in small
    )


def _id(function: Callable[[Any], bool]) -> str:
    return "DIV-" + function.__name__.replace("_", "-")


# Those of all operators, those of tables, then those that the families' modules export as `DIVERGENCES`.
RECOGNISED_BY: Mapping[str, Callable[[Any], bool]] = {
    **{
        _id(function): function
        for function in (
            alignment_below_16,
            total_size_of_too_many_elements,
            strided_size_in_32_bits,
            strided_size_in_64_bits,
        )
    },
    **TABLE_DIVERGENCES,
    **FUSED_DIVERGENCES,
    **of_families("DIVERGENCES"),
}
