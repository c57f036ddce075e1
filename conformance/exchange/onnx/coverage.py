"""Which operators of ONNX and WebNN become which operators of DirectML, and why the others do not."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any, NamedTuple

import onnx

from dml_conformance.conformance.exchange.onnx.mapping import MICROSOFT, mappings

OLDEST = 7  # opset; of earlier ones shapes are not broadcast as they are since
NEWEST = 28  # opset that this was last gone through with


class Way(StrEnum):
    """How an operator is taken."""

    MAPPED = "operators"
    MEMORY = "no operator: the value is the memory of its input"
    KNOWN = "no operator: the value is known before"
    INLINED = "no operator: its graph is inlined"
    FUNCTION = "what its function is made of"
    UNMAPPED = "not mapped"


class Covered(NamedTuple):
    """What becomes of an operator of ONNX.

    Attributes:
        domain: "" for ONNX's own.
        op_type: its name.
        versions: those of opset 7 and later.
        way: how it is taken.
        to: DirectML's operators.
        reason: why it is not mapped, or what it takes to be.
    """

    domain: str
    op_type: str
    versions: tuple[int, ...]
    way: Way
    to: tuple[str, ...] = ()
    reason: str = ""


KNOWN = {
    "Constant": "",
    "Shape": "where the sizes are known",
    "Size": "where the sizes are known",
}
INLINED = {
    "If": "where the condition is known",
    "Loop": "where the number of turns is known",
}
_OF_DATA = "the sizes of its output depend on data"
_SEQUENCE = "DirectML has no sequences of tensors"
_OPTIONAL = "DirectML has no optional values"
_TEXT = "DirectML has no text"
_SHADER = "no operator of DirectML does it; the provider has a shader of its own"
_RANDOM = "its numbers are not those of DirectML's generator"
_NONE = "no operator of DirectML does it"
REASONS = {
    "AffineGrid": "onnx does not infer the sizes of what its function is made of",
    "Bernoulli": _RANDOM,
    "Compress": _OF_DATA,
    "ConcatFromSequence": _SEQUENCE,
    "DFT": _SHADER,
    "DeformConv": _NONE,
    "Det": _NONE,
    "GridSample": _SHADER,
    "ImageDecoder": _NONE,
    "LinearAttention": "its function has a Scan, whose turns are not unrolled",
    "MelWeightMatrix": _NONE,
    "Multinomial": _RANDOM,
    "NonMaxSuppression": _OF_DATA,
    "NonZero": _OF_DATA,
    "Optional": _OPTIONAL,
    "OptionalGetElement": _OPTIONAL,
    "OptionalHasElement": _OPTIONAL,
    "RandomNormal": _RANDOM,
    "RandomNormalLike": _RANDOM,
    "RandomUniform": _RANDOM,
    "RandomUniformLike": _RANDOM,
    "RegexFullMatch": _TEXT,
    "STFT": _SHADER,
    "Scan": "its turns are not unrolled",
    "SequenceAt": _SEQUENCE,
    "SequenceConstruct": _SEQUENCE,
    "SequenceEmpty": _SEQUENCE,
    "SequenceErase": _SEQUENCE,
    "SequenceInsert": _SEQUENCE,
    "SequenceLength": _SEQUENCE,
    "SequenceMap": _SEQUENCE,
    "SplitToSequence": _SEQUENCE,
    "StringConcat": _TEXT,
    "StringNormalizer": _TEXT,
    "StringSplit": _TEXT,
    "TensorScatter": _NONE,
    "TfIdfVectorizer": _NONE,
    "Unique": _OF_DATA,
}
# Of com.microsoft what the provider has and is not mapped here.
REASONS_OF_MICROSOFT = {
    "ConvTransposeWithDynamicPads": "its padding is an input",
    "GroupQueryAttention": "its past has a length of its own, and shares its memory with what is new",
    "NhwcConv": "its channels come last",
    "QAttention": "it takes a product of integers before the attention",
}
REASONS_OF = {"": REASONS, MICROSOFT: REASONS_OF_MICROSOFT}
OTHER_DOMAINS = "trees, text and training are none of what DirectML does"


def coverage() -> list[Covered]:
    """Every operator of ONNX from opset 7 to `NEWEST`, by domain and name, then those of com.microsoft."""
    versions: dict[tuple[str, str], list[int]] = {}
    functions: set[tuple[str, str]] = set()
    every: Any = onnx.defs.get_all_schemas_with_history()
    for schema in every:
        if schema.domain == "" and schema.since_version > NEWEST:
            continue
        key = (schema.domain, schema.name)
        versions.setdefault(key, []).append(schema.since_version)
        if schema.has_function or schema.has_context_dependent_function:
            functions.add(key)
    found = [
        _covered(*key, _since(since) if key[0] == "" else tuple(sorted(since)), key in functions)
        for key, since in sorted(versions.items())
    ]
    every = sorted({op_type for domain, op_type in mappings() if domain == MICROSOFT} | set(REASONS_OF_MICROSOFT))
    return found + [_covered(MICROSOFT, op_type, (1,), False) for op_type in every]


def _since(versions: list[int]) -> tuple[int, ...]:
    """Those in force at opset 7 and later."""
    before = [version for version in versions if version <= OLDEST]
    return tuple(sorted({max(before)} if before else set()) + sorted(each for each in versions if each > OLDEST))


def _covered(domain: str, op_type: str, versions: tuple[int, ...], has_function: bool) -> Covered:
    mapping = mappings().get((domain, op_type))
    if mapping is not None and mapping.to:
        return Covered(domain, op_type, versions, Way.MAPPED, mapping.to)
    if mapping is not None:
        return Covered(domain, op_type, versions, Way.MEMORY)
    reasons = REASONS_OF.get(domain, {})
    for way, told in ((Way.KNOWN, KNOWN), (Way.INLINED, INLINED), (Way.UNMAPPED, reasons)):
        if op_type in told and (domain == "" or way is Way.UNMAPPED):
            return Covered(domain, op_type, versions, way, reason=told[op_type])
    if domain:
        return Covered(domain, op_type, versions, Way.UNMAPPED, reason=OTHER_DOMAINS)
    assert has_function, f"{op_type} is neither mapped nor told"
    return Covered(domain, op_type, versions, Way.FUNCTION)


def why_unmapped(domain: str, op_type: str) -> str:
    """Why an operator without a mapping has none."""
    return REASONS_OF.get(domain, {}).get(op_type, _NONE)


def counts(covered: list[Covered]) -> Counter[tuple[str, Way]]:
    """How many operators of each domain are taken in each way."""
    return Counter((each.domain, each.way) for each in covered)


# WebNN's operators, and those of DirectML that its backend in Chromium makes of them; none where the value is the
# memory of its input. Source: https://www.w3.org/TR/webnn/ and services/webnn/dml/graph_impl_dml.cc in Chromium.
_WEBNN = """
abs: ELEMENT_WISE_ABS
add: ELEMENT_WISE_ADD
argMax: ARGMAX
argMin: ARGMIN
averagePool2d: AVERAGE_POOLING
batchNormalization: BATCH_NORMALIZATION
cast: CAST
ceil: ELEMENT_WISE_CEIL
clamp: ELEMENT_WISE_CLIP1 ELEMENT_WISE_CLIP
concat: JOIN
conv2d: CONVOLUTION
convTranspose2d: CONVOLUTION
cos: ELEMENT_WISE_COS
cumulativeSum: CUMULATIVE_SUMMATION
dequantizeLinear: DEQUANTIZE ELEMENT_WISE_DEQUANTIZE_LINEAR
div: ELEMENT_WISE_DIVIDE
elu: ACTIVATION_ELU
equal: ELEMENT_WISE_LOGICAL_EQUALS
erf: ELEMENT_WISE_ERF
exp: ELEMENT_WISE_EXP
expand: ELEMENT_WISE_IDENTITY
floor: ELEMENT_WISE_FLOOR
gather: GATHER
gatherElements: GATHER_ELEMENTS
gatherND: GATHER_ND
gelu: ACTIVATION_GELU
gemm: GEMM
greater: ELEMENT_WISE_LOGICAL_GREATER_THAN
greaterOrEqual: ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL
gru: GRU
gruCell: GRU
hardSigmoid: ACTIVATION_HARD_SIGMOID
hardSwish: ACTIVATION_HARD_SWISH
identity: ELEMENT_WISE_IDENTITY
instanceNormalization: MEAN_VARIANCE_NORMALIZATION1
isInfinite: ELEMENT_WISE_IS_INFINITY
isNaN: ELEMENT_WISE_IS_NAN
l2Pool2d: LP_POOLING
layerNormalization: MEAN_VARIANCE_NORMALIZATION1
leakyRelu: ACTIVATION_LEAKY_RELU
lesser: ELEMENT_WISE_LOGICAL_LESS_THAN
lesserOrEqual: ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL
linear: ACTIVATION_LINEAR
log: ELEMENT_WISE_LOG
logicalAnd: ELEMENT_WISE_LOGICAL_AND
logicalNot: ELEMENT_WISE_LOGICAL_NOT
logicalOr: ELEMENT_WISE_LOGICAL_OR
logicalXor: ELEMENT_WISE_LOGICAL_XOR
lstm: LSTM
lstmCell: LSTM
matmul: GEMM
max: ELEMENT_WISE_MAX
maxPool2d: MAX_POOLING2
min: ELEMENT_WISE_MIN
mul: ELEMENT_WISE_MULTIPLY
neg: ELEMENT_WISE_NEGATE ELEMENT_WISE_IDENTITY
notEqual: ELEMENT_WISE_LOGICAL_EQUALS ELEMENT_WISE_LOGICAL_NOT
pad: PADDING
pow: ELEMENT_WISE_POW
prelu: ACTIVATION_PARAMETERIZED_RELU
quantizeLinear: QUANTIZE ELEMENT_WISE_QUANTIZE_LINEAR
reciprocal: ELEMENT_WISE_RECIP
reduceL1: REDUCE
reduceL2: REDUCE
reduceLogSum: REDUCE
reduceLogSumExp: REDUCE
reduceMax: REDUCE
reduceMean: REDUCE
reduceMin: REDUCE
reduceProduct: REDUCE
reduceSum: REDUCE
reduceSumSquare: REDUCE
relu: ACTIVATION_RELU
resample2d: RESAMPLE1
reshape:
reverse: SLICE1
roundEven: ELEMENT_WISE_ROUND
scatterElements: SCATTER
scatterND: SCATTER_ND
sigmoid: ACTIVATION_SIGMOID
sign: ELEMENT_WISE_SIGN
sin: ELEMENT_WISE_SIN
slice: SLICE1
softmax: ACTIVATION_SOFTMAX1 ACTIVATION_SOFTMAX
softplus: ACTIVATION_SOFTPLUS
softsign: ACTIVATION_SOFTSIGN
split: SPLIT
sqrt: ELEMENT_WISE_SQRT
sub: ELEMENT_WISE_SUBTRACT
tan: ELEMENT_WISE_TAN
tanh: ACTIVATION_TANH
tile: TILE
transpose: ELEMENT_WISE_IDENTITY
triangular: DIAGONAL_MATRIX1
where: ELEMENT_WISE_IF
"""


def webnn() -> dict[str, tuple[str, ...]]:
    """Every operator of WebNN with those of DirectML that it becomes, the newest first."""
    pairs = (line.split(":") for line in _WEBNN.strip().splitlines())
    return {name: tuple(to.split()) for name, to in pairs}
