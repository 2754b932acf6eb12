"""Laws about rows: which come first, where new ones lie, how many there are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal

from labelance.exceptions import ConstantLabelWarning
from labelance.sampling import SamplerTraits, rows_to_sample
from labelance.testing._data import sampler_data, seeded
from labelance.testing._law import Law


def check_originals_come_first(sampler: Any, traits: SamplerTraits) -> None:
    """The rows that came in come out first, in order; only editors change their labels."""
    X, Y = sampler_data()
    X_new, Y_new = sampler.fit_resample(X, Y)
    assert len(X_new) == len(Y_new), "X and Y came back with different numbers of rows"
    rows = sampler.sample_indices_ if traits.deletes else np.arange(len(X))
    assert_array_equal(X_new[: len(rows)], X[rows], "the original rows do not come first")
    if not traits.edits:
        assert_array_equal(Y_new[: len(rows)], Y[rows], "labels of original rows changed")


def check_adds_only_if_it_says_so(sampler: Any, traits: SamplerTraits) -> None:
    """A sampler that does not add rows returns at most n, one that does not delete at least n."""
    X, Y = sampler_data()
    n_new = len(sampler.fit_resample(X, Y)[0])
    assert traits.adds or n_new <= len(X), "rows were added, but traits.adds is False"
    assert traits.deletes or n_new >= len(X), "rows are missing, but traits.deletes is False"


def check_sample_indices(sampler: Any, traits: SamplerTraits) -> None:
    """``sample_indices_`` are different row numbers in increasing order."""
    X, Y = sampler_data()
    sampler.fit_resample(X, Y)
    rows = sampler.sample_indices_
    assert (np.diff(rows) > 0).all(), "sample_indices_ are not in increasing order"
    assert len(rows) == 0 or (rows[0] >= 0 and rows[-1] < len(X)), "a row number is outside X"


def check_new_rows_lie_between_parents(sampler: Any, traits: SamplerTraits) -> None:
    """Every synthetic value lies between the seed's and the reference's, feature by feature."""
    X, Y = sampler_data()
    X_new, _ = sampler.fit_resample(X, Y)
    made = X_new[len(X) :]
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    assert len(made) == len(seeds) == len(references), "not every new row has two parents"
    assert len(made) > 0, "nothing was made"
    low, high = np.minimum(seeds, references), np.maximum(seeds, references)
    assert ((made >= low) & (made <= high)).all(), "a value lies outside its parents'"


def check_new_rows_are_clones(sampler: Any, traits: SamplerTraits) -> None:
    """The features of every added row are those of an original row."""
    X, Y = sampler_data()
    X_new, _ = sampler.fit_resample(X, Y)
    originals = {row.tobytes() for row in X}
    assert all(row.tobytes() in originals for row in X_new[len(X) :]), "a new row is no copy"


def check_budget_is_met(sampler: Any, traits: SamplerTraits) -> None:
    """``sampling_ratio`` of n rows, rounded down, are added or deleted; no more, no fewer."""
    X, Y = sampler_data()
    for ratio in (0.29, 0.5):
        X_new, _ = sampler.set_params(sampling_ratio=ratio).fit_resample(X, Y)
        change = abs(len(X_new) - len(X))
        asked = rows_to_sample(len(X), ratio)
        assert change == asked, f"{asked} rows were asked for, {change} came"


def check_labels_stay_zero_or_one(sampler: Any, traits: SamplerTraits) -> None:
    """Labels that come back are 0 or 1, and there are as many of them as before."""
    X, Y = sampler_data()
    Y_new = sampler.fit_resample(X, Y)[1]
    assert Y_new.shape[1] == Y.shape[1], "the number of labels changed"
    assert np.isin(Y_new, (0, 1)).all(), "a label is neither 0 nor 1"


def check_label_order_does_not_matter(sampler: Any, traits: SamplerTraits) -> None:
    """Permuting the columns of Y permutes the columns of the result and nothing else."""
    X, Y = sampler_data()
    order = np.random.default_rng(1).permutation(Y.shape[1])
    seeded(sampler)
    X_one, Y_one = sampler.fit_resample(X, Y)
    X_two, Y_two = sampler.fit_resample(X, Y[:, order])
    assert_array_equal(X_one, X_two, "the order of the labels changed X")
    assert_array_equal(Y_one[:, order], Y_two, "the order of the labels changed Y")


def check_constant_labels_stay_constant(sampler: Any, traits: SamplerTraits) -> None:
    """A label present in no row, or in all, stays so, and is reported by a named warning."""
    X, Y = sampler_data()
    Y[:, 0], Y[:, 1] = 0, 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Y_new = sampler.fit_resample(X, Y)[1]
    assert (Y_new[:, 0] == 0).all(), "a label that never occurred was invented"
    assert traits.edits or (Y_new[:, 1] == 1).all(), "a label that every row has was lost"
    reported = any(issubclass(w.category, ConstantLabelWarning) for w in caught)
    assert reported, "constant labels were not reported"


def check_input_is_not_changed(sampler: Any, traits: SamplerTraits) -> None:
    """X and Y are as before afterwards, and the result shares no memory with them."""
    X, Y = sampler_data()
    X_before, Y_before = X.copy(), Y.copy()
    X_new, Y_new = sampler.fit_resample(X, Y)
    X_new[:], Y_new[:] = -1, 0
    assert_array_equal(X, X_before, "X was changed")
    assert_array_equal(Y, Y_before, "Y was changed")


LAWS = (
    Law(check_originals_come_first),
    Law(check_adds_only_if_it_says_so),
    Law(check_sample_indices, lambda traits: traits.deletes),
    Law(check_new_rows_lie_between_parents, lambda traits: traits.interpolates),
    Law(check_new_rows_are_clones, lambda traits: traits.clones),
    Law(check_budget_is_met, lambda traits: traits.exact_budget),
    Law(check_labels_stay_zero_or_one),
    Law(check_label_order_does_not_matter, lambda traits: traits.label_order_free),
    Law(check_constant_labels_stay_constant),
    Law(check_input_is_not_changed),
)
