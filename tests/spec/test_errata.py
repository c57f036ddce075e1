"""The errata hang together with rules, examples and pages."""

from __future__ import annotations

import json

import pytest
from places import recorded

from dml_conformance.spec.errata import Concern, Erratum, Resolution, errata
from dml_conformance.spec.examples import examples, layouts
from dml_conformance.spec.operator_facts import operator_facts
from dml_conformance.spec.registry import operators, rules

EVERY = list(errata().values())


def by_id(erratum: Erratum) -> str:
    return erratum.id


@pytest.mark.parametrize("erratum", EVERY, ids=by_id)
def test_an_erratum_is_well_formed(erratum: Erratum) -> None:
    subject, _, number = erratum.id.rpartition("-")
    assert number.isdigit()
    assert subject in {*operator_facts(), "TENSOR", "LEVEL", "ACCURACY"}
    assert set(erratum.operators) <= set(operator_facts())
    assert (subject in operator_facts()) == bool(erratum.operators)
    assert not erratum.operators or erratum.operators[0] == subject
    assert erratum.kind in {"range", "formula", "example", "label", "prose", "missing", "table", "level", "type"}
    assert erratum.source.url.startswith("https://learn.microsoft.com/windows/")
    for text in (erratum.finding, erratum.reason):
        assert text[0].isupper()
        assert text.endswith(".")
        assert text.isascii()
    assert set(erratum.examples) <= {*examples(), *layouts()}
    assert len(set(erratum.checks)) == len(erratum.checks)
    assert all(address.startswith("https://github.com/") for address in erratum.see)


def test_a_finding_is_explained_by_one_erratum() -> None:
    expected = [finding for erratum in EVERY for finding in erratum.checks]
    assert len(expected) == len(set(expected))


def test_every_erratum_that_a_rule_names_exists() -> None:
    for rule in rules().values():
        if rule.erratum is not None:
            assert errata()[rule.erratum].resolution is Resolution.UNSPECIFIED, rule.id
            assert errata()[rule.erratum].concerns is Concern.DESCRIPTORS, rule.id
        for settled in rule.settles:
            assert settled in errata(), rule.id


@pytest.mark.parametrize("erratum", EVERY, ids=by_id)
def test_what_is_unspecified_about_descriptors_is_left_open_by_a_rule(erratum: Erratum) -> None:
    users = {rule.id for rule in rules().values() if rule.erratum == erratum.id}
    if erratum.resolution is Resolution.UNSPECIFIED:
        assert erratum.concerns is Concern.DESCRIPTORS
        assert users
    else:
        assert not users


def test_a_rule_names_errata_of_its_own_subject() -> None:
    for rule in rules().values():
        subject = rule.id.partition(".")[0]
        for name in (*filter(None, [rule.erratum]), *rule.settles):
            assert name.rpartition("-")[0] in (subject, "ACCURACY"), rule.id


def test_editorial_errata_concern_the_text_only() -> None:
    for erratum in EVERY:
        assert (erratum.resolution is Resolution.EDITORIAL) == (erratum.concerns is Concern.TEXT), erratum.id


def test_examples_and_errata_name_each_other() -> None:
    for example in examples().values():
        for name in example.errata:
            assert example.id in errata()[name].examples
    for erratum in EVERY:
        for example_id in erratum.examples:
            if example_id in examples():
                assert erratum.id in examples()[example_id].errata


def test_json_has_the_address_of_the_page() -> None:
    written = errata()["GATHER-8"].as_json()
    assert written["source"].endswith("/ns-directml-dml_gather_operator_desc")
    assert written["resolution"] == "unspecified"
    assert set(written) == {*Erratum.__struct_fields__, "source"}
    assert json.loads(json.dumps(written))["see"] == ["https://github.com/microsoft/DirectML/issues/685"]


def test_every_issue_on_record_is_an_erratum() -> None:
    names = {f"DML_OPERATOR_{name}" for name in operators()}
    entries = [entry for entry in recorded("operators") if entry["name"] in names]
    expected = {issue["id"] for entry in entries for issue in entry.get("doc_issues", ())}
    assert expected
    assert expected <= set(errata())
