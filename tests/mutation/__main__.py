"""Mutation testing of the specification and of what compares: `run` does it, `report` writes its page anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from page import page
from record import ROOT, Mutant, explanations, record_of, recorded, save, unexplained

SESSIONS = ROOT / "build" / "mutation" / "sessions"
PAGE = ROOT / "docs" / "mutation.md"


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--workers", default=os.cpu_count() or 1, show_default=True, help="Mutants tested at once.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Modules to mutate, as spec/tensor.py; records nothing.")
@click.option("--again", is_flag=True, help="Test once more what survived without a reason.")
@click.option("--sessions", type=click.Path(path_type=Path), default=SESSIONS, help="Where Cosmic Ray's sessions are.")
def run(workers: int, only: tuple[str, ...], again: bool, sessions: Path) -> None:
    """Test every mutant, record what became of each, and write docs/mutation.md. Ends with 1 if one is unexplained."""
    sys.path.insert(0, str(ROOT))
    from runner import forget, make_mutants, run_mutants, session_of, settings

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
    record = record_of(files, asked.timeout)
    if not only:
        save(record)
    _finish(record, writes=not only)


@main.command()
def report() -> None:
    """Write docs/mutation.md anew from what is recorded. Ends with 1 if a survivor is unexplained."""
    _finish(recorded(), writes=True)


def _finish(record: dict[str, Any], *, writes: bool) -> None:
    if writes:
        PAGE.write_text(page(record, explanations()), encoding="utf-8")
    left = unexplained(record, explanations())
    for mutant in left:
        click.echo(f"{mutant.module}:{mutant.line}: {mutant.operator} in {mutant.definition or 'the module'}")
        click.echo(f"  - {mutant.was}\n  + {mutant.becomes}")
    killed = sum(counts["killed"] for counts in record["modules"].values())
    survived = len(record["survivors"])
    click.echo(
        f"{killed + survived} mutants, {killed} killed, {survived - len(left)} explained, {len(left)} unexplained"
    )
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
