"""`operators` and `rules`: what the specification covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from dml_conformance.conformance.cli.options import LEVEL, OPERATOR, format_option
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.operator import OperatorSpec, Support, Table
from dml_conformance.spec.registry import operators as all_operators
from dml_conformance.spec.registry import rule as rule_named
from dml_conformance.spec.registry import rules as all_rules
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.tensor_rules import DESCRIPTOR_RULES, EXECUTION_RULES, TENSOR_RULES


@click.command()
@format_option("text", "json")
def operators(format_: str) -> None:
    """List all operators of DirectML, and what of each is judged.

    `facts` says where the tables of an operator are from. Decisions and values are judged but for those rules that the
    pages leave open; of some of these it was observed what the real library does (`--spec observed`). Which they are,
    and by which errata, `--format json` has under `left_open`.
    """
    specs = all_operators().values()
    if format_ == "json":
        print_json({"format": 1, "operators": [_operator_json(spec) for spec in specs]})
        return
    print_table(
        ("operator", "introduced", "tables at", "facts", "decisions", "values", "summary"),
        (
            (
                spec.name,
                spec.introduced_in.label,
                " ".join(level.label for level in sorted(spec.tables)),
                str(spec.facts.table_source),
                _judged(spec, of_values=False),
                _judged(spec, of_values=True),
                spec.summary,
            )
            for spec in specs
        ),
    )


def _judged(spec: OperatorSpec, *, of_values: bool) -> str:
    """`judged`, and how many rules of values, or of decisions, are not."""
    is_observed = [
        left["observed"] for left in _left_open(spec) if rule_named(left["rule"]).is_descriptor_rule != of_values
    ]
    counts = {"observed": is_observed.count(True), "open": is_observed.count(False)}
    return ", ".join(["judged", *(f"{count} {word}" for word, count in counts.items() if count)])


def _left_open(spec: OperatorSpec) -> list[dict[str, Any]]:
    """The rules that the pages leave open, why, and whether it was observed what the real library does."""
    return [
        {"rule": rule.id, "erratum": rule.erratum, "observed": rule.id in observations()}
        for rule in spec.rules
        if rule.erratum
    ]


def _operator_json(spec: OperatorSpec) -> dict[str, Any]:
    return {
        "operator": spec.name,
        "type": spec.dml_name,
        "type_value": spec.type_value,
        "introduced_in": spec.introduced_in.label,
        "summary": spec.summary,
        "pseudocode": spec.pseudocode,
        "facts": str(spec.facts.table_source),
        "decisions": _judged(spec, of_values=False),
        "values": _judged(spec, of_values=True),
        "left_open": _left_open(spec),
        "source": spec.source.url,
        "fields": [{"name": field.name, "kind": field.kind.name, "optional": field.optional} for field in spec.fields],
        "tables": _tables_json(spec.tables, spec),
        "tables_by_function": {
            variant: _tables_json(tables, spec) for variant, tables in spec.variants.items() if variant
        },
    }


def _tables_json(tables: Mapping[Level, Table], spec: OperatorSpec) -> dict[str, Any]:
    return {
        level.label: {field.name: _support_json(tables[level][field.name]) for field in spec.tensor_fields}
        for level in sorted(tables)
    }


def _support_json(support: Support) -> dict[str, Any]:
    return {
        "dimension_counts": sorted(support.dimension_counts),
        "data_types": [data_type.name for data_type in sorted(support.data_types)],
    }


@click.command()
@click.argument("operator", required=False, type=OPERATOR)
@click.option("--level", type=LEVEL, help="Only rules that apply at this feature level.")
@click.option(
    "--category", type=click.Choice([str(category) for category in Category]), help="Only rules of this kind."
)
@format_option("text", "json", "md")
def rules(operator: str | None, level: Level | None, category: str | None, format_: str) -> None:
    """List the rules, or those of one OPERATOR with the tensors' and executions' that hold for every operator."""
    selected = [
        rule
        for rule in (
            all_rules().values()
            if operator is None
            else (*TENSOR_RULES, *DESCRIPTOR_RULES, *EXECUTION_RULES, *all_operators()[operator].rules)
        )
        if (level is None or rule.applies_at(level)) and (category is None or rule.category == category)
    ]
    if format_ == "json":
        print_json({"format": 1, "rules": [rule_json(rule) for rule in selected]})
    elif format_ == "md":
        click.echo("\n".join(_markdown(selected)))
    else:
        print_table(
            ("rule", "category", "levels", "says"),
            ((rule.id, str(rule.category), _levels(rule), _statement(rule)) for rule in selected),
        )


def rule_json(rule: Rule) -> dict[str, Any]:
    """All that is stated about a rule."""
    return {
        "id": rule.id,
        "category": str(rule.category),
        "kind": rule.kind,
        "statement": rule.statement,
        "remedy": rule.remedy,
        "since": rule.since.label,
        "until": None if rule.until is None else rule.until.label,
        "needs": sorted(rule.needs),
        "erratum": rule.erratum,
        "settles": list(rule.settles),
        "source": rule.source.url,
        "section": rule.source.section,
        "also": [source.url for source in rule.also],
    }


def _levels(rule: Rule) -> str:
    return f"from {rule.since}" if rule.until is None else f"{rule.since} to below {rule.until}"


def _statement(rule: Rule) -> str:
    return rule.statement if rule.erratum is None else f"{rule.statement} [UNSPECIFIED, {rule.erratum}]"


def _markdown(selected: Iterable[Rule]) -> list[str]:
    """A section and a table for each subject."""
    lines: list[str] = []
    subject = ""
    for rule in selected:
        if rule.id.partition(".")[0] != subject:
            subject = rule.id.partition(".")[0]
            lines += [*([""] if lines else []), f"## {subject}", ""]
            lines += ["| rule | category | levels | says | source |", "|---|---|---|---|---|"]
        sources = ", ".join(f"[{source.section or source.page}]({source.url})" for source in rule.sources)
        cells = (f"`{rule.id}`", str(rule.category), _levels(rule), _statement(rule), sources)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
