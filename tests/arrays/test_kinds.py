"""The kind of a container is found once, and clean rows are of that kind."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelance._arrays._containers import HOST_DEVICES, stored_values, to_dense
from labelance._arrays._open import open_container, place_of, to_memory
from labelance._validation._data import validate_data

ROWS = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 3.0]])
Y = np.array([[1, 0], [0, 1], [1, 1]])


@pytest.mark.parametrize("make", [np.array, np.ndarray.tolist, sp.csr_array, sp.coo_matrix])
def test_data_has_the_kind_of_its_clean_rows(make):
    data = validate_data(make(ROWS), Y, caller="the test")
    assert data.kind == ("sparse" if sp.issparse(data.X) else "dense")
    assert data.take(np.array([2, 0])).kind == data.kind


def test_a_frame_is_dense_and_a_dask_collection_is_in_blocks():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    assert open_container(pandas.DataFrame(ROWS), "X").kind == "dense"
    assert open_container(dask.from_array(ROWS), "X", in_blocks=True).kind == "blocks"
    assert place_of(dask.from_array(ROWS)) == "Dask"
    assert isinstance(to_memory(dask.from_array(ROWS)), np.ndarray)


def test_a_tensor_is_dense_where_numpy_reads_it(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.as_tensor(ROWS)
    assert open_container(tensor, "X").kind == "dense"
    assert place_of(tensor) == "cpu"
    monkeypatch.setattr("labelance._arrays._containers.HOST_DEVICES", HOST_DEVICES - {"cpu"})
    assert open_container(tensor, "X").kind == "device"


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_verbs_give_the_same_for_dense_and_sparse_rows(make):
    np.testing.assert_array_equal(to_dense(make(ROWS)), ROWS)
    assert stored_values(make(ROWS)).sum() == ROWS.sum()
