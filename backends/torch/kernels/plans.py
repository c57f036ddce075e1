"""Which kernel does an operator's work, with which numbers; None where no kernel can, and eager torch has to.

A plan is made once for a descriptor and its tensors, before anything runs: it reads layouts and no values. The output
is packed. An index tensor that is not is packed by torch each time before its kernel runs.

Block sizes are those that were fastest on an NVIDIA H100 or H200, in the cases of `benchmarks/cuda`; nothing but the
time depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from dml_conformance.backends.torch.kernels.layout import (
    Extent,
    packed,
    pointer,
    power_of_2,
    single,
    widest,
    words,
)
from dml_conformance.backends.torch.views import batch_dimensions, head_counts, last_dimensions
from dml_conformance.spec.field_kinds import enumeration
from dml_conformance.spec.structures import (
    DML_CONVOLUTION_OPERATOR_DESC,
    Attention,
    Gather,
    GatherElements,
    GatherNd,
    Tile,
)

MOST = 2**31 - 1  # programs, and places along whatever a kernel counts in 32 bits
MOST_COORDINATES = 4
MOST_OUTER = 3
MOST_SHARED = 64 * 2**10  # bytes; three programs of this size run at a time on a multiprocessor of an H100
SHORT_ROW = 1024  # elements; so few stay in the cache without being put into shared memory
BUSY = 512  # programs, about what an H100 runs at a time
LINE = 64  # bytes, of which a block of columns has as many: two sectors, what a miss in the cache fetches
LEAST_CHANNELS = 32  # of a convolution; fewer leave a kernel's blocks empty, and their columns are small
HEAD_SIZES = (16, 32, 64, 128)  # of attention, that blocks have
PRODUCTS_SHARED = 160 * 2**10  # bytes of shared memory that a program of `products` may need
MODE, DIRECTION = enumeration("DML_CONVOLUTION_MODE"), enumeration("DML_CONVOLUTION_DIRECTION")


class Plan(NamedTuple):
    """A kernel's launch.

    Attributes:
        kernel: its name.
        programs: how many of them.
        tensors: source, others that are packed before each launch if there are any, target.
        numbers: the kernel's other arguments, in its order.
        constants: by name.
        warps: of a program, each of 32 threads.
        module: that has the kernel.
        before: what is launched before it each time; None for nothing.
    """

    kernel: str
    programs: int
    tensors: tuple[Tensor, ...]
    numbers: tuple[float, ...]
    constants: Mapping[str, int]
    warps: int
    module: str = "moves"
    before: Plan | None = None


class RepeatedDimension(NamedTuple):
    """A dimension of `size` places, `step` apart in the input, that the output has `repeat` times."""

    size: int
    step: int
    repeat: int


def gather(desc: Gather, source: Tensor, indices: Tensor, target: Tensor) -> Plan | None:
    """GATHER: a row for each place, or where there are many rows of single units, the same columns of each."""
    axis: int = desc.axis
    sizes, steps = source.shape, source.stride()
    before = single(sizes[:axis], steps[:axis])
    row = packed(sizes[axis + 1 :], steps[axis + 1 :])
    if before is None or row is None:
        return None
    chosen = last_dimensions(indices, desc.index_dimensions, "IndexDimensions", least=0)
    count, length = chosen.numel(), row * source.itemsize
    if before.size > 1 and count <= MOST and length == widest((row, steps[axis], before.step), (source, target)) <= 8:
        return _columns(source, chosen, target, length, before, Extent(sizes[axis], steps[axis]), count)
    return _rows(source, chosen, target, row, before, count, 0, [Extent(sizes[axis], steps[axis])])


def gather_elements(desc: GatherElements, source: Tensor, indices: Tensor, target: Tensor) -> Plan | None:
    """GATHER_ELEMENTS: planes of rows that the axis counts; along the last axis, rows alone."""
    axis: int = desc.axis
    sizes, steps = source.shape, source.stride()
    planes = single(sizes[:axis], steps[:axis])
    after = single(sizes[axis + 1 :], steps[axis + 1 :])
    if planes is None or after is None:
        return None
    height, along = indices.shape[axis], Extent(sizes[axis], steps[axis])
    if after.size == 1:
        return _along_rows(source, indices, target, planes, along, height)
    return _along(source, indices, target, planes.size * height, height, after.size, planes, after, along)


def gather_nd(desc: GatherNd, source: Tensor, indices: Tensor, target: Tensor) -> Plan | None:
    """GATHER_ND and GATHER_ND1: a row for each tuple of coordinates, in batches; single elements of a batch by one
    index are what GATHER_ELEMENTS takes."""
    batch = batch_dimensions(desc)
    source = last_dimensions(source, desc.input_dimension_count, "InputDimensionCount")
    tuples = last_dimensions(indices, desc.indices_dimension_count, "IndicesDimensionCount")
    sizes, steps = source.shape, source.stride()
    addressed = batch + tuples.shape[-1]
    batches = single(sizes[:batch], steps[:batch])
    row = packed(sizes[addressed:], steps[addressed:])
    if batches is None or row is None:
        return None
    each = math.prod(tuples.shape[batch:-1])
    coordinates = [
        Extent(size, step) for size, step in zip(sizes[batch:addressed], steps[batch:addressed], strict=True)
    ]
    if row == 1 and batches.size > 1 and len(coordinates) == 1:
        return _along_rows(source, tuples, target, batches, coordinates[0], each)
    return _rows(source, tuples, target, row, batches, each, each, coordinates)


def tile(desc: Tile, source: Tensor, target: Tensor) -> Plan | None:
    """TILE: rows repeated in a row, and that along up to `MOST_OUTER` more dimensions."""
    dimensions = repeated(source.shape, source.stride(), desc.repeats)
    if dimensions[-1].size > 1 and dimensions[-1].step != 1:
        dimensions.append(RepeatedDimension(1, 1, 1))  # elements that lie apart are rows of their own
    *outer, inner = dimensions
    if len(outer) > MOST_OUTER:
        return None
    unit = widest((inner.size, *(dimension.step for dimension in outer)), (source, target))
    count = unit // source.itemsize
    row = inner.size // count
    width = place = row * inner.repeat
    described: list[tuple[int, int, int, int]] = []  # from the innermost: size, step, repeat, place in the target
    for size, step, repeat in reversed(outer):
        described.append((size, step // count, repeat, place))
        place *= size * repeat
    rows = math.prod(size for size, _, _, _ in described)
    copies = math.prod(repeat for _, _, repeat, _ in described)
    total = 512 if unit == 16 else 4096 if unit < 4 else 1024
    units = min(power_of_2(width), total)
    tile_rows = total // units
    chunks = -(-width // units)
    together = min(power_of_2(copies), 8)
    copy_blocks = -(-copies // together)
    programs = -(-rows // tile_rows) * chunks * copy_blocks
    if programs > MOST or width * words(unit) > MOST - units:
        return None
    described += [(1, 0, 1, 0)] * (MOST_OUTER - len(outer))
    all_sizes, all_steps, all_repeats, all_places = zip(*described, strict=True)
    numbers = (
        *(rows, row, inner.repeat, chunks, copies, copy_blocks),
        *(*all_sizes, *all_steps, *all_repeats[:-1], *all_places),
    )
    constants = {
        "OUTER": len(outer),
        "UNIT": words(unit),
        "ROWS": tile_rows,
        "UNITS": units,
        "COPIES": together,
    }
    tensors = (pointer(source, unit), pointer(target, unit))
    return Plan("tile", programs, tensors, numbers, constants, 4 if unit < 4 else 8)


def convolution(
    desc: DML_CONVOLUTION_OPERATOR_DESC, source: Tensor, filters: Tensor, *bias_and_target: Tensor
) -> Plan | None:
    """CONVOLUTION: forward, of images whose channels are first turned to lie last."""
    *bias, target = bias_and_target
    is_plain = desc.direction != DIRECTION.BACKWARD and desc.group_count == 1 and not any(desc.output_padding)
    if source.dim() != 4 or not is_plain or desc.fused_activation is not None:
        return None
    if not _multiplies(source, (torch.float16, torch.float32)):
        return None
    (batch, channels, height, width), (made, _, *taps) = source.shape, filters.shape
    steps = source.stride()
    pixels = batch * target.shape[2] * target.shape[3]
    if min(channels, made) < LEAST_CHANNELS or packed(source.shape[2:], steps[2:]) is None:
        return None
    if max(pixels, source.numel() // batch, filters.numel()) > MOST:
        return None
    image = source.new_empty(batch, height, width, channels)
    block = 64
    turned = Plan(
        "turn",
        batch * math.ceil(channels / block) * math.ceil(height * width / block),
        (source, image),
        (channels, height * width, steps[0], steps[1]),
        {"ROWS": block, "COLUMNS": block},
        4,
        "products",
    )
    if source.dtype is torch.float32:
        sizes, warps = (64, 128, 32), 4
    else:
        sizes, warps = ((128, 256, 64), 8) if made > 128 else ((128, 128, 64), 4)
    blocks = dict(zip(("PIXELS", "MADE", "CHANNELS"), sizes, strict=True))
    weights = filters.permute(2, 3, 1, 0)
    return Plan(
        "convolve",
        math.ceil(pixels / blocks["PIXELS"]) * math.ceil(made / blocks["MADE"]),
        (image, weights, *(bias or [image]), target.view(source.dtype)),  # of no bias nothing is read
        (
            *(channels, made, pixels, target.shape[2] * target.shape[3], target.shape[3], height, width),
            *(taps[0] * taps[1], taps[1], *desc.strides, *desc.start_padding, *desc.dilations),
        ),
        {
            "BIAS": len(bias),
            "FLIPPED": int(desc.mode == MODE.CONVOLUTION),
            "GROUP": 8,
            "STEPS": taps[0] * taps[1] * math.ceil(channels / blocks["CHANNELS"]),
            **blocks,
        },
        warps,
        "products",
        turned,
    )


def attention(desc: Attention, *tensors: Tensor) -> Plan | None:
    """MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1: of queries, keys and values of FLOAT16 that nothing is added to."""
    if len(tensors) != 4 or desc.query_tensor is None or desc.key_tensor is None or desc.value_tensor is None:
        return None
    query, key, value, target = tensors
    heads, groups = head_counts(desc)
    (batch, queries, row), keys = query.shape[-3:], key.shape[-2]
    if min(heads, groups) < 1 or heads % groups or query.stride(-1) != 1 or not _multiplies(query, (torch.float16,)):
        return None
    size, width = row // heads, value.shape[-1] // groups
    if not {size, width} <= set(HEAD_SIZES):
        return None
    if max(part.numel() // batch for part in tensors) > MOST:
        return None
    block = 128
    return Plan(
        "attend",
        math.ceil(queries / block) * batch * heads,
        (query, key, value, target.view(query.dtype)),
        (desc.scale, queries, keys, heads, groups, query.stride(-3), query.stride(-2)),
        {"SIZE": size, "WIDTH": width, "QUERIES": block, "KEYS": 64, "STEPS": math.ceil(keys / 64)},
        8,
        "products",
    )


def _multiplies(tensor: Tensor, data_types: Sequence[torch.dtype]) -> bool:
    """Whether a kernel of `products` that is for these data types takes a tensor."""
    return tensor.dtype in data_types and (not tensor.is_cuda or _shared_memory(tensor.device) >= PRODUCTS_SHARED)


@cache
def _shared_memory(device: torch.device) -> int:
    """Bytes that a program may have on a device; 0 where torch does not tell."""
    return int(getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0))


def repeated(sizes: Sequence[int], steps: Sequence[int], repeats: Sequence[int]) -> list[RepeatedDimension]:
    """The fewest dimensions, from the outermost, that give the same output; at least one.

    A dimension that is not repeated goes on in the next outer one, as if it was part of it; one of size 1 adds its
    repeats to the next inner one.
    """
    found: list[RepeatedDimension] = []
    for size, step, repeat in zip(sizes, steps, repeats, strict=True):
        last = found[-1] if found else None
        if last is None:
            found.append(RepeatedDimension(size, step, repeat))
        elif last.size == 1:
            found[-1] = RepeatedDimension(size, step, last.repeat * repeat)
        elif repeat == 1 and size == 1:
            continue
        elif repeat == 1 and last.step == size * step:
            found[-1] = RepeatedDimension(last.size * size, step, last.repeat)
        else:
            found.append(RepeatedDimension(size, step, repeat))
    return found


def _rows(
    source: Tensor,
    indices: Tensor,
    target: Tensor,
    row: int,
    batches: Extent,
    each: int,
    index_step: int,
    coordinates: Sequence[Extent],
) -> Plan | None:
    """`moves.take_rows`.

    Args:
        row: elements of a row, which are packed.
        batches: how many, and how many elements apart in the source.
        each: places in a batch.
        index_step: index tuples from one batch to the next; 0 where all use the same.
        coordinates: the dimensions that the indices count, with their steps in elements.
    """
    if len(coordinates) > MOST_COORDINATES:
        return None
    # Of a dimension of size 1 every index means the only place, whatever its step.
    steps = [run.step if run.size > 1 else 0 for run in coordinates]
    unit = widest((row, batches.step, *steps), (source, target))
    count = unit // source.itemsize
    length, places = row // count, batches.size * each
    # Narrow units go one to a thread's access, however many a thread has; wide ones are two accesses a thread.
    total = 256 if unit >= 8 or length == 1 else 1024 if unit == 4 else 2048
    units = min(power_of_2(length), total)
    tile_places = total // units
    chunks = -(-length // units)
    programs = -(-places // tile_places) * chunks
    if programs > MOST or length * words(unit) > MOST - units:
        return None
    unused = MOST_COORDINATES - len(coordinates)
    numbers = (
        *(places, each, index_step, batches.step // count, length, chunks),
        *(*(run.size for run in coordinates), *[1] * unused),
        *(*(step // count for step in steps), *[0] * unused),
    )
    constants = {
        "COORDINATES": len(coordinates),
        "BATCHES": batches.size > 1,
        "UNIT": words(unit),
        "PLACES": tile_places,
        "UNITS": units,
    }
    tensors = (pointer(source, unit), indices, pointer(target, unit))
    return Plan("take_rows", programs, tensors, numbers, constants, 8 if units == 1 else 4)


def _columns(
    source: Tensor, indices: Tensor, target: Tensor, unit: int, rows: Extent, along: Extent, columns: int
) -> Plan | None:
    """`moves.take_columns`, or `moves.take_columns_packed` where whole rows go through shared memory.

    Args:
        unit: bytes of a column in a row, a power of 2 up to 8.
        rows: how many, and how many elements apart in the source.
        along: columns of the source, likewise.
        columns: how many are chosen.
    """
    count = unit // source.itemsize
    size, step, row_step = along.size, along.step // count, rows.step // count
    tensors = (pointer(source, unit), indices, pointer(target, unit))
    if size > 64 and _fits(Extent(size, step), columns, unit, MOST_SHARED):
        if size <= SHORT_ROW:
            pack, width, warps = min(8 // unit, 4), 2048, 4
            groups = 4 if pack == 1 else 1
        elif unit <= 2:
            # Where 16 divides the columns what is written comes in words; then fewer registers, and so more programs at
            # a time, outweigh that rows are read twice.
            width, groups = (8192, 32) if unit == 1 and columns % 16 == 0 else (16384, 8)
            pack, warps = 2, 8
        else:
            pack, width, groups, warps = 1, 4096, 4, 8
        width = min(power_of_2(columns), width)
        blocks = -(-columns // width)
        while groups > 1 and rows.size * blocks < groups * pack * BUSY:
            groups //= 2
        programs = -(-rows.size // (pack * groups)) * blocks
        if programs > MOST:
            return None
        numbers = (size, rows.size, columns, row_step, blocks)
        constants = {"BYTES": unit, "PACK": pack, "SPAN": power_of_2(size), "COLUMNS": width, "GROUPS": groups}
        return Plan("take_columns_packed", programs, tensors, numbers, constants, warps)
    width = min(power_of_2(columns), 4096)
    if width > 64:
        tile_rows = max(512 // width, 1)
    elif width == 64:
        tile_rows = 16 if unit == 1 else 8
    else:
        tile_rows = min(4096, 8192 // unit) // width
    blocks = -(-columns // width)
    programs = -(-rows.size // tile_rows) * blocks
    if programs > MOST:
        return None
    each = (size, rows.size, columns, row_step, step, blocks)
    return Plan("take_columns", programs, tensors, each, {"ROWS": tile_rows, "COLUMNS": width}, 4)


def _along(
    source: Tensor,
    indices: Tensor,
    target: Tensor,
    rows: int,
    per_plane: int,
    columns: int,
    planes: Extent,
    across: Extent,
    along: Extent,
) -> Plan | None:
    """`moves.take_along`.

    Args:
        rows: of the indices, all planes together; `per_plane` in each.
        columns: of the indices.
        planes: of the source.
        across: columns of the source, of which there is one where the indices count them.
        along: what the indices count.
    """
    downwards = across.size > 1
    if downwards:
        width = min(max(LINE // source.itemsize, 256 // power_of_2(rows)), power_of_2(columns))
        height = max(256 // width, 1)
    else:
        width = min(power_of_2(columns), 4096)
        height = max(1024 // width, 1)
    row_blocks, column_blocks = -(-rows // height), -(-columns // width)
    programs = row_blocks * column_blocks
    if programs > MOST or columns > MOST - width:
        return None
    numbers = (
        *(along.size, rows, columns, per_plane, planes.step, across.step, along.step),
        *(row_blocks, column_blocks),
    )
    constants = {"ROWS": height, "COLUMNS": width, "DOWNWARDS": downwards}
    return Plan("take_along", programs, (source, indices, target), numbers, constants, 8 if width == 4096 else 4)


def _along_rows(
    source: Tensor, indices: Tensor, target: Tensor, rows: Extent, along: Extent, columns: int
) -> Plan | None:
    """`moves.take_along_shared`, or `moves.take_along` where rows are too short or too long for that."""
    if along.size <= SHORT_ROW or not _fits(along, columns, source.itemsize, MOST_SHARED // 2):
        return _along(source, indices, target, rows.size, 1, columns, rows, Extent(1, 0), along)
    # All that Triton knows of a number is whether 16 divides it: then elements come several at a time.
    is_aligned = all(number % 16 == 0 for number in (rows.step, along.size, columns))
    width = 4096 if is_aligned and source.itemsize > 1 else 2048
    times = min(power_of_2(-(-columns // width)), 8)
    blocks = -(-columns // (width * times))
    programs = rows.size * blocks
    if programs > MOST or columns > MOST - width * times:
        return None
    numbers = (along.size, columns, rows.step, blocks)
    constants = {"SPAN": power_of_2(along.size), "COLUMNS": width, "TIMES": times}
    return Plan("take_along_shared", programs, (source, indices, target), numbers, constants, 8 if is_aligned else 4)


def _fits(row: Extent, columns: int, unit: int, most: int) -> bool:
    """Whether a whole row in shared memory pays: it has to fit, and to be less to read than its columns one by one.

    A sector of 32 bytes is the least that is read; most of the columns' sectors have others of them in it.
    """
    return row.step == 1 and power_of_2(row.size) * unit <= most and columns * 4 >= row.size
