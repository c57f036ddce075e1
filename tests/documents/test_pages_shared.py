"""Examples of several blocks: what they share, the elements of arrays, and values above the name of their tensor."""

from __future__ import annotations

import pytest
from pages_support import FRONT, parsed

from dml_conformance.documents.check.report import check_page
from dml_conformance.documents.check.subject import PageSubject
from dml_conformance.documents.read.model import Page

STRUCT = """struct DML_X_OPERATOR_DESC {
  UINT PartCount;
  _Field_size_(PartCount) const DML_TENSOR_DESC* PartTensors;
  const DML_TENSOR_DESC* BiasTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT Axis;
};"""
START = f"{FRONT}# DML_X_OPERATOR_DESC structure\n\n```\n{STRUCT}\n```\n\n## Examples\n\n"


def tensor(label: str, *values: int) -> str:
    return f"{label}: (Sizes:{{{len(values)}}}, DataType:INT8)\n{list(values)}\n"


def block(*lines: str) -> str:
    return "```\n" + "\n".join(lines) + "\n```\n\n"


PARTS = ("PartCount: 2", tensor("PartTensors[0]", 1), tensor("PartTensors[1]", 2, 3))
BIAS, OUTPUT = tensor("BiasTensor", 4), tensor("OutputTensor", 5, 6, 7)
FIRST, SECOND = "### Example 1. Along rows\n\n", "### Example 2. Along columns\n\n"


def printed(page: Page) -> list[tuple[int, list[str], list[str]]]:
    """Number, attributes and labels of every example."""
    return [(e.number, list(e.attributes), [t.label.text for t in e.tensors]) for e in page.examples]


def labels(*more: str) -> list[str]:
    return ["PartTensors[0]", "PartTensors[1]", *more]


def example_findings(page: Page) -> set[str]:
    return {finding.id for finding in check_page(page) if finding.check.startswith(("example", "unreadable"))}


def test_a_block_above_all_examples_belongs_to_each() -> None:
    first, second = block("Axis: 0", BIAS, OUTPUT), block("Axis: 1", BIAS, OUTPUT)
    page = parsed(f"{START}All of this:\n\n{block(*PARTS)}{FIRST}{first}{SECOND}{second}")
    both = (["PartCount", "Axis"], labels("BiasTensor", "OutputTensor"))
    assert printed(page) == [(1, *both), (2, *both)]
    assert [example.place.line for example in page.examples] == [34, 46]
    assert page.examples[0].tensors[0].label.place == page.examples[1].tensors[0].label.place
    assert example_findings(page) == set()


def test_a_block_under_a_title_belongs_to_the_examples_under_it() -> None:
    titled = "### Example 3. Along rows\n\n"
    shared = f"{titled}{block(*PARTS, BIAS)}One:\n\n{block('Axis: 0', OUTPUT)}Another:\n\n{block('Axis: 1', OUTPUT)}"
    page = parsed(START + shared + SECOND + block("Axis: 2", OUTPUT))
    every = (["PartCount", "Axis"], labels("BiasTensor", "OutputTensor"))
    assert printed(page) == [(3, *every), (2, *every), (2, ["Axis"], ["OutputTensor"])]
    assert [example.title and example.title.text for example in page.examples] == [
        "Example 3. Along rows",
        None,
        "Example 2. Along columns",
    ]


def test_what_an_example_prints_itself_is_its_own() -> None:
    own = block("Axis: 1", tensor("PartTensors[0]", 8), BIAS, OUTPUT)
    page = parsed(START + block(*PARTS) + FIRST + block("Axis: 0", BIAS, OUTPUT) + SECOND + own)
    assert printed(page)[1] == (2, ["PartCount", "Axis"], ["PartTensors[0]", "BiasTensor", "OutputTensor"])


@pytest.mark.parametrize(
    "blocks",
    [
        FIRST + block("Axis: 0", BIAS) + SECOND + block("PartCount: 2", OUTPUT),
        block("Axis: 0", BIAS) + block("Axis: 1", OUTPUT),
        block("Axis: 0") + block("PartCount: 2", OUTPUT),
        block("Axis: 0", OUTPUT) + "## Remarks\n\n" + block("PartCount: 2", BIAS),
    ],
    ids=["each under a title", "both with one field", "no tensors", "another section"],
)
def test_two_examples_of_which_neither_is_the_rest_of_the_other(blocks: str) -> None:
    page = parsed(START + blocks)
    assert [number for number, *_ in printed(page)] == [1, 2]
    assert len(printed(page)[1][1]) == 1


def test_the_elements_of_an_array_are_tensors_of_the_array() -> None:
    page = parsed(START + block(*PARTS, BIAS, OUTPUT, "Axis: 0"))
    (example,) = PageSubject.of(page).examples
    assert list(example.sizes) == labels("BiasTensor", "OutputTensor")
    assert "PartTensors" in example.fields
    assert example.mislabelled == ()
    assert example_findings(page) == set()
    page = parsed(START + block("PartTensors[0]: (Sizes:{2}, DataType:INT8)\n[1]", BIAS, OUTPUT))
    assert example_findings(page) == {"example-elements:X:1/PartTensors[0]"}


def test_values_may_stand_before_the_name_of_their_tensor() -> None:
    values = (
        "f(a, b) = a, if b",
        "",
        "So:",
        "    [[1, 2]] // BiasTensor",
        "    [3] // OutputTensor",
        "    [4] // Rest",
    )
    text = f"{FRONT}# DML_X_OPERATOR_DESC structure\n\n{block(*values)}"
    page = parsed(text)
    (figure,) = page.examples
    assert figure.number == 0
    assert [(t.label.text, t.values and t.values.value) for t in figure.tensors] == [
        ("BiasTensor", [[1, 2]]),
        ("OutputTensor", [3]),
    ]
    assert page.problems == ()
    assert [code.role for code in page.code_blocks] == ["pseudocode"]
