"""Growing by counting: complete rows of weight 1, numeric and nominal features, any classes.

All class weights are whole numbers, so n log2 n comes from a table. The cells of a problem
are one array, column by column; a split divides every column in place, stably, so that each
node owns a slice of it, in ascending order. Cells of children that will be leaves are dropped.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._candidates import cut_between
from labelance.learners.tree._cuts import category_split, is_varied, many_class_cut, two_class_cut
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
from labelance.learners.tree._table import RANK, ROW, TreeTable


class Found(NamedTuple):
    """The best split on each feature of a node, and room to find it."""

    status: NDArray[np.int64]
    gain: NDArray[np.float64]
    ratio: NDArray[np.float64]
    cut: NDArray[np.int64]
    bags: NDArray[np.int64]  # rows per branch and class


@kernel
def grow_counts(
    table: TreeTable,
    problems: Problems,
    cells: NDArray,
    begin: NDArray,
    rules: Rules,
    log_table: NDArray,
) -> Sprouts:
    """Grow a tree for every problem; ``log_table[n]`` is n log2 n.

    ``cells`` and ``begin`` come from ``deal_cells``; the cells are used up.
    """
    d, sprouts = len(table.n_categories), new_sprouts(problems, table.n_rows, True)
    for p in range(len(problems.n_classes)):
        _, y = rows_and_classes(problems, p, table.n_rows)
        column = table.column_start if problems.whole else begin[p * d : (p + 1) * d + 1]
        own = table.cells.copy() if problems.whole else cells[column[0] : column[d]]
        row = sprouts.row[sprouts.entry_start[p] : sprouts.entry_start[p + 1]]
        C = problems.n_classes[p]
        nodes, counts, size = _grow_tree(table, y, C, own, column, row, rules, log_table)
        sprouts = add_tree(sprouts, p, nodes, counts, size, C)
    return sprouts


@kernel
def _grow_tree(
    table: TreeTable,
    y: NDArray,
    C: int,
    cells: NDArray,
    column: NDArray,
    row: NDArray,
    rules: Rules,
    log_table: NDArray,
) -> tuple[NDArray, NDArray, int]:
    """Grow one tree; return its nodes, their class counts, and the number of nodes."""
    n, d, size, top = len(y), len(column) - 1, 1, len(column) - 1
    nodes, counts = np.empty((16, N_FIELDS), np.int64), np.zeros(16 * C, np.int64)
    branch, spare = np.empty(n, np.int32), np.empty(n, np.uint64)
    found, stack = _new_found(table.n_categories, C), np.empty(3 * d, np.int64)
    for f in range(d):
        stack[3 * f], stack[3 * f + 1] = f, column[f] - column[0]
        stack[3 * f + 2] = column[f + 1] - column[0]
    for i in range(n):
        row[i] = i
        counts[y[i]] += 1
    averaged = averaged_features(table.n_categories, n)
    waiting, bottom = [np.int64(0)], [np.int64(0)]
    if not plant(nodes, counts, 0, 0, C, rules.min_leaf):
        waiting.pop()
    while len(waiting) > 0:
        v, low = waiting.pop(), bottom.pop()
        _evaluate(
            table, y, cells, stack, low, top, counts, v * C, C, found, averaged, rules, log_table
        )
        best = choose(top - low, found.status, found.gain, found.ratio)
        if best < 0:
            top = low
            continue
        feature, cut = stack[3 * (low + best)], found.cut[best]
        width = max(2, table.n_categories[feature])
        nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = (
            feature,
            cut,
            size,
            width,
        )
        column_cells = cells[stack[3 * (low + best) + 1] : stack[3 * (low + best) + 2]]
        _take_branches(
            table, feature, cut, column_cells, row[nodes[v, START] : nodes[v, STOP]], branch
        )
        nodes = with_nodes(nodes, size, size + width)
        counts = with_room(counts, size * C, (size + width) * C)
        is_open = np.empty(width, np.bool_)
        _divide_rows(nodes, counts, v, row, y, C, branch, spare, is_open, rules.min_leaf)
        stack, top = _push_children(
            size, is_open, branch, cells, spare, stack, low, top, found.status, waiting, bottom
        )
        size += width
    return nodes, counts, size


@kernel
def _new_found(n_categories: NDArray, C: int) -> Found:
    d, widest = len(n_categories), 2
    for k in n_categories:
        widest = max(widest, k)
    return Found(
        np.empty(d, np.int64),
        np.empty(d),
        np.empty(d),
        np.empty(d, np.int64),
        np.empty(max(3, widest) * C, np.int64),
    )


@kernel
def _evaluate(
    table: TreeTable,
    y: NDArray,
    cells: NDArray,
    stack: NDArray,
    low: int,
    top: int,
    counts: NDArray,
    first: int,
    C: int,
    found: Found,
    averaged: NDArray,
    rules: Rules,
    log_table: NDArray,
) -> None:
    """Find the best split of a node on every feature of its stack.

    Its class counts are ``counts[first:first + C]``.
    """
    status, gain, ratio, cut, bags = found
    n_categories, implicit = table.n_categories, table.implicit
    level_start, levels, min_leaf, n = table.level_start, table.levels, rules.min_leaf, 0
    for c in range(first, first + C):
        n += counts[c]
    for i in range(top - low):
        f, a, b = stack[3 * (low + i)], stack[3 * (low + i) + 1], stack[3 * (low + i) + 2]
        hidden, width, base = (implicit[f] if n > b - a else -1), n_categories[f], level_start[f]
        status[i], gain[i], ratio[i], cut[i] = DEAD, 0.0, 0.0, 0
        if width > 0:
            gained, info, heavy = category_split(
                cells, a, b, hidden, width, y, n, counts, first, C, bags, min_leaf, log_table
            )
            if heavy >= 2:
                status[i] = VALID if averaged[f] else UNCOUNTED
                gain[i] = gained / n if gained >= EPS else 0.0
                ratio[i] = gain[i] * n / info if info >= EPS else 0.0
        elif b > a and is_varied(cells, a, b, hidden, levels, base):
            if C == 2:
                gained, tries, left, right, n_left = two_class_cut(
                    cells, a, b, hidden, levels, base, y, n, counts[first + 1], min_leaf, log_table
                )
            else:
                gained, tries, left, right, n_left = many_class_cut(
                    cells, a, b, hidden, levels, base, y, n, counts, first, C, bags, min_leaf,
                    log_table,
                )  # fmt: skip
            if rules.mdl_correction and tries > 0:
                gained -= log2(tries)
            status[i] = ALIVE
            if n_left > 0 and gained / n >= EPS:
                info = log_table[n] - log_table[n_left] - log_table[n - n_left]
                status[i], gain[i], ratio[i] = VALID, gained / n, gained / info
                cut[i] = cut_between(levels, base, left, right)


@kernel
def _take_branches(
    table: TreeTable, feature: int, cut: int, cells: NDArray, row: NDArray, branch: NDArray
) -> None:
    """Note the branch of every row of a node: first as if it had no cell, then by its cell."""
    nominal, hidden = table.n_categories[feature] > 0, table.implicit[feature]
    usual = hidden if nominal else np.int32(hidden > cut)
    for i in row:
        branch[i] = usual
    for cell in cells:
        rank = np.int64(cell >> RANK)
        branch[cell & ROW] = rank if nominal else rank > cut


@kernel
def _divide_rows(
    nodes: NDArray,
    counts: NDArray,
    v: int,
    row: NDArray,
    y: NDArray,
    C: int,
    branch: NDArray,
    spare: NDArray,
    is_open: NDArray,
    min_leaf: float,
) -> None:
    """Sort the rows of node v by branch, stably, and make its children.

    ``is_open`` is told which of them may be split.
    """
    start, stop, first, width = nodes[v, START], nodes[v, STOP], nodes[v, FIRST], nodes[v, WIDTH]
    place = np.empty(width, np.int64)
    for i in range(first * C, (first + width) * C):
        counts[i] = 0
    for e in range(start, stop):
        counts[(first + branch[row[e]]) * C + y[row[e]]] += 1
    at = start
    for b in range(width):
        is_open[b] = plant(nodes, counts, first + b, at, C, min_leaf)
        place[b], at = at - start, nodes[first + b, STOP]
    for e in range(start, stop):
        b = branch[row[e]]
        spare[place[b]] = row[e]
        place[b] += 1
    for e in range(start, stop):
        row[e] = spare[e - start]


@kernel
def _push_children(
    first: int,
    is_open: NDArray,
    branch: NDArray,
    cells: NDArray,
    spare: NDArray,
    stack: NDArray,
    low: int,
    top: int,
    status: NDArray,
    waiting: list[int],
    bottom: list[int],
) -> tuple[NDArray, int]:
    """Put the children that may be split on the stack, where their parent was.

    Their cells are divided in place: one child after the other moves to the front of what
    is left of a column.
    """
    width, n_open, n_live = len(is_open), 0, 0
    for b in range(width):
        n_open += is_open[b]
    for i in range(top - low):
        n_live += status[i] != DEAD
    # The children's features come behind the parent's, then move to its place.
    stack = with_room(stack, 3 * top, 3 * (top + n_open * n_live))
    live = 0
    for i in range(low, top):
        if status[i - low] == DEAD:
            continue
        at, end, k = stack[3 * i + 1], stack[3 * i + 2], 0
        for b in range(width):
            if not is_open[b]:
                continue
            middle = end
            if k < n_open - 1 or n_open < width:
                middle = _to_front(cells[at:end], branch, b, spare, k < n_open - 1) + at
            place = 3 * (top + k * n_live + live)
            stack[place], stack[place + 1], stack[place + 2] = stack[3 * i], at, middle
            at, k = middle, k + 1
        live += 1
    k = 0
    for b in range(width):
        if is_open[b]:
            waiting.append(np.int64(first + b))
            bottom.append(np.int64(low + k * n_live))
            k += 1
    for i in range(3 * n_open * n_live):
        stack[3 * low + i] = stack[3 * top + i]
    return stack, low + n_open * n_live


@kernel
def _to_front(cells: NDArray, branch: NDArray, b: int, spare: NDArray, keep: bool) -> int:
    """Move the cells of a branch to the front, stably; return their number.

    The others come behind them, unless nobody wants to keep them.
    """
    count, others = 0, 0
    for cell in cells:
        mine = branch[cell & ROW] == b
        cells[count] = cell
        spare[others] = cell
        count += mine
        others += not mine
    if keep:
        for i in range(others):
            cells[count + i] = spare[i]
    return count
