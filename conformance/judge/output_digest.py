"""A digest of what a case's outputs hold, short enough to be kept for every case of a package.

It is over what the specification fixes: the elements in row-major order, whatever their layout in memory, with those
that it leaves open taken as zero. So it can be computed from a description of the case alone, by whoever verifies it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

DIGITS = 32  # hexadecimal; 128 bits

Elements = npt.NDArray[np.unsignedinteger]


def output_digest(outputs: Iterable[tuple[Elements, npt.NDArray[np.bool_] | None]]) -> str:
    """The first 128 bits of SHA-256, in hexadecimal.

    Args:
        outputs: of each output tensor, in the operator's order, the elements as unsigned integers in the tensor's
            sizes, and True where the specification leaves one open (None = nowhere); or of parts of it, in order.
    """
    digest = hashlib.sha256()
    for elements, is_open in outputs:
        fixed = elements if is_open is None else np.where(is_open, elements.dtype.type(0), elements)
        digest.update(fixed.astype(fixed.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()[:DIGITS]
