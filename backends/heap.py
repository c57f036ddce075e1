"""The heap of a process that works on large arrays. glibc's is set here; other C libraries are left as they are."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LARGE_CASE = 2**24  # bytes of tensors, after which there may be much to give back
MOST_KEPT = 3 * 2**28  # bytes that a process has of its own beside the tensors of a case


def keep_freed_memory() -> None:
    """Have this process keep 1 GiB of what arrays let go of, and ask the system only for arrays of 256 MiB and more.

    It would give back every array above 32 MiB, or 64 MiB of what it has: the next one's pages are made anew then,
    which takes half the processor time that a backend spends on a case of 16 million elements.
    """
    with suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        set_option(-3, 2**28)  # M_MMAP_THRESHOLD
        set_option(-1, 2**30)  # M_TRIM_THRESHOLD


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """While a process works on so many bytes of tensors: before and after much of them, give back what is kept."""
    if size > LARGE_CASE:
        give_back_memory(size)
    try:
        yield
    finally:
        if size > LARGE_CASE:
            give_back_memory()


def give_back_memory(to_come: int = 0) -> None:
    """Give the system what is kept, where this process has more than 768 MiB of its own, with what is to come unless
    that alone is more, so that it stays below 1 GiB; or where half of the machine's memory is taken: others have large
    cases too. Where that cannot be told, nothing is given back."""
    import psutil  # a backend's process starts without

    with suppress(AttributeError, OSError, TypeError, psutil.Error):
        own, machine = psutil.Process().memory_info(), psutil.virtual_memory()
        beside = to_come if to_come < MOST_KEPT else 0
        if own.rss - own.shared + beside > MOST_KEPT or machine.available < machine.total / 2:
            ctypes.CDLL(None).malloc_trim(0)
