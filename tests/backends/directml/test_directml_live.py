"""The real library, on the null device. Skipped where it is not installed.

What is asserted here of the library's decisions is what was seen of the builds that `install` fetches, which are
pinned by their digests: these tests watch the bridge to the library, not the library.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from directml_fakes import GATHER, library_or_skip, tile
from five_operators import GatherNdDesc
from msgspec.structs import replace

from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml import DirectmlBackend, LibraryCrash, stubs
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS
from dml_conformance.backends.directml.library import cache_folder
from dml_conformance.backends.directml.process import start
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome
from dml_conformance.strategies.boundaries import boundary_cases

pytestmark = pytest.mark.directml

LEVELS = (Level.L5_0, Level.L5_2, Level.L6_2)
ALL_TYPES = frozenset(data_type for data_type in DataType if data_type.bits >= 8)


@contextmanager
def opened(device: str) -> Iterator[DirectmlBackend]:
    """The backend on the installed library of the level that a device's name starts with."""
    library_or_skip(Level.parse(device.partition(",")[0]))
    with closing(DirectmlBackend(device)) as backend:
        yield backend


@pytest.fixture(scope="module", params=LEVELS, ids=str)
def backend(request: pytest.FixtureRequest) -> Iterator[DirectmlBackend]:
    """The backend on each installed library."""
    with opened(request.param.label) as made:
        yield made


def own_level(backend: DirectmlBackend) -> Level:
    return backend.capabilities().decides_at


def accepts(backend: DirectmlBackend, desc: object) -> bool:
    return backend.validate(desc, own_level(backend)).accepted  # type: ignore[arg-type]


@pytest.mark.few(1)
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_the_library_calls_nothing_that_the_null_device_lacks(level: Level) -> None:
    library = library_or_skip(level)
    for feature_set in FEATURE_SETS.values():
        worker = start(library, feature_set)
        assert worker.hello.unexpected == ()
        assert len(list(Path(f"/proc/{worker._child.process.pid}/task").iterdir())) == 1, "it forks, and has threads"
        worker.close()


@pytest.mark.parametrize(
    ("feature_set", "lacking"),
    [
        ("full", ""),
        ("no-doubles", "FLOAT64"),
        ("no-16-bit", ""),
        ("no-wave-operations", ""),
        ("no-int64", ""),
        ("least", "FLOAT64 FLOAT16 INT16 UINT16"),
    ],
)
def test_what_the_device_claims_decides_on_data_types(feature_set: str, lacking: str) -> None:
    refused = set()
    with opened(f"6_2,{feature_set}") as backend:
        for data_type in ALL_TYPES:
            try:
                assert accepts(backend, tile(data_type))
            except Unsupported:
                refused.add(data_type.name)
    assert refused == set(lacking.split())


def test_older_libraries_need_typed_loads_for_bytes() -> None:
    with opened("5_2,no-typed-uav-loads") as backend:
        with pytest.raises(Unsupported, match="does not support INT8 on this device"):
            accepts(backend, tile(DataType.INT8))
        assert accepts(backend, tile(DataType.INT16))


def test_valid_and_invalid_descriptors(backend: DirectmlBackend) -> None:
    assert accepts(backend, GATHER)
    assert not accepts(backend, replace(GATHER, axis=2))
    assert backend.validate(replace(GATHER, axis=2), Level.L5_0).reason == "E_INVALIDARG"
    assert not accepts(backend, replace(GATHER, indices_tensor=None))
    assert not accepts(backend, replace(GATHER, output_tensor=TensorDesc.of(DataType.FLOAT16, (4, 2))))
    tensor = TensorDesc.of(DataType.FLOAT32, (5, 4))
    indices = TensorDesc.of(DataType.INT64, (3, 2))
    nd = GatherNdDesc(tensor, indices, TensorDesc.of(DataType.FLOAT32, (1, 3)), 2, 2)
    assert accepts(backend, nd)
    assert not accepts(backend, replace(nd, input_dimension_count=1))


def test_the_library_says_the_level_that_it_was_chosen_for_and_claims_none_above(backend: DirectmlBackend) -> None:
    assert backend.capabilities().name == f"directml:{own_level(backend)}"
    assert own_level(backend) in LEVELS
    with pytest.raises(Unsupported):
        backend.validate(GATHER, min(level for level in Level if level > own_level(backend)))


def small_alignment(desc: object) -> bool:
    tensors = (getattr(desc, name) for name in ("input_tensor", "indices_tensor", "output_tensor"))
    return any(t is not None and 0 < t.guaranteed_base_offset_alignment < 16 for t in tensors)


def test_decisions_are_those_of_the_specification() -> None:
    """On the operator that divergences spare: what arrives at the library is what was sent."""
    compared = 0
    with opened("6_2") as backend:
        for case in boundary_cases("GATHER_ND1", Level.L6_2):
            if case.outcome is not Outcome.UNSPECIFIED and not small_alignment(case.desc):
                assert accepts(backend, case.desc) == (case.outcome is Outcome.ACCEPT), case.to_json()
                compared += 1
    assert compared > 300


def test_a_crash_of_the_library_costs_one_decision(backend: DirectmlBackend) -> None:
    """With more index dimensions than Axis + 1 GATHER's validation writes before its own memory."""
    ones = TensorDesc.of(DataType.FLOAT32, (1, 1))
    guilty = replace(GATHER, input_tensor=ones, indices_tensor=TensorDesc.of(DataType.UINT32, (1, 1)))
    guilty = replace(guilty, output_tensor=ones, index_dimensions=2)
    for _ in range(2):
        with pytest.raises(LibraryCrash, match=r'SIG(ABRT|SEGV).*GATHER \{.*"index_dimensions":2'):
            backend.validate(guilty, own_level(backend))
        assert accepts(backend, GATHER)


# In a process of its own, as the library is used in it: objects are released, memory stays, and the level asked for
# is a minimum that changes no decision.
IN_PROCESS = """
import ctypes, resource, sys
from pathlib import Path
from dml_conformance.backends.base import Unsupported
from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.device import DirectmlDevice
from dml_conformance.backends.directml.null_device import NullDevice
from dml_conformance.backends.directml.feature_sets import FULL
from dml_conformance.backends.directml.structs import BLOCK_SIZE, OPERATOR_DESC_AT, Packer
from dml_conformance.spec.levels import Level
from dml_conformance.strategies.boundaries import boundary_cases

null = NullDevice(FULL)
kept = stubs.load(Path(sys.argv[2]), null.create_adapter_factory, null.serialize_versioned_root_signature)
memory = ctypes.create_string_buffer(BLOCK_SIZE)
packer = Packer(ctypes.addressof(memory))
descs = [case.desc for name in ("TILE", "GATHER_ND") for case in boundary_cases(name, Level.L6_2)]
blocks = [bytes(packer.pack(desc)) for desc in descs]

def decisions(device):
    codes = []
    for block in blocks:
        ctypes.memmove(memory, block, len(block))
        codes.append(device.create_operator(ctypes.addressof(memory) + OPERATOR_DESC_AT))
    return codes

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

devices = [DirectmlDevice(Path(sys.argv[1]), null.device.address, level) for level in Level if level <= Level.L6_2]
first = decisions(devices[0])
assert 0 in first and min(first) < 0
assert all(decisions(device) == first for device in devices[1:])
before, rounds = resident(), 30_000 // len(blocks)
for _ in range(rounds):
    decisions(devices[0])
assert resident() - before < 1 << 20, resident() - before
for device in devices:
    device.close()
assert (null.device.references, null.unexpected) == (1, [])
"""


def test_nothing_leaks_and_the_level_asked_for_changes_no_decision() -> None:
    library = library_or_skip(Level.L6_2)
    command = [sys.executable, "-c", IN_PROCESS, str(library.path), str(stubs.build(cache_folder()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
