"""The worked examples against the fields, tables, constraints, intervals and formulas of their own page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from dml_conformance.documents.check.formulas import Given, contains, number_of
from dml_conformance.documents.check.model import Remark, Remarks, listed, remark
from dml_conformance.documents.check.subject import (
    DATA_TYPE,
    DIMENSION_COUNT,
    SIZES,
    PageSubject,
    Spot,
    WorkedExample,
    integers,
    level_of,
)
from dml_conformance.documents.check.table_checks import counts_text, is_data_type, types_text
from dml_conformance.documents.read import model
from dml_conformance.documents.read.words import AXIS_WORDS
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.examples import flattened, nesting
from dml_conformance.spec.forms import TENSOR_FIELDS
from dml_conformance.spec.tensor import braces
from dml_conformance.strategies.values import NUMPY_TYPE

_FEWEST_LACKING = 2  # tensors of its own that an example of another operator lacks
_NUMBERS = re.compile(r"\{\s*(-?\d[\d.]*(?:\s*,\s*-?\d[\d.]*)*)\s*\}")
_ENUMERATOR = re.compile(r"\bDML_[A-Z0-9_]+\b")


def example_remarks(subject: PageSubject) -> Remarks:
    """What the examples contradict on their own page."""
    for example in subject.examples:
        yield from _unreadable(example)
        yield from _labels(subject, example)
        yield from _attributes(subject, example)
        yield from _tensors(example)
        yield from _allowed(subject, example)
        yield from _titles(example)
        yield from _comments(subject, example)
    yield from _missing(subject)
    yield from _disagreement(subject)
    yield from _outside(subject)
    yield from _formulas(subject)


def named(name: str, value: model.Value) -> Spot:
    """A value under its name, for a finding."""
    return Spot(value.place, f"{name} {value.text}")


def _property_spot(tensor: model.ExampleTensor, prop: str) -> Spot:
    """Where an example prints the data type of a tensor, or its sizes; at its label where it prints neither."""
    value = tensor.data_type if prop == DATA_TYPE else tensor.sizes
    place, text = (tensor.label.place, "") if value is None else (value.place, value.text)
    return Spot(place, f"{tensor.label.text}: {text}")


def _unreadable(example: WorkedExample) -> Remarks:
    for name, value in example.values:
        if value.value is None:
            found, expected = "a value that cannot be read", "a value in the form of the others"
        elif name.endswith(f".{SIZES}") and integers(value) is None:
            found, expected = "no list of whole numbers", "sizes as numbers"
        else:
            continue
        yield remark("example-unreadable", f"{example.number}/{name}", value, found=found, expected=expected)


def _labels(subject: PageSubject, example: WorkedExample) -> Remarks:
    """Tensors under another label than their own names, or those of another operator."""
    strange = _foreign(subject, example)
    if strange and not example.is_figure:
        printed = listed(tensor.label.text for tensor in example.example.tensors)
        at, tensors = strange[0].label, listed(subject.tensors)
        yield remark("example-operator", str(example.number), at, printed=printed, tensors=tensors)
    for tensor, meant in () if strange else example.mislabelled:
        label = tensor.label.english
        if label != tensor.field in subject.tensors:
            continue  # an element of an array of tensors
        yield remark(
            "example-label",
            f"{example.number}/{meant or label}",
            tensor.label,
            found=f"{'another' if label in example.tensors else 'a'} tensor labelled {label}",
            expected=meant or f"one of {listed(subject.tensors)}",
            more=", of which the example has no other" if meant else "",
        )


def _foreign(subject: PageSubject, example: WorkedExample) -> list[model.ExampleTensor]:
    """The tensors of an example that is another operator's; none where it is this one's, labels misspelt or not.

    Another operator's has a tensor that the structure has not, and lacks two or more that it has.
    """
    lacks = [name for name in subject.tensors if name not in example.fields]
    strange = [tensor for tensor, _ in example.mislabelled if tensor.label.english not in subject.tensors]
    if len(lacks) < _FEWEST_LACKING:
        return []
    return [tensor for tensor in strange if tensor.label.english.endswith("Tensor")]


def _attributes(subject: PageSubject, example: WorkedExample) -> Remarks:
    """Attributes that are no fields, and counts that are not the lengths of their arrays."""
    known = listed(name for name, field in subject.fields.items() if not field.is_tensor)
    for name, value in example.attributes.items():
        if subject.fields and name not in subject.fields:
            yield remark("example-attribute", f"{example.number}/{name}", named(name, value), name=name, known=known)
        counted_by = subject.fields[name].count_field if name in subject.fields else ""
        values, count = integers(value), example.attributes.get(counted_by)
        if values is not None and count is not None and count.value != len(values):
            where, told = f"{example.number}/{counted_by}", {"count": count.text, "length": len(values)}
            yield remark("example-count", where, named(counted_by, count), array=name, counted_by=counted_by, **told)


def _tensors(example: WorkedExample) -> Remarks:
    """What is printed of tensors: properties, data types that exist, and elements that fill the sizes.

    The brackets of leading dimensions of size 1 may be left out.
    """
    for name, tensor in example.tensors.items():
        where = f"{example.number}/{name}"
        for part, value in tensor.properties.items():
            if part not in TENSOR_FIELDS:
                spot, known = named(f"{part}:", value), listed(TENSOR_FIELDS)
                yield remark("example-property", f"{where}.{part}", spot, name=part, known=known)
        said, sizes = example.data_types.get(name, ""), example.sizes.get(name)
        if said and tensor.data_type is not None and not is_data_type(said):
            yield remark("example-type", where, tensor.data_type, found=said)
        if sizes is None or tensor.values is None or tensor.values.value is None:
            continue
        filled = nesting(tensor.values.value)
        if filled is None or (1,) * (len(sizes) - len(filled)) + filled != sizes:
            found = "rows of unequal length" if filled is None else f"elements of sizes {braces(filled)}"
            yield remark("example-elements", where, tensor.values, found=found, expected=braces(sizes), tensor=name)


def _missing(subject: PageSubject) -> Remarks:
    """Fields that an example has no value for.

    For an unknown operator, for what the page's other examples have. Not for the count of an array that is printed, nor
    for a field that goes with another mode than the example's, by the enumerators that are named with it.
    """
    counts = {field.count_field for field in subject.fields.values()}
    optional = {name for name, field in subject.fields.items() if field.optional}
    examples = [example for example in subject.examples if not example.is_figure]
    for example in examples:
        has = example.fields
        if subject.spec is not None:
            due = {field.name for field in subject.spec.fields if not field.optional}
            why = "the fields of the operator"
        else:
            due = {name for other in examples for name in other.fields} - optional
            why = "the other examples"
        missing = [] if _foreign(subject, example) else [name for name in subject.fields if name in due - counts - has]
        for name in missing:
            if not _is_of_other_mode(subject, name, example):
                yield _nothing(example, name, example.example.place, why)
        for name, tensor in example.tensors.items():
            for part, value in ((SIZES, tensor.sizes), (DATA_TYPE, tensor.data_type)):
                if value is None:
                    yield _nothing(example, f"{name}.{part}", tensor.label.place, "the description of a tensor")


def _is_of_other_mode(subject: PageSubject, name: str, example: WorkedExample) -> bool:
    """Whether the sections name values of an enumeration with a field, and the example has another one."""
    texts = (quoted.english for member in subject.page.members for quoted in _about(subject, name, member))
    enumerators = {enumerator for text in texts for enumerator in _ENUMERATOR.findall(text)}
    for attribute, value in example.attributes.items():
        enumeration = subject.fields[attribute].type.rstrip(" *") if attribute in subject.fields else ""
        values = {name for name in enumerators if name.startswith(f"{enumeration}_")}
        if values and value.value not in values:
            return True
    return False


def _about(subject: PageSubject, name: str, member: model.FieldSection) -> Iterator[model.Quoted]:
    """The texts of a section that are on a field: all of its own, of another one those that name it."""
    is_own = member.name.english == name
    yield from (text for text in member.text if is_own or any(m.field == name for m in subject.mentions(text.english)))


def _nothing(example: WorkedExample, name: str, place: model.Place, why: str) -> Remark:
    """At its title, else at the label of its first tensor."""
    titles = (example.example.title, *(tensor.label for tensor in example.example.tensors))
    title = next((title.text for title in titles if title is not None), f"example {example.number}")
    return remark("example-missing", f"{example.number}/{name}", Spot(place, title), name=name, why=why)


def storable(value: Any, data_type: DataType) -> bool:
    """Whether a data type has a value: an integer exactly, a real number within its range."""
    if not isinstance(value, int | float):
        return False
    if data_type.is_float:
        return abs(value) <= float(np.finfo(NUMPY_TYPE[data_type]).max)
    limits = np.iinfo(NUMPY_TYPE[data_type])
    return limits.min <= value <= limits.max and value == int(value)


def _breaches(example: WorkedExample, table: model.LevelTable) -> Iterator[tuple[str, str, str, str]]:
    """What a table does not allow of an example: tensor, property, what it is and what it may be.

    What cannot be read allows all.
    """
    for name, row in ((name, table.row_of[name]) for name in example.tensors if name in table.row_of):
        data_type, sizes = example.data_types.get(name, ""), example.sizes.get(name, ())
        if row.data_types and data_type in DataType.__members__ and data_type not in row.data_types:
            yield name, DATA_TYPE, data_type, types_text(row.data_types)
        if row.dimension_counts and name in example.sizes and len(sizes) not in row.dimension_counts:
            found = f"{len(sizes)} dimension{'' if len(sizes) == 1 else 's'}"
            yield name, DIMENSION_COUNT, found, counts_text(row.dimension_counts)


def _allowed(subject: PageSubject, example: WorkedExample) -> Remarks:
    """An example that no table of the page allows, or only one above the operator's first level.

    Pages seldom say from when on an example holds, so that one of a later level is no fault.
    """
    wrong = {level: list(_breaches(example, table)) for level, table in subject.table_at.items()}
    introduced = None if subject.introduced_in is None else level_of(subject.introduced_in[0])
    allowing = [level for level, of_level in wrong.items() if not of_level]
    if wrong and not allowing:
        level, newest = list(subject.table_at.items())[-1]
        for name, prop, found, expected in wrong[level]:
            where, spot = f"{example.number}/{name}.{prop}", _property_spot(example.tensors[name], prop)
            yield remark("example-table", where, spot, found=found, expected=expected, table=newest.label)
    elif introduced is not None and wrong.get(introduced) and min(allowing) > introduced and not example.is_figure:
        tensor, first, _, _ = wrong[introduced][0]
        of_them = "; ".join(
            f"{name} {'is' if prop == DATA_TYPE else 'has'} {found}" for name, prop, found, _ in wrong[introduced]
        )
        spot, levels = _property_spot(example.tensors[tensor], first), (introduced, min(allowing))
        table = subject.table_at[introduced].label
        yield remark("example-level", str(example.number), spot, table=table, breaches=of_them, levels=levels)


def _disagreement(subject: PageSubject) -> Remarks:
    """Examples that do not keep the constraint list."""
    for agreement in subject.agreements:
        for example in subject.examples:
            values = {name: _property(example, name, agreement.property) for name in agreement.tensors}
            said = {name: value for name, value in values.items() if value is not None}
            names = [name for name in subject.tensors if name in said]
            odd = next((name for name in names if said[name] != said[names[0]]), None)
            if odd is None:
                continue
            yield remark(
                "example-constraint",
                f"{example.number}/{odd}.{agreement.property}",
                _property_spot(example.tensors[odd], agreement.property),
                found=f"{odd}: {said[odd]}",
                expected=f"{said[names[0]]}, as for {names[0]}",
                agreement=agreement,
            )


def _property(example: WorkedExample, tensor: str, prop: str) -> str | None:
    sizes = example.sizes.get(tensor)
    if prop == DATA_TYPE:
        data_type = example.data_types.get(tensor)
        return data_type if data_type in DataType.__members__ else None
    if sizes is None or prop not in (DIMENSION_COUNT, SIZES):
        return None
    return str(len(sizes)) if prop == DIMENSION_COUNT else braces(sizes)


def _outside(subject: PageSubject) -> Remarks:
    """Examples that lie outside the intervals of the sections."""
    for member in subject.page.members:
        name = member.name.english
        field, intervals = subject.fields.get(name), member.ranges
        if field is None or field.is_tensor or not intervals:
            continue
        for example in subject.examples:
            printed = example.attributes.get(name)
            if printed is None:
                continue
            values = integers(printed) or ((printed.value,) if isinstance(printed.value, int) else ())
            for value in values:
                within = [contains(interval, value, example.given) for interval in intervals]
                if True in within or None in within:
                    continue
                where, first = f"{example.number}/{name}", intervals[0]
                told = {"value": value, "evaluated": _evaluated(first, example.given), "interval": first.text}
                yield remark("example-range", where, named(name, printed), name=name, **told)
                break


def _evaluated(interval: model.PrintedInterval, given: Given) -> str:
    low, high = (str(number_of(bound)[0](given)) for bound in (interval.low, interval.high))
    return msgspec.structs.replace(interval, low=low, high=high).text


def _titles(example: WorkedExample) -> Remarks:
    """A title that tells something else than its example has.

    Only whole items of the title count: `2D` is a claim on the dimensions, with or without leading ones that pad them;
    `2D output` is none. `axis 1` is one on Axis. The word for axis is known in the languages of the documentation.
    """
    title = example.example.title
    wrong = [] if title is None else list(_wrong_claims(example, title.english))
    if title is not None and wrong:
        found = "; ".join(f"{item}, {name} is {value}" for item, name, value in wrong)
        yield remark("example-title", str(example.number), title, found=found)


def _wrong_claims(example: WorkedExample, title: str) -> Iterator[tuple[str, str, str]]:
    """Each item of a title that is not so, what it is about, and what that is."""
    counts = sorted({len(sizes) for sizes in example.sizes.values()})
    padding = [next((n for n, size in enumerate(sizes) if size != 1), 0) for sizes in example.sizes.values()]
    least = min((len(sizes) - ones for sizes, ones in zip(example.sizes.values(), padding, strict=True)), default=0)
    axis = example.attributes.get("Axis")
    for item in map(str.strip, re.split(r"[.,;:、，。；]", title)):
        dimensions = re.fullmatch(r"(\d+)D", item, re.IGNORECASE)
        if dimensions is not None and counts and not least <= int(dimensions[1]) <= counts[-1]:
            yield item, DIMENSION_COUNT, ", ".join(map(str, counts))
        named = re.fullmatch(r"(\D+?)\s*(\d+)", item)
        names_axis = named is not None and named[1].lower() in AXIS_WORDS
        if axis is not None and named is not None and names_axis and int(named[2]) != axis.value:
            yield item, "Axis", axis.text


def _comments(subject: PageSubject, example: WorkedExample) -> Remarks:
    """Lists in comments beside a tensor's elements that are of no other tensor, nor sizes: `// sum({1, 2, 3})`."""
    blocks = (block for block in subject.page.code_blocks if block.place == example.example.place)
    lines = {n: line for block in blocks for n, line in enumerate(block.text.strip("\n").split("\n"), block.place.line)}
    printed = {name: tensor.values for name, tensor in example.tensors.items() if tensor.values is not None}
    elements = {name: Counter(map(str, flattened(values.value))) for name, values in printed.items()}
    sizes = {tuple(map(str, of_tensor)) for of_tensor in example.sizes.values()}
    for name, values in printed.items():
        others = [known for other, known in elements.items() if other != name]
        for number in range(values.place.line, values.place.line + values.text.count("\n") + 1):
            comment = lines.get(number, "").partition("//")[2].strip()
            for found in _NUMBERS.finditer(comment):
                numbers = [part.strip() for part in found[1].split(",")]
                is_known = any(Counter(numbers) <= known for known in others) or tuple(numbers) in sizes
                if others and not is_known:
                    where, spot = f"{example.number}/{name}", Spot(model.Place(number, 1), comment)
                    yield remark("example-comment", where, spot, found=found[0])


def _formulas(subject: PageSubject) -> Remarks:
    """Examples whose sizes are not those that the printed formulas give."""
    for formula, place in subject.formulas:
        for example in subject.examples:
            sizes = example.sizes.get(formula.target)
            if sizes is None or not formula.names <= example.given.keys():
                continue  # the example leaves out what the formula needs
            given, gives = formula.outcome(example.given, len(sizes))
            value = example.tensors[formula.target].sizes
            if given != sizes and value is not None:
                where, spot = f"{example.number}/{formula.target}", named(f"{formula.target}.Sizes", value)
                cited = {"line": place.line, "formula": " ".join(formula.text.split())}
                yield remark("example-formula", where, spot, sizes=braces(sizes), gives=gives, **cited)
