"""Made by docs/generate.py from the facts of all operators; `structures.py` beside it says what it is for.

A tensor that is not optional is typed as one that is there. Who is asked whether a descriptor is valid, as
`Backend.validate` is, may find None where one is missing.
"""

# ruff: noqa: N801
# fmt: off

from typing import ClassVar, Literal, TypeAlias

from dml_conformance.spec.descriptor import OperatorDesc
from dml_conformance.spec.field_kinds import ScaleBias, Size2d
from dml_conformance.spec.tensor import TensorDesc

def union_type(family: str, operator: str) -> str: ...

class DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_IDENTITY"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ABS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ABS"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ACOS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ACOS"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ADD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ADD"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_ASIN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ASIN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ATAN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ATAN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_CEIL_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_CEIL"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_CLIP"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None
    min: float
    max: float

class DML_ELEMENT_WISE_COS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_COS"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_DIVIDE"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_EXP_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_EXP"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_FLOOR"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_LOG_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOG"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_AND"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_EQUALS"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_GREATER_THAN"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_LESS_THAN"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_NOT"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_OR"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_XOR"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_MAX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_MAX"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_MEAN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_MEAN"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_MIN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_MIN"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_MULTIPLY"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_POW_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_POW"]]
    input_tensor: TensorDesc
    exponent_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_CONSTANT_POW"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None
    exponent: float

class DML_ELEMENT_WISE_RECIP_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_RECIP"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_SIN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_SIN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_SQRT"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_SUBTRACT"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_TAN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_TAN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_THRESHOLD"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None
    min: float

class DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_QUANTIZE_LINEAR"]]
    input_tensor: TensorDesc
    scale_tensor: TensorDesc
    zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_DEQUANTIZE_LINEAR"]]
    input_tensor: TensorDesc
    scale_tensor: TensorDesc
    zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc

class DML_ACTIVATION_ELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_ELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float

class DML_ACTIVATION_HARDMAX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_HARDMAX"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_HARD_SIGMOID"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float
    beta: float

class DML_ACTIVATION_IDENTITY_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_IDENTITY"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_LEAKY_RELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float

class DML_ACTIVATION_LINEAR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_LINEAR"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float
    beta: float

class DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_LOG_SOFTMAX"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_PARAMETERIZED_RELU"]]
    input_tensor: TensorDesc
    slope_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_PARAMETRIC_SOFTPLUS"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float
    beta: float

class DML_ACTIVATION_RELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_RELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SCALED_ELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float
    gamma: float

class DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SCALED_TANH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float
    beta: float

class DML_ACTIVATION_SIGMOID_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SIGMOID"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SOFTMAX"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SOFTPLUS"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    steepness: float

class DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SOFTSIGN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_TANH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_TANH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_THRESHOLDED_RELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float

class DML_CONVOLUTION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["CONVOLUTION"]]
    input_tensor: TensorDesc
    filter_tensor: TensorDesc
    bias_tensor: TensorDesc | None
    output_tensor: TensorDesc
    mode: int
    direction: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    output_padding: tuple[int, ...]
    group_count: int
    fused_activation: OperatorDesc | None

class DML_GEMM_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["GEMM"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    c_tensor: TensorDesc | None
    output_tensor: TensorDesc
    trans_a: int
    trans_b: int
    alpha: float
    beta: float
    fused_activation: OperatorDesc | None

class DML_REDUCE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["REDUCE"]]
    function: int
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]

class DML_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["AVERAGE_POOLING"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    include_padding: bool

class DML_LP_POOLING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["LP_POOLING"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    p: int

class DML_MAX_POOLING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MAX_POOLING"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

class DML_ROI_POOLING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ROI_POOLING"]]
    input_tensor: TensorDesc
    roi_tensor: TensorDesc
    output_tensor: TensorDesc
    spatial_scale: float
    pooled_size: Size2d

class DML_SLICE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SLICE"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

class DML_CAST_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["CAST"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_SPLIT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SPLIT"]]
    input_tensor: TensorDesc
    output_tensors: tuple[TensorDesc, ...]
    axis: int

class DML_JOIN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["JOIN"]]
    input_tensors: tuple[TensorDesc, ...]
    output_tensor: TensorDesc
    axis: int

class DML_PADDING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["PADDING"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    padding_mode: int
    padding_value: float
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

class DML_VALUE_SCALE_2D_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["VALUE_SCALE_2D"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale: float
    bias: tuple[float, ...]

class DML_UPSAMPLE_2D_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["UPSAMPLE_2D"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_size: Size2d
    interpolation_mode: int

class DML_GATHER_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["GATHER"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    index_dimensions: int

class DML_SPACE_TO_DEPTH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SPACE_TO_DEPTH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    block_size: int

class DML_DEPTH_TO_SPACE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["DEPTH_TO_SPACE"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    block_size: int

class DML_TILE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["TILE"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    repeats: tuple[int, ...]

class DML_TOP_K_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["TOP_K"]]
    input_tensor: TensorDesc
    output_value_tensor: TensorDesc
    output_index_tensor: TensorDesc
    axis: int
    k: int

class DML_BATCH_NORMALIZATION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["BATCH_NORMALIZATION"]]
    input_tensor: TensorDesc
    mean_tensor: TensorDesc
    variance_tensor: TensorDesc
    scale_tensor: TensorDesc
    bias_tensor: TensorDesc
    output_tensor: TensorDesc
    spatial: bool
    epsilon: float
    fused_activation: OperatorDesc | None

class DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MEAN_VARIANCE_NORMALIZATION"]]
    input_tensor: TensorDesc
    scale_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    output_tensor: TensorDesc
    cross_channel: bool
    normalize_variance: bool
    epsilon: float
    fused_activation: OperatorDesc | None

class DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["LOCAL_RESPONSE_NORMALIZATION"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    cross_channel: bool
    local_size: int
    alpha: float
    beta: float
    bias: float

class DML_LP_NORMALIZATION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["LP_NORMALIZATION"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    epsilon: float
    p: int

class DML_RNN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RNN"]]
    input_tensor: TensorDesc
    weight_tensor: TensorDesc
    recurrence_tensor: TensorDesc
    bias_tensor: TensorDesc | None
    hidden_init_tensor: TensorDesc | None
    sequence_lengths_tensor: TensorDesc | None
    output_sequence_tensor: TensorDesc | None
    output_single_tensor: TensorDesc | None
    activation_descs: tuple[OperatorDesc, ...]
    direction: int

class DML_LSTM_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["LSTM"]]
    input_tensor: TensorDesc
    weight_tensor: TensorDesc
    recurrence_tensor: TensorDesc
    bias_tensor: TensorDesc | None
    hidden_init_tensor: TensorDesc | None
    cell_mem_init_tensor: TensorDesc | None
    sequence_lengths_tensor: TensorDesc | None
    peephole_tensor: TensorDesc | None
    output_sequence_tensor: TensorDesc | None
    output_single_tensor: TensorDesc | None
    output_cell_single_tensor: TensorDesc | None
    activation_descs: tuple[OperatorDesc, ...]
    direction: int
    clip_threshold: float
    use_clip_threshold: bool
    couple_input_forget: bool

class DML_GRU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["GRU"]]
    input_tensor: TensorDesc
    weight_tensor: TensorDesc
    recurrence_tensor: TensorDesc
    bias_tensor: TensorDesc | None
    hidden_init_tensor: TensorDesc | None
    sequence_lengths_tensor: TensorDesc | None
    output_sequence_tensor: TensorDesc | None
    output_single_tensor: TensorDesc | None
    activation_descs: tuple[OperatorDesc, ...]
    direction: int
    linear_before_reset: bool

class DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_SIGN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_IS_NAN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_ERF_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ERF"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_SINH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_SINH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_COSH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_COSH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_TANH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_TANH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ASINH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ASINH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ACOSH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_ATANH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ATANH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None

class DML_ELEMENT_WISE_IF_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_IF"]]
    condition_tensor: TensorDesc
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ADD1"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc
    fused_activation: OperatorDesc | None

class DML_ACTIVATION_SHRINK_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SHRINK"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    bias: float
    threshold: float

class DML_MAX_POOLING1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MAX_POOLING1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    output_indices_tensor: TensorDesc | None
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

class DML_MAX_UNPOOLING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MAX_UNPOOLING"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_DIAGONAL_MATRIX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["DIAGONAL_MATRIX"]]
    output_tensor: TensorDesc
    offset: int
    value: float

class DML_SCATTER_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SCATTER"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    updates_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int

class DML_ONE_HOT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ONE_HOT"]]
    indices_tensor: TensorDesc
    values_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int

class DML_RESAMPLE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RESAMPLE"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    interpolation_mode: int
    scales: tuple[float, ...]

class DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_SHIFT_LEFT"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_SHIFT_RIGHT"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ROUND"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    rounding_mode: int

class DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_IS_INFINITY"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    infinity_mode: int

class DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_MODULUS_TRUNCATE"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_MODULUS_FLOOR"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["FILL_VALUE_CONSTANT"]]
    output_tensor: TensorDesc
    value_data_type: int
    value: float | int

class DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["FILL_VALUE_SEQUENCE"]]
    output_tensor: TensorDesc
    value_data_type: int
    value_start: float | int
    value_delta: float | int

class DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["CUMULATIVE_SUMMATION"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    axis_direction: int
    has_exclusive_sum: bool

class DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["REVERSE_SUBSEQUENCES"]]
    input_tensor: TensorDesc
    sequence_lengths_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int

class DML_GATHER_ELEMENTS_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["GATHER_ELEMENTS"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int

class DML_GATHER_ND_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["GATHER_ND"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int

class DML_SCATTER_ND_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SCATTER_ND"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    updates_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int

class DML_MAX_POOLING2_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MAX_POOLING2"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    output_indices_tensor: TensorDesc | None
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]

class DML_SLICE1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SLICE1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    input_window_offsets: tuple[int, ...]
    input_window_sizes: tuple[int, ...]
    input_window_strides: tuple[int, ...]

class DML_TOP_K1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["TOP_K1"]]
    input_tensor: TensorDesc
    output_value_tensor: TensorDesc
    output_index_tensor: TensorDesc
    axis: int
    k: int
    axis_direction: int

class DML_DEPTH_TO_SPACE1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["DEPTH_TO_SPACE1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    block_size: int
    order: int

class DML_SPACE_TO_DEPTH1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SPACE_TO_DEPTH1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    block_size: int
    order: int

class DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MEAN_VARIANCE_NORMALIZATION1"]]
    input_tensor: TensorDesc
    scale_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    output_tensor: TensorDesc
    axes: tuple[int, ...]
    normalize_variance: bool
    epsilon: float
    fused_activation: OperatorDesc | None

class DML_RESAMPLE1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RESAMPLE1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    interpolation_mode: int
    scales: tuple[float, ...]
    input_pixel_offsets: tuple[float, ...]
    output_pixel_offsets: tuple[float, ...]

class DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MATRIX_MULTIPLY_INTEGER"]]
    a_tensor: TensorDesc
    a_zero_point_tensor: TensorDesc | None
    b_tensor: TensorDesc
    b_zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc

class DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["QUANTIZED_LINEAR_MATRIX_MULTIPLY"]]
    a_tensor: TensorDesc
    a_scale_tensor: TensorDesc
    a_zero_point_tensor: TensorDesc | None
    b_tensor: TensorDesc
    b_scale_tensor: TensorDesc
    b_zero_point_tensor: TensorDesc | None
    output_scale_tensor: TensorDesc
    output_zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc

class DML_CONVOLUTION_INTEGER_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["CONVOLUTION_INTEGER"]]
    input_tensor: TensorDesc
    input_zero_point_tensor: TensorDesc | None
    filter_tensor: TensorDesc
    filter_zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    group_count: int

class DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["QUANTIZED_LINEAR_CONVOLUTION"]]
    input_tensor: TensorDesc
    input_scale_tensor: TensorDesc
    input_zero_point_tensor: TensorDesc | None
    filter_tensor: TensorDesc
    filter_scale_tensor: TensorDesc
    filter_zero_point_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    output_scale_tensor: TensorDesc
    output_zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    group_count: int

class DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_AND"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_OR"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_XOR"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_NOT"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_BIT_COUNT"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_CELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_CELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float

class DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_RELU_GRAD"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc

class DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["AVERAGE_POOLING_GRAD"]]
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    include_padding: bool

class DML_MAX_POOLING_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MAX_POOLING_GRAD"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]

class DML_RANDOM_GENERATOR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RANDOM_GENERATOR"]]
    input_state_tensor: TensorDesc
    output_tensor: TensorDesc
    output_state_tensor: TensorDesc | None
    type: int

class DML_NONZERO_COORDINATES_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["NONZERO_COORDINATES"]]
    input_tensor: TensorDesc
    output_count_tensor: TensorDesc
    output_coordinates_tensor: TensorDesc

class DML_RESAMPLE_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RESAMPLE_GRAD"]]
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    interpolation_mode: int
    scales: tuple[float, ...]
    input_pixel_offsets: tuple[float, ...]
    output_pixel_offsets: tuple[float, ...]

class DML_SLICE_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["SLICE_GRAD"]]
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    input_window_offsets: tuple[int, ...]
    input_window_sizes: tuple[int, ...]
    input_window_strides: tuple[int, ...]

class DML_ADAM_OPTIMIZER_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ADAM_OPTIMIZER"]]
    input_parameters_tensor: TensorDesc
    input_first_moment_tensor: TensorDesc
    input_second_moment_tensor: TensorDesc
    gradient_tensor: TensorDesc
    training_step_tensor: TensorDesc
    output_parameters_tensor: TensorDesc
    output_first_moment_tensor: TensorDesc
    output_second_moment_tensor: TensorDesc
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float

class DML_ARGMIN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ARGMIN"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]
    axis_direction: int

class DML_ARGMAX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ARGMAX"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]
    axis_direction: int

class DML_ROI_ALIGN_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ROI_ALIGN"]]
    input_tensor: TensorDesc
    roi_tensor: TensorDesc
    batch_indices_tensor: TensorDesc
    output_tensor: TensorDesc
    reduction_function: int
    interpolation_mode: int
    spatial_scale_x: float
    spatial_scale_y: float
    out_of_bounds_input_value: float
    minimum_samples_per_output: int
    maximum_samples_per_output: int

class DML_GATHER_ND1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["GATHER_ND1"]]
    input_tensor: TensorDesc
    indices_tensor: TensorDesc
    output_tensor: TensorDesc
    input_dimension_count: int
    indices_dimension_count: int
    batch_dimension_count: int

class DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_ATAN_YX"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_CLIP_GRAD"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    min: float
    max: float

class DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_DIFFERENCE_SQUARE"]]
    a_tensor: TensorDesc
    b_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["LOCAL_RESPONSE_NORMALIZATION_GRAD"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    cross_channel: bool
    local_size: int
    alpha: float
    beta: float
    bias: float

class DML_CUMULATIVE_PRODUCT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["CUMULATIVE_PRODUCT"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axis: int
    axis_direction: int
    has_exclusive_product: bool

class DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["BATCH_NORMALIZATION_GRAD"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    mean_tensor: TensorDesc
    variance_tensor: TensorDesc
    scale_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    output_scale_gradient_tensor: TensorDesc
    output_bias_gradient_tensor: TensorDesc
    epsilon: float

class DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_QUANTIZED_LINEAR_ADD"]]
    a_tensor: TensorDesc
    a_scale_tensor: TensorDesc
    a_zero_point_tensor: TensorDesc | None
    b_tensor: TensorDesc
    b_scale_tensor: TensorDesc
    b_zero_point_tensor: TensorDesc | None
    output_scale_tensor: TensorDesc
    output_zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc

class DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["DYNAMIC_QUANTIZE_LINEAR"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    output_scale_tensor: TensorDesc
    output_zero_point_tensor: TensorDesc

class DML_ROI_ALIGN1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ROI_ALIGN1"]]
    input_tensor: TensorDesc
    roi_tensor: TensorDesc
    batch_indices_tensor: TensorDesc
    output_tensor: TensorDesc
    reduction_function: int
    interpolation_mode: int
    spatial_scale_x: float
    spatial_scale_y: float
    input_pixel_offset: float
    output_pixel_offset: float
    out_of_bounds_input_value: float
    minimum_samples_per_output: int
    maximum_samples_per_output: int
    align_regions_to_corners: bool

class DML_ROI_ALIGN_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ROI_ALIGN_GRAD"]]
    input_tensor: TensorDesc | None
    input_gradient_tensor: TensorDesc
    roi_tensor: TensorDesc
    batch_indices_tensor: TensorDesc
    output_gradient_tensor: TensorDesc | None
    output_roi_gradient_tensor: TensorDesc | None
    reduction_function: int
    interpolation_mode: int
    spatial_scale_x: float
    spatial_scale_y: float
    input_pixel_offset: float
    output_pixel_offset: float
    minimum_samples_per_output: int
    maximum_samples_per_output: int
    align_regions_to_corners: bool

class DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["BATCH_NORMALIZATION_TRAINING"]]
    input_tensor: TensorDesc
    scale_tensor: TensorDesc
    bias_tensor: TensorDesc
    fused_add_tensor: TensorDesc | None
    output_tensor: TensorDesc
    output_mean_tensor: TensorDesc
    output_variance_tensor: TensorDesc
    epsilon: float
    fused_activation: OperatorDesc | None

class DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["BATCH_NORMALIZATION_TRAINING_GRAD"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    mean_tensor: TensorDesc
    variance_tensor: TensorDesc
    scale_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    output_scale_gradient_tensor: TensorDesc
    output_bias_gradient_tensor: TensorDesc
    epsilon: float

class DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_CLIP1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    scale_bias: ScaleBias | None
    min_max_data_type: int
    min: float | int
    max: float | int

class DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_CLIP_GRAD1"]]
    input_tensor: TensorDesc
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    min_max_data_type: int
    min: float | int
    max: float | int

class DML_PADDING1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["PADDING1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    padding_mode: int
    padding_value_data_type: int
    padding_value: float | int
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

class DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ELEMENT_WISE_NEGATE"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_GELU_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_GELU"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc

class DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SOFTMAX1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]

class DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_LOG_SOFTMAX1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]

class DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_HARDMAX1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    axes: tuple[int, ...]

class DML_RESAMPLE2_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RESAMPLE2"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    interpolation_mode: int
    rounding_direction: int
    scales: tuple[float, ...]
    input_pixel_offsets: tuple[float, ...]
    output_pixel_offsets: tuple[float, ...]

class DML_RESAMPLE_GRAD1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RESAMPLE_GRAD1"]]
    input_gradient_tensor: TensorDesc
    output_gradient_tensor: TensorDesc
    interpolation_mode: int
    rounding_direction: int
    scales: tuple[float, ...]
    input_pixel_offsets: tuple[float, ...]
    output_pixel_offsets: tuple[float, ...]

class DML_DIAGONAL_MATRIX1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["DIAGONAL_MATRIX1"]]
    input_tensor: TensorDesc | None
    output_tensor: TensorDesc
    value_data_type: int
    value: float | int
    diagonal_fill_begin: int
    diagonal_fill_end: int

class DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MULTIHEAD_ATTENTION"]]
    query_tensor: TensorDesc | None
    key_tensor: TensorDesc | None
    value_tensor: TensorDesc | None
    stacked_query_key_tensor: TensorDesc | None
    stacked_key_value_tensor: TensorDesc | None
    stacked_query_key_value_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    mask_tensor: TensorDesc | None
    relative_position_bias_tensor: TensorDesc | None
    past_key_tensor: TensorDesc | None
    past_value_tensor: TensorDesc | None
    output_tensor: TensorDesc
    output_present_key_tensor: TensorDesc | None
    output_present_value_tensor: TensorDesc | None
    scale: float
    mask_filter_value: float
    head_count: int
    mask_type: int

class DML_LP_POOLING1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["LP_POOLING1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]
    p: int

class DML_AVERAGE_POOLING1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["AVERAGE_POOLING1"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]
    include_padding: bool

class DML_ACTIVATION_SWISH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_SWISH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    sigmoid_input_scale: float

class DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["ACTIVATION_HARD_SWISH"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    alpha: float
    beta: float

class DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["QUANTIZED_LINEAR_AVERAGE_POOLING"]]
    input_tensor: TensorDesc
    input_scale_tensor: TensorDesc
    input_zero_point_tensor: TensorDesc | None
    output_scale_tensor: TensorDesc
    output_zero_point_tensor: TensorDesc | None
    output_tensor: TensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]
    include_padding: bool

class DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MATRIX_MULTIPLY_INTEGER_TO_FLOAT"]]
    a_tensor: TensorDesc
    a_scale_tensor: TensorDesc
    a_zero_point_tensor: TensorDesc | None
    b_tensor: TensorDesc
    b_scale_tensor: TensorDesc
    b_zero_point_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    output_tensor: TensorDesc

class DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MEAN_VARIANCE_NORMALIZATION2"]]
    input_tensor: TensorDesc
    scale_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    output_tensor: TensorDesc
    axes: tuple[int, ...]
    use_mean: bool
    use_variance: bool
    epsilon: float
    fused_activation: OperatorDesc | None

class DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["MULTIHEAD_ATTENTION1"]]
    query_tensor: TensorDesc | None
    key_tensor: TensorDesc | None
    value_tensor: TensorDesc | None
    stacked_query_key_tensor: TensorDesc | None
    stacked_key_value_tensor: TensorDesc | None
    stacked_query_key_value_tensor: TensorDesc | None
    bias_tensor: TensorDesc | None
    mask_tensor: TensorDesc | None
    relative_position_bias_tensor: TensorDesc | None
    past_key_tensor: TensorDesc | None
    past_value_tensor: TensorDesc | None
    past_sequence_lengths_tensor: TensorDesc | None
    output_tensor: TensorDesc
    output_present_key_tensor: TensorDesc | None
    output_present_value_tensor: TensorDesc | None
    scale: float
    mask_filter_value: float
    query_head_count: int
    key_value_head_count: int
    mask_type: int

class DML_QUANTIZE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["QUANTIZE"]]
    input_tensor: TensorDesc
    quantization_type: int
    quantization_tensors: tuple[TensorDesc, ...]
    output_tensor: TensorDesc

class DML_DEQUANTIZE_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["DEQUANTIZE"]]
    input_tensor: TensorDesc
    quantization_type: int
    quantization_tensors: tuple[TensorDesc, ...]
    output_tensor: TensorDesc

class DML_RESAMPLE3_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["RESAMPLE3"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    interpolation_mode: int
    rounding_direction: int
    scales: tuple[float, ...]
    input_pixel_offsets: tuple[float, ...]
    output_pixel_offsets: tuple[float, ...]
    antialiased: bool

class DML_FOLD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["FOLD"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    window_sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

class DML_UNFOLD_OPERATOR_DESC(OperatorDesc, frozen=True):
    operator: ClassVar[Literal["UNFOLD"]]
    input_tensor: TensorDesc
    output_tensor: TensorDesc
    window_sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

Activation: TypeAlias = (
    DML_ACTIVATION_ELU_OPERATOR_DESC
    | DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC
    | DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC
    | DML_ACTIVATION_LINEAR_OPERATOR_DESC
    | DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC
    | DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC
    | DML_ACTIVATION_RELU_OPERATOR_DESC
    | DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC
    | DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC
    | DML_ACTIVATION_SIGMOID_OPERATOR_DESC
    | DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC
    | DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC
    | DML_ACTIVATION_TANH_OPERATOR_DESC
    | DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC
    | DML_ACTIVATION_SHRINK_OPERATOR_DESC
    | DML_ACTIVATION_CELU_OPERATOR_DESC
    | DML_ACTIVATION_GELU_OPERATOR_DESC
    | DML_ACTIVATION_SWISH_OPERATOR_DESC
    | DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC
)
ActivationReluGrad: TypeAlias = (
    DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC
)
AdamOptimizer: TypeAlias = (
    DML_ADAM_OPTIMIZER_OPERATOR_DESC
)
ArgReduce: TypeAlias = (
    DML_ARGMIN_OPERATOR_DESC
    | DML_ARGMAX_OPERATOR_DESC
)
Attention: TypeAlias = (
    DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
    | DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC
)
AveragePooling: TypeAlias = (
    DML_AVERAGE_POOLING_OPERATOR_DESC
    | DML_AVERAGE_POOLING1_OPERATOR_DESC
    | DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC
)
AveragePoolingGrad: TypeAlias = (
    DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC
)
BatchNormalization: TypeAlias = (
    DML_BATCH_NORMALIZATION_OPERATOR_DESC
    | DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC
)
BatchNormalizationGrad: TypeAlias = (
    DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC
    | DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC
)
Cast: TypeAlias = (
    DML_CAST_OPERATOR_DESC
)
Convolution: TypeAlias = (
    DML_CONVOLUTION_OPERATOR_DESC
    | DML_CONVOLUTION_INTEGER_OPERATOR_DESC
    | DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC
)
Cumulative: TypeAlias = (
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC
    | DML_CUMULATIVE_PRODUCT_OPERATOR_DESC
)
DepthSpace: TypeAlias = (
    DML_SPACE_TO_DEPTH_OPERATOR_DESC
    | DML_DEPTH_TO_SPACE_OPERATOR_DESC
    | DML_DEPTH_TO_SPACE1_OPERATOR_DESC
    | DML_SPACE_TO_DEPTH1_OPERATOR_DESC
)
DiagonalMatrix: TypeAlias = (
    DML_DIAGONAL_MATRIX_OPERATOR_DESC
    | DML_DIAGONAL_MATRIX1_OPERATOR_DESC
)
DynamicQuantize: TypeAlias = (
    DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC
)
ElementWiseBinary: TypeAlias = (
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC
    | DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC
    | DML_ELEMENT_WISE_MAX_OPERATOR_DESC
    | DML_ELEMENT_WISE_MEAN_OPERATOR_DESC
    | DML_ELEMENT_WISE_MIN_OPERATOR_DESC
    | DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC
    | DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC
    | DML_ELEMENT_WISE_ADD1_OPERATOR_DESC
    | DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC
    | DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC
    | DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC
    | DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC
)
ElementWiseBits: TypeAlias = (
    DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC
    | DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC
    | DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC
    | DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC
    | DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC
    | DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC
    | DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC
)
ElementWiseClip: TypeAlias = (
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC
    | DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC
    | DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC
)
ElementWiseClipGrad: TypeAlias = (
    DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC
    | DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC
)
ElementWiseCopy: TypeAlias = (
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC
    | DML_ACTIVATION_IDENTITY_OPERATOR_DESC
    | DML_ELEMENT_WISE_IF_OPERATOR_DESC
)
ElementWiseLogic: TypeAlias = (
    DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC
    | DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC
    | DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC
)
ElementWisePower: TypeAlias = (
    DML_ELEMENT_WISE_POW_OPERATOR_DESC
    | DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC
)
ElementWiseQuantize: TypeAlias = (
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC
    | DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC
    | DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC
)
ElementWiseUnary: TypeAlias = (
    DML_ELEMENT_WISE_ABS_OPERATOR_DESC
    | DML_ELEMENT_WISE_ACOS_OPERATOR_DESC
    | DML_ELEMENT_WISE_ASIN_OPERATOR_DESC
    | DML_ELEMENT_WISE_ATAN_OPERATOR_DESC
    | DML_ELEMENT_WISE_CEIL_OPERATOR_DESC
    | DML_ELEMENT_WISE_COS_OPERATOR_DESC
    | DML_ELEMENT_WISE_EXP_OPERATOR_DESC
    | DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC
    | DML_ELEMENT_WISE_LOG_OPERATOR_DESC
    | DML_ELEMENT_WISE_RECIP_OPERATOR_DESC
    | DML_ELEMENT_WISE_SIN_OPERATOR_DESC
    | DML_ELEMENT_WISE_SQRT_OPERATOR_DESC
    | DML_ELEMENT_WISE_TAN_OPERATOR_DESC
    | DML_ELEMENT_WISE_SIGN_OPERATOR_DESC
    | DML_ELEMENT_WISE_ERF_OPERATOR_DESC
    | DML_ELEMENT_WISE_SINH_OPERATOR_DESC
    | DML_ELEMENT_WISE_COSH_OPERATOR_DESC
    | DML_ELEMENT_WISE_TANH_OPERATOR_DESC
    | DML_ELEMENT_WISE_ASINH_OPERATOR_DESC
    | DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC
    | DML_ELEMENT_WISE_ATANH_OPERATOR_DESC
    | DML_ELEMENT_WISE_ROUND_OPERATOR_DESC
    | DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC
)
FillValue: TypeAlias = (
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC
    | DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC
)
Fold: TypeAlias = (
    DML_FOLD_OPERATOR_DESC
    | DML_UNFOLD_OPERATOR_DESC
)
Gather: TypeAlias = (
    DML_GATHER_OPERATOR_DESC
)
GatherElements: TypeAlias = (
    DML_GATHER_ELEMENTS_OPERATOR_DESC
)
GatherNd: TypeAlias = (
    DML_GATHER_ND_OPERATOR_DESC
    | DML_GATHER_ND1_OPERATOR_DESC
)
Gemm: TypeAlias = (
    DML_GEMM_OPERATOR_DESC
)
JoinSplit: TypeAlias = (
    DML_SPLIT_OPERATOR_DESC
    | DML_JOIN_OPERATOR_DESC
)
LocalResponse: TypeAlias = (
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC
)
LocalResponseGrad: TypeAlias = (
    DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC
)
LpNormalization: TypeAlias = (
    DML_LP_NORMALIZATION_OPERATOR_DESC
)
MatrixMultiply: TypeAlias = (
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC
    | DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC
    | DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC
)
MaxUnpooling: TypeAlias = (
    DML_MAX_UNPOOLING_OPERATOR_DESC
)
MeanVariance: TypeAlias = (
    DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC
    | DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC
    | DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC
)
NonzeroCoordinates: TypeAlias = (
    DML_NONZERO_COORDINATES_OPERATOR_DESC
)
OneHot: TypeAlias = (
    DML_ONE_HOT_OPERATOR_DESC
)
Padding: TypeAlias = (
    DML_PADDING_OPERATOR_DESC
    | DML_PADDING1_OPERATOR_DESC
)
Pooling: TypeAlias = (
    DML_LP_POOLING_OPERATOR_DESC
    | DML_MAX_POOLING_OPERATOR_DESC
    | DML_MAX_POOLING1_OPERATOR_DESC
    | DML_MAX_POOLING2_OPERATOR_DESC
    | DML_LP_POOLING1_OPERATOR_DESC
)
PoolingGrad: TypeAlias = (
    DML_MAX_POOLING_GRAD_OPERATOR_DESC
)
Quantize: TypeAlias = (
    DML_QUANTIZE_OPERATOR_DESC
    | DML_DEQUANTIZE_OPERATOR_DESC
)
RandomGenerator: TypeAlias = (
    DML_RANDOM_GENERATOR_OPERATOR_DESC
)
Recurrent: TypeAlias = (
    DML_RNN_OPERATOR_DESC
    | DML_LSTM_OPERATOR_DESC
    | DML_GRU_OPERATOR_DESC
)
Reduce: TypeAlias = (
    DML_REDUCE_OPERATOR_DESC
)
Resample: TypeAlias = (
    DML_UPSAMPLE_2D_OPERATOR_DESC
    | DML_RESAMPLE_OPERATOR_DESC
    | DML_RESAMPLE1_OPERATOR_DESC
    | DML_RESAMPLE2_OPERATOR_DESC
    | DML_RESAMPLE3_OPERATOR_DESC
)
ResampleGrad: TypeAlias = (
    DML_RESAMPLE_GRAD_OPERATOR_DESC
    | DML_RESAMPLE_GRAD1_OPERATOR_DESC
)
ReverseSubsequences: TypeAlias = (
    DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
)
RoiAlign: TypeAlias = (
    DML_ROI_ALIGN_OPERATOR_DESC
    | DML_ROI_ALIGN1_OPERATOR_DESC
)
RoiAlignGrad: TypeAlias = (
    DML_ROI_ALIGN_GRAD_OPERATOR_DESC
)
RoiPooling: TypeAlias = (
    DML_ROI_POOLING_OPERATOR_DESC
)
Scatter: TypeAlias = (
    DML_SCATTER_OPERATOR_DESC
    | DML_SCATTER_ND_OPERATOR_DESC
)
Slice: TypeAlias = (
    DML_SLICE_OPERATOR_DESC
    | DML_SLICE1_OPERATOR_DESC
)
SliceGrad: TypeAlias = (
    DML_SLICE_GRAD_OPERATOR_DESC
)
Softmax: TypeAlias = (
    DML_ACTIVATION_HARDMAX_OPERATOR_DESC
    | DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC
    | DML_ACTIVATION_SOFTMAX_OPERATOR_DESC
    | DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC
    | DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC
    | DML_ACTIVATION_HARDMAX1_OPERATOR_DESC
)
Tile: TypeAlias = (
    DML_TILE_OPERATOR_DESC
)
TopK: TypeAlias = (
    DML_TOP_K_OPERATOR_DESC
    | DML_TOP_K1_OPERATOR_DESC
)
ValueScale: TypeAlias = (
    DML_VALUE_SCALE_2D_OPERATOR_DESC
)
WithAxis: TypeAlias = (
    DML_SPLIT_OPERATOR_DESC
    | DML_JOIN_OPERATOR_DESC
    | DML_GATHER_OPERATOR_DESC
    | DML_TOP_K_OPERATOR_DESC
    | DML_LP_NORMALIZATION_OPERATOR_DESC
    | DML_SCATTER_OPERATOR_DESC
    | DML_ONE_HOT_OPERATOR_DESC
    | DML_CUMULATIVE_SUMMATION_OPERATOR_DESC
    | DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
    | DML_GATHER_ELEMENTS_OPERATOR_DESC
    | DML_TOP_K1_OPERATOR_DESC
    | DML_CUMULATIVE_PRODUCT_OPERATOR_DESC
)
WithBeta: TypeAlias = (
    DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC
    | DML_ACTIVATION_LINEAR_OPERATOR_DESC
    | DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC
    | DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC
    | DML_GEMM_OPERATOR_DESC
    | DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC
    | DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC
    | DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC
)
WithInputDimensionCount: TypeAlias = (
    DML_GATHER_ND_OPERATOR_DESC
    | DML_SCATTER_ND_OPERATOR_DESC
    | DML_GATHER_ND1_OPERATOR_DESC
)
WithScaleTensor: TypeAlias = (
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC
    | DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC
    | DML_BATCH_NORMALIZATION_OPERATOR_DESC
    | DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC
    | DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC
    | DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC
    | DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC
    | DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC
    | DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC
)
WithScales: TypeAlias = (
    DML_RESAMPLE_OPERATOR_DESC
    | DML_RESAMPLE1_OPERATOR_DESC
    | DML_RESAMPLE_GRAD_OPERATOR_DESC
    | DML_RESAMPLE2_OPERATOR_DESC
    | DML_RESAMPLE_GRAD1_OPERATOR_DESC
    | DML_RESAMPLE3_OPERATOR_DESC
)
WithZeroPointTensor: TypeAlias = (
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC
    | DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC
)
