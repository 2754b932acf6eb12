"""How well the labels of a row are ranked: no threshold, one row at a time.

scikit-learn has three of these, but goes through the rows in Python and takes no sparse Y for
coverage; here they are sums over the same counts as the areas. The values are equal.
"""

from typing import Any

import numpy as np

from labelance.metrics._door import open_scores
from labelance.metrics._standing import Standing, stand


def ranking_loss(Y: Any, scores: Any, *, n_jobs: int | None = None) -> float:
    """Share of (relevant, irrelevant) label pairs of a row in the wrong order, tied included.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
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
    standing = _stand(Y, scores, n_jobs, who="ranking_loss")
    not_below = standing.at_least - standing.relevant_at_least
    wrong = standing.reduce(np.add, not_below, empty=0)
    pairs = standing.relevant * standing.irrelevant
    return float(np.mean(wrong / np.maximum(pairs, 1)))


def label_ranking_average_precision(Y: Any, scores: Any, *, n_jobs: int | None = None) -> float:
    """Mean over rows of the average precision of its ranking (LRAP).

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
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
    >>> scores = [[0.75, 0.5, 1], [1, 0.2, 0.1]]
    >>> round(label_ranking_average_precision([[1, 0, 0], [0, 0, 1]], scores), 4)
    0.4167
    """
    standing = _stand(Y, scores, n_jobs, who="label_ranking_average_precision")
    precision = standing.relevant_at_least / standing.at_least
    return float(np.mean(standing.mean(precision, empty=1)))


def coverage_error(Y: Any, scores: Any, *, n_jobs: int | None = None) -> float:
    """How many labels to take from the top until all relevant ones are covered.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
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
    standing = _stand(Y, scores, n_jobs, who="coverage_error")
    return float(np.mean(standing.reduce(np.maximum, standing.at_least, empty=0)))


def one_error(Y: Any, scores: Any, *, n_jobs: int | None = None) -> float:
    """Share of rows whose first label is not relevant.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
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
    standing = _stand(Y, scores, n_jobs, who="one_error")
    return 1.0 - float(np.sum(standing.chance_in_top(1)) / standing.relevant.size)


def _stand(Y: Any, scores: Any, n_jobs: int | None, *, who: str) -> Standing:
    Y, scores = open_scores(Y, scores, who=who)
    return stand(Y, scores, within="row", n_jobs=n_jobs)
