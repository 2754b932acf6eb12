"""What can be seen without fitting anything: what X is, sizes, rarity, types, a vote."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._cells import stored_cells
from labelance._arrays._containers import column_counts
from labelance._arrays._labels import mark_unknown
from labelance._arrays._mixed import open_source
from labelance._arrays._open import take_columns, take_rows
from labelance._arrays._words import is_missing
from labelance._classifier import hands_on_rows, why_all_known
from labelance._utils._messages import plural
from labelance._validation._column_groups import ColumnGroups
from labelance._validation._data import Data, validate_data
from labelance.ensemble._race import rare_rows_first
from labelance.exceptions import LabelanceError, LabelanceWarning
from labelance.imbalance import profile
from labelance.learners._mlknn import count_known_neighbors, count_neighbors
from labelance.metrics import macro_auc_roc
from labelance.neighbors import find_neighbors

_VOTERS, _TYPED_BY = 10, 5
_MOST_ASKED = 5000
_MOST_READ = 10_000  # rows that tell what columns are


class Rows(NamedTuple):
    """Clean rows, how texts and vectors were read, and code that makes such rows of the user's."""

    data: Data
    groups: ColumnGroups | None = None  # None: X is a table, or the user's estimator reads it
    read_as: str = ""
    code: str = ""


def open_rows(X: Any, y: Any, estimator: Any) -> Rows:
    options: dict[str, Any] = {"caller": "advise", "missing": "keep"}
    options["needs_all"] = None if estimator is None else why_all_known(estimator)
    hands_on = estimator is None or hands_on_rows(estimator)
    data = validate_data(X, y, **options, hands_on=hands_on)
    if not data.features.only_rows:
        return Rows(data)
    some = np.unique(np.linspace(0, data.n_samples - 1, _MOST_READ).astype(int))
    try:
        groups, _ = ColumnGroups.fit(take_rows(X, some), caller="advise")
    except LabelanceError:
        if estimator is None:
            raise
        return Rows(data)
    if estimator is not None:
        return Rows(data, groups if groups.columns else None, groups.summary())
    if groups.columns:
        X, code = _fill_texts(X, groups)
        data = validate_data(X, y, **options, hands_on=True) if code else data
        return Rows(data, groups, groups.summary(), code)
    left_out = list(groups.omitted)  # ids and dates next to a table
    kept = [j for j, name in enumerate(data.features.names or ()) if name not in left_out]
    data = validate_data(take_columns(X, np.array(kept)) if left_out else X, y, **options)
    method = f"drop(columns={left_out})" if hasattr(X, "iloc") else f"drop({left_out})"
    return Rows(data, None, groups.summary(), f"X = X.{method}\n" if left_out else "")


def _fill_texts(X: Any, groups: ColumnGroups) -> tuple[Any, str]:
    """Return X with empty texts where they are missing, as TF-IDF needs them, and the code."""
    source = open_source(X, single=groups.single)
    assert source is not None
    if groups.single:
        cells = source.cells(source.names[0])
        if "text" not in groups.columns or not any(map(is_missing, cells)):
            return X, ""
        filled = ["" if is_missing(text) else text for text in cells]
        return filled, 'X = [text if isinstance(text, str) else "" for text in X]\n'
    texts = [name for name, column in groups.columns.items() if column.kind == "text"]
    holes = [name for name in texts if any(map(is_missing, source.cells(name)))]
    if not holes:
        return X, ""
    if hasattr(X, "iloc"):
        values = dict.fromkeys(holes, "")
        return X.fillna(values), f"X = X.fillna({values})\n"
    return X.fill_null(""), "X = X.fill_null('')\n"


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
        neighbor: 0.5 is what the labels' frequencies alone give. NaN where X is not read.
    n_unknown : int
        Cells of y that are unknown (NaN); the other facts are about known ones.
    read_as : str
        How texts and vectors were read; empty where X is a table.
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
    read_as: str = ""

    def __str__(self) -> str:
        """Return the facts in sentences."""
        seen = "" if self.n_rows_seen == self.n_samples else f", {self.n_rows_seen:,} of them seen"
        labels = f"1 label in {self.rarest} rows"
        if self.n_labels > 1:
            labels = (
                f"{self.n_labels} labels in {self.median:g} rows each (median; the rarest that is "
                f"judged in {self.rarest}), MeanIR {self.mean_ir:.1f}"
            )
        features = plural(self.n_features, "feature")
        words = [f"{self.n_samples:,} rows{seen}, {features}, {labels}."]
        if self.n_unknown:
            words.append(f"{self.n_unknown:,} cells of y are unknown.")
        if self.type_shares:
            types = ", ".join(f"{share:.0%} {name}" for name, share in self.type_shares.items())
            words.append(f"Minority cells: {types}.")
        if not isnan(self.neighbor_auc):
            words.append(
                f"A vote of {_VOTERS} neighbors has an AUC-ROC of {self.neighbor_auc:.2f} "
                "(frequencies alone: 0.50)."
            )
        if self.read_as:
            words.append(f"X: {self.read_as}.")
        return " ".join(words)


def summarize_data(data: Data, seen: Data, judged: NDArray[np.intp], rows: Rows) -> DataFacts:
    """Return the facts about data of which some rows are seen and some labels judged."""
    counts, ones = column_counts(seen.Y), column_counts(data.Y)
    types, auc = _ask_neighbors(seen, judged, rows.groups)
    return DataFacts(
        n_samples=data.n_samples,
        n_features=data.X.shape[1],
        n_labels=data.Y.shape[1],
        mean_ir=float(profile(None, mark_unknown(seen.Y, seen.unknown)).mean_ir),
        n_rows_seen=seen.n_samples,
        n_unjudged=data.Y.shape[1] - len(judged),
        n_constant=int(((ones == 0) | (ones == data.labels.n_known)).sum()),
        rarest=int(counts[judged].min()),
        median=float(np.median(counts)),
        type_shares={name: round(share, 4) for name, share in types.items()},
        neighbor_auc=auc,
        n_unknown=0 if data.unknown is None else int(data.unknown.nnz),
        read_as=rows.read_as,
    )


def _ask_neighbors(
    seen: Data, judged: NDArray[np.intp], groups: ColumnGroups | None
) -> tuple[dict[str, float], float]:
    """Return shares of minority types, and the AUC-ROC of a vote, on 5,000 rows at most."""
    if seen.n_samples > _MOST_ASKED:
        seen = seen.take(np.sort(rare_rows_first(seen.Y, np.random.default_rng(0))[:_MOST_ASKED]))
    rows = seen.features.container.native
    if groups is not None:
        rows, _ = groups.join(groups.transform(rows, caller="advise"), caller="advise")
    elif seen.features.only_rows:  # which the user's estimator alone can read
        return {}, nan
    sparse = stored_cells(rows) is not None
    around = find_neighbors(
        rows,
        min(_VOTERS, seen.n_samples - 1),
        scale=None if sparse or groups is not None else "range",
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
        auc = macro_auc_roc(labels[:, judged], votes, undefined="skip")
        near = around.truncate(min(_TYPED_BY, around.n_neighbors))
        found = profile(rows, labels, neighborhood=near)
    return found.type_shares or {}, float(auc)
