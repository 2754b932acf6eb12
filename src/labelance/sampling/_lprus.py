"""LPRUS: rows of frequent labelsets are deleted."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from labelance._utils import kernel
from labelance._validation import Data
from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._budget import rows_to_sample
from labelance.sampling._labelset_bags import LabelsetPlan, labelset_bags, share_out
from labelance.sampling._plan import Draw
from labelance.sampling._traits import SamplerTraits


class LPRUS(BaseMultiLabelSampler):
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

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_kept,)
        The rows that were kept, as row numbers of X.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X came as a data frame with string names.

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

    Cost: O(n log n) comparisons of rows of Y for the plan, and the copying.

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
    >>> Y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 0]])
    >>> X_kept, Y_kept = LPRUS(random_state=0).fit_resample(X, Y)
    >>> Y_kept.tolist()  # two of the five equal rows are gone
    [[1, 0], [1, 0], [1, 0], [1, 1], [1, 1], [0, 0]]
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(deletes=True, label_order_free=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sampling_ratio": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, *, sampling_ratio: float = 0.25, random_state: Any = None) -> None:
        self.sampling_ratio = sampling_ratio
        self.random_state = random_state

    def _plan(self, data: Data, neighborhood: None) -> LabelsetPlan:
        bags = labelset_bags(data.Y)
        total = rows_to_sample(data.n_samples, self.sampling_ratio)
        return LabelsetPlan(bags, share_out(bags.sizes, total, above_mean=True))

    def _draw(self, data: Data, plan: LabelsetPlan, rng: np.random.Generator) -> Draw:
        numbers = rng.random(plan.quotas.counts.sum())
        deleted = _choose_from_bags(
            plan.bags.rows.copy(),
            plan.bags.starts,
            plan.quotas.bags,
            plan.quotas.counts,
            numbers,
        )
        return draw_kept(data.n_samples, deleted)


def draw_kept(n: int, deleted: np.ndarray) -> Draw:
    """Return the draw of the rows that are left of n without the deleted ones."""
    left = np.ones(n, dtype=bool)
    left[deleted] = False
    kept = np.flatnonzero(left)
    return Draw(rows=kept, provenance={"sample_indices_": kept})


@kernel
def _choose_from_bags(
    rows: np.ndarray,
    starts: np.ndarray,
    bags: np.ndarray,
    counts: np.ndarray,
    numbers: np.ndarray,
) -> np.ndarray:
    """Return ``counts[t]`` different rows of bag ``bags[t]``; ``rows`` are shuffled for it."""
    chosen = np.empty(len(numbers), dtype=np.int64)
    done = 0
    for bag, count in zip(bags, counts):
        for first in range(starts[bag], starts[bag] + count):
            place = first + np.int64(numbers[done] * (starts[bag + 1] - first))
            chosen[done] = rows[place]
            rows[place] = rows[first]
            done += 1
    return chosen
