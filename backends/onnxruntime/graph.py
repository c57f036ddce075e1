"""A model of ONNX as it is put together for one descriptor, in plain values, without onnx.

Element types are named as DirectML names them, and `BOOL` is one more. A graph has no sizes: those of its inputs are
whatever is fed, so that one model serves many shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dml_conformance.backends.onnxruntime.table import NodeRow
from dml_conformance.spec.descriptor import OperatorDesc, tensor_at

BOOL = "BOOL"
# The opset of a model whose nodes need no newer one.
OPSET = 20


class NoForm(Exception):
    """A valid descriptor that no nodes of ONNX compute; the message says what of it."""


class FormValue(NamedTuple):
    """What a node reads or writes: its name in the graph, and its element type."""

    name: str
    kind: str


class FormNode(NamedTuple):
    """One node of a graph; a name of "" is an input that is left out."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    domain: str


class FormLayout(NamedTuple):
    """How a tensor of the descriptor becomes an array of the graph, or the other way, by moving alone.

    Attributes:
        key: of the slot.
        kind: the element type of the array: that of the tensor, or another one of as many bits.
        order: the tensor's dimensions in the order in which the array has them; None for their own.
        sizes: of the array, elements in the same order; None for those of the ordered tensor.
    """

    key: str
    kind: str
    order: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None


# Of nodes that are defined for more types than ONNX Runtime has kernels of: those that it has on the CPU. Of others the
# elements are brought to one of these that holds all of their values, or all of their bits, and back.
WORDS = "INT32 INT64"
WHOLE = "INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64"
KERNELS = {
    "Celu": frozenset({"FLOAT32"}),
    **{
        name: frozenset(f"FLOAT32 FLOAT16 {kinds}".split())
        for name, kinds in {
            "Neg": "INT8 INT16 INT32 INT64",
            "Max": "FLOAT64 INT8 INT32 INT64 UINT8 UINT32 UINT64",
            "Min": "FLOAT64 INT8 INT32 INT64 UINT8 UINT32 UINT64",
            "Clip": "INT8 INT32 INT64 UINT8 UINT32 UINT64",
            "Pow": f"FLOAT64 {WORDS}",
            "Relu": "INT8 INT32",
            "ReduceSum": WORDS,
            "ReduceMean": WORDS,
            "ReduceProd": WORDS,
            "ReduceL1": WORDS,
            "ReduceSumSquare": WORDS,
            "ReduceMax": f"INT8 UINT8 {WORDS}",
            "ReduceMin": f"INT8 UINT8 {WORDS}",
            "ArgMin": f"INT8 UINT8 {WORDS}",
            "ArgMax": f"INT8 UINT8 {WORDS}",
            "TopK": f"INT8 INT16 UINT8 {WORDS}",
            "CumSum": WORDS,
            "CumProd": f"{WORDS} UINT32 UINT64",
            "MaxPool": "INT8 UINT8 FLOAT64",
            "Pad": "FLOAT64 INT8 INT32 INT64 UINT8 UINT32 UINT64",
        }.items()
    },
}
# Nodes that move elements, and the types of which the runtime has kernels; other elements are moved as one of these
# that has as many bits, or a wider one.
ALL_BUT_FLOAT16 = f"FLOAT32 FLOAT64 {WHOLE}"
MOVERS = {
    name: frozenset(kinds.split())
    for name, kinds in {
        "Tile": ALL_BUT_FLOAT16,
        "Where": "FLOAT32 FLOAT64 INT8 INT32 INT64 UINT8 UINT32",
        "Pad": "FLOAT32 FLOAT64 INT8 INT32 INT64 UINT8 UINT32 UINT64",
        "DepthToSpace": "FLOAT32 FLOAT64 INT8 UINT8",
        "SpaceToDepth": "FLOAT32 FLOAT64 INT8 UINT8",
        "Resize": "FLOAT32 INT32 INT8 UINT8",
    }.items()
}
# All of them, of any node that is not named here.
EVERY = frozenset(f"FLOAT16 {ALL_BUT_FLOAT16}".split())
CARRIERS = {
    "FLOAT16": ("FLOAT32",),
    "INT8": ("INT32", "INT64", "FLOAT32", "FLOAT64"),
    "UINT8": ("INT32", "INT64", "FLOAT32", "FLOAT64"),
    "INT16": ("INT32", "INT64", "FLOAT32", "FLOAT64"),
    "UINT16": ("INT32", "INT64", "FLOAT32", "FLOAT64"),
    "INT32": ("INT64", "FLOAT64"),
    "UINT32": ("INT64", "FLOAT64"),
}
BITS = {
    1: ("UINT8", "INT8"),
    2: ("UINT16", "INT16"),
    4: ("UINT32", "INT32", "FLOAT32"),
    8: ("UINT64", "INT64", "FLOAT64"),
}
# Where the sums, products and differences of the bits are the bits of those, whatever the sign.
MODULAR = frozenset({"ReduceSum", "ReduceProd", "ReduceSumSquare", "CumSum", "Pow"})


def numpy_type(kind: str) -> np.dtype[Any]:
    """NumPy's name of an element type."""
    return np.dtype(np.bool_ if kind == BOOL else kind.lower())


def is_float(kind: str) -> bool:
    return kind.startswith("FLOAT")


class FormGraph:
    """The nodes that compute a descriptor.

    Args:
        desc: valid.

    Attributes:
        nodes: in an order in which they can be run.
        inputs: by name, how each is made of a tensor.
        constants: by name.
        kinds: the element types of the constants.
        outputs: by name, how each becomes a tensor.
        opset: the least one of ONNX's own domain that the nodes need.
    """

    def __init__(self, desc: OperatorDesc) -> None:
        self.desc = desc
        self.nodes: list[FormNode] = []
        self.inputs: dict[str, FormLayout] = {}
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.kinds: dict[str, str] = {}
        self.outputs: dict[str, FormLayout] = {}
        self.opset = OPSET

    def input(
        self,
        key: str,
        *,
        sizes: Sequence[int] | None = None,
        order: Sequence[int] | None = None,
        kinds: frozenset[str] | None = None,
    ) -> FormValue:
        """A tensor of the descriptor.

        Args:
            key: of its slot.
            sizes: of the array, see `Layout`.
            order: of the dimensions, likewise.
            kinds: element types that will do, where the elements are only moved.
        """
        kind = self._kind(key) if kinds is None else moved_as(self._kind(key), kinds)
        layout = FormLayout(key, kind, None if order is None else tuple(order), None if sizes is None else tuple(sizes))
        for name, other in self.inputs.items():
            if other == layout:
                return FormValue(name, kind)
        name = key if key not in self.inputs else f"{key}{len(self.inputs)}"
        self.inputs[name] = layout
        return FormValue(name, kind)

    def number(self, key: str, *, sizes: Sequence[int] | None = None, order: Sequence[int] | None = None) -> FormValue:
        """A tensor as input of several nodes: FLOAT16 becomes FLOAT32, so that nothing is rounded between them."""
        value = self.input(key, sizes=sizes, order=order)
        return self.cast(value, "FLOAT32") if value.kind == "FLOAT16" else value

    def index(self, key: str, *, sizes: Sequence[int] | None = None) -> FormValue:
        """A tensor of indices, as INT64."""
        return self.cast(self.input(key, sizes=sizes), "INT64")

    def mover(self, key: str, op_type: str, kinds: frozenset[str] | None = None, **layout: Any) -> FormValue:
        """A tensor whose elements a node is to move, in a type of which the runtime has kernels, or one of `kinds`."""
        kinds = kinds or MOVERS.get(op_type, EVERY)
        value = self.input(key, kinds=kinds, **layout)
        return value if value.kind in kinds else self.cast(value, widened(value.kind, kinds))

    def constant(self, numbers: Any, kind: str = "INT64") -> FormValue:
        """A tensor of the model; numbers beyond the largest of a floating-point type are infinite in it."""
        name = f"constant{len(self.constants)}"
        self.kinds[name] = kind
        with np.errstate(over="ignore"):
            self.constants[name] = np.asarray(numbers, numpy_type(kind))
        return FormValue(name, kind)

    def cast(self, value: FormValue, kind: str) -> FormValue:
        """The value in another element type."""
        return value if value.kind == kind else self._add("Cast", (value,), (kind,), {"to": kind}, "")[0]

    def node(
        self, op_type: str, *inputs: FormValue | None, kind: str | None = None, domain: str = "", **attributes: Any
    ) -> FormValue:
        """The output of a node that has one; see `results`."""
        return self.results(op_type, *inputs, kinds=(kind,), domain=domain, **attributes)[0]

    def results(
        self,
        op_type: str,
        *inputs: FormValue | None,
        kinds: Sequence[str | None],
        domain: str = "",
        **attributes: Any,
    ) -> list[FormValue]:
        """The outputs of a node.

        Where the runtime has no kernel for the type of the first input, that and all others of the same type are
        brought to one that it has.

        Args:
            op_type: ONNX's.
            inputs: None for one that is left out.
            kinds: element types of the outputs; None is that of the first input.
            domain: of the node.
            attributes: likewise.

        Raises:
            NoForm: there is no such type.
        """
        first = inputs[0]
        assert first is not None
        carrier = self._carrier(op_type, first.kind)
        brought = [self.cast(each, carrier) if each and each.kind == first.kind else each for each in inputs]
        found = self._add(op_type, brought, [kind or carrier for kind in kinds], attributes, domain)
        return [self.cast(each, kind or first.kind) for each, kind in zip(found, kinds, strict=True)]

    def need(self, row: NodeRow) -> None:
        """Have the opset of a row, where it is newer."""
        if not row.domain:
            self.opset = max(self.opset, row.since)

    def output(
        self, key: str, value: FormValue, *, sizes: Sequence[int] | None = None, order: Sequence[int] | None = None
    ) -> None:
        """What a tensor of the descriptor becomes: the value, in the type of the tensor.

        Args:
            key: of its slot.
            value: moved elements may have another type of as many bits.
            sizes: of the ordered tensor, where the value's are others.
            order: of the tensor's dimensions in the value.
        """
        kind = self._kind(key)
        layout = FormLayout(key, kind, None if order is None else tuple(order), None if sizes is None else tuple(sizes))
        self._put(self.cast(value, kind), layout)

    def moved(
        self, key: str, value: FormValue, *, sizes: Sequence[int] | None = None, order: Sequence[int] | None = None
    ) -> None:
        """What a tensor of the descriptor becomes, bit for bit: a value that was read as `kinds` of it has."""
        kind = self._kind(key)
        if numpy_type(value.kind).itemsize != numpy_type(kind).itemsize:
            value = self.cast(value, BITS[numpy_type(kind).itemsize][0])
        layout = FormLayout(
            key, value.kind, None if order is None else tuple(order), None if sizes is None else tuple(sizes)
        )
        self._put(value, layout)

    def _put(self, value: FormValue, layout: FormLayout) -> None:
        if value.name in self.inputs or value.name in self.constants or value.name in self.outputs:
            value = self._add("Identity", (value,), (value.kind,), {}, "")[0]
        self.outputs[value.name] = layout

    def _kind(self, key: str) -> str:
        tensor = tensor_at(self.desc, key)
        assert tensor is not None
        return tensor.data_type.unpacked.name

    def _add(
        self,
        op_type: str,
        inputs: Sequence[FormValue | None],
        kinds: Sequence[str],
        attributes: Mapping[str, Any],
        domain: str,
    ) -> list[FormValue]:
        given = [each.name if each else "" for each in inputs]
        while given and not given[-1]:
            given.pop()
        found = [FormValue(f"value{len(self.nodes)}_{n}", kind) for n, kind in enumerate(kinds)]
        self.nodes.append(FormNode(op_type, tuple(given), tuple(each.name for each in found), attributes, domain))
        return found

    @staticmethod
    def _carrier(op_type: str, kind: str) -> str:
        kernels = KERNELS.get(op_type)
        if kernels is None or kind in kernels or kind == BOOL:
            return kind
        if op_type in MODULAR and kind == "UINT64":
            return "INT64"
        for carrier in CARRIERS.get(kind, ()):
            if carrier in kernels:
                return carrier
        raise NoForm(f"{op_type} of {kind}")


def widened(kind: str, kinds: frozenset[str]) -> str:
    """A type that holds all numbers of another one."""
    return next(each for each in CARRIERS[kind] if each in kinds)


def moved_as(kind: str, kinds: frozenset[str]) -> str:
    """The type in which elements are moved: their own, or one of as many bits, or else bits to be widened."""
    if kind in kinds:
        return kind
    bits = BITS[numpy_type(kind).itemsize]
    return next((each for each in bits if each in kinds), bits[0])
