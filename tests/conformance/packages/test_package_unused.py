"""What a package has beside what it says: rows, bytes and labels that nothing uses are found, or named."""

from __future__ import annotations

import io
import shutil
import sqlite3
import tarfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zstandard
from package_support import make, told, verified

from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.packages.make import manifest_of
from dml_conformance.conformance.packages.verify import Verification
from dml_conformance.reports.package import MANIFEST, RESULTS, SUFFIX
from dml_conformance.reports.package.archive import write_archive

HIDDEN = "paid for by nobody"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("honest") / "package", ReferenceBackend())


def sql(statement: str, *parameters: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(statement, parameters).rowcount
            connection.commit()

    return change


def at(place: int, content: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(place)
            file.write(content)

    return change


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(HIDDEN.encode().ljust(8192))


def body(change: Callable[[list[object]], object]) -> Callable[[Path], None]:
    """Another first body of the first block."""

    def edit(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            (block,) = connection.execute("SELECT bodies FROM body WHERE block = 0").fetchone()
            bodies = msgspec.json.decode(zlib.decompress(block))
            change(bodies)
            content = zlib.compress(msgspec.json.encode(bodies), 3)
            connection.execute("UPDATE body SET bodies = ? WHERE block = 0", (content,))
            connection.commit()

    return edit


def more_fields(bodies: list[object]) -> None:
    bodies[0] = [*bodies[0], HIDDEN]  # type: ignore[misc]


def more_keys(bodies: list[object]) -> None:
    bodies[0][0]["note"] = HIDDEN  # type: ignore[index]


UNUSED: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "a label": (sql("INSERT INTO label VALUES (999, ?)", HIDDEN), "table label, row 999"),
    "a block": (sql("INSERT INTO body VALUES (999, ?)", HIDDEN.encode()), "table body, row 999"),
    "a field of a body": (body(more_fields), "table body, row 0"),
    "a key of a case": (body(more_keys), "case_json: has what no case has, 'note'"),
    "bytes after a block": (sql("UPDATE body SET bodies = CAST(bodies || ? AS BLOB)", b"hidden"), "table body, row 0"),
    "a field of the campaign": (
        sql("UPDATE stream SET json = json_set(json, '$.note', ?) WHERE part = 'campaign'", HIDDEN),
        "table stream, row 'campaign'",
    ),
    "spaces": (sql("UPDATE stream SET json = json || '   ' WHERE part = 'ending'"), "table stream, row 'ending'"),
    "statistics": (
        sql("INSERT INTO sqlite_stat1 VALUES ('record', ?, '1')", HIDDEN),
        "table sqlite_stat1: has what no statistics",
    ),
    "the header": (at(72, b"hidden in here"), "its header at byte 72"),
    "the default cache size": (at(48, b"\1\2\3\4"), "its header at byte 44"),
    "a page more than there are": (longer, "size: expected"),
}


def remade(package: Path) -> Verification:
    """As who edited a package would hand it in: unsigned, its manifest made anew."""
    (package / MANIFEST).write_bytes(manifest_of(package, "0.1.0").to_json())
    return verified(package)


@pytest.mark.parametrize("name", UNUSED)
def test_unused_content_of_the_results_is_found(honest: Path, tmp_path: Path, name: str) -> None:
    change, message = UNUSED[name]
    package = Path(shutil.copytree(honest, tmp_path / "package"))
    change(package / RESULTS)
    found = remade(package)
    assert not found.verifies
    assert message in told(found)


def detail(found: Verification, check: str) -> str:
    return {one.name: one.detail for one in found.checks}[check]


def test_an_unsigned_package_says_what_nothing_covers(honest: Path) -> None:
    found = verified(honest)
    assert found.verifies, told(found)
    assert "not signed: bytes that hold no record, in the pages" in detail(found, "signature")
    assert "archive" not in {check.name for check in found.checks}


def test_an_archive_of_ours_has_nothing_unused(honest: Path) -> None:
    found = verified(honest.with_name(honest.name + SUFFIX))
    assert found.verifies
    assert detail(found, "archive") == "as this suite packs it"


def packed(tar: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(tar)


def unpacked(honest: Path) -> bytes:
    target = io.BytesIO()
    write_archive(honest, "package", target)
    return zstandard.ZstdDecompressor().decompressobj().decompress(target.getvalue())


def with_header(tar: bytes, start: int, content: bytes) -> bytes:
    """The first header with this in it, and adding up."""
    block = bytearray(tar[:512])
    block[start : start + len(content)] = content
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + tar[512:]


def with_padding(tar: bytes) -> bytes:
    """The bytes between the first file's content and the next header."""
    size = int(tar[124:135], 8)
    assert size % 512
    return tar[: 512 + size] + HIDDEN.encode() + tar[512 + size + len(HIDDEN) :]


def by_gnu_tar(tar: bytes) -> bytes:
    target = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(tar)) as source,
        tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        folder = tarfile.TarInfo("package")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for member in reversed(source.getmembers()):
            member.mtime = 1_700_000_000
            archive.addfile(member, source.extractfile(member))
    return target.getvalue()


def skippable(content: bytes) -> bytes:
    return (0x184D2A57).to_bytes(4, "little") + len(content).to_bytes(4, "little") + content


ARCHIVES: Mapping[str, Callable[[bytes], bytes]] = {
    "a user": lambda tar: packed(with_header(tar, 265, b"nobody")),
    "a time": lambda tar: packed(with_header(tar, 136, b"14524770400\0")),
    "after the name": lambda tar: packed(with_header(tar, 60, b"hidden")),
    "the rest of a header": lambda tar: packed(with_header(tar, 500, b"hidden")),
    "between files": lambda tar: packed(with_padding(tar)),
    "another program": lambda tar: packed(by_gnu_tar(tar)),
    "a frame that is skipped": lambda tar: packed(tar) + skippable(b"hidden"),
    "two frames": lambda tar: packed(tar[:512]) + packed(tar[512:]),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_with_unused_content_is_none_of_ours(honest: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "p.tar.zst").write_bytes(ARCHIVES[name](unpacked(honest)))
    found = verified(tmp_path / "p.tar.zst")
    assert found.verifies, told(found)
    (check,) = [check for check in found.checks if check.name == "archive"]
    assert (check.detail, check.done) == (
        "not packed by this suite; nothing covers what it has beside its files",
        False,
    )
