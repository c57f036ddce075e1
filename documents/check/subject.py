"""A page made ready for its checks: fields, tables, agreements and examples under the names that its operator has.

Which words count: a machine translation may have translated or transliterated names (`инпуттенсор`) and types. Whether
the shown text says what the original says is checked elsewhere, so here everything is read from the English original
where the page carries one beside the text, and from the text as shown where it carries none. A fault that only the
translation has is then reported once, not again as a field without a row or an unknown data type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from dml_conformance.documents.check.formulas import (
    Environment,
    Formula,
    FormulaError,
    formula_in_code,
    formula_in_prose,
)
from dml_conformance.documents.read import words
from dml_conformance.documents.read.model import (
    Declaration,
    ExampleTensor,
    FieldSection,
    LevelRow,
    LevelTable,
    NamedShape,
    Page,
    PageExample,
    Place,
    PrintedInterval,
    Quoted,
    Value,
)
from dml_conformance.documents.read.shapes import shapes_in
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.registry import operators

TENSOR_TYPE, UINT_TYPE, UINT_ARRAY_TYPE = "const DML_TENSOR_DESC *", "UINT", "const UINT *"
DIMENSION_COUNT, DATA_TYPE, SIZES = "DimensionCount", "DataType", "Sizes"
_LIMITS = {"INT32_MIN": -(2**31), "INT32_MAX": 2**31 - 1, "UINT32_MAX": 2**32 - 1}
PROPERTIES = (DIMENSION_COUNT, DATA_TYPE, SIZES, "Strides")
_PROPERTY = "|".join(PROPERTIES)
_ANNOTATION = re.compile(r"(?<!\w)_[A-Za-z]\w*_(?:\([^()]*\))?(?!\w)")
_LIST = re.compile(r"\{\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*\}")
_MOST_FIELDS = 200  # whose names are looked for in the text; no structure has so many
_VALUE = re.compile(r"=\s*(\d{1,9})(?!\d)")


def same_type(one: str, other: str) -> bool:
    """Whether two spellings of a C type are the same but for white space and annotations such as `_Maybenull_`.

    `FLOAT` is the header's name of `float`.
    """
    return _bare_type(one) == _bare_type(other)


def _bare_type(text: str) -> str:
    return re.sub(r"\bfloat\b", "FLOAT", "".join(_ANNOTATION.sub(" ", text).split()))


class Mention(NamedTuple):
    """A field or property named in a text; "" for the one of the two that is not."""

    field: str
    property: str
    start: int
    end: int


@dataclass(frozen=True)
class PageField:
    """A field of the operator's structure.

    Attributes:
        name: DirectML's name.
        type: `const DML_TENSOR_DESC *`, `UINT`, `const UINT *`, or another.
        count_field: for an array, the field that holds its length; "" where none is found.
        optional: whether it may be null.
    """

    name: str
    type: str
    count_field: str = ""
    optional: bool = False

    @property
    def is_tensor(self) -> bool:
        return same_type(self.type, TENSOR_TYPE)

    @property
    def is_array(self) -> bool:
        return self.type.rstrip().endswith("*") and "DML_" not in self.type


class Spot(NamedTuple):
    """A text and where it stands."""

    place: Place
    text: str


@dataclass(frozen=True)
class TableRow:
    """A row of a level's table, read by the rule of this module.

    Attributes:
        label: of the table.
        tensor: the field's name.
        kind: `Input`, `Output` or None.
        dimension_counts, data_types: None where the cell is missing or cannot be read.
        cells: as they stand on the page.
        columns: the cells by what they hold.
        optional, array, shapes: as in `LevelRow`.
    """

    label: str
    tensor: str
    kind: str | None
    dimension_counts: frozenset[int] | None
    data_types: tuple[str, ...] | None
    cells: tuple[Quoted, ...]
    columns: Mapping[str, Quoted]
    optional: bool = False
    array: bool = False
    shapes: tuple[NamedShape, ...] = ()

    @property
    def name(self) -> str:
        """`4_1/InputTensor`."""
        return f"{self.label}/{self.tensor}"

    @property
    def place(self) -> Place:
        return self.cells[0].place

    def quoted(self, column: str) -> Quoted:
        """The cell of a column, or the row's first one where it has lost it."""
        return self.columns.get(column, self.cells[0])


@dataclass(frozen=True)
class Table:
    """A level's table, read by the rule of this module; `rows` has the first row of each tensor.

    Attributes:
        label: of its level and, where it has one, its variant: `4_1`, `4_1 (MIN and MAX)`.
        level: None where there is none of this label.
        table: as it stands on the page.
        every_row: its rows, in the page's order.
    """

    label: str
    level: Level | None
    table: LevelTable
    every_row: tuple[TableRow, ...]

    @cached_property
    def rows(self) -> dict[str, TableRow]:
        return {row.tensor: row for row in reversed(self.every_row)}

    @property
    def heading(self) -> Quoted:
        return self.table.heading


@dataclass(frozen=True)
class Agreement:
    """A sentence of the constraint list that has tensors agree in something.

    Attributes:
        property: `DimensionCount`, `DataType`, `Sizes` or `Strides`.
        tensors: the fields named, in the order of the sentence.
        quoted: the sentence.
    """

    property: str
    tensors: tuple[str, ...]
    quoted: Quoted


@dataclass(frozen=True)
class WorkedExample:
    """An example with its tensors under the names of the fields.

    Attributes:
        example: as it stands on the page.
        tensors: by field; a tensor under a wrong label goes to the only field that has none. The elements of an array
            stand under their own labels, `InputTensors[0]`.
        mislabelled: the tensors under a label that is no field's, or another tensor's; with the field meant, if plain.
    """

    example: PageExample
    tensors: Mapping[str, ExampleTensor]
    mislabelled: tuple[tuple[ExampleTensor, str | None], ...]

    @property
    def number(self) -> int:
        return self.example.number

    @property
    def attributes(self) -> Mapping[str, Value]:
        return self.example.attributes

    @property
    def fields(self) -> frozenset[str]:
        """The fields that it prints something of."""
        return frozenset((*map(words.without_index, self.tensors), *self.attributes))

    @property
    def is_figure(self) -> bool:
        """Whether it is a figure within the text of a field, which need not be whole."""
        return self.example.number == 0

    @cached_property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The readable sizes by field."""
        found = {name: integers(tensor.sizes) for name, tensor in self.tensors.items()}
        return {name: sizes for name, sizes in found.items() if sizes is not None}

    @cached_property
    def data_types(self) -> dict[str, str]:
        """The printed data types by field, known or not."""
        return {
            name: tensor.data_type.value
            for name, tensor in self.tensors.items()
            if tensor.data_type is not None and isinstance(tensor.data_type.value, str)
        }

    @property
    def values(self) -> Iterator[tuple[str, Value]]:
        """Everything that it prints, by name: `Axis`, `InputTensor.Sizes`, `InputTensor.values`."""
        yield from self.attributes.items()
        for name, tensor in self.tensors.items():
            for part, value in tensor.printed.items():
                yield f"{name}.{part}", value

    @cached_property
    def environment(self) -> Environment:
        """What the example gives a formula."""
        arrays = {name: integers(value) for name, value in self.attributes.items()}
        return Environment(
            {name: v.value for name, v in self.attributes.items() if isinstance(v.value, int)},
            {name: values for name, values in arrays.items() if values is not None},
            self.sizes,
        )


@dataclass(frozen=True)
class PageIllustration:
    """Sizes in the section on a count that show which dimensions it selects.

    Attributes:
        field: the count.
        tensor: the tensor whose sizes they are.
        sizes: all of them.
        count: the value that the count has.
        selected: the sizes that count by the text.
        quoted: the sentence with the sizes.
    """

    field: str
    tensor: str
    sizes: tuple[int, ...]
    count: int
    selected: tuple[int, ...]
    quoted: Quoted


@dataclass(frozen=True)
class PrintedFormula:
    """A formula with where it stands; None for one in a grammar that is not read, and why."""

    formula: Formula | None
    text: str
    place: Place
    problem: str = ""

    @property
    def cited(self) -> str:
        return f"the formula in line {self.place.line}: {' '.join(self.text.split())}"


@dataclass(frozen=True)
class PageSubject:
    """A page and what the registry knows of its operator, if anything."""

    page: Page
    spec: OperatorSpec | None

    @classmethod
    def of(cls, page: Page) -> PageSubject:
        return cls(page, operators().get(page.operator))

    @property
    def top(self) -> Spot:
        """Where a finding about the page as a whole stands: at its title, else at its start."""
        return Spot(self.page.title.place if self.page.title is not None else Place(1, 1), self.page.operator)

    @property
    def is_source(self) -> bool:
        """Whether the page is in the form that its authors write, where the header takes the syntax block's place."""
        return any(p.role == "heading" and p.quoted.text.startswith("-struct-fields") for p in self.page.passages)

    @cached_property
    def declared(self) -> tuple[Declaration, ...]:
        """The declarations of the syntax block; of a page without one, its sections on fields that name a type."""
        return self.page.declarations or tuple(
            Declaration(member.name.english, kind, member.name.place, member.optional, member.count_field)
            for member in self.page.members
            if (kind := type_of(member)) is not None
        )

    @cached_property
    def fields(self) -> dict[str, PageField]:
        """The fields by name: as declared, else those of the registry."""
        sections = {member.name.english: member for member in self.page.members}
        declared = [_field(declaration, sections.get(declaration.name)) for declaration in self.declared]
        if not declared and self.spec is not None:
            declared = [PageField(name, kind) for name, kind in registered_types(self.spec)]
        fields: dict[str, PageField] = {}
        count = ""
        for field in declared:
            if field.name.endswith("Count") and same_type(field.type, UINT_TYPE):
                count = field.name  # arrays follow their length, several may share one
            elif field.is_array:
                field = replace(field, count_field=field.count_field or count)
            elif not field.is_tensor:
                count = ""
            fields.setdefault(field.name, field)
        return fields

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """The names that are looked for in the text: those of all fields that a real structure may have."""
        return tuple(islice(self.fields, _MOST_FIELDS))

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """The names of the fields that are tensors, in order."""
        return tuple(name for name, field in self.fields.items() if field.is_tensor)

    @cached_property
    def introduced_in(self) -> tuple[str, Quoted] | None:
        """The label of the level named under availability, with its sentence; None where none is."""
        for quoted in self.page.availability:
            for label in levels_in(quoted.english):
                return label, quoted
        return None

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """All tables that name a level, in the page's order.

        Under no level, the only table of the page, or of its variant, holds from the operator's introduction on.
        """
        variants = Counter(map(_variant, self.page.tables))
        introduced = "" if self.introduced_in is None else self.introduced_in[0]
        tables = (_table(table, introduced if variants[_variant(table)] == 1 else "") for table in self.page.tables)
        return tuple(table for table in tables if table is not None)

    @property
    def rows(self) -> Iterator[TableRow]:
        """The rows of all these tables."""
        return (row for table in self.tables for row in table.every_row)

    @cached_property
    def table_at(self) -> dict[Level, Table]:
        """The first table of each level that exists, from the lowest level on; none where levels have variants."""
        return self.series[0] if len(self.series) == 1 else {}

    @cached_property
    def series(self) -> tuple[dict[Level, Table], ...]:
        """For each variant, the first table of each level that exists, from the lowest level on."""
        first: dict[str, dict[Level, Table]] = {}
        for table in self.tables:
            if table.level is not None:
                first.setdefault(_variant(table.table), {}).setdefault(table.level, table)
        return tuple(dict(sorted(tables.items())) for tables in first.values())

    @cached_property
    def agreements(self) -> tuple[Agreement, ...]:
        """What the constraint list has tensors agree in."""
        return tuple(
            agreement
            for quoted in self.page.constraints
            for sentence in sentences(quoted.english)
            for agreement in self._agreements(quoted, sentence)
        )

    @cached_property
    def examples(self) -> tuple[WorkedExample, ...]:
        return tuple(self._worked(example) for example in self.page.examples)

    @cached_property
    def formulas(self) -> tuple[PrintedFormula, ...]:
        """The formulas that give a tensor's sizes: the blocks of code, then those within sentences."""
        return (*self._formulas_in_code(), *self._formulas_in_prose())

    @cached_property
    def illustrations(self) -> tuple[PageIllustration, ...]:
        """The illustrations of counts that name one tensor's sizes, one count and one selection."""
        found = (self._illustration(member) for member in self.page.members)
        return tuple(illustration for illustration in found if illustration is not None)

    def mentions(self, text: str) -> Iterator[Mention]:
        """The fields and properties named in a text.

        Names may stand without anything between them, as in text that has lost its markup.
        """
        end = 0
        for match in self._named.finditer(text):
            within_word = match.start() > end and re.match(r"[A-Za-z_.]", text[match.start() - 1])
            end = match.end()
            if not within_word:
                yield Mention(match[1] or "", match[2] or match[3] or "", match.start(), match.end())

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """A field, a field's property or a property; the first group is the field."""
        # SLICE has a field DimensionCount, too; in a text the word is the tensors' property.
        names = sorted(set(self.field_names) - set(PROPERTIES), key=len, reverse=True)
        field = "|".join(map(re.escape, names)) or r"(?!)"
        return re.compile(rf"({field})(?:\.\s?({_PROPERTY}))?|({_PROPERTY})")

    def unknown_among(self, names: frozenset[str]) -> str:
        """Which of these names is no field of the structure, in a sentence; "" where all are fields."""
        unknown = sorted(names - set(self.fields))
        return f"{unknown[0]} is no field of the structure" if unknown else ""

    def ranges(self, member: FieldSection) -> tuple[PrintedInterval, ...]:
        """The intervals of a section: of its original where that has any, else of the text as shown."""
        original = tuple(interval for interval in member.ranges if interval.of_original)
        return original or member.ranges

    def _illustration(self, member: FieldSection) -> PageIllustration | None:
        field = self.fields.get(member.name.english)
        if field is None or field.is_tensor or field.is_array:
            return None
        text = " ".join(quoted.english for quoted in member.text)
        lists = [tuple(map(int, found.split(","))) for found in _LIST.findall(text)]
        counts = [int(found) for found in _VALUE.findall(text)]
        tensors = [m.field for m in self.mentions(text) if m.field in self.tensors and m.property == SIZES]
        if len(lists) != 2 or len(counts) != 1 or not tensors:
            return None
        quoted = next(quoted for quoted in member.text if _LIST.search(quoted.english))
        return PageIllustration(field.name, tensors[0], lists[0], counts[0], lists[1], quoted)

    def _agreements(self, quoted: Quoted, sentence: str) -> Iterator[Agreement]:
        mentioned = list(self.mentions(sentence))
        if any(mention.field and mention.property for mention in mentioned):
            return  # compares a field's property with another's, in words that are not read
        tensors = tuple(dict.fromkeys(mention.field for mention in mentioned if mention.field in self.tensors))
        if len(tensors) < 2 or not _says_same(quoted, sentence, self.page.language):
            return
        for prop in dict.fromkeys(mention.property for mention in mentioned if mention.property):
            yield Agreement(prop, tensors, quoted)

    def _worked(self, example: PageExample) -> WorkedExample:
        tensors: dict[str, ExampleTensor] = {}
        stray: list[ExampleTensor] = []
        for tensor in example.tensors:
            name = tensor.label.english
            if tensor.field in self.tensors and name not in tensors:
                tensors[name] = tensor
            else:
                stray.append(tensor)
        printed = {tensor.field for tensor in tensors.values()}
        free = [name for name in self.tensors if name not in printed]
        if len(stray) == len(free) == 1:
            return WorkedExample(example, {**tensors, free[0]: stray[0]}, ((stray[0], free[0]),))
        return WorkedExample(example, tensors, tuple((tensor, None) for tensor in stray))

    def _formulas_in_code(self) -> Iterator[PrintedFormula]:
        for block in self.page.code_blocks:
            if block.role != "formula":
                continue
            try:
                formula = formula_in_code(block.text)
            except FormulaError as error:
                yield PrintedFormula(None, block.text, block.place, str(error))
                continue
            if formula is not None:
                yield PrintedFormula(formula, block.text, block.place)

    def _formulas_in_prose(self) -> Iterator[PrintedFormula]:
        for member in self.page.members:
            for quoted in member.text:
                formula = formula_in_prose(quoted.english)
                if formula is not None:
                    yield PrintedFormula(formula, formula.text, quoted.place)


def heading_of(member: FieldSection) -> Spot:
    """The name that a section stands under, and where."""
    return Spot(member.name.place, member.name.english)


def type_of(member: FieldSection) -> str | None:
    """The type that a section names: by the original of its type line, where that has one."""
    if member.type_line is None or member.type_line.original is None:
        return member.type
    return member.type_line.original.partition(":")[2].replace("\\", "").strip().strip("[]").strip() or member.type


def levels_of(member: FieldSection) -> Iterator[tuple[Level, Quoted]]:
    """The levels that a section names and that exist, with their sentences."""
    for quoted in member.text:
        levels = map(level_of, levels_in(quoted.english))
        yield from ((level, quoted) for level in levels if level is not None)


def _field(declaration: Declaration, section: FieldSection | None) -> PageField:
    """A field by its declaration, with what annotations say there or in the section on it."""
    both = (declaration,) if section is None else (declaration, section)
    count_field = next((one.count_field for one in both if one.count_field), "")
    return PageField(declaration.name, declaration.type, count_field, any(one.optional for one in both))


def registered_types(spec: OperatorSpec) -> list[tuple[str, str]]:
    """The fields of an operator by the registry as (name, C type), in the order of the structure."""
    return [(field.name, field.type) for field in spec.facts.fields]


def constant(content: Any) -> Any:
    """What a printed value means: the number of one of C's names for limits, else the value itself."""
    return _LIMITS.get(content, content) if isinstance(content, str) else content


def integers(value: Value | None) -> tuple[int, ...] | None:
    """A printed list of whole numbers; None for anything else."""
    if value is None or not isinstance(value.value, list):
        return None
    numbers = tuple(number for number in value.value if isinstance(number, int))
    return numbers if len(numbers) == len(value.value) else None


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; a dot ends one only before white space, so that names keep theirs."""
    return re.split(r"(?<=[。！？])|(?<=[.!?])\s+", text)


def level_of(label: str) -> Level | None:
    """The level with a label; None where there is none."""
    try:
        return Level.parse(label)
    except ValueError:
        return None


def _variant(table: LevelTable) -> str:
    return "" if table.variant is None else table.variant.english


def _table(table: LevelTable, otherwise: str) -> Table | None:
    """A table under its level, `otherwise` where its heading names none; None where that is "" too."""
    named = (*levels_in(table.heading.english), table.level, otherwise)
    level = next(filter(None, named), "")
    if not level:
        return None
    label = f"{level} ({_variant(table)})" if table.variant is not None else level
    return Table(label, level_of(level), table, tuple(_row(label, row, table.columns) for row in table.rows))


def _row(label: str, row: LevelRow, columns: tuple[str, ...]) -> TableRow:
    """A row with its cells read from their originals, where they have one."""
    cells = dict(zip(columns, row.cells, strict=False))
    originals = {column: cell.original for column, cell in cells.items() if cell.original is not None}
    counts = words.numbers(originals["dimension_counts"]) if "dimension_counts" in originals else row.dimension_counts
    return TableRow(
        label,
        originals.get("tensor", row.tensor),
        words.kind(originals["kind"]) if "kind" in originals else row.kind,
        None if counts is None else frozenset(counts),
        words.names(originals["data_types"]) if "data_types" in originals else row.data_types,
        row.cells,
        cells,
        words.is_optional(originals["kind"]) if "kind" in originals else row.optional,
        words.is_array(originals["kind"]) if "kind" in originals else row.array,
        shapes_in(originals["dimensions"]) if "dimensions" in originals else row.shapes,
    )


def _says_same(quoted: Quoted, sentence: str, language: str | None) -> bool:
    """Whether a constraint is about sameness: by the word in English; in other languages the names must do."""
    is_english = quoted.original is not None or (language or "").lower().startswith("en")
    return not is_english or re.search(r"\b(same|equal|match)", sentence, re.IGNORECASE) is not None
