"""A worker that is killed half-way does not change a result: what it had is computed again."""

import numpy as np
import pytest
from dask_tables import assert_same_table, made_on_workers, make_data, two_processes

from labelance.neighbors import find_neighbors
from labelance.sampling import MLSOL

pytest.importorskip("distributed", reason="distributed is not installed")
# What a cluster says of a worker that died is not about us.
pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = make_data()


@pytest.fixture
def in_this_thread():
    """Stand in for the fixture of the other modules: here a cluster computes, new for each test."""
    with two_processes():
        yield


def test_neighbors(tmp_path, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._dask._MANY_ROWS", 0)  # rows are shuffled by cell
    # Read for the fourth time it is shuffled; before, it was checked, sampled and divided.
    found, expected = find_neighbors(made_on_workers((tmp_path, 4)), 5), find_neighbors(X, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert len(list(tmp_path.iterdir())) == 4


def test_new_rows(tmp_path):
    # Read for the third time it is searched, beside all other blocks.
    found, y = MLSOL(random_state=0).fit_resample(made_on_workers((tmp_path, 3)), Y)
    expected = MLSOL(random_state=0).fit_resample(X, Y)
    assert_same_table(found, expected[0])
    np.testing.assert_array_equal(y, expected[1])
    assert len(list(tmp_path.iterdir())) == 3
