"""How many rows a share of the data is."""

from __future__ import annotations

import math


def rows_to_sample(n: int, ratio: float, n_samples: int | None = None) -> int:
    """Return ``n_samples`` if given, else floor(ratio * n), safe against 0.29 * 100 = 28.999….

    Examples
    --------
    >>> from labelance.sampling._budget import rows_to_sample
    >>> rows_to_sample(100, 0.29)
    29
    """
    if n_samples is not None:
        return int(n_samples)
    return math.floor(round(ratio * n, 9))
