"""LSDMLO: neighbors and labels by distances with feature weights for every label."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from labelance._arrays._interpolate import interpolate_rows
from labelance._arrays._memory import check_fits_memory
from labelance._progress import track
from labelance._utils._compat import Interval
from labelance._validation._data import Data, MissingPolicy, check_no_device
from labelance.exceptions import InputError
from labelance.neighbors._find import check_n_neighbors, search_neighbors
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._base import (
    Draw,
    NeighborSampler,
    SamplerTraits,
    add_rows,
    shared_constraints,
)
from labelance.sampling._mlsol import choose_seeds
from labelance.sampling._per_label import NumericEncoder
from labelance.sampling._strategy import (
    above_mean_irlbl,
    check_row_limit,
    label_bags,
    nothing_to_sample,
    rows_to_sample,
)

_RELATED_PAIRS = 10  # the most similar pairs of labels, whose labels are related
_ITERATIONS = 100
_MARGIN = 1e-2  # a loss that changes by less ends the search
# Dense tables of a number for every label and row, or feature, that are there at the same time.
_SCORE_TABLES, _COEFFICIENT_TABLES = 4, 6


def label_similarity(Y: sp.csr_array) -> np.ndarray:
    """Return the cosine of every pair of labels, as columns of Y; 0 for a label in no row."""
    together = (Y.T.astype(np.float64) @ Y.astype(np.float64)).toarray()
    norm = np.sqrt(np.diag(together))
    scale = np.outer(norm, norm)
    return np.divide(together, scale, out=np.zeros_like(together), where=scale > 0)


def feature_coefficients(
    X: sp.csr_array, Y: sp.csr_array, *, correlation: float, sparsity: float
) -> np.ndarray:
    """Fit sparse linear models of all labels, whose scores are alike for similar labels.

    They minimise half of ``|XW - Y|² + correlation · tr(XW L (XW)')`` plus ``sparsity · |W|₁``,
    with the Laplacian L of the labels' cosine similarity, by accelerated proximal gradients.

    Parameters
    ----------
    X : csr_array of shape (n, d)
        Rows of known numbers.
    Y : csr_array of shape (n, q)
        Their labels.
    correlation, sparsity : float
        The paper's alpha and beta.

    Returns
    -------
    W : ndarray of shape (d, q)
        The coefficients.
    """
    similar = label_similarity(Y)
    smooth = np.eye(Y.shape[1]) + correlation * (np.diag(similar.sum(axis=1)) - similar)
    target = Y.toarray().astype(np.float64)
    steepness = _largest_square(X) * np.abs(smooth).sum(axis=1).max()
    W = before = np.zeros((X.shape[1], Y.shape[1]))
    momentum, loss = 1.0, np.inf
    for _ in range(_ITERATIONS):
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = W + (momentum - 1) / following * (W - before)
        scores = X @ ahead
        gradient = X.T @ (scores @ smooth - target)
        stepped = ahead - gradient / steepness
        shrunk = np.maximum(np.abs(stepped) - sparsity / steepness, 0)
        before, W, momentum = W, np.copysign(shrunk, stepped), following
        scores = X @ W
        error, spread = scores - target, np.sum(scores * (scores @ smooth - scores))
        now = (np.sum(error**2) + spread) / 2 + sparsity * np.abs(W).sum()
        if abs(loss - now) <= _MARGIN:
            break
        loss = now
    return W


def _largest_square(X: sp.csr_array) -> float:
    """Return a bound of the largest eigenvalue of X'X, by which gradients change at most."""
    size = abs(X)
    by_sums = size.sum(axis=0).max() * size.sum(axis=1).max()
    return max(min(float(X.data @ X.data), float(by_sums)), np.finfo(float).tiny)


def related_labels(Y: sp.csr_array) -> sp.csr_array:
    """Mark the pairs of labels that are among the most similar ones, in both directions."""
    similar = np.triu(label_similarity(Y), 1)
    first, second = np.nonzero(similar)
    order = np.argsort(-similar[first, second], kind="stable")[:_RELATED_PAIRS]
    pairs = sp.csr_array((np.ones(len(order)), (first[order], second[order])), shape=similar.shape)
    return sp.csr_array(pairs + pairs.T)


class LSDMLOPlan(NamedTuple):
    """What every draw shares: a metric for every label, neighbors for rare ones, seed weights."""

    metrics: list[FeatureMetric]
    rare: np.ndarray
    cells: sp.csr_array  # numbers of the ones of minority labels, counted label by label
    neighbors: np.ndarray  # of the row of every such cell, in the distance of its label
    weights: np.ndarray


class LSDMLO(NeighborSampler):
    """Label-Specific Distance-based Multi-Label Oversampling (a reconstruction).

    What makes two rows alike depends on the label. Sparse linear models say which features matter
    for each label, and distances weight features by that. For every minority label, neighbors are
    found in its own distance; rows whose neighbors agree with them, but not all, and have related
    labels, are chosen as seeds more often. A synthetic row lies between a seed and one of these
    neighbors, and where the two differ in a label, it has that of the parent which is nearer in
    that label's distance.

    It helps where few of many features matter for a label. It hurts where labels are not linear in
    the features, so that the weights mislead.

    Parameters
    ----------
    sampling_ratio : float, default=0.3
        Rows to add, as a share of the input rows: floor(sampling_ratio * n).
    n_synthetic : int, optional
        Rows to add, as a number; used instead of ``sampling_ratio`` when given.
    correlation : float, default=1.0
        The paper's alpha: how much the scores of similar labels are drawn together.
    sparsity : float, default=0.25
        The paper's beta: how much coefficients are drawn to 0.
    k_neighbors : int, default=5
        Neighbors in the distance of every minority label.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before coefficients
        are fitted and distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1, with the weight of an average feature, and a coin
        instead of interpolation. A data frame's categorical columns always count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it, and the mean of
        the feature for coefficients; then a synthetic value is NaN where a parent's is.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from.
    n_jobs : int, optional
        Threads of the neighbor searches.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    seed_indices_, reference_indices_ : ndarray of shape (n_new,)
        The parents of every synthetic row, as row numbers of X.
    label_indices_ : ndarray of shape (n_new,)
        The minority label in whose distance they are neighbors.
    constant_labels_ : ndarray
        Labels present in no row or in all; they stay constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLSOL : One distance for all labels.

    Notes
    -----
    A reconstruction: from the paper's summary and what its authors' program does, not from its
    text. From there: the linear models, with features weighted by the softmax of absolute
    coefficients; minority labels by IRLbl above its mean; agreement C of a row with the
    label as the share of neighbors that have it, 0 and 1 left out, and for related labels (in the
    10 most similar pairs) the largest share of one of them in the neighborhood, both
    normalised by label and added up to seed weights; a minority label of the seed chosen evenly,
    and one of its neighbors; a random number for every feature; and labels by the nearer parent.

    Ours are: pairs of related labels count in both directions (the program uses the upper half of
    a matrix); sums are taken before they divide (the program divides by sums so far); softmax
    weights are multiplied by the number of features, so that they are 1 on average; and the
    defaults, since the program tries eleven pairs of alpha and beta and eight sampling ratios, and
    prints test scores of each. Results that were chosen among these are chosen on test folds.

    Cost: at most 100 products of X with a d x q matrix, and for every minority label a search for
    the neighbors of the rows that have it. Memory: some dense tables of n x q and d x q numbers.

    References
    ----------
    B. Liu, J. Wu, H. Peng, A. Zhou, J. Wang, Q. Chen, G. Tsoumakas (2026): Addressing Imbalance in
    Multi-Label Data via Label-Specific Distance-based Oversampling. arXiv:2606.05927.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.sampling import LSDMLO
    >>> X, y = make_multilabel_imbalanced(200, 8, 6, random_state=0)
    >>> X_new, y_new = LSDMLO(random_state=0).fit_resample(X, y)
    >>> X_new.shape, y_new.shape
    ((260, 8), (260, 6))
    """

    k_neighbors: int
    metric = "euclidean"

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, interpolates=True, exact_budget=True, label_order_free=False
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in NeighborSampler._parameter_constraints.items() if k != "metric"},
        **shared_constraints("sampling_ratio n_synthetic random_state k_neighbors"),
        "correlation": [Interval(Real, 0, None, closed="left")],
        "sparsity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_ratio: float = 0.3,
        n_synthetic: int | None = None,
        correlation: float = 1.0,
        sparsity: float = 0.25,
        k_neighbors: int = 5,
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.n_synthetic = n_synthetic
        self.correlation = correlation
        self.sparsity = sparsity
        self.k_neighbors = k_neighbors
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> LSDMLOPlan:
        check_no_device(data.X, caller="LSDMLO")
        check_row_limit(self._budget(data), data, caller="LSDMLO")
        k = check_n_neighbors(self.k_neighbors, data.n_samples, caller="LSDMLO", name="k_neighbors")
        (n, d), q = data.X.shape, data.Y.shape[1]
        check_fits_memory(
            q,
            8 * (_SCORE_TABLES * n + _COEFFICIENT_TABLES * d + q),
            caller="LSDMLO",
            cure="Choose fewer labels or features, or a sampler with one distance for all labels",
            noun="linear models",
        )
        metrics = self._label_metrics(data)
        rare = np.flatnonzero(above_mean_irlbl(data.Y))
        ones = sp.csc_array(data.Y[:, rare])
        neighbors, bags = np.empty((ones.nnz, k), dtype=np.int64), label_bags(data.Y, rare)
        for j, bag, last in zip(track(rare, "Searching by label", "labels"), bags, ones.indptr[1:]):
            found = search_neighbors(data.X, k, metrics[j], rows=bag, n_jobs=self.n_jobs)
            neighbors[last - len(bag) : last] = found.indices
        weights = seed_weights(data.Y, rare, neighbors)
        if not weights.any():
            raise nothing_to_sample(
                "LSDMLO needs a minority row that shares its label with some neighbors, not all"
            )
        numbers = sp.csc_array((np.arange(ones.nnz), ones.indices, ones.indptr), shape=ones.shape)
        return LSDMLOPlan(metrics, rare, numbers.tocsr(), neighbors, weights)

    def _budget(self, data: Data) -> int:
        return rows_to_sample(data.n_samples, self.sampling_ratio, self.n_synthetic)

    def _label_metrics(self, data: Data) -> list[FeatureMetric]:
        """Return the distance of every label: features weighted by the label's coefficients."""
        plain = self._feature_metric(data.X, data.categorical)
        numeric = np.flatnonzero(~data.categorical)
        if not len(numeric):  # only numeric features are weighted
            return [plain] * data.Y.shape[1]
        encoder = NumericEncoder.learn(data.X, data.categorical, plain.compiled.width)
        # One kind of rows for all, so that the coefficients are the same to the last digit.
        numbers = sp.csr_array(encoder.transform(data.X), dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            W = feature_coefficients(
                numbers, data.Y, correlation=self.correlation, sparsity=self.sparsity
            )
        if not np.isfinite(W).all():
            raise InputError(
                "LSDMLO cannot fit linear models to these features", "Some numbers are too large"
            )
        weight = softmax(np.abs(W[encoder.first[numeric]]), axis=0) * len(numeric)
        widths = np.tile(plain.compiled.width, (len(weight.T), 1))
        with np.errstate(divide="ignore"):  # a weight of 0 leaves the feature out
            widths[:, numeric] /= np.sqrt(weight.T)
        return [replace(plain, compiled=plain.compiled._replace(width=width)) for width in widths]

    def _draw(self, data: Data, plan: LSDMLOPlan, rng: np.random.Generator) -> Draw:
        seeds = choose_seeds(plan.weights, self._budget(data), rng)
        cells, places = choose_cells(plan.cells[seeds], rng)
        references = plan.neighbors[cells, rng.integers(self.k_neighbors, size=len(seeds))]
        X_new = interpolate_rows(data.X, seeds, references, data.categorical, rng)
        Y_new = nearer_labels(plan.metrics, data, X_new, seeds, references)
        return add_rows(X_new, Y_new, seeds, references, label_indices_=plan.rare[places])


def seed_weights(Y: sp.csr_array, rare: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Add up over minority labels how far neighbors agree with a row, and with related labels.

    ``around`` has the neighbors of the rows that have the first label, then the second, and so on.
    """
    weights, last = np.zeros(Y.shape[0]), 0
    related, columns = related_labels(Y), Y.tocsc()
    for j, rows in zip(rare, label_bags(Y, rare)):
        first, last = last, last + len(rows)
        neighbors = around[first:last]
        agree = _read_column(columns, j)[neighbors].mean(axis=1)
        usable = (agree > 0) & (agree < 1)
        locality = np.column_stack([rows, neighbors])
        support = np.zeros(len(rows))
        for other in related.indices[related.indptr[j] : related.indptr[j + 1]]:
            present = _read_column(columns, other)[locality].sum(axis=1)
            support = np.maximum(support, present / neighbors.shape[1])
        part = _normalised(np.where(usable, agree, 0)) + _normalised(support)
        weights[rows] += np.where(usable, part, 0)
    return weights


def _read_column(columns: sp.csc_array, label: int) -> np.ndarray:
    cells: np.ndarray = columns[:, [label]].toarray().ravel()
    return cells


def _normalised(values: np.ndarray) -> np.ndarray:
    return values / values.sum() if values.any() else values


def choose_cells(cells: sp.csr_array, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Choose one of the cells of every row evenly; every row has one. Return number and column."""
    chosen = cells.indptr[:-1] + rng.integers(np.diff(cells.indptr))
    return cells.data[chosen], cells.indices[chosen]


def nearer_labels(
    metrics: list[FeatureMetric], data: Data, X_new: Any, seeds: np.ndarray, references: np.ndarray
) -> sp.csr_array:
    """Return the labels that both parents have, or that the nearer one has by that label."""
    Y_seeds, Y_references = data.Y[seeds], data.Y[references]
    by_one = sp.csc_array(Y_seeds - Y_references)  # 1 where the seed has the label, else -1
    for j in np.flatnonzero(np.diff(by_one.indptr)):
        cells = slice(*by_one.indptr[j : j + 2])
        differ = by_one.indices[cells]
        to_seed = metrics[j].paired(X_new, data.X, differ, seeds[differ])
        to_reference = metrics[j].paired(X_new, data.X, differ, references[differ])
        by_one.data[cells] = (to_seed <= to_reference) == (by_one.data[cells] == 1)
    return sp.csr_array(Y_seeds.multiply(Y_references) + by_one.tocsr())
