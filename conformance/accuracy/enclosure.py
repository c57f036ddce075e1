"""What a right implementation may give of a person's own arrays, and the tolerances that follow from that.

The bounds are those that backends are judged by: `backends.reference.expected_output` computes them from the
descriptor and the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dml_conformance.backends.base import Binding, Bindings
from dml_conformance.backends.reference import ReferenceBackend, expected_output
from dml_conformance.backends.reference.floats import quiet
from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, bits, put
from dml_conformance.conformance.judge.compare import right, shown, wanted_text
from dml_conformance.conformance.judge.memory import allowed_elements
from dml_conformance.spec.accuracy import DIRECTML, TOLERANCES, Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.errors import closest
from dml_conformance.spec.expectation import Bits, Expectation, Mask, in_order, nans
from dml_conformance.spec.forms import FormError, desc_from_json
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.model_files import parse_document
from dml_conformance.spec.operator import Field, Misfit, OperatorDesc, Role, outputs, with_tensors
from dml_conformance.spec.operator import inputs as input_slots
from dml_conformance.spec.registry import spec_of
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import decide
from dml_conformance.strategies.values import buffer_size

Array = npt.NDArray[Any]

LEAST_COST = 0.01  # of a width, that a step is told from
SHOWN_PLACES = 3  # of a broken rule
MOST_EDGES = 64  # of a convex hull that are tried; the search halves it, and any edge gives tolerances that hold
_TYPES = {dtype: data_type for data_type, dtype in NUMBERS.items() if not data_type.shares_bytes}


class Tolerances(NamedTuple):
    """Tolerances by which every right result passes, as `numpy.testing.assert_allclose` compares it with the value.

    Attributes:
        rtol: the smallest one beside an `atol` of 0; infinite where none will do.
        atol: the smallest one beside an `rtol` of 0; infinite where none will do.
        both: an `rtol` and an `atol` for use together: of all such pairs the one that allows least on average.
        ulp: how many numbers of the type a right result may be away, as `numpy.testing.assert_array_max_ulp` counts.
    """

    rtol: float
    atol: float
    both: tuple[float, float]
    ulp: int


@dataclass(frozen=True, eq=False, repr=False)
class OutputEnclosure:
    """What a right implementation may give of one output.

    Attributes:
        name: DirectML's name of the tensor.
        data_type: of its elements.
        expected: what is right of each of them.
        allowed: the elements of an input's memory where any of them is right; None where that is nowhere.
    """

    name: str
    data_type: DataType
    expected: Expectation
    allowed: Bits | None = None

    def __repr__(self) -> str:
        rtol, atol, both, ulp = self.tolerances
        what = f"{self.name}, {self.data_type.name} of shape {self.value.shape}"
        return f"<{what}: rtol {rtol}, or atol {atol}, or rtol {both[0]} with atol {both[1]}, or {ulp} ULP>"

    @property
    def value(self) -> Array:
        """A right value of each element; of a result of arithmetic the number nearest to the exact one."""
        return self.expected.values.view(NUMBERS[self.data_type])

    @property
    def low(self) -> Array:
        """The least right value of each element: `value` where bits are exact, NaN where only NaN is right."""
        return self._ends[0]

    @property
    def high(self) -> Array:
        """The greatest right value of each element."""
        return self._ends[1]

    @property
    def nan(self) -> Mask:
        """Where NaN is right, alone or besides numbers."""
        within = self.expected.within
        found = nans(self.expected.values, self.data_type)
        return found if within is None or within.nan is None else found | (within.nan & self._has_interval)

    @property
    def free(self) -> Mask:
        """Where anything is right, as the specification leaves it open."""
        return self._mask(self.expected.free)

    @property
    def from_memory(self) -> Mask:
        """Where any element of an input's memory is right, as where an index is out of range."""
        return self._mask(self.expected.one_of)

    @cached_property
    @quiet
    def tolerances(self) -> Tolerances:
        """The tolerances that hold for all elements but those that are `free` or `from_memory`."""
        where = self._is_rounded & (self._reach > 0)
        is_open = self._is_rounded & self.nan
        if not (where | is_open).any():
            return Tolerances(0.0, 0.0, (0.0, 0.0), 0)
        integers = np.int64 if self.data_type.size < 8 else object
        low, middle, high = (
            in_order(part[where].view(UNSIGNED[self.data_type.size]), self.data_type).astype(integers)
            for part in (self.low, self.value, self.high)
        )
        ulp = int(np.maximum(middle - low, high - middle).max(initial=0))
        size, away = np.abs(self.value[where].astype(np.float64)), self._reach[where]
        if is_open.any() or not np.isfinite(away).all():
            return Tolerances(np.inf, np.inf, (np.inf, np.inf), ulp)
        number = NUMBERS[self.data_type].type if self.data_type.is_float else np.float64
        rtol = _rounded_up(float((away / size).max()), number, lambda rtol: bool((rtol * size >= away).all()))
        atol = _rounded_up(float(away.max()), number, float(away.max()).__le__)
        return Tolerances(rtol, atol, _least_pair(size, away, number), ulp)

    def is_right(self, got: Any) -> Mask:
        """Which elements of an array are right.

        Raises:
            FormError: it has not the output's shape or type.
        """
        found = _checked(self.name, got, self.data_type, self.value.shape)
        return right(found, self.expected, self.data_type, self.allowed)

    def check(self, got: Any) -> None:
        """Hold an array against what is right.

        Raises:
            AssertionError: an element is wrong; the message says how many are, and which one is the worst.
            FormError: it has not the output's shape or type.
        """
        wrong = ~self.is_right(got)
        if not wrong.any():
            return
        found = _checked(self.name, got, self.data_type, self.value.shape)
        place = np.unravel_index([self._worst(found, wrong)], wrong.shape)
        ((number, pattern),) = shown(found[place], self.data_type)
        ((wanted, wanted_pattern),) = wanted_text(self.expected, place, self.data_type)
        if number == wanted:  # the sign of a zero and the payload of a NaN count where bits are exact
            number, wanted = f"{number} ({pattern})", f"{wanted} ({wanted_pattern})"
        at = ", ".join(str(int(along)) for (along,) in place)
        raise AssertionError(
            f"{self.name}: {int(wrong.sum()):,} of {wrong.size:,} elements are wrong; the worst one, at [{at}], is "
            f"{number}, and right is {wanted}"
        )

    @quiet
    def widest(self, count: int) -> list[tuple[int, ...]]:
        """The coordinates of at most so many elements, those first whose right values are the most units in the last
        place apart."""
        units = np.where(self._is_rounded, self._reach / self._unit, 0.0)
        places = np.argsort(-units, axis=None, kind="stable")[:count]
        places = places[units.flat[places] > 0]
        return [tuple(map(int, at)) for at in np.stack(np.unravel_index(places, units.shape), -1)]

    @quiet
    def width(self, at: tuple[int, ...]) -> float:
        """How far apart the least and the greatest right value of an element are."""
        return float(self.high[at].astype(np.float64) - self.low[at])

    @quiet
    def _worst(self, found: Bits, wrong: Mask) -> int:
        """The place of the wrong element that is farthest outside, in widths of what is right there, or in units in
        the last place where that is less than one."""
        number = found.view(NUMBERS[self.data_type]).astype(np.float64)
        low, high = (part.astype(np.float64) for part in (self.low, self.high))
        outside = np.maximum(low - number, number - high) / np.maximum(high - low, self._unit)
        return int(np.where(wrong, np.nan_to_num(outside, nan=np.inf), -np.inf).argmax())

    def _mask(self, mask: Mask | None) -> Mask:
        return np.zeros(self.expected.values.shape, np.bool_) if mask is None else mask

    @cached_property
    def _has_interval(self) -> Mask:
        return self._mask(self.expected.intervals)

    @cached_property
    def _is_rounded(self) -> Mask:
        """Where numbers of an interval are right."""
        return np.asarray(self._has_interval & ~self.free & ~self.from_memory & ~np.isnan(self.low))

    @cached_property
    @quiet
    def _ends(self) -> tuple[Array, Array]:
        number, within = NUMBERS[self.data_type], self.expected.within
        low, high = self.value, self.value
        if within is not None:
            low = np.where(self._has_interval, within.low.view(number), low)
            high = np.where(self._has_interval, within.high.view(number), high)
            if self.data_type.is_float:
                is_empty = in_order(within.low, self.data_type) > in_order(within.high, self.data_type)
                low, high = (np.where(self._has_interval & is_empty, number.type(np.nan), end) for end in (low, high))
        if self.allowed is not None:
            least, most = _extremes(self.allowed[~nans(self.allowed, self.data_type)], self.data_type)
            low, high = np.where(self.from_memory, least, low), np.where(self.from_memory, most, high)
        least, most = self.data_type.limits or (-np.inf, np.inf)
        return np.where(self.free, number.type(least), low), np.where(self.free, number.type(most), high)

    @cached_property
    @quiet
    def _reach(self) -> npt.NDArray[np.float64]:
        """How far right values are from `value`."""
        low, value, high = (part.astype(np.float64) for part in (self.low, self.value, self.high))
        return np.maximum(np.where(high == value, 0.0, high - value), np.where(low == value, 0.0, value - low))

    @cached_property
    @quiet
    def _unit(self) -> npt.NDArray[np.float64]:
        """Units in the last place."""
        if not self.data_type.is_float:
            return np.ones(self.value.shape)
        return np.spacing(np.abs(self.value)).astype(np.float64)


def enclosure(
    desc: OperatorDesc | Mapping[str, Any] | str,
    inputs: Mapping[str, Any],
    *,
    accuracy: str = DIRECTML.name,
    level: Level | str = HIGHEST,
) -> dict[str, OutputEnclosure]:
    """What a right implementation of an operator may give of these arrays.

    Args:
        desc: the descriptor, or JSON of it, parsed or as text. An input tensor that it leaves out is packed and has
            type and shape of its array; an output tensor has the first input's type and the sizes that follow.
        inputs: the arrays by DirectML's names of the tensors, `ATensor` or `InputTensors[1]`, in logical shape;
            elements of 4 bits as those of 8.
        accuracy: name of the tolerance whose bounds hold, `directml` or `precise`.
        level: the feature level by whose rules the descriptor has to be valid.

    Returns:
        An `OutputEnclosure` for each output, by DirectML's name of the tensor.

    Raises:
        FormError: the descriptor is none, or not valid; then the message names the rule that is broken. Or an array is
            missing, or has another shape or type than its tensor; then the message names the field.
    """
    if accuracy not in TOLERANCES:
        raise FormError("accuracy", f"expected {' or '.join(TOLERANCES)}, found {accuracy!r}")
    if not isinstance(desc, OperatorDesc):
        form = parse_document(desc.encode(), "descriptor") if isinstance(desc, str) else desc
        desc = desc_from_json(dict(form) if isinstance(form, Mapping) else form)
    arrays = {name: _array(name, given) for name, given in inputs.items()}
    desc = completed(desc, arrays, level if isinstance(level, Level) else Level.parse(level))
    for slot in input_slots(desc):
        if slot.name not in arrays:
            wanted = f"{NUMBERS[slot.tensor.data_type].name} of shape {slot.tensor.sizes}"
            raise FormError(slot.name, f"missing; expected an array, {wanted}")
    return output_enclosures(desc, bindings_of(desc, arrays), TOLERANCES[accuracy])


def completed(desc: OperatorDesc, arrays: Mapping[str, Array], level: Level) -> OperatorDesc:
    """A valid descriptor, with the tensors that are left out, as far as they follow from arrays, by name, and the rest.

    Raises:
        FormError: a tensor is needed and does not follow, there is no such input, or the descriptor breaks a rule of
            the level.
    """
    missing = [field for field in desc.fields if field.is_tensor and getattr(desc, field.attribute) is None]
    known = [slot.name for slot in input_slots(desc)] + [f.name for f in missing if f.role is Role.INPUT]
    for name in arrays:
        if name not in known:
            close = closest(name, known)
            hint = f"did you mean {close}?" if close else f"it has {', '.join(known) or 'none'}"
            if not close and name.endswith("]"):
                hint = f"state the tensors of {name.partition('[')[0]} in the descriptor"
            raise FormError(name, f"{desc.operator} has no such input tensor; {hint}")
    for field in missing:
        if field.name in arrays:
            desc = with_tensors(desc, {field.attribute: _tensor_of(field, arrays[field.name])})
        elif field.role is Role.INPUT and not field.optional:
            raise FormError(field.name, f"missing; {desc.operator} needs an array for it")
    written = [field for field in missing if field.is_output and not field.optional]
    if written and input_slots(desc):
        desc = _with_outputs(desc, written)
    _require_valid(desc, level, [field.name for field in written])
    return desc


def _tensor_of(field: Field, array: Array) -> TensorDesc:
    if array.dtype not in _TYPES:
        known = ", ".join(dtype.name for dtype in _TYPES)
        raise FormError(field.name, f"expected an array of one of the types {known}; found {array.dtype}")
    return TensorDesc.of(_TYPES[array.dtype], array.shape)


def _with_outputs(desc: OperatorDesc, fields: list[Field]) -> OperatorDesc:
    """With output tensors of the first input's type and the sizes that follow from the other fields."""
    first = input_slots(desc)[0].tensor
    found = []
    for placed in ((*first.sizes, 1), first.sizes):  # what follows is the same whatever stands there before
        placeholder = TensorDesc.of(first.data_type, placed)
        desc = with_tensors(desc, {field.attribute: placeholder for field in fields})
        found.append(spec_of(desc).shapes(desc))
    other, sizes = found
    for field in fields:
        if isinstance(sizes, Misfit) and not sizes.where.startswith(field.name):
            continue  # of other fields, which break a rule
        if isinstance(sizes, Misfit) or sizes != other:
            raise FormError(field.name, f"missing; {desc.operator} needs it, as its sizes do not follow from the rest")
        desc = with_tensors(desc, {field.attribute: TensorDesc.of(first.data_type, sizes[field.attribute])})
    return desc


def _require_valid(desc: OperatorDesc, level: Level, assumed: Sequence[str]) -> None:
    """Raises FormError where a descriptor breaks a rule, or where the pages leave it open and nothing follows.

    Args:
        desc: the descriptor.
        level: whose rules these are.
        assumed: names of tensors whose type nobody stated.
    """
    if ReferenceBackend().validate(desc, level).accepted:
        return
    decision = decide(desc, level)
    broken = [violation for violation in decision.violations if violation.rule.id == decision.rules[0]]
    rule = broken[0].rule
    places = [f"{violation.where}: {violation.found}".removeprefix(": ") for violation in broken[:SHOWN_PLACES]]
    if len(broken) > SHOWN_PLACES:
        places.append(f"and {len(broken) - SHOWN_PLACES} more places")
    told = [f"breaks {rule.id} ({rule.statement}): {'; '.join(places)}", rule.remedy]
    told += [
        f"{name} is left out, and so has the first input's type: state it in the descriptor"
        for name in assumed
        if any(violation.where == f"{name}.DataType" for violation in broken)
    ]
    told += [f"also broken: {', '.join(decision.rules[1:])}"] if decision.rules[1:] else []
    raise FormError(f"{desc.operator} at {level}", "; ".join(filter(None, told)))


def bindings_of(desc: OperatorDesc, arrays: Mapping[str, Array]) -> dict[str, Binding]:
    """The memory of those input tensors, by slot, of which there are arrays, by name.

    Raises:
        FormError: an array has another shape or type than its tensor, or values that do not fit.
    """
    found = {}
    for slot in input_slots(desc):
        if slot.name not in arrays:
            continue
        tensor, size = slot.tensor, buffer_size(slot.tensor)
        elements = _checked(slot.name, arrays[slot.name], tensor.data_type, tensor.sizes)
        found[slot.key] = Binding(np.zeros(size, np.uint8), 0, size)
        put(found[slot.key], tensor, elements)
        if not np.array_equal(bits(found[slot.key], tensor), elements):
            reason = "elements of 4 bits" if tensor.data_type.shares_bytes else "Strides by which elements share memory"
            raise FormError(slot.name, f"has values that do not fit its tensor, which has {reason}")
    return found


def output_enclosures(desc: OperatorDesc, bindings: Bindings, tolerance: Tolerance) -> dict[str, OutputEnclosure]:
    """What is right of the outputs of a valid descriptor, by name; `bindings` are those of its inputs, by slot."""
    expected = expected_output(desc, bindings, tolerance)
    return {
        slot.name: OutputEnclosure(
            slot.name, slot.tensor.data_type, found := expected[slot.key], allowed_elements(found, desc, bindings)
        )
        for slot in outputs(desc)
    }


class StepCost(NamedTuple):
    """What a step of an operator's formula costs of the width that an element's right values have.

    Attributes:
        primitive: the step, a name of `spec.primitives`.
        part: by how much of it the width would be less if the step lost nothing, wherever it is in the formula. What
            several steps save together need not be the sum.
    """

    primitive: str
    part: float


def step_costs(
    desc: OperatorDesc, bindings: Bindings, tolerance: Tolerance, found: Mapping[str, OutputEnclosure]
) -> dict[str, list[StepCost]]:
    """By output the steps that cost a hundredth or more where right values are farthest apart, the dearest first.

    Each step is one more evaluation.

    Args:
        desc: the descriptor.
        bindings: of its inputs, by slot.
        tolerance: whose bounds the enclosures have.
        found: the enclosures.
    """
    places = {name: output.widest(1)[0] for name, output in found.items() if output.widest(1)}
    widths = {name: found[name].width(at) for name, at in places.items()}
    costs: dict[str, list[StepCost]] = {name: [] for name in found}
    for primitive in _primitives(desc) if any(map(np.isfinite, widths.values())) else ():
        without = output_enclosures(desc, bindings, replace(tolerance, lossless=frozenset([primitive])))
        for name, at in places.items():
            part = 1.0 - without[name].width(at) / widths[name] if np.isfinite(widths[name]) else 0.0
            if part >= LEAST_COST:
                costs[name].append(StepCost(primitive, part))
    return {name: sorted(each, key=lambda cost: -cost.part) for name, each in costs.items()}


def _primitives(desc: OperatorDesc) -> Sequence[str]:
    """Those of an operator and of the operators that its descriptor holds, each once."""
    held = [getattr(desc, field.attribute) for field in desc.fields]
    nested = [each for value in held for each in (value if isinstance(value, tuple) else (value,))]
    every = [desc, *(each for each in nested if isinstance(each, OperatorDesc))]
    return list(dict.fromkeys(name for each in every for name in spec_of(each).primitives))


def _array(name: str, given: Any) -> Array:
    try:
        found = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # as torch does of a tensor on a device
        raise FormError(name, f"expected an array of NumPy's, found {type(given).__name__}: {error}") from None
    return found.astype(found.dtype.newbyteorder("<"), copy=False)


def _checked(name: str, given: Any, data_type: DataType, sizes: tuple[int, ...]) -> Bits:
    """The bits of an array of this type and shape."""
    array, number = _array(name, given), NUMBERS[data_type]
    if (array.dtype, array.shape) != (number, sizes):
        raise FormError(
            name, f"expected {number.name} of shape {sizes}, found {array.dtype.name} of shape {array.shape}"
        )
    return np.ascontiguousarray(array).view(UNSIGNED[data_type.size])


def _extremes(elements: Bits, data_type: DataType) -> tuple[Any, Any]:
    """The least and the greatest of some numbers; NaN where there is none."""
    numbers = elements.view(NUMBERS[data_type])
    if not numbers.size:
        return numbers.dtype.type(np.nan), numbers.dtype.type(np.nan)
    return numbers.min(), numbers.max()


def _rounded_up(tolerance: float, number: Any, holds: Callable[[float], bool]) -> float:
    """The least number of a type that holds, as comparisons made in that type round theirs; it is near `tolerance`."""
    found = number(tolerance)
    if not np.isfinite(found):
        return float(np.nextafter(tolerance, np.inf))
    return float(found if holds(float(found)) else np.nextafter(found, number(np.inf)))


def _least_pair(size: Array, away: Array, number: Any) -> tuple[float, float]:
    """Of all pairs of rtol and atol with away <= atol + rtol * size the one by which the mean on the right is least.

    It is the edge of the points' upper convex hull that lies above their mean size. `number` is the type that
    comparisons are made in, whose roundings it allows for.
    """
    x, y, mean = np.append(size, 0.0), np.append(away, 0.0), size.mean()
    start, end = x.size - 1, int(x.argmax())
    for _ in range(MOST_EDGES):
        slope = max(0.0, (y[end] - y[start]) / (x[end] - x[start])) if x[start] < x[end] else 0.0
        above = y - slope * x
        highest = int(above.argmax())
        if above[highest] <= max(above[start], above[end]):
            break
        start, end = (highest, end) if x[highest] <= mean else (start, highest)
    of = np.finfo(number)
    lost = 1.0 + 4.0 * float(of.eps)
    rtol, atol = slope * lost, (float(above.max()) + float(of.smallest_subnormal)) * lost
    return _rounded_up(rtol, number, rtol.__le__), _rounded_up(atol, number, atol.__le__)
