"""Effect sizes by their definitions."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from labelance.study.statistics import effect_sizes, signed_rank_sums

TABLES = st.tuples(st.integers(2, 7), st.integers(2, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-3, 3))
)


@pytest.mark.slow
@given(TABLES)
def test_definitions(scores):
    effects, sums = effect_sizes(scores), signed_rank_sums(scores)
    for a, first in enumerate(scores.T):
        for b, second in enumerate(scores.T):
            d = first - second
            walsh = [(x + y) / 2 for x, y in combinations_with_replacement(d, 2)]
            assert effects.mean_difference[a, b] == pytest.approx(d.mean(), abs=1e-10)
            assert effects.hodges_lehmann[a, b] == pytest.approx(np.median(walsh), abs=1e-10)
            share = (np.sum(d > 0) + np.sum(d == 0) / 2) / len(d)
            assert effects.superiority[a, b] == pytest.approx(share)
            if a != b:
                total = sums[a, b] + sums[b, a]
                expected = (sums[a, b] - sums[b, a]) / total
                assert effects.rank_biserial[a, b] == pytest.approx(expected)


@pytest.mark.slow
@given(TABLES, st.sampled_from(["split", "drop"]))
def test_turning_scores_turns_effects(scores, zero):
    effects = effect_sizes(scores, zero=zero)
    turned = effect_sizes(scores, zero=zero, higher_is_better=False)
    for name, matrix in vars(effects).items():
        middle = 0.5 if name == "superiority" else 0
        assert_allclose(matrix - middle, middle - matrix.T, atol=1e-12)
        assert_allclose(getattr(turned, name), matrix.T, atol=1e-12)


def test_one_method_wins_all():
    effects = effect_sizes([[2, 1], [5, 1], [3, 2]])
    assert effects.rank_biserial[0, 1] == effects.superiority[0, 1] == 1
    assert effects.rank_biserial[1, 0] == -1


def test_no_difference_is_no_effect():
    effects = effect_sizes(np.ones((4, 2)), zero="drop")
    assert_allclose(effects.rank_biserial, 0)
    assert_allclose(effects.superiority, 0.5)
