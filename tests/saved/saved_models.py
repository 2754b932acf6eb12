"""Write the models and results of this version: ``python tests/saved/saved_models.py``.

``test_saved.py`` opens the folder of every version. A release writes one, and does not touch those
of earlier ones. Until 0.1.0 is released, its folder may be written again.
"""

import pickle
import shutil
from pathlib import Path

import numpy as np

import labelance
from labelance import EMLSOL, MLSOL, LabelThresholds
from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance, C45Classifier, MLkNN
from labelance.study import export_results, load_study, run_study

HERE = Path(__file__).parent


def make_rows():
    """Return the rows that models learn from and predict."""
    return make_multilabel_imbalanced(80, 4, 3, random_state=0)


def make_models():
    """Return models of every kind of state: trees, neighbors, thresholds, members, a sampler."""
    # No learner of scikit-learn inside: its pickles are no promise of ours.
    trees = BinaryRelevance(C45Classifier(min_samples_leaf=10))
    return {
        "binary_relevance": trees,
        "mlknn": MLkNN(5),
        "label_thresholds": LabelThresholds(trees, random_state=0),
        "emlsol": EMLSOL(trees, n_estimators=2, random_state=0),
        "mlsol": MLSOL(random_state=0),
    }


def apply_model(model, X, y):
    """Return the scores of a classifier, or how many rows a sampler returns.

    What these rows are, the golden results promise, until the changelog says otherwise.
    """
    return len(model.fit_resample(X, y)[1]) if isinstance(model, MLSOL) else model.predict_proba(X)


def main():
    folder = HERE / labelance.__version__
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    X, y = make_rows()
    expected = {}
    for name, model in make_models().items():
        if not isinstance(model, MLSOL):
            model.fit(X, y)
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(model, protocol=4))
        expected[name] = apply_model(model, X, y)
    np.savez_compressed(folder / "expected.npz", **expected)
    quick = load_study("quick")
    study = quick.only(datasets=[quick.datasets[0].name], learners=["MLkNN"], repeats=1)
    run_study(study, folder / "study.store", executor="serial")
    export_results(folder / "study.store", folder / "results")


if __name__ == "__main__":
    main()
