"""The page of failures: each fault is in the example as the page says, and is seen as the page shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from commands import invoke
from places import ROOT
from scripts import loaded

failures = loaded(ROOT / "docs" / "failures.py")
TEXT = failures.PAGE.read_text(encoding="utf-8")
TIMED = {fault.name for fault in failures.FAULTS if "--time-limit" in fault.options}  # a busy machine is slow too


def test_the_page_shows_what_is_planted() -> None:
    assert failures.with_differences(TEXT) == TEXT, "run: python docs/failures.py"
    assert tuple(re.findall(r"^## (?:\d+\. )?(.*)$", TEXT, re.MULTILINE)) == failures.NAMES
    numbers = re.findall(r"^## (\d+)\. ", TEXT, re.MULTILINE)
    assert numbers == [str(n) for n in range(1, len(failures.FAULTS) + 1)]


@pytest.mark.slow
@pytest.mark.few(2, 3)
@pytest.mark.parametrize("name", [name for name in failures.NAMES if name not in TIMED])
def test_a_fault_is_seen_as_the_page_shows_it(name: str) -> None:
    shown = failures.block(name, "text").search(TEXT)[2]
    assert without_chance(failures.seen(name)) == without_chance(shown)


def without_chance(text: str) -> str:
    """Without how many cases show it, some of which are drawn, and the bytes that did not hold the same by chance."""
    text = re.sub(r"(?m)^(\w+ \w+ \S+): [\d,]+ cases? at ", r"\1 at ", text)
    return re.sub(r"at \[.*\] from its start", "from its start", text)


@pytest.mark.slow
def test_without_a_fault_the_example_is_conformant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(failures.EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    result = invoke("certify", "--backend", failures.BACKEND, "--budget", "quick", "--out", "certification")
    assert result.exit_code == 0, result.output
