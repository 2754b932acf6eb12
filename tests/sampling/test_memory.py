"""No sampler or generator begins what does not fit into memory."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from labelance import datasets, sampling
from labelance._arrays._columns import bytes_per_row
from labelance._arrays._memory import available_memory, left_in_control_group
from labelance.exceptions import InputError, TooManyRowsError
from labelance.testing import sampler_data

GREEDY = [
    sampling.MLSOL(sampling_ratio=1e12),
    sampling.MLSOL(n_synthetic=10**18),
    sampling.MLROS(sampling_ratio=1e12),
    sampling.MLROS(sampling_strategy={0: 10**15}),
    sampling.MLSMOTE(n_synthetic=10**18),
    sampling.MLSMOTE(sampling_strategy={0: 10**15}),
    sampling.MLRkNNOS(sampling_strategy={0: 10**15}, max_synthetic=None),
    sampling.RHwROS(resampler=sampling.MLROS(sampling_ratio=1e12)),
    sampling.SamplerSequence([sampling.MLSOL(sampling_ratio=1e12)]),
]


@pytest.mark.parametrize("sampler", GREEDY, ids=repr)
@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_too_many_rows_are_refused_in_the_plan(sampler, container):
    X, Y = sampler_data()
    with pytest.raises(TooManyRowsError, match=r"rows need at least .* GiB"):
        sampler.plan(container(X), container(Y))


@pytest.mark.parametrize("name", ["MLSOL", "MLROS", "LPROS"])
def test_a_share_beyond_all_numbers_is_refused(name):
    X, Y = sampler_data()
    with pytest.raises(InputError, match="sampling_ratio must be a finite number"):
        getattr(sampling, name)(sampling_ratio=1e308).fit_resample(X, Y)


def test_lpros_is_done_at_the_mean_whatever_is_asked_for():
    X, Y = sampler_data()
    much, more = (sampling.LPROS(sampling_ratio=r, random_state=0) for r in (10, 1e300))
    np.testing.assert_array_equal(much.fit_resample(X, Y)[1], more.fit_resample(X, Y)[1])


class NoSearch(NearestNeighbors):
    """Fails where neighbors are asked for."""

    def kneighbors(self, *args, **options):
        raise AssertionError("searched")


def test_no_neighbor_is_looked_for_before():
    sampler = sampling.MLSOL(k_neighbors=NoSearch(n_neighbors=6))
    with pytest.raises(AssertionError, match="searched"):
        sampler.fit_resample(*sampler_data())
    with pytest.raises(TooManyRowsError):
        sampler.set_params(sampling_ratio=1e12).fit_resample(*sampler_data())


@pytest.mark.parametrize("make", [datasets.make_multilabel_imbalanced, datasets.make_figure1])
def test_generators_refuse_too(make):
    with pytest.raises(TooManyRowsError, match="need at least"):
        make(n_samples=10**15)


def test_memory_is_what_rows_take():
    X = np.zeros((10, 4), dtype=np.float32)
    assert bytes_per_row(X) * 10 == X.nbytes
    S = sp.csr_array(np.eye(10))
    assert bytes_per_row(S) * 10 == S.data.nbytes + S.indices.nbytes
    assert available_memory() > 2**20


@pytest.mark.parametrize(
    ("folder", "limit", "used", "prefix"),
    [
        ("", "memory.max", "memory.current", ""),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ],
)
def test_a_container_has_what_its_limit_leaves(tmp_path, folder, limit, used, prefix):
    group = tmp_path / folder
    group.mkdir(exist_ok=True)
    assert left_in_control_group(tmp_path) == sys.maxsize
    (group / "memory.stat").write_text(f"anon 9\n{prefix}inactive_file 30\n{prefix}active_file 5\n")
    (group / used).write_text("600\n")
    (group / limit).write_text("1000\n")
    assert left_in_control_group(tmp_path) == 1000 - 600 + 35
    (group / limit).write_text("max\n")
    assert left_in_control_group(tmp_path) == sys.maxsize


def test_memory_is_no_more_than_a_container_has(monkeypatch):
    monkeypatch.setattr("labelance._arrays._memory.left_in_control_group", lambda: 1000)
    assert available_memory() == 1000


@pytest.mark.parametrize("mode", ["r", "c"])
def test_arrays_mapped_from_a_file_are_arrays(tmp_path, mode):
    X, Y = sampler_data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
    sampler = sampling.MLSOL(random_state=0)
    for found, expected in zip(sampler.fit_resample(mapped, Y), sampler.fit_resample(X, Y)):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
