"""Mutation testing of the specification and of what compares: tests every mutant, and tells what no test kills."""

from __future__ import annotations

import os
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import click
from record import ROOT, Mutant, Record, explanations
from runner import forget, make_mutants, run_mutants, session_of, settings

SESSIONS = ROOT / "build" / "mutation" / "sessions"
PAGE = ROOT / "docs" / "mutation.md"
FIGURES = re.compile("(?<=<!-- figures -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)


@click.command(help=__doc__)
@click.option("--workers", default=os.cpu_count() or 1, show_default=True, help="Mutants tested at once.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Modules to mutate, as spec/tensor.py; records nothing.")
@click.option("--again", is_flag=True, help="Test once more what survived without a reason.")
@click.option("--sessions", type=click.Path(path_type=Path), default=SESSIONS, help="Where Cosmic Ray's sessions are.")
def main(workers: int, only: tuple[str, ...], again: bool, sessions: Path) -> None:
    """Ends with 1 if a survivor is not explained, or an explanation fits none."""
    asked, known = settings(only), explanations()

    def explains(mutant: Mutant) -> bool:
        return any(entry.fits(mutant) for entry in known)

    files = {module: session_of(module, asked, sessions) for module in asked.modules}
    for module, session in files.items():
        if not session.exists():
            make_mutants(module, asked, session)
        elif again:
            forget(session, explains)
    run_mutants(list(files.values()), asked, workers)
    record = Record.of(files, asked.timeout)
    if not only:
        figures = f"{record.figures(known)}\nRecorded on {datetime.now(UTC).date()}, with {_tools()}.\n"
        PAGE.write_text(FIGURES.sub(lambda _: figures, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    left, unused = record.unexplained(known), [] if only else record.unused(known)
    for mutant in left:
        click.echo(f"{mutant.module}:{mutant.line}: {mutant.operator} in {mutant.definition or 'the module'}")
        click.echo(f"  - {mutant.was}\n  + {mutant.becomes}")
    for entry in unused:
        click.echo(f"explained.toml: {entry.modules}: expected a survivor that this fits: {entry.reason}")
    killed, survived = sum(record.killed.values()), len(record.survivors)
    click.echo(
        f"{killed + survived} mutants, {killed} killed, {survived - len(left)} explained, {len(left)} unexplained"
    )
    sys.exit(1 if left or unused else 0)


def _tools() -> str:
    python = ".".join(platform.python_version_tuple()[:2])
    tools = (f"{name} {version(name)}" for name in ("cosmic-ray", "hypothesis", "numpy", "pytest"))
    return ", ".join((f"Python {python}", *tools))


if __name__ == "__main__":
    main()
