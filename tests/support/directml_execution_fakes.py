"""Direct3D 12 and DirectML made up of Python objects, which keep account of what they are asked and have real memory.

The operator of this DirectML copies its first input to its output. A tensor that the operator owns is copied to its
persistent memory by the initializer, and from there later.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import POINTER, RESULT, UINT, ComObject, HResult, implements
from dml_conformance.backends.directml.execution.gpu import Gpu
from dml_conformance.backends.directml.execution.interfaces import Interface, StructReturn
from dml_conformance.backends.directml.execution.structures import (
    BindingDesc,
    BindingProperties,
    BindingTableDesc,
    BufferArrayBinding,
    BufferBinding,
    CommandQueueDesc,
    CpuDescriptorHandle,
    DescriptorHeapDesc,
    GpuDescriptorHandle,
    HeapProperties,
    Luid,
    QueryHeapDesc,
    ResourceBarrier,
    ResourceDesc,
)
from dml_conformance.backends.directml.headers import BarrierType, BindingType, CommandListType, HeapType, ResourceState

UINT64 = ctypes.c_uint64
CPU_START, GPU_START, INCREMENT = 0x1000, 0x2000, 32
FREQUENCY, TICKS_A_QUERY = 1000, 25
# The states that Direct3D 12 wants buffers of a heap to be created in.
STATES = {
    HeapType.DEFAULT: ResourceState.COMMON,
    HeapType.UPLOAD: ResourceState.GENERIC_READ,
    HeapType.READBACK: ResourceState.COPY_DEST,
}


class Needs(NamedTuple):
    """DML_BINDING_PROPERTIES."""

    descriptors: int = 3
    temporary: int = 0
    persistent: int = 0


class World:
    """All objects that were made, and all that happened.

    Attributes:
        log: a line for each command when it runs, and for what is bound.
        objects: by address.
        unexpected: calls that are not provided for.
        needs: of operators.
        initializer_needs: of initializers.
        fails: by name of a function, the code that it is to answer.
        removed: what the devices answer when asked whether they are gone.
        astray: whether operators also write to the ends of the resources that they are given.
    """

    def __init__(self, needs: Needs | None = None, initializer_needs: Needs | None = None) -> None:
        self.log: list[str] = []
        self.objects: dict[int, Any] = {}
        self.unexpected: list[str] = []
        self.needs = needs or Needs()
        self.initializer_needs = initializer_needs or Needs(0)
        self.fails: dict[str, HResult] = {}
        self.removed = HResult.S_OK
        self.astray = False
        self.device = FakeDevice(self)
        self.dml = FakeDml(self)
        self.gpu = self.open_gpu()

    def open_gpu(self) -> Gpu:
        how = StructReturn.POINTER
        device, dml = (headers.ID3D12_DEVICE, self.device.address), (headers.IDML_DEVICE, self.dml.address)
        return Gpu(Interface(*device, how), Interface(*dml, how))

    def made(self, kind: type[FakeObject]) -> list[Any]:
        return [made for made in self.objects.values() if isinstance(made, kind)]

    @property
    def alive(self) -> list[str]:
        """Objects to which somebody besides this holds a reference; the devices start with one that is the Gpu's."""
        return [type(made).__name__ for made in self.objects.values() if made.references > made.FREE]


class FakeObject(ComObject):
    FREE: ClassVar = 1  # references of an object that nobody uses

    def __init__(self, world: World, *described: Any) -> None:
        super().__init__(world.unexpected)
        self.world = world
        world.objects[self.address] = self


class FakeResource(FakeObject):
    slots = headers.ID3D12_RESOURCE

    def __init__(self, world: World, heap: HeapType, desc: ctypes.Structure) -> None:
        super().__init__(world)
        self.heap = heap
        self.size: int = desc.Width
        self.flags: int = desc.Flags
        self.memory = ctypes.create_string_buffer(b"\xee" * self.size, self.size)
        self.mapped = 0
        self.name = f"{heap.name.lower()}{len(world.made(FakeResource)) - 1}"

    @implements("Map", RESULT, UINT, POINTER, POINTER)
    def map(self, subresource: int, read: int | None, pointer: int) -> int:
        assert self.heap is not HeapType.DEFAULT
        self.mapped += 1
        POINTER.from_address(pointer).value = ctypes.addressof(self.memory)
        return HResult.S_OK

    @implements("Unmap", None, UINT, POINTER)
    def unmap(self, subresource: int, written: int | None) -> None:
        self.mapped -= 1


class FakeAllocator(FakeObject):
    slots = headers.ID3D12_COMMAND_ALLOCATOR
    is_empty = True

    def __init__(self, world: World, kind: int) -> None:
        super().__init__(world)
        assert kind == CommandListType.COMPUTE

    @implements("Reset", RESULT)
    def reset(self) -> int:
        assert all(fence.is_awaited for fence in self.world.made(FakeFence)), "commands may still run"
        self.is_empty = True
        return HResult.S_OK


class FakeFence(FakeObject):
    slots = headers.ID3D12_FENCE
    value = 0
    is_awaited = True

    @implements("SetEventOnCompletion", RESULT, UINT64, POINTER)
    def set_event_on_completion(self, value: int, event: int | None) -> int:
        assert event is None
        assert value == self.value, "waiting for what was never signalled"
        self.is_awaited = True
        return HResult.S_OK


class FakeQueue(FakeObject):
    slots = headers.ID3D12_COMMAND_QUEUE

    def __init__(self, world: World, desc: int) -> None:
        super().__init__(world)
        assert CommandQueueDesc.from_address(desc).Type == CommandListType.COMPUTE

    @implements("ExecuteCommandLists", None, UINT, POINTER)
    def execute(self, count: int, lists: int) -> None:
        for pointer in (POINTER * count).from_address(lists):
            assert not self.world.objects[pointer].is_open
            self.world.objects[pointer].run()

    @implements("Signal", RESULT, POINTER, UINT64)
    def signal(self, fence: int, value: int) -> int:
        made = self.world.objects[fence]
        assert value > made.value, "the fence has that value already"
        made.value, made.is_awaited = value, False
        return HResult.S_OK

    @implements("GetTimestampFrequency", RESULT, POINTER)
    def frequency(self, pointer: int) -> int:
        UINT64.from_address(pointer).value = FREQUENCY
        return HResult.S_OK


class FakeList(FakeObject):
    slots = headers.ID3D12_GRAPHICS_COMMAND_LIST

    def __init__(self, world: World, node: int, kind: int, *more: int | None) -> None:
        super().__init__(world)
        assert kind == CommandListType.COMPUTE
        self.is_open = True
        self.commands: list[Callable[[], None]] = []

    def run(self) -> None:
        for command in self.commands:
            command()

    def record_command(self, line: str, work: Callable[[], object] = lambda: None) -> None:
        assert self.is_open

        def command() -> None:
            self.world.log.append(line)
            work()

        self.commands.append(command)

    @implements("Close", RESULT)
    def close(self) -> int:
        if not self.is_open:
            return HResult.E_FAIL.signed
        self.is_open = False
        return self.world.fails.get("Close", HResult.S_OK).signed

    @implements("Reset", RESULT, POINTER, POINTER)
    def reset(self, allocator: int, state: int | None) -> int:
        if self.is_open:
            return HResult.E_FAIL.signed
        memory = self.world.objects[allocator]
        assert memory.is_empty, "commands that have run are kept"
        memory.is_empty = False
        self.is_open, self.commands = True, []
        return HResult.S_OK

    @implements("SetDescriptorHeaps", None, UINT, POINTER)
    def set_heaps(self, count: int, heaps: int) -> None:
        assert [self.world.objects[heap] for heap in (POINTER * count).from_address(heaps)]
        self.record_command("heaps")

    @implements("CopyBufferRegion", None, POINTER, UINT64, POINTER, UINT64, UINT64)
    def copy(self, target: int, target_offset: int, source: int, source_offset: int, size: int) -> None:
        to, of = self.world.objects[target], self.world.objects[source]
        assert target_offset + size <= to.size
        assert source_offset + size <= of.size

        def work() -> None:
            start = ctypes.addressof(to.memory) + target_offset
            ctypes.memmove(start, ctypes.addressof(of.memory) + source_offset, size)

        self.record_command(f"copy {of.name}+{source_offset} to {to.name}+{target_offset}, {size}", work)

    @implements("ResourceBarrier", None, UINT, POINTER)
    def barrier(self, count: int, barriers: int) -> None:
        for each in (ResourceBarrier * count).from_address(barriers):
            turn = each.Transition
            if each.Type == BarrierType.UAV:
                self.record_command("barrier")
            else:
                name = self.world.objects[turn.pResource].name
                self.record_command(f"turn {name} {turn.StateBefore:#x} {turn.StateAfter:#x}")

    @implements("EndQuery", None, POINTER, UINT, UINT)
    def end_query(self, heap: int, kind: int, index: int) -> None:
        queries = self.world.objects[heap]
        self.record_command(f"time {index}", lambda: queries.mark(index))

    @implements("ResolveQueryData", None, POINTER, UINT, UINT, UINT, POINTER, UINT64)
    def resolve(self, heap: int, kind: int, start: int, count: int, target: int, offset: int) -> None:
        queries, to = self.world.objects[heap], self.world.objects[target]
        assert to.heap is HeapType.READBACK

        def work() -> None:
            ctypes.memmove(ctypes.addressof(to.memory) + offset, queries.ticks, 8 * count)

        self.record_command(f"times {start}..{start + count}", work)


class FakeDescriptorHeap(FakeObject):
    slots = headers.ID3D12_DESCRIPTOR_HEAP

    def __init__(self, world: World, wanted: int) -> None:
        super().__init__(world)
        desc = DescriptorHeapDesc.from_address(wanted)
        assert desc.Type == headers.DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV
        self.count: int = desc.NumDescriptors
        self.is_visible: bool = desc.Flags == headers.DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE

    @implements("GetCPUDescriptorHandleForHeapStart", POINTER, POINTER)
    def cpu_start(self, pointer: int) -> int:
        CpuDescriptorHandle.from_address(pointer).ptr = CPU_START
        return pointer

    @implements("GetGPUDescriptorHandleForHeapStart", POINTER, POINTER)
    def gpu_start(self, pointer: int) -> int:
        GpuDescriptorHandle.from_address(pointer).ptr = GPU_START
        return pointer


class FakeHeap(FakeObject):
    slots = headers.ID3D12_HEAP


class FakeQueryHeap(FakeObject):
    slots = headers.ID3D12_QUERY_HEAP

    def __init__(self, world: World, desc: int) -> None:
        super().__init__(world)
        self.ticks = (UINT64 * QueryHeapDesc.from_address(desc).Count)()
        self.now = 10**12

    def mark(self, index: int) -> None:
        self.now += TICKS_A_QUERY
        self.ticks[index] = self.now


def creates(function: str, make: Callable[..., FakeObject], *argtypes: Any) -> Any:
    """A method that makes an object of the world and its arguments; the pointer that gets it comes last."""

    @implements(function, RESULT, *argtypes, POINTER, POINTER)
    def create(self: FakeObject, *arguments: Any) -> int:
        if function in self.world.fails:
            return self.world.fails[function].signed
        return make(self.world, *arguments[:-2]).hand_out(arguments[-1])

    return create


def committed(world: World, properties: int, flags: int, desc: int, state: int, clear: int | None) -> FakeResource:
    heap = HeapType(HeapProperties.from_address(properties).Type)
    wanted = ResourceDesc.from_address(desc)
    assert wanted.Width
    assert wanted.Dimension == headers.RESOURCE_DIMENSION_BUFFER
    assert wanted.Layout == headers.TEXTURE_LAYOUT_ROW_MAJOR
    assert state == STATES[heap]
    may_be_written = wanted.Flags == headers.RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
    assert may_be_written == (heap is HeapType.DEFAULT), "that is what shaders may write to"
    return FakeResource(world, heap, wanted)


def placed(world: World, heap: int, offset: int, desc: int, state: int, clear: int | None) -> FakeResource:
    assert isinstance(world.objects[heap], FakeHeap)
    return FakeResource(world, HeapType.DEFAULT, ResourceDesc.from_address(desc))


class FakeDevice(FakeObject):
    slots = headers.ID3D12_DEVICE5
    interfaces = frozenset({headers.ID3D12_DEVICE.iid, headers.ID3D12_DEVICE5.iid})
    FREE = 0

    create_fence = creates("CreateFence", FakeFence, UINT64, UINT)
    create_queue = creates("CreateCommandQueue", FakeQueue, POINTER)
    create_allocator = creates("CreateCommandAllocator", FakeAllocator, UINT)
    create_list = creates("CreateCommandList", FakeList, UINT, UINT, POINTER, POINTER)
    create_descriptor_heap = creates("CreateDescriptorHeap", FakeDescriptorHeap, POINTER)
    create_query_heap = creates("CreateQueryHeap", FakeQueryHeap, POINTER)
    create_heap = creates("CreateHeap", FakeHeap, POINTER)
    create_resource = creates("CreateCommittedResource", committed, POINTER, UINT, POINTER, UINT, POINTER)
    create_placed = creates("CreatePlacedResource", placed, POINTER, UINT64, POINTER, UINT, POINTER)

    @implements("GetDescriptorHandleIncrementSize", UINT, UINT)
    def increment(self, kind: int) -> int:
        return INCREMENT

    @implements("GetDeviceRemovedReason", RESULT)
    def removed_reason(self) -> int:
        return self.world.removed.signed

    @implements("GetAdapterLuid", POINTER, POINTER)
    def luid(self, pointer: int) -> int:
        Luid.from_address(pointer).LowPart = 77
        return pointer


class FakeOperator(FakeObject):
    slots = headers.IDML_OPERATOR


class FakeDispatchable(FakeObject):
    slots = headers.IDML_OPERATOR_INITIALIZER

    def __init__(self, world: World, needs: Needs, name: str) -> None:
        super().__init__(world)
        self.needs = needs
        self.name = name

    @implements("GetBindingProperties", POINTER, POINTER)
    def binding_properties(self, pointer: int) -> int:
        properties = BindingProperties.from_address(pointer)
        properties.RequiredDescriptorCount = self.needs.descriptors
        properties.TemporaryResourceSize = self.needs.temporary
        properties.PersistentResourceSize = self.needs.persistent
        return pointer


class FakeTable(FakeObject):
    slots = headers.IDML_BINDING_TABLE

    def __init__(self, world: World, wanted: int) -> None:
        super().__init__(world)
        desc = BindingTableDesc.from_address(wanted)
        self.dispatchable: FakeDispatchable = world.objects[desc.Dispatchable]
        first, rest = divmod(desc.CPUDescriptorHandle.ptr - CPU_START, INCREMENT)
        assert rest == 0
        assert (desc.GPUDescriptorHandle.ptr - GPU_START) // INCREMENT == first
        self.descriptors = range(first, first + desc.SizeInDescriptors)
        self.bound: dict[str, list[Any]] = {}

    def bind(self, what: str, count: int, descs: int) -> None:
        self.bound[what] = [self.read(desc) for desc in (BindingDesc * count).from_address(descs)]

    def read(self, desc: ctypes.Structure) -> Any:
        if desc.Type == BindingType.NONE:
            return None
        if desc.Type == BindingType.BUFFER:
            return self.read_buffer(BufferBinding.from_address(desc.Desc))
        array = BufferArrayBinding.from_address(desc.Desc)
        return [self.read_buffer(each) for each in (BufferBinding * array.BindingCount).from_address(array.Bindings)]

    def read_buffer(self, binding: ctypes.Structure) -> Any:
        if not binding.Buffer:
            return None
        return self.world.objects[binding.Buffer], binding.Offset, binding.SizeInBytes

    @implements("BindInputs", None, UINT, POINTER)
    def bind_inputs(self, count: int, descs: int) -> None:
        self.bind("inputs", count, descs)

    @implements("BindOutputs", None, UINT, POINTER)
    def bind_outputs(self, count: int, descs: int) -> None:
        self.bind("outputs", count, descs)

    @implements("BindTemporaryResource", None, POINTER)
    def bind_temporary(self, desc: int) -> None:
        self.bind("temporary", 1, desc)

    @implements("BindPersistentResource", None, POINTER)
    def bind_persistent(self, desc: int) -> None:
        self.bind("persistent", 1, desc)


class FakeRecorder(FakeObject):
    slots = headers.IDML_COMMAND_RECORDER

    @implements("RecordDispatch", None, POINTER, POINTER, POINTER)
    def record_dispatch(self, commands: int, dispatchable: int, table: int) -> None:
        what, bindings = self.world.objects[dispatchable], self.world.objects[table]
        assert bindings.dispatchable is what
        bound = bindings.bound
        if what.name == "initialize":
            owned = [each for each in (bound.get("inputs") or [[]])[0] if each is not None]
            self.world.objects[commands].record_command(
                what.name, lambda: [move(bound["outputs"][0], o) for o in owned]
            )
        else:
            self.world.objects[commands].record_command(what.name, lambda: self.operate(bound))

    def operate(self, bound: dict[str, list[Any]]) -> None:
        source, target = bound["inputs"][0] or bound["persistent"][0], bound["outputs"][0]
        move(target, source)
        if self.world.astray:
            source[0].memory[0] = target[0].memory[target[0].size - 1] = b"!"


def move(target: Any, source: Any) -> None:
    """Copy what is bound, as far as there is room."""
    to, to_offset, to_size = target
    of, of_offset, of_size = source
    start = ctypes.addressof(to.memory) + to_offset
    ctypes.memmove(start, ctypes.addressof(of.memory) + of_offset, min(to_size, of_size))


def compiled(world: World, operator: int, flags: int) -> FakeDispatchable:
    assert flags == headers.EXECUTION_FLAG_NONE
    return FakeDispatchable(world, world.needs, "dispatch")


def initializer(world: World, count: int, operators: int) -> FakeDispatchable:
    assert [world.objects[each].name for each in (POINTER * count).from_address(operators)] == ["dispatch"]
    return FakeDispatchable(world, world.initializer_needs, "initialize")


class FakeDml(FakeObject):
    slots = headers.IDML_DEVICE
    interfaces = frozenset({headers.IDML_DEVICE.iid})
    FREE = 0

    create_operator = creates("CreateOperator", FakeOperator, POINTER)
    compile_operator = creates("CompileOperator", compiled, POINTER, UINT)
    create_initializer = creates("CreateOperatorInitializer", initializer, UINT, POINTER)
    create_recorder = creates("CreateCommandRecorder", FakeRecorder)
    create_table = creates("CreateBindingTable", FakeTable, POINTER)

    @implements("GetDeviceRemovedReason", RESULT)
    def removed_reason(self) -> int:
        return self.world.removed.signed
