"""Cases as DxDispatch models and back: the form, the bytes, what cannot be said, models of others, the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
from commands import invoke
from dxdispatch_model import ACCEPTED, PUBLISHED, Machine, loaded
from five_operators import FIRST_OF_FAMILIES, GatherDesc, TileDesc

from dml_conformance.conformance.campaign.engine import example_cases
from dml_conformance.conformance.exchange.dxdispatch import NOTE
from dml_conformance.conformance.exchange.dxdispatch.exporting import (
    ExportedModel,
    NotExpressible,
    export,
    is_executed,
    resource_name,
)
from dml_conformance.conformance.exchange.dxdispatch.importing import import_document, import_model
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.forms import desc_to_json
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.model_files import ModelError
from dml_conformance.spec.operator import inputs, outputs, slots, tensor_at
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules, numbered_case
from dml_conformance.strategies.scale import Reach, scale_cases
from dml_conformance.strategies.values import materialize

ALL_TYPES = [data_type for data_type in DataType if data_type.bits >= 8]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(some_cases())


def some_cases() -> Iterator[Case]:
    """Of the first operator of each family."""
    for operator in FIRST_OF_FAMILIES:
        for level in (Level.L3_0, HIGHEST):
            if applicable_rules(operator, level):
                yield from example_cases(operator, level).values()
                yield from (numbered_case(5, operator, level, n) for n in range(25))
        yield from islice(boundary_cases(operator, HIGHEST), 60)
        yield from (case for case in scale_cases(operator, HIGHEST, Reach.BITS_16) if "/overlapping/" in case.origin)


def tile(data_type: DataType = DataType.FLOAT32, **tensor: Any) -> Case:
    source = TensorDesc.of(data_type, (1, 1, 2, 3), **tensor)
    desc = TileDesc(source, TensorDesc.of(data_type, (1, 1, 2, 6)), (1, 1, 1, 2))
    return Case.of(desc, HIGHEST, {"input_tensor": Recipe("special", 3)}, rule="TILE.values")


def gather(data_type: DataType) -> Case:
    """A case of an operator that has all the types."""
    source, indices = TensorDesc.of(data_type, (1, 21)), TensorDesc.of(DataType.INT64, (1, 21))
    desc = GatherDesc(source, indices, TensorDesc.of(data_type, (1, 21)), 1, 1)
    data = {"input_tensor": Recipe("special", 3), "indices_tensor": Recipe("mixed-sign", 3)}
    return Case.of(desc, HIGHEST, data, rule="GATHER.values")


def saved(exported: ExportedModel, folder: Path) -> Path:
    folder.mkdir()
    for name, content in exported.all_files().items():
        (folder / name).write_bytes(content)
    return folder / "model.json"


def exportable(case: Case) -> bool:
    try:
        export(case)
    except NotExpressible:
        return False
    return True


# --- the form -----------------------------------------------------------------------------------------------------


def test_models_have_the_form_that_dxdispatch_takes(cases: list[Case], is_exhaustive: bool) -> None:
    """Those with everything in them the published one."""
    published, accepted = (jsonschema.Draft202012Validator(schema) for schema in (PUBLISHED, ACCEPTED))
    expressible = [case for case in cases if exportable(case)]
    assert len(expressible) > 200
    assert sum(map(is_executed, expressible)) > 50
    for case in expressible[:: 1 if is_exhaustive else 3]:
        accepted.validate(json.loads(export(case).model_text))
    for case in expressible[:60]:
        inline = export(case, inline=True)
        published.validate(json.loads(inline.model_text))
        assert not inline.files
    with pytest.raises(jsonschema.ValidationError):
        published.validate(export(tile()).model)


# --- the bytes ----------------------------------------------------------------------------------------------------


def held_against_the_reference(case: Case, folder: Path) -> None:
    path = saved(export(case), folder)
    machine = Machine(loaded(path), folder)
    for slot in inputs(case.desc):
        assert machine.buffers[resource_name(slot.name)].tobytes() == materialize(case)[slot.key].tobytes()
    written = [(resource_name(slot.name), slot.tensor) for slot in outputs(case.desc)]
    assert machine.printed == [name for name, _ in written]
    for (name, tensor), content in zip(written, machine.written.values(), strict=True):
        assert content == (folder / f"{name}.expected.dat").read_bytes()
        assert np.load(folder / f"{name}.expected.npy").shape == tensor.sizes


def test_strides_padding_indices_and_what_dml_owns_arrive(cases: list[Case], tmp_path: Path) -> None:
    executed = [case for case in cases if is_executed(case) and exportable(case)]
    strided = [case for case in executed if any(slot.tensor.strides is not None for slot in inputs(case.desc))]
    assert len(strided) > 5
    owned = tile(flags=TensorFlag.OWNED_BY_DML)
    overlapping = [
        case
        for operator in ("GATHER", "GATHER_ND1")
        for case in scale_cases(operator, HIGHEST, Reach.BITS_16)
        if "/overlapping/" in case.origin
    ]
    for number, case in enumerate([*executed[::4], *strided[:10], *overlapping, owned]):
        # Buffers are given as whole elements; of one that has a rest only what tensors reach is told.
        if all(len_in_elements(slot.tensor) for slot in slots(case.desc)):
            held_against_the_reference(case, tmp_path / str(number))
    # Such a tensor is bound when the operator is initialised.
    model = export(owned).model
    assert model["dispatchables"]["tile"]["bindings"] == {"InputTensor": "InputTensor"}
    assert model["commands"][0]["bindings"] == {"OutputTensor": "OutputTensor"}
    for case in (tile(), *overlapping):
        is_told = "have a buffer each here" in export(case).files["README.txt"].decode()
        assert is_told is (case in overlapping)


def len_in_elements(tensor: TensorDesc) -> bool:
    return (tensor.total_tensor_size_in_bytes + 3 & ~3) % tensor.data_type.size == 0


def test_what_the_output_holds_before_is_wrong_in_every_bit(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    saved(export(tile(DataType.UINT16)), folder)
    before, expected = (np.load(folder / f"OutputTensor.{when}.npy") for when in ("before", "expected"))
    assert (before.reshape(expected.shape) == np.invert(expected)).all()


@pytest.mark.parametrize("data_type", ALL_TYPES, ids=lambda data_type: data_type.name)
def test_every_type_and_bit_arrives_and_comes_back(data_type: DataType, tmp_path: Path) -> None:
    """In files and in one."""
    case, folder = gather(data_type), tmp_path / "model"
    held_against_the_reference(case, folder)
    model = json.loads(export(case, inline=True).model_text)
    machine = Machine(model, folder)
    assert machine.buffers["InputTensor"].tobytes() == materialize(case)["input_tensor"].tobytes()
    assert machine.buffers["OutputTensor"].tobytes() == (folder / "OutputTensor.expected.dat").read_bytes()
    del model[NOTE]
    back = import_document(model, "m.json", tmp_path).cases[0].case
    assert elements(back) == elements(case)
    assert Case.from_json(msgspec.json.decode(msgspec.json.encode(back.to_json()))) == back


def test_open_elements_and_padding_do_not_count() -> None:
    source, indices = TensorDesc.of(DataType.UINT8, (1, 1, 3)), TensorDesc.of(DataType.UINT32, (1, 1, 3))
    desc = GatherDesc(source, indices, TensorDesc.of(DataType.UINT8, (1, 1, 3)), 2, 1)
    data = {"input_tensor": Recipe("ramp", 5), "indices_tensor": Recipe("explicit", values=(2, 9, 0))}
    case = Case.of(desc, HIGHEST, data)
    assert case.outcome is Outcome.ACCEPT
    exported = export(case)
    assert exported.model[NOTE]["expected"]["OutputTensor"]["open"] == [1]
    readme = exported.files["README.txt"].decode()
    assert "Of 4 bytes 2 count." in readme
    assert "00000001-00000001, 00000003-00000003" in readme


def test_an_invalid_descriptor_is_a_model_of_the_operator_alone() -> None:
    case = tile()
    broken = Case.of(msgspec.structs.replace(case.desc, repeats=(1, 1, 1, 3)), HIGHEST, case.data)  # type: ignore[call-arg]
    exported = export(broken)
    assert (exported.model["commands"], exported.model["resources"]) == ([], {})
    assert "has to fail with E_INVALIDARG" in exported.files["README.txt"].decode()


def with_input(**changes: Any) -> Case:
    desc: Any = tile().desc
    changed = msgspec.structs.replace(desc.input_tensor, **changes) if changes else None
    return Case.of(msgspec.structs.replace(desc, input_tensor=changed), HIGHEST)


def bytes_of(*sizes: int) -> Case:
    tensor = TensorDesc.of(DataType.INT8, sizes)
    return Case.of(TileDesc(tensor, tensor, (1,) * len(sizes)), HIGHEST, {"input_tensor": Recipe("ramp")})


@pytest.mark.parametrize(
    ("case", "inline", "problem"),
    [
        (with_input(flags=6), False, "knows flags by their names"),
        (with_input(total_tensor_size_in_bytes=0), False, "computes one"),
        (with_input(), False, "is null"),
        (bytes_of(2**14, 2**14), False, "take 536870912 bytes"),
        (bytes_of(2**16), True, "in one file are up to 65536"),
    ],
)
def test_what_no_model_can_say_is_refused(case: Case, inline: bool, problem: str) -> None:
    with pytest.raises(NotExpressible, match=problem):
        export(case, inline=inline)


# --- back ---------------------------------------------------------------------------------------------------------


def test_an_exported_case_comes_back(cases: list[Case], tmp_path: Path) -> None:
    for number, case in enumerate(case for case in cases[::3] if exportable(case)):
        path = saved(export(case), tmp_path / str(number))
        ((where, back, why),) = import_model(path).cases
        assert where == f"dispatchables.{case.operator.lower()}"
        assert why == ""
        assert desc_to_json(back.desc) == desc_to_json(case.desc)
        assert back.level is case.level
        assert back.rule == case.rule
        if is_executed(case):
            assert back.digest == case.digest


def test_values_count_where_they_are_not_those_of_the_note(cases: list[Case], tmp_path: Path) -> None:
    for number, case in enumerate(case for case in cases[::5] if is_executed(case) and exportable(case)):
        path = saved(export(case), tmp_path / str(number))
        model = loaded(path)
        model[NOTE]["data"] = {name: {"pattern": "ramp", "seed": 77} for name in model[NOTE]["data"]}
        path.write_text(json.dumps(model))
        back = import_model(path).cases[0].case
        assert elements(back) == elements(case)


def elements(case: Case) -> list[bytes]:
    """Of every input, without padding."""
    found = []
    for key, content in materialize(case).items():
        tensor = tensor_at(case.desc, key)
        assert tensor is not None
        size = tensor.data_type.size
        strides = tuple(stride * size for stride in tensor.effective_strides)
        found.append(np.ndarray(tensor.sizes, f"V{size}", content, strides=strides).tobytes())
    return found


def of_others(initial: Any, data_type: str | None = "FLOAT32", binding: Any = "A") -> dict[str, Any]:
    tensor = {"DataType": "FLOAT32", "Sizes": [4]}
    resource = {"initialValues": initial} | ({"initialValuesDataType": data_type} if data_type else {})
    return {
        "resources": {"A": resource, "Out": {"initialValues": {"valueCount": 4, "value": 0}}},
        "dispatchables": {
            "copy": {
                "type": "TILE",
                "desc": {"InputTensor": tensor, "OutputTensor": tensor, "RepeatsCount": 1, "Repeats": [1]},
            },
            "add": {"type": "DML_OPERATOR_OF_ANOTHER_HEADER", "desc": {}},
        },
        "commands": [{"type": "dispatch", "dispatchable": "copy", "bindings": {"InputTensor": binding}}],
    }


@pytest.mark.parametrize(
    ("initial", "data_type", "binding", "values"),
    [
        ([1, 2.5, -3, 4], "FLOAT32", "A", (1.0, 2.5, -3.0, 4.0)),
        ({"valueCount": 4, "value": 7}, "DML_TENSOR_DATA_TYPE_FLOAT32", ["A"], (7.0,) * 4),
        ({"valueCount": 4, "valueStart": 1, "valueDelta": 0.5}, "FLOAT32", "A", (1.0, 1.5, 2.0, 2.5)),
        ([{"type": "FLOAT32", "value": v} for v in (1, 2, 3, 4)], None, "A", (1.0, 2.0, 3.0, 4.0)),
        ({"sourcePath": "a.dat"}, "FLOAT32", "A", (1.0, 2.0, 3.0, 4.0)),
        ({"sourcePath": "a.npy"}, None, "A", (5.0, 6.0, 7.0, 8.0)),
        ([0, 1, 2, 3, 4, 5], "FLOAT32", {"name": "A", "elementOffset": 2}, (2.0, 3.0, 4.0, 5.0)),
        ([0, 0x3F800000, 1 << 31, 0], "UINT32", "A", (0.0, 1.0, -0.0, 0.0)),
        # Numbers that JSON has not become bits.
        (["nan", "-Inf", 0.5, "INF"], "FLOAT32", "A", (0x7FC00000, 0xFF800000, 0x3F000000, 0x7F800000)),
    ],
)
def test_models_of_others_are_read(
    initial: Any, data_type: str | None, binding: Any, values: tuple[float, ...], tmp_path: Path
) -> None:
    np.array([1, 2, 3, 4], "<f4").tofile(tmp_path / "a.dat")
    np.save(tmp_path / "a.npy", np.array([[5, 6], [7, 8]], ">f4"))
    imported = import_document(of_others(initial, data_type, binding), "m.json", tmp_path)
    assert [skipped.type for skipped in imported.skipped] == ["DML_OPERATOR_OF_ANOTHER_HEADER"]
    (one,) = imported.cases
    assert (one.without_data, one.case.level) == ("", HIGHEST)
    recipe = one.case.data["input_tensor"]
    assert recipe.pattern == ("explicit-bits" if isinstance(values[0], int) else "explicit")
    assert np.array_equal(np.array(recipe.values).view(np.uint64), np.array(values).view(np.uint64))


@pytest.mark.parametrize(
    ("initial", "binding", "why"),
    [
        ("deferred", "A", "deferred"),
        ([1, 2, 3], "A", "A has 12 bytes of initial values, InputTensor spans 16"),
        ([1, 2, 3, 4], "B", "bound to no resource"),
        ({"sourcePath": "a.png"}, "A", "picture"),
    ],
)
def test_an_operator_without_values_is_a_case_without_data(
    initial: Any, binding: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    (one,) = import_document(of_others(initial, "FLOAT32", binding), "m.json", tmp_path).cases
    assert why in one.without_data
    assert one.case.data is None
    model = of_others([1, 2, 3, 4])
    model["commands"] = []
    assert import_document(model, "m.json", tmp_path).cases[0].without_data == "no command dispatches it"


@pytest.mark.parametrize(
    ("initial", "data_type", "part"),
    [
        ([1, "many"], "FLOAT32", "[1]"),
        ([1, 300], "UINT8", "[1]"),
        ([1], "FLOAT8", "DataType"),
        ({"valueCount": 0, "value": 1}, "FLOAT32", ".valueCount"),
        ({"valueCount": 10**9, "value": 1}, "FLOAT32", ".valueCount"),
        ({"valueCount": 4, "valueStart": 1}, "FLOAT32", ""),
        ({"value": 4}, None, ""),
        *(
            ({"sourcePath": f"{name}.npy"}, None, ".sourcePath")
            for name in ("none", "bad", "objects", *map(str, range(5)))
        ),
        ({"sourcePath": "a.npy"}, "INT8", ".sourcePath"),
        ({"sourcePath": 4}, None, ".sourcePath"),
        (5, "FLOAT32", ""),
        ([5], None, "[0]"),
    ],
)
def test_faults_of_a_resource_are_named(initial: Any, data_type: str | None, part: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(4, "<f4"))
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\1\0\x10\0no dictionary at all")
    for n, shape in enumerate(("(100000000000,)", f"({10**30},)", "(-1,)", "__import__('os')", "(4,")):
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
        (tmp_path / f"{n}.npy").write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(16))
    with pytest.raises(ModelError) as caught:
        import_document(of_others(initial, data_type), "m.json", tmp_path)
    assert caught.value.where == f"resources.A.initialValues{part}"


# --- commands -----------------------------------------------------------------------------------------------------


def test_cases_go_out_and_come_back_by_command(tmp_path: Path) -> None:
    """Nothing is written where one case cannot be."""
    text, null = (msgspec.json.encode(case.to_json()).decode() for case in (tile(), with_input()))
    result = invoke("export-model", text, null, "-o", tmp_path / "m")
    assert (result.exit_code, "InputTensor is null" in result.output) == (2, True)
    assert not list(tmp_path.iterdir())
    folder = tmp_path / "models" / f"tile-6_4-{tile().digest[:12]}"
    result = invoke("export-model", text, "-o", folder.parent)
    assert (result.exit_code, result.output.strip()) == (0, str(folder))
    assert {path.name for path in folder.iterdir()} == set(export(tile()).all_files())
    result = invoke("import-model", folder, "-o", tmp_path / "c.json")
    assert result.exit_code == 0, result.output
    assert [Case.from_json(value).digest for value in json.loads((tmp_path / "c.json").read_text())] == [tile().digest]
    # A model is a case for every command that takes one.
    result = invoke("replay", folder / "model.json", "--backend", "reference")
    assert (result.exit_code, "pass, TILE.values" in result.output) == (0, True)
    invoke("export-model", text, "-o", tmp_path / "flat", "--inline")
    assert [path.name for path in (tmp_path / "flat").iterdir()] == [f"{folder.name}.json"]
