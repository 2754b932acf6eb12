"""Options of C4.5; its criteria, and the tolerances that break ties, are in ``_common.pxd``.

References
----------
J. R. Quinlan, C4.5: Programs for Machine Learning, 1993; J. R. Quinlan, Improved use of
continuous attributes in C4.5, JAIR 4, 1996.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

from scipy.special import ndtri

from labelance.exceptions import InputError

LN2 = log(2.0)


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
