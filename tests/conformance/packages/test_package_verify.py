"""Certification packages: an honest one verifies, and whatever is done to it is found and named."""

from __future__ import annotations

import base64
import platform
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext, suppress
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import count, groupby
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
import zstandard
from commands import invoke, records_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from earlier_versions import write_version_3, write_version_4
from msgspec.structs import replace
from package_support import DAY, WAIVER, changed, edit, forge, make, told, verified
from scripted_backend import ScriptedBackend, raising, rejecting
from strength import mutants

from dml_conformance.backends.base import Answer, Unsupported
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.conformance.packages.make import manifest_of
from dml_conformance.conformance.packages.profiles import ClaimsProfile
from dml_conformance.conformance.packages.verify import Verification, findings, rerun, verdicts, verify
from dml_conformance.conformance.schemas import SCHEMAS
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
from dml_conformance.reports.package.forms import Predicate, Statement, WaiverList
from dml_conformance.reports.package.signature import PAYLOAD_TYPE, key_id, opened, pre_authentication_encoding
from dml_conformance.reports.package.signature import signed as signed_content
from dml_conformance.reports.store.forms import TRAITS
from dml_conformance.reports.store.results import Store, StoreError
from dml_conformance.spec.accuracy import PRECISE
from dml_conformance.spec.case import Case, digest_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Category
from dml_conformance.spec.validator import Reading
from dml_conformance.strategies.values import materialize

PHASES = [Phase.EXAMPLES, Phase.BOUNDARIES, Phase.SEARCH, Phase.SWEEP]
KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
HIDDEN = "paid for by nobody"

Edit = Callable[[list[Record]], list[Record]]
Packages = Callable[[str], Path]
Forged = Callable[..., str]


# --- honest packages ----------------------------------------------------------------------------------------------


def wrong(holds: Callable[[int], bool] = lambda elements: elements % 2 == 1) -> ScriptedBackend:
    """Inverts the first byte of what it computes where the output has an odd number of elements, or another one."""

    def invert(desc: Any, inputs: Any, outputs: Any) -> None:
        if holds(desc.output_tensor.element_count):
            outputs["output_tensor"].view[0] ^= 0xFF

    return ScriptedBackend(after=invert)


def inaccurate() -> ScriptedBackend:
    """A backend whose exponentials of an odd number of elements are a little too large."""

    def move(desc: Any, inputs: Any, outputs: Any) -> None:
        tensor = desc.output_tensor
        if tensor.element_count % 2 and tensor.data_type.size == 4:
            outputs["output_tensor"].view[: 4 * tensor.element_count].view(np.uint32)[...] += 40

    return ScriptedBackend(after=move)


def accepts_zero_sizes() -> ScriptedBackend:
    """Its failures were once made smaller than 0."""

    def validate(desc: Any, level: Level) -> Answer:
        tensors = [getattr(desc, name, None) for name in ("input_tensor", "output_tensor")]
        if any(tensor is not None and 0 in tensor.sizes for tensor in tensors):
            return Answer(accepted=True)
        return ReferenceBackend().validate(desc, level)

    return ScriptedBackend(validate=validate)


class SkipsWhatIsTimed(ReferenceBackend):
    def time_execution(self, *arguments: Any) -> list[float]:
        return [1e-3] * arguments[-1]


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


# What a package is of: a backend, and how it is certified.
KINDS: Mapping[str, tuple[Callable[[], ReferenceBackend], dict[str, Any]]] = {
    "honest": (ReferenceBackend, {}),
    "failing": (wrong, {}),
    "waived": (wrong, {"waivers": [replace(WAIVER, rules=["TILE.values", "EXECUTION.*"])]}),
    "signed": (ReferenceBackend, {"key": KEY}),
    "decisions": (ReferenceBackend, {"profile": ClaimsProfile.DECISIONS}),
    "execution": (ReferenceBackend, {"profile": ClaimsProfile.EXECUTION}),
    "observed": (ReferenceBackend, {"reading": Reading.OBSERVED}),
    "elsewhere": (elsewhere, {}),
    "elsewhere observed": (elsewhere, {"reading": Reading.OBSERVED}),
    "inaccurate": (inaccurate, {"operators": ("ELEMENT_WISE_EXP",), "accuracy": PRECISE}),
    "zero sizes": (accepts_zero_sizes, {}),
    "lost device": (lambda: ScriptedBackend(after=raising(RuntimeError("device lost"))), {}),
    "refusing": (mutants.decisions.RejectsOwnedByDmlInput, {}),
    "not timed": (SkipsWhatIsTimed, {}),
    "bound": (lambda: mutants.bindings.BOUND["InOneResource",](), {}),
}
NARROWER = {"decisions", "execution", "elsewhere", "elsewhere observed"}
CONFORMANT = {"honest", "waived", "signed", *NARROWER}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Makes the package of a kind, once."""
    folder = tmp_path_factory.mktemp("packages")

    @cache
    def made(kind: str) -> Path:
        backend, how = KINDS[kind]
        return make(folder / kind, backend(), **how)

    return made


@pytest.fixture
def honest(packages: Packages) -> Path:
    return packages("honest")


@pytest.fixture
def signed(packages: Packages) -> Path:
    return packages("signed")


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


def details(found: Verification) -> dict[str, tuple[str, bool]]:
    """What is said of each check, and whether it was done."""
    return {check.name: (check.detail, check.done) for check in found.checks}


@pytest.fixture
def forged(packages: Packages, tmp_path: Path) -> Forged:
    """Tells what is found of the honest package with other records, or of another one."""
    numbers = count()

    def refused(records: Edit = lambda records: records, *, of: str = "honest", **more: Any) -> str:
        return refusal(forge(packages(of), tmp_path / f"forged-{next(numbers)}", records=records, **more))

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


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_verifies_whatever_its_backend_did(packages: Packages, kind: str) -> None:
    found = sound(packages(kind))
    outcome = "conformant within narrower claims" if kind in NARROWER else "conformant"
    assert found.outcome == (outcome if kind in CONFORMANT else "not conformant")
    assert found.exit_code == (kind not in CONFORMANT)
    assert found.statement is not None
    assert found.statement.stated is not None
    assert found.statement.stated.vendor == "Example Ltd"
    assert [check.name for check in found.checks if not check.done] == ["signature"]


def test_an_archive_verifies_and_it_is_said_whether_this_suite_packed_it(honest: Path, tmp_path: Path) -> None:
    archive = honest.with_name(honest.name + SUFFIX)
    assert details(sound(archive))["archive"] == ("as this suite packs it", True)
    checks = details(sound(honest))
    assert "archive" not in checks
    assert "not signed: bytes that hold no record, in the pages" in checks["signature"][0]
    tar = zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())
    in_two_frames = zstandard.compress(tar[:512]) + zstandard.compress(tar[512:])
    (tmp_path / archive.name).write_bytes(in_two_frames)
    wanted = ("not packed by this suite; nothing covers what it has beside its files", False)
    assert details(sound(tmp_path / archive.name))["archive"] == wanted


def test_waived_failures_are_neither_passes_nor_failures(packages: Packages) -> None:
    found = sound(packages("waived"))
    assert "set aside by waivers" in found.headline
    failed = sum(record.verdict is Verdict.FAIL for record in records_of(packages("failing")))
    records = [record for record in records_of(packages("waived")) if record.verdict is Verdict.WAIVED]
    assert len(records) == failed > 0
    assert {record.waived for record in records} == {"fail"}
    assert all(WAIVER.reason in record.reason and WAIVER.link in record.reason for record in records)
    assert found.statement is not None
    assert found.statement.waived == failed


@pytest.mark.parametrize("profile", [ClaimsProfile.DECISIONS, ClaimsProfile.EXECUTION])
def test_profiles_judge_what_they_say(packages: Packages, profile: ClaimsProfile) -> None:
    package = packages(str(profile))
    passed = [record for record in records_of(package) if record.verdict is Verdict.PASS]
    assert passed
    assert {bool(record.output) for record in passed} == {profile is ClaimsProfile.EXECUTION}
    assert Statement.from_json((package / STATEMENT).read_bytes()).profile == str(profile)


def test_the_files_keep_to_their_published_schemas(packages: Packages) -> None:
    for package in (packages("signed"), packages("waived")):
        for name, schema in (
            (STATEMENT, "statement"),
            (CASES, "case-list"),
            (WAIVERS, "waivers"),
            (MANIFEST, "manifest"),
        ):
            jsonschema.validate(msgspec.json.decode((package / name).read_bytes()), SCHEMAS[f"{schema}.schema.json"]())
    found = msgspec.json.decode(msgspec.json.encode(verified(packages("waived"), key=KEY.public_key())))
    jsonschema.validate(found, SCHEMAS["verification.schema.json"]())


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


@pytest.mark.few(4)
@pytest.mark.parametrize("name", [*LISTED, MANIFEST])
@pytest.mark.parametrize("how", ["removed", "linked", "copied"])
def test_a_file_that_is_gone_a_link_or_beside_the_others_is_named(
    honest: Path, tmp_path: Path, name: str, how: str
) -> None:
    """A link is none of the package's files, though the same bytes lie behind it."""
    package = Path(shutil.copytree(honest, tmp_path / "package"))
    if how == "copied":
        shutil.copy(package / name, package / f"{name}.bak")
        assert f"files: {name}.bak: expected nothing but the files of a package" in refusal(package)
        return
    (package / name).rename(tmp_path / name)
    if how == "linked":
        (package / name).symlink_to(tmp_path / name)
        with pytest.raises(PackageError, match=f"{name}.* a link"):
            verified(package)
    elif name == MANIFEST:
        with pytest.raises(PackageError, match="no package"):
            verified(package)
    else:
        assert f"files: {name}: expected in every package, and missing" in refusal(package)


def test_missing_and_foreign_files_are_found_and_without_a_manifest_it_is_no_package(
    honest: Path, tmp_path: Path
) -> None:
    package = Path(shutil.copytree(honest, tmp_path / "package"))
    (package / "notes.txt").write_text("mine")
    for name in LISTED:
        (package / name).unlink()
    found = refusal(package)
    assert "files: notes.txt: expected nothing but the files of a package" in found
    for name in LISTED:
        assert f"files: {name}: expected in every package" in found
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


# --- cases left out, added, or in another order: everything else was made to fit ------------------------------------


def test_forging_nothing_verifies(honest: Path, tmp_path: Path) -> None:
    sound(forge(honest, tmp_path / "package"))


@pytest.mark.parametrize("phase", PHASES)
def test_a_case_left_out_or_twice_is_found(honest: Path, forged: Forged, phase: Phase) -> None:
    n = first(honest, phase=phase)
    case, left_out, twice = records_of(honest)[n], forged(times(n, 0)), forged(times(n, 2))
    whole_phase = forged(lambda records: [record for record in records if record.phase is not phase])
    if phase is Phase.SEARCH:
        assert "search: TILE at 3_0, " in left_out
        assert "expected 2 cases, found 1" in left_out
        assert "expected 2 cases, found 3" in twice
        assert "found 0" in whole_phase
    else:
        assert f"cases: results.sqlite: {phase}: case {case.case} (TILE at 3_0" in left_out
        assert "expected once, found not at all" in left_out
        assert "expected once, found twice" in twice
        assert "found not at all" in whole_phase


@pytest.mark.parametrize("phase", [Phase.BOUNDARIES, Phase.SWEEP])
def test_cases_in_another_order_are_found(honest: Path, forged: Forged, phase: Phase) -> None:
    n = first(honest, phase=phase)
    told = forged(lambda records: [*records[:n], records[n + 1], records[n], *records[n + 2 :]])
    assert f"{phase}: case number 1: out of order" in told


def test_phases_and_searches_in_another_order_are_found(forged: Forged) -> None:
    def swap(records: list[Record]) -> list[Record]:
        searched = [record for record in records if record.phase is Phase.SEARCH]
        groups = [list(group) for _, group in groupby(searched, key=lambda record: record.case_json["rule"])]
        groups[0], groups[1] = groups[1], groups[0]
        swapped = iter([record for group in groups for record in group])
        return [next(swapped) if record.phase is Phase.SEARCH else record for record in records]

    assert "a case of phase examples after one of search" in forged(lambda records: [*records[1:], records[0]])
    assert "search: case number 1: out of order" in forged(swap)


def test_a_wall_that_is_required_and_did_not_stand_is_found(honest: Path, tmp_path: Path) -> None:
    assert "required memory, files, found none; missing: 'memory (the backend is" in refusal(
        honest, walls=("memory", "files")
    )
    stood = by_another(**{"walls": "memory, files", "walls missing": "descendants (only Linux has it)"})
    package = forge(honest, tmp_path / "package", campaign=stood)
    sound(package, walls=("files",))
    result = invoke("verify", package, "--require-walls", "files,descendants")
    assert result.exit_code == 1
    assert (
        "campaign: results.sqlite: campaign.environment.walls: required descendants, found memory, files; "
        "missing: 'descendants (only Linux has it)'\n"
    ) in result.stdout
    assert (
        "expected some of memory, descendants, files, found 'moat'"
        in invoke("verify", package, "--require-walls", "files,moat").stderr
    )


# --- the search ---------------------------------------------------------------------------------------------------


def by_another(**versions: str) -> Callable[[Campaign], Campaign]:
    """The campaign with other versions in its environment."""
    return lambda campaign: replace(campaign, environment={**campaign.environment, **versions})


@pytest.fixture(scope="module")
def exchanged(packages: Packages) -> tuple[Record, Record]:
    """A passing case of the search of the honest package, and one of the same rule that another seed makes."""
    one = next(
        record
        for record in records_of(packages("honest"))
        if record.phase is Phase.SEARCH and record.rule == "TILE.values"
    )
    judge = Judge(ReferenceBackend(), "reference", digests_outputs=True)
    others = search(judge, "TILE", Level.parse("3_0"), "TILE.values", 20, 4711)
    return one, next(other for other in others if other.case != one.case)


@pytest.fixture
def exchange(exchanged: tuple[Record, Record]) -> Edit:
    one, other = exchanged
    return lambda records: [other if record == one else record for record in records]


def test_a_sound_case_in_place_of_the_one_that_was_to_be_tried_is_found(
    exchanged: tuple[Record, Record], exchange: Edit, forged: Forged
) -> None:
    """Another patch release of Python is no excuse."""
    one, other = exchanged
    wanted = f"search: TILE at 3_0, TILE.values: case 1: expected '{one.case}', found '{other.case}'"
    major, minor, _ = platform.python_version_tuple()
    assert wanted in forged(exchange)
    assert wanted in forged(exchange, campaign=by_another(python=f"{major}.{minor}.99"))


@pytest.mark.parametrize("versions", [{"hypothesis": "6.0.0"}, {"python": "3.2.1"}, {"python": ""}])
def test_a_search_that_differs_with_other_versions_is_counted_and_that_is_said(
    honest: Path, tmp_path: Path, exchange: Edit, versions: dict[str, str]
) -> None:
    found = sound(forge(honest, tmp_path / "package", records=exchange, campaign=by_another(**versions)))
    ((name, version),) = versions.items()
    assert f"made with {name.title()} {version.removesuffix('.1') or 'unknown'}, not " in details(found)["cases"][0]


def test_a_search_that_is_the_same_with_other_versions_is_no_less_than_the_same(honest: Path, tmp_path: Path) -> None:
    found = sound(forge(honest, tmp_path / "package", campaign=by_another(hypothesis="6.0.0", python="3.2.1")))
    assert "counted alone" not in "".join(check.detail for check in found.checks)


def test_with_other_versions_one_too_few_or_too_many_is_found(honest: Path, forged: Forged) -> None:
    n = first(honest, phase=Phase.SEARCH, rule="TILE.values")
    for often, problem in ((0, "found 1"), (2, "found 3")):
        told = forged(times(n, often), campaign=by_another(hypothesis="6.0.0"))
        assert f"search: TILE at 3_0, TILE.values: expected 2 cases, {problem}" in told


@pytest.mark.parametrize(
    ("versions", "words"),
    [({}, "expected 0 cases, found 1"), ({"hypothesis": "6.0.0"}, "expected no such search")],
)
def test_a_search_for_what_is_not_searched_for_is_found(
    honest: Path, forged: Forged, versions: dict[str, str], words: str
) -> None:
    n = first(honest, phase=Phase.SEARCH)
    content = {**records_of(honest)[n].case_json, "rule": "GATHER.values"}
    told = forged(edit(n, case_json=content), campaign=by_another(**versions))
    assert f"search: TILE at 3_0, GATHER.values: {words}" in told


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


# --- records edited -----------------------------------------------------------------------------------------------

EXECUTED = {"expected": "ACCEPT", "rule": "TILE.values"}
REJECTED = {"expected": "REJECT"}
OBSERVED = {"verdict": Verdict.OBSERVED}
SWEPT = {"phase": Phase.SWEEP, "expected": "ACCEPT"}
FAILED = {"verdict": Verdict.FAIL}
TIMED = {"verdict": Verdict.FAIL, "rule": "TILE.values", "phase": Phase.THROUGHPUT}
BOUND = {"verdict": Verdict.FAIL, "rule": "EXECUTION.binding", "phase": Phase.BOUNDARIES}
REFUSED = {"verdict": Verdict.FAIL, "phase": Phase.BOUNDARIES, "rule": "DESCRIPTOR.acceptance"}
PASSES = {"verdict": Verdict.PASS, "reason": "", "differences": (), "difference_count": 0}
EXPECTS_REJECTION = {"expect": {"decision": "REJECT", "rules": ["TILE.output-sizes"]}}


@pytest.mark.few(24)
@pytest.mark.parametrize(
    ("kind", "traits", "changes", "message"),
    [
        ("honest", SWEPT, {"case_json": {"rule": "TILE.dimension-counts"}}, "case_json.rule: expected"),
        ("honest", SWEPT, {"case_json": {"origin": "elsewhere"}}, "case_json.origin: expected"),
        ("honest", SWEPT, {"case_json": EXPECTS_REJECTION}, "case_json.expect: expected"),
        ("honest", REJECTED, {"answered": "accept"}, "verdict: expected 'fail', found 'pass'"),
        ("honest", REJECTED, {"expected": "ACCEPT"}, "expected: expected 'REJECT', found 'ACCEPT'"),
        ("honest", REJECTED, {"rule": "TILE.values"}, "rule: expected"),
        ("honest", REJECTED, {"output": "0" * 32}, "output: expected"),
        ("honest", REJECTED, {"reason": "by the way"}, "reason: expected '', found 'by the way'"),
        ("honest", {"expected": "ACCEPT", "verdict": Verdict.PASS}, {"answered": "reject"}, "verdict: expected"),
        ("honest", EXECUTED, {"output": "0" * 32}, "not what the case computes"),
        ("honest", EXECUTED, {"output": ""}, "not what the case computes"),
        ("honest", EXECUTED, {"difference_count": 3}, "expected none of a pass"),
        ("honest", EXECUTED, {"verdict": Verdict.WAIVED, "waived": "fail"}, "no waiver of the package covers it"),
        ("honest", EXECUTED, {"waived": "fail"}, "waived: expected '', found 'fail'"),
        ("honest", EXECUTED, {"verdict": Verdict.ERROR}, "but there is data for this case"),
        ("honest", EXECUTED, {"verdict": Verdict.OBSERVED}, "verdict: expected 'one of pass"),
        ("honest", EXECUTED, {"layout": "other"}, "layout: expected"),
        ("honest", EXECUTED, {"reason": "by the way"}, "reason: expected '', found 'by the way'"),
        ("honest", EXECUTED, {"rank": 7}, "rank: expected"),
        ("honest", EXECUTED, {"reproduce": "rm -rf ~"}, "reproduce: expected ''"),
        ("honest", OBSERVED, {"verdict": Verdict.PASS}, "verdict: expected"),
        ("honest", OBSERVED, {"reproduce": "rm -rf ~"}, "and nothing else"),
        ("honest", OBSERVED, {"answered": ""}, "verdict: expected 'crash', found 'observed'"),
        ("honest", {**OBSERVED, "answered": "accept"}, {"reason": "by the way"}, "reason: expected 'accepted'"),
        ("failing", FAILED, {**PASSES, "reproduce": ""}, "not what the case computes"),
        ("failing", FAILED, {"differences": (), "difference_count": 0}, "at least one difference"),
        ("failing", FAILED, {"differences": (Difference((0,), "1", "0x01", "2", "0x02"),)}, "differences"),
        ("failing", FAILED, {"output": ""}, "but no digest"),
        ("failing", FAILED, {"verdict": Verdict.CRASH}, "expected none of a case that came to crash"),
        ("waived", {"verdict": Verdict.WAIVED}, {"waived": "pass"}, "waived: expected"),
        # A refusal is filed under the rule of acceptance alone, though its case is about another one.
        ("refusing", REFUSED, {"rule": "TILE.values"}, "expected 'DESCRIPTOR.acceptance', found 'TILE.values'"),
        ("not timed", TIMED, PASSES, ""),
        ("bound", BOUND, PASSES, ""),
    ],
)  # fmt: skip
def test_a_record_that_does_not_follow_is_found(
    packages: Packages,
    forged: Forged,
    kind: str,
    traits: dict[str, Any],
    changes: dict[str, Any],
    message: str,
) -> None:
    package = packages(kind)
    n = first(package, **traits)
    if "case_json" in changes:
        changes = {"case_json": {**records_of(package)[n].case_json, **changes["case_json"]}}
    waivers = WaiverList.from_json((package / WAIVERS).read_bytes()).waivers
    assert message in forged(edit(n, **changes), of=kind, waivers=waivers)


def test_an_edited_case_with_a_digest_that_fits_is_found(honest: Path, forged: Forged) -> None:
    n = first(honest, **SWEPT)
    content = msgspec.json.decode(msgspec.json.encode(records_of(honest)[n].case_json))
    for recipe in content["data"].values():
        recipe["seed"] = 4711
    told = forged(edit(n, case_json=content, case=digest_of(content)))
    assert "no case of this release, seed and budget" in told


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
def test_errors_that_no_right_results_have_are_found(forged: Forged, errors: Errors | None, message: str) -> None:
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

    assert message in forged(forge_passes, of="inaccurate")


def test_a_case_that_would_fill_the_memory_is_not_computed(
    honest: Path, forged: Forged, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.setattr(verdicts, "recomputed_results", None)  # computing anything large would be noticed
    monkeypatch.setattr(verdicts.VerdictCheck, "_check_executed", lambda *_: None)
    told = forged(edit(n, case_json=content, case=digest_of(content)))
    assert "which no case of the search has; not computed" in told


# --- the results file ---------------------------------------------------------------------------------------------


def with_backend(**changes: Any) -> Callable[[Campaign], Campaign]:
    return lambda campaign: replace(campaign, backend={**campaign.backend, **changes})


def remade(package: Path, target: Path, change: Callable[[Path], None]) -> Path:
    """A copy of a package whose results were changed, and a manifest that fits: as who edited one would hand it in."""
    shutil.copytree(package, target, dirs_exist_ok=True)
    change(target / RESULTS)
    (target / MANIFEST).write_bytes(manifest_of(target, "0.1.0").to_json())
    return target


def sql(statement: str, *parameters: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(statement, parameters).rowcount
            connection.commit()

    return change


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
    honest: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Campaign], Campaign],
    message: str,
) -> None:
    monkeypatch.setattr(findings, "SHOWN_OF_A_CHECK", 10_000)  # the search's come after those of the sweep
    package = tmp_path / "package"
    try:
        forge(honest, package, campaign=change)
    except (ValueError, LookupError, StoreError):  # the forger's own tools refuse: change the database alone
        with Store(honest / RESULTS) as store:
            text = msgspec.json.encode(change(store.campaign)).decode()
        remade(honest, package, sql("UPDATE stream SET json = ? WHERE part = 'campaign'", text))
    assert message in refusal(package)


def at(place: int, content: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(place)
            file.write(content)

    return change


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(HIDDEN.encode().ljust(8192))


def body(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Another first body of the first block."""

    def edit(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            (block,) = connection.execute("SELECT bodies FROM body WHERE first = 1").fetchone()
            bodies = msgspec.json.decode(zstandard.decompress(block))
            change(bodies)
            content = zstandard.compress(msgspec.json.encode(bodies))
            connection.execute("UPDATE body SET bodies = ? WHERE first = 1", (content,))
            connection.commit()

    return edit


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (sql("UPDATE tensors SET rank = 'many' WHERE id = 3"), "not of the form of a record: case "),
        # Not the database of a results file: it is not read.
        (sql("CREATE VIEW extra AS SELECT 1"), "files: results.sqlite:"),
        (sql("CREATE TRIGGER extra AFTER INSERT ON record BEGIN SELECT 1; END"), "files: results.sqlite:"),
        (sql("DROP VIEW result"), "files: results.sqlite:"),
        (sql("ALTER TABLE throughput ADD COLUMN more TEXT"), "files: results.sqlite:"),
        (sql("PRAGMA user_version = 7"), "files: results.sqlite:"),
        # What nothing uses.
        (sql("INSERT INTO label VALUES (999, ?)", HIDDEN), "table label, row 999"),
        (sql("INSERT INTO judgement VALUES (9999, 1, 1, 1, 1, 1, 1, 1)"), "table judgement, row 9999"),
        (sql("INSERT INTO tensors VALUES (9999, 1, 1, 1, 1, ?)", HIDDEN), "table tensors, row 9999"),
        (sql("INSERT INTO remark VALUES (9999, 0, ?)", HIDDEN), "table remark, row 9999"),
        (sql("INSERT OR REPLACE INTO remark VALUES (1, 0, '')"), "table remark, row 1"),
        (sql("UPDATE record SET seconds = CAST(seconds / 1e6 AS REAL) WHERE id = 1"), "table record, row 1"),
        (sql("INSERT INTO body VALUES (9999, ?)", HIDDEN.encode()), "table body, row 9999"),
        (sql("UPDATE record SET digest_start = zeroblob(16) WHERE id = 7"), "the case of record 7: expected"),
        (body(lambda bodies: bodies[0][0].update(level="6_4")), "the case of record 1: expected that of digest"),
        (body(lambda bodies: bodies[0].append(HIDDEN)), "table body, row 1"),
        (body(lambda bodies: bodies[0][0].update(note=HIDDEN)), "case_json: has what no case has, 'note'"),
        (sql("UPDATE body SET bodies = CAST(bodies || ? AS BLOB)", b"hidden"), "unused data"),
        (
            sql("UPDATE stream SET json = json_set(json, '$.note', ?) WHERE part = 'campaign'", HIDDEN),
            "table stream, row 'campaign'",
        ),
        (sql("UPDATE stream SET json = json || '   ' WHERE part = 'ending'"), "table stream, row 'ending'"),
        (
            sql("INSERT INTO sqlite_stat1 VALUES ('record', ?, '1')", HIDDEN),
            "table sqlite_stat1: has what no statistics",
        ),
        (sql("UPDATE mac SET key = ?", HIDDEN), "table mac: has what no MAC is"),
        (sql("UPDATE mac SET value = ?", HIDDEN.encode()), "table mac: has what no MAC is"),
        (at(72, b"hidden in here"), "its header at byte 72"),
        (at(48, b"\1\2\3\4"), "its header at byte 44"),
        (longer, "size: expected"),
    ],
)
def test_another_database_and_content_that_nothing_uses_are_found(
    honest: Path, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    found = verified(remade(honest, tmp_path / "package", change))
    assert not found.verifies
    assert message in told(found)
    assert not message.startswith("files") or found.outcome == ""


def as_before(
    write: Callable[[Path, Path], None], change: Callable[[Path], object] = lambda _: None
) -> Callable[[Path], None]:
    """The results in an earlier version, changed."""

    def rewrite(path: Path) -> None:
        write(earlier := path.with_name("earlier"), path)
        change(earlier)
        earlier.replace(path)

    return rewrite


def other_numbers(path: Path) -> None:
    """The last label has another number, which says something to who knows."""
    with closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute("SELECT max(id) FROM label").fetchone()
        connection.execute("UPDATE label SET id = 999 WHERE id = ?", (last,))
        for trait in TRAITS:
            connection.execute(f"UPDATE record SET {trait} = 999 WHERE {trait} = ?", (last,))
        connection.commit()


@pytest.mark.parametrize("write", [write_version_3, write_version_4])
def test_a_package_whose_results_are_of_an_earlier_version_verifies(
    honest: Path, tmp_path: Path, write: Callable[[Path, Path], None]
) -> None:
    found = verified(remade(honest, tmp_path / "package", as_before(write)))
    assert found.verifies, told(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (sql("UPDATE record SET seconds = seconds + 1 WHERE id = 200"), "documents: certificate.json"),
        (sql("INSERT INTO label VALUES (999, ?)", HIDDEN), "table label, row 999"),
        (sql("INSERT INTO body VALUES (999, ?)", HIDDEN.encode()), "table body, row 999"),
        (other_numbers, "table label, row 999"),
        (sql("DROP INDEX record_by_verdict"), "not our table: 'record_by_verdict'"),
        (sql("PRAGMA user_version = 4"), "not our table"),
        (
            sql("UPDATE record SET digest = zeroblob(32) WHERE id = 7"),
            "the case of record 7: expected that of digest 00",
        ),
    ],
)
def test_what_version_3_has_not_is_found_in_one(
    honest: Path, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    assert message in told(verified(remade(honest, tmp_path / "package", as_before(write_version_3, change))))


# --- documents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [CERTIFICATE, JUNIT, REPORT, STATEMENT, CASES])
def test_a_document_of_another_package_is_found(packages: Packages, tmp_path: Path, name: str) -> None:
    """In a package of a backend that fails, what belongs to one that does not."""
    other = (packages("honest") / name).read_bytes()
    if name == CASES:
        other = other.replace(b"3_0", b"6_4")
    found = refusal(changed(packages("failing"), tmp_path / "package", name, lambda _: other))
    assert f"documents: {name}:" in found
    assert "does not follow from the records" in found


def test_a_profile_that_was_not_judged_is_found(packages: Packages, tmp_path: Path) -> None:
    def full(text: bytes) -> bytes:
        return text.replace(b'"decisions"', b'"full"')

    package = changed(packages("decisions"), tmp_path / "package", STATEMENT, full)
    assert "documents: statement.json: profile:" in refusal(package)


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

DOES_NOT_HOLD = "waived, but no waiver of the package covers it"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([{"expires": "2026-11-20"}], "waiver 1: expires: expired on 2026-11-20"),
        ([{"rules": ["*"]}], "waiver 1: rules: '*' covers everything"),
        ([{"rules": []}], "waiver 1: a waiver says what it covers"),
        ([{"operators": ["TILES"]}], "waiver 1: operators: there is no operator"),
        ([{"expires": "2026-13-01"}], "waiver 1: expires: '2026-13-01' is no day"),
        ([{}, {"rules": ["GATHER.*"]}], "waiver 2: covers no failure of this package"),
        ([{"reason": "All is well"}], "expected the words of the waiver that covers it"),
    ],
)
def test_waivers_that_are_not_legal_unused_or_worded_otherwise_are_found(
    packages: Packages, tmp_path: Path, changes: list[dict[str, Any]], message: str
) -> None:
    """Once for each entry the given waiver is changed."""
    (given,) = WaiverList.from_json((packages("waived") / WAIVERS).read_bytes()).waivers
    content = WaiverList(waivers=[replace(given, **change) for change in changes]).to_json()
    found = refusal(changed(packages("waived"), tmp_path / "package", WAIVERS, lambda _: content))
    assert message in found
    assert (DOES_NOT_HOLD in found) == message.startswith("waiver 1")


def test_a_waiver_holds_on_its_last_day_and_not_after(packages: Packages, tmp_path: Path) -> None:
    def of_a_run_on(day: str) -> Path:
        waiver = replace(WAIVER, rules=["TILE.*", "EXECUTION.*"], expires=DAY.isoformat())
        started, of = f"{day}T08:00:00Z", packages("failing")
        return forge(of, tmp_path / day, waivers=[waiver], campaign=lambda c: replace(c, started=started))

    package = of_a_run_on("2026-11-20")
    assert verified(package).verifies
    assert not verify(package, today=date(2026, 11, 22)).verifies
    assert "expired on 2026-11-21, before 2026-11-30" in refusal(of_a_run_on("2026-11-30"))


# --- signatures ---------------------------------------------------------------------------------------------------


def test_a_signature_is_checked_with_a_key_and_without_one_that_is_said(signed: Path, honest: Path) -> None:
    assert all(check.done for check in sound(signed, key=KEY.public_key()).checks)
    assert sorted(path.name for path in signed.iterdir()) == sorted(PACKAGE_FILES)
    detail, is_done = details(sound(signed))["signature"]
    assert not is_done
    assert "no public key was given" in detail
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


def envelope(change: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    """The envelope changed, and spelled as this suite does."""

    def of(content: bytes) -> bytes:
        read = msgspec.json.decode(content)
        change(read)
        return msgspec.json.format(msgspec.json.encode(read), indent=2) + b"\n"

    return of


def with_another_line(content: bytes) -> bytes:
    """The payload spelled otherwise, and signed so."""
    payload = msgspec.json.encode(opened(content).statement) + b"\n"
    raw = KEY.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    signature = {"keyid": key_id(KEY.public_key()), "sig": base64.b64encode(raw).decode()}
    fields = {"payload": base64.b64encode(payload).decode(), "signatures": [signature]}
    return envelope(lambda read: read.update(fields))(content)


def in_another_order(content: bytes) -> bytes:
    fields = dict(reversed(msgspec.json.decode(content).items()))
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


OF_ANOTHER = Predicate(suite_version="0.1.0", outcome="conformant", profile="full", product="", vendor="")
AS_SPELLED = "signature: signature.dsse.json: not"
ENVELOPES: Mapping[str, tuple[Callable[[bytes], bytes], str]] = {
    "a trailing newline": (lambda content: content + b"\n", AS_SPELLED),
    "no newline": (lambda content: content.rstrip(b"\n"), AS_SPELLED),
    "spaces": (lambda content: content.replace(b": ", b":  ", 1), AS_SPELLED),
    "one line": (lambda content: msgspec.json.encode(msgspec.json.decode(content)), AS_SPELLED),
    "an escape": (lambda content: content.replace(b"application/", b"application\\/", 1), AS_SPELLED),
    "a key twice": (lambda content: content.replace(b"{", b'{"payload": "", ', 1), AS_SPELLED),
    "another order": (in_another_order, AS_SPELLED),
    "bits of base64 that stand for nothing": (
        lambda content: re.sub(rb'([AQgw])=="', lambda found: bytes([found[1][0] + 1]) + b'=="', content),
        AS_SPELLED,
    ),
    "another line in the payload": (with_another_line, "signature.dsse.json: not written as"),
    "of another package": (lambda _: signed_content({"manifest.json": "0" * 64}, OF_ANOTHER, KEY), "subject"),
    "no base64": (lambda content: content.replace(b'"payload": "', b'"payload": "*'), "base64"),
    "nothing": (lambda content: b"{}", "form"),
    "another signature": (lambda content: content.replace(b'"sig": "', b'"sig": "AAAA'), "by the key"),
    "another key's id": (
        envelope(lambda read: read["signatures"][0].update(keyid="of somebody else")),
        "signature.dsse.json: keyid: not the id of the key that signed",
    ),
}
NEED_A_KEY = {"another signature", "another key's id"}


@pytest.mark.few(9)
@pytest.mark.parametrize("key", [None, KEY.public_key()], ids=["without a key", "with its key"])
@pytest.mark.parametrize("name", ENVELOPES)
def test_a_signature_changed_or_spelled_otherwise_is_found(signed: Path, tmp_path: Path, name: str, key: Any) -> None:
    change, message = ENVELOPES[name]
    content = (signed / SIGNATURE).read_bytes()
    assert change(content) != content
    package = changed(signed, tmp_path / "package", SIGNATURE, change, manifest=False)
    if key is None and name in NEED_A_KEY:
        sound(package)
    else:
        assert message in refusal(package, key=key)


def test_every_byte_of_the_signature_counts(signed: Path, tmp_path: Path) -> None:
    content = (signed / SIGNATURE).read_bytes()
    chooser = random.Random(3)
    package = Path(shutil.copytree(signed, tmp_path / "package"))
    key_id = range(content.index(b'"keyid"'), content.index(b'"sig"'))
    places = [*chooser.sample(range(len(content)), 3), chooser.choice(key_id), len(content) - 1]
    for at in places:
        (package / SIGNATURE).write_bytes(spoiled(content, at))
        assert not verified(package, key=KEY.public_key()).verifies, at


def test_signatures_by_other_keys_are_counted(signed: Path, tmp_path: Path) -> None:
    another = {"keyid": "another", "sig": base64.b64encode(bytes(64)).decode()}
    change = envelope(lambda read: read["signatures"].append(another))
    found = sound(changed(signed, tmp_path / "package", SIGNATURE, change, manifest=False), key=KEY.public_key())
    assert "1 by other keys, not checked" in details(found)["signature"][0]


# --- running again ------------------------------------------------------------------------------------------------


def again(monkeypatch: pytest.MonkeyPatch, backend: ReferenceBackend, package: Path) -> Verification:
    monkeypatch.setattr(rerun, "opened", lambda name, limits: nullcontext(backend))
    return verified(package, rerun=rerun.Rerun(Fraction(1, 10), "reference", 11, None))


def test_running_again_agrees_on_the_same_backend(monkeypatch: pytest.MonkeyPatch, packages: Packages) -> None:
    found = again(monkeypatch, ReferenceBackend(), packages("honest"))
    assert found.verifies, told(found)
    cases = round(len(records_of(packages("honest"))) / 10)
    assert f"{cases} cases on reference" in details(found)["rerun"][0]
    assert again(monkeypatch, wrong(), packages("failing")).verifies


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
    seen = {
        materialize(case)["input_tensor"].tobytes()
        for record in records_of(honest)
        if (case := Case.from_json(record.case_json)).data and record.output
    }

    def remember(desc: Any, inputs: Any, outputs: Any) -> None:
        if inputs["input_tensor"].view.tobytes() in seen:
            ReferenceBackend().execute(desc, Level.L3_0, inputs, outputs)

    found = again(monkeypatch, ScriptedBackend(execute=remember), honest)
    assert not found.verifies
    assert "found 'fail accept'" in told(found)


def test_what_does_not_verify_is_not_executed(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = forge(honest, tmp_path / "package", records=lambda records: records[1:])
    found = again(monkeypatch, ScriptedBackend(validate=rejecting), package)
    assert "rerun" not in {finding.check for finding in found.findings}
    assert not details(found)["rerun"][1]


@pytest.mark.parametrize("text", ["1%", "0.5%", "100%", "0%", "101%", "1", "-1%", "nan%", ""])
def test_shares_are_read_and_nothing_else(text: str) -> None:
    shares = {"1%": Fraction(1, 100), "0.5%": Fraction(1, 200), "100%": Fraction(1)}
    if text in shares:
        assert rerun.parse_share(text) == shares[text]
    else:
        with pytest.raises(ValueError, match="expected a share such as 1%"):
            rerun.parse_share(text)
