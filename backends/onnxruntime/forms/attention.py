"""MULTIHEAD_ATTENTION and its successor, of products of matrices and a softmax: ONNX's own has other masks."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.onnxruntime.forms._rows import named
from dml_conformance.backends.onnxruntime.graph import BOOL, FormGraph, FormValue, NoForm

SINGLE = ("query_tensor", "key_tensor", "value_tensor")
# Which of query, key and value are in a stacked tensor.
STACKED = {
    "stacked_query_key_tensor": (0, 1),
    "stacked_key_value_tensor": (1, 2),
    "stacked_query_key_value_tensor": (0, 1, 2),
}


def attention(graph: FormGraph, desc: Any) -> None:
    if getattr(desc, "past_sequence_lengths_tensor", None) is not None:
        raise NoForm("lengths of the past, which the pages leave open")
    query_heads = getattr(desc, "query_head_count", getattr(desc, "head_count", 0))
    key_heads = getattr(desc, "key_value_head_count", query_heads)
    counts = (query_heads, key_heads, key_heads)
    parts = _heads(graph, desc, counts)
    if desc.bias_tensor is not None:
        parts = _biased(graph, desc, parts, counts)
    query, key, value = parts
    if desc.past_key_tensor is not None:
        key = _behind(graph, desc, "past_key_tensor", key)
        value = _behind(graph, desc, "past_value_tensor", value)
    for field, present in (("output_present_key_tensor", key), ("output_present_value_tensor", value)):
        if getattr(desc, field) is not None:
            graph.output(field, present)
    if query_heads != key_heads:
        shared = graph.constant([head * key_heads // query_heads for head in range(query_heads)])
        key, value = (graph.node("Gather", each, shared, axis=1) for each in (key, value))
    scores = graph.node("MatMul", query, graph.node("Transpose", key, perm=[0, 1, 3, 2]))
    scores = graph.node("Mul", scores, graph.constant(desc.scale, "FLOAT32"))
    if desc.relative_position_bias_tensor is not None:
        sizes = desc.relative_position_bias_tensor.sizes[-4:]
        scores = graph.node("Add", scores, graph.number("relative_position_bias_tensor", sizes=sizes))
    if desc.mask_tensor is not None:
        filtered = graph.node("Add", scores, graph.constant(desc.mask_filter_value, "FLOAT32"))
        scores = graph.node("Where", _seen(graph, desc, key), scores, filtered, kind="FLOAT32")
    found = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)
    graph.output("output_tensor", graph.node("Transpose", found, perm=[0, 2, 1, 3]))


def _heads(graph: FormGraph, desc: Any, counts: tuple[int, ...]) -> list[FormValue]:
    """Query, key and value, each by batch, head, place and element."""
    found: dict[int, FormValue] = {}
    for place, field in enumerate(SINGLE):
        if (tensor := getattr(desc, field)) is not None:
            batch, length, row = tensor.sizes[-3:]
            sizes = (batch, length, counts[place], row // counts[place])
            found[place] = graph.node("Transpose", graph.number(field, sizes=sizes), perm=[0, 2, 1, 3])
    for field, places in STACKED.items():
        if getattr(desc, field) is not None:
            stacked = graph.number(field)
            for number, place in enumerate(places):
                part = graph.node("Gather", stacked, graph.constant(number), axis=3)
                found[place] = graph.node("Transpose", part, perm=[0, 2, 1, 3])
    return [found[place] for place in range(3)]


def _biased(graph: FormGraph, desc: Any, parts: list[FormValue], counts: tuple[int, ...]) -> list[FormValue]:
    """With a bias for each element of each head, those of query, key and value one after another."""
    bias = graph.number("bias_tensor", sizes=(desc.bias_tensor.element_count,))
    found, start = [], 0
    for part, row, heads in zip(parts, _rows(desc, counts), counts, strict=True):
        own = graph.node("Slice", bias, graph.constant([start]), graph.constant([start + row]))
        own = graph.node("Reshape", own, graph.constant([heads, 1, row // heads]))
        found.append(graph.node("Add", part, own))
        start += row
    return found


def _rows(desc: Any, counts: tuple[int, ...]) -> list[int]:
    """How many elements a query, a key and a value have in all heads."""
    found = {place: getattr(desc, field).sizes[-1] for place, field in enumerate(SINGLE) if getattr(desc, field)}
    for field, places in STACKED.items():
        if (tensor := getattr(desc, field)) is not None:
            found |= {place: counts[place] * tensor.sizes[-1] for place in places}
    return [found[place] for place in range(3)]


def _behind(graph: FormGraph, desc: Any, field: str, part: FormValue) -> FormValue:
    """Keys or values behind those from before."""
    return graph.node("Concat", graph.number(field, sizes=getattr(desc, field).sizes[-4:]), part, axis=2)


def _seen(graph: FormGraph, desc: Any, key: FormValue) -> FormValue:
    """Which keys a query is compared with in earnest."""
    kind, tensor = named(desc, "mask_type"), desc.mask_tensor
    if kind == "BOOLEAN":
        return graph.cast(graph.input("mask_tensor", sizes=tensor.sizes[-4:]), BOOL)
    count = graph.node("Shape", key, kind="INT64", start=2, end=3)
    zero, one = graph.constant(0), graph.constant(1)
    places = graph.node("Range", zero, graph.node("Squeeze", count), one)
    batch = tensor.sizes[-1]
    if kind == "KEY_SEQUENCE_LENGTH":
        return graph.node("Less", places, graph.index("mask_tensor", sizes=(batch, 1, 1, 1)), kind=BOOL)
    if kind == "KEY_SEQUENCE_END_START":
        ends = graph.index("mask_tensor", sizes=(2, batch, 1, 1, 1))
        end, start = (graph.node("Gather", ends, graph.constant(number), axis=0) for number in (0, 1))
        is_before = graph.node("Less", places, end, kind=BOOL)
        return graph.node("And", graph.node("GreaterOrEqual", places, start, kind=BOOL), is_before, kind=BOOL)
    raise NoForm(f"a mask of {kind}, which the pages leave open")


FORMS = dict.fromkeys(("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"), attention)
