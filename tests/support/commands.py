"""Commands run in this process, and what they leave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from dml_conformance.conformance.cli import main
from dml_conformance.reports.model.records import Record
from dml_conformance.reports.output.folder import CERTIFICATE, RESULTS
from dml_conformance.reports.store.results import Store

MEASURED = {"started", "finished", "seconds", "content", "throughput"}
# For a process of its own. One that was started in the background ignores Ctrl-C, and so would its children.
PROGRAM = """\
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from dml_conformance.conformance.cli import main
main()
"""


def invoke(*arguments: object, stdin: bytes | str | None = None, env: Mapping[str, str | None] | None = None) -> Result:
    """Run `dml-conformance` with arguments, paths among them."""
    # COLUMNS asks for a width; without it tables are not wrapped, whatever runs the tests.
    environment = {"COLUMNS": None, **(env or {})}
    written = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, written, input=stdin, env=environment, prog_name="dml-conformance")


def certificate(out: Path) -> Any:
    """The certificate in a folder of reports."""
    return json.loads((out / CERTIFICATE).read_text(encoding="utf-8"))


def without_times(value: Any) -> Any:
    """JSON of reports without what is measured."""
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name not in MEASURED}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def records_of(out: Path) -> list[Record]:
    """The records in a folder of reports."""
    with Store(out / RESULTS) as store:
        return list(store.records())
