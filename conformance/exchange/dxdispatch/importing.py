"""A DxDispatch model as cases: each of its operators known here, with the initial values of what is bound to it.

A buffer's values become a recipe. Where the model came from here and its buffers are unchanged, the recipe is the one
that it was made from; else the elements stand in the case, as numbers or, where JSON has none for them, as bits.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dml_conformance.backends.base import Bytes
from dml_conformance.conformance.exchange.dxdispatch import NOTE
from dml_conformance.conformance.judge.memory import elements_at
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.model_files import (
    MAX_BYTES,
    LocatedOperator,
    ModelError,
    SkippedOperator,
    member_path,
    parse_document,
    read_parsed,
)
from dml_conformance.spec.operator import inputs, split_key
from dml_conformance.spec.registry import rules_of, spec_of
from dml_conformance.spec.tensor import TensorDesc, minimum_size_in_bytes
from dml_conformance.strategies.values import (
    EXPLICIT,
    EXPLICIT_BITS,
    NUMPY_TYPE,
    OVERLAPPING,
    UNSIGNED_OF_SIZE,
    fill,
    length_limits,
    overlaid,
)

MAX_VALUES = 2**20  # elements that a case can hold in itself
MAX_DATA_BYTES = 2**28  # of one buffer
_DATA_TYPE, _TENSOR_TYPE = "initialValuesDataType", "DML_TENSOR_DATA_TYPE_"


class ImportedCase(NamedTuple):
    """One operator of a model as a case.

    Attributes:
        where: its path in the file.
        case: with data if every input is bound to a buffer with initial values.
        without_data: why there is none, "" if there is, or if the descriptor is not valid at the level anyway.
    """

    where: str
    case: Case
    without_data: str = ""


class ImportedModel(NamedTuple):
    """What a model holds, in its order."""

    cases: tuple[ImportedCase, ...]
    skipped: tuple[SkippedOperator, ...]


class _NoData(ValueError):
    """A binding that gives no data; the message says why."""


def is_model(root: Any) -> bool:
    """Whether parsed JSON is a model, and no case or descriptor."""
    return isinstance(root, dict) and "dispatchables" in root


def import_model(path: Path, level: Level | None = None) -> ImportedModel:
    """Read a model file, and the files that its resources name, relative to its folder.

    Args:
        path: of the JSON file.
        level: to hold the operators against; None: the one that the model says, if it was exported here, or else the
            highest.

    Raises:
        ModelError: it cannot be read, a resource is not in a form that DxDispatch takes, or names a file that is not
            below the model's folder.
    """
    name = str(path)
    root = parse_document(_read(path, MAX_BYTES, name, ""), name)
    return import_document(root, name, path.parent, level)


def import_document(root: Any, name: str, folder: Path, level: Level | None = None) -> ImportedModel:
    """The same for a model that is parsed already; `name` is for messages, `folder` where its files are."""
    found = read_parsed(root, name)
    note = root.get(NOTE) if is_model(root) else None
    importer = _Importer(root if is_model(root) else {}, name, folder, note if isinstance(note, dict) else {})
    return ImportedModel(tuple(importer.case(located, level) for located in found.operators), found.skipped)


class _Importer:
    """Reads the buffers of one model."""

    def __init__(self, root: dict[str, Any], name: str, folder: Path, note: dict[str, Any]) -> None:
        self._root = root
        self._name = name
        self._folder = folder
        self._note = note

    def case(self, located: LocatedOperator, asked: Level | None) -> ImportedCase:
        desc, spec = located.desc, spec_of(located.desc)
        level = asked or self._noted_level() or HIGHEST
        rule = self._note.get("rule", "")
        if rule not in {known.id for known in rules_of(spec.name)}:
            rule = ""
        origin = f"{Path(self._name).name}:{located.where}"
        plain = Case.of(desc, level, rule=rule, origin=origin)
        if plain.broken:
            return ImportedCase(located.where, plain)
        try:
            data = self._data(located)
        except _NoData as error:
            return ImportedCase(located.where, plain, str(error))
        return ImportedCase(located.where, Case.of(desc, level, data, rule=rule, origin=origin))

    def _data(self, located: LocatedOperator) -> dict[str, Recipe]:
        """What gives the inputs' contents; raises _NoData where there are none."""
        desc, spec, bindings = located.desc, spec_of(located.desc), self._bindings(located)
        contents = {slot.key: self._content(bindings, slot.name, slot.tensor) for slot in inputs(desc)}
        data = {}
        for slot in inputs(desc):
            make = partial(fill, limits=length_limits(desc, slot))
            beside = None if spec.index is None else contents[spec.index.indices]
            if spec.index is not None and spec.index.indices == slot.key:
                index, beside = spec.index, None
                make = partial(fill, limits=index.limits(desc), has_duplicates=index.has_duplicates)
            data[slot.key] = self._recipe(slot.name, slot.tensor, contents[slot.key], make, beside)
        return data

    def _noted_level(self) -> Level | None:
        try:
            return Level.parse(self._note["level"]) if isinstance(self._note.get("level"), str) else None
        except ValueError:
            return None

    def _bindings(self, located: LocatedOperator) -> dict[str, Any]:
        """What is bound to an operator's tensors: at its initialisation, and by the first command that runs it."""
        commands = self._root.get("commands", [])
        if not isinstance(commands, list):
            raise ModelError(self._name, "commands", "expected a list of commands")
        for key, dispatchable in self._root.get("dispatchables", {}).items():
            if located.where != f"dispatchables{member_path(key)}":
                continue
            for command in commands:
                if isinstance(command, dict) and command.get("dispatchable") == key:
                    owned, bound = dispatchable.get("bindings", {}), command.get("bindings", {})
                    if isinstance(owned, dict) and isinstance(bound, dict):
                        return {**owned, **bound}
        raise _NoData("no command dispatches it")

    def _content(self, bindings: Mapping[str, Any], tensor_name: str, tensor: TensorDesc) -> Bytes:
        """The bytes from a tensor's first one on, as many as its elements span."""
        field, number = split_key(tensor_name)
        binding = bindings.get(field)
        if isinstance(binding, list) and (len(binding) == 1 if number is None else number < len(binding)):
            binding = binding[number or 0]
        offset = 0
        if isinstance(binding, dict):
            place = binding.get("elementOffset", 0), binding.get("elementSizeInBytes", tensor.data_type.size)
            if not all(isinstance(number, int) and 0 <= number < MAX_DATA_BYTES for number in place):
                raise _NoData(f"the binding of {tensor_name} has an offset that is no whole number")
            offset, binding = place[0] * place[1], binding.get("name")
        resources = self._root.get("resources", {})
        if not isinstance(binding, str) or not isinstance(resources, dict) or binding not in resources:
            raise _NoData(f"{tensor_name} is bound to no resource of the model")
        content = self._resource(resources[binding], f"resources.{binding}")[offset:]
        needed = minimum_size_in_bytes(tensor.data_type, tensor.sizes, tensor.strides)
        needed = min(needed, tensor.total_tensor_size_in_bytes)
        spare = needed - len(content)
        if spare >= 4:
            raise _NoData(f"{binding} has {len(content)} bytes of initial values, {tensor_name} spans {needed}")
        return np.concatenate([content, np.zeros(max(spare, 0), np.uint8)])

    def _recipe(
        self, name: str, tensor: TensorDesc, content: Bytes, make: Callable[..., Bytes], beside: Bytes | None
    ) -> Recipe:
        """What gives the content.

        Args:
            name: of the tensor.
            tensor: the input.
            content: its bytes.
            make: makes them from the tensor and a recipe.
            beside: the content of the index tensor, for an input that is another one.
        """
        size = tensor.data_type.size
        elements = elements_at(np.ascontiguousarray(content), 0, tensor)
        noted = self._noted_recipe(name)
        if noted is not None:
            try:
                filled = make(tensor, noted)
                if noted.pattern == OVERLAPPING:
                    filled = overlaid(filled, beside)
                if np.array_equal(elements_at(filled, 0, tensor), elements):
                    return noted
            except ValueError:
                pass  # another model's note, or one that was edited: the values count
        if elements.size > MAX_VALUES:
            raise _NoData(f"{name} has {elements.size} elements, a case holds up to {MAX_VALUES} itself")
        numbers = np.ascontiguousarray(elements).view(NUMPY_TYPE[tensor.data_type])
        if tensor.data_type.is_float and not np.isfinite(numbers).all():
            return Recipe(EXPLICIT_BITS, values=tuple(elements.astype(UNSIGNED_OF_SIZE[size]).ravel().tolist()))
        return Recipe(EXPLICIT, values=tuple(numbers.ravel().tolist()))

    def _noted_recipe(self, name: str) -> Recipe | None:
        data = self._note.get("data")
        try:
            return msgspec.convert(data[name], Recipe) if isinstance(data, dict) and name in data else None
        except msgspec.ValidationError:
            return None

    # Resources.

    def _resource(self, value: Any, where: str) -> Bytes:
        """The initial values of a buffer as bytes."""
        if not isinstance(value, dict) or "initialValues" not in value:
            raise ModelError(self._name, where, "expected a buffer as an object with initialValues")
        initial, where = value["initialValues"], f"{where}.initialValues"
        data_type = self._data_type(value.get(_DATA_TYPE), where.replace("initialValues", _DATA_TYPE))
        if initial == "deferred":
            raise _NoData("its values are deferred: they come about when the model runs")
        if isinstance(initial, list):
            if data_type is None:
                return self._mixed(initial, where)
            return self._numbers(initial, data_type, where)
        if not isinstance(initial, dict):
            raise ModelError(self._name, where, 'expected a list of numbers, an object or "deferred"')
        if "sourcePath" in initial:
            return self._file(initial["sourcePath"], data_type, f"{where}.sourcePath")
        if data_type is None:
            raise ModelError(self._name, where, f"needs {_DATA_TYPE} beside it")
        return self._generated(initial, data_type, where)

    def _data_type(self, value: Any, where: str) -> DataType | None:
        if value is None:
            return None
        name = value.removeprefix(_TENSOR_TYPE) if isinstance(value, str) else ""
        if name in DataType.__members__ and not DataType[name].shares_bytes:
            return DataType[name] if DataType[name].size else None
        raise ModelError(self._name, where, f"expected a data type such as FLOAT32, found {value!r}")

    def _numbers(self, values: list[Any], data_type: DataType, where: str) -> Bytes:
        number = NUMPY_TYPE[data_type]
        if data_type.is_float:
            floats = [self._float(value, f"{where}[{i}]") for i, value in enumerate(values)]
            with np.errstate(over="ignore"):
                return np.array(floats, np.float64).astype(number).view(np.uint8)
        limits = np.iinfo(number)
        for i, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, int) or not limits.min <= value <= limits.max:
                raise ModelError(self._name, f"{where}[{i}]", f"expected a whole number of {data_type.name}")
        return np.array(values, number).view(np.uint8)

    def _float(self, value: Any, where: str) -> float:
        if isinstance(value, str) and value.lower() in ("inf", "-inf", "nan"):
            return float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ModelError(self._name, where, 'expected a number, "inf", "-inf" or "nan"')
        return float(value)

    def _mixed(self, values: list[Any], where: str) -> Bytes:
        """A list of single values, each with its own type."""
        parts = []
        for i, item in enumerate(values):
            data_type = self._data_type(item.get("type"), f"{where}[{i}].type") if isinstance(item, dict) else None
            if data_type is None:
                raise ModelError(self._name, f"{where}[{i}]", f"expected type and value, or {_DATA_TYPE} for the list")
            parts.append(self._numbers([item.get("value")], data_type, f"{where}[{i}].value"))
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)

    def _generated(self, initial: dict[str, Any], data_type: DataType, where: str) -> Bytes:
        """A constant, or a sequence that is summed up in the buffer's own type, as DxDispatch does."""
        count = initial.get("valueCount")
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < count * data_type.size <= MAX_DATA_BYTES:
            most = MAX_DATA_BYTES // data_type.size
            raise ModelError(self._name, f"{where}.valueCount", f"expected a whole number from 1 to {most}")
        names = ("value",) if "value" in initial else ("valueStart", "valueDelta")
        for name in names:
            if name not in initial:
                raise ModelError(self._name, where, f"has no {name}; expected value, or valueStart and valueDelta")
        first, *steps = (
            self._numbers([initial[name]], data_type, f"{where}.{name}").view(NUMPY_TYPE[data_type])[0]
            for name in names
        )
        values = np.full(count, first, NUMPY_TYPE[data_type])
        if steps:
            values[1:] = steps[0]
            with np.errstate(over="ignore"):
                np.add.accumulate(values, out=values)
        return values.view(np.uint8)

    def _file(self, source: Any, data_type: DataType | None, where: str) -> Bytes:
        if not isinstance(source, str) or not source:
            raise ModelError(self._name, where, "expected the path of a file")
        path = self._folder / source.replace("\\", "/")
        try:
            inside = path.resolve().is_relative_to(self._folder.resolve())
        except (OSError, RuntimeError, ValueError) as error:  # a link that leads to itself, a name with a zero in it
            raise ModelError(self._name, where, f"no path of a file: {error}") from None
        if not inside:  # what a model of somebody else is not to bring into a case, which is handed on
            raise ModelError(self._name, where, f"{source} is outside of the model's folder; copy it there")
        content = _read(path, MAX_DATA_BYTES, self._name, where)
        if path.suffix.lower() in (".jpg", ".png"):
            raise _NoData(f"{source} is a picture, which is not read here")
        if path.suffix.lower() != ".npy":
            return np.frombuffer(content, np.uint8)
        try:
            array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        except Exception as error:  # whatever Python's own parser makes of a header that is none
            raise ModelError(self._name, where, f"{source} is no NumPy file: {error}") from None
        number = array.dtype.newbyteorder("<")
        if number not in NUMPY_TYPE.values() or not array.flags.c_contiguous:
            raise ModelError(self._name, where, f"{source} holds {array.dtype}, or in an order, that no tensor has")
        if data_type is not None and NUMPY_TYPE[data_type] != number:
            raise ModelError(self._name, where, f"{source} holds {array.dtype}, not {data_type.name}")
        return np.atleast_1d(array.astype(number)).ravel().view(np.uint8)


def _read(path: Path, most: int, name: str, where: str) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise ModelError(name, where, f"{path.name} is no file")
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        what = f"{path.name} cannot be read" if where else "cannot be read"
        raise ModelError(name, where, f"{what}: {error.strerror or error}") from None
    if where and len(content) > most:
        raise ModelError(name, where, f"{path.name} is larger than {most // 2**20} MiB, the most that is read")
    return content
