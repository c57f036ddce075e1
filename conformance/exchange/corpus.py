"""Corpora: many seeded cases, or the layers of a model, as lines of JSON, the same bytes wherever they are made.

The first line says what the corpus is, the last one how many cases there are and what they digest to; every line
between is a case with a check of its own text. Case number k depends on k and on what the first line says, on nothing
else: a shard has the cases whose number, divided by the number of shards, leaves the shard's own, and the shards
together are the corpus. Lines are what is the same everywhere; `corpus_files` beside this module compresses them.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, BinaryIO, NamedTuple

import msgspec

from dml_conformance.reports.model.release import suite_version
from dml_conformance.reports.model.text import MALFORMED
from dml_conformance.spec.case import Case
from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators as all_operators
from dml_conformance.strategies.cases import applicable_rules, numbered_case

FORM = 1  # of the lines; a reader takes no other
MOST_LINE_BYTES = 2**20
MOST_CASES = 2**53  # what every reader of JSON counts exactly


class CorpusError(BadInputError, ValueError):
    """A corpus that cannot be read or made; the message names file, line, what was expected and what was found."""


class Shard(NamedTuple):
    """One of several equal parts of a corpus: `3/16`.

    Attributes:
        number: from 1 on.
        parts: how many there are.
    """

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `3/16`; raises ValueError."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.number <= shard.parts:
            raise ValueError(f"expected a shard such as 3/16, from 1/16 to 16/16; found {text!r}")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"

    def __contains__(self, number: object) -> bool:
        """Whether the shard has the case of this number."""
        assert isinstance(number, int)
        return number % self.parts == self.number - 1


WHOLE = Shard(1, 1)


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a corpus is; together with a case's number it fixes the case, unless the cases are a model's layers.

    Attributes:
        form: of the lines.
        suite_version: of the package that made it.
        seed: of the cases.
        operators: names, in the registry's order.
        levels: ascending.
        cases: in all shards together.
        shard: its number, and how many there are.
        in_shard: how many cases follow.
        model: name of the model whose layers the cases are; "" where they are seeded.
    """

    form: int
    suite_version: str
    seed: int
    operators: tuple[str, ...]
    levels: tuple[str, ...]
    cases: int
    shard: tuple[int, int]
    in_shard: int
    model: str = ""

    @classmethod
    def of(
        cls,
        cases: int,
        seed: int,
        operators: Iterable[str] = (),
        levels: Iterable[Level] = (),
        shard: Shard = WHOLE,
    ) -> Header:
        """What a corpus made here is.

        Args:
            cases: in all shards together.
            seed: of the cases.
            operators: names; none = all. Neither order nor repetition matters, of levels neither.
            levels: none = all.
            shard: which part of it.

        Raises:
            CorpusError: no operator has a case at any of the levels.
        """
        chosen = set(operators) or set(all_operators())
        header = cls(
            form=FORM,
            suite_version=suite_version(),
            seed=seed,
            operators=tuple(name for name in all_operators() if name in chosen),
            levels=tuple(level.label for level in sorted(set(levels) or set(Level))),
            cases=cases,
            shard=(shard.number, shard.parts),
            in_shard=len(range(shard.number - 1, cases, shard.parts)),
        )
        if not header.cells():
            names, at = ", ".join(header.operators), ", ".join(header.levels)
            raise CorpusError(f"there are no cases of {names} at {at}; name a higher level or another operator")
        return header

    @classmethod
    def of_model(cls, model: str, cases: Sequence[Case]) -> Header:
        """What a corpus of a model's layers is.

        Args:
            model: its name.
            cases: one for each distinct layer.
        """
        whole = cls.of(len(cases), 0, [case.operator for case in cases], [case.level for case in cases])
        return msgspec.structs.replace(whole, model=model)

    def cells(self) -> list[tuple[str, Level]]:
        """The operators and levels that a case can be about."""
        levels = [Level.parse(label) for label in self.levels]
        return [(name, level) for name in self.operators for level in levels if applicable_rules(name, level)]

    def numbers(self) -> range:
        """Numbers of the shard's cases."""
        number, parts = self.shard
        return range(number - 1, self.cases, parts)

    def numbered_cases(self) -> Iterator[Case]:
        """The cases of the shard, in order.

        Each turn has one case of every operator at every level. Where it begins differs from turn to turn by no simple
        rule, so that no number of shards leaves one of them without an operator or level.
        """
        cells = self.cells()
        for number in self.numbers():
            turn, place = divmod(number, len(cells))
            start = zlib.crc32(b"%d" % turn)
            yield numbered_case(self.seed, *cells[(start + place) % len(cells)], turn)


class CorpusEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last line: how many cases came before, and the SHA-256 of all lines before, line feeds included."""

    cases: int
    sha256: str


class _HeaderLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    corpus: Header


class _CorpusEndLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    end: CorpusEnd


class LayerUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a model has the layer that a case is.

    Attributes:
        count: how often the model executes it.
        nodes: names of the nodes that it is of, in the model's order; the first of them where there are very many.
    """

    count: int
    nodes: tuple[str, ...]

    @classmethod
    def of(cls, nodes: Sequence[str]) -> LayerUse:
        """That of a layer, from a name for each time that it is executed."""
        room, shown = MOST_LINE_BYTES // 4, []
        for name in dict.fromkeys(nodes):
            room -= len(_encode(name)) + 1
            if room < 0:
                break
            shown.append(name)
        return cls(len(nodes), tuple(shown))


class _CaseLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    check: str
    case: msgspec.Raw
    layer: LayerUse | None = None


_encode = msgspec.json.Encoder().encode
_HEADER_DECODER = msgspec.json.Decoder(_HeaderLine)
_ENDING_DECODER = msgspec.json.Decoder(_CorpusEndLine)
_CASE_DECODER = msgspec.json.Decoder(_CaseLine)
_ENDING_START = b'{"end":'


def corpus_lines(
    header: Header, cases: Iterable[Case] | None = None, uses: Iterable[LayerUse] | None = None
) -> Iterator[bytes]:
    """Every line of a corpus, each with its line feed.

    Args:
        header: what it is.
        cases: its cases, where they are at hand.
        uses: of each case, where they are a model's layers.
    """
    line = _encode(_HeaderLine(header)) + b"\n"
    digest = hashlib.sha256(line)
    yield line
    count = 0
    cases = header.numbered_cases() if cases is None else cases
    for case, use in zip(cases, repeat(None) if uses is None else uses, strict=False):
        text = _encode(case.to_json())
        layer = b"" if use is None else b',"layer":%s' % _encode(use)
        line = b'{"check":"%s","case":%s%s}\n' % (_check(text), text, layer)
        digest.update(line)
        count += 1
        yield line
    yield _encode(_CorpusEndLine(CorpusEnd(count, digest.hexdigest()))) + b"\n"


def _check(text: bytes) -> bytes:
    """What tells a changed line from the others: CRC-32 of the case's text, as eight hexadecimal digits."""
    return b"%08x" % zlib.crc32(text)


class CorpusLine(NamedTuple):
    """A line that holds a case: its number in the file, from 1 on, and its bytes."""

    number: int
    content: bytes


def checked_text(file: str, line: CorpusLine) -> bytes:
    """The JSON text of a line's case.

    Raises:
        CorpusError: the line has no case, or its text is not the one that was written there.
    """
    try:
        found = _CASE_DECODER.decode(line.content)
    except MALFORMED as error:
        raise CorpusError(f"{file}: line {line.number}: expected a case with its check: {error}") from None
    text = bytes(found.case)
    check = _check(text).decode()
    if found.check != check:
        raise CorpusError(
            f"{file}: line {line.number}: the case is not the one that was written: expected a text of check "
            f"{_shown(found.check)}, found {check}; 'dml-conformance replay' takes edited cases"
        )
    return text


def read_case(file: str, line: CorpusLine) -> Case:
    """The case of a line.

    Args:
        file: its name, for messages.
        line: as `CorpusReader.lines` gives it.

    Raises:
        CorpusError: it is no case, or not the one that was written there.
    """
    where = f"{file}: line {line.number}"
    text = checked_text(file, line)
    try:
        case, written = Case.from_text(text, "case")
    except (FormError, *MALFORMED) as error:
        raise CorpusError(f"{where}: {error}") from None
    decided = {"decision": str(case.outcome), "rules": list(case.broken)}
    if written != decided:
        raise CorpusError(
            f"{where}: case.expect: expected {_shown(decided)}, as this specification decides; found "
            f"{_shown(written)}; make the corpus anew"
        )
    return case


class CorpusReader:
    """The lines of a corpus, one after the other, held against its first and last line.

    Args:
        file: its name, for messages.
        stream: its lines, uncompressed.

    Attributes:
        header: of the corpus.
        sha256: of its lines so far, the last one of a corpus left out.

    Raises:
        CorpusError: from every method, where the lines are not those of a corpus of this release.
    """

    def __init__(self, file: str, stream: BinaryIO) -> None:
        self.file = file
        self._stream = stream
        self._digest = hashlib.sha256()
        self._number = 0
        line = self._next()
        if not line:
            raise self._error("the file is empty; expected a corpus, as 'dml-conformance generate' makes it")
        try:
            self.header = _HEADER_DECODER.decode(line).corpus
        except MALFORMED as error:
            raise self._error(
                f"expected the first line of a corpus, as 'dml-conformance generate' makes it: {error}"
            ) from None
        self._digest.update(line)
        self._check_header()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def lines(self, shard: Shard = WHOLE) -> Iterator[CorpusLine]:
        """The lines of the cases that a shard of the corpus has; all of them are read and digested."""
        digest = self._digest
        for position, number in enumerate(self.header.numbers()):
            line = self._next()
            if not line or line.startswith(_ENDING_START):
                raise self._error(f"expected {self.header.in_shard:,} cases, as line 1 says; there are {position:,}")
            digest.update(line)
            if number in shard:
                yield CorpusLine(self._number, line)
        self._check_ending(self._next())
        if self._next():
            raise self._error("expected nothing after the last line of a corpus")

    def _next(self) -> bytes:
        """The next line, with its line feed; empty at the end."""
        self._number += 1
        try:
            line = self._stream.readline(MOST_LINE_BYTES)
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror or error}") from None
        if line and not line.endswith(b"\n"):
            if len(line) == MOST_LINE_BYTES:
                raise self._error(f"expected lines of less than {MOST_LINE_BYTES:,} bytes")
            raise self._error("the file ends within this line; it is truncated")
        return line

    def _check_header(self) -> None:
        header = self.header
        if header.form != FORM:
            raise self._error(f"expected a corpus of form {FORM}, found form {header.form}")
        if header.suite_version != suite_version():
            raise self._error(
                f"expected a corpus made by dml-conformance {suite_version()}, which this is; found one made by "
                f"{header.suite_version}; make it anew {_from_what(header)}"
            )
        unknown = [name for name in header.operators if name not in all_operators()]
        if unknown:
            raise self._error(f"corpus.operators: there is no operator {unknown[0]!r}")
        try:
            levels = [Level.parse(label) for label in header.levels]
            shard = Shard.parse("{}/{}".format(*header.shard))
        except ValueError as error:
            raise self._error(f"corpus: {error}") from None
        if not header.operators or not levels:
            raise self._error("corpus: expected operators and levels")
        if not 0 <= header.cases <= MOST_CASES or header.in_shard != len(header.numbers()):
            raise self._error(
                f"corpus.in_shard: expected as many as part {shard} of {header.cases} cases has; found "
                f"{header.in_shard}"
            )

    def _check_ending(self, line: bytes) -> None:
        header = self.header
        if not line:
            raise self._error("the file ends before its last line, which has the digest; it is truncated")
        try:
            ending = _ENDING_DECODER.decode(line).end
        except MALFORMED:
            raise self._error(f"expected the last line, after {header.in_shard:,} cases as line 1 says") from None
        if ending.cases != header.in_shard:
            raise self._error(f"end.cases: expected {header.in_shard:,}, as line 1 says; found {ending.cases:,}")
        if ending.sha256 != self.sha256:
            raise self._error(
                f"end.sha256: expected the lines to digest to {_shown(ending.sha256)}; found "
                f"{self.sha256}: a line was changed, or they are in another order"
            )

    def _error(self, problem: str) -> CorpusError:
        return CorpusError(f"{self.file}: line {self._number}: {problem}")


def check_corpus(reader: CorpusReader, tell: Callable[[], None] = lambda: None) -> None:
    """Read a corpus to its end, and hold every line against its check; `tell` hears of each.

    Raises:
        CorpusError: what is wrong, and in which line.
    """
    for line in reader.lines():
        checked_text(reader.file, line)
        tell()


def in_blocks(lines: Iterable[CorpusLine], size: int) -> Iterator[Sequence[CorpusLine]]:
    """Lines in blocks of `size`, the last one of what is left."""
    lines = iter(lines)
    while block := list(islice(lines, size)):
        yield block


def _from_what(header: Header) -> str:
    """What makes a corpus again."""
    return f"of its model, {header.model}" if header.model else f"with its seed, {header.seed}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _encode(value).decode()
    return text if len(text) <= 200 else text[:197] + "..."
