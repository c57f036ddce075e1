"""All published JSON schemas: those of `reports.views.schemas`, of pages and of packages.

`python -m dml_conformance.conformance.schemas FOLDER` writes them. Those in `docs/schemas` are made so; a test holds
them to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from dml_conformance.conformance.packages.verify import Verification
from dml_conformance.conformance.packages.waivers import WaiversFile
from dml_conformance.documents.check import CheckedPages
from dml_conformance.documents.errata import ErrataDocument
from dml_conformance.documents.read.collect import PageCollection
from dml_conformance.reports.package.forms import CaseList, Manifest, Stated, Statement, WaiverList
from dml_conformance.reports.views import schemas
from dml_conformance.reports.views.schemas import Schema, of_types


def _of(name: str, title: str, kind: type[msgspec.Struct]) -> dict[str, Callable[[], Schema]]:
    """Of what a command writes or reads; fields at their default may be missing."""
    return {f"{name}.schema.json": lambda: of_types(f"urn:dml-conformance:{name}:1", title, kind)}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    **schemas.SCHEMAS,
    # Of `spec import`, `spec errata` and `spec check-page`, each with `--format json`.
    **_of("pages", "PageCollection", PageCollection),
    **_of("errata", "ErrataDocument", ErrataDocument),
    **_of("checked-pages", "CheckedPages", CheckedPages),
    # A package's files, what people write for one, and what verifying it came to.
    **_of("statement", "Statement", Statement),
    **_of("case-list", "CaseList", CaseList),
    **_of("waivers", "WaiverList", WaiverList),
    **_of("manifest", "Manifest", Manifest),
    **_of("statement-file", "Stated", Stated),
    **_of("waivers-file", "WaiversFile", WaiversFile),
    **_of("verification", "Verification", Verification),
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
