"""Words from outside in a real browser: none of them does anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_outputs import outputs_of, pages


@pytest.mark.slow
def test_nothing_of_what_comes_from_outside_runs(tmp_path: Path, show: Callable[..., Any]) -> None:
    """`show` sees to it that no page opens a dialog, asks for anything or says anything on the console."""
    outputs = outputs_of(tmp_path)
    shown = 0
    for name, _ in pages(outputs):
        if (outputs.folder / name).exists():
            page = show(outputs.folder / name)
            assert page.evaluate("document.querySelectorAll('img[onerror], [onload]').length") == 0
            assert "alert(1)" in page.evaluate("document.documentElement.textContent"), name
            shown += 1
    assert shown >= 5
