"""How many rows of a node are explicit, feature by feature and class by class, and who wins.

All features have two categories. Counts come from the rows of a node, or from sets of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._bits import popcount
from labelance.learners.tree._piece import piece
from labelance.learners.tree._rules import EPS, SLACK


@piece
def count(
    row_start: NDArray,
    row_feature: NDArray,
    origin: NDArray,
    y: NDArray,
    C: int,
    row: NDArray,
    m: int,
    k: int,
    asked: NDArray,
    place: NDArray,
    counted: NDArray,
) -> None:
    """Count, for the ``k`` features asked for and every class, the explicit of ``m`` rows."""
    nobody = len(counted) - C
    for i in range(k * C):
        counted[i] = 0
    for i in range(k):
        place[asked[i * (C + 1)]] = i * C
    for e in range(m):
        i = row[e]
        for t in range(row_start[origin[i]], row_start[origin[i] + 1]):
            counted[place[row_feature[t]] + y[i]] += 1
    for i in range(k):
        place[asked[i * (C + 1)]] = nobody


@piece
def count_bits(
    members: NDArray,
    here: int,
    column: NDArray,
    kind: NDArray,
    words: int,
    C: int,
    k: int,
    asked: NDArray,
    counted: NDArray,
) -> None:
    """Do what :func:`count` does by counting bits, which pays for many rows."""
    own = np.empty(words, np.uint64)
    for c in range(C):
        for w in range(words):
            own[w] = members[here + w] & kind[c * words + w]
        for i in range(k):
            total, base = np.uint64(0), np.int64(asked[i * (C + 1)]) * words
            for w in range(words):
                total += popcount(own[w] & column[base + w])
            counted[i * C + c] = total


@piece
def push(
    stack: NDArray,
    top: int,
    k: int,
    C: int,
    parent: NDArray,
    smaller: NDArray,
    is_smaller: bool,
    n: int,
    least: int,
) -> int:
    """Put a child of ``n`` rows on the stack; return its new top.

    A feature stays if both its branches have enough rows: below, they only get fewer.
    """
    # No branch: which features stay is hard to foresee, and a wrong guess is expensive.
    for i in range(k):
        explicit = np.int64(0)
        for c in range(C):
            less = smaller[i * C + c]
            here = less if is_smaller else parent[i * (C + 1) + 1 + c] - less
            stack[top + 1 + c] = here
            explicit += np.int64(here)
        stack[top] = parent[i * (C + 1)]
        top += (C + 1) * ((explicit >= least) & (explicit <= n - least))
    return top


@piece
def choose(
    stack: NDArray,
    low: int,
    k: int,
    C: int,
    counts: NDArray,
    first: int,
    n: int,
    gain: NDArray,
    log_table: NDArray,
) -> int:
    """Return the place of the winner among the ``k`` features on the stack, or -1 for a leaf.

    The class counts of the node are ``counts[first:first + C]``.
    """
    before, total, rows = log_table[n], 0.0, np.uint64(n)
    for c in range(first, first + C):
        before -= log_table[np.int64(counts[c])]
    zeros, ones = np.uint64(counts[first]), np.uint64(counts[first + C - 1])
    for i in range(k):
        gained, explicit, at = before, np.uint64(0), low + i * (C + 1) + 1
        if C == 2:
            a, b = np.uint64(stack[at]), np.uint64(stack[at + 1])
            explicit = a + b
            gained += log_table[a] + log_table[b] + log_table[zeros - a] + log_table[ones - b]
        else:
            for c in range(C):
                a = np.uint64(stack[at + c])
                explicit += a
                gained += log_table[a] + log_table[np.uint64(counts[first + c]) - a]
        gained -= log_table[explicit] + log_table[rows - explicit]
        gain[i] = gained if gained >= EPS else 0.0
        total += gain[i]
    # Everything is n times too large, which spares divisions.
    winner, least, bar = -1, total / max(k, 1) - SLACK * n, EPS
    for i in range(k):
        explicit, at = np.uint64(0), low + i * (C + 1) + 1
        for c in range(C):
            explicit += np.uint64(stack[at + c])
        info = log_table[rows] - log_table[explicit] - log_table[rows - explicit]
        if gain[i] > bar * info and gain[i] >= least:
            winner, bar = i, gain[i] / info + EPS
    return winner
