"""Split the data itself into parts in which every label is as frequent as in the whole."""

from collections.abc import Sequence
from typing import Any

from labelance._arrays import take_rows
from labelance._utils import RandomStateLike, as_generator
from labelance.exceptions import InputError
from labelance.model_selection._checks import refuse_empty, validate_stratified
from labelance.model_selection._fold_sizes import part_weights, train_test_weights
from labelance.model_selection._stratify import Integers, Order, assign_rows, rows_of_folds

WHO = "multilabel_train_test_split"


def multilabel_train_test_split(
    *arrays: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    sizes: Sequence[float] | Sequence[int] | None = None,
    random_state: RandomStateLike = None,
    shuffle: bool = True,
    stratify: Any = None,
    order: Order = 1,
) -> list[Any]:
    """Split arrays, frames and lists into stratified parts of the same kind.

    Parameters
    ----------
    *arrays : array, sparse matrix, data frame, series or list, each with n rows
        What to split. **The last one is y**, the (n, q) labels that decide the split, unless
        ``stratify`` is given.
    test_size : float, int or None, default=None
        Share or number of rows of the second part. By default what ``train_size`` leaves, or
        0.25.
    train_size : float, int or None, default=None
        Share or number of rows of the first part. By default what ``test_size`` leaves.
    sizes : sequence of float or int, default=None
        Instead of the two: shares of any number of parts, with sum 1, or their numbers of rows,
        with sum n.
    random_state : int, RandomState, Generator or None, default=None
        Decides the order in which rows are assigned, and ties.
    shuffle : bool, default=True
        Whether to assign the rows in random order; else in row order. The parts keep the order of
        the rows in any case.
    stratify : array, sparse matrix or data frame of shape (n, q), default=None
        The labels that decide the split; by default the last of ``arrays``.
    order : {1, 2}, default=1
        1 balances labels, 2 balances pairs of labels, then labels.

    Returns
    -------
    parts : list
        All parts of the first array, then all parts of the second, and so on.

    See Also
    --------
    IterativeStratifiedShuffleSplit : The same as row numbers, several times.

    Notes
    -----
    Labels come first: a part may be some rows larger or smaller than asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.model_selection import multilabel_train_test_split
    >>> X = np.arange(20).reshape(-1, 1)
    >>> y = np.tile([[1, 0], [0, 1], [1, 1], [0, 0]], (5, 1))
    >>> parts = multilabel_train_test_split(X, y, test_size=0.2, random_state=0)
    >>> X_train, X_test, y_train, y_test = parts
    >>> y_train.sum(axis=0), y_test.sum(axis=0)
    (array([8, 8]), array([2, 2]))

    Three parts:

    >>> parts = multilabel_train_test_split(X, y, sizes=(0.6, 0.2, 0.2), random_state=0)
    >>> X_train, X_valid, X_test, y_train, y_valid, y_test = parts
    >>> len(X_train), len(X_valid), len(X_test)
    (12, 4, 4)
    """
    if not arrays:
        raise InputError(
            f"{WHO} splits at least one array",
            "none was given",
            "Call it as multilabel_train_test_split(X, y)",
        )
    Y = validate_stratified(arrays[-1] if stratify is None else stratify, order=order, who=WHO)
    n = Y.shape[0]
    _refuse_other_lengths(arrays, n)
    weights, n_parts = _weights(train_size, test_size, sizes, n)
    rng = as_generator(random_state)
    part = assign_rows(Y, weights, order=order, shuffle=shuffle, rng=rng)
    rows = rows_of_folds(part, n_parts)
    refuse_empty(rows, who=WHO)
    return [take_rows(array, taken) for array in arrays for taken in rows]


def _weights(
    train_size: Any, test_size: Any, sizes: Sequence[Any] | None, n: int
) -> tuple[Integers, int]:
    """Return the weights of all parts, and how many of them are wanted."""
    if sizes is None:
        return train_test_weights(train_size, test_size, n, default=0.25), 2
    if train_size is not None or test_size is not None:
        raise InputError(
            f"{WHO} takes sizes, or train_size and test_size",
            "it was given both",
            "Leave out one of them",
        )
    weights = part_weights(sizes, n)
    return weights, len(weights)


def _refuse_other_lengths(arrays: tuple[Any, ...], n: int) -> None:
    lengths = [array.shape[0] if hasattr(array, "shape") else len(array) for array in arrays]
    if any(length != n for length in lengths):
        raise InputError(
            f"{WHO} needs arrays with the {n} rows of the labels",
            f"they have {', '.join(map(str, lengths))} rows",
            "Select the same rows in all of them",
        )
