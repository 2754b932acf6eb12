"""What grows with a tree: its nodes, their rows, and the cells of the nodes that wait."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import ONE, ZERO, piece
from labelance.learners.tree._sprouts import N_FIELDS, plant, with_nodes, with_room


class Plot(NamedTuple):
    """What grows with a tree, used again for the next one."""

    nodes: NDArray[np.int64]
    histogram: NDArray[np.float64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]  # empty if all weights are 1
    waiting: NDArray[np.int64]  # node, and first and last of its features, in turn
    live: NDArray[np.int64]  # feature, and begin and end of its cells, in turn
    cells: NDArray[np.uint64]


@piece
def new_plot(d: int, unit: bool) -> Plot:
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
def grow_plot(plot: Plot, nodes: int, C: int, entries: int) -> Plot:
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
def with_stack(plot: Plot, waiting: int, live: int, cells: int) -> Plot:
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
def plant_root(
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
    plot = with_stack(grow_plot(plot, ONE, C, n), ONE, d, column[d] - first + 1)
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
    is_open = weigh(plot.nodes, plot.histogram, ZERO, ZERO, n, row, own_weight, y, C, min_leaf)
    return plot, 1 if is_open else 0


@piece
def weigh(
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
