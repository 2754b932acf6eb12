"""Raising a branch when values are missing: all rows are dealt anew, for their shares change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._deal import deal, plan_deal, take_branches
from labelance.learners.tree._piece import ZERO, piece
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
    with_room,
)
from labelance.learners.tree._table import TreeTable


class Entries(NamedTuple):
    """Rows and their parts of weight, node by node; dealing anew adds to them."""

    row: NDArray[np.int32]
    weight: NDArray[np.float64]


@piece
def send_down(
    table: TreeTable,
    tree: Tree,
    entries: Entries,
    used: int,
    v: int,
    top: int,
    touched: NDArray,
    extra: NDArray,
    rules: Rules,
) -> tuple[Entries, int, float]:
    """Deal the entries of node v to the subtree of node ``top``, behind the ``used`` entries.

    If that is its own subtree, the nodes below get these entries and their class weights, and
    are ``touched``; else it is only tried out. Returns the entries, their number, and the
    estimated errors of all leaves.
    """
    nodes, C, estimate, deep, stays = tree.nodes, tree.n_classes, 0.0, 1, top == v
    agenda, branch = np.empty((len(nodes), 3), np.int64), np.empty(len(tree.y), np.int32)
    agenda[0, 0], agenda[0, 1], agenda[0, 2] = top, nodes[v, START], nodes[v, STOP]
    while deep > 0:
        deep -= 1
        u, start, stop = agenda[deep, 0], agenda[deep, 1], agenda[deep, 2]
        for c in range(C):
            extra[c] = 0.0
        for e in range(start, stop):
            extra[tree.y[entries.row[e]]] += entries.weight[e]
        if stays and u != top:
            nodes[u, START], nodes[u, STOP], touched[u] = start, stop, True
            for c in range(C):
                tree.histogram[u * C + c] = extra[c]
        if nodes[u, FEATURE] == LEAF:
            estimate += pessimistic_errors(extra, ZERO, C, rules)
            continue
        width = nodes[u, WIDTH]
        share, begin = np.empty(width), np.empty(width + 1, np.int64)
        take_branches(
            table, nodes[u, FEATURE], nodes[u, CUT], entries.row, start, stop, tree.origin, branch
        )
        # What is only tried out may be overwritten as soon as nodes on the agenda lie before it.
        first = used if stays else max(used, stop)
        end = plan_deal(entries.row, entries.weight, start, stop, first, branch, share, begin)
        entries = Entries(with_room(entries.row, first, end), with_room(entries.weight, first, end))
        deal(entries.row, entries.weight, start, stop, branch, share, begin)
        used = end if stays else used
        for b in range(width):
            agenda[deep, 0], agenda[deep, 1] = nodes[u, FIRST] + b, begin[b]
            agenda[deep, 2] = begin[b + 1]
            deep += 1
    return entries, used, estimate
