"""Packages as one file: a tar archive without anything that varies, compressed as Zstandard; and reading one safely.

Reading takes less than tar allows. An archive may hold regular files with the names of a package, in one folder, and
that folder; everything else (links, devices, extended headers, paths that lead elsewhere, names twice) is refused, and
so is what unpacks to more than a package can be. Python's own `tarfile` would read headers of any length into memory.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from dml_conformance.reports.package import MANIFEST, MOST_BYTES, PACKAGE_FILES, SUFFIX, PackageError

LEVEL = 10
MOST_WINDOW = 1 << 27  # bytes; the most that unpacking may keep in memory
MOST_ENTRIES = 64  # files and folders in a package, those that do not belong there included
MOST_ALTOGETHER = 16 << 30  # bytes, unpacked
MOST_RATIO = 200  # unpacked to packed; packages shrink to a third, their most even file to a fiftieth
FREE_BYTES = 1 << 26  # unpacked before the ratio counts
MOST_FOREIGN = 1 << 26  # bytes of files that do not belong there, which are read and thrown away

_BLOCK = 512
_CHUNK = 1 << 17
_PACKED = 1 << 10  # bytes that are unpacked at a time; each can make 32 KiB
_FRAME = b"\x28\xb5\x2f\xfd"
_REGULAR = (b"0", b"\0")
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a named pipe",
    b"x": "an extended header",
    b"g": "an extended header",
    b"L": "an extended header",
    b"K": "an extended header",
    b"S": "a sparse file",
}


def write_archive(folder: Path, name: str, target: BinaryIO) -> None:
    """Write the files of a package's folder as one archive; the same files make the same bytes.

    Args:
        folder: holds files of a package and nothing else.
        name: of the folder in the archive.
        target: is written to.
    """
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with compressor.stream_writer(target, closefd=False) as packed:
        _write_tar(folder, name, packed)


def _write_tar(folder: Path, name: str, target: Any) -> None:
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(entry.name for entry in folder.iterdir()):
            entry = tarfile.TarInfo(f"{folder_name(name)}/{file}")
            entry.size = (folder / file).stat().st_size
            entry.mode = 0o644
            with (folder / file).open("rb") as content:
                archive.addfile(entry, content)


def folder_name(name: str) -> str:
    """A folder's name as it stands in an archive: of letters that every system takes, and not too long."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:60] or "package"


class Found(NamedTuple):
    """A file as it was found in a package: its size in bytes, and SHA-256."""

    size: int
    sha256: str


class Snapshot(NamedTuple):
    """A package's files, copied to a place of their own, so that they stay as they are while they are looked at.

    Attributes:
        folder: holds the files of a package that were found.
        files: size and digest of each.
        foreign: names of what else lay in the package; it was not copied.
        is_ours: whether an archive is as `write_archive` packs these files; another can have anything beside them,
            which nothing was taken from. None of a folder.
    """

    folder: Path
    files: Mapping[str, Found]
    foreign: tuple[str, ...]
    is_ours: bool | None = None


def take_snapshot(package: Path, folder: Path) -> Snapshot:
    """Copy a package into a folder, from a folder or an archive; nothing is written anywhere else.

    Args:
        package: the folder or archive.
        folder: exists and is empty.

    Raises:
        PackageError: it is no package, or one that could do harm.
    """
    try:
        mode = package.stat().st_mode
    except OSError as error:
        raise PackageError(f"{package}: {error.strerror or error}") from None
    try:
        if stat.S_ISDIR(mode):
            snapshot = _from_folder(package, folder)
        elif stat.S_ISREG(mode):
            with package.open("rb") as file:
                snapshot = _from_archive(package, file, folder)
        else:
            raise PackageError(f"{package}: expected a folder or a {SUFFIX} file, found neither")
    except OSError as error:
        raise PackageError(f"{error.filename or package}: cannot be read: {error.strerror or error}") from None
    if MANIFEST not in snapshot.files:
        raise PackageError(
            f"{package}: no package: there is no {MANIFEST}; expected what 'dml-conformance certify --package' makes"
        )
    return snapshot


class _Copier:
    """Copies what belongs to a package, and counts the rest."""

    def __init__(self, package: Path, folder: Path) -> None:
        self.package = package
        self.folder = folder
        self.files: dict[str, Found] = {}
        self.foreign: list[str] = []

    def take(self, name: str, size: int, source: Any) -> None:
        """Take one file of a package from a stream that has it next.

        Raises:
            PackageError: it is there twice, too large, or shorter than it should be.
        """
        if name in self.files or name in self.foreign:
            raise PackageError(f"{self.package}: {shown(name)} is there twice")
        if len(self.files) + len(self.foreign) >= MOST_ENTRIES:
            raise PackageError(f"{self.package}: more than {MOST_ENTRIES} files; a package has {len(PACKAGE_FILES)}")
        most = MOST_BYTES.get(name, MOST_FOREIGN)
        if size > most:
            raise PackageError(f"{self.package}: {shown(name)}: expected at most {most:,} bytes, found {size:,}")
        if name not in MOST_BYTES:
            self.foreign.append(name)
            for _ in self._chunks(name, size, source):
                pass
            return
        digest = hashlib.sha256()
        with (self.folder / name).open("xb") as copy:
            for chunk in self._chunks(name, size, source):
                digest.update(chunk)
                copy.write(chunk)
        self.files[name] = Found(size, digest.hexdigest())

    def _chunks(self, name: str, size: int, source: Any) -> Iterator[bytes]:
        left = size
        while left:
            chunk = source.read(min(left, _CHUNK))
            if not chunk:
                raise PackageError(f"{self.package}: ends within {shown(name)}; it is truncated")
            left -= len(chunk)
            yield chunk

    def snapshot(self, is_ours: bool | None = None) -> Snapshot:
        return Snapshot(self.folder, self.files, tuple(self.foreign), is_ours)


def _from_folder(package: Path, folder: Path) -> Snapshot:
    copier = _Copier(package, folder)
    with os.scandir(package) as entries:
        for count, entry in enumerate(entries):
            if count >= MOST_ENTRIES:
                raise PackageError(f"{package}: more than {MOST_ENTRIES} files; a package has {len(PACKAGE_FILES)}")
            if not entry.is_file(follow_symlinks=False):
                kind = "a link" if entry.is_symlink() else "a folder" if entry.is_dir() else "no file"
                raise PackageError(f"{package}: {shown(entry.name)} is {kind}; a package holds files alone")
            if entry.name not in MOST_BYTES:
                copier.foreign.append(entry.name)
                continue
            # It may have become something else since: a link is not followed, a pipe not waited for.
            flags = (
                os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            )
            with os.fdopen(os.open(entry.path, flags), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    raise PackageError(f"{package}: {shown(entry.name)} is no file; a package holds files alone")
                copier.take(entry.name, found.st_size, file)
    return copier.snapshot()


def _from_archive(package: Path, file: BinaryIO, folder: Path) -> Snapshot:
    if file.read(len(_FRAME)) != _FRAME:
        raise PackageError(f"{package}: no package: expected a tar archive compressed as Zstandard ({SUFFIX})")
    packed = os.fstat(file.fileno()).st_size
    file.seek(0)
    source = _UnpackedArchive(package, file, packed)
    copier = _Copier(package, folder)
    top = ""
    for count, header in enumerate(_headers(package, source)):
        if count >= MOST_ENTRIES:
            raise PackageError(f"{package}: more than {MOST_ENTRIES} files; a package has {len(PACKAGE_FILES)}")
        path = header.name
        parts = [*path.split("/"), ""] if header.isdir() else path.split("/")
        if len(parts) != 2 or parts[0] in ("", ".", "..") or parts[1] in (".", "..") or "\\" in path:
            raise PackageError(
                f"{package}: {shown(path)}: expected files in one folder, FOLDER/{MANIFEST}; nothing is unpacked"
            )
        if top and parts[0] != top:
            raise PackageError(f"{package}: {shown(path)}: expected all files in one folder, {shown(top)}")
        top = parts[0]
        if header.isdir():
            continue
        if not parts[1]:
            raise PackageError(f"{package}: {shown(path)}: a file without a name")
        copier.take(parts[1], header.size, source)
        source.read_exactly(-header.size % _BLOCK)
    ours = _TarDigest()
    _write_tar(folder, top, ours)
    return copier.snapshot(source.frames == 1 and source.tar.sha256.digest() == ours.sha256.digest())


class _TarDigest:
    """SHA-256 of what is written."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def write(self, content: bytes) -> int:
        self.sha256.update(content)
        return len(content)


class _UnpackedArchive:
    """What a compressed file unpacks to, up to a measure.

    Attributes:
        frames: how many it consists of, as far as it was read.
        tar: digest of what was read.
    """

    def __init__(self, package: Path, file: BinaryIO, packed: int) -> None:
        self.frames = 0
        self.tar = _TarDigest()
        self._package = package
        self._file = file
        self._left = min(MOST_ALTOGETHER, FREE_BYTES + MOST_RATIO * packed)
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW)
        self._frame: zstandard.ZstdDecompressionObj | None = None  # that is being unpacked
        self._packed = b""  # of the frame after it
        self._unpacked = io.BytesIO()

    def read(self, count: int) -> bytes:
        """Up to `count` bytes; none at the end.

        Raises:
            PackageError: it is damaged, or unpacks to more than it may.
        """
        while not (found := self._unpacked.read(min(count, _CHUNK))):
            packed = self._packed or self._file.read(_PACKED)
            if not packed and self._frame is not None:
                raise PackageError(f"{self._package}: ends within a frame; it is truncated")
            if not packed:
                return b""
            self._unpack(packed)
        self.tar.write(found)
        return found

    def _unpack(self, packed: bytes) -> None:
        frame = self._frame
        if frame is None:
            frame = self._decompressor.decompressobj()
            self.frames += 1
        try:
            self._unpacked = io.BytesIO(frame.decompress(packed))
        except (zstandard.ZstdError, MemoryError) as error:
            raise PackageError(f"{self._package}: cannot be unpacked, so it is damaged ({error})") from None
        self._left -= len(self._unpacked.getbuffer())
        if self._left < 0:
            raise PackageError(f"{self._package}: unpacks to more than a package of its size can hold; it is not read")
        self._packed = frame.unused_data
        self._frame = None if frame.eof else frame

    def read_exactly(self, count: int) -> bytes:
        """`count` bytes, of which there are few; raises PackageError where there are fewer."""
        found = io.BytesIO()
        while found.tell() < count:
            chunk = self.read(count - found.tell())
            if not chunk:
                raise PackageError(f"{self._package}: ends within a block of the archive; it is truncated")
            found.write(chunk)
        return found.getvalue()


def _headers(package: Path, source: _UnpackedArchive) -> Iterator[tarfile.TarInfo]:
    """The headers of an archive, up to its end; whoever takes one reads what follows it."""
    while True:
        block = source.read_exactly(_BLOCK)
        if block.count(0) == _BLOCK:
            break
        yield _header(package, block)
    while rest := source.read(_CHUNK):
        if rest.strip(b"\0"):
            raise PackageError(f"{package}: something follows the end of the archive")


def _header(package: Path, block: bytes) -> tarfile.TarInfo:
    """Read a header as POSIX ustar and GNU tar write it; see POSIX.1-2017, pax, "ustar Interchange Format"."""
    if block[257:265] not in (b"ustar\x0000", b"ustar  \0"):
        raise PackageError(f"{package}: expected the header of a file in a tar archive, of the ustar form")
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "backslashreplace")
    except tarfile.HeaderError:
        raise PackageError(f"{package}: the header of a file does not add up; the archive is damaged") from None
    if header.type not in _REGULAR and not header.isdir():
        what = _KINDS.get(header.type, "an entry of an unknown kind")
        raise PackageError(f"{package}: {shown(header.name)} is {what}; a package holds files alone")
    if header.size < 0:
        raise PackageError(f"{package}: a number in the header of a file is none; the archive is damaged")
    if header.isdir() and header.size:
        raise PackageError(f"{package}: {shown(header.name)} is a folder that has content; the archive is damaged")
    return header


def shown(name: str) -> str:
    """A name out of a package, as a message shows it."""
    return ascii(name if len(name) <= 200 else name[:197] + "...")
