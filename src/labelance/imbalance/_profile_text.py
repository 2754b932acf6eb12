"""What a profile holds, as lines of text, and as the small HTML that a notebook shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._utils._messages import plural, shorten
from labelance._utils._notebook import draw_result
from labelance._validation._categorical import CategoricalFeatures
from labelance.imbalance._local import HasIndices, LabelType, LocalDistribution
from labelance.imbalance._measures import mean_where_defined, rarest_first, rarity_bands
from labelance.neighbors._metric import Metric, Scale

LONGEST_TABLE = 20
LONGEST_NAME = 28
# A MeanIR of 1 is balance; few published datasets with one above 10 were ever called easy.
_HARDLY, _STRONGLY = 1.5, 10.0
_RARE = 3.0  # MeanImR: rows without a label for each row with it, on average over labels


@dataclass(frozen=True, eq=False)
class ProfiledData:
    """What a profile was made of.

    Attributes
    ----------
    X : array, sparse matrix, data frame or None
        The features as given.
    Y : csr_array
        Clean labels.
    unknown : csr_array or None
        Ones at cells that are not known; None if all are.
    categorical_features
        The nominal columns, as the caller named them.
    feature_names : tuple or None
        Names of the columns of X, where it has none itself.
    scale, metric
        How neighbors were searched.
    rows : ndarray or None
        The rows that neighbors were searched among; None means all.
    neighborhood : object with ``indices``, or None
        The neighbors of these rows.
    local : LocalDistribution or None
        The types of their minority cells.
    """

    X: Any
    Y: csr_array
    unknown: csr_array | None
    categorical_features: CategoricalFeatures
    feature_names: tuple[Any, ...] | None
    scale: Scale
    metric: Metric
    rows: NDArray[np.intp] | None
    neighborhood: HasIndices | None
    local: LocalDistribution | None


@dataclass(frozen=True, eq=False, repr=False)
class ProfileValues:
    """The measures of a dataset; :class:`ImbalanceProfile` says what each of them is."""

    n_samples: int
    n_features: int | None
    n_labels: int
    cardinality: float
    density: float
    n_labelsets: float
    share_single_labelsets: float
    mean_ir: float
    cvir: float
    mean_imr: float
    scumble: float
    scumble_cv: float
    tcs: float | None
    n_neighbors: int | None
    n_searched: int | None
    label_names: tuple[Any, ...]
    label_counts: NDArray[np.int64]
    n_unknown: NDArray[np.int64]
    irlbl: NDArray[np.float64]
    imr: NDArray[np.float64]
    scumble_labels: NDArray[np.float64]
    minority_value: NDArray[np.int8]
    type_counts: NDArray[np.int64] | None
    # What the page looks at once more, kept as given; the numbers above are all a user needs.
    _data: ProfiledData | None = field(repr=False)
    read_as: str | None = None

    @property
    def constant_labels(self) -> tuple[Any, ...]:
        """The names of the labels that no row is known to have, or all known rows have."""
        known = self.n_samples - self.n_unknown
        constant = (self.label_counts == 0) | (self.label_counts == known)
        return tuple(self.label_names[j] for j in np.flatnonzero(constant & (known > 0)))

    @property
    def unknown_labels(self) -> tuple[Any, ...]:
        """The names of the labels of which no row is known."""
        return tuple(self.label_names[j] for j in np.flatnonzero(self.n_unknown == self.n_samples))

    @property
    def type_shares(self) -> dict[str, float] | None:
        """The share of safe, borderline, rare and outlier among all minority cells."""
        if self.type_counts is None:
            return None
        counts, total = self.type_counts.sum(axis=0), self.type_counts.sum()
        return {
            kind.name.lower(): float(count / total) if total else math.nan
            for kind, count in zip(LabelType, counts)
        }

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The table of labels, as a column of values under each name."""
        table: dict[str, NDArray[Any]] = {
            "count": self.label_counts,
            **({"unknown": self.n_unknown} if self.n_unknown.any() else {}),
            "IRLbl": self.irlbl,
            "ImR": self.imr,
            "SCUMBLE": self.scumble_labels,
            "minority": self.minority_value,
        }
        if self.type_counts is not None:
            table |= {kind.abbreviation: self.type_counts[:, kind - 1] for kind in LabelType}
        return table


def draw_text(profile: ProfileValues, top: int) -> str:
    """Return the profile as lines of text: overall measures, types, table of labels."""
    read = f"\n{profile.read_as}" if profile.read_as else ""
    table = "\n".join(_aligned(_rows(profile, top)))
    parts = [_shape(profile) + read, _overall(profile), _types(profile), table]
    if profile.n_labels > top:
        parts.append("\n".join(_aligned(_band_rows(profile))))
    parts.append(_listed(profile.constant_labels, "constant label"))
    parts.append(_listed(profile.unknown_labels, "wholly unknown label"))
    return "\n\n".join(part for part in parts if part)


def draw_html(profile: ProfileValues) -> str:
    """Return what a notebook shows: a verdict, the measures and the rarest labels."""
    verdict, *more = describe(profile)
    measures = f"{_shape(profile)}, {plural(int(profile.n_unknown.sum()), 'unknown cell')}."
    if not math.isnan(profile.n_labelsets):
        measures = (
            f"{_shape(profile)}, {plural(int(profile.n_labelsets), 'labelset')} "
            f"({profile.share_single_labelsets:.0%} seen once); SCUMBLE {_number(profile.scumble)}."
        )
    return draw_result(
        verdict,
        {"label": profile.label_names, **profile.columns},
        order=rarest_first(profile.label_counts).tolist(),
        facts=[" ".join(more), measures],
    )


def describe(profile: ProfileValues) -> Iterator[str]:
    """Yield sentences about how imbalanced data are, over all and around their rows.

    They say what is the case. What to do about it is for `labelance.advise` to say.
    """
    seen = np.sort(profile.label_counts[~np.isnan(profile.irlbl)])
    unknown = int(profile.n_unknown.sum())
    if not len(seen):
        rows = "known rows" if unknown else "rows"
        yield f"No label varies: each is in all {rows} or in none."
        return
    # Labels are known in different rows: no number of rows is that of all counts.
    rows = "rows" if unknown else f"of {profile.n_samples:,} rows"
    yield (
        f"{_level(profile)}: the most frequent label is in {seen[-1]:,} {rows}, the median one in "
        f"{int(np.median(seen)):,}, the rarest in {seen[0]:,}."
    )
    if unknown:
        share = unknown / (profile.n_samples * profile.n_labels)
        yield f"{plural(unknown, 'cell')} ({share:.0%}) {'is' if unknown == 1 else 'are'} unknown."
    for names, what in (
        (profile.constant_labels, "constant"),
        (profile.unknown_labels, "known in no row"),
    ):
        if names:
            yield f"{plural(len(names), 'more label')} {'is' if len(names) == 1 else 'are'} {what}."
    shares = profile.type_shares
    if profile.n_neighbors and shares is not None and not math.isnan(shares["safe"]):
        least = math.ceil(0.3 * profile.n_neighbors)  # as `types_by_count` has it
        around = f"{least} of their {profile.n_neighbors} neighbors"
        if unknown:
            around = f"30% of up to {profile.n_neighbors} neighbors in which the label is known"
        yield (
            f"{1 - shares['safe']:.0%} of minority cells are not safe: at least {around} have the "
            f"other value ({shares['outlier']:.0%} are outliers, without any neighbor alike)."
        )


def _level(profile: ProfileValues) -> str:
    """Return how imbalanced labels are, among each other and each in itself."""
    measured = f"MeanIR {profile.mean_ir:.1f}"
    if profile.mean_ir >= _HARDLY:
        strongly = profile.mean_ir >= _STRONGLY
        return f"{'Strongly imbalanced' if strongly else 'Imbalanced'} ({measured})"
    if profile.mean_imr >= _RARE:
        return f"Labels alike, but rare ({measured}, MeanImR {profile.mean_imr:.1f})"
    return f"Hardly imbalanced ({measured})"


def _shape(profile: ProfileValues) -> str:
    counted = [(profile.n_samples, "row"), (profile.n_features, "feature")]
    counted.append((profile.n_labels, "label"))
    return ", ".join(plural(count, thing) for count, thing in counted if count is not None)


def _overall(profile: ProfileValues) -> str:
    """Three columns of measures: of the labels, of their ratios, of their concurrence."""
    single = profile.share_single_labelsets
    measures = [
        [
            ("cardinality", _number(profile.cardinality)),
            ("density", _number(profile.density)),
            ("labelsets", _number(profile.n_labelsets)),
            ("seen once", "-" if math.isnan(single) else f"{single:.1%}"),
        ],
        [
            ("MeanIR", _number(profile.mean_ir)),
            ("CVIR", _number(profile.cvir)),
            ("MeanImR", _number(profile.mean_imr)),
        ],
        [
            ("SCUMBLE", _number(profile.scumble)),
            ("SCUMBLE.CV", _number(profile.scumble_cv)),
            *([] if profile.tcs is None else [("TCS", _number(profile.tcs))]),
        ],
    ]
    blocks = [_aligned(block) for block in measures]
    lines = ("    ".join(block[line] for block in blocks if line < len(block)) for line in range(4))
    return "\n".join(lines)


def _types(profile: ProfileValues) -> str:
    shares = profile.type_shares
    if shares is None or profile.type_counts is None:
        return ""
    counts = profile.type_counts.sum(axis=0)
    some = profile.n_searched != profile.n_samples
    among = f" of {profile.n_searched} rows drawn at random" if some else ""
    if not counts.any():
        return f"minority cells{among}, k={profile.n_neighbors}: none"
    listed = (f"{n} {kind} ({share:.0%})" for n, (kind, share) in zip(counts, shares.items()))
    return f"minority cells{among}, k={profile.n_neighbors}: {', '.join(listed)}"


def _rows(profile: ProfileValues, top: int) -> list[tuple[str, ...]]:
    """Return the header and the shown labels' cells as text, with the gap marked."""
    columns = profile.columns
    order = rarest_first(profile.label_counts).tolist()
    hidden, tail = len(order) - top, top // 4
    if hidden > 0:
        order = order[: top - tail] + order[len(order) - tail :]
    rows: list[tuple[str, ...]] = [
        (shorten(profile.label_names[j], LONGEST_NAME), *(_number(v[j]) for v in columns.values()))
        for j in order
    ]
    if hidden > 0 and top:
        rows.insert(top - tail, (f"… {hidden} more", *("" for _ in columns)))
    return [("label", *columns), *rows]


def _band_rows(profile: ProfileValues) -> list[tuple[str, ...]]:
    """Return a header, and means over the labels of like rarity as text."""
    measures = {"IRLbl": profile.irlbl, "ImR": profile.imr, "SCUMBLE": profile.scumble_labels}
    rows = []
    for band, labels in rarity_bands(profile.label_counts).items():
        means = (mean_where_defined(values[labels]) for values in measures.values())
        rows.append((band, str(len(labels)), *map(_number, means)))
    return [("means of labels in", "labels", *measures), *rows]


def _listed(names: tuple[Any, ...], what: str) -> str:
    if not names:
        return ""
    more = f", … {len(names) - 5} more" if len(names) > 5 else ""
    first = ", ".join(shorten(name, LONGEST_NAME) for name in names[:5])
    line = f"{plural(len(names), what)}: {first}{more}"
    return fill(line, width=88, subsequent_indent="  ")


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Pad the first column on the right and the others on the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def _number(value: Any) -> str:
    if isinstance(value, int | np.integer):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.3f}"
