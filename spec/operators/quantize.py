"""Numbers as integers of 4 or 8 bits and back, by blocks: QUANTIZE and DEQUANTIZE.

The pages have placeholders for what both do. They are read as blocks of elements that share a scale and a zero point.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import checked, exists
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import operator_spec, output_sizes
from dml_conformance.spec.operators._element_wise import first_sizes
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import Quantize
from dml_conformance.spec.tensor import braces

QUANTIZE, DEQUANTIZE = "QUANTIZE", "DEQUANTIZE"
NONE, SCALE, SCALE_ZERO_POINT = range(3)  # DML_QUANTIZATION_TYPE; how many tensors there are
TENSORS = "QuantizationTensors"


def quantization_types(desc: Quantize) -> tuple[DataType, DataType]:
    """The data types of a scale and of a zero point: that of the numbers, and that of the integers."""
    types = desc.input_tensor.data_type, desc.output_tensor.data_type
    return types if desc.operator == QUANTIZE else types[::-1]


def _type(desc: Quantize, level: Level) -> Breach | None:
    return Breach("QuantizationType", "NONE") if desc.quantization_type == NONE else None


def _count(desc: Quantize, level: Level) -> Breach | None:
    count = len(desc.quantization_tensors)
    if desc.quantization_type in (NONE, count):
        return None
    return Breach("QuantizationTensorCount", f"{count}, QuantizationType is {desc.quantization_type}")


def _data_types(desc: Quantize, level: Level) -> list[Breach]:
    pairs = enumerate(zip(desc.quantization_tensors, quantization_types(desc), strict=False))
    return [
        Breach(f"{TENSORS}[{n}].DataType", f"{tensor.data_type.name}, expected {wanted.name}")
        for n, (tensor, wanted) in pairs
        if tensor.data_type != wanted
    ]


def _blocks(desc: Quantize, level: Level) -> list[Breach]:
    whole = desc.input_tensor.sizes
    return [
        Breach(f"{TENSORS}[{n}].Sizes", f"{braces(tensor.sizes)}, InputTensor has {braces(whole)}")
        for n, tensor in enumerate(desc.quantization_tensors)
        if any(size % count for size, count in zip(whole, tensor.sizes, strict=True))
    ]


def _zero_point_sizes(desc: Quantize, level: Level) -> Breach | None:
    scale, *others = (tensor.sizes for tensor in desc.quantization_tensors)
    wrong = [sizes for sizes in others if sizes != scale]
    return Breach(f"{TENSORS}[1].Sizes", f"{braces(wrong[0])}, the scale has {braces(scale)}") if wrong else None


COUNTED = ("required-tensors", "enumerators", "quantization-type")
RULES = (
    checked("quantization-type", _type, Category.ATTRIBUTES, exists, after=("required-tensors", "enumerators")),
    checked("quantization-count", _count, Category.ATTRIBUTES, lambda operator: frozenset(), after=COUNTED),
    checked(
        "quantization-data-types",
        _data_types,
        Category.AGREEMENT,
        exists,
        after=(*COUNTED, "data-types", "quantization-count"),
    ),
    checked("blocks", _blocks, after=("dimension-counts",)),
    checked("zero-point-sizes", _zero_point_sizes, after=("dimension-counts", "blocks", "quantization-count")),
    output_sizes(),
)
SPECS = tuple(operator_spec(name, shape=first_sizes, own_rules=RULES) for name in (QUANTIZE, DEQUANTIZE))
