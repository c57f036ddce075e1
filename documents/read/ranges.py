"""Intervals in running text: `[0, InputTensor.DimensionCount)`, with or without code marks, half- or full-width."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from dml_conformance.documents.read.blocks import PlacedText
from dml_conformance.documents.read.model import Interval, PrintedInterval
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.words import half_width

_BOUND = r"[^\[\](){},;=]{1,80}"
_RANGE = re.compile(rf"([\[(])\s*({_BOUND}?)\s*,\s*({_BOUND}?)\s*([\])])")
_NUMERIC = re.compile(r"[+-]?(?:\d|\.\d|inf|∞)", re.IGNORECASE)
# What stands before a list of sizes, in the languages of the pages: "of shape `[1, N]`".
_SHAPE_WORD = re.compile(
    r"\b(?:shapes?|sizes|form|forma|forme|форм\w+|kształ\w+|tvar\w*|şekil\w*|vorm)"
    r"[ \t`'\"„“”«»*_:(]*$|(?:形狀|形状|大小|모양)[ \t`:]*$",
    re.IGNORECASE,
)
_WIDE_BRACKETS = str.maketrans("【】〔〕", "[][]")
_LONGEST = 100_000
_LONGEST_WORD = 30


def intervals_in(text: str) -> Iterator[tuple[Interval, int, int]]:
    """The intervals in a text, each with its start and end; no lists of two and no remarks in brackets."""
    text = half_width(text[:_LONGEST]).translate(_WIDE_BRACKETS)
    for match in _RANGE.finditer(text):
        opening, low, high, closing = match.groups()
        before = text[: match.start()].rstrip()[-1:]
        # What follows a name indexes it; what follows an equals sign or a word for a shape is a list of two.
        indexes = bool(re.fullmatch(r"[A-Za-z0-9_\])]", text[match.start() - 1 : match.start()]))
        is_shape = (opening, closing) == ("[", "]") and _SHAPE_WORD.search(text[: match.start()][-_LONGEST_WORD:])
        is_list = is_shape or before == "=" or ((opening, closing) == ("(", ")") and not _NUMERIC.match(low))
        if not indexes and not is_list:
            interval = Interval(_bare(low), _bare(high), opening == "[", closing == "]")
            yield interval, *match.span()


def ranges_in(text: PlacedText, document: PageText) -> Iterator[PrintedInterval]:
    """The intervals in a text of a page."""
    for interval, start, _ in intervals_in(text.text):
        yield PrintedInterval(**msgspec.structs.asdict(interval), place=document.place(text.offset(start)))


def _bare(bound: str) -> str:
    """A bound without marks that stand as text, as within code."""
    return " ".join(bound.replace("*", " ").replace("`", " ").split()) if bound.strip("* `") else bound.strip()
