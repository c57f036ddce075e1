"""Telling what the kernel's OOM killer has ended from what was ended otherwise, on Linux."""

from __future__ import annotations

import re
import signal
from contextlib import suppress
from pathlib import Path

from dml_conformance.backends.processes.losses import LossCause

ROOT = Path("/")
# Signals that a process hardly sends itself: where one died of them, something else ended it mostly.
FROM_OUTSIDE = {getattr(signal, name, 0) for name in ("SIGKILL", "SIGTERM", "SIGHUP")} - {0}
_COUNT = re.compile(rb"^oom_kill (\d+)$", re.MULTILINE)


class OomKills:
    """Whether the OOM killer has been at work where a process is: in its control group or, where that does not say,
    anywhere on the machine.

    Args:
        pid: of the process.
        root: of the file system.
    """

    def __init__(self, pid: int, root: Path = ROOT) -> None:
        self._file = next((file for file in _counting(pid, root) if _count(file) is not None), None)
        # At the last look, and at the one before: a process may have died just before a look and be found just after.
        self._last = self._before = self._count()

    def look(self) -> None:
        """Called all the time, so that only what happens shortly before the process is found dead counts."""
        self._before, self._last = self._last, self._count()

    @property
    def have_risen(self) -> bool:
        """Whether it has ended something since the look before the last one."""
        return self._count() > self._before

    def _count(self) -> int:
        return (_count(self._file) if self._file is not None else None) or 0


def cause_of(code: int, oom_kills: OomKills) -> LossCause:
    """Why a process has ended, of its code as `subprocess` has it."""
    if code >= 0:
        return LossCause.ENDED
    if -code == signal.SIGKILL and oom_kills.have_risen:
        return LossCause.OOM_KILLER
    return LossCause.KILLED if -code in FROM_OUTSIDE else LossCause.SIGNAL


def _counting(pid: int, root: Path) -> list[Path]:
    """Files that may have the count, the one that is most about the process first."""
    groups = []
    with suppress(OSError):
        for line in (root / f"proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                groups.append(root / "sys/fs/cgroup" / path.lstrip("/") / "memory.events")
            elif "memory" in controllers.split(","):
                groups.append(root / "sys/fs/cgroup/memory" / path.lstrip("/") / "memory.oom_control")
    return [*groups, root / "proc/vmstat"]


def _count(file: Path) -> int | None:
    with suppress(OSError):
        if found := _COUNT.search(file.read_bytes()):
            return int(found[1])
    return None
