"""Powers: ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW.

The real library takes the logarithm to the base 2, multiplies it by the exponent, and takes 2 to the power of that. The
larger the logarithm and the exponent are, the more that loses: as if both arguments were some part of them away.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import same_type
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise

SPECS = (
    element_wise(
        "ELEMENT_WISE_POW", same_type("ExponentTensor", "InputTensor", until=Level.L3_0, after=("same-data-type",))
    ),
    element_wise("ELEMENT_WISE_CONSTANT_POW"),
)
