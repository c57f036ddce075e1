"""A page of the specification as a model: what it says, and where it says it.

The model holds what stands on the page, right or wrong: nothing is corrected, completed or compared with the registry
here. A value that could not be read is None beside the text that was there, so that a check can quote it.

What is read from a text is read from the English original where the page carries one beside it: a machine translation
may have translated or transliterated names (`инпуттенсор`) and types. Whether the shown text says what the original
says is checked elsewhere, so that a fault that only the translation has is found once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from dml_conformance.documents.read.words import without_index
from dml_conformance.spec.errors import BadInputError

FORMAT = 1


class Form(StrEnum):
    """What kind of file a page is."""

    MARKDOWN = "markdown"
    TEXT = "text"


class Place(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """Where something stands in the file.

    Attributes:
        line: from 1 on.
        column: from 1 on, in characters.
    """

    line: int
    column: int


class Quoted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of the page's text: a sentence, a cell, a heading, a value.

    Attributes:
        text: as a reader sees it, without markup; white space collapsed.
        place: where it starts.
        original: the English original that the page carries beside it; None where it carries none.
        marked: the parts of `text` that are set as code or emphasised, in order; names mostly.
        original_marked: the same of `original`.
    """

    text: str
    place: Place
    original: str | None = None
    marked: tuple[str, ...] = ()
    original_marked: tuple[str, ...] = ()

    @property
    def english(self) -> str:
        """The original where there is one, else the text."""
        return self.text if self.original is None else self.original


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the structure in the syntax block.

    Attributes:
        name: the field.
        type: in one spelling: `const DML_TENSOR_DESC *`, `UINT`, `const UINT *`; annotations left out.
        place: where the line starts.
        optional: whether it is annotated with `_Maybenull_`.
        count_field: the field that holds an array's length by `_Field_size_(…)`; "" without that annotation.
    """

    name: str
    type: str
    place: Place
    optional: bool = False
    count_field: str = ""

    @property
    def text(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"

    @property
    def is_tensor(self) -> bool:
        return "DML_TENSOR_DESC" in self.type and self.is_pointer

    @property
    def is_array(self) -> bool:
        """Whether it is an array of numbers."""
        return "DML_" not in self.type and self.is_pointer

    @property
    def is_pointer(self) -> bool:
        return self.type.rstrip().endswith("*")


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An interval: each bound as written, a number or one computed from fields, and whether it belongs to it."""

    low: str
    high: str
    low_closed: bool
    high_closed: bool

    @property
    def text(self) -> str:
        """`[0, InputTensor.DimensionCount)`."""
        return f"{'(['[self.low_closed]}{self.low}, {self.high}{')]'[self.high_closed]}"


class PrintedInterval(Interval, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An interval in the text of a field.

    Attributes:
        low, high: the bounds as written, markup removed.
        low_closed, high_closed: whether the bound itself belongs to it.
        place: where it starts.
    """

    place: Place


class FieldSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The section on one field.

    Attributes:
        name: its heading.
        type: that of its type line in the spelling of `Declaration.type`; None where no such line is found.
        type_line: that line.
        text: the sentences or paragraphs on it, code blocks left out.
        ranges: the intervals in that text: in its originals where these have any.
        optional, count_field: what annotations in the type line say, as in `Declaration`.
    """

    name: Quoted
    type: str | None = None
    type_line: Quoted | None = None
    text: tuple[Quoted, ...] = ()
    ranges: tuple[PrintedInterval, ...] = ()
    optional: bool = False
    count_field: str = ""


class LevelRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One row of a level's table.

    Attributes:
        cells: as they stand, the missing ones at the end left out.
        tensor: the field's name.
        kind: `Input` or `Output`, whatever language it stands in; None where the word is not known.
        dimension_counts: None where the cell cannot be read as numbers.
        data_types: the names, known or not; None where the cell is missing.
        optional: whether the kind is said to be optional (`Optional input`).
        array: whether the kind is said to be an array (`Array of inputs`).
    """

    cells: tuple[Quoted, ...]
    tensor: str
    kind: str | None
    dimension_counts: tuple[int, ...] | None
    data_types: tuple[str, ...] | None
    optional: bool = False
    array: bool = False

    @property
    def place(self) -> Place:
        return self.cells[0].place


class LevelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the tensors may be from one level on.

    Attributes:
        heading: the line above it.
        level: its label (`4_1`); None where the heading names none.
        variant: the heading above that one, where it tells the calls that the table is for (a function to reduce by).
        header: the header cells; scraped text may have lost some or all.
        columns: what each column holds, told from headers, originals or contents: `tensor`, `kind`, `dimensions`,
            `dimension_counts`, `data_types`; in the order of the cells.
        rows: one a tensor, in the page's order.
    """

    heading: Quoted
    level: str | None
    header: tuple[Quoted, ...]
    columns: tuple[str, ...]
    rows: tuple[LevelRow, ...]
    variant: Quoted | None = None

    @property
    def label(self) -> str:
        """Its level and, where it has one, its variant: `4_1`, `4_1 (MIN and MAX)`."""
        return f"{self.level}" if self.variant is None else f"{self.level} ({self.variant.english})"

    @property
    def row_of(self) -> dict[str, LevelRow]:
        """The first row of each tensor."""
        return {row.tensor: row for row in reversed(self.rows)}

    def path(self, row: LevelRow) -> str:
        """`4_1/InputTensor`."""
        return f"{self.label}/{row.tensor}"

    def cells(self, row: LevelRow) -> dict[str, Quoted]:
        """The cells of one of its rows by what they hold."""
        return dict(zip(self.columns, row.cells, strict=False))

    def cell(self, row: LevelRow, column: str) -> Quoted:
        """The cell of a column, or the row's first one where it has lost it."""
        return self.cells(row).get(column, row.cells[0])


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A value printed in an example.

    Attributes:
        value: a truth, an integer, a real number, a name, or a list of these, nested as printed; None where unreadable.
            What JSON has no number for is the name `Infinity`, `-Infinity` or `NaN`.
        text: as printed.
        place: where it starts.
    """

    value: bool | int | float | str | list[Any] | None
    text: str
    place: Place


class ExampleTensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tensor of an example.

    Attributes:
        label: the name that it is printed under.
        sizes: None where none are printed or they cannot be read.
        data_type: the name as printed; None where none is.
        values: the elements, nested as printed (lists may lack commas between rows); None where none are printed.
        properties: everything else printed about it (`Strides`), by name.
    """

    label: Quoted
    sizes: Value | None = None
    data_type: Value | None = None
    values: Value | None = None
    properties: dict[str, Value] = {}

    @property
    def field(self) -> str:
        """The field that the label names: `InputTensors`, where it is `InputTensors[0]`."""
        return without_index(self.label.english)

    @property
    def printed(self) -> dict[str, Value]:
        """Everything printed about it: `Sizes`, `DataType`, `values` and the properties."""
        every = {"Sizes": self.sizes, "DataType": self.data_type, "values": self.values, **self.properties}
        return {name: value for name, value in every.items() if value is not None}


class PageExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A worked example: one code block, and what a block before it prints for several examples.

    Attributes:
        number: the page's own, from its title, else its place among the examples from 1 on; 0 for a figure within
            the text of a field or the description.
        title: its heading; None where it has none.
        attributes: values of the fields that are not tensors, by name as printed.
        tensors: in the order of the page; one of an array of tensors is labelled `InputTensors[0]`.
        place: where its own block starts.
        last_line: of this block.
    """

    number: int
    title: Quoted | None
    attributes: dict[str, Value]
    tensors: tuple[ExampleTensor, ...]
    place: Place
    last_line: int


class CodeBlock(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A block set as code, whole.

    Attributes:
        section: the part of the page that it stands in.
        text: its lines as they stand, without the indentation that all share.
        role: what it was read as: `pseudocode`, `syntax`, `formula`, `example`, `other`.
        place: where it starts.
    """

    section: str
    text: str
    role: str
    place: Place


class Passage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of text with the part of the page that it stands in, in the page's order.

    Attributes:
        section: `front`, `title`, `description`, `syntax`, `members`, `members/InputTensor`, `examples`, `remarks`,
            `availability`, `constraints`, `support`, `support/4_1`, `requirements`, `other`.
        role: `heading`, `sentence`, `item` (of a list), `cell`.
        quoted: the text.
    """

    section: str
    role: str
    quoted: Quoted


class ReadingProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something on the page that could not be read.

    Attributes:
        id: what kind: `unclosed-code-block`, `unreadable-row`, `unreadable-values`, `unreadable-declaration`, ...
        what: in a sentence.
        fragment: the text, shortened.
        place: where it starts.
    """

    id: str
    what: str
    fragment: str
    place: Place


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page on one operator.

    Attributes:
        format: 1; raised when something in it changes meaning.
        path: of the file, as it was given.
        digest: SHA-256 of its bytes.
        form: what kind of file it is.
        language: of the front matter or told from the words on it (`zh-TW`, `it-IT`, `ru-RU`, `ja-JP`, `en-US`);
            None where it cannot be told.
        edition: what tells editions apart: the date of the front matter; None without one.
        operator: the operator's name (`GATHER_ND`), known to the registry or not.
        structure: the structure's name as its syntax block has it.
        title: its first heading.
        front_matter: the plain values of the front matter.
        declarations: the fields in the syntax block, in its order.
        members: the sections on fields, in the page's order.
        introduced_in: the label of the level named under availability; None where none is.
        availability, constraints, remarks: the sentences of these sections.
        tables: what the tensors may be, level by level, in the page's order.
        examples: the worked examples, and figures within the text of fields.
        code_blocks: all of them; among them those that compute sizes, whose role is `formula`.
        passages: all text that is no code block.
        problems: what could not be read.
    """

    format: int
    path: str
    digest: str
    form: Form
    language: str | None
    edition: str | None
    operator: str
    structure: str | None
    title: Quoted | None
    front_matter: dict[str, str]
    declarations: tuple[Declaration, ...]
    members: tuple[FieldSection, ...]
    introduced_in: str | None
    availability: tuple[Quoted, ...]
    constraints: tuple[Quoted, ...]
    remarks: tuple[Quoted, ...]
    tables: tuple[LevelTable, ...]
    examples: tuple[PageExample, ...]
    code_blocks: tuple[CodeBlock, ...]
    passages: tuple[Passage, ...]
    problems: tuple[ReadingProblem, ...]

    @property
    def has_original(self) -> bool:
        """Whether the page carries an English original beside its text."""
        return any(passage.quoted.original is not None for passage in self.passages)


class PageError(BadInputError, ValueError):
    """A file that is no page on an operator, or cannot be read at all; the message says why and what to do."""


class NoOperatorPage(PageError):
    """A text that is no page on an operator: a guide, a page on another structure, something else altogether."""
