"""Growing in general: any weights, missing values, numeric and nominal features.

Every waiting node keeps, for each feature that can still split, its explicit cells in
ascending order. A node's children take its place on the stack of cells, so the stack stays
about as long as the root's cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._candidates import Room, nominal_split, numeric_split
from labelance.learners.tree._deal import deal, plan_deal
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._rules import (
    DEAD,
    UNCOUNTED,
    VALID,
    Rules,
    averaged_features,
    choose,
)
from labelance.learners.tree._sprouts import (
    CUT,
    FEATURE,
    FIRST,
    N_FIELDS,
    START,
    STOP,
    WIDTH,
    Sprouts,
    add_tree,
    new_sprouts,
    plant,
    take_branches,
    with_nodes,
    with_room,
)
from labelance.learners.tree._table import ROW, TreeTable


class Plot(NamedTuple):
    """What grows with a tree, used again for the next one."""

    nodes: NDArray[np.int64]
    histogram: NDArray[np.float64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]
    feature: NDArray[np.int32]  # stack: features that can still split, node by node,
    begin: NDArray[np.int64]  # and where their cells are
    end: NDArray[np.int64]
    cells: NDArray[np.uint64]


@kernel
def grow_general(
    table: TreeTable,
    problems: Problems,
    cells: NDArray,
    begin: NDArray,
    weight: NDArray,
    rules: Rules,
) -> Sprouts:
    """Grow a tree for every problem; ``cells`` and ``begin`` are theirs, see ``deal_cells``."""
    d, sprouts, plot = (
        len(table.n_categories),
        new_sprouts(problems, table.n_rows, False),
        _new_plot(len(table.n_categories)),
    )
    row, part = sprouts.row, sprouts.weight
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        C, a = problems.n_classes[p], sprouts.entry_start[p]
        column = table.column_start if problems.whole else begin[p * d : (p + 1) * d + 1]
        plot = _plant(plot, origin, column, table.cells if problems.whole else cells, weight)
        room = _new_room(table.n_categories, len(y), C)
        plot, size, used = _grow_tree(table, origin, y, C, plot, room, rules)
        sprouts = add_tree(sprouts, p, plot.nodes, plot.histogram, size, C)
        row, part = with_room(row, a, a + used), with_room(part, a, a + used)
        sprouts.entry_start[p + 1] = a + used
        for e in range(used):
            row[a + e], part[a + e] = plot.row[e], plot.weight[e]
    return Sprouts(
        sprouts.nodes,
        sprouts.node_start,
        sprouts.histogram,
        sprouts.histogram_start,
        row,
        part,
        sprouts.entry_start,
    )


@kernel
def _new_plot(d: int) -> Plot:
    return Plot(
        np.empty((16, N_FIELDS), np.int64),
        np.empty(64, np.float64),
        np.empty(64, np.int32),
        np.empty(64, np.float64),
        np.empty(d, np.int32),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(64, np.uint64),
    )


@kernel
def _new_room(n_categories: NDArray, n: int, C: int) -> Room:
    widest = 2
    for k in n_categories:
        widest = max(widest, k)
    return Room(
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(widest * C),
        np.empty(C),
        np.empty(C),
        np.empty(C),
    )


@kernel
def _with_room(plot: Plot, size: int, more: int, C: int, used: int, entries: int) -> Plot:
    """Return the plot with room for more nodes and entries."""
    return Plot(
        with_nodes(plot.nodes, size, size + more),
        with_room(plot.histogram, size * C, (size + more) * C),
        with_room(plot.row, used, entries),
        with_room(plot.weight, used, entries),
        plot.feature,
        plot.begin,
        plot.end,
        plot.cells,
    )


@kernel
def _with_stack(plot: Plot, live: int, more: int, used: int, cells: int) -> Plot:
    """Return the plot with room for more features and cells on the stack."""
    return Plot(
        plot.nodes,
        plot.histogram,
        plot.row,
        plot.weight,
        with_room(plot.feature, live, live + more),
        with_room(plot.begin, live, live + more),
        with_room(plot.end, live, live + more),
        with_room(plot.cells, used, cells),
    )


@kernel
def _plant(plot: Plot, origin: NDArray, column: NDArray, cells: NDArray, weight: NDArray) -> Plot:
    """Put the rows and cells of a problem where its root will find them."""
    d, n, first = len(column) - 1, len(origin), column[0]
    plot = _with_room(plot, 0, 1, 0, 0, n)
    plot = _with_stack(plot, 0, d, 0, column[d] - first + 1)
    for i in range(n):
        plot.row[i], plot.weight[i] = i, weight[origin[i]]
    for f in range(d):
        plot.feature[f], plot.begin[f], plot.end[f] = f, column[f] - first, column[f + 1] - first
    for t in range(column[d] - first):
        plot.cells[t] = cells[first + t]
    return plot


@kernel
def _add_leaf(plot: Plot, v: int, start: int, stop: int, y: NDArray, C: int, M: float) -> bool:
    """Make node v a leaf over some entries; tell whether it may be split."""
    for c in range(v * C, (v + 1) * C):
        plot.histogram[c] = 0.0
    for e in range(start, stop):
        plot.histogram[v * C + y[plot.row[e]]] += plot.weight[e]
    may_split = plant(plot.nodes, plot.histogram, v, start, C, M)
    plot.nodes[v, STOP] = stop
    return may_split


@kernel
def _grow_tree(
    table: TreeTable, origin: NDArray, y: NDArray, C: int, plot: Plot, room: Room, rules: Rules
) -> tuple[Plot, int, int]:
    """Grow one tree; return the plot, the number of nodes and that of entries."""
    d, size, used, top = len(table.n_categories), 1, len(y), len(table.n_categories)
    plot = _with_room(plot, 0, 1, C, used, used)
    waiting, bottom = [np.int64(0)], [np.int64(0)]
    if not _add_leaf(plot, 0, 0, used, y, C, rules.min_leaf):
        waiting.pop()
    averaged = averaged_features(table.n_categories, plot.histogram[:C].sum())
    status, cut = np.empty(d, np.int64), np.empty(d, np.int64)
    gain, ratio = np.empty(d), np.empty(d)
    while len(waiting) > 0:
        v, low = waiting.pop(), bottom.pop()
        _evaluate(table, y, plot, v, C, low, top, room, averaged, rules, status, gain, ratio, cut)
        best = choose(top - low, status, gain, ratio)
        if best < 0:
            top = low
            continue
        plot, width, used = _split(
            table, origin, y, C, plot, v, size, used, plot.feature[low + best], cut[best], room
        )
        open_children = np.empty(width, np.bool_)
        for b in range(width):
            start, stop = plot.nodes[size + b, START], plot.nodes[size + b, STOP]
            open_children[b] = _add_leaf(plot, size + b, start, stop, y, C, rules.min_leaf)
        plot, top = _push_children(
            plot, size, low, top, status, open_children, len(y), waiting, bottom
        )
        size += width
    return plot, size, used


@kernel
def _split(
    table: TreeTable,
    origin: NDArray,
    y: NDArray,
    C: int,
    plot: Plot,
    v: int,
    size: int,
    used: int,
    feature: int,
    cut: int,
    room: Room,
) -> tuple[Plot, int, int]:
    """Split node v into the nodes from ``size`` on, and deal its entries to them."""
    width = max(2, table.n_categories[feature])
    start, stop = plot.nodes[v, START], plot.nodes[v, STOP]
    take_branches(table, feature, cut, plot.row, start, stop, origin, room.branch)
    share, place = np.empty(width), np.empty(width, np.int64)
    end = plan_deal(plot.row, plot.weight, start, stop, used, room.branch, share, place)
    plot = _with_room(plot, size, width, C, used, end)
    for b in range(width):
        plot.nodes[size + b, START] = place[b]
    deal(plot.row, plot.weight, start, stop, room.branch, share, place)
    for b in range(width):
        plot.nodes[size + b, STOP] = place[b]
    plot.nodes[v, FEATURE], plot.nodes[v, CUT] = feature, cut
    plot.nodes[v, FIRST], plot.nodes[v, WIDTH] = size, width
    return plot, width, end


@kernel
def _push_children(
    plot: Plot,
    first: int,
    low: int,
    top: int,
    status: NDArray,
    is_open: NDArray,
    n: int,
    waiting: list[int],
    bottom: list[int],
) -> tuple[Plot, int]:
    """Put the children that may be split on the stack, where their parent was."""
    inside = np.zeros(n, np.bool_)
    live, at, size = top, plot.end[top - 1], plot.end[top - 1] - plot.begin[low]
    for b in range(len(is_open)):
        if not is_open[b]:
            continue
        waiting.append(np.int64(first + b))
        bottom.append(np.int64(live - top + low))
        plot = _with_stack(plot, live, top - low, at, at + size + 1)
        start, stop = plot.nodes[first + b, START], plot.nodes[first + b, STOP]
        for e in range(start, stop):
            inside[plot.row[e]] = True
        for i in range(low, top):
            if status[i - low] == DEAD:
                continue
            plot.feature[live], plot.begin[live] = plot.feature[i], at
            for t in range(plot.begin[i], plot.end[i]):
                plot.cells[at] = plot.cells[t]
                at += inside[plot.cells[t] & ROW]
            plot.end[live] = at
            live += 1
        for e in range(start, stop):
            inside[plot.row[e]] = False
    for i in range(top, live):
        to = i - top + low
        plot.feature[to] = plot.feature[i]
        for t in range(plot.begin[i], plot.end[i]):
            plot.cells[t - size] = plot.cells[t]
        plot.begin[to], plot.end[to] = plot.begin[i] - size, plot.end[i] - size
    return plot, live - top + low


@kernel
def _evaluate(
    table: TreeTable,
    y: NDArray,
    plot: Plot,
    v: int,
    C: int,
    low: int,
    top: int,
    room: Room,
    averaged: NDArray,
    rules: Rules,
    status: NDArray,
    gain: NDArray,
    ratio: NDArray,
    cut: NDArray,
) -> None:
    """Find the best split of node v on every feature of its stack."""
    histogram, W = plot.histogram[v * C : (v + 1) * C], 0.0
    start, stop = plot.nodes[v, START], plot.nodes[v, STOP]
    for c in range(C):
        W += histogram[c]
    for e in range(start, stop):
        room.weight[plot.row[e]] = plot.weight[e]
    for i in range(low, top):
        f, at = plot.feature[i], i - low
        cells = plot.cells[plot.begin[i] : plot.end[i]]
        hidden = table.implicit[f] if stop - start > len(cells) else -1
        if table.n_categories[f] > 0:
            status[at], gain[at], ratio[at] = nominal_split(
                cells, hidden, table.n_categories[f], y, histogram, W, room, rules
            )
            cut[at] = 0
        else:
            levels = table.levels[table.level_start[f] : table.level_start[f + 1]]
            status[at], gain[at], ratio[at], cut[at] = numeric_split(
                cells, hidden, levels, y, histogram, W, room, rules
            )
        if status[at] == VALID and not averaged[f]:
            status[at] = UNCOUNTED
