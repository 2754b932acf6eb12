"""Growing over sorted columns: numeric and nominal features, any weights and missing values.

Every waiting node keeps, for each feature that can still split, its explicit cells in
ascending order. When a node is split, the cells of its children are copied behind its own,
except for the largest child's, which are pushed together in their place. The largest child
waits longest, so all that waits is at most about twice as long as the root's cells.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._candidates import Room, nominal_split, numeric_split
from labelance.learners.tree._cuts import cut_between, is_varied, many_class_cut, two_class_cut
from labelance.learners.tree._deal import deal, plan_deal, take_branches
from labelance.learners.tree._piece import piece
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._rules import (
    ALIVE,
    DEAD,
    EPS,
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
    with_nodes,
    with_room,
)
from labelance.learners.tree._table import ROW, TreeTable

NOBODY = -2  # a branch that no row takes


class Plot(NamedTuple):
    """What grows with a tree, used again for the next one."""

    nodes: NDArray[np.int64]
    histogram: NDArray[np.float64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]  # empty if all weights are 1
    waiting: NDArray[np.int64]  # node, and first and last of its features, in turn
    live: NDArray[np.int64]  # feature, and begin and end of its cells, in turn
    cells: NDArray[np.uint64]


class Found(NamedTuple):
    """The best split on each feature of a node."""

    status: NDArray[np.int64]
    gain: NDArray[np.float64]
    ratio: NDArray[np.float64]
    cut: NDArray[np.int64]


@kernel
def grow_sorted(
    table: TreeTable,
    problems: Problems,
    cells: NDArray,
    begin: NDArray,
    weight: NDArray,
    rules: Rules,
    log_table: NDArray,
) -> Sprouts:
    """Grow a tree for every problem.

    ``cells`` and ``begin`` come from ``deal_cells``; ``log_table[n]`` is n log2 n. No
    ``weight`` means that all weights are 1 and no value is missing, so that rows can be counted.
    """
    d, sprouts, plot = (
        len(table.n_categories),
        new_sprouts(problems, table.n_rows),
        _new_plot(len(table.n_categories), len(weight) == 0),
    )
    found = Found(np.empty(d, np.int64), np.empty(d), np.empty(d), np.empty(d, np.int64))
    row, part = sprouts.row, sprouts.weight
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        C, a, size, used = problems.n_classes[p], sprouts.entry_start[p], 1, len(y)
        column = table.column_start if problems.whole else begin[p * d : (p + 1) * d + 1]
        own = table.cells if problems.whole else cells
        plot, depth = _plant(plot, origin, y, C, column, own, weight, rules.min_leaf)
        room = _new_room(table.n_categories, len(y), C, plot.histogram)
        while depth > 0:
            depth -= 1
            v, low, top = plot.waiting[3 * depth : 3 * depth + 3]
            _evaluate(table, y, C, plot, v, low, top, room, found, rules, log_table)
            best = choose(top - low, found.status, found.gain, found.ratio)
            if best >= 0:
                f, cut = plot.live[3 * (low + best)], found.cut[best]
                plot, used = _split(table, origin, y, C, plot, v, f, cut, size, used, room, rules)
                plot, depth = _push_children(plot, v, depth, low, top, found.status, room)
                size += plot.nodes[v, WIDTH]
        sprouts = add_tree(sprouts, p, plot.nodes, plot.histogram, size, C)
        row, sprouts.entry_start[p + 1] = with_room(row, a, a + used), a + used
        part = with_room(part, a, a + used if len(weight) > 0 else 0)
        for e in range(used):
            row[a + e] = plot.row[e]
        for e in range(used if len(weight) > 0 else 0):
            part[a + e] = plot.weight[e]
    return Sprouts(
        sprouts.nodes,
        sprouts.node_start,
        sprouts.histogram,
        sprouts.histogram_start,
        row,
        part,
        sprouts.entry_start,
    )


@piece
def _new_plot(d: int, unit: bool) -> Plot:
    return Plot(
        np.empty((16, N_FIELDS), np.int64),
        np.empty(64, np.float64),
        np.empty(64, np.int32),
        np.empty(0 if unit else 64, np.float64),
        np.empty(192, np.int64),
        np.empty(6 * d, np.int64),
        np.empty(64, np.uint64),
    )


@piece
def _new_room(n_categories: NDArray, n: int, C: int, histogram: NDArray) -> Room:
    """Return room for a problem with ``n`` rows and the class weights in ``histogram``."""
    widest, total, weight = 3, 0.0, np.empty(n)
    for k in n_categories:
        widest = max(widest, k)
    for c in range(C):
        total += histogram[c]
    for i in range(n):
        weight[i] = 1.0
    return Room(
        averaged_features(n_categories, total),
        weight,
        np.empty(n, np.int32),
        np.empty(widest),
        np.empty(widest + 1, np.int64),
        np.empty(widest, np.bool_),
        np.empty(widest * C),
        np.empty(C),
        np.empty(C),
        np.empty(C),
        np.empty(3 * C, np.int64),
    )


@piece
def _with_nodes(plot: Plot, nodes: int, C: int, entries: int) -> Plot:
    """Return the plot with room for so many nodes and entries."""
    weight = plot.weight
    if len(weight) > 0:
        weight = with_room(weight, len(weight), entries)
    return Plot(
        with_nodes(plot.nodes, len(plot.nodes), nodes),
        with_room(plot.histogram, len(plot.histogram), nodes * C),
        with_room(plot.row, len(plot.row), entries),
        weight,
        plot.waiting,
        plot.live,
        plot.cells,
    )


@piece
def _with_stack(plot: Plot, waiting: int, live: int, cells: int) -> Plot:
    """Return the plot with room for so many waiting nodes, their features and cells."""
    return Plot(
        plot.nodes,
        plot.histogram,
        plot.row,
        plot.weight,
        with_room(plot.waiting, len(plot.waiting), 3 * waiting),
        with_room(plot.live, len(plot.live), 3 * live),
        with_room(plot.cells, len(plot.cells), cells),
    )


@piece
def _plant(
    plot: Plot,
    origin: NDArray,
    y: NDArray,
    C: int,
    column: NDArray,
    cells: NDArray,
    weight: NDArray,
    min_leaf: float,
) -> tuple[Plot, int]:
    """Make the root of a problem; return how many nodes wait to be split: 1 or 0."""
    d, n, first = len(column) - 1, len(origin), column[0]
    plot = _with_stack(_with_nodes(plot, 1, C, n), 1, d, column[d] - first + 1)
    row, own_weight, live, own_cells = plot.row, plot.weight, plot.live, plot.cells
    for i in range(n):
        row[i] = i
    for i in range(n if len(weight) > 0 else 0):
        own_weight[i] = weight[origin[i]]
    for f in range(d):
        live[3 * f], live[3 * f + 1] = f, column[f] - first
        live[3 * f + 2] = column[f + 1] - first
    for t in range(column[d] - first):
        own_cells[t] = cells[first + t]
    plot.waiting[0], plot.waiting[1], plot.waiting[2] = 0, 0, d
    is_open = _weigh(plot.nodes, plot.histogram, 0, 0, n, row, own_weight, y, C, min_leaf)
    return plot, 1 if is_open else 0


@piece
def _weigh(
    nodes: NDArray,
    histogram: NDArray,
    v: int,
    start: int,
    stop: int,
    row: NDArray,
    weight: NDArray,
    y: NDArray,
    C: int,
    min_leaf: float,
) -> bool:
    """Make node v a leaf over some entries; tell whether it may be split."""
    for c in range(v * C, (v + 1) * C):
        histogram[c] = 0.0
    unit = len(weight) == 0
    for e in range(start, stop):
        histogram[v * C + y[row[e]]] += 1.0 if unit else weight[e]
    return plant(nodes, histogram, v, start, stop, C, min_leaf)


@piece
def _split(
    table: TreeTable,
    origin: NDArray,
    y: NDArray,
    C: int,
    plot: Plot,
    v: int,
    f: int,
    cut: int,
    size: int,
    used: int,
    room: Room,
    rules: Rules,
) -> tuple[Plot, int]:
    """Split node v into the nodes from ``size`` on, and deal its entries to them."""
    width, start, stop = max(2, table.n_categories[f]), plot.nodes[v, START], plot.nodes[v, STOP]
    share, begin = room.share[:width], room.begin
    take_branches(table, f, cut, plot.row, start, stop, origin, room.branch)
    end = plan_deal(plot.row, plot.weight, start, stop, used, room.branch, share, begin)
    plot = _with_nodes(plot, size + width, C, end)
    deal(plot.row, plot.weight, start, stop, room.branch, share, begin)
    nodes, histogram, row, weight = plot.nodes, plot.histogram, plot.row, plot.weight
    nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = f, cut, size, width
    for b in range(width):
        room.is_open[b] = _weigh(
            nodes, histogram, size + b, begin[b], begin[b + 1], row, weight, y, C, rules.min_leaf
        )
    return plot, end


@piece
def _push_children(
    plot: Plot, v: int, depth: int, low: int, top: int, status: NDArray, room: Room
) -> tuple[Plot, int]:
    """Let the children that may be split wait, the largest in its parent's place."""
    is_open, begin, share, branch = room.is_open, room.begin, room.share, room.branch
    first, width, largest, last, most, n_open = (
        plot.nodes[v, FIRST],
        plot.nodes[v, WIDTH],
        0,
        0,
        0,
        0,
    )
    for b in range(width):
        n_open += is_open[b]
        if is_open[b] and begin[b + 1] - begin[b] > most:
            largest, most = b, begin[b + 1] - begin[b]
    for b in range(width):
        last = b if is_open[b] and b != largest else last
    heap, size = plot.live[3 * top - 1], plot.live[3 * top - 1] - plot.live[3 * low + 1]
    plot = _with_stack(plot, depth + n_open, top + n_open * (top - low), heap + n_open * size + 1)
    waiting, live, cells, to, ceiling, slot = plot.waiting, plot.live, plot.cells, top, low, depth
    if n_open == 1:
        _, ceiling, _ = _part(
            live, cells, low, top, status, branch, share, NOBODY, largest, to, heap
        )
    for b in range(width):
        if is_open[b] and b != largest:
            # The largest child's cells are pushed together when the last other one's are copied.
            bottom, in_place, slot = to, largest if b == last else NOBODY, slot + 1
            to, ceiling, heap = _part(
                live, cells, low, top, status, branch, share, b, in_place, to, heap
            )
            waiting[3 * slot], waiting[3 * slot + 1], waiting[3 * slot + 2] = first + b, bottom, to
    if n_open > 0:
        waiting[3 * depth], waiting[3 * depth + 1] = first + largest, low
        waiting[3 * depth + 2] = ceiling
    return plot, depth + n_open


@piece
def _part(
    live: NDArray,
    cells: NDArray,
    low: int,
    top: int,
    status: NDArray,
    branch: NDArray,
    share: NDArray,
    b: int,
    largest: int,
    to: int,
    heap: int,
) -> tuple[int, int, int]:
    """Copy the cells of branch b to ``heap``, and push those of the largest one together.

    The features of b come to ``to``; either branch may be NOBODY. Returns where the features
    of both end, and the cells of b.
    """
    place, at, in_place = low, live[3 * low + 1], largest != NOBODY
    # Rows whose branch is -1 are in all branches that have a share.
    also_b = -1 if b != NOBODY and share[b] > EPS else b
    also_largest = -1 if in_place and share[largest] > EPS else largest
    for i in range(low, top):
        if status[i - low] != DEAD:
            f, begin, end = live[3 * i], live[3 * i + 1], live[3 * i + 2]
            live[3 * to], live[3 * to + 1] = f, heap
            if in_place:
                live[3 * place], live[3 * place + 1] = f, at
            for t in range(begin, end):
                cell = cells[t]
                taken = branch[cell & ROW]
                cells[heap] = cell
                heap += (taken == b) | (taken == also_b)
                if in_place:
                    cells[at] = cell
                    at += (taken == largest) | (taken == also_largest)
            live[3 * to + 2] = heap
            if in_place:
                live[3 * place + 2] = at
                place += 1
            to += 1
    return to, place, heap


@piece
def _evaluate(
    table: TreeTable,
    y: NDArray,
    C: int,
    plot: Plot,
    v: int,
    low: int,
    top: int,
    room: Room,
    found: Found,
    rules: Rules,
    log_table: NDArray,
) -> None:
    """Find the best split of node v on each of its features."""
    status, gain, ratio, cut = found
    n_categories, implicit = table.n_categories, table.implicit
    level_start, levels, M, W, first = table.level_start, table.levels, rules.min_leaf, 0.0, v * C
    live, cells, histogram, unit = plot.live, plot.cells, plot.histogram, len(plot.weight) == 0
    start, n = plot.nodes[v, START], plot.nodes[v, STOP] - plot.nodes[v, START]
    for c in range(first, first + C):
        W += histogram[c]
    for e in range(start, start if unit else start + n):
        room.weight[plot.row[e]] = plot.weight[e]
    for i in range(top - low):
        f, a, b = live[3 * (low + i)], live[3 * (low + i) + 1], live[3 * (low + i) + 2]
        hidden, base = (implicit[f] if n > b - a else -1), level_start[f]
        status[i], gain[i], ratio[i], cut[i] = DEAD, 0.0, 0.0, 0
        if n_categories[f] > 0:
            status[i], gain[i], ratio[i] = nominal_split(
                cells, a, b, hidden, n_categories[f], y, histogram, first, C, W, room, M
            )
            if not room.averaged[f] and status[i] == VALID:
                status[i] = UNCOUNTED
        elif not unit:
            status[i], gain[i], ratio[i], cut[i] = numeric_split(
                cells, a, b, hidden, levels, base, y, histogram, first, C, W, room, rules
            )
        elif b > a and is_varied(cells, a, b, hidden, levels, base):
            if C == 2:
                ones = np.int64(histogram[first + 1])
                gained, tries, left, right, n_left = two_class_cut(
                    cells, a, b, hidden, levels, base, y, n, ones, M, log_table
                )
            else:
                gained, tries, left, right, n_left = many_class_cut(
                    cells, a, b, hidden, levels, base, y, n, histogram, first, C, room.counts, M,
                    log_table,
                )  # fmt: skip
            if rules.mdl_correction and tries > 0:
                gained -= log2(tries)
            status[i] = ALIVE
            if n_left > 0 and gained / n >= EPS:
                info = log_table[n] - log_table[n_left] - log_table[n - n_left]
                status[i], gain[i], ratio[i] = VALID, gained / n, gained / info
                cut[i] = cut_between(levels, base, left, right)
