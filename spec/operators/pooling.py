"""DML_OPERATOR_MAX_POOLING and LP_POOLING in all versions, and MAX_POOLING_GRAD: the greatest of what windows see that
slide over an image, where it stands, or a norm."""

from __future__ import annotations

from dml_conformance.spec.constraints import sizes_follow, within
from dml_conformance.spec.operator import Misfit
from dml_conformance.spec.operators._element_wise import first_sizes
from dml_conformance.spec.operators._pooling import SIZED, pooling, sizes_not_looked_at, windows
from dml_conformance.spec.operators._windows import FIRST, Window
from dml_conformance.spec.structures import PoolingGrad


def _gradient_sizes(desc: PoolingGrad) -> tuple[int, ...]:
    found = windows(desc)
    assert not isinstance(found, Misfit), "a window fits"
    return (*desc.input_tensor.sizes[:FIRST], *found)


SPECS = (
    *(pooling(f"MAX_POOLING{version}") for version in ("", "1", "2")),
    *(pooling(f"LP_POOLING{version}", within("P", 1, None, name="power")) for version in ("", "1")),
    pooling(
        "MAX_POOLING_GRAD",
        sizes_follow("InputGradientTensor", _gradient_sizes, "the windows have", name="gradient-sizes", after=SIZED),
        shape=first_sizes,
    ),
)


def first_entries(desc: PoolingGrad) -> bool:
    """There are two entries or three, and the library looks at as many as there are spatial dimensions, whatever is
    behind two; it has one window where none fits, and adds in 32 bits."""
    sizes, gradient = desc.input_tensor.sizes, desc.input_gradient_tensor.sizes
    if len(desc.strides) not in (2, 3) or len(sizes) not in (4, 5) or desc.output_gradient_tensor.sizes != sizes:
        return False
    arrays = (desc.window_size, desc.strides, desc.dilations, desc.start_padding, desc.end_padding)
    every = [Window(*entries) for entries in zip(*(array[: len(sizes) - FIRST] for array in arrays), strict=True)]
    if any(0 in window[:3] for window in every):
        return False
    padded = [(size + one.before + one.behind) % 2**32 for size, one in zip(sizes[FIRST:], every, strict=False)]
    found = [max(size - one.reach, 0) // one.stride + 1 for size, one in zip(padded, every, strict=True)]
    return gradient[: FIRST + len(found)] == (*sizes[:FIRST], *found)


DIVERGENCES = {
    "DIV-pooling-of-any-windows": sizes_not_looked_at,
    "DIV-max-pooling-grad-of-more-dimensions": first_entries,
}
