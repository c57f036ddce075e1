"""What the library was seen to do where the pages leave it open, for those who want that settled.

An observation answers for one rule that has an erratum. It settles a descriptor only where it is fully understood: the
library always does the same, or decides by a condition that is written down here. `spec audit` holds the live library
to every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.libraries import libraries
from dml_conformance.spec.operator import OperatorDesc, outputs
from dml_conformance.spec.registry import of_families
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.tensor import TensorDesc, from_first_above_one, span_in_elements


class ObservationWitness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A small descriptor that the pages leave open for one rule only, and the library's answer.

    Attributes:
        answer: what the library answers.
        descriptor: in the form that `spec.forms` reads.
    """

    answer: Literal["accept", "reject"]
    descriptor: dict[str, Any]

    @property
    def desc(self) -> OperatorDesc:
        return desc_from_json(self.descriptor)


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the library does with descriptors that break one rule which the pages leave open.

    Attributes:
        rule: the rule's id.
        answer: `accept` or `reject` where the library always does the same; `depends` where `CONDITIONS` says when it
            accepts.
        libraries: levels of the builds that were seen to do it.
        finding: what they do, in a sentence or two.
        evidence: how it was found.
        witnesses: descriptors for every answer that there is.
    """

    rule: str
    answer: Literal["accept", "reject", "depends"]
    libraries: tuple[str, ...]
    finding: str
    evidence: str
    witnesses: tuple[ObservationWitness, ...]

    @property
    def source(self) -> str:
        """Where the decision comes from, as a page is for what the pages decide."""
        return f"observed: {libraries()[self.libraries[-1]]}"

    def accepts(self, desc: OperatorDesc) -> bool | None:
        """Whether the library accepts a descriptor that breaks the rule; None where it gives no answer, and dies."""
        return CONDITIONS[self.rule](desc) if self.answer == "depends" else self.answer == "accept"

    def as_json(self) -> dict[str, Any]:
        """What a report tells of it."""
        return {"rule": self.rule, "source": self.source, "libraries": list(self.libraries), "finding": self.finding}


def _plausible_output_strides(desc: OperatorDesc) -> bool:
    """No stride of 0, no two alike, and room for all elements, dimensions of size 1 left out.

    This is necessary for elements to have memory of their own, not sufficient: sizes {2,3} with strides {4,2} pass, and
    two of the six elements share a place.
    """
    return all(_has_room(slot.tensor) for slot in outputs(desc))


def _has_room(tensor: TensorDesc) -> bool:
    wide = [stride for size, stride in zip(tensor.sizes, tensor.effective_strides, strict=True) if size > 1]
    if 0 in wide or len(set(wide)) < len(wide):
        return False
    return span_in_elements(tensor.sizes, tensor.effective_strides) >= tensor.element_count


def _index_batch_found_in_input(desc: Any) -> bool | None:
    """The leading index sizes are taken for a batch that the input must begin with; leading ones are left out on both.

    They are at most as many as there are dimensions before Axis.
    """
    if desc.index_dimensions > desc.axis + 1:
        return None  # DIV-gather-writes-before-its-sizes
    batch = from_first_above_one(desc.indices_tensor.sizes[: len(desc.indices_tensor.sizes) - desc.index_dimensions])
    of_input = from_first_above_one(desc.input_tensor.sizes)
    if len(batch) > desc.axis:
        return False
    return None if len(of_input) < len(batch) else bool(of_input[: len(batch)] == batch)


# Whether a descriptor is accepted, for each rule whose observation depends on it.
CONDITIONS: Mapping[str, Callable[[Any], bool | None]] = {
    "TENSOR.output-overlap": _plausible_output_strides,
    "GATHER.leading-index-sizes": _index_batch_found_in_input,
} | of_families("CONDITIONS")


@cache
def observations() -> dict[str, Observation]:
    """All observations by the rule that they are about."""
    return {observation.rule: observation for observation in read_data("observations", list[Observation])}
