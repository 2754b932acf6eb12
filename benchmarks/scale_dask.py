"""MLSOL on Dask: two processes with less memory than the data, one of them killed half-way.

Rows in clusters (d = 64, float32), made where they are needed. Each process may hold so many
megabytes of data and moves the rest to disk; Python and its libraries take some 300 MB besides, so
the peak of a process is told beyond what it begins with. Results are compared bit for bit.

    python benchmarks/scale_dask.py --rows 100000 --limit 10
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance.sampling import MLSOL

D, Q, BLOCKS, GROUPS = 64, 50, 20, 500


def make_block(block: int, rows: int) -> np.ndarray:
    """Return a block of rows in clusters that all blocks share."""
    centers = np.random.default_rng(0).normal(size=(GROUPS, D))
    rng = np.random.default_rng(block + 1)
    X = centers[rng.integers(GROUPS, size=rows)] + 0.3 * rng.normal(size=(rows, D))
    return X.astype(np.float32)


def make_labels(n: int) -> sp.csr_array:
    """Return one of many labels for each row, some of them rare."""
    labels = np.minimum(np.random.default_rng(9).geometric(0.08, size=n), Q) - 1
    return sp.csr_array((np.ones(n, np.int8), (np.arange(n), labels)), shape=(n, Q))


def make_array(rows: int) -> Any:
    """Return the rows as a Dask array."""
    import dask
    import dask.array as da

    make = dask.delayed(make_block, pure=True)
    blocks = [make(b, rows) for b in range(BLOCKS)]
    return da.concatenate([da.from_delayed(b, (rows, D), dtype=np.float32) for b in blocks])


class Usage(NamedTuple):
    """CPU seconds and the peak of memory, in megabytes, of every process by its name."""

    seconds: dict[str, float]
    peak: dict[str, float]

    @classmethod
    def of(cls, client: Any) -> Usage:
        found = client.run(resource.getrusage, resource.RUSAGE_SELF)
        return cls(
            {worker: use.ru_utime + use.ru_stime for worker, use in found.items()},
            {worker: use.ru_maxrss / 1e3 for worker, use in found.items()},
        )


@contextmanager
def two_processes(limit: int) -> Iterator[Any]:
    """Give a client of two processes that hold at most so many megabytes of data each."""
    import dask
    from distributed import Client, LocalCluster

    of_process = {
        f"distributed.worker.memory.{at}": False for at in ("spill", "pause", "terminate")
    }
    with (
        dask.config.set(of_process),
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=limit * 10**6, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def measure(
    name: str,
    limit: int,
    resample: Callable[[], tuple[Any, Any]],
    expected: Any,
    kill: float | None,
) -> float:
    """Print what resampling takes on two processes, one killed after some seconds, if any."""
    small = make_block(0, 2000), make_labels(2000)
    with two_processes(limit) as client:
        client.run(MLSOL(random_state=0).fit_resample, *small)  # compiles
        before = Usage.of(client)
        if kill is not None:
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(kill, os.kill, (victim, signal.SIGKILL)).start()
        start = time.perf_counter()
        X, Y = resample()
        seconds = time.perf_counter() - start
        after = Usage.of(client)
        same = (Y != expected[1]).nnz == 0 and np.array_equal(X.compute(), expected[0])
    stayed = before.peak.keys() & after.peak.keys()
    cpu = sum(after.seconds[worker] - before.seconds[worker] for worker in stayed)
    more = max(after.peak[worker] - before.peak[worker] for worker in stayed)
    print(
        f"{name:<16} {seconds:7.1f} s {cpu:7.1f} CPU s of {len(stayed)} process(es), "
        f"peak +{more:.0f} MB, {'the same bits' if same else 'NOT THE SAME'}",
        flush=True,
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--limit", type=int, default=10, help="megabytes of data in a process")
    options = parser.parse_args()
    rows = options.rows // BLOCKS
    X, Y = np.concatenate([make_block(b, rows) for b in range(BLOCKS)]), make_labels(rows * BLOCKS)
    sampler = MLSOL(random_state=0)
    sampler.fit_resample(X[:31_000], Y[:31_000])  # compiles
    print(f"X has {X.nbytes / 1e6:.0f} MB, and each process {options.limit} MB for data")
    start, begun = time.perf_counter(), time.process_time()
    expected = sampler.fit_resample(X, Y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - begun
    print(f"{'in memory':<16} {seconds:7.1f} s {cpu:7.1f} CPU s", flush=True)
    array = make_array(rows)

    def resample() -> tuple[Any, Any]:
        return sampler.fit_resample(array, Y)

    seconds = measure("two processes", options.limit, resample, expected, None)
    measure("one is killed", options.limit, resample, expected, seconds / 2)


if __name__ == "__main__":
    main()
