"""A check that cannot fail is no check: for each there is a broken learner that it rejects."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from labelance.learners import MLkNN
from labelance.testing import parametrize_with_learner_checks, yield_learner_checks
from labelance.testing._learner_laws import LEARNER_LAWS


class Broken(MLkNN):
    """ML-kNN with one thing wrong: subclasses spoil the scores."""

    def __init__(self, n_neighbors=5, *, n_jobs=None, random_state=None):
        super().__init__(n_neighbors, n_jobs=n_jobs)
        self.random_state = random_state

    _parameter_constraints = {}  # noqa: RUF012  scikit-learn's name

    def predict_proba(self, X):
        return self.spoil(X, super().predict_proba(X))

    def spoil(self, X, scores):
        return scores


class PairsInAList(Broken):
    def spoil(self, X, scores):
        return [np.column_stack([1 - column, column]) for column in scores.T]


class Percent(Broken):
    def spoil(self, X, scores):
        return 100 * scores


class TrueAndFalse(Broken):
    def predict(self, X):
        return super().predict(X).astype(bool)


class OneLabelFlat(Broken):
    def predict(self, X):
        return super().predict(X)[:, 0]


class FitReturnsNothing(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)


class SaysItIsARegressor(Broken):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        return tags


class SkipsZeros(Broken):
    """A mean over stored cells is not a mean over cells."""

    def spoil(self, X, scores):
        return scores * X.data.mean() if sp.issparse(X) else scores


class AlwaysDense(Broken):
    def predict(self, X):
        labels = super().predict(X)
        return labels.toarray() if sp.issparse(labels) else labels


class ReadsTheIndex(Broken):
    def spoil(self, X, scores):
        return scores + X.index.to_numpy()[:, None] if hasattr(X, "index") else scores


class ForgetsNames(Broken):
    def fit(self, X, Y):
        super().fit(np.asarray(X), Y)
        return self

    def predict(self, X):
        return super().predict(np.asarray(X))


class TakesTheFirstFeatures(Broken):
    def _open(self, X):
        return super()._open(X[:, : self.n_features_in_])


class SeesWhatIsNot(Broken):
    """Never quite sure: the label of no row may be present far away."""

    def predict(self, X):
        return super().predict(X) | (np.abs(X).max(axis=1, keepdims=True) > 20)


class RanksTheRows(Broken):
    def spoil(self, X, scores):
        return scores.argsort(axis=0).argsort(axis=0) / len(scores)


class ForgetsItsSeed(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)
        self.posterior_ = self.posterior_ * np.random.default_rng().random()
        return self


class CountsItsJobs(Broken):
    def spoil(self, X, scores):
        return scores / (self.n_jobs or 1)


class CentersInPlace(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)
        if not sp.issparse(X):
            X -= X.mean(axis=0)
        return self


class DropsPositives(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)
        if sp.issparse(Y):
            Y.data[0] = 0
        return self


class StartsWarm(Broken):
    def fit(self, X, Y):
        before = getattr(self, "rows_seen_", 0)
        super().fit(X, Y)
        self.rows_seen_ = before + X.shape[0]
        return self

    def spoil(self, X, scores):
        return scores / self.rows_seen_


class RemembersSparse(Broken):
    def fit(self, X, Y):
        sparse = getattr(self, "_sparse_labels", False)
        super().fit(X, Y)
        self._sparse_labels |= sparse
        return self


class RepairsItsParameters(Broken):
    def __init__(self, n_neighbors=5, *, n_jobs=None, random_state=None):
        n_neighbors = n_neighbors if isinstance(n_neighbors, int) else 5
        super().__init__(n_neighbors, n_jobs=n_jobs, random_state=random_state)


class HoldsALambda(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)
        self.helper_ = lambda: None
        return self


class LosesItsState(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)
        self._scale_down = 0.5
        return self

    def spoil(self, X, scores):
        return scores * getattr(self, "_scale_down", 1)

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_scale_down", None)
        return state


class OnlyTrainingRows(Broken):
    """Predicts rows it was fitted on, and counts them to be sure."""

    def predict_proba(self, X):
        if len(X) != self._rows.shape[0]:
            raise RuntimeError("other rows than in fit")
        return super().predict_proba(X)


class NeedsManyRows(Broken):
    def fit(self, X, Y):
        if X.shape[0] < 50:
            raise RuntimeError("too small for me")
        return super().fit(X, Y)


class ListsClasses(Broken):
    def fit(self, X, Y):
        super().fit(X, Y)
        self.classes_ = [np.array([0, 1])] * self.n_labels_
        return self


class TakesAnything(Broken):
    def fit(self, X, Y):
        try:
            return super().fit(X, Y)
        except ValueError:
            return self


class OwnErrors(Broken):
    def fit(self, X, Y):
        try:
            return super().fit(X, Y)
        except ValueError as error:
            raise ValueError("bad labels") from error


class IgnoresWeights(Broken):
    _weights_count_rows = True

    def fit(self, X, Y, sample_weight=None):
        return super().fit(X, Y)


class DropsARowOfWeightOne(Broken):
    def fit(self, X, Y, sample_weight=None):
        return super().fit(X, Y) if sample_weight is None else super().fit(X[1:], Y[1:])


class GuessesBeforeFit(Broken):
    def predict(self, X):
        try:
            check_is_fitted(self)
        except ValueError:
            return np.zeros((len(X), 1), dtype=int)
        return super().predict(X)


REJECTED_BY = {
    "scores_are_shares": [PairsInAList, Percent],
    "labels_are_zero_or_one": [TrueAndFalse, OneLabelFlat],
    "is_a_multilabel_classifier": [FitReturnsNothing, SaysItIsARegressor],
    "sparse_features_equal_dense": [SkipsZeros],
    "sparse_labels_come_back": [AlwaysDense],
    "frames_equal_arrays": [ReadsTheIndex],
    "feature_names_are_remembered": [ForgetsNames],
    "number_of_features_is_remembered": [TakesTheFirstFeatures],
    "constant_labels_stay_constant": [SeesWhatIsNot],
    "rows_do_not_see_each_other": [RanksTheRows],
    "same_seed_same_scores": [ForgetsItsSeed],
    "jobs_do_not_matter": [CountsItsJobs],
    "input_is_not_changed": [CentersInPlace, DropsPositives],
    "refit_forgets": [StartsWarm, RemembersSparse],
    "weights_of_one_change_nothing": [DropsARowOfWeightOne],
    "rows_without_weight_do_not_count": [IgnoresWeights],
    "weights_count_rows": [IgnoresWeights],
    "clones_and_set_params": [RepairsItsParameters],
    "pickles": [HoldsALambda, LosesItsState],
    "works_in_a_pipeline": [OnlyTrainingRows],
    "works_in_cross_validation": [NeedsManyRows],
    "works_in_cross_val_predict": [ListsClasses, PairsInAList],
    "bad_labels_are_refused": [TakesAnything, OwnErrors],
    "must_be_fitted": [GuessesBeforeFit],
    "learns_from_hostile_data": [NeedsManyRows, CentersInPlace],
}


def fails(learner, name):
    """Return whether the check raises."""
    checks = dict(yield_learner_checks(learner))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checks[name]()
        except Exception:
            return True
    return False


def test_every_law_has_a_learner_that_breaks_it():
    assert set(REJECTED_BY) == {law.__name__.removeprefix("check_") for law in LEARNER_LAWS}


@pytest.mark.parametrize("name", sorted(REJECTED_BY))
def test_the_unbroken_learner_passes(name):
    assert not fails(Broken(), name)


@pytest.mark.parametrize(
    ("name", "broken"),
    [(name, broken) for name, several in REJECTED_BY.items() for broken in several],
    ids=lambda case: getattr(case, "__name__", case),
)
def test_the_broken_learner_is_rejected(name, broken):
    assert fails(broken(), name)


def test_exempt_laws_are_expected_to_fail_for_a_reason():
    mark = parametrize_with_learner_checks(
        [Percent()], expected_failures=lambda learner: {"scores_are_shares": "counts to 100"}
    )
    cases = {case.id: case.marks for case in mark.args[1]}
    (exempt,) = cases.pop("Percent()-scores_are_shares")
    assert exempt.kwargs == {"reason": "counts to 100", "strict": True}
    assert not any(cases.values())
