"""All trees on a block of rows, in one compiled pass that adds up what their leaves pay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._piece import piece


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


class Payoff(NamedTuple):
    """A sparse matrix by rows: what something pays to which account."""

    start: NDArray[np.int32]
    account: NDArray[np.int32]
    amount: NDArray[np.float64]


@kernel
def tally(
    X: NDArray,
    trees: Trees,
    per_node: Payoff,
    per_slot: Payoff,
    hard: bool,
    last_wins: bool,
    out: NDArray,
) -> None:
    """Add what every tree pays for every row; X is laid out column by column."""
    for t in range(len(trees.node_start) - 1):
        root = trees.node_start[t]
        for i in range(X.shape[1]):
            v = root
            while trees.feature[v] >= 0:
                x = X[trees.feature[v], i]
                if np.isnan(x):
                    break
                step = x > trees.threshold[v] if trees.width[v] == 2 else np.int64(x)
                v = root + trees.first[v] + step
            if trees.feature[v] < 0:
                for p in range(per_node.start[v], per_node.start[v + 1]):
                    out[i, per_node.account[p]] += per_node.amount[p]
                continue
            shares = _class_shares(X, i, trees, t, v)
            best = _most_probable(shares, last_wins)
            for c in range(len(shares)):
                part = (1.0 if c == best else 0.0) if hard else shares[c]
                slot = trees.slot_start[t] + c
                for p in range(per_slot.start[slot], per_slot.start[slot + 1]):
                    out[i, per_slot.account[p]] += part * per_slot.amount[p]


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
