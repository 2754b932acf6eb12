"""The type of labels that others read."""

from __future__ import annotations

from typing import Any

import numpy as np


def label_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the smallest integer type for labels that also holds the number of every label.

    scikit-learn 1.9 casts the numbers of labels to the type of y (`label_binarize`, inside
    OneVsRestClassifier and MLPClassifier): in int8, labels from the 129th on change places, and
    nobody notices. Labels that go to others therefore have this type; inside they are int8.

    Examples
    --------
    >>> from labelance._utils._dtypes import label_dtype
    >>> label_dtype(128), label_dtype(129)
    (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(n_labels, 1))
