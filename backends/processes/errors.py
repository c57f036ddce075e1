"""What becomes of a backend's process, as the judge is told."""

from __future__ import annotations

from dml_conformance.backends.processes.losses import Loss, LossCause

THE_PROCESS = "the backend's process "  # is what the message begins with where it was the backend's alone


class ProcessLost(Exception):
    """Raised in place of an answer: the process that the backend ran in died, or was ended because it had to be.

    The message says what happened, with the signal, the last output and the stack where there is one. The next request
    is answered by a new process.

    Attributes:
        how: the message without the last output and the stack.
        cause: why, as a report counts it.
        was_new: whether it was asked nothing else before.
        is_regular: whether another process was lost over the next decision after as many, which machines do not do.
    """

    def __init__(self, message: str, cause: LossCause) -> None:
        super().__init__(message)
        self.how = message
        self.cause = cause
        self.was_new = False
        self.is_regular = False

    @property
    def loss(self) -> Loss:
        """As a record tells of it."""
        return Loss(self.cause, self.how.removeprefix(THE_PROCESS))

    @property
    def timed_out(self) -> bool:
        """Whether it was ended because it took too long."""
        return self.cause is LossCause.TIME_LIMIT

    @property
    def from_outside(self) -> bool:
        """Whether it seems to have been ended by neither the backend nor the harness."""
        return self.cause is LossCause.OOM_KILLER or (self.cause is LossCause.KILLED and not self.is_regular)


class StrayWrite(Exception):
    """Raised where a backend has executed, and has written beside all resources that it was given.

    The message says where.
    """


class GivenUp(BaseException):
    """Raised where a backend is not asked any more: too many of its processes were lost, or no new one starts.

    The message is the reason for an incomplete run. It is no `Exception`, so that nothing on the way takes it for a
    failure of the case that happened to be next: neither a judge nor Hypothesis.

    Attributes:
        lost: processes that were lost, and are not told of by a record.
    """

    def __init__(self, message: str, lost: tuple[Loss, ...] = ()) -> None:
        super().__init__(message)
        self.lost = lost
