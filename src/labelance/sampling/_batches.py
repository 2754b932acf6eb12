"""Batches in which rare labels take turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import check_positive
from labelance._validation._labels import validate_labels
from labelance.exceptions import InputError


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
