"""The paper's Figure 1: the same imbalance, and very different neighborhoods."""

import numpy as np
import pytest

from labelance.datasets import make_figure1
from labelance.exceptions import InputError
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors


@pytest.mark.parametrize("n_samples", [10, 57, 300])
def test_both_variants_have_the_same_label_combinations(n_samples: int) -> None:
    found = [
        np.unique(
            make_figure1(v, n_samples=n_samples, random_state=0)[1], axis=0, return_counts=True
        )
        for v in ("a", "b")
    ]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert len(found[0][0]) == 5
    assert found[0][1].sum() == n_samples


@pytest.mark.parametrize("seed", range(3))
def test_minority_cells_are_safe_in_a_and_mostly_not_in_b(seed: int) -> None:
    safe = {}
    for variant in ("a", "b"):
        X, Y = make_figure1(variant, random_state=seed)
        counts = local_distribution(Y, find_neighbors(X, n_neighbors=5)).type_counts.sum(axis=0)
        safe[variant] = counts[0] / counts.sum()
    assert safe["a"] > 0.95
    assert safe["b"] < 0.5


def test_the_seed_fixes_the_points() -> None:
    for first, second in zip(make_figure1("b", random_state=3), make_figure1("b", random_state=3)):
        np.testing.assert_array_equal(first, second)


def test_unknown_variants_and_tiny_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="Got 'c'"):
        make_figure1("c")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Got 9"):
        make_figure1(n_samples=9)
