"""`dml-conformance certify`: run a campaign and leave its reports in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from dml_conformance.backends.processes.backend import opened
from dml_conformance.conformance.campaign.budget import BUDGETS, Budget
from dml_conformance.conformance.campaign.driver import certify as run_campaign
from dml_conformance.conformance.campaign.driver import describe_campaign
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.campaign.plan import newest_claimed
from dml_conformance.conformance.campaign.seeds import Seed
from dml_conformance.conformance.cli.campaigns import (
    RunOptions,
    begun_campaign,
    conditions,
    end,
    finished_summary,
    opened_progress,
    run_options,
    tell_losses,
)
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import (
    NETWORKS,
    campaign_seed_option,
    file_option,
    levels_option,
    operators_option,
    walls_option,
)
from dml_conformance.conformance.exchange.failures import read_failures
from dml_conformance.conformance.exchange.networks.stored import network_at, stored_network
from dml_conformance.conformance.judge.blame import SettledStream
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.packages.make import PackageFolder, complete_archive
from dml_conformance.conformance.packages.profiles import ClaimsProfile, narrowed, widest
from dml_conformance.conformance.packages.toml import read_toml
from dml_conformance.conformance.workers import Workers
from dml_conformance.conformance.workers.environment import check_walls, environment
from dml_conformance.conformance.workers.executor import Executor, InProcess
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.model.summary import Summary
from dml_conformance.reports.output.folder import KNOWN, OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.package import PACKAGE_FILES, SUFFIX
from dml_conformance.reports.package.forms import Stated
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators as all_operators

# Parameters that the results do not depend on, and what makes a signature another one, which is made at the end.
_NOT_OF_THE_RUN = ("sign_key", "failures_folder", "required_walls")

# If the command is not told how many processes judge: so many at most, as each takes the memory of a large case, and
# one for so many operators, as fewer are judged in the time that a process takes to start.
MOST_WORKERS, OPERATORS_EACH = 8, 8


@click.command()
@click.option(
    "--backend",
    "backend_name",
    required=True,
    metavar="NAME",
    help="reference, torch, torch:cpu, torch:cuda:0, directml, directml:5_2, onnxruntime, or path/to/file.py:Class. "
    "Loading a backend runs its code.",
)
@levels_option
@click.option("--all-levels", is_flag=True, help="Every feature level from 1_0 to 6_4.")
@click.option(
    "--every-level",
    is_flag=True,
    help="Execute everything at every level, also where nothing changes for an operator since the level below.",
)
@operators_option
@click.option(
    "--models",
    "networks",
    type=NETWORKS,
    default=(),
    metavar="NAME,...",
    help="Networks whose every layer is judged, too, alone and in a chain, such as resnet50-fp16-b1, or resnet50 for "
    "each of its kinds; corpus networks lists them. Without --operator their operators are certified.",
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
@click.option("--no-throughput", is_flag=True, help="Time nothing.")
@campaign_seed_option("search and sweep")
@click.option(
    "--failures",
    "failures_folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Failing cases of an earlier run, such as OUT/failures, to be judged first.",
)
@run_options(
    "Processes that judge, each with a backend in a process of its own; what they find does not depend on N. "
    "If not given, one for each core, up to 8, and for every 8 operators.",
    "Folder for certificate.json, results.sqlite, report.html and the rest; it must not hold anything yet.",
    requires_out=True,
)
@click.option(
    "--profile",
    "profile_name",
    type=click.Choice([str(profile) for profile in ClaimsProfile]),
    help="What is judged; without it all that the backend claims.",
)
@click.option(
    "--package", is_flag=True, help="Make the folder a certification package, and beside it FOLDER.tar.zst of it."
)
@file_option("--statement", "statement_file", "STATEMENT.toml", "What the package states of the product.")
@file_option("--sign-key", "sign_key", "FILE", "Private key that signs the package, as keys new makes it.")
@walls_option("Judge nothing unless these walls stand between the backend's processes and those that judge.")
def certify(
    backend_name: str,
    levels: tuple[Level, ...],
    all_levels: bool,
    every_level: bool,
    operators: tuple[str, ...],
    networks: tuple[str, ...],
    budget_name: str,
    cases: int | None,
    no_throughput: bool,
    seed: int | None,
    failures_folder: Path | None,
    given: RunOptions,
    folder: Path,
    profile_name: str | None,
    package: bool,
    statement_file: Path | None,
    sign_key: Path | None,
    required_walls: tuple[str, ...],
) -> None:
    """Certify a backend against the specification.

    Without --operator all operators that the backend claims are certified, without --level or --all-levels at the
    highest level that it claims. Of several levels every case is executed at the newest; where something changes for an
    operator it is decided, and a sample executed; elsewhere decisions are sampled. Exit code 0: conformant; 1: not
    conformant; 2: wrong usage; 3: the run is incomplete or broken.
    """
    if levels and all_levels:
        raise click.UsageError("--level and --all-levels exclude each other; give one of them.")
    excluded = {"--cases": cases, "--failures": failures_folder, "--no-throughput": no_throughput or None}
    _check_package_options(package, excluded, {"--statement": statement_file, "--sign-key": sign_key})
    if package and given.limits is None:
        raise click.UsageError(
            "--in-process and --package exclude each other; leave out --in-process, as a backend that shares the "
            "judge's process could have changed what the package says."
        )
    check_walls(environment(given.limits), required_walls)
    saved = [] if failures_folder is None else read_failures(failures_folder)
    waivers, profile = given.waivers, None if profile_name is None else ClaimsProfile(profile_name)
    with (
        given.output(folder, (*KNOWN, *PACKAGE_FILES)) as output,
        opened(backend_name, given.limits) as backend,
    ):
        claims = backend.capabilities() if profile is None else narrowed(backend.capabilities(), profile)
        judge = Judge(
            backend,
            backend_name,
            given.reading,
            claims=claims,
            digests_outputs=package,
            repeat=given.repeat,
            tolerance=given.tolerance,
        )
        chosen = list(Level) if all_levels else sorted(set(levels)) or [max(judge.capabilities.levels)]
        budget = _budget(budget_name, cases, no_throughput)
        drawn = _secret_seed(output) if seed is None else Seed(seed)
        asked = _with_networks(operators, networks, newest_claimed(chosen, judge.capabilities.levels))
        engine = _engine(judge, asked, networks, chosen, budget, drawn, saved, every_level=every_level)
        summary = finished_summary(output, describe_campaign(engine))
        if summary is not None and package:
            complete_archive(folder)
        if summary is None:
            held_to = (profile or widest(claims)) if package else None
            reports = _reports(output, backend_name, held_to, statement_file, sign_key, given)
            if reports.begun.campaign is not None:  # whose walls are those of the whole
                check_walls(reports.begun.campaign.environment, required_walls)
            summary = _run(engine, reports, given)
            waivers.check_used()
    end({backend_name: (summary, str(folder))}, f"Package: {folder}{SUFFIX}" if package else "")


def _engine(
    judge: Judge,
    asked: Sequence[str],
    networks: Sequence[str],
    levels: Sequence[Level],
    budget: Budget,
    seed: Seed,
    saved: Sequence[Case],
    *,
    every_level: bool,
) -> Engine:
    """What runs the campaign.

    Its operators are those that are asked for; if there are none, those that are claimed; if there are none, all.
    """
    claimed = judge.capabilities.operators
    names, unclaimed = tuple(dict.fromkeys(asked)) or tuple(all_operators()), 0
    if claimed and not asked:
        names = tuple(name for name in names if name in claimed)
        unclaimed = len(all_operators()) - len(names)
    return Engine(
        judge,
        names,
        levels,
        budget,
        seed.value,
        saved,
        every_level=every_level,
        unclaimed=unclaimed,
        seed_nonce=seed.nonce,
        network_names=networks,
    )


def _with_networks(operators: Sequence[str], networks: Sequence[str], level: Level) -> tuple[str, ...]:
    """The operators asked for, with those of networks, in the registry's order where these add any.

    Raises:
        UsageError: the level allows no layer of a network.
    """
    of_networks: set[str] = set()
    for name in networks:
        layers = network_at(name, level).network.layers
        if not layers:
            needed = stored_network(name)[0].level
            raise click.UsageError(f"--models: no layer of {name} is valid at {level}; all are from level {needed} on.")
        of_networks |= {layer.operator for layer in layers}
    if of_networks <= {*operators}:
        return tuple(operators)
    return tuple(name for name in all_operators() if name in {*operators, *of_networks})


def _secret_seed(output: OutputFolder) -> Seed:
    """A seed that nobody knows, or that of the run that is resumed; its commitment is told."""
    begun = begun_campaign(output)
    seed = Seed.secret() if begun is None else Seed.of(begun)
    if seed.nonce:  # or it is of a run whose seed was none, which is refused
        echo(f"Commitment to the seed, which the certificate opens: {seed.commitment}")
    return seed


def _budget(name: str, cases: int | None, no_throughput: bool) -> Budget:
    """A budget, with another number of sweep cases or without throughput where that is asked for."""
    budget = replace(BUDGETS[name], sweep_total=cases)
    return replace(budget, timed_types=0, timed_types_of_siblings=0) if no_throughput else budget


def _check_package_options(
    package: bool, excluded: Mapping[str, object | None], of_packages: Mapping[str, Path | None]
) -> None:
    """Raise UsageError for options that a package leaves no room for, or that only a package has."""
    for option, value in (excluded if package else of_packages).items():
        if value is not None and package:
            raise click.UsageError(
                f"{option} and --package exclude each other; a package is all of its budget and seed."
            )
        if value is not None:
            raise click.UsageError(f"{option} is about a package; give --package too.")


def _reports(
    output: OutputFolder,
    backend_name: str,
    profile: ClaimsProfile | None,
    statement_file: Path | None,
    sign_key: Path | None,
    given: RunOptions,
) -> ReportFolder | PackageFolder:
    """What makes reports of the campaign's stream, or a package for a profile."""
    same = conditions([backend_name], leave_out=_NOT_OF_THE_RUN)
    if profile is None:
        return ReportFolder(output, conditions=same)
    stated = None if statement_file is None else read_toml(statement_file, Stated)
    key = None
    if sign_key is not None:
        from dml_conformance.reports.package.signature import read_private_key  # which loads OpenSSL

        key = read_private_key(sign_key)
    return PackageFolder(output, profile, stated, given.waivers, key, replace=given.replace, conditions=same)


def _workers(operators: int) -> int:
    """How many processes judge so many operators if nothing else is asked for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_WORKERS, operators // OPERATORS_EACH))


def _run(engine: Engine, reports: ReportFolder | PackageFolder, given: RunOptions) -> Summary:
    """Run a campaign, or what is left of it."""
    with ExitStack() as stack:
        workers = given.workers or _workers(len({*engine.operators} & {*engine.judge.capabilities.operators}))
        executor: Executor
        if given.limits is not None and (workers > 1 or given.workers):
            executor = Workers(JudgeSetup.of(engine.judge, given.limits), workers)
        else:
            executor = InProcess([engine.judge])
        stack.callback(executor.close)
        progress = opened_progress(stack, [reports], engine.planned())
        run_campaign(engine, SettledStream(given.waivers.apply, reports, progress), reports.begun, executor)
    tell_losses(executor)
    return reports.summary
