"""Verifying a certification package. Nothing in it is trusted: what can be computed again is, and the rest is said.

The order matters: the results are read as a database only when it has our tables and no others, and as records only
when the campaign is one that this release can have run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from datetime import date
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.packages.statements import CaseDigests
from dml_conformance.conformance.packages.verify import campaign as campaigns
from dml_conformance.conformance.packages.verify import cases as cases_
from dml_conformance.conformance.packages.verify import verdicts
from dml_conformance.conformance.packages.verify.campaign import check_campaign, check_walls
from dml_conformance.conformance.packages.verify.cases import FoundCases, numbered, planned_cases
from dml_conformance.conformance.packages.verify.chains import check_chains
from dml_conformance.conformance.packages.verify.documents import check_documents, check_waivers, read_package_waivers
from dml_conformance.conformance.packages.verify.files import (
    check_archive,
    check_files,
    check_rows,
    check_signature,
    is_our_database,
    read_document,
)
from dml_conformance.conformance.packages.verify.findings import Findings, VerificationCheck, VerificationFinding
from dml_conformance.conformance.packages.verify.replayed import ReplayedJudge
from dml_conformance.conformance.packages.verify.rerun import Rerun, rerun_sample
from dml_conformance.conformance.packages.verify.searched import searched_cases
from dml_conformance.conformance.packages.verify.verdicts import VerdictCheck
from dml_conformance.reports.model.records import JUDGED_PHASES, SEED_COMMITMENT, Campaign, Phase, Record, Verdict
from dml_conformance.reports.model.stream import StreamError
from dml_conformance.reports.model.summary import Conformance, Summary
from dml_conformance.reports.output.folder import RESULTS, OutputError, OutputFolder
from dml_conformance.reports.output.reports import ReportFolder
from dml_conformance.reports.package import STATEMENT, PackageFormError
from dml_conformance.reports.package.archive import Snapshot, take_snapshot
from dml_conformance.reports.package.forms import Statement
from dml_conformance.reports.store.results import Store, StoreError
from dml_conformance.spec.accuracy import TOLERANCES
from dml_conformance.spec.levels import Level
from dml_conformance.spec.validator import Reading

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

RECORDS = "records"
AGAIN = "again"  # the folder of the reports that are made again; no file of a package is called so


class Verification(msgspec.Struct, frozen=True):
    """What verifying a package came to.

    Attributes:
        verifies: whether nothing was found wrong.
        outcome: of the campaign that the package is about, from its records; "" where they cannot be read.
        headline: the outcome in a sentence.
        checks: what was looked at, in order.
        findings: what is wrong; of each check the first ones.
        hidden: how many more there are of a check.
        statement: what the package says of itself; null where it cannot be read. Only where the package verifies does
            it follow from the records.
    """

    verifies: bool
    outcome: str
    headline: str
    checks: list[VerificationCheck]
    findings: list[VerificationFinding]
    hidden: dict[str, int]
    statement: Statement | None

    @property
    def exit_code(self) -> int:
        """1 if the package does not verify; otherwise that of the campaign's outcome."""
        return Conformance(self.outcome).exit_code if self.verifies else 1


def verify(
    package: Path,
    *,
    key: Ed25519PublicKey | None = None,
    today: date,
    walls: Collection[str] = (),
    rerun: Rerun | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Verification:
    """Verify a package.

    Args:
        package: a folder, or an archive of one.
        key: that the package has to be signed with; None = any or none.
        today: waivers have to hold on this day.
        walls: that must have stood.
        rerun: what to execute again; None = nothing.
        progress: is told how many of how many steps are done.

    Raises:
        PackageError: it is no package, or one that could do harm.
        BackendError: the backend of `rerun` cannot be had.
    """
    findings = Findings()
    with tempfile.TemporaryDirectory(prefix="dml-conformance-") as folder:
        snapshot = take_snapshot(package, Path(folder))
        check_files(snapshot, findings)
        is_whole = findings.total == 0
        check_archive(snapshot, findings)
        statement = read_document(snapshot, STATEMENT, Statement, "documents", Findings())
        check_signature(snapshot, key, statement, findings)
        summary = None
        if not is_whole:  # deciding on all cases again takes minutes, and can find nothing better
            findings.end(RECORDS, "not looked at, as the files are not those of the manifest", done=False)
        elif is_our_database(snapshot, findings):
            try:
                with Store(snapshot.folder / RESULTS) as store:
                    summary = _check_store(store, snapshot, today, walls, rerun, progress, findings)
            except (StoreError, StreamError, PackageFormError) as error:
                problem = str(error).replace(f"{snapshot.folder}/", "")
                findings.add(RECORDS, RESULTS, "", problem)
    verifies = findings.total == 0 and summary is not None
    return Verification(
        verifies=verifies,
        outcome="" if summary is None else str(summary.conformance),
        headline="" if summary is None else summary.headline(),
        checks=findings.checks,
        findings=findings.shown,
        hidden=dict(findings.hidden()),
        statement=statement,
    )


def _check_store(
    store: Store,
    snapshot: Snapshot,
    today: date,
    walls: Collection[str],
    rerun: Rerun | None,
    progress: Callable[[int, int], None],
    findings: Findings,
) -> Summary | None:
    claims = check_campaign(store.campaign, store.ending, findings)
    check_walls(store.campaign, walls, findings)
    about = f"of release {store.campaign.suite_version!a}, budget {store.campaign.budget!a}"
    if committed := store.campaign.environment.get(SEED_COMMITMENT):
        about += f", commitment to the seed {committed!a}"
    findings.end(campaigns.CHECK, about)
    if claims is None:
        return None
    total = 2 * len(store)
    judge = ReplayedJudge(claims, Reading(store.campaign.spec), TOLERANCES[store.campaign.accuracy])
    engine = _engine(store.campaign, judge)
    digests, found = CaseDigests(), FoundCases(engine, findings)
    # A sibling of the snapshot, in a folder that is gone afterwards.
    with OutputFolder(snapshot.folder / AGAIN) as output:
        reports = ReportFolder(output, complete=lambda folder: None)
        try:
            whole = _read_records(store, reports, digests, found, findings, lambda done: progress(done, total))
        finally:
            reports.close()
    if not whole:
        return None
    check_rows(snapshot.folder / RESULTS, snapshot.folder / AGAIN / RESULTS, findings)
    summary = reports.summary
    if not found.in_order:
        findings.end(cases_.CHECK, "the phases are not in order; nothing more was looked at")
        return None
    waivers = read_package_waivers(snapshot, store.campaign, today, findings)
    check = VerdictCheck(judge, waivers, findings)
    unsure, failures = "", list[Record]()
    records = numbered(store.records())
    for phase in Phase:
        if phase is Phase.SEARCH:
            planned, unsure = searched_cases(engine, found, store.campaign.environment, findings)
        elif phase in (Phase.THROUGHPUT, Phase.CHAINS):
            planned = repeat(None)
        else:
            planned = planned_cases(engine, phase, found, findings)
        for number, record in islice(records, len(found.digests[phase])):
            check.check(number, record, next(planned))
            if phase is Phase.CHAINS:
                failures.append(record)
            progress(summary.total + number, total)
    told = [phase for phase in Phase if phase in JUDGED_PHASES or found.digests[phase]]
    counts = ", ".join(f"{phase} {len(found.digests[phase]):,}" for phase in told)
    findings.end(cases_.CHECK, "; ".join(filter(None, (f"{summary.total:,} cases: {counts}", unsure))))
    findings.end(verdicts.CHECK, f"{summary.total:,} decided again, {check.computed:,} computed again")
    if store.ending is not None:
        check_chains(engine, judge, store.ending, failures, findings)
    check_waivers(waivers, summary.counts[Verdict.WAIVED], findings)
    check_documents(snapshot, snapshot.folder / AGAIN, summary, digests, findings)
    if rerun is not None and findings.total:
        findings.end("rerun", "not done, as the package does not verify", done=False)
    elif rerun is not None:
        rerun_sample(rerun, store, claims, summary.total, findings)
    return summary


def _engine(campaign: Campaign, judge: ReplayedJudge) -> Engine:
    levels = [Level.parse(label) for label in campaign.levels]
    return Engine(
        judge,
        campaign.operators,
        levels,
        BUDGETS[campaign.budget],
        campaign.seed,
        every_level=campaign.every_level,
        network_names=[network.name for network in campaign.networks],
    )


def _read_records(
    store: Store,
    reports: ReportFolder,
    digests: CaseDigests,
    found: FoundCases,
    findings: Findings,
    progress: Callable[[int], None],
) -> bool:
    """Read the stream once, and make the reports again; whether all of it is of the right form."""
    reports.start(store.campaign)
    for number, record in numbered(store.records()):
        try:
            record = msgspec.json.decode(msgspec.json.encode(record), type=Record)
            found.add(number, record)
            digests.add(record)
            reports.record(record)
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
            findings.add(RECORDS, RESULTS, f"record {number}", f"not of the form of a record: {error}")
            return False
        progress(number)
    total = reports.summary.total
    if total != len(store):
        findings.add(RECORDS, RESULTS, "", f"expected {len(store)} records, found {total}")
    if store.ending is None:
        findings.add(RECORDS, RESULTS, "", "the run was cut off before its end; expected a whole campaign")
        return False
    try:
        for row in store.throughputs():
            reports.throughput(row)
        reports.finish(store.ending)
    except (OutputError, msgspec.MsgspecError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        problem = f"no reports can be made of these records: {type(error).__name__}: {error}"
        findings.add(RECORDS, RESULTS, "", problem)
        return False
    findings.end(RECORDS, f"{total:,} of the right form")
    return True
