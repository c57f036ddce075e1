"""`spec audit`: the specification held against the live DirectML library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import LEVEL, OPERATOR, format_option, seed_option
from dml_conformance.conformance.cli.output import print_json, print_table
from dml_conformance.spec import registry
from dml_conformance.spec.divergences import divergences
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level

if TYPE_CHECKING:
    from dml_conformance.backends.directml import DirectmlBackend
    from dml_conformance.conformance.audit.audit import Audit, AuditPart
    from dml_conformance.conformance.audit.tables import TableFindings

RANDOM_CASES = 20_000


@click.command(name="audit")
@click.option(
    "--library",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Library to ask: libdirectml.so, or the folder that has it.",
)
@click.option("--level", type=LEVEL, help="Installed library to ask, by the feature level that it speaks.")
@click.option(
    "--operator",
    "operators",
    multiple=True,
    type=OPERATOR,
    help="Operator that is asked about beside what is on record, such as GATHER; may be repeated.",
)
@click.option(
    "--cases",
    type=click.IntRange(min=0),
    default=RANDOM_CASES,
    show_default=True,
    help="Number of random descriptors, beside the fixed ones.",
)
@seed_option("the random ones")
@format_option("text", "json")
@click.pass_context
def audit_command(
    context: click.Context,
    library: Path | None,
    level: Level | None,
    operators: tuple[str, ...],
    cases: int,
    seed: int,
    format_: str,
) -> None:
    """Hold the specification against the real DirectML library.

    Every rule is put before the library, kept and broken, with the boundary cases of its level and of those before each
    change of an operator, and with random descriptors, and its answers are compared with the specification at the
    library's own level. The tables of operators are held against what it takes, data type by data type. Differences are
    known ones or new ones. Without --library and --level the library that the directml backend would use is asked. With
    --operator what is on record is still that of all.

    Ends with 0 if the library differs in all the ways that are on record for its level, and in no other; with 1 if
    there is a difference that is not on record, or one that is has gone; with 2 if there is no library; with 3 if it
    cannot be asked to the end.
    """
    if library is not None and level is not None:
        raise click.UsageError("--library and --level exclude each other; give one of them.")
    from dml_conformance.conformance.audit.audit import audit

    backend = _open(library, level)
    try:
        with _progress(cases, None if operators else len(registry.operators())) as tell:
            found = audit(backend, cases, seed, tell, operators)
    finally:
        backend.close()
    if format_ == "json":
        print_json(found.as_json())
    else:
        _print(found)
    context.exit(Exit.CONFORMANT if found.ok else Exit.NOT_CONFORMANT)


def _open(library: Path | None, level: Level | None) -> DirectmlBackend:
    from dml_conformance.backends.directml import DirectmlBackend
    from dml_conformance.backends.directml.library import OVERRIDE

    if library is not None:
        os.environ[OVERRIDE] = str(library)
    return DirectmlBackend("" if level is None else level.label)


@contextmanager
def _progress(cases: int, tables: int | None) -> Iterator[Callable[[AuditPart, int], None]]:
    """How far each part is, on standard error."""
    from dml_conformance.conformance.audit.audit import AuditPart
    from dml_conformance.reports.views.console import Steps

    planned = {AuditPart.RANDOM: cases, AuditPart.TABLES: tables}
    shown: dict[AuditPart, Steps] = {}
    with ExitStack() as stack:

        def tell(part: AuditPart, done: int) -> None:
            if part not in shown:
                stack.close()  # the part before
                unit = "operators" if part is AuditPart.TABLES else "descriptors"
                shown[part] = stack.enter_context(Steps(str(part), planned.get(part), unit))
            shown[part].reach(done)

        yield tell


def _print(found: Audit) -> None:
    from dml_conformance.conformance.audit.audit import DECISIONS, VALID, Standing

    names = found.capabilities.versions
    echo(f"{names.get('directml', found.capabilities.name)}, level {found.level}, {found.capabilities.device}")
    echo()
    standings = (Standing.AGREES, Standing.STRICTER, Standing.LAXER, Standing.CRASHED)
    rows = sorted(found.rows.items(), key=lambda item: (item[0] != VALID, item[0]))
    print_table(
        ("rule", *map(str, standings), "left open: accepted", "rejected", "not claimed"),
        (
            (
                name,
                *(_number(row.standings[standing]) for standing in standings),
                *(_number(row.left_open[answer]) for answer in DECISIONS),
                _number(row.standings[Standing.NOT_CLAIMED]),
            )
            for name, row in rows
        ),
    )
    echo()
    echo("Divergences on record:")
    echo()
    print_table(
        ("divergence", "specification", "library", "at fault", "seen"),
        (
            (
                known.id,
                str(known.specification),
                known.answer,
                known.fault,
                f"{found.recorded[known.id].count:,}" if known.id in found.recorded else "0",
            )
            for known in divergences().values()
            if known in found.expected or known.id in found.recorded
        ),
    )
    _print_tables(found)
    _print_problems(found)
    echo()
    for line in _summary(found).splitlines():
        echo(line)


def _print_tables(found: Audit) -> None:
    """What came of the tables of each operator."""
    echo()
    echo("Cells of the tables, of all operators, and tensors left out:")
    echo()

    def row(table: TableFindings) -> tuple[str, ...]:
        known = [found.explained_by[difference] for difference in table.differences]
        counts = table.tried, table.agreed, len(known) - known.count(None), known.count(None)
        return table.operator, *map(_number, counts), "; ".join(table.left_out)

    print_table(
        ("operator", "tried", "agreed", "differ as on record", "otherwise", "not tried"),
        map(row, found.tables),
        whole=5,
    )


def _print_problems(found: Audit) -> None:
    unexplained = [difference for difference, known in found.explained_by.items() if known is None]
    if found.new or found.gone or found.unexpected or unexplained:
        echo()
    for difference in unexplained:
        of = " ".join(filter(None, difference.question))
        says = "allows" if difference.allowed else "does not allow"
        echo(f"NEW: {of}: the facts say that the level {says} it, the library's answer is {difference.answer}:")
        echo(msgspec.json.encode(desc_to_json(difference.desc)).decode(), indent=2)
    for what, group in found.new.items():
        about = f" ({', '.join(what.rules)})" if what.rules else ""
        by = "what was observed before is" if what.is_observation else "the specification says"
        echo(
            f"NEW: {what.operator}: {by} {what.specification}{about}, the library's answer is {what.answer}; "
            f"{group.count:,} {'descriptor' if group.count == 1 else 'descriptors'}, the smallest:"
        )
        echo(msgspec.json.encode(desc_to_json(group.smallest)).decode(), indent=2)
    for known in found.unexpected:
        echo(f"NEW: {known.id} is on record for {', '.join(known.libraries)}, and shows at {found.level} as well")
    for known in found.gone:
        echo(f"GONE: {known.id} is on record for {found.level}, and does not show any more")


def _summary(found: Audit) -> str:
    from dml_conformance.conformance.audit.audit import Standing

    count = found.standings
    totals = (
        f"{found.asked:,} descriptors in {found.seconds:.1f} s: {count[Standing.AGREES]:,} agree; "
        f"{found.explained:,} differ as {len(found.recorded)} divergences on record say; "
        f"{found.unexplained:,} differ otherwise; {count[Standing.LEFT_OPEN]:,} are left open, "
        f"{found.as_observed:,} of them answered as observed before"
    )
    cells = sum(table.tried for table in found.tables)
    agreed = sum(table.agreed for table in found.tables)
    tried = sum(table.tried > 0 for table in found.tables)
    lines = [totals, f"{cells:,} cells of the tables of {tried} operators: {agreed:,} agree"]
    if count[Standing.NOT_CLAIMED]:
        lines.append(f"{count[Standing.NOT_CLAIMED]:,} could not be asked: {', '.join(found.reasons)}")
    compared = count[Standing.AGREES] + found.unexplained
    share = 100 * count[Standing.AGREES] // compared if compared else 0
    lines.append(f"agreement outside the divergences on record: {share} %")
    return "\n".join(lines)


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"
