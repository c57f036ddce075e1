"""What must stay the same in every language: names, numbers, intervals and lists within a text.

A text is taken apart from the surest to the least sure: first intervals (`[0, InputTensor.DimensionCount)`), then lists
in braces (`{1,4,6}`), then names, then what numbers remain. Full-width forms are read as plain ones throughout
(Unicode NFKC), and emphasis marks that stand inside code are taken for what they are meant to be.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import msgspec

from dml_conformance.documents.read.model import Interval
from dml_conformance.documents.read.ranges import intervals_in
from dml_conformance.spec.forms import TENSOR_FIELDS

# `Type` and `Flags` are plain words too; the others are names wherever they are emphasised or set as code.
TENSOR_PROPERTIES = frozenset(TENSOR_FIELDS) - {"Type", "Flags"}
C_TYPES = frozenset({"UINT", "UINT64", "INT", "FLOAT", "DOUBLE", "BOOL", "BYTE"})
LEVEL_NAME = re.compile(r"DML_FEATURE_LEVEL_\d+_\d+")

_NAME = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
# Katakana ends where another script begins: particles are written without a space.
_WORD = re.compile(r"[\u30a1-\u30fa\u30fc]+|[^\W_\u30a1-\u30fa\u30fc][^\W\u30a1-\u30fa\u30fc]*")
_LIST = re.compile(r"\{[^{}]*\}")
_INTEGER = re.compile(r"[0-9]+")
_NEGATIVE = re.compile(r"(?<![A-Za-z0-9_)\]}])[-−–]([0-9]+)")
_GROUPED = re.compile(r"(?<![0-9])[0-9]{1,3}(?:[.,'\u00a0\u202f ][0-9]{3})+(?![0-9])")
_EMPHASIS_IN_CODE = re.compile(r"\*([A-Za-z_][\w.]*)\*")
_FILE_NAME = re.compile(r"[A-Za-z]\w*\.(?:h|hpp|dll|lib|exe|md)")

# Scientific romanisation of the letters that machine translation into Russian writes names in.
_CYRILLIC_LETTERS = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
_SOUNDS = "a,b,v,g,d,e,e,zh,z,i,y,k,l,m,n,o,p,r,s,t,u,f,h,c,ch,sh,sch,,y,,e,yu,ya"
_CYRILLIC = dict(zip(_CYRILLIC_LETTERS, _SOUNDS.split(","), strict=True))
_LONGEST_NAME = 60
ALIKE = 0.75  # how alike a romanised word and a name must be; 1 is the same


class Parts(NamedTuple):
    """A text taken apart, each kind in the order of the text.

    Attributes:
        lists: in braces, without white space.
        names: runs of Latin letters, digits and underscores, joined by dots: plain English words too.
        numbers: digits that belong to none of the others; a sign between them is left out, because which sign
            separates thousands or decimals is a matter of language: 1.4 and 1,4 are both `1`, `4`.
        joined: the same with groups of thousands joined: 10,000 and 10 000 are `10000`.
        negative: numbers with a minus.
        text: the plain text without intervals and lists.
    """

    intervals: tuple[Interval, ...]
    lists: tuple[str, ...]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    joined: tuple[str, ...]
    negative: tuple[str, ...]
    text: str


def plain(text: str) -> str:
    """The text in plain forms: full-width letters, digits and brackets as ASCII, no emphasis marks inside code."""
    return _EMPHASIS_IN_CODE.sub(r"\1", unicodedata.normalize("NFKC", text)).replace("`", "")


def compact(text: str) -> str:
    """The plain text without white space, for comparing code."""
    return "".join(plain(text).split()).replace("、", ",")


def take_apart(text: str, without: Iterable[str] = ()) -> Parts:
    """The parts of a text.

    Args:
        without: pieces that are left out, as they stand in the plain text.
    """
    rest = plain(text)
    for piece in without:
        rest = rest.replace(piece, " ", 1)
    intervals = []
    for interval, start, end in reversed(list(intervals_in(rest))):
        rest = f"{rest[:start]} {rest[end:]}"
        intervals.append(msgspec.structs.replace(interval, low=compact(interval.low), high=compact(interval.high)))
    lists = tuple(compact(found) for found in _LIST.findall(rest))
    rest = text_without = _LIST.sub(" ", rest)
    names = tuple(_NAME.findall(rest))
    rest = _NAME.sub(" ", rest)
    joined = _GROUPED.sub(lambda match: "".join(_INTEGER.findall(match[0])), rest)
    return Parts(
        tuple(reversed(intervals)),
        lists,
        names,
        tuple(_INTEGER.findall(rest)),
        tuple(_INTEGER.findall(joined)),
        tuple(_NEGATIVE.findall(rest)),
        text_without,
    )


def names_in(text: str) -> list[str]:
    """The runs of Latin letters, digits and underscores, joined by dots, of a plain text."""
    return _NAME.findall(text)


def is_shaped(name: str) -> bool:
    """Whether no plain word looks like it: `InputTensor`, `DML_TENSOR_DESC`, `UINT32`, `directml.h`, `UINT`."""
    if _FILE_NAME.fullmatch(name):
        return True
    return any(
        "_" in part.strip("_") or re.search(r"[a-z][A-Z]", part) or re.fullmatch(r"[A-Z]{3,}[0-9]+", part)
        for part in name.split(".")
    ) or (name in C_TYPES)


def is_firm(name: str, known: frozenset[str]) -> bool:
    """Whether it must be kept even where it is not emphasised: any shaped name except a bare `DirectML`, which is a
    product's name and may be written as the language writes it."""
    if not is_shaped(name):
        return False
    return name in known or "." in name or "_" in name or name in C_TYPES or bool(re.search(r"[0-9]", name))


def romanised(text: str) -> str:
    """The text in lower-case Latin letters, as far as its script has sounds: Cyrillic, kana, Hangul.

    What has none (Han characters) is left out, so that a translated word resembles nothing.
    """
    return "".join(_romanised(letter) for letter in unicodedata.normalize("NFKC", text).casefold())


def _romanised(letter: str) -> str:
    if letter in _CYRILLIC:
        return _CYRILLIC[letter]
    if letter in "っッ":
        return ""  # a pause before the next consonant
    decomposed = unicodedata.normalize("NFKD", letter)
    if decomposed[0].isascii():
        return decomposed[0] if decomposed[0].isalnum() else ""
    name = unicodedata.name(letter, "")
    kana = re.fullmatch(r"(?:HIRAGANA|KATAKANA) LETTER (?:SMALL )?(\w+)", name)
    hangul = re.fullmatch(r"HANGUL SYLLABLE (\w+)", name)
    sound = kana or hangul
    return sound[1].lower() if sound else ""


@lru_cache(maxsize=1 << 14)  # the same few words and names stand all over a page
def likeness(word: str, name: str) -> float:
    """How far a word is the name in other letters: 1 for `uint` and `UINT`; for a word in another script how far it
    sounds like the name, as `инпуттенсор` like `InputTensor`; 0 where that is less than `ALIKE`."""
    if word.isascii():
        return float(word.lower() == name.lower())
    sound, wanted = romanised(word), romanised(name)
    if not sound or len(wanted) < 3:
        return 0.0
    ratio = SequenceMatcher(None, sound, wanted, autojunk=False).ratio()
    return ratio if ratio >= ALIKE else 0.0


@lru_cache(maxsize=1 << 14)
def name_meant(word: str, known: tuple[str, ...], alike: float) -> str:
    """The known name that a word almost is; "" for one that is known, that is like none, or too long for a name."""
    is_none = word in known or len(word) > _LONGEST_NAME
    return "" if is_none else next(iter(get_close_matches(word, known, 1, alike)), "")


def dotted_runs(text: str, length: int) -> Iterable[tuple[tuple[str, ...], str]]:
    """Words of any script in a row with nothing between them but a full stop of any script and white space.

    Yields:
        the words, `length` of them, and the run as it stands: (`инпуттенсор`, `DimensionCount`) and
        `инпуттенсор. DimensionCount`.
    """
    words = [(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
    for start in range(len(words) - length + 1):
        run = words[start : start + length]
        gaps = (text[left[2] : right[1]] for left, right in pairwise(run))
        if all(re.fullmatch(r"\s*[.。・·]\s*", gap) for gap in gaps):
            yield tuple(word for word, _, _ in run), text[run[0][1] : run[-1][2]]
