"""How a failure stands in a session of pytest beside its own text."""

from __future__ import annotations

from collections.abc import Generator

import pytest

BRIEF = pytest.StashKey[str]()  # of a test that failed: what differs, on one line


class BriefFailures:
    """In the short summary, and as the message in pytest's JUnit, a failure is one line, not its whole text again."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        crash = getattr(report.longrepr, "reprcrash", None)
        if BRIEF in item.stash and crash is not None:
            crash.message = item.stash[BRIEF]
        return report
