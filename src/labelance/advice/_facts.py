"""What can be seen without fitting anything: sizes, rarity, minority types, a vote of neighbors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._arrays._labels import mark_unknown
from labelance._validation._data import Data
from labelance.exceptions import LabelanceWarning
from labelance.imbalance import profile
from labelance.learners._mlknn import count_known_neighbors, count_neighbors
from labelance.metrics import macro_auc_roc
from labelance.neighbors import find_neighbors

_VOTERS, _TYPED_BY = 10, 5


@dataclass(frozen=True)
class DataFacts:
    """What the data look like, before anything is fitted.

    Attributes
    ----------
    n_samples, n_features, n_labels : int
        The shape of the data.
    mean_ir : float
        Mean of IRLbl.
    n_rows_seen : int
        Rows that the rest is about: all, or 5,000 of them.
    n_unjudged : int
        Labels that too few of these rows have (or lack) to be in every fold.
    n_constant : int
        Those of them that all rows of the data have, or none.
    rarest, median : int
        Rows that have the rarest label that is judged, and the median of the labels.
    type_shares : dict of str to float
        Shares of safe, borderline, rare and outlier among the minority cells, by 5 neighbors.
    neighbor_auc : float
        Macro AUC-ROC of the share of 10 neighbors that have a label, a row not being its own
        neighbor: 0.5 is what the labels' frequencies alone give.
    n_unknown : int
        Cells of y that are unknown (NaN); the other facts are about known ones.
    """

    n_samples: int
    n_features: int
    n_labels: int
    mean_ir: float
    n_rows_seen: int
    n_unjudged: int
    n_constant: int
    rarest: int
    median: float
    type_shares: dict[str, float]
    neighbor_auc: float
    n_unknown: int = 0

    def __str__(self) -> str:
        """Return the facts in sentences."""
        seen = "" if self.n_rows_seen == self.n_samples else f", {self.n_rows_seen:,} of them seen"
        labels = f"1 label in {self.rarest} rows"
        if self.n_labels > 1:
            labels = (
                f"{self.n_labels} labels in {self.median:g} rows each (median; the rarest that is "
                f"judged in {self.rarest}), MeanIR {self.mean_ir:.1f}"
            )
        words = [f"{self.n_samples:,} rows{seen}, {self.n_features:,} features, {labels}."]
        if self.n_unknown:
            words.append(f"{self.n_unknown:,} cells of y are unknown.")
        if self.type_shares:
            types = ", ".join(f"{share:.0%} {name}" for name, share in self.type_shares.items())
            words.append(f"Minority cells: {types}.")
        words.append(
            f"A vote of {_VOTERS} neighbors has an AUC-ROC of {self.neighbor_auc:.2f} "
            "(frequencies alone: 0.50)."
        )
        return " ".join(words)


def summarize_data(data: Data, seen: Data, judged: NDArray[np.intp]) -> DataFacts:
    """Return the facts about data of which some rows are seen and some labels judged."""
    counts = column_counts(seen.Y)
    rows = seen.features.container.native
    sparse = seen.kind == "sparse"
    around = find_neighbors(
        rows,
        min(_VOTERS, seen.n_samples - 1),
        scale=None if sparse else "range",
        missing="error" if sparse else "distance",
    )
    if seen.unknown is None:
        votes = np.asarray(count_neighbors(around, seen.Y).toarray(), dtype=float)[:, judged]
    else:
        k = around.n_neighbors
        votes = count_known_neighbors(around, seen.Y, seen.unknown, k)[:, judged].astype(float)
    labels = mark_unknown(seen.Y, seen.unknown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelanceWarning)
        auc = macro_auc_roc(labels[:, judged], votes)
        found = profile(
            rows, labels, neighborhood=around.truncate(min(_TYPED_BY, around.n_neighbors))
        )
    ones = column_counts(data.Y)
    return DataFacts(
        n_samples=data.n_samples,
        n_features=data.X.shape[1],
        n_labels=data.Y.shape[1],
        mean_ir=float(found.mean_ir),
        n_rows_seen=seen.n_samples,
        n_unjudged=data.Y.shape[1] - len(judged),
        n_constant=int(((ones == 0) | (ones == data.labels.n_known)).sum()),
        rarest=int(counts[judged].min()),
        median=float(np.median(counts)),
        type_shares={name: round(share, 4) for name, share in (found.type_shares or {}).items()},
        neighbor_auc=float(auc),
        n_unknown=0 if data.unknown is None else int(data.unknown.nnz),
    )
