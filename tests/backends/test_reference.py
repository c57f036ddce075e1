"""The reference backend: it agrees with a second, slow one, with itself under rewriting, and with the validator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from math import prod
from typing import Any

import numpy as np
import pytest
import slow_reference as slow
from five_operators import GatherDesc, GatherElementsDesc, GatherNd1Desc, GatherNdDesc, TileDesc
from generated_cases import INPUTS, NAMES, Case, Generator, bound, broken, check_execution, made
from msgspec.structs import replace

from dml_conformance.backends import reference
from dml_conformance.backends.base import Backend, Binding, Timed
from dml_conformance.backends.reference import Expectation, ReferenceBackend, expected_output
from dml_conformance.backends.reference.movement import positions
from dml_conformance.spec.datatypes import ALL, INDEX_TYPES, UP_TO_64_BIT_NO_FLOAT64, DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.registry import operators, spec_of
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
    generator = Generator(name)
    for _ in range(1500):
        case = generator.case(name)
        expected = slow.expected_output(case.desc, case.inputs)
        result = expected_output(case.desc, case.inputs)[OUTPUT]
        assert result.values.shape == case.desc.output_tensor.sizes
        values, left_open = flat(result)
        assert left_open == expected.open, case
        assert [None if is_open else v for v, is_open in zip(values, left_open, strict=True)] == expected.elements, case
        check_execution(BACKEND, case)


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


def test_open_elements_hold_an_element_of_the_input() -> None:
    generator = Generator("open")
    names = ["GATHER", "GATHER_ELEMENTS", "GATHER_ND1"]
    cases = (generator.case(generator.random.choice(names), HIGHEST, indices="wild") for _ in range(300))
    assert sum(check_execution(BACKEND, case) for case in cases) > 300


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


# --- metamorphic properties


def test_tiling_twice_is_tiling_by_the_product() -> None:
    generator = Generator("tile twice")
    for _ in range(200):
        rank = generator.random.randint(1, 8)
        kind = generator.random.choice(sorted(UP_TO_64_BIT_NO_FLOAT64))
        sizes, first, second = generator.sizes(rank, 6), generator.sizes(rank, 6), generator.sizes(rank, 4)
        source = generator.tensor(kind, sizes)
        middle = generator.tensor(kind, tuple(map(prod, zip(sizes, first, strict=True))), output=True)
        output = generator.tensor(kind, tuple(map(prod, zip(middle.sizes, second, strict=True))), output=True)
        elements = [generator.random.getrandbits(64) for _ in range(source.element_count)]
        once = made(TileDesc(source, output, tuple(map(prod, zip(first, second, strict=True)))), elements)
        step = run(made(TileDesc(source, middle, first), elements))
        assert run(made(TileDesc(middle, output, second), step)) == run(once)


def test_identity_indices_give_back_the_input() -> None:
    generator = Generator("identity")
    for _ in range(200):
        rank = generator.random.randint(2, 8)
        kind, index_kind = generator.random.choice(sorted(ALL)), generator.random.choice(sorted(INDEX_TYPES))
        sizes, axis = generator.sizes(rank), generator.random.randrange(rank)
        output = generator.tensor(kind, sizes, output=True)
        source = generator.tensor(kind, sizes, output=True)  # a layout that gives each element a place of its own
        elements = [generator.random.getrandbits(8 * kind.size) for _ in range(source.element_count)]
        row = generator.tensor(index_kind, (*(1,) * (rank - 1), sizes[axis]), output=True)
        cases = [made(GatherDesc(source, row, output, axis, 1), elements, range(sizes[axis]))]
        along = generator.tensor(index_kind, sizes, output=True)
        coordinates = list(slow.walk(sizes))
        cases.append(made(GatherElementsDesc(source, along, output, axis), elements, [c[axis] for c in coordinates]))
        lead = generator.random.randint(1, rank - 1)
        short = (1,) * lead + sizes[lead:]
        if short == sizes:
            tuples = generator.tensor(index_kind, (*(1,) * (lead - 1), *sizes[lead:], rank - lead), output=True)
            desc = GatherNdDesc(source, tuples, output, rank - lead, rank - lead + 1)
            cases.append(made(desc, elements, [x for c in coordinates for x in c[lead:]]))
        for case in cases:
            assert run(case) == elements


def test_gather_is_gather_nd_where_they_overlap() -> None:
    generator = Generator("overlap nd")
    for _ in range(200):
        rank, count = generator.random.randint(2, 8), generator.random.randint(1, 5)
        sizes = (1, *generator.sizes(rank - 1))
        kind, index_kind = generator.random.choice(sorted(ALL)), generator.random.choice(sorted(INDEX_TYPES))
        source = generator.tensor(kind, sizes)
        output = generator.tensor(kind, (1, count, *sizes[2:]), output=True)
        row, column = (
            generator.tensor(index_kind, (1,) * (rank - len(shape)) + shape, output=True)
            for shape in ((count,), (count, 1))
        )
        elements = [generator.random.getrandbits(64) for _ in range(source.element_count)]
        indices = [generator.random.randrange(sizes[1]) for _ in range(count)]
        gathered = run(made(GatherDesc(source, row, output, 1, 1), elements, indices))
        assert run(made(GatherNdDesc(source, column, output, rank - 1, 2), elements, indices)) == gathered
        assert run(made(GatherNd1Desc(source, column, output, rank - 1, 2, 0), elements, indices)) == gathered


def test_gather_is_gather_elements_where_they_overlap() -> None:
    generator = Generator("overlap elements")
    for _ in range(200):
        rank, count = generator.random.randint(1, 8), generator.random.randint(1, 5)
        axis, sizes = generator.random.randrange(rank), generator.sizes(rank)
        kind, index_kind = generator.random.choice(sorted(ALL)), generator.random.choice(sorted(INDEX_TYPES))
        source = generator.tensor(kind, sizes)
        output = generator.tensor(kind, (*sizes[:axis], count, *sizes[axis + 1 :]), output=True)
        row = generator.tensor(index_kind, (1,) * (rank - 1) + (count,), output=True)
        spread = generator.tensor(index_kind, output.sizes, output=True)
        elements = [generator.random.getrandbits(64) for _ in range(source.element_count)]
        indices = [generator.random.randrange(sizes[axis]) for _ in range(count)]
        everywhere = [indices[c[axis]] for c in slow.walk(spread.sizes)]
        gathered = run(made(GatherDesc(source, row, output, axis, 1), elements, indices))
        assert run(made(GatherElementsDesc(source, spread, output, axis), elements, everywhere)) == gathered


def test_batches_are_gather_nd_one_by_one() -> None:
    generator = Generator("batches")
    for _ in range(100):
        batches, rank = generator.random.randint(1, 4), generator.random.randint(3, 7)
        sizes, coordinates = generator.sizes(rank - 1, 24), generator.random.randint(1, rank - 1)
        index = (2, coordinates)
        together = GatherNd1Desc(
            TensorDesc.of(DataType.UINT16, (batches, *sizes)),
            TensorDesc.of(DataType.INT32, (*(1,) * (rank - 3), batches, *index)),
            TensorDesc.of(DataType.UINT16, (*(1,) * (coordinates - 1), batches, 2, *sizes[coordinates:])),
            rank,
            3,
            1,
        )
        one = GatherNdDesc(
            TensorDesc.of(DataType.UINT16, (1, *sizes)),
            TensorDesc.of(DataType.INT32, (*(1,) * (rank - 2), *index)),
            TensorDesc.of(DataType.UINT16, (*(1,) * coordinates, 2, *sizes[coordinates:])),
            rank - 1,
            2,
        )
        blocks = [[generator.random.getrandbits(16) for _ in range(prod(sizes))] for _ in range(batches)]
        tuples = [
            [generator.random.randrange(sizes[n % coordinates]) for n in range(prod(index))] for _ in range(batches)
        ]
        each = [run(made(one, block, chosen)) for block, chosen in zip(blocks, tuples, strict=True)]
        assert run(made(together, chain(*blocks), chain(*tuples))) == list(chain(*each))


def logical(case: Case, name: str) -> list[int]:
    """The elements of an input tensor, as bit patterns in row-major order."""
    memory = slow.Memory(bytes(case.inputs[name].view), getattr(case.desc, name))
    return [int.from_bytes(memory.element(c), "little") for c in slow.walk(getattr(case.desc, name).sizes)]


def with_tensors(case: Case, change: Callable[[str, TensorDesc], TensorDesc]) -> Case:
    """The same elements in tensors that `change` gives for each name."""
    names = [name for name in (*INPUTS, OUTPUT) if hasattr(case.desc, name)]
    desc = replace(case.desc, **{name: change(name, getattr(case.desc, name)) for name in names})
    return Case(desc, case.level, {name: bound(getattr(desc, name), logical(case, name)) for name in case.inputs})


def test_result_does_not_depend_on_layout() -> None:
    generator = Generator("layout")

    def other_layout(name: str, tensor: TensorDesc) -> TensorDesc:
        return generator.tensor(tensor.data_type, tensor.sizes, output=True)

    def packed(name: str, tensor: TensorDesc) -> TensorDesc:
        return TensorDesc.of(tensor.data_type, tensor.sizes)

    for _ in range(500):
        case = generator.case(indices="any-sign")
        result = run(case)
        assert run(with_tensors(case, other_layout)) == result
        assert run(with_tensors(case, packed), b"\0") == result


def test_result_does_not_depend_on_the_type_of_the_bits() -> None:
    generator = Generator("types")
    for _ in range(300):
        case = generator.case(level=HIGHEST, indices="any-sign")
        table = operators()[case.desc.operator].table_at(case.level)
        assert table is not None
        kinds = [kind for kind in table["InputTensor"].data_types if kind.size == case.desc.input_tensor.data_type.size]

        def retyped(name: str, tensor: TensorDesc, kind: DataType) -> TensorDesc:
            return tensor if name == "indices_tensor" else replace(tensor, data_type=kind)

        results = [run(with_tensors(case, partial(retyped, kind=kind))) for kind in kinds]
        assert len(results) >= 2
        assert all(result == results[0] for result in results)


def test_negative_indices_count_from_the_end() -> None:
    generator, negative = Generator("negative"), 0
    for _ in range(300):
        case = generator.case(
            generator.random.choice(["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"]), HIGHEST
        )
        tensor = generator.tensor(
            generator.random.choice([DataType.INT32, DataType.INT64]), case.desc.indices_tensor.sizes, output=True
        )
        desc = replace(case.desc, indices_tensor=tensor)
        rule = spec_of(desc).index
        assert rule is not None
        limits = rule.limits(desc)
        sizes = [limits[c[-1]] if len(limits) > 1 else limits[0] for c in slow.walk(tensor.sizes)]
        plain = [generator.random.randrange(size) for size in sizes]
        signed = [n - size if generator.random.random() < 0.5 else n for n, size in zip(plain, sizes, strict=True)]
        negative += signed != plain
        inputs = dict(case.inputs)
        results = [
            run(Case(desc, HIGHEST, {**inputs, "indices_tensor": bound(tensor, numbers)}))
            for numbers in (plain, signed)
        ]
        assert results[0] == results[1]
    assert negative > 100


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


def with_tensor(name: str, tensor: str, **fields: Any) -> Any:
    """The valid descriptor of an operator with some fields of one tensor changed."""
    desc = base()[name]
    return replace(desc, **{tensor: replace(getattr(desc, tensor), **fields)})


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
    BACKEND.time_execution(case.desc, case.level, case.inputs, outputs, 4)
    assert len(computed) == 3 + 4


def test_times_itself() -> None:
    backend: Backend = BACKEND
    assert isinstance(backend, Timed)
    case = Generator("timed").case("TILE", HIGHEST)
    output = slow.bind(case.desc.output_tensor, b"\xa5")
    seconds = backend.time_execution(case.desc, case.level, case.inputs, {OUTPUT: output}, 3)
    assert len(seconds) == 3
    assert min(seconds) > 0
    assert slow.read_output(case.desc, output) == run(case)
    copies = backend.time_copy(1 << 16, 4)
    assert len(copies) == 4
    assert min(copies) > 0
