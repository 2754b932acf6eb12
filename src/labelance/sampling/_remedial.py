"""REMEDIAL, which decouples rare from frequent labels, and its hybrids with resampling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labelance._arrays._containers import column_counts
from labelance._arrays._open import stack_rows
from labelance._validation._data import Data
from labelance.exceptions import InputError
from labelance.imbalance._above_mean import exceeds
from labelance.imbalance._local import part_cells
from labelance.imbalance._measures import find_scumble
from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    ResamplingPlan,
    RowSampler,
    SamplerTraits,
    apply_draw,
    kept_labels,
    kept_rows,
    shared_constraints,
)
from labelance.sampling._cleaning import MLeNN
from labelance.sampling._mlsmote import MLSMOTE
from labelance.sampling._random import MLROS
from labelance.sampling._strategy import (
    SamplingStrategy,
    above_mean_irlbl,
    resolve_labels,
    rows_by_label,
)


class REMEDIAL(RowSampler):
    """Resampling MultilabEl datasets by Decoupling highly ImbAlanced Labels.

    A row in which rare and frequent labels occur together (its SCUMBLE is above the mean) is
    split into two rows of the same features: the original keeps its majority labels, and a
    copy takes its minority labels (IRLbl above MeanIR).

    It helps before a method that makes more rows of rare labels, which would otherwise repeat
    the frequent ones along with them. It hurts when it is all that is done, or when SCUMBLE is
    low: two rows of equal features then contradict each other on every label.

    Parameters
    ----------
    sampling_strategy : str, list or callable, default="auto"
        The labels that go to the copies: "auto" and "minority" mean those with IRLbl above its
        mean, "imbalanced" those with ImR above its mean, "all" every label; or names, numbers
        or a mask of labels; or a function of y that returns any of these. Which rows are
        decoupled depends on their SCUMBLE alone.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    decoupled_indices_, seed_indices_ : ndarray
        The rows that were split; the copies follow the original rows in this order.
    n_empty_ : int
        Rows that were split although their labels are all on one side.
    sampling_strategy_ : dict
        The labels that go to the copies, by name or column number, and how many copies have
        each.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    RemedialHwR : REMEDIAL, then a resampler.
    labelance.imbalance.scumble_instances : SCUMBLE of every row.

    Notes
    -----
    Nothing is left to chance, and the count of every label stays what it was. Features are
    copied as they are, missing and nominal ones too. SCUMBLE is above the mean if it is
    so by more than a billionth of it, so rounding alone never splits a row.

    Where cells of y are unknown (NaN), SCUMBLE is that of the labels that a row is known to have. A
    decoupled row passes its unknown minority labels to its copy, and keeps the others.

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
    >>> y = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [0, 0]])
    >>> X_new, y_new = REMEDIAL().fit_resample(X, y)
    >>> np.column_stack([X_new, y_new]).astype(int)
    array([[0, 1, 0],
           [1, 1, 0],
           [2, 1, 0],
           [3, 1, 0],
           [4, 0, 0],
           [3, 0, 1]])
    """

    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, edits=True, clones=True, random=False, in_blocks=True, needs_all=None
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = shared_constraints(
        "verbose sampling_strategy"
    )

    def __init__(self, *, sampling_strategy: SamplingStrategy = "auto", verbose: int = 0) -> None:
        self.sampling_strategy = sampling_strategy
        self.verbose = verbose

    def _plan(self, data: Data, neighborhood: None) -> Draw:
        rare = resolve_labels(self.sampling_strategy, data, above_mean_irlbl, caller="REMEDIAL")
        draw = decouple(data, rare)
        moved = np.bincount(
            data.Y[draw.provenance["decoupled_indices_"]].indices, minlength=len(rare)
        )
        self.sampling_strategy_ = rows_by_label(data, rare, moved)
        return draw

    def _draw(self, data: Data, plan: Draw, rng: np.random.Generator) -> Draw:
        return plan


def decouple(data: Data, rare: np.ndarray) -> Draw:
    """Return the rows after decoupling, their labels, and which were split."""
    n, Y = data.n_samples, data.Y
    scumble = find_scumble(Y, column_counts(Y))
    is_split = exceeds(scumble, scumble.mean())
    split = np.flatnonzero(is_split)
    Y_rows, n_labels = _split_cells(Y, rare, is_split), np.diff(Y.indptr)[split]
    n_moved = np.diff(Y_rows.indptr)[n:]
    provenance = {
        "decoupled_indices_": split,
        "seed_indices_": split,
        "n_empty_": int(np.count_nonzero((n_moved == 0) | (n_moved == n_labels))),
    }
    if len(split) == 0:
        return Draw(provenance=provenance)
    unknown = data.unknown
    return Draw(
        np.concatenate([np.arange(n), split]),
        Y_rows,
        unknown_rows=None if unknown is None else _split_cells(unknown, rare, is_split),
        provenance=provenance,
    )


def _split_cells(M: sp.csr_array, rare: np.ndarray, is_split: np.ndarray) -> sp.csr_array:
    """Return the cells of rows without the rare labels of those that are split, then these."""
    moves = rare[M.indices] & np.repeat(is_split, np.diff(M.indptr))
    moved, kept = part_cells(M, moves)
    return stack_rows(kept, moved[is_split])


# What a decoupled copy has where its resampler says something about the rows it made.
_OF_A_COPY = {"label_indices_": -1, "positions_": 0.0}


class RemedialHwR(BaseMultiLabelSampler):
    """REMEDIAL Hybridized with Resampling.

    Rows in which rare and frequent labels occur together are decoupled as by
    :class:`REMEDIAL`; then a resampler works on the result, with all measures taken again. So
    rare labels can be repeated, or frequent ones thinned out, without the other kind.

    It helps where SCUMBLE is high, so that resampling alone would change both kinds of labels
    together. It hurts where labels depend on each other, since decoupled rows deny it: in the
    study of Liu and Tsoumakas (2019) it ranked below no resampling at all.

    Parameters
    ----------
    resampler : sampler, optional
        The second step; :class:`MLSMOTE` unless given. Its ``random_state`` is not used.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    decoupled_indices_ : ndarray
        The rows that were split.
    n_empty_ : int
        Rows that were split although their labels are all on one side.
    seed_indices_ : ndarray of shape (n_new,)
        For every row after the original ones, the row of X it comes from: the row that it
        copies, or its seed. With MLSMOTE's
        ``variant="mulan"`` also synthetic rows of the result.
    sample_indices_ : ndarray
        The original rows that were kept, if the resampler deletes rows.
    constant_labels_ : ndarray
        Labels present in no row or in all.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    RHwRSMT : With MLSMOTE.
    RHwROS : With MLROS.
    RHwHUS : With MLeNN.

    Notes
    -----
    Other attributes are the resampler's, with an entry for each copy first: a copy has itself
    as reference, -1 as label and 0 as position. How X is opened (``categorical_features``,
    ``missing``) is the resampler's matter as well. A function as its ``sampling_strategy`` is
    given the original y, before rows are decoupled.

    Cost: that of the resampler on n plus the decoupled rows.

    How ours differs from known programs: see :class:`REMEDIAL` and the resampler. The row and
    its copy are at distance 0, so they often are each other's neighbors; programs that leave
    out the first neighbor instead of the row itself then meet the row itself.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera (2019): REMEDIAL-HwR: Tackling
    multilabel imbalance through label decoupling and data resampling hybridization.
    Neurocomputing 326-327, 110-122.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLSMOTE, RemedialHwR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> sampler = RemedialHwR(resampler=MLSMOTE(k_neighbors=3), random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> len(sampler.decoupled_indices_), len(X_new)
    (10, 119)
    >>> y.sum(axis=0), y_new.sum(axis=0)  # only the rare label was repeated
    (array([46, 18,  9]), array([46, 18, 18]))
    """

    _default: ClassVar[type[BaseMultiLabelSampler]] = MLSMOTE

    @property
    def traits(self) -> SamplerTraits:  # type: ignore[override]
        """What both steps do together."""
        second = self._second().traits
        return replace(
            second,
            adds=True,
            edits=True,
            clones=second.clones or not second.adds,
            exact_budget=False,
            finds_neighbors=False,
            in_blocks=False,
        )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints("verbose random_state"),
        "resampler": [BaseMultiLabelSampler, None],
    }

    def __init__(
        self,
        *,
        resampler: BaseMultiLabelSampler | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.resampler = resampler
        self.random_state = random_state
        self.verbose = verbose

    def _second(self) -> BaseMultiLabelSampler:
        return self._default() if self.resampler is None else self.resampler

    def _validation_options(self) -> dict[str, Any]:
        return self._second()._validation_options()

    def _distance_options(self) -> dict[str, Any]:
        return self._second()._distance_options()

    def _plan(self, data: Data, neighborhood: None) -> tuple[Draw, ResamplingPlan]:
        """Return the decoupling, and the resampler's plan for the rows after it."""
        resampler = clone(self._second())
        if not resampler._supports_blocks:
            raise InputError(
                f"resampler of {type(self).__name__} must be a single method",
                f"Got a {type(resampler).__name__}",
                "Chain them instead: SamplerSequence([REMEDIAL(), …])",
            )
        resampler._validate_params()
        decoupling = decouple(data, above_mean_irlbl(data.Y))
        return decoupling, resampler._plan_data(apply_draw(decoupling, data), None)

    def _draw(
        self, data: Data, plan: tuple[Draw, ResamplingPlan], rng: np.random.Generator
    ) -> Draw:
        decoupling, after = plan
        second = after.sampler._draw(after.data, after.details, rng)
        rows = kept_rows(decoupling, data.n_samples)
        Y_rows, unknown_rows = kept_labels(second, after.data)
        provenance = _join_provenance(rows, data.n_samples, second.provenance)
        return replace(
            second,
            rows=rows[kept_rows(second, len(rows))],
            Y_rows=Y_rows,
            unknown_rows=unknown_rows,
            provenance={**decoupling.provenance, **provenance},
        )


class RHwRSMT(RemedialHwR):
    """REMEDIAL, then MLSMOTE: synthetic rows of rare labels without frequent ones.

    Parameters
    ----------
    resampler : sampler, optional
        The second step; :class:`MLSMOTE` with its defaults unless given.
    random_state, verbose
        As in :class:`RemedialHwR`, where all that it learns, its cost and its reference are
        written down.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import RHwRSMT
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((50, 3)), (rng.random((50, 3)) < [0.6, 0.3, 0.1]).astype(int)
    >>> X_new, y_new = RHwRSMT(random_state=0).fit_resample(X, y)
    >>> len(X_new) > len(X)
    True
    """


class RHwROS(RemedialHwR):
    """REMEDIAL, then MLROS: clones of rows with rare labels without frequent ones.

    Parameters
    ----------
    resampler : sampler, optional
        The second step; :class:`MLROS` with its defaults unless given.
    random_state, verbose
        As in :class:`RemedialHwR`, where all that it learns, its cost and its reference are
        written down.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import RHwROS
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((50, 3)), (rng.random((50, 3)) < [0.6, 0.3, 0.1]).astype(int)
    >>> sampler = RHwROS(random_state=0)
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> bool((X_new[50:] == X[sampler.seed_indices_]).all())
    True
    """

    _default = MLROS


class RHwHUS(RemedialHwR):
    """REMEDIAL, then MLeNN: frequent rows that contradict their neighbors are deleted.

    Parameters
    ----------
    resampler : sampler, optional
        The second step; :class:`MLeNN` with its defaults unless given.
    random_state, verbose
        As in :class:`RemedialHwR`, where all that it learns, its cost and its reference are
        written down.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import RHwHUS
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((50, 3)), (rng.random((50, 3)) < [0.6, 0.3, 0.1]).astype(int)
    >>> sampler = RHwHUS()
    >>> X_new, y_new = sampler.fit_resample(X, y)
    >>> len(sampler.sample_indices_) < len(X)
    True
    """

    _default = MLeNN


def _join_provenance(rows: np.ndarray, n: int, second: Any) -> dict[str, Any]:
    """Put the copies first, and call rows that the resampler saw by their numbers in X."""
    kept = second.get("sample_indices_", np.arange(len(rows)))
    copies = rows[kept[kept >= n]]
    joined = {"seed_indices_": copies, **second}
    for name in ("seed_indices_", "reference_indices_"):
        if name in second:
            old = second[name] < len(rows)
            parents = np.where(old, rows[np.where(old, second[name], 0)], second[name])
            joined[name] = np.concatenate([copies, parents])
    for name in _OF_A_COPY.keys() & second.keys():
        joined[name] = np.concatenate([np.full(len(copies), _OF_A_COPY[name]), second[name]])
    if "sample_indices_" in second:
        joined["sample_indices_"] = kept[kept < n]
    return joined
