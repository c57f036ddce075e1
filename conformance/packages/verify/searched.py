"""Whether the cases of the search are those that this suite comes upon: none left out, none twice, none exchanged.

Which they are follows from the seed, from the verdicts, as a search ends where a case fails, and from Hypothesis and
Python. So the search is made again, with the verdicts on record in place of a backend. Where it differs, and a version
is another than the package was made with, that may be why: then it is enough that every rule was searched for as often
as the budget says and that each case is a sound case of its rule, which `verdicts` checks. It is enough for a case that
failed, too: that is on record in its smallest form only, to which the backend's answers led.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from dml_conformance.conformance.campaign.engine import SHRINK_EXAMPLES, Engine
from dml_conformance.conformance.judge.judge import Judge, Judgement
from dml_conformance.conformance.judge.search import search
from dml_conformance.conformance.packages.verify.cases import CHECK, FoundCases
from dml_conformance.conformance.packages.verify.findings import Findings, expected
from dml_conformance.conformance.workers.environment import HYPOTHESIS, PYTHON, environment
from dml_conformance.conformance.workers.tasks import SearchTask
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.reports.output.folder import RESULTS
from dml_conformance.spec.case import Case


def searched_cases(
    engine: Engine, found: FoundCases, made_with: Mapping[str, str], findings: Findings
) -> tuple[Iterator[Case | None], str]:
    """Make the search again.

    Args:
        engine: of the campaign.
        found: what the package has.
        made_with: the campaign's environment.
        findings: takes what is left out, twice or foreign.

    Returns:
        The case of each record of the search, in order, None where the record's own has to do; and, where it could only
        be counted, why.
    """
    cases, problems = _made_again(engine, found)
    others = _other_versions(made_with) if problems else ""
    if others:
        _check_counts(engine, found, findings)
        return iter([None] * len(found.searched)), f"the search counted alone, as it was made with {others}"
    for where, problem in problems.items():
        findings.add(CHECK, RESULTS, where, problem)
    return iter([cases.get(place) for place in range(len(found.searched))]), ""


def _made_again(engine: Engine, found: FoundCases) -> tuple[dict[int, Case], dict[str, str]]:
    """The cases that are as they should be, by their place in the search; and what is wrong with each search."""
    left: defaultdict[tuple[str, str, str], deque[int]] = defaultdict(deque)
    for place, about in enumerate(found.searched):
        left[about].append(place)
    cases: dict[int, Case] = {}
    order: list[int] = []
    problems: dict[str, str] = {}
    digests = found.digests[Phase.SEARCH]
    for unit in engine.searches():
        about = unit.operator, unit.level.label, unit.rule
        places = left[about]
        fails_after = next((n for n, place in enumerate(places) if place in found.failures), None)
        tried = _tried(engine.judge, unit, fails_after)
        mine = [places.popleft() for _ in range(min(len(tried), len(places)))]
        wanted = [case.digest for case in tried]
        there = [digests[place].hex() for place in mine]
        if wanted == there:
            cases.update(zip(mine, tried, strict=True))
        else:
            problems[_about(*about)] = _difference(wanted, there)
        if fails_after == len(mine):
            mine.append(places.popleft())
            engine.note(found.failures[mine[-1]])
        order += mine
    counts = Counter(found.searched)
    for about, places in left.items():
        if places:
            problems[_about(*about)] = f"expected {counts[about] - len(places)} cases, found {counts[about]}"
    late = next((later for earlier, later in pairwise(order) if later < earlier), None)
    if late is not None:
        problems[f"search: case number {late + 1}"] = "out of order: expected after those that follow"
    return cases, problems


def _difference(wanted: Sequence[str], there: Sequence[str]) -> str:
    """How the digests of a search's cases differ, which they do."""
    if len(wanted) != len(there):
        return f"expected {len(wanted)} cases, found {len(there)}"
    n = next(n for n, (one, other) in enumerate(zip(wanted, there, strict=True)) if one != other)
    return f"case {n + 1}: {expected(wanted[n], there[n])}"


class _SearchEnd(BaseException):
    """The case that was tried now failed. No `Exception`, of which Hypothesis would look for the smallest case."""


class _PassingJudge(Judge):
    """Gives every case a pass, as many times as none fails.

    Args:
        judge: of the campaign.
        fails_after: how many cases of a search pass before one fails; None = none does.

    Attributes:
        tried: what passed.
    """

    def __init__(self, judge: Judge, fails_after: int | None) -> None:
        super().__init__(
            judge.backend, judge.backend_name, judge.reading, claims=judge.capabilities, tolerance=judge.tolerance
        )
        self.tried: list[Case] = []
        self._fails_after = fails_after

    def record(self, case: Case, phase: Phase) -> Record:
        if len(self.tried) == self._fails_after:
            raise _SearchEnd
        case = case.read(self.reading)
        self.tried.append(case)
        return self.describe(case, phase, Judgement(Verdict.PASS, case.rule))


def _tried(judge: Judge, unit: SearchTask, fails_after: int | None) -> list[Case]:
    """The cases that a search tries, up to the one that fails."""
    passing = _PassingJudge(judge, fails_after)
    try:
        for _ in search(passing, unit.operator, unit.level, unit.rule, unit.examples, unit.seed):
            pass
    except _SearchEnd:
        pass
    return passing.tried


def _check_counts(engine: Engine, found: FoundCases, findings: Findings) -> None:
    """Whether every rule was searched for, and as often as it should be: what can be told with any Hypothesis."""
    searched = {(plan.operator, level.label, rule): level for plan in engine.plans for level, rule in plan.searches()}
    # What is known to be broken is made smaller where it broke.
    known = {(operator, level.label, rule): level for (operator, rule), level in engine.broken.items()}
    counts = Counter(found.searched)
    for key in counts.keys() - searched.keys() - known.keys():
        findings.add(CHECK, RESULTS, _about(*key), "expected no such search: the rule is not searched for there")
    for (operator, label, rule), level in (known | searched).items():
        wanted = engine.budget.search if (operator, label, rule) in searched else 0
        count = counts[operator, label, rule]
        if (operator, rule) in found.failed:
            # It is searched for until it fails, once more to make a known failure smaller, and not any more then.
            least, most = 0, max(wanted, SHRINK_EXAMPLES) + 1
        elif (operator, rule) in engine.broken:
            least, most = wanted, wanted + SHRINK_EXAMPLES
        else:
            least = most = wanted
        unit = SearchTask("", operator, level, rule, wanted, engine.search_seed(operator, level, rule))
        if count < least and len(_tried(engine.judge, unit, None)) < least:
            least = 1  # There are not that many. Another Hypothesis may give up sooner or later than ours.
        if not least <= count <= most:
            times = str(least) if least == most else f"{least} to {most}"
            findings.add(CHECK, RESULTS, _about(operator, label, rule), f"expected {times} cases, found {count}")


def _about(operator: str, level: str, rule: str) -> str:
    return f"search: {operator} at {level}, {rule}"


def _other_versions(made_with: Mapping[str, str]) -> str:
    """Which versions that the search depends on are others here; "" where none is."""
    here = environment()
    other = [
        f"{label} {there or 'unknown'}, not {own}"
        for name, label, parts in ((HYPOTHESIS, "Hypothesis", 3), (PYTHON, "Python", 2))
        if (there := _version(made_with.get(name, ""), parts)) != (own := _version(here[name], parts))
    ]
    return " and ".join(other)


def _version(text: str, parts: int) -> str:
    return ".".join(text.split(".")[:parts])
