"""Bytes that nobody can foretell, for guards and for what an output holds before it is written."""

from __future__ import annotations

import secrets

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dml_conformance.backends.base import Bytes

MOST_AT_ONCE = 2**30  # bytes that the cipher takes
_BLOCK = 16  # bytes that the cipher makes at a time

# A key stream is random to whoever has not the key. It costs a tenth of what the system's random bytes cost.
_STREAM = Cipher(algorithms.AES(secrets.token_bytes(32)), modes.CTR(bytes(_BLOCK))).encryptor()
# Tags are for this process alone, so that one nonce does for all.
_TAGGED = algorithms.AES(secrets.token_bytes(32)), modes.GCM(bytes(12))


def secret_bytes(count: int, *avoided: Bytes) -> Bytes:
    """Bytes that no other process can foretell.

    Args:
        count: how many.
        avoided: arrays of that many; no byte is the one at its place there, and any other is as likely.
    """
    memory = np.zeros(count + _BLOCK - 1, np.uint8)  # not what happens to lie there: the same stream, the same bytes
    found = memory[:count]
    _STREAM.update_into(found.data, memory.data)
    if avoided:
        same = found == avoided[0]
        for other in avoided[1:]:
            same |= found == other
        (places,) = same.nonzero()
        if places.size:
            found[places] = secret_bytes(places.size, *(other[places] for other in avoided))
    return found


def authentication_tag(memory: Bytes) -> bytes:
    """Tells whether bytes are the same; without the key nobody forges it. GMAC is ten times as fast as SHA-256."""
    cipher = Cipher(*_TAGGED).encryptor()
    for start in range(0, memory.size, MOST_AT_ONCE):
        cipher.authenticate_additional_data(memory[start : start + MOST_AT_ONCE].data)
    cipher.finalize()
    return cipher.tag
