"""``labelance decide``: scores of any model in, decisions out."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from labelance.datasets import MultiLabelDataset, write_multilabel
from labelance.decisions import (
    decide_within_budget,
    find_budget_rule,
    find_calibration,
    find_thresholds,
    guarantee_precision,
    guarantee_recall,
)

NAMES = ["cat", "dog", "rare"]


@pytest.fixture
def call(call):
    """Run ``labelance decide``; its messages are in one line."""

    def run(*words):
        code, out, err = call("decide", *words)
        return code, out, " ".join(err.split())

    return run


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = (rng.random((300, 3)) < [0.5, 0.15, 0.01]).astype(int)
    y[:3, 2] = 1
    return y, 1 / (1 + np.exp(2 - 4 * y - rng.normal(size=y.shape)))


@pytest.fixture
def files(tmp_path, data, monkeypatch):
    """Scores and labels as CSV and NPY, and scores of other rows."""
    y, scores = data
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(scores, columns=NAMES).to_csv("scores.csv", index=False)
    pd.DataFrame(y, columns=NAMES).to_csv("truth.csv", index=False)
    pd.DataFrame(scores[:40, :] / 2, columns=NAMES).to_csv("other.csv", index=False)
    np.save("scores.npy", scores)
    np.save("truth.npy", y)
    return tmp_path


def write(path, table, **columns):
    frame = pd.DataFrame(table, columns=NAMES).assign(**columns)
    if path.endswith("parquet"):
        frame.to_parquet(path)
    elif path.endswith("npz"):
        np.savez(path, table=table, labels=NAMES)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.endswith("tsv") else ",")


def test_thresholds_decide_other_rows(call, files, data):
    code, out, err = call(
        "scores.csv", "--truth", "truth.csv", "--apply", "other.csv", "-o", "out.csv"
    )
    assert (code, err) == (0, "")
    assert all(word in out for word in ("threshold", "positives", "interval", "reason", *NAMES))
    decided = pd.read_csv("out.csv")
    assert list(decided) == NAMES
    y, scores = data
    assert_array_equal(decided, find_thresholds(y, scores).predict(scores[:40] / 2))


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_labels_may_be_chosen(call, files, data, kind):
    y, scores = data
    wanted = "rare,c*" if kind == "csv" else "0,2"
    words = (f"scores.{kind}", "--truth", f"truth.{kind}", "--labels", wanted)
    code, out, err = call(*words, "-o", "some.csv", "--json")
    assert (code, err) == (0, "")
    found = find_thresholds(y[:, [0, 2]], scores[:, [0, 2]])
    lines = json.loads(out)["labels"]
    names = ["cat", "rare"] if kind == "csv" else ["0", "2"]
    assert [line["label"] for line in lines] == names
    assert_array_equal([line["threshold"] for line in lines], found.thresholds)
    decided = pd.read_csv("some.csv")
    assert list(decided) == names
    assert_array_equal(decided, found.predict(scores[:, [0, 2]]))
    code, _, err = call(*words[:4], "cta" if kind == "csv" else "7")
    assert (code, "Labels: " in err) == (1, True)


def test_labels_are_chosen_before_a_budget_is_shared(call, files, data):
    code, *_ = call("scores.csv", "--labels", "dog,rare", "--per-row", 1, "-o", "some.csv")
    decided = pd.read_csv("some.csv")
    assert code == 0
    assert_array_equal(
        decided, decide_within_budget(data[1][:, 1:], per_row=1, random_state=0).y.toarray()
    )


def test_a_guarantee_says_how_many_rows_it_flags(call, files, data):
    y, scores = data
    words = ("scores.csv", "--truth", "truth.csv", "--recall", 0.98)
    share = guarantee_recall(y, scores, recall=0.98, too_few="never").predict(scores).mean(axis=0)
    code, out, _ = call(*words)
    assert code == 3
    assert "share" in out
    assert f"{share[0]:.1%}" in out
    lines = json.loads(call(*words, "--json")[1])["labels"]
    assert_array_equal([line["share"] for line in lines[:2]], share[:2])


@pytest.mark.parametrize("objective", ["f1", "gmean", "balanced_accuracy", "micromacro"])
def test_json_has_the_thresholds_of_the_library(call, files, data, objective):
    code, out, _ = call("scores.npy", "--truth", "truth.npy", "--objective", objective, "--json")
    lines = json.loads(out)["labels"]
    expected = find_thresholds(*data, objective=objective).thresholds
    assert code == 0
    assert [line["label"] for line in lines] == ["0", "1", "2"]
    assert_array_equal([line["threshold"] for line in lines], expected)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.parquet", "out.npz"])
def test_every_kind_of_file_gives_the_same_decisions(call, files, data, kind, out):
    y, scores = data
    write(f"s.{kind}", scores)
    write(f"t.{kind}", y.astype(bool))
    assert call(f"s.{kind}", "--truth", f"t.{kind}", "-o", out)[0] == 0
    expected = find_thresholds(y, scores).predict(scores)
    if out.endswith("npz"):
        found = np.load(out)
        assert_array_equal(found["labels"], NAMES)
        assert_array_equal(found["y"], expected)
        return
    read = pd.read_parquet if out.endswith("parquet") else pd.read_csv
    frame = read(out, sep="\t") if out.endswith("tsv") else read(out)
    assert list(frame) == NAMES
    assert_array_equal(frame, expected)


def test_sparse_scores_stay_sparse(call, files, data):
    y, scores = data
    cut = sp.csr_array(np.where(scores > 0.3, scores, 0))
    sp.save_npz("s.npz", cut)
    sp.save_npz("t.npz", sp.csr_array(y))
    assert call("s.npz", "--truth", "t.npz", "-o", "out.npz")[0] == 0
    assert_array_equal(sp.load_npz("out.npz").toarray(), find_thresholds(y, cut.toarray()).predict(
        cut.toarray()))  # fmt: skip


@pytest.mark.slow
def test_rows_are_joined_by_id(call, files, data):
    y, scores = data
    large = [str(2**60 + i) for i in range(300)]  # no double tells them apart
    write("s.csv", scores, id=large)
    order = np.random.default_rng(1).permutation(300)
    write("t.csv", y[order], id=np.array(large)[order])
    code, _, err = call("s.csv", "--truth", "t.csv", "-o", "out.csv")
    assert (code, err) == (0, "")
    decided = pd.read_csv("out.csv", dtype={"id": str})
    assert list(decided["id"]) == large
    assert_array_equal(decided[NAMES], find_thresholds(y, scores).predict(scores))
    write("t.csv", y[order], id=[*large[1:], "new"])
    code, _, err = call("s.csv", "--truth", "t.csv")
    assert (code, repr(large[0]) in err) == (1, True)
    write("t.csv", y[order], id=large[0])
    assert "an id twice" in call("s.csv", "--truth", "t.csv")[2]


@pytest.mark.slow
def test_columns_of_words_and_indices_name_rows(call, files, data):
    y, scores = data
    write("s.csv", scores, song=[f"s{i}" for i in range(300)])
    assert call("s.csv", "--truth", "truth.csv", "-o", "a.csv")[0] == 0
    assert next(iter(pd.read_csv("a.csv"))) == "song"
    pd.DataFrame(scores, columns=NAMES).to_csv("index.csv")
    pd.DataFrame(y, columns=NAMES).iloc[::-1].to_csv("reversed.csv")
    code, out, _ = call("index.csv", "--truth", "reversed.csv", "--json")
    assert code == 0
    found = [line["threshold"] for line in json.loads(out)["labels"]]
    assert_array_equal(found, find_thresholds(y, scores).thresholds)
    write("s.csv", scores, year=range(300))
    assert call("s.csv", "--truth", "truth.csv", "--id", "year")[0] == 0


@pytest.mark.slow
def test_truth_may_be_a_dataset(call, files, data):
    y, scores = data
    X = np.random.default_rng(0).random((300, 2))
    dataset = MultiLabelDataset(X, y, label_names=NAMES, feature_names=["tempo", "loud"])
    for name in ("valid.npz", "valid.csv"):
        write_multilabel(dataset, name)
        code, out, err = call("scores.csv", "--truth", name, "--json")
        assert code == 0
        assert ("not used: tempo, loud" in err) == name.endswith("csv")
        found = [line["threshold"] for line in json.loads(out)["labels"]]
        assert_array_equal(found, find_thresholds(y, scores).thresholds)


def test_truth_may_hold_a_column_of_vectors(call, files, data):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame(data[0], columns=NAMES).assign(vector=[[0.0, 1.0]] * 300)
    table.to_parquet("valid.parquet", index=False)
    code, out, _ = call("scores.csv", "--truth", "valid.parquet", "--json")
    assert (code, out) == call("scores.csv", "--truth", "truth.csv", "--json")[:2]


@pytest.mark.slow
def test_labels_without_a_guarantee_are_refused(call, files, data):
    words = ("scores.csv", "--truth", "truth.csv", "--recall", 0.9, "--confidence", 0.9)
    code, out, _ = call(*words, "-o", "out.csv", "--thresholds", "found.json")
    n_rare = int(data[0][:, 2].sum())
    assert code == 3
    assert f"rare: {n_rare} positives, and at least 22 are needed" in out
    decided = pd.read_csv("out.csv")
    assert list(decided) == ["cat", "dog"]
    found = guarantee_recall(*data, recall=0.9, confidence=0.9, too_few="never")
    assert_array_equal(decided, found.predict(data[1])[:, :2])
    saved = json.loads((files / "found.json").read_text())
    assert saved["refused"] == ["rare"]
    assert [line["rule"] for line in saved["labels"]] == ["at least", "at least", "refused"]
    assert saved["labels"][2]["threshold"] is None
    code, out, _ = call(*words, "--json")
    assert (code, json.loads(out)) == (3, saved)


@pytest.mark.parametrize("too_few", ["always", "never", "pool"])
def test_rare_labels_are_predicted_as_asked(call, files, data, too_few):
    words = ("scores.csv", "--truth", "truth.csv", "--recall", 0.7, "--too-few", too_few)
    recall = 0.7 if too_few == "pool" else 0.95
    code, out, _ = call(*words[:4], recall, *words[5:], "--json", "-o", "out.csv")
    line = json.loads(out)["labels"][2]
    assert code == 0
    assert list(pd.read_csv("out.csv")) == NAMES
    if too_few != "pool":
        assert (line["rule"], line["threshold"]) == (too_few, None)


@pytest.mark.slow
def test_precision_is_guaranteed_on_half_of_the_rows(call, files, data):
    words = ("scores.csv", "--truth", "truth.csv", "--precision", 0.6, "--seed", 1, "--json")
    code, out, _ = call(*words)
    found = guarantee_precision(*data, precision=0.6, random_state=1)
    lines = json.loads(out)["labels"]
    assert code == 3
    assert lines[0]["threshold"] == found.thresholds[0]
    assert "half of the rows" in lines[2]["reason"]
    code, out, _ = call(*words, "--too-few", "never")
    assert (code, json.loads(out)["labels"][2]["rule"]) == (0, "never")


def test_nothing_is_written_where_all_labels_are_refused(call, files):
    code, out, _ = call("scores.csv", "--truth", "truth.csv", "--recall", 0.999, "-o", "out.csv")
    assert (code, (files / "out.csv").exists()) == (3, False)
    assert "3 of 3 labels" in out
    assert "out.csv: not written" in out


@pytest.mark.parametrize(
    "budget",
    [
        {"per_row": 1},
        {"per_row": 2, "exactly": True},
        {"per_label": 20},
        {"total": 50},
        {"per_row": 1, "total": 50, "utility": "balanced_accuracy"},
    ],
)
def test_budgets_need_no_truth(call, files, data, budget):
    flags = []
    for name, value in budget.items():
        flag = "--objective" if name == "utility" else f"--{name.replace('_', '-')}"
        flags += [flag] if value is True else [flag, value]
    code, out, _ = call("scores.csv", *flags, "-o", "out.csv")
    assert (code, "expected" in out) == (0, True)
    expected = decide_within_budget(data[1], **budget, random_state=0).y.toarray()
    assert_array_equal(pd.read_csv("out.csv"), expected)


def test_a_budget_with_truth_finds_a_rule_for_other_rows(call, files, data):
    y, scores = data
    words = ("--truth", "truth.csv", "--per-row", 1, "--apply", "other.csv", "-o", "out.csv")
    code, _, _ = call("scores.csv", *words)
    rule = find_budget_rule(y, scores, per_row=1)
    assert code == 0
    expected = rule.predict(scores[:40] / 2, only_best=True).toarray()
    assert_array_equal(pd.read_csv("out.csv"), expected)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "Add --truth"),
        ("--truth none.csv", "File 'none.csv' does not exist"),
        ("--truth truth.csv --recall 0.9 --precision 0.9", "Got --recall and --precision"),
        ("--truth truth.csv --recall 0.9 --objective f1", "Got --recall and --objective"),
        ("--truth truth.csv --recall 0.9 --per-row 1", "exclude each other"),
        ("--truth truth.csv --recall 1.5", "--recall must be a number between 0 and 1"),
        ("--truth truth.csv --recall 0.9 --confidence 0.9 --too-few pool", "--too-few pool holds"),
        ("--truth truth.csv --precision 0.9 --too-few pool", "refuse or never"),
        ("--truth truth.csv --confidence 0.9", "needs --recall or --precision"),
        ("--truth truth.csv --exactly", "--exactly needs --per-row. --per-row is missing"),
        ("--truth truth.csv --apply other.csv", "-o is missing"),
        ("--per-row 1 --apply other.csv -o out.csv", "--truth is missing"),
        ("--per-row 9", "--per-row must be an integer from 1 to 3"),
        ("--per-row 1 --total 9", "--objective balanced_accuracy"),
        ("--per-row 1 --objective gmean", "f1 or balanced_accuracy"),
        ("--total 9 --truth truth.csv", "Remove --truth"),
        ("--total 9 --thresholds a.json", "A budget has no thresholds"),
        ("--truth truth.csv -o out.npy", "Decisions can be written as CSV"),
        ("--truth truth.csv -o truth.csv", "--force"),
        ("--truth truth.csv --id song", "no column 'song'"),
        ("--truth scores.csv", "0"),
    ],
)
def test_wrong_requests_are_told_before_anything_is_written(call, files, words, said):
    before = sorted(files.iterdir())
    code, out, err = call("scores.csv", *words.split())
    assert (code, out, said in err) == (1, "", True), err
    assert "y_true" not in err
    assert sorted(files.iterdir()) == before


def write_bytes(name, text):
    with open(name, "wb") as file:
        file.write(text)


BROKEN = {
    "nan": (lambda s: write("bad.csv", np.where(s == s[4, 1], np.nan, s)), "row 5, label 'dog'"),
    "nan in sparse": (
        lambda s: sp.save_npz("bad.npz", sp.csr_array(np.where(s == s[4, 1], np.nan, s))),
        "row 5, label '1'",
    ),
    "rows": (lambda s: write("bad.csv", s[:9]), "bad.csv has 9 rows and 3 labels"),
    "order": (
        lambda s: pd.DataFrame(s, columns=["dog", "cat", "rare"]).to_csv("bad.csv", index=False),
        "Its order is cat, dog, rare",
    ),
    "names": (
        lambda s: pd.DataFrame(s, columns=["cats", "dog", "rare"]).to_csv("bad.csv", index=False),
        "Missing: 'cats'. Did you mean 'cat'?",
    ),
    "a word": (lambda s: write("bad.csv", s.round(3).astype(str), cat=["n/a", *s[1:, 0]]), "'n/a'"),
    "two words": (lambda s: write("bad.csv", s, a="x", b="y"), "'a', 'b'"),
    "no header": (lambda s: np.savetxt("bad.csv", s, delimiter=","), "Add a header line"),
    "bytes": (lambda s: write_bytes("bad.npy", b"nothing"), "numpy.save"),
    "zip": (lambda s: write_bytes("bad.npz", b"PK\x03\x04nothing"), "numpy.savez"),
    "parquet": (lambda s: write_bytes("bad.parquet", b"nothing"), "bad.parquet"),
    "empty": (lambda s: write_bytes("bad.csv", b""), "Add a header"),
    "suffix": (lambda s: write_bytes("bad.xls", b""), "CSV, TSV, Parquet, NPZ or NPY"),
    "shape": (lambda s: np.save("bad.npy", s[0]), "shape (3,)"),
    "several": (lambda s: np.savez("bad.npz", a=s, b=s), "one table"),
    "pickle": (lambda s: np.save("bad.npy", np.array([["a", {}]], dtype=object)), "numpy.save"),
}


@pytest.mark.slow
def test_damaged_archives_are_told(call, files, data):
    np.savez_compressed("bad.npz", scores=data[1])
    whole = (files / "bad.npz").read_bytes()
    for start in range(100, 2100, 100):
        write_bytes("bad.npz", whole[:start] + bytes(50) + whole[start + 50 :])
        code, _, err = call("bad.npz", "--per-row", 1, "-o", "out.csv")
        assert (code, "numpy.savez" in err) == (1, True), err
    assert "--id names a column" in call("scores.npy", "--truth", "truth.npy", "--id", "song")[2]


@pytest.mark.slow
def test_many_labels_have_a_short_table(call, files):
    rng = np.random.default_rng(0)
    np.save("many.npy", rng.random((20, 130)))
    np.save("labels.npy", rng.random((20, 130)) < 0.5)
    _, out, _ = call("many.npy", "--truth", "labels.npy")
    assert "and 30 more labels" in out
    code, out, _ = call("many.npy", "--truth", "labels.npy", "--recall", 0.99)
    assert (code, len(out.splitlines()) < 120) == (3, True)
    assert "130 of 130 labels" in out


@pytest.mark.parametrize("case", BROKEN)
def test_broken_scores_are_told_and_nothing_is_written(call, files, data, case):
    make, said = BROKEN[case]
    make(data[1])
    bad = next(files.glob("bad.*"))
    code, out, err = call(bad.name, "--truth", "truth.csv", "-o", "out.csv")
    assert (code, out) == (1, ""), err
    assert said in err
    assert "Traceback" not in err
    assert not (files / "out.csv").exists()


def test_probabilities_are_needed_for_budgets(call, files, data):
    np.save("margins.npy", data[1] * 3)
    code, _, err = call("margins.npy", "--per-row", 1)
    assert (code, "labelance decide needs probabilities" in err) == (1, True)


@pytest.mark.slow
def test_missing_labels_are_left_out_on_request(call, files, data):
    y, scores = data
    y = y.astype(float)
    y[10, 0] = np.nan
    write("t.csv", y)
    for goal in ([], ["--recall", 0.5]):
        code, _, err = call("scores.csv", "--truth", "t.csv", *goal)
        assert (code, "--missing-labels ignore" in err) == (1, True)
    code, out, _ = call("scores.csv", "--truth", "t.csv", "--missing-labels", "ignore", "--json")
    found = find_thresholds(y, scores)
    assert code == 0
    lines = json.loads(out)["labels"]
    assert_array_equal([line["threshold"] for line in lines], found.thresholds)
    assert_array_equal([line["known"] for line in lines], found.n_known)
    for goal in (["--recall", 0.5], ["--per-row", 1, "--calibrate"]):
        ignored = (*goal, "--missing-labels", "ignore", "--json")
        lines = json.loads(call("scores.csv", "--truth", "t.csv", *ignored)[1])["labels"]
        assert [line["known"] for line in lines] == [len(y) - 1, *[len(y)] * (len(lines) - 1)]
        assert_array_equal([line["positives"] for line in lines], np.nansum(y, axis=0))
    sp.save_npz("t.npz", sp.csr_array(y))
    assert lines == json.loads(call("scores.csv", "--truth", "t.npz", *ignored)[1])["labels"]
    out = call("scores.csv", "--truth", "truth.csv", "--json")[1]
    assert "known" not in json.loads(out)["labels"][0]
    write("t.csv", y, rare=["maybe", *["no"] * 299])
    assert "maybe" in call("scores.csv", "--truth", "t.csv")[2]


def test_apply_takes_the_same_labels(call, files, data):
    pd.DataFrame(data[1][:, :2], columns=NAMES[:2]).to_csv("two.csv", index=False)
    code, _, err = call("scores.csv", "--truth", "truth.csv", "--apply", "two.csv", "-o", "o.csv")
    assert (code, "two.csv has 300 rows and 2 labels" in err) == (1, True)


@pytest.mark.slow
def test_a_dataset_is_no_file_of_scores(call, files, data):
    y, scores = data
    np.savez("plain.npz", X=scores, y=y)
    write_multilabel(MultiLabelDataset(scores, y, label_names=NAMES), "ours.npz")
    for name in ("plain.npz", "ours.npz"):
        code, _, err = call(name, "--truth", name)
        assert (code, "is a dataset" in err) == (1, True)
        assert call("scores.npy", "--truth", name)[0] == 0  # its labels are the truth


@pytest.mark.slow
@pytest.mark.parametrize("truth_has_it", [True, False])
def test_a_column_of_numbers_that_names_rows_is_no_label(call, files, data, truth_has_it):
    y, scores = data
    ids = {"customer": 1000 + np.arange(len(y))}
    pd.DataFrame(ids | dict(zip(NAMES, scores.T))).to_csv("s.csv", index=False)
    pd.DataFrame((ids if truth_has_it else {}) | dict(zip(NAMES, y.T))).to_csv("t.csv", index=False)
    code, _, err = call("s.csv", "--truth", "t.csv")
    assert (code, "'customer'" in err, "--id" in err) == (1, True, True)
    assert call("s.csv", "--truth", "t.csv", "--id", "customer")[0] == 0


@pytest.mark.parametrize("budget", [["--per-row", 1], ["--per-label", 5], ["--total", 20]])
def test_a_budget_is_kept_by_calibrated_scores(call, files, data, budget):
    y, scores = data
    other = scores[:40] / 2
    code, _, err = call(
        "scores.csv", "--truth", "truth.csv", "--apply", "other.csv", "--calibrate", *budget,
        "-o", "out.csv",
    )  # fmt: skip
    assert (code, err) == (0, "")
    maps = find_calibration(y, scores)
    p, option = maps.predict_proba(other), {budget[0][2:].replace("-", "_"): budget[1]}
    if budget[0] == "--per-row":
        rule = find_budget_rule(y, maps.predict_proba(scores), **option)
        expected = rule.predict(p, only_best=True)
    else:
        expected = decide_within_budget(p, **option, random_state=0).y
    assert_array_equal(pd.read_csv("out.csv"), sp.csr_array(expected).toarray())


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--truth", "truth.csv"], "A budget is missing"), (["--per-row", 1], "--truth is missing")],
)
def test_calibration_goes_with_a_budget_and_labels(call, files, words, told):
    code, _, err = call("scores.csv", "--calibrate", *words)
    assert (code, told in err) == (1, True)


INDEXES = {
    "integers": lambda order: pd.Index(order * 7 + 3),
    "range": lambda order: pd.RangeIndex(len(order) - 1, -1, -1),
    "words": lambda order: pd.Index([f"d{one}" for one in order]),
    "floats": lambda order: pd.Index(order + 0.5),
    "dates": lambda order: pd.Timestamp("2020-01-01") + pd.to_timedelta(order, unit="D"),
    "times": lambda order: pd.Timestamp("2020-01-01") + pd.to_timedelta(order, unit="h"),
    "durations": lambda order: pd.to_timedelta(order, unit="h"),
    "periods": lambda order: pd.PeriodIndex.from_ordinals(order, freq="M"),
    "categories": lambda order: pd.CategoricalIndex([f"d{one}" for one in order]),
    "levels": lambda order: pd.MultiIndex.from_arrays([order % 7, order]),
}


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("files_of", ["pp", "pc", "cp"])
def test_rows_are_joined_by_the_index_of_a_frame(call, files, data, kind, files_of):
    if kind == "levels" and files_of != "pp":
        pytest.skip("CSV has no two columns without a name")
    y, scores = data
    order = np.random.default_rng(2).permutation(len(y))
    order = np.arange(len(y))[::-1] if kind == "range" else order
    index = INDEXES[kind](order)
    inverse = np.argsort(order)
    first = pd.DataFrame(scores[order], columns=NAMES, index=index)
    second = pd.DataFrame(y[order], columns=NAMES, index=index)
    # The truth in another order: rows of equal index belong together.
    second = second.iloc[np.random.default_rng(3).permutation(len(y))]
    names = []
    for frame, name, file in zip((first, second), ("s", "t"), files_of):
        names.append(f"{name}.{'parquet' if file == 'p' else 'csv'}")
        (frame.to_parquet if file == "p" else frame.to_csv)(names[-1])
    code, _, err = call(names[0], "--truth", names[1], "-o", "out.csv", "--json")
    assert (code, err) == (0, "")
    decided = pd.read_csv("out.csv")[NAMES].to_numpy()[inverse]
    assert_array_equal(decided, find_thresholds(y, scores).predict(scores))


def test_the_index_that_pandas_makes_by_default_is_no_id(call, files, data):
    y, scores = data
    pd.DataFrame(y, columns=NAMES).to_csv("t.csv")
    pd.DataFrame(y, columns=NAMES).to_parquet("t.parquet")
    for name in ("t.csv", "t.parquet"):
        for other in ("scores.csv", "scores.npy"):
            assert call(other, "--truth", name)[0] == 0
    shuffled = pd.DataFrame(scores, columns=NAMES).sample(frac=1, random_state=0)
    shuffled.to_parquet("s.parquet")
    code, _, err = call("s.parquet", "--truth", "truth.csv")
    assert (code, "--by-position" in err) == (1, True)


@pytest.mark.parametrize(
    ("of_scores", "of_truth"),
    [
        ({"doc": "d{}"}, {"document": "d{}"}),
        ({"doc": "a song {}"}, {"title": "a song {}"}),
        ({"doc": "d{}"}, {"document": "x-{}"}),
        ({"doc": "d{}"}, {"number": "{}"}),
        ({}, {"document": "d{}"}),
        ({}, {"id": "the {}"}),
        ({}, {"number": "12345678901234{:05}"}),
        ({}, {"": "d{}"}),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_ids_that_do_not_match_stop_the_run(call, files, data, of_scores, of_truth, kind):
    y, scores = data
    order = np.random.default_rng(1).permutation(len(y))

    def add(frame, ids):
        made = {name: [text.format(one) for one in order] for name, text in ids.items()}
        return pd.concat([pd.DataFrame(made), frame], axis=1)

    add(pd.DataFrame(scores, columns=NAMES), of_scores).to_csv("s.csv", index=False)
    add(pd.DataFrame(y, columns=NAMES), of_truth).to_csv("t.csv", index=False)
    name = "s.csv" if of_scores or kind == "csv" else "scores.npy"
    code, out, err = call(name, "--truth", "t.csv", "-o", "out.csv")
    assert (code, out, "--by-position" in err) == (1, "", True), err
    code, _, _ = call(name, "--truth", "t.csv", "-o", "out.csv", "--by-position")
    assert code == 0
    assert_array_equal(pd.read_csv("out.csv")[NAMES] if kind == "csv" or of_scores else
        pd.read_csv("out.csv"), find_thresholds(y, scores).predict(scores))  # fmt: skip


def test_ids_of_an_archive_need_ids_of_the_scores(call, files, data):
    y, _ = data
    np.savez("t.npz", y=y, labels=NAMES, id=[f"d{i}" for i in range(len(y))])
    code, _, err = call("scores.csv", "--truth", "t.npz")
    assert (code, "--by-position" in err) == (1, True)
    assert call("scores.csv", "--truth", "t.npz", "--by-position")[0] == 0


@pytest.mark.parametrize("scores_have_ids", [True, False])
def test_free_text_next_to_labels_is_no_id(call, files, data, scores_have_ids):
    y, scores = data
    ids = {"doc": [f"d{i}" for i in range(len(y))]} if scores_have_ids else {}
    write("s.csv", scores, **ids)
    text = [f"A post about {i}" for i in range(len(y))]
    japanese = [f"猫の話{i}" for i in range(len(y))]
    write("t.csv", y, text=text, japanese=japanese, tempo=np.arange(len(y)) / 3, part="train")
    code, _, err = call("s.csv", "--truth", "t.csv")
    assert (code, "not used: text, japanese, tempo, part" in err) == (0, True)


def test_an_archive_with_a_repeated_label_is_refused(call, files, data):
    y, scores = data
    for name, table in (("s.npz", scores), ("t.npz", y)):
        np.savez(name, table=table, labels=["a", "a", "b"])
    code, _, err = call("s.npz", "--truth", "t.npz")
    assert (code, "unique names. 'a' is repeated" in err) == (1, True)


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.parquet", "out.npz"])
def test_a_label_called_id_does_not_replace_the_ids(call, files, data, out):
    ids = [f"d{i}" for i in range(len(data[1]))]
    np.savez("s.npz", scores=data[1], labels=["id", "b", "c"], id=ids)
    code, _, err = call("s.npz", "--per-row", 1, "-o", out)
    if out == "out.npz":
        assert code == 0
        assert_array_equal(np.load(out)["id"], ids)
        return
    assert (code, "called 'id'" in err, (files / out).exists()) == (1, True, False)


def test_decisions_and_thresholds_need_a_file_each(call, files):
    words = ("scores.csv", "--truth", "truth.csv", "-o", "same.csv")
    code, _, err = call(*words, "--thresholds", "../" + files.name + "/same.csv")
    assert (code, "a file each" in err, (files / "same.csv").exists()) == (1, True, False)


def test_files_in_latin_1_are_read_with_the_flag_that_the_error_names(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids, scores = [f"café {i}" for i in range(40)], np.linspace(0, 1, 40)
    frame = pd.DataFrame({"id": ids, "cat": scores})
    frame.to_csv("scores.csv", index=False, encoding="latin-1")
    truth = frame.assign(cat=(scores > 0.6).astype(int))[::-1]
    truth.to_csv("truth.csv", index=False, encoding="latin-1")
    words = ("scores.csv", "--truth", "truth.csv", "-o", "out.csv")
    code, _, err = call(*words)
    assert code == 1
    assert "Pass the encoding of the file, such as --encoding cp1252" in err
    assert call(*words, "--encoding", "latin-1")[0] == 0
    decided = pd.read_csv("out.csv")  # always UTF-8
    assert decided["id"].tolist() == ids
    assert_array_equal(decided["cat"], scores > 0.6)
