"""`spec check-page`: what is read, what is told and in which form, and the exit codes."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import commands
import jsonschema
import msgspec
import pytest
from places import ROOT, SUPPORT

from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.documents.check import CheckedPages, PageFindings, checks
from dml_conformance.documents.check.model import PageFinding, Severity
from dml_conformance.documents.read import MAX_BYTES, read_page
from dml_conformance.documents.read.collect import OtherFile, UnreadableFile, collect
from dml_conformance.documents.read.model import Page, Place
from dml_conformance.documents.report import count_line, finding_lines, sarif

EXAMPLES = ROOT / "docs" / "examples" / "pages"
WRONG_VALUE = "example-values:TILE:1/OutputTensor"
WRONG_CELL = "translation-dimension-counts:TILE:3_1/OutputTensor"
invoke = partial(commands.invoke, "spec", "check-page")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the pages of the documentation, and beside it a page without a fault."""
    shutil.copytree(EXAMPLES, tmp_path / "pages")
    sound = (tmp_path / "pages" / "tile.md").read_text(encoding="utf-8").replace("[1, 2, 4]", "[1, 2, 3]")
    (tmp_path / "sound.md").write_text(sound, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_json(*args: str) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(invoke(*args, "--format", "json").stdout)
    return written


def ids(written: dict[str, Any], path: str) -> list[str]:
    return [finding["id"] for page in written["pages"] if page["path"] == path for finding in page["findings"]]


# --- exit codes and what is read ----------------------------------------------------------------------------------


def test_an_error_is_told_with_its_place_and_all_it_rests_on(folder: Path) -> None:
    result = invoke("pages/tile.md")
    assert (result.exit_code, result.stderr) == (Exit.NOT_CONFORMANT, "")
    lines = result.stdout.splitlines()
    source = Path("pages/tile.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if ": error: " in line)
    path, line, column, told = lines[start].split(":", 3)
    assert (path, source[int(line) - 1][int(column) - 1 :]) == ("pages/tile.md", "[[[[1, 2, 3],")
    assert told == " error: OutputTensor[0,0,1,2] = 4; expected OutputTensor[0,0,1,2] = 3"
    below = {}
    for detail in lines[start + 1 :]:
        if not detail:
            break
        name, _, text = detail.strip().partition("  ")
        below[name] = text.strip()
    assert below["finding"] == WRONG_VALUE
    assert below["quoted"] == "[[[[1, 2, 3], [1, 2, 4]]]]"
    assert below["rule"] == {check.name: check.statement for check in checks().values()}["example-values"]
    assert below["why"]
    assert lines[-1].startswith("1 page: 1 error, ")
    result = invoke("sound.md")
    assert (result.exit_code, result.stderr) == (Exit.CONFORMANT, "")
    assert result.stdout.splitlines()[-1].startswith("1 page: 0 errors")


def test_a_folder_is_searched_and_other_texts_in_it_are_passed_over(folder: Path) -> None:
    (folder / "pages" / ".hidden.md").write_text("no page")
    (folder / "pages" / "data.csv").write_bytes(b"\x00")
    (folder / "pages" / ".git").mkdir()
    shutil.copy("sound.md", folder / "pages" / ".git")
    below = folder / "pages" / "below"
    below.mkdir()
    shutil.copy("sound.md", below / "copy.MD")
    written = as_json("pages")
    assert [page["path"] for page in written["pages"]] == [
        "pages/below/copy.MD",
        "pages/tile.de-DE.md",
        "pages/tile.md",
    ]
    assert [passed["path"] for passed in written["skipped"]] == ["pages/strides.md"]
    assert "How strides work" in written["skipped"][0]["reason"]
    assert written["failures"] == []
    result = invoke("pages")
    assert result.exit_code == Exit.NOT_CONFORMANT
    assert "1 file in folders passed over: pages/strides.md" in result.stdout.splitlines()


def test_a_text_that_is_named_has_to_be_a_page(folder: Path) -> None:
    (folder / "noise.txt").write_bytes(bytes(range(256)) * 10)
    result = invoke("pages/strides.md", "noise.txt", "nowhere.md", "sound.md")
    assert result.exit_code == Exit.BAD_INPUT
    lines = result.stderr.splitlines()
    assert [line.split()[1] for line in lines] == ["pages/strides.md", "noise.txt", "nowhere.md"]
    assert all(line.startswith("dml-conformance: ") and line.isprintable() for line in lines)
    assert "Traceback" not in result.output
    assert result.stdout.splitlines()[-1].endswith("; 3 could not be read")
    written = as_json("pages/strides.md", "noise.txt", "nowhere.md", "sound.md")
    assert [failure["path"] for failure in written["failures"]] == ["pages/strides.md", "noise.txt", "nowhere.md"]
    assert [page["path"] for page in written["pages"]] == ["sound.md"]
    assert written["ok"] is False


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere.md", "nowhere.md cannot be read: No such file or directory; check the path and its permissions"),
        ("guides", "guides holds no page on an operator; 1 .md/.txt files were looked at"),
    ],
)
def test_where_there_is_no_page_there_is_no_result(name: str, told: str, folder: Path) -> None:
    (folder / "guides").mkdir()
    shutil.copy("pages/strides.md", "guides")
    result = invoke(name)
    assert (result.exit_code, result.stdout, result.stderr) == (Exit.BAD_INPUT, "", f"dml-conformance: {told}\n")


@pytest.mark.parametrize(
    ("content", "is_page"),
    [
        ("# DML_TILE_OPERATOR_DESC, à jour".encode("latin-1"), True),
        ("# DML_TILE_OPERATOR_DESC".encode("utf-16-le"), True),
        (b"# DML_TILE_OPERATOR_DESC" + b"\n" * (MAX_BYTES + 1), True),
        (b"", False),
        (bytes(range(256)), False),
        (b"log\n" * MAX_BYTES, False),
    ],
    ids=["encoding", "no byte order mark", "large page", "empty", "binary", "large text"],
)
def test_in_a_folder_only_what_names_no_operator_is_passed_over(content: bytes, is_page: bool, folder: Path) -> None:
    (folder / "pages" / "other.txt").write_bytes(content)
    collection = collect([Path("pages")])
    assert [failure.path for failure in collection.failures] == ["pages/other.txt"] * is_page
    assert [passed.path for passed in collection.skipped] == ["pages/other.txt"] * (not is_page) + ["pages/strides.md"]


def test_a_file_that_is_reached_twice_is_read_once(folder: Path) -> None:
    (folder / "link.md").symlink_to("pages/tile.md")
    collection = collect([Path("pages/tile.md"), Path("pages"), Path("link.md"), Path("./pages/tile.md")])
    assert [page.path for page in collection.pages] == ["pages/tile.md", "pages/tile.de-DE.md"]


def test_a_folder_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pages" / "closed").mkdir()
    scan = os.scandir

    def refusing(path: str) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    collection = collect([Path("pages")])
    assert collection.failures == (UnreadableFile("pages/closed", "pages/closed cannot be read: Permission denied"),)
    assert len(collection.pages) == 2


@pytest.mark.skipif(os.name != "posix", reason="needs a file name that is no UTF-8")
def test_a_file_name_of_any_bytes(folder: Path) -> None:
    name = os.fsdecode(b"tile-\xff.md")
    try:
        shutil.copy("pages/tile.md", name)
    except OSError:
        pytest.skip("the file system refuses such names")
    for format_ in ("text", "json", "sarif"):
        result = invoke(name, "--format", format_)
        assert result.exit_code == Exit.NOT_CONFORMANT, result.output
        assert "udcff.md" in result.stdout


# --- many pages ---------------------------------------------------------------------------------------------------


def test_many_pages_have_a_row_each_and_only_their_differences(folder: Path) -> None:
    lines = invoke("pages").stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:2] == ["page", "operator"])
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["pages/tile.de-DE.md", "pages/tile.md"]
    assert lines[head + 3] == ""
    assert lines[head + 4] == "TILE, where its pages differ:"
    differences = lines[head + 6 : -2]
    subjects = [line.split()[0] for line in differences[1:] if line[:1].strip()]
    assert "table/4_1" in subjects
    assert "example/1/OutputTensor/values" in subjects
    assert "table/2_1" not in subjects
    assert "operator  language" not in invoke("pages/tile.md").stdout  # of one page there is no table


# --- forms --------------------------------------------------------------------------------------------------------


def test_json_keeps_to_the_published_schema(folder: Path) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "checked-pages.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    written = as_json("pages", "nowhere.md")
    validator.validate(written)
    assert written["format"] == 1
    assert written["counts"]["error"] == 2
    assert {check["name"] for check in written["checks"]} == {check.name for check in checks().values()}
    assert WRONG_VALUE in ids(written, "pages/tile.md")
    assert WRONG_CELL in ids(written, "pages/tile.de-DE.md")
    written["pages"][0]["findings"][0]["severity"] = "fatal"
    assert not validator.is_valid(written)


def test_output_goes_to_a_file_and_the_count_to_the_terminal(folder: Path) -> None:
    result = invoke("pages", "--format", "sarif", "-o", "out/report")
    assert result.exit_code == Exit.NOT_CONFORMANT
    assert Path("out/report").read_text(encoding="utf-8") == invoke("pages", "--format", "sarif").stdout
    assert result.stdout == invoke("pages").stdout.splitlines()[-1] + "\n"
    assert invoke("pages", "--format", "sarif", "-o", "out/report").exit_code == Exit.BAD_INPUT
    assert invoke("pages", "--format", "text", "-o", "out/report", "--replace").exit_code == Exit.NOT_CONFORMANT
    page = invoke("pages", "--format", "sarif", "-o", "sound.md", "--replace")
    assert page.stderr == "dml-conformance: sound.md: is no JSON object; it is not replaced\n"


# --- findings made by hand ----------------------------------------------------------------------------------------


def finding(name: str = "example-values", severity: Severity = Severity.ERROR, **more: Any) -> PageFinding:
    fields: dict[str, Any] = {
        "id": f"{name}:TILE:1/OutputTensor",
        "severity": severity,
        "path": "pages/tile.md",
        "place": Place(1, 1),
        "fragment": "---",
        "found": "this",
        "expected": "that",
        "why": "because",
        "against": "itself",
        **more,
    }
    return PageFinding(**fields)


def checked(*found: PageFinding, ignore_known: bool = False, failures: tuple[UnreadableFile, ...] = ()) -> CheckedPages:
    pages = (PageFindings.of(page_at("pages/tile.md"), found),)
    return CheckedPages.of(pages, ignore_known=ignore_known, skipped=(OtherFile("a.md", "no page"),), failures=failures)


def test_known_errata_count_unless_they_are_to_be_ignored() -> None:
    known, new = finding(erratum="TILE-1"), finding("example-label")
    assert not checked(known).ok
    assert checked(known, ignore_known=True).ok
    assert not checked(known, new, ignore_known=True).ok
    assert not checked(failures=(UnreadableFile("x.md", "x.md cannot be read"),), ignore_known=True).ok
    assert checked(finding(severity=Severity.WARNING), finding(severity=Severity.NOTE)).ok
    assert checked(known, new).known == {"error": 1, "warning": 0, "note": 0}


def test_findings_are_told_with_known_errata_and_nothing_that_steers_a_terminal() -> None:
    found = [finding(erratum="TILE-1"), finding(), finding(severity=Severity.NOTE)]
    assert count_line(checked(*found)) == "2 errors (1 known), 0 warnings, 1 note"
    assert list(finding_lines(found[0]))[1:] == [
        "    rule     the reference computes the outputs of the examples",
        "    quoted   ---",
        "    why      because",
        "    erratum  TILE-1 (known): Label it OutputTensor.",
        "    finding  example-values:TILE:1/OutputTensor",
    ]
    lines = list(finding_lines(finding(fragment="\x1b[31m\u202ered\n" * 300)))
    assert all(line.isprintable() and len(line) < 450 for line in lines)


# --- SARIF --------------------------------------------------------------------------------------------------------

SARIF = json.loads((SUPPORT / "sarif.schema.json").read_text("utf-8"))


def log_of(*args: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(invoke(*args, "--format", "sarif").stdout)
    jsonschema.Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    names = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(names) == len(set(names))
    for result in run["results"]:
        assert names[result["ruleIndex"]] == result["ruleId"]
        base = result["locations"][0]["physicalLocation"]["artifactLocation"].get("uriBaseId")
        assert base is None or base in run["originalUriBaseIds"]
    return log


def test_sarif_has_what_the_standard_asks_for(folder: Path) -> None:
    (run,) = log_of("pages", "sound.md", "nowhere.md")["runs"]
    written = as_json("pages", "sound.md", "nowhere.md")
    found = [finding["id"] for page in written["pages"] for finding in page["findings"]]
    assert [result["properties"]["finding"] for result in run["results"]] == found
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [check.name for check in checks().values()]
    addresses = [artifact["location"]["uri"] for artifact in run["artifacts"]]
    assert addresses == ["pages/tile.de-DE.md", "pages/tile.md", "sound.md"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    told = [(n["level"], n["message"]["text"].split()[0]) for n in invocation["toolExecutionNotifications"]]
    assert told == [("error", "nowhere.md"), ("note", "pages/strides.md")]


def test_regions_begin_with_what_is_quoted(folder: Path) -> None:
    results = log_of("pages")["runs"][0]["results"]
    assert len(results) >= 3
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        line = Path(place["artifactLocation"]["uri"]).read_text(encoding="utf-8").split("\n")[region["startLine"] - 1]
        assert line[region["startColumn"] - 1 :].startswith(result["properties"]["fragment"].partition("]")[0])
    cell = next(result for result in results if result["properties"]["finding"] == WRONG_CELL)
    assert cell["properties"]["fragment"] == "1 bis 4"
    assert cell["message"]["text"].startswith("Found: 1 bis 4. Expected: 1 to 8. Why: ")


def test_addresses_are_relative_to_the_working_folder_and_encoded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "für 100 %").mkdir()
    shutil.copy("pages/tile.md", "für 100 %/tile #1.md")
    (run,) = log_of("für 100 %/tile #1.md")["runs"]
    assert run["artifacts"][0]["location"] == {"uri": "f%C3%BCr%20100%20%25/tile%20%231.md", "uriBaseId": "%SRCROOT%"}
    monkeypatch.chdir(folder / "für 100 %")
    (run,) = log_of("../pages/tile.md")["runs"]
    assert run["artifacts"][0]["location"] == {"uri": (folder / "pages" / "tile.md").as_uri()}


def test_fingerprints_tell_findings_apart_and_stay(folder: Path) -> None:
    def fingerprints() -> dict[str, str]:
        results = log_of("pages")["runs"][0]["results"]
        return {r["properties"]["finding"]: next(iter(r["partialFingerprints"].values())) for r in results}

    before = fingerprints()
    assert len(set(before.values())) == len(before)
    page = folder / "pages" / "tile.md"
    page.write_text(page.read_text(encoding="utf-8").replace("## Examples", "\n\n\n## Examples"), encoding="utf-8")
    assert fingerprints() == before


def page_at(path: str) -> Page:
    return msgspec.structs.replace(read_page(EXAMPLES / "tile.md"), path=path)


def test_known_errata_are_marked_and_suppressed_on_demand(folder: Path) -> None:
    known, new = finding(erratum="TILE-1"), finding("example-label")
    results = sarif(checked(known, new))["runs"][0]["results"]
    assert [result["properties"].get("erratum") for result in results] == ["TILE-1", None]
    assert results[0]["properties"]["address"].endswith("ns-directml-dml_tile_operator_desc")
    assert results[0]["message"]["text"].endswith("Known erratum: TILE-1.")
    assert not any("suppressions" in result for result in results)
    log = sarif(checked(known, new, ignore_known=True))
    jsonschema.Draft202012Validator(SARIF).validate(log)
    (suppression,) = log["runs"][0]["results"][0]["suppressions"]
    assert (suppression["kind"], suppression["status"]) == ("external", "accepted")
    assert suppression["justification"].startswith("Known erratum TILE-1 (editorial): The second tensor")
    assert "suppressions" not in log["runs"][0]["results"][1]
