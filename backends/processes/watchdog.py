"""The thread that holds processes to their limits, while the one that asks them waits for an answer."""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dml_conformance.backends.processes.process import ServerProcess

TICK = 0.1  # seconds


class Watchdog:
    """Looks at everything that it was given, until that is gone.

    What it counts is the time for which it could have looked: where the harness is stopped for a while, or gets no time
    on a busy machine, no process has taken longer for that.
    """

    def __init__(self) -> None:
        self._watched: weakref.WeakSet[ServerProcess] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, subject: ServerProcess) -> None:
        with self._lock:
            self._watched.add(subject)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(TICK)
            now = time.monotonic()
            with self._lock:
                watched = list(self._watched)
                if not watched:
                    self._thread = None
                    return
            for subject in watched:
                # Whoever waits for it may end it at any moment, and close its files.
                with suppress(OSError, ValueError):
                    subject.look(min(now - last, 4 * TICK))
            del watched
            last = now


WATCHDOG = Watchdog()
