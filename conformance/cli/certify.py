"""`dml-conformance certify`: run a campaign and leave its reports in a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from backends import load_backend
from conformance.budget import BUDGETS
from conformance.certify import certify as run_campaign
from conformance.cli.options import LEVEL, OPERATOR, spec_option, with_device_words
from conformance.engine import Engine
from conformance.judge import Judge
from reports.console import Progress, print_summary
from reports.stream import FanOut
from reports.writing import OutputFolder, ReportFolder
from spec.levels import Level
from spec.registry import operators as all_operators
from spec.validator import Reading


@click.command()
@click.option(
    "--backend",
    "backend_name",
    required=True,
    metavar="NAME",
    help="reference, torch, torch:cpu, torch:cuda:0, directml, directml:5_2, or path/to/file.py:Class. "
    "Loading a backend runs its code.",
)
@click.option(
    "--device-profile", metavar="PROFILE", help="What the null device of directml claims to be, such as no-doubles."
)
@click.option(
    "--d3d12",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Direct3D 12 library that directml executes on (Linux).",
)
@click.option("--level", "levels", multiple=True, type=LEVEL, help="Feature level such as 3_0; may be repeated.")
@click.option("--all-levels", is_flag=True, help="Every feature level from 1_0 to 6_4.")
@click.option("--operator", "operators", multiple=True, type=OPERATOR, help="Operator such as GATHER; may be repeated.")
@spec_option()
@click.option(
    "--budget",
    "budget_name",
    type=click.Choice(list(BUDGETS)),
    default="standard",
    show_default=True,
    help="How much is tried.",
)
@click.option("--cases", type=click.IntRange(min=0), help="Number of sweep cases in all, in place of the budget's.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True, help="Of search and sweep.")
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for certificate.json, results.sqlite, junit.xml and report.html; it must not hold anything yet.",
)
@click.option(
    "--replace", "replace_folder", is_flag=True, help="Replace the folder if an earlier certification is there."
)
def certify(
    backend_name: str,
    device_profile: str | None,
    d3d12: Path | None,
    levels: tuple[Level, ...],
    all_levels: bool,
    operators: tuple[str, ...],
    spec: str,
    budget_name: str,
    cases: int | None,
    seed: int,
    folder: Path,
    replace_folder: bool,
) -> None:
    """Certify a backend against the specification.

    Without --level or --all-levels the highest level that the backend claims is certified. Exit code 0: conformant;
    1: not conformant; 2: wrong usage; 3: the run is incomplete or broken.
    """
    if levels and all_levels:
        raise click.UsageError("--level and --all-levels exclude each other; give one of them.")
    backend_name = with_device_words(backend_name, device_profile, None if d3d12 is None else f"d3d12={d3d12}")
    with OutputFolder(folder, replace=replace_folder) as output:
        judge = Judge(load_backend(backend_name), backend_name, Reading(spec))
        chosen = list(Level) if all_levels else sorted(set(levels)) or [max(judge.capabilities.levels)]
        budget = BUDGETS[budget_name]
        if cases is not None:
            budget = replace(budget, sweep_total=cases)
        engine = Engine(judge, operators or tuple(all_operators()), chosen, budget, seed)
        reports, progress = ReportFolder(output), Progress(planned=engine.planned())
        try:
            run_campaign(engine, FanOut(reports, progress))
        finally:
            progress.close()
            reports.close()
    print_summary(reports.summary, output=str(folder))
    raise SystemExit(reports.summary.conformance.exit_code)
