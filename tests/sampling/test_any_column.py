"""Samplers that only copy or delete rows take any column; named columns of text are categorical."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from labelance.exceptions import InputError, MissingValuesError
from labelance.learners import SOSHF, BinaryRelevance
from labelance.sampling import LPROS, LPRUS, MLROS, MLRUS, MLSMOTE, MLSOL, REMEDIAL

rng = np.random.default_rng(0)
NUMBERS = rng.random((60, 2))
Y = (rng.random((60, 3)) < [0.6, 0.3, 0.15]).astype(int)
CITIES = np.array(["Oslo", "Rome", "Bern"])[rng.integers(0, 3, 60)]

FRAME = pd.DataFrame(
    {
        "size": NUMBERS[:, 0],
        "city": CITIES,
        "day": pd.date_range("2026-01-01", periods=60),
        "thing": [{"row": t} for t in range(60)],
    },
    index=np.arange(100, 160),
)
TABLES = {
    "pandas": FRAME,
    "polars": pl.DataFrame({"size": NUMBERS[:, 0], "city": CITIES}),
    "array": np.array([["a", "b"]] * 60) + CITIES[:, None],
    "objects": FRAME.to_numpy(),
    "list": [["text", t] for t in range(60)],
}


@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("kind", [MLROS, MLRUS, LPROS, LPRUS, REMEDIAL])
def test_rows_are_copied_whatever_they_hold(kind, X):
    sampler = kind() if kind is REMEDIAL else kind(random_state=0)
    rows = np.arange(60).reshape(-1, 1)
    chosen, Y_numbers = sampler.fit_resample(rows, Y)
    X_new, Y_new = sampler.fit_resample(X, Y)
    assert_array_equal(Y_new, Y_numbers)
    assert type(X_new) is type(X)
    chosen = chosen.ravel().tolist()
    if isinstance(X, pd.DataFrame):
        assert list(X_new.dtypes) == list(X.dtypes)
        assert X_new.reset_index(drop=True).equals(X.iloc[chosen].reset_index(drop=True))
        if len(set(chosen)) == len(chosen):
            assert list(X_new.index) == list(X.index[chosen])
    elif isinstance(X, pl.DataFrame):
        assert X_new.equals(X[chosen])
    else:
        assert [list(row) for row in X_new] == [list(X[row]) for row in chosen]
    assert sampler.explain(X, Y).after.n_samples == len(chosen)


def test_samplers_that_compute_with_features_still_refuse_text():
    with pytest.raises(InputError, match="'city'"):
        MLSOL().fit_resample(FRAME[["size", "city"]], Y)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("kind", [MLSOL, MLSMOTE])
def test_a_named_column_of_text_is_categorical(kind, library):
    text = library.DataFrame({"size": NUMBERS[:, 0], "city": CITIES})
    declared = pd.DataFrame({"size": NUMBERS[:, 0], "city": CITIES}).astype({"city": "category"})
    X_text, Y_text = kind(categorical_features=["city"], random_state=0).fit_resample(text, Y)
    X_declared, Y_declared = kind(random_state=0).fit_resample(declared, Y)
    assert type(X_text) is type(text)
    assert X_text["city"].dtype == text["city"].dtype
    assert list(X_text["city"]) == list(X_declared["city"])
    assert_array_equal(X_text["size"], X_declared["size"])
    assert_array_equal(Y_text, Y_declared)


def test_a_learner_takes_the_words_that_it_saw():
    text = pd.DataFrame({"size": NUMBERS[:, 0], "city": CITIES})
    model = BinaryRelevance(categorical_features=["city"]).fit(text, Y)
    declared = BinaryRelevance().fit(text.astype({"city": "category"}), Y)
    new = text[:9].assign(city=["Oslo", "Rome", "Bern"] * 3)
    same = new.astype({"city": pd.CategoricalDtype(["Bern", "Oslo", "Rome"])})
    assert_array_equal(model.predict_proba(new), declared.predict_proba(same))


def test_the_message_about_missing_values_names_only_what_there_is():
    X = NUMBERS.copy()
    X[3, 1] = np.nan
    with pytest.raises(MissingValuesError, match='missing="distance"') as caught:
        MLSOL().fit_resample(X, Y)
    assert "GPU" not in str(caught.value)
    with pytest.raises(MissingValuesError, match="drop these rows") as caught:
        SOSHF().fit(X, Y)
    assert "missing=" not in str(caught.value)
