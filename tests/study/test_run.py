"""A study may be stopped, shared, retried and resumed, and its table is always the same."""

import json
import os
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from labelance.exceptions import InputError, StudyError
from labelance.study import (
    Component,
    DataSource,
    Learner,
    Method,
    Store,
    _store,
    export_results,
    load_study,
    read_results,
    run_study,
)
from labelance.study._store import STALE_SECONDS
from labelance.study._study import Fold


class Moody(ClassifierMixin, BaseEstimator):
    """Fails while a file is there."""

    def __init__(self, sign="/nonexistent"):
        self.sign = sign

    def fit(self, X, Y):
        if os.path.exists(self.sign):
            raise RuntimeError("not today")
        self.q_ = Y.shape[1]
        return self

    def predict_proba(self, X):
        return np.tile(np.arange(X.shape[0])[:, None] / X.shape[0], (1, self.q_))

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)


@pytest.fixture
def moody(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(
        __import__("sys").modules, "moody_module", __import__("types").SimpleNamespace(Moody=Moody)
    )
    learner = Learner("Moody", Component("moody_module.Moody", {"sign": str(tmp_path / "sign")}))
    (tmp_path / "sign").touch()
    return replace(tiny, learners=(learner, tiny.learner("MLkNN"))).only(datasets=["two"])


@pytest.mark.slow
def test_processes_give_the_same_table(tiny, tiny_store, figures, tmp_path):
    small = tiny.only(datasets=["two"], methods=["Default", "MLSMOTE", "EMLSOL"])
    store = tmp_path / "p.store"
    outcome = run_study(small, store, executor="processes", n_jobs=2)
    assert outcome.done == 12
    assert figures(small, store).equals(figures(small, tiny_store))


class Counting(Moody):
    """Writes a line for every fit, in whatever process."""

    def __init__(self, log="/dev/null"):
        self.log = log

    def fit(self, X, Y):
        with open(self.log, "a") as file:
            file.write("fit\n")
        self.q_ = Y.shape[1]
        return self


@pytest.fixture
def counting(tiny, tmp_path, monkeypatch):
    """A study of one fit a cell, and a function that says how many there were."""
    monkeypatch.setitem(sys.modules, "counting_module", SimpleNamespace(Counting=Counting))
    log = tmp_path / "fits"
    log.touch()
    learners = tuple(
        Learner(name, Component("counting_module.Counting", {"log": str(log)})) for name in "AB"
    )
    study = replace(tiny, learners=learners, repeats=4).only(methods=["Default"])
    return study, lambda: len(log.read_text().splitlines())


@pytest.mark.slow
def test_a_run_resumes_where_another_stopped(counting, tmp_path):
    study, count_fits = counting
    store = tmp_path / "r.store"
    part = study.only(datasets=["two"], learners=["A"])
    first = run_study(part, store, executor="serial")
    assert (first.done, first.left, count_fits()) == (8, 0, 8)
    # The rest is done, and what is there is not done again.
    assert run_study(study, store, executor="serial").done == count_fits() == 32
    rows = Store(store).rows(study)
    assert sum(row["runner"] == first.runner for row in rows) == 8


@pytest.mark.slow
def test_parts_of_a_study_are_the_whole(tiny, tiny_store, figures, tmp_path):
    small, store = tiny.only(datasets=["two"]), tmp_path / "r.store"
    run_study(small.only(learners=["BR"]), store, executor="serial")
    assert run_study(small, store, executor="serial").done == 28
    assert figures(small, store).equals(figures(small, tiny_store))


@pytest.mark.slow
def test_failures_are_rows_and_do_not_stop_the_rest(moody, tmp_path):
    store = tmp_path / "f.store"
    outcome = run_study(moody, store, executor="serial")
    assert (outcome.done, outcome.failed) == (14, 14)
    frame = read_results(moody, store)
    failed = frame[frame["status"] == "failed"]
    assert set(failed["learner"]) == {"Moody"}
    assert failed["error"].str.contains("not today").all()
    assert run_study(moody, store, executor="serial").failed == 14  # left alone unless asked
    (tmp_path / "sign").unlink()
    assert run_study(moody, store, executor="serial", retry_failed=True).done == 28


# Filters of warnings belong to the process, not to a thread; real runners are processes.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_runners_never_do_a_cell_twice(counting, tmp_path):
    study, count_fits = counting
    store = tmp_path / "two.store"
    Store(store)
    runners = [
        threading.Thread(target=run_study, args=(study, store), kwargs={"executor": "serial"})
        for _ in range(2)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    assert run_study(study, store, executor="serial").done == count_fits() == 32


def test_a_claim_made_since_we_looked_is_not_taken(counting, tmp_path, monkeypatch):
    """Both runners look, and see that no one has the fold; the second took it from the first."""
    study, _ = counting
    store = tmp_path / "two.store"
    ours, theirs, fold = Store(store), Store(store), study.cells()[0].place
    monkeypatch.setattr("labelance.study._store._holder", lambda path: {})
    assert theirs.claim(fold)
    assert not ours.claim(fold)


def test_a_stale_claim_is_taken_over_once(counting, tmp_path, monkeypatch):
    """Both runners see a dead claim; the second does not take the first one's away."""
    study, _ = counting
    store = tmp_path / "two.store"
    ours, theirs, fold = Store(store), Store(store), study.cells()[0].place
    assert Store(store).claim(fold)
    set_claim(ours, age=2 * STALE_SECONDS)
    judge = _store._is_held

    def judge_slowly(*about):
        held = judge(*about)
        monkeypatch.setattr(_store, "_is_held", judge)
        assert theirs.claim(fold)
        return held

    monkeypatch.setattr(_store, "_is_held", judge_slowly)
    assert not ours.claim(fold)


def set_claim(store, **values):
    """Change what the only claim of a store says, or with age when it was renewed."""
    (path,) = (store.path / "claims").iterdir()
    stamp = path.stat().st_mtime - values.pop("age", 0)
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    os.utime(path, (stamp, stamp))


def test_a_claim_holds_while_its_runner_lives(tmp_path):
    fold, (a, b, c) = Fold("one", 0, 0), [Store(tmp_path / "c.store") for _ in range(3)]
    assert a.claim(fold)
    assert a.claim(fold)
    assert not b.claim(fold)
    assert [(held["runner"], held["alive"]) for held in b.claims()] == [(a.runner, True)]
    set_claim(a, pid=2147480000)  # its process is gone
    assert [held["alive"] for held in b.claims()] == [False]
    assert b.claim(fold)
    a.release()  # and finds that another has it
    set_claim(b, host="away", pid=2147480000)  # a runner elsewhere that renews its stamp
    assert not c.claim(fold)
    set_claim(b, age=STALE_SECONDS)  # and one that has been silent
    b.beat()
    assert not c.claim(fold)
    set_claim(b, age=STALE_SECONDS)
    assert c.claim(fold)
    c.release()
    assert c.claims() == []


@pytest.mark.parametrize("apart", [-1e6, 1e6])
def test_the_clock_of_the_disk_decides_what_is_stale(tmp_path, monkeypatch, apart):
    """A network disk stamps files by a clock of its own."""
    fold, (a, b) = Fold("one", 0, 0), [Store(tmp_path / "c.store") for _ in range(2)]
    real = os.utime
    shifted = (time.time() + apart,) * 2
    monkeypatch.setattr("os.utime", lambda path, times=shifted: real(path, times))
    a.claim(fold)
    a.beat()
    set_claim(a, host="away")
    assert not b.claim(fold)


def test_a_claim_that_was_cut_off_holds_until_it_is_stale(tmp_path):
    fold, (a, b) = Fold("one", 0, 0), [Store(tmp_path / "c.store") for _ in range(2)]
    a.claim(fold)
    (path,) = (a.path / "claims").iterdir()
    path.write_text("")
    assert not b.claim(fold)
    assert [held["runner"] for held in b.claims()] == [""]
    os.utime(path, (0, 0))
    assert b.claim(fold)


def test_a_fold_that_two_runners_do_is_there_once(tiny, tiny_store, tmp_path):
    """One that was taken for dead lives after all: first figures stay."""
    first, second = Store(tmp_path / "t.store"), Store(tmp_path / "t.store")
    rows = [row for row in Store(tiny_store).rows() if row["dataset"] == "one"]
    first.add(rows[:20])
    second.add([{**row, "machine": "another"} for row in rows[10:]])
    assert [row["machine"] == "another" for row in first.rows(tiny)].count(True) == len(rows) - 20
    assert len(first.rows(tiny)) == len(rows)


@pytest.mark.slow
def test_configurations_never_mix(tiny, tmp_path):
    store = tmp_path / "m.store"
    study = tiny.only(datasets=["two"], learners=["MLkNN"], methods=["MLSOL"])
    other = replace(study, methods=(Method("MLSOL", Component("MLSOL", {"sampling_ratio": 0.9})),))
    run_study(study, store, executor="serial")
    assert len(read_results(other, store)) == 0
    run_study(other, store, executor="serial")
    assert len(read_results(study, store)) == len(read_results(other, store)) == 2
    assert study.hash != other.hash
    assert not read_results(study, store)["macro_auc_roc"].equals(
        read_results(other, store)["macro_auc_roc"]
    )


def test_a_larger_plan_takes_what_a_smaller_one_did(tiny, tiny_store, tmp_path):
    small = tiny.only(datasets=["one"], methods=["Default", "EMLSOL"])
    assert len(read_results(small, tiny_store)) == len(small.cells())


@pytest.mark.slow
def test_the_seed_matters_and_the_default_does_not_depend_on_it(tiny, tiny_store, tmp_path):
    other = replace(tiny, seed=1).only(datasets=["one"], learners=["MLkNN"])
    run_study(other, tmp_path / "s.store", executor="serial")
    merged = read_results(other, tmp_path / "s.store").merge(
        read_results(tiny, tiny_store), on=["dataset", "learner", "method", "repeat", "fold"]
    )
    same = merged["macro_auc_roc_x"] == merged["macro_auc_roc_y"]
    assert same[merged["method"] == "Default"].all()
    assert not same[merged["method"] == "EMLSOL"].all()


@pytest.mark.slow
def test_progress_is_told(tiny, tmp_path):
    seen = []
    run_study(
        tiny.only(datasets=["two"], learners=["MLkNN"]),
        tmp_path / "w.store",
        executor="serial",
        watch=seen.append,
    )
    assert (seen[-1].done, seen[-1].left, seen[-1].total) == (14, 0, 14)


def test_other_files_are_not_touched(tiny, tmp_path):
    file = tmp_path / "notes"
    file.write_text("my notes")
    for place in (file, tmp_path):
        with pytest.raises(StudyError, match=r"must be a folder|is another folder"):
            run_study(tiny, place)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["my notes"]
    with pytest.raises(StudyError, match="does not exist"):
        read_results(load_study("quick"), tmp_path / "absent.store")


class Blank(Moody):
    """Gives no number for a score."""

    def predict_proba(self, X):
        return np.full((X.shape[0], self.q_), np.nan)


@pytest.fixture
def others(monkeypatch):
    """Make the classes above importable by path, here and in workers."""
    module = SimpleNamespace(Moody=Moody, Blank=Blank)
    monkeypatch.setitem(sys.modules, "other_classes", module)


@pytest.mark.slow
def test_scores_that_are_no_numbers_are_failures(tiny, others, tmp_path):
    learner = Learner("Blank", Component("other_classes.Blank"))
    study = replace(tiny, learners=(learner, tiny.learner("MLkNN"))).only(datasets=["two"])
    outcome = run_study(study, tmp_path / "n.store", executor="serial")
    assert (outcome.done, outcome.failed) == (14, 14)


@pytest.mark.slow
def test_a_dataset_that_cannot_be_had_does_not_stop_the_others(tiny, tmp_path):
    broken = DataSource("broken", make=Component("builtins.int", {"x": "no data"}))
    study = replace(tiny, datasets=(broken, tiny.dataset("two"))).only(learners=["MLkNN"])
    outcome = run_study(study, tmp_path / "b.store", executor="serial")
    assert (outcome.done, outcome.failed, outcome.left) == (14, 14, 0)
    assert set(
        read_results(study, tmp_path / "b.store").query("status == 'failed'")["dataset"]
    ) == {"broken"}


@pytest.mark.slow
def test_a_fold_that_cannot_be_split_does_not_stop_the_others(tiny, tmp_path):
    folds = tmp_path / "folds.csv"
    folds.write_text("row,rep0\n" + "\n".join(f"{i},{1 + i % 2}" for i in range(60)))
    odd = replace(tiny.dataset("two"), name="odd", folds=str(folds), content=None)
    study = replace(tiny, datasets=(odd, tiny.dataset("two"))).only(learners=["MLkNN"])
    outcome = run_study(study, tmp_path / "o.store", executor="serial")
    assert (outcome.done, outcome.failed) == (14, 14)
    errors = read_results(study, tmp_path / "o.store")["error"].dropna()
    assert errors.str.contains("numbered 0 to 1").all()


@pytest.mark.slow
def test_a_learner_without_a_seed_takes_the_studys(tiny, figures, tmp_path):
    forest = Component("sklearn.ensemble.ExtraTreesClassifier", {"n_estimators": 3})
    study = replace(tiny, learners=(Learner("Trees", forest),)).only(datasets=["two"])
    for name in ("a.store", "b.store"):
        assert run_study(study, tmp_path / name, executor="serial").failed == 0
    assert figures(study, tmp_path / "a.store").equals(figures(study, tmp_path / "b.store"))


@pytest.mark.slow
def test_thresholds_of_other_rows_for_classifiers_of_others(tiny, tmp_path):
    forest = Component("sklearn.ensemble.ExtraTreesClassifier", {"n_estimators": 3})
    methods = (Method("CV", objective="f1", tune_on="cv"),)
    study = replace(tiny, learners=(Learner("Trees", forest),), methods=methods)
    assert (
        run_study(study.only(datasets=["two"]), tmp_path / "t.store", executor="serial").failed == 0
    )


def test_neighbors_are_not_shared_with_one_who_was_told_other_nominal_features(tiny):
    from labelance.study._design import build_learner, search_of

    nominal = np.zeros(6, bool)
    told = Learner("M", Component("MLkNN", {"categorical_features": [0]}))
    assert search_of(build_learner(told.component, nominal), nominal) is None
    assert search_of(build_learner(tiny.learner("MLkNN").component, nominal), nominal)[0] == 10


def test_results_of_other_rules_are_not_taken_from_a_folder(tiny, tiny_store, tmp_path):
    export_results(tiny_store, tmp_path / "out")
    assert len(read_results(tiny, tmp_path / "out")) == 56
    other = replace(tiny, seed=5)
    assert len(read_results(other, tmp_path / "out")) == 0


def test_a_file_that_changed_is_another_dataset(tiny, tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("a,x,y\n" + "1,0,1\n2,1,0\n" * 20)
    source = DataSource("d", path=str(file), labels=["x", "y"])
    study = replace(tiny, datasets=(source,))
    study.check()
    before = study.config(study.cells()[0])
    file.write_text("a,x,y\n" + "3,0,1\n2,1,0\n" * 20)
    with pytest.raises(StudyError, match="have changed since the plan"):
        study.check()
    fresh = replace(study, datasets=(replace(source, content=None),))
    fresh.check()
    assert fresh.config(fresh.cells()[0]) != before


def test_the_label_file_beside_belongs_to_a_dataset(tmp_path):
    (tmp_path / "d.arff").write_text("@relation d\n")
    without = DataSource("d", path=str(tmp_path / "d.arff")).content
    (tmp_path / "d.xml").write_text("<labels/>")
    assert DataSource("d", path=str(tmp_path / "d.arff")).content != without


def test_an_executor_that_is_none(tiny, tmp_path):
    with pytest.raises(InputError, match=r"executor must be one of .* Got 'process'"):
        run_study(tiny, tmp_path / "x.store", executor="process")
    assert not (tmp_path / "x.store").exists()


def test_a_relative_store_stays_where_it_was(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store("r.store")
    monkeypatch.chdir("/")
    assert store.path == tmp_path / "r.store"
