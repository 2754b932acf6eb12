"""The datasets that come with the package: here without a network, whole, with their terms."""

import importlib.util
import pickle
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

from labelance.datasets import fetch_dataset, list_datasets, load_dataset, verify_dataset
from labelance.learners import BinaryRelevance, C45Classifier
from labelance.metrics import macro_auc_roc
from labelance.neighbors import find_neighbors

FOLDER = files("labelance.datasets") / "bundled"
BUNDLED = [info for info in list_datasets() if info.bundled]


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """A machine without datasets, network and optional packages for either."""
    monkeypatch.delenv("LABELANCE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setattr("labelance.datasets._download.download", None)


@pytest.mark.parametrize("info", BUNDLED, ids=lambda info: info.name)
def test_they_load_and_are_what_the_catalogue_says(info, tmp_path) -> None:
    data = load_dataset(info.name, download_if_missing=False)
    assert (data.n_samples, data.n_features) == (info.n_samples, info.n_features)
    assert (data.n_labels, data.name) == (info.n_labels, info.name)
    assert data.Y.sum() / data.n_samples == pytest.approx(info.cardinality, abs=1e-6)
    assert verify_dataset(info.name).ok
    # A folder that lacks them is no reason to go to the network either.
    assert load_dataset(info.name, data_home=tmp_path).same_as(data)


def test_the_folder_holds_them_and_their_terms_and_nothing_else() -> None:
    names = {f"{info.name}{ending}" for info in BUNDLED for ending in (".arff.gz", ".xml")}
    assert {file.name for file in FOLDER.iterdir()} == names | {"LICENSES.md"}
    terms = (FOLDER / "LICENSES.md").read_text(encoding="utf-8")
    assert [line for line in terms.splitlines() if line.startswith("## ")] == [
        f"## {info.name}" for info in BUNDLED
    ]
    assert sum(len(file.read_bytes()) for file in FOLDER.iterdir()) < 700_000


def test_ones_own_copy_comes_first(tmp_path, monkeypatch) -> None:
    arff, xml = fetch_dataset("flags")
    own = tmp_path / "flags.xml"
    own.write_bytes(xml.read_bytes())
    (tmp_path / "flags.arff.gz").write_bytes(arff.read_bytes())
    monkeypatch.setenv("LABELANCE_DATA", str(tmp_path))
    assert fetch_dataset("flags").xml == own


def test_what_is_published_nowhere_else_is_never_downloaded() -> None:
    assert fetch_dataset("verbframes", force=True) == fetch_dataset("verbframes")


@pytest.mark.slow
def test_nominal_features_come_as_categoricals_that_learners_understand() -> None:
    X, y = load_dataset("flags", return_X_y=True)
    data = load_dataset("flags")
    nominal = np.flatnonzero(data.categorical_features)
    assert np.flatnonzero(X.dtypes == "category").tolist() == nominal.tolist()
    trees = C45Classifier(
        categorical_features=nominal, n_categories=[len(data.categories[j]) for j in nominal]
    )
    by_codes = BinaryRelevance(trees).fit(data.values, data.Y).predict_proba(data.values)
    np.testing.assert_array_equal(BinaryRelevance().fit(X, y).predict_proba(X), by_codes)
    as_numbers = BinaryRelevance().fit(data.values, data.Y).predict_proba(data.values)
    assert not np.array_equal(as_numbers, by_codes)


@pytest.mark.slow
def test_nobody_takes_the_codes_of_a_dataset_for_numbers() -> None:
    data = load_dataset("flags")
    X, y = data.to_X_y()
    scores = BinaryRelevance().fit(data.X, data.Y).predict_proba(data.X)
    np.testing.assert_array_equal(scores, BinaryRelevance().fit(X, y).predict_proba(X))
    assert find_neighbors(data.X, 3).indices.tolist() == (
        find_neighbors(
            data.values, 3, categorical_features=data.categorical_features
        ).indices.tolist()
    )
    assert data.X is data.X


def test_a_frame_that_was_looked_at_is_not_pickled_along() -> None:
    data = load_dataset("flags")
    before = pickle.dumps(data)
    frame = data.X
    assert len(pickle.dumps(data)) == len(before)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(data)).X, frame)


@pytest.mark.parametrize("as_frame", ["auto", False])
def test_sparse_data_and_arrays_come_as_they_are(as_frame) -> None:
    data = load_dataset("verbframes")
    X, y = load_dataset("verbframes", return_X_y=True, as_frame=as_frame)
    assert issparse(X)
    assert (X != data.X).nnz == 0
    np.testing.assert_array_equal(y, data.Y.toarray())
    X, _ = load_dataset("flags", return_X_y=True, as_frame=False)
    np.testing.assert_array_equal(X, load_dataset("flags").values)


@pytest.mark.slow
def test_the_pair_goes_through_cross_validation() -> None:
    X, y = load_dataset("verbframes", return_X_y=True)
    frequent = np.argsort(-y.sum(axis=0))[:3]
    linear = OneVsRestClassifier(LogisticRegression(solver="liblinear"))  # wants 32-bit indices
    scores = cross_val_predict(linear, X, y[:, frequent], cv=3, method="predict_proba")
    assert macro_auc_roc(y[:, frequent], scores) > 0.6


def test_frames_if_asked_for() -> None:
    X, y = load_dataset("verbframes", return_X_y=True, as_frame=True)
    assert isinstance(X, pd.DataFrame)
    assert tuple(y.columns) == load_dataset("verbframes").label_names


TOOL = Path(__file__).parents[2] / "tools" / "make_verbframes.py"
NOTICE = "  1 This software and database is being provided to you, the LICENSEE, by  "
# Two words, a pointer and two frames; one word, no pointer, one frame; a verb of motion.
LINES = [
    NOTICE,
    '00000001 32 v 02 say 0 tell 1 001 @ 00000009 v 0000 02 + 26 00 + 08 01 | utter; "say it"  ',
    "00000002 31 v 01 think 0 000 01 + 26 00 | judge it so  ",
    "00000003 38 v 01 walk 0 000 01 + 02 00 | go on foot  ",
]


@pytest.mark.skipif(not TOOL.is_file(), reason="tools/ is not in this copy")
def test_verbframes_counts_words_of_glosses_and_collects_frames() -> None:
    spec = importlib.util.spec_from_file_location("make_verbframes", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert len(tool.FRAME_NAMES) == 35
    data = tool.make_dataset(LINES, least_rows=1)
    assert data.feature_names == ("it", "judge", "say", "so", "utter")
    assert data.label_names == ("somebody_verbs_something", "somebody_verbs_that_clause")
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 1, 0, 1], [1, 1, 0, 1, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [0, 1]])
