"""Tests of Dask collections compute in this thread, unless they start a cluster."""

import pytest


@pytest.fixture(autouse=True)
def in_this_thread():
    """Compute in the thread of the test: quick, and easy to debug."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield
