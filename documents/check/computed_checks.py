"""The worked examples against the operator itself: its rules, and the values that the reference computes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from typing import Any

import msgspec
import numpy.typing as npt

from dml_conformance.documents.check.example_checks import named, storable
from dml_conformance.documents.check.model import Remarks, remark
from dml_conformance.documents.check.subject import (
    DATA_TYPE,
    DIMENSION_COUNT,
    SIZES,
    PageSubject,
    Spot,
    WorkedExample,
    constant,
    integers,
)
from dml_conformance.documents.check.table_checks import is_data_type
from dml_conformance.documents.read.model import Value
from dml_conformance.documents.reference_run import Computed, run_example
from dml_conformance.spec.examples import Example, examples, flattened, nesting
from dml_conformance.spec.field_kinds import TENSORS
from dml_conformance.spec.forms import FormError, desc_from_json
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import Field, OperatorDesc, OperatorSpec, inputs, outputs, slots, with_tensors
from dml_conformance.spec.rules import Violation
from dml_conformance.spec.tensor import braces
from dml_conformance.spec.validator import Decision, Outcome, decide
from dml_conformance.strategies.edits import with_data_type
from dml_conformance.strategies.values import NUMPY_TYPE

_MOST_CELLS = 6  # mismatches that a finding names one by one
_MOST_BYTES = 2**24  # of a tensor whose example is computed
_LIST = re.compile(r"\{\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*\}")
_COUNT = re.compile(r"=\s*(\d{1,9})(?!\d)")

# Rules that the page's own statements are checked for elsewhere: (rule, what states it on the page).
_BY_TABLES = frozenset({"data-types", "dimension-counts"})
_BY_AGREEMENT = {"same-data-type": DATA_TYPE, "same-dimension-count": DIMENSION_COUNT}


def computed_remarks(subject: PageSubject) -> Remarks:
    """What the rules and the reference contradict of the examples of a known operator."""
    if subject.spec is None:
        return
    for example in subject.examples:
        fields = described(subject.spec, example)
        if fields is not None:
            yield from _of_example(subject, subject.spec, example, fields)
    yield from _impossible(subject)


def described(spec: OperatorSpec, example: WorkedExample) -> dict[str, Any] | None:
    """An example's fields in the form of `spec.forms`; None where one is not printed or cannot be read.

    Counts of arrays are left out: that they are the arrays' lengths is a check of its own.
    """
    fields: dict[str, Any] = {}
    for field in spec.fields:
        if field.is_tensor:
            tensors = [_tensor(example, name) for name in _labels(field, example)]
            if None in tensors or (not tensors and not field.optional):
                return None
            if tensors:
                fields[field.name] = tensors if field.kind is TENSORS else tensors[0]
            continue
        value = example.attributes.get(field.name)
        if value is None or value.value is None:
            return None
        fields[field.name] = constant(value.value)
    return fields


def _labels(field: Field, example: WorkedExample) -> list[str]:
    """The names that the tensors of a field stand under in an example: `InputTensors[0]` for one of an array."""
    if field.kind is not TENSORS:
        return [field.name] if field.name in example.tensors or not field.optional else []
    return list(takewhile(example.tensors.__contains__, (f"{field.name}[{place}]" for place in count())))


def _tensor(example: WorkedExample, name: str) -> dict[str, Any] | None:
    """A tensor of an example in the form of `spec.forms`; None where one of its parts is not printed."""
    data_type, sizes = example.data_types.get(name), example.sizes.get(name)
    if sizes is None or not is_data_type(data_type):
        return None
    strides = integers(example.tensors[name].properties.get("Strides"))
    more = {} if strides is None else {"Strides": list(strides)}
    return {"DataType": data_type, "Sizes": list(sizes), **more}


def _desc(spec: OperatorSpec, fields: Mapping[str, Any]) -> OperatorDesc:
    return desc_from_json({"type": spec.dml_name, "desc": dict(fields)})


def _of_example(subject: PageSubject, spec: OperatorSpec, example: WorkedExample, fields: dict[str, Any]) -> Remarks:
    """What is wrong with an example that prints every field."""
    try:
        decision = decide(_desc(spec, fields), HIGHEST)
    except FormError as error:
        path = error.where.removeprefix("desc.")
        yield remark("example-form", f"{example.number}/{path}", _spot(example, path), found=error.problem)
        return
    yield from _rules(subject, example, decision)
    desc = _executable(spec, example, fields)
    printed = {name: tensor.values for name, tensor in example.tensors.items() if tensor.values is not None}
    values = {name: elements.value for name, elements in printed.items() if isinstance(elements.value, list)}
    if desc is not None and _filled(values, desc):
        for name, result in run_example(Example(spec.name, "", fields, values), desc).items():
            yield from _value_remarks(spec, f"{example.number}/{name}", printed[name], result)


def _spot(example: WorkedExample, path: str) -> Spot:
    """Place and text of the value that a field's path names; of the tensor or the example where it names none."""
    name, _, part = path.partition(".")
    part = part.partition("[")[0]
    tensor = example.tensors.get(name)
    if tensor is not None:
        value = tensor.printed.get(part, tensor.sizes)
        return Spot(tensor.label.place, tensor.label.text) if value is None else named(f"{name}:", value)
    attribute = example.attributes.get(name.partition("[")[0])
    if attribute is not None:
        return named(name, attribute)
    return Spot(example.example.place, f"example {example.number}")


def _rules(subject: PageSubject, example: WorkedExample, decision: Decision) -> Remarks:
    """The rules that an example breaks, or that leave open whether it is valid, at the highest level."""
    # What the page states in a form that other checks hold the examples to.
    by_agreement = {agreement.property for agreement in subject.agreements}
    stated = {rule for rule, prop in _BY_AGREEMENT.items() if prop in by_agreement}
    stated |= _BY_TABLES if subject.table_at else set()
    for violation in decision.violations:
        rule, found = violation.rule, f"{violation.where}: {violation.found}"
        name, spot = rule.id.partition(".")[2], _spot(example, violation.where)
        if decision.outcome is Outcome.UNSPECIFIED:
            yield remark("example-open", f"{example.number}/{name}", spot, found=found, rule=rule)
        elif decision.outcome is Outcome.REJECT and name not in stated:
            remedy = rule.remedy or "a valid descriptor"
            yield remark("example-rule", f"{example.number}/{name}", spot, found=found, expected=remedy, rule=rule)


def _value_remarks(spec: OperatorSpec, where: str, printed: Value, result: Computed) -> Remarks:
    """Where a printed output is not what is computed."""
    wanted = result.printed(printed.value)
    cells = result.differing(wanted)
    if spec.index is not None and result.open is not None:
        found = "an index of the example is out of range, or two are for one place, so elements of the output are open"
        expected, why = "indices in range, each once", "what comes of others is not specified"
        yield remark("example-values", where, printed, found=found, expected=expected, why=why)
    elif cells:
        name = where.partition("/")[2]
        found, expected = (_cells_text(name, cells, values) for values in (wanted, result.elements))
        why = f"{spec.pseudocode}, computed from the inputs of the example"
        yield remark("example-values", where, printed, found=found, expected=expected, why=why)


def _cells_text(name: str, cells: list[tuple[int, ...]], values: npt.NDArray[Any]) -> str:
    """`OutputTensor[0,1] = 8, ...`: the values at the cells that differ."""
    named = [f"{name}[{','.join(map(str, cell))}] = {values[cell].item():g}" for cell in cells[:_MOST_CELLS]]
    more = len(cells) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _executable(spec: OperatorSpec, example: WorkedExample, fields: dict[str, Any]) -> OperatorDesc | None:
    """The example as a descriptor that can be executed, what is wrong with it put right where that is plain.

    An output of another data type than the data gets theirs; what the errata correct on the example of this number is
    corrected. None where it is still no valid descriptor.
    """
    known = examples().get(f"{spec.name}/{example.number}")
    corrections = {} if known is None else {n: v for n, v in known.corrections.items() if "." not in n}
    as_printed, corrected = _desc(spec, fields), _desc(spec, {**fields, **corrections})
    attempts = (as_printed, _typed(spec, as_printed), _typed(spec, corrected))
    return next((desc for desc in attempts if decide(desc, HIGHEST).outcome is Outcome.ACCEPT), None)


def _typed(spec: OperatorSpec, desc: OperatorDesc) -> OperatorDesc:
    """A descriptor whose outputs have the data type of the first input that they must agree with."""
    types = {spec.group(slot.field): slot.tensor.data_type for slot in reversed(inputs(desc))}
    for slot in outputs(desc):
        desc = with_data_type(desc, slot.key, types.get(spec.group(slot.field), slot.tensor.data_type))
    return desc


def _filled(values: Mapping[str, Any], desc: OperatorDesc) -> bool:
    """Whether every tensor is printed with as many storable elements as it has: so big is what is computed, too.

    Strides may still spread them over any amount of memory; that is bounded here.
    """
    return all(
        slot.tensor.data_type in NUMPY_TYPE
        and nesting(values.get(slot.name)) == slot.tensor.sizes
        and slot.tensor.total_tensor_size_in_bytes <= _MOST_BYTES
        and all(storable(value, slot.tensor.data_type) for value in flattened(values[slot.name]))
        for slot in slots(desc)
    )


def _impossible(subject: PageSubject) -> Remarks:
    """Sizes in illustrations that could not be those of a tensor.

    An illustration shows on a tensor's sizes which dimensions a count selects: `IndicesTensor.Sizes` {1,1,4,6} of which
    {1,4,6} count.
    """
    known = next((example for example in examples().values() if example.operator == subject.page.operator), None)
    for member in subject.page.members if known is not None else ():
        field, text = subject.fields.get(member.name.english), " ".join(quoted.english for quoted in member.text)
        lists, counts = _LIST.findall(text), _COUNT.findall(text)
        tensors = [m.field for m in subject.mentions(text) if m.field in subject.tensors and m.property == SIZES]
        is_count = field is not None and not field.is_tensor and not field.is_array
        if known is None or not is_count or len(lists) != 2 or len(counts) != 1 or not tensors:
            continue
        at = next((quoted for quoted in member.text if _LIST.search(quoted.english)), member.text[0])
        tensor, sizes = tensors[0], tuple(map(int, lists[0].split(",")))
        for violation in impossible_sizes(known.with_types(), tensor, sizes):
            about = f"{member.name.english}/{violation.rule.id.partition('.')[2]}"
            yield remark("figure-impossible", about, at, tensor=tensor, sizes=braces(sizes), violation=violation)


def impossible_sizes(desc: OperatorDesc, tensor: str, sizes: tuple[int, ...]) -> Iterator[Violation]:
    """Why no tensor of an operator can have these sizes, whatever the others have: all ones, in `desc`."""
    changed = {}
    for slot in slots(desc):
        new = sizes if slot.field.name == tensor else (1,) * len(sizes)
        changed[slot.key] = msgspec.structs.replace(slot.tensor, sizes=new, strides=None)
    for violation in decide(with_tensors(desc, changed), HIGHEST).violations:
        if violation.where.startswith(f"{tensor}.Sizes[") and violation.rule.erratum is None:
            yield violation
