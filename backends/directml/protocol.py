"""What the process that has the library and the one that asks it say to each other, over two pipes.

The worker starts with one line of JSON (`Hello`). After that, for each block that `structs.Packer` made, it answers a
`REPLY` and the text that this announces.
"""

from __future__ import annotations

import struct

import msgspec

# The HRESULT; the number of the signal that the library died of, or 0; bytes of the text that follows, which says
# what the null device was asked for in vain.
REPLY = struct.Struct("@iiI")


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
