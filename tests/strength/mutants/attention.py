"""Attention that takes heads, keys or masks for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.operators.attention import HOLDS, MASK_TYPE, STACKED, head_counts
from strength.mutants.base import Arrays, WrongValues, fault, plants, wide
from strength.mutants.sums import in_float16

GROUPED = ("key_value_head_count",)
NOTHING = np.full((1, 1, 1, 1), -0.0)  # to which every number may be added, and stays what it is


class OtherAttention(WrongValues, abstract=True):
    """Attends in FLOAT64, and does one thing wrong; a mask whose meaning is open masks nothing."""

    families = ("attention",)

    def found(self, desc: Any, arrays: Arrays) -> Any:
        given = wide(desc, {key: of for key, of in arrays.items() if key != "mask_tensor"})
        q, k, v = heads = self.heads(desc, given)
        if "bias_tensor" in given:
            own = self.biases(heads, given["bias_tensor"].reshape(-1))
            q, k, v = (of if bias is None else of + bias for of, bias in zip(heads, own, strict=True))
        if "past_key_tensor" in given:
            k, v = self.joined(blocks(given["past_key_tensor"]), k), self.joined(blocks(given["past_value_tensor"]), v)
        keys, values = self.shared(k, q.shape[1]), self.shared(v, q.shape[1])
        scores = self.scores(
            self.product(q, keys), desc.scale, blocks(given.get("relative_position_bias_tensor", NOTHING))
        )
        if "mask_tensor" in arrays:
            mask, places = arrays["mask_tensor"].view("<i4"), np.arange(scores.shape[3])
            rows, past = ends_and_starts(desc, mask, scores.shape), k.shape[2] - heads[1].shape[2]
            is_masked = self.masked(desc, masked(desc, mask, scores.shape), rows, places, past)
            scores = np.where(is_masked, self.filtered(scores, desc), scores)
        found = {
            "output_tensor": self.weighed(self.weights(scores), values).swapaxes(1, 2),
            "output_present_key_tensor": k,
            "output_present_value_tensor": v,
        }
        return {key: of for key, of in found.items() if getattr(desc, key) is not None}

    def heads(self, desc: Any, given: Any) -> list[Any]:
        """Query, key and value: batch, heads, length, elements."""
        found = {}
        counts = head_counts(desc)
        for name, held in HOLDS.items():
            if (key := attribute_of(name)) not in given:
                continue
            for n, of in enumerate(held):
                if name in STACKED:
                    found[of] = self.unstacked(given[key], n)
                else:
                    found[of] = self.split(given[key].reshape(given[key].shape[-3:]), counts[of])
        return [found[of].swapaxes(1, 2) for of in "qkv"]

    def split(self, rows: Any, heads: int) -> Any:
        return rows.reshape(*rows.shape[:2], heads, -1)

    def unstacked(self, stacked: Any, n: int) -> Any:
        return stacked[:, :, :, n]

    def biases(self, heads: list[Any], bias: Any) -> list[Any]:
        """What is added to each; None for nothing."""
        return biases(heads, bias)

    def joined(self, past: Any, new: Any) -> Any:
        return np.concatenate([past, new], 2)

    def shared(self, of: Any, heads: int) -> Any:
        """Keys or values of each head of queries."""
        return np.repeat(of, heads // of.shape[1], 1)

    def product(self, q: Any, k: Any) -> Any:
        return q @ k.swapaxes(2, 3)

    def scores(self, products: Any, scale: float, bias: Any) -> Any:
        return products * scale + bias

    def masked(self, desc: Any, is_masked: Any, rows: Any, places: Any, past: int) -> Any:
        """Where scores are masked, of which there are `past` keys from before."""
        return is_masked

    def filtered(self, scores: Any, desc: Any) -> Any:
        return scores + desc.mask_filter_value

    def weights(self, scores: Any) -> Any:
        return softmax(scores)

    def weighed(self, weights: Any, v: Any) -> Any:
        return weights @ v


def blocks(tensor: Any) -> Any:
    """The last four dimensions, before which there are none of more than 1."""
    return tensor.reshape(tensor.shape[-4:])


def biases(heads: list[Any], bias: Any) -> list[Any]:
    """The bias of each, one behind the other."""
    sizes = [of.shape[1] * of.shape[3] for of in heads]
    own = np.split(bias, np.cumsum(sizes)[:-1])
    return [row.reshape(of.shape[1], 1, of.shape[3]) for row, of in zip(own, heads, strict=True)]


def masked(desc: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    if desc.mask_type == MASK_TYPE.BOOLEAN:
        return mask.reshape(shape) == 0
    if desc.mask_type == MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END:
        return np.zeros(shape, np.bool_)
    keys, rows = np.arange(shape[3]), ends_and_starts(desc, mask, shape)
    is_before = keys < (rows[1] if desc.mask_type == MASK_TYPE.KEY_SEQUENCE_END_START else 0)
    return np.broadcast_to((keys >= rows[0]) | is_before, shape)


def ends_and_starts(desc: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    """Lengths, or ends and starts; of other masks nothing."""
    is_row = desc.mask_type in (MASK_TYPE.KEY_SEQUENCE_LENGTH, MASK_TYPE.KEY_SEQUENCE_END_START)
    return mask.reshape(-1, shape[0], 1, 1, 1) if is_row else np.zeros((2, 1, 1, 1, 1))


def softmax(scores: Any, axis: int = 3) -> Any:
    found = np.exp(scores - scores.max(axis, keepdims=True))
    return found / found.sum(axis, keepdims=True)


@plants("split", OtherAttention)
def HeadsInterleaved(rows: Any, heads: int) -> Any:
    """Gives each head every so many elements, and not a run of them."""
    return rows.reshape(*rows.shape[:2], -1, heads).swapaxes(2, 3)


@plants("unstacked", OtherAttention)
def StackedBeforeHeads(stacked: Any, n: int) -> Any:
    """Takes queries, keys and values to be stacked in the third dimension."""
    batch, length, heads, count, size = stacked.shape
    return stacked.reshape(batch, length, count, heads, size)[:, :, n]


def _swapped(heads: list[Any], bias: Any) -> list[Any]:
    q, k, v = biases(heads, bias)
    return [k, q, v] if k.shape == q.shape else [q, k, v]


plants("biases", OtherAttention).each(
    BiasOfQueriesAndKeysSwapped=_swapped,
    BiasOfValuesForgotten=lambda heads, bias: [*biases(heads, bias)[:2], None],
)

plants("joined", OtherAttention).each(
    PastBehindTheNew=lambda past, new: np.concatenate([new, past], 2),
    PastOfTheFirstHead=lambda past, new: np.concatenate([np.broadcast_to(past[:, :1], past.shape), new], 2),
)

plants("shared", OtherAttention, has=GROUPED).each(
    HeadsOfKeysInTurn=fault(
        lambda of, heads: np.concatenate([of] * (heads // of.shape[1]), 1),
        "Gives the first head of queries the first of keys, the second the second, and begins anew.",
    ),
    HeadsOfKeysFromBehind=lambda of, heads: np.repeat(of[:, ::-1], heads // of.shape[1], 1),
    FirstHeadOfKeysForAll=lambda of, heads: np.repeat(of[:, :1], heads, 1),
    GroupsOfTwo=fault(
        lambda of, heads: of[:, np.minimum(np.arange(heads) // min(heads // of.shape[1], 2), of.shape[1] - 1)],
        "Takes two heads of queries to share one of keys where several do.",
    ),
)


@plants("biases", OtherAttention)
def BiasOfQueriesForKeys(heads: list[Any], bias: Any) -> list[Any]:
    """Reads that of keys where that of queries begins."""
    q, k, v = biases(heads, bias)
    return [q, bias[: k.size].reshape(k.shape), v]


@plants("masked", OtherAttention, has=GROUPED)
def MaskOfTheFirstInAGroup(desc: Any, is_masked: Any) -> Any:
    count = desc.query_head_count // desc.key_value_head_count
    return np.repeat(is_masked[:, ::count], count, 1)


plants("scores", OtherAttention).each(
    AttentionScaleIgnored=lambda products, bias: products + bias,
    BiasOfPositionsScaled=fault(lambda products, scale, bias: (products + bias) * scale, "Adds it before Scale."),
    BiasOfPositionsOfTheFirstHead=lambda products, scale, bias: products * scale + bias[:, :1],
)

plants("product", OtherAttention).each(
    ScoresInFloat16=fault(
        lambda q, k: in_float16(q[:, :, :, None] * k[:, :, None], -1),
        "Adds up the products of queries and keys in FLOAT16.",
    ),
    LastProductOfScoresDropped=lambda q, k: q[..., :-1] @ k[..., :-1].swapaxes(2, 3),
)

plants("masked", OtherAttention).each(
    MaskTheOtherWayRound=lambda is_masked: ~is_masked,
    MaskOfTheFirstQuery=lambda is_masked: is_masked[:, :, :1],
    LengthIncluded=fault(
        lambda desc, is_masked, rows, places: is_masked & ((desc.mask_type == MASK_TYPE.BOOLEAN) | (places != rows[0])),
        "Does not mask the key at the length, or at the end.",
    ),
    StartIgnored=lambda desc, is_masked, rows, places: (
        places >= rows[0] if desc.mask_type == MASK_TYPE.KEY_SEQUENCE_END_START else is_masked
    ),
    LengthOfNewKeys=fault(
        lambda desc, is_masked, rows, places, past: (
            places - past >= rows[0] if desc.mask_type == MASK_TYPE.KEY_SEQUENCE_LENGTH else is_masked
        ),
        "Counts lengths from the first new key on, and sees all from before.",
    ),
    LengthOfTheFirstBatch=lambda is_masked: is_masked[:1],
)


@plants("filtered", OtherAttention)
def FilterInfinite(scores: Any) -> Any:
    """Takes any MaskFilterValue for negatively infinite."""
    return np.full_like(scores, -np.inf)


def _not_shifted(scores: Any) -> Any:
    found = np.exp(scores).astype(np.float32)
    return (found / found.sum(3, keepdims=True)).astype(np.float64)


plants("weights", OtherAttention).each(
    WeightsOfQueries=fault(lambda scores: softmax(scores, 2), "Takes the softmax along the queries."),
    WeightsNotShifted=fault(_not_shifted, "Takes exponentials of the scores themselves, which overflow in FLOAT32."),
    WeightsNotDivided=lambda scores: np.exp(scores - scores.max(3, keepdims=True)),
)

plants("weighed", OtherAttention).each(
    LastValueDropped=lambda weights, v: weights[..., :-1] @ v[:, :, :-1],
    ValuesInFloat16=fault(
        lambda weights, v: in_float16(weights[..., None] * v[:, :, None], -2), "Adds up the weighed values in FLOAT16."
    ),
)
