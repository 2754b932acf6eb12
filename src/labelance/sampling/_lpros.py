"""LPROS: rows of rare labelsets are cloned."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from labelance._validation import Data
from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._budget import rows_to_sample
from labelance.sampling._labelset_bags import LabelsetPlan, labelset_bags, share_out
from labelance.sampling._mlros import draw_clones
from labelance.sampling._plan import Draw
from labelance.sampling._traits import SamplerTraits


class LPROS(BaseMultiLabelSampler):
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
        Names of the features, if X came as a data frame with string names.

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

    Cost: O(n log n) comparisons of rows of Y for the plan, and the copying.

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
    >>> Y = np.array([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 0]])
    >>> sampler = LPROS(random_state=0)
    >>> X_new, Y_new = sampler.fit_resample(X, Y)
    >>> sampler.seed_indices_  # bags of 5, 2 and 1 rows have a mean of 2.67
    array([7, 7])
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(adds=True, clones=True, label_order_free=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "sampling_ratio": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, *, sampling_ratio: float = 0.25, random_state: Any = None) -> None:
        self.sampling_ratio = sampling_ratio
        self.random_state = random_state

    def _plan(self, data: Data, neighborhood: None) -> LabelsetPlan:
        bags = labelset_bags(data.Y)
        total = rows_to_sample(data.n_samples, self.sampling_ratio)
        return LabelsetPlan(bags, share_out(bags.sizes, total, above_mean=False))

    def _draw(self, data: Data, plan: LabelsetPlan, rng: np.random.Generator) -> Draw:
        bag = np.repeat(plan.quotas.bags, plan.quotas.counts)
        place = (rng.random(len(bag)) * plan.bags.sizes[bag]).astype(np.int64)
        return draw_clones(data, plan.bags.rows[plan.bags.starts[bag] + place], who="LPROS")
