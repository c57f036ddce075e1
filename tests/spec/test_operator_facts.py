"""The facts of all operators: their invariants, and their agreement with the registry."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from dml_conformance.spec.descriptor import descriptor_classes
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator_facts import OperatorFacts, Role, operator_facts
from dml_conformance.spec.tensor_rules import max_dimension_count

FACTS = operator_facts()


def test_structures_and_enumerators_are_those_of_one_operator() -> None:
    assert len({facts.structure for facts in FACTS.values()}) == len(FACTS) == 177
    values = [facts.value for facts in FACTS.values()]
    assert values == sorted(set(values))


@pytest.mark.parametrize("name", FACTS)
def test_tables_have_a_row_for_every_tensor(name: str) -> None:
    facts = FACTS[name]
    tensors = [field.name for field in facts.tensors]
    assert len({field.name for field in facts.fields}) == len(facts.fields)
    assert {Role.OUTPUT, Role.OUTPUTS} & {field.role for field in facts.tensors}
    assert min(table.level for table in facts.support_tables) is facts.level
    for table in facts.support_tables:
        assert sorted(table.rows) == sorted(tensors)
        assert all(table.rows[name].dimension_counts <= counts(table.level) for name in tensors)


def counts(level: Level) -> set[int]:
    return set(range(1, max_dimension_count(level) + 1))


@pytest.mark.parametrize("name", FACTS)
def test_a_higher_level_allows_all_that_a_lower_one_does(name: str) -> None:
    tables = FACTS[name].support_tables
    for lower, higher in pairwise(tables):
        if lower.functions == higher.functions:
            assert lower.level < higher.level
            for tensor, support in lower.rows.items():
                assert support.dimension_counts <= higher.rows[tensor].dimension_counts
                assert support.data_types <= higher.rows[tensor].data_types


@pytest.mark.parametrize("name", FACTS)
def test_a_descriptor_class_has_the_members_of_the_structure(name: str) -> None:
    """In its order; what an array's length stands in is no member of its own."""
    facts, fields = FACTS[name], descriptor_classes()[name].fields
    lengths = {field.count_field for field in fields}
    members = [member for member in facts.fields if member.name not in lengths]
    assert [(m.name, m.optional) for m in members] == [(field.name, field.optional) for field in fields]
    assert [m.role.rstrip("s") for m in members] == [field.role for field in fields]
    assert all(member.type == "UINT" for member in facts.fields if member.name in lengths)


def test_a_tensor_that_a_level_does_not_change_keeps_what_it_had() -> None:
    facts = msgspec.convert(
        {
            "structure": "DML_BLEND_OPERATOR_DESC",
            "value": 1,
            "introduced_in": "2_0",
            "table_source": "inferred",
            "fields": [["ATensor", "input"], ["BTensor", "input"]],
            "tables": [
                ["2_0", {"ATensor BTensor": ["4-5", "FLOATS INT32"]}],
                ["3_0", {"BTensor": ["1-8", ""]}],
                ["2_0", {"ATensor": ["4", "UINT8"]}, ["MIN"]],
            ],
        },
        OperatorFacts,
    )
    first, second, other = facts.support_tables
    assert first.rows["ATensor"] == second.rows["ATensor"]
    assert [data_type.name for data_type in sorted(first.rows["BTensor"].data_types)] == ["FLOAT32", "FLOAT16", "INT32"]
    assert second.rows["BTensor"].dimension_counts == frozenset(range(1, 9))
    assert not second.rows["BTensor"].data_types
    assert list(other.rows) == ["ATensor"]
