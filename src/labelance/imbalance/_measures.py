"""Measures of imbalance as functions of y: IRLbl, ImR, SCUMBLE, TCS and more.

The formulas are in ``_formulas``. Every function takes y as the rest of the library does: an (n, q)
indicator as an array, a data frame or a sparse matrix, and costs O(nnz(y)).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays import column_counts
from labelance._validation import validate_labels
from labelance.exceptions import InputError
from labelance.imbalance import _formulas
from labelance.imbalance._labelsets import find_labelsets

Floats = NDArray[np.float64]


def _open(y: Any, who: str) -> csr_array:
    return validate_labels(y, who=who).Y


def label_counts(y: Any) -> NDArray[np.int64]:
    """Count the rows of every label.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    return column_counts(_open(y, "label_counts"))


def cardinality(y: Any) -> float:
    """Average the number of labels over the rows.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = _open(y, "cardinality")
    return labels.nnz / labels.shape[0]


def density(y: Any) -> float:
    """Divide the label cardinality by the number of labels.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The share of ones in y, between 0 and 1.

    Examples
    --------
    >>> from labelance.imbalance import density
    >>> density([[1, 0], [1, 1], [1, 0], [0, 0]])
    0.5
    """
    labels = _open(y, "density")
    return labels.nnz / labels.shape[0] / labels.shape[1]


def irlbl(y: Any) -> Floats:
    """Divide the count of the most frequent label by the count of each label: IRLbl.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    return _formulas.irlbl(column_counts(_open(y, "irlbl")))


def mean_ir(y: Any) -> float:
    """Average IRLbl over the labels that occur: MeanIR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    counts = column_counts(_open(y, "mean_ir"))
    return _formulas.mean_where_defined(_formulas.irlbl(counts))


def cvir(y: Any) -> float:
    """Divide the sample standard deviation of IRLbl by its mean: CVIR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    return _formulas.variation(_formulas.irlbl(column_counts(_open(y, "cvir"))))


def imr(y: Any) -> Floats:
    """Divide, within each label, the count of the majority class by that of the minority: ImR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = _open(y, "imr")
    return _formulas.imr(column_counts(labels), labels.shape[0])


def mean_imr(y: Any) -> float:
    """Average ImR over the labels that have both classes: MeanImR.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = _open(y, "mean_imr")
    return _formulas.mean_where_defined(_formulas.imr(column_counts(labels), labels.shape[0]))


def tcs(X: Any, y: Any) -> float:
    """Take the logarithm of features times labels times labelsets: TCS.

    Parameters
    ----------
    X : int, or a table of shape (n_samples, n_features)
        The number of features, or the features themselves, of which only the number counts.
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = _open(y, "tcs")
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
            f"{who} takes the number of features, or X with the {n_rows} rows of y",
            f"X has the shape {tuple(shape)}",
            "Pass the X that belongs to this y",
        )
    return int(shape[1])


def scumble_instances(y: Any) -> Floats:
    """Measure in every row how frequent and rare labels occur together: SCUMBLE of an instance.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_samples,)
        One minus the geometric over the arithmetic mean of IRLbl over the row's labels,
        in [0, 1): exactly 0 if they are equally frequent, and in a row without labels.

    Notes
    -----
    The published formula multiplies over all labels, with 0 for those a row does not
    have, which would make every product 0. All known programs take the row's own labels.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Dealing with difficult minority
    labels in imbalanced multilabel data sets. Neurocomputing 326-327, 2019.

    Examples
    --------
    >>> from labelance.imbalance import scumble_instances
    >>> scumble_instances([[1, 0], [1, 1], [1, 0], [1, 0]]).round(3)
    array([0. , 0.2, 0. , 0. ])
    """
    labels = validate_labels(y, who="scumble_instances").Y
    return _formulas.scumble_instances(labels, column_counts(labels))


def scumble(y: Any) -> float:
    """Average SCUMBLE over all rows, those without labels included.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The mean, in [0, 1).

    Examples
    --------
    >>> from labelance.imbalance import scumble
    >>> round(scumble([[1, 0], [1, 1], [1, 0], [1, 0]]), 3)
    0.05
    """
    labels = validate_labels(y, who="scumble").Y
    return float(_formulas.scumble_instances(labels, column_counts(labels)).mean())


def scumble_cv(y: Any) -> float:
    """Divide the sample standard deviation of the rows' SCUMBLE by its mean: SCUMBLE.CV.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    float
        The coefficient of variation; nan if SCUMBLE is 0.

    Examples
    --------
    >>> from labelance.imbalance import scumble_cv
    >>> scumble_cv([[1, 0], [1, 1], [1, 0], [1, 0]])
    2.0
    """
    labels = validate_labels(y, who="scumble_cv").Y
    return _formulas.variation(_formulas.scumble_instances(labels, column_counts(labels)))


def scumble_labels(y: Any) -> Floats:
    """Average SCUMBLE over the rows of each label: SCUMBLE.Lbl.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    ndarray of shape (n_labels,)
        The means, in [0, 1); nan for a label that no row has.

    Examples
    --------
    >>> from labelance.imbalance import scumble_labels
    >>> scumble_labels([[1, 0], [1, 1], [1, 0], [1, 0]]).round(3)
    array([0.05, 0.2 ])
    """
    labels = validate_labels(y, who="scumble_labels").Y
    counts = column_counts(labels)
    instances = _formulas.scumble_instances(labels, counts)
    return _formulas.scumble_labels(labels, counts, instances)
