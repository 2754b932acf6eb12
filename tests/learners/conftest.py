"""Small data, scikit-learn's checks, and the folds of the authors' program, for all learners."""

import csv
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

from labelance.datasets import load_dataset
from labelance.learners import C45Classifier
from labelance.metrics import macro_auc_pr, macro_auc_roc, macro_f1

# scikit-learn checks classifiers of flat targets; what a learner of (n, q) labels cannot pass.
CANNOT_PASS = {
    "check_estimators_dtypes": "feeds the classes 1 and 2; labels are 0 or 1",
    "check_classifier_data_not_an_array": "feeds the classes 1 and 2; labels are 0 or 1",
    "check_fit2d_1feature": "feeds the classes 1 and 2; labels are 0 or 1",
    "check_estimator_sparse_array": "expects two columns of probabilities for one label",
    "check_estimator_sparse_matrix": "expects two columns of probabilities for one label",
    "check_classifiers_classes": "feeds a flat target of words",
    "check_classifiers_train": "expects flat predictions",
    "check_dtype_object": "expects numpy's words for a cell that is no number; ours name the cure",
}
# With weights of rows, the same again.
WEIGHTED = {
    "check_sample_weights_pandas_series": "feeds the classes 1 and 2; labels are 0 or 1",
    "check_sample_weights_not_an_array": "feeds the classes 1 and 2; labels are 0 or 1",
    "check_sample_weights_shape": "feeds the classes 1 and 2; labels are 0 or 1",
    "check_sample_weights_not_overwritten": "feeds the classes 1 and 2; labels are 0 or 1",
}
# What some learners cannot pass either, by a name that tells why.
SURE = {"check_classifiers_multilabel_output_format_predict_proba": "forbids scores of 0 and 1"}
OWN_RULE = {"check_classifier_multioutput": "expects every label to be predicted from 0.5 on"}
DRAWS_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "draws other rows where a row is repeated",
    "check_sample_weight_equivalence_on_sparse_data": "draws other rows where a row is repeated",
}
FEW_ROWS = {"check_fit2d_1sample": "expects its own words where neighbors are too few"}


@pytest.fixture(scope="session")
def pass_scikit_learn_checks():
    """A function that runs scikit-learn's checks: those named fail, and only those, at most 16."""
    groups = {"sure": SURE, "own_rule": OWN_RULE, "few_rows": FEW_ROWS, "draws_rows": DRAWS_ROWS}

    def run(learner, *names):
        expected = dict(CANNOT_PASS)
        if has_fit_parameter(learner, "sample_weight"):
            expected |= WEIGHTED
        for name in names:
            expected |= groups[name]
        results = check_estimator(
            learner, expected_failed_checks=expected, on_skip=None, on_fail="raise"
        )
        failed = {result["check_name"] for result in results if result["status"] == "xfail"}
        assert failed == set(expected)
        assert len(failed) <= 16

    return run


@pytest.fixture
def small():
    """X, Y and new rows: numbers with ties, six labels, one rare, one never, one always there."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (90, 5)) / 4
    noise = rng.normal(size=(90, 6))
    Y = (X[:, [0, 1, 2, 3, 4, 0]] + 0.4 * noise > [1.5, 1.2, 1.8, 2.6, 9, -9]).astype(int)
    return X, Y, rng.integers(0, 12, (40, 5)) / 4


@dataclass(frozen=True)
class Fold:
    """One test fold of the authors' program, and the figures it got there."""

    dataset: object
    train: np.ndarray
    test: np.ndarray
    figures: np.ndarray

    @property
    def estimator(self):
        """C4.5 that knows the declared categories, as the program's trees do."""
        nominal = np.flatnonzero(self.dataset.categorical_features)
        sizes = [len(self.dataset.categories[j]) for j in nominal]
        return C45Classifier(categorical_features=nominal, n_categories=sizes)

    def fit(self, learner):
        return learner.fit(self.dataset.values[self.train], self.dataset.Y[self.train])

    def measure(self, labels, scores):
        """Return F, AUC and AUCPR by the program's rules."""
        Y = self.dataset.Y[self.test]
        return np.array(
            [
                macro_f1(Y, labels, zero_division=1),
                macro_auc_roc(Y, scores, undefined="nan"),
                macro_auc_pr(Y, scores, undefined=0),
            ]
        )


@pytest.fixture
def authors_folds(reference):
    """A function from dataset and learner to the ten folds without sampling."""

    def folds(name, learner):
        data = load_dataset(name, protocol="paper")
        table = reference(f"results/folds_{name}.csv")
        fold_of = np.loadtxt(table, delimiter=",", skiprows=1, dtype=int)[:, 1:]
        with reference(f"results/perfold_{name}.csv").open() as lines:
            rows = [
                row
                for row in csv.DictReader(lines)
                if (row["learner"], row["method"]) == (learner, "None")
            ]
        assert len(rows) == 10
        made = []
        for row in rows:
            test = fold_of[:, int(row["repetition"])] == int(row["fold"])
            figures = np.array([float(row[key]) for key in ("F", "AUC", "AUCPR")])
            made.append(Fold(data, np.flatnonzero(~test), np.flatnonzero(test), figures))
        return made

    return folds
