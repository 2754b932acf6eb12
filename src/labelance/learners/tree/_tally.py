"""All trees on a block of rows, in one compiled pass that adds up what their leaves pay.

The rows of a node are a set of bits, and the children of a node divide it between them. So
64 rows go down a tree together, and nothing has to be guessed about single rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree._bits import ONE, popcount
from labelance.learners.tree._piece import piece

_MANY = np.uint64(12)  # of the 64 rows in a word: from here on all are looked at


class Trees(NamedTuple):
    """A forest as compiled code takes it; see ``Forest`` for the meaning."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    first: NDArray[np.int32]
    width: NDArray[np.int32]
    weight: NDArray[np.float64]
    histogram: NDArray[np.float64]
    node_start: NDArray[np.int64]
    histogram_start: NDArray[np.int64]
    slot_start: NDArray[np.int64]


class Block(NamedTuple):
    """Rows laid out column by column; sets of rows are bits, 64 to a word."""

    X: NDArray[np.float64]
    two: NDArray[np.bool_]  # which features have two categories, and for these
    ones: NDArray[np.uint64]  # the rows that have the second one
    missing: NDArray[np.uint64]  # the rows whose value is missing; no column if there are none


class Payoff(NamedTuple):
    """A sparse matrix by rows: what something pays to which account."""

    start: NDArray[np.int32]
    account: NDArray[np.int32]
    amount: NDArray[np.float64]


@kernel
def tally(
    block: Block,
    trees: Trees,
    winner: NDArray,
    per_node: Payoff,
    per_slot: Payoff,
    last_wins: bool,
    out: NDArray,
) -> None:
    """Add what every tree pays for every row to ``out``, which has a line for every account.

    If every node has a ``winner``, only that class pays for its leaf; else ``per_node`` says
    what a leaf pays.
    """
    n, n_trees, hard = block.X.shape[1], len(trees.node_start) - 1, len(winner) > 0
    words, most, C = (n + 63) >> 6, 1, 1
    for t in range(n_trees):
        most = max(most, trees.node_start[t + 1] - trees.node_start[t])
        C = max(C, trees.slot_start[t + 1] - trees.slot_start[t])
    members, votes = np.empty(most * words, np.uint64), np.zeros(C * words, np.uint64)
    for t in range(n_trees):
        root, slot = trees.node_start[t], trees.slot_start[t]
        for w in range(words):
            members[w] = ~np.uint64(0)
        if n & 63:
            members[words - 1] = (ONE << np.uint64(n & 63)) - ONE
        for v in range(root, trees.node_start[t + 1]):  # parents come before their children
            here = (v - root) * words
            if trees.feature[v] >= 0:
                if block.missing.shape[1] > 0:
                    _pay_for_missing(block, trees, t, v, members, per_slot, hard, last_wins, out)
                _divide(block, trees, root, v, members)
            elif hard:
                for w in range(words):
                    votes[winner[v] * words + w] |= members[here + w]
            else:
                _pay(members, here, words, per_node, v, out)
        for c in range(trees.slot_start[t + 1] - slot if hard else 0):
            _pay(votes, c * words, words, per_slot, slot + c, out)
            for w in range(c * words, (c + 1) * words):
                votes[w] = 0


@piece
def _divide(block: Block, trees: Trees, root: int, v: int, members: NDArray) -> None:
    """Divide the rows of node v between its children."""
    X, ones, words, f = block.X, block.ones, (block.X.shape[1] + 63) >> 6, trees.feature[v]
    here, first, width = (v - root) * words, trees.first[v] * words, trees.width[v]
    bits, threshold = block.two[f] and width == 2, trees.threshold[v]
    for w in range(words):
        rows = members[here + w]
        if width == 2:
            above = ones[f, w] if bits else np.uint64(0)
            left = np.uint64(0) if bits else rows
            while left != 0:
                lowest = left & (~left + ONE)
                x = X[f, (w << 6) + np.int64(popcount(lowest - ONE))]
                above |= lowest if x > threshold else np.uint64(0)
                left ^= lowest
            members[first + w] = rows & ~above
            members[first + words + w] = rows & above
        else:
            for b in range(width):
                members[first + b * words + w] = 0
            while rows != 0:
                lowest = rows & (~rows + ONE)
                b = np.int64(X[f, (w << 6) + np.int64(popcount(lowest - ONE))])
                members[first + b * words + w] |= lowest
                rows ^= lowest


@piece
def _pay(rows: NDArray, here: int, words: int, payoff: Payoff, line: int, out: NDArray) -> None:
    """Pay what a line of the payoffs says to every row of a set."""
    start, account, amount = payoff
    for p in range(start[line], start[line + 1]):
        to, paid = account[p], amount[p]
        for w in range(words):
            left, base = rows[here + w], w << 6
            if popcount(left) >= _MANY:
                # Adding nothing to the others is faster than finding out which they are.
                for i in range(min(64, out.shape[1] - base)):
                    is_in = (left >> np.uint64(i)) & ONE
                    out[to, base + i] += paid if is_in else 0.0
                left = np.uint64(0)
            while left != 0:
                lowest = left & (~left + ONE)
                out[to, base + np.int64(popcount(lowest - ONE))] += paid
                left ^= lowest


@piece
def _pay_for_missing(
    block: Block,
    trees: Trees,
    t: int,
    v: int,
    members: NDArray,
    per_slot: Payoff,
    hard: bool,
    last_wins: bool,
    out: NDArray,
) -> None:
    """Pay for the rows of node v whose value is missing there, and take them out."""
    words = (block.X.shape[1] + 63) >> 6
    here = (v - trees.node_start[t]) * words
    for w in range(words):
        rows = members[here + w] & block.missing[trees.feature[v], w]
        members[here + w] ^= rows
        while rows != 0:
            lowest = rows & (~rows + ONE)
            i = (w << 6) + np.int64(popcount(lowest - ONE))
            rows ^= lowest
            shares = _class_shares(block.X, i, trees, t, v)
            best = _most_probable(shares, last_wins)
            for c in range(len(shares)):
                part = (1.0 if c == best else 0.0) if hard else shares[c]
                slot = trees.slot_start[t] + c
                for p in range(per_slot.start[slot], per_slot.start[slot + 1]):
                    out[per_slot.account[p], i] += part * per_slot.amount[p]


@piece
def _class_shares(X: NDArray, i: int, trees: Trees, t: int, v: int) -> NDArray:
    """Send a row from node v down all branches where its value is missing, part by part."""
    root, C = trees.node_start[t], trees.slot_start[t + 1] - trees.slot_start[t]
    shares, sum_of_parts = np.zeros(C), 0.0
    size, top = trees.node_start[t + 1] - root, 1
    agenda, parts = np.empty(size, np.int64), np.empty(size)
    agenda[0], parts[0] = v, 1.0
    while top > 0:
        top -= 1
        node, part = agenda[top], parts[top]
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
            agenda[top] = first + step
            top += 1
            continue
        for child in range(first, first + trees.width[node]):
            if trees.weight[child] > 0:
                agenda[top] = child
                parts[top] = part * trees.weight[child] / trees.weight[node]
                top += 1
    for c in range(C):
        shares[c] /= sum_of_parts
    return shares


@piece
def _most_probable(shares: NDArray, last_wins: bool) -> int:
    best = 0
    for c in range(1, len(shares)):
        if shares[c] > shares[best] or (last_wins and shares[c] == shares[best]):
            best = c
    return best
