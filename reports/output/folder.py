"""Where the reports go: one folder, complete or not there at all; and what of a run is kept until it is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from dml_conformance.reports.model.text import MALFORMED
from dml_conformance.reports.output.locking import LockedError, LockedFile
from dml_conformance.reports.store.resuming import (
    ResumeError,
    damaged,
    is_begun,
)
from dml_conformance.reports.views.failures import FAILURES, holds_failures_alone
from dml_conformance.spec.errors import BadInputError, BrokenRunError

RESULTS, CERTIFICATE, JUNIT, REPORT = "results.sqlite", "certificate.json", "junit.xml", "report.html"
CTRF, MARKDOWN = "ctrf.json", "summary.md"
# What stands beside the reports for CI servers; a package has its own list of files and leaves these out.
FOR_CI = (CTRF, MARKDOWN)
FILES = (RESULTS, CERTIFICATE, JUNIT, REPORT, *FOR_CI)
COSTS = "costs.csv"  # which certify adds where it makes no package
KNOWN = (*FILES, COSTS)


class OutputError(BadInputError):
    """An output folder that cannot be made, or that holds something; the message names it and says what to do."""


class WriteError(BrokenRunError, OutputError):
    """What came up while a run's files were written, when the disk was full for example."""


@contextmanager
def writes_to(path: Path, kind: type[OutputError] = WriteError) -> Iterator[None]:
    """Whatever keeps something from being written, as an error that names where to."""
    try:
        yield
    except OSError as error:
        raise kind(f"{path}: cannot be written: {error.strerror or error}") from error


def write_through(path: Path, content: bytes) -> None:
    """Write a file and see that it is on the disk: its folder is about to be given its name, and must not lack it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


class OutputFolder:
    """A folder that appears with all its files at once.

    Files are written into `folder`, a hidden sibling of the path asked for, so that the last step is a rename in one
    file system. A file beside it is locked, so that no other process writes there at the same time, and holds on what
    conditions the run is. As a context manager the folder discards them unless `commit` was called; where something
    ends a run that has results (`keeps`), it leaves them to be resumed.

    Args:
        path: the folder asked for; its parents are made.
        replace: whether a folder with an earlier result, or what an interrupted run has left, may be replaced. Only
            one that holds nothing but known files is: a path mistyped must not cost anyone their files.
        resume: go on with what an interrupted run has left, if it has left anything.
        known: names of these files.

    Attributes:
        path: as it was given.
        folder: to write into.
        is_resumed: whether an interrupted run has results in `folder`.
        is_begun_anew: whether a run was to be resumed, and none has left anything.
        is_finished: whether it was to be resumed, and there is a finished result; nothing is to be written then.
        is_committed: whether the folder is in its place.
        keeps: whether what was written is kept where the run does not come to its end.

    Raises:
        OutputError: at once, before anything is run, where the folder cannot be made.
        ResumeError: there is an interrupted run, and neither `resume` nor `replace` is asked for.
    """

    def __init__(
        self, path: Path, *, replace: bool = False, resume: bool = False, known: Collection[str] = KNOWN
    ) -> None:
        self.path = path
        self._replace = replace
        self._known = known
        self.is_resumed = self.is_begun_anew = self.is_finished = self.is_committed = self.keeps = False
        try:
            self._target = path.resolve()
        except (OSError, RuntimeError) as error:  # a link that leads to itself
            raise OutputError(f"{path}: cannot be resolved: {error}") from error
        self._check(may_hold_ours=replace or resume)
        self.folder, self._replaced = self._sibling("partial"), self._sibling("replaced")
        with writes_to(path, OutputError):
            try:
                self._target.parent.mkdir(parents=True, exist_ok=True)
                self._lock = LockedFile(self._sibling("partial.json"))
            except LockedError:
                raise OutputError(
                    f"{path}: another process is writing there; name another folder, or wait for it"
                ) from None
            try:
                self._open(resume)
            except BaseException:
                self._lock.release(remove=not self.folder.exists())
                raise

    def _open(self, resume: bool) -> None:
        said = self._lock.read()
        # Without a word in it, the lock is that of a run that was killed before it touched anything.
        was_committed = not self.folder.exists() and said != _STARTING
        if self._replaced.exists():  # a run was killed at its very last step
            if self._target.exists():
                shutil.rmtree(self._replaced)
            else:
                self._replaced.rename(self._target)
        has_partial = self.folder.exists() and said not in (b"", _STARTING) and is_begun(self.folder / RESULTS)
        if has_partial and not resume and not self._replace:
            raise ResumeError(
                f"{self.path}: a run that was interrupted is there; --resume completes it, --replace discards it and "
                "starts anew"
            )
        if resume and not has_partial and was_committed and (self._target / RESULTS).is_file():
            self.is_finished = True
            return
        self._check()
        self.is_resumed = self.keeps = has_partial and resume
        self.is_begun_anew = resume and not has_partial
        if not self.is_resumed:
            self._lock.write(_STARTING)
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir()

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not self.keeps:
            self.discard()
            return
        self._lock.release(remove=False)
        if not isinstance(error, ResumeError):
            error.add_note("what was judged is kept, and the same command with --resume goes on from there")

    @property
    def conditions(self) -> dict[str, Any]:
        """What was said of the run that is resumed by `begin`.

        Raises:
            ResumeError: that is damaged.
        """
        try:
            return msgspec.json.decode(self._lock.read(), type=dict[str, Any])
        except (*MALFORMED, OSError) as error:
            raise damaged(self.path, error) from error

    def begin(self, conditions: Mapping[str, Any]) -> None:
        """Say, before a run has results, on what conditions it is: what a run that resumes it must have in common.

        Raises:
            WriteError: it cannot be written.
        """
        with writes_to(self.path):
            self._lock.write(msgspec.json.encode(conditions))

    def commit(self) -> None:
        """Put the folder in its place.

        Raises:
            OutputError: something else has come there in the meantime, or the folder cannot be moved.
        """
        self._check()
        with writes_to(self.path):
            if self._target.exists():
                self._target.rename(self._replaced)
            try:
                self.folder.rename(self._target)
            except OSError:
                if self._replaced.exists():
                    self._replaced.rename(self._target)
                raise
        self.is_committed, self.keeps = True, False
        shutil.rmtree(self._replaced, ignore_errors=True)
        self._lock.release(remove=True)

    def discard(self) -> None:
        """Remove what was written and not committed."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release(remove=True)

    def _sibling(self, purpose: str) -> Path:
        return self._target.with_name(f".{self._target.name}.{purpose}")

    def _check(self, *, may_hold_ours: bool | None = None) -> None:
        target = self._target
        try:
            if target.exists() and not target.is_dir():
                raise OutputError(f"{self.path}: exists and is no folder; name another place, or remove it")
            if target.is_mount():
                raise OutputError(f"{self.path}: is a mount point, which cannot be replaced; name a folder below it")
            found = sorted(entry.name for entry in target.iterdir()) if target.exists() else []
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if found and not (self._replace if may_hold_ours is None else may_hold_ours):
            raise OutputError(f"{self.path}: exists and is not empty; name another folder, or replace it (--replace)")
        foreign = [
            name
            for name in found
            if name not in self._known and not (name == FAILURES and holds_failures_alone(target / name))
        ]
        if foreign:
            raise OutputError(f"{self.path}: holds {foreign[0]}, which is no report; it is not replaced")


# In a lock, until it holds the conditions of a run: what was there before is being removed.
_STARTING = b"-"
