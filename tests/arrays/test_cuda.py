"""What only a GPU shows: its kernels, its labels, other devices, arrays of other libraries.

The kernel of numpy's random numbers runs in Triton's interpreter where there is no GPU.
"""

import os

import numpy as np
import pytest

from labelance._arrays._interpolate import interpolate_rows
from labelance.exceptions import ContainerError
from labelance.sampling import MLSOL

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported, by us or by torch
pytest.importorskip("triton")
PLACE = "cuda" if torch.cuda.is_available() else "cpu"
needs_gpu = pytest.mark.skipif(PLACE == "cpu", reason="there is no GPU")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_rows_are_those_of_arrays_and_the_generator_goes_on(dtype):
    from labelance._arrays._cuda import interpolate_features

    X = np.random.default_rng(0).normal(size=(40, 9)).astype(dtype)
    X[:, ::3] = np.rint(X[:, ::3])  # features in which two rows may not differ
    seeds, references = np.random.default_rng(1).integers(40, size=(2, 25))
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    for rng in (ours, theirs):
        rng.integers(7, size=3)  # leaves half of a number behind
    there = (torch.from_numpy(array).to(PLACE) for array in (X, seeds, references))
    made = interpolate_features(*there, ours)
    known = interpolate_rows(X, seeds, references, np.zeros(9, dtype=bool), theirs)
    np.testing.assert_array_equal(made.cpu().numpy(), known)
    assert ours.bit_generator.state == theirs.bit_generator.state


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 9)).astype(np.float32)
    return X, rng.random((400, 40)) < np.linspace(0.02, 0.8, 40)


@needs_gpu
@pytest.mark.parametrize("interpolation", ["feature", "line"])
def test_mlsol_makes_the_rows_of_arrays(interpolation):
    X, y = make_data()
    sampler = MLSOL(random_state=0, interpolation=interpolation)
    expected = sampler.fit_resample(X, y)
    made = sampler.fit_resample(torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda())
    for ours, theirs in zip(made, expected):
        assert ours.is_cuda
        np.testing.assert_array_equal(ours.cpu().numpy(), theirs)


@needs_gpu
def test_two_devices_are_refused():
    X, y = map(torch.from_numpy, make_data())
    for pair in ((X.cuda(), y), (X, y.cuda())):
        with pytest.raises(ContainerError, match="tensors on the same device"):
            MLSOL().fit_resample(*pair)


@needs_gpu
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
