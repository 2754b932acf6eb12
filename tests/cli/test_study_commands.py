"""``labelance study``, as a person or a program meets it."""

import json
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from labelance.datasets import make_multilabel_imbalanced
from labelance.study import Store, list_presets, load_study
from labelance.study._study import Fold

COMMANDS = ["run", "status", "presets", "show", "export", "merge", "verify", "report"]
PLAN = """
name = "mine"
repeats = 1
methods = ["Default", "MLSOL"]
datasets = [{name = "songs", path = "songs.csv", labels = ["happy", "sad", "calm"]}]

[[learners]]
name = "kNN"
class = "MLkNN"
n_neighbors = 5

[[learners]]
name = "Centroid"
class = "sklearn.neighbors.KNeighborsClassifier"
"""


@pytest.fixture
def call(call):
    """Run a command of ``labelance study``."""
    return partial(call, "study")


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """A plan with a file of one's own, in the present folder."""
    X, Y = make_multilabel_imbalanced(60, 3, 3, random_state=0)
    header = "tempo,loud,bright,happy,sad,calm"
    table = np.hstack([X, Y])
    np.savetxt(tmp_path / "songs.csv", table, delimiter=",", header=header, comments="")
    (tmp_path / "mine.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine.toml"


@pytest.fixture
def done(plan, call):
    """The store of the plan, run."""
    code, out, _ = call("run", plan, "--executor", "serial")
    assert code == 0
    assert "mine: 8 of 8 cells done in mine.store" in out
    assert "labelance study report mine.store -o mine.html" in out
    return plan.with_name("mine.store")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    assert "Example: labelance study" in " ".join(out.split())


@pytest.mark.slow
def test_presets_and_a_plan_of_ones_own_to_start_from(call, tmp_path):
    code, out, _ = call("presets", "--json")
    assert code == 0
    listed = {row["name"]: row for row in json.loads(out)}
    assert tuple(listed) == list_presets()
    assert listed["paper"]["cells"] == 5460
    assert "paper-small" in call("presets")[1]
    (tmp_path / "mine.toml").write_text(call("show", "paper-small")[1])
    assert load_study(tmp_path / "mine.toml") == load_study("paper-small")


@pytest.mark.slow
def test_show_names_files_from_here(call, plan):
    (plan.parent / "copy.toml").write_text(call("show", plan)[1])
    assert load_study("copy.toml") == load_study(plan)
    assert 'path = "songs.csv"' in call("show", "mine.toml")[1]


@pytest.mark.slow
def test_a_run_goes_on_and_speaks_json(call, plan):
    options = ("--executor", "serial", "--json", "--store", "s.store")
    code, out, err = call("run", plan, "--learners", "kNN", *options)
    assert (code, err) == (0, "")
    assert {name: json.loads(out)[name] for name in ("done", "failed", "left", "total")} == {
        "done": 4, "failed": 0, "left": 0, "total": 4,
    }  # fmt: skip
    first = Store("s.store").rows()
    state = json.loads(call("run", plan, *options)[1])
    assert (state["done"], state["total"], state["store"]) == (8, 8, "s.store")
    assert all(row in Store("s.store").rows() for row in first)


@pytest.mark.slow
def test_a_dry_run_writes_nothing(call, plan):
    code, out, _ = call("run", plan, "--dry-run")
    assert code == 0
    assert "1 datasets x 2 learners x 2 methods x 1 repeats x 2 folds = 8 cells" in out
    assert "mine.store does not exist yet" in out
    assert "8 cells to do" in out
    assert not plan.with_name("mine.store").exists()


def test_a_dry_run_counts_what_is_there(call, done, plan):
    before = Store(done).rows()
    code, out, _ = call("run", plan, "--dry-run", "--repeats", 2, "--json")
    state = json.loads(out)
    assert code == 0
    assert (state["total"], state["done"], state["failed"], state["left"]) == (16, 8, 0, 8)
    assert Store(done).rows() == before
    assert "0 cells to do" in call("run", plan, "--dry-run")[1]


@pytest.mark.slow
def test_failures_are_told_and_tried_again(call, plan):
    broken = PLAN.replace("n_neighbors = 5", "n_neighbors = -5")
    plan.write_text(broken)
    options = ("--executor", "serial", "--store", "s.store")
    code, out, err = call("run", plan, *options)
    assert code == 1
    assert "4 of 8 cells done" in out
    assert "4 cells failed; see them with: labelance study status s.store" in err
    assert "--retry-failed" in err
    code, out, _ = call("status", "s.store")
    assert code == 0
    assert "songs/kNN/Default/0/0: " in out
    assert "Traceback" not in out
    assert "Traceback" in call("status", "s.store", "--failures")[1]
    state = json.loads(call("status", "s.store", "--json")[1])
    assert [part["failed"] for part in state["parts"]] == [4, 0]
    assert call("run", plan, *options, "--retry-failed")[0] == 1


def remove(store, chosen):
    """Take rows out of a store."""
    rows = Store(store).rows()
    for path in (store / "folds").iterdir():
        path.unlink()
    Store(store).add(row for row in rows if not chosen(row))


@pytest.mark.slow
def test_status_shows_what_is_missing_and_who_is_at_work(call, done):
    remove(done, lambda row: (row["learner"], row["method"]) == ("kNN", "MLSOL"))
    somebody = Store(done)
    somebody.claim(Fold("songs", 0, 1))
    code, out, _ = call("status", done)
    assert code == 0
    assert "6 of 8 cells done" in out
    assert "2/4" in out
    assert f"Runner {somebody.runner} on " in out
    state = json.loads(call("status", done, "--json")[1])
    assert [part["missing"] for part in state["parts"]] == [2, 0]
    assert [claim["runner"] for claim in state["running"]] == [somebody.runner]


@pytest.mark.slow
def test_a_note_where_other_runners_hold_the_rest(call, done, plan):
    remove(done, lambda row: row["fold"] == 1)
    Store(done).claim(Fold("songs", 0, 1))
    code, out, _ = call("run", plan, "--executor", "serial")
    assert code == 0
    assert "4 cells are running elsewhere" in out


@pytest.mark.slow
def test_a_report_is_not_written_to_a_folder_called_dash(call, done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call("report", done, "-o", "-")
    assert (code, "a file or a folder" in err, (tmp_path / "-").exists()) == (1, True, False)


@pytest.mark.slow
def test_export_verify_and_report_from_the_folder(call, done, tmp_path):
    code, out, _ = call("export", done, "-o", "results")
    assert (code, "8 of 8 cells of mine" in out) == (0, True)
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "results.csv", "study.toml", "about.json",
    }  # fmt: skip
    code, out, err = call("verify", "results", "--sample", 3, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "cells": 3, "exact": 3, "within_tolerance": 0, "largest_difference": 0.0, "differing": [],
    }  # fmt: skip
    for source in ("results", done):
        code, out, _ = call("report", source, "-o", "report.md", "--title", "Songs", "--force")
        assert (code, out) == (0, "report.md: written\n")
        text = (tmp_path / "report.md").read_text()
        assert text.startswith("# Songs")
        assert "MeanImR" in text
    assert call("status", "results")[0] == 0
    code, out, _ = call("report", done, "-o", "learners.md", "--compare", "learners")
    assert (code, out) == (0, "learners.md: written\n")


@pytest.mark.slow
@pytest.mark.parametrize("output", ["out.csv", "out"])
@pytest.mark.parametrize("command", ["report", "export"])
def test_what_exists_is_kept_without_force(call, done, tmp_path, command, output):
    there = tmp_path / output if "." in output else tmp_path / output / "scores.csv"
    there.parent.mkdir(exist_ok=True)
    there.write_text("mine")
    code, _, err = call(command, done, "-o", output)
    assert (code, there.read_text()) == (1, "mine")
    assert "already exists" in err
    assert "--force" in err
    assert call(command, done, "-o", output, "--force")[0] == 0


@pytest.mark.slow
def test_verify_finds_a_wrong_figure(call, done, tmp_path):
    call("export", done, "-o", "results")
    table = tmp_path / "results/results.csv"
    lines = table.read_text().splitlines()
    cells = lines[1].split(",")
    lines[1] = ",".join([*cells[:5], "0.5", *cells[6:]])
    table.write_text("\n".join(lines) + "\n")
    code, out, _ = call("verify", "results", "--sample", 0)
    assert code == 1
    assert "/".join(cells[:5]) + ": macro_f1 differs by" in out
    assert (
        "8 cells computed again: 7 equal to the last bit, 0 within the tolerance, 1 different"
        in out
    )


@pytest.mark.slow
def test_merge(call, done, tmp_path):
    code, out, _ = call("merge", done, done, "-o", "all.store")
    assert (code, out) == (0, "all.store: 8 new cells, 8 in all\n")
    rows = [{**row, "macro_auc_pr": 0.5} for row in Store(done).rows() if row["fold"] == 1]
    Store("other.store").add(rows)
    code, _, err = call("merge", done, "other.store", "-o", "conflict.store")
    assert code == 1
    assert "macro_auc_pr of songs/" in err
    assert not (tmp_path / "conflict.store").exists()


OWN = """
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier


class Twice(BaseEstimator):
    def fit_resample(self, X, Y):
        import numpy as np

        return np.vstack([X, X]), np.vstack([Y, Y])


class Mine(KNeighborsClassifier):
    pass
"""


@pytest.mark.slow
def test_classes_in_a_file_beside_the_plan(call, plan, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    plan.with_name("own_methods.py").write_text(OWN)
    plan.write_text(
        PLAN.replace('"MLSOL"]', '{name = "Twice", sampler = "own_methods.Twice"}]').replace(
            "sklearn.neighbors.KNeighborsClassifier", "own_methods.Mine"
        )
    )
    code, out, _ = call("run", plan, "--executor", "serial", "--json")
    assert (code, json.loads(out)["done"]) == (0, 8)


@pytest.mark.slow
def test_several_studies_in_a_store_are_chosen_by_name(call, done, plan):
    other = PLAN.replace('"mine"', '"other"').replace("k = 5", "k = 3")
    plan.write_text(other)
    assert call("run", plan, "--store", done, "--executor", "serial", "--learners", "kNN")[0] == 0
    for command in (["status", done], ["export", done, "-o", "x"], ["report", done, "-o", "x.md"]):
        code, _, err = call(*command)
        assert code == 1
        assert "mine (" in err
        assert "other (" in err
        assert "--study" in err
        assert call(*command, "--study", "other")[0] == 0


@pytest.mark.slow
def test_wrong_requests_are_one_line_that_helps(call, plan):
    for words, said in {
        ("run", "nonsense"): "Got 'nonsense'",
        ("run", plan, "--datasets", "other"): "Parts: songs",
        ("run", plan, "--address", "tcp://a:1"): "--address needs --executor dask",
        ("status", "nothing.store"): "nothing.store does not exist",
        ("export", "nothing.store", "-o", "x"): "nothing.store does not exist",
    }.items():
        code, _, err = call(*words)
        assert code == 1
        assert said in " ".join(err.split())
        assert len(err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "executor"), [(signal.SIGINT, "serial"), (signal.SIGTERM, "processes")]
)
def test_interrupted_it_says_what_is_kept(plan, number, executor):
    """Ctrl-C as the shell sends it, or the end of a container; impatient people press again."""
    plan.write_text(PLAN.replace("repeats = 1", "repeats = 400"))
    command = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from labelance.cli import main; main()"
    )
    words = ["study", "run", str(plan), "--executor", executor, "--jobs", "1"]
    with subprocess.Popen(
        [sys.executable, "-c", command, *words], stderr=subprocess.PIPE, text=True
    ) as runner:
        store = plan.with_name("mine.store")
        while runner.poll() is None and not (Store.is_at(store) and Store(store).rows()):
            time.sleep(0.2)
        while runner.poll() is None:
            runner.send_signal(number)
            time.sleep(0.1)
        err = runner.communicate()[1]
    assert runner.returncode == 128 + number
    assert "of 3200 cells are kept in mine.store; the same command resumes" in err
    assert "Traceback" not in err
    assert Store(store).claims() == []


def test_the_line_on_a_terminal(plan):
    """What a person sees: cells, failures, time left."""
    from labelance.cli._study import line
    from labelance.study import StudyProgress

    study = load_study(plan)
    seen = line(study, StudyProgress(8, 1, 24, seconds_left=0.5))
    assert seen == f"{study.name}: 9 of 24 cells, 1 failed, about 0.5 s left"
    assert line(study, StudyProgress(24, 0, 24)) == f"{study.name}: 24 of 24 cells"
