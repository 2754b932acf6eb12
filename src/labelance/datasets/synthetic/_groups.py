"""Minority cells dealt out to groups of rows, so that their types are known beforehand.

The rows of a group lie so close together, and so far from all others, that the k nearest
neighbors of each are exactly the other k rows of its group. A label that is the minority in
m of the k + 1 rows then has there m cells with k + 1 - m opposite neighbors each. With k = 5,
m = 5, 6 makes safe cells, 3, 4 borderline ones, 2 rare ones and 1 an outlier. No group mixes
types of a label, so re-examining the rare cells changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from labelance.exceptions import InputError
from labelance.imbalance import LabelType, types_by_count

Counts = NDArray[np.intp]


@dataclass(frozen=True)
class Seats:
    """Where the minority rows of one label sit.

    Attributes
    ----------
    group : ndarray
        The groups that the label has a part in.
    size : ndarray
        How many rows of each group.
    first : ndarray
        The row of the group where the label begins; it goes on in a circle.
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
    """Tell which numbers are sums of group sizes, the sizes being consecutive numbers."""
    if not len(sizes):
        return numbers == 0
    return -(-numbers // sizes.max()) * sizes.min() <= numbers


def deal(cells: Counts, sizes: list[Counts], n_groups: int) -> Counts:
    """Turn numbers of SF, BD, RR and OT cells into the sizes of the label's parts in groups.

    Sizes of a type are mixed, so that C varies; where groups are scarce, the largest are taken.
    """
    for share in (0.5, 1.0):
        parts = [_parts(int(n), size, share) for n, size in zip(cells, sizes)]
        dealt = np.concatenate(parts)
        if len(dealt) <= n_groups:
            break
    return dealt


def _parts(total: int, sizes: Counts, share: float) -> Counts:
    """Split ``total`` into sizes; ``share`` 0 means the smallest, 1 the largest, between mixed."""
    if not total:
        return np.empty(0, dtype=np.intp)
    least, most = int(sizes.min()), int(sizes.max())
    typical = least + share * (most - least)
    count = int(np.clip(np.rint(total / typical), -(-total // most), total // least))
    return np.diff(np.arange(count + 1) * total // count)


def deal_labels(
    minority: Counts, shares: NDArray[np.float64], k: int, n_groups: int
) -> tuple[list[Counts], Counts]:
    """Deal the minority cells of every label; return the parts and the cells of each type.

    What rounding gives or takes in one label is made up for in the next.
    """
    sizes = sizes_by_type(k)
    parts, cells = [], np.zeros((len(minority), 4), dtype=np.intp)
    owed = np.zeros(4)
    for label, total in enumerate(minority):
        owed += shares[label] * total
        cells[label] = split_by_type(int(total), owed, sizes)
        owed -= cells[label]
        parts.append(deal(cells[label], sizes, n_groups))
        if len(parts[-1]) > n_groups:
            raise InputError(
                f"The types of label {label} need {len(parts[-1])} separate groups of {k + 1} rows",
                f"there are {n_groups} of them",
                "Ask for more safe cells in type_shares, or make the label rarer",
            )
    return parts, cells


def seat_labels(
    parts: list[Counts],
    correlation: float,
    n_groups: int,
    group_size: int,
    rng: np.random.Generator,
) -> list[Seats]:
    """Choose groups and rows for every label; each follows the next more frequent one.

    A share ``correlation`` of a label's parts goes to rows of the label before it; the rest
    goes anywhere.
    """
    order = np.argsort([-part.sum() for part in parts], kind="stable")
    seats: list[Seats] = [Seats(*np.empty((3, 0), dtype=np.intp))] * len(parts)
    leader = seats[0]
    for label, stream in zip(order, rng.spawn(len(parts))):
        leader = _seat(
            stream.permutation(parts[label]), leader, correlation, n_groups, group_size, stream
        )
        seats[label] = leader
    return seats


def _seat(
    sizes: Counts,
    leader: Seats,
    correlation: float,
    n_groups: int,
    group_size: int,
    rng: np.random.Generator,
) -> Seats:
    following = min(int(np.rint(correlation * len(sizes))), len(leader.group))
    together, chosen = _match(sizes[:following], leader.size, rng)
    apart = np.delete(sizes, together)
    free = np.ones(n_groups, dtype=bool)
    free[leader.group[chosen]] = False
    anywhere = rng.choice(np.flatnonzero(free), size=len(apart), replace=False)
    return Seats(
        np.concatenate([leader.group[chosen], anywhere]),
        np.concatenate([sizes[together], apart]),
        np.concatenate([leader.first[chosen], rng.integers(group_size, size=len(apart))]),
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
