"""What goes wrong around the library, as opposed to what it decides."""

from __future__ import annotations

from dml_conformance.spec.errors import BadInputError


class DirectmlError(BadInputError, ValueError):
    """The library cannot be had or used here; the message is one line that says why and what to do."""


class LibraryCrash(RuntimeError):
    """The library took its process down while it decided on a descriptor; the message names the descriptor."""
