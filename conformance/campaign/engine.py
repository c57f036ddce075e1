"""A campaign: examples, boundaries, networks, sweep, search on one backend, as one stream of records."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter

from dml_conformance.conformance.campaign.budget import Budget
from dml_conformance.conformance.campaign.plan import OperatorPlan, newest_claimed, planned
from dml_conformance.conformance.exchange.networks.stored import NetworkCases, distinct_cases, network_at
from dml_conformance.conformance.judge.blame import Blame, Repetition
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.workers.tasks import (
    BLOCK_CASES,
    CaseBlock,
    CaseMaking,
    SearchTask,
    TaskJudge,
    Work,
    blocks_of,
)
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record
from dml_conformance.spec.case import Case
from dml_conformance.spec.examples import examples
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operator as operator_named
from dml_conformance.spec.registry import rules
from dml_conformance.spec.rules import ACCEPTANCE, Category
from dml_conformance.strategies.cases import numbered_case
from dml_conformance.strategies.scale import Reach, scale_cases

# Examples spent on making the smallest case of a rule that the boundaries already broke.
SHRINK_EXAMPLES = 300


def example_cases(operator: str, level: Level) -> dict[str, Case]:
    """The pages' worked examples of an operator that a level allows, corrected where an erratum says so, by id."""
    return {
        name: example.case(level)
        for name, example in examples().items()
        if example.operator == operator and example.level is not None and level >= example.level
    }


@dataclass
class Engine:
    """Runs the phases of one campaign, or what an interrupted run has left of them.

    Attributes:
        judge: holds the backend.
        operators: names, in the order they are run.
        levels: ascending.
        budget: how much is done for each operator.
        seed: of search and sweep; examples and boundaries are the same in every campaign at the newest level, and
            elsewhere the seed says which of them are decided and executed.
        saved: cases that failed before, judged before everything else, in the phase of the examples; those of other
            operators and levels are left out.
        every_level: whether everything is executed at every level.
        unclaimed: how many of DirectML's operators nobody asked for by name, and the backend does not claim.
        seed_nonce: hides a secret seed in its commitment; "" where it is none.
        network_names: of the networks whose layers are judged, too, at the newest level that the backend claims; the
            operators have to be among those that are run.
        broken: the rules that failed before the search, and the level at which each did first.
        wrong_layers: digests of the cases of networks' layers that failed.
        newest: the newest level asked for that the backend claims.
    """

    judge: Judge
    operators: Sequence[str]
    levels: Sequence[Level]
    budget: Budget
    seed: int
    saved: Sequence[Case] = ()
    every_level: bool = False
    unclaimed: int = 0
    seed_nonce: str = ""
    network_names: Sequence[str] = ()
    broken: dict[tuple[str, str], Level] = field(default_factory=dict)
    wrong_layers: set[str] = field(default_factory=set)
    _shrunk: set[tuple[str, str]] = field(default_factory=set)
    _finished: Collection[str] = ()

    def __post_init__(self) -> None:
        self._sweep_size = TaskJudge(self.judge).block_size(Phase.SWEEP)
        self._blame = Blame(self.judge.backend_name, self.judge.reading, self.judge.tolerance)
        self._repetition = Repetition(self.judge)
        claimed = self.judge.capabilities.levels
        self.plans = planned(self.operators, self.levels, claimed, every_level=self.every_level)
        self.newest = newest_claimed(self.levels, claimed)
        self.networks: list[NetworkCases] = [network_at(name, self.newest) for name in self.network_names]

    def stages(self) -> Iterator[Iterator[Work]]:
        """Every task that may be left, in order. Those of a stage may be judged at the same time, before it is known of
        each whether it is wanted; which rules are known to be broken depends on the records of the stage before.

        The sweep's many small cases are judged while the last very large ones are."""
        makings = chain(self._boundary_makings(), self.vast_makings())
        yield chain(self._example_blocks(), makings, self._network_blocks(), self._sweep_blocks())
        yield chain(self._known(), self._unknown())

    def wants(self, task: Work) -> bool:
        """Whether a task belongs to what is left; asked when the records of all before it have been settled."""
        if task.name in self._finished:
            return False
        return not isinstance(task, SearchTask) or (task.operator, task.rule) not in self._shrunk

    def settled(self, record: Record) -> Record:
        """A record as it goes on record, and noted."""
        record = self._blame.settled(self._repetition.repeated(record))
        self.note(record)
        return record

    def note(self, record: Record) -> None:
        """Remember what is known to be broken when the search begins, and what the search has found then."""
        if _failed(record) and record.phase is Phase.NETWORKS:
            self.wrong_layers.add(record.case)
        if not _failed(record) or not (about := rule_to_search(record)):
            return
        if record.phase is Phase.SEARCH:
            self._shrunk.add((record.operator, about))
        elif record.phase not in (Phase.THROUGHPUT, Phase.CHAINS):
            self.broken.setdefault((record.operator, about), Level.parse(record.level))

    @property
    def wrong(self) -> frozenset[str]:
        """The operators whose executions failed before the search; how fast these are says nothing."""
        return frozenset(name for name, rule in self.broken if rules()[rule].category is Category.EXECUTION)

    def resume(self, records: Iterable[Record], units: Collection[str]) -> Iterator[Record]:
        """Go on where an interrupted run of this campaign was.

        Args:
            records: of the tasks that it finished, in order, waived or not.
            units: their names.

        Returns:
            These records, each of which is to be settled before the next is asked for; all of them, before `stages` is.
        """
        self._finished = units
        yield from records

    def cases(self, phase: Phase) -> Iterator[Case]:
        """The cases of a phase, in order: those that depend on nothing but the campaign.

        Raises:
            KeyError: the search, whose cases depend on the backend's answers.
        """
        blocks: dict[Phase, Callable[[], Iterator[CaseBlock | CaseMaking]]] = {
            Phase.EXAMPLES: self._example_blocks,
            Phase.BOUNDARIES: lambda: chain(self._boundary_makings(), self.vast_makings()),
            Phase.NETWORKS: self._network_blocks,
            Phase.SWEEP: self._sweep_blocks,
        }
        return chain.from_iterable(block.make() for block in blocks[phase]())

    def searches(self) -> Iterator[SearchTask]:
        """Every search of the campaign, in order; those that its records leave wanted."""
        return filter(self.wants, chain(self._known(), self._unknown()))

    def saved_here(self) -> list[Case]:
        """The saved cases that the campaign is about."""
        return [case for case in self.saved if case.operator in self.operators and case.level in self.levels]

    def search_seed(self, operator: str, level: Level, rule: str) -> int:
        """The seed of the search for one rule."""
        return zlib.crc32(f"{self.seed}/{operator}/{level}/{rule}".encode())

    def planned(self) -> dict[Phase, int]:
        """How many cases the phases will have whose number is known beforehand."""
        layers = {Phase.NETWORKS: len(distinct_cases(self.networks))} if self.networks else {}
        return layers | {Phase.SWEEP: sum(share for _, _, share in self._sweep_shares())}

    def _sweep_shares(self) -> list[tuple[str, Level, int]]:
        """How many cases of the sweep each operator has at each level."""
        cells = [(plan.operator, level, plan.share(level)) for plan in self.plans for level in plan.levels]
        shares = self.budget.sweep_shares([weight for _, _, weight in cells])
        return [(operator, level, share) for (operator, level, _), share in zip(cells, shares, strict=True)]

    def _example_blocks(self) -> Iterator[CaseBlock]:
        count = 0
        for cases in blocks_of(chain(self.saved_here(), self._examples()), BLOCK_CASES):
            count += len(cases)
            yield CaseBlock(
                f"{Phase.EXAMPLES} up to {count}", Phase.EXAMPLES, len(cases), partial(iter, cases), cases[0].operator
            )

    def _examples(self) -> Iterator[Case]:
        for plan in self.plans:
            for level in plan.levels:
                yield from plan.sample(example_cases(plan.operator, level).values(), level, self.seed)

    def _boundary_makings(self) -> Iterator[CaseMaking]:
        """Of each operator and epoch: the cases of its levels are made of the same ones, so by one process."""
        reach = min(self.budget.reach_on(self.judge.capabilities), Reach.BITS_24)
        for plan in self.plans:
            for _, levels in groupby(plan.levels, operator_named(plan.operator).epoch_of):
                asked = tuple(levels)
                name = f"{Phase.BOUNDARIES}: {plan.operator} at {', '.join(map(str, asked))}"
                make = partial(_boundaries, plan, asked, self.seed, reach)
                yield CaseMaking(name, Phase.BOUNDARIES, plan.operator, make, BLOCK_CASES)

    def vast_makings(self) -> Iterator[CaseMaking]:
        """Of each operator, the boundary cases beyond 32 bits: the first to begin, as each takes long."""
        if self.budget.reach_on(self.judge.capabilities) is not Reach.BITS_32:
            return
        for plan in self.plans:
            name = f"{Phase.BOUNDARIES} beyond 32 bits: {plan.operator} at {plan.newest}"
            make = partial(scale_cases, plan.operator, plan.newest, Reach.BITS_32, Reach.BITS_24)
            yield CaseMaking(name, Phase.BOUNDARIES, plan.operator, make, BLOCK_CASES)

    def _network_blocks(self) -> Iterator[CaseBlock]:
        """The layers of the networks, each once."""
        count = 0
        for cases in blocks_of(distinct_cases(self.networks), BLOCK_CASES):
            count += len(cases)
            name = f"{Phase.NETWORKS} up to {count}"
            yield CaseBlock(name, Phase.NETWORKS, len(cases), partial(iter, cases), cases[0].operator)

    def _known(self) -> Iterator[SearchTask]:
        """The search for the smallest case of every rule that is known to be broken."""
        for (operator, rule), level in self.broken.items():
            yield self._search("known", operator, level, rule, SHRINK_EXAMPLES)

    def _unknown(self) -> Iterator[SearchTask]:
        """The search for rules that are broken, which no level before was found to break."""
        for plan in self.plans:
            for level, rule in plan.searches():
                yield self._search("unknown", plan.operator, level, rule, self.budget.search)

    def _search(self, what: str, operator: str, level: Level, rule: str, examples: int) -> SearchTask:
        name = f"{Phase.SEARCH}, {what}: {operator} at {level}, {rule}"
        return SearchTask(name, operator, level, rule, examples, self.search_seed(operator, level, rule))

    def _sweep_blocks(self) -> Iterator[CaseBlock]:
        """Blocks of the sweep, each of one operator, to which its costs are charged; it may go on to the next level."""
        count = 0
        for operator, shares in groupby(self._sweep_shares(), itemgetter(0)):
            numbered = ((operator, level, n) for _, level, share in shares for n in range(share))
            while block := tuple(islice(numbered, self._sweep_size)):
                count += len(block)
                make = partial(_numbered, self.seed, block)
                yield CaseBlock(f"{Phase.SWEEP} up to {count}", Phase.SWEEP, len(block), make, operator)


def _boundaries(plan: OperatorPlan, levels: Sequence[Level], seed: int, reach: Reach) -> Iterator[Case]:
    """The boundary cases of an operator at some levels, with those of scale at the newest one."""
    for level in levels:
        yield from plan.boundaries(level, seed)
        if level is plan.newest:
            yield from scale_cases(plan.operator, level, reach)


def _numbered(seed: int, block: Sequence[tuple[str, Level, int]]) -> Iterator[Case]:
    return (numbered_case(seed, *each) for each in block)


def _failed(record: Record) -> bool:
    """Whether the backend failed, be it set aside or not."""
    return record.judged in NOT_CONFORMANT


def rule_to_search(record: Record) -> str:
    """The rule among whose cases a smaller one than that of a failure is looked for: the one that the case is about.

    That need not be the one that the verdict is about. But a valid case may be about a rule that descriptors break,
    whose other cases are all invalid.
    """
    about = str(record.case_json.get("rule", ""))
    was_refused = record.rule == ACCEPTANCE and record.phase is not Phase.SEARCH
    return ACCEPTANCE if was_refused and (about not in rules() or rules()[about].kind == "descriptor") else about
