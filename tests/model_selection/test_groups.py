"""Groups stay together, and their deal is no worse than the best of a hundred random ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelance.datasets import load_dataset
from labelance.model_selection import (
    IterativeStratifiedGroupKFold,
    examples_distribution,
    label_distribution,
    label_pair_distribution,
)
from labelance.model_selection._stratify import (
    WORK,
    assign,
    label_incidence,
    local_search,
    search_objective,
)


def correlated_groups(rng, n, n_groups, n_folds_worth_of_labels=8):
    """Rows of a group share their taste for labels, as patients and authors do."""
    q = n_folds_worth_of_labels
    group = np.sort(rng.choice(n_groups, size=n, p=rng.dirichlet(np.ones(n_groups))))
    taste = np.clip(rng.beta(0.5, 3, size=(n_groups, q)) + 0.02, 0, 0.9)
    return (rng.random((n, q)) < taste[group]).astype(int), group


def folds_of(cv, Y, group):
    return [test for _, test in cv.split(Y, Y, group)]


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n_groups=st.integers(2, 12),
    n_folds=st.integers(2, 4),
    order=st.sampled_from([1, 2]),
)
def test_no_group_is_in_two_folds_and_no_fold_is_empty(seed, n_groups, n_folds, order):
    rng = np.random.default_rng(seed)
    group = np.r_[np.arange(n_groups), rng.integers(0, n_groups, size=20)]
    Y = (rng.random((len(group), 4)) < 0.3).astype(int)
    cv = IterativeStratifiedGroupKFold(min(n_folds, n_groups), order=order, random_state=seed)
    tests = folds_of(cv, Y, group)
    assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(len(group)))
    assert all(len(test) for test in tests)
    groups = [set(group[test]) for test in tests]
    assert sum(map(len, groups)) == n_groups


@pytest.mark.slow
@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.parametrize("n_groups", [8, 15, 40, 150])
def test_labels_are_no_worse_than_in_the_best_of_100_random_deals(n_folds, n_groups):
    rng = np.random.default_rng(100 * n_folds + n_groups)
    Y, group = correlated_groups(rng, 600, n_groups)
    _, group = np.unique(group, return_inverse=True)
    ours = folds_of(IterativeStratifiedGroupKFold(n_folds, random_state=0), Y, group)
    random_deals = rng.integers(0, n_folds, size=(100, group.max() + 1))[:, group]
    full = [deal for deal in random_deals if len(np.unique(deal)) == n_folds]
    best = min(label_distribution(Y, deal) for deal in full)
    assert label_distribution(Y, ours) <= best + 1e-12


@pytest.mark.data
@pytest.mark.parametrize("name", ["verbframes", "emotions", "yeast", "enron"])
def test_the_same_on_real_labels_in_groups_of_ten_neighbors(name, data_dir):
    Y = load_dataset(name).Y
    group = np.arange(Y.shape[0]) // 10
    ours = folds_of(IterativeStratifiedGroupKFold(5, random_state=0), Y, group)
    rng = np.random.default_rng(0)
    random_deals = rng.integers(0, 5, size=(100, group.max() + 1))[:, group]
    assert label_distribution(Y, ours) < 0.5 * min(label_distribution(Y, d) for d in random_deals)


def test_many_small_groups_also_keep_the_sizes():
    rng = np.random.default_rng(0)
    Y, group = correlated_groups(rng, 1000, 200)
    tests = folds_of(IterativeStratifiedGroupKFold(5, random_state=0), Y, group)
    assert examples_distribution(tests) < 0.05 * 200


def test_second_order_looks_at_pairs():
    rng = np.random.default_rng(1)
    Y, group = correlated_groups(rng, 800, 100)
    first, second = (
        folds_of(IterativeStratifiedGroupKFold(4, order=order, random_state=0), Y, group)
        for order in (1, 2)
    )
    assert label_pair_distribution(Y, second) < label_pair_distribution(Y, first)


def test_rows_that_are_alone_are_dealt_like_rows():
    rng = np.random.default_rng(2)
    Y = csr_array((rng.random((60, 5)) < 0.3).astype(np.int8))
    draws, weights = rng.random(60), np.ones(4, dtype=np.int64)
    for order in (1, 2):
        alone = label_incidence(Y, order=order, group_of=np.arange(60))
        assert np.array_equal(
            assign(alone, weights, draws), assign(label_incidence(Y, order=order), weights, draws)
        )


def test_the_group_with_most_of_a_label_is_dealt_first():
    # Three, two, one copies: most first gives 3 against 2 + 1; in row order 1 + 3 against 2.
    Y = csr_array(np.ones((6, 1), dtype=np.int8))
    incidence = label_incidence(Y, group_of=np.array([0, 1, 1, 1, 2, 2]))
    assert assign(incidence, np.ones(2, dtype=np.int64), np.zeros(3)).tolist() == [1, 0, 1]


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_local_search_never_makes_an_assignment_worse(seed):
    rng = np.random.default_rng(seed)
    Y, group = correlated_groups(rng, 60, 12, 4)
    _, group = np.unique(group, return_inverse=True)
    incidence = label_incidence(csr_array(Y.astype(np.int8)), group_of=group)
    objective = search_objective(incidence, 3)._replace(size_cost=0.01)
    start = rng.integers(0, 3, size=group.max() + 1)
    _, before, _ = local_search(incidence, start, 3, objective, 0)
    improved, after, _ = local_search(incidence, start, 3, objective, WORK)
    _, measured, _ = local_search(incidence, improved, 3, objective, 0)
    assert after <= before
    assert after == pytest.approx(measured, rel=1e-12)


def test_groups_may_be_words_and_their_names_only_set_the_order():
    rng = np.random.default_rng(3)
    Y, group = correlated_groups(rng, 300, 30)
    words = np.array([f"patient {g:03}" for g in group])
    cv = IterativeStratifiedGroupKFold(3, random_state=0)
    for one, other in zip(folds_of(cv, Y, group), folds_of(cv, Y, words), strict=True):
        assert np.array_equal(one, other)
