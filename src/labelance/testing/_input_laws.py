"""Laws about bad input: a named error in three parts, before any work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from labelance.exceptions import (
    ConstantLabelWarning,
    InputError,
    LabelanceError,
    LabelFormatError,
    MissingValuesError,
    TooFewRowsError,
)
from labelance.sampling import SamplerTraits
from labelance.testing._data import sampler_data
from labelance.testing._law import Law


def check_bad_labels_are_refused(sampler: Any, traits: SamplerTraits) -> None:
    """One-dimensional Y, label sets, class numbers and NaN are refused, saying what to do."""
    X, Y = sampler_data()
    strange = Y.astype(float)
    strange[0, 0] = np.nan
    sets = [{"a", "b"} for _ in X]
    for bad in (Y[:, 0], Y * 2, strange, sets, [["a"]] * len(X)):
        assert_refused(partial(sampler.fit_resample, X, bad), LabelFormatError)


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
    """Return the message of the named error, in three parts, that the call must raise."""
    try:
        call()
    except kind as error:
        if not (error.asked and error.came and error.fix):
            raise AssertionError("the error lacks one of its three parts") from error
        return str(error)
    except Exception as error:
        raise AssertionError(f"expected {kind.__name__}, got {error!r}") from error
    raise AssertionError(f"expected {kind.__name__}, but the input was accepted")


LAWS = (
    Law(check_bad_labels_are_refused),
    Law(check_bad_shapes_are_refused),
    Law(check_infinity_is_refused),
    Law(check_missing_values_are_refused_or_kept),
    Law(check_too_few_rows_are_refused, lambda traits: traits.finds_neighbors),
)
