"""The values printed in examples: what reads as a number, a name or a list, and what does not and where it ends."""

from __future__ import annotations

import math

import pytest
from pages_support import FRONT, STRUCT, at, parsed

from dml_conformance.documents.read.model import Page, PageExample


def page_with(code: str) -> tuple[Page, PageExample]:
    page = parsed(f"{FRONT}## Syntax\n\n```\n{STRUCT}\n```\n\n## Examples\n\n```\n{code}\n```\n")
    (example,) = page.examples
    return page, example


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("+1", 1),
        ("-inf", -math.inf),
        ("+Infinity", math.inf),
        ("[+1, -2]", [1, -2]),
        ("{+1.5f +2.5f}", [1.5, 2.5]),
        ("[(1, 2), (3, 4)]", [[1, 2], [3, 4]]),
        ("{{{{{{{{1, 2}}}}}}}}", [[[[[[[[1, 2]]]]]]]]),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_a_value_that_reads(printed: str, value: object) -> None:
    page, example = page_with(f"Axis = {printed}\nMode = 7")
    assert (example.attributes["Axis"].value, example.attributes["Axis"].text) == (value, printed)
    assert example.attributes["Mode"].value == 7
    assert page.problems == ()


@pytest.mark.parametrize("printed", ["nan", "NaN", "-nan"])
def test_not_a_number_is_a_value(printed: str) -> None:
    _, example = page_with(f"Axis = {printed}")
    value = example.attributes["Axis"].value
    assert isinstance(value, float)
    assert math.isnan(value)


def test_sizes_in_parentheses() -> None:
    page, example = page_with("InputTensor: (Sizes:(2,3), DataType:FLOAT32)\n[[1, 2, 3] [4, 5, 6]]")
    (tensor,) = example.tensors
    assert tensor.sizes is not None
    assert tensor.sizes.value == [2, 3]
    assert tensor.data_type is not None
    assert tensor.data_type.value == "FLOAT32"
    assert tensor.values is not None
    assert tensor.values.value == [[1, 2, 3], [4, 5, 6]]
    assert page.problems == ()


@pytest.mark.parametrize(
    "printed",
    ["[1, 2)", "{1, 2)", "{1, 2]", "[1, 2}", "[[1, 2), 3]", "[1: 2]", "[1, [2]: 3]", "[1; 2]", "]", ")", ";"],
)
def test_a_value_that_does_not_read_ends_where_it_ends(printed: str) -> None:
    """It is quoted whole, and what stands on the next line is read as ever."""
    code = f"Axis = {printed}\nMode = 7"
    page, example = page_with(code)
    assert (example.attributes["Axis"].value, example.attributes["Axis"].text) == (None, printed)
    assert example.attributes["Mode"].value == 7
    assert [(problem.id, problem.fragment) for problem in page.problems] == [("unreadable-value", printed)]


@pytest.mark.parametrize("sign", ["=", ":"])
def test_a_list_that_is_not_closed_ends_before_the_next_entry(sign: str) -> None:
    page, example = page_with(f"Axis {sign} [1, 2\nMode {sign} 7")
    assert (example.attributes["Axis"].value, example.attributes["Axis"].text) == (None, "[1, 2")
    assert example.attributes["Mode"].value == 7
    assert [problem.fragment for problem in page.problems] == ["[1, 2"]


@pytest.mark.parametrize("code", ["Axis = [1, 2\nMode =", "Axis = [1, 2\nMode:"])
def test_a_list_that_is_not_closed_ends_before_an_entry_without_a_value(code: str) -> None:
    _, example = page_with(code)
    assert (example.attributes["Axis"].value, example.attributes["Axis"].text) == (None, "[1, 2")
    assert list(example.attributes) == ["Axis"]


@pytest.mark.parametrize("printed", ["[INT8", "[1, FLOAT32", "[[INT8, INT8], INT8"])
def test_a_list_that_is_not_closed_ends_with_the_block(printed: str) -> None:
    text = f"{FRONT}## Examples\n\n```\nAxis = {printed}\n```\n"
    page = parsed(text)
    (example,) = page.examples
    assert (example.attributes["Axis"].value, example.attributes["Axis"].text) == (None, printed)
    (problem,) = page.problems
    assert problem.id == "unreadable-value"
    assert at(text, problem.place) == printed
