"""`dml-conformance tolerance`: what it prints, what data it takes, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from commands import invoke
from places import ROOT

from dml_conformance import enclosure
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.strategies.values import materialize

FIELDS = {
    "ATensor": {"DataType": "FLOAT32", "Sizes": [2, 70]},
    "BTensor": {"DataType": "FLOAT32", "Sizes": [70, 3]},
    "TransA": "NONE",
    "TransB": "NONE",
    "Alpha": 1.0,
    "Beta": 0.0,
}
PRODUCT = {"type": "DML_OPERATOR_GEMM", "desc": FIELDS}
CASE = ROOT / "docs" / "examples" / "case.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desc.json").write_text(json.dumps(PRODUCT))
    rng = np.random.default_rng(0)
    arrays = {"ATensor": rng.standard_normal((2, 70), np.float32), "BTensor": rng.standard_normal((70, 3), np.float32)}
    np.savez("arrays.npz", **arrays)
    np.save("b.npy", arrays["BTensor"])
    return tmp_path


def as_json(*arguments: object) -> Any:
    result = invoke("tolerance", *arguments, "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def of_recipes(**recipes: Recipe) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of the product's inputs."""
    keys = {"ATensor": "a_tensor", "BTensor": "b_tensor"}
    whole = PRODUCT | {
        "desc": FIELDS | {"OutputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}},
        "level": HIGHEST.label,
        "data": {name: msgspec.to_builtins(recipe) for name, recipe in recipes.items()},
    }
    contents = materialize(Case.from_json(whole))
    return {name: contents[key].view(np.float32).reshape(FIELDS[name]["Sizes"]) for name, key in keys.items()}


def test_a_table_says_which_tolerances_hold(folder: Path) -> None:
    """None of them is printed as less than it is."""
    result = invoke("tolerance", "desc.json", "--data", "arrays.npz")
    assert (result.exit_code, result.stderr) == (0, "")
    about, first, second, empty, header, row, gap, title, widest, *rest = result.stdout.splitlines()
    assert about == "GEMM at 6_4, held to the tolerance directml"
    assert (first, second) == ("  ATensor: an array", "  BTensor: an array")
    assert empty == gap == ""
    assert header.split() == ["output", "type", "elements", "rtol", "atol", "both:", "rtol,", "atol", "ulp"]
    name, kind, size, *shown, ulp = row.replace(",", "").split()
    assert (name, kind, size) == ("OutputTensor", "FLOAT32", "6")
    exact = enclosure(PRODUCT, dict(np.load("arrays.npz")))["OutputTensor"].tolerances
    assert ulp == str(exact.ulp)
    for text, number in zip(shown, (exact.rtol, exact.atol, *exact.both), strict=True):
        assert number <= float(text) <= number * 1.01
    assert title == "OutputTensor, where right values are farthest apart:"
    assert widest.split() == ["at", "value", "low", "high"]
    elements, (told, names, *steps) = rest[:3], rest[4:]
    assert all(element.startswith("[") for element in elements)
    assert rest[3] == ""
    assert told == "OutputTensor, by how much the first of these would be narrower if a step lost nothing:"
    assert names.split() == ["step", "formula", "narrower", "by"]
    assert [step.split()[0] for step in steps] == ["add", "multiply"]
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_where_no_step_alone_makes_the_difference_that_is_told(folder: Path) -> None:
    """Subnormal numbers may be taken for zero, however well they are computed."""
    np.save("x.npy", np.float32([-90.0, -95.0]))
    Path("exp.json").write_text(json.dumps({"type": "DML_OPERATOR_ELEMENT_WISE_EXP", "desc": {}}))
    text = invoke("tolerance", "exp.json", "--data", "InputTensor=x.npy").stdout
    assert text.endswith(
        "OutputTensor: no step alone makes the first of these wide; its type does, or what is near zero\n"
    )
    assert as_json("exp.json", "--data", "InputTensor=x.npy")["outputs"][0]["steps"] == []
    steps = as_json("desc.json", "--data", "arrays.npz")["outputs"][0]["steps"]
    assert [step["primitive"] for step in steps] == ["add", "multiply"]
    assert 0.9 < sum(step["part"] for step in steps) < 1.1


def test_the_data_is_recipes_or_arrays(folder: Path) -> None:
    """Without any it is made by the patterns of the operator's domains; what is named last counts."""
    recipes = {"ATensor": Recipe("positive", 0), "BTensor": Recipe("positive", 1)}
    given = {
        (): recipes,
        ("cancelling:7",): {"ATensor": Recipe("cancelling", 7), "BTensor": Recipe("cancelling", 8)},
        ("BTensor=moderate",): recipes | {"BTensor": Recipe("moderate")},
        ("moderate", "ATensor=weights:3"): {"ATensor": Recipe("weights", 3), "BTensor": Recipe("moderate", 1)},
        ('BTensor={"pattern": "ramp", "seed": 5}',): recipes | {"BTensor": Recipe("ramp", 5)},
    }
    for texts, expected in given.items():
        found = as_json("desc.json", *(part for text in texts for part in ("--data", text)))
        assert found["data"] == {name: msgspec.to_builtins(recipe) for name, recipe in expected.items()}, texts
        tolerances = enclosure(PRODUCT, of_recipes(**expected))["OutputTensor"].tolerances
        (output,) = found["outputs"]
        assert (output["rtol"], output["atol"], output["ulp"]) == (tolerances.rtol, tolerances.atol, tolerances.ulp)
        assert output["both"] == list(tolerances.both)
    mixed = as_json("desc.json", "--data", "positive", "--data", "BTensor=b.npy")
    assert mixed["data"] == {"ATensor": msgspec.to_builtins(Recipe("positive")), "BTensor": None}
    arrays = of_recipes(**recipes) | {"BTensor": np.load("b.npy")}
    assert mixed["outputs"][0]["atol"] == enclosure(PRODUCT, arrays)["OutputTensor"].tolerances.atol


def test_tensors_follow_from_arrays(folder: Path) -> None:
    short = {name: value for name, value in FIELDS.items() if not name.endswith("Tensor")}
    Path("short.json").write_text(json.dumps(PRODUCT | {"desc": short}))
    assert as_json("short.json", "--data", "arrays.npz") == as_json("desc.json", "--data", "arrays.npz")


def test_a_case_brings_its_data_and_level() -> None:
    found = as_json(CASE)
    assert (found["operator"], found["level"]) == ("GATHER", "3_0")
    assert found["data"]["InputTensor"] == {"pattern": "random-bits", "seed": 7}
    (output,) = found["outputs"]
    assert (output["rtol"], output["atol"], output["both"], output["ulp"], output["widest"]) == (0, 0, [0, 0], 0, [])
    text = invoke("tolerance", CASE, "--level", "4_0").stdout
    assert text.startswith("GATHER at 4_0, held to the tolerance directml\n  InputTensor: random-bits, seed 7\n")
    assert "  IndicesTensor: explicit\n" in text
    assert text.endswith("OutputTensor: every bit of it is determined\n")


def test_what_is_open_is_told(folder: Path) -> None:
    """And where no tolerance admits every right result."""
    found = as_json(CASE, "--data", "IndicesTensor=out-of-range")
    assert found["outputs"][0]["from_memory"] > 0
    text = invoke("tolerance", CASE, "--data", "IndicesTensor=out-of-range").stdout
    assert "elements any element of an input's memory is right; the tolerances are those of the others" in text
    large = np.where(np.arange(70) % 2, np.float32(2e19), np.float32(-2e19))
    np.savez("large.npz", ATensor=np.stack([large, large]), BTensor=np.full((70, 3), 2e19, np.float32))
    found = as_json("desc.json", "--data", "large.npz")["outputs"][0]
    assert found["rtol"] is found["atol"] is found["both"] is None
    assert math.isinf(float(found["widest"][0]["high"]))
    assert invoke("tolerance", "desc.json", "--data", "large.npz").stdout.count(" none ") == 3


def test_bad_input_ends_with_2_and_names_file_and_field(folder: Path) -> None:
    Path("bad.npz").write_bytes(b"PK\x03\x04 not an archive")
    Path("bad.npy").write_bytes(b"")
    np.save("wrong.npy", np.zeros(3))
    header = Path("wrong.npy").read_bytes()
    Path("header.npy").write_bytes(header.replace(b"'descr'", b"'descr("))
    Path("large.npy").write_bytes(header.replace(b"(3,), }" + b" " * 9, b"(3000000000000,)"))
    Path("many.npy").write_bytes(Path("arrays.npz").read_bytes())
    Path("one.npz").write_bytes(header)
    np.save("objects.npy", np.array([{}], object))
    np.save("wide.npy", np.zeros((70, 3)))
    np.savez("other.npz", C=np.zeros(3, np.float32))
    Path("two.json").write_text(json.dumps([PRODUCT, PRODUCT]))
    Path("wrong.json").write_text(json.dumps(PRODUCT | {"data": {"ATensor": {"seed": "x"}}}))
    low = PRODUCT | {"desc": FIELDS | {"BTensor": {"DataType": "FLOAT16", "Sizes": [70, 3]}}}
    Path("rule.json").write_text(json.dumps(low))
    huge = [{"DataType": "FLOAT32", "Sizes": sizes} for sizes in ([40_000, 1], [1, 40_000])]
    Path("huge.json").write_text(json.dumps(PRODUCT | {"desc": FIELDS | {"ATensor": huge[0], "BTensor": huge[1]}}))
    told = {
        ("huge.json",): "huge.json: GEMM: expected tensors of 64 MiB in all at most, found 6,103 MiB; dml_con",
        ("none.json",): "none.json: cannot be read: No such file or directory",
        ("two.json",): "two.json: expected one operator, found 2; give it in a file of its own",
        ("wrong.json",): "wrong.json: data: Expected `int`, got `str` - at `$[...].seed`",
        ("rule.json",): "rule.json: GEMM at 6_4: breaks GEMM.same-data-type (",
        ("desc.json", "--level", "1_0"): "desc.json: GEMM at 1_0: breaks GEMM.dimension-counts ",
        ("desc.json", "--data", "bad.npz"): "bad.npz: expected arrays of numbers as numpy.save or numpy.savez writes",
        ("desc.json", "--data", "ATensor=bad.npy"): "bad.npy: expected arrays of numbers",
        ("desc.json", "--data", "ATensor=objects.npy"): "objects.npy: expected arrays of numbers",
        ("desc.json", "--data", "ATensor=header.npy"): "header.npy: expected arrays of numbers",
        ("desc.json", "--data", "ATensor=large.npy"): "large.npy: expected arrays of numbers",
        ("desc.json", "--data", "ATensor=many.npy"): "many.npy: holds several arrays; give it as FILE.npz",
        ("desc.json", "--data", "one.npz"): "one.npz: holds one array without a name; give it as FIELD=FILE.npy",
        ("desc.json", "--data", "ATensor=none.npy"): "none.npy: cannot be read: No such file or directory",
        ("desc.json", "--data", "BTensor=wide.npy"): (
            "desc.json: BTensor: expected float32 of shape (70, 3), found float64 of shape (70, 3)"
        ),
        (
            "desc.json",
            "--data",
            "other.npz",
        ): "desc.json: C: GEMM has no such input tensor; it has ATensor, BTensor, CTensor",
        ("desc.json", "--data", "D=ramp"): "desc.json: D: GEMM has no such input tensor here; it has ATensor, BTensor",
        ("desc.json", "--data", "ATensor=pink"): "desc.json: ATensor: unknown pattern 'pink'; known here: ramp, ",
        ("desc.json", "--data", "ATensor={"): "--data ATensor={: expected a recipe as JSON: ",
        ("desc.json", "--data", "what is this?"): "--data what is this?: expected PATTERN, PATTERN:SEED or JSON of a",
    }
    for arguments, message in told.items():
        result = invoke("tolerance", *arguments)
        assert (result.exit_code, result.stdout) == (2, ""), arguments
        assert result.stderr.startswith(f"dml-conformance: {message}"), arguments
        assert result.stderr.count("\n") == 1
