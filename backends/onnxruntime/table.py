"""DirectML's operators as nodes of ONNX: what corresponds to what, as data that needs neither onnx nor its runtime.

A row says that a node of ONNX and an operator of DirectML are the same function, which field of the descriptor is which
input, output or attribute of the node, and what has to be given for that. It says nothing of how sizes, dimension
counts and data types are told on either side. What takes more than one node is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

MICROSOFT = "com.microsoft"

# What a node's attribute is made of: a field of the descriptor, several whose values follow each other, or a field and
# the attribute's value for each of its values.
Source = str | tuple[str, ...] | tuple[str, Mapping[str, Any]]


class NodeRow(NamedTuple):
    """One node of ONNX that does what an operator of DirectML does.

    Fields of a descriptor are named by their Python attributes, `input_tensor`; enumerators without prefix.

    Attributes:
        operator: DirectML's.
        op_type: ONNX's.
        since: the first opset of the domain that has the node in this form, inputs and attributes in these places.
        inputs: the fields in the node's order, an array of tensors as that many inputs. A field that holds no tensor,
            or several whose values follow each other, stand for a tensor of these values; "" is an input that is left
            out.
        outputs: likewise.
        attributes: of the node.
        constants: attributes of the node that have this value, whatever the descriptor is; None where it is to be
            absent.
        given: the values that fields of the descriptor have where the row holds; others have a row of their own, or
            none.
        neutral: fields that the node knows nothing of, and the values with which the operator does nothing there.
        domain: of the node.
    """

    operator: str
    op_type: str
    since: int
    inputs: tuple[str | tuple[str, ...], ...] = ("input_tensor",)
    outputs: tuple[str, ...] = ("output_tensor",)
    attributes: Mapping[str, Source] = {}
    constants: Mapping[str, Any] = {}
    given: Mapping[str, Any] = {}
    neutral: Mapping[str, Any] = {}
    domain: str = ""


AB = ("a_tensor", "b_tensor")
PADS = ("start_padding", "end_padding")
SCALE_BIAS = {"scale_bias": None}
FUSED = {"fused_activation": None}
WINDOWS: Mapping[str, Source] = {"kernel_shape": "window_size", "strides": "strides", "pads": PADS}
DILATED: Mapping[str, Source] = {**WINDOWS, "dilations": "dilations"}
FILTERED: Mapping[str, Source] = {
    "strides": "strides",
    "dilations": "dilations",
    "pads": PADS,
    "group": "group_count",
}
CONVOLVED = ("input_tensor", "filter_tensor", "bias_tensor")
GATHERED = ("input_tensor", "indices_tensor")
SCATTERED = ("input_tensor", "indices_tensor", "updates_tensor")
QUANTIZED_A = ("a_tensor", "a_scale_tensor", "a_zero_point_tensor")
QUANTIZED_B = ("b_tensor", "b_scale_tensor", "b_zero_point_tensor")
QUANTIZED_OUTPUT = ("output_scale_tensor", "output_zero_point_tensor")
DIRECTION: Mapping[str, Source] = {
    "direction": ("direction", {"FORWARD": "forward", "BACKWARD": "reverse", "BIDIRECTIONAL": "bidirectional"})
}
RECURRENT = ("input_tensor", "weight_tensor", "recurrence_tensor", "bias_tensor", "sequence_lengths_tensor")
SEQUENCE = ("output_sequence_tensor", "output_single_tensor")
ORDER = ("order", {"DEPTH_COLUMN_ROW": "DCR", "COLUMN_ROW_DEPTH": "CRD"})
POOLED_REGIONS: Mapping[str, Source] = {
    "mode": ("reduction_function", {"AVERAGE": "avg", "MAX": "max"}),
    "spatial_scale": "spatial_scale_x",
    "sampling_ratio": "maximum_samples_per_output",
}

UNARY = (
    ("ABS", "Abs", 13),
    ("ACOS", "Acos", 7),
    ("ASIN", "Asin", 7),
    ("ATAN", "Atan", 7),
    ("CEIL", "Ceil", 13),
    ("COS", "Cos", 7),
    ("EXP", "Exp", 13),
    ("FLOOR", "Floor", 13),
    ("LOG", "Log", 13),
    ("RECIP", "Reciprocal", 13),
    ("SIN", "Sin", 7),
    ("SQRT", "Sqrt", 13),
    ("TAN", "Tan", 7),
    ("ERF", "Erf", 13),
    ("SINH", "Sinh", 9),
    ("COSH", "Cosh", 9),
    ("TANH", "Tanh", 13),
    ("ASINH", "Asinh", 9),
    ("ACOSH", "Acosh", 9),
    ("ATANH", "Atanh", 9),
    ("IDENTITY", "Identity", 13),
)
UNARY_WITHOUT_SCALE = (
    ("LOGICAL_NOT", "Not", 1),
    ("SIGN", "Sign", 13),
    ("IS_NAN", "IsNaN", 13),
    ("BIT_NOT", "BitwiseNot", 18),
    ("NEGATE", "Neg", 13),
)
BINARY: tuple[tuple[str, str, int, Mapping[str, Any]], ...] = (
    ("ADD", "Add", 13, {}),
    ("SUBTRACT", "Sub", 13, {}),
    ("MULTIPLY", "Mul", 13, {}),
    ("DIVIDE", "Div", 13, {}),
    ("MAX", "Max", 13, {}),
    ("MIN", "Min", 13, {}),
    ("MEAN", "Mean", 13, {}),
    ("MODULUS_TRUNCATE", "Mod", 13, {"fmod": 1}),
    ("MODULUS_FLOOR", "Mod", 13, {"fmod": 0}),
    ("LOGICAL_AND", "And", 7, {}),
    ("LOGICAL_OR", "Or", 7, {}),
    ("LOGICAL_XOR", "Xor", 7, {}),
    ("LOGICAL_EQUALS", "Equal", 13, {}),
    ("LOGICAL_GREATER_THAN", "Greater", 13, {}),
    ("LOGICAL_LESS_THAN", "Less", 13, {}),
    ("LOGICAL_GREATER_THAN_OR_EQUAL", "GreaterOrEqual", 16, {}),
    ("LOGICAL_LESS_THAN_OR_EQUAL", "LessOrEqual", 16, {}),
    ("BIT_AND", "BitwiseAnd", 18, {}),
    ("BIT_OR", "BitwiseOr", 18, {}),
    ("BIT_XOR", "BitwiseXor", 18, {}),
    ("BIT_SHIFT_LEFT", "BitShift", 11, {"direction": "LEFT"}),
    ("BIT_SHIFT_RIGHT", "BitShift", 11, {"direction": "RIGHT"}),
)
# Activations of one input, and the attributes of the node by those of the descriptor.
ACTIVATIONS: tuple[tuple[str, str, int, Mapping[str, Source], Mapping[str, Any]], ...] = (
    ("IDENTITY", "Identity", 13, {}, {}),
    ("RELU", "Relu", 14, {}, {}),
    ("SIGMOID", "Sigmoid", 13, {}, {}),
    ("TANH", "Tanh", 13, {}, {}),
    ("SOFTSIGN", "Softsign", 1, {}, {}),
    ("ELU", "Elu", 6, {"alpha": "alpha"}, {}),
    ("CELU", "Celu", 12, {"alpha": "alpha"}, {}),
    ("HARD_SIGMOID", "HardSigmoid", 6, {"alpha": "alpha", "beta": "beta"}, {}),
    ("LEAKY_RELU", "LeakyRelu", 16, {"alpha": "alpha"}, {}),
    ("SCALED_ELU", "Selu", 6, {"alpha": "alpha", "gamma": "gamma"}, {}),
    ("THRESHOLDED_RELU", "ThresholdedRelu", 10, {"alpha": "alpha"}, {}),
    ("SHRINK", "Shrink", 9, {"bias": "bias", "lambd": "threshold"}, {}),
    ("GELU", "Gelu", 20, {}, {"approximate": "none"}),
)
# DML_REDUCE_FUNCTION, the node, and the first opset that has the axes as an input.
REDUCTIONS = (
    ("SUM", "ReduceSum", 13),
    ("AVERAGE", "ReduceMean", 18),
    ("MULTIPLY", "ReduceProd", 18),
    ("MAX", "ReduceMax", 18),
    ("MIN", "ReduceMin", 18),
    ("L1", "ReduceL1", 18),
    ("L2", "ReduceL2", 18),
    ("LOG_SUM", "ReduceLogSum", 18),
    ("LOG_SUM_EXP", "ReduceLogSumExp", 18),
    ("SUM_SQUARE", "ReduceSumSquare", 18),
)

NODES: tuple[NodeRow, ...] = (
    *(NodeRow(f"ELEMENT_WISE_{name}", node, since, neutral=SCALE_BIAS) for name, node, since in UNARY),
    *(NodeRow(f"ELEMENT_WISE_{name}", node, since) for name, node, since in UNARY_WITHOUT_SCALE),
    *(NodeRow(f"ELEMENT_WISE_{name}", node, since, AB, constants=constants) for name, node, since, constants in BINARY),
    NodeRow("ELEMENT_WISE_ADD1", "Add", 13, AB, neutral=FUSED),
    NodeRow("ELEMENT_WISE_CLIP", "Clip", 13, ("input_tensor", "min", "max"), neutral=SCALE_BIAS),
    NodeRow("ELEMENT_WISE_CLIP1", "Clip", 13, ("input_tensor", "min", "max"), neutral=SCALE_BIAS),
    NodeRow("ELEMENT_WISE_POW", "Pow", 13, ("input_tensor", "exponent_tensor"), neutral=SCALE_BIAS),
    NodeRow("ELEMENT_WISE_CONSTANT_POW", "Pow", 13, ("input_tensor", "exponent"), neutral=SCALE_BIAS),
    NodeRow("ELEMENT_WISE_ROUND", "Round", 11, given={"rounding_mode": "HALVES_TO_NEAREST_EVEN"}),
    *(
        NodeRow(
            "ELEMENT_WISE_IS_INFINITY",
            "IsInf",
            20,
            constants={"detect_negative": negative, "detect_positive": positive},
            given={"infinity_mode": mode},
        )
        for mode, negative, positive in (("EITHER", 1, 1), ("POSITIVE", 0, 1), ("NEGATIVE", 1, 0))
    ),
    NodeRow("ELEMENT_WISE_IF", "Where", 16, ("condition_tensor", *AB)),
    *(
        NodeRow(f"ACTIVATION_{name}", node, since, attributes=attributes, constants=constants)
        for name, node, since, attributes, constants in ACTIVATIONS
    ),
    NodeRow("ACTIVATION_SOFTPLUS", "Softplus", 1, given={"steepness": 1.0}),
    NodeRow("ACTIVATION_PARAMETERIZED_RELU", "PRelu", 16, ("input_tensor", "slope_tensor")),
    NodeRow("ACTIVATION_SWISH", "Swish", 24, attributes={"alpha": "sigmoid_input_scale"}),
    NodeRow("ACTIVATION_HARD_SWISH", "HardSwish", 14, given={"alpha": 1 / 6, "beta": 0.5}),
    *(
        NodeRow(f"ACTIVATION_{name}1", node, 13, attributes={"axis": "axes"})
        for name, node in (("SOFTMAX", "Softmax"), ("LOG_SOFTMAX", "LogSoftmax"), ("HARDMAX", "Hardmax"))
    ),
    *(
        NodeRow(f"ACTIVATION_{name}", node, 13, constants={"axis": -1})
        for name, node in (("SOFTMAX", "Softmax"), ("LOG_SOFTMAX", "LogSoftmax"), ("HARDMAX", "Hardmax"))
    ),
    NodeRow("CAST", "Cast", 13),
    *(
        NodeRow(
            "REDUCE", node, since, ("input_tensor", "axes"), constants={"keepdims": 1}, given={"function": function}
        )
        for function, node, since in REDUCTIONS
    ),
    *(
        NodeRow(
            name,
            node,
            13,
            attributes={"axis": "axes", "select_last_index": "axis_direction"},
            constants={"keepdims": 1},
        )
        for name, node in (("ARGMIN", "ArgMin"), ("ARGMAX", "ArgMax"))
    ),
    *(
        NodeRow(
            "REDUCE",
            node,
            13,
            attributes={"axis": "axes"},
            constants={"keepdims": 1, "select_last_index": 0},
            given={"function": function},
        )
        for function, node in (("ARGMIN", "ArgMin"), ("ARGMAX", "ArgMax"))
    ),
    *(
        NodeRow(
            name,
            "TopK",
            11,
            ("input_tensor", "k"),
            ("output_value_tensor", "output_index_tensor"),
            {"axis": "axis", **direction},
            {"sorted": 1, **largest},
        )
        for name, direction, largest in (
            ("TOP_K", {}, {"largest": 1}),
            ("TOP_K1", {"largest": ("axis_direction", {"INCREASING": 0, "DECREASING": 1})}, {}),
        )
    ),
    NodeRow(
        "CUMULATIVE_SUMMATION",
        "CumSum",
        14,
        ("input_tensor", "axis"),
        attributes={"reverse": "axis_direction", "exclusive": "has_exclusive_sum"},
    ),
    NodeRow(
        "CUMULATIVE_PRODUCT",
        "CumProd",
        26,
        ("input_tensor", "axis"),
        attributes={"reverse": "axis_direction", "exclusive": "has_exclusive_product"},
    ),
    NodeRow("GATHER", "Gather", 13, GATHERED, attributes={"axis": "axis"}),
    NodeRow("GATHER_ELEMENTS", "GatherElements", 13, GATHERED, attributes={"axis": "axis"}),
    NodeRow("GATHER_ND", "GatherND", 13, GATHERED, constants={"batch_dims": 0}),
    NodeRow("GATHER_ND1", "GatherND", 13, GATHERED, attributes={"batch_dims": "batch_dimension_count"}),
    NodeRow("SCATTER", "ScatterElements", 18, SCATTERED, attributes={"axis": "axis"}, constants={"reduction": "none"}),
    NodeRow("SCATTER_ND", "ScatterND", 18, SCATTERED, constants={"reduction": "none"}),
    NodeRow("TILE", "Tile", 13, ("input_tensor", "repeats")),
    NodeRow("SPLIT", "Split", 18, outputs=("output_tensors",), attributes={"axis": "axis"}),
    NodeRow("JOIN", "Concat", 13, ("input_tensors",), attributes={"axis": "axis"}),
    NodeRow(
        "REVERSE_SUBSEQUENCES",
        "ReverseSequence",
        10,
        ("input_tensor", "sequence_lengths_tensor"),
        attributes={"time_axis": "axis"},
    ),
    NodeRow("DEPTH_TO_SPACE", "DepthToSpace", 13, attributes={"blocksize": "block_size"}, constants={"mode": "DCR"}),
    NodeRow("DEPTH_TO_SPACE1", "DepthToSpace", 13, attributes={"blocksize": "block_size", "mode": ORDER}),
    NodeRow("SPACE_TO_DEPTH", "SpaceToDepth", 13, attributes={"blocksize": "block_size"}),
    NodeRow(
        "SPACE_TO_DEPTH1",
        "SpaceToDepth",
        13,
        attributes={"blocksize": "block_size"},
        given={"order": "DEPTH_COLUMN_ROW"},
    ),
    NodeRow("ONE_HOT", "OneHot", 11, ("indices_tensor", "", "values_tensor"), attributes={"axis": "axis"}),
    *(
        NodeRow(
            name,
            "Pad",
            18,
            ("input_tensor", PADS, "padding_value"),
            attributes={
                "mode": (
                    "padding_mode",
                    {"CONSTANT": "constant", "EDGE": "edge", "REFLECTION": "reflect"},
                )
            },
        )
        for name in ("PADDING", "PADDING1")
    ),
    NodeRow("NONZERO_COORDINATES", "NonZero", 13, outputs=("output_coordinates_tensor",)),
    NodeRow("MAX_POOLING", "MaxPool", 12, attributes=WINDOWS),
    NodeRow("MAX_POOLING1", "MaxPool", 12, outputs=("output_tensor", "output_indices_tensor"), attributes=WINDOWS),
    NodeRow("MAX_POOLING2", "MaxPool", 12, outputs=("output_tensor", "output_indices_tensor"), attributes=DILATED),
    NodeRow("MAX_UNPOOLING", "MaxUnpool", 11, GATHERED),
    NodeRow("AVERAGE_POOLING", "AveragePool", 19, attributes={**WINDOWS, "count_include_pad": "include_padding"}),
    NodeRow("AVERAGE_POOLING1", "AveragePool", 19, attributes={**DILATED, "count_include_pad": "include_padding"}),
    NodeRow("LP_POOLING", "LpPool", 18, attributes={**WINDOWS, "p": "p"}),
    NodeRow("LP_POOLING1", "LpPool", 18, attributes={**DILATED, "p": "p"}),
    NodeRow(
        "ROI_POOLING",
        "MaxRoiPool",
        1,
        ("input_tensor", "roi_tensor"),
        attributes={"pooled_shape": "pooled_size", "spatial_scale": "spatial_scale"},
    ),
    NodeRow(
        "QUANTIZED_LINEAR_AVERAGE_POOLING",
        "QLinearAveragePool",
        1,
        ("input_tensor", "input_scale_tensor", "input_zero_point_tensor", *QUANTIZED_OUTPUT),
        attributes={**WINDOWS, "count_include_pad": "include_padding"},
        domain=MICROSOFT,
    ),
    NodeRow(
        "CONVOLUTION",
        "Conv",
        11,
        CONVOLVED,
        attributes=FILTERED,
        given={"mode": "CROSS_CORRELATION", "direction": "FORWARD"},
        neutral=FUSED,
    ),
    NodeRow(
        "CONVOLUTION",
        "ConvTranspose",
        11,
        CONVOLVED,
        attributes={**FILTERED, "output_padding": "output_padding"},
        given={"mode": "CROSS_CORRELATION", "direction": "BACKWARD"},
        neutral=FUSED,
    ),
    NodeRow(
        "CONVOLUTION_INTEGER",
        "ConvInteger",
        10,
        ("input_tensor", "filter_tensor", "input_zero_point_tensor", "filter_zero_point_tensor"),
        attributes=FILTERED,
    ),
    NodeRow(
        "QUANTIZED_LINEAR_CONVOLUTION",
        "QLinearConv",
        10,
        (
            "input_tensor",
            "input_scale_tensor",
            "input_zero_point_tensor",
            "filter_tensor",
            "filter_scale_tensor",
            "filter_zero_point_tensor",
            *QUANTIZED_OUTPUT,
            "bias_tensor",
        ),
        attributes=FILTERED,
    ),
    NodeRow(
        "GEMM",
        "Gemm",
        13,
        (*AB, "c_tensor"),
        attributes={"transA": "trans_a", "transB": "trans_b", "alpha": "alpha", "beta": "beta"},
        neutral=FUSED,
    ),
    NodeRow(
        "GEMM",
        "MatMul",
        13,
        AB,
        given={"trans_a": "NONE", "trans_b": "NONE", "alpha": 1.0, "c_tensor": None},
        neutral=FUSED,
    ),
    NodeRow(
        "MATRIX_MULTIPLY_INTEGER",
        "MatMulInteger",
        10,
        (*AB, "a_zero_point_tensor", "b_zero_point_tensor"),
    ),
    NodeRow("QUANTIZED_LINEAR_MATRIX_MULTIPLY", "QLinearMatMul", 10, (*QUANTIZED_A, *QUANTIZED_B, *QUANTIZED_OUTPUT)),
    NodeRow(
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        "MatMulIntegerToFloat",
        1,
        (*AB, "a_scale_tensor", "b_scale_tensor", "a_zero_point_tensor", "b_zero_point_tensor", "bias_tensor"),
        domain=MICROSOFT,
    ),
    NodeRow(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
        "QLinearAdd",
        1,
        (*QUANTIZED_A, *QUANTIZED_B, *QUANTIZED_OUTPUT),
        domain=MICROSOFT,
    ),
    *(
        NodeRow(f"ELEMENT_WISE_{name}", node, 19, ("input_tensor", "scale_tensor", "zero_point_tensor"))
        for name, node in (("QUANTIZE_LINEAR", "QuantizeLinear"), ("DEQUANTIZE_LINEAR", "DequantizeLinear"))
    ),
    NodeRow("QUANTIZE", "QuantizeLinear", 21, ("input_tensor", "quantization_tensors")),
    NodeRow("DEQUANTIZE", "DequantizeLinear", 21, ("input_tensor", "quantization_tensors")),
    NodeRow(
        "DYNAMIC_QUANTIZE_LINEAR",
        "DynamicQuantizeLinear",
        11,
        outputs=("output_tensor", "output_scale_tensor", "output_zero_point_tensor"),
    ),
    NodeRow(
        "BATCH_NORMALIZATION",
        "BatchNormalization",
        15,
        ("input_tensor", "scale_tensor", "bias_tensor", "mean_tensor", "variance_tensor"),
        attributes={"epsilon": "epsilon"},
        constants={"training_mode": 0},
        neutral=FUSED,
    ),
    NodeRow(
        "BATCH_NORMALIZATION_TRAINING",
        "BatchNormalization",
        15,
        ("input_tensor", "scale_tensor", "bias_tensor"),
        ("output_tensor", "output_mean_tensor", "output_variance_tensor"),
        {"epsilon": "epsilon"},
        {"training_mode": 1, "momentum": 0.0},
        neutral={**FUSED, "fused_add_tensor": None},
    ),
    NodeRow(
        "MEAN_VARIANCE_NORMALIZATION",
        "InstanceNormalization",
        6,
        ("input_tensor", "scale_tensor", "bias_tensor"),
        attributes={"epsilon": "epsilon"},
        given={"cross_channel": False, "normalize_variance": True},
        neutral=FUSED,
    ),
    NodeRow(
        "MEAN_VARIANCE_NORMALIZATION1",
        "MeanVarianceNormalization",
        13,
        attributes={"axes": "axes"},
        given={"normalize_variance": True, "epsilon": 1e-9},
        neutral={**FUSED, "scale_tensor": None, "bias_tensor": None},
    ),
    NodeRow(
        "MEAN_VARIANCE_NORMALIZATION2",
        "LayerNormalization",
        17,
        ("input_tensor", "scale_tensor", "bias_tensor"),
        attributes={"epsilon": "epsilon"},
        given={"use_mean": True, "use_variance": True},
        neutral=FUSED,
    ),
    NodeRow(
        "LOCAL_RESPONSE_NORMALIZATION",
        "LRN",
        13,
        attributes={"size": "local_size", "alpha": "alpha", "beta": "beta", "bias": "bias"},
        given={"cross_channel": True},
    ),
    NodeRow(
        "LP_NORMALIZATION",
        "LpNormalization",
        22,
        attributes={"axis": "axis", "p": "p"},
        neutral={"epsilon": 0.0},
    ),
    NodeRow(
        "RNN",
        "RNN",
        14,
        (*RECURRENT, "hidden_init_tensor"),
        SEQUENCE,
        DIRECTION,
    ),
    NodeRow(
        "GRU",
        "GRU",
        14,
        (*RECURRENT, "hidden_init_tensor"),
        SEQUENCE,
        {**DIRECTION, "linear_before_reset": "linear_before_reset"},
    ),
    NodeRow(
        "LSTM",
        "LSTM",
        14,
        (*RECURRENT, "hidden_init_tensor", "cell_mem_init_tensor", "peephole_tensor"),
        (*SEQUENCE, "output_cell_single_tensor"),
        {**DIRECTION, "clip": "clip_threshold", "input_forget": "couple_input_forget"},
    ),
    *(
        NodeRow(
            name,
            "RoiAlign",
            16,
            ("input_tensor", "roi_tensor", "batch_indices_tensor"),
            attributes=POOLED_REGIONS,
            constants=constants,
            given={"interpolation_mode": "LINEAR", "out_of_bounds_input_value": 0.0, **offsets},
        )
        for name, constants, offsets in (
            ("ROI_ALIGN", {"coordinate_transformation_mode": "half_pixel"}, {}),
            (
                "ROI_ALIGN1",
                {"coordinate_transformation_mode": "half_pixel"},
                {"input_pixel_offset": 0.5, "output_pixel_offset": -0.5, "align_regions_to_corners": False},
            ),
        )
    ),
    *(
        NodeRow(
            name,
            "Resize",
            18,
            ("input_tensor", "", "scales"),
            attributes={
                "mode": ("interpolation_mode", {"NEAREST_NEIGHBOR": "nearest", "LINEAR": "linear"}),
                **antialiased,
            },
            constants={"coordinate_transformation_mode": "half_pixel", "nearest_mode": nearest},
            given={**offsets, **rounding},
        )
        for name, nearest, offsets, rounding, antialiased in (
            ("RESAMPLE", "round_prefer_ceil", {}, {}, {}),
            ("RESAMPLE1", "round_prefer_ceil", {"input_pixel_offsets": 0.5, "output_pixel_offsets": -0.5}, {}, {}),
            *(
                (
                    name,
                    nearest,
                    {"input_pixel_offsets": 0.5, "output_pixel_offsets": -0.5},
                    {"rounding_direction": direction},
                    antialiased,
                )
                for name, antialiased in (("RESAMPLE2", {}), ("RESAMPLE3", {"antialias": "antialiased"}))
                for direction, nearest in (("INCREASING", "ceil"), ("DECREASING", "floor"))
            ),
        )
    ),
)


@cache
def nodes_of(operator: str) -> tuple[NodeRow, ...]:
    """The rows about an operator of DirectML."""
    return tuple(node for node in NODES if node.operator == operator)


@cache
def operators_of(op_type: str, domain: str = "") -> tuple[NodeRow, ...]:
    """The rows about a node of ONNX."""
    return tuple(node for node in NODES if (node.op_type, node.domain) == (op_type, domain))
