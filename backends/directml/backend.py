"""The `directml` backend: the decisions of the DirectML library, on a device that exists in name only.

On a device that does exist it executes too: see `execution.backend`.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from dml_conformance.backends.base import Answer, Bindings, Capabilities, Scope, Unsupported
from dml_conformance.backends.directml.com import result_name
from dml_conformance.backends.directml.errors import DirectmlError, LibraryCrash
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS, FULL, FeatureSet
from dml_conformance.backends.directml.library import LibraryFile, find_library, settings_files
from dml_conformance.backends.directml.process import start
from dml_conformance.backends.directml.protocol import Hello, Reply
from dml_conformance.backends.directml.structs import Packer
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc, slots
from dml_conformance.spec.operator_facts import operator_facts
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES

ACCEPTED = Answer(True)


class Decider(Protocol):
    """What has the library."""

    @property
    def hello(self) -> Hello:
        """What it said of itself."""

    def ask(self, block: memoryview) -> Reply:
        """Send a block of `structs.Packer`, wait for the decision."""

    def close(self) -> None:
        """Let go of it."""


class DirectmlBackend:
    """The real library, without a GPU: it decides, and executes nothing.

    The library runs in a process of its own, so that a crash in it costs one case.

    Args:
        device: words joined by commas, in any order: a feature level picks the installed library that speaks it
            (`5_2`), a name what the null device claims to be (`no-doubles`, see `feature_sets`). "" is the library that
            `DML_CONFORMANCE_DIRECTML` names, or the newest installed, on a device that claims all.

    Raises:
        ValueError: a word means nothing here.
        DirectmlError: the library cannot be had or does not run here.
    """

    def __init__(self, device: str = "") -> None:
        level, feature_set = _read_device(device)
        self._feature_set = feature_set
        self._device_name = f"null device ({feature_set.name})"
        self._begin(device, find_library(level))

    def _begin(self, device: str, library: LibraryFile) -> None:
        """Start the process, and learn from it what there is to know."""
        self._library = library
        self._worker: Decider | None = self._start()
        hello = self._worker.hello
        self._level = Level(hello.level)
        if library.release is not None and library.release.level != self._level:
            raise DirectmlError(f"{library.path} says that it speaks level {self._level}, not {library.release.level}")
        self._packer = Packer(hello.address)
        self._lacking = frozenset(t for t in DataType if t.bits >= 8) - {DataType(value) for value in hello.data_types}
        self._reasons: dict[int, Answer] = {}
        self._name = ":".join(filter(None, ("directml", device)))
        self._versions = {
            "directml": library.version,
            "directml feature level": self._level.label,
            "directml sha256": library.sha256,
        }
        if settings := settings_files():
            self._versions["directml settings"] = ", ".join(map(str, settings))

    def capabilities(self) -> Capabilities:
        return Capabilities(
            name=self._name,
            device=self._device_name,
            versions=self._versions,
            levels=tuple(level for level in Level if level <= self._level),
            operators=tuple(operator_facts()),
            enforces=frozenset(DESCRIPTOR_CATEGORIES),
            executes=False,
            decides_at=self._level,
            scopes=self._scopes(),
            form="DirectML.h",
        )

    def _scopes(self) -> tuple[Scope, ...]:
        """All data types, unless the library lacks some on this device."""
        if not self._lacking:
            return ()
        return (Scope(data_types={"*": tuple(each for each in DataType if each not in self._lacking)}),)

    def validate(self, desc: OperatorDesc, level: Level) -> Answer:
        """Have the library create the operator, and release it.

        Raises:
            Unsupported: the level is above the library's, the API's structs cannot hold the descriptor, or it was
                rejected and has a data type that the library does not support on this device.
            LibraryCrash: the library took its process down.
        """
        if level > self._level:
            raise Unsupported(f"the DirectML library speaks level {self._level}")
        if self._worker is None:
            self._worker = self._start()
            self._packer = Packer(self._worker.hello.address)
        block = self._packer.pack(desc)
        try:
            code, unexpected = self._worker.ask(block)
        except LibraryCrash as crash:
            raise LibraryCrash(f"the DirectML library {crash}; it was asked for {_request_text(desc)}") from None
        except DirectmlError:
            self._worker = None
            raise
        if code < 0 and self._lacking:
            self._check_device_has_types(desc)
        if unexpected:
            return Answer(code >= 0, f"{result_name(code)}; the null device lacks what was called: {unexpected}")
        if code == 0:
            return ACCEPTED
        answer = self._reasons.get(code)
        if answer is None:
            answer = self._reasons[code] = Answer(code > 0, result_name(code))
        return answer

    def execute(self, desc: OperatorDesc, level: Level, inputs: Bindings, outputs: Bindings) -> None:
        raise Unsupported("a null device executes nothing")

    def close(self) -> None:
        """End the library's process; the next decision starts a new one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _start(self) -> Decider:
        return start(self._library, self._feature_set)

    def _check_device_has_types(self, desc: OperatorDesc) -> None:
        lacking = sorted({slot.tensor.data_type for slot in slots(desc)} & self._lacking)
        if lacking:
            names = ", ".join(data_type.name for data_type in lacking)
            raise Unsupported(f"the library does not support {names} on this device")


def _read_device(device: str) -> tuple[Level | None, FeatureSet]:
    level: Level | None = None
    feature_set: FeatureSet | None = None
    for word in filter(None, device.split(",")):
        if word in FEATURE_SETS and feature_set is None:
            feature_set = FEATURE_SETS[word]
        elif word[0].isdigit() and level is None:
            level = Level.parse(word)
        else:
            known = ", ".join(FEATURE_SETS)
            raise ValueError(
                f"{word!r} in {device!r}: expected one feature level or one feature set of {known}, or d3d12 or warp"
            )
    return level, feature_set or FULL


def _request_text(desc: OperatorDesc) -> str:
    return f"{desc.operator} {msgspec.json.encode(desc).decode()}"
