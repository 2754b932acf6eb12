"""The paper's figures 1 and 2 as data."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._memory import check_fits_memory
from labelance._utils._random import RandomStateLike, as_generator
from labelance.exceptions import InputError

# The five label combinations as (triangle, borderless, red), each with its share of the rows.
COMBINATIONS = np.array([(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 1)], dtype=np.int8)
SHARES = np.array([0.60, 0.10, 0.10, 0.10, 0.10])


class Cloud(NamedTuple):
    """A round Gaussian cloud that holds a share of the rows of one label combination."""

    combination: int
    share: float
    x: float
    y: float
    spread: float


# One cloud for each combination, and clouds that share a label lie side by side.
CLEAN = (
    Cloud(0, 1.0, -1.0, 0.0, 0.90),
    Cloud(1, 1.0, 2.0, 3.5, 0.35),
    Cloud(2, 1.0, 3.7, 1.4, 0.35),
    Cloud(3, 1.0, 3.7, -1.4, 0.35),
    Cloud(4, 1.0, 2.0, -3.5, 0.35),
)

# Triangles and borderless points fall apart into sub-concepts, some of them deep among the
# others; red reaches into green, and borderless points lie over bordered ones.
HARD = (
    Cloud(0, 0.7, -0.5, 0.0, 1.50),
    Cloud(0, 0.3, 2.2, 0.0, 0.80),
    Cloud(1, 0.5, -2.0, 1.8, 0.45),
    Cloud(1, 0.3, 1.4, 2.2, 0.35),
    Cloud(1, 0.2, 0.2, -1.8, 0.30),
    Cloud(2, 0.6, 2.8, -1.2, 0.45),
    Cloud(2, 0.4, -2.4, -1.5, 0.40),
    Cloud(3, 1.0, 1.2, 0.0, 1.10),
    Cloud(4, 0.6, 2.2, 0.9, 0.70),
    Cloud(4, 0.4, -1.0, -0.6, 0.50),
)

_CLOUDS = {"a": CLEAN, "b": HARD}


def make_figure1(
    variant: Literal["a", "b"] = "a",
    *,
    n_samples: int = 300,
    random_state: RandomStateLike = None,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Make points in a plane as in the paper's Figure 1: shape, border and color as labels.

    The labels are, in this order, *triangle* (else a circle), *borderless* (else a solid
    border) and *red* (else green); five of their eight combinations occur. Both variants have
    the same number of rows of every combination, hence the same label imbalance. In ``"a"``
    every combination is a cloud of its own. In ``"b"`` triangles and borderless points are
    split into sub-concepts, green and red overlap, and so do solid and missing borders: the
    minority cells are as many, but few of them are safe.

    Parameters
    ----------
    variant : {"a", "b"}, default="a"
        The easy or the hard dataset.
    n_samples : int, default=300
        Number of points, at least 10.
    random_state : int, RandomState, Generator or None, default=None
        Fixes the points.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples, 3)
        Their labels, as zeros and ones.

    References
    ----------
    B. Liu and G. Tsoumakas, "Synthetic Oversampling of Multi-Label Data based on Local Label
    Distribution", ECML PKDD 2019, Figure 1. The positions are ours.

    Examples
    --------
    >>> from labelance.datasets import make_figure1
    >>> X, y = make_figure1("b", random_state=0)
    >>> X.shape
    (300, 2)
    >>> y.sum(axis=0)
    array([60, 30, 90])
    """
    if variant not in _CLOUDS:
        raise InputError("variant of make_figure1 must be 'a' or 'b'", f"Got {variant!r}")
    if n_samples < 2 * len(SHARES):
        raise InputError(
            f"n_samples of make_figure1 must be at least {2 * len(SHARES)}", f"Got {n_samples}"
        )
    check_fits_memory(n_samples, 16, caller="make_figure1", cure="Make fewer points")
    rng = as_generator(random_state)
    clouds = np.array(_CLOUDS[variant])
    owner = clouds[:, 0].astype(np.intp)
    sizes = [
        split_evenly(rows, clouds[owner == c, 1])
        for c, rows in enumerate(split_evenly(n_samples, SHARES))
    ]
    cloud = rng.permutation(np.repeat(np.arange(len(clouds)), np.concatenate(sizes)))
    X = clouds[cloud, 2:4] + clouds[cloud, 4:] * rng.standard_normal((n_samples, 2))
    return X, COMBINATIONS[owner[cloud]]


def split_evenly(total: int | np.intp, shares: NDArray[np.float64]) -> NDArray[np.intp]:
    """Split ``total`` by shares into integers that add up: cumulative rounding."""
    edges = np.rint(total * np.cumsum(shares) / np.sum(shares)).astype(np.intp)
    return np.diff(edges, prepend=0)


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
    """Return seven points beyond a reference, seen from the seed: it is no outlier there."""
    outward = reference / np.linalg.norm(reference)
    across = np.array([-outward[1], outward[0]])
    steps = np.array([0.45, 0.5, 0.5, 0.65, 0.65, 0.8, 0.9])
    sides = np.array([0.0, -0.2, 0.2, -0.1, 0.1, 0.0, 0.15])
    return reference + steps[:, None] * outward + sides[:, None] * across
