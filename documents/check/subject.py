"""A page made ready for its checks: fields, tables, agreements and examples under the names that its operator has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from dml_conformance.documents.check.formulas import Formula, FormulaError, Given, formula_in_code, formula_in_prose
from dml_conformance.documents.check.identifiers import name_meant
from dml_conformance.documents.check.model import Remark, remark
from dml_conformance.documents.read import model, words
from dml_conformance.documents.read.syntax import one_spelling
from dml_conformance.documents.read.words import levels_in
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.registry import operators

UINT_TYPE = "UINT"
DIMENSION_COUNT, DATA_TYPE, SIZES = "DimensionCount", "DataType", "Sizes"
_LIMITS = {"INT32_MIN": -(2**31), "INT32_MAX": 2**31 - 1, "UINT32_MAX": 2**32 - 1}
PROPERTIES = (DIMENSION_COUNT, DATA_TYPE, SIZES, "Strides")
_PROPERTY = "|".join(PROPERTIES)
_ALIKE = 0.85  # how alike a name and that of a field must be for the field to be meant; 1 is the same
_MOST_FIELDS = 200  # whose names are looked for in the text; no structure has so many


def same_type(one: str, other: str) -> bool:
    """Whether two spellings of a C type are the same but for white space and annotations such as `_Maybenull_`.

    `FLOAT` is the header's name of `float`.
    """
    first, second = (re.sub(r"\bfloat\b", "FLOAT", "".join(one_spelling(text).split())) for text in (one, other))
    return first == second


class Mention(NamedTuple):
    """A field or property named in a text; "" for the one of the two that is not."""

    field: str
    property: str
    start: int
    end: int


class Spot(NamedTuple):
    """A text and where it stands."""

    place: model.Place
    text: str


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
    quoted: model.Quoted


@dataclass(frozen=True)
class WorkedExample:
    """An example with its tensors under the names of the fields.

    Attributes:
        example: as it stands on the page.
        tensors: by field; a tensor under a wrong label goes to the only field that has none. The elements of an array
            stand under their own labels, `InputTensors[0]`.
        mislabelled: the tensors under a label that is no field's, or another tensor's; with the field meant, if plain.
    """

    example: model.PageExample
    tensors: Mapping[str, model.ExampleTensor]
    mislabelled: tuple[tuple[model.ExampleTensor, str | None], ...]

    @property
    def number(self) -> int:
        return self.example.number

    @property
    def attributes(self) -> Mapping[str, model.Value]:
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
    def values(self) -> Iterator[tuple[str, model.Value]]:
        """Everything that it prints, by name: `Axis`, `InputTensor.Sizes`, `InputTensor.values`."""
        yield from self.attributes.items()
        for name, tensor in self.tensors.items():
            for part, value in tensor.printed.items():
                yield f"{name}.{part}", value

    @cached_property
    def given(self) -> Given:
        """What the example gives a formula."""
        values = {n: v.value if isinstance(v.value, int) else integers(v) for n, v in self.attributes.items()}
        return {name: value for name, value in {**values, **self.sizes}.items() if value is not None}


@dataclass(frozen=True)
class PageSubject:
    """A page and what the registry knows of its operator, if anything.

    Attributes:
        misspelt: what is remarked on names of fields that `page` does not have as they stand in the file.
    """

    page: model.Page
    spec: OperatorSpec | None
    misspelt: tuple[Remark, ...] = ()

    @classmethod
    def of(cls, page: model.Page) -> PageSubject:
        return cls(page, operators().get(page.operator))

    @classmethod
    def corrected(cls, page: model.Page) -> PageSubject:
        """The page with the names of fields as they are meant where it plainly misspells them: that is one fault.

        In the syntax block, on sections and in tables; a name is meant that is almost the same and not there itself.
        """
        subject = cls.of(page)
        spec = subject.spec
        known = [d.name for d in subject.declared] if spec is None else [name for name, _ in registered_types(spec)]
        found: dict[tuple[str, str], Remark] = {}

        def meant(part: str, name: str, at: model.Place, there: frozenset[str]) -> str:
            free = tuple(field for field in known if field not in there)
            right = name if name in known else name_meant(name, free, _ALIKE) or name
            if right != name:
                told = {"found": name, "expected": right}
                found.setdefault((part, name), remark("field-misspelt", f"{part}/{right}", Spot(at, name), **told))
            return right

        replace = msgspec.structs.replace
        there = frozenset(declaration.name for declaration in page.declarations)
        declarations = tuple(replace(d, name=meant("syntax", d.name, d.place, there)) for d in page.declarations)
        there = frozenset(member.name.text for member in page.members)
        members = tuple(
            replace(m, name=replace(m.name, text=meant("members", m.name.text, m.name.place, there)))
            if m.name.original is None
            else m
            for m in page.members
        )
        tables = []
        for table in page.tables if not page.has_original else ():
            there = frozenset(row.tensor for row in table.rows)
            rows = (replace(row, tensor=meant("tables", row.tensor, row.place, there)) for row in table.rows)
            tables.append(replace(table, rows=tuple(rows)))
        corrected = replace(page, declarations=declarations, members=members, tables=tuple(tables) or page.tables)
        return cls(corrected, spec, tuple(found.values()))

    @property
    def top(self) -> Spot:
        """Where a finding about the page as a whole stands: at its title, else at its start."""
        return Spot(self.page.title.place if self.page.title is not None else model.Place(1, 1), self.page.operator)

    @property
    def is_source(self) -> bool:
        """Whether the page is in the form that its authors write, where the header takes the syntax block's place."""
        return any(p.role == "heading" and p.quoted.text.startswith("-struct-fields") for p in self.page.passages)

    @cached_property
    def declared(self) -> tuple[model.Declaration, ...]:
        """The declarations of the syntax block; of a page without one, its sections on fields that name a type."""
        return self.page.declarations or tuple(
            model.Declaration(member.name.english, member.type, member.name.place, member.optional, member.count_field)
            for member in self.page.members
            if member.type is not None
        )

    @cached_property
    def fields(self) -> dict[str, model.Declaration]:
        """The fields by name: as declared, else those of the registry; with what annotations in their sections say."""
        sections = {member.name.english: member for member in self.page.members}
        declared = [_annotated(declaration, sections.get(declaration.name)) for declaration in self.declared]
        if not declared and self.spec is not None:
            declared = [model.Declaration(name, kind, self.top.place) for name, kind in registered_types(self.spec)]
        fields: dict[str, model.Declaration] = {}
        count = ""
        for field in declared:
            if field.name.endswith("Count") and same_type(field.type, UINT_TYPE):
                count = field.name  # arrays follow their length, several may share one
            elif field.is_array:
                field = msgspec.structs.replace(field, count_field=field.count_field or count)
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
    def introduced_in(self) -> tuple[str, model.Quoted] | None:
        """The label of the level named under availability, with its sentence; None where none is."""
        for quoted in self.page.availability:
            for label in levels_in(quoted.english):
                return label, quoted
        return None

    @cached_property
    def every_table(self) -> tuple[model.LevelTable, ...]:
        """The tables of the page under their levels, as far as they have one.

        Under no level, the only table of the page, or of its variant, holds from the operator's introduction on.
        """
        variants = Counter(map(_variant, self.page.tables))
        introduced = None if self.introduced_in is None else self.introduced_in[0]

        def level(table: model.LevelTable) -> str | None:
            named = (*levels_in(table.heading.english), table.level)
            return next(filter(None, named), introduced if variants[_variant(table)] == 1 else None)

        return tuple(msgspec.structs.replace(table, level=level(table)) for table in self.page.tables)

    @cached_property
    def tables(self) -> tuple[model.LevelTable, ...]:
        """All tables that have a level, existing or not, in the page's order."""
        return tuple(table for table in self.every_table if table.level is not None)

    @cached_property
    def table_at(self) -> dict[Level, model.LevelTable]:
        """The first table of each level that exists, from the lowest level on; none where levels have variants."""
        return self.series[0] if len(self.series) == 1 else {}

    @cached_property
    def series(self) -> tuple[dict[Level, model.LevelTable], ...]:
        """For each variant, the first table of each level that exists, from the lowest level on."""
        first: dict[str, dict[Level, model.LevelTable]] = {}
        for table in self.tables:
            level = level_of(table.level)
            if level is not None:
                first.setdefault(_variant(table), {}).setdefault(level, table)
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
    def formulas(self) -> tuple[tuple[Formula, model.Place], ...]:
        """The formulas that give a tensor's sizes: the blocks of code, then those within sentences."""
        found = [(_formula(block), block.place) for block in self.page.code_blocks if block.role == "formula"]
        texts = (quoted for member in self.page.members for quoted in member.text)
        found += ((formula_in_prose(quoted.english), quoted.place) for quoted in texts)
        return tuple((formula, place) for formula, place in found if formula is not None)

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

    def _agreements(self, quoted: model.Quoted, sentence: str) -> Iterator[Agreement]:
        mentioned = list(self.mentions(sentence))
        if any(mention.field and mention.property for mention in mentioned):
            return  # compares a field's property with another's, in words that are not read
        tensors = tuple(dict.fromkeys(mention.field for mention in mentioned if mention.field in self.tensors))
        if len(tensors) < 2 or not _says_same(quoted, sentence, self.page.language):
            return
        for prop in dict.fromkeys(mention.property for mention in mentioned if mention.property):
            yield Agreement(prop, tensors, quoted)

    def _worked(self, example: model.PageExample) -> WorkedExample:
        tensors: dict[str, model.ExampleTensor] = {}
        stray: list[model.ExampleTensor] = []
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


def _formula(block: model.CodeBlock) -> Formula | None:
    try:
        return formula_in_code(block.text)
    except FormulaError:
        return None  # in another grammar


def heading_of(member: model.FieldSection) -> Spot:
    """The name that a section stands under, and where."""
    return Spot(member.name.place, member.name.english)


def levels_of(member: model.FieldSection) -> Iterator[tuple[Level, model.Quoted]]:
    """The levels that a section names and that exist, with their sentences."""
    for quoted in member.text:
        levels = map(level_of, levels_in(quoted.english))
        yield from ((level, quoted) for level in levels if level is not None)


def _annotated(declaration: model.Declaration, section: model.FieldSection | None) -> model.Declaration:
    """A declaration with what annotations say there or in the section on it."""
    if section is None:
        return declaration
    is_optional = declaration.optional or section.optional
    count_field = declaration.count_field or section.count_field
    return msgspec.structs.replace(declaration, optional=is_optional, count_field=count_field)


def registered_types(spec: OperatorSpec) -> list[tuple[str, str]]:
    """The fields of an operator by the registry as (name, C type), in the order of the structure."""
    return [(field.name, field.type) for field in spec.facts.fields]


def constant(content: Any) -> Any:
    """What a printed value means: the number of one of C's names for limits, else the value itself."""
    return _LIMITS.get(content, content) if isinstance(content, str) else content


def integers(value: model.Value | None) -> tuple[int, ...] | None:
    """A printed list of whole numbers; None for anything else."""
    if value is None or not isinstance(value.value, list):
        return None
    numbers = tuple(number for number in value.value if isinstance(number, int))
    return numbers if len(numbers) == len(value.value) else None


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; a dot ends one only before white space, so that names keep theirs."""
    return re.split(r"(?<=[。！？])|(?<=[.!?])\s+", text)


def level_of(label: str | None) -> Level | None:
    """The level with a label; None where there is none."""
    try:
        return None if label is None else Level.parse(label)
    except ValueError:
        return None


def _variant(table: model.LevelTable) -> str:
    return "" if table.variant is None else table.variant.english


def _says_same(quoted: model.Quoted, sentence: str, language: str | None) -> bool:
    """Whether a constraint is about sameness: by the word in English; in other languages the names must do."""
    is_english = quoted.original is not None or (language or "").lower().startswith("en")
    return not is_english or re.search(r"\b(same|equal|match)", sentence, re.IGNORECASE) is not None
