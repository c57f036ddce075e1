"""The forms of operators that are one node."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.onnxruntime.graph import BOOL, FormGraph, FormValue, NoForm
from dml_conformance.backends.onnxruntime.table import NodeRow, Source, nodes_of
from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.field_kinds import EnumKind

# Element types of outputs that are not that of the first input.
RESULTS = {
    **dict.fromkeys(("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "IsNaN", "IsInf", "And", "Or"), BOOL),
    **dict.fromkeys(("Not", "Xor"), BOOL),
    **dict.fromkeys(("ArgMin", "ArgMax"), "INT64"),
    **dict.fromkeys(("ConvInteger", "MatMulInteger"), "INT32"),
}
# Of what they read they take every number but 0 for true.
LOGICAL = frozenset({"And", "Or", "Xor", "Not"})


def has_plain_row(operator: str) -> bool:
    """Whether some row of an operator reads tensors alone, and so says all."""
    return any(_is_plain(row) for row in nodes_of(operator))


def _is_plain(row: NodeRow) -> bool:
    return all(isinstance(name, str) and name.endswith("_tensor") for name in row.inputs)


def row_of(desc: OperatorDesc) -> NodeRow:
    """The row that a descriptor is a case of.

    Args:
        desc: valid; fields in `neutral` are not looked at.

    Raises:
        NoForm: none is.
    """
    rows = nodes_of(desc.operator)
    for row in rows:
        if all(_is(desc, field, value) for field, value in row.given.items()):
            return row
    shown = ", ".join(sorted({f"{field} of {named(desc, field)}" for row in rows for field in row.given}))
    raise NoForm(f"{desc.operator} with {shown}" if rows else desc.operator)


def attributes_of(desc: OperatorDesc, row: NodeRow) -> dict[str, Any]:
    """The attributes of the node."""
    found = {name: _made(desc, row, name, source) for name, source in row.attributes.items()}
    return found | {name: value for name, value in row.constants.items() if value is not None}


def plain(graph: FormGraph, desc: OperatorDesc) -> None:
    """One node that reads tensors as they are, and whose first output is the only one."""
    row = row_of(desc)
    for field, value in row.neutral.items():
        if not _is(desc, field, value):
            raise NoForm(f"{field} of {desc.operator}")
    if not _is_plain(row):
        raise NoForm(desc.operator)
    inputs = [read(graph, desc, str(field), row) for field in row.inputs]
    graph.output(row.outputs[0], node(graph, desc, row, *inputs))


def read(graph: FormGraph, desc: OperatorDesc, field: str, row: NodeRow) -> FormValue | None:
    """A tensor as the node takes it; None where the descriptor has none."""
    if getattr(desc, field) is None:
        return None
    value = graph.input(field)
    return graph.cast(value, BOOL) if row.op_type in LOGICAL else value


def node(graph: FormGraph, desc: OperatorDesc, row: NodeRow, *inputs: FormValue | None, **attributes: Any) -> FormValue:
    """The node of a row, in its attributes or others."""
    graph.need(row)
    given = {**attributes_of(desc, row), **attributes}
    return graph.node(row.op_type, *inputs, kind=RESULTS.get(row.op_type), domain=row.domain, **given)


def _made(desc: OperatorDesc, row: NodeRow, name: str, source: Source) -> Any:
    if isinstance(source, str):
        return _plain(getattr(desc, source))
    if isinstance(source[1], str):
        return [number for field in source for number in getattr(desc, str(field))]
    value = named(desc, str(source[0]))
    if value not in source[1]:
        raise NoForm(f"{row.op_type} with {source[0]} of {value}")
    return source[1][value]


def _plain(value: Any) -> Any:
    """An attribute's value of a field's."""
    return int(value) if isinstance(value, bool) else list(value) if isinstance(value, tuple) else value


def named(desc: OperatorDesc, field: str) -> Any:
    """What a field of a descriptor holds, an enumerator by its name."""
    kind = next(each.kind for each in desc.fields if each.attribute == field)
    value = getattr(desc, field)
    return kind.to_json(value) if isinstance(kind, EnumKind) else value


def _is(desc: OperatorDesc, field: str, wanted: Any) -> bool:
    value = named(desc, field)
    if isinstance(value, tuple):
        return all(each == wanted for each in value)
    return bool(value == wanted)
