"""Page models together in one file, as `spec import` writes them."""

from __future__ import annotations

import msgspec

from spec.pages.model import FORMAT, Page


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
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> PageCollection:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else; the message says where it differs.
        """
        return msgspec.json.decode(text, type=cls)
