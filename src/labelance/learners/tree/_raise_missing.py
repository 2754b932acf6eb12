"""Raising a branch when values are missing: all rows are dealt anew, for their shares change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._deal import deal, plan_deal
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
    take_branches,
    with_room,
)
from labelance.learners.tree._table import TreeTable


class Entries(NamedTuple):
    """Rows and their parts of weight, node by node; dealing anew adds to them."""

    row: NDArray[np.int32]
    weight: NDArray[np.float64]


@kernel
def _deal_anew(
    table: TreeTable,
    tree: Tree,
    entries: Entries,
    v: int,
    start: int,
    stop: int,
    used: int,
    begin: NDArray,
) -> Entries:
    """Deal entries to the branches of node v, behind ``used``; ``begin`` tells where each lies."""
    nodes, branch = tree.nodes, np.empty(len(tree.y), np.int32)
    take_branches(
        table, nodes[v, FEATURE], nodes[v, CUT], entries.row, start, stop, tree.origin, branch
    )
    width = nodes[v, WIDTH]
    share, place = np.empty(width), np.empty(width, np.int64)
    end = plan_deal(entries.row, entries.weight, start, stop, used, branch, share, place)
    entries = Entries(with_room(entries.row, used, end), with_room(entries.weight, used, end))
    for b in range(width):
        begin[b] = place[b]
    begin[width] = end
    deal(entries.row, entries.weight, start, stop, branch, share, place)
    return entries


@kernel
def dealt_estimate(
    table: TreeTable,
    tree: Tree,
    entries: Entries,
    used: int,
    v: int,
    heaviest: int,
    extra: NDArray,
    rules: Rules,
) -> float:
    """Return the estimate of a branch if all entries of node v went down it."""
    nodes, C, estimate = tree.nodes, tree.n_classes, 0.0
    agenda = [(np.int64(heaviest), nodes[v, START], nodes[v, STOP])]
    while len(agenda) > 0:
        u, start, stop = agenda.pop()
        if nodes[u, FEATURE] == LEAF:
            for c in range(C):
                extra[c] = 0.0
            for e in range(start, stop):
                extra[tree.y[entries.row[e]]] += entries.weight[e]
            estimate += pessimistic_errors(extra, 0, C, rules)
            continue
        begin = np.empty(nodes[u, WIDTH] + 1, np.int64)
        # Entries of nodes still on the agenda lie before those that this node makes.
        entries = _deal_anew(table, tree, entries, u, start, stop, max(used, stop), begin)
        for b in range(nodes[u, WIDTH]):
            agenda.append((nodes[u, FIRST] + b, begin[b], begin[b + 1]))
    return estimate


@kernel
def raise_dealt(
    table: TreeTable,
    tree: Tree,
    entries: Entries,
    used: int,
    v: int,
    heaviest: int,
    touched: NDArray,
) -> tuple[Entries, int]:
    """Put the heaviest branch in the place of v and deal all entries of v down it."""
    nodes, C = tree.nodes, tree.n_classes
    for field in (FEATURE, CUT, FIRST, WIDTH):
        nodes[v, field] = nodes[heaviest, field]
    agenda = [np.int64(v)]
    while len(agenda) > 0:
        u = agenda.pop()
        if nodes[u, FEATURE] == LEAF:
            continue
        begin = np.empty(nodes[u, WIDTH] + 1, np.int64)
        entries = _deal_anew(table, tree, entries, u, nodes[u, START], nodes[u, STOP], used, begin)
        used = begin[nodes[u, WIDTH]]
        for b in range(nodes[u, WIDTH]):
            child = nodes[u, FIRST] + b
            agenda.append(child)
            nodes[child, START], nodes[child, STOP], touched[child] = begin[b], begin[b + 1], True
            for c in range(child * C, (child + 1) * C):
                tree.histogram[c] = 0.0
            for e in range(begin[b], begin[b + 1]):
                tree.histogram[child * C + tree.y[entries.row[e]]] += entries.weight[e]
    return entries, used
