"""Worked examples that are printed in other ways than most, or that break off: what is read and what is told."""

from __future__ import annotations

from typing import Any

import pytest
from pages_support import FRONT, STRUCT, parsed

from dml_conformance.documents.read.model import Page, PageExample


def with_example(code: str) -> Page:
    return parsed(f"{FRONT}# DML_X_OPERATOR_DESC\n\n```\n{STRUCT}\n```\n\n## Examples\n\n```\n{code}\n```\n")


def only_example(page: Page) -> PageExample:
    (found,) = page.examples
    return found


def attributes(page: Page) -> dict[str, Any]:
    return {name: value.value for name, value in only_example(page).attributes.items()}


def problems(page: Page) -> list[tuple[str, str]]:
    return [(problem.id, problem.fragment) for problem in page.problems]


@pytest.mark.parametrize(
    "code",
    [
        "InputTensor: (Sizes:{2}, DataType:INT8)\n[5, 6]",
        "InputTensor: (Sizes:{2}, DataType:INT8)\n{5, 6}",
        "InputTensor: (Sizes:{2}, DataType:INT8) {5, 6}",
        "InputTensor.Sizes = {2}\nInputTensor.DataType = INT8\nInputTensor = {5, 6}",
        "InputTensor.Sizes = {2}\nInputTensor.DataType = INT8\nInputTensor =\n[5, 6]",
        "InputTensor: {5, 6}\nInputTensor.DataType: INT8\nInputTensor.Sizes: [2]",
        "InputTensor:\n  {5, 6}\nInputTensor.DataType: INT8\nInputTensor.Sizes:\n  [2]",
    ],
)
def test_values_in_any_bracket_on_the_line_or_the_next(code: str) -> None:
    page = with_example(f"{code}\nAxis: 0")
    assert page.problems == ()
    (tensor,) = only_example(page).tensors
    assert tensor.label.text == "InputTensor"
    printed = (tensor.sizes, tensor.data_type, tensor.values)
    assert [value and value.value for value in printed] == [[2], "INT8", [5, 6]]
    assert tensor.properties == {}
    assert attributes(page) == {"Axis": 0}


def test_an_attribute_with_its_value_on_the_next_line() -> None:
    assert attributes(with_example("Axis:\n  1\nScales:\n  {1, 2}\nInputTensor: (Sizes:{1})")) == {
        "Axis": 1,
        "Scales": [1, 2],
    }


@pytest.mark.parametrize("last", ["DataType:INT8", "DataType:INT8, Strides:{1, 1}", "DataType:INT8, Offset:+1"])
def test_a_description_that_the_next_line_does_not_go_on_with(last: str) -> None:
    """Its bracket is missing. What the next line gives is the call's, not the tensor's."""
    page = with_example(f"InputTensor: (Sizes:{{2,3}}, {last}\nAxis: 1\nOutputTensor: (Sizes:{{4}})")
    assert problems(page) == [("unreadable-tensor", f"(Sizes:{{2,3}}, {last}")]
    assert attributes(page) == {"Axis": 1}
    first, second = only_example(page).tensors
    assert first.sizes is not None
    assert first.data_type is not None
    assert second.sizes is not None
    assert (first.sizes.value, first.data_type.value, second.sizes.value) == ([2, 3], "INT8", [4])
    assert "Axis" not in first.properties


@pytest.mark.parametrize("last", ["", " ", ",", ", DataType:INT8", ", DataType:INT8,"])
def test_a_block_that_ends_within_a_description(last: str) -> None:
    page = with_example(f"Axis: 0\nInputTensor: (Sizes:{{2,3}}{last}")
    assert attributes(page) == {"Axis": 0}
    (tensor,) = only_example(page).tensors
    assert tensor.sizes is not None
    assert tensor.sizes.value == [2, 3]
    assert (tensor.data_type is None) == ("DataType" not in last)


@pytest.mark.parametrize("line", ["Axis:", "Axis =", "Axis", "1", "InputTensor:"])
def test_a_block_that_ends_after_a_name(line: str) -> None:
    page = with_example(f"OutputTensor: (Sizes:{{1}}, DataType:INT8)\n{line}")
    assert problems(page) == [("unreadable-example-line", line)]
    (tensor,) = only_example(page).tensors
    assert (tensor.label.text, tensor.values) == ("OutputTensor", None)
    assert attributes(page) == {}


@pytest.mark.parametrize("line", ["1: 5", "2 = [3]", "?: 1", "-: {0}", "[0]: 2"])
def test_what_is_named_by_no_name_is_nothing_of_the_call(line: str) -> None:
    page = with_example(f"{line}\nInputTensor: (Sizes:{{1}})\nAxis: 0")
    assert problems(page) == [("unreadable-example-line", line)]
    assert attributes(page) == {"Axis": 0}


def test_a_text_in_quotes_is_the_value_of_an_attribute_that_cannot_be_read() -> None:
    page = with_example('InputTensor: (Sizes:{1})\nMode: "edge"\nAxis: 0')
    assert ("unreadable-value", '"edge"') in problems(page)
    assert attributes(page) == {"Mode": None, "Axis": 0}
    assert [tensor.label.text for tensor in only_example(page).tensors] == ["InputTensor"]


@pytest.mark.parametrize("odd", ['"a"', "'a'", "%", "(1)", "?", "[1]", "a", "5"])
def test_a_description_with_something_that_is_no_property(odd: str) -> None:
    page = with_example(f"InputTensor: (Sizes:{{2}}, {odd})\n[5, 6]\nAxis: 0")
    assert problems(page) == [("unreadable-tensor", f"(Sizes:{{2}}, {odd})")]
    (tensor,) = only_example(page).tensors
    assert tensor.values is not None
    assert tensor.values.value == [5, 6]
    assert attributes(page) == {"Axis": 0}


@pytest.mark.parametrize("words", ["?", "? ?", "? ? ?", "so it goes", "so it goes on", "1 2", "for all of 3 axes"])
@pytest.mark.parametrize("before", ["", "Scale: 2\n"])
def test_a_line_that_says_nothing_is_told_once_and_the_next_is_read(words: str, before: str) -> None:
    page = with_example(f"{before}{words}\nAxis: 0\nInputTensor: (Sizes:{{1}})")
    assert problems(page) == [("unreadable-example-line", words)]
    assert attributes(page) == ({"Scale": 2, "Axis": 0} if before else {"Axis": 0})
    assert [tensor.label.text for tensor in only_example(page).tensors] == ["InputTensor"]


def test_a_description_may_go_on_behind_its_bracket_on_the_next_line() -> None:
    page = with_example("InputTensor: (\n  Sizes:{2},\n  DataType:INT8)\n[5, 6]\nAxis: 0")
    assert page.problems == ()
    (tensor,) = only_example(page).tensors
    assert [value and value.value for value in (tensor.sizes, tensor.data_type, tensor.values)] == [[2], "INT8", [5, 6]]
    assert attributes(page) == {"Axis": 0}


@pytest.mark.parametrize("code", ["InputTensor: (Sizes:{2}", "Axis: 0\nInputTensor: (Sizes:{2}, DataType:INT8,"])
def test_a_description_that_is_open_at_the_end_is_told(code: str) -> None:
    (problem,) = with_example(code).problems
    assert problem.id == "unreadable-tensor"
    assert problem.fragment.startswith("(Sizes:")
