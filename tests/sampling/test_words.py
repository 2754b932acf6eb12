"""What samplers, profiles and reports say first: the rarest labels, and what one may not expect."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.neighbors import NearestNeighbors

from labelance._validation._data import validate_features
from labelance.advice import advise
from labelance.datasets import load_dataset
from labelance.exceptions import FeatureScaleWarning, InputError
from labelance.imbalance import profile
from labelance.imbalance._measures import rarity_bands
from labelance.metrics import imbalance_report
from labelance.neighbors._metric import find_dominant_columns
from labelance.report import plot_before_after
from labelance.sampling import MLROS, MLSMOTE, MLSOL, MLTL

rng = np.random.default_rng(0)
X = rng.random((400, 2))
COUNTS = np.concatenate([[120, 40, 5], np.arange(12, 36), [0]])
Y = np.zeros((400, len(COUNTS)), dtype=int)
for j, count in enumerate(COUNTS):
    Y[rng.permutation(400)[:count], j] = 1
NAMES = [f"label{j}" for j in range(len(COUNTS))]


def labels_in(text):
    return [word for word in text.split() if word in NAMES]


def print_all(y, top):
    frame = pd.DataFrame(y, columns=NAMES)
    return {
        "profile": profile(None, y, label_names=NAMES).to_text(top=top),
        "explain": MLROS(random_state=0).explain(X, frame, n_neighbors=None).to_text(top=top),
        "report": imbalance_report(y, y, label_names=NAMES).to_text(top=top),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@pytest.mark.parametrize("what", ["profile", "explain", "report"])
def test_the_rarest_labels_come_first(what):
    rarest = [NAMES[j] for j in np.argsort(COUNTS, kind="stable") if COUNTS[j]]
    assert labels_in(print_all(Y, 8)[what])[:6] == rarest[:6]
    in_all = list(dict.fromkeys(labels_in(print_all(Y, len(NAMES))[what])))
    assert in_all == [*rarest, NAMES[-1]]


def test_long_tables_end_with_means_by_rarity():
    assert {band: len(labels) for band, labels in rarity_bands(COUNTS).items()} == {
        "1-9 rows": 1,
        "10-99 rows": 25,
        "100-999 rows": 1,
    }
    assert "10-99 rows" in str(profile(None, Y))
    assert "10-99 rows" not in str(profile(None, Y[:, :5]))
    report = imbalance_report(Y, Y)
    assert report.bands["1-9 rows avg"]["support"] == 5
    assert "10-99 rows avg" in str(report)


@pytest.mark.parametrize("names", [["a"] * 3, ["a", "b"], [1, "1", 2]])
@pytest.mark.parametrize("what", [profile, imbalance_report, plot_before_after])
def test_names_are_one_for_each_label(what, names):
    y = Y[:, :3]
    data = {profile: (None, y), imbalance_report: (y, y), plot_before_after: (X, y, X, y)}[what]
    with pytest.raises(InputError, match="needs 3 different label names"):
        what(*data, label_names=names)


def test_explain_says_which_rare_labels_gained_nothing():
    y = Y[:, :3].copy()
    y[:, 2] = 0
    y[0, 2] = 1  # an outlier: no neighbor has the label
    said = str(MLSOL(random_state=0).explain(X, pd.DataFrame(y, columns=["a", "b", "rare"])))
    assert "No added row has these rare labels: rare." in said


def test_a_mean_ir_that_rises_is_explained():
    y = Y[:, :2]
    worse = MLROS(random_state=0, sampling_strategy={0: 0.9}).explain(X, y, n_neighbors=None)
    better = MLROS(random_state=0).explain(X, y, n_neighbors=None)
    assert worse.after.mean_ir > worse.before.mean_ir
    assert "MeanIR went up" in str(worse)
    assert better.after.mean_ir < better.before.mean_ir
    assert "went up" not in str(better)


def test_an_unknown_label_is_asked_for():
    frame = pd.DataFrame(Y[:, :2], columns=["jazz", "rock"])
    with pytest.raises(InputError, match="Did you mean 'rock'"):
        MLROS(random_state=0).explain(X, frame, n_neighbors=None).through("rocks")


@pytest.mark.parametrize("kind", [MLSOL, MLSMOTE, MLTL])
def test_a_column_that_decides_alone_is_warned_of(kind):
    def resample(table, **options):
        sampler = kind(**options)
        if "random_state" in sampler.get_params():
            sampler.set_params(random_state=0)
        return sampler.fit_resample(table, Y[:, :3])[0]

    wide = pd.DataFrame(X * [1, 1e5], columns=["share", "income"])
    with pytest.warns(FeatureScaleWarning, match=r"column 'income' of.*StandardScaler") as caught:
        warned = resample(wide)
    assert len(caught) == 1
    resample(wide, scale="standard")  # here a warning is an error
    resample(X * [1, 20])
    resample(X * [1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_array_equal(warned, resample(wide))


@pytest.mark.parametrize(
    ("widths", "decide"),
    [
        ([1e5, 1, 1, 3e5, 1], [0, 3]),
        ([1e9, 1e5, 1, 1], [0]),  # beside which the second changes nothing, either
        ([1e5, 1e5, 1, 1, 0], [0, 1]),
        ([1e5, 1e3, 10, 1], [0]),  # with 99.99 % of the squared distance
        ([1e5, 1e4, 1e3, 1e2], []),
        ([900, *[1] * 300], [0]),
        ([20, 1], []),
        ([900, 900, *[1] * 300], [0, 1]),
        ([900, 900, *[1] * 900], []),  # all others together matter
        ([1e308, 1e-300], [0]),
        ([5], []),
        ([0, 0], []),
    ],
)
def test_few_columns_that_take_the_squared_distance_decide(widths, decide):
    table = np.array([[0.0], [1.0], [0.5]]) * widths
    nominal = np.zeros(len(widths), dtype=bool)
    for rows in (table, sp.csr_array(table)):
        assert find_dominant_columns(rows, nominal).tolist() == decide
    with_nominal = np.column_stack([[0.0, 1e9, 0.0], table])  # the code of a category is no width
    found = find_dominant_columns(with_nominal, np.array([True, *nominal]))
    assert found.tolist() == [column + 1 for column in decide]


def test_a_number_decides_alone_next_to_categories():
    rows = np.random.default_rng(0).integers(0, 3, (200, 4)) * [1.0, 1, 1, 1]
    nominal = np.array([True, True, True, False])
    assert not len(find_dominant_columns(rows, nominal))
    assert find_dominant_columns(rows * [1, 1, 1, 900], nominal).tolist() == [3]
    assert not len(find_dominant_columns(rows * [900, 1, 1, 0], nominal))


def test_most_of_what_varies_does_not_decide_alone():
    table = np.array([[0.0], [1.0], [0.5]]) * [1e5, 1e5, 1, 0, 0]
    assert not len(find_dominant_columns(table, np.zeros(5, dtype=bool)))


@pytest.mark.slow
def test_a_wide_column_of_noise_is_warned_of_once_per_call():
    """900 times the spread of the others: neighbors know nothing, and a user must hear why."""
    noisy = np.column_stack([X, 900 * np.random.default_rng(0).normal(size=len(X))])
    for work in (
        lambda: MLSOL(random_state=0).fit_resample(noisy, Y[:, :3]),
        lambda: MLSOL(random_state=0).explain(noisy, Y[:, :3]),
        lambda: profile(noisy, Y[:, :3], n_neighbors=5),
        lambda: advise(noisy, Y[:, :3], budget=2),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
        told = [one for one in caught if issubclass(one.category, FeatureScaleWarning)]
        assert len(told) == 1, [str(one.message) for one in told]
        assert "column 2 of X alone" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FeatureScaleWarning)
        profile(noisy, Y[:, :3], n_neighbors=5, scale="standard")
        profile(noisy, Y[:, :3], n_neighbors=None)


@pytest.mark.data
@pytest.mark.parametrize("name", ["emotions", "yeast", "scene", "flags", "birds", "cal500"])
def test_ordinary_data_as_published_are_not_warned_of(name):
    data = load_dataset(name)
    features = validate_features(data.X, caller="test", missing="distance")
    assert not len(find_dominant_columns(features.X, features.categorical))


def test_distances_of_a_search_of_ones_own_are_not_warned_of():
    search = NearestNeighbors(n_neighbors=5, metric="cosine")
    MLSOL(k_neighbors=search, random_state=0).fit_resample(X * [1, 1e5], Y[:, :3])
