"""Gradients of images: what is added up elsewhere, in parts, in another way."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dml_conformance.spec.field_kinds import enumeration
from strength.mutants.base import Arrays, WrongValues, fault, plants, wide

LINEAR = enumeration("DML_INTERPOLATION_MODE").LINEAR
DECREASING = enumeration("DML_AXIS_DIRECTION").DECREASING


class OtherGradient(WrongValues, abstract=True):
    """Adds elements up at other places, or others, in FLOAT64 and rounded once."""

    families, has = ("resample",), ("input_gradient_tensor",)
    rules = ("values", "accuracy")

    def found(self, desc: Any, arrays: Arrays) -> Any:
        found = wide(desc, arrays)["input_gradient_tensor"]
        for d, size in enumerate(desc.output_gradient_tensor.sizes):
            offsets = desc.input_pixel_offsets[d], desc.output_pixel_offsets[d]
            coordinates = self.coordinates(np.arange(found.shape[d]), desc.scales[d], *offsets)
            found = np.moveaxis(self.along(desc, np.moveaxis(found, d, 0), coordinates, size), 0, d)
        return {"output_gradient_tensor": self.scaled(desc, found)}

    def coordinates(self, numbers: Any, scale: float, of_input: float, of_output: float) -> Any:
        return (numbers - of_output) / scale - of_input

    def along(self, desc: Any, terms: Any, coordinates: Any, size: int) -> Any:
        """The sums along the first dimension."""
        found = np.zeros((size, *terms.shape[1:]))
        for place, weight in self.weights(desc, coordinates, size):
            self.added(found, place.astype(np.int64), terms * weight.reshape(-1, *(1,) * (terms.ndim - 1)))
        return found

    def weights(self, desc: Any, coordinates: Any, size: int) -> list[tuple[Any, Any]]:
        """The places of elements and their weights there."""
        if desc.interpolation_mode == LINEAR:
            clipped = np.clip(coordinates, 0, size - 1)
            below = np.floor(clipped)
            weight = self.part(clipped - below)
            return [(below, 1 - weight), (np.minimum(below + 1, size - 1), weight)]
        direction = getattr(desc, "rounding_direction", None)
        if direction is None:
            place = np.floor(coordinates + 0.5)
        else:
            place = np.floor(coordinates) if direction == DECREASING else np.ceil(coordinates)
        return [(np.clip(place, 0, size - 1), self.of_place(place, size))]

    def part(self, weight: Any) -> Any:
        return weight

    def of_place(self, place: Any, size: int) -> Any:
        """The weight of an element by nearest neighbour."""
        return np.ones(place.shape)

    def added(self, found: Any, place: Any, terms: Any) -> None:
        np.add.at(found, place, terms)

    def scaled(self, desc: Any, found: Any) -> Any:
        return found


@plants("added", OtherGradient)
def LastOneWins(found: Any, place: Any, terms: Any) -> None:
    """Stores where it is to add, as threads without atomics do."""
    found[place] += terms


@plants("added", OtherGradient)
def AddsInFloat16(found: Any, place: Any, terms: Any) -> None:
    half = found.astype(np.float16)
    for n, at in enumerate(place):
        half[at] += terms[n].astype(np.float16)
    found[...] = half


@plants("added", OtherGradient)
def LastTermDropped(found: Any, place: Any, terms: Any) -> None:
    if len(place) > 1:
        place, terms = place[:-1], terms[:-1]
    np.add.at(found, place, terms)


@plants("added", OtherGradient)
def FirstTermTwice(found: Any, place: Any, terms: Any) -> None:
    np.add.at(found, place, terms)
    if len(place) > 1:
        found[place[0]] += terms[0]


plants("part", OtherGradient).each(
    WeightsExchanged=fault(
        lambda weight: np.where(weight == 0, weight, 1 - weight), "Gives the nearer element the lesser part."
    ),
    WeightsOfGradientsIn8Bits=lambda weight: np.rint(weight * 256) / 256,
    NothingForTheSecondNeighbour=lambda weight: np.zeros_like(weight),
)


plants("of_place", OtherGradient).each(
    BeyondTheEdgesDropped=fault(
        lambda place, size: (place >= 0) & (place < size), "Has nothing come of the edges but their own."
    ),
)
plants("coordinates", OtherGradient).each(
    MultipliesByScales=lambda numbers, scale, of_input, of_output: (numbers - of_output) * scale - of_input,
    OffsetsExchanged=lambda numbers, scale, of_input, of_output: (numbers - of_input) / scale - of_output,
)
plants("scaled", OtherGradient).each(
    DividedByTheScales=fault(lambda desc, found: found / prod(desc.scales), "Takes means where sums are asked for."),
)


@plants("descriptor", WrongValues, families=("resample",), has=("input_gradient_tensor",))
def TheOtherMode(desc: Any) -> Any:
    """Takes the nearest neighbour for linear interpolation, and the other way round."""
    return replace(desc, interpolation_mode=1 - desc.interpolation_mode)
