"""Options and criteria of C4.5: gain, gain ratio, pessimistic error, and how ties are broken.

J48 compares with a tolerance of 1e-6 almost everywhere, and these tolerances decide which of
two equally good splits is taken, so they are part of the algorithm.

References
----------
J. R. Quinlan, C4.5: Programs for Machine Learning, 1993; J. R. Quinlan, Improved use of
continuous attributes in C4.5, JAIR 4, 1996.
"""

from __future__ import annotations

from math import ceil, exp, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from labelance._utils._kernel import ONE, inner_kernel
from labelance.exceptions import InputError

EPS = 1e-6  # tolerance of J48's comparisons
VALUE_GAP = 1e-5  # two numbers closer than this are never separated
SLACK = 1e-3  # how far below the average gain a split may lie
PRUNE_SLACK = 0.1  # errors by which a smaller tree may be worse and still win
LN2 = log(2.0)
# A feature at a node: can never split below here; cannot split here; can split here; can, but
# does not count in the average gain.
DEAD, ALIVE, VALID, UNCOUNTED = 0, 1, 2, 3


class C45Options(NamedTuple):
    """Parameters of :class:`C45Classifier` as compiled code takes them."""

    min_samples_leaf: float
    confidence: float
    z: float  # quantile of the normal distribution at 1 - confidence
    mdl_correction: bool
    collapse: bool
    prune: bool
    subtree_raising: bool


def make_options(
    *,
    min_samples_leaf: float = 2,
    confidence: float = 0.25,
    mdl_correction: bool = True,
    collapse: bool = True,
    prune: bool = True,
    subtree_raising: bool = True,
) -> C45Options:
    """Validate the options and return them; the defaults are those of ``J48 -C 0.25 -M 2``."""
    if not 0 < confidence < 1:
        raise InputError(
            "confidence must be a number between 0 and 1",
            f"Got {confidence!r}",
            "Try 0.25, the default of J48",
        )
    if not min_samples_leaf >= 1:
        raise InputError(
            "min_samples_leaf must be at least 1",
            f"Got {min_samples_leaf!r}",
            "Try 2, the default of J48",
        )
    return C45Options(
        float(min_samples_leaf),
        float(confidence),
        float(ndtri(1 - confidence)),
        bool(mdl_correction),
        bool(collapse),
        bool(prune),
        bool(subtree_raising),
    )


@inner_kernel
def xlogx(x: float) -> float:
    """Return x ln x, or 0 where x is nearly 0."""
    return 0.0 if x < EPS else x * log(x)


@inner_kernel
def min_side_weight(known: float, n_classes: int, min_samples_leaf: float) -> float:
    """Return the least weight that a numeric split leaves on either side."""
    share = 0.1 * known / n_classes
    if share - min_samples_leaf < EPS:
        return min_samples_leaf
    return 25.0 if share - 25.0 > EPS else share


@inner_kernel
def must_be_leaf(weight: float, largest: float, min_samples_leaf: float) -> bool:
    """Return whether a node is too light or too pure to be split on any feature."""
    return 2 * min_samples_leaf - weight > EPS or abs(weight - largest) < EPS


@inner_kernel
def average_features(n_categories: NDArray, classes: NDArray, averaged: NDArray) -> None:
    """Note which features count in the average gain: not those of very many categories.

    ``classes`` are the class weights of the root. If all features have very many categories, all
    count.
    """
    weight, any_few = 0.0, False
    for c in range(len(classes)):
        weight += classes[c]
    for f in range(len(n_categories)):
        averaged[f] = n_categories[f] == 0 or 0.3 * weight - n_categories[f] > EPS
        any_few = any_few or averaged[f]
    for f in range(len(n_categories)):
        averaged[f] = averaged[f] or not any_few


@inner_kernel
def added_errors(N: float, e: float, options: C45Options) -> float:
    """Return what a pessimist adds to ``e`` errors among ``N``: an upper confidence limit."""
    if options.confidence > 0.5:
        return 0.0
    if e < 1:
        base = N * (1 - exp(log(options.confidence) / N))
        if e == 0:
            return base
        return base + e * (_normal_limit(N, 1.0, options.z) - base)
    return _normal_limit(N, e, options.z)


@inner_kernel
def _normal_limit(N: float, e: float, z: float) -> float:
    if e + 0.5 >= N:
        return max(N - e, 0.0)
    f = (e + 0.5) / N
    spread = z * sqrt(f / N - f * f / N + z * z / (4 * N * N))
    return (f + z * z / (2 * N) + spread) / (1 + z * z / N) * N - e


@inner_kernel
def pessimistic_errors(
    histogram: NDArray, first: int, n_classes: int, options: C45Options
) -> float:
    """Return the pessimistic errors of a leaf with the class weights ``histogram[first:]``."""
    total, largest = 0.0, 0.0
    for c in range(first, first + n_classes):
        total += histogram[c]
        largest = max(largest, histogram[c])
    if total < EPS:
        return 0.0
    return total - largest + added_errors(total, total - largest, options)


@inner_kernel
def gain_of(W: float, K: float, before: float, kept: float) -> float:
    """Return the information gain in bits.

    ``before`` and minus ``kept`` are the entropy of the known rows before and after the split.
    """
    numerator = (K / W) * (before + kept) / LN2
    return 0.0 if abs(numerator) < EPS else numerator / K


@inner_kernel
def ratio_of(gain: float, W: float, K: float, info: float) -> float:
    """Return the gain ratio; ``info`` is minus the sum of xlogx over the branches."""
    bits = (info - xlogx(W - K) + xlogx(W)) / LN2
    return 0.0 if abs(bits) < EPS else gain / (bits / W)


@inner_kernel
def least_rows(n: int, C: int, min_samples_leaf: float) -> int:
    """Return the least number of rows that a split of ``n`` rows leaves on either side."""
    least = np.int64(ceil(min_side_weight(n, C, min_samples_leaf) - EPS))
    return least if least > 1 else ONE
