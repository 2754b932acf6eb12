"""Weights instead of rows: the rivals of resampling that leave the data as they are."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._messages import optional_import
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._features import MissingPolicy
from labelance._validation._labels import validate_labels
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
    if kind not in get_args(WeightKind):
        raise InputError(
            "kind must be 'balanced', 'positive' or 'effective'",
            f"Got {kind!r}",
            "Choose one of these",
        )
    if not 0 <= beta < 1:
        raise InputError("beta must be in [0, 1)", f"Got {beta!r}", "Try 0.999")
    labels = validate_labels(y, caller="label_weights", needs_all=None)
    ones = column_counts(labels.Y)
    counts = np.column_stack([labels.n_known - ones, ones])
    weights = np.ones(counts.shape)
    varies = (counts > 0).all(axis=1)
    n = labels.n_known[varies, None]
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
        raise InputError(
            "floor must be in [0, 1], a share of the mean weight", f"Got {floor!r}", "Try 0.1"
        )
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
        self.num_samples = len(self.weights) if num_samples is None else num_samples
        self.replacement = replacement
        self._rng = as_generator(random_state)
        available = np.count_nonzero(self.weights)
        if operator.index(self.num_samples) < 1:
            raise InputError(
                "num_samples must be an integer >= 1",
                f"Got {num_samples}",
                "Omit it to draw as many rows as there are weights",
            )
        if not replacement and self.num_samples > available:
            raise InputError(
                f"{self.num_samples} rows cannot be drawn without replacement",
                f"Only {available} rows have a weight above 0",
                "Lower num_samples, or set replacement=True",
            )

    def __len__(self) -> int:
        return int(self.num_samples)

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
        raise InputError(
            "weights must be a list of numbers >= 0, one per row",
            found,
            "Make them with labelance.sampling.sample_weights(X, y)",
        )
    return values
