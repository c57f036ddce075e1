"""`dml-conformance certify`: run a campaign and leave its reports in a folder."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from dml_conformance.backends.processes.backend import opened
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.driver import certify as run_campaign
from dml_conformance.conformance.campaign.driver import describe_campaign
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import (
    LEVEL,
    OPERATOR,
    accuracy_option,
    isolation_options,
    repeat_option,
    spec_option,
    with_device_words,
)
from dml_conformance.conformance.cli.resuming import (
    conditions,
    finished_summary,
    resume_option,
    tell_begun,
    tell_begun_anew,
)
from dml_conformance.conformance.exchange.failures import read_failures
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.packages.make import PackageFolder, complete_archive
from dml_conformance.conformance.packages.profiles import ClaimsProfile, narrowed, widest
from dml_conformance.conformance.packages.toml import read_toml
from dml_conformance.conformance.packages.waivers import WaiverFilter, Waivers, read_waivers
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.console import Progress, print_summary
from dml_conformance.reports.package import PACKAGE_FILES, SUFFIX
from dml_conformance.reports.package.forms import Stated
from dml_conformance.reports.stream import FanOut
from dml_conformance.reports.summary import Summary
from dml_conformance.reports.writing import FILES, OutputFolder, ReportFolder
from dml_conformance.spec.accuracy import PROFILES
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators as all_operators
from dml_conformance.spec.validator import Reading


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
@click.option(
    "--every-level",
    is_flag=True,
    help="Execute everything at every level, also where nothing changes for an operator since the level below.",
)
@click.option("--operator", "operators", multiple=True, type=OPERATOR, help="Operator such as GATHER; may be repeated.")
@spec_option
@accuracy_option
@repeat_option
@isolation_options
@click.option(
    "-n",
    "--workers",
    "worker_count",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes that judge, each with a backend in a process of its own; what they find does not depend on N.",
)
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
    "--failures",
    "failures_folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Failing cases of an earlier run, such as OUT/failures, to be judged first.",
)
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for certificate.json, results.sqlite, report.html and the rest; it must not hold anything yet.",
)
@click.option(
    "--replace", "replace_folder", is_flag=True, help="Replace the folder if an earlier certification is there."
)
@resume_option
@click.option(
    "--profile",
    "profile_name",
    type=click.Choice([str(profile) for profile in ClaimsProfile]),
    help="What is judged; without it all that the backend claims.",
)
@click.option(
    "--waivers",
    "waivers_file",
    type=click.Path(path_type=Path),
    metavar="WAIVERS.toml",
    help="Known failures that are set aside.",
)
@click.option(
    "--package", is_flag=True, help="Make the folder a certification package, and beside it FOLDER.tar.zst of it."
)
@click.option(
    "--statement",
    "statement_file",
    type=click.Path(path_type=Path),
    metavar="STATEMENT.toml",
    help="What the package states of the product.",
)
@click.option(
    "--sign-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Private key that signs the package, as keys new makes it.",
)
def certify(
    backend_name: str,
    device_profile: str | None,
    d3d12: Path | None,
    levels: tuple[Level, ...],
    all_levels: bool,
    every_level: bool,
    operators: tuple[str, ...],
    spec: str,
    accuracy: str,
    repeat: int,
    limits: Limits | None,
    worker_count: int | None,
    budget_name: str,
    cases: int | None,
    seed: int,
    failures_folder: Path | None,
    folder: Path,
    replace_folder: bool,
    resume: bool,
    profile_name: str | None,
    waivers_file: Path | None,
    package: bool,
    statement_file: Path | None,
    sign_key: Path | None,
) -> None:
    """Certify a backend against the specification.

    Without --level or --all-levels the highest level that the backend claims is certified. Of several levels between
    which nothing changes for an operator the newest stands for all; at the others decisions are sampled. Exit code 0:
    conformant; 1: not conformant; 2: wrong usage; 3: the run is incomplete or broken.
    """
    if levels and all_levels:
        raise click.UsageError("--level and --all-levels exclude each other; give one of them.")
    if worker_count is not None and limits is None:
        raise click.UsageError("--workers and --in-process exclude each other; give one of them.")
    backend_name = with_device_words(backend_name, device_profile, d3d12)
    if package and cases is not None:
        raise click.UsageError("--cases and --package exclude each other; a package holds the whole of its budget.")
    if package and failures_folder is not None:
        raise click.UsageError("--failures and --package exclude each other; a package holds the cases of its seed.")
    saved = [] if failures_folder is None else read_failures(failures_folder)
    for option, value in (("--statement", statement_file), ("--sign-key", sign_key)):
        if value is not None and not package:
            raise click.UsageError(f"{option} is about a package; give --package too.")
    waivers = Waivers() if waivers_file is None else read_waivers(waivers_file, datetime.now(UTC).date())
    known = (*FILES, *PACKAGE_FILES)
    with (
        OutputFolder(folder, replace=replace_folder, resume=resume, known=known) as output,
        opened(backend_name, limits) as backend,
    ):
        claims = backend.capabilities()
        if profile_name is not None:
            claims = narrowed(claims, ClaimsProfile(profile_name))
        judge = Judge(
            backend,
            backend_name,
            Reading(spec),
            claims=claims,
            digests_outputs=package,
            repeat=repeat,
            profile=PROFILES[accuracy],
        )
        chosen = list(Level) if all_levels else sorted(set(levels)) or [max(judge.capabilities.levels)]
        budget = BUDGETS[budget_name]
        if cases is not None:
            budget = replace(budget, sweep_total=cases)
        names = tuple(dict.fromkeys(operators)) or tuple(all_operators())
        engine = Engine(judge, names, chosen, budget, seed, saved, every_level=every_level)
        if output.is_finished:
            summary = finished_summary(output, describe_campaign(engine))
            if package:
                complete_archive(folder)
        else:
            tell_begun_anew(output)
            same = conditions([backend_name], leave_out=_NOT_OF_THE_RUN)
            reports: ReportFolder | PackageFolder
            if package:
                stated = None if statement_file is None else read_toml(statement_file, Stated)
                key = None
                if sign_key is not None:
                    from dml_conformance.reports.package.signature import read_private_key  # which loads OpenSSL

                    key = read_private_key(sign_key)
                profile = widest(claims) if profile_name is None else ClaimsProfile(profile_name)
                reports = PackageFolder(output, profile, stated, waivers, key, replace=replace_folder, conditions=same)
            else:
                reports = ReportFolder(output, conditions=same)
            workers = None
            if worker_count is not None and limits is not None:
                workers = Workers(JudgeSetup.of(judge, limits), worker_count)
            summary = _run(engine, waivers, reports, workers)
            waivers.check_used()
    print_summary(summary, output=str(folder))
    if package:
        echo(f"Package: {folder}{SUFFIX}")
    raise SystemExit(summary.conformance.exit_code)


# Parameters that the results do not depend on, and what makes a signature another one, which is made at the end.
_NOT_OF_THE_RUN = ("folder", "replace_folder", "sign_key", "failures_folder", "in_process", "worker_count")


def _run(engine: Engine, waivers: Waivers, reports: ReportFolder | PackageFolder, workers: Workers | None) -> Summary:
    """Run a campaign, or what is left of it."""
    tell_begun(reports.begun)
    progress = Progress(planned=engine.planned())
    try:
        run_campaign(engine, WaiverFilter(waivers, FanOut(reports, progress)), reports.begun, workers)
    finally:
        progress.close()
        reports.close()
        if workers is not None:
            workers.close()
    if workers is not None and workers.losses:
        count = workers.losses.total()
        times = "once" if count == 1 else f"{count} times"
        echo(f"A process that judges was lost {times}; what it was at was judged again.", err=True)
    return reports.summary
