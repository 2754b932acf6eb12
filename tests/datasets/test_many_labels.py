"""Labels of which there are many, in the hands of scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import LabelBinarizer

from labelance._validation._data import validate_labels
from labelance.datasets import MultiLabelDataset, make_multilabel_imbalanced

N_LABELS = 140  # more than int8 can number
X, Y = make_multilabel_imbalanced(60, n_labels=N_LABELS, random_state=0)
EVERY = {
    "Y": MultiLabelDataset(X, Y).Y,
    "to_X_y": MultiLabelDataset(X, Y).to_X_y()[1],
    "take": MultiLabelDataset(X, Y).take(np.arange(60)).Y,
    "dense": Y,
    "sparse": make_multilabel_imbalanced(
        60, n_labels=N_LABELS, random_state=0, return_indicator="sparse"
    )[1],
    "lists": validate_labels(
        [[f"y{j}" for j in np.flatnonzero(row)] for row in Y], caller="me"
    ).table,
}


def dense(y):
    return y.toarray() if issparse(y) else y


@pytest.mark.parametrize("y", EVERY.values(), ids=EVERY)
def test_no_label_changes_its_place_in_scikit_learn(y):
    assert y.shape[1] > 128
    assert np.array_equal(dense(LabelBinarizer(sparse_output=True).fit_transform(y)), dense(y))


@pytest.mark.slow
def test_one_vs_rest_learns_the_labels_of_a_sparse_y():
    data = MultiLabelDataset(X, Y)
    learned = OneVsRestClassifier(GaussianNB()).fit(data.X, data.Y).predict(X)
    expected = OneVsRestClassifier(GaussianNB()).fit(X, Y.astype(np.int64)).predict(X)
    assert np.array_equal(dense(learned), expected)
