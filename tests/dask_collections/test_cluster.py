"""A real cluster: two processes, whose memory is smaller than the data, and who may die."""

import joblib
import numpy as np
import pytest
from dask_tables import (
    LIMIT,
    assert_same_table,
    bytes_on_disk,
    made_on_workers,
    make_data,
    two_processes,
)
from sklearn.naive_bayes import GaussianNB

from labelance import EMLS
from labelance.learners import BinaryRelevance
from labelance.neighbors import find_neighbors
from labelance.sampling import MLROS, MLRUS, MLSMOTE, MLSOL

pytest.importorskip("distributed", reason="distributed is not installed")
# What a cluster says of a worker that died, or while it is shut down, is not about us.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]

X, Y = make_data()


@pytest.fixture(scope="module")
def in_this_thread():
    """Stand in for the fixture of the other modules: here the cluster computes."""


@pytest.fixture(scope="module", autouse=True)
def client():
    with two_processes() as client:
        yield client


@pytest.mark.parametrize("sampler", [MLSOL(), MLSMOTE(), MLROS(), MLRUS()], ids=str)
def test_data_larger_than_memory_give_the_same_rows(sampler):
    assert X.nbytes > 2 * LIMIT
    # First here, so that one process compiles what all three run.
    expected = sampler.set_params(random_state=0).fit_resample(X, Y)
    found = sampler.set_params(random_state=0).fit_resample(made_on_workers(), Y)
    assert_same_table(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_rows_that_are_kept_and_do_not_fit_go_to_disk(client):
    from distributed import wait

    kept = made_on_workers().persist()
    wait(kept)
    assert sum(client.run(bytes_on_disk).values()) >= X.nbytes - 2 * LIMIT
    found, _ = MLSOL(random_state=0).fit_resample(kept, Y)
    assert_same_table(found, MLSOL(random_state=0).fit_resample(X, Y)[0])


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_rows_that_are_kept_stay_while_a_result_needs_them(kind):
    kept = made_on_workers()
    if kind == "frame":
        kept = kept.to_dask_dataframe()
    kept = kept.persist()
    expected = MLSOL(random_state=0).fit_resample(X, Y)[0]
    found, _ = MLSOL(random_state=0).fit_resample(kept, Y)
    del kept
    np.testing.assert_array_equal(np.asarray(found.compute()), expected)


def test_a_part_of_a_result_can_be_asked_for_at_once_after_the_whole():
    found, _ = MLSOL(random_state=0).fit_resample(made_on_workers(), Y)
    expected = found.compute()
    for b in range(found.npartitions):
        start = sum(found.chunks[0][:b])
        part = found.blocks[b].compute()
        np.testing.assert_array_equal(part, expected[start : start + len(part)])


def test_members_of_an_ensemble_are_fitted_on_the_cluster():
    ensemble = EMLS(BinaryRelevance(GaussianNB()), MLROS(), n_estimators=3, random_state=0)
    expected = ensemble.fit(X[:200, :5], Y[:200]).predict_proba(X[:200, :5])
    with joblib.parallel_config(backend="dask"):
        found = ensemble.set_params(n_jobs=-1).fit(X[:200, :5], Y[:200])
    np.testing.assert_array_equal(found.predict_proba(X[:200, :5]), expected)


# --- a worker that is killed half-way does not change a result: what it had is computed again -----


@pytest.fixture
def both_workers(client):
    """Wait for the worker that follows a dead one, before and after a worker dies."""
    client.wait_for_workers(2, timeout=600)
    yield
    client.wait_for_workers(2, timeout=600)


@pytest.mark.usefixtures("both_workers")
def test_a_worker_that_dies_does_not_change_neighbors(tmp_path, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._dask._MANY_ROWS", 0)  # rows are shuffled by cell
    expected = find_neighbors(X, 5)
    # Read for the fourth time it is shuffled; before, it was checked, sampled and divided.
    found = find_neighbors(made_on_workers((tmp_path, 4)), 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.usefixtures("both_workers")
def test_a_worker_that_dies_does_not_change_new_rows(tmp_path):
    expected = MLSOL(random_state=0).fit_resample(X, Y)
    # Read for the third time it is searched, beside all other blocks.
    found, y = MLSOL(random_state=0).fit_resample(made_on_workers((tmp_path, 3)), Y)
    assert_same_table(found, expected[0])
    np.testing.assert_array_equal(y, expected[1])
    assert len(list(tmp_path.iterdir())) == 3
