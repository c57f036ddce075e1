"""What DxDispatch takes, written anew from its published schema, its guide and its parser, to hold our files against.

`PUBLISHED` has the structure of `models/_schema.json` (draft 2020-12). `ACCEPTED` adds what guide and parser have and
the schema has not: buffers from files, `writeFile`, and no `initialValuesDataType` where the file says it. `Machine`
loads a model as the parser does and runs its commands with the reference in place of DirectML.
"""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from dml_conformance.backends.base import Binding
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.spec.forms import desc_from_json
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import slots, split_key

_TYPES = ["FLOAT16", "FLOAT32", "FLOAT64", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"]
_NAMES = ["UNKNOWN", *_TYPES]
_VALUE = {"type": ["number", "string"]}
_COUNT = {"type": "integer", "exclusiveMinimum": 0}
_FLAGS = ["NONE", "ALLOW_HALF_PRECISION_COMPUTATION", "DISABLE_META_COMMANDS", "DESCRIPTORS_VOLATILE"]

_CONSTANT = {
    "type": "object",
    "properties": {"valueCount": _COUNT, "value": _VALUE},
    "required": ["valueCount", "value"],
}
_SEQUENCE = {
    "type": "object",
    "properties": {"valueCount": _COUNT, "valueStart": _VALUE, "valueDelta": _VALUE},
    "required": ["valueCount", "valueStart", "valueDelta"],
}
_BINDING = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "format": {"type": "string"},
        "elementCount": {"type": "integer"},
        "elementSizeInBytes": {"type": "integer"},
        "elementOffset": {"type": "integer"},
        "counter": {"type": "string"},
        "shape": {"type": "array", "items": _COUNT},
    },
}
_BOUND = {"oneOf": [_BINDING, {"type": "string"}]}


def _when(kind: str, fields: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "if": {"properties": {"type": {"const": kind}}},
        "then": {"properties": fields, "required": required},
    }


PUBLISHED: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["resources", "dispatchables", "commands"],
    "properties": {
        "resources": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "type": {"enum": ["buffer"]},
                    "initialValues": {"oneOf": [{"type": "array", "items": _VALUE}, _CONSTANT, _SEQUENCE]},
                    "initialValuesDataType": {"enum": [*_NAMES, *(f"DML_TENSOR_DATA_TYPE_{name}" for name in _NAMES)]},
                    "initialValuesOffsetInBytes": {"type": "integer", "minimum": 0},
                    "sizeInBytes": _COUNT,
                },
                "required": ["initialValues", "initialValuesDataType"],
            },
        },
        "dispatchables": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "type": {"type": "string"},
                    "desc": {"type": "object"},
                    "executionFlags": {
                        "type": "array",
                        "items": {"enum": [*_FLAGS, *(f"DML_EXECUTION_FLAG_{name}" for name in _FLAGS)]},
                    },
                },
                "required": ["type", "desc"],
            },
        },
        "commands": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": {"enum": ["dispatch", "print"]}},
                "required": ["type"],
                "allOf": [
                    _when(
                        "dispatch",
                        {
                            "dispatchable": {"type": "string"},
                            "bindings": {
                                "type": "object",
                                "additionalProperties": {
                                    "oneOf": [*_BOUND["oneOf"], {"type": "array", "items": _BOUND}]
                                },
                            },
                            "threadGroupCount": {"type": "array", "items": _COUNT, "minItems": 3, "maxItems": 3},
                        },
                        ["dispatchable", "bindings"],
                    ),
                    _when("print", {"resource": {"type": "string"}, "verbose": {"type": "boolean"}}, ["resource"]),
                ],
            },
        },
    },
}


def _accepted() -> dict[str, Any]:
    schema = copy.deepcopy(PUBLISHED)
    resource = schema["properties"]["resources"]["additionalProperties"]
    from_file = {"type": "object", "properties": {"sourcePath": {"type": "string"}}, "required": ["sourcePath"]}
    resource["properties"]["initialValues"]["oneOf"].append(from_file)
    resource["required"] = ["initialValues"]
    command = schema["properties"]["commands"]["items"]
    command["properties"]["type"]["enum"].append("writeFile")
    command["allOf"].append(
        _when(
            "writeFile",
            {
                "resource": {"type": "string"},
                "targetPath": {"type": "string"},
                "dimensions": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            },
            ["resource", "targetPath"],
        )
    )
    return schema


ACCEPTED = _accepted()


class Machine:
    """Runs a model: buffers by name, and the files that its commands write.

    Attributes:
        buffers: after the run.
        written: what `writeFile` wrote, by path.
        printed: names of the resources printed.
    """

    def __init__(self, model: dict[str, Any], folder: Path) -> None:
        self.buffers = {name: _buffer(value, folder) for name, value in model["resources"].items()}
        self.written: dict[str, bytes] = {}
        self.printed: list[str] = []
        self._dispatchables = model["dispatchables"]
        for command in model["commands"]:
            self._run(command)

    def _run(self, command: dict[str, Any]) -> None:
        if command["type"] == "print":
            assert command["resource"] in self.buffers
            self.printed.append(command["resource"])
        elif command["type"] == "writeFile":
            self.written[command["targetPath"]] = self.buffers[command["resource"]].tobytes()
        else:
            self._dispatch(self._dispatchables[command["dispatchable"]], command["bindings"])

    def _dispatch(self, dispatchable: dict[str, Any], bindings: dict[str, str]) -> None:
        desc = desc_from_json({key: dispatchable[key] for key in ("type", "desc")})
        owned = dispatchable.get("bindings", {})
        bound: dict[str, Binding] = {}
        for slot in slots(desc):
            # DirectML wants tensors that it owns at initialisation and nowhere else.
            given = (owned if slot.tensor.flags else bindings)[slot.field.name]
            assert slot.field.name not in (bindings if slot.tensor.flags else owned)
            name = given if isinstance(given, str) else given[split_key(slot.key)[1]]
            bound[slot.key] = Binding(self.buffers[name], 0, len(self.buffers[name]))
        assert set(bindings) | set(owned) == {slot.field.name for slot in slots(desc)}
        outputs = {slot.key: bound[slot.key] for slot in slots(desc) if slot.field.is_output}
        inputs = {key: binding for key, binding in bound.items() if key not in outputs}
        ReferenceBackend().execute(desc, HIGHEST, inputs, outputs)


def _buffer(value: dict[str, Any], folder: Path) -> np.ndarray[Any, Any]:
    data_type, initial = value.get("initialValuesDataType"), value["initialValues"]
    if isinstance(initial, list):
        assert not any(isinstance(item, str) for item in initial)
        content = np.array(initial, data_type.lower()).tobytes()
    else:
        file = (folder / initial["sourcePath"]).read_bytes()
        array = np.lib.format.read_array(io.BytesIO(file), allow_pickle=False)
        assert file[6:8] == b"\1\0"
        assert array.dtype == np.dtype(data_type.lower())
        content = array.tobytes()
    size = value["sizeInBytes"]
    assert 0 < len(content) <= size
    assert size % 4 == 0
    return np.frombuffer(content.ljust(size, b"\0"), np.uint8).copy()


def loaded(path: Path) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return model
