"""Columns of X, one by one: type, missing and distinct values, spread, share of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import to_dense
from labelance._utils._messages import shorten
from labelance._validation._features import Features

_MOST_COLUMNS = 50
_BINS = 12
_LONGEST_NAME = 60


@dataclass(frozen=True)
class ColumnSummary:
    """What a page says of one column.

    Attributes
    ----------
    name, kind : str
        Its name, and "category", "binary", "integer" or "number".
    missing, distinct : int
        Rows without a value, and different values in the others.
    spread : str
        Smallest and largest value, or the most frequent category.
    bins : list of int
        A histogram: rows in ranges of equal width, or rows of the most frequent categories.
    share : float or None
        How much of the mean squared distance between two rows it takes; None if not Euclidean.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    spread: str
    bins: list[int]
    share: float | None


def summarize_columns(
    features: Features, names: tuple[Any, ...] | None, shares: NDArray[np.float64] | None
) -> list[ColumnSummary]:
    """Return the columns that take most of the distance, or the first ones; at most 50."""
    d = features.X.shape[1]
    order = np.arange(d) if shares is None else np.argsort(-shares, kind="stable")
    words = features.container.categories()
    by_column = features.X.tocsc() if features.container.kind == "sparse" else features.X
    named = names or features.names or range(d)
    return [
        _summarize(
            np.asarray(to_dense(by_column[:, [j]])).ravel(),
            name=shorten(named[j], _LONGEST_NAME),
            words=words.get(int(j), features.decoders.get(int(j), ()))
            if features.categorical[j]
            else None,
            share=None if shares is None else float(shares[j]),
        )
        for j in order[:_MOST_COLUMNS].tolist()
    ]


def _summarize(
    values: NDArray[Any], *, name: str, words: Any, share: float | None
) -> ColumnSummary:
    """Describe a column; ``words`` are the names of its codes, None for a column of numbers."""
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    if not len(known):
        return ColumnSummary(name, "number", len(values), 0, "", [], share)
    if words is not None:
        order = np.argsort(-counts, kind="stable")
        code = distinct[order[0]]
        top = words[int(code)] if 0 <= code < len(words) else f"{code:g}"
        kind, bins = "category", counts[order[:_BINS]]
        spread = f"{shorten(top, 20)} ({counts.max() / len(known):.0%})"
    else:
        whole = bool((known == np.trunc(known)).all())
        kind = "binary" if len(distinct) == 2 else "integer" if whole else "number"
        low, high = distinct[0], distinct[-1]
        spread = " to ".join(dict.fromkeys((_short(low), _short(high))))
        # Divided first: the difference of huge numbers would be infinite.
        size = max(abs(low), abs(high)) or 1.0
        bins, _ = np.histogram(known / size, bins=_BINS, range=(low / size, high / size))
    missing = len(values) - len(known)
    return ColumnSummary(name, kind, missing, len(distinct), spread, bins.tolist(), share)


def _short(value: float) -> str:
    """Return a number in few characters, without an exponent where it is not needed."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
