"""Whether workers are alike, as results of unlike ones would be no results of one backend; and what goes to Dask's
workers to find out: bytes, and bytes come back, decoded with all types checked. Tasks and answers are those of any
process of `conformance.workers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.conformance.workers.environment import environment
from dml_conformance.conformance.workers.messages import WorkerClaims, WorkerFault
from dml_conformance.conformance.workers.setup import JudgeSetup
from dml_conformance.reports.model.release import suite_version


class WorkerIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker says of itself before it is given anything to do.

    Attributes:
        suite_version: of this package.
        environment: as a certificate has it.
        claims: what the backends claim there, or why they cannot be had.
    """

    suite_version: str
    environment: dict[str, str]
    claims: WorkerClaims | WorkerFault

    @classmethod
    def own(cls, claims: WorkerClaims | WorkerFault) -> WorkerIdentity:
        """That of this process."""
        return cls(suite_version(), environment(), claims)


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run asks of every worker.

    Attributes:
        run: a name of its own, so that no run gets a backend that was loaded for another.
        setup: what cases are judged by.
        suite_version: of this package, where it was asked.
        claims: what each backend has to claim; empty where that is what is asked.
    """

    run: str
    setup: JudgeSetup
    suite_version: str
    claims: tuple[Capabilities, ...] = ()


decode_identity: Callable[[bytes], WorkerIdentity] = msgspec.msgpack.Decoder(WorkerIdentity).decode
decode_order: Callable[[bytes], Order] = msgspec.msgpack.Decoder(Order).decode


def first_difference(expected: Sequence[Capabilities], found: Sequence[Capabilities]) -> str:
    """Where what backends claim differs from what others claim, in words; "" where it does not.

    Args:
        expected: of each backend.
        found: of the same backends, elsewhere.
    """
    for one, other in zip(expected, found, strict=True):
        wanted, there = one.as_json(), other.as_json()
        for name in wanted:
            if wanted[name] != there[name]:
                return f"{one.name}: {name}: expected {_part(wanted[name], there[name])}"
    return ""


def _part(wanted: Any, there: Any) -> str:
    """The part of two values that differs: entries of a mapping, or what only one of two lists has."""
    if isinstance(wanted, Mapping):
        keys = [key for key in sorted({*wanted, *there}) if wanted.get(key) != there.get(key)]
        return f"{_entries(wanted, keys)}, found {_entries(there, keys)}"
    if isinstance(wanted, list):
        missing = ", ".join(map(str, (item for item in wanted if item not in there))) or "nothing else"
        more = ", ".join(map(str, (item for item in there if item not in wanted))) or "nothing else"
        return f"{missing}, found {more}"
    return f"{wanted!r}, found {there!r}"


def _entries(values: Mapping[str, Any], keys: Sequence[str]) -> str:
    return ", ".join(f"{key} {values[key]}" if key in values else f"no {key}" for key in keys)


def environment_of(identities: Sequence[WorkerIdentity]) -> dict[str, str]:
    """What a certificate has to tell of the workers: where their environment is not that of this process.

    How many workers there are is no part of it, so that it is the same for any number of like ones.
    """
    found = {}
    for what, own in environment().items():
        there = {identity.environment.get(what, "unknown") for identity in identities}
        if there - {own}:
            found[f"{what} of workers"] = ", ".join(sorted(there))
    return found
