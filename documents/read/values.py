"""The values printed in examples: numbers, names and nested lists of them, as the pages print them.

Lists may be in any bracket, may lack commas between rows and may end in one; `//` starts a comment.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dml_conformance.documents.read.words import half_width

_MAX_DEPTH = 16
_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?))[fF]?(?![\w.])
  | (?P<name>[+-]?[^\W\d]\w*(?:\.[^\W\d]\w*)*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_FINITE = {"inf": float("inf"), "infinity": float("inf"), "nan": float("nan")}
_OPENING = {"[": "]", "{": "}", "(": ")"}


class Token(NamedTuple):
    kind: str  # "number", "name", "other"
    text: str
    start: int
    end: int


class ValueAt(NamedTuple):
    """A value that was read: `value` is None where it cannot be, `next` is the token after it."""

    value: int | float | str | list[object] | None
    next: int


def tokens_of(code: str) -> list[Token]:
    """The tokens of a block of code, comments and white space left out."""
    return [
        Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(half_width(code))
        if match.lastgroup != "skip"
    ]


def read_value(tokens: list[Token], at: int) -> ValueAt:
    """The value that starts at token `at`; a list that is not closed ends where something starts that fits in none."""
    token = tokens[at]
    if token.text in _OPENING:
        return _read_list(tokens, at)
    return ValueAt(_atom(token), at + 1)


def _read_list(tokens: list[Token], at: int) -> ValueAt:
    stack: list[tuple[list[object], str]] = []
    readable = True
    while at < len(tokens):
        token = tokens[at]
        if token.text in _OPENING:
            stack.append(([], _OPENING[token.text]))
            readable = readable and len(stack) <= _MAX_DEPTH
        elif token.text in "]})":
            items, closing = stack.pop()
            readable = readable and token.text == closing
            if not stack:
                return ValueAt(items if readable else None, at + 1)
            if readable:
                stack[-1][0].append(items)
        elif token.kind == "name" and at + 1 < len(tokens) and tokens[at + 1].text in (":", "="):
            return ValueAt(None, at)
        elif token.text != ",":
            value = _atom(token)
            readable = readable and value is not None
            if readable:
                stack[-1][0].append(value)
        at += 1
    return ValueAt(None, at)


def _atom(token: Token) -> int | float | str | None:
    if token.kind == "name":
        sign, word = ("", token.text) if token.text[0] not in "+-" else (token.text[0], token.text[1:])
        number = _NOT_FINITE.get(word.casefold())
        if number is not None:
            return -number if sign == "-" else number
        return word if not sign else None
    if token.kind != "number":
        return None
    text = token.text
    if "x" in text.casefold():
        return int(text, 16)
    text = text.rstrip("fF")
    if text.lstrip("+-").isdigit():
        return int(text) if len(text) <= 40 else None
    return float(text)
