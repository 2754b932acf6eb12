"""Laws of samplers among others: containers, hostile data, scikit-learn and imbalanced-learn.

What comes in goes out, and all kinds of containers agree; hostile data give a lawful result or
an error with a name, and stay as they were.
"""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from imblearn.pipeline import Pipeline
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from labelance._arrays._open import open_container
from labelance.sampling import SamplerTraits
from labelance.testing._data import (
    SPARSE_KINDS,
    HostileCase,
    dense_values,
    sampler_data,
    seeded,
    try_hostile_cases,
)
from labelance.testing._sampler_laws import Law, assert_between


def check_sparse_equals_dense(sampler: Any, traits: SamplerTraits) -> None:
    """CSR and CSC, matrix and array, X and Y: the same kind comes back with the same numbers."""
    X, Y = sampler_data()
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    for kind in SPARSE_KINDS:
        X_new, Y_new = clone(sampler).fit_resample(kind(X), kind(Y))
        assert type(X_new) is kind, f"{kind.__name__} X was returned as {type(X_new).__name__}"
        assert type(Y_new) is kind, f"{kind.__name__} Y was returned as {type(Y_new).__name__}"
        assert_array_equal(X_new.toarray(), X_dense, f"{kind.__name__} X differs from dense")
        assert_array_equal(Y_new.toarray(), Y_dense, f"{kind.__name__} Y differs from dense")


def check_mixed_containers(sampler: Any, traits: SamplerTraits) -> None:
    """Sparse X goes with dense Y, and dense X with sparse Y."""
    X, Y = sampler_data()
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_new, Y_new = sampler.fit_resample(sp.csr_array(X), Y)
    assert_array_equal(X_new.toarray(), X_dense)
    assert_array_equal(Y_new, Y_dense)
    X_new, Y_new = sampler.fit_resample(X, sp.csr_array(Y))
    assert_array_equal(X_new, X_dense)
    assert_array_equal(Y_new.toarray(), Y_dense)


def check_dtypes_stay(sampler: Any, traits: SamplerTraits) -> None:
    """Float32 stays float32, and labels keep their dtype, be it bool, int or float."""
    X, Y = sampler_data()
    for x_type in (np.float32, np.float64):
        for y_type in (bool, np.uint8, np.int64, np.float32):
            X_new, Y_new = clone(sampler).fit_resample(X.astype(x_type), Y.astype(y_type))
            assert X_new.dtype == x_type, f"{np.dtype(x_type)} X was returned as {X_new.dtype}"
            assert Y_new.dtype == y_type, f"{np.dtype(y_type)} Y was returned as {Y_new.dtype}"


def check_pandas_equals_dense(sampler: Any, traits: SamplerTraits) -> None:
    """Pandas frames come back with names, dtypes and a documented index, and the same numbers."""
    import pandas as pd

    X, Y = sampler_data()
    index = [f"row{i}" for i in range(len(X))]
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_frame = pd.DataFrame(X, columns=list("abcd"), index=index)
    Y_frame = pd.DataFrame(Y, columns=list("pqrst"), index=index)
    X_new, Y_new = sampler.fit_resample(X_frame, Y_frame)
    _assert_frame(X_new, X_frame, X_dense)
    _assert_frame(Y_new, Y_frame, Y_dense)
    assert list(X_new.index) == list(Y_new.index), "X and Y have different indices"
    expected = [index[i] for i in sampler.sample_indices_] if traits.deletes else None
    if expected is not None and not traits.adds:
        assert list(X_new.index) == expected, "kept rows lost their index labels"
    elif len(X_new) > len(X):
        assert list(X_new.index) == list(range(len(X_new))), "added rows need a fresh index"


def check_polars_equals_dense(sampler: Any, traits: SamplerTraits) -> None:
    """Polars frames come back with names and dtypes, and the same numbers."""
    if find_spec("polars") is None:
        return
    import polars as pl

    X, Y = sampler_data()
    seeded(sampler)
    X_dense, Y_dense = sampler.fit_resample(X, Y)
    X_frame, Y_frame = pl.DataFrame(X, schema=list("abcd")), pl.DataFrame(Y, schema=list("pqrst"))
    X_new, Y_new = sampler.fit_resample(X_frame, Y_frame)
    _assert_frame(X_new, X_frame, X_dense)
    _assert_frame(Y_new, Y_frame, Y_dense)


def check_categories_come_back(sampler: Any, traits: SamplerTraits) -> None:
    """Check that a frame with categories and integers keeps both."""
    import pandas as pd

    X, Y = sampler_data()
    words = pd.Categorical.from_codes(np.arange(len(X)) % 3, categories=["blue", "gray", "red"])
    frame = pd.DataFrame({"size": X[:, 0], "count": np.arange(len(X)), "color": words})
    X_new, _ = sampler.fit_resample(frame, Y)
    assert list(X_new.dtypes) == list(frame.dtypes), "dtypes changed"
    assert X_new["color"].notna().all(), "a category was lost"


def _assert_frame(frame: Any, original: Any, expected: np.ndarray) -> None:
    assert type(frame) is type(original), f"a frame was returned as {type(frame).__name__}"
    assert list(frame.columns) == list(original.columns), "column names changed"
    assert list(frame.dtypes) == list(original.dtypes), "column dtypes changed"
    assert_array_equal(frame.to_numpy(), expected, "a frame gave other numbers than an array")


CONTAINER_LAWS = (
    Law(check_sparse_equals_dense),
    Law(check_mixed_containers),
    Law(check_dtypes_stay),
    Law(check_pandas_equals_dense),
    Law(check_polars_equals_dense),
    Law(check_categories_come_back),
)


def check_hostile_data(sampler: Any, traits: SamplerTraits) -> None:
    """Odd values, labels, sizes and containers give lawful rows or an error of this library."""

    def resample(case: HostileCase) -> None:
        own = seeded(clone(sampler))
        X_new, Y_new = map(dense_values, own.fit_resample(case.X, case.Y))
        X, Y = dense_values(case.X), dense_values(case.Y)
        assert len(X_new) == len(Y_new), "X and Y have different numbers of rows"
        assert X_new.shape[1] == X.shape[1], "the number of features changed"
        assert Y_new.shape[1] == Y.shape[1], "the number of labels changed"
        assert np.isin(Y_new, (0, 1)).all(), "a label is neither 0 nor 1"
        assert np.isfinite(X_new).all(), "numbers that are not finite were made"
        kept = own.sample_indices_ if traits.deletes else np.arange(len(X))
        assert np.array_equal(X_new[: len(kept)], X[kept]), "the original rows do not come first"
        if traits.interpolates and not traits.edits and not traits.deletes:
            numbers = X_new[:, ~open_container(case.X, "X").nominal]  # categories may be voted for
            parents = numbers[own.seed_indices_], numbers[own.reference_indices_]
            assert_between(numbers[len(X) :], *parents)

    try_hostile_cases(resample)


HOSTILE_LAWS = (Law(check_hostile_data),)


def check_clones_and_set_params(sampler: Any, traits: SamplerTraits) -> None:
    """``__init__`` stores its arguments unchanged and does nothing else; parameters round-trip."""
    parameters = sampler.get_params(deep=False)
    for name in parameters:
        token = object()
        stored = type(sampler)(**{**parameters, name: token}).get_params(deep=False)[name]
        assert stored is token, f"__init__ does not store {name} unchanged"
    copy = clone(sampler)
    assert copy.set_params(**parameters) is copy, "set_params returns no self"
    early = [name for name in vars(copy) if name.endswith("_") and not name.startswith("_")]
    assert not early, f"__init__ sets fitted attributes: {early}"


def check_pickles(sampler: Any, traits: SamplerTraits) -> None:
    """Check that a sampler survives pickling before and after the work, with its provenance."""
    X, Y = sampler_data()
    seeded(sampler)
    expected = pickle.loads(pickle.dumps(sampler)).fit_resample(X, Y)
    result = sampler.fit_resample(X, Y)
    assert_array_equal(expected[0], result[0], "a pickled sampler gave other rows")
    fitted = pickle.loads(pickle.dumps(sampler))
    assert set(vars(fitted)) == set(vars(sampler)), "pickling lost attributes"


def check_keeps_no_data(sampler: Any, traits: SamplerTraits) -> None:
    """Check that a fitted sampler holds row numbers and parameters, not the rows."""
    X, Y = sampler_data(n=2000)
    before = len(pickle.dumps(sampler))
    X_new, _ = sampler.fit_resample(X, Y)
    grown = len(pickle.dumps(sampler)) - before
    allowed = 40 * len(X_new) + 20_000  # a handful of numbers for each row
    assert grown < allowed, f"the fitted sampler grew by {grown} bytes: does it keep the data?"


def check_works_in_a_pipeline(sampler: Any, traits: SamplerTraits) -> None:
    """Check that imbalanced-learn's pipeline resamples in ``fit`` and not in ``predict``."""
    X, Y = sampler_data()
    model = _pipeline(sampler).fit(X, Y)
    assert model.predict(X).shape == Y.shape, "predict was resampled too"
    n_fitted = model["learner"].n_samples_fit_
    expected = len(seeded(clone(sampler)).fit_resample(X, Y)[0])
    assert n_fitted == expected, f"the learner saw {n_fitted} rows instead of {expected}"


def check_works_in_a_search(sampler: Any, traits: SamplerTraits) -> None:
    """GridSearchCV and cross_validate run over a pipeline with it, its parameters included."""
    X, Y = sampler_data()
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_validate(_pipeline(sampler), X, Y, cv=folds, error_score="raise")
    assert np.isfinite(scores["test_score"]).all()
    grid = {"sampler": [clone(sampler), "passthrough"], "learner__n_neighbors": [1, 3]}
    search = GridSearchCV(_pipeline(sampler), grid, cv=folds, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 4


def check_works_with_metadata_routing(sampler: Any, traits: SamplerTraits) -> None:
    """With metadata routing on, the pipeline fits, and a neighborhood can be routed."""
    X, Y = sampler_data()
    with sklearn.config_context(enable_metadata_routing=True):
        expected = _pipeline(sampler).fit(X, Y).predict(X)
        if not traits.finds_neighbors:
            return
        routed = clone(sampler).set_fit_resample_request(neighborhood=True)
        around = _neighbors_for(sampler, X)
        result = _pipeline(routed).fit(X, Y, neighborhood=around).predict(X)
    assert_array_equal(expected, result, "a routed neighborhood changed the result")


def check_given_neighborhood_equals_search(sampler: Any, traits: SamplerTraits) -> None:
    """Check that a ready neighborhood gives the same rows; one of other rows is refused."""
    X, Y = sampler_data()
    seeded(sampler)
    expected = sampler.fit_resample(X, Y)
    result = sampler.fit_resample(X, Y, neighborhood=_neighbors_for(sampler, X))
    assert_array_equal(expected[0], result[0], "a ready neighborhood changed the result")
    for other in (X[:-1], X[::-1]):
        try:
            sampler.fit_resample(X, Y, neighborhood=_neighbors_for(sampler, other))
        except ValueError:
            continue
        raise AssertionError("a neighborhood of other rows was accepted")


def check_is_a_sampler(sampler: Any, traits: SamplerTraits) -> None:
    """imbalanced-learn calls it a sampler, and it has no ``transform``."""
    from imblearn.base import is_sampler

    assert is_sampler(sampler), "imbalanced-learn does not take it for a sampler"
    assert not hasattr(sampler, "transform"), "a sampler has no transform"


def check_feature_names(sampler: Any, traits: SamplerTraits) -> None:
    """``n_features_in_`` is set, and parameters are checked before any work."""
    X, Y = sampler_data()
    assert sampler.fit(X, Y) is sampler, "fit does not return the sampler"
    assert sampler.n_features_in_ == X.shape[1]


def _neighbors_for(sampler: Any, X: np.ndarray) -> Any:
    from labelance.neighbors import find_neighbors

    parameters = sampler.get_params()
    options = {name: parameters[name] for name in ("metric", "scale") if name in parameters}
    return find_neighbors(X, getattr(sampler, "k_neighbors", 1), **options)


def _pipeline(sampler: Any) -> Pipeline:
    learner = KNeighborsClassifier(n_neighbors=3)
    return Pipeline([("sampler", seeded(clone(sampler))), ("learner", learner)])


SKLEARN_LAWS = (
    Law(check_clones_and_set_params),
    Law(check_pickles),
    Law(check_keeps_no_data),
    Law(check_works_in_a_pipeline),
    Law(check_works_in_a_search),
    Law(check_works_with_metadata_routing),
    Law(check_given_neighborhood_equals_search, lambda traits: traits.finds_neighbors),
    Law(check_is_a_sampler),
    Law(check_feature_names),
)
