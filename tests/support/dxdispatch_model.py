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

PUBLISHED = json.loads(Path(__file__).with_name("dxdispatch.schema.json").read_text(encoding="utf-8"))


def _accepted() -> dict[str, Any]:
    schema: dict[str, Any] = copy.deepcopy(PUBLISHED)
    resource = schema["properties"]["resources"]["additionalProperties"]
    from_file = {"type": "object", "properties": {"sourcePath": {"type": "string"}}, "required": ["sourcePath"]}
    resource["properties"]["initialValues"]["oneOf"].append(from_file)
    resource["required"] = ["initialValues"]
    command = schema["properties"]["commands"]["items"]
    command["properties"]["type"]["enum"].append("writeFile")
    dimensions = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    fields = {"resource": {"type": "string"}, "targetPath": {"type": "string"}, "dimensions": dimensions}
    command["allOf"].append(
        {
            "if": {"properties": {"type": {"const": "writeFile"}}},
            "then": {"properties": fields, "required": ["resource", "targetPath"]},
        }
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
