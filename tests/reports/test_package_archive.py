"""Archives of packages: what is no package, or could do harm, is refused; nothing is written anywhere else."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from commands import invoke

from dml_conformance.reports.package import LISTED, MANIFEST, MOST_BYTES, PACKAGE_FILES, PackageError
from dml_conformance.reports.package import archive as archives
from dml_conformance.reports.package.archive import folder_name, take_snapshot, write_archive


def entry(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def packed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


MANIFEST_ENTRY = entry(f"package/{MANIFEST}", b"{}")


def snapshot_of(tmp_path: Path, content: bytes) -> archives.Snapshot:
    """Of an archive; afterwards nothing lies around but what belongs there."""
    place = tmp_path / "place"
    inside = place / "inside"
    inside.mkdir(parents=True)
    package = tmp_path / "package.tar.zst"
    package.write_bytes(content)
    try:
        return take_snapshot(package, inside)
    finally:
        assert [path.name for path in place.iterdir()] == ["inside"]
        assert {path.name for path in inside.iterdir()} <= set(PACKAGE_FILES)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["package.tar.zst", "place"]


def test_files_come_out_as_they_went_in(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in LISTED:
        (folder / name).write_bytes(os.urandom(70_000))
    (folder / MANIFEST).write_bytes(b"{}")
    target = io.BytesIO()
    write_archive(folder, "mine", target)
    (tmp_path / "sub").mkdir()
    snapshot = snapshot_of(tmp_path / "sub", target.getvalue())
    assert sorted(snapshot.files) == sorted((*LISTED, MANIFEST))
    for name in snapshot.files:
        assert (snapshot.folder / name).read_bytes() == (folder / name).read_bytes()
        assert snapshot.files[name].size == (folder / name).stat().st_size


def test_nothing_in_an_archive_varies(tmp_path: Path) -> None:
    archived = []
    for n, time in enumerate((0, 1_700_000_000)):
        folder = tmp_path / str(n) / "package"
        folder.mkdir(parents=True)
        for name in reversed(PACKAGE_FILES) if n else PACKAGE_FILES:
            (folder / name).write_bytes(name.encode())
            (folder / name).chmod(0o600 if n else 0o644)
            os.utime(folder / name, (time, time))
        target = io.BytesIO()
        write_archive(folder, "package", target)
        archived.append(target.getvalue())
    assert archived[0] == archived[1]
    content = zstandard.ZstdDecompressor().decompressobj().decompress(archived[0])
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == [f"package/{name}" for name in sorted(PACKAGE_FILES)]
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {(0, 0, 0, "", "", 0o644)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch", "torch"),
        ("my backend", "my-backend"),
        ("../..", "package"),
        ("ü" * 99, "package"),
        ("a" * 99, "a" * 60),
    ],
)
def test_the_folder_in_an_archive_has_a_plain_name(name: str, expected: str) -> None:
    assert folder_name(name) == expected


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_archives_packed_by_hand_are_taken(tmp_path: Path, form: int) -> None:
    content = tar(entry("package", type=tarfile.DIRTYPE), MANIFEST_ENTRY, form=form)
    assert list(snapshot_of(tmp_path, packed(content)).files) == [MANIFEST]


def header_with(change: Callable[[bytearray], None], content: bytes | None = None) -> bytes:
    """An archive whose first header was changed and adds up again."""
    archive = bytearray(tar(MANIFEST_ENTRY) if content is None else content)
    change(archive)
    archive[148:156] = b"        "
    archive[148:156] = b"%06o\0 " % sum(archive[:512])
    return bytes(archive)


def put(at: int, value: bytes) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        content[at : at + len(value)] = value

    return change


HOSTILE = {
    "a path that leads up": (tar(entry(f"package/../../{MANIFEST}", b"{}")), "expected files in one folder"),
    "up at once": (tar(entry(f"../{MANIFEST}", b"{}")), "expected files in one folder"),
    "an absolute path": (tar(entry(f"/etc/{MANIFEST}", b"{}")), "expected files in one folder"),
    "a root": (tar(entry(f"/{MANIFEST}", b"{}")), "expected files in one folder"),
    "no folder": (tar(entry(MANIFEST, b"{}")), "expected files in one folder"),
    "another system's path": (tar(entry("package\\..\\..\\x/a", b"{}")), "expected files in one folder"),
    "a drive": (tar(entry("c:\\x/a", b"{}")), "expected files in one folder"),
    "two folders": (tar(MANIFEST_ENTRY, entry("other/a", b"{}")), "expected all files in one folder"),
    "a folder within": (tar(entry("package/sub", type=tarfile.DIRTYPE)), "expected files in one folder"),
    "a symbolic link": (tar(entry("package/a", type=tarfile.SYMTYPE, linkname="/etc/passwd")), "is a symbolic link"),
    "a hard link": (tar(entry("package/a", type=tarfile.LNKTYPE, linkname="/etc/passwd")), "is a hard link"),
    "a device": (tar(entry("package/a", type=tarfile.CHRTYPE, devmajor=1, devminor=5)), "is a character device"),
    "a pipe": (tar(entry("package/a", type=tarfile.FIFOTYPE)), "is a named pipe"),
    "a long name": (tar(entry("package/" + "a" * 300), form=tarfile.GNU_FORMAT), "is an extended header"),
    "an extended header": (
        tar(entry(MANIFEST_ENTRY[0].name, pax_headers={"path": "/etc/x"}), form=tarfile.PAX_FORMAT),
        "is an extended header",
    ),
    "a name twice": (tar(MANIFEST_ENTRY, MANIFEST_ENTRY), "is there twice"),
    "a foreign name twice": (tar(entry("package/a"), entry("package/a")), "is there twice"),
    "many files": (tar(*(entry(f"package/{n}") for n in range(99))), "more than 64 files"),
    "a huge size": (header_with(put(124, b"77777777777\0")), "expected at most"),
    "a huge JSON file": (
        tar(entry(f"package/{MANIFEST}", b" " * (MOST_BYTES[MANIFEST] + 1))),
        "expected at most 1,048,576 bytes, found 1,048,577",
    ),
    "a negative size": (header_with(put(124, b"\xff" * 12)), "is none; the archive is damaged"),
    "a size that is no number": (header_with(put(124, b"-0000000001\0")), "is none; the archive is damaged"),
    "a folder with content": (
        header_with(put(156, b"5")),
        "a folder that has content",
    ),
    "another form": (header_with(put(257, b"nothing!")), "of the ustar form"),
    "a header that does not add up": (
        bytes(bytearray(tar(MANIFEST_ENTRY)).replace(b"package", b"pbckage", 1)),
        "does not add up",
    ),
    "no end": (tar(MANIFEST_ENTRY)[:1024], "truncated"),
    "half a file": (tar(MANIFEST_ENTRY)[:513], "truncated"),
    "nothing": (b"", "truncated"),
    "something after the end": (tar(MANIFEST_ENTRY) + b"more", "something follows the end"),
    "no manifest": (tar(entry(f"package/{LISTED[0]}", b"{}")), "there is no manifest.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(tmp_path: Path, name: str) -> None:
    content, message = HOSTILE[name]
    with pytest.raises(PackageError, match=message):
        snapshot_of(tmp_path, packed(content))


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfdgarbage and more of it"]
)
def test_what_is_not_compressed_as_it_should_be_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(PackageError, match=r"no package|cannot be unpacked|truncated"):
        snapshot_of(tmp_path, content)


def test_truncated_archives_are_refused(tmp_path: Path) -> None:
    content = packed(tar(MANIFEST_ENTRY, entry("package/report.html", os.urandom(10_000))))
    for n, length in enumerate(range(5, len(content), len(content) // 20)):
        (tmp_path / str(n)).mkdir()
        with pytest.raises(PackageError):
            snapshot_of(tmp_path / str(n), content[:length])


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros without end, after the files or in one: what is taken of them is bounded by the size of the archive."""
    monkeypatch.setattr(archives, "FREE_BYTES", 1 << 20)
    bombs = tar(MANIFEST_ENTRY) + bytes(100 << 20), tar(MANIFEST_ENTRY, entry("package/report.html", bytes(100 << 20)))
    for n, content in enumerate(bombs):
        (tmp_path / str(n)).mkdir()
        assert len(packed(content)) < 20_000
        with pytest.raises(PackageError, match="unpacks to more than a package of its size can hold"):
            snapshot_of(tmp_path / str(n), packed(content))
        assert sum(file.stat().st_size for file in (tmp_path / str(n) / "place" / "inside").iterdir()) < 40 << 20


def test_a_window_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, compression_level=1)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    content = compressor.compress(tar(MANIFEST_ENTRY)) + compressor.flush()
    with pytest.raises(PackageError, match="cannot be unpacked"):
        snapshot_of(tmp_path, content)


def folder_with(tmp_path: Path, make: Callable[[Path], object]) -> Path:
    package = tmp_path / "package"
    package.mkdir()
    (package / MANIFEST).write_bytes(b"{}")
    make(package)
    return package


def by_gnu_tar(content: bytes) -> bytes:
    """The same files as another program packs them: with their folder, the other way round, at some time."""
    with tarfile.open(fileobj=io.BytesIO(content)) as source:
        entries = [
            entry(member.name, source.extractfile(member).read(), mtime=1_700_000_000)  # type: ignore[union-attr]
            for member in reversed(source.getmembers())
        ]
    return tar(entry("package", type=tarfile.DIRTYPE), *entries, form=tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "change",
    [
        lambda tar: packed(header_with(put(265, b"nobody"), tar)),
        lambda tar: packed(header_with(put(136, b"14524770400\0"), tar)),
        lambda tar: packed(header_with(put(60, b"hidden"), tar)),  # after the name
        lambda tar: packed(header_with(put(500, b"hidden"), tar)),
        lambda tar: packed(header_with(put(520, b"hidden"), tar)),  # after the content
        lambda tar: packed(by_gnu_tar(tar)),
        lambda tar: packed(tar) + (0x184D2A57).to_bytes(4, "little") + b"\6\0\0\0hidden",  # a frame that is skipped
        lambda tar: packed(tar[:512]) + packed(tar[512:]),
    ],
    ids=["user", "time", "name", "header", "padding", "another program", "skipped", "two frames"],
)
def test_an_archive_with_content_that_nothing_uses_is_none_of_ours(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    package = folder_with(tmp_path, lambda package: (package / "report.html").write_bytes(b"a page"))
    target = io.BytesIO()
    write_archive(package, "package", target)
    content = zstandard.ZstdDecompressor().decompressobj().decompress(target.getvalue())
    for name, archive, is_ours in (("ours", target.getvalue(), True), ("another", change(content), False)):
        (tmp_path / name).mkdir()
        snapshot = snapshot_of(tmp_path / name, archive)
        assert (sorted(snapshot.files), snapshot.is_ours) == ([MANIFEST, "report.html"], is_ours)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda package: (package / "report.html").symlink_to("/etc/passwd"), "is a link"),
        (lambda package: (package / "sub").mkdir(), "is a folder"),
        (lambda package: os.mkfifo(package / "report.html"), "is no file"),
        (lambda package: [(package / str(n)).write_bytes(b"") for n in range(70)], "more than 64 files"),
        (lambda package: os.truncate(package / MANIFEST, (1 << 20) + 1), "expected at most 1,048,576 bytes"),
        (lambda package: (package / MANIFEST).unlink(), "there is no manifest.json"),
    ],
)
def test_hostile_folders_are_refused(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(PackageError, match=message):
        take_snapshot(folder_with(tmp_path, make), inside)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (HOSTILE["a path that leads up"][0], HOSTILE["a path that leads up"][1]),
        (tar(entry("package/\x1b[2J", type=tarfile.SYMTYPE, linkname="x")), "\\x1b[2J"),  # cannot steer a terminal
        (None, "No such file or directory"),
    ],
)
def test_the_command_ends_with_2_and_one_line(tmp_path: Path, content: bytes | None, told: str) -> None:
    package = tmp_path / "package.tar.zst"
    if content is not None:
        package.write_bytes(packed(content))
    result = invoke("verify", package)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert told in result.stderr
    assert "\x1b" not in result.stderr
