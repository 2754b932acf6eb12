"""SCUMBLE: how frequent and rare labels occur together, row by row, over all and by label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance._validation import validate_labels
from labelance.imbalance import _formulas

__all__ = ["scumble", "scumble_cv", "scumble_instances", "scumble_labels"]

Floats = NDArray[np.float64]


def scumble_instances(Y: Any) -> Floats:
    """Measure in every row how frequent and rare labels occur together: SCUMBLE of an instance.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = validate_labels(Y, who="scumble_instances").Y
    return _formulas.scumble_instances(labels, _formulas.label_counts(labels))


def scumble(Y: Any) -> float:
    """Average SCUMBLE over all rows, those without labels included.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = validate_labels(Y, who="scumble").Y
    return float(_formulas.scumble_instances(labels, _formulas.label_counts(labels)).mean())


def scumble_cv(Y: Any) -> float:
    """Divide the sample standard deviation of the rows' SCUMBLE by its mean: SCUMBLE.CV.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = validate_labels(Y, who="scumble_cv").Y
    return _formulas.variation(_formulas.scumble_instances(labels, _formulas.label_counts(labels)))


def scumble_labels(Y: Any) -> Floats:
    """Average SCUMBLE over the rows of each label: SCUMBLE.Lbl.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
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
    labels = validate_labels(Y, who="scumble_labels").Y
    counts = _formulas.label_counts(labels)
    instances = _formulas.scumble_instances(labels, counts)
    return _formulas.scumble_labels(labels, counts, instances)
