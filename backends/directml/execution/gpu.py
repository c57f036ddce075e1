"""A Direct3D 12 device made ready for DirectML: a queue to run on, memory to run in, and a way to wait for the end."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from dml_conformance.backends.directml import headers
from dml_conformance.backends.directml.com import POINTER, ComError, HResult
from dml_conformance.backends.directml.execution.interfaces import Interface
from dml_conformance.backends.directml.execution.structures import (
    CommandQueueDesc,
    DescriptorHeapDesc,
    HeapProperties,
    MemoryRange,
    QueryHeapDesc,
    ResourceBarrier,
    ResourceDesc,
    SampleDesc,
    TransitionBarrier,
)
from dml_conformance.backends.directml.headers import BarrierType, CommandListType, HeapType, ResourceState

WARM_UP = 3
LEAST_STAGING = 1 << 20  # bytes
MOST_STAGING_KEPT = 1 << 26
LEAST_DESCRIPTORS = 256
TICKS = ctypes.c_uint64  # what a timestamp query writes


class DeviceRemoved(RuntimeError):
    """The device is of no use any more; the message says why, as far as it is known."""


class DeviceOutOfMemory(RuntimeError):
    """The device has no memory left for what was asked."""


def buffer_desc(size: int, flags: int = 0) -> ctypes.Structure:
    """D3D12_RESOURCE_DESC of a buffer of so many bytes."""
    return ResourceDesc(
        Dimension=headers.RESOURCE_DIMENSION_BUFFER,
        Width=size,
        Height=1,
        DepthOrArraySize=1,
        MipLevels=1,
        SampleDesc=SampleDesc(1, 0),
        Layout=headers.TEXTURE_LAYOUT_ROW_MAJOR,
        Flags=flags,
    )


class Staging:
    """A buffer that both sides can reach, mapped for as long as it lives."""

    def __init__(self, resource: Interface, size: int, reads: bool) -> None:
        """Takes the resource over. `reads` says whether the CPU reads from it, or else writes to it."""
        self.resource = resource
        self.size = size
        self._reads = reads
        mapped = POINTER()
        try:
            resource.Map(0, _range(reads), ctypes.byref(mapped))
        except ComError:
            resource.close()
            raise
        assert mapped.value is not None
        self.address = mapped.value

    def close(self) -> None:
        self.resource.Unmap(0, _range(not self._reads))
        self.resource.close()


def _range(all_of_it: bool) -> object:
    """D3D12_RANGE of what is read or written: all is a null pointer, nothing an empty range."""
    return None if all_of_it else ctypes.byref(MemoryRange(0, 0))


class Descriptors:
    """A heap of descriptors that shaders see."""

    def __init__(self, heap: Interface, count: int, increment: int) -> None:
        self.heap = heap
        self.count = count
        self.increment = increment
        self.cpu_start: int = heap.GetCPUDescriptorHandleForHeapStart().ptr
        self.gpu_start: int = heap.GetGPUDescriptorHandleForHeapStart().ptr

    def close(self) -> None:
        self.heap.close()


class Timestamps:
    """Points in time on the device's own clock, two for each work that is timed."""

    def __init__(self, heap: Interface, target: Staging, count: int, frequency: int) -> None:
        self._heap = heap
        self._target = target
        self._count = count
        self._frequency = frequency

    def record(self, commands: Interface, work: Callable[[Interface], None]) -> None:
        """Record work to warm up, then between two points in time each until there are no more, then to keep those."""
        heap, kind = self._heap.pointer, headers.QUERY_TYPE_TIMESTAMP
        for _ in range(WARM_UP):
            work(commands)
        for n in range(0, self._count, 2):
            commands.EndQuery(heap, kind, n)
            work(commands)
            commands.EndQuery(heap, kind, n + 1)
        commands.ResolveQueryData(heap, kind, 0, self._count, self._target.resource.pointer, 0)

    def seconds(self) -> list[float]:
        """How long each work between two points in time took."""
        ticks = (TICKS * self._count).from_address(self._target.address)
        return [(end - start) / self._frequency for start, end in zip(ticks[::2], ticks[1::2], strict=True)]


class Gpu:
    """A device with one queue, on which one list of commands runs at a time.

    Args:
        device: its own from now on.
        dml: DirectML's device on it; likewise.

    Raises:
        ComError: it does not have what is needed.
    """

    def __init__(self, device: Interface, dml: Interface) -> None:
        self.device = device
        self.dml = dml
        # Not every device has a queue for graphics; DirectML needs none.
        kind = CommandListType.COMPUTE
        queue_desc = ctypes.byref(CommandQueueDesc(Type=kind))
        with ExitStack() as held:
            enter = held.enter_context
            self._queue = enter(device.create(headers.ID3D12_COMMAND_QUEUE, "CreateCommandQueue", queue_desc))
            self._allocator = enter(device.create(headers.ID3D12_COMMAND_ALLOCATOR, "CreateCommandAllocator", kind))
            of_list = (0, kind, self._allocator.pointer, None)
            self._list = enter(device.create(headers.ID3D12_GRAPHICS_COMMAND_LIST, "CreateCommandList", *of_list))
            self._list.Close()  # it is created open
            self._fence = enter(device.create(headers.ID3D12_FENCE, "CreateFence", 0, headers.FENCE_FLAG_NONE))
            self.recorder = enter(dml.create(headers.IDML_COMMAND_RECORDER, "CreateCommandRecorder"))
            self._held = held.pop_all()
        self._fence_value = 0
        self._lists = (POINTER * 1)(self._list.pointer)
        self._increment = device.GetDescriptorHandleIncrementSize(headers.DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV)
        self._staging: dict[HeapType, Staging] = {}
        self._descriptors: Descriptors | None = None

    # --- memory ---------------------------------------------------------------------------------------------------

    def buffer(self, size: int, heap: HeapType = HeapType.DEFAULT) -> Interface:
        """A buffer of its own; one of the default heap may be written to by shaders.

        Args:
            size: bytes, at least 1.

        Raises:
            DeviceOutOfMemory: there is no room for it.
            ComError: it cannot be created for another reason.
        """
        state = {
            HeapType.DEFAULT: ResourceState.COMMON,
            HeapType.UPLOAD: ResourceState.GENERIC_READ,
            HeapType.READBACK: ResourceState.COPY_DEST,
        }[heap]
        flags = headers.RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS if heap is HeapType.DEFAULT else 0
        properties = ctypes.byref(HeapProperties(Type=heap, CreationNodeMask=1, VisibleNodeMask=1))
        desc = ctypes.byref(buffer_desc(size, flags))
        described = (properties, 0, desc, state, None)
        try:
            return self.device.create(headers.ID3D12_RESOURCE, "CreateCommittedResource", *described)
        except ComError as error:
            if error.code == HResult.E_OUTOFMEMORY.signed:
                raise DeviceOutOfMemory(f"the device has no memory for a buffer of {size} bytes") from None
            raise

    def staging(self, heap: HeapType, size: int) -> Staging:
        """The buffer between the two sides, of at least so many bytes; good until the next call for the same heap."""
        current = self._staging.get(heap)
        if current is None or current.size < size:
            if current is not None:
                self._staging.pop(heap).close()
            size = max(LEAST_STAGING, 1 << (size - 1).bit_length())
            current = self._staging[heap] = Staging(self.buffer(size, heap), size, reads=heap is HeapType.READBACK)
        return current

    def descriptors(self, count: int) -> Descriptors:
        """A heap of at least so many descriptors; good until the next call."""
        if self._descriptors is None or self._descriptors.count < count:
            if self._descriptors is not None:
                self._descriptors.close()
                self._descriptors = None
            count = max(LEAST_DESCRIPTORS, 1 << (count - 1).bit_length())
            desc = DescriptorHeapDesc(
                Type=headers.DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
                NumDescriptors=count,
                Flags=headers.DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
            )
            heap = self.device.create(headers.ID3D12_DESCRIPTOR_HEAP, "CreateDescriptorHeap", ctypes.byref(desc))
            self._descriptors = Descriptors(heap, count, self._increment)
        return self._descriptors

    def trim(self) -> None:
        """Give back what an unusually large case needed."""
        for heap, staging in list(self._staging.items()):
            if staging.size > MOST_STAGING_KEPT:
                del self._staging[heap]
                staging.close()

    @contextmanager
    def timestamps(self, repeats: int) -> Iterator[Timestamps]:
        """Room for the points in time of so many repeats; they are read before the end of `with`."""
        count = 2 * repeats
        frequency = ctypes.c_uint64()
        self._queue.GetTimestampFrequency(ctypes.byref(frequency))
        size = ctypes.sizeof(TICKS) * count
        desc = ctypes.byref(QueryHeapDesc(Type=headers.QUERY_HEAP_TYPE_TIMESTAMP, Count=count))
        target = Staging(self.buffer(size, HeapType.READBACK), size, reads=True)
        try:
            with self.device.create(headers.ID3D12_QUERY_HEAP, "CreateQueryHeap", desc) as heap:
                yield Timestamps(heap, target, count, frequency.value)
        finally:
            target.close()

    # --- work -----------------------------------------------------------------------------------------------------

    @contextmanager
    def recording(self) -> Iterator[Interface]:
        """The list of commands, open; at the end of `with` it runs, and is waited for.

        Raises:
            DeviceRemoved: the device was lost, before or by what was recorded.
            ComError: the commands cannot be run.
        """
        self._allocator.Reset()
        self._list.Reset(self._allocator.pointer, None)
        try:
            yield self._list
        except BaseException:
            self._list.Close()  # it must be closed to be opened again
            raise
        try:
            self._list.Close()
            self._queue.ExecuteCommandLists(1, self._lists)
            self._fence_value += 1
            self._queue.Signal(self._fence.pointer, self._fence_value)
            self._fence.SetEventOnCompletion(self._fence_value, None)  # without an event it waits itself
        except ComError:
            self.check_alive()
            raise
        self.check_alive()

    def check_alive(self) -> None:
        """Raise if the device is gone.

        Raises:
            DeviceRemoved: it is.
        """
        for device in (self.device, self.dml):
            try:
                device.GetDeviceRemovedReason()
            except ComError as error:
                raise DeviceRemoved(f"the device was removed: {error}") from None

    def close(self) -> None:
        """Release everything; the object is of no use afterwards."""
        for staging in self._staging.values():
            staging.close()
        self._staging.clear()
        if self._descriptors is not None:
            self._descriptors.close()
            self._descriptors = None
        self._held.close()
        self.dml.close()
        self.device.close()


def transition(resource: Interface, before: ResourceState, after: ResourceState) -> ctypes.Structure:
    """From one use of a resource to another."""
    subresource = headers.ALL_SUBRESOURCES
    return ResourceBarrier(BarrierType.TRANSITION, 0, TransitionBarrier(resource.pointer, subresource, before, after))


def all_writes_done() -> ctypes.Structure:
    """Between shaders, of which the later read what the earlier have written."""
    return ResourceBarrier(BarrierType.UAV)


def barrier(commands: Interface, barriers: list[ctypes.Structure]) -> None:
    """Record barriers, unless there are none."""
    if barriers:
        commands.ResourceBarrier(len(barriers), (ResourceBarrier * len(barriers))(*barriers))
