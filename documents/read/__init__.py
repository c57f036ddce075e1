"""Reads the documents of the specification: Markdown or text, in any language, into page models."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from dml_conformance.documents.read.assemble import assemble
from dml_conformance.documents.read.markdown import form_of, read_markdown
from dml_conformance.documents.read.model import Form, Page, PageError
from dml_conformance.documents.read.plain import read_plain
from dml_conformance.documents.read.source import MAX_BYTES, decode, read_bytes

__all__ = ["MAX_BYTES", "Form", "Page", "PageError", "parse_page", "read_page"]


def read_page(path: Path) -> Page:
    """The page in a file.

    Raises:
        PageError: no regular file, too large, not text, or not a page on an operator; the message says what to do.
    """
    return parse_page(read_bytes(path), str(path))


def parse_page(data: bytes, path: str) -> Page:
    """The page in these bytes; `path` is what messages and the page call it.

    What is broken in parts still gives a page, with `problems`.

    Raises:
        PageError: too large, not text, or not a page on an operator.
    """
    document = decode(data, path)
    form = form_of(document.text)
    contents = read_markdown(document) if form is Form.MARKDOWN else read_plain(document)
    return assemble(contents, document, form, path, sha256(data).hexdigest())
