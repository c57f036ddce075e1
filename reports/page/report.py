"""What a report shows: one campaign or several side by side, with or without an earlier run as a baseline.

It is made from sums and a few samples. A case has the same digest in every campaign: of a case that one backend gets
wrong, the report tells what each of the others made of the very same case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dml_conformance.reports.model.grouping import distinct, family_name, grouped
from dml_conformance.reports.model.records import (
    NOT_CONFORMANT,
    Caches,
    Phase,
    Record,
    Room,
    Throughput,
    Timing,
    Verdict,
)
from dml_conformance.reports.model.stream import Consumer, StreamError
from dml_conformance.reports.model.summary import (
    JUDGED,
    OTHER_REASONS,
    Cell,
    CellVerdict,
    Conformance,
    FailureGroup,
    FailureKind,
    Size,
    Summary,
    Test,
    Verdicts,
    is_contrary,
)
from dml_conformance.reports.model.text import counts_text, executed_texts, level_ranges
from dml_conformance.reports.page.cases import SHOWN_DIGITS
from dml_conformance.reports.page.changes import CHANGE_MEANINGS, Answers, CaseChange, ChangeKind, changes, differing
from dml_conformance.reports.store.results import Store, StoreError
from dml_conformance.spec.errata import Resolution, errata
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Outcome

MAX_FIRST = 5  # groups of failures named beside the matrix

# For each operator, for each campaign, a cell for each level or run; None where there was none.
Matrix = Sequence[tuple[str, Sequence[tuple[str, Sequence["CampaignCell | None"]]]]]
Tally = Counter[tuple[str, str, Verdict]]  # decisions: expected, answered, what came of it
_CACHES = list(Caches)
_SPOKEN = {"accept": "accepted", "reject": "rejected"}
_CONFORMS, _NARROWER, _DIFFERS, _UNSURE, _OPEN, _NONE = CellVerdict
_WORST_FIRST = (_DIFFERS, _UNSURE, _NARROWER, _CONFORMS, _OPEN, _NONE)
_DECLINED = (Verdict.NOT_SUPPORTED, Verdict.WAIVED)

DIFFERENCE_TITLES = {
    "Decisions": (FailureKind.DECISION,),
    "Outputs": (FailureKind.OUTPUT,),
    "Crashes and timeouts": (FailureKind.CRASH, FailureKind.TIMEOUT),
    "Faults of the harness": (FailureKind.ERROR,),
}


@dataclass(frozen=True)
class CampaignCell:
    """What a table says of one campaign: never by colour alone, always a text, with the symbol of a verdict if any.

    Attributes:
        text: of the cell.
        verdict: that symbol and colour stand for.
        more: beside it, in small print or as the cell's title.
        traits: by which the list of cases shows what is counted; empty where nothing leads there.
        is_split: whether the campaigns come to different verdicts there.
        is_hollow: whether less was judged than the colour says: cases that the backend declined or a waiver names, or
            operators of which nothing was judged. Cases that the specification leaves open are nearly everywhere.
    """

    text: str
    verdict: CellVerdict | None = None
    more: str = ""
    traits: Mapping[str, str] = field(default_factory=dict)
    is_split: bool = False
    is_hollow: bool = False

    @property
    def symbol(self) -> str:
        return self.verdict.symbol if self.verdict is not None else ""

    @property
    def style(self) -> str:
        return str(self.verdict).replace(" ", "-") if self.verdict is not None else "not-supported"


class FamilyRow(NamedTuple):
    """A family of operators on the map: for each campaign, at each level, the worst that came of any of them.

    Attributes:
        name: of the family; the operator's where it is alone.
        operators: the family's, as far as they were asked for.
        cells: by campaign's label; None where a level was not asked for.
    """

    name: str
    operators: Sequence[str]
    cells: Sequence[tuple[str, Sequence[CampaignCell | None]]]


class RuleText(NamedTuple):
    """A rule in words; of one that the campaign does not list only the id is known."""

    id: str
    statement: str = ""
    source: str = ""
    erratum: str = ""


class SharedCase(NamedTuple):
    """One case, whose failure or sample it is, and what each campaign made of it; nothing where there is only one."""

    record: Record
    owners: Sequence[str]
    answers: Sequence[CampaignCell]


@dataclass(frozen=True)
class RuleRow:
    """A rule with one cell for each campaign.

    Attributes:
        rule: the rule.
        about: operators, or what the specification expects.
        cells: in the order of the campaigns.
        weight: how many decisions were wrong, in all campaigns.
        is_split: whether the campaigns disagree where the specification leaves it open.
        cases: one on which they do.
    """

    rule: RuleText
    about: str
    cells: Sequence[CampaignCell]
    weight: int = 0
    is_split: bool = False
    cases: Sequence[SharedCase] = ()


@dataclass(frozen=True)
class DifferenceCount:
    """How often one campaign differed in the same way."""

    label: str
    operator: str
    expected: str
    answered: str
    count: int
    levels: str


@dataclass(frozen=True)
class DifferenceGroup:
    """Failures of one kind about one rule: decisions of all operators, all else of one.

    Attributes:
        rule: that they are about.
        operator: "" for decisions.
        kind: of the failures.
        operators: that it concerns.
        levels: at which it was seen.
        count: cases in all campaigns.
        counts: the same, campaign by campaign and operator by operator.
        cases: the smallest one first, then those of the other campaigns.
        breadth: at how many operators and levels.
    """

    rule: RuleText
    operator: str
    kind: FailureKind
    operators: Sequence[str]
    levels: str
    count: int
    counts: Sequence[DifferenceCount]
    cases: Sequence[SharedCase]
    breadth: int

    @property
    def traits(self) -> dict[str, str]:
        """By which the list of cases shows them, with the smallest one open."""
        operator = self.operators[0] if len(self.operators) == 1 else ""
        smallest = self.cases[0].record.case[:SHOWN_DIGITS]
        return {"operator": operator, "rule": self.rule.id or "-", "verdict": "differs", "case": smallest}


class TimingRow(NamedTuple):
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


@dataclass(frozen=True)
class ChangeRow:
    """Cases of one campaign, operator and rule that changed alike; `first` is one of them."""

    label: str
    kind: ChangeKind
    operator: str
    rule: str
    count: int
    first: CaseChange
    held_by: str  # the campaign whose list has them

    @property
    def traits(self) -> dict[str, str]:
        """By which the list of cases shows them."""
        return {"campaign": self.held_by, "change": self.kind, "operator": self.operator, "rule": self.rule or "-"}


class CampaignReport:
    """One campaign, or several side by side.

    Args:
        summaries: of the campaigns, one or more.
        cases: results files of the campaigns, whose cases are shown; none: there are no cases on the page.
        answers: for each campaign what it made of the cases of `shown_cases`, as far as it has them; none for one.
        has_baseline: whether the last campaign is an earlier run that the others are held against.
        changed: for each of the others what changed since; empty without a baseline.
    """

    def __init__(
        self,
        summaries: Sequence[Summary],
        cases: Sequence[Path] = (),
        answers: Sequence[Answers] = (),
        *,
        has_baseline: bool = False,
        changed: Sequence[Sequence[CaseChange]] = (),
    ) -> None:
        self.summaries = summaries
        self.is_single = len(summaries) == 1
        self.has_baseline = has_baseline
        self.labels = _labels(summaries[:-1] if has_baseline else summaries)
        if has_baseline:
            self.labels.append(_baseline_label(summaries[-1], self.labels))
        self.campaigns = list(zip(self.labels, summaries, strict=True))
        self.cases = dict(zip(self.labels, cases, strict=True)) if cases else {}
        self.changed = changed
        self.rules = {rule["id"]: rule for s in reversed(summaries) for rule in s.campaign.rules}
        self._answers = answers
        order = distinct([rule["id"] for rule in summary.campaign.rules] for summary in summaries)
        self._rank = {rule_id: i for i, rule_id in enumerate(order)}
        self.operators = distinct(summary.campaign.operators for summary in summaries)
        asked = distinct(summary.campaign.levels for summary in summaries)
        self.levels = [level.label for level in Level if level.label in asked]

    @classmethod
    def of(
        cls,
        stores: Sequence[Store],
        baseline: Store | None = None,
        replay: Callable[[Store, Consumer], None] = Store.replay,
    ) -> CampaignReport:
        """The report of stored campaigns, beside each other and beside an earlier run.

        Args:
            stores: of the campaigns, one or more.
            baseline: of the earlier run.
            replay: how a stored stream is given to a consumer; one that shows how far it is can stand in.

        Raises:
            StoreError: a file is damaged, or holds what no campaign of this suite does.
        """
        changed: list[list[CaseChange]] = []
        if baseline is not None:
            changed = [_changed(store, baseline) for store in stores]
            stores = [*stores, baseline]
        summaries = [_read(store, replay) for store in stores]
        shown = shown_cases(summaries) if len(stores) > 1 else ()
        return cls(
            summaries,
            [store.path for store in stores],
            [store.answers(shown) for store in stores],
            has_baseline=baseline is not None,
            changed=changed,
        )

    # The head.

    def headline(self) -> str:
        """What the campaigns come to, in a sentence or a few."""
        if self.is_single:
            return self.summaries[0].headline()
        outcomes = Counter(str(summary.conformance) for summary in self.summaries)
        told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        if self.has_baseline:
            counts = {kind: count for kind, count, _ in self.change_counts()}
            worse, better = counts[ChangeKind.REGRESSION] + counts[ChangeKind.NEW], counts[ChangeKind.REPAIR]
            cases = "case differs" if worse == 1 else "cases differ"
            told += f"; since the baseline {worse:,} more {cases}, {better:,} repaired"
        return f"{len(self.summaries)} campaigns side by side: {told}."

    def why_incomplete(self) -> list[tuple[str, str]]:
        """What a run lacks, with the campaign's label; where it differs, that it also is incomplete says little."""
        return [
            (label, reason)
            for label, summary in self.campaigns
            if summary.conformance is not Conformance.NOT_CONFORMANT
            for reason in summary.why_incomplete()
        ]

    def unlike(self) -> list[str]:
        """In what the campaigns were asked for different things, so that their counts do not compare."""
        traits: dict[str, Iterable[object]] = {
            "operators": (frozenset(s.campaign.operators) for s in self.summaries),
            "levels": (frozenset(s.campaign.levels) for s in self.summaries),
            "specification": (s.campaign.spec for s in self.summaries),
            "accuracy": (s.campaign.accuracy for s in self.summaries),
            "budget": (s.campaign.budget for s in self.summaries),
            "seed": (s.campaign.seed for s in self.summaries),
            "suite version": (s.campaign.suite_version for s in self.summaries),
        }
        return [name for name, values in traits.items() if len(set(values)) > 1]

    def most(self) -> list[DifferenceGroup]:
        """The differences that concern most operators at most levels; how many cases there are says little."""
        groups = [group for _, of in self.differences() for group in of]
        return sorted(groups, key=lambda group: -group.breadth)[:MAX_FIRST]

    def environment_names(self) -> list[str]:
        """Of the facts about the machines that the campaigns ran on."""
        return distinct(summary.campaign.environment for summary in self.summaries)

    # Since the baseline.

    def changes(self) -> list[ChangeRow]:
        """What changed, by campaign, operator and rule; regressions first, the most frequent first."""
        rows = [
            ChangeRow(label, kind, operator, rule, len(group), group[0], self._holder(label, kind))
            for label, found in zip(self.labels, self.changed, strict=False)
            for (kind, operator, rule), group in grouped(found, lambda c: (c.kind, c.operator, c.rule)).items()
        ]
        return sorted(rows, key=lambda row: (list(ChangeKind).index(row.kind), -row.count, row.operator, row.rule))

    def change_counts(self) -> list[tuple[ChangeKind, int, str]]:
        """How many cases changed in which way, with what that means."""
        counts = Counter(change.kind for found in self.changed for change in found)
        return [(kind, counts[kind], CHANGE_MEANINGS[kind]) for kind in ChangeKind]

    def change_of_case(self) -> dict[tuple[str, str], str]:
        """What became of a case, by the label of the campaign whose list has it and the shown digits of its digest."""
        return {
            (self._holder(label, change.kind), change.case[:SHOWN_DIGITS]): change.kind
            for label, found in zip(self.labels, self.changed, strict=False)
            for change in found
        }

    def _holder(self, label: str, kind: ChangeKind) -> str:
        return self.labels[-1] if kind is ChangeKind.GONE else label

    # Operators by level, and what all cases came to.

    @cached_property
    def matrix(self) -> Matrix:
        """For each operator, for each campaign, a cell for each level; None where it was not asked for."""
        split = self.split_cells()
        found = [
            (label, {(c.operator, c.level): self._level_cell(label, summary, c, split) for c in summary.matrix()})
            for label, summary in self.campaigns
        ]
        return [
            (operator, [(label, [cells.get((operator, level)) for level in self.levels]) for label, cells in found])
            for operator in self.operators
        ]

    def _level_cell(self, label: str, summary: Summary, cell: Cell, split: Collection[tuple[str, str]]) -> CampaignCell:
        word = f"{cell.counts.failed:,} differ" if cell.counts.failed else cell.verdict.word
        told = counts_text(cell.counts) or "no cases"
        told += ", a sample" if cell.counts and summary.is_sampled(cell.operator, cell.level) else ""
        verdict = "differs" if cell.counts.failed else ""
        traits = self._traits(label, operator=cell.operator, level=cell.level, verdict=verdict) if cell.counts else {}
        if cell.counts.failed:
            traits = traits | {"case": self._smallest_cases[label][cell.operator, cell.level]}
        return CampaignCell(
            word,
            cell.verdict,
            told,
            traits,
            is_split=(cell.operator, cell.level) in split,
            is_hollow=any(cell.counts[verdict] for verdict in _DECLINED),
        )

    @property
    def smallest_cases(self) -> set[str]:
        """Those that red cells of the map open."""
        return {case for of in self._smallest_cases.values() for case in of.values()}

    @cached_property
    def _smallest_cases(self) -> dict[str, dict[tuple[str, str], str]]:
        """For each campaign by operator and level the smallest case that failed, as the page names it."""
        smallest: dict[str, dict[tuple[str, str], tuple[Size, str]]] = {}
        for label, summary in self.campaigns:
            of = smallest.setdefault(label, {})
            for group in summary.failures.values():
                for level, found in group.smallest_at.items():
                    of[group.operator, level] = min(found, of.get((group.operator, level), found))
        return {label: {at: case[:SHOWN_DIGITS] for at, (_, case) in of.items()} for label, of in smallest.items()}

    def family_rows(self) -> list[FamilyRow]:
        """The matrix by family, in its order."""
        return by_family(self.matrix)

    def executed_at(self) -> list[tuple[str, str]]:
        """Where which operators were executed, with the campaign's label; of a campaign that was everywhere nothing."""
        return [(label, text) for label, s in self.campaigns for text in executed_texts(s.executed_at())]

    def split_cells(self) -> set[tuple[str, str]]:
        """Operators and levels at which the campaigns come to different verdicts."""
        verdicts: dict[tuple[str, str], set[CellVerdict]] = {}
        for cell in chain.from_iterable(summary.matrix() for summary in self.summaries):
            verdicts.setdefault((cell.operator, cell.level), set()).add(cell.verdict)
        return {at for at, found in verdicts.items() if len(found) > 1}

    def phases(self) -> list[Phase]:
        """Those that had cases."""
        return distinct(summary.phases() for summary in self.summaries)

    # What differs.

    def decisions(self) -> list[RuleRow]:
        """The rules on which a campaign decided otherwise than the specification, crashed, or made no promise."""
        rows = []
        rules = sorted({rule_id for of in self._tallies for rule_id in of}, key=self._place)
        for rule_id, expected in product(rules, (Outcome.ACCEPT, Outcome.REJECT)):
            tallies = [_of_outcome(of.get(rule_id, Tally()), expected) for of in self._tallies]
            weight = sum(map(_wrong_decisions, tallies))
            if weight or any(verdict not in JUDGED for tally in tallies for _, _, verdict in tally):
                cells = [_decided(tally) for tally in tallies]
                if rule_id:
                    cells = self._led(cells, rule=rule_id, expected=expected)
                rows.append(RuleRow(self._rule(rule_id), expected.lower(), cells, weight))
        return sorted(rows, key=lambda row: -row.weight)

    def executed(self) -> list[tuple[str, list[CampaignCell]]]:
        """For each operator what came of executing it."""
        return [(operator, self._outputs(operator)) for operator in self.operators]

    def outputs(self) -> list[RuleRow]:
        """The operators and rules whose execution came out wrong in a campaign."""
        wrong = {
            (group.operator, group.rule)
            for summary in self.summaries
            for group in summary.failures.values()
            if _output_failures(group)
        }
        return [
            RuleRow(
                self._rule(rule_id),
                operator,
                self._led(self._outputs(operator, rule_id), operator=operator, rule=rule_id, verdict="differs"),
            )
            for operator, rule_id in sorted(wrong, key=lambda key: (self.operators.index(key[0]), self._place(key[1])))
        ]

    def _outputs(self, operator: str, rule_id: str | None = None) -> list[CampaignCell]:
        """What executing an operator came to in each campaign, by one rule or by all rules of execution."""
        return [self._output(*found, operator, rule_id) for found in zip(self.summaries, self._sums, strict=True)]

    @cached_property
    def _sums(self) -> list[dict[tuple[str, ...], Test]]:
        """For each campaign its tests by operator and rule."""
        return [summary.sums("operator", "rule") for summary in self.summaries]

    def _output(
        self, summary: Summary, sums: Mapping[tuple[str, ...], Test], operator: str, rule_id: str | None
    ) -> CampaignCell:
        backend = summary.campaign.backend
        if operator not in summary.campaign.operators:
            return CampaignCell("not asked for")
        if not backend["executes"]:
            return CampaignCell("execution not available", _NONE)
        if Category.EXECUTION not in backend["enforces"]:
            return CampaignCell("execution not claimed", _NONE)
        counts = Verdicts()
        for (of, rule), test in sums.items():
            if of == operator and (rule == rule_id if rule_id is not None else self._kind(rule) == "execution"):
                counts.update(test.counts)
        wrong = Counter[Verdict]()
        for group in summary.failures.values():
            if group.operator == operator and rule_id in (None, group.rule) and (count := _output_failures(group)):
                wrong[group.smallest.verdict] += count
        executed = counts[Verdict.PASS] + wrong.total()
        words = {Verdict.FAIL: "differ", Verdict.CRASH: "crashed", Verdict.TIMEOUT: "timed out"}
        if wrong:
            told = ", ".join(f"{wrong[verdict]:,} {word}" for verdict, word in words.items() if wrong[verdict])
            return CampaignCell(f"{told}, of {executed:,}", _DIFFERS)
        if counts[Verdict.PASS]:
            return CampaignCell(f"{counts[Verdict.PASS]:,} as specified", _CONFORMS)
        if counts[Verdict.NOT_SUPPORTED]:
            return CampaignCell(f"{counts[Verdict.NOT_SUPPORTED]:,} not claimed", _NONE)
        return CampaignCell("nothing executed")

    def differences(self) -> list[tuple[str, list[DifferenceGroup]]]:
        """The failures of each kind that there are, under its title."""
        found = [(title, self._groups(kinds)) for title, kinds in DIFFERENCE_TITLES.items()]
        return [(title, groups) for title, groups in found if groups]

    def _groups(self, kinds: Collection[FailureKind]) -> list[DifferenceGroup]:
        found: dict[tuple[str, str, FailureKind], list[tuple[str, Summary, FailureGroup]]] = {}
        for label, summary in self.campaigns:
            for group in summary.failure_groups(*kinds):
                operator = "" if group.kind is FailureKind.DECISION else group.operator
                found.setdefault((group.rule, operator, group.kind), []).append((label, summary, group))
        groups = [self._group(*key, members) for key, members in found.items()]
        place = {operator: i for i, operator in enumerate(self.operators)}
        return sorted(groups, key=lambda group: (place.get(group.operator, 0), -group.count, group.rule.id))

    def _group(
        self, rule: str, operator: str, kind: FailureKind, members: Sequence[tuple[str, Summary, FailureGroup]]
    ) -> DifferenceGroup:
        counts = [
            DifferenceCount(
                label, group.operator, expected, answered, count, level_ranges(group.levels, summary.campaign.levels)
            )
            for label, summary, group in members
            for (expected, answered), count in sorted(group.decisions.items())
        ]
        cases = self._shared_cases([(label, group) for label, _, group in members])
        groups = [group for _, _, group in members]
        operators = list(dict.fromkeys(group.operator for group in groups))
        places = {(group.operator, level) for group in groups for level in group.levels}
        levels = level_ranges({level for _, level in places}, self.levels)
        count = sum(group.count for group in groups)
        return DifferenceGroup(self._rule(rule), operator, kind, operators, levels, count, counts, cases, len(places))

    def _shared_cases(self, groups: Sequence[tuple[str, FailureGroup]]) -> list[SharedCase]:
        """The smallest case of all and of each campaign, each once."""
        records: dict[str, Record] = {}
        owners: dict[str, list[str]] = {}
        for label, group in groups:
            for record in group.shown():
                records.setdefault(record.case, record)
                if label not in owners.setdefault(record.case, []):
                    owners[record.case].append(label)
        by_size = sorted(groups, key=lambda item: item[1].smallest_size)
        of_campaigns = {label: group.smallest.case for label, group in reversed(by_size)}
        order = dict.fromkeys([by_size[0][1].smallest.case, *of_campaigns.values()])
        return [SharedCase(records[case], owners[case], self._on(records[case])) for case in order]

    # What the specification leaves open.

    def unspecified(self) -> list[RuleRow]:
        """The rules that leave something open, and what each campaign did; where they disagree comes first."""
        rows = []
        for rule_id in sorted({rule for s in self.summaries for _, rule in s.observed}, key=self._place):
            tallies = [of.get(rule_id, Tally()) for of in self._tallies]
            cells = [_observed(*found, rule_id) for found in zip(self.summaries, tallies, strict=True)]
            is_split = len(set(filter(None, map(_open_answers, tallies)))) > 1
            cases = [self._open_case(rule_id)] if is_split else []
            operators = {operator for s in self.summaries for operator, rule in s.observed if rule == rule_id}
            about = ", ".join(operator for operator in self.operators if operator in operators)
            rows.append(RuleRow(self._rule(rule_id), about, cells, is_split=is_split, cases=cases))
        return sorted(rows, key=lambda row: (not row.is_split, row.rule.erratum))

    def _open_case(self, rule_id: str) -> SharedCase:
        """A case that a rule leaves open, of those at hand one on which the campaigns disagree the most."""
        samples = [
            (label, group.sample)
            for label, summary in self.campaigns
            for (_, rule), group in summary.observed.items()
            if rule == rule_id
        ]
        owner, record = max(samples, key=lambda sample: self._disagreement(sample[1].case))
        return SharedCase(record, [owner], self._on(record))

    # Speed.

    def throughput(self) -> dict[str, list[TimingRow]]:
        """The measurements by operator, data type, state of the caches and size."""
        columns = [{row.timing: row for row in summary.throughputs} for summary in self.summaries]
        order = {of: i for i, of in enumerate(distinct([(t.operator, t.data_type) for t in c] for c in columns))}
        timings = filter(Room().takes, distinct(columns))
        rows = [
            TimingRow(timing, [column.get(timing) for column in columns])
            for timing in sorted(timings, key=lambda t: (order[t[:2]], _CACHES.index(t.caches), t.size))
        ]
        return grouped(rows, lambda row: row.timing.operator)

    def throughput_at_once(self) -> dict[str, list[TimingRow]]:
        """Of each operator and data type one size: the largest of those that the most campaigns have."""
        best: dict[tuple[str, str, Caches], TimingRow] = {}
        for row in chain.from_iterable(self.throughput().values()):
            of = row.timing.operator, row.timing.data_type, row.timing.caches
            if of not in best or row.weight >= best[of].weight:
                best[of] = row
        return grouped(best.values(), lambda row: row.timing.operator)

    # One operator.

    def of_operators(self) -> dict[str, Any]:
        """What a view of one operator has that no table has: cases by rule and verdict, and the errata that apply.

        Cases are counted in the order of the campaigns.
        """
        tallies: dict[str, dict[str, list[Verdicts]]] = {operator: {} for operator in self.operators}
        for i, sums in enumerate(self._sums):
            for (operator, rule), test in sums.items():
                tallies[operator].setdefault(rule, [Verdicts() for _ in self.summaries])[i] = test.counts
        concerning = [
            [erratum.id, erratum.operators, str(erratum.resolution), erratum.finding, erratum.source.url]
            for erratum in errata().values()
            if erratum.resolution is not Resolution.EDITORIAL
            and (not erratum.operators or not tallies.keys().isdisjoint(erratum.operators))
        ]
        return {"tallies": tallies, "errata": concerning, "campaigns": self.labels}

    # Cases that several campaigns have.

    def _traits(self, label: str, **traits: str) -> dict[str, str]:
        """What the list of cases shows of a campaign; its name is left out where there is no other."""
        return traits if self.is_single else {"campaign": label, **traits}

    def _led(self, cells: Iterable[CampaignCell], **traits: str) -> list[CampaignCell]:
        """Cells of a rule that lead to its cases; where the cases of one verdict are asked for, those that differ."""
        return [
            replace(cell, traits=self._traits(label, **traits))
            if cell.verdict is _DIFFERS or (cell.verdict and "verdict" not in traits)
            else cell
            for label, cell in zip(self.labels, cells, strict=True)
        ]

    def _on(self, record: Record) -> list[CampaignCell]:
        """What each campaign made of this record's case."""
        if self.is_single:
            return []
        return [_answered(record.expected, answers.get(record.case)) for answers in self._answers]

    def _disagreement(self, case: str) -> int:
        """How many different answers there are to a case."""
        return len({answers[case][1] for answers in self._answers if case in answers})

    @cached_property
    def _tallies(self) -> list[dict[str, Tally]]:
        """For each campaign the decisions by rule: on a valid descriptor, unless it says so, none in particular."""
        found = []
        for summary in self.summaries:
            tallies: dict[str, Tally] = {}
            for (rule, expected, answered, verdict), count in summary.decisions.items():
                if rule and expected == Outcome.ACCEPT and self._kind(rule) in ("acceptance", "execution"):
                    rule = ""
                    if answered == "accept":
                        verdict = Verdict.PASS  # of the decision; what came of executing it is another matter
                tallies.setdefault(rule, Tally())[expected, answered, verdict] += count
            found.append(tallies)
        return found

    def _kind(self, rule_id: str) -> str:
        return str(self.rules[rule_id]["kind"]) if rule_id in self.rules else ""

    def _rule(self, rule_id: str) -> RuleText:
        rule = self.rules.get(rule_id)
        if rule is None:
            return RuleText(rule_id or "no rule in particular")
        return RuleText(rule_id, rule["statement"], rule["source"], rule["erratum"])

    def _place(self, rule_id: str) -> tuple[int, str]:
        return self._rank.get(rule_id, len(self._rank)), rule_id


def by_family(matrix: Matrix) -> list[FamilyRow]:
    """The matrix by family, in its order."""
    rows = []
    for name, members in grouped(matrix, lambda row: family_name(row[0])).items():
        by_campaign = [
            (label, [_family_cell(found) for found in zip(*(of[n][1] for _, of in members), strict=True)])
            for n, (label, _) in enumerate(members[0][1])
        ]
        told = members[0][0] if len(members) == 1 else name
        rows.append(FamilyRow(told, [operator for operator, _ in members], by_campaign))
    return rows


def _family_cell(found: Sequence[CampaignCell | None]) -> CampaignCell | None:
    cells = [cell for cell in found if cell is not None]
    if not cells:
        return None
    worst = min(cells, key=lambda cell: _WORST_FIRST.index(cell.verdict))
    text, traits = worst.text, worst.traits
    differing = [cell for cell in cells if cell.verdict is _DIFFERS]
    if len(cells) > 1:
        text = f"{len(differing)} of {len(cells)} operators differ" if differing else str(worst.verdict)
        traits = worst.traits if len(differing) == 1 else {k: v for k, v in traits.items() if k != "operator"}
    return CampaignCell(
        text,
        worst.verdict,
        traits=traits if differing else {},
        is_split=any(cell.is_split for cell in cells),
        is_hollow=any(cell.is_hollow for cell in cells) or len({cell.verdict for cell in cells}) > 1,
    )


def shown_cases(summaries: Iterable[Summary]) -> set[str]:
    """Digests of the cases that a report may show."""
    return {
        record.case
        for summary in summaries
        for record in chain(
            chain.from_iterable(group.shown() for group in summary.failures.values()),
            (group.sample for group in summary.observed.values()),
        )
    }


def _read(store: Store, replay: Callable[[Store, Consumer], None]) -> Summary:
    """The sums of a stored campaign."""
    summary = Summary()
    try:
        replay(store, summary)
    except (msgspec.ValidationError, StreamError) as error:
        raise StoreError(f"{store.path}: holds no campaign of this suite, or a damaged one: {error}") from error
    return summary


def _changed(store: Store, baseline: Store) -> list[CaseChange]:
    before, after = differing(baseline), differing(store)
    return changes(before, after, baseline.answers(after), store.answers(before))


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


def _output_failures(group: FailureGroup) -> int:
    """How many of the group failed after their descriptor was accepted, as it should have been."""
    if group.kind in (FailureKind.DECISION, FailureKind.ERROR):
        return 0
    return sum(count for (_, answered), count in group.decisions.items() if answered == "accept")


def _is_wrong_decision(expected: str, answered: str, verdict: Verdict) -> bool:
    """Whether it failed by the decision on its descriptor: a wrong one, or none for a crash."""
    if verdict is Verdict.FAIL:
        return is_contrary(expected, answered)
    return verdict in NOT_CONFORMANT and answered != "accept"


def _of_outcome(tally: Tally, expected: str) -> Tally:
    """The decisions where the specification expects this."""
    return Tally({decision: count for decision, count in tally.items() if decision[0] == expected})


def _open_answers(tally: Tally) -> frozenset[str]:
    """What a campaign answered where it could do as it liked; "" for a crash or none in time."""
    decisions = _of_outcome(tally, Outcome.UNSPECIFIED)
    return frozenset(answered for _, answered, v in decisions if v in (Verdict.OBSERVED, *NOT_CONFORMANT))


def _wrong_decisions(tally: Tally) -> int:
    return sum(count for decision, count in tally.items() if _is_wrong_decision(*decision))


def _observed(summary: Summary, tally: Tally, rule_id: str) -> CampaignCell:
    """What a campaign did with the cases about a rule that leaves something open."""
    left_open = _of_outcome(tally, Outcome.UNSPECIFIED)
    if not left_open:
        more = f"judged: the specification is read as {summary.campaign.spec}" if tally else ""
        return replace(_decided(tally), more=more)
    groups = [group for (_, rule), group in summary.observed.items() if rule == rule_id]
    reasons = sum((group.reasons for group in groups), Counter[str]())
    why = [reason for reason, _ in reasons.most_common() if reason not in (*_SPOKEN.values(), OTHER_REASONS)]
    levels = sum((group.levels for group in groups), Counter[str]())
    where = f"at {level_ranges(levels, summary.campaign.levels)}" if levels else ""
    return replace(_decided(left_open), more="; ".join(filter(None, (where, *why[:1]))))


_TALLIED = {
    Verdict.CRASH: "crashed",
    Verdict.TIMEOUT: "timed out",
    Verdict.NOT_SUPPORTED: "not claimed",
    Verdict.WAIVED: "waived",
    Verdict.ERROR: "faults of the harness",
}


def _phrases(tally: Tally) -> Iterator[str]:
    """How often what happened; a case that crashed after it was accepted was decided on."""
    told: Counter[str] = Counter()
    for (_, answered, verdict), count in tally.items():
        decided = verdict not in _TALLIED or (verdict in NOT_CONFORMANT and answered == "accept")
        told[_SPOKEN.get(answered, answered) if decided else _TALLIED[verdict]] += count
    order = [*_SPOKEN.values(), *_TALLIED.values()]
    for word in sorted(told, key=lambda word: (order.index(word) if word in order else len(order), word)):
        yield f"{told[word]:,} {word}"


def _decided(tally: Tally) -> CampaignCell:
    """The decisions of one campaign on the cases about a rule."""
    text = ", ".join(_phrases(tally))
    if not text:
        return CampaignCell("no case")
    verdicts = {verdict for _, _, verdict in tally}
    if _wrong_decisions(tally):
        return CampaignCell(text, _DIFFERS)
    if Verdict.ERROR in verdicts:
        return CampaignCell(text, _UNSURE)
    return CampaignCell(text, _CONFORMS if verdicts & set(JUDGED) else _OPEN if Verdict.OBSERVED in verdicts else _NONE)


def _answered(expected: str, answer: tuple[Verdict, str] | None) -> CampaignCell:
    """What a campaign made of one case."""
    if answer is None:
        return CampaignCell("not in this campaign")
    verdict, answered = answer
    if verdict in _TALLIED:
        word = _TALLIED[verdict] if verdict is not Verdict.ERROR else "fault of the harness"
        style = _DIFFERS if verdict in NOT_CONFORMANT else _UNSURE if verdict is Verdict.ERROR else _NONE
        return CampaignCell(word, style)
    told = _SPOKEN.get(answered, answered)
    if verdict is Verdict.OBSERVED:
        return CampaignCell(told, _OPEN)
    if verdict is Verdict.PASS:
        return CampaignCell(f"{told}, as specified", _CONFORMS)
    return CampaignCell(
        f"{told}, wrong" if _is_wrong_decision(expected, answered, verdict) else "output wrong", _DIFFERS
    )
