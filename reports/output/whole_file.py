"""A file that is there whole or not at all, and never in the place of something else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dml_conformance.reports.output.folder import OutputError, opened_anew, writes_to


def checked_target(path: Path, *, replace: bool, signatures: tuple[bytes, ...], kind: str) -> Path:
    """The file that a path names, behind links.

    Args:
        path: as it was given.
        replace: whether a file that is there may be replaced.
        signatures: how a file begins that may be, in either case of letters. A path mistyped must not cost anyone
            their files.
        kind: what such a file is called in a message.

    Raises:
        OutputError: something is there that is not to be replaced, or cannot be read.
    """
    try:
        target = path.resolve()
        if not target.exists():
            return target
        if target.is_dir():
            raise OutputError(f"{path}: is a folder; name a file in it")
        if not replace:
            raise OutputError(f"{path}: exists; name another file, or replace it (--replace)")
        with target.open("rb") as file:
            start = file.read(max(map(len, signatures))).lower()
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        raise OutputError(f"{path}: cannot be read: {error}") from error
    if not start.startswith(tuple(signature.lower() for signature in signatures)):
        raise OutputError(f"{path}: is no {kind}; it is not replaced")
    return target


@contextmanager
def whole_file(path: Path, *, replace: bool, signatures: tuple[bytes, ...], kind: str) -> Iterator[BinaryIO]:
    """A file that appears under its name when all of it is written: until then it is a hidden sibling.

    Args:
        path: of the file; its parents are made.
        replace, signatures, kind: as `checked_target` takes them.

    Raises:
        OutputError: as `checked_target`, before and after it is written, or it cannot be written.
    """
    target = checked_target(path, replace=replace, signatures=signatures, kind=kind)
    partial = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    with writes_to(path, OutputError):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with opened_anew(partial) as file:
                yield file
            # Something may have come there in the meantime.
            checked_target(path, replace=replace, signatures=signatures, kind=kind)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
