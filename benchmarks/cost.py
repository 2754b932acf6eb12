"""What MLSOL with approximate neighbors costs: a model fitted to measurements, and projections.

The model counts work, which follows from the algorithm, and fits what a unit of it takes:

    search    seconds = flops of matrix products / rate + rows * (scanning and ranking scores)
    the rest  seconds = rows * (labels, draws) + cells of X * (interpolating, copying)

On several nodes rows are shuffled once, so that each node owns the rows of some cells, and the rows
of a cell visit every node that owns one of the cells near it. How many that are is measured
(`spread`), for data and nodes; it falls as the rows of a node grow.

    python benchmarks/cost.py                            # the fit, and 10^8 x 768 on 50 nodes
    python benchmarks/cost.py --rows 1e9 --features 128 --nodes 200 --cores 32 --network 25
    python benchmarks/cost.py spread --rows 30000 100000 300000 --out results/scale/spread.csv
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from _scale_data import make_rows
from labelance.neighbors import _approx, _partition
from scale import KEPT, read

DENSE = ("clusters", "few dimensions")
SPREAD = KEPT.with_name("spread.csv")
ROWS_PER_CELL, NEAR_CELLS, COARSER = _approx._ROWS_PER_CELL, _approx._CELLS, _approx._COARSER
FEWEST = _partition._MANY_ROWS  # rows for which the approximate engine runs
SAMPLED, ROUNDS = _partition._ROWS_PER_CENTER, _partition._ROUNDS
NEW_ROWS = 0.3  # that MLSOL makes of a row
K, FLOAT, INDEX = 5, 4, 8  # neighbors, bytes of a number of X, and of a row number or distance


@dataclass(frozen=True)
class Products:
    """Flops of the matrix products of a search, by what they are for."""

    dividing: float
    cells: float
    scanning: float

    @property
    def all(self) -> float:
        return self.dividing + self.cells + self.scanning


def count_products(n: float, d: float) -> Products:
    """Count the flops of the products of an approximate search among n rows of d features."""
    cells = max(1.0, n / ROWS_PER_CELL)
    large = max(1.0, np.sqrt(cells) / COARSER)
    small = cells / large  # in a large one
    # Centers are moved ROUNDS times by a sample, which at the second level is a share of all rows.
    first = large * (1 + ROUNDS * min(1.0, SAMPLED * large / n))
    second = small * (1 + ROUNDS * SAMPLED / ROWS_PER_CELL)
    dividing = 2 * d * n * (first + second)
    near = min(cells, NEAR_CELLS)
    return Products(float(dividing), 2 * d * cells**2, 2 * d * n * near * ROWS_PER_CELL)


@dataclass(frozen=True)
class Rates:
    """What a unit of work takes, in CPU seconds.

    Parameters
    ----------
    flop, row : float
        Of the search: a flop of a product, and all else for a row.
    draw, cell : float
        Of the rest of MLSOL: for a row, and for a cell of X.
    error : float
        The largest relative error of a fitted time.
    """

    flop: float
    row: float
    draw: float
    cell: float
    error: float

    def seconds(self, n: float, d: float) -> tuple[float, float]:
        """Return CPU seconds of the search and of the rest."""
        search = self.flop * count_products(n, d).all + self.row * n
        return search, self.draw * n + self.cell * n * d


def fit(n: np.ndarray, d: np.ndarray, search: np.ndarray, rest: np.ndarray) -> Rates:
    """Fit rates to measured CPU seconds, by relative least squares without negative rates."""
    products = np.array([count_products(*pair).all for pair in zip(n, d)])
    flop, row = _solve(np.column_stack([products, n]), search)
    draw, cell = _solve(np.column_stack([n, n * d]), rest)
    rates = Rates(flop, row, draw, cell, 0.0)
    told = np.array([sum(rates.seconds(*pair)) for pair in zip(n, d)])
    error = float(np.abs(told / (search + rest) - 1).max())
    return Rates(flop, row, draw, cell, error)


def _solve(work: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    # Columns of one size, or the solver takes small rates for none.
    relative = work / seconds[:, np.newaxis]
    size = relative.max(axis=0)
    return nnls(relative / size, np.ones(len(seconds)))[0] / size


@dataclass(frozen=True)
class Cluster:
    """Machines alike: how many, their cores, and what each sends in a second."""

    nodes: int
    cores: int
    gigabits: float


@dataclass(frozen=True)
class Projection:
    """What a job takes on a cluster; bytes are of all nodes together unless said otherwise."""

    data: float
    flops: Products
    cpu_seconds: float
    shuffled: float
    visiting: float
    answers: float
    node_memory: float
    compute_seconds: float
    network_seconds: float


def project(n: float, d: float, rates: Rates, cluster: Cluster, spread: float) -> Projection:
    """Project MLSOL to a cluster.

    Parameters
    ----------
    n, d : float
        Rows and features, float32.
    rates : Rates
        Of one core.
    cluster : Cluster
        The machines.
    spread : float
        On how many nodes the cells are that the rows of a cell look at, on average.
    """
    data, away = n * d * FLOAT, 1 - 1 / cluster.nodes
    shuffled, visiting = data * away, data * (spread - 1)
    answers = n * (spread - 1) * K * 2 * INDEX
    cpu = sum(rates.seconds(n, d))
    sent = (shuffled + visiting + answers) / cluster.nodes
    # Rows, their points, and what MLSOL adds; visitors come a cell at a time.
    memory = (data * (2 + NEW_ROWS) + n * K * 2 * INDEX) / cluster.nodes
    return Projection(
        data,
        count_products(n, d),
        cpu,
        shuffled,
        visiting,
        answers,
        memory,
        compute_seconds=cpu / (cluster.nodes * cluster.cores),
        network_seconds=sent * 8 / (cluster.gigabits * 1e9),
    )


def measure_spread(kind: str, n: int, nodes: int) -> float:
    """Return on how many nodes the nearest cells of a row's cell are; rows are evenly owned."""
    from labelance.neighbors._metric import FeatureMetric
    from labelance.neighbors._search import Search

    X = make_rows(kind, n)
    search = Search(X, X, np.arange(n), K, FeatureMetric.learn(X), 2)
    cells = _approx._divide_twice(X, ROWS_PER_CELL, 2)
    near = _approx._nearest_cells(cells, NEAR_CELLS, search)
    sizes = np.diff(cells.edges)
    owner = (cells.edges[:-1] * nodes) // n
    visited = np.sort(owner[near], axis=1)
    distinct = 1 + (np.diff(visited, axis=1) > 0).sum(axis=1)
    return float(distinct @ sizes / n)


def fit_kept() -> Rates:
    """Fit the model to the figures that `scale.py` kept of dense rows."""
    lines = [
        [float(line[name]) for name in ("rows", "features", "search", "mlsol")]
        for line in read()
        if (line["method"], line["kind"]) in [("approx", kind) for kind in DENSE]
        and int(line["rows"]) >= FEWEST
    ]
    n, d, search, whole = np.array(lines).T
    return fit(n, d, search, whole - search)


def show(options: argparse.Namespace) -> None:
    """Print the rates, and the projection."""
    rates = fit_kept()
    print(f"a core: {1e-9 / rates.flop:.1f} Gflop/s in products, {rates.row * 1e6:.1f} µs a row in")
    print(f"the search besides; MLSOL {rates.draw * 1e6:.1f} µs a row and", end=" ")
    print(f"{rates.cell * 1e9:.2f} ns a cell; largest error of the fit {rates.error:.0%}")
    n, d = options.rows[0], options.features
    cluster = Cluster(options.nodes, options.cores, options.network)
    told = project(n, d, rates, cluster, options.spread)
    parts = {name: part / told.flops.all for name, part in vars(told.flops).items()}
    lines = {
        "data": f"{told.data / 1e9:,.0f} GB",
        "products": f"{told.flops.all:.1e} flop: "
        + ", ".join(f"{name} {share:.0%}" for name, share in parts.items()),
        "CPU": f"{told.cpu_seconds / 3600:,.0f} core hours",
        "shuffled once": f"{told.shuffled / 1e9:,.0f} GB",
        "visiting other nodes": f"{told.visiting / 1e9:,.0f} GB",
        "answers": f"{told.answers / 1e9:,.0f} GB",
        "memory of a node": f"{told.node_memory / 1e9:,.1f} GB",
        "computing": f"{told.compute_seconds / 60:,.0f} min",
        "sending": f"{told.network_seconds / 60:,.1f} min",
    }
    print(f"\n{n:,.0f} x {d} float32 on {cluster}, spread {options.spread}:")
    print("\n".join(f"{what:<22} {figure}" for what, figure in lines.items()))


def spread(options: argparse.Namespace) -> None:
    """Print, and keep, the spread of some sizes."""
    lines = []
    for kind in DENSE:
        for n in options.rows:
            lines.append((kind, int(n), options.nodes, measure_spread(kind, int(n), options.nodes)))
            print(f"{kind:<15} {n:>9,.0f} rows on {options.nodes} nodes: {lines[-1][3]:.1f}")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [("kind", "rows", "nodes", "spread"), *lines]
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("project", "spread"), default="project")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e8])
    parser.add_argument("--features", type=int, default=768)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--cores", type=int, default=16, help="of a node")
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s of a node")
    parser.add_argument("--spread", type=float, default=10.0, help="nodes that a row visits")
    parser.add_argument("--out", type=Path, help="where to keep the spread, as CSV")
    options = parser.parse_args()
    (spread if options.what == "spread" else show)(options)


if __name__ == "__main__":
    main()
