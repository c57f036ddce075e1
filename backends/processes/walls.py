"""What stands between the processes of backends and those that judge them, as far as the kernel has it: Linux does.

Memory: a process that is not dumpable is read, written and traced by none but who has CAP_SYS_PTRACE, whoever its user
is (prctl(2), ptrace(2)); the processes of backends, and what they start, give that capability up.

Descendants: what is left of them becomes the children of the process that judges, which ends them
(PR_SET_CHILD_SUBREAPER, prctl(2)).

Files: a backend's process has mounts of its own (mount_namespaces(7)), in which some files are covered and others
read-only, and no capability to change them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ALL_WALLS = MEMORY, DESCENDANTS, FILES = "memory", "descendants", "files"
LINUX_ONLY = "only Linux has it"

_GET_DUMPABLE, _SET_DUMPABLE, _DROP_BOUND, _SET_NO_NEW_PRIVILEGES = 3, 4, 24, 38  # of prctl
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000  # of unshare
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION, _REMOUNT = 1, 2, 4, 8, 0x20  # of mount
_BIND, _BELOW, _SLAVE = 0x1000, 0x4000, 0x80000
# Of statvfs, what a mount was given that only who gave it may take away; and the same for mount.
_LOCKED = {2: _NO_SETUID, 4: _NO_DEVICES, 8: _NO_EXECUTION, 1024: 1024, 2048: 2048, 4096: 1 << 21}
_SYS_PTRACE = 19  # of capabilities
# Of root's, those that undo no wall: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, IPC_LOCK, SYS_NICE, SYS_RESOURCE.
_HARMLESS = sum(1 << each for each in (0, 1, 3, 4, 14, 23, 24))
_ALL = (1 << 64) - 1
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


def adopt_orphans() -> None:
    """Have this process become the parent of all descendants whose own has ended.

    They are ended as what a backend left, so nothing else may have started any: a process that has children by now is
    left as it is.
    """
    import psutil  # which processes of backends have no use for

    with suppress(OSError, AttributeError):
        kernel = _kernel()
        if not psutil.Process().children():
            kernel.prctl(_SET_SUBREAPER, 1, 0, 0, 0)


def adopts_orphans() -> bool:
    """Whether `adopt_orphans` has done so in this process."""
    found = ctypes.c_int(0)
    with suppress(OSError, AttributeError):
        _kernel().prctl(_GET_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return bool(found.value)


class FileWall(NamedTuple):
    """What of the file system a process sees otherwise.

    Attributes:
        covered: files and folders in whose place are empty ones, as far as they are there when the wall is built.
        read_only: folders that it cannot write to.
        refused: why there is no such wall here; "" where there is one.
    """

    covered: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    refused: str = ""

    def build(self) -> None:
        """Build it around this process, which must have one thread, and all that it starts: for good.

        Raises:
            OSError: it cannot be built; the process is of no use then.
        """
        kernel = _kernel()
        kept = _HARMLESS
        if kernel.unshare(_NEW_MOUNTS) != 0:
            kept = 0
            _enter_user_namespace()
        _mount(None, "/", _SLAVE | _BELOW)
        for path in filter(os.path.isdir, self.read_only):
            _mount(path, path, _BIND | _BELOW)
            given = os.statvfs(path).f_flag
            locked = sum(flag for bit, flag in _LOCKED.items() if given & bit)
            _mount(None, path, _REMOUNT | _BIND | _READ_ONLY | locked)
        for path in self.covered:
            if os.path.isdir(path):  # noqa: PTH112 - a text, as the others are
                _mount("tmpfs", path, _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXECUTION, "tmpfs")
            elif os.path.exists(path):  # noqa: PTH110
                _mount(os.devnull, path, _BIND)
        try:
            os.chdir(os.getcwd())  # noqa: PTH109 - what is mounted over the folder counts from now on
        except OSError as error:
            raise OSError(error.errno, "the working folder is below one that is covered") from error
        _give_up(_ALL & ~kept)

    def refusal(self) -> str:
        """Why it cannot be built around this process; "" where it has been."""
        try:
            self.build()
        except OSError as error:
            return error.strerror or str(error)
        return ""


def _enter_user_namespace() -> None:
    """Have this process in a user namespace of its own, where it has the user and group that it had."""
    user, group = os.geteuid(), os.getegid()
    maps = {"setgroups": "deny", "gid_map": f"{group} {group} 1", "uid_map": f"{user} {user} 1"}
    refused = "user namespaces are refused here"
    _succeed(_kernel().unshare(_NEW_USER | _NEW_MOUNTS), refused)
    try:
        for name, content in maps.items():
            Path(f"/proc/self/{name}").write_text(content)
    except OSError as error:  # as AppArmor has it
        raise OSError(error.errno, refused) from error


def give_up_tracing() -> None:
    """Have this thread, and all threads and processes that it starts, look into no memory that is closed: for good."""
    with suppress(OSError, AttributeError):
        _give_up(1 << _SYS_PTRACE)


def _give_up(capabilities: int) -> None:
    """Give up capabilities, a bit each, for good."""
    kernel = _kernel()
    kernel.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for number in range(64):
        if capabilities >> number & 1:
            kernel.prctl(_DROP_BOUND, number, 0, 0, 0)  # refused where there are none to begin with
    header, sets = _Header(_VERSION, 0), (_Sets * 2)()
    if kernel.capget(ctypes.byref(header), sets) == 0:
        for n, word in enumerate(sets):
            for part in ("effective", "permitted", "inheritable"):
                setattr(word, part, getattr(word, part) & ~(capabilities >> 32 * n))
        _succeed(kernel.capset(ctypes.byref(header), sets), "capabilities cannot be given up here")


def _mount(source: str | None, target: str, flags: int, kind: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _succeed(_kernel().mount(*texts, ctypes.c_ulong(flags), None), "mounts are refused here")


def _succeed(code: int, otherwise: str) -> None:
    """Raise OSError where a call of the kernel's has failed."""
    if code != 0:
        raise OSError(ctypes.get_errno(), otherwise)


def _kernel() -> Any:
    if sys.platform != "linux":
        raise OSError(LINUX_ONLY)
    return ctypes.CDLL(None, use_errno=True)
