"""Decisions of the largest expected F, and thresholds of the least expected cost."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from labelance._arrays._cells import cells_at_least, iterate_stored, store_all_cells
from labelance._arrays._containers import stored_values
from labelance._validation._arguments import check_choice
from labelance._validation._predictions import validate_probabilities
from labelance.decisions._kernels import count_best
from labelance.decisions._objectives import CostMatrix, as_numbers, square_of_beta
from labelance.exceptions import InputError

FAverage = Literal["macro", "micro", "samples"]


def maximize_expected_f(
    y_proba: Any, *, average: FAverage = "macro", beta: float = 1.0, joint: Any = None
) -> Any:
    """Decide a batch of rows so that their expected F is largest, without any labels.

    The probabilities must be calibrated. "macro" takes of every label the rows with the
    largest probabilities, as many as maximize (1 + beta²) S / (beta² S_all + k), where k rows
    are taken, S is the sum of their probabilities, and S_all that of all rows. "micro" does so for
    all cells at once. Both take the F of expected counts, which is close to the expected F from
    about 5 expected positives on. "samples" is the F of every row, exactly [1]_: labels are
    independent given the row, unless ``joint`` says otherwise.

    "micro" and "samples" favor frequent labels.

    Parameters
    ----------
    y_proba : array, sparse matrix or data frame of shape (n, q)
        Probabilities. Cells that are not stored have 0 and are never predicted.
    average : {"macro", "micro", "samples"}, default="macro"
        Whether the F is that of each label, of all cells or of each row.
    beta : float, default=1.0
        How much recall counts; above 0.
    joint : array-like of shape (n, q, s), optional
        For "samples": ``joint[i, j, s - 1]`` is the probability that row i has label j and s
        labels in all. Its sums over s must be ``y_proba``.

    Returns
    -------
    y : ndarray or csr_array of shape (n, q)
        The decisions, 0 or 1; sparse for sparse probabilities.

    References
    ----------
    .. [1] Dembczyński, K., Waegeman, W., Cheng, W., Hüllermeier, E.: An exact algorithm for
       F-measure maximization. NeurIPS (2011).

    Examples
    --------
    >>> from labelance.decisions import maximize_expected_f
    >>> y_proba = [[0.4, 0.02], [0.3, 0.01], [0.1, 0.0]]
    >>> maximize_expected_f(y_proba)
    array([[1, 1],
           [1, 0],
           [0, 0]])
    >>> maximize_expected_f(y_proba, average="samples")
    array([[0, 0],
           [0, 0],
           [0, 0]])
    """
    caller = "maximize_expected_f"
    p = validate_probabilities(y_proba, caller=caller, sparse=True)
    check_choice("average", average, get_args(FAverage))
    beta2 = _check_beta(beta)
    if joint is not None:
        if average != "samples":
            raise InputError('joint needs average="samples"', f"Got average={average!r}")
        return _decide_rows_jointly(p, _check_joint(joint, p), beta2)
    if average == "samples":
        return _decide_rows(p, beta2)
    if average == "micro":
        thresholds = np.full(p.shape[1], _best_cut(stored_values(p).ravel(), beta2))
    else:
        thresholds = np.array([_best_cut(own, beta2) for own in iterate_stored(p)])
    return cells_at_least(p, thresholds)


def bayes_threshold(costs: ArrayLike) -> Any:
    """Return the probability from which predicting a label costs less than not doing so.

    Parameters
    ----------
    costs : array-like of shape (2, 2) or (n_labels, 2, 2)
        ``costs[true, predicted]``, as in :class:`CostMatrix`.

    Returns
    -------
    threshold : float or ndarray of shape (n_labels,)
        For calibrated probabilities. Below 0 the label is always predicted, above 1 never.

    See Also
    --------
    CostMatrix : Thresholds by costs for scores that are not calibrated.

    Examples
    --------
    >>> from labelance.decisions import bayes_threshold
    >>> bayes_threshold([[0, 1], [9, 0]])
    0.1
    """
    c = np.asarray(CostMatrix(costs).costs, dtype=float)
    alarm, miss = c[..., 0, 1] - c[..., 0, 0], c[..., 1, 0] - c[..., 1, 1]
    if (alarm + miss <= 0).any():
        found = f"A false alarm and a miss together cost {np.min(alarm + miss):g} more"
        raise InputError("Wrong decisions must cost more than right ones", found)
    found = alarm / (alarm + miss)
    return found if found.ndim else float(found)


def _best_cut(p: NDArray[np.float64], beta2: float) -> float:
    """Return the smallest probability among those taken; inf where none is above 0."""
    ranked = -np.sort(-p)
    total = ranked.sum()
    if total == 0:
        return np.inf
    value = np.cumsum(ranked) / (beta2 * total + np.arange(1, len(ranked) + 1))
    return float(ranked[np.argmax(value)])


def _decide_rows(p: Any, beta2: float) -> Any:
    """Maximize the F of every row whose labels are independent."""
    cells = store_all_cells(p)
    # Per row from the largest probability down; so the k best labels are the first k.
    rows = np.repeat(np.arange(p.shape[0]), np.diff(cells.indptr))
    order = np.lexsort((-cells.data, rows))
    counts = count_best(cells.data[order], cells.indptr.astype(np.int64), beta2)
    place = np.arange(cells.nnz) - cells.indptr[:-1][rows]
    chosen = np.zeros(cells.nnz, dtype=np.int64)
    chosen[order] = place < counts[rows]
    y = sp.csr_array((chosen, cells.indices, cells.indptr), shape=p.shape)
    if cells is not p:
        return y.toarray()
    y = y.copy()
    y.eliminate_zeros()
    return y


def _decide_rows_jointly(p: Any, joint: NDArray[np.float64], beta2: float) -> Any:
    """Maximize the F of every row by its joint probabilities of labels and their number."""
    n, q, most = joint.shape
    y = np.zeros((n, q), dtype=np.int64)
    sizes = np.arange(1, most + 1)
    weight = (1 + beta2) / (beta2 * sizes[:, None] + np.arange(1, q + 1))
    for i in range(n):
        gain = joint[i] @ weight
        order = np.argsort(-gain, axis=0, kind="stable")
        value = np.take_along_axis(gain, order, axis=0).cumsum(axis=0).diagonal()
        k = int(np.argmax(value))
        if value[k] > 1 - (joint[i] / sizes).sum() + 1e-12:
            y[i, order[: k + 1, k]] = 1
    return y if isinstance(p, np.ndarray) else sp.csr_array(y)


def _check_beta(beta: Any) -> float:
    is_number = isinstance(beta, (int, float, np.number)) and not isinstance(beta, bool)
    if not is_number or not 0 < beta < np.inf:
        raise InputError("beta must be a number > 0", f"Got {beta!r}")
    return square_of_beta(beta)


def _check_joint(joint: Any, p: Any) -> NDArray[np.float64]:
    table = as_numbers(joint)
    fits = table.ndim == 3 and table.shape[:2] == p.shape and (table >= 0).all()
    if not fits or np.abs(table.sum(axis=2) - p).max() > 1e-6:
        raise InputError(
            f"joint must have shape (*{p.shape}, s), and its sums over s must be y_proba",
            f"It has shape {table.shape}, or its sums differ",
            "Pass P(label j and s labels in all) at joint[i, j, s - 1]",
        )
    return table
