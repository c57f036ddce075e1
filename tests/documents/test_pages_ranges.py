"""Intervals in the text on a field: which brackets are one, and what belongs to it."""

from __future__ import annotations

import pytest
from pages_support import FRONT, at, parsed

from dml_conformance.documents.read.model import PrintedInterval


def written(interval: PrintedInterval) -> str:
    """An interval as mathematics writes it."""
    opening, closing = "[" if interval.low_closed else "(", "]" if interval.high_closed else ")"
    return f"{opening}{interval.low}, {interval.high}{closing}"


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        # A bound belongs to an interval where its bracket is square.
        ("It lies in [0, 4].", ["[0, 4]"]),
        ("It lies in [0, 4).", ["[0, 4)"]),
        ("It lies in (0, 4].", ["(0, 4]"]),
        ("It lies in (0, 4).", ["(0, 4)"]),
        # Names between brackets are an interval where one of them is square; in round ones they are an aside.
        ("It lies in [Low, High].", ["[Low, High]"]),
        ("It lies in [Low, High).", ["[Low, High)"]),
        ("It lies in (Low, High].", ["(Low, High]"]),
        ("Both tensors (InputTensor, OutputTensor) are in [0, 4).", ["[0, 4)"]),
        ("It lies in (-1, InputTensor.DimensionCount).", ["(-1, InputTensor.DimensionCount)"]),
        ("It lies in (-inf, 0].", ["(-inf, 0]"]),
        # Wherever it stands in a sentence.
        ("[0, 4) is what it lies in.", ["[0, 4)"]),
        ("It is limited: [0, 4).", ["[0, 4)"]),
        ("It is below 8, [0, 4) if signed, ([4, 8) if not).", ["[0, 4)", "[4, 8)"]),
        ("At level 1 [0, 4), at level 2 - [0, 8).", ["[0, 4)", "[0, 8)"]),
        # Neither a list of two nor indices, and what follows them is read.
        ("With Sizes = [2, 3], it lies in [0, 4).", ["[0, 4)"]),
        ("Of Sizes[0, 1], one lies in [0, 4).", ["[0, 4)"]),
        ("Of f(0, 1)[2, 3], one lies in [0, 4) and one in (4, 5).", ["[0, 4)", "(4, 5)"]),
    ],
)
def test_intervals_in_the_text_on_a_field(text: str, intervals: list[str]) -> None:
    page = f"{FRONT}## Members\n\n`Axis`\n\n{text}\n"
    found = parsed(page).members[0].ranges
    assert [written(interval) for interval in found] == intervals
    assert [at(page, interval.place)[0] for interval in found] == [interval[0] for interval in intervals]
