"""What the search hands back is as small as can be, whatever the seed: a planted bug shrinks to the descriptor that a
person would have written down for it.
"""

from __future__ import annotations

from typing import Any

import pytest
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from strength import mutants

from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.records import NOT_CONFORMANT, Record
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc

SEEDS = range(3)
INDEXING = ["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"]
EXAMPLES = 300
FLOAT32, UINT32, INT32 = DataType.FLOAT32, DataType.UINT32, DataType.INT32
ONE = TensorDesc.of(FLOAT32, (1,))
TWO = TensorDesc.of(FLOAT32, (2,))
INDEX = TensorDesc.of(UINT32, (1,))
SIGNED = TensorDesc.of(INT32, (1,))


def smallest(mutant: type[mutants.Mutant], operator: str, level: str, rule: str, seed: int) -> tuple[Case, Record]:
    """The one failure of a search for one rule."""
    judge = Judge(mutant(), mutant.__name__)
    failed = [
        record
        for record in search(judge, operator, Level.parse(level), rule, EXAMPLES, seed)
        if record.verdict in NOT_CONFORMANT
    ]
    assert len(failed) == 1
    return Case.from_json(failed[0].case_json), failed[0]


def plain(operator: str, data: TensorDesc, indices: TensorDesc, output: TensorDesc) -> Any:
    """The descriptor with the lowest attributes."""
    return {
        "GATHER": lambda: GatherDesc(data, indices, output, 0, 0),
        "GATHER_ELEMENTS": lambda: GatherElementsDesc(data, indices, output, 0),
        "GATHER_ND": lambda: GatherNdDesc(data, indices, output, 1, 1),
        "GATHER_ND1": lambda: GatherNd1Desc(data, indices, output, 1, 1, 0),
        "TILE": lambda: TileDesc(data, output, (1,)),
    }[operator]()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operator", INDEXING)
def test_a_negative_index_shrinks_to_minus_one_of_two(operator: str, seed: int) -> None:
    """Clamped to 0 it is wrong as soon as there are two elements; the simplest signed type is INT32."""
    case, _ = smallest(mutants.indices.NegativeIndexOutOfRange, operator, "3_0", f"{operator}.negative-indices", seed)
    assert case.desc == plain(operator, TWO, SIGNED, ONE)
    assert case.data == {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("explicit", values=(-1,))}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operator", [*INDEXING, "TILE"])
def test_a_wrong_flag_shrinks_to_the_plain_descriptor(operator: str, seed: int) -> None:
    case, record = smallest(mutants.decisions.AcceptsOwnedByDmlOutput, operator, "3_1", "TENSOR.owned-by-dml", seed)
    assert case.desc == plain(operator, ONE, INDEX, TensorDesc.of(FLOAT32, (1,), flags=1))
    assert (record.expected, record.answered) == ("REJECT", "accept")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operator", [*INDEXING, "TILE"])
def test_what_is_always_wrong_shrinks_to_one_element(operator: str, seed: int) -> None:
    case, _ = smallest(mutants.memory.LastElementUnwritten, operator, "3_1", f"{operator}.values", seed)
    assert case.desc == plain(operator, ONE, INDEX, ONE)
    indices = {} if operator == "TILE" else {"indices_tensor": Recipe("explicit", values=(0,))}
    assert case.data == {"input_tensor": Recipe("ramp"), **indices}


@pytest.mark.parametrize("operator", ["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "TILE"])
def test_below_3_0_it_shrinks_to_the_only_dimension_count(operator: str) -> None:
    case, _ = smallest(mutants.memory.WritesPastTheEnd, operator, "2_1", "EXECUTION.output-bounds", 0)
    for _, tensor in mutants.tensors(case.desc):
        assert tensor.sizes == (1, 1, 1, 1)
        assert tensor == TensorDesc.of(tensor.data_type, tensor.sizes)


@pytest.mark.parametrize("seed", SEEDS)
def test_tile(seed: int) -> None:
    """Repeated elements differ from a repeated whole from two elements and two repeats on."""
    case, record = smallest(mutants.shapes.RepeatsElements, "TILE", "6_4", "TILE.values", seed)
    assert case.desc == TileDesc(TWO, TensorDesc.of(FLOAT32, (4,)), (2,))
    assert [difference.coordinates for difference in record.differences] == [(1,), (2,)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mutant", "operator", "strided"),
    [
        (mutants.strides.InputStridesIgnored, "TILE", "input_tensor"),
        (mutants.strides.OutputStridesIgnored, "TILE", "output_tensor"),
        (mutants.strides.OutputStridesIgnored, "GATHER_ELEMENTS", "output_tensor"),
    ],
)
def test_ignored_strides_shrink_to_two_elements(
    mutant: type[mutants.Mutant], operator: str, strided: str, seed: int
) -> None:
    """One dimension and two elements that do not follow each other; every other tensor is plain."""
    case, _ = smallest(mutant, operator, "6_4", "EXECUTION.strides", seed)
    for name, tensor in mutants.tensors(case.desc):
        assert len(tensor.sizes) == 1
        assert tensor.element_count <= 2
        assert tensor.flags == tensor.guaranteed_base_offset_alignment == 0
        assert (tensor.strides is not None) == (name == strided)
    found = getattr(case.desc, strided)
    assert found.sizes == (2,)
    assert found.strides != (1,)


@pytest.mark.few(2, 4)
@pytest.mark.parametrize("mutant", [mutants.strides.InputStridesIgnored, mutants.strides.OutputStridesIgnored])
@pytest.mark.parametrize("operator", INDEXING)
def test_with_indices_ignored_strides_shrink_to_a_few_elements(mutant: type[mutants.Mutant], operator: str) -> None:
    """Two ways lead down here, to a smaller tensor and to simpler indices; where they part depends on the seed."""
    for seed in SEEDS:
        case, _ = smallest(mutant, operator, "6_4", "EXECUTION.strides", seed)
        found = mutants.tensors(case.desc)
        assert all(tensor.element_count <= 8 for _, tensor in found)
        assert all(len(tensor.sizes) <= 3 and tensor.guaranteed_base_offset_alignment == 0 for _, tensor in found)
        assert sum(tensor.strides is not None for _, tensor in found) == 1
        assert not any(tensor.flags for _, tensor in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_index_out_of_range_shrinks_to_one_index(seed: int) -> None:
    case, record = smallest(mutants.crashes.OutOfRangeIndexRaises, "GATHER", "6_4", "GATHER.out-of-range-indices", seed)
    assert case.desc == plain("GATHER", ONE, INDEX, ONE)
    assert case.data["indices_tensor"] == Recipe("out-of-range")
    assert record.reason == "execute raised IndexError: index out of range"


def test_data_types_shrink_to_the_one_that_fails() -> None:
    case, _ = smallest(mutants.levels.AcceptsLaterFloat64, "GATHER_ND", "3_0", "GATHER_ND.data-types", 0)
    doubles = TensorDesc.of(DataType.FLOAT64, (1,))
    assert case.desc == plain("GATHER_ND", doubles, INDEX, doubles)


def test_a_dimension_count_shrinks_to_ones() -> None:
    case, record = smallest(mutants.levels.RejectsEightDimensions, "TILE", "6_4", "TILE.values", 0)
    ones = TensorDesc.of(FLOAT32, (1,) * 8)
    assert case.desc == TileDesc(ones, ones, (1,) * 8)
    assert record.reason == "rejected a valid descriptor: not here"


def test_the_axis_shrinks() -> None:
    case, _ = smallest(mutants.axes.AxisOffByOne, "GATHER_ELEMENTS", "6_4", "GATHER_ELEMENTS.values", 0)
    row = TensorDesc.of(FLOAT32, (1, 2))
    assert case.desc == GatherElementsDesc(row, TensorDesc.of(UINT32, (1, 2)), row, 0)
    assert case.data["indices_tensor"] == Recipe("explicit", values=(0, 0))
