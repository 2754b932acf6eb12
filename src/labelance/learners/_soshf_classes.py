"""The first half of a SOSHF node: labels become two classes, rare labels counting more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LLOYD_STEPS = 25


@kernel
def label_costs(
    rows: Ints, indptr: NDArray[np.int32], indices: NDArray[np.int32], q: int
) -> Floats:
    """Return omega_j = 1 / (p_j + 1 / n) scaled to sum 1; 0 for labels constant in the node."""
    n = len(rows)
    counts = np.zeros(q, dtype=np.int64)
    for row in rows:
        for at in range(indptr[row], indptr[row + 1]):
            counts[indices[at]] += 1
    omega, total = np.zeros(q), 0.0
    for j in range(q):
        if 0 < counts[j] < n:
            omega[j] = n / (counts[j] + 1.0)
            total += omega[j]
    for j in range(q):
        if omega[j] > 0:
            omega[j] /= total
    return omega


@kernel
def two_classes(
    rows: Ints,
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    omega: Floats,
    chance: Floats,
) -> Bools:
    """Divide the rows of a node by 2-means of z = sqrt(omega) y; True is the smaller cluster.

    Labels stay sparse: with s the shares of ones in a cluster,
    ``|z - center|^2 = sum omega y - 2 sum omega s y + sum omega s^2``.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Rows of the node, in increasing order, not all with the same labels.
    indptr, indices : ndarray
        The labels of all rows, as in CSR.
    omega : ndarray of shape (q,)
        Label costs.
    chance : ndarray of shape (2,)
        Two uniform random numbers, for the seeds.
    """
    n = len(rows)
    shares, distance = np.zeros((2, len(omega))), np.empty((2, n))
    cluster = np.zeros(n, dtype=np.bool_)
    first = int(chance[0] * n)
    _center_on(shares[0], rows[first], indptr, indices)
    _measure(distance[0], rows, indptr, indices, omega, shares[0])
    second = _second_seed(distance[0], chance[1])
    _center_on(shares[1], rows[second], indptr, indices)
    _measure(distance[1], rows, indptr, indices, omega, shares[1])
    _move_to_nearest(cluster, distance)
    for _ in range(LLOYD_STEPS):
        _center(shares, cluster, rows, indptr, indices)
        _measure(distance[0], rows, indptr, indices, omega, shares[0])
        _measure(distance[1], rows, indptr, indices, omega, shares[1])
        if not _move_to_nearest(cluster, distance):
            break
    _call_the_smaller_true(cluster)
    return cluster


@kernel
def _center_on(
    shares: Floats, row: int, indptr: NDArray[np.int32], indices: NDArray[np.int32]
) -> None:
    for at in range(indptr[row], indptr[row + 1]):
        shares[indices[at]] = 1


@kernel
def _center(
    shares: Floats,
    cluster: Bools,
    rows: Ints,
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
) -> None:
    """Write the shares of ones of both clusters."""
    size = np.zeros(2)
    for c in range(2):
        for j in range(shares.shape[1]):
            shares[c, j] = 0.0
    for i in range(len(rows)):
        c = int(cluster[i])
        size[c] += 1
        for at in range(indptr[rows[i]], indptr[rows[i] + 1]):
            shares[c, indices[at]] += 1
    for c in range(2):
        for j in range(shares.shape[1]):
            shares[c, j] /= size[c]


@kernel
def _measure(
    distance: Floats,
    rows: Ints,
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    omega: Floats,
    shares: Floats,
) -> None:
    """Write the squared distance of every row to a center."""
    length = 0.0
    for j in range(len(omega)):
        length += omega[j] * shares[j] * shares[j]
    for i in range(len(rows)):
        total = length
        for at in range(indptr[rows[i]], indptr[rows[i] + 1]):
            j = indices[at]
            total += omega[j] * (1 - 2 * shares[j])
        distance[i] = total if total > 1e-12 else 0.0  # what is left of equal terms is no distance


@kernel
def _second_seed(distance: Floats, chance: float) -> int:
    """Choose a row with probability proportional to its squared distance to the first seed."""
    aim = 0.0
    for i in range(len(distance)):
        aim += chance * distance[i]
    last = 0
    for i in range(len(distance)):
        if distance[i] > 0:
            last = i
            aim -= distance[i]
            if aim < 0:
                break
    return last


@kernel
def _move_to_nearest(cluster: Bools, distance: Floats) -> bool:
    """Assign every row to the nearer center; tell whether anything changed."""
    n, moved, in_second = len(cluster), 0, 0
    farthest = 0
    for i in range(n):
        nearer = distance[1, i] < distance[0, i]
        moved += int(nearer != cluster[i])
        in_second += int(nearer)
        cluster[i] = nearer
        if min(distance[0, i], distance[1, i]) > min(distance[0, farthest], distance[1, farthest]):
            farthest = i
    if in_second in (0, n):  # a cluster is empty: reseed it with the farthest point
        cluster[farthest] = not cluster[farthest]
        return True
    return moved > 0


@kernel
def _call_the_smaller_true(cluster: Bools) -> None:
    """Swap the clusters if the second is larger, or as large without the lowest row."""
    size = 0
    for here in cluster:
        size += int(here)
    if 2 * size > len(cluster) or (2 * size == len(cluster) and not cluster[0]):
        for i in range(len(cluster)):
            cluster[i] = not cluster[i]
