"""A real cluster: two processes whose memory is smaller than the data, one of which may die."""

import joblib
import numpy as np
import pytest
from dask_tables import assert_same_table, made_on_workers, make_block, make_labels

from labelance import EMLS
from labelance.learners import BinaryRelevance
from labelance.neighbors import find_neighbors
from labelance.sampling import MLROS, MLRUS, MLSMOTE, MLSOL

distributed = pytest.importorskip("distributed", reason="distributed is not installed")

# What a cluster says while a worker dies or it is shut down is not about us.
pytestmark = pytest.mark.filterwarnings("ignore")

BLOCKS, ROWS = 10, 150
LIMIT = 250_000  # bytes of data in the memory of a worker; X has 600,000


@pytest.fixture(scope="module")
def in_this_thread():
    """Stand in for the fixture of the other modules: here the cluster computes."""


@pytest.fixture(scope="module")
def client():
    """A client of two processes, which move data to disk beyond their limit."""
    import dask

    # The limit is on data alone: Python and its libraries take far more than these tests' data.
    options = {f"distributed.worker.memory.{at}": False for at in ("spill", "pause", "terminate")}
    # A machine with much else to do may be slow to answer.
    options |= {f"distributed.comm.timeouts.{what}": "600s" for what in ("connect", "tcp")}
    with (
        dask.config.set({**options, "distributed.scheduler.worker-ttl": None}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def in_memory():
    """X and y in memory."""
    X = np.concatenate([make_block(b, ROWS) for b in range(BLOCKS)])
    return X, make_labels(len(X))


@pytest.mark.parametrize("sampler", [MLSOL(), MLSMOTE(), MLROS(), MLRUS()], ids=str)
def test_data_larger_than_memory_give_the_same_rows(sampler, client, in_memory):
    X, Y = in_memory
    assert X.nbytes > 2 * LIMIT
    dX = made_on_workers(BLOCKS, ROWS, X.shape[1])
    found = sampler.set_params(random_state=0).fit_resample(dX, Y)
    expected = sampler.set_params(random_state=0).fit_resample(X, Y)
    assert_same_table(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    ("many_rows", "reading"),
    [(10**9, 1), (10**9, 2), (0, 3), (0, 5)],
    ids=["at first", "all pairs", "dividing", "shuffling"],
)
def test_a_worker_that_dies_does_not_change_neighbors(
    reading, many_rows, client, in_memory, tmp_path, monkeypatch
):
    monkeypatch.setattr("labelance.neighbors._dask._MANY_ROWS", many_rows)
    X, _ = in_memory
    dX = made_on_workers(BLOCKS, ROWS, X.shape[1], dies=(tmp_path / "died", reading))
    found, expected = find_neighbors(dX, 5), find_neighbors(X, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert len(list(tmp_path.iterdir())) == reading


@pytest.mark.parametrize("sampler", [MLSOL(), MLSMOTE()], ids=str)
def test_a_worker_that_dies_does_not_change_new_rows(sampler, client, in_memory, tmp_path):
    X, Y = in_memory
    dX = made_on_workers(BLOCKS, ROWS, X.shape[1], dies=(tmp_path / "died", 3))
    found, _ = sampler.set_params(random_state=0).fit_resample(dX, Y)
    assert_same_table(found, sampler.set_params(random_state=0).fit_resample(X, Y)[0])
    assert len(list(tmp_path.iterdir())) == 3


def test_members_of_an_ensemble_are_fitted_on_the_cluster(client, in_memory):
    X, Y = in_memory[0][:200, :5], in_memory[1][:200]
    ensemble = EMLS(BinaryRelevance(), MLROS(), n_estimators=3, random_state=0)
    expected = ensemble.fit(X, Y).predict_proba(X)
    with joblib.parallel_config(backend="dask"):
        found = ensemble.set_params(n_jobs=-1).fit(X, Y)
    np.testing.assert_array_equal(found.predict_proba(X), expected)
