"""MLBOTE: new rows inside labelsets, from interior rows and from both sides of a label's border."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import column_counts
from labelance._arrays._interpolate import interpolate_rows
from labelance._progress import track
from labelance._utils._compat import Interval
from labelance._validation._data import Data, MissingPolicy, check_no_device
from labelance.imbalance._local import keep_cells
from labelance.neighbors import Neighborhood
from labelance.neighbors._find import search_neighbors
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._base import (
    Draw,
    NeighborSampler,
    SamplerTraits,
    add_rows,
    shared_constraints,
)
from labelance.sampling._mlsol import choose_seeds
from labelance.sampling._random import labelset_bags
from labelance.sampling._strategy import above_mean_irlbl, check_row_limit, label_bags

_ONE_VS_REST = 10  # zeros for each one, from which on a label is in need whatever the others are
_FAR = 1.5  # times the widest gap of a label, from which on a lone cell is noise
_MOST_PER_ROW = 5  # rows from one cross-borderline row
_MOST_BORDER_ROWS = 10  # times the number of self-borderline rows
_LISTED = 32  # nearest rows of every row, among which most others are found

INTERIOR, SELF_BORDERLINE, CROSS_BORDERLINE = range(3)


@dataclass(frozen=True, eq=False)
class Distances:
    """How rows of clean data are compared."""

    X: Any
    metric: FeatureMetric
    n_jobs: int | None

    @cached_property
    def listed(self) -> Neighborhood:
        """The nearest rows of every row, found once: most other searches are answered by them."""
        n = self.X.shape[0]
        # Others' distances may differ in their last digit from one search to another.
        k = min(_LISTED, n - 1) if self.metric.is_exact else 0
        if k == 0:
            return Neighborhood(np.empty((n, 0), dtype=np.int64), np.empty((n, 0)))
        return search_neighbors(self.X, k, self.metric, n_jobs=self.n_jobs)

    def nearest(
        self, queries: np.ndarray, rows: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of the rows, and their distances, for queries that are none of them.

        Most are read from the list; for queries that lack some there, the rows are searched.
        """
        k = min(k, len(rows))
        wanted = np.zeros(self.X.shape[0], dtype=bool)
        wanted[rows] = True
        places, counts = first_places(wanted[self.listed.indices[queries]], k)
        found = np.take_along_axis(self.listed.indices[queries], places, axis=1)
        distances = np.take_along_axis(self.listed.distances[queries], places, axis=1)
        lacking = np.flatnonzero(counts < k)
        if len(lacking):
            room = ((0, 0), (0, k - found.shape[1]))
            found, distances = np.pad(found, room), np.pad(distances, room)
            found[lacking], distances[lacking] = self.search(queries[lacking], rows, k)
        return found, distances

    def nearest_others(
        self, some: np.ndarray, rows: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest others of some of the rows among these, and their distances."""
        return self.nearest(some, rows, min(k, len(rows) - 1))

    def search(
        self, queries: np.ndarray, rows: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Search for the k nearest of the rows; queries are all among them, or none is."""
        ordered = np.sort(rows)  # a tie goes to the lower row number
        place = np.minimum(np.searchsorted(ordered, queries), len(ordered) - 1)
        if (ordered[place] == queries).all():
            asked: dict[str, Any] = {"rows": place}
        else:
            asked = {"queries": self.X[queries]}
        found = search_neighbors(self.X[ordered], k, self.metric, n_jobs=self.n_jobs, **asked)
        return ordered[found.indices], found.distances


def first_places(mask: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the first k that are true in every row, and how many are true.

    Where there are fewer, other places follow them.
    """
    return np.argsort(~mask, axis=1, kind="stable")[:, :k], mask.sum(axis=1)


class Border(NamedTuple):
    """Both sides of the border between the rows that have a label and the rest.

    Parameters
    ----------
    own : ndarray of int
        Self-borderline rows: those with the label next to the other side.
    weight : ndarray of shape (len(own),)
        The wider apart rows with the label are there, and the nearer the rest, the larger.
    rest : ndarray of int
        Cross-borderline rows: those without the label next to it.
    thinness : ndarray of shape (len(rest),)
        How much denser the label is there than the rest: the squared ratio of mean distances.
    """

    own: np.ndarray
    weight: np.ndarray
    rest: np.ndarray
    thinness: np.ndarray


def find_border(
    space: Distances, has_label: np.ndarray, m_neighbors: int, k_neighbors: int
) -> Border:
    """Find the border of a label that two rows or more have, and not all."""
    label, others = np.flatnonzero(has_label), np.flatnonzero(~has_label)
    facing, gap_to_rest = space.nearest(label, others, m_neighbors)
    rest = np.unique(facing)
    nearest = space.nearest(rest, label, min(m_neighbors, len(label) - 1))[0]
    own = np.unique(nearest)
    gap_within = space.nearest_others(label, label, k_neighbors)[1]
    place = np.searchsorted(label, own)
    # An equal row with the label leaves nothing to fill, and one without it nothing to defend.
    weight = _ratio(gap_within[place], gap_to_rest[place]) * (gap_within[place, 0] > 0)
    thinness = np.zeros(len(rest))
    if len(others) > 1:
        gap = space.nearest_others(rest, others, k_neighbors)[1]
        gap_of_label = gap_within[np.searchsorted(label, nearest[:, 0])]
        thinness = (_ratio(gap, gap_of_label) * (gap[:, 0] > 0)) ** 2
    return Border(own, weight, rest, thinness)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return ratios of mean distances; 0 where the second is 0."""
    above, below = part.mean(axis=1), whole.mean(axis=1)
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def find_noise(space: Distances, Y: sp.csr_array, k: int) -> np.ndarray:
    """Return the cells of Y that are noise, as a mask of its stored ones.

    A cell is noise if none of the row's k nearest has the label, and if the nearest row that has
    it is farther away than 1.5 times the widest gap of the label, from a row to its k nearest.
    Labels with k + 1 rows or fewer have no noise.
    """
    n, q = Y.shape
    rows = np.repeat(np.arange(n), np.diff(Y.indptr))
    noise = np.zeros(Y.nnz, dtype=bool)
    if n < 2 or not Y.nnz:
        return noise
    around = space.nearest_others(np.arange(n), np.arange(n), k)[0]
    adjacency = sp.csr_array(
        (np.ones(around.size), around.ravel(), np.arange(n + 1) * around.shape[1]), shape=(n, n)
    )
    alone = np.asarray((adjacency @ Y.astype(np.float64))[rows, Y.indices]).ravel() == 0
    for j in np.flatnonzero(
        (np.bincount(Y.indices[alone], minlength=q) > 0) & (column_counts(Y) > k + 1)
    ):
        cells = np.flatnonzero(Y.indices == j)
        label, lone = rows[cells], alone[cells]
        found, distances = space.nearest_others(label, label, k)
        inner = ~lone | np.isin(label, found)
        noise[cells] = lone & (distances[:, 0] > _FAR * distances[inner].max())
    return noise


class MLBOTEPlan(NamedTuple):
    """What every draw shares: labels without noise, seeds of each kind, and their references."""

    Y: sp.csr_array
    noise: np.ndarray
    self_weight: np.ndarray
    n_self: int
    thinness: np.ndarray
    n_cross: int
    interior: np.ndarray
    references: np.ndarray
    n_references: np.ndarray


class MLBOTE(NeighborSampler):
    """Multi-Label Borderline Oversampling TEchnique (a reconstruction).

    A row at the border of a label has it (self-borderline) or lacks it (cross-borderline), and a
    border is held by both. Rows that are thinly spread on either side are seeds, in proportion to
    how thinly; and minority labels are filled up from rows that lie at no border (interior).
    Each synthetic row lies between its seed and a near row with exactly the same labels, and has
    these. First, lone cells far from all others of their label are taken for noise and cleared.

    It helps where labelsets repeat, so that there are rows to interpolate between, and borders
    are clear. It hurts nothing, and does little, where most labelsets are seen once.

    Parameters
    ----------
    borderline_ratio : float, default=0.01
        The paper's alpha_s: rows from self-borderline seeds for each self-borderline row, times
        the mean of zeros over ones of all labels; at most 10 for each.
    cross_threshold : float, default=5.0
        The paper's th_c: how many times denser a label must be than the rest across the border, by
        squared mean distances, for rows of the rest to become seeds.
    m_neighbors : int, default=3
        The paper's k_b: nearest rows across the border that belong to it.
    k_neighbors : int, default=5
        The paper's k_w: neighbors that densities and noise are judged by, and references.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range or by their standard deviation before distances
        are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1, and a coin instead of interpolation. A data
        frame's categorical columns always count.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it; then a
        synthetic value is NaN where a parent's is.
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
    seed_types_ : ndarray of shape (n_new,)
        0 for an interior seed, 1 for a self-borderline and 2 for a cross-borderline one.
    noise_cells_ : ndarray of shape (n_cells, 2)
        Row and label of the cells that were taken for noise and are 0 in the result.
    constant_labels_ : ndarray
        Labels present in no row or in all; they stay constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLSOL : Seeds by what their neighbors are, and labels by place.

    Notes
    -----
    A reconstruction: from the paper's summary and what its authors' program does, not from its
    text. From there: noise, k_b nearest rows across as the border, labels in need of
    self-borderline rows (IRLbl above its mean, or more than 10 zeros for each one), weights and
    numbers of rows, references inside the labelset, and the interior rows of minority labels up
    to the count of the rarest other label, those that lack least first.

    Ours are: weights come from the input rows, once, while the program makes rows in ten
    rounds, weighting again, and tries cross-borderline rows in each round; a row alone in its
    labelset is no seed (the program draws it and then makes no row); and a label without an
    interior row uses all its rows.

    Cost: a search for the 32 nearest rows of every row, and one between the rows of a label and
    the rest where these are not enough: O(n² d), at worst times the cardinality.

    References
    ----------
    Z. Teng, P. Cao, M. Huang, Z. Gao, X. Wang (2024): Multi-label borderline oversampling
    technique. Pattern Recognition 145.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.sampling import MLBOTE
    >>> X, y = make_multilabel_imbalanced(300, 6, 5, random_state=0)
    >>> sampler = MLBOTE(borderline_ratio=0.1, random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> bool((y_new[300:] == y_new[sampler.seed_indices_]).all())
    True
    """

    k_neighbors: int

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, edits=True, interpolates=True, label_order_free=False
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        **shared_constraints("random_state k_neighbors"),
        "borderline_ratio": [Interval(Real, 0, None, closed="left")],
        "cross_threshold": [Interval(Real, 1, None, closed="left")],
        "m_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        borderline_ratio: float = 0.01,
        cross_threshold: float = 5.0,
        m_neighbors: int = 3,
        k_neighbors: int = 5,
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.borderline_ratio = borderline_ratio
        self.cross_threshold = cross_threshold
        self.m_neighbors = m_neighbors
        self.k_neighbors = k_neighbors
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> MLBOTEPlan:
        check_no_device(data.X, caller="MLBOTE")
        metric = self._feature_metric(data.X, data.categorical)
        space = Distances(data.X, metric, self.n_jobs)
        noise = find_noise(space, data.Y, self.k_neighbors)
        Y = keep_cells(data.Y, ~noise)
        references, counts = self._references(space, Y)
        self_weight, thinness, at_border = self._borders(space, Y)
        self_weight = np.where(counts > 0, self_weight, 0)
        thinness = np.where((counts > 0) & (thinness > self.cross_threshold), thinness, 1)
        present = column_counts(Y)[column_counts(Y) > 0]
        mean_ratio = (Y.shape[0] / present - 1).mean() if len(present) else 0
        per_seed = min(self.borderline_ratio * mean_ratio, _MOST_BORDER_ROWS)
        n_self = round(per_seed * np.count_nonzero(self_weight))
        n_cross = int(np.minimum(thinness - 1, _MOST_PER_ROW).sum())
        check_row_limit(n_self + n_cross + data.n_samples, data, caller="MLBOTE")
        return MLBOTEPlan(
            Y, noise, self_weight, n_self, thinness - 1, n_cross, ~at_border, references, counts
        )

    def _references(self, space: Distances, Y: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest rows with the same labels as each row has, and how many there are."""
        bags = labelset_bags(Y)
        sizes = np.diff(bags.starts)
        labelset = np.empty(Y.shape[0], dtype=np.int64)
        labelset[bags.rows] = np.repeat(np.arange(len(sizes)), sizes)
        counts = np.minimum(sizes[labelset] - 1, self.k_neighbors)
        same = labelset[space.listed.indices] == labelset[:, None]
        places, known = first_places(same, self.k_neighbors)
        references = np.full((len(labelset), self.k_neighbors), -1)
        references[:, : places.shape[1]] = np.take_along_axis(space.listed.indices, places, axis=1)
        references[np.arange(self.k_neighbors) >= counts[:, None]] = -1
        lacking = np.flatnonzero(known < counts)
        for bag in np.unique(labelset[lacking]):
            rows = bags.rows[bags.starts[bag] : bags.starts[bag + 1]]
            some = rows[known[rows] < counts[rows]]
            k = counts[some[0]]
            references[some, :k] = space.search(some, rows, k)[0]
        return references, counts

    def _borders(
        self, space: Distances, Y: sp.csr_array
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights of self- and thinness of cross-borderline rows, and who is either."""
        n, counts = Y.shape[0], column_counts(Y)
        in_need = labels_in_need(Y)
        smallest, largest = counts[in_need].min(initial=n), counts[in_need].max(initial=0)
        weight, thinness = np.zeros(n), np.full(n, np.inf)
        at_border = np.zeros(n, dtype=bool)
        varying = np.flatnonzero((counts > 1) & (counts < n))
        bags = label_bags(Y, varying)
        for j, bag in zip(track(varying, "Finding borders", "labels"), bags):
            has_label = np.isin(np.arange(n), bag)
            border = find_border(space, has_label, self.m_neighbors, self.k_neighbors)
            thinness[border.rest] = np.minimum(thinness[border.rest], border.thinness)
            at_border[border.rest] = True
            if in_need[j] and border.weight.any():
                # The rarest label of these gets twice as much as the most frequent one.
                share = 1 + (counts[j] - smallest) / (largest - smallest + 0.1)
                own = border.weight / border.weight.sum() / share
                weight[border.own] = np.maximum(weight[border.own], own)
        thinness[np.isinf(thinness)] = 0
        return weight, thinness, at_border | (weight > 0)

    def _draw(self, data: Data, plan: MLBOTEPlan, rng: np.random.Generator) -> Draw:
        own = choose_seeds(plan.self_weight, plan.n_self, rng) if plan.n_self else _NO_ROWS
        rest = choose_seeds(plan.thinness, plan.n_cross, rng) if plan.n_cross else _NO_ROWS
        inner = self._interior_seeds(plan, np.concatenate([own, rest]), rng)
        seeds = np.concatenate([own, rest, inner])
        types = np.repeat(
            [SELF_BORDERLINE, CROSS_BORDERLINE, INTERIOR], [len(own), len(rest), len(inner)]
        )
        references = plan.references[seeds, rng.integers(plan.n_references[seeds])]
        X_new = interpolate_rows(data.X, seeds, references, data.categorical, rng, line=True)
        rows = np.repeat(np.arange(data.n_samples), np.diff(data.Y.indptr))
        cells = np.column_stack([rows, data.Y.indices])[plan.noise]
        draw = add_rows(
            X_new, plan.Y[seeds], seeds, references, seed_types_=types, noise_cells_=cells
        )
        return replace(draw, Y_rows=plan.Y) if len(cells) else draw

    def _interior_seeds(
        self, plan: MLBOTEPlan, before: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw seeds that fill minority labels up to the rarest label that is none."""
        Y, counts = plan.Y, column_counts(plan.Y)
        minority = above_mean_irlbl(Y) & (counts > 1)
        others = counts[(counts > 0) & ~above_mean_irlbl(Y)]
        if not minority.any():
            return _NO_ROWS
        lacking = others.min() - counts - column_counts(Y[before])
        seeds, left, bags = [_NO_ROWS], minority.copy(), label_bags(Y, range(Y.shape[1]))
        while (left & (lacking > 0)).any():
            j = int(np.argmin(np.where(left & (lacking > 0), lacking, np.iinfo(np.int64).max)))
            left[j] = False
            rows = bags[j][plan.n_references[bags[j]] > 0]
            inner = rows[plan.interior[rows]]
            pool = inner if len(inner) else rows
            if len(pool):
                seeds.append(rng.choice(pool, size=int(lacking[j])))
                lacking = lacking - column_counts(Y[seeds[-1]])
        return np.concatenate(seeds)


_NO_ROWS = np.empty(0, dtype=np.int64)


def labels_in_need(Y: sp.csr_array) -> np.ndarray:
    """Return the labels whose border is strengthened: rare among labels, or among rows."""
    counts = column_counts(Y)
    rare_among_rows = Y.shape[0] - counts > _ONE_VS_REST * counts
    return (above_mean_irlbl(Y) | rare_among_rows) & (counts > 1)
