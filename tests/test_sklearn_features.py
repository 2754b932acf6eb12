"""What scikit-learn 1.9 brought: callbacks, sparse arrays as output, array API dispatch."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import OneHotEncoder

from labelance import MLROS
from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance

callback = pytest.importorskip("sklearn.callback", reason="from scikit-learn 1.9 on")


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(80, 4, 3, random_state=0)


def test_callbacks_of_learners_inside_ours_are_called(data, capsys):
    pytest.importorskip("rich")
    plain = BinaryRelevance(LogisticRegression()).fit(*data)
    inner = LogisticRegression().set_callbacks(callback.ProgressBar())
    seen = BinaryRelevance(inner).fit(*data)
    assert capsys.readouterr().out.count("LogisticRegression") == data[1].shape[1]
    assert_array_equal(seen.predict_proba(data[0]), plain.predict_proba(data[0]))


@pytest.mark.filterwarnings("ignore:The estimator BinaryRelevance does not support callbacks")
def test_callbacks_of_a_search_over_ours_are_called(data, capsys):
    pytest.importorskip("rich")
    search = GridSearchCV(BinaryRelevance(LogisticRegression()), {"estimator__C": [1, 2]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(*data)
    assert "GridSearchCV" in capsys.readouterr().out


def test_our_estimators_have_no_callbacks():
    """They show progress with verbose=1."""
    assert not hasattr(BinaryRelevance(LogisticRegression()), "set_callbacks")


@pytest.mark.parametrize("interface", ["spmatrix", "sparray"])
def test_sparse_output_of_scikit_learn_goes_in_and_comes_out(data, interface):
    X, y = (data[0] > 0).astype(str), data[1]
    kind = {"spmatrix": sp.csr_matrix, "sparray": sp.csr_array}[interface]
    with config_context(sparse_interface=interface):
        encoded = OneHotEncoder().fit_transform(X)
        assert type(encoded) is kind
        X_more, y_more = MLROS(random_state=0).fit_resample(encoded, kind(y))
        model = BinaryRelevance(LogisticRegression()).fit(X_more, y_more)
        found = model.predict_proba(encoded)
    assert type(X_more) is type(y_more) is kind
    dense = MLROS(random_state=0).fit_resample(encoded.toarray(), y)
    assert_array_equal(X_more.toarray(), dense[0])
    assert np.asarray(found).shape == y.shape


@pytest.mark.slow  # scipy reads the variable when it is imported: another process
def test_array_api_dispatch_changes_nothing_for_arrays():
    code = """
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance

X, y = make_multilabel_imbalanced(80, 4, 3, random_state=0)
plain = BinaryRelevance(LogisticRegression()).fit(X, y).predict_proba(X)
with config_context(array_api_dispatch=True):
    found = BinaryRelevance(LogisticRegression()).fit(X, y).predict_proba(X)
assert_array_equal(found, plain)
"""
    env = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
