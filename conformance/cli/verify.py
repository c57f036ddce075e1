"""`dml-conformance verify`: check a certification package, trusting nothing in it."""

from __future__ import annotations

import secrets
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.cli.options import (
    PATH,
    ParsedType,
    file_option,
    format_option,
    isolation_options,
    later,
    walls_option,
)

if TYPE_CHECKING:
    from dml_conformance.conformance.packages.verify import Verification
    from dml_conformance.conformance.packages.verify.findings import VerificationCheck


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"expected a day such as 2027-01-31, found {text!r}") from None


@click.command()
@click.argument("package", type=PATH)
@file_option("--public-key", "public_key", "FILE", "Key that the package has to be signed with, as keys new makes it.")
@click.option(
    "--rerun",
    "share",
    type=ParsedType("share", later("conformance.packages.verify.rerun:parse_share")),
    metavar="N%",
    help="Execute a random part again, with fresh data; --backend says on what.",
)
@click.option("--backend", "backend_name", metavar="NAME", help="As for certify; for --rerun.")
@click.option("--rerun-seed", type=click.IntRange(0, 2**64 - 1), help="Of the sample; without it another each time.")
@click.option(
    "--as-of",
    type=ParsedType("day", _day),
    metavar="DAY",
    help="Day on which waivers have to hold; without it today (UTC).",
)
@walls_option("Walls that must have stood between the backend and what judged it, by the package's account.")
@isolation_options
@format_option("text", "json")
def verify(
    package: Path,
    public_key: Path | None,
    share: Fraction | None,
    backend_name: str | None,
    rerun_seed: int | None,
    as_of: date | None,
    required_walls: tuple[str, ...],
    limits: Limits | None,
    format_: str,
) -> None:
    """Verify PACKAGE, a folder or .tar.zst file that certify --package made.

    Everything that can be computed again is: digests, cases, decisions, outputs, certificate. Exit code 0: it verifies,
    and the backend is conformant; 1: it does not verify, or the backend is not conformant; 2: it is no package;
    3: it verifies, and the run is incomplete.
    """
    from dml_conformance.conformance.packages.verify import verify as verify_package
    from dml_conformance.conformance.packages.verify.rerun import Rerun
    from dml_conformance.reports.views.console import Steps

    if (share is None) != (backend_name is None):
        raise click.UsageError("--rerun and --backend go together; give both or none.")
    if rerun_seed is not None and share is None:
        raise click.UsageError("--rerun-seed is about --rerun; give that too.")
    key = None
    if public_key is not None:
        from dml_conformance.reports.package.signature import read_public_key

        key = read_public_key(public_key)
    rerun = None
    if share is not None and backend_name is not None:
        rerun = Rerun(share, backend_name, secrets.randbits(64) if rerun_seed is None else rerun_seed, limits)
    with Steps("Verifying", unit="steps") as steps:
        today = as_of or datetime.now(UTC).date()
        found = verify_package(package, key=key, today=today, walls=required_walls, rerun=rerun, progress=steps.reach)
    if format_ == "json":
        from dml_conformance.conformance.cli.output import print_json

        print_json(found)
    else:
        _print(package, found)
    raise SystemExit(found.exit_code)


def _result(check: VerificationCheck) -> str:
    if check.findings:
        return f"{check.findings} wrong"
    return "ok" if check.done else "not checked"


def _print(package: Path, found: Verification) -> None:
    from dml_conformance.conformance.cli.lines import echo
    from dml_conformance.conformance.cli.output import print_table

    print_table(("check", "result", "about"), ((check.name, _result(check), check.detail) for check in found.checks))
    if found.findings:
        echo()
    for finding in found.findings:
        echo(f"{finding.check}: {finding}")
    for check, count in found.hidden.items():
        echo(f"{check}: and {count} more")
    echo()
    stated = found.statement.stated if found.verifies and found.statement is not None else None
    if stated is not None:
        echo(f"Product: {stated.product} {stated.product_version}, {stated.vendor}")
    if found.verifies:
        echo(f"{package}: verifies. {found.headline}")
    else:
        echo(f"{package}: does not verify.")
