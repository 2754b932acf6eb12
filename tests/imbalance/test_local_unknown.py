"""C, types, weights and synthetic labels where some labels are unknown, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelance.imbalance import LabelType, local_distribution
from labelance.neighbors import find_neighbors
from labelance.sampling import MLSOL
from labelance.sampling._mlsol import THETA, assign_labels


def make(seed, q, share):
    rng = np.random.default_rng(seed)
    y = (rng.random((30, q)) < rng.random(q)).astype(float)
    y[rng.random(y.shape) < share] = np.nan
    return rng.random((30, 2)), y, rng


def type_of(opposite, known):
    if 10 * opposite < 3 * known:
        return LabelType.SAFE
    if 10 * opposite < 7 * known:
        return LabelType.BORDERLINE
    return LabelType.RARE if opposite < known else LabelType.OUTLIER


def measure_slowly(y, near, variant):
    """Return C and types of all cells, nan and 0 where a cell has none, and the rarer values."""
    n, q = y.shape
    C, T, minority = np.full((n, q), np.nan), np.zeros((n, q), dtype=int), np.zeros(q)
    for j in range(q):
        known_rows = [i for i in range(n) if not np.isnan(y[i, j])]
        ones = sum(y[i, j] for i in known_rows)
        minority[j] = 1 if 2 * ones <= len(known_rows) else 0
        for i in known_rows:
            known = [v for v in near[i] if not np.isnan(y[v, j])]
            if y[i, j] == minority[j] and len(known) >= min(2, near.shape[1]):
                opposite = sum(y[v, j] != y[i, j] for v in known)
                C[i, j], T[i, j] = opposite / len(known), type_of(opposite, len(known))
    good = (LabelType.SAFE,) if variant == "mulan" else (LabelType.SAFE, LabelType.BORDERLINE)
    changed = True
    while changed:
        before = T.copy()
        for i, j in zip(*np.nonzero(before == LabelType.RARE)):
            if any(before[v, j] in good for v in near[i]):
                T[i, j] = LabelType.BORDERLINE
        changed = variant == "paper" and not np.array_equal(T, before)
    return C, T, minority


def label_slowly(y, T, minority, s, r, cd):
    """Return the labels of a synthetic row; nan where neither parent decides."""
    out = np.empty(y.shape[1])
    for j in range(y.shape[1]):
        typed_s, typed_r = T[s, j] > 0, T[r, j] > 0
        from_s = typed_s and (typed_r or cd <= THETA[T[s, j]])
        from_r = typed_r and (typed_s or 1 - cd <= THETA[T[r, j]])
        is_majority = [y[i, j] == 1 - minority[j] for i in (s, r)]
        if from_s or from_r:
            out[j] = minority[j]
        elif all(typed or major for typed, major in zip((typed_s, typed_r), is_majority)):
            out[j] = 1 - minority[j]
        else:
            out[j] = np.nan
    return out


HOLES = given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 7),
    st.sampled_from([0.1, 0.3, 0.6]),
)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper", "mulan"])
@HOLES
def test_the_loop_has_the_same_cells(variant, seed, q, k, share):
    X, y, _ = make(seed, q, share)
    around = find_neighbors(X, k)
    local = local_distribution(y, around, variant=variant)
    C, T, minority = measure_slowly(y, around.indices, variant)
    stored = local.minority.toarray() == 1
    assert_array_equal(stored, T > 0)
    assert_array_equal(local.C.toarray()[stored], C[stored])
    assert_array_equal(local.types.toarray(), T)
    assert_array_equal(local.minority_value[(T > 0).any(axis=0)], minority[(T > 0).any(axis=0)])
    usable = np.where((T > 0) & (C < 1), C, 0)
    total = usable.sum(axis=0)
    w = np.divide(usable, total, out=np.zeros_like(usable), where=total > 0).sum(axis=1)
    assert_allclose(local.weights, w, atol=1e-12)


@pytest.mark.slow
@HOLES
def test_synthetic_labels_equal_the_loop(seed, q, k, share):
    X, y, rng = make(seed, q, share)
    around = find_neighbors(X, k)
    local = local_distribution(y, around)
    s, r = rng.integers(30, size=(2, 40))
    cd = rng.choice([0, 0.25, 0.5, 0.75, 1, rng.random()], size=40)
    Y, unknown = assign_labels(local, s, r, cd)
    if unknown is None:
        assert not np.isnan(y).any()
        return
    found = np.where(unknown.toarray() == 1, np.nan, Y.toarray())
    _, T, _ = measure_slowly(y, around.indices, "paper")
    slow = [label_slowly(y, T, local.minority_value, *parents) for parents in zip(s, r, cd)]
    assert_array_equal(found, slow)


def test_original_rows_keep_their_holes_and_new_rows_have_their_own():
    X, y, _ = make(1, 4, 0.3)
    sampler = MLSOL(n_synthetic=50, random_state=0)
    _, y_new = sampler.fit_resample(X, y)
    assert_array_equal(y_new[:30], y)
    assert np.isnan(y_new[30:]).any()
    # A label that both parents know, with types or as the majority, is known.
    both = ~np.isnan(y[sampler.seed_indices_]) & ~np.isnan(y[sampler.reference_indices_])
    same = both & (y[sampler.seed_indices_] == y[sampler.reference_indices_])
    known = ~np.isnan(y_new[30:])
    assert_array_equal(y_new[30:][same & known], y[sampler.seed_indices_][same & known])
