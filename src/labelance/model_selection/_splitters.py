"""Splitters for cross-validation on multi-label data, and a stratified train/test split."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

from labelance._arrays._dask import count_rows_and_columns
from labelance._arrays._labels import mark_unknown
from labelance._arrays._open import place_of, take_rows, to_memory
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import check_positive, is_integer, validate_groups
from labelance._validation._data import validate_labels
from labelance.exceptions import InputError, LabelanceWarning, TooFewRowsError
from labelance.model_selection._fold_sizes import (
    is_whole,
    part_weights,
    train_test_weights,
)
from labelance.model_selection._stratify import (
    Integers,
    Order,
    Rows,
    assign_groups,
    assign_rows,
    rows_of_folds,
)


class _WithoutGroups:
    """The way in for splitters that do not look at groups."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows of training and test set for every fold, in increasing order.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The features; only the number of rows matters.
        y : array, sparse matrix or data frame of shape (n, q)
            The labels, zeros and ones.
        groups : object
            Ignored, with a warning.
        """
        if groups is not None:
            warnings.warn(
                f"{type(self).__name__} ignores groups; "
                "IterativeStratifiedGroupKFold keeps their rows together.",
                LabelanceWarning,
                stacklevel=2,
            )
        X, y, _ = _count_dask_rows(X, y, None, caller=type(self).__name__)
        rows: Iterator[tuple[Rows, Rows]] = super().split(X, y)  # type: ignore[misc]
        return rows


class _Folds(BaseCrossValidator):
    """Parameters of the splitters that make K folds once."""

    def __init__(
        self,
        n_splits: int = 5,
        *,
        order: Order = 1,
        shuffle: bool = False,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_splits = n_splits
        self.order = order
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds; the data is not looked at."""
        return int(self.n_splits)


class IterativeStratifiedKFold(_WithoutGroups, _Folds):
    """K folds in which every label, or every pair of labels, is as frequent as in the whole.

    The rarest label is assigned first, row by row, to the fold that still wants it most; among
    these to the fold that wants most rows; and only among these by lot.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    order : {1, 2}, default=1
        1 balances labels [1]_, 2 balances pairs of labels, then labels [2]_.
    shuffle : bool, default=False
        Whether to assign the rows in random order. By default they are assigned in row order, and
        chance only decides ties.
    random_state : int, RandomState, Generator or None, default=None
        Decides ties, and the order if ``shuffle``. Pass an int for the same folds every time.

    See Also
    --------
    RepeatedIterativeStratifiedKFold : The same several times, with other ties.
    IterativeStratifiedGroupKFold : Keeps the rows of a group together.
    label_distribution : How well a split keeps the label distribution.

    Notes
    -----
    Folds may differ by a few rows in size. A label with fewer rows than folds is missing in
    some folds, and any rare label may be, so choose metrics that cope.

    Wants are compared as integers, never as rounded ones, so a tie is a tie for any number
    of folds. The cost is linear in the number of ones (or pairs of ones) in y.

    References
    ----------
    .. [1] Sechidis, Tsoumakas, Vlahavas (2011). On the stratification of multi-label data.
       ECML PKDD.
    .. [2] Szymański, Kajdanowicz (2017). A network perspective on stratification of multi-label
       data. PMLR 74.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.model_selection import IterativeStratifiedKFold
    >>> X = np.zeros((6, 1))
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 1]])
    >>> for train, test in IterativeStratifiedKFold(2, random_state=0).split(X, Y):
    ...     print(test, Y[test].sum(axis=0))
    [1 2 3] [2 2]
    [0 4 5] [2 2]
    """

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[Rows]:
        caller = type(self).__name__
        Y = validate_stratified(y, order=self.order, caller=caller)
        options: dict[str, Any] = {"order": self.order, "shuffle": self.shuffle, "caller": caller}
        fold = assign_folds(Y, self.n_splits, self.random_state, **options)
        yield from rows_of_folds(fold, self.n_splits)


def equal_weights(n_splits: Any, n: int, *, caller: str, things: str = "rows") -> Integers:
    """Return the weights of ``n_splits`` equal folds, if ``n`` rows or groups are enough."""
    if not is_integer(n_splits) or n_splits < 2:
        raise InputError(f"n_splits of {caller} must be an integer >= 2", f"Got {n_splits!r}")
    if n_splits > n:
        problem = f"Each of the n_splits={n_splits} folds of {caller} needs one of the {things}"
        raise TooFewRowsError(problem, f"There are only {n} {things}")
    return np.ones(int(n_splits), dtype=np.int64)


def assign_folds(
    Y: csr_array,
    n_splits: int,
    random_state: RandomStateLike,
    *,
    order: Order = 1,
    shuffle: bool = False,
    caller: str = "IterativeStratifiedKFold",
) -> Integers:
    """Return the fold of every row of clean labels, as `IterativeStratifiedKFold` has them."""
    weights = equal_weights(n_splits, Y.shape[0], caller=caller)
    rng = as_generator(random_state)
    return assign_rows(Y, weights, order=order, shuffle=shuffle, rng=rng)


class RepeatedIterativeStratifiedKFold(_WithoutGroups, BaseCrossValidator):
    """Iterative stratification into K folds, several times over.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    n_repeats : int, default=10
        Number of repetitions.
    order : {1, 2}, default=1
        1 balances labels, 2 balances pairs of labels, then labels.
    shuffle : bool, default=False
        Whether to assign the rows in random order; else chance only decides ties.
    random_state : int, RandomState, Generator or None, default=None
        With an int s, repetition t (from 0) has the folds of
        ``IterativeStratifiedKFold(random_state=s + t)``.

    See Also
    --------
    IterativeStratifiedKFold : One repetition.

    Examples
    --------
    The paper's protocol is five times two folds, repetition t with seed t:

    >>> import numpy as np
    >>> from labelance.model_selection import RepeatedIterativeStratifiedKFold
    >>> Y = np.random.default_rng(0).integers(0, 2, size=(20, 4))
    >>> cv = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    >>> len(list(cv.split(Y, Y)))
    10
    """

    def __init__(
        self,
        n_splits: int = 5,
        n_repeats: int = 10,
        *,
        order: Order = 1,
        shuffle: bool = False,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.order = order
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return folds times repetitions; the data is not looked at."""
        return int(self.n_splits) * int(self.n_repeats)

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[Rows]:
        caller = type(self).__name__
        Y = validate_stratified(y, order=self.order, caller=caller)
        repeats = check_positive("n_repeats", self.n_repeats, caller=caller)
        streams: Any = as_generator(self.random_state).spawn(repeats)
        if is_whole(self.random_state):
            streams = [int(self.random_state) + t for t in range(repeats)]  # type: ignore[arg-type]
        options: dict[str, Any] = {"order": self.order, "shuffle": self.shuffle, "caller": caller}
        for stream in streams:
            yield from rows_of_folds(
                assign_folds(Y, self.n_splits, stream, **options), self.n_splits
            )


class IterativeStratifiedShuffleSplit(_WithoutGroups, BaseShuffleSplit):
    """Random training and test sets in which every label is as frequent as in the whole.

    Parameters
    ----------
    n_splits : int, default=10
        Number of independent splits; test sets may overlap.
    test_size : float, int or None, default=None
        Share or number of test rows. By default what ``train_size`` leaves, or 0.1.
    train_size : float, int or None, default=None
        Share or number of training rows. By default what ``test_size`` leaves.
    order : {1, 2}, default=1
        1 balances labels, 2 balances pairs of labels, then labels.
    random_state : int, RandomState, Generator or None, default=None
        Decides the order in which rows are assigned, and ties.

    See Also
    --------
    multilabel_train_test_split : One split of the data itself, into any number of parts.

    Notes
    -----
    Labels come first: a part may be some rows larger or smaller than asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.model_selection import IterativeStratifiedShuffleSplit
    >>> Y = np.tile([[1, 0], [0, 1], [1, 1], [0, 0]], (5, 1))
    >>> cv = IterativeStratifiedShuffleSplit(n_splits=3, test_size=0.2, random_state=0)
    >>> [(len(train), Y[test].sum(axis=0).tolist()) for train, test in cv.split(Y, Y)]
    [(16, [2, 2]), (16, [2, 2]), (16, [2, 2])]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | int | None = None,
        train_size: float | int | None = None,
        order: Order = 1,
        random_state: RandomStateLike = None,
    ) -> None:
        super().__init__(
            n_splits, test_size=test_size, train_size=train_size, random_state=random_state
        )
        self.order = order

    def _iter_indices(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Rows, Rows]]:
        Y = validate_stratified(y, order=self.order, caller=type(self).__name__)
        weights = train_test_weights(self.train_size, self.test_size, Y.shape[0], default=0.1)
        n_splits = check_positive("n_splits", self.n_splits, caller=type(self).__name__)
        for rng in as_generator(self.random_state).spawn(n_splits):
            fold = assign_rows(Y, weights, order=self.order, shuffle=True, rng=rng)
            train, test = rows_of_folds(fold, 2)
            check_not_empty([train, test], caller=type(self).__name__)
            yield train, test


class IterativeStratifiedGroupKFold(_Folds):
    """K folds with even labels in which the rows of a group stay together.

    Groups are assigned like rows that have their labels several times, those with most of a label
    first. Then single groups are moved, and pairs of groups swapped, as long as that brings the
    labels' odds in the folds nearer to those in the whole, and the sizes nearer to each other.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; at most the number of groups.
    order : {1, 2}, default=1
        1 balances labels, 2 balances pairs of labels and labels.
    shuffle : bool, default=False
        Whether to assign the groups in random order; by default in sorted order.
    random_state : int, RandomState, Generator or None, default=None
        Decides ties, the order if ``shuffle``, and where the search starts again.

    See Also
    --------
    IterativeStratifiedKFold : Without groups.

    Notes
    -----
    The result is measured against 100 random assignments of the groups. While chance could still do
    better, as happens with few groups, the search continues, and even sizes count less and less:
    labels come first.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.model_selection import IterativeStratifiedGroupKFold
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]])
    >>> patient = np.array(["a", "a", "b", "b", "c", "c", "d", "d"])
    >>> cv = IterativeStratifiedGroupKFold(2, random_state=0)
    >>> for train, test in cv.split(Y, Y, patient):
    ...     print(*sorted(set(patient[test])), Y[test].sum(axis=0))
    c d [2 2]
    a b [2 2]
    """

    # scikit-learn's metadata routing then units groups to split without being asked.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows of training and test set for every fold, in increasing order.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The features; only the number of rows matters.
        y : array, sparse matrix or data frame of shape (n, q)
            The labels, zeros and ones.
        groups : array-like of shape (n,)
            The group of every row: numbers or words.
        """
        X, y, groups = _count_dask_rows(X, y, groups, caller=type(self).__name__)
        return super().split(X, y, groups)

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[Rows]:
        caller = type(self).__name__
        Y = validate_stratified(y, order=self.order, caller=caller)
        group_of = validate_groups(groups, Y.shape[0], caller=caller)
        n_groups = int(group_of.max()) + 1
        n_folds = len(equal_weights(self.n_splits, n_groups, caller=caller, things="groups"))
        rng = as_generator(self.random_state)
        fold = assign_groups(Y, group_of, n_folds, order=self.order, shuffle=self.shuffle, rng=rng)
        yield from rows_of_folds(fold, n_folds)


_WHO = "multilabel_train_test_split"


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
        raise InputError(f"{_WHO} needs at least one array", "Got none")
    Y = validate_stratified(arrays[-1] if stratify is None else stratify, order=order, caller=_WHO)
    n = Y.shape[0]
    lengths = [_count_rows(array) for array in arrays]
    if any(length != n for length in lengths):
        problem = f"{_WHO} needs arrays with {n} rows, like the labels"
        raise InputError(problem, f"They have {', '.join(map(str, lengths))} rows")
    if sizes is None:
        weights = train_test_weights(train_size, test_size, n, default=0.25)
    elif train_size is not None or test_size is not None:
        raise InputError(f"{_WHO} takes sizes, or train_size and test_size", "Got both")
    else:
        weights = part_weights(sizes, n)
    rng = as_generator(random_state)
    part = assign_rows(Y, weights, order=order, shuffle=shuffle, rng=rng)
    # What train and test leave over is a part that is not wanted.
    rows = rows_of_folds(part, 2 if sizes is None else len(weights))
    check_not_empty(rows, caller=_WHO)
    return [take_rows(array, taken) for array in arrays for taken in rows]


def _count_rows(array: Any) -> int:
    # The rows of a list may be anything, also of different lengths.
    return len(array) if isinstance(array, (list, tuple)) else count_rows_and_columns(array)[0]


def _count_dask_rows(X: Any, y: Any, groups: Any, *, caller: str) -> tuple[Any, Any, Any]:
    """Return tables that know how many rows they have, which scikit-learn asks them.

    Of a Dask collection of features only that number is kept; labels come to memory as CSR, and
    groups come, too.
    """
    if place_of(X) == "Dask":
        X = np.empty((_count_rows(X), 0))
    if place_of(y) == "Dask":
        labels = validate_labels(y, caller=caller, needs_all=None)
        y = mark_unknown(labels.Y, labels.unknown)
    return X, to_memory(y), to_memory(groups)


def strata(Y: csr_array, unknown: csr_array | None) -> csr_array:
    """Return what folds have equal shares of: labels, and the rows in which a label is unknown.

    A fold with its share of rows, of positives and of unknown cells has its share of known
    negatives, too.
    """
    if unknown is None:
        return Y
    return csr_array(hstack([Y, unknown[:, np.unique(unknown.indices)]], format="csr"))


def validate_stratified(Y: Any, *, order: Any, caller: str) -> csr_array:
    """Return the labels to stratify on, if the order is one we know."""
    if order not in (1, 2):
        raise InputError(
            f"order of {caller} must be 1 (labels) or 2 (pairs of labels)", f"Got {order!r}"
        )
    pairs = "order=2 balances pairs of labels; order=1 does without"
    labels = validate_labels(Y, caller=caller, needs_all=None if order == 1 else pairs)
    return strata(labels.Y, labels.unknown)


def check_not_empty(parts: list[Rows], *, caller: str) -> None:
    """Raise if a part got no row, as happens to small shares when every label is rare."""
    for number, rows in enumerate(parts, start=1):
        if len(rows) == 0:
            raise TooFewRowsError(
                f"Each of the {len(parts)} parts of {caller} needs at least one row",
                f"Part {number} got none",
                "Use a larger share, or IterativeStratifiedKFold, whose folds are never empty",
            )
