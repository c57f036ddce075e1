"""The formulas and bounds of pages, read from text and evaluated."""

from __future__ import annotations

import pytest

from dml_conformance.documents.check.formulas import (
    FormulaError,
    NoValue,
    formula_in_code,
    formula_in_prose,
    number_of,
)

GIVEN = {
    "Axis": 1,
    "Count": 2,
    "Repeats": (1, 2, 3),
    "InputTensor": (2, 3, 4),
    "IndicesTensor": (5, 6),
    "OutputTensor": (2, 6, 12),
}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("OutputTensor.Sizes = IndicesTensor.Sizes", (1, 5, 6)),
        ("OutputTensor.Sizes = {InputTensor.Sizes[0..Axis], 7, InputTensor.Sizes[(Axis+1) .. 3]}", (2, 7, 4)),
        ("OutputTensor.Sizes = { 1..., IndicesTensor.Sizes[1..2] } // padded", (1, 1, 6)),
        (
            "n = IndicesTensor.Sizes[IndicesTensor.DimensionCount - 1]\nOutputTensor.Sizes = {n, n * Count - 2}",
            (1, 6, 10),
        ),
        ("OutputTensor.Sizes = {Repeats[0..2], InputTensor.Sizes[Axis]};", (1, 2, 3)),
        ("OutputTensor.Sizes = {(InputTensor.Sizes[2] + 2) / 3, 7 % Count, -1 + 2}", (2, 1, 1)),
        ("OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]", (2, 6, 12)),
        ("OutputTensor.Sizes[i] = i + InputTensor.Sizes[i]", (2, 4, 6)),
    ],
)
def test_formulas_are_evaluated(text: str, sizes: tuple[int, ...]) -> None:
    formula = formula_in_code(text)
    assert formula.target == "OutputTensor"
    assert formula.sizes(GIVEN, 3) == sizes


def test_leading_ones_are_cropped_and_nothing_else() -> None:
    formula = formula_in_code("OutputTensor.Sizes = {1, InputTensor.Sizes}")
    assert formula.sizes(GIVEN, 3) == (2, 3, 4)
    assert formula.sizes(GIVEN, 2) == (2, 3, 4)
    assert formula.sizes(GIVEN, 5) == (1, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "text",
    [
        "Each is OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]. Then more.",
        "出力サイズは としてOutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]計算されます。",
        "OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i] (for every dimension i).",
        "OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]; Repeats[i] = 1 leaves it.",
        "InputTensor.Sizes = {1,1,4,6}, so OutputTensor.Sizes [i] = InputTensor.Sizes[i]*Repeats[i] holds for each",
    ],
)
def test_a_formula_within_a_sentence_ends_where_the_sentence_goes_on(text: str) -> None:
    formula = formula_in_prose(text)
    assert formula.names == {"InputTensor", "Repeats"}
    assert formula.sizes(GIVEN, 3) == (2, 6, 12)


@pytest.mark.parametrize(
    "text",
    ["InputTensor.Sizes = {1,1,4,6} and Count = 3", "the Sizes must match InputTensor.Sizes", "X.Sizes = ", "x = 3"]
    + [f"OutputTensor.Sizes = InputTensor.Sizes{rest}" for rest in (" - a longer text follows", "*2")],
)
def test_other_sentences_hold_none(text: str) -> None:
    assert formula_in_prose(text) is None


def test_sizes_in_braces_end_before_what_is_said_of_them() -> None:
    formula = formula_in_prose("OutputTensor.Sizes = {Axis, Axis} (two)")
    assert formula.sizes(GIVEN, 2) == (1, 1)


def test_numbers_that_are_squared_again_and_again_have_no_value() -> None:
    steps = "".join(f"a{n} = a{n - 1} * a{n - 1}, " for n in range(1, 25))
    formula = formula_in_code(f"a0 = 2, {steps}OutputTensor.Sizes = {{a24 % 7, Axis}}")
    assert formula.outcome(GIVEN, 2) == (None, "no sizes: it comes to more than 64 bits")


def test_a_sentence_full_of_formulas_is_read_in_no_time() -> None:
    assert formula_in_prose("X.Sizes=" * 1000 + "X.Sizes=(" * 100 + "1+" * 3000) is None


def test_code_without_a_tensors_sizes_holds_none() -> None:
    assert formula_in_code("output[i, j] = input[index[i, j], j]") is None
    assert formula_in_code("InputTensor.Sizes = {3,4}") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("OutputTensor.Sizes = max(a, b)", "something else"),
        ("OutputTensor.Sizes = {InputTensor.Sizes[0..Axis], ...}", "something else"),
        ("OutputTensor.Sizes = {InputTensor.Sizes[0..", "breaks off"),
        ("OutputTensor.Sizes = {InputTensor.Sizes + 1}", "several numbers"),
        ("OutputTensor.Sizes = {" + "(" * 500, "too long"),
        ("OutputTensor.Sizes = {" + "(" * 150, "breaks off"),
        ("OutputTensor.Sizes = {" + "9" * 500 + " * Axis}", "too long"),
        ("OutputTensor.Sizes = {Axis} ?", "'\\?'"),
        ("OutputTensor.Sizes = {Axis} InputTensor", "another grammar"),
        ("x = __import__('os')\nOutputTensor.Sizes = {x}", '"\'" is no part'),
    ],
)
def test_what_is_no_formula_is_refused(text: str, problem: str) -> None:
    with pytest.raises(FormulaError, match=problem):
        formula_in_code(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("OutputTensor.Sizes = {InputTensor.Sizes[3]}", "InputTensor has no entry 3"),
        ("OutputTensor.Sizes = {InputTensor.Sizes[0 - 1 .. 2]}", "no entries -1 .. 2"),
        ("OutputTensor.Sizes = {InputTensor.Sizes[2 .. 4]}", "no entries 2 .. 4"),
        ("OutputTensor.Sizes = {Axis / (Count - 2)}", "divides by 0"),
        ("OutputTensor.Sizes = {Axis / Count}", "1 / 2 is no whole number"),
        ("OutputTensor.Sizes = {Rank}", "Rank has no value"),
        ("OutputTensor.Sizes = KernelTensor.Sizes", "KernelTensor has no value"),
        ("OutputTensor.Sizes[i] = IndicesTensor.Sizes[i] * Repeats[i]", "IndicesTensor has 2 entries, Repeats has 3"),
    ],
)
def test_a_formula_may_have_no_value(text: str, problem: str) -> None:
    formula = formula_in_code(text)
    with pytest.raises(NoValue, match=problem):
        formula.sizes(GIVEN, 3)


def test_bounds() -> None:
    value, names = number_of("InputTensor.DimensionCount - 1")
    assert value(GIVEN) == 2
    assert names == {"InputTensor"}
    with pytest.raises(FormulaError):
        number_of("InputTensor.Rank")
    with pytest.raises(FormulaError):
        number_of("")
