"""Edits that spoil a valid file: of bytes, of lines, and of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from hypothesis import strategies as st

# Numbers that stand at the edges of what programs count with.
_EDGES = tuple(
    number.to_bytes(size, order, signed=number < 0)
    for size in (1, 2, 4, 8)
    for number in (0, 1, -1, 1 << 8 * size - 2, (1 << 8 * size - 1) - 1, -(1 << 8 * size - 1))
    for order in ("little", "big")
)
_ANY_TOKENS = (
    b"\0",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\x1b[2J",
    "\u202e".encode(),
    b"\r",
    b"\n",
    b"\xef\xbb\xbf",
)
_COUNTS = st.sampled_from([2, 10, 300, 5_000, 100_000])
_MOST_ITEMS = 200_000  # of JSON, that repeating makes
_MOST = 24 << 20  # bytes that an edit makes of a file; more than any command reads of JSON

places = st.integers(0, 1 << 30)  # taken modulo what there is
few = st.integers(1, 4)


def bytes_edited(draw: st.DrawFn, content: bytes, tokens: Sequence[bytes] = ()) -> bytes:
    """Content with one to four edits that know nothing of its form but the tokens that matter in it."""
    pieces = st.sampled_from([*tokens, *_ANY_TOKENS, *_EDGES])
    for _ in range(draw(few)):
        how = draw(st.sampled_from(["flip", "write", "insert", "lose", "double", "end", "move", "repeat"]))
        at = draw(places) % (len(content) + 1)
        length = draw(st.sampled_from([1, 2, 4, 16, 100, 4096]))
        before, part, after = content[:at], content[at : at + length], content[at + length :]
        match how:
            case "flip" if part:
                content = before + bytes([part[0] ^ 1 << draw(st.integers(0, 7))]) + part[1:] + after
            case "write":
                piece = draw(pieces)
                content = before + piece + content[at + len(piece) :]
            case "insert":
                content = before + draw(pieces) + part + after
            case "lose":
                content = before + after
            case "double":
                content = before + part + part + after
            case "end":
                content = before
            case "move":
                rest = before + after
                to = draw(places) % (len(rest) + 1)
                content = rest[:to] + part + rest[to:]
            case "repeat":
                content = before + _repeated(draw(st.one_of(pieces, st.just(part))), draw(_COUNTS)) + after
    return content


def text_edited(draw: st.DrawFn, text: str, tokens: Sequence[str] = ()) -> bytes:
    """The same for text, by lines as well as by characters."""
    for _ in range(draw(few)):
        lines = text.splitlines(keepends=True) or [""]
        at, other = draw(places) % len(lines), draw(places) % len(lines)
        how = draw(st.sampled_from(["lose", "double", "swap", "repeat", "token", "tokens", "characters"]))
        match how:
            case "lose":
                del lines[at]
            case "double":
                lines.insert(other, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "repeat":
                lines[at] *= min(draw(_COUNTS), _MOST // (len(lines[at]) + 1))
            case "token" | "tokens" if tokens:
                count = draw(_COUNTS) if how == "tokens" else 1
                column = draw(places) % (len(lines[at]) + 1)
                token = draw(st.sampled_from(tokens))
                token *= min(count, _MOST // len(token.encode()))
                lines[at] = lines[at][:column] + token + lines[at][column + draw(st.sampled_from([0, 1, 30])) :]
            case _:
                return bytes_edited(draw, "".join(lines).encode(), [token.encode() for token in tokens])
        text = "".join(lines)
    return text.encode()


def _repeated(piece: bytes, count: int) -> bytes:
    return piece * min(count, _MOST // max(len(piece), 1))


# --- JSON ---------------------------------------------------------------------------------------------------------


class Raw(NamedTuple):
    """Text that stands in JSON as it is."""

    text: str


class Members(list[tuple[str, Any]]):
    """An object of JSON, in which a name can stand twice."""


_HOSTILE_TEXTS = (
    "",
    "x" * 5_000,
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x00",
    "\x1b[2J\x07",
    "\u202egnp.exe",
    "\ud800",
    "\ufffe]]>",
    "=cmd|'/c calc'!A0",
    "../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "%s%n{0}{x.__class__}${x}",
    "'; DROP TABLE record; --",
    "__import__('os').system('true')",
    "1",
    "(a+)+$",
    "*" * 60 + "x",
)
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    [],
    Members(),
    *(Raw(number) for number in ("0", "-1", "-0", "1.5", "1e999", "-1e999", "1e-400", "NaN", "Infinity", "0x10", "01")),
    *(1 << bits for bits in (31, 32, 53, 63, 64, 200)),
    *((1 << bits) - 1 for bits in (31, 32, 63, 64)),
    -(1 << 63),
    Raw("9" * 5_000),
    *_HOSTILE_TEXTS,
    *(Raw(text) for text in ("", "'x'", "//", "/*", '"\\x"', '"\\ud800"', '"\\u0000"', '"', "]", "}", "[1,]")),
    *(Raw("[" * depth + "]" * depth) for depth in (8, 60, 900, 20_000, 200_000)),
    *(Raw('{"a":' * depth + "1" + "}" * depth) for depth in (60, 900, 20_000)),
    *(Raw(f"[{','.join([item] * count)}]") for item in ("0", "1", "[]", '""') for count in (9, 300, 100_000)),
    Raw("[" + ",".join(["{}"] * 2_000_000) + "]"),
)


def parsed(content: bytes | str) -> Any:
    """JSON whose objects are `Members`."""
    return json.loads(content, object_pairs_hook=Members)


def written(value: Any) -> bytes:
    """Such a value as JSON; lone surrogates are left to be what no reader of UTF-8 takes."""
    return "".join(_pieces(value)).encode("utf-8", "surrogatepass")


def _pieces(value: Any) -> Iterator[str]:
    match value:
        case Raw():
            yield value.text
        case Members():
            yield "{"
            for n, (name, member) in enumerate(value):
                yield f"{',' * bool(n)}{json.dumps(name, ensure_ascii=False)}:"
                yield from _pieces(member)
            yield "}"
        case list():
            yield "["
            for n, item in enumerate(value):
                yield "," * bool(n)
                yield from _pieces(item)
            yield "]"
        case _:
            yield json.dumps(value, ensure_ascii=False)


def _slots(value: Any) -> list[tuple[Any, int]]:
    """Every place in a value where another one stands: the list or object, and the index in it."""
    found = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list):
            found += [(inner, n) for n in range(len(inner))]
            waiting += [item[1] if isinstance(inner, Members) else item for item in inner]
    return found


def json_edited(draw: st.DrawFn, value: Any, names: Sequence[str] = ()) -> Any:
    """A value as `parsed` gives it, with one to three edits that know its tree.

    Args:
        draw: of Hypothesis.
        value: is not changed itself.
        names: that members may get.
    """
    root = [_copied(value)]
    for _ in range(draw(st.integers(1, 3))):
        slots = _slots(root)
        holder, n = slots[draw(places) % len(slots)]
        other, m = slots[draw(places) % len(slots)]
        match draw(
            st.sampled_from(["replace", "replace", "replace", "lose", "double", "name", "copy", "repeat", "add"])
        ):
            case "replace":
                _put(holder, n, draw(st.sampled_from(HOSTILE_VALUES)))
            case "lose" if holder is not root:
                del holder[n]
            case "double" if holder is not root:
                holder.insert(n, holder[n])
            case "name" if isinstance(holder, Members):
                holder[n] = draw(st.sampled_from([*names, *_HOSTILE_TEXTS])), holder[n][1]
            case "copy":
                _put(holder, n, _copied(_taken(other, m)))
            case "repeat" if holder is not root and not isinstance(holder, Members):
                most = 1 + _MOST_ITEMS // len(_slots([holder[n]]))
                holder[n : n + 1] = [holder[n]] * min(draw(_COUNTS), most)
            case "add" if isinstance(holder, Members):
                name = draw(st.sampled_from([*names, *_HOSTILE_TEXTS]))
                holder.append((name, draw(st.sampled_from(HOSTILE_VALUES))))
    return root[0]


def _taken(holder: Any, n: int) -> Any:
    return holder[n][1] if isinstance(holder, Members) else holder[n]


def _put(holder: Any, n: int, value: Any) -> None:
    holder[n] = (holder[n][0], value) if isinstance(holder, Members) else value


def _copied(value: Any) -> Any:
    if isinstance(value, Members):
        return Members((name, _copied(member)) for name, member in value)
    return [_copied(item) for item in value] if isinstance(value, list) else value


def json_file(draw: st.DrawFn, content: bytes, names: Sequence[str] = ()) -> bytes:
    """A JSON file edited as a tree, unless it has been spoiled before, as bytes, or both."""
    how = draw(st.sampled_from(["tree", "tree", "tree", "bytes", "both"]))
    if how != "bytes":
        with suppress(ValueError, RecursionError):
            content = written(json_edited(draw, parsed(content), names))
    if how != "tree":
        content = bytes_edited(draw, content, _JSON_TOKENS)
    return content[:_MOST]


_JSON_TOKENS = (b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"null", b"e", b"-", b"//", b"/*", b'":{"')
