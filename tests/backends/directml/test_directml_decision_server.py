"""The worker process with a library made up for the purpose: decisions, crashes and hangs behind the real protocol."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from directml_fakes import GATHER, fake_library, tile

from dml_conformance.backends.directml import DirectmlError, LibraryCrash, decision_server, stubs
from dml_conformance.backends.directml.process import DecisionProcess, module_code
from dml_conformance.backends.directml.protocol import Reply
from dml_conformance.backends.directml.structs import Packer
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators.gather_elements import GatherElementsDesc
from dml_conformance.spec.operators.gather_nd import GatherNdDesc

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
    return DecisionProcess(code + module_code(decision_server.__name__, str(library), str(stubs.build(folder)), "full"))


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
        DecisionProcess(module_code(decision_server.__name__, *arguments))
