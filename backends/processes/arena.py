"""Memory that the harness and a backend's process share: a file that has no name, mapped by both."""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from dml_conformance.backends.base import Bytes

SMALLEST = 2**20
KEPT = 2**26  # bytes that stay allocated between requests
LEAST_WRITTEN = 2**18  # bytes that are faster written to the file than to the mapping, where no page is there yet
PAGE = 4096
GIVES_BACK = hasattr(mmap, "MADV_REMOVE")  # what has been given back is zeros again


class Arena:
    """The harness's side: it makes the memory, lets it grow, and gives back what a large case needed.

    Attributes:
        memory: all of it, one byte an entry; another array after it has grown.
        place: how the other process finds it, for `ArenaView`.
        inherited: file descriptors that the other process must inherit for that.
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        if hasattr(os, "memfd_create"):
            self._file = os.memfd_create("dml-conformance")
        elif os.name == "posix":
            self._file, path = tempfile.mkstemp(prefix="dml-conformance-")
            Path(path).unlink()
        else:  # a descriptor cannot be handed over, and a file without a name cannot be opened again
            self._file, path = tempfile.mkstemp(prefix="dml-conformance-")
            self._path = Path(path)
        self._size = 0
        self.memory: Bytes = np.empty(0, np.uint8)

    @property
    def place(self) -> str:
        return f"file:{self._file}" if self._path is None else f"path:{self._path}"

    @property
    def inherited(self) -> tuple[int, ...]:
        return (self._file,) if self._path is None else ()

    def reserve(self, size: int) -> int:
        """Make room for `size` bytes. Returns how long the memory is now.

        Raises:
            OSError: there is no room.
        """
        if size > self._size:
            wanted = max(SMALLEST, 1 << (size - 1).bit_length())
            os.ftruncate(self._file, wanted)
            if not hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file, 0, wanted)  # or a full disk would be noticed by a SIGBUS
            self._map = mmap.mmap(self._file, wanted)
            self.memory = np.frombuffer(self._map, np.uint8)
            self._size = wanted
        return self._size

    def put(self, start: int, content: Bytes) -> None:
        """Copy bytes into it.

        A mapping has each page made and filled with zeros first, and for many that takes three times as long as to
        write them to the file.
        """
        if start < KEPT or content.size < LEAST_WRITTEN or not hasattr(os, "pwrite"):
            self.memory[start : start + content.size] = content
            return
        left = content.data
        while left:
            written = os.pwrite(self._file, left, start)
            start, left = start + written, left[written:]

    def release(self, used: int) -> None:
        """Give back the memory behind the first `KEPT` bytes, after `used` bytes of it were."""
        if used > KEPT and GIVES_BACK:
            self._map.madvise(mmap.MADV_REMOVE, KEPT, -(-used // PAGE) * PAGE - KEPT)

    def close(self) -> None:
        """Let go of it; the memory is free when the other process has gone too."""
        self.memory = np.empty(0, np.uint8)
        self._map = None  # type: ignore[assignment]
        os.close(self._file)
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()


class ArenaView:
    """The other process's side.

    Args:
        place: of an `Arena`.
    """

    def __init__(self, place: str) -> None:
        kind, _, where = place.partition(":")
        self._file = int(where) if kind == "file" else os.open(where, os.O_RDWR | getattr(os, "O_BINARY", 0))
        if kind == "file":
            os.set_inheritable(self._file, False)
        self._size = 0
        self._memory: Bytes = np.empty(0, np.uint8)

    def memory(self, size: int) -> Bytes:
        """All of it, which is `size` bytes long. What was seen of it before stays where it is."""
        if size != self._size:
            self._memory = np.frombuffer(mmap.mmap(self._file, size), np.uint8)
            self._size = size
        return self._memory
