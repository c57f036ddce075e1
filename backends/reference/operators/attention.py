"""Multi-head attention: scores of queries and keys, what is added to them, and the means of values that they weigh."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, concatenate, either, known, where
from dml_conformance.backends.reference.layout import Array, Arrays, Compute, as_numbers
from dml_conformance.backends.reference.operators._fused import rounded_or_not
from dml_conformance.backends.reference.operators.softmax import softmax
from dml_conformance.backends.reference.parts import Cut, CutRows, Cuts, Spans
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import Slot, attribute_of, inputs, outputs, with_tensors
from dml_conformance.spec.operators.attention import HOLDS, MASK_TYPE, SPECS, STACKED, Parts, parts
from dml_conformance.spec.structures import Attention

PRESENT = {"output_present_key_tensor": "k", "output_present_value_tensor": "v"}
INTEGERS = ("mask_tensor", "past_sequence_lengths_tensor")
Heads = dict[str, Enclosure]  # query, key and value, as q, k and v, of sizes {batch, heads, length, size of a head}


def attention(desc: Attention, arrays: Arrays) -> dict[str, Any]:
    """output = softmax(query @ key.T * Scale + bias + mask) @ value, of each head"""
    return {slot.key: partial(_output, desc, arrays, slot) for slot in outputs(desc)}


def _output(desc: Attention, arrays: Arrays, slot: Slot, tolerance: Tolerance) -> Enclosure:
    data_type, sizes, evaluation = desc.output_tensor.data_type, parts(desc), Evaluation(tolerance)
    assert isinstance(sizes, Parts)
    numbers = {key: evaluation.of(as_numbers(array, data_type)) for key, array in arrays.items() if key not in INTEGERS}
    plain = _heads(desc, numbers, sizes)
    biased = _biased(plain, numbers, sizes, data_type)
    if slot.key in PRESENT:  # with the bias or not
        of = PRESENT[slot.key]
        found = _behind(numbers, of, either(plain[of], biased[of]))
    else:
        # Heads of queries share those of keys and values in runs.
        shared = np.arange(sizes.query.heads) * sizes.key.heads // sizes.query.heads
        q, (k, v) = biased["q"], (_behind(numbers, of, biased[of])[:, shared] for of in "kv")
        products = rounded_or_not(_scores(q, k.permute(0, 1, 3, 2), desc.scale, data_type), data_type)
        of_places = numbers.get("relative_position_bias_tensor")
        if of_places is not None:
            of_places = of_places.reshape(*sizes.scores)
        found = _attended(desc, arrays, products, of_places, v, data_type).permute(0, 2, 1, 3)
    return found.reshape(*slot.tensor.sizes).to(data_type)


def _heads(desc: Attention, numbers: dict[str, Enclosure], sizes: Parts) -> Heads:
    """Query, key and value as they stand in the inputs."""
    found: Heads = {}
    wanted = dict(zip("qkv", sizes[:3], strict=True))
    for name, held in HOLDS.items():
        if (key := attribute_of(name)) in numbers:
            for n, of in enumerate(held):
                part = numbers[key][:, :, :, n] if name in STACKED else numbers[key]
                found[of] = part.reshape(*_as_rows(wanted[of])).permute(0, 2, 1, 3)
    return found


def _as_rows(part: Any) -> tuple[int, int, int, int]:
    return part.batch, part.length, part.heads, part.size


def _biased(plain: Heads, numbers: dict[str, Enclosure], sizes: Parts, data_type: DataType) -> Heads:
    """With the bias, which is that of queries, keys and values in turn."""
    if "bias_tensor" not in numbers:
        return plain
    found, start = {}, 0
    bias = numbers["bias_tensor"].reshape(-1)
    for of, part in zip("qkv", sizes[:3], strict=True):
        own = bias[start : start + part.hidden].reshape(1, part.heads, 1, part.size)
        found[of], start = rounded_or_not(plain[of] + own, data_type), start + part.hidden
    return found


def _behind(numbers: dict[str, Enclosure], of: str, new: Enclosure) -> Enclosure:
    """New keys or values behind those from before."""
    key = {"k": "past_key_tensor", "v": "past_value_tensor"}[of]
    if key not in numbers:
        return new
    past = numbers[key]
    return concatenate([past.reshape(*past.shape[-4:]), new], 2)


def _scores(q: Enclosure, k: Enclosure, scale: float, data_type: DataType) -> Enclosure:
    """The products of queries and keys, which are scaled, or are those of queries that are."""
    product = q.product(k, data_type)
    return product if scale == 1.0 else either(product * scale, (q * scale).product(k, data_type))


def _attended(
    desc: Attention, arrays: Arrays, products: Enclosure, of_places: Enclosure | None, v: Enclosure, data_type: DataType
) -> Enclosure:
    """The values, weighed. MaskFilterValue is added to what is masked, or to its bias first, or stands in its place."""
    scores = products if of_places is None else rounded_or_not(products + of_places, data_type)
    if desc.mask_tensor is None:
        return _weighed(scores, v, data_type)
    is_masked, is_open = masked(desc, arrays["mask_tensor"].view("<i4"), scores.shape)
    added, kept = scores + desc.mask_filter_value, known(~is_masked)
    if of_places is not None:
        added = either(added, products + rounded_or_not(of_places + desc.mask_filter_value, data_type))
    choices = (where(kept, scores, other) for other in (added, scores.operand(desc.mask_filter_value)))
    both = rounded_or_not(concatenate(list(choices), 0), data_type)
    found = _weighed(both, concatenate([v, v], 0), data_type)
    found = either(found[: len(is_masked)], found[len(is_masked) :])
    # Of what is masked a library may look at nothing.
    is_lost = is_masked.astype(np.float64) @ (~np.isfinite(v.low) | ~np.isfinite(v.high)) > 0
    return found.opened(is_open | is_lost)


def _weighed(scores: Enclosure, v: Enclosure, data_type: DataType) -> Enclosure:
    """The means of the values; of a query that has nothing but negatively infinite scores a NaN or 0."""
    weights = softmax(scores, (3,), data_type)
    sees_nothing = np.all(scores.low == -np.inf, axis=3, keepdims=True)
    if sees_nothing.any():
        weights = where(known(sees_nothing), either(weights.operand(0.0), weights), weights)
    return rounded_or_not(weights, data_type).product(v, data_type)


def masked(desc: Attention, mask: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Which scores are masked, and for which queries it is not said."""
    batch, keys = shape[0], np.arange(shape[3])
    of_queries = (*shape[:3], 1)
    if desc.mask_type == MASK_TYPE.BOOLEAN:
        mask = mask.reshape(shape)
        return mask == 0, np.any((mask != 0) & (mask != 1), axis=3, keepdims=True)
    if desc.mask_type == MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END:
        return np.zeros(shape, np.bool_), np.ones(of_queries, np.bool_)
    rows = mask.reshape(-1, batch, 1, 1, 1)
    is_masked = keys >= rows[0]
    if desc.mask_type == MASK_TYPE.KEY_SEQUENCE_END_START:
        is_masked = is_masked | (keys < rows[1])
    is_open = np.any((rows < 0) | (rows > shape[3]), axis=0)
    return np.broadcast_to(is_masked, shape), np.broadcast_to(is_open, of_queries)


def _cut(desc: Attention, arrays: Arrays, batch: slice, queries: slice) -> tuple[Any, Arrays]:
    """What these queries, or their keys and values, are computed from."""
    every = slice(None)
    scores = (batch, every, queries, every)
    masks = {MASK_TYPE.BOOLEAN: scores, MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END: ()}
    boxes = dict.fromkeys((attribute_of(name) for name in STACKED), (batch, *(every,) * 4)) | {
        "query_tensor": (batch, queries, every),
        **dict.fromkeys(("key_tensor", "value_tensor"), (batch, every, every)),
        "bias_tensor": (),
        "mask_tensor": masks.get(desc.mask_type, (batch,)),
        "relative_position_bias_tensor": scores,
        **dict.fromkeys(("past_key_tensor", "past_value_tensor"), (batch, every, every, every)),
        "past_sequence_lengths_tensor": (),
    }
    found = {key: array[..., *boxes[key]] for key, array in arrays.items()}
    tensors = {slot.key: msgspec.structs.replace(slot.tensor, sizes=found[slot.key].shape) for slot in inputs(desc)}
    return with_tensors(desc, tensors), found


def cut_output(desc: Attention, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    return _cut(desc, arrays, *spans[-3:-1])


def cut_present(desc: Attention, spans: Spans, arrays: Arrays) -> tuple[Any, Arrays]:
    return _cut(desc, arrays, spans[-4], slice(None))


def axes_of_output(desc: Attention) -> tuple[int, ...]:
    """Along rows, which have all heads; and along queries where keys stand in one tensor with them."""
    rank = len(desc.output_tensor.sizes)
    return tuple(range(rank - (1 if desc.query_tensor is not None else 2), rank))


def axes_of_present(key: str, desc: Attention) -> tuple[int, ...]:
    """Along all dimensions but the batch."""
    rank = len(getattr(desc, key).sizes)
    return tuple(range(rank - 3, rank))


OPERATORS: dict[str, Compute] = {spec.name: attention for spec in SPECS}
_CUTS: dict[str, Cut] = {
    "output_tensor": CutRows(axes_of_output, cut_output),
    **{key: CutRows(partial(axes_of_present, key), cut_present) for key in PRESENT},
}
CUTS: dict[str, Cuts] = dict.fromkeys(OPERATORS, _CUTS)
