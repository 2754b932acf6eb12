"""MLSMOTE: synthetic rows inside the bag of every minority label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import column_counts
from labelance._arrays._open import stack_rows, take_rows
from labelance._progress import track
from labelance._utils._compat import Interval, StrOptions
from labelance._validation._data import Data
from labelance._validation._features import MissingPolicy, check_no_device
from labelance._validation._labels import take_unknown
from labelance.exceptions import InputError, arg
from labelance.imbalance._local import Variant
from labelance.neighbors._find import search_neighbors
from labelance.neighbors._metric import Scale
from labelance.sampling._base import Draw, NeighborSampler, SamplerTraits
from labelance.sampling._label_vote import (
    CandidateRows,
    SeedNeighborhoods,
    SyntheticRows,
    vote_known_labels,
    vote_labels,
    vote_values,
)
from labelance.sampling._strategy import (
    STRATEGY_CONSTRAINTS,
    SamplingStrategy,
    Strategy,
    above_mean_irlbl,
    check_row_limit,
    resolve_strategy,
    rows_by_label,
)


def label_bags(Y: sp.csr_array, labels: np.ndarray) -> list[np.ndarray]:
    """Return, for each of the labels, the rows that have it, in row order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._mlsmote import label_bags
    >>> label_bags(sp.csr_array([[1, 1, 0], [1, 0, 0], [1, 1, 1]]), [1, 2])
    [array([0, 2]), array([2])]
    """
    by_label = Y.tocsc()
    rows, starts = by_label.indices.astype(np.int64), by_label.indptr
    return [rows[starts[label] : starts[label + 1]] for label in labels]


def draw_places(
    sizes: np.ndarray, n_seeds: int | np.ndarray | None, rng: np.random.Generator
) -> np.ndarray | slice:
    """Return which members are seeds, counted through all bags, bag by bag.

    All (None), a number of them drawn from all bags together, or from each bag its number.
    """
    if n_seeds is None:
        return slice(None)
    if isinstance(n_seeds, np.ndarray):
        first = np.cumsum(sizes) - sizes
        return np.sort(np.repeat(first, n_seeds) + rng.integers(np.repeat(sizes, n_seeds)))
    total = sizes.sum()
    return np.sort(rng.integers(total, size=n_seeds)) if total else np.empty(0, dtype=np.int64)


def split_places(places: np.ndarray | slice, sizes: np.ndarray) -> list[np.ndarray | slice]:
    """Return the places that were drawn bag by bag, counted inside each bag."""
    if isinstance(places, slice):
        return [places] * len(sizes)
    first = np.cumsum(sizes) - sizes
    parts = np.split(places, np.searchsorted(places, first[1:]))
    return [part - start for part, start in zip(parts, first)]


class GrowingArray:
    """An array that grows at its end.

    The capacity is doubled when it runs out, so a row is moved a bounded number of times.
    """

    def __init__(self, like: np.ndarray) -> None:
        self._buffer = np.empty((0, *like.shape[1:]), dtype=like.dtype)
        self._length = 0

    @property
    def filled(self) -> np.ndarray:
        """A view of what was appended so far."""
        return self._buffer[: self._length]

    def append(self, values: np.ndarray) -> None:
        """Put values at the end."""
        length = self._length + len(values)
        if length > len(self._buffer):
            larger = np.empty(
                (max(length, 2 * len(self._buffer)), *values.shape[1:]), self._buffer.dtype
            )
            larger[: self._length] = self.filled
            self._buffer = larger
        self._buffer[self._length : length] = values
        self._length = length


class GrowingRows:
    """Rows in the kind of container, dense or CSR, and of the type that ``like`` has."""

    def __init__(self, like: Any) -> None:
        self._sparse, self._width = sp.issparse(like), like.shape[1]
        self._cells = GrowingArray(like.data if self._sparse else like)
        if self._sparse:
            self._columns = GrowingArray(like.indices)
            self._ends = GrowingArray(np.empty(0, dtype=np.int64))
            self._ends.append(np.zeros(1, dtype=np.int64))

    @property
    def filled(self) -> Any:
        """All rows appended so far."""
        if not self._sparse:
            return self._cells.filled
        ends = self._ends.filled
        cells = self._cells.filled, self._columns.filled, ends
        rows = sp.csr_array(cells, shape=(len(ends) - 1, self._width))
        rows.has_sorted_indices = True
        return rows

    def append(self, rows: Any) -> None:
        """Put rows of the same kind at the end."""
        if not self._sparse:
            self._cells.append(rows)
            return
        self._ends.append(rows.indptr[1:] + self._ends.filled[-1])
        self._columns.append(rows.indices)
        self._cells.append(rows.data)


class GrowingData:
    """Original rows and the synthetic rows so far, which are numbered from n."""

    def __init__(self, X: Any, Y: sp.csr_array, unknown: sp.csr_array | None = None) -> None:
        self._X, self._Y, self._unknown = X, Y, unknown
        self._X_new, self._Y_new = GrowingRows(X), GrowingRows(Y)
        self._unknown_new = None if unknown is None else GrowingRows(unknown)
        self._parents = [np.empty((3, 0), dtype=np.int64)]

    def rows_of(
        self, label: int, bag: np.ndarray
    ) -> tuple[np.ndarray, Any, sp.csr_array, sp.csr_array | None]:
        """Return all rows of a label, given the original ones.

        Their numbers, features and labels, and which labels are unknown.
        """
        X, Y, Y_new = self._X[bag], self._Y[bag], self._Y_new.filled
        unknown = take_unknown(self._unknown, bag)
        cells = np.flatnonzero(Y_new.indices == label)
        synthetic = np.searchsorted(Y_new.indptr, cells, side="right") - 1
        if len(synthetic):
            X, Y = stack_rows(X, self._X_new.filled[synthetic]), stack_rows(Y, Y_new[synthetic])
            if self._unknown_new is not None:
                unknown = stack_rows(unknown, self._unknown_new.filled[synthetic])
        return np.concatenate([bag, self._Y.shape[0] + synthetic]), X, Y, unknown

    def append(self, rows: np.ndarray, new: SyntheticRows) -> None:
        """Append synthetic rows whose parents are places among the given rows."""
        self._X_new.append(new.X)
        self._Y_new.append(new.Y)
        if self._unknown_new is not None:
            self._unknown_new.append(new.unknown)
        parents = rows[new.seeds], rows[new.references], new.labels
        self._parents.append(np.stack(parents))

    def synthetic_rows(self) -> SyntheticRows:
        """Return all synthetic rows, with the numbers of their parents."""
        parents = np.concatenate(self._parents, axis=1)
        unknown = None if self._unknown_new is None else self._unknown_new.filled
        seeds, references, labels = parents
        X, Y = self._X_new.filled, self._Y_new.filled
        return SyntheticRows(X, Y, seeds, references, labels, unknown)


LabelsetStrategy = Literal["ranking", "majority", "union", "intersection"]


@dataclass(frozen=True, eq=False)
class MLSMOTEPlan:
    """The minority labels with their bags, and the candidate rows.

    ``quotas`` say how many seeds each bag gives, if labels have targets. ``candidates`` are None
    with ``variant="mulan"``: bags that grow are searched again in every draw.
    """

    labels: np.ndarray
    bags: list[np.ndarray]
    quotas: np.ndarray | None
    candidates: CandidateRows | None

    @property
    def sizes(self) -> np.ndarray:
        """How many seeds to choose from each bag has; none if there is no neighbor."""
        return np.array([len(bag) if len(bag) > 1 else 0 for bag in self.bags], dtype=np.int64)


class MLSMOTE(NeighborSampler):
    """Multi-Label Synthetic Minority Over-sampling Technique.

    Every row of a minority label (IRLbl above MeanIR) is a seed: a synthetic row lies between
    it and one of its nearest neighbors among the rows of that label, and takes the labels that
    are frequent among the seed and those neighbors.

    It helps when rare labels lie in regions of their own, and when few rows hold rare and
    frequent labels together. It hurts where they do: then the frequent labels are repeated
    along with the rare ones (:class:`REMEDIAL` first, or :class:`RHwRSMT`). It does not look at
    rows without the label, so synthetic rows may fall among them.

    Parameters
    ----------
    k_neighbors : int, default=5
        Neighbors inside the bag of a label; a smaller bag has as many as it can.
    labelset_strategy : {"ranking", "majority", "union", "intersection"}, default="ranking"
        Labels of a synthetic row: those that half or more of the seed and its neighbors have
        (the prose of the paper), more than half of them (its listing), any of them, or all of
        them. With 5 neighbors there are 6 votes, so a half is possible.
    variant : {"paper", "mulan"}, default="paper"
        Where the paper and Mulan's program differ. In the program the bag of a label also
        holds the rows made for labels before it, so that the order of labels matters and every
        draw searches again; labels with IRLbl = MeanIR are minority labels too; and the seed
        has a vote on categorical features, with its neighbors.
    n_synthetic : int, optional
        Rows to add. Seeds are then drawn, with replacement, from the members of all bags
        (original rows, also with ``variant="mulan"``). Unless given, every member of every bag is a
        seed once.
    sampling_strategy : str, float, list, dict or callable, default="auto"
        The labels whose bags give seeds: "auto" means those with IRLbl above its mean (or at
        it, with ``variant="mulan"``), "minority" those above it, "imbalanced" those with ImR
        above its mean, "all" every label; or names, numbers or a mask of labels. A float asks for
        that ratio of rows with a label of "auto" to rows without it, and a dict from labels
        for a ratio (float) or a number of rows with the label (int): as many rows are made
        inside its bag as it lacks, from seeds drawn with replacement as with ``n_synthetic``. It
        may end with more, since rows made for other labels may have it too. A function of y
        may return any of these.
    metric : str, default="euclidean"
        Any metric that scikit-learn's pairwise distances know.
    scale : {None, "range", "standard"}, default=None
        Divide numeric features by their range, or by their standard deviation, inside the bag
        before distances are taken.
    categorical_features : None, "auto", mask, column numbers or names, default=None
        Categorical features: distance 0 or 1, and the most frequent value among the neighbors
        instead of interpolation (the lowest of equally frequent ones). A data frame's
        categorical columns are always nominal.
    missing : {"error", "distance"}, default="error"
        What to do with NaN in X: refuse it, or use a distance that allows for it; then a
        synthetic number is NaN where a parent's is, and NaN has no vote on categorical features.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from. The same int gives the same rows for any
        ``n_jobs`` and any container.
    n_jobs : int, optional
        Threads of the neighbor searches.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    seed_indices_, reference_indices_ : ndarray of shape (n_new,)
        The parents of every synthetic row, as row numbers of the result. The original rows come
        first there, so these are row numbers of X; with ``variant="mulan"`` a parent may be a
        synthetic row itself, with a number of at least n.
    label_indices_ : ndarray of shape (n_new,)
        The label whose bag each synthetic row comes from.
    sampling_strategy_ : dict
        The minority labels, by name or column number, and how many synthetic rows are drawn in
        each one's bag; None where ``n_synthetic`` are drawn from all bags together. Where bags
        grow (``variant="mulan"``) they are as large as at the start here.
    constant_labels_ : ndarray
        Labels present in no row or in all; they stay constant.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    RHwRSMT : The same after rows of rare and frequent labels have been decoupled.
    MLSOL : Looks at the neighbors of all labels together.

    Notes
    -----
    Rows are made label by label, in column order, and seed by seed. IRLbl and MeanIR are
    those of the given data. If no label is above the mean (all are equally frequent), or
    no bag has two rows, nothing is added. On nominal features alone chance has no say.

    Cells of y that are unknown (NaN) are in no bag and have no vote: of the seed and its neighbors
    those vote on a label that know it, and where none does, the new label is unknown.

    Cost: one neighbor search inside each bag of b rows, O(d Σ b²), which dominates;
    O(k (d + labels)) for each synthetic row.

    How ours differs from known programs. Mulan's is ours with ``variant="mulan"`` and
    ``scale="range"``, but it lets all rows tied for the last neighbor vote, where we take the
    k first. The R package mldr.resampling asks for more than half
    (``labelset_strategy="majority"``), but always takes one neighbor and loses the first row.
    Python scripts in circulation move away from the neighbor instead of towards it. The paper
    compares nominal values by the value difference metric; all programs, and ours, by
    equality.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015): MLSMOTE: Approaching
    imbalanced multilabel learning through synthetic instance generation. Knowledge-Based
    Systems 89, 385-397.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLSMOTE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> sampler = MLSMOTE(random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> y.sum(axis=0), y_new.sum(axis=0)
    (array([46, 18,  9]), array([46, 27, 18]))
    >>> sampler.label_indices_
    array([2, 2, 2, 2, 2, 2, 2, 2, 2])
    """

    # Rows come label by label, so another order of the labels gives another order of rows.
    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True,
        interpolates=True,
        label_order_free=False,
        label_specific=True,
        in_blocks=True,
        needs_all=None,
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborSampler._parameter_constraints,
        "k_neighbors": [Interval(Integral, 1, None, closed="left")],
        "labelset_strategy": [StrOptions({"ranking", "majority", "union", "intersection"})],
        "variant": [StrOptions({"paper", "mulan"})],
        "n_synthetic": [Interval(Integral, 0, None, closed="left"), None],
        "sampling_strategy": STRATEGY_CONSTRAINTS,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        k_neighbors: int = 5,
        labelset_strategy: LabelsetStrategy = "ranking",
        variant: Variant = "paper",
        n_synthetic: int | None = None,
        sampling_strategy: SamplingStrategy = "auto",
        metric: str = "euclidean",
        scale: Scale = None,
        categorical_features: Any = None,
        missing: MissingPolicy = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.k_neighbors = k_neighbors
        self.labelset_strategy = labelset_strategy
        self.variant = variant
        self.n_synthetic = n_synthetic
        self.sampling_strategy = sampling_strategy
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> MLSMOTEPlan:
        if self.variant == "mulan":
            check_no_device(data.X, caller='MLSMOTE(variant="mulan")')
        strategy = self._strategy(data)
        least = 1 if self.variant == "mulan" else 2  # a bag of one row may have grown by its turn
        chosen = (strategy.lacking > 0) & (strategy.present >= least)
        n_new = strategy.present if strategy.targets is None else strategy.lacking
        labels = np.flatnonzero(chosen)
        total = sum(n_new[labels].tolist()) if self.n_synthetic is None else self.n_synthetic
        check_row_limit(int(total), data, caller="MLSMOTE")
        bags = label_bags(data.Y, labels)
        quotas = None if strategy.targets is None else strategy.lacking[labels].astype(np.int64)
        candidates = None
        if self.variant != "mulan":  # else the bags grow, and are searched when their turn comes
            around = [
                self._search(take_rows(data.X, bag), data)
                for bag in track(bags, "Searching bags", "labels")
            ]
            seeds = SeedNeighborhoods.of(labels, bags, around)
            candidates = self._candidates(data.X, data.Y, data.categorical, seeds, data.unknown)
        self.sampling_strategy_ = rows_by_label(
            data, chosen, n_new if self.n_synthetic is None else None
        )
        return MLSMOTEPlan(labels, bags, quotas, candidates)

    def _strategy(self, data: Data) -> Strategy:
        """Return the labels to make rows for, and how many rows they should have, if it says."""
        auto = partial(above_mean_irlbl, at_least_mean=self.variant == "mulan")
        strategy = resolve_strategy(self.sampling_strategy, data, auto, counts=column_counts)
        if strategy.targets is not None and self.n_synthetic is not None:
            raise InputError(
                f"{arg('n_synthetic')} and targets in {arg('sampling_strategy')} exclude each "
                "other",
                "Got both",
                f"Omit {arg('n_synthetic')}, or list labels without targets",
            )
        return strategy

    def _search(self, X_bag: Any, data: Data) -> np.ndarray:
        """Return the neighbors inside a bag, as places in it; distances are learned there too."""
        metric = self._feature_metric(X_bag, data.categorical)
        k = min(self.k_neighbors, X_bag.shape[0] - 1)
        return search_neighbors(X_bag, k, metric, n_jobs=self.n_jobs).indices

    def _candidates(
        self,
        X: Any,
        Y: sp.csr_array,
        categorical: np.ndarray,
        around: SeedNeighborhoods,
        unknown: sp.csr_array | None,
    ) -> CandidateRows:
        """Let the neighborhoods vote on labels and nominal features."""
        rows, sizes = around.rows, around.sizes
        nobody_knows = None
        if unknown is None:
            labels = vote_labels(Y, rows, sizes, self._votes_needed(sizes))
        else:
            labels, nobody_knows = vote_known_labels(Y, unknown, rows, sizes, self._votes_needed)
        nominal = None
        if categorical.any():
            nominal = vote_values(X, categorical, rows, sizes, with_seed=self.variant == "mulan")
        return CandidateRows(around, labels, nominal, nobody_knows)

    def _votes_needed(self, sizes: np.ndarray) -> np.ndarray:
        """Return how many rows of a neighborhood must have a label."""
        if self.labelset_strategy == "union":
            return np.ones_like(sizes)
        if self.labelset_strategy == "intersection":
            return sizes
        return sizes // 2 + 1 if self.labelset_strategy == "majority" else (sizes + 1) // 2

    def _draw(self, data: Data, plan: MLSMOTEPlan, rng: np.random.Generator) -> Draw:
        if plan.candidates is None:
            new = self._draw_in_grown_bags(data, plan, rng)
        else:
            places = draw_places(plan.sizes, self._n_seeds(plan), rng)
            new = plan.candidates.take(places).draw(data.X, data.categorical, rng)
        some = len(new.seeds) > 0
        return Draw(
            X_new=new.X if some else None,
            Y_new=new.Y if some else None,
            unknown_new=new.unknown if some else None,
            provenance={
                "seed_indices_": new.seeds,
                "reference_indices_": new.references,
                "label_indices_": new.labels,
            },
        )

    def _n_seeds(self, plan: MLSMOTEPlan) -> int | np.ndarray | None:
        """Return how many seeds to draw: altogether, from each bag, or (None) every member once."""
        if plan.quotas is None:
            return self.n_synthetic
        return np.where(plan.sizes > 0, plan.quotas, 0)

    def _draw_in_grown_bags(
        self, data: Data, plan: MLSMOTEPlan, rng: np.random.Generator
    ) -> SyntheticRows:
        """Oversample one label after the other, each in a bag that has grown by then."""
        growing = GrowingData(data.X, data.Y, data.unknown)
        drawn = draw_places(plan.sizes, self._n_seeds(plan), rng)
        wanted = split_places(drawn, plan.sizes)
        labels = track(plan.labels, "Oversampling", "labels")
        for label, bag, places in zip(labels, plan.bags, wanted):
            rows, X_bag, Y_bag, unknown = growing.rows_of(label, bag)
            if len(rows) > 1:
                around = self._search(X_bag, data)
                seeds = SeedNeighborhoods.of(np.array([label]), [np.arange(len(rows))], [around])
                candidates = self._candidates(
                    X_bag, Y_bag, data.categorical, seeds.take(places), unknown
                )
                growing.append(rows, candidates.draw(X_bag, data.categorical, rng))
        return growing.synthetic_rows()
