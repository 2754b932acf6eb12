"""Labels as people have them: lists of names, and columns of words for yes and no."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from labelance.exceptions import ConstantLabelWarning, InputError, LabelFormatError
from labelance.imbalance import mean_ir, profile
from labelance.learners import BinaryRelevance
from labelance.metrics import get_label_scorer, imbalance_report, macro_auc_roc, macro_f1
from labelance.model_selection import IterativeStratifiedKFold, multilabel_train_test_split
from labelance.report import plot_before_after
from labelance.sampling import LPRUS, MLROS, MLSOL, REMEDIAL, label_weights

NAMES = np.array(["blues", "jazz", "rock"])
rng = np.random.default_rng(0)
X = rng.random((60, 2))
Y = (rng.random((60, 3)) < [0.6, 0.3, 0.15]).astype(int)
ROWS = [NAMES[row == 1].tolist() for row in Y]

SETS = {
    "lists": ROWS,
    "sets": [set(row) for row in ROWS],
    "tuples": tuple(map(tuple, ROWS)),
    "series": pd.Series(ROWS, index=np.arange(100, 160), name="genre"),
    "series of sets": pd.Series([frozenset(row) for row in ROWS]),
    "array": pd.Series(ROWS).to_numpy(),
    "polars": pl.Series("genre", ROWS),
}
every_kind = pytest.mark.parametrize("y", SETS.values(), ids=SETS)


def as_lists(y):
    return [sorted(row) for row in y]


@every_kind
@pytest.mark.parametrize(
    "sampler", [MLSOL(random_state=0), MLROS(random_state=0), LPRUS(random_state=0), REMEDIAL()],
    ids=lambda sampler: type(sampler).__name__,
)  # fmt: skip
def test_samplers_give_back_what_came_with_the_rows_of_a_table(sampler, y):
    X_table, Y_table = sampler.fit_resample(X, Y)
    X_sets, y_sets = sampler.fit_resample(X, y)
    assert_array_equal(X_sets, X_table)
    assert type(y_sets) is type(y)
    assert as_lists(y_sets) == [NAMES[row == 1].tolist() for row in Y_table]
    assert type(y_sets[0] if not hasattr(y_sets, "iloc") else y_sets.iloc[0]) is type(
        y[0] if not hasattr(y, "iloc") else y.iloc[0]
    )


def test_rows_that_are_kept_stay_as_they_were():
    backwards = [row[::-1] for row in ROWS]
    _, more = MLROS(random_state=0).fit_resample(X, backwards)
    assert more[:60] == backwards
    series = SETS["series"]
    X_less, less = LPRUS(random_state=0).fit_resample(pd.DataFrame(X, index=series.index), series)
    assert less.equals(series[less.index])
    assert list(less.index) == list(X_less.index)


def test_rows_that_are_arrays_hold_words_of_any_length():
    rows = np.empty(60, dtype=object)
    rows[:] = [np.array(row) for row in ROWS]  # as short as the words of the row
    for first in (np.array([]), np.array(["a"])):
        rows[0] = first
        _, after = MLSOL(sampling_ratio=2.0, random_state=0).fit_resample(X, rows)
        assert set(np.concatenate(after[60:])) == {*NAMES, *first.tolist()} - {"a"}


def test_result_shares_no_list_with_the_labels():
    rows = [list(row) for row in ROWS]
    _, more = MLROS(random_state=0).fit_resample(X, rows)
    for row in more:
        row.append("classical")
    assert rows == ROWS
    assert all(row.count("classical") == 1 for row in more)


def test_lists_of_arrow_come_back_as_such():
    pa = pytest.importorskip("pyarrow")
    dtype = pd.ArrowDtype(pa.list_(pa.string()))
    _, more = MLROS(random_state=0).fit_resample(X, pd.Series(ROWS, dtype=dtype))
    assert more.dtype == dtype


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (["jazz", None], "None or NaN"),
        (["jazz", np.nan], "None or NaN"),
        (["jazz", pd.NA], "None or NaN"),
        (["jazz", ["rock"]], "is itself a list"),
        ("jazz", "Row 2 has 'jazz'"),
        (None, "Row 2 has None"),
    ],
    ids=str,
)
def test_label_sets_with_a_hole_are_refused(row, named):
    rows = [*ROWS[:2], row, *ROWS[3:]]
    for y in (rows, pd.Series(rows)):
        with pytest.raises(LabelFormatError, match=named):
            MLROS().fit_resample(X, y)


@every_kind
def test_measures_splits_and_weights_are_those_of_a_table(y):
    assert mean_ir(y) == mean_ir(Y)
    assert profile(X, y).label_names == tuple(NAMES)
    assert_array_equal(label_weights(y), label_weights(Y))
    parts = IterativeStratifiedKFold(2, random_state=0).split(X, y)
    for (a, b), (c, d) in zip(parts, IterativeStratifiedKFold(2, random_state=0).split(X, Y)):
        assert_array_equal(a, c)
        assert_array_equal(b, d)
    _, _, y_train, _ = multilabel_train_test_split(X, y, y, random_state=0)[:4]
    assert type(y_train) is type(y) or isinstance(y, tuple)


@every_kind
def test_metrics_compare_label_sets(y):
    guess = [row[:1] for row in ROWS]
    table = np.array([[name in row for name in NAMES] for row in guess]).astype(int)
    assert macro_f1(y, guess) == macro_f1(Y, table)
    assert macro_f1(y, table) == macro_f1(Y, table)
    assert macro_auc_roc(y, X @ rng.random((2, 3)) * 0 + Y) == 1


def test_metrics_take_labels_that_only_one_side_has():
    assert macro_f1([["a"], ["b"]], [["a"], ["c"]]) == pytest.approx(1 / 3)


def test_predictions_without_any_label_are_compared():
    assert macro_f1([["jazz"], ["rock"]], [[], []]) == 0


def test_labels_of_training_rows_are_told_apart_by_name():
    test, train = [["blues"], ["jazz"]], [["jazz"], ["jazz"], []]
    assert_array_equal(imbalance_report(test, test, y_train=train).irlbl, [np.nan, 1])
    with pytest.raises(InputError, match="y_train has 3"):
        imbalance_report(test, test, y_train=[["jazz"], ["rock"]])


@pytest.mark.slow
def test_a_picture_finds_labels_again_that_rows_have_lost():
    pytest.importorskip("matplotlib")
    y = [["blues"], ["jazz"], ["rock"]]
    picture = plot_before_after(X[:3], y, X[1:3], y[1:])
    titles = [axes.get_title() for axes in picture.axes]
    assert titles[3:] == ["0 of 2", "1 of 2", "1 of 2"]
    with pytest.raises(InputError, match="y_resampled has 2"):
        plot_before_after(X, Y, X, Y[:, :2])


def test_learners_say_which_column_is_which_label():
    assert BinaryRelevance().fit(X, ROWS).label_names_ == tuple(NAMES)


def test_explain_keeps_labels_that_their_last_row_lost():
    said = REMEDIAL().explain(X, ROWS)
    assert said.before.label_names == said.after.label_names == tuple(NAMES)


def words_of(pair):
    return np.array(pair, dtype=object)[Y]


WORDS = {
    "strings": pd.DataFrame(words_of(["0", "1"]), columns=NAMES),
    "yes and no": pd.DataFrame(words_of(["No", "Yes"]), columns=NAMES, dtype="string"),
    "categories": pd.DataFrame(words_of(["no", "yes"]), columns=NAMES).astype("category"),
    "categories of numbers": pd.DataFrame(Y, columns=NAMES).astype("category"),
    "numbers for names": pd.DataFrame(words_of(["f", "t"])),
    "objects": pd.DataFrame(Y, columns=NAMES).astype(object),
    "one column": pd.DataFrame(Y, columns=NAMES).assign(rock=words_of(["off", "on"])[:, 2]),
    "polars": pl.DataFrame(words_of(["no", "yes"]).tolist(), schema=NAMES.tolist(), orient="row"),
    "polars categories": pl.DataFrame(
        words_of(["no", "yes"]).tolist(), schema=dict.fromkeys(NAMES, pl.Categorical), orient="row"
    ),
    "array": words_of(["0", "1"]).astype(str),
    "lists": words_of(["0", "1"]).tolist(),
}


@pytest.mark.parametrize("y", WORDS.values(), ids=WORDS)
def test_words_for_yes_and_no_are_labels_and_come_back(y):
    X_table, Y_table = MLSOL(random_state=0).fit_resample(X, Y)
    X_words, y_words = MLSOL(random_state=0).fit_resample(X, y)
    assert_array_equal(X_words, X_table)
    assert type(y_words) is type(y)
    if hasattr(y, "dtypes"):
        assert list(y_words.dtypes) == list(y.dtypes)
    assert_array_equal(np.asarray(y_words)[:60], np.asarray(y))
    assert mean_ir(y_words) == mean_ir(Y_table)


def test_numbers_among_words_count_as_what_they_say():
    words = np.full(Y.shape, "0", dtype=object)
    words[Y == 1] = 1
    words[0] = "0"  # a word is what tells a table of words
    expected = Y.copy()
    expected[0] = 0
    assert mean_ir(words) == mean_ir(expected)


def test_an_opposite_that_is_longer_than_all_words_is_whole():
    words = np.full((60, 4), "on")
    words[:, 1:] = np.where(Y == 1, "y", "n")
    with pytest.warns(ConstantLabelWarning):
        _, after = REMEDIAL().fit_resample(X, words)
    assert set(after[:, 0]) == {"on", "off"}


def test_a_label_without_one_of_its_words_gets_the_opposite():
    y = pd.DataFrame({"a": ["Yes"] * 60, "b": np.where(Y[:, 2], "yes", "no")})
    with pytest.warns(UserWarning, match="in every row"):
        _, out = REMEDIAL().fit_resample(X, y)
    assert set(out["a"]) <= {"Yes", "No"}


def test_following_the_advice_for_other_words_ends_well():
    y = pd.DataFrame({"pet": np.where(Y[:, 0], "cat", "dog"), "rock": Y[:, 2]})
    with pytest.raises(ValueError, match=r"\(y\['pet'\] == "):
        MLSOL(random_state=0).fit_resample(X, y)
    y["pet"] = (y["pet"] == "cat").astype(int)
    MLSOL(random_state=0).fit_resample(X, y)


def test_a_learner_of_lists_predicts_lists_and_scores_them():
    table, lists = BinaryRelevance().fit(X, Y), BinaryRelevance().fit(X, ROWS)
    assert lists.predict(X) == [NAMES[row == 1].tolist() for row in table.predict(X)]
    assert lists.score(X, ROWS) == lists.score(X, Y) == table.score(X, Y)
    weights = np.arange(60)
    assert lists.score(X, SETS["sets"], weights) == table.score(X, Y, weights)
    assert get_label_scorer("macro_f1")(lists, X, ROWS) == macro_f1(Y, table.predict(X))
    unknown = [[*row, "polka"] for row in ROWS]
    assert lists.score(X, unknown) == 0


@pytest.mark.parametrize(
    "y",
    [
        [[1, "1"], ["1"], [1], []] * 15,
        [{1, "1"}, {"1"}, {1}, set()] * 15,
        pd.DataFrame(Y[:, :2], columns=[1, "1"]),
        pd.DataFrame(Y[:, :2], columns=["1", "1"]),
    ],
    ids=["lists", "sets", "frame", "frame, twice the same"],
)
def test_labels_that_read_alike_are_refused(y):
    with pytest.raises(LabelFormatError, match=r"both 1 and '1'|both '1' and 1|Repeated names: 1"):
        MLROS().fit_resample(X, y)


def test_the_warning_of_constant_labels_names_them_and_says_what_to_do():
    frame = pd.DataFrame(Y, columns=NAMES).assign(polka=0)
    with pytest.warns(ConstantLabelWarning, match="'polka'.*leave them out of y"):
        MLROS(random_state=0).fit_resample(X, frame)


TEXTS = [";".join(row) for row in ROWS]
TEXT_KINDS = {
    "series": pd.Series(TEXTS),
    "object series": pd.Series([text or None for text in TEXTS], dtype=object),
    "array": np.array(TEXTS, dtype=object),
    "list": TEXTS,
    "frame": pd.DataFrame({"tags": TEXTS}),
    "table": np.array(TEXTS)[:, None],
    "spaced": pd.Series(TEXTS).str.replace(";", ", "),
    "blanks on both sides": [text.replace(";", " | ") for text in TEXTS],
    "a regular expression": pd.Series([text.replace(";", "| ") or "rock" for text in TEXTS]),
    "a separator at the end": pd.Series([f"{text or 'rock'};" for text in TEXTS]),
    "full polars": pl.Series("tags", [text or "rock" for text in TEXTS]),
}


@pytest.mark.parametrize("function", [MLROS(random_state=0).fit_resample, profile])
def test_texts_of_several_labels_show_a_cure_that_works(function, case):
    for y in TEXT_KINDS.values():
        with case(y):
            with pytest.raises(LabelFormatError, match="several labels per cell") as caught:
                function(X, y)
            cure = caught.value.cure.partition(": ")[2]
            given = eval(cure, {"y": y})
            assert {name for row in given for name in row} == set(NAMES)
            labels = [[name in row for name in NAMES] for row in given]
            has_none = not all(np.ravel(y))  # an empty text, or None
            expected = ROWS if has_none else [row or ["rock"] for row in ROWS]
            assert_array_equal(labels, [[name in row for name in NAMES] for row in expected])
            function(X, given)
