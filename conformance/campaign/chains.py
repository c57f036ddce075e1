"""Named networks at reduced size, executed on a backend as the chains of their layers, each on what those before left.

Every layer is judged on these numbers. What the outputs come to is held beside the reference's chain, in which each
layer's results are rounded once, and beside the enclosures that are carried through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from dml_conformance.backends.base import Binding, Bytes
from dml_conformance.backends.reference.layout import bits
from dml_conformance.conformance.exchange.networks.carried import Carried, carried_through
from dml_conformance.conformance.exchange.networks.chains import Chain, ChainStep
from dml_conformance.conformance.exchange.networks.stored import stored_chain
from dml_conformance.conformance.judge.judge import Judge, Judgement, Pending
from dml_conformance.reports.model.records import NOT_CONFORMANT, ChainedNetwork, Phase, Record, Verdict
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import inputs
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.values import EXPLICIT_BITS, buffer_size


class OutputsMisfit(ValueError):
    """What is said to be in the outputs of a chain cannot be: another size, or outside of what it may be."""


def execute_chains(judge: Judge, names: Sequence[str], level: Level) -> Iterator[Record | ChainedNetwork]:
    """What each network comes to, after the record of the first layer that is wrong, where one is.

    Args:
        judge: holds the backend.
        names: of the networks.
        level: of the descriptors.
    """
    for name in names:
        yield from _executed(judge, name, level)


def why_not_executed(judge: Judge, name: str, level: Level) -> str:
    """Why a network cannot be executed as a chain, by the level and the backend's claims; "" where it can."""
    chain = stored_chain(name)
    if not chain.steps:
        return "not every node is a layer"
    for step, case in zip(chain.steps, chain.cases_at(level), strict=True):
        if case.outcome is not Outcome.ACCEPT:
            return f"{step.node}: breaks {', '.join(case.broken)} at {level}"
        decided = judge.decide(case)
        if isinstance(decided, Judgement) and decided.verdict not in NOT_CONFORMANT:
            return f"{step.node}, {case.operator}: {decided.reason}"
    return ""


def _executed(judge: Judge, name: str, level: Level) -> Iterator[Record | ChainedNetwork]:
    if why := why_not_executed(judge, name, level):
        yield ChainedNetwork(name, why)
        return
    chain = stored_chain(name)
    held = chain.memory()
    for step, case in zip(chain.steps, chain.cases_at(level, name), strict=True):
        read = {slot.key: _bound(held[step.inputs[slot.key]], buffer_size(slot.tensor)) for slot in inputs(case.desc)}
        judged, left = _judged(judge, case, read)
        if judged.verdict is not Verdict.PASS:
            record = _record(judge, case, read, judged)
            yield record
            yield ChainedNetwork(name, f"{step.node}, {case.operator}: {record.reason}", record.case)
            return
        held.update({value: left[slot] for slot, value in step.outputs.items()})
    yield chained_network(name, {output: held[output].tobytes() for output in chain.outputs}, judge.tolerance)


def _judged(judge: Judge, case: Case, read: dict[str, Bytes]) -> tuple[Judgement, Mapping[str, Bytes]]:
    pending = judge.decide(case)
    return judge.execute_on(pending, read) if isinstance(pending, Pending) else (pending, {})


def _record(judge: Judge, case: Case, read: dict[str, Bytes], judged: Judgement) -> Record:
    """The record of a layer that is wrong, whose case has what the layer read."""
    data = {
        slot.key: Recipe(
            EXPLICIT_BITS, values=tuple(bits(Binding(content, 0, len(content)), slot.tensor).ravel().tolist())
        )
        for slot in inputs(case.desc)
        for content in (read[slot.key],)
    }
    case = replace(case, data=data)
    pending = judge.decide(case)
    if isinstance(pending, Pending):
        again = judge.execute(pending)
        judged = again if again.verdict in NOT_CONFORMANT else judged._replace(written=pending.written)
    return judge.describe(case, Phase.CHAINS, judged)


def _bound(memory: Bytes, size: int) -> Bytes:
    """As much of a value's memory as a tensor that views it is bound to."""
    return memory[:size] if len(memory) >= size else np.concatenate([memory, np.zeros(size - len(memory), np.uint8)])


# --- beside what is right ---------------------------------------------------------------------------------------------


def chained_network(name: str, outputs: Mapping[str, bytes], tolerance: Tolerance) -> ChainedNetwork:
    """What a network's outputs come to, all of whose layers were executed.

    Args:
        name: of the network.
        outputs: what the backend left in each.
        tolerance: the bounds that its results are held to.

    Raises:
        OutputsMisfit: they cannot be its outputs.
    """
    chain = stored_chain(name)
    whole = {value: found for _, value, found in carried_through(chain, tolerance=tolerance)}
    if outputs.keys() != chain.outputs.keys():
        raise OutputsMisfit(f"expected the outputs {', '.join(chain.outputs)}, found {', '.join(outputs)}")
    error = allowed = 0.0
    for output, data_type in chain.outputs.items():
        value, low, high = whole[output].numbers(data_type)
        if len(outputs[output]) != len(whole[output].value):
            raise OutputsMisfit(f"{output}: expected {len(whole[output].value)} bytes, found {len(outputs[output])}")
        found = np.frombuffer(outputs[output], data_type).astype(np.float64)
        outside = ~((low <= found) & (found <= high)) & np.isfinite(high - low)
        if outside.any():
            raise OutputsMisfit(f"{output}: {outside.sum()} of {found.size} elements lie outside of what they may be")
        error = max(error, _of_deviation(abs(found - value), value))
        allowed = max(allowed, _of_deviation(high - low, value))
    segment = _widest_segment(chain, whole, tolerance)
    return ChainedNetwork(
        name,
        outputs=dict(outputs),
        error=_figure(error),
        allowed=_figure(allowed),
        segment=None if segment is None else _figure(segment.width),
        segment_end="" if segment is None else segment.step.node,
    )


class _Segment(NamedTuple):
    """A part of a chain that begins anew after each normalization; the step that it ends with, and how wide it is."""

    step: ChainStep
    width: float


def _widest_segment(chain: Chain, whole: Mapping[str, Carried], tolerance: Tolerance) -> _Segment | None:
    """None where there is no normalization."""
    begun = {name: whole[name].value for name in chain.normalized}
    types = dict.fromkeys(chain.normalized, next(iter(chain.outputs.values()))) | chain.outputs
    segments = [
        _Segment(step, _of_deviation(high - low, value))
        for step, name, found in carried_through(chain, begun, tolerance)
        if begun and name in types
        for value, low, high in (found.numbers(types[name]),)
    ]
    return max(segments, key=lambda segment: segment.width, default=None)


def _of_deviation(differences: Any, values: Any) -> float:
    """The largest difference beside the values' standard deviation; infinite where one is no number."""
    largest = float(np.max(differences)) / max(float(np.std(values)), np.finfo(np.float64).tiny)
    return largest if np.isfinite(largest) else np.inf


def _figure(of_deviation: float) -> float | None:
    return float(f"{of_deviation:.6g}") if np.isfinite(of_deviation) else None
