"""The tools that every package uses."""

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from labelance._utils._random import draw_seeds, set_random_states


def test_all_random_states_get_one_seed():
    bagging = BaggingClassifier(DecisionTreeClassifier(random_state=3))
    pipeline = make_pipeline(GaussianNB(), bagging)
    assert set_random_states(pipeline, 5) is pipeline
    assert (bagging.random_state, bagging.estimator.random_state) == (5, 5)


def test_what_a_user_set_stays_if_asked():
    bagging = BaggingClassifier(DecisionTreeClassifier(random_state=3))
    set_random_states(bagging, 5, only_unset=True)
    assert (bagging.random_state, bagging.estimator.random_state) == (5, 3)


def test_a_generator_gives_the_seed_only_where_one_is_needed():
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    set_random_states(GaussianNB(), rng)
    set_random_states(object(), rng)
    model = set_random_states(LogisticRegression(), rng)
    assert model.random_state == draw_seeds(other, 1)[0] == 1826701614
