"""Putting the processes that a backend has lost on record, with the case that they were lost over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import Loss, LossTally, losses_together
from dml_conformance.reports.model.records import NOT_CONFORMANT, Record


def take_losses(backend: object) -> tuple[Loss, ...]:
    """The processes that a backend has lost since this was asked last; none of one in this process."""
    return backend.take_losses() if isinstance(backend, IsolatedBackend) else ()


def tally_of(backend: object) -> LossTally:
    """How many processes a backend has lost until now; none where it is in this process."""
    return backend.tally if isinstance(backend, IsolatedBackend) else LossTally()


def with_losses(records: Iterable[Record], backend: object, *, in_the_end: bool = False) -> Iterator[Record]:
    """Records that are judged as they are asked for, each with the processes that were lost since the one before.

    Args:
        records: of cases judged on the backend; asked for one ahead.
        backend: that it is.
        in_the_end: whether all losses are the last record's, as in a search, which ends with what fails.

    Raises:
        GivenUp: as it is raised by the records, with the losses that none of them has.
    """
    held: Record | None = None
    try:
        for record in records:
            if held is not None:
                yield held
            # To what was not asked of the backend it has lost nothing: that is the next one's.
            held = _with(record, take_losses(backend)) if was_asked(record) and not in_the_end else record
    except GivenUp as reason:
        reason.lost = take_losses(backend)
        if held is not None:
            yield held
        raise
    if held is not None:
        yield _with(held, take_losses(backend))


def was_asked(record: Record) -> bool:
    """Whether the backend was asked about the case."""
    return bool(record.answered) or record.judged in NOT_CONFORMANT


def _with(record: Record, lost: tuple[Loss, ...]) -> Record:
    return replace(record, lost=losses_together((*record.lost, *lost))) if lost else record
