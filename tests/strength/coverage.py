"""Coverage of the specification: what the cases of the standard budget reach of what the specification tells apart.

Counted are, at each operator and level: every rule broken (or left open) and kept; every data type with every
dimension count, and either with packed, padded and permuted outputs; interleaved outputs; every index type with every
pattern of indices; at the highest level every index type along axes, and every tensor in memory, beyond 16 and 24 bits.
What has to be reached follows from the tables and rules, so a new operator has its own without a
line written for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, product

from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import INDICES, OperatorSpec, outputs, slots
from dml_conformance.spec.registry import operators, rules_of
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, execution_rules, numbered_case
from dml_conformance.strategies.scale import Reach, scale_cases
from dml_conformance.strategies.tensors import layout_kind
from dml_conformance.strategies.values import INDEX_PATTERNS, NEGATIVE_PATTERNS
from dml_conformance.strategies.violations import breakable_rules

LAYOUTS = ("packed", "padded", "permuted")  # with every type and dimension count; interleaved ones occur with some
BROKEN, KEPT, EXECUTED, TYPES, INDEXED = "rules broken", "rules kept", "rules of execution", "types", "indices"
ALONG, WITHIN = "long axes", "large tensors"
REACHES = tuple(reach for reach in Reach if reach <= BUDGETS["standard"].reach)


@dataclass
class Coverage:
    """What was reached, by facet.

    Attributes:
        cases: looked at.
    """

    cases: int = 0
    _found: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)
    _cells: list[tuple[str, Level]] = field(default_factory=list)

    def count(self, operator: str, level: Level, seed: int = 0) -> None:
        """Look at the examples, boundaries and sweep of one operator at one level."""
        self._cells.append((operator, level))
        sweep = BUDGETS["standard"].sweep if applicable_rules(operator, level) else 0
        swept = (numbered_case(seed, operator, level, n) for n in range(sweep))
        spec, at = operators()[operator], level.label
        scale = scale_cases(operator, level, BUDGETS["standard"].reach) if level is HIGHEST else ()
        for case in chain(example_cases(operator, level).values(), boundary_cases(operator, level), scale, swept):
            self.cases += 1
            for rule in case.broken:
                self._add(BROKEN, operator, at, rule)
            if case.outcome is not Outcome.ACCEPT:
                continue
            self._add(KEPT, operator, at)
            if case.data is None:
                continue
            self._add(EXECUTED, operator, at, case.rule)
            output = outputs(case.desc)[0].tensor
            kind = layout_kind(output)
            self._add(TYPES, operator, at, output.data_type.name, str(len(output.sizes)), kind)
            if spec.index is not None:
                indices = getattr(case.desc, spec.index.indices)
                pattern = case.data[spec.index.indices].pattern
                self._add(INDEXED, operator, at, indices.data_type.name, pattern)
                self._add_passed(ALONG, max(spec.index.limits(case.desc)), operator, at, indices.data_type.name)
            for slot in slots(case.desc):
                total = slot.tensor.total_tensor_size_in_bytes
                self._add_passed(WITHIN, total, operator, at, slot.field.name)

    def _add_passed(self, facet: str, number: int, *what: str) -> None:
        for reach in REACHES:
            if number > 2**reach:
                self._add(facet, *what, str(reach))

    def _add(self, facet: str, *what: str) -> None:
        self._found.setdefault(facet, Counter())[what] += 1

    def reached(self) -> dict[str, int]:
        """How many different things were reached, by facet."""
        return {facet: len(found) for facet, found in self._found.items()}

    def has(self, facet: str, *what: str) -> bool:
        """Whether something was reached; what is left out at the end may be anything."""
        found = self._found.get(facet, Counter())
        return what in found or any(key[: len(what)] == what for key in found)

    def pairs(self, facet: str, operator: str, level: str, first: int, second: int) -> set[tuple[str, str]]:
        """What occurs together at two places of what was reached."""
        return {(key[first], key[second]) for key in self._found.get(facet, ()) if key[:2] == (operator, level)}

    @property
    def cells(self) -> list[tuple[str, Level]]:
        """The operators and levels that were counted."""
        return list(self._cells)


def gaps(found: Coverage) -> list[str]:
    """What the specification tells apart and no case reaches, a line each."""
    missing = []
    for operator, level in found.cells:
        spec, at = operators()[operator], level.label
        missing += [
            f"{operator} {at}: {rule} is never broken"
            for rule in breakable_rules(operator, level)
            if not found.has(BROKEN, operator, at, rule)
        ]
        if level < spec.introduced_in:
            continue
        if any(rule.applies_at(level) for rule in rules_of(operator)) and not found.has(KEPT, operator, at):
            missing.append(f"{operator} {at}: its rules are never kept")
        missing += [
            f"{operator} {at}: {rule} is never executed"
            for rule in execution_rules(operator, level)
            if not found.has(EXECUTED, operator, at, rule)
        ]
        table = spec.table_at(level)
        output = table[spec.output_fields[0].name]
        types = sorted(data_type.name for data_type in output.data_types)
        counts = sorted(map(str, output.dimension_counts))
        traits = {2: types, 3: counts, 4: list(LAYOUTS)}
        for a, b in ((2, 3), (2, 4), (3, 4)):
            together = found.pairs(TYPES, operator, at, a, b)
            possible = [pair for pair in product(traits[a], traits[b]) if _can_be(*pair)]
            missing += [f"{operator} {at}: no output {x} and {y}" for x, y in possible if (x, y) not in together]
        if not any(kind == "interleaved" for _, kind in found.pairs(TYPES, operator, at, 2, 4)):
            missing.append(f"{operator} {at}: no interleaved output")
        if spec.index is not None:
            patterns = found.pairs(INDEXED, operator, at, 2, 3)
            for index_type in sorted(_index_types(spec, level)):
                for pattern in INDEX_PATTERNS:
                    if pattern in NEGATIVE_PATTERNS and not index_type.is_signed_integer:
                        continue
                    if (index_type.name, pattern) not in patterns:
                        missing.append(f"{operator} {at}: no {index_type.name} indices of the pattern {pattern}")
        if level is HIGHEST:
            missing += _gaps_of_scale(found, spec, at)
    return missing


def _gaps_of_scale(found: Coverage, spec: OperatorSpec, at: str) -> Iterator[str]:
    for reach in REACHES:
        for index_type in sorted(_index_types(spec, HIGHEST)) if spec.index is not None else ():
            if not found.has(ALONG, spec.name, at, index_type.name, str(reach)):
                yield f"{spec.name} {at}: no {index_type.name} indices along an axis beyond {reach} bits"
        for tensor in spec.tensor_fields:
            if not found.has(WITHIN, spec.name, at, tensor.name, str(reach)):
                yield f"{spec.name} {at}: no {tensor.name} beyond {reach} bits"


def _index_types(spec: OperatorSpec, level: Level) -> frozenset[DataType]:
    table = spec.table_at(level)
    assert table is not None
    return next(table[field.name].data_types for field in spec.tensor_fields if spec.group(field) == INDICES)


def _can_be(trait: str, layout: str) -> bool:
    """One dimension has no order that could be another, and of one element, as some operators give, no padding."""
    return not (trait == "1" and layout != "packed")
