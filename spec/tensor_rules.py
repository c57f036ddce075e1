"""The rules that hold for every tensor of every operator (`TENSOR.*`), every descriptor and every execution.

Order matters only for reading: what a rule needs to make sense is in its `needs`.
"""

from __future__ import annotations

from dml_conformance.spec.datatypes import ELEMENT_BITS, DataType, TensorFlag, TensorType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import ACCEPTANCE, CLAIMS, Breach, Category, Rule
from dml_conformance.spec.sources import (
    BARRIERS_GUIDE,
    BUFFER_BINDING,
    BUFFER_TENSOR_DESC,
    CREATE_OPERATOR,
    HELPERS,
    STRIDES_GUIDE,
    TENSOR_DATA_TYPE,
    TENSOR_DESC,
    TENSOR_FLAGS,
    Source,
)
from dml_conformance.spec.tensor import (
    MAX_ELEMENTS,
    TensorDesc,
    elements_overlap,
    implied_size_in_bytes,
    product,
    span_in_elements,
)

MAX_DIMENSIONS_BEFORE_3_0 = 5
MAX_DIMENSIONS = 8
KNOWN_FLAGS = TensorFlag.OWNED_BY_DML
_L3_0 = Level.L3_0


def max_dimension_count(level: Level) -> int:
    """`DML_TENSOR_DIMENSION_COUNT_MAX` below 3_0, `DML_TENSOR_DIMENSION_COUNT_MAX1` from there on."""
    return MAX_DIMENSIONS if level >= _L3_0 else MAX_DIMENSIONS_BEFORE_3_0


def _type(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    if tensor.type == TensorType.BUFFER:
        return None
    return Breach("Type", tensor.type.name)


def _data_type(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    return Breach("DataType", "UNKNOWN") if tensor.data_type == DataType.UNKNOWN else None


def _flags(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    unknown = tensor.flags & ~KNOWN_FLAGS
    return Breach("Flags", f"unknown bits {unknown:#x}") if unknown else None


def _owned_by_dml(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    if is_output and tensor.flags & TensorFlag.OWNED_BY_DML:
        return Breach("Flags", "OWNED_BY_DML on an output")
    return None


def _dimension_count(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    count, most = len(tensor.sizes), max_dimension_count(level)
    return None if 1 <= count <= most else Breach("DimensionCount", f"{count}, outside 1 to {most}")


def _sizes(tensor: TensorDesc, is_output: bool, level: Level) -> list[Breach] | None:
    if 0 not in tensor.sizes:
        return None
    return [Breach(f"Sizes[{d}]", "0") for d, size in enumerate(tensor.sizes) if size == 0]


def _element_count(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    count = tensor.element_count
    return None if count <= MAX_ELEMENTS else Breach("Sizes", f"{count} elements")


def _output_overlap(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    if not is_output or tensor.strides is None:
        return None
    overlap = elements_overlap(tensor.sizes, tensor.strides)
    if overlap is False:
        return None
    return Breach("Strides", "elements share memory" if overlap else "cannot be told whether elements share memory")


def _total_size(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    implied = implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    total = tensor.total_tensor_size_in_bytes
    return None if total >= implied else Breach("TotalTensorSizeInBytes", f"{total}, the elements need {implied}")


def _total_size_rounding(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    implied = implied_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
    minimum = (implied + 3) & ~3
    total = tensor.total_tensor_size_in_bytes
    if total >= minimum:
        return None
    return Breach("TotalTensorSizeInBytes", f"{total}, {implied} rounded up to a multiple of 4 is {minimum}")


def _alignment_power_of_two(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    alignment = tensor.guaranteed_base_offset_alignment
    return Breach("GuaranteedBaseOffsetAlignment", str(alignment)) if alignment & (alignment - 1) else None


def _alignment_element_size(tensor: TensorDesc, is_output: bool, level: Level) -> Breach | None:
    alignment, size = tensor.guaranteed_base_offset_alignment, tensor.data_type.size
    if alignment == 0 or alignment >= size:
        return None
    return Breach("GuaranteedBaseOffsetAlignment", f"{alignment}, an element has {size} bytes")


def _needs(*names: str) -> frozenset[str]:
    return frozenset(f"TENSOR.{name}" for name in names)


_MEASURABLE = ("type", "data-type", "dimension-count", "sizes")

TENSOR_RULES: tuple[Rule, ...] = (
    Rule(
        "TENSOR.type",
        Category.TENSOR_DESC,
        "a tensor is of type BUFFER, the only valid DML_TENSOR_TYPE",
        Source(TENSOR_DESC, "Type"),
        "set Type to DML_TENSOR_TYPE_BUFFER, or leave it out",
        check=_type,
    ),
    Rule(
        "TENSOR.data-type",
        Category.TENSOR_DESC,
        "the data type is never UNKNOWN",
        Source(TENSOR_DATA_TYPE),
        "name the type of the elements",
        check=_data_type,
        needs=_needs("type"),
    ),
    Rule(
        "TENSOR.flags",
        Category.TENSOR_DESC,
        "Flags is NONE or OWNED_BY_DML; no other bit is defined",
        Source(TENSOR_FLAGS),
        "clear the undefined bits",
        check=_flags,
        needs=_needs("type"),
    ),
    Rule(
        "TENSOR.owned-by-dml",
        Category.TENSOR_DESC,
        "OWNED_BY_DML is for input tensors only",
        Source(TENSOR_FLAGS, "DML_TENSOR_FLAG_OWNED_BY_DML"),
        "clear OWNED_BY_DML on the output",
        check=_owned_by_dml,
        needs=_needs("type"),
    ),
    Rule(
        "TENSOR.dimension-count",
        Category.TENSOR_DESC,
        "a tensor has 1 to 5 dimensions below level 3_0, 1 to 8 from 3_0 on",
        Source("directml-constants", "DML_TENSOR_DIMENSION_COUNT_MAX, DML_TENSOR_DIMENSION_COUNT_MAX1"),
        "merge dimensions, or drop leading ones of size 1",
        check=_dimension_count,
        needs=_needs("type"),
    ),
    Rule(
        "TENSOR.sizes",
        Category.TENSOR_DESC,
        "no size is 0",
        Source(BUFFER_TENSOR_DESC, "Sizes"),
        "give every dimension at least one element",
        check=_sizes,
        needs=_needs("type"),
    ),
    Rule(
        "TENSOR.element-count",
        Category.TENSOR_DESC,
        "a tensor has at most 2^32 - 1 elements",
        Source(BUFFER_TENSOR_DESC, "TotalTensorSizeInBytes"),
        "split the tensor",
        check=_element_count,
        needs=_needs("type", "dimension-count", "sizes"),
    ),
    Rule(
        "TENSOR.output-overlap",
        Category.MEMORY_LAYOUT,
        "no page says whether elements of an output may share memory (stride 0 over a size above 1, or overlapping)",
        Source(STRIDES_GUIDE),
        "give every output element its own memory",
        check=_output_overlap,
        needs=_needs("type", "dimension-count", "sizes"),
        erratum="TENSOR-1",
    ),
    Rule(
        "TENSOR.total-size",
        Category.MEMORY_LAYOUT,
        "TotalTensorSizeInBytes covers the last element: (sum((Sizes[d] - 1) * Strides[d]) + 1) * element size",
        Source(BUFFER_TENSOR_DESC, "TotalTensorSizeInBytes"),
        "raise TotalTensorSizeInBytes, or leave it out to have it computed",
        check=_total_size,
        needs=_needs(*_MEASURABLE, "element-count"),
        settles=("TENSOR-3", "TENSOR-4"),
    ),
    Rule(
        "TENSOR.total-size-rounding",
        Category.MEMORY_LAYOUT,
        "the least TotalTensorSizeInBytes is the size of the elements rounded up to a multiple of 4",
        Source(HELPERS, "DMLCalcBufferTensorSize"),
        "round TotalTensorSizeInBytes up to a multiple of 4",
        check=_total_size_rounding,
        needs=_needs(*_MEASURABLE, "element-count", "total-size"),
    ),
    Rule(
        "TENSOR.alignment-power-of-two",
        Category.MEMORY_LAYOUT,
        "GuaranteedBaseOffsetAlignment is 0 or a power of two",
        Source(BUFFER_TENSOR_DESC, "GuaranteedBaseOffsetAlignment"),
        "use a power of two of at least 16, or 0 for no promise",
        check=_alignment_power_of_two,
        needs=_needs("type"),
    ),
    Rule(
        "TENSOR.alignment-element-size",
        Category.MEMORY_LAYOUT,
        "a GuaranteedBaseOffsetAlignment that is not 0 is at least the element size",
        Source(BUFFER_TENSOR_DESC, "GuaranteedBaseOffsetAlignment"),
        "use a power of two of at least 16, or 0 for no promise",
        check=_alignment_element_size,
        needs=_needs("type", "data-type", "alignment-power-of-two"),
    ),
)

_BUFFER, _UNKNOWN, _OWNED_BY_DML = TensorType.BUFFER, DataType.UNKNOWN, TensorFlag.OWNED_BY_DML


def is_sound(tensor: TensorDesc, is_output: bool, level: Level) -> bool:
    """Whether a tensor keeps every rule of `TENSOR_RULES`; the same as asking them one by one, but faster.

    Nearly every tensor is sound, and then nobody wants to know more. The rules are what counts: this function says
    nothing of its own, and a test holds it to them.
    """
    sizes, strides, flags = tensor.sizes, tensor.strides, tensor.flags
    if tensor.type != _BUFFER or tensor.data_type == _UNKNOWN:
        return False
    if flags and (is_output or flags != _OWNED_BY_DML):
        return False
    if not 1 <= len(sizes) <= max_dimension_count(level) or 0 in sizes:
        return False
    span = count = product(sizes)
    if count > MAX_ELEMENTS:
        return False
    if strides is not None:
        if is_output and elements_overlap(sizes, strides) is not False:
            return False
        span = span_in_elements(sizes, strides)
    bits, alignment = ELEMENT_BITS[tensor.data_type], tensor.guaranteed_base_offset_alignment
    if tensor.total_tensor_size_in_bytes < ((span * bits + 7 >> 3) + 3) & ~3:
        return False
    return alignment == 0 or (alignment & (alignment - 1) == 0 and alignment >= bits >> 3)


DESCRIPTOR_RULES: tuple[Rule, ...] = (
    Rule(
        ACCEPTANCE,
        Category.ACCEPTANCE,
        "an operator is created from a descriptor that breaks no rule",
        Source(CREATE_OPERATOR),
    ),
    Rule(
        CLAIMS,
        Category.ACCEPTANCE,
        "what a backend's own claims cover is answered: a descriptor is decided on, and a valid one is executed",
        Source(CREATE_OPERATOR),
    ),
)

STRIDES = "EXECUTION.strides"
OUTPUT_BOUNDS = "EXECUTION.output-bounds"
INPUTS_UNCHANGED = "EXECUTION.inputs-unchanged"
IN_PLACE = "EXECUTION.in-place"
BINDING = "EXECUTION.binding"

EXECUTION_RULES: tuple[Rule, ...] = (
    Rule(
        OUTPUT_BOUNDS,
        Category.EXECUTION,
        "nothing is written outside the output's TotalTensorSizeInBytes",
        Source(BARRIERS_GUIDE),
    ),
    Rule(
        INPUTS_UNCHANGED,
        Category.EXECUTION,
        "no input is written to",
        Source(BARRIERS_GUIDE),
    ),
    Rule(
        STRIDES,
        Category.EXECUTION,
        "an element stands at dot(coordinates, strides) elements from the tensor's start, on inputs and outputs",
        Source(BUFFER_TENSOR_DESC, "Strides"),
    ),
    Rule(
        BINDING,
        Category.EXECUTION,
        "outputs are the same wherever tensors are bound: at any multiple of 16 and of GuaranteedBaseOffsetAlignment, "
        "in resources of their own or in one, in any order, with as many bytes as they need or more",
        Source(BUFFER_BINDING, "Offset"),
    ),
    Rule(
        IN_PLACE,
        Category.EXECUTION,
        "where an operator's page allows it, an output that is bound to the memory of an input comes out as it does "
        "elsewhere",
        Source("ns-directml-dml_element_wise_identity_operator_desc", "Remarks"),
    ),
)
