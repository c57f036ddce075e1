"""Corpora on disk: compressed as Zstandard or plain, written whole or not at all.

A compressed corpus is a sequence of frames of 1024 lines each, made at one level without threads. The same release of
the Zstandard library makes the same bytes of them; another one may make others, of the same lines.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from dml_conformance.conformance.exchange.corpus import CorpusError, CorpusReader
from dml_conformance.reports.output.whole_file import whole_file

SUFFIX = ".zst"
STANDARD_STREAM = "-"
FRAME_LINES = 1024
LEVEL = 3
MOST_WINDOW = 2**27  # bytes; the most that unpacking may keep in memory
_READ = 2**17
_FRAME, _PLAIN = b"\x28\xb5\x2f\xfd", b'{"corpus":'


def write_corpus(path: Path, lines: Iterable[bytes], *, replace: bool = False) -> None:
    """Write lines to a file, compressed where its name ends in .zst, or plainly to standard output for `-`.

    Args:
        path: of the file; its parents are made.
        lines: each with its line feed.
        replace: whether a corpus that is there may be replaced. Nothing else is.

    Raises:
        OutputError: it cannot be written, or something is there.
    """
    if str(path) == STANDARD_STREAM:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return
    with whole_file(path, replace=replace, signatures=(_FRAME, _PLAIN), kind="corpus") as file:
        if path.suffix != SUFFIX:
            file.writelines(lines)
            return
        lines = iter(lines)
        compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=True)
        while frame := b"".join(islice(lines, FRAME_LINES)):
            file.write(compressor.compress(frame))


@contextmanager
def open_corpus(path: Path) -> Iterator[CorpusReader]:
    """Read a corpus from a file or, for `-`, from standard input; compressed or not is told by its first bytes.

    Raises:
        CorpusError: it cannot be opened, unpacked, or is no corpus; also while its lines are read.
    """
    name = "standard input" if str(path) == STANDARD_STREAM else str(path)
    try:
        source: Any = sys.stdin.buffer if name == "standard input" else path.open("rb")
    except OSError as error:
        raise CorpusError(f"{name}: cannot be read: {error.strerror or error}") from None
    try:
        if source.peek(len(_FRAME))[: len(_FRAME)] != _FRAME:
            yield CorpusReader(name, source)
            return
        unpacked = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(
            source, read_size=_READ, read_across_frames=True
        )
        yield CorpusReader(name, cast(BinaryIO, io.BufferedReader(_DecompressedStream(unpacked), _READ)))
    except IsADirectoryError:
        raise CorpusError(f"{name}: is a folder; expected a corpus") from None
    finally:
        if source is not sys.stdin.buffer:
            source.close()


class _DecompressedStream(io.RawIOBase):
    """What a decompressor gives, with its errors as OSError, as those of any other file."""

    def __init__(self, unpacked: Any) -> None:
        self._unpacked = unpacked

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self._unpacked.readinto(buffer))
        except (zstandard.ZstdError, MemoryError) as error:
            raise OSError(f"it cannot be unpacked, so it is damaged ({error})") from error
