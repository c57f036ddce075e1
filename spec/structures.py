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

from dml_conformance.spec.descriptor import attribute_of, descriptor_classes


def __getattr__(name: str) -> Any:
    if name in _unions():
        return Any
    for desc in descriptor_classes().values():
        if name == desc.__name__:
            return desc
        if name.startswith("With") and attribute_of(name[4:]) in desc.__struct_fields__:
            return Any
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _unions() -> frozenset[str]:
    families = [module.name for module in iter_modules([str(Path(__file__).with_name("operators"))])]
    return frozenset(union_type(family, of) for family in families for of in ("", "_GRAD"))


def union_type(family: str, operator: str) -> str:
    """The name of what an operator of a family is one of: `TopK`, `ResampleGrad`."""
    is_gradient = "_GRAD" in operator and not family.endswith("_grad")
    return family.title().replace("_", "") + "Grad" * is_gradient
