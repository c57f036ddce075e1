"""The stub of the descriptors' classes says of each what it is at run time."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from places import ROOT

from dml_conformance.spec import structures
from dml_conformance.spec.descriptor import descriptor_classes

STUB = ast.parse((ROOT / "spec" / "structures.pyi").read_text(encoding="utf-8")).body
CLASSES = [node for node in STUB if isinstance(node, ast.ClassDef)]


def attributes(stub: ast.ClassDef) -> list[str]:
    return [
        line.target.id for line in stub.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    ]


def test_every_structure_has_a_class_with_its_members() -> None:
    found = {stub.name: ("operator", *getattr(structures, stub.name).__struct_fields__) for stub in CLASSES}
    assert found == {stub.name: tuple(attributes(stub)) for stub in CLASSES}
    assert set(found) == {desc.__name__ for desc in descriptor_classes().values()}


def test_unions_are_for_annotations_alone() -> None:
    unions = [line.target.id for line in STUB if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
    assert {"TopK", "Resample", "ResampleGrad", "WithScales"} <= set(unions)
    assert {getattr(structures, name) for name in unions} == {Any}


@pytest.mark.parametrize("name", ["TopKGradient", "WithNothing", "DML_TOP_K9_OPERATOR_DESC", "__path__"])
def test_what_there_is_not_is_no_attribute(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(structures, name)
