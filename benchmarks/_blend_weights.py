"""Weights by which the scores of several learners are blended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from labelance._validation._arguments import Weights
from labelance.ensemble._encoding import Floats

_LEAST = 1e-6  # probability that a part is taken to mean


def mean_weights(n_parts: int, n_labels: int) -> Floats:
    """Return equal weights of shape (n_parts, n_labels)."""
    return np.full((n_parts, n_labels), 1 / n_parts)


def pooled_weights(
    Y: Floats, held_out: Sequence[Floats], weight: Weights, *, equal_share: float = 0.5
) -> Floats:
    """Return one set of weights for all labels: halfway between equal ones and the best.

    The best have the least log loss, that of every label in units of its entropy, so that rare
    labels count as much as others.

    Parameters
    ----------
    Y : ndarray of shape (n, q)
        The labels; each is in some rows and lacking in others.
    held_out : sequence of ndarray of shape (n, q)
        Probabilities by every part, of rows that it did not learn from.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    equal_share : float
        How much of the result is equal weights.

    Returns
    -------
    weights : ndarray of shape (n_parts, q)
        Columns sum to 1, and are equal.
    """
    k, q = len(held_out), Y.shape[1]
    p = np.average(Y, axis=0, weights=weight)
    entropy = -p * np.log(p) - (1 - p) * np.log1p(-p)
    rows = np.ones(len(Y)) if weight is None else weight
    cells = rows[:, None] / (rows.sum() * q * entropy)

    def loss(theta: Floats) -> tuple[float, Floats]:
        w = softmax(theta)
        value, slope = _log_loss(Y, held_out, w[:, None], cells)
        return value, _through_softmax(w, slope.sum(axis=1))

    best = softmax(minimize(loss, np.zeros(k), jac=True, method="L-BFGS-B").x)
    return np.tile((equal_share / k + (1 - equal_share) * best)[:, None], (1, q))


def label_weights(
    Y: Floats,
    held_out: Sequence[Floats],
    weight: Weights,
    *,
    prior: Floats,
    strength: float = 20.0,
) -> Floats:
    """Return weights of every label of least log loss, drawn to a prior as to so many rows.

    ``prior`` has the shape (n_parts, q), as the result has.
    """
    rows = np.ones(len(Y)) if weight is None else weight
    cells = np.broadcast_to(rows[:, None], Y.shape)

    def loss(theta: Floats) -> tuple[float, Floats]:
        w = softmax(theta.reshape(prior.shape), axis=0)
        value, slope = _log_loss(Y, held_out, w, cells)
        value -= float((strength * prior * np.log(w)).sum())
        slope = slope - strength * prior / w
        return value, _through_softmax(w, slope).ravel()

    found = minimize(loss, np.log(prior).ravel(), jac=True, method="L-BFGS-B")
    return softmax(found.x.reshape(prior.shape), axis=0)


def blend(scores: Sequence[Floats], weights: Floats) -> Floats:
    """Return the weighted mean of scores."""
    total = weights[0] * scores[0]
    for one, w in zip(scores[1:], weights[1:]):
        total += w * one
    return total


def _log_loss(
    Y: Floats, held_out: Sequence[Floats], weights: Floats, cells: Floats
) -> tuple[float, Floats]:
    """Return the loss of a blend, summed over weighted cells, and its slope by part and label."""
    p = np.clip(blend(held_out, np.broadcast_to(weights, (len(weights), Y.shape[1]))), _LEAST, 1)
    p = np.minimum(p, 1 - _LEAST)
    present = Y > 0
    value = -float((cells * np.log(np.where(present, p, 1 - p))).sum())
    pull = cells * np.where(present, -1 / p, 1 / (1 - p))
    return value, np.array([(pull * one).sum(axis=0) for one in held_out])


def _through_softmax(w: Floats, slope: Floats) -> Floats:
    return w * (slope - (w * slope).sum(axis=0))
