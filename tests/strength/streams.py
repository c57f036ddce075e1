"""The cases that a campaign judges at one operator and level, phase by phase, made once for all backends.

A case stream does not depend on the backend as long as nothing fails, and a backend is looked at up to its first
failure. So the same cases, their data and what is expected of them serve every wrong backend, and what each of them
meets is what a campaign would have shown it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import hypothesis
from hypothesis import given

from dml_conformance.backends.base import Backend, Binding, Bytes
from dml_conformance.backends.reference import Expectation, LargeExpectation
from dml_conformance.conformance.campaign.budget import Budget
from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.judge.judge import Judge, Judgement, Pending
from dml_conformance.conformance.judge.memory import Expected, OutputMemory
from dml_conformance.conformance.judge.search import quiet_settings
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase
from dml_conformance.spec.case import Case
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.tensor_rules import IN_PLACE, STRIDES
from dml_conformance.strategies import cases
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, numbered_case
from dml_conformance.strategies.scale import Reach, scale_cases
from strength.mutants.base import Executed, SharedReference, digest_of

MOST_KEPT = 2**20  # bytes of a case's tensors; what larger ones need is kept for one turn of all backends


@dataclass(eq=False)
class Prepared:
    """A case, and what every judge of it needs, kept from the first execution on."""

    case: Case
    contents: dict[str, Bytes] | None = None
    expected: Mapping[str, Expectation | LargeExpectation] | None = None

    @property
    def is_large(self) -> bool:
        sizes = [slot.tensor.total_tensor_size_in_bytes for slot in slots(self.case.desc)]
        return bool(self.case.data) and sum(sizes) > MOST_KEPT

    def release(self) -> None:
        """Let go of what a large case needs, after the turn of every backend that meets it."""
        if self.is_large:
            self.contents = self.expected = None
            SharedReference.known.pop(id(self.case.desc), None)


class SharingJudge(Judge):
    """A judge that takes data and expected outputs from the case it is given, and leaves them there.

    Args:
        backend: the backend.
        decides_only: it executes as the reference does, so executions, which the reference passed, are left out.
    """

    def __init__(self, backend: Backend, *, decides_only: bool = False) -> None:
        super().__init__(backend, "mutant")
        self._decides_only = decides_only
        self._prepared = _NOTHING

    def fails(self, prepared: Prepared) -> Judgement | None:
        """The verdict, if it speaks against the backend."""
        judged = self.judged(prepared)
        return judged if isinstance(judged, Judgement) and judged.verdict in NOT_CONFORMANT else None

    def judged(self, prepared: Prepared) -> Judgement | Pending:
        """The verdict, or what is left to do where executions are left out."""
        self._prepared = prepared
        judged = self.decide(prepared.case)
        return self.execute(judged) if isinstance(judged, Pending) and not self._decides_only else judged

    def contents(self, pending: Pending) -> dict[str, Bytes] | Judgement:
        if self._prepared.contents is None:
            contents = super().contents(pending)
            if isinstance(contents, Judgement):
                return contents
            self._prepared.contents = contents
        return self._prepared.contents

    def expected(self, pending: Pending, inputs: Mapping[str, Binding]) -> Mapping[str, Expectation | LargeExpectation]:
        if self._prepared.expected is None:
            expected = {
                key: each if isinstance(each, Expectation) or each.repeats else each.joined()
                for key, each in super().expected(pending, inputs).items()
            }
            self._prepared.expected = expected
            found = {key: each.values for key, each in expected.items() if isinstance(each, Expectation)}
            desc = pending.case.desc
            SharedReference.known[id(desc)] = Executed(desc, digest_of(inputs), found)
        return self._prepared.expected

    def broken_layout(self, pending: Pending) -> str:
        """The rule that a case is about, if it is one of layout: to try it without takes other cases."""
        return pending.rule if pending.rule in (STRIDES, IN_PLACE) else ""

    def errors(self, case: Case, written: Mapping[str, OutputMemory], expected: Mapping[str, Expected]) -> None:
        """Nothing: it takes a fifth of the time, and a kill does not depend on it."""


_NOTHING = Prepared.__new__(Prepared)


@dataclass
class Streams:
    """The phases of one operator at one level.

    Attributes:
        operator: its name.
        level: the level.
        is_newest: whether the campaign has none above it, so that the cases of scale are judged here.
        decides_only: for backends that execute as the reference does, which then need not execute either.
    """

    operator: str
    level: Level
    is_newest: bool = True
    decides_only: bool = False
    _made: dict[tuple[object, ...], list[Prepared]] = field(default_factory=dict)

    def examples(self) -> list[Prepared]:
        return self._once(("examples",), iter(example_cases(self.operator, self.level).values()))

    def boundaries(self, reach: Reach) -> list[Prepared]:
        """The boundaries, the cases of scale among them; those of a shorter reach are what a longer one begins with."""
        plain = self._once(("boundaries",), boundary_cases(self.operator, self.level))
        if not self.is_newest:
            return plain
        key = "scale", reach
        if key not in self._made:
            shorter = [self.boundaries(other) for other in Reach if other < reach][-1:] or [plain]
            known = len(shorter[0]) - len(plain)
            further = islice(scale_cases(self.operator, self.level, reach), known, None)
            self._made[key] = [*shorter[0], *self._prepared(further)]
        return self._made[key]

    def search(self, budget: Budget, seed: int) -> list[Prepared]:
        return self._once(("search", budget.search, seed), self._searched(budget.search, seed))

    def sweep(self, budget: Budget, seed: int) -> list[Prepared]:
        if not applicable_rules(self.operator, self.level):
            return []
        make = partial(numbered_case, seed, self.operator, self.level)
        return self._once(("sweep", budget.sweep, seed), map(make, range(budget.sweep)))

    def phase(self, phase: Phase, budget: Budget, seed: int) -> list[Prepared]:
        """The cases of one phase."""
        match phase:
            case Phase.EXAMPLES:
                return self.examples()
            case Phase.BOUNDARIES:
                return self.boundaries(budget.reach)
            case Phase.SEARCH:
                return self.search(budget, seed)
            case Phase.SWEEP:
                return self.sweep(budget, seed)

    def _once(self, key: tuple[object, ...], made: Iterator[Case]) -> list[Prepared]:
        if key not in self._made:
            self._made[key] = self._prepared(made)
        return self._made[key]

    def _prepared(self, made: Iterator[Case]) -> list[Prepared]:
        found = [Prepared(case) for case in made]
        honest = SharingJudge(SharedReference(), decides_only=self.decides_only)
        for prepared in found:
            if not prepared.is_large:  # what these are expected to be is what the reference takes
                judged = honest.fails(prepared)
                assert judged is None, f"the reference fails {prepared.case.origin}: {judged}"
        return found

    def _searched(self, examples: int, seed: int) -> Iterator[Case]:
        """What Hypothesis tries of each rule, in the order of a campaign in which nothing fails."""
        for rule in applicable_rules(self.operator, self.level):
            yield from _tried(self.operator, self.level, rule, examples, seed)


def _tried(operator: str, level: Level, rule: str, examples: int, seed: int) -> list[Case]:
    found: list[Case] = []

    @hypothesis.seed(zlib.crc32(f"{seed}/{operator}/{level}/{rule}".encode()))
    @quiet_settings(examples)
    @given(cases(operator, level, rule))
    def look_at(case: Case) -> None:
        found.append(case)

    look_at()
    return found
