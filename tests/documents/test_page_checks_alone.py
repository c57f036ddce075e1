"""Checks of one page: pages without a fault, and for every check a page with the fault that it is there for."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from importlib import resources

import msgspec
import pytest
from page_factories import (
    PUBLISHED,
    Edit,
    behind,
    counts_text,
    level_row_of,
    page_of,
    published_page,
    table_at,
)
from pages_support import beside

from dml_conformance.documents.check.model import PageFinding, Severity, checks
from dml_conformance.documents.check.report import check_page
from dml_conformance.documents.read.model import LevelTable, Page
from dml_conformance.spec.errata import errata
from dml_conformance.spec.registry import families, operator


def ids(page: Page) -> set[str]:
    return {finding.id for finding in check_page(page)}


def finding(page: Page, finding_id: str) -> PageFinding:
    return next(found for found in check_page(page) if found.id == finding_id)


# One operator of each family whose tables say everything, and those with a likeness of their published page.
OPEN_TABLES = ("FOLD", "UNFOLD", "MULTIHEAD_ATTENTION1")
ONES = {family: name for name, family in families().items() if name not in OPEN_TABLES}
REPRESENTATIVES = sorted({*ONES.values(), *PUBLISHED})
# What is found in tables that the registry has from a page that contradicts itself, and its erratum.
OF_THE_TABLES = {"ACTIVATION_RELU_GRAD": {"table-idle:ACTIVATION_RELU_GRAD:4_0": "ACTIVATION_RELU_GRAD-3"}}
CHANGED_TYPES = ("FLOAT32", "FLOAT64", "UINT32", "INT8", "UINT4", "FLOAT23")
ALONE = {one.name: one for one in checks().values() if not one.name.startswith(("translation", "more"))}


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_a_page_that_says_what_the_registry_does_has_no_finding(name: str) -> None:
    found = {finding.id: finding.erratum for finding in check_page(page_of(name))}
    assert found == OF_THE_TABLES.get(name, {})


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


AXIS = "What Axis is"


def axis(text: str) -> Edit:
    """More text on Axis."""
    return AXIS, f"{text} {AXIS}"


def output(text: str) -> Edit:
    """Another text on OutputTensor."""
    return "What OutputTensor is.", text


def code(text: str) -> Edit:
    """A block of code above the section on Axis."""
    return "`Axis`\n", f"```\n{text}\n```\n\n`Axis`\n"


INDICES = "Starting with DML_FEATURE_LEVEL_3_0, negative"
PASTED = "The same that DML_OPERATOR_BATCH_NORMALIZATION was given in the forward pass."
PADDED = "OutputTensor.Sizes[i] = InputTensor.Sizes[i] + StartPadding[i] + EndPadding[i]."
NO_EXAMPLES = (re.compile(r"### Example .*\Z", re.DOTALL), "")
SECOND_EXAMPLE = (re.compile(r"### Example 1(.*)\Z", re.DOTALL), r"\g<0>\n### Example 2\1")
SWAPPED_ROWS = (
    behind("1_0 and above", "| OutputTensor | Output", "| Rest | Output"),
    behind("1_0 and above", "| InputTensor | Input", "| OutputTensor | Output"),
    behind("1_0 and above", "| Rest | Output", "| InputTensor | Input"),
)
SWAPPED_SECTIONS = (("`Axis`", "`Rest`"), ("`IndexDimensions`", "`Axis`"), ("`Rest`", "`IndexDimensions`"))
THREE_DIMENSIONS = (("{1, 1, 3, 2}", "{1, 3, 2}"), ("{1, 1, 1, 2}", "{1, 1, 2}"), ("{1, 1, 2, 2}", "{1, 2, 2}"))
LOST_INDICES = (re.compile(r"(Example 2.*?)IndicesTensor.*?(?=InputTensor)", re.DOTALL), r"\1")
# An attribute that only examples of one mode have.
MODES = (
    ("UINT IndexDimensions;", "UINT IndexDimensions;\n  DML_PICK_MODE Mode;\n  FLOAT FillValue;"),
    ("## Availability", "`FillValue`\n\nType: FLOAT\n\nWhat DML_PICK_MODE_FILL fills with.\n\n## Availability"),
    ("Axis: 2", "Axis: 2\nMode: DML_PICK_MODE_FILL\nFillValue: 9"),
    SECOND_EXAMPLE,
    behind("Example 2", "FillValue: 9\n", ""),
)

# Finding without the operator, operator of the page, and what of it is edited.
FAULTS: list[tuple[str, str, tuple[Edit, ...]]] = [
    ("unreadable:unclosed-code-block", "GATHER", (("{1, 2}}}}\n```", "{1, 2}}}}"),)),
    ("unreadable:unreadable-example-line", "PICK", (("Axis: 2", "or so\nAxis: 2"),)),
    ("structure-name:title", "GATHER", (("# DML_GATHER_", "# DML_GATHER_ND_"),)),
    ("structure-name:syntax", "GATHER", (("struct DML_GATHER_", "struct DML_TILE_"),)),
    ("structure-name:front-matter/UID", "GATHER", (("directml.DML_GATHER_", "directml.DML_TILE_"),)),
    ("text-unwritten:members/Axis", "GATHER", (axis("TBD. It is there."),)),
    ("structure-misspelt:DML_TILE_OPERATOR1_DESC", "GATHER", (axis("See DML_TILE_OPERATOR1_DESC."),)),
    ("syntax-missing:syntax", "GATHER", (("struct DML_GATHER_OPERATOR_DESC", "class Gather"),)),
    ("field-misspelt:syntax/IndexDimensions", "GATHER", (("IndexDimensions;", "IndexDimension;"),)),
    ("field-misspelt:members/InputTensor", "GATHER_ND", (("`InputTensor`", "`InputTensr`"),)),
    ("field-misspelt:tables/IndicesTensor", "GATHER", (("| IndicesTensor", "| IndicisTensor"),)),
    ("field-twice:Axis", "GATHER", (("IndexDimensions;", "Axis;"),)),
    ("field-twice:members/Axis", "GATHER", (("`IndexDimensions`", "`Axis`"),)),
    ("field-undescribed:Axis", "GATHER", (("`Axis`\n\nType: UINT\n\n", ""),)),
    ("field-undeclared:Axis", "GATHER", (("  UINT Axis;\n", ""),)),
    ("field-order:IndexDimensions", "GATHER", SWAPPED_SECTIONS),
    ("field-type:Axis", "GATHER", (("`Axis`\n\nType: UINT", "`Axis`\n\nType: INT"),)),
    ("field-type:InputTensor", "GATHER", (("Type: const DML_TENSOR_DESC *\n\n", ""),)),
    ("level-unknown:9_9", "GATHER", (axis("Starting with DML_FEATURE_LEVEL_9_9, more."),)),
    ("introduction-missing:level", "GATHER", (("introduced in DML_FEATURE_LEVEL_1_0", "there"),)),
    (
        "introduction-table:level",
        "GATHER",
        (("introduced in DML_FEATURE_LEVEL_1_0", "there in DML_FEATURE_LEVEL_2_0"),),
    ),
    (
        "text-level-below:InputDimensionCount/2_0",
        "GATHER_ND",
        (("What InputDimensionCount is", "Starting with DML_FEATURE_LEVEL_2_0, more"),),
    ),
    ("text-level-idle:Axis/1_0", "GATHER", (axis("Starting with DML_FEATURE_LEVEL_1_0, more."),)),
    ("name-unknown:KernelTensor", "GATHER", (axis("The *Weight* of *KernelTensor*, *InputTensor.Sizes* and *Axis*."),)),
    ("name-misspelt:InputTenso", "GATHER", (axis("The axis of InputTenso or OutputTensorDimensionCount."),)),
    ("name-misspelt:OutputTensor.Size", "GATHER", (axis("それは OutputTensor.Sizeです。"),)),
    ("name-misspelt:DimensionCoun", "GATHER", (axis("小於或等於 DimensionCoun。"),)),
    ("name-misspelt:IndexDimension", "GATHER", (axis("It is *IndexDimension*."),)),
    ("name-misspelt:IndexDimensionz", "GATHER", (code("OutputTensor.Sizes[i] = IndexDimensionz + 1"),)),
    ("name-misspelt:ScaleY", "ROI_ALIGN1", (output("It is scaled by *ScaleY*."),)),
    ("text-other-operator:Axis", "GATHER", (axis(PASTED),)),
    ("enumerator-unknown:DML_PADDING_MODE_MIRROR", "GATHER", (axis("As DML_PADDING_MODE_MIRROR does."),)),
    ("enumerator-unknown:DML_RECURRENT_NETWORD_DIRECTION", "GATHER", (axis("A DML_RECURRENT_NETWORD_DIRECTION."),)),
    (
        "property-mismatch:OutputTensor/DataType",
        "GATHER",
        (output("The DimensionCount and DataType of this must match InputTensor.DimensionCount."),),
    ),
    ("tables-missing:tables", "GATHER", (table_at("4_1"), table_at("3_0"), table_at("2_1"), table_at("1_0"))),
    ("table-level:1", "GATHER", (("DML_FEATURE_LEVEL_4_1 and", "And"),)),
    ("table-twice:1_0", "GATHER", (("LEVEL_2_1", "LEVEL_1_0"),)),
    ("table-header:4_1", "GATHER", (("| Tensor | Kind |", "| Tensor |"),)),
    ("row-unknown:4_1/KernelTensor", "GATHER", (("| InputTensor", "| KernelTensor"),)),
    ("row-missing:4_1/InputTensor", "GATHER", ((re.compile(r"\| InputTensor .*\n"), ""),)),
    ("row-twice:4_1/InputTensor", "GATHER", (("| OutputTensor", "| InputTensor"),)),
    ("row-order:1_0/OutputTensor", "GATHER", SWAPPED_ROWS),
    ("cell-unreadable:4_1/InputTensor/more", "GATHER", ((re.compile(r"(InputTensor \|.*)\n"), r"\1 FLOAT64 |\n"),)),
    ("cell-unreadable:4_1/InputTensor/data_types", "GATHER", ((re.compile(r"(1 to 8 \|).*"), r"\1"),)),
    ("type-twice:1_0/IndicesTensor/UINT32", "GATHER", (behind("1_0 and above", "UINT32", "UINT32, UINT32"),)),
    ("table-idle:5_0", "GATHER", (table_at("4_1", r"\g<1>5_0\3\g<0>"),)),
    ("row-agreement:1_0/OutputTensor/DataType", "GATHER", (behind("1_0 and above.*?Output ", ", FLOAT16", ""),)),
    (
        "row-agreement:1_0/IndicesTensor/DimensionCount",
        "GATHER",
        (behind("1_0 and above.*?IndicesTensor", "4", "3, 4"),),
    ),
    (
        "row-text:IndicesTensor",
        "GATHER",
        ((INDICES, f"It must have data type DML_TENSOR_DATA_TYPE_FLOAT32. {INDICES}"),),
    ),
    ("example-unreadable:1/IndexDimensions", "GATHER", (("IndexDimensions: 1", "IndexDimensions: ?"),)),
    ("example-unreadable:1/InputTensor.Sizes", "GATHER", (("{1, 1, 3, 2}", "{1, x}"),)),
    ("example-label:1/OutputTensor", "GATHER", (("OutputTensor: (", "InputTensor: ("),)),
    ("example-operator:1", "GATHER", (("InputTensor: (", "ATensor: ("), ("IndicesTensor: (", "BTensor: ("))),
    ("example-attribute:1/Axes", "GATHER", (("Axis: 2", "Axis: 2\nAxes: 1"),)),
    ("example-property:1/InputTensor.DataTyp", "GATHER", (("3, 2}, DataType:", "3, 2}, DataTyp:"),)),
    ("example-missing:1/InputTensor.DataType", "GATHER", (("3, 2}, DataType:FLOAT32", "3, 2}"),)),
    ("example-missing:1/InputTensor.Sizes", "GATHER", (("Sizes:{1, 1, 3, 2}, ", ""),)),
    ("example-missing:1/Axis", "GATHER", (("Axis: 2\n", ""),)),
    ("example-missing:2/Axis", "PICK", (SECOND_EXAMPLE, behind("Example 2", "Axis: 2\n", ""))),
    ("example-missing:2/FillValue", "PICK", MODES),
    ("example-count:1/RepeatsCount", "TILE", (("RepeatsCount: 4", "RepeatsCount: 3"),)),
    ("example-type:1/InputTensor", "GATHER", (("3, 2}, DataType:FLOAT32", "3, 2}, DataType:FLOAT23"),)),
    ("example-elements:1/InputTensor", "GATHER", (("{3, 4}, {5, 6}", "{3, 4}, {5}"),)),
    ("example-table:1/IndicesTensor.DataType", "GATHER", (("DataType:UINT32", "DataType:INT8"),)),
    ("example-table:1/InputTensor.DimensionCount", "PICK", (("{1, 1, 3, 2}", "{1, 1, 1, 1, 1, 1, 1, 1, 1}"),)),
    ("example-level:1", "GATHER", (*THREE_DIMENSIONS, ("Axis: 2", "Axis: 1"))),
    ("example-constraint:1/OutputTensor.DataType", "GATHER", (("2, 2}, DataType:FLOAT32", "2, 2}, DataType:FLOAT16"),)),
    ("example-constraint:1/IndicesTensor.DimensionCount", "GATHER", (("{1, 1, 1, 2}", "{1, 2}"),)),
    ("example-range:1/Axis", "GATHER", (("Axis: 2", "Axis: 4"),)),
    ("example-range:1/IndexDimensions", "GATHER", (("[0, IndicesTensor.DimensionCount]", "[0, 1)"),)),
    ("example-title:1", "GATHER", (("Figures", "5D"),)),
    ("example-title:1", "GATHER", (("Example 1. Figures", "範例 1. 2D、軸 7、巢狀索引"),)),
    ("example-comment:1/OutputTensor", "PICK", (("{5, 6}, {1, 2}}}}", "{5, 6}, {1, 3}}}} // sum({7, 9})"),)),
    ("example-formula:1/OutputTensor", "GATHER", (("{1, 1, 2, 2}", "{1, 1, 2, 3}"),)),
    ("example-formula:1/OutputTensor", "TILE", (("{1, 1, 6, 9}", "{1, 1, 6, 6}"),)),
    ("example-form:1/Axis", "GATHER", (("Axis: 2", "Axis: -1"),)),
    ("example-rule:1/axis-range", "GATHER", (("Axis: 2", "Axis: 4"),)),
    ("example-rule:1/output-sizes", "GATHER", (("{1, 1, 2, 2}", "{1, 1, 2, 3}"),)),
    ("example-open:1/leading-index-sizes", "GATHER", (("{1, 1, 1, 2}", "{2, 1, 1, 2}"),)),
    ("example-values:1/OutputTensor", "GATHER", (("{5, 6}, {1, 2}}}}", "{5, 6}, {1, 3}}}}"),)),
    ("example-values:1/OutputTensor", "GATHER", (("{{{{2, 0}}}}", "{{{{2, 3}}}}"),)),
    ("registry-field:Axis", "GATHER", (("  UINT Axis;\n", ""),)),
    ("registry-field:Axes", "GATHER", (("UINT Axis;", "UINT Axes;"),)),
    (
        "registry-field-order:IndexDimensions",
        "GATHER",
        (("UINT Axis;\n  UINT IndexDimensions;", "UINT IndexDimensions;\n  UINT Axis;"),),
    ),
    ("registry-field-type:Axis", "GATHER", (("UINT Axis;", "INT Axis;"),)),
    ("registry-field-type:InputTensor", "GATHER", (("  const DML_TENSOR_DESC *I", "  DML_TENSOR_DESC *I"),)),
    ("registry-field-type:InputTensor", "GATHER", (("  const DML_TENSOR_DESC *I", "  const DML_TENSOR_DESC I"),)),
    (
        "registry-introduction:level",
        "GATHER",
        (("introduced in DML_FEATURE_LEVEL_1_0", "there in DML_FEATURE_LEVEL_2_0"),),
    ),
    ("registry-annotation:BiasTensor", "CONVOLUTION", (("_Maybenull_ ", ""),)),
    (
        "registry-annotation:Strides/count",
        "CONVOLUTION",
        (("_Field_size_(DimensionCount)", "_Field_size_(GroupCount)"),),
    ),
    ("registry-table-missing:3_0", "GATHER", (table_at("3_0"),)),
    ("registry-table-missing:2_1 (MIN)", "REDUCE", (behind("### MIN", "LEVEL_2_1", "LEVEL_2_0"),)),
    ("registry-table-missing:1_0", "GATHER", (table_at("1_0"),)),
    ("registry-table-missing:4_1", "GATHER", (table_at("4_1"), behind("1_0 and above", "UINT32", "INT32"))),
    ("registry-table-unknown:3_1", "GATHER", (table_at("3_0", r"\g<1>3_1\3\g<0>"),)),
    ("older-edition:4_1", "GATHER", (table_at("4_1"),)),
    ("older-edition:3_0", "GATHER", (table_at("4_1"), table_at("3_0"))),
    ("newer-edition:6_4", "GATHER", (table_at("4_1", r"\g<1>6_4\3\g<0>"),)),
    ("registry-kind:4_1/InputTensor", "GATHER", (("InputTensor | Input", "InputTensor | Output"),)),
    ("registry-kind:4_0/BiasTensor", "CONVOLUTION", (behind("LEVEL_4_0", "Optional Input", "Input"),)),
    ("registry-dimension-counts:1_0/InputTensor", "GATHER", (behind("1_0 and above", "4", "3, 4"),)),
    # Of all that Function may be, it is held against the one most like it.
    (
        "registry-data-types:3_0 (ARGMIN)/OutputTensor",
        "REDUCE",
        (behind("### ARGMIN.*?LEVEL_3_0.*?OutputTensor.*?", "UINT64", "UINT32"),),
    ),
    ("registry-data-types:1_0/IndicesTensor", "GATHER", (behind("1_0 and above", "UINT32", "INT32"),)),
    (
        "registry-range:IndexDimensions",
        "GATHER",
        (("IndicesTensor.DimensionCount].", "IndicesTensor.DimensionCount)."),),
    ),
    ("registry-range:Axis", "GATHER", (("InputTensor.DimensionCount).", "InputTensor.DimensionCount]."),)),
    ("registry-formula:OutputTensor", "PADDING1", (NO_EXAMPLES, output(PADDED.replace("+ E", "- E")))),
    ("registry-agreement:DimensionCount", "GATHER", (("* InputTensor, IndicesTensor,", "* InputTensor,"),)),
    ("registry-agreement-unlisted:DataType", "GATHER", ((re.compile(r".*the same DataType\.\n"), ""),)),
    ("unknown-operator:operator", "PICK", ()),
    (
        "figure-impossible:IndicesDimensionCount/tuple-size",
        "GATHER_ND",
        (
            (
                "What IndicesD",
                "IndicesTensor.Sizes = {1, 1, 4, 6}, IndicesDimensionCount = 3: {1, 4, 6} count. What IndicesD",
            ),
        ),
    ),
    (  # Lists that begin in one paragraph and end in another.
        "figure-impossible:IndicesDimensionCount/tuple-size",
        "GATHER_ND",
        (
            (
                "What IndicesD",
                "IndicesTensor.Sizes = {1,\n\n1, 4, 6}, IndicesDimensionCount = 3: {1,\n\n4, 6} count. What IndicesD",
            ),
        ),
    ),
]


@pytest.mark.parametrize(
    ("fault", "name", "edits"), FAULTS, ids=[f"{fault}-{n}" for n, (fault, *_) in enumerate(FAULTS)]
)
def test_a_fault_is_found(fault: str, name: str, edits: tuple[Edit, ...]) -> None:
    page = page_of(name, *edits)
    found = check_page(page)
    check, _, subject = fault.partition(":")
    assert f"{check}:{name}:{subject}" in {f.id for f in found}
    assert found == sorted(found, key=lambda f: (f.place, f.id))
    assert len({f.id for f in found}) == len(found)
    assert all(one.found and one.expected and one.why and one.path == page.path for one in found)


# Check, operator of the page, and what is edited of it that the check has nothing to say about.
NO_FAULTS: list[tuple[str, str, tuple[Edit, ...]]] = [
    ("unreadable", "PICK", (code("InputTensor: (Sizes:{2})\nor so"),)),
    ("structure-misspelt", "GATHER", (axis("See DML_TILE1_OPERATOR_DESC."),)),
    ("text-unwritten", "GATHER", (axis("What a TBDTensor would be is no matter here."),)),
    ("name-unknown", "GATHER", (axis("It is the *KernelTensor* of DML_CONVOLUTION_OPERATOR_DESC."),)),
    ("name-unknown", "GATHER", (axis("It comes from the *KernelTensor* of a max-pooling operation."),)),
    ("name-unknown", "GATHER", (("`Axis`", "`KernelTensor`"), (AXIS, "*KernelTensor* is"))),
    ("name-misspelt", "GATHER", (("UINT Axis;", "const UINT *WindowSizes;"), axis("Each WindowSize is 1."))),
    ("name-misspelt", "ROI_ALIGN1", (output("It is a *PixelOffset*."),)),
    ("registry-formula", "PADDING1", (NO_EXAMPLES, output(PADDED))),
    ("text-other-operator", "BATCH_NORMALIZATION_GRAD", (("What InputTensor is.", PASTED),)),
    (
        "example-comment",
        "PICK",
        (("{5, 6}, {1, 2}}}}", "{5, 6}, {1, 2}}}} // sum({5, 6, 1, 2}), as {1, 1, 2, 2} says"),),
    ),
    (
        "text-level-below",
        "GATHER_ND",
        (("What InputDimensionCount is", "DML_PICK_MODE_A is of DML_FEATURE_LEVEL_2_0"),),
    ),
    ("field-type", "GATHER", (("UINT Axis;", "FLOAT Axis;"), ("`Axis`\n\nType: UINT", "`Axis`\n\nType: float"))),
    (
        "row-text",
        "GATHER",
        ((INDICES, f"It must have data type UINT32 or DML_TENSOR_DATA_TYPE_FLOAT32. {INDICES}"),),
    ),
    ("row-text", "GATHER", ((INDICES, f"If Axis is 0, it must have data type FLOAT32. {INDICES}"),)),
    ("row-text", "GATHER", ((INDICES, f"The type of InputTensor must be FLOAT32. {INDICES}"),)),
    ("example-elements", "GATHER", (("{{{{1, 2}, {3, 4}, {5, 6}}}}", "{{1, 2}, {3, 4}, {5, 6}}"),)),
    ("example-operator", "GATHER", (("InputTensor: (", "ATensor: ("),)),
    ("example-missing", "PICK", (*MODES, behind("Example 2", "MODE_FILL", "MODE_EDGE"))),
    ("example-title", "GATHER", (("Figures", "2D"),)),  # which leading ones pad
]


@pytest.mark.parametrize(
    ("check", "name", "edits"), NO_FAULTS, ids=[f"{check}-{n}" for n, (check, *_) in enumerate(NO_FAULTS)]
)
def test_what_is_no_fault_is_not_found(check: str, name: str, edits: tuple[Edit, ...]) -> None:
    assert not [found.id for found in check_page(page_of(name, *edits)) if found.check == check]


def test_every_check_has_a_fault_here() -> None:
    assert {fault.partition(":")[0] for fault, *_ in FAULTS} == ALONE.keys()


@pytest.mark.parametrize(
    ("file", "found"), [("tile_operator_desc", {"structure-name:GATHER:file"}), ("gather_operator_desc.zh-tw", set())]
)
def test_the_name_of_the_file_names_the_structure(file: str, found: set[str]) -> None:
    assert ids(page_of("GATHER", path=f"pages/ns-directml-dml_{file}.md")) == found


@pytest.mark.parametrize(
    ("name", "edits", "missing"),
    [
        # The count of an array that is printed.
        ("TILE", (behind("Example 2", "RepeatsCount: 4\n", ""),), []),
        ("TILE", (behind("Example 2", "RepeatsCount: 4\nRepeats: {1, 1, 3, 3}\n", ""),), ["2/Repeats"]),
        # A tensor that may be null.
        ("PICK", (LOST_INDICES, ("const DML_TENSOR_DESC *Ind", "_Maybenull_ const DML_TENSOR_DESC *Ind")), []),
        ("PICK", (LOST_INDICES,), ["2/IndicesTensor"]),
    ],
)
def test_what_is_missing_from_the_second_example(name: str, edits: tuple[Edit, ...], missing: list[str]) -> None:
    found = check_page(page_of(name, SECOND_EXAMPLE, *edits))
    assert [one.id for one in found if one.check == "example-missing"] == [
        f"example-missing:{name}:{field}" for field in missing
    ]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_fault_is_its_erratum(name: str) -> None:
    """What is found on a page with the published faults is what its errata list, and links to them."""
    known = {one: erratum.id for erratum in errata().values() for one in erratum.page_checks if f":{name}:" in one}
    assert known
    found = check_page(published_page(name))
    assert {one.id: one.erratum for one in found} == known
    assert all(one.severity is ALONE[one.check].severity for one in found)


def test_every_finding_that_an_erratum_lists_is_of_a_check_here() -> None:
    listed = [one for erratum in errata().values() for one in erratum.page_checks]
    assert len(listed) == len(set(listed)) > 20
    assert {one.partition(":")[0] for one in listed} <= ALONE.keys()


def test_what_only_the_translation_has_wrong_is_not_reported_here() -> None:
    shown = ("инпуттенсор", "Входные данные", "от 1 до 8", "ЗНАЧЕНИЕМ")
    (row,) = (row for row in page_of("GATHER").tables[0].rows if row.tensor == "InputTensor")
    old = f"| {' | '.join(cell.text for cell in row.cells)} |"
    new = f"| {' | '.join(beside(text, cell.text) for text, cell in zip(shown, row.cells, strict=True))} |"
    assert ids(page_of("GATHER", (old, new))) == set()
    assert {"row-unknown:GATHER:4_1/инпуттенсор", "row-missing:GATHER:4_1/InputTensor"} <= ids(
        page_of("GATHER", (old, f"| {' | '.join(shown)} |"))
    )


def test_an_original_that_is_wrong_is_reported() -> None:
    original = beside("Ось в диапазоне.", "From [0, InputTensor.DimensionCount].")
    assert ids(page_of("GATHER", (f"{AXIS}, in [0, InputTensor.DimensionCount).", original))) == {
        "registry-range:GATHER:Axis"
    }


@pytest.mark.parametrize("name", ["IndicisTensor", "IndicesTenser"])
@pytest.mark.parametrize(
    ("start", "end", "found"),
    [("*", ";", {"field"}), ("`", "`", {"field", "name"}), ("| ", " |", {"field"})],
)
def test_a_misspelt_field_is_one_finding(name: str, start: str, end: str, found: set[str]) -> None:
    """And set as code it is a wrong name, too."""
    page = page_of("GATHER", (f"{start}IndicesTensor{end}", f"{start}{name}{end}"))
    assert {one.check.partition("-")[0] for one in check_page(page)} == found


def test_a_lost_heading_is_no_older_edition() -> None:
    assert ids(page_of("GATHER", ("DML_FEATURE_LEVEL_4_1 and", "And"))) == {"table-level:GATHER:1"}


def test_what_a_check_of_its_own_reports_is_not_reported_as_unreadable_too() -> None:
    page = page_of("GATHER", ("| 1 to 8 |", "| four |"))
    assert [problem.id for problem in page.problems] == ["unreadable-dimension-counts"]
    assert {one.check for one in check_page(page)} == {"cell-unreadable"}


@pytest.mark.parametrize(
    ("page", "finding_id", "expected"),
    [
        (
            page_of("GATHER", ("{5, 6}, {1, 2}}}}", "{5, 7}, {1, 3}}}}")),
            "example-values:GATHER:1/OutputTensor",
            "OutputTensor[0,0,0,1] = 6, OutputTensor[0,0,1,1] = 2",
        ),
        # Though the type or an attribute is wrong, and though the wrong type takes fewer bytes.
        (
            published_page("GATHER_ELEMENTS", ("{7, 2, 3}", "{7, 2, 2}")),
            "example-values:GATHER_ELEMENTS:1/OutputTensor",
            "OutputTensor[1,2] = 3",
        ),
        (
            published_page("GATHER", behind("Example 3.*OutputTensor", "{6, 5}", "{6, 6}")),
            "example-values:GATHER:3/OutputTensor",
            "OutputTensor[2,1] = 5",
        ),
        (
            page_of("TILE", behind("Output.*Output", "FLOAT32)\n{{{{1,", "INT8)\n{{{{9,")),
            "example-values:TILE:1/OutputTensor",
            "OutputTensor[0,0,0,0] = 1",
        ),
    ],
)
def test_mismatching_elements_are_named(page: Page, finding_id: str, expected: str) -> None:
    found = finding(page, finding_id)
    assert found.expected == expected
    assert re.sub(r" = \d", "", found.found) == re.sub(r" = \d", "", expected)


def test_examples_that_need_much_memory_are_not_computed() -> None:
    strides = "DataType:FLOAT32, Strides:{2147483648, 1073741824, 536870912, 268435456})"
    assert ids(page_of("GATHER", behind("InputTensor: ", "DataType:FLOAT32)", strides))) == set()
    assert not any("example-values" in one for one in ids(page_of("GATHER", ("{1, 1, 3, 2}", "{1048576, 1024, 1, 1}"))))


def changed_rows(table: LevelTable) -> Iterator[tuple[str, LevelTable]]:
    """Every change of one cell that means something, with its row: each type and count left out or added, another kind
    or tensor."""
    for at, old in enumerate(table.rows):
        assert old.data_types is not None
        assert old.dimension_counts is not None
        usual = [cell.text for cell in old.cells]
        changes = [
            *(("data_types", ", ".join(sorted({name} ^ set(old.data_types)) or ["INT8"])) for name in CHANGED_TYPES),
            *(("dimension_counts", counts_text({count} ^ set(old.dimension_counts) or {3})) for count in (1, 4, 8, 9)),
            ("kind", "Output" if old.kind == "Input" else "Input"),
            ("tensor", "KernelTensor"),
        ]
        for column, text in changes:
            index = table.columns.index(column)
            row = level_row_of(old.place.line, *usual[:index], text, *usual[index + 1 :])
            yield old.tensor, msgspec.structs.replace(table, rows=(*table.rows[:at], row, *table.rows[at + 1 :]))


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_every_change_of_a_cell_is_an_error_at_its_place(name: str) -> None:
    """Of an operator with tables by variant those of the last one."""
    page, (*_, tables), tried = page_of(name), operator(name).variants.values(), 0
    for at, table in enumerate(page.tables[-len(tables) :], len(page.tables) - len(tables)):
        for tensor, changed in changed_rows(table):
            every = (*page.tables[:at], changed, *page.tables[at + 1 :])
            found = check_page(msgspec.structs.replace(page, tables=every))
            errors = [one.id for one in found if one.severity is Severity.ERROR]
            assert any(f"{table.label}/{one}" in error for error in errors for one in (tensor, "KernelTensor"))
            tried += 1
    assert tried == 12 * len(tables) * len(operator(name).tensor_fields)


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
    assert check_page(page_of("GATHER_ND", output(text))) == []


def test_a_page_in_its_source_form_needs_no_syntax_block() -> None:
    source = (re.compile(r"# DML_GATHER.*?## Members", re.DOTALL), "## -struct-fields")
    last = (re.compile(r"`IndexDimensions`.*?(?=## Avail)", re.DOTALL), "")
    assert ids(page_of("GATHER", source)) == set()
    assert "registry-field:GATHER:IndexDimensions" in ids(page_of("GATHER", source, last))


def test_annotations_of_a_type_and_optional_inputs_are_no_fault() -> None:
    edits = (
        ("const DML_TENSOR_DESC *Indices", "_Maybenull_ const DML_TENSOR_DESC* Indices"),
        ("`Axis`\n\nType: UINT", "`Axis`\n\nType: \\_In\\_range\\_(0, 7) UINT"),
        ("IndicesTensor | Input", "IndicesTensor | Optional input"),
    )
    assert ids(page_of("PICK", *edits)) == {"unknown-operator:PICK:operator"}


def test_operators_within_a_structure_are_no_arrays() -> None:
    more = "UINT IndexDimensions;\n  UINT GroupCount;\n  const DML_OPERATOR_DESC *FusedActivation;"
    page = page_of(
        "PICK", ("UINT IndexDimensions;", more), ("Axis: 2", "Axis: 2\nGroupCount: 1\nFusedActivation: {1, 2}")
    )
    assert not any(one.startswith("example-count") for one in ids(page))
