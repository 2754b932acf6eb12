"""The profile: every number from the measures, and three ways to show them."""

import json
import math
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from labelance import imbalance
from labelance.exceptions import (
    InputError,
    MissingValuesError,
    TooFewRowsError,
)
from labelance.imbalance import ImbalanceProfile, local_distribution, profile
from labelance.neighbors import find_neighbors

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
Y = (RNG.random((60, 5)) < [0.7, 0.4, 0.2, 0.05, 0]).astype(np.int8)
NAMES = ["sun", "sea", "a <b> & c", "rain", "never"]


@pytest.fixture(scope="module")
def named() -> ImbalanceProfile:
    return profile(X, pd.DataFrame(Y, columns=NAMES))


def test_every_measure_is_the_functions(named):
    assert (named.n_samples, named.n_features, named.n_labels, named.n_neighbors) == (60, 4, 5, 5)
    for name in ["cardinality", "density", "mean_ir", "cvir", "mean_imr", "scumble", "scumble_cv"]:
        assert getattr(named, name) == getattr(imbalance, name)(Y), name
    for name in ["label_counts", "irlbl", "imr", "scumble_labels"]:
        assert_array_equal(getattr(named, name), getattr(imbalance, name)(Y))
    sets = imbalance.labelsets(Y)
    assert (named.n_labelsets, named.share_single_labelsets) == (len(sets), sets.share_single)
    assert named.tcs == imbalance.tcs(X, Y)


@pytest.mark.parametrize("rule", ["paper", "mulan"])
def test_types_are_those_of_the_local_distribution(rule):
    around = find_neighbors(X, 7, scale="range")
    local = local_distribution(Y, around, variant=rule)
    found = profile(X, Y, n_neighbors=7, scale="range", variant=rule)
    given = profile(X, Y, neighborhood=around, variant=rule)
    alone = profile(None, Y, neighborhood=around, variant=rule)
    for result in (found, given, alone):
        assert result.n_neighbors == 7
        assert_array_equal(result.type_counts, local.type_counts)
        assert_array_equal(result.minority_value, local.minority_value)
    total = local.type_counts.sum()
    assert list(found.type_shares) == ["safe", "borderline", "rare", "outlier"]
    assert list(found.type_shares.values()) == (local.type_counts.sum(axis=0) / total).tolist()


@pytest.mark.parametrize("call", [{"X": X, "n_neighbors": None}, {"X": None}], ids=["no k", "no X"])
def test_without_neighbors_there_are_no_types(call):
    short = profile(y=Y, **call)
    assert short.n_neighbors is short.type_counts is short.type_shares is None
    assert "minority cells" not in str(short)
    assert list(short.to_frame()) == ["count", "IRLbl", "ImR", "SCUMBLE", "minority"]
    assert (short.tcs is None) == (call["X"] is None)


def test_missing_values_do_not_matter_where_no_neighbor_is_looked_for():
    holed = X.copy()
    holed[3, 1] = np.nan
    assert profile(holed, Y, n_neighbors=None).n_features == 4
    assert profile(holed, Y, missing="distance").n_neighbors == 5
    with pytest.raises(InputError, match="missing"):
        profile(holed, Y)


@pytest.mark.parametrize(
    ("to_x", "to_y"),
    [(csr_array, csr_array), (pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame)],
    ids=["sparse", "pandas", "polars"],
)
def test_every_container_gives_the_same(to_x, to_y, named):
    other = profile(to_x(X), to_y(Y))
    assert_array_equal(other.type_counts, named.type_counts)
    assert other.to_dict()["cardinality"] == named.to_dict()["cardinality"]


def test_frame_has_a_row_for_every_label(named):
    frame = named.to_frame()
    assert list(frame.index) == NAMES
    assert list(frame) == ["count", "IRLbl", "ImR", "SCUMBLE", "minority", "SF", "BD", "RR", "OT"]
    assert_array_equal(frame["count"], Y.sum(axis=0))
    assert_array_equal(frame[["SF", "BD", "RR", "OT"]], named.type_counts)
    assert list(profile(None, Y).to_frame().index) == [0, 1, 2, 3, 4]


def test_dictionary_survives_json_without_nan(named):
    told = json.loads(json.dumps(named.to_dict(), allow_nan=False))
    assert told == named.to_dict()
    assert told["constant_labels"] == ["never"]
    assert [label["label"] for label in told["labels"]] == NAMES
    assert told["labels"][4]["IRLbl"] is None
    assert told["labels"][0]["count"] == int(Y[:, 0].sum())
    assert sum(told["type_shares"].values()) == pytest.approx(1)


def test_constant_labels_are_reported():
    constant = np.zeros((20, 9), dtype=int)
    constant[:, 1] = 1
    result = profile(RNG.normal(size=(20, 2)), constant)
    assert result.constant_labels == tuple(range(9))
    assert "9 constant labels: 0, 1, 2, 3, 4, … 4 more" in str(result)
    assert "minority cells, k=5: none" in str(result)
    assert all(math.isnan(share) for share in result.type_shares.values())
    json.dumps(result.to_dict(), allow_nan=False)


def test_one_constant_label_is_no_plural(named):
    assert "1 constant label: never" in str(named)


@pytest.mark.slow
def test_text_is_aligned_and_shortened():
    many = np.zeros((40, 300), dtype=np.int8)
    many[np.arange(40), np.arange(40)] = 1
    names = [f"a label with quite a long name, number {j}" for j in range(300)]
    text = str(profile(None, pd.DataFrame(many, columns=names)))
    lines = text.splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= 100
    assert "… 280 more" in text
    table = [line for line in lines if line.startswith("a label")]
    assert len(table) == 20
    assert len({len(line) for line in table}) == 1


@pytest.mark.parametrize(("length", "longest"), [(9, 88), (10, 77)])
def test_names_of_constant_labels_are_wrapped_at_88_characters(length, longest):
    names = ["a" * 28, "b" * 27, "c" * length, "d" * 20, "e"]
    text = str(profile(None, pd.DataFrame(np.zeros((9, 5), dtype=int), columns=names)))
    first, second = text[text.index("5 constant labels: ") :].splitlines()
    assert len(first) == longest
    assert second.startswith("  c" if length == 10 else "  d")


def test_it_is_frozen(named):
    with pytest.raises(FrozenInstanceError):
        named.n_neighbors = 3


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="60 rows of y"):
        profile(X[:50], Y)
    with pytest.raises(InputError, match="60 rows of y"):
        profile(X, Y, neighborhood=SimpleNamespace(indices=np.zeros((50, 5), dtype=int)))
    with pytest.raises(TooFewRowsError):
        profile(X[:5], Y[:5])


def test_labels_can_be_named():
    result = profile(None, [[1, 0], [0, 1], [0, 1]], label_names=["rain", "snow"])
    assert result.label_names == ("rain", "snow")
    with pytest.raises(InputError, match="different label names"):
        profile(None, [[1, 0], [0, 1]], label_names=["rain"])


def test_errors_name_what_was_called():
    X = np.arange(40.0).reshape(20, 2)
    y = np.eye(20, 3, dtype=int)
    with pytest.raises(
        MissingValuesError, match=r"^profile does not accept missing .* missing='distance'"
    ):
        profile(np.where(X == 3, np.nan, X), y)
    with pytest.raises(InputError, match=r"^profile needs finite"):
        profile(np.where(X == 3, np.inf, X), y)
    with pytest.raises(
        TooFewRowsError, match=r"^n_neighbors of profile must be < n_samples\. Got 20"
    ):
        profile(X, y, n_neighbors=20)
