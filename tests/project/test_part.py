"""The part of the tests that CI takes: over many commits it is all of them, and in each something of every test."""

from __future__ import annotations

from collections import Counter

import pytest
from part import part
from places import ROOT

TESTS = """
    import pytest

    @pytest.mark.parametrize("n", range(60))
    def test_table(n): pass

    @pytest.mark.few(5, 12)
    @pytest.mark.parametrize("n", range(30))
    def test_few_of_many(n): pass

    @pytest.mark.few(0)
    @pytest.mark.parametrize("n", range(2))
    def test_few_of_two(n): pass

    @pytest.mark.parametrize("n", range(11))
    def test_some(n): pass

    @pytest.mark.slow
    def test_one(): pass
"""
SIZES = {"test_table": 3, "test_few_of_many": 5, "test_few_of_two": 1, "test_some": 11, "test_one": 1}


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A few tests under this project's conftest.py."""
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(f"[pytest]\nmarkers =\n    few\n    slow\npythonpath = {ROOT / 'tests' / 'support'}\n")
    pytester.makepyfile(test_it=TESTS)
    return pytester


def collected(project: pytest.Pytester, *options: str) -> list[str]:
    result = project.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider", *options)
    assert result.ret == 0
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_a_part_has_some_of_every_table_and_all_of_the_rest(project: pytest.Pytester) -> None:
    found = collected(project, "--part", "0123abc")
    assert Counter(name.partition("[")[0] for name in found) == SIZES
    assert found == collected(project, "--part", "0123abc")
    assert found != collected(project, "--part", "0123abd")


def test_the_parts_come_to_the_whole(project: pytest.Pytester) -> None:
    """What is marked `few` comes to more than `--all` has."""
    found = {name for n in range(100) for name in collected(project, "--part", f"{n:07x}")}
    assert found == set(collected(project, "--exhaustive"))
    assert found > set(collected(project, "--all"))


def test_one_text_decides_on_the_same_parameters_everywhere(project: pytest.Pytester) -> None:
    project.makepyfile(test_other=TESTS.replace("test_table", "test_another_table"))
    found = collected(project, "--part", "0123abc", "-k", "table")
    assert len(found) == 2 * len({name.partition("[")[2] for name in found}) == 6


def test_processes_agree_on_the_part_and_the_header_names_it(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider", "--part", "0123abc")
    result.assert_outcomes(passed=sum(SIZES.values()))
    result.stdout.fnmatch_lines("of what is tabular: the twentieth that --part 0123abc decides; --all has the whole")


def test_every_name_has_its_turn() -> None:
    names = [f"OPERATOR_{n}" for n in range(177)]
    turns = Counter(name for n in range(400) for name in part(names, f"{n:07x}"))
    assert sum(turns.values()) == 400 * 9
    assert all(4 < turns[name] < 45 for name in names)
    assert part(["ONE"], "0123abc") == {"ONE"}
