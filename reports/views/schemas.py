"""JSON schemas (Draft 2020-12) made from types: certificate, case, record and the page models of `spec import`.

`conformance.schemas` has these and those of the types in `conformance/`, and writes all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import msgspec

from dml_conformance.reports.model.records import Record
from dml_conformance.reports.views.certificate import Certificate
from dml_conformance.spec.case import OFFSET_ALIGNMENT, SIZE_ALIGNMENT, Case, Order, Placement, Recipe
from dml_conformance.spec.datatypes import DataType, TensorType
from dml_conformance.spec.field_kinds import TENSOR, TENSORS, Kind, OptionalKind
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorSpec
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import UINT32_MAX, UINT64_MAX, TensorDesc
from dml_conformance.spec.validator import Outcome

Schema = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DEFINITIONS = "#/$defs/"
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_UINT = {"type": "integer", "minimum": 0, "maximum": UINT32_MAX}
_UINT64 = {"type": "integer", "minimum": 0, "maximum": UINT64_MAX}
_DATA = (
    "A recipe for each input tensor, by its name; empty where nothing is executed, and null where that is so of an "
    "operator without inputs."
)
_PLACEMENT = "How the tensors are bound; without it as the case's digest says."
_UINTS = {"type": "array", "items": _UINT}


def certificate_schema() -> Schema:
    """Of `certificate.json`."""
    return of_types("urn:dml-conformance:certificate:2", "Certificate", Certificate)


def record_schema() -> Schema:
    """Of one judged case, `Record`; fields at their default may be missing."""
    schema = of_types("urn:dml-conformance:record:1", "Record", Record)
    case = case_schema()
    schema["$defs"] |= case.pop("$defs") | {"Case": {key: case[key] for key in case if not key.startswith("$")}}
    fields = schema["$defs"]["Record"]["properties"]
    narrower: Schema = {
        "case": _SHA256,
        "level": _level(),
        "expected": {"enum": [str(outcome) for outcome in Outcome]},
        "answered": {"enum": ["accept", "reject", ""]},
        "rank": {"type": "integer", "minimum": 0, "default": 0},
        "seconds": {"type": "number", "minimum": 0, "default": 0.0},
        "difference_count": {"type": "integer", "minimum": 0, "default": 0},
        "case_json": {"$ref": _DEFINITIONS + "Case"},
    }
    for name, of_field in narrower.items():
        fields[name] = {**of_field, "description": fields[name]["description"]}
    return schema


def case_schema() -> Schema:
    """Of a case as `Case.to_json` writes it: a descriptor in DirectML's own names, a level, and what is expected.

    The tensors' short forms, which reading takes, are not in it.
    """
    definitions: Schema = {
        "Level": _level(),
        "Recipe": _recipe(),
        "Placement": _placement(),
        "Tensor": _tensor(),
    }
    for spec in operators().values():
        definitions |= {_name_of_kind(field.kind): field.kind.schema for field in spec.fields}
        definitions[spec.name] = _operator(spec)
    fields: dict[str, tuple[str, Schema]] = {
        "type": ("The operator.", {"enum": [spec.dml_name for spec in operators().values()]}),
        "desc": ("The operator descriptor.", {"type": "object"}),
        "level": ("level", {"$ref": _DEFINITIONS + "Level"}),
        "data": (_DATA, {"type": ["object", "null"], "additionalProperties": {"$ref": _DEFINITIONS + "Recipe"}}),
        "placement": (_PLACEMENT, {"$ref": _DEFINITIONS + "Placement"}),
        "timed": ("timed", {"type": "boolean"}),
        "rule": ("rule", {"type": "string"}),
        "expect": ("What the specification says of the descriptor.", _expect()),
        "origin": ("origin", {"type": "string"}),
    }
    return {
        "$schema": _DRAFT,
        "$id": "urn:dml-conformance:case:1",
        "title": "Case",
        **_object(Case, fields, ("type", "desc", "level")),
        "oneOf": [{"$ref": _DEFINITIONS + name} for name in operators()],
        "$defs": definitions,
    }


# The published files that need nothing of `conformance/`.
SCHEMAS: dict[str, Callable[[], Schema]] = {
    "certificate.schema.json": certificate_schema,
    "case.schema.json": case_schema,
    "record.schema.json": record_schema,
}


def of_types(identity: str, title: str, kind: type[msgspec.Struct]) -> Schema:
    """A strict schema of a type and all that it holds, with the descriptions of their docstrings."""
    (reference,), found = msgspec.json.schema_components([kind], ref_template=_DEFINITIONS + "{name}")
    types = {item.__name__: item for item in _types_in(kind)}
    for name, schema in found.items():
        documented = [_documented(of_kind) for of_kind in reversed(types[name].__mro__)]
        fields = {field: about for _, attributes in documented for field, about in attributes.items()}
        schema["description"] = documented[-1][0]
        if "enum" in schema:
            schema["enum"] = [member.value for member in types[name]]  # type: ignore[attr-defined]
            continue
        schema["additionalProperties"] = False
        for field, of_field in schema["properties"].items():
            of_field.pop("propertyNames", None)  # msgspec has it from 0.23 on; files are the same from any
            of_field["description"] = _sentence(fields[field])
    return {"$schema": _DRAFT, "$id": identity, "title": title, **reference, "$defs": found}


def _types_in(kind: type) -> set[type]:
    """The structs and enumerations that a struct is made of, itself included."""
    found: set[type] = set()

    def walk(info: Any) -> None:
        if isinstance(info, msgspec.inspect.Metadata):
            walk(info.type)
        elif isinstance(info, msgspec.inspect.StructType | msgspec.inspect.EnumType):
            if info.cls not in found:
                found.add(info.cls)
                for field in getattr(info, "fields", ()):
                    walk(field.type)
        else:
            for name in ("item_type", "value_type"):
                if hasattr(info, name):
                    walk(getattr(info, name))
            for option in getattr(info, "types", ()):
                walk(option)

    walk(msgspec.inspect.type_info(kind))
    return found


def _documented(kind: type) -> tuple[str, dict[str, str]]:
    """The text before a docstring's `Attributes:`, on one line, and the text of each attribute."""
    text = cleandoc(kind.__doc__ or "")
    summary, _, attributes = text.partition("\nAttributes:\n")
    fields: dict[str, str] = {}
    names: list[str] = []
    for line in attributes.splitlines():
        start = re.match(r" {4}([\w-]+(?:, [\w-]+)*): (.*)", line)
        if start:
            names = start[1].split(", ")
            fields.update(dict.fromkeys(names, start[2]))
        elif line.startswith(" " * 8):
            fields.update((name, f"{fields[name]} {line.strip()}") for name in names)
        elif line.strip():
            break
    return " ".join(summary.split()), fields


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _level() -> Schema:
    return {"description": "A DirectML feature level.", "enum": [level.label for level in Level]}


def _object(kind: type, fields: Mapping[str, tuple[str, Schema]], required: Sequence[str] = ()) -> Schema:
    """Of a type's JSON: by each member's name the attribute that describes it, or its description, and its schema."""
    summary, about = _documented(kind)
    properties = {
        name: {**schema, "description": _sentence(about.get(of, of))} for name, (of, schema) in fields.items()
    }
    found = {"description": summary, "type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def _expect() -> Schema:
    fields: dict[str, tuple[str, Schema]] = {
        "decision": ("outcome", {"enum": [str(outcome) for outcome in Outcome]}),
        "rules": ("broken", {"type": "array", "items": {"type": "string"}}),
    }
    return _object(Case, fields, ("decision", "rules"))


def _recipe() -> Schema:
    fields: dict[str, tuple[str, Schema]] = {
        "pattern": ("pattern", {"type": "string"}),
        "seed": ("seed", {"type": "integer", "default": 0}),
        "values": ("values", {"type": "array", "items": {"type": "number"}}),
        "in_place": ("in_place", {"type": "boolean", "default": False}),
        "period": ("period", {"type": "integer", "minimum": 0, "default": 0}),
    }
    return _object(Recipe, fields, ("pattern",))


def _placement() -> Schema:
    offset = {"type": "integer", "minimum": 0, "multipleOf": OFFSET_ALIGNMENT}
    surplus = {"type": "integer", "minimum": 0, "multipleOf": SIZE_ALIGNMENT, "default": 0}
    fields: dict[str, tuple[str, Schema]] = {
        "offsets": ("offsets", {"type": "array", "items": offset, "minItems": 1, "default": [0]}),
        "order": ("order", {"enum": [str(order) for order in Order], "default": str(Order.DECLARED)}),
        "heap": ("heap", {"type": "boolean", "default": False}),
        "surplus": ("surplus", surplus),
    }
    return _object(Placement, fields)


def _tensor() -> Schema:
    """As `spec.forms.tensor_to_json` writes it: Type, Flags, Strides and the alignment only where not at default."""
    flags = [{"const": "OWNED_BY_DML"}, {"type": "integer", "minimum": 1, "maximum": UINT32_MAX}]
    fields: dict[str, tuple[str, Schema]] = {
        "Type": ("type", {"enum": [t.name for t in TensorType]}),
        "DataType": ("data_type", {"enum": [t.name for t in DataType]}),
        "Flags": ("flags", {"oneOf": flags}),
        "Sizes": ("sizes", _UINTS),
        "Strides": ("strides", _UINTS),
        "TotalTensorSizeInBytes": ("total_tensor_size_in_bytes", _UINT64),
        "GuaranteedBaseOffsetAlignment": ("guaranteed_base_offset_alignment", _UINT),
    }
    return _object(TensorDesc, fields, ("DataType", "Sizes", "TotalTensorSizeInBytes"))


def _name_of_kind(kind: Kind) -> str:
    """The definition of what a field holds; distinct from those of operators, which have no small letters."""
    is_optional = isinstance(kind, OptionalKind)
    return f"{'Optional' if is_optional else 'Kind'}-{kind.name.replace(' ', '-')}"


def _operator(spec: OperatorSpec) -> Schema:
    """What `type`, `desc` and `data` are for one operator."""
    fields: Schema = {}
    for field in spec.fields:
        if field.count_field:
            fields[field.count_field] = _UINT
        fields[field.name] = {"$ref": _DEFINITIONS + _name_of_kind(field.kind)}
    recipe = {"$ref": _DEFINITIONS + "Recipe"}
    arrays = [field.name for field in spec.input_fields if field.kind is TENSORS]
    return {
        "description": f"{spec.dml_name} {spec.summary}. Source: {spec.source.url}",
        "properties": {
            "type": {"const": spec.dml_name},
            "desc": {"properties": fields, "required": list(fields), "additionalProperties": False},
            "data": {
                "type": ["object", "null"],
                "properties": {field.name: recipe for field in spec.input_fields if field.kind is TENSOR},
                "patternProperties": {rf"^{name}\[\d+\]$": recipe for name in arrays},
                "additionalProperties": False,
            },
        },
    }
