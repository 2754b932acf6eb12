"""The command line, as a person or a program meets it."""

import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

import labelance
from labelance import __version__
from labelance._progress import loop
from labelance.datasets import (
    MultiLabelDataset,
    load_dataset,
    make_multilabel_imbalanced,
    read_multilabel,
    write_multilabel,
)
from labelance.ensemble import EMLSOL
from labelance.imbalance import mean_ir
from labelance.learners import BinaryRelevance
from labelance.sampling import MLSOL

TREE = [
    "advise",
    "fit",
    "predict",
    "decide",
    "demo",
    "describe",
    "profile",
    "compare",
    "resample",
    "methods",
    "split",
    "convert",
    "play",
    "datasets",
]
METHODS = ["no sampling", "MLSMOTE", "MLSOL", "EMLSMOTE", "EMLSOL"]
LEARNERS = ["BR of C4.5", "MLkNN"]


@pytest.fixture
def songs(tmp_path):
    """A CSV file with three features and three labels."""
    X, Y = make_multilabel_imbalanced(90, 3, 3, random_state=0)
    path = tmp_path / "songs.csv"
    header = "tempo,loud,bright,happy,sad,calm"
    np.savetxt(path, np.hstack([X, Y]), delimiter=",", header=header, comments="", fmt="%.6g")
    return path


def test_version(call):
    assert call("--version")[:2] == (0, f"labelance {__version__}\n")


@pytest.mark.parametrize("command", TREE)
def test_every_command_explains_itself_with_an_example(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    if command == "datasets":
        code, out, _ = call(command, "list", "--help")
    assert "Example: labelance" in " ".join(out.split())


def test_wrong_usage_is_exit_code_two(call):
    assert call("describe")[0] == 2
    assert call("nonsense")[0] == 2


@pytest.fixture
def short_demo(monkeypatch):
    monkeypatch.setattr("labelance.cli._demo.N_REPEATS", 1)


@pytest.mark.slow
def test_demo_compares_and_draws(call, tmp_path, short_demo):
    picture = tmp_path / "demo.png"
    code, out, _ = call("demo", "--picture", picture)
    assert code == 0
    assert all(word in out for word in (*METHODS, "AUC-ROC", "AUCPR"))
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = readme.split("```text\n")[1].split("```")[0]
    assert shown in out  # the ten lines
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_demo_speaks_json_and_says_the_same_again(call, short_demo):
    runs = [call("demo", "--no-picture", "--json") for _ in range(2)]
    assert [(code, err) for code, _, err in runs] == [(0, "")] * 2
    scores, again = (json.loads(out)["scores"] for _, out, _ in runs)
    assert scores == again
    compared = [(score["learner"], score["method"]) for score in scores]
    assert compared == [(learner, method) for learner in LEARNERS for method in METHODS]
    for name in ("macro_f1", "macro_auc_roc", "macro_auc_pr"):
        assert all(0 <= score[name] <= 1 for score in scores)


@pytest.mark.slow
def test_the_first_member_of_an_ensemble_is_the_sampler_alone():
    """A member is what a learner makes of one draw of the sampler."""
    X, Y = make_multilabel_imbalanced(90, 3, 3, random_state=0)
    ensemble = EMLSOL(BinaryRelevance(), random_state=0).fit(X, Y)
    drawn = MLSOL().plan(X, Y).draw(np.random.default_rng(0).spawn(5)[0])
    alone = BinaryRelevance().fit(drawn.X, drawn.y)
    assert_array_equal(ensemble.estimators_[0].predict_proba(X), alone.predict_proba(X))


def test_describe_a_file(call, songs):
    code, out, _ = call("describe", songs, "--labels", "happy,sad,calm")
    assert code == 0
    assert "MeanIR" in out
    assert "happy" in out


def test_describe_speaks_json(call, songs):
    for labels in ("happy,sad,calm", "-3"):
        code, out, _ = call("describe", songs, "--labels", labels, "--json")
        result = json.loads(out)
        assert (code, result["n_labels"], result["n_samples"]) == (0, 3, 90)


@pytest.mark.slow
def test_unknown_labels_are_kept_on_request(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = (rng.random((60, 3)) < [0.5, 0.2, 0.1]).astype(float)
    y[rng.random(y.shape) < 0.2] = np.nan
    table = pd.DataFrame(np.column_stack([rng.random((60, 2)), y]), columns=[*"xyabc"])
    table.to_csv("data.csv", index=False)
    how = ("data.csv", "--labels", "a,b,c", "--missing-labels", "keep")
    found = json.loads(call("describe", *how, "--json")[1])
    lines = {line["label"]: line for line in found["labels"]}
    assert [lines[name]["unknown"] for name in "abc"] == np.isnan(y).sum(axis=0).tolist()
    assert [lines[name]["count"] for name in "abc"] == np.nansum(y, axis=0).tolist()
    assert found["mean_ir"] == mean_ir(y)
    code, out, _ = call("resample", *how, "--method", "mlsol", "-o", "more.csv")
    assert (code, "MeanIR" in out, "SCUMBLE" in out) == (0, True, False)
    assert_array_equal(pd.read_csv("more.csv")[[*"abc"]][:60].to_numpy(), y)
    code, _, err = call("resample", *how, "--method", "mlbote", "-o", "less.csv")
    assert (code, "in labels 'a', 'b', 'c'" in err) == (1, True)
    table["b"] = np.nan
    table.to_csv("data.csv", index=False)
    code, _, err = call("advise", *how)
    assert (code, "labels 'b'" in err) == (1, True)


@pytest.mark.slow
def test_describe_searches_among_as_many_rows_as_profile(call, songs):
    from labelance.cli import _files

    default = signature(_files.profile).parameters["subsample"].default
    assert signature(_files.describe).parameters["subsample"].default == default == 50_000
    words = ("describe", songs, "--labels", "happy", "--json")
    for subsample, expected in ((10, 10), (0, None), (1_000_000, None)):
        code, out, _ = call(*words, "--subsample", subsample)
        figures = json.loads(out)
        assert (code, figures["n_searched"]) == (0, expected or figures["n_samples"])


def test_profile_writes_a_page(call, songs, tmp_path):
    page = tmp_path / "songs.html"
    code, out, _ = call("profile", songs, "--labels", "happy,sad,calm", "-o", page)
    assert code == 0
    assert "90 rows, 3 labels" in out
    text = page.read_text(encoding="utf-8")
    assert f"<title>{songs}</title>" in text
    assert '"tempo' in text.replace("'", "")
    code, _, err = call("profile", songs, "--labels", "-3", "-o", page)
    assert code == 1
    assert "--force" in err


@pytest.mark.slow
def test_compare_shows_before_and_after(call, songs, tmp_path):
    more, page = tmp_path / "more.csv", tmp_path / "both.html"
    assert call("resample", songs, "--labels", "-3", "-o", more)[0] == 0
    code, out, _ = call("compare", songs, more, "--labels", "happy,sad,calm", "-o", page)
    assert code == 0
    assert "90 -> " in out
    assert "Rows went from 90 to" in page.read_text(encoding="utf-8")
    code, _, err = call("compare", songs, tmp_path / "none.csv", "--labels", "-3", "-o", page)
    assert code == 1
    assert "already exists" in err


def test_an_unknown_file_is_one_line_and_exit_code_one(call):
    code, out, err = call("describe", "nothing.csv")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "nothing.csv" in err
    assert "Traceback" not in err


def test_convert_there_and_back(call, songs, tmp_path):
    npz, back = tmp_path / "songs.npz", tmp_path / "back.arff"
    assert call("convert", songs, npz, "--labels", "-3")[0] == 0
    assert call("convert", npz, back)[0] == 0
    assert read_multilabel(back).same_as(read_multilabel(npz))


def test_brackets_in_a_file_name_are_printed(call, songs, tmp_path):
    out = tmp_path / "songs[bold].npz"
    _, printed, _ = call("convert", songs, out, "--labels", "-3")
    assert out.name in printed


def test_files_are_not_overwritten_unless_forced(call, songs, tmp_path):
    out = tmp_path / "out.npz"
    out.write_text("precious")
    code, _, err = call("convert", songs, out, "--labels", "-3")
    assert code == 1
    assert "--force" in err
    assert out.read_text() == "precious"
    assert call("convert", songs, out, "--labels", "-3", "--force")[0] == 0


def test_split_into_three(call, songs, tmp_path):
    files = [tmp_path / f"{name}.npz" for name in ("train", "valid", "test")]
    output = ",".join(map(str, files))
    code, out, _ = call(
        "split", songs, "--labels", "-3", "--sizes", "0.6,0.2,0.2", "-o", output, "--json"
    )
    assert code == 0
    sizes = [read_multilabel(file).n_samples for file in files]
    assert sum(sizes) == 90
    assert [part["rows"] for part in json.loads(out)] == sizes


def test_split_needs_a_file_for_every_part(call, songs):
    code, _, err = call("split", songs, "--labels", "-3", "-o", "one.npz")
    assert code == 1
    assert "2 parts and 1 files" in err


def test_resample_a_file(call, songs, tmp_path):
    out = tmp_path / "more.csv"
    code, text, _ = call(
        "resample", songs, "--labels", "-3", "--method", "MLSOL",
        "--set", "sampling_ratio=0.5", "-o", out, "--json",
    )  # fmt: skip
    assert code == 0
    result = json.loads(text)
    assert (result["rows_before"], result["rows_after"]) == (90, 135)
    assert read_multilabel(out, labels=-3).n_samples == 135


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "nonsense"], "mlsol"),
        (["--set", "nonsense=1"], "k_neighbors"),
        (["--set", "k_neighbors=100"], "90"),
    ],
)
def test_bad_requests_name_the_choices(call, songs, tmp_path, words, message):
    code, _, err = call("resample", songs, "--labels", "-3", "-o", tmp_path / "x.npz", *words)
    assert code == 1
    assert message in err
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.slow
def test_methods_lists_mlsol(call):
    code, out, _ = call("methods", "--json")
    row = next(row for row in json.loads(out) if row["method"] == "MLSOL")
    assert (code, row["rows"]) == (0, "adds")
    assert "k_neighbors" in row["parameters"]
    code, out, _ = call("methods", "mlsol", "--json")
    one = json.loads(out)
    assert "Parameters" in one.pop("doc")
    assert one == row


@pytest.mark.slow
def test_datasets_are_listed_and_described(call):
    code, out, _ = call("datasets", "list", "--json")
    names = {row["name"] for row in json.loads(out)}
    assert code == 0
    assert {"yeast", "delicious"} <= names
    assert "yeast" in call("datasets", "info", "yeast")[1]
    code, _, err = call("datasets", "info", "yaest")
    assert code == 1
    assert ("'yeast'" in err, "read_multilabel" in err) == (True, False)
    assert "labelance profile FILE" in err


@pytest.mark.slow
def test_ids_are_no_worry_of_samplers_that_only_copy(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{i},{60 * rng.random():.3f},{i % 2},{int(i % 9 == 0)}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["number,x,often,rare", *lines]))
    words = ("resample", "a.csv", "--labels", "often,rare", "--force", "-o", "b.csv", "--method")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        told = [call(*words, method)[2] for method in ("mlros", "mlsol")]
    assert ["counts the rows" in err for err in told] == [False, True]


@pytest.mark.data
def test_datasets_verify_and_describe_by_name(call, data_dir):
    code, out, _ = call("datasets", "verify", "flags", "--json")
    assert (code, json.loads(out)[0]["problems"]) == (0, [])
    code, out, _ = call("describe", "flags", "--json")
    assert json.loads(out)["n_labels"] == 7


@pytest.mark.slow
def test_a_terminal_gets_a_line_for_a_loop_of_the_library(call, songs, monkeypatch):
    real = labelance.profile

    def profile(*data, **options):
        with loop("Searching neighbors", 90, "rows") as progress:
            progress.advance(30)
        return real(*data, **options)

    monkeypatch.setattr("labelance._progress._PATIENCE", 0.0)
    monkeypatch.setattr("labelance._progress.is_interactive", lambda **where: True)
    monkeypatch.setattr(labelance, "profile", profile)
    code, out, err = call("describe", songs, "--labels", "happy,sad,calm")
    assert code == 0
    assert out.startswith("90 rows")
    assert "Measuring 90 rows" in err
    assert "Searching neighbors:   0%" in err
    code, out, err = call("describe", songs, "--labels", "happy,sad,calm", "--json")
    assert json.loads(out)["n_samples"] == 90
    assert err == ""


@pytest.mark.slow
def test_a_pipe_gets_no_progress_and_no_color(songs):
    command = [sys.executable, "-c", "from labelance.cli import main; main()"]
    done = subprocess.run(
        [*command, "describe", str(songs), "--labels", "-3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\x1b[" not in done.stdout + done.stderr
    assert done.stderr == ""


@pytest.fixture
def flags(tmp_path):
    """An ARFF file with a nominal feature of three values."""
    rng = np.random.default_rng(0)
    names = ["size", "zone", "red", "blue"]
    lines = ["@relation flags", "@attribute size numeric", "@attribute zone {n,s,w}"]
    lines += [f"@attribute {name} {{0,1}}" for name in names[2:]]
    rows = [
        f"{rng.random():.3f},{'nsw'[rng.integers(3)]},{int(rng.random() < 0.7)},{int(t < 12)}"
        for t in range(60)
    ]
    path = tmp_path / "flags.arff"
    path.write_text("\n".join([*lines, "@data", *rows]))
    return path


@pytest.mark.parametrize("method", ["rhwrsmt", "mlsmote", "rhwhus", "mlros", "mltl"])
def test_nominal_features_stay_nominal(call, flags, tmp_path, method):
    out = tmp_path / "out.arff"
    code, _, err = call("resample", flags, "--labels", "-2", "--method", method, "-o", out)
    assert (code, err) == (0, "")
    assert read_multilabel(out, labels=-2).categories[1] == ("n", "s", "w")


def test_labels_can_be_chosen_by_name(call, songs, tmp_path):
    code, _, err = call(
        "resample", songs, "--labels", "-3", "--set", 'sampling_strategy=["sad"]',
        "-o", tmp_path / "out.npz",
    )  # fmt: skip
    assert (code, err) == (0, "")


@pytest.mark.slow
def test_a_wrong_parameter_and_a_bad_folder_are_one_line(call, songs, tmp_path):
    out = tmp_path / "x.npz"
    code, _, err = call("resample", songs, "--labels", "-3", "--set", "k_neighbors=0", "-o", out)
    assert (code, err.count("\n")) == (1, 1)
    (tmp_path / "file").write_text("")
    code, _, err = call("convert", songs, tmp_path / "file" / "x.npz", "--labels", "-3")
    assert (code, err.count("\n")) == (1, 1)


def test_parts_may_be_numbers_of_rows(call, songs, tmp_path):
    output = f"{tmp_path / 'a.npz'},{tmp_path / 'b.npz'}"
    code, out, _ = call(
        "split", songs, "--labels", "-3", "--sizes", "60,30", "-o", output, "--json"
    )
    assert code == 0
    assert sum(part["rows"] for part in json.loads(out)) == 90


@pytest.mark.slow
def test_the_memory_of_a_file_is_limited(call, songs):
    code, _, err = call("describe", songs, "--labels", "happy", "--max-size", "1kB")
    assert code
    assert "--max-size 4GB" in err.replace("\n", " ")
    assert call("describe", songs, "--labels", "happy", "--max-size", "1MB")[0] == 0


@pytest.mark.parametrize("labels", ["²", "--5", "9" * 5000])
def test_labels_that_only_look_like_numbers_are_names(call, songs, labels):
    code, _, err = call("describe", songs, f"--labels={labels}")
    assert code == 1
    assert "must be a column" in err.replace("\n", " ")


@pytest.mark.parametrize("command", ["describe", "study run"])
def test_a_name_too_long_for_a_file_is_no_file(call, command):
    code, _, err = call(*command.split(), "a" * 5000)
    assert code in (1, 2)
    assert "Traceback" not in err
    assert "OSError" not in err


@pytest.mark.filterwarnings("always::labelance.exceptions.ConstantLabelWarning")
def test_warnings_name_the_labels(call, tmp_path):
    rows = pd.DataFrame({"x": range(40), "jazz": [1, 0] * 20, "rock": 1, "polka": 0})
    rows.to_parquet(tmp_path / "songs.parquet")
    words = (tmp_path / "songs.parquet", "--labels", "jazz,rock,polka", "--method", "mlros")
    code, _, err = call("resample", *words, "-o", tmp_path / "more.parquet")
    assert code == 0, err
    assert err.count("labels are present in no row or in every row") == 1
    assert "'rock', 'polka'" in err


def test_resample_says_where_there_is_no_such_device(call, songs, tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is such a device")
    out = tmp_path / "more.npz"
    code, _, err = call("resample", songs, "--labels", "-3", "-o", out, "--device", "cuda")
    assert code == 1
    assert "--device must be a device that torch can use" in " ".join(err.split())
    assert not out.exists()


def test_resample_through_tensors_writes_the_same_file(call, songs, tmp_path):
    torch = pytest.importorskip("torch")
    written = []
    tensors = "cuda" if torch.cuda.is_available() else "cpu:0"  # torch's name makes tensors of rows
    for device in ("cpu", tensors):
        out = tmp_path / f"more{len(written)}.csv"
        code, _, err = call("resample", songs, "--labels", "-3", "-o", out, "--device", device)
        assert code == 0, err
        written.append(out.read_text())
    assert written[0] == written[1]


@pytest.mark.slow
def test_advise_says_what_to_do_and_speaks_json(call, songs):
    words = ("advise", songs, "--labels", "-3", "--budget", "3", "--json")
    code, out, err = call(*words)
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert result["source"] == str(songs)
    assert result["advised"] in {one["name"] for one in result["candidates"]}
    assert result["design"]["n_run"] >= 2
    names = {}
    exec(result["code"], names)  # it reads the file itself
    X, y = read_multilabel(songs, labels=-3).to_X_y()
    assert_array_equal(names["X"], X)
    assert names["model"].predict(X).shape == y.shape


@pytest.mark.slow
def test_advise_shows_on_a_terminal_what_it_is_at(call, songs, monkeypatch):
    real = labelance.advise
    monkeypatch.setattr("labelance._progress.is_interactive", lambda **where: True)
    monkeypatch.setattr("labelance.cli._models.is_interactive", lambda: True)
    monkeypatch.setattr(
        labelance,
        "advise",
        lambda *data, **options: real(*data, estimator=KNeighborsClassifier(5), **options),
    )
    code, _, err = call("advise", songs, "--labels", "-3", "--budget", "3")
    assert code == 0
    assert "Advising on 90 rows" in err


@pytest.mark.slow
def test_advise_says_how_a_dataset_of_the_catalogue_is_loaded(call, monkeypatch):
    real = labelance.advise
    X, Y = make_multilabel_imbalanced(60, 3, 2, random_state=0)
    flags = load_dataset("flags").to_X_y()

    def advise(*data, **options):
        """Advise on other rows: this is about words, and sparse ones are not judged by forests."""
        assert all(given.equals(expected) for given, expected in zip(data, flags))
        return real(csr_array(X), Y, **options)

    monkeypatch.setattr(labelance, "advise", advise)
    code, out, err = call("advise", "FLAGS", "--budget", "3")
    assert code == 0, err
    assert "X, y = load_dataset('flags').to_X_y()\nmodel = " in out


@pytest.mark.slow
def test_advise_prints_what_is_finished_when_it_is_interrupted(call, songs, monkeypatch):
    real = labelance.advise

    def interrupted(X, y, **options):
        found = real(X, y, estimator=KNeighborsClassifier(5), **options)
        return replace(found, design=replace(found.design, interrupted=True))

    monkeypatch.setattr(labelance, "advise", interrupted)
    code, text, _ = call("advise", songs, "--labels", "-3", "--budget", "3")
    assert code == 130
    assert "model.fit(X, y)" in text


def test_advise_refuses_what_it_cannot_judge(call, songs):
    code, out, err = call("advise", songs, "--labels", "-3", "--budget", "0")
    assert (code, out) == (1, "")
    assert "--budget 0" in err


# --- Parquet files, and files larger than memory ------------------------------------------------


@pytest.fixture
def large(call, songs):
    """A Parquet file of several row groups."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    path = songs.with_suffix(".parquet")
    assert call("convert", songs, path, "--labels", "-3")[0] == 0
    parquet.write_table(parquet.read_table(path), path, row_group_size=20)
    return path


@pytest.mark.parametrize("command", ["describe", "resample", "split", "profile", "convert"])
def test_a_file_above_memory_is_refused_with_the_way_to_dask(call, songs, monkeypatch, command):
    out = songs.with_name("out.html" if command == "profile" else "out.csv")
    monkeypatch.setattr("labelance._arrays._memory.available_memory", lambda: 1000)
    words = {"describe": (), "convert": (out,), "split": ("-o", f"{out},{out}.gz")}
    code, _, err = call(command, songs, *words.get(command, ("-o", out)), "--labels", "-3")
    said = " ".join(err.split())
    assert (code, "The file must fit into memory. " in said, "page Dask" in said) == (1, True, True)
    assert "MiB are free. Use Dask" in said
    assert not out.exists()


def test_where_memory_runs_out_the_way_to_dask_is_named(call, songs, monkeypatch):
    def fail(*args, **options):
        raise MemoryError

    monkeypatch.setattr("labelance.datasets.read_multilabel", fail)
    code, _, err = call("describe", songs, "--labels", "-3")
    assert (code, "error: Memory ran out. Use Dask" in " ".join(err.split())) == (1, True)
    assert "page Dask" in err


@pytest.mark.parametrize(
    "name", ["d.csv", "d.csv.gz", "d.csv.bz2", "d.csv.xz", "d.parquet", "d.npz"]
)
def test_memory_is_estimated_by_what_a_file_unpacks_to(call, tmp_path, monkeypatch, name):
    if name == "d.parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    # .8 MB of numbers, and a tenth of that or less when packed
    X = np.random.default_rng(0).integers(4, size=(2000, 50)).astype(float)
    y = (np.arange(2000)[:, np.newaxis] % [2, 3] == 0).astype(int)
    path = tmp_path / name
    write_multilabel(MultiLabelDataset(X, y), path)
    labels = () if name.endswith(("npz", "parquet")) else ("--labels", "-2")
    monkeypatch.setattr("labelance._arrays._memory.available_memory", lambda: 10**6)
    code, _, err = call("describe", path, *labels)
    assert code == 1
    assert "The file must fit into memory. " in " ".join(err.split())
    monkeypatch.setattr("labelance._arrays._memory.available_memory", lambda: 4 * 10**6)
    assert call("describe", path, *labels)[0] == 0


@pytest.mark.parametrize("method", ["mlros", "mlrus", "remedial"])
def test_dates_are_kept_where_rows_are_only_copied(call, large, tmp_path, method):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    table, dated, out = parquet.read_table(large), tmp_path / "in.parquet", tmp_path / "out.parquet"
    days = pa.array(np.arange(len(table), dtype=np.int32), type=pa.date32())
    stamps = pa.array([None, *range(2**60, 2**60 + len(table) - 1)], type=pa.timestamp("ns", "UTC"))
    parquet.write_table(table.append_column("at", stamps).add_column(1, "day", days), dated)
    code, _, err = call("resample", dated, "-o", out, "--method", method)
    assert code == 0, err
    written = parquet.read_table(out)
    rows = written["day"].cast(pa.int32())
    assert written["at"].combine_chunks().equals(stamps.take(rows.combine_chunks()))
    features = table.column_names[:-3]
    assert written.column_names == [
        features[0],
        "day",
        *features[1:],
        "at",
        *table.column_names[-3:],
    ]
    assert written.select(features).to_pydict() == table.select(features).take(rows).to_pydict()
    code, _, err = call("resample", dated, "-o", tmp_path / "no.parquet", "--method", "mlsol")
    assert code == 1
    assert "'day' is of type date32" in err
    words = ("--ignore", "day,at", "--method", "mlros")
    code, _, err = call("resample", dated, "-o", tmp_path / "without.parquet", *words)
    assert code == 0, err


def test_a_folder_of_parquet_files_names_dask(call, large, tmp_path):
    code, _, err = call("resample", tmp_path, "-o", tmp_path / "more.parquet")
    said = " ".join(err.split())
    assert (code, "Dask reads all its Parquet files" in said) == (1, True)


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A CSV file with ids, texts and two labels, in the present folder."""
    monkeypatch.chdir(tmp_path)
    words = ["sun", "rain", "wind", "snow", "hail"]
    rng = np.random.default_rng(0)
    seen = rng.random((80, 5)) < 0.4
    lines = [
        f"u-{7919 * i},On day {i} {' '.join(np.array(words)[row])} .,{int(row[0])},{int(row[1])}"
        for i, row in enumerate(seen)
    ]
    path = tmp_path / "posts.csv"
    path.write_text("\n".join(["id,post,sunny,wet", *lines, ""]))
    return path


@pytest.mark.parametrize("name", ["posts.csv", "posts.parquet", "posts.npz"])
def test_samplers_that_mix_rows_refuse_texts_and_write_nothing(call, posts, name):
    pytest.importorskip("pyarrow")
    if name != posts.name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert call("convert", posts, name, "--labels", "sunny,wet")[0] == 0
    words = ("resample", name, "--labels", "sunny,wet", "--method")
    words = ("resample", name, "--method") if name.endswith("npz") else words
    code, _, err = call(*words, "mlsol", "-o", "more.csv")
    assert code == 1
    # Without id and post there would be nothing to mix.
    assert ("'post' is text" in err, "--ignore" in err, "warning" in err) == (True, False, False)
    assert not os.path.exists("more.csv")
    assert call(*words, "mlros", "-o", "more.csv")[0] == 0
    more, before = pd.read_csv("more.csv"), pd.read_csv(posts)
    assert len(more) > len(before)
    columns = ["id", "post", "sunny", "wet"]
    assert set(more[columns].itertuples(index=False)) == set(before.itertuples(index=False))


def test_texts_may_be_left_out_where_other_columns_are_mixed(call, posts):
    pd.read_csv(posts).assign(hour=np.arange(80) % 24).to_csv(posts, index=False)
    words = ("resample", posts, "--labels", "sunny,wet", "--method", "mlsol", "-o", "more.csv")
    assert "leave such columns out with --ignore id,post" in call(*words)[2]
    assert call(*words, "--ignore", "id,post")[0] == 0


def test_describe_and_profile_read_texts(call, posts):
    code, out, err = call("describe", posts, "--labels", "sunny,wet")
    assert (code, err) == (0, "")
    assert "post: " in out
    assert "left out: id" in out
    assert call("profile", posts, "--labels", "sunny,wet", "-o", "page.html")[0] == 0
    code, out, _ = call("describe", posts, "--labels", "sunny,wet", "--ignore", "id,post")
    assert (code, "80 rows, 2 labels" in out) == (0, True)


def test_two_files_of_texts_are_compared_without_them(call, posts):
    words = ("--labels", "sunny,wet")
    assert call("resample", posts, *words, "--method", "mlros", "-o", "more.csv")[0] == 0
    code, _, err = call("compare", posts, "more.csv", *words, "-o", "both.html")
    assert (code, "not compared: id, post" in err) == (0, True)


def test_describe_lists_all_labels_on_request(call, tmp_path):
    y = np.random.default_rng(0).random((40, 28)) < np.linspace(0.1, 0.6, 28)
    frame = pd.DataFrame(y.astype(int), columns=[f"tag_{j}" for j in range(28)])
    frame.assign(x=range(40)).to_csv(tmp_path / "tags.csv", index=False)
    words = ("describe", tmp_path / "tags.csv", "--labels", "tag_*")
    assert "… 8 more" in call(*words)[1]
    out = call(*words, "--top", "0")[1]
    assert "more" not in out
    assert sum(line.startswith("tag_") for line in out.splitlines()) == 28
    assert "… 25 more" in call(*words, "--top", "3")[1]


def test_columns_of_vectors_in_parquet_are_read(call, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 4)).astype(np.float32)
    labels = {"a": (vectors[:, 0] > 1).astype(int), "b": (vectors[:, 1] > 0).astype(int)}
    frame = pd.DataFrame({"id": [f"k{i}" for i in range(60)], "vector": list(vectors), **labels})
    frame.to_parquet("vectors.parquet")
    code, out, _ = call("describe", "vectors.parquet", "--labels", "a,b", "--json")
    assert code == 0
    found = json.loads(out)
    expected = labelance.profile(vectors, frame[["a", "b"]]).to_dict()
    assert "vectors of 4 numbers" in found["read_as"]
    for one, other in zip(found["labels"], expected["labels"]):
        assert one == other  # the same neighbors
