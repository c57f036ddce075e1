"""The process that has the library: it receives descriptors as blocks of memory and answers with the decisions.

The library is asked with descriptors that are meant to break it, and some do. So this process loads it, makes a
device, and leaves the decisions to a copy of itself; when that dies, the guilty descriptor is answered for, and a new
copy takes its place. A copy costs milliseconds, where loading the library anew would cost a tenth of a second or more.
It may be made by fork because there are no threads: the library starts none.
"""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

from dml_conformance.backends.directml import stubs
from dml_conformance.backends.directml.com import ComError
from dml_conformance.backends.directml.device import DirectmlDevice
from dml_conformance.backends.directml.errors import DirectmlError
from dml_conformance.backends.directml.feature_sets import FEATURE_SETS
from dml_conformance.backends.directml.null_device import NullDevice
from dml_conformance.backends.directml.protocol import Hello, Reply, encode
from dml_conformance.backends.directml.structs import BLOCK_SIZE, HEADER, OPERATOR_DESC_AT
from dml_conformance.backends.processes.child_process import take_pipes
from dml_conformance.backends.processes.framing import send

ANSWER_SECONDS = 30  # a decision takes microseconds


def main(library: str, stub_folder: str, feature_set: str) -> None:
    """Decide on blocks from standard input on standard output until it ends.

    Args:
        library: path of the DirectML library.
        stub_folder: where `stubs.build` put the system libraries.
        feature_set: name of the null device's feature set.
    """
    requests, replies = take_pipes()
    memory = ctypes.create_string_buffer(BLOCK_SIZE)
    null = NullDevice(FEATURE_SETS[feature_set])
    try:
        kept = stubs.load(Path(stub_folder), null.create_adapter_factory, null.serialize_versioned_root_signature)
        device = DirectmlDevice(Path(library), null.device.address)
        hello = Hello(
            address=ctypes.addressof(memory),
            level=device.level(),
            data_types=tuple(sorted(device.data_types())),
            unexpected=tuple(null.unexpected),
        )
    except (DirectmlError, ComError, OSError) as error:
        problem = "; ".join([str(error), *(f"not provided for: {call}" for call in null.unexpected)])
        send(replies, encode(Hello(error=problem)))
        return
    send(replies, encode(hello))
    while True:
        copy = os.fork()
        if copy == 0:
            _decide(requests, replies, memory, device, null.unexpected)
            os._exit(0)  # without what Python would do at its end
        _, status = os.waitpid(copy, 0)
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            break
        send(replies, encode(Reply(0, "")), -code)
    device.close()
    del kept


def _decide(
    requests: int,
    replies: int,
    memory: ctypes.Array[ctypes.c_char],
    device: DirectmlDevice,
    unexpected: list[str],
) -> None:
    """Answer until the requests end, with an alarm set for as long as the library works; dying of it answers too.

    Args:
        requests, replies: files to read from and to write to.
        memory: where blocks are received.
        device: the library's.
        unexpected: takes what the null device is asked for in vain.
    """
    block = memoryview(memory).cast("B")
    desc = ctypes.addressof(memory) + OPERATOR_DESC_AT
    while _receive(requests, block):
        unexpected.clear()
        signal.alarm(ANSWER_SECONDS)  # which ends the process
        code = device.create_operator(desc)
        signal.alarm(0)
        send(replies, encode(Reply(code, "; ".join(unexpected))))


def _receive(requests: int, block: memoryview) -> bool:
    """Read one block, which says how long it is, to where it has room. Returns False at the end of the stream."""
    filled, size = 0, HEADER.size
    while filled < size:
        count = os.readv(requests, [block[filled:]])
        if not count:
            return False
        filled += count
        if filled >= HEADER.size:
            (size,) = HEADER.unpack_from(block)
    return True
