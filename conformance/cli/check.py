"""`check`: what the specification decides on the descriptors in files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.conformance.cli.lines import complain
from dml_conformance.conformance.cli.options import LEVEL, format_option, spec_option
from dml_conformance.conformance.cli.output import print_json
from dml_conformance.spec.errata import errata
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.model_files import (
    MAX_BYTES,
    LocatedOperator,
    ModelError,
    ModelFile,
    SkippedOperator,
    read_model,
)
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.rules import Violation
from dml_conformance.spec.validator import Decision, Outcome, Reading, decide

# Places named for one broken rule; a descriptor can have a million sizes of 0.
SHOWN_PLACES = 8


class OperatorDecision(NamedTuple):
    """One operator of a file and the decision on it."""

    located: LocatedOperator
    decision: Decision

    def path(self, where: str) -> str:
        """A violation's place as a path in the file."""
        if not where:
            return self.located.where
        return f"{self.located.fields}.{where}" if self.located.fields else where


class FileResult(NamedTuple):
    """One file: what it holds and was decided, or why it cannot be read."""

    file: str
    checked: tuple[OperatorDecision, ...] = ()
    skipped: tuple[SkippedOperator, ...] = ()
    error: ModelError | None = None


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="MODEL.json...", type=click.Path(allow_dash=True))
@click.option(
    "--level", type=LEVEL, default=HIGHEST.label, show_default=True, help="Feature level to hold them against."
)
@spec_option
@click.option("--strict", is_flag=True, help="Count UNSPECIFIED as not conformant.")
@format_option("text", "json")
@click.pass_context
def check(context: click.Context, files: tuple[str, ...], level: Level, spec: str, strict: bool, format_: str) -> None:
    """Decide whether operator descriptors are valid at a feature level.

    A file holds one descriptor ({"type": "DML_OPERATOR_GATHER", "desc": {...}}), a list of them, or a whole DxDispatch
    model; - reads standard input.

    For each operator: ACCEPT, REJECT with every rule that it breaks, or UNSPECIFIED where the pages leave it open, with
    the erratum. Ends with 0 if nothing is rejected (UNSPECIFIED counts as 0, with --strict as 1), 1 if something is,
    2 if a file cannot be read as descriptors; the other files are checked all the same.
    """
    reading = Reading(spec)
    results = [_check_file(file, level, reading) for file in files]
    if format_ == "json":
        print_json(as_json(results, level, reading))
    elif any(result.checked for result in results):
        click.echo("\n".join(as_text(results, level)))
    for result in results:
        if result.error is not None:
            complain(str(result.error))
    context.exit(_exit_code(results, strict))


def _check_file(file: str, level: Level, reading: Reading) -> FileResult:
    name = name_of(file)
    try:
        model = _read_operators(file)
    except ModelError as error:
        return FileResult(name, error=error)
    checked = tuple(OperatorDecision(located, decide(located.desc, level, reading)) for located in model.operators)
    return FileResult(name, checked, model.skipped)


def name_of(file: str) -> str:
    """What a file is called in messages; `-` is standard input."""
    return "standard input" if file == "-" else click.format_filename(file)


def _read_operators(file: str) -> ModelFile:
    """Read a file's descriptors; `-` is standard input.

    Raises:
        ModelError: it cannot be read, or has no operator known here.
    """
    name = name_of(file)
    model = read_model(read_bytes(file, name), name)
    if not model.operators:
        kinds = ", ".join(sorted({skipped.type for skipped in model.skipped})) or "nothing at all"
        raise ModelError(
            name, "", f"has no operator known here, only {kinds}; `dml-conformance operators` lists those of DirectML.h"
        )
    return model


def read_bytes(file: str, name: str) -> bytes:
    """The bytes of a file, or of standard input, as far as they are read; raises ModelError."""
    try:
        if file == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(name, "", f"cannot be read: {error.strerror}") from None


def _exit_code(results: Iterable[FileResult], strict: bool) -> Exit:
    if any(result.error is not None for result in results):
        return Exit.BAD_INPUT
    outcomes = _outcomes(results)
    failed = outcomes[Outcome.REJECT] + (outcomes[Outcome.UNSPECIFIED] if strict else 0)
    return Exit.NOT_CONFORMANT if failed else Exit.CONFORMANT


def _outcomes(results: Iterable[FileResult]) -> Counter[Outcome]:
    return Counter(checked.decision.outcome for result in results for checked in result.checked)


def as_json(results: Iterable[FileResult], level: Level, reading: Reading) -> dict[str, Any]:
    """The results as `check --format json` prints them.

    Returns:
        `format` (1; another number when a member changes its meaning), `level`, `spec`, `files` in the order asked for
        and `summary` (how many ACCEPT, REJECT, UNSPECIFIED). A file has `file`, `operators`, `skipped` (where, type)
        and `error` (where, problem; null if it could be read). An operator has `where`, `operator`, `decision`,
        `violations` (rule, category, where, found, says, remedy, erratum, source), `errata` (id, finding, reason)
        by which the pages leave it open, and `observations` (rule, source, libraries, finding) that settle it.
    """
    results = list(results)
    outcomes = _outcomes(results)
    return {
        "format": 1,
        "level": level.label,
        "spec": str(reading),
        "files": [
            {
                "file": result.file,
                "operators": [_operator_json(checked) for checked in result.checked],
                "skipped": [{"where": skipped.where, "type": skipped.type} for skipped in result.skipped],
                "error": None
                if result.error is None
                else {"where": result.error.where, "problem": result.error.problem},
            }
            for result in results
        ],
        "summary": {str(outcome): outcomes[outcome] for outcome in Outcome},
    }


def _operator_json(checked: OperatorDecision) -> dict[str, Any]:
    return {
        "where": checked.located.where,
        "operator": checked.located.desc.operator,
        "decision": str(checked.decision.outcome),
        "violations": [
            {**violation.as_json(), "where": checked.path(violation.where)} for violation in checked.decision.violations
        ],
        "errata": [
            {"id": name, "finding": errata()[name].finding, "reason": errata()[name].reason}
            for name in checked.decision.errata
        ],
        "observations": [observation.as_json() for observation in checked.decision.observations],
    }


def as_text(results: Iterable[FileResult], level: Level) -> Iterator[str]:
    """The results for a person to read, line by line."""
    results = list(results)
    for result in results:
        for checked in result.checked:
            name = spec_of(checked.located.desc).dml_name
            place = ": ".join(part for part in (result.file, checked.located.where, name) if part)
            yield one_line(f"{place} at {level}: {checked.decision.outcome}")
            for rule_id in checked.decision.rules:
                yield ""
                yield from _rule_lines(checked, [v for v in checked.decision.violations if v.rule.id == rule_id])
            if checked.decision.violations:
                yield ""
        for skipped in result.skipped:
            yield one_line(f"{result.file}: {skipped.where}: skipped, {skipped.type} is not known here")
    outcomes = _outcomes(results)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome)
    left_out = sum(len(result.skipped) for result in results)
    total = outcomes.total()
    yield f"{total} operator{'' if total == 1 else 's'} at {level}: {counts}" + (
        f"; {left_out} skipped" if left_out else ""
    )


def _rule_lines(checked: OperatorDecision, violations: list[Violation]) -> Iterator[str]:
    rule = violations[0].rule
    yield f"  {rule.id} ({rule.category})"
    for violation in violations[:SHOWN_PLACES]:
        place = checked.path(violation.where) or checked.located.desc.operator
        yield "    found   " + one_line(f"{place}: {violation.found}")
    if len(violations) > SHOWN_PLACES:
        yield f"            and {len(violations) - SHOWN_PLACES} more places"
    yield f"    says    {rule.statement}"
    if rule.erratum is not None:
        yield f"    open    {rule.erratum}: {errata()[rule.erratum].reason}"
    for observation in checked.decision.observations:
        if observation.rule == rule.id:
            yield f"    settled {observation.finding}"
            yield f"            {observation.source}"
    if rule.remedy:
        yield f"    mend    {rule.remedy}"
    yield f"    source  {rule.source.url}" + (f" ({rule.source.section})" if rule.source.section else "")
