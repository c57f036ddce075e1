"""DML_OPERATOR_VALUE_SCALE_2D: elements of an image scaled, and moved by the bias of their channel."""

from __future__ import annotations

from dml_conformance.spec.constraints import checked
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import ValueScale

NAME = "VALUE_SCALE_2D"
CHANNELS = 1  # the dimension
COUNTS = (1, 3)


def _one_or_three(desc: ValueScale, level: Level) -> Breach | None:
    return None if len(desc.bias) in COUNTS else Breach("ChannelCount", str(len(desc.bias)))


def _as_many_as_channels(desc: ValueScale, level: Level) -> Breach | None:
    count, channels = len(desc.bias), desc.input_tensor.sizes[CHANNELS]
    return None if count == channels else Breach("ChannelCount", f"{count}, InputTensor has {channels} channels")


SPECS = (
    element_wise(
        NAME,
        checked("channel-count", _one_or_three, Category.ATTRIBUTES, lambda operator: frozenset()),
        checked("channels", _as_many_as_channels, after=("dimension-counts",)),
    ),
)
