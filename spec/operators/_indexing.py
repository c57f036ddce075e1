"""Rules that the operators which read through an index tensor share."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source


def axis_limit(desc: Any) -> tuple[int, ...]:
    """The size of the input along Axis, which the indices run over."""
    return (desc.input_tensor.sizes[desc.axis],)


def indexing_execution_rules(
    operator: str, page: str, dimension: str, *, silent: tuple[str, ...] = ()
) -> tuple[Rule, ...]:
    """What executing an indexing operator has to do with its values and indices.

    Args:
        operator: name of the operator.
        page: its page.
        dimension: what an index runs over, in words.
        silent: the erratum which says that the page has no word on indices out of range; GATHER's page has.
    """
    return (
        Rule(
            f"{operator}.values",
            Category.EXECUTION,
            "every output element is the input element that the indices name, bit for bit",
            Source(page),
        ),
        Rule(
            f"{operator}.negative-indices",
            Category.EXECUTION,
            f"a negative index of a signed type counts from the end of {dimension}: -1 is the last element",
            Source(page, "IndicesTensor"),
            since=Level.L3_0,
        ),
        Rule(
            f"{operator}.out-of-range-indices",
            Category.EXECUTION,
            "an index out of range does not fail; what it reads is some element of the input tensor's memory",
            Source(page, "IndicesTensor"),
            settles=silent,
        ),
    )
