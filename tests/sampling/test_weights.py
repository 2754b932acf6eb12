"""Weights against their definitions, and row numbers drawn in proportion to them."""

import sys
from itertools import permutations
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.utils.class_weight import compute_class_weight

from labelance.exceptions import InputError, LabelFormatError, NothingToSampleError
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors
from labelance.sampling import MLSOL, WeightedIndexSampler, label_weights, sample_weights
from labelance.testing import sampler_data

tables = arrays(
    np.int8, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 1)
)


@pytest.mark.slow
@given(tables)
def test_label_weights_are_scikit_learns_balanced_ones(Y):
    weights = label_weights(Y)
    for y, pair in zip(Y.T, weights):
        varies = len(set(y)) == 2
        expected = compute_class_weight("balanced", classes=np.arange(2), y=y) if varies else [1, 1]
        assert_allclose(pair, expected)
        assert_allclose(pair[y].mean(), 1)
    assert_array_equal(label_weights(sp.csr_array(Y)), weights)


@pytest.mark.slow
@given(tables)
def test_positive_weights_balance_the_ones_alone(Y):
    weights = label_weights(Y, kind="positive")
    assert_array_equal(weights[:, 0], 1)
    for y, (_, weight) in zip(Y.T, weights):
        assert_allclose(weight, (len(y) - y.sum()) / y.sum() if 0 < y.sum() < len(y) else 1)


def test_label_weights_refuse_what_they_do_not_know():
    with pytest.raises(InputError, match="kind"):
        label_weights(np.eye(2), kind="other")
    with pytest.raises(LabelFormatError):
        label_weights([0, 1])


@pytest.mark.parametrize("floor", [0, 0.1, 0.6, 1])
def test_sample_weights_are_mlsols(floor):
    X, Y = sampler_data(n=100)
    w = local_distribution(Y, find_neighbors(X, 4, scale="range")).weights
    weights = sample_weights(X, Y, floor=floor, k_neighbors=4, scale="range")
    assert_allclose(weights.mean(), 1)
    assert_allclose(weights.min(), floor)
    assert (weights[w == 0] == floor).all()
    # All that is above the floor is in proportion to w.
    assert_allclose((weights - floor) * w.sum(), (weights - floor).sum() * w, atol=1e-9)


@given(st.integers(0, 1000), st.sampled_from([0, 0.1, 0.6]))
def test_no_label_rarer_than_the_median_weighs_less_than_without_weights(seed, floor):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 2))
    Y = (rng.random((60, 5)) < rng.random(5) * 0.6).astype(int)
    Y[:3], Y[3:6], Y[6:, 0] = 1, 0, 0  # the first is rare: near each other, or not, by chance
    neighbors = find_neighbors(X, 5)
    weights = sample_weights(X, Y, floor=floor, neighborhood=neighbors)
    count = Y.sum(axis=0)
    rare = count < np.median(count[count > 0])
    assert_allclose(weights.mean(), 1)
    assert weights.min() >= floor
    assert all((weights @ Y)[rare] >= count[rare] - 1e-6)
    w = local_distribution(Y, neighbors).weights
    kept = floor + (1 - floor) * w / w.mean()
    if all((kept @ Y)[rare] >= count[rare]):
        assert_allclose(weights, kept)


def test_a_rare_emotion_without_neighbors_of_its_own_is_drawn_as_often_as_in_the_data(data_dir):
    path = data_dir / "street" / "goemotions_minilm.npz"
    if not path.is_file():
        pytest.skip("the data are not there")
    data = np.load(path)
    rows = np.flatnonzero(data["part"] == 0)[:10_000]
    X, Y = data["X_int8"][rows] * data["scale"], data["Y"][rows].astype(int)
    count, drawn = Y.sum(axis=0), sample_weights(X, Y) @ Y
    assert all(drawn[count < np.median(count)] >= count[count < np.median(count)] - 1e-6)
    relief, grief = drawn[count == 25], drawn[count == 24]
    assert relief >= 25  # 6 in proportion to MLSOL's w
    assert grief > 300


def test_sample_weights_take_containers_and_neighborhoods():
    X, Y = sampler_data()
    expected = sample_weights(X, Y)
    assert_allclose(sample_weights(sp.csr_array(X), sp.csr_array(Y)), expected)
    assert_allclose(sample_weights(X, Y, neighborhood=find_neighbors(X, 5)), expected)
    with pytest.raises(InputError, match="neighborhood"):
        sample_weights(X, Y, neighborhood=find_neighbors(X[::-1], 5))


def test_sample_weights_refuse():
    X, Y = sampler_data()
    with pytest.raises(InputError, match="floor"):
        sample_weights(X, Y, floor=2)
    with pytest.raises(ValueError, match="k_neighbors"):
        sample_weights(X, Y, k_neighbors=0)
    Y = np.zeros((60, 2), int)
    Y[0, 0] = Y[30:, 1] = 1
    with pytest.raises(NothingToSampleError):
        sample_weights(np.arange(60.0)[:, None] * (1 + 99 * Y[:, 1:]), Y, k_neighbors=2)


def test_rows_come_in_proportion_to_their_weights():
    weights = np.array([1, 0, 2, 5, 0.5])
    drawn = np.bincount(list(WeightedIndexSampler(weights, 20_000, random_state=0)), minlength=5)
    assert drawn[1] == 0
    heavy = weights > 0
    expected = 20_000 * weights[heavy] / weights.sum()
    assert chisquare(drawn[heavy], expected).pvalue > 1e-4


def test_without_replacement_the_order_is_the_sequential_draw():
    weights = np.array([1.0, 2.0, 3.0])
    sampler = WeightedIndexSampler(weights, replacement=False, random_state=0)
    orders = [tuple(sampler) for _ in range(4000)]
    expected = []
    for order in permutations(range(3)):
        left, chance = weights.sum(), 1.0
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        expected.append(chance * len(orders))
    drawn = [orders.count(order) for order in permutations(range(3))]
    assert chisquare(drawn, expected).pvalue > 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_every_epoch_is_fresh_and_every_seed_repeats_itself(replacement):
    def epochs(seed):
        sampler = WeightedIndexSampler(
            np.arange(50), 40, replacement=replacement, random_state=seed
        )
        assert len(sampler) == 40
        return [list(sampler) for _ in range(3)]

    first = epochs(0)
    assert first == epochs(0)
    assert first != epochs(1)
    assert first[0] != first[1]
    assert all(len(epoch) == 40 and type(epoch[0]) is int for epoch in first)
    if not replacement:
        assert all(len(set(epoch)) == 40 for epoch in first)


def test_one_row_per_weight_unless_told():
    sampler = WeightedIndexSampler([1, 2, 3])
    assert len(sampler) == len(list(sampler)) == 3
    assert repr(sampler) == "<WeightedIndexSampler: 3 of 3 rows, with replacement>"


def test_draws_as_mlsol_draws_its_seeds():
    X, Y = sampler_data()
    sampler = MLSOL(random_state=0)
    sampler.fit_resample(X, Y)
    weights = sample_weights(X, Y, floor=0)
    drawn = list(WeightedIndexSampler(weights, 18, random_state=0))
    assert_array_equal(drawn, sampler.seed_indices_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "shape"),
        (([[1, 2]],), "shape"),
        (([1, -1],), "negative"),
        (([1, np.nan],), "finite"),
        (([0, 0],), "All are 0"),
        (([1, 2], 0), "integer >= 1"),
    ],
)
def test_wrong_weights_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        WeightedIndexSampler(*arguments)


def test_more_rows_than_there_are_cannot_be_drawn_once():
    with pytest.raises(InputError, match="Only 2 rows have a weight"):
        WeightedIndexSampler([1, 0, 2], replacement=False)
    assert len(list(WeightedIndexSampler([1, 0, 2], 2, replacement=False))) == 2
    assert list(WeightedIndexSampler([0, 1], 1)) == [1]


def test_without_torch_the_cure_is_named():
    try:
        import torch  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"labelance\[gpu\]"):
            WeightedIndexSampler([1, 2]).to_torch()


def test_torch_samplers_follow_their_source(monkeypatch):
    # A stand-in for torch, which need not be installed for this.
    data = ModuleType("torch.utils.data")
    data.Sampler = type("Sampler", (), {})
    for name in ("torch", "torch.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "torch.utils.data", data)
    one, two = (WeightedIndexSampler([1, 2, 3], 30, random_state=0) for _ in range(2))
    made = one.to_torch()
    assert isinstance(made, data.Sampler)
    assert len(made) == 30
    assert [list(made), list(made)] == [list(two), list(two)]


def test_in_a_torch_loader():
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    data = TensorDataset(torch.arange(10))
    weights = np.r_[np.zeros(5), np.ones(5)]
    plain = WeightedIndexSampler(weights, 40, random_state=0)
    for sampler in (plain, plain.to_torch()):
        rows = torch.cat([batch for (batch,) in DataLoader(data, batch_size=8, sampler=sampler)])
        assert len(rows) == 40
        assert rows.min() >= 5
    assert isinstance(plain.to_torch(), Sampler)
    assert len(plain.to_torch()) == 40
