"""Descriptors that a command line names: files of them, as `check` takes them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dml_conformance.spec.model_files import MAX_BYTES, ModelError, ModelFile, read_model


def name_of(file: str) -> str:
    """What a file is called in messages; `-` is standard input."""
    return "standard input" if file == "-" else click.format_filename(file)


def read_operators(file: str) -> ModelFile:
    """Read a file's descriptors; `-` is standard input.

    Raises:
        ModelError: it cannot be read, or has no operator known here.
    """
    name = name_of(file)
    model = read_model(_read(file, name), name)
    if not model.operators:
        kinds = ", ".join(sorted({skipped.type for skipped in model.skipped})) or "nothing at all"
        raise ModelError(
            name, "", f"has no operator known here, only {kinds}; `dml-conformance operators` lists those of DirectML.h"
        )
    return model


def _read(file: str, name: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(name, "", f"cannot be read: {error.strerror}") from None
