"""What a resampling did to every label: rows gained and lost, and measures before and after."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import column_counts
from labelance._utils._messages import unknown_name
from labelance._utils._notebook import draw_result
from labelance.imbalance import ImbalanceProfile
from labelance.imbalance._measures import rarest_first
from labelance.imbalance._page import describe_change

if TYPE_CHECKING:
    import pandas as pd

MEAN_IR_ROSE = (
    "MeanIR went up: it compares every label with the most frequent one, and the added rows have "
    "frequent labels, too. MLSOL makes rows where labels are hard to tell from their neighborhood, "
    "not where they are rare over all; judge it by a model's scores."
)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What one draw of a sampler did; made by ``sampler.explain(X, y)``.

    Attributes
    ----------
    before, after : ImbalanceProfile
        All measures, types of minority cells included, before and after the draw.
    gained : ndarray of int of shape (n_labels,)
        Added rows that have the label.
    lost : ndarray of int of shape (n_labels,)
        Rows that had the label and were deleted, or whose label was taken away.
    seeds : csr_array of shape (n_labels, n_samples) or None
        How many added rows with the label each original row gave; None if the
        sampler adds no rows or they have no seed.
    """

    before: ImbalanceProfile
    after: ImbalanceProfile
    gained: np.ndarray
    lost: np.ndarray
    seeds: sp.csr_array | None

    def through(self, label: Any) -> dict[int, int]:
        """Return the rows through which a label was gained, and how often, most first.

        Parameters
        ----------
        label : name or column number
            The label.
        """
        if self.seeds is None:
            return {}
        if label not in self.before.label_names:
            raise unknown_name("label", label, self.before.label_names, "through")
        j = self.before.label_names.index(label)
        start, stop = self.seeds.indptr[j : j + 2]
        rows, counts = self.seeds.indices[start:stop], self.seeds.data[start:stop]
        order = np.lexsort((rows, -counts))
        return {int(rows[t]): int(counts[t]) for t in order}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per label: counts, what it gained and lost, IRLbl and types."""
        import pandas as pd

        columns: dict[str, Any] = {
            "count_before": self.before.label_counts,
            "gained": self.gained,
            "lost": self.lost,
            "count_after": self.after.label_counts,
            "IRLbl_before": self.before.irlbl,
            "IRLbl_after": self.after.irlbl,
        }
        for when, measured in (("before", self.before), ("after", self.after)):
            if measured.type_counts is not None:
                for code, kind in enumerate(("SF", "BD", "RR", "OT")):
                    columns[f"{kind}_{when}"] = measured.type_counts[:, code]
        return pd.DataFrame(columns, index=pd.Index(self.before.label_names, name="label"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that fits into JSON, without the seeds."""
        return {
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "gained": self.gained.tolist(),
            "lost": self.lost.tolist(),
        }

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, title: str = "Before and after"
    ) -> str:
        """Return a page that shows the data before and after, and write it to a file.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page, one file that opens offline.
        title : str, default="Before and after"
            The heading.
        """
        return self.before.to_html(path, title=title, after=self.after)

    def to_text(self, *, top: int = 20) -> str:
        """Return what changed over all, a table of labels with the rarest first, and notes.

        Parameters
        ----------
        top : int, default=20
            The most labels that are listed.
        """
        head = [
            f"rows     {self.before.n_samples} -> {self.after.n_samples}",
            f"MeanIR   {self.before.mean_ir:.3f} -> {self.after.mean_ir:.3f}",
        ]
        if not np.isnan(self.before.scumble):
            head.append(f"SCUMBLE  {self.before.scumble:.3f} -> {self.after.scumble:.3f}")
        if self.before.type_counts is not None and self.after.type_counts is not None:
            head.append(f"types    {_types(self.before)} -> {_types(self.after)}")
        notes = "".join(f"\n\n{note}" for note in self._notes())
        return "\n".join([*head, "", *self._label_lines(top)]) + notes

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        table: dict[str, Any] = {
            "label": self.before.label_names,
            "before": self.before.label_counts,
            "gained": self.gained,
            "lost": self.lost,
            "after": self.after.label_counts,
        }
        if self.seeds is not None:
            table["seeds"] = np.diff(self.seeds.indptr)
        return draw_result(
            describe_change([self.before, self.after]),
            table,
            order=rarest_first(self.before.label_counts).tolist(),
            facts=list(self._notes()),
        )

    def _label_lines(self, top: int) -> list[str]:
        order = rarest_first(self.before.label_counts).tolist()
        names = {j: str(self.before.label_names[j]) for j in order[:top]}
        width = max(5, *map(len, names.values()))
        seeds = None if self.seeds is None else np.diff(self.seeds.indptr)
        lines = [f"{'label':<{width}}  before  gained    lost   after  seeds"]
        for j, name in names.items():
            used = "" if seeds is None else str(seeds[j])
            lines.append(
                f"{name:<{width}}  {self.before.label_counts[j]:6d}  {self.gained[j]:6d}  "
                f"{self.lost[j]:6d}  {self.after.label_counts[j]:6d}  {used:>5}"
            )
        if len(order) > top:
            lines.append(f"… and {len(order) - top} more labels; see to_frame()")
        return lines

    def _notes(self) -> Iterator[str]:
        """Yield what a reader may not expect."""
        rare = self.before.irlbl > self.before.mean_ir
        without = np.flatnonzero(rare & (self.gained == 0))
        if self.gained.any() and len(without):
            names = [str(self.before.label_names[j]) for j in without]
            listed = ", ".join(names[:5]) + f" and {len(names) - 5} more" * (len(names) > 5)
            yield (
                f"No added row has these rare labels: {listed}. Rows are made between neighbors, "
                "and theirs have few or none with the label; MLROS clones such rows."
            )
        if self.after.mean_ir > self.before.mean_ir and self.gained.any():
            yield MEAN_IR_ROSE


def _types(measured: ImbalanceProfile) -> str:
    counts = measured.type_counts.sum(axis=0) if measured.type_counts is not None else ()
    return ", ".join(f"{kind} {n}" for kind, n in zip(("SF", "BD", "RR", "OT"), counts))


def count_changes(
    Y: sp.csr_array, Y_after: sp.csr_array, is_original: np.ndarray, seeds: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, sp.csr_array | None]:
    """Return per label what it gained and lost, and through which seeds.

    Parameters
    ----------
    Y, Y_after : csr_array
        Clean labels before and after resampling.
    is_original : ndarray of bool
        Whether a row of ``Y_after`` is an original row itself, rather than an added one.
    seeds : ndarray of int or None
        The original rows that the added ones come from.
    """
    added = Y_after[np.flatnonzero(~is_original)]
    lost = column_counts(Y) - column_counts(Y_after[np.flatnonzero(is_original)])
    by_seed, n = None, Y.shape[0]
    if seeds is not None and 0 < len(seeds) == added.shape[0] and max(seeds) < n:
        rows, labels = added.nonzero()
        ones = np.ones(len(rows), dtype=np.int64)
        by_seed = sp.csr_array((ones, (labels, seeds[rows])), shape=(added.shape[1], n))
    return column_counts(added), lost, by_seed
