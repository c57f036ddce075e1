"""`--resume` of the commands that run cases: what a run must have in common with the one that it completes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from dml_conformance.conformance.cli.lines import echo
from dml_conformance.reports.records import Campaign
from dml_conformance.reports.resuming import PartialRun, check_same_campaign
from dml_conformance.reports.store import Store
from dml_conformance.reports.summary import Summary
from dml_conformance.reports.writing import RESULTS, OutputFolder

resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Complete the run that was interrupted: the same command, and this option. Where nothing is left, start.",
)


def conditions(backend_names: Collection[str], leave_out: Collection[str]) -> dict[str, Any]:
    """What the command that is running was given, as far as its results can depend on it.

    Args:
        backend_names: of the backends; of those that are a file its content counts, too.
        leave_out: parameters that they do not depend on, or that are part of the campaign.

    Returns:
        Values by option; in place of a file's name the SHA-256 of its content.

    Raises:
        OSError: a file cannot be read.
    """
    context = click.get_current_context()
    found: dict[str, Any] = {}
    for parameter in context.command.params:
        assert parameter.name is not None
        if parameter.name not in (*leave_out, "resume"):
            option = max(parameter.opts, key=len)
            found[option] = _plain(context.params[parameter.name])
    for name in backend_names:
        path = Path(name.rpartition(":")[0])
        if path.suffix == ".py" and path.is_file():
            found[f"the code of {path}"] = _digest(path)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return _digest(value) if value.is_file() else str(value)
    if type(value) in (tuple, list):
        return [_plain(item) for item in value]
    return value if value is None or type(value) in (bool, int, float) else str(value)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def tell_begun_anew(output: OutputFolder) -> None:
    """Say on standard error that a run starts, where one was to be resumed and nothing of it is there."""
    if output.is_begun_anew:
        echo(f"{output.path}: no run has left anything to be resumed; this one starts anew", err=True)


def tell_begun(begun: PartialRun) -> None:
    """Say on standard error from where a run goes on, if it was begun before."""
    if begun.campaign is not None:
        echo(f"Resuming after {begun.count:,} cases of the run that began at {begun.campaign.started}", err=True)


def finished_summary(output: OutputFolder, campaign: Campaign) -> Summary:
    """The summary of a run that is to be resumed and has finished.

    Raises:
        ResumeError: it is of another campaign.
        StoreError: its results are damaged.
    """
    with Store(output.path / RESULTS) as store:
        check_same_campaign(output.path, store.campaign, campaign)
        echo(f"{output.path}: is finished; nothing was left to be resumed", err=True)
        return Summary.of_store(store)
