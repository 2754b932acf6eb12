"""Correction of probabilities for a changed prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelance._validation._predictions import validate_probabilities
from labelance.decisions._objectives import as_numbers
from labelance.exceptions import InputError

Floats = NDArray[np.float64]


def correct_prior(scores: ArrayLike, train_prior: ArrayLike, target_prior: ArrayLike) -> Floats:
    """Return probabilities for the share of rows that labels have where a model is used.

    A model that learned from resampled rows speaks of a world in which a label is as frequent as
    in those rows. If rows were added or taken away by their label alone, Bayes' theorem says by
    how much its odds are too large: by the odds of the label's share among the rows it learned
    from, over the odds of its true share.

    Parameters
    ----------
    scores : array-like of shape (n, q)
        Probabilities that the model gives.
    train_prior : float or array-like of shape (q,)
        The share of rows with each label among the rows that it learned from.
    target_prior : float or array-like of shape (q,)
        The share of rows with each label where it is used, such as in the rows before sampling.

    Returns
    -------
    ndarray of shape (n, q)
        Corrected probabilities; labels whose ``train_prior`` is 0 or 1 keep their scores.

    See Also
    --------
    LabelCalibration : Finds the correction from rows, whatever has made it necessary.

    Notes
    -----
    Samplers for many labels choose rows by some labels and thereby change others, and synthetic
    rows are not drawn like true ones: for MLSOL and the like the correction is approximate.

    References
    ----------
    .. [1] C. Elkan, The foundations of cost-sensitive learning. IJCAI 2001, theorem 2.
    .. [2] M. Saerens, P. Latinne and C. Decaestecker, Adjusting the outputs of a classifier to
           new a priori probabilities. Neural Computation 14, 2002.

    Examples
    --------
    A coin that shows heads once in ten, seen by a model for which heads were half of all throws:

    >>> from labelance.decisions import correct_prior
    >>> correct_prior([[0.5], [0.9]], train_prior=0.5, target_prior=0.1)
    array([[0.1],
           [0.5]])
    """
    p = validate_probabilities(scores, caller="correct_prior")
    train, target = (_priors(prior, p.shape[1]) for prior in (train_prior, target_prior))
    known = (train > 0) & (train < 1)
    safe = np.where(known, train, 0.5)
    present, absent = p * (target / safe), (1 - p) * ((1 - target) / (1 - safe))
    total = present + absent
    corrected = np.divide(present, total, out=p.copy(), where=total > 0)
    return np.where(known, corrected, p)


def _priors(prior: ArrayLike, n_labels: int) -> Floats:
    values = as_numbers(prior)
    fits = values.shape in ((), (n_labels,)) and ((values >= 0) & (values <= 1)).all()
    if not fits:
        raise InputError(
            f"A prior must be a number in [0, 1], or one for each of {n_labels} labels",
            f"Got {prior!r}",
            "Pass y.mean(axis=0) of the rows before and after sampling",
        )
    return values
