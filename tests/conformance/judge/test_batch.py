"""Batches: the same verdicts as one by one, no case blamed for another, and what becomes of a batch that fails."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from five_operators import GatherDesc, TileDesc
from judged_tasks import records_left
from scripted_backend import ScriptedBackend
from strength import mutants
from sweep_support import sweep

from dml_conformance.backends import poison
from dml_conformance.backends.base import Answer, Execution, OutOfMemory, Unsupported, takes_batches
from dml_conformance.backends.reference import ReferenceBackend
from dml_conformance.backends.torch import TorchBackend
from dml_conformance.backends.torch import batch as torch_batch
from dml_conformance.conformance.campaign.budget import MIB, Budget
from dml_conformance.conformance.campaign.engine import Engine
from dml_conformance.conformance.judge import batch as batch_module
from dml_conformance.conformance.judge.batch import BatchJudge
from dml_conformance.conformance.judge.judge import Judge
from dml_conformance.conformance.judge.memory import GUARD_BYTES, STEP, Layout
from dml_conformance.reports.model.records import NOT_CONFORMANT, Phase, Record, Verdict
from dml_conformance.spec.case import Case, Placement, Recipe
from dml_conformance.spec.datatypes import DataType
from dml_conformance.spec.levels import Level
from dml_conformance.spec.registry import operators
from dml_conformance.spec.tensor import TensorDesc
from dml_conformance.strategies.values import UNSIGNED_OF_SIZE, materialize

LEVEL = Level.L6_4
ODD = Placement((80,))
RAMP = {"input_tensor": Recipe("ramp")}


def tile(count: int, data_type: DataType = DataType.UINT8, *, repeats: int = 2, **tensor: Any) -> Case:
    """A TILE of so many elements, all of them executed; its output may have another layout. In a batch the tensors of
    small ones lie `STEP` bytes apart."""
    source, target = (TensorDesc.of(data_type, (n,)) for n in (count, count * repeats))
    desc = TileDesc(source, msgspec.structs.replace(target, **tensor), (repeats,))
    return Case.of(desc, LEVEL, {"input_tensor": Recipe("ramp", count)}, rule="TILE.values", placement=ODD)


def gather(*indices: int) -> Case:
    source, index = TensorDesc.of(DataType.FLOAT32, (4,)), TensorDesc.of(DataType.INT32, (len(indices),))
    desc = GatherDesc(source, index, TensorDesc.of(DataType.FLOAT32, (len(indices),)), 0, 1)
    data = {"input_tensor": Recipe("ramp", 10), "indices_tensor": Recipe("explicit", values=indices)}
    return Case.of(desc, LEVEL, data, rule="GATHER.values")


FEW = [tile(n) for n in range(1, 9)]


class InBatches(ReferenceBackend):
    """The reference, with batches that are many single executions; told what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.alone: list[Any] = []

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        self.alone.append(desc)
        self.do(Execution(desc, level, inputs, outputs))

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        self.batches.append(len(executions))
        for execution in executions:
            self.do(execution)

    def do(self, execution: Execution) -> None:
        """What becomes of a case, alone or in a batch."""
        ReferenceBackend.execute(self, *execution)


class FewAtOnce(InBatches):
    """Raises when it has executed a batch of more cases than it takes."""

    def __init__(self, most: int, error: Exception) -> None:
        super().__init__()
        self._most, self._error = most, error

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        super().execute_batch(executions)
        if len(executions) > self._most:
            raise self._error


def watched(taken: list[Case]) -> Iterator[Case]:
    """A few cases, each put down when it is asked for."""
    for case in FEW:
        taken.append(case)
        yield case


def judged(
    backend: ReferenceBackend | TorchBackend, cases: Sequence[Case], *, repeat: int = 1, **how: Any
) -> list[Record]:
    return list(BatchJudge(Judge(backend, "mine", repeat=repeat), **how).records(cases, Phase.SWEEP))


def untimed(records: Sequence[Record]) -> list[Record]:
    return [msgspec.structs.replace(record, seconds=0.0) for record in records]


# --- the same as one by one -------------------------------------------------------------------------------------------


IN_EARNEST = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")]


@pytest.mark.parametrize("name", ["cpu", "reference", pytest.param("cuda", marks=IN_EARNEST)])
def test_an_honest_backend_gets_the_same_records(name: str) -> None:
    backend = InBatches() if name == "reference" else TorchBackend(name)
    cases = sweep(1500, names=tuple(operators()))
    in_batches, one_by_one = judged(backend, cases), judged(backend, cases, one_by_one=True)
    assert untimed(in_batches) == untimed(one_by_one)
    assert {record.verdict for record in in_batches} == {Verdict.PASS, Verdict.OBSERVED}
    assert all(record.seconds > 0 for record in in_batches)


def found(records: list[Record]) -> list[tuple[str, Verdict, str, bool]]:
    return [(record.case, record.verdict, record.rule, bool(record.differences)) for record in records]


# Those that read guards, which are random, get by where these hold what they may find.
READS_GUARDS = ("OutOfRangeIndexReadsBehindTheInput", "ReadsAtMultiplesOf32", "ReadsAtMultiplesOf64")
# Where these are wrong, a case in a batch is not bound as it is alone: it shares a resource, far inside of it.
BOUND_OTHERWISE = ("AtOffset0", "AtLargeOffsets", "InOneResource", "IgnoresBindingOffset")
STATELESS = [
    mutant
    for mutant in mutants.MUTANTS
    if mutant.family() != "state"
    and mutant.__name__ not in READS_GUARDS
    and not any(way in mutant.__name__ for way in BOUND_OTHERWISE)
]


@pytest.mark.few(8, 60)
@pytest.mark.parametrize("mutant", STATELESS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_backend_gets_the_same_records(mutant: type[mutants.Mutant], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it does to the memory of its neighbours in the batch.

    Guards are the same in each run of this test: one byte that is written to a guard is what stands there already once
    in 256 times, and then another rule names the failure.
    """
    monkeypatch.setattr(poison, "_STREAM", Cipher(algorithms.AES(bytes([1]) * 32), modes.CTR(bytes(16))).encryptor())

    class Batching(mutant, abstract=True):  # type: ignore[misc, valid-type]
        def execute(self, *arguments: Any) -> None:
            super().execute(*arguments)

        def execute_batch(self, executions: Sequence[Execution]) -> None:
            for execution in executions:
                self.execute(*execution)

    cases = sweep(160, names=mutant.operators())
    assert BatchJudge(Judge(Batching(), "")).in_batches
    for repeat in (1, 2):
        # What it leaves of the memory as it was, is random: the values that are shown as wrong differ.
        assert found(judged(Batching(), cases, repeat=repeat)) == found(judged(mutant(), cases, repeat=repeat))


def test_a_campaign_sweeps_in_batches() -> None:
    budget = Budget("small", search=1, sweep=30, large_bytes=MIB, large_device_bytes=MIB, repeats=1)
    found = []
    for backend in (InBatches(), ReferenceBackend()):
        records = list(records_left(Engine(Judge(backend, ""), ["TILE"], [LEVEL], budget, 0)))
        found.append([(record.phase, record.case, record.verdict, record.rule) for record in records])
        if isinstance(backend, InBatches):
            assert sum(backend.batches) > 5
            assert len(backend.alone) > 20  # what came before the sweep
    assert found[0] == found[1]
    assert [phase for phase, *_ in found[0]].count(Phase.SWEEP) == 30


# --- who takes batches ------------------------------------------------------------------------------------------------


def test_who_takes_batches() -> None:
    class Overrides(InBatches):
        def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
            """Does nothing, and so its batches, which work, must not speak for it."""

    class OverridesBoth(Overrides):
        def execute_batch(self, executions: Sequence[Execution]) -> None:
            """Does nothing either."""

    class ChangesWhatItClaims(InBatches):
        def validate(self, desc: Any, level: Level) -> Answer:
            return super().validate(desc, level)

    assert not takes_batches(ReferenceBackend())
    assert takes_batches(InBatches())
    assert takes_batches(TorchBackend("cpu"))
    assert takes_batches(ChangesWhatItClaims())
    assert takes_batches(OverridesBoth())
    assert not takes_batches(Overrides())
    assert {record.verdict for record in judged(Overrides(), FEW)} == {Verdict.FAIL}


def test_a_backend_without_batches_is_judged_one_by_one_and_others_if_that_is_asked_for() -> None:
    backend, taken = ScriptedBackend(), []
    records = BatchJudge(Judge(backend, "", repeat=1)).records(watched(taken), Phase.SWEEP)
    assert next(records).verdict is Verdict.PASS
    assert (len(taken), backend.asked.count("execute")) == (1, 1)
    able = InBatches()
    assert {record.verdict for record in judged(able, FEW, one_by_one=True)} == {Verdict.PASS}
    assert (able.batches, len(able.alone)) == ([], len(FEW))


# --- several executions -----------------------------------------------------------------------------------------------


class Repeated(InBatches):
    """Wrong on one case in the second batch that has it."""

    def __init__(self, guilty: Any) -> None:
        super().__init__()
        self.guilty = guilty
        self.before: list[bytes] = []

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        first = executions[0]
        size = first.desc.output_tensor.element_count  # bytes of UINT8, without what fills them up to four
        self.before.append(first.outputs["output_tensor"].view[:size].tobytes())
        super().execute_batch(executions)
        if len(self.before) == 2:
            for execution in executions:
                if execution.desc == self.guilty:
                    execution.outputs["output_tensor"].view[0] ^= 1


def test_a_batch_is_executed_with_other_poison_each_time() -> None:
    backend = Repeated(None)
    assert {record.verdict for record in judged(backend, FEW, repeat=3)} == {Verdict.PASS}
    assert backend.batches == [8, 8, 8]
    assert all(a != b for one, other in pairwise(backend.before) for a, b in zip(one, other, strict=True))


def test_what_goes_wrong_in_a_later_execution_of_a_batch() -> None:
    records = judged(Repeated(FEW[3].desc), FEW, repeat=2)
    assert [record.verdict for record in records] == [Verdict.PASS] * 3 + [Verdict.FAIL] + [Verdict.PASS] * 4
    words = "elements differ, in execution 2 on the same inputs; it passed before; alone: pass"
    assert records[3].reason.startswith("in a batch: OutputTensor: 1 of ")
    assert records[3].reason.endswith(words)


@pytest.mark.parametrize("repeat", [1, 2])
def test_an_open_element_that_a_batch_leaves_unwritten(repeat: int) -> None:
    """Seen where the element is the poison's each time; an input with every value of a byte hides it from one."""

    class Leaves(InBatches):
        def do(self, execution: Execution) -> None:
            execution.outputs["output_tensor"].view[0] = 3

    everything, two = TensorDesc.of(DataType.UINT8, (256,)), TensorDesc.of(DataType.UINT8, (2,))
    desc = GatherDesc(everything, TensorDesc.of(DataType.UINT32, (2,)), two, 0, 1)
    recipes = {"input_tensor": Recipe("ramp", 0), "indices_tensor": Recipe("explicit", values=(3, 1000))}
    case = Case.of(desc, LEVEL, recipes, rule="GATHER.out-of-range-indices")
    (record,) = judged(Leaves(), [case], repeat=repeat)
    assert record.verdict is (Verdict.PASS if repeat == 1 else Verdict.FAIL)
    assert ("not written" in record.reason) == (repeat == 2)
    # What no input holds is wrong at once.
    (record,) = judged(Invents(), [gather(4, 0)], repeat=repeat)
    assert record.differences[0].expected == "any element of the input"


class Invents(InBatches):
    def do(self, execution: Execution) -> None:
        super().do(execution)
        execution.outputs["output_tensor"].view[:4] = 0xEE


# --- how cases are put together ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most", "cases", "batches", "alone"),
    [
        ({"MOST_CASES": 3}, FEW, [3, 3, 2], 0),
        ({"MOST_BYTES": 64}, [tile(8)] * 6, [2, 2, 2], 0),  # of 8 and 16 bytes
        ({"MOST_CASE_BYTES": 24}, [tile(8), tile(9), tile(1)], [2], 1),
    ],
)
def test_a_batch_has_so_many_cases_and_bytes_at_most(
    most: dict[str, int], cases: list[Case], batches: list[int], alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large case is executed alone. No more cases are taken than a batch has."""
    for name, count in most.items():
        monkeypatch.setattr(batch_module, name, count)
    backend = InBatches()
    assert [record.case for record in judged(backend, cases)] == [case.digest for case in cases]
    assert (backend.batches, len(backend.alone)) == (batches, alone)
    taken: list[Case] = []
    next(BatchJudge(Judge(backend, "")).records(watched(taken), Phase.SWEEP))
    assert len(taken) == most.get("MOST_CASES", len(FEW))


def test_only_what_is_to_be_executed_is_in_a_batch() -> None:
    backend = InBatches()
    decided = [Case.of(desc, LEVEL) for desc in (FEW[0].desc, msgspec.structs.replace(FEW[0].desc, repeats=(0,)))]
    no_data = msgspec.structs.replace(FEW[1], data={"input_tensor": Recipe("unheard-of")})
    records = judged(backend, [decided[0], FEW[0], no_data, FEW[1], decided[1]])
    assert [record.verdict for record in records] == [Verdict.PASS, Verdict.PASS, Verdict.ERROR, *[Verdict.PASS] * 2]
    assert backend.batches == [2]
    assert judged(backend, []) == []


def test_the_memory_of_a_batch() -> None:
    """One resource; each tensor aligned, between guard bytes of its own, outputs poisoned, inputs as they should be."""

    class Looks(InBatches):
        """Computes nothing."""

        def execute_batch(self, executions: Sequence[Execution]) -> None:
            super().execute_batch(executions)
            bound = [{**execution.inputs, **execution.outputs} for execution in executions]
            (memory,) = {id(each.buffer): each.buffer for bindings in bound for each in bindings.values()}.values()
            free = np.ones(len(memory), bool)
            for execution, bindings, case in zip(executions, bound, cases, strict=True):
                for key, binding in bindings.items():
                    tensor: TensorDesc = getattr(execution.desc, key)
                    alignment = max(16, tensor.guaranteed_base_offset_alignment)
                    assert binding.offset % (2 * alignment) == alignment
                    assert binding.size % 4 == 0
                    assert binding.size >= tensor.total_tensor_size_in_bytes
                    around = slice(binding.offset - GUARD_BYTES, binding.offset + binding.size + GUARD_BYTES)
                    assert 0 <= around.start < around.stop <= len(memory)
                    assert free[around].all()
                    free[around] = False
                for key, content in materialize(case).items():
                    assert bindings[key].view.tobytes() == content.tobytes()

        def do(self, execution: Execution) -> None:
            """Nothing."""

    # A packed output of another data type, one with padding inside and behind, and one whose size is odd.
    padded = TileDesc(
        TensorDesc.of(DataType.UINT16, (2,)),
        msgspec.structs.replace(TensorDesc.of(DataType.UINT16, (4,), (2,)), total_tensor_size_in_bytes=21),
        (2,),
    )
    cases = [
        tile(1),
        tile(3, guaranteed_base_offset_alignment=4096),
        tile(5, DataType.INT64),
        Case.of(padded, LEVEL, RAMP, rule="EXECUTION.strides"),
        gather(1, 2),
    ]
    for record, case in zip(judged(Looks(), cases), cases, strict=True):
        assert (record.verdict, record.rule) == (Verdict.FAIL, f"{case.operator}.values")
        assert record.difference_count == case.desc.output_tensor.element_count  # type: ignore[attr-defined]


# --- blame ------------------------------------------------------------------------------------------------------------


class Reaches(InBatches):
    """For one descriptor writes a byte at a distance from its output's start, where there is such a byte."""

    def __init__(self, desc: Any, distance: int, *, also_alone: bool = True) -> None:
        super().__init__()
        self._guilty, self._distance, self._also_alone = desc, distance, also_alone

    def execute(self, desc: Any, level: Level, inputs: Any, outputs: Any) -> None:
        ReferenceBackend.execute(self, desc, level, inputs, outputs)
        if self._also_alone:
            self.reach(desc, outputs["output_tensor"])

    def execute_batch(self, executions: Sequence[Execution]) -> None:
        self.batches.append(len(executions))
        for execution in executions:
            ReferenceBackend.execute(self, *execution)
        for execution in executions:
            self.reach(execution.desc, execution.outputs["output_tensor"])

    def reach(self, desc: Any, output: Any) -> None:
        place = output.offset + self._distance
        if desc is self._guilty and 0 <= place < len(output.buffer):
            output.buffer[place] ^= 0xFF


def fails(records: Sequence[Record]) -> dict[int, Record]:
    return {n: record for n, record in enumerate(records) if record.verdict in NOT_CONFORMANT}


def test_a_neighbour_is_not_blamed() -> None:
    """The output is packed between two others; both a wrong value of its own and one in another's output."""

    class ReachesFar(Reaches):
        def reach(self, desc: Any, output: Any) -> None:
            super().reach(desc, output)
            if desc is self._guilty and len(output.buffer) > 4 * STEP:
                output.buffer[output.offset + 2 * STEP] ^= 0xFF  # the next case's output

    backend = ReachesFar(FEW[3].desc, 0)
    records = judged(backend, FEW)
    assert list(fails(records)) == [3]
    assert untimed(records) == untimed(judged(backend, FEW, one_by_one=True))
    assert backend.batches == [8, 7]


OUTSIDE = "OutputTensor: bytes changed outside the tensor, at [{}] from its start"
READ_ONLY = ("EXECUTION.inputs-unchanged", "in a batch: InputTensor: the input's memory was written")


@pytest.mark.parametrize(
    ("distance", "also_alone", "victim", "rule", "reason"),
    [
        *(
            (n, True, 3, "EXECUTION.output-bounds", OUTSIDE.format(n))
            for n in (-1, -GUARD_BYTES, 8, 8 + GUARD_BYTES - 1)
        ),
        (0, False, 3, "TILE.values", "in a batch: OutputTensor: 1 of 8 elements differ; alone: pass"),
        # What lies between two tensors is the second one's but for the guard.
        (8 + GUARD_BYTES, False, 4, *READ_ONLY),
        (STEP, False, 4, *READ_ONLY),
        (2 * STEP, False, 4, "TILE.values", "in a batch: OutputTensor: 1 of 10 elements differ; alone: pass"),
        (-STEP, False, 3, *READ_ONLY),
    ],
)
def test_what_goes_wrong_in_a_batch_is_told(
    distance: int, also_alone: bool, victim: int, rule: str, reason: str
) -> None:
    records = judged(Reaches(FEW[3].desc, distance, also_alone=also_alone), FEW)
    ((n, record),) = fails(records).items()
    assert (n, record.verdict, record.rule) == (victim, Verdict.FAIL, rule)
    assert record.reason.startswith(reason)


def test_padding_may_be_written_in_a_batch() -> None:
    output = msgspec.structs.replace(TensorDesc.of(DataType.UINT8, (4,)), total_tensor_size_in_bytes=9)
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (2,)), output, (2,))
    cases = [FEW[0], Case.of(desc, LEVEL, RAMP, rule="TILE.values", placement=ODD), FEW[1]]
    for distance, count in ((4, 0), (8, 0), (9, 1), (12, 1)):
        backend = Reaches(desc, distance)
        assert len(fails(judged(backend, cases))) == count
        assert backend.batches == [3, 2][: 1 + count]


# --- failures of whole batches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most", "error", "cases", "batches", "alone"),
    [
        (3, MemoryError(), FEW, [8, 4, 2, 2, 4, 2, 2], 0),
        (3, OutOfMemory(), FEW, [8, 4, 2, 2, 4, 2, 2], 0),
        (0, OutOfMemory(), FEW[:2], [2, 1, 1], 2),  # what does not fit even alone is executed as alone it is
        (2, OutOfMemory(), [tile(8)] * 10, [4, 2, 2, 2, 2, 2], 0),  # after a split batches are smaller
        (0, Unsupported("not today"), FEW, [8], 8),
    ],
)
def test_out_of_memory_splits_the_batch(
    most: int, error: Exception, cases: list[Case], batches: list[int], alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(cases) == 10:
        monkeypatch.setattr(batch_module, "MOST_BYTES", 96)
        monkeypatch.setattr(batch_module, "MOST_CASE_BYTES", 24)
    backend = FewAtOnce(most, error)
    assert {record.verdict for record in judged(backend, cases)} == {Verdict.PASS}
    assert (backend.batches, len(backend.alone)) == (batches, alone)


def test_a_split_batch_s_memory_is_let_go_of() -> None:
    """An exception holds on to the frames that it went through, and those to the memory that was too much."""
    held: list[weakref.ref[Any]] = []

    class Device(np.ndarray[Any, Any]):
        """Memory whose life can be watched."""

    class Small(InBatches):
        def execute_batch(self, executions: Sequence[Execution]) -> None:
            assert [memory() for memory in held] == [None] * len(held)
            memory = np.zeros(8, np.uint8).view(Device)
            held.append(weakref.ref(memory))
            if len(executions) > 2:
                raise OutOfMemory
            super().execute_batch(executions)

    assert {record.verdict for record in judged(Small(), FEW)} == {Verdict.PASS}
    assert len(held) == 7


def test_torch_s_out_of_memory_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB\nmore of this")

    monkeypatch.setattr(torch_batch, "_move", limited)
    with pytest.raises(OutOfMemory, match=r"^CUDA out of memory\. Tried to allocate 2\.00 GiB$"):
        TorchBackend("cpu").execute_batch(executions_of(FEW))


def test_a_case_that_raises_is_blamed_alone() -> None:
    class Raises(InBatches):
        def do(self, execution: Execution) -> None:
            super().do(execution)
            if execution.desc is FEW[5].desc:
                raise ZeroDivisionError("oops")

    class RaisesInABatch(InBatches):
        def execute_batch(self, executions: Sequence[Execution]) -> None:
            super().execute_batch(executions)
            if any(execution.desc is FEW[5].desc for execution in executions):
                raise ZeroDivisionError("oops")

    words = "execute_batch raised ZeroDivisionError: oops, at .*, on a batch of"
    for backend, guilty, reason in (
        (Raises(), 5, "execute raised ZeroDivisionError: oops, at .*"),
        (RaisesInABatch(), 5, f"{words} this case; alone: pass"),
        # Where no case does by itself, it is the first.
        (FewAtOnce(1, ZeroDivisionError("oops")), 0, f"{words} 8 cases from this one on; alone: pass"),
    ):
        ((n, record),) = fails(judged(backend, FEW)).items()
        assert (n, record.verdict) == (guilty, Verdict.CRASH)
        assert re.fullmatch(reason, record.reason)


# --- torch ------------------------------------------------------------------------------------------------------------


def executions_of(cases: Sequence[Case]) -> list[Execution]:
    """Cases in one resource, the outputs zero."""
    layouts: list[Layout] = []
    for case in cases:
        layouts.append(Layout.of(case.desc, ODD, after=layouts[-1].end if layouts else 0))
    memory = np.zeros(layouts[-1].end + 1, np.uint8)  # no multiple of any element's size
    executions = []
    for case, layout in zip(cases, layouts, strict=True):
        bindings = layout.bindings(memory)
        output = bindings.pop("output_tensor")
        output.view[:] = 0
        for attribute, content in materialize(case).items():
            bindings[attribute].view[:] = content
        executions.append(Execution(case.desc, case.level, bindings, {"output_tensor": output}))
    return executions


def memory_of(executions: Sequence[Execution]) -> bytes:
    return executions[0].outputs["output_tensor"].buffer.tobytes()


@pytest.fixture(scope="module")
def executed() -> list[Case]:
    return [case for case in sweep(900, seed=5) if case.data and case.outcome == "ACCEPT"]


@pytest.mark.parametrize("most", [0, 16, 10**6])
@pytest.mark.parametrize("together", [64, 10**6])
def test_torch_moves_the_same_bytes_in_a_batch(
    executed: list[Case], monkeypatch: pytest.MonkeyPatch, most: int, together: int
) -> None:
    """Each by itself, some together, all together; in groups of few elements and of many."""
    monkeypatch.setattr(torch_batch, "MOST_ELEMENTS", {"cpu": most})
    monkeypatch.setattr(torch_batch, "MOST_TOGETHER", together)
    backend = TorchBackend("cpu")
    at_once, one_by_one = executions_of(executed), executions_of(executed)
    before = memory_of(at_once)
    backend.execute_batch(at_once)
    for execution in one_by_one:
        backend.execute(*execution)
    assert memory_of(at_once) == memory_of(one_by_one) != before


def test_torch_executes_operators_that_it_has_no_way_to_move_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_batch, "_WALKS", {"GATHER": torch_batch._WALKS["GATHER"]})
    assert {record.verdict for record in judged(TorchBackend("cpu"), [*FEW, gather(1, 2)])} == {Verdict.PASS}


@pytest.mark.parametrize("index_type", [DataType.INT32, DataType.INT64, DataType.UINT32, DataType.UINT64])
def test_torch_takes_indices_in_a_batch_as_alone(index_type: DataType) -> None:
    """What is out of range too: any element will do, but it is the same one."""
    size = index_type.size
    values = [0, 1, 2, 3, 4, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4, 2**32 - 5]
    values += [2**32, 2**33 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 4, 2**64 - 5] if size == 8 else []
    index = TensorDesc.of(index_type, (len(values),))
    desc = GatherDesc(TensorDesc.of(DataType.UINT8, (4,)), index, TensorDesc.of(DataType.UINT8, (len(values),)), 0, 1)
    case = Case.of(desc, LEVEL, {"input_tensor": Recipe("ramp", 7), "indices_tensor": Recipe("in-range")})
    results = []
    for run in (lambda b, e: b.execute_batch([e]), lambda b, e: b.execute(*e)):
        (execution,) = executions_of([case])
        execution.inputs["indices_tensor"].view[:] = (
            np.array(values, np.uint64).astype(UNSIGNED_OF_SIZE[size]).view(np.uint8)
        )
        run(TorchBackend("cpu"), execution)
        results.append(execution.outputs["output_tensor"].view[: len(values)].tolist())
    assert results[0] == results[1]
    assert results[0][:4] == [7, 8, 9, 10]
    assert set(results[0]) <= {7, 8, 9, 10}
    if index_type.is_signed_integer and size == 4:
        assert results[0][7:9] == [10, 7]  # -1 and -4


def test_torch_on_a_device_leaves_the_same(executed: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """The way to a device, with the host for one; one copy goes there, with the tables, and one back, without them."""
    copies: list[int] = []
    copy, empty = torch.Tensor.copy_, torch.empty

    def counted(target: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        copies.extend([source.numel()] if non_blocking else [])
        return copy(target, source, non_blocking)

    monkeypatch.setattr(torch.Tensor, "copy_", counted)
    monkeypatch.setattr(torch, "empty", lambda *sizes, pin_memory=False, **more: empty(*sizes, **more))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Mock())
    at_once, one_by_one = executions_of(executed), executions_of(executed)
    resource, groups = at_once[0].outputs["output_tensor"].buffer, torch_batch._groups(at_once)
    with torch.inference_mode():
        torch_batch._run_on(torch.device("cpu"), resource, groups, [], lambda *_: lambda: None)
    for execution in one_by_one:
        TorchBackend("cpu").execute(*execution)
    assert memory_of(at_once) == memory_of(one_by_one)
    there, back = copies
    assert back == len(resource) <= there - sum(group.table.nbytes for group in groups)


def test_torch_takes_an_empty_batch_and_no_read_only_one() -> None:
    backend, executions = TorchBackend("cpu"), executions_of(FEW)
    backend.execute_batch([])
    executions[0].outputs["output_tensor"].buffer.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        backend.execute_batch(executions)
