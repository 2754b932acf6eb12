"""Tables in memory as Dask collections in blocks of any size, and how to compare the two."""

import multiprocessing
import os
import signal
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def as_dask(table, lengths):
    """Return an array, sparse matrix or pandas frame as a Dask collection of blocks of rows."""
    import dask
    import dask.array as da
    import dask.dataframe as dd

    edges = np.cumsum([0, *lengths])
    assert edges[-1] == table.shape[0]
    if hasattr(table, "iloc"):
        parts = [table.iloc[a:b] for a, b in pairwise(edges)]
        return dd.from_delayed([dask.delayed(part) for part in parts], meta=table.iloc[:0])
    blocks = [
        da.from_delayed(dask.delayed(table[a:b]), (b - a, table.shape[1]), meta=table[:0])
        for a, b in pairwise(edges)
    ]
    return da.concatenate(blocks)


def assert_same_table(found, expected):
    """Compare a computed collection with the table in memory, bit for bit, names and types too."""
    found = found.compute()
    assert type(found) is type(expected)
    if hasattr(expected, "iloc"):
        import pandas as pd

        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        return
    assert found.dtype == expected.dtype
    if sp.issparse(expected):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


BLOCKS, ROWS, COLUMNS = 6, 250, 50  # every block is searched beside every other
PRELOADED = ["distributed", "dask.dataframe", "labelance.ensemble", "labelance.learners"]
LIMIT = 250_000  # bytes of data in the memory of a worker; all blocks have 600,000


@contextmanager
def two_processes():
    """Give a client of two processes, which move data to disk beyond their limit."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    # The limit is on data alone: Python and its libraries take far more than these tests' data.
    options = {f"distributed.worker.memory.{at}": False for at in ("spill", "pause", "terminate")}
    # A machine with much else to do may be slow to answer.
    options |= {f"distributed.comm.timeouts.{what}": "600s" for what in ("connect", "tcp")}
    options |= {"distributed.scheduler.worker-ttl": None}
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    if forks:
        options |= {"distributed.worker.multiprocessing-method": "forkserver"}
    size = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": LIMIT}
    with dask.config.set(options):
        if forks:  # what every worker needs is imported once, also for those that follow dead ones
            get_mp_context().set_forkserver_preload(PRELOADED)
        with (
            LocalCluster(**size, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client


def bytes_on_disk(dask_worker):
    """Return how much of a worker's data is not in its memory."""
    return dask_worker.data.spilled_total.memory


def make_block(number):
    """Return a block of rows around a few centers."""
    rng = np.random.default_rng(number)
    centers = 20 * np.random.default_rng(99).normal(size=(12, COLUMNS))
    return centers[rng.integers(12, size=ROWS)] + rng.normal(size=(ROWS, COLUMNS)).round(2)


def make_data():
    """Return all blocks in memory, and labels, some of them rare."""
    X = np.concatenate([make_block(b) for b in range(BLOCKS)])
    often = [0.5, 0.3, 0.03, 0.05, 0.1]
    return X, (np.random.default_rng(5).random((len(X), 5)) < often).astype(int)


def made_on_workers(dies=None):
    """Return an array whose blocks are made where they are used; one may end its process."""
    import dask
    import dask.array as da

    make = dask.delayed(_make_or_die, pure=False)
    blocks = [make(b, dies if b == 3 else None) for b in range(BLOCKS)]
    return da.concatenate(
        [da.from_delayed(block, (ROWS, COLUMNS), dtype=float) for block in blocks]
    )


def _make_or_die(number, dies):
    """Make a block; the process that makes it for the given time is killed at once."""
    if dies is not None:
        folder, reading = dies
        so_far = len(list(Path(folder).iterdir()))
        if so_far < reading:
            Path(folder, str(so_far)).touch()
            if so_far == reading - 1:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return make_block(number)
