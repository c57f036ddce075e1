"""What the search hands back is as small as can be, whatever the seed: a planted bug shrinks to the descriptor that a
person would have written down for it.
"""

from __future__ import annotations

from typing import Any

import pytest
from five_operators import FIVE, GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from strength import mutants
from strength.mutants import Mutant

from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.search import search
from dml_conformance.reports.model.records import NOT_CONFORMANT, Record
from dml_conformance.spec.case import Case, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.tensor import TensorDesc

SEEDS = pytest.mark.parametrize("seed", range(2))
INDEXING = ["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"]
EXAMPLES = 300
FLOAT32, UINT32, INT32 = DataType.FLOAT32, DataType.UINT32, DataType.INT32
ONE = TensorDesc.of(FLOAT32, (1,))
TWO = TensorDesc.of(FLOAT32, (2,))
OWNED = TensorDesc.of(FLOAT32, (1,), flags=1)
DOUBLE = TensorDesc.of(DataType.FLOAT64, (1,))
ROW, INDEX_ROW = TensorDesc.of(FLOAT32, (1, 2)), TensorDesc.of(UINT32, (1, 2))
EIGHT = TensorDesc.of(FLOAT32, (1,) * 8)
INDEX = TensorDesc.of(UINT32, (1,))
SIGNED = TensorDesc.of(INT32, (1,))


def smallest(mutant: type[Mutant], operator: str, level: str, rule: str, seed: int) -> tuple[Case, Record]:
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


def holding(index: int, operator: str = "GATHER") -> dict[str, Recipe]:
    """The plainest input, and one index where there are any."""
    indices = {} if operator == "TILE" else {"indices_tensor": Recipe("explicit", values=(index,))}
    return {"input_tensor": Recipe("ramp"), **indices}


DECISIONS, LEVELS, INDICES = mutants.decisions, mutants.levels, mutants.indices
Row = tuple[type[Mutant], str, str, str, Any, dict[str, Recipe] | None]
# A bug, an operator and level, the rule that it breaks, and what its search ends with: descriptor and data.
SMALLEST: list[Row] = [
    # Clamped to 0 an index is wrong as soon as there are two elements; the simplest signed type is INT32.
    *(
        (INDICES.NegativeIndexOutOfRange, name, "3_0", "negative-indices", plain(name, TWO, SIGNED, ONE), holding(-1))
        for name in INDEXING
    ),
    *(
        (mutants.memory.LastElementUnwritten, name, "3_1", "values", plain(name, ONE, INDEX, ONE), holding(0, name))
        for name in FIVE
    ),
    *(
        (DECISIONS.AcceptsOwnedByDmlOutput, name, "3_1", "TENSOR.owned-by-dml", plain(name, ONE, INDEX, OWNED), None)
        for name in FIVE
    ),
    (
        mutants.crashes.OutOfRangeIndexRaises,
        "GATHER",
        "6_4",
        "out-of-range-indices",
        plain("GATHER", ONE, INDEX, ONE),
        {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("out-of-range")},
    ),
    (LEVELS.AcceptsLaterFloat64, "GATHER_ND", "3_0", "data-types", plain("GATHER_ND", DOUBLE, INDEX, DOUBLE), None),
    (LEVELS.RejectsEightDimensions, "TILE", "6_4", "values", TileDesc(EIGHT, EIGHT, (1,) * 8), holding(0, "TILE")),
    (
        mutants.axes.AxisOffByOne,
        "GATHER_ELEMENTS",
        "6_4",
        "values",
        GatherElementsDesc(ROW, INDEX_ROW, ROW, 0),
        {"input_tensor": Recipe("ramp"), "indices_tensor": Recipe("explicit", values=(0, 0))},
    ),
    # Repeated elements differ from a repeated whole from two elements and two repeats on.
    (
        mutants.shapes.RepeatsElements,
        "TILE",
        "6_4",
        "values",
        TileDesc(TWO, TensorDesc.of(FLOAT32, (4,)), (2,)),
        holding(0, "TILE"),
    ),
]


@SEEDS
@pytest.mark.parametrize(("mutant", "operator", "level", "rule", "desc", "data"), SMALLEST)
def test_a_failure_shrinks_to_the_smallest_case(
    mutant: type[Mutant], operator: str, level: str, rule: str, desc: Any, data: dict[str, Recipe] | None, seed: int
) -> None:
    case, _ = smallest(mutant, operator, level, rule if "." in rule else f"{operator}.{rule}", seed)
    assert (case.desc, case.data) == (desc, data)


@pytest.mark.parametrize("operator", ["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "TILE"])
def test_below_3_0_it_shrinks_to_the_only_dimension_count(operator: str) -> None:
    case, _ = smallest(mutants.memory.WritesPastTheEnd, operator, "2_1", "EXECUTION.output-bounds", 0)
    for _, tensor in mutants.tensors(case.desc):
        assert tensor == TensorDesc.of(tensor.data_type, (1, 1, 1, 1))


@SEEDS
@pytest.mark.parametrize(
    ("mutant", "operator", "strided"),
    [
        (mutants.strides.InputStridesIgnored, "TILE", "input_tensor"),
        (mutants.strides.OutputStridesIgnored, "TILE", "output_tensor"),
        (mutants.strides.OutputStridesIgnored, "GATHER_ELEMENTS", "output_tensor"),
    ],
)
def test_ignored_strides_shrink_to_two_elements(mutant: type[Mutant], operator: str, strided: str, seed: int) -> None:
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
