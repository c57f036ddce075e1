"""Kernels of products of matrices, in Triton: of the windows of an image, and of attention. See `moves` on arguments.

Sums are of FLOAT32, by tensor cores where a device has them. `plans` works out what they are given. Triton makes them
anew for numbers that are 1 or a multiple of 16: an image of so many pixels is written three times as fast. `STEPS` of a
loop are a constant: the interpreter of Triton 3.6 takes no other with NumPy 2.4.
"""

# ruff: noqa: N803 - constants are written in capitals, as Triton's own are
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def turn(
    source: tl.tensor,
    target: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    batch_step: tl.tensor,
    row_step: tl.tensor,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    """Matrices with rows for columns: `target[batch, column, row] = source[batch, row, column]`.

    torch's own copy takes three times as long over elements of two bytes.
    """
    program = tl.program_id(0)
    row_blocks = tl.cdiv(rows, ROWS)
    column_blocks = tl.cdiv(columns, COLUMNS)
    row = program % row_blocks * ROWS + tl.arange(0, ROWS)
    column = program // row_blocks % column_blocks * COLUMNS + tl.arange(0, COLUMNS)
    batch = (program // row_blocks // column_blocks).to(tl.int64)
    is_inside = (row < rows)[:, None] & (column < columns)[None, :]
    at = row[:, None].to(tl.int64) * row_step + column[None, :]
    block = tl.load(source + batch * batch_step + at, mask=is_inside)
    place = column[:, None].to(tl.int64) * rows + row[None, :]
    is_place = (column < columns)[:, None] & (row < rows)[None, :]
    tl.store(target + batch * rows * columns + place, tl.trans(block), mask=is_place)


@triton.jit
def convolve(
    image: tl.tensor,
    filters: tl.tensor,
    bias: tl.tensor,
    target: tl.tensor,
    channels: tl.tensor,
    made: tl.tensor,
    pixels: tl.tensor,
    per_image: tl.tensor,
    out_width: tl.tensor,
    height: tl.tensor,
    width: tl.tensor,
    taps: tl.tensor,
    columns: tl.tensor,
    down: tl.tensor,
    across: tl.tensor,
    before: tl.tensor,
    left: tl.tensor,
    gap_down: tl.tensor,
    gap_across: tl.tensor,
    BIAS: tl.constexpr,
    FLIPPED: tl.constexpr,
    PIXELS: tl.constexpr,
    MADE: tl.constexpr,
    CHANNELS: tl.constexpr,
    GROUP: tl.constexpr,
    STEPS: tl.constexpr,
) -> None:
    """A convolution: each pixel of the target is the sum of the taps of a window, of which each is a product.

    The image has its channels last, and the filters, {taps, channels, made}, those that are made: what a program reads
    of them lies in rows. Windows are read where they are, and so nothing is laid out as columns. Programs of `GROUP`
    blocks of pixels follow each other, so that they find the filters in the cache.
    """
    program = tl.program_id(0)
    pixel_blocks = tl.cdiv(pixels, PIXELS)
    made_blocks = tl.cdiv(made, MADE)
    first = program // (GROUP * made_blocks) * GROUP
    size = tl.minimum(pixel_blocks - first, GROUP)
    pixel = (first + program % (GROUP * made_blocks) % size) * PIXELS + tl.arange(0, PIXELS)
    m = program % (GROUP * made_blocks) // size * MADE + tl.arange(0, MADE)
    is_pixel = pixel < pixels
    is_made = m < made
    n = pixel // per_image
    place = pixel - n * per_image
    row = place // out_width
    y = row * down - before
    x = (place - row * out_width) * across - left
    channel = tl.arange(0, CHANNELS)
    windows = image + ((n.to(tl.int64) * height + y) * width + x)[:, None] * channels + channel[None, :]
    weights = filters + channel[:, None] * made + m[None, :]
    blocks = tl.cdiv(channels, CHANNELS)
    total = tl.zeros((PIXELS, MADE), tl.float32)
    for step in range(STEPS):
        tap = step // blocks
        start = (step - tap * blocks) * CHANNELS
        dy = tap // columns * gap_down
        dx = tap % columns * gap_across
        is_inside = is_pixel & (y + dy >= 0) & (y + dy < height) & (x + dx >= 0) & (x + dx < width)
        is_channel = channel < channels - start
        away = (dy * width + dx).to(tl.int64) * channels + start
        window = tl.load(windows + away, mask=is_inside[:, None] & is_channel[None, :], other=0.0)
        chosen = taps - 1 - tap if FLIPPED else tap
        weight = tl.load(
            weights + (chosen * channels + start) * made, mask=is_channel[:, None] & is_made[None, :], other=0.0
        )
        total = tl.dot(window, weight, total, input_precision="ieee")
    if BIAS:
        total += tl.load(bias + m, mask=is_made, other=0.0).to(tl.float32)[None, :]
    places = n.to(tl.int64) * per_image * made + place
    to = target + m[:, None].to(tl.int64) * per_image + places[None, :]
    tl.store(to, tl.trans(total).to(target.dtype.element_ty), mask=is_made[:, None] & is_pixel[None, :])


@triton.jit
def _exp(x: tl.tensor) -> tl.tensor:
    """e to the power of what is not above 0, to a few units in the last place: the hardware's 2^x is near enough, and
    what x loses where it is multiplied by the logarithm of e to base 2 is put back."""
    high = x * 1.4426950408889634
    low = tl.math.fma(x, 1.4426950408889634, -high) + x * 1.925963033500e-08
    found = tl.math.exp2(high)
    return tl.where(x == float("-inf"), 0.0, tl.math.fma(found, low * 0.6931471805599453, found))


@triton.jit
def attend(
    query: tl.tensor,
    key: tl.tensor,
    value: tl.tensor,
    target: tl.tensor,
    scale: tl.tensor,
    queries: tl.tensor,
    keys: tl.tensor,
    heads: tl.tensor,
    groups: tl.tensor,
    q_batch: tl.tensor,
    q_row: tl.tensor,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    STEPS: tl.constexpr,
) -> None:
    """`softmax(query @ key.T * scale) @ value` of each head, of which `heads // groups` share keys and values.

    Scores are made twice and never stored: first for the greatest of a query and the sum of its weights, then for the
    weights themselves. These are rounded to the values' type after they are divided, as they are where they are stored
    as a tensor: a sum that is scaled as greater scores come up has other weights, rounded elsewhere.
    """
    program = tl.program_id(0)
    blocks = tl.cdiv(queries, QUERIES)
    row = program % blocks * QUERIES + tl.arange(0, QUERIES)
    head = program // blocks % heads
    batch = (program // blocks // heads).to(tl.int64)
    of_head = head // (heads // groups)
    is_query = row < queries
    along = tl.arange(0, SIZE)
    of_value = tl.arange(0, WIDTH)
    column = tl.arange(0, KEYS)
    rows = query + batch * q_batch + row[:, None].to(tl.int64) * q_row + head * SIZE + along[None, :]
    q = tl.load(rows, mask=is_query[:, None], other=0.0)
    k_row = groups * SIZE
    v_row = groups * WIDTH
    k_rows = key + batch * keys * k_row + of_head * SIZE + column[None, :] * k_row + along[:, None]
    v_rows = value + batch * keys * v_row + of_head * WIDTH + column[:, None] * v_row + of_value[None, :]
    most = tl.full((QUERIES,), float("-inf"), tl.float32)
    sum_ = tl.zeros((QUERIES,), tl.float32)
    for start in range(0, STEPS * KEYS, KEYS):
        is_key = column < keys - start
        k = tl.load(k_rows + start * k_row, mask=is_key[None, :], other=0.0)
        score = tl.where(is_key[None, :], tl.dot(q, k, input_precision="ieee") * scale, float("-inf"))
        greater = tl.maximum(most, tl.max(score, 1))
        base = tl.where(greater == float("-inf"), 0.0, greater)
        sum_ = sum_ * _exp(most - base) + tl.sum(_exp(score - base[:, None]), 1)
        most = greater
    base = tl.where(most == float("-inf"), 0.0, most)
    part = 1.0 / sum_
    total = tl.zeros((QUERIES, WIDTH), tl.float32)
    for start in range(0, STEPS * KEYS, KEYS):
        is_key = column < keys - start
        k = tl.load(k_rows + start * k_row, mask=is_key[None, :], other=0.0)
        score = tl.dot(q, k, input_precision="ieee") * scale
        weight = tl.where(is_key[None, :], _exp(score - base[:, None]) * part[:, None], 0.0)
        v = tl.load(v_rows + start * v_row, mask=is_key[:, None], other=0.0)
        total = tl.dot(weight.to(v.dtype), v, total, input_precision="ieee")
    to = target + (batch * queries + row[:, None].to(tl.int64)) * (heads * WIDTH) + head * WIDTH + of_value[None, :]
    tl.store(to, total.to(target.dtype.element_ty), mask=is_query[:, None])
