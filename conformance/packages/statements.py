"""What a package says about itself: the vendor's statement, and what follows from the campaign.

All but what the vendor states follows from the records, so whoever verifies a package makes it anew and compares.
"""

from __future__ import annotations

import hashlib
from itertools import groupby

from dml_conformance.conformance.packages.profiles import ClaimsProfile
from dml_conformance.reports.model.records import Campaign, Phase, Record, Verdict
from dml_conformance.reports.model.summary import CellVerdict, Summary
from dml_conformance.reports.package.forms import CaseList, Certified, Claims, PhaseCases, Predicate, Stated, Statement


def statement_of(summary: Summary, profile: ClaimsProfile, stated: Stated | None) -> Statement:
    """The statement of a campaign that has ended."""
    campaign, ending, backend = summary.campaign, summary.ending, summary.campaign.backend
    return Statement(
        suite_version=campaign.suite_version,
        stated=stated,
        profile=profile.value,
        claims=Claims(
            backend=backend["name"],
            device=backend["device"],
            versions=backend["versions"],
            levels=list(backend["levels"]),
            operators=list(backend["operators"]),
            categories=list(backend["enforces"]),
            executes=backend["executes"],
        ),
        outcome=str(summary.conformance),
        certified=[
            Certified(
                operator=operator,
                levels=[cell.level for cell in cells if cell.verdict in (CellVerdict.CONFORMANT, CellVerdict.NARROWER)],
            )
            for operator, cells in groupby(summary.matrix(), key=lambda cell: cell.operator)
        ],
        waived=summary.counts[Verdict.WAIVED],
        started=campaign.started,
        finished="" if ending is None else ending.finished,
    )


def predicate_of(statement: Statement) -> Predicate:
    """What a signature says of a package."""
    stated = statement.stated
    return Predicate(
        suite_version=statement.suite_version,
        outcome=statement.outcome,
        profile=statement.profile,
        product="" if stated is None else f"{stated.product} {stated.product_version}",
        vendor="" if stated is None else stated.vendor,
    )


class CaseDigests:
    """Digests of the cases of a stream, phase by phase."""

    def __init__(self) -> None:
        self._found: dict[Phase, tuple[int, hashlib._Hash]] = {}

    def add(self, record: Record) -> None:
        """Take one record of the stream."""
        count, digest = self._found.get(record.phase) or (0, hashlib.sha256())
        digest.update(f"{record.case}\n".encode())
        self._found[record.phase] = count + 1, digest

    def case_list(self, campaign: Campaign) -> CaseList:
        """The corpus of a campaign whose records were taken."""
        return CaseList(
            suite_version=campaign.suite_version,
            seed=campaign.seed,
            budget=campaign.budget,
            operators=list(campaign.operators),
            levels=list(campaign.levels),
            spec="observed" if campaign.spec == "observed" else "documented",
            accuracy=campaign.accuracy,
            phases=[
                PhaseCases(phase=phase, cases=self._found[phase][0], sha256=self._found[phase][1].hexdigest())
                for phase in Phase
                if phase in self._found
            ],
        )
