"""Structures, values and examples as pages print them, whole and broken."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pages_support import FRONT, STRUCT, at, parsed

from dml_conformance.documents.read.model import Page, PageExample

HEAD = f"{FRONT}# DML_X_OPERATOR_DESC\n\n```\n{STRUCT}\n```\n\n## Examples\n\n```\n"


def with_example(code: str) -> Page:
    return parsed(f"{HEAD}{code}\n```\n")


def example(code: str) -> PageExample:
    page = with_example(code)
    assert page.problems == ()
    return only_example(page)


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
        ("TRUE", True),
        ("false", False),
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


# --- Worked examples that are printed in other ways than most, or that break off: what is read and what is told


def only_example(page: Page) -> PageExample:
    (found,) = page.examples
    return found


def attributes(page: Page) -> dict[str, Any]:
    return {name: value.value for name, value in only_example(page).attributes.items()}


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


SMALL = "InputTensor: (Sizes:{1})"
READ = {"InputTensor": ([1], None, None)}
UNREADABLE = (
    *("[1, 2)", "{1, 2)", "{1, 2]", "[1, 2}", "[[1, 2), 3]", "[1: 2]", "[1, [2]: 3]", "[1; 2]", "]", ")", ";"),
    *("[" * 17 + "]" * 17, "[1, ?]", "[1...]", "?", "[" + "9" * 41 + "]", "-A", "[1, 1x]", "[[1, 2], [3, 4]"),
)
WORDS = ("?", "? ?", "? ? ?", "so it goes", "so it goes on", "1 2", "for all of 3 axes")

# Code; what of it cannot be read; the values of its attributes; and of its tensors sizes, type and values.
BROKEN: list[tuple[str, tuple[str, str], dict[str, Any], dict[str, tuple[Any, ...]]]] = [
    # A value ends where its bracket does, its line, or the next entry starts.
    *(
        (
            f"Axis = {printed}\n{SMALL}\n[5]",
            ("unreadable-value", printed),
            {"Axis": None},
            {"InputTensor": ([1], None, [5])},
        )
        for printed in UNREADABLE
    ),
    ("Axis = [1, 2\nMode = 7", ("unreadable-value", "[1, 2"), {"Axis": None, "Mode": 7}, {}),
    ("Axis : [1, 2\nMode : 7", ("unreadable-value", "[1, 2"), {"Axis": None, "Mode": 7}, {}),
    ("Axis = [1, FLOAT32", ("unreadable-value", "[1, FLOAT32"), {"Axis": None}, {}),
    (f"Axis:\n{SMALL}", ("unreadable-value", "Axis:"), {}, READ),
    (f"{SMALL}\n[[1]", ("unreadable-values", "[[1]"), {}, {"InputTensor": ([1], None, None)}),
    (f"{SMALL}\n[1]]", ("unreadable-example-line", "]"), {}, {"InputTensor": ([1], None, [1])}),
    # A description lacks its bracket: what the next line gives is the call's, not the tensor's.
    *(
        (
            f"InputTensor: (Sizes:{{2,3}}, {last}\nAxis: 1\nOutputTensor: (Sizes:{{4}})",
            ("unreadable-tensor", f"(Sizes:{{2,3}}, {last}"),
            {"Axis": 1},
            {"InputTensor": ([2, 3], "INT8", None), "OutputTensor": ([4], None, None)},
        )
        for last in ("DataType:INT8", "DataType:INT8, Strides:{1, 1}", "DataType:INT8, Offset:+1")
    ),
    *(
        (
            f"Axis: 0\nInputTensor: (Sizes:{{2,3}}{last}",
            ("unreadable-tensor", f"(Sizes:{{2,3}}{last}".rstrip()),
            {"Axis": 0},
            {"InputTensor": ([2, 3], "INT8" if last else None, None)},
        )
        for last in ("", ", DataType:INT8", ", DataType:INT8,")
    ),
    # A description with something that is no property.
    *(
        (
            f"InputTensor: (Sizes:{{2}}, {odd})\n[5, 6]\nAxis: 0",
            ("unreadable-tensor", f"(Sizes:{{2}}, {odd})"),
            {"Axis": 0},
            {"InputTensor": ([2], None, [5, 6])},
        )
        for odd in ('"a"', "'a'", "%", "(1)", "?", "[1]", "a", "5")
    ),
    # A block that ends after a name, what is named by no name, and lines that say nothing: the next one is read.
    *(
        (f"{SMALL}\n{line}", ("unreadable-example-line", line), {}, READ)
        for line in ("Axis:", "Axis =", "Axis", "1", "InputTensor:")
    ),
    *(
        (f"{line}\nAxis: 0\n{SMALL}", ("unreadable-example-line", line), {"Axis": 0}, READ)
        for line in ("1: 5", "2 = [3]", "?: 1", "-: {0}", "[0]: 2", *WORDS)
    ),
    *(
        (f"Scale: 2\n{line}\nAxis: 0\n{SMALL}", ("unreadable-example-line", line), {"Scale": 2, "Axis": 0}, READ)
        for line in WORDS
    ),
]


@pytest.mark.parametrize(("code", "problem", "values", "tensors"), BROKEN)
def test_what_cannot_be_read_is_told_once_and_the_rest_is_read(
    code: str, problem: tuple[str, str], values: dict[str, Any], tensors: dict[str, tuple[Any, ...]]
) -> None:
    page = with_example(code)
    example, (found,) = only_example(page), page.problems
    assert (found.id, found.fragment) == problem
    assert at(f"{HEAD}{code}\n", found.place).startswith(problem[1])
    assert attributes(page) == values
    assert all(value.value is not None or value.text == problem[1] for value in example.attributes.values())
    parts = {tensor.label.text: (tensor.sizes, tensor.data_type, tensor.values) for tensor in example.tensors}
    assert {label: tuple(part and part.value for part in of) for label, of in parts.items()} == tensors


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
