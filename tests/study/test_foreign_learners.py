"""Learners of others in a study: what they take, they get."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from labelance.datasets import MultiLabelDataset, write_multilabel
from labelance.study import Study, load_study, run_study


class TakesMatrices(KNeighborsClassifier):
    """Rejects sparse arrays, as CatBoost does."""

    def fit(self, X, y):
        return super().fit(self._check(X), y)

    def predict_proba(self, X):
        return super().predict_proba(self._check(X))

    def _check(self, X):
        if not isinstance(X, sp.spmatrix):
            raise TypeError(f"Invalid data type={type(X)}")
        return X


SOLVER = {"class": "sklearn.linear_model.LogisticRegression", "solver": "liblinear"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        {"class": "BinaryRelevance", "estimator": SOLVER},  # takes short indices alone
        {"class": f"{__name__}.TakesMatrices", "n_neighbors": 3},
    ],
    ids=["short indices", "matrices"],
)
@pytest.mark.parametrize("method", [{}, {"sampler": {"class": "MLROS"}, "n_estimators": 2}])
def test_sparse_features_reach_learners_as_they_take_them(learner, method, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 12), density=0.3, rng=rng, format="csr")
    data = MultiLabelDataset(X, (rng.random((60, 3)) < 0.4).astype(int))
    write_multilabel(data, tmp_path / "text.arff")
    study = Study(
        name="texts",
        datasets=[{"name": "text", "path": str(tmp_path / "text.arff")}],
        learners=[{"name": "Learner", **learner}],
        methods=[{"name": "Method", **method}],
        repeats=1,
        folds=2,
    )
    outcome = run_study(study, tmp_path / "texts.store", executor="serial")
    assert (outcome.done, outcome.failed) == (2, 0)


def test_catboost_of_the_leaderboard_takes_constant_labels_and_sparse_rows():
    pytest.importorskip("catboost")
    learner = load_study("leaderboard").learner("CatBoost").component.build(iterations=3)
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(sp.random_array((40, 6), density=0.3, rng=rng))
    y = np.column_stack([rng.random((40, 2)) < 0.4, np.zeros(40), np.ones(40)]).astype(int)
    predicted = learner.fit(X, y).predict(X)
    assert_array_equal(predicted[:, 2:], y[:, 2:])
