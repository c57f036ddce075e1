"""A judged case told to a person: what was tried, which rule it is about, what differs, how to run it again."""

from __future__ import annotations

from typing import Any

import msgspec

from dml_conformance.reports.model.inputs import input_lines
from dml_conformance.reports.model.records import FEW_DIFFERENCES, Phase, Record
from dml_conformance.reports.model.text import actual_bits, distance_text, in_lines
from dml_conformance.spec.case import Placement
from dml_conformance.spec.registry import rule as rule_named
from dml_conformance.spec.validator import Outcome


def explain(record: Record) -> str:
    """Several lines of plain text about one record, with nothing in it that a terminal would act on."""
    lines = [f"{record.operator} at level {record.level}: {record.verdict}, {record.rule or 'no rule in particular'}"]
    if record.rule:
        rule = rule_named(record.rule)
        lines.append(f"  the rule: {rule.statement}")
        for source in rule.sources:
            section = f" ({source.section})" if source.section else ""
            lines.append(f"  its source: {source.url}{section}")
        if rule.remedy and record.expected == Outcome.REJECT:
            lines.append(f"  mend the descriptor: {rule.remedy}")
    answered = f", the backend: {record.answered}" if record.answered else ""
    lines.append(f"  the specification: {record.expected}{answered}")
    if record.reason:
        lines.append(f"  {record.reason}")
    if record.phase is Phase.BOUNDARIES and record.case_json.get("data"):
        lines.append("  a boundary case; no smaller one was found")
    if record.losses_forgiven:
        lines.extend(f"  the backend's process {loss.how}, {loss.count} times ({loss.cause})" for loss in record.lost)
    shown = record.differences[:FEW_DIFFERENCES]
    for difference in shown:
        where = ", ".join(map(str, difference.coordinates))
        wanted = difference.expected + (f" ({difference.expected_bits})" if difference.expected_bits else "")
        got = difference.actual + (f" ({bits})" if (bits := actual_bits(difference)) else "")
        lines.append(f"    at [{where}]: expected {wanted}, actual {got}{distance_text(difference)}")
    hidden = record.difference_count - len(shown)
    if hidden > 0:
        lines.append(f"    and {hidden} more")
    lines.append("  descriptor:")
    lines.extend(f"    {line}" for line in _descriptor(record.case_json))
    lines.extend(f"  {line}" for line in input_lines(record.case_json, record.first_place))
    if record.case_json.get("data"):
        lines.append(f"  data: {msgspec.json.encode(record.case_json['data']).decode()}")
    if "placement" in record.case_json:
        lines.append(f"  bound: {msgspec.convert(record.case_json['placement'], Placement).words}")
    if record.reproduce:
        lines.append(f"  reproduce: {record.reproduce}")
    return in_lines(lines)


def _descriptor(case: dict[str, Any]) -> list[str]:
    """One line a field: tensors are easier to compare below each other."""
    lines = [str(case["type"])]
    lines.extend(f"  {name}: {msgspec.json.encode(value).decode()}" for name, value in case["desc"].items())
    return lines
