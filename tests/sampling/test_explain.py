"""What a draw did, recounted by hand."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labelance.sampling import MLROS, MLRUS, MLSOL, FunctionSampler, all_samplers
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
    before, after = (each.type_counts.sum(axis=0) for each in (result.before, result.after))
    told = ["SF {}, BD {}, RR {}, OT {}".format(*counts) for counts in (before, after)]
    assert f"types    {told[0]} -> {told[1]}" in text.splitlines()
    json.dumps(result.to_dict())
    frame = result.to_frame()
    assert list(frame["gained"]) == result.gained.tolist()
    assert "SF_after" in frame
    assert "types" not in str(MLSOL(random_state=0).explain(X, Y, n_neighbors=None))


def test_what_deletes_has_no_seeds():
    X, Y = sampler_data(n=80)
    result = MLRUS(random_state=0).explain(X, Y)
    assert result.lost.any()
    assert result.through(0) == {}


def test_types_are_told_only_where_they_were_found():
    X, Y = sampler_data(n=80)
    columns = set(MLSOL(random_state=0).explain(X, Y, n_neighbors=None).to_frame())
    assert not columns & {"SF_before", "SF_after"}
    only_five_left = FunctionSampler(lambda X, y: (X[:5], y[:5])).explain(X, Y)
    columns = set(only_five_left.to_frame())
    assert columns & {"SF_before", "SF_after"} == {"SF_before"}
    assert "types" not in str(only_five_left)


@pytest.mark.parametrize(("n_labels", "last"), [(20, "19"), (22, "… and 2 more labels")])
def test_twenty_labels_are_printed(n_labels, last):
    Y = np.eye(n_labels, dtype=int)[np.arange(60) % n_labels]
    lines = str(MLROS(random_state=0).explain(np.zeros((60, 1)), Y)).splitlines()
    assert lines[-1].startswith(last)
    table = lines[lines.index("") + 1 :][:21]
    assert table[0].split() == ["label", "before", "gained", "lost", "after", "seeds"]
    assert len({len(line) for line in table}) == 1
