"""The table of the page on tolerances says what is measured, and its check notices where it does not."""

from __future__ import annotations

import pytest
from places import ROOT
from scripts import loaded

tolerances = loaded(ROOT / "docs" / "tolerances.py")
TEXT = tolerances.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("subject", tolerances.QUICK)
def test_the_table_is_current(subject: object) -> None:
    assert not list(tolerances.differences(TEXT, tolerances.measured([subject]))), "run: python docs/tolerances.py"


@pytest.mark.slow
def test_the_whole_table_is_current() -> None:
    table = tolerances.measured()
    assert not list(tolerances.differences(TEXT, table)), "run: python docs/tolerances.py"
    lines = [line for line in tolerances.BLOCK.search(TEXT)[0].splitlines() if line.startswith("|")]
    assert len(lines) == len(table.splitlines())


def test_other_words_and_other_figures_are_noticed() -> None:
    """Figures that another machine may get are not."""
    line = "| sum | 0.25, 1e-07 | - | **fails right**: in turn |"
    text = f"<!-- measured: tolerances -->\n\n{line}\n\n<!-- end -->"
    assert tolerances.with_table("a\n<!-- measured: tolerances -->\n<!-- end -->\nb", line) == f"a\n{text}\nb"
    for same in (line, line.replace("0.25", "0.26"), line.replace("1e-07", "9.8e-08")):
        assert list(tolerances.differences(text, same)) == []
    for other in (
        line.replace("0.25", "0.3"),
        line.replace("turn", "pairs"),
        line.replace("1e-07", "1e-06"),
        line + " |",
    ):
        assert list(tolerances.differences(text, other)) == [other]


def test_benchdnn_lets_tiny_differences_pass() -> None:
    """Of tiny numbers any below its epsilon; of softmax of all numbers; the rest by the kind's threshold."""
    accepts = tolerances.benchdnn
    one, tiny = tolerances.np.ones(1), tolerances.np.full(1, 1e-6)
    assert accepts("gemm", "float32", one, one)
    assert not accepts("gemm", "float32", one + 1e-7, one)
    assert accepts("gemm", "float32", tiny + 1e-7, tiny)
    assert not accepts("gemm", "float32", tiny + 2e-7, tiny)
    assert accepts("softmax", "float16", one + 1e-7, one)
    assert accepts("lstm", "float32", one + 1.9e-6, one)
    assert not accepts("lstm", "float32", one + 2e-6, one)
