"""MLSMOTE: synthetic rows inside the bag of every minority label.

The labels and categorical features of a synthetic row are voted on by a seed neighborhood: a line
of row numbers, the seed first and then its neighbors. Lines are of one length, and ``sizes`` says
how many entries of each count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._cells import take_cells
from labelance._arrays._columns import replace_columns
from labelance._arrays._containers import Kind, column_counts
from labelance._arrays._dask import DaskRows, compute, even_edges, map_blocks
from labelance._arrays._interpolate import interpolate_rows
from labelance._arrays._open import stack_rows, take_rows
from labelance._arrays._sparse import narrow_indices
from labelance._progress import track
from labelance._utils._compat import StrOptions
from labelance._validation._data import Data, MissingPolicy, check_no_device, take_unknown
from labelance.exceptions import InputError, arg
from labelance.imbalance._local import Variant, keep_cells
from labelance.neighbors._find import search_neighbors
from labelance.neighbors._metric import Scale
from labelance.sampling._base import (
    Draw,
    NeighborSampler,
    SamplerTraits,
    add_rows,
    apply_draw,
    shared_constraints,
)
from labelance.sampling._strategy import (
    SamplingStrategy,
    above_mean_irlbl,
    check_row_limit,
    label_bags,
    resolve_strategy,
    rows_by_label,
)

_CELLS_PER_BLOCK = 1 << 14  # of dense rows that vote together
_NO_ROWS = np.empty(0, dtype=np.int64)


def draw_places(
    sizes: np.ndarray, n_seeds: int | np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return which members are seeds, counted through all bags, bag by bag.

    They are a number drawn from all bags together, or from each bag its number.
    """
    if isinstance(n_seeds, np.ndarray):
        first = np.cumsum(sizes) - sizes
        return np.sort(np.repeat(first, n_seeds) + rng.integers(np.repeat(sizes, n_seeds)))
    total = sizes.sum()
    return np.sort(rng.integers(total, size=n_seeds)) if total else np.empty(0, dtype=np.int64)


def split_places(places: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Return the places that were drawn bag by bag, counted inside each bag."""
    first = np.cumsum(sizes) - sizes
    parts = np.split(places, np.searchsorted(places, first[1:]))
    return [part - start for part, start in zip(parts, first)]


class CandidateRows(NamedTuple):
    """Synthetic rows as far as they do not depend on chance: one for each member of some bags.

    Parameters
    ----------
    rows : ndarray of int of shape (g, 1 + k)
        The seed, then its neighbors inside its bag, nearest first, and -1 where there are fewer.
    sizes : ndarray of int of shape (g,)
        How many rows each of these neighborhoods has, the seed included; at least 2.
    labels : ndarray of int of shape (g,)
        The label whose bag it lies in.
    Y : csr_array of shape (g, q)
        The labels of the synthetic rows.
    unknown : csr_array of shape (g, q) or None
        Ones at labels that no row of the neighborhood knows; None where all are known.
    nominal : array, csr_array or None
        The values of their nominal features, as :func:`vote_values` gives them; None if all
        features are numeric.
    """

    rows: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray
    Y: sp.csr_array
    unknown: sp.csr_array | None
    nominal: Any

    def take(self, places: np.ndarray) -> CandidateRows:
        """Return some of the candidate rows; one may come more than once."""
        nominal = None if self.nominal is None else self.nominal[places]
        lines = self.rows[places], self.sizes[places], self.labels[places]
        return CandidateRows(*lines, self.Y[places], take_unknown(self.unknown, places), nominal)

    def draw(self, X: Any, categorical: np.ndarray, rng: np.random.Generator) -> Draw:
        """Draw a reference for every seed, and numbers between the two."""
        seeds = self.rows[:, 0]
        references = self.rows[np.arange(len(seeds)), rng.integers(1, self.sizes)]
        if self.nominal is not None and categorical.all():
            X_new = self.nominal
        else:
            X_new = interpolate_rows(X, seeds, references, categorical, rng)
            if self.nominal is not None:
                X_new = replace_columns(X_new, categorical, self.nominal)
        parents = seeds, references
        return add_rows(X_new, self.Y, *parents, unknown=self.unknown, label_indices_=self.labels)


def vote_labels(
    Y: sp.csr_array,
    neighborhoods: np.ndarray,
    sizes: np.ndarray,
    needed: Callable[[np.ndarray], np.ndarray],
    unknown: sp.csr_array | None = None,
) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Return the labels that enough rows of every neighborhood have, and those that none knows.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Labels of the rows.
    neighborhoods : ndarray of int of shape (g, 1 + k)
        Row numbers; only the first ``sizes[t]`` of line t count.
    sizes : ndarray of int of shape (g,)
        Rows of the neighborhood.
    needed : callable
        From numbers of rows that know a label to how many of them must have it; at least 1.
    unknown : csr_array of shape (n, q) or None
        Ones at cells that are not known.
    """
    voters = _voters(neighborhoods, 0, sizes, Y.shape[0])
    votes = sp.csr_array(voters @ Y)
    line = np.repeat(np.arange(len(sizes)), np.diff(votes.indptr))
    if unknown is None:
        return _keep_cells(votes, votes.data >= needed(sizes)[line]), None
    hidden = sp.csr_array(voters @ unknown)
    known = sizes[line] - take_cells(hidden, line, votes.indices)
    unseen = hidden.data == np.repeat(sizes, np.diff(hidden.indptr))
    return _keep_cells(votes, votes.data >= needed(known)), _keep_cells(hidden, unseen)


def _voters(rows: np.ndarray, first: int, sizes: np.ndarray, n: int) -> sp.csr_array:
    """Return a matrix with a one where a row has a vote in a neighborhood, from ``first`` on."""
    place = np.arange(rows.shape[1])
    votes = (place >= first) & (place < sizes[:, np.newaxis])
    indptr = np.append(0, np.cumsum(votes.sum(axis=1)))
    ones = np.ones(indptr[-1], dtype=np.int32)
    return sp.csr_array((ones, rows[votes], indptr), shape=(len(rows), n))


def _keep_cells(table: sp.csr_array, kept: np.ndarray) -> sp.csr_array:
    """Return ones at some of the stored cells."""
    found = narrow_indices(keep_cells(table, kept))
    found.sort_indices()
    return found


def vote_values(
    X: Any,
    nominal: np.ndarray,
    neighborhoods: np.ndarray,
    sizes: np.ndarray,
    with_seed: bool,
    *,
    kind: Kind,
) -> Any:
    """Return for every neighborhood the most frequent value of each categorical feature.

    The lowest code wins a tie, and missing values have no vote. Dense rows give an array of
    the categorical features alone; sparse rows give a CSR array of all columns, in which only
    nominal ones are filled.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Clean features.
    nominal : ndarray of bool of shape (d,)
        The features to vote on.
    neighborhoods, sizes : ndarray of int
        As for :func:`vote_labels`.
    with_seed : bool
        Whether the seed has a vote.
    kind : str
        What the rows are, as the validated data say it.
    """
    if kind == "blocks":
        return _vote_in_blocks(X, nominal, neighborhoods, sizes, with_seed)
    first = 0 if with_seed else 1
    if kind == "dense":
        return _vote_dense(X[:, nominal], neighborhoods, sizes, first)
    return _vote_sparse(X, nominal, neighborhoods, sizes, first)


def _vote_dense(X: np.ndarray, rows: np.ndarray, sizes: np.ndarray, first: int) -> np.ndarray:
    out = np.empty((len(rows), X.shape[1]), dtype=X.dtype)
    step = max(1, _CELLS_PER_BLOCK // X.shape[1])
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        ballots = [
            np.where((place < sizes[block])[:, np.newaxis], X[rows[block, place]], np.nan)
            for place in range(first, rows.shape[1])
        ]
        out[block] = _most_frequent(ballots)
    return out


def _vote_sparse(
    X: sp.csr_array, nominal: np.ndarray, rows: np.ndarray, sizes: np.ndarray, first: int
) -> sp.csr_array:
    # Zero is the lowest code, so another value wins only where more voters store a value than
    # do not: these cells are candidates.
    stored = nominal[X.indices].astype(np.int32)
    filled = sp.csr_array((stored, X.indices, X.indptr), shape=X.shape)
    counts = sp.csr_array(_voters(rows, first, sizes, X.shape[0]) @ filled)
    line = np.repeat(np.arange(len(sizes)), np.diff(counts.indptr))
    candidates = _keep_cells(counts, 2 * counts.data > (sizes - first)[line])
    line = np.repeat(np.arange(len(sizes)), np.diff(candidates.indptr))
    ballots = [
        np.where(place < sizes[line], take_cells(X, rows[line, place], candidates.indices), np.nan)
        for place in range(first, rows.shape[1])
    ]
    candidates.data = _most_frequent(ballots).astype(X.dtype)
    candidates.eliminate_zeros()
    return candidates


def _most_frequent(ballots: list[np.ndarray]) -> np.ndarray:
    """Return the most frequent known value at every place, the lowest of several; NaN if none is.

    NaN equals nothing, so it has no vote.
    """
    counts = [np.zeros(ballot.shape, dtype=np.int16) for ballot in ballots]
    for a, ballot in enumerate(ballots):
        counts[a] += ballot == ballot
        for b in range(a):
            same = ballot == ballots[b]
            counts[a] += same
            counts[b] += same
    best, most = np.full(ballots[0].shape, np.nan), np.zeros(ballots[0].shape, dtype=np.int16)
    for ballot, count in zip(ballots, counts):
        better = (count > most) | ((count == most) & (ballot < best))
        np.copyto(best, ballot, where=better)
        np.copyto(most, count, where=better)
    return best


def _vote_in_blocks(
    X: DaskRows, nominal: np.ndarray, neighborhoods: np.ndarray, sizes: np.ndarray, with_seed: bool
) -> Any:
    """Bring the rows of blocks of neighborhoods together, and let them vote there."""
    kind: Kind = "sparse" if X.is_sparse else "dense"
    vote = partial(vote_values, with_seed=with_seed, kind=kind)
    tasks: list[Any] = []
    edges = even_edges(len(sizes), max(1, X.largest // neighborhoods.shape[1]))
    for start, stop in pairwise(edges):
        lines = np.maximum(neighborhoods[start:stop], 0)  # what does not count is some row
        rows, places = np.unique(lines, return_inverse=True)
        block = X.take(rows, np.array([0, len(rows)])).blocks
        tasks += map_blocks(
            vote, block, [nominal], [places.reshape(lines.shape)], [sizes[start:stop]]
        )
    return reduce(stack_rows, compute(tasks))


LabelsetStrategy = Literal["ranking", "majority", "union", "intersection"]


class MLSMOTEPlan(NamedTuple):
    """The minority labels with their bags, how many seeds to draw, and the candidate rows.

    ``n_seeds`` is the number of seeds from all bags together or from each, None if every member
    of every bag is a seed once. ``candidates`` are None with ``variant="mulan"``: bags that grow
    are searched again in every draw.
    """

    labels: np.ndarray
    bags: list[np.ndarray]
    n_seeds: int | np.ndarray | None
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
        **shared_constraints("n_synthetic sampling_strategy variant random_state k_neighbors"),
        "labelset_strategy": [StrOptions({"ranking", "majority", "union", "intersection"})],
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
        grows = self.variant == "mulan"  # then bags are searched when their turn comes
        if grows:
            check_no_device(data.X, caller='MLSMOTE(variant="mulan")')
        auto = partial(above_mean_irlbl, at_least_mean=grows)
        strategy = resolve_strategy(self.sampling_strategy, data, auto, counts=column_counts)
        if strategy.targets is not None and self.n_synthetic is not None:
            raise InputError(
                f"{arg('n_synthetic')} excludes targets in {arg('sampling_strategy')}", "Got both"
            )
        least = 1 if grows else 2  # a bag of one row may have grown by its turn
        chosen = (strategy.lacking > 0) & (strategy.present >= least)
        n_new = strategy.present if strategy.targets is None else strategy.lacking
        labels = np.flatnonzero(chosen)
        total = sum(n_new[labels].tolist()) if self.n_synthetic is None else self.n_synthetic
        check_row_limit(int(total), data, caller="MLSMOTE")
        bags = label_bags(data.Y, labels)
        n_seeds: int | np.ndarray | None = self.n_synthetic
        if strategy.targets is not None:
            wanted = np.where(strategy.present > 1, strategy.lacking, 0)
            n_seeds = wanted[labels].astype(np.int64)
        candidates = None if grows else self._candidates(data, labels, bags)
        self.sampling_strategy_ = rows_by_label(
            data, chosen, n_new if self.n_synthetic is None else None
        )
        return MLSMOTEPlan(labels, bags, n_seeds, candidates)

    def _candidates(
        self,
        data: Data,
        labels: np.ndarray,
        bags: list[np.ndarray],
        places: np.ndarray | slice = slice(None),
    ) -> CandidateRows:
        """Search inside each bag, and let neighborhoods vote on labels and nominal features.

        ``places`` are the members that are seeds, counted through all bags.
        """
        lines = []
        for bag in track(bags, "Searching bags", "labels"):
            X_bag = take_rows(data.X, bag)
            metric = self._feature_metric(X_bag, data.categorical)
            k = min(self.k_neighbors, len(bag) - 1)
            around = search_neighbors(X_bag, k, metric, n_jobs=self.n_jobs).indices
            lines.append(np.column_stack([bag, bag[around]]))
        lengths = np.array([len(bag) for bag in bags], dtype=np.int64)
        widths = np.array([line.shape[1] for line in lines], dtype=np.int64)
        rows = np.full((lengths.sum(), widths.max(initial=1)), -1)
        for line, last in zip(lines, np.cumsum(lengths)):
            rows[last - len(line) : last, : line.shape[1]] = line
        rows, sizes = rows[places], np.repeat(widths, lengths)[places]
        labels = np.repeat(labels, lengths)[places]
        Y, nobody_knows = vote_labels(data.Y, rows, sizes, self._votes_needed, data.unknown)
        nominal = None
        if data.categorical.any() and len(rows):
            voters = data.categorical, rows, sizes, self.variant == "mulan"
            nominal = vote_values(data.X, *voters, kind=data.kind)
        return CandidateRows(rows, sizes, labels, Y, nobody_knows, nominal)

    def _votes_needed(self, sizes: np.ndarray) -> np.ndarray:
        """Return how many rows of a neighborhood must have a label."""
        if self.labelset_strategy == "union":
            return np.ones_like(sizes)
        if self.labelset_strategy == "intersection":
            return sizes
        return sizes // 2 + 1 if self.labelset_strategy == "majority" else (sizes + 1) // 2

    def _draw(self, data: Data, plan: MLSMOTEPlan, rng: np.random.Generator) -> Draw:
        places = None if plan.n_seeds is None else draw_places(plan.sizes, plan.n_seeds, rng)
        if plan.candidates is None:
            return self._draw_in_grown_bags(data, plan, places, rng)
        candidates = plan.candidates if places is None else plan.candidates.take(places)
        return candidates.draw(data.X, data.categorical, rng)

    def _draw_in_grown_bags(
        self, data: Data, plan: MLSMOTEPlan, places: np.ndarray | None, rng: np.random.Generator
    ) -> Draw:
        """Oversample one label after the other, each in a bag that has grown by then."""
        new, made = apply_draw(Draw(rows=_NO_ROWS), data), [(_NO_ROWS, _NO_ROWS, _NO_ROWS)]
        parts: Any = [slice(None)] * len(plan.bags)
        parts = parts if places is None else split_places(places, plan.sizes)
        for label, old, part in zip(track(plan.labels, "Oversampling", "labels"), plan.bags, parts):
            (grown,) = label_bags(new.Y, [label])
            bag = np.concatenate([old, data.n_samples + grown])
            if len(bag) < 2:
                continue
            unknown = take_unknown(new.unknown, grown)
            added = Draw(rows=old, X_new=new.X[grown], Y_new=new.Y[grown], unknown_new=unknown)
            inside = apply_draw(added, data)
            candidates = self._candidates(inside, np.array([label]), [np.arange(len(bag))], part)
            draw = candidates.draw(inside.X, data.categorical, rng)
            new = apply_draw(draw, new)
            seeds, references = candidates.rows[:, 0], draw.provenance["reference_indices_"]
            made.append((bag[seeds], bag[references], candidates.labels))
        names = "seed_indices_", "reference_indices_", "label_indices_"
        provenance = dict(zip(names, map(np.concatenate, zip(*made))))
        return Draw(X_new=new.X, Y_new=new.Y, unknown_new=new.unknown, provenance=provenance)
