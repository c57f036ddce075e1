"""What `certify` and `run` have in common: their options, the conditions of a run, and how it is told."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from dml_conformance.backends.processes.child_process import tried
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.backends.processes.walls import FileWall, adopt_orphans, close_memory
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.cli.options import (
    accuracy_option,
    file_option,
    isolation_options,
    out_option,
    repeat_option,
    replace_option,
    spec_option,
)
from dml_conformance.conformance.packages.make import PackageFolder
from dml_conformance.conformance.packages.waivers import Waivers, read_waivers
from dml_conformance.conformance.workers.executor import Executor
from dml_conformance.reports.model.records import Campaign, Phase
from dml_conformance.reports.model.release import suite_files, suite_folders
from dml_conformance.reports.model.summary import Conformance, Summary
from dml_conformance.reports.output.folder import (
    CERTIFICATE,
    KNOWN,
    RESULTS,
    ForeignChangeError,
    OutputFolder,
    digest_of_file,
    places_of,
)
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.store.authentication import Authenticity, own_key, state_folder
from dml_conformance.reports.store.results import Store
from dml_conformance.reports.store.resuming import PartialRun, check_authentic, check_same_campaign
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.reports.views.console import Progress, print_summary
from dml_conformance.spec.accuracy import TOLERANCES, Tolerance
from dml_conformance.spec.validator import Reading

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True)
class RunOptions:
    """What both commands are told.

    Attributes:
        spec: a value of `Reading`.
        accuracy: a key of `TOLERANCES`.
        repeat: executions of each case.
        limits: of the backends' processes; None where backends are run in this process.
        workers: how many processes judge; None where the command decides.
        replace, resume: as an `OutputFolder` takes them.
        waivers_file: known failures that are set aside.
    """

    spec: str
    accuracy: str
    repeat: int
    limits: Limits | None
    workers: int | None
    replace: bool
    resume: bool
    waivers_file: Path | None

    def __post_init__(self) -> None:
        if self.workers is not None and self.limits is None:
            raise click.UsageError("--workers and --in-process exclude each other; give one of them.")
        suite_files()  # while no backend has run
        if problem := own_key().problem:
            echo(f"What is written now cannot be authenticated later, as no key is kept: {problem}", err=True)
        if self.limits is not None:
            close_memory()
            if click.get_current_context().obj.owns_process:
                adopt_orphans()

    @property
    def reading(self) -> Reading:
        return Reading(self.spec)

    @property
    def tolerance(self) -> Tolerance:
        return TOLERANCES[self.accuracy]

    @cached_property
    def waivers(self) -> Waivers:
        """What the file says as of today."""
        return Waivers() if self.waivers_file is None else read_waivers(self.waivers_file, datetime.now(UTC).date())

    def output(self, folder: Path, known: Collection[str] = KNOWN) -> OutputFolder:
        return OutputFolder(folder, replace=self.replace, resume=self.resume, known=known)


def run_options(workers_help: str, out_help: str, *, requires_out: bool) -> Callable[[_F], _F]:
    """The options of both commands; the command gets `given: RunOptions`, and `folder`, that of `--out`."""

    def decorate(command: _F) -> _F:
        @wraps(command)
        def with_options(*args: Any, **values: Any) -> Any:
            values["limits"] = _walled(values["limits"], values["folder"], values.get("sign_key"))
            given = RunOptions(**{field.name: values.pop(field.name) for field in fields(RunOptions)})
            return command(*args, given=given, **values)

        for option in (
            file_option(
                "--waivers", "waivers_file", "WAIVERS.toml", "Known failures that are set aside; each must occur."
            ),
            _resume_option,
            replace_option("earlier reports that are there"),
            out_option(out_help, required=requires_out),
            isolation_options,
            repeat_option,
            accuracy_option,
            spec_option,
            click.option("-n", "--workers", type=click.IntRange(1, 1024), metavar="N", help=workers_help),
        ):
            with_options = option(with_options)
        return with_options  # type: ignore[return-value]

    return decorate


def _walled(limits: Limits | None, folder: Path | None, key: Path | None) -> Limits | None:
    """The same limits with a wall around files: those that the run writes or signs with, and the suite's own.

    Nor are the interpreter's libraries to be written to, as processes that judge import them.
    """
    if limits is None:
        return None
    own_key()  # so that the folder of the user's state is there to be covered
    written = [] if folder is None else places_of(folder)
    covered = [*written, state_folder(), *([] if key is None else [key.absolute()])]
    libraries = [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    read_only = dict.fromkeys(map(str, (*suite_folders(), *libraries, sysconfig.get_path("stdlib"))))
    wall = FileWall(tuple(map(str, covered)), tuple(read_only))
    return replace(limits, files=tried(wall))


_resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Complete the run that was interrupted: the same command, and this option. Where nothing is left, start.",
)

# Parameters of both that the results do not depend on.
_NOT_OF_THE_RUN = ("folder", "replace", "resume", "workers", "in_process")


def conditions(backend_names: Collection[str], leave_out: Collection[str]) -> dict[str, Any]:
    """What the command that is running was given, as far as its results can depend on it.

    Args:
        backend_names: of the backends; of those that are a file its content counts, too.
        leave_out: parameters of this command that they do not depend on, or that are part of the campaign.

    Returns:
        Values by option; in place of a file's name the SHA-256 of its content.

    Raises:
        OSError: a file cannot be read.
    """
    context = click.get_current_context()
    found: dict[str, Any] = {}
    for parameter in context.command.params:
        assert parameter.name is not None
        if parameter.name not in (*leave_out, *_NOT_OF_THE_RUN):
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


def begun_campaign(output: OutputFolder) -> Campaign | None:
    """The campaign of the run that is to be resumed, finished or not; None where there is none.

    Raises:
        ResumeError, StoreError: its results are damaged.
    """
    if output.is_finished:
        with Store(output.path / RESULTS) as store:
            return store.campaign
    return PartialRun.of(output.folder / RESULTS, output.path).campaign if output.is_resumed else None


def finished_summary(output: OutputFolder, campaign: Campaign) -> Summary | None:
    """The summary of a run that is to be resumed and has finished; None where there is something to be run.

    Raises:
        ResumeError: it is of another campaign, or something else has changed it.
        StoreError: its results are damaged.
        ForeignChangeError: its certificate is not that of its results.
    """
    if output.is_begun_anew:
        echo(f"{output.path}: no run has left anything to be resumed; this one starts anew", err=True)
    if not output.is_finished:
        return None
    with Store(output.path / RESULTS) as store:
        check_same_campaign(output.path, store.campaign, campaign)
        _tell_authenticity(output.path, check_authentic(store, output.path))
        echo(f"{output.path}: is finished; nothing was left to be resumed", err=True)
        summary = store.summary()
    certificate = hashlib.sha256(Certificate.of(summary).to_json()).hexdigest()
    if digest_of_file(output.path / CERTIFICATE) != certificate:
        raise ForeignChangeError(
            f"{output.path / CERTIFICATE}: is not what the results beside it make; something else has changed it, "
            "--replace runs anew"
        )
    return summary


def _tell_authenticity(folder: Path, is_authentic: bool) -> None:
    if not is_authentic:
        echo(f"{folder}: its results cannot be authenticated here: {Authenticity.OF_ANOTHER_KEY.value}", err=True)


def opened_progress(
    stack: ExitStack, reports: Sequence[ReportFolder | PackageFolder], planned: Mapping[Phase, int]
) -> Progress:
    """What shows how far a run is, and first from where it goes on; the stack closes it, and then the reports."""
    for begun in sorted((report.begun for report in reports), key=lambda begun: begun.ending is not None)[:1]:
        if begun.campaign is not None:
            _tell_authenticity(begun.shown, begun.is_authentic)
            echo(f"Resuming after {begun.count:,} cases of the run that began at {begun.campaign.started}", err=True)
    progress = Progress(planned=planned)
    for report in reports:
        stack.callback(report.close)
    stack.callback(progress.close)
    return progress


def tell_losses(executor: Executor) -> None:
    """Say on standard error which of the processes that judge were lost."""
    for how, count in executor.losses.items():
        echo(f"{count} worker process{'es' * (count > 1)} {how}; what was lost was judged again.", err=True)


def tell_certificate(summary: Summary, folder: Path) -> None:
    """Print the SHA-256 of the certificate that was written: whatever becomes of the file, this line stays."""
    echo(f"SHA-256 of {folder / CERTIFICATE}: {hashlib.sha256(Certificate.of(summary).to_json()).hexdigest()}")


def end(outcomes: Mapping[str, tuple[Summary, str]], remark: str = "") -> NoReturn:
    """Print what a run came to, and exit: of several backends with the code of the worst.

    Args:
        outcomes: by backend, the summary and the folder of the reports; "" for none.
        remark: a line that comes after that; the last ones are of the certificates.
    """
    for name, (summary, folder) in outcomes.items():
        if len(outcomes) > 1:
            echo()
            echo(name)
        print_summary(summary, output=folder)
    if remark:
        echo(remark)
    for summary, folder in outcomes.values():
        if folder:
            tell_certificate(summary, Path(folder))
    found = {summary.conformance for summary, _ in outcomes.values()}
    worst = (Conformance.NOT_CONFORMANT, Conformance.INCOMPLETE, Conformance.NARROWER, Conformance.CONFORMANT)
    raise SystemExit(next(outcome for outcome in worst if outcome in found).exit_code)
