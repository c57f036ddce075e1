"""What keeps the process of a backend from the memory of those that judge it, as far as the kernel has it: Linux does.

A process that is not dumpable is read, written and traced by none but who has CAP_SYS_PTRACE, whoever its user is
(prctl(2), ptrace(2)); the processes of backends, and what they start, give that capability up.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Any

_GET_DUMPABLE, _SET_DUMPABLE, _DROP_BOUND, _SET_NO_NEW_PRIVILEGES = 3, 4, 24, 38  # of prctl
_SYS_PTRACE = 19  # of capabilities
_VERSION = 0x20080522  # of the sets that capget and capset take: two words of 32 bits each


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def close_memory() -> None:
    """Have no other process look into this one's memory; those that it starts are as open as ever.

    No core is dumped of it then either, and no debugger attaches.
    """
    with suppress(OSError, AttributeError):
        _kernel().prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def is_memory_closed() -> bool:
    """Whether `close_memory` has done so in this process."""
    try:
        return bool(_kernel().prctl(_GET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def give_up_tracing() -> None:
    """Have this thread, and all threads and processes that it starts, look into no memory that is closed: for good."""
    with suppress(OSError, AttributeError):
        kernel = _kernel()
        kernel.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        kernel.prctl(_DROP_BOUND, _SYS_PTRACE, 0, 0, 0)  # refused where there are no capabilities to begin with
        header, sets = _Header(_VERSION, 0), (_Sets * 2)()
        if kernel.capget(ctypes.byref(header), sets) == 0:
            for part in ("effective", "permitted", "inheritable"):
                setattr(sets[0], part, getattr(sets[0], part) & ~(1 << _SYS_PTRACE))
            kernel.capset(ctypes.byref(header), sets)


def _kernel() -> Any:
    if sys.platform != "linux":
        raise OSError("there is no prctl here")
    return ctypes.CDLL(None)
