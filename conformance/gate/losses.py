"""Processes of the backend that were lost in a session of pytest."""

from __future__ import annotations

from typing import Any, cast

import pytest

# What a test's report has of them: how many were lost and how, and how many no case is blamed for.
LOST, FORGIVEN = "dml_lost", "dml_forgiven"


class SessionLosses:
    """Counts the processes of the backend that were lost in a session, in whichever process its tests run."""

    def __init__(self) -> None:
        self._lost: list[str] = []
        self._count = self._forgiven = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        for name, value in cast(list[tuple[str, Any]], report.user_properties):
            if name == LOST:
                count, how = value
                self._count += count
                self._lost.append(f"{report.nodeid}: {count} {how}")
            elif name == FORGIVEN:
                self._forgiven += value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """More than are forgiven fail the session, though no process of the tests had so many."""
        if self._is_losing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._lost:
            return
        terminalreporter.section(f"{self._count} processes of the backend were lost")
        for line in self._lost:
            terminalreporter.line(line)
        more = ", which are more than are put down to the machine" if self._is_losing else ""
        terminalreporter.line(f"no case is blamed for {self._forgiven}{more}")

    @property
    def _is_losing(self) -> bool:
        from dml_conformance.backends.processes.losses import MOST_FORGIVEN

        return self._forgiven > MOST_FORGIVEN
