"""Files with descriptors: one descriptor, a list of them, or a whole DxDispatch model.

A model is the JSON file of microsoft/DirectML's DxDispatch, an object with `resources`, `dispatchables` and
`commands`. Its dispatchables that are operators known here are read; the others are named as skipped. Resources and
commands are not looked at here.

DxDispatch lets its JSON have comments and trailing commas, so they are taken here: where a text is not strict JSON
they are blanked out, character for character so that lines and columns stay, and it is read again. No library does
that better: json5 takes much that DxDispatch refuses and needs minutes for what is read here in a second; rapidjson,
DxDispatch's own parser, tells neither of a key given twice nor of the line, nor does msgspec. The standard library's
parser tells both.

Anything may come in: every input ends in a `ModelFile` or in one `ModelError` with one line to say.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from dml_conformance.spec.errors import BadInputError
from dml_conformance.spec.forms import FormError, desc_from_json
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operators

# A descriptor has a few hundred characters. The bound is on memory: parsed JSON takes up to 35 times its length.
MAX_BYTES = 16 * 2**20
# Longer whole numbers are no value of any field; int() would refuse them from 4300 digits on, and take long before.
_MAX_DIGITS = 40
# What a dispatchable may have beside its type and the operator's fields.
_DISPATCHABLE_FIELDS = frozenset({"dmlCompileType", "executionFlags", "bindings"})


class ModelError(BadInputError, ValueError):
    """A file that cannot be read as descriptors.

    Attributes:
        file: its name.
        where: `line:column` for a fault of the text, the path of the field for others, "" for the file as a whole.
        problem: what was expected, what was found.
    """

    def __init__(self, file: str, where: str, problem: str) -> None:
        super().__init__(": ".join(part for part in (file, where, problem) if part))
        self.file = file
        self.where = where
        self.problem = problem


class LocatedOperator(NamedTuple):
    """One descriptor of a file.

    Attributes:
        where: path of the operator in the file, "" for the file's only one.
        fields: path of the object that has the operator's fields, "" for the file's root.
        desc: the descriptor.
    """

    where: str
    fields: str
    desc: OperatorDesc


class SkippedOperator(NamedTuple):
    """A dispatchable that is no operator known here: its path and its type."""

    where: str
    type: str


class ModelFile(NamedTuple):
    """What a file holds, in its order."""

    operators: tuple[LocatedOperator, ...]
    skipped: tuple[SkippedOperator, ...] = ()


def read_model(data: bytes, file: str) -> ModelFile:
    """Read the descriptors of a file.

    Args:
        data: its bytes; UTF-8, with or without a byte order mark. At most `MAX_BYTES`; of a larger file one byte more
            is enough, so that nobody has to read all of it.
        file: its name, for messages.

    Raises:
        ModelError: naming the place and what was expected there.
    """
    return read_parsed(parse_document(data, file), file)


def parse_document(data: bytes, file: str) -> Any:
    """The JSON of a file as DxDispatch would take it; arguments and errors as for `read_model`."""
    try:
        return _parsed(_decoded(data, file), file)
    except RecursionError:
        raise ModelError(file, "", "nested too deeply for a descriptor") from None


def read_parsed(root: Any, file: str) -> ModelFile:
    """The descriptors in what `parse_document` gave; raises ModelError."""
    try:
        if isinstance(root, dict) and "dispatchables" in root:
            return _model(root["dispatchables"], file)
        if isinstance(root, list):
            return ModelFile(tuple(_located(value, f"[{i}]") for i, value in enumerate(root)))
        return ModelFile((_located(root, ""),))
    except FormError as error:
        raise ModelError(file, error.where, error.problem) from None
    except RecursionError:
        raise ModelError(file, "", "nested too deeply for a descriptor") from None


def _model(dispatchables: Any, file: str) -> ModelFile:
    if not isinstance(dispatchables, dict):
        raise ModelError(file, "dispatchables", "expected an object with named dispatchables")
    found: list[LocatedOperator] = []
    skipped: list[SkippedOperator] = []
    for name, value in dispatchables.items():
        where = "dispatchables" + member_path(name)
        kind = value.get("type", value.get("Type")) if isinstance(value, dict) else None
        if isinstance(kind, str) and kind.removeprefix("DML_OPERATOR_") not in operators():
            skipped.append(SkippedOperator(where, kind))
        else:
            found.append(_located(_without_dispatch_fields(value), where))
    return ModelFile(tuple(found), tuple(skipped))


def _without_dispatch_fields(value: Any) -> Any:
    """A dispatchable without the members that are DxDispatch's own, which may stand among an operator's fields."""
    if not isinstance(value, dict):
        return value
    return _with_computed_totals({name: part for name, part in value.items() if name not in _DISPATCHABLE_FIELDS})


def _with_computed_totals(value: Any) -> Any:
    """Without the total sizes of tensors that are 0, in whose place DxDispatch computes one."""
    if isinstance(value, list):
        return [_with_computed_totals(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {name: _with_computed_totals(part) for name, part in value.items() if not _is_zero_total(name, part)}


def _is_zero_total(name: str, value: Any) -> bool:
    return name == "TotalTensorSizeInBytes" and value == 0 and not isinstance(value, bool)


def _located(value: Any, where: str) -> LocatedOperator:
    desc = desc_from_json(value, where)
    has_inner = "desc" in value or "Desc" in value
    return LocatedOperator(where, (f"{where}.desc" if where else "desc") if has_inner else where, desc)


def member_path(name: str) -> str:
    """A member in a path: `.name`, or `["any text"]` where the name is not a plain word."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name):
        return f".{name}"
    return f"[{json.dumps(name if len(name) <= 64 else name[:61] + '...')}]"


# --- text ---------------------------------------------------------------------------------------------------------


def _decoded(data: bytes, file: str) -> str:
    if len(data) > MAX_BYTES:
        raise ModelError(
            file,
            "",
            f"larger than {MAX_BYTES // 2**20} MiB, the most that is read; keep large data in files of its own",
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise ModelError(file, "", "expected UTF-8 text, found UTF-16, UTF-32 or binary data")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise ModelError(
            file, _position(before, len(before)), f"expected UTF-8 text, found the byte 0x{data[error.start]:02x}"
        ) from None
    if not text.strip():
        raise ModelError(file, "", "is empty; expected a descriptor, a list of them or a DxDispatch model")
    return text


def _position(text: str, index: int) -> str:
    """`line:column` of a character, both from 1, the column in characters."""
    return f"{text.count(chr(10), 0, index) + 1}:{index - text.rfind(chr(10), 0, index)}"


# --- JSON ---------------------------------------------------------------------------------------------------------


class _NotANumber(ValueError):
    """NaN or Infinity, which JSON does not have; the parser's hook cannot tell where."""


class _LongNumber(float):
    """A whole number too long for any field; as infinity it is refused wherever a number counts."""

    def __new__(cls, digits: int) -> _LongNumber:
        number = super().__new__(cls, math.inf)
        number.digits = digits
        return number

    digits: int

    def __repr__(self) -> str:
        return f"<{self.digits} digits>"


def _parsed(text: str, file: str) -> Any:
    try:
        return _strict(text, file)
    except json.JSONDecodeError as strict:
        relaxed = _blanked(text, file)
        if relaxed == text:
            raise _syntax_error(strict, file) from None
    try:
        return _strict(relaxed, file)
    except json.JSONDecodeError as error:
        raise _syntax_error(error, file) from None


def _syntax_error(error: json.JSONDecodeError, file: str) -> ModelError:
    return ModelError(file, f"{error.lineno}:{error.colno}", f"not JSON: {error.msg[0].lower()}{error.msg[1:]}")


def _strict(text: str, file: str) -> Any:
    repeated: list[tuple[dict[str, Any], str]] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            repeated.append((members, Counter(name for name, _ in pairs).most_common(1)[0][0]))
        return members

    def refuse(constant: str) -> Any:
        raise _NotANumber(constant)

    try:
        root = json.loads(text, object_pairs_hook=build, parse_int=_whole_number, parse_constant=refuse)
    except _NotANumber as error:
        place = next(match.start(1) for match in _CONSTANTS.finditer(text) if match[1])
        raise ModelError(file, _position(text, place), f"not JSON: there is no number {error}") from None
    if repeated:
        owner, name = repeated[0]
        path = (_path_of(owner, root) + member_path(name)).removeprefix(".")
        raise ModelError(file, path, "given twice in the same object")
    return root


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else _LongNumber(len(digits.lstrip("-")))


def _path_of(target: dict[str, Any], root: Any) -> str:
    """Path of one of the objects of a file; only asked for in an error."""
    steps = [""]
    walks = [iter([("", root)])]
    while walks:
        for step, value in walks[-1]:
            if value is target:
                return "".join(steps) + step
            if isinstance(value, dict | list):
                steps.append(step)
                walks.append(_members(value))
                break
        else:
            walks.pop()
            steps.pop()
    return ""  # it stands in a member that is itself given twice


def _members(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((member_path(name), member) for name, member in value.items())
    return ((f"[{i}]", member) for i, member in enumerate(value))


# An unclosed text or comment reaches to the end, so that no pattern is tried at every place of a long one.
_TEXT = r'"(?:[^"\\]|\\.)*+"?'
_CONSTANTS = re.compile(_TEXT + r"|(NaN|-?Infinity)", re.DOTALL)
_COMMENTS = re.compile(_TEXT + r"|(//[^\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
# A comma is trailing if a value stands before it; after another sign it is an error that is left to the parser.
_COMMAS = re.compile(_TEXT + r"|[\[{:,](?:\s*+,)++|(,(?=\s*+[\]}]))", re.DOTALL)


def _blanked(text: str, file: str) -> str:
    """The text with comments and trailing commas as spaces; all other characters stay where they are."""

    def blank(match: re.Match[str]) -> str:
        blanked = match[1]
        if blanked is None:
            return match[0]
        if blanked.startswith("/*") and (len(blanked) < 4 or not blanked.endswith("*/")):
            raise ModelError(file, _position(text, match.start()), "not JSON: a comment that is not closed")
        return "\n".join(" " * len(line) for line in blanked.split("\n"))

    return _COMMAS.sub(blank, _COMMENTS.sub(blank, text))
