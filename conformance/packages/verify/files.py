"""The files of a package: all there, as in the manifest, signed; and the results a database of ours, before use."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dml_conformance.conformance.packages.statements import predicate_of
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.package import LISTED, MANIFEST, SIGNATURE, PackageFormError
from dml_conformance.reports.package.archive import Snapshot
from dml_conformance.reports.package.forms import Manifest, PackageDocument, Statement
from dml_conformance.reports.store.authentication import MAC_TABLE, is_mac
from dml_conformance.reports.store.forms import BLOCK_3, FORMS, START
from dml_conformance.reports.store.results import APPLICATION_ID, PAGE_SIZE, SCHEMA_VERSION

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FILES, SIGNED, ARCHIVE = "files", "signature", "archive"
NOT_AS_WRITTEN = "not written as this suite writes it: other spaces, order, or a key twice"

_BESIDE = {  # what need not be there: a MAC, and what ANALYZE makes
    "mac": MAC_TABLE,
    "sqlite_stat1": "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "sqlite_stat4": "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}

_D = TypeVar("_D", bound=PackageDocument)


def read_document(snapshot: Snapshot, name: str, kind: type[_D], check: str, findings: Findings) -> _D | None:
    """A JSON file of a package, in exactly the bytes that its content has; None where it is missing or no such file."""
    if name not in snapshot.files:
        return None  # the check of the files says so
    content = (snapshot.folder / name).read_bytes()
    try:
        document = kind.from_json(content)
    except PackageFormError as error:
        findings.add(check, name, "", f"not of the form that it should have: {error}")
        return None
    if document.to_json() != content:
        findings.add(check, name, "", NOT_AS_WRITTEN)
    return document


def check_files(snapshot: Snapshot, findings: Findings) -> None:
    """Whether every file is there, is in the manifest, and has the size and digest that it has there."""
    for name in snapshot.foreign:
        findings.add(FILES, name, "", "expected nothing but the files of a package; it was not looked at")
    manifest = read_document(snapshot, MANIFEST, Manifest, FILES, findings)
    for name in LISTED:
        if name not in snapshot.files:
            findings.add(FILES, name, "", "expected in every package, and missing in this one")
    if manifest is None:
        findings.end(FILES, "the manifest cannot be read")
        return
    names = [listed.name for listed in manifest.files]
    if names != list(LISTED):
        findings.add(FILES, MANIFEST, "files", expected(list(LISTED), names))
    for listed in manifest.files:
        found = snapshot.files.get(listed.name)
        if found is None:
            continue
        if found.size != listed.size:
            findings.add(FILES, listed.name, "", f"size: {expected(listed.size, found.size)}")
        if found.sha256 != listed.sha256:
            findings.add(
                FILES, listed.name, "", f"not the file of the manifest: {expected(listed.sha256, found.sha256)}"
            )
    findings.end(FILES, f"{len(snapshot.files)} files, {sum(f.size for f in snapshot.files.values()):,} bytes")


def check_archive(snapshot: Snapshot, findings: Findings) -> None:
    """Say what an archive has that nothing was taken from: it can be anything, and a signature does not cover it.

    It is no finding, as whoever packs the same files with another program makes such an archive.
    """
    if snapshot.is_ours is None:
        return
    other = "not packed by this suite; nothing covers what it has beside its files"
    findings.end(ARCHIVE, "as this suite packs it" if snapshot.is_ours else other, done=snapshot.is_ours)


def _free_pages(snapshot: Snapshot) -> int:
    if RESULTS not in snapshot.files:
        return 0
    with (snapshot.folder / RESULTS).open("rb") as file:
        return int.from_bytes(file.read(40)[36:], "big")


def check_signature(
    snapshot: Snapshot, key: Ed25519PublicKey | None, statement: Statement | None, findings: Findings
) -> None:
    """Whether the package is signed with a key, every file of it.

    Without a key it is checked that the signature is about these files; not whose it is.
    """
    if SIGNATURE not in snapshot.files:
        if key is not None:
            findings.add(SIGNED, SIGNATURE, "", "a public key was given, and the package is not signed")
        free = _free_pages(snapshot)
        pages = f", {free} of them free," if free else ""
        detail = f"not signed: bytes that hold no record, in the pages{pages} of {RESULTS}, can be anything"
        findings.end(SIGNED, detail if RESULTS in snapshot.files else "not signed", done=key is not None)
        return
    from dml_conformance.reports.package.signature import key_id, opened

    try:
        signature = opened((snapshot.folder / SIGNATURE).read_bytes())
    except PackageFormError as error:
        findings.add(SIGNED, SIGNATURE, "", f"not of the form that it should have: {error}")
        findings.end(SIGNED, "cannot be read")
        return
    _check_subjects(
        {subject.name: subject.digest["sha256"] for subject in signature.statement.subject},
        len(signature.statement.subject),
        snapshot,
        findings,
    )
    if not signature.is_canonical:
        findings.add(SIGNED, SIGNATURE, "", NOT_AS_WRITTEN)
    if statement is not None and signature.statement.predicate != predicate_of(statement):
        findings.add(SIGNED, SIGNATURE, "predicate", "says something else than the statement of the package")
    if key is None:
        ids = ", ".join(ascii(name[:16]) for name, _ in signature.signatures)
        findings.end(SIGNED, f"signed, it says by key {ids}; not checked, as no public key was given", done=False)
        return
    beside = signature.ids_of(key)
    if not beside:
        findings.add(SIGNED, SIGNATURE, "signatures", f"none is by the key that was given, {key_id(key)}")
    for name in beside:
        if name != key_id(key):
            findings.add(
                SIGNED, SIGNATURE, "keyid", f"not the id of the key that signed: {expected(key_id(key), name)}"
            )
    others = len(signature.signatures) - len(beside)
    more = f"; {others} by other keys, not checked" if beside and others else ""
    findings.end(SIGNED, f"by key {key_id(key)[:16]}, over {len(signature.statement.subject)} files{more}")


def _check_subjects(subjects: Mapping[str, str], count: int, snapshot: Snapshot, findings: Findings) -> None:
    wanted = sorted((*LISTED, MANIFEST))
    if sorted(subjects) != wanted or count != len(wanted):
        findings.add(SIGNED, SIGNATURE, "subject", expected(wanted, sorted(subjects)))
    for name, digest in subjects.items():
        found = snapshot.files.get(name)
        if found is not None and found.sha256 != digest:
            findings.add(
                SIGNED, SIGNATURE, f"subject {name!a}", f"signed was another file: {expected(digest, found.sha256)}"
            )


# Of an SQLite file's header what is the same in all of ours, and where.
_HEADER = {
    16: PAGE_SIZE.to_bytes(2, "big"),
    18: b"\1\1",  # no WAL
    20: b"\0\x40\x20\x20",
    44: b"\0\0\0\4\0\0\0\0",
    52: b"\0\0\0\0\0\0\0\1",  # no automatic vacuum; UTF-8
    64: b"\0\0\0\0",
    72: bytes(20),
}


def _header_problems(path: Path) -> Iterator[str]:
    """What an SQLite file's header says that ours do not, and whether the file is as long as it says."""
    with path.open("rb") as file:
        header = file.read(100)
    for at, wanted in _HEADER.items():
        found = header[at : at + len(wanted)]
        if found != wanted:
            yield f"its header at byte {at}: {expected(wanted.hex(), found.hex())}"
    length = PAGE_SIZE * int.from_bytes(header[28:32], "big")
    if path.stat().st_size != length:
        yield f"size: {expected(length, path.stat().st_size)}"


def check_rows(path: Path, again: Path, findings: Findings) -> None:
    """Whether a results file has the rows that its stream makes, and no others: an unused label, for example.

    Args:
        path: of the file; `is_our_database`.
        again: of the one that was made again from its records.
        findings: takes what is wrong.
    """
    try:
        with closing(_connected(path)) as one, closing(_connected(again)) as other:
            version = _version(one)
            wanted = _rows(other, SCHEMA_VERSION) | (_rows_of_version_3(other) if version == 3 else {})
            found = _rows(one, version)
            if version < SCHEMA_VERSION:  # its whole digests were held against their cases as these were read
                found["record"] = ((number, digest[:START], *rest) for number, digest, *rest in found["record"])
            for table in filter(found.__contains__, _TABLES):
                _compare_rows(table, zip_longest(wanted[table], found[table]), findings)
            for row in one.execute("SELECT tbl, idx, stat FROM sqlite_stat1"):
                if row[0] not in {*_TABLES, "mac"} or not _STATISTIC.fullmatch(f"{row[1]}: {row[2]}"):
                    findings.add(FILES, RESULTS, "table sqlite_stat1", "has what no statistics of our tables are")
            if one.execute("SELECT name FROM sqlite_master WHERE name = 'mac'").fetchone() is not None:
                for row in one.execute("SELECT id, key, value FROM mac"):
                    if not is_mac(row):
                        findings.add(FILES, RESULTS, "table mac", "has what no MAC is")
    except sqlite3.Error as error:
        findings.add(FILES, RESULTS, "", f"its tables cannot be read: {error}")


def _rows(connection: sqlite3.Connection, version: int) -> dict[str, Iterable[tuple[Any, ...]]]:
    """The rows of each table, as far as a version has it; blocks of bodies as they are unpacked."""
    tables = [name for name, sql in FORMS[version].objects().items() if sql.startswith("CREATE TABLE")]
    queries = {table: f"SELECT {_TABLES[table]} FROM {table} ORDER BY 1" for table in tables}  # noqa: S608 - constants only
    rows: dict[str, Iterable[tuple[Any, ...]]] = {table: connection.execute(query) for table, query in queries.items()}
    return rows | {"body": _unpacked(rows["body"], FORMS[version].unpack)}


def _unpacked(rows: Iterable[tuple[Any, ...]], unpack: Callable[[bytes], bytes]) -> Iterator[tuple[Any, ...]]:
    for number, block in rows:
        try:
            yield number, unpack(block)
        except (ValueError, TypeError):  # no record is in it, as all of them were read before
            yield number, block


def _rows_of_version_3(again: sqlite3.Connection) -> dict[str, Iterable[tuple[Any, ...]]]:
    """What a file of version 3 has in other rows than one that is written now."""
    query = "SELECT * FROM result ORDER BY id"
    labels: dict[str, int] = {}

    def records() -> Iterator[tuple[Any, ...]]:
        for number, digest, *words, rank, seconds, differences, reason in again.execute(query):
            ids = [labels.setdefault(word, len(labels) + 1) for word in words]
            yield number, digest, *ids, rank, seconds, differences, reason

    def bodies() -> Iterator[tuple[Any, ...]]:
        blocks = (msgspec.json.decode(text, type=list[msgspec.Raw]) for _, text in _rows(again, SCHEMA_VERSION)["body"])
        texts = (text for block in blocks for text in block)
        for number in count():
            if not (block := list(islice(texts, BLOCK_3))):
                return
            yield number, msgspec.json.encode(block)

    def labelled() -> Iterator[tuple[Any, ...]]:
        yield from ((number, text) for text, number in labels.items())

    timed = again.execute(f"SELECT id, {', '.join(FORMS[3].timed)} FROM throughput ORDER BY id")  # noqa: S608 - constants only
    return {"record": records(), "label": labelled(), "body": bodies(), "throughput": timed}


def _compare_rows(table: str, rows: Iterable[tuple[_Row, _Row]], findings: Findings) -> None:
    """Tell of the first pair, what should be there and what is, that differs."""
    for wanted, found in rows:
        if wanted is None or found is None or wanted != found or list(map(type, wanted)) != list(map(type, found)):
            place = (found or wanted or ("",))[0]
            problem = f"not what its records make: {expected(_row_told(wanted), _row_told(found))}"
            findings.add(FILES, RESULTS, f"table {table}, row {place!a}"[:100], problem)
            return


_TABLES = {"stream": "part, json"} | dict.fromkeys(
    ("judgement", "tensors", "record", "remark", "body", "throughput", "label"), "*"
)  # labels last: those of version 3 are numbered as its records are compared
_STATISTIC = re.compile(r"[A-Za-z0-9_]{1,60}: [0-9]{1,12}( [0-9]{1,12}){0,4}( unordered| noskipscan| sz=[0-9]{1,12})*")
_Row = tuple[Any, ...] | None


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _row_told(row: _Row) -> str:
    return "no such row" if row is None else ", ".join(str(value)[:60] for value in row)


def is_our_database(snapshot: Snapshot, findings: Findings) -> bool:
    """Whether the results are a database of our tables alone, so that reading them runs nothing foreign."""
    before = findings.total

    def wrong(problem: str) -> None:
        findings.add(FILES, RESULTS, "", problem)

    path = snapshot.folder / RESULTS
    if RESULTS not in snapshot.files:
        return False
    try:
        with closing(_connected(path)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            (found,) = connection.execute("PRAGMA application_id").fetchone()
            if found != APPLICATION_ID:
                wrong(f"application_id: {expected(APPLICATION_ID, found)}")
            if (version := _version(connection)) not in FORMS:
                wrong(f"user_version: {expected(' or '.join(map(str, FORMS)), version)}")
            for problem in _header_problems(path):
                wrong(problem)
            schema = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 1000"))
            ours = FORMS.get(version, FORMS[SCHEMA_VERSION]).objects()
            for name in sorted(ours.keys() | schema.keys(), key=str):
                sql = _BESIDE.get(name, ours.get(name, "")) if name in schema else ours[name]
                if schema.get(name, "") != sql:
                    wrong(f"{'not one of our tables' if name not in ours else 'not our table'}: {ascii(name)[:100]}")
            if findings.total == before:
                (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if sound != "ok":
                    wrong(f"a damaged database: {ascii(sound)[:200]}")
    except (sqlite3.Error, ValueError, TypeError) as error:
        wrong(f"not a results file of this suite, or a damaged one ({error})")
    return findings.total == before
