"""Completing a folder of reports into a certification package, and packing it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from dml_conformance.conformance.packages.profiles import ClaimsProfile
from dml_conformance.conformance.packages.statements import CaseDigests, predicate_of, statement_of
from dml_conformance.conformance.packages.waivers import Waivers
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import Ending, Record
from dml_conformance.reports.model.stream import FanOut
from dml_conformance.reports.output.folder import (
    ForeignChangeError,
    OutputError,
    OutputFolder,
    WriteError,
    digest_of_file,
    opened_anew,
)
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.package import CASES, LISTED, MANIFEST, SIGNATURE, STATEMENT, SUFFIX, WAIVERS
from dml_conformance.reports.package.archive import write_archive
from dml_conformance.reports.package.forms import Manifest, ManifestEntry, Stated, WaiverList
from dml_conformance.reports.store.resuming import ResumeError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_FRAME = b"\x28\xb5\x2f\xfd"


class PackageFolder(FanOut):
    """A consumer that leaves a certification package: a folder and, beside it, an archive of it.

    Args:
        output: where to; it must hold nothing but an earlier package.
        profile: what is judged.
        stated: what the vendor says; None = nothing.
        waivers: that the stream has been through.
        key: signs the package; None = it is not signed.
        replace: whether an archive that is there may be replaced.
        conditions: as a `ReportFolder` takes them.

    Attributes:
        summary: of the stream so far.
        archive: where the archive comes to lie.
        begun: as of a `ReportFolder`.

    Raises:
        OutputError: at once, where the archive cannot be written.
        ResumeError: as from a `ReportFolder`.
    """

    def __init__(
        self,
        output: OutputFolder,
        profile: ClaimsProfile,
        stated: Stated | None,
        waivers: Waivers,
        key: Ed25519PrivateKey | None,
        *,
        replace: bool,
        conditions: Mapping[str, Any] | None = None,
    ) -> None:
        self.archive, self._partial = _places(output.path)
        self._replace = replace
        self._check_archive()
        self._output = output
        self._profile, self._stated, self._waivers, self._key = profile, stated, waivers, key
        self._digests = CaseDigests()
        self._packed = ""  # SHA-256 of the archive
        self._reports = ReportFolder(output, self._complete, conditions)
        self.summary, self.begun = self._reports.summary, self._reports.begun
        super().__init__(self._reports)

    def record(self, record: Record | EncodedRecord) -> None:
        self._digests.add(record.traits)
        super().record(record)

    def finish(self, ending: Ending) -> None:
        """Write what is left, and put folder and archive in their places.

        Raises:
            WaiverError: a waiver covered nothing; the folder has the reports alone, and there is no archive.
            OutputError, StoreError: something cannot be written, or is not what was written.
        """
        super().finish(ending)
        try:
            if self._waivers.unused():
                self.archive.unlink(missing_ok=True)
            else:
                self._check_archive()
                _put_in_place(self._partial, self.archive, self._packed)
        except OSError as error:
            raise WriteError(f"{self.archive}: cannot be written: {error.strerror or error}") from error
        self._waivers.check_used()

    def close(self) -> None:
        """Let go of the files of a stream that does not finish.

        An archive whose folder is in its place already is left for `complete_archive`.
        """
        self._reports.close()
        if not self._output.is_committed:
            self._partial.unlink(missing_ok=True)

    def _complete(self, folder: Path) -> None:
        """Add to a folder of reports what makes it a package, and pack it."""
        if self._waivers.unused():
            return
        statement = statement_of(self.summary, self._profile, self._stated)
        documents = {
            STATEMENT: statement,
            CASES: self._digests.case_list(self.summary.campaign),
            WAIVERS: WaiverList(waivers=list(self._waivers.waivers)),
        }
        try:
            for name, document in documents.items():
                self._output.write(name, document.to_json())
            manifest = manifest_of(folder, statement.suite_version)
            self._output.write(MANIFEST, manifest.to_json())
            if self._key is not None:
                from dml_conformance.reports.package.signature import signed

                digests = {listed.name: listed.sha256 for listed in manifest.files}
                digests[MANIFEST] = hashlib.sha256(manifest.to_json()).hexdigest()
                self._output.write(SIGNATURE, signed(digests, predicate_of(statement), self._key))
            self._packed = _pack(folder, self._partial, self.archive)
        except OSError as error:
            raise WriteError(f"{self._output.path}: cannot be written: {error.strerror or error}") from error

    def _check_archive(self) -> None:
        """A file that is there is only replaced where that was asked for, and where it is compressed as ours are."""
        try:
            if not self.archive.exists():
                return
            if not self._replace:
                raise OutputError(f"{self.archive}: exists; name another folder, or replace it (--replace)")
            with self.archive.open("rb") as file:
                if file.read(len(_FRAME)) != _FRAME:
                    raise OutputError(f"{self.archive}: is no package; it is not replaced")
        except OSError as error:
            raise OutputError(f"{self.archive}: cannot be read: {error.strerror or error}") from error


def complete_archive(path: Path) -> None:
    """See to the archive of a package whose folder is there: the run that made it may have ended in between.

    Args:
        path: the folder.

    Raises:
        ResumeError: it holds reports and no package.
        WriteError: the archive cannot be written.
    """
    if not (path / MANIFEST).is_file():
        raise ResumeError(f"{path}: is finished, and no package; --replace in place of --resume makes one")
    archive, partial = _places(path)
    try:
        if partial.exists() or not archive.exists():
            _put_in_place(partial, archive, _pack(path, partial, archive))
    except OSError as error:
        raise WriteError(f"{archive}: cannot be written: {error.strerror or error}") from error


def _places(path: Path) -> tuple[Path, Path]:
    """Where the archive of a folder lies, and where it is written."""
    folder = path.resolve()
    archive = folder.with_name(folder.name + SUFFIX)
    return archive, archive.with_name(f".{archive.name}.partial")


class _Digested:
    """A file to be written to, and the digest of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> int:
        self.digest.update(content)
        return self._file.write(content)


def _pack(folder: Path, partial: Path, archive: Path) -> str:
    """Write the archive of a folder to where it is written; returns the SHA-256 of that."""
    partial.unlink(missing_ok=True)
    with opened_anew(partial) as file:
        digested = _Digested(file)
        write_archive(folder, archive.name.removesuffix(SUFFIX), cast(BinaryIO, digested))
        file.flush()
        os.fsync(file.fileno())
    return digested.digest.hexdigest()


def _put_in_place(partial: Path, archive: Path, digest: str) -> None:
    """Give an archive its name.

    Raises:
        ForeignChangeError: it is not what was written any more; it is removed.
    """
    partial.replace(archive)
    if digest_of_file(archive) != digest:
        archive.unlink(missing_ok=True)
        raise ForeignChangeError(
            f"{archive}: is not what this run wrote; something else has changed it, and it is removed"
        )


def manifest_of(folder: Path, suite_version: str) -> Manifest:
    """The manifest of a folder that holds every other file of a package."""
    files = []
    for name in LISTED:
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files.append(ManifestEntry(name=name, size=(folder / name).stat().st_size, sha256=digest))
    return Manifest(suite_version=suite_version, files=files)
