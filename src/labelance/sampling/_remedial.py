"""REMEDIAL: rows that hold rare and frequent labels together are decoupled."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from labelance._utils import kernel
from labelance._validation import Data
from labelance.imbalance import exceeds, formulas
from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._plan import Draw
from labelance.sampling._strategy import (
    STRATEGY_CONSTRAINTS,
    SamplingStrategy,
    above_mean_irlbl,
    resolve_labels,
)
from labelance.sampling._traits import SamplerTraits


class REMEDIAL(BaseMultiLabelSampler):
    """Resampling MultilabEl datasets by Decoupling highly ImbAlanced Labels.

    A row in which rare and frequent labels occur together (its SCUMBLE is above the mean) is
    split into two rows of the same features: the original keeps its majority labels, and a
    copy takes its minority labels (IRLbl above MeanIR).

    It helps before a method that makes more rows of rare labels, which would otherwise repeat
    the frequent ones along with them. It hurts when it is all that is done, or when SCUMBLE is
    low: two rows of equal features then contradict each other on every label.

    Parameters
    ----------
    threshold : float, optional
        Rows whose SCUMBLE is larger are decoupled. Unless given, the mean over all rows.
    drop_empty : bool, default=False
        What becomes of a row above the threshold whose labels are all on one side, so that
        one of its two rows has no label: the published method keeps both; True leaves the
        empty one out, so that the row stays whole.
    sampling_strategy : str, list or callable, default="auto"
        The labels that go to the copies: "auto" and "minority" mean those with IRLbl above its
        mean, "imbalanced" those with ImR above its mean, "all" every label; or names, numbers
        or a mask of labels; or a function of Y that returns any of these. Which rows are
        decoupled depends on their SCUMBLE alone.

    Attributes
    ----------
    decoupled_indices_, seed_indices_ : ndarray
        The rows that were split; the copies follow the original rows in this order.
    n_empty_ : int
        Rows above the threshold whose labels are all on one side.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X came as a data frame with string names.

    See Also
    --------
    RemedialHwR : REMEDIAL, then a resampler.
    labelance.imbalance.scumble_instances : SCUMBLE of every row.

    Notes
    -----
    Nothing is left to chance, and the count of every label stays what it was. Features are
    copied as they are, missing and nominal ones too. SCUMBLE is above the threshold if it is
    so by more than a billionth of it, so rounding alone never splits a row.

    Cost: O(labels present) and one copy of the rows.

    How ours differs from known programs: Mulan's leaves the minority labels in the original
    row and gives the others to the copy. As sets of rows both are the same; we follow the
    paper.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2015): Resampling multilabel datasets
    by decoupling highly imbalanced labels. HAIS 2015.

    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2019): Dealing with difficult minority
    labels in imbalanced multilabel data sets. Neurocomputing 326-327, 39-53.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import REMEDIAL
    >>> X = np.arange(5.0)[:, np.newaxis]
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [0, 0]])
    >>> X_new, Y_new = REMEDIAL().fit_resample(X, Y)
    >>> np.column_stack([X_new, Y_new]).astype(int)
    array([[0, 1, 0],
           [1, 1, 0],
           [2, 1, 0],
           [3, 1, 0],
           [4, 0, 0],
           [3, 0, 1]])
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, edits=True, clones=True, random=False
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Interval(Real, 0, 1, closed="both"), None],
        "drop_empty": ["boolean"],
        "sampling_strategy": STRATEGY_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        threshold: float | None = None,
        drop_empty: bool = False,
        sampling_strategy: SamplingStrategy = "auto",
    ) -> None:
        self.threshold = threshold
        self.drop_empty = drop_empty
        self.sampling_strategy = sampling_strategy

    def _plan(self, data: Data, neighborhood: None) -> Draw:
        rare = resolve_labels(self.sampling_strategy, data, above_mean_irlbl, who="REMEDIAL")
        return decouple(data.Y, rare, self.threshold, drop_empty=self.drop_empty)

    def _draw(self, data: Data, plan: Draw, rng: np.random.Generator) -> Draw:
        return plan


def decouple(
    Y: sp.csr_array, rare: np.ndarray, threshold: float | None, *, drop_empty: bool
) -> Draw:
    """Return the rows after decoupling, their labels, and which were split."""
    scumble = formulas.scumble_instances(Y, formulas.label_counts(Y))
    above = exceeds(scumble, scumble.mean() if threshold is None else threshold)
    n_labels = np.diff(Y.indptr)
    n_rare = np.diff(np.concatenate([[0], np.cumsum(rare[Y.indices])])[Y.indptr])
    one_sided = above & ((n_rare == 0) | (n_rare == n_labels))
    is_split = above & ~one_sided if drop_empty else above
    split = np.flatnonzero(is_split)
    provenance = {
        "decoupled_indices_": split,
        "seed_indices_": split,
        "n_empty_": int(one_sided.sum()),
    }
    if len(split) == 0:
        return Draw(provenance=provenance)
    lengths = np.concatenate([n_labels - np.where(is_split, n_rare, 0), n_rare[split]])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(Y.indptr.dtype)
    columns = _deal_labels(Y.indices, Y.indptr, rare, is_split, indptr[Y.shape[0]])
    Y_rows = sp.csr_array((Y.data, columns, indptr), shape=(len(lengths), Y.shape[1]))
    Y_rows.has_sorted_indices = True
    return Draw(np.concatenate([np.arange(Y.shape[0]), split]), Y_rows, provenance=provenance)


@kernel
def _deal_labels(
    indices: np.ndarray, indptr: np.ndarray, rare: np.ndarray, is_split: np.ndarray, n_kept: int
) -> np.ndarray:
    """Write the labels that rows keep, and from ``n_kept`` on those that go to copies."""
    columns = np.empty_like(indices)
    kept, moved = 0, n_kept
    for i in range(len(is_split)):
        for label in indices[indptr[i] : indptr[i + 1]]:
            if is_split[i] and rare[label]:
                columns[moved] = label
                moved += 1
            else:
                columns[kept] = label
                kept += 1
    return columns
