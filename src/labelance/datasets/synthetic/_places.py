"""Features for groups of rows: near to one's own group, far from every other.

Every group gets an address, a tuple of digits that no other group has. In dense data a digit
is a step along a feature, in sparse data it is a word of a slot; either way two groups are at
least one step apart, and the rows of a group stay within a fraction of a step. This holds for
plain Euclidean distances and for features scaled by their range, in any number of dimensions.
Addresses follow the labels: groups with like labels get like digits, so there is something
to learn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.exceptions import InputError

N_CATEGORIES = 4
"""Values of a categorical column in dense data."""

MOST_LEVELS = 4
"""Sparse data may count a word up to so many times, to tell groups apart."""

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


def place_dense(
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


def place_sparse(
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
    """Give every row of ``drift`` digits that no other has, in the order of its values.

    All are sorted by the first column and cut into ``base`` equal heaps, each heap is sorted
    by the second column and cut again, and so on until every heap has one member.
    """
    n_groups, n_digits = drift.shape
    digits = np.zeros(drift.shape, dtype=np.intp)
    heap, largest = np.zeros(n_groups, dtype=np.intp), n_groups
    for i in range(n_digits):
        order = np.lexsort((drift[:, i], heap))
        first = np.flatnonzero(np.diff(heap[order], prepend=-1))
        size = np.diff(first, append=n_groups)
        place = np.empty(n_groups, dtype=np.intp)
        place[order] = np.arange(n_groups) - np.repeat(first, size)
        largest = -(-largest // base)
        digits[:, i] = place // largest
        heap = heap * base + digits[:, i]
    return digits


def _base(n_groups: int, n_digits: int) -> int:
    """Return the smallest base in which so many digits tell all groups apart."""
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
        f"Sparse rows tell {n_groups} groups apart by their words",
        f"density={density:g} of n_features={n_features} leaves room for "
        f"{(width * MOST_LEVELS) ** n_slots}",
        "Raise n_features, or bring density nearer to 0.3, or ask for fewer rows",
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
