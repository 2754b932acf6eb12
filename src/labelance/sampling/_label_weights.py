"""Weights instead of rows: the rivals of resampling that leave the data as they are."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from labelance._validation import MissingPolicy, validate_labels
from labelance.exceptions import InputError
from labelance.imbalance import formulas
from labelance.neighbors import Scale
from labelance.sampling._mlsol import MLSOL

WeightKind = Literal["balanced", "positive"]
Floats = NDArray[np.float64]


def label_weights(Y: Any, *, kind: WeightKind = "balanced") -> Floats:
    """Return a weight for the absence and one for the presence of every label.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.
    kind : {"balanced", "positive"}, default="balanced"
        "balanced" gives both classes of a label the same total weight, and all its cells the
        mean weight 1: n / (2 * count), as scikit-learn's ``class_weight="balanced"``.
        "positive" leaves absence at 1 and gives presence the whole balance: the number of
        zeros over the number of ones, as torch's ``pos_weight``.

    Returns
    -------
    ndarray of shape (n_labels, 2)
        ``weights[j, 0]`` for rows without label j and ``weights[j, 1]`` for rows with it.
        A label that is the same in all rows has the weight 1 for both.

    See Also
    --------
    sample_weights : One weight per row.

    Notes
    -----
    Cost: O(ones of Y).

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import label_weights
    >>> Y = np.array([[1, 0], [0, 0], [0, 0], [0, 0]])
    >>> label_weights(Y).round(2).tolist()
    [[0.67, 2.0], [1.0, 1.0]]
    >>> label_weights(Y, kind="positive").tolist()
    [[1.0, 3.0], [1.0, 1.0]]
    """
    if kind not in get_args(WeightKind):
        raise InputError(
            "kind is 'balanced' or 'positive'", f"{kind!r} came", "Choose one of these"
        )
    clean = validate_labels(Y, who="label_weights").Y
    n, ones = clean.shape[0], formulas.label_counts(clean)
    counts = np.column_stack([n - ones, ones])
    weights = np.ones(counts.shape)
    varies = (counts > 0).all(axis=1)
    if kind == "balanced":
        weights[varies] = n / (2 * counts[varies])
    else:
        weights[varies, 1] = counts[varies, 0] / counts[varies, 1]
    return weights


def sample_weights(
    X: Any,
    Y: Any,
    *,
    floor: float = 0.1,
    k_neighbors: Any = 5,
    metric: str = "euclidean",
    scale: Scale = None,
    categorical_features: Any = None,
    missing: MissingPolicy = "error",
    neighborhood: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return a weight for every row: high where its minority cells are hard, as MLSOL's w.

    MLSOL draws its seeds with these weights; a learner that takes ``sample_weight``, or an
    index sampler, can use them without any synthetic row.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    Y : array, sparse matrix or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.
    floor : float, default=0.1
        The weight of a row without any minority cell worth extending: of the weight of all
        rows, this share is spread evenly, and the rest in proportion to w. With 0 such rows
        have no weight at all, with 1 all rows have the same.
    k_neighbors, metric, scale, categorical_features, missing, n_jobs
        How neighbors are found, as in :class:`MLSOL`.
    neighborhood : Neighborhood, optional
        Neighbors of the rows of X found before.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights of mean 1, none below ``floor``.

    See Also
    --------
    label_weights : Weights per label and class.
    WeightedIndexSampler : Draws row numbers in proportion to weights.
    labelance.imbalance.local_distribution : w itself.

    Notes
    -----
    Cost: one neighbor search, O(n² d).

    References
    ----------
    B. Liu, G. Tsoumakas (2019): Synthetic Oversampling of Multi-Label Data based on Local
    Label Distribution. ECML PKDD.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import sample_weights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> Y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> weights = sample_weights(X, Y)
    >>> round(weights.mean(), 9), round(weights.min(), 9)
    (np.float64(1.0), np.float64(0.1))
    """
    if not 0 <= floor <= 1:
        raise InputError(
            "floor is a share of the mean weight, from 0 to 1", f"{floor!r} came", "Choose one"
        )
    sampler = MLSOL(
        k_neighbors=k_neighbors,
        metric=metric,
        scale=scale,
        categorical_features=categorical_features,
        missing=missing,
        n_jobs=n_jobs,
    )
    w = sampler.plan(X, Y, neighborhood=neighborhood).details.local.weights
    return floor + (1 - floor) * w / w.mean()
