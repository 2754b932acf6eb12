"""MLSOL and MLUL: oversampling and undersampling based on the local distribution of labels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._columns import places_in
from labelance._arrays._containers import column_counts
from labelance._arrays._interpolate import interpolate_rows
from labelance._utils._compat import Interval, StrOptions
from labelance._validation._data import Data, MissingPolicy
from labelance.exceptions import NothingToSampleError, arg
from labelance.imbalance import LabelType, LocalDistribution
from labelance.imbalance._local import Variant, Weighting, find_local_distribution, minority_matrix
from labelance.neighbors import Neighborhood
from labelance.neighbors._find import Algorithm
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._base import (
    Draw,
    NeighborSampler,
    SamplerTraits,
    add_rows,
    keep_rows,
    shared_constraints,
)
from labelance.sampling._strategy import (
    SamplingStrategy,
    check_row_limit,
    every_label,
    nothing_to_sample,
    resolve_labels,
    resolve_strategy,
    rows_by_label,
    rows_to_sample,
)

# θ of the paper: how far towards the other parent a minority cell reaches.
THETA = np.zeros(5)
THETA[LabelType.SAFE] = 0.5
THETA[LabelType.BORDERLINE] = 0.75
THETA[LabelType.RARE] = 1 + 1e-5
THETA[LabelType.OUTLIER] = -1e-5

_NEEDS_A_CELL = (
    "needs a minority cell with both a minority and a majority cell of its label among its "
    "neighbors"
)


def assign_labels(
    local: LocalDistribution, seeds: np.ndarray, references: np.ndarray, cd: np.ndarray
) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Return the labels of one synthetic row per (seed, reference, cd), and those it leaves open.

    Parameters
    ----------
    local : LocalDistribution
        Minority cells and their types.
    seeds, references : ndarray of int of shape (g,)
        Row numbers of the parents.
    cd : ndarray of shape (g,)
        Position of the synthetic row: 0 at the seed, 1 at the reference.
    """
    M = local.minority
    if local.on_device is None:
        columns, indptr = _merge_parents(local, seeds, references, cd)
    else:
        columns, counts = local.on_device.merge(THETA, seeds, references, cd)
        columns = columns.astype(M.indices.dtype)
        indptr = np.concatenate([[0], np.cumsum(counts)])
    cells = np.ones(len(columns), dtype=np.int8)
    minority = sp.csr_array((cells, columns, indptr), shape=(len(seeds), M.shape[1]))
    # M is Y with the columns flipped whose ones are the majority; flipping again gives Y.
    unknown = None
    if local.unknown is not None:
        # What a typed parent decides is known, whatever the other one is.
        unknown = local.unknown[seeds] + local.unknown[references]
        unknown = sp.csr_array(unknown - unknown.multiply(minority))
        unknown.eliminate_zeros()
        unknown.data[:] = 1
    Y = minority_matrix(minority, local.minority_value, unknown)
    Y.has_sorted_indices = True
    return Y, unknown


def _merge_parents(
    local: LocalDistribution, seeds: np.ndarray, references: np.ndarray, cd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of the minority cells of synthetic rows, and where each row begins."""
    # A cell that reaches the new row counts 2, another one 1: a cell of both parents has 2 too.
    both = _reaching(local.types, seeds, cd) + _reaching(local.types, references, 1 - cd)
    is_minority = both.data >= 2
    return both.indices[is_minority], np.append(0, np.cumsum(is_minority))[both.indptr]


def _reaching(types: sp.csr_array, rows: np.ndarray, distances: np.ndarray) -> sp.csr_array:
    """Return the cells of parents, 2 where their type reaches as far as the new row, else 1."""
    cells = types[rows]
    reaches = np.repeat(distances, np.diff(cells.indptr)) <= THETA[cells.data]
    cells.data = 1 + reaches.astype(np.int8)
    return cells


class MLSOLPlan(NamedTuple):
    """What every draw of MLSOL shares: the neighbors, C and T, the seed weights, the distance."""

    neighborhood: Neighborhood
    local: LocalDistribution
    weights: np.ndarray
    metric: FeatureMetric


class MLSOL(NeighborSampler):
    """Multi-Label Synthetic Oversampling based on the Local distribution of labels.

    Rows whose minority cells are hard, judged by their neighbors, are chosen as seeds more
    often; each synthetic row lies between a seed and one of its neighbors and takes each
    label from the parent on whose side it lies, with the border moved in favor of the
    minority by the type of the cell (safe, borderline, rare, outlier).

    It helps when minority cells form regions, also small ones, in feature space. It hurts
    where distances mean little, and it changes little if most minority cells are outliers,
    since those are never extended.

    Parameters
    ----------
    sampling_ratio : float, default=0.3
        Rows to add, as a share of the input rows: floor(sampling_ratio * n).
    n_synthetic : int, optional
        Rows to add, as a number; used instead of ``sampling_ratio`` when given.
    sampling_strategy : str, float, list, dict or callable, default="auto"
        The labels whose minority cells make seeds: "auto" and "all" mean every label,
        "minority" those with IRLbl above its mean, "imbalanced" those with ImR above its
        mean; or names, numbers or a mask of labels. A float or a dict from labels to a ratio
        (float) or to a number of minority rows (int) gives each label weight by what it
        lacks; since a row has all labels, a target steers and is not met exactly. A function
        of y may return any of these.
    k_neighbors : int or object with ``kneighbors``, default=5
        Neighbors that make up a row's locality. An object is used as imbalanced-learn does:
        its ``n_neighbors`` counts the row itself.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range (as the authors' program does) or by their
        standard deviation before distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1, and a coin instead of interpolation. A data
        frame's categorical columns always count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it; then a
        synthetic value is NaN where a parent's is.
    interpolation : {"feature", "line"}, default="feature"
        One random number per feature (the paper's Algorithm 3) or one for the whole row
        (its prose).
    variant : {"paper", "mulan"}, default="paper"
        Where the paper and its authors' program differ: a rare cell becomes borderline next
        to a safe or borderline cell, or, in the program, next to a safe one only. That the
        program divides features by their range is ``scale="range"``, which is useful alone.
    weighting : {"paper", "sum"}, default="paper"
        Seed weights by the paper's equation 3 (normalised per label, without outliers) or
        by its equation 2 (the plain sum), for comparison.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from. The same int gives the same rows for any
        ``n_jobs`` and any container.
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
    seed_indices_, reference_indices_ : ndarray of shape (n_new,)
        The parents of every synthetic row, as row numbers of X.
    positions_ : ndarray of shape (n_new,)
        The paper's cd: 0 at the seed, 1 at the reference.
    sampling_strategy_ : dict
        The chosen labels, by name or column number, and how many minority rows each lacks to
        its target; None where it has no target, so that all share the rows to be added.
    constant_labels_ : ndarray
        Labels present in no row or in all; they stay constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    labelance.imbalance.local_distribution : C, w and T by themselves.

    Notes
    -----
    Cost: one neighbor search, O(n² d), which dominates; O(k · minority cells) for C, w and T;
    O(d + labels) for each synthetic row. Integer and boolean columns come back as such,
    with synthetic values rounded. How ours differs from the authors' program: the rule for
    rare cells follows the paper (``variant``), and features are not scaled unless asked
    (``scale="range"``).

    Where cells of y are unknown (NaN), they are no minority cells; C counts the neighbors in which
    the label is known, and a cell with fewer than two of them makes no seed. A synthetic label
    is unknown unless a parent with a type decides it.

    References
    ----------
    B. Liu, G. Tsoumakas (2019): Synthetic Oversampling of Multi-Label Data based on Local
    Label Distribution. ECML PKDD.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance import MLSOL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> X_new, y_new = MLSOL(random_state=0).fit_resample(X, y)
    >>> X_new.shape, y_new.shape
    ((130, 4), (130, 3))
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True,
        interpolates=True,
        exact_budget=True,
        finds_neighbors=True,
        inherits_labels=True,
        in_blocks=True,
        needs_all=None,
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        **shared_constraints(
            "algorithm sampling_ratio n_synthetic sampling_strategy variant random_state"
        ),
        "interpolation": [StrOptions({"feature", "line"})],
        "weighting": [StrOptions({"paper", "sum"})],
    }

    def __init__(
        self,
        *,
        sampling_ratio: float = 0.3,
        n_synthetic: int | None = None,
        sampling_strategy: SamplingStrategy = "auto",
        k_neighbors: Any = 5,
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        interpolation: str = "feature",
        variant: Variant = "paper",
        weighting: Weighting = "paper",
        random_state: Any = None,
        algorithm: Algorithm = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.n_synthetic = n_synthetic
        self.sampling_strategy = sampling_strategy
        self.k_neighbors = k_neighbors
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.interpolation = interpolation
        self.variant = variant
        self.weighting = weighting
        self.random_state = random_state
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: Neighborhood | None) -> MLSOLPlan:
        check_row_limit(self._budget(data), data, caller="MLSOL")
        metric = self._feature_metric(data.X, data.categorical)
        around = self._neighborhood(data, neighborhood, metric)
        rows = np.ascontiguousarray(around.indices, dtype=np.int64)
        local = find_local_distribution(data.Y, rows, self.variant, self.weighting, data.unknown)
        strategy = resolve_strategy(self.sampling_strategy, data, every_label)
        lacking = None if strategy.targets is None else strategy.lacking
        weights = self._weights(local, strategy.labels, lacking)
        if not weights.any():
            if local.weights.any():
                raise NothingToSampleError(
                    f"MLSOL cannot add rows for the labels in {arg('sampling_strategy')}",
                    "No minority cell of these labels can help to reach the targets",
                )
            raise nothing_to_sample(f"MLSOL {_NEEDS_A_CELL}")
        self.sampling_strategy_ = rows_by_label(data, strategy.labels, lacking)
        return MLSOLPlan(around, local, weights, metric)

    def _budget(self, data: Data) -> int:
        return rows_to_sample(data.n_samples, self.sampling_ratio, self.n_synthetic)

    def _weights(
        self, local: LocalDistribution, labels: np.ndarray, lacking: np.ndarray | None
    ) -> np.ndarray:
        """Return w, or w of the chosen labels only, each stressed by the rows that it lacks."""
        if labels.all() and lacking is None:
            return local.weights
        terms = local.shares() if self.weighting == "paper" else local.C
        return np.asarray(terms @ (labels.astype(float) if lacking is None else lacking))

    def _draw(self, data: Data, plan: MLSOLPlan, rng: np.random.Generator) -> Draw:
        budget = self._budget(data)
        seeds = choose_seeds(plan.weights, budget, rng, near=data.X)
        around = plan.neighborhood.indices
        references = around[seeds, rng.integers(around.shape[1], size=budget)]
        line = self.interpolation == "line"
        X_new = interpolate_rows(
            data.X, seeds, references, data.categorical, rng, line=line, room=True
        )
        cd = positions(plan.metric, data.X, X_new, seeds, references)
        Y_new, unknown = assign_labels(plan.local, seeds, references, cd)
        return add_rows(X_new, Y_new, seeds, references, unknown, positions_=cd)


def choose_seeds(
    weights: np.ndarray, budget: int, rng: np.random.Generator, near: Any = None
) -> np.ndarray:
    """Draw rows with replacement, in proportion to their weights; on a device, if ``near`` is."""
    heavy = np.flatnonzero(weights > 0)
    reach = np.cumsum(weights[heavy])
    numbers = rng.random(budget) * reach[-1]
    return heavy[places_in(reach, numbers, near)]


def positions(
    metric: FeatureMetric, X: Any, X_new: Any, seeds: np.ndarray, references: np.ndarray
) -> np.ndarray:
    """Return the paper's cd = d_s / (d_s + d_r); halfway where both distances are 0."""
    to_seed, to_reference = metric.distances_to(X_new, X, seeds, references)
    span = to_seed + to_reference
    return np.divide(to_seed, span, out=np.full(len(span), 0.5), where=span > 0)


class MLUL(NeighborSampler):
    """Multi-Label Undersampling based on the Local distribution of labels.

    A row is worth keeping if its own minority cells are hard, judged by their neighbors, and
    if it agrees with the hard minority cells of the rows that it is a neighbor of. Rows are
    kept at random in proportion to this value, so those go first that crowd out the minority.

    It helps on large data, where majority rows abound around minority regions. It hurts
    when rows are few, since whatever is deleted is lost to all labels, and where distances
    mean little.

    Parameters
    ----------
    sampling_ratio : float, default=0.1
        Rows to delete, as a share of the input rows: floor(sampling_ratio * n).
    sampling_strategy : str, list or callable, default="auto"
        The labels that say which rows are worth keeping: "auto" and "all" mean every label,
        "minority" those with IRLbl above its mean, "imbalanced" those with ImR above its
        mean; or names, numbers or a mask of labels; or a function of y that returns any of
        these.
    k_neighbors : int or object with ``kneighbors``, default=5
        Neighbors that make up a row's locality. An object is used as imbalanced-learn does:
        its ``n_neighbors`` counts the row itself.
    variant : {"paper", "mulan"}, default="paper"
        Where the paper and its authors' program differ: a row supports a minority cell of a
        row it is a neighbor of if it has the same class of that label, or, in the program,
        only if its own cell is no outlier either.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range (as the authors' program does) or by their
        standard deviation before distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1. A data frame's categorical columns always
        count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from. The same int keeps the same rows for any
        ``n_jobs`` and any container.
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
        The chosen labels, by name or column number; the values are None, since they share the
        rows to be deleted.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLSOL : The over-sampler of the same authors, on the same weights.

    Notes
    -----
    Cost: one neighbor search, O(n² d), which dominates; O(k · minority cells) for the value
    of all rows; O(n log n) for each draw. Cells of y that are unknown (NaN) are no minority cells,
    and support no others; C counts the neighbors in which the label is known. How ours differs
    from known programs: the authors' program counts a neighbor of the same minority class
    against a row if the neighbor's own cell is an outlier (``variant="mulan"``), and divides
    features by their range (``scale="range"``). The R package mldr.resampling does not divide
    the influence by the number of rows that it comes from.

    References
    ----------
    B. Liu, K. Blekas, G. Tsoumakas (2022): Multi-label sampling based on local label
    imbalance. Pattern Recognition 122, 108294.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLUL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> X_kept, y_kept = MLUL(sampling_ratio=0.3, random_state=0).fit_resample(X, y)
    >>> X_kept.shape, y_kept.shape
    ((70, 4), (70, 3))
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        deletes=True, exact_budget=True, finds_neighbors=True, in_blocks=True, needs_all=None
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        **shared_constraints("algorithm sampling_strategy variant random_state"),
        "sampling_ratio": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        *,
        sampling_ratio: float = 0.1,
        sampling_strategy: SamplingStrategy = "auto",
        k_neighbors: Any = 5,
        variant: Variant = "paper",
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        random_state: Any = None,
        algorithm: Algorithm = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.sampling_strategy = sampling_strategy
        self.k_neighbors = k_neighbors
        self.variant = variant
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: Neighborhood | None) -> np.ndarray:
        """Return how much each row is worth keeping, the paper's v."""
        around = self._neighborhood(data, neighborhood)
        chosen = resolve_labels(self.sampling_strategy, data, every_label, caller="MLUL")
        local = None
        if chosen.any():
            rows = np.ascontiguousarray(around.indices, dtype=np.int64)
            unknown = None if data.unknown is None else data.unknown[:, chosen]
            local = find_local_distribution(data.Y[:, chosen], rows, "paper", "paper", unknown)
        if local is None or not local.weights.any():
            found = "No label has one" if chosen.all() else "No chosen label has one"
            raise nothing_to_sample(f"MLUL {_NEEDS_A_CELL}", found)
        u = influences(local, around, self.variant)
        self.sampling_strategy_ = rows_by_label(data, chosen, None)
        return row_values(local.weights, u)

    def _draw(self, data: Data, plan: np.ndarray, rng: np.random.Generator) -> Draw:
        n = data.n_samples
        return keep_rows(draw_rows_to_keep(plan, n - rows_to_sample(n, self.sampling_ratio), rng))


def influences(local: LocalDistribution, around: Neighborhood, variant: Variant) -> np.ndarray:
    """Return the paper's u: how far each row supports the rows that it is a neighbor of.

    Row i adds S_mj to the support of row m, for every label j with a share S_mj, if the two
    have the same class of j, and takes it away if not; u_i is the mean over all m that have
    i among their neighbors. Shares are defined on minority cells only, so "the same class"
    is "a minority cell of i too", and the signed sum is twice what agrees less the whole.
    """
    S = local.shares()
    agrees = local.minority
    if variant == "mulan":
        agrees = sp.csr_array((np.ones(S.nnz, np.int8), S.indices, S.indptr), shape=S.shape)
    A = around.adjacency()
    received = A.T @ S  # the shares of all rows that have i among their neighbors, label by label
    if local.unknown is not None:  # a cell without a type neither agrees nor disagrees
        received = received - received.multiply(local.unknown)
    signed = 2 * received.multiply(agrees).sum(axis=1) - received.sum(axis=1)
    in_degree = column_counts(A)
    return np.divide(signed, in_degree, out=np.zeros(len(signed)), where=in_degree > 0)


def row_values(w: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the paper's v = w + u, moved up so that none is negative.

    What is zero up to rounding is made exactly zero, since rows of value zero are deleted first.
    """
    v = w + u
    v -= min(v.min(), 0.0)
    v[v < 1e-12 * w.max()] = 0.0
    return v


def draw_rows_to_keep(v: np.ndarray, n_kept: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows one at a time without replacement, each in proportion to v; in row order.

    Let row i arrive after a time E_i / v_i, with E_i exponential of rate 1. Then its time is
    exponential of rate v_i, and of independent such times the first is that of i with
    probability v_i / sum(v). Since exponential times have no memory, the ones still to come
    are as at the start, less the rows that arrived: the order of arrival is the sequential
    draw, and the first ``n_kept`` are its result (Efraimidis and Spirakis 2006). A row with
    v = 0 never arrives; when all others are kept, the places left go to these at random.
    """
    patience = rng.standard_exponential(len(v))
    arrival = np.divide(patience, v, out=np.full(len(v), np.inf), where=v > 0)
    order = np.lexsort((patience, arrival))
    return np.sort(order[:n_kept])
