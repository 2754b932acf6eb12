"""Training sets: clean without being validated again, whatever draws them."""

import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.preprocessing import MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier

from labelance._validation._data import validate_data
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import LabelCalibration, LabelThresholds
from labelance.ensemble import EMLS, EMLSMOTE, MLSOLBagging, draw_training_sets
from labelance.exceptions import InputError
from labelance.learners import BinaryRelevance, MLkNN
from labelance.sampling import MLROS, MLSMOTE, MLSOL, MLUL, BaseMultiLabelSampler, FunctionSampler

X, Y = make_multilabel_imbalanced(60, 4, 3, n_categorical=1, random_state=0)


def mixed_frame(library):
    """Return whole numbers, short floats, and words of which some are rare."""
    words = np.array(list("abcdefghij"))[X[:, -1].astype(int) % 10]
    columns = {
        "whole": (X[:, 0] * 10).astype(int),
        "short": X[:, 1].astype(np.float32),
        "float": X[:, 2],
        "word": words,
    }
    if library == "polars":
        return pl.DataFrame(columns, schema_overrides={"word": pl.Categorical})
    return pd.DataFrame(columns).astype({"word": "category"})


TABLES = {
    "float64": (X, Y),
    "float32": (X.astype(np.float32), Y.astype(bool)),
    "Fortran": (np.asfortranarray(X), np.asfortranarray(Y)),
    "whole": ((X * 10).astype(int), Y.astype(np.int8)),
    "csr": (sp.csr_array(MaxAbsScaler().fit_transform(X).round(1)), sp.csr_array(Y)),
    "pandas": (mixed_frame("pandas"), pd.DataFrame(Y, columns=list("abc"))),
    "polars": (mixed_frame("polars"), pl.DataFrame(Y, schema=list("abc"))),
}
SAMPLERS = [None, MLSOL(), MLSMOTE(), MLROS(), MLUL()]


def count_validations(call):
    seen = Counter()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name in ("validate_features", "validate_labels"):
            seen[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return tuple(seen[name] for name in ("validate_features", "validate_labels"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        EMLS(MLkNN(3), MLSOL(), tune_on="cv"),
        EMLS(MLkNN(3), MLSOL(), bootstrap=True),
        EMLS(DecisionTreeClassifier(), MLROS(), bootstrap="originals", max_features=0.5),
        EMLSMOTE(BinaryRelevance(), n_estimators=2, tune_on="train"),
        MLSOLBagging(MLkNN(3)),
        LabelThresholds(LabelCalibration(MLkNN(3)), tune_on="cv"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["float64", "csr", "pandas"])
def test_one_fit_validates_once(model, kind):
    rows, labels = TABLES[kind]
    if kind == "pandas":
        rows = rows.drop(columns="word")
    assert count_validations(lambda: model.set_params(random_state=0).fit(rows, labels)) == (1, 1)


@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_drawn_rows_are_those_that_validation_would_give(sampler, kind, bootstrap):
    rows, labels = TABLES[kind]
    sets = draw_training_sets(
        sampler, rows, labels, 2, bootstrap=bootstrap, max_features=0.8, random_state=0
    )
    for drawn in sets:
        found, expected = drawn.data, validate_data(drawn.X, drawn.y, caller="A test")
        assert type(drawn.X) is type(rows)
        assert type(drawn.y) is type(labels)
        for one, other in [(found.X, expected.X), (found.Y, expected.Y)]:
            assert one.dtype == other.dtype
            assert_array_equal(*(t.toarray() if sp.issparse(t) else t for t in (one, other)))
        assert_array_equal(found.categorical, expected.categorical)
        assert found.features.schema().categories == expected.features.schema().categories
        assert found.labels.names == expected.labels.names


def spoil(X, y):
    return np.where(X == X.max(), np.inf, X), y


class Spoiler(BaseMultiLabelSampler):
    """A sampler of somebody else."""

    def _plan(self, data, neighborhood):
        return None

    def _draw(self, data, plan, rng):
        return FunctionSampler(spoil, validate=False).plan(data.X, Y).draw(rng)


@pytest.mark.parametrize(
    "sampler",
    [FunctionSampler(spoil, validate=False), Spoiler()],
    ids=lambda one: type(one).__name__,
)
def test_rows_of_other_samplers_are_validated(sampler):
    with pytest.raises(InputError, match="infinity"):
        EMLS(MLkNN(3), sampler).fit(X, Y)


def test_samplers_keep_their_own_rules_about_rows():
    """Missing values are refused by the sampler that cannot measure them, also in an ensemble."""
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(InputError, match="MLSOL does not accept missing values"):
        EMLS(BinaryRelevance(), MLSOL()).fit(holes, Y)
    EMLS(BinaryRelevance(), MLROS(), n_estimators=1, objective=None).fit(holes, Y)
