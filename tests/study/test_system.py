"""Odd systems and odd files: a study runs on the first, and refuses the second in three parts."""

import json
import os
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from labelance.exceptions import LabelanceError, StudyError
from labelance.study import (
    Component,
    DataSource,
    Learner,
    Method,
    Store,
    describe_datasets,
    export_results,
    import_results,
    read_results,
    run_study,
    verify_results,
)
from labelance.study._data import load_source
from labelance.study._results import choose_study
from labelance.study._runner import environment
from labelance.study._store import _runs

KNN = Learner("kNN", Component("sklearn.neighbors.KNeighborsClassifier"))


@pytest.fixture
def small(tiny):
    """Two cells of nearest neighbors."""
    return replace(tiny, learners=(KNN,)).only(datasets=["two"], methods=["Default"])


@pytest.fixture
def forgetful():
    """Let what is asked of the system once for a process be asked again, now and afterwards."""
    environment.cache_clear()
    yield
    environment.cache_clear()


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
    monkeypatch.setattr("subprocess.run", refuse)

    def unknown(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("labelance._versions.metadata.version", unknown)


def test_a_study_runs_where_the_system_tells_nothing(small, tmp_path, silent_system):
    assert run_study(small, tmp_path / "s.store", executor="serial").done == 2
    for row in Store(tmp_path / "s.store").rows(small):
        assert row["commit_id"] is None
        assert row["peak_mb"] > 1
        assert set(json.loads(row["versions"]).values()) >= {"unknown"}


@pytest.mark.skipif(os.name != "posix", reason="asks for other processes")
def test_a_process_of_somebody_else_is_alive(monkeypatch):
    def refuse(pid, number):
        raise PermissionError

    assert _runs(os.getpid())
    assert not _runs(2**31 - 3000)
    monkeypatch.setattr("os.kill", refuse)
    assert _runs(1)


@pytest.mark.slow
def test_a_serial_run_with_a_time_limit_works_in_one_other_process(small, tmp_path):
    outcome = run_study(small, tmp_path / "s.store", executor="serial", cell_timeout=600)
    assert (outcome.done, outcome.failed) == (2, 0)


@pytest.mark.slow
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
    outcome = run_study(study, tmp_path / "s.store", executor="serial")
    assert (outcome.done, outcome.failed) == (8, 0)
    table = read_results(study, tmp_path / "s.store").set_index(["method", "fold"])["n_resampled"]
    assert table["MLSOL"].tolist() == table["Default"].tolist()
    assert table["MLSOL on bags"].tolist() == table["Bags"].tolist()


# Stores


@pytest.mark.parametrize("path", ["file/s.store", "n" * 300 + ".store"])
def test_a_store_that_cannot_be_made(tmp_path, path):
    (tmp_path / "file").write_text("in the way of a folder")
    with pytest.raises(LabelanceError):
        Store(tmp_path / path)


def test_results_whose_name_cannot_be_one(tmp_path):
    with pytest.raises(StudyError):
        import_results("a\0b")


def test_an_empty_store_has_no_study(tmp_path):
    with pytest.raises(StudyError, match="plan"):
        choose_study(Store(tmp_path / "s.store"))


# Folders of results


@pytest.fixture
def folder(tiny_store, tmp_path):
    export_results(tiny_store, tmp_path / "results")
    return tmp_path / "results"


def test_a_folder_of_another_study(folder):
    assert import_results(folder, study="tiny").study.name == "tiny"
    with pytest.raises(StudyError, match="holds tiny"):
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


def test_nothing_finished_is_nothing_to_verify(small, tmp_path, change_rows):
    store = Store(tmp_path / "s.store")
    run_study(small, store.path, executor="serial")
    change_rows(store.path, lambda row: row.update(status="failed"))
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


@pytest.mark.parametrize("value", ["MLSOL", {"class": "MLSOL"}, Component("MLSOL")])
def test_a_component_is_a_name_a_mapping_or_itself(value):
    assert Component.of(value) == Component("MLSOL")
