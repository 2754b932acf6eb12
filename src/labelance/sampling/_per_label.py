"""MLRkNNOS and UCLSO: rows for every label by itself, until its classes are equally many.

Two things are done by hand that scikit-learn has. `RBFMachine` lets its SVC learn and predicts by
matrix products itself: 4 to 8 times as fast as ``SVC.predict``, with the same decisions.
`NumericEncoder` stands for a ColumnTransformer of SimpleImputer and OneHotEncoder, which takes no
sparse X, is half as fast, and orders the columns again, which would change the last digits of
distances and with them results.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from labelance._arrays._columns import column_means, column_range, divide_rows, total_variance
from labelance._arrays._containers import column_counts, to_dense
from labelance._arrays._interpolate import interpolate_rows
from labelance._arrays._open import stack_rows
from labelance._arrays._sparse import narrow_indices
from labelance._progress import run_parallel
from labelance._utils._compat import HasMethods, Interval
from labelance._utils._random import draw_seeds, set_random_states
from labelance._utils._threads import single_threaded_blas, thread_count
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, MissingPolicy, check_no_device
from labelance.exceptions import NothingToSampleError, TooManyRowsError, arg
from labelance.imbalance._local import minority_matrix, minority_values
from labelance.neighbors import Neighborhood
from labelance.neighbors._find import search_neighbors
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    NeighborSampler,
    SamplerTraits,
    add_rows,
    shared_constraints,
)
from labelance.sampling._mlsol import positions
from labelance.sampling._strategy import (
    SamplingStrategy,
    check_row_limit,
    every_label,
    label_bags,
    nothing_to_sample,
    resolve_strategy,
    rows_by_label,
)


def rows_to_balance(strategy: SamplingStrategy, data: Data) -> np.ndarray:
    """Return how many minority rows each label lacks to its target, or else to balance."""
    resolved = resolve_strategy(strategy, data, every_label)
    to_balance = np.where(resolved.labels, data.labels.n_known - 2 * resolved.present, 0)
    lacking = to_balance if resolved.targets is None else resolved.lacking
    return lacking.astype(np.int64)


def check_balanceable(
    n_new: np.ndarray, max_synthetic: int | None, data: Data, *, caller: str
) -> None:
    """Raise if no label can be balanced alone, or if that would make too many rows."""
    if len(n_new) == 0:
        raise nothing_to_sample(
            f"{caller} needs a label with at least two minority rows and too few of them"
        )
    if max_synthetic is not None and n_new.sum() > max_synthetic:
        raise TooManyRowsError(
            f"{caller} would make more than {arg('max_synthetic', max_synthetic)} rows",
            f"Balancing {len(n_new)} labels one by one needs {n_new.sum()}",
            f"Raise {arg('max_synthetic')}, or use a sampler that makes rows for all labels "
            "together, such as MLSOL",
        )
    check_row_limit(sum(n_new.tolist()), data, caller=caller)


class ReverseNeighbors(NamedTuple):
    """The rows with at least one reverse neighbor, and who these are.

    Parameters
    ----------
    seeds : ndarray of int of shape (s,)
        Rows that others have among their neighbors, in row order.
    bounds : ndarray of int of shape (s + 1,)
        ``members[bounds[t]:bounds[t + 1]]`` are the reverse neighbors of ``seeds[t]``.
    members : ndarray of int
        Row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.neighbors import find_neighbors
    >>> from labelance.sampling._per_label import ReverseNeighbors
    >>> around = find_neighbors([[0.0], [1.0], [3.0]], 1)
    >>> reverse = ReverseNeighbors.of(around, np.arange(3))
    >>> reverse.seeds, reverse.members
    (array([0, 1]), array([1, 0, 2]))
    """

    seeds: np.ndarray
    bounds: np.ndarray
    members: np.ndarray

    @classmethod
    def of(cls, around: Neighborhood, rows: np.ndarray) -> ReverseNeighbors:
        """Turn the neighbors of the given rows around."""
        found = around.indices.ravel()
        order = np.argsort(found, kind="stable")
        seeds, counts = np.unique(found, return_counts=True)
        bounds = np.concatenate(([0], np.cumsum(counts)))
        return cls(seeds, bounds, np.repeat(rows, around.n_neighbors)[order])

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw seeds evenly, and for each of them evenly one of its reverse neighbors."""
        chosen = rng.integers(len(self.seeds), size=size)
        partners = rng.integers(self.bounds[chosen], self.bounds[chosen + 1])
        return self.seeds[chosen], self.members[partners]


class NumericEncoder(NamedTuple):
    """How clean rows become rows of known numbers, dense or sparse as given.

    A numeric feature is divided by its width, as in the distance, and a missing value is the
    mean of the known ones. A categorical feature becomes a column for every category but the
    first, and one more for missing values if there are any, so a feature of two categories
    stays as it is, and sparse rows stay sparse.

    Parameters
    ----------
    nominal : ndarray of bool of shape (d,)
        Which features are categorical.
    highest : ndarray of shape (d,)
        The largest code of every categorical feature.
    first : ndarray of int of shape (d + 1,)
        The first column that each feature takes; the last entry is their number.
    mean, width : ndarrays of shape (d,)
        What stands for a missing number, and what all are divided by.
    """

    nominal: np.ndarray
    highest: np.ndarray
    first: np.ndarray
    mean: np.ndarray
    width: np.ndarray

    @classmethod
    def learn(cls, X: Any, nominal: np.ndarray, width: np.ndarray) -> NumericEncoder:
        """Learn categories and means from clean rows."""
        highest = np.where(nominal, np.nan_to_num(column_range(X)[1]), 0).astype(np.int64)
        mean, missing = column_means(X)
        columns = np.where(nominal, np.maximum(highest + missing, 1), 1)
        return cls(nominal, highest, np.concatenate(([0], np.cumsum(columns))), mean, width)

    def transform(self, X: Any) -> Any:
        """Return clean rows as numbers, in their container."""
        if not sp.issparse(X):
            if not self.nominal.any():
                return (np.where(np.isnan(X), self.mean, X) / self.width).astype(X.dtype)
            return self.transform(sp.csr_array(X)).toarray()
        values = np.where(np.isnan(X.data), self.mean[X.indices], X.data) / self.width[X.indices]
        nominal = self.nominal[X.indices]
        columns = self.first[X.indices]
        columns[nominal] += self._places(X.data[nominal], X.indices[nominal])
        values[nominal] = 1.0
        shape = (X.shape[0], int(self.first[-1]))
        return narrow_indices(
            sp.csr_array((values.astype(X.dtype), columns, X.indptr), shape=shape)
        )

    def _places(self, codes: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return which of its feature's columns each code that is not 0 has."""
        codes = np.where(np.isnan(codes), self.highest[features] + 1, codes)
        return codes.astype(np.int64) - 1


_CELLS = 1 << 21  # kernel values held together
_ITERATIONS = 100  # of k-means


class LabelPrediction(NamedTuple):
    """The labels of synthetic rows, predicted label by label.

    Parameters
    ----------
    labeller : classifier or None
        Trained once for each label, None is the `RBFMachine`; an open ``random_state``, also of a
        part, is set to a seed.
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
        y, n_new = self.Y_columns[:, [label]].toarray().ravel(), self.X_new.shape[0]
        if y.min() == y.max():  # a constant label stays what it is
            return np.arange(n_new if y[0] else 0)
        own = slice(*self.bounds[label : label + 2])
        has_label = np.full(n_new, self.minority_value[label], dtype=bool)
        others = [slice(0, own.start), slice(own.stop, n_new)]
        others = [part for part in others if part.start < part.stop]
        if others:
            model: Any = RBFMachine()
            if self.labeller is not None:
                model = set_random_states(clone(self.labeller), seed, only_unset=True)
            rows = stack_rows(self.X, self.X_new[own])
            model.fit(rows, np.concatenate([y, has_label[own]]))
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
        variance = total_variance(X)
        self.gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        self.machine = SVC(gamma=self.gamma).fit(X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return 0 or 1 for every row."""
        vectors, alpha = self.machine.support_vectors_, self.machine.dual_coef_
        alpha = to_dense(alpha).ravel()
        step = max(1, _CELLS // len(alpha))
        decisions = [
            rbf_kernel(X[start : start + step], vectors, gamma=self.gamma) @ alpha
            for start in range(0, X.shape[0], step)
        ]
        return (np.concatenate(decisions) + self.machine.intercept_ > 0).astype(np.int8)


class MLRkNNOSPlan(NamedTuple):
    """What every draw shares: the labels to balance, by how many rows, and between whom."""

    minority_value: np.ndarray
    labels: np.ndarray
    n_new: np.ndarray
    reverse: list[ReverseNeighbors]
    encoder: NumericEncoder


class MLRkNNOS(NeighborSampler):
    """Multi-Label Reverse k-Nearest Neighbor OverSampling.

    Every label gets its own synthetic minority rows until its two classes are equally many:
    each lies between a minority row and one of the minority rows that have it among their
    nearest. The other labels of such a row are predicted by classifiers, one for each label,
    trained on the original rows and that label's own synthetic ones.

    It helps when labels are few and a good classifier for them is at hand. It hurts when
    labels are many: up to n rows are added for each, most of them labelled by prediction,
    so that the classifiers' errors outnumber what was observed.

    Parameters
    ----------
    sampling_strategy : str, float, list, dict or callable, default="auto"
        The labels to balance: "auto" and "all" mean every label, "minority" those with IRLbl
        above its mean, "imbalanced" those with ImR above its mean; or names, numbers or a
        mask of labels. Instead of balance, a float asks for that ratio of minority to
        majority, and a dict from labels for a ratio (float) or a number of minority rows
        (int). A function of y may return any of these.
    k_neighbors : int, default=5
        Neighbors inside the minority class of a label; fewer where it has not more rows.
    labeller : classifier, optional
        Says which other labels a synthetic row has; any scikit-learn classifier. None is a
        support vector machine with an RBF kernel. It sees nominal features as columns of zeros
        and ones, and a missing value as the feature's mean.
    max_synthetic : int or None, default=100_000
        The largest number of synthetic rows; if there would be more, an error says how many.
        None sets no limit.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation: within the
        minority rows for the search, and over all rows for the labeller.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1, and a coin instead of interpolation. A data
        frame's categorical columns always count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it; then a
        synthetic value is NaN where a parent's is.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from, those of a labeller with an open ``random_state``
        included. The same int gives the same rows for any ``n_jobs`` and any container.
    n_jobs : int, optional
        Threads; each works on one label at a time.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
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
    MLSOL : Makes rows for all labels together, as many as asked for.

    Notes
    -----
    For a label with b minority rows, n - 2 b rows are made; none if b is 0 or 1. These
    rows have that label's minority value, while their other labels are predicted. With q
    labels that is up to q n rows in all, hence ``max_synthetic``. Cost: O(b² d) for the
    searches, q classifiers trained on up to 2 n rows, and q predictions for all synthetic
    rows, which dominate. This is a reconstruction from the abstract and from the R package
    mldr.resampling, which takes 3 neighbors; here labels are balanced exactly, nominal
    features are never interpolated, and the labeller is a choice.

    References
    ----------
    P. Sadhukhan, S. Palit (2019): Reverse-nearest neighborhood based oversampling for
    imbalanced, multi-label datasets. Pattern Recognition Letters 125, 813-820.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLRkNNOS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 2))
    >>> y = (X > [0.8, 0.9]).astype(int)
    >>> y.sum(axis=0)
    array([28, 18])
    >>> sampler = MLRkNNOS(random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> np.bincount(sampler.label_indices_)  # 100 - 2 * 28 and 100 - 2 * 18
    array([44, 64])
    """

    k_neighbors: int

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, interpolates=True, label_order_free=False, label_specific=True
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        **shared_constraints("max_synthetic sampling_strategy random_state k_neighbors"),
        "labeller": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        *,
        sampling_strategy: SamplingStrategy = "auto",
        k_neighbors: int = 5,
        labeller: Any = None,
        max_synthetic: int | None = 100_000,
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_strategy = sampling_strategy
        self.k_neighbors = k_neighbors
        self.labeller = labeller
        self.max_synthetic = max_synthetic
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> MLRkNNOSPlan:
        check_no_device(data.X, caller="MLRkNNOS")
        values = minority_values(data.Y)
        minority = minority_matrix(data.Y, values)
        sizes = column_counts(minority)
        n_new = rows_to_balance(self.sampling_strategy, data)
        chosen = (sizes > 1) & (n_new > 0)
        labels = np.flatnonzero(chosen)
        check_balanceable(n_new[labels], self.max_synthetic, data, caller="MLRkNNOS")
        bags = [(data, bag) for bag in label_bags(minority, labels)]
        reverse = self._for_each(self._reverse_neighbors, bags, "Searching bags")
        width = self._feature_metric(data.X, data.categorical).compiled.width
        encoder = NumericEncoder.learn(data.X, data.categorical, width)
        self.sampling_strategy_ = rows_by_label(data, chosen, n_new)
        return MLRkNNOSPlan(values, labels, n_new[labels], reverse, encoder)

    def _draw(self, data: Data, plan: MLRkNNOSPlan, rng: np.random.Generator) -> Draw:
        pairs = [near.draw(size, rng) for near, size in zip(plan.reverse, plan.n_new)]
        seeds, references = (np.concatenate(parents) for parents in zip(*pairs))
        X_new = interpolate_rows(data.X, seeds, references, data.categorical, rng)
        Y_new = self._label(data, plan, X_new, rng)
        made_for = np.repeat(plan.labels, plan.n_new)
        return add_rows(X_new, Y_new, seeds, references, label_indices_=made_for)

    def _reverse_neighbors(self, data: Data, bag: np.ndarray) -> ReverseNeighbors:
        metric = self._feature_metric(data.X, data.categorical, rows=bag)
        k = min(self.k_neighbors, len(bag) - 1)
        return ReverseNeighbors.of(search_neighbors(data.X, k, metric, among=bag, n_jobs=1), bag)

    def _label(
        self, data: Data, plan: MLRkNNOSPlan, X_new: Any, rng: np.random.Generator
    ) -> sp.csr_array:
        """Return the labels of the new rows: their own is known, the others are predicted."""
        q, made_for = data.Y.shape[1], np.repeat(plan.labels, plan.n_new)
        prediction = LabelPrediction(
            labeller=self.labeller,
            X=plan.encoder.transform(data.X),
            X_new=plan.encoder.transform(X_new),
            Y_columns=data.Y.tocsc(),
            minority_value=plan.minority_value,
            bounds=np.searchsorted(made_for, np.arange(q + 1)),
        )
        seeds = draw_seeds(rng, q)
        columns = self._for_each(prediction.column, list(enumerate(seeds)), "Predicting labels")
        rows, indptr = np.concatenate(columns), np.cumsum([0, *map(len, columns)])
        cells = np.ones(len(rows), dtype=np.int8), rows, indptr
        return sp.csc_array(cells, shape=(X_new.shape[0], q)).tocsr()

    def _for_each(self, work: Any, tasks: list[Any], what: str) -> list[Any]:
        """Call ``work`` for every label, in as many threads as there may be."""
        calls = (delayed(work)(*task) for task in tasks)
        threads = {"n_jobs": thread_count(self.n_jobs), "prefer": "threads"}
        with single_threaded_blas():
            return run_parallel(Parallel, calls, len(tasks), what, "labels", **threads)


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
    >>> from labelance.sampling._per_label import cluster_rows
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


class ClusterMembers(NamedTuple):
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
        first, last = self.bounds[labels], self.bounds[labels + 1]
        seeds = rng.integers(np.repeat(first, n_new), np.repeat(last, n_new))
        start, size = self.start[seeds], self.size[seeds]
        others = start + (seeds - start + rng.integers(1, size)) % size
        return self.rows[seeds], self.rows[others]


class UCLSOPlan(NamedTuple):
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
