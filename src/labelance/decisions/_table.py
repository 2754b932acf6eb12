"""Results with one line per label: as a data frame, as text and as HTML."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelance._arrays._cells import cells_at_least
from labelance._utils._messages import optional_import
from labelance._utils._notebook import draw_result
from labelance._validation._predictions import validate_score_table
from labelance.imbalance._measures import rarest_first

_MOST_LINES = 20


class LabelTable:
    """Show a result that has one line per label; a subclass gives ``_columns``."""

    names: tuple[Any, ...] | None

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def _caption(self) -> str:
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per label."""
        purpose = f"{type(self).__name__}.to_frame"
        pandas = optional_import("pandas", extra="data", purpose=purpose)
        columns = self._columns()
        index = self.names or range(len(next(iter(columns.values()))))
        return pandas.DataFrame(columns, index=pandas.Index(index, name="label"))

    def _lines(self) -> list[list[str]]:
        """Return the cells of the first lines as text, under the heads."""
        columns = self._columns()
        lines = [["label", *columns]]
        for j, cells in enumerate(zip(*columns.values())):
            if j == _MOST_LINES:
                lines.append([f"… {len(next(iter(columns.values()))) - j} more"])
                break
            lines.append([str(self.names[j] if self.names else j), *map(_text, cells)])
        return lines

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(row[j]) for row in lines if j < len(row)) for j in range(len(lines[0]))]
        shown = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths)).rstrip() for row in lines]
        return "\n".join([self._caption(), "", *shown])

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


def _text(value: Any) -> str:
    """Return a cell as text, numbers with four digits."""
    if isinstance(value, (float, np.floating)):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return str(value)
