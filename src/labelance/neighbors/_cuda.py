"""Engine for many rows on an NVIDIA GPU: half products of all pairs in Triton, never written.

Every pair of rows is scored once, for both of its rows, in tiles of 128 x 128 float16 products.

1. Rows are centred, scaled by a power of two, shuffled and rounded to float16 (:class:`Points`).
2. With h = |y|²/2, a score h_i + h_j - b_i·b_j is off from half the squared distance by at most
   e_i + e_j: the rounding y - b = r by Cauchy-Schwarz, 2 |r_i||b_j| <= λ |b_j|² + |r_i|²/λ; sums in
   a tensor core, 1.5 d 2⁻²³ |b_i||b_j|; a few float32 roundings, 2⁻²¹ |y|². So
   L = (h_i - e_i) + (h_j - e_j) - b_i·b_j is a lower bound, and L + 2 e_i + 2 e_j an upper one.
3. Groups of 16 rows are disjoint. So the k-th smallest upper bound of a row's groups bounds its
   k-th distance: the row's limit T, at first from 4,096 rows.
4. Tile I meets the tiles I + δ; the number of tiles is odd, so δ = 0 … (tiles - 1) / 2 meets every
   pair once. A group whose smallest L is at most T goes onto the row's list.
5. δ runs in phases that grow by half. After each one, lists are pruned and limits fall. As rows are
   shuffled, the number of additions grows with log n, whatever the data.
6. Where that leaves too much (tight clusters), all is done again with two float16 numbers for each
   value, y = b + c + r: three products instead of one, b_i·b_j + b_i·c_j + c_i·b_j, summed in
   float32 after every 32 terms. That leaves out c_i·c_j; bounds are about ten times as tight.
7. At the end the rows of the groups left are scored one by one, and those with L <= T are ranked by
   exact distances. Whatever could be among the k nearest was listed. Rows whose list overflowed
   are searched again by the engine for any device.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

TILE, GROUP, _FIRST = 128, 16, 32  # rows of a tile, of a group, of a group for the first limit
_SAMPLE = 4096  # rows that give the first limit
_ROOM = 128  # groups on the longest list
_FAR = 1e30  # bounds of rows that are none
_ROUND = 2.0**-20


@dataclass(frozen=True, eq=False)
class Points:
    """Shuffled rows in float16, with what bounds the error of their scores.

    Parameters
    ----------
    order : tensor of int64 of shape (n,)
        Which row each point is.
    halves : float16 tensor of shape (tiles * TILE, width), or twice that width
        The points, and with ``precise`` the rest of each value; rows and columns that are none
        are zero.
    low : float32 tensor
        h - e of each point.
    slack : float32 tensor
        2 e of each point, rounded up.
    """

    order: Any
    halves: Any
    low: Any
    slack: Any
    precise: bool

    @property
    def layout(self) -> dict[str, Any]:
        """Return what kernels have to know at compile time."""
        width = self.halves.shape[1]
        size = width // 2 if self.precise else width
        return {"D": size, "STRIDE": width, "BK": 32 if self.precise else 64, "SPLIT": self.precise}

    @property
    def n_tiles(self) -> int:
        return len(self.halves) // TILE


def place_points(rows: Any, center: Any, width: Any, *, unit: bool, precise: bool) -> Points | None:
    """Return the points of the rows; None if they do not fit float16 at any scale."""
    n, d = rows.shape
    device = rows.device
    generator = torch.Generator(device=device).manual_seed(0)
    order = torch.randperm(n, generator=generator, device=device)
    n_tiles = -(-n // TILE)
    padded = (n_tiles + 1 - n_tiles % 2) * TILE
    size = -(-d // 64) * 64
    halves = torch.zeros((padded, size * (1 + precise)), dtype=torch.float16, device=device)
    lengths = torch.zeros((4, n), dtype=torch.float64, device=device)  # |y|², |b|², |c|², |r|²
    factor = _choose_factor(rows, center, width, unit=unit)
    if factor is None:
        return None
    step = max(1, (1 << 26) // d)
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        y = (rows[order[part]] - center).div_(width)
        if unit:
            norms = y.square().sum(dim=1, keepdim=True).sqrt_()
            y.div_(norms.masked_fill_(norms == 0, 1.0))
        y.mul_(factor)
        lengths[0, part] = y.square().sum(dim=1)
        b = y.half()
        halves[part, :d] = b
        lengths[1, part] = b.double().square_().sum(dim=1)
        y.sub_(b)
        if precise:
            c = y.half()
            halves[part, size : size + d] = c
            lengths[2, part] = c.double().square_().sum(dim=1)
            y.sub_(c)
        lengths[3, part] = y.square_().sum(dim=1)
    return Points(order, halves, *_bounds(lengths, padded, size, precise=precise), precise)


def _choose_factor(rows: Any, center: Any, width: Any, *, unit: bool) -> float | None:
    """Return the power of two that brings the largest coordinate to about 2¹³."""
    if unit:
        return 2.0**13
    low, high = rows.aminmax(dim=0)
    largest = float(torch.maximum((high - center).abs(), (low - center).abs()).div(width).max())
    if not 1e-100 < largest < 1e100:
        return None
    return float(2.0 ** (13 - np.frexp(largest)[1]))


def _bounds(lengths: Any, padded: int, d: int, *, precise: bool) -> tuple[Any, Any]:
    """Return h - e and 2 e of every point, in float32."""
    y2, b2, c2, r2 = lengths
    # Terms summed one after the other: within a product, and then products of 32 in float32.
    terms = 32 + 3 * d / 32 if precise else d
    length = (b2.sqrt() + c2.sqrt()).square()
    share = (r2.sum() / length.sum().clamp(min=1e-300)).sqrt().clamp(min=2.0**-26)
    e = 0.5 * (share * length + r2 / share + r2 + c2)
    e += 0.75 * terms * 2.0**-23 * length + 2.0**-21 * y2
    low = torch.full((padded,), _FAR, dtype=torch.float32, device=y2.device)
    slack = torch.zeros(padded, dtype=torch.float32, device=y2.device)
    low[: len(e)] = (0.5 * y2 - e).float()
    slack[: len(e)] = (2 * e * (1 + _ROUND)).float()
    return low, slack


@triton.jit
def _tile_product(
    X,
    rows,
    columns,
    one,
    D: tl.constexpr,
    STRIDE: tl.constexpr,
    BK: tl.constexpr,
    SPLIT: tl.constexpr,
    TILE: tl.constexpr,
):
    """Return the dot products of a tile of rows with a tile of columns."""
    inner = tl.arange(0, BK)
    a_at = X + rows[:, None].to(tl.int64) * STRIDE + inner[None, :]
    b_at = X + columns[None, :].to(tl.int64) * STRIDE + inner[:, None]
    product = tl.zeros((TILE, TILE), dtype=tl.float32)
    if SPLIT:
        for k in range(0, D, BK):
            a, b = tl.load(a_at + k), tl.load(b_at + k)
            # Times a one that the compiler does not know: it must not sum on in the tensor core.
            product += tl.dot(a, tl.load(b_at + D + k)) * one
            product += tl.dot(tl.load(a_at + D + k), b) * one
            product += tl.dot(a, b) * one
    else:
        for _ in range(0, D, BK):
            product = tl.dot(tl.load(a_at), tl.load(b_at), product)
            a_at += BK
            b_at += BK
    return product


@triton.jit
def _first_kernel(
    X,
    LOW,
    OUT,
    one,
    N_GROUPS: tl.constexpr,
    D: tl.constexpr,
    STRIDE: tl.constexpr,
    BK: tl.constexpr,
    SPLIT: tl.constexpr,
    TILE: tl.constexpr,
    G: tl.constexpr,
):
    """Write the smallest lower bound of each group of the sample, for every row."""
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    product = _tile_product(X, rows, columns, one, D, STRIDE, BK, SPLIT, TILE)
    bound = tl.load(LOW + rows)[:, None] + tl.load(LOW + columns)[None, :] - product
    bound = tl.where(rows[:, None] == columns[None, :], 3e38, bound)
    smallest = tl.min(tl.reshape(bound, (TILE, TILE // G, G)), 2)
    groups = tl.program_id(1) * (TILE // G) + tl.arange(0, TILE // G)
    tl.store(OUT + rows[:, None].to(tl.int64) * N_GROUPS + groups[None, :], smallest)


@triton.jit
def _append(LISTS, BOUNDS, COUNTS, row, group, bound, ROOM: tl.constexpr):
    """Put the groups whose bound is a number onto their rows' lists, as long as there is room."""
    listed = bound < 1e38
    place = tl.atomic_add(COUNTS + row, 1, mask=listed, sem="relaxed")
    listed = listed & (place < ROOM)
    at = row.to(tl.int64) * ROOM + place
    tl.store(LISTS + at, group, mask=listed)
    tl.store(BOUNDS + at, bound, mask=listed)


@triton.jit
def _pairs_kernel(
    X,
    LOW,
    REACH,
    LISTS,
    BOUNDS,
    COUNTS,
    n_tiles,
    first,
    last,
    one,
    ROOM: tl.constexpr,
    D: tl.constexpr,
    STRIDE: tl.constexpr,
    BK: tl.constexpr,
    SPLIT: tl.constexpr,
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
    product = _tile_product(X, rows, columns, one, D, STRIDE, BK, SPLIT, TILE)
    low_i, reach_i = tl.load(LOW + rows)[:, None], tl.load(REACH + rows)[:, None]
    low_j, reach_j = tl.load(LOW + columns)[None, :], tl.load(REACH + columns)[None, :]
    near = product >= tl.minimum(reach_i + low_j, reach_j + low_i)
    if tl.max(tl.max(near.to(tl.int32), 1), 0) > 0:
        other = rows[:, None] != columns[None, :]
        bound = low_i + low_j - product
        for_rows = tl.where((product >= reach_i + low_j) & other, bound, 3e38)
        smallest = tl.min(tl.reshape(for_rows, (TILE, TILE // G, G)), 2)
        groups = j * (TILE // G) + tl.arange(0, TILE // G)
        _append(
            LISTS,
            BOUNDS,
            COUNTS,
            tl.broadcast_to(rows[:, None], (TILE, TILE // G)),
            tl.broadcast_to(groups[None, :], (TILE, TILE // G)),
            smallest,
            ROOM,
        )
        for_columns = tl.where((product >= reach_j + low_i) & (i != j), bound, 3e38)
        smallest = tl.min(tl.reshape(for_columns, (TILE // G, G, TILE)), 1)
        groups = i * (TILE // G) + tl.arange(0, TILE // G)
        _append(
            LISTS,
            BOUNDS,
            COUNTS,
            tl.broadcast_to(columns[None, :], (TILE // G, TILE)),
            tl.broadcast_to(groups[:, None], (TILE // G, TILE)),
            smallest,
            ROOM,
        )


@triton.jit
def _prune_kernel(
    LISTS,
    BOUNDS,
    COUNTS,
    OVER,
    LIMIT,
    REACH,
    LOW,
    SLACK,
    GROUP_SLACK,
    n,
    k,
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
    group = tl.load(LISTS + at, mask=listed, other=0)
    bound = tl.load(BOUNDS + at, mask=listed, other=3e38)
    slack = tl.load(SLACK + rows, mask=inside, other=0.0)
    upper = bound + slack[:, None] + tl.load(GROUP_SLACK + group, mask=listed, other=0.0)
    limit = tl.load(LIMIT + rows, mask=inside, other=0.0)
    reach = tl.min(upper, 1)
    for _ in range(1, k):
        best = tl.argmin(upper, 1)
        upper = tl.where(slots[None, :] == best[:, None], 3e38, upper)
        reach = tl.min(upper, 1)
    limit = tl.minimum(limit, reach + tl.abs(reach) * ROUND)
    keep = listed & (bound <= limit[:, None])
    place = tl.cumsum(keep.to(tl.int32), 1) - 1
    to = rows[:, None].to(tl.int64) * ROOM + place
    tl.debug_barrier()
    tl.store(LISTS + to, group, mask=keep)
    tl.store(BOUNDS + to, bound, mask=keep)
    tl.store(OVER + rows, 1, mask=inside & (count > ROOM))
    tl.store(COUNTS + rows, tl.sum(keep.to(tl.int32), 1), mask=inside)
    tl.store(LIMIT + rows, limit, mask=inside)
    low = tl.load(LOW + rows, mask=inside, other=0.0)
    tl.store(REACH + rows, low - limit, mask=inside)


@triton.jit
def _rescore_kernel(
    X,
    LOW,
    LIMIT,
    LISTS,
    COUNTS,
    OUT,
    FOUND,
    ROOM: tl.constexpr,
    D: tl.constexpr,
    STRIDE: tl.constexpr,
    BK: tl.constexpr,
    SPLIT: tl.constexpr,
    G: tl.constexpr,
    OUT_ROOM: tl.constexpr,
):
    """Score the rows of a row's groups one by one, and list those within its limit."""
    row = tl.program_id(0)
    low, limit = tl.load(LOW + row), tl.load(LIMIT + row)
    found = 0
    for slot in range(tl.load(COUNTS + row)):
        members = tl.load(LISTS + row.to(tl.int64) * ROOM + slot) * G + tl.arange(0, G)
        product = tl.zeros((G,), dtype=tl.float32)
        for start in range(0, D, BK):
            inner = start + tl.arange(0, BK)
            a_at = X + row.to(tl.int64) * STRIDE + inner[None, :]
            b_at = X + members[:, None].to(tl.int64) * STRIDE + inner[None, :]
            a, b = tl.load(a_at).to(tl.float32), tl.load(b_at).to(tl.float32)
            product += tl.sum(a * b, 1)
            if SPLIT:
                product += tl.sum(a * tl.load(b_at + D).to(tl.float32), 1)
                product += tl.sum(tl.load(a_at + D).to(tl.float32) * b, 1)
        keep = (low + tl.load(LOW + members) - product <= limit) & (members != row)
        place = found + tl.cumsum(keep.to(tl.int32), 0) - 1
        at = row.to(tl.int64) * OUT_ROOM + place
        tl.store(OUT + at, members, mask=keep & (place < OUT_ROOM))
        found += tl.sum(keep.to(tl.int32), 0)
    tl.store(FOUND + row, found)


@triton.jit
def _measure_kernel(
    A, B, ROWS_A, ROWS_B, WIDTH, OUT, m, d, SCALED: tl.constexpr, BLOCK: tl.constexpr
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


def find_candidates(points: Points, n: int, k: int) -> tuple[Any, Any, Any]:
    """Return pairs (query, row) of all that may be near, and which queries to search otherwise.

    Parameters
    ----------
    points : Points
        The rows.
    n, k : int
        How many rows there are, and how many neighbors are wanted.

    Returns
    -------
    queries, rows : tensors of int64
        Row numbers of the data; in ascending order of queries, then rows.
    left : tensor of int64
        Queries that are not among them, because a list overflowed.
    """
    device, room = points.halves.device, _ROOM
    padded = len(points.halves)
    lists = torch.empty((padded, room), dtype=torch.int32, device=device)
    bounds = torch.empty((padded, room), dtype=torch.float32, device=device)
    counts = torch.zeros(padded, dtype=torch.int32, device=device)
    over = torch.zeros(padded, dtype=torch.int32, device=device)
    limit = _first_limit(points, n, k)
    reach = torch.full_like(points.low, _FAR)
    reach[:n] = points.low[:n] - limit[:n]
    group_slack = points.slack.view(-1, GROUP).amax(dim=1)
    n_tiles, edges = points.n_tiles, _phases(points.n_tiles)
    for first, last in pairwise(edges):
        _pairs_kernel[(n_tiles * (last - first),)](
            points.halves,
            points.low,
            reach,
            lists,
            bounds,
            counts,
            n_tiles,
            first,
            last,
            1.0,
            ROOM=room,
            TILE=TILE,
            G=GROUP,
            SPAN=16,
            num_warps=8,
            num_stages=3,
            **points.layout,
        )
        per = max(1, 512 // room)
        _prune_kernel[(triton.cdiv(n, per),)](
            lists,
            bounds,
            counts,
            over,
            limit,
            reach,
            points.low,
            points.slack,
            group_slack,
            n,
            k,
            ROOM=room,
            ROUND=_ROUND,
            ROWS=per,
            num_warps=4,
        )
    found = torch.zeros(n, dtype=torch.int32, device=device)
    out_room = max(64, 4 * k)
    out = torch.empty((n, out_room), dtype=torch.int32, device=device)
    _rescore_kernel[(n,)](
        points.halves,
        points.low,
        limit,
        lists,
        counts,
        out,
        found,
        ROOM=room,
        G=GROUP,
        OUT_ROOM=out_room,
        num_warps=2,
        **points.layout,
    )
    ready = (over[:n] == 0) & (found <= out_room)
    slots = torch.arange(out_room, device=device)
    place, slot = ((slots < found[:, None]) & ready[:, None]).nonzero(as_tuple=True)
    queries, rows = points.order[place], points.order[out[place, slot].long()]
    order = (queries * n + rows).argsort()
    return queries[order], rows[order], points.order[~ready]


def _first_limit(points: Points, n: int, k: int) -> Any:
    """Return the k-th smallest upper bound of groups of a sample, for every row."""
    padded = len(points.halves)
    n_groups = _SAMPLE // _FIRST
    smallest = torch.empty((padded, n_groups), dtype=torch.float32, device=points.halves.device)
    _first_kernel[(points.n_tiles, _SAMPLE // TILE)](
        points.halves,
        points.low,
        smallest,
        1.0,
        N_GROUPS=n_groups,
        TILE=TILE,
        G=_FIRST,
        num_warps=8,
        num_stages=3,
        **points.layout,
    )
    smallest += points.slack[:_SAMPLE].view(n_groups, _FIRST).amax(dim=1)
    reach = smallest.topk(k, dim=1, largest=False, sorted=False).values.amax(dim=1) + points.slack
    return reach + reach.abs() * _ROUND


def _phases(n_tiles: int) -> list[int]:
    """Return the edges of the phases of δ: each is half as long again as all before it."""
    edges, end = [0], n_tiles // 2 + 1
    reach = _SAMPLE // TILE
    while reach * 1.3 < end:
        edges.append(reach)
        reach = int(1.5 * reach) + 1
    return [*edges, end]


def measure_pairs(A: Any, B: Any, rows_a: Any, rows_b: Any, width: np.ndarray) -> Any:
    """Return the Euclidean distances of pairs of rows, with the bits of any other engine's."""
    total = torch.empty(len(rows_a), dtype=torch.float64, device=A.device)
    if len(total):
        # A fused multiply-add would round once where everybody else rounds twice.
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
