"""A case as a DxDispatch model: the JSON, the buffers beside it, and a text that says what to run and to look for."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding, Bytes
from dml_conformance.backends.reference import Expectation, expected_output
from dml_conformance.conformance.exchange.dxdispatch import ACTUAL, BEFORE, EXPECTED, MODEL_FILE, NOTE, README_FILE
from dml_conformance.conformance.judge.memory import elements_at
from dml_conformance.reports.model.records import FEW_DIFFERENCES, Record
from dml_conformance.reports.model.text import difference_text, in_lines, pretty_json
from dml_conformance.spec.case import Case
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.field_kinds import TENSORS
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.operator import Slot, inputs, outputs, slots
from dml_conformance.spec.registry import rules
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.values import (
    NUMPY_TYPE,
    OVERLAPPING,
    UNSIGNED_OF_SIZE,
    buffer_size,
    in_place_input,
    materialize,
)

MAX_BYTES = 2**28  # of a case's tensors; a larger one is no file to hand to anyone
MAX_INLINE_BYTES = 2**16  # of a tensor whose values stand in the JSON
SHOWN = 16  # stretches of bytes that the text lists
_POISON = 0x5A


class NotExpressible(ValueError):
    """A case that no DxDispatch model can say; the message says what about it."""


@dataclass(frozen=True)
class ExportedModel:
    """A case as files.

    Attributes:
        name: for a folder: operator, level and the beginning of the case's digest.
        model: the content of `model.json`.
        files: the other files, by name; empty for a model with everything in it.
        remarks: what the model does not show, in sentences.
    """

    name: str
    model: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def model_text(self) -> str:
        return pretty_json(self.model, 120) + "\n"

    def all_files(self) -> dict[str, bytes]:
        """Every file of the folder, the model among them."""
        return {MODEL_FILE: self.model_text.encode(), **self.files}


def export(case: Case, record: Record | None = None, *, inline: bool = False) -> ExportedModel:
    """A case as a model.

    A case that is executed gets its buffers, whole, as they lie in memory: the inputs with what their padding holds,
    the output with the complement of every element that is to be written. One that is decided on gets the operator
    alone: DxDispatch creates and compiles it before anything else, and that is what the case is about.

    Args:
        case: any.
        record: what a backend made of it, for the text.
        inline: put all values into the JSON, where the published schema has a place for them, and write no other file.

    Raises:
        NotExpressible: DxDispatch has no form for the descriptor, or the tensors are too large.
    """
    _check_form(case)
    content = case.to_json()
    name = f"{case.operator.lower()}-{case.level}-{case.digest[:12]}"
    memory = _Memory.of(case, inline=inline) if is_executed(case) else None
    files = {} if inline or memory is None else memory.files()
    note = {key: content[key] for key in ("level", "data", "rule", "expect")}
    if memory is not None:
        note["expected"] = {name: _noted(name, output, inline) for name, output in memory.outputs.items()}
    model = {
        "resources": {} if memory is None else dict(memory.resources(inline=inline)),
        "dispatchables": {case.operator.lower(): _dispatchable(case, memory)},
        "commands": [] if memory is None else _commands(case, memory, inline=inline),
        NOTE: note,
    }
    remarks = tuple(_remarks(case, memory))
    exported = ExportedModel(name, model, files, remarks)
    if not inline:
        exported.files[README_FILE] = _readme(case, record, memory, remarks).encode()
    return exported


def is_executed(case: Case) -> bool:
    """Whether a case has outputs that the specification knows: it is valid, and there is data for every input."""
    data = case.data
    given = data is not None and all(slot.key in data for slot in inputs(case.desc))
    return case.outcome is Outcome.ACCEPT and not case.broken and given


def _check_form(case: Case) -> None:
    """What DxDispatch's parser asks of a descriptor, or changes in it."""
    for member in case.desc.fields:
        value = getattr(case.desc, member.attribute)
        if member.is_tensor and not member.optional and (value is None or value == () or value == (None,)):
            raise NotExpressible(f"{member.name} is null, which DxDispatch refuses for a tensor that is not optional")
    for slot in slots(case.desc):
        tensor = slot.tensor
        if tensor.data_type.shares_bytes:
            raise NotExpressible(f"{slot.name} is {tensor.data_type.name}, a type that DxDispatch has no values of")
        if tensor.flags not in (TensorFlag.NONE, TensorFlag.OWNED_BY_DML):
            raise NotExpressible(f"{slot.name}.Flags is {tensor.flags}; DxDispatch knows flags by their names only")
        if tensor.total_tensor_size_in_bytes == 0:
            raise NotExpressible(f"{slot.name}.TotalTensorSizeInBytes is 0, in place of which DxDispatch computes one")
    for member in case.desc.fields:
        owned = {_is_owned(slot) for slot in inputs(case.desc) if slot.field == member}
        if len(owned) > 1:
            raise NotExpressible(f"some of {member.name} are OWNED_BY_DML; DxDispatch binds all of an array at once")


class _OutputMemory(NamedTuple):
    """The buffer of an output, and what the specification expects there."""

    tensor: TensorDesc
    expected: Expectation

    def before(self) -> Bytes:
        """The buffer with the complement of every element that is to be written."""
        return self._written(np.invert(self.expected.values), _POISON)

    def after(self) -> Bytes:
        """The buffer with what is expected."""
        return self._written(self.expected.values, _POISON)

    def counts(self) -> npt.NDArray[np.bool_]:
        """Which bytes of the buffer the specification fixes: those of elements that it does not leave open."""
        fixed = np.full(self.tensor.sizes, -1, np.int64).astype(UNSIGNED_OF_SIZE[self.tensor.data_type.size])
        if (is_open := self.expected.open) is not None:
            fixed[is_open] = 0
        return self._written(fixed, 0).astype(np.bool_)

    def _written(self, values: npt.NDArray[Any], padding: int) -> Bytes:
        buffer = np.full(buffer_size(self.tensor), padding, np.uint8)
        elements_at(buffer, 0, self.tensor)[...] = values
        return buffer


@dataclass(frozen=True)
class _Memory:
    """The buffers of a case that is executed, by their names in the model; of an input with its content."""

    inputs: Mapping[str, tuple[TensorDesc, Bytes]]
    outputs: Mapping[str, _OutputMemory]

    @classmethod
    def of(cls, case: Case, *, inline: bool) -> _Memory:
        size = sum(buffer_size(slot.tensor) for slot in slots(case.desc))
        for how, most in {"exported": MAX_BYTES, **({"in one file": MAX_INLINE_BYTES} if inline else {})}.items():
            if size > most:
                raise NotExpressible(f"its tensors take {size} bytes, {how} are up to {most}")
        if in_place_input(case):
            raise NotExpressible("its output is bound to an input's memory")
        try:
            contents = materialize(case)
        except ValueError as error:
            raise NotExpressible(f"there is no such data: {error}") from None
        bound = {key: Binding(content, 0, len(content)) for key, content in contents.items()}
        expected = expected_output(case.desc, bound)
        return cls(
            {resource_name(slot.name): (slot.tensor, contents[slot.key]) for slot in inputs(case.desc)},
            {resource_name(slot.name): _OutputMemory(slot.tensor, expected[slot.key]) for slot in outputs(case.desc)},
        )

    def initial(self) -> Iterator[tuple[str, str, TensorDesc, Bytes]]:
        """Of each tensor name, the beginning of its file's, and what its buffer holds at first."""
        for name, (tensor, content) in self.inputs.items():
            yield name, name, tensor, content
        for name, output in self.outputs.items():
            yield name, f"{name}.{BEFORE}", output.tensor, output.before()

    def resources(self, *, inline: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, stem, tensor, content in self.initial():
            data_type: str = tensor.data_type.name
            initial: Any = {"sourcePath": f"{stem}.npy"}
            if inline:
                data_type, initial = _values(_elements(tensor, content), tensor.data_type)
            size = buffer_size(tensor)
            yield name, {"initialValuesDataType": data_type, "initialValues": initial, "sizeInBytes": size}

    def files(self) -> dict[str, bytes]:
        files = {f"{stem}.npy": _npy(_elements(tensor, content)) for _, stem, tensor, content in self.initial()}
        for name, output in self.outputs.items():
            number = NUMPY_TYPE[output.tensor.data_type]
            files[f"{name}.{EXPECTED}.npy"] = _npy(np.ascontiguousarray(output.expected.values).view(number))
            files[f"{name}.{EXPECTED}.dat"] = output.after().tobytes()
        return files


def _elements(tensor: TensorDesc, buffer: Bytes) -> npt.NDArray[Any]:
    """A buffer as whole elements; a rest that holds none, which no element can reach, is left out."""
    size = tensor.data_type.size
    return buffer[: len(buffer) // size * size].view(NUMPY_TYPE[tensor.data_type])


def _npy(array: npt.NDArray[Any]) -> bytes:
    """NumPy's file of version 1.0, which DxDispatch reads."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _values(elements: npt.NDArray[Any], data_type: DataType) -> tuple[str, list[int | float]]:
    """Values for the JSON and the type that they are given in: unsigned integers of the same bits where a float is
    none that JSON has. DxDispatch lets a buffer be filled with one type and bound as another."""
    numbers = elements.view(NUMPY_TYPE[data_type])
    if data_type.is_float and not np.isfinite(numbers).all():
        size = data_type.size
        return f"UINT{8 * size}", elements.view(UNSIGNED_OF_SIZE[size]).tolist()
    return data_type.name, numbers.tolist()


def _noted(name: str, output: _OutputMemory, inline: bool) -> dict[str, Any]:
    """What the model's note says of an output: what is expected there, and which elements are open, by number."""
    noted: dict[str, Any] = {"sourcePath": f"{name}.{EXPECTED}.npy", "memory": f"{name}.{EXPECTED}.dat"}
    if inline:
        given_in, values = _values(output.expected.values.ravel(), output.tensor.data_type)
        noted = {"dataType": given_in, "values": values}
    if (is_open := output.expected.open) is not None and is_open.any():
        noted["open"] = [int(i) for i in np.flatnonzero(is_open)]
    return noted


def _dispatchable(case: Case, memory: _Memory | None) -> dict[str, Any]:
    dispatchable = desc_to_json(case.desc)
    owned = [slot for slot in inputs(case.desc) if _is_owned(slot)]
    if owned and memory is not None:
        dispatchable["bindings"] = _bindings(owned)
    return dispatchable


def _is_owned(slot: Slot) -> bool:
    """Whether an input is bound when the operator is initialised, not when it is executed."""
    return not slot.field.is_output and bool(slot.tensor.flags & TensorFlag.OWNED_BY_DML)


def resource_name(slot: str) -> str:
    """The resource for a slot, and the beginning of its files' names: `InputTensor`, `InputTensors-2`."""
    return slot.replace("[", "-").removesuffix("]")


def _bindings(bound: Iterable[Slot]) -> dict[str, Any]:
    """What is bound to each field: a resource, or a list of them for an array of tensors."""
    bindings: dict[str, Any] = {}
    for slot in bound:
        if slot.field.kind is TENSORS:
            bindings.setdefault(slot.field.name, []).append(resource_name(slot.name))
        else:
            bindings[slot.field.name] = resource_name(slot.name)
    return bindings


def _commands(case: Case, memory: _Memory, *, inline: bool) -> list[dict[str, Any]]:
    bindings = _bindings(slot for slot in slots(case.desc) if not _is_owned(slot))
    commands: list[dict[str, Any]] = [{"type": "dispatch", "dispatchable": case.operator.lower(), "bindings": bindings}]
    for name in memory.outputs:
        commands.append({"type": "print", "resource": name})
        if not inline:
            commands.append({"type": "writeFile", "resource": name, "targetPath": f"{name}.{ACTUAL}.dat"})
    return commands


def _remarks(case: Case, memory: _Memory | None) -> Iterator[str]:
    if memory is None:
        if case.data is not None:
            yield "The case has data, but the specification does not say what comes of it, so nothing is executed here."
        return
    if case.rule in ("EXECUTION.output-bounds", "EXECUTION.inputs-unchanged"):
        yield (
            f"The case is about {case.rule}. DxDispatch binds whole buffers and looks neither at what is around them "
            "nor at the inputs afterwards, so a fault may stay unseen here."
        )
    if any(tensor.guaranteed_base_offset_alignment for _, _, tensor, _ in memory.initial()):
        yield "DxDispatch binds buffers from their first byte; the suite binds them at an offset aligned as guaranteed."
    if any(recipe.pattern == OVERLAPPING for recipe in (case.data or {}).values()):
        yield (
            "InputTensor and IndicesTensor have a buffer each here, in which the same bytes stand; the suite binds "
            "ranges of one buffer that overlap."
        )


def _readme(case: Case, record: Record | None, memory: _Memory | None, remarks: tuple[str, ...]) -> str:
    lines = [
        f"{case.operator} at feature level {case.level}",
        f"Case {case.digest}",
        "",
        "Run it with DxDispatch (github.com/microsoft/DirectML, DxDispatch) in this folder:",
        "",
        f"    dxdispatch {MODEL_FILE} --input_path . --output_path . --debug",
        "",
    ]
    lines += _what_to_see(case, memory)
    if case.rule:
        rule = rules()[case.rule]
        lines += ["", f"The rule {rule.id}: {rule.statement}", f"Source: {rule.source.url}"]
    if case.outcome is not Outcome.UNSPECIFIED and rule_ids(case):
        lines += ["Rules broken: " + ", ".join(rule_ids(case))]
    if record is not None:
        lines += ["", *_what_was_seen(record)]
    for remark in remarks:
        lines += ["", remark]
    content = case.to_json()
    text = msgspec.json.encode({key: content[key] for key in ("type", "desc", "level", "data", "rule")}).decode()
    lines += ["", "The case for dml-conformance replay:", "", text]
    return in_lines(lines) + "\n"


def rule_ids(case: Case) -> tuple[str, ...]:
    """Ids of the rules that a case breaks."""
    return case.broken if case.outcome is Outcome.REJECT else ()


def _what_to_see(case: Case, memory: _Memory | None) -> list[str]:
    if case.outcome is Outcome.REJECT:
        return ["The descriptor is invalid: creating or compiling the operator has to fail with E_INVALIDARG."]
    if case.outcome is Outcome.UNSPECIFIED:
        return ["The specification leaves open whether the descriptor is valid."]
    lines = ["The descriptor is valid: the operator has to be created and compiled without an error."]
    if memory is None:
        return lines
    for name, output in memory.outputs.items():
        actual, expected = f"{name}.{ACTUAL}.dat", f"{name}.{EXPECTED}.dat"
        lines += [
            f"Then {name} has to hold what {expected} holds, byte for byte. On Windows:",
            "",
            f"    fc /b {actual} {expected}",
            "",
            *_bytes_that_count(output.counts()),
            f"{name}.{EXPECTED}.npy has the same elements in the tensor's sizes.",
            f"{name}.{BEFORE}.npy, what the buffer holds before, differs from it in every bit of every element.",
        ]
    return lines


def _bytes_that_count(counts: npt.NDArray[np.bool_]) -> list[str]:
    """Which bytes of a buffer no rule fixes, as `fc /b` numbers them."""
    if counts.all():
        return [f"All {len(counts)} bytes count."]
    edges = np.flatnonzero(np.diff(np.concatenate(([True], counts, [True])).astype(np.int8)))
    stretches = [f"{start:08X}-{end - 1:08X}" for start, end in zip(edges[::2], edges[1::2], strict=True)]
    more = f" and {len(stretches) - SHOWN} more stretches" if len(stretches) > SHOWN else ""
    return [
        f"Of {len(counts)} bytes {int(counts.sum())} count. The others are padding, or elements that the",
        "specification leaves open; a difference there is none:",
        f"    {', '.join(stretches[:SHOWN])}{more}",
    ]


def _what_was_seen(record: Record) -> list[str]:
    lines = [f"What the suite saw: {record.verdict}. {record.reason}".rstrip()]
    shown = record.differences[:FEW_DIFFERENCES]
    for difference in shown:
        lines.append(f"    {difference_text(difference)}")
    if record.difference_count > len(shown):
        lines.append(f"    {record.difference_count} elements differ")
    return lines
