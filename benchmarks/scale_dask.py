"""What Dask does on two workers of 1 GB each: Parquet in, Parquet out.

The script writes its own table, in files of as many rows each, into a temporary folder: rows in
clusters (or without any), float32, and rare labels. A sampler reads it on a ``LocalCluster`` of two
processes of one thread, whose memory Dask limits as it always does, and the result is written
again. ``MLROS`` copies rows, without reading them to decide which; ``MLSOL`` searches neighbors and
makes rows. Each line has wall and CPU seconds, the peaks of whole processes, and what was moved to
disk to make room.

    python benchmarks/scale_dask.py MLROS --gigabytes 8 --features 256 --distinct-files 16
    python benchmarks/scale_dask.py MLSOL --rows 200000 1000000
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from labelance.sampling import all_samplers

GROUPS, LABELS = 500, 20
SHARES = 0.2 * 0.75 ** np.arange(LABELS)  # of the rows, for every label
# Random numbers repeat nothing that a dictionary, or a compression, could use.
PLAIN: dict[str, Any] = {"use_dictionary": False, "compression": None}


def write_table(
    folder: Path, rows: int, features: int, per_file: int, kind: str, distinct: int
) -> int:
    """Write Parquet files of rows, and return how many bytes they have.

    Files that follow so many ``distinct`` ones are copies of these, which is faster.
    """
    folder.mkdir()
    centers = np.random.default_rng(0).standard_normal((GROUPS, features), dtype=np.float32)
    names = [f"x{j}" for j in range(features)], [f"y{j}" for j in range(LABELS)]
    for number, start in enumerate(range(0, rows, per_file)):
        path = folder / f"rows-{number:05}.parquet"
        rng, n = np.random.default_rng(number + 1), min(per_file, rows - start)
        if number >= distinct and n == per_file:
            shutil.copyfile(folder / f"rows-{number % distinct:05}.parquet", path)
            continue
        X = rng.standard_normal((n, features), dtype=np.float32)
        if kind == "clusters":
            X = centers[rng.integers(GROUPS, size=n)] + np.float32(0.3) * X
        Y = (rng.random((n, LABELS)) < SHARES).astype(np.int8)
        table = pd.DataFrame(X, columns=names[0]).join(pd.DataFrame(Y, columns=names[1]))
        table.to_parquet(path, index=False, **PLAIN)
    return size_of(folder)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


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
def two_workers(limit: str, folder: str) -> Iterator[Any]:
    """Give a client of two processes of one thread, with so much memory each."""
    import dask
    from distributed import Client, LocalCluster

    with (
        # A machine with much else to do may be slow to answer.
        dask.config.set({"distributed.comm.timeouts.connect": "600s"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=limit,
            local_directory=folder,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def resample(method: str, source: Path, target: Path, limit: str) -> None:
    """Resample a table in files on two workers, and print what it took."""
    import dask.dataframe as dd

    with two_workers(limit, str(target.parent)) as client:
        workers = sorted(client.scheduler_info()["workers"])
        begun, here = time.perf_counter(), time.process_time()
        table = dd.read_parquet(source)
        features = [name for name in table.columns if name.startswith("x")]
        sampler = all_samplers()[method](random_state=0)
        X, y = sampler.fit_resample(table[features], table[[f"y{j}" for j in range(LABELS)]])
        planned = time.perf_counter() - begun
        X.join(y).to_parquet(target, write_index=False, **PLAIN)
        wall, here = time.perf_counter() - begun, time.process_time() - here
        used, moved = client.run(Usage.own), sum(client.run(moved_to_disk).values())
        died = len(set(workers) - set(used))
    print(
        f"{method}: {wall:.0f} s ({planned:.0f} s until the result is known); CPU s: workers "
        f"{sum(use.seconds for use in used.values()):.0f}, client {here:.0f}; peaks: "
        f"{' and '.join(f'{use.peak:.0f}' for use in used.values())} MB, client "
        f"{Usage.own().peak:.0f} MB; {moved / 1000:.1f} GB moved to disk; {died} workers died",
        flush=True,
    )
    check(source, target)


def check(source: Path, target: Path) -> None:
    """Raise unless the rows as given come first; print how many there are."""
    from pyarrow import parquet

    before, after = (sorted(folder.glob("*.parquet"), key=_number) for folder in (source, target))
    for old, new in zip(before[:2], after):
        pd.testing.assert_frame_equal(pd.read_parquet(old), pd.read_parquet(new), check_dtype=False)
    n, added = (sum(parquet.read_metadata(file).num_rows for file in of) for of in (before, after))
    print(f"  {n:,} rows in, {added:,} out, {size_of(target) / 1e9:.1f} GB", flush=True)


def _number(file: Path) -> int:
    return int(re.findall(r"\d+", file.name)[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", choices=("MLROS", "MLSOL"), help="a sampler")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--rows", type=int, nargs="+", help="of the table, one after the other")
    size.add_argument("--gigabytes", type=float, help="of the table, as float32 numbers")
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--megabytes-per-file", type=float, default=32, help="of numbers")
    parser.add_argument("--distinct-files", type=int, default=1000, help="others are copies")
    parser.add_argument("--kind", choices=("clusters", "normal"), default="clusters")
    parser.add_argument("--limit", default="1GB", help="memory of a worker")
    parser.add_argument("--folder", help="for the temporary folder")
    options = parser.parse_args()
    row = 4 * options.features
    for n in options.rows or [round(options.gigabytes * 1e9 / row)]:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            source, per_file = Path(name, "source"), round(options.megabytes_per_file * 1e6 / row)
            size = write_table(
                source, n, options.features, per_file, options.kind, options.distinct_files
            )
            print(f"{n:,} rows x {options.features}, {options.kind}: {size / 1e9:.2f} GB of "
                  f"Parquet in {-(-n // per_file)} files", flush=True)  # fmt: skip
            resample(options.method, source, Path(name, "resampled"), options.limit)


if __name__ == "__main__":
    main()
