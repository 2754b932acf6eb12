"""The splitters as scikit-learn uses them, in every container, and their messages."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelance.exceptions import (
    InputError,
    LabelanceWarning,
    LabelFormatError,
    TooFewRowsError,
)
from labelance.model_selection import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    RepeatedIterativeStratifiedKFold,
    label_distribution,
    label_pair_distribution,
)

SPLITTERS = [
    IterativeStratifiedKFold(3, random_state=0),
    IterativeStratifiedKFold(3, order=2, shuffle=True, random_state=0),
    RepeatedIterativeStratifiedKFold(3, 2, random_state=0),
    IterativeStratifiedShuffleSplit(4, test_size=0.3, random_state=0),
    IterativeStratifiedGroupKFold(3, random_state=0),
]
KINDS = {
    "lists": lambda Y: Y.tolist(),
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(float),
    "fortran": np.asfortranarray,
    "csr_array": csr_array,
    "csr_matrix": csr_matrix,
    "coo_matrix": coo_matrix,
    "pandas": lambda Y: pd.DataFrame(Y, index=np.arange(len(Y))[::-1]),
    "polars": lambda Y: pl.DataFrame(Y, schema=[f"y{j}" for j in range(Y.shape[1])]),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4))
    Y = (X @ rng.normal(size=(4, 6)) + rng.normal(size=(90, 6)) > [0, 0.5, 1, 2, 3, 3.5]).astype(
        int
    )
    return X, Y, rng.integers(0, 15, size=90)


def split(cv, X, Y, groups):
    takes_groups = isinstance(cv, IterativeStratifiedGroupKFold)
    return list(cv.split(X, Y, groups) if takes_groups else cv.split(X, Y))


def same_splits(one, other):
    return all(np.array_equal(a, b) for p, r in zip(one, other, strict=True) for a, b in zip(p, r))


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_splits_are_sorted_disjoint_and_as_many_as_announced(cv, data):
    X, Y, groups = data
    splits = split(cv, X, Y, groups)
    assert len(splits) == cv.get_n_splits(X, Y, groups) == cv.get_n_splits()
    for train, test in splits:
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        assert np.array_equal(np.union1d(train, test), np.arange(len(Y)))
        assert len(train) + len(test) == len(Y)


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_every_container_gives_the_same_splits(cv, data, case):
    for kind in KINDS:
        with case(kind):
            X, Y, groups = data
            assert same_splits(split(cv, X, KINDS[kind](Y), groups), split(cv, X, Y, groups))


@pytest.mark.parametrize("cv", SPLITTERS, ids=repr)
def test_an_int_gives_the_same_splits_again(cv, data):
    assert same_splits(split(cv, *data), split(cv, *data))


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_moves_on(kind, data):
    X, Y, _ = data
    cv = IterativeStratifiedKFold(3, shuffle=True, random_state=kind(0))
    again = IterativeStratifiedKFold(3, shuffle=True, random_state=kind(0))
    first = list(cv.split(X, Y))
    assert same_splits(first, list(again.split(X, Y)))
    assert not same_splits(first, list(cv.split(X, Y)))


@pytest.mark.parametrize("seed", [0, 7, np.int64(3)])
def test_repetition_t_has_seed_s_plus_t(seed, data):
    X, Y, _ = data
    repeated = list(RepeatedIterativeStratifiedKFold(2, 5, random_state=seed).split(X, Y))
    for t in range(5):
        alone = IterativeStratifiedKFold(2, random_state=seed + t).split(X, Y)
        assert same_splits(repeated[2 * t : 2 * t + 2], list(alone))


def test_repetitions_differ_also_with_a_generator(data):
    X, Y, _ = data
    cv = RepeatedIterativeStratifiedKFold(2, 3, random_state=np.random.default_rng(0))
    tests = [tuple(test) for _, test in cv.split(X, Y)]
    assert len(set(tests)) == 6


def test_shuffle_changes_the_folds_and_keeps_their_quality(data):
    X, Y, _ = data
    still = list(IterativeStratifiedKFold(3, random_state=0).split(X, Y))
    mixed = list(IterativeStratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
    assert not same_splits(still, mixed)
    assert label_distribution(Y, mixed) < 2 * label_distribution(Y, still) + 0.05


def test_stratified_folds_are_better_than_random_ones_and_order_2_is_for_pairs():
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 8, size=1200)
    Y = (rng.random((1200, 12)) < np.where(rng.random((8, 12)) < 0.2, 0.6, 0.02)[topic]).astype(int)
    chance = rng.permutation(1200) % 5
    first, second = (
        list(IterativeStratifiedKFold(5, order=order, random_state=0).split(Y, Y))
        for order in (1, 2)
    )
    assert label_distribution(Y, first) < 0.2 * label_distribution(Y, chance)
    assert label_pair_distribution(Y, second) < label_pair_distribution(Y, first)


@pytest.mark.slow
def test_cross_validation_and_grid_search_take_the_splitters(data):
    X, Y, groups = data
    knn = make_pipeline(StandardScaler(), KNeighborsClassifier())
    for cv in SPLITTERS:
        fits = cross_validate(knn, X, Y, cv=cv, groups=_groups_for(cv, groups))
        assert len(fits["test_score"]) == cv.get_n_splits()
        assert np.isfinite(fits["test_score"]).all()
    search = GridSearchCV(knn, {"kneighborsclassifier__n_neighbors": [1, 5]}, cv=SPLITTERS[0])
    assert search.fit(X, Y).n_splits_ == 3


def _groups_for(cv, groups):
    return groups if isinstance(cv, IterativeStratifiedGroupKFold) else None


@pytest.mark.slow
def test_metadata_routing_brings_groups_to_the_splitter_that_wants_them(data):
    X, Y, groups = data
    with sklearn.config_context(enable_metadata_routing=True):
        for cv in SPLITTERS:
            wanted = isinstance(cv, IterativeStratifiedGroupKFold)
            params = {"groups": groups} if wanted else {}
            fits = cross_validate(KNeighborsClassifier(), X, Y, cv=cv, params=params)
            assert len(fits["test_score"]) == cv.get_n_splits()


@pytest.mark.slow
def test_sparse_labels_and_frames_go_through_cross_validation(data):
    X, Y, _ = data
    cv = IterativeStratifiedKFold(3, random_state=0)
    plain = cross_validate(KNeighborsClassifier(), X, Y, cv=cv)["test_score"]
    frames = cross_validate(KNeighborsClassifier(), pd.DataFrame(X), pd.DataFrame(Y), cv=cv)
    np.testing.assert_array_equal(plain, frames["test_score"])


def test_repr_names_the_parameters():
    assert repr(IterativeStratifiedKFold(3, order=2, random_state=1)) == (
        "IterativeStratifiedKFold(n_splits=3, order=2, random_state=1, shuffle=False)"
    )
    assert "test_size=0.3" in repr(IterativeStratifiedShuffleSplit(test_size=0.3))


def test_shuffle_split_may_leave_rows_out(data):
    X, Y, _ = data
    cv = IterativeStratifiedShuffleSplit(3, test_size=30, train_size=0.5, random_state=0)
    for train, test in cv.split(X, Y):
        assert len(np.intersect1d(train, test)) == 0
        assert abs(len(train) - 45) <= 4
        assert abs(len(test) - 30) <= 4


def test_groups_that_are_ignored_are_named(data):
    X, Y, groups = data
    with pytest.warns(LabelanceWarning, match="IterativeStratifiedGroupKFold keeps"):
        IterativeStratifiedKFold(3).split(X, Y, groups)


Z = np.eye(4, dtype=int)
BAD = [
    (IterativeStratifiedKFold(5), Z, None, TooFewRowsError, "only 4 rows"),
    (IterativeStratifiedKFold(1), Z, None, InputError, "must be an integer >= 2. Got 1"),
    (IterativeStratifiedKFold(2.5), Z, None, InputError, "Got 2.5."),
    (IterativeStratifiedKFold(2, order=3), Z, None, InputError, "Got 3"),
    (IterativeStratifiedKFold(2), Z[:, 0], None, LabelFormatError, "one dimension"),
    (IterativeStratifiedKFold(2), None, None, LabelFormatError, "y is None"),
    (IterativeStratifiedKFold(2), 2 * Z, None, LabelFormatError, "y also holds 2"),
    (RepeatedIterativeStratifiedKFold(2, 0), Z, None, InputError, "Got 0"),
    (IterativeStratifiedShuffleSplit(0), Z, None, InputError, "Got 0"),
    (IterativeStratifiedShuffleSplit(test_size=1.5), Z, None, InputError, "Got 1.5."),
    (IterativeStratifiedShuffleSplit(test_size=4), Z, None, InputError, "Got 4."),
    (IterativeStratifiedShuffleSplit(test_size="x"), Z, None, InputError, "Got 'x'."),
    (
        IterativeStratifiedShuffleSplit(test_size=0.6, train_size=0.6),
        Z, None, InputError, "Got train_size=0.6 and test_size=0.6",
    ),
    (IterativeStratifiedShuffleSplit(test_size=0.01), Z, None, TooFewRowsError, "Part 2 got none"),
    (IterativeStratifiedGroupKFold(2), Z, None, InputError, "groups is None. Pass groups"),
    (IterativeStratifiedGroupKFold(3), Z, [0, 0, 1, 1], TooFewRowsError, "only 2 groups"),
    (IterativeStratifiedGroupKFold(2), Z, np.zeros((4, 2)), InputError, "shape (4, 2)"),
    (IterativeStratifiedGroupKFold(2), Z, [0, 1, 2, np.nan], InputError, "Some groups are missing"),
    (
        IterativeStratifiedGroupKFold(2),
        Z, np.array(["a", "b", None, "a"]), InputError, "numbers are mixed with strings",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("cv", "Y", "groups", "error", "words"), BAD)
def test_bad_input_is_refused(cv, Y, groups, error, words):
    with pytest.raises(error, match=re.escape(words)) as caught:
        list(cv.split(np.zeros((4, 1)), Y, groups))
    assert caught.value.problem
    assert caught.value.found
