"""The paper's preprocessing: frequent features only, and no label with a single row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from labelance._arrays._labels import part_unknown
from labelance._arrays._sparse import check_structure
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets._registry import REGISTRY
from labelance.exceptions import InputError, arg

Protocol = Literal["paper"]
Columns = NDArray[np.intp]


def apply_protocol(
    dataset: MultiLabelDataset,
    protocol: Protocol = "paper",
    *,
    feature_share: float | None = None,
) -> MultiLabelDataset:
    """Prepare a dataset as in the paper's experiment.

    First the features: of textual data with more than 1000 features only the most frequent are
    kept, a tenth in bibtex, enron and medical, a hundredth in rcv1subset1, rcv1subset2,
    yahoo-Arts1 and yahoo-Business1. Then the labels: those of at most one row are dropped.

    Parameters
    ----------
    dataset : MultiLabelDataset
        The dataset as published.
    protocol : {"paper"}, default="paper"
        Whose protocol.
    feature_share : float, optional
        Share of the features to keep. Unless given, it is the paper's if the dataset has the
        name of one of the paper's, and 1 otherwise.

    Returns
    -------
    MultiLabelDataset
        The dataset with fewer columns. Kept features come in falling order of frequency, as
        in the program of the paper's authors, where ties between features go to the first.

    See Also
    --------
    keep_frequent_features : The first step, on any X.
    drop_rare_labels : The second step, on any y.

    Examples
    --------
    >>> from labelance.datasets import MultiLabelDataset, apply_protocol
    >>> X = [[1, 0, 2, 0], [0, 0, 1, 1], [0, 0, 3, 1]]
    >>> data = MultiLabelDataset(X, [[1, 0], [1, 1], [0, 0]])
    >>> reduced = apply_protocol(data, feature_share=0.5)
    >>> reduced.feature_names, reduced.label_names
    (('x2', 'x3'), ('y0',))
    """
    if protocol != "paper":
        raise InputError(f"{arg('protocol')} must be 'paper'", f"Got {protocol!r}")
    if feature_share is None:
        known = REGISTRY.get(dataset.name)
        feature_share = known.feature_share if known else 1.0
    if feature_share < 1:
        X, kept = keep_frequent_features(
            dataset.values, feature_share, zero_values=_codes_of_zero(dataset)
        )
        dataset = replace(
            dataset,
            values=X,
            feature_names=tuple(dataset.feature_names[j] for j in kept),
            categories=tuple(dataset.categories[j] for j in kept),
            categorical_features=dataset.categorical_features[kept],
        )
    Y, kept = drop_rare_labels(dataset.Y)
    return replace(dataset, Y=Y, label_names=tuple(dataset.label_names[j] for j in kept))


def keep_frequent_features(
    X: Any, share: float, *, zero_values: ArrayLike | None = None
) -> tuple[Any, Columns]:
    """Keep the features that are nonzero in most rows.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        The features.
    share : float
        Share of the features to keep, above 0 and at most 1; the number is rounded down.
    zero_values : array-like of shape (n_features,), optional
        The value that counts as zero in each column, for columns of codes where it is not 0;
        NaN where no value does.

    Returns
    -------
    X_kept : ndarray or sparse array
        The columns kept, the most frequent first, equally frequent ones in their old order.
    kept : ndarray
        Their numbers in X.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.datasets import keep_frequent_features
    >>> X = np.array([[1, 0, 2, 0], [0, 0, 1, 1], [0, 0, 3, 1]])
    >>> X_kept, kept = keep_frequent_features(X, 0.5)
    >>> kept
    array([2, 3])
    """
    sparse = check_structure(X, "X")
    X = X if sparse else np.asarray(X)
    n_features = X.shape[1]
    # The rounding keeps 0.29 * 100 from becoming 28.
    n_kept = int(np.floor(round(share * n_features, 9)))
    if not 0 < share <= 1 or n_kept < 1:
        raise InputError(
            f"share must be in (0, 1] and keep at least one of {n_features} features",
            f"Got share={share}",
        )
    zero = np.zeros(n_features) if zero_values is None else np.asarray(zero_values, dtype=float)
    count = _count_sparse(csr_array(X), zero) if sparse else (X != zero).sum(axis=0)
    kept = np.argsort(-count, kind="stable")[:n_kept]
    return (csr_array(csc_array(X)[:, kept]) if sparse else X[:, kept]), kept


def drop_rare_labels(y: Any, min_count: int = 2) -> tuple[Any, Columns]:
    """Drop labels that too few rows have to be split into training and test rows.

    Parameters
    ----------
    y : ndarray or sparse array of shape (n_samples, n_labels)
        The labels, as zeros and ones; unknown cells (NaN) are not counted.
    min_count : int, default=2
        Number of rows that a label needs to stay.

    Returns
    -------
    y_kept : ndarray or sparse array
        The columns kept, in their old order.
    kept : ndarray
        Their numbers in y.

    Notes
    -----
    The paper speaks of labels "only containing one minority class instance". The program of
    its authors counts ones, and so does this function: a label that all rows but one have
    stays. There is none in the paper's datasets.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.datasets import drop_rare_labels
    >>> y_kept, kept = drop_rare_labels(np.array([[1, 0, 1], [1, 0, 0], [1, 1, 1]]))
    >>> kept
    array([0, 2])
    """
    Y = y if check_structure(y, "y") else np.asarray(y)
    present = part_unknown(Y)[0] != 0
    kept = np.flatnonzero(np.asarray(present.sum(axis=0)).ravel() >= min_count)
    return Y[:, kept], kept


def _count_sparse(X: csr_array, zero: NDArray[np.float64]) -> NDArray[np.intp]:
    """Count per column the entries that are not its zero value; what is not stored is 0."""
    n_samples, n_features = X.shape
    stored = np.bincount(X.indices, minlength=n_features)
    equal = np.bincount(X.indices[X.data == zero[X.indices]], minlength=n_features)
    counts: NDArray[np.intp] = n_samples - equal - np.where(zero == 0, n_samples - stored, 0)
    return counts


def _codes_of_zero(dataset: MultiLabelDataset) -> NDArray[np.float64]:
    """Return for each feature the code of the value "0", as the authors' program counts.

    A categorical feature without it, like {YES, NO}, is nonzero in all rows.
    """
    return np.array([
        0.0 if values is None else float(values.index("0")) if "0" in values else np.nan
        for values in dataset.categories
    ])  # fmt: skip
