"""Whether the cases of a package are those that this suite makes: none left out, none twice, none edited.

Examples, boundaries and sweep follow from operators, levels, budget and seed, so they are made again.
`searched` does the same for the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dml_conformance.conformance.campaign.engine import Engine, rule_to_search
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.spec.case import Case

CHECK = "cases"


class FoundCases:
    """What of a package's records says which cases there are, phase by phase; gathered record by record.

    Args:
        engine: of the campaign; notes which rules failed before the search.
        findings: takes what is wrong.

    Attributes:
        digests: of the cases.
        searched: what each case of the search is about: operator, level and rule.
        failures: of each rule the first record of the search that failed, by its place there; it ends at such a one.
        failed: the rules of these.
        in_order: whether the phases are.
    """

    def __init__(self, engine: Engine, findings: Findings) -> None:
        self.digests: dict[Phase, list[bytes]] = {phase: [] for phase in Phase}
        self.searched: list[tuple[str, str, str]] = []
        self.failures: dict[int, Record] = {}
        self.failed: set[tuple[str, str]] = set()
        self.in_order = True
        self._engine = engine
        self._findings = findings
        self._latest = Phase.EXAMPLES
        self._order = list(Phase)

    def add(self, number: int, record: Record) -> None:
        """Take one record of the stream.

        Args:
            number: in the stream, from 1 on.
            record: of the right form.
        """
        phase = record.phase
        if self._order.index(phase) < self._order.index(self._latest):
            problem = f"a case of phase {phase} after one of {self._latest}"
            self._findings.add(CHECK, RESULTS, place(number, record), problem)
            self.in_order = False
        else:
            self._latest = phase
        self.digests[phase].append(bytes.fromhex(record.case))
        if phase is not Phase.SEARCH:
            self._engine.note(record)
            return
        about = rule_to_search(record)
        if record.judged in NOT_CONFORMANT and (record.operator, about) not in self.failed:
            self.failed.add((record.operator, about))
            self.failures[len(self.searched)] = record
        self.searched.append((record.operator, record.level, about))


def planned_cases(engine: Engine, phase: Phase, found: FoundCases, findings: Findings) -> Iterator[Case | None]:
    """The case of each record of a phase whose cases are known beforehand, in order; None where the record's own has to
    do. Says what is left out, twice or foreign."""
    cases = [case.read(engine.judge.reading) for case in engine.cases(phase)]
    digests = [bytes.fromhex(case.digest) for case in cases]
    if digests == found.digests[phase]:
        return iter(cases)
    _tell_differences(phase, cases, digests, found.digests[phase], findings)
    return iter([None] * len(found.digests[phase]))


def _tell_differences(
    phase: Phase, cases: Sequence[Case], digests: Sequence[bytes], found: Sequence[bytes], findings: Findings
) -> None:
    """The cases that are left out or that should not be there; or, where there is none, the first out of place."""
    wanted, there = Counter(digests), Counter(found)
    by_digest = dict(zip(digests, cases, strict=True))
    before = findings.total
    for digest, count in (wanted - there).items():
        case = by_digest[digest]
        at = f"{phase}: case {digest.hex()} ({case.operator} at {case.level}, {case.origin})"
        findings.add(CHECK, RESULTS, at, _times(wanted[digest], wanted[digest] - count))
    for digest, count in (there - wanted).items():
        foreign = "" if digest in wanted else "; no case of this release, seed and budget"
        at = f"{phase}: case {digest.hex()}"
        findings.add(CHECK, RESULTS, at, _times(there[digest] - count, there[digest]) + foreign)
    if findings.total == before:
        n = next(n for n, (one, other) in enumerate(zip(digests, found, strict=True)) if one != other)
        problem = f"out of order: {expected(digests[n].hex(), found[n].hex())}"
        findings.add(CHECK, RESULTS, f"{phase}: case number {n + 1}", problem)


def _times(wanted: int, found: int) -> str:
    words = {0: "not at all", 1: "once", 2: "twice"}
    return f"expected {words.get(wanted, f'{wanted} times')}, found {words.get(found, f'{found} times')}"


def place(number: int, record: Record) -> str:
    """How a finding names a record."""
    return f"record {number} (case {record.case[:16]}, {record.operator} at {record.level})"


def numbered(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    """Records with their numbers, from 1 on."""
    return enumerate(records, 1)
