"""Growing in general: any weights, missing values, numeric and nominal features.

Every waiting node keeps, for each feature that can still split, its explicit cells in
ascending order. A node's children take its place on the stack of cells, so the stack stays
about as long as the root's cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._candidates import Room, nominal_split, numeric_split
from labelance.learners.tree._deal import ROW, deal, plan_deal
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._rules import DEAD, Rules, averaged_features, choose, is_settled
from labelance.learners.tree._sprouts import LEAF, NODE, Sprouts, branch_of, with_room
from labelance.learners.tree._table import TreeTable


class Plot(NamedTuple):
    """What grows with a tree, used again for the next one."""

    nodes: NDArray[Any]
    histogram: NDArray[np.float64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]
    feature: NDArray[np.int32]  # stack: features that can still split, node by node,
    begin: NDArray[np.int64]  # and where their cells are
    end: NDArray[np.int64]
    cells: NDArray[np.int64]


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
    n_problems, d = len(problems.n_classes), len(table.n_categories)
    node_start = np.zeros(n_problems + 1, np.int64)
    histogram_start = np.zeros(n_problems + 1, np.int64)
    entry_start = np.zeros(n_problems + 1, np.int64)
    nodes, histogram = np.empty(64, NODE), np.empty(64, np.float64)
    row, entry_weight = np.empty(64, np.int32), np.empty(64, np.float64)
    plot = _new_plot(d)
    for p in range(n_problems):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        C = problems.n_classes[p]
        column = table.column_start if problems.whole else begin[p * d : (p + 1) * d + 1]
        plot = _plant(plot, origin, column, table.cells if problems.whole else cells, weight)
        room = _new_room(table.n_categories, len(y), C)
        plot, size, used = _grow_tree(table, origin, y, C, plot, room, rules)
        a, b, c = node_start[p], histogram_start[p], entry_start[p]
        node_start[p + 1], histogram_start[p + 1], entry_start[p + 1] = (
            a + size,
            b + size * C,
            c + used,
        )
        nodes = _appended(nodes, a, plot.nodes, size)
        histogram = _appended(histogram, b, plot.histogram, size * C)
        row = _appended(row, c, plot.row, used)
        entry_weight = _appended(entry_weight, c, plot.weight, used)
    return Sprouts(nodes, node_start, histogram, histogram_start, row, entry_weight, entry_start)


@kernel
def _appended(array: NDArray, used: int, more: NDArray, count: int) -> NDArray:
    """Return the array with some more behind its ``used`` part."""
    array = with_room(array, used, used + count)
    for i in range(count):
        array[used + i] = more[i]
    return array


@kernel
def _new_plot(d: int) -> Plot:
    return Plot(
        np.empty(16, NODE),
        np.empty(64, np.float64),
        np.empty(64, np.int32),
        np.empty(64, np.float64),
        np.empty(d, np.int32),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(64, np.int64),
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
        with_room(plot.nodes, size, size + more),
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
    node = plot.nodes[v]
    node.feature, node.cut, node.first, node.width = LEAF, 0, 0, 0
    node.start, node.stop = start, stop
    for c in range(v * C, (v + 1) * C):
        plot.histogram[c] = 0.0
    for e in range(start, stop):
        plot.histogram[v * C + y[plot.row[e]]] += plot.weight[e]
    total, largest = 0.0, 0.0
    for c in range(v * C, (v + 1) * C):
        total += plot.histogram[c]
        largest = max(largest, plot.histogram[c])
    node.weight = total
    return not is_settled(total, largest, M)


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
    averaged = averaged_features(table.n_categories, plot.nodes[0].weight)
    status, cut = np.empty(d, np.int64), np.empty(d, np.int64)
    gain, ratio = np.empty(d), np.empty(d)
    while len(waiting) > 0:
        v, low = waiting.pop(), bottom.pop()
        _evaluate(table, y, plot, v, C, low, top, room, rules, status, gain, ratio, cut)
        best = choose(top - low, status, gain, ratio, averaged, plot.feature[low:top])
        if best < 0:
            top = low
            continue
        plot, width, used = _split(
            table, origin, y, C, plot, v, size, used, plot.feature[low + best], cut[best], room
        )
        open_children = np.empty(width, np.bool_)
        for b in range(width):
            child = plot.nodes[size + b]
            open_children[b] = _add_leaf(
                plot, size + b, child.start, child.stop, y, C, rules.min_leaf
            )
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
    start, stop = plot.nodes[v].start, plot.nodes[v].stop
    for e in range(start, stop):
        i = plot.row[e]
        room.branch[i] = branch_of(table, origin[i], feature, cut)
    share, place = np.empty(width), np.empty(width, np.int64)
    end = plan_deal(plot.row, plot.weight, start, stop, used, room.branch, share, place)
    plot = _with_room(plot, size, width, C, used, end)
    for b in range(width):
        plot.nodes[size + b].start = place[b]
    deal(plot.row, plot.weight, start, stop, room.branch, share, place)
    for b in range(width):
        plot.nodes[size + b].stop = place[b]
    node = plot.nodes[v]
    node.feature, node.cut, node.first, node.width = feature, cut, size, width
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
        child = plot.nodes[first + b]
        for e in range(child.start, child.stop):
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
        for e in range(child.start, child.stop):
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
    rules: Rules,
    status: NDArray,
    gain: NDArray,
    ratio: NDArray,
    cut: NDArray,
) -> None:
    """Find the best split of node v on every feature of its stack."""
    node, histogram = plot.nodes[v], plot.histogram[v * C : (v + 1) * C]
    for e in range(node.start, node.stop):
        room.weight[plot.row[e]] = plot.weight[e]
    for i in range(low, top):
        f, at = plot.feature[i], i - low
        cells = plot.cells[plot.begin[i] : plot.end[i]]
        hidden = table.implicit[f] if node.stop - node.start > len(cells) else -1
        if table.n_categories[f] > 0:
            status[at], gain[at], ratio[at] = nominal_split(
                cells, hidden, table.n_categories[f], y, histogram, node.weight, room, rules
            )
            cut[at] = 0
        else:
            levels = table.levels[table.level_start[f] : table.level_start[f + 1]]
            status[at], gain[at], ratio[at], cut[at] = numeric_split(
                cells, hidden, levels, y, histogram, node.weight, room, rules
            )
