"""All links of many chains of trees on a block of rows, in one compiled pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree import Forest

_CELLS_PER_BLOCK = 1 << 18  # of X, laid out densely while its rows are asked for: 2 MB


class Links(NamedTuple):
    """Links in the order in which they are asked.

    Attributes
    ----------
    tree : ndarray
        The tree of each link.
    label : ndarray
        The label of each link.
    base : ndarray
        Column of the decisions where those of its chain begin; there is one for every label.
    """

    tree: NDArray[np.int64]
    label: NDArray[np.int64]
    base: NDArray[np.int64]


class Nodes(NamedTuple):
    """Trees of two classes as compiled code takes them; see ``Forest`` for the meaning.

    Features of X come first, as they are laid out, then the labels.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    first: NDArray[np.int32]
    width: NDArray[np.int32]
    weight: NDArray[np.float64]
    share: NDArray[np.float64]  # probability of presence


class Walk:
    """Trees of links, ready to be asked about rows of X.

    Parameters
    ----------
    forest : Forest
        Trees over the features of X and behind them the labels.
    n_features : int
        Number of features of X.
    """

    def __init__(self, forest: Forest, n_features: int) -> None:
        f = forest.feature
        self.used = np.unique(f[(f >= 0) & (f < n_features)])
        self.n_categories = forest.n_categories[self.used]
        compact = np.where(f < n_features, np.searchsorted(self.used, f), f)
        compact[f >= n_features] += len(self.used) - n_features
        weights = forest.histogram.reshape(-1, 2)
        self.nodes = Nodes(
            forest.node_start,
            np.where(f < 0, -1, compact),
            forest.threshold,
            forest.first,
            forest.width,
            forest.weight,
            weights[:, 1] / weights.sum(axis=1),
        )

    def blocks(self, X: Any) -> Iterator[tuple[int, int, Any]]:
        """Yield where blocks of rows begin and end, and the used features of their rows."""
        n, X = X.shape[0], X[:, self.used]
        step = int(np.clip(_CELLS_PER_BLOCK // max(1, len(self.used)), 16, 4096))
        for start in range(0, n, step):
            stop = min(n, start + step)
            yield start, stop, X[start:stop]

    def ask(
        self, rows: Any, links: Links, decisions: NDArray[np.int8], votes: bool, out: NDArray
    ) -> None:
        """Ask links about a block of rows: note their decisions, and add them up by label.

        Nothing is added up where ``out`` has no columns.
        """
        cells = rows.toarray() if sp.issparse(rows) else rows
        columns = np.array(cells.T, dtype=np.float64, order="C")
        # Categories never declared are missing values.
        nominal = np.flatnonzero(self.n_categories)
        codes, counts = columns[nominal], self.n_categories[nominal, None]
        columns[nominal] = np.where((codes >= 0) & (codes < counts), codes, np.nan)
        ask_links(columns, self.nodes, links, decisions, votes, out)


@kernel
def ask_links(
    X: NDArray, nodes: Nodes, links: Links, decisions: NDArray, votes: bool, out: NDArray
) -> None:
    """Send every row down the tree of every link; X is laid out column by column."""
    m, feature, threshold = X.shape[0], nodes.feature, nodes.threshold
    first, width, share = nodes.first, nodes.width, nodes.share
    for k in range(len(links.tree)):
        root, base, label = nodes.start[links.tree[k]], links.base[k], links.label[k]
        for i in range(X.shape[1]):
            v = root
            while feature[v] >= 0:
                f = feature[v]
                x = X[f, i] if f < m else np.float64(decisions[i, base + f - m])
                if np.isnan(x):
                    break
                step = np.int64(x > threshold[v]) if width[v] == 2 else np.int64(x)
                v = root + first[v] + step
            part = share[v]
            if feature[v] >= 0:
                part = _share_with_missing(X, i, nodes, root, v, decisions, base)
            decisions[i, base + label] = part >= 0.5
            if out.shape[1] > 0:
                out[i, label] += part >= 0.5 if votes else part


@kernel
def _share_with_missing(
    X: NDArray, i: int, nodes: Nodes, root: int, v: int, decisions: NDArray, base: int
) -> float:
    """Send a row from node v down all branches where its value is missing, part by part."""
    m, share, sum_of_parts = X.shape[0], 0.0, 0.0
    agenda = [(np.int64(v), 1.0)]
    while len(agenda) > 0:
        node, part = agenda.pop()
        f, first = nodes.feature[node], root + nodes.first[node]
        if f < 0:
            share += part * nodes.share[node]
            sum_of_parts += part
            continue
        x = X[f, i] if f < m else np.float64(decisions[i, base + f - m])
        if not np.isnan(x):
            step = np.int64(x > nodes.threshold[node]) if nodes.width[node] == 2 else np.int64(x)
            agenda.append((np.int64(first + step), part))
            continue
        for child in range(first, first + nodes.width[node]):
            if nodes.weight[child] > 0:
                agenda.append((np.int64(child), part * nodes.weight[child] / nodes.weight[node]))
    return share / sum_of_parts
