"""Where the reports go: one folder, complete or not there at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import TracebackType

from reports.cases import Cases
from reports.certificate import Certificate
from reports.ctrf import ctrf_json
from reports.failures import FAILURES, failing_cases, holds_failures_alone
from reports.html import report_html
from reports.junit import junit_xml
from reports.markdown import markdown
from reports.records import Campaign, Ending, Record, Throughput
from reports.store import StoreWriter
from reports.stream import FanOut, Written
from reports.summary import Summary

RESULTS, CERTIFICATE, JUNIT, REPORT = "results.sqlite", "certificate.json", "junit.xml", "report.html"
CTRF, MARKDOWN = "ctrf.json", "summary.md"
# What stands beside the reports for CI servers; a package has its own list of files and leaves these out.
FOR_CI = (CTRF, MARKDOWN)
FILES = (RESULTS, CERTIFICATE, JUNIT, REPORT, *FOR_CI)


class OutputError(Exception):
    """An output folder that cannot be made, or that holds something; the message names it and says what to do."""


class OutputFolder:
    """A folder that appears with all its files at once.

    Files are written into `folder`, a hidden sibling of the path asked for, so that the last step is a rename in one
    file system. As a context manager it discards them unless `commit` was called.

    Args:
        path: the folder asked for; its parents are made.
        replace: whether a folder with an earlier result may be replaced. Only one that holds nothing but known files
            is: a path mistyped must not cost anyone their files.
        known: names of these files.

    Raises:
        OutputError: at once, before anything is run, where the folder cannot be made.
    """

    def __init__(self, path: Path, *, replace: bool = False, known: Collection[str] = FILES) -> None:
        self.path = path
        self._replace = replace
        self._known = known
        try:
            self._target = path.resolve()
        except (OSError, RuntimeError) as error:  # a link that leads to itself
            raise OutputError(f"{path}: cannot be resolved: {error}") from error
        self._check()
        self.folder = self._sibling("partial")
        try:
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir()
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def commit(self) -> None:
        """Put the folder in its place.

        Raises:
            OutputError: something else has come there in the meantime, or the folder cannot be moved.
        """
        self._check()
        old = self._sibling("replaced")
        try:
            if self._target.exists():
                self._target.rename(old)
            try:
                self.folder.rename(self._target)
            except OSError:
                if old.exists():
                    old.rename(self._target)
                raise
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        shutil.rmtree(old, ignore_errors=True)

    def discard(self) -> None:
        """Remove what was written and not committed."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _sibling(self, purpose: str) -> Path:
        return self._target.with_name(f".{self._target.name}.{purpose}-{secrets.token_hex(4)}")

    def _check(self) -> None:
        target = self._target
        try:
            if target.exists() and not target.is_dir():
                raise OutputError(f"{self.path}: exists and is no folder; name another place, or remove it")
            if target.is_mount():
                raise OutputError(f"{self.path}: is a mount point, which cannot be replaced; name a folder below it")
            found = sorted(entry.name for entry in target.iterdir()) if target.exists() else []
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if found and not self._replace:
            raise OutputError(f"{self.path}: exists and is not empty; name another folder, or replace it (--replace)")
        foreign = [name for name in found if name not in self._known and not self._is_ours(target / name)]
        if foreign:
            raise OutputError(f"{self.path}: holds {foreign[0]}, which is no report; it is not replaced")

    def _is_ours(self, entry: Path) -> bool:
        """Whether it is the folder of failing cases, with nothing else in it."""
        return entry.name == FAILURES and holds_failures_alone(entry)


class ReportFolder:
    """A consumer that leaves results, certificate, JUnit file and page in an output folder.

    Args:
        output: where to.
        complete: adds more to the folder when the reports are in it, before it is put in its place; without it the
            files for CI are added.

    Attributes:
        summary: of the stream so far; its `conformance` gives the exit code.
    """

    def __init__(self, output: OutputFolder, complete: Callable[[Path], None] | None = None) -> None:
        self.summary = Summary()
        self._cases = Cases()
        self._output = output
        self._complete = complete
        self._store = StoreWriter(output.folder / RESULTS)
        self._stream = FanOut(self._store, self.summary, self._cases)

    def start(self, campaign: Campaign) -> None:
        self._stream.start(campaign)

    def record(self, record: Record) -> None:
        self._stream.record(record)

    def written(self, written: Written) -> None:
        self._stream.written(written)

    def throughput(self, row: Throughput) -> None:
        self._stream.throughput(row)

    def finish(self, ending: Ending) -> None:
        """Write what is left and put the folder in its place.

        Raises:
            OutputError, StoreError: it cannot be written.
        """
        self._stream.finish(ending)
        write_reports(self.summary, self._cases, self._output.folder, self._output.path)
        if self._complete is None:
            write_for_ci(self.summary, self._output.folder, self._output.path)
        else:
            self._complete(self._output.folder)
        self._output.commit()

    def close(self) -> None:
        """Let go of the files of a stream that does not finish."""
        self._store.close()


def write_reports(summary: Summary, cases: Cases, folder: Path, shown: Path | None = None) -> None:
    """Write certificate, JUnit file and page of a campaign into a folder.

    Args:
        summary: the campaign's.
        cases: the campaign's, as many as the page may hold.
        folder: exists.
        shown: the folder's name in messages, where it is another.

    Raises:
        OutputError: a file cannot be written.
    """
    contents = {
        CERTIFICATE: Certificate.of(summary).to_json(),
        JUNIT: junit_xml(summary),
        REPORT: report_html(summary, cases).encode(),
    }
    _write(contents, folder, shown)


def write_for_ci(summary: Summary, folder: Path, shown: Path | None = None) -> None:
    """Write CTRF, Markdown and failing cases of a campaign; arguments and errors as for `write_reports`."""
    failing = {f"{FAILURES}/{name}": content for name, content in failing_cases(summary).items()}
    _write({CTRF: ctrf_json(summary), MARKDOWN: markdown(summary).encode(), **failing}, folder, shown)


def _write(contents: Mapping[str, bytes], folder: Path, shown: Path | None) -> None:
    try:
        for name, content in contents.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
    except OSError as error:
        raise OutputError(f"{shown or folder}: cannot be written: {error.strerror or error}") from error
