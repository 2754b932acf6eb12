"""Measures of imbalance as functions of Y, each on validated labels.

The formulas are in `_formulas`. Every function takes Y as the rest of the library does:
an (n, q) indicator as an array, a data frame or a sparse matrix, and costs O(nnz(Y)).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._validation import validate_labels
from labelance.exceptions import InputError
from labelance.imbalance import _formulas
from labelance.imbalance._labelsets import find_labelsets

__all__ = [
    "cardinality",
    "cvir",
    "density",
    "imr",
    "irlbl",
    "label_counts",
    "mean_imr",
    "mean_ir",
    "tcs",
]

Floats = NDArray[np.float64]


def _open(Y: Any, who: str) -> csr_array:
    return validate_labels(Y, who=who).Y


def label_counts(Y: Any) -> NDArray[np.int64]:
    """Count the rows of every label.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_labels,)
        The number of ones.

    Examples
    --------
    >>> from labelance.imbalance import label_counts
    >>> label_counts([[1, 0], [1, 1], [1, 0]])
    array([3, 1])
    """
    return _formulas.label_counts(_open(Y, "label_counts"))


def cardinality(Y: Any) -> float:
    """Average the number of labels over the rows.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The label cardinality, between 0 and the number of labels.

    References
    ----------
    G. Tsoumakas, I. Katakis. Multi-label classification: an overview. International
    Journal of Data Warehousing and Mining 3(3), 2007.

    Examples
    --------
    >>> from labelance.imbalance import cardinality
    >>> cardinality([[1, 0], [1, 1], [1, 0], [0, 0]])
    1.0
    """
    labels = _open(Y, "cardinality")
    return labels.nnz / labels.shape[0]


def density(Y: Any) -> float:
    """Divide the label cardinality by the number of labels.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The share of ones in Y, between 0 and 1.

    Examples
    --------
    >>> from labelance.imbalance import density
    >>> density([[1, 0], [1, 1], [1, 0], [0, 0]])
    0.5
    """
    labels = _open(Y, "density")
    return labels.nnz / labels.shape[0] / labels.shape[1]


def irlbl(Y: Any) -> Floats:
    """Divide the count of the most frequent label by the count of each label: IRLbl.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_labels,)
        The imbalance ratio between labels, at least 1; nan for a label that no row has.

    See Also
    --------
    imr : The imbalance within a label, between its two classes.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in
    multilabel classification: measures and random resampling algorithms.
    Neurocomputing 163, 2015.

    Examples
    --------
    >>> from labelance.imbalance import irlbl
    >>> irlbl([[1, 0, 0], [1, 1, 0], [1, 0, 0]])
    array([ 1.,  3., nan])
    """
    return _formulas.irlbl(_formulas.label_counts(_open(Y, "irlbl")))


def mean_ir(Y: Any) -> float:
    """Average IRLbl over the labels that occur: MeanIR.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The mean, at least 1; nan if no row has a label.

    Examples
    --------
    >>> from labelance.imbalance import mean_ir
    >>> mean_ir([[1, 0, 0], [1, 1, 0], [1, 0, 0]])
    2.0
    """
    counts = _formulas.label_counts(_open(Y, "mean_ir"))
    return _formulas.mean_where_defined(_formulas.irlbl(counts))


def cvir(Y: Any) -> float:
    """Divide the sample standard deviation of IRLbl by its mean: CVIR.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The coefficient of variation over the labels that occur; nan if there are not
        two of them.

    Examples
    --------
    >>> from labelance.imbalance import cvir
    >>> cvir([[1, 1], [1, 1], [0, 0]])
    0.0
    """
    return _formulas.variation(_formulas.irlbl(_formulas.label_counts(_open(Y, "cvir"))))


def imr(Y: Any) -> Floats:
    """Divide, within each label, the count of the majority class by that of the minority: ImR.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_labels,)
        The imbalance ratio between the classes of a label, at least 1; nan for a label
        that is the same in all rows.

    See Also
    --------
    irlbl : The imbalance between labels.

    References
    ----------
    M.-L. Zhang, Y.-K. Li, X.-Y. Liu. Towards class-imbalance aware multi-label learning.
    IJCAI 2015.

    Examples
    --------
    >>> from labelance.imbalance import imr
    >>> imr([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    array([ 3.,  3., nan])
    """
    labels = _open(Y, "imr")
    return _formulas.imr(_formulas.label_counts(labels), labels.shape[0])


def mean_imr(Y: Any) -> float:
    """Average ImR over the labels that have both classes: MeanImR.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The mean, at least 1; nan if every label is the same in all rows.

    Examples
    --------
    >>> from labelance.imbalance import mean_imr
    >>> mean_imr([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    3.0
    """
    labels = _open(Y, "mean_imr")
    return _formulas.mean_where_defined(
        _formulas.imr(_formulas.label_counts(labels), labels.shape[0])
    )


def tcs(X: Any, Y: Any) -> float:
    """Take the logarithm of features times labels times labelsets: TCS.

    Parameters
    ----------
    X : int, or a table of shape (n_samples, n_features)
        The number of features, or the features themselves, of which only the number counts.
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The theoretical complexity score, a natural logarithm.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. On the impact of dataset
    complexity and sampling strategy in multilabel classifiers performance. HAIS 2016.

    Examples
    --------
    >>> from labelance.imbalance import tcs
    >>> round(tcs(72, [[1, 0], [0, 1], [0, 1]]), 3)
    5.663
    """
    labels = _open(Y, "tcs")
    return _formulas.tcs(
        count_features(X, labels.shape[0], who="tcs"), labels.shape[1], len(find_labelsets(labels))
    )


def count_features(X: Any, n_rows: int, *, who: str) -> int:
    """Return the number of columns of X, or X where it is that number already."""
    if isinstance(X, int | np.integer):
        return int(X)
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] != n_rows:
        raise InputError(
            f"{who} takes the number of features, or X with the {n_rows} rows of Y",
            f"X has the shape {tuple(shape)}",
            "Pass the X that belongs to this Y",
        )
    return int(shape[1])
