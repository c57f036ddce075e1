"""The process that has the library and the recording device.

It is made as the one for decisions (`backends.directml.worker`), with one difference: a copy of the process answers one
request. So every recording starts with a device that has compiled nothing before, whatever was asked earlier.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import msgspec

from dml_conformance.backends.directml import worker
from dml_conformance.backends.directml.profiles import PROFILES
from dml_conformance.backends.directml.recording.device import RecordingNullDevice
from dml_conformance.backends.directml.recording.protocol import Request
from dml_conformance.backends.directml.recording.session import Session
from dml_conformance.backends.directml.structs import HEADER


def main(library: str, stub_folder: str, profile: str) -> None:
    """Record what is asked for on standard input until it ends. Arguments as of `backends.directml.worker.main`."""
    null = RecordingNullDevice(PROFILES[profile])
    worker.serve(library, stub_folder, null, lambda served: _answer(served, null))


def _answer(served: worker.Served, null: RecordingNullDevice) -> bool:
    """Answer one request. Returns whether there is none."""
    length = _read(served.requests, HEADER.size)
    if not length:
        return True
    request = msgspec.json.decode(_read(served.requests, *HEADER.unpack(length)), type=Request)
    signal.alarm(worker.ANSWER_SECONDS)  # which ends the process
    answer = Session(null, served.device, ctypes.addressof(served.memory)).answer(request)
    signal.alarm(0)
    worker.reply(served.replies, 0, msgspec.json.encode(answer))
    return False


def _read(file: int, size: int) -> bytes:
    """So many bytes; less at the end of the stream."""
    data = b""
    while len(data) < size and (more := os.read(file, size - len(data))):
        data += more
    return data


if __name__ == "__main__":
    main(*sys.argv[1:])
