"""A sample of a stream's cases, held packed: some sixty bytes for a row, and texts compressed in blocks.

Which cases are kept goes by their digests, which are as good as random numbers and the same in every campaign: those
that are smallest as numbers. Cases are held in parts by how many bits the beginning of the digest has, so each part
has about twice as many as the one before it, and to make room the last part is let go.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence

BLOCK = 128  # texts compressed together
KEY_BITS = 64  # of a digest, by which a sample goes
_COMPRESSION = 1  # of 9: these are unpacked again, and soon let go

ALWAYS = -1  # the part of the cases that are kept whatever their digests


class Codes(dict[Hashable, int]):
    """Numbers for values, from 0 on, in the order in which they come up."""

    def __missing__(self, value: Hashable) -> int:
        code = self[value] = len(self)
        return code


class SamplePart:
    """Cases in the order in which they came.

    Attributes:
        keys: the first `KEY_BITS` of their digests.
        codes: the numbers of their traits, one case after the other.
        lengths: bytes of their texts; 0 for a case without.
        held: bytes that the texts take.
    """

    def __init__(self) -> None:
        self.keys = array("Q")
        self.codes = array("I")
        self.lengths = array("I")
        self.held = 0
        self._blocks: list[bytes] = []
        self._open: list[bytes] = []

    def add(self, key: int, codes: Sequence[int], text: bytes | None) -> int:
        """Take a case; returns by how much `held` has changed."""
        self.keys.append(key)
        self.codes.extend(codes)
        self.lengths.append(0 if text is None else len(text))
        if text is None:
            return 0
        before = self.held
        self._open.append(text)
        self.held += len(text)
        if len(self._open) == BLOCK:
            packed = zlib.compress(b"\n".join(self._open), _COMPRESSION)
            self.held += len(packed) - sum(map(len, self._open))
            self._blocks.append(packed)
            self._open.clear()
        return self.held - before

    def drop_texts(self) -> None:
        """Let go of the texts, not of the rows."""
        self.lengths = array("I", bytes(self.lengths.itemsize * len(self.lengths)))
        self._blocks, self._open, self.held = [], [], 0

    def texts(self) -> Iterator[bytes]:
        """The texts of those cases that have one, in their order."""
        for block in self._blocks:
            yield from zlib.decompress(block).split(b"\n")
        yield from self._open


class CaseSample:
    """Cases of bounded number and size.

    Args:
        most_rows: cases that are kept at the least, where there are so many; twice as many at the most, beside those
            that are always kept.
        most_held: bytes of their texts.

    Attributes:
        seen: cases that came.
        parts: those that were kept; `ALWAYS` among the names of the parts.
        held: bytes that their texts take.
    """

    def __init__(self, most_rows: int, most_held: int) -> None:
        self.seen = 0
        self.parts: dict[int, SamplePart] = {ALWAYS: SamplePart()}
        self._most_rows = most_rows
        self._most_held = most_held
        self._rows = self.held = 0
        self._row_bits = self._text_bits = KEY_BITS  # of the last parts that have rows and texts

    def add(self, key: int, codes: Callable[[], Sequence[int]], text: Callable[[], bytes | None]) -> None:
        """Take a case, of which traits and text are asked for if it is kept."""
        bits = key.bit_length()
        if bits > self._row_bits:
            return
        self._rows += 1
        self._add(bits, key, codes(), text() if bits <= self._text_bits else None)
        while self._rows > 2 * self._most_rows and self._row_bits:
            dropped = self.parts.pop(self._row_bits, None)
            if dropped is not None:
                self._rows -= len(dropped.keys)
                self.held -= dropped.held
            self._row_bits -= 1
            self._text_bits = min(self._text_bits, self._row_bits)

    def add_always(self, key: int, codes: Sequence[int], text: Callable[[], bytes | None]) -> None:
        """Take a case whatever its digest, with its text as long as these alone do not take up all the room."""
        self._add(ALWAYS, key, codes, text() if self.parts[ALWAYS].held < self._most_held else None)

    def _add(self, name: int, key: int, codes: Sequence[int], text: bytes | None) -> None:
        part = self.parts.get(name)
        if part is None:
            part = self.parts[name] = SamplePart()
        self.held += part.add(key, codes, text)
        while self.held > self._most_held and self._text_bits:
            if self._text_bits in self.parts:
                dropped = self.parts[self._text_bits]
                self.held -= dropped.held
                dropped.drop_texts()
            self._text_bits -= 1
