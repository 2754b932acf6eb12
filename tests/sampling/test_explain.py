"""What a draw did, recounted by hand."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labelance.sampling import MLSOL, all_samplers
from labelance.testing import sampler_data


@pytest.mark.parametrize("kind", all_samplers().values(), ids=all_samplers())
def test_gains_and_losses_balance(kind):
    X, Y = sampler_data(n=80)
    result = kind().explain(X, Y)
    assert_array_equal(
        result.before.label_counts + result.gained - result.lost, result.after.label_counts
    )
    traits = kind().traits
    assert traits.adds or not result.gained.any()
    assert traits.deletes or traits.edits or not result.lost.any()


def test_seeds_are_those_of_the_draw():
    X, Y = sampler_data(n=80)
    sampler = MLSOL(random_state=0)
    Y_new = sampler.fit_resample(X, Y)[1][len(X) :]
    result = sampler.explain(X, Y)
    for label in range(Y.shape[1]):
        seeds = sampler.seed_indices_[Y_new[:, label] == 1]
        rows, counts = np.unique(seeds, return_counts=True)
        assert result.through(label) == dict(zip(rows.tolist(), counts.tolist()))
    counts = list(result.through(0).values())
    assert counts == sorted(counts, reverse=True)


def test_it_prints_and_travels():
    X, Y = sampler_data(n=80)
    result = MLSOL(random_state=0).explain(X, Y)
    text = str(result)
    assert "MeanIR" in text
    assert "SCUMBLE" in text
    assert "types" in text
    json.dumps(result.to_dict())
    frame = result.to_frame()
    assert list(frame["gained"]) == result.gained.tolist()
    assert "SF_after" in frame
    assert "types" not in str(MLSOL(random_state=0).explain(X, Y, k=None))
