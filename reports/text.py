"""Text from outside (a device's name, a backend's own words) made fit to be shown."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# C0 and C1 controls but tab and line feed; what reorders text on screen; surrogates and non-characters. The first
# would steer a terminal, the second show something else than what is there, the last are no XML and no UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text with every character that must not reach a screen or a file written out: `\\x1b`, `\\u202e`."""
    return _UNPRINTABLE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str, most: int) -> str:
    """The text printable, on one line, and cut to `most` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def pretty_json(value: Any, width: int = 88, indent: int = 0) -> str:
    """JSON for people: whatever fits on a line is on one line, so that sizes and strides stay together."""
    flat = _flat(value)
    if len(flat) + indent <= width or not isinstance(value, dict | list) or not value:
        return flat
    pad, end = " " * (indent + 2), " " * indent
    if isinstance(value, dict):
        parts = []
        for name, item in value.items():
            label = f"{_flat(name)}: "
            parts.append(pad + label + pretty_json(item, width - len(label), indent + 2))
        return "{\n" + ",\n".join(parts) + f"\n{end}}}"
    return "[\n" + ",\n".join(pad + pretty_json(item, width, indent + 2) for item in value) + f"\n{end}]"


def _flat(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
