"""MLeNN: multi-label edited nearest neighbors."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from labelance._validation import Data, MissingPolicy
from labelance.neighbors import Neighborhood, Scale
from labelance.sampling._cleaner import Misfits, NeighborCleaner, rows_with
from labelance.sampling._label_distance import LabelDistance, label_distances
from labelance.sampling._strategy import (
    STRATEGY_CONSTRAINTS,
    SamplingStrategy,
    above_mean_irlbl,
    resolve_labels,
)


class MLeNN(NeighborCleaner):
    """Multi-Label edited Nearest Neighbors: deletes frequent rows that contradict their region.

    Rows without any minority label (IRLbl > MeanIR) are candidates; a candidate is deleted if
    its labelset differs by more than ``threshold`` from those of at least half of its
    neighbors. So rare labels are never lost, and the rows around them that blur the borders
    of the frequent ones are.

    It helps when frequent labels are noisy, and it makes learning cheaper. It hurts where
    labels have little to do with distances, or labelsets are diverse: then most candidates
    contradict their neighbors and few frequent rows are left.

    Parameters
    ----------
    threshold : float, default=0.75
        Two labelsets are different if their distance is larger than this. From 1 on nothing
        is deleted.
    k_neighbors : int or object with ``kneighbors``, default=3
        Neighbors that a candidate is compared with, found among all rows. An object is used
        as imbalanced-learn does: its ``n_neighbors`` counts the row itself.
    label_distance : {"hamming", "jaccard"}, default="hamming"
        The number of labels that only one of two rows has, divided by the sizes of their
        labelsets together (the paper's adjusted Hamming distance), or by the size of their
        union. Two rows without labels are equal.
    sampling_strategy : str, list or callable, default="auto"
        The labels whose rows are never deleted: "auto" and "minority" mean those with IRLbl
        above its mean, "imbalanced" those with ImR above its mean, "all" every label; or
        names, numbers or a mask of labels; or a function of Y that returns any of these.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before
        distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Nominal features: distance 0 or 1. A data frame's categorical columns are always
        nominal.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it.
    n_jobs : int, optional
        Threads of the neighbor search.
    verbose : int, default=0
        Above 0, prints how many rows are deleted.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_kept,)
        The rows that were kept, as row numbers of X.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X came as a data frame with string names.

    See Also
    --------
    MLTL : Compares every row with its nearest neighbor only.

    Notes
    -----
    Cost: one neighbor search, O(n² d), which dominates; O(k · labels) for the labelsets.
    Nothing is random. How ours differs from known programs: a circulating Java version
    divides by the union of the labelsets, tests against 0.5, and rounds half of the
    neighbors down, so that one of three is enough. The R package mldr.resampling also takes
    candidates that carry minority labels, and uses only the first of its comparisons, so
    that it deletes one row where hundreds are due. Ours follows the paper in all of these.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2014): MLeNN: A First Approach to
    Heuristic Multilabel Undersampling. IDEAL, LNCS 8669, 1-9.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLeNN
    >>> X = np.array([[0.0], [1], [2], [3], [1.5], [9], [10]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 0], [1, 1], [1, 0]])
    >>> sampler = MLeNN()
    >>> X_kept, Y_kept = sampler.fit_resample(X, Y)
    >>> sampler.sample_indices_  # row 4 has none of its neighbors' labels
    array([0, 1, 2, 3, 5, 6])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborCleaner._parameter_constraints,
        "threshold": [Interval(Real, 0, None, closed="left")],
        "label_distance": [StrOptions({"hamming", "jaccard"})],
        "sampling_strategy": STRATEGY_CONSTRAINTS,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        threshold: float = 0.75,
        k_neighbors: Any = 3,
        label_distance: LabelDistance = "hamming",
        sampling_strategy: SamplingStrategy = "auto",
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.threshold = threshold
        self.k_neighbors = k_neighbors
        self.label_distance = label_distance
        self.sampling_strategy = sampling_strategy
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _misfits(self, data: Data, around: Neighborhood) -> Misfits:
        kept = resolve_labels(self.sampling_strategy, data, above_mean_irlbl, who="MLeNN")
        candidates = np.flatnonzero(~rows_with(data.Y, kept))
        neighbors = around.indices[candidates]
        far = label_distances(data.Y, candidates, neighbors, self.label_distance) > self.threshold
        marked = np.zeros(data.n_samples, dtype=bool)
        marked[candidates] = 2 * far.sum(axis=1) >= around.k
        return Misfits(marked, self.threshold, len(candidates))
