"""The classes of descriptors as a type checker knows them, by the names of the header's structures.

`structures.pyi` beside this module has the attributes of each. For annotations alone, and Any here, it has also what is
one of several: `Resample` an operator of the family `resample`, `ResampleGrad` a gradient of it, `WithScales` any that
has a member Scales.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from dml_conformance.spec.descriptor import descriptor_classes


def __getattr__(name: str) -> Any:
    if name in _unions():
        return Any
    for desc in descriptor_classes().values():
        if name == desc.__name__:
            return desc
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _unions() -> set[str]:
    families = [module.name for module in iter_modules([str(Path(__file__).with_name("operators"))])]
    members = {f"With{field.name}" for desc in descriptor_classes().values() for field in desc.fields}
    return members.union(union_type(family, of) for family in families for of in ("", "_GRAD"))


def union_type(family: str, operator: str) -> str:
    """The name of what an operator of a family is one of: `TopK`, `ResampleGrad`."""
    is_gradient = "_GRAD" in operator and not family.endswith("_grad")
    return family.title().replace("_", "") + "Grad" * is_gradient
