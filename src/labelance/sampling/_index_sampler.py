"""Row numbers drawn in proportion to weights, epoch after epoch."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from labelance._utils import RandomStateLike, as_generator, optional_import
from labelance.exceptions import InputError
from labelance.sampling._mlsol import choose_seeds


class WeightedIndexSampler:
    """An iterable of row numbers, drawn anew in proportion to weights each time it is iterated.

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
                "num_samples is a number of rows, at least 1",
                f"{num_samples} came",
                "Leave it out to draw as many as there are weights",
            )
        if not replacement and self.num_samples > available:
            raise InputError(
                f"{self.num_samples} rows are to be drawn without replacement",
                f"only {available} have a weight above 0",
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
    came = None
    if values.ndim != 1 or not len(values):
        came = f"they have the shape {values.shape}"
    elif not np.isfinite(values).all() or (values < 0).any():
        came = "some are negative or not finite"
    elif not values.any():
        came = "all are 0"
    if came:
        raise InputError(
            "weights is a list of one number from 0 on for every row",
            came,
            "Make them with labelance.sampling.sample_weights(X, Y)",
        )
    return values
