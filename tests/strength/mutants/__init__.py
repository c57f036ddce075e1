"""Wrong backends made by hand, each with one bug that real ones have had or could have; a module is a family.

None names an operator where what it needs of one can be said: a bug of axes shows in every operator that has an axis.
"""

from __future__ import annotations

from strength.mutants import (
    activation,
    arithmetic,
    axes,
    bindings,
    bits,
    bounds,
    crashes,
    decisions,
    element_wise,
    element_wise_binary,
    images,
    indices,
    levels,
    limits,
    memory,
    movement,
    numbers,
    powers,
    quantization,
    recurrences,
    scale,
    selection,
    shapes,
    softmax,
    state,
    strides,
    sums,
    types,
    windows,
)
from strength.mutants.base import MUTANTS, Mutant, RejectsValid, WrongDecision, tensors

FAMILIES = tuple(
    module.__name__.rpartition(".")[2]
    for module in (
        indices,
        axes,
        shapes,
        images,
        windows,
        strides,
        types,
        bits,
        bounds,
        movement,
        numbers,
        selection,
        element_wise,
        arithmetic,
        element_wise_binary,
        activation,
        softmax,
        sums,
        recurrences,
        powers,
        limits,
        quantization,
        decisions,
        levels,
        memory,
        bindings,
        state,
        scale,
        crashes,
    )
)

__all__ = ["FAMILIES", "MUTANTS", "Mutant", "RejectsValid", "WrongDecision", "tensors"]
