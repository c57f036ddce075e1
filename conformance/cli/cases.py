"""Cases that a command line names: as JSON text, in files, in DxDispatch models, in results and packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from dml_conformance.conformance.campaign.plan import moved
from dml_conformance.conformance.cli.lines import echo
from dml_conformance.conformance.exchange.dxdispatch.importing import import_document, is_model
from dml_conformance.conformance.exchange.failures import check_data
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.records import NOT_CONFORMANT, Campaign, Record, Verdict
from dml_conformance.reports.model.stream import Consumer, FanOut
from dml_conformance.reports.model.summary import FailureGroup, Summary, failure_kind
from dml_conformance.reports.model.text import MALFORMED
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.package import SUFFIX
from dml_conformance.reports.package.archive import take_snapshot
from dml_conformance.reports.store.authentication import Authenticity
from dml_conformance.reports.store.results import Store, StoreError
from dml_conformance.reports.views.console import Steps
from dml_conformance.spec.accuracy import DIRECTML
from dml_conformance.spec.case import Case
from dml_conformance.spec.forms import FormError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.model_files import MAX_BYTES, parse_document
from dml_conformance.spec.validator import Reading

_SQLITE = b"SQLite format 3\0"
_NUMBER = re.compile(r"[0-9]{1,7}")
_DIGEST = re.compile(r"[0-9a-fA-F]{8,64}")


@dataclass(frozen=True)
class NamedCase:
    """A case and where it was named.

    Attributes:
        name: for messages.
        case: in the documented reading.
        record: what a backend made of it, where it comes from results.
        reading: by which it was judged there.
        accuracy: name of the tolerance whose bounds its results were held to there.
    """

    name: str
    case: Case
    record: Record | None = None
    reading: Reading | None = None
    accuracy: str = DIRECTML.name

    def at(self, level: Level) -> NamedCase:
        """The case at a level, where it may be valid or not."""
        return self if self.case.level is level else replace(self, case=moved(self.case, level), record=None)


def read_cases(argument: str, level: Level | None = None) -> list[NamedCase]:
    """The cases that one argument names.

    Args:
        argument: a case as JSON text; a file with one, with a list of them, or a DxDispatch model; `-` for standard
            input; `RESULTS#ID`, a case of a results file, of a folder that holds one or of a package, by the beginning
            of its digest (8 digits or more) or by its number; `RESULTS` alone: the smallest failing case of each kind,
            operator and rule.
        level: to judge them at, in place of their own. One that was judged at another is held against no record then.

    Raises:
        FormError, ModelError, StoreError, OSError: it is none of these, or cannot be read; the message names it.
    """
    found = _read_cases(argument, level)
    return found if level is None else [one.at(level) for one in found]


def _read_cases(argument: str, level: Level | None) -> list[NamedCase]:
    """As `read_cases`; a model is read at the level, the others at their own."""
    if argument.lstrip().startswith(("{", "[")):
        return _from_json(argument.encode(), "CASE", Path(), level)
    if argument == "-":
        return _from_json(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input", Path(), level)
    path, number = _split(argument)
    if number is not None or path.is_dir() or _is_results(path):
        with opened_results(path) as store:
            return _from_results(store, argument, number)
    with path.open("rb") as stream:
        return _from_json(stream.read(MAX_BYTES + 1), click.format_filename(path), path.parent, level)


def _split(argument: str) -> tuple[Path, str | None]:
    """Path and id of an argument; a file whose name has a # in it is itself."""
    before, mark, after = argument.rpartition("#")
    if not mark or Path(argument).exists():
        return Path(argument), None
    return Path(before), after


def _is_results(path: Path) -> bool:
    if path.name.endswith(SUFFIX):
        return True
    with path.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


@contextmanager
def opened_results(path: Path) -> Iterator[Store]:
    """The results file at a path, in a folder such as certify leaves, or in a package."""
    if path.name.endswith(SUFFIX):
        with TemporaryDirectory() as folder:
            take_snapshot(path, Path(folder))  # refuses what is no package or could do harm
            try:
                with Store(Path(folder) / RESULTS) as store:
                    store.path = path / RESULTS
                    yield store
            except StoreError as error:  # the user knows the package, and not where it was unpacked
                raise StoreError(str(error).replace(str(Path(folder)), str(path))) from error
        return
    with Store(path / RESULTS if path.is_dir() else path) as store:
        yield store


def _from_results(store: Store, argument: str, number: str | None) -> list[NamedCase]:
    campaign = store.campaign
    if number is None:
        groups: dict[tuple[Any, ...], FailureGroup] = {}
        for record in store.records(verdict=NOT_CONFORMANT):
            key = failure_kind(record), record.operator, record.rule
            groups.setdefault(key, FailureGroup(*key, smallest=record)).add(record)
        return [_named(f"{argument}#{group.smallest.case[:12]}", group.smallest, campaign) for group in groups.values()]
    if _NUMBER.fullmatch(number):
        found = [record for _, record in store.numbered([int(number)])]
    elif _DIGEST.fullmatch(number):
        found = list(store.records_of_case(number))
    else:
        raise FormError(
            argument, "expected RESULTS#ID, the ID being 8 to 64 hexadecimal digits of a case's digest, or its number"
        )
    if not found:
        raise FormError(argument, f"{store.path} has no such case")
    if len({record.case for record in found}) > 1:
        raise FormError(argument, f"{store.path} has several such cases; give more digits")
    # A case that came twice, in two phases, is taken as it failed, if it did.
    failed = [record for record in found if record.verdict is not Verdict.PASS]
    return [_named(argument, (failed or found)[-1], campaign)]


def _named(name: str, record: Record, campaign: Campaign) -> NamedCase:
    case = Case.from_json(record.case_json, name)
    return NamedCase(name, case, record, Reading(campaign.spec), campaign.accuracy)


def _from_json(content: bytes, name: str, folder: Path, level: Level | None) -> list[NamedCase]:
    value: Any
    try:
        value = msgspec.json.decode(content)
    except MALFORMED as error:
        if b"dispatchables" not in content:
            raise FormError(name, f"expected a case as JSON: {error}") from None
        value = parse_document(content, name)  # DxDispatch lets its JSON have comments and trailing commas
    if is_model(value):
        imported = import_document(parse_document(content, name), name, folder, level)
        if not imported.cases:
            raise FormError(name, "is a DxDispatch model without an operator known here")
        return [NamedCase(f"{name}: {one.where}", one.case) for one in imported.cases]
    if not isinstance(value, list):
        return [_given(value, name)]
    names = [f"{name}[{n}]" for n in range(len(value))]
    return [_given(item, where) for where, item in zip(names, value, strict=True)]


def _given(value: Any, where: str) -> NamedCase:
    case = Case.from_json(value, where)
    check_data(case, where)
    return NamedCase(where, case)


def authenticate(store: Store) -> None:
    """Say on standard error where it cannot be told whether something else has changed what a command wrote.

    Raises:
        StoreError: something has.
    """
    found = store.authenticity()
    if found is Authenticity.CHANGED:
        raise StoreError(f"{store.path}: {found.value}; take it from where it was kept unchanged, or run again")
    if found is not Authenticity.SOUND:
        echo(f"{store.path}: cannot be authenticated here: {found.value}", err=True)


def replay_shown(store: Store, consumer: Consumer) -> None:
    """Give a consumer the stream that was stored, once it is authenticated, and show how far it is."""
    authenticate(store)
    with Steps(f"Reading {store.path}", len(store)) as steps:
        store.replay(FanOut(consumer, StepCounter(steps)))


def shown_summary(store: Store) -> Summary:
    """The sums of a stored campaign, read as `replay_shown` reads it."""
    summary = Summary()
    replay_shown(store, summary)
    return summary


class StepCounter(Consumer):
    """A consumer that takes a step for each record."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def record(self, record: Record | EncodedRecord) -> None:
        self._steps.advance()
