"""Learners of others in a study: what they take, they get."""

import numpy as np
import scipy.sparse as sp

from labelance.datasets import MultiLabelDataset, write_multilabel
from labelance.study import Study, run_study


def test_sparse_features_reach_solvers_that_take_short_indices_alone(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 12), density=0.3, rng=rng, format="csr")
    data = MultiLabelDataset(X, (rng.random((60, 3)) < 0.4).astype(int))
    write_multilabel(data, tmp_path / "text.arff")
    solver = {"class": "sklearn.linear_model.LogisticRegression", "solver": "liblinear"}
    study = Study(
        name="texts",
        datasets=[{"name": "text", "path": str(tmp_path / "text.arff")}],
        learners=[{"name": "BR", "class": "BinaryRelevance", "estimator": solver}],
        methods=[{"name": "Default"}],
        repeats=1,
        folds=2,
    )
    outcome = run_study(study, tmp_path / "texts.db", executor="serial")
    assert (outcome.done, outcome.failed) == (2, 0)
