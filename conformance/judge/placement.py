"""What of a case's placement a failure needs: whether the case passes where it is bound otherwise."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dml_conformance.spec.case import Order, Placement

# What most programs do, and what is aligned to no more than is promised. Whatever fails in both is no fault of binding.
PLAIN, UNALIGNED = Placement(), Placement((80,))
# Aligned to as much as vectorised kernels look at, and at the start of nothing.
ALIGNED = (256,)


def needed_placement(failing: Placement, fails: Callable[[Placement], bool]) -> str:
    """In words, what it is about a placement that a case fails; "" where it fails in any, or passes now and then.

    Args:
        failing: in which it failed.
        fails: whether it fails in another one; executes the case.
    """
    passing = next((other for other in (PLAIN, UNALIGNED) if other != failing and not fails(other)), None)
    if passing is None or not fails(failing):
        return ""
    for part in ("surplus", "heap", "order", "offsets"):
        plainer = replace(failing, **{part: getattr(passing, part)})
        if plainer != failing and fails(plainer):
            failing = plainer
    if failing.offsets != passing.offsets:
        alone = (replace(failing, offsets=(offset,)) for offset in dict.fromkeys(failing.offsets))
        failing = next((other for other in alone if other != failing and fails(other)), failing)
    return _words(failing, passing, fails)


def _words(failing: Placement, passing: Placement, fails: Callable[[Placement], bool]) -> str:
    said = []
    if failing.offsets != passing.offsets:
        said.append(_offset_words(failing, fails))
    if failing.order is not passing.order:
        where = "between inputs" if failing.order is Order.OUTPUTS_BETWEEN else "before the input"
        said.append(f"where the output lies {where}")
    if failing.heap:
        said.append("where tensors share a resource")
    if failing.surplus:
        said.append("where more is bound than is needed")
    return " and ".join(said)


def _offset_words(failing: Placement, fails: Callable[[Placement], bool]) -> str:
    """What it is about offsets: these alone, or what they are aligned to."""
    if len(failing.offsets) > 1:
        return f"where tensors lie at offsets {', '.join(map(str, failing.offsets))} in turn"
    (offset,) = failing.offsets
    other = replace(failing, offsets=PLAIN.offsets if failing.offsets == ALIGNED else ALIGNED)
    if offset % ALIGNED[0] == 0 and fails(other):
        return f"where tensors are aligned to {ALIGNED[0]} bytes"
    other = replace(failing, offsets=(16,) if failing.offsets == UNALIGNED.offsets else UNALIGNED.offsets)
    if offset % ALIGNED[0] and fails(other):
        if fails(replace(failing, offsets=ALIGNED)):
            return "where tensors lie behind the start of their resource"
        return "where tensors are aligned to 16 bytes and no more"
    return f"where tensors lie at offset {offset}"
