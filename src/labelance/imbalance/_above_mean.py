"""Whether a ratio is above, at or below a mean of ratios: the one place that decides it.

Ratios of counts are compared as the fractions they are, so that rounding never moves a label
that is exactly at the mean to one side of it. SCUMBLE has roots in it and no exact value; it is
above a bound if it is so by more than a billionth of it.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from labelance.imbalance._measures import Counts, Floats

TOLERANCE = 1e-9  # of a bound: what is nearer to it counts as equal


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


def counts_at_mean(counts: Counts, largest: Counts) -> tuple[Counts, Counts]:
    """Return the count at which IRLbl is MeanIR, rounded down and up, for other largest counts.

    MeanIR is that of ``counts``, some of which must not be 0. A label is above it, where the most
    frequent one has ``largest[t]`` rows, if its count is below that: ``largest[t]`` over MeanIR.
    """
    mean = _mean_ir(counts)
    roughly = largest / float(mean)
    below, above = (np.asarray(rounded(roughly), np.int64) for rounded in (np.floor, np.ceil))
    nearest = np.rint(roughly)
    # Rounding errors are far below this; where it might matter, integers decide.
    for t in np.flatnonzero(np.abs(roughly - nearest) < 1e-5):
        count = int(nearest[t])
        sign = _sign(count * mean.numerator - int(largest[t]) * mean.denominator)
        below[t], above[t] = count - (sign > 0), count + (sign < 0)
    return below, above


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
