"""MLTL: multi-label Tomek links."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from labelance._validation import Data, MissingPolicy
from labelance.imbalance import exceeds, formulas, mean_ir_is_below
from labelance.neighbors import FeatureMetric, Neighborhood, Scale
from labelance.sampling._cleaner import Misfits, NeighborCleaner, rows_with
from labelance.sampling._label_distance import label_distances
from labelance.sampling._strategy import (
    STRATEGY_CONSTRAINTS,
    SamplingStrategy,
    above_mean_irlbl,
    below_mean_irlbl,
    refuse_idle_strategy,
    resolve_labels,
)


class MLTL(NeighborCleaner):
    """Multi-Label Tomek Links: deletes rows that differ much from their nearest neighbor.

    A row and its nearest neighbor are linked if their labelsets are farther apart than a
    threshold; rows with a majority label that are linked are deleted ("undersample"), or all
    linked rows are ("clean"). This thins out the places where labels overlap.

    It helps to clear the borders between labels, alone or after an over-sampler. It hurts
    where every row has a labelset of its own: the nearest neighbor then nearly always
    differs, and most rows would go.

    Parameters
    ----------
    threshold : float, optional
        Labelsets are far apart if their Jaccard distance is larger than this; at 1 nothing is
        deleted. None chooses as the author's program does: 0.5 if 1 / sqrt(MeanIR) > 0.5 or
        SCUMBLE > 0.3, else 0.3 if 1 / sqrt(MeanIR) > 0.3, else 0.15.
    strategy : {"undersample", "clean"}, default="undersample"
        Delete linked rows that have at least one label with IRLbl < MeanIR, or all linked rows.
    mutual : bool, default=False
        A link also asks that each of the two is the other's nearest neighbor, as Tomek
        defined it. The author's program does not ask.
    protect_minority : bool, default=False
        Never delete a row that has a label with IRLbl > MeanIR.
    sampling_strategy : str, list or callable, default="auto"
        The labels that ``protect_minority=True`` protects: "auto" and "minority" mean those
        with IRLbl above its mean, "imbalanced" those with ImR above its mean, "all" every
        label; or names, numbers or a mask of labels; or a function of Y that returns any of
        these.
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
    threshold_ : float
        The threshold used.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X came as a data frame with string names.

    See Also
    --------
    MLeNN : Asks more neighbors, and never deletes a minority label.

    Notes
    -----
    Cost: one search for the nearest neighbor, O(n² d), which dominates; O(labels) for the
    labelsets. Nothing is random. Of equally near rows the one with the lowest number is the
    nearest. A neighborhood passed to ``fit_resample`` may have any number of neighbors. How
    ours differs from known programs: the defaults are those of the author's Java program;
    the R package mldr.resampling has no links of its own but calls its MLeNN with one
    neighbor. When all rows would be deleted, ours raises an error.

    References
    ----------
    R. M. Pereira, Y. M. G. Costa, C. N. Silla Jr. (2020): MLTL: A multi-label approach for
    the Tomek Link undersampling algorithm. Neurocomputing 383, 95-105.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLTL
    >>> X = np.array([[0.0], [1], [2.5], [2.9], [4], [5]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1]])
    >>> sampler = MLTL(threshold=0.6)
    >>> X_kept, Y_kept = sampler.fit_resample(X, Y)
    >>> sampler.sample_indices_  # rows 2 and 3 are linked; row 2 has the more frequent label
    array([0, 1, 3, 4, 5])
    """

    k_neighbors: Any = 1  # a link has one partner, so this is no parameter

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborCleaner._parameter_constraints,
        "threshold": [Interval(Real, 0, None, closed="left"), None],
        "strategy": [StrOptions({"undersample", "clean"})],
        "mutual": ["boolean"],
        "protect_minority": ["boolean"],
        "sampling_strategy": STRATEGY_CONSTRAINTS,
        "verbose": ["verbose"],
    }
    del _parameter_constraints["k_neighbors"]

    def __init__(
        self,
        *,
        threshold: float | None = None,
        strategy: str = "undersample",
        mutual: bool = False,
        protect_minority: bool = False,
        sampling_strategy: SamplingStrategy = "auto",
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.threshold = threshold
        self.strategy = strategy
        self.mutual = mutual
        self.protect_minority = protect_minority
        self.sampling_strategy = sampling_strategy
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _neighborhood(
        self, data: Data, metric: FeatureMetric, given: Neighborhood | None
    ) -> Neighborhood:
        return super()._neighborhood(data, metric, None if given is None else given.truncate(1))

    def _misfits(self, data: Data, around: Neighborhood) -> Misfits:
        threshold = choose_threshold(data.Y) if self.threshold is None else self.threshold
        candidates = self._candidates(data)
        nearest = around.indices
        far = label_distances(data.Y, candidates, nearest[candidates], "jaccard") > threshold
        linked = candidates[far[:, 0]]
        if self.mutual:
            linked = linked[nearest[nearest[linked, 0], 0] == linked]
        marked = np.zeros(data.n_samples, dtype=bool)
        marked[linked] = True
        return Misfits(marked, threshold, len(candidates), {"threshold_": threshold})

    def _candidates(self, data: Data) -> np.ndarray:
        """Return the rows that may be deleted."""
        may_go = np.ones(data.n_samples, dtype=bool)
        if self.strategy == "undersample":
            may_go = rows_with(data.Y, below_mean_irlbl(data.Y))
        if self.protect_minority:
            kept = resolve_labels(self.sampling_strategy, data, above_mean_irlbl, who="MLTL")
            may_go &= ~rows_with(data.Y, kept)
        else:
            refuse_idle_strategy(self.sampling_strategy, "MLTL", "protect_minority=True")
        return np.flatnonzero(may_go)


def choose_threshold(Y: sp.csr_array) -> float:
    """Return the threshold of the author's program: smaller the more imbalanced the labels are.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._mltl import choose_threshold
    >>> choose_threshold(sp.csr_array([[1, 0], [1, 0], [1, 1]]))
    0.5
    """
    counts = formulas.label_counts(Y)
    # The author's program asks for 1 / sqrt(MeanIR) > 0.5 and > 0.3.
    if mean_ir_is_below(counts, Fraction(4)):
        return 0.5
    if exceeds(formulas.scumble_instances(Y, counts).mean(), 0.3):
        return 0.5
    return 0.3 if mean_ir_is_below(counts, Fraction(100, 9)) else 0.15
