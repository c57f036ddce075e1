"""The errata document with its evidence: what checks find, the validator decides and the reference computes."""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from dml_conformance.documents.consistency import Contradiction, check_specification
from dml_conformance.documents.reference_run import Computed, run_example, run_reference
from dml_conformance.reports.model.grouping import grouped
from dml_conformance.spec.case import Case
from dml_conformance.spec.divergences import Divergence, divergences
from dml_conformance.spec.errata import Erratum, errata
from dml_conformance.spec.examples import Example, examples
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.libraries import libraries
from dml_conformance.spec.observations import ObservationWitness, observations
from dml_conformance.spec.operator import Misfit, OperatorDesc, inputs, outputs, slots
from dml_conformance.spec.registry import rules
from dml_conformance.spec.validator import Outcome, decide

FORMAT = 1
SILENCE = "missing"  # what kind of erratum has the page say nothing, not something that contradicts itself


class LibraryRecord(msgspec.Struct, frozen=True):
    """What the real library does, by what is on record.

    Attributes:
        answer: `accept`, `reject`, or `crash` where its process dies.
        libraries: the builds that were seen to do it, by release and feature level.
        record: id of the divergence, or of the rule that was observed.
    """

    answer: str
    libraries: tuple[str, ...]
    record: str


class Exhibit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A descriptor that shows an erratum, and what comes of it.

    Attributes:
        id: of the page's example, of the observation or divergence that it belongs to, or "" where it was made for this
            erratum.
        level: label of the feature level that it is held against; "" where no types are printed to decide on.
        descriptor: as it stands on the page, in DirectML's names; tensors without DataType where none is printed.
        decision: the specification's on the descriptor as it stands; None where no types are printed.
        broken: what it breaks or leaves open, with the rule's id.
        corrections: fields that the errata change, by path.
        corrected_decision: on the descriptor with the corrections; None where there are none.
        inputs: the elements of the input tensors, row-major and nested.
        computed: the elements of the outputs that the reference computes from them, with the corrections; null for one
            that the specification leaves open. Empty where nothing is executed.
        computed_sizes: the output's sizes that follow from the inputs, where no types are printed to execute with.
        as_printed: whether what is computed is what the page prints; None where it prints nothing.
        library: what is on record of the real library.
    """

    id: str
    level: str
    descriptor: dict[str, Any]
    decision: Outcome | None
    broken: tuple[str, ...] = ()
    corrections: dict[str, Any] = {}
    corrected_decision: Outcome | None = None
    inputs: dict[str, Any] = {}
    computed: dict[str, Any] = {}
    computed_sizes: tuple[int, ...] = ()
    as_printed: bool | None = None
    library: tuple[LibraryRecord, ...] = ()


class LibraryBehaviour(msgspec.Struct, frozen=True):
    """What the library was observed to do where the pages leave a question open.

    Attributes:
        rule: the rule that asks the question.
        libraries: the builds, by release and feature level.
        finding: what they do.
    """

    rule: str
    libraries: tuple[str, ...]
    finding: str


class ErratumEntry(Erratum, frozen=True, kw_only=True, omit_defaults=True):
    """An erratum with its evidence.

    Attributes:
        address: where its page is published.
        left_open: rules that leave a descriptor undecided because of it.
        settled_by: rules that follow the correction.
        contradictions: what the checks of `spec check` find.
        exhibits: descriptors that show it.
        observed: what the real library does with what is left open.
        divergences: ids of those of the library that bear on it.
    """

    address: str
    left_open: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    observed: tuple[LibraryBehaviour, ...] = ()
    divergences: tuple[str, ...] = ()


class Departure(Divergence, frozen=True, kw_only=True):
    """A divergence, where the library does otherwise than its pages say, with its evidence.

    Attributes:
        addresses: of the pages that the rules rest on.
        exhibit: the smallest descriptor that shows it.
    """

    addresses: tuple[str, ...]
    exhibit: Exhibit


class ErrataDocument(msgspec.Struct, frozen=True):
    """All of it.

    Attributes:
        format: 1; raised when something in it changes meaning.
        errata: by the page's name, which is that of the operator; contradictions before what a page is silent on.
        divergences: what the library does otherwise than its pages say, as far as the errata concern it.
    """

    format: int
    errata: tuple[ErratumEntry, ...]
    divergences: tuple[Departure, ...]

    @property
    def by_page(self) -> dict[str, list[ErratumEntry]]:
        """The errata of each page, in the order of the document."""
        return grouped(self.errata, attrgetter("page"))


def errata_document(operators: Collection[str] = ()) -> ErrataDocument:
    """The document about some operators, or about everything.

    Args:
        operators: names of those whose errata and divergences are wanted; empty = all, with what concerns every tensor
            and the levels.
    """

    def wanted(concerned: Collection[str]) -> bool:
        return not operators or not set(operators).isdisjoint(concerned)

    findings = check_specification().findings
    entries = [
        _entry(erratum, tuple(findings[name] for name in erratum.checks if name in findings))
        for erratum in errata().values()
        if wanted(erratum.operators)
    ]
    named = {name for entry in entries for name in entry.divergences}
    departures = [_departure(known) for known in divergences().values() if wanted(known.operators) or known.id in named]
    entries.sort(key=lambda entry: (entry.page, entry.kind == SILENCE))
    return ErrataDocument(FORMAT, tuple(entries), tuple(departures))


def _entry(erratum: Erratum, contradictions: tuple[Contradiction, ...]) -> ErratumEntry:
    opened = tuple(rule.id for rule in rules().values() if rule.erratum == erratum.id)
    settling = tuple(rule.id for rule in rules().values() if erratum.id in rule.settles)
    seen = [observations()[rule_id] for rule_id in opened if rule_id in observations()]
    exhibits = (
        *(_of_example(examples()[name]) for name in erratum.examples if name in examples()),
        *(_of_case(Case.from_json(case, erratum.id)) for case in erratum.cases),
        *(_seen(known.rule, known.libraries, witness) for known in seen for witness in known.witnesses),
    )
    shown = {recorded.record for exhibit in exhibits for recorded in exhibit.library}
    departures = [
        known.id
        for known in divergences().values()
        if known.id in shown or not {*opened, *settling}.isdisjoint(known.rules)
    ]
    return ErratumEntry(
        **msgspec.structs.asdict(erratum),
        address=erratum.source.url,
        left_open=opened,
        settled_by=settling,
        contradictions=contradictions,
        exhibits=exhibits,
        observed=tuple(LibraryBehaviour(known.rule, _builds(known.libraries), known.finding) for known in seen),
        divergences=tuple(departures),
    )


def _of_example(example: Example) -> Exhibit:
    """A worked example as printed, and with the corrections of its errata."""
    level, printed, corrected = example.level, example.printed, example.corrected
    descriptor = {"type": example.spec.dml_name, "desc": example.desc}
    if level is None or printed is None or corrected is None:
        return _untyped(example, descriptor)
    printed_all = all(slot.name in example.values for slot in slots(corrected))
    results = run_example(example, corrected) if printed_all else {}
    return _exhibit(
        example.id,
        level,
        printed,
        descriptor,
        corrections=example.corrections,
        corrected_decision=decide(corrected, level).outcome if example.corrections else None,
        inputs={s.name: example.values[s.name] for s in inputs(corrected) if s.name in example.values},
        computed={name: _shown(result) for name, result in results.items()},
        as_printed=all(_is_printed(example, name, result) for name, result in results.items()),
        library=_recorded(printed, level),
    )


def _is_printed(example: Example, output: str, result: Computed) -> bool:
    """Whether the page prints what is computed."""
    printed = result.printed(example.values[output])
    return not result.leaves_open(printed, example.spec) and not result.differing(printed)


def _untyped(example: Example, descriptor: dict[str, Any]) -> Exhibit:
    """A figure of sizes alone."""
    desc = example.with_types()
    shapes, output = example.spec.shapes(desc), outputs(desc)[0]
    sizes = () if isinstance(shapes, Misfit) else shapes[output.key]
    printed = output.tensor.sizes
    corrections, is_so = example.corrections, sizes == printed
    return Exhibit(example.id, "", descriptor, None, corrections=corrections, computed_sizes=sizes, as_printed=is_so)


def _of_case(case: Case) -> Exhibit:
    """A descriptor made for the erratum, executed where it brings its inputs."""
    printed = {
        slot.name: _nested(case.data[slot.key].values, slot.tensor.sizes)
        for slot in slots(case.desc)
        if case.data is not None and slot.key in case.data
    }
    results = run_reference(case.desc, case.data) if case.data is not None else {}
    computed = {name: _shown(result) for name, result in results.items()}
    library = _recorded(case.desc, case.level)
    return _exhibit(
        "", case.level, case.desc, desc_to_json(case.desc), inputs=printed, computed=computed, library=library
    )


def _departure(known: Divergence) -> Departure:
    return Departure(
        **msgspec.structs.asdict(known),
        addresses=tuple(dict.fromkeys(rules()[name].source.url for name in known.rules)),
        exhibit=_seen(known.id, known.libraries, known),
    )


def _seen(record: str, levels: tuple[str, ...], known: ObservationWitness | Divergence) -> Exhibit:
    """A descriptor that libraries of these levels were seen to answer, at the newest of them."""
    library = (LibraryRecord(known.answer, _builds(levels), record),)
    return _exhibit(record, Level.parse(levels[-1]), known.desc, known.descriptor, library=library)


def _exhibit(name: str, level: Level, desc: OperatorDesc, descriptor: dict[str, Any], **more: Any) -> Exhibit:
    """A descriptor, in the form that it is shown in, with the decision on it and what else is known of it."""
    decision = decide(desc, level)
    broken = tuple(
        f"{violation.rule.id}: {f'{violation.where}: ' if violation.where else ''}{violation.found}"
        for violation in decision.violations
    )
    return Exhibit(name, level.label, descriptor, decision.outcome, broken, **more)


def _recorded(desc: OperatorDesc, level: Level) -> tuple[LibraryRecord, ...]:
    """What is on record of the library doing otherwise with a descriptor than the pages say of it at a level."""
    decision = decide(desc, level)
    return tuple(
        LibraryRecord(known.answer, _builds(known.libraries), known.id)
        for known in divergences().values()
        if known.explains(desc, decision, known.answer)
    )


def _builds(levels: Collection[str]) -> tuple[str, ...]:
    return tuple(str(libraries()[level]) for level in levels)


def _shown(result: Computed) -> Any:
    """The elements of an output, nested as its sizes say; None for those that are left open."""
    elements = result.elements.reshape(-1).tolist()
    if result.open is not None:
        elements = [None if left else element for element, left in zip(elements, result.open.flat, strict=True)]
    return _nested(elements, result.elements.shape)


def _nested(elements: Collection[Any], sizes: tuple[int, ...]) -> Any:
    """Row-major elements as lists within lists."""
    return np.array([*elements], object).reshape(sizes).tolist()
