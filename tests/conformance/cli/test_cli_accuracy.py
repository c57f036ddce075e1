"""`dml-conformance accuracy`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backend_files import write_backend
from commands import invoke

from dml_conformance.conformance.accuracy.functions import functions

EXP = "ELEMENT_WISE_EXP"
FAULT = """
def execute(self, desc, level, inputs, outputs):
    super().execute(desc, level, inputs, outputs)
    if desc.input_tensor.data_type.size == 2:
        arguments, results = inputs["input_tensor"].view.view("u2"), outputs["output_tensor"].view.view("u2")
        results[arguments == 0x3C01] += 40
"""


def test_a_table_says_what_was_measured() -> None:
    """And errors by argument where they are asked for."""
    measured = ("accuracy", "--backend", "reference", "--operator", EXP, "--per-binade", "16")
    result = invoke(*measured)
    assert (result.exit_code, result.stderr) == (0, "")
    header, of_32_bits, of_16_bits, empty, about, unit, total = result.stdout.splitlines()
    assert header.split() == ["operator", "type", "tried", "wrong", "error", "at", "99.9%", "of", "bound"]
    assert of_32_bits.split()[:4] == [EXP, "FLOAT32", "8,192", "-"]
    assert of_16_bits.split()[:5] == [EXP, "FLOAT16", "65,536", "-", "0.5"]
    assert empty == ""
    assert about.startswith("reference on host processor")
    assert unit == "errors in units in the last place, held to the tolerance directml"
    assert total == "73,728 results, 0 wrong"
    assert max(map(len, result.stdout.splitlines())) <= 100
    table = invoke(*measured, "--binades").stdout
    assert f"{EXP} FLOAT32 by argument:" in table
    names, *lines = table.partition(f"{EXP} FLOAT16 by argument:\n")[2].split("\n\n")[0].splitlines()
    assert names.split() == ["from", "to", "error", "of", "bound"]
    assert [float(line.split()[0]) for line in lines] == sorted(float(line.split()[0]) for line in lines)


REFUSES = "def validate(self, desc, level):\n    return Answer({}, 'no FLOAT16')"
FAILS = "def execute(self, *what):\n    raise RuntimeError('lost')"


@pytest.mark.parametrize(
    ("methods", "code", "printed", "told"),
    [
        (
            FAULT,
            1,
            (
                f"{EXP} FLOAT16, the farthest of 1 that are wrong:",
                "1.00097656  2.72070312 to 2.72265625  2.79882812",
                "66,048 results, 1 wrong",
            ),
            "",
        ),
        (
            REFUSES.format("desc.input_tensor.data_type.size == 4"),
            0,
            (" FLOAT32 ",),
            f"left out: {EXP}: the backend refuses FLOAT16: no FLOAT16",
        ),
        (REFUSES.format(False), 2, (), "does none of what was asked for"),
        (FAILS, 3, (), f"dml-conformance: {EXP}: the backend fails: RuntimeError: lost\n"),
    ],
    ids=["wrong", "refuses a type", "refuses everything", "fails"],
)
def test_what_is_wrong_or_refused_is_shown(
    methods: str, code: int, printed: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    result = invoke("accuracy", "--backend", write_backend(tmp_path, methods), "--operator", EXP, "--per-binade", "1")
    assert result.exit_code == code, result.output
    assert all(words in result.stdout for words in printed)
    assert told in result.stderr
    assert bool(printed) is bool(result.stdout)
    assert ("FLOAT16" in result.stdout) is (code == 1)


def test_json_has_it_all(tmp_path: Path) -> None:
    name = write_backend(tmp_path, FAULT)
    chosen = ("--operator", EXP, "--operator", "ELEMENT_WISE_ABS", "--per-binade", "4", "--accuracy", "precise")
    result = invoke("accuracy", "--backend", name, *chosen, "--format", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {key: found[key] for key in ("format", "accuracy", "exhaustive")} == {
        "format": 1,
        "accuracy": "precise",
        "exhaustive": False,
    }
    assert set(found["backend"]) == {"name", "device", "versions"}
    assert [(one["operator"], one["data_type"], one["wrong"]) for one in found["results"]] == [
        (EXP, "FLOAT32", 0),
        (EXP, "FLOAT16", 1),
        ("ELEMENT_WISE_ABS", "FLOAT32", 0),
        ("ELEMENT_WISE_ABS", "FLOAT16", 1),
    ]
    one = found["results"][1]
    assert one["bound"] == "1 ULP"
    assert one["worst"][0]["argument"] == one["error"]["at"] == 1 + 2.0**-10
    assert one["error"]["largest"] == max(row["error"] for row in one["binades"]) > 39
    assert one["used"] == max(row["used"] for row in one["binades"])
    assert found["results"][2]["bound"] == "exact"
    assert found["results"][2]["binades"][0]["from"] == "-inf"


def test_several_arguments_are_a_list(tmp_path: Path) -> None:
    fault = FAULT.replace("input_tensor.data_type.size == 2", "a_tensor.data_type.size == 4").replace("u2", "u4")
    fault = fault.replace('inputs["input_tensor"]', 'inputs["a_tensor"]').replace("arguments == 0x3C01", "127 * 64 + 5")
    name = write_backend(tmp_path, fault)
    chosen = ("accuracy", "--backend", name, "--operator", "ELEMENT_WISE_ADD", "--per-binade", "64")
    of_32_bits, of_16_bits = json.loads(invoke(*chosen, "--format", "json").stdout)["results"]
    (wrong,) = of_32_bits["worst"]
    assert (of_32_bits["wrong"], of_16_bits["wrong"]) == (1, 0)
    assert wrong["argument"] == of_32_bits["error"]["at"]
    assert len(wrong["argument"]) == 2
    table = invoke(*chosen).stdout
    assert ", ".join(f"{each:.9g}" for each in wrong["argument"]) in table


@pytest.mark.slow
def test_all_functions_are_measured_unasked() -> None:
    result = invoke("accuracy", "--backend", "reference", "--per-binade", "1")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[1:-4:2]] == functions()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--exhaustive", "--per-binade", "4"), "--exhaustive and --per-binade exclude each other"),
        (("--operator", "GATHER"), "--operator GATHER: expected a function of numbers, such as ELEMENT_WISE_EXP"),
        (("--accuracy", "rough"), "'rough' is not one of 'directml', 'precise'"),
        (("--per-binade", "0"), "--per-binade"),
        (("--operator", "ELEMENT_WISE_EXQ"), "unknown operator"),
    ],
)
def test_wrong_usage_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = invoke("accuracy", "--backend", "reference", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
