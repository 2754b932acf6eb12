"""MCE: confidences of rows that were left out, projections of them, and G-mean thresholds."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.exceptions import InputError
from labelance.learners import MCE
from labelance.testing import sampler_data

# Predicts the share of ones among the rows that it learned from.
SHARE = DummyClassifier(strategy="prior")


@pytest.mark.slow
def test_by_hand():
    """Five rows, one with the label; a member learns from four and is asked about the fifth.

    If that is the row with the label, it says 0, else 1/4. So the row with the label scores 0 and
    all others 1/4, and no threshold is good for both; new rows get the mean of what members say.
    """
    X, y = np.arange(5.0)[:, None], np.array([[0], [0], [1], [0], [0]])
    learner = MCE(SHARE, n_estimators=60, random_state=0).fit(X, y)
    np.testing.assert_allclose(learner.oob_scores_.ravel(), [1 / 4, 1 / 4, 0, 1 / 4, 1 / 4])
    # One that did not see the row with the label is a constant, and says 0.
    members = [
        getattr(member.models[0], "class_prior_", [1, 0])[1] for member in learner.estimators_
    ]
    mean = np.mean(members)
    assert 0.1 < mean < 0.25
    t = learner.thresholds_[0]
    calibrated = (mean / t) / (mean / t + (1 - mean) / (1 - t))
    np.testing.assert_allclose(learner.predict_proba(X), calibrated)


def test_scores_are_calibrated_to_one_half_at_the_threshold():
    X, y = sampler_data(n=150)
    learner = MCE(n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(learner.predict(X), learner.predict_proba(X) >= 0.5)


def g_mean(y, predicted):
    return np.sqrt(predicted[y == 1].mean() * (~predicted)[y == 0].mean())


@pytest.mark.slow
@pytest.mark.parametrize("share_unknown", [0, 0.3])
def test_thresholds_have_the_largest_g_mean_on_scores_of_rows_left_out(share_unknown):
    X, y = sampler_data(n=150)
    y = np.where(np.random.default_rng(0).random(y.shape) < share_unknown, np.nan, y)
    learner = MCE(n_estimators=20, random_state=0).fit(X, y)
    for j in range(5):
        known = ~np.isnan(learner.oob_scores_[:, j] + y[:, j])
        scores, label = learner.oob_scores_[known, j], y[known, j]
        best = max(g_mean(label, scores >= t) for t in np.unique(scores))
        found = g_mean(label, scores >= learner.thresholds_[j])
        assert found == pytest.approx(best)


def test_members_learn_a_label_from_the_rows_in_which_it_is_known():
    X, y = np.arange(10.0)[:, None], np.full((10, 2), np.nan)
    y[:4, 0], y[2:, 1] = [1, 1, 0, 1], [0, 1] * 4
    learner = MCE(SHARE, n_estimators=5, max_samples=0.8, random_state=0).fit(X, y)
    for member, stream in zip(learner.estimators_, np.random.default_rng(0).spawn(5)):
        learn = stream.permutation(10)[:8]
        shares = [getattr(model, "class_prior_", model.classes_)[-1] for model in member.models]
        np.testing.assert_allclose(shares, np.nanmean(y[learn], axis=0))


@pytest.mark.slow
def test_members_do_not_vote_against_a_label_that_none_of_their_rows_knows():
    X, y = sampler_data(n=40)
    y = y.astype(float)
    y[2:, 0] = np.nan
    y[:2, 0] = 1
    learner = MCE(GaussianNB(), n_estimators=20, max_samples=0.5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(learner.predict_proba(X)[:, 0], 1)
    # A row that a member learned from is none that it left out.
    left_out = ~np.isnan(learner.oob_scores_)
    np.testing.assert_array_equal(learner.oob_scores_[left_out[:, 0], 0], 1)


@pytest.mark.slow
def test_prediction_walks_through_the_members():
    """A slow loop over rows: features and confidences, projected, and asked member by member."""
    X, y = sampler_data(n=80)
    learner = MCE(GaussianNB(), n_estimators=5, random_state=0).fit(X, y)
    t = learner.thresholds_
    for row, found in zip(X[:10], learner.predict_proba(X[:10])):
        said = [np.full(5, 0.5)]
        for member in learner.estimators_:
            seen = np.concatenate([row, np.mean(said, axis=0)]) @ member.projection.toarray()
            said.append([member.models[j].predict_proba(seen[None])[0, 1] for j in range(5)])
        mean = np.mean(said[1:], axis=0)
        np.testing.assert_allclose(found, (mean / t) / (mean / t + (1 - mean) / (1 - t)))


@pytest.mark.slow
def test_confidences_are_blended_in_more_often_by_later_members():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.repeat((X[:, :1] > 0.5).astype(int), 2, axis=1)
    projections = [
        member.projection
        for member in MCE(GaussianNB(), n_estimators=40, random_state=0).fit(X, y).estimators_
    ]
    early, late = (
        np.mean([abs(p[3:]).sum() / abs(p).sum() for p in part])
        for part in (projections[:10], projections[-10:])
    )
    assert early < late
    assert late == pytest.approx(2 / 5, abs=0.12)  # nearly as often as features
    assert early == pytest.approx(0.14 * 2 / (3 + 0.28), abs=0.1)


@pytest.mark.parametrize(("density", "mean"), [(3, 3.05), (0.01, 1)])
def test_projected_features_blend_a_few(density, mean):
    X, y = sampler_data()
    X = np.hstack([X] * 20)
    learner = MCE(n_estimators=10, projection_density=density, random_state=0).fit(X, y)
    counts = [np.diff(m.projection.tocsc().indptr) for m in learner.estimators_]
    assert np.mean(counts) == pytest.approx(mean, rel=0.1)
    assert np.min(counts) >= 1


def test_projected_sparse_rows_stay_sparse():
    X, y = sampler_data()
    kinds = []

    class Watch(GaussianNB):
        def fit(self, X, y):
            kinds.append(type(X))
            return super().fit(X.toarray(), y)

        def predict_proba(self, X):
            return super().predict_proba(X.toarray())

    MCE(Watch(), n_estimators=2).fit(sp.csr_array(X), y)
    assert set(kinds) == {sp.csr_array}


def test_numbers_too_large_to_add_up_are_refused():
    X, y = sampler_data()
    with pytest.raises(InputError, match="too large"):
        MCE(random_state=0).fit(np.sign(X) * np.finfo(float).max, y)


def test_parameters_set_after_fit_change_no_score():
    X, y = sampler_data()
    learner = MCE(GaussianNB(), n_estimators=4, random_state=0).fit(X, y)
    scores = learner.predict_proba(X)
    np.testing.assert_array_equal(learner.set_params(n_estimators=8).predict_proba(X), scores)


@pytest.mark.slow
def test_thresholds_count_weights_that_the_estimator_does_not_ask_for():
    X, y = sampler_data(n=150)
    weight = np.random.default_rng(0).exponential(size=150) ** 3 + 0.01
    with sklearn.config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=False)
        learner = MCE(inner, random_state=0).set_fit_request(sample_weight=True)
        learner.fit(X, y, sample_weight=weight)
    heard = ~np.isnan(learner.oob_scores_).any(axis=1)
    labels, scores = sp.csr_array(y[heard]), learner.oob_scores_[heard]
    expected = search_thresholds(
        ScoredRows.of(labels, scores, weight=weight[heard]), objective="gmean"
    ).own
    np.testing.assert_allclose(learner.thresholds_, expected, atol=1e-8)


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(MCE(n_estimators=2, random_state=0), "own_rule", "draws_rows")
