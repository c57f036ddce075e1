"""Structures, values and examples as pages print them, whole and broken."""

from __future__ import annotations

from typing import Any

import pytest
from pages_support import FRONT, STRUCT, at, parsed

from dml_conformance.documents.read.model import Page, PageExample
from dml_conformance.documents.read.syntax import one_spelling


def with_example(code: str) -> Page:
    return parsed(f"{FRONT}# DML_X_OPERATOR_DESC\n\n```\n{STRUCT}\n```\n\n## Examples\n\n```\n{code}\n```\n")


def example(code: str) -> PageExample:
    page = with_example(code)
    assert page.problems == ()
    (found,) = page.examples
    return found


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("0", 0),
        ("-3", -3),
        ("+3", 3),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("2.", 2.0),
        ("1e-3", 0.001),
        ("0.5f", 0.5),
        ("0x10", 16),
        ("−1", -1),
        ("inf", float("inf")),
        ("-Infinity", float("-inf")),
        ("TRUE", "TRUE"),
        ("DML_PADDING_MODE_EDGE", "DML_PADDING_MODE_EDGE"),
        ("{1, 1, 2, 3}", [1, 1, 2, 3]),
        ("[1, 2,]", [1, 2]),
        ("{}", []),
        ("｛１，２｝", [1, 2]),
        ("[[1, 2]\n[3, 4]]", [[1, 2], [3, 4]]),
        ("[[1, 2], // a row, [5\n\n [3, 4]] // end", [[1, 2], [3, 4]]),
        ("[ [[1]] ]", [[[1]]]),
        ("{1 2 3}", [1, 2, 3]),
        ("[1、2]", [1, 2]),
        ("[A, B]", ["A", "B"]),
    ],
)
@pytest.mark.parametrize("separator", [": ", " = ", ":", "="])
def test_values_of_attributes(printed: str, value: Any, separator: str) -> None:
    found = example(f"Param{separator}{printed}\nInputTensor: (Sizes:{{1}})").attributes["Param"]
    assert found.value == value
    assert type(found.value) is type(value)
    assert found.text == printed.split(" //")[0] or "\n" in printed


@pytest.mark.parametrize(
    "printed",
    ["[[1, 2], [3, 4]", "[1, 2}", "[" * 17 + "]" * 17, "[1, ?]", "[1...]", "?", "[" + "9" * 41 + "]", "-A", "[1, 1x]"],
)
def test_values_that_cannot_be_read(printed: str) -> None:
    page = with_example(f"Param: {printed}\nInputTensor: (Sizes:{{1}})\n[5]")
    (found,) = page.examples
    assert found.attributes["Param"].value is None
    assert {problem.id for problem in page.problems} == {"unreadable-value"}
    # What follows is read all the same.
    assert found.tensors[0].values is not None
    assert found.tensors[0].values.value == [5]


def test_several_tensors_on_one_line_and_one_over_several() -> None:
    found = example("A: (Sizes:{1}, DataType:INT8) [1] B:(Sizes:{2},\n DataType:INT8)\n[1,\n2] Axis: 0")
    tensors = {tensor.label.text: tensor for tensor in found.tensors}
    assert [tensor.values and tensor.values.value for tensor in tensors.values()] == [[1], [1, 2]]
    assert found.attributes["Axis"].value == 0


def test_a_tensor_written_as_a_list_is_told_by_its_declaration() -> None:
    found = example("InputTensor = [[1, 2]]\nParam = [1, 2]\nOutputTensor = [[1, 2, 1, 2]]")
    assert [(tensor.label.text, tensor.values and tensor.values.value) for tensor in found.tensors] == [
        ("InputTensor", [[1, 2]]),
        ("OutputTensor", [[1, 2, 1, 2]]),
    ]
    assert found.attributes["Param"].value == [1, 2]


def test_properties_of_a_tensor() -> None:
    found = example(
        "A: (Sizes:{2,2}, DataType:FLOAT32, Strides:{4,1}, TotalTensorSizeInBytes:24)\nB.Sizes = {3}\nB.X = 1"
    )
    first, second = found.tensors
    assert first.sizes is not None
    assert first.sizes.value == [2, 2]
    assert first.sizes.text == "{2,2}"
    assert {name: value.value for name, value in first.properties.items()} == {
        "Strides": [4, 1],
        "TotalTensorSizeInBytes": 24,
    }
    assert (second.label.text, second.sizes and second.sizes.value, second.properties["X"].value) == ("B", [3], 1)


@pytest.mark.parametrize(
    ("code", "problem", "fragment"),
    [
        ("InputTensor: (Sizes:{1}, DataType:INT8\n[1]", "unreadable-tensor", "(Sizes:{1}, DataType:INT8"),
        ("InputTensor: (Sizes:{1} oops)\n[1]", "unreadable-tensor", "(Sizes:{1} oops)"),
        ("Axis: 0\nsome words here\nInputTensor: (Sizes:{1})", "unreadable-example-line", "some words here"),
        ("InputTensor: (Sizes:{1})\n[1]]", "unreadable-example-line", "]"),
        ("Axis:\nInputTensor: (Sizes:{1})", "unreadable-value", "Axis:"),
        ("InputTensor: (Sizes:{1}, DataType:INT8)\n[[1]", "unreadable-values", "[[1]"),
    ],
)
def test_broken_examples(code: str, problem: str, fragment: str) -> None:
    page = with_example(code)
    assert [found.id for found in page.problems] == [problem]
    assert page.problems[0].fragment == fragment
    text = f"{FRONT}# DML_X_OPERATOR_DESC\n\n```\n{STRUCT}\n```\n\n## Examples\n\n```\n{code}\n```\n"
    assert at(text, page.problems[0].place).startswith(fragment)
    assert [tensor.label.text for tensor in page.examples[0].tensors] == ["InputTensor"]


def test_lines_of_an_example() -> None:
    page = with_example("\nAxis: 0\n\nInputTensor: (Sizes:{1})\n    [1]")
    (found,) = page.examples
    assert (found.place.line, found.last_line) == (19, 22)
    assert found.number == 1
    assert found.title is None
    assert page.code_blocks[1].text == "\nAxis: 0\n\nInputTensor: (Sizes:{1})\n    [1]"


@pytest.mark.parametrize(
    ("line", "name", "kind"),
    [
        ("const DML_TENSOR_DESC *InputTensor;", "InputTensor", "const DML_TENSOR_DESC *"),
        ("const DML_TENSOR_DESC* InputTensor;", "InputTensor", "const DML_TENSOR_DESC *"),
        ("const  DML_TENSOR_DESC\t*  InputTensor ;", "InputTensor", "const DML_TENSOR_DESC *"),
        ("_Maybenull_ const DML_TENSOR_DESC* BiasTensor;", "BiasTensor", "const DML_TENSOR_DESC *"),
        ("_Field_size_(DimensionCount) const UINT* Strides;", "Strides", "const UINT *"),
        ("_Field_size_opt_(Count) const UINT *Strides;", "Strides", "const UINT *"),
        ("UINT Axis;", "Axis", "UINT"),
        ("UINT Axis", "Axis", "UINT"),
        ("DML_PADDING_MODE Mode; // how", "Mode", "DML_PADDING_MODE"),
        ("FLOAT Alpha; /* weight */", "Alpha", "FLOAT"),
        ("BOOL Reverse;", "Reverse", "BOOL"),
        ("UINT Sizes[4];", "Sizes", "UINT[4]"),
        ("const DML_OPERATOR_DESC *_Activation;", "_Activation", "const DML_OPERATOR_DESC *"),
    ],
)
def test_declarations(line: str, name: str, kind: str) -> None:
    text = f"{FRONT}# a\n\n```cpp\nstruct DML_X_OPERATOR_DESC\n{{\n  {line}\n}};\n```\n"
    page = parsed(text)
    (found,) = page.declarations
    assert (found.name, found.type) == (name, kind)
    assert at(text, found.place).startswith(name)
    assert page.problems == ()


@pytest.mark.parametrize("line", ["UINT;", "UINT A B;", "= 3;", "const;", "UINT A, B;", "[0]"])
def test_declarations_that_cannot_be_read(line: str) -> None:
    page = parsed(f"{FRONT}# a\n\n```\nstruct DML_X_OPERATOR_DESC {{\n  {line}\n  UINT Last;\n}};\n```\n")
    assert [declaration.name for declaration in page.declarations] == ["Last"]
    assert [problem.id for problem in page.problems] == ["unreadable-declaration"]
    assert page.problems[0].fragment == line.rstrip(";")
    assert (page.problems[0].place.line, page.problems[0].place.column) == (9, 3)


def test_a_structure_on_one_line_and_a_typedef() -> None:
    one = parsed(f"{FRONT}# a\n\n```\nstruct DML_X_OPERATOR_DESC {{ UINT A; const UINT *B; }};\n```\n")
    assert [(d.name, d.type) for d in one.declarations] == [("A", "UINT"), ("B", "const UINT *")]
    typedef = parsed(
        f"{FRONT}# a\n\n```\ntypedef struct DML_X_OPERATOR_DESC {{\nUINT A;\n}} DML_X_OPERATOR_DESC;\n```\n"
    )
    assert [d.name for d in typedef.declarations] == ["A"]
    assert typedef.structure == "DML_X_OPERATOR_DESC"
    assert (one.problems, typedef.problems) == ((), ())


def test_one_spelling_of_a_type() -> None:
    spellings = ("const UINT*", "const UINT *", "const  UINT\t*", "_Field_size_(N) const UINT*")
    assert {one_spelling(text) for text in spellings} == {"const UINT *"}
    assert one_spelling("const DML_TENSOR_DESC*") == "const DML_TENSOR_DESC *"
    assert one_spelling("uint") == "uint"
