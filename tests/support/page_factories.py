"""Pages that say what the registry does, without a fault, as text that a fault can be put in."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

from pages_support import parsed

from dml_conformance.documents.check.subject import registered_types
from dml_conformance.documents.read.model import LevelRow, Page, Place, Quoted
from dml_conformance.documents.read.tables import COLUMNS, level_row
from dml_conformance.spec.examples import Example, examples
from dml_conformance.spec.operator import Field, OperatorSpec
from dml_conformance.spec.registry import operator

# What the pages say beside their tables: formula, and intervals of the attributes.
_FORMULAS = {
    "GATHER": """OutputTensor.Sizes = {
    InputTensor.Sizes[0..Axis],
    IndicesTensor.Sizes[(IndicesTensor.DimensionCount - IndexDimensions) .. IndicesTensor.DimensionCount],
    InputTensor.Sizes[(Axis+1) .. InputTensor.DimensionCount]
}""",
    "GATHER_ELEMENTS": "OutputTensor.Sizes = IndicesTensor.Sizes",
    "GATHER_ND": """tuple = IndicesTensor.Sizes[IndicesTensor.DimensionCount - 1] // coordinates
OutputTensor.Sizes = {
    1...,
    IndicesTensor.Sizes[(IndicesTensor.DimensionCount - IndicesDimensionCount)..(IndicesTensor.DimensionCount-1)],
    InputTensor.Sizes[InputTensor.DimensionCount - InputDimensionCount + tuple .. InputTensor.DimensionCount]
}""",
}
_FORMULAS["GATHER_ND1"] = _FORMULAS["GATHER_ND"]
_RANGES = {
    "Axis": "[0, InputTensor.DimensionCount)",
    "IndexDimensions": "[0, IndicesTensor.DimensionCount]",
    "InputDimensionCount": "[1, InputTensor.DimensionCount]",
    "IndicesDimensionCount": "[1, IndicesTensor.DimensionCount]",
    "BatchDimensionCount": "[0, InputTensor.DimensionCount)",
}
_SENTENCES = {
    "GATHER/IndexDimensions": "Given IndicesTensor.Sizes = {1, 1, 4, 6} and IndexDimensions = 3, {1, 4, 6} counts.",
    "TILE/OutputTensor": "Each size is OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]. No other.",
}
_GATHERED = {
    "InputTensor": ((1, 1, 3, 2), "FLOAT32", [[[[1, 2], [3, 4], [5, 6]]]]),
    "OutputTensor": ((1, 1, 2, 2), "FLOAT32", [[[[5, 6], [1, 2]]]]),
}
_EXAMPLES: dict[str, dict[str, Any]] = {
    "GATHER": {
        "Axis": 2,
        "IndexDimensions": 1,
        "IndicesTensor": ((1, 1, 1, 2), "UINT32", [[[[2, 0]]]]),
        **_GATHERED,
    },
    "GATHER_ELEMENTS": {"Axis": 2, "IndicesTensor": ((1, 1, 2, 2), "UINT32", [[[[2, 2], [0, 0]]]]), **_GATHERED},
}

# What the titles of published examples claim, and the names that tensors are printed under where those are not theirs.
TITLES = {"GATHER/2": "axis 0", "GATHER/3": "2D, axis 1", "GATHER/4": "2D, axis 1", "GATHER/5": "2D, axis 0"}
LABELS = {
    "TILE/1": {"OutputTensor": "InputTensor"},
    "REVERSE_SUBSEQUENCES/1": {"SequenceLengthsTensor": "SequenceTensor"},
    "REVERSE_SUBSEQUENCES/2": {"SequenceLengthsTensor": "SequenceTensor"},
}

# The faults of the published pages beside those of their examples, in words of our own.
_MISMATCH = ("What OutputTensor is.", "DimensionCount and DataType of this must match InputTensor.DimensionCount.")
_SIX_COORDINATES = (
    "What IndicesDimensionCount is, in [1, IndicesTensor.DimensionCount].",
    "Given IndicesTensor.Sizes = {1,1,4,6} and IndicesDimensionCount = 3, {1,4,6} counts.",
)
_FORMULA = (" - InputDimensionCount + tuple", " - tuple")  # of errata GATHER_ND-1 and GATHER_ND1-1
_FAULTS: dict[str, tuple[tuple[str, str], ...]] = {
    "GATHER": (_MISMATCH, ("IndicesTensor.DimensionCount].", "IndicesTensor.DimensionCount).")),
    "GATHER_ELEMENTS": (),
    "GATHER_ND": (_MISMATCH, _SIX_COORDINATES, _FORMULA),
    "GATHER_ND1": (
        _MISMATCH,
        _SIX_COORDINATES,
        _FORMULA,
        ("Negative", "Starting with DML_FEATURE_LEVEL_3_0, negative"),
    ),
    "TILE": (("* InputTensor, OutputTensor must have the same DimensionCount.\n", ""),),
}

# The operators whose published pages have a likeness here; the pages themselves are held to the registry elsewhere.
PUBLISHED = tuple(_FAULTS)


Edit = tuple[str | re.Pattern[str], str]


def page_of(name: str, *edits: Edit, path: str = "page.md") -> Page:
    """A page of an operator that says what the registry does, with one example: no fault in it.

    Args:
        name: of the operator; PICK is one that the registry does not know, but for its name GATHER.
        edits: what is replaced in its text, once, and by what.
        path: of the page.
    """
    return parsed(edited(_text(name), *edits), path)


def edited(text: str, *edits: Edit) -> str:
    for old, new in edits:
        if isinstance(old, str):
            assert old in text, f"{old!r} does not stand on the page"
            text = text.replace(old, new, 1)
        else:
            text, count = old.subn(new, text, count=1)
            assert count, f"nothing on the page matches {old.pattern!r}"
    return text


def behind(start: str, old: str, new: str) -> Edit:
    """An edit of what stands somewhere behind something else: in the table of a level."""
    return re.compile(f"({start}.*?){re.escape(old)}", re.DOTALL), rf"\g<1>{new}"


def table_at(level: str, new: str = "") -> Edit:
    """An edit of the whole table of a level with its heading; in `new` the groups 1 to 3 are `###`, level and rest."""
    return re.compile(rf"(### DML_FEATURE_LEVEL_)({level})( and above\n.*?)(?=##)", re.DOTALL), new


def published_page(name: str, *edits: Edit) -> Page:
    """A page of an operator with the known faults of the published one, and its examples as printed there."""
    known = (example for example in examples().values() if example.operator == name and example.id[-1].isdigit())
    printed = "\n".join(map(_printed_example, known))
    return page_of(name, *_FAULTS[name], (re.compile(r"### Example.*\Z", re.DOTALL), printed), *edits)


def level_row_of(line: int, *cells: str, originals: Sequence[str] = ()) -> LevelRow:
    """A row of (tensor, kind, counts, types), each cell with its original."""
    stands = originals or (None,) * len(cells)
    quotes = tuple(
        Quoted(cell, Place(line, 20 * number + 1), original)
        for number, (cell, original) in enumerate(zip(cells, stands, strict=True))
    )
    return level_row(quotes, COLUMNS)


@cache
def _text(name: str) -> str:
    if name == "PICK":
        return _text("GATHER").replace("DML_GATHER_", "DML_PICK_")
    spec = operator(name)
    structure = f"DML_{name}_OPERATOR_DESC"
    parts = (
        f"---\nUID: NS:directml.{structure}\nms.contentlocale: en-US\n---\n",
        f"# {structure} structure\n\nWhat it does.\n",
        f"## Syntax\n\n```\nstruct {structure} {{",
        *_declarations(spec),
        "};\n```\n\n## Members\n",
        *(_member(spec, field, kind) for field, kind in registered_types(spec)),
        f"## Availability\n\nThis operator was introduced in DML_FEATURE_LEVEL_{spec.introduced_in}.\n",
        "## Tensor constraints\n",
        *_constraints(spec),
        "\n## Tensor support\n",
        *_tables(spec),
        "## Examples\n",
        _example(spec),
    )
    return "\n".join(parts)


def _declarations(spec: OperatorSpec) -> Iterator[str]:
    registered = {field.name: field for field in spec.fields}
    for name, kind in registered_types(spec):
        yield f"  {_annotation(registered.get(name))}{kind}{'' if kind.endswith('*') else ' '}{name};"


def _annotation(field: Field | None) -> str:
    """That a field may be null, and which field it has as an array's length."""
    if field is None or not (field.optional or field.count_field):
        return ""
    optional = "opt_" * field.optional
    return f"_Field_size_{optional}({field.count_field}) " if field.count_field else "_Maybenull_ "


def _member(spec: OperatorSpec, field: str, kind: str) -> str:
    said = _SENTENCES.get(f"{spec.name}/{field}", f"What {field} is.")
    if spec.name in PUBLISHED:
        if field in _RANGES:
            said = f"{said.removesuffix('.')}, in {_RANGES[field]}."
        if field == "IndicesTensor":
            is_later = spec.introduced_in.label == "3_0"
            said = "Negative indices are supported."
            said = said if is_later else f"Starting with DML_FEATURE_LEVEL_3_0, {said.lower()}"
    code = f"```\n{_FORMULAS[spec.name]}\n```\n" if field == "OutputTensor" and spec.name in _FORMULAS else ""
    return f"`{field}`\n\nType: {kind}\n\n{said}\n\n{code}"


def _constraints(spec: OperatorSpec) -> Iterator[str]:
    for prop, groups in (("DimensionCount", spec.rank_groups), ("DataType", spec.type_groups)):
        for fields in groups.values():
            if len(fields) > 1:
                yield f"* {', '.join(field.name for field in fields)} must have the same {prop}."


def _tables(spec: OperatorSpec) -> Iterator[str]:
    for variant, tables in spec.variants.items():
        if variant:
            yield f"### {variant}\n"
        for level, content in sorted(tables.items(), reverse=True):
            yield f"###{'#' * bool(variant)} DML_FEATURE_LEVEL_{level} and above\n"
            yield "| Tensor | Kind | Supported dimension counts | Supported data types |\n|-|-|-|-|"
            for field in spec.tensor_fields:
                kind = "Optional " * field.optional + ("Output" if field.is_output else "Input")
                types = ", ".join(data_type.name for data_type in sorted(content[field.name].data_types))
                yield f"| {field.name} | {kind} | {counts_text(content[field.name].dimension_counts)} | {types} |"
            yield ""


def counts_text(counts: Collection[int]) -> str:
    first, last = min(counts), max(counts)
    is_range = 1 < len(counts) == last - first + 1
    return f"{first} to {last}" if is_range else ", ".join(map(str, sorted(counts)))


def _is_right(example: Example) -> bool:
    """Whether all that is printed of an example is true, whole and within the lowest table."""
    whole = not example.unprinted and not any(
        isinstance(of, list) and of and isinstance(of[0], dict) for of in example.desc.values()
    )
    return whole and not example.corrections and bool(example.values) and example.level == example.spec.introduced_in


def _example(spec: OperatorSpec) -> str:
    """One that is right, and that a page may number 1; none where none is known."""
    if spec.name in _EXAMPLES:
        return _printed("Example 1. Figures", _EXAMPLES[spec.name])
    known = next((one for one in examples().values() if one.operator == spec.name and _is_right(one)), None)
    if known is None:
        return ""
    number = 1 if spec.name in PUBLISHED else int(known.id.rpartition("/")[2])
    return _printed(f"Example {number}. Figures", _content(known))


def _printed_example(known: Example) -> str:
    labels = LABELS.get(known.id, {})
    content = [(labels.get(name, name), of) for name, of in _content(known).items()]
    number = known.id.rpartition("/")[2]
    return _printed(f"Example {number}. {TITLES.get(known.id, 'Figures')}", content)


def _content(known: Example) -> dict[str, Any]:
    """The attributes of an example, and of each tensor its sizes, type and values."""
    return {
        name: (of["Sizes"], of.get("DataType"), known.values.get(name)) if isinstance(of, dict) else of
        for name, of in known.desc.items()
    }


def _printed(title: str, content: Any) -> str:
    lines = [f"### {title}\n\n```"]
    for name, of in content.items() if isinstance(content, dict) else content:
        if isinstance(of, tuple):
            sizes, data_type, values = of
            lines.append(f"{name}: (Sizes:{_shown(sizes)}{f', DataType:{data_type}' if data_type else ''})")
            lines += [_shown(values)] if values is not None else []
        elif of is not None:
            lines.append(f"{name}: {_shown(of)}")
    return "\n".join((*lines, "```\n"))


def _shown(value: Any) -> str:
    """JSON with braces for lists, names without quotes, and Booleans in capitals, as C has them."""
    if isinstance(value, bool):
        return str(value).upper()
    return json.dumps(value).translate(str.maketrans("[]", "{}", '"'))
