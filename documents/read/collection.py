"""Page models together in one file, as `spec import` writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from dml_conformance.documents.read.model import FORMAT, Page


class PageCollection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several pages.

    Attributes:
        format: 1; raised when something in it changes meaning.
        pages: in the order in which they were asked for.
    """

    format: int
    pages: tuple[Page, ...]

    @classmethod
    def of(cls, pages: tuple[Page, ...]) -> PageCollection:
        return cls(FORMAT, pages)

    def to_json(self) -> bytes:
        """Indented JSON, the same for the same pages."""
        plain = _with_values(msgspec.to_builtins(self), _in_words)
        return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> PageCollection:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else; the message says where it differs.
        """
        read = msgspec.convert(_with_values(msgspec.json.decode(text), _out_of_words), cls)
        if read.format != FORMAT:
            raise ValueError(f"expected format {FORMAT}, found {read.format} - `$.format`")
        return read


# What JSON has no number for. No name is written like this: it is read as the number.
_NOT_FINITE = {str(number): number for number in (math.inf, -math.inf, math.nan)}


def _in_words(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _out_of_words(value: Any) -> Any:
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _with_values(node: Any, change: Callable[[Any], Any], *, is_value: bool = False) -> Any:
    """JSON with every value, or element of a value, that a page prints changed."""
    if isinstance(node, list | tuple):
        return [_with_values(item, change, is_value=is_value) for item in node]
    if isinstance(node, dict):
        return {name: _with_values(item, change, is_value=name == "value") for name, item in node.items()}
    return change(node) if is_value else node
