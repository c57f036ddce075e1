"""Where the reports go: one folder, complete or not there at all; and what of a run is kept until it is complete."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

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
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # no link is followed, no line end translated


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


def opened_anew(path: Path) -> BinaryIO:
    """A new file, to be written: never one that is there, nor what a link leads to.

    Raises:
        FileExistsError: something is there.
    """
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AS_IT_IS, 0o666), "wb")


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file; "" where there is none, or something else than a file."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _AS_IT_IS | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


class ForeignChangeError(WriteError):
    """Something else than the run has changed its files while it went on, or put others in their place."""


class OutputFolder:
    """A folder that appears with all its files at once.

    Files are written into `folder`, a hidden sibling of the path asked for, so that the last step is a rename in one
    file system. It has to be the same folder from the first step to the last, and what is written has to be there as it
    was written once it has its name. A file beside it is locked, so that no other process writes there at the same
    time, and holds on what conditions the run is. As a context manager the folder discards them unless `commit` was
    called; where something ends a run that has results (`keeps`), it leaves them to be resumed.

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
        self._written: dict[str, str] = {}  # SHA-256 of each file, by its name in the folder
        self._parents: set[Path] = set()  # folders in it, which hold some of them
        self._made: os.stat_result | None = None  # the folder
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
        if self.folder.is_symlink():
            raise OutputError(f"{self.folder}: is a link, which no run makes; look who made it, and remove it")
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
            self.folder.mkdir(mode=0o700)
        self._made = self.folder.lstat()
        for left in self.folder.iterdir():  # reports that were being written
            if not left.name.startswith(RESULTS):
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or not self.keeps:
            self.discard()
            return
        self._lock.release(remove=False)
        if not isinstance(error, ResumeError) and self._is_ours(self.folder):
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

    def write(self, name: str, content: bytes) -> None:
        """Write a file into the folder, and see that it is on the disk: it must not lack it when it gets its name.

        Args:
            name: of the file; before it there may be that of a folder.
            content: of it.

        Raises:
            ForeignChangeError: something is there that the run did not write.
            WriteError: it cannot be written.
        """
        self._check_ours()
        path = self.folder / name
        with writes_to(self.path):
            try:
                if path.parent != self.folder and path.parent not in self._parents:
                    path.parent.mkdir()
                    self._parents.add(path.parent)
                with opened_anew(path) as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            except FileExistsError as error:
                raise ForeignChangeError(f"{path}: is there, and this run did not write it; {_NOTHING_LEFT}") from error
        self._written[name] = hashlib.sha256(content).hexdigest()

    def take(self, name: str) -> None:
        """Have a file of the folder that was written otherwise stay as it is.

        Raises:
            ForeignChangeError: it is no file.
        """
        self._check_ours()
        self._written[name] = digest_of_file(self.folder / name)
        if not self._written[name]:
            raise ForeignChangeError(f"{self.folder / name}: is no file any more; {_NOTHING_LEFT}")

    def commit(self) -> None:
        """Put the folder in its place, and see that all that was written is there as it was written.

        Raises:
            ForeignChangeError: something else has come there in the meantime, or a file is not as it was written.
            WriteError: the folder cannot be moved.
        """
        try:
            self._check()
        except OutputError as error:
            raise ForeignChangeError(f"{error}; what is there is not of this run") from error
        self._check_ours()
        with writes_to(self.path):
            if self._target.exists():
                self._target.rename(self._replaced)
            try:
                self.folder.chmod(0o777 & ~_umask())
                self.folder.rename(self._target)
            except OSError:
                self._put_back()
                raise
        self._check_written()
        self.is_committed, self.keeps = True, False
        shutil.rmtree(self._replaced, ignore_errors=True)
        self._lock.release(remove=True)

    def _check_ours(self) -> None:
        """Raise ForeignChangeError where another folder, or another lock, is in the place of this run's."""
        if not self._is_ours(self.folder):
            raise ForeignChangeError(f"{self.folder}: is not the folder any more that this run made; {_NOTHING_LEFT}")
        if not self._lock.is_there():
            raise ForeignChangeError(f"{self._sibling('partial.json')}: is not this run's any more; {_NOTHING_LEFT}")

    def _is_ours(self, folder: Path) -> bool:
        try:
            return self._made is not None and os.path.samestat(self._made, folder.lstat())
        except OSError:
            return False

    def _check_written(self) -> None:
        """Raise ForeignChangeError, and take the folder away again, where it is not as it was written."""
        changed = next((name for name, was in self._written.items() if digest_of_file(self._target / name) != was), "")
        if self._is_ours(self._target):
            if not changed:
                return
            with writes_to(self.path):
                self._target.rename(self.folder)
                self._put_back()
        raise ForeignChangeError(f"{self.path / changed}: is not what this run wrote; {_NOTHING_LEFT}")

    def _put_back(self) -> None:
        if self._replaced.exists():
            self._replaced.rename(self._target)

    def discard(self) -> None:
        """Remove what was written and not committed."""
        if self._is_ours(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release(remove=True)

    def _sibling(self, purpose: str) -> Path:
        return _sibling(self._target, purpose)

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


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def places_of(path: Path) -> list[Path]:
    """Where a run whose output folder this is writes to, in the course of it and at its end."""
    target = Path(os.path.realpath(path))  # which takes a link to itself, too
    return [target, *(_sibling(target, purpose) for purpose in ("partial", "partial.json", "replaced"))]


def _sibling(target: Path, purpose: str) -> Path:
    return target.with_name(f".{target.name}.{purpose}")


_NOTHING_LEFT = "something else has changed the files of this run, whose reports are not left there"

# In a lock, until it holds the conditions of a run: what was there before is being removed.
_STARTING = b"-"
