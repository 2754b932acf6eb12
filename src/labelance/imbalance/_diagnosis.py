"""What neighbors, labelsets and features say about a dataset: the facts of the profile page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import skew
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import OneHotEncoder

from labelance._arrays._containers import Kind, column_counts, to_dense
from labelance._utils._messages import shorten
from labelance._validation._data import Features, count_known
from labelance.imbalance._measures import Labelsets, leave_out_full
from labelance.neighbors._neighborhood import scale_to_all

Integers = NDArray[np.integer]
Floats = NDArray[np.float64]

MOST_SUSPECTS = 50
MOST_LABELS_TOGETHER = 30
MOST_POINTS = 2_000
MOST_CELLS_ON_MAP = 40_000
_SURPRISING = 10.0  # how many times as likely the votes have to be if the label were the other way
_MOST_CATEGORIES = 20
_MOST_COLUMNS = 50
_BINS = 12
_LONGEST_NAME = 60


@dataclass(frozen=True, eq=False)
class NeighborVotes:
    """How the k neighbors of every row vote on its labels.

    Attributes
    ----------
    cells : csr_array of shape (n_samples, n_labels)
        The votes for a label, plus k + 1 where the row has the label; nothing is stored where a
        row does not have a label and no neighbor has it. Where the label of some neighbors is
        unknown, the votes of the others are scaled to k.
    counts : ndarray of shape (n_labels, 2, k + 1)
        Rows without and with the label, by the number of votes for it.
    """

    cells: csr_array
    counts: NDArray[np.int64]

    @property
    def k(self) -> int:
        """The number of neighbors."""
        return self.counts.shape[2] - 1

    @property
    def auc(self) -> Floats:
        """The area under the ROC curve of the votes, label by label; the prior's is 0.5.

        It is nan for a label that is the same in all rows.
        """
        without, with_label = self.counts[:, 0], self.counts[:, 1]
        below = np.cumsum(without, axis=1) - without / 2  # those tied count half
        pairs = without.sum(axis=1) * with_label.sum(axis=1)
        won = (with_label * below).sum(axis=1)
        return np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

    def suspects(self, most: int = MOST_SUSPECTS) -> list[Suspect]:
        """Return the cells that look mislabelled, the most surprising first.

        A cell is suspicious where most neighbors have the other value of its label, and votes
        like theirs are over ten times as likely among the rows that have that value. Each count
        starts at one, so that a handful of rows proves little.
        """
        k, cells = self.k, self.cells
        likely = (self.counts + 1) / (self.counts.sum(axis=2, keepdims=True) + k + 1)
        has = cells.data > k
        votes = cells.data - (k + 1) * has
        times = likely[cells.indices, (~has).astype(int), votes]
        times = times / likely[cells.indices, has.astype(int), votes]
        outvoted = np.where(has, 2 * votes < k, 2 * votes > k)
        found = np.flatnonzero(outvoted & (times > _SURPRISING))
        order = found[np.argsort(-times[found], kind="stable")][:most]
        rows = np.searchsorted(cells.indptr, order, side="right") - 1
        columns = (rows, cells.indices[order], has[order], votes[order], times[order])
        return [Suspect(*cell) for cell in zip(*(column.tolist() for column in columns))]


@dataclass(frozen=True)
class Suspect:
    """A cell of y that looks mislabelled: its neighbors vote as those of the other class."""

    row: int
    label: int
    present: bool
    votes: int
    times: float


def neighbor_votes(
    Y: csr_array, neighbors: Integers, unknown: csr_array | None = None
) -> NeighborVotes:
    """Count the votes of every row's neighbors on every label.

    Cells that are unknown themselves, or to all neighbors, are not counted.
    """
    n, k = neighbors.shape
    ones = np.ones(n * k, dtype=np.int32)
    graph = csr_array((ones, neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    present = csr_array((np.ones(Y.nnz, np.int32), Y.indices, Y.indptr), shape=Y.shape)
    cells, n_counted = csr_array(graph @ present + (k + 1) * present), np.full(Y.shape[1], n)
    if unknown is not None:
        lost = csr_array(graph @ unknown.astype(np.int32))
        if cells.nnz:  # at no places SciPy finds a sparse array
            cells = _scale_votes(cells, lost, unknown, k)
        n_counted = n - column_counts(csr_array(unknown.astype(bool) + (lost == k)))
    code = cells.indices.astype(np.int64) * (2 * k + 2) + cells.data
    counts = np.bincount(code, minlength=Y.shape[1] * (2 * k + 2)).reshape(-1, 2, k + 1)
    counts[:, 0, 0] = n_counted - counts.sum(axis=(1, 2))
    return NeighborVotes(cells, counts)


def _scale_votes(cells: csr_array, lost: csr_array, unknown: csr_array, k: int) -> csr_array:
    """Return votes as if all k neighbors knew the label, as MLkNN has them, in known cells."""
    place = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr)), cells.indices
    has, known = cells.data > k, k - lost[place]
    votes = scale_to_all(cells.data - (k + 1) * has, known, k)
    heard = (known > 0) & (unknown[place] == 0)
    rows, labels = (part[heard] for part in place)
    return csr_array(((votes + (k + 1) * has)[heard], (rows, labels)), shape=cells.shape)


@dataclass(frozen=True)
class Hubness:
    """How unevenly rows serve as neighbors: by how many rows each is named.

    Attributes
    ----------
    skewness : float
        Of the numbers of rows that name a row; above about 2, few rows are near to very many.
    share_never : float
        The share of rows that no row names.
    most, hub : int
        The largest of the numbers, and the row that has it.
    """

    skewness: float
    share_never: float
    most: int
    hub: int


def measure_hubness(neighbors: Integers) -> Hubness:
    """Measure how unevenly rows serve as neighbors (Radovanović et al., JMLR 11, 2010)."""
    named = np.bincount(neighbors.ravel(), minlength=len(neighbors))
    skewness = float(skew(named)) if named.std() > 0 else 0.0
    return Hubness(skewness, float(np.mean(named == 0)), int(named.max()), int(named.argmax()))


@dataclass(frozen=True, eq=False)
class CoOccurrence:
    """In how many rows labels occur together.

    Attributes
    ----------
    labels : ndarray of int of shape (m,)
        The labels, most frequent first.
    rows : ndarray of int of shape (m, m)
        Rows that have both labels; on the diagonal, rows that have the label.
    among : ndarray of int of shape (m, m)
        Rows that have the first label, and in which the second is known.
    """

    labels: NDArray[np.intp]
    rows: NDArray[np.int64]
    among: NDArray[np.int64]


def count_together(
    Y: csr_array,
    scumble_labels: Floats,
    most: int = MOST_LABELS_TOGETHER,
    unknown: csr_array | None = None,
) -> CoOccurrence:
    """Count the rows that labels share; a label that all rows have shares them with every label.

    Among more labels than ``most`` a half of those taken are the most frequent, the others those
    of largest SCUMBLE: the rare ones that stand next to frequent ones.
    """
    counts = leave_out_full(column_counts(Y), count_known(Y, unknown))
    by_count = np.argsort(-counts, kind="stable")[: int(np.count_nonzero(counts))]
    frequent, rest = by_count, by_count[:0]
    if len(by_count) > most:
        frequent, rest = by_count[: most // 2], by_count[most // 2 :]
        rest = rest[np.argsort(-scumble_labels[rest], kind="stable")][: most - most // 2]
    labels = np.concatenate([frequent, rest])
    labels = labels[np.argsort(-counts[labels], kind="stable")]
    some = Y.tocsc()[:, labels].astype(np.int64)
    rows = (some.T @ some).toarray()
    among = np.repeat(rows.diagonal()[:, None], len(labels), axis=1)
    if unknown is not None:
        among -= (some.T @ unknown.tocsc()[:, labels].astype(np.int64)).toarray()
    return CoOccurrence(labels, rows, among)


def labelset_bands(sets: Labelsets) -> list[tuple[str, int, int]]:
    """Return how many labelsets are seen once, twice, … and how many rows they have."""
    bands = [("once", 1, 1), ("twice", 2, 2), ("3-9 times", 3, 9), ("10-99 times", 10, 99)]
    bands.append(("100 times or more", 100, int(sets.frequencies.max())))
    found = []
    for name, low, high in bands:
        inside = (sets.frequencies >= low) & (sets.frequencies <= high)
        found.append((name, int(inside.sum()), int(sets.frequencies[inside].sum())))
    return found


def choose_rows(Y: csr_array, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Choose the rows of a map: all, or half at random and half for their rare labels.

    At random alone, rare labels would hardly be on the map. Rows with very many labels are
    fewer, so that a page stays small.
    """
    n = Y.shape[0]
    most = min(most, max(1, MOST_CELLS_ON_MAP * n // max(1, Y.nnz)))
    rng = np.random.default_rng(0)
    if n <= most:
        return np.arange(n)
    chosen = rng.permutation(n)[: most // 2]
    rarity = Y @ (1 / np.maximum(column_counts(Y), 1))
    rarity[chosen] = 0
    # Exponential races: the first to arrive are a weighted sample without replacement.
    with np.errstate(divide="ignore"):
        arrival = rng.exponential(size=n) / rarity
    waiting = np.argsort(arrival, kind="stable")[: most - most // 2]
    return np.sort(np.concatenate([chosen, waiting[np.isfinite(arrival[waiting])]]))


def project(X: Any, categorical: NDArray[np.bool_], kind: Kind) -> Floats:
    """Return clean rows as points of a plane: two principal components, scaled to [0, 1]."""
    table: Any = X if kind == "sparse" else _standardized(X, categorical)
    points = np.zeros((table.shape[0], 2))
    if min(table.shape) > 2:
        points = TruncatedSVD(2, random_state=0).fit_transform(table)
    else:
        few = table[:, :2]
        points[:, : few.shape[1]] = to_dense(few)
    low, width = points.min(axis=0), np.ptp(points, axis=0)
    return (points - low) / np.where(width > 0, width, 1)


def _standardized(X: NDArray[Any], categorical: NDArray[np.bool_]) -> NDArray[Any]:
    """Return centered numbers of variance one, and a column for every frequent category."""
    numbers = X[:, ~categorical].astype(np.float64)
    known = ~np.isnan(numbers)
    mean = np.divide(numbers.sum(axis=0, where=known), known.sum(axis=0).clip(1))
    numbers = np.where(known, numbers - mean, 0.0)
    # Divided by the largest number first: squares of huge ones would be infinite.
    largest = np.abs(numbers).max(axis=0, initial=0.0)
    numbers = np.divide(numbers, largest, out=np.zeros_like(numbers), where=largest > 0)
    spread = numbers.std(axis=0)
    numbers = np.divide(numbers, spread, out=np.zeros_like(numbers), where=spread > 0)
    if not categorical.any():
        return numbers
    encoder = OneHotEncoder(sparse_output=False, max_categories=_MOST_CATEGORIES)
    codes = encoder.fit_transform(X[:, categorical])
    return np.hstack([numbers, codes - codes.mean(axis=0)])


# --- columns of X, one by one ---------------------------------------------------------------------


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
