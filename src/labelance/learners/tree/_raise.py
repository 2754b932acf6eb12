"""Raising a branch when no value is missing: every row is in one leaf, and few rows move.

The rows of a leaf are a chain: its START is the first row, its STOP the last one, and
``following`` leads from row to row. So leaves can be joined, and rows can move, in no time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._deal import rank_of
from labelance.learners.tree._piece import piece
from labelance.learners.tree._rules import Rules, pessimistic_errors
from labelance.learners.tree._sprouts import (
    CUT,
    FEATURE,
    FIRST,
    LEAF,
    START,
    STOP,
    WIDTH,
    Tree,
)
from labelance.learners.tree._table import TreeTable

NOBODY = -1


@piece
def chain_rows(
    nodes: NDArray,
    row: NDArray,
    weight: NDArray,
    following: NDArray,
    row_weight: NDArray,
) -> None:
    """Chain the rows of every leaf; ``row`` and ``weight`` are the entries of the tree."""
    agenda, top = np.empty(len(nodes), np.int64), 1
    agenda[0] = 0
    while top > 0:
        top -= 1
        v = agenda[top]
        if nodes[v, FEATURE] != LEAF:
            for b in range(nodes[v, WIDTH]):
                agenda[top] = nodes[v, FIRST] + b
                top += 1
            continue
        start, stop = nodes[v, START], nodes[v, STOP]
        nodes[v, START] = nodes[v, STOP] = NOBODY
        for e in range(start, stop):
            append(nodes, following, v, row[e])
            row_weight[row[e]] = weight[e] if len(weight) > 0 else 1.0


@piece
def append(nodes: NDArray, following: NDArray, leaf: int, row: int) -> None:
    """Put a row at the end of a leaf's chain."""
    if nodes[leaf, START] == NOBODY:
        nodes[leaf, START] = row
    else:
        following[nodes[leaf, STOP]] = row
    nodes[leaf, STOP] = row
    following[row] = NOBODY


@piece
def join_chains(nodes: NDArray, following: NDArray, v: int, agenda: NDArray) -> None:
    """Give node v, about to become a leaf, the rows of all leaves below it."""
    head, tail, top = NOBODY, NOBODY, 1
    agenda[0] = v
    while top > 0:
        top -= 1
        u = agenda[top]
        if nodes[u, FEATURE] != LEAF:
            for b in range(nodes[u, WIDTH]):
                agenda[top] = nodes[u, FIRST] + b
                top += 1
        elif nodes[u, START] != NOBODY:
            if head == NOBODY:
                head = nodes[u, START]
            else:
                following[tail] = nodes[u, START]
            tail = nodes[u, STOP]
    nodes[v, START], nodes[v, STOP] = head, tail


@piece
def route_siblings(
    table: TreeTable,
    nodes: NDArray,
    origin: NDArray,
    following: NDArray,
    v: int,
    heaviest: int,
    agenda: NDArray,
    moved: NDArray,
    leaf: NDArray,
) -> int:
    """Find the rows of all other children of node v, and where each ends in the heaviest.

    Fills the first places of ``moved`` and ``leaf``; returns how many.
    """
    row_start, row_feature, row_rank = (
        table.row_start,
        table.row_feature,
        table.row_rank,
    )
    n_categories, implicit, stored, words = (
        table.n_categories,
        table.implicit,
        table.stored,
        table.words,
    )
    count, top = 0, 1
    agenda[0] = v
    while top > 0:
        top -= 1
        u = agenda[top]
        if nodes[u, FEATURE] != LEAF:
            for child in range(nodes[u, FIRST], nodes[u, FIRST] + nodes[u, WIDTH]):
                agenda[top] = child
                top += child != heaviest
            continue
        i = nodes[u, START]
        while i != NOBODY:
            at = heaviest
            while nodes[at, FEATURE] != LEAF:
                f = nodes[at, FEATURE]
                rank = rank_of(
                    row_start,
                    row_feature,
                    row_rank,
                    stored,
                    words,
                    implicit,
                    origin[i],
                    f,
                )
                at = nodes[at, FIRST] + (rank if n_categories[f] > 0 else rank > nodes[at, CUT])
            moved[count], leaf[count] = i, at
            count += 1
            i = following[i]
    return count


@piece
def added_estimate(
    tree: Tree,
    estimate: NDArray,
    row_weight: NDArray,
    count: int,
    moved: NDArray,
    leaf: NDArray,
    extra: NDArray,
    rules: Rules,
) -> float:
    """Return by how much the estimate of a branch grows if ``count`` rows come to its leaves.

    Only leaves that get rows change; ``extra`` is room for their class weights, all 0.
    """
    y, histogram, C, growth = tree.y, tree.histogram, tree.n_classes, 0.0
    for k in range(count):
        extra[leaf[k] * C + y[moved[k]]] += row_weight[moved[k]]
    for k in range(count):
        base, is_new = leaf[k] * C, False
        for c in range(base, base + C):
            is_new = is_new or extra[c] != 0.0
        if is_new:  # else an earlier row has settled this leaf
            growth -= estimate[leaf[k]]
            for c in range(base, base + C):
                extra[c] += histogram[c]
            growth += pessimistic_errors(extra, base, C, rules)
            for c in range(base, base + C):
                extra[c] = 0.0
    return growth


@piece
def move_rows(
    table: TreeTable,
    tree: Tree,
    following: NDArray,
    row_weight: NDArray,
    heaviest: int,
    count: int,
    moved: NDArray,
    touched: NDArray,
) -> None:
    """Let ``count`` rows of its siblings go down the heaviest branch."""
    row_start, row_feature, row_rank = table.row_start, table.row_feature, table.row_rank
    n_categories, implicit = table.n_categories, table.implicit
    stored, words = table.stored, table.words
    nodes, histogram, origin, y, C = tree.nodes, tree.histogram, tree.origin, tree.y, tree.n_classes
    for k in range(count):
        i, at = moved[k], heaviest
        while nodes[at, FEATURE] != LEAF:
            f = nodes[at, FEATURE]
            rank = rank_of(row_start, row_feature, row_rank, stored, words, implicit, origin[i], f)
            at = nodes[at, FIRST] + (rank if n_categories[f] > 0 else rank > nodes[at, CUT])
            histogram[at * C + y[i]] += row_weight[i]
            touched[at] = True
        append(nodes, following, at, i)
