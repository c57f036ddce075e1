"""`spec errata`: every erratum with place, evidence that is computed, and a proposal that holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import commands
import jsonschema
import numpy as np
import pytest
from html_page import Page

from dml_conformance.backends.reference import Expectation, expected_output
from dml_conformance.conformance import schemas
from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.documents import reference_run
from dml_conformance.documents.check.formulas import given_by, number_of
from dml_conformance.documents.errata import (
    ErrataDocument,
    ErratumEntry,
    Exhibit,
    as_html,
    as_markdown,
    errata_document,
)
from dml_conformance.documents.errata.forms import exhibit_sentences, listed
from dml_conformance.spec.case import Case
from dml_conformance.spec.divergences import divergences
from dml_conformance.spec.errata import Concern, errata
from dml_conformance.spec.examples import examples, illustrations
from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.levels import Level
from dml_conformance.spec.observations import observations
from dml_conformance.spec.operator import outputs
from dml_conformance.spec.registry import operators, rules
from dml_conformance.spec.validator import Outcome, decide

EVERY = list(errata().values())
KNOWN = {check for erratum in EVERY for check in erratum.checks}


@pytest.fixture(scope="module")
def document() -> ErrataDocument:
    return errata_document()


def entry(document: ErrataDocument, name: str) -> ErratumEntry:
    return next(entry for entry in document.errata if entry.id == name)


invoke = partial(commands.invoke, "spec", "errata")


# --- what is stated -----------------------------------------------------------------------------------------------


def test_place_and_proposal_are_short_texts() -> None:
    for erratum in EVERY:
        assert re.search(r"[^.]\Z", erratum.place), erratum.id
        assert re.fullmatch(r"[A-Z][ -~]{1,298}\.", erratum.proposal), erratum.id
        assert erratum.proposal not in (erratum.finding, erratum.reason)


@pytest.mark.parametrize("name", ["GATHER_ND-1", "GATHER_ND1-1"])
def test_a_proposed_formula_gives_the_sizes_of_all_examples(name: str) -> None:
    """Which the printed one does not."""
    start = re.search(r"InputTensor\.Sizes\[\((.+)\) \.\. InputTensor\.DimensionCount\]", errata()[name].proposal)
    tried = 0
    for example in examples().values():
        if example.operator != name.rpartition("-")[0]:
            continue
        desc: Any = example.with_types()
        sizes, of_indices = desc.input_tensor.sizes, desc.indices_tensor.sizes
        first, _ = number_of(start[1])
        segment = sizes[first({**given_by(desc), "indexTupleSize": of_indices[-1]}) :]
        joined = (*of_indices[len(of_indices) - desc.indices_dimension_count : -1], *segment)
        printed = desc.output_tensor.sizes
        assert (1,) * (len(printed) - len(joined)) + joined == printed, example.id
        tried += 1
    assert tried >= 3


@pytest.mark.parametrize("name", ["GATHER_ND-6", "GATHER_ND1-7"])
def test_proposed_illustrations_fit_where_the_printed_ones_do_not(name: str) -> None:
    proposed = [tuple(map(int, sizes.split(","))) for sizes in re.findall(r"\{([\d,]+)\}", errata()[name].proposal)]
    printed = [illustrations()[check.partition(":")[0]].sizes for check in errata()[name].checks]
    assert proposed
    assert all(sizes[-1] > len(sizes) for sizes in printed)
    assert all(sizes[-1] <= len(sizes) for sizes in proposed)
    assert {sizes[:-1] for sizes in printed} <= {sizes[:-1] for sizes in proposed}


# --- evidence -----------------------------------------------------------------------------------------------------


def test_what_concerns_descriptors_or_executions_has_evidence(document: ErrataDocument) -> None:
    for entry in document.errata:
        if entry.concerns is not Concern.TEXT:
            shown = (*entry.contradictions, *entry.exhibits, *entry.page_checks)
            assert shown or entry.settled_by or entry.left_open, entry.id


def test_every_check_and_example_that_an_erratum_names_is_told(document: ErrataDocument) -> None:
    for entry in document.errata:
        erratum = errata()[entry.id]
        assert tuple(found.id for found in entry.contradictions) == erratum.checks
        assert entry.page_checks == erratum.page_checks
        assert all(found.what for found in entry.contradictions)
        shown = {exhibit.id for exhibit in entry.exhibits}
        assert {name for name in erratum.examples if name in examples()} <= shown
        assert sum(exhibit.id == "" for exhibit in entry.exhibits) == len(erratum.cases)


def test_examples_are_decided_as_printed_and_computed_as_corrected(document: ErrataDocument) -> None:
    exhibits = {exhibit.id: exhibit for entry in document.errata for exhibit in entry.exhibits if "/" in exhibit.id}
    assert len(exhibits) >= 10
    for exhibit in exhibits.values():
        example = examples()[exhibit.id]
        assert exhibit.as_printed is (f"{exhibit.id}:values" not in KNOWN), exhibit.id
        assert exhibit.corrections == example.corrections
        if example.printed is None:
            assert exhibit.decision is None
            assert exhibit.computed_sizes == outputs(example.with_types())[0].tensor.sizes
            continue
        assert exhibit.decision is Outcome.ACCEPT or example.corrections, exhibit.id
        assert exhibit.corrected_decision is (Outcome.ACCEPT if example.corrections else None)
        assert exhibit.computed.keys() == {slot.name for slot in outputs(example.printed)}
    assert exhibits["GATHER/3"].broken == (
        "GATHER.output-rank: OutputTensor.DimensionCount: sizes {3,1,2} do not fit 2 dimensions",
    )


# Of the first five operators; that all others are decided as shown is a test of its own.
CASES = {
    "GATHER-7": (Outcome.UNSPECIFIED, "GATHER.shape-before-2_1", {}),
    "GATHER_ELEMENTS-2": (Outcome.ACCEPT, "", {"OutputTensor": [13, None]}),
    "GATHER_ND-4": (Outcome.ACCEPT, "", {"OutputTensor": [[2, 3], [None, None]]}),
    "GATHER_ND1-6": (Outcome.ACCEPT, "", {"OutputTensor": [[1, None]]}),
    "TILE-2": (Outcome.REJECT, "TILE.data-types", {}),
    "TILE-3": (Outcome.REJECT, "TILE.same-dimension-count", {}),
    "TENSOR-2": (Outcome.ACCEPT, "", {}),
    "TENSOR-5": (Outcome.ACCEPT, "", {}),
    "TENSOR-6": (Outcome.ACCEPT, "", {"OutputTensor": [[1, 2], [2, 3]]}),
    "TENSOR-7": (Outcome.REJECT, "TENSOR.total-size", {}),
}


def test_cases_made_for_errata_show_them(document: ErrataDocument) -> None:
    for name, (outcome, rule, computed) in CASES.items():
        made = [exhibit for exhibit in entry(document, name).exhibits if exhibit.id == ""]
        assert len(made) == 1
        assert made[0].decision is outcome, name
        assert {broken.partition(":")[0] for broken in made[0].broken} == ({rule} if rule else set()), name
        assert made[0].computed == computed, name


def test_every_descriptor_shown_is_decided_so(document: ErrataDocument) -> None:
    shown = [exhibit for entry in document.errata for exhibit in entry.exhibits]
    shown += [departure.exhibit for departure in document.divergences]
    for exhibit in shown:
        if exhibit.decision is None or "/" in exhibit.id:
            continue
        decision = decide(desc_from_json(exhibit.descriptor), Level.parse(exhibit.level))
        assert exhibit.decision is decision.outcome
        assert (exhibit.decision is Outcome.ACCEPT) == (not exhibit.broken)


def test_what_the_library_does_is_told_where_it_is_on_record(document: ErrataDocument) -> None:
    for name, answer, record in (
        ("TILE-2", "accept", "DIV-tile-float64"),
        ("TENSOR-2", "reject", "DIV-alignment-below-16"),
    ):
        shown = entry(document, name)
        assert [(known.answer, known.record) for known in shown.exhibits[0].library] == [(answer, record)]
        assert record in shown.divergences
    told_of = {seen.rule: seen.finding for entry in document.errata for seen in entry.observed}
    known = observations()
    assert told_of == {name: known[name].finding for name in known if rules()[name].erratum is not None}
    observed = [exhibit for entry in document.errata for exhibit in entry.exhibits if exhibit.id in known]
    assert all(exhibit.decision is Outcome.UNSPECIFIED and len(exhibit.library) == 1 for exhibit in observed)
    assert [departure.id for departure in document.divergences] == list(divergences())
    assert all(departure.exhibit.library for departure in document.divergences)
    below = entry(document, "GATHER-7").exhibits[0]  # level 2_0, which no library of ours speaks
    sound = next(exhibit for exhibit in entry(document, "GATHER-1").exhibits if exhibit.id == "GATHER/1")
    assert below.library == sound.library == ()


def test_evidence_is_computed_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(desc: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: Expectation(np.zeros_like(r.values)) for name, r in expected_output(desc, inputs).items()}

    monkeypatch.setattr(reference_run, "expected_output", wrong)
    exhibit = entry(errata_document(), "GATHER-2").exhibits[0]
    assert exhibit.as_printed is False
    sentence = list(exhibit_sentences(exhibit))[-1]
    assert sentence.endswith("computes OutputTensor [[0, 0], [0, 0], [0, 0]], which is not what is printed.")
    assert "which is not what is printed" in as_markdown(errata_document())


def test_an_exhibit_is_told_in_sentences(document: ErrataDocument) -> None:
    printed = next(exhibit for exhibit in entry(document, "GATHER_ELEMENTS-1").exhibits)
    assert list(exhibit_sentences(printed)) == [
        "REJECT at 3_0 (GATHER_ELEMENTS.same-data-type: InputTensor is FLOAT32, OutputTensor is UINT32).",
        "With OutputTensor.DataType FLOAT32: ACCEPT.",
        "The reference computes the printed output from the printed inputs.",
    ]
    made = next(exhibit for exhibit in entry(document, "GATHER_ND1-6").exhibits)
    assert list(exhibit_sentences(made)) == [
        "ACCEPT at 3_0.",
        "From InputTensor [[0, 1], [2, 3]], IndicesTensor [[1], [2]] the reference computes OutputTensor [[1, open]].",
    ]
    name = "DIV-gather-index-batch-longer-than-input"
    departure = next(one.exhibit for one in document.divergences if one.id == name)
    figure = Exhibit("GATHER_ND/0", "", {}, None, computed_sizes=(1, 2), as_printed=False)
    assert list(exhibit_sentences(figure)) == [
        "The corrected formula gives the output sizes {1,2}, which is not what is printed."
    ]
    assert listed([[1.0, 2.5], [None, -3]]) == "[[1, 2.5], [open, -3]]"
    assert list(exhibit_sentences(departure))[-1] == (
        "The library (DirectML 1.8 (5_0), DirectML 1.10 (5_2), DirectML 1.13 (6_2)) does not survive it: "
        "its process dies, on record as DIV-gather-index-batch-longer-than-input."
    )


def test_cases_can_be_replayed() -> None:
    """A maintainer may want to run them on something else."""
    for erratum in EVERY:
        for case in erratum.cases:
            assert set(case) <= {"type", "desc", "level", "data"}
            assert Case.from_json(case).operator in operators()


# --- forms --------------------------------------------------------------------------------------------------------


def test_json_keeps_to_the_published_schema(document: ErrataDocument) -> None:
    schema = schemas.SCHEMAS["errata.schema.json"]()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    written = json.loads(invoke("--format", "json").stdout)
    validator.validate(written)
    assert written["format"] == 1
    assert [erratum["id"] for erratum in written["errata"]] == [entry.id for entry in document.errata]
    written["errata"][0]["extra"] = 1
    assert not validator.is_valid(written)


def test_markdown_has_a_section_for_each_erratum(document: ErrataDocument) -> None:
    text = invoke().stdout
    headings = re.findall(r"^### (\S+)$", text, re.MULTILINE)
    assert headings == [entry.id for entry in document.errata] + [known.id for known in document.divergences]
    assert text.startswith("# Errata of the DirectML pages\n")
    for entry in document.errata:
        section = text.partition(f"\n### {entry.id}\n")[2].partition("\n### ")[0]
        assert f"**Proposed**: {entry.proposal}" in section
        assert entry.finding in section
        assert entry.address in text
        told_of = [found.id for found in entry.contradictions] + [exhibit.level for exhibit in entry.exhibits]
        told_of += [seen.finding for seen in entry.observed] + [*entry.divergences, *entry.see]
        told_of += [*entry.page_checks, *entry.left_open, *entry.settled_by]
        assert [part for part in told_of if part not in section] == []
    assert "DIV-tile-float64](#div-tile-float64)" in text
    linked = as_markdown(document, divergences_at="audit.md")
    assert "DIV-tile-float64](audit.md#div-tile-float64)" in linked
    assert "### DIV-" not in linked


def test_html_links_within_itself_and_loads_nothing(document: ErrataDocument) -> None:
    page = Page(as_html(document))
    ids = [attributes["id"] for _, attributes, _ in page.elements if attributes.get("id")]
    links = [attributes["href"] for attributes, _ in page.all("a")]
    assert len(ids) == len(set(ids))
    assert {entry.id.lower() for entry in document.errata} <= set(ids)
    assert {attributes["href"] for attributes, _ in page.all("link")} <= {"data:,"}
    assert not any(attributes.get("src") for _, attributes, _ in page.elements)
    for link in links:
        assert link[1:] in ids if link.startswith("#") else link.startswith("https://"), link
    assert len([link for link in links if link.startswith("#div-")]) >= 5


# --- the command --------------------------------------------------------------------------------------------------


def test_one_operator() -> None:
    written = json.loads(invoke("--format", "json", "--operator", "tile").stdout)
    assert [erratum["id"] for erratum in written["errata"]] == ["TILE-1", "TILE-2", "TILE-3"]
    assert [known["id"] for known in written["divergences"]] == ["DIV-tile-float64", "DIV-tile-sizes-in-32-bits"]
    assert "### FOLD-1\n" in invoke("--operator", "dml_operator_fold").stdout
    assert invoke("--operator", "ROLL").exit_code == Exit.BAD_INPUT


def test_the_file_is_written_whole_and_nothing_else_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "new" / "errata.md"
    assert invoke("-o", str(target)).exit_code == Exit.CONFORMANT
    assert target.read_text(encoding="utf-8") == invoke().stdout
    again = invoke("-o", str(target), "--operator", "TILE")
    assert (again.exit_code, again.stdout) == (Exit.BAD_INPUT, "")
    assert invoke("-o", str(target), "--operator", "TILE", "--replace").exit_code == Exit.CONFORMANT
    assert "GATHER-1" not in target.read_text(encoding="utf-8")
    wrong = invoke("-o", str(target), "--format", "html", "--replace")
    assert wrong.stderr == f"dml-conformance: {target}: is no HTML page; it is not replaced\n"


def test_the_errata_stand_once_each_by_operator_and_contradictions_before_silences(document: ErrataDocument) -> None:
    assert sorted(entry.id for entry in document.errata) == sorted(errata())
    order = [(entry.page, entry.kind == "missing") for entry in document.errata]
    assert order == sorted(order)
    assert list(dict.fromkeys(page for page, _ in order)) == list(document.by_page)
