"""Typical mistakes in Python: each error says what is wrong, where, and what to do."""

import subprocess
import sys
from inspect import getfullargspec, signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

import labelance
from labelance import ensemble, learners, metrics, sampling
from labelance.decisions import find_thresholds
from labelance.exceptions import InputError, LabelanceError
from labelance.learners import BinaryRelevance, C45Classifier, MLkNN
from labelance.metrics import macro_f1
from labelance.neighbors import find_neighbors
from labelance.play import Playground
from labelance.sampling import all_samplers

rng = np.random.default_rng(0)
X = rng.random((40, 4))
Y = (X[:, :3] < [0.5, 0.3, 0.2]).astype(int)
REPEATED = pd.DataFrame(X, columns=["a", "b", "a", "c"])
FRAME = pd.DataFrame(X, columns=list("abcd"))
NULLS = pl.DataFrame({"a": X[:, 0], "empty": pl.Series([None] * 40, dtype=pl.Null)})
MIXED = pd.DataFrame(X, columns=["a", 1, "b", 2.5])

MISTAKES = {
    "weights that are words": (
        lambda: BinaryRelevance().fit(X, Y, sample_weight=["x"] * 40),
        ("one number >= 0 per row", "not hold numbers"),
    ),
    "weights of a tree that are words": (
        lambda: C45Classifier().fit(X, Y[:, 0], sample_weight=["x"] * 40),
        ("one number >= 0 per row", "not hold numbers"),
    ),
    "numbers that no forest takes": (
        lambda: labelance.advise(X * 1e300, Y),
        ("3.4e38", "larger"),
    ),
    "a port that is a word": (
        lambda: Playground(port="x"),
        ("free port", "port='x'", "Omit it"),
    ),
    "a column of polars without values": (
        lambda: labelance.MLSOL().fit_resample(NULLS, Y),
        ("Every column of X", "hold no values: 'empty'", "Drop them, or give them a type"),
    ),
    "labels of polars without values": (
        lambda: macro_f1(NULLS, Y[:, :2]),
        ("Every column of y", "hold no values: 'empty'", "or give them a type"),
    ),
    "scores of polars without values": (
        lambda: find_thresholds(Y[:, :2], NULLS),
        ("Every column of the scores", "hold no values: 'empty'", "or give them a type"),
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
        ("categories that rows share", "'a' has 40 different strings", "Drop it, or encode it"),
    ),
    "numbers that are strings": (
        lambda: labelance.profile(FRAME.astype({"b": str}), Y),
        ("categories that rows share", "'b'", "They are numbers"),
    ),
    "decimal commas": (
        lambda: labelance.profile(FRAME.assign(b=FRAME.b.astype(str).str.replace(".", ",")), Y),
        ("categories that rows share", "'b'", "They are numbers"),
    ),
    "dates": (
        lambda: MLkNN(3).fit(FRAME.assign(day=pd.date_range("2020", periods=40)), Y),
        ("numbers, booleans or categories", "dates or times: 'day'", "Drop them, or convert them"),
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
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_cure(mistake):
    call, words = MISTAKES[mistake]
    with pytest.raises(LabelanceError) as caught:
        call()
    error = caught.value
    for part, word in zip((error.problem, error.found, error.cure), words):
        assert word in part


@pytest.mark.parametrize("frame", [REPEATED, MIXED], ids=["repeated", "mixed"])
def test_no_sampler_takes_names_that_are_unclear(frame, case):
    words = r"The column.* of X must .* X\.columns ="
    for name, sampler in all_samplers().items():
        with case(name), pytest.raises(LabelanceError, match=words):
            sampler().fit_resample(frame, Y)


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


TAKES_JOBS = [
    (package, name)
    for package in (sampling, learners, ensemble, metrics)
    for name in package.__all__
    if callable(getattr(package, name))
    and "n_jobs" in signature(getattr(package, name)).parameters
    and name != "sample_weights"
]


def test_no_jobs_are_refused_before_any_work(case):
    def use(package, name):
        made = getattr(package, name)
        known = signature(made).parameters
        given = {"estimator": DecisionTreeClassifier(), "k": 2}
        given = {one: value for one, value in given.items() if one in known}
        if package is metrics:
            return made(Y, X[:, :3], n_jobs=0, **given)
        model = made(n_jobs=0, **given)
        return model.fit_resample(X, Y) if package is sampling else model.fit(X, Y)

    words = "n_jobs must be None or an integer other than 0"
    for package, name in TAKES_JOBS:
        with case(name), pytest.raises(InputError, match=words):
            use(package, name)


def test_no_jobs_are_refused_by_functions():
    search, others = labelance.neighbors.find_neighbors, (labelance.profile, labelance.advise)
    for call in (search, *others, sampling.sample_weights):
        with pytest.raises(InputError, match="n_jobs must be None"):
            call(X, *([3] if call is search else [Y]), n_jobs=0)


def test_columns_named_by_numbers_are_refused_by_their_type():
    with pytest.raises(InputError, match="These do not: 0"):
        find_neighbors(pd.DataFrame(np.zeros((3, 2), dtype=complex)), 1)
