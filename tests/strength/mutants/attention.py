"""Attention that takes heads, keys or masks for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dml_conformance.backends.reference.layout import NUMBERS, UNSIGNED, as_numbers
from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.operators.attention import HOLDS, MASK_TYPE, STACKED, head_counts
from strength.mutants.base import Arrays, Mutant, WrongValues, plants
from strength.mutants.sums import in_float16

GROUPED = ("key_value_head_count",)


class OtherAttention(WrongValues, abstract=True):
    """Attends in FLOAT64, and does one thing wrong; a mask whose meaning is open masks nothing."""

    families = ("attention",)

    def found(self, desc: Any, arrays: Arrays) -> Arrays:
        kind = NUMBERS[desc.output_tensor.data_type]
        with np.errstate(all="ignore"):
            numbers = {
                key: of.view("<i4")
                if key == "mask_tensor"
                else as_numbers(of, desc.output_tensor.data_type).astype("f8")
                for key, of in arrays.items()
            }
            heads = self.heads(desc, numbers)
            q, k, v = self.biased(heads, numbers.get("bias_tensor"))
            k, v = (self.joined(numbers.get(key), of) for key, of in (("past_key_tensor", k), ("past_value_tensor", v)))
            keys, values = self.shared(k, q.shape[1]), self.shared(v, q.shape[1])
            scores = self.scores(q, keys, desc.scale, numbers.get("relative_position_bias_tensor"))
            if "mask_tensor" in numbers:
                past = k.shape[2] - heads[1].shape[2]
                scores = np.where(
                    self.masked(desc, numbers["mask_tensor"], scores.shape, past), self.filtered(scores, desc), scores
                )
            rows = self.weighed(self.weights(scores), values).swapaxes(1, 2)
            found = {
                "output_tensor": rows,
                "output_present_key_tensor": k,
                "output_present_value_tensor": v,
            }
            return {
                key: np.ascontiguousarray(of.astype(kind)).view(UNSIGNED[kind.itemsize]).reshape(tensor.sizes)
                for key, of in found.items()
                if (tensor := getattr(desc, key)) is not None
            }

    def heads(self, desc: Any, numbers: Any) -> list[Any]:
        """Query, key and value: batch, heads, length, elements."""
        found = {}
        counts = head_counts(desc)
        for name, held in HOLDS.items():
            if (key := attribute_of(name)) not in numbers:
                continue
            for n, of in enumerate(held):
                if name in STACKED:
                    found[of] = self.unstacked(numbers[key], n)
                else:
                    found[of] = self.split(numbers[key].reshape(numbers[key].shape[-3:]), counts[of])
        return [found[of].swapaxes(1, 2) for of in "qkv"]

    def split(self, rows: Any, heads: int) -> Any:
        return rows.reshape(*rows.shape[:2], heads, -1)

    def unstacked(self, stacked: Any, n: int) -> Any:
        return stacked[:, :, :, n]

    def biased(self, heads: list[Any], bias: Any) -> list[Any]:
        return heads if bias is None else [of + own for of, own in zip(heads, biases(heads, bias), strict=True)]

    def joined(self, past: Any, new: Any) -> Any:
        return new if past is None else np.concatenate([past.reshape(past.shape[-4:]), new], 2)

    def shared(self, of: Any, heads: int) -> Any:
        """Keys or values of each head of queries."""
        return np.repeat(of, heads // of.shape[1], 1)

    def scores(self, q: Any, k: Any, scale: float, bias: Any) -> Any:
        products = q @ k.swapaxes(2, 3) * scale
        return products if bias is None else products + bias.reshape(products.shape)

    def masked(self, desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
        """Where scores are masked, of which there are `past` keys from before."""
        return masked(desc, mask, shape)

    def filtered(self, scores: Any, desc: Any) -> Any:
        return scores + desc.mask_filter_value

    def weights(self, scores: Any) -> Any:
        return softmax(scores)

    def weighed(self, weights: Any, v: Any) -> Any:
        return weights @ v


def biases(heads: list[Any], bias: Any) -> list[Any]:
    """The bias of each, one behind the other."""
    sizes = [of.shape[1] * of.shape[3] for of in heads]
    own = np.split(bias.reshape(-1), np.cumsum(sizes)[:-1])
    return [row.reshape(of.shape[1], 1, of.shape[3]) for row, of in zip(own, heads, strict=True)]


def masked(desc: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    keys = np.arange(shape[3])
    if desc.mask_type == MASK_TYPE.BOOLEAN:
        return mask.reshape(shape) == 0
    if desc.mask_type == MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END:
        return np.zeros(shape, np.bool_)
    rows = mask.reshape(-1, shape[0], 1, 1, 1)
    is_behind = keys >= rows[0]
    is_before = keys < (rows[1] if desc.mask_type == MASK_TYPE.KEY_SEQUENCE_END_START else 0)
    return np.broadcast_to(is_behind | is_before, shape)


def softmax(scores: Any, axis: int = 3) -> Any:
    found = np.exp(scores - scores.max(axis, keepdims=True))
    return found / found.sum(axis, keepdims=True)


def attends(step: str, **traits: Any) -> Callable[[Callable[..., Any]], type[Mutant]]:
    return plants(step, OtherAttention, **traits)


@attends("split")
def HeadsInterleaved(rows: Any, heads: int) -> Any:
    """Gives each head every so many elements, and not a run of them."""
    return rows.reshape(*rows.shape[:2], -1, heads).swapaxes(2, 3)


@attends("unstacked")
def StackedBeforeHeads(stacked: Any, n: int) -> Any:
    """Takes queries, keys and values to be stacked in the third dimension."""
    batch, length, heads, count, size = stacked.shape
    return stacked.reshape(batch, length, count, heads, size)[:, :, n]


@attends("biased")
def BiasOfQueriesAndKeysSwapped(heads: list[Any], bias: Any) -> list[Any]:
    if bias is None:
        return heads
    q, k, v = biases(heads, bias)
    first, second = (k, q) if k.shape == q.shape else (q, k)
    return [of + own for of, own in zip(heads, (first, second, v), strict=True)]


@attends("biased")
def BiasOfValuesForgotten(heads: list[Any], bias: Any) -> list[Any]:
    return (
        heads
        if bias is None
        else [of + own for of, own in zip(heads, biases(heads, bias), strict=True)][:2] + heads[2:]
    )


@attends("joined")
def PastBehindTheNew(past: Any, new: Any) -> Any:
    return new if past is None else np.concatenate([new, past.reshape(past.shape[-4:])], 2)


@attends("joined")
def PastOfTheFirstHead(past: Any, new: Any) -> Any:
    if past is None:
        return new
    past = past.reshape(past.shape[-4:])
    return np.concatenate([np.broadcast_to(past[:, :1], past.shape), new], 2)


@attends("shared", has=GROUPED)
def HeadsOfKeysInTurn(of: Any, heads: int) -> Any:
    """Gives the first head of queries the first of keys, the second the second, and begins anew."""
    return np.concatenate([of] * (heads // of.shape[1]), 1)


@attends("shared", has=GROUPED)
def HeadsOfKeysFromBehind(of: Any, heads: int) -> Any:
    return np.repeat(of[:, ::-1], heads // of.shape[1], 1)


@attends("shared", has=GROUPED)
def FirstHeadOfKeysForAll(of: Any, heads: int) -> Any:
    return np.repeat(of[:, :1], heads, 1)


@attends("shared", has=GROUPED)
def GroupsOfTwo(of: Any, heads: int) -> Any:
    """Takes two heads of queries to share one of keys where several do."""
    count = min(heads // of.shape[1], 2)
    return of[:, np.minimum(np.arange(heads) // count, of.shape[1] - 1)]


@attends("biased")
def BiasOfQueriesForKeys(heads: list[Any], bias: Any) -> list[Any]:
    """Reads that of keys where that of queries begins."""
    if bias is None:
        return heads
    q, k, v = biases(heads, bias)
    return [heads[0] + q, heads[1] + bias.reshape(-1)[: k.size].reshape(k.shape), heads[2] + v]


@attends("masked", has=GROUPED)
def MaskOfTheFirstInAGroup(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    found, count = masked(desc, mask, shape), desc.query_head_count // desc.key_value_head_count
    return np.repeat(found[:, ::count], count, 1)


@attends("scores")
def AttentionScaleIgnored(q: Any, k: Any, scale: float, bias: Any) -> Any:
    products = q @ k.swapaxes(2, 3)
    return products if bias is None else products + bias.reshape(products.shape)


@attends("scores")
def BiasOfPositionsScaled(q: Any, k: Any, scale: float, bias: Any) -> Any:
    """Adds it before Scale."""
    products = q @ k.swapaxes(2, 3)
    return (products if bias is None else products + bias.reshape(products.shape)) * scale


@attends("scores")
def BiasOfPositionsOfTheFirstHead(q: Any, k: Any, scale: float, bias: Any) -> Any:
    products = q @ k.swapaxes(2, 3) * scale
    return products if bias is None else products + bias.reshape(products.shape)[:, :1]


@attends("scores")
def ScoresInFloat16(q: Any, k: Any, scale: float, bias: Any) -> Any:
    """Adds up the products of queries and keys in FLOAT16."""
    products = in_float16(q[:, :, :, None] * k[:, :, None], -1) * scale
    return products if bias is None else products + bias.reshape(products.shape)


@attends("scores")
def LastProductOfScoresDropped(q: Any, k: Any, scale: float, bias: Any) -> Any:
    products = q[..., :-1] @ k[..., :-1].swapaxes(2, 3) * scale
    return products if bias is None else products + bias.reshape(products.shape)


@attends("masked")
def MaskTheOtherWayRound(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    return ~masked(desc, mask, shape)


@attends("masked")
def MaskOfTheFirstQuery(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    return np.broadcast_to(masked(desc, mask, shape)[:, :, :1], shape)


@attends("masked")
def LengthIncluded(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    """Does not mask the key at the length, or at the end."""
    is_boolean = desc.mask_type == MASK_TYPE.BOOLEAN
    return masked(desc, mask, shape) & (is_boolean | (np.arange(shape[3]) != _rows(desc, mask, shape)[0]))


@attends("masked")
def StartIgnored(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    if desc.mask_type != MASK_TYPE.KEY_SEQUENCE_END_START:
        return masked(desc, mask, shape)
    return np.broadcast_to(np.arange(shape[3]) >= _rows(desc, mask, shape)[0], shape)


@attends("masked")
def LengthOfNewKeys(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    """Counts lengths from the first new key on, and sees all from before."""
    if desc.mask_type != MASK_TYPE.KEY_SEQUENCE_LENGTH:
        return masked(desc, mask, shape)
    return np.broadcast_to(np.arange(shape[3]) - past >= _rows(desc, mask, shape)[0], shape)


@attends("masked")
def LengthOfTheFirstBatch(desc: Any, mask: Any, shape: tuple[int, ...], past: int) -> Any:
    return np.broadcast_to(masked(desc, mask, shape)[:1], shape)


def _rows(desc: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    """Lengths, or ends and starts; of other masks nothing."""
    is_row = desc.mask_type in (MASK_TYPE.KEY_SEQUENCE_LENGTH, MASK_TYPE.KEY_SEQUENCE_END_START)
    return mask.reshape(-1, shape[0], 1, 1, 1) if is_row else np.zeros((2, 1, 1, 1, 1))


@attends("filtered")
def FilterInfinite(scores: Any, desc: Any) -> Any:
    """Takes any MaskFilterValue for negatively infinite."""
    return np.full_like(scores, -np.inf)


@attends("weights")
def WeightsOfQueries(scores: Any) -> Any:
    """Takes the softmax along the queries."""
    return softmax(scores, 2)


@attends("weights")
def WeightsNotShifted(scores: Any) -> Any:
    """Takes exponentials of the scores themselves, which overflow in FLOAT32."""
    found = np.exp(scores).astype(np.float32)
    return (found / found.sum(3, keepdims=True)).astype(np.float64)


@attends("weights")
def WeightsNotDivided(scores: Any) -> Any:
    return np.exp(scores - scores.max(3, keepdims=True))


@attends("weighed")
def LastValueDropped(weights: Any, v: Any) -> Any:
    return weights[..., :-1] @ v[:, :, :-1]


@attends("weighed")
def ValuesInFloat16(weights: Any, v: Any) -> Any:
    """Adds up the weighed values in FLOAT16."""
    return in_float16(weights[..., None] * v[:, :, None], -2)
