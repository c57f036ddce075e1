"""What builders share whose operators have scales and zero points beside other tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dml_conformance.spec.operator import Field, OperatorSpec
from dml_conformance.strategies.context import Context


def chosen_ranks(ctx: Context, spec: OperatorSpec) -> Mapping[str, int]:
    """By field, a dimension count of each tensor that does not share that of the first one.

    It is none that no table has where the context's are less, so that there is room for one more; but where the
    context's are wrong of the first tensor they may be wrong of others too.
    """
    found: dict[str, int] = {}
    first, *others = spec.rank_groups.values()
    wrong = () if _counts(ctx, first) & {*ctx.ranks} else ctx.ranks
    for fields in others:
        counts = sorted(_counts(ctx, fields))
        small = [count for count in counts if count <= ctx.ranks[-1]]
        found |= dict.fromkeys((field.name for field in fields), ctx.chooser.choice((*(small or counts), *wrong)))
    return found


def _counts(ctx: Context, fields: Iterable[Field]) -> frozenset[int]:
    return frozenset.intersection(*(ctx.table[field.name].dimension_counts for field in fields))
