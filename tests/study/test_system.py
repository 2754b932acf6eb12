"""Odd systems and odd files: a study runs on the first, and refuses the second in three parts."""

import json
import os
import sqlite3
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from labelance.exceptions import StudyError
from labelance.study import (
    Component,
    DataSource,
    Learner,
    Method,
    Store,
    describe_datasets,
    export_results,
    forecast_study,
    import_results,
    read_results,
    run_study,
    verify_results,
)
from labelance.study._data import load_source
from labelance.study._forecast import TimeLeft
from labelance.study._heartbeat import Heartbeat
from labelance.study._results import choose_study

KNN = Learner("kNN", Component("sklearn.neighbors.KNeighborsClassifier"))
CACHED = {
    "labelance.study._heartbeat": ("_clock", "_host", "_processes"),
    "labelance.study._runner": ("environment",),
}


@pytest.fixture
def small(tiny):
    """Two cells of nearest neighbors."""
    return replace(tiny, learners=(KNN,)).only(datasets=["two"], methods=["Default"])


@pytest.fixture
def forgetful():
    """Let what is asked of the system once for a process be asked again, now and afterwards."""

    def forget():
        for module, names in CACHED.items():
            for name in names:
                getattr(sys.modules[module], name).cache_clear()

    forget()
    yield
    forget()


@pytest.fixture
def silent_system(monkeypatch, forgetful):
    """A system without /proc and git, and packages without metadata."""

    def refuse(*words, **options):
        raise FileNotFoundError(words[0])

    def unless_of_proc(method):
        real = getattr(Path, method)
        return lambda path, *words, **options: (
            refuse(path) if str(path).startswith("/proc") else real(path, *words, **options)
        )

    for method in ("read_text", "write_text"):
        monkeypatch.setattr(Path, method, unless_of_proc(method))
    monkeypatch.setattr("os.readlink", refuse)
    monkeypatch.setattr("subprocess.run", refuse)

    def unknown(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("labelance.study._runner.version", unknown)


def test_a_study_runs_where_the_system_tells_nothing(small, tmp_path, silent_system):
    assert run_study(small, tmp_path / "s.db", executor="serial").done == 2
    for row in Store(tmp_path / "s.db").rows(small):
        assert row["commit_id"] is None
        assert row["peak_mb"] > 1
        assert set(json.loads(row["versions"]).values()) >= {"unknown"}
    me = Heartbeat.now()
    assert me.started is None
    assert me.alive
    assert not replace(me, pid=2**31 - 3000).alive


@pytest.mark.skipif(os.name != "posix", reason="asks for other processes")
def test_a_process_of_somebody_else_is_alive(monkeypatch):
    def refuse(pid, number):
        raise PermissionError

    me = Heartbeat.now()
    monkeypatch.setattr("os.kill", refuse)
    assert me.alive


@pytest.mark.slow
def test_a_serial_run_with_a_time_limit_works_in_one_other_process(small, tmp_path):
    outcome = run_study(small, tmp_path / "s.db", executor="serial", cell_timeout=600)
    assert (outcome.done, outcome.failed) == (2, 0)


def test_a_sampler_with_nothing_to_do_does_nothing(small, tmp_path):
    """All neighbors of a row have its labels, so that MLSOL finds no cell to start from."""
    rows = "".join(f"{1000 * (i % 2) + i},{i % 2},{1 - i % 2}\n" for i in range(40))
    (tmp_path / "apart.csv").write_text("a,x,y\n" + rows)
    mlsol = Component("MLSOL")
    study = replace(
        small,
        datasets=(DataSource("apart", path=str(tmp_path / "apart.csv"), labels=("x", "y")),),
        methods=(
            Method("Default"),
            Method("MLSOL", mlsol),
            Method("Bags", n_estimators=2, bootstrap=True),
            Method("MLSOL on bags", mlsol, n_estimators=2, bootstrap=True),
        ),
    )
    outcome = run_study(study, tmp_path / "s.db", executor="serial")
    assert (outcome.done, outcome.failed) == (8, 0)
    table = read_results(study, tmp_path / "s.db").set_index(["method", "fold"])["n_resampled"]
    assert table["MLSOL"].tolist() == table["Default"].tolist()
    assert table["MLSOL on bags"].tolist() == table["Bags"].tolist()


# Stores


@pytest.mark.parametrize("path", ["file/s.db", "n" * 300 + ".db"])
def test_a_store_that_cannot_be_made(tmp_path, path):
    (tmp_path / "file").write_text("in the way of a folder")
    with pytest.raises(StudyError):
        Store(tmp_path / path)


def test_results_whose_name_cannot_be_one(tmp_path):
    with pytest.raises(StudyError):
        import_results("a\0b")


def test_a_store_that_another_program_holds(tiny_store, tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    path.write_bytes(tiny_store.read_bytes())
    store = Store(path)
    monkeypatch.setattr("labelance.study._store._WAIT", 0.1)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StudyError, match="Another program has locked it"):
        store.beat("me")
    holder.close()
    store.beat("me")


def test_a_store_that_went_away(tiny, tmp_path):
    folder = tmp_path / "folder"
    store = Store(folder / "s.db")
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(StudyError, match="cannot be"):
        store.rows(tiny)


def test_an_empty_store_has_no_study(tmp_path):
    with pytest.raises(StudyError, match="plan"):
        choose_study(Store(tmp_path / "s.db"))


# Folders of results


@pytest.fixture
def folder(tiny_store, tmp_path):
    export_results(tiny_store, tmp_path / "results")
    return tmp_path / "results"


def test_a_folder_of_another_study(folder):
    assert import_results(folder, study="tiny").study.name == "tiny"
    with pytest.raises(StudyError, match="It holds tiny"):
        import_results(folder, study="other")


@pytest.mark.parametrize("name", ["study.toml", "about.json", "results.csv"])
def test_a_folder_where_a_file_should_be(folder, name):
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(StudyError):
        import_results(folder)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("results.csv", lambda text: text + ",".join("x" * 99) + "\n"),
        ("results.csv", lambda text: text.replace(",0,0,", ",-1,0,", 1)),
        ("about.json", lambda text: text.replace("{", '{"é": 1,', 1)),
        ("about.json", lambda text: json.dumps({**json.loads(text), "first_finished": "\ud800"})),
    ],
    ids=["a line too long", "a negative count", "no UTF-8", "half a character"],
)
def test_a_damaged_folder(folder, name, wrong):
    file = folder / name
    file.write_bytes(wrong(file.read_text(encoding="utf-8")).encode("latin-1"))
    with pytest.raises(StudyError):
        import_results(folder)


def test_results_at_hand_are_verified_with_the_trust_given_now(folder):
    results = import_results(folder)
    assert verify_results(results, sample=1).n_exact == 1
    assert verify_results(results, sample=1, trust=["sklearn"]).n_exact == 1


def test_nothing_finished_is_nothing_to_verify(small, tmp_path):
    store = Store(tmp_path / "s.db")
    run_study(small, store.path, executor="serial")
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE cells SET status = 'failed'")
    db.close()
    with pytest.raises(StudyError, match="no finished cells"):
        verify_results(store.path)


# Data


def test_folds_that_name_other_rows(small, tmp_path):
    (tmp_path / "folds.csv").write_text("row,repeat_0\n" + "".join(f"{i},0\n" for i in range(5)))
    source = replace(small.dataset("two"), folds=str(tmp_path / "folds.csv"))
    with pytest.raises(StudyError, match="each of its 60 rows once"):
        load_source(source)


def test_data_that_cannot_be_read_are_not_described(small, tmp_path):
    (tmp_path / "broken.csv").write_text("a,x\n1\n")
    broken = DataSource("broken", path=str(tmp_path / "broken.csv"), labels=("x",))
    study = replace(small, datasets=(broken, small.dataset("two")))
    assert [told["dataset"] for told in describe_datasets(study)] == ["two"]


def test_time_left_knows_the_sizes_of_catalogued_data(small, tmp_path):
    names = [DataSource("flags"), DataSource("unheard of"), small.dataset("two")]
    study = replace(small, datasets=tuple(names))
    assert TimeLeft(study, workers=1).seconds(Store(tmp_path / "s.db")) is None


def test_a_forecast_doubles_the_rows_until_it_knows(small, tmp_path):
    made = small.dataset("two").make
    larger = Component(made.path, {**made.params, "n_samples": 400})
    study = replace(small, datasets=(replace(small.dataset("two"), make=larger),))
    told = forecast_study(study, tmp_path / "s.db")
    assert told.left == 2
    assert 0 < told.cpu_seconds < 600


@pytest.mark.parametrize("value", ["MLSOL", {"class": "MLSOL"}, Component("MLSOL")])
def test_a_component_is_a_name_a_mapping_or_itself(value):
    assert Component.of(value) == Component("MLSOL")
