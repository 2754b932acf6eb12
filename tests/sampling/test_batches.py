"""Batches in which rare labels take turns: what the docstring promises, on any labels."""

from collections import Counter

import numpy as np
import pytest

from labelance.exceptions import InputError
from labelance.sampling import RareLabelBatchSampler

rng = np.random.default_rng(0)
Y = (rng.random((203, 7)) < [0.5, 0.4, 0.3, 0.06, 0.04, 0.02, 0]).astype(float)
UNKNOWN = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)


@pytest.mark.parametrize("y", [Y, UNKNOWN], ids=["known", "unknown"])
@pytest.mark.parametrize(("size", "n_rare"), [(16, 4), (10, 7), (64, 1), (400, 30)])
def test_an_epoch_keeps_what_is_promised(y, size, n_rare):
    sampler = RareLabelBatchSampler(y, size, n_rare=n_rare, random_state=0)
    n_labels = len(sampler.labels)
    for _ in range(2):
        batches = list(sampler)
        assert len(batches) == len(sampler)
        assert {len(batch) for batch in batches[:-1]} <= {size}
        assert n_rare < len(batches[-1]) <= size
        once = [row for batch in batches for row in batch[:-n_rare]]
        assert sorted(once) == list(range(len(y)))
        drawn = [row for batch in batches for row in batch[-n_rare:]]
        for place, label in enumerate(sampler.labels):
            turns = drawn[place::n_labels]
            rows = np.flatnonzero(y[:, label] == 1)
            for begin in range(0, len(turns), len(rows)):  # pass after pass
                one = turns[begin : begin + len(rows)]
                assert len({*one}) == len(one)
                assert {*one} <= {*rows}
            for batch in batches:
                assert (y[batch, label] == 1).sum() >= n_rare // n_labels


def test_the_rarer_half_takes_turns_unless_labels_are_given():
    assert RareLabelBatchSampler(Y, 16).labels.tolist() == [3, 4, 5]  # the last one has no row
    assert RareLabelBatchSampler(Y, 16, labels=[1, 6]).labels.tolist() == [1]
    assert RareLabelBatchSampler(np.eye(6), 3).labels.tolist() == [*range(6)]


def test_a_seed_gives_the_same_epochs_different_from_each_other():
    one, two = (RareLabelBatchSampler(Y, 16, random_state=3) for _ in range(2))
    epochs = [list(one), list(one)]
    assert epochs == [list(two), list(two)]
    assert epochs[0] != epochs[1]


def test_rows_of_a_label_come_in_random_order():
    y = np.arange(40)[:, None] < [40, 3]
    sampler = RareLabelBatchSampler(y, 2, n_rare=1, labels=[1], random_state=0)
    drawn = [batch[-1] for batch in sampler][:39]
    orders = Counter(tuple(drawn[k : k + 3]) for k in range(0, 39, 3))
    assert len(orders) > 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n_rare": 16}, "n_rare must be below batch_size. Got 16 of 16 rows"),
        ({"n_rare": 0}, "n_rare of RareLabelBatchSampler must be an integer"),
        ({"labels": [6]}, "No row has one of the rare labels"),
    ],
)
def test_wrong_parameters_are_named(options, problem):
    with pytest.raises(InputError, match=problem):
        RareLabelBatchSampler(Y, 16, **options)


def test_in_a_torch_loader():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(len(Y)))
    one, two = (RareLabelBatchSampler(Y, 16, random_state=0) for _ in range(2))
    loader = torch.utils.data.DataLoader(data, batch_sampler=one)
    assert [rows.tolist() for (rows,) in loader] == list(two)
    assert len(loader) == len(two)
