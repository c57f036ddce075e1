"""What all reports are made of: counts and a few samples, gathered record by record in memory that does not grow.

Here is defined what *conformant* means:

* A backend is **not conformant** if one case failed, crashed or timed out, or if more of its processes were lost
  without a case to blame than are put down to the machine (`MOST_FORGIVEN`).
* Otherwise the result is **incomplete** if the run did not reach its end, a case ended in a fault of the harness,
  nothing passed at all, an operator that the backend claims at a level was left without a judged case, or the
  system's OOM killer ended more than so many processes.
* Otherwise it is **conformant within narrower claims** if a case, or more that was asked for, lies outside of what the
  backend claims.
* Otherwise it is **conformant**: at least one case passed, and nothing speaks against it.

What is observed, waived or not supported is no evidence either way. What a backend claims binds it: within its claims a
case that it declines has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import product
from typing import Any, Literal, Self

import msgspec
from jinja2 import Template

from dml_conformance.backends.loading import SHARED_CODE
from dml_conformance.backends.processes.losses import MOST_FORGIVEN, Loss, LossCause, lost_by_backend
from dml_conformance.reports.model.digests import Digests
from dml_conformance.reports.model.encoded import EncodedRecord
from dml_conformance.reports.model.errors import ErrorCounts
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.reports.model.networks import LayerOutcome, NetworkResult
from dml_conformance.reports.model.records import (
    IN_PROCESS,
    LEFT_OUT,
    MISSING_WALLS,
    NOT_CONFORMANT,
    Campaign,
    Count,
    Ending,
    Entry,
    LevelLabel,
    Phase,
    Record,
    Repeated,
    Room,
    Throughput,
    Verdict,
)
from dml_conformance.reports.model.stream import Consumer, StreamError
from dml_conformance.reports.model.templating import environment
from dml_conformance.reports.model.text import count_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome

SAMPLES_PER_GROUP = 3  # failures shown of one kind, operator and rule
SAMPLES_PER_TEST = 2  # failures shown of one operator, level, phase and rule ...
MAX_TEST_SAMPLES = 2000  # ... until so many are kept altogether
MAX_REASONS = 40  # distinct reasons counted before the rest are put together
OTHER_REASONS = "other reasons"
SAMPLE = "sample"  # in place of the rule of a test that stands for all of a sample in which nothing differs

_TEST_TRAITS = ("operator", "level", "phase", "rule")
WAYS = {"execution": "executed", "acceptance": "decided"}  # all there is for such rules
JUDGED = (Verdict.PASS, *NOT_CONFORMANT)
_MOST_TELLING = (*NOT_CONFORMANT, Verdict.ERROR, Verdict.PASS, Verdict.WAIVED, Verdict.OBSERVED)
FACETS = ("data_type", "index_type", "rank", "layout", "pattern")


class Conformance(StrEnum):
    """What a campaign comes to."""

    CONFORMANT = "conformant"
    NARROWER = "conformant within narrower claims"
    NOT_CONFORMANT = "not conformant"
    INCOMPLETE = "incomplete"

    @property
    def exit_code(self) -> int:
        """The command line's exit code for it."""
        return {Conformance.NOT_CONFORMANT: 1, Conformance.INCOMPLETE: 3}.get(self, 0)


class CellVerdict(StrEnum):
    """What the cases of one operator at one level come to.

    Attributes:
        symbol: one character, so that no report tells verdicts apart by colour alone.
        letter: the same in ASCII.
        word: short enough to stand under the symbol.
        meaning: in a few words.
    """

    symbol: str
    letter: str
    word: str
    meaning: str

    def __new__(cls, name: str, symbol: str, letter: str, word: str, meaning: str) -> Self:
        verdict = str.__new__(cls, name)
        verdict._value_ = name
        verdict.symbol, verdict.letter, verdict.word, verdict.meaning = symbol, letter, word, meaning
        return verdict

    CONFORMANT = "conformant", "✓", "+", "conforms", "at least one case passed, none failed"
    NARROWER = (
        "conformant within narrower claims",
        "◒",
        "n",
        "narrower",
        "at least one case passed, none failed; not all of its cases are claimed",
    )
    NOT_CONFORMANT = "not conformant", "✗", "X", "differs", "a case failed, crashed or timed out"
    INCOMPLETE = (
        "incomplete",
        "?",
        "?",
        "incomplete",
        "claimed, but the run broke off, had a fault of its own, or judged nothing",
    )
    OBSERVED_ONLY = "observed only", "○", "o", "observed", "the specification leaves every case open"
    NOT_SUPPORTED = "not supported", "–", "-", "unsupported", "the backend does not claim it"


class FailureKind(StrEnum):
    """In what a backend differs from the specification; `error` is the harness's own fault."""

    DECISION = "decision"
    OUTPUT = "output"
    CRASH = "crash"
    TIMEOUT = "timeout"
    ERROR = "error"


def failure_kind(record: Record) -> FailureKind:
    """The kind of a record that failed, crashed, timed out or broke the harness."""
    if record.verdict is not Verdict.FAIL:
        return FailureKind(record.verdict.value)
    return FailureKind.DECISION if is_contrary(record.expected, record.answered) else FailureKind.OUTPUT


def is_contrary(expected: str, answered: str) -> bool:
    """Whether a decision is the contrary of what the specification expects."""
    return (expected, answered) in ((Outcome.ACCEPT, "reject"), (Outcome.REJECT, "accept"))


# See `case_size`.
Size = tuple[int, int, bool]


def case_size(record: Record) -> Size:
    """How much there is to a case: its dimensions and their sizes, then the length of descriptor and data as JSON, then
    whether it was made for another rule than the verdict is about."""
    desc = record.case_json.get("desc")
    length = len(msgspec.json.encode((desc, record.case_json.get("data"))))
    return sum(1 + size for size in _sizes(desc)), length, record.case_json.get("rule") != record.rule


def _sizes(desc: Any) -> Iterator[int]:
    """The sizes of all tensors in JSON of a descriptor, which in a file from outside may be of any form."""
    left = [desc]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            sizes = value.get("Sizes")
            yield from (size for size in sizes if isinstance(size, int)) if isinstance(sizes, list) else ()
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


class Verdicts(Counter[Verdict]):
    """Records by verdict."""

    @property
    def failed(self) -> int:
        """Those that make a backend not conformant."""
        return sum(self[verdict] for verdict in NOT_CONFORMANT)


@dataclass(slots=True)
class Test:
    """The records of one operator, level, phase and rule: counts, time in the backend, the first failures."""

    counts: Verdicts = field(default_factory=Verdicts)
    seconds: float = 0.0
    samples: list[Record] = field(default_factory=list)

    __test__ = False  # no test of pytest's

    @property
    def decisive(self) -> Verdict:
        """The verdict that the test comes to: of those that there are the one that says most."""
        return next((verdict for verdict in _MOST_TELLING if self.counts[verdict]), Verdict.NOT_SUPPORTED)

    @property
    def status(self) -> str:
        """The same as servers know it: failed, other (the harness was at fault), passed, or skipped."""
        if self.decisive in NOT_CONFORMANT:
            return "failed"
        return {Verdict.ERROR: "other", Verdict.PASS: "passed"}.get(self.decisive, "skipped")

    def add(self, other: Test) -> None:
        """Count another one's records too; its samples are left out."""
        self.counts.update(other.counts)
        self.seconds += other.seconds


@dataclass(slots=True)
class FailureGroup:
    """The failures of one kind, operator and rule.

    Attributes:
        decisions: how often the backend answered what, by (expected, answered).
        samples: the first ones.
        smallest: the one with the smallest case, which is where shrinking ends.
        smallest_at: by level the size and the digest of the smallest case there.
    """

    kind: FailureKind
    operator: str
    rule: str
    smallest: Record
    count: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    decisions: Counter[tuple[str, str]] = field(default_factory=Counter)
    samples: list[Record] = field(default_factory=list)
    smallest_size: Size = (1 << 62, 0, False)
    smallest_at: dict[str, tuple[Size, str]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        self.count += 1
        self.levels[record.level] += 1
        self.decisions[record.expected, record.answered] += 1
        if len(self.samples) < SAMPLES_PER_GROUP:
            self.samples.append(record)
        size = case_size(record)
        found = size, record.case
        self.smallest_at[record.level] = min(found, self.smallest_at.get(record.level, found))
        if size < self.smallest_size:
            self.smallest, self.smallest_size = record, size

    def shown(self) -> list[Record]:
        """The samples, and the smallest unless it is among them."""
        cases = {record.case for record in self.samples}
        return self.samples if self.smallest.case in cases else [*self.samples, self.smallest]


@dataclass(slots=True)
class ObservedGroup:
    """What a backend did where the specification leaves it open, for one operator and rule."""

    operator: str
    rule: str
    sample: Record
    count: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        self.count += 1
        self.levels[record.level] += 1
        self.answers[record.answered] += 1
        _count_reason(self.reasons, record.reason)


@dataclass(frozen=True, slots=True)
class Cell:
    """One operator at one level."""

    operator: str
    level: str
    verdict: CellVerdict
    counts: Verdicts


class RuleResult(Entry, frozen=True, kw_only=True):
    """How often one rule was held against the backend.

    Attributes:
        id: `GATHER.output-sizes`.
        category: what the rule is about.
        kind: `descriptor` for what a descriptor can break, `acceptance` for what decisions on valid ones are held to,
            `execution` for what memory and values are.
        erratum: id of the erratum that leaves open what breaking it means, or "".
        accepted: judged cases that keep it: for a rule that is none of execution every valid case of the operators that
            it concerns, at levels where it applies; for an execution rule the cases whose verdict is about it.
        rejected: judged cases that the specification rejects for it.
        left_open: cases whose fate it leaves open.
        differences: judged cases about it in which the backend differed.
    """

    id: str
    category: str
    kind: Literal["descriptor", "acceptance", "execution"]
    erratum: str
    accepted: Count
    rejected: Count
    left_open: Count
    differences: Count

    @property
    def can_reject(self) -> bool:
        """Whether breaking the rule makes a descriptor invalid: no execution rule, and no question that stays open."""
        return self.kind == "descriptor" and (not self.erratum or self.rejected > 0)

    @property
    def ways(self) -> str:
        """`both ways` (kept and broken), `one way`, `none`, or all there is for a rule that no descriptor breaks:
        `executed` or `decided`."""
        seen = (self.accepted > 0) + ((self.rejected if self.can_reject else self.left_open) > 0)
        if seen and self.kind in WAYS:
            return WAYS[self.kind]
        return ("none", "one way", "both ways")[seen]


class ExecutedLevels(Entry, frozen=True, kw_only=True):
    """Where every case of some operators was decided.

    Attributes:
        levels: those. Each is the newest that was asked for and claimed of levels between which nothing changes for
            these operators; at the last every case was executed, and at those before a sample. At the others a sample
            was decided, and less of it executed.
        operators: of which that is so.
    """

    levels: list[LevelLabel]
    operators: list[str]


class Unclaimed(Entry, frozen=True, kw_only=True):
    """What was asked for and the backend makes no promise about; it counts as neither pass nor failure.

    Attributes:
        operators: not claimed.
        levels: not claimed.
        categories: of rules, not enforced.
        rules: of these categories.
    """

    operators: list[str]
    levels: list[LevelLabel]
    categories: list[str]
    rules: list[str]


class Summary(Consumer):
    """A consumer that counts. Every report is written from one of these.

    Attributes:
        campaign: None before `start`.
        ending: None before `finish`.
        counts: records by verdict.
        tests: by (operator, level, phase, rule).
        decisions: records by (rule, expected, answered, verdict).
        accepted: judged cases that the specification accepts, by (operator, level).
        coverage: for each of FACETS the judged cases that the specification accepts, by (value, operator).
        failures: by (kind, operator, rule), in the order of their first record.
        observed: by (operator, rule).
        reasons: why cases were not supported or waived.
        throughputs: the measurements, as many as reports have room for.
        throughputs_left_out: how many more there are.
        lost: processes of the backend by cause and how; none of one that had no process of its own.
        forgiven: how many of them the backend may have to answer for, and no case is blamed for.
        repeated: failed executions by what became of them in a new process.
        errors: of results of arithmetic, by (operator, data type).
        layers: what came of the cases of networks' layers, by digest.
        layer_timings: the measurements of these.
        digests: of the stream so far.
    """

    def __init__(self) -> None:
        self._campaign: Campaign | None = None
        self.ending: Ending | None = None
        self.counts = Verdicts()
        self.tests: dict[tuple[str, str, Phase, str], Test] = {}
        self.decisions: Counter[tuple[str, str, str, Verdict]] = Counter()
        self.accepted: Counter[tuple[str, str]] = Counter()
        self.coverage: dict[str, Counter[tuple[str, str]]] = {facet: Counter() for facet in FACETS}
        self.failures: dict[tuple[FailureKind, str, str], FailureGroup] = {}
        self.observed: dict[tuple[str, str], ObservedGroup] = {}
        self.reasons: dict[Verdict, Counter[str]] = {Verdict.NOT_SUPPORTED: Counter(), Verdict.WAIVED: Counter()}
        self.throughputs: list[Throughput] = []
        self._room = Room()
        self.lost: Counter[tuple[LossCause, str]] = Counter()
        self.forgiven = 0
        self.repeated: Counter[Repeated] = Counter()
        self.errors: dict[tuple[str, str], ErrorCounts] = {}
        self.layers: dict[str, LayerOutcome] = {}
        self.layer_timings: dict[str, Throughput] = {}
        self.digests = Digests()
        self._test_samples = 0
        self._sums: dict[tuple[str, ...], tuple[int, dict[tuple[str, ...], Test]]] = {}  # by traits, of so many records

    @property
    def campaign(self) -> Campaign:
        if self._campaign is None:
            raise StreamError("no campaign was started")
        return self._campaign

    # The stream.

    def start(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self.digests.start(campaign)

    def record(self, record: Record | EncodedRecord) -> None:
        """Take one judged case.

        Raises:
            StreamError: its operator or level is none of the campaign's.
        """
        self._count(record.traits, record.whole)
        self.digests.record(record)

    def _count(self, record: Record, whole: Callable[[], Record]) -> None:
        """Take a record, of which the case is looked at in the whole one alone."""
        verdict = record.verdict
        key = (record.operator, record.level, record.phase, record.rule)
        test = self.tests.get(key)
        if test is None:
            if record.operator not in self.campaign.operators or record.level not in self.campaign.levels:
                raise StreamError(f"a record of {record.operator} at {record.level}, which the campaign leaves out")
            test = self.tests[key] = Test()
        test.counts[verdict] += 1
        test.seconds += record.seconds
        self.counts[verdict] += 1
        self.decisions[record.rule, record.expected, record.answered, verdict] += 1
        if verdict in JUDGED and record.expected == Outcome.ACCEPT:
            operator, coverage = record.operator, self.coverage
            self.accepted[operator, record.level] += 1
            coverage["data_type"][record.data_type, operator] += 1
            coverage["index_type"][record.index_type, operator] += 1
            coverage["rank"][str(record.rank), operator] += 1
            coverage["layout"][record.layout, operator] += 1
            coverage["pattern"][record.pattern, operator] += 1
        if record.errors is not None:
            self.errors.setdefault((record.operator, record.data_type), ErrorCounts()).add(
                record.errors, record.difference_count
            )
        if record.phase is Phase.NETWORKS:
            self.layers[record.case] = LayerOutcome.of(record)
        if record.lost:
            self._lose(record.lost, record.losses_forgiven)
        if verdict is not Verdict.PASS:
            self._keep(record, whole, test)

    def _lose(self, losses: Iterable[Loss], forgiven: int) -> None:
        self.forgiven += forgiven
        for loss in losses:
            known = (loss.cause, loss.how) in self.lost or len(self.lost) < MAX_REASONS
            self.lost[loss.cause, loss.how if known else OTHER_REASONS] += loss.count

    def throughput(self, row: Throughput) -> None:
        if row.layer:
            self.layer_timings[row.layer] = row
        elif self._room.takes(row.timing):
            self.throughputs.append(row)
        self.digests.throughput(row)

    def finish(self, ending: Ending) -> None:
        self.ending = ending
        self._lose(ending.lost, lost_by_backend(ending.lost))
        self.digests.finish(ending)

    def _keep(self, record: Record, whole: Callable[[], Record], test: Test) -> None:
        verdict = record.verdict
        if verdict in self.reasons:
            _count_reason(self.reasons[verdict], record.reason)
        elif verdict is Verdict.OBSERVED:
            key = (record.operator, record.rule)
            if key not in self.observed:
                self.observed[key] = ObservedGroup(*key, sample=whole())
            self.observed[key].add(record)
        else:
            self.repeated[record.repeated] += 1
            record = whole().in_brief()
            kind = failure_kind(record)
            group = self.failures.get((kind, record.operator, record.rule))
            if group is None:
                group = FailureGroup(kind, record.operator, record.rule, smallest=record)
                self.failures[kind, record.operator, record.rule] = group
            group.add(record)
            if len(test.samples) < SAMPLES_PER_TEST and self._test_samples < MAX_TEST_SAMPLES:
                test.samples.append(record)
                self._test_samples += 1

    # What it comes to.

    @property
    def total(self) -> int:
        """Records."""
        return self.counts.total()

    @property
    def shared_code(self) -> str:
        """What of the suite's code that decides or computes the backend's process imported with it."""
        return str(self.campaign.backend.get("paths", {}).get(SHARED_CODE, ""))

    @property
    def is_in_process(self) -> bool:
        """Whether the backend was in the process that judged it."""
        return IN_PROCESS in self.campaign.environment.get(MISSING_WALLS, "")

    @property
    def implausible_throughputs(self) -> int:
        """How many measurements are not plausible; no report begins with them."""
        return sum(not row.is_plausible for row in self.throughputs)

    @property
    def throughputs_left_out(self) -> int:
        return self._room.left_out

    @property
    def judged(self) -> int:
        """Records that speak for or against the backend."""
        return sum(self.counts[verdict] for verdict in JUDGED)

    @property
    def failed(self) -> int:
        """Records that speak against it."""
        return self.counts.failed

    @property
    def is_losing(self) -> bool:
        """Whether more processes were lost without a case to blame than are put down to the machine."""
        return self.forgiven > MOST_FORGIVEN

    def lost_by(self, cause: LossCause) -> int:
        """How many processes were lost for one cause."""
        return sum(count for (of, _), count in self.lost.items() if of is cause)

    @property
    def left_out(self) -> str:
        """How many operators were not asked for, as the backend does not claim them; "" if none."""
        return self.campaign.environment.get(LEFT_OUT, "")

    @property
    def is_complete(self) -> bool:
        """Whether the run reached its end."""
        return self.ending is not None and self.ending.complete

    @property
    def seconds(self) -> float | None:
        """From start to end; None where one of them is unknown."""
        try:
            started = datetime.fromisoformat(self.campaign.started)
            return (datetime.fromisoformat(self.ending.finished if self.ending else "") - started).total_seconds()
        except (ValueError, TypeError):  # no date, or only one of them with a time zone
            return None

    def sums(self, *traits: str) -> dict[tuple[str, ...], Test]:
        """The tests added up by some of operator, level, phase and rule, in the order in which they came up."""
        total, found = self._sums.get(traits, (0, dict[tuple[str, ...], Test]()))
        if total != self.total:  # every view asks for them, and some of them again and again
            places, found = [_TEST_TRAITS.index(trait) for trait in traits], {}
            for key, test in self.tests.items():
                found.setdefault(tuple(key[place] for place in places), Test()).add(test)
            self._sums[traits] = self.total, found
        return found

    def reported_tests(self) -> dict[tuple[str, str], dict[str, Test]]:
        """The tests of each operator at each level asked for, operator by operator: the records of a rule, whatever the
        phase; of a sample all rules without a difference are one test."""
        found: dict[tuple[str, str], dict[str, Test]] = {
            place: {} for place in product(self.campaign.operators, self.campaign.levels)
        }
        for (operator, level, _, rule), test in self.tests.items():
            differs = test.counts.failed or test.counts[Verdict.ERROR]
            name = SAMPLE if self.is_sampled(operator, level) and not differs else rule
            together = found[operator, level].setdefault(name, Test())
            together.add(test)
            together.samples = [*together.samples, *test.samples][:SAMPLES_PER_TEST]
        return found

    def matrix(self) -> list[Cell]:
        """A cell for each operator at each level asked for, operator by operator."""
        cells = []
        sums = self.sums("operator", "level")
        for operator, level in product(self.campaign.operators, self.campaign.levels):
            counts = sums.get((operator, level), Test()).counts
            cells.append(Cell(operator, level, self._cell_verdict(operator, level, counts), counts))
        return cells

    def _cell_verdict(self, operator: str, level: str, counts: Verdicts) -> CellVerdict:
        if counts.failed:
            return CellVerdict.NOT_CONFORMANT
        if not counts and not self._claims(operator, level):
            return CellVerdict.NOT_SUPPORTED
        if counts[Verdict.ERROR] or not self.is_complete:
            return CellVerdict.INCOMPLETE
        if counts[Verdict.PASS]:
            return CellVerdict.NARROWER if counts[Verdict.NOT_SUPPORTED] else CellVerdict.CONFORMANT
        if not counts or counts[Verdict.WAIVED]:
            return CellVerdict.INCOMPLETE
        return CellVerdict.OBSERVED_ONLY if counts[Verdict.OBSERVED] else CellVerdict.NOT_SUPPORTED

    def executed_at(self) -> list[ExecutedLevels]:
        """Where every case of which operators was decided; empty where all was executed."""
        if self.campaign.every_level or len(self.campaign.levels) == 1:
            return []
        found = grouped(self.campaign.executed.items(), lambda item: item[1])
        return [
            ExecutedLevels(levels=list(levels), operators=[operator for operator, _ in items])
            for levels, items in found.items()
        ]

    def is_sampled(self, operator: str, level: str) -> bool:
        """Whether an operator's cases at a level are a sample."""
        executed = self.campaign.executed.get(operator, ())
        return bool(executed) and level not in executed and not self.campaign.every_level

    def _claims(self, operator: str, level: str) -> bool:
        backend = self.campaign.backend
        return operator in backend["operators"] and level in backend["levels"]

    @property
    def conformance(self) -> Conformance:
        """The outcome, as this module's head defines it."""
        if self.failed or self.is_losing:
            return Conformance.NOT_CONFORMANT
        if self.why_incomplete():
            return Conformance.INCOMPLETE
        return Conformance.NARROWER if self.is_narrower else Conformance.CONFORMANT

    @property
    def is_narrower(self) -> bool:
        """Whether the backend's claims leave out some of what was asked for, or some that could have been."""
        not_claimed = self.not_claimed()
        left_out = self.left_out or not_claimed.operators or not_claimed.levels or not_claimed.categories
        return bool(left_out or self.counts[Verdict.NOT_SUPPORTED])

    @property
    def covered(self) -> int:
        """Records of cases that the backend's claims cover."""
        return self.total - self.counts[Verdict.NOT_SUPPORTED]

    def why_incomplete(self) -> list[str]:
        """What the run lacks, a sentence each; empty where it lacks nothing."""
        reasons = []
        if not self.is_complete:
            why = self.ending.reason if self.ending is not None else ""
            reasons.append("The run did not reach its end" + (f": {why}." if why else "."))
        if self.counts[Verdict.ERROR]:
            reasons.append(f"{count_of(self.counts[Verdict.ERROR], 'case')} ended in a fault of the harness.")
        if not self.counts[Verdict.PASS]:
            reasons.append("No case passed.")
        if (killed := self.lost_by(LossCause.OOM_KILLER)) > MOST_FORGIVEN:
            reasons.append(
                f"The system's OOM killer ended {killed:,} processes of the backend; --memory-limit shows whether it "
                "is the backend that takes too much memory."
            )
        if self.is_complete:
            cells = self.matrix()
            gaps = [c for c in cells if c.verdict is CellVerdict.INCOMPLETE and not c.counts.get(Verdict.ERROR)]
            if gaps:
                places = [(cell.operator, cell.level) for cell in gaps]
                reasons.append(f"Claimed, but without a judged case: {_some(places)}.")
        return reasons

    def headline(self) -> str:
        """The outcome in a few sentences: what it is, and what it does not rest on."""
        return _headline().render(s=self, causes=LossCause, most_forgiven=MOST_FORGIVEN, repeated=Repeated)

    def rule_results(self) -> list[RuleResult]:
        """Each of the campaign's rules, with how often it was held against the backend."""
        found: dict[str, Counter[str]] = {}
        for (rule_id, expected, _, verdict), count in self.decisions.items():
            of_rule = found.setdefault(rule_id, Counter())
            if verdict in JUDGED or (expected == Outcome.UNSPECIFIED and verdict is Verdict.OBSERVED):
                of_rule[expected] += count
            if verdict in NOT_CONFORMANT:
                of_rule["differences"] += count
        results = []
        for rule in self.campaign.rules:
            of_rule = found.get(rule["id"], Counter())
            accepted = of_rule[Outcome.ACCEPT] if rule["kind"] == "execution" else self._keeping(rule)
            results.append(
                RuleResult(
                    **{name: rule[name] for name in ("id", "category", "kind", "erratum")},
                    accepted=accepted,
                    rejected=of_rule[Outcome.REJECT],
                    left_open=of_rule[Outcome.UNSPECIFIED],
                    differences=of_rule["differences"],
                )
            )
        return results

    def _keeping(self, rule: Mapping[str, Any]) -> int:
        """Judged, valid cases of the operators that a rule concerns, at levels where it applies."""
        since, until = Level.parse(rule["since"]), Level.parse(rule["until"]) if rule["until"] else None
        levels = [
            label
            for label in self.campaign.levels
            if since <= (level := Level.parse(label)) and (until is None or level < until)
        ]
        return sum(self.accepted[operator, level] for operator in rule["operators"] for level in levels)

    def phases(self) -> dict[Phase, Test]:
        """Counts and time by phase, those that ran."""
        sums = self.sums("phase")
        return {phase: sums[phase,] for phase in Phase if (phase,) in sums}

    def networks(self) -> list[NetworkResult]:
        """What each network came to, layer by layer and as a chain."""
        chains = self.ending.chains if self.ending is not None else ()
        return [NetworkResult.of(each, self.layers, self.layer_timings, chains) for each in self.campaign.networks]

    def least_accurate(self) -> list[tuple[str, str, ErrorCounts]]:
        """Operators and data types with the errors of their results, what needs most of its bound first."""
        place = {operator: i for i, operator in enumerate(self.campaign.operators)}

        def order(item: tuple[tuple[str, str], ErrorCounts]) -> tuple[float, float, int, str]:
            (operator, data_type), errors = item
            return -errors.used, -errors.largest, place[operator], data_type

        found = sorted(self.errors.items(), key=order)
        return [(operator, data_type, errors) for (operator, data_type), errors in found]

    def not_claimed(self) -> Unclaimed:
        """What the backend makes no promise about, out of what was asked for."""
        backend = self.campaign.backend
        enforced = set(backend["enforces"])
        if not backend["executes"]:
            enforced.discard(Category.EXECUTION)
        return Unclaimed(
            operators=[o for o in self.campaign.operators if o not in backend["operators"]],
            levels=[level for level in self.campaign.levels if level not in backend["levels"]],
            categories=[str(category) for category in Category if category not in enforced],
            rules=[rule["id"] for rule in self.campaign.rules if rule["category"] not in enforced],
        )

    def failure_groups(self, *kinds: FailureKind) -> Iterator[FailureGroup]:
        """The failures of these kinds, most frequent first within an operator."""
        order = {operator: i for i, operator in enumerate(self.campaign.operators)}
        groups = (group for group in self.failures.values() if group.kind in kinds)
        yield from sorted(groups, key=lambda group: (order[group.operator], -group.count, group.rule))


@cache
def _headline() -> Template:
    return environment("dml_conformance.reports.model").get_template("headline.txt.j2")


def _count_reason(reasons: Counter[str], reason: str) -> None:
    known = reason in reasons or len(reasons) < MAX_REASONS
    reasons[reason if known else OTHER_REASONS] += 1


def _some(cells: list[tuple[str, str]]) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(f"{operator} at {level}" for operator, level in cells[:3])
    return f"{shown} and {len(cells) - 3} more" if len(cells) > 3 else shown
