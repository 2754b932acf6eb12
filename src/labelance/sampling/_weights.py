"""Weights and batches instead of rows: the rivals of resampling that leave the data as they are.

Weights of labels and rows for learners; weights of cells, shifts of logits and exponents for the
losses of neural networks; and what draws the rows of their batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from labelance._arrays._containers import column_counts
from labelance._utils._messages import optional_import
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import check_choice, check_positive
from labelance._validation._data import MissingPolicy, validate_labels
from labelance.exceptions import InputError
from labelance.neighbors._metric import Scale
from labelance.sampling._mlsol import MLSOL, choose_seeds

WeightKind = Literal["balanced", "positive", "effective"]
Floats = NDArray[np.float64]


def label_weights(y: Any, *, kind: WeightKind = "balanced", beta: float = 0.999) -> Floats:
    """Return a weight for the absence and one for the presence of every label.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. Unknown cells (NaN) are left out.
    kind : {"balanced", "positive", "effective"}, default="balanced"
        "balanced" gives both classes of a label the same total weight, and all its cells the
        mean weight 1: n / (2 * count), as scikit-learn's ``class_weight="balanced"``.
        "positive" leaves absence at 1 and gives presence the whole balance: the number of
        zeros over the number of ones, as torch's ``pos_weight``.
        "effective" divides by the effective number of rows, (1 - beta^count) / (1 - beta), which
        grows the less the more rows there are; all cells of a label have the mean weight 1.
    beta : float, default=0.999
        For "effective": 0 gives all the weight 1, and towards 1 it becomes "balanced".

    Returns
    -------
    ndarray of shape (n_labels, 2)
        ``weights[j, 0]`` for rows without label j and ``weights[j, 1]`` for rows with it.
        A label that is the same in all rows has the weight 1 for both.

    See Also
    --------
    sample_weights : One weight per row.
    distribution_balanced_weights : One weight per cell.

    Notes
    -----
    Cost: O(ones of y).

    References
    ----------
    Y. Cui, M. Jia, T.-Y. Lin, Y. Song, S. Belongie (2019): Class-Balanced Loss Based on Effective
    Number of Samples. CVPR. There the weights of all classes add up to their number.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import label_weights
    >>> y = np.array([[1, 0], [0, 0], [0, 0], [0, 0]])
    >>> label_weights(y).round(2).tolist()
    [[0.67, 2.0], [1.0, 1.0]]
    >>> label_weights(y, kind="positive").tolist()
    [[1.0, 3.0], [1.0, 1.0]]
    """
    check_choice("kind", kind, get_args(WeightKind))
    if not 0 <= beta < 1:
        raise InputError("beta must be in [0, 1)", f"Got {beta!r}", "Try 0.999")
    counts = np.column_stack(_class_counts(y, caller="label_weights"))
    weights = np.ones(counts.shape)
    varies = (counts > 0).all(axis=1)
    n = counts[varies].sum(axis=1, keepdims=True)
    if kind == "balanced":
        weights[varies] = n / (2 * counts[varies])
    elif kind == "effective":
        per_row = (1 - beta) / (1 - beta ** counts[varies])
        weights[varies] = per_row * n / (per_row * counts[varies]).sum(axis=1, keepdims=True)
    else:
        weights[varies, 1] = counts[varies, 0] / counts[varies, 1]
    return weights


def sample_weights(
    X: Any,
    y: Any,
    *,
    floor: float = 0.1,
    k_neighbors: Any = 5,
    metric: str = "euclidean",
    scale: Scale = None,
    categorical_features: Any = None,
    missing: MissingPolicy = "error",
    neighborhood: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return a weight for every row: high where its minority cells are hard, as MLSOL's w.

    MLSOL draws its seeds with these weights; a learner that takes ``sample_weight``, or an
    index sampler, can use them without any synthetic row.

    MLSOL gives nothing to a minority cell all of whose neighbors are of the other class: it takes
    it for noise. A label with such cells only would be met less often than without weights. Where
    that happens to a label in fewer rows than the median label, its rows get at least the mean
    weight: each of these labels is drawn, in expectation, at least as often as it is in the data.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array, sparse matrix or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.
    floor : float, default=0.1
        The weight of a row without any minority cell worth extending: of the weight of all
        rows, this share is spread evenly, and the rest in proportion to w. With 0 such rows
        have no weight at all (but for those of rare labels, see above), with 1 all rows have the
        same.
    k_neighbors, metric, scale, categorical_features, missing, n_jobs
        How neighbors are found, as in :class:`MLSOL`.
    neighborhood : Neighborhood, optional
        Neighbors of the rows of X found before.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights of mean 1, none below ``floor``.

    See Also
    --------
    label_weights : Weights per label and class.
    WeightedIndexSampler : Draws row numbers in proportion to weights.
    labelance.imbalance.local_distribution : w itself.

    Notes
    -----
    Cost: one neighbor search, O(n² d).

    References
    ----------
    B. Liu, G. Tsoumakas (2019): Synthetic Oversampling of Multi-Label Data based on Local
    Label Distribution. ECML PKDD.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import sample_weights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> weights = sample_weights(X, y)
    >>> round(weights.mean(), 9), round(weights.min(), 9)
    (np.float64(1.0), np.float64(0.1))
    """
    if not 0 <= floor <= 1:
        raise InputError("floor must be in [0, 1], a share of the mean weight", f"Got {floor!r}")
    sampler = MLSOL(
        k_neighbors=k_neighbors,
        metric=metric,
        scale=scale,
        categorical_features=categorical_features,
        missing=missing,
        n_jobs=n_jobs,
    )
    plan = sampler.plan(X, y, neighborhood=neighborhood)
    w = plan.details.local.weights
    return floor + (1 - floor) * _keep_rare(w / w.mean(), plan.data.Y)


def _keep_rare(w: Floats, Y: sp.csr_array) -> Floats:
    """Raise rows to the mean weight 1 until no rare label weighs less than with equal weights.

    Only rows of labels that would lose are raised, and the others give in proportion. That ends:
    equal weights are the last resort.
    """
    count, n = column_counts(Y), len(w)
    rare = np.zeros(len(count), dtype=bool)
    if count.any():
        rare = (count > 0) & (count < np.median(count[count > 0]))
    raised, kept = np.zeros(n, dtype=bool), w
    while True:
        short = rare & (kept @ Y < count * (1 - 1e-9))
        added = (Y @ short > 0) & (kept < 1)
        if not added.any():
            return kept
        raised |= added
        kept = np.where(raised, 1.0, w * ((n - raised.sum()) / w[~raised].sum()))


def distribution_balanced_weights(
    y: Any,
    *,
    label_counts: ArrayLike | None = None,
    alpha: float = 0.1,
    beta: float = 10.0,
    mu: float = 0.2,
) -> Floats:
    """Return the re-balancing weights of the distribution-balanced loss, one for every cell.

    A sampler that wants to see a rare label often meets its rows' frequent labels as often. These
    weights compare the chance of a row by one of its labels with its chance by all of them, and
    so take that back: of a row with a rare and a frequent label, the rare one weighs more.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones: of all rows, or of a batch.
    label_counts : array-like of shape (n_labels,), optional
        How many training rows have each label, where y is a batch; else they are counted in y.
    alpha : float, default=0.1
        The lift of the smoothing function.
    beta : float, default=10.0
        Its steepness.
    mu : float, default=0.2
        The ratio at which it is steepest.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
        alpha + 1 / (1 + exp(-beta (r - mu))) with the ratio r of label j in a row: 1 / count_j
        over the sum of 1 / count of all labels that the row has. Where the row has no label, r
        is infinite and the weight alpha + 1.

    See Also
    --------
    label_weights : Two weights for every label, whatever the row.
    logit_adjustment : The other half of that loss shifts logits.

    Notes
    -----
    Multiply the loss of every cell, present or absent, by its weight. A label that no training row
    has counts as one that one row has. Cost: O(n q), since every cell has a weight; for large
    data ask batch by batch.

    References
    ----------
    T. Wu, Q. Huang, Z. Liu, Y. Wang, D. Lin (2020): Distribution-Balanced Loss for Multi-Label
    Classification in Long-Tailed Datasets. ECCV.

    Examples
    --------
    >>> from labelance.sampling import distribution_balanced_weights
    >>> y = [[1, 1], [1, 0], [1, 0], [1, 0]]  # the first row has both, and r = 0.2 and 0.8
    >>> distribution_balanced_weights(y)[0].round(3)
    array([0.6  , 1.098])
    """
    Y = validate_labels(y, caller="distribution_balanced_weights").Y
    rarity = 1 / np.maximum(_counts(Y, label_counts), 1)
    with np.errstate(divide="ignore"):  # a row without labels
        ratio = rarity / (Y @ rarity)[:, None]
    return alpha + expit(beta * (ratio - mu))


def _counts(Y: Any, given: ArrayLike | None) -> NDArray[Any]:
    counts = column_counts(Y) if given is None else np.asarray(given)
    if counts.shape != (Y.shape[1],) or not (counts >= 0).all():
        raise InputError(
            "label_counts must hold a number of rows for every label of y",
            f"It has shape {counts.shape}, or negative numbers, and y has {Y.shape[1]} labels",
        )
    return counts


def logit_adjustment(y: Any, *, tau: float = 1.0) -> Floats:
    """Return what to add to the logits of every label in training: tau times its log odds.

    A network that is trained with ``logits + adjustment`` learns what is left when the frequency
    of a label is known. Without the adjustment in prediction its scores are those of a world in
    which every label is as often present as absent, and 0.5 is the threshold for balanced error.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The training labels, zeros and ones. Unknown cells (NaN) are left out.
    tau : float, default=1.0
        How much of the imbalance is adjusted for: 0 is nothing, 1 all of it. Small values such as
        0.05 are the start bias of the distribution-balanced loss.

    Returns
    -------
    ndarray of shape (n_labels,)
        tau · log(ones / zeros); 0 for a label that is the same in all rows.

    References
    ----------
    A. K. Menon, S. Jayasumana, A. S. Rawat, H. Jain, A. Veit, S. Kumar (2021): Long-tail learning
    via logit adjustment. ICLR.

    Examples
    --------
    >>> from labelance.sampling import logit_adjustment
    >>> logit_adjustment([[1, 1], [1, 0], [1, 0], [1, 0]]).round(3)
    array([ 0.   , -1.099])
    """
    zeros, ones = _class_counts(y, caller="logit_adjustment")
    varies = (zeros > 0) & (ones > 0)
    odds = np.divide(ones, zeros, out=np.ones(len(ones)), where=varies)
    return tau * np.log(odds)


class FocalParameters(NamedTuple):
    """Parameters of focal and asymmetric losses, label by label.

    Attributes
    ----------
    alpha : ndarray of shape (n_labels,)
        The focal loss's weight of presence; that of absence is 1 - alpha.
    gamma_positive, gamma_negative : ndarray of shape (n_labels,)
        The exponents that present and absent cells are focused by.
    """

    alpha: Floats
    gamma_positive: Floats
    gamma_negative: Floats


def focal_parameters(
    y: Any, *, gamma_positive: float = 0.0, max_gamma: float = 8.0
) -> FocalParameters:
    """Return parameters of a focal or an asymmetric loss for every label.

    The losses have one number for all labels in their papers (alpha = 0.25 and gamma = 2; gamma of
    absence 4 and of presence 0 or 1), though labels differ in imbalance by orders of magnitude.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The training labels, zeros and ones. Unknown cells (NaN) are left out.
    gamma_positive : float, default=0.0
        The exponent of present cells, the same for all labels.
    max_gamma : float, default=8.0
        The largest exponent of absent cells.

    Returns
    -------
    FocalParameters
        ``alpha``, ``gamma_positive`` and ``gamma_negative``, each of shape (n_labels,).

    See Also
    --------
    label_weights : Weights without focus.

    Notes
    -----
    Both rules are ours. alpha is the share of absent cells, so that with 1 - alpha for those both
    classes have the same total weight. gamma_negative is gamma_positive + log2(zeros / ones),
    between gamma_positive and ``max_gamma``: where the network is undecided, at probability 1/2,
    the focus 2^-gamma then gives both classes the same total weight, too. For a label in one of
    17 rows that is the paper's 4. Use one of the two, not both: each balances alone. A label that
    is the same in all rows has alpha 0.5 and equal exponents.

    References
    ----------
    T.-Y. Lin, P. Goyal, R. Girshick, K. He, P. Dollár (2017): Focal Loss for Dense Object
    Detection. ICCV.

    T. Ridnik, E. Ben-Baruch, N. Zamir, A. Noy, I. Friedman, M. Protter, L. Zelnik-Manor (2021):
    Asymmetric Loss For Multi-Label Classification. ICCV.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import focal_parameters
    >>> y = np.arange(17)[:, None] < [1, 8]
    >>> parameters = focal_parameters(y)
    >>> parameters.alpha.round(2), parameters.gamma_negative.round(2)
    (array([0.94, 0.53]), array([4.  , 0.17]))
    """
    zeros, ones = _class_counts(y, caller="focal_parameters")
    varies = (zeros > 0) & (ones > 0)
    ratio = np.divide(zeros, ones, out=np.ones(len(ones)), where=varies)
    gammas = np.full(len(ones), float(gamma_positive))
    return FocalParameters(
        alpha=np.where(varies, zeros / np.maximum(zeros + ones, 1), 0.5),
        gamma_positive=gammas,
        gamma_negative=np.clip(gammas + np.log2(ratio), gammas, np.maximum(gammas, max_gamma)),
    )


def _class_counts(y: Any, *, caller: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many rows are known to lack and to have each label."""
    labels = validate_labels(y, caller=caller, needs_all=None)
    ones = column_counts(labels.Y)
    return labels.n_known - ones, ones


class WeightedIndexSampler:
    """An iterable of row numbers, drawn again in proportion to weights each time it is iterated.

    It is what torch's ``DataLoader(sampler=…)`` asks for, and needs no torch itself: mini
    batches see rows with hard minority labels more often, and no row is made or stored. It
    helps where the data are too large to resample; it hurts as cloning does, since a learner
    meets the same rows again.

    Parameters
    ----------
    weights : array-like of shape (n_samples,)
        Weights of the rows, such as those of :func:`sample_weights`; not negative, and not
        all zero. A row of weight 0 is never drawn.
    num_samples : int, optional
        Row numbers per epoch; as many as there are weights unless given.
    replacement : bool, default=True
        Whether a row may come more than once in an epoch. Without, rows are drawn one at a
        time in proportion to the weights of those left, so heavy rows come early.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from. An int gives the same epochs, different from each
        other, to every sampler made with it.

    See Also
    --------
    sample_weights : Weights from the local distribution of labels.

    Notes
    -----
    Cost: O(n_samples) per epoch, and O(n log n) in all where rows are drawn without
    replacement.

    Examples
    --------
    >>> from labelance.sampling import WeightedIndexSampler
    >>> sampler = WeightedIndexSampler([1, 0, 3], 8, random_state=0)
    >>> len(sampler), list(sampler), list(sampler)
    (8, [2, 2, 0, 0, 2, 2, 2, 2], [2, 2, 2, 0, 2, 0, 2, 0])
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int | None = None,
        *,
        replacement: bool = True,
        random_state: RandomStateLike = None,
    ) -> None:
        self.weights = _checked_weights(weights)
        n = len(self.weights) if num_samples is None else num_samples
        self.num_samples = check_positive("num_samples", n, caller=type(self).__name__)
        self.replacement = replacement
        self._rng = as_generator(random_state)
        available = np.count_nonzero(self.weights)
        if not replacement and self.num_samples > available:
            raise InputError(
                f"num_samples={self.num_samples} rows cannot be drawn without replacement",
                f"Only {available} rows have a weight above 0",
            )

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        """Draw the row numbers of one epoch."""
        if self.replacement:
            drawn = choose_seeds(self.weights, len(self), self._rng)
        else:
            drawn = self._draw_without_replacement()
        return iter(drawn.tolist())

    def _draw_without_replacement(self) -> np.ndarray:
        """Let row i arrive after an exponential time of rate w_i; take the first to arrive."""
        heavy = np.flatnonzero(self.weights)
        arrival = self._rng.standard_exponential(len(heavy)) / self.weights[heavy]
        return heavy[np.argsort(arrival)[: len(self)]]

    def to_torch(self) -> Any:
        """Return this sampler as a ``torch.utils.data.Sampler``, for code that asks for one.

        Returns
        -------
        sampler : torch.utils.data.Sampler
            Iterates this sampler, so both share their epochs.
        """
        data = optional_import("torch.utils.data", extra="gpu", purpose="A torch sampler")
        source = self

        class TorchIndexSampler(data.Sampler):  # type: ignore[name-defined]
            def __iter__(self) -> Iterator[int]:
                return iter(source)

            def __len__(self) -> int:
                return len(source)

        return TorchIndexSampler()

    def __repr__(self) -> str:
        how = "with" if self.replacement else "without"
        return f"<WeightedIndexSampler: {len(self)} of {len(self.weights)} rows, {how} replacement>"


def _checked_weights(weights: Any) -> np.ndarray:
    values = np.array(weights, dtype=np.float64)
    found = None
    if values.ndim != 1 or not len(values):
        found = f"They have shape {values.shape}"
    elif not np.isfinite(values).all() or (values < 0).any():
        found = "Some are negative or not finite"
    elif not values.any():
        found = "All are 0"
    if found:
        raise InputError("weights must be a list of numbers >= 0, one per row", found)
    return values


class RareLabelBatchSampler:
    """An iterable of batches of row numbers, each with some rows of rare labels.

    It is what torch's ``DataLoader(batch_sampler=…)`` asks for, and needs no torch itself. Of
    every batch the last ``n_rare`` rows are drawn for the rare labels, which take turns; the
    others go through all rows. In every epoch

    - each row comes exactly once among the rows that are not drawn;
    - two rare labels have equally many turns, or one more: a batch has at least
      ``n_rare // n`` rows of each of n rare labels;
    - in its turns a label has each of its rows, in random order, before one of them comes again.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The training labels. A row whose cell is unknown (NaN) is not drawn for that label.
    batch_size : int
        Rows of a batch; the last of an epoch may have fewer.
    n_rare : int, optional
        How many of them are drawn for rare labels; a quarter unless given.
    labels : array-like of int, optional
        The columns of y that take turns; those in at most as many rows as the median label has
        unless given. Labels without rows are left out.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from. An int gives the same epochs, different from each
        other, to every sampler made with it.

    See Also
    --------
    WeightedIndexSampler : Draws rows by weights, without a promise for a batch.

    Notes
    -----
    A network sees the rows of very rare labels many times in an epoch and may learn them by heart:
    lower ``n_rare``. Cost of an epoch: a sort of its rows and of the ones of the rare labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import RareLabelBatchSampler
    >>> y = np.arange(60)[:, None] < [40, 3, 2]
    >>> sampler = RareLabelBatchSampler(y, 12, n_rare=2, random_state=0)
    >>> [y[batch].sum(axis=0).tolist() for batch in sampler]
    [[8, 2, 2], [10, 3, 1], [10, 4, 4], [8, 2, 2], [8, 2, 2], [8, 2, 1]]
    """

    def __init__(
        self,
        y: Any,
        batch_size: int,
        *,
        n_rare: int | None = None,
        labels: ArrayLike | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        caller = type(self).__name__
        self.batch_size = check_positive("batch_size", batch_size, caller=caller)
        n_rare = max(self.batch_size // 4, 1) if n_rare is None else n_rare
        self.n_rare = check_positive("n_rare", n_rare, caller=caller)
        if self.n_rare >= self.batch_size:
            raise InputError(
                "n_rare must be below batch_size", f"Got {n_rare} of {batch_size} rows"
            )
        Y = validate_labels(y, caller=caller, needs_all=None).Y
        counts = column_counts(Y)
        rare = counts <= np.median(counts[counts > 0]) if labels is None else np.asarray(labels)
        self.labels = np.arange(len(counts))[rare]
        self.labels = self.labels[counts[self.labels] > 0]
        if not len(self.labels):
            raise InputError("No row has one of the rare labels", "They have no ones in y")
        columns = Y[:, self.labels].tocsc()
        self._rows, self._starts = columns.indices, columns.indptr
        self._n = Y.shape[0]
        self._rng = as_generator(random_state)

    def __len__(self) -> int:
        return -(-self._n // (self.batch_size - self.n_rare))

    def __iter__(self) -> Iterator[list[int]]:
        """Draw the batches of one epoch."""
        step = self.batch_size - self.n_rare
        once, drawn = self._rng.permutation(self._n), self._draw(len(self) * self.n_rare)
        for k in range(len(self)):
            rows = once[k * step : (k + 1) * step], drawn[k * self.n_rare : (k + 1) * self.n_rare]
            yield np.concatenate(rows).tolist()

    def _draw(self, n: int) -> NDArray[np.integer]:
        """Return rows for this many turns of the labels: pass after pass, each shuffled."""
        n_labels, counts = len(self.labels), np.diff(self._starts)
        turns = (n - np.arange(n_labels) - 1) // n_labels + 1  # of each label
        lengths = -(-turns // counts) * counts  # whole passes through its rows
        label = np.repeat(np.arange(n_labels), lengths)
        begins = np.cumsum(lengths) - lengths
        place = np.arange(len(label)) - begins[label]
        rows = self._rows[self._starts[label] + place % counts[label]]
        shuffled = rows[np.lexsort((self._rng.random(len(rows)), place // counts[label], label))]
        turn = np.arange(n)
        return shuffled[begins[turn % n_labels] + turn // n_labels]

    def __repr__(self) -> str:
        return (
            f"<RareLabelBatchSampler: {len(self)} batches of {self.batch_size} rows, "
            f"{self.n_rare} for {len(self.labels)} labels>"
        )
