"""Wrong backends made by hand, each with one bug that real ones have had or could have; a module is a family.

None names an operator where what it needs of one can be said: a bug of axes shows in every operator that has an axis.
"""

from __future__ import annotations

from importlib import import_module

from strength.mutants.base import MUTANTS, Mutant, RejectsValid, WrongDecision, tensors

# In the order in which they are shown.
FAMILIES = (
    *("indices", "axes", "shapes", "images", "gradients", "regions", "windows", "poolings", "strides", "types", "bits"),
    *("bounds", "movement", "numbers", "selection", "element_wise", "arithmetic", "element_wise_binary", "activation"),
    *("softmax", "sums", "scans", "normalizations", "batch_normalizations", "recurrences", "attention", "powers"),
    *(
        "limits",
        "quantization",
        "products",
        "generators",
        "element_wise_gradients",
        "optimizers",
        "decisions",
        "levels",
    ),
    *("memory", "bindings", "state", "scale", "crashes"),
)

# The digests of what was measured go by the order in which mutants are made.
for family in sorted(FAMILIES):
    import_module(f"strength.mutants.{family}")

__all__ = ["FAMILIES", "MUTANTS", "Mutant", "RejectsValid", "WrongDecision", "tensors"]
