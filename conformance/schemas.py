"""All published JSON schemas: those of `reports.schemas`, of the errata document and of `check-page`.

`python -m conformance.schemas FOLDER` writes them; those in `docs/schemas` are made so, and a test holds them to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from dml_conformance.conformance.errata_document import Document
from dml_conformance.conformance.page_report import CheckedPages
from dml_conformance.conformance.verify import Verification
from dml_conformance.conformance.waivers import WaiversFile
from dml_conformance.reports import schemas
from dml_conformance.reports.package.forms import CaseList, Manifest, Stated, Statement, WaiverList
from dml_conformance.reports.schemas import Schema, of_types


def errata_schema() -> Schema:
    """Of `spec errata --format json`; fields at their default may be missing."""
    return of_types("urn:dml-conformance:errata:1", "Document", Document)


def checked_pages_schema() -> Schema:
    """Of `spec check-page --format json`; fields at their default may be missing."""
    return of_types("urn:dml-conformance:checked-pages:1", "CheckedPages", CheckedPages)


def _of_package(name: str, title: str, kind: type[msgspec.Struct]) -> dict[str, Callable[[], Schema]]:
    return {f"{name}.schema.json": lambda: of_types(f"urn:dml-conformance:{name}:1", title, kind)}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    **schemas.SCHEMAS,
    "errata.schema.json": errata_schema,
    "checked-pages.schema.json": checked_pages_schema,
    # A package's files, what people write for one, and what verifying it came to.
    **_of_package("statement", "Statement", Statement),
    **_of_package("case-list", "CaseList", CaseList),
    **_of_package("waivers", "WaiverList", WaiverList),
    **_of_package("manifest", "Manifest", Manifest),
    **_of_package("statement-file", "Stated", Stated),
    **_of_package("waivers-file", "WaiversFile", WaiversFile),
    **_of_package("verification", "Verification", Verification),
}


def published(name: str) -> bytes:
    """The content of one of the published files."""
    return msgspec.json.format(msgspec.json.encode(SCHEMAS[name]()), indent=2) + b"\n"


def main(folder: str) -> None:
    """Write the published files into a folder."""
    for name in SCHEMAS:
        Path(folder, name).write_bytes(published(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
