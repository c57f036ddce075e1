"""Messages over pipes: in pieces, several at once, followed by bytes that are none, and what is no message."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from dml_conformance.backends.processes import framing
from dml_conformance.backends.processes.framing import HEADER, MARK, Receiver, WireError, send


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The end to read from, and the one to write to."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_messages_come_as_they_were_sent(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """However large they are, and though a pipe takes them in pieces; several may be on the way."""
    taken = os.write
    contents = [b"", b"one", bytes(range(256)) * 2000]
    for step in (7, 10_007, 10**9):
        monkeypatch.setattr(framing.os, "write", lambda file, data, step=step: taken(file, data[:step]))
        sent = contents if step > 7 else contents[:2]
        sender = threading.Thread(target=lambda sent=sent: [send(pipe[1], content, 5) for content in sent])
        sender.start()
        receiver = Receiver(pipe[0])
        assert [receiver.receive() for _ in sent] == [(5, content) for content in sent]
        sender.join()


@pytest.mark.parametrize(
    "data",
    [
        b"a line of text that is no message\n",
        HEADER.pack(MARK, 11, 1) + b"longer than",  # than a message may be
    ],
)
def test_what_is_no_message_is_told(pipe: tuple[int, int], data: bytes) -> None:
    os.write(pipe[1], data)
    with pytest.raises(WireError):
        Receiver(pipe[0], most=10).receive()


@pytest.mark.parametrize("data", [b"", HEADER.pack(MARK, 3, 1)[:-1], HEADER.pack(MARK, 3, 1) + b"on"])
def test_a_stream_may_end_anywhere(data: bytes) -> None:
    reads, writes = os.pipe()
    os.write(writes, data)
    os.close(writes)
    assert Receiver(reads).receive() is None
    os.close(reads)
