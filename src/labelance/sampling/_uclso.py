"""UCLSO: oversampling every label between minority rows of one cluster."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from labelance._arrays._columns import divide_rows
from labelance._arrays._interpolate import interpolate_rows
from labelance._utils._compat import Interval
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data
from labelance._validation._features import check_no_device
from labelance.exceptions import NothingToSampleError, arg
from labelance.imbalance._local import minority_matrix, minority_values
from labelance.neighbors._find import search_neighbors
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    SamplerTraits,
    add_rows,
    shared_constraints,
)
from labelance.sampling._mlrknnos import NumericEncoder
from labelance.sampling._mlsol import positions
from labelance.sampling._strategy import (
    SamplingStrategy,
    check_balanceable,
    rows_by_label,
    rows_to_balance,
)

_ITERATIONS = 100


def cluster_rows(X: Any, n_clusters: int, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the cluster of every row, by k-means; always the same for the same numbers.

    scikit-learn's KMeans gives dense and sparse rows other clusters, since it shifts only dense
    ones and sums in an order that depends on threads. Here distances are those of the neighbor
    search, which are exact.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Rows of known numbers.
    n_clusters : int
        The largest number of clusters; there are fewer if there are fewer different rows.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    clusters : ndarray of int of shape (n,)
        Numbers from 0 on, each of which some row has.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling._uclso import cluster_rows
    >>> clusters = cluster_rows(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    >>> bool(clusters[0] == clusters[2] != clusters[1] == clusters[3])
    True
    """
    metric = FeatureMetric.learn(X)
    centers = X[_spread_rows(X, n_clusters, metric, n_jobs)]
    clusters = np.full(X.shape[0], -1)
    for _ in range(_ITERATIONS):
        nearest = search_neighbors(centers, 1, metric, queries=X, n_jobs=n_jobs).indices[:, 0]
        nearest = np.unique(nearest, return_inverse=True)[1]  # a center may lose all its rows
        if np.array_equal(nearest, clusters):
            break
        clusters = nearest
        centers = _means(X, clusters)
    return clusters


def _spread_rows(X: Any, k: int, metric: FeatureMetric, n_jobs: int | None) -> np.ndarray:
    """Choose up to k different rows, each with a chance by its squared distance to those before.

    This is the start of k-means++, with numbers of its own: clusters are no matter of chance.
    """
    rng = np.random.default_rng(0)
    chosen = [int(rng.integers(X.shape[0]))]
    gap = np.full(X.shape[0], np.inf)
    while len(chosen) < k:
        center = X[chosen[-1:]]
        near = search_neighbors(center, 1, metric, queries=X, n_jobs=n_jobs).distances[:, 0]
        gap = np.minimum(gap, near)
        widest = gap.max()
        if widest == 0:
            break
        reach = np.cumsum((gap / widest) ** 2)
        chosen.append(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")))
    return np.array(chosen)


def _means(X: Any, clusters: np.ndarray) -> Any:
    """Return the mean row of every cluster; sums go row by row, dense or sparse."""
    n, sizes = len(clusters), np.bincount(clusters)
    members = sp.csr_array((np.ones(n), (clusters, np.arange(n))), shape=(len(sizes), n))
    return divide_rows(members @ X, sizes, X.dtype)


@dataclass(frozen=True, eq=False)
class ClusterMembers:
    """Minority rows that have company of their label in their cluster.

    Parameters
    ----------
    rows : ndarray of int of shape (m,)
        Row numbers, label by label, and within a label cluster by cluster.
    start, size : ndarray of int of shape (m,)
        Where the rows of the same label and cluster begin, and how many there are, 2 or more.
    bounds : ndarray of int of shape (q + 1,)
        The rows from ``bounds[j]`` to ``bounds[j + 1]`` are of label j.
    """

    rows: np.ndarray
    start: np.ndarray
    size: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, minority: sp.csc_array, clusters: np.ndarray) -> ClusterMembers:
        """Group the minority cells of every label by the clusters of their rows."""
        q, k = minority.shape[1], clusters.max() + 1
        rows = minority.indices.astype(np.int64)
        group = np.repeat(np.arange(q), np.diff(minority.indptr)) * k + clusters[rows]
        order = np.argsort(group, kind="stable")
        sizes = np.bincount(group, minlength=q * k)
        order = order[sizes[group[order]] > 1]  # between one row and itself there is nothing
        sizes = np.where(sizes > 1, sizes, 0)
        group, starts = group[order], np.cumsum(sizes) - sizes
        bounds = np.concatenate(([0], np.cumsum(sizes.reshape(q, k).sum(axis=1))))
        return cls(rows[order], starts[group], sizes[group], bounds)

    def draw(
        self, labels: np.ndarray, n_new: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw seeds of every label, and for each another row of its label and cluster."""
        first, last = (
            np.repeat(self.bounds[labels], n_new),
            np.repeat(self.bounds[labels + 1], n_new),
        )
        seeds = rng.integers(first, last)
        start, size = self.start[seeds], self.size[seeds]
        others = start + (seeds - start + rng.integers(1, size)) % size
        return self.rows[seeds], self.rows[others]


@dataclass(frozen=True, eq=False)
class UCLSOPlan:
    """What every draw shares: the clusters, the labels to balance, by how many, between whom."""

    clusters: np.ndarray
    members: ClusterMembers
    labels: np.ndarray
    n_new: np.ndarray
    metric: FeatureMetric


class UCLSO(BaseMultiLabelSampler):
    """Unsupervised Clustering and Label-Specific Oversampling (a reconstruction).

    All rows are clustered once, without a look at labels. Then every label gets its own
    synthetic minority rows until its two classes are equally many, and each of them lies between
    two minority rows of the label in the same cluster, so that none lies between regions.

    It helps where minority rows form several regions: SMOTE and its kin bridge what lies between
    them. It hurts where labels are many, since every label brings up to n rows.

    Parameters
    ----------
    n_clusters : int, default=5
        The largest number of clusters.
    sampling_strategy : str, float, list, dict or callable, default="auto"
        The labels to balance: "auto" and "all" mean every label, "minority" those with IRLbl
        above its mean, "imbalanced" those with ImR above its mean; or names, numbers or a
        mask of labels. Instead of balance, a float asks for that ratio of minority to
        majority, and a dict from labels for a ratio (float) or a number of minority rows
        (int). A function of y may return any of these.
    max_synthetic : int or None, default=100_000
        The largest number of synthetic rows; if there would be more, an error says how many.
        None sets no limit.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before distances
        are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Nominal features: columns of zeros and ones for the clusters, and a coin instead of
        interpolation. A data frame's categorical columns always count.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from. Clusters do not depend on it.
    n_jobs : int, optional
        Threads of the clustering.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    clusters_ : ndarray of shape (n_samples,)
        The cluster of every given row.
    seed_indices_, reference_indices_ : ndarray of shape (n_new,)
        The parents of every synthetic row, as row numbers of X.
    label_indices_ : ndarray of shape (n_new,)
        The label that every synthetic row was made for.
    sampling_strategy_ : dict
        The labels that are balanced, by name or column number, and how many synthetic rows
        are made for each.
    constant_labels_ : ndarray
        Labels present in no row or in all; they stay constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    labelance.learners.PerLabel : Lets every label learn from the rows made for it, as in the paper.
    MLRkNNOS : Balances every label, too, and predicts the others.

    Notes
    -----
    A reconstruction: of the paper we know its summary, not its listing. From there: one
    clustering for all labels, synthetic rows only between minority rows of a cluster, and a
    training set for every label, which ``PerLabel(UCLSO())`` gives. Ours are: k-means with 5
    clusters; as many rows as a label lacks to balance; a seed drawn evenly from the minority rows
    that are not alone in their cluster, so that a cluster gets rows in proportion to its minority;
    a reference drawn evenly from the others there; one random number for all features of a row
    (``interpolation="line"`` of :class:`MLSOL`); a missing value (NaN) counts as the mean of its
    feature for the clusters, and a synthetic value is missing where a parent's is.

    The paper does not need the other labels of a synthetic row. Here it has those of the nearer
    parent, so that the result can be learned from by any learner.

    Cost: O(n d) for each step of k-means, at most 100, and O(d + labels) for each new row.

    References
    ----------
    P. Sadhukhan, A. Pakrashi, S. Palit, B. Mac Namee (2023): Integrating Unsupervised Clustering
    and Label-Specific Oversampling to Tackle Imbalanced Multi-Label Data. ICAART;
    arXiv:2109.12421.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import UCLSO
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 2))
    >>> y = (X > [0.8, 0.9]).astype(int)
    >>> y.sum(axis=0)
    array([28, 18])
    >>> sampler = UCLSO(random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> np.bincount(sampler.label_indices_)  # 100 - 2 * 28 and 100 - 2 * 18
    array([44, 64])
    >>> pairs = sampler.seed_indices_, sampler.reference_indices_
    >>> bool((sampler.clusters_[pairs[0]] == sampler.clusters_[pairs[1]]).all())
    True
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, interpolates=True, label_order_free=False, label_specific=True
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints(
            "verbose max_synthetic sampling_strategy random_state scale categorical_features n_jobs"
        ),
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_clusters: int = 5,
        sampling_strategy: SamplingStrategy = "auto",
        max_synthetic: int | None = 100_000,
        scale: Scale = None,
        categorical_features: CategoricalFeatures = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.sampling_strategy = sampling_strategy
        self.max_synthetic = max_synthetic
        self.scale = scale
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _validation_options(self) -> dict[str, Any]:
        return {"categorical_features": self.categorical_features, "missing": "keep"}

    def _distance_options(self) -> dict[str, Any]:
        return {"categorical_features": self.categorical_features, "scale": self.scale}

    def _plan(self, data: Data, neighborhood: None) -> UCLSOPlan:
        check_no_device(data.X, caller="UCLSO")
        metric = FeatureMetric.learn(
            data.X, scale=self.scale, categorical=data.categorical, missing="distance"
        )
        encoder = NumericEncoder.learn(data.X, data.categorical, metric.compiled.width)
        clusters = cluster_rows(encoder.transform(data.X), self.n_clusters, n_jobs=self.n_jobs)
        minority = minority_matrix(data.Y, minority_values(data.Y)).tocsc()
        members = ClusterMembers.of(minority, clusters)
        n_new = rows_to_balance(self.sampling_strategy, data)
        balanced = (n_new > 0) & (np.diff(members.bounds) > 0)
        if n_new.any() and not balanced.any():
            raise NothingToSampleError(
                "UCLSO needs two minority rows of a label in the same cluster",
                f"No label has them in {clusters.max() + 1} clusters",
                f"Lower {arg('n_clusters')}, or skip sampling",
            )
        check_balanceable(n_new[balanced], self.max_synthetic, data, caller="UCLSO")
        self.sampling_strategy_ = rows_by_label(data, balanced, n_new)
        return UCLSOPlan(clusters, members, np.flatnonzero(balanced), n_new[balanced], metric)

    def _draw(self, data: Data, plan: UCLSOPlan, rng: np.random.Generator) -> Draw:
        seeds, references = plan.members.draw(plan.labels, plan.n_new, rng)
        X_new = interpolate_rows(data.X, seeds, references, data.categorical, rng, line=True)
        cd = positions(plan.metric, data.X, X_new, seeds, references)
        Y_new = data.Y[np.where(cd <= 0.5, seeds, references)]
        made_for = np.repeat(plan.labels, plan.n_new)
        return add_rows(
            X_new, Y_new, seeds, references, clusters_=plan.clusters, label_indices_=made_for
        )
