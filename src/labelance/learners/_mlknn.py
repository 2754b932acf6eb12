"""MLkNN: how many neighbors have the label, and what that tells by Bayes' rule."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._columns import has_missing, to_one_kind
from labelance._arrays._containers import column_counts
from labelance._arrays._open import kind_of
from labelance._classifier import BaseMultiLabelClassifier
from labelance._utils._compat import Interval, StrOptions, fit_context
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, check_no_other_places, validate_features
from labelance.neighbors import Neighborhood
from labelance.neighbors._find import check_n_neighbors, check_neighborhood, search_neighbors
from labelance.neighbors._metric import FeatureMetric, Metric, Scale
from labelance.neighbors._neighborhood import scale_to_all

Floats = NDArray[np.float64]
_NEAR = 1e-12  # of 0.5; rounding moves a posterior by less


class MLkNN(BaseMultiLabelClassifier):
    """Multi-label k nearest neighbors (ML-kNN).

    For every label it is counted how often rows with it, and rows without it, have e = 0 … k
    neighbors with it. Bayes' rule turns these counts into the probability of the label given
    the number e of a new row's neighbors that have it.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number k of neighbors.
    smoothing : float, default=1
        Laplace smoothing: every outcome is counted this often before the data.
    metric : str or callable, default="euclidean"
        "euclidean", "cosine", or another metric of scikit-learn.
    scale : {None, "range", "standard"}, default=None
        Divide each numeric feature by nothing, its range (as in the paper's experiment) or its
        standard deviation over the training rows.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Nominal features, which differ by 0 or 1. A data frame's categorical columns are
        nominal in any case.
    missing : {"error", "distance"}, default="error"
        "distance" lets missing values contribute the largest difference that they could make.
    n_jobs : int, default=None
        Number of threads of the neighbor search; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    prior_ : ndarray of shape (n_labels,)
        Probability of every label before the neighbors are known.
    posterior_ : ndarray of shape (n_labels, k + 1)
        Probability of every label if 0, 1, … k neighbors have it.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    Notes
    -----
    A label is predicted if its probability is at least 0.5; where the counts tie, it is exactly
    0.5. Among equally near rows those that come first are neighbors. A training row is not a
    neighbor of itself while the model is fitted, but it is when its label is predicted: to a
    model, it is a row like any other.

    The training rows and labels are kept, as neighbors of rows to come.

    References
    ----------
    .. [1] M.-L. Zhang and Z.-H. Zhou, ML-KNN: A lazy learning approach to multi-label
           learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> from labelance.learners import MLkNN
    >>> X = [[0], [1], [2], [3], [4], [5], [6], [7]]
    >>> y = [[1], [1], [0], [1], [0], [0], [0], [0]]
    >>> MLkNN(n_neighbors=3).fit(X, y).predict_proba([[0.4], [2.6], [5.2]]).round(4)
    array([[0.72  ],
           [0.3636],
           [0.2222]])
    """

    _works_on_device: ClassVar[bool] = True
    _needs_all: ClassVar[str | None] = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiLabelClassifier._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "metric": [str, callable],
        "scale": [StrOptions({"range", "standard"}), None],
        "categorical_features": ["array-like", StrOptions({"auto"}), None],
        "missing": [StrOptions({"error", "distance"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        smoothing: float = 1,
        *,
        metric: Metric = "euclidean",
        scale: Scale = None,
        categorical_features: CategoricalFeatures = None,
        missing: Literal["error", "distance"] = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, *, neighborhood: Neighborhood | None = None) -> MLkNN:
        """Count the labels of the neighbors of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.
        y : array, sparse matrix or data frame of shape (n, q)
            The labels, 0 or 1.
        neighborhood : Neighborhood, optional
            Neighbors of the rows of X found before, at least ``n_neighbors``, with the same
            metric, scale and ``categorical_features``, to save the search.

        Returns
        -------
        self : object
            The fitted learner.
        """
        return self._fit_clean(self._validate(X, y), neighborhood=neighborhood)

    def _around(self, given: Neighborhood | None) -> Neighborhood:
        """Return the nearest of the neighbors given, if they are of these rows, or search."""
        k, metric = self.n_neighbors, self._feature_metric
        if given is None:
            return search_neighbors(self._rows, k, metric, n_jobs=self.n_jobs)
        nearest = given.truncate(min(k, given.n_neighbors))
        check_neighborhood(nearest, self._rows, metric, k, caller="MLkNN")
        return nearest

    def _fit(self, data: Data, X: Any, neighborhood: Neighborhood | None = None) -> None:
        self._check_no_missing(data.X, X)
        check_n_neighbors(self.n_neighbors, data.n_samples, caller="MLkNN")
        self._feature_metric = FeatureMetric.learn(
            data.X,
            metric=self.metric,
            scale=self.scale,
            categorical=data.categorical,
            missing=self.missing,
        )
        self._rows, self._labels, self._unknown = data.X, data.Y, data.unknown
        self._count(self._around(neighborhood))

    def _count(self, around: Neighborhood) -> None:
        """Set the prior and posterior probabilities."""
        if self._unknown is None:
            counts = count_neighbors(around, self._labels)
            with_label, without = count_rows(self._labels, counts, self.n_neighbors)
        else:
            scaled = count_known_neighbors(around, self._labels, self._unknown, self.n_neighbors)
            with_label, without = count_known_rows(
                self._labels, self._unknown, scaled, self.n_neighbors
            )
        s, n_with = self.smoothing, column_counts(self._labels)
        hidden = 0 if self._unknown is None else column_counts(self._unknown)
        n_without = self._labels.shape[0] - n_with - hidden
        self.prior_ = (s + n_with) / (2 * s + (n_with + n_without))
        present = self.prior_[:, None] * self._smooth(with_label)
        absent = (1 - self.prior_)[:, None] * self._smooth(without)
        self.posterior_ = present / (present + absent)
        self._settle_near_ties((with_label, n_with), (without, n_without))

    def _settle_near_ties(self, *classes: tuple[Floats, NDArray[np.intp]]) -> None:
        """Let a posterior be at least 0.5 exactly if the counts say so.

        Quotients are rounded: an exact tie may come out below 0.5.
        """
        for label, e in np.argwhere(abs(self.posterior_ - 0.5) < _NEAR):
            present, absent = (self._weigh(seen[label], n[label], e) for seen, n in classes)
            below = 0.5 > self.posterior_[label, e]
            if present == absent or below != (present < absent):
                self.posterior_[label, e] = 0.5 if present >= absent else np.nextafter(0.5, 0)

    def _weigh(self, counts: Floats, n_rows: int, e: int) -> Fraction:
        """Return prior times likelihood of e, up to a factor, without rounding."""
        s, total = Fraction(float(self.smoothing)), int(counts.sum())
        return (s + int(n_rows)) * (s + int(counts[e])) / (s * (self.n_neighbors + 1) + total)

    def _smooth(self, counts: Floats) -> Floats:
        """Return the probability of every e from how often it was seen."""
        s, k = self.smoothing, self.n_neighbors
        return (s + counts) / (s * (k + 1) + counts.sum(axis=1, keepdims=True))

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        self._check_no_missing(clean, X)
        check_no_other_places(self._rows, clean, "the new rows", caller="MLkNN")
        rows, queries = to_one_kind(self._rows, clean)
        around = search_neighbors(
            rows, self.n_neighbors, self._feature_metric, queries=queries, n_jobs=self.n_jobs
        )
        if self._unknown is not None:
            e = count_known_neighbors(around, self._labels, self._unknown, self.n_neighbors)
            # Where the label of no neighbor is known, nothing speaks against the prior.
            return np.where(e >= 0, self.posterior_[np.arange(e.shape[1]), e], self.prior_)
        counts = count_neighbors(around, self._labels)
        scores = np.tile(self.posterior_[:, 0], (clean.shape[0], 1))
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        scores[row, counts.indices] = self.posterior_[counts.indices, counts.data]
        return scores

    def _check_no_missing(self, clean: Any, X: Any) -> None:
        """Raise for missing values that no distance was asked for.

        Categories that the training rows lack are NaN in clean rows only, and simply differ.
        """
        measured = self.missing == "distance" and kind_of(clean) != "device"
        if not measured and has_missing(clean, np.ones(clean.shape[1], dtype=bool)):
            # Says which columns have them.
            validate_features(X, caller="MLkNN", missing=self.missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "distance"
        return tags


def count_neighbors(around: Neighborhood, Y: sp.csr_array) -> sp.csr_array:
    """Return e, the number of neighbors with a label, for every row and label where it is not 0."""
    return around.adjacency(Y.shape[0]).astype(np.int32) @ Y


def count_known_neighbors(
    around: Neighborhood, Y: sp.csr_array, unknown: sp.csr_array, k: int
) -> NDArray[np.int64]:
    """Return e as if all k neighbors were known: the share among known ones, times k, rounded.

    -1 where the label of no neighbor is known.
    """
    adjacency = around.adjacency(Y.shape[0]).astype(np.int64)
    seen, known = (adjacency @ Y).toarray(), k - (adjacency @ unknown).toarray()
    return np.where(known > 0, scale_to_all(seen, known, k), -1)


def count_known_rows(
    Y: sp.csr_array, unknown: sp.csr_array, e: NDArray[np.int64], k: int
) -> tuple[Floats, Floats]:
    """Count as `count_rows` does, among rows that know the label and a neighbor that does."""
    q = Y.shape[1]
    counted = (e >= 0) & (unknown.toarray() == 0)
    places, present = e + np.arange(q) * (k + 1), Y.toarray() == 1

    def histogram(cells: NDArray[np.bool_]) -> Floats:
        return np.bincount(places[cells], minlength=q * (k + 1)).reshape(q, k + 1).astype(float)

    return histogram(counted & present), histogram(counted & ~present)


def count_rows(Y: sp.csr_array, e: sp.csr_array, k: int) -> tuple[Floats, Floats]:
    """Count, for every label, the rows with it and without it that have e = 0 … k.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        The labels.
    e : csr_array of shape (n, q)
        Number of neighbors with each label.
    k : int
        Number of neighbors.

    Returns
    -------
    with_label, without : ndarray of shape (q, k + 1)
    """
    n, q = Y.shape

    def histogram(counts: sp.csr_array, totals: NDArray[Any]) -> Floats:
        at = counts.indices * np.int64(k + 1) + counts.data
        table = np.bincount(at, minlength=q * (k + 1)).reshape(q, k + 1).astype(float)
        table[:, 0] = totals - table[:, 1:].sum(axis=1)
        return table

    totals = column_counts(Y)
    both = histogram(e, np.full(q, n))
    with_label = histogram(sp.csr_array(e.multiply(Y)), totals)
    return with_label, both - with_label
