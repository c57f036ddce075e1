"""How the languages of the pages write what a reader of pages must know: headings, kinds, ranges, lists, punctuation.

The words stand in `words.json`, first in English, then as the translations have them. They are few on purpose. A page
is read by its anchors, originals and order first; a word that is missing costs a page in plain text one heading, and no
page in Markdown anything.

Source: the headings of the DirectML reference in its published languages.
"""

from __future__ import annotations

import re
from importlib import resources

import msgspec

# Full-width forms of ASCII, and their ASCII characters; one for one, so that places stay as they are.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_HALF_WIDTH |= str.maketrans("\u3000、﹐،−‐", " ,,,--")
_DASHES = str.maketrans("‑‒–—〜～~", "-------")

LEVEL = re.compile(r"(?<![A-Za-z0-9_])DML_FEATURE_LEVEL_(\d{1,3}_\d{1,3})(?![0-9])")
_TRAILING = " \t:.。："
_SENTENCE_ENDS = (".", "。", "!", "?", "！", "？", ":", "：", ";", "；", "．", "…")


def half_width(text: str) -> str:
    """The text with full-width punctuation, digits and letters as ASCII; as long as before."""
    return text.translate(_HALF_WIDTH)


def ends_sentence(text: str) -> bool:
    return text.rstrip(')）」』"” ').endswith(_SENTENCE_ENDS)


def levels_in(text: str) -> tuple[str, ...]:
    """The labels of the feature levels in a text, in order: `4_1`, also where glued to other words."""
    return tuple(match.group(1) for match in LEVEL.finditer(text))


class _WordLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `words.json` holds.

    Attributes:
        headings: of a page, by section.
        kinds: for `Input` and `Output`.
        columns: headers of tables, by what the column holds.
        type: what stands before the colon of a type line.
        range: between two bounds.
        range_openers, range_closers: before the first bound, and after the second.
        list: between items.
        frequent, letters: words of prose by language, and patterns for single letters, for a page that does not say
            what it is written in.
        anchors: that the pages give their headings, which are those of the English words, and the source form's names.
        axis: as it stands in titles of examples.
        optional, array: patterns for words beside a kind.
    """

    headings: dict[str, frozenset[str]]
    kinds: dict[str, frozenset[str]]
    columns: dict[str, frozenset[str]]
    type: frozenset[str]
    range: frozenset[str]
    range_openers: frozenset[str]
    range_closers: frozenset[str]
    list: frozenset[str]
    frequent: dict[str, frozenset[str]]
    letters: dict[str, str]
    anchors: dict[str, frozenset[str]]
    axis: frozenset[str]
    optional: tuple[str, ...]
    array: tuple[str, ...]


_WORDS = msgspec.json.decode(
    resources.files("dml_conformance.documents.read").joinpath("words.json").read_bytes(), type=_WordLists
)
TYPE_WORDS, AXIS_WORDS = _WORDS.type, _WORDS.axis

_OPTIONAL, _ARRAY = re.compile("|".join(_WORDS.optional)), re.compile("|".join(_WORDS.array))
_TOKEN = re.compile(r"\d+|\.{2,}|[^\W\d]+|[^\w\s]")
_NUMBERED = re.compile(r"\D{1,40}?(\d{1,4})\s*(?:[.:)]|$)")
_MOST_COUNTS = 64


def _any_of(groups: dict[str, frozenset[str]]) -> str:
    """A pattern for any word of these groups, the longest that fits."""
    words = {word for group in groups.values() for word in group}
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_KIND_AT_END = re.compile(
    rf"(?<=\s)(?:(?:{_OPTIONAL.pattern})\s*)?(?:{_any_of(_WORDS.kinds)})(?:\s*(?:{_OPTIONAL.pattern}))?$"
)
_COLUMN = re.compile(rf"({_any_of(_WORDS.columns)})(?:\s+|$)")


def _group_of(word: str, groups: dict[str, frozenset[str]]) -> str | None:
    return next((name for name, words in groups.items() if word in words), None)


def by_heading(text: str) -> str | None:
    """The section that a heading names in some language."""
    return _group_of(text.strip(_TRAILING).casefold(), _WORDS.headings)


def by_anchor(anchor: str) -> str | None:
    """The section that an anchor (`tensor-support`, `-struct-fields`) names."""
    return _group_of(anchor.strip().lstrip("-").casefold(), _WORDS.anchors)


def kind(text: str) -> tuple[str | None, bool, bool]:
    """What a cell calls a tensor in any language: `Input`, `Output` or None; whether optional; whether an array."""
    folded = half_width(text).casefold()
    bare = _OPTIONAL.sub("", folded).strip(_TRAILING)
    named = _group_of(bare, _WORDS.kinds)
    is_optional, is_array = (pattern.search(folded) is not None for pattern in (_OPTIONAL, _ARRAY))
    if named is None and (is_optional or is_array):
        within = [name for name, words in _WORDS.kinds.items() if any(word in bare for word in words)]
        named = within[0] if len(within) == 1 else None
    return named, is_optional, is_array


def without_index(label: str) -> str:
    """`InputTensors` of `InputTensors[0]`."""
    return label.partition("[")[0]


def kind_at_end(text: str) -> int | None:
    """Where a kind's words start that end the text, after another word; None where none do."""
    folded = half_width(text).casefold().rstrip()
    match = _KIND_AT_END.search(folded) if len(folded) == len(text.rstrip()) else None
    return None if match is None else match.start()


def column(text: str) -> str | None:
    """What a column holds by its header."""
    return _group_of(half_width(text).strip(_TRAILING).casefold(), _WORDS.columns)


def columns_in(text: str) -> list[tuple[int, int, str]]:
    """Headers of columns run together in one line: start, end and what each holds, where every one is known."""
    folded = text.casefold()
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(folded) == len(text):
        match = _COLUMN.match(folded, at)
        if match is None:
            return []
        found.append((*match.span(1), column(match[1]) or ""))
        at = match.end()
    return found


def numbers(text: str) -> tuple[int, ...] | None:
    """The numbers that a cell names: `4`, `1 to 8`, `1至8`, `Da 1 a 8`, `1, 2 and 4`; None where it is not clear."""
    tokens = _TOKEN.findall(half_width(text).translate(_DASHES).casefold())
    if len(tokens) > 3:
        tokens = tokens[tokens[0] in _WORDS.range_openers : len(tokens) - (tokens[-1] in _WORDS.range_closers)]
    if len(tokens) % 2 == 0 or any(not token.isdigit() or len(token) > 4 for token in tokens[::2]):
        return None
    bounds = [int(token) for token in tokens[::2]]
    counts = bounds[:1]
    for bound, separator in zip(bounds[1:], tokens[1::2], strict=True):
        if bound <= counts[-1] or bound - counts[-1] > _MOST_COUNTS:
            return None
        if separator in _WORDS.range:
            counts += range(counts[-1] + 1, bound + 1)
        elif separator in _WORDS.list:
            counts.append(bound)
        else:
            return None
    return tuple(counts)


def numbers_start(text: str) -> int:
    """Where the wording of numbers starts whose first digit is at the end of `text`: before a word such as `from`."""
    stripped = text.rstrip()
    word = re.search(r"[^\W\d]+$", stripped)
    if word is not None and word.group().casefold() in _WORDS.range_openers:
        return word.start()
    return len(text)


def names(text: str) -> tuple[str, ...]:
    """The items of a list, whatever separates them: commas, ideographic commas, semicolons, slashes, white space.

    A word of several ASCII capitals is an item of its own, so that a lost comma does not make two names one.
    """
    items = [item.strip(" .。") for item in re.split(r"[,;/|]", half_width(text))]
    found: list[str] = []
    for item in items:
        words = item.split()
        found += words if len(words) > 1 and all(_NAME.fullmatch(word) for word in words) else [item]
    return tuple(" ".join(item.split()) for item in found if item.split())


_NAME = re.compile(r"[A-Z]+\d+")
# In any letters: a name that is misspelt so is still meant as one.
_DATA_TYPE = re.compile(r"(?<![A-Za-z0-9_.])(?:U?INT|FLOAT)(?:4|8|16|32|64)(?![A-Za-z0-9_])", re.IGNORECASE)


def data_types_in(text: str) -> list[tuple[int, int]]:
    """Where names in the form of DirectML's data types stand: start and end of each."""
    return [match.span() for match in _DATA_TYPE.finditer(text)]


def example_number(title: str) -> int | None:
    """The number that a title gives its example (`Example 2.`, `範例 3.`); None where it gives none."""
    match = _NUMBERED.match(half_width(title))
    return None if match is None else int(match.group(1))


def language(text: str) -> str | None:
    """The language that a text is written in, told from its letters and frequent words; None where neither tells."""
    text = text[:200_000].casefold()
    counts = {language: len(re.findall(letters, text)) for language, letters in _WORDS.letters.items()}
    found = re.findall(r"[^\W\d_]+", text)
    counts |= {language: sum(word in known for word in found) for language, known in _WORDS.frequent.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= 3 else None
