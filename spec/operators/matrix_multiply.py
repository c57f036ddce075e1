"""Products of matrices of integers, which may stand for numbers by scales and zero points.

A scale or zero point stands for a whole matrix, for each row of A and of the output, or for each column of B.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import Constraint, Rules, broadcastable, kebab, same_sizes, sizes_of, value_of
from dml_conformance.spec.descriptor import attribute_of
from dml_conformance.spec.operator import OperatorSpec, operator_spec, output_sizes
from dml_conformance.spec.operators.gemm import product
from dml_conformance.spec.rules import Rule
from dml_conformance.spec.structures import MatrixMultiply

INTEGER = "MATRIX_MULTIPLY_INTEGER"
LINEAR = "QUANTIZED_LINEAR_MATRIX_MULTIPLY"
TO_FLOAT = "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
MATRICES = ("ATensor", "BTensor", "OutputTensor")


def along(tensor: str, rank: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a scale, or a zero point, of so many dimensions for each row of a matrix, or column of B."""
    each = (1, 1, 1, sizes[-1]) if tensor == "BTensor" else (1, 1, sizes[-2], 1)
    return each[4 - min(rank, 4) :]


def quantization_sizes(name: str, tensor: str) -> Constraint:
    """A scale or zero point has one element, or one for each row or column of a matrix."""
    every = "column" if tensor == "BTensor" else "row"

    def wanted(desc: MatrixMultiply) -> tuple[int, ...]:
        found = value_of(desc, name)
        return () if found is None else along(tensor, len(found.sizes), sizes_of(desc, tensor))

    return broadcastable(
        name,
        wanted,
        f"for each {every} of {tensor}",
        statement=f"all sizes of {name} are 1, or that of the {every}s is as many as {tensor} has, in their dimension "
        f"counted from the last one",
        remedy=f"give it one element, or one for each {every}",
        after=("dimension-counts",),
    )


def quantization(*tensors: str, has_scales: bool = True) -> Rules:
    """The rules on the sizes of the zero points of matrices, and of the scales where the operator has them."""
    found: list[Rule | Constraint] = []
    for tensor in tensors:
        prefix = tensor.removesuffix("Tensor")
        scale, zero_point = f"{prefix}ScaleTensor", f"{prefix}ZeroPointTensor"
        every = (scale, zero_point) if has_scales else (zero_point,)
        found += [quantization_sizes(name, tensor) for name in every]
        if has_scales:
            found.append(
                same_sizes(
                    zero_point,
                    scale,
                    name=f"{kebab(prefix)}-zero-points-as-scales",
                    statement=f"the page does not say whether {zero_point} and {scale} may stand for rows or columns "
                    "on the one side, and for the whole matrix on the other",
                    remedy="give both the same sizes",
                    after=tuple(f"{kebab(name)}-sizes" for name in every),
                )
            )
    return tuple(found)


def _product(name: str, *own_rules: Rule | Constraint) -> OperatorSpec:
    return operator_spec(name, shape=product, own_rules=(*own_rules, output_sizes("dimension-counts")))


SPECS = (
    _product(INTEGER, *quantization("ATensor", "BTensor", has_scales=False)),
    _product(LINEAR, *quantization("ATensor", "BTensor", "OutputTensor")),
    _product(
        TO_FLOAT,
        *quantization("ATensor", "BTensor"),
        same_sizes("BiasTensor", "OutputTensor", after=("dimension-counts",)),
    ),
)


def fits_with_leading_ones(desc: MatrixMultiply) -> bool:
    """Whether the matrices fit once all have four dimensions, and each zero point has the sizes of its scale."""
    padded = {name: (1,) * (4 - len(sizes_of(desc, name))) + sizes_of(desc, name) for name in MATRICES}
    a, b, output = padded.values()
    if output != (*a[:-1], b[-1]) or b[:-1] != (*a[:-2], a[-1]):
        return False
    for name in MATRICES:
        prefix = name.removesuffix("Tensor")
        found = [getattr(desc, attribute_of(f"{prefix}{kind}Tensor"), None) for kind in ("Scale", "ZeroPoint")]
        given = [tensor.sizes for tensor in found if tensor is not None]
        if len(set(given)) > 1 or not all(_fits(name, sizes, padded[name]) for sizes in given):
            return False
    return True


def _fits(tensor: str, found: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    wanted = along(tensor, len(found), sizes)
    return len(found) == len(wanted) and all(size in (1, most) for size, most in zip(found, wanted, strict=True))


def of_types_that_go_together(desc: MatrixMultiply) -> bool:
    """Whether zero points have the types of their matrices, and the bias that of the output."""
    pairs = (("a_zero_point", "a"), ("b_zero_point", "b"), ("bias", "output"))
    tensors = [[getattr(desc, f"{name}_tensor") for name in pair] for pair in pairs]
    return all(one is None or one.data_type == other.data_type for one, other in tensors)


DIVERGENCES = {
    "DIV-products-of-unlike-dimension-counts": fits_with_leading_ones,
    "DIV-integer-to-float-of-unlike-types": of_types_that_go_together,
}
