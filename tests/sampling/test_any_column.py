"""Samplers that only copy or delete rows take any column; named columns of text are categorical."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from labelance import advise, profile
from labelance.datasets import read_multilabel
from labelance.exceptions import InputError, MissingValuesError
from labelance.learners import SOSHF, BinaryRelevance, C45Classifier, MLkNN
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    REMEDIAL,
    RHwHUS,
)

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


STRINGS = {
    "strings": lambda frame: frame,
    "objects": lambda frame: frame.astype({"city": object}),
    "polars": pl.from_pandas,
}


@pytest.mark.slow
@pytest.mark.parametrize("convert", STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize("kind", [MLSOL, MLSMOTE, MLTL, RHwHUS])
def test_a_frame_with_strings_is_the_same_as_its_csv_file(kind, convert, tmp_path):
    frame = convert(FRAME[["size", "city"]].reset_index(drop=True))
    FRAME[["size", "city"]].assign(a=Y[:, 0], b=Y[:, 1], c=Y[:, 2]).to_csv(
        tmp_path / "table.csv", index=False
    )
    X, y = read_multilabel(tmp_path / "table.csv", labels=["a", "b", "c"]).to_X_y()
    sampler = kind() if kind is MLTL else kind(random_state=0)
    X_new, Y_new = sampler.fit_resample(frame, Y)
    X_read, Y_read = sampler.fit_resample(X, y)
    assert list(X_new.dtypes) == list(frame.dtypes)
    assert list(X_new["city"]) == list(X_read["city"])
    assert_array_equal(X_new["size"], X_read["size"])
    assert_array_equal(Y_new, Y_read)
    assert str(profile(frame, Y)) == str(profile(X, Y))


@pytest.mark.slow
def test_learners_take_strings_as_categories_and_only_where_fit_had_them():
    frame = FRAME[["size", "city"]]
    declared = frame.astype({"city": "category"})
    for learner, y in ((MLkNN(5), Y), (C45Classifier(), Y[:, 0])):
        expected = learner.fit(declared, y).predict_proba(declared)
        assert_array_equal(learner.fit(frame, y).predict_proba(frame[:7]), expected[:7])
    numbers = MLkNN(5).fit(frame[["size"]], Y)
    with pytest.raises(InputError, match="fitted with numbers in columns 'size'"):
        numbers.predict(frame[["city"]].rename(columns={"city": "size"}))


@pytest.mark.slow
def test_advice_on_strings_is_a_model_that_takes_them():
    advice = advise(FRAME[["size", "city"]], Y, budget=3)
    assert advice.estimator.fit(FRAME[["size", "city"]], Y).predict(FRAME[["size", "city"]]).shape


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_free_text_is_refused_with_its_cure(share):
    texts = [f"text {t}" if t < 60 * share else "none" for t in range(60)]
    frame = pd.DataFrame({"size": NUMBERS[:, 0], "note": texts})
    for call in (MLSOL().fit_resample, MLSMOTE().fit_resample, MLkNN(5).fit):
        with pytest.raises(InputError, match=r"'note' of X is text.* Put a vectorizer before it"):
            call(frame, Y)
    assert list(MLROS().fit_resample(frame, Y)[0].dtypes) == list(frame.dtypes)


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
    with pytest.raises(MissingValuesError, match="missing='distance'") as caught:
        MLSOL().fit_resample(X, Y)
    assert "GPU" not in str(caught.value)
    with pytest.raises(MissingValuesError, match="drop these rows") as caught:
        SOSHF().fit(X, Y)
    assert "missing=" not in str(caught.value)
