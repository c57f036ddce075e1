"""Several campaigns side by side: what differs between backends, as one page like the report of a single campaign.

Like that page it is made from sums and a few samples. What makes it more than several pages is that a case has the
same digest in every campaign: of a case that one backend gets wrong, the page tells what each of the others made of
the very same case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeVar

import msgspec

from dml_conformance.reports.cases import SHOWN_DIGITS, Cases
from dml_conformance.reports.changes import CHANGE_MEANINGS, Change, Changed, changes, differing
from dml_conformance.reports.html import CELL_MEANINGS, MAX_FIRST, MatrixCell, ShownRule, render_with_cases, shown_rule
from dml_conformance.reports.plots import Heat, Roofline, rooflines, rules_by_phase, types_by_rank_and_level
from dml_conformance.reports.records import NOT_CONFORMANT, Caches, Record, Room, Throughput, Timing, Verdict
from dml_conformance.reports.store import Store, StoreError
from dml_conformance.reports.stream import Consumer, FanOut, StreamError
from dml_conformance.reports.summary import (
    JUDGED,
    OTHER_REASONS,
    CellVerdict,
    FailureGroup,
    FailureKind,
    Summary,
    case_size,
)
from dml_conformance.reports.text import duration, share_of_copy
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome

MAX_ROWS = 300  # rows of one table that are shown

_ANY_RULE = ShownRule("no rule in particular", "a descriptor that breaks no rule is accepted")

Answers = Mapping[str, tuple[Verdict, str]]  # verdict and answer by the case's digest
_T = TypeVar("_T", bound=Hashable)

_CACHES = list(Caches)
_SPOKEN = {"accept": "accepted", "reject": "rejected"}
_CONFORMS, _DIFFERS, _UNSURE, _OPEN, _NONE = CellVerdict


@dataclass(frozen=True)
class Told:
    """One cell: never colour alone, always a text, with the symbol of a verdict where there is one."""

    text: str
    verdict: CellVerdict | None = None
    more: str = ""

    @property
    def symbol(self) -> str:
        return self.verdict.symbol if self.verdict is not None else ""

    @property
    def style(self) -> str:
        return str(self.verdict).replace(" ", "-") if self.verdict is not None else "not-supported"


@dataclass(frozen=True)
class Witness:
    """One case, whose failure or sample it is, and what each campaign made of it."""

    record: Record
    owners: Sequence[str]
    answers: Sequence[Told]


@dataclass(frozen=True)
class Row:
    """A rule with one cell for each campaign.

    Attributes:
        rule: the rule.
        about: operator, or what the specification expects.
        cells: in the order of the campaigns.
        weight: how many decisions were wrong, in all campaigns.
        is_split: whether the campaigns disagree where the specification leaves it open.
        witnesses: the smallest first.
    """

    rule: ShownRule
    about: str
    cells: Sequence[Told]
    weight: int = 0
    is_split: bool = False
    witnesses: Sequence[Witness] = ()


@dataclass(frozen=True)
class Timed:
    """One operator with one data type at one size, timed by the campaigns; None where one has no such measurement."""

    timing: Timing
    rows: Sequence[Throughput | None]

    @property
    def weight(self) -> tuple[int, int]:
        """By which one size is chosen to stand for all: how many campaigns have it, and the size."""
        return sum(row is not None for row in self.rows), self.timing.size

    @property
    def shapes(self) -> list[str]:
        return list(dict.fromkeys(row.shape for row in self.rows if row is not None))

    @property
    def cells(self) -> list[tuple[str, str] | None]:
        """GB/s and per cent of the device's copy bandwidth; small shares with two digits, as a slow kernel has them."""
        return [
            None if row is None else (f"{row.bytes_per_second / 1e9:,.3g}", share_of_copy(row)) for row in self.rows
        ]


@dataclass(frozen=True)
class ChangeRow:
    """Cases of one campaign, operator and rule that changed alike; `first` is one of them."""

    label: str
    change: Change
    operator: str
    rule: str
    count: int
    first: Changed
    held_by: str  # the campaign whose list has them

    @property
    def link(self) -> dict[str, str]:
        """The traits by which the list of cases shows them."""
        return {"campaign": self.held_by, "change": self.change, "operator": self.operator, "rule": self.rule or "-"}


class Comparison:
    """Campaigns side by side.

    Args:
        summaries: of the campaigns, one or more.
        answers: for each campaign what it made of the cases of `witness_cases`, as far as it has them.
        cases: of each campaign, or none at all.
        has_baseline: whether the last campaign is an earlier run that the others are held against.
        changed: for each of the others what changed since; empty without a baseline.
    """

    def __init__(
        self,
        summaries: Sequence[Summary],
        answers: Sequence[Answers],
        cases: Sequence[Cases] = (),
        *,
        has_baseline: bool = False,
        changed: Sequence[Sequence[Changed]] = (),
    ) -> None:
        self.summaries = summaries
        self.answers = answers
        self.has_baseline = has_baseline
        self.labels = _labels(summaries[:-1] if has_baseline else summaries)
        if has_baseline:
            self.labels.append(_baseline_label(summaries[-1], self.labels))
        self.cases = dict(zip(self.labels, cases, strict=True)) if cases else {}
        self.changed = changed
        self.rules = list({rule["id"]: rule for s in reversed(summaries) for rule in s.campaign.rules}.values())
        self._kinds = {rule["id"]: rule["kind"] for rule in self.rules}
        order = _merged([rule["id"] for rule in summary.campaign.rules] for summary in summaries)
        self._rank = {rule_id: i for i, rule_id in enumerate(order)}
        self.operators = _merged(summary.campaign.operators for summary in summaries)
        asked = _merged(summary.campaign.levels for summary in summaries)
        self.levels = [level.label for level in Level if level.label in asked]

    @classmethod
    def of(
        cls,
        stores: Sequence[Store],
        baseline: Store | None = None,
        replay: Callable[[Store, Consumer], None] = Store.replay,
    ) -> Comparison:
        """The comparison of stored campaigns, with each other and with an earlier run.

        Args:
            stores: of the campaigns, one or more.
            baseline: of the earlier run.
            replay: how a stored stream is given to a consumer; one that shows how far it is can stand in.

        Raises:
            StoreError: a file is damaged, or holds what no campaign of this suite does.
        """
        changed: list[list[Changed]] = []
        wanted: list[set[str]] = [set() for _ in stores]
        if baseline is not None:
            changed = [_changed(store, baseline) for store in stores]
            wanted = [{found.case for found in of} for of in changed]
            wanted.append(set().union(*wanted))
            stores = [*stores, baseline]
        read = [_read(store, of, replay) for store, of in zip(stores, wanted, strict=True)]
        summaries = [summary for summary, _ in read]
        shown = witness_cases(summaries)
        return cls(
            summaries,
            [store.answers(shown) for store in stores],
            [cases for _, cases in read],
            has_baseline=baseline is not None,
            changed=changed,
        )

    # Since the baseline.

    def changes(self) -> list[ChangeRow]:
        """What changed, by campaign, operator and rule; regressions first, the most frequent first."""
        groups: dict[tuple[str, Change, str, str], list[Changed]] = {}
        for label, found in zip(self.labels, self.changed, strict=False):
            for changed in found:
                groups.setdefault((label, changed.change, changed.operator, changed.rule), []).append(changed)
        rows = [ChangeRow(*key, len(group), group[0], self._holder(key[0], key[1])) for key, group in groups.items()]
        return sorted(rows, key=lambda row: (list(Change).index(row.change), -row.count, row.operator, row.rule))

    def change_counts(self) -> list[tuple[Change, int, str]]:
        """How many cases changed in which way, with what that means."""
        counts = Counter(changed.change for found in self.changed for changed in found)
        return [(change, counts[change], CHANGE_MEANINGS[change]) for change in Change]

    def change_of_case(self) -> dict[tuple[str, str], str]:
        """What became of a case, by the label of the campaign whose list has it and the shown digits of its digest."""
        return {
            (self._holder(label, changed.change), changed.case[:SHOWN_DIGITS]): changed.change
            for label, found in zip(self.labels, self.changed, strict=False)
            for changed in found
        }

    def _holder(self, label: str, change: Change) -> str:
        return self.labels[-1] if change is Change.GONE else label

    # Operators by level.

    def matrix(self) -> list[tuple[str, list[tuple[str, list[MatrixCell | None]]]]]:
        """For each operator, for each campaign, a cell for each level; None where it was not asked for."""
        found = [{(cell.operator, cell.level): cell for cell in summary.matrix()} for summary in self.summaries]
        return [
            (
                operator,
                [
                    (label, [MatrixCell.of(cells[at]) if (at := (operator, level)) in cells else None
                             for level in self.levels])
                    for label, cells in zip(self.labels, found, strict=True)
                ],
            )
            for operator in self.operators
        ]  # fmt: skip

    def split_cells(self) -> set[tuple[str, str]]:
        """Operators and levels at which the campaigns come to different verdicts."""
        verdicts: dict[tuple[str, str], set[CellVerdict]] = {}
        for cell in chain.from_iterable(summary.matrix() for summary in self.summaries):
            verdicts.setdefault((cell.operator, cell.level), set()).add(cell.verdict)
        return {at for at, found in verdicts.items() if len(found) > 1}

    # Decisions.

    def decisions(self) -> list[Row]:
        """The rules on which a campaign decided otherwise than the specification, crashed, or made no promise."""
        rows = []
        for rule_id, expected in sorted(
            {(rule_id, expected) for tallies in self._tallies for rule_id, expected in tallies},
            key=lambda key: (self._place(key[0]), key),
        ):
            if expected not in (Outcome.ACCEPT, Outcome.REJECT):
                continue
            tallies = [of.get((rule_id, expected), Counter()) for of in self._tallies]
            weights = [_wrong_decisions(expected, tally) for tally in tallies]
            unclaimed = any(verdict not in JUDGED for tally in tallies for _, verdict in tally)
            if any(weights) or unclaimed:
                cells = [_decided(tally, weight) for tally, weight in zip(tallies, weights, strict=True)]
                rule = self._rule(rule_id) if rule_id else _ANY_RULE
                witnesses = self._witnesses(partial(self._is_decision_on, rule_id, expected))
                rows.append(Row(rule, expected.lower(), cells, sum(weights), witnesses=witnesses))
        return sorted(rows, key=lambda row: -row.weight)

    def most(self) -> list[tuple[str, FailureGroup]]:
        """The most frequent failures of one campaign, operator and rule, with the campaign's label."""
        labelled = zip(self.labels, self.summaries, strict=True)
        groups = [(label, group) for label, summary in labelled for group in summary.failures.values()]
        return sorted(groups, key=lambda item: -item[1].count)[:MAX_FIRST]

    # Outputs.

    def executed(self) -> list[tuple[str, list[Told]]]:
        """For each operator what came of executing it."""
        return [(operator, [self._output(i, operator) for i in self._columns]) for operator in self.operators]

    def outputs(self) -> list[Row]:
        """The operators and rules whose execution came out wrong in a campaign."""
        wrong = {
            (group.operator, group.rule)
            for summary in self.summaries
            for group in summary.failures.values()
            if _output_failures(group)
        }
        rows = []
        for operator, rule_id in sorted(wrong, key=lambda key: (self.operators.index(key[0]), self._place(key[1]))):
            cells = [self._output(i, operator, rule_id) for i in self._columns]
            witnesses = self._witnesses(partial(_is_output_of, operator, rule_id))
            rows.append(Row(self._rule(rule_id), operator, cells, witnesses=witnesses))
        return rows

    def _output(self, column: int, operator: str, rule_id: str | None = None) -> Told:
        """What executing an operator came to in a campaign, by one rule or by all rules of execution."""
        summary = self.summaries[column]
        backend = summary.campaign.backend
        if operator not in summary.campaign.operators:
            return Told("not asked for")
        if not backend["executes"]:
            return Told("execution not available", _NONE)
        if Category.EXECUTION not in backend["enforces"]:
            return Told("execution not claimed", _NONE)
        counts: Counter[Verdict] = Counter()
        for (of, _, _, rule), test in summary.tests.items():
            if of == operator and (rule == rule_id if rule_id is not None else self._kinds.get(rule) == "execution"):
                counts.update(test.counts)
        wrong = Counter[Verdict]()
        for group in summary.failures.values():
            if group.operator == operator and rule_id in (None, group.rule) and (count := _output_failures(group)):
                wrong[group.smallest.verdict] += count
        executed = counts[Verdict.PASS] + wrong.total()
        words = {Verdict.FAIL: "differ", Verdict.CRASH: "crashed", Verdict.TIMEOUT: "timed out"}
        if wrong:
            told = ", ".join(f"{wrong[verdict]:,} {word}" for verdict, word in words.items() if wrong[verdict])
            return Told(f"{told}, of {executed:,}", _DIFFERS)
        if counts[Verdict.PASS]:
            return Told(f"{counts[Verdict.PASS]:,} as specified", _CONFORMS)
        if counts[Verdict.NOT_SUPPORTED]:
            return Told(f"{counts[Verdict.NOT_SUPPORTED]:,} not claimed", _NONE)
        return Told("nothing executed")

    # What the specification leaves open.

    def unspecified(self) -> list[Row]:
        """The rules that leave something open, and what each campaign did; where they disagree comes first."""
        rows = []
        for rule_id in sorted({rule for s in self.summaries for _, rule in s.observed}, key=self._place):
            cells = [self._observed(i, rule_id) for i in self._columns]
            answers = [_open_answers(of.get((rule_id, Outcome.UNSPECIFIED), Counter())) for of in self._tallies]
            is_split = len({frozenset(found) for found in answers if found}) > 1
            witnesses = self._open_case(rule_id) if is_split else ()
            operators = {operator for s in self.summaries for operator, rule in s.observed if rule == rule_id}
            about = ", ".join(operator for operator in self.operators if operator in operators)
            rows.append(Row(self._rule(rule_id), about, cells, is_split=is_split, witnesses=witnesses))
        return sorted(rows, key=lambda row: (not row.is_split, row.rule.erratum))

    def _observed(self, column: int, rule_id: str) -> Told:
        summary, tallies = self.summaries[column], self._tallies[column]
        left_open = tallies.get((rule_id, Outcome.UNSPECIFIED))
        if left_open:
            reasons = Counter[str]()
            for (_, rule), group in summary.observed.items():
                if rule == rule_id:
                    reasons.update(group.reasons)
            why = [reason for reason, _ in reasons.most_common() if reason not in (*_SPOKEN.values(), OTHER_REASONS)]
            told = _decided(left_open, _wrong_decisions(Outcome.UNSPECIFIED, left_open))
            return replace(told, more=why[0] if why else "")
        judged = Counter[tuple[str, Verdict]]()
        wrong = 0
        for (rule, expected), tally in tallies.items():
            if rule == rule_id:
                judged.update(tally)
                wrong += _wrong_decisions(expected, tally)
        return replace(
            _decided(judged, wrong),
            more=f"judged: the specification is read as {summary.campaign.spec}" if judged else "",
        )

    def _open_case(self, rule_id: str) -> list[Witness]:
        """A case that a rule leaves open, of those at hand one on which the campaigns disagree the most."""
        samples = [
            (label, group.sample)
            for label, summary in zip(self.labels, self.summaries, strict=True)
            for (_, rule), group in summary.observed.items()
            if rule == rule_id
        ]
        owner, record = max(samples, key=lambda sample: self._disagreement(sample[1].case))
        return [Witness(record, [owner], self._on(record))]

    # Speed.

    def throughput(self) -> dict[str, list[Timed]]:
        """The measurements by operator, data type, state of the caches and size."""
        columns = [{row.timing: row for row in summary.throughputs} for summary in self.summaries]
        order = {of: i for i, of in enumerate(_merged([(t.operator, t.data_type) for t in c] for c in columns))}
        found: dict[str, list[Timed]] = {}
        room = Room()
        for timing in sorted(
            filter(room.takes, _merged(columns)), key=lambda t: (order[t[:2]], _CACHES.index(t.caches), t.size)
        ):
            rows = [column.get(timing) for column in columns]
            found.setdefault(timing.operator, []).append(Timed(timing, rows))
        return found

    def throughput_at_once(self) -> dict[str, list[Timed]]:
        """Of each operator and data type one size: the largest of those that the most campaigns have."""
        best: dict[tuple[str, str, Caches], Timed] = {}
        for timed in chain.from_iterable(self.throughput().values()):
            of = timed.timing.operator, timed.timing.data_type, timed.timing.caches
            if of not in best or timed.weight >= best[of].weight:
                best[of] = timed
        found: dict[str, list[Timed]] = {}
        for (operator, _, _), timed in best.items():
            found.setdefault(operator, []).append(timed)
        return found

    def timings_left_out(self) -> list[tuple[str, int]]:
        """How many measurements of which campaign there was no room for, where there are any."""
        counts = [(label, of.throughputs_left_out) for label, of in zip(self.labels, self.summaries, strict=True)]
        return [(label, count) for label, count in counts if count]

    def rooflines(self) -> list[tuple[str, list[Roofline]]]:
        """The plots of each campaign that has some."""
        plots = [(label, rooflines(of.throughputs)) for label, of in zip(self.labels, self.summaries, strict=True)]
        return [(label, found) for label, found in plots if found]

    # Coverage.

    def heats(self) -> list[tuple[str, Heat, list[tuple[str, Heat]]]]:
        """For each campaign how many cases there are by rule and phase, and by type, dimension count and level."""
        return [
            (label, rules_by_phase(summary), types_by_rank_and_level(summary))
            for label, summary in zip(self.labels, self.summaries, strict=True)
        ]

    # The campaigns themselves.

    def headline(self) -> str:
        """What they come to, in a sentence."""
        outcomes = Counter(str(summary.conformance) for summary in self.summaries)
        told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        if self.has_baseline:
            changes = {change: count for change, count, _ in self.change_counts()}
            worse, better = changes[Change.REGRESSION] + changes[Change.NEW], changes[Change.REPAIR]
            cases = "case differs" if worse == 1 else "cases differ"
            told += f"; since the baseline {worse:,} more {cases}, {better:,} repaired"
        return f"{len(self.summaries)} campaigns side by side: {told}."

    def unlike(self) -> list[str]:
        """In what the campaigns were asked for different things, so that their counts do not compare."""
        traits: dict[str, Iterable[object]] = {
            "operators": (frozenset(s.campaign.operators) for s in self.summaries),
            "levels": (frozenset(s.campaign.levels) for s in self.summaries),
            "specification": (s.campaign.spec for s in self.summaries),
            "budget": (s.campaign.budget for s in self.summaries),
            "seed": (s.campaign.seed for s in self.summaries),
            "suite version": (s.campaign.suite_version for s in self.summaries),
        }
        return [name for name, values in traits.items() if len(set(values)) > 1]

    def head(self) -> list[tuple[str, list[Told]]]:
        """The facts that tell the campaigns apart."""
        return [
            (
                "Outcome",
                [Told(str(s.conformance), CellVerdict(str(s.conformance))) for s in self.summaries],
            ),
            ("Device", self._facts(lambda s: s.campaign.backend["device"])),
            ("Started", self._facts(lambda s: s.campaign.started)),
            ("Judged cases", self._facts(lambda s: f"{s.judged:,} of {s.total:,}")),
            ("Differ", self._facts(lambda s: f"{s.failed:,}")),
            ("Not claimed", self._facts(lambda s: f"{s.counts[Verdict.NOT_SUPPORTED]:,}")),
            ("Execution", self._facts(lambda s: "yes" if s.campaign.backend["executes"] else "not available")),
        ]

    def run(self) -> list[tuple[str, list[Told]]]:
        """What it takes to run them again, and their digests."""
        rows = [
            ("Versions", self._facts(lambda s: _joined(s.campaign.backend["versions"]))),
            ("Paths", self._facts(lambda s: _listed(s.campaign.backend.get("paths", {})) or "one")),
            ("Specification", self._facts(lambda s: f"as {s.campaign.spec}")),
            ("Suite", self._facts(lambda s: s.campaign.suite_version)),
            ("Operators", self._facts(lambda s: ", ".join(s.campaign.operators))),
            ("Levels", self._facts(lambda s: ", ".join(s.campaign.levels))),
            ("Budget", self._facts(lambda s: s.campaign.budget)),
            ("Seed", self._facts(lambda s: str(s.campaign.seed))),
            ("Enforced", self._facts(lambda s: ", ".join(s.campaign.backend["enforces"]) or "nothing")),
            ("Decides by the rules of", self._facts(lambda s: s.campaign.backend.get("decides_at") or "each level")),
            ("Finished", self._facts(lambda s: s.ending.finished if s.ending and s.ending.finished else "never")),
            ("Took", self._facts(lambda s: duration(s.seconds) or "unknown")),
        ]
        for name in _merged(summary.campaign.environment for summary in self.summaries):
            rows.append((name, [Told(s.campaign.environment.get(name, "unknown")) for s in self.summaries]))
        rows.append(("Results digest", self._facts(lambda s: s.digests.results)))
        rows.append(("Content digest", self._facts(lambda s: s.digests.content)))
        return rows

    def _facts(self, fact: Callable[[Summary], str]) -> list[Told]:
        return [Told(fact(summary)) for summary in self.summaries]

    # Cases that several campaigns have.

    def _witnesses(self, is_wanted: Callable[[Record], bool]) -> list[Witness]:
        """The smallest case of each campaign and verdict out of those kept, each case once; the smallest first."""
        smallest: dict[tuple[int, Verdict], tuple[int, Record]] = {}
        for column, summary in enumerate(self.summaries):
            for record in chain.from_iterable(group.shown() for group in summary.failures.values()):
                if is_wanted(record):
                    key, size = (column, record.verdict), case_size(record)
                    if key not in smallest or size < smallest[key][0]:
                        smallest[key] = (size, record)
        owners: dict[str, list[str]] = {}
        records: dict[str, Record] = {}
        for (column, verdict), (_, record) in sorted(smallest.items(), key=lambda item: (item[1][0], item[0])):
            suffix = "" if verdict is Verdict.FAIL else f" ({verdict})"
            owners.setdefault(record.case, []).append(self.labels[column] + suffix)
            records.setdefault(record.case, record)
        return [Witness(record, owners[case], self._on(record)) for case, record in records.items()]

    def _on(self, record: Record) -> list[Told]:
        """What each campaign made of this record's case."""
        return [_answered(record.expected, answers.get(record.case)) for answers in self.answers]

    def _disagreement(self, case: str) -> int:
        """How many different answers there are to a case."""
        return len({answers[case][1] for answers in self.answers if case in answers})

    @cached_property
    def _tallies(self) -> list[dict[tuple[str, str], Counter[tuple[str, Verdict]]]]:
        """For each campaign, by rule and expectation, how often which decision had which verdict."""
        found = []
        for summary in self.summaries:
            tallies: dict[tuple[str, str], Counter[tuple[str, Verdict]]] = {}
            for (rule, expected, answered, verdict), count in summary.decisions.items():
                about = self._decision_rule(rule, expected)
                if about != rule and answered == "accept":
                    verdict = Verdict.PASS  # of the decision; what came of executing it is another matter
                tallies.setdefault((about, expected), Counter())[answered, verdict] += count
            found.append(tallies)
        return found

    def _decision_rule(self, rule_id: str, expected: str) -> str:
        """The rule that a decision is about: on a valid descriptor, unless it says so, none in particular."""
        is_valid = expected == Outcome.ACCEPT and self._kinds.get(rule_id) in ("acceptance", "execution")
        return "" if is_valid else rule_id

    def _is_decision_on(self, rule_id: str, expected: str, record: Record) -> bool:
        """Whether the record is of a wrong decision about this rule."""
        wrong = _is_wrong_decision(record.expected, record.answered, record.verdict)
        about = self._decision_rule(record.rule, record.expected)
        return wrong and (about, record.expected) == (rule_id, expected)

    @property
    def _columns(self) -> range:
        return range(len(self.summaries))

    def _rule(self, rule_id: str) -> ShownRule:
        return shown_rule(self.rules, rule_id)

    def _place(self, rule_id: str) -> tuple[int, str]:
        return self._rank.get(rule_id, len(self._rank)), rule_id


def comparison_html(comparison: Comparison) -> str:
    """The page: several campaigns side by side."""
    matrix = comparison.matrix()
    cells = Counter(cell.cell.verdict for _, rows in matrix for _, row in rows for cell in row if cell is not None)
    return render_with_cases(
        "comparison.html.j2",
        comparison.cases,
        comparison.change_of_case(),
        comparison=comparison,
        changed=comparison.changes(),
        matrix=matrix,
        split=comparison.split_cells(),
        legend=[(verdict, cells[verdict], CELL_MEANINGS[verdict]) for verdict in CellVerdict if cells[verdict]],
        decisions=comparison.decisions(),
        outputs=comparison.outputs(),
        unspecified=comparison.unspecified(),
        throughput=comparison.throughput(),
        throughput_at_once=comparison.throughput_at_once(),
        timings_left_out=comparison.timings_left_out(),
        rooflines=comparison.rooflines(),
        heats=comparison.heats(),
        max_rows=MAX_ROWS,
    )


def witness_cases(summaries: Iterable[Summary]) -> set[str]:
    """Digests of the cases that a comparison may show."""
    return {
        record.case
        for summary in summaries
        for record in chain(
            chain.from_iterable(group.shown() for group in summary.failures.values()),
            (group.sample for group in summary.observed.values()),
        )
    }


def _read(store: Store, wanted: Collection[str], replay: Callable[[Store, Consumer], None]) -> tuple[Summary, Cases]:
    """Summary and cases of a stored campaign."""
    summary, cases = Summary(), Cases(wanted)
    try:
        replay(store, FanOut(summary, cases))
    except (msgspec.ValidationError, StreamError) as error:
        raise StoreError(f"{store.path}: holds no campaign of this suite, or a damaged one: {error}") from error
    return summary, cases


def _changed(store: Store, baseline: Store) -> list[Changed]:
    before, after = differing(baseline), differing(store)
    return changes(before, after, _verdicts(baseline, after), _verdicts(store, before))


def _verdicts(store: Store, cases: Collection[str]) -> dict[str, Verdict]:
    return {case: verdict for case, (verdict, _) in store.answers(cases).items()}


def _labels(summaries: Sequence[Summary]) -> list[str]:
    """The backends' names; the same name twice is told apart by when the campaign started, or else by a number."""
    names = [str(summary.campaign.backend["name"]) for summary in summaries]
    dated = [
        f"{name}, {summary.campaign.started}" if names.count(name) > 1 else name
        for name, summary in zip(names, summaries, strict=True)
    ]
    return [
        f"{label} ({dated[: i + 1].count(label)})" if dated.count(label) > 1 else label for i, label in enumerate(dated)
    ]


def _baseline_label(summary: Summary, others: Collection[str]) -> str:
    label = f"{summary.campaign.backend['name']}, baseline"
    while label in others:  # a backend may be called anything
        label += " run"
    return label


def _merged(sequences: Iterable[Iterable[_T]]) -> list[_T]:
    """What is in any of them, once, in the order of its first appearance."""
    return list(dict.fromkeys(chain.from_iterable(sequences)))


def _listed(paths: Mapping[str, str]) -> str:
    return "; ".join(f"{part}: {path}" for part, path in paths.items())


def _joined(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))


def _is_output_of(operator: str, rule_id: str, record: Record) -> bool:
    wrong = record.verdict in NOT_CONFORMANT and record.answered == "accept"
    right_decision = not _is_wrong_decision(record.expected, record.answered, record.verdict)
    return wrong and right_decision and (record.operator, record.rule) == (operator, rule_id)


def _output_failures(group: FailureGroup) -> int:
    """How many of the group failed after their descriptor was accepted, as it should have been."""
    if group.kind in (FailureKind.DECISION, FailureKind.ERROR):
        return 0
    return sum(count for (_, answered), count in group.decisions.items() if answered == "accept")


def _is_wrong_decision(expected: str, answered: str, verdict: Verdict) -> bool:
    """Whether it failed by the decision on its descriptor: a wrong one, or none for a crash."""
    if verdict is Verdict.FAIL:
        return (expected, answered) in ((Outcome.ACCEPT, "reject"), (Outcome.REJECT, "accept"))
    return verdict in NOT_CONFORMANT and answered != "accept"


def _open_answers(tally: Counter[tuple[str, Verdict]]) -> set[str]:
    """What a campaign answered where it could do as it liked; "" for a crash or none in time."""
    return {answered for answered, verdict in tally if verdict in (Verdict.OBSERVED, *NOT_CONFORMANT)}


def _wrong_decisions(expected: str, tally: Counter[tuple[str, Verdict]]) -> int:
    return sum(n for (answered, verdict), n in tally.items() if _is_wrong_decision(expected, answered, verdict))


_TALLIED = {
    Verdict.CRASH: "crashed",
    Verdict.TIMEOUT: "timed out",
    Verdict.NOT_SUPPORTED: "not claimed",
    Verdict.WAIVED: "waived",
    Verdict.ERROR: "faults of the harness",
}


def _phrases(tally: Counter[tuple[str, Verdict]]) -> Iterator[str]:
    """How often what happened; a case that crashed after it was accepted was decided on."""
    told: Counter[str] = Counter()
    for (answered, verdict), count in tally.items():
        decided = verdict not in _TALLIED or (verdict in NOT_CONFORMANT and answered == "accept")
        told[_SPOKEN.get(answered, answered) if decided else _TALLIED[verdict]] += count
    order = [*_SPOKEN.values(), *_TALLIED.values()]
    for word in sorted(told, key=lambda word: (order.index(word) if word in order else len(order), word)):
        yield f"{told[word]:,} {word}"


def _decided(tally: Counter[tuple[str, Verdict]], wrong: int) -> Told:
    """The decisions of one campaign on the cases about a rule, `wrong` of which were wrong."""
    text = ", ".join(_phrases(tally))
    if not text:
        return Told("no case")
    verdicts = {verdict for _, verdict in tally}
    if wrong:
        return Told(text, _DIFFERS)
    if Verdict.ERROR in verdicts:
        return Told(text, _UNSURE)
    return Told(text, _CONFORMS if verdicts & set(JUDGED) else _OPEN if Verdict.OBSERVED in verdicts else _NONE)


def _answered(expected: str, answer: tuple[Verdict, str] | None) -> Told:
    """What a campaign made of one case."""
    if answer is None:
        return Told("not in this campaign")
    verdict, answered = answer
    if verdict in _TALLIED:
        word = _TALLIED[verdict] if verdict is not Verdict.ERROR else "fault of the harness"
        style = _DIFFERS if verdict in NOT_CONFORMANT else _UNSURE if verdict is Verdict.ERROR else _NONE
        return Told(word, style)
    told = _SPOKEN.get(answered, answered)
    if verdict is Verdict.OBSERVED:
        return Told(told, _OPEN)
    if verdict is Verdict.PASS:
        return Told(f"{told}, as specified", _CONFORMS)
    return Told(f"{told}, wrong" if _is_wrong_decision(expected, answered, verdict) else "output wrong", _DIFFERS)
