"""Whether a ratio is above, at or below a mean of ratios: the one place that decides it.

Ratios of counts are compared as the fractions they are, so that rounding never moves a label
that is exactly at the mean to one side of it. SCUMBLE has roots in it and no exact value; it is
above a bound if it is so by more than a billionth of it.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import kernel
from labelance.imbalance._measures import Counts, Floats

TOLERANCE = 1e-9  # of a bound: what is nearer to it counts as equal

# Far more than the rounding of sums of floats, so what is farther from the mean is decided.
_SURE = 1e-12

# The product of two counts and a difference of such products fit into 64 bits below this.
_LARGEST_COUNT = 2**31 - 1


def exceeds(values: Floats, bound: float) -> NDArray[np.bool_]:
    """Return which values are larger than the bound by more than rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.imbalance._above_mean import exceeds
    >>> values = np.full(7, 0.2)
    >>> bool(exceeds(values, np.nextafter(0.2, 0)).any())
    False
    """
    return np.asarray(values > bound * (1 + TOLERANCE))


def irlbl_against_mean(counts: Counts) -> Floats:
    """Return the sign of IRLbl - MeanIR of every label; nan for a label that no row has.

    IRLbl is the largest count over the label's own. Whatever stands above cancels: a label is
    above the mean if its count is below the harmonic mean of all counts.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.imbalance._above_mean import irlbl_against_mean
    >>> irlbl_against_mean(np.array([66, 60, 55, 0]))
    array([-1.,  0.,  1., nan])
    """
    signs = np.full(counts.shape, np.nan)
    present, which, times = np.unique(counts[counts > 0], return_inverse=True, return_counts=True)
    if len(present):
        signs[counts > 0] = _against_harmonic_mean(present, times)[which]
    return signs


def imr_against_mean(counts: Counts, n_rows: int | Counts) -> Floats:
    """Return the sign of ImR - MeanImR of every label; nan for a constant label.

    With m minority rows of n, ImR is n / m - 1, so the rule is that of IRLbl.
    """
    return irlbl_against_mean(np.minimum(counts, n_rows - counts))


def mean_ir_is_below(counts: Counts, bound: Fraction) -> bool:
    """Return whether MeanIR is smaller than the bound; it is not where no row has a label."""
    if not counts.any():
        return False
    above, below = _mean_ir(counts)
    return above * bound.denominator < bound.numerator * below


class MeanRatio(NamedTuple):
    """A mean of ratios for compiled code, which has no large integers.

    It is ``whole + above / below``, the largest fraction up to the mean that two counts can
    form: no other one lies between the two, so they compare alike with every ratio of counts.
    """

    whole: int
    above: int
    below: int
    is_exact: bool


NO_MEAN = MeanRatio(0, 0, 1, True)  # every ratio of counts is above it


def mean_ir_of_counts(counts: Counts) -> MeanRatio:
    """Return MeanIR, to be compared with other ratios of counts."""
    if not counts.any():
        return NO_MEAN
    above, below = _mean_ir(counts)
    whole, above = divmod(above, below)
    lower = _largest_fraction_up_to(above, below, _LARGEST_COUNT)
    return MeanRatio(whole, *lower, lower[0] * below == above * lower[1])


@kernel
def ratio_against_mean(largest: int, count: int, mean: MeanRatio) -> int:
    """Return the sign of largest / count - mean."""
    rest = largest - mean.whole * count
    if rest < 0:
        return -1
    if rest >= count:
        return 1
    difference = rest * mean.below - mean.above * count
    if difference == 0:
        return 0 if mean.is_exact else -1
    return 1 if difference > 0 else -1


def _against_harmonic_mean(present: Counts, times: Counts) -> Floats:
    """Return the sign of 1 / count minus its mean, for distinct counts and how often each is."""
    excess = 1 - present * (math.fsum(times / present) / times.sum())
    signs = np.sign(excess)
    unsure = np.flatnonzero(np.abs(excess) < _SURE)  # few: distinct integers near one number
    if len(unsure):
        above, below = _add_fractions(times, present)
        total = int(times.sum())
        for place in unsure:
            left = total * below - int(present[place]) * above
            signs[place] = (left > 0) - (left < 0)
    return signs


def _mean_ir(counts: Counts) -> tuple[int, int]:
    """Return MeanIR as integers to divide; some label must occur."""
    present, times = np.unique(counts[counts > 0], return_counts=True)
    above, below = _add_fractions(times, present)
    return above * int(present[-1]), below * int(times.sum())


def _add_fractions(above: Counts, below: Counts) -> tuple[int, int]:
    """Return the sum of fractions as one, not in lowest terms.

    Neighbors are added, then the sums of neighbors, so that large integers only meet their like.
    """
    parts = list(zip(above.tolist(), below.tolist()))
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [(a * d + c * b, b * d) for (a, b), (c, d) in zip(parts[::2], parts[1::2])] + odd
    return parts[0]


def _largest_fraction_up_to(above: int, below: int, limit: int) -> tuple[int, int]:
    """Return the largest fraction, of those with denominators up to a limit, not above one.

    The convergents of the continued fraction lie below and above in turn, as in
    `fractions.Fraction.limit_denominator`; the last step is as long as the limit lets it be.
    """
    p0, q0, p1, q1 = 0, 1, 1, 0
    n, d = above, below
    while d:
        a = n // d
        if q0 + a * q1 > limit:
            break
        p0, q0, p1, q1 = p1, q1, p0 + a * p1, q0 + a * q1
        n, d = d, n - a * d
    else:
        return p1, q1
    k = (limit - q0) // q1
    p2, q2 = p0 + k * p1, q0 + k * q1
    return (p1, q1) if p1 * q2 < p2 * q1 else (p2, q2)
