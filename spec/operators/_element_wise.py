"""What operators share whose tensors all have the same sizes, element by element."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.constraints import Rules
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operator import inputs as inputs_of
from dml_conformance.spec.primitives import PRIMITIVES
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import DATA_CONVERSION_RULES, FLOATING_POINT_RULES, Source
from dml_conformance.spec.tensor import braces


def same_sizes(desc: Any) -> Shapes | Misfit:
    """The sizes that all inputs have."""
    first, *others = inputs_of(desc)
    for slot in others:
        if slot.tensor.sizes != first.tensor.sizes:
            return Misfit(
                f"{slot.name}.Sizes", f"{braces(slot.tensor.sizes)}, {first.name} has {braces(first.tensor.sizes)}"
            )
    return {"output_tensor": first.tensor.sizes}


def element_wise(
    name: str,
    values: str,
    *,
    settles: tuple[str, ...] = (),
    also: tuple[Source, ...] = (),
    own_rules: Rules = (),
    **stated: Any,
) -> OperatorSpec:
    """One such operator.

    Args:
        name: the operator's.
        values: the statement of what every output element is.
        settles: errata that this statement corrects.
        also: pages besides the operator's that it rests on.
        own_rules: of its descriptors, besides that its output has the inputs' sizes.
        stated: see `OperatorSpec`; with `primitives`, which may be none, results are numbers, and rounded by a rule.
    """
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        shape=same_sizes,
        own_rules=(
            *own_rules,
            output_sizes_rule(name, Source(page, "Tensor constraints"), shapes_comparable(name), is_any=True),
        ),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                values,
                Source(page, "Description"),
                settles=(*settles, *(("ACCURACY-2", "ACCURACY-3") if "primitives" in stated else ())),
                also=also,
            ),
            *formula_rules(name, stated.get("primitives", ()), stated.get("in_own_type", False)),
        ),
        **stated,
    )


def formula_rules(name: str, primitives: tuple[str, ...], in_own_type: bool = False) -> tuple[Rule, ...]:
    """The rule that says how far from the exact value results may be; none where none are rounded."""
    return (formula_rule(name, primitives, in_own_type),) if primitives else ()


def _stated(primitive: str, types: tuple[DataType, ...]) -> str:
    """The bound of a primitive in each type, or in all."""
    stated = {of.name: PRIMITIVES[primitive].stated[of].formula for of in types}
    if len(set(stated.values())) == 1:
        return stated[types[0].name]
    return ", ".join(f"{name} {formula}" for name, formula in stated.items())


def formula_rule(name: str, primitives: tuple[str, ...], in_own_type: bool = False) -> Rule:
    """The rule that says how far from the exact value results may be that are made of these primitives.

    Args:
        name: the operator's.
        primitives: names of them.
        in_own_type: whether what they are computed in may be FLOAT16, if that is the tensors' type.
    """
    types = (DataType.FLOAT32, DataType.FLOAT16) if in_own_type else (DataType.FLOAT32,)
    parts = "; ".join(f"{PRIMITIVES[each].formula}: {_stated(each, types)}" for each in primitives)
    grounds = " and ".join(
        dict.fromkeys(str(PRIMITIVES[each].stated[of].ground) for each in primitives for of in types)
    )
    computed = "" if in_own_type else ", in FLOAT32 whatever the type of the tensors, and rounded or cut to that"
    return Rule(
        f"{name}.accuracy",
        Category.EXECUTION,
        "a result is one that the formula gives where every operation of it is no farther from the exact value than "
        f"this, where two are named the wider one{computed}: {parts}; it rests on {grounds}. Beyond FLOAT16 its "
        "largest number is right, as infinity is",
        Source(f"ns-directml-dml_{name.lower()}_operator_desc", "Description"),
        settles=("ACCURACY-1",),
        also=(Source(FLOATING_POINT_RULES), Source(DATA_CONVERSION_RULES, "Floating Point Conversion")),
    )
