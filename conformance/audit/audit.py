"""The specification held against the live library: where they differ, whether that is known, and what is new.

The library is asked about every recorded divergence and observation, the boundary cases of its own level and of lower
ones, random descriptors, valid ones and ones that break one rule, and about the tables of all operators. It
decides by the rules of its own level, whatever level it is asked for, so every descriptor is held against the
specification at that level.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

from dml_conformance.backends.base import Backend, Capabilities, Unsupported
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.conformance.audit.changes import mutated
from dml_conformance.conformance.audit.tables import Difference, LibraryAnswer, TableFindings, hold_tables
from dml_conformance.conformance.campaign.plan import OperatorPlan
from dml_conformance.conformance.judge.simplify import simplest, size_of
from dml_conformance.spec.divergences import Divergence, divergences, recognise
from dml_conformance.spec.errors import BrokenRunError
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.operator import OperatorDesc, slots, with_tensors
from dml_conformance.spec.registry import operators
from dml_conformance.spec.validator import Decision, Outcome, Reading, decide
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context, Impossible
from dml_conformance.strategies.scale import Reach, scale_cases
from dml_conformance.strategies.violations import breakable_rules, violate

SHRUNK = 20  # new disagreements that are made small; there is hardly ever one
MOST_AGAIN = 100  # times that a descriptor is drawn again where none could be made
VALID = "valid descriptors"


class AuditError(BrokenRunError, RuntimeError):
    """The audit cannot go on; what was found so far says nothing."""


# The answers that are decisions.
DECISIONS = (LibraryAnswer.ACCEPT, LibraryAnswer.REJECT)


class Standing(StrEnum):
    """How an answer stands to the specification."""

    AGREES = "agrees"
    STRICTER = "library stricter"
    LAXER = "library laxer"
    LEFT_OPEN = "unspecified"
    CRASHED = "crashed"
    NOT_CLAIMED = "not claimed"


class AuditPart(StrEnum):
    """Where descriptors come from."""

    RECORDED = "recorded"
    BOUNDARIES = "boundaries"
    RANDOM = "random"
    TABLES = "tables"


@dataclass
class RuleTally:
    """What came of the descriptors about one rule.

    Attributes:
        standings: how often the library agreed or not.
        left_open: its answers where the specification has none.
    """

    standings: Counter[Standing] = field(default_factory=Counter)
    left_open: Counter[LibraryAnswer] = field(default_factory=Counter)


@dataclass
class Group:
    """Descriptors with which the same thing happened, and the smallest of them."""

    smallest: OperatorDesc
    count: int = 0

    def add(self, desc: OperatorDesc) -> None:
        self.count += 1
        self.smallest = min(self.smallest, desc, key=size_of)

    def as_json(self) -> dict[str, Any]:
        return {"descriptors": self.count, "smallest": desc_to_json(self.smallest)}


@dataclass(frozen=True)
class Disagreement:
    """What is the same about the descriptors of a group that no recorded divergence explains.

    Attributes:
        specification: the decision; where the pages leave it open, what was observed before.
        rules: what it rests on.
        is_observation: whether it is an observation that the library does not behave by.
    """

    operator: str
    specification: Outcome
    rules: tuple[str, ...]
    answer: LibraryAnswer
    is_observation: bool


@dataclass
class Audit:
    """An audit and what it has found so far.

    Attributes:
        backend: the library.
        level: its own, by which everything is decided.
        standings: descriptors by how the answer stands to the specification.
        rows: the same by rule, VALID for what breaks none; what breaks two rules is in two rows.
        recorded: descriptors that a recorded divergence explains, by its id.
        as_observed: descriptors that the pages leave open and that the library treats as it was observed to before.
        new: what nothing on record explains.
        tables: what came of the tables, by operator.
        explained_by: for each of the differences there the recorded divergence that explains it, if there is one.
        reasons: of answers that are not claimed.
        asked: number of descriptors.
        seconds: that it took.
    """

    backend: Backend
    capabilities: Capabilities
    level: Level
    standings: Counter[Standing] = field(default_factory=Counter)
    rows: dict[str, RuleTally] = field(default_factory=dict)
    recorded: dict[str, Group] = field(default_factory=dict)
    as_observed: int = 0
    new: dict[Disagreement, Group] = field(default_factory=dict)
    tables: list[TableFindings] = field(default_factory=list)
    explained_by: dict[Difference, Divergence | None] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    seconds: float = 0.0

    @property
    def expected(self) -> list[Divergence]:
        """The divergences on record for libraries of this level."""
        return [known for known in divergences().values() if self.level.label in known.libraries]

    @property
    def gone(self) -> list[Divergence]:
        """Those of them that did not show."""
        return [known for known in self.expected if known.id not in self.recorded]

    @property
    def unexpected(self) -> list[Divergence]:
        """Divergences that are on record for libraries of other levels alone, and showed."""
        return [divergences()[name] for name in self.recorded if self.level.label not in divergences()[name].libraries]

    @property
    def ok(self) -> bool:
        """Whether the library differs from the specification as recorded: in all these ways, and in no other."""
        return not (self.new or self.gone or self.unexpected or None in self.explained_by.values())

    @property
    def explained(self) -> int:
        """How many descriptors differ in ways that are on record."""
        return sum(group.count for group in self.recorded.values())

    @property
    def unexplained(self) -> int:
        """How many differ in other ways."""
        return sum(group.count for group in self.new.values())

    def ask(self, desc: OperatorDesc) -> LibraryAnswer:
        """The library's answer.

        Raises:
            AuditError: its process cannot be had any more.
        """
        try:
            return LibraryAnswer.ACCEPT if self.backend.validate(desc, self.level).accepted else LibraryAnswer.REJECT
        except Unsupported as error:
            self.reasons[str(error)] += 1
            return LibraryAnswer.NOT_CLAIMED
        except LibraryCrash:
            return LibraryAnswer.CRASH
        except DirectmlError as error:
            raise AuditError(f"the audit stopped after {self.asked} descriptors: {error}") from error

    def look_at(self, desc: OperatorDesc) -> None:
        """Ask about one descriptor and put the answer where it belongs."""
        decision = decide(desc, self.level)
        desc = _without_small_alignments(desc, decision)
        answer = self.ask(desc)
        self.asked += 1
        standing = _standing(decision.outcome, answer)
        self.standings[standing] += 1
        for name in decision.rules or (VALID,):
            row = self.rows.setdefault(name, RuleTally())
            row.standings[standing] += 1
            if standing is Standing.LEFT_OPEN:
                row.left_open[answer] += 1
        if standing is Standing.LEFT_OPEN:
            decision = decide(desc, self.level, Reading.OBSERVED)
            if decision.outcome is Outcome.UNSPECIFIED:
                for known in recognise(desc, decision, answer, self.level):
                    self.recorded.setdefault(known.id, Group(desc)).add(desc)
                return
            standing = _standing(decision.outcome, answer)
            self.as_observed += standing is Standing.AGREES
        if standing in (Standing.STRICTER, Standing.LAXER, Standing.CRASHED):
            self._explain(desc, decision, answer)

    def _explain(self, desc: OperatorDesc, decision: Decision, answer: LibraryAnswer) -> None:
        for known in (explained_by := recognise(desc, decision, answer, self.level)):
            self.recorded.setdefault(known.id, Group(desc)).add(desc)
        if not explained_by:
            what = Disagreement(desc.operator, decision.outcome, decision.rules, answer, bool(decision.observations))
            self.new.setdefault(what, Group(desc)).add(desc)

    def look_at_tables(self, names: Collection[str]) -> Iterator[TableFindings]:
        """Hold tables of operators against the library, with those of divergences that nothing else has shown; what
        was observed of it before is no difference."""
        if names:
            names = dict.fromkeys([*names, *(name for known in self.gone for name in known.operators)])
        for found in hold_tables(self.ask, self.level, names):
            self.tables.append(found)
            differences, found.differences = found.differences, []
            for difference in differences:
                desc, decision = difference.desc, decide(difference.desc, self.level)
                known = recognise(desc, decision, difference.answer, self.level)
                if not known and self._is_observed(difference):
                    continue
                found.differences.append(difference)
                self.explained_by[difference] = next(iter(known), None)
                for each in known:  # shown, without a word of how often
                    self.recorded.setdefault(each.id, Group(desc))
            yield found

    def _is_observed(self, difference: Difference) -> bool:
        """Whether an observation says what the library answers where the pages leave it open."""
        observed = decide(difference.desc, self.level, Reading.OBSERVED)
        return bool(observed.observations) and _standing(observed.outcome, difference.answer) is Standing.AGREES

    def shrink(self) -> None:
        """Make the descriptors of what is new as small as can be; what is the same about them stays so."""
        for what, group in list(self.new.items())[:SHRUNK]:
            group.smallest = simplest(group.smallest, partial(self._shows, what))

    def _shows(self, what: Disagreement, desc: OperatorDesc) -> bool:
        reading = Reading.OBSERVED if what.is_observation else Reading.DOCUMENTED
        decision = decide(desc, self.level, reading)
        if (decision.outcome, decision.rules) != (what.specification, what.rules):
            return False
        return self.ask(desc) is what.answer and not recognise(desc, decision, what.answer, self.level)

    def as_json(self) -> dict[str, Any]:
        """The audit as `spec audit --format json` prints it.

        Returns:
            `format` (1), `ok`, `library` (name, device, versions, level), `asked`, `seconds`, `standings` (how many
            descriptors by standing), `as_observed` (how many of those left open), `rows` (rule, null for valid
            descriptors, and the same by rule, with the answers where it is left open), `recorded` (id, operators,
            rules, fault, how many descriptors, the smallest), `gone` and `unexpected` (ids), `new` (operator,
            specification, rules, answer, whether it is an observation that differs, how many descriptors, the
            smallest), `tables` (operator, how many cells were tried, the differences with the divergence that explains
            each, and what was left out), and `not_claimed` (reason, how many).
        """
        return {
            "format": 1,
            "ok": self.ok,
            "library": {
                "name": self.capabilities.name,
                "device": self.capabilities.device,
                "versions": dict(sorted(self.capabilities.versions.items())),
                "level": self.level.label,
            },
            "asked": self.asked,
            "seconds": round(self.seconds, 3),
            "standings": _counts(self.standings),
            "as_observed": self.as_observed,
            "rows": [
                {
                    "rule": name if name != VALID else None,
                    "standings": _counts(row.standings),
                    "left_open": {str(answer): row.left_open[answer] for answer in DECISIONS},
                }
                for name, row in sorted(self.rows.items())
            ],
            "recorded": [
                {
                    "id": known.id,
                    "operators": list(known.operators),
                    "rules": list(known.rules),
                    "fault": known.fault,
                    **self.recorded[known.id].as_json(),
                }
                for known in divergences().values()
                if known.id in self.recorded
            ],
            "gone": [known.id for known in self.gone],
            "unexpected": [known.id for known in self.unexpected],
            "new": [{**msgspec.to_builtins(what), **group.as_json()} for what, group in self.new.items()],
            "tables": [self._table_json(found) for found in self.tables],
            "not_claimed": [{"reason": reason, "descriptors": count} for reason, count in sorted(self.reasons.items())],
        }

    def _table_json(self, found: TableFindings) -> dict[str, Any]:
        differences = [
            {
                **difference.question._asdict(),
                "allowed": difference.allowed,
                "answer": str(difference.answer),
                "divergence": known.id if (known := self.explained_by[difference]) else None,
                "descriptor": desc_to_json(difference.desc),
            }
            for difference in found.differences
        ]
        return {
            "operator": found.operator,
            "tried": found.tried,
            "differences": differences,
            "left_out": found.left_out,
        }


def audit(
    backend: Backend,
    cases: int,
    seed: int,
    tell: Callable[[AuditPart, int], None] = lambda part, done: None,
    names: Collection[str] = (),
) -> Audit:
    """Run an audit.

    Args:
        backend: one that decides by the rules of one level.
        cases: how many random descriptors are tried beside the fixed ones.
        seed: of these.
        tell: hears after each descriptor which part it was of, and how many of that part are done.
        names: operators that boundary cases, random descriptors and tables are of; none for all.

    Raises:
        AuditError: the library's process cannot be had any more.
    """
    capabilities = backend.capabilities()
    level = capabilities.decides_at
    assert level is not None, "an audit needs a backend that decides by the rules of one level"
    started = time.perf_counter()
    result = Audit(backend, capabilities, level)
    seen: set[OperatorDesc] = set()
    for part, descs in (
        (AuditPart.RECORDED, recorded_descriptors()),
        (AuditPart.BOUNDARIES, boundary_descriptors(level, names or operators())),
        (AuditPart.RANDOM, random_descriptors(level, cases, seed, names or operators())),
    ):
        for done, desc in enumerate(descs, 1):
            if part is AuditPart.RANDOM or desc not in seen:
                seen.add(desc)
                result.look_at(desc)
            tell(part, done)
    for done, _ in enumerate(result.look_at_tables(names), 1):
        tell(AuditPart.TABLES, done)
    result.shrink()
    result.seconds = time.perf_counter() - started
    return result


def recorded_descriptors() -> Iterator[OperatorDesc]:
    """Those that stand for the divergences and observations on record."""
    for known in divergences().values():
        yield known.desc
    for observation in observations().values():
        for witness in observation.witnesses:
            yield witness.desc


def boundary_descriptors(level: Level, names: Iterable[str]) -> Iterator[OperatorDesc]:
    """Every rule kept and broken in every way, every type, dimension count and layout, as of one level and of the last
    level before each change of the operator below it; and what is large, as of that level."""
    upto = [lower for lower in Level if lower <= level]
    for operator in names:
        for lower in OperatorPlan.of(operator, upto, upto).complete:
            for case in boundary_cases(operator, lower):
                yield case.desc
        for case in scale_cases(operator, level, max(Reach)):
            yield case.desc


def random_descriptors(level: Level, count: int, seed: int, names: Collection[str]) -> Iterator[OperatorDesc]:
    """In turn valid ones, ones that break one rule, and ones with a change at random, over these operators' rules.

    There are none where no operator is there at the level.
    """
    names = [name for name, spec in operators().items() if name in names and spec.introduced_in <= level]
    if not names:
        return
    broken = [(name, rule) for name in names for rule in breakable_rules(name, level)]
    for n in range(count):
        kind, turn = n % 3, n // 3
        rule = ""
        if kind == 1:
            name, rule = broken[turn % len(broken)]
        else:
            name = names[turn % len(names)]
        for again in range(MOST_AGAIN):  # what was drawn may not go with the level or the rule
            chooser = SeededChooser(f"{seed}/{n}" if not again else f"{seed}/{n}/{again}")
            with suppress(Impossible):
                if kind == 1:
                    yield violate(chooser, name, level, rule)
                else:
                    desc = builder(name).build(Context.at(chooser, operators()[name], level))
                    yield desc if kind == 0 else mutated(chooser, desc)
                break


def _standing(outcome: Outcome, answer: LibraryAnswer) -> Standing:
    if answer is LibraryAnswer.NOT_CLAIMED:
        return Standing.NOT_CLAIMED
    if answer is LibraryAnswer.CRASH:
        return Standing.CRASHED
    if outcome is Outcome.UNSPECIFIED:
        return Standing.LEFT_OPEN
    if (outcome is Outcome.ACCEPT) == (answer is LibraryAnswer.ACCEPT):
        return Standing.AGREES
    return Standing.STRICTER if outcome is Outcome.ACCEPT else Standing.LAXER


def _without_small_alignments(desc: OperatorDesc, decision: Decision) -> OperatorDesc:
    """Without promises below 16, where something else is broken.

    The library takes none of them (DIV-alignment-below-16), so a rejection would not say what it thinks of the rest. No
    decision changes: without a promise there is nothing about alignment to break.
    """
    if not decision.violations or any("GuaranteedBaseOffsetAlignment" in found.where for found in decision.violations):
        return desc
    changes = {
        slot.key: msgspec.structs.replace(slot.tensor, guaranteed_base_offset_alignment=0)
        for slot in slots(desc)
        if 0 < slot.tensor.guaranteed_base_offset_alignment < 16
    }
    return with_tensors(desc, changes)


def _counts(standings: Counter[Standing]) -> dict[str, int]:
    return {str(standing): standings[standing] for standing in Standing}
