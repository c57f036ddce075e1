"""Powers: ELEMENT_WISE_POW and ELEMENT_WISE_CONSTANT_POW.

The real library takes the logarithm to the base 2, multiplies it by the exponent, and takes 2 to the power of that. The
larger the logarithm and the exponent are, the more that loses: as if both arguments were some part of them away.
"""

from __future__ import annotations

from dml_conformance.spec.constraints import same_type
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.sources import FLOATING_POINT_RULES, Source

SPECIAL_CASES = (
    "of a negative base it is a NaN unless the exponent is a whole number; where the product of the exponent and the "
    "base's logarithm is no number, as in 0^0, either a NaN or what C's pow gives is right, and so it is of an "
    "infinite exponent of a negative base, and of a fractional one of minus infinity; an infinity has either sign "
    "where the base is a zero or the exponent infinite"
)


SPECS = (
    element_wise(
        "ELEMENT_WISE_POW",
        "every output element is the input element, with ScaleBias x * Scale + Bias of it, raised to the power of the "
        f"element of ExponentTensor; {SPECIAL_CASES}. Of integers and integer exponents it is exact, also where the "
        "exponent is negative and the result whole; left open are results that the type does not have, integers "
        "with a ScaleBias or with a floating-point exponent. An integer exponent of a floating-point base may be "
        "rounded to FLOAT32",
        settles=("ELEMENT_WISE_POW-1", "ELEMENT_WISE_POW-2"),
        also=(Source(FLOATING_POINT_RULES),),
        own_rules=(
            same_type(
                "ExponentTensor",
                "InputTensor",
                statement="below level 3_0 ExponentTensor has the data type of InputTensor",
                section="Remarks",
                remedy="give both the same data type, or ask for level 3_0",
                until=Level.L3_0,
                after=("same-data-type",),
            ),
        ),
        groups={"ExponentTensor": ""},
        primitives=("pow",),
        in_own_type=True,
        domains={"InputTensor": "terms", "ExponentTensor": "terms"},
        summary="raises every element of one tensor to the power of that of another",
        pseudocode="output[c...] = pow(input[c...], exponent[c...])",
    ),
    element_wise(
        "ELEMENT_WISE_CONSTANT_POW",
        "every output element is the input element, with ScaleBias x * Scale + Bias of it, raised to the power of "
        f"Exponent, which FLOAT16 may round to its own type; {SPECIAL_CASES}",
        settles=("ELEMENT_WISE_CONSTANT_POW-1",),
        also=(Source(FLOATING_POINT_RULES),),
        primitives=("pow",),
        in_own_type=True,
        domains={"InputTensor": "terms"},
        summary="raises every element to the same power",
        pseudocode="output[c...] = pow(input[c...], Exponent)",
    ),
)
