"""Certification packages: an honest one verifies, and whatever is done to it is found and named."""

from __future__ import annotations

import base64
import json
import platform
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext, suppress
from datetime import date
from fractions import Fraction
from itertools import count, groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard
from commands import records_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from package_support import DAY, WAIVER, changed, edit, forge, make, told, verified
from scripted_backend import ScriptedBackend, raising, rejecting
from strength import mutants

from dml_conformance.backends.base import Answer, Binding, Unsupported
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.conformance.packages.make import manifest_of
from dml_conformance.conformance.packages.profiles import ClaimsProfile
from dml_conformance.conformance.packages.verify import Verification, rerun, verdicts, verify
from dml_conformance.reports.model.errors import Errors
from dml_conformance.reports.model.records import Campaign, Difference, Phase, Record, Verdict
from dml_conformance.reports.output.folder import CERTIFICATE, JUNIT, REPORT, RESULTS
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
from dml_conformance.reports.package.archive import write_archive
from dml_conformance.reports.package.forms import CaseList, Manifest, Predicate, Statement, WaiverList
from dml_conformance.reports.package.signature import PAYLOAD_TYPE, key_id, opened, pre_authentication_encoding
from dml_conformance.reports.package.signature import signed as signed_content
from dml_conformance.reports.store.results import Store
from dml_conformance.spec.accuracy import PRECISE
from dml_conformance.spec.case import Case, digest_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Reading
from dml_conformance.strategies.values import materialize

PHASES = [Phase.EXAMPLES, Phase.BOUNDARIES, Phase.SEARCH, Phase.SWEEP]

Edit = Callable[[list[Record]], list[Record]]


def wrong(holds: Callable[[int], bool] = lambda elements: elements % 2 == 1) -> ScriptedBackend:
    """Inverts the first byte of what it computes where the output has an odd number of elements, or another one."""

    def invert(desc: Any, inputs: Any, outputs: Any) -> None:
        if holds(desc.output_tensor.element_count):
            outputs["output_tensor"].view[0] ^= 0xFF

    return ScriptedBackend(after=invert)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a backend without a fault."""
    return make(tmp_path_factory.mktemp("honest") / "package", ReferenceBackend())


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a backend that computes wrong values."""
    return make(tmp_path_factory.mktemp("failing") / "package", wrong())


@pytest.fixture(scope="module")
def waived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the same one, with a waiver for all that it gets wrong."""
    waiver = msgspec.structs.replace(WAIVER, rules=["TILE.values", "EXECUTION.*"])
    return make(tmp_path_factory.mktemp("waived") / "package", wrong(), waivers=[waiver])


def sound(package: Path, **how: Any) -> Verification:
    """What is found of a package that verifies."""
    found = verified(package, **how)
    assert found.verifies, told(found)
    return found


def refusal(package: Path, **how: Any) -> str:
    """What is told of a package that does not verify."""
    found = verified(package, **how)
    assert not found.verifies
    assert found.exit_code == 1
    return told(found)


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Callable[..., str]:
    """Tells what is found of the honest package with other records, or of another one."""

    numbers = count()

    def refused(records: Edit = lambda records: records, *, of: Path = honest, **more: Any) -> str:
        return refusal(forge(of, tmp_path / f"forged-{next(numbers)}", records=records, **more))

    return refused


def times(n: int, count: int) -> Edit:
    """Record `n` so many times."""
    return lambda records: [*records[:n], *records[n : n + 1] * count, *records[n + 1 :]]


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
    found = sound(honest if form == "folder" else honest.with_name(honest.name + SUFFIX))
    assert found.outcome == "conformant"
    assert found.exit_code == 0
    assert found.statement is not None
    assert found.statement.stated is not None
    assert found.statement.stated.vendor == "Example Ltd"
    assert [check.name for check in found.checks if not check.done] == ["signature"]


def test_a_refusal_is_on_record_under_the_rule_of_acceptance_alone(tmp_path: Path, forged: Callable[..., str]) -> None:
    """Filed under a rule of execution, though nothing was executed, it is found."""
    package = make(tmp_path / "refusing", mutants.decisions.RejectsOwnedByDmlInput())
    sound(package)
    n = first(package, verdict=Verdict.FAIL, phase=Phase.BOUNDARIES)
    assert records_of(package)[n].rule == "DESCRIPTOR.acceptance"
    words = "rule: expected 'DESCRIPTOR.acceptance', found 'TILE.values'"
    assert words in forged(edit(n, rule="TILE.values"), of=package)


def test_a_package_of_a_failing_backend_verifies_and_says_so(failing: Path) -> None:
    found = sound(failing)
    assert found.outcome == "not conformant"
    assert found.exit_code == 1


class SkipsWhatIsTimed(ReferenceBackend):
    def time_execution(self, *arguments: Any) -> list[float]:
        return [1e-3] * arguments[-1]


@pytest.mark.parametrize(
    ("backend", "rule", "phase"),
    [
        (SkipsWhatIsTimed(), "TILE.values", Phase.THROUGHPUT),
        (mutants.bindings.BOUND["InOneResource",](), "EXECUTION.binding", Phase.BOUNDARIES),
    ],
)
def test_packages_of_what_fails_when_timed_or_bound_verify(
    backend: ReferenceBackend, rule: str, phase: Phase, tmp_path: Path, forged: Callable[..., str]
) -> None:
    package = make(tmp_path / "package", backend)
    assert sound(package).outcome == "not conformant"
    n = first(package, verdict=Verdict.FAIL, rule=rule, phase=phase)
    assert forged(edit(n, verdict=Verdict.PASS, reason="", differences=(), difference_count=0), of=package)


def test_waived_failures_are_neither_passes_nor_failures(waived: Path, failing: Path) -> None:
    found = sound(waived)
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
    sound(package)
    passed = [record for record in records_of(package) if record.verdict is Verdict.PASS]
    assert passed
    if profile is ClaimsProfile.DECISIONS:
        assert not any(record.output for record in passed)
    else:
        assert all(record.output for record in passed)
    statement = Statement.from_json((package / STATEMENT).read_bytes())
    assert statement.profile == str(profile)


def test_the_archive_is_the_same_for_the_same_files(honest: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("backend", [AcceptsZeroSizes(), ScriptedBackend(after=raising(RuntimeError("device lost")))])
def test_packages_of_backends_with_other_bugs_verify(tmp_path: Path, backend: ReferenceBackend) -> None:
    found = sound(make(tmp_path / "package", backend))
    assert found.outcome == "not conformant"


@pytest.fixture(scope="module")
def inaccurate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a backend whose exponentials of an odd number of elements are a little too large."""

    def move(desc: Any, inputs: Any, outputs: Any) -> None:
        tensor = desc.output_tensor
        if tensor.element_count % 2 and tensor.data_type.size == 4:
            outputs["output_tensor"].view[: 4 * tensor.element_count].view(np.uint32)[...] += 40

    backend = ScriptedBackend(after=move)
    folder = tmp_path_factory.mktemp("inaccurate") / "package"
    return make(folder, backend, operator="ELEMENT_WISE_EXP", accuracy=PRECISE)


def test_a_package_of_an_inaccurate_backend_held_to_another_profile_verifies(inaccurate: Path) -> None:
    assert sound(inaccurate).outcome == "not conformant"
    failures = [record for record in records_of(inaccurate) if record.verdict is Verdict.FAIL]
    assert "ELEMENT_WISE_EXP.accuracy" in {record.rule for record in failures}
    assert all("--accuracy precise" in record.reproduce for record in failures)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        (None, "errors: 0 results; expected from "),
        (Errors(1.0, ((0, 10),)), "0 results; expected from "),
        (Errors(99.0, ((27, 1),)), "errors: an error of 99 ULP, where up to "),
        (Errors(0.5, ((0, 1),)), "errors: an error of 0.5 ULP, which no bin has counted"),
        (Errors(0.5, ((-4, 1),), used=2.0), "errors: an error of 2 of what its bound allows"),
    ],
)
def test_errors_that_no_right_results_have_are_found(
    inaccurate: Path, forged: Callable[..., str], errors: Errors | None, message: str
) -> None:

    def forge_passes(records: list[Record]) -> list[Record]:
        return [
            replace(record, errors=errors and counted(errors, record.errors))
            if record.errors and record.errors.bins and record.verdict is Verdict.PASS
            else record
            for record in records
        ]

    def counted(errors: Errors, known: Errors) -> Errors:
        ((place, count),) = errors.bins
        return replace(errors, bins=((place, count * sum(count for _, count in known.bins)),))

    assert message in forged(forge_passes, of=inaccurate)


def elsewhere() -> ScriptedBackend:
    """Decides by the rules of its own level, claims little, and does not execute everything."""

    def validate(desc: Any, level: Level) -> Answer:
        if len(getattr(desc, "repeats", ())) == 3:
            raise Unsupported("three repeats")
        return ReferenceBackend().validate(desc, Level.L6_4)

    def execute(desc: Any, inputs: Any, outputs: Any) -> None:
        if len(getattr(desc, "repeats", ())) == 2:
            raise Unsupported("two repeats")
        ReferenceBackend().execute(desc, Level.L6_4, inputs, outputs)

    return ScriptedBackend(
        validate=validate,
        execute=execute,
        levels=(Level.L2_0, Level.L3_0),
        enforces=frozenset({Category.SHAPE, Category.LEVEL_SUPPORT, Category.EXECUTION}),
        decides_at=Level.L6_4,
    )


@pytest.mark.parametrize("reading", list(Reading))
@pytest.mark.parametrize("backend", [ReferenceBackend(), elsewhere()])
def test_packages_of_other_claims_and_readings_verify(
    tmp_path: Path, backend: ReferenceBackend, reading: Reading
) -> None:
    sound(make(tmp_path / "package", backend, reading=reading))


# --- damage -------------------------------------------------------------------------------------------------------


def spoiled(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.few(5, 12)
@pytest.mark.parametrize("name", [*LISTED, MANIFEST])
@pytest.mark.parametrize("part", [0.0, 0.37, 0.99])
def test_a_byte_changed_in_any_file_is_found(honest: Path, tmp_path: Path, name: str, part: float) -> None:
    def flip(content: bytes) -> bytes:
        return spoiled(content, int(part * len(content)))

    found = refusal(changed(honest, tmp_path / "package", name, flip, manifest=False))
    assert found
    assert name == MANIFEST or f"files: {name}: not the file of the manifest" in found


@pytest.mark.parametrize("name", LISTED)
def test_a_missing_file_is_found(honest: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(honest, tmp_path / "package")
    (tmp_path / "package" / name).unlink()
    assert f"files: {name}: expected in every package" in refusal(tmp_path / "package")


def test_a_file_that_does_not_belong_there_is_found_and_without_a_manifest_it_is_no_package(
    honest: Path, tmp_path: Path
) -> None:
    package = Path(shutil.copytree(honest, tmp_path / "package"))
    (package / "notes.txt").write_text("mine")
    assert "files: notes.txt: expected nothing but the files of a package" in refusal(package)
    (package / MANIFEST).unlink()
    with pytest.raises(PackageError, match="no package"):
        verified(package)


def test_any_byte_changed_in_the_archive_is_found(honest: Path, tmp_path: Path) -> None:
    """Unless it unpacks to the same bytes: where a match is copied from may be told in several ways."""

    def unpacked(archive: bytes) -> bytes:
        return zstandard.ZstdDecompressor().stream_reader(archive).read()

    content = honest.with_name(honest.name + SUFFIX).read_bytes()
    chooser = random.Random(5)
    for n in range(12):
        at = chooser.randrange(len(content))
        path = tmp_path / f"{n}{SUFFIX}"
        path.write_bytes(changed := spoiled(content, at))
        with suppress(PackageError):
            assert not verified(path).verifies or unpacked(changed) == unpacked(content), at


# --- forgeries in which everything was made to fit ------------------------------------------------------------------


def test_forging_nothing_verifies(honest: Path, tmp_path: Path) -> None:
    sound(forge(honest, tmp_path / "package"))


@pytest.mark.parametrize("phase", PHASES)
def test_a_case_left_out_or_twice_is_found(honest: Path, forged: Callable[..., str], phase: Phase) -> None:
    n = first(honest, phase=phase)
    case, left_out, twice = records_of(honest)[n], forged(times(n, 0)), forged(times(n, 2))
    if phase is Phase.SEARCH:
        assert "search: TILE at 3_0, " in left_out
        assert "expected 2 cases, found 1" in left_out
        assert "expected 2 cases, found 3" in twice
    else:
        assert f"cases: results.sqlite: {phase}: case {case.case} (TILE at 3_0" in left_out
        assert "expected once, found not at all" in left_out
        assert "expected once, found twice" in twice


@pytest.mark.parametrize("phase", [Phase.BOUNDARIES, Phase.SWEEP])
def test_cases_in_another_order_are_found(honest: Path, forged: Callable[..., str], phase: Phase) -> None:
    n = first(honest, phase=phase)
    told = forged(lambda records: [*records[:n], records[n + 1], records[n], *records[n + 2 :]])
    assert f"{phase}: case number 1: out of order" in told


def test_phases_in_another_order_are_found(forged: Callable[..., str]) -> None:
    told = forged(lambda records: [*records[1:], records[0]])
    assert "a case of phase examples after one of sweep" in told


@pytest.mark.parametrize("phase", PHASES)
def test_a_whole_phase_left_out_is_found(forged: Callable[..., str], phase: Phase) -> None:
    told = forged(lambda records: [record for record in records if record.phase is not phase])
    assert ("found 0" if phase is Phase.SEARCH else "found not at all") in told


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


def exchange(package: Path) -> Edit:
    one, other = exchanged(package)
    return lambda records: [other if record == one else record for record in records]


def test_a_sound_case_in_place_of_the_one_that_was_to_be_tried_is_found(
    honest: Path, forged: Callable[..., str]
) -> None:
    one, other = exchanged(honest)
    wanted = f"search: TILE at 3_0, TILE.values: case 1: expected '{one.case}', found '{other.case}'"
    assert wanted in forged(exchange(honest))


@pytest.mark.parametrize("versions", [{"hypothesis": "6.0.0"}, {"python": "3.2.1"}, {"python": ""}])
def test_a_search_that_differs_with_other_versions_is_counted_and_that_is_said(
    honest: Path, tmp_path: Path, versions: dict[str, str]
) -> None:
    found = sound(forge(honest, tmp_path / "package", records=exchange(honest), campaign=by_another(**versions)))
    (check,) = [check for check in found.checks if check.name == "cases"]
    (name, version) = next(iter(versions.items()))
    assert f"made with {name.title()} {version.removesuffix('.1') or 'unknown'}, not " in check.detail


def test_another_patch_release_of_python_is_no_excuse(honest: Path, forged: Callable[..., str]) -> None:
    major, minor, _ = platform.python_version_tuple()
    assert forged(exchange(honest), campaign=by_another(python=f"{major}.{minor}.99"))


def test_a_search_that_is_the_same_with_other_versions_is_no_less_than_the_same(honest: Path, tmp_path: Path) -> None:
    found = sound(forge(honest, tmp_path / "package", campaign=by_another(hypothesis="6.0.0", python="3.2.1")))
    assert "counted alone" not in "".join(check.detail for check in found.checks)


@pytest.mark.parametrize(("count", "problem"), [(0, "found 1"), (2, "found 3")])
def test_with_other_versions_one_too_few_or_too_many_is_found(
    honest: Path, forged: Callable[..., str], count: int, problem: str
) -> None:
    n = first(honest, phase=Phase.SEARCH, rule="TILE.values")
    told = forged(times(n, count), campaign=by_another(hypothesis="6.0.0"))
    assert f"search: TILE at 3_0, TILE.values: expected 2 cases, {problem}" in told


@pytest.mark.parametrize(
    ("versions", "words"),
    [({}, "expected 0 cases, found 1"), ({"hypothesis": "6.0.0"}, "expected no such search")],
)
def test_a_search_for_what_is_not_searched_for_is_found(
    honest: Path, forged: Callable[..., str], versions: dict[str, str], words: str
) -> None:
    n = first(honest, phase=Phase.SEARCH)
    content = {**records_of(honest)[n].case_json, "rule": "GATHER.values"}
    told = forged(edit(n, case_json=content), campaign=by_another(**versions))
    assert f"search: TILE at 3_0, GATHER.values: {words}" in told


def test_searches_in_another_order_are_found(forged: Callable[..., str]) -> None:
    def swap(records: list[Record]) -> list[Record]:
        searched = [record for record in records if record.phase is Phase.SEARCH]
        groups = [list(group) for _, group in groupby(searched, key=lambda record: record.case_json["rule"])]
        groups[0], groups[1] = groups[1], groups[0]
        swapped = iter([record for group in groups for record in group])
        return [next(swapped) if record.phase is Phase.SEARCH else record for record in records]

    assert "search: case number 1: out of order" in forged(swap)


def test_what_a_failing_search_tried_before_is_held_against_it(tmp_path: Path) -> None:
    """The failure ends the search for its rule; a case that passed before it may not be left out either."""
    # Many elements are not what a search tries first.
    package = make(tmp_path / "made", wrong(lambda elements: elements > 60))
    sound(package)
    records = records_of(package)
    searched = [n for n, record in enumerate(records) if record.phase is Phase.SEARCH]
    rule = next(records[n].case_json["rule"] for n in searched if records[n].verdict is Verdict.FAIL)
    of_rule = [n for n in searched if records[n].case_json["rule"] == rule]
    assert [records[n].verdict for n in of_rule[-3:]] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL]
    # Without the last one that passed, the failure could have come one earlier; nothing on record tells.
    told_of = refusal(forge(package, tmp_path / "package", records=times(of_rule[-3], 0)))
    assert f"search: TILE at 3_0, {rule}: case " in told_of


# --- edited -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "value", "problem"),
    [
        ("level", "6_4", "is not the case of this digest"),
        ("rule", "TILE.dimension-counts", "case_json.rule: expected"),
        ("origin", "elsewhere", "case_json.origin: expected"),
        ("expect", {"decision": "REJECT", "rules": ["TILE.output-sizes"]}, "case_json.expect: expected"),
    ],
)
def test_an_edited_case_is_found(
    honest: Path, forged: Callable[..., str], label: str, value: object, problem: str
) -> None:
    n = first(honest, phase=Phase.SWEEP, expected="ACCEPT")
    content = {**records_of(honest)[n].case_json, label: value}
    assert problem in forged(edit(n, case_json=content))


def test_an_edited_case_with_a_digest_that_fits_is_found(honest: Path, forged: Callable[..., str]) -> None:
    n = first(honest, phase=Phase.SWEEP, expected="ACCEPT")
    content = msgspec.json.decode(msgspec.json.encode(records_of(honest)[n].case_json))
    for recipe in content["data"].values():
        recipe["seed"] = 4711
    told = forged(edit(n, case_json=content, case=digest_of(content)))
    assert "no case of this release, seed and budget" in told


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
        ({"verdict": Verdict.OBSERVED, "answered": "accept"}, {"reason": "by the way"}, "reason: expected 'accepted'"),
        (EXECUTED, {"rank": 7}, "rank: expected"),
        (EXECUTED, {"reproduce": "rm -rf ~"}, "reproduce: expected ''"),
        ({"verdict": Verdict.OBSERVED}, {"verdict": Verdict.PASS}, "verdict: expected"),
        ({"verdict": Verdict.OBSERVED}, {"reproduce": "rm -rf ~"}, "and nothing else"),
        ({"verdict": Verdict.OBSERVED}, {"answered": ""}, "verdict: expected 'crash', found 'observed'"),
    ],
)  # fmt: skip
def test_a_verdict_that_does_not_follow_is_found(
    honest: Path, forged: Callable[..., str], traits: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert message in forged(edit(first(honest, **traits), **changes))


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
    failing: Path, forged: Callable[..., str], changes: dict[str, Any], message: str
) -> None:
    assert message in forged(edit(first(failing, verdict=Verdict.FAIL), **changes), of=failing)


def with_backend(**changes: Any) -> Callable[[Campaign], Campaign]:
    return lambda campaign: replace(campaign, backend={**campaign.backend, **changes})


def with_database(package: Path, target: Path, statement: str, *parameters: str) -> Path:
    """A copy of a package whose results were changed, and a manifest that fits."""
    shutil.copytree(package, target, dirs_exist_ok=True)
    with closing(sqlite3.connect(target / RESULTS)) as connection:
        connection.execute(statement, parameters)
        connection.commit()
    (target / MANIFEST).write_bytes(manifest_of(target, "0.1.0").to_json())
    return target


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: replace(c, seed=1), "search: TILE at 3_0, "),
        (lambda c: replace(c, budget="standard"), "expected 6 cases, found 2"),
        (lambda c: replace(c, budget="tiny"), "campaign.budget: expected"),
        (lambda c: replace(c, seed=-1), "campaign.seed: expected"),
        (lambda c: replace(c, suite_version="9.9.9"), "only the same release makes the same cases"),
        (lambda c: replace(c, levels=("3_0", "6_4")), "campaign.executed: expected"),
        (
            lambda c: replace(c, levels=("3_0", "6_4"), executed={"TILE": ("3_0", "6_4")}),
            "expected once, found not at all",
        ),
        (lambda c: replace(c, executed={"TILE": ()}), "campaign.executed: expected"),
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
        with Store(honest / RESULTS) as store:
            text = msgspec.json.encode(change(store.campaign)).decode()
        with_database(honest, package, "UPDATE stream SET json = ? WHERE part = 'campaign'", text)
    assert message in refusal(package)


def test_records_of_the_wrong_form_are_found(honest: Path, tmp_path: Path) -> None:
    package = with_database(honest, tmp_path / "package", "UPDATE record SET rank = 'many' WHERE id = 3")
    assert "not of the form of a record: case " in refusal(package)


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
    found = verified(with_database(honest, tmp_path / "package", statement))
    assert (found.verifies, found.outcome) == (False, "")
    assert "files: results.sqlite:" in told(found)


def test_a_case_that_would_fill_the_memory_is_not_computed(
    honest: Path, forged: Callable[..., str], monkeypatch: pytest.MonkeyPatch
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
    told = forged(edit(n, case_json=content, case=digest_of(content)))
    assert "which no case of the search has; not computed" in told


def test_what_does_not_verify_is_not_executed(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = forge(honest, tmp_path / "package", records=lambda records: records[1:])
    found = again(monkeypatch, ScriptedBackend(validate=rejecting), package)
    assert "rerun" not in {finding.check for finding in found.findings}
    (check,) = [check for check in found.checks if check.name == "rerun"]
    assert not check.done


# --- documents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [CERTIFICATE, JUNIT, REPORT, STATEMENT, CASES])
def test_a_document_of_another_package_is_found(honest: Path, failing: Path, tmp_path: Path, name: str) -> None:
    """In a package of a backend that fails, what belongs to one that does not."""
    other = (honest / name).read_bytes() if name != CASES else (honest / name).read_bytes().replace(b"3_0", b"6_4")
    found = refusal(changed(failing, tmp_path / "package", name, lambda _: other))
    assert f"documents: {name}:" in found
    assert "does not follow from the records" in found


def test_a_profile_that_was_not_judged_is_found(tmp_path: Path) -> None:
    package = make(tmp_path / "decisions", ReferenceBackend(), profile=ClaimsProfile.DECISIONS)
    full = changed(package, tmp_path / "package", STATEMENT, lambda text: text.replace(b'"decisions"', b'"full"'))
    assert "documents: statement.json: profile:" in refusal(full)


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
    assert f": {name}: not " in refusal(changed(honest, tmp_path / "package", name, change))


# --- waivers ------------------------------------------------------------------------------------------------------


def with_waivers(package: Path, target: Path, *changes: dict[str, Any]) -> str:
    """What is told of a package whose waiver was changed, once for each entry."""
    (given,) = WaiverList.from_json((package / WAIVERS).read_bytes()).waivers
    content = WaiverList(waivers=[replace(given, **change) for change in changes]).to_json()
    return refusal(changed(package, target, WAIVERS, lambda _: content))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expires": "2026-11-20"}, "expires: expired on 2026-11-20"),
        ({"rules": ["*"]}, "rules: '*' covers everything"),
        ({"rules": []}, "a waiver says what it covers"),
        ({"operators": ["TILES"]}, "operators: there is no operator"),
        ({"expires": "2026-13-01"}, "expires: '2026-13-01' is no day"),
    ],
)
def test_waivers_that_are_not_legal_are_found(
    waived: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    found = with_waivers(waived, tmp_path / "package", changes)
    assert f"waivers: waivers.json: waiver 1: {message}" in found
    assert "waived, but no waiver of the package covers it" in found  # it does not hold


def test_an_unused_waiver_and_one_with_other_words_are_found(waived: Path, tmp_path: Path) -> None:
    found = with_waivers(waived, tmp_path / "unused", {}, {"rules": ["GATHER.*"]})
    assert "waivers: waivers.json: waiver 2: covers no failure of this package" in found
    found = with_waivers(waived, tmp_path / "other", {"reason": "All is well"})
    assert "expected the words of the waiver that covers it" in found


def test_a_waiver_holds_on_its_last_day_and_not_after(failing: Path, tmp_path: Path) -> None:
    def of_a_run_on(day: str) -> Path:
        waiver = replace(WAIVER, rules=["TILE.*", "EXECUTION.*"], expires=DAY.isoformat())
        started = f"{day}T08:00:00Z"
        return forge(failing, tmp_path / day, waivers=[waiver], campaign=lambda c: replace(c, started=started))

    package = of_a_run_on("2026-11-20")
    assert verified(package).verifies
    assert not verify(package, today=date(2026, 11, 22)).verifies
    assert "expired on 2026-11-21, before 2026-11-30" in refusal(of_a_run_on("2026-11-30"))


def test_a_waived_pass_is_found(waived: Path, forged: Callable[..., str]) -> None:
    waivers = WaiverList.from_json((waived / WAIVERS).read_bytes()).waivers
    n = first(waived, verdict=Verdict.WAIVED)
    assert "waived: expected" in forged(edit(n, waived="pass"), of=waived, waivers=waivers)


# --- signatures ---------------------------------------------------------------------------------------------------

KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("signed") / "package", ReferenceBackend(), key=KEY)


def test_a_signed_package_verifies_with_its_key(signed: Path) -> None:
    found = sound(signed, key=KEY.public_key())
    assert all(check.done for check in found.checks)
    assert sorted(path.name for path in signed.iterdir()) == sorted(PACKAGE_FILES)


def test_without_a_key_a_signature_is_said_not_to_be_checked(signed: Path) -> None:
    found = sound(signed)
    (check,) = [check for check in found.checks if check.name == "signature"]
    assert not check.done
    assert "no public key was given" in check.detail


def test_another_key_or_no_signature_is_found(signed: Path, honest: Path) -> None:
    wanted = "signature: signature.dsse.json: signatures: none is by the key"
    assert wanted in refusal(signed, key=OTHER.public_key())
    assert "the package is not signed" in refusal(honest, key=KEY.public_key())


@pytest.mark.parametrize("key", [None, KEY.public_key()], ids=["without a key", "with its key"])
def test_a_manifest_made_again_without_signing_again_is_found(signed: Path, tmp_path: Path, key: Any) -> None:
    package = changed(signed, tmp_path / "package", STATEMENT, lambda text: text.replace(b"Example", b"Another"))
    found = refusal(package, key=key)
    assert "subject 'manifest.json': signed was another file" in found
    assert "subject 'statement.json': signed was another file" in found
    assert "predicate: says something else" in found


def resigned(signed: Path, target: Path, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a package with another signature."""
    return changed(signed, target, SIGNATURE, change, manifest=False)


OF_ANOTHER = Predicate(suite_version="0.1.0", outcome="conformant", profile="full", product="", vendor="")


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("subject", lambda _: signed_content({"manifest.json": "0" * 64}, OF_ANOTHER, KEY)),
        ("by the key", lambda content: content.replace(b'"sig": "', b'"sig": "AAAA')),
        ("base64", lambda content: content.replace(b'"payload": "', b'"payload": "*')),
        ("form", lambda content: b"{}"),
    ],
)
def test_an_envelope_around_something_else_is_found(
    signed: Path, tmp_path: Path, message: str, change: Callable[[bytes], bytes]
) -> None:
    """The first is a right signature of another package."""
    assert message in refusal(resigned(signed, tmp_path / "package", change), key=KEY.public_key())


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
    content = (signed / SIGNATURE).read_bytes()
    assert SPELLINGS[name](content) != content
    package = resigned(signed, tmp_path / "package", SPELLINGS[name])
    assert "signature: signature.dsse.json: not" in refusal(package, key=key)


def spelled(envelope: Any) -> bytes:
    """An envelope as this suite writes it."""
    return msgspec.json.format(msgspec.json.encode(envelope), indent=2) + b"\n"


def test_a_payload_that_is_spelled_otherwise_is_found_though_it_is_signed(signed: Path, tmp_path: Path) -> None:
    def with_another_line(content: bytes) -> bytes:
        payload = msgspec.json.encode(opened(content).statement) + b"\n"
        raw = KEY.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
        signature = {"keyid": key_id(KEY.public_key()), "sig": base64.b64encode(raw).decode()}
        text = base64.b64encode(payload).decode()
        return spelled({"payload": text, "payloadType": PAYLOAD_TYPE, "signatures": [signature]})

    package = resigned(signed, tmp_path / "package", with_another_line)
    assert "signature.dsse.json: not written as" in refusal(package, key=KEY.public_key())


def test_a_key_id_beside_a_signature_is_the_key_s(signed: Path, tmp_path: Path) -> None:
    def of_somebody_else(content: bytes) -> bytes:
        envelope = json.loads(content)
        envelope["signatures"][0]["keyid"] = "of somebody else"
        return spelled(envelope)

    found = refusal(resigned(signed, tmp_path / "package", of_somebody_else), key=KEY.public_key())
    assert "signature.dsse.json: keyid: not the id of the key that signed" in found


def test_signatures_by_other_keys_are_counted(signed: Path, tmp_path: Path) -> None:
    def with_another(content: bytes) -> bytes:
        envelope = json.loads(content)
        envelope["signatures"].append({"keyid": "another", "sig": base64.b64encode(bytes(64)).decode()})
        return spelled(envelope)

    found = sound(resigned(signed, tmp_path / "package", with_another), key=KEY.public_key())
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


def again(monkeypatch: pytest.MonkeyPatch, backend: ReferenceBackend, package: Path) -> Verification:
    monkeypatch.setattr(rerun, "opened", lambda name, limits: nullcontext(backend))
    return verified(package, rerun=rerun.Rerun(Fraction(1, 10), "reference", 11, None))


def test_running_again_agrees_on_the_same_backend(monkeypatch: pytest.MonkeyPatch, honest: Path, failing: Path) -> None:
    found = again(monkeypatch, ReferenceBackend(), honest)
    assert found.verifies, told(found)
    (check,) = [check for check in found.checks if check.name == "rerun"]
    assert f"{round(len(records_of(honest)) / 10)} cases on reference" in check.detail
    assert again(monkeypatch, wrong(), failing).verifies


@pytest.mark.parametrize("backend", [wrong(), ScriptedBackend(validate=rejecting)])
def test_running_again_on_another_backend_is_found(
    monkeypatch: pytest.MonkeyPatch, honest: Path, backend: ReferenceBackend
) -> None:
    found = again(monkeypatch, backend, honest)
    assert not found.verifies
    assert "rerun: results.sqlite: record" in told(found)
    assert "executed again: expected" in told(found)
    assert "dml-conformance replay --backend reference" in told(found)


def test_answers_learned_by_heart_are_found(monkeypatch: pytest.MonkeyPatch, honest: Path) -> None:
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
