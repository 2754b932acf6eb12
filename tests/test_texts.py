"""Meta-estimators hand texts and other rows on to the estimator inside, which reads them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import RandomOverSampler
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from labelance.decisions import (
    BudgetClassifier,
    LabelCalibration,
    LabelThresholds,
    RecallGuarantee,
)
from labelance.ensemble import EMLS, RareLabelClassifier
from labelance.exceptions import InputError
from labelance.learners import (
    COCOA,
    IRUS,
    BinaryRelevance,
    CalibratedLabelRanking,
    LabelPowerset,
    PerLabel,
    RAkEL,
)

pytestmark = pytest.mark.usefixtures("few_steps")

WORDS = np.array(["sun", "rain", "wind", "snow", "hail", "fog", "frost", "storm"])


def texts_and_labels(n: int = 90) -> tuple[list[str], np.ndarray]:
    """Return texts, and labels that a word brings about."""
    present = np.random.default_rng(0).random((n, len(WORDS))) < 0.4
    present[:, 0] = True  # no empty text
    texts = [" ".join(WORDS[row]) for row in present]
    return texts, (present[:, 1:4] & present[:, 4:7]).astype(int)


def pipeline() -> Pipeline:
    return make_pipeline(CountVectorizer(), MultiOutputClassifier(LogisticRegression()))


def single() -> Pipeline:
    return make_pipeline(CountVectorizer(), LogisticRegression())


MODELS = {
    "thresholds": LabelThresholds(pipeline(), random_state=0),
    "thresholds of relevance": LabelThresholds(BinaryRelevance(single()), random_state=0),
    "out of bag": LabelThresholds(
        make_pipeline(CountVectorizer(), RandomForestClassifier(5, random_state=0))
    ),
    "calibration": LabelCalibration(pipeline(), random_state=0),
    "recall": RecallGuarantee(pipeline(), too_few="pool", random_state=0),
    "recall out of fold": RecallGuarantee(
        pipeline(), too_few="always", tune_on="cv", random_state=0
    ),
    "budget": BudgetClassifier(LabelCalibration(pipeline(), random_state=0), per_row=2),
    "ensemble": EMLS(pipeline(), n_estimators=2, random_state=0),
    "bagging": EMLS(pipeline(), n_estimators=4, bootstrap=True, random_state=0),
    "relevance": BinaryRelevance(single()),
    "powerset": LabelPowerset(single()),
    "ranking": CalibratedLabelRanking(single()),
    "rakel": RAkEL(single(), labelset_size=2, random_state=0),
    "irus": IRUS(single(), n_estimators=2, random_state=0),
    "cocoa": COCOA(single(), n_couples=2, random_state=0),
}

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "series": lambda texts: pd.Series(texts, name="text"),
    "strings": lambda texts: pd.Series(texts, dtype="string"),
    "polars": lambda texts: pl.Series("text", texts),
    "objects": lambda texts: np.array(texts, dtype=object),
    "array": np.array,
}


@pytest.mark.parametrize("name", MODELS)
def test_texts_give_what_their_counts_give(name: str) -> None:
    texts, y = texts_and_labels()
    model = MODELS[name]
    counts = CountVectorizer().fit_transform(texts)
    # Every vectorizer sees every word, so that the one before is the one inside.
    keys = [key for key in model.get_params() if key.endswith("countvectorizer")]
    plain = clone(model).set_params(**dict.fromkeys(keys, "passthrough"))
    inside = clone(model).fit(texts[:60], y[:60])
    before = plain.fit(counts[:60], y[:60])
    np.testing.assert_allclose(
        inside.predict_proba(texts[60:]), before.predict_proba(counts[60:]), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(inside.predict(texts[60:]), before.predict(counts[60:]))
    assert not hasattr(inside, "n_features_in_")


@pytest.mark.parametrize("name", ["thresholds", "recall", "bagging", "relevance"])
def test_texts_come_in_any_container(name, case):
    for kind in CONTAINERS:
        with case(kind):
            texts, y = texts_and_labels()
            expected = clone(MODELS[name]).fit(texts, y)
            found = clone(MODELS[name]).fit(CONTAINERS[kind](texts), y)
            np.testing.assert_array_equal(
                found.predict_proba(CONTAINERS[kind](texts)), expected.predict_proba(texts)
            )
            assert found.score(CONTAINERS[kind](texts), y) == expected.score(texts, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_text_and_numbers_go_on_as_they_are(frame: type) -> None:
    texts, y = texts_and_labels()
    X = frame({"text": texts, "length": [len(text) for text in texts]})
    read = make_column_transformer((CountVectorizer(), "text"), remainder="passthrough")
    model = LabelThresholds(BinaryRelevance(make_pipeline(read, LogisticRegression())))
    model.fit(X, y)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["text", "length"]
    assert model.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["length", "text"]])


def test_lists_of_words_are_rows_whatever_their_lengths() -> None:
    texts, y = texts_and_labels()
    words = [text.split() for text in texts]
    read = CountVectorizer(analyzer=list)
    model = BinaryRelevance(make_pipeline(read, LogisticRegression())).fit(words, y)
    expected = BinaryRelevance(single()).fit(texts, y)
    np.testing.assert_array_equal(model.predict_proba(words), expected.predict_proba(texts))
    assert model.predict([["sun"], ["fog"]]).shape == (2, 3)


def test_per_label_samples_frames_of_text() -> None:
    texts, y = texts_and_labels()
    X = pd.DataFrame({"text": texts})
    read = make_column_transformer((CountVectorizer(), "text"))
    model = PerLabel(RandomOverSampler(), make_pipeline(read, LogisticRegression()), random_state=0)
    model.fit(X, y)
    assert not len(model.unsampled_labels_)
    assert model.predict_proba(X).shape == y.shape


def test_text_models_are_searched_validated_and_pickled() -> None:
    texts, y = texts_and_labels()
    model = LabelThresholds(pipeline(), random_state=0)
    assert np.isfinite(cross_val_score(model, texts, y, cv=3)).all()
    C = "estimator__multioutputclassifier__estimator__C"
    search = GridSearchCV(model, {C: [0.1, 1.0]}, cv=2).fit(pd.Series(texts), y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(texts), search.predict(texts))
    weight = np.arange(len(texts)) % 2
    some = [text for text, used in zip(texts, weight) if used]
    relevance = BinaryRelevance(make_pipeline(CountVectorizer(), LogisticRegression()))
    weighed = clone(relevance).fit(texts, y, sample_weight=weight)  # the last step takes them
    alone = relevance.fit(some, y[weight == 1])
    np.testing.assert_allclose(weighed.predict_proba(some), alone.predict_proba(some), atol=0.01)
    assert clone(model).fit(some, y[weight == 1]).predict(some).shape == (45, 3)


def test_a_fitted_text_pipeline_is_calibrated_without_another_fit() -> None:
    texts, y = texts_and_labels()
    fitted = pipeline().fit(texts, y)
    model = RecallGuarantee(FrozenEstimator(fitted), too_few="always").fit(texts, y)
    scores = np.column_stack([p[:, 1] for p in fitted.predict_proba(texts)])
    np.testing.assert_array_equal(model.predict_proba(texts), scores)


def test_unknown_labels_of_texts_are_left_out() -> None:
    texts, y = texts_and_labels()
    holes = y.astype(float)
    holes[:10, 0] = np.nan
    model = LabelThresholds(BinaryRelevance(single()), random_state=0).fit(texts, holes)
    expected = single().fit(texts[10:], y[10:, 0]).predict_proba(texts)[:, 1]
    np.testing.assert_allclose(model.predict_proba(texts)[:, 0], expected)


@pytest.mark.parametrize("model", [LabelThresholds(RandomForestClassifier(5)), BinaryRelevance()])
def test_models_that_read_numbers_refuse_texts_themselves(model: object) -> None:
    texts, y = texts_and_labels()
    with pytest.raises(InputError, match=r"X is text, .* list of 90 strings\. .*TfidfVectorizer"):
        model.fit(texts, y)


@pytest.mark.parametrize("X", [None, "one text", {"text": ["a", "b"]}])
def test_what_has_no_rows_is_refused(X: object) -> None:
    _, y = texts_and_labels(3)
    with pytest.raises(InputError, match="X must be a table"):
        LabelThresholds(pipeline()).fit(X, y)


@pytest.mark.parametrize("model", [MODELS["thresholds"], RareLabelClassifier()])
def test_complex_numbers_are_refused_before_labels_are_read(model: object) -> None:
    with pytest.raises(InputError, match="Complex data not supported"):
        model.fit(np.full((4, 1), 1j), np.full(4, 1j))


def test_rows_and_labels_of_other_numbers_are_refused() -> None:
    texts, y = texts_and_labels()
    with pytest.raises(InputError, match="same number of rows"):
        LabelThresholds(pipeline()).fit(texts[1:], y)
    with pytest.raises(InputError, match="at least one row"):
        LabelThresholds(pipeline()).fit(texts, y).predict([])


def test_a_model_fitted_to_numbers_before_forgets_their_columns() -> None:
    texts, y = texts_and_labels()
    counts = CountVectorizer().fit_transform(texts)
    model = BinaryRelevance(LogisticRegression()).fit(counts, y)
    assert model.n_features_in_ == counts.shape[1]
    model.set_params(estimator=single()).fit(texts, y)
    assert not hasattr(model, "n_features_in_")
