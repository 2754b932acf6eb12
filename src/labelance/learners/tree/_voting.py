"""Votes of all trees for a block of rows, summed in one compiled pass.

The rows of a node are a set of bits, and the children of a node divide it between them. So
64 rows go down a tree together, and nothing has to be guessed about single rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import inner_kernel, kernel
from labelance.learners.tree._data import ONE_BIT, popcount

_MANY = np.uint64(12)  # of the 64 rows in a word: from here on all are looked at


class ForestArrays(NamedTuple):
    """The arrays of a ``Forest``, see there, for compiled code."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    first: NDArray[np.int32]
    width: NDArray[np.int32]
    weight: NDArray[np.float64]
    histogram: NDArray[np.float64]
    node_start: NDArray[np.int64]
    histogram_start: NDArray[np.int64]
    slot_start: NDArray[np.int64]


class RowBlock(NamedTuple):
    """Rows laid out column by column; sets of rows are bits, 64 to a word."""

    X: NDArray[np.float64]
    two: NDArray[np.bool_]  # which features have two categories, and for these
    ones: NDArray[np.uint64]  # the rows that have the second one


class SparseVotes(NamedTuple):
    """A sparse matrix by rows: the votes for each output."""

    start: NDArray[np.int64]
    output: NDArray[np.int64]
    value: NDArray[np.float64]


class Voting(NamedTuple):
    """How trees vote: each for its most probable class, or for all in proportion."""

    winner: NDArray[np.int64]  # the most probable class of every node; empty if all classes vote
    per_node: SparseVotes  # of all classes of a node together, if all vote
    per_slot: SparseVotes  # of each class of each tree
    last_wins: bool  # the last of several most probable classes, not the first


@kernel
def sum_votes(
    block: RowBlock,
    missing: NDArray | None,
    trees: ForestArrays,
    voting: Voting,
    members: NDArray,
    voters: NDArray,
    out: NDArray,
) -> None:
    """Add the votes of all trees for each row to ``out``, which has a line for every output.

    ``missing`` are the rows of each feature whose value is missing. None says that there are none,
    and then what would be done about them is not compiled. ``members`` has room for a set of rows
    per node of any tree, ``voters`` for one per class: these are empty.
    """
    winner, per_node, per_slot = voting.winner, voting.per_node, voting.per_slot
    n, hard = block.X.shape[1], len(winner) > 0
    words = (n + 63) >> 6
    for t in range(len(trees.node_start) - 1):
        root, slot = trees.node_start[t], trees.slot_start[t]
        set_all(members, n)
        for v in range(root, trees.node_start[t + 1]):  # parents come before their children
            here, f = (v - root) * words, trees.feature[v]
            if f >= 0:
                if missing is not None:
                    _vote_for_missing(block.X, missing, trees, voting, t, v, members, out)
                first, width = trees.first[v] * words, trees.width[v]
                partition_rows(block, f, trees.threshold[v], width, members, here, first)
            elif hard:
                for w in range(words):
                    voters[winner[v] * words + w] |= members[here + w]
            else:
                _add_votes(members, here, words, per_node, v, out)
        for c in range(trees.slot_start[t + 1] - slot if hard else 0):
            _add_votes(voters, c * words, words, per_slot, slot + c, out)
            for w in range(c * words, (c + 1) * words):
                voters[w] = 0


@inner_kernel
def set_all(members: NDArray, n: int) -> None:
    """Make the first set one of all ``n`` rows."""
    words = (n + 63) >> 6
    for w in range(words):
        members[w] = ~np.uint64(0)
    if n & 63:
        members[words - 1] = (ONE_BIT << np.uint64(n & 63)) - ONE_BIT


@inner_kernel
def partition_rows(
    block: RowBlock,
    f: int,
    threshold: float,
    width: int,
    members: NDArray,
    here: int,
    first: int,
) -> None:
    """Partition the set at ``here`` by feature f into ``width`` sets from ``first`` on."""
    X, ones, words = block.X, block.ones, (block.X.shape[1] + 63) >> 6
    bits = block.two[f] and width == 2
    for w in range(words):
        rows = members[here + w]
        if width == 2:
            above = ones[f, w] if bits else np.uint64(0)
            left = np.uint64(0) if bits else rows
            while left != 0:
                lowest = left & (~left + ONE_BIT)
                x = X[f, (w << 6) + np.int64(popcount(lowest - ONE_BIT))]
                above |= lowest if x > threshold else np.uint64(0)
                left ^= lowest
            members[first + w] = rows & ~above
            members[first + words + w] = rows & above
        else:
            for b in range(width):
                members[first + b * words + w] = 0
            while rows != 0:
                lowest = rows & (~rows + ONE_BIT)
                b = np.int64(X[f, (w << 6) + np.int64(popcount(lowest - ONE_BIT))])
                members[first + b * words + w] |= lowest
                rows ^= lowest


@inner_kernel
def _add_votes(
    rows: NDArray, here: int, words: int, votes: SparseVotes, line: int, out: NDArray
) -> None:
    """Add a line of the votes for every row of a set."""
    start, output, value = votes
    for p in range(start[line], start[line + 1]):
        add_to_rows(rows, here, words, value[p], out, output[p])


@inner_kernel
def add_to_rows(rows: NDArray, here: int, words: int, value: float, out: NDArray, to: int) -> None:
    """Add a value to line ``to`` of ``out`` for every row of a set."""
    for w in range(words):
        left, base = rows[here + w], w << 6
        if popcount(left) >= _MANY:
            # Adding nothing to the others is faster than finding out which they are.
            for i in range(min(64, out.shape[1] - base)):
                is_in = (left >> np.uint64(i)) & ONE_BIT
                out[to, base + i] += value if is_in else 0.0
            left = np.uint64(0)
        while left != 0:
            lowest = left & (~left + ONE_BIT)
            out[to, base + np.int64(popcount(lowest - ONE_BIT))] += value
            left ^= lowest


@inner_kernel
def _vote_for_missing(
    X: NDArray,
    missing: NDArray,
    trees: ForestArrays,
    voting: Voting,
    t: int,
    v: int,
    members: NDArray,
    out: NDArray,
) -> None:
    """Add the votes for the rows of node v whose value is missing there, and take them out."""
    per_slot, hard, words = voting.per_slot, len(voting.winner) > 0, (X.shape[1] + 63) >> 6
    here = (v - trees.node_start[t]) * words
    for w in range(words):
        rows = members[here + w] & missing[trees.feature[v], w]
        members[here + w] ^= rows
        while rows != 0:
            lowest = rows & (~rows + ONE_BIT)
            i = (w << 6) + np.int64(popcount(lowest - ONE_BIT))
            rows ^= lowest
            shares = _class_shares(X, i, trees, t, v)
            best = _most_probable(shares, voting.last_wins)
            for c in range(len(shares)):
                part = (1.0 if c == best else 0.0) if hard else shares[c]
                slot = trees.slot_start[t] + c
                for p in range(per_slot.start[slot], per_slot.start[slot + 1]):
                    out[per_slot.output[p], i] += part * per_slot.value[p]


@inner_kernel
def _class_shares(X: NDArray, i: int, trees: ForestArrays, t: int, v: int) -> NDArray:
    """Return the class probabilities of a row that takes all branches where a value is missing."""
    root, C = trees.node_start[t], trees.slot_start[t + 1] - trees.slot_start[t]
    shares, sum_of_parts = np.zeros(C), 0.0
    size, top = trees.node_start[t + 1] - root, 1
    stack, parts = np.empty(size, np.int64), np.empty(size)
    stack[0], parts[0] = v, 1.0
    while top > 0:
        top -= 1
        node, part = stack[top], parts[top]
        if trees.feature[node] < 0:
            base, total = trees.histogram_start[t] + (node - root) * C, 0.0
            for c in range(C):
                total += trees.histogram[base + c]
            for c in range(C):
                shares[c] += part * trees.histogram[base + c] / total
            sum_of_parts += part
            continue
        x, first = X[trees.feature[node], i], root + trees.first[node]
        if not np.isnan(x):
            step = x > trees.threshold[node] if trees.width[node] == 2 else np.int64(x)
            stack[top] = first + step
            top += 1
            continue
        for child in range(first, first + trees.width[node]):
            if trees.weight[child] > 0:
                stack[top] = child
                parts[top] = part * trees.weight[child] / trees.weight[node]
                top += 1
    for c in range(C):
        shares[c] /= sum_of_parts
    return shares


@inner_kernel
def _most_probable(shares: NDArray, last_wins: bool) -> int:
    best = 0
    for c in range(1, len(shares)):
        if shares[c] > shares[best] or (last_wins and shares[c] == shares[best]):
            best = c
    return best
