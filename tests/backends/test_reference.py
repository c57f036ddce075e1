"""The reference backend: it agrees with a second, slow one, and with the validator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from generated_cases import INPUTS, NAMES, Case, Generator, bound, broken, check_execution, made
from msgspec.structs import replace

from dml_conformance.backends import reference
from dml_conformance.backends.base import Binding, Timed
from dml_conformance.backends.reference import Expectation, ReferenceBackend, expected_output
from dml_conformance.backends.reference.movement import positions
from dml_conformance.spec.datatypes import ALL, INDEX_TYPES, UP_TO_64_BIT_NO_FLOAT64, DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.rules import Category
from dml_conformance.spec.tensor import MAX_ELEMENTS, TensorDesc
from dml_conformance.spec.validator import Outcome, decide

Sizes = tuple[int, ...]

OUTPUT = "output_tensor"
BACKEND = ReferenceBackend()


def run(case: Case, poison: bytes = b"\xa5\x5a\xc3") -> list[int]:
    """Execute into poisoned memory; the output's bit patterns in row-major order."""
    output = slow.bind(case.desc.output_tensor, poison, offset=64)
    BACKEND.execute(case.desc, case.level, case.inputs, {OUTPUT: output})
    return slow.read_output(case.desc, output)


def flat(result: Expectation) -> tuple[list[int], list[bool]]:
    nothing_open = np.zeros(result.values.shape, bool) if result.open is None else result.open
    return result.values.reshape(-1).tolist(), nothing_open.reshape(-1).tolist()


# --- agreement with the slow reference


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_slow_reference(name: str) -> None:
    generator, opened = Generator(name), 0
    for _ in range(1000):
        case = generator.case(name)
        expected = slow.expected_output(case.desc, case.inputs)
        result = expected_output(case.desc, case.inputs)[OUTPUT]
        assert result.values.shape == case.desc.output_tensor.sizes
        values, left_open = flat(result)
        assert left_open == expected.open, case
        assert [None if is_open else v for v, is_open in zip(values, left_open, strict=True)] == expected.elements, case
        opened += check_execution(BACKEND, case)
    assert opened > 300 or name == "TILE"


def test_generated_cases_cover_every_kind() -> None:
    generator = Generator("coverage")
    descs = [generator.case(level=HIGHEST).desc for _ in range(2000)]
    assert {desc.operator for desc in descs} == set(NAMES)
    assert {len(desc.input_tensor.sizes) for desc in descs} == set(range(1, 9))
    assert {desc.input_tensor.data_type for desc in descs} == ALL
    assert {desc.input_tensor.data_type for desc in descs if desc.operator == "TILE"} == UP_TO_64_BIT_NO_FLOAT64
    assert {desc.indices_tensor.data_type for desc in descs if desc.operator != "TILE"} == INDEX_TYPES


@pytest.mark.parametrize(
    ("strides", "output_strides"), [(None, None), ((400, 1), (1200, 1)), ((1, 3), (900, 2)), ((150, 1), (1, 6))]
)
def test_tiles_of_long_rows(strides: Sizes | None, output_strides: Sizes | None) -> None:
    source = TensorDesc.of(DataType.UINT64, (3, 150), strides)
    output = TensorDesc.of(DataType.UINT64, (6, 450), output_strides)
    case = made(TileDesc(source, output, (2, 3)), range(450))
    assert run(case) == slow.expected_output(case.desc, case.inputs).elements


def test_inputs_may_be_read_only() -> None:
    generator = Generator("read-only")
    for name in NAMES:
        case = generator.case(name, HIGHEST)
        for binding in case.inputs.values():
            binding.buffer.flags.writeable = False
        expected_output(case.desc, case.inputs)


def test_a_binding_that_is_too_small_is_refused() -> None:
    source, output = TensorDesc.of(DataType.FLOAT32, (2, 3)), TensorDesc.of(DataType.FLOAT32, (2, 3), (8, 1))
    case = made(TileDesc(source, output, (1, 1)), range(6))
    whole = slow.bind(output, b"\0")
    BACKEND.execute(case.desc, case.level, case.inputs, {OUTPUT: whole})
    with pytest.raises((TypeError, ValueError)):
        BACKEND.execute(case.desc, case.level, case.inputs, {OUTPUT: whole._replace(size=40)})


# --- indices


@pytest.mark.parametrize(
    ("index", "kind", "place"),
    [
        (2**63 - 1, DataType.INT64, None),
        (-(2**63), DataType.INT64, None),
        (-(2**31), DataType.INT32, None),
        (2**64 - 1, DataType.UINT64, None),  # not -1
        (2**64 - 3, DataType.UINT64, None),  # not -3
        (2**63, DataType.UINT64, None),
        (2**32, DataType.UINT64, None),  # not 0
        (2**32 + 1, DataType.INT64, None),  # not 1
        (2**32 - 1, DataType.UINT32, None),  # not -1
        (3, DataType.UINT32, None),
        (3, DataType.INT32, None),
        (-4, DataType.INT64, None),
        (-3, DataType.INT64, 0),
        (-1, DataType.INT32, 2),
        (2, DataType.UINT64, 2),
    ],
)
def test_index_values(index: int, kind: DataType, place: int | None) -> None:
    source, one = TensorDesc.of(DataType.UINT8, (3,)), TensorDesc.of(DataType.UINT8, (2,))
    indices = TensorDesc.of(kind, (2,))
    tuples = TensorDesc.of(kind, (2, 1))
    as_rows = [replace(t, sizes=(1, *t.sizes)) for t in (source, one)]
    for desc in (
        GatherDesc(source, indices, one, 0, 1),
        GatherElementsDesc(source, indices, one, 0),
        GatherNdDesc(as_rows[0], tuples, as_rows[1], 1, 2),
        GatherNd1Desc(as_rows[0], tuples, as_rows[1], 1, 2, 0),
    ):
        case = made(desc, [70, 80, 90], [index, 1])
        values, left_open = flat(expected_output(desc, case.inputs)[OUTPUT])
        assert left_open == [place is None, False]
        assert values[1] == 80
        if place is None:
            assert values[0] in (70, 80, 90)
        else:
            assert values[0] == (70, 80, 90)[place]


@pytest.mark.parametrize("kind", sorted(INDEX_TYPES))
def test_places_along_the_longest_dimension(kind: DataType) -> None:
    dtype = np.dtype(kind.name.lower())
    size = MAX_ELEMENTS
    top = min(size - 1, int(np.iinfo(dtype).max))
    places, outside = positions(np.array([0, top], dtype), size)
    assert (places.tolist(), outside) == ([0, top], None)
    if kind.is_signed_integer:
        places, outside = positions(np.array([-1, top], dtype), size)
        assert (places.tolist(), outside) == ([size - 1, top], None)


def test_a_broadcast_input_is_never_written_out_in_full() -> None:
    huge = TensorDesc.of(DataType.UINT32, (1, MAX_ELEMENTS), (0, 0))
    three, tuples = TensorDesc.of(DataType.UINT32, (1, 3)), TensorDesc.of(DataType.UINT32, (3, 2))
    indices = [5, MAX_ELEMENTS - 1, 2**31]
    for desc, elements in (
        (GatherDesc(huge, three, three, 1, 1), indices),
        (GatherElementsDesc(huge, three, three, 1), indices),
        (GatherNdDesc(huge, tuples, three, 2, 2), [x for index in indices for x in (0, index)]),
    ):
        assert decide(desc, HIGHEST).outcome is Outcome.ACCEPT
        memory = Binding(np.frombuffer(bytearray((77).to_bytes(4, "little")), np.uint8), 0, 4)
        case = Case(desc, HIGHEST, {"input_tensor": memory, "indices_tensor": bound(desc.indices_tensor, elements)})
        assert run(case) == [77] * 3


# --- decisions


def test_decides_as_the_specification_does() -> None:
    generator = Generator("broken")
    outcomes = set()
    for _ in range(1000):
        case = generator.case()
        desc = generator.random.choice([case.desc, broken(generator.random, case.desc)])
        decision, answer = decide(desc, case.level), BACKEND.validate(desc, case.level)
        outcomes.add(decision.outcome)
        if decision.outcome is not Outcome.UNSPECIFIED:
            assert answer.accepted == (decision.outcome is Outcome.ACCEPT)
        assert answer.accepted or answer.reason.endswith(decision.violations[0].rule.statement)
    assert outcomes == set(Outcome)


def base() -> dict[str, Any]:
    """One valid descriptor of each operator; its level is 3_1."""
    source, output = TensorDesc.of(DataType.FLOAT32, (1, 2, 3, 4)), TensorDesc.of(DataType.FLOAT32, (1, 2, 5, 4))
    row, spread = TensorDesc.of(DataType.INT64, (1, 1, 1, 5)), TensorDesc.of(DataType.INT64, (1, 2, 5, 4))
    tuples = TensorDesc.of(DataType.UINT32, (1, 2, 5, 1))
    return {
        "GATHER": GatherDesc(source, row, output, 2, 1),
        "GATHER_ELEMENTS": GatherElementsDesc(source, spread, output, 2),
        "GATHER_ND": GatherNdDesc(
            source, replace(tuples, sizes=(1, 1, 1, 2)), replace(output, sizes=(1, 1, 1, 4)), 3, 2
        ),
        "GATHER_ND1": GatherNd1Desc(source, tuples, output, 3, 3, 1),
        "TILE": TileDesc(source, replace(output, sizes=(1, 4, 3, 4), total_tensor_size_in_bytes=192), (1, 2, 1, 1)),
    }


def open_batches(indices: tuple[int, ...], output: tuple[int, ...], *counts: int) -> GatherNd1Desc:
    """A GATHER_ND1 of an input whose first dimension that counts has two batches."""
    source = TensorDesc.of(DataType.FLOAT32, (1, 2, 3, 4))
    return GatherNd1Desc(
        source, TensorDesc.of(DataType.INT64, indices), TensorDesc.of(DataType.FLOAT32, output), *counts, 1
    )


NARROW = GatherNdDesc(
    TensorDesc.of(DataType.FLOAT32, (1, 2, 3, 4)),
    TensorDesc.of(DataType.INT64, (1, 1, 1, 2)),
    TensorDesc.of(DataType.FLOAT32, (1, 1, 1, 1)),
    2,
    1,
)
OPEN = {
    "leading index sizes": (
        replace(base()["GATHER"], indices_tensor=TensorDesc.of(DataType.INT64, (1, 1, 2, 5))),
        True,
    ),
    "leading input sizes": (NARROW, True),
    "tuple too long": (replace(base()["GATHER_ND"], input_dimension_count=1), False),
    "no dimension left after the batches": (replace(base()["GATHER_ND1"], batch_dimension_count=3), False),
    "tuples within the batches": (open_batches((1, 1, 1, 2), (1, 1, 1, 4), 3, 1), False),
}


@pytest.mark.parametrize(("desc", "accepted"), OPEN.values(), ids=OPEN)
def test_open_questions_are_answered_by_what_can_be_computed(desc: Any, accepted: bool) -> None:
    assert decide(desc, Level.L3_1).outcome is Outcome.UNSPECIFIED
    assert BACKEND.validate(desc, Level.L3_1).accepted is accepted
    if accepted:
        case = Case(desc, Level.L3_1, {name: slow.bind(getattr(desc, name), b"\0\1\0\0") for name in INPUTS})
        values, _ = flat(expected_output(desc, case.inputs)[OUTPUT])
        assert run(case) == values


# --- the backend


def test_says_what_it_is_and_claims_all_operators() -> None:
    capabilities = ReferenceBackend("").capabilities()
    assert capabilities.name == "reference"
    assert capabilities.operators == tuple(operators())
    assert capabilities.levels == tuple(Level)
    assert capabilities.enforces == set(Category)
    assert capabilities.executes
    assert capabilities.versions["numpy"] == np.__version__
    with pytest.raises(ValueError, match="takes no device, found 'cuda:0'"):
        ReferenceBackend("cuda:0")


def test_what_is_timed_is_computed_each_time_and_a_repetition_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    def counted(*given: Any) -> dict[str, Expectation]:
        computed.append(given)
        return expected_output(*given)

    monkeypatch.setattr(reference, "expected_output", counted)
    case = Generator("timed").case("TILE", HIGHEST)
    outputs = {OUTPUT: slow.bind(case.desc.output_tensor, b"\xa5")}
    for _ in range(3):
        BACKEND.execute(case.desc, case.level, case.inputs, outputs)
    assert len(computed) == 1
    for again in (replace(case.desc), case.desc):  # an equal descriptor may have another zero
        BACKEND.execute(again, case.level, case.inputs, outputs)
    assert len(computed) == 3
    seconds = BACKEND.time_execution(case.desc, case.level, case.inputs, outputs, 4)
    assert len(computed) == 3 + 4
    assert len(seconds) == 4
    assert min(seconds) > 0


def test_times_itself() -> None:
    assert isinstance(BACKEND, Timed)
    copies = BACKEND.time_copy(1 << 16, 4)
    assert len(copies) == 4
    assert min(copies) > 0
