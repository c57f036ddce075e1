"""The environment that templates are rendered in: a name that is not given is an error, and blocks leave no lines."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined

from dml_conformance.backends.foreign_text import one_line
from dml_conformance.reports.model.text import (
    claims_text,
    count_of,
    duration,
    executed_texts,
    figure,
    level_ranges,
    of_deviation,
    part_of_bound,
    share_of_copy,
)


def environment(package: str, **options: Any) -> Environment:
    """Of the templates in a package's folder `templates`; options as Jinja's `Environment` takes them."""
    found = Environment(  # noqa: S701 - pages ask for it; nothing else is HTML
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
        **options,
    )
    found.filters.update(
        count="{:,}".format,
        plural=count_of,
        duration=duration,
        claims=claims_text,
        executed=executed_texts,
        figure=figure,
        one_line=one_line,
        of_deviation=of_deviation,
        part_of_bound=part_of_bound,
        ranges=level_ranges,
        share=lambda part, whole: f"{100 * part // max(1, whole)} %",
        share_of_copy=share_of_copy,
    )
    return found


def _compiled() -> FileSystemBytecodeCache | None:
    """Compiled templates in a temporary folder of the user, as compiling takes 0.3 s; None where none is safe."""
    with suppress(RuntimeError, OSError):
        return FileSystemBytecodeCache()
    return None
