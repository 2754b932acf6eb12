"""Laws on hostile data: a lawful result or an error with a name, and the input as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labelance._arrays import open_container
from labelance.exceptions import LabelanceError, LabelanceWarning
from labelance.sampling import SamplerTraits
from labelance.testing._data import seeded
from labelance.testing._hostile_data import HostileCase, hostile_cases
from labelance.testing._law import Law


def check_hostile_data(sampler: Any, traits: SamplerTraits) -> None:
    """Odd values, labels, sizes and containers give lawful rows or an error of this library."""

    def resample(case: HostileCase) -> None:
        own = seeded(clone(sampler))
        X_new, Y_new = map(_dense, own.fit_resample(case.X, case.Y))
        X, Y = _dense(case.X), _dense(case.Y)
        assert len(X_new) == len(Y_new), "X and Y came back with different numbers of rows"
        assert X_new.shape[1] == X.shape[1], "the number of features changed"
        assert Y_new.shape[1] == Y.shape[1], "the number of labels changed"
        assert np.isin(Y_new, (0, 1)).all(), "a label is neither 0 nor 1"
        assert np.isfinite(X_new).all(), "numbers that are not finite were made"
        kept = own.sample_indices_ if traits.deletes else np.arange(len(X))
        assert np.array_equal(X_new[: len(kept)], X[kept]), "the original rows do not come first"
        if traits.interpolates and not traits.edits and not traits.deletes:
            numbers = X_new[:, ~open_container(case.X, "X").nominal]  # categories may be voted for
            parents = numbers[own.seed_indices_], numbers[own.reference_indices_]
            _assert_between(numbers[len(X) :], *parents)

    _try_all(resample)


def check_learns_from_hostile_data(learner: Any) -> None:
    """Odd values, labels, sizes and containers give scores in [0, 1] or a named error."""

    def learn(case: HostileCase) -> None:
        own = clone(learner).fit(case.X, case.Y)
        scores, labels = own.predict_proba(case.X), _dense(own.predict(case.X))
        shape = _dense(case.Y).shape
        assert scores.shape == labels.shape == shape, "scores or labels have another shape than Y"
        assert ((scores >= 0) & (scores <= 1)).all(), "a score lies outside [0, 1]"
        assert np.isin(labels, (0, 1)).all(), "a label is neither 0 nor 1"

    _try_all(learn)


def _assert_between(made: np.ndarray, seeds: np.ndarray, references: np.ndarray) -> None:
    low, high = np.minimum(seeds, references), np.maximum(seeds, references)
    assert ((made >= low) & (made <= high)).all(), "a value lies outside its parents'"


def _try_all(work: Callable[[HostileCase], None]) -> None:
    for case in hostile_cases():
        before = deepcopy((case.X, case.Y))
        with _named_errors_only(case.name):
            work(case)
        unchanged = all(map(_same, before, (case.X, case.Y)))
        assert unchanged, f"{case.name}: the input was changed"


@contextmanager
def _named_errors_only(name: str) -> Iterator[None]:
    """Let errors and warnings of this library pass, and call all others by the case's name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", LabelanceWarning)
            yield
    except LabelanceError:
        return
    except Exception as error:
        raise AssertionError(f"{name}: {error!r}") from error


def _dense(table: Any) -> np.ndarray:
    """Return what any container holds, category codes included, as an array."""
    values = open_container(table, "X").values()
    return np.asarray(values.toarray() if sp.issparse(values) else values)


def _same(before: Any, after: Any) -> bool:
    if sp.issparse(before):
        parts = ("coords",) if before.format == "coo" else ("indices", "indptr")
        return all(
            np.array_equal(getattr(before, part), getattr(after, part)) for part in ("data", *parts)
        )
    return (
        bool(before.equals(after)) if hasattr(before, "equals") else np.array_equal(before, after)
    )


LAWS = (Law(check_hostile_data),)
