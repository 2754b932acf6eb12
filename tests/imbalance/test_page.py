"""The facts behind the profile page against slow loops, and what the page promises."""

import json
import pickle
import re
from functools import partial
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from labelance import MLSOL, advise, profile
from labelance.exceptions import InputError
from labelance.imbalance import labelsets, scumble_labels
from labelance.imbalance._diagnosis import (
    choose_rows,
    count_together,
    labelset_bands,
    measure_hubness,
    neighbor_votes,
    project,
)
from labelance.imbalance._profile_text import describe
from labelance.neighbors import find_neighbors

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 4))
Y = (RNG.random((80, 6)) < [0.8, 0.4, 0.2, 0.1, 0.03, 0]).astype(np.int8)
Y[[3, 40], 4] = 1
AROUND = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_votes_are_counted_as_in_a_loop():
    votes = neighbor_votes(csr_array(Y), AROUND)
    counts = np.zeros((6, 2, 6), dtype=int)
    for i in range(80):
        for j in range(6):
            counts[j, Y[i, j], Y[AROUND[i], j].sum()] += 1
    assert_array_equal(votes.counts, counts)


HIDDEN = RNG.random(Y.shape) < 0.4
HOLES = np.where(HIDDEN, np.nan, Y)
UNKNOWN = csr_array(HIDDEN.astype(np.int8))
KNOWN_ONES = csr_array(np.where(HIDDEN, 0, Y).astype(np.int8))


def test_votes_of_known_neighbors_are_counted_as_in_a_loop():
    votes = neighbor_votes(KNOWN_ONES, AROUND, UNKNOWN)
    counts, cells = np.zeros((6, 2, 6), dtype=int), np.zeros(Y.shape, dtype=int)
    for i in range(80):
        for j in range(6):
            said = HOLES[AROUND[i], j]
            said = said[~np.isnan(said)]
            if len(said) and not HIDDEN[i, j]:
                share = int(np.floor(5 * said.mean() + 0.5))  # as if all five had said it
                counts[j, Y[i, j], share] += 1
                cells[i, j] = share + 6 * Y[i, j]
    assert_array_equal(votes.counts, counts)
    assert_array_equal(votes.cells.toarray(), cells)


def test_labels_together_are_counted_where_both_are_known():
    found = count_together(KNOWN_ONES, np.full(6, np.nan), unknown=UNKNOWN)
    for a, first in enumerate(found.labels):
        for b, second in enumerate(found.labels):
            of_first = HOLES[:, first] == 1
            assert found.rows[a, b] == (of_first & (HOLES[:, second] == 1)).sum()
            assert found.among[a, b] == (of_first & ~HIDDEN[:, second]).sum()


def test_a_page_of_unknown_labels_speaks_of_known_cells(tmp_path):
    labels = HOLES.copy()
    labels[:, 5] = np.nan
    found = profile(X, labels)
    page = found.to_html(tmp_path / "page.html")
    side = data_of(page)["sides"][0]
    assert side["unknown"] == np.isnan(labels).sum(axis=0).tolist()
    assert side["count"] == np.nansum(labels, axis=0).tolist()
    assert side["labelsets"] is side["scumble"] is None
    drawn = [{code // 5 - 1 for code in codes} for codes in side["map"]["cells"]]
    for i, row in zip(side["map"]["row"], drawn):
        assert row == {j for j in range(6) if labels[i, j] == found.minority_value[j]}
    assert profile(X, Y).to_html().count('"unknown":null') == 1


@pytest.mark.parametrize("value", [0, np.nan])
def test_a_page_of_unknown_labels_that_no_row_has(value):
    labels = np.full(Y.shape, float(value))
    labels[::4, 0] = np.nan
    side = data_of(profile(X, labels).to_html())["sides"][0]
    assert side["count"] == [0] * 6
    assert side["suspects"] == []
    votes = neighbor_votes(csr_array(Y.shape, dtype=np.int8), AROUND, UNKNOWN)
    heard = ~HIDDEN & ~HIDDEN[AROUND].all(axis=1)
    assert_array_equal(votes.counts[:, 0, 0], heard.sum(axis=0))


@pytest.mark.parametrize("hidden", [False, True])
def test_sentences_of_known_cells(hidden):
    labels = np.where(HIDDEN & hidden, np.nan, Y)
    labels[:, 5] = np.nan if hidden else 0
    text = " ".join(describe(profile(X, labels)))
    assert ("of 80 rows" in text) is not hidden
    assert ("at least 2 of their 5 neighbors" in text) is not hidden
    assert ("are constant" in text or "is constant" in text) is not hidden
    assert ("at least 30% of up to 5 neighbors in which the label is known" in text) is hidden
    assert ("1 more label is known in no row." in text) is hidden
    assert (f"{np.isnan(labels).sum()} cells" in text) is hidden
    printed = str(profile(X, labels))
    assert ("1 wholly unknown label: 5" in printed) is hidden
    labels[:, 4] = labels[:, 5]
    two = "2 wholly unknown labels: 4, 5" if hidden else "2 constant labels: 4, 5"
    assert two in str(profile(X, labels))
    assert ("1 constant label: 5" in printed) is not hidden
    nothing = " ".join(describe(profile(None, [[1, np.nan], [np.nan, 0], [1, 0]])))
    assert nothing == "No label varies: each is in all known rows or in none."


def test_auc_of_votes_is_scikit_learns():
    auc = neighbor_votes(csr_array(Y), AROUND).auc
    scores = np.array([[Y[AROUND[i], j].sum() for j in range(6)] for i in range(80)])
    assert_allclose(auc[:5], [roc_auc_score(Y[:, j], scores[:, j]) for j in range(5)])
    assert np.isnan(auc[5])


def test_a_flipped_label_is_the_first_suspect():
    near = np.repeat([[0.0, 0.0], [9.0, 9.0]], 40, axis=0) + RNG.normal(size=(80, 2))
    labels = np.repeat([[1], [0]], 40, axis=0)
    labels[[7, 55]] = [[0], [1]]
    found = neighbor_votes(csr_array(labels), find_neighbors(near, 5).indices).suspects()
    assert {(cell.row, cell.present) for cell in found[:2]} == {(7, False), (55, True)}
    assert all(cell.times > 10 for cell in found)
    noise = neighbor_votes(csr_array(Y), AROUND).suspects()
    assert all(cell.present == (2 * cell.votes < 5) for cell in noise)


def test_hubness_counts_who_names_whom():
    around = np.array([[1], [0], [0], [0]])
    found = measure_hubness(around)
    assert (found.most, found.hub, found.share_never) == (3, 0, 0.5)
    assert found.skewness == pytest.approx(0.8164965809)
    assert measure_hubness(np.array([[1], [0]])).skewness == 0


def test_labels_are_together_in_the_rows_that_have_both():
    found = count_together(csr_array(Y), scumble_labels(Y))
    assert_array_equal(np.sort(found.labels), range(5))  # the last is in no row
    for a, label in enumerate(found.labels):
        for b, other in enumerate(found.labels):
            assert found.rows[a, b] == (Y[:, label] & Y[:, other]).sum()
    few = count_together(csr_array(Y), scumble_labels(Y), most=3)
    assert 0 in few.labels
    assert len(few.labels) == 3


def test_bands_of_labelsets_hold_all_rows():
    bands = labelset_bands(labelsets(Y))
    assert sum(rows for _, _, rows in bands) == 80
    assert sum(sets for _, sets, _ in bands) == len(labelsets(Y))
    assert bands[0][1] == (labelsets(Y).frequencies == 1).sum()


def test_rare_labels_are_on_the_map():
    rare = np.zeros((5_000, 2), dtype=np.int8)
    rare[::2, 0], rare[17::1000, 1] = 1, 1
    rows = choose_rows(csr_array(rare), 400)
    assert len(np.unique(rows)) == len(rows) == 400
    assert rare[rows, 1].sum() == 5
    assert_array_equal(choose_rows(csr_array(rare[:300]), 400), range(300))


@pytest.mark.parametrize("kind", ["dense", "sparse", "one column", "huge", "missing", "nominal"])
def test_a_map_is_in_the_unit_square(kind):
    table = {"one column": X[:, :1], "huge": X * 1e300}.get(kind, X).copy()
    nominal = np.zeros(table.shape[1], dtype=bool)
    if kind == "missing":
        table[3], table[:, 2] = np.nan, np.nan
    if kind == "nominal":
        table[:, 1] = np.arange(80) % 30
        nominal[1] = True
    rows, held = (csr_array(table), "sparse") if kind == "sparse" else (table, "dense")
    points = project(rows, nominal, held)
    assert points.shape == (80, 2)
    assert points.min() == 0
    assert points.max() == 1


def test_the_page_holds_the_profile():
    found = profile(X, Y)
    told = data_of(found.to_html())
    side = told["sides"][0]
    assert side["count"] == found.label_counts.tolist()
    assert side["types"] == found.type_counts.T.tolist()
    assert_allclose(side["imr"][:5], found.imr[:5], atol=0.05)
    assert side["imr"][5] is None
    assert told["names"] == list("012345")
    for i, codes in enumerate(side["map"]["cells"]):
        shown = {code // 5 - 1: code % 5 for code in codes}
        types = found._data.local.types[[i]]
        assert shown == dict(zip(types.indices.tolist(), types.data.tolist()))


@pytest.mark.slow
def test_a_page_is_small_at_ten_thousand_labels():
    rng = np.random.default_rng(0)
    n, q = 3_000, 10_000
    y = csr_array(
        (np.ones(60_000), (rng.integers(n, size=60_000), rng.integers(q, size=60_000))), (n, q)
    )
    y.data[:] = 1
    names = [f"a label with a longer name, {j}" for j in range(q)]
    page = profile(rng.random((n, 5)), y, label_names=names).to_html()
    assert len(page.encode()) < 1_000_000


def test_a_page_needs_nothing_from_elsewhere():
    page = profile(X, Y).to_html()
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|@import|url\(|\bsrc=", outside)


def test_the_same_data_give_the_same_page(tmp_path):
    written = tmp_path / "page.html"
    page = profile(X, Y).to_html(written)
    assert written.read_text(encoding="utf-8") == page == profile(X, Y).to_html()


def test_labels_that_are_all_rare_are_not_called_balanced():
    few, half = (np.tile(np.arange(80)[:, None] % every == 0, 3) for every in (10, 2))
    assert "Labels alike, but rare (MeanIR 1.0, MeanImR 9.0): " in profile(X, few).to_html()
    assert "Hardly imbalanced (MeanIR 1.0): " in profile(X, half).to_html()


@pytest.mark.filterwarnings("ignore::labelance.exceptions.FeatureScaleWarning")
def test_a_wide_column_is_named():
    wide = pd.DataFrame(X.copy(), columns=["a", "b", "income", "c"])
    wide["income"] *= 1e5
    found = profile(wide, Y)
    assert data_of(found.to_html())["sides"][0]["dominant"] == "column 'income'"
    scaled = profile(wide, Y, scale="range").to_html()
    assert data_of(scaled)["sides"][0]["dominant"] is None
    named = profile(wide.to_numpy(), Y, feature_names=["p", "q", "r", "s"])
    assert data_of(named.to_html())["sides"][0]["dominant"] == "column 'r'"
    wide["c"] *= 1e6
    both = data_of(profile(wide, Y).to_html())["sides"][0]
    assert both["dominant"] == "columns 'income', 'c'"


@pytest.mark.slow
def test_the_page_describes_and_leaves_advice_to_advise():
    labels = [["a"] * (i % 2) + ["b"] * (i % 9 == 0) for i in range(80)]
    page = unescape(profile(X, labels).to_html())
    words = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search("MLSOL|MLROS|clone|Add rows|Fit without", words)
    assert "threshold" in words
    call = re.search(r"<code>(labelance\.advise\(.*?\))</code>", words)[1]
    options = {"advise": partial(advise, estimator=KNeighborsClassifier(3), budget=2)}
    found = eval(call, {"labelance": SimpleNamespace(**options), "X": X, "y": labels})
    assert found.facts.n_labels == 2


def test_a_subsample_is_said_and_always_the_same():
    found = profile(X, Y, subsample=50)
    assert (found.n_searched, found.to_dict()["n_searched"]) == (50, 50)
    assert found.type_counts.sum() < profile(X, Y).type_counts.sum()
    assert "of 50 rows drawn at random" in str(found)
    assert_array_equal(found.type_counts, profile(X, Y, subsample=50).type_counts)
    assert_array_equal(found.label_counts, Y.sum(axis=0))
    cells = data_of(found.to_html())["sides"][0]["map"]["cells"]
    assert {code % 5 for codes in cells for code in codes} >= {0, 4}
    for whole in (None, 80, 1000):
        assert profile(X, Y, subsample=whole).n_searched == 80
    with pytest.raises(InputError, match="subsample"):
        profile(X, Y, subsample=0)


@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
def test_two_profiles_are_of_the_same_labels_and_features():
    before = profile(X, Y)
    more = profile(*MLSOL(sampling_ratio=0.5, random_state=0).fit_resample(X, Y))
    sides = data_of(before.to_html(after=more))["sides"]
    assert [side["n"] for side in sides] == [80, 120]
    with pytest.raises(InputError, match="same labels"):
        before.to_html(after=profile(X, Y[:, :3]))
    with pytest.raises(InputError, match="same features"):
        before.to_html(after=profile(X[:, :2], Y))


def test_what_is_not_defined_before_or_after_is_not_said_to_have_changed():
    nothing, something = profile(X, 0 * Y), profile(X, Y)
    for before, after in ((nothing, nothing), (nothing, something), (something, nothing)):
        verdict = re.search(r"Rows went from[^<]*", before.to_html(after=after))[0]
        assert re.fullmatch(r"[^,]*, and SCUMBLE from [\d.]+ to [\d.]+\.", verdict)
    assert "MeanIR from" in something.to_html(after=something)


@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
def test_an_explanation_is_a_page_of_before_and_after(tmp_path):
    told = MLSOL(random_state=0).explain(X, Y)
    page = told.to_html(tmp_path / "page.html", title="MLSOL")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert [side["n"] for side in data_of(page)["sides"]] == [80, 104]


def test_constant_labels_are_in_no_pair():
    more = np.column_stack([np.ones(80, dtype=np.int8), Y])
    together = data_of(profile(X, more).to_html())["sides"][0]["together"]
    alone = data_of(profile(X, Y).to_html())["sides"][0]["together"]
    assert together["labels"] == [j + 1 for j in alone["labels"]]
    assert together["rows"] == alone["rows"]


def test_in_a_notebook_it_is_small():
    many = csr_array((np.ones(3_000), (np.arange(3_000) % 50, np.arange(3_000))))
    told = profile(None, many)._repr_html_()
    assert len(told) < 10_000
    assert "the median one in 1" in told
    assert "<script" not in told


def columns_of(X, **options):
    columns = data_of(profile(X, Y, n_neighbors=None, **options).to_html())["sides"][0]["columns"]
    return {name: tuple(rest) for name, *rest in columns}


def test_columns_are_described_as_pandas_counts_them():
    table = pd.DataFrame(
        {
            "color": pd.Categorical(np.where(np.arange(80) < 60, "red", "blue")),
            "age": np.r_[np.arange(75) % 30, [np.nan] * 5],
            "flag": np.arange(80) % 2,
            "income": RNG.normal(size=80) * 1e3,
            "huge": RNG.normal(size=80) * 1e300,
            "empty": np.full(80, np.nan),
        }
    )
    found = columns_of(table)
    for name, (_, missing, distinct, _, bins, _) in found.items():
        assert (missing, distinct) == (table[name].isna().sum(), table[name].nunique())
        assert sum(bins) == table[name].notna().sum()
    kinds = [found[name][0] for name in ("color", "age", "flag", "income")]
    assert kinds == ["category", "integer", "binary", "number"]
    assert found["color"][3] == "red (75%)"
    assert found["age"][3] == "0 to 29"


@pytest.mark.parametrize("scale", [None, "range", "standard"])
@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_columns_have_their_share_of_the_squared_distance(scale, kind):
    table = X * [1, 10, 0, 3]
    width = {None: np.ones(4), "range": np.ptp(table, axis=0), "standard": table.std(axis=0)}
    scaled = table / np.where(width[scale] > 0, width[scale], 1)
    squares = ((scaled[:, None] - scaled[None]) ** 2).mean(axis=(0, 1))
    found = columns_of(kind(table), scale=scale)
    shares = {int(name): rest[-1] for name, rest in found.items()}
    assert_allclose([shares[j] for j in range(4)], squares / squares.sum())
    assert list(shares.values()) == sorted(shares.values(), reverse=True)


def test_other_metrics_have_no_share_and_wide_tables_fifty_columns():
    found = columns_of(np.hstack([X] * 20), metric="cosine")
    assert list(found) == [str(j) for j in range(50)]
    assert {rest[-1] for rest in found.values()} == {None}


def test_ids_have_a_page_without_a_map():
    words = pd.DataFrame({"key": [f"k-{j}" for j in range(80)]})
    side = data_of(profile(words, Y, n_neighbors=None).to_html())["sides"][0]
    assert side["map"] is None
    assert side["columns"] == []


def test_a_pickle_has_the_numbers_and_not_the_data():
    wide = np.hstack([X] * 50)
    whole = profile(wide, Y)
    again = pickle.loads(pickle.dumps(whole))
    assert len(pickle.dumps(whole)) < wide.nbytes / 10
    assert again.to_dict() == whole.to_dict()
    assert str(again) == str(whole)
    with pytest.raises(InputError, match=r"unpickled or copied.*profile\(X, y\) again"):
        again.to_html()
    with pytest.raises(InputError, match="unpickled or copied"):
        whole.to_html(after=again)


def test_names_that_are_no_text_are_written_as_far_as_they_are(tmp_path):
    names = [*"abcde", "tree\udce9"]
    profile(X, Y, label_names=names).to_html(tmp_path / "a.html", title=names[-1])
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert data_of(page)["names"] == [*"abcde", "tree?"]
    assert "<title>tree?</title>" in page


@pytest.mark.parametrize("kind", [list, np.array, pd.Index])
def test_features_have_the_names_that_were_given(kind):
    page = profile(X, Y, feature_names=kind(["a", "b", "c", "d"])).to_html()
    assert {name for name, *_ in data_of(page)["sides"][0]["columns"]} == set("abcd")


def test_every_feature_has_a_name_or_none_has():
    with pytest.raises(InputError, match=r"4 feature names\. Got 1"):
        profile(X, Y, feature_names=["a"])
