"""The arithmetic of C4.5: entropy, gain, the pessimistic error, and who wins a tie.

J48 compares with a tolerance of 1e-6 almost everywhere, and these tolerances decide which of
two equally good splits is taken, so they are part of the algorithm.

References
----------
J. R. Quinlan, C4.5: Programs for Machine Learning, 1993; J. R. Quinlan, Improved use of
continuous attributes in C4.5, JAIR 4, 1996.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from labelance.exceptions import InputError
from labelance.learners.tree._piece import piece

EPS = 1e-6  # tolerance of J48's comparisons
VALUE_GAP = 1e-5  # two numbers closer than this are never separated
SLACK = 1e-3  # how far below the average gain a split may lie
PRUNE_SLACK = 0.1  # errors by which a smaller tree may be worse and still win
LN2 = log(2.0)

# A feature at a node: can never split below here; cannot split here; can split here; can, but
# does not count in the average gain.
DEAD, ALIVE, VALID, UNCOUNTED = 0, 1, 2, 3


class Rules(NamedTuple):
    """The options of J48, as compiled code takes them."""

    min_leaf: float
    confidence: float
    z: float  # quantile of the normal distribution at 1 - confidence
    mdl_correction: bool
    collapse: bool
    prune: bool
    subtree_raising: bool


def make_rules(
    *,
    min_leaf: float = 2,
    confidence: float = 0.25,
    mdl_correction: bool = True,
    collapse: bool = True,
    prune: bool = True,
    subtree_raising: bool = True,
) -> Rules:
    """Return the rules; the defaults are those of ``J48 -C 0.25 -M 2``."""
    if not 0 < confidence < 1:
        raise InputError(
            "confidence is a number between 0 and 1",
            f"it is {confidence!r}",
            "J48 takes 0.25",
        )
    if not min_leaf >= 1:
        raise InputError("min_leaf is at least 1", f"it is {min_leaf!r}", "J48 takes 2")
    return Rules(
        float(min_leaf),
        float(confidence),
        float(ndtri(1 - confidence)),
        bool(mdl_correction),
        bool(collapse),
        bool(prune),
        bool(subtree_raising),
    )


@piece
def xlogx(x: float) -> float:
    """Return x ln x, nothing for what is nearly zero."""
    return 0.0 if x < EPS else x * log(x)


@piece
def smallest_side(known: float, n_classes: int, min_leaf: float) -> float:
    """Return the least weight on either side of a numeric cut."""
    share = 0.1 * known / n_classes
    if share - min_leaf < EPS:
        return min_leaf
    return 25.0 if share - 25.0 > EPS else share


@piece
def is_settled(weight: float, largest: float, min_leaf: float) -> bool:
    """Tell whether a node is a leaf before any feature is looked at: too light, or pure."""
    return 2 * min_leaf - weight > EPS or abs(weight - largest) < EPS


@piece
def averaged_features(n_categories: NDArray, weight: float) -> NDArray:
    """Tell which features count in the average gain: not those of very many categories.

    ``weight`` is that of the root. If all features have very many categories, all count.
    """
    averaged, any_few = np.zeros(len(n_categories), np.bool_), False
    for f in range(len(n_categories)):
        averaged[f] = n_categories[f] == 0 or 0.3 * weight - n_categories[f] > EPS
        any_few = any_few or averaged[f]
    if not any_few:
        averaged[:] = True
    return averaged


@piece
def choose(n: int, status: NDArray, gain: NDArray, ratio: NDArray) -> int:
    """Return the position of the winner among ``n`` candidates, or -1 for a leaf.

    The largest gain ratio wins among the splits of at least average gain; the first feature
    keeps a tie.
    """
    total, count = 0.0, 0
    for i in range(n):
        if status[i] == VALID:
            total += gain[i]
            count += 1
    if count == 0:
        return -1
    least, best, winner = total / count - SLACK, 0.0, -1
    for i in range(n):
        if status[i] >= VALID and gain[i] >= least and ratio[i] - best > EPS:
            best, winner = ratio[i], i
    return winner


@piece
def added_errors(N: float, e: float, rules: Rules) -> float:
    """Return the errors to add to ``e`` seen among ``N``: an upper confidence limit."""
    if rules.confidence > 0.5:
        return 0.0
    if e < 1:
        base = N * (1 - exp(log(rules.confidence) / N))
        if e == 0:
            return base
        return base + e * (_normal_limit(N, 1.0, rules.z) - base)
    return _normal_limit(N, e, rules.z)


@piece
def _normal_limit(N: float, e: float, z: float) -> float:
    if e + 0.5 >= N:
        return max(N - e, 0.0)
    f = (e + 0.5) / N
    spread = z * sqrt(f / N - f * f / N + z * z / (4 * N * N))
    return (f + z * z / (2 * N) + spread) / (1 + z * z / N) * N - e


@piece
def pessimistic_errors(histogram: NDArray, first: int, n_classes: int, rules: Rules) -> float:
    """Return the estimated errors of a leaf with the class weights ``histogram[first:]``."""
    total, largest = 0.0, 0.0
    for c in range(first, first + n_classes):
        total += histogram[c]
        largest = max(largest, histogram[c])
    if total < EPS:
        return 0.0
    return total - largest + added_errors(total, total - largest, rules)
