"""What must agree in the specification: tables, rules and history, level by level; then what the pages show.

That is worked examples, illustrations and layouts, which are held against rules, formulas and the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from dml_conformance.documents.check.computed_checks import impossible_sizes
from dml_conformance.documents.consistency.model import ConsistencyCheck, Found, Standard
from dml_conformance.documents.reference_run import run_example
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.examples import nesting
from dml_conformance.spec.history import Aspect
from dml_conformance.spec.levels import HIGHEST, LOWEST, Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Table, outputs, slots
from dml_conformance.spec.registry import families
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.tensor import braces, elements_overlap, packed_strides, product, span_in_elements
from dml_conformance.spec.tensor_rules import TENSOR_RULES, max_dimension_count
from dml_conformance.spec.validator import Outcome, decide


def _levels(standard: Standard) -> Found:
    """Each level's tables contain the lower ones'."""
    for name, spec in standard.operators.items():
        if min(spec.tables) != spec.introduced_in:
            what = f"introduced in {spec.introduced_in}, but the lowest table is that of {min(spec.tables)}"
            yield f"{name}:lowest-table", what
        for tables, (lower, higher) in ((t, pair) for t in spec.variants.values() for pair in pairwise(sorted(t))):
            lost = sorted(_entries(tables[lower]) - _entries(tables[higher]))
            if lost:
                yield f"{name}:table-{higher}", f"not all of {lower} is in the table of {higher}: {lost}"
            elif tables[lower] == tables[higher] and not _has_rule_at(spec, higher):
                yield f"{name}:table-{higher}", f"the table of {higher} says what that of {lower} does"
    for below, level in pairwise(Level):
        if max_dimension_count(level) < max_dimension_count(below):
            yield f"TENSOR:dimension-count-{level}", f"fewer dimensions at {level} than at {below}"


def _entries(table: Table) -> set[tuple[str, str]]:
    """A table as (tensor, entry) pairs, so that tables can be compared as sets."""
    return {
        (name, entry)
        for name, support in table.items()
        for entry in (*(t.name for t in support.data_types), *(f"{c} dimensions" for c in support.dimension_counts))
    }


def _rules(standard: Standard) -> Found:
    """No rule makes a level stricter than a lower one.

    One that a descriptor can break and that starts above its operator would take from that level what a lower one has.
    """
    for introduced, rules in _rule_sets(standard):
        for rule in rules:
            if rule.since > introduced:
                yield f"{rule.id}:since", f"starts at {rule.since}, so that level is stricter than the one below"


def _rule_sets(standard: Standard) -> Iterator[tuple[Level, tuple[Rule, ...]]]:
    """The rules of the tensors and of each operator, with the level that their subject starts at."""
    yield LOWEST, TENSOR_RULES
    for spec in standard.operators.values():
        yield spec.introduced_in, spec.own_descriptor_rules


def _history(standard: Standard) -> Found:
    """Pages, header and history agree on what came when."""
    for name, spec in standard.operators.items():
        witness = standard.history.introductions.get(name)
        if witness is None:
            yield f"{name}:history", "neither header nor history is on record for this operator"
            continue
        said = {"header": witness.header, "history": witness.history or LOWEST.label}
        for where, label in said.items():
            if label != spec.introduced_in.label:
                yield f"{name}:introduced-in-{where}", f"{label} by the {where}, {spec.introduced_in} on its page"
        named = {c.at for c in standard.history.changes if name in c.operators or not c.operators}
        for level in sorted(set(spec.tables) - {spec.introduced_in} - named):
            yield f"{name}:history-{level}", f"the page has a table for {level}, the history no change"
    for change in standard.history.changes:
        for name in standard.operators.keys() & set(change.operators):
            if not _shown_by_page(standard.operators[name], change.aspect, change.at):
                what = f"the history has {change.level} change the {change.aspect}, the page does not say how"
                yield f"{name}:history-{change.level}-{change.aspect}", what


def _shown_by_page(spec: OperatorSpec, aspect: Aspect, level: Level) -> bool:
    """Whether tables or rules of an operator differ at a level, in one aspect, from the level below."""
    if aspect in (Aspect.SHAPES, Aspect.TENSORS):
        return _has_rule_at(spec, level)
    return any(_changes(tables, aspect, level) for tables in spec.variants.values())


def _changes(tables: Mapping[Level, Table], aspect: Aspect, level: Level) -> bool:
    below = [lower for lower in tables if lower < level]
    if level not in tables or not below:
        return False
    old, new = tables[max(below)], tables[level]
    if aspect is Aspect.DATA_TYPES:
        return any(old[name].data_types != new[name].data_types for name in new)
    return any(old[name].dimension_counts != new[name].dimension_counts for name in new)


def _has_rule_at(spec: OperatorSpec, level: Level) -> bool:
    """Whether a rule of an operator's own starts or ends at a level."""
    return any(level in (rule.since, rule.until) for rule in spec.own_rules if rule.erratum is None)


# Families whose operators copy whole elements, to places that no value of the data decides. What computes or compares
# has a reason to lack a type; these have none.
_BY_INDEX = {"gather", "gather_elements", "gather_nd", "scatter"}
_BY_PLACE = {"depth_space", "join_split", "padding", "reverse_subsequences", "slice", "tile"}


def _copying(standard: Standard) -> list[OperatorSpec]:
    return [spec for name, spec in standard.operators.items() if families().get(name) in _BY_INDEX | _BY_PLACE]


def _data_types(standard: Standard) -> Found:
    """Operators that only move data take the same types."""
    newest = {
        spec.name: spec.tables[max(spec.tables)][spec.tensor_fields[0].name].data_types for spec in _copying(standard)
    }
    usual = Counter(newest.values()).most_common(1)[0][0]
    for name, own in newest.items():
        if own != usual:
            what = f"beside the others it lacks {_listed(usual - own)} and adds {_listed(own - usual)}"
            yield f"{name}:data-types", what


def _listed(data_types: frozenset[DataType]) -> str:
    return ", ".join(sorted(data_type.name for data_type in data_types)) or "nothing"


def _decisions(standard: Standard) -> Found:
    """Examples are valid as printed from their lowest level on, not below."""
    for example in standard.examples.values():
        lowest, printed_desc, corrected = example.level, example.printed, example.corrected
        if lowest is None or corrected is None:
            continue
        if printed_desc is None:
            yield f"{example.id}:decision", "no descriptor can hold what is printed"
        elif (decision := decide(printed_desc, lowest)).outcome is not Outcome.ACCEPT:
            yield f"{example.id}:decision", f"{decision.outcome} as printed at {lowest}: {', '.join(decision.rules)}"
        for level in Level:
            outcome = decide(corrected, level).outcome
            if (outcome is Outcome.ACCEPT) != (level >= lowest):
                yield f"{example.id}:level-{level}", f"{outcome} at {level}; valid from {lowest} on"


def _introductions(standard: Standard) -> Found:
    """Examples are valid where their operator starts."""
    for example in standard.examples.values():
        introduced = example.spec.introduced_in
        if example.level is not None and example.level > introduced:
            what = f"valid from {example.level} on; the operator exists from {introduced} on"
            yield f"{example.id}:introduction", what


def _sizes(standard: Standard) -> Found:
    """The specification's formulas give the examples' sizes."""
    for example in standard.examples.values():
        desc = example.with_types()
        shapes = example.spec.shapes(desc)
        for slot in outputs(desc):
            expected = shapes if isinstance(shapes, Misfit) else shapes[slot.key]
            if expected != slot.tensor.sizes:
                yield f"{example.id}:sizes", f"{slot.name}: the formula gives {expected}, the page {slot.tensor.sizes}"
        for slot in slots(desc):
            if slot.name in example.values and nesting(example.values[slot.name]) != slot.tensor.sizes:
                yield f"{example.id}:{slot.name}-values", f"the printed elements do not fill sizes {slot.tensor.sizes}"


def _values(standard: Standard) -> Found:
    """The reference computes the examples' outputs."""
    for example in standard.examples.values():
        desc = example.with_types()
        if not example.values or decide(desc, HIGHEST).outcome is not Outcome.ACCEPT:
            continue
        if any(slot.name not in example.values for slot in slots(desc)):
            continue  # it shows some tensors only
        try:
            results = run_example(example, desc, standard.reference)
        except Exception as error:
            yield f"{example.id}:values", f"the reference fails: {type(error).__name__}: {error}"
            continue
        for name, result in results.items():
            printed = result.printed(example.values[name])
            if result.leaves_open(printed, example.spec):
                yield f"{example.id}:values", "the reference leaves elements open"
            elif result.differing(printed):
                gives, prints = (array.reshape(-1).tolist() for array in (result.elements, printed))
                yield f"{example.id}:values", f"the reference gives {gives}, the page {prints}"


def _illustrations(standard: Standard) -> Found:
    """Illustrations select what they say and could exist."""
    for figure in standard.illustrations.values():
        counted = figure.sizes[len(figure.sizes) - figure.dimension_count :]
        batches, rest = counted[: figure.batch_dimension_count], counted[figure.batch_dimension_count :]
        if (batches, rest) != (figure.batches, figure.meaningful):
            computed = f"the counts select {braces(rest)} after batches {braces(batches)}"
            printed = f"the page {braces(figure.meaningful)} after {braces(figure.batches)}"
            yield f"{figure.id}:selection", f"{computed}, {printed}"
        desc = next(e for e in standard.examples.values() if e.operator == figure.operator).with_types()
        for violation in impossible_sizes(desc, figure.tensor, figure.sizes):
            name = violation.rule.id.partition(".")[2]
            yield f"{figure.id}:{name}", f"sizes {braces(figure.sizes)}: {violation.found}"


def _layouts(standard: Standard) -> Found:
    """Strides of the guide read what it shows."""
    for figure in standard.layouts.values():
        if figure.packed and packed_strides(figure.sizes) != figure.strides:
            packed = braces(packed_strides(figure.sizes))
            yield f"{figure.id}:packed", f"packed strides are {packed}, the guide has {braces(figure.strides)}"
        if not figure.memory:
            continue
        places = [
            sum(i * stride for i, stride in zip(coordinates, figure.strides, strict=True))
            for coordinates in np.ndindex(*figure.sizes)
        ]
        span = span_in_elements(figure.sizes, figure.strides)
        if span != max(places) + 1 or span > len(figure.memory):
            yield f"{figure.id}:span", f"{span} elements by the formula, the last is at {max(places)}"
        elif "".join(figure.memory[place] for place in places) != figure.reads:
            yield f"{figure.id}:reads", f"the strides do not read {figure.reads}"
        overlap = len(set(places)) < len(places)
        if elements_overlap(figure.sizes, figure.strides) is not overlap:
            yield f"{figure.id}:overlap", f"elements {'share' if overlap else 'do not share'} memory"
        elements = product(figure.sizes)
        if not overlap and elements != span:
            what = f"no elements share memory, the sizes' product is {elements}, the last element is no. {span}"
            yield f"{figure.id}:product-of-sizes", what


CHECKS = (
    ConsistencyCheck("levels", lambda standard: sum(len(spec.tables) for spec in standard.operators.values()), _levels),
    ConsistencyCheck("rules", lambda standard: sum(len(rules) for _, rules in _rule_sets(standard)), _rules),
    ConsistencyCheck("history", lambda standard: len(standard.operators) + len(standard.history.changes), _history),
    ConsistencyCheck("data-types", lambda standard: len(_copying(standard)), _data_types),
    ConsistencyCheck("decisions", lambda s: len(s.typed_examples), _decisions),
    ConsistencyCheck("introductions", lambda s: len(s.typed_examples), _introductions),
    ConsistencyCheck("sizes", lambda s: len(s.examples), _sizes),
    ConsistencyCheck("values", lambda s: sum(bool(example.values) for example in s.examples.values()), _values),
    ConsistencyCheck("illustrations", lambda standard: len(standard.illustrations), _illustrations),
    ConsistencyCheck("layouts", lambda standard: len(standard.layouts), _layouts),
)
