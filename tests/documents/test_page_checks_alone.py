"""Checks of one page: pages without a fault, and for every check a page with the fault that it is there for."""

from __future__ import annotations

import ast
import copy
import re
import string
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import msgspec
import pytest
from page_factories import (
    PUBLISHED,
    change,
    change_attribute,
    change_member,
    change_row,
    change_tensor,
    example_tensor,
    interval,
    page_of,
    published_page,
    quoted,
    row,
    table,
    unknown_page,
    value,
    with_passages,
)
from pages_support import parsed

from dml_conformance.documents.check.model import PageFinding, Severity, checks
from dml_conformance.documents.check.report import check_page
from dml_conformance.documents.read.model import (
    CodeBlock,
    Declaration,
    Page,
    Passage,
    Place,
    Quoted,
    ReadingProblem,
)
from dml_conformance.documents.read.tables import level_row
from dml_conformance.spec.errata import errata
from dml_conformance.spec.registry import families, operator

FLOATS = ["FLOAT32", "FLOAT16"]
UP_TO_32 = [*FLOATS, "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"]


def ids(page: Page) -> set[str]:
    return {finding.id for finding in check_page(page)}


def finding(page: Page, finding_id: str) -> PageFinding:
    return next(found for found in check_page(page) if found.id == finding_id)


def edited(page: Page, **changes: Any) -> Page:
    return with_passages(msgspec.structs.replace(page, **changes))


def structs(**changes: Any) -> Callable[[Any], Any]:
    return lambda old: msgspec.structs.replace(old, **changes)


# One operator of each family whose tables say everything, and those with a likeness of their published page.
OPEN_TABLES = ("FOLD", "UNFOLD", "MULTIHEAD_ATTENTION1")
ONES = {family: name for name, family in families().items() if name not in OPEN_TABLES}
REPRESENTATIVES = sorted({*ONES.values(), *PUBLISHED})
# What is found in tables that the registry has from a page that contradicts itself, and its erratum.
OF_THE_TABLES = {"ACTIVATION_RELU_GRAD": {"table-idle:ACTIVATION_RELU_GRAD:4_0": "ACTIVATION_RELU_GRAD-3"}}
CHANGED_TYPES = ("FLOAT32", "FLOAT64", "UINT32", "INT8", "UINT4", "FLOAT23")


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_page_that_says_what_the_registry_does_has_no_finding(name: str) -> None:
    found = {finding.id: finding.erratum for finding in check_page(page_of(name))}
    assert found == OF_THE_TABLES.get(name, {})


ALONE = {one.name: one for one in checks().values() if not one.name.startswith(("translation", "more"))}


def test_checks_have_statements_of_their_own() -> None:
    assert len({one.statement for one in checks().values()}) == len(checks().values())


def test_a_remark_tells_what_the_wording_of_its_check_names() -> None:
    """So none fails where it is found for the first time; what is unpacked into one is not looked at."""
    folder = resources.files("dml_conformance.documents.check")
    entries = {entry["name"]: entry for entry in msgspec.json.decode(folder.joinpath("checks.json").read_bytes())}
    usual = {"found": "{found}", "expected": "{expected}", "because": ""}
    remarked = set()
    modules = [ast.parse(file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".py")]
    for node in (node for module in modules for node in ast.walk(module)):
        match node:
            case ast.Call(func=ast.Name(id="remark"), args=[ast.Constant(value=str(name)), *_], keywords=keywords):
                texts = (entries[name].get(part, text) for part, text in usual.items())
                fields = (field for text in texts for _, field, _, _ in string.Formatter().parse(text) if field)
                named, told = {re.split(r"[.[]", field)[0] for field in fields}, {keyword.arg for keyword in keywords}
                assert told - {None} <= named if None in told else told == named, name
                remarked.add(name)
    assert len(remarked) > len(entries) / 2


G, E, T, N = page_of("GATHER"), page_of("GATHER_ELEMENTS"), page_of("TILE"), page_of("GATHER_ND")
R = page_of("REDUCE")  # tables by Function
C = page_of("CONVOLUTION")  # an optional tensor, annotated
LABEL = {tensor.label.text: tensor for tensor in G.examples[0].tensors}


def without_levels(page: Page, *levels: str) -> Page:
    return edited(page, tables=tuple(t for t in page.tables if t.level not in levels))


def declared(page: Page, index: int, **changes: Any) -> Page:
    return change(page, "declarations", index, structs(**changes))


def swapped(entries: tuple[Any, ...], i: int, j: int) -> tuple[Any, ...]:
    """Entries with two of them changed for each other, each at the other's place."""
    moved = list(entries)
    moved[i], moved[j] = entries[j], entries[i]
    if isinstance(entries[i], Declaration):
        moved[i] = msgspec.structs.replace(moved[i], place=entries[i].place)
        moved[j] = msgspec.structs.replace(moved[j], place=entries[j].place)
    return tuple(moved)


def lost_cells(page: Page, level: str, tensor: str, keep: int) -> Page:
    def edit(old: Any) -> Any:
        rows = tuple(
            msgspec.structs.replace(r, cells=r.cells[:keep], data_types=None) if r.tensor == tensor else r
            for r in old.rows
        )
        return msgspec.structs.replace(old, rows=rows)

    return change(page, "tables", next(n for n, t in enumerate(page.tables) if t.level == level), edit)


def titled(page: Page, title: str) -> Page:
    return change(page, "examples", 0, structs(title=quoted(title, 100)))


def with_text(page: Page, name: str, text: str) -> Page:
    return change_member(page, name, text=(quoted(text, 33),))


def in_example(page: Page, **changes: Any) -> Page:
    return change(page, "examples", 0, structs(**changes))


def moved_member(page: Page, name: str, line: int) -> Page:
    return change_member(page, name, name=quoted(name, line))


def with_code(code: str) -> Page:
    return edited(G, code_blocks=(CodeBlock("members/OutputTensor", code, "formula", Place(45, 1)),))


PASTED = "The same that DML_OPERATOR_BATCH_NORMALIZATION was given in the forward pass."
PADDED = "OutputTensor.Sizes[i] = InputTensor.Sizes[i] + StartPadding[i] + EndPadding[i]."
SUMMED = """# DML_REDUCE_OPERATOR_DESC structure
## Examples
```
InputTensor: (Sizes:{3,3}, DataType:FLOAT32)
[[1, 2, 3],
 [3, 0, 4],
 [2, 4, 2]]

OutputTensor: (Sizes:{1,1}, DataType:FLOAT32)
[[21]]  // COMMENT
```
"""


def commented(comment: str) -> Page:
    """A page with an example whose result has a comment."""
    return parsed(SUMMED.replace("COMMENT", comment))


def with_name(page: Page, name: str, text: str) -> Page:
    """The page with a sentence that sets a name as one."""
    return msgspec.structs.replace(
        page, passages=(Passage("members/Axis", "sentence", quoted(text, 33, marked=[name])),)
    )


def relabelled(name: str) -> Any:
    return msgspec.structs.replace(LABEL["InputTensor"], label=quoted(name, 104))


NO_FIELD = quoted("The *Weight* of KernelTensor.", 33, marked=["KernelTensor", "InputTensor.Sizes", "Axis"])
TINY = example_tensor("InputTensor", (2, 2, 2), "FLOAT32", [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], 103)

# (finding without the operator, page with that fault)
FAULTS: list[tuple[str, Page]] = [
    (
        "unreadable:unclosed-code-block",
        edited(
            G, problems=(ReadingProblem("unclosed-code-block", "a block of code that never ends", "```", Place(7, 1)),)
        ),
    ),
    ("structure-name:title", edited(G, title=quoted("DML_GATHER_ND_OPERATOR_DESC structure"))),
    ("structure-name:syntax", edited(G, structure="DML_TILE_OPERATOR_DESC")),
    ("structure-name:file", edited(G, path="pages/ns-directml-dml_tile_operator_desc.md")),
    ("text-unwritten:members/Axis", with_text(G, "Axis", "TBD. It is there.")),
    ("structure-misspelt:DML_TILE_OPERATOR1_DESC", with_text(G, "Axis", "See DML_TILE_OPERATOR1_DESC.")),
    ("structure-name:front-matter/UID", edited(G, front_matter={"UID": "NS:directml.DML_TILE_OPERATOR_DESC"})),
    ("syntax-missing:syntax", edited(G, declarations=())),
    ("field-misspelt:syntax/IndexDimensions", declared(G, 4, name="IndexDimension")),
    ("field-misspelt:members/InputTensor", change(N, "members", 0, structs(name=quoted("InputTensr", 20)))),
    ("field-misspelt:tables/IndicesTensor", change_row(G, "4_1", "IndicesTensor", tensor="IndicisTensor")),
    ("field-twice:Axis", declared(G, 4, name="Axis")),
    ("field-twice:members/Axis", change(G, "members", 4, structs(name=quoted("Axis", 60)))),
    ("field-undescribed:Axis", change(G, "members", 3, lambda old: None)),
    ("field-undeclared:Axis", change(G, "declarations", 3, lambda old: None)),
    ("field-order:IndexDimensions", moved_member(G, "IndexDimensions", 5)),
    ("field-type:Axis", change_member(G, "Axis", type="INT", type_line=quoted("Type: INT", 51))),
    ("field-type:InputTensor", change_member(G, "InputTensor", type=None, type_line=None)),
    ("level-unknown:9_9", with_text(G, "Axis", "Starting with DML_FEATURE_LEVEL_9_9, more.")),
    ("introduction-missing:level", edited(G, availability=(quoted("It is there."),))),
    (
        "introduction-table:level",
        edited(G, availability=(quoted("This operator was introduced in DML_FEATURE_LEVEL_2_0."),)),
    ),
    (
        "text-level-below:InputDimensionCount/2_0",
        with_text(N, "InputDimensionCount", "Starting with DML_FEATURE_LEVEL_2_0, more."),
    ),
    ("text-level-idle:Axis/1_0", with_text(G, "Axis", "Starting with DML_FEATURE_LEVEL_1_0, more.")),
    (
        "name-unknown:KernelTensor",
        msgspec.structs.replace(G, passages=(Passage("members/Axis", "sentence", NO_FIELD),)),
    ),
    ("name-misspelt:InputTenso", with_text(G, "Axis", "The axis of InputTenso or OutputTensorDimensionCount.")),
    ("name-misspelt:OutputTensor.Size", with_text(G, "Axis", "それは OutputTensor.Sizeです。")),
    ("name-misspelt:DimensionCoun", with_text(G, "Axis", "小於或等於 DimensionCoun。")),
    ("name-misspelt:IndexDimension", with_name(G, "IndexDimension", "It is IndexDimension.")),
    ("name-misspelt:IndexDimensionz", with_code("OutputTensor.Sizes[i] = IndexDimensionz + 1")),
    ("name-misspelt:ScaleY", with_name(page_of("ROI_ALIGN1"), "ScaleY", "It is scaled by ScaleY.")),
    ("text-other-operator:Axis", with_text(G, "Axis", PASTED)),
    ("enumerator-unknown:DML_PADDING_MODE_MIRROR", with_text(G, "Axis", "As DML_PADDING_MODE_MIRROR does.")),
    (
        "enumerator-unknown:DML_RECURRENT_NETWORD_DIRECTION",
        with_text(G, "Axis", "A DML_RECURRENT_NETWORD_DIRECTION value."),
    ),
    (
        "property-mismatch:OutputTensor/DataType",
        with_text(G, "OutputTensor", "The DimensionCount and DataType of this must match InputTensor.DimensionCount."),
    ),
    ("tables-missing:tables", edited(G, tables=())),
    ("table-level:1", change(G, "tables", 0, structs(heading=quoted("And above", 140), level=None))),
    ("table-twice:1_0", change(G, "tables", 2, lambda old: table("1_0", old.rows, 160))),
    ("table-header:4_1", change(G, "tables", 0, lambda old: structs(header=old.header[1:])(old))),
    ("row-unknown:4_1/KernelTensor", change_row(G, "4_1", "InputTensor", tensor="KernelTensor")),
    ("row-missing:4_1/InputTensor", change(G, "tables", 0, lambda old: structs(rows=old.rows[1:])(old))),
    ("row-twice:4_1/InputTensor", change_row(G, "4_1", "OutputTensor", tensor="InputTensor")),
    (
        "row-order:1_0/OutputTensor",
        change(
            change_row(G, "1_0", "InputTensor", tensor="X"),
            "tables",
            3,
            lambda old: structs(
                rows=(
                    row("OutputTensor", "Output", [4], FLOATS, 173),
                    row("IndicesTensor", "Input", [4], ["UINT32"], 174),
                    row("InputTensor", "Input", [4], FLOATS, 175),
                )
            )(old),
        ),
    ),
    (
        "cell-unreadable:4_1/InputTensor/more",
        change(
            G,
            "tables",
            0,
            lambda old: structs(
                rows=(structs(cells=(*old.rows[0].cells, quoted("FLOAT64", 143)))(old.rows[0]), *old.rows[1:])
            )(old),
        ),
    ),
    ("cell-unreadable:4_1/InputTensor/data_types", lost_cells(G, "4_1", "InputTensor", 3)),
    ("type-twice:1_0/IndicesTensor/UINT32", change_row(G, "1_0", "IndicesTensor", types=["UINT32", "UINT32"])),
    ("table-idle:4_1", edited(G, tables=(table("4_1", G.tables[1].rows), *G.tables[1:]))),
    ("row-agreement:1_0/OutputTensor/DataType", change_row(G, "1_0", "OutputTensor", types=["FLOAT32"])),
    ("row-agreement:1_0/IndicesTensor/DimensionCount", change_row(G, "1_0", "IndicesTensor", counts=[3, 4])),
    (
        "row-text:IndicesTensor",
        with_text(G, "IndicesTensor", "A tensor of indices. It must have data type DML_TENSOR_DATA_TYPE_FLOAT32."),
    ),
    (
        "example-unreadable:1/IndexDimensions",
        in_example(G, attributes={**G.examples[0].attributes, "IndexDimensions": value(None)}),
    ),
    ("example-unreadable:1/InputTensor.Sizes", change_tensor(G, "InputTensor", sizes=value([1, "x"]))),
    ("example-label:1/OutputTensor", change_tensor(G, "OutputTensor", label=quoted("InputTensor", 107))),
    (
        "example-operator:1",
        in_example(G, tensors=(relabelled("ATensor"), relabelled("BTensor"), LABEL["OutputTensor"])),
    ),
    ("example-attribute:1/Axes", change_attribute(G, "Axes", 1)),
    (
        "example-property:1/InputTensor.DataTyp",
        change_tensor(G, "InputTensor", properties={"DataTyp": value("FLOAT32")}),
    ),
    ("example-missing:1/InputTensor.DataType", change_tensor(G, "InputTensor", data_type=None)),
    ("example-missing:1/InputTensor.Sizes", change_tensor(G, "InputTensor", sizes=None)),
    ("example-missing:1/Axis", in_example(G, attributes={"IndexDimensions": value(1)})),
    (
        "example-missing:2/Axis",
        edited(
            unknown_page(),
            examples=(
                *unknown_page().examples,
                msgspec.structs.replace(unknown_page().examples[0], number=2, attributes={"IndexDimensions": value(1)}),
            ),
        ),
    ),
    ("example-count:1/RepeatsCount", change_attribute(T, "RepeatsCount", 3)),
    ("example-type:1/InputTensor", change_tensor(G, "InputTensor", data_type=value("FLOAT23"))),
    ("example-elements:1/InputTensor", change_tensor(G, "InputTensor", values=value([[[[1, 2], [3, 4], [5]]]]))),
    ("example-table:1/IndicesTensor.DataType", change_tensor(G, "IndicesTensor", data_type=value("INT8"))),
    ("example-table:1/InputTensor.DimensionCount", change_tensor(unknown_page(), "InputTensor", sizes=value([1] * 9))),
    (
        "example-level:1",
        in_example(
            G, tensors=(TINY, *(msgspec.structs.replace(t, sizes=value([1, 1, 2])) for t in G.examples[0].tensors[1:]))
        ),
    ),
    ("example-constraint:1/OutputTensor.DataType", change_tensor(G, "OutputTensor", data_type=value("FLOAT16"))),
    ("example-constraint:1/IndicesTensor.DimensionCount", change_tensor(G, "IndicesTensor", sizes=value([1, 2]))),
    ("example-range:1/Axis", change_attribute(G, "Axis", 4)),
    ("example-range:1/IndexDimensions", change_member(G, "IndexDimensions", ranges=(interval("[0, 1)"),))),
    ("example-title:1", titled(G, "Example 1. 5D")),
    ("example-title:1", titled(G, "範例 1. 2D、軸 7、巢狀索引")),
    ("example-comment:1/OutputTensor", commented("sum({1, 2, 3, 3, 0, 5, 2, 4, 2})")),
    ("example-formula:1/OutputTensor", change_tensor(G, "OutputTensor", sizes=value([1, 1, 2, 3]))),
    ("example-formula:1/OutputTensor", change_tensor(T, "OutputTensor", sizes=value([1, 1, 6, 6]))),
    ("example-form:1/Axis", change_attribute(G, "Axis", -1)),
    ("example-rule:1/axis-range", change_attribute(G, "Axis", 4)),
    ("example-rule:1/output-sizes", change_tensor(G, "OutputTensor", sizes=value([1, 1, 2, 3]))),
    (
        "example-open:1/leading-index-sizes",
        in_example(
            G,
            tensors=(
                *(LABEL["InputTensor"], msgspec.structs.replace(LABEL["IndicesTensor"], sizes=value([2, 1, 1, 2]))),
                LABEL["OutputTensor"],
            ),
        ),
    ),
    ("example-values:1/OutputTensor", change_tensor(G, "OutputTensor", values=value([[[[5, 6], [1, 3]]]]))),
    ("example-values:1/OutputTensor", change_tensor(G, "IndicesTensor", values=value([[[[2, 3]]]]))),
    ("registry-field:Axis", change(G, "declarations", 3, lambda old: None)),
    ("registry-field:Axes", declared(G, 3, name="Axes")),
    ("registry-field-order:IndexDimensions", edited(G, declarations=swapped(G.declarations, 3, 4))),
    ("registry-field-type:Axis", declared(G, 3, type="INT")),
    (
        "registry-introduction:level",
        edited(G, availability=(quoted("This operator was introduced in DML_FEATURE_LEVEL_2_0."),)),
    ),
    ("registry-annotation:BiasTensor", declared(C, 2, optional=False)),
    ("registry-annotation:Strides/count", declared(C, 7, count_field="GroupCount")),
    ("registry-table-missing:3_0", without_levels(G, "3_0")),
    ("registry-table-missing:2_1 (MIN)", change(R, "tables", 24, lambda old: None)),
    ("registry-table-missing:1_0", without_levels(G, "1_0")),
    ("registry-table-missing:4_1", change_row(without_levels(G, "4_1"), "1_0", "IndicesTensor", types=["INT32"])),
    ("registry-table-unknown:3_1", edited(G, tables=(G.tables[0], table("3_1", G.tables[1].rows), *G.tables[1:]))),
    ("older-edition:4_1", without_levels(G, "4_1")),
    ("older-edition:3_0", without_levels(G, "4_1", "3_0")),
    ("newer-edition:6_4", edited(G, tables=(table("6_4", G.tables[0].rows), *G.tables))),
    ("registry-kind:4_1/InputTensor", change_row(G, "4_1", "InputTensor", kind="Output")),
    ("registry-kind:4_0/BiasTensor", change_row(C, "4_0", "BiasTensor", kind="Input")),
    ("registry-dimension-counts:1_0/InputTensor", change_row(G, "1_0", "InputTensor", counts=[3, 4])),
    # Of all that Function may be, it is held against the one most like it.
    ("registry-data-types:3_0 (ARGMIN)/OutputTensor", change_row(R, "3_0", "OutputTensor", types=["UINT32"])),
    ("registry-data-types:1_0/IndicesTensor", change_row(G, "1_0", "IndicesTensor", types=["INT32"])),
    (
        "registry-range:IndexDimensions",
        change_member(G, "IndexDimensions", ranges=(interval("[0, IndicesTensor.DimensionCount)"),)),
    ),
    (
        "registry-formula:OutputTensor",
        with_text(structs(examples=())(page_of("PADDING1")), "OutputTensor", PADDED.replace("+ E", "- E")),
    ),
    ("registry-range:Axis", change_member(G, "Axis", ranges=(interval("[0, InputTensor.DimensionCount]"),))),
    (
        "registry-agreement:DimensionCount",
        edited(
            G, constraints=(quoted("InputTensor and OutputTensor must have the same DimensionCount."), G.constraints[1])
        ),
    ),
    ("registry-agreement-unlisted:DataType", edited(G, constraints=G.constraints[:1])),
    ("unknown-operator:operator", unknown_page()),
    (
        "figure-impossible:IndicesDimensionCount/tuple-size",
        with_text(
            N,
            "IndicesDimensionCount",
            "IndicesTensor.Sizes = {1, 1, 4, 6}, IndicesDimensionCount = 3: {1, 4, 6} count.",
        ),
    ),
    (  # Lists that begin in one sentence and end in another.
        "figure-impossible:IndicesDimensionCount/tuple-size",
        change_member(
            N,
            "IndicesDimensionCount",
            text=tuple(
                quoted(part, 33)
                for part in ("IndicesTensor.Sizes = {1,", "1, 4, 6}, IndicesDimensionCount = 3: {1,", "4, 6} count.")
            ),
        ),
    ),
]


@pytest.mark.parametrize(("fault", "page"), FAULTS, ids=[f"{fault}-{n}" for n, (fault, _) in enumerate(FAULTS)])
def test_a_fault_is_found(fault: str, page: Page) -> None:
    found = check_page(page)
    check, _, subject = fault.partition(":")
    assert f"{check}:{page.operator}:{subject}" in {f.id for f in found}
    assert found == sorted(found, key=lambda f: (f.place, f.id))
    assert len({f.id for f in found}) == len(found)
    for one in found:
        assert one.found, one
        assert one.expected, one
        assert one.why, one
        assert one.path == page.path


def with_modes(mode: str) -> Page:
    """A page of an unknown operator with two examples, the second of a mode, and a fill value in the first alone."""
    page = unknown_page()
    fields = (Declaration("Mode", "DML_PICK_MODE", Place(16, 3)), Declaration("FillValue", "FLOAT", Place(17, 3)))
    first = page.examples[0]
    filling = structs(attributes={**first.attributes, "Mode": value("DML_PICK_MODE_FILL"), "FillValue": value(9)})
    other = structs(number=2, attributes={**first.attributes, "Mode": value(mode)})
    section = structs(
        name=quoted("FillValue", 70), text=(quoted("What DML_PICK_MODE_FILL fills with.", 72),), ranges=()
    )
    return edited(
        page,
        declarations=(*page.declarations, *fields),
        members=(*page.members, section(page.members[-1])),
        examples=(filling(first), other(first)),
    )


def with_problem_in_example(number: int) -> Page:
    problem = ReadingProblem("unreadable-example-line", "words in an example", "or {1, 4}", Place(105, 3))
    return edited(in_example(unknown_page(), number=number), problems=(problem,))


# (check, page that it has nothing to say about)
NO_FAULTS: list[tuple[str, Page]] = [
    ("structure-name", edited(G, path="pages/ns-directml-dml_gather_operator_desc.zh-tw.md")),
    ("unreadable", with_problem_in_example(0)),
    ("structure-misspelt", with_text(G, "Axis", "See DML_TILE1_OPERATOR_DESC.")),
    ("text-unwritten", with_text(G, "Axis", "What a TBDTensor would be is no matter here.")),
    ("name-unknown", with_name(G, "KernelTensor", "It is the KernelTensor of DML_CONVOLUTION_OPERATOR_DESC.")),
    ("name-unknown", with_name(G, "KernelTensor", "It comes from the KernelTensor of a max-pooling operation.")),
    (
        "name-unknown",
        with_name(change_member(G, "Axis", name=quoted("KernelTensor", 50)), "KernelTensor", "It is old."),
    ),
    (
        "name-misspelt",
        with_text(declared(G, 3, name="WindowSizes", type="const UINT *"), "Axis", "Each WindowSize is 1."),
    ),
    ("name-misspelt", with_name(page_of("ROI_ALIGN1"), "PixelOffset", "It is a PixelOffset.")),
    ("registry-formula", with_text(structs(examples=())(page_of("PADDING1")), "OutputTensor", PADDED)),
    ("text-other-operator", with_text(page_of("BATCH_NORMALIZATION_GRAD"), "InputTensor", PASTED)),
    ("example-comment", commented("sum({1, 2, 3, 3, 0, 4, 2, 4, 2}), as {1, 1} says")),
    ("text-level-below", with_text(N, "InputDimensionCount", "DML_PICK_MODE_A is of DML_FEATURE_LEVEL_2_0.")),
    ("field-type", change_member(declared(G, 3, type="FLOAT"), "Axis", type="float")),
    ("row-text", with_text(G, "IndicesTensor", "It must have data type UINT32 or DML_TENSOR_DATA_TYPE_FLOAT32.")),
    ("row-text", with_text(G, "IndicesTensor", "If Axis is 0, it must have data type FLOAT32.")),
    ("row-text", with_text(G, "IndicesTensor", "The type of InputTensor must be FLOAT32.")),
    ("example-elements", change_tensor(G, "InputTensor", values=value([[1, 2], [3, 4], [5, 6]]))),
    ("example-operator", in_example(G, tensors=(relabelled("ATensor"), *G.examples[0].tensors[1:]))),
    ("example-missing", with_modes("DML_PICK_MODE_EDGE")),
    ("example-title", titled(G, "Example 1. 2D")),  # which leading ones pad
]


@pytest.mark.parametrize(("check", "page"), NO_FAULTS, ids=[f"{check}-{n}" for n, (check, _) in enumerate(NO_FAULTS)])
def test_what_is_no_fault_is_not_found(check: str, page: Page) -> None:
    assert not [found.id for found in check_page(page) if found.check == check]


def test_words_in_an_example_are_unreadable() -> None:
    assert "unreadable:PICK:unreadable-example-line" in ids(with_problem_in_example(1))


def test_the_value_of_a_mode_is_missing_where_the_example_has_that_mode() -> None:
    assert "example-missing:PICK:2/FillValue" in ids(with_modes("DML_PICK_MODE_FILL"))


def test_the_count_of_a_printed_array_is_not_missing() -> None:
    page = edited(unknown_page(), declarations=T.declarations, members=T.members, constraints=())
    first = msgspec.structs.replace(T.examples[0], attributes={**T.examples[0].attributes, "RepeatsCount": value(4)})
    attributes = {name: content for name, content in first.attributes.items() if name != "RepeatsCount"}
    page = edited(page, examples=(first, msgspec.structs.replace(first, number=2, attributes=attributes)))
    assert not [one for one in ids(page) if one.startswith("example-missing")]
    page = change(page, "examples", 1, structs(attributes={}))
    assert "example-missing:PICK:2/Repeats" in ids(page)


def test_an_optional_tensor_may_be_missing_from_an_example() -> None:
    page = unknown_page()
    page = edited(
        page, examples=(*page.examples, structs(number=2, tensors=page.examples[0].tensors[::2])(page.examples[0]))
    )
    assert "example-missing:PICK:2/IndicesTensor" in ids(page)
    assert not any("example-missing" in one for one in ids(declared(page, 1, optional=True)))


def test_every_check_has_a_fault_here() -> None:
    assert {fault.partition(":")[0] for fault, _ in FAULTS} == ALONE.keys()


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_fault_is_its_erratum(name: str) -> None:
    """What is found on a page with the published faults is what its errata list, and links to them."""
    known = {one: erratum.id for erratum in errata().values() for one in erratum.page_checks if f":{name}:" in one}
    assert known
    assert {found.id: found.erratum for found in check_page(published_page(name))} == known


def test_every_finding_that_an_erratum_lists_is_of_a_check_here() -> None:
    listed = [one for erratum in errata().values() for one in erratum.page_checks]
    assert len(listed) == len(set(listed)) > 20
    assert {one.partition(":")[0] for one in listed} <= ALONE.keys()


def test_severity_does_not_depend_on_the_erratum() -> None:
    severity = {name: check.severity for name, check in ALONE.items()}
    for found in (*check_page(published_page("GATHER")), *check_page(change_attribute(G, "Axis", 4))):
        assert found.severity is severity[found.check]
    assert finding(published_page("GATHER"), "registry-range:GATHER:IndexDimensions").severity is Severity.ERROR


def transliterated(page: Page, with_original: bool) -> Page:
    """The page with names and types of one row translated, as a machine translates them."""

    def edit(old: Any) -> Any:
        first = old.rows[0]
        shown = ("инпуттенсор", "Входные данные", "от 1 до 8", "ЗНАЧЕНИЕМ")
        cells = tuple(
            Quoted(text, cell.place, cell.text if with_original else None)
            for text, cell in zip(shown, first.cells, strict=True)
        )
        return structs(rows=(level_row(cells, old.columns), *old.rows[1:]))(old)

    return change(page, "tables", 0, edit)


def test_what_only_the_translation_has_wrong_is_not_reported_here() -> None:
    assert check_page(transliterated(G, with_original=True)) == []
    assert {"row-unknown:GATHER:4_1/инпуттенсор", "row-missing:GATHER:4_1/InputTensor"} <= ids(
        transliterated(G, with_original=False)
    )


def test_an_original_that_is_wrong_is_reported() -> None:
    page = change_member(
        G,
        "Axis",
        text=(quoted("Ось в диапазоне.", 53, original="From the axis on."),),
        ranges=(interval("[0, InputTensor.DimensionCount]"),),
    )
    assert ids(page) == {"registry-range:GATHER:Axis"}


@pytest.mark.parametrize("name", ["IndicisTensor", "IndicesTenser"])
def test_a_misspelt_field_is_one_finding(name: str) -> None:
    for page in (declared(G, 1, name=name), change_member(G, "IndicesTensor", name=quoted(name, 30))):
        assert {one.partition(":")[0] for one in ids(page)} == {"field-misspelt"}
    assert ids(change_row(G, "4_1", "IndicesTensor", tensor=name)) == {"field-misspelt:GATHER:tables/IndicesTensor"}


def test_a_lost_heading_is_no_older_edition() -> None:
    page = change(G, "tables", 0, structs(heading=quoted("And above", 140), level=None))
    assert ids(page) == {"table-level:GATHER:1"}


def test_what_a_check_of_its_own_reports_is_not_reported_as_unreadable_too() -> None:
    page = lost_cells(G, "4_1", "InputTensor", 3)
    problem = ReadingProblem(
        "unreadable-dimension-counts", "this cannot be read", "?", page.tables[0].rows[0].cells[2].place
    )
    assert check_page(edited(page, problems=(problem,))) == check_page(page)


def test_mismatching_cells_are_named() -> None:
    found = finding(
        change_tensor(G, "OutputTensor", values=value([[[[5, 7], [1, 3]]]])), "example-values:GATHER:1/OutputTensor"
    )
    assert found.found == "OutputTensor[0,0,0,1] = 7, OutputTensor[0,0,1,1] = 3"
    assert found.expected == "OutputTensor[0,0,0,1] = 6, OutputTensor[0,0,1,1] = 2"


def test_values_are_compared_though_the_type_or_an_attribute_is_wrong() -> None:
    wrong = value([[4, 8, 3], [7, 2, 2]], 500)
    page = change_tensor(published_page("GATHER_ELEMENTS"), "OutputTensor", values=wrong)
    assert "OutputTensor[1,2] = 3" in finding(page, "example-values:GATHER_ELEMENTS:1/OutputTensor").expected
    page = change_tensor(published_page("GATHER"), "OutputTensor", 3, values=value([[2, 1], [4, 3], [6, 6]], 500))
    assert "OutputTensor[2,1] = 5" in finding(page, "example-values:GATHER:3/OutputTensor").expected


def test_values_are_compared_though_the_wrong_type_takes_fewer_bytes() -> None:
    wrong = copy.deepcopy(T.examples[0].tensors[1].values.value)
    wrong[0][0][0][0] = 9
    page = change_tensor(T, "OutputTensor", data_type=value("INT8"), values=value(wrong))
    assert finding(page, "example-values:TILE:1/OutputTensor").expected == "OutputTensor[0,0,0,0] = 1"


def test_examples_that_need_much_memory_are_not_computed() -> None:
    strides = {"Strides": value([2**31, 2**30, 2**29, 2**28])}
    assert check_page(change_tensor(G, "InputTensor", properties=strides)) == []
    sizes = value([2**20, 2**10, 1, 1])
    assert not any("example-values" in one for one in ids(change_tensor(G, "InputTensor", sizes=sizes)))


def mutations(page: Page) -> Iterator[tuple[str, Page]]:
    """Every change of one cell that means something, with its row: each type and count left out or added, another kind
    or tensor."""
    for of_level in page.tables:
        assert of_level.level is not None
        variant = "" if of_level.variant is None else of_level.variant.text
        label = f"{of_level.level} ({variant})" if variant else of_level.level
        for old in of_level.rows:
            assert old.data_types is not None
            assert old.dimension_counts is not None
            changes: list[dict[str, Any]] = [
                *({"types": sorted({name} ^ set(old.data_types)) or ["INT8"]} for name in CHANGED_TYPES),
                *({"counts": sorted({count} ^ set(old.dimension_counts)) or [3]} for count in (1, 4, 8, 9)),
                {"kind": "Output" if old.kind == "Input" else "Input"},
                {"tensor": "KernelTensor"},
            ]
            for one in changes:
                yield f"{label}/{old.tensor}", change_row(page, of_level.level, old.tensor, variant, **one)


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_every_change_of_a_cell_is_an_error_at_its_place(name: str) -> None:
    tried = 0
    for place, page in mutations(page_of(name)):
        places = (place, f"{place.partition('/')[0]}/KernelTensor")
        errors = [found for found in check_page(page) if found.severity is Severity.ERROR]
        assert any(one in found.id for found in errors for one in places)
        tried += 1
    spec = operator(name)
    assert tried == 12 * sum(map(len, spec.variants.values())) * len(spec.tensor_fields)


@pytest.mark.parametrize(
    "text",
    [
        "Its DataType is InputTensor.DataType, and Sizes are computed.",
        "Sizes and DataType must match InputTensor.Sizes and InputTensor.DataType.",
        "Its DimensionCount is 4, its DataType that of InputTensor.DataType.",
        "The Sizes must match InputTensor.Sizes, and DataType must match InputTensor.DataType.",
        "DimensionCount is no more than 8. DataType is InputTensor.DataType.",
        "Its InputDimensionCount and DataType match InputTensor.DataType.",
    ],
)
def test_properties_that_are_each_matched_are_no_mismatch(text: str) -> None:
    assert check_page(with_text(N, "OutputTensor", text)) == []


def test_a_page_in_its_source_form_needs_no_syntax_block() -> None:
    page = msgspec.structs.replace(
        edited(G, declarations=()), passages=(Passage("members", "heading", quoted("-struct-fields")),)
    )
    assert check_page(page) == []
    page = msgspec.structs.replace(page, members=page.members[:-1])
    assert "registry-field:GATHER:IndexDimensions" in ids(page)


def test_annotations_of_a_type_and_optional_inputs_are_no_fault() -> None:
    page = declared(G, 1, type="_Maybenull_ const DML_TENSOR_DESC*")
    page = change_member(page, "Axis", type="_In_range_(0, 7) UINT")
    page = change_row(page, "4_1", "IndicesTensor", kind="Optional input")
    index = msgspec.structs.replace(page.tables[0].rows[1], kind="Input", optional=True)
    page = change(page, "tables", 0, lambda old: structs(rows=(old.rows[0], index, old.rows[2]))(old))
    assert check_page(page) == []


def test_operators_within_a_structure_are_no_arrays() -> None:
    page = edited(unknown_page(), declarations=())
    fields = (*G.declarations, Declaration("GroupCount", "UINT", Place(16, 3)))
    fields = (*fields, Declaration("FusedActivation", "const DML_OPERATOR_DESC *", Place(17, 3)))
    page = change_attribute(edited(page, declarations=fields), "FusedActivation", [1, 2])
    assert not any(one.startswith("example-count") for one in ids(change_attribute(page, "GroupCount", 1)))
