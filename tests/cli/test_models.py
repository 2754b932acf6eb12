"""``labelance fit`` and ``labelance predict``: from files to a model, and from it to labels."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from labelance import RareLabelClassifier
from labelance.learners import BinaryRelevance

pytestmark = pytest.mark.usefixtures("few_steps")

skops_io = pytest.importorskip("skops.io")
pytest.importorskip("pandas")

N = 80
WORDS = np.array(["sun", "rain", "wind", "snow", "hail"])
LABELS = ["--labels", "happy,sad"]


def make_rows(seed=0, n=N):
    """Return ids, numbers and categories, and labels that follow from them."""
    rng = np.random.default_rng(seed)
    tempo = rng.normal(120, 20, n).round(1)
    return pd.DataFrame({
        "id": [f"u-{7919 * i + seed}" for i in range(n)],
        "tempo": tempo,
        "key": rng.choice(["1", "2", "x"], n),
        "happy": (tempo > 125).astype(int),
        "sad": (tempo < 100).astype(int),
    })  # fmt: skip


def make_posts(seed=0, n=N):
    rng = np.random.default_rng(seed)
    seen = rng.random((n, 5)) < 0.4
    texts = [f"Day {i}, {' '.join(WORDS[row])}" for i, row in enumerate(seen)]
    return pd.DataFrame({
        "id": range(1000, 1000 + n),
        "post": [None if i % 9 == 0 else text for i, text in enumerate(texts)],
        "size": rng.normal(size=n),
        "happy": seen[:, 0].astype(int),
        "sad": seen[:, 1].astype(int),
    })  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_rows().to_csv("songs.csv", index=False)
    make_rows(1, 30).drop(columns=["happy", "sad"]).to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture
def fitted(here, call):
    assert call("fit", "songs.csv", *LABELS, "--learner", "logistic", "-o", "m.skops")[0] == 0
    return here


def read(path="out.csv"):
    return pd.read_csv(path)


@pytest.mark.parametrize("learner", ["default", "logistic", "forest"])
def test_a_saved_model_predicts_what_it_predicts_in_python(here, call, learner):
    code, out, err = call("fit", "songs.csv", *LABELS, "--learner", learner, "-o", "m.skops")
    assert code == 0
    assert "left out: id" in err
    assert "80 rows, 2 columns (tempo, key) and 2 labels" in out
    assert call("predict", "m.skops", "new.csv", "-o", "out.csv")[:2] == (
        0, f"out.csv: {read()[['happy', 'sad']].to_numpy().sum()} labels of 30 rows\n",
    )  # fmt: skip
    found = read()
    assert list(found.columns) == ["id", "happy", "sad"]
    assert found["id"].tolist() == make_rows(1, 30)["id"].tolist()
    truth = make_rows(1, 30)
    assert (found["happy"] == truth["happy"]).mean() > 0.8
    assert call("predict", "m.skops", "new.csv", "--scores", "-o", "scores.csv")[0] == 0
    model = skops_io.load("m.skops", trusted=skops_io.get_untrusted_types(file="m.skops"))
    X = pd.read_csv("new.csv", dtype={"key": str})[["tempo", "key"]]
    np.testing.assert_allclose(
        read("scores.csv")[["happy", "sad"]].to_numpy(), model.predict_proba(X), rtol=1e-12
    )


def test_dates_that_rows_share_are_left_out_as_others_are(here, call):
    days = [f"2024-01-{1 + i % 20:02d}" for i in range(N)]
    make_rows().assign(day=days).to_csv("days.csv", index=False)
    code, _, err = call("fit", "days.csv", *LABELS, "--learner", "logistic", "-o", "d.skops")
    assert (code, "day (it holds dates or times)" in err) == (0, True), err
    assert "left out: day (it holds" in call("describe", "days.csv", *LABELS, "--ignore", "id")[1]


def test_fitting_twice_gives_the_same_model(here, call):
    for name in ("a.skops", "b.skops"):
        assert call("fit", "songs.csv", *LABELS, "--learner", "logistic", "-o", name)[0] == 0
        assert call("predict", name, "new.csv", "--scores", "-o", name + ".csv")[0] == 0
    assert (here / "a.skops.csv").read_text() == (here / "b.skops.csv").read_text()


def test_columns_go_by_name_and_others_are_not_used(fitted, call):
    assert call("predict", "m.skops", "new.csv", "-o", "out.csv")[0] == 0
    rows = make_rows(1, 30)
    rows.assign(note=1.5)[["sad", "key", "note", "id", "tempo", "happy"]].to_csv(
        "other.csv", index=False
    )
    code, _, err = call("predict", "m.skops", "other.csv", "-o", "other_out.csv")
    assert (code, "not used: note" in err) == (0, True)
    pd.testing.assert_frame_equal(read(), read("other_out.csv"))


@pytest.mark.parametrize("name", ["new.tsv", "new.parquet", "new.csv.gz"])
@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.parquet", "out.npz"])
def test_files_of_all_formats_give_the_same_labels(fitted, call, name, output):
    pytest.importorskip("pyarrow")
    rows = make_rows(1, 30)
    if name.endswith("parquet"):
        rows.to_parquet(name)
    else:
        rows.to_csv(name, index=False, sep="\t" if "tsv" in name else ",")
    assert call("predict", "m.skops", "new.csv", "-o", "expected.csv")[0] == 0
    assert call("predict", "m.skops", name, "-o", output)[0] == 0
    expected = read("expected.csv")
    if output.endswith("npz"):
        with np.load(output) as found:
            assert_array_equal(found["y"], expected[["happy", "sad"]])
            assert found["id"].tolist() == expected["id"].tolist()
        return
    found = pd.read_parquet(output) if "parquet" in output else pd.read_csv(
        output, sep="\t" if "tsv" in output else ","
    )  # fmt: skip
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_digits_stay_categories_and_new_rows_may_be_few(fitted, call):
    assert call("predict", "m.skops", "new.csv", "--scores", "-o", "all.csv")[0] == 0
    rows = make_rows(1, 30)
    few = rows[rows["key"] == "1"].head(2)
    few.to_csv("few.csv", index=False)  # its keys look like numbers
    assert call("predict", "m.skops", "few.csv", "--scores", "-o", "few_out.csv")[0] == 0
    expected = read("all.csv").loc[few.index].reset_index(drop=True)
    pd.testing.assert_frame_equal(read("few_out.csv"), expected)


def test_texts_are_read_from_files(here, call):
    make_posts().to_csv("posts.csv", index=False)
    make_posts(1, 12).to_csv("more.csv", index=False)
    code, _, err = call("fit", "posts.csv", *LABELS, "--learner", "logistic", "-o", "m.skops")
    assert (code, "left out: id (it numbers" in err) == (0, True)
    assert call("predict", "m.skops", "more.csv", "-o", "out.csv")[0] == 0
    found, truth = read(), make_posts(1, 12)
    assert found["id"].tolist() == truth["id"].tolist()
    known = truth["post"].notna()
    assert (found["happy"] == truth["happy"])[known].mean() > 0.8


def make_chinese(seed=0, n=150):
    rng = np.random.default_rng(seed)
    noise = ["".join(rng.choice(list("天气很好今我们去公园这部电影真的"), 6)) for _ in range(n)]
    happy, sad = rng.random((2, n)) < 0.4
    texts = [
        f"{a}{'太阳' if h else ''}{b}{'下雨' if s else ''}"
        for a, b, h, s in zip(noise, noise[1:] + noise, happy, sad)
    ]
    ids = [f"u-{7919 * i + seed}" for i in range(n)]
    return pd.DataFrame(
        {"id": ids, "post": texts, "happy": happy.astype(int), "sad": sad.astype(int)}
    )


@pytest.mark.parametrize("learner", ["logistic", "forest"])
def test_texts_without_blanks_are_read_by_characters(here, call, learner):
    make_chinese().to_csv("posts.csv", index=False)
    more = make_chinese(1, 30)
    more.drop(columns=["happy", "sad"]).to_csv("more.csv", index=False)
    assert call("fit", "posts.csv", *LABELS, "--learner", learner, "-o", "m.skops")[0] == 0
    assert call("predict", "m.skops", "more.csv", "-o", "out.csv")[0] == 0
    assert read()["id"].tolist() == more["id"].tolist()
    assert (read()[["happy", "sad"]] == more[["happy", "sad"]]).mean().min() > 0.8


@pytest.mark.parametrize(("n", "least"), [(90, 1), (150, 2)])
def test_terms_of_every_learner_are_in_as_many_rows(here, call, n, least):
    make_posts(n=n).to_csv("posts.csv", index=False)
    assert call("fit", "posts.csv", *LABELS, "--learner", "logistic", "-o", "m.skops")[0] == 0
    model = skops_io.load("m.skops", trusted=skops_io.get_untrusted_types(file="m.skops"))
    assert model.estimator[0].transformers[0][1].min_df == least


def test_texts_without_a_word_in_common_are_left_out_or_an_error(here, call):
    rows = make_rows(n=150).assign(post=[f"a{i}x b{i}y c{i}z" for i in range(150)])
    rows.to_csv("posts.csv", index=False)
    words = ("--learner", "logistic", "-o", "m.skops")
    code, _, err = call("fit", "posts.csv", *LABELS, *words)
    assert (code, "left out: post (no word is in 2 rows" in err) == (0, True)
    rows[["id", "post", "happy", "sad"]].to_csv("alone.csv", index=False)
    code, _, err = call("fit", "alone.csv", *LABELS, *words, "--force")
    assert (code, "no word is in 2 rows" in err) == (1, True)


def test_unknown_labels_are_no_absent_ones(here, call):
    rows = make_rows()
    rows.loc[::3, "happy"] = -1
    rows.to_csv("holes.csv", index=False)
    for learner in ("logistic", "forest"):
        words = ("holes.csv", *LABELS, "--unknown", "-1", "--learner", learner, "--force")
        assert call("fit", *words, "-o", "m.skops")[0] == 0
        assert call("predict", "m.skops", "new.csv", "-o", "out.csv", "--force")[0] == 0
        assert (read()["happy"] == make_rows(1, 30)["happy"]).mean() > 0.8


def test_ids_may_be_named_and_long_numbers_are_kept(fitted, call):
    rows = make_rows(1, 30).drop(columns="id").assign(post_number=range(2**60, 2**60 + 30))
    rows.to_csv("long.csv", index=False)
    words = ("predict", "m.skops", "long.csv", "--id", "post_number", "-o", "out.csv")
    assert call(*words)[0] == 0
    assert read()["post_number"].tolist() == list(range(2**60, 2**60 + 30))
    code, _, err = call(*words[:3], "--id", "post_numbr", "-o", "x.csv")
    assert (code, "Did you mean 'post_number'?" in err) == (1, True)


def test_a_column_that_the_model_uses_may_be_the_id(fitted, call):
    assert call("predict", "m.skops", "new.csv", "--id", "tempo", "-o", "out.csv")[0] == 0
    assert_array_equal(read()["tempo"], read("new.csv")["tempo"])


def test_results_are_json_on_request(here, call):
    words = ("songs.csv", *LABELS, "--learner", "logistic", "--json", "-o", "m.skops")
    code, out, _ = call("fit", *words)
    told = json.loads(out)
    assert code == 0
    assert (told["rows"], told["columns"], told["labels"]) == (
        N,
        ["tempo", "key"],
        ["happy", "sad"],
    )
    assert told["left_out"].keys() == {"id"}
    code, out, _ = call("predict", "m.skops", "new.csv", "--json", "-o", "out.csv")
    assert code == 0
    told = json.loads(out)
    assert (told["rows"], told["id"], told["scores"]) == (30, "id", False)


def test_files_that_exist_are_kept(fitted, call):
    before = (fitted / "m.skops").read_bytes()
    code, _, err = call("fit", "songs.csv", *LABELS, "-o", "m.skops")
    assert (code, "m.skops already exists" in err) == (1, True)
    assert (fitted / "m.skops").read_bytes() == before
    (fitted / "out.csv").write_text("mine")
    code, _, err = call("predict", "m.skops", "new.csv", "-o", "out.csv")
    assert (code, "--force" in err) == (1, True)
    assert (fitted / "out.csv").read_text() == "mine"
    assert call("predict", "m.skops", "new.csv", "-o", "out.csv", "--force")[0] == 0


class Evil(BinaryRelevance):
    """A class that nobody trusts."""


def test_models_of_other_types_are_refused_and_listed(here, call):
    X, y = make_rows()[["tempo"]], make_rows()[["happy", "sad"]]
    Evil.__module__ = "mischief"
    sys.modules["mischief"] = sys.modules[__name__]
    try:
        skops_io.dump(Evil().fit(X, y), "m.skops")
        code, _, err = call("predict", "m.skops", "new.csv", "-o", "out.csv")
    finally:
        del sys.modules["mischief"]
    assert code == 1
    assert "mischief.Evil" in err
    assert not (here / "out.csv").exists()


def test_pickles_are_not_opened(here, call):
    class Bomb:
        def __reduce__(self):
            return (open, ("exploded", "w"))

    (here / "m.skops").write_bytes(pickle.dumps(Bomb.__reduce__(Bomb())))
    code, _, err = call("predict", "m.skops", "new.csv", "-o", "out.csv")
    assert (code, "no skops file" in err) == (1, True)
    assert not (here / "exploded").exists()


WRONG = {
    "no model": (["predict", "none.skops", "new.csv", "-o", "x.csv"], "does not exist"),
    "no data": (["predict", "m.skops", "none.csv", "-o", "x.csv"], "does not exist"),
    "another ending": (["fit", "songs.csv", *LABELS, "-o", "m.pkl"], "Use -o m.skops"),
    "another table": (["predict", "m.skops", "new.csv", "-o", "x.xlsx"], "CSV, TSV, Parquet"),
    "missing columns": (["predict", "m.skops", "part.csv", "-o", "x.csv"], "Missing: tempo"),
    "ids alone": (["fit", "ids.csv", *LABELS, "-o", "n.skops"], "columns to learn from"),
    "words for numbers": (["predict", "m.skops", "words.csv", "-o", "x.csv"], "tempo"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_requests_are_one_line_and_write_nothing(fitted, call, case):
    words, told = WRONG[case]
    make_rows().drop(columns="tempo").to_csv("part.csv", index=False)
    make_rows()[["id", "happy", "sad"]].to_csv("ids.csv", index=False)
    make_rows().assign(tempo="fast").to_csv("words.csv", index=False)
    before = sorted(fitted.iterdir())
    code, out, err = call(*words)
    assert (code, out) == (1, "")
    assert told in err
    assert len(err.strip().splitlines()) == 1
    assert sorted(fitted.iterdir()) == before


def test_without_skops_the_command_says_how_to_get_it(here):
    block = "import sys; sys.modules['skops'] = None; sys.modules['skops.io'] = None;"
    words = ["labelance", "fit", "songs.csv", *LABELS, "-o", "m.skops"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{block} sys.argv = {words}; from labelance.cli import main; main()",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'labelance[cli]'" in done.stderr


def test_models_saved_in_python_are_opened(here, call):
    rows = make_rows()
    model = RareLabelClassifier(n_estimators=5, random_state=0)
    skops_io.dump(model.fit(rows[["tempo"]], rows[["happy", "sad"]]), "m.skops")
    assert call("predict", "m.skops", "new.csv", "-o", "out.csv")[0] == 0
    assert_array_equal(read()[["happy", "sad"]], model.predict(make_rows(1, 30)[["tempo"]]))


def test_sparse_files_go_by_place(here, call):
    lines = [f"{i % 2} 1:{1 + i % 2} {2 + i % 3}:1" for i in range(60)]
    (here / "a.svm").write_text("\n".join(["60 5 2", *lines]))
    assert call("fit", "a.svm", "--learner", "logistic", "-o", "m.skops")[0] == 0
    assert call("predict", "m.skops", "a.svm", "-o", "out.csv")[0] == 0
    assert list(read().columns) == ["y0", "y1"]
    assert (read()["y1"] == np.arange(60) % 2).all()


def test_numbers_that_are_ids_are_read_in_the_encoding_of_the_file(fitted, here, call):
    new = make_rows(1, 30).drop(columns=["happy", "sad"]).assign(id=range(7, 37), café="é")
    new.to_csv("latin.csv", index=False, encoding="latin-1")
    words = ("predict", "m.skops", "latin.csv", "-o", "out.csv")
    code, _, err = call(*words)
    assert code == 1
    assert "--encoding cp1252" in " ".join(err.split())
    assert call(*words, "--encoding", "latin-1")[0] == 0
    assert pd.read_csv("out.csv")["id"].tolist() == list(range(7, 37))
