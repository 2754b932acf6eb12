"""Laws of samplers: rows (which come first, where new ones lie), chance, and bad input.

The same seed gives the same rows, whatever the threads and blocks; bad input gives a named error
in three parts, before any work.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone

from labelance.exceptions import (
    ConstantLabelWarning,
    InputError,
    LabelanceError,
    LabelFormatError,
    MissingValuesError,
    TooFewRowsError,
)
from labelance.sampling import SamplerTraits
from labelance.sampling._strategy import rows_to_sample
from labelance.testing._data import sampler_data, seeded


def _everyone(traits: SamplerTraits) -> bool:
    return True


@dataclass(frozen=True)
class Law:
    """A statement that every sampler with certain traits must satisfy."""

    check: Callable[[Any, SamplerTraits], None]
    applies: Callable[[SamplerTraits], bool] = _everyone

    @property
    def name(self) -> str:
        """The name of the check without its prefix."""
        return self.check.__name__.removeprefix("check_")


def check_originals_come_first(sampler: Any, traits: SamplerTraits) -> None:
    """Check that input rows come out first, in order; only editors change their labels."""
    X, Y = sampler_data()
    X_new, Y_new = sampler.fit_resample(X, Y)
    assert len(X_new) == len(Y_new), "X and Y have different numbers of rows"
    rows = sampler.sample_indices_ if traits.deletes else np.arange(len(X))
    assert_array_equal(X_new[: len(rows)], X[rows], "the original rows do not come first")
    if not traits.edits:
        assert_array_equal(Y_new[: len(rows)], Y[rows], "labels of original rows changed")


def check_adds_only_if_it_says_so(sampler: Any, traits: SamplerTraits) -> None:
    """Check the number of rows: at most n without adding, at least n without deleting."""
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
    synthetic = X_new[len(X) :]
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    assert len(synthetic) == len(seeds) == len(references), "not every new row has two parents"
    assert len(synthetic) > 0, "nothing was made"
    assert_between(synthetic, seeds, references)


def assert_between(rows: np.ndarray, seeds: np.ndarray, references: np.ndarray) -> None:
    """Raise unless every value lies between those of the row's two parents."""
    low, high = np.minimum(seeds, references), np.maximum(seeds, references)
    assert ((rows >= low) & (rows <= high)).all(), "a value lies outside its parents'"


def check_new_rows_are_clones(sampler: Any, traits: SamplerTraits) -> None:
    """Check that the features of every added row are those of an original row."""
    X, Y = sampler_data()
    X_new, _ = sampler.fit_resample(X, Y)
    originals = {row.tobytes() for row in X}
    assert all(row.tobytes() in originals for row in X_new[len(X) :]), "a new row is no copy"


def check_new_rows_are_made_for_a_label(sampler: Any, traits: SamplerTraits) -> None:
    """``label_indices_`` names a label for every added row, which all made for it agree on."""
    X, Y = sampler_data()
    _, Y_new = sampler.fit_resample(X, Y)
    made_for, added = sampler.label_indices_, Y_new[len(Y) :]
    assert len(made_for) == len(added), "label_indices_ has not one entry for every added row"
    for label in np.unique(made_for):
        values = np.unique(added[made_for == label, label])
        assert len(values) == 1, f"rows made for label {label} do not agree on it"


def check_labels_are_inherited(sampler: Any, traits: SamplerTraits) -> None:
    """Every label of an added row is that of its seed or that of its reference."""
    X, Y = sampler_data()
    made = sampler.fit_resample(X, Y)[1][len(Y) :]
    seeds, references = Y[sampler.seed_indices_], Y[sampler.reference_indices_]
    assert ((made == seeds) | (made == references)).all(), "a label is that of neither parent"


def check_budget_is_met(sampler: Any, traits: SamplerTraits) -> None:
    """``sampling_ratio`` of n rows, rounded down, are added or deleted; no more, no fewer."""
    X, Y = sampler_data()
    for ratio in (0.29, 0.5):
        X_new, _ = sampler.set_params(sampling_ratio=ratio).fit_resample(X, Y)
        change = abs(len(X_new) - len(X))
        asked = rows_to_sample(len(X), ratio)
        assert change == asked, f"{asked} rows were asked for, got {change}"


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
    """Check that a label in no row, or in all, stays so, and is reported by a named warning."""
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


ROW_LAWS = (
    Law(check_originals_come_first),
    Law(check_adds_only_if_it_says_so),
    Law(check_sample_indices, lambda traits: traits.deletes),
    Law(check_new_rows_lie_between_parents, lambda traits: traits.interpolates),
    Law(check_new_rows_are_clones, lambda traits: traits.clones),
    Law(check_new_rows_are_made_for_a_label, lambda traits: traits.label_specific),
    Law(check_labels_are_inherited, lambda traits: traits.inherits_labels),
    Law(check_budget_is_met, lambda traits: traits.exact_budget),
    Law(check_labels_stay_zero_or_one),
    Law(check_label_order_does_not_matter, lambda traits: traits.label_order_free),
    Law(check_constant_labels_stay_constant),
    Law(check_input_is_not_changed),
)


def check_same_seed_same_rows(sampler: Any, traits: SamplerTraits) -> None:
    """Check that an int seed gives the same rows every time, also from another instance."""
    X, Y = sampler_data()
    seeded(sampler, 3)
    first, again = sampler.fit_resample(X, Y), sampler.fit_resample(X, Y)
    other = clone(sampler).fit_resample(X, Y)
    for result in (again, other):
        assert_array_equal(first[0], result[0], "the same seed gave other rows")
        assert_array_equal(first[1], result[1], "the same seed gave other labels")


def check_other_seeds_other_rows(sampler: Any, traits: SamplerTraits) -> None:
    """Check that some of ten seeds differ from the first."""
    X, Y = sampler_data(n=120)
    results = [seeded(sampler, seed).fit_resample(X, Y) for seed in range(10)]
    same = [_same(results[0], result) for result in results[1:]]
    assert not all(same), "ten seeds gave the same rows"


def check_every_kind_of_random_state(sampler: Any, traits: SamplerTraits) -> None:
    """RandomState and Generator are taken, reproducible from their state, and move on."""
    X, Y = sampler_data(n=120)
    for make in (np.random.RandomState, np.random.default_rng):
        first = seeded(sampler, make(5)).fit_resample(X, Y)
        again = seeded(sampler, make(5)).fit_resample(X, Y)
        assert _same(first, again), f"two {make.__name__}(5) gave different rows"
        source = make(5)
        draws = [seeded(sampler, source).fit_resample(X, Y) for _ in range(10)]
        assert not all(_same(draws[0], draw) for draw in draws), "the generator did not move on"


def check_jobs_and_blocks_do_not_matter(sampler: Any, traits: SamplerTraits) -> None:
    """Any n_jobs, with progress shown or not, and any working memory give the same rows."""
    X, Y = sampler_data(n=150)
    seeded(sampler, 0)
    expected = sampler.fit_resample(X, Y)
    for options in ({"n_jobs": 1}, {"n_jobs": 2, "verbose": 1}):
        known = {name: value for name, value in options.items() if name in sampler.get_params()}
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            result = clone(sampler).set_params(**known).fit_resample(X, Y)
        assert _same(expected, result), f"{known} changed the result"
    with sklearn.config_context(working_memory=1 / 128):
        assert _same(expected, sampler.fit_resample(X, Y)), "the block size changed the result"


def check_one_plan_many_draws(sampler: Any, traits: SamplerTraits) -> None:
    """Check that a draw from a plan equals ``fit_resample`` with the same seed."""
    X, Y = sampler_data()
    plan = sampler.plan(X, Y)
    for seed in (0, 1):
        draw = plan.draw(seed)
        result = seeded(sampler, seed).fit_resample(X, Y)
        assert _same((draw.X, draw.y), result), "a draw differs from fit_resample"


def _same(one: tuple[Any, Any], two: tuple[Any, Any]) -> bool:
    return np.array_equal(one[0], two[0], equal_nan=True) and np.array_equal(one[1], two[1])


RANDOM_LAWS = (
    Law(check_same_seed_same_rows),
    Law(check_other_seeds_other_rows, lambda traits: traits.random),
    Law(check_every_kind_of_random_state, lambda traits: traits.random),
    Law(check_jobs_and_blocks_do_not_matter),
    Law(check_one_plan_many_draws),
)


def check_bad_labels_are_refused(sampler: Any, traits: SamplerTraits) -> None:
    """One-dimensional Y, words and class numbers are refused, saying what to do.

    So are unknown cells (NaN), unless the trait ``needs_all`` is None.
    """
    X, Y = sampler_data()
    strange = Y.astype(float)
    strange[0, 0] = np.nan
    ragged = [[1]] * (len(X) - 1) + [[2, 3]]
    for bad in (Y[:, 0], Y * 2, ["a,b"] * len(X), ragged):
        assert_refused(partial(sampler.fit_resample, X, bad), LabelFormatError)
    if traits.needs_all is not None:
        assert_refused(partial(sampler.fit_resample, X, strange), LabelFormatError)
    else:
        sampler.fit_resample(X, strange)


def check_bad_shapes_are_refused(sampler: Any, traits: SamplerTraits) -> None:
    """Different lengths, no rows, no columns and one-dimensional X are refused."""
    X, Y = sampler_data()
    for X_bad, Y_bad in ((X[:-1], Y), (X[:0], Y[:0]), (X[:, :0], Y), (X[:, 0], Y)):
        assert_refused(partial(sampler.fit_resample, X_bad, Y_bad), InputError)


def check_infinity_is_refused(sampler: Any, traits: SamplerTraits) -> None:
    """Infinity in X is refused, naming the column."""
    X, Y = sampler_data()
    X[3, 2] = np.inf
    message = assert_refused(partial(sampler.fit_resample, X, Y), InputError)
    assert "2" in message, "the error does not name the column"


def check_missing_values_are_refused_or_kept(sampler: Any, traits: SamplerTraits) -> None:
    """With missing="error" NaN is refused, naming the column; without that parameter it stays."""
    X, Y = sampler_data()
    X[3, 2] = np.nan
    if sampler.get_params().get("missing") == "error":
        message = assert_refused(partial(sampler.fit_resample, X, Y), MissingValuesError)
        assert "2" in message, "the error does not name the column"
        sampler.set_params(missing="distance")
    X_new, _ = sampler.fit_resample(X, Y)
    kept = sampler.sample_indices_ if traits.deletes else np.arange(len(X))
    assert np.array_equal(X_new[: len(kept)], X[kept], equal_nan=True), "a missing value was lost"


def check_too_few_rows_are_refused(sampler: Any, traits: SamplerTraits) -> None:
    """As many neighbors as rows cannot be found: refused, naming both numbers."""
    X, Y = sampler_data(n=12)
    if "k_neighbors" in sampler.get_params():
        sampler.set_params(k_neighbors=12)
    else:  # the method itself says how many, so rows are left out instead
        n = getattr(sampler, "k_neighbors", 1)
        X, Y = X[:n], Y[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantLabelWarning)
        message = assert_refused(partial(sampler.fit_resample, X, Y), TooFewRowsError)
    assert str(len(X)) in message, "the error does not name the number of rows"


def assert_refused(call: Callable[[], Any], kind: type[LabelanceError]) -> str:
    """Return the message of the named error, with its parts, that the call must raise."""
    try:
        call()
    except kind as error:
        if not (error.problem and error.found):
            raise AssertionError("the error lacks one of its parts") from error
        return str(error)
    except Exception as error:
        raise AssertionError(f"expected {kind.__name__}, got {error!r}") from error
    raise AssertionError(f"the input was accepted; expected {kind.__name__}")


INPUT_LAWS = (
    Law(check_bad_labels_are_refused),
    Law(check_bad_shapes_are_refused),
    Law(check_infinity_is_refused),
    Law(check_missing_values_are_refused_or_kept),
    Law(check_too_few_rows_are_refused, lambda traits: traits.finds_neighbors),
)
