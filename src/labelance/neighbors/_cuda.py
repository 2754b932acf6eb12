"""Engine for many rows on an NVIDIA GPU: half products of all pairs in Triton, never written.

Every pair of rows is scored once, for both of its rows, in tiles of 128 x 128 float16 products.

1. Rows are centred, scaled by a power of two, shuffled, rounded to float16 (:class:`HalfPoints`).
2. With h = |y|²/2, a score h_i + h_j - b_i·b_j is off from half the squared distance by at most
   e_i + e_j: the rounding y - b = r by Cauchy-Schwarz, 2 |r_i||b_j| <= λ |b_j|² + |r_i|²/λ; sums in
   a tensor core, 1.5 d 2⁻²³ |b_i||b_j|; a few float32 roundings, 2⁻²¹ |y|². So
   L = (h_i - e_i) + (h_j - e_j) - b_i·b_j is a lower bound, and L + 2 e_i + 2 e_j an upper one.
3. Groups of 16 rows are disjoint. So the k-th smallest upper bound of a row's groups bounds its
   k-th distance: the row's limit T, at first from 4,096 rows.
4. Tile I meets the tiles I + δ; the number of tiles is odd, so δ = 0 … (tiles - 1) / 2 meets every
   pair once. A group whose smallest L is at most T goes onto the row's list, with a bit for each of
   its rows that has L <= T.
5. δ runs in phases that grow by half. After each one, lists are pruned and limits fall. As rows are
   shuffled, the number of additions grows with log n, whatever the data.
6. A list that stays long (tight clusters, where the bounds are too coarse) is opened: its groups
   give way to those of their rows that had L <= T, with their distances in float64. Phases are
   shorter where lists fill up, so that this happens before they overflow.
7. At the end all lists are opened, and rows that are left are ranked by the distances of
   every other engine. Whatever could be among the k nearest was listed. Rows whose list overflowed
   are searched again by the engine for any device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from labelance._progress import loop

TILE, GROUP, _FIRST = 128, 16, 32  # rows of a tile, of a group, of a group for the first limit
_SAMPLE = 4096  # rows that give the first limit
_ROOM = 128  # entries on the longest list
_LONG = 24  # entries from which on a list is opened
_STEP = 64  # columns that a product takes at once
_OPENED = 1 << 17  # lists opened at once
_SLOTS = 8  # entries of a list opened together
_TILES = 1 << 30  # tiles in a phase
_FAR = 1e30  # bounds of rows that are none
_ROUND = 2.0**-20
_UNIT = 2.0**13  # length of the points where directions count


@dataclass(frozen=True, eq=False)
class HalfPoints:
    """Shuffled rows in float16, with what bounds the error of their scores.

    Parameters
    ----------
    rows : tensor of shape (n, d)
        The rows as they are.
    order : tensor of int64 of shape (n,)
        Which row each point is.
    halves : float16 tensor of shape (tiles * TILE, size)
        The points; rows and columns that are none are zero.
    low : float32 tensor
        h - e of each point.
    slack : float32 tensor
        2 e of each point, rounded up.
    stretch : float64 tensor of shape (d,)
        What the features are multiplied by.
    scale : float64 tensor of shape (n,)
        What each point is also multiplied by; ones unless directions count.
    unit : bool
        Whether directions count.
    """

    rows: Any
    order: Any
    halves: Any
    low: Any
    slack: Any
    stretch: Any
    scale: Any
    unit: bool

    @property
    def size(self) -> int:
        return int(self.halves.shape[1])

    @property
    def tiles(self) -> Any:
        """The points as the copy engine of a GPU takes them, a part of a tile at a time."""
        return TensorDescriptor.from_tensor(self.halves, [TILE, _STEP])

    @property
    def n_tiles(self) -> int:
        return len(self.halves) // TILE

    @property
    def fuzz(self) -> float:
        """How far half a squared distance in float64 may be off, beyond relative rounding."""
        return _UNIT**2 * 2.0**-40 if self.unit else 0.0


def bytes_needed(n: int, d: int, k: int) -> int:
    """Return how much memory a search takes beyond its rows, rather too much than too little."""
    point = 2 * -(-d // _STEP) * _STEP
    lists = _ROOM * (4 + 2 + 4)  # entries, members, bounds
    first, ranking = 4 * (_SAMPLE // _FIRST), 100 * k  # one at the beginning, one at the end
    return n * (point + lists + max(first, ranking)) + 2**28


def place_points(rows: Any, center: Any, width: Any, *, unit: bool) -> HalfPoints | None:
    """Return the points of the rows; None if they do not fit float16 at any scale."""
    n, d = rows.shape
    factor = _choose_factor(rows, center, width, unit=unit)
    if factor is None:
        return None
    order = _shuffle(rows, unit=unit)
    n_tiles = -(-n // TILE)
    padded = (n_tiles + 1 - n_tiles % 2) * TILE
    size = -(-d // _STEP) * _STEP
    halves = torch.zeros((padded, size), dtype=torch.float16, device=rows.device)
    lengths = torch.empty((3, n), dtype=torch.float64, device=rows.device)  # |y|², |b|², |r|²
    scale = torch.empty(n, dtype=torch.float64, device=rows.device)
    stretch = factor / width
    _place_kernel[(n,)](
        rows,
        order,
        center,
        stretch,
        halves,
        lengths,
        scale,
        n,
        d,
        LENGTH=_UNIT,
        UNIT=unit,
        SIZE=size,
        BLOCK=min(1024, triton.next_power_of_2(size)),
        num_warps=4,
    )
    if unit and not bool(torch.isfinite(scale).all()):
        return None  # a row of zeros has no direction
    return HalfPoints(rows, order, halves, *_bounds(lengths, padded, size), stretch, scale, unit)


def _choose_factor(rows: Any, center: Any, width: Any, *, unit: bool) -> float | None:
    """Return the power of two that brings the largest coordinate to about 2¹³."""
    low, high = rows.aminmax(dim=0)
    largest = float(torch.maximum((high - center).abs(), (low - center).abs()).div(width).max())
    if not 1e-100 < largest < 1e100:
        return None
    return 1.0 if unit else float(2.0 ** (13 - np.frexp(largest)[1]))


def _shuffle(rows: Any, *, unit: bool) -> Any:
    """Return the rows in random order, but those of a tile by length.

    Lengths decide how coarse bounds are; so a group has bounds of one kind, and no long row
    spoils those of short ones.
    """
    n = len(rows)
    generator = torch.Generator(device=rows.device).manual_seed(0)
    order = torch.randperm(n, generator=generator, device=rows.device)
    if unit:
        return order
    whole = n // TILE * TILE
    tiles = order[:whole].view(-1, TILE)
    lengths = torch.linalg.vector_norm(rows, dim=1)
    order[:whole] = tiles.gather(1, lengths[tiles].argsort(dim=1)).view(-1)
    return order


def _bounds(lengths: Any, padded: int, d: int) -> tuple[Any, Any]:
    """Return h - e and 2 e of every point, in float32."""
    y2, b2, r2 = lengths
    share = (r2.sum() / b2.sum().clamp(min=1e-300)).sqrt().clamp(min=2.0**-26)
    e = 0.5 * (share * b2 + r2 / share + r2) + 0.75 * d * 2.0**-23 * b2 + 2.0**-21 * y2
    low = torch.full((padded,), _FAR, dtype=torch.float32, device=y2.device)
    slack = torch.zeros(padded, dtype=torch.float32, device=y2.device)
    low[: len(e)] = (0.5 * y2 - e).float()
    slack[: len(e)] = (2 * e * (1 + _ROUND)).float()
    return low, slack


@triton.jit(do_not_specialize=["n", "d"])
def _place_kernel(
    X,
    ORDER,
    CENTER,
    STRETCH,
    HALVES,
    LENGTHS,
    SCALE,
    n,
    d,
    LENGTH: tl.constexpr,
    UNIT: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write a row as a float16 point, and the squared lengths of y, b and y - b."""
    place = tl.program_id(0).to(tl.int64)
    at = X + tl.load(ORDER + place) * d
    y2 = tl.zeros((BLOCK,), dtype=tl.float64)
    b2, r2 = y2, y2
    scale = tl.sum(y2) + 1.0
    if UNIT:
        for start in range(0, SIZE, BLOCK):
            f = start + tl.arange(0, BLOCK)
            x = tl.load(at + f, mask=f < d, other=0.0).to(tl.float64)
            x *= tl.load(STRETCH + f, mask=f < d, other=0.0)
            y2 += x * x
        scale = LENGTH / tl.sqrt(tl.sum(y2))
        y2 = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, SIZE, BLOCK):
        f = start + tl.arange(0, BLOCK)
        x = tl.load(at + f, mask=f < d, other=0.0).to(tl.float64)
        x -= tl.load(CENTER + f, mask=f < d, other=0.0)
        y = x * tl.load(STRETCH + f, mask=f < d, other=0.0) * scale
        half = y.to(tl.float32).to(tl.float16)
        tl.store(HALVES + place * SIZE + f, half, mask=f < d)
        b = half.to(tl.float64)
        y2 += y * y
        b2 += b * b
        r2 += (y - b) * (y - b)
    tl.store(LENGTHS + place, tl.sum(y2))
    tl.store(LENGTHS + n + place, tl.sum(b2))
    tl.store(LENGTHS + 2 * n + place, tl.sum(r2))
    tl.store(SCALE + place, scale)


@triton.jit
def _tile_product(X, i, j, D: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr):
    """Return the dot products of tile i of rows with tile j of columns."""
    product = tl.zeros((TILE, TILE), dtype=tl.float32)
    for f in range(0, D, BK):
        product = tl.dot(X.load([i * TILE, f]), X.load([j * TILE, f]).T, product)
    return product


@triton.jit
def _first_kernel(
    X,
    LOW,
    OUT,
    N_GROUPS: tl.constexpr,
    D: tl.constexpr,
    BK: tl.constexpr,
    TILE: tl.constexpr,
    G: tl.constexpr,
):
    """Write the smallest lower bound of each group of the sample, for every row."""
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    product = _tile_product(X, tl.program_id(0), tl.program_id(1), D, BK, TILE)
    bound = tl.load(LOW + rows)[:, None] + tl.load(LOW + columns)[None, :] - product
    bound = tl.where(rows[:, None] == columns[None, :], 3e38, bound)
    smallest = tl.min(tl.reshape(bound, (TILE, TILE // G, G)), 2)
    groups = tl.program_id(1) * (TILE // G) + tl.arange(0, TILE // G)
    tl.store(OUT + rows[:, None].to(tl.int64) * N_GROUPS + groups[None, :], smallest)


@triton.jit(do_not_specialize=["n_tiles", "first", "last"])
def _pairs_kernel(
    X,
    LOW,
    REACH,
    LISTS,
    MEMBERS,
    BOUNDS,
    COUNTS,
    n_tiles,
    first,
    last,
    ROOM: tl.constexpr,
    D: tl.constexpr,
    BK: tl.constexpr,
    TILE: tl.constexpr,
    G: tl.constexpr,
    SPAN: tl.constexpr,
):
    """List, for the rows and the columns of a tile, the groups that may hold near rows."""
    # Tiles in an order that keeps SPAN blocks of rows in the cache.
    pid = tl.program_id(0)
    span = pid // (SPAN * (last - first))
    inside = pid % (SPAN * (last - first))
    size = tl.minimum(n_tiles - span * SPAN, SPAN)
    i = span * SPAN + inside % size
    j = i + first + inside // size
    j = tl.where(j >= n_tiles, j - n_tiles, j)
    rows = i * TILE + tl.arange(0, TILE)
    columns = j * TILE + tl.arange(0, TILE)
    product = _tile_product(X, i, j, D, BK, TILE)
    # L <= T says the same as product - low_j >= low_i - T, the reach of the row, and likewise for
    # the column. Maxima ask whether it holds anywhere.
    nearness = tl.max(product - tl.load(LOW + columns)[None, :], 1)
    for_rows = nearness >= tl.load(REACH + rows)
    excess = product - tl.load(LOW + rows)[:, None] - tl.load(REACH + columns)[None, :]
    for_columns = tl.max(excess, 1) >= 0
    sides = tl.max(for_rows.to(tl.int32), 0) + 2 * tl.max(for_columns.to(tl.int32), 0)
    if sides % 2 == 1:
        _list_for_rows(
            product, rows, columns, i, j, LOW, REACH, LISTS, MEMBERS, BOUNDS, COUNTS, ROOM, TILE, G
        )
    if (sides >= 2) & (i != j):
        _list_for_columns(
            product, rows, columns, i, LOW, REACH, LISTS, MEMBERS, BOUNDS, COUNTS, ROOM, TILE, G
        )


# Two tiles are on a multiprocessor at once, one in the product and one in its checks, and share
# its registers. So what was loaded for a check is loaded again rather than kept (volatile).
@triton.jit
def _list_for_rows(
    product,
    rows,
    columns,
    i,
    j,
    LOW,
    REACH,
    LISTS,
    MEMBERS,
    BOUNDS,
    COUNTS,
    ROOM: tl.constexpr,
    TILE: tl.constexpr,
    G: tl.constexpr,
):
    """Put groups of columns onto the lists of rows."""
    nearness = product - tl.load(LOW + columns, volatile=True)[None, :]
    if i == j:
        nearness = tl.where(rows[:, None] != columns[None, :], nearness, -3e38)
    low, reach = tl.load(LOW + rows, volatile=True), tl.load(REACH + rows, volatile=True)
    best = tl.max(tl.reshape(nearness, (TILE, TILE // G, G)), 2)
    bits = tl.where(nearness >= reach[:, None], (1 << (columns % G))[None, :], 0)
    group = j * (TILE // G) + tl.arange(0, TILE // G)
    _append(
        LISTS,
        MEMBERS,
        BOUNDS,
        COUNTS,
        tl.broadcast_to(rows[:, None], (TILE, TILE // G)),
        tl.broadcast_to(group[None, :], (TILE, TILE // G)),
        tl.sum(tl.reshape(bits, (TILE, TILE // G, G)), 2),
        low[:, None] - best,
        ROOM,
    )


@triton.jit
def _list_for_columns(
    product,
    rows,
    columns,
    i,
    LOW,
    REACH,
    LISTS,
    MEMBERS,
    BOUNDS,
    COUNTS,
    ROOM: tl.constexpr,
    TILE: tl.constexpr,
    G: tl.constexpr,
):
    """Put groups of rows onto the lists of columns."""
    nearness = product - tl.load(LOW + rows, volatile=True)[:, None]
    low, reach = tl.load(LOW + columns, volatile=True), tl.load(REACH + columns, volatile=True)
    best = tl.max(tl.reshape(nearness, (TILE // G, G, TILE)), 1)
    bits = tl.where(nearness >= reach[None, :], (1 << (rows % G))[:, None], 0)
    group = i * (TILE // G) + tl.arange(0, TILE // G)
    _append(
        LISTS,
        MEMBERS,
        BOUNDS,
        COUNTS,
        tl.broadcast_to(columns[None, :], (TILE // G, TILE)),
        tl.broadcast_to(group[:, None], (TILE // G, TILE)),
        tl.sum(tl.reshape(bits, (TILE // G, G, TILE)), 1),
        low[None, :] - best,
        ROOM,
    )


@triton.jit
def _append(LISTS, MEMBERS, BOUNDS, COUNTS, row, group, members, bound, ROOM: tl.constexpr):
    """Put groups onto their rows' lists, as long as there is room."""
    listed = members != 0
    place = tl.atomic_add(COUNTS + row, 1, mask=listed, sem="relaxed")
    listed = listed & (place < ROOM)
    at = row.to(tl.int64) * ROOM + place
    tl.store(LISTS + at, group, mask=listed)
    tl.store(MEMBERS + at, members.to(tl.int16), mask=listed)
    tl.store(BOUNDS + at, bound, mask=listed)


@triton.jit(do_not_specialize=["n"])
def _prune_kernel(
    LISTS,
    MEMBERS,
    BOUNDS,
    COUNTS,
    OVER,
    LIMIT,
    REACH,
    LOW,
    SLACK,
    GROUP_SLACK,
    n,
    k: tl.constexpr,
    FUZZ: tl.constexpr,
    ROUND: tl.constexpr,
    ROOM: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Lower the limit to the k-th smallest upper bound of the list, and drop what lies above."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    count = tl.load(COUNTS + rows, mask=inside, other=0)
    slots = tl.arange(0, ROOM)
    at = rows[:, None].to(tl.int64) * ROOM + slots[None, :]
    listed = slots[None, :] < count[:, None]
    entry = tl.load(LISTS + at, mask=listed, other=0)
    members = tl.load(MEMBERS + at, mask=listed, other=0)
    bound = tl.load(BOUNDS + at, mask=listed, other=3e38)
    slack = tl.load(SLACK + rows, mask=inside, other=0.0)
    coarse = slack[:, None] + tl.load(GROUP_SLACK + entry, mask=listed & (entry >= 0), other=0.0)
    upper = bound + tl.where(entry >= 0, coarse, 2 * FUZZ)
    limit = tl.load(LIMIT + rows, mask=inside, other=0.0)
    reach = tl.min(upper, 1)
    for _ in range(1, k):
        best = tl.argmin(upper, 1)
        upper = tl.where(slots[None, :] == best[:, None], 3e38, upper)
        reach = tl.min(upper, 1)
    limit = tl.minimum(limit, reach + tl.abs(reach) * ROUND)
    # A row whose list overflowed is lost to this engine: it lists nothing any more.
    over = count > ROOM
    limit = tl.where(over, -3e38, limit)
    keep = listed & (bound <= limit[:, None])
    place = tl.cumsum(keep.to(tl.int32), 1) - 1
    to = rows[:, None].to(tl.int64) * ROOM + place
    tl.debug_barrier()
    tl.store(LISTS + to, entry, mask=keep)
    tl.store(MEMBERS + to, members, mask=keep)
    tl.store(BOUNDS + to, bound, mask=keep)
    tl.store(OVER + rows, 1, mask=inside & over)
    tl.store(COUNTS + rows, tl.sum(keep.to(tl.int32), 1), mask=inside)
    tl.store(LIMIT + rows, limit, mask=inside)
    low = tl.load(LOW + rows, mask=inside, other=0.0)
    tl.store(REACH + rows, low - limit, mask=inside)


@triton.jit(do_not_specialize=["d"])
def _open_kernel(
    X,
    ORDER,
    STRETCH,
    SCALE,
    LIMIT,
    LISTS,
    MEMBERS,
    BOUNDS,
    COUNTS,
    ROWS,
    OUT,
    OUT_BOUNDS,
    FOUND,
    d,
    UNIT: tl.constexpr,
    FUZZ: tl.constexpr,
    ROUND: tl.constexpr,
    ROOM: tl.constexpr,
    D: tl.constexpr,
    BK: tl.constexpr,
    G: tl.constexpr,
    SLOTS: tl.constexpr,
):
    """Copy a list, with the near members of each group and their distances instead of the group."""
    at = tl.program_id(0).to(tl.int64)
    row = tl.load(ROWS + at)
    limit = tl.load(LIMIT + row)
    limit += tl.abs(limit) * ROUND
    count = tl.load(COUNTS + row)
    found, start = 0, 0
    while start < count:
        slot = start + tl.arange(0, SLOTS)
        entry = tl.load(LISTS + row * ROOM + slot, mask=slot < count, other=0)
        bound = tl.load(BOUNDS + row * ROOM + slot, mask=slot < count, other=0.0)
        members = tl.load(MEMBERS + row * ROOM + slot, mask=slot < count, other=0)
        members = tl.where(entry >= 0, members.to(tl.int32) & ((1 << G) - 1), 0)
        # Those measured before, then one member of every group after the other.
        keep = entry < 0
        name = entry
        left = 1
        while left > 0:
            place = found + tl.cumsum(keep.to(tl.int32), 0) - 1
            fits = keep & (place < ROOM)
            tl.store(OUT + at * ROOM + place, name, mask=fits)
            tl.store(OUT_BOUNDS + at * ROOM + place, bound, mask=fits)
            found += tl.sum(keep.to(tl.int32), 0)
            left = tl.max(members, 0)
            if left > 0:
                wanted = members > 0
                lowest = members & -members  # a power of two: its exponent is the member's place
                inside = (lowest.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
                members -= lowest
                point = tl.where(wanted, entry * G + inside, 0)
                half = _half_squares(
                    X, ORDER, STRETCH, SCALE, row, point, wanted, d, UNIT, D, BK, SLOTS
                )
                bound = (half - FUZZ).to(tl.float32)
                keep = wanted & (bound <= limit)
                name = -1 - point
        start += SLOTS
    tl.store(FOUND + at, found)


@triton.jit
def _half_squares(
    X,
    ORDER,
    STRETCH,
    SCALE,
    row,
    point,
    wanted,
    d,
    UNIT: tl.constexpr,
    D: tl.constexpr,
    BK: tl.constexpr,
    SLOTS: tl.constexpr,
):
    """Return half the squared distances of a row to the wanted points, in float64."""
    x_at = X + tl.load(ORDER + row) * d
    z_at = X + tl.load(ORDER + point, mask=wanted, other=0) * d
    x_scale, z_scale = tl.load(SCALE + row), tl.load(SCALE + point, mask=wanted, other=0.0)
    square = tl.zeros((SLOTS,), dtype=tl.float64)
    for first in range(0, D, BK):
        f = first + tl.arange(0, BK)
        x = tl.load(x_at + f, mask=f < d, other=0.0).to(tl.float64)
        read = wanted[:, None] & (f < d)[None, :]
        z = tl.load(z_at[:, None] + f[None, :], mask=read, other=0.0).to(tl.float64)
        if UNIT:
            x, z = x * x_scale, z * z_scale[:, None]
        gap = (x[None, :] - z) * tl.load(STRETCH + f, mask=f < d, other=0.0)[None, :]
        square += tl.sum(gap * gap, 1)
    return 0.5 * square


@triton.jit(do_not_specialize=["m"])
def _measure_kernel(
    A, B, ROWS_A, ROWS_B, WIDTH, OUT, m, d: tl.constexpr, SCALED: tl.constexpr, BLOCK: tl.constexpr
):
    """Write the squared distance of each pair of rows, summed in float64 in column order."""
    pair = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = pair < m
    a_at = A + tl.load(ROWS_A + pair, mask=inside, other=0) * d
    b_at = B + tl.load(ROWS_B + pair, mask=inside, other=0) * d
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for f in range(d):
        gap = tl.load(a_at + f).to(tl.float64) - tl.load(b_at + f).to(tl.float64)
        if SCALED:
            gap = gap / tl.load(WIDTH + f)
        total += gap * gap
    tl.store(OUT + pair, total, mask=inside)


@dataclass(frozen=True, eq=False)
class Lists:
    """What may be near every point: groups, and rows that were measured, as -1 - row.

    Parameters
    ----------
    points : HalfPoints
        The points.
    k : int
        How many neighbors are wanted.
    entries, bounds : tensors of shape (padded, _ROOM)
        The entries of each list, and their lower bounds.
    members : tensor of int16 of shape (padded, _ROOM)
        A bit for every member of a group that was within the limit when it was listed.
    counts : tensor of int32
        How long each list is; longer than its room if it overflows.
    over : tensor of int32
        Which lists have overflowed.
    limit, reach : float32 tensors
        T of each point, and h - e - T.
    """

    points: HalfPoints
    k: int
    entries: Any
    members: Any
    bounds: Any
    counts: Any
    over: Any
    limit: Any
    reach: Any

    @classmethod
    def start(cls, points: HalfPoints, k: int) -> Lists:
        """Return empty lists, and limits from a sample."""
        padded, device = len(points.halves), points.halves.device
        n = len(points.order)
        limit = _first_limit(points, k)
        reach = torch.full_like(points.low, _FAR)
        reach[:n] = points.low[:n] - limit[:n]
        return cls(
            points,
            k,
            torch.empty((padded, _ROOM), dtype=torch.int32, device=device),
            torch.empty((padded, _ROOM), dtype=torch.int16, device=device),
            torch.empty((padded, _ROOM), dtype=torch.float32, device=device),
            torch.zeros(padded, dtype=torch.int32, device=device),
            torch.zeros(padded, dtype=torch.int32, device=device),
            limit,
            reach,
        )

    @property
    def n(self) -> int:
        return len(self.points.order)

    def longest(self) -> int:
        """Return the length that only one list in a thousand exceeds."""
        lengths = self.counts[: self.n].clamp(max=_ROOM).bincount(minlength=_ROOM + 1)
        exceeding = self.n - lengths.cumsum(0)
        return int((exceeding > self.n // 1000).sum())

    def meet(self, first: int, last: int) -> None:
        """Let every tile I meet the tiles I + δ, for δ from ``first`` to ``last`` - 1."""
        points = self.points
        _pairs_kernel[(points.n_tiles * (last - first),)](
            points.tiles,
            points.low,
            self.reach,
            self.entries,
            self.members,
            self.bounds,
            self.counts,
            points.n_tiles,
            first,
            last,
            ROOM=_ROOM,
            D=points.size,
            BK=_STEP,
            TILE=TILE,
            G=GROUP,
            SPAN=64,
            num_warps=4,
            num_stages=3,
        )

    def prune(self) -> None:
        """Lower the limits, and drop what lies above."""
        points, together = self.points, max(1, 512 // _ROOM)
        _prune_kernel[(triton.cdiv(self.n, together),)](
            self.entries,
            self.members,
            self.bounds,
            self.counts,
            self.over,
            self.limit,
            self.reach,
            points.low,
            points.slack,
            points.slack.view(-1, GROUP).amax(dim=1),
            self.n,
            self.k,
            FUZZ=points.fuzz,
            ROOM=_ROOM,
            ROUND=_ROUND,
            ROWS=together,
            num_warps=4,
        )

    def open(self, longer_than: int) -> None:
        """Measure the rows of the groups on long lists, and prune again."""
        rows = (self.counts[: self.n] > longer_than).nonzero().ravel()
        for part in rows.split(_OPENED):
            self._open(part)
        if len(rows):
            self.prune()

    def _open(self, rows: Any) -> None:
        points, device = self.points, rows.device
        entries = torch.empty((len(rows), _ROOM), dtype=torch.int32, device=device)
        bounds = torch.empty((len(rows), _ROOM), dtype=torch.float32, device=device)
        found = torch.empty(len(rows), dtype=torch.int32, device=device)
        _open_kernel[(len(rows),)](
            points.rows,
            points.order,
            points.stretch,
            points.scale,
            self.limit,
            self.entries,
            self.members,
            self.bounds,
            self.counts,
            rows,
            entries,
            bounds,
            found,
            points.rows.shape[1],
            UNIT=points.unit,
            FUZZ=points.fuzz,
            ROUND=_ROUND,
            ROOM=_ROOM,
            D=points.size,
            BK=min(512, triton.next_power_of_2(points.size)),
            G=GROUP,
            SLOTS=_SLOTS,
            num_warps=4,
        )
        self.entries[rows] = entries
        self.bounds[rows] = bounds
        self.counts[rows] = found


def find_candidates(points: HalfPoints, k: int) -> tuple[Any, Any, Any]:
    """Return pairs (query, row) of all that may be near, and which queries to search otherwise.

    Parameters
    ----------
    points : HalfPoints
        The rows.
    k : int
        How many neighbors are wanted.

    Returns
    -------
    queries, rows : tensors of int64
        Row numbers of the data; in ascending order of queries, then rows.
    left : tensor of int64
        Queries that are not among them, because a list overflowed.
    """
    lists = Lists.start(points, k)
    end = points.n_tiles // 2 + 1
    first, last, kept = 0, _first_step(k), 0
    with loop("Searching neighbors", end, "diagonals of tiles") as progress:
        while first < end:
            if last + (last - first) // 2 > end:  # what would be left is not worth a phase
                last = end
            lists.meet(first, last)
            rate = (lists.longest() - kept) / (last - first)
            lists.prune()
            lists.open(max(_LONG, 2 * k))
            kept = lists.longest()
            progress.advance(last - first)
            step = _next_step(last, end, (_ROOM - kept) / max(rate, 1e-9))
            first, last = last, last + min(step, _TILES // points.n_tiles)
    lists.open(0)
    return _pairs_left(lists)


def _first_step(k: int) -> int:
    """Return how many tiles to meet first, so that what is within the first limits fits the lists.

    A group of the sample is within its row's with a share of k in all. Those on lists are smaller,
    and a tile meets others both with its rows and with its columns.
    """
    n_groups = _SAMPLE // _FIRST
    share = 1 - (1 - k / n_groups) ** (GROUP / _FIRST)
    fitting = 0.6 * _ROOM / (2 * (TILE // GROUP) * share)
    return max(1, min(_SAMPLE // TILE, int(fitting)))


def _next_step(met: int, end: int, fitting: float) -> int:
    """Return how many tiles to meet next: half as many again, if the lists have room for them.

    Where they fill up fast it is less, but a small part of all, so that the phases come to an end.
    """
    return max(1, min(met // 2, max(int(0.6 * fitting), end // 128)))


def _pairs_left(lists: Lists) -> tuple[Any, Any, Any]:
    """Return who is on the lists, in the order of the data, and whose list overflowed."""
    n, order = lists.n, lists.points.order
    over = lists.over[:n] > 0
    counts = lists.counts[:n].long().masked_fill_(over, 0)
    place = torch.repeat_interleave(counts)
    slot = torch.arange(len(place), device=place.device) - (counts.cumsum(0) - counts)[place]
    queries, rows = order[place], order[-1 - lists.entries[place, slot].long()]
    by_row = (queries * n + rows).argsort()
    return queries[by_row], rows[by_row], order[over]


def _first_limit(points: HalfPoints, k: int) -> Any:
    """Return the k-th smallest upper bound of groups of a sample, for every row."""
    padded = len(points.halves)
    n_groups = _SAMPLE // _FIRST
    smallest = torch.empty((padded, n_groups), dtype=torch.float32, device=points.halves.device)
    _first_kernel[(points.n_tiles, _SAMPLE // TILE)](
        points.tiles,
        points.low,
        smallest,
        N_GROUPS=n_groups,
        D=points.size,
        BK=_STEP,
        TILE=TILE,
        G=_FIRST,
        num_warps=4,
        num_stages=3,
    )
    smallest += points.slack[:_SAMPLE].view(n_groups, _FIRST).amax(dim=1)
    reach = smallest.topk(k, dim=1, largest=False, sorted=False).values.amax(dim=1) + points.slack
    return reach + reach.abs() * _ROUND


def measure_pairs(A: Any, B: Any, rows_a: Any, rows_b: Any, width: np.ndarray) -> Any:
    """Return the Euclidean distances of pairs of rows, with the bits of any other engine's."""
    total = torch.empty(len(rows_a), dtype=torch.float64, device=A.device)
    if len(total):
        # A fused multiply-add would round once where all other engines round twice.
        _measure_kernel[(triton.cdiv(len(total), 128),)](
            A,
            B,
            rows_a,
            rows_b,
            torch.as_tensor(width, device=A.device),
            total,
            len(total),
            A.shape[1],
            SCALED=bool((width != 1).any()),
            BLOCK=128,
            num_warps=4,
            enable_fp_fusion=False,
        )
    return total.sqrt_()
