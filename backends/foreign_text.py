"""Text from outside (a device's name, a backend's own words, what a file says) made fit to be shown.

Whatever is shown on one line, on a terminal or in a file, goes through `one_line`; what may have several, as in the
pages, through `printable`, on which that stands.
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import PurePath
from typing import TypeVar

MOST_FRAMES = 3  # of an exception
_INSTALLED = (*map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), "<")
_CALLERS = ("dml_conformance.conformance.", "dml_conformance.backends.processes.")

_T = TypeVar("_T")

# C0 and C1 controls but tab and line feed; what ends a line, reorders text or is not seen on screen; surrogates and
# non-characters. The first would steer a terminal, the second show something else than what is there, the last are no
# XML and no UTF-8. The page's script has the same (templates/script/elements.js).
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_BREAKS = re.compile("[\t\n\v\f\r]+")


def printable(text: str) -> str:
    """The text with every character that must not reach a screen or a file written out: `\\x1b`, `\\u202e`."""
    return UNPRINTABLE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def encodable(value: _T) -> _T:
    """The value with lone surrogates, which no UTF-8 can hold, written out in every text that it is made of."""
    if isinstance(value, str):
        return type(value)(value.encode("utf-8", "backslashreplace").decode())
    if isinstance(value, dict):
        return type(value)((encodable(name), encodable(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return type(value)(encodable(item) for item in value)
    return value


def one_line(text: str, most: int | None = None) -> str:
    """The text printable, on one line, and cut to `most` characters if there is a limit.

    Spaces stay as they are but at both ends and where a line ended, so that a line that is copied is the same line.
    """
    line = printable(" ".join(filter(None, (part.strip() for part in _BREAKS.split(text)))))
    return line if most is None or len(line) <= most else line[: most - 1] + "…"


def place_of(error: BaseException) -> str:
    """Where in a backend's own files an exception was raised, the innermost place first: `, at mine.py:15 (execute)`.

    "" where none of its frames is of a file that is neither installed nor of what calls backends here. Of an exception
    that was raised in another process, what was told there.
    """
    told = getattr(error, "raised_at", None)
    if isinstance(told, str):
        return told
    frames = ((frame.f_code, frame.f_globals, line) for frame, line in traceback.walk_tb(error.__traceback__))
    own = [
        f"{PurePath(code.co_filename).name}:{line} ({code.co_name})"
        for code, names, line in frames
        if not code.co_filename.startswith(_INSTALLED) and not str(names.get("__name__")).startswith(_CALLERS)
    ]
    return encodable(f", at {', '.join(own[: -MOST_FRAMES - 1 : -1])}") if own else ""
