"""Waivers: what a file may say, with the entry of what it may not; and what they cover."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace
from package_support import WAIVER

from dml_conformance.conformance.packages.toml import MOST_BYTES, TomlError
from dml_conformance.conformance.packages.waivers import WaiverError, Waivers, read_waivers, waived_reason
from dml_conformance.reports.model.records import Phase, Record, Verdict
from dml_conformance.reports.package.forms import Waiver

DAY = date(2026, 11, 21)
GOOD = """\
# Known differences.

[[waiver]]
rules = ["GATHER.*"]
reason = "Indices of 64 bits are cut"
link = "https://example.com/issues/17"
owner = "kernels@example.com"
expires = 2027-01-31

[[waiver]]
cases = [
    "0123*",
]
operators = ["TILE"]
levels = ["3_0"]
reason = "Tiles of odd sizes are cut"
link = "https://example.com/issues/18"
owner = "kernels@example.com"
expires = 2026-11-21
"""


FAILED = Record(
    case="0123" + "0" * 60,
    operator="TILE",
    level="3_0",
    phase=Phase.SWEEP,
    rule="TILE.values",
    verdict=Verdict.FAIL,
    expected="ACCEPT",
    answered="accept",
    reason="OutputTensor: 1 of 2 elements differ",
)


def read(tmp_path: Path, text: str) -> Waivers:
    path = tmp_path / "waivers.toml"
    path.write_text(text, encoding="utf-8")
    return read_waivers(path, DAY)


def test_waivers_are_read(tmp_path: Path) -> None:
    first, second = read(tmp_path, GOOD).waivers
    assert first.rules == ["GATHER.*"]
    assert first.expires == "2027-01-31"
    assert second == Waiver(
        cases=["0123*"],
        operators=["TILE"],
        levels=["3_0"],
        reason="Tiles of odd sizes are cut",
        link="https://example.com/issues/18",
        owner="kernels@example.com",
        expires="2026-11-21",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("operators = ", "operator = ", "waiver[2].operator: there is no such key"),
        ('owner = "k', 'colour = "k', "waiver[1].colour: there is no such key"),
        ('reason = "Indices of 64 bits are cut"\n', "", "waiver[1]: the key reason is missing"),
        ("expires = 2027-01-31", 'expires = "soon"', "waiver[1].expires: invalid"),
        ('"0123*",\n', "17,\n", "waiver[2].cases[1]: expected `str`, got `int`"),
        ('"https://example.com/issues/17"', '"tracker 17"', "waiver[1].link: expected `str` matching"),
        ('"Indices of 64 bits are cut"', '""', "waiver[1].reason: expected `str` of length >= 1"),
        ("expires = 2026-11-21", "expires = 2026-11-20", "waiver[2].expires: expired on 2026-11-20"),
        ('["GATHER.*"]', '["*"]', "waiver[1].rules: '*' covers everything"),
        ('["GATHER.*"]', '["GATHER.*", "**?"]', "waiver[1].rules: '**?' covers everything"),
        ('rules = ["GATHER.*"]\n', "", "waiver[1]: a waiver says what it covers"),
        ('["TILE"]', '["TILES"]', "waiver[2].operators: there is no operator 'TILES'"),
        ('["3_0"]', '["9_0"]', "waiver[2].levels: there is no feature level '9_0'"),
        ('["3_0"]', '["three"]', "waiver[2].levels[1]: expected `str` matching"),
        ("# Known differences.", "author = 1", "author: there is no such key"),
        ("[[waiver]]\nrules", "[waiver]\nrules", "expected TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises((TomlError, WaiverError)) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert f"{tmp_path / 'waivers.toml'}: {message}" in str(caught.value)


def test_a_file_without_waivers_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match="the key waiver is missing"):
        read(tmp_path, "")
    with pytest.raises(TomlError, match="waiver: expected `array` of length >= 1"):
        read(tmp_path, "waiver = []")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "expected TOML"),
        (b"#" * (MOST_BYTES + 1), "at most 262,144 bytes"),
        (b"x = " + b"[" * 4_000 + b"]" * 4_000, "expected TOML"),
        (b"# first\n" + b"a." * 100_000 + b"a = 1\n", "line 2: expected at most 10,000 characters"),  # takes minutes
        (None, "cannot be read"),
    ],
    ids=["not-text", "large", "deep", "long-line", "missing"],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TomlError, match=problem) as caught:
        read_waivers(path, DAY)
    assert str(caught.value).startswith(f"{path}: ")


# --- what they cover ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "covers"),
    [
        ({"rules": ["TILE.values"]}, True),
        ({"rules": ["TILE.*"]}, True),
        ({"rules": ["tile.*"]}, False),
        ({"rules": ["TILE"]}, False),
        ({"rules": ["GATHER.*", "*.values"]}, True),
        ({"rules": [], "cases": ["0123*"]}, True),
        ({"rules": [], "cases": ["123*"]}, False),
        ({"cases": ["123*"]}, False),  # both limit
        ({"operators": ["TILE", "GATHER"]}, True),
        ({"operators": ["GATHER"]}, False),
        ({"levels": ["3_0"]}, True),
        ({"levels": ["6_4"]}, False),
    ],
)
def test_a_waiver_covers_what_it_names(limits: dict[str, list[str]], covers: bool) -> None:
    waivers = Waivers([replace(WAIVER, **limits)])
    record = waivers.apply(FAILED)
    assert (record.verdict is Verdict.WAIVED) is covers
    assert bool(waivers.unused()) is not covers


@pytest.mark.parametrize("verdict", list(Verdict))
def test_failures_are_waived_and_nothing_else(verdict: Verdict) -> None:
    record = Waivers([WAIVER]).apply(replace(FAILED, verdict=verdict))
    if verdict in (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT):
        assert record.verdict is Verdict.WAIVED
        assert record.waived == verdict
        assert record.reason == waived_reason(WAIVER, FAILED.reason)
        for part in (WAIVER.reason, WAIVER.link, WAIVER.owner, WAIVER.expires, FAILED.reason):
            assert part in record.reason
    else:
        assert record == replace(FAILED, verdict=verdict)


def test_the_first_waiver_that_covers_a_failure_applies() -> None:
    waivers = Waivers([WAIVER, replace(WAIVER, reason="another")], ["waiver[1]", "waiver[2]"])
    assert WAIVER.reason in waivers.apply(FAILED).reason
    assert waivers.unused() == ["waiver[2]"]
    with pytest.raises(WaiverError, match=r"waiver\[2\]: this waiver covers no failure of this run; remove it"):
        waivers.check_used()
