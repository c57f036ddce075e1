"""Certifying a backend: a campaign from start to end, told to whoever listens."""

from __future__ import annotations

import platform
import sys
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Protocol

import numpy as np

from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.losses import Loss
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.campaign.throughput import measure
from dml_conformance.conformance.campaign.units import Unit
from dml_conformance.conformance.exchange.failures import digest_of
from dml_conformance.conformance.judge.losses import take_losses
from dml_conformance.conformance.strength import strength_of
from dml_conformance.reports.encoded import EncodedRecord
from dml_conformance.reports.records import Campaign, Ending, describe_rules, utc_now
from dml_conformance.reports.release import suite_version
from dml_conformance.reports.resuming import PartialRun
from dml_conformance.reports.stream import Consumer, FanOut

# In the environment: what makes the cases of the search, and what compresses the report's page.
PYTHON, HYPOTHESIS, ZLIB = "python", "hypothesis", "zlib"
THROUGHPUT = "throughput"  # the unit of work that is all measurements together


class Workers(Protocol):
    """Processes that judge units of work in place of this one."""

    def judged(self, engine: Engine) -> Iterator[tuple[Unit, Iterator[EncodedRecord]]]:
        """The units of a campaign in order, each with its records, which are noted as they are asked for."""

    def close(self) -> None:
        """End the processes."""


def certify(
    engine: Engine, consumer: Consumer, begun: PartialRun | None = None, workers: Workers | None = None
) -> None:
    """Run a whole campaign and feed its stream to `consumer`: the campaign, each record, each row, the end.

    Args:
        engine: runs it.
        consumer: hears of each finished unit, too, if it takes marks.
        begun: what of this campaign was finished before it was interrupted; the stream begins with that.
        workers: judge all cases; what is measured, is measured when they have ended. None = this process does.

    Raises:
        ResumeError: what is begun is damaged, or of another campaign, which the consumer finds out at its start.
    """
    stream = FanOut(consumer)
    stream.start(describe_campaign(engine))
    if begun is not None:
        for record in engine.resume(begun.records(), begun.units):
            stream.record(record)
        for row in begun.throughputs():
            stream.throughput(row)
        if begun.ending is not None:
            stream.finish(begun.ending)
            return
    given_up, lost = "", tuple[Loss, ...]()
    try:
        if workers is None:
            for unit in engine.units():
                for record in engine.judged(unit):
                    stream.record(record)
                stream.mark(unit.name)
        else:
            for unit, records in workers.judged(engine):
                for written in records:
                    stream.encoded_record(written)
                stream.mark(unit.name)
            workers.close()
        if begun is None or THROUGHPUT not in begun.units:
            for row in measure(engine.judge, engine.operators, engine.levels, engine.budget):
                stream.throughput(row)
            lost = take_losses(engine.judge.backend)
            if not lost:  # or, resumed just now, the run would not know of them
                stream.mark(THROUGHPUT)
    except GivenUp as reason:
        given_up, lost = str(reason), (*lost, *reason.lost, *take_losses(engine.judge.backend))
    stream.finish(Ending.now(given_up, lost))


def describe_campaign(engine: Engine) -> Campaign:
    """What a campaign is about, before its first record."""
    return Campaign(
        backend=engine.judge.capabilities.as_json(),
        suite_version=suite_version(),
        operators=tuple(engine.operators),
        levels=tuple(level.label for level in engine.levels),
        budget=engine.budget.name,
        seed=engine.seed,
        spec=engine.judge.reading,
        started=utc_now(),
        environment={**environment(), **_saved(engine)},
        rules=describe_rules(engine.operators),
        strength=strength_of(engine.budget.name),
        repeat=engine.judge.repeat,
    )


def _saved(engine: Engine) -> dict[str, str]:
    """What a campaign has beside the cases that follow from the rest of its description."""
    saved = engine.saved_here()
    return {"saved failures": f"{len(saved)}, SHA-256 {digest_of(saved)}"} if saved else {}


def environment() -> dict[str, str]:
    """The machine and the libraries that the harness itself runs on."""
    return {
        PYTHON: platform.python_version(),
        "numpy": np.__version__,
        HYPOTHESIS: version("hypothesis"),
        ZLIB: zlib.ZLIB_RUNTIME_VERSION,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "byte order": sys.byteorder,
    }
