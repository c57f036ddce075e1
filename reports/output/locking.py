"""A lock on a file that one process has at a time, and that the system takes away when the process ends, however."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

_FAR = 1 << 30  # where Windows locks a byte: there is none, so that what the file holds can still be read


class LockedError(Exception):
    """Another process has the lock."""


class LockedFile:
    """A file, made if it is not there, that no other process locks until it is released.

    Raises:
        LockedError: another process has it locked.
        OSError: it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        while True:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(path, flags, 0o644)
            try:
                _lock(self._descriptor)
                # Whoever had it before may have removed it since it was opened here.
                if self.is_there():
                    return
            except BaseException:
                os.close(self._descriptor)
                raise
            os.close(self._descriptor)

    def is_there(self) -> bool:
        """Whether it is still what its path names."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.lstat())
        except FileNotFoundError:
            return False

    def read(self) -> bytes:
        """All that it holds."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with open(self._descriptor, "rb", closefd=False) as file:
            return file.read()

    def write(self, content: bytes) -> None:
        """Put this in place of what it holds, and see that it is on the disk."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.ftruncate(self._descriptor, 0)
        with open(self._descriptor, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def release(self, *, remove: bool) -> None:
        """Give the lock back, and remove the file if that is asked for; does nothing a second time."""
        if self._descriptor < 0:
            return
        if remove and os.name != "nt":  # still locked, so that nobody takes a file that is about to go
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1
        if remove and os.name == "nt":  # which removes no file that is open, here or by the next one to lock it
            try:
                self._path.unlink(missing_ok=True)
            except OSError:
                return


def _lock(descriptor: int) -> None:
    """Lock an open file; where the file system has no locks at all, go on without."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK, errno.EDEADLK):
            raise LockedError from error
