"""What the fields of a descriptor can hold: for each kind its forms in Python, in JSON, in a schema and in C.

A kind also says which values are simpler than one, for who makes a descriptor smaller, and which are next to one, for
who looks where an implementation goes wrong by one. Whoever treats fields by what they hold asks the kind; there is no
other list of kinds.

Sources: DirectML.h; for JSON the DxDispatch guide in microsoft/DirectML.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec

from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.levels import Level
from dml_conformance.spec.sources import read_data
from dml_conformance.spec.tensor import UINT32_MAX, TensorDesc

_E = TypeVar("_E", bound=IntEnum)

Schema = dict[str, Any]
Neighbours = Iterator[tuple[str, Any]]

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
FLOAT32_MAX = float.fromhex("0x1.fffffep+127")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class FormError(BadInputError, ValueError):
    """Input that is not in the form of a descriptor.

    Attributes:
        where: path of the field, `desc.InputTensor.Sizes[2]`.
        problem: what was expected there and what was found.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}" if where else problem)
        self.where = where
        self.problem = problem


def join(where: str, name: str) -> str:
    """The path of a field below another."""
    return f"{where}.{name}" if where else name


def shown(value: Any) -> str:
    """A value as an error shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def kind_of(value: Any) -> str:
    """What JSON calls a value: `an object`, `a list`, `the number 3`."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), f"the number {shown(value)}" if isinstance(value, int | float) else "something else")


def read_whole(value: Any, where: str, least: int, most: int) -> int:
    """A whole number of JSON; raises FormError for one out of range and for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise FormError(where, f"expected a whole number from {least} to {most}, found {shown(value)}")
    return value


def read_enum(enum: type[_E], prefix: str, value: Any, where: str) -> _E:
    """An enumerator by its name, with or without its prefix, or by its number; raises FormError."""
    if isinstance(value, str) and value.removeprefix(prefix) in enum.__members__:
        return enum[value.removeprefix(prefix)]
    if isinstance(value, int) and not isinstance(value, bool) and value in enum._value2member_map_:
        return enum(value)
    raise FormError(where, f"expected one of {', '.join(enum.__members__)}, found {shown(value)}")


class Kind:
    """What a field holds.

    Attributes:
        name: as the header and messages call it: `UINT`, `UINT array`.
        python: the type of the Python attribute.
        code: of the struct module, for the member of the C structure.
        expects: what JSON has to have there, in words.
        usual: what msgspec reads in the form that `to_json` writes; None where only `from_json` can.
    """

    name: str
    python: Any
    code: str = "P"
    expects: str
    usual: Any = None

    def to_json(self, value: Any) -> Any:
        """The value as JSON has it."""
        return value

    def from_json(self, value: Any, where: str) -> Any:
        """The value that JSON has there; raises FormError with the path `where`."""
        raise NotImplementedError

    @property
    def schema(self) -> Schema:
        """The JSON Schema of what `to_json` writes."""
        raise NotImplementedError

    @property
    def typical(self) -> Sequence[Any]:
        """A few values, the ends of the range among them, the simplest first."""
        raise NotImplementedError

    def simpler(self, value: Any) -> Iterator[Any]:
        """Simpler values than one, the simplest first."""
        return iter(())

    def neighbours(self, value: Any) -> Neighbours:
        """The values next to one, each with the name of the step."""
        return iter(())


class WholeKind(Kind):
    """UINT and INT."""

    python: Any = int

    def __init__(self, name: str, code: str, least: int, most: int) -> None:
        self.name, self.code, self.least, self.most = name, code, least, most
        self.expects = name
        self.usual = Annotated[int, msgspec.Meta(ge=least, le=most)]

    def from_json(self, value: Any, where: str) -> int:
        return read_whole(value, where, self.least, self.most)

    @property
    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    @property
    def typical(self) -> Sequence[int]:
        return (*range(10), *((-1, -2, INT32_MIN) if self.least else ()), self.most)

    def simpler(self, value: int) -> Iterator[int]:
        step = 1 if value > 0 else -1
        return iter(sorted({0, int(value / 2), value - step}, key=abs)) if value else iter(())

    def neighbours(self, value: int) -> Neighbours:
        for name, other in (("+ 1", value + 1), ("- 1", value - 1)):
            if self.least <= other <= self.most:
                yield name, other


class FloatKind(Kind):
    """FLOAT, a number of binary32; not finite ones are text in JSON."""

    name, python, code, expects = "FLOAT", float, "f", "FLOAT"

    def to_json(self, value: float) -> Any:
        return number_to_json(float(value))

    def from_json(self, value: Any, where: str) -> float:
        number = read_number(value, where)
        if math.isfinite(number) and abs(number) > FLOAT32_MAX:
            raise FormError(where, f"expected a number that FLOAT32 has, found {shown(value)}")
        nearest: float = struct.unpack("f", struct.pack("f", number))[0]
        return nearest

    @property
    def schema(self) -> Schema:
        return {"anyOf": [{"type": "number"}, {"enum": list(_NOT_FINITE)}]}

    @property
    def typical(self) -> Sequence[float]:
        return (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.5, math.inf, -math.inf, math.nan, FLOAT32_MAX)

    def simpler(self, value: float) -> Iterator[float]:
        for simple in (0.0, 1.0, float(int(value)) if math.isfinite(value) else 0.0):
            if len(repr(simple)) < len(repr(value)) or abs(simple) < abs(value):
                yield simple

    def neighbours(self, value: float) -> Neighbours:
        if math.isfinite(value):
            yield "+ 1", value + 1.0
            yield "- 1", value - 1.0
            yield "negated", -value


class BoolKind(Kind):
    """BOOL, four bytes in C."""

    name, python, code, expects, usual = "BOOL", bool, "i", "true or false", bool

    def from_json(self, value: Any, where: str) -> bool:
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return bool(value)
        raise FormError(where, f"expected true or false, found {shown(value)}")

    @property
    def schema(self) -> Schema:
        return {"type": "boolean"}

    @property
    def typical(self) -> Sequence[bool]:
        return (False, True)

    def simpler(self, value: bool) -> Iterator[bool]:
        return iter((False,) if value else ())

    def neighbours(self, value: bool) -> Neighbours:
        yield "negated", not value


class Enumerator(IntEnum):
    """What the enumerations of DirectML.h are made of; another process gets a plain number, which fields take too."""

    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        return int, (int(self),)


class EnumKind(Kind):
    """An enumeration; a plain number in Python, as the API takes any, be it an enumerator or not.

    Attributes:
        enum: the enumerators.
        levels: since which level each is there.
    """

    code = "I"

    def __init__(self, name: str, enum: type[IntEnum], levels: Mapping[int, Level]) -> None:
        self.name, self.enum, self.levels = name, enum, levels
        self.expects = f"one of {', '.join(enum.__members__)}"
        self.python = int

    def to_json(self, value: int) -> Any:
        return self.enum(value).name if value in self.enum._value2member_map_ else int(value)

    def from_json(self, value: Any, where: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value not in self.enum._value2member_map_:
            return read_whole(value, where, 0, UINT32_MAX)
        return int(read_enum(self.enum, f"{self.name}_", value, where))

    @property
    def schema(self) -> Schema:
        whole = {"type": "integer", "minimum": 0, "maximum": UINT32_MAX}
        return {"anyOf": [{"enum": list(self.enum.__members__)}, whole]}

    @property
    def typical(self) -> Sequence[int]:
        return (*map(int, self.enum), max(self.enum) + 1)

    def simpler(self, value: int) -> Iterator[int]:
        first = int(next(iter(self.enum)))
        return iter((first,) if value > first else ())

    def neighbours(self, value: int) -> Neighbours:
        for other in (value + 1, value - 1):
            if other in self.enum._value2member_map_:
                yield f"= {self.enum(other).name}", other
            elif other >= 0:
                yield f"= {other}", other


class ScalarKind(Kind):
    """DML_SCALAR_UNION: a number of the data type that the field before it names."""

    name, python, code, expects = "scalar", float | int, "Q", "a number"

    def to_json(self, value: float | int) -> Any:
        return number_to_json(value)

    def from_json(self, value: Any, where: str) -> float | int:
        return read_number(value, where)

    @property
    def schema(self) -> Schema:
        return {"anyOf": [{"type": "number"}, {"enum": list(_NOT_FINITE)}]}

    @property
    def typical(self) -> Sequence[float | int]:
        return (0, 1, 2, 100)

    def simpler(self, value: float | int) -> Iterator[float | int]:
        return iter((0, 1) if value not in (0, 1) else (0,) if value else ())

    def neighbours(self, value: float | int) -> Neighbours:
        if math.isfinite(value):
            yield "+ 1", value + 1
            yield "- 1", value - 1


class Size2d(msgspec.Struct, frozen=True):
    """`DML_SIZE_2D`; Width stands first in memory, as the library confirms."""

    width: int
    height: int


class ScaleBias(msgspec.Struct, frozen=True):
    """`DML_SCALE_BIAS`: what is computed before an element-wise function, `x * scale + bias`."""

    scale: float
    bias: float


class PairKind(Kind):
    """A small structure of two numbers: DML_SIZE_2D lies in the descriptor, DML_SCALE_BIAS behind a pointer.

    Attributes:
        members: the names that DirectML has for them, in the order of the structure.
        element: what each of them is.
    """

    expects = "an object"

    def __init__(self, name: str, structure: type, members: tuple[str, str], element: Kind, code: str) -> None:
        self.name, self.python, self.members, self.element, self.code = name, structure, members, element, code

    def to_json(self, value: Any) -> Any:
        numbers = msgspec.structs.astuple(value)
        return {name: self.element.to_json(number) for name, number in zip(self.members, numbers, strict=True)}

    def from_json(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict) or set(value) != set(self.members):
            names = " and ".join(self.members)
            raise FormError(where, f"expected an object with {names}, found {shown(value)}")
        return self.python(*(self.element.from_json(value[name], join(where, name)) for name in self.members))

    @property
    def schema(self) -> Schema:
        return {
            "type": "object",
            "properties": dict.fromkeys(self.members, self.element.schema),
            "required": list(self.members),
            "additionalProperties": False,
        }

    @property
    def typical(self) -> Sequence[Any]:
        numbers = self.element.typical
        return tuple(self.python(*pair) for pair in zip(numbers, (*numbers[1:], numbers[0]), strict=True))

    def simpler(self, value: Any) -> Iterator[Any]:
        first, second = msgspec.structs.astuple(value)
        yield from (self.python(simple, second) for simple in self.element.simpler(first))
        yield from (self.python(first, simple) for simple in self.element.simpler(second))

    def neighbours(self, value: Any) -> Neighbours:
        first, second = msgspec.structs.astuple(value)
        for name, other in self.element.neighbours(first):
            yield f"{self.members[0]} {name}", self.python(other, second)
        for name, other in self.element.neighbours(second):
            yield f"{self.members[1]} {name}", self.python(first, other)


class StructureKind(Kind):
    """A structure that `spec.forms` reads and writes (it binds both at its import), or None."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]

    def bind(self, write: Callable[[Any], Any], read: Callable[[Any, str], Any]) -> None:
        self.write, self.read = write, read

    def to_json(self, value: Any) -> Any:
        return None if value is None else self.write(value)

    def from_json(self, value: Any, where: str) -> Any:
        return None if value is None else self.read(value, where)


class TensorKind(StructureKind):
    """A tensor; a missing one is None, which is the validator's business."""

    name, python, expects = "tensor", TensorDesc | None, "a tensor"

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"$ref": "#/$defs/Tensor"}, {"type": "null"}]}


class OperatorKind(StructureKind):
    """A nested operator, whose tensors are null; None for none."""

    name, python, expects = "operator", Any, "an operator with type and desc"

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "object", "required": ["type", "desc"]}, {"type": "null"}]}

    @property
    def typical(self) -> Sequence[Any]:
        return (None,)

    def simpler(self, value: Any) -> Iterator[Any]:
        return iter(() if value is None else (None,))


class ArrayKind(Kind):
    """An array, with its count in another member of the structure; a tuple in Python.

    Attributes:
        element: what it is made of.
    """

    def __init__(self, element: Kind) -> None:
        self.element = element
        self.name = f"{element.name} array"
        self.python = tuple[element.python, ...]  # type: ignore[name-defined]
        self.expects = "a list of " + ("whole numbers" if isinstance(element, WholeKind) else f"{element.name}s")
        if element.usual is not None:
            self.usual = tuple[element.usual, ...]  # type: ignore[name-defined]

    def to_json(self, value: Sequence[Any]) -> Any:
        return [self.element.to_json(item) for item in value]

    def from_json(self, value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise FormError(where, f"expected {self.expects}, found {kind_of(value)}")
        return tuple([self.element.from_json(item, f"{where}[{i}]") for i, item in enumerate(value)])

    @property
    def schema(self) -> Schema:
        return {"type": "array", "items": self.element.schema}

    @property
    def typical(self) -> Sequence[Any]:
        return ((),)

    def simpler(self, value: tuple[Any, ...]) -> Iterator[Any]:
        for place, item in enumerate(value):
            yield from ((*value[:place], simple, *value[place + 1 :]) for simple in self.element.simpler(item))

    def neighbours(self, value: tuple[Any, ...]) -> Neighbours:
        for place, item in enumerate(value):
            for name, other in self.element.neighbours(item):
                yield f"element {name}", (*value[:place], other, *value[place + 1 :])
        if value:
            yield "longer by one", (*value, value[-1])
            yield "shorter by one", value[:-1]


def number_to_json(value: float | int) -> Any:
    """A number as JSON has it; one that is not finite as text."""
    if isinstance(value, int) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def read_number(value: Any, where: str) -> float | int:
    """A number of JSON, or `NaN`, `Infinity`, `-Infinity` as text; raises FormError for anything else."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormError(where, f"expected a number, found {kind_of(value)}")
    return value


TENSOR, OPERATOR = TensorKind(), OperatorKind()
TENSORS, OPERATORS = ArrayKind(TENSOR), ArrayKind(OPERATOR)
UINT, INT = WholeKind("UINT", "I", 0, UINT32_MAX), WholeKind("INT", "i", INT32_MIN, INT32_MAX)
FLOAT, BOOL, SCALAR = FloatKind(), BoolKind(), ScalarKind()
UINTS, INTS, FLOATS = ArrayKind(UINT), ArrayKind(INT), ArrayKind(FLOAT)
SIZE_2D = PairKind("SIZE_2D", Size2d, ("Width", "Height"), UINT, "II")
SCALE_BIAS = PairKind("SCALE_BIAS", ScaleBias, ("Scale", "Bias"), FLOAT, "P")


class OptionalKind(Kind):
    """A pointer that may be null, to anything but a tensor or an operator, whose kinds know None themselves."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.name, self.expects, self.code = kind, kind.name, kind.expects, kind.code
        self.python = kind.python | None

    def to_json(self, value: Any) -> Any:
        return None if value is None else self.kind.to_json(value)

    def from_json(self, value: Any, where: str) -> Any:
        return None if value is None else self.kind.from_json(value, where)

    @property
    def schema(self) -> Schema:
        return {"oneOf": [self.kind.schema, {"type": "null"}]}

    @property
    def typical(self) -> Sequence[Any]:
        return (None, *self.kind.typical)

    def simpler(self, value: Any) -> Iterator[Any]:
        return iter(()) if value is None else iter((None, *self.kind.simpler(value)))

    def neighbours(self, value: Any) -> Neighbours:
        return iter(()) if value is None else self.kind.neighbours(value)


@cache
def enumerations() -> dict[str, EnumKind]:
    """The enumerations of DirectML.h that fields have, by name; DML_TENSOR_DATA_TYPE among them."""
    found = {"DML_TENSOR_DATA_TYPE": EnumKind("DML_TENSOR_DATA_TYPE", DataType, {})}
    for name, enumerators in read_data("enums", dict[str, dict[str, tuple[int, str]]]).items():
        enum: Any = Enumerator(name, {label: number for label, (number, _) in enumerators.items()})  # type: ignore[arg-type, call-arg]
        levels = {number: Level.parse(level) for number, level in enumerators.values()}
        found[name] = EnumKind(name, enum, levels)
    return found


def enumeration(name: str) -> Any:
    """The enumerators of `DML_PADDING_MODE`, say, as an IntEnum."""
    return enumerations()[name].enum


# What the header calls the types of members that are no enumerations, and what they are here.
KINDS: Mapping[str, Kind] = {
    "UINT": UINT,
    "INT": INT,
    "FLOAT": FLOAT,
    "float": FLOAT,
    "BOOL": BOOL,
    "DML_SCALAR_UNION": SCALAR,
    "DML_SIZE_2D": SIZE_2D,
    "const DML_SCALE_BIAS *": OptionalKind(SCALE_BIAS),
    "const UINT *": UINTS,
    "const INT *": INTS,
    "const FLOAT *": FLOATS,
    "const DML_OPERATOR_DESC *": OPERATOR,
}


def kind_named(c_type: str) -> Kind:
    """The kind of a member by its type in the header; KeyError for one that no operator has."""
    return KINDS[c_type] if c_type in KINDS else enumerations()[c_type]
