"""The paper's Figure 2 as data: a seed, its neighbors, and four places for a synthetic row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# The seed and its five nearest neighbors: three are labeled like the seed, two otherwise.
_SEED = (0.0, 0.0)
_REFERENCES = ((-1.0, 0.2), (0.9, 0.6), (0.2, -1.05), (1.0, -0.7), (-0.4, 1.0))
_REFERENCE_LABELS = ((1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1), (1, 0, 0))
# Two more rows like the seed, farther away: the first label's bag is not only what is shown.
_KIN = ((-1.7, 0.3), (-1.2, 1.3))
# Where each candidate lies: towards which reference, and how much of the way.
_CANDIDATES = ((0, 0.7), (1, 0.8), (3, 0.8), (1, 0.2))


class Figure2(NamedTuple):
    """Data in the plane and the points of the figure.

    Attributes
    ----------
    X : ndarray of shape (32, 2)
        The points.
    Y : ndarray of shape (32, 3)
        Their labels.
    seed : int
        Row of the seed s.
    references : ndarray of shape (5,)
        Rows of r1 … r5, the nearest neighbors of the seed.
    candidates : ndarray of shape (4, 2)
        The places c1 … c4, each between the seed and a reference.
    candidate_references : ndarray of shape (4,)
        The row of that reference.
    """

    X: np.ndarray
    Y: np.ndarray
    seed: int
    references: np.ndarray
    candidates: np.ndarray
    candidate_references: np.ndarray


def make_figure2() -> Figure2:
    """Make data on which MLSMOTE and MLSOL label the same synthetic rows differently.

    The seed has labels [1, 0, 0], as most of its neighbors have; one neighbor has
    [0, 1, 0] and one [0, 0, 1]. MLSMOTE gives every synthetic row of this seed the labels of
    the majority, [1, 0, 0], wherever it lies. MLSOL gives them to c1 and c4, near a reference
    like the seed and near the seed itself, but takes those of the reference at c2 and c3.

    Returns
    -------
    figure : Figure2
        ``figure.X`` and ``figure.Y`` are the data, the rest says which points are which.

    Examples
    --------
    >>> from labelance.datasets import make_figure2
    >>> figure = make_figure2()
    >>> figure.Y[figure.seed], figure.X.shape
    (array([1, 0, 0]), (32, 2))
    """
    references = np.array(_REFERENCES)
    near_r2, near_r4 = _companions(references[1]), _companions(references[3])
    far = np.array([[x, y] for x in (-4.0, -4.5, -5.0, -5.5, -6.0) for y in (-0.3, 0.3)])
    X = np.vstack([[_SEED], references, near_r2, near_r4, far, _KIN])
    Y = np.zeros((len(X), 3), dtype=np.int64)
    Y[0] = (1, 0, 0)
    Y[1:6] = _REFERENCE_LABELS
    Y[6:13, 1] = 1
    Y[13:20, 2] = 1
    Y[-2:] = (1, 0, 0)
    towards = np.array([1 + reference for reference, _ in _CANDIDATES])
    share = np.array([share for _, share in _CANDIDATES])[:, None]
    candidates = X[0] + share * (X[towards] - X[0])
    return Figure2(X, Y, 0, np.arange(1, 6), candidates, towards)


def _companions(reference: np.ndarray) -> np.ndarray:
    """Return seven points behind a reference, seen from the seed: it is no outlier there."""
    outward = reference / np.linalg.norm(reference)
    across = np.array([-outward[1], outward[0]])
    steps = np.array([0.45, 0.5, 0.5, 0.65, 0.65, 0.8, 0.9])
    sides = np.array([0.0, -0.2, 0.2, -0.1, 0.1, 0.0, 0.15])
    return reference + steps[:, None] * outward + sides[:, None] * across
