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

# Squared distances below this share of the squared lengths are rounding.
_ROUNDING = 1e-9


def rows_to_annotate(y_proba: Any, n: int) -> NDArray[np.intp]:
    """Choose rows to annotate so that rare labels find positives.

    A score counts as a multiple of the mean score of its label: 0.02 of a label with the mean 0.001
    is worth as much as 0.8 of one with the mean 0.04. Rows are chosen one by one. The next is the
    one with the largest product of two factors:

    - what it adds to the sum over labels of the logarithm of expected positives, as if n random
      rows had been annotated before. So a label counts less, the more was found of it;
    - the distance of its scores from those of the nearest row that is chosen, so that rows with
      equal scores are not chosen together.

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
    Every choice takes two passes over the stored cells. Nothing is random. A label that the model
    has not learned at all has scores that tell nothing: annotate some random rows, too.

    Examples
    --------
    The second row has the scores of the first, and the third has the rarer label:

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
    """Return the rows with the largest products of gain and distance, one after the other."""
    mean = p.sum(axis=0) / p.shape[0]
    lift = sp.csr_array(
        (p.data / np.where(mean > 0, mean, 1)[p.indices], p.indices, p.indptr), shape=p.shape
    )
    # Products of CSR sum in the order of the columns, so that equal rows have equal values.
    squares = lift.power(2) @ np.ones(p.shape[1])
    found = np.full(p.shape[1], float(n))
    distance = None
    rows = np.zeros(n, dtype=np.intp)
    for i in range(n):
        gain = lift @ (1 / found)
        gain[rows[:i]] = -1
        value = gain if distance is None else gain * distance
        if value.max() <= 0:  # every other row has the scores of one that is chosen
            distance, value = None, gain
        rows[i] = np.argmax(value)
        scores = lift[[rows[i]]].toarray().ravel()
        found += scores
        size = squares + squares[rows[i]]
        apart = size - 2 * (lift @ scores)
        apart = np.sqrt(np.where(apart > _ROUNDING * size, apart, 0))
        distance = apart if distance is None else np.minimum(distance, apart)
    return rows
