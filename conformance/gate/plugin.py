"""The pytest plugin: the options of the gate. It is loaded in every pytest run, so it imports nothing heavy."""

from __future__ import annotations

import sys

import pytest

from dml_conformance.conformance.gate.failures import BriefFailures
from dml_conformance.conformance.gate.losses import SessionLosses

DEFAULT_EXAMPLES = 25
SUITE = "dml_conformance.conformance.gate"


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
    config.pluginmanager.register(SessionLosses(), "dml-conformance losses")
    config.pluginmanager.register(BriefFailures(), "dml-conformance failures")
    runs_suite = any(argument.partition("::")[0].startswith(SUITE) for argument in config.args)
    if runs_suite or any(config.getoption(name) for name in ("--dml-backend", "--dml-level", "--dml-operator")):
        from dml_conformance.conformance.gate.suite import check_options

        check_options(config, needs_backend=runs_suite)


def pytest_unconfigure() -> None:
    """Let the backends' processes end."""
    if (suite := sys.modules.get("dml_conformance.conformance.gate.suite")) is not None:
        suite.close_backends()
