"""Kernel ridge regression of all labels at once, with leave-one-out scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from labelance._arrays._cells import inverse_frequencies, stored_cells
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import labels_known_together
from labelance.ensemble._encoding import Floats, Table, Task

_MOST_LANDMARKS = 2500
_PENALTIES = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
_BLOCK = 2000  # rows whose kernel is made at a time
_JUDGING = 5  # blocks of rows that are enough to choose a penalty by
_MOST_HELD = 12_500_000  # cells of a kernel that is not made again
_RANK = 1e-10  # of the largest eigenvalue: what is smaller is rounding


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """A ridge regression of every label on RBF features: a least-squares support vector machine.

    One decomposition serves all labels and all penalties, and leave-one-out residuals follow in
    closed form, given the mean of the labels: r_i / (1 - h_ii), h the diagonal of the hat matrix.
    Beyond 2,500 rows the features are those of 2,500 rows drawn at random (Nystroem's method).
    Labels that are known in the same rows share a decomposition over these; beyond 2,500 rows, of
    many such groups each has fewer to draw from, so that all decompositions take as long as one.

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
    def fit(cls, task: Task, rng: np.random.Generator) -> tuple[KernelRidge, Floats]:
        """Return the machine, and leave-one-out scores of its rows.

        The score of an unknown cell is the machine's, which learned nothing from it. Columns of
        a sparse table count by their rarity, unless its cells are weighted already.
        """
        table, Y, weight, known = task.table, task.present, task.weight, task.known
        (n, q), groups = Y.shape, _groups(known, weight)
        rarity = None if task.weighted else inverse_frequencies(table)
        rows = _prepare(table, rarity)
        # Rows of sparse tables have length 1, so that squared distances are at most about 2.
        gamma = 1 / table.shape[1] if stored_cells(table) is None else 1.0
        chosen, most = np.arange(n), n_landmarks(len(groups))
        if n > most:
            chosen = np.sort(rng.choice(n, most, replace=False))
        kernel = _Kernel(rows, rows[chosen], gamma)
        values, vectors = _eigenvectors(_kernel(kernel.landmarks, kernel.landmarks, gamma))
        fits = []
        for here, labels in groups:
            numbers, own = np.arange(n)[here], Y[:, labels][here]
            part = take_weights(weight, here)
            if part is None and known is None and len(chosen) == n:
                fits.append(_Fit.of_landmarks(values, vectors, own))
            else:
                fits.append(_Fit.of_rows(vectors / np.sqrt(values), kernel, own, numbers, part))
        # One penalty for all labels, by the squared leave-one-out error in units of variance.
        errors = np.sum([one.errors(_PENALTIES) for one in fits], axis=0)
        penalty = _PENALTIES[int(np.argmin(errors))]
        coef, mean, left_out = np.zeros((len(chosen), q)), np.full(q, np.nan), np.empty((n, q))
        for (_, labels), one in zip(groups, fits):
            coef[:, labels], mean[labels] = one.coef(penalty), one.mean
        machine = cls(rarity, gamma, kernel.landmarks, coef, mean)
        if known is not None:
            left_out[:] = machine.scores(table)
        for (here, labels), one in zip(groups, fits):
            which = np.ix_(np.arange(n)[here], np.arange(q)[labels])
            left_out[which] = one.mean + one.left_out(penalty)
        return machine, left_out

    def scores(self, table: Table) -> Floats:
        """Return what the regressions give rows: about 0 to 1."""
        rows = _prepare(table, self.rarity)
        parts = [
            _kernel(rows[block], self.landmarks, self.gamma) @ self.coef
            for block in gen_batches(rows.shape[0], _BLOCK)
        ]
        return self.mean + np.vstack(parts)


def n_landmarks(n_groups: int) -> int:
    """Return the most rows that features are those of."""
    return int(_MOST_LANDMARKS / max(n_groups, 1) ** (1 / 3))


def _groups(known: Any, weight: Weights) -> list[tuple[Any, Any]]:
    """Return labels that are known in the same rows, without those of which no row counts."""
    counts = np.ones(1) if weight is None else weight
    return [
        (rows, labels)
        for rows, labels in labels_known_together(known)
        if known is None or np.broadcast_to(counts, len(known))[rows].any()
    ]


def _prepare(table: Table, rarity: Floats | None) -> Table:
    """Return rows as the kernel compares them: those of sparse tables by their direction."""
    return table if rarity is None else normalize(table @ sp.diags_array(rarity))


def _kernel(rows: Table, landmarks: Table, gamma: float) -> Floats:
    """Return the RBF kernel plus 1, which makes an intercept."""
    return rbf_kernel(rows, landmarks, gamma=gamma) + 1


class _Kernel:
    """The kernel of rows with landmarks: held where it is small, made again in blocks elsewhere."""

    def __init__(self, rows: Table, landmarks: Table, gamma: float) -> None:
        self.rows, self.landmarks, self.gamma = rows, landmarks, gamma
        small = rows.shape[0] * landmarks.shape[0] <= _MOST_HELD
        self.held = _kernel(rows, landmarks, gamma) if small else None

    def take(self, numbers: NDArray[Any]) -> Floats:
        """Return the kernel of some rows."""
        if self.held is not None:
            return self.held[numbers]
        return _kernel(self.rows[numbers], self.landmarks, self.gamma)


def _eigenvectors(K: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and eigenvectors of a kernel, without those that are rounding."""
    values, vectors = eigh(K)
    kept = values > _RANK * values[-1]
    return values[kept], vectors[:, kept]


@dataclass(frozen=True, eq=False)
class _Fit:
    """Regressions of labels that are known in the same rows, for all penalties at once.

    Features are orthogonal over the (weighted) rows, so that every penalty divides by numbers.
    """

    to_features: Floats  # from the kernel
    squares: Floats  # sizes of the features, squared
    along: Floats  # their sums of products with the labels
    mean: Floats
    Y: Floats  # less the mean
    weight: Floats
    features: Callable[[Any], Floats]  # of a block of rows

    @classmethod
    def of_landmarks(cls, values: Floats, vectors: Floats, Y: Floats) -> _Fit:
        """Return the fit to rows that are all landmarks, whose features are orthogonal already."""
        features, mean, w = vectors * np.sqrt(values), Y.mean(axis=0), np.ones(len(Y))
        Y = Y - mean
        to_features = vectors / np.sqrt(values)
        return cls(to_features, values, features.T @ Y, mean, Y, w, features.__getitem__)

    @classmethod
    def of_rows(
        cls, to_features: Floats, kernel: _Kernel, Y: Floats, numbers: NDArray[Any], weight: Weights
    ) -> _Fit:
        """Return the fit to rows by landmarks."""
        w = np.ones(len(Y)) if weight is None else weight
        mean = np.average(Y, axis=0, weights=w)
        Y = Y - mean
        m = len(to_features)
        products, along = np.zeros((m, m)), np.zeros((m, Y.shape[1]))
        for block in gen_batches(len(Y), _BLOCK):
            K = kernel.take(numbers[block])
            products += K.T @ (K if weight is None else K * w[block, None])
            along += K.T @ (w[block, None] * Y[block])
        along = to_features.T @ along
        squares, turn = eigh(to_features.T @ products @ to_features)
        to_features = to_features @ turn

        def features(block: Any) -> Floats:
            return kernel.take(numbers[block]) @ to_features

        return cls(to_features, np.maximum(squares, 0), turn.T @ along, mean, Y, w, features)

    def coef(self, penalty: float) -> Floats:
        """Return the coefficients of the landmarks."""
        return self.to_features @ (self.along / (self.squares[:, None] + penalty))

    def errors(self, penalties: Floats) -> Floats:
        """Return the squared leave-one-out error of each penalty on every k-th row.

        It is in units of the variance of all rows.
        """
        variance = np.maximum(self.weight @ self.Y**2, 1e-300)
        total = np.zeros(len(penalties))
        # From everywhere, since rows may be sorted.
        some = np.arange(0, len(self.Y), max(1, -(-len(self.Y) // (_BLOCK * _JUDGING))))
        for block in (some[part] for part in gen_batches(len(some), _BLOCK)):
            features, w = self.features(block), self.weight[block]
            squared = features**2
            for i, penalty in enumerate(penalties):
                off = self._off(block, features, squared, penalty)
                total[i] += ((w @ off**2) / variance).sum()
        return total

    def left_out(self, penalty: float) -> Floats:
        """Return leave-one-out scores, less the mean."""
        return np.vstack(
            [
                self.Y[block] - self._off(block, features, features**2, penalty)
                for block in gen_batches(len(self.Y), _BLOCK)
                for features in [self.features(block)]
            ]
        )

    def _off(self, block: Any, features: Floats, squared: Floats, penalty: float) -> Floats:
        """Return the residuals of a block of rows by machines without each of them."""
        shrunk = 1 / (self.squares + penalty)
        share = np.minimum(self.weight[block] * (squared @ shrunk), 1 - 1e-9)
        return (self.Y[block] - features @ (self.along * shrunk[:, None])) / (1 - share)[:, None]
