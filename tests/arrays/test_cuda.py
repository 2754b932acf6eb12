"""numpy's random numbers, computed by a kernel: in Triton's interpreter where there is no GPU."""

import os

import numpy as np
import pytest

from labelance._arrays import interpolate_rows

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported, by us or by torch
pytest.importorskip("triton")
PLACE = "cuda" if torch.cuda.is_available() else "cpu"


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
