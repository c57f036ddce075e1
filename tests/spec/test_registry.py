"""The registry: rules and tables are complete, consistent and those of the pages."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from places import recorded

from dml_conformance.spec.accuracy import DIRECTML, PRECISE, Ground
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.field_kinds import ArrayKind
from dml_conformance.spec.history import history
from dml_conformance.spec.levels import LOWEST, Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.operator_facts import TableSource, operator_facts
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.registry import families, operator, operators, rules, rules_of
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES, Category
from dml_conformance.spec.statements import all_statements
from dml_conformance.spec.tensor_rules import DESCRIPTOR_RULES, TENSOR_RULES

SPECS = list(operators().values())
RULES = list(rules().values())


# Tensors whose data types the page's table has wrong, so that all are left open; see MULTIHEAD_ATTENTION1-6.
OF_WRONG_TYPES = {("MULTIHEAD_ATTENTION1", "PastSequenceLengthsTensor")}


def by_name(spec: OperatorSpec) -> str:
    return spec.name


def test_operators_are_found_and_in_the_order_of_the_header() -> None:
    assert {"GATHER", "TILE", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"} <= set(operators())
    values = [spec.type_value for spec in operators().values()]
    assert values == sorted(values)
    assert set(operators()) == set(operator_facts())
    assert set(families()) == set(operators())


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_an_operator_is_found_by_both_names_and_by_its_descriptor(spec: OperatorSpec) -> None:
    assert operator(spec.name) is operator(spec.dml_name) is spec
    assert spec.desc.operator == spec.name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CONV", "unknown operator 'CONV'; `dml-conformance operators` lists those of DirectML.h"),
        ("TILES", "unknown operator 'TILES'; did you mean TILE\\?"),
        ("SOFTMAX", "unknown operator 'SOFTMAX'; did you mean ACTIVATION_SOFTMAX\\?"),
        ("add1", "unknown operator 'add1'; did you mean ELEMENT_WISE_ADD1\\?"),
    ],
)
def test_an_operator_that_directml_lacks_is_an_error_that_says_which_it_has(name: str, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        operator(name)


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_fields_are_the_attributes_of_the_descriptor(spec: OperatorSpec) -> None:
    attributes = [field.attribute for field in spec.fields]
    assert tuple(attributes) == spec.desc.__struct_fields__
    for field in spec.fields:
        assert field.attribute.replace("_", "") == field.name.lower()
        assert bool(field.count_field) == isinstance(field.kind, ArrayKind)
    assert spec.output_fields
    for table in spec.tables.values():
        assert set(table) == {field.name for field in spec.tensor_fields}
    assert min(spec.tables) == spec.introduced_in


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_tables_apply_from_their_level_on(spec: OperatorSpec) -> None:
    for level in Level:
        lower = [table_level for table_level in spec.tables if table_level <= level]
        assert spec.table_at(level) is (spec.tables[max(lower)] if lower else None)


def test_rules_are_well_formed() -> None:
    for rule in RULES:
        subject, _, name = rule.id.partition(".")
        assert subject in {*operators(), "TENSOR", "DESCRIPTOR", "EXECUTION"}, rule.id
        assert re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", name), rule.id
        assert rule.statement, rule.id
        assert not rule.statement.endswith("."), rule.id
        assert rule.until is None or rule.since < rule.until, rule.id
        assert rule.is_descriptor_rule == (rule.category in DESCRIPTOR_CATEGORIES), rule.id
        assert (rule.kind == "descriptor") == bool(rule.remedy) == (rule.check is not None), rule.id
        if subject in operators() and rule.until != operators()[subject].introduced_in:
            assert rule.since >= operators()[subject].introduced_in, rule.id


def test_the_source_of_a_rule_is_a_page() -> None:
    """Of the reference, of the guide, or of the guide's own reference under `api/`."""
    for rule in RULES:
        page = rule.source.page
        assert re.fullmatch(r"(api/)?n[sef]-directml-[a-z0-9_-]+|d(?:ml|irectml)-[a-z-]+", page), rule.id
        folder = "win32/api" if page.startswith("n") else "ai"
        assert rule.source.url == f"https://learn.microsoft.com/windows/{folder}/directml/{page}", rule.id


def test_comparisons_rest_on_direct3ds_rules_too() -> None:
    resting = [rule for rule in RULES if rule.also]
    assert {rule.id.partition(".")[0] for rule in resting} >= {"ELEMENT_WISE_LOGICAL_EQUALS"}
    page = "https://learn.microsoft.com/windows/win32/direct3d11/floating-point-rules"
    assert all(page in [source.url for source in rule.also] for rule in resting if "LOGICAL" in rule.id)
    assert all(rule.sources == (rule.source, *rule.also) for rule in RULES)


def test_rules_are_ordered_so_that_what_is_needed_comes_first() -> None:
    for name in operators():
        position = {rule.id: i for i, rule in enumerate(rules_of(name))}
        for rule in rules_of(name):
            for needed in rule.needs:
                assert position[needed] < position[rule.id], f"{rule.id} needs {needed}"
                assert rules()[needed].kind == "descriptor"


def test_what_a_rule_says_that_it_needs_is_a_rule() -> None:
    """The registry drops needs of rules that cannot be broken; a misspelt one would go with them.

    Constraints need rules that not every operator has.
    """
    names = {rule.id.partition(".")[2] for spec in SPECS for rule in spec.own_descriptor_rules}
    for spec in SPECS:
        known = {*(rule.id for rule in TENSOR_RULES), *(f"{spec.name}.{name}" for name in names)}
        for rule in spec.own_rules:
            assert rule.needs <= known, rule.id


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_rules_of_an_operator_are_its_own_and_the_general_ones(spec: OperatorSpec) -> None:
    assert rules_of(spec.name) == (*TENSOR_RULES, *DESCRIPTOR_RULES, *spec.common_execution_rules, *spec.rules)
    assert {rule.id.partition(".")[0] for rule in spec.rules} == {spec.name}
    has_introduction = f"{spec.name}.introduced-in" in rules()
    assert has_introduction == (spec.introduced_in > LOWEST)
    assert any(rule.category is Category.EXECUTION for rule in spec.rules)


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_statements_are_about_rules_and_tensors_that_there_are(spec: OperatorSpec) -> None:
    said, tensors = all_statements()[spec.name], {field.name for field in spec.tensor_fields}
    assert {f"{spec.name}.{name}" for name in said.rules} <= {rule.id for rule in spec.own_descriptor_rules}
    assert {f"{spec.name}.{name}" for name in said.execution} <= {rule.id for rule in spec.execution_rules}
    assert {*said.groups, *said.ranks, *said.domains, *said.overwrites} <= tensors
    assert all_statements().keys() == operators().keys()


def test_operators_are_made_of_primitives_and_a_rule_says_so() -> None:
    named = set()
    for name, spec in operators().items():
        assert (f"{name}.accuracy" in rules()) == bool(spec.primitives), name
        for primitive in spec.primitives:
            assert PRIMITIVES[primitive].formula in rules()[f"{name}.accuracy"].statement, name
        named |= set(spec.primitives)
    assert named == PRIMITIVES.keys()


def test_a_bound_in_words_is_that_of_the_type_that_is_computed_in() -> None:
    exp, elu = operator("ELEMENT_WISE_EXP"), operator("ACTIVATION_ELU")
    assert exp.bound(PRECISE, DataType.FLOAT32) == "4 ULP"
    assert exp.bound(PRECISE, DataType.FLOAT16) == "1 ULP"
    assert elu.bound(PRECISE, DataType.FLOAT32) == "4 ULP"
    assert elu.bound(PRECISE, DataType.FLOAT16) == "4 ULP; then rounded"
    assert operator("ELEMENT_WISE_ABS").bound(DIRECTML, DataType.FLOAT16) == "exact"


def test_what_direct3d_states_has_its_page() -> None:
    for name, primitive in PRIMITIVES.items():
        is_published = primitive.stated[DataType.FLOAT32].ground is Ground.DIRECT3D
        assert (primitive.source is not None) == is_published, name
        assert primitive.formula


# Types that a tensor's section has and its table lacks, see ADAM_OPTIMIZER-1.
BESIDE_TABLES = {("ADAM_OPTIMIZER", "TrainingStepTensor"): {"UINT32"}}


def facts() -> dict[str, Any]:
    return {entry["name"].removeprefix("DML_OPERATOR_"): entry for entry in recorded("operators")}


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_tables_and_fields_are_those_on_record(spec: OperatorSpec) -> None:
    recorded = facts()[spec.name]
    assert recorded["op_type_value"] == spec.type_value
    assert recorded["introduced_in"] == spec.introduced_in.label
    assert recorded["source"].get("page", f"{spec.source.page}.md") == f"{spec.source.page}.md"
    names = [*dict.fromkeys(name for field in spec.fields for name in (field.count_field, field.name) if name)]
    assert [field["name"] for field in recorded["fields"]] == names
    optional = {field["name"]: field["optional"] for field in recorded["fields"]}
    tables = recorded["feature_level_tables"]
    if spec.facts.table_source is TableSource.INFERRED:
        assert set(tables) <= {level.label for level in spec.tables}
        return
    assert all(optional[field.name] == field.optional for field in spec.tensor_fields)
    if "" in spec.variants:
        tables = {"": tables}
    assert {name for names in tables for name in names.split(", ")} == spec.variants.keys()
    for names, recorded_tables in tables.items():
        for variant in names.split(", "):
            own = spec.variants[variant]
            assert set(recorded_tables) == {level.label for level in own}
            for field, (level, table) in product(spec.tensor_fields, own.items()):
                support, on_record = table[field.name], recorded_tables[level.label][field.name]
                assert sorted(support.dimension_counts) == on_record["dimension_counts"]
                beside = BESIDE_TABLES.get((spec.name, field.name), set())
                if (spec.name, field.name) in OF_WRONG_TYPES:
                    assert not support.data_types
                else:
                    assert {data_type.name for data_type in support.data_types} == set(on_record["data_types"]) | beside


@pytest.mark.parametrize("spec", SPECS, ids=by_name)
def test_history_is_that_on_record(spec: OperatorSpec) -> None:
    recorded, own = facts()[spec.name], history()
    assert own.introductions[spec.name].header == recorded["introduced_in_header"]
    listed = own.introductions[spec.name].history
    assert (listed or LOWEST.label) == recorded["introduced_in_history"].partition(" (")[0]
    changes = {change.level for change in own.changes if spec.name in change.operators}
    # What a level says of an operator that it adds is no change. The record leaves out what 2_0 says of outputs, and
    # is of an edition that has nothing on 6_0, and on tensors that 6_2 makes optional.
    beside = {listed, "6_0", "6_2"} | ({"2_0"} if spec.name.startswith("ELEMENT_WISE_LOGICAL_") else set())
    assert changes - beside == {*recorded["history_changes"]} - beside
