"""The family of multi-head attention: of each head softmax(query * key, transposed, * Scale + biases) * value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from dml_conformance.spec.constraints import (
    checked,
    divides,
    exclusive,
    kebab,
    member,
    sizes_follow,
    together,
    value_of,
    within,
)
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import Misfit, OperatorSpec, Shapes, no_misfit, operator_spec, output_sizes
from dml_conformance.spec.rules import Breach, Category
from dml_conformance.spec.structures import Attention
from dml_conformance.spec.tensor import braces

MASK_TYPE = enumeration("DML_MULTIHEAD_ATTENTION_MASK_TYPE")
MASK = "MaskTensor"
LENGTHS = "PastSequenceLengthsTensor"
# What a tensor holds of query, key and value; of several one behind the other in its fourth dimension.
SINGLE = {"QueryTensor": "q", "KeyTensor": "k", "ValueTensor": "v"}
STACKED = {"StackedQueryKeyTensor": "qk", "StackedKeyValueTensor": "kv", "StackedQueryKeyValueTensor": "qkv"}
HOLDS = SINGLE | STACKED


class Part(NamedTuple):
    """The sizes of query, key or value."""

    batch: int
    length: int
    heads: int
    size: int

    @property
    def hidden(self) -> int:
        """Elements of all heads."""
        return self.heads * self.size


class Parts(NamedTuple):
    """The sizes of all three, and how many keys and values there are from before."""

    query: Part
    key: Part
    value: Part
    past: int

    @property
    def keys(self) -> int:
        """How many a query is compared with."""
        return self.past + self.key.length

    @property
    def scores(self) -> tuple[int, ...]:
        return self.query.batch, self.query.heads, self.query.length, self.keys


def head_counts(desc: Attention) -> dict[str, int]:
    """How many heads query, key and value have."""
    if hasattr(desc, "head_count"):
        return dict.fromkeys("qkv", desc.head_count)
    return {"q": desc.query_head_count} | dict.fromkeys("kv", desc.key_value_head_count)


def parts(desc: Attention) -> Parts | Misfit:
    """What the inputs come to, or which of them does not fit."""
    found: dict[str, Part] = {}
    heads = head_counts(desc)
    for name, held in HOLDS.items():
        if (tensor := value_of(desc, name)) is None:
            continue
        sizes = tensor.sizes
        if name in STACKED:
            fits = len(sizes) == 5 and sizes[3] == len(held) and all(sizes[2] == heads[of] for of in held)
        else:
            fits = len(sizes) >= 3 and not set(sizes[:-3]) - {1} and heads[held] > 0
        if not fits:
            return Misfit(f"{name}.Sizes", f"{braces(sizes)}, of {heads[held[0]]} heads")
        found |= {
            of: Part._make((*sizes[:3], sizes[4]))
            if name in STACKED
            else Part._make((*sizes[-3:-1], heads[of], sizes[-1] // heads[of]))
            for of in held
        }
    if len(found) < len(heads):
        return Misfit("", "not all of query, key and value")
    query, key, value = (found[of] for of in "qkv")
    wanted = {"k": key._replace(batch=query.batch, size=query.size), "v": key._replace(size=value.size)}
    for of, part in wanted.items():
        if found[of] != part:
            name = next(name for name, held in HOLDS.items() if of in held and value_of(desc, name) is not None)
            return Misfit(
                f"{name}.Sizes", f"batch, length, heads and their size {braces(found[of])}, not {braces(part)}"
            )
    past = desc.past_key_tensor
    return Parts(query, key, value, past.sizes[-2] if past is not None and len(past.sizes) > 1 else 0)


def _padded(sizes: tuple[int, ...], tensor: Any) -> tuple[int, ...]:
    """With leading ones up to as many dimensions as a tensor has."""
    return (1,) * (len(tensor.sizes) - len(sizes)) + sizes


def shape(desc: Attention) -> Shapes | Misfit:
    """A row of every query, and the keys and values that there are now."""
    found = parts(desc)
    if isinstance(found, Misfit):
        return found
    query, key, value, _ = found
    sizes = {
        "output_tensor": (query.batch, query.length, query.heads * value.size),
        "output_present_key_tensor": (key.batch, key.heads, found.keys, key.size),
        "output_present_value_tensor": (key.batch, key.heads, found.keys, value.size),
    }
    given = {name: tensor for name in sizes if (tensor := getattr(desc, name)) is not None}
    return {name: _padded(sizes[name], tensor) for name, tensor in given.items()}


def mask_sizes(desc: Attention, of: Parts) -> tuple[int, ...]:
    batch = of.query.batch
    sizes: dict[int, tuple[int, ...]] = {
        MASK_TYPE.BOOLEAN: of.scores,
        MASK_TYPE.KEY_SEQUENCE_LENGTH: (1, batch),
        MASK_TYPE.KEY_SEQUENCE_END_START: (2, batch),
        MASK_TYPE.KEY_QUERY_SEQUENCE_LENGTH_START_END: (3 * batch + 2,),
    }
    own = desc.mask_tensor.sizes if desc.mask_tensor else ()
    return sizes.get(desc.mask_type, own)


# Of inputs that may be missing the sizes after leading ones, and the same in words.
SCORES = "{batchSize, headCount, sequenceLength, pastSequenceLength + keyValueSequenceLength}"
MASKS = (
    f"{SCORES} where MaskType is BOOLEAN, {{1, batchSize}} where it is KEY_SEQUENCE_LENGTH, {{2, batchSize}} where it "
    "is KEY_SEQUENCE_END_START and {batchSize * 3 + 2} where it is KEY_QUERY_SEQUENCE_LENGTH_START_END"
)
SIZES: dict[str, tuple[Callable[[Any, Parts], tuple[int, ...]], str]] = {
    "BiasTensor": (
        lambda desc, of: (of.query.hidden + of.key.hidden + of.value.hidden,),
        "{hiddenSize + hiddenSize + valueHiddenSize}",
    ),
    MASK: (
        mask_sizes,
        MASKS,
    ),
    "RelativePositionBiasTensor": (lambda desc, of: of.scores, SCORES),
    "PastKeyTensor": (
        lambda desc, of: (of.key.batch, of.key.heads, of.past, of.key.size),
        "{batchSize, headCount, pastSequenceLength, headSize}",
    ),
    "PastValueTensor": (
        lambda desc, of: (of.key.batch, of.key.heads, of.past, of.value.size),
        "{batchSize, headCount, pastSequenceLength, valueHeadSize}",
    ),
}


def sizes_needed(desc: Attention, name: str) -> tuple[int, ...]:
    """The sizes that a tensor has to have, of as many dimensions as it has; none where it is not there."""
    found, tensor = parts(desc), value_of(desc, name)
    if tensor is None or isinstance(found, Misfit):
        return ()
    return _padded(SIZES[name][0](desc, found), tensor)


def undivided(desc: Attention, level: Level | None = None) -> list[Breach]:
    """Where the elements of a row are no multiple of the heads."""
    found, heads = {name: value_of(desc, name) for name in SINGLE}, head_counts(desc)
    return [
        Breach(f"{name}.Sizes", f"{tensor.sizes[-1]} elements in a row, of {heads[SINGLE[name]]} heads")
        for name, tensor in found.items()
        if tensor is not None and tensor.sizes[-1] % heads[SINGLE[name]]
    ]


def _past_lengths(desc: Attention, level: Level) -> Breach | None:
    return None if value_of(desc, LENGTHS) is None else Breach(LENGTHS, "given")


def _mask_without_type(desc: Attention, level: Level) -> Breach | None:
    is_wrong = desc.mask_tensor is not None and desc.mask_type == MASK_TYPE.NONE
    return Breach("MaskType", "NONE, and MaskTensor is given") if is_wrong else None


def most_of_mask(desc: Attention) -> int:
    """The most that an element of the mask may be: 1, or all keys."""
    found = parts(desc)
    return 1 if desc.mask_type == MASK_TYPE.BOOLEAN or isinstance(found, Misfit) else found.keys


LAYOUT = ("query-alone", "key-alone", "value-alone", "dimension-counts")


def _attention(name: str, *counts: str) -> OperatorSpec:
    """The operator with these members that count heads: one of all, or those of queries, and of keys and values."""
    is_grouped = len(counts) > 1
    heads = tuple(f"{kebab(count)}-range" for count in counts)
    fitting = (*LAYOUT, *heads, "input-sizes", *(("past-lengths",) if is_grouped else ()))
    alone = {
        part: tuple(tensor for tensor, held in HOLDS.items() if part[0] in held) for part in ("query", "key", "value")
    }
    of_groups = (
        divides("KeyValueHeadCount", member("QueryHeadCount"), after=heads),
        checked("past-lengths", _past_lengths, Category.AGREEMENT),
    )
    return operator_spec(
        name,
        shape=shape,
        own_rules=(
            *(exclusive(*tensors, least=1, name=f"{part}-alone") for part, tensors in alone.items()),
            together("PastKeyTensor", "PastValueTensor", name="past-together"),
            *(within(count, 1, None, remedy="use at least one head") for count in counts),
            *(of_groups if is_grouped else ()),
            checked("heads-divide", undivided, after=(*LAYOUT, *heads)),
            checked("input-sizes", no_misfit(parts), after=(*LAYOUT, *heads, "heads-divide", "same-dimension-count")),
            checked("mask-type", _mask_without_type, Category.ATTRIBUTES, after=("enumerators",)),
            *(
                sizes_follow(
                    tensor,
                    partial(sizes_needed, name=tensor),
                    "the other tensors ask for",
                    f"{tensor} has sizes {words} after leading ones",
                    after=(*fitting, "enumerators", "past-together"),
                )
                for tensor, (_, words) in SIZES.items()
            ),
            output_sizes(*fitting, "past-key-sizes"),
        ),
        lengths={MASK: most_of_mask},
    )


NAME = "MULTIHEAD_ATTENTION"
SPECS = (
    _attention(NAME, "HeadCount"),
    _attention(f"{NAME}1", "QueryHeadCount", "KeyValueHeadCount"),
)


def heads_left_over(desc: Attention) -> bool:
    """Whether a row of query or key has elements besides those of all heads."""
    return any(breach.where != "ValueTensor.Sizes" for breach in undivided(desc))


def mask_type_of_any_number(desc: Attention) -> bool:
    """Whether MaskType is no enumerator, and there is no mask, or one of a single element."""
    is_one = desc.mask_tensor is None or not set(desc.mask_tensor.sizes) - {1}
    return is_one and desc.mask_type not in MASK_TYPE._value2member_map_


def keys_from_before_alone(desc: Attention) -> bool:
    """Whether there are keys and values from before, and no new values."""
    has_past = desc.past_key_tensor is not None and desc.past_value_tensor is not None
    return has_past and all(value_of(desc, name) is None for name, held in HOLDS.items() if "v" in held)


def types_beside_stacked(desc: Attention) -> bool:
    """Whether queries and keys are stacked, of one type with ValueTensor and OutputTensor."""
    read = [value_of(desc, name) for name, held in HOLDS.items() if held in ("v", "qk", "qkv")]
    types = {tensor.data_type for tensor in (*read, desc.output_tensor) if tensor is not None}
    return len(types) == 1 and any(tensor is not None for tensor in read[1:])


DIVERGENCES = {
    "DIV-attention-heads-left-over": heads_left_over,
    "DIV-attention-mask-type-of-any-number": mask_type_of_any_number,
    "DIV-attention-keys-from-before-alone": keys_from_before_alone,
    "DIV-attention-types-beside-stacked": types_beside_stacked,
}
