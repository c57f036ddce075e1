"""Operators that hold elements between limits: ELEMENT_WISE_CLIP, _CLIP1 and _THRESHOLD.

Limits are FLOAT members, which become numbers of the tensors' type first; CLIP1 has them in that type.
"""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import type_of
from dml_conformance.spec.operators._element_wise import element_wise
from dml_conformance.spec.sources import DATA_CONVERSION_RULES, FLOATING_POINT_RULES, Source

SCALED = "the input element, with ScaleBias x * Scale + Bias of it,"
BEYOND = ", beyond which one becomes its largest number, as Direct3D's conversions have it, or infinite"
WITHOUT_ORDER = (
    "where Min is above Max, either or anything between is right; of a NaN it is that or any number from Min to Max, "
    "and a limit that is a NaN is none or gives a NaN; left open are integers with a ScaleBias"
)

SPECS = (
    element_wise(
        "ELEMENT_WISE_CLIP",
        f"every output element is {SCALED} but Min where that is below Min, and Max where it is above Max. Min and "
        f"Max are rounded to FLOAT16{BEYOND}, and cut to integers of the tensors' type; left open is what comes of one "
        f"that an integer type does not reach; {WITHOUT_ORDER}",
        settles=("ELEMENT_WISE_CLIP-1",),
        also=(Source(FLOATING_POINT_RULES), Source(DATA_CONVERSION_RULES, "Floating Point Conversion")),
        primitives=(),
        domains={"InputTensor": "terms"},
        summary="holds every element between two limits",
        pseudocode="output[c...] = min(Max, max(Min, input[c...]))",
    ),
    element_wise(
        "ELEMENT_WISE_THRESHOLD",
        f"every output element is {SCALED} but Min where that is below Min. Min is rounded to FLOAT16{BEYOND}, and to "
        "one of the two whole numbers next to it where the tensors have integers; left open is what comes of one that "
        "an integer type does not reach; of a NaN it is that, or Min; a Min that is a NaN is none or gives a NaN; left "
        "open are integers with a ScaleBias",
        settles=("ELEMENT_WISE_THRESHOLD-1",),
        also=(Source(FLOATING_POINT_RULES), Source(DATA_CONVERSION_RULES, "Floating Point Conversion")),
        primitives=(),
        domains={"InputTensor": "terms"},
        summary="replaces every element below a limit by the limit",
        pseudocode="output[c...] = max(input[c...], Min)",
    ),
    element_wise(
        "ELEMENT_WISE_CLIP1",
        f"every output element is {SCALED} but Min where that is below Min, and Max where it is above Max; "
        f"{WITHOUT_ORDER}",
        settles=("ELEMENT_WISE_CLIP1-1",),
        also=(Source(FLOATING_POINT_RULES),),
        own_rules=(type_of("MinMaxDataType"),),
        primitives=(),
        domains={"InputTensor": "terms"},
        summary="holds every element between two limits of its own type",
        pseudocode="output[c...] = max(Min, min(input[c...], Max))",
    ),
)


def limits_of_any_type(desc: Any) -> bool:
    """Whether CLIP1's limits are not of the tensors' type."""
    return bool(desc.min_max_data_type != desc.output_tensor.data_type)


DIVERGENCES = {"DIV-clip1-limits-of-any-type": limits_of_any_type}
