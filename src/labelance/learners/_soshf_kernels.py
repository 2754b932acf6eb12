"""The split of a SOSHF node: labels become two classes, and a sparse oblique split parts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import kernel

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


STEPS = 50
HALVINGS = 20
TOLERANCE = 1e-9  # less than this is rounding, not progress


@kernel
def hellinger(right_of_plus: float, right_of_minus: float) -> float:
    """Return the Hellinger distance of two classes from their shares right of a split."""
    right = np.sqrt(right_of_plus) - np.sqrt(right_of_minus)
    left = np.sqrt(1 - right_of_plus) - np.sqrt(1 - right_of_minus)
    return np.sqrt(right * right + left * left)


@dataclass(frozen=True, eq=False)
class SplitSearch:
    """How a split is looked for."""

    min_leaf: int
    l1: float
    steepness: float


def best_split(
    X: Floats, plus: Bools, directions: Floats, search: SplitSearch
) -> tuple[Floats, float, float]:
    """Find the split ``X @ a > b`` that tells two classes apart.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        Some features of the rows of a node.
    plus : ndarray of shape (n,)
        The class of every row; both classes occur.
    directions : ndarray of shape (restarts - 1, k)
        Where to start, in addition to the difference of class means.
    search : SplitSearch
        Least number of rows on each side, price of ``|a|_1`` and steepness of the soft split.

    Returns
    -------
    a : ndarray of shape (k,)
        Coefficients for the features as they are.
    b : float
        The threshold.
    value : float
        Hellinger distance of the split; 0 if there is none.
    """
    weight = np.where(plus, 1 / plus.sum(), 1 / (~plus).sum())
    mean, scale = balanced_moments(X, weight)
    varies = scale > 0
    Z = (X[:, varies] - mean[varies]) / scale[varies]
    a = np.zeros(X.shape[1])
    a[varies] = oblique_direction(Z, plus, weight, directions[:, varies], search) / scale[varies]
    # One scan for all: the oblique split comes first, and so a single feature must do better.
    along = np.column_stack([project(X, a), X])
    order = np.argsort(along, axis=0, kind="stable")
    column, b, value = scan(along, order, plus, search.min_leaf)
    if column > 0:
        a = np.zeros(X.shape[1])
        a[column - 1] = 1.0
    return a, b, value


def balanced_moments(X: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of every feature; the deviation is 0 if constant.

    Both classes weigh a half, so that a split does not depend on how many rows a class has.
    """
    share = weight[:, None] / 2
    mean = (share * X).sum(axis=0)
    scale = np.sqrt((share * (X - mean) ** 2).sum(axis=0))
    return mean, np.where((X == X[0]).all(axis=0), 0.0, scale)


def oblique_direction(
    Z: Floats, plus: Bools, weight: Floats, directions: Floats, search: SplitSearch
) -> Floats:
    """Maximise ``H(a, b) - l1 |a|_1`` over ``|a|_2 <= 1`` from several starts.

    The start is the difference of class means, and then every one of ``directions``; the
    result is 0 if nothing is worth its price.
    """
    signed = np.where(plus, weight, -weight)
    best, best_value = np.zeros(Z.shape[1]), 0.0
    for start in [(signed[:, None] * Z).sum(axis=0), *directions]:
        length = np.sqrt((start * start).sum())
        if length > 0:
            a = start / length
            value = gradient_ascent(Z, plus, weight, a, search.l1, search.steepness)
            if value > best_value + TOLERANCE:
                best, best_value = a, value
    return best


@kernel
def gradient_ascent(
    Z: Floats, plus: Bools, weight: Floats, a: Floats, l1: float, steepness: float
) -> float:
    """Move ``a`` uphill by proximal gradient steps with backtracking; return the objective."""
    along, soft = project(Z, a), np.empty(len(Z))
    b, trial, slope = 0.0, np.empty(len(a)), np.empty(len(a))
    for i in range(len(Z)):
        b += along[i] * weight[i] / 2  # the midpoint of the projected class means
    value, d_plus, d_minus = soft_hellinger(along, b, plus, weight, steepness, soft)
    value -= l1 * size(a)
    step = 1.0
    for _ in range(STEPS):
        slope_b = slopes(Z, plus, weight, steepness, soft, d_plus, d_minus, slope)
        moved = False
        for _ in range(HALVINGS):
            move(a, slope, step, l1, trial)
            trial_b = b + step * slope_b
            along = project(Z, trial)
            reached, e_plus, e_minus = soft_hellinger(along, trial_b, plus, weight, steepness, soft)
            reached -= l1 * size(trial)
            if reached > value + TOLERANCE:
                moved = True
                break
            step /= 2
        if not moved:
            break
        for f in range(len(a)):
            a[f] = trial[f]
        b, value = trial_b, reached
        d_plus, d_minus = e_plus, e_minus
        step *= 2
    return value


@kernel
def soft_hellinger(
    along: Floats, b: float, plus: Bools, weight: Floats, steepness: float, soft: Floats
) -> tuple[float, float, float]:
    """Write g = sigmoid(beta (a x - b)); return H and its slopes in the shares r+ and r-."""
    right_plus = right_minus = 0.0
    for i in range(len(along)):
        soft[i] = 1 / (1 + np.exp(-steepness * (along[i] - b)))
        if plus[i]:
            right_plus += weight[i] * soft[i]
        else:
            right_minus += weight[i] * soft[i]
    p = min(max(right_plus, 1e-12), 1 - 1e-12)
    m = min(max(right_minus, 1e-12), 1 - 1e-12)
    H = hellinger(p, m)
    if H < 1e-12:
        return 0.0, 0.0, 0.0
    by_plus = (np.sqrt((1 - m) / (1 - p)) - np.sqrt(m / p)) / (2 * H)
    by_minus = (np.sqrt((1 - p) / (1 - m)) - np.sqrt(p / m)) / (2 * H)
    return H, by_plus, by_minus


@kernel
def slopes(
    Z: Floats,
    plus: Bools,
    weight: Floats,
    steepness: float,
    soft: Floats,
    by_plus: float,
    by_minus: float,
    slope: Floats,
) -> float:
    """Write the slope of H in a; return that in b."""
    slope_b = 0.0
    for f in range(len(slope)):
        slope[f] = 0.0
    for i in range(len(Z)):
        by_share = by_plus if plus[i] else by_minus
        pull = by_share * weight[i] * steepness * soft[i] * (1 - soft[i])
        for f in range(len(slope)):
            slope[f] += pull * Z[i, f]
        slope_b -= pull
    return slope_b


@kernel
def move(a: Floats, slope: Floats, step: float, l1: float, out: Floats) -> None:
    """Take a step, pull every coefficient to 0 by its price, and all into the unit ball."""
    length = 0.0
    for f in range(len(a)):
        to = a[f] + step * slope[f]
        out[f] = max(to - step * l1, 0.0) + min(to + step * l1, 0.0)
        length += out[f] * out[f]
    if length > 1:
        for f in range(len(a)):
            out[f] /= np.sqrt(length)


@kernel
def size(a: Floats) -> float:
    """Return ``|a|_1``."""
    total = 0.0
    for f in range(len(a)):
        total += abs(a[f])
    return total


@kernel
def project(X: Floats, a: Floats) -> Floats:
    """Return ``X @ a``, added up in the order of features, as the forest does for new rows."""
    along = np.zeros(len(X))
    for i in range(len(X)):
        for f in range(len(a)):
            if a[f] != 0:
                along[i] += a[f] * X[i, f]
    return along


@kernel
def scan(
    along: Floats, order: NDArray[np.int64], plus: Bools, min_leaf: int
) -> tuple[int, float, float]:
    """Return the column and midpoint that part the classes best, and the Hellinger distance.

    Of equal ones the first is taken. ``order`` sorts every column.
    """
    n, n_plus = len(along), 0
    for i in range(n):
        n_plus += int(plus[i])
    column, threshold, best = 0, 0.0, 0.0
    for f in range(along.shape[1]):
        left_plus = 0
        for left in range(1, n - min_leaf + 1):
            last = order[left - 1, f]
            left_plus += int(plus[last])
            low, high = along[last, f], along[order[left, f], f]
            if left < min_leaf or low == high:
                continue
            value = hellinger(1 - left_plus / n_plus, 1 - (left - left_plus) / (n - n_plus))
            if value > best + TOLERANCE:
                middle = low + (high - low) / 2
                column, threshold, best = f, middle if middle < high else low, value
    return column, threshold, best
