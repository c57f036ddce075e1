"""Certification packages: an honest one verifies, and whatever is done to it is found and named."""

from __future__ import annotations

import base64
import platform
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from package_support import DAY, WAIVER, changed, edit, forge, make, told, verified
from strength import mutants

from dml_conformance.backends.base import Answer, Binding, Capabilities, Unsupported
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.conformance.packages.make import manifest_of
from dml_conformance.conformance.packages.profiles import ClaimsProfile
from dml_conformance.conformance.packages.verify import Verification, rerun, verdicts
from dml_conformance.reports.package import (
    CASES,
    LISTED,
    MANIFEST,
    PACKAGE_FILES,
    SIGNATURE,
    STATEMENT,
    SUFFIX,
    WAIVERS,
    PackageError,
)
from dml_conformance.reports.package.forms import CaseList, Manifest, Statement, WaiverList
from dml_conformance.reports.records import Campaign, Difference, Phase, Record, Verdict
from dml_conformance.reports.store import Store
from dml_conformance.reports.writing import CERTIFICATE, JUNIT, REPORT, RESULTS
from dml_conformance.spec.case import digest_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Reading

PHASES = [Phase.EXAMPLES, Phase.BOUNDARIES, Phase.SEARCH, Phase.SWEEP]


class Wrong(ReferenceBackend):
    """Inverts the first byte of what it computes where the output has an odd number of elements."""

    def is_wrong(self, elements: int) -> bool:
        return elements % 2 == 1

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        super().execute(desc, level, inputs, outputs)
        output = outputs["output_tensor"]
        if self.is_wrong(desc.output_tensor.element_count):  # type: ignore[attr-defined]
            output.buffer[output.offset] ^= 0xFF


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a backend without a fault."""
    return make(tmp_path_factory.mktemp("honest") / "package", ReferenceBackend())


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a backend that computes wrong values."""
    return make(tmp_path_factory.mktemp("failing") / "package", Wrong())


@pytest.fixture(scope="module")
def waived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the same one, with a waiver for all that it gets wrong."""
    waiver = msgspec.structs.replace(WAIVER, rules=["TILE.values", "EXECUTION.*"])
    return make(tmp_path_factory.mktemp("waived") / "package", Wrong(), waivers=[waiver])


def records_of(package: Path) -> list[Record]:
    with Store(package / RESULTS) as store:
        return list(store.records())


def first(package: Path, **traits: Any) -> int:
    """The place of the first record with these traits."""
    return next(
        n
        for n, record in enumerate(records_of(package))
        if all(getattr(record, name) == value for name, value in traits.items())
    )


# --- honest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_an_honest_package_verifies(honest: Path, form: str) -> None:
    found = verified(honest if form == "folder" else honest.with_name(honest.name + SUFFIX))
    assert found.verifies, told(found)
    assert found.outcome == "conformant"
    assert found.exit_code == 0
    assert found.statement is not None
    assert found.statement.stated is not None
    assert found.statement.stated.vendor == "Example Ltd"
    assert [check.name for check in found.checks if not check.done] == ["signature"]


def test_a_refusal_is_on_record_under_the_rule_of_acceptance_alone(tmp_path: Path) -> None:
    """Filed under a rule of execution, though nothing was executed, it is found."""
    backend = mutants.decisions.RejectsOwnedByDmlInput()
    package = make(tmp_path / "refusing", backend)
    found = verified(package)
    assert found.verifies, told(found)
    n = first(package, verdict=Verdict.FAIL, phase=Phase.BOUNDARIES)
    assert records_of(package)[n].rule == "DESCRIPTOR.acceptance"
    found = verified(forge(package, tmp_path / "forged", records=edit(n, rule="TILE.values")))
    assert "rule: expected 'DESCRIPTOR.acceptance', found 'TILE.values'" in told(found)


def test_a_package_of_a_failing_backend_verifies_and_says_so(failing: Path) -> None:
    found = verified(failing)
    assert found.verifies, told(found)
    assert found.outcome == "not conformant"
    assert found.exit_code == 1


def test_waived_failures_are_neither_passes_nor_failures(waived: Path, failing: Path) -> None:
    found = verified(waived)
    assert found.verifies, told(found)
    assert found.outcome == "conformant"
    assert "set aside by waivers" in found.headline
    failed = sum(record.verdict is Verdict.FAIL for record in records_of(failing))
    records = [record for record in records_of(waived) if record.verdict is Verdict.WAIVED]
    assert len(records) == failed > 0
    assert {record.waived for record in records} == {"fail"}
    assert all(WAIVER.reason in record.reason and WAIVER.link in record.reason for record in records)
    assert found.statement is not None
    assert found.statement.waived == failed


@pytest.mark.parametrize("profile", [ClaimsProfile.DECISIONS, ClaimsProfile.EXECUTION])
def test_profiles_judge_what_they_say(tmp_path: Path, profile: ClaimsProfile) -> None:
    package = make(tmp_path / "package", ReferenceBackend(), profile=profile)
    found = verified(package)
    assert found.verifies, told(found)
    passed = [record for record in records_of(package) if record.verdict is Verdict.PASS]
    assert passed
    if profile is ClaimsProfile.DECISIONS:
        assert not any(record.output for record in passed)
    else:
        assert all(record.output for record in passed)
    statement = Statement.from_json((package / STATEMENT).read_bytes())
    assert statement.profile == str(profile)


def test_the_archive_is_the_same_for_the_same_files(honest: Path, tmp_path: Path) -> None:
    from dml_conformance.reports.package.archive import write_archive

    copy = Path(shutil.copytree(honest, tmp_path / "copy"))
    with (tmp_path / "again").open("wb") as file:
        write_archive(copy, honest.name, file)
    assert (tmp_path / "again").read_bytes() == honest.with_name(honest.name + SUFFIX).read_bytes()


def test_the_manifest_lists_every_file_but_itself_and_the_signature(honest: Path) -> None:
    manifest = Manifest.from_json((honest / MANIFEST).read_bytes())
    assert [listed.name for listed in manifest.files] == list(LISTED)
    assert sorted(path.name for path in honest.iterdir()) == sorted((*LISTED, MANIFEST))


class AcceptsZeroSizes(ReferenceBackend):
    """Its failures were once made smaller than 0."""

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        tensors = [getattr(desc, name, None) for name in ("input_tensor", "output_tensor")]
        if any(tensor is not None and 0 in tensor.sizes for tensor in tensors):
            return Answer(accepted=True)
        return super().validate(desc, level)


class Raises(ReferenceBackend):
    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        raise RuntimeError("device lost")


@pytest.mark.parametrize("backend", [AcceptsZeroSizes(), Raises()])
def test_packages_of_backends_with_other_bugs_verify(tmp_path: Path, backend: ReferenceBackend) -> None:
    found = verified(make(tmp_path / "package", backend))
    assert found.verifies, told(found)
    assert found.outcome == "not conformant"


class Elsewhere(ReferenceBackend):
    """Decides by the rules of its own level, claims little, and does not execute everything."""

    def capabilities(self) -> Capabilities:
        return replace(
            super().capabilities(),
            levels=(Level.parse("2_0"), Level.parse("3_0")),
            enforces=frozenset({Category.SHAPE, Category.LEVEL_SUPPORT, Category.EXECUTION}),
            decides_at=Level.parse("6_4"),
        )

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        if len(getattr(desc, "repeats", ())) == 3:
            raise Unsupported("three repeats")
        return super().validate(desc, Level.parse("6_4"))

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        if len(getattr(desc, "repeats", ())) == 2:
            raise Unsupported("two repeats")
        super().execute(desc, level, inputs, outputs)


@pytest.mark.parametrize("reading", list(Reading))
@pytest.mark.parametrize("backend", [ReferenceBackend(), Elsewhere()])
def test_packages_of_other_claims_and_readings_verify(
    tmp_path: Path, backend: ReferenceBackend, reading: Reading
) -> None:
    found = verified(make(tmp_path / "package", backend, reading=reading))
    assert found.verifies, told(found)


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.few(5)
@pytest.mark.parametrize("name", [*LISTED, MANIFEST])
@pytest.mark.parametrize("part", [0.0, 0.37, 0.99])
def test_a_byte_changed_in_any_file_is_found(honest: Path, tmp_path: Path, name: str, part: float) -> None:
    def flip(content: bytes) -> bytes:
        at = int(part * len(content))
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    found = verified(changed(honest, tmp_path / "package", name, flip, manifest=False))
    assert not found.verifies
    assert found.exit_code == 1
    if name == MANIFEST:
        assert found.findings
    else:
        assert f"files: {name}: not the file of the manifest" in told(found)


@pytest.mark.parametrize("name", LISTED)
def test_a_missing_file_is_found(honest: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(honest, tmp_path / "package")
    (tmp_path / "package" / name).unlink()
    found = verified(tmp_path / "package")
    assert not found.verifies
    assert f"files: {name}: expected in every package" in told(found)


def test_without_a_manifest_it_is_no_package(honest: Path, tmp_path: Path) -> None:
    shutil.copytree(honest, tmp_path / "package")
    (tmp_path / "package" / MANIFEST).unlink()
    with pytest.raises(PackageError, match="no package"):
        verified(tmp_path / "package")


def test_a_file_that_does_not_belong_there_is_found(honest: Path, tmp_path: Path) -> None:
    shutil.copytree(honest, tmp_path / "package")
    (tmp_path / "package" / "notes.txt").write_text("mine")
    assert "files: notes.txt: expected nothing but the files of a package" in told(verified(tmp_path / "package"))


def test_any_byte_changed_in_the_archive_is_found(honest: Path, tmp_path: Path) -> None:
    content = honest.with_name(honest.name + SUFFIX).read_bytes()
    chooser = random.Random(5)
    for n in range(12):
        at = chooser.randrange(len(content))
        path = tmp_path / f"{n}{SUFFIX}"
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        with suppress(PackageError):
            assert not verified(path).verifies, at


# --- forgeries in which everything was made to fit ------------------------------------------------------------------


def test_forging_nothing_verifies(honest: Path, tmp_path: Path) -> None:
    found = verified(forge(honest, tmp_path / "package"))
    assert found.verifies, told(found)


@pytest.mark.parametrize("phase", PHASES)
def test_a_case_left_out_is_found(honest: Path, tmp_path: Path, phase: Phase) -> None:
    n = first(honest, phase=phase)
    found = verified(forge(honest, tmp_path / "package", records=lambda records: records[:n] + records[n + 1 :]))
    case = records_of(honest)[n]
    assert not found.verifies
    if phase is Phase.SEARCH:
        assert "search: TILE at 3_0, " in told(found)
        assert "expected 2 cases, found 1" in told(found)
    else:
        assert f"cases: results.sqlite: {phase}: case {case.case} (TILE at 3_0" in told(found)
        assert "expected once, found not at all" in told(found)


@pytest.mark.parametrize("phase", PHASES)
def test_a_case_twice_is_found(honest: Path, tmp_path: Path, phase: Phase) -> None:
    n = first(honest, phase=phase)
    found = verified(
        forge(
            honest,
            tmp_path / "package",
            records=lambda records: [*records[:n], *records[n : n + 1] * 2, *records[n + 1 :]],
        )
    )
    assert not found.verifies
    wanted = "expected 2 cases, found 3" if phase is Phase.SEARCH else "expected once, found twice"
    assert wanted in told(found)


@pytest.mark.parametrize("phase", [Phase.BOUNDARIES, Phase.SWEEP])
def test_cases_in_another_order_are_found(honest: Path, tmp_path: Path, phase: Phase) -> None:
    n = first(honest, phase=phase)

    def swap(records: list[Record]) -> list[Record]:
        return [*records[:n], records[n + 1], records[n], *records[n + 2 :]]

    assert f"{phase}: case number 1: out of order" in told(verified(forge(honest, tmp_path / "package", records=swap)))


def test_phases_in_another_order_are_found(honest: Path, tmp_path: Path) -> None:
    found = verified(forge(honest, tmp_path / "package", records=lambda records: [*records[1:], records[0]]))
    assert "a case of phase examples after one of sweep" in told(found)


@pytest.mark.parametrize("phase", PHASES)
def test_a_whole_phase_left_out_is_found(honest: Path, tmp_path: Path, phase: Phase) -> None:
    kept = [record for record in records_of(honest) if record.phase is not phase]
    found = verified(forge(honest, tmp_path / "package", records=lambda _: kept))
    assert not found.verifies
    assert ("found 0" if phase is Phase.SEARCH else "found not at all") in told(found)


# --- the search ---------------------------------------------------------------------------------------------------


def by_another(**versions: str) -> Callable[[Campaign], Campaign]:
    """The campaign with other versions in its environment."""
    return lambda campaign: msgspec.structs.replace(campaign, environment={**campaign.environment, **versions})


def exchanged(package: Path) -> tuple[Record, Record]:
    """A passing case of the search, and one of the same rule that another seed makes."""
    one = next(
        record for record in records_of(package) if record.phase is Phase.SEARCH and record.rule == "TILE.values"
    )
    judge = Judge(ReferenceBackend(), "reference", digests_outputs=True)
    others = search(judge, "TILE", Level.parse("3_0"), "TILE.values", 20, 4711)
    return one, next(other for other in others if other.case != one.case)


def exchange(package: Path) -> Callable[[list[Record]], list[Record]]:
    one, other = exchanged(package)
    return lambda records: [other if record == one else record for record in records]


def test_a_sound_case_in_place_of_the_one_that_was_to_be_tried_is_found(honest: Path, tmp_path: Path) -> None:
    one, other = exchanged(honest)
    found = verified(forge(honest, tmp_path / "package", records=exchange(honest)))
    assert not found.verifies
    wanted = f"search: TILE at 3_0, TILE.values: case 1: expected '{one.case}', found '{other.case}'"
    assert wanted in told(found)


@pytest.mark.parametrize("versions", [{"hypothesis": "6.0.0"}, {"python": "3.2.1"}, {"python": ""}])
def test_a_search_that_differs_with_other_versions_is_counted_and_that_is_said(
    honest: Path, tmp_path: Path, versions: dict[str, str]
) -> None:
    found = verified(forge(honest, tmp_path / "package", records=exchange(honest), campaign=by_another(**versions)))
    assert found.verifies, told(found)
    (check,) = [check for check in found.checks if check.name == "cases"]
    (name, version) = next(iter(versions.items()))
    assert f"made with {name.title()} {version.removesuffix('.1') or 'unknown'}, not " in check.detail


def test_another_patch_release_of_python_is_no_excuse(honest: Path, tmp_path: Path) -> None:
    major, minor, _ = platform.python_version_tuple()
    another = by_another(python=f"{major}.{minor}.99")
    assert not verified(forge(honest, tmp_path / "package", records=exchange(honest), campaign=another)).verifies


def test_a_search_that_is_the_same_with_other_versions_is_no_less_than_the_same(honest: Path, tmp_path: Path) -> None:
    found = verified(forge(honest, tmp_path / "package", campaign=by_another(hypothesis="6.0.0", python="3.2.1")))
    assert found.verifies, told(found)
    assert "counted alone" not in "".join(check.detail for check in found.checks)


@pytest.mark.parametrize(("change", "problem"), [(0, "found 1"), (2, "found 3")])
def test_with_other_versions_one_too_few_or_too_many_is_found(
    honest: Path, tmp_path: Path, change: int, problem: str
) -> None:
    n = first(honest, phase=Phase.SEARCH, rule="TILE.values")

    def times(records: list[Record]) -> list[Record]:
        return [*records[:n], *records[n : n + 1] * change, *records[n + 1 :]]

    another = by_another(hypothesis="6.0.0")
    found = verified(forge(honest, tmp_path / "package", records=times, campaign=another))
    assert f"search: TILE at 3_0, TILE.values: expected 2 cases, {problem}" in told(found)


@pytest.mark.parametrize("versions", [{}, {"hypothesis": "6.0.0"}])
def test_a_search_for_what_is_not_searched_for_is_found(honest: Path, tmp_path: Path, versions: dict[str, str]) -> None:
    n = first(honest, phase=Phase.SEARCH)
    content = {**records_of(honest)[n].case_json, "rule": "GATHER.values"}
    found = verified(
        forge(honest, tmp_path / "package", records=edit(n, case_json=content), campaign=by_another(**versions))
    )
    wanted = "expected no such search" if versions else "expected 0 cases, found 1"
    assert f"search: TILE at 3_0, GATHER.values: {wanted}" in told(found)


def test_searches_in_another_order_are_found(honest: Path, tmp_path: Path) -> None:
    searched = [record for record in records_of(honest) if record.phase is Phase.SEARCH]
    groups = [list(group) for _, group in groupby(searched, key=lambda record: record.case_json["rule"])]
    groups[0], groups[1] = groups[1], groups[0]
    swapped = iter([record for group in groups for record in group])

    def swap(records: list[Record]) -> list[Record]:
        return [next(swapped) if record.phase is Phase.SEARCH else record for record in records]

    found = verified(forge(honest, tmp_path / "package", records=swap))
    assert "search: case number 1: out of order" in told(found)


class WrongInTheEnd(Wrong):
    """The same where the output has many elements, which is not what a search tries first."""

    def is_wrong(self, elements: int) -> bool:
        return elements > 60


def test_what_a_failing_search_tried_before_is_held_against_it(tmp_path: Path) -> None:
    """The failure ends the search for its rule; a case that passed before it may not be left out either."""
    package = make(tmp_path / "made", WrongInTheEnd())
    found = verified(package)
    assert found.verifies, told(found)
    records = records_of(package)
    searched = [n for n, record in enumerate(records) if record.phase is Phase.SEARCH]
    rule = next(records[n].case_json["rule"] for n in searched if records[n].verdict is Verdict.FAIL)
    of_rule = [n for n in searched if records[n].case_json["rule"] == rule]
    assert [records[n].verdict for n in of_rule[-3:]] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL]
    # Without the last one that passed, the failure could have come one earlier; nothing on record tells.
    n = of_rule[-3]
    found = verified(forge(package, tmp_path / "package", records=lambda records: records[:n] + records[n + 1 :]))
    assert f"search: TILE at 3_0, {rule}: case " in told(found)


# --- edited -------------------------------------------------------------------------------------------------------


def test_an_edited_case_is_found(honest: Path, tmp_path: Path) -> None:
    n = first(honest, phase=Phase.SWEEP, verdict=Verdict.PASS)
    content = {**records_of(honest)[n].case_json, "level": "6_4"}
    found = verified(forge(honest, tmp_path / "package", records=edit(n, case_json=content)))
    assert "is not the case of this digest" in told(found)


def test_an_edited_case_with_a_digest_that_fits_is_found(honest: Path, tmp_path: Path) -> None:
    n = first(honest, phase=Phase.SWEEP, expected="ACCEPT")
    content = msgspec.json.decode(msgspec.json.encode(records_of(honest)[n].case_json))
    for recipe in content["data"].values():
        recipe["seed"] = 4711
    found = verified(forge(honest, tmp_path / "package", records=edit(n, case_json=content, case=digest_of(content))))
    assert "no case of this release, seed and budget" in told(found)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("rule", "TILE.dimension-counts"),
        ("origin", "elsewhere"),
        ("expect", {"decision": "REJECT", "rules": ["TILE.output-sizes"]}),
    ],
)
def test_an_edited_label_of_a_case_is_found(honest: Path, tmp_path: Path, label: str, value: object) -> None:
    n = first(honest, phase=Phase.SWEEP, expected="ACCEPT")
    content = {**records_of(honest)[n].case_json, label: value}
    found = verified(forge(honest, tmp_path / "package", records=edit(n, case_json=content)))
    assert f"case_json.{label}: expected" in told(found)


EXECUTED = {"expected": "ACCEPT", "rule": "TILE.values"}


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("traits", "changes", "message"),
    [
        ({"expected": "REJECT"}, {"answered": "accept"}, "verdict: expected 'fail', found 'pass'"),
        ({"expected": "REJECT"}, {"expected": "ACCEPT"}, "expected: expected 'REJECT', found 'ACCEPT'"),
        ({"expected": "REJECT"}, {"rule": "TILE.values"}, "rule: expected"),
        ({"expected": "REJECT"}, {"output": "0" * 32}, "output: expected"),
        ({"expected": "ACCEPT", "verdict": Verdict.PASS}, {"answered": "reject"}, "verdict: expected"),
        (EXECUTED, {"output": "0" * 32}, "not what the case computes"),
        (EXECUTED, {"output": ""}, "not what the case computes"),
        (EXECUTED, {"difference_count": 3}, "expected none of a pass"),
        (EXECUTED, {"verdict": Verdict.WAIVED, "waived": "fail"}, "no waiver of the package covers it"),
        (EXECUTED, {"waived": "fail"}, "waived: expected '', found 'fail'"),
        (EXECUTED, {"verdict": Verdict.ERROR}, "but there is data for this case"),
        (EXECUTED, {"verdict": Verdict.OBSERVED}, "verdict: expected 'one of pass"),
        (EXECUTED, {"layout": "other"}, "layout: expected"),
        (EXECUTED, {"reason": "by the way"}, "reason: expected '', found 'by the way'"),
        ({"expected": "REJECT"}, {"reason": "by the way"}, "reason: expected '', found 'by the way'"),
        ({"verdict": Verdict.OBSERVED}, {"reason": "by the way"}, "reason: expected 'rejected'"),
        (EXECUTED, {"rank": 7}, "rank: expected"),
        (EXECUTED, {"reproduce": "rm -rf ~"}, "reproduce: expected ''"),
        ({"verdict": Verdict.OBSERVED}, {"verdict": Verdict.PASS}, "verdict: expected"),
        ({"verdict": Verdict.OBSERVED}, {"reproduce": "rm -rf ~"}, "and nothing else"),
        ({"verdict": Verdict.OBSERVED}, {"answered": ""}, "verdict: expected 'crash', found 'observed'"),
    ],
)  # fmt: skip
def test_a_verdict_that_does_not_follow_is_found(
    honest: Path, tmp_path: Path, traits: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    found = verified(forge(honest, tmp_path / "package", records=edit(first(honest, **traits), **changes)))
    assert not found.verifies
    assert message in told(found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"verdict": Verdict.PASS, "reason": "", "differences": (), "difference_count": 0, "reproduce": ""},
            "not what the case computes",
        ),
        ({"differences": (), "difference_count": 0}, "at least one difference"),
        ({"differences": (Difference((0,), "1", "0x01", "2", "0x02"),)}, "differences"),
        ({"output": ""}, "but no digest"),
        ({"verdict": Verdict.CRASH}, "expected none of a case that came to crash"),
    ],
)  # fmt: skip
def test_a_failure_that_is_talked_away_is_found(
    failing: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    n = first(failing, verdict=Verdict.FAIL)
    found = verified(forge(failing, tmp_path / "package", records=edit(n, **changes)))
    assert not found.verifies
    assert message in told(found)


def with_backend(**changes: Any) -> Callable[[Campaign], Campaign]:
    return lambda campaign: replace(campaign, backend={**campaign.backend, **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: replace(c, seed=1), "search: TILE at 3_0, "),
        (lambda c: replace(c, budget="standard"), "expected 6 cases, found 2"),
        (lambda c: replace(c, budget="tiny"), "campaign.budget: expected"),
        (lambda c: replace(c, seed=-1), "campaign.seed: expected"),
        (lambda c: replace(c, suite_version="9.9.9"), "only the same release makes the same cases"),
        (lambda c: replace(c, levels=("3_0", "6_4")), "expected once, found not at all"),
        (lambda c: replace(c, levels=("3_0", "3_0")), "campaign.levels: expected"),
        (lambda c: replace(c, operators=("TILE", "TILE")), "campaign.operators: expected"),
        (lambda c: replace(c, spec="guessed"), "holds no campaign of this suite, or a damaged one: 'guessed'"),
        (lambda c: replace(c, started="yesterday"), "campaign.started: expected"),
        (lambda c: replace(c, rules=c.rules[1:]), "campaign.rules: expected"),
        (with_backend(enforces=["execution"]), "verdict: expected"),
        (with_backend(levels=["6_4"]), "verdict: expected"),
        (with_backend(executes=1), "holds no campaign of this suite"),
        (with_backend(enforces=["luck"]), "campaign.backend: expected"),
    ],
)
def test_a_campaign_that_does_not_fit_is_found(
    honest: Path, tmp_path: Path, change: Callable[[Campaign], Campaign], message: str
) -> None:
    package = tmp_path / "package"
    try:
        forge(honest, package, campaign=change)
    except (ValueError, LookupError):  # the forger's own tools refuse: change the database alone
        shutil.copytree(honest, package, dirs_exist_ok=True)
        with Store(honest / RESULTS) as store:
            text = msgspec.json.encode(change(store.campaign)).decode()
        with sqlite3.connect(package / RESULTS) as connection:
            connection.execute("UPDATE stream SET json = ? WHERE part = 'campaign'", (text,))
        connection.close()
        (package / MANIFEST).write_bytes(manifest_of(package, "0.1.0").to_json())
    found = verified(package)
    assert not found.verifies
    assert message in told(found)


def test_records_of_the_wrong_form_are_found(honest: Path, tmp_path: Path) -> None:
    package = Path(shutil.copytree(honest, tmp_path / "package"))
    with sqlite3.connect(package / RESULTS) as connection:
        connection.execute("UPDATE record SET rank = 'many' WHERE id = 3")
    connection.close()
    (package / MANIFEST).write_bytes(manifest_of(package, "0.1.0").to_json())
    assert "not of the form of a record: case " in told(verified(package))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TRIGGER extra AFTER INSERT ON record BEGIN SELECT 1; END",
        "DROP VIEW result",
        "ALTER TABLE throughput ADD COLUMN more TEXT",
        "PRAGMA user_version = 7",
    ],
)
def test_a_database_that_is_not_ours_is_not_read(honest: Path, tmp_path: Path, statement: str) -> None:
    package = Path(shutil.copytree(honest, tmp_path / "package"))
    connection = sqlite3.connect(package / RESULTS)
    connection.execute(statement)
    connection.commit()
    connection.close()
    (package / MANIFEST).write_bytes(manifest_of(package, "0.1.0").to_json())
    found = verified(package)
    assert not found.verifies
    assert found.outcome == ""
    assert "files: results.sqlite:" in told(found)


def test_a_case_that_would_fill_the_memory_is_not_computed(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can only be one that the package alone knows."""
    n = first(honest, phase=Phase.SEARCH, rule="TILE.values")
    desc = {
        "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "TotalTensorSizeInBytes": 4},
        "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 2**28], "TotalTensorSizeInBytes": 2**30},
        "RepeatsCount": 4,
        "Repeats": [1, 1, 1, 2**28],
    }
    content = {**records_of(honest)[n].case_json, "desc": desc}
    monkeypatch.setattr(verdicts, "expected_results", None)  # computing anything large would be noticed
    monkeypatch.setattr(verdicts.VerdictCheck, "_check_executed", lambda *_: None)
    found = verified(forge(honest, tmp_path / "package", records=edit(n, case_json=content, case=digest_of(content))))
    assert "which no case of the search has; not computed" in told(found)


def test_what_does_not_verify_is_not_executed(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = forge(honest, tmp_path / "package", records=lambda records: records[1:])
    found = again(monkeypatch, Strict(), package)
    assert "rerun" not in {finding.check for finding in found.findings}
    (check,) = [check for check in found.checks if check.name == "rerun"]
    assert not check.done


# --- documents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [CERTIFICATE, JUNIT, REPORT, STATEMENT, CASES])
def test_a_document_of_another_package_is_found(honest: Path, failing: Path, tmp_path: Path, name: str) -> None:
    """In a package of a backend that fails, what belongs to one that does not."""
    other = (honest / name).read_bytes() if name != CASES else (honest / name).read_bytes().replace(b"3_0", b"6_4")
    found = verified(changed(failing, tmp_path / "package", name, lambda _: other))
    assert not found.verifies
    assert f"documents: {name}:" in told(found)
    assert "does not follow from the records" in told(found)


def test_a_profile_that_was_not_judged_is_found(tmp_path: Path) -> None:
    package = make(tmp_path / "decisions", ReferenceBackend(), profile=ClaimsProfile.DECISIONS)
    found = verified(
        changed(package, tmp_path / "package", STATEMENT, lambda text: text.replace(b'"decisions"', b'"full"'))
    )
    assert "documents: statement.json: profile:" in told(found)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", [STATEMENT, CASES, WAIVERS, MANIFEST])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b'"form": 1', b'"form": 1,\n  "form": 1', 1),
        lambda text: text.replace(b'"form": 1', b'"form": 1, "extra": 2', 1),
        lambda text: text.replace(b'"form": 1', b'"form": 2', 1),
        lambda text: text + b" ",
        lambda text: b"[" * 200_000 + b"]" * 200_000,
        lambda text: b"\xff" + text,
    ],
    ids=["key-twice", "unknown-key", "other-form", "other-spaces", "deep", "no-utf-8"],
)  # fmt: skip
def test_json_of_another_form_is_found(
    honest: Path, tmp_path: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    found = verified(changed(honest, tmp_path / "package", name, change))
    assert not found.verifies
    assert f": {name}: not " in told(found)


# --- waivers ------------------------------------------------------------------------------------------------------


def with_waivers(package: Path, target: Path, waivers: list[Any]) -> Verification:
    return verified(changed(package, target, WAIVERS, lambda _: WaiverList(waivers=waivers).to_json()))


def test_waivers_that_are_not_legal_are_found(waived: Path, tmp_path: Path) -> None:
    (given,) = WaiverList.from_json((waived / WAIVERS).read_bytes()).waivers
    for n, (changes, message) in enumerate(
        [
            ({"expires": "2026-11-20"}, "waiver 1: expires: expired on 2026-11-20"),
            ({"rules": ["*"]}, "waiver 1: rules: '*' covers everything"),
            ({"rules": []}, "waiver 1: a waiver says what it covers"),
            ({"operators": ["TILES"]}, "waiver 1: operators: there is no operator"),
            ({"expires": "2026-13-01"}, "waiver 1: expires: '2026-13-01' is no day"),
        ]
    ):
        found = with_waivers(waived, tmp_path / str(n), [replace(given, **changes)])
        assert not found.verifies
        assert f"waivers: waivers.json: {message}" in told(found)
        assert "waived, but no waiver of the package covers it" in told(found)  # it does not hold


def test_a_waiver_holds_on_its_last_day_and_not_after(failing: Path, tmp_path: Path) -> None:
    waiver = replace(WAIVER, rules=["TILE.*", "EXECUTION.*"], expires=DAY.isoformat())
    package = forge(failing, tmp_path / "package", waivers=[waiver])
    campaign = lambda c: replace(c, started="2026-11-20T08:00:00Z")  # noqa: E731
    package = forge(failing, tmp_path / "again", waivers=[waiver], campaign=campaign)
    assert verified(package).verifies
    assert not verify_on(package, "2026-11-22").verifies


def verify_on(package: Path, day: str) -> Verification:
    from datetime import date

    from dml_conformance.conformance.packages.verify import verify

    return verify(package, today=date.fromisoformat(day))


def test_a_waiver_that_had_expired_when_the_run_began_is_found(failing: Path, tmp_path: Path) -> None:
    waiver = replace(WAIVER, rules=["TILE.*", "EXECUTION.*"], expires="2026-11-25")
    campaign = lambda c: replace(c, started="2026-11-30T08:00:00Z")  # noqa: E731
    package = forge(failing, tmp_path / "package", waivers=[waiver], campaign=campaign)
    assert "expired on 2026-11-25, before 2026-11-30" in told(verified(package))


def test_an_unused_waiver_is_found(waived: Path, tmp_path: Path) -> None:
    (given,) = WaiverList.from_json((waived / WAIVERS).read_bytes()).waivers
    found = with_waivers(waived, tmp_path / "package", [given, replace(given, rules=["GATHER.*"])])
    assert "waivers: waivers.json: waiver 2: covers no failure of this package" in told(found)


def test_a_waiver_with_other_words_is_found(waived: Path, tmp_path: Path) -> None:
    (given,) = WaiverList.from_json((waived / WAIVERS).read_bytes()).waivers
    found = with_waivers(waived, tmp_path / "package", [replace(given, reason="All is well")])
    assert "expected the words of the waiver that covers it" in told(found)


def test_a_waived_pass_is_found(waived: Path, tmp_path: Path) -> None:
    (given,) = WaiverList.from_json((waived / WAIVERS).read_bytes()).waivers
    n = first(waived, verdict=Verdict.WAIVED)
    found = verified(forge(waived, tmp_path / "package", records=edit(n, waived="pass"), waivers=[given]))
    assert "waived: expected" in told(found)


# --- signatures ---------------------------------------------------------------------------------------------------

KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("signed") / "package", ReferenceBackend(), key=KEY)


def test_a_signed_package_verifies_with_its_key(signed: Path) -> None:
    found = verified(signed, key=KEY.public_key())
    assert found.verifies, told(found)
    assert all(check.done for check in found.checks)
    assert sorted(path.name for path in signed.iterdir()) == sorted(PACKAGE_FILES)


def test_without_a_key_a_signature_is_said_not_to_be_checked(signed: Path) -> None:
    found = verified(signed)
    assert found.verifies
    (check,) = [check for check in found.checks if check.name == "signature"]
    assert not check.done
    assert "no public key was given" in check.detail


def test_another_key_is_found(signed: Path) -> None:
    found = verified(signed, key=OTHER.public_key())
    assert not found.verifies
    assert "signature: signature.dsse.json: signatures: none is by the key" in told(found)


def test_a_package_without_signature_does_not_do_where_a_key_is_given(honest: Path) -> None:
    assert "the package is not signed" in told(verified(honest, key=KEY.public_key()))


def test_a_manifest_made_again_without_signing_again_is_found(signed: Path, tmp_path: Path) -> None:
    package = Path(shutil.copytree(signed, tmp_path / "package"))
    content = (package / STATEMENT).read_bytes().replace(b"Example NPU", b"Another NPU")
    (package / STATEMENT).write_bytes(content)
    (package / MANIFEST).write_bytes(manifest_of(package, "0.1.0").to_json())
    for key in (None, KEY.public_key()):
        found = verified(package, key=key)
        assert not found.verifies
        assert "subject 'manifest.json': signed was another file" in told(found)
        assert "subject 'statement.json': signed was another file" in told(found)
        assert "predicate: says something else" in told(found)


def test_an_envelope_around_something_else_is_found(signed: Path, honest: Path, tmp_path: Path) -> None:
    """A right signature of another package."""
    from dml_conformance.reports.package.forms import Predicate
    from dml_conformance.reports.package.signature import signed as signed_content

    predicate = Predicate(suite_version="0.1.0", outcome="conformant", profile="full", product="", vendor="")
    contents = {
        "subject": signed_content({"manifest.json": "0" * 64}, predicate, KEY),
        "by the key": (signed / SIGNATURE).read_bytes().replace(b'"sig": "', b'"sig": "AAAA'),
        "base64": (signed / SIGNATURE).read_bytes().replace(b'"payload": "', b'"payload": "*'),
        "form": b"{}",
    }
    for n, (message, content) in enumerate(contents.items()):
        package = Path(shutil.copytree(signed, tmp_path / str(n)))
        (package / SIGNATURE).write_bytes(content)
        found = verified(package, key=KEY.public_key())
        assert not found.verifies
        assert message in told(found)


def spoiled(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_every_byte_of_the_signature_counts(signed: Path, tmp_path: Path) -> None:
    content = (signed / SIGNATURE).read_bytes()
    chooser = random.Random(3)
    package = Path(shutil.copytree(signed, tmp_path / "package"))
    key_id = range(content.index(b'"keyid"'), content.index(b'"sig"'))
    places = [*chooser.sample(range(len(content)), 6), chooser.choice(key_id), len(content) - 1]
    for at in places:
        (package / SIGNATURE).write_bytes(spoiled(content, at))
        assert not verified(package, key=KEY.public_key()).verifies, at


SPELLINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "a trailing newline": lambda content: content + b"\n",
    "no newline": lambda content: content.rstrip(b"\n"),
    "spaces": lambda content: content.replace(b": ", b":  ", 1),
    "one line": lambda content: msgspec.json.encode(msgspec.json.decode(content)),
    "an escape": lambda content: content.replace(b"application/", b"application\\/", 1),
    "a key twice": lambda content: content.replace(b"{", b'{"payload": "", ', 1),
    "another order": lambda content: msgspec.json.format(
        msgspec.json.encode(dict(reversed(msgspec.json.decode(content).items()))), indent=2
    ) + b"\n",
    "bits of base64 that stand for nothing": lambda content: re.sub(
        rb'([AQgw])=="', lambda found: bytes([found[1][0] + 1]) + b'=="', content
    ),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("key", [None, KEY.public_key()], ids=["without a key", "with its key"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_signature_that_is_spelled_otherwise_is_found(signed: Path, tmp_path: Path, name: str, key: Any) -> None:
    package = Path(shutil.copytree(signed, tmp_path / "package"))
    content = (package / SIGNATURE).read_bytes()
    changed_content = SPELLINGS[name](content)
    assert changed_content != content
    (package / SIGNATURE).write_bytes(changed_content)
    found = verified(package, key=key)
    assert not found.verifies
    assert "signature: signature.dsse.json: not" in told(found)


def test_a_payload_that_is_spelled_otherwise_is_found_though_it_is_signed(signed: Path, tmp_path: Path) -> None:
    from dml_conformance.reports.package.signature import PAYLOAD_TYPE, key_id, opened, pre_authentication_encoding

    package = Path(shutil.copytree(signed, tmp_path / "package"))
    payload = msgspec.json.encode(opened((package / SIGNATURE).read_bytes()).statement) + b"\n"
    raw = KEY.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key_id(KEY.public_key()), "sig": base64.b64encode(raw).decode()}],
    }
    (package / SIGNATURE).write_bytes(msgspec.json.format(msgspec.json.encode(envelope), indent=2) + b"\n")
    assert "signature.dsse.json: not written as" in told(verified(package, key=KEY.public_key()))


def test_a_key_id_beside_a_signature_is_the_key_s(signed: Path, tmp_path: Path) -> None:
    package = Path(shutil.copytree(signed, tmp_path / "package"))
    content = (package / SIGNATURE).read_bytes()
    envelope = msgspec.json.decode(content)
    envelope["signatures"][0]["keyid"] = "of somebody else"
    (package / SIGNATURE).write_bytes(msgspec.json.format(msgspec.json.encode(envelope), indent=2) + b"\n")
    found = verified(package, key=KEY.public_key())
    assert "signature.dsse.json: keyid: not the id of the key that signed" in told(found)


def test_signatures_by_other_keys_are_counted(signed: Path, tmp_path: Path) -> None:
    package = Path(shutil.copytree(signed, tmp_path / "package"))
    envelope = msgspec.json.decode((package / SIGNATURE).read_bytes())
    envelope["signatures"].append({"keyid": "another", "sig": base64.b64encode(bytes(64)).decode()})
    (package / SIGNATURE).write_bytes(msgspec.json.format(msgspec.json.encode(envelope), indent=2) + b"\n")
    found = verified(package, key=KEY.public_key())
    assert found.verifies, told(found)
    assert "1 by other keys, not checked" in {check.name: check.detail for check in found.checks}["signature"]


# --- running again ------------------------------------------------------------------------------------------------


class Memorising(ReferenceBackend):
    """Knows the right output for data that it has seen, and nothing else."""

    seen: set[bytes] | None = None

    def execute(
        self, desc: OperatorDesc, level: Level, inputs: Mapping[str, Binding], outputs: Mapping[str, Binding]
    ) -> None:
        content = inputs["input_tensor"].view.tobytes()
        if self.seen is None or content in self.seen:
            super().execute(desc, level, inputs, outputs)


class Strict(ReferenceBackend):
    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        return Answer(accepted=False, reason="never")


def again(monkeypatch: pytest.MonkeyPatch, backend: ReferenceBackend, package: Path) -> Verification:
    monkeypatch.setattr(rerun, "opened", lambda name, limits: nullcontext(backend))
    return verified(package, rerun=rerun.Rerun(Fraction(1, 10), "reference", 11, None))


def test_running_again_agrees_on_the_same_backend(monkeypatch: pytest.MonkeyPatch, honest: Path, failing: Path) -> None:
    found = again(monkeypatch, ReferenceBackend(), honest)
    assert found.verifies, told(found)
    (check,) = [check for check in found.checks if check.name == "rerun"]
    assert f"{round(len(records_of(honest)) / 10)} cases on reference" in check.detail
    assert again(monkeypatch, Wrong(), failing).verifies


@pytest.mark.parametrize("backend", [Wrong(), Strict()])
def test_running_again_on_another_backend_is_found(
    monkeypatch: pytest.MonkeyPatch, honest: Path, backend: ReferenceBackend
) -> None:
    found = again(monkeypatch, backend, honest)
    assert not found.verifies
    assert "rerun: results.sqlite: record" in told(found)
    assert "executed again: expected" in told(found)
    assert "dml-conformance replay --backend reference" in told(found)


def test_answers_learned_by_heart_are_found(monkeypatch: pytest.MonkeyPatch, honest: Path) -> None:
    from dml_conformance.spec.case import Case
    from dml_conformance.strategies.values import materialize

    memorising = Memorising()
    memorising.seen = {
        materialize(case)["input_tensor"].tobytes()
        for record in records_of(honest)
        if (case := Case.from_json(record.case_json)).data and record.output
    }
    found = again(monkeypatch, memorising, honest)
    assert not found.verifies
    assert "found 'fail accept'" in told(found)


@pytest.mark.parametrize(("text", "share"), [("1%", "1/100"), ("0.5%", "1/200"), ("100%", "1")])
def test_shares_are_read(text: str, share: str) -> None:
    assert rerun.parse_share(text) == Fraction(share)


@pytest.mark.parametrize("text", ["0%", "101%", "1", "-1%", "nan%", ""])
def test_no_other_shares_are_read(text: str) -> None:
    with pytest.raises(ValueError, match="expected a share such as 1%"):
        rerun.parse_share(text)


# --- published schemas --------------------------------------------------------------------------------------------


def test_the_files_keep_to_their_published_schemas(signed: Path, waived: Path) -> None:
    import jsonschema

    from dml_conformance.conformance.schemas import SCHEMAS

    for package in (signed, waived):
        for name, schema in (
            (STATEMENT, "statement"),
            (CASES, "case-list"),
            (WAIVERS, "waivers"),
            (MANIFEST, "manifest"),
        ):
            jsonschema.validate(msgspec.json.decode((package / name).read_bytes()), SCHEMAS[f"{schema}.schema.json"]())
    found = msgspec.json.decode(msgspec.json.encode(verified(waived, key=KEY.public_key())))
    jsonschema.validate(found, SCHEMAS["verification.schema.json"]())
    assert CaseList.from_json((waived / CASES).read_bytes()).budget == "quick"
