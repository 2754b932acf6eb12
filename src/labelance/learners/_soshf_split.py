"""The split of a SOSHF node: labels become two classes, and a sparse oblique split parts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance.learners._kernels import gradient_ascent, project

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LLOYD_STEPS = 25
STEPS = 50
HALVINGS = 20
TOLERANCE = 1e-9  # less than this is rounding, not progress


def label_costs(Y: sp.csr_array) -> Floats:
    """Return omega_j = 1 / (p_j + 1 / n) scaled to sum 1; 0 for labels constant in the node."""
    n, counts = Y.shape[0], column_counts(Y)
    omega = np.where((counts > 0) & (counts < n), n / (counts + 1.0), 0.0)
    return omega / (np.cumsum(omega)[-1] or 1.0)


def two_classes(Y: sp.csr_array, omega: Floats, chance: Floats) -> Bools:
    """Divide the rows of a node by 2-means of z = sqrt(omega) y; True is the smaller cluster.

    ``chance`` has two uniform random numbers, for the seeds. The rows differ in some label.
    """
    ones_and_Y = sp.hstack([sp.csr_array(np.ones((Y.shape[0], 1))), Y], format="csr")
    first = int(chance[0] * Y.shape[0])
    from_first = _distances(ones_and_Y, omega, Y[[first]].toarray()[0])
    second = _second_seed(from_first, chance[1])
    distance = np.array([from_first, _distances(ones_and_Y, omega, Y[[second]].toarray()[0])])
    cluster = _nearest(distance)
    for _ in range(LLOYD_STEPS):
        shares = [column_counts(Y[rows]) / rows.sum() for rows in (~cluster, cluster)]
        distance = np.array([_distances(ones_and_Y, omega, share) for share in shares])
        before, cluster = cluster, _nearest(distance)
        if (cluster == before).all():
            break
    in_second = int(cluster.sum())
    if 2 * in_second > len(cluster) or (2 * in_second == len(cluster) and not cluster[0]):
        return ~cluster
    return cluster


def _distances(ones_and_Y: sp.csr_array, omega: Floats, shares: Floats) -> Floats:
    """Return the squared distance of every row to a center with these shares of ones.

    Labels stay sparse: ``|z - center|^2 = sum omega y - 2 sum omega s y + sum omega s^2``.
    """
    length = np.cumsum(omega * shares * shares)[-1]
    distance = ones_and_Y @ np.append(length, omega * (1 - 2 * shares))
    return np.where(distance > 1e-12, distance, 0.0)  # what is left of equal terms is no distance


def _second_seed(distance: Floats, chance: float) -> int:
    """Choose a row with probability proportional to its squared distance to the first seed."""
    apart = np.flatnonzero(distance)
    total = np.cumsum(distance[apart])
    at = int(np.searchsorted(total, chance * total[-1], side="right"))
    return int(apart[min(at, len(apart) - 1)])


def _nearest(distance: Floats) -> Bools:
    """Say which rows are nearer to the second center; no cluster is empty."""
    cluster = distance[1] < distance[0]
    if cluster.all() or not cluster.any():
        farthest = np.argmax(distance.min(axis=0))
        cluster[farthest] = not cluster[farthest]
    return cluster


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
    column, b, value = scan(np.column_stack([project(X, a), X]), plus, search.min_leaf)
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
    Z, signed = np.ascontiguousarray(Z), np.where(plus, weight, -weight)
    best, best_value = np.zeros(Z.shape[1]), 0.0
    for start in [(signed[:, None] * Z).sum(axis=0), *directions]:
        length = np.sqrt((start * start).sum())
        if length > 0:
            a = start / length
            value = gradient_ascent(
                Z,
                plus.view(np.uint8),
                weight,
                a,
                search.l1,
                search.steepness,
                STEPS,
                HALVINGS,
                TOLERANCE,
            )
            if value > best_value + TOLERANCE:
                best, best_value = a, value
    return best


def hellinger_distances(right_of_plus: Any, right_of_minus: Any) -> Any:
    """Return Hellinger distances of two classes from their shares right of splits."""
    right = np.sqrt(right_of_plus) - np.sqrt(right_of_minus)
    left = np.sqrt(1 - right_of_plus) - np.sqrt(1 - right_of_minus)
    return np.sqrt(right * right + left * left)


def scan(along: Floats, plus: Bools, min_leaf: int) -> tuple[int, float, float]:
    """Return the column and midpoint that part the classes best, and the Hellinger distance.

    Of equal ones the first is taken.
    """
    n, n_plus = len(along), int(plus.sum())
    order = np.argsort(along, axis=0, kind="stable")
    inner = slice(min_leaf - 1, n - min_leaf)  # the last rows left of the cuts
    left = np.arange(1, n + 1)[inner, None]
    left_plus = np.cumsum(plus[order], axis=0)[inner]
    ordered = np.take_along_axis(along, order, axis=0)
    low, high = ordered[inner], ordered[min_leaf : n - min_leaf + 1]
    value = hellinger_distances(1 - left_plus / n_plus, 1 - (left - left_plus) / (n - n_plus))
    value[low == high] = 0.0
    found = value.T.ravel()
    best, place = 0.0, 0
    for record in np.flatnonzero(found > np.maximum.accumulate([0.0, *found[:-1]])):
        if found[record] > best + TOLERANCE:
            best, place = float(found[record]), int(record)
    if best == 0:
        return 0, 0.0, 0.0
    column, at = divmod(place, len(value))
    below, above = float(low[at, column]), float(high[at, column])
    middle = below + (above - below) / 2
    return column, middle if middle < above else below, best
