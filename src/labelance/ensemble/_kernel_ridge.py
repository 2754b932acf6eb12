"""Kernel ridge regression of all labels at once, with leave-one-out scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from labelance._arrays._storage import check_fits_memory
from labelance._arrays._tables import inverse_frequencies
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._labels import labels_known_together
from labelance.ensemble._encoding import Floats, Table

_MOST_LANDMARKS = 2500
_PENALTIES = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
_BLOCK = 2000  # rows whose kernel is held at a time
_RANK = 1e-10  # of the largest eigenvalue: what is smaller is rounding


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """A ridge regression of every label on RBF features: a least-squares support vector machine.

    One decomposition serves all labels and all penalties, and leave-one-out residuals follow in
    closed form, given the mean of the labels: r_i / (1 - h_ii), h the diagonal of the hat matrix.
    Beyond 2,500 rows the features are those of 2,500 rows drawn at random (Nystroem's method).
    Labels that are known in the same rows share a decomposition over these; of many such groups
    each has fewer rows to draw from, so that all take about as long as one.

    References
    ----------
    J. A. K. Suykens, J. Vandewalle (1999): Least squares support vector machine classifiers.
    C. K. I. Williams, M. Seeger (2001): Using the Nystroem method to speed up kernel machines.
    """

    rarity: Floats | None  # of columns of sparse tables: logarithms of inverse frequencies
    gamma: float
    landmarks: Table
    coef: Floats  # (n_landmarks, n_labels)
    mean: Floats

    @classmethod
    def fit(
        cls,
        table: Table,
        Y: Floats,
        weight: Weights,
        rng: np.random.Generator,
        *,
        known: Any = None,
    ) -> tuple[KernelRidge, Floats]:
        """Return the machine, and leave-one-out scores of its rows.

        The score of an unknown cell is the machine's, which learned nothing from it.
        """
        (n, q), groups = Y.shape, labels_known_together(known)
        rarity = inverse_frequencies(table)
        rows = _prepare(table, rarity)
        # Rows of sparse tables have length 1, so that squared distances are at most about 2.
        gamma = 1.0 if rarity is not None else 1 / table.shape[1]
        chosen, most = np.arange(n), int(_MOST_LANDMARKS / len(groups) ** (1 / 3))
        if n > most:
            chosen = np.sort(rng.choice(n, most, replace=False))
        check_fits_memory(
            n,
            2 * 8 * len(chosen),  # the kernel and the features
            caller="RareLabelClassifier",
            noun="rows of a kernel",
            cure="Fit it to a sample of the rows",
        )
        landmarks = rows[chosen]
        K = _kernel(rows, landmarks, gamma)
        basis = _Basis.of(K[chosen])
        tries: list[Any] = []
        for here, labels in groups:
            everywhere = known is None and len(chosen) == n
            part = basis.features(K[here], take_weights(weight, here), everywhere)
            w = np.ones(n)[here] if weight is None else weight[here]
            tries.append(_try_penalties(*part, Y[:, labels][here], w))
            if known is not None:  # without the features of this group
                tries[-1] = list(tries[-1])
        # One penalty for all labels, by the squared leave-one-out error in units of variance.
        best = min(zip(*tries), key=lambda tried: sum(choice.error for choice in tried))
        coef, mean, left_out = np.empty((len(chosen), q)), np.empty(q), np.empty((n, q))
        for (here, labels), choice in zip(groups, best):
            coef[:, labels], mean[labels] = choice.coef, choice.mean
            scores = choice.mean + (0 if known is None else K @ choice.coef) + np.zeros((n, 1))
            scores[here] = choice.mean + choice.left_out
            left_out[:, labels] = scores
        return cls(rarity, gamma, landmarks, coef, mean), left_out

    def scores(self, table: Table) -> Floats:
        """Return what the regressions give rows: about 0 to 1."""
        rows = _prepare(table, self.rarity)
        parts = [
            _kernel(rows[block], self.landmarks, self.gamma) @ self.coef
            for block in _blocks(rows.shape[0])
        ]
        return self.mean + np.vstack(parts)


def _prepare(table: Table, rarity: Floats | None) -> Table:
    """Return rows as the kernel compares them: those of sparse tables by their direction."""
    return table if rarity is None else normalize(table @ sp.diags_array(rarity))


def _kernel(rows: Table, landmarks: Table, gamma: float) -> Floats:
    """Return the RBF kernel plus 1, which makes an intercept."""
    return rbf_kernel(rows, landmarks, gamma=gamma) + 1


def _blocks(n: int) -> list[slice]:
    """Return blocks of rows, so that no further table of all rows is made."""
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]


def _products(features: Floats, weight: Weights) -> Floats:
    """Return the (weighted) sums of products of all pairs of columns."""
    if weight is None:
        return features.T @ features
    parts = (
        features[block].T @ (features[block] * weight[block, None])
        for block in _blocks(len(features))
    )
    return np.asarray(sum(parts))


class _Basis(NamedTuple):
    """Eigenvectors of the kernel of landmarks, without those that are rounding."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, K: Floats) -> _Basis:
        values, vectors = eigh(K)
        kept = values > _RANK * values[-1]
        return cls(values[kept], vectors[:, kept])

    def features(
        self, K: Floats, weight: Weights, everywhere: bool
    ) -> tuple[Floats, Floats, Floats]:
        """Return the map from kernel to features, the features of rows, and their squared sizes.

        Features are orthogonal over the (weighted) rows, so that every penalty divides by numbers.
        So they are already where the rows are all landmarks.
        """
        values, vectors = self
        to_features = vectors / np.sqrt(values)
        if weight is None and everywhere:
            return to_features, vectors * np.sqrt(values), values
        features = np.empty((len(K), len(values)))
        for block in _blocks(len(K)):
            features[block] = K[block] @ to_features
        squares, turn = eigh(_products(features, weight))
        for block in _blocks(len(K)):
            features[block] = features[block] @ turn
        return to_features @ turn, features, np.maximum(squares, 0)


class _Choice(NamedTuple):
    """What a penalty gives labels."""

    error: float  # squared, of leave-one-out scores, in units of variance
    mean: Floats
    coef: Floats
    left_out: Floats  # leave-one-out scores, less the mean


def _try_penalties(
    to_features: Floats, features: Floats, squares: Floats, Y: Floats, w: Floats
) -> Iterator[_Choice]:
    mean = np.average(Y, axis=0, weights=w)
    Y = Y - mean
    along = features.T @ (w[:, None] * Y)
    variance = np.maximum(w @ Y**2, 1e-300)
    for penalty in _PENALTIES:
        shrunk = 1 / (squares + penalty)
        lengths = [features[block] ** 2 @ shrunk for block in _blocks(len(Y))]
        share = np.minimum(w * np.concatenate(lengths), 1 - 1e-9)
        off = (Y - features @ (along * shrunk[:, None])) / (1 - share)[:, None]
        error = float(((w @ off**2) / variance).sum())
        coef = to_features @ (along / (squares[:, None] + penalty))
        yield _Choice(error, mean, coef, Y - off)
