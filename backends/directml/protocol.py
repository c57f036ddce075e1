"""What the process that has the library and the one that asks it say to each other, over two pipes.

The worker starts with a `Hello`. After that, for each block that `structs.Packer` made, which says how long it is, it
answers a `Reply`, whose number is that of the signal that the library died of, or 0. Both are messages of
`backends.processes.framing`, in MessagePack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec


class Hello(msgspec.Struct, frozen=True):
    """What the worker says first.

    Attributes:
        error: why there will be no decisions; "" if all is well.
        address: where blocks are received.
        level: the library's `DML_FEATURE_LEVEL`.
        data_types: values of the `DML_TENSOR_DATA_TYPE`s that it supports on the device.
        unexpected: calls of the null device that were not provided for.
    """

    error: str = ""
    address: int = 0
    level: int = 0
    data_types: tuple[int, ...] = ()
    unexpected: tuple[str, ...] = ()


class Reply(NamedTuple):
    """A decision: the HRESULT, and what the null device was asked for in vain."""

    code: int
    unexpected: str


encode = msgspec.msgpack.Encoder().encode
decode_hello: Callable[[bytes], Hello] = msgspec.msgpack.Decoder(Hello).decode
decode_reply: Callable[[bytes], Reply] = msgspec.msgpack.Decoder(Reply).decode
