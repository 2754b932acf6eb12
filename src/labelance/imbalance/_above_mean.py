"""Whether a ratio is above, at or below a mean of ratios: the one place that decides it.

Ratios of counts are compared as the fractions they are, so that rounding never moves a label
that is exactly at the mean to one side of it. SCUMBLE has roots in it and no exact value; it is
above a bound if it is so by more than a billionth of it.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import kernel
from labelance.imbalance._measures import Counts, Floats

TOLERANCE = 1e-9  # of a bound: what is nearer to it counts as equal

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
        above, below = _add_fractions(times, present)
        mean = int(times.sum()) * below
        signs[counts > 0] = np.array([_sign(mean - c * above) for c in present.tolist()])[which]
    return signs


def imr_against_mean(counts: Counts, n_rows: int | Counts) -> Floats:
    """Return the sign of ImR - MeanImR of every label; nan for a constant label.

    With m minority rows of n, ImR is n / m - 1, so the rule is that of IRLbl.
    """
    return irlbl_against_mean(np.minimum(counts, n_rows - counts))


def mean_ir_is_below(counts: Counts, bound: Fraction) -> bool:
    """Return whether MeanIR is smaller than the bound; it is not where no row has a label."""
    return bool(counts.any()) and _mean_ir(counts) < bound


class MeanRatio(NamedTuple):
    """A mean of ratios for compiled code, which has no large integers.

    ``whole + above / below`` is the fraction next to the mean that two counts can form: no other
    one lies between the two, so they compare alike with every ratio of counts but this one, whose
    sign against the mean is ``equal``.
    """

    whole: int
    above: int
    below: int
    equal: int


NO_MEAN = MeanRatio(0, 0, 1, 0)  # every ratio of counts is above it


def mean_ir_of_counts(counts: Counts) -> MeanRatio:
    """Return MeanIR, to be compared with other ratios of counts."""
    if not counts.any():
        return NO_MEAN
    mean = _mean_ir(counts)
    rest = mean - int(mean)
    near = rest.limit_denominator(_LARGEST_COUNT)
    return MeanRatio(int(mean), near.numerator, near.denominator, _sign(near - rest))


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
        return mean.equal
    return 1 if difference > 0 else -1


def _sign(number: int | Fraction) -> int:
    return (number > 0) - (number < 0)


def _mean_ir(counts: Counts) -> Fraction:
    """Return MeanIR; some label must occur."""
    present, times = np.unique(counts[counts > 0], return_counts=True)
    above, below = _add_fractions(times, present)
    return Fraction(above * int(present[-1]), below * int(times.sum()))


def _add_fractions(above: Counts, below: Counts) -> tuple[int, int]:
    """Return the sum of fractions as one, not in lowest terms.

    Neighbors are added, then the sums of neighbors, so that large integers only meet their like.
    """
    parts = list(zip(above.tolist(), below.tolist()))
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [(a * d + c * b, b * d) for (a, b), (c, d) in zip(parts[::2], parts[1::2])] + odd
    return parts[0]
