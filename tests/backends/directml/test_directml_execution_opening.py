"""From a device's name to libraries, and from libraries to a device, on systems and with libraries that are made up."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
import importlib.util
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from directml_execution_fakes import FakeDevice, FakeDml, World

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import (
    POINTER,
    RESULT,
    ComError,
    ComObject,
    HResult,
    guid_bytes,
    implements,
    read_guid,
)
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.execution import loader, opening
from dml_conformance.backends.directml.execution.interfaces import Interface, StructReturn
from dml_conformance.backends.directml.execution.loader import Setup, choose
from dml_conformance.backends.directml.execution.opening import (
    StandIns,
    adapt,
    create_device,
    describe,
    device_versions,
    exported,
    load,
    open_device,
    struct_return_of,
    warp_adapter,
)
from dml_conformance.backends.directml.feature_sets import FULL, LEAST, FeatureSet
from dml_conformance.backends.directml.library import LibraryFile
from dml_conformance.backends.directml.null_device import Adapter, AdapterFactory, NullDevice
from dml_conformance.spec.levels import Level

LUID = 0x1_0000_0002


class FakeLibrary:
    """A library with functions that are Python's."""

    _name = "made-up.so"

    def __init__(self, **functions: Callable[..., int]) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> Any:
        if name not in self._functions:
            raise AttributeError(name)
        function = self._functions[name]

        class Exported:
            restype: Any = None
            argtypes: Any = ()

            def __call__(self, *arguments: Any) -> int:
                assert self.restype is RESULT
                assert len(arguments) == len(self.argtypes)
                return function(*arguments)

        return Exported()


def hand_out(made: ComObject, pointer: Any) -> int:
    return made.hand_out(ctypes.addressof(pointer._obj))


class FakeD3d12(FakeLibrary):
    """Direct3D 12 with one device, that has a certain feature level."""

    def __init__(self, device: ComObject, level: int = 0xC100) -> None:
        self.asked: list[tuple[int | None, int]] = []

        def create(adapter: int | None, least: int, iid: bytes, pointer: Any) -> int:
            self.asked.append((adapter, least))
            assert iid == guid_bytes(headers.ID3D12_DEVICE.iid)
            return hand_out(device, pointer) if least <= level else HResult.E_INVALIDARG.signed

        super().__init__(
            D3D12CreateDevice=create, D3D12SerializeVersionedRootSignature=lambda desc, blob, error: desc + 100
        )


def test_what_cannot_be_loaded_and_what_a_library_lacks_are_told(tmp_path: Path) -> None:
    with pytest.raises(DirectmlError, match=r"cannot load .*missing\.so"):
        load(str(tmp_path / "missing.so"))
    with pytest.raises(DirectmlError, match=r"made-up\.so has no function D3D12CreateDevice"):
        exported(FakeLibrary(), "D3D12CreateDevice")


@pytest.mark.parametrize(("level", "asked"), [(0xC100, [0xB000]), (0x1000, [0xB000, 0x1000])])
def test_a_device_is_made_of_the_least_level_that_it_has(level: int, asked: list[int]) -> None:
    world = World()
    library = FakeD3d12(world.device, level)
    assert create_device(library) == world.device.address
    assert library.asked == [(None, least) for least in asked]
    with pytest.raises(ComError, match="D3D12CreateDevice answered E_INVALIDARG"):
        create_device(FakeD3d12(world.device, 0))


def test_every_class_that_directml_comes_to_see_is_adapted() -> None:
    world = World()
    adapted: list[tuple[str, tuple[str, ...]]] = []

    class Recorder:
        def adapt(self, pointer: int, slots: tuple[str, ...]) -> None:
            adapted.append((type(world.objects[pointer]).__name__, slots))

    before = sorted(world.alive)
    adapt(Recorder(), Interface(headers.ID3D12_DEVICE, world.device.address, StructReturn.POINTER))  # type: ignore[arg-type]
    assert adapted == [
        ("FakeDevice", headers.ID3D12_DEVICE5),
        ("FakeDevice", headers.ID3D12_DEVICE),
        ("FakeQueue", headers.ID3D12_COMMAND_QUEUE),
        ("FakeDescriptorHeap", headers.ID3D12_DESCRIPTOR_HEAP),
        ("FakeDescriptorHeap", headers.ID3D12_DESCRIPTOR_HEAP),
        ("FakeResource", headers.ID3D12_RESOURCE),
        ("FakeHeap", headers.ID3D12_HEAP),
        ("FakeResource", headers.ID3D12_RESOURCE),
    ]
    assert sorted(world.alive) == before
    assert world.unexpected == []


@pytest.mark.parametrize(
    ("feature_set", "expected"),
    [
        (FULL, ("12_1", "6_6", "yes", "yes")),
        (LEAST, ("1_0_CORE", "6_0", "no", "no")),
    ],
    ids=["full", "least"],
)
def test_what_a_device_says_of_itself(feature_set: FeatureSet, expected: tuple[str, ...]) -> None:
    null = NullDevice(feature_set)
    device = Interface(headers.ID3D12_DEVICE, null.device.address, StructReturn.VALUE)
    names = ("feature level", "shader model", "doubles", "native 16-bit operations")
    assert device_versions(device) == {f"d3d12 {name}": value for name, value in zip(names, expected, strict=True)}


def test_shader_models_that_a_device_does_not_know_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    null = NullDevice(FULL)
    answer = null.device._answer

    def refuse_new(feature: int, asked: bytes) -> bytes | None:
        known = feature != headers.D3D12Feature.SHADER_MODEL or asked[0] <= 0x62
        return answer(feature, asked) if known else None

    monkeypatch.setattr(null.device, "_answer", refuse_new)
    device = Interface(headers.ID3D12_DEVICE, null.device.address, StructReturn.VALUE)
    assert device_versions(device)["d3d12 shader model"] == "6_2"


# --- adapters -----------------------------------------------------------------------------------------------------


class FakeStubs:
    """Instead of compiled libraries: keeps the functions that they would call."""

    def load(self, folder: Path, create: Callable[..., int], serialize: Callable[..., int]) -> list[Any]:
        self.create, self.serialize = create, serialize
        return [folder]


@pytest.fixture
def fake_stubs(monkeypatch: pytest.MonkeyPatch) -> FakeStubs:
    made = FakeStubs()
    monkeypatch.setattr(opening.stubs, "load", made.load)
    monkeypatch.setattr(opening.stubs, "build", lambda cache: cache / "stubs")
    return made


def test_stand_ins_answer_for_the_library_once_it_is_there(fake_stubs: FakeStubs) -> None:
    stand_ins = StandIns(Path("stubs"))
    iid, pointer = ctypes.create_string_buffer(guid_bytes(headers.IDXCORE_ADAPTER_FACTORY.iid), 16), POINTER()
    arguments = (ctypes.addressof(iid), ctypes.addressof(pointer))
    assert fake_stubs.create(*arguments) == HResult.E_FAIL.signed
    assert fake_stubs.serialize(1, 2, 3) == HResult.E_FAIL.signed
    stand_ins.connect(FakeD3d12(World().device), LUID)
    assert fake_stubs.serialize(1, 2, 3) == 101
    assert fake_stubs.create(*arguments) == 0
    assert pointer.value is not None
    name, versions = describe(FakeDxcore(stand_ins), LUID)
    assert name
    assert versions == {"driver": "1.0.0.0"}
    with pytest.raises(ComError, match="GetAdapterByLuid answered E_INVALIDARG"):
        describe(FakeDxcore(stand_ins), LUID + 1)


class FakeDxcore(FakeLibrary):
    """DXCore as the stand-ins have it, or with an adapter of its own."""

    def __init__(self, source: StandIns | AdapterFactory) -> None:
        create = source.create if isinstance(source, AdapterFactory) else source._create_factory

        def create_factory(iid: bytes, pointer: Any) -> int:
            memory = ctypes.create_string_buffer(iid, 16)
            return create(ctypes.addressof(memory), ctypes.addressof(pointer._obj))

        super().__init__(DXCoreCreateAdapterFactory=create_factory)


class FakeDxgiAdapter(ComObject):
    interfaces = frozenset({headers.IDXGI_ADAPTER.iid})


class FakeDxgiFactory(ComObject):
    slots = headers.IDXGI_FACTORY4
    interfaces = frozenset({headers.IDXGI_FACTORY4.iid})

    def __init__(self) -> None:
        super().__init__([])
        self.adapter = FakeDxgiAdapter([])

    @implements("EnumWarpAdapter", RESULT, POINTER, POINTER)
    def enum_warp_adapter(self, iid: int, pointer: int) -> int:
        assert read_guid(iid) == headers.IDXGI_ADAPTER.iid
        return self.adapter.hand_out(pointer)


def test_the_software_adapter_of_windows() -> None:
    factory = FakeDxgiFactory()
    with warp_adapter(FakeLibrary(CreateDXGIFactory1=lambda iid, pointer: hand_out(factory, pointer))) as adapter:
        assert adapter.pointer == factory.adapter.address
        assert factory.references == 1, "the factory is released"
    assert factory.adapter.references == 1


# --- all together -------------------------------------------------------------------------------------------------


class FakeDirectml:
    """DirectML's device, made on a Direct3D 12 device."""

    made: ClassVar[list[FakeDirectml]] = []

    def __init__(self, library: Path, device: int) -> None:
        self.library, self.device = library, device
        self.object = FakeDml(World())
        self.address = self.object.address
        self.is_closed = False
        FakeDirectml.made.append(self)

    def level(self) -> Level:
        return Level.L6_2

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, fake_stubs: FakeStubs, tmp_path: Path) -> list[str]:
    """Everything made up. Returns what is loaded and adapted, in order."""
    happened: list[str] = []
    world = World()
    device = FakeDevice(world)
    factory = AdapterFactory([], Adapter([], luid=77))
    dxgi = FakeDxgiFactory()
    d3d12 = FakeD3d12(device)
    libraries = {
        "d3d12": d3d12,
        "dxcore": FakeDxcore(factory),
        "dxgi": FakeLibrary(CreateDXGIFactory1=lambda iid, pointer: hand_out(dxgi, pointer)),
    }

    def fake_load(name: str) -> Any:
        happened.append(f"load {Path(name).name}")
        return libraries.get(Path(name).stem)

    class FakeBridge:
        def __init__(self, cache: Path, caller: Path) -> None:
            happened.append(f"bridge for {caller.name}")

        def adapt(self, pointer: int, slots: tuple[str, ...]) -> None:
            happened.append(f"adapt {type(world.objects[pointer]).__name__}")

    monkeypatch.setattr(opening, "load", fake_load)
    monkeypatch.setattr(opening, "Bridge", FakeBridge)
    monkeypatch.setattr(opening, "DirectmlDevice", FakeDirectml)
    monkeypatch.setattr(opening, "device_versions", lambda device: {"d3d12 feature level": "12_1"})
    monkeypatch.setattr(opening, "STRUCT_RETURN_OF_CPP", StructReturn.VALUE)
    FakeDirectml.made.clear()
    return happened


def opened(setup: Setup) -> Any:
    found = open_device(setup)
    assert FakeDirectml.made[0].device == found.gpu.device.pointer
    assert found.gpu.dml.pointer == FakeDirectml.made[0].address
    return found


def test_linux_with_a_library_that_returns_structs_through_a_pointer(loaded: list[str], tmp_path: Path) -> None:
    native = tmp_path / "d3d12.so"
    native.write_bytes(b"library")
    found = opened(Setup("libdirectml.so", str(native), device_name="a GPU"))
    assert loaded[:4] == ["load d3d12.so", "load libdirectml.so", "bridge for libdirectml.so", "adapt FakeDevice"]
    assert found.name == "a GPU"
    assert list(found.versions) == ["d3d12 feature level", "d3d12 sha256"]
    found.gpu.close()
    assert FakeDirectml.made[0].object.references == 1, "the other owner's reference is left"


@pytest.fixture
def made_on_windows(loaded: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """As on Windows. Returns a list that gets the devices that are made, each with its adapter."""
    devices: list[Any] = []
    create = opening.create_device

    def create_recorded(library: Any, adapter: Interface | None = None) -> int:
        devices.append((create(library, adapter), adapter))
        return int(devices[-1][0])

    monkeypatch.setattr(opening, "STRUCT_RETURN_OF_CPP", StructReturn.POINTER)
    monkeypatch.setattr(opening, "create_device", create_recorded)
    return devices


def test_the_software_adapter_is_handed_to_direct3d(loaded: list[str], made_on_windows: list[Any]) -> None:
    """A library that returns structs as DirectML does needs no bridge."""
    found = opened(Setup("DirectML.dll", "d3d12.dll", "dxcore.dll", "dxgi.dll"))
    assert loaded == ["load d3d12.dll", "load dxcore.dll", "load dxgi.dll", "load DirectML.dll"]
    assert found.versions == {"driver": "1.0.0.0", "d3d12 feature level": "12_1"}
    assert [adapter.table for _, adapter in made_on_windows] == [headers.IDXGI_ADAPTER]


def test_a_failure_half_way_releases_what_was_made(made_on_windows: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(device: Interface) -> dict[str, str]:
        raise ComError("asking", HResult.E_FAIL.signed)

    monkeypatch.setattr(opening, "device_versions", fail)
    with pytest.raises(ComError, match="asking"):
        open_device(Setup("DirectML.dll", "d3d12.dll", "dxcore.dll"))
    assert FakeDirectml.made[0].is_closed
    assert FakeDirectml.made[0].object.references == 1
    with Interface(headers.IDML_OBJECT, made_on_windows[0][0], StructReturn.POINTER) as device:
        assert device.AddRef() == 2
        device.Release()


def test_struct_return_of_a_made_up_device() -> None:
    assert struct_return_of(World().device.address) is StructReturn.POINTER
    assert struct_return_of(NullDevice(FULL).device.address) is StructReturn.VALUE


# --- which libraries are chosen ---------------------------------------------------------------------------------------


LINUX_LIBRARY = LibraryFile(Path("/cache/libdirectml.so"), "0" * 64, None)


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DML_CONFORMANCE_DIRECTML", "DML_CONFORMANCE_D3D12", "DML_CONFORMANCE_D3D12_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(loader, "WSL_FOLDER", tmp_path / "no-wsl")


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> list[Level | None]:
    """Linux with libdirectml.so installed. Returns the levels that it was looked for with."""
    asked: list[Level | None] = []

    def find_library(level: Level | None) -> LibraryFile:
        asked.append(level)
        return LINUX_LIBRARY

    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(loader, "find_library", find_library)
    return asked


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Windows without onnxruntime. Returns the folder of the system's libraries."""
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("SYSTEMROOT", str(tmp_path / "Windows"))
    folder = tmp_path / "Windows" / "System32"
    folder.mkdir(parents=True)
    return folder


def made(path: Path, content: bytes = b"library") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


NATIVE, WSL = "DML_CONFORMANCE_D3D12", "libd3d12.so"


@pytest.mark.parametrize(
    ("word", "named", "expected"),
    [
        ("d3d12", {NATIVE: "native.so"}, ("native.so", "", "the device of native.so")),
        # The word comes before the environment, and that before the libraries of WSL.
        ("d3d12={}/native.so", {NATIVE: "other.so", f"{NATIVE}_NAME": "a GPU"}, ("native.so", "", "a GPU")),
        ("d3d12", {}, (WSL, "libdxcore.so", "")),
        ("d3d12", {NATIVE: "native.so", "here": WSL}, ("native.so", "", "the device of native.so")),
        ("d3d12", {NATIVE: "missing.so"}, r"DML_CONFORMANCE_D3D12 names '.*/missing\.so'"),
        ("d3d12", {"here": ""}, "name it in DML_CONFORMANCE_D3D12, or as in directml:d3d12=/path"),
        ("warp", {}, "WARP is Windows' own software adapter"),
        ("warp=/lib/x.so", {}, "'warp=/lib/x.so' is no device"),
        ("gpu", {}, "'gpu' is no device"),
        ("d3d12=/no/such.so", {}, r"the device names '/no/such\.so', and there is no such file"),
    ],
)
def test_the_libraries_of_linux(
    linux: list[Level | None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    word: str,
    named: dict[str, str],
    expected: tuple[str, str, str] | str,
) -> None:
    """What the user names, or what WSL has; there are `native.so`, `other.so` and, unless said, those of WSL."""
    monkeypatch.setattr(loader, "WSL_FOLDER", tmp_path)
    for name in ("native.so", "other.so", *filter(None, [named.get("here", WSL)])):
        made(tmp_path / name)
    for variable in (NATIVE, f"{NATIVE}_NAME"):
        if variable in named:
            value = named[variable]
            monkeypatch.setenv(variable, str(tmp_path / value) if value.endswith(".so") else value)
    if isinstance(expected, str):
        with pytest.raises(DirectmlError, match=expected):
            choose(word.format(tmp_path))
        return
    setup, library = choose(word.format(tmp_path), Level.L5_2)
    d3d12, dxcore, device_name = expected
    beside = {"dxcore": str(tmp_path / dxcore)} if dxcore else {"device_name": device_name}
    assert setup == Setup("/cache/libdirectml.so", str(tmp_path / d3d12), **beside)
    assert (library, linux) == (LINUX_LIBRARY, [Level.L5_2])


# --- Windows -----------------------------------------------------------------------------------------------------


def test_windows_own_libraries(windows: Path, tmp_path: Path) -> None:
    with pytest.raises(DirectmlError, match=r"no DirectML\.dll is found; install onnxruntime-directml, or name one"):
        choose("d3d12")
    directml = made(windows / "DirectML.dll")
    setup, library = choose("d3d12")
    assert setup == Setup(str(directml), "d3d12.dll", "dxcore.dll")
    assert library == LibraryFile(directml, hashlib.sha256(b"library").hexdigest(), None)
    assert choose("warp")[0] == Setup(str(directml), "d3d12.dll", "dxcore.dll", "dxgi.dll")
    assert choose(f"d3d12={made(tmp_path / 'own.dll')}")[0].d3d12 == str(tmp_path / "own.dll")
    with pytest.raises(DirectmlError, match="not chosen by level"):
        choose("d3d12", Level.L6_2)


def test_the_library_of_onnxruntime_comes_before_the_systems(
    windows: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made(windows / "DirectML.dll")
    package = made(tmp_path / "site" / "onnxruntime" / "__init__.py")
    spec = importlib.machinery.ModuleSpec("onnxruntime", None, origin=str(package))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "onnxruntime" else None)
    # The package for CPUs alone has no such library.
    assert choose("d3d12")[0].directml == str(windows / "DirectML.dll")
    own = made(package.parent / "capi" / "DirectML.dll")
    assert choose("d3d12")[0].directml == str(own)


@pytest.mark.parametrize("name", ["folder/other.dll", "folder"])
def test_on_windows_the_users_library_comes_first(
    windows: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    made(windows / "DirectML.dll")
    other, in_folder = made(tmp_path / "folder" / "other.dll"), made(tmp_path / "folder" / "DirectML.dll")
    monkeypatch.setenv("DML_CONFORMANCE_DIRECTML", str(tmp_path / name))
    assert choose("d3d12")[0].directml == str(in_folder if name == "folder" else other)
    monkeypatch.setenv("DML_CONFORMANCE_DIRECTML", str(tmp_path / "missing.dll"))
    with pytest.raises(DirectmlError, match=r"DML_CONFORMANCE_DIRECTML names '.*missing\.dll', and there is no such"):
        choose("d3d12")
