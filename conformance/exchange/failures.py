"""Failing cases that were saved: reading them, so that they run first, and saving what the gate finds."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from dml_conformance.reports.model.records import Record
from dml_conformance.reports.model.text import MALFORMED
from dml_conformance.reports.views.failures import case_file, file_name
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import FormError
from dml_conformance.strategies.values import check_recipes

MAX_BYTES = 16 << 20  # of a file
ORIGIN = "failures/"  # before a file's name, the origin of its cases


def read_failures(folder: Path) -> list[Case]:
    """The cases of every `*.json` file in a folder, by name; each file has one case or a list of them.

    Raises:
        FormError: a file cannot be read, or holds something else; the message names it and the field.
        OSError: the folder cannot be read.
    """
    cases = []
    for path in sorted(entry for entry in folder.iterdir() if entry.suffix == ".json"):
        value = _read(path)
        listed = value if isinstance(value, list) else [value]
        for number, item in enumerate(listed):
            where = f"{path}[{number}]" if isinstance(value, list) else str(path)
            case = Case.from_json(item, where)
            check_data(case, where)
            cases.append(msgspec.structs.replace(case, origin=f"{ORIGIN}{path.name}"))
    return cases


def _read(path: Path) -> Any:
    if path.exists() and not path.is_file():  # a device or pipe might never end
        raise FormError(str(path), "is no file; expected a case as JSON")
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise FormError(str(path), f"cannot be read: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise FormError(str(path), f"larger than {MAX_BYTES >> 20} MiB; expected a case as JSON")
    try:
        return msgspec.json.decode(content)
    except MALFORMED as error:
        raise FormError(str(path), f"expected a case as JSON: {error}") from None


def check_data(case: Case, where: str) -> None:
    """Raises FormError where a case that is to be executed has recipes that give no data."""
    if case.data is not None and not case.broken:
        try:
            check_recipes(case)
        except ValueError as error:
            raise FormError(f"{where}.data", str(error)) from None


def digest_of(cases: Sequence[Case]) -> str:
    """SHA-256 over the digests of the cases, in order."""
    return hashlib.sha256("".join(f"{case.digest}\n" for case in cases).encode()).hexdigest()


def save_failure(folder: Path, record: Record, *, larger_too: bool) -> Path | None:
    """Save a failing case as the one of its operator and rule, unless one is there that is no larger.

    Args:
        folder: is made if it is not there.
        record: of the failure.
        larger_too: replace the one that is there also by a larger one, because it does not fail any more.

    Returns:
        The file, or None where the one that is there was left.

    Raises:
        OSError: it cannot be written.
    """
    path, content = folder / file_name(record.operator, record.rule), case_file(record)
    folder.mkdir(parents=True, exist_ok=True)
    if not larger_too and path.exists() and path.stat().st_size <= len(content):
        return None
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    partial.write_bytes(content)
    partial.replace(path)  # whole or not at all, whatever other processes do
    return path
