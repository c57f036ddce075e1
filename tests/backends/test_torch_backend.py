"""The torch backend against the slow reference and against the validator, on generated descriptors and data."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import slow_reference as slow
from five_operators import GatherDesc, GatherNd1Desc, TileDesc
from generated_cases import NAMES, Case, Generator, broken, check_execution

from dml_conformance.backends.base import Binding, Capabilities, Execution, OutOfMemory, Timed, TimedCold, Unsupported
from dml_conformance.spec.datatypes import ALL, FLOATS, DataType, TensorType
from dml_conformance.spec.descriptor import OperatorDesc, descriptor_classes, fields_of, slots
from dml_conformance.spec.descriptor import inputs as inputs_of
from dml_conformance.spec.levels import Level
from dml_conformance.spec.operator_facts import FieldFacts, OperatorFacts, TableFacts, TableSource, operator_facts
from dml_conformance.spec.operator_facts import Role as FactsRole
from dml_conformance.spec.structures import DML_ELEMENT_WISE_ADD_OPERATOR_DESC
from dml_conformance.spec.tensor import TensorDesc, packed_strides
from dml_conformance.spec.validator import Outcome, decide

torch = pytest.importorskip("torch")

from triton_interpreter import HAS_CUDA, NEEDS_TRITON  # noqa: E402

from dml_conformance.backends import torch as torch_module  # noqa: E402
from dml_conformance.backends.torch import TorchBackend, TorchEagerBackend, TorchKernelsBackend  # noqa: E402
from dml_conformance.backends.torch import operators as torch_rows  # noqa: E402
from dml_conformance.backends.torch.memory import HostResources, fill  # noqa: E402
from dml_conformance.backends.torch.operators import PlanError, Tensors, TorchOperator, torch_operators  # noqa: E402
from dml_conformance.backends.torch.operators import convolution as convolution_module  # noqa: E402
from dml_conformance.backends.torch.operators._indexing import in_range  # noqa: E402
from dml_conformance.backends.torch.operators._numbers import narrow, widen  # noqa: E402
from dml_conformance.backends.torch.operators._products import factor, product  # noqa: E402

CUDA = pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device here")])
BACKENDS: dict[str, Callable[[str], Any]] = {
    "torch": TorchBackend,
    "torch-eager": TorchEagerBackend,
    "torch-kernels": TorchKernelsBackend,
}
WAYS = [
    "torch:cpu",
    pytest.param("torch-kernels:cpu", marks=[NEEDS_TRITON, pytest.mark.skipif(HAS_CUDA, reason="Triton is for CUDA")]),
    *(pytest.param(f"{name}:cuda", marks=CUDA.marks) for name in BACKENDS),
]


@pytest.fixture(scope="module", params=WAYS)
def backend(request: pytest.FixtureRequest) -> Any:
    family, _, device = request.param.partition(":")
    return BACKENDS[family](device)


def cases(name: str, count: int, **how: Any) -> Iterator[tuple[Generator, Case]]:
    """Generated cases, each with what made it."""
    for n in range(count):
        generator = Generator(f"{name} {n}")
        yield generator, generator.case(name, **how)


def run_and_check(backend: Any, case: Case) -> int:
    """Returns how many elements were left open; what has no kernel is left out where there is to be nothing else."""
    try:
        return check_execution(backend, case)
    except Unsupported:
        assert isinstance(backend, TorchKernelsBackend)
        return 0


# --- execution --------------------------------------------------------------------------------------------------------


@pytest.mark.few(8)
@pytest.mark.parametrize("name", NAMES)
def test_bytes_agree_with_the_slow_reference(backend: TorchBackend, name: str) -> None:
    for _, case in cases(name, 100, indices="any-sign"):
        assert backend.validate(case.desc, case.level).accepted, case.desc
        run_and_check(backend, case)


@pytest.mark.parametrize("name", NAMES[:4])
def test_indices_out_of_range_read_the_inputs_memory_and_nothing_breaks(backend: TorchBackend, name: str) -> None:
    assert sum(run_and_check(backend, case) for _, case in cases(name, 120, indices="wild")) > 100
    (_, case) = next(cases(name, 1, indices="any-sign"))
    run_and_check(backend, case)  # on CUDA: the context is alive


def resource(values: Any) -> Binding:
    """Values as a whole resource."""
    raw = np.ascontiguousarray(values).view(np.uint8)
    padded = np.concatenate([raw, np.zeros(-len(raw) % 4, np.uint8)])
    return Binding(padded, 0, len(padded))


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_in_range_knows_the_signs_of_the_index_types(device: str) -> None:
    def ranged(values: list[int], dtype: Any, size: int) -> list[int]:
        bits = torch.from_numpy(np.array(values, dtype))
        found: list[int] = in_range(bits.to(device), size).tolist()
        return found

    for dtype in (np.int32, np.int64):
        assert ranged([0, 6, -1, -7], dtype, 7) == [0, 6, 6, 0]
        extremes = ranged([7, -8, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype, 7)
        assert all(0 <= index < 7 for index in extremes)
    assert ranged([0, 2**31, 2**32 - 2], np.uint32, 2**32 - 1) == [0, 2**31, 2**32 - 2]
    assert ranged([-(2**31)], np.int32, 2**32 - 1) == [2**31 - 1]
    assert ranged([2**32 - 1, 2**31], np.uint32, 7) == [6, 6]
    assert ranged([0, 2**32 - 2], np.uint64, 2**32 - 1) == [0, 2**32 - 2]
    assert ranged([2**64 - 1, 2**63], np.uint64, 7) == [0, 0]


def test_an_input_may_share_its_resource_with_the_output(backend: TorchBackend) -> None:
    tensor = TensorDesc.of(DataType.UINT32, (4,))
    desc = GatherDesc(tensor, tensor, tensor, 0, 1)
    buffer = np.zeros(64, np.uint8)
    buffer[0:16].view(np.uint32)[:] = [3, 2, 1, 0]
    buffer[16:32].view(np.uint32)[:] = [10, 11, 12, 13]
    inputs = {"input_tensor": Binding(buffer, 16, 16), "indices_tensor": Binding(buffer, 0, 16)}
    backend.execute(desc, Level.L3_0, inputs, {"output_tensor": Binding(buffer, 32, 16)})
    assert buffer.view(np.uint32).tolist() == [3, 2, 1, 0, 10, 11, 12, 13, 13, 12, 11, 10, 0, 0, 0, 0]


def test_read_only_memory_is_read_and_never_written(backend: TorchBackend) -> None:
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (8,)), (2,))
    fixed = np.arange(4, dtype=np.uint8)
    fixed.flags.writeable = False
    output = np.zeros(8, np.uint8)
    backend.execute(desc, Level.L3_1, {"input_tensor": Binding(fixed, 0, 4)}, {"output_tensor": Binding(output, 0, 8)})
    assert output.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    output.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        backend.execute(
            desc, Level.L3_1, {"input_tensor": Binding(fixed, 0, 4)}, {"output_tensor": Binding(output, 0, 8)}
        )


def test_an_input_that_nobody_else_may_write_is_read_where_it_lies() -> None:
    memory = np.arange(8, dtype=np.uint8)
    resource = memory[:4]
    resource.flags.writeable = False
    tensor = TensorDesc.of(DataType.UINT8, (4,))
    seen = HostResources([]).view(Binding(resource, 0, 4), tensor, torch.uint8)
    memory[0] = 9
    assert seen.tolist() == [9, 1, 2, 3]
    assert not resource.flags.writeable


def test_work_whose_output_lies_in_an_input_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_rows, "MOST_IN_A_PART", 2)
    tensor = TensorDesc.of(DataType.UINT32, (6,))
    desc = DML_ELEMENT_WISE_ADD_OPERATOR_DESC(tensor, tensor, tensor)
    buffer = np.arange(1, 9, dtype=np.uint32)
    memory = buffer.view(np.uint8)
    inputs = dict.fromkeys(("a_tensor", "b_tensor"), Binding(memory, 0, 24))
    TorchBackend("cpu").execute(desc, Level.L6_4, inputs, {"output_tensor": Binding(memory, 4, 24)})
    assert buffer.tolist() == [1, 2, 4, 6, 8, 10, 12, 8]


def twice(time: Callable[..., list[float]], runs: int) -> list[float]:
    """Time four bytes tiled to eight, which are there then."""
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (4,)), TensorDesc.of(DataType.UINT8, (8,)), (2,))
    inputs, output = {"input_tensor": resource(np.arange(4, dtype=np.uint8))}, resource(np.zeros(8, np.uint8))
    seconds = time(desc, Level.L3_1, inputs, {"output_tensor": output}, runs)
    assert output.buffer.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    return seconds


def test_timing_gives_one_figure_a_run_and_the_output(backend: TorchBackend) -> None:
    assert isinstance(backend, Timed)
    for seconds in (twice(backend.time_execution, 5), backend.time_copy(4096, 5)):
        assert len(seconds) == 5
        assert all(second > 0 for second in seconds)


def test_caches_are_emptied_on_a_device_alone(backend: TorchBackend) -> None:
    assert isinstance(backend, TimedCold)
    if "cuda" in backend.capabilities().versions:
        assert len(twice(backend.time_execution_cold, 5)) == 5
        assert len(backend.time_copy_cold(4096, 3)) == 3
        return
    with pytest.raises(Unsupported, match="caches of a CPU"):
        twice(backend.time_execution_cold, 5)
    with pytest.raises(Unsupported, match="caches of a CPU"):
        backend.time_copy_cold(1, 1)


# --- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("huge", [False, True], ids=["small", "huge"])
@pytest.mark.parametrize("name", NAMES)
def test_decisions_are_the_validators(name: str, huge: bool) -> None:
    backend = TorchBackend("cpu")
    seen = dict.fromkeys(Outcome, 0)
    open_but_accepted = 0
    for generator, valid in cases(name, 250):
        variants = [(valid.desc, at) for at in generator.random.sample(list(Level), 2)]
        variants += [(broken(generator.random, valid.desc, huge=huge), valid.level) for _ in range(4)]
        for desc, at in variants:
            outcome = decide(desc, at).outcome
            answer = backend.validate(desc, at)
            seen[outcome] += 1
            assert bool(answer.reason) is not answer.accepted
            if outcome is not Outcome.UNSPECIFIED:
                assert answer.accepted == (outcome is Outcome.ACCEPT), f"{answer} {decide(desc, at)} {desc} at {at}"
            elif answer.accepted and not huge:
                open_but_accepted += execute_blindly(backend, desc, at)
    assert seen[Outcome.ACCEPT] > 100
    assert seen[Outcome.REJECT] > 300
    assert huge or name == "TILE" or open_but_accepted > 0  # of TILE, next to nothing is left open


def execute_blindly(backend: TorchBackend, desc: Any, level: Level) -> bool:
    """Run what the specification leaves open: any values will do, as long as nothing breaks."""
    tensors = {slot.key: slot.tensor for slot in slots(desc)}
    if max(max(t.total_tensor_size_in_bytes, t.guaranteed_base_offset_alignment) for t in tensors.values()) > 2**16:
        return False
    bound = {key: slow.bind(tensor, bytes(range(251)), offset=2**16) for key, tensor in tensors.items()}
    output = bound.pop("output_tensor")
    backend.execute(desc, level, bound, {"output_tensor": output})
    return True


def test_each_kind_of_refusal_says_what_is_wrong() -> None:
    backend = TorchBackend("cpu")
    tensor = TensorDesc.of(DataType.FLOAT32, (2, 3))
    wide = TensorDesc.of(DataType.FLOAT32, (2, 6))
    valid = TileDesc(tensor, wide, (1, 2))
    replace = msgspec.structs.replace
    broken: dict[str, OperatorDesc] = {
        "OutputTensor is missing": replace(valid, output_tensor=None),
        "InputTensor is of type": replace(valid, input_tensor=replace(tensor, type=TensorType.INVALID)),
        "InputTensor has flags 0x2": replace(valid, input_tensor=replace(tensor, flags=2)),
        "OutputTensor is OWNED_BY_DML": replace(valid, output_tensor=replace(wide, flags=1)),
        "InputTensor has data type": replace(valid, input_tensor=replace(tensor, data_type=DataType.FLOAT64)),
        "OutputTensor is FLOAT32, InputTensor is FLOAT16": replace(
            valid, input_tensor=replace(tensor, data_type=DataType.FLOAT16)
        ),
        "InputTensor has 9 dimensions": replace(valid, input_tensor=TensorDesc.of(DataType.FLOAT32, (1,) * 9)),
        "OutputTensor has 2 dimensions, InputTensor has 3 dimensions": replace(
            valid, input_tensor=TensorDesc.of(DataType.FLOAT32, (1, 2, 3))
        ),
        "InputTensor has a size of 0": replace(valid, input_tensor=replace(tensor, sizes=(2, 0))),
        "InputTensor has 4294967296 elements": replace(valid, input_tensor=replace(tensor, sizes=(2**16, 2**16))),
        "InputTensor has strides": replace(valid, input_tensor=replace(tensor, strides=(1,))),
        "OutputTensor has several elements in one place": replace(valid, output_tensor=replace(wide, strides=(0, 1))),
        "InputTensor needs 24 bytes": replace(valid, input_tensor=replace(tensor, total_tensor_size_in_bytes=23)),
        "InputTensor has alignment 2": replace(valid, input_tensor=replace(tensor, guaranteed_base_offset_alignment=2)),
        "RepeatsCount is 1": replace(valid, repeats=(2,)),
        "Repeats is (0, 2)": replace(valid, repeats=(0, 2)),
        "TILE gives sizes (4, 6), OutputTensor has (2, 6)": replace(valid, repeats=(2, 2)),
    }
    assert backend.validate(valid, Level.L3_1).accepted
    for reason, desc in broken.items():
        answer = backend.validate(desc, Level.L3_1)
        assert not answer.accepted
        assert answer.reason.startswith(reason)
    assert "at level 2_0" in backend.validate(Generator("").case("GATHER_ND").desc, Level.L2_0).reason


def test_bytes_needed_are_what_torch_would_allocate() -> None:
    backend = TorchBackend("cpu")
    for name in NAMES:
        for _, (desc, level, _) in cases(name, 20):
            tensor: TensorDesc = desc.input_tensor
            dtype = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.data_type.size]
            strides = tensor.strides or packed_strides(tensor.sizes)
            storage = torch.empty_strided(tensor.sizes, strides, dtype=dtype, device="meta").untyped_storage()
            least = -(-storage.nbytes() // 4) * 4
            for total, fits in ((least, True), (least - 1, False)):
                changed = msgspec.structs.replace(tensor, total_tensor_size_in_bytes=total)
                answer = backend.validate(msgspec.structs.replace(desc, input_tensor=changed), level)
                assert answer.accepted is fits, (answer, changed)


def test_sizes_beyond_what_torch_can_address_are_decided_all_the_same() -> None:
    backend = TorchBackend("cpu")
    needed = (2**30 * (2**32 - 1) + 1) * 4
    spread = TensorDesc(DataType.FLOAT32, (2**30 + 1,), (2**32 - 1,), needed)
    packed = TensorDesc.of(DataType.FLOAT32, (2**30 + 1,))
    assert needed > 2**63
    assert backend.validate(TileDesc(spread, packed, (1,)), Level.L4_1).accepted
    short = msgspec.structs.replace(spread, total_tensor_size_in_bytes=needed - 4)
    assert not backend.validate(TileDesc(short, packed, (1,)), Level.L4_1).accepted
    most = 2**32 - 1
    wide = TensorDesc.of(DataType.UINT8, (most,))
    assert backend.validate(TileDesc(wide, wide, (1,)), Level.L4_1).accepted
    assert not backend.validate(TileDesc(wide, wide, (most,)), Level.L4_1).accepted, "more than torch can count"


def test_batches_that_leave_no_tuple_are_refused() -> None:
    source, indices = TensorDesc.of(DataType.UINT8, (2, 1, 5)), TensorDesc.of(DataType.UINT32, (1, 2, 1))
    desc = GatherNd1Desc(source, indices, TensorDesc.of(DataType.UINT8, (1, 1, 2)), 3, 2, 2)
    assert "2 batch dimensions" in TorchBackend("cpu").validate(desc, Level.L4_1).reason
    right = msgspec.structs.replace(
        desc, batch_dimension_count=1, output_tensor=TensorDesc.of(DataType.UINT8, (1, 2, 5))
    )
    assert TorchBackend("cpu").validate(right, Level.L4_1).accepted


class UnknownDesc(OperatorDesc, frozen=True):
    operator = "SLICE_OF_BREAD"


def test_an_operator_it_does_not_have_is_unsupported() -> None:
    backend = TorchBackend("cpu")
    with pytest.raises(Unsupported, match="SLICE_OF_BREAD"):
        backend.validate(UnknownDesc(), Level.L6_4)
    with pytest.raises(Unsupported, match="SLICE_OF_BREAD"):
        backend.execute(UnknownDesc(), Level.L6_4, {}, {})


# --- what an operator can have ----------------------------------------------------------------------------------------


TENSOR = "const DML_TENSOR_DESC *"
FACTS = OperatorFacts(
    "DML_TOTALS_OPERATOR_DESC",
    value=0x7FFFFFFF,
    introduced_in="2_0",
    table_source=TableSource.INFERRED,
    fields=(
        FieldFacts("InputCount", FactsRole.ATTRIBUTE, "UINT"),
        FieldFacts("InputTensors", FactsRole.INPUTS),
        FieldFacts("LimitsTensor", FactsRole.INPUT, TENSOR, True),
        FieldFacts("OutputTensor", FactsRole.OUTPUT),
        FieldFacts("GreatestTensor", FactsRole.OUTPUT, TENSOR, True),
        FieldFacts("Mode", FactsRole.ATTRIBUTE, "DML_PADDING_MODE"),
    ),
    tables=(
        TableFacts("2_0", {"InputTensors OutputTensor": ("1-2", "FLOATS"), "LimitsTensor GreatestTensor": ("1", "")}),
        TableFacts("3_0", {"InputTensors OutputTensor": ("1-8", "FLOATS INT8")}),
    ),
)


class TotalsDesc(OperatorDesc, frozen=True):
    """An operator for tests: OutputTensor is the sum of InputTensors, GreatestTensor the greatest of LimitsTensor."""

    operator = "TOTALS"
    type_value = FACTS.value
    fields = fields_of(FACTS)

    input_tensors: tuple[TensorDesc | None, ...]
    limits_tensor: TensorDesc | None
    output_tensor: TensorDesc | None
    greatest_tensor: TensorDesc | None
    mode: int = 0


def totals(desc: Any, tensors: Tensors) -> Tensors:
    limits = tensors.get("limits_tensor")
    parts = [tensors[slot.key] for slot in inputs_of(desc) if slot.field.attribute == "input_tensors"]
    if any(part.shape != parts[0].shape for part in parts):
        raise PlanError("InputTensors differ in size")
    found = {"output_tensor": sum(parts[1:], parts[0])}
    if limits is not None:
        found["greatest_tensor"] = narrow(widen(limits).amax(0, keepdim=True), limits.dtype)
    return found


TOTALS = TorchOperator(
    totals,
    agree=(("input_tensors", "output_tensor"), ("limits_tensor", "greatest_tensor")),
    numbers=frozenset({"input_tensors", "limits_tensor"}),
    ranks=(("input_tensors", "output_tensor"),),
)


@pytest.fixture
def with_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(operator_facts(), "TOTALS", FACTS)
    monkeypatch.setitem(torch_operators(), "TOTALS", TOTALS)


F32, U64 = DataType.FLOAT32, DataType.UINT64
PAIR, ONE, LIMITS = TensorDesc.of(F32, (2, 1)), TensorDesc.of(U64, (1,)), TensorDesc.of(U64, (3,))
COLUMNS = TensorDesc.of(F32, (2, 1), (3, 1))
WHOLE = TotalsDesc((PAIR, COLUMNS), LIMITS, COLUMNS, ONE)
BARE = TotalsDesc((PAIR,), None, PAIR, None)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("at_once", [False, True], ids=["alone", "in a batch"])
def test_tensors_come_and_go_by_slot_key(with_totals: None, device: str, at_once: bool) -> None:
    """Two outputs, an array of inputs, floats and unsigned integers as numbers, strides, and an optional tensor."""
    backend = TorchBackend(device)
    memory = np.zeros(1024, np.uint8)
    memory[:8].view(np.float32)[:] = [1.5, -2]
    memory[64:80].view(np.float32)[:] = [0.25, 99, 99, 4]
    memory[128:152].view(np.uint64)[:] = [5, 2**64 - 1, 2**63]
    held = memory[:192].copy()
    bound = {key: Binding(memory, 64 * n, 24) for n, key in enumerate(("input_tensors[0]", "input_tensors[1]"))}
    bound["limits_tensor"] = Binding(memory, 128, 24)
    whole = {"output_tensor": Binding(memory, 256, 16), "greatest_tensor": Binding(memory, 320, 8)}
    bare = {"output_tensor": Binding(memory, 384, 8)}
    executions = [
        Execution(WHOLE, Level.L2_0, bound, whole),
        Execution(BARE, Level.L2_0, {"input_tensors[0]": bound["input_tensors[0]"]}, bare),
    ]
    assert all(backend.validate(execution.desc, Level.L2_0).accepted for execution in executions)
    if at_once:
        backend.execute_batch(executions)
    else:
        for execution in executions:
            backend.execute(*execution)
    assert memory[256:272].view(np.float32).tolist() == [1.75, 0, 0, 2]
    assert memory[320:328].view(np.uint64).tolist() == [2**64 - 1]
    assert memory[384:392].view(np.float32).tolist() == [1.5, -2]
    assert np.array_equal(memory[:192], held)


def test_what_the_facts_and_the_row_say_is_decided(with_totals: None) -> None:
    backend, replace = TorchBackend("cpu"), msgspec.structs.replace
    half = TensorDesc.of(DataType.FLOAT16, (2, 1))
    refused = {
        "InputTensors is missing": replace(WHOLE, input_tensors=()),
        "InputTensors[1] is missing": replace(WHOLE, input_tensors=(PAIR, None)),
        "OutputTensor is missing": replace(WHOLE, output_tensor=None),
        "InputTensors[1] is FLOAT16, InputTensors[0] is FLOAT32": replace(WHOLE, input_tensors=(PAIR, half)),
        "GreatestTensor is INT32, LimitsTensor is UINT64": replace(
            WHOLE, greatest_tensor=TensorDesc.of(DataType.INT32, (1,))
        ),
        "InputTensors[0] has data type": replace(BARE, input_tensors=(LIMITS,)),
        "InputTensors[0] has 3 dimensions, which": replace(BARE, input_tensors=(TensorDesc.of(F32, (1, 2, 1)),)),
        "OutputTensor has 1 dimensions, InputTensors[0] has 2": replace(BARE, output_tensor=TensorDesc.of(F32, (2,))),
        "LimitsTensor has 2 dimensions, which": replace(WHOLE, limits_tensor=TensorDesc.of(U64, (3, 1))),
        "LimitsTensor has data type": replace(WHOLE, limits_tensor=replace(ONE, data_type=DataType.UNKNOWN)),
        "Mode is SYMMETRIC, which level 2_0": replace(WHOLE, mode=3),
        "Mode is 77, which level 2_0": replace(WHOLE, mode=77),
        "InputTensors differ in size": replace(WHOLE, input_tensors=(PAIR, TensorDesc.of(F32, (1, 1)))),
        "TOTALS gives sizes (1,), GreatestTensor has (3,)": replace(WHOLE, greatest_tensor=LIMITS),
        "TOTALS gives no GreatestTensor": replace(WHOLE, limits_tensor=None),
    }
    for reason, desc in refused.items():
        answer = backend.validate(desc, Level.L2_0)
        assert not answer.accepted
        assert answer.reason.startswith(reason)
    assert backend.validate(replace(WHOLE, mode=3), Level.L3_0).accepted
    assert backend.validate(WHOLE, Level.L1_0).reason == "TOTALS does not exist at level 1_0"
    whole_bytes = TensorDesc.of(DataType.INT8, (4,))
    assert backend.validate(replace(BARE, input_tensors=(whole_bytes,), output_tensor=whole_bytes), Level.L3_0).accepted


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_an_operator_without_inputs_makes_its_output_on_the_device(
    monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    def sevens(desc: Any, tensors: Tensors) -> Tensors:
        assert not tensors
        return {"output_tensor": torch.full(desc.output_tensor.sizes, 7, dtype=torch.int32)}

    monkeypatch.setitem(torch_operators(), "FILL_VALUE_CONSTANT", TorchOperator(sevens))
    backend, output = TorchBackend(device), resource(np.zeros(4, np.uint32))
    tensor = TensorDesc.of(DataType.UINT32, (1, 1, 2, 2))
    desc = descriptor_classes()["FILL_VALUE_CONSTANT"](tensor, DataType.UINT32, 7)  # type: ignore[call-arg]
    assert backend.validate(desc, Level.L3_0).accepted
    backend.execute(desc, Level.L3_0, {}, {"output_tensor": output})
    assert output.buffer.view(np.uint32).tolist() == [7] * 4


def test_a_result_of_another_width_is_no_output() -> None:
    target = torch.zeros(2, 3, dtype=torch.int32)
    fill(target, torch.full((2, 3), 1.0))
    assert target.tolist() == [[0x3F800000] * 3] * 2
    for wrong in (torch.zeros(2, 3, dtype=torch.int64), torch.zeros(3, dtype=torch.int32)):
        with pytest.raises(ValueError, match=r"an operator gives torch.int.* for 4 bytes each of"):
            fill(target, wrong)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("data_type", sorted(ALL - FLOATS - {DataType.FLOAT64}), ids=lambda data_type: data_type.name)
def test_widened_integers_keep_their_order_and_come_back(data_type: DataType, device: str) -> None:
    assert data_type.limits is not None
    least, most = data_type.limits
    values = sorted({least, least + 1, 0, 1, most // 2, most // 2 + 1, most - 1, most})
    numbers = torch.from_numpy(np.array(values, data_type.name.lower())).to(device)
    wide = widen(numbers)
    assert wide.dtype is torch.int64
    assert wide.tolist() == (values if data_type is not DataType.UINT64 else [value - 2**63 for value in values])
    assert narrow(wide, numbers.dtype).cpu().numpy().tolist() == values


# --- what it says of itself -------------------------------------------------------------------------------------------


def test_capabilities(backend: TorchBackend) -> None:
    capabilities = backend.capabilities()
    assert isinstance(capabilities, Capabilities)
    family, _, device = capabilities.name.partition(":")
    assert family in BACKENDS
    assert device in ("cpu", "cuda:0")
    assert capabilities.device
    assert capabilities.versions["torch"] == torch.__version__
    assert capabilities.levels == tuple(Level)
    with_kernel = {name for name, operator in torch_operators().items() if operator.plan is not None}
    assert with_kernel == {*NAMES, "CONVOLUTION", "MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"}
    assert set(capabilities.operators) == (with_kernel if family == "torch-kernels" else set(torch_operators()))
    assert capabilities.executes


def test_without_a_name_the_device_is_cuda_where_there_is_one() -> None:
    assert TorchBackend().capabilities().name == ("torch:cuda:0" if HAS_CUDA else "torch:cpu")


@pytest.mark.parametrize("name", ["tpu", "cpu:1", "cuda:x", "cuda:", "CUDA", "cuda:-1"])
def test_a_device_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="use cpu, cuda, or cuda and a number"):
        TorchBackend(name)


def test_a_cuda_device_that_is_not_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("cuda", "cuda:0"):
        with pytest.raises(ValueError, match=r"no device '.*use torch:cpu, or install"):
            TorchBackend(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="no device 'cuda:2'; use one of cpu, cuda:0, cuda:1"):
        TorchBackend("cuda:2")


def test_the_first_use_of_a_backend_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _, case in cases("GATHER_ND1", 5):
            run_and_check(TorchBackend("cpu"), case)


def test_decisions_do_without_torchs_compiler() -> None:
    """It takes 0.6 s and 100 MiB of each process to load; torch does at some functions of meta tensors."""
    code = """
import sys
from dml_conformance.backends.torch.decisions import decide
from dml_conformance.backends.torch.operators import torch_operators
from dml_conformance.spec.levels import HIGHEST
from dml_conformance.strategies.scale import Reach, scale_cases

for name in torch_operators():
    for case in scale_cases(name, HIGHEST, Reach.BITS_16):
        decide(case.desc, HIGHEST)
    assert "torch._dynamo" not in sys.modules, name
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- what is too large for a device -----------------------------------------------------------------------------------


def test_a_device_without_room_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes judge on it too; where there is none for long, it is told as the protocol has it."""
    desc = TileDesc(TensorDesc.of(DataType.UINT8, (1,)), TensorDesc.of(DataType.UINT8, (2,)), (2,))
    runs: list[int] = []
    held: list[weakref.ref[torch.Tensor]] = []

    def full(*_: object) -> None:
        runs.append(1)
        if len(runs) < 3:
            taken = torch.zeros(1)
            held.append(weakref.ref(taken))
            raise torch.OutOfMemoryError("no room")

    def give_back() -> None:
        assert held.pop()() is None, "a traceback holds what there was room for"

    monkeypatch.setattr(torch.cuda, "empty_cache", give_back)
    monkeypatch.setattr(TorchBackend, "_run_now", full)
    monkeypatch.setattr(torch_module, "sleep", lambda seconds: None)
    backend = TorchBackend("cpu")
    backend.execute(desc, Level.L6_4, {}, {})
    assert (len(runs), held) == (3, [])
    runs.clear()
    monkeypatch.setattr(torch_module, "MOST_WAITING", -1.0)
    with pytest.raises(OutOfMemory, match="no room"):
        backend.execute(desc, Level.L6_4, {}, {})
    assert (len(runs), held) == (1, [])


@pytest.mark.parametrize("is_much", [False, True], ids=["little", "much"])
@pytest.mark.parametrize(
    ("is_large", "is_in_place", "most_holding", "tried"),
    [
        (True, False, 2.0, ["bring", *["work", "give back, 1 there"] * 2]),
        (True, False, -1.0, ["bring", "work", "give back, 1 there", "give back, 0 there"] * 2 + ["bring"]),
        (True, True, 2.0, ["bring", "work", "give back, 0 there"] * 2 + ["bring"]),
        (False, False, 2.0, ["bring", "work", "give back, 0 there"] * 2 + ["bring"]),
    ],
    ids=["where they are", "anew after long", "anew in place", "anew as they are small"],
)
def test_work_is_tried_again_where_the_device_has_no_room(
    is_large: bool,
    is_in_place: bool,
    most_holding: float,
    tried: list[str],
    is_much: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The device's copies stay for a while, unless work may have written what it reads. Nothing holds them longer, and
    what much work took is given back before results are brought back; whatever a case took, a process keeps little."""
    tensor = TensorDesc.of(DataType.UINT8, (8,))
    source = np.arange(8, dtype=np.uint8)
    target = source if is_in_place else np.zeros_like(source)
    done: list[str] = []
    there: weakref.WeakSet[Any] = weakref.WeakSet()

    class Copies:
        """The device's copies, on the CPU."""

        def __init__(self, *_: object) -> None:
            done.append("bring")
            there.add(self)

        def view(self, binding: Binding, *_: object) -> torch.Tensor:
            return torch.from_numpy(binding.buffer)

        def write_back(self, _: object) -> None:
            done.append("bring back")

    def prepared(desc: OperatorDesc, resources: Copies, *_: object) -> Callable[[], None]:
        def work() -> None:
            assert resources in there
            done.append("work")
            if done.count("work") < 3:
                raise torch.OutOfMemoryError("no room")

        return work

    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: done.append(f"give back, {len(there)} there"))
    monkeypatch.setattr(torch_module, "sleep", lambda seconds: None)
    monkeypatch.setattr(torch_module, "LARGE_CASE", 15 if is_large else 16)
    monkeypatch.setattr(torch_module, "MOST_KEPT", 100)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 101 if is_much else 100)
    monkeypatch.setattr(torch_module, "MOST_HOLDING", most_holding)
    monkeypatch.setattr(torch_module, "DeviceResources", Copies)
    backend = TorchBackend("cpu")
    monkeypatch.setattr(backend, "_on_cuda", True)
    monkeypatch.setattr(backend, "_prepare", prepared)
    gc.disable()
    try:
        backend.execute(
            TileDesc(tensor, tensor, (1,)),
            Level.L6_4,
            {"input_tensor": Binding(source, 0, 8)},
            {"output_tensor": Binding(target, 0, 8)},
        )
    finally:
        gc.enable()
    after_work = ["give back, 1 there"] if is_large else []
    assert done == [*tried, "work", *after_work, "bring back", *(["give back, 0 there"] if is_much else [])]


@pytest.fixture
def imprecise() -> Iterator[None]:
    """A process that has asked for speed in place of precision, in all ways that there are."""
    of_products = torch.backends.cuda.matmul
    ways: list[tuple[Any, str]] = [
        *((of_products, f"allow_fp16_{what}") for what in ("reduced_precision_reduction", "accumulation")),
        *((of, "allow_tf32") for of in (of_products, torch.backends.cudnn)),
    ]
    ways = [(of, name) for of, name in ways if hasattr(of, name)]
    before = torch.get_float32_matmul_precision(), [getattr(of, name) for of, name in ways]
    torch.set_float32_matmul_precision("medium")
    for of, name in ways:
        setattr(of, name, True)
    yield
    torch.set_float32_matmul_precision(before[0])
    for (of, name), value in zip(ways, before[1], strict=True):
        setattr(of, name, value)


@pytest.mark.usefixtures("imprecise")
@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_products_are_in_full_precision_whatever_the_process_asked_for(device: str) -> None:
    TorchBackend(device)
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32
    of_products = torch.backends.cuda.matmul
    assert not any(getattr(of_products, name, False) for name in ("allow_tf32", "allow_fp16_accumulation"))
    assert not of_products.allow_fp16_reduced_precision_reduction
    nearly_one = torch.full((64, 64), 1 + 2.0**-23, device=device)  # TF32 has 10 bits behind the point
    assert (product(nearly_one, torch.eye(64, device=device)) == nearly_one).all()


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("count", [1, 2, 7, 64, 1000, 4096])
def test_sums_of_products_of_float16_are_of_float32(device: str, count: int) -> None:
    TorchBackend(device)  # reduced precision is off from here on
    generator = torch.Generator().manual_seed(count)
    a = torch.randn((1, 3, 40, count), generator=generator) * 2.0 ** torch.randint(
        -20, 12, (count,), generator=generator
    )
    b = torch.randn((2, 1, 24, count), generator=generator)
    a, b = a.half(), b.half()
    a[..., :2] = torch.finfo(torch.float16).max
    b[..., :2] = torch.tensor([1.0, -1.0]).half()[:count]  # which leaves the sums of the others
    b[0, 0, 0, 0] = float("inf")
    found = product(factor(a.to(device)), factor(b.to(device).mT)).cpu().double()
    exact, sizes = (torch.matmul(x.double(), y.double().mT) for x, y in ((a, b), (a.abs(), b.abs())))
    assert found.shape == (2, 3, 40, 24)
    assert torch.equal(found[0, :, :, 0], exact[0, :, :, 0])  # infinite
    exact[0, :, :, 0] = found[0, :, :, 0] = sizes[0, :, :, 0] = 0
    assert (abs(found - exact) <= count * 2.0**-24 * sizes).all()


def test_a_product_of_many_columns_is_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution_module, "MOST_COLUMNS", 5)
    source = torch.arange(2.0 * 3 * 4 * 7).reshape(2, 3, 4, 7)
    filters = torch.arange(6.0 * 3 * 2 * 2).reshape(6, 3, 2, 2)
    desc = SimpleNamespace(
        group_count=1, strides=(1, 1), dilations=(1, 1), start_padding=(0, 0), end_padding=(0, 0), output_padding=(0, 0)
    )
    found = convolution_module._forward(desc, source, filters, 6)  # type: ignore[arg-type]
    assert torch.equal(found, torch.nn.functional.conv2d(source, filters))
