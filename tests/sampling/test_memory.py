"""No sampler or generator begins what does not fit into memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from labelance import datasets, sampling
from labelance._memory import available_memory, bytes_per_row
from labelance.exceptions import InputError, TooManyRowsError
from labelance.testing import sampler_data

GREEDY = [
    sampling.MLSOL(sampling_ratio=1e12),
    sampling.MLSOL(n_samples=10**18),
    sampling.MLROS(sampling_ratio=1e12),
    sampling.MLROS(sampling_strategy={0: 10**15}),
    sampling.MLSMOTE(n_samples=10**18),
    sampling.MLSMOTE(sampling_strategy={0: 10**15}),
    sampling.MLRkNNOS(sampling_strategy={0: 10**15}, max_samples=None),
    sampling.RHwROS(resampler=sampling.MLROS(sampling_ratio=1e12)),
    sampling.SamplerSequence([sampling.MLSOL(sampling_ratio=1e12)]),
]


@pytest.mark.parametrize("sampler", GREEDY, ids=repr)
@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_too_many_rows_are_refused_in_the_plan(sampler, container):
    X, Y = sampler_data()
    with pytest.raises(TooManyRowsError, match=r"rows would take at least .* GiB"):
        sampler.plan(container(X), container(Y))


@pytest.mark.parametrize("name", ["MLSOL", "MLROS", "LPROS"])
def test_a_share_beyond_all_numbers_is_refused(name):
    X, Y = sampler_data()
    with pytest.raises(InputError, match="sampling_ratio is a share"):
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
    with pytest.raises(TooManyRowsError, match="would take at least"):
        make(n_samples=10**15)


def test_memory_is_what_rows_take():
    X = np.zeros((10, 4), dtype=np.float32)
    assert bytes_per_row(X) * 10 == X.nbytes
    S = sp.csr_array(np.eye(10))
    assert bytes_per_row(S) * 10 == S.data.nbytes + S.indices.nbytes
    assert available_memory() > 2**20
