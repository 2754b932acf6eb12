"""Does ``correct_prior`` give the probabilities that theory has? Two labels that are known.

    python benchmarks/prior_correction.py

Label A is in 2 % of the rows, label B in 5 % of them and in half of those with A. Each moves three
of six normal features, so that Bayes' theorem gives the true probabilities of both. Rows with A
are cloned until A has the share of the first column; logistic regressions learn from 40,000 rows
and their clones. The table has the mean distance of what they say of 40,000 new rows from
the truth, in thousandths: as they say it, and corrected, for A, by which rows were cloned, and for
B, which the clones bring along. The first line, without clones, is what such a fit misses anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from labelance.decisions import correct_prior
from labelance.learners import BinaryRelevance

ROWS, SHIFT = 40_000, 1.0
# The share of rows by labels: neither, B alone, A alone, both.
JOINT = np.array([[0.94, 0.04], [0.01, 0.01]])
SHARES = (0.02, 0.1, 0.3, 0.5, 0.8)


def make_rows(rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Draw rows and their two labels."""
    both = rng.choice(4, size=ROWS, p=JOINT.ravel())
    y = np.column_stack([both // 2, both % 2])
    return rng.normal(size=(ROWS, 6)) + SHIFT * np.repeat(y, 3, axis=1), y


def true_probabilities(X: NDArray) -> NDArray:
    """Return the probabilities of both labels by Bayes' theorem."""
    ratio = np.exp(SHIFT * X.reshape(len(X), 2, 3).sum(axis=2) - 1.5 * SHIFT**2)
    ones = np.ones(len(X))
    with_a, with_b = np.column_stack([ones, ratio[:, 0]]), np.column_stack([ones, ratio[:, 1]])
    joint = JOINT * with_a[:, :, None] * with_b[:, None, :]
    joint /= joint.sum(axis=(1, 2), keepdims=True)
    return np.column_stack([joint[:, 1, :].sum(axis=1), joint[:, :, 1].sum(axis=1)])


def clone_rows(y: NDArray, share: float, rng: np.random.Generator) -> NDArray:
    """Return all rows and clones of those with A, which then has the share."""
    having = np.flatnonzero(y[:, 0])
    clones = round((share * len(y) - len(having)) / (1 - share))
    return np.concatenate([np.arange(len(y)), rng.choice(having, size=max(clones, 0))])


def distances(share: float, seed: int = 0) -> NDArray:
    """Return mean distances from the truth: of both labels, as they are and corrected."""
    rng = np.random.default_rng(seed)
    (X, y), (X_new, _) = make_rows(rng), make_rows(rng)
    rows = clone_rows(y, share, rng)
    model = BinaryRelevance(LogisticRegression(C=1e6)).fit(X[rows], y[rows])
    said, true = model.predict_proba(X_new), true_probabilities(X_new)
    corrected = correct_prior(said, y[rows].mean(axis=0), y.mean(axis=0))
    return np.array([np.abs(p - true).mean(axis=0) for p in (said, corrected)]).T


def main() -> None:
    print("| share of A | A, as it is | A, corrected | B, as it is | B, corrected |")
    print("|---:|---:|---:|---:|---:|")
    for share in SHARES:
        cells = " | ".join(f"{1000 * value:.1f}" for value in distances(share).ravel())
        print(f"| {share:.0%} | {cells} |")


if __name__ == "__main__":
    main()
