"""What `certify` makes of its options; whole runs of it are in the documentation's tests."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dml_conformance.conformance.cli import main
from dml_conformance.conformance.cli.options import with_device_words

LIBRARY = Path("/opt/libd3d12.so")


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("torch:cuda:0", (None, None), "torch:cuda:0"),
        ("directml", ("no-doubles", None), "directml:no-doubles"),
        ("directml:5_2", ("no-doubles", None), "directml:5_2,no-doubles"),
        ("directml", (None, LIBRARY), f"directml:d3d12={LIBRARY}"),
        ("directml:d3d12", (None, LIBRARY), f"directml:d3d12={LIBRARY}"),
        ("directml:d3d12,5_2", (None, LIBRARY), f"directml:5_2,d3d12={LIBRARY}"),
        (f"directml:d3d12={LIBRARY}", (None, LIBRARY), f"directml:d3d12={LIBRARY}"),
    ],
)
def test_options_of_the_device_become_words_of_its_name(
    name: str, words: tuple[str | None, Path | None], expected: str
) -> None:
    assert with_device_words(name, *words) == expected


@pytest.mark.parametrize("name", ["directml:d3d12=/lib/other.so", "directml:warp,5_2"])
def test_two_devices_are_refused(name: str) -> None:
    with pytest.raises(click.UsageError, match="are two devices; name one"):
        with_device_words(name, None, LIBRARY)


def test_options_of_the_device_are_for_directml() -> None:
    with pytest.raises(click.UsageError, match="are for --backend directml, not for torch"):
        with_device_words("torch", "no-doubles", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backend", "reference", "--device-profile", "no-doubles"), "are for --backend directml, not for reference"),
        (("--backend", "reference", "--level", "3_0", "--all-levels"), "exclude each other"),
        (("--backend", "refernce"), "did you mean reference?"),
        (("--backend", "reference", "--level", "9_9"), "there is no feature level '9_9'"),
        (("--backend", "reference", "--operator", "GATHR"), "unknown operator"),
        (("--backend", "reference", "--cases", "-1"), "--cases"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["certify", *arguments, "--out", str(out)], prog_name="dml-conformance")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = CliRunner().invoke(main, ["certify", "--backend", "reference", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "exists and is not empty" in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.txt"]
