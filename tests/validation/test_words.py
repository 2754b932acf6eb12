"""Typical mistakes in Python: each error says what is wrong, where, and what to do."""

import subprocess
import sys
from inspect import getfullargspec, signature

import numpy as np
import pandas as pd
import pytest

import labelance
from labelance.exceptions import LabelanceError
from labelance.learners import BinaryRelevance, C45Classifier, MLkNN
from labelance.play import Playground
from labelance.sampling import all_samplers

rng = np.random.default_rng(0)
X = rng.random((40, 4))
Y = (X[:, :3] < [0.5, 0.3, 0.2]).astype(int)
REPEATED = pd.DataFrame(X, columns=["a", "b", "a", "c"])
FRAME = pd.DataFrame(X, columns=list("abcd"))
MIXED = pd.DataFrame(X, columns=["a", 1, "b", 2.5])

MISTAKES = {
    "weights that are words": (
        lambda: BinaryRelevance().fit(X, Y, sample_weight=["x"] * 40),
        ("one number >= 0 per row", "not hold numbers", "one number per row"),
    ),
    "weights of a tree that are words": (
        lambda: C45Classifier().fit(X, Y[:, 0], sample_weight=["x"] * 40),
        ("one number >= 0 per row", "not hold numbers", "one number per row"),
    ),
    "numbers that no forest takes": (
        lambda: labelance.advise(X * 1e300, Y),
        ("3.4e38", "larger", "Scale X down"),
    ),
    "a port that is a word": (
        lambda: Playground(port="x"),
        ("free port", "port='x'", "another integer"),
    ),
    "repeated names": (
        lambda: labelance.profile(REPEATED, Y),
        ("different names", "Repeated names: a", "X.columns ="),
    ),
    "names of two types": (
        lambda: labelance.profile(MIXED, Y),
        ("be strings", "1 is of type int", "astype(str)"),
    ),
    "names of two types in rows to predict": (
        lambda: MLkNN(3).fit(X, Y).predict(MIXED),
        ("be strings", "1 is of type int", "astype(str)"),
    ),
    "rows without labels that are NaN": (
        lambda: labelance.profile(X, pd.Series(["a;b", "a", None, "b"] * 10).str.split(";")),
        ("list of labels", "Row 2 has", "isinstance(row, list) else []"),
    ),
    "the name of a file": (
        lambda: labelance.MLSOL().fit_resample("songs.csv", Y),
        ("table of numbers", "X is a str", "read_multilabel('songs.csv', labels=…).to_X_y()"),
    ),
    "columns in a dict": (
        lambda: labelance.MLSOL().fit_resample({"a": X[:, 0]}, Y),
        ("table of numbers", "X is a dict", "pandas.DataFrame(X)"),
    ),
    "ids": (
        lambda: labelance.MLSOL().fit_resample(FRAME.assign(a=[f"s{i}" for i in range(40)]), Y),
        ("categories that rows share", "'a' has 40 different strings", "X.drop(columns='a')"),
    ),
    "numbers that are strings": (
        lambda: labelance.profile(FRAME.astype({"b": str}), Y),
        ("categories that rows share", "'b'", "X['b'] = X['b'].astype(float)"),
    ),
    "decimal commas": (
        lambda: labelance.profile(FRAME.assign(b=FRAME.b.astype(str).str.replace(".", ",")), Y),
        ("categories that rows share", "'b'", "X['b'].str.replace(',', '.').astype(float)"),
    ),
    "dates": (
        lambda: labelance.advise(FRAME.assign(day=pd.date_range("2020", periods=40)), Y),
        ("numbers, booleans or categories", "dates or times: 'day'", "X.drop(columns='day')"),
    ),
    "a parameter without its name": (
        lambda: labelance.MLSOL(0.3, 5),
        ("MLSOL takes no positional", "Got 2", "for example sampling_ratio=0.3. Choose from: "),
    ),
    "a label without a name": (
        lambda: labelance.profile(X, pd.Series(["a;b", "a", "", "b"] * 10).str.split(";")),
        (
            "is empty or has spaces",
            "Got ''",
            "[[name.strip() for name in row if name.strip()] for row in y]",
        ),
    ),
    "blanks around labels": (
        lambda: labelance.profile(X, pd.Series(["a; b", "a", "b", "b"] * 10).str.split(";")),
        (
            "is empty or has spaces",
            "Got ' b'",
            "[[name.strip() for name in row if name.strip()] for row in y]",
        ),
    ),
    "images": (
        lambda: labelance.MLSOL().fit_resample(np.zeros((40, 2, 2, 3)), Y),
        ("two dimensions", "4 dimension", "X.reshape(len(X), -1)"),
    ),
    "a sampler's parameter in British English": (
        lambda: labelance.MLSOL(k_neighbours=3),
        (
            "MLSOL has no parameter 'k_neighbours'",
            "Its parameters are: algorithm, categorical_features, ",
            "Did you mean 'k_neighbors'?",
        ),
    ),
    "a learner's parameter": (
        lambda: BinaryRelevance(n_job=2),
        ("BinaryRelevance has no parameter 'n_job'", "n_jobs", "Did you mean 'n_jobs'?"),
    ),
    "a tree's parameter": (
        lambda: C45Classifier(min_leaf=2),
        ("C45Classifier has no parameter 'min_leaf'", "min_samples_leaf", "Correct"),
    ),
    "an ensemble's parameter": (
        lambda: labelance.EMLSOL(n_estimator=2),
        ("EMLSOL has no parameter 'n_estimator'", "n_estimators", "Did you mean 'n_estimators'"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_cure(mistake):
    call, words = MISTAKES[mistake]
    with pytest.raises(LabelanceError) as caught:
        call()
    error = caught.value
    for part, word in zip((error.problem, error.found, error.cure), words):
        assert word in part


@pytest.mark.parametrize("sampler", all_samplers().values(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("frame", [REPEATED, MIXED], ids=["repeated", "mixed"])
def test_no_sampler_takes_names_that_are_unclear(sampler, frame):
    with pytest.raises(LabelanceError, match=r"The column.* of X must .* X\.columns ="):
        sampler().fit_resample(frame, Y)


def test_columns_are_dropped_in_the_words_of_the_library():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"id": [f"s{i}" for i in range(40)], "x": X[:, 0]})
    with pytest.raises(LabelanceError, match=r"Drop it, X\.drop\('id'\), or"):
        labelance.MLSOL().fit_resample(frame, Y)
    dates = pl.from_pandas(pd.DataFrame({"d": pd.date_range("2020", periods=40), "x": X[:, 0]}))
    with pytest.raises(LabelanceError, match=r"X\.drop\('d'\), or convert them to numbers; "):
        labelance.MLSOL().fit_resample(dates, Y)


def test_a_tensor_of_images_is_to_be_flattened():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(LabelanceError, match=r"4 dimension\(s\)\. Flatten each row: X\.reshape"):
        labelance.MLSOL().fit_resample(torch.zeros((40, 2, 2, 3)), torch.as_tensor(Y))


def test_asking_for_an_attribute_imports_nothing():
    code = "import labelance, sys; hasattr(labelance, 'x'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("made", [labelance.MLSOL, BinaryRelevance, C45Classifier])
def test_the_list_of_parameters_leaves_init_as_it_was_written(made):
    init = getfullargspec(made.__init__)  # which does not look behind wrappers
    assert init.varargs is None
    assert init.varkw is None
    assert [*init.args[1:], *init.kwonlyargs] == list(signature(made).parameters)
