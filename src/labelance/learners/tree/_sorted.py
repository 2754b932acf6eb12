"""Growing over sorted columns: numeric and nominal features, any weights and missing values.

Every waiting node keeps, for each feature that can still split, its explicit cells in
ascending order. When a node is split, the cells of its children are copied behind its own,
except for the largest child's, which are pushed together in their place. The largest child
waits longest, so all that waits is at most about twice as long as the root's cells.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree._candidates import Room, nominal_split, numeric_split
from labelance.learners.tree._children import push_children
from labelance.learners.tree._cuts import (
    best_cut,
    cut_between,
    first_above,
    is_varied,
    least_rows,
    ranks_around,
    weigh_cuts,
    weigh_two_class_cuts,
    write_sums,
)
from labelance.learners.tree._deal import deal, plan_deal
from labelance.learners.tree._hand import next_hand, no_hand
from labelance.learners.tree._piece import ONE, piece
from labelance.learners.tree._plot import Plot, grow_plot, new_plot, plant_root, weigh
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
    START,
    STOP,
    WIDTH,
    Sprouts,
    add_tree,
    new_sprouts,
    with_room,
)
from labelance.learners.tree._table import MISSING, RANK, ROW, TreeTable


class Found(NamedTuple):
    """The best split on each feature of a node."""

    status: NDArray[np.int64]
    gain: NDArray[np.float64]
    ratio: NDArray[np.float64]
    low: NDArray[np.int64]  # the ranks on both sides of the best cut
    high: NDArray[np.int64]


@kernel
def grow_sorted(
    table: TreeTable,
    problems: Problems,
    weight: NDArray,
    rules: Rules,
    log_table: NDArray,
) -> Sprouts:
    """Grow a tree for every problem; ``log_table[n]`` is n log2 n.

    No ``weight`` means that all weights are 1 and no value is missing, so that rows can be
    counted.
    """
    d, sprouts, hand = len(table.n_categories), new_sprouts(problems, table.n_rows), no_hand()
    plot = new_plot(d, len(weight) == 0)
    found = Found(
        np.empty(d, np.int64),
        np.empty(d),
        np.empty(d),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
    )
    row, part = sprouts.row, sprouts.weight
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        C, a, size, used = problems.n_classes[p], sprouts.entry_start[p], ONE, len(y)
        column, cells = table.column_start, table.cells
        if not problems.whole:
            if p == hand.last:
                hand = next_hand(table, problems, p)
            first = (p - hand.first) * d
            column, cells = hand.begin[first : first + d + 1], hand.cells
        plot, depth = plant_root(plot, origin, y, C, column, cells, weight, rules.min_leaf)
        room = _new_room(table.n_categories, len(y), C, plot.histogram)
        while depth > 0:
            depth -= 1
            v, low, top = plot.waiting[3 * depth : 3 * depth + 3]
            _evaluate(table, y, C, plot, v, low, top, room, found, rules, log_table)
            best = choose(top - low, found.status, found.gain, found.ratio)
            if best >= 0:
                f = plot.live[3 * (low + best)]
                cut = cut_between(
                    table.levels, table.level_start[f], found.low[best], found.high[best]
                )
                plot, used = _split(table, y, C, plot, v, low + best, cut, size, used, room, rules)
                plot, depth = push_children(plot, v, depth, low, top, found.status, room)
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
        np.empty(n, np.uint8),
        np.empty(widest),
        np.empty(widest + 1, np.int64),
        np.empty(widest, np.bool_),
        np.empty(widest * C),
        np.empty(C),
        np.empty(C),
        np.empty(C),
        np.empty(C, np.int64),
        np.empty(C + 1, np.int64),
        np.empty(n + C),
        np.empty(n + 1),
        np.empty(n + 1),
    )


@piece
def _split(
    table: TreeTable,
    y: NDArray,
    C: int,
    plot: Plot,
    v: int,
    best: int,
    cut: int,
    size: int,
    used: int,
    room: Room,
    rules: Rules,
) -> tuple[Plot, int]:
    """Split node v on its feature in place ``best``, and deal its entries to new nodes.

    These are the nodes from ``size`` on.
    """
    f, start, stop = plot.live[3 * best], plot.nodes[v, START], plot.nodes[v, STOP]
    nominal, usual = table.n_categories[f] > 0, np.int64(table.implicit[f])
    width, usual = max(2, table.n_categories[f]), usual if nominal else np.int64(usual > cut)
    row, cells, branch = plot.row, plot.cells, room.branch
    share, begin = room.share[:width], room.begin
    for e in range(start, stop):
        branch[row[e]] = usual
    for t in range(plot.live[3 * best + 1], plot.live[3 * best + 2]):
        rank = np.int64(cells[t] >> RANK)
        known = rank if nominal else np.int64(rank > cut)
        branch[cells[t] & ROW] = -1 if rank == MISSING else known
    end = plan_deal(plot.row, plot.weight, start, stop, used, room.branch, share, begin)
    plot = grow_plot(plot, size + width, C, end)
    deal(plot.row, plot.weight, start, stop, room.branch, share, begin)
    nodes, histogram, row, weight = plot.nodes, plot.histogram, plot.row, plot.weight
    nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = f, cut, size, width
    for b in range(width):
        room.is_open[b] = weigh(
            nodes, histogram, size + b, begin[b], begin[b + 1], row, weight, y, C, rules.min_leaf
        )
    return plot, end


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
    status, gain, ratio, cut_low, cut_high = found
    n_categories, implicit = table.n_categories, table.implicit
    level_start, levels, M, W, first = table.level_start, table.levels, rules.min_leaf, 0.0, v * C
    live, cells, histogram, unit = plot.live, plot.cells, plot.histogram, len(plot.weight) == 0
    start, n = plot.nodes[v, START], plot.nodes[v, STOP] - plot.nodes[v, START]
    for c in range(first, first + C):
        W += histogram[c]
    for e in range(start, start if unit else start + n):
        room.weight[plot.row[e]] = plot.weight[e]
    before, least, fewest = 0.0, least_rows(n, C, M), np.int64(ceil(M - EPS))
    if unit:
        before = write_sums(histogram, first, C, n, log_table, room.start, room.kept, room.spread)
    for i in range(top - low):
        f, a, b = live[3 * (low + i)], live[3 * (low + i) + 1], live[3 * (low + i) + 2]
        hidden, base = (implicit[f] if n > b - a else -1), level_start[f]
        status[i], gain[i], ratio[i], cut_low[i], cut_high[i] = DEAD, 0.0, 0.0, 0, 0
        if n_categories[f] > 0:
            status[i], gain[i], ratio[i] = nominal_split(
                cells, a, b, hidden, n_categories[f], y, histogram, first, C, W, room, M
            )
            if not room.averaged[f] and status[i] == VALID:
                status[i] = UNCOUNTED
        elif not unit:
            status[i], gain[i], ratio[i], cut_low[i], cut_high[i] = numeric_split(
                cells, a, b, hidden, levels, base, y, histogram, first, C, W, room, rules
            )
        elif b - a >= fewest and is_varied(cells, a, b, hidden, levels, base):
            status[i] = ALIVE
            if b - a < least:
                continue
            middle = first_above(cells, a, b, hidden)
            if C == 2:
                ones = np.int64(histogram[first + 1])
                weigh_two_class_cuts(
                    cells, a, middle, b, y, n, ones, room.kept, room.spread, room.weighed
                )
            else:
                weigh_cuts(
                    cells, a, middle, b, y, n, C, room.start, room.counts, room.kept, room.spread,
                    room.weighed,
                )  # fmt: skip
            gained, tries, place = best_cut(
                cells, a, middle, b, hidden, levels, base, n, least, before, room.weighed
            )
            if place >= 0:
                if rules.mdl_correction:
                    gained -= log_table[tries] / tries
                if gained / n >= EPS:
                    n_left = place - a if place < middle else n - b + place
                    n_left = middle - a if place == b else n_left
                    info = log_table[n] + room.spread[n_left]
                    status[i], gain[i], ratio[i] = VALID, gained / n, gained / info
                    cut_low[i], cut_high[i] = ranks_around(cells, place, middle, b, hidden)
