"""Where things are that tests read: the repository, what lies in its tests, and the shared folder beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
SHARED = ROOT.parent / "shared"  # developers and CI have it; what needs it is skipped elsewhere


def recorded(name: str) -> Any:
    """An array of the facts that the specification was written from; they are no part of this repository."""
    path = SHARED / "directml-facts" / f"{name}.json"
    if not path.is_file():
        pytest.skip("the collection of facts is not beside the checkout")
    return json.loads(path.read_text("utf-8"))[name]
