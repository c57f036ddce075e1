"""Page models made by hand: whole pages of the registry's operators without a fault, and parts to put faults in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dml_conformance.documents.check.subject import registered_types
from dml_conformance.documents.read.model import (
    FORMAT,
    CodeBlock,
    Declaration,
    ExampleTensor,
    FieldSection,
    Form,
    LevelRow,
    LevelTable,
    Page,
    PageExample,
    Passage,
    Place,
    PrintedInterval,
    Quoted,
    Value,
)
from dml_conformance.documents.read.tables import COLUMNS, level_row
from dml_conformance.spec.examples import Example, examples
from dml_conformance.spec.operator import Field, OperatorSpec
from dml_conformance.spec.registry import operator


def quoted(text: str, line: int = 1, original: str | None = None, marked: Sequence[str] = ()) -> Quoted:
    return Quoted(text, Place(line, 1), original, tuple(marked))


def value(content: Any, line: int = 1, column: int = 1) -> Value:
    """A printed value; the text is that of JSON with braces for lists."""
    text = msgspec.json.encode(content).decode().replace("[", "{").replace("]", "}").replace('"', "")
    return Value(content, text, Place(line, column))


def row(tensor: str, kind: str, counts: Sequence[int], types: Sequence[str], line: int = 1) -> LevelRow:
    listed = sorted(counts)
    numbers = str(listed[0]) if len(listed) == 1 else f"{listed[0]} to {listed[-1]}"
    texts = (tensor, kind, numbers, ", ".join(types))
    cells = tuple(Quoted(text, Place(line, 1 + 20 * i)) for i, text in enumerate(texts))
    is_optional = kind.startswith("Optional ")
    bare = kind.removeprefix("Optional ").capitalize()
    return LevelRow(cells, tensor, bare, tuple(listed), tuple(types), optional=is_optional)


def translated_row(line: int, *cells: str, originals: Sequence[str] = ()) -> LevelRow:
    """A row of (tensor, kind, counts, types), each cell with its original."""
    stands = originals or (None,) * len(cells)
    quotes = tuple(
        Quoted(cell, Place(line, 20 * number + 1), original)
        for number, (cell, original) in enumerate(zip(cells, stands, strict=True))
    )
    return level_row(quotes, COLUMNS)


def table(level: str, rows: Sequence[LevelRow], line: int = 1) -> LevelTable:
    header = tuple(quoted(text, line + 1) for text in ("Tensor", "Kind", "Dimension counts", "Data types"))
    return LevelTable(quoted(f"DML_FEATURE_LEVEL_{level} and above", line), level, header, COLUMNS, tuple(rows))


def example_tensor(label: str, sizes: Any, data_type: str | None, values: Any, line: int = 1) -> ExampleTensor:
    return ExampleTensor(
        quoted(label, line),
        value(list(sizes), line, 20),
        None if data_type is None else value(data_type, line, 40),
        None if values is None else value(values, line + 1),
    )


def interval(text: str, line: int = 1) -> PrintedInterval:
    """An interval as mathematics writes it: `[0, Axis)`."""
    low, high = text[1:-1].split(", ")
    return PrintedInterval(low, high, text[0] == "[", text[-1] == "]", Place(line, 10))


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
_RANGES = {
    "Axis": "[0, InputTensor.DimensionCount)",
    "IndexDimensions": "[0, IndicesTensor.DimensionCount]",
    "InputDimensionCount": "[1, InputTensor.DimensionCount]",
    "IndicesDimensionCount": "[1, IndicesTensor.DimensionCount]",
    "BatchDimensionCount": "[0, InputTensor.DimensionCount)",
}
_SENTENCES = {
    (
        "GATHER",
        "IndexDimensions",
    ): "Given IndicesTensor.Sizes = {1, 1, 4, 6} and IndexDimensions = 3, {1, 4, 6} counts.",
    ("TILE", "OutputTensor"): "Each size is OutputTensor.Sizes[i] = InputTensor.Sizes[i] * Repeats[i]. No other.",
    "IndicesTensor": "Starting with DML_FEATURE_LEVEL_3_0, negative indices are supported.",
}
_GATHERED = {
    "Axis": 2,
    "InputTensor": ((1, 1, 3, 2), "FLOAT32", [[[[1, 2], [3, 4], [5, 6]]]]),
    "OutputTensor": ((1, 1, 2, 2), "FLOAT32", [[[[5, 6], [1, 2]]]]),
}
_EXAMPLES: dict[str, dict[str, Any]] = {
    "GATHER": {
        **_GATHERED,
        "IndicesTensor": ((1, 1, 1, 2), "UINT32", [[[[2, 0]]]]),
        "IndexDimensions": 1,
    },
    "GATHER_ELEMENTS": {
        **_GATHERED,
        "IndicesTensor": ((1, 1, 2, 2), "UINT32", [[[[2, 2], [0, 0]]]]),
    },
}


def _text(sentence: str) -> dict[str, Any]:
    return {"text": (quoted(sentence, 33),)}


# What the titles of published examples claim, and the names that tensors are printed under where those are not theirs.
TITLES = {"GATHER/2": "axis 0", "GATHER/3": "2D, axis 1", "GATHER/4": "2D, axis 1", "GATHER/5": "2D, axis 0"}
LABELS = {
    "TILE/1": {"OutputTensor": "InputTensor"},
    "REVERSE_SUBSEQUENCES/1": {"SequenceLengthsTensor": "SequenceTensor"},
    "REVERSE_SUBSEQUENCES/2": {"SequenceLengthsTensor": "SequenceTensor"},
}

# The faults of the published pages in the sections on the fields, in words of our own.
_MISMATCH = _text("DimensionCount and DataType of this must match InputTensor.DimensionCount.")
_SIX_COORDINATES = _text("Given IndicesTensor.Sizes = {1,1,4,6} and IndicesDimensionCount = 3, {1,4,6} counts.")
_PUBLISHED: dict[str, dict[str, dict[str, Any]]] = {
    "GATHER_ELEMENTS": {},
    "TILE": {},
    "GATHER": {
        "OutputTensor": _MISMATCH,
        "IndexDimensions": {"ranges": (interval("[0, IndicesTensor.DimensionCount)", 63),)},
    },
    "GATHER_ND": {"OutputTensor": _MISMATCH, "IndicesDimensionCount": _SIX_COORDINATES},
    "GATHER_ND1": {
        "OutputTensor": _MISMATCH,
        "IndicesDimensionCount": _SIX_COORDINATES,
        "IndicesTensor": _text("Starting with DML_FEATURE_LEVEL_3_0, negative indices are supported."),
    },
}


# The operators whose published pages have a likeness here; the pages themselves are held to the registry elsewhere.
PUBLISHED = tuple(_PUBLISHED)


def bare_page(name: str, path: str, **fields: Any) -> Page:
    """An English page on an operator that says nothing beside these fields."""
    empty: dict[str, Any] = dict.fromkeys(Page.__struct_fields__, ())
    return Page(
        **empty
        | {"format": FORMAT, "path": path, "digest": "0" * 64, "form": Form.MARKDOWN, "language": "en-US"}
        | {"edition": None, "title": None, "front_matter": {}, "introduced_in": None}
        | {"operator": name, "structure": f"DML_{name}_OPERATOR_DESC"}
        | fields
    )


def page_of(name: str) -> Page:
    """A page of an operator that says what the registry does, with one example of four dimensions. No fault in it."""
    spec = operator(name)
    fields = registered_types(spec)
    registered = {field.name: field for field in spec.fields}
    page = bare_page(
        name,
        f"{name.lower()}.md",
        title=quoted(f"DML_{name}_OPERATOR_DESC structure", 1),
        declarations=tuple(
            Declaration(name, kind, Place(10 + n, 3), *_annotations(registered.get(name)))
            for n, (name, kind) in enumerate(fields)
        ),
        members=tuple(_member(name, field, kind, 20 + 10 * n) for n, (field, kind) in enumerate(fields)),
        introduced_in=spec.introduced_in.label,
        availability=(quoted(f"This operator was introduced in DML_FEATURE_LEVEL_{spec.introduced_in}.", 120),),
        constraints=_constraints(spec),
        tables=_tables(spec),
        examples=_example(spec),
    )
    if name in _FORMULAS:
        block = CodeBlock("members/OutputTensor", _FORMULAS[name], "formula", Place(45, 1))
        page = msgspec.structs.replace(page, code_blocks=(block,))
    return with_passages(page)


def gather(path: str = "page.md", **changes: Any) -> Page:
    """A page on GATHER with the tables of two levels, pseudocode and one sentence; `changes` replace its attributes."""
    page = page_of("GATHER")
    parts: dict[str, Any] = {
        "path": path,
        "tables": tuple(level_table for level_table in page.tables if level_table.level in ("3_0", "1_0")),
        "code_blocks": (CodeBlock("description", "output[i] = input[indices[i]]", "pseudocode", Place(5, 1)),),
        "passages": (Passage("description", "sentence", quoted("Gathers elements.", 4)),),
    }
    return msgspec.structs.replace(page, **{**parts, **changes})


def published_page(name: str) -> Page:
    """A page of an operator with the known faults of the published one, and its examples as printed there."""
    page = page_of(name)
    known = [example for example in examples().values() if example.operator == name and example.id[-1].isdigit()]
    page = msgspec.structs.replace(page, examples=tuple(_printed_example(example) for example in known))
    for field, changes in _PUBLISHED.get(name, {}).items():
        page = change_member(page, field, **changes)
    if name in ("GATHER_ND", "GATHER_ND1"):
        # The wrong formula of errata GATHER_ND-1 and GATHER_ND1-1.
        printed = _FORMULAS["GATHER_ND"].replace(" - InputDimensionCount + tuple", " - tuple")
        block = CodeBlock("members/OutputTensor", printed, "formula", Place(45, 1))
        page = msgspec.structs.replace(page, code_blocks=(block,))
    if name == "TILE":
        page = msgspec.structs.replace(page, constraints=page.constraints[1:])
    return with_passages(page)


def unknown_page() -> Page:
    """A page without a fault on an operator that the registry does not know."""
    page = page_of("GATHER")
    return with_passages(
        msgspec.structs.replace(
            page,
            operator="PICK",
            structure="DML_PICK_OPERATOR_DESC",
            title=quoted("DML_PICK_OPERATOR_DESC structure", 1),
        )
    )


def with_passages(page: Page) -> Page:
    """The page with its sentences and headings as passages, which the parser would have listed too."""
    passages = [
        *(Passage(f"members/{m.name.text}", "sentence", text) for m in page.members for text in m.text),
        *(Passage("availability", "sentence", text) for text in page.availability),
        *(Passage("constraints", "item", text) for text in page.constraints),
        *(Passage("support", "heading", level.heading) for level in page.tables),
    ]
    return msgspec.structs.replace(page, passages=tuple(passages))


def change(page: Page, part: str, index: int, edit: Callable[[Any], Any]) -> Page:
    """The page with one entry of a part (`tables`, `members`) edited; None removes it."""
    entries = list(getattr(page, part))
    edited = edit(entries[index])
    entries[index : index + 1] = [] if edited is None else [edited]
    return with_passages(msgspec.structs.replace(page, **{part: tuple(entries)}))


def change_row(page: Page, level: str, field: str, variant: str = "", **changes: Any) -> Page:
    """The page with one row changed, of a variant's table where it has such: the parsed values and the cells' texts."""

    def edit(old: LevelTable) -> LevelTable:
        rows = [
            row(
                changes.get("tensor", r.tensor),
                changes.get("kind", f"Optional {r.kind}" if r.optional else r.kind),
                changes.get("counts", r.dimension_counts),
                changes.get("types", r.data_types),
                r.place.line,
            )
            if r.tensor == field
            else r
            for r in old.rows
        ]
        return msgspec.structs.replace(old, rows=tuple(rows))

    index = next(
        n for n, of in enumerate(page.tables) if of.level == level and variant in ("", of.variant and of.variant.text)
    )
    return change(page, "tables", index, edit)


def change_tensor(page: Page, field: str, number: int = 1, **changes: Any) -> Page:
    """The page with one tensor of an example changed."""

    def edit(old: PageExample) -> PageExample:
        tensors = [
            msgspec.structs.replace(tensor, **changes) if tensor.label.text == field else tensor
            for tensor in old.tensors
        ]
        return msgspec.structs.replace(old, tensors=tuple(tensors))

    index = next(n for n, old in enumerate(page.examples) if old.number == number)
    return change(page, "examples", index, edit)


def change_attribute(page: Page, name: str, content: Any) -> Page:
    """The page with another value for an attribute of its first example."""
    return change(
        page,
        "examples",
        0,
        lambda old: msgspec.structs.replace(old, attributes={**old.attributes, name: value(content, 102)}),
    )


def change_member(page: Page, field: str, **changes: Any) -> Page:
    """The page with a changed section on a field."""
    index = next(n for n, member in enumerate(page.members) if member.name.text == field)
    return change(page, "members", index, lambda old: msgspec.structs.replace(old, **changes))


def _printed_example(known: Example) -> PageExample:
    number = int(known.id.rpartition("/")[2])
    line = 300 + 20 * number
    title = TITLES.get(known.id)
    labels = LABELS.get(known.id, {})
    tensors = [
        example_tensor(labels.get(name, name), v["Sizes"], v.get("DataType"), known.values.get(name), line + 2 * n)
        for n, (name, v) in enumerate(known.desc.items(), 1)
        if isinstance(v, dict)
    ]
    attributes = {name: value(v, line + 1) for name, v in known.desc.items() if not isinstance(v, dict)}
    heading = None if title is None else quoted(f"Example {number}. {title}", line)
    return PageExample(number, heading, attributes, tuple(tensors), Place(line, 1), line + 15)


def _member(operator_name: str, field: str, kind: str, line: int) -> FieldSection:
    sentence = _SENTENCES.get((operator_name, field), _SENTENCES.get(field, f"What {field} is."))
    if field == "IndicesTensor" and operator(operator_name).introduced_in.label == "3_0":
        sentence = "Negative indices are supported."
    bounds = _RANGES.get(field) if operator_name in PUBLISHED else None
    if (operator_name, field) == ("TILE", "OutputTensor"):
        bounds = "[0, InputTensor.DimensionCount-1]"
    return FieldSection(
        quoted(field, line),
        kind,
        quoted(f"Type: {kind}", line + 1),
        (quoted(sentence, line + 2),),
        () if bounds is None else (interval(bounds, line + 2),),
    )


def _annotations(field: Field | None) -> tuple[bool, str]:
    """Whether a declaration has that it may be null, and which field it has as an array's length."""
    return (False, "") if field is None else (field.optional, field.count_field or "")


def _constraints(spec: OperatorSpec) -> tuple[Quoted, ...]:
    said = (("DimensionCount", spec.rank_groups), ("DataType", spec.type_groups))
    groups = [(prop, fields) for prop, of_one in said for fields in of_one.values() if len(fields) > 1]
    return tuple(
        quoted(f"{', '.join(field.name for field in fields)} must have the same {prop}.", 130 + n)
        for n, (prop, fields) in enumerate(groups)
    )


def _tables(spec: OperatorSpec) -> tuple[LevelTable, ...]:
    every = ((variant, *of) for variant, tables in spec.variants.items() for of in sorted(tables.items(), reverse=True))
    found = []
    for n, (variant, level, content) in enumerate(every):
        line = 140 + 10 * n
        rows = [
            row(
                field.name,
                ("Optional " if field.optional else "") + ("Output" if field.is_output else "Input"),
                sorted(content[field.name].dimension_counts),
                [data_type.name for data_type in sorted(content[field.name].data_types)],
                line + 3 + i,
            )
            for i, field in enumerate(spec.tensor_fields)
        ]
        of_variant = quoted(variant, line - 1) if variant else None
        found.append(msgspec.structs.replace(table(level.label, rows, line), variant=of_variant))
    return tuple(found)


def _is_right(example: Example) -> bool:
    """Whether all that is printed of an example is true, whole and within the lowest table."""
    whole = not example.unprinted and not any(
        isinstance(of, list) and of and isinstance(of[0], dict) for of in example.desc.values()
    )
    return whole and not example.corrections and bool(example.values) and example.level == example.spec.introduced_in


def _example(spec: OperatorSpec) -> tuple[PageExample, ...]:
    """One that is right, and that a page may number 1; none where none is known."""
    content, known = _EXAMPLES.get(spec.name), []
    if content is None:
        known = [example for example in examples().values() if example.operator == spec.name and _is_right(example)]
        if not known:
            return ()
        content = {
            name: (of["Sizes"], of["DataType"], known[0].values[name]) if isinstance(of, dict) else of
            for name, of in known[0].desc.items()
        }
    tensors = [
        example_tensor(name, *stated, line=103 + 2 * n)
        for n, (name, stated) in enumerate((field.name, content.get(field.name)) for field in spec.tensor_fields)
        if isinstance(stated, tuple)
    ]
    number = 1 if spec.name in PUBLISHED else int(known[0].id.rpartition("/")[2])
    attributes = {name: value(v, 102) for name, v in content.items() if not isinstance(v, tuple | None)}
    return (
        PageExample(number, quoted(f"Example {number}. Figures", 100), attributes, tuple(tensors), Place(101, 1), 110),
    )
