"""What only a GPU shows: its labels, other devices, arrays of other libraries."""

import numpy as np
import pytest

from labelance.exceptions import ContainerError
from labelance.sampling import MLSOL

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 9)).astype(np.float32)
    return X, rng.random((400, 40)) < np.linspace(0.02, 0.8, 40)


@pytest.mark.parametrize("interpolation", ["feature", "line"])
def test_mlsol_makes_the_rows_of_arrays(interpolation):
    X, y = make_data()
    sampler = MLSOL(random_state=0, interpolation=interpolation)
    expected = sampler.fit_resample(X, y)
    made = sampler.fit_resample(torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda())
    for ours, theirs in zip(made, expected):
        assert ours.is_cuda
        np.testing.assert_array_equal(ours.cpu().numpy(), theirs)


def test_two_devices_are_refused():
    X, y = map(torch.from_numpy, make_data())
    for pair in ((X.cuda(), y), (X, y.cuda())):
        with pytest.raises(ContainerError, match="tensors on the same device"):
            MLSOL().fit_resample(*pair)


def test_cupy_arrays_come_through_dlpack():
    cupy = pytest.importorskip("cupy")
    X, y = make_data()
    there = cupy.asarray(X), cupy.asarray(y.astype(np.uint8))
    with pytest.raises(ContainerError) as error:
        MLSOL().fit_resample(*there)
    assert "torch.from_dlpack(X)" in error.value.cure
    made, _ = MLSOL(random_state=0).fit_resample(*map(torch.from_dlpack, there))
    expected, _ = MLSOL(random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(cupy.from_dlpack(made).get(), expected)
