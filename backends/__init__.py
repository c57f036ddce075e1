"""Who is tested: the Backend protocol, the loader, and the backends that come with this project."""

from __future__ import annotations

from dml_conformance.backends.loading import BackendError, known_backends, load_backend

__all__ = ["BackendError", "known_backends", "load_backend"]
