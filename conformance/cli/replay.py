"""`dml-conformance replay`: judge single cases again, from the line that a report gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from backends import load_backend
from conformance.cli.options import spec_option
from conformance.explain import explain
from conformance.judge import Judge
from reports.records import NOT_CONFORMANT, Phase, Verdict
from spec.case import Case
from spec.forms import FormError
from spec.validator import Reading


@click.command()
@click.argument("case", metavar="CASE")
@click.option("--backend", "backend_name", required=True, metavar="NAME", help="As for certify.")
@spec_option()
def replay(case: str, backend_name: str, spec: str) -> None:
    """Judge CASE again and say what comes of it.

    CASE is a case as JSON text, a file with one case or a list of them, or - for standard input. Exit code 0: nothing
    is wrong; 1: a case fails; 2: wrong usage; 3: the harness could not judge it.
    """
    cases = _read(case)
    judge = Judge(load_backend(backend_name), backend_name, Reading(spec))
    records = [judge.record(one, Phase.SEARCH) for one in cases]
    click.echo("\n\n".join(explain(record) for record in records))
    if any(record.verdict in NOT_CONFORMANT for record in records):
        raise SystemExit(1)
    if any(record.verdict is Verdict.ERROR for record in records):
        raise SystemExit(3)


def _read(argument: str) -> list[Case]:
    if argument.lstrip().startswith(("{", "[")):
        name, content = "CASE", argument.encode()
    elif argument == "-":
        name, content = "standard input", sys.stdin.buffer.read()
    else:
        name, content = argument, Path(argument).read_bytes()
    try:
        value: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormError(name, f"expected a case as JSON: {error}") from None
    if not isinstance(value, list):
        return [Case.from_json(value, name)]
    return [Case.from_json(item, f"{name}[{n}]") for n, item in enumerate(value)]
