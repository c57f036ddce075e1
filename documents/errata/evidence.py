"""Gathers the evidence of each erratum: what the checks find, the validator decides and the reference computes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np

from dml_conformance.documents.consistency import Contradiction, check_specification
from dml_conformance.documents.errata.model import (
    FORMAT,
    Departure,
    ErrataDocument,
    ErratumEntry,
    Exhibit,
    LibraryBehaviour,
    LibraryRecord,
)
from dml_conformance.documents.reference_run import Computed, run_example, run_reference
from dml_conformance.spec.case import Case
from dml_conformance.spec.divergences import Divergence, divergences
from dml_conformance.spec.errata import Erratum, errata
from dml_conformance.spec.examples import Example, examples
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.libraries import libraries
from dml_conformance.spec.observations import Observation, observations
from dml_conformance.spec.operator import Misfit, OperatorDesc, inputs, outputs, slots
from dml_conformance.spec.registry import rules
from dml_conformance.spec.validator import decide

SILENCE = "missing"  # what kind of erratum has the page say nothing, not something that contradicts itself


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
        *(exhibit for observation in seen for exhibit in _of_observation(observation)),
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


def _of_observation(known: Observation) -> Iterator[Exhibit]:
    """The witnesses of an observation, at the newest level that was seen to do so."""
    for witness in known.witnesses:
        yield _seen(known.rule, known.libraries, witness.answer, witness.desc, witness.descriptor)


def _departure(known: Divergence) -> Departure:
    return Departure(
        **msgspec.structs.asdict(known),
        addresses=tuple(dict.fromkeys(rules()[name].source.url for name in known.rules)),
        exhibit=_seen(known.id, known.libraries, known.answer, known.desc, known.descriptor),
    )


def _seen(record: str, levels: tuple[str, ...], answer: str, desc: OperatorDesc, descriptor: dict[str, Any]) -> Exhibit:
    """A descriptor that libraries of these levels were seen to answer, at the newest of them."""
    library = (LibraryRecord(answer, _builds(levels), record),)
    return _exhibit(record, Level.parse(levels[-1]), desc, descriptor, library=library)


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
