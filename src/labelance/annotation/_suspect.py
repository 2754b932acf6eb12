"""Search for labels that look wrong, by scores of a model that did not learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._cells import cells_at_least, take_cells
from labelance._arrays._containers import column_counts
from labelance._validation._data import count_known
from labelance._validation._predictions import validate_scores
from labelance.exceptions import arg

if TYPE_CHECKING:
    import pandas as pd

# Means of equal scores differ by rounding.
_ROUNDING = 1e-9


def suspect_labels(
    y_true: Any, y_proba: Any, *, label_names: Sequence[Any] | None = None
) -> pd.DataFrame:
    """List the cells of y_true that look wrong, so that every label has its turn.

    A cell is suspect if it scores like the other side of its label [1]_: a 0 whose score is at
    least the mean score of the label's ones, or a 1 whose score is at most the mean score of its
    zeros. The less probable the given value, the earlier the cell comes within its label. The most
    suspect cell of every label precedes the second one of any, and so on: a label with many
    suspects cannot push those of a rare one down the list.

    Unknown cells (NaN) are left out, and so are labels whose ones do not score above their zeros.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels as they were given, 0 or 1; NaN where unknown.
    y_proba : array, sparse matrix or data frame of shape (n, q)
        Probabilities of the same rows by a model that did not learn from them, such as out-of-fold
        ones. Cells that are not stored are 0.
    label_names : sequence, optional
        Names of the labels; those of the columns of y_true or y_proba unless given.

    Returns
    -------
    suspects : DataFrame
        One line per suspect cell, in the order in which to look at them: ``row`` (its position),
        ``label``, ``given`` (0 or 1), ``score`` and ``reason``.

    See Also
    --------
    rows_to_annotate : Rows without labels that are worth annotating.

    Notes
    -----
    The cost is that of a few passes over the cells and of sorting the suspects.

    References
    ----------
    .. [1] Northcutt, C., Jiang, L., Chuang, I.: Confident learning: estimating uncertainty in
       dataset labels. Journal of Artificial Intelligence Research 70 (2021).

    Examples
    --------
    >>> from labelance.annotation import suspect_labels
    >>> y = [[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]]
    >>> y_proba = [[0.9, 0.2], [0.1, 0.0], [0.2, 0.6], [0.1, 0.7], [0.2, 0.1]]
    >>> suspect_labels(y, y_proba, label_names=["sea", "fog"])
       row label  given  score                                reason
    0    1   sea      1    0.1  scores like rows without it: <= 0.17
    1    3   fog      0    0.7      scores like rows with it: >= 0.6
    """
    import pandas as pd

    Y, scores, unknown, names = validate_scores(
        y_true,
        y_proba,
        caller=arg("suspect_labels"),
        needs_all=None,
        probabilities=True,
        sparse=True,
        label_names=label_names,
    )
    low, high = _limits(Y, scores, unknown)
    rows, labels = _find_suspects(Y, scores, unknown, low, high)
    given, score = (take_cells(table, rows, labels) for table in (Y, scores))
    order = _take_turns(labels, np.where(given == 1, score, 1 - score))
    rows, labels, given, score = (values[order] for values in (rows, labels, given, score))
    without, with_it = (
        np.array([f"scores like rows {side} it: {sign} {limit:.2g}" for limit in limits], object)
        for side, sign, limits in (("without", "<=", low), ("with", ">=", high))
    )
    return pd.DataFrame(
        {
            "row": rows.astype(np.int64),
            "label": labels.astype(np.int64)
            if names is None
            else pd.Series(names, dtype=object).to_numpy()[labels],
            "given": given.astype(np.int64),
            "score": score,
            "reason": np.where(given == 1, without[labels], with_it[labels]),
        }
    )


def _limits(Y: sp.csr_array, scores: Any, unknown: sp.csr_array | None) -> tuple[Any, Any]:
    """Return the mean score of every label's zeros and ones; infinite where they tell nothing."""
    ones = _sums_at(Y, scores)
    zeros = np.asarray(scores.sum(axis=0, dtype=float)).ravel() - ones
    if unknown is not None:
        zeros = zeros - _sums_at(unknown, scores)
    n_ones = column_counts(Y)
    n_zeros = count_known(Y, unknown) - n_ones
    low, high = np.maximum(zeros, 0) / np.maximum(n_zeros, 1), ones / np.maximum(n_ones, 1)
    useful = (n_ones > 0) & (n_zeros > 0) & (high > low * (1 + _ROUNDING))
    return np.where(useful, low, -np.inf), np.where(useful, high, np.inf)


def _sums_at(pattern: sp.csr_array, scores: Any) -> Any:
    """Return the sum of every column's scores over the cells of a pattern."""
    rows, columns = pattern.nonzero()
    return np.bincount(columns, take_cells(scores, rows, columns), pattern.shape[1])


def _find_suspects(
    Y: sp.csr_array, scores: Any, unknown: sp.csr_array | None, low: Any, high: Any
) -> tuple[Any, Any]:
    """Return rows and labels of ones that score like zeros, and of zeros that score like ones."""
    ones = np.array(Y.nonzero())
    ones = ones[:, take_cells(scores, *ones) <= low[ones[1]]]
    zeros = np.array(cells_at_least(scores, high).nonzero())
    for pattern in (Y, unknown):
        if pattern is not None:
            zeros = zeros[:, take_cells(pattern, *zeros) == 0]
    rows, labels = np.hstack([ones, zeros])
    return rows, labels


def _take_turns(labels: Any, probability: Any) -> Any:
    """Return the order in which every label has its first cell, then its second, and so on."""
    order = np.lexsort((probability, labels))
    ranked = labels[order]
    place = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    return order[np.lexsort((probability[order], place))]
