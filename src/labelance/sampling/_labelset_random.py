"""LPROS and LPRUS: random oversampling and undersampling by labelsets.

The rule of Charte et al.: a number of rows is shared out evenly among bags of rows with the same
labelset that are all below (or all above) the mean size, nearest to the mean first; a bag that
reaches the mean takes no more, and what it leaves is spread evenly over the bags after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from labelance._utils._compat import Interval
from labelance._validation._data import Data
from labelance.sampling._base import Draw, RowSampler, SamplerTraits, shared_constraints
from labelance.sampling._random import draw_clones, draw_kept
from labelance.sampling._strategy import rows_to_sample

_MANY_ROWS = 2_000_000  # n³ fits into 64 bits below this


@dataclass(frozen=True, eq=False)
class LabelsetBags:
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


@dataclass(frozen=True, eq=False)
class Quotas:
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
    >>> from labelance.sampling._labelset_random import labelset_bags
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


def apportion(
    sizes: np.ndarray, total: int, *, above_mean: bool, many_rows: int = _MANY_ROWS
) -> Quotas:
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
    many_rows : int
        From this many rows on, sums may not fit into machine words.
    """
    n, n_bags = int(sizes.sum()), len(sizes)
    total = min(total, n)  # bags never take as many before all are at the mean
    distance = (sizes * n_bags - n) * (1 if above_mean else -1)
    bags = np.argsort(distance, kind="stable")
    bags = bags[np.searchsorted(distance[bags], 1) :]
    distance = _exact(distance[bags], n < many_rows)
    reached = np.cumsum(distance)
    before = reached - distance
    n_left = np.arange(len(bags), 0, -1)
    satisfied = distance * n_left >= total * n_bags - before
    first = int(np.argmax(satisfied)) if satisfied.any() else len(bags)
    taken = reached // n_bags
    if first < len(bags):
        left, sharing = total * n_bags - before[first], int(n_left[first])
        step = _exact(np.arange(1, sharing + 1), n < many_rows)
        taken[first:] = (before[first] * sharing + step * left) // (n_bags * sharing)
    return Quotas(bags, np.diff(taken, prepend=0).astype(np.int64))


def _exact(values: np.ndarray, fits: bool) -> np.ndarray:
    """Return integers that n³ fits into: machine words, or Python's own for very many rows."""
    return values.astype(np.int64 if fits else object)


class LPROS(RowSampler):
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

    def __init__(
        self, *, sampling_ratio: float = 0.25, random_state: Any = None, verbose: int = 0
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.random_state = random_state
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> LabelsetPlan:
        bags = labelset_bags(data.Y)
        total = rows_to_sample(data.n_samples, self.sampling_ratio)
        return bags, apportion(bags.sizes, total, above_mean=False)

    def _draw(self, data: Data, plan: LabelsetPlan, rng: np.random.Generator) -> Draw:
        bags, quotas = plan
        bag = np.repeat(quotas.bags, quotas.counts)
        place = (rng.random(len(bag)) * bags.sizes[bag]).astype(np.int64)
        return draw_clones(data, bags.rows[bags.starts[bag] + place], caller="LPROS")


class LPRUS(RowSampler):
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

    def __init__(
        self, *, sampling_ratio: float = 0.25, random_state: Any = None, verbose: int = 0
    ) -> None:
        self.sampling_ratio = sampling_ratio
        self.random_state = random_state
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> LabelsetPlan:
        bags = labelset_bags(data.Y)
        total = rows_to_sample(data.n_samples, self.sampling_ratio)
        return bags, apportion(bags.sizes, total, above_mean=True)

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
        return draw_kept(data.n_samples, np.array(deleted, dtype=np.int64))
