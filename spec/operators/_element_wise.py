"""What operators share whose tensors all have the same sizes, element by element."""

from __future__ import annotations

from typing import Any

from dml_conformance.spec.accuracy import Bounds
from dml_conformance.spec.operator import (
    Misfit,
    OperatorSpec,
    Shapes,
    operator_spec,
    output_sizes_rule,
    shapes_comparable,
)
from dml_conformance.spec.operator import inputs as inputs_of
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
    own_rules: tuple[Rule, ...] = (),
    **stated: Any,
) -> OperatorSpec:
    """One such operator.

    Args:
        name: the operator's.
        values: the statement of what every output element is.
        settles: errata that this statement corrects.
        also: pages besides the operator's that it rests on.
        own_rules: of its descriptors, besides that its output has the inputs' sizes.
        stated: see `OperatorSpec`; with `bounds` there is a rule that says them.
    """
    page = f"ns-directml-dml_{name.lower()}_operator_desc"
    return operator_spec(
        name,
        shape=same_sizes,
        own_rules=(*own_rules, output_sizes_rule(name, Source(page, "Tensor constraints"), shapes_comparable(name))),
        execution_rules=(
            Rule(
                f"{name}.values",
                Category.EXECUTION,
                values,
                Source(page, "Description"),
                settles=(*settles, *(("ACCURACY-2", "ACCURACY-3") if "bounds" in stated else ())),
                also=also,
            ),
            *accuracy_rules(name, stated.get("bounds", {})),
        ),
        **stated,
    )


def accuracy_rules(name: str, bounds: Bounds) -> tuple[Rule, ...]:
    """The rule that says how far from the exact value results may be; none where none are rounded."""
    if all(bound.is_exact for bound in bounds.values()):
        return ()
    parts = "; ".join(f"{data_type.name} {bound.formula}" for data_type, bound in bounds.items())
    grounds = " and ".join(dict.fromkeys(str(bound.ground) for bound in bounds.values()))
    statement = f"a result is no farther from the exact value than this, where two are named the wider one: {parts}"
    return (
        Rule(
            f"{name}.accuracy",
            Category.EXECUTION,
            f"{statement}; it rests on {grounds}. Beyond FLOAT16 its largest number is right, as infinity is",
            Source(f"ns-directml-dml_{name.lower()}_operator_desc", "Description"),
            settles=("ACCURACY-1",),
            also=(Source(FLOATING_POINT_RULES), Source(DATA_CONVERSION_RULES, "Floating Point Conversion")),
        ),
    )
