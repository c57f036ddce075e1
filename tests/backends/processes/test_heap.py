"""What a process keeps of the memory that arrays let go of, and when it gives that back."""

from __future__ import annotations

import platform
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from five_operators import TileDesc

from dml_conformance.backends import heap
from dml_conformance.backends.processes import server
from dml_conformance.backends.processes.wire import Completion, Execute, Job, describe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.tensor import TensorDesc

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told what to keep")

# Makes and drops arrays of 64 MiB: MiB of the process at the end.
WORK = """
import sys
import numpy as np, psutil
from dml_conformance.backends import heap
exec(sys.argv[1])
arrays = [np.ones(2**26, np.uint8) for _ in range(3)]
del arrays
exec(sys.argv[2])
print(psutil.Process().memory_info().rss >> 20)
"""

# A machine of 3 bytes, so many of them free.
MACHINE = "from types import SimpleNamespace as N; psutil.virtual_memory = lambda: N(available={}, total=3)"


def mib(before: str, after: str = "") -> int:
    done = subprocess.run([sys.executable, "-c", WORK, before, after], capture_output=True, check=True, text=True)
    return int(done.stdout)


def test_what_arrays_let_go_of_is_kept_and_given_back_where_it_is_much() -> None:
    plain = mib("")
    assert mib("heap.keep_freed_memory()") > plain + 150
    roomy = f"heap.keep_freed_memory(); {MACHINE.format(2)}"
    assert mib(roomy, "heap.give_back_memory()") > plain + 150
    assert mib(f"{roomy}; heap.MOST_KEPT = 0", "heap.give_back_memory()") < plain + 50


def test_where_most_of_the_machines_memory_is_taken_it_is_given_back() -> None:
    assert mib(f"heap.keep_freed_memory(); {MACHINE.format(1)}", "heap.give_back_memory()") < mib("") + 50


@pytest.mark.parametrize("error", ["psutil.NoSuchProcess(1)", "psutil.AccessDenied()", "PermissionError()"])
def test_where_a_process_may_not_look_at_itself_nothing_is_raised(error: str) -> None:
    """It would be taken for what the backend raised."""
    hidden = f"from unittest.mock import Mock; psutil.Process, P = Mock(side_effect={error}), psutil.Process"
    assert mib("heap.keep_freed_memory()", f"{hidden}; heap.give_back_memory(); psutil.Process = P")


def test_what_is_to_come_counts_unless_it_is_too_much_for_any_process() -> None:
    roomy = f"heap.keep_freed_memory(); {MACHINE.format(2)}; heap.MOST_KEPT = 2**29"
    kept = mib(roomy)
    assert mib(roomy, "heap.give_back_memory(2**26)") > kept - 50
    assert mib(roomy, "heap.give_back_memory(2**29 - 2**26)") < kept - 150
    assert mib(roomy, "heap.give_back_memory(2**29)") > kept - 50


@pytest.mark.parametrize(("size", "asked_of"), [(64, []), (2**24 + 1, [(2**24 + 1,), ()])])
def test_before_and_after_a_large_case_alone_it_is_asked_what_to_give_back(
    size: int, asked_of: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory that is shared stays as large as the largest case's, and to ask takes as long as a small case does."""
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(heap, "give_back_memory", lambda *size: asked.append(size))
    memory: Any = SimpleNamespace(memory=lambda shared: np.zeros(shared, np.uint8))
    backend = SimpleNamespace(execute=lambda *_: None)
    tensor = TensorDesc.of(DataType.UINT8, (1, 1, 1, 1))
    job = Job(describe(TileDesc(tensor, tensor, (1, 1, 1, 1))), HIGHEST, (), (("output_tensor", 0, size, 0, 1, True),))
    request = Execute(2**25, (job,), validate=False, batch=False)
    assert list(server.BackendServer(backend, memory).answers(request)) == [Completion()]
    assert asked == asked_of
