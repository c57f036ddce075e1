"""The certification package: the files that it is made of, their forms, and the archive that holds them.

`conformance.packages` makes packages and verifies them. Here stands what both need to agree on.
"""

from __future__ import annotations

from dml_conformance.reports.output.folder import CERTIFICATE, JUNIT, REPORT, RESULTS
from dml_conformance.spec.errors import BadInputError

STATEMENT, CASES, WAIVERS = "statement.json", "cases.json", "waivers.json"
MANIFEST, SIGNATURE = "manifest.json", "signature.dsse.json"

# What the manifest lists, each of them in every package.
LISTED = tuple(sorted((CERTIFICATE, RESULTS, JUNIT, REPORT, STATEMENT, CASES, WAIVERS)))
# All that a package may hold; the signature may be missing.
PACKAGE_FILES = (*LISTED, MANIFEST, SIGNATURE)
SUFFIX = ".tar.zst"

_MIB = 1 << 20
# The most that a file may have, in bytes. JSON is read whole, so it has to be small.
MOST_BYTES = {
    RESULTS: 16 << 30,
    JUNIT: 512 * _MIB,
    REPORT: 512 * _MIB,
    CERTIFICATE: 64 * _MIB,
    STATEMENT: _MIB,
    CASES: _MIB,
    WAIVERS: 4 * _MIB,
    MANIFEST: _MIB,
    SIGNATURE: 4 * _MIB,
}


class PackageError(BadInputError, ValueError):
    """Something that is no package, or that could do harm; the message says what, and what was expected."""


class PackageFormError(ValueError):
    """A file of a package whose content has not the form that it should have; the message names the field."""
