"""Executing a sample of a package's cases again, with other data than is on record.

A backend that has learned the answers to a corpus by heart has not learned these: descriptors stay, and what the
tensors hold is drawn anew. So an answer that rests on the data itself is found out, and so is a package whose results
came from elsewhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from dml_conformance.backends.base import Capabilities
from dml_conformance.backends.processes.backend import opened
from dml_conformance.backends.processes.errors import GivenUp
from dml_conformance.backends.processes.limits import Limits
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.losses import take_losses
from dml_conformance.conformance.packages.verify.cases import numbered, place
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.reports.model.records import NOT_CONFORMANT, Record, Verdict
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.validator import Reading
from dml_conformance.strategies.values import EXPLICIT, MAX_SEED

CHECK = "rerun"


@dataclass(frozen=True)
class Rerun:
    """What is executed again.

    Attributes:
        share: of all cases, from 0 to 1; at least one case is.
        backend_name: as on the command line.
        seed: of the sample and of its data.
        limits: that the backend's process is held to; None = it runs in this one.
    """

    share: Fraction
    backend_name: str
    seed: int
    limits: Limits | None


def parse_share(text: str) -> Fraction:
    """Read `1%` or `0.5%`; raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%", text.strip())
    share = Fraction(match[1]) / 100 if match else Fraction(0)
    if not 0 < share <= 1:
        raise ValueError(f"expected a share such as 1%, above 0% and up to 100%; found {text!r}")
    return share


def rerun_sample(rerun: Rerun, store: Store, claims: Capabilities, total: int, findings: Findings) -> None:
    """Judge a random sample again; what comes out otherwise than on record is found wrong.

    Raises:
        BackendError: the backend cannot be had.
    """
    chooser = random.Random(rerun.seed)  # noqa: S311 - the seed is fresh unless one is asked for, and is shown
    wanted = set(chooser.sample(range(1, total + 1), max(1, round(total * rerun.share))))
    with opened(rerun.backend_name, rerun.limits) as backend:
        own = backend.capabilities()
        campaign = store.campaign
        judge = Judge(
            backend,
            rerun.backend_name,
            Reading(campaign.spec),
            claims=claims,
            tolerance=TOLERANCES[campaign.accuracy],
        )
        try:
            for number, record in numbered(store.records()):
                if number in wanted:
                    _rerun(judge, number, record, chooser, findings)
        except GivenUp as reason:
            findings.add(CHECK, RESULTS, "", f"executed again: {reason}")
        lost = take_losses(backend)
    other = [name for name in ("name", "device") if getattr(own, name) != getattr(claims, name)]
    beside = f"; beware, its {' and '.join(other)} differ from the package's" if other else ""
    # Of lost processes, each that a case is to blame for is found wrong besides.
    losses = "".join(f"; its process {loss.how}, {loss.count} times" for loss in lost)
    about = f"{len(wanted):,} cases on {own.name}, {own.device}, seed {rerun.seed}"
    findings.end(CHECK, f"{about}{beside}{losses}")


def _rerun(judge: Judge, number: int, record: Record, chooser: random.Random, findings: Findings) -> None:
    on_record = Verdict(record.waived) if record.verdict is Verdict.WAIVED else record.verdict
    case = Case.from_json(record.case_json)
    fresh = msgspec.structs.replace(case, data=_fresh(case.data, chooser))
    # What has failed for its data need not fail for others.
    attempts: Sequence[Case] = (fresh, case) if on_record in NOT_CONFORMANT else (fresh,)
    for attempt in attempts:
        again = judge.record(attempt, record.phase)
        if (again.verdict, again.answered) == (on_record, record.answered):
            return
    problem = expected(f"{on_record} {record.answered}".strip(), f"{again.verdict} {again.answered}".strip())
    reason = f" ({again.reason})" if again.reason else ""
    line = f"; {again.reproduce}" if again.reproduce else ""
    findings.add(CHECK, RESULTS, place(number, record), f"executed again: {problem}{reason}{line}")


def _fresh(data: dict[str, Recipe] | None, chooser: random.Random) -> dict[str, Recipe] | None:
    """The same patterns filled otherwise; explicit values stay as they are."""
    return data and {
        name: recipe
        if recipe.pattern == EXPLICIT
        else msgspec.structs.replace(recipe, seed=chooser.randrange(MAX_SEED + 1))
        for name, recipe in data.items()
    }
