"""What MLSOL sees in labelled points, and the rows that it and two others make of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance.exceptions import LabelanceError, LabelanceWarning
from labelance.imbalance import LocalDistribution, local_distribution
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.sampling import MLROS, MLSMOTE, MLSOL

SAMPLERS = ("MLSOL", "MLSMOTE", "MLROS")


@dataclass(frozen=True, eq=False)
class Synthetic:
    """The rows that a sampler adds, or why it adds none.

    Attributes
    ----------
    X, y : array of shape (n_new, n_features) and ndarray of shape (n_new, n_labels)
        The new rows.
    seeds, references : ndarray of shape (n_new,)
        Their parents; -1 where a row is a clone and has no reference.
    positions : ndarray of shape (n_new,)
        The paper's cd, 0 at the seed and 1 at the reference; NaN for samplers that have none.
    message : str
        What the sampler says where it refuses; otherwise empty.
    """

    X: Any
    y: NDArray[np.int8]
    seeds: NDArray[np.intp]
    references: NDArray[np.intp]
    positions: NDArray[np.float64]
    message: str = ""


@dataclass(frozen=True, eq=False)
class Exploration:
    """Neighbors, local label distribution and synthetic rows of some data.

    Attributes
    ----------
    neighborhood : Neighborhood or None
        The neighbors of every row; None where there are too few rows.
    local : LocalDistribution or None
        C, types and seed weights; None where there are no neighbors.
    synthetic : dict
        From the names of the samplers to their `Synthetic` rows.
    message : str
        Why there are no neighbors; otherwise empty.
    """

    neighborhood: Neighborhood | None
    local: LocalDistribution | None
    synthetic: Mapping[str, Synthetic]
    message: str = ""


def explore(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 5,
    ratio: float = 0.3,
    random_state: int = 0,
    scale: Any = None,
    categorical_features: Any = None,
) -> Exploration:
    """Return what MLSOL measures in the data, and what three samplers add to it.

    A sampler that refuses the data is no error here: its message says why, as a person at the
    playground wants to know.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n, q)
        Rows and their labels, zeros and ones.
    n_neighbors : int, default=5
        The number of neighbors.
    ratio : float, default=0.3
        Rows that each sampler may add, as a share of those there are.
    random_state : int, default=0
        The seed of all three samplers.
    scale : {None, "range", "standard"}, default=None
        How features are scaled before distances are taken.
    categorical_features : None, mask or column numbers, default=None
        Nominal features.

    Returns
    -------
    Exploration

    Examples
    --------
    >>> from labelance.datasets import make_figure1
    >>> from labelance.play import explore
    >>> X, y = make_figure1("b", random_state=0)
    >>> found = explore(X, y, n_neighbors=5, ratio=0.3)
    >>> {name: len(made.seeds) for name, made in found.synthetic.items()}
    {'MLSOL': 90, 'MLSMOTE': 90, 'MLROS': 42}
    """
    distance = {"scale": scale, "categorical_features": categorical_features, "missing": "distance"}
    options = {"k_neighbors": n_neighbors, "random_state": random_state, **distance}
    samplers = {
        "MLSOL": MLSOL(sampling_ratio=ratio, **options),
        "MLSMOTE": MLSMOTE(n_synthetic=int(ratio * y.shape[0]), **options),
        "MLROS": MLROS(sampling_ratio=ratio, random_state=random_state),
    }
    with warnings.catch_warnings():
        # A label that no row has yet is nothing to warn of where labels are being drawn.
        warnings.simplefilter("ignore", LabelanceWarning)
        made = {name: _resample(sampler, X, y) for name, sampler in samplers.items()}
        try:
            around = find_neighbors(X, n_neighbors, **distance)
            return Exploration(around, local_distribution(y, around), made)
        except LabelanceError as error:
            return Exploration(None, None, made, str(error))


def _resample(sampler: Any, X: Any, y: Any) -> Synthetic:
    n = y.shape[0]
    try:
        X_all, y_all = sampler.fit_resample(X, y)
    except LabelanceError as error:
        none = np.empty(0, dtype=np.intp)
        return Synthetic(X[:0], _dense(y[:0]), none, none, np.empty(0), str(error))
    seeds = sampler.seed_indices_
    return Synthetic(
        X_all[n:],
        _dense(y_all[n:]),
        seeds,
        getattr(sampler, "reference_indices_", np.full(len(seeds), -1)),
        getattr(sampler, "positions_", np.full(len(seeds), np.nan)),
    )


def _dense(y: Any) -> NDArray[np.int8]:
    """Return some rows of labels as a table, to be shown."""
    return np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=np.int8)
