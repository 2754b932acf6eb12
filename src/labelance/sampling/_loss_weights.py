"""Numbers for losses of neural networks: re-balancing weights, shifts of logits, focusing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from labelance._arrays._containers import column_counts
from labelance._validation._labels import validate_labels
from labelance.exceptions import InputError

Floats = NDArray[np.float64]


def distribution_balanced_weights(
    y: Any,
    *,
    label_counts: ArrayLike | None = None,
    alpha: float = 0.1,
    beta: float = 10.0,
    mu: float = 0.2,
) -> Floats:
    """Return the re-balancing weights of the distribution-balanced loss, one for every cell.

    A sampler that wants to see a rare label often meets its rows' frequent labels as often. These
    weights compare the chance of a row by one of its labels with its chance by all of them, and
    so take that back: of a row with a rare and a frequent label, the rare one weighs more.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones: of all rows, or of a batch.
    label_counts : array-like of shape (n_labels,), optional
        How many training rows have each label, where y is a batch; else they are counted in y.
    alpha : float, default=0.1
        The lift of the smoothing function.
    beta : float, default=10.0
        Its steepness.
    mu : float, default=0.2
        The ratio at which it is steepest.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
        alpha + 1 / (1 + exp(-beta (r - mu))) with the ratio r of label j in a row: 1 / count_j
        over the sum of 1 / count of all labels that the row has. Where the row has no label, r
        is infinite and the weight alpha + 1.

    See Also
    --------
    label_weights : Two weights for every label, whatever the row.
    logit_adjustment : The other half of that loss shifts logits.

    Notes
    -----
    Multiply the loss of every cell, present or absent, by its weight. A label that no training row
    has counts as one that one row has. Cost: O(n q), since every cell has a weight; for large
    data ask batch by batch.

    References
    ----------
    T. Wu, Q. Huang, Z. Liu, Y. Wang, D. Lin (2020): Distribution-Balanced Loss for Multi-Label
    Classification in Long-Tailed Datasets. ECCV.

    Examples
    --------
    >>> from labelance.sampling import distribution_balanced_weights
    >>> y = [[1, 1], [1, 0], [1, 0], [1, 0]]  # the first row has both, and r = 0.2 and 0.8
    >>> distribution_balanced_weights(y)[0].round(3)
    array([0.6  , 1.098])
    """
    Y = validate_labels(y, caller="distribution_balanced_weights").Y
    rarity = 1 / np.maximum(_counts(Y, label_counts), 1)
    with np.errstate(divide="ignore"):  # a row without labels
        ratio = rarity / (Y @ rarity)[:, None]
    return alpha + expit(beta * (ratio - mu))


def _counts(Y: Any, given: ArrayLike | None) -> NDArray[Any]:
    counts = column_counts(Y) if given is None else np.asarray(given)
    if counts.shape != (Y.shape[1],) or not (counts >= 0).all():
        raise InputError(
            "label_counts must hold a number of rows for every label of y",
            f"It has shape {counts.shape}, or negative numbers, and y has {Y.shape[1]} labels",
            "Count them in the training labels: y.sum(axis=0)",
        )
    return counts


def logit_adjustment(y: Any, *, tau: float = 1.0) -> Floats:
    """Return what to add to the logits of every label in training: tau times its log odds.

    A network that is trained with ``logits + adjustment`` learns what is left when the frequency
    of a label is known. Without the adjustment in prediction its scores are those of a world in
    which every label is as often present as absent, and 0.5 is the threshold for balanced error.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The training labels, zeros and ones. Unknown cells (NaN) are left out.
    tau : float, default=1.0
        How much of the imbalance is adjusted for: 0 is nothing, 1 all of it. Small values such as
        0.05 are the start bias of the distribution-balanced loss.

    Returns
    -------
    ndarray of shape (n_labels,)
        tau · log(ones / zeros); 0 for a label that is the same in all rows.

    References
    ----------
    A. K. Menon, S. Jayasumana, A. S. Rawat, H. Jain, A. Veit, S. Kumar (2021): Long-tail learning
    via logit adjustment. ICLR.

    Examples
    --------
    >>> from labelance.sampling import logit_adjustment
    >>> logit_adjustment([[1, 1], [1, 0], [1, 0], [1, 0]]).round(3)
    array([ 0.   , -1.099])
    """
    zeros, ones = _class_counts(y, caller="logit_adjustment")
    varies = (zeros > 0) & (ones > 0)
    odds = np.divide(ones, zeros, out=np.ones(len(ones)), where=varies)
    return tau * np.log(odds)


class FocalParameters(NamedTuple):
    """Parameters of focal and asymmetric losses, label by label.

    Attributes
    ----------
    alpha : ndarray of shape (n_labels,)
        The focal loss's weight of presence; that of absence is 1 - alpha.
    gamma_positive, gamma_negative : ndarray of shape (n_labels,)
        The exponents that present and absent cells are focused by.
    """

    alpha: Floats
    gamma_positive: Floats
    gamma_negative: Floats


def focal_parameters(
    y: Any, *, gamma_positive: float = 0.0, max_gamma: float = 8.0
) -> FocalParameters:
    """Return parameters of a focal or an asymmetric loss for every label.

    The losses have one number for all labels in their papers (alpha = 0.25 and gamma = 2; gamma of
    absence 4 and of presence 0 or 1), though labels differ in imbalance by orders of magnitude.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The training labels, zeros and ones. Unknown cells (NaN) are left out.
    gamma_positive : float, default=0.0
        The exponent of present cells, the same for all labels.
    max_gamma : float, default=8.0
        The largest exponent of absent cells.

    Returns
    -------
    FocalParameters
        ``alpha``, ``gamma_positive`` and ``gamma_negative``, each of shape (n_labels,).

    See Also
    --------
    label_weights : Weights without focus.

    Notes
    -----
    Both rules are ours. alpha is the share of absent cells, so that with 1 - alpha for those both
    classes have the same total weight. gamma_negative is gamma_positive + log2(zeros / ones),
    between gamma_positive and ``max_gamma``: where the network is undecided, at probability 1/2,
    the focus 2^-gamma then gives both classes the same total weight, too. For a label in one of
    17 rows that is the paper's 4. Use one of the two, not both: each balances alone. A label that
    is the same in all rows has alpha 0.5 and equal exponents.

    References
    ----------
    T.-Y. Lin, P. Goyal, R. Girshick, K. He, P. Dollár (2017): Focal Loss for Dense Object
    Detection. ICCV.

    T. Ridnik, E. Ben-Baruch, N. Zamir, A. Noy, I. Friedman, M. Protter, L. Zelnik-Manor (2021):
    Asymmetric Loss For Multi-Label Classification. ICCV.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import focal_parameters
    >>> y = np.arange(17)[:, None] < [1, 8]
    >>> parameters = focal_parameters(y)
    >>> parameters.alpha.round(2), parameters.gamma_negative.round(2)
    (array([0.94, 0.53]), array([4.  , 0.17]))
    """
    zeros, ones = _class_counts(y, caller="focal_parameters")
    varies = (zeros > 0) & (ones > 0)
    ratio = np.divide(zeros, ones, out=np.ones(len(ones)), where=varies)
    gammas = np.full(len(ones), float(gamma_positive))
    return FocalParameters(
        alpha=np.where(varies, zeros / np.maximum(zeros + ones, 1), 0.5),
        gamma_positive=gammas,
        gamma_negative=np.clip(gammas + np.log2(ratio), gammas, np.maximum(gammas, max_gamma)),
    )


def _class_counts(y: Any, *, caller: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many rows are known to lack and to have each label."""
    labels = validate_labels(y, caller=caller, needs_all=None)
    ones = column_counts(labels.Y)
    return labels.n_known - ones, ones
