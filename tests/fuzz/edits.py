"""Edits that spoil a valid file: of bytes, of lines, and of JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

# Numbers that stand at the edges of what programs count with, and what is no text or acts on a terminal.
_PIECES = (
    *(number.to_bytes(size, "little", signed=number < 0) for size in (1, 2, 4, 8) for number in (0, 1, -1)),
    *(((1 << 8 * size - 1) - 1).to_bytes(size, order) for size in (1, 2, 4, 8) for order in ("little", "big")),
    *(b"\xc3\x28", b"\xed\xa0\x80", b"\x1b[2J", "\u202e".encode(), b"\r", b"\n", b"\xef\xbb\xbf"),
)
_COUNTS = st.sampled_from([2, 10, 300, 5_000, 100_000])
_MOST_ITEMS = 200_000  # of JSON, that repeating makes
_MOST = 24 << 20  # bytes that an edit makes of a file; more than any command reads of JSON

places = st.integers(0, 1 << 30)  # taken modulo what there is


def bytes_edited(draw: st.DrawFn, content: bytes, tokens: Sequence[bytes] = ()) -> bytes:
    """Content with one to four edits that know nothing of its form but the tokens that matter in it."""
    pieces = st.sampled_from([*tokens, *_PIECES])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(places) % (len(content) + 1)
        length = draw(st.sampled_from([1, 2, 4, 16, 100, 4096]))
        before, part, after = content[:at], content[at : at + length], content[at + length :]
        match draw(st.sampled_from(["flip", "write", "insert", "lose", "double", "end", "repeat"])):
            case "flip" if part:
                part = bytes([part[0] ^ 1 << draw(st.integers(0, 7))]) + part[1:]
            case "write":
                piece = draw(pieces)
                part, after = piece, content[at + len(piece) :]
            case "insert":
                part = draw(pieces) + part
            case "lose":
                part = b""
            case "double":
                part += part
            case "end":
                part = after = b""
            case "repeat":
                piece = draw(st.one_of(pieces, st.just(part)))
                part = piece * min(draw(_COUNTS), _MOST // max(len(piece), 1))
        content = before + part + after
    return content


def text_edited(draw: st.DrawFn, text: str, tokens: Sequence[str] = ()) -> bytes:
    """The same for text, by lines as well as by characters."""
    for _ in range(draw(st.integers(1, 4))):
        lines = text.splitlines(keepends=True) or [""]
        at, other = draw(places) % len(lines), draw(places) % len(lines)
        match draw(st.sampled_from(["lose", "double", "swap", "repeat", "token", "tokens", "characters"])):
            case "lose":
                del lines[at]
            case "double":
                lines.insert(other, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "repeat":
                lines[at] *= min(draw(_COUNTS), _MOST // (len(lines[at]) + 1))
            case "token" | "tokens" as how if tokens:
                column = draw(places) % (len(lines[at]) + 1)
                token = draw(st.sampled_from(tokens))
                token *= min(draw(_COUNTS) if how == "tokens" else 1, _MOST // len(token.encode()))
                lines[at] = lines[at][:column] + token + lines[at][column + draw(st.sampled_from([0, 1, 30])) :]
            case _:
                return bytes_edited(draw, "".join(lines).encode(), [token.encode() for token in tokens])
        text = "".join(lines)
    return text.encode()


# --- JSON ---------------------------------------------------------------------------------------------------------

HOSTILE_TEXTS = (
    "",
    "x" * 5_000,
    '"><img src=x onerror=alert(1)>',
    "\x00",
    "\x1b[2J\x07",
    "\u202egnp.exe",
    "\ud800",
    "\ufffe]]>",
    "=cmd|'/c calc'!A0",
    "../../../etc/passwd",
    "/etc/passwd",
    "%s%n{0}{x.__class__}${x}",
    "'; DROP TABLE record; --",
    "__import__('os').system('true')",
    "1",
    "(a+)+$",
    "*" * 60 + "x",
)
# As they stand in a file; what is no JSON is among them.
HOSTILE_VALUES = (
    *(json.dumps(text, ensure_ascii=False) for text in HOSTILE_TEXTS),
    *("null", "true", "[]", "{}", "0", "-1", "-0", "1.5", "1e999", "-1e999", "1e-400", "NaN", "Infinity", "0x10", "01"),
    *(str(1 << bits) for bits in (31, 32, 53, 63, 64, 200)),
    *(str((1 << bits) - 1) for bits in (31, 32, 63, 64)),
    *(str(-(1 << 63)), "9" * 5_000),
    *("", "'x'", "//", "/*", '"\\x"', '"\\ud800"', '"\\u0000"', '"', "]", "}", "[1,]"),
    *("[" * depth + "]" * depth for depth in (8, 60, 900, 20_000, 200_000)),
    *('{"a":' * depth + "1" + "}" * depth for depth in (60, 900, 20_000)),
    *(f"[{','.join([item] * count)}]" for item in ("0", "1", "[]", '""') for count in (9, 300, 100_000)),
    "[" + ",".join(["{}"] * 2_000_000) + "]",
)


def _slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value where another one stands: the list or object, and the index or name in it."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        keys = list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        yield from ((inner, key) for key in keys)
        waiting += [inner[key] for key in keys]


def json_edited(draw: st.DrawFn, content: bytes | str, names: Sequence[str] = ()) -> bytes:
    """JSON with one to three edits that know its tree.

    Args:
        draw: of Hypothesis.
        content: JSON; raises ValueError or RecursionError if it is none.
        names: that members may get.
    """
    root = [json.loads(content)]
    pieces: list[str] = []

    def put(holder: Any, key: Any, piece: str) -> None:
        """Text in the place of a value, whatever text it is."""
        holder[key] = f"@piece {len(pieces)}@"
        pieces.append(piece)

    for _ in range(draw(st.integers(1, 3))):
        slots = list(_slots(root))
        (holder, key), (other, of) = slots[draw(places) % len(slots)], slots[draw(places) % len(slots)]
        match draw(st.sampled_from(["replace", "replace", "replace", "lose", "copy", "repeat", "name", "twice"])):
            case "replace":
                put(holder, key, draw(st.sampled_from(HOSTILE_VALUES)))
            case "lose" if holder is not root:
                del holder[key]
            case "copy":
                holder[key] = copy.deepcopy(other[of])
            case "repeat" if isinstance(holder, list) and holder is not root:
                most = 1 + _MOST_ITEMS // (1 + len(list(_slots([holder[key]]))))
                holder[key : key + 1] = [holder[key]] * min(draw(_COUNTS), most)
            case "name" if isinstance(holder, dict):
                holder[draw(st.sampled_from([*names, *HOSTILE_TEXTS]))] = holder.pop(key)
            case "twice" if isinstance(holder, dict):
                value = json.dumps(holder[key], ensure_ascii=False)
                put(holder, key, f"{value},{json.dumps(key, ensure_ascii=False)}:{value}")
    text = json.dumps(root[0], ensure_ascii=False, separators=(",", ":"))
    for n, piece in reversed(list(enumerate(pieces))):
        text = text.replace(f'"@piece {n}@"', piece)
    return text.encode("utf-8", "surrogatepass")


def json_file(draw: st.DrawFn, content: bytes, names: Sequence[str] = ()) -> bytes:
    """A JSON file edited as a tree, unless it has been spoiled before, as bytes, or both."""
    how = draw(st.sampled_from(["tree", "tree", "tree", "bytes", "both"]))
    if how != "bytes":
        with suppress(ValueError, RecursionError):
            content = json_edited(draw, content, names)
    if how != "tree":
        content = bytes_edited(draw, content, _JSON_TOKENS)
    return content[:_MOST]


_JSON_TOKENS = (b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"null", b"e", b"-", b"//", b"/*", b'":{"')
