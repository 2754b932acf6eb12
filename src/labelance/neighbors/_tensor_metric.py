"""Our own distances on tensors: the same float64 sums in the same order as the compiled ones.

Every step is one operation of torch, which rounds as IEEE 754 says and fuses nothing. So a
distance has the same bits on any device, and equal distances are equal everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labelance._arrays._torch import (
    has_triton,
    rows_per_block,
    square_root,
    to_device,
    to_host,
    torch_module,
)

# Squared differences may underflow in a distance below FAINT. It is measured again, times LIFT: a
# power of two rounds nothing, and this one is large enough for the smallest number that there is.
FAINT, LIFT = 2.0**-450, 2.0**600


def paired_distances(
    A: Any, B: Any, rows_a: np.ndarray, rows_b: np.ndarray, metric: Any
) -> np.ndarray:
    """Return the distance between row ``rows_a[t]`` of A and row ``rows_b[t]`` of B, for all t."""
    return to_host(measure(A, B, to_device(rows_a, A), to_device(rows_b, B), metric))


def measure(A: Any, B: Any, rows_a: Any, rows_b: Any, metric: Any) -> Any:
    """Return the same for tensors of row numbers, as a float64 tensor."""
    out = _measure_all(A, B, rows_a, rows_b, metric)
    if metric.cosine or A.element_size() < 8:  # squares of float32 numbers do not underflow
        return out
    faint = (out < FAINT).nonzero().flatten()
    for few in faint.split(rows_per_block(A)) if len(faint) else ():
        a, b = A[rows_a[few]].double(), B[rows_b[few]].double()
        out[few] = _euclidean(a, b, to_device(metric.width, A), lift=LIFT) / LIFT
    return out


def _measure_all(A: Any, B: Any, rows_a: Any, rows_b: Any, metric: Any) -> Any:
    torch = torch_module()
    if not metric.cosine and has_triton(A):
        from labelance.neighbors._cuda import measure_pairs

        with torch.cuda.device(A.device):
            return measure_pairs(A, B, rows_a, rows_b, metric.width)
    width = None if (metric.width == 1).all() else to_device(metric.width, A)
    pair = _cosine if metric.cosine else _euclidean
    out = torch.empty(len(rows_a), dtype=torch.float64, device=A.device)
    step = rows_per_block(A)
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        a, b = A[rows_a[part]].double(), B[rows_b[part]].double()
        out[part] = pair(a, b, width)
    return out


def _euclidean(a: Any, b: Any, width: Any, *, lift: float = 1.0) -> Any:
    gap = a.sub_(b)
    if width is not None:
        gap.div_(width)
    if lift != 1:
        gap.mul_(lift)
    return square_root(_sum_in_order(gap.mul_(gap)))


def _cosine(a: Any, b: Any, width: Any) -> Any:
    torch = torch_module()
    if width is not None:
        a, b = a / width, b / width
    ab, aa, bb = _sum_in_order(a * b), _sum_in_order(a * a), _sum_in_order(b * b)
    empty = (aa == 0) | (bb == 0)
    distance = 1.0 - ab / (square_root(aa) * square_root(bb))
    return torch.where(empty, torch.ones_like(ab), distance.clamp(min=0.0))


def _sum_in_order(cells: Any) -> Any:
    """Add up every row from the first column to the last; no reduction keeps an order."""
    by_column = cells.t().contiguous()
    total = by_column[0].clone()
    for column in by_column[1:]:
        total += column
    return total
