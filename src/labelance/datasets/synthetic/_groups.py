"""Groups of rows whose minority cells have known types: their labels, then their features.

The rows of a group lie so close together, and so far from all others, that the k nearest
neighbors of each are exactly the other k rows of its group. A label that is the minority in
m of the k + 1 rows then has there m cells with k + 1 - m opposite neighbors each. With k = 5,
m = 5, 6 makes safe cells, 3, 4 borderline ones, 2 rare ones and 1 an outlier. No group mixes
types of a label, so re-examining the rare cells changes nothing.

Every group gets an address, a tuple of digits that no other group has. In dense data a digit
is a step along a feature, in sparse data it is a word of a slot; either way two groups are at
least one step apart, and the rows of a group stay within a fraction of a step. This holds for
plain Euclidean distances and for features scaled by their range, in any number of dimensions.
Addresses follow the labels: groups with like labels get like digits, so there is something
to learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.exceptions import InputError
from labelance.imbalance import LabelType
from labelance.imbalance._local import types_by_count

Counts = NDArray[np.intp]


@dataclass(frozen=True)
class LabelPlacement:
    """The rows in which one label is the minority.

    Attributes
    ----------
    group : ndarray
        The groups that the label has a part in.
    size : ndarray
        How many rows of each group.
    first : ndarray
        The row of the group where the label begins; it continues in a circle.
    """

    group: Counts
    size: Counts
    first: Counts

    def rows(self, group_size: int) -> Counts:
        """Return the row numbers, where group g has the rows from ``g * group_size`` on."""
        step = np.arange(self.size.sum()) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        place = (np.repeat(self.first, self.size) + step) % group_size
        return np.repeat(self.group, self.size) * group_size + place


def sizes_by_type(k: int) -> list[Counts]:
    """Return, for SF, BD, RR and OT, how many minority rows of a group make cells of this type."""
    opposite_to_type = types_by_count(k)
    return [k + 1 - np.flatnonzero(opposite_to_type == kind)[::-1] for kind in LabelType]


def split_by_type(total: int, want: NDArray[np.float64], sizes: list[Counts]) -> Counts:
    """Split minority cells into SF, BD, RR and OT as near to ``want`` as groups can be made.

    Outliers come one to a group, so they take what the other types leave. For these, every
    number near the wanted one is tried that is a sum of group sizes.
    """
    tried = []
    for wanted, size in zip(want[:3], sizes[:3]):
        reach = int(size.max(initial=0))
        middle = int(np.clip(wanted, 0, total))
        near = np.arange(max(0, middle - reach), min(total, middle + reach) + 1)
        tried.append(near[_is_sum_of(near, size)])
    table = np.array(list(product(*tried)), dtype=np.intp)
    table = np.column_stack([table, total - table.sum(axis=1)])
    table = table[table[:, 3] >= 0]
    best: Counts = table[np.square(table - want).sum(axis=1).argmin()]
    return best


def _is_sum_of(numbers: Counts, sizes: Counts) -> NDArray[np.bool_]:
    """Return which numbers are sums of group sizes, the sizes being consecutive numbers."""
    if not len(sizes):
        return numbers == 0
    return -(-numbers // sizes.max()) * sizes.min() <= numbers


def group_sizes(cells: Counts, sizes: list[Counts], n_groups: int) -> Counts:
    """Return how many rows of each group get the label, for given numbers of cells of each type.

    Sizes of a type are mixed, so that C varies; where groups are scarce, the largest are taken.
    """
    for share in (0.5, 1.0):
        parts = [_parts(int(n), size, share) for n, size in zip(cells, sizes)]
        found = np.concatenate(parts)
        if len(found) <= n_groups:
            break
    return found


def _parts(total: int, sizes: Counts, share: float) -> Counts:
    """Split ``total`` into sizes; ``share`` 0 means the smallest, 1 the largest, between mixed."""
    if not total:
        return np.empty(0, dtype=np.intp)
    least, most = int(sizes.min()), int(sizes.max())
    typical = least + share * (most - least)
    count = int(np.clip(np.rint(total / typical), -(-total // most), total // least))
    return np.diff(np.arange(count + 1) * total // count)


def assign_types(
    minority: Counts, shares: NDArray[np.float64], k: int, n_groups: int
) -> tuple[list[Counts], Counts]:
    """Return the group sizes of every label, and its number of cells of each type.

    What rounding gives or takes in one label is made up for in the next.
    """
    sizes = sizes_by_type(k)
    parts, cells = [], np.zeros((len(minority), 4), dtype=np.intp)
    owed = np.zeros(4)
    for label, total in enumerate(minority):
        owed += shares[label] * total
        cells[label] = split_by_type(int(total), owed, sizes)
        owed -= cells[label]
        parts.append(group_sizes(cells[label], sizes, n_groups))
        if len(parts[-1]) > n_groups:
            raise InputError(
                f"The types of label {label} need {len(parts[-1])} separate groups of {k + 1} rows",
                f"There are {n_groups}",
                "Raise the share of safe cells",
            )
    return parts, cells


def place_labels(
    parts: list[Counts],
    correlation: float,
    n_groups: int,
    group_size: int,
    rng: np.random.Generator,
) -> list[LabelPlacement]:
    """Choose groups and rows for every label; each follows the next more frequent one.

    A share ``correlation`` of a label's parts goes to rows of the label before it; the rest
    goes anywhere.
    """
    order = np.argsort([-part.sum() for part in parts], kind="stable")
    placements = [LabelPlacement(*np.empty((3, 0), dtype=np.intp))] * len(parts)
    previous = placements[0]
    for label, stream in zip(order, rng.spawn(len(parts))):
        previous = _place_label(
            stream.permutation(parts[label]), previous, correlation, n_groups, group_size, stream
        )
        placements[label] = previous
    return placements


def _place_label(
    sizes: Counts,
    previous: LabelPlacement,
    correlation: float,
    n_groups: int,
    group_size: int,
    rng: np.random.Generator,
) -> LabelPlacement:
    following = min(int(np.rint(correlation * len(sizes))), len(previous.group))
    together, chosen = _match(sizes[:following], previous.size, rng)
    apart = np.delete(sizes, together)
    free = np.ones(n_groups, dtype=bool)
    free[previous.group[chosen]] = False
    anywhere = rng.choice(np.flatnonzero(free), size=len(apart), replace=False)
    return LabelPlacement(
        np.concatenate([previous.group[chosen], anywhere]),
        np.concatenate([sizes[together], apart]),
        np.concatenate([previous.first[chosen], rng.integers(group_size, size=len(apart))]),
    )


def _match(sizes: Counts, others: Counts, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Pair every size with a different one of the others, an equal one as far as there are."""
    mine, theirs = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    mixed = rng.permutation(len(others))
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        equal = mixed[others[mixed] == size][: len(same)]
        mine.append(same[: len(equal)])
        theirs.append(equal)
    rest = np.setdiff1d(np.arange(len(sizes)), np.concatenate(mine))
    spare = np.setdiff1d(mixed, np.concatenate(theirs))
    # The largest groups hold most rows to have in common.
    spare = spare[np.argsort(-others[spare], kind="stable")][: len(rest)]
    return np.concatenate([*mine, rest]), np.concatenate([*theirs, spare])


N_CATEGORIES = 4
"""Values of a categorical column in dense data."""

MOST_LEVELS = 4
"""Sparse data may count a word up to this many times, to separate groups."""

_SPREAD = 0.1
"""Rows stay this far from the middle of their group, in steps."""

_JITTER = 0.15
"""Middles of groups stay this far from the grid, in steps."""

Table = NDArray[np.float64]


class Concepts(NamedTuple):
    """What the features express, before a place is found for it.

    Attributes
    ----------
    groups : csr_array of shape (n_groups, n_labels)
        The share of each group's rows in which a label is the minority.
    rows : csr_array of shape (n_samples, n_labels)
        The minority cells.
    group_of_row : ndarray of shape (n_samples,)
        The group that each row belongs to.
    """

    groups: csr_array
    rows: csr_array
    group_of_row: NDArray[np.intp]


def make_dense_features(
    concepts: Concepts, n_features: int, n_categorical: int, rng: np.random.Generator
) -> Table:
    """Make a dense X; the last ``n_categorical`` columns hold codes."""
    n_groups, n_numeric = concepts.groups.shape[0], n_features - n_categorical
    meaning = rng.standard_normal((concepts.groups.shape[1], n_features))
    drift = _drift(concepts, meaning, rng)
    n_digits = int(np.clip(np.log(n_groups) / np.log(4), 1, n_numeric))
    base = _base(n_groups, n_digits)
    step = 2 / max(1, base - 1)
    middle = 2 * _to_unit(drift) - 1
    grid = _to_unit(address(drift[:, :n_digits], base).astype(float))
    middle[:, :n_digits] = 2 * grid - 1 + step * rng.uniform(-_JITTER, _JITTER, grid.shape)
    middle[:, n_numeric:] = _bins(drift[:, n_numeric:], N_CATEGORIES)
    X = middle[concepts.group_of_row]
    reach = _SPREAD * step / np.sqrt(n_numeric)
    X[:, :n_numeric] += reach * _inside(concepts, meaning[:, :n_numeric], rng)
    return X


def make_sparse_features(
    concepts: Concepts,
    n_features: int,
    n_categorical: int,
    density: float,
    rng: np.random.Generator,
) -> csr_array:
    """Make a sparse X: every row has one word of each slot, counted once or a few times."""
    n_groups = concepts.groups.shape[0]
    n_slots = max(1, int(np.rint(density * n_features)))
    edges = np.arange(n_slots + 1) * n_features // n_slots
    width = np.diff(edges)
    n_digits, levels = _slots_needed(n_groups, n_slots, int(width.min()), n_features, density)
    meaning = rng.standard_normal((concepts.groups.shape[1], n_slots))
    drift = _drift(concepts, meaning, rng)
    digit = _bins(drift, width)
    digit[:, :n_digits] = address(drift[:, :n_digits], _base(n_groups, n_digits))
    word, count = edges[:-1] + digit % width, 1 + digit // width
    reach = np.where(word < n_features - n_categorical, _SPREAD / (levels * np.sqrt(n_slots)), 0)
    values = _inside(concepts, meaning, rng)
    values *= reach[concepts.group_of_row]
    values += count[concepts.group_of_row]
    n_samples = len(values)
    place = np.arange(n_samples + 1) * n_slots
    shape = (n_samples, n_features)
    return csr_array((values.ravel(), word[concepts.group_of_row].ravel(), place), shape=shape)


def address(drift: Table, base: int) -> NDArray[np.intp]:
    """Return for every row of ``drift`` digits that no other has, in the order of its values.

    All are sorted by the first column and cut into ``base`` equal buckets, each bucket is
    sorted by the second column and cut again, until every bucket has one member.
    """
    n_groups, n_digits = drift.shape
    digits = np.zeros(drift.shape, dtype=np.intp)
    bucket, largest = np.zeros(n_groups, dtype=np.intp), n_groups
    for i in range(n_digits):
        order = np.lexsort((drift[:, i], bucket))
        first = np.flatnonzero(np.diff(bucket[order], prepend=-1))
        size = np.diff(first, append=n_groups)
        place = np.empty(n_groups, dtype=np.intp)
        place[order] = np.arange(n_groups) - np.repeat(first, size)
        largest = -(-largest // base)
        digits[:, i] = place // largest
        bucket = bucket * base + digits[:, i]
    return digits


def _base(n_groups: int, n_digits: int) -> int:
    """Return the smallest base in which this many digits separate all groups."""
    base = max(1, int(n_groups ** (1 / n_digits)) - 1)
    while base**n_digits < n_groups:
        base += 1
    return base


def _slots_needed(
    n_groups: int, n_slots: int, width: int, n_features: int, density: float
) -> tuple[int, int]:
    """Return how many slots hold the address, and how often a word may be counted."""
    for levels in range(1, MOST_LEVELS + 1):
        if (width * levels) ** n_slots >= n_groups:
            n_digits = 1
            while (width * levels) ** n_digits < n_groups:
                n_digits += 1
            return n_digits, levels
    raise InputError(
        f"The sparse rows must distinguish {n_groups} groups",
        f"density={density:g} distinguishes only {(width * MOST_LEVELS) ** n_slots}",
        "Raise n_features",
    )


def _drift(concepts: Concepts, meaning: Table, rng: np.random.Generator) -> Table:
    """Return where each group is drawn to: the meaning of its labels, and its own way."""
    own: Table = rng.standard_normal((concepts.groups.shape[0], meaning.shape[1]))
    return 0.5 * own + concepts.groups @ meaning


def _inside(concepts: Concepts, meaning: Table, rng: np.random.Generator) -> Table:
    """Return the place of each row around its group's middle, within 1: by labels and chance."""
    inside: Table = np.clip(concepts.rows @ (meaning / 4), -0.5, 0.5)
    inside += rng.uniform(-0.5, 0.5, inside.shape)
    return inside


def _to_unit(values: Table) -> Table:
    """Stretch every column to the range from 0 to 1."""
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1)


def _bins(values: Table, n_bins: int | NDArray[np.intp]) -> NDArray[np.intp]:
    """Cut every column into bins that hold equally many rows."""
    rank = values.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return rank * n_bins // max(1, len(values))
