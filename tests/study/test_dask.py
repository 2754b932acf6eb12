"""The same rows from a Dask cluster."""

import os
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from pandas.testing import assert_frame_equal

from labelance.study import Component, Learner, _runner, read_results, run_study

distributed = pytest.importorskip("distributed")
# What a cluster says while it is shut down is not about us.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and a worker in this process; a worker starts another, which takes seconds."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


def test_a_cluster_gives_the_same_rows(tiny, tiny_store, tmp_path, cluster, figures):
    address, small = cluster.scheduler_address, tiny.only(datasets=["two"])
    outcome = run_study(small, tmp_path / "s.db", executor="dask", address=address)
    assert (outcome.done, outcome.failed, outcome.left) == (28, 0, 0)
    assert_frame_equal(figures(small, tmp_path / "s.db"), figures(small, tiny_store))
    again = run_study(small, tmp_path / "s.db", executor="dask", address="tcp://127.0.0.1:1")
    assert again.done == 28  # nobody is asked if nothing is left to do


def test_the_client_that_is_active_is_used_and_left_open(
    tiny, tiny_store, tmp_path, cluster, figures
):
    small = tiny.only(datasets=["two"], methods=["Default"])
    with distributed.Client(cluster) as client:
        outcome = run_study(small, tmp_path / "s.db", executor="dask")
        assert client.status == "running"
    assert outcome.failed == outcome.left == 0
    assert_frame_equal(figures(small, tmp_path / "s.db"), figures(small, tiny_store))


def test_failures_are_rows_and_the_rest_goes_on(tiny, tmp_path, cluster):
    odd = Learner("odd", Component("BinaryRelevance", {"estimator": "not one"}))
    study = replace(tiny.only(datasets=["two"]), learners=[odd, *tiny.learners])
    outcome = run_study(
        study, tmp_path / "s.db", executor="dask", address=cluster.scheduler_address
    )
    assert (outcome.done, outcome.failed, outcome.left) == (28, 14, 0)
    table = read_results(study, tmp_path / "s.db")
    assert set(table.loc[table["status"] == "failed", "learner"]) == {"odd"}
    assert table.loc[table["status"] == "failed", "error"].str.contains("Traceback").all()
    assert table["machine"].notna().all()


@pytest.mark.skipif(not os.path.exists("/bin/false"), reason="needs a program that fails")
def test_cells_that_a_worker_cannot_begin_have_failed(tiny, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")  # no process can be started for them
    small = tiny.only(datasets=["two"], learners=["BR"], methods=["Default"])
    address = cluster.scheduler_address
    outcome = run_study(
        small, tmp_path / "s.db", executor="dask", address=address, cell_timeout=100
    )
    assert (outcome.done, outcome.failed) == (0, 2)
    assert "exited at once" in read_results(small, tmp_path / "s.db")["error"][0]


def test_a_cluster_that_hangs_does_not_hold_a_run_that_is_done(monkeypatch):
    hanging = threading.Event()
    client = SimpleNamespace(run=lambda function: hanging.wait())
    queue = SimpleNamespace(close=lambda: None)
    module = SimpleNamespace(Queue=lambda name, client: queue)
    monkeypatch.setattr(_runner, "_CLOSING_SECONDS", 0.2)
    start = time.monotonic()
    with _runner._Cluster(module, client, SimpleNamespace(runner="r"), None):
        pass
    hanging.set()
    assert time.monotonic() - start < 5
