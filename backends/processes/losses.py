"""The processes of a backend that were lost, and to what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, NamedTuple

import msgspec


class LossCause(StrEnum):
    """Why a process that a backend ran in was lost."""

    SIGNAL = "signal"  # such as SIGSEGV
    ENDED = "ended by itself"
    CONNECTION = "no answer"  # what it sent is none, or it closed its connection
    MEMORY_LIMIT = "memory limit"
    TIME_LIMIT = "time limit"
    # Of many executions or timed runs in one request, each of which may take as long alone.
    TIME_LIMIT_TOGETHER = "time limit of many together"
    KILLED = "killed"  # by a signal that processes hardly send themselves, such as SIGKILL
    OOM_KILLER = "OOM killer"  # of the system, as far as that says so


# What is the harness's or the machine's doing, whatever the backend does.
_NOT_THE_BACKENDS = (LossCause.TIME_LIMIT_TOGETHER, LossCause.OOM_KILLER)
# Processes that may be lost in a run without a case to blame. A machine ends one now and then: memory runs short, a job
# is moved away. That happens once or twice in a day; a campaign takes minutes, and more than these are no accident.
MOST_FORGIVEN = 3


class Loss(msgspec.Struct, frozen=True, omit_defaults=True):
    """Processes of a backend that were lost.

    Attributes:
        cause: why.
        how: in words, to follow `the backend's process`: `died of SIGSEGV in validate`.
        count: how many in this way.
    """

    cause: LossCause
    how: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class LossTally(NamedTuple):
    """How often a backend's own process was lost.

    Attributes:
        lost: in all.
        timed_out: of these, because it took too long.
    """

    lost: int = 0
    timed_out: int = 0

    def plus(self, other: LossTally) -> LossTally:
        return LossTally(self.lost + other.lost, self.timed_out + other.timed_out)

    def since(self, before: LossTally) -> LossTally:
        return LossTally(self.lost - before.lost, self.timed_out - before.timed_out)

    def reaches(self, lost: int, timed_out: int) -> bool:
        """Whether there are so many of either."""
        return self.lost >= lost or self.timed_out >= timed_out


def losses_together(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """The same, with those of one kind in one."""
    counts: Counter[tuple[LossCause, str]] = Counter()
    for loss in losses:
        counts[loss.cause, loss.how] += loss.count
    return tuple(Loss(cause, how, count) for (cause, how), count in counts.items())


def lost_by_backend(losses: Iterable[Loss]) -> int:
    """How many of these the backend may have to answer for."""
    return sum(loss.count for loss in losses if loss.cause not in _NOT_THE_BACKENDS)
