"""PerLabel equals a pipeline for every label, and leaves alone what its sampler refuses."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import InvalidParameterError

from labelance.exceptions import NothingToSampleError, UnsampledLabelWarning
from labelance.learners import BinaryRelevance, PerLabel
from labelance.sampling import MLSMOTE, MLSOL, UCLSO, BaseMultiLabelSampler, Draw, SamplerTraits
from labelance.testing import sampler_data

# Predicts the share of ones among the rows that it learned from.
SHARE = DummyClassifier(strategy="prior")


def test_every_label_learns_from_its_own_rows():
    """By hand: of 8 rows, label 0 has 2, label 1 has 7 and label 2 has 4."""
    X, y = np.arange(8.0)[:, None], np.zeros((8, 3), dtype=int)
    y[:2, 0] = y[:7, 1] = y[::2, 2] = 1
    shares = {
        RandomOverSampler(): [1 / 2, 1 / 2, 1 / 2],
        # One minority row for two others: 3 of 9, 7 of 10 (3 zeros to 7 ones), 4 of 8 already.
        RandomOverSampler(sampling_strategy=lambda y: fill_up(y, 0.5)): [1 / 3, 7 / 10, 1 / 2],
        RandomUnderSampler(): [1 / 2, 1 / 2, 1 / 2],
    }
    for sampler, expected in shares.items():
        scores = PerLabel(sampler, SHARE, random_state=0).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(scores, np.tile(expected, (8, 1)))


def fill_up(y, ratio):
    """Return how many rows the minority class should have; at least as many as it has."""
    counts = np.bincount(y)
    rare = int(np.argmin(counts))
    return {rare: max(counts[rare], int(ratio * counts.max()))}


@pytest.mark.slow
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_it_is_a_pipeline_for_every_label(container):
    X, y = sampler_data()
    sampler, estimator = SMOTE(k_neighbors=2, random_state=0), LogisticRegression()
    learner = PerLabel(Unseeded(sampler), estimator).fit(container(X), y)
    scores = learner.predict_proba(container(X))
    for j in range(y.shape[1]):
        pipeline = make_pipeline(clone(sampler), clone(estimator)).fit(container(X), y[:, j])
        np.testing.assert_allclose(scores[:, j], pipeline.predict_proba(container(X))[:, 1])


class Unseeded:
    """A sampler whose random_state is hidden, so that it keeps it."""

    def __init__(self, sampler):
        self.sampler = sampler

    def fit_resample(self, X, y):
        return clone(self.sampler).fit_resample(X, y)

    def __sklearn_clone__(self):
        return self


def test_labels_that_the_sampler_refuses_learn_from_the_rows_as_they_are():
    X, y = sampler_data()
    y[:, 0] = 0
    y[:3, 0] = 1
    y[:, 1] = 0
    learner = PerLabel(SMOTE(k_neighbors=3), SHARE, random_state=0)
    said = "SMOTE refused 1 of 5 labels.*are: 0; "
    with pytest.warns(UnsampledLabelWarning, match=said) as told:
        learner.fit(X, y)
    assert told[0].filename == __file__  # where the user called fit
    assert learner.unsampled_labels_.tolist() == [0, 1]  # 1 is in no row
    with pytest.warns(UnsampledLabelWarning, match="are: 'jazz'; "):
        clone(learner).fit(X, pd.DataFrame(y, columns=["jazz", "b", "c", "d", "e"]))
    np.testing.assert_allclose(learner.predict_proba(X)[0], [3 / 60, 0, 1 / 2, 1 / 2, 1 / 2])


def test_a_sampler_that_refuses_every_label_is_an_error():
    X, y = sampler_data()
    with pytest.raises(NothingToSampleError, match="cannot resample any label") as error:
        PerLabel(SMOTE(k_neighbors=59)).fit(X, y)
    assert "Expected n_neighbors" in error.value.found


def test_wrong_parameters_of_the_sampler_are_its_own_errors():
    X, y = sampler_data()
    with pytest.raises(InvalidParameterError):
        PerLabel(SMOTE(k_neighbors=-1)).fit(X, y)


class AddsOneRow(BaseMultiLabelSampler):
    """Adds the first row again."""

    traits = SamplerTraits(adds=True, clones=True, random=False)

    def _plan(self, data, neighborhood):
        return None

    def _draw(self, data, plan, rng):
        return Draw(rows=np.concatenate([np.arange(data.n_samples), [0]]))


def test_our_samplers_get_one_column():
    X, y = sampler_data()
    scores = PerLabel(AddsOneRow(), SHARE).fit(X, y).predict_proba(X[:1])
    np.testing.assert_allclose(scores[0], (y.sum(axis=0) + y[0]) / 61)
    assert PerLabel(MLSOL(), random_state=0).fit(X, y).unsampled_labels_.size == 0


def test_labels_do_not_share_random_numbers():
    X, y = sampler_data()
    same = np.repeat(y[:, 2:3], 6, axis=1)
    scores = PerLabel(RandomUnderSampler(), random_state=0).fit(X, same).predict_proba(X)
    assert not (scores == scores[:, :1]).all()


def test_estimators_are_seeded():
    X, y = sampler_data()
    tree = DecisionTreeClassifier(max_features=1)
    one, two = (PerLabel(estimator=tree, random_state=seed).fit(X, y) for seed in (0, 0))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_without_a_change_of_rows_it_is_binary_relevance():
    X, y = sampler_data()

    class Nothing(AddsOneRow):
        def _draw(self, data, plan, rng):
            return Draw()

    expected = BinaryRelevance().fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(PerLabel(Nothing()).fit(X, y).predict_proba(X), expected)


@pytest.mark.slow
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_label_gets_the_rows_made_for_it(container):
    """The paper's UCLSO: one clustering, and a balanced training set for every label."""
    X, y = sampler_data()
    y[:, 2] = np.arange(60) % 2  # nothing to balance
    learner = PerLabel(UCLSO(), SHARE, random_state=0).fit(container(X), container(y))
    np.testing.assert_allclose(learner.predict_proba(X), 1 / 2)
    assert learner.unsampled_labels_.tolist() == [2]
    sampler = UCLSO(random_state=np.random.default_rng(0))
    X_all, y_all = sampler.fit_resample(X, y)
    rows = np.concatenate([np.arange(60), 60 + np.flatnonzero(sampler.label_indices_ == 1)])
    expected = LogisticRegression().fit(X_all[rows], y_all[rows, 1]).predict_proba(X)[:, 1]
    learner.set_params(estimator=LogisticRegression()).fit(container(X), container(y))
    np.testing.assert_allclose(learner.predict_proba(X)[:, 1], expected, atol=1e-4)


def test_rows_made_for_a_label_join_those_in_which_it_is_known():
    sampler = MLSMOTE(random_state=0)
    X, y = sampler_data()
    y = np.where(np.random.default_rng(0).random(y.shape) < 0.2, np.nan, y)
    found = PerLabel(sampler, LogisticRegression(), random_state=0).fit(X, y)
    drawn = sampler.plan(X, y).draw(np.random.default_rng(0))
    n_compared = 0
    for label, model in enumerate(found.estimators_):
        made = np.append(np.ones(len(X), dtype=bool), drawn.provenance["label_indices_"] == label)
        rows = made & ~np.isnan(drawn.y[:, label])
        if len(set(drawn.y[rows, label])) == 2:
            n_compared += made[len(X) :].any() and not rows[: len(X)].all()
            alone = LogisticRegression().fit(drawn.X[rows], drawn.y[rows, label])
            np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert n_compared > 0


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(PerLabel(random_state=0), "sure")
