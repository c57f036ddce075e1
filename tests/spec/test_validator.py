"""The validator on descriptors made by hand: each fault is named with its rule and place, and nothing else is."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
import pytest
from five_operators import GatherDesc, GatherElementsDesc, GatherNdDesc, TileDesc

from dml_conformance.spec.datatypes import DataType, TensorFlag, TensorType
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator import OperatorDesc
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import Category, Rule
from dml_conformance.spec.sources import Source
from dml_conformance.spec.tensor import (
    MAX_ELEMENTS,
    TensorDesc,
    elements_overlap,
    minimum_size_in_bytes,
    packed_strides,
)
from dml_conformance.spec.tensor_rules import TENSOR_RULES, is_sound
from dml_conformance.spec.validator import ACCEPTED, Outcome, decide
from dml_conformance.strategies.chooser import SeededChooser

F32, F16, U32, I64, I8 = DataType.FLOAT32, DataType.FLOAT16, DataType.UINT32, DataType.INT64, DataType.INT8
of = TensorDesc.of


SOURCE, INDICES, OUTPUT = of(F32, (3, 2)), of(U32, (1, 4)), of(F32, (4, 2))


def gather(
    source: TensorDesc = SOURCE,
    indices: TensorDesc | None = INDICES,
    output: TensorDesc = OUTPUT,
    axis: int = 0,
    index_dimensions: int = 1,
) -> GatherDesc:
    return GatherDesc(source, indices, output, axis, index_dimensions)  # type: ignore[arg-type]


def tile(source: TensorDesc, output: TensorDesc, *repeats: int) -> TileDesc:
    return TileDesc(source, output, repeats)


def with_output(**fields: Any) -> GatherDesc:
    return gather(output=msgspec.structs.replace(OUTPUT, **fields))


def with_input(**fields: Any) -> GatherDesc:
    return gather(source=msgspec.structs.replace(SOURCE, **fields))


def elements(source: tuple[int, ...], indices: tuple[int, ...], output: tuple[int, ...], axis: int) -> OperatorDesc:
    return GatherElementsDesc(of(F32, source), of(U32, indices), of(F32, output), axis)


def nd(source: Any, indices: Any, output: Any, input_count: int, indices_count: int) -> OperatorDesc:
    return GatherNdDesc(of(F32, source), of(U32, indices), of(F32, output), input_count, indices_count)


def reduced(function: str, data_type: DataType) -> OperatorDesc:
    tensor = of(data_type, (2,))
    number = enumeration("DML_REDUCE_FUNCTION")[function]
    return operators()["REDUCE"].desc(number, tensor, tensor, ())  # type: ignore[call-arg]


class Witness(NamedTuple):
    """A rule, a descriptor that keeps it and one that breaks it and no other, the place and what is found there."""

    rule: str
    kept: OperatorDesc
    broken: OperatorDesc
    where: str
    found: str
    level: Level = Level.L3_0
    kept_level: Level | None = None


ONES = (1, 1)
WITNESSES = [
    Witness("TENSOR.type", gather(), with_input(type=TensorType.INVALID), "InputTensor.Type", "INVALID"),
    Witness("TENSOR.data-type", gather(), with_input(data_type=DataType.UNKNOWN), "InputTensor.DataType", "UNKNOWN"),
    Witness("TENSOR.flags", gather(), with_input(flags=6), "InputTensor.Flags", "unknown bits 0x6"),
    Witness(
        "TENSOR.owned-by-dml",
        with_input(flags=TensorFlag.OWNED_BY_DML),
        with_output(flags=TensorFlag.OWNED_BY_DML),
        "OutputTensor.Flags",
        "OWNED_BY_DML on an output",
    ),
    Witness(
        "TENSOR.dimension-count",
        tile(of(F32, (1,) * 8), of(F32, (1,) * 8), *[1] * 8),
        tile(of(F32, (1,) * 9), of(F32, (1,) * 8), *[1] * 8),
        "InputTensor.DimensionCount",
        "9, outside 1 to 8",
        Level.L3_1,
    ),
    Witness("TENSOR.sizes", gather(), with_output(sizes=(0, 2)), "OutputTensor.Sizes[0]", "0"),
    Witness(
        "TENSOR.element-count",
        tile(of(I8, (MAX_ELEMENTS,), (0,)), of(I8, (MAX_ELEMENTS,)), 1),
        tile(of(I8, (2**31,), (0,)), of(I8, (2**32,)), 2),
        "OutputTensor.Sizes",
        f"{2**32} elements",
        Level.L3_1,
    ),
    Witness(
        "TENSOR.total-size",
        with_output(total_tensor_size_in_bytes=64),
        with_output(total_tensor_size_in_bytes=31),
        "OutputTensor.TotalTensorSizeInBytes",
        "31, the elements need 32",
    ),
    Witness(
        "TENSOR.total-size-rounding",
        tile(of(I8, (3,)), of(I8, (3,)), 1),
        tile(TensorDesc(I8, (3,), None, 3), of(I8, (3,)), 1),
        "InputTensor.TotalTensorSizeInBytes",
        "3, 3 rounded up to a multiple of 4 is 4",
        Level.L3_1,
    ),
    Witness(
        "TENSOR.alignment-power-of-two",
        with_input(guaranteed_base_offset_alignment=64),
        with_input(guaranteed_base_offset_alignment=24),
        "InputTensor.GuaranteedBaseOffsetAlignment",
        "24",
    ),
    Witness(
        "TENSOR.alignment-element-size",
        with_input(guaranteed_base_offset_alignment=4),
        with_input(guaranteed_base_offset_alignment=2),
        "InputTensor.GuaranteedBaseOffsetAlignment",
        "2, an element has 4 bytes",
    ),
    Witness("GATHER.required-tensors", gather(), gather(indices=None), "IndicesTensor", "null"),
    Witness(
        "GATHER.data-types",
        gather(indices=of(I64, (1, 4))),
        gather(indices=of(DataType.INT16, (1, 4))),
        "IndicesTensor.DataType",
        "INT16, level 3_0 has UINT32, INT32, UINT64, INT64",
    ),
    Witness(
        "GATHER.same-data-type",
        gather(),
        gather(output=of(F16, (4, 2))),
        "",
        "InputTensor is FLOAT32, OutputTensor is FLOAT16",
    ),
    Witness(
        "GATHER.same-dimension-count",
        gather(),
        gather(indices=of(U32, (4,))),
        "",
        "InputTensor has 2, IndicesTensor has 1, OutputTensor has 2",
    ),
    Witness(
        "GATHER.axis-range",
        gather(output=of(F32, (3, 4)), axis=1),
        gather(axis=2),
        "Axis",
        "2, InputTensor has 2 dimensions",
    ),
    Witness(
        "GATHER.output-rank",
        gather(of(F32, (1, 3)), of(U32, (4, 5)), of(F32, (4, 5)), axis=1, index_dimensions=2),
        gather(of(F32, (2, 3)), of(U32, (4, 5)), of(F32, (4, 5)), axis=1, index_dimensions=2),
        "OutputTensor.DimensionCount",
        "sizes {2,4,5} do not fit 2 dimensions",
    ),
    Witness(
        "GATHER.output-sizes",
        gather(indices=of(U32, ONES), output=of(F32, (1, 2)), index_dimensions=0),
        gather(output=of(F32, (4, 3))),
        "OutputTensor.Sizes",
        "{4,3}, the inputs give {4,2}",
    ),
    Witness(
        "GATHER_ELEMENTS.introduced-in",
        elements((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), 0),
        elements((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), 0),
        "",
        "level 2_0",
        Level.L2_0,
        Level.L2_1,
    ),
    Witness(
        "GATHER_ELEMENTS.dimension-counts",
        elements((2, 2), (2, 2), (2, 2), 0),
        elements((2, 2), (2, 2), (2, 2), 0),
        "InputTensor.DimensionCount",
        "2, level 2_1 has 4",
        Level.L2_1,
        Level.L3_0,
    ),
    Witness(
        "GATHER_ELEMENTS.sizes-off-axis",
        elements((3, 2), (5, 2), (5, 2), 0),
        elements((3, 2), (5, 1), (5, 1), 0),
        "IndicesTensor.Sizes[1]",
        "1, InputTensor has 2",
    ),
    Witness(
        "REDUCE.data-types",
        reduced("MAX", I8),
        reduced("SUM", I8),
        "InputTensor.DataType",
        "INT8, level 3_0 has FLOAT32, FLOAT16, UINT32, INT32 for SUM",
    ),
    Witness(
        "GATHER_ND.tuple-size",
        nd((3, 4), (1, 2), (1, 1), 2, 1),
        nd((3, 4), (1, 3), (1, 1), 2, 1),
        "IndicesTensor.Sizes[1]",
        "3 coordinates a tuple, InputTensor has 2",
    ),
]


def by_rule(witness: Witness) -> str:
    return witness.rule


@pytest.mark.parametrize("witness", WITNESSES, ids=by_rule)
def test_a_descriptor_that_keeps_the_rule_is_accepted(witness: Witness) -> None:
    assert decide(witness.kept, witness.kept_level or witness.level) == ACCEPTED


@pytest.mark.parametrize("witness", WITNESSES, ids=by_rule)
def test_one_broken_rule_is_named_with_its_place(witness: Witness) -> None:
    decision = decide(witness.broken, witness.level)
    assert decision.outcome is Outcome.REJECT
    assert decision.rules == (witness.rule,)
    assert decision.errata == ()
    first = decision.violations[0]
    assert (first.where, first.found) == (witness.where, witness.found)


def test_a_rejection_outweighs_an_open_question() -> None:
    desc = gather(of(F32, (3, 3)), of(U32, (3, 2)), of(F16, (3, 2)), axis=1)
    decision = decide(desc, Level.L3_0)
    assert decision.outcome is Outcome.REJECT
    assert decision.rules == ("GATHER.same-data-type",)
    assert decision.errata == ()


def test_fitting_rules_depends_on_the_level() -> None:
    desc = tile(of(DataType.INT32, (1, 1, 2, 2)), of(DataType.INT32, (1, 1, 2, 4)), 1, 1, 1, 2)
    outcomes = {level: decide(desc, level).rules for level in Level}
    assert {level for level, broken in outcomes.items() if broken} == {Level.L1_0, Level.L2_0}
    assert set(outcomes.values()) == {(), ("TILE.data-types",)}


def test_a_violation_as_json_says_all_of_it() -> None:
    violation = decide(gather(output=of(F32, (4, 3))), Level.L3_0).violations[0]
    assert violation.as_json() == {
        "rule": "GATHER.output-sizes",
        "category": "shape",
        "where": "OutputTensor.Sizes",
        "found": "{4,3}, the inputs give {4,2}",
        "says": "the output has the sizes that follow from the inputs and attributes",
        "remedy": "give the output the sizes named",
        "erratum": None,
        "source": "https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_gather_operator_desc",
    }


def test_a_rule_applies_between_its_levels() -> None:
    rule = Rule("X.y", Category.SHAPE, "", Source("dml"), since=Level.L2_0, until=Level.L3_0)
    assert [level for level in Level if rule.applies_at(level)] == [Level.L2_0, Level.L2_1]


# --- sound tensors are not looked at rule by rule ---------------------------------------------------------------------


def broken_one_by_one(tensor: TensorDesc, is_output: bool, level: Level) -> set[str]:
    """The tensor rules that a tensor breaks, each asked unless one that it needs is broken or skipped."""
    broken: set[str] = set()
    unmet: set[str] = set()
    for rule in TENSOR_RULES:
        assert rule.check is not None
        if not rule.needs.isdisjoint(unmet):
            unmet.add(rule.id)
        elif rule.check(tensor, is_output, level):
            unmet.add(rule.id)
            broken.add(rule.id)
    return broken


def some_tensor(chooser: SeededChooser) -> TensorDesc:
    """Any tensor, each field sound more often than not; sizes and totals at and around their limits."""
    rare = chooser.integer(0, 3) == 0
    size = (1, 2, 3, 0, 2**16, 2**32 - 1) if rare else (1, 2, 3, 4)
    sizes = tuple(chooser.choice(size) for _ in range(chooser.integer(0, 9) if rare else chooser.integer(1, 5)))
    strides = None
    if chooser.integer(0, 1):
        packed = packed_strides(sizes)
        strides = tuple(chooser.choice((stride, stride, stride + 1, 0)) for stride in packed)
    data_type = chooser.choice(tuple(DataType) if rare else (F32, F16, I8, I64))
    least = minimum_size_in_bytes(data_type, sizes, strides) if 0 not in sizes else 0
    return TensorDesc(
        data_type,
        sizes,
        strides,
        max(least + (chooser.integer(-5, 5) if chooser.integer(0, 3) == 0 else 0), 0),
        chooser.choice((0, 0, 0, 1, 2, 3)),
        chooser.choice((0, 0, 0, 16, 1, 2, 4, 8, 3, 24, 2**31)),
        chooser.choice((TensorType.BUFFER,) * 9 + (TensorType.INVALID,)),
    )


def test_a_sound_tensor_is_one_that_breaks_no_rule() -> None:
    """`is_sound` is the rules in one look; it must not say anything that they do not."""
    alone: Counter[str] = Counter()
    for n in range(20_000):
        chooser = SeededChooser(n)
        tensor, is_output = some_tensor(chooser), bool(chooser.integer(0, 1))
        level = chooser.choice((Level.L2_1, Level.L6_4))
        broken = broken_one_by_one(tensor, is_output, level)
        assert is_sound(tensor, is_output, level) is (not broken), tensor
        if len(broken) <= 1:
            alone.update(broken or {"none"})
    assert set(alone) == {"none", *(rule.id for rule in TENSOR_RULES)}  # each is now and then the only one broken
    assert min(alone.values()) >= 5
    assert alone["none"] > 2000


def test_a_tensor_of_which_it_cannot_be_told_whether_it_overlaps_is_not_sound() -> None:
    # No two elements meet, since differences of at most 3 would be digits of 0 to the base 7; but many come close.
    sizes, strides = (4,) * 8, tuple(10**8 + 7**d for d in range(8))
    assert elements_overlap(sizes, strides) is None
    tensor = of(F32, sizes, strides)
    assert broken_one_by_one(tensor, True, Level.L6_4) == {"TENSOR.output-overlap"}
    assert not is_sound(tensor, True, Level.L6_4)
    assert is_sound(tensor, False, Level.L6_4)


def test_every_tensor_rule_applies_at_every_level() -> None:
    """Else `is_sound` would have to ask."""
    assert all(rule.applies_at(level) for rule in TENSOR_RULES for level in Level)
