"""Constraints: rules of known kinds, declared once.

A constraint says what a page asks for, and the rest follows: its check, with the user's numbers; its words; and by its
kind, in `strategies.constraints`, the descriptors that break it and no other rule, and the valid ones at both of its
ends. What is of no kind is `checked` by a function of its own, which the builder breaks.

A family lists both in `own_rules`; `operator_spec` makes rules of constraints, with its name and its page:

    own_rules=(
        count(("Strides", "Dilations"), spatial("InputTensor"), section="DimensionCount"),
        above_0("WindowSizes", "Strides"),
        axis_of("Axis"),
        within("K", 1, size_along("InputTensor", "Axis"), after=("axis-range",)),
        same_sizes("UpdatesTensor", "IndicesTensor"),
        broadcastable("CTensor", "OutputTensor"),
        given("ZeroPointTensor", until=Level.L6_2),
    )

Compared with is a number or a `Quantity`: `rank(tensor)`, `spatial(tensor)`, `size_at(tensor, place)`,
`size_along(tensor, axis)`, `member(field)`.

    within, below, above_0    a member, or every entry of arrays, in a range
    axis_of                   the same of axes, which are dimensions of a tensor
    entries                   a member, or every entry of arrays, as a function allows it: not 0
    finite                    the same of numbers that are finite, and not below one
    distinct                  entries that differ from each other
    count                     arrays that are as long as a quantity
    divides                   a member that divides quantities
    same_sizes, sizes_follow  the sizes of a tensor: those of another, or what a function makes of the rest
    same_sizes_off            those of another but along an axis
    broadcastable             those of another, or 1
    size_within               one size of a tensor in a range
    leading_ones              sizes of 1 but for the last so many
    same_type                 the DataType of another tensor
    type_of                   a member that names the DataType of a tensor
    given                     tensors that may not be null
    together, exclusive       optional tensors that are all there or none; of which one is there at most
    any_of                    optional tensors of which one is there at least

Made of such kinds are also the rules of every operator: `from_level`, `given`, `enumerators`, `same_ranks`,
`same_types`, and what the tables list.

Besides, each takes what is to be said in other words, `statement` and `remedy`, and what a person alone knows: `name`
of the rule, `section` of the page or another `source`, `after` (names of the operator's rules without which this one
means nothing), `since`, `until`, `erratum`, `settles`, `also` (sources, or sections of the page), `category`, and
`check` where its messages are others. What is said of one operator alone stands in the data, see `spec.statements`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Field, OperatorDesc, attribute_of, slots
from dml_conformance.spec.field_kinds import EnumKind
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import Breach, Category, Check, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.statements import Statement, statements
from dml_conformance.spec.tensor import TensorDesc, braces

SizesOf = Callable[[Any], tuple[int, ...]]
# What must hold before the sizes of an operator's tensors can be compared with each other at all, and their types.
COMPARABLE = frozenset({"TENSOR.type", "TENSOR.dimension-count", "TENSOR.sizes", "TENSOR.element-count"})
TYPES_COMPARABLE = frozenset({"TENSOR.type", "TENSOR.data-type"})
RANKS_COMPARABLE = frozenset({"TENSOR.type", "TENSOR.dimension-count"})


def ids(operator: str, *names: str) -> frozenset[str]:
    """Rule ids of one operator."""
    return frozenset(f"{operator}.{name}" for name in names)


def shapes_comparable(operator: str) -> frozenset[str]:
    return COMPARABLE | ids(operator, "introduced-in", "required-tensors", "same-dimension-count")


def types_comparable(operator: str) -> frozenset[str]:
    return TYPES_COMPARABLE | ids(operator, "introduced-in", "required-tensors", "enumerators", "data-types")


def exists(operator: str) -> frozenset[str]:
    return ids(operator, "introduced-in")


@dataclass(frozen=True)
class Constraint:
    """What a rule asks for, of a known kind.

    Attributes:
        kind: the function below that declares it; "" for a check of its own.
        subject: the members and tensors that it is about, by DirectML's name.
        data: what it is compared with, as the kind has it.
        check: of the rule.
        words: the rule's name, statement and remedy, where the declaration has no others.
        needs: from an operator's name, the rules that must hold for it to have a meaning.
        category: of the rule.
        stated: what the declaration says besides, see above.
    """

    kind: str
    subject: tuple[str, ...]
    data: Any
    check: Check
    words: tuple[str, str, str]
    needs: Callable[[str], frozenset[str]]
    category: Category
    stated: Mapping[str, Any]

    def rule(self, operator: str, page: str) -> Rule:
        """The rule of an operator that it makes; what `spec.statements` has of it goes before what is declared."""
        name, statement, remedy = self.words
        said: dict[str, Any] = {
            "statement": statement,
            "remedy": remedy,
            "category": self.category,
            "check": self.check,
        }
        said |= self.stated
        source = said.pop("source", Source(page, said.pop("section", "".join(self.subject[:1]))))
        name, needs = said.pop("name", name), self.needs(operator) | ids(operator, *said.pop("after", ()))
        words = statements(operator).rules.get(name, Statement())
        if "also" in said:
            said["also"] = tuple(Source(page, of) if isinstance(of, str) else of for of in said["also"])
        said = {"source": source, **said, **words.words(operator, page)}
        return Rule(f"{operator}.{name}", needs=needs, constraint=self if self.kind else None, **said)


Rules = tuple[Rule | Constraint, ...]


class Quantity(NamedTuple):
    """A number that follows from a descriptor.

    Attributes:
        words: as a statement has it.
        told: as a message has it, with {} for the number.
        of: the number; what is needed for it holds.
        is_of_sizes: whether it is one of tensors, which have to be sound.
    """

    words: str
    told: str
    of: Callable[[Any], float]
    is_of_sizes: bool = True

    def __str__(self) -> str:
        return self.words


Number = float | Quantity


def rank(tensor: str) -> Quantity:
    return Quantity(
        f"{tensor}.DimensionCount", f"{tensor} has {{}} dimensions", lambda desc: len(sizes_of(desc, tensor))
    )


def spatial(tensor: str) -> Quantity:
    """Dimensions after batch and channels."""
    words = f"spatial dimensions of {tensor}"
    return Quantity(words, "{} spatial dimensions", lambda desc: len(sizes_of(desc, tensor)) - 2)


def size_at(tensor: str, place: int) -> Quantity:
    where = f"{tensor}.Sizes[{place}]"
    return Quantity(where, f"{where} is {{}}", lambda desc: sizes_of(desc, tensor)[place])


def size_along(tensor: str, axis: str) -> Quantity:
    words, told = f"the size of {tensor} along {axis}", f"{tensor} has {{}} elements along {axis}"
    return Quantity(words, told, lambda desc: sizes_of(desc, tensor)[value_of(desc, axis)])


def member(name: str) -> Quantity:
    return Quantity(name, f"{name} is {{}}", lambda desc: value_of(desc, name), is_of_sizes=False)


_attribute = cache(attribute_of)


def value_of(desc: OperatorDesc, name: str) -> Any:
    """What a member holds, by DirectML's name."""
    return getattr(desc, _attribute(name))


def sizes_of(desc: OperatorDesc, tensor: str) -> tuple[int, ...]:
    """The sizes of a tensor that is there."""
    sizes: tuple[int, ...] = value_of(desc, tensor).sizes
    return sizes


def number(of: Number, desc: OperatorDesc) -> float:
    """The number itself, or what a quantity comes to."""
    return of.of(desc) if isinstance(of, Quantity) else of


def entries_of(desc: OperatorDesc, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The values of members, of arrays every entry, each with its path."""
    for name in names:
        value = value_of(desc, name)
        if isinstance(value, tuple):
            yield from ((f"{name}[{n}]", entry) for n, entry in enumerate(value))
        else:
            yield name, value


def leading_sizes(desc: OperatorDesc, tensor: str, last: Number) -> tuple[int, ...]:
    """The sizes of a tensor before the last so many."""
    sizes = sizes_of(desc, tensor)
    return sizes[: max(len(sizes) - int(number(last, desc)), 0)]


def _told(value: Any, of: Number | None, desc: OperatorDesc) -> str:
    """`5, InputTensor has 4 dimensions`; of a plain number the value alone."""
    return f"{value}, {of.told.format(of.of(desc))}" if isinstance(of, Quantity) else str(value)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def in_words(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def kebab(name: str) -> str:
    """`zero-point` of `ZeroPointTensor`."""
    return attribute_of(name.removesuffix("Tensor")).replace("_", "-")


def checked(
    name: str,
    check: Check,
    category: Category = Category.SHAPE,
    needs: Callable[[str], frozenset[str]] = shapes_comparable,
    **stated: Any,
) -> Constraint:
    """What is of no kind: a check of its own, which the operator's builder breaks."""
    return Constraint("", (), None, check, (name, "", ""), needs, category, stated)


# --- of the operator ------------------------------------------------------------------------------------------------


def from_level(level: Level) -> Constraint:
    """It is there from a level on."""

    def check(desc: OperatorDesc, asked: Level) -> Breach | None:
        return Breach("", f"level {asked}") if asked < level else None

    words = "introduced-in", f"the operator exists from level {level} on", f"ask for level {level} or above"
    stated = {"section": "Availability", "until": level}
    return Constraint(
        "from_level", (), level, check, words, lambda operator: frozenset(), Category.LEVEL_SUPPORT, stated
    )


# --- of members and arrays --------------------------------------------------------------------------------------------


def within(
    fields: str | Sequence[str], low: Number, high: Number | None, *, is_below: bool = False, **stated: Any
) -> Constraint:
    """From `low` to `high`, which is None for no end; itself not allowed where `is_below`."""
    names = _names(fields)

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        least, most = number(low, desc), None if high is None else number(high, desc) - is_below
        return [
            Breach(where, _told(value, high, desc))
            for where, value in entries_of(desc, names)
            if not (least <= value and (most is None or value <= most))
        ]

    most = f"at least {low}" if high is None else f"below {high}" if is_below else f"from {low} to {high}"
    words = f"{kebab(names[0])}-range", f"{in_words(names)} is {most}", ""
    needs = shapes_comparable if any(isinstance(end, Quantity) and end.is_of_sizes for end in (low, high)) else exists
    return Constraint("within", names, (low, high, is_below), check, words, needs, Category.ATTRIBUTES, stated)


def below(field: str, high: Number, **stated: Any) -> Constraint:
    """From 0 to before `high`."""
    return within(field, 0, high, is_below=True, **stated)


def axis_of(field: str, tensor: str = "InputTensor", **stated: Any) -> Constraint:
    """`Axis`, or every one of `Axes`, is a dimension of a tensor."""
    words = {
        "statement": f"{'every one of ' if field == 'Axes' else ''}{field} is below {tensor}.DimensionCount",
        "remedy": "count axes from 0, over all dimensions, leading ones included",
    }
    return below(field, rank(tensor), **words | stated)


def above_0(*fields: str, why: str = "", **stated: Any) -> Constraint:
    """Every entry of arrays is 1 or more; the reason goes on after the statement."""
    statement = f"every entry of {in_words(fields)} is above 0" + (why and f", {why}")
    words = {"name": "above-0", "statement": statement}
    return within(fields, 1, None, **words | stated)


def entries(
    fields: str | Sequence[str], allows: Callable[[Any], bool], wrong: Sequence[Any], statement: str = "", **stated: Any
) -> Constraint:
    """As `allows` has it; with some values that it does not allow."""
    names = _names(fields)

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        return [Breach(where, str(value)) for where, value in entries_of(desc, names) if not allows(value)]

    words = kebab(names[0]), statement, ""
    return Constraint("entries", names, tuple(wrong), check, words, exists, Category.ATTRIBUTES, stated)


def finite(
    fields: str | Sequence[str], least: float = -math.inf, *, is_above: bool = False, **stated: Any
) -> Constraint:
    """Numbers that are finite, and no less than one, or above it where `is_above`."""

    def allows(value: float) -> bool:
        return math.isfinite(value) and (value > least or (value == least and not is_above))

    too_low = () if math.isinf(least) else ((least,) if is_above else ()) + (least - 1.0,)
    return entries(fields, allows, (*too_low, math.inf, -math.inf, math.nan), **stated)


def distinct(field: str, **stated: Any) -> Constraint:
    """No two entries of an array are equal."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        found = value_of(desc, field)
        return [Breach(f"{field}[{n}]", f"{one}, once more") for n, one in enumerate(found) if one in found[:n]]

    words = f"{kebab(field)}-distinct", f"no two of {field} are equal", "name each once"
    return Constraint("distinct", (field,), None, check, words, exists, Category.ATTRIBUTES, stated)


def count(fields: str | Sequence[str], quantity: Quantity, at: str = "", **stated: Any) -> Constraint:
    """Arrays with as many entries as the quantity; `at` is the member that counts them, where that is what is wrong."""
    names = _names(fields)

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        found, wanted = {name: len(value_of(desc, name)) for name in names}, number(quantity, desc)
        return [
            Breach(at or name, _told(n if at else f"{n} entries", quantity, desc))
            for name, n in found.items()
            if n != wanted
        ]

    words = "array-counts", f"{in_words(names)} have as many entries as {quantity}", "give each array its entries"
    return Constraint("count", names, quantity, check, words, shapes_comparable, Category.ATTRIBUTES, stated)


def divides(field: str, *quantities: Quantity, **stated: Any) -> Constraint:
    """A member that is a divisor of quantities, which 0 is of none."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        divisor = value_of(desc, field)
        wrong = [every for every in quantities if not divisor or every.of(desc) % divisor]
        return [Breach(field, _told(divisor, every, desc)) for every in wrong]

    statement = f"{field} divides {in_words([every.words for every in quantities])}"
    words = f"{kebab(field)}-divides", statement, f"use a divisor as {field}"
    return Constraint("divides", (field,), quantities, check, words, shapes_comparable, Category.ATTRIBUTES, stated)


def type_of(field: str, tensor: str = "OutputTensor", **stated: Any) -> Constraint:
    """A member that names the data type of a tensor."""

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        found, wanted = value_of(desc, field), value_of(desc, tensor).data_type
        return None if found == wanted else Breach(field, f"{DataType(found).name}, {tensor} has {wanted.name}")

    words = kebab(field), f"{field} is the data type of {tensor}", "give both the same data type"
    after = {"after": ("same-data-type",)}
    return Constraint("type_of", (field,), tensor, check, words, types_comparable, Category.AGREEMENT, after | stated)


def enumerators(kinds: Mapping[str, EnumKind], **stated: Any) -> Constraint:
    """Members that are enumerators, which the level has."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        found = []
        for name, kind in kinds.items():
            value = value_of(desc, name)
            if value not in kind.enum._value2member_map_:
                found.append(Breach(name, f"{value}, which is no {kind.name}"))
            elif kind.levels.get(value, level) > level:
                found.append(Breach(name, f"{kind.enum(value).name}, which came with {kind.levels[value]}"))
        return found

    every = " and ".join(f"{name} is an enumerator of {kind.name}" for name, kind in kinds.items())
    words = "enumerators", f"{every}, which the level has", "use one of the enumerators"
    said = {"section": "Members", **stated}
    return Constraint("enumerators", tuple(kinds), kinds, check, words, exists, Category.ATTRIBUTES, said)


# --- of tensors -------------------------------------------------------------------------------------------------------


def sizes_follow(tensor: str, of: SizesOf, told: str, statement: str = "", **stated: Any) -> Constraint:
    """The sizes that a function gives, where the tensor is there; in a message they stand after `told`."""

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        found, wanted = value_of(desc, tensor), of(desc)
        if found is None or found.sizes == wanted:
            return None
        return Breach(f"{tensor}.Sizes", f"{braces(found.sizes)}, {told} {braces(wanted)}")

    words = f"{kebab(tensor)}-sizes", statement, f"give {tensor} the sizes named"
    return Constraint("sizes", (tensor,), None, check, words, shapes_comparable, Category.SHAPE, stated)


def same_sizes(tensor: str, other: str, **stated: Any) -> Constraint:
    """The sizes of another tensor."""
    statement = stated.pop("statement", f"{tensor} has the sizes of {other}")
    return sizes_follow(tensor, lambda desc: sizes_of(desc, other), f"{other} has", statement, **stated)


def same_sizes_off(axis: str, tensor: str, other: str, **stated: Any) -> Constraint:
    """The sizes of another tensor in every dimension but the one that a member names."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        pairs = enumerate(zip(sizes_of(desc, tensor), sizes_of(desc, other), strict=True))
        return [
            Breach(f"{tensor}.Sizes[{d}]", f"{size}, {other} has {wanted}")
            for d, (size, wanted) in pairs
            if d != value_of(desc, axis) and size != wanted
        ]

    statement = f"{tensor} has the sizes of {other} in every dimension but {axis}"
    words = "sizes-off-axis", statement, "give both the same sizes off the axis"
    return Constraint("sizes", (tensor, other), axis, check, words, shapes_comparable, Category.SHAPE, stated)


def broadcastable(tensor: str, to: str | SizesOf, told: str = "", **stated: Any) -> Constraint:
    """Each size 1, or that of another tensor or that a function gives, where the tensor is there."""
    of: SizesOf = to if callable(to) else lambda desc: sizes_of(desc, to)
    told = told or f"{to} has"

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        found, wanted = value_of(desc, tensor), of(desc)
        if found is None or (len(found.sizes) == len(wanted) and all(map(_is_1_or, found.sizes, wanted))):
            return None
        return Breach(f"{tensor}.Sizes", f"{braces(found.sizes)}, {told} {braces(wanted)}")

    words = f"{kebab(tensor)}-sizes", f"each size of {tensor} is 1, or as {told}", "use 1 for what is repeated"
    return Constraint("broadcastable", (tensor,), None, check, words, shapes_comparable, Category.SHAPE, stated)


def _is_1_or(size: int, other: int) -> bool:
    return size in (1, other)


def size_within(
    tensor: str, place: int | str, low: Number, high: Number | None, unit: str = "", **stated: Any
) -> Constraint:
    """The size at a place, or along the axis that a member names, from `low` to `high`, which is None for no end.

    A message has the unit after the number.
    """

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        d, sizes = dimension(desc, place), sizes_of(desc, tensor)
        if number(low, desc) <= sizes[d] and (high is None or sizes[d] <= number(high, desc)):
            return None
        return Breach(f"{tensor}.Sizes[{d % len(sizes)}]", _told(f"{sizes[d]}{unit}", high, desc))

    where = f"along {place}" if isinstance(place, str) else f"at {place}"
    most = f"size {low}" if low == high else f"a size from {low}" + ("" if high is None else f" to {high}")
    words = f"{kebab(tensor)}-size", f"{tensor} has {most} {where}", f"give {tensor} such a size"
    data = (place, low, high)
    return Constraint("size_within", (tensor,), data, check, words, shapes_comparable, Category.SHAPE, stated)


def dimension(desc: OperatorDesc, place: int | str) -> int:
    """A place, or the one that a member names."""
    return int(value_of(desc, place)) if isinstance(place, str) else place


def leading_ones(tensor: str, last: Number, **stated: Any) -> Constraint:
    """Sizes of 1 but for the last so many."""

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        leading = leading_sizes(desc, tensor, last)
        return Breach(f"{tensor}.Sizes", f"leading sizes {braces(leading)}") if set(leading) - {1} else None

    words = f"leading-{kebab(tensor)}-sizes", f"all sizes of {tensor} but the last {last} are 1", ""
    return Constraint("leading_ones", (tensor,), last, check, words, shapes_comparable, Category.SHAPE, stated)


def same_ranks(*groups: Sequence[Field], **stated: Any) -> Constraint:
    """One DimensionCount in each group of tensors; those that are null aside."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        return _unlike(desc, groups, lambda tensor: len(tensor.sizes), lambda name, count: f"{name} has {count}")

    def needs(operator: str) -> frozenset[str]:
        return RANKS_COMPARABLE | ids(operator, "introduced-in", "required-tensors", "dimension-counts")

    words = "same-dimension-count", "", ""
    return Constraint("same_ranks", (), groups, check, words, needs, Category.AGREEMENT, stated)


def same_types(*groups: Sequence[Field], **stated: Any) -> Constraint:
    """One DataType in each group of tensors; those that are null aside."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        return _unlike(desc, groups, lambda tensor: tensor.data_type, lambda name, kind: f"{name} is {kind.name}")

    def needs(operator: str) -> frozenset[str]:
        return TYPES_COMPARABLE | ids(operator, "introduced-in", "required-tensors", "data-types")

    words = "same-data-type", "", ""
    return Constraint("same_types", (), groups, check, words, needs, Category.AGREEMENT, stated)


def _unlike(
    desc: OperatorDesc,
    groups: Sequence[Sequence[Field]],
    value: Callable[[TensorDesc], Any],
    say: Callable[[str, Any], str],
) -> list[Breach]:
    """A breach for each group whose tensors have more than one value."""
    found = []
    for fields in groups:
        of_group = [slot for slot in slots(desc) if slot.field in fields]
        if len({value(slot.tensor) for slot in of_group}) > 1:
            found.append(Breach("", ", ".join(say(slot.name, value(slot.tensor)) for slot in of_group)))
    return found


def same_type(tensor: str, other: str, **stated: Any) -> Constraint:
    """The data type of another tensor."""

    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        found, wanted = value_of(desc, tensor).data_type, value_of(desc, other).data_type
        return None if found == wanted else Breach(f"{tensor}.DataType", f"{found.name}, {other} is {wanted.name}")

    words = f"{kebab(tensor)}-data-type", f"{tensor} has the data type of {other}", "give both the same data type"
    return Constraint("same_type", (tensor, other), None, check, words, types_comparable, Category.AGREEMENT, stated)


def given(*tensors: str, **stated: Any) -> Constraint:
    """Tensors that may not be null, of an array none; also where the structure lets them be."""

    def check(desc: OperatorDesc, level: Level) -> list[Breach]:
        found = []
        for name in tensors:
            tensor = value_of(desc, name)
            if tensor is None:
                found.append(Breach(name, "null"))
            elif tensor == ():
                found.append(Breach(name, "empty"))
            elif isinstance(tensor, tuple):
                found += [Breach(f"{name}[{n}]", "null") for n, one in enumerate(tensor) if one is None]
        return found

    words = kebab(tensors[0]) if tensors else "", f"{in_words(tensors)} is given", f"give {in_words(tensors)}"
    return Constraint("given", tensors, None, check, words, exists, Category.AGREEMENT, stated)


def together(*tensors: str, **stated: Any) -> Constraint:
    """Optional tensors that are all there or none."""
    words = f"{kebab(tensors[0])}-together", f"{in_words(tensors)} are all given, or none", "give all or none"
    return _counted(tensors, (0, len(tensors)), words, stated)


def exclusive(*tensors: str, least: int = 0, **stated: Any) -> Constraint:
    """Optional tensors of which there is one at most, and at least so many."""
    how_many = "exactly" if least else "at most"
    words = f"{kebab(tensors[0])}-alone", f"{how_many} one of {in_words(tensors)} is given", "leave the others out"
    return _counted(tensors, (least, 1), words, stated)


def any_of(*tensors: str, **stated: Any) -> Constraint:
    """Optional tensors of which there is one at least."""
    words = f"{kebab(tensors[0])}-or-other", f"{in_words(tensors)} are not all null", "give one of them"
    return _counted(tensors, tuple(range(1, len(tensors) + 1)), words, stated)


def _counted(
    tensors: tuple[str, ...], counts: tuple[int, ...], words: tuple[str, str, str], stated: Mapping[str, Any]
) -> Constraint:
    def check(desc: OperatorDesc, level: Level) -> Breach | None:
        found = [name for name in tensors if value_of(desc, name) is not None]
        return None if len(found) in counts else Breach("", f"{in_words(found) if found else 'none'} given")

    return Constraint("together", tensors, counts, check, words, exists, Category.AGREEMENT, stated)
