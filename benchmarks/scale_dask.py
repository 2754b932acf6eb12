"""Dask beside one process: what it costs, and data larger than the memory of a worker.

Both sides run here, and results are compared bit for bit; half-way a worker is killed.

``cost`` resamples rows in clusters (d = 64, float32) by MLSOL, in memory and on two processes, with
and without the profiler that Dask runs in every worker, and prints CPU seconds, of the workers and
of the client with its scheduler. Everything is compiled before.

``memory`` resamples a table in files, larger than what each of two processes may take in all,
Python and its libraries included: Dask moves blocks to disk, holds a worker back or ends it by its
own rules, which are left as they are. The table is kept on the workers (``persist``), so that it
has to be moved. Peaks are those of whole processes.

    python benchmarks/scale_dask.py cost --rows 25000 50000 100000
    python benchmarks/scale_dask.py memory --megabytes 800 --limit 480 --method mlsmote
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance.sampling import MLSOL, all_samplers

D, Q, BLOCKS, GROUPS = 64, 50, 20, 500
COLUMNS, FILES = 10_000, 40
WARM = 32_000  # rows that take the same way as more, so that it is compiled

Resampled = tuple[Any, Any]


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


def as_array(make: Callable[[Any], np.ndarray], blocks: Sequence[Any], rows: int, d: int) -> Any:
    """Return a Dask array of blocks that are made, or read, where they are needed."""
    import dask
    import dask.array as da

    delayed = dask.delayed(make, pure=True)
    return da.concatenate(
        [da.from_delayed(delayed(block), (rows, d), dtype=np.float32) for block in blocks]
    )


def clusters(n: int) -> tuple[Any, sp.csr_array]:
    """Return rows in clusters as a Dask array, and labels."""
    rows = n // BLOCKS
    array = as_array(lambda block: make_block(block, rows), range(BLOCKS), rows, D)
    return array, make_labels(rows * BLOCKS)


class Usage(NamedTuple):
    """CPU seconds of a process, and the most memory that it had, in megabytes."""

    seconds: float
    peak: float

    @classmethod
    def own(cls) -> Usage:
        use = resource.getrusage(resource.RUSAGE_SELF)
        # The peak that getrusage knows begins with that of the parent.
        status = Path("/proc/self/status").read_text()
        peak = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024
        return cls(use.ru_utime + use.ru_stime, peak)


def moved_to_disk(dask_worker: Any) -> float:
    """Return the megabytes that a worker has written to disk so far."""
    return float(dask_worker.data.cumulative_metrics["disk-write", "bytes"]) / 1e6


@contextmanager
def two_processes(limit: int | None = None, **config: Any) -> Iterator[Any]:
    """Give a client of two processes that take at most so many megabytes each, in all."""
    import dask
    from distributed import Client, LocalCluster

    # A machine with much else to do may be slow to answer.
    config |= {f"distributed.comm.timeouts.{what}": "600s" for what in ("connect", "tcp")}
    config["distributed.scheduler.worker-ttl"] = None
    with (
        dask.config.set(config),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=limit and limit * 10**6,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def digests(table: Any, edges: Sequence[int]) -> list[str]:
    """Return a digest of every block of a table."""
    return [digest(table[start:stop]) for start, stop in pairwise(edges)]


def digest(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block)).hexdigest()


def is_same(found: Resampled, expected: Resampled) -> bool:
    """Compare every bit of a result on the workers, block by block where the blocks are."""
    import dask

    (X, Y), (X_expected, Y_expected) = found, expected
    edges = np.cumsum([0, *X.chunks[0]]).tolist()
    blocks = [dask.delayed(digest)(block) for block in X.to_delayed().ravel()]
    told = list(dask.compute(*blocks))
    return told == digests(X_expected, edges) and (Y != Y_expected).nnz == 0


# --- what Dask costs ------------------------------------------------------------------------------


def compare_cost(sizes: Sequence[int]) -> None:
    """Print CPU seconds in memory and on two processes for every number of rows."""
    sampler, here = MLSOL(random_state=0), {}
    rows = [np.concatenate([make_block(b, n // BLOCKS) for b in range(BLOCKS)]) for n in sizes]
    labels = [make_labels(len(X)) for X in rows]
    for n in (WARM, min(sizes)):
        warm = np.concatenate([make_block(b, n // BLOCKS) for b in range(BLOCKS)])
        sampler.fit_resample(warm, make_labels(len(warm)))
    for n, X, Y in zip(sizes, rows, labels):
        begun = time.process_time()
        here[n] = sampler.fit_resample(X, Y)
        print(f"{n:>9,} rows in memory       {time.process_time() - begun:7.1f} CPU s", flush=True)
    for profiler in (True, False):
        seconds = {}
        with two_processes(**{"distributed.worker.profile.enabled": profiler}) as client:
            for n in (WARM, max(sizes)):
                sampler.fit_resample(*clusters(n))
            for n in sizes:
                seconds[n] = _measure_cost(client, n, profiler, here[n])
        if len(sizes) > 1:
            slope = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0]
            print(f"{'':>9} exponent of both together: {slope:.2f}", flush=True)


def _measure_cost(client: Any, n: int, profiler: bool, expected: Resampled) -> float:
    """Print and return the CPU seconds of MLSOL on the cluster of a client."""
    before, begun = client.run(Usage.own), time.process_time()
    found = MLSOL(random_state=0).fit_resample(*clusters(n))
    here, after = time.process_time() - begun, client.run(Usage.own)
    workers = sum(after[worker].seconds - before[worker].seconds for worker in after)
    print(
        f"{n:>9,} rows, two processes  {workers + here:7.1f} CPU s: workers {workers:.1f}, client "
        f"{here:.1f}; profiler {'on' if profiler else 'off'}; "
        f"{'the same bits' if is_same(found, expected) else 'NOT THE SAME'}",
        flush=True,
    )
    return workers + here


# --- less memory than the data --------------------------------------------------------------------


def write_files(folder: Path, megabytes: int) -> list[Path]:
    """Write a table of random numbers as NumPy files with as many rows each."""
    rows = round(megabytes * 1e6 / (4 * COLUMNS * FILES))
    files = [folder / f"rows-{number}.npy" for number in range(FILES)]
    for number, file in enumerate(files):
        np.save(file, np.random.default_rng(number).random((rows, COLUMNS), dtype=np.float32))
    return files


def resample_in_less(method: str, megabytes: int, limit: int) -> None:
    """Print the peaks of two processes that resample a table larger than they may be."""
    kinds = {name.lower(): kind for name, kind in all_samplers().items()}
    sampler = kinds[method](random_state=0)
    with tempfile.TemporaryDirectory() as name:
        files = write_files(Path(name), megabytes)
        X = np.concatenate([np.load(file) for file in files])
        Y = make_labels(len(X))
        print(f"X has {X.nbytes / 1e6:.0f} MB; each process may take {limit} MB in all", flush=True)
        begun = time.process_time()
        expected = sampler.fit_resample(X, Y)
        print(f"{'in memory':<14} {time.process_time() - begun:7.1f} CPU s", flush=True)
        table = as_array(np.load, files, len(X) // FILES, COLUMNS)
        seconds = _measure_memory("two processes", sampler, table, Y, expected, limit, None)
        _measure_memory("one is killed", sampler, table, Y, expected, limit, seconds / 2)


def _measure_memory(
    name: str,
    sampler: Any,
    table: Any,
    Y: sp.csr_array,
    expected: Resampled,
    limit: int,
    kill: float | None,
) -> float:
    """Print what resampling takes on two processes, one killed after some seconds, if any."""
    with two_processes(limit) as client:
        base = max(use.peak for use in client.run(Usage.own).values())
        if kill is not None:
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(kill, os.kill, (victim, signal.SIGKILL)).start()
        start = time.perf_counter()
        same = is_same(sampler.fit_resample(table.persist(), Y), expected)
        seconds = time.perf_counter() - start
        used = client.run(Usage.own).values()
        moved = sum(client.run(moved_to_disk).values())
    print(
        f"{name:<14} {sum(use.seconds for use in used):7.1f} CPU s, begins with {base:.0f} MB, "
        f"peak {max(use.peak for use in used):.0f} MB, {moved:.0f} MB moved to disk, "
        f"{'the same bits' if same else 'NOT THE SAME'}",
        flush=True,
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    cost = parts.add_parser("cost", help="CPU seconds in memory and on two processes")
    cost.add_argument("--rows", type=int, nargs="+", default=[25_000, 50_000, 100_000])
    memory = parts.add_parser("memory", help="a table larger than a process may be")
    memory.add_argument("--megabytes", type=int, default=800, help="of the table")
    memory.add_argument("--limit", type=int, default=480, help="megabytes of a whole process")
    memory.add_argument("--method", default="mlsmote", help="a sampler that takes Dask arrays")
    options = parser.parse_args()
    if options.part == "cost":
        compare_cost(options.rows)
    else:
        resample_in_less(options.method.lower(), options.megabytes, options.limit)


if __name__ == "__main__":
    main()
