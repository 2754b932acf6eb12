"""A study may be stopped, shared, retried and resumed, and its table is always the same."""

import os
import sqlite3
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from labelance.exceptions import StudyError
from labelance.study import Component, Learner, Method, Store, load_study, run_study
from labelance.study._cells import Task


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


def test_processes_give_the_same_table(tiny, tiny_store, figures, tmp_path):
    store = tmp_path / "p.db"
    outcome = tiny.run(store, executor="processes", n_jobs=2)
    assert outcome.done == 56
    assert figures(tiny, store).equals(figures(tiny, tiny_store))


def test_a_run_resumes_where_another_stopped(tiny, tiny_store, figures, tmp_path, monkeypatch):
    store = tmp_path / "r.db"
    assert tiny.only(datasets=["two"], learners=["BR"]).run(store, executor="serial").left == 0
    # The rest is done, and what is there is not done again.
    import labelance.study._job as job

    done = []
    original = job.do_task

    def spy(study, task, data):
        done.extend(task.cells)
        return original(study, task, data)

    monkeypatch.setattr(job, "do_task", spy)
    assert tiny.run(store, executor="serial").done == 56
    assert len(done) == 56 - 14
    assert figures(tiny, store).equals(figures(tiny, tiny_store))


def test_failures_are_rows_and_do_not_stop_the_rest(moody, tmp_path):
    store = tmp_path / "f.db"
    outcome = moody.run(store, executor="serial")
    assert (outcome.done, outcome.failed) == (14, 14)
    frame = moody.results(store)
    failed = frame[frame["status"] == "failed"]
    assert set(failed["learner"]) == {"Moody"}
    assert failed["error"].str.contains("not today").all()
    assert moody.run(store, executor="serial").failed == 14  # left alone unless asked
    (tmp_path / "sign").unlink()
    assert moody.run(store, executor="serial", retry_failed=True).done == 28


# Filters of warnings belong to the process, not to a thread; real runners are processes.
@pytest.mark.filterwarnings("ignore")
def test_two_runners_never_do_a_cell_twice(tiny, figures, tiny_store, tmp_path, monkeypatch):
    import labelance.study._job as job

    done, lock = [], threading.Lock()
    original = job.do_task

    def spy(study, task, data):
        for rows in original(study, task, data):
            with lock:
                done.extend((r["dataset"], r["learner"], r["method"], r["fold"]) for r in rows)
            yield rows

    monkeypatch.setattr(job, "do_task", spy)
    store = tmp_path / "two.db"
    Store(store)
    runners = [
        threading.Thread(target=run_study, args=(tiny, store), kwargs={"executor": "serial"})
        for _ in range(2)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    tiny.run(store, executor="serial")
    assert len(done) == len(set(done)) == 56
    assert figures(tiny, store).equals(figures(tiny, tiny_store))


def test_a_claim_holds_while_its_runner_lives(tiny, tmp_path):
    store, task = Store(tmp_path / "c.db"), Task("one", 0, 0, ())
    assert store.claim(task, "a")
    assert store.claim(task, "a")
    assert not store.claim(task, "b")
    assert store.holds(task, "a")
    with sqlite3.connect(store.path) as db:  # the runner's process is gone
        db.execute("UPDATE claims SET pid = 2147480000")
    assert store.claim(task, "b")
    assert not store.holds(task, "a")
    with sqlite3.connect(store.path) as db:  # a runner elsewhere that beats
        db.execute("UPDATE claims SET host = 'elsewhere'")
    assert not store.claim(task, "c")
    with sqlite3.connect(store.path) as db:  # and one that has been silent
        db.execute("UPDATE claims SET beat = beat - 1000")
    assert store.claim(task, "c")
    store.release("c")
    assert not store.holds(task, "c")


def test_configurations_never_mix(tiny, tmp_path):
    store = tmp_path / "m.db"
    study = tiny.only(datasets=["two"], learners=["MLkNN"], methods=["MLSOL"])
    other = replace(study, methods=(Method("MLSOL", Component("MLSOL", {"sampling_ratio": 0.9})),))
    study.run(store, executor="serial")
    assert len(other.results(store)) == 0
    other.run(store, executor="serial")
    assert len(study.results(store)) == len(other.results(store)) == 2
    assert study.hash != other.hash
    assert not study.results(store)["macro_auc_roc"].equals(other.results(store)["macro_auc_roc"])


def test_a_larger_plan_takes_what_a_smaller_one_did(tiny, tiny_store, tmp_path):
    small = tiny.only(datasets=["one"], methods=["Default", "EMLSOL"])
    assert len(small.results(tiny_store)) == len(small.cells())


def test_the_seed_matters_and_the_default_does_not_depend_on_it(tiny, tiny_store, tmp_path):
    other = replace(tiny, seed=1).only(datasets=["one"], learners=["MLkNN"])
    other.run(tmp_path / "s.db", executor="serial")
    merged = other.results(tmp_path / "s.db").merge(
        tiny.results(tiny_store), on=["dataset", "learner", "method", "repeat", "fold"]
    )
    same = merged["macro_auc_roc_x"] == merged["macro_auc_roc_y"]
    assert same[merged["method"] == "Default"].all()
    assert not same[merged["method"] == "EMLSOL"].all()


def test_progress_is_told(tiny, tmp_path):
    seen = []
    tiny.only(datasets=["two"], learners=["MLkNN"]).run(
        tmp_path / "w.db", executor="serial", watch=seen.append
    )
    assert (seen[-1].done, seen[-1].left, seen[-1].total) == (14, 0, 14)


def test_other_files_are_not_touched(tiny, tmp_path):
    file = tmp_path / "notes.db"
    file.write_text("my notes")
    with pytest.raises(StudyError, match="something else"):
        tiny.run(file)
    assert file.read_text() == "my notes"
    with pytest.raises(StudyError, match="does not exist"):
        load_study("quick").results(tmp_path / "absent.db")
