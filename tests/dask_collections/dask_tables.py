"""Tables in memory as Dask collections in blocks of any size, and how to compare the two."""

import os
import signal
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


def make_block(number, n_rows, d=50):
    """Return a block of rows around a few centers."""
    rng = np.random.default_rng(number)
    centers = 20 * np.random.default_rng(99).normal(size=(12, d))
    return centers[rng.integers(12, size=n_rows)] + rng.normal(size=(n_rows, d)).round(2)


def make_labels(n):
    """Return labels, some of them rare."""
    rng = np.random.default_rng(5)
    return (rng.random((n, 5)) < [0.5, 0.3, 0.03, 0.05, 0.1]).astype(int)


def made_on_workers(n_blocks, n_rows, d, dies=None):
    """Return an array whose blocks are made where they are used; one may end its process."""
    import dask
    import dask.array as da

    make = dask.delayed(_make_or_die if dies else make_block, pure=False)
    more = (d, *dies) if dies else (d,)
    return da.concatenate(
        [da.from_delayed(make(b, n_rows, *more), (n_rows, d), dtype=float) for b in range(n_blocks)]
    )


def _make_or_die(number, n_rows, d, marker, reading):
    """Make a block; the process that makes block 3 for the given time is killed at once."""
    if number == 3:
        so_far = len(list(Path(marker).parent.iterdir()))
        if so_far < reading:
            Path(f"{marker}{so_far}").touch()
            if so_far == reading - 1:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return make_block(number, n_rows, d)
