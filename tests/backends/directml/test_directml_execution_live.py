"""DirectML's operators on a real Direct3D 12 device, judged against the specification.

They run where DML_CONFORMANCE_D3D12 names a Direct3D 12 library, and the DirectML library is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from directml_fakes import GATHER
from five_operators import GatherDesc
from places import SUPPORT

from dml_conformance.backends.base import Backend, Binding
from dml_conformance.backends.loading import BackendError
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.processes.errors import ProcessLost
from dml_conformance.spec.datatypes import DataType, TensorFlag
from dml_conformance.spec.tensor import TensorDesc

pytestmark = [
    pytest.mark.directml,
    pytest.mark.skipif(
        not os.environ.get("DML_CONFORMANCE_D3D12"),
        reason="no Direct3D 12 library is named in DML_CONFORMANCE_D3D12",
    ),
]


@pytest.fixture(scope="module")
def backend() -> Iterator[IsolatedBackend]:
    """In a process of its own, as a lost device ends the process."""
    try:
        made = IsolatedBackend("directml:d3d12")
    except BackendError as error:
        if "is installed" in str(error):
            pytest.skip(str(error))
        raise
    with closing(made):
        yield made


@pytest.mark.parametrize("owned", [("input_tensor",), ("indices_tensor",), ("input_tensor", "indices_tensor")])
def test_tensors_that_the_operator_owns(backend: Backend, owned: tuple[str, ...]) -> None:
    flags = {name: TensorFlag.OWNED_BY_DML if name in owned else 0 for name in ("input_tensor", "indices_tensor")}
    desc = GatherDesc(
        TensorDesc.of(DataType.FLOAT32, (3, 2), flags=flags["input_tensor"]),
        TensorDesc.of(DataType.UINT32, (1, 4), flags=flags["indices_tensor"]),
        GATHER.output_tensor,
        0,
        1,
    )
    output = run_gather(backend, desc)
    assert output.tolist() == [4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]


def test_a_device_lost_over_bindings_is_told_and_the_next_case_has_another(backend: Backend) -> None:
    with pytest.raises(ProcessLost, match="the device was removed"):
        run_gather(backend, GATHER, bound=4)
    assert run_gather(backend, GATHER)[0] == 4.0


def test_the_device_times_itself(backend: IsolatedBackend) -> None:
    output = np.zeros(8, np.float32)
    seconds = backend.time_execution(GATHER, backend.capabilities().decides_at, *bindings(output), repeats=3)
    assert len(seconds) == 3
    assert all(0 < second < 60 for second in seconds)
    backend.fetch_timed()
    assert output.tolist() == [4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]
    copies = backend.time_copy(1 << 20, 3)
    assert len(copies) == 3
    assert all(0 < second < 60 for second in copies)


def run_gather(backend: Backend, desc: GatherDesc, bound: int | None = None) -> np.ndarray:
    output = np.zeros(8, np.float32)
    inputs, outputs = bindings(output)
    if bound is not None:
        outputs["output_tensor"] = outputs["output_tensor"]._replace(size=bound)
    backend.execute(desc, backend.capabilities().decides_at, inputs, outputs)
    return output


def bindings(output: np.ndarray) -> tuple[dict[str, Binding], dict[str, Binding]]:
    data, indices = np.arange(6, dtype=np.float32), np.array([2, 0, 1, 1], np.uint32)
    whole = [Binding(array.view(np.uint8), 0, array.nbytes) for array in (data, indices, output)]
    return {"input_tensor": whole[0], "indices_tensor": whole[1]}, {"output_tensor": whole[2]}


def test_many_operators_in_one_submission_leave_nothing_behind(backend: Backend) -> None:
    script = f"""
import ctypes, sys
sys.path.insert(0, {str(SUPPORT)!r})
import numpy as np
from directml_fakes import tile
from dml_conformance.backends.directml.execution.loader import choose
from dml_conformance.backends.directml.execution.opening import open_device
from dml_conformance.backends.directml.execution.submission import Bound, Submission
from dml_conformance.backends.directml.execution.work import Program
from dml_conformance.backends.directml.structs import BLOCK_SIZE, OPERATOR_DESC_AT, Packer
from dml_conformance.spec.datatypes import DataType

opened = open_device(choose("d3d12")[0])
gpu = opened.gpu
memory = ctypes.create_string_buffer(BLOCK_SIZE)
block = bytes(Packer(ctypes.addressof(memory)).pack(tile(DataType.UINT32, 4)))
memory[: len(block)] = block

def run(count):
    contents = [np.arange(n, n + 4, dtype=np.uint32).tobytes() for n in range(count)]
    outputs = [Bound(bytearray(b"?" * 48), 16, 16) for _ in contents]
    with Program(gpu, ctypes.addressof(memory) + OPERATOR_DESC_AT) as program, Submission(gpu) as submission:
        for content, output in zip(contents, outputs):
            submission.add(program, [Bound(bytearray(content), 0, 16)], [output])
        submission.run()
    for content, output in zip(contents, outputs):
        assert output.data == b"?" * 16 + content + b"?" * 16, output

def references():
    gpu.device.AddRef()
    return gpu.device.Release()

run(100)
before = references()
for _ in range(20):
    run(5)
assert references() == before, (before, references())
gpu.close()
opened.directml.close()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
