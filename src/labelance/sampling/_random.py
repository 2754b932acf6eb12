"""MLROS, MLRUS, LPROS and LPRUS: random oversampling and undersampling, by labels or labelsets.

The rule for labelsets (Charte et al.): a number of rows is shared out evenly among bags of rows
with the same labelset that are all below (or all above) the mean size, nearest to the mean first;
a bag that reaches the mean takes no more, and what it leaves is spread evenly over the bags after
it.
"""

from __future__ import annotations

import math
from abc import ABCMeta
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import column_counts
from labelance._arrays._memory import check_fits_memory
from labelance._utils._compat import Interval, StrOptions
from labelance._validation._data import Data
from labelance.imbalance._above_mean import counts_at_mean, irlbl_against_mean
from labelance.imbalance._local import Variant
from labelance.sampling._base import Draw, RowSampler, SamplerTraits, keep_rows, shared_constraints
from labelance.sampling._kernels import clone_in_turns, delete_in_turns
from labelance.sampling._strategy import (
    FEWER,
    SamplingStrategy,
    above_mean_irlbl,
    check_no_idle_strategy,
    check_row_limit,
    resolve_labels,
    resolve_strategy,
    rows_by_label,
    rows_that_may_have,
    rows_to_sample,
)


class MLROSPlan(NamedTuple):
    """The labels to clone for, the rows that have each of them, all counts, and when to stop.

    The rows of label ``labels[b]`` are ``rows[starts[b] : starts[b + 1]]``. A label is done when
    its count is up to its target, or to ``at_mean[t]``, at which its IRLbl is down to the mean
    when the largest count has grown by t.
    """

    labels: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    at_mean: np.ndarray
    targets: np.ndarray


class MLROS(RowSampler):
    """Multi-Label Random OverSampling: clones rows of rare labels, each label in its turn.

    The minority labels (IRLbl > MeanIR) take turns; each clones a random row of its own, with
    all the labels of that row, until its IRLbl is down to the mean that the data had at the
    start, or until enough rows were made.

    It helps when rare labels come alone or with each other, and with any kind of features,
    since nothing is invented. It hurts when rare labels come with frequent ones (a high
    SCUMBLE): the clones raise both, and REMEDIAL should go first; and it makes learners that
    trust single rows overfit them.

    Parameters
    ----------
    sampling_ratio : float, default=0.25
        At most floor(sampling_ratio * n) rows are added; fewer if no label is left above
        the mean. Targets in ``sampling_strategy`` are met whatever this says.
    sampling_strategy : str, float, list, dict or callable, default="auto"
        The labels that clone: "auto" and "minority" mean those with IRLbl above its mean,
        "imbalanced" those with ImR above its mean, "all" every label; or names, numbers or a
        mask of labels. Whichever are chosen, one whose IRLbl is down to the mean is done. A
        float asks instead for that ratio of rows with a label of "auto" to rows without it,
        and a dict from labels for a ratio (float) or a number of rows with the label (int);
        a label is then done when it has that many, be it through clones for another label. A
        function of y may return any of these.
    variant : {"paper", "mulan"}, default="paper"
        Where the paper and Mulan's program differ: IRLbl divides the count of the most
        frequent label by now, or, in the program, the count that it had at the start.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    seed_indices_ : ndarray of shape (n_new,)
        The row that each added row is a clone of: the result is X, then
        ``X[seed_indices_]``.
    sampling_strategy_ : dict
        The labels that clone, by name or column number, and how many rows each lacks to its
        target; None where it has no target, so that all share the rows to be added.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLRUS : Deletes rows without rare labels instead.
    LPROS : Clones rows of rare labelsets.

    Notes
    -----
    Missing and nominal values are copied as they are. So are unknown labels (NaN), which count
    nowhere. A draw takes floor(sampling_ratio * n)
    uniform numbers from the generator at once; clone number t is row floor(u_t * size) of
    its label's bag. Labels take their turns in column order, so the order of the columns
    matters.

    Cost: O(ones of y) for the plan, O(labels of the clones) for a draw, and the copying.

    How ours differs from known programs: IRLbl is that of the data so far, as it is defined,
    where Mulan holds on to the first maximum (``variant="mulan"``). Like Mulan and unlike the
    paper's listing, a label is tested before it clones, so one at the mean never does; that
    is at most one clone per label. The R package mldr.resampling does not bring the counts
    up to date, and stops at the first label that is done.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015): Addressing imbalance in
    multilabel classification: measures and random resampling algorithms. Neurocomputing 163,
    3-16.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLROS
    >>> X = np.arange(8.0)[:, np.newaxis]
    >>> y = np.array([[1, 0]] * 6 + [[0, 1]] + [[0, 0]])
    >>> sampler = MLROS(random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> sampler.seed_indices_  # 6 / 1 is above the mean of 3.5, and 6 / 2 is not
    array([6])
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, clones=True, label_order_free=False, in_blocks=True, needs_all=None
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = shared_constraints(
        "verbose sampling_ratio sampling_strategy variant random_state"
    )

    def __init__(
        self,
        *,
        sampling_ratio: float = 0.25,
        sampling_strategy: SamplingStrategy = "auto",
        variant: Variant = "paper",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.sampling_strategy = sampling_strategy
        self.variant = variant
        self.random_state = random_state
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> MLROSPlan:
        strategy = resolve_strategy(
            self.sampling_strategy, data, above_mean_irlbl, counts=column_counts
        )
        counts, lacking = strategy.present, None
        labels = np.flatnonzero(strategy.labels & (counts > 0))
        bags = data.Y[:, labels].tocsc()
        targets = np.full(len(labels), np.inf)
        if strategy.targets is None:
            budget = rows_to_sample(data.n_samples, self.sampling_ratio)
        else:
            targets, lacking = strategy.targets[labels], strategy.lacking
            budget = int(lacking[labels].sum())
        # A random number and a row number for each.
        check_fits_memory(budget, 16, caller="MLROS", cure=FEWER)
        at_mean = np.full(budget + 1, np.iinfo(np.int64).max)
        if lacking is None and len(labels):
            at_mean = counts_at_mean(counts, counts.max() + np.arange(budget + 1))[1]
        starts, rows = bags.indptr.astype(np.int64), bags.indices.astype(np.int64)
        plan = MLROSPlan(labels, starts, rows, counts, at_mean, targets)
        self.sampling_strategy_ = rows_by_label(data, strategy.labels, lacking)
        return plan

    def _draw(self, data: Data, plan: MLROSPlan, rng: np.random.Generator) -> Draw:
        Y, bags = data.Y, plan._replace(counts=plan.counts.copy())
        numbers, static_max = rng.random(len(plan.at_mean) - 1), self.variant == "mulan"
        clones = clone_in_turns(Y.indptr, Y.indices, *bags, static_max=static_max, numbers=numbers)
        return draw_clones(data, clones, caller="MLROS")


def draw_clones(data: Data, clones: np.ndarray, *, caller: str) -> Draw:
    """Return the draw that appends clones to all rows."""
    check_row_limit(len(clones), data, caller=caller)
    rows = np.concatenate([np.arange(data.n_samples), clones])
    return Draw(rows=rows, provenance={"seed_indices_": clones})


class MajorityBags(NamedTuple):
    """The majority labels, their cells label by label, all counts, and when to stop.

    A cell is a one of Y, known by its place in ``Y.indices``; ``row_of`` is its row and
    ``place_of`` where it stands in ``cells``. So a row that is deleted is found at once in
    the bags of all its labels. A label is done when its count is down to ``at_mean[c]``, at which
    its IRLbl is up to the mean when the largest count is c.
    """

    labels: np.ndarray
    starts: np.ndarray
    cells: np.ndarray
    row_of: np.ndarray
    place_of: np.ndarray
    counts: np.ndarray
    at_mean: np.ndarray


class MLRUS(RowSampler):
    """Multi-Label Random UnderSampling: deletes random rows that have no rare label.

    Rows with a minority label (IRLbl > MeanIR) are protected, and random rows are deleted
    among the others. Other variants let the majority labels (IRLbl < MeanIR) take turns
    instead, each deleting one of its rows, until its IRLbl is up to the mean.

    It helps where there are rows to spare, and it makes learning cheaper. It hurts where
    frequent labels are hard as well, or where few rows are without rare labels: then there
    is little to delete, or ("bags") rare labels go too.

    Parameters
    ----------
    sampling_ratio : float, default=0.25
        At most floor(sampling_ratio * n) rows are deleted; fewer if no more can go.
    variant : {"paper", "bags", "mulan"}, default="paper"
        "paper" deletes rows without minority labels. "bags", another reading of the paper,
        lets majority labels delete rows of their own, whatever else these carry. "mulan" does
        so by the counts of Mulan's program: IRLbl divides the count that the most frequent
        label had at the start, instead of the count that it has by now.
    sampling_strategy : str, list or callable, default="auto"
        For "paper", the labels whose rows are never deleted: "auto" and "minority" mean
        those with IRLbl above its mean, "imbalanced" those with ImR above its mean, "all"
        every label; or names, numbers or a mask of labels; or a function of y that returns
        any of these.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_kept,)
        The rows that were kept, as row numbers of X.
    sampling_strategy_ : dict
        The protected labels, by name or column number, and how many rows have each, all of
        which are kept; empty unless ``variant="paper"``.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    MLROS : Clones rows of rare labels instead.
    MLeNN : Deletes such rows only where they contradict their neighbors.

    Notes
    -----
    At least one row stays. A row in which a protected label is unknown (NaN) may have it, and is
    kept ("paper"). "paper" draws its rows without replacement, in one call of the
    generator's ``choice``. The others take floor(sampling_ratio * n) uniform numbers at once;
    deletion number t is row floor(u_t * size) of its label's bag, in whose place the last
    row of the bag then comes, as in all other bags that have it. There labels take turns in
    column order, so the order of the columns matters.

    Cost: O(ones of y), and the copying.

    How ours differs from known programs: "paper" is the reading of the R package
    mldr.resampling, which however draws with replacement and so deletes fewer rows than
    asked for. "mulan" is Mulan's, which lets labels take turns.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015): Addressing imbalance in
    multilabel classification: measures and random resampling algorithms. Neurocomputing 163,
    3-16.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLRUS
    >>> X = np.arange(8.0)[:, np.newaxis]
    >>> y = np.array([[1, 0]] * 6 + [[1, 1]] + [[0, 0]])
    >>> sampler = MLRUS(sampling_ratio=0.5, random_state=0)
    >>> X_kept, y_kept = sampler.fit_resample(X, y)
    >>> y_kept.sum(axis=0)  # the row with the rare label is still there
    array([3, 1])
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        deletes=True, label_order_free=False, in_blocks=True, needs_all=None
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints("verbose sampling_strategy random_state"),
        "sampling_ratio": [Interval(Real, 0, 1, closed="left")],
        "variant": [StrOptions({"paper", "bags", "mulan"})],
    }

    def __init__(
        self,
        *,
        sampling_ratio: float = 0.25,
        variant: Literal["paper", "bags", "mulan"] = "paper",
        sampling_strategy: SamplingStrategy = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.variant = variant
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> np.ndarray | MajorityBags:
        """Return the candidates ("paper") or the bags of the majority labels."""
        if self.variant == "paper":
            kept = resolve_labels(self.sampling_strategy, data, above_mean_irlbl, caller="MLRUS")
            self.sampling_strategy_ = rows_by_label(data, kept, column_counts(data.Y))
            return np.flatnonzero(~rows_that_may_have(data, kept))
        check_no_idle_strategy(self.sampling_strategy, "MLRUS", 'variant="paper"')
        self.sampling_strategy_ = {}
        counts = column_counts(data.Y)
        labels = np.flatnonzero(irlbl_against_mean(counts) < 0)
        at_mean = np.zeros(1, dtype=np.int64)
        if len(labels):
            at_mean = counts_at_mean(counts, np.arange(counts.max() + 1))[0]
        return _majority_bags(data.Y, labels, counts, at_mean)

    def _draw(self, data: Data, plan: np.ndarray | MajorityBags, rng: np.random.Generator) -> Draw:
        n = data.n_samples
        budget = min(rows_to_sample(n, self.sampling_ratio), n - 1)
        if isinstance(plan, MajorityBags):
            bags = plan._replace(
                cells=plan.cells.copy(), place_of=plan.place_of.copy(), counts=plan.counts.copy()
            )
            Y, static_max, numbers = data.Y, self.variant == "mulan", rng.random(budget)
            deleted = delete_in_turns(
                Y.indptr, Y.indices, *bags, static_max=static_max, numbers=numbers
            )
        else:
            size = min(budget, len(plan))
            deleted = rng.choice(plan, size=size, replace=False, shuffle=False)
        return keep_rows(np.delete(np.arange(n), deleted))


def _majority_bags(
    Y: sp.csr_array, labels: np.ndarray, counts: np.ndarray, at_mean: np.ndarray
) -> MajorityBags:
    """Return the bags of the labels, as cells of Y."""
    numbered = sp.csr_array((np.arange(Y.nnz), Y.indices, Y.indptr), shape=Y.shape)
    bags = numbered[:, labels].tocsc()
    place_of = np.full(Y.nnz, -1)
    place_of[bags.data] = np.arange(bags.nnz)
    row_of = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    starts = bags.indptr.astype(np.int64)
    return MajorityBags(labels, starts, bags.data, row_of, place_of, counts, at_mean)


class LabelsetBags(NamedTuple):
    """The rows, bag by bag, in the order of the labelsets as bit strings.

    Parameters
    ----------
    rows : ndarray of int of shape (n,)
        All row numbers; those of a bag follow each other, in row order.
    starts : ndarray of int of shape (n_bags + 1,)
        Where each bag begins in ``rows``.
    """

    rows: np.ndarray
    starts: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The number of rows of every bag."""
        return np.diff(self.starts)


class Quotas(NamedTuple):
    """How many rows to clone or to delete: bag by bag, in the order in which they take."""

    bags: np.ndarray
    counts: np.ndarray


# The bags, and what each of them is to clone or to delete.
LabelsetPlan = tuple[LabelsetBags, Quotas]


def labelset_bags(Y: sp.csr_array) -> LabelsetBags:
    """Return the bags of rows with equal labels; the empty labelset has a bag too.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._random import labelset_bags
    >>> bags = labelset_bags(sp.csr_array([[1, 0], [0, 1], [0, 0], [0, 1]]))
    >>> bags.rows, bags.starts
    (array([2, 1, 3, 0]), array([0, 1, 3, 4]))
    """
    n, base = Y.shape[0], Y.shape[1] + 1
    sizes, rows = np.diff(Y.indptr), np.arange(n)
    opens = np.arange(n) == 0
    # Rows are sorted by their first labels, then those that have these in common by the next.
    at_once = max(1, int((62 - math.log2(n + 1)) / math.log2(base)))
    unsorted, depth = np.arange(n), 0
    while len(unsorted):
        key = np.cumsum(opens)[unsorted]
        for place in range(depth, depth + at_once):
            key *= base
            longer = np.flatnonzero(sizes[rows[unsorted]] > place)
            key[longer] += base - 1 - Y.indices[Y.indptr[rows[unsorted[longer]]] + place]
        depth += at_once
        order = np.argsort(key, kind="stable")
        rows[unsorted], key = rows[unsorted[order]], key[order]
        opens[unsorted[1:]] |= key[1:] != key[:-1]
        bag = np.cumsum(opens) - 1
        more = np.bincount(bag, sizes[rows] > depth) > 0
        unsorted = np.flatnonzero((more & (np.bincount(bag) > 1))[bag])
    return LabelsetBags(rows, np.append(np.flatnonzero(opens), n))


def apportion(sizes: np.ndarray, total: int, *, above_mean: bool) -> Quotas:
    """Share ``total`` rows out among the bags above the mean size, or those below it.

    A bag wants an even share of what is left for it and the bags after it, and takes at most
    its distance to the mean. Bags come nearest to the mean first, so once one takes all that
    it wants, so do all bags after it, and the same. Rows are whole: of the running sum of
    what the bags may take each takes the whole rows that those before it have not taken.
    Sums are kept as integers, in units of one over the number of bags, in which the mean is
    whole.

    Parameters
    ----------
    sizes : ndarray of int
        The sizes of all bags.
    total : int
        How many rows to share out. Some are left over if all bags reach the mean before.
    above_mean : bool
        Which bags take part.
    """
    n, n_bags = int(sizes.sum()), len(sizes)
    total = min(total, n)  # bags never take as many before all are at the mean
    distance = (sizes * n_bags - n) * (1 if above_mean else -1)
    bags = np.argsort(distance, kind="stable")
    bags = bags[np.searchsorted(distance[bags], 1) :]
    distance = distance[bags].astype(object)  # sums are beyond machine words for many rows
    reached = np.cumsum(distance)
    before = reached - distance
    n_left = np.arange(len(bags), 0, -1)
    satisfied = distance * n_left >= total * n_bags - before
    first = int(np.argmax(satisfied)) if satisfied.any() else len(bags)
    taken = reached // n_bags
    if first < len(bags):
        left, sharing = total * n_bags - before[first], int(n_left[first])
        step = np.arange(1, sharing + 1).astype(object)
        taken[first:] = (before[first] * sharing + step * left) // (n_bags * sharing)
    return Quotas(bags, np.diff(taken, prepend=0).astype(np.int64))


class LabelsetSampler(RowSampler, metaclass=ABCMeta):
    """Base of samplers that bring bags of rows with equal labels nearer to the mean size."""

    def __init__(
        self, *, sampling_ratio: float = 0.25, random_state: Any = None, verbose: int = 0
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.random_state = random_state
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> LabelsetPlan:
        bags = labelset_bags(data.Y)
        total = rows_to_sample(data.n_samples, self.sampling_ratio)
        return bags, apportion(bags.sizes, total, above_mean=self.traits.deletes)


class LPROS(LabelsetSampler):
    """Label Powerset Random OverSampling: clones rows of labelsets that few rows have.

    Every labelset is taken for a class, as the label powerset does. The bags of rows that
    are smaller than the mean bag share the rows to be made, as evenly as can be without one
    growing past the mean, and fill up with clones of their own rows.

    It helps where there are few labelsets, and some of them are rare. It hurts where most
    rows have a labelset of their own: then the mean is near one row and next to nothing is
    made; and a labelset of frequent labels only is cloned like any other.

    Parameters
    ----------
    sampling_ratio : float, default=0.25
        At most floor(sampling_ratio * n) rows are added; fewer if all bags reach the mean.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    seed_indices_ : ndarray of shape (n_new,)
        The row that each added row is a clone of: the result is X, then
        ``X[seed_indices_]``.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    LPRUS : Deletes rows of frequent labelsets instead.
    MLROS : Clones rows of rare labels.
    labelance.imbalance.labelsets : The labelsets and how many rows have each.

    Notes
    -----
    Missing and nominal values are copied as they are. How many clones a bag makes does not
    depend on chance. Bags go from large to small, equal ones in the order of their labelsets
    as bit strings, so the order of the columns may decide which of two equal bags gets a
    last row. A draw takes one uniform number per clone; a clone is row floor(u * size) of
    its bag, with replacement.

    Cost: O(n log n) comparisons of rows of y for the plan, and the copying.

    How ours differs from known programs: the paper treats shares of rows as numbers; ours
    carry the fraction of a row on to the next bag, so that the total is exact to a row.
    What is left when all bags are at the mean is not made, as in the paper; the R package
    mldr.resampling hands it out at random, past the mean, and rounds every share.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2013): A first approach to deal with
    imbalance in multi-label datasets. HAIS, LNCS 8073, 150-160.

    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015): Addressing imbalance in
    multilabel classification: measures and random resampling algorithms. Neurocomputing 163,
    3-16.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import LPROS
    >>> X = np.arange(8.0)[:, np.newaxis]
    >>> y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 0]])
    >>> sampler = LPROS(random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> sampler.seed_indices_  # bags of 5, 2 and 1 rows have a mean of 2.67
    array([7, 7])
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, clones=True, label_order_free=False, in_blocks=True
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = shared_constraints(
        "verbose sampling_ratio random_state"
    )

    def _draw(self, data: Data, plan: LabelsetPlan, rng: np.random.Generator) -> Draw:
        bags, quotas = plan
        bag = np.repeat(quotas.bags, quotas.counts)
        place = (rng.random(len(bag)) * bags.sizes[bag]).astype(np.int64)
        return draw_clones(data, bags.rows[bags.starts[bag] + place], caller="LPROS")


class LPRUS(LabelsetSampler):
    """Label Powerset Random UnderSampling: deletes rows of labelsets that many rows have.

    Every labelset is taken for a class, as the label powerset does. The bags of rows that
    are larger than the mean bag share the rows to be deleted, as evenly as can be without
    one shrinking below the mean, and lose rows at random.

    It helps where a few labelsets are very frequent, and it makes learning cheaper. It hurts
    where most rows have a labelset of their own, so that any bag of two rows is a large one;
    and rare labels are not spared if their labelset is frequent.

    Parameters
    ----------
    sampling_ratio : float, default=0.25
        At most floor(sampling_ratio * n) rows are deleted; fewer if all bags reach the mean.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_kept,)
        The rows that were kept, as row numbers of X.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    LPROS : Clones rows of rare labelsets instead.
    MLRUS : Deletes rows without rare labels.
    labelance.imbalance.labelsets : The labelsets and how many rows have each.

    Notes
    -----
    How many rows a bag loses does not depend on chance. Bags go from small to large, equal
    ones in the order of their labelsets as bit strings, so the order of the columns may
    decide which of two equal bags loses a last row. No labelset is lost, and no bag gets
    smaller than the mean, rounded down. A draw takes one uniform number per deleted row, bag
    by bag: among the s rows of a bag that are left it is row floor(u * s), in whose place
    the first of them then comes.

    Cost: O(n log n) comparisons of rows of y for the plan, and the copying.

    How ours differs from known programs: the paper treats shares of rows as numbers; ours
    carry the fraction of a row on to the next bag, so that the total is exact to a row.
    What is left when all bags are at the mean is not deleted, as in the paper; the R package
    mldr.resampling takes it at random from any bag, past the mean, and rounds every share.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2013): A first approach to deal with
    imbalance in multi-label datasets. HAIS, LNCS 8073, 150-160.

    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015): Addressing imbalance in
    multilabel classification: measures and random resampling algorithms. Neurocomputing 163,
    3-16.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import LPRUS
    >>> X = np.arange(8.0)[:, np.newaxis]
    >>> y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 0]])
    >>> X_kept, y_kept = LPRUS(random_state=0).fit_resample(X, y)
    >>> y_kept.tolist()  # two of the five equal rows are gone
    [[1, 0], [1, 0], [1, 0], [1, 1], [1, 1], [0, 0]]
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        deletes=True, label_order_free=False, in_blocks=True
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints("verbose random_state"),
        "sampling_ratio": [Interval(Real, 0, 1, closed="left")],
    }

    def _draw(self, data: Data, plan: LabelsetPlan, rng: np.random.Generator) -> Draw:
        bags, quotas = plan
        numbers = rng.random(quotas.counts.sum()).tolist()
        deleted: list[int] = []
        for bag, count in zip(quotas.bags.tolist(), quotas.counts.tolist()):
            rows = bags.rows[bags.starts[bag] : bags.starts[bag + 1]].tolist()
            for first in range(count):
                place = first + int(numbers[len(deleted)] * (len(rows) - first))
                deleted.append(rows[place])
                rows[place] = rows[first]
        return keep_rows(np.delete(np.arange(data.n_samples), deleted))
