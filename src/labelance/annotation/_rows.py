"""Choice of rows to annotate, by scores of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._cells import store_all_cells
from labelance._validation._arguments import is_integer
from labelance._validation._predictions import validate_probabilities
from labelance.exceptions import InputError, arg

_LEAST = 1e-6  # scores below this are equal
# Squared distances below this share of the squared lengths are rounding.
_ROUNDING = 1e-9


def rows_to_annotate(y_proba: Any, n: int) -> NDArray[np.intp]:
    """Choose rows to annotate so that rare labels find positives.

    Labels take turns, the one with the smallest mean score first. In its turn a label takes the row
    with the largest product of two factors: its score, and how far the row is from the nearest
    row that is chosen already. So rows that are nearly equal are not chosen together. The
    distance is that of the logarithms of all scores, and the typical distance of two rows counts
    as far. So the scale of a label's scores matters for its turn only.

    Parameters
    ----------
    y_proba : array, sparse matrix or data frame of shape (n_rows, q)
        Probabilities of rows without labels. Cells that are not stored are 0.
    n : int
        How many rows to choose.

    Returns
    -------
    rows : ndarray of shape (n,)
        Positions of the rows, the most useful first.

    See Also
    --------
    suspect_labels : Given labels that look wrong.

    Notes
    -----
    Every choice takes one pass over the stored cells. Nothing is random. Scores of a label that the
    model has not learned tell nothing: annotate some random rows, too.

    Examples
    --------
    The second label is rarer and comes first; the second row has the scores of the first:

    >>> from labelance.annotation import rows_to_annotate
    >>> rows_to_annotate([[0.9, 0.01], [0.9, 0.01], [0.1, 0.2], [0.5, 0.01]], n=3)
    array([2, 0, 3])
    """
    p = validate_probabilities(y_proba, caller=arg("rows_to_annotate"), sparse=True)
    if not is_integer(n) or not 1 <= n <= p.shape[0]:
        raise InputError(
            f"{arg('n')} must be an integer from 1 to {p.shape[0]}, the number of rows",
            f"Got {n!r}",
        )
    return _choose_rows(store_all_cells(p), int(n))


def _choose_rows(p: sp.csr_array, n: int) -> NDArray[np.intp]:
    """Return the rows that labels choose by turns, one after the other."""
    mean, columns = p.sum(axis=0) / p.shape[0], p.tocsc()
    turns = np.argsort(mean, kind="stable")[np.count_nonzero(mean == 0) :]
    logs = sp.csr_array(
        (np.log(np.maximum(p.data / _LEAST, 1)), p.indices, p.indptr), shape=p.shape
    )
    # Products of CSR sum in the order of the columns, so that equal rows have equal values.
    squares = logs.power(2) @ np.ones(p.shape[1])
    typical = 2 * (squares.mean() - ((logs.sum(axis=0) / p.shape[0]) ** 2).sum())
    far = np.ones(p.shape[0])
    rows = np.zeros(n, dtype=np.intp)
    for i in range(n):
        score = np.zeros(p.shape[0])
        if len(turns):
            label = turns[i % len(turns)]
            cells = slice(columns.indptr[label], columns.indptr[label + 1])
            score[columns.indices[cells]] = columns.data[cells]
        score[rows[:i]] = -1
        value = score * far
        if value.max() <= 0:  # every other row is equal to one that is chosen
            far, value = np.ones(p.shape[0]), score
        rows[i] = np.argmax(value)
        size = squares + squares[rows[i]]
        apart = size - 2 * (logs @ logs[[rows[i]]].toarray().ravel())
        apart[apart <= _ROUNDING * size] = 0
        far = np.minimum(far, np.sqrt(apart / typical) if typical > 0 else 0)
    return rows
