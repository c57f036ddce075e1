"""Merging: the results of a corpus's shards, run anywhere, become those of an undivided run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import NamedTuple

import msgspec

from dml_conformance.backends.processes.losses import losses_together
from dml_conformance.conformance.campaign.driver import CORPUS_BUDGET, MODELS
from dml_conformance.conformance.exchange.corpus import WHOLE, Header, Shard
from dml_conformance.conformance.judge.blame import Blame, SettledStream
from dml_conformance.reports.model.records import MISSING_WALLS, WALLS, Campaign, Ending, Record, named, walls_of
from dml_conformance.reports.model.release import suite_version
from dml_conformance.reports.model.stream import Consumer
from dml_conformance.reports.store.results import Store, StoreError
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Reading

# What of two shards' campaigns may differ, as they may run on different machines at different times.
_OWN = ("started", "environment")


class MergeError(StoreError):
    """Results that are not the shards of one corpus; the message names a file, what was expected and what was found."""


class ShardResults(NamedTuple):
    """The results of one shard.

    Attributes:
        shard: which one it is.
        store: its records.
        ending: how its run ended.
    """

    shard: Shard
    store: Store
    ending: Ending


def read_shards(stores: Sequence[Store]) -> list[ShardResults]:
    """The shards in their order, held against each other.

    Raises:
        MergeError: they are not the shards of one corpus on one backend, or not all of them.
    """
    found = [_shard(store) for store in stores]
    first = found[0]
    parts = first.shard.parts
    by_number: dict[int, ShardResults] = {}
    for results in found:
        _check_same(first.store, results.store)
        if results.shard.parts != parts:
            raise MergeError(
                f"{results.store.path}: expected a shard of {parts}, as {first.store.path} is one; found "
                f"{results.shard}"
            )
        if (other := by_number.setdefault(results.shard.number, results)) is not results:
            raise MergeError(
                f"{results.store.path}: expected each shard once; {results.shard} is in {other.store.path} too"
            )
    missing = [Shard(number, parts) for number in range(1, parts + 1) if number not in by_number]
    if missing:
        raise MergeError(
            f"{first.store.path}: expected all {parts} shards with it; there is no {', '.join(map(str, missing))}"
        )
    shards = [by_number[number] for number in sorted(by_number)]
    _check_cases(shards)
    return shards


def merge(shards: Sequence[ShardResults], consumer: Consumer) -> None:
    """Give a consumer the stream of the undivided run: its records in the order of the corpus's cases.

    Processes that were lost without a case to blame count together: more than may be forgiven in one run are blamed.

    Args:
        shards: as `read_shards` gives them.
        consumer: of the stream.
    """
    campaign = _merged_campaign([results.store.campaign for results in shards])
    blame = Blame(str(campaign.backend["name"]), Reading(campaign.spec), TOLERANCES[campaign.accuracy])
    stream = SettledStream(blame.settled, consumer)
    stream.start(campaign)
    for record in _in_turn(shards):
        stream.record(record)
    lost = [loss for results in shards for loss in results.ending.lost]
    finished = max(results.ending.finished for results in shards)
    stream.finish(Ending(finished, lost=losses_together(lost)))


def _in_turn(shards: Sequence[ShardResults]) -> Iterator[Record]:
    """The record of case k is the next one of the shard whose number is k modulo their count."""
    for records in cycle([results.store.records() for results in shards]):
        record = next(records, None)
        if record is None:
            return
        yield record


def _shard(store: Store) -> ShardResults:
    campaign, ending = store.campaign, store.ending
    if campaign.budget != CORPUS_BUDGET:
        raise MergeError(
            f"{store.path}: expected results of 'dml-conformance run'; found those of a campaign of budget "
            f"{campaign.budget!r}"
        )
    if campaign.suite_version != suite_version():
        raise MergeError(
            f"{store.path}: expected results of dml-conformance {suite_version()}, which this is; found those of "
            f"{campaign.suite_version}"
        )
    if MODELS in campaign.environment:
        raise MergeError(
            f"{store.path}: its cases are layers of {campaign.environment[MODELS]}; there is no merging of these: run "
            "their corpus whole"
        )
    if ending is None or not ending.complete:
        found = "one that was interrupted" if ending is None else f"one that is incomplete: {ending.reason}"
        raise MergeError(f"{store.path}: expected a complete run; found {found}")
    try:
        return ShardResults(Shard.parse(campaign.environment.get("shard", "")), store, ending)
    except ValueError as error:
        raise MergeError(f"{store.path}: campaign.environment.shard: {error}") from None


def _check_same(one: Store, other: Store) -> None:
    for name in Campaign.__struct_fields__:
        expected, found = (getattr(store.campaign, name) for store in (one, other))
        if name == "backend" and found != expected:
            name = "backend." + next(key for key in {**expected, **found} if expected.get(key) != found.get(key))
            expected, found = (store.campaign.backend.get(name.removeprefix("backend.")) for store in (one, other))
        if name not in _OWN and found != expected:
            raise MergeError(f"{other.path}: {name}: expected {expected!r}, as {one.path} has it; found {found!r}")


def _check_cases(shards: Sequence[ShardResults]) -> None:
    """Hold how many cases each shard has, and the first of them, against the corpus that all are said to be of."""
    counts = [len(results.store) for results in shards]
    for results, count in zip(shards, counts, strict=True):
        campaign = results.store.campaign
        levels = [Level.parse(label) for label in campaign.levels]
        header = Header.of(sum(counts), campaign.seed, campaign.operators, levels, results.shard)
        if count != header.in_shard:
            raise MergeError(
                f"{results.store.path}: expected {header.in_shard:,} of {header.cases:,} cases, as shard "
                f"{results.shard} has; found {count:,}"
            )
        case = next(header.numbered_cases(), None)
        first = next(results.store.records(), None)
        if case is not None and first is not None:
            expected = case.read(Reading(campaign.spec)).digest
            if first.case != expected:
                raise MergeError(
                    f"{results.store.path}: expected case {expected} first, as shard {results.shard} of one corpus of "
                    f"seed {campaign.seed} has it; found {first.case}"
                )


def _merged_campaign(campaigns: Sequence[Campaign]) -> Campaign:
    """The campaign of the whole; where the machines of the shards differ, the environment names all there are, and the
    walls that stood on every one."""
    names = dict.fromkeys(name for campaign in campaigns for name in campaign.environment)
    environment = {
        name: ", ".join(dict.fromkeys(campaign.environment.get(name, "unknown") for campaign in campaigns))
        for name in names
    }
    if WALLS in environment:
        walls = [walls_of(campaign.environment) for campaign in campaigns]
        environment[WALLS] = named(wall for wall in walls[0] if all(wall in each for each in walls))
    if MISSING_WALLS in environment:
        missing = [campaign.environment.get(MISSING_WALLS) for campaign in campaigns]
        environment[MISSING_WALLS] = ", ".join(dict.fromkeys(filter(None, missing)))
    started = min(campaign.started for campaign in campaigns)
    return msgspec.structs.replace(campaigns[0], started=started, environment=environment | {"shard": str(WHOLE)})
