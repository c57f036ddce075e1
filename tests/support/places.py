"""Where things are that tests read: the repository, what lies in its tests, and the shared folder beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
SHARED = ROOT.parent / "shared"  # developers and CI have it; what needs it is skipped elsewhere
