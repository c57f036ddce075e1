"""The judge's own comparison, checked: now and then it gets a copy of a right output with one wrong element.

A backend that shares the memory of the process that judges can have changed what compares there. It sees neither when
that is checked nor the copy.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np

from dml_conformance.backends.base import Binding, Bindings
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.conformance.judge.compare import OutputComparison
from dml_conformance.conformance.judge.memory import Expected, OutputMemory, wrong_elements
from dml_conformance.spec import nibbles
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.expectation import Bits, Expectation, Mask

CHECKED_OF = 1000  # executed cases, of which one is checked with
MOST_CHECKED = 2**20  # bytes of a case's tensors


def is_checked(digest: str, needed: int) -> bool:
    """Whether the comparison is checked with a case of this digest, whose tensors need so many bytes."""
    return needed <= MOST_CHECKED and int(digest[-8:], 16) % CHECKED_OF == 0


def check_comparison(
    compared: Callable[[OutputMemory, Expected, Bindings], OutputComparison],
    output: OutputMemory,
    expected: Expected,
    read: Bindings,
) -> None:
    """Have an output compared that is wrong in one element.

    Args:
        compared: compares an output with what is right of it, where inputs are as `read` has them.
        output: one that passed; it stays as it is.
        expected: what is right of it.
        read: the inputs.

    Raises:
        GivenUp: it says that the wrong one is right.
    """
    spoiled = spoiled_output(output, expected)
    if spoiled is not None and not compared(spoiled, expected, read).wrong:
        raise comparison_changed()


def comparison_changed() -> GivenUp:
    """What a run ends with whose comparison takes a wrong output for a right one."""
    return GivenUp(
        "the judge's own comparison has been changed: it took a wrong output for a right one, so no verdict of this "
        "run is evidence; judge the backend behind the walls, in a process of its own"
    )


def spoiled_output(output: OutputMemory, expected: Expected) -> OutputMemory | None:
    """A copy of an output with one element that is surely wrong; None where there is no such element."""
    data_type = output.tensor.data_type
    for box, part in expected.parts():
        wrong = wrong_elements(part._replace(one_of=None), data_type)
        places = np.flatnonzero(_surely_wrong(wrong, part, data_type))
        if places.size:
            at = np.unravel_index(places[secrets.randbelow(places.size)], wrong.shape)
            content = output.binding.view.copy()
            spoiled = output._replace(binding=Binding(content, 0, content.size))
            elements = spoiled.elements
            elements[box][at] = wrong[at]
            if data_type.shares_bytes:
                nibbles.put(content, output.tensor, elements)
            return spoiled
    return None


def _surely_wrong(elements: Bits, expected: Expectation, data_type: DataType) -> Mask:
    """Which elements are wrong, as told without what compares them: exact ones, and those outside their intervals."""
    found = elements != expected.values
    if expected.open is not None:
        found &= ~expected.open
    if expected.within is not None and (where := expected.intervals) is not None:
        found |= where & ~expected.within.holds(elements, data_type)
    return np.asarray(found)
