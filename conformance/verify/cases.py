"""Whether the cases of a package are those that this suite makes: none left out, none twice, none edited.

Examples, boundaries and sweep follow from operators, levels, budget and seed, so they are made again. The cases of the
search depend on the backend's answers and on Hypothesis; of them it is checked that each is a sound case of its rule,
and that every rule was searched for as often as the budget says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from conformance.certify import HYPOTHESIS, environment
from conformance.engine import SHRINK_EXAMPLES, Engine
from conformance.search import search
from conformance.verify.findings import Findings, expected
from conformance.verify.replayed import ReplayedJudge
from reports.records import NOT_CONFORMANT, Phase, Record, Verdict
from reports.writing import RESULTS
from spec.case import Case
from spec.levels import Level
from strategies.cases import applicable_rules

CHECK = "cases"


class FoundCases:
    """The digests of a package's cases, phase by phase, and what the search was about; gathered record by record.

    Args:
        findings: takes what is wrong.
        hypothesis: the version that searched, as the campaign says.
    """

    def __init__(self, findings: Findings, hypothesis: str) -> None:
        self.hypothesis = hypothesis
        self.digests: dict[Phase, list[bytes]] = {phase: [] for phase in Phase}
        self.searched: Counter[tuple[str, str, str]] = Counter()
        self.failed_in_search: set[tuple[str, str]] = set()
        self.failed_before: set[tuple[str, str]] = set()
        self._findings = findings
        self.in_order = True
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
        verdict = record.waived if record.verdict is Verdict.WAIVED else record.verdict
        about = str(record.case_json.get("rule"))
        if phase is Phase.SEARCH:
            self.searched[record.operator, record.level, about] += 1
        if verdict in NOT_CONFORMANT and phase is not Phase.SWEEP:
            (self.failed_in_search if phase is Phase.SEARCH else self.failed_before).add((record.operator, about))


def planned_cases(engine: Engine, phase: Phase, found: FoundCases, findings: Findings) -> Iterator[Case | None]:
    """The case of each record of a phase, in order; None where the record's own has to do.

    Says what is left out, twice or foreign, where the phase's cases are known beforehand.
    """
    if phase is Phase.SEARCH:
        _check_search(engine, found, findings)
        return iter([None] * len(found.digests[phase]))
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


def _check_search(engine: Engine, found: FoundCases, findings: Findings) -> None:
    """Whether every rule was searched for, and as often as it should be."""
    searchable = {
        (operator, level.label, rule): level
        for operator in engine.operators
        for level in engine.levels
        for rule in applicable_rules(operator, level)
    }
    for key in found.searched.keys() - searchable.keys():
        findings.add(CHECK, RESULTS, _about(*key), "expected no such search: the rule does not apply there")
    wanted = engine.budget.search
    for (operator, label, rule), level in searchable.items():
        count = found.searched[operator, label, rule]
        if (operator, rule) in found.failed_in_search:
            # It is searched for until it fails, once more to make a known failure smaller, and not any more then.
            least, most = 0, max(wanted, SHRINK_EXAMPLES) + 1
        elif (operator, rule) in found.failed_before:
            least, most = wanted, wanted + SHRINK_EXAMPLES
        else:
            least = most = wanted
        if count < least and (possible := _possible(engine, operator, level, rule)) < least:
            # There are not that many. Another Hypothesis may give up sooner or later than ours.
            least = possible if found.hypothesis == environment()[HYPOTHESIS] else 1
        if not least <= count <= most:
            times = str(least) if least == most else f"{least} to {most}"
            findings.add(CHECK, RESULTS, _about(operator, label, rule), f"expected {times} cases, found {count}")


def _about(operator: str, level: str, rule: str) -> str:
    return f"search: {operator} at {level}, {rule}"


def _possible(engine: Engine, operator: str, level: Level, rule: str) -> int:
    """How many cases a search of the budget's length makes where nothing fails: fewer where there are no more."""
    judge = engine.judge
    assert isinstance(judge, ReplayedJudge)
    judge.passes_all = True
    seed = engine.search_seed(operator, level, rule)
    try:
        return sum(1 for _ in search(judge, operator, level, rule, engine.budget.search, seed))
    finally:
        judge.passes_all = False


def place(number: int, record: Record) -> str:
    """How a finding names a record."""
    return f"record {number} (case {record.case[:16]}, {record.operator} at {record.level})"


def numbered(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    """Records with their numbers, from 1 on."""
    return enumerate(records, 1)
