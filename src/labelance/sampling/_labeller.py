"""Classifiers that say which labels a synthetic row has, beside the one it was made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from labelance._arrays import stack_rows
from labelance._utils import set_random_states

_CELLS = 1 << 21  # kernel values held together


@dataclass(frozen=True, eq=False)
class Labelling:
    """New rows to be labelled, label by label.

    Parameters
    ----------
    labeller : classifier or None
        Trained once for each label; None is the `RBFMachine`.
    X, X_new : arrays or CSR arrays
        Original and new rows, as numbers.
    Y_columns : csc_array of shape (n, q)
        Labels of the original rows.
    minority_value : ndarray of shape (q,)
        What a label is in the rows that were made for it.
    bounds : ndarray of int of shape (q + 1,)
        The new rows from ``bounds[j]`` to ``bounds[j + 1]`` were made for label j.
    """

    labeller: Any
    X: Any
    X_new: Any
    Y_columns: sp.csc_array
    minority_value: np.ndarray
    bounds: np.ndarray

    def column(self, label: int, seed: int) -> np.ndarray:
        """Return the new rows that have the label; ``seed`` is for a labeller with chance in it."""
        n, n_new = self.X.shape[0], self.X_new.shape[0]
        cells = slice(*self.Y_columns.indptr[label : label + 2])
        count = cells.stop - cells.start
        if count in (0, n):  # a constant label stays what it is
            return np.arange(n_new if count else 0)
        own = slice(*self.bounds[label : label + 2])
        has_label = np.full(n_new, self.minority_value[label], dtype=bool)
        others = [slice(0, own.start), slice(own.stop, n_new)]
        others = [part for part in others if part.start < part.stop]
        if others:
            y = np.zeros(n, dtype=np.int8)
            y[self.Y_columns.indices[cells]] = 1
            model = train_labeller(
                self.labeller,
                stack_rows(self.X, self.X_new[own]),
                np.concatenate([y, has_label[own]]),
                seed,
            )
            for part in others:
                has_label[part] = model.predict(self.X_new[part]) == 1
        return np.flatnonzero(has_label)


class RBFMachine:
    """A support vector machine with an RBF kernel, which predicts by matrix products.

    The same decisions as ``sklearn.svm.SVC()``, whose own ``predict`` goes row by row and is
    many times slower; most of the work here is prediction.
    """

    def fit(self, X: Any, y: np.ndarray) -> RBFMachine:
        """Learn 0 and 1, both present in y."""
        variance = _variance(X)
        self.gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        self.machine = SVC(gamma=self.gamma).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return 0 or 1 for every row."""
        vectors, alpha = self.machine.support_vectors_, self.machine.dual_coef_
        alpha = (alpha.toarray() if sp.issparse(alpha) else alpha).ravel()
        step = max(1, _CELLS // len(alpha))
        decisions = [
            rbf_kernel(X[start : start + step], vectors, gamma=self.gamma) @ alpha
            for start in range(0, X.shape[0], step)
        ]
        return (np.concatenate(decisions) + self.machine.intercept_ > 0).astype(np.int8)


def _variance(X: Any) -> float:
    """Return the variance of all cells together, which the kernel's width goes by."""
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    cells = X.shape[0] * X.shape[1]
    values = X.data.astype(np.float64)
    return float(values @ values / cells - (values.sum() / cells) ** 2)


def train_labeller(labeller: Any, X: Any, y: np.ndarray, seed: int) -> Any:
    """Return a fitted copy; an open ``random_state``, also of a part, is set to the seed."""
    if labeller is None:
        return RBFMachine().fit(X, y)
    return set_random_states(clone(labeller), seed, only_unset=True).fit(X, y)
