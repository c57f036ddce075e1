"""`spec import`: what it writes, and the registry held against it: equal wherever a page says something.

Facts have paths (`GATHER/table/4_1/InputTensor/data-types`). Those of the pages are read from the file that
`spec import` writes, here and not by the checks of pages, so that the two are independent. What no page says is listed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import commands
import jsonschema
import msgspec
import pytest
from page_factories import LABELS, PUBLISHED
from places import ROOT

from dml_conformance.conformance.cli.errors import Exit
from dml_conformance.documents.read.collect import PageCollection
from dml_conformance.spec.examples import Example, examples, illustrations
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.registry import operator, rules

OWN = ROOT / "docs" / "examples" / "pages"
REAL = ROOT.parent / "shared" / "spec-pages"
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "pages.schema.json").read_text(encoding="utf-8"))

Facts = dict[str, Any]
Json = dict[str, Any]

TENSOR = "const DML_TENSOR_DESC *"
invoke = partial(commands.invoke, "spec", "import")


def imported(path: Path) -> list[Json]:
    result = invoke(str(path), "-o", "-")
    assert result.exit_code == Exit.CONFORMANT, result.stderr
    written: list[Json] = json.loads(result.stdout)["pages"]
    return written


# The intervals that the published pages print of attributes.
_RANGES = {
    "Axis": "[0, InputTensor.DimensionCount)",
    "IndexDimensions": "[0, IndicesTensor.DimensionCount)",
    "InputDimensionCount": "[1, InputTensor.DimensionCount]",
    "IndicesDimensionCount": "[1, IndicesTensor.DimensionCount]",
    "BatchDimensionCount": "[0, InputTensor.DimensionCount)",
}

# --- the registry's facts -----------------------------------------------------------------------------------------


def of_registry() -> Facts:
    """Of the operators that pages here are on."""
    return {f"{name}/{path}": value for name in PUBLISHED for path, value in of_operator(operator(name))}


def of_operator(spec: OperatorSpec) -> Iterator[tuple[str, Any]]:
    yield "structure", f"DML_{spec.name}_OPERATOR_DESC"
    yield "introduced-in", spec.introduced_in.label
    types = {field.name: field.type for field in spec.facts.fields}
    yield "fields", list(types.items())
    yield "members", list(types)
    for name, type_ in types.items():
        yield f"members/{name}/type", type_
        if name in _RANGES:
            yield f"members/{name}/range", _RANGES[name]
    if spec.index is not None:
        yield "members/IndicesTensor/levels", [rules()[f"{spec.name}.negative-indices"].since.label]
    for level, table in spec.tables.items():
        for field in spec.tensor_fields:
            path = f"table/{level.label}/{field.name}"
            yield f"{path}/kind", "Output" if field.is_output else "Input"
            yield f"{path}/dimension-counts", sorted(table[field.name].dimension_counts)
            yield f"{path}/data-types", sorted(data_type.name for data_type in table[field.name].data_types)
    for example in examples().values():
        if example.operator == spec.name:
            yield from of_example(example)
    for figure in illustrations().values():
        if figure.operator == spec.name:
            yield f"illustration/{sizes_text(figure.sizes)}", True


def of_example(example: Example) -> Iterator[tuple[str, Any]]:
    path = f"example/{example.id.partition('/')[2]}"
    fields = {field.name for field in example.spec.tensor_fields}
    yield f"{path}/attributes", {name: value for name, value in example.desc.items() if name not in fields}
    tensors = {name: of for name, of in example.desc.items() if name in fields and isinstance(of, dict)}
    for i, (name, tensor) in enumerate(tensors.items()):
        label = LABELS.get(example.id, {}).get(name, name)
        shown = {"label": label, "sizes": tensor["Sizes"], "type": tensor.get("DataType")}
        yield f"{path}/{i}", {**shown, "values": example.values.get(name)}


def sizes_text(sizes: Sequence[int]) -> str:
    return "{" + ",".join(map(str, sizes)) + "}"


# --- the pages' facts ---------------------------------------------------------------------------------------------


def of_page(page: Json) -> Iterator[tuple[str, Any]]:
    if page["declarations"]:  # the source form of a page has no syntax block
        yield "structure", page["structure"]
        yield "fields", [(declared["name"], declared["type"]) for declared in page["declarations"]]
    yield "introduced-in", page["introduced_in"]
    yield "members", [english(member["name"]) for member in page["members"]]
    for member in page["members"]:
        path = f"members/{english(member['name'])}"
        yield f"{path}/type", member["type"]
        levels = [level for text in member.get("text", ()) for level in _LEVEL.findall(english(text))]
        if levels:
            yield f"{path}/levels", levels
        if member["type"] == TENSOR:
            continue
        for interval in member.get("ranges", ()):
            opening, closing = "(["[interval["low_closed"]], ")]"[interval["high_closed"]]
            yield f"{path}/range", f"{opening}{interval['low']}, {interval['high']}{closing}"
    for table in page["tables"]:
        for row in table["rows"]:
            cells = dict(zip(table["columns"], map(english, row["cells"]), strict=True))
            path = f"table/{table['level']}/{cells['tensor']}"
            yield f"{path}/kind", row["kind"]
            yield f"{path}/dimension-counts", counts(cells["dimension_counts"])
            yield f"{path}/data-types", sorted(re.findall(r"[A-Z]+\d+", cells["data_types"]))
    for example in page["examples"]:
        path = f"example/{example['number']}"
        yield f"{path}/attributes", {name: value["value"] for name, value in example["attributes"].items()}
        for i, tensor in enumerate(example["tensors"]):
            said = {name: tensor.get(name, {}).get("value") for name in ("sizes", "data_type", "values")}
            yield (
                f"{path}/{i}",
                {
                    "label": tensor["label"]["text"],
                    "sizes": said["sizes"],
                    "type": said["data_type"],
                    "values": said["values"],
                },
            )
    for passage in page["passages"]:
        if passage["section"].startswith("members/"):
            for sizes in re.findall(r"\{[\d,]+\}", english(passage["quoted"]).replace(" ", "")):
                yield f"illustration/{sizes}", True


_LEVEL = re.compile(r"DML_FEATURE_LEVEL_(\d+_\d+)")


def english(quoted: Json) -> str:
    return str(quoted.get("original") or quoted["text"])


def counts(text: str) -> list[int]:
    """`1 to 8`, in whatever language: the numbers, and all between two."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return list(range(numbers[0], numbers[-1] + 1))


def compared(pages: Sequence[Json]) -> tuple[list[str], list[str]]:
    """What pages say that the registry does not, and what of the registry no page says."""
    registry = of_registry()
    wrong, said = [], set()
    for page in pages:
        for path, value in of_page(page):
            path = f"{page['operator']}/{path}"
            said.add(path)
            if path not in registry and not path.partition("/")[2].startswith("illustration/"):
                wrong.append(f"{page['path']}: {path}: {value!r}; the registry has no such thing")
            elif path in registry and registry[path] != value:
                wrong.append(f"{page['path']}: {path}: {value!r}; the registry has {registry[path]!r}")
    return wrong, [path for path in registry if path not in said]


# --- the real pages -----------------------------------------------------------------------------------------------

# What the five pages do not say: three are older than level 4_1, the page of GATHER_ND1 is not among them, and one
# example stands on a still older page of TILE.
UNSAID = (
    r"GATHER_ELEMENTS/table/4_1/.*",
    r"GATHER_ND/table/4_1/.*",
    r"GATHER_ND1/.*",
    r"TILE/example/old/.*",
)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """Those that the registry's operators have, without what lies in folders beside them."""
    if not REAL.is_dir():
        pytest.skip("the real pages are not beside the checkout (../shared/spec-pages)")
    folder = tmp_path_factory.mktemp("real")
    for path in REAL.glob("*.*"):
        shutil.copy(path, folder)
    return imported(folder)


def test_the_registry_says_what_the_real_pages_say(real: list[Json]) -> None:
    assert len(real) == 5
    assert {page["operator"] for page in real} == {"GATHER", "GATHER_ELEMENTS", "GATHER_ND", "TILE"}
    wrong, unsaid = compared(real)
    assert wrong == []
    unexpected = [path for path in unsaid if not any(re.fullmatch(pattern, path) for pattern in UNSAID)]
    assert unexpected == []
    for pattern in UNSAID:
        assert any(re.fullmatch(pattern, path) for path in unsaid), f"{pattern}: a page says it by now"


# --- our own pages ------------------------------------------------------------------------------------------------


def test_the_registry_says_what_our_own_pages_say() -> None:
    """They have examples of their own; IndexDimensions has the range of GATHER-1, BatchDimensionCount one as wide."""
    pages = [page for page in imported(ROOT / "tests" / "pages") if page["operator"] in PUBLISHED]
    assert {page["operator"] for page in pages} == set(PUBLISHED)
    wrong, unsaid = compared(pages)
    others = [line for line in wrong if not re.search(r"/(example/\d|members/(Index|Batch)\w+/range)", line)]
    assert others == []
    assert any("IndexDimensions/range: '[0, IndicesTensor.DimensionCount]'; the" in line for line in wrong)
    meant = re.compile(r"\w+/(example|illustration)/.*")
    assert [path for path in unsaid if not meant.fullmatch(path)] == []


# --- the command --------------------------------------------------------------------------------------------------


def test_it_writes_by_the_published_schema(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    target = tmp_path / "pages.json"
    result = invoke(str(OWN), "-o", str(target))
    assert result.exit_code == Exit.CONFORMANT
    written = json.loads(target.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.validate(written)
    assert [page["language"] for page in written["pages"]] == ["de-DE", "en-US"]
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["page", "operator", "language", "fields", "tables", "examples", "not", "read"]
    assert len(lines) == 4
    assert lines[-1] == f"1 file in folders passed over: {OWN / 'strides.md'}"
    written["pages"][0]["tables"][0]["rows"][0]["dimension_counts"] = "1 to 8"
    assert not validator.is_valid(written)


def test_what_cannot_be_read_does_not_keep_the_others_from_being_written(tmp_path: Path) -> None:
    target = tmp_path / "pages.json"
    (tmp_path / "noise.md").write_bytes(bytes(range(256)))
    (tmp_path / "direction.md").write_text("---\nUID: NE:directml.DML_AXIS_DIRECTION\n---\n\n# DML_AXIS_DIRECTION\n")
    others = [str(tmp_path / name) for name in ("noise.md", "direction.md", "none.md")]
    result = invoke(*others, "-o", str(target))
    assert (result.exit_code, result.stdout, target.exists()) == (Exit.BAD_INPUT, "", False)
    result = invoke(others[0], str(OWN / "tile.md"), *others[1:], "-o", str(target))
    assert result.exit_code == Exit.BAD_INPUT
    assert len(result.stderr.splitlines()) == 3
    assert [page.operator for page in msgspec.json.decode(target.read_bytes(), type=PageCollection).pages] == ["TILE"]
