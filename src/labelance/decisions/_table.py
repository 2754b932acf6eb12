"""Results with one line per label: as a data frame, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelance._arrays._cells import cells_at_least
from labelance._utils._notebook import draw_result
from labelance._validation._arguments import check_probability
from labelance._validation._predictions import validate_score_table
from labelance.decisions._objectives import Objective, objective_of_label, objective_value
from labelance.imbalance._measures import rarest_first

_MOST_LINES = 20
_DRAWS = 2000  # of an interval: its ends vary by about a hundredth of its width


class LabelTable:
    """Show a result that has one line per label; a subclass gives ``_columns``."""

    names: tuple[Any, ...] | None

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def _caption(self) -> str:
        raise NotImplementedError

    def _take(self, *names: str) -> dict[str, Any]:
        """Return some of the attributes, as columns."""
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per label."""
        import pandas as pd

        columns = self._columns()
        index = self.names or range(len(next(iter(columns.values()))))
        return pd.DataFrame(columns, index=pd.Index(index, name="label"))

    def __str__(self) -> str:
        columns = self._columns()
        lines = [["label", *columns]]
        for j, cells in zip(range(_MOST_LINES), zip(*columns.values())):
            lines.append([str(self.names[j] if self.names else j), *map(_text, cells)])
        more = len(next(iter(columns.values()))) - _MOST_LINES
        last = [f"… {more} more"] * (more > 0)
        widths = [max(map(len, column)) for column in zip(*lines)]
        widths[0] = max(widths[0], *map(len, last), 0)
        shown = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths)).rstrip() for row in lines]
        return "\n".join([self._caption(), "", *shown, *last])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self._columns()
        rarity = np.asarray(columns.get("n_positive", columns.get("n_expected")))
        return draw_result(
            self._caption(),
            {"label": self.names or range(len(rarity)), **columns},
            order=rarest_first(rarity).tolist(),
        )


class ThresholdTable(LabelTable):
    """Show a result with one threshold per label, and decide rows by it."""

    thresholds: np.ndarray

    def predict(self, y_score: Any) -> Any:
        """Return the labels, 0 or 1, of rows with these scores.

        Parameters
        ----------
        y_score : array, sparse matrix, tensor or data frame of shape (n, n_labels)
            Scores of any rows, by the same model. Scores that are not stored are 0.

        Returns
        -------
        y : ndarray or csr_array of shape (n, n_labels)
            1 where a score reaches the threshold of its label; sparse for sparse scores.
        """
        caller = f"{type(self).__name__}.predict"
        table = validate_score_table(
            y_score, len(self.thresholds), caller=caller, sparse=True, names=self.names
        )
        return cells_at_least(table, self.thresholds)


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(ThresholdTable):
    """A threshold for every label, with what it finds and why it is what it is.

    Attributes
    ----------
    thresholds : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this: ``inf`` never, ``-inf`` always.
    n_positive, n_known : ndarray of shape (n_labels,)
        Rows with the label, and rows in which it is known; sums of weights where there are any.
    n_predicted, n_found : ndarray of shape (n_labels,)
        Rows that the threshold predicts, and those among them that have the label.
    value : ndarray of shape (n_labels,)
        The objective at the threshold, on the rows that it was found on. These rows flatter it.
    reasons : tuple of str
        Why the threshold of each label is what it is.
    names : tuple or None
        Names of the labels, where they are given, or the labels or scores have them.
    objective : str or callable
        What the thresholds are for.
    """

    thresholds: np.ndarray
    n_positive: np.ndarray
    n_known: np.ndarray
    n_predicted: np.ndarray
    n_found: np.ndarray
    value: np.ndarray
    reasons: tuple[str, ...]
    names: tuple[Any, ...] | None
    objective: Any

    def interval(self, level: float = 0.9) -> np.ndarray:
        """Return between which values the objective of each label lies with some probability.

        From Jeffreys' distributions of recall and of the rate of false alarms at the threshold,
        2,000 draws of each. That the threshold was chosen on these rows is not in it.

        Parameters
        ----------
        level : float, default=0.9
            The probability, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_labels, 2)
            nan for labels that no row has.
        """
        check_probability("level", level)
        rng = np.random.default_rng(0)
        ends = np.full((len(self.thresholds), 2), np.nan)
        for label in map(int, np.flatnonzero(self.n_positive > 0)):
            draws = self._draw_values(label, rng)
            low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
            # Where all or nothing was found, the value itself is at the very end.
            ends[label] = min(low, self.value[label]), max(high, self.value[label])
        return ends

    def _draw_values(self, label: int, rng: np.random.Generator) -> np.ndarray:
        positive, n = float(self.n_positive[label]), float(self.n_known[label])
        hits = float(self.n_found[label])
        false = float(self.n_predicted[label]) - hits
        recall = rng.beta(hits + 0.5, positive - hits + 0.5, _DRAWS)
        alarms = rng.beta(false + 0.5, max(n - positive - false, 0) + 0.5, _DRAWS)
        objective: Objective = objective_of_label(self.objective, label)
        return objective_value(objective, recall * positive, alarms * (n - positive), positive, n)

    def _columns(self) -> dict[str, Any]:
        low, high = self.interval().T
        counts = self._take("n_positive", "n_known", "n_predicted", "n_found", "value")
        ends = {"low": low, "high": high, "reason": self.reasons}
        return {"threshold": self.thresholds, **counts, **ends}

    def _caption(self) -> str:
        never = int(np.isposinf(self.thresholds).sum())
        objective = self.objective if isinstance(self.objective, str) else repr(self.objective)
        # F of a label that no row has, and that is never predicted, is 1, which says nothing.
        earned = self.value[self.n_positive > 0]
        mean = f", mean {np.nanmean(earned):.3f}" if len(earned) else ""
        return (
            f"Thresholds of {len(self.thresholds)} labels for {objective}{mean}; "
            f"{never} never predicted"
        )


def _text(value: Any) -> str:
    """Return a cell as text, numbers with four digits."""
    if isinstance(value, (float, np.floating)):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return str(value)
