"""The cuts of a label's scores: what every threshold would find there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._validation._arguments import Weights, take_weights
from labelance.decisions._objectives import Objective, objective_value

_SUM_BITS = 50  # of the sum of all weights: a double has 53, and F doubles a sum


class Counts(NamedTuple):
    """Positives among the rows that a threshold chooses, and how many it chooses; or weights."""

    hits: Any
    chosen: Any
    n_positive: Any  # of rows in which the label is known
    n: Any

    def value(self, objective: Objective) -> np.ndarray:
        """Return the value of an objective."""
        false = self.chosen - self.hits
        return objective_value(objective, self.hits, false, self.n_positive, self.n)


class Cuts(NamedTuple):
    """Scores of a label from the largest down, and what each chooses as a threshold.

    All distinct scores; or, of rows that count once, those that may be best for a measure.
    """

    scores: np.ndarray
    counts: Counts
    ranked: np.ndarray | None = None  # all scores, ascending, of rows that count once
    found: np.ndarray | None = None  # and those of rows with the label

    def at(self, thresholds: Any) -> Counts:
        """Return what other thresholds choose."""
        hits, chosen, n_positive, n = self.counts
        if self.ranked is not None and self.found is not None:
            below = np.searchsorted(self.ranked, thresholds)
            return Counts(
                n_positive - np.searchsorted(self.found, thresholds), n - below, n_positive, n
            )
        above = len(self.scores) - np.searchsorted(self.scores[::-1], thresholds)
        return Counts(np.append(0, hits)[above], np.append(0, chosen)[above], n_positive, n)

    def nearest(self, target: float) -> float:
        """Return the threshold that chooses nearest to this many rows; of two, the fewer.

        Rows with the same score are chosen together. Where no row at all is nearer, since
        many share the largest score, the threshold is just above it.
        """
        if self.ranked is None:
            distance = np.abs(self.counts.chosen - target)
            most, best = self.scores[0], self.scores[np.argmin(distance)]
            none = distance.min() > target
        else:
            most = self.ranked[-1]
            inside = self.ranked[-min(math.ceil(target), len(self.ranked))]
            fewer = int(self.at(np.nextafter(inside, np.inf)).chosen)
            more = int(self.at(inside).chosen)
            none = fewer == 0 and more - target > target
            up = fewer > 0 and target - fewer <= more - target
            best = self.ranked[-fewer] if up else inside
        return float(np.nextafter(most, np.inf) if none else best)


def round_weights(weight: Weights) -> Weights:
    """Return weights, rounded to a common power of two so that their sums have no error.

    So sums do not depend on their order, and ties of equal weights are those of ones.
    """
    if weight is None:
        return None
    shift = _SUM_BITS - np.frexp(weight.sum())[1]
    return np.ldexp(np.rint(np.ldexp(weight, shift)), -shift)


class ScoredRows(NamedTuple):
    """Scores of rows whose labels are known, read label by label.

    ``scores`` is an array or a CSC array, in which a cell that is not stored has the score 0.
    """

    Y: sp.csc_array
    scores: Any
    unknown: sp.csc_array | None = None
    weight: Weights = None

    @classmethod
    def of(
        cls,
        Y: sp.csr_array,
        scores: Any,
        unknown: sp.csr_array | None = None,
        weight: Weights = None,
    ) -> ScoredRows:
        """Return tables of rows, made ready to be read by label."""
        columns = scores if isinstance(scores, np.ndarray) else scores.tocsc()
        hidden = None if unknown is None else unknown.tocsc()
        return cls(Y.tocsc(), columns, hidden, round_weights(weight))

    def n_positive(self) -> np.ndarray:
        """Return how many rows have each label, or their weight."""
        return self.Y.sum(axis=0) if self.weight is None else self.weight @ self.Y

    def vary(self) -> np.ndarray:
        """Say of every label whether the rows in which it is known disagree on it."""
        n_known = self.Y.shape[0] - _counts_of(self.unknown)
        return (_counts_of(self.Y) > 0) & (_counts_of(self.Y) < n_known)

    def is_certain(self, label: int) -> bool:
        """Say whether every row in which a label is known has it."""
        n_known = self.Y.shape[0] - len(_rows_of(self.unknown, label))
        return 0 < n_known == len(_rows_of(self.Y, label))

    def take(self, rows: np.ndarray) -> ScoredRows:
        """Return some of the rows."""
        unknown = None if self.unknown is None else self.unknown[rows]
        return ScoredRows(self.Y[rows], self.scores[rows], unknown, take_weights(self.weight, rows))

    def cuts_of(self, label: int, *, monotone: bool = False) -> Cuts:
        """Return the cuts of a label, from the rows in which it is known.

        All of them, or those that may be best for a measure that false alarms always lower.
        """
        if self.weight is None and isinstance(self.scores, np.ndarray):
            return _plain_cuts(*self._plain(label), monotone=monotone)
        return _weighted_cuts(*self._weighted(label))

    def counts_at(self, label: int, threshold: float) -> Counts:
        """Return what one threshold of a label chooses."""
        if self.weight is None and isinstance(self.scores, np.ndarray):
            known, positive = self._plain(label)
            hits, chosen = (np.count_nonzero(part >= threshold) for part in (positive, known))
            return Counts(hits, chosen, len(positive), len(known))
        scores, found, weight = self._weighted(label)
        above = scores >= threshold
        return Counts(found[above].sum(), weight[above].sum(), found.sum(), weight.sum())

    def _plain(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of rows in which a label is known, and of those that have it."""
        column = np.ascontiguousarray(self.scores[:, label])
        unknown = _rows_of(self.unknown, label)
        known = np.delete(column, unknown) if len(unknown) else column
        return known, column[_rows_of(self.Y, label)]

    def _weighted(self, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores, the weight of the label's rows and that of rows, where it is known."""
        positive, unknown = _rows_of(self.Y, label), _rows_of(self.unknown, label)
        if isinstance(self.scores, np.ndarray):
            rows, scores = np.arange(len(self.scores)), self.scores[:, label]
        else:
            rows = _rows_of(self.scores, label)
            scores = self.scores.data[self.scores.indptr[label] : self.scores.indptr[label + 1]]
        if len(unknown):
            known = ~np.isin(rows, unknown)
            rows, scores = rows[known], scores[known]
        weight = self._weight_of(rows)
        found = np.where(np.isin(rows, positive), weight, 0)
        if len(rows) + len(unknown) < self.Y.shape[0]:  # one row for all that are not stored
            total = self.Y.shape[0] if self.weight is None else self.weight.sum()
            others = total - self._weight_of(unknown).sum() - weight.sum()
            scores, weight = np.append(scores, 0.0), np.append(weight, others)
            found = np.append(found, self._weight_of(positive).sum() - found.sum())
        return scores, found, weight

    def _weight_of(self, rows: np.ndarray) -> np.ndarray:
        return np.ones(len(rows), dtype=np.int64) if self.weight is None else self.weight[rows]


def _rows_of(table: sp.csc_array | None, column: int) -> np.ndarray:
    if table is None:
        return np.zeros(0, dtype=np.intp)
    return table.indices[table.indptr[column] : table.indptr[column + 1]]


def _counts_of(table: sp.csc_array | None) -> Any:
    return 0 if table is None else np.diff(table.indptr)


def _plain_cuts(scores: np.ndarray, positive: np.ndarray, *, monotone: bool) -> Cuts:
    """Return cuts of rows that all count once: sorting values is much faster than arguments.

    Of the cuts with the same positives, a monotone measure is best at the first: the score of a
    positive, or the largest score of all.
    """
    ranked, found = np.sort(scores), np.sort(positive)
    tried = np.append(found, ranked[-1:]) if monotone else ranked
    tried = tried[::-1][_ends_of_runs(tried[::-1])]
    cuts = Cuts(tried, Counts(0, 0, len(found), len(scores)), ranked, found)
    upwards = cuts.at(tried[::-1])  # ascending keys are found faster
    counts = upwards._replace(hits=upwards.hits[::-1], chosen=upwards.chosen[::-1])
    return cuts._replace(counts=counts)


def _weighted_cuts(scores: np.ndarray, found: np.ndarray, weight: np.ndarray) -> Cuts:
    order = np.argsort(-scores, kind="stable")
    ends = _ends_of_runs(scores[order])
    hits, chosen = np.cumsum(found[order])[ends], np.cumsum(weight[order])[ends]
    return Cuts(scores[order][ends], Counts(hits, chosen, found.sum(), weight.sum()))


def _ends_of_runs(ranked: np.ndarray) -> np.ndarray:
    """Return where runs of equals end: a threshold takes all rows with its score."""
    last = np.ones(len(ranked), dtype=bool)
    last[:-1] = ranked[:-1] != ranked[1:]
    return np.flatnonzero(last)
