"""The kernels, in Triton. What they are given is worked out in `plans`.

Sizes and steps are counted in words of the pointers' type, or in units of `UNIT` words where a kernel has such a
parameter: two words of 8 bytes make the widest access that the hardware has. Offsets within a tensor are 64 bits wide,
those within a program's block 32.

Triton makes a kernel anew for each combination of its constants and of the pointers' types. Numbers are left out of
that (`do_not_specialize`): what a number has to be known for is a constant.
"""

# ruff: noqa: N803 - constants are written in capitals, as Triton's own are
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _in_range(index: tl.tensor, size: tl.tensor) -> tl.tensor:
    """An index from 0 to `size - 1`, as `operators.in_range` has it, in 64 bits."""
    if index.dtype == tl.uint64:  # from 2^63 on negative, and so 0
        return tl.minimum(tl.maximum(index.to(tl.int64, bitcast=True), 0), size - 1)
    if index.dtype == tl.uint32:
        return tl.minimum(index.to(tl.int64), size - 1)
    wide = index.to(tl.int64)
    found = tl.where(wide < 0, wide + size, wide)
    # A division takes longer than all the rest, and hardly any block needs one.
    if tl.max(((found < 0) | (found >= size)).to(tl.int32)) != 0:
        found = found % size
        found = tl.where(found < 0, found + size, found)
    return found


@triton.jit
def _below(number: tl.tensor, limit: tl.tensor, places: tl.tensor) -> tl.tensor:
    """Whether a number is below a limit, the same for each of `places`.

    What is compared is spread, and not the answer: Triton 3.9's interpreter spreads a bit as a number, and takes none
    for a mask.
    """
    return number + places * 0 < limit


@triton.jit(
    do_not_specialize=[
        *("places", "per_batch", "index_batch_step", "batch_step", "row", "chunks"),
        *("size0", "size1", "size2", "size3", "step0", "step1", "step2", "step3"),
    ]
)
def take_rows(
    source: tl.tensor,
    indices: tl.tensor,
    target: tl.tensor,
    places: tl.tensor,
    per_batch: tl.tensor,
    index_batch_step: tl.tensor,
    batch_step: tl.tensor,
    row: tl.tensor,
    chunks: tl.tensor,
    size0: tl.tensor,
    size1: tl.tensor,
    size2: tl.tensor,
    size3: tl.tensor,
    step0: tl.tensor,
    step1: tl.tensor,
    step2: tl.tensor,
    step3: tl.tensor,
    COORDINATES: tl.constexpr,
    BATCHES: tl.constexpr,
    UNIT: tl.constexpr,
    PLACES: tl.constexpr,
    UNITS: tl.constexpr,
) -> None:
    """A row for each place: `target[place, :] = source[batch, coordinates of place, :]`.

    A program has a block of `PLACES` places and of `UNITS` units of their rows, of which there are `chunks`.
    """
    program = tl.program_id(0)
    block = (program // chunks).to(tl.int64)
    chunk = program % chunks
    place = block * PLACES + tl.arange(0, PLACES)
    is_place = place < places
    if BATCHES:
        batch = place // per_batch
        at = batch * index_batch_step + (place - batch * per_batch)
        start = batch * batch_step
    else:
        at = place
        start = place * 0
    for c in tl.static_range(COORDINATES):
        index = tl.load(indices + at * COORDINATES + c, mask=is_place, other=0)
        if c == 0:
            start += _in_range(index, size0) * step0
        elif c == 1:
            start += _in_range(index, size1) * step1
        elif c == 2:
            start += _in_range(index, size2) * step2
        else:
            start += _in_range(index, size3) * step3
    word = chunk * (UNITS * UNIT) + tl.arange(0, UNITS * UNIT)
    is_inside = is_place[:, None] & (word < row * UNIT)[None, :]
    value = tl.load(source + (start * UNIT)[:, None] + word[None, :], mask=is_inside)
    tl.store(target + (place * row * UNIT)[:, None] + word[None, :], value, mask=is_inside)


@triton.jit(do_not_specialize=["size", "rows", "row_step", "column_step", "blocks"])
def take_columns(
    source: tl.tensor,
    indices: tl.tensor,
    target: tl.tensor,
    size: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    row_step: tl.tensor,
    column_step: tl.tensor,
    blocks: tl.tensor,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    """The same columns of each row: `target[row, column] = source[row, indices[column]]`."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = (program % blocks) * COLUMNS + tl.arange(0, COLUMNS)
    is_column = column < columns
    index = _in_range(tl.load(indices + column, mask=is_column, other=0), size)
    is_inside = (row < rows)[:, None] & is_column[None, :]
    value = tl.load(source + (row * row_step)[:, None] + (index * column_step)[None, :], mask=is_inside)
    tl.store(target + (row * columns)[:, None] + column[None, :], value, mask=is_inside)


@triton.jit(do_not_specialize=["rows", "blocks"])
def take_columns_packed(
    source: tl.tensor,
    indices: tl.tensor,
    target: tl.tensor,
    size: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    row_step: tl.tensor,
    blocks: tl.tensor,
    BYTES: tl.constexpr,
    PACK: tl.constexpr,
    SPAN: tl.constexpr,
    COLUMNS: tl.constexpr,
    GROUPS: tl.constexpr,
) -> None:
    """As `take_columns`, for rows that fit into shared memory.

    The elements that `PACK` rows have in a column are put into one word, so that one look-up in shared memory, which
    takes as long for a byte as for 8, finds the elements of all of them. The words of a row go to shared memory, those
    of the chosen columns come back, and are taken apart. A program does so `GROUPS` times with the same columns.
    """
    program = tl.program_id(0)
    column = (program % blocks) * COLUMNS + tl.arange(0, COLUMNS)
    is_column = column < columns
    index = _in_range(tl.load(indices + column, mask=is_column, other=0), size).to(tl.int32)
    place = tl.arange(0, SPAN)
    is_place = place < size
    first = (program // blocks).to(tl.int64) * (GROUPS * PACK)
    for group in range(GROUPS):
        for r in tl.static_range(PACK):
            row = first + group * PACK + r
            value = tl.load(source + row * row_step + place, mask=is_place & _below(row, rows, place), other=0)
            if PACK == 1:
                words = value
            else:
                part = _widened(value, BYTES, PACK) << (r * BYTES * 8)
                words = part if r == 0 else words | part
        chosen = tl.gather(words, index, 0)
        for r in tl.static_range(PACK):
            row = first + group * PACK + r
            value = chosen if PACK == 1 else (chosen >> (r * BYTES * 8)).to(source.dtype.element_ty)
            tl.store(target + row * columns + column, value, mask=is_column & _below(row, rows, column))


@triton.jit
def _widened(value: tl.tensor, BYTES: tl.constexpr, PACK: tl.constexpr) -> tl.tensor:
    """Elements of `BYTES` bytes as unsigned words that hold `PACK` of them."""
    if BYTES == 1:
        bits = value.to(tl.uint8, bitcast=True)
    elif BYTES == 2:
        bits = value.to(tl.uint16, bitcast=True)
    else:
        bits = value.to(tl.uint32, bitcast=True)
    if BYTES * PACK == 2:
        word = bits.to(tl.uint16)
    elif BYTES * PACK == 4:
        word = bits.to(tl.uint32)
    else:
        word = bits.to(tl.uint64)
    return word


@triton.jit(do_not_specialize=["size", "rows", "per_plane", "plane_step", "index_step", "row_blocks", "column_blocks"])
def take_along(
    source: tl.tensor,
    indices: tl.tensor,
    target: tl.tensor,
    size: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    per_plane: tl.tensor,
    plane_step: tl.tensor,
    column_step: tl.tensor,
    index_step: tl.tensor,
    row_blocks: tl.tensor,
    column_blocks: tl.tensor,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DOWNWARDS: tl.constexpr,
) -> None:
    """An index for each element: `target[row, column] = source[row // per_plane, indices[row, column], column]`.

    Where an index goes from row to row (`DOWNWARDS`), programs go through one block of columns from the first row to
    the last before they take up the next: what the indices of a narrow block can reach is little enough to stay in the
    cache. What is read and written once is marked so, to leave the cache to it.
    """
    program = tl.program_id(0)
    if DOWNWARDS:
        row_block = program % row_blocks
        column_block = program // row_blocks
    else:
        row_block = program // column_blocks
        column_block = program % column_blocks
    row = row_block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = column_block * COLUMNS + tl.arange(0, COLUMNS)
    is_inside = (row < rows)[:, None] & (column < columns)[None, :]
    at = (row * columns)[:, None] + column[None, :]
    index = _in_range(tl.load(indices + at, mask=is_inside, other=0, eviction_policy="evict_first"), size)
    start = (row // per_plane * plane_step)[:, None] + (column.to(tl.int64) * column_step)[None, :]
    value = tl.load(source + start + index * index_step, mask=is_inside)
    tl.store(target + at, value, mask=is_inside, cache_modifier=".cs")


@triton.jit(do_not_specialize=["blocks"])
def take_along_shared(
    source: tl.tensor,
    indices: tl.tensor,
    target: tl.tensor,
    size: tl.tensor,
    columns: tl.tensor,
    row_step: tl.tensor,
    blocks: tl.tensor,
    SPAN: tl.constexpr,
    COLUMNS: tl.constexpr,
    TIMES: tl.constexpr,
) -> None:
    """As `take_along` along the last axis, for rows that fit into shared memory: `target[row, column] = source[row,
    indices[row, column]]`. A program has one row there, and `TIMES` blocks of its columns. It asks for the indices of
    the next block before it looks up the elements of one."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64)
    first = program % blocks * (TIMES * COLUMNS)
    column = first + tl.arange(0, COLUMNS)
    ahead = tl.load(indices + row * columns + column, mask=column < columns, other=0, eviction_policy="evict_first")
    place = tl.arange(0, SPAN)
    elements = tl.load(source + row * row_step + place, mask=place < size, other=0)
    for number in range(TIMES):
        index = _in_range(ahead, size)
        following = column + COLUMNS
        is_read = (following < columns) & (number + 1 < TIMES)
        ahead = tl.load(indices + row * columns + following, mask=is_read, other=0, eviction_policy="evict_first")
        value = tl.gather(elements, index.to(tl.int32), 0)
        tl.store(target + row * columns + column, value, mask=column < columns, cache_modifier=".cs")
        column = following


@triton.jit
def _row_starts(
    at: tl.tensor,
    size1: tl.tensor,
    size2: tl.tensor,
    step1: tl.tensor,
    step2: tl.tensor,
    step3: tl.tensor,
    place1: tl.tensor,
    place2: tl.tensor,
    place3: tl.tensor,
    OUTER: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """Where rows that are counted as `tile` has them start: in the source, and in the target."""
    if OUTER == 0:
        return at * 0, at * 0
    if OUTER == 1:
        return at * step1, at * place1
    rest = at // size1
    along = at - rest * size1
    start = along * step1
    place = along * place1
    if OUTER == 2:
        return start + rest * step2, place + rest * place2
    last = rest // size2
    along = rest - last * size2
    return start + along * step2 + last * step3, place + along * place2 + last * place3


@triton.jit
def _copy_start(
    copy: tl.tensor,
    size1: tl.tensor,
    size2: tl.tensor,
    size3: tl.tensor,
    repeat1: tl.tensor,
    repeat2: tl.tensor,
    place1: tl.tensor,
    place2: tl.tensor,
    place3: tl.tensor,
    OUTER: tl.constexpr,
) -> tl.tensor:
    """Where a copy of all rows, counted as `tile` has them, starts in the target."""
    if OUTER == 0:
        return copy * 0
    if OUTER == 1:
        return copy * size1 * place1
    others = copy // repeat1
    offset = (copy - others * repeat1) * size1 * place1
    if OUTER == 2:
        return offset + others * size2 * place2
    outermost = others // repeat2
    return offset + (others - outermost * repeat2) * size2 * place2 + outermost * size3 * place3


@triton.jit(
    do_not_specialize=[
        *("rows", "row", "repeats", "chunks", "copies", "copy_blocks"),
        *("size1", "size2", "size3", "step1", "step2", "step3", "repeat1", "repeat2", "place1", "place2", "place3"),
    ]
)
def tile(
    source: tl.tensor,
    target: tl.tensor,
    rows: tl.tensor,
    row: tl.tensor,
    repeats: tl.tensor,
    chunks: tl.tensor,
    copies: tl.tensor,
    copy_blocks: tl.tensor,
    size1: tl.tensor,
    size2: tl.tensor,
    size3: tl.tensor,
    step1: tl.tensor,
    step2: tl.tensor,
    step3: tl.tensor,
    repeat1: tl.tensor,
    repeat2: tl.tensor,
    place1: tl.tensor,
    place2: tl.tensor,
    place3: tl.tensor,
    OUTER: tl.constexpr,
    UNIT: tl.constexpr,
    ROWS: tl.constexpr,
    UNITS: tl.constexpr,
    COPIES: tl.constexpr,
) -> None:
    """Copies of a matrix: each row `repeats` times in a row, and that to `copies` places.

    Rows are counted by up to `OUTER` coordinates, of which the first is the innermost: along the n-th there are
    `sizeN`, `stepN` apart in the source and `placeN` in the target, repeated `repeatN` times. A program reads its block
    of `ROWS` rows once and writes it to `COPIES` of the places, so that what is read is read once.
    """
    program = tl.program_id(0)
    chunk = program % chunks
    copy_block = program // chunks % copy_blocks
    at = (program // chunks // copy_blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    is_row = at < rows
    start, place = _row_starts(at, size1, size2, step1, step2, step3, place1, place2, place3, OUTER)
    word = chunk * (UNITS * UNIT) + tl.arange(0, UNITS * UNIT)
    is_inside = is_row[:, None] & (word < row * repeats * UNIT)[None, :]
    value = tl.load(source + (start * UNIT)[:, None] + (word % (row * UNIT))[None, :], mask=is_inside)
    zero = program.to(tl.int64) * 0
    for number in range(COPIES):
        copy = copy_block * COPIES + number + zero
        offset = _copy_start(copy, size1, size2, size3, repeat1, repeat2, place1, place2, place3, OUTER)
        is_copy = _below(copy, copies, at)[:, None]
        tl.store(target + ((place + offset) * UNIT)[:, None] + word[None, :], value, mask=is_inside & is_copy)
