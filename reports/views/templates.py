"""The environment that templates are rendered in: a name that is not given is an error, and blocks leave no lines."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined


def environment(package: str, **options: Any) -> Environment:
    """Of the templates in a package's folder `templates`; options as Jinja's `Environment` takes them."""
    return Environment(  # noqa: S701 - pages ask for it; nothing else is HTML
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
        **options,
    )


def _compiled() -> FileSystemBytecodeCache | None:
    """Compiled templates in a temporary folder of the user, as compiling takes 0.3 s; None where none is safe."""
    with suppress(RuntimeError, OSError):
        return FileSystemBytecodeCache()
    return None
