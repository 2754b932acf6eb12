"""Laws about living among scikit-learn and imbalanced-learn objects."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import sklearn
from imblearn.pipeline import Pipeline
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from labelance.sampling import SamplerTraits
from labelance.testing._data import sampler_data, seeded
from labelance.testing._law import Law


def check_clones_and_set_params(sampler: Any, traits: SamplerTraits) -> None:
    """``__init__`` stores its arguments unchanged and does nothing else; parameters round-trip."""
    parameters = sampler.get_params(deep=False)
    for name in parameters:
        token = object()
        stored = type(sampler)(**{**parameters, name: token}).get_params(deep=False)[name]
        assert stored is token, f"__init__ does not store {name} as it came"
    copy = clone(sampler)
    assert copy.set_params(**parameters) is copy, "set_params returns no self"
    early = [name for name in vars(copy) if name.endswith("_") and not name.startswith("_")]
    assert not early, f"__init__ sets fitted attributes: {early}"


def check_pickles(sampler: Any, traits: SamplerTraits) -> None:
    """A sampler survives pickling before and after the work, with its provenance."""
    X, Y = sampler_data()
    seeded(sampler)
    expected = pickle.loads(pickle.dumps(sampler)).fit_resample(X, Y)
    result = sampler.fit_resample(X, Y)
    assert_array_equal(expected[0], result[0], "a pickled sampler gave other rows")
    fitted = pickle.loads(pickle.dumps(sampler))
    assert set(vars(fitted)) == set(vars(sampler)), "pickling lost attributes"


def check_keeps_no_data(sampler: Any, traits: SamplerTraits) -> None:
    """A fitted sampler holds row numbers and parameters, not the rows."""
    X, Y = sampler_data(n=2000)
    before = len(pickle.dumps(sampler))
    X_new, _ = sampler.fit_resample(X, Y)
    grown = len(pickle.dumps(sampler)) - before
    allowed = 40 * len(X_new) + 20_000  # a handful of numbers for each row
    assert grown < allowed, f"the fitted sampler grew by {grown} bytes: does it keep the data?"


def check_works_in_a_pipeline(sampler: Any, traits: SamplerTraits) -> None:
    """It resamples in ``fit`` of imbalanced-learn's pipeline and stays out of ``predict``."""
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
    """A ready neighborhood gives the same rows; one of other rows is refused."""
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


LAWS = (
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
