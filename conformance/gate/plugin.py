"""The pytest plugin: the options of the gate. It is loaded in every pytest run, so it imports nothing heavy."""

from __future__ import annotations

import sys
from typing import Any, cast

import pytest

DEFAULT_EXAMPLES = 25
SUITE = "dml_conformance.conformance.gate"
# What a test's report has of processes of the backend: how many were lost and how, and how many no case is blamed for.
LOST, FORGIVEN = "dml_lost", "dml_forgiven"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(
        "dml-conformance", "conformance of a DirectML backend (pytest --pyargs dml_conformance.conformance.gate)"
    )
    group.addoption(
        "--dml-backend",
        metavar="NAME",
        help="the backend to test: reference, torch, torch:cpu, torch:cuda:0, or path/to/file.py:Class",
    )
    group.addoption(
        "--dml-level",
        action="append",
        metavar="LEVEL",
        help="feature level such as 3_0, or all; may be repeated (default: the highest that the backend claims)",
    )
    group.addoption(
        "--dml-operator",
        action="append",
        metavar="OPERATOR",
        help="operator such as GATHER; may be repeated (default: all)",
    )
    group.addoption(
        "--dml-examples",
        type=int,
        default=DEFAULT_EXAMPLES,
        metavar="N",
        help="cases that Hypothesis tries for each test, after the fixed ones (default: %(default)s)",
    )
    group.addoption(
        "--dml-accuracy",
        choices=("directml", "precise"),
        default="directml",
        help="how near results of arithmetic have to be: as DirectML's own, or as full-precision libraries' "
        "(default: %(default)s)",
    )
    group.addoption(
        "--dml-failures",
        metavar="FOLDER",
        help="where failing cases that Hypothesis finds are saved; those that are there are tried first",
    )
    group.addoption(
        "--dml-in-process",
        action="store_true",
        help="run the backend in the process of the tests, for debugging, not in one of its own",
    )
    group.addoption(
        "--dml-time-limit",
        type=float,
        metavar="SECONDS",
        help="seconds that the backend may take over a case (default: 60)",
    )
    group.addoption(
        "--dml-memory-limit",
        metavar="SIZE",
        help="memory that the backend's process may take, such as 4GiB (default: no limit)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dml_decision: does the backend accept and reject as the specification does")
    config.addinivalue_line("markers", "dml_execution: does the backend compute what the specification says")
    config.addinivalue_line("markers", "dml_example: the worked examples of the specification's pages")
    config.pluginmanager.register(_Losses(), "dml-conformance losses")
    runs_suite = any(argument.partition("::")[0].startswith(SUITE) for argument in config.args)
    if runs_suite or any(config.getoption(name) for name in ("--dml-backend", "--dml-level", "--dml-operator")):
        from dml_conformance.conformance.gate.suite import check_options

        check_options(config, needs_backend=runs_suite)


class _Losses:
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


def pytest_unconfigure() -> None:
    """Let the backends' processes end."""
    if (suite := sys.modules.get("dml_conformance.conformance.gate.suite")) is not None:
        suite.close_backends()
