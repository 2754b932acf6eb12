"""A check that cannot fail is no check: for each there is a broken sampler that it rejects."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from labelance.sampling import MLSOL, SamplerTraits
from labelance.testing import yield_sampler_checks
from labelance.testing._checks import SAMPLER_LAWS


class Broken(MLSOL):
    """MLSOL with one thing wrong: subclasses spoil the result."""

    def fit_resample(self, X, Y, *, neighborhood=None):
        return self.spoil(X, Y, *super().fit_resample(X, Y, neighborhood=neighborhood))

    def spoil(self, X, Y, X_new, Y_new):
        return X_new, Y_new


class NewRowsFirst(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new[::-1], Y_new[::-1]


class DeletesSilently(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new[: len(X) - 1], Y_new[: len(X) - 1]


class UnsortedIndices(Broken):
    traits = SamplerTraits(adds=True, deletes=True)

    def spoil(self, X, Y, X_new, Y_new):
        self.sample_indices_ = np.array([2, 1])
        return X_new, Y_new


class BeyondTheNeighbor(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        X_new[len(X) :] += 10
        return X_new, Y_new


class NotQuiteClones(MLSOL):
    traits = SamplerTraits(adds=True, clones=True)


class MadeForAnyLabel(Broken):
    traits = SamplerTraits(adds=True, label_specific=True)

    def spoil(self, X, Y, X_new, Y_new):
        n_new = len(Y_new) - len(Y)
        self.label_indices_ = np.zeros(n_new, dtype=int)
        Y_new[len(Y) :, 0] = np.arange(n_new) % 2
        return X_new, Y_new


class OneRowShort(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new[:-1], Y_new[:-1]


class Halves(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        Y_new = Y_new.astype(float)
        Y_new[-1] = 0.5
        return X_new, Y_new


class LooksAtTheFirstLabel(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        Y_new[len(X) :, 0] = 1
        return X_new, Y_new


class InventsLabels(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        Y_new[len(X) :] = 1
        return X_new, Y_new


class WritesIntoX(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        X_new, Y_new = super().fit_resample(X, Y, neighborhood=neighborhood)
        X[0] = 0
        return X_new, Y_new


class ForgetsItsSeed(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        result = self.plan(X, Y, neighborhood=neighborhood).draw(None)
        self._remember(result)
        return result.X, result.Y


class AlwaysTheSame(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        result = self.plan(X, Y, neighborhood=neighborhood).draw(0)
        self._remember(result)
        return result.X, result.Y


class RestartsGenerators(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        seed = self.random_state if isinstance(self.random_state, int) else 0
        result = self.plan(X, Y, neighborhood=neighborhood).draw(seed)
        self._remember(result)
        return result.X, result.Y


class CountsItsJobs(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new + (self.n_jobs or 0), Y_new


class PlansSomethingElse(Broken):
    def plan(self, X, Y, *, neighborhood=None):
        return MLSOL(sampling_ratio=0.1).plan(X, Y)


class Densifies(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new.toarray() if sp.issparse(X_new) else X_new, Y_new


class DislikesMixtures(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        if sp.issparse(X) != sp.issparse(Y):
            raise TypeError("both or none")
        return super().fit_resample(X, Y, neighborhood=neighborhood)


class AlwaysDouble(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new.astype(float), Y_new


class FrameBecomesArray(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return np.asarray(X_new), Y_new


class FloatsEverywhere(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        if hasattr(X_new, "iloc"):
            X_new = X_new.astype(float, errors="ignore")
        return X_new, Y_new


class TakesAnything(MLSOL):
    def fit_resample(self, X, Y, *, neighborhood=None):
        try:
            return super().fit_resample(X, Y, neighborhood=neighborhood)
        except ValueError:
            return X, Y


class ChangesItsParameters(MLSOL):
    def __init__(self, *, k_neighbors=5):
        super().__init__(k_neighbors=float(k_neighbors))


class HoldsALambda(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        self.helper_ = lambda: None
        return X_new, Y_new


class KeepsTheData(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        self.data_ = np.tile(X, 5)
        return X_new, Y_new


class ReturnsThree(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new, Y_new, None


class FailsOnFolds(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        if len(X) < 60:
            raise RuntimeError("too small for me")
        return super().fit_resample(X, Y, neighborhood=neighborhood)


class IgnoresRequests(Broken):
    def spoil(self, X, Y, X_new, Y_new):
        return X_new, Y_new


def _no_routing(self, **requests):
    raise AttributeError("no routing here")


# Not in the class: some versions of scikit-learn overwrite it when a class is made.
IgnoresRequests.set_fit_resample_request = _no_routing


class BelievesAnyNeighborhood(Broken):
    def fit_resample(self, X, Y, *, neighborhood=None):
        return super().fit_resample(X, Y, neighborhood=None)


class AlsoTransforms(MLSOL):
    def transform(self, X):
        return X


class FitReturnsNothing(MLSOL):
    def fit(self, X, Y):
        super().fit(X, Y)


REJECTED_BY = {
    "originals_come_first": NewRowsFirst,
    "adds_only_if_it_says_so": DeletesSilently,
    "sample_indices": UnsortedIndices,
    "new_rows_lie_between_parents": BeyondTheNeighbor,
    "new_rows_are_clones": NotQuiteClones,
    "new_rows_are_made_for_a_label": MadeForAnyLabel,
    "labels_are_inherited": InventsLabels,
    "budget_is_met": OneRowShort,
    "labels_stay_zero_or_one": Halves,
    "label_order_does_not_matter": LooksAtTheFirstLabel,
    "constant_labels_stay_constant": InventsLabels,
    "input_is_not_changed": WritesIntoX,
    "hostile_data": FailsOnFolds,
    "same_seed_same_rows": ForgetsItsSeed,
    "other_seeds_other_rows": AlwaysTheSame,
    "every_kind_of_random_state": RestartsGenerators,
    "jobs_and_blocks_do_not_matter": CountsItsJobs,
    "one_plan_many_draws": PlansSomethingElse,
    "sparse_equals_dense": Densifies,
    "mixed_containers": DislikesMixtures,
    "dtypes_stay": AlwaysDouble,
    "pandas_equals_dense": FrameBecomesArray,
    "polars_equals_dense": FrameBecomesArray,
    "categories_come_back": FloatsEverywhere,
    "bad_labels_are_refused": TakesAnything,
    "bad_shapes_are_refused": TakesAnything,
    "infinity_is_refused": TakesAnything,
    "missing_values_are_refused_or_kept": TakesAnything,
    "too_few_rows_are_refused": TakesAnything,
    "clones_and_set_params": ChangesItsParameters,
    "pickles": HoldsALambda,
    "keeps_no_data": KeepsTheData,
    "works_in_a_pipeline": ReturnsThree,
    "works_in_a_search": FailsOnFolds,
    "works_with_metadata_routing": IgnoresRequests,
    "given_neighborhood_equals_search": BelievesAnyNeighborhood,
    "is_a_sampler": AlsoTransforms,
    "feature_names": FitReturnsNothing,
}


def test_every_law_has_a_sampler_that_breaks_it():
    assert set(REJECTED_BY) == {law.name for law in SAMPLER_LAWS}


@pytest.mark.parametrize("name", sorted(REJECTED_BY))
def test_the_broken_sampler_is_rejected(name):
    checks = dict(yield_sampler_checks(REJECTED_BY[name]()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception):  # noqa: B017  any way of failing is a rejection
            checks[name]()
