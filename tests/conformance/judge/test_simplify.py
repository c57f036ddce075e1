"""Descriptors made smaller, and changed at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from five_operators import FIVE
from msgspec.structs import asdict, replace

from dml_conformance.conformance.audit.changes import mutated
from dml_conformance.conformance.judge.simplify import simplest, size_of
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.descriptor import OperatorDesc, descriptor_classes
from dml_conformance.spec.field_kinds import ScaleBias
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.spec.operator import slots
from dml_conformance.spec.registry import operators, spec_of
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.spec.validator import Outcome, decide
from dml_conformance.strategies.builders import builder
from dml_conformance.strategies.chooser import SeededChooser
from dml_conformance.strategies.context import Context

TILE = descriptor_classes()["TILE"]
ONE = TensorDesc.of(DataType.FLOAT32, (1,))
LARGE = TILE(
    TensorDesc.of(DataType.INT64, (2, 3, 5), (1, 40, 200), flags=1, alignment=256),
    TensorDesc.of(DataType.INT64, (4, 3, 35)),
    (2, 1, 7),
)


def outcome_of(desc: OperatorDesc) -> tuple[Outcome, tuple[str, ...]]:
    decision = decide(desc, HIGHEST)
    return decision.outcome, decision.rules


def some(operator: str, count: int) -> list[OperatorDesc]:
    spec = operators()[operator]
    return [builder(operator).build(Context.at(SeededChooser(f"{operator}/{n}"), spec, HIGHEST)) for n in range(count)]


def asked(desc: OperatorDesc) -> Any:
    assert desc.operator == "TILE"
    return desc


def smallest(data_type: DataType = DataType.FLOAT32, size: int = 1, **changes: Any) -> OperatorDesc:
    tensor = TensorDesc.of(data_type, (size,))
    return TILE(replace(tensor, **changes), tensor, (1,))


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        (lambda desc: True, smallest()),
        (lambda desc: desc is LARGE, LARGE),
        (lambda desc: desc.input_tensor.flags == 1, smallest(flags=1)),
        (
            lambda desc: desc.input_tensor.guaranteed_base_offset_alignment == 256,
            smallest(guaranteed_base_offset_alignment=256),
        ),
        (lambda desc: desc.output_tensor.element_count > 3, smallest(size=4)),
        (lambda desc: desc.input_tensor.strides is not None, smallest(strides=(1,))),
        (lambda desc: desc.input_tensor.data_type is DataType.INT64, smallest(DataType.INT64)),
    ],
    ids=["nothing", "everything", "flags", "alignment", "elements", "strides", "type"],
)
def test_what_matters_is_left(holds: Callable[[Any], bool], expected: OperatorDesc) -> None:
    assert simplest(LARGE, lambda desc: outcome_of(desc)[0] is Outcome.ACCEPT and holds(asked(desc))) == expected


def test_a_total_size_that_is_too_small_is_kept() -> None:
    """Steps that would mend it are no way out, and where strides are the reason they stay."""
    broken = replace(LARGE, input_tensor=replace(LARGE.input_tensor, total_tensor_size_in_bytes=8))
    wanted = (Outcome.REJECT, ("TENSOR.total-size",))
    assert outcome_of(broken) == wanted
    found = asked(simplest(broken, lambda desc: outcome_of(desc) == wanted))
    assert found == TILE(replace(ONE, total_tensor_size_in_bytes=1), ONE, (1,))

    def is_strided(desc: OperatorDesc) -> bool:
        return outcome_of(desc) == wanted and asked(desc).input_tensor.strides is not None

    strided = replace(ONE, strides=(1,), total_tensor_size_in_bytes=1)
    assert simplest(broken, is_strided) == TILE(strided, ONE, (1,))


def test_attributes_that_count_dimensions_go_with_them() -> None:
    desc = descriptor_classes()["GATHER"](
        TensorDesc.of(DataType.FLOAT16, (1, 3, 2)),
        TensorDesc.of(DataType.INT64, (1, 1, 4)),
        TensorDesc.of(DataType.FLOAT16, (1, 3, 4)),
        2,
        1,
    )
    found = simplest(desc, lambda desc: outcome_of(desc)[0] is Outcome.ACCEPT and desc.axis > 0)
    plain, indices = TensorDesc.of(DataType.FLOAT32, (1, 1)), TensorDesc.of(DataType.UINT32, (1, 1))
    assert found == descriptor_classes()["GATHER"](plain, indices, plain, 1, 0)


@pytest.mark.few(9)
@pytest.mark.parametrize("operator", operators())
def test_it_gets_smaller_or_stays(operator: str) -> None:
    for desc in some(operator, 10):
        asked_about: list[OperatorDesc] = []

        def holds(candidate: OperatorDesc, asked_about: list[OperatorDesc] = asked_about) -> bool:
            asked_about.append(candidate)
            return outcome_of(candidate)[0] is Outcome.ACCEPT

        found = simplest(desc, holds)
        assert size_of(found) <= size_of(desc)
        assert outcome_of(found)[0] is Outcome.ACCEPT
        if operator in FIVE:  # others need more: of images, or where arrays say what a dimension does
            assert len(spec_of(found).tensor_fields) * 2 >= size_of(found)[0], "one or two dimensions are enough"
        asked_about.clear()
        assert simplest(desc, holds, tries=7) is not None
        assert len(asked_about) <= 7


def test_arrays_that_share_a_count_and_what_is_optional_go_together() -> None:
    of = descriptor_classes()
    tensor, filter_tensor = TensorDesc.of(DataType.FLOAT16, (1, 1, 5, 5)), TensorDesc.of(DataType.FLOAT16, (1, 1, 2, 2))
    fused = of["ACTIVATION_LINEAR"](None, None, 2.0, 1.0)
    two, none = (2, 2), (0, 0)
    conv = of["CONVOLUTION"](tensor, filter_tensor, tensor, tensor, 1, 1, two, two, two, none, none, 3, fused)
    found: Any = simplest(conv, lambda desc: desc.strides == two)  # type: ignore[attr-defined]
    assert (found.bias_tensor, found.fused_activation) == (None, None)
    assert (found.dilations, found.start_padding, found.group_count, found.mode) == (none, none, 0, 0)
    joined = of["JOIN"]((tensor,) * 5, tensor, 2)
    found = simplest(joined, lambda desc: len(desc.input_tensors) > 1)  # type: ignore[attr-defined]
    assert [slot.tensor.sizes for slot in slots(found)] == [(), (), ()]
    scaled = of["ELEMENT_WISE_EXP"](tensor, tensor, ScaleBias(3.0, 0.5))
    found = simplest(scaled, lambda desc: desc.scale_bias is not None)  # type: ignore[attr-defined]
    assert found.scale_bias == ScaleBias(0.0, 0.0)


def test_missing_tensors_and_sizes_of_zero_are_no_hindrance() -> None:
    broken = replace(LARGE, output_tensor=None, input_tensor=replace(LARGE.input_tensor, sizes=(0, 3, 5)))
    found = asked(
        simplest(broken, lambda desc: asked(desc).output_tensor is None and 0 in asked(desc).input_tensor.sizes)
    )
    assert found.input_tensor.sizes == (0,)


# --- changes at random --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", FIVE)
def test_a_mutation_changes_one_field(operator: str) -> None:
    """And each of a tensor's."""
    changed: Counter[str] = Counter()
    decisions: Counter[Outcome] = Counter()
    of_tensor: set[str] = set()
    for n, desc in enumerate(some(operator, 400)):
        other: Any = mutated(SeededChooser(n), desc)
        assert other == mutated(SeededChooser(n), desc)
        fields = [
            f.attribute for f in spec_of(desc).fields if getattr(desc, f.attribute) != getattr(other, f.attribute)
        ]
        assert len(fields) <= 1
        changed.update(fields)
        decisions[outcome_of(other)[0]] += 1
        if fields == ["input_tensor"]:
            before, after = asdict(desc.input_tensor), asdict(other.input_tensor)  # type: ignore[attr-defined]
            of_tensor |= {name for name in before if before[name] != after[name]}
    assert set(changed) == {field.attribute for field in spec_of(desc).fields}
    assert operator != "TILE" or of_tensor == set(TensorDesc.__struct_fields__) - {"type"}
    assert min(decisions[Outcome.ACCEPT], decisions[Outcome.REJECT]) > 40
    assert decisions[Outcome.UNSPECIFIED]


def test_every_operator_can_be_changed() -> None:
    """Whatever its fields hold; arrays that share a count keep the same length."""
    tensor = TensorDesc.of(DataType.FLOAT32, (1, 2))
    for name, made in descriptor_classes().items():
        values: dict[str, Any] = {}
        for field in made.fields:
            usual = {"tensor": tensor, "tensor array": (tensor, tensor), "operator array": (), "UINT array": (1, 2)}
            more = {"INT array": (-1, 2), "FLOAT array": (0.5, 1.0)}
            values[field.attribute] = {**usual, **more}.get(field.kind.name) or field.kind.typical[0]
        desc = made(**values)
        changed: Counter[str] = Counter()
        for n in range(40 * len(made.fields)):
            other = mutated(SeededChooser(f"{name}/{n}"), desc)
            changed.update(f.name for f in made.fields if getattr(desc, f.attribute) != getattr(other, f.attribute))
            lengths = {(f.count_field, len(getattr(other, f.attribute))) for f in made.fields if f.count_field}
            assert len(lengths) == len({count for count, _ in lengths}), other
        fixed = {field.name for field in made.fields if field.kind.name in ("operator", "operator array")}
        assert set(changed) == {field.name for field in made.fields} - fixed
