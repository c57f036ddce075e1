"""Messages over pipes, between the harness and all processes that it starts.

A message is a header and content, mostly MessagePack. What the harness sends can be trusted; what comes from a process
that a backend runs in cannot, as the backend may have written over anything there, so it is decoded with all types
checked and never unpickled.
"""

from __future__ import annotations

import os
import struct

# Of every message: a mark by which chance output is told from it, its length without the header, and a number, which an
# answer repeats where each request has one.
HEADER = struct.Struct("=IIQ")
MARK = 0x4C4D4443
LONGEST = 2**32 - 1  # bytes of content


class WireError(Exception):
    """What came is no message."""


def send(file: int, content: bytes, number: int = 0) -> None:
    """Write a message to a pipe.

    Raises:
        OSError: nobody reads it any more.
    """
    write(file, HEADER.pack(MARK, len(content), number) + content)


def write(file: int, data: bytes | memoryview) -> None:
    """Write bytes to a pipe, all of them; errors as of `send`."""
    # A pipe takes as much as a message has at once, mostly; a signal may still cut it short.
    sent = os.write(file, data)
    while sent < len(data):
        sent += os.write(file, memoryview(data)[sent:])


class Receiver:
    """Takes messages out of a pipe.

    Args:
        file: the pipe.
        most: bytes that a message may have.
    """

    def __init__(self, file: int, most: int = LONGEST) -> None:
        self._stream = open(file, "rb", buffering=1 << 16, closefd=False)  # noqa: SIM115 - it is its owner who closes it
        self._most = most

    def receive(self) -> tuple[int, bytes] | None:
        """Wait for a message.

        Returns:
            Its number and content; None at the end of the stream.

        Raises:
            WireError: what came is no message.
        """
        header = self._stream.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        mark, length, number = HEADER.unpack(header)
        if mark != MARK or length > self._most:
            raise WireError
        content = self._stream.read(length)
        return None if len(content) < length else (number, content)
