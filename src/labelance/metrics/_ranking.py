"""Measures of how well the labels of a row are ranked: no threshold, one row at a time.

scikit-learn has three of these, but goes through the rows in Python and takes no sparse y for
coverage; here they are sums over the same counts as the areas. The values are equal.

Labels tied at the k-th place share the places that are left, so a value at k is the mean over
all ways to break ties and never depends on the order of the labels.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from labelance._arrays._containers import column_counts
from labelance._validation._data import validate_labels
from labelance._validation._predictions import check_k, validate_scores
from labelance.exceptions import InputError
from labelance.metrics._classification import Confusion, mean_of_defined
from labelance.metrics._rank_counts import RankCounts, count_ranks, row_blocks

Values = NDArray[np.float64]


def ranking_loss(y_true: Any, y_score: Any, *, n_jobs: int | None = None) -> float:
    """Share of (relevant, irrelevant) label pairs of a row in the wrong order, tied included.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over rows; a row with no label, or with all of them, counts 0.

    Examples
    --------
    >>> from labelance.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    0.75
    """
    counts = _count(y_true, y_score, n_jobs, caller="ranking_loss")
    not_below = counts.at_least - counts.relevant_at_least
    wrong = counts.reduce(np.add, not_below, empty=0)
    pairs = counts.relevant * counts.irrelevant
    return float(np.mean(wrong / np.maximum(pairs, 1)))


def label_ranking_average_precision(
    y_true: Any, y_score: Any, *, n_jobs: int | None = None
) -> float:
    """Mean over rows of the average precision of its ranking (LRAP).

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over rows; a row with no label, or with all of them, counts 1.

    Examples
    --------
    >>> from labelance.metrics import label_ranking_average_precision
    >>> y_score = [[0.75, 0.5, 1], [1, 0.2, 0.1]]
    >>> round(label_ranking_average_precision([[1, 0, 0], [0, 0, 1]], y_score), 4)
    0.4167
    """
    counts = _count(y_true, y_score, n_jobs, caller="label_ranking_average_precision")
    precision = counts.relevant_at_least / counts.at_least
    return float(np.mean(counts.mean(precision, empty=1)))


def coverage_error(y_true: Any, y_score: Any, *, n_jobs: int | None = None) -> float:
    """How many labels to take from the top until all relevant ones are covered.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over rows, counting from 1 as scikit-learn does (some programs count from 0);
        a row with no label counts 0.

    Examples
    --------
    >>> from labelance.metrics import coverage_error
    >>> coverage_error([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    2.5
    """
    counts = _count(y_true, y_score, n_jobs, caller="coverage_error")
    return float(np.mean(counts.reduce(np.maximum, counts.at_least, empty=0)))


def one_error(y_true: Any, y_score: Any, *, n_jobs: int | None = None) -> float:
    """Share of rows whose first label is not relevant.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over rows. Labels tied at the top share it; a row with no label counts 1.

    Examples
    --------
    >>> from labelance.metrics import one_error
    >>> one_error([[1, 0, 0], [0, 0, 1]], [[1, 0.5, 1], [1, 0.2, 0.1]])
    0.75
    """
    counts = _count(y_true, y_score, n_jobs, caller="one_error")
    return 1.0 - float(np.sum(counts.chance_in_top(1)) / counts.relevant.size)


def _count(
    y_true: Any, y_score: Any, n_jobs: int | None, *, caller: str, k: int | None = None
) -> RankCounts:
    """Count around the labels of every row, once k is known to be a number of labels."""
    Y, scores, *_ = validate_scores(y_true, y_score, caller=caller, in_blocks=True)
    if k is not None:
        check_k(k, n_labels=Y.shape[1], caller=caller)
    return count_ranks(Y, scores, within="row", n_jobs=n_jobs)


def precision_at_k(y_true: Any, y_score: Any, *, k: int, n_jobs: int | None = None) -> float:
    """Share of relevant labels among the k highest of a row.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
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
    counts = _count(y_true, y_score, n_jobs, caller="precision_at_k", k=k)
    return float(counts.chance_in_top(k).sum() / (k * counts.relevant.size))


def ndcg_at_k(y_true: Any, y_score: Any, *, k: int, n_jobs: int | None = None) -> float:
    """Discounted gain of the k highest labels of a row, relative to the best possible.

    Equal to scikit-learn's ``ndcg_score``, which wants a dense y.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
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
    counts = _count(y_true, y_score, n_jobs, caller="ndcg_at_k", k=k)
    # Entry p is the gain of the first p places.
    gain_until = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])
    first, last = np.minimum(counts.above, k), np.minimum(counts.at_least, k)
    gain = (gain_until[last] - gain_until[first]) / (counts.at_least - counts.above)
    best = gain_until[np.minimum(counts.relevant, k)]
    of_rows = counts.reduce(np.add, gain, empty=0) / np.where(best > 0, best, 1.0)
    return float(of_rows.mean())


def macro_f1_at_k(y_true: Any, y_score: Any, *, k: int, zero_division: float = 0) -> float:
    """Mean over all labels of F, where every row is predicted its k highest labels.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels a row is predicted, from 1 to q.
    zero_division : float, default=0
        F of a label that no row has and that is never predicted; nan leaves it out.

    Returns
    -------
    float
        F of counts that are means over all ways to break ties.

    See Also
    --------
    labelance.decisions.decide_within_budget : Chooses k labels of a row so that this is large.

    Examples
    --------
    >>> from labelance.metrics import macro_f1_at_k
    >>> y_true, y_score = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]]
    >>> round(macro_f1_at_k(y_true, y_score, k=1), 4)
    0.6667
    """
    counts = _count_top(y_true, y_score, k, caller="macro_f1_at_k")
    return mean_of_defined(counts.f1(zero_division=zero_division))


def macro_recall_at_k(y_true: Any, y_score: Any, *, k: int, zero_division: float = 0) -> float:
    """Mean over all labels of recall, where every row is predicted its k highest labels.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels a row is predicted, from 1 to q.
    zero_division : float, default=0
        Recall of a label that no row has and that is never predicted; nan leaves it out.

    Returns
    -------
    float
        Mean over all ways to break ties.

    See Also
    --------
    labelance.decisions.decide_within_budget : Chooses k labels of a row so that this is large.

    Examples
    --------
    >>> from labelance.metrics import macro_recall_at_k
    >>> y_true, y_score = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]]
    >>> round(macro_recall_at_k(y_true, y_score, k=1), 4)
    0.6667
    """
    counts = _count_top(y_true, y_score, k, caller="macro_recall_at_k")
    return mean_of_defined(counts.recall(zero_division=zero_division))


def coverage_at_k(y_true: Any, y_score: Any, *, k: int, n_jobs: int | None = None) -> float:
    """Share of labels found in at least one row, where every row is predicted its k highest.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels a row is predicted, from 1 to q.
    n_jobs : int or None, default=None
        Threads over blocks of rows; the result does not depend on it.

    Returns
    -------
    float
        Mean over all labels, and over all ways to break ties. A label that no row has counts 0.

    See Also
    --------
    labelance.decisions.decide_within_budget : Chooses k labels of a row so that this is large.

    Examples
    --------
    >>> from labelance.metrics import coverage_at_k
    >>> y_true, y_score = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]]
    >>> round(coverage_at_k(y_true, y_score, k=1), 4)
    0.6667
    """
    counts = _count(y_true, y_score, n_jobs, caller="coverage_at_k", k=k)
    # Rows break their ties independently, so the probabilities of missing a label multiply.
    missed = np.ones(counts.size)
    np.multiply.at(missed, counts.indices, 1 - counts.chance_in_top(k))
    return float(np.mean(1 - missed))


def _count_top(y_true: Any, y_score: Any, k: int, *, caller: str) -> Confusion:
    """Count hits and misses of every label among the k highest of a row; ties share places."""
    Y, scores, *_ = validate_scores(y_true, y_score, caller=caller, in_blocks=True)
    n, q = Y.shape
    k = check_k(k, n_labels=q, caller=caller)
    tp: Any = np.zeros(q)  # means over ties, so not integers
    predicted = np.zeros(q)
    for table, start in row_blocks(scores):
        least = np.partition(table, q - k, axis=1)[:, [q - k]]
        above, tied = table > least, table == least
        places = (k - above.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True)
        chance = np.where(tied, places, above)
        predicted += chance.sum(axis=0)
        tp += Y[start : start + len(table)].multiply(chance).sum(axis=0)
    fp: Any = np.maximum(predicted - tp, 0)
    fn = np.maximum(column_counts(Y) - tp, 0)
    return Confusion(tp, fp, fn, n - tp - fp - fn)


def label_propensity(y_train: Any, *, a: float = 0.55, b: float = 1.5) -> Values:
    """Chance that a label that is present was noted down, from its frequency.

    Parameters
    ----------
    y_train : array, sparse matrix or data frame of shape (n, q)
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
    Y = validate_labels(y_train, caller="label_propensity").Y
    # With fewer than e rows the model would give more than certainty.
    c = max(np.log(Y.shape[0]) - 1, 0.0) * (b + 1) ** a
    count = column_counts(Y)
    return 1 / (1 + c * (count + b) ** -a)


def propensity_scored_precision_at_k(
    y_true: Any,
    y_score: Any,
    *,
    k: int,
    propensity: ArrayLike | None = None,
    normalize: bool = True,
    n_jobs: int | None = None,
) -> float:
    """Precision at k in which a hit counts for more the rarer its label (PSP@k).

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; comparable between the labels of a row.
    k : int
        How many labels to look at, from 1 to q.
    propensity : array-like of shape (q,) or None, default=None
        As :func:`label_propensity` gives them for the *training* labels; ``None`` takes
        them from ``y_true``.
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
    >>> y_true, y_score = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.6]]
    >>> rarity = [0.9, 0.5, 0.25]
    >>> round(propensity_scored_precision_at_k(y_true, y_score, k=2, propensity=rarity), 4)
    0.4375
    """
    caller = "propensity_scored_precision_at_k"
    Y, scores, *_ = validate_scores(y_true, y_score, caller=caller, in_blocks=True)
    k = check_k(k, n_labels=Y.shape[1], caller=caller)
    chances = (
        label_propensity(Y) if propensity is None else _validate_propensity(propensity, Y, caller)
    )
    counts = count_ranks(Y, scores, within="row", n_jobs=n_jobs)
    worth = 1 / chances[counts.indices]
    won = float((counts.chance_in_top(k) * worth).sum())
    if not normalize:
        return won / (k * Y.shape[0])
    row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    order = np.lexsort((-worth, row))
    place = np.arange(row.size) - Y.indptr[row]
    best = float(worth[order][place < k].sum())  # the k most valuable labels of each row
    return won / best if best > 0 else 0.0


def _validate_propensity(propensity: ArrayLike, Y: csr_array, caller: str) -> Values:
    chances = np.asarray(propensity, dtype=np.float64)
    if chances.shape == (Y.shape[1],) and (chances > 0).all() and (chances <= 1).all():
        return chances
    raise InputError(
        f"propensity of {caller} must be in (0, 1] for each of {Y.shape[1]} labels",
        f"It has shape {chances.shape}, or values outside",
        "Pass labelance.metrics.label_propensity(y_train)",
    )
