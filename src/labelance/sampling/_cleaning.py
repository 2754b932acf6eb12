"""MLeNN and MLTL: deleting rows whose labels do not fit their neighbors'; nothing is random."""

from __future__ import annotations

from abc import ABCMeta
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import column_counts
from labelance._utils._compat import Interval, StrOptions
from labelance._validation._data import Data, MissingPolicy
from labelance.exceptions import InputError, arg
from labelance.imbalance._above_mean import exceeds, irlbl_against_mean, mean_ir_is_below
from labelance.imbalance._measures import find_scumble
from labelance.neighbors import Neighborhood
from labelance.neighbors._find import Algorithm
from labelance.neighbors._metric import Scale
from labelance.sampling._base import (
    Draw,
    NeighborSampler,
    SamplerTraits,
    keep_rows,
    shared_constraints,
)
from labelance.sampling._strategy import (
    SamplingStrategy,
    above_mean_irlbl,
    check_no_idle_strategy,
    resolve_labels,
    rows_by_label,
    rows_that_may_have,
    rows_with,
)

LabelDistance = Literal["hamming", "jaccard"]


def label_distances(
    Y: sp.csr_array,
    rows: np.ndarray,
    others: np.ndarray,
    kind: LabelDistance,
    unknown: sp.csr_array | None = None,
) -> np.ndarray:
    """Return the distance between the labelsets of ``rows[t]`` and ``others[t, p]``.

    Labels that one of the two does not know are left out.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    rows : ndarray of int of shape (m,)
        Row numbers.
    others : ndarray of int of shape (m, k)
        Row numbers of whom each of them is compared with.
    kind : {"hamming", "jaccard"}
        What the number of different labels is divided by.
    unknown : csr_array of shape (n, q) or None
        Ones at unknown cells.
    """
    shared = _count_shared(Y, Y, rows, others)
    sizes = np.diff(Y.indptr)
    both = sizes[rows][:, np.newaxis] + sizes[others]
    if unknown is not None:
        both = both - _count_shared(Y, unknown, rows, others)
        both = both - _count_shared(unknown, Y, rows, others)
    largest = both if kind == "hamming" else both - shared
    return np.divide(both - 2 * shared, largest, out=np.zeros(both.shape), where=largest > 0)


def _count_shared(
    A: sp.csr_array, B: sp.csr_array, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Count the labels that ``rows[t]`` of A and ``others[t, p]`` of B have in common."""
    shared = A[np.repeat(rows, others.shape[1])].multiply(B[others.ravel()])
    return np.asarray(shared.sum(axis=1, dtype=np.int64)).reshape(others.shape)


class NeighborCleaner(NeighborSampler, metaclass=ABCMeta):
    """Base of samplers that delete rows whose labels differ from their neighbors'."""

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        deletes=True, random=False, finds_neighbors=True, in_blocks=True, needs_all=None
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        **shared_constraints("algorithm sampling_strategy"),
    }

    def _delete(self, marked: np.ndarray, threshold: float, **fitted: Any) -> Draw:
        """Return the draw of the rows that are not marked."""
        if marked.all():
            raise InputError(
                f"{type(self).__name__} would remove all rows",
                f"The labels of all {len(marked)} rows differ from those of their neighbors "
                f"by more than the threshold of {threshold:g}",
                f"Raise {arg('label_distance_threshold')}, or apply REMEDIAL first",
            )
        return keep_rows(np.flatnonzero(~marked), **fitted)

    def _draw(self, data: Data, plan: Draw, rng: np.random.Generator) -> Draw:
        return plan


class MLeNN(NeighborCleaner):
    """Multi-Label edited Nearest Neighbors: deletes frequent rows that contradict their region.

    Rows without any minority label (IRLbl > MeanIR) are candidates; a candidate is deleted if
    its labelset differs by more than ``label_distance_threshold`` from those of at least half of
    its neighbors. So rare labels are never lost, and the rows around them that blur the borders
    of the frequent ones are.

    It helps when frequent labels are noisy, and it makes learning cheaper. It hurts where
    labels have little to do with distances, or labelsets are diverse: then most candidates
    contradict their neighbors and few frequent rows are left.

    Parameters
    ----------
    label_distance_threshold : float, default=0.75
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
        names, numbers or a mask of labels; or a function of y that returns any of these.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before
        distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1. A data frame's categorical columns always
        count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it.
    algorithm : {"auto", "exact", "approx"}, default="auto"
        How neighbors are found, as in :func:`labelance.neighbors.find_neighbors`: "approx" may
        miss a few among very many rows, and is much faster.
    n_jobs : int, optional
        Threads of the neighbor search.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_kept,)
        The rows that were kept, as row numbers of X.
    sampling_strategy_ : dict
        The protected labels, by name or column number, and how many rows have each, all of
        which are kept.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLTL : Compares every row with its nearest neighbor only.

    Notes
    -----
    Two rows are compared by the labels that both know. A row in which a protected label is unknown
    (NaN) may have it, and is kept.

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
    >>> y = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 0], [1, 1], [1, 0]])
    >>> sampler = MLeNN()
    >>> X_kept, y_kept = sampler.fit_resample(X, y)
    >>> sampler.sample_indices_  # row 4 has none of its neighbors' labels
    array([0, 1, 2, 3, 5, 6])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborCleaner._parameter_constraints,
        "label_distance_threshold": [Interval(Real, 0, None, closed="left")],
        "label_distance": [StrOptions({"hamming", "jaccard"})],
    }

    def __init__(
        self,
        *,
        label_distance_threshold: float = 0.75,
        k_neighbors: Any = 3,
        label_distance: LabelDistance = "hamming",
        sampling_strategy: SamplingStrategy = "auto",
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        algorithm: Algorithm = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.label_distance_threshold = label_distance_threshold
        self.k_neighbors = k_neighbors
        self.label_distance = label_distance
        self.sampling_strategy = sampling_strategy
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: Neighborhood | None) -> Draw:
        around = self._neighborhood(data, neighborhood)
        kept = resolve_labels(self.sampling_strategy, data, above_mean_irlbl, caller="MLeNN")
        candidates = np.flatnonzero(~rows_that_may_have(data, kept))
        neighbors = around.indices[candidates]
        distances = label_distances(
            data.Y, candidates, neighbors, self.label_distance, data.unknown
        )
        far = distances > self.label_distance_threshold
        marked = np.zeros(data.n_samples, dtype=bool)
        marked[candidates] = 2 * far.sum(axis=1) >= around.n_neighbors
        strategy = rows_by_label(data, kept, column_counts(data.Y))
        return self._delete(marked, self.label_distance_threshold, sampling_strategy_=strategy)


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
    label_distance_threshold : float, optional
        Labelsets are far apart if their Jaccard distance is larger than this; at 1 nothing is
        deleted. None chooses as the author's program does: 0.5 if 1 / sqrt(MeanIR) > 0.5 or
        SCUMBLE > 0.3, else 0.3 if 1 / sqrt(MeanIR) > 0.3, else 0.15.
    mode : {"undersample", "clean"}, default="undersample"
        Delete linked rows that have at least one label with IRLbl < MeanIR, or all linked rows.
    mutual : bool, default=False
        A link also asks that each of the two is the other's nearest neighbor, as Tomek
        defined it. The author's program does not ask.
    protect_minority : bool, default=False
        Never delete a row that has a label with IRLbl > MeanIR.
    sampling_strategy : str, list or callable, default="auto"
        The labels that ``protect_minority=True`` protects: "auto" and "minority" mean those
        with IRLbl above its mean, "imbalanced" those with ImR above its mean, "all" every
        label; or names, numbers or a mask of labels; or a function of y that returns any of
        these.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before
        distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1. A data frame's categorical columns always
        count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it.
    algorithm : {"auto", "exact", "approx"}, default="auto"
        How neighbors are found, as in :func:`labelance.neighbors.find_neighbors`: "approx" may
        miss a few among very many rows, and is much faster.
    n_jobs : int, optional
        Threads of the neighbor search.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_kept,)
        The rows that were kept, as row numbers of X.
    label_distance_threshold_ : float
        The threshold used.
    sampling_strategy_ : dict
        The protected labels, by name or column number, and how many rows have each, all of
        which are kept; empty unless ``protect_minority``.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLeNN : Asks more neighbors, and never deletes a minority label.

    Notes
    -----
    Two rows are compared by the labels that both know. A row in which a protected label is unknown
    (NaN) may have it, and is kept.

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
    >>> y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1]])
    >>> sampler = MLTL(label_distance_threshold=0.6)
    >>> X_kept, y_kept = sampler.fit_resample(X, y)
    >>> sampler.sample_indices_  # rows 2 and 3 are linked; row 2 has the more frequent label
    array([0, 1, 3, 4, 5])
    """

    k_neighbors: Any = 1  # a link has one partner, so this is no parameter

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborCleaner._parameter_constraints,
        "label_distance_threshold": [Interval(Real, 0, None, closed="left"), None],
        "mode": [StrOptions({"undersample", "clean"})],
        "mutual": ["boolean"],
        "protect_minority": ["boolean"],
    }
    del _parameter_constraints["k_neighbors"]

    def __init__(
        self,
        *,
        label_distance_threshold: float | None = None,
        mode: str = "undersample",
        mutual: bool = False,
        protect_minority: bool = False,
        sampling_strategy: SamplingStrategy = "auto",
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        algorithm: Algorithm = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.label_distance_threshold = label_distance_threshold
        self.mode = mode
        self.mutual = mutual
        self.protect_minority = protect_minority
        self.sampling_strategy = sampling_strategy
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: Neighborhood | None) -> Draw:
        given = None if neighborhood is None else neighborhood.truncate(1)
        nearest = self._neighborhood(data, given).indices
        threshold = self.label_distance_threshold
        if threshold is None:
            threshold = choose_threshold(data.Y)
        protected = self._protected_labels(data)
        candidates = self._candidates(data, protected)
        distances = label_distances(
            data.Y, candidates, nearest[candidates], "jaccard", data.unknown
        )
        linked = candidates[distances[:, 0] > threshold]
        if self.mutual:
            linked = linked[nearest[nearest[linked, 0], 0] == linked]
        marked = np.zeros(data.n_samples, dtype=bool)
        marked[linked] = True
        strategy = rows_by_label(data, protected, column_counts(data.Y))
        return self._delete(
            marked, threshold, label_distance_threshold_=threshold, sampling_strategy_=strategy
        )

    def _protected_labels(self, data: Data) -> np.ndarray:
        """Return the labels whose rows are never deleted."""
        if self.protect_minority:
            return resolve_labels(self.sampling_strategy, data, above_mean_irlbl, caller="MLTL")
        check_no_idle_strategy(self.sampling_strategy, "MLTL", "protect_minority=True")
        return np.zeros(data.Y.shape[1], dtype=bool)

    def _candidates(self, data: Data, protected: np.ndarray) -> np.ndarray:
        """Return the rows that may be deleted."""
        may_go = ~rows_that_may_have(data, protected)
        if self.mode == "undersample":
            may_go &= rows_with(data.Y, irlbl_against_mean(column_counts(data.Y)) < 0)
        return np.flatnonzero(may_go)


def choose_threshold(Y: sp.csr_array) -> float:
    """Return the threshold of the author's program: smaller the more imbalanced the labels are.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._cleaning import choose_threshold
    >>> choose_threshold(sp.csr_array([[1, 0], [1, 0], [1, 1]]))
    0.5
    """
    counts = column_counts(Y)
    # The author's program asks for 1 / sqrt(MeanIR) > 0.5 and > 0.3.
    if mean_ir_is_below(counts, Fraction(4)):
        return 0.5
    if exceeds(find_scumble(Y, counts).mean(), 0.3):
        return 0.5
    return 0.3 if mean_ir_is_below(counts, Fraction(100, 9)) else 0.15
