"""What is among the k highest labels of a row: the measures of extreme classification.

Labels tied at the k-th place share the places that are left, so a value is the mean over all
ways to break ties and never depends on the order of the labels.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from labelance._inputs import open_labels
from labelance.exceptions import InputError
from labelance.metrics._door import check_k, open_scores
from labelance.metrics._standing import stand

Values = NDArray[np.float64]


def precision_at_k(Y: Any, scores: Any, *, k: int, n_jobs: int | None = None) -> float:
    """Share of relevant labels among the k highest of a row.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels to look at, from 1 to q.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over rows.

    Examples
    --------
    >>> from labelance.metrics import precision_at_k
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]], k=2)
    0.5
    """
    Y, scores = open_scores(Y, scores, who="precision_at_k")
    k = check_k(k, n_labels=Y.shape[1], who="precision_at_k")
    standing = stand(Y, scores, within="row", n_jobs=n_jobs)
    return float(standing.chance_in_top(k).sum() / (k * Y.shape[0]))


def ndcg_at_k(Y: Any, scores: Any, *, k: int, n_jobs: int | None = None) -> float:
    """Discounted gain of the k highest labels of a row, relative to the best possible.

    Equal to scikit-learn's ``ndcg_score``, which wants a dense Y.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels to look at, from 1 to q.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over rows; a row with no label counts 0.

    Examples
    --------
    >>> from labelance.metrics import ndcg_at_k
    >>> round(ndcg_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]], k=2), 4)
    0.8066
    """
    Y, scores = open_scores(Y, scores, who="ndcg_at_k")
    k = check_k(k, n_labels=Y.shape[1], who="ndcg_at_k")
    standing = stand(Y, scores, within="row", n_jobs=n_jobs)
    # Entry p is the gain of the first p places.
    gain_until = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])
    first, last = np.minimum(standing.above, k), np.minimum(standing.at_least, k)
    gain = (gain_until[last] - gain_until[first]) / (standing.at_least - standing.above)
    best = gain_until[np.minimum(standing.relevant, k)]
    of_rows = standing.reduce(np.add, gain, empty=0) / np.where(best > 0, best, 1.0)
    return float(of_rows.mean())


def label_propensity(Y_train: Any, *, a: float = 0.55, b: float = 1.5) -> Values:
    """Chance that a label that is present was noted down, from its frequency.

    Parameters
    ----------
    Y_train : array, sparse matrix or data frame of shape (n, q)
        Training labels, 0 or 1.
    a, b : float, default=0.55 and 1.5
        Constants of the model; the defaults are those of Jain et al. for most data.

    Returns
    -------
    ndarray of shape (q,)
        ``1 / (1 + c * (count + b) ** -a)`` with ``c = (log(n) - 1) * (b + 1) ** a``.

    References
    ----------
    Jain, Prabhu & Varma (2016). Extreme multi-label loss functions for recommendation,
    tagging, ranking and other missing label applications. KDD.

    Examples
    --------
    >>> from labelance.metrics import label_propensity
    >>> label_propensity([[1, 0], [1, 0], [1, 1], [0, 0]]).round(4)
    array([0.7815, 0.7213])
    """
    Y = open_labels(Y_train, who="label_propensity").Y
    # With fewer than e rows the model would give more than certainty.
    c = max(np.log(Y.shape[0]) - 1, 0.0) * (b + 1) ** a
    count = np.bincount(Y.indices, minlength=Y.shape[1])
    return 1 / (1 + c * (count + b) ** -a)


def propensity_scored_precision_at_k(
    Y: Any,
    scores: Any,
    *,
    k: int,
    propensity: ArrayLike | None = None,
    normalize: bool = True,
    n_jobs: int | None = None,
) -> float:
    """Precision at k in which a hit counts for more the rarer its label (PSP@k).

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels to look at, from 1 to q.
    propensity : array-like of shape (q,) or None, default=None
        As :func:`label_propensity` gives them for the *training* labels; ``None`` takes
        them from ``Y``.
    normalize : bool, default=True
        Divide by the best value that any ranking of these rows could reach.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float

    References
    ----------
    Jain, Prabhu & Varma (2016). Extreme multi-label loss functions for recommendation,
    tagging, ranking and other missing label applications. KDD.

    Examples
    --------
    >>> from labelance.metrics import propensity_scored_precision_at_k
    >>> Y, scores = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]]
    >>> round(propensity_scored_precision_at_k(Y, scores, k=2, propensity=[0.9, 0.5, 0.25]), 4)
    0.4375
    """
    who = "propensity_scored_precision_at_k"
    Y, scores = open_scores(Y, scores, who=who)
    k = check_k(k, n_labels=Y.shape[1], who=who)
    chances = label_propensity(Y) if propensity is None else _open_propensity(propensity, Y, who)
    standing = stand(Y, scores, within="row", n_jobs=n_jobs)
    worth = 1 / chances[standing.indices]
    won = float((standing.chance_in_top(k) * worth).sum())
    if not normalize:
        return won / (k * Y.shape[0])
    best = _best_worth(Y, worth, k)
    return won / best if best > 0 else 0.0


def _best_worth(Y: csr_array, worth: Values, k: int) -> float:
    """Sum over rows of the k most valuable labels of the row."""
    row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    order = np.lexsort((-worth, row))
    place = np.arange(row.size) - Y.indptr[row]
    return float(worth[order][place < k].sum())


def _open_propensity(propensity: ArrayLike, Y: csr_array, who: str) -> Values:
    chances = np.asarray(propensity, dtype=np.float64)
    if chances.shape == (Y.shape[1],) and (chances > 0).all() and (chances <= 1).all():
        return chances
    raise InputError(
        f"{who} takes a propensity above 0 and at most 1 for each of {Y.shape[1]} labels",
        f"propensity has shape {chances.shape} and values from {chances.min():g} to "
        f"{chances.max():g}"
        if chances.size
        else "propensity is empty",
        "Pass labelance.metrics.label_propensity(Y_train)",
    )
