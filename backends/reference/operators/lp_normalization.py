"""LP_NORMALIZATION: elements over the norm of those along an axis."""

from __future__ import annotations

from typing import Any

from dml_conformance.backends.reference.enclosure import Enclosure, Evaluation, either, where
from dml_conformance.backends.reference.functions import maximum, sqrt
from dml_conformance.backends.reference.layout import Arrays, Compute, as_numbers
from dml_conformance.backends.reference.parts import Cut, CutRows
from dml_conformance.spec.accuracy import Tolerance
from dml_conformance.spec.structures import LpNormalization


def normalize(desc: LpNormalization, arrays: Arrays) -> dict[str, Any]:
    """output[c] = input[c] / (sum(abs(input[c...]) ^ P) ^ (1 / P) + Epsilon), or 0 where it would be 0 / 0.

    Epsilon may also be the least that the norm is taken for, or stand under the root.
    """
    data_type, axes, epsilon = desc.output_tensor.data_type, (desc.axis,), desc.epsilon
    numbers = as_numbers(arrays["input_tensor"], data_type)

    def formula(tolerance: Tolerance) -> Enclosure:
        x = Evaluation(tolerance).of(numbers)
        total = (x * x if desc.p == 2 else abs(x)).sum(axes)
        norm = sqrt(total) if desc.p == 2 else total
        divisors = [norm + epsilon, maximum(norm, epsilon)]
        if desc.p == 2:
            divisors.append(sqrt(total + epsilon))
        divisor = either(*divisors)
        quotient = x / divisor
        zero = x.operand(0.0).broadcast(*quotient.shape)
        return where(divisor <= 0.0, either(quotient, zero), quotient).to(data_type)

    return {"output_tensor": formula}


OPERATORS: dict[str, Compute] = {"LP_NORMALIZATION": normalize}
CUTS: dict[str, Cut] = {"LP_NORMALIZATION": CutRows(lambda desc: (desc.axis,))}
