"""Text made fit to be shown."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dml_conformance.backends.base import Scope
from dml_conformance.backends.foreign_text import encodable, one_line, printable
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.reports.model.text import claims_text, duration, level_ranges, pretty_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category

LEVELS = [level.label for level in Level]


def test_claims_are_told_in_a_line() -> None:
    scopes = (
        Scope(("TILE",), {"*": ("FLOAT32", "UINT8")}, (4, 5), strides=False),
        Scope(attributes={"Function": ("SUM",), "FusedActivation": ()}),
    )
    everything = ReferenceBackend().capabilities()
    assert claims_text(everything.as_json()) == "177 operators at 15 levels; every category of rules"
    some = msgspec.structs.replace(
        everything,
        operators=("TILE",),
        levels=LEVELS[:1],
        enforces=frozenset({Category.SHAPE, Category.ACCEPTANCE}),
        executes=False,
        scopes=scopes,
        form="DirectML.h",
    )
    assert claims_text(some.as_json()) == (
        "1 operator at 1 level; categories acceptance, shape; no execution; what has a form in DirectML.h; "
        "of TILE data types * FLOAT32 or UINT8, ranks 4 or 5, strides no; "
        "of all attributes Function SUM and FusedActivation none"
    )


@given(st.text(st.characters()))
def test_printable_text_is_utf8_without_controls(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert printable(shown) == shown
    assert all(character in "\t\n" or not (ord(character) < 32 or 127 <= ord(character) < 160) for character in shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä ☃ 日本 🂡\n\t", "plain ä ☃ 日本 🂡\n\t"),
        ("\x1b[0m", r"\x1b[0m"),
        ("a\rb", r"a\x0db"),
        ("\x9b\x85", r"\x9b\x85"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("\ud800\uffff", r"\ud800\uffff"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_encodable_reaches_into_structures() -> None:
    assert encodable({"a\udcff": ["\ud800", ("x", 1, None)]}) == {"a\\udcff": ["\\ud800", ("x", 1, None)]}
    assert encodable("ä\x00") == "ä\x00"


def test_one_line() -> None:
    assert one_line(" a\n\n b\t c ", 80) == "a b c"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("abcdefg", 6) == "abcde…"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, ""),
        (0.01234, "0.0123 s"),
        (59.0, "59 s"),
        (60, "1 min 00 s"),
        (128.4, "2 min 08 s"),
        (3900, "1 h 05 min"),
    ],
)
def test_duration(seconds: float | None, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([], ""),
        (["3_0"], "3_0"),
        (LEVELS, "1_0 to 6_4"),
        (["6_4", "1_0", "3_0", "3_1", "4_0"], "1_0, 3_0 to 4_0, 6_4"),
    ],
)
def test_level_ranges(levels: list[str], told: str) -> None:
    assert level_ranges(levels, LEVELS) == told


def test_level_ranges_run_over_the_levels_of_the_campaign() -> None:
    assert level_ranges(["1_0", "6_4"], ["1_0", "6_4"]) == "1_0 to 6_4"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(JSON)
def test_pretty_json_says_the_same(value: object) -> None:
    assert json.loads(pretty_json(value, 20)) == value


def test_pretty_json_keeps_on_a_line_what_fits() -> None:
    value = {"desc": {"InputTensor": {"Sizes": [1, 2, 3], "Strides": [6, 3, 1]}, "Axis": 0}, "data": {}}
    assert pretty_json(value, 60).splitlines() == [
        "{",
        '  "desc": {',
        '    "InputTensor": {',
        '      "Sizes": [1, 2, 3],',
        '      "Strides": [6, 3, 1]',
        "    },",
        '    "Axis": 0',
        "  },",
        '  "data": {}',
        "}",
    ]
    assert pretty_json(value, 70).splitlines()[2] == ('    "InputTensor": {"Sizes": [1, 2, 3], "Strides": [6, 3, 1]},')
    unspaced = pretty_json(value, 60, is_spaced=False).splitlines()
    assert unspaced[2] == '    "InputTensor": {"Sizes":[1,2,3],"Strides":[6,3,1]},'
    assert pretty_json([1] * 40, 30) == "[\n" + ",\n".join(["  1"] * 40) + "\n]"
