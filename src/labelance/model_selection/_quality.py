"""How well a split keeps the label distribution, the pairs, and the sizes asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelance._arrays._containers import column_counts
from labelance._validation._data import count_known, validate_labels
from labelance.exceptions import InputError
from labelance.model_selection._fold_sizes import part_weights
from labelance.model_selection._stratify import Rows, label_pairs, rows_of_folds


def label_distribution(y: Any, folds: Any) -> float:
    r"""Mean distance of the labels' odds in the folds from those in the whole (LD).

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, zeros and ones.
    folds : array of shape (n,), or sequence
        The fold of every row (negative: in none); or the rows of every fold; or what a
        splitter's ``split`` yields, whose test sets are the folds.

    Returns
    -------
    LD : float
        0 is perfect. Infinite if a fold has a label in all of its rows that is not in all rows.

    Notes
    -----
    With :math:`c(j)` the rows that have label j, among n, and :math:`c_f(j)` those of fold f,
    among :math:`n_f`, LD is the mean over labels and folds of [1]_

    .. math:: \left| \frac{c_f(j)}{n_f - c_f(j)} - \frac{c(j)}{n - c(j)} \right|

    Labels that all rows have are left out.

    References
    ----------
    .. [1] Sechidis, Tsoumakas, Vlahavas (2011). On the stratification of multi-label data.
       ECML PKDD.

    Examples
    --------
    >>> from labelance.model_selection import label_distribution
    >>> Y = [[1, 0], [0, 1], [1, 0], [0, 1]]
    >>> label_distribution(Y, [0, 0, 1, 1])
    0.0
    >>> label_distribution(Y, [[0, 1, 2], [3]])
    inf
    """
    labels = validate_labels(y, caller="label_distribution", needs_all=None)
    return _mean_distance(labels.Y, _membership(folds, labels.Y.shape[0]), labels.unknown)


def label_pair_distribution(y: Any, folds: Any) -> float:
    """Mean distance of the odds of label pairs in the folds from those in the whole (LPD).

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, zeros and ones.
    folds : array of shape (n,), or sequence
        As for :func:`label_distribution`.

    Returns
    -------
    LPD : float
        0 is perfect, also if no row has two labels.

    Notes
    -----
    The same mean as :func:`label_distribution`, over the pairs of labels that occur together
    in some row [1]_.

    References
    ----------
    .. [1] Szymański, Kajdanowicz (2017). A network perspective on stratification of multi-label
       data. PMLR 74.

    Examples
    --------
    >>> from labelance.model_selection import label_pair_distribution
    >>> Y = [[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> label_pair_distribution(Y, [0, 0, 1, 1])
    0.0
    """
    opened = validate_labels(y, caller="label_pair_distribution").Y
    return _mean_distance(label_pairs(opened), _membership(folds, opened.shape[0]))


def examples_distribution(folds: Any, *, sizes: Sequence[Any] | None = None) -> float:
    """Mean number of rows by which the folds miss the size asked for (ED).

    Parameters
    ----------
    folds : array of shape (n,), or sequence
        As for :func:`label_distribution`.
    sizes : sequence of float or int, default=None
        Shares of the folds, with sum 1, or their numbers of rows; by default all the same.

    Returns
    -------
    ED : float
        0 is perfect.

    Examples
    --------
    >>> from labelance.model_selection import examples_distribution
    >>> examples_distribution([0, 0, 0, 1])
    1.0
    >>> examples_distribution([0, 0, 0, 1], sizes=(0.75, 0.25))
    0.0
    """
    got = np.array([len(rows) for rows in _rows_of_folds(folds)])
    weights = np.ones(len(got)) if sizes is None else part_weights(sizes, int(got.sum()))
    if len(weights) != len(got):
        found = f"Got {len(got)} folds and {len(weights)} sizes"
        raise InputError("examples_distribution needs one size per fold", found)
    return float(np.abs(got - got.sum() * weights / weights.sum()).mean())


def _mean_distance(held: csr_array, member: csr_array, unknown: csr_array | None = None) -> float:
    """Return the mean over columns of ``held`` and folds of the distance of odds."""
    # One line per fold: folds x labels is small, n x labels is not.
    in_fold = (member @ held.astype(np.int64)).toarray()
    rows = np.asarray(member.sum(axis=1)).reshape(-1, 1) + np.zeros_like(in_fold)
    if unknown is not None:  # a label has the rows of which it is known
        rows -= (member @ unknown.astype(np.int64)).toarray()
    overall, n = column_counts(held), count_known(held, unknown)
    varies = (overall < n) & (rows > 0).all(axis=0)
    in_fold, rows, overall, n = in_fold[:, varies], rows[:, varies], overall[varies], n[varies]
    with np.errstate(divide="ignore"):
        distance = np.abs(in_fold / (rows - in_fold) - overall / (n - overall))
    return float(distance.mean()) if varies.any() else 0.0


def _membership(folds: Any, n: int) -> csr_array:
    """Return the (folds, n) matrix with a one where a row is in a fold."""
    listed = _rows_of_folds(folds)
    lengths = [len(rows) for rows in listed]
    rows = np.concatenate(listed)
    if rows.min() < 0 or rows.max() >= n or min(lengths) == 0:
        numbered = f"numbered {rows.min()} to {rows.max()}"
        found = f"The folds have {min(lengths)} to {max(lengths)} rows, {numbered}"
        raise InputError(f"Every fold must hold row numbers from 0 to {n - 1}", found)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((np.ones(len(rows), dtype=np.int64), rows, indptr), shape=(len(listed), n))


def _rows_of_folds(folds: Any) -> list[Rows]:
    """Read the three ways to give folds as the rows of every fold."""
    given = list(folds)
    if given and np.isscalar(given[0]):
        fold = np.asarray(given)
        return rows_of_folds(fold, int(fold.max()) + 1)
    # What split yields are pairs of arrays; a fold's rows are plain numbers.
    tests = [fold if len(fold) != 2 or np.isscalar(fold[0]) else fold[1] for fold in given]
    if not tests:
        raise InputError("No folds given", "A split needs at least one fold", "Pass the folds")
    return [np.asarray(rows, dtype=np.intp) for rows in tests]
