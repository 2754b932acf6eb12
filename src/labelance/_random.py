"""One generator per call, made from whatever a user may pass as ``random_state``."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

RandomStateLike = None | int | np.random.RandomState | np.random.Generator


def as_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Turn ``random_state`` into a :class:`numpy.random.Generator`.

    An int always gives the same stream. A Generator is used as it is. A legacy RandomState
    (and None, which means numpy's global one, as in scikit-learn) moves on with every call,
    so that two calls differ.

    Examples
    --------
    >>> from labelance._random import as_generator
    >>> as_generator(0).integers(100) == as_generator(0).integers(100)
    np.True_
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, (int, np.integer)):
        return np.random.default_rng(int(random_state))
    legacy = check_random_state(random_state)
    return np.random.default_rng(legacy.randint(0, 2**32, size=4, dtype=np.uint32))
