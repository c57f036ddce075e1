"""Failing cases as files: for each operator and rule the smallest one, as JSON that `replay` and the gate read."""

from __future__ import annotations

import re
from pathlib import Path

from dml_conformance.reports.model.records import Record
from dml_conformance.reports.model.summary import FailureKind, Summary, case_size
from dml_conformance.reports.model.text import pretty_json

FAILURES = "failures"  # the folder beside the results
_NAME = re.compile(r"[A-Z0-9_]+-[A-Za-z0-9_.-]+\.json")
_KINDS = [kind for kind in FailureKind if kind is not FailureKind.ERROR]


def failing_cases(summary: Summary) -> dict[str, bytes]:
    """The smallest failing case of each operator and rule, by the name of its file."""
    smallest: dict[str, Record] = {}
    for group in summary.failure_groups(*_KINDS):
        name, record = file_name(group.operator, group.rule), group.smallest
        if name not in smallest or case_size(record) < case_size(smallest[name]):
            smallest[name] = record
    return {name: case_file(smallest[name]) for name in sorted(smallest)}


def file_name(operator: str, rule: str) -> str:
    """`TILE-EXECUTION.strides.json`."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", f"{operator}-{rule or 'no-rule'}") + ".json"


def case_file(record: Record) -> bytes:
    """The content of a file: the case, about the rule that the verdict is about."""
    return (pretty_json({**record.case_json, "rule": record.rule}, 120) + "\n").encode()


def holds_failures_alone(folder: Path) -> bool:
    """Whether a folder holds nothing but files that are named as these are."""
    return folder.is_dir() and all(entry.is_file() and _NAME.fullmatch(entry.name) for entry in folder.iterdir())
