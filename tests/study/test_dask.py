"""The same rows from a Dask cluster."""

from dataclasses import replace

import pytest
from pandas.testing import assert_frame_equal

from labelance.exceptions import StudyError
from labelance.study import Component, Learner, read_results, run_study

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
    outcome = run_study(small, tmp_path / "s.store", executor="dask", address=address)
    assert (outcome.done, outcome.failed, outcome.left) == (28, 0, 0)
    assert_frame_equal(figures(small, tmp_path / "s.store"), figures(small, tiny_store))
    again = run_study(small, tmp_path / "s.store", executor="dask", address="tcp://127.0.0.1:1")
    assert again.done == 28  # nobody is asked if nothing is left to do


def test_the_client_that_is_active_is_used_and_left_open(
    tiny, tiny_store, tmp_path, cluster, figures
):
    small = tiny.only(datasets=["two"], methods=["Default"])
    with distributed.Client(cluster) as client:
        outcome = run_study(small, tmp_path / "s.store", executor="dask")
        assert client.status == "running"
    assert outcome.failed == outcome.left == 0
    assert_frame_equal(figures(small, tmp_path / "s.store"), figures(small, tiny_store))


def test_failures_are_rows_and_the_rest_goes_on(tiny, tmp_path, cluster):
    odd = Learner("odd", Component("BinaryRelevance", {"estimator": "not one"}))
    study = replace(tiny.only(datasets=["two"]), learners=[odd, *tiny.learners])
    outcome = run_study(
        study, tmp_path / "s.store", executor="dask", address=cluster.scheduler_address
    )
    assert (outcome.done, outcome.failed, outcome.left) == (28, 14, 0)
    table = read_results(study, tmp_path / "s.store")
    assert set(table.loc[table["status"] == "failed", "learner"]) == {"odd"}
    assert table.loc[table["status"] == "failed", "error"].str.contains("Traceback").all()
    assert table["machine"].notna().all()


def test_tasks_have_no_time_limit(tiny, tmp_path):
    with pytest.raises(StudyError, match="cell_timeout needs processes"):
        run_study(tiny, tmp_path / "s.store", executor="dask", cell_timeout=100)
