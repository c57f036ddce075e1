"""The worker process and the backend on top of it, with stand-ins for the library and with one made up."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from directml_fakes import GATHER, fake_library, fake_worker, tile, use_fake_worker
from five_operators import GatherElementsDesc, GatherNdDesc
from msgspec.structs import replace

from dml_conformance.backends.base import Answer, Backend, Unsupported
from dml_conformance.backends.directml import DirectmlBackend, DirectmlError, LibraryCrash, decision_server, stubs
from dml_conformance.backends.directml import backend as backend_module
from dml_conformance.backends.directml.library import RELEASES, LibraryFile
from dml_conformance.backends.directml.process import DecisionProcess
from dml_conformance.backends.directml.protocol import Reply
from dml_conformance.backends.directml.structs import Packer
from dml_conformance.backends.processes.child_process import main_of
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.rules import DESCRIPTOR_CATEGORIES
from dml_conformance.spec.tensor import TensorDesc

E_INVALIDARG = -2147024809
REJECT = f"reply({E_INVALIDARG})"


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("os.write(2, b'no memory'); os.kill(os.getpid(), signal.SIGKILL)", "died of SIGKILL: no memory"),
        ("sys.exit(3)", "ended with code 3"),
    ],
)
def test_a_worker_that_is_gone_is_told(answers: str, told: str) -> None:
    worker = fake_worker(answers)
    with pytest.raises(DirectmlError, match=told):
        worker.ask(b"1")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("print('hello')", "ended with code 0$"),
        ("print('hello, who is there?', flush=True)", "does not speak as expected$"),
        ("sys.exit('no module')", "ended with code 1: no module"),
    ],
)
def test_a_worker_that_does_not_start_says_why(script: str, reason: str) -> None:
    with pytest.raises(DirectmlError, match=reason):
        DecisionProcess(script)


def test_what_cannot_be_started_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DirectmlError, match=r"^no device$"):
        fake_worker(REJECT, hello="error='no device'")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(DirectmlError, match="cannot be started"):
        DecisionProcess("pass")


def test_the_process_ends_with_its_owner_and_not_with_an_interrupt() -> None:
    worker = fake_worker("reply(0)")
    process = worker._child.process
    assert os.getpgid(process.pid) != os.getpgid(0)  # where an interrupt from the terminal goes
    del worker
    gc.collect()
    assert process.poll() == 0


# --- the backend ------------------------------------------------------------------------------------------------


def test_it_is_a_backend_and_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_worker(monkeypatch, REJECT)
    backend: Backend = DirectmlBackend("no-doubles")
    said = backend.capabilities()
    assert (said.name, said.device, said.executes) == ("directml:no-doubles", "null device (no-doubles)", False)
    assert max(said.levels) == Level.L6_2
    assert min(said.levels) == Level.L1_0
    assert said.enforces == DESCRIPTOR_CATEGORIES
    assert said.as_json()["decides_at"] == "6_2"
    assert said.versions["directml feature level"] == "6_2"


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        ("reply(0)", Answer(True)),
        (REJECT, Answer(False, "E_INVALIDARG")),
        ("reply(1)", Answer(True, "HRESULT 0x00000001")),
        (
            "reply(0, text=b'ID3D12Device5::CreateFence')",
            Answer(True, "S_OK; the null device lacks what was called: ID3D12Device5::CreateFence"),
        ),
    ],
)
def test_decisions_and_their_reasons(monkeypatch: pytest.MonkeyPatch, answers: str, answer: Answer) -> None:
    use_fake_worker(monkeypatch, answers)
    assert DirectmlBackend().validate(GATHER, Level.L1_0) == answer


def test_a_level_above_the_librarys_is_not_claimed_and_nothing_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_worker(monkeypatch, REJECT)
    with pytest.raises(Unsupported, match="speaks level 6_2"):
        DirectmlBackend().validate(GATHER, Level.L6_3)
    with pytest.raises(Unsupported, match="a null device executes nothing"):
        DirectmlBackend().execute(GATHER, Level.L1_0, {}, {})


def test_a_type_that_the_device_lacks_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    has = "(1, 2, 3, 4, 5, 6, 7, 8, 10, 11)"
    use_fake_worker(monkeypatch, REJECT, hello=f"address=4096, level=0x6200, data_types={has}")
    backend = DirectmlBackend()
    with pytest.raises(Unsupported, match="does not support FLOAT64 on this device"):
        backend.validate(tile(DataType.FLOAT64), Level.L6_2)
    assert not backend.validate(tile(DataType.FLOAT32), Level.L6_2).accepted
    unknown = TensorDesc(DataType.UNKNOWN, (1,), None, 4)
    assert not backend.validate(replace(tile(DataType.FLOAT32), input_tensor=unknown), Level.L6_2).accepted


def test_a_crash_names_the_descriptor_and_keeps_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    started = use_fake_worker(monkeypatch, "reply(signal=signal.SIGSEGV)")
    backend = DirectmlBackend()
    for _ in range(2):
        with pytest.raises(LibraryCrash, match=r"died of SIGSEGV; it was asked for GATHER \{.*\"sizes\":\[3,2\]"):
            backend.validate(GATHER, Level.L1_0)
    assert len(started) == 1


def test_a_worker_that_is_gone_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    started = use_fake_worker(monkeypatch, "os._exit(9)")
    backend = DirectmlBackend()
    for count in (1, 2):
        with pytest.raises(DirectmlError, match="ended with code 9"):
            backend.validate(GATHER, Level.L1_0)
        assert len(started) == count
    backend.close()
    with pytest.raises(DirectmlError):
        backend.validate(GATHER, Level.L1_0)


@pytest.mark.parametrize("device", ["no-such-thing", "full,no-doubles", "6_2,5_2", "9_9"])
def test_a_device_that_means_nothing_is_refused(device: str) -> None:
    with pytest.raises(ValueError, match=r"expected one feature level or one feature set of full, |9_9"):
        DirectmlBackend(device)


def test_a_level_and_a_feature_set_can_be_named_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_worker(monkeypatch, REJECT)
    asked: list[Level | None] = []

    def find(level: Level | None) -> LibraryFile:
        asked.append(level)
        return LibraryFile(Path("fake.so"), "0" * 64, None)

    monkeypatch.setattr(backend_module, "find_library", find)
    for device in ("5_2,least", "least,5_2", ""):
        DirectmlBackend(device)
    assert asked == [Level.L5_2, Level.L5_2, None]


def test_a_library_that_speaks_another_level_than_it_should_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_worker(monkeypatch, REJECT)
    release = RELEASES[Level.L5_2]
    monkeypatch.setattr(backend_module, "find_library", lambda level: LibraryFile(Path("fake.so"), "0" * 64, release))
    with pytest.raises(DirectmlError, match="says that it speaks level 6_2, not 5_2"):
        DirectmlBackend()


# --- the worker itself, with a library made up for the purpose --------------------------------------------------------


TENSORS = (GATHER.input_tensor, GATHER.indices_tensor, GATHER.output_tensor)
CRASHES = GatherElementsDesc(*TENSORS, 0)
HANGS = GatherNdDesc(*TENSORS, 2, 2)
ANSWER_SECONDS = 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the made-up library and the stubs were compiled."""
    return fake_library(tmp_path_factory.mktemp("directml")).parent


def start(library: Path, folder: Path) -> DecisionProcess:
    code = f"import {decision_server.__name__} as server; server.ANSWER_SECONDS = {ANSWER_SECONDS}; "
    return DecisionProcess(code + main_of(decision_server.__name__, str(library), str(stubs.build(folder)), "full"))


@pytest.fixture
def worker(folder: Path) -> Iterator[DecisionProcess]:
    made = start(folder / "fake.so", folder)
    yield made
    made.close()


def test_it_says_what_the_library_says_and_nothing_that_it_prints(worker: DecisionProcess) -> None:
    hello = worker.hello
    assert (hello.error, hello.level, hello.unexpected) == ("", Level.L6_2, ())
    assert hello.data_types == tuple(range(1, 12))
    packer = Packer(hello.address)
    for _ in range(3):  # the library takes the second only if the first was released
        assert worker.ask(packer.pack(GATHER)) == Reply(0, "")
    assert worker.ask(packer.pack(tile(DataType.FLOAT32))) == Reply(-2147024809, "")
    assert len(list(Path(f"/proc/{worker._child.process.pid}/task").iterdir())) == 1, "it forks, and has threads"


def test_crashes_cost_one_decision_each(worker: DecisionProcess) -> None:
    packer = Packer(worker.hello.address)
    for _ in range(3):
        with pytest.raises(LibraryCrash, match=r"^died of SIGABRT: .*broken$"):
            worker.ask(packer.pack(CRASHES))
        assert worker.ask(packer.pack(GATHER)).code == 0


def test_a_library_that_hangs_is_ended_and_waiting_between_decisions_is_no_hang(worker: DecisionProcess) -> None:
    packer = Packer(worker.hello.address)
    with pytest.raises(LibraryCrash, match="SIGALRM, taking too long"):
        worker.ask(packer.pack(HANGS))
    assert worker.ask(packer.pack(GATHER)).code == 0
    time.sleep(ANSWER_SECONDS + 0.2)
    assert worker.ask(packer.pack(GATHER)).code == 0


def test_what_cannot_be_loaded_is_told(folder: Path) -> None:
    problem = r"cannot load the DirectML library: .*"
    with pytest.raises(DirectmlError, match=problem + "undefined symbol: DMLCreateDevice1"):
        start(stubs.build(folder) / "libdxcore.so", folder)
    with pytest.raises(DirectmlError, match=problem + "missing"):
        start(folder / "missing.so", folder)
    arguments = (str(folder / "fake.so"), str(stubs.build(folder)), "no-such")
    with pytest.raises(DirectmlError, match=r"ended with code 1: .*KeyError: 'no-such'"):
        DecisionProcess(main_of(decision_server.__name__, *arguments))
