"""Structures, values and examples as pages print them, whole and broken."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pages_support import FRONT, STRUCT, at, parsed

from dml_conformance.documents.read.model import Page, PageExample


def with_example(code: str) -> Page:
    return parsed(f"{FRONT}# DML_X_OPERATOR_DESC\n\n```\n{STRUCT}\n```\n\n## Examples\n\n```\n{code}\n```\n")


def example(code: str) -> PageExample:
    page, found = page_with(code)
    assert page.problems == ()
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
        ("inf", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("-1e999", "-Infinity"),
        ("nan", "NaN"),
        ("-NaN", "NaN"),
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
        ("+Infinity", "Infinity"),
        ("[+1, -2]", [1, -2]),
        ("{+1.5f +2.5f}", [1.5, 2.5]),
        ("[(1, 2), (3, 4)]", [[1, 2], [3, 4]]),
        ("{{{{{{{{1, 2}}}}}}}}", [[[[[[[[1, 2]]]]]]]]),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
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


# --- The values printed in examples: what reads as a number, a name or a list, and what does not and where it ends


def page_with(code: str) -> tuple[Page, PageExample]:
    page = with_example(code)
    return page, only_example(page)


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


@pytest.mark.parametrize(
    ("code", "entries"),
    [
        ("Axis = [1, 2\nMode = 7", {"Axis": None, "Mode": 7}),
        ("Axis : [1, 2\nMode : 7", {"Axis": None, "Mode": 7}),
        ("Axis = [1, 2\nMode =", {"Axis": None}),
        ("Axis = [1, 2\nMode:", {"Axis": None}),
        ("Axis = [1, 2", {"Axis": None}),
    ],
)
def test_a_list_that_is_not_closed_ends_before_the_next_entry(code: str, entries: dict[str, Any]) -> None:
    page = with_example(code)
    assert attributes(page) == entries
    assert only_example(page).attributes["Axis"].text == page.problems[0].fragment == "[1, 2"


# --- Worked examples that are printed in other ways than most, or that break off: what is read and what is told


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
        "InputTensor: (\n  Sizes:{2},\n  DataType:INT8)\n[5, 6]",
    ],
)
def test_values_in_any_bracket_on_the_line_or_the_next(code: str) -> None:
    page = with_example(f"{code}\nAxis:\n  0")
    assert page.problems == ()
    (tensor,) = only_example(page).tensors
    assert tensor.label.text == "InputTensor"
    printed = (tensor.sizes, tensor.data_type, tensor.values)
    assert [value and value.value for value in printed] == [[2], "INT8", [5, 6]]
    assert tensor.properties == {}
    assert attributes(page) == {"Axis": 0}


@pytest.mark.parametrize("last", ["DataType:INT8", "DataType:INT8, Strides:{1, 1}", "DataType:INT8, Offset:+1"])
def test_a_description_that_the_next_line_does_not_go_on_with(last: str) -> None:
    """Its bracket is missing. What the next line gives is the call's, not the tensor's."""
    page = with_example(f"InputTensor: (Sizes:{{2,3}}, {last}\nAxis: 1\nOutputTensor: (Sizes:{{4}})")
    assert problems(page) == [("unreadable-tensor", f"(Sizes:{{2,3}}, {last}")]
    assert attributes(page) == {"Axis": 1}
    first, second = only_example(page).tensors
    assert (first.sizes.value, first.data_type.value, second.sizes.value) == ([2, 3], "INT8", [4])
    assert "Axis" not in first.properties


@pytest.mark.parametrize("last", ["", " ", ",", ", DataType:INT8", ", DataType:INT8,"])
def test_a_block_that_ends_within_a_description(last: str) -> None:
    page = with_example(f"Axis: 0\nInputTensor: (Sizes:{{2,3}}{last}")
    assert attributes(page) == {"Axis": 0}
    assert [problem.id for problem in page.problems] == ["unreadable-tensor"]
    (tensor,) = only_example(page).tensors
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


@pytest.mark.parametrize("odd", ['"a"', "'a'", "%", "(1)", "?", "[1]", "a", "5"])
def test_a_description_with_something_that_is_no_property(odd: str) -> None:
    page = with_example(f"InputTensor: (Sizes:{{2}}, {odd})\n[5, 6]\nAxis: 0")
    assert problems(page) == [("unreadable-tensor", f"(Sizes:{{2}}, {odd})")]
    (tensor,) = only_example(page).tensors
    assert tensor.values.value == [5, 6]
    assert attributes(page) == {"Axis": 0}


@pytest.mark.parametrize("words", ["?", "? ?", "? ? ?", "so it goes", "so it goes on", "1 2", "for all of 3 axes"])
@pytest.mark.parametrize("before", ["", "Scale: 2\n"])
def test_a_line_that_says_nothing_is_told_once_and_the_next_is_read(words: str, before: str) -> None:
    page = with_example(f"{before}{words}\nAxis: 0\nInputTensor: (Sizes:{{1}})")
    assert problems(page) == [("unreadable-example-line", words)]
    assert attributes(page) == ({"Scale": 2, "Axis": 0} if before else {"Axis": 0})
    assert [tensor.label.text for tensor in only_example(page).tensors] == ["InputTensor"]


# --- The syntax block: which block it is, and that it reads the same however its lines are broken

START = f"{FRONT}# DML_X_OPERATOR_DESC\n\n"


def with_structure(code: str) -> tuple[str, Page]:
    text = f"{START}```cpp\n{code}\n```\n"
    return text, parsed(text)


@pytest.mark.parametrize(
    "code",
    [
        "struct DML_X_OPERATOR_DESC { UINT A; const UINT *B; UINT C[2]; };",
        "struct DML_X_OPERATOR_DESC{UINT A;const UINT *B;UINT C[2];};",
        "typedef struct DML_X_OPERATOR_DESC { UINT A; const UINT *B; UINT C[2]; } DML_X_OPERATOR_DESC;",
        "struct DML_X_OPERATOR_DESC /* four */ { UINT A; /* one */ const UINT *B; UINT C[2]; }; // end",
        # An empty statement is none.
        "struct DML_X_OPERATOR_DESC { UINT A; ; const UINT *B; UINT C[2]; };",
        # What cannot be read takes nothing else with it.
        "struct DML_X_OPERATOR_DESC { UINT A; and so on; const UINT *B; UINT C[2]; };",
        "struct DML_X_OPERATOR_DESC { UINT A; 4; 5; const UINT *B; UINT C[2]; };",
        "struct DML_X_OPERATOR_DESC { union { UINT A; const UINT *B; } Either; UINT C[2]; };",
    ],
)
@pytest.mark.parametrize("broken", [r"$^", r"(?<=;) ?", r"(?<=[;{]) ?", r" ?(?={)"])
def test_a_structure_reads_the_same_however_its_lines_are_broken(code: str, broken: str) -> None:
    text, page = with_structure(re.sub(broken, "\n", code))
    assert page.structure == "DML_X_OPERATOR_DESC"
    assert [(d.name, d.type) for d in page.declarations] == [("A", "UINT"), ("B", "const UINT *"), ("C", "UINT[2]")]
    for declaration in page.declarations:
        assert re.match(rf"{declaration.name}[;\[]", at(text, declaration.place))
    odd = [odd for odd in ("and so on", "4", "5", "union") if f" {odd}" in code]
    assert [(problem.id, problem.fragment) for problem in page.problems] == [("unreadable-declaration", o) for o in odd]
    for problem in page.problems:
        assert at(text, problem.place).startswith(problem.fragment)


@pytest.mark.parametrize(
    "code",
    [
        "DML_X_OPERATOR_DESC desc = {};",
        "struct POINT { UINT X; UINT Y; };",
        "struct POINT { UINT X; };\nDML_X_OPERATOR_DESC desc = {};",
        "struct MY_DML_X_OPERATOR_DESC2 { UINT X; };",
    ],
)
def test_other_code_before_the_syntax_block_is_not_taken_for_it(code: str) -> None:
    page = parsed(f"{START}```cpp\n{code}\n```\n\n## Syntax\n\n```cpp\n{STRUCT}\n```\n")
    assert page.structure == "DML_X_OPERATOR_DESC"
    assert [declaration.name for declaration in page.declarations] == ["InputTensor", "OutputTensor", "Axis"]
    assert [block.role for block in page.code_blocks][1:] == ["syntax"]
    assert page.code_blocks[0].role != "syntax"
    assert page.problems == ()


def test_a_line_too_long_for_a_declaration_is_told_and_shortened() -> None:
    name = "A" * 5_000
    text, page = with_structure(f"struct DML_X_OPERATOR_DESC {{\n  UINT {name};\n  UINT Last;\n}};")
    assert [declaration.name for declaration in page.declarations] == ["Last"]
    (problem,) = page.problems
    assert problem.id == "unreadable-declaration"
    assert problem.fragment.startswith("UINT AAA")
    assert len(problem.fragment) < 200
    assert at(text, problem.place).startswith(problem.fragment)
