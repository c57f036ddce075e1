"""The syntax block: which block it is, and that it reads the same however its lines are broken."""

from __future__ import annotations

import re

import pytest
from pages_support import FRONT, STRUCT, at, parsed

from dml_conformance.documents.read.model import Page

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
