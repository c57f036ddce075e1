"""A correct backend by somebody else, in a style of its own, is conformant everywhere; also where outputs are large."""

from __future__ import annotations

import ast
import tracemalloc
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import address_machine
import numpy as np
import pytest
import slow_reference as slow
from address_machine import BLOCK, CLAUSES, AddressMachine, Facts, first_broken
from commands import certificate, invoke
from five_operators import FIVE, GatherDesc, GatherElementsDesc, GatherNd1Desc, TileDesc
from generated_cases import Case as GeneratedCase
from generated_cases import Generator, check_execution, made
from judged_tasks import records_left
from msgspec.structs import replace
from sweep_support import sweep

from dml_conformance.backends.base import Binding, Execution
from dml_conformance.backends.processes.backend import IsolatedBackend
from dml_conformance.backends.reference import ReferenceBackend, expected_output
from dml_conformance.conformance.campaign.budget import BUDGETS
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.memory import CaseMemory
from dml_conformance.reports.model.records import JUDGED_PHASES, NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case, Placement
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import HIGHEST, Level
from dml_conformance.spec.operator import slots
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.boundaries import boundary_cases
from dml_conformance.strategies.cases import applicable_rules

SOURCE = Path(address_machine.__file__)
NAME = f"{SOURCE}:AddressMachine"
OPERATORS = ("TILE", "GATHER_ND1")  # that the gate is run on
OUTPUT = "output_tensor"
MIB = 2**20


def failures(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.verdict in NOT_CONFORMANT]


# --- independent ------------------------------------------------------------------------------------------------------


def test_it_shares_nothing_with_the_other_books() -> None:
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(SOURCE.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    own = {name for name in imported if name and name.startswith("dml_conformance")}
    assert own == {
        "dml_conformance.backends.base",
        "dml_conformance.spec.datatypes",
        "dml_conformance.spec.levels",
        "dml_conformance.spec.rules",
    }


# --- conformant -------------------------------------------------------------------------------------------------------


@pytest.mark.few(0, 2)
@pytest.mark.parametrize("operator", FIVE)
def test_a_campaign_at_all_levels_finds_nothing(operator: str) -> None:
    records = list(records_left(Engine(Judge(AddressMachine(), NAME), (operator,), tuple(Level), BUDGETS["quick"], 0)))
    assert not failures(records), failures(records)[0]
    assert {record.verdict for record in records} == {Verdict.PASS, Verdict.OBSERVED}
    assert {record.phase for record in records} == set(JUDGED_PHASES)
    assert {record.level for record in records} == {level.label for level in Level}


@pytest.mark.slow
def test_it_is_certified(tmp_path: Path) -> None:
    """In a process of its own, with reports, timing and all."""
    scope = ("--level", "6_4", "--budget", "quick", *chain(*(("--operator", name) for name in FIVE)))
    result = invoke("certify", "--backend", NAME, *scope, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    found = certificate(tmp_path / "out")
    assert found["outcome"] == "conformant"
    assert {verdict for verdict, count in found["counts"].items() if count} == {"pass", "observed"}


@pytest.mark.slow
def test_the_gate_lets_it_through(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        dedent(f"""
            from dml_conformance import ConformanceSuite


            class TestMachine(ConformanceSuite):
                backend = {NAME!r}
                levels = ("6_4",)
                operators = {OPERATORS}
        """)
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--dml-examples", "1")
    outcomes = result.parseoutcomes()
    assert set(outcomes) <= {"passed", "warnings"}
    assert outcomes["passed"] > sum(len(applicable_rules(name, HIGHEST)) for name in OPERATORS)


# --- in batches -------------------------------------------------------------------------------------------------------


def judged(backend: Any, cases: Sequence[Case], **how: Any) -> list[Record]:
    judge = Judge(backend, NAME, digests_outputs=True)
    records = BatchJudge(judge, **how).records(cases, Phase.SWEEP)
    return [replace(record, seconds=0.0, reproduce="") for record in records]


def outputs(records: Sequence[Record]) -> list[tuple[str, str, str]]:
    return [(record.case, record.verdict, record.output) for record in records]


def test_a_sweep_in_batches_is_as_one_by_one() -> None:
    cases = sweep(2000)
    isolated = IsolatedBackend(NAME)
    try:
        in_batches = judged(isolated, cases)
        assert isolated.tally.lost == 0
    finally:
        isolated.close()
    assert in_batches == judged(AddressMachine(), cases) == judged(AddressMachine(), cases, one_by_one=True)
    assert outputs(in_batches) == outputs(judged(ReferenceBackend(), cases))
    assert {record.verdict for record in in_batches} == {Verdict.PASS, Verdict.OBSERVED}


def test_equal_descriptors_are_executed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With data of their own each, and not one call each."""
    groups: list[int] = []
    run = address_machine.run
    monkeypatch.setattr(address_machine, "run", lambda program, each: (groups.append(len(each)), run(program, each)))
    executed = [case for case in sweep(400) if case.data and case.outcome == "ACCEPT"]
    cases = [
        replace(case, data={name: replace(recipe, seed=recipe.seed + n) for name, recipe in case.data.items()})
        for n in range(5)
        for case in executed
        if all(recipe.pattern != "explicit" for recipe in case.data.values())
    ]
    records = judged(AddressMachine(), cases)
    assert not failures(records)
    assert len(cases) > 500
    assert Counter(groups)[5] > 100
    assert outputs(records) == outputs(judged(ReferenceBackend(), cases))


@pytest.mark.parametrize("block", [1, 3, 64])
def test_groups_are_cut_into_blocks_anywhere(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(address_machine, "BLOCK", block)
    cases = sweep(60 if block == 1 else 300, seed=1)
    assert not failures(judged(AddressMachine(), [case for case in cases for _ in range(2)]))


# --- memory as it is bound --------------------------------------------------------------------------------------------


def computed(desc: Any, inputs: Mapping[str, Binding]) -> list[int]:
    output = slow.bind(desc.output_tensor, b"\xa5")
    AddressMachine().execute(desc, HIGHEST, inputs, {OUTPUT: output})
    return slow.read_output(desc, output)


@pytest.mark.parametrize("name", FIVE)
def test_it_agrees_with_the_slow_reference(name: str) -> None:
    generator, backend = Generator(f"addresses {name}"), AddressMachine()
    for _ in range(500):
        case = generator.case(name)
        assert backend.validate(case.desc, case.level).accepted
        check_execution(backend, case)


def test_inputs_may_lie_over_each_other_in_one_buffer() -> None:
    """Indices that are bytes of the input, at every multiple of 16: whatever they say, it is the same for both."""
    random, generator, overlapping = Random(3), Generator("shared"), 0
    buffer = np.frombuffer(random.randbytes(1 << 16), np.uint8).copy()
    buffer[::3] = 0  # many small numbers
    for _ in range(400):
        desc = generator.case(random.choice(["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"]), HIGHEST).desc
        inputs, ranges = {}, []
        for name in ("input_tensor", "indices_tensor"):
            size = -(-getattr(desc, name).total_tensor_size_in_bytes // 4) * 4
            inputs[name] = Binding(buffer, 16 * random.randrange(4), size)
            ranges.append(range(inputs[name].offset, inputs[name].offset + size))
        overlapping += ranges[0].start < ranges[1].stop and ranges[1].start < ranges[0].stop
        check_execution(AddressMachine(), GeneratedCase(desc, HIGHEST, inputs))
    assert overlapping > 200


@pytest.mark.parametrize(
    ("kind", "index", "expected"),
    [
        (DataType.INT64, -1, 40),
        (DataType.INT32, -5, 0),
        (DataType.INT64, -6, 0),
        (DataType.INT64, -(2**63), 0),
        (DataType.INT64, 2**63 - 1, 40),
        (DataType.UINT64, 2**64 - 1, 40),
        (DataType.UINT64, 2**32 + 1, 40),
        (DataType.UINT32, 2**32 - 1, 40),
        (DataType.INT32, -(2**31), 0),
    ],
)
def test_indices_count_from_the_end_and_are_clamped(kind: DataType, index: int, expected: int) -> None:
    desc = GatherDesc(
        TensorDesc.of(DataType.UINT8, (5,)), TensorDesc.of(kind, (1,)), TensorDesc.of(DataType.UINT8, (1,)), 0, 1
    )
    case = made(desc, range(0, 50, 10), [index])
    assert computed(desc, case.inputs) == [expected]


# --- scale ------------------------------------------------------------------------------------------------------------

FAR = 2**24 + 3  # beyond what a FLOAT32 counts
RNG = np.random.default_rng(5)


def filled(tensor: TensorDesc, values: Any = None) -> Binding:
    """A tensor bound in a buffer of its own, full of random bytes or of numbers."""
    size = -(-tensor.total_tensor_size_in_bytes // 4) * 4
    content = RNG.integers(0, 256, 32 + size, np.uint8)
    if values is not None:
        content[32 : 32 + values.nbytes] = values.view(np.uint8)
    return Binding(content, 32, size)


def far_indices(count: int, kind: DataType) -> Any:
    """Numbers below `FAR`, the last ones among them; from its end too where the type has a sign."""
    numbers = RNG.integers(0, FAR, count, np.int64)
    numbers[:4] = FAR - 1, FAR - 2, 2**24 + 1, 2**24
    if kind.is_signed_integer:
        numbers[4:9] = -1, -2, -FAR, -FAR + 1, -(2**24) - 1
    return numbers.astype({4: np.uint32, 8: np.int64}[kind.size])


def of(kind: DataType, *sizes: int, strides: Sequence[int] | None = None) -> TensorDesc:
    return TensorDesc.of(kind, sizes, strides)


def large_cases() -> dict[str, tuple[Any, DataType | None]]:
    """Descriptors, and the type of their indices."""
    u8, u16, u32, i64, f32 = DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.INT64, DataType.FLOAT32
    n = 2**24 + 1
    few = {kind: of(kind, 1000) for kind in (u32, i64)}
    many = {kind: of(kind, FAR) for kind in (u32, i64)}
    return {
        "a tile of one": (TileDesc(of(u8, 1), of(u8, n), (n,)), None),
        "a tile of few": (TileDesc(of(u16, 3, 1, 5), of(u16, 6, 2**20 + 1, 5), (2, 2**20 + 1, 1)), None),
        "a tile of a broadcast": (TileDesc(of(u32, 4096, 3, strides=(0, 1)), of(u32, 4096, 4098), (1, 1366)), None),
        "a tile into padding": (TileDesc(of(u8, 1, 7), of(u8, 2**22, 7, strides=(9, 1)), (2**22, 1)), None),
        **{
            f"gather a few by {kind.name}": (GatherDesc(of(u8, FAR), index, of(u8, 1000), 0, 1), kind)
            for kind, index in few.items()
        },
        **{
            f"gather all by {kind.name}": (GatherDesc(of(f32, FAR), index, of(f32, FAR), 0, 1), kind)
            for kind, index in many.items()
        },
        "gather from a broadcast": (GatherDesc(of(u8, FAR, strides=(0,)), many[u32], of(u8, FAR), 0, 1), u32),
        "gather by one index": (
            GatherDesc(of(u8, FAR), of(u32, 2**24 + 5, strides=(0,)), of(u8, 2**24 + 5), 0, 1),
            u32,
        ),
        "gather elements": (GatherElementsDesc(of(u8, 1, FAR), of(i64, 1, FAR), of(u8, 1, FAR), 1), i64),
        "gather blocks": (
            GatherNd1Desc(of(u8, 2, FAR), of(i64, 2, 2**23 + 3, 1), of(u8, 2, 2**23 + 3), 2, 3, 1),
            i64,
        ),
    }


LARGE = large_cases()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", LARGE)
def test_large_outputs_are_right_in_little_memory(name: str) -> None:
    desc, kind = LARGE[name]
    desc = same_rank(desc)
    inputs = {"input_tensor": filled(desc.input_tensor)}
    if kind is not None:
        indices = desc.indices_tensor
        places = -(-indices.total_tensor_size_in_bytes // kind.size)
        inputs["indices_tensor"] = filled(indices, far_indices(max(places, 9), kind)[:places])
    expected = expected_output(desc, inputs)[OUTPUT]
    output = CaseMemory(desc, Placement()).poison(next(slot for slot in slots(desc) if slot.key == OUTPUT), expected)
    backend = AddressMachine()
    assert backend.validate(desc, HIGHEST).accepted
    tracemalloc.start()
    try:
        backend.execute(desc, HIGHEST, inputs, {OUTPUT: output.binding})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert expected.open is None
    assert np.array_equal(output.elements, expected.values)
    assert peak < 10 * 8 * BLOCK


def same_rank(desc: Any) -> Any:
    """All tensors with as many dimensions as the one that has most."""
    names = [name for name in ("input_tensor", "indices_tensor", OUTPUT) if hasattr(desc, name)]
    rank = max(len(getattr(desc, name).sizes) for name in names)
    assert isinstance(desc, GatherNd1Desc) or all(len(getattr(desc, name).sizes) == rank for name in names)
    changes = {}
    for name in names:
        tensor = getattr(desc, name)
        changes[name] = replace(tensor, sizes=(1,) * (rank - len(tensor.sizes)) + tensor.sizes)
    return replace(desc, **changes)


def test_addresses_beyond_four_gibibytes(tmp_path: Path) -> None:
    """Of input, indices and output: files without content, of which a few pages are written."""
    apart = 2**30 + 7
    tensor = of(DataType.FLOAT64, 4, strides=(apart,))
    desc = GatherDesc(tensor, of(DataType.INT64, 4, strides=(apart,)), tensor, 0, 1)
    bindings = {}
    for name in ("input_tensor", "indices_tensor", OUTPUT):
        total = -(-getattr(desc, name).total_tensor_size_in_bytes // 4) * 4
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(16 + total)
        bindings[name] = Binding(np.memmap(path, np.uint8), 16, total)

    def numbers(name: str, form: str) -> Any:
        return np.ndarray((4,), form, bindings[name].buffer, 16, (8 * apart,))

    numbers("input_tensor", "<u8")[:] = 11, 22, 33, 44
    numbers("indices_tensor", "<i8")[:] = 3, -4, 2, -3
    inputs = {name: bindings[name] for name in ("input_tensor", "indices_tensor")}
    backend = AddressMachine()
    assert backend.validate(desc, HIGHEST).accepted
    backend.execute_batch([Execution(desc, HIGHEST, inputs, {OUTPUT: bindings[OUTPUT]})])
    assert numbers(OUTPUT, "<u8").tolist() == [44, 11, 33, 22]
    assert expected_output(desc, inputs)[OUTPUT].values.tolist() == [44, 11, 33, 22]


# --- the clauses ------------------------------------------------------------------------------------------------------


def test_every_clause_is_needed() -> None:
    """Each is the first that some case at the boundaries breaks, but the one about what no case can have."""
    levels = (Level.L1_0, Level.L3_0, HIGHEST)
    cases = (case for name in FIVE for level in levels for case in boundary_cases(name, level))
    broken = {first_broken(Facts.of(case.desc, case.level)) for case in cases}
    assert {clause.says for clause in CLAUSES} - broken == {"there is a stride for each size"}
