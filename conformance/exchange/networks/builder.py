"""What builds the graphs of networks: nodes as exporters write them, and weights of which only shapes are known.

Weights are inputs of the graph, so a network of a hundred million parameters is a file of some ten kilobytes. Nodes
have the names of the modules that they stand for, such as `layer1.0.conv2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from math import prod, sqrt
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 19
IR_VERSION = 9  # of the release that had this operator set

FLOATS = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16}


class NetworkGraph:
    """A graph under construction; tensors are known by name.

    Args:
        name: of the graph.
        element: of activations and weights, a key of `FLOATS`.

    Attributes:
        weights: shapes of the parameters.
        buffers: shapes of what training does not learn by gradients and is stored with the weights.
    """

    def __init__(self, name: str, element: str) -> None:
        self.name = name
        self.element = FLOATS[element]
        self.weights: dict[str, tuple[int, ...]] = {}
        self.buffers: dict[str, tuple[int, ...]] = {}
        self._inputs: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self._nodes: list[Any] = []
        self._scope: list[str] = []
        self._count = count()

    @property
    def parameters(self) -> int:
        """How many there are in the weights."""
        return sum(map(prod, self.weights.values()))

    @contextmanager
    def scope(self, *names: object) -> Iterator[None]:
        """Nodes and weights in it have names that begin so."""
        self._scope += map(str, names)
        yield
        del self._scope[-len(names) :]

    def named(self, name: str) -> str:
        """A name in the scope."""
        return ".".join((*self._scope, name))

    def input(self, name: str, shape: Sequence[int], element: int | None = None) -> str:
        """An input of the network."""
        self._inputs.append(helper.make_tensor_value_info(name, element or self.element, list(shape)))
        return name

    def weight(self, name: str, *shape: int, element: int | None = None) -> str:
        """A parameter; the same name is the same one."""
        name = self.named(name)
        if name not in self.weights:
            self.weights[name] = shape
            self.input(name, shape, element)
        return name

    def buffer(self, name: str, *shape: int) -> str:
        """A stored tensor that is no parameter."""
        name = self.named(name)
        self.buffers[name] = shape
        return self.input(name, shape)

    def integers(self, *values: int) -> str:
        """A constant INT64 vector."""
        return self._constant(np.array(values, np.int64))

    def constant(self, value: float, *shape: int, element: int | None = None) -> str:
        """A constant tensor of one value, of the graph's elements if nothing else is said."""
        return self._constant(np.full(shape, value, helper.tensor_dtype_to_np_dtype(element or self.element)))

    def _constant(self, value: np.ndarray[Any, Any]) -> str:
        key = value.dtype.str, value.shape, value.tobytes()
        if key not in self._constants:
            self._constants[key] = numpy_helper.from_array(value, f"constant_{len(self._constants)}")
        return str(self._constants[key].name)

    def node(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """A node with one output; see `nodes`."""
        return self.nodes(op, *inputs, name=name, outputs=1, **attributes)[0]

    def nodes(self, op: str, *inputs: str, outputs: int, name: str = "", **attributes: Any) -> list[str]:
        """A node; without a name of its own it has that of its operator and a number."""
        name = self.named(name or f"{op.lower()}_{next(self._count)}")
        results = [f"{name}.out{n or ''}" for n in range(outputs)]
        self._nodes.append(helper.make_node(op, inputs, results, name, **attributes))
        return results

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The model, checked, with the shape of every tensor.

        Args:
            outputs: tensors that it gives.

        Raises:
            onnx.checker.ValidationError, onnx.shape_inference.InferenceError: it is no valid model.
        """
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, results, list(self._constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model, full_check=True)
        return model

    # Layers.

    def conv(self, name: str, x: str, inputs: int, outputs: int, kernel: int = 1, **options: Any) -> str:
        """A convolution that keeps the size but for its stride.

        Args:
            name: of the node and, with `.weight` and `.bias` added, of its weights.
            x: what is convolved, of `inputs` channels.
            inputs: channels that are read.
            outputs: channels that are made.
            kernel: size along each axis.
            options: `stride`, `groups`, `axes` (how many axes are spatial) and whether there is a `bias`.
        """
        stride, groups, axes = options.get("stride", 1), options.get("groups", 1), options.get("axes", 2)
        weights = [self.weight(f"{name}.weight", outputs, inputs // groups, *(kernel,) * axes)]
        if options.get("bias", False):
            weights.append(self.weight(f"{name}.bias", outputs))
        shape = {"kernel_shape": [kernel] * axes, "strides": [stride] * axes, "pads": [kernel // 2] * (2 * axes)}
        return self.node("Conv", x, *weights, name=name, group=groups, **shape)

    def linear(self, name: str, x: str, inputs: int, outputs: int, *, bias: bool = True) -> str:
        """A product with a matrix of the last axis, and a bias, as exporters write it where there are more than two."""
        product = self.node("MatMul", x, self.weight(f"{name}.weight", inputs, outputs), name=name)
        return self.node("Add", product, self.weight(f"{name}.bias", outputs), name=f"{name}.add") if bias else product

    def gemm(self, name: str, x: str, inputs: int, outputs: int) -> str:
        """A fully connected layer of a matrix of rows."""
        weights = self.weight(f"{name}.weight", outputs, inputs), self.weight(f"{name}.bias", outputs)
        return self.node("Gemm", x, *weights, name=name, transB=1)

    def batch_norm(self, name: str, x: str, channels: int, epsilon: float = 1e-5) -> str:
        """Normalization by statistics that are stored."""
        weights = [self.weight(f"{name}.{of}", channels) for of in ("weight", "bias")]
        statistics = [self.buffer(f"{name}.{of}", channels) for of in ("running_mean", "running_var")]
        return self.node("BatchNormalization", x, *weights, *statistics, name=name, epsilon=epsilon)

    def layer_norm(self, name: str, x: str, channels: int, epsilon: float = 1e-5) -> str:
        """Normalization of the last axis."""
        weights = [self.weight(f"{name}.{of}", channels) for of in ("weight", "bias")]
        return self.node("LayerNormalization", x, *weights, name=name, axis=-1, epsilon=epsilon)

    def gelu(self, x: str) -> str:
        """x / 2 * (1 + erf(x / sqrt(2))), as exporters write it."""
        erf = self.node("Erf", self.node("Div", x, self.constant(sqrt(2))))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.constant(1))), self.constant(0.5))

    def heads(self, x: str, tokens: int, heads: int, width: int) -> str:
        """(batch, tokens, heads * width) as (batch, heads, tokens, width)."""
        split = self.node("Reshape", x, self.integers(-1, tokens, heads, width))
        return self.node("Transpose", split, perm=[0, 2, 1, 3])

    def attention(self, query: str, key: str, value: str, shape: tuple[int, int, int], mask: str = "") -> str:
        """Attention of heads to heads, put together as (batch, tokens, channels).

        Args:
            query, key, value: (batch, heads, tokens, width).
            shape: tokens, heads and width of the query.
            mask: is added to the scores.
        """
        tokens, heads, width = shape
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 1, 3, 2]), name="scores")
        scores = self.node("Mul", scores, self.constant(1 / sqrt(width)), name="scale")
        if mask:
            scores = self.node("Add", scores, mask, name="mask")
        context = self.node("MatMul", self.node("Softmax", scores, axis=-1, name="softmax"), value, name="context")
        together = self.node("Transpose", context, perm=[0, 2, 1, 3])
        return self.node("Reshape", together, self.integers(-1, tokens, heads * width))

    def additive_mask(self, mask: str) -> str:
        """A mask of INT64, 1 for tokens that count, as what is added to scores: 0 and -10000."""
        wide = self.node("Cast", self.node("Unsqueeze", mask, self.integers(1, 2)), to=self.element)
        return self.node("Mul", self.node("Sub", self.constant(1), wide), self.constant(-10000), name="mask")
