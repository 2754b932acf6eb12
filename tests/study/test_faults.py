"""What goes wrong on real machines: none of it costs a finished cell, or an innocent one."""

import json
import os
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import asdict, astuple, replace
from itertools import chain
from pathlib import Path
from threading import Event

import pytest

from labelance.exceptions import StudyError
from labelance.study import Component, Learner, Store, read_results, run_study
from labelance.study._data import load_source, open_dataset_cache
from labelance.study._evaluate import evaluate_cells
from labelance.study._heartbeat import SILENCE, Heartbeat
from labelance.study._study import Fold
from labelance.study._worker import Worker, evaluate_in_worker

pytestmark = pytest.mark.slow  # processes are started, killed and waited for

FAULTY = """
import os, sys, time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Fine(ClassifierMixin, BaseEstimator):
    def fit(self, X, Y):
        # Of 61 rows one fold trains on 30 and the other on 31: one guilty cell, one innocent.
        if X.shape[0] == 30:
            self.misbehave()
        self.q_ = Y.shape[1]
        return self

    def misbehave(self):
        pass

    def predict_proba(self, X):
        return np.tile(np.arange(X.shape[0])[:, None] / X.shape[0], (1, self.q_))

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)


class Killed(Fine):
    def misbehave(self):
        os.kill(os.getpid(), 9)


class Hangs(Fine):
    def misbehave(self):
        time.sleep(10_000)


class Exits(Fine):
    def misbehave(self):
        sys.exit("enough")


class Raises(Fine):
    def misbehave(self):
        raise RuntimeError("not today")


class Leaks(Fine):
    def misbehave(self):
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (2**34, before[1]))
        try:
            self.kept_ = [np.empty(2**27) for _ in range(100)]
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


class Prints(Fine):
    def misbehave(self):
        print("{ not JSON")
        os.system("echo neither is this")


class Interrupts(Fine):
    def misbehave(self):
        raise KeyboardInterrupt


class Forks(Fine):
    def misbehave(self):
        child = os.fork()
        if child == 0:
            opened = os.open(os.devnull, os.O_RDONLY)
            grandchild = os.fork()
            if grandchild == 0:
                try:
                    os.fstat(opened)
                finally:
                    os._exit(0 if sys.exc_info()[0] is None else 1)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError("a file that a forked process had opened was closed")


class Lingers(Fine):
    def misbehave(self):
        import subprocess

        child = subprocess.Popen(["sleep", "1000"], stderr=subprocess.DEVNULL)
        with open(os.path.join(os.path.dirname(__file__), "pids"), "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """The folder of the learners, one for all tests: a worker looks where its first test did."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "faulty_learners.py").write_text(FAULTY)
    return folder


@pytest.fixture
def study_of(tiny, faulty, monkeypatch):
    """Make a study of 61 rows, no sampling, and faulty learners that workers can import."""
    monkeypatch.syspath_prepend(faulty)
    two = tiny.dataset("two")
    odd = replace(two, make=Component(two.make.path, {**two.make.params, "n_samples": 61}))

    def make(*names):
        learners = tuple(Learner(name, Component(f"faulty_learners.{name}")) for name in names)
        return replace(tiny, datasets=(odd,), learners=learners).only(methods=["Default"])

    return make


def statuses(study, store):
    table = read_results(study, store)
    return {(row.learner, row.fold): row.status for row in table.itertuples()}


def guilty(study, store):
    return sorted(learner for (learner, _), s in statuses(study, store).items() if s == "failed")


def second_fold(study):
    """Return the cells in which learners misbehave."""
    return tuple(cell for cell in study.cells() if cell.fold == 1)


# Who is alive


def test_a_process_id_in_use_is_not_yet_the_runner(study_of, tmp_path):
    """A restarted container has the same host name, and a process 1."""
    study, store = study_of("Fine"), Store(tmp_path / "s.db")
    gone = astuple(replace(Heartbeat.now(), pid=1, started=-1))
    with sqlite3.connect(store.path) as db:
        for fold in (0, 1):
            claim = ("two", 0, fold, "gone", *gone)
            db.execute(f"INSERT INTO claims VALUES ({', '.join('?' * 11)})", claim)
    db.close()
    assert [claim["alive"] for claim in store.claims()] == [False, False]
    assert run_study(study, store.path, executor="serial").done == 2


def test_liveness():
    me = Heartbeat.now()
    assert me.alive
    assert not replace(me, pid=2**31 - 3000).alive
    assert not replace(me, ticks=me.ticks - SILENCE).alive
    assert not replace(me, clock="an earlier boot", processes="of it", beat=me.beat - SILENCE).alive
    other = replace(me, host="other", clock="other", processes="other")
    assert other.alive
    assert not replace(other, beat=me.beat - SILENCE - 1).alive
    assert not replace(other, beat=me.beat + 1e6).alive


def test_machines_with_one_name_do_not_take_each_other_for_dead():
    me = Heartbeat.now()
    twin = replace(me, clock="its boot", processes="of it", pid=2**31 - 3000, ticks=0.0)
    assert twin.host == me.host
    assert twin.alive


@pytest.mark.skipif(Heartbeat.now().started is None, reason="needs /proc")
def test_another_process_with_the_same_id_is_another_runner():
    me = Heartbeat.now()
    assert not replace(me, started=me.started - 1).alive


@pytest.mark.parametrize("jump", [-1e7, 1e7])
def test_a_clock_that_is_set_changes_nothing_on_a_machine(tmp_path, monkeypatch, jump):
    store, fold = Store(tmp_path / "s.db"), Fold("two", 0, 0)
    assert store.claim(fold, "alive")
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + jump)
    assert not store.claim(fold, "another")
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE claims SET ticks = ticks - ?", (SILENCE,))
    db.close()
    assert store.claim(fold, "another")


def test_a_watcher_that_fails_does_not_end_the_heartbeats(study_of, tmp_path, monkeypatch):
    failed, beaten = Event(), Event()

    def watch(progress):
        if not failed.is_set():
            failed.set()
            raise BrokenPipeError

    def load(source):
        beaten.wait(60)
        return load_source(source)

    monkeypatch.setattr("labelance.study._runner._HEARTBEAT_SECONDS", 1)
    monkeypatch.setattr("labelance.study._runner.load_source", load)
    monkeypatch.setattr(Store, "beat", lambda store, runner: failed.is_set() and beaten.set())
    run_study(study_of("Fine"), tmp_path / "s.db", executor="serial", watch=watch)
    assert beaten.is_set()


def test_folders_of_dead_runners_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    me = Heartbeat.now()
    owners = {"dead": replace(me, pid=2**31 - 3000), "alive": me}
    for name, owner in owners.items():
        folder = tmp_path / f"labelance-study-{name}"
        folder.mkdir()
        (folder / "owner.json").write_text(json.dumps(asdict(owner)))
        (folder / "data.joblib").write_text("large")
    (tmp_path / "labelance-study-begun").mkdir()
    with open_dataset_cache() as cache:
        assert cache.folder.parent == tmp_path
        left = {path.name.removeprefix("labelance-study-") for path in tmp_path.iterdir()}
        assert left - {cache.folder.name.removeprefix("labelance-study-")} == {"alive", "begun"}
    assert not cache.folder.exists()


# Learners


def test_a_learner_that_exits_or_raises_is_a_failed_cell(study_of, tmp_path):
    study = study_of("Exits", "Raises", "Fine")
    outcome = run_study(study, tmp_path / "s.db", executor="serial")
    assert (outcome.done, outcome.failed) == (4, 2)
    assert guilty(study, tmp_path / "s.db") == ["Exits", "Raises"]
    assert "SystemExit: enough" in " ".join(
        read_results(study, tmp_path / "s.db")["error"].dropna()
    )


def test_ctrl_c_is_nobodys_failure(study_of, tmp_path):
    study = study_of("Interrupts")
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "s.db", executor="serial")
    assert "failed" not in statuses(study, tmp_path / "s.db").values()
    assert Store(tmp_path / "s.db").claims() == []


@pytest.mark.skipif(sys.platform != "linux", reason="kills and limits processes")
def test_only_the_guilty_cells_fail_in_processes(study_of, tmp_path, capfd):
    # Kernels are compiled, if need be.
    run_study(study_of("Fine"), tmp_path / "s.db", executor="serial")
    study = study_of("Fine", "Killed", "Hangs", "Prints", "Leaks")
    # Long enough for an honest cell on a busy machine.
    outcome = run_study(study, tmp_path / "s.db", n_jobs=2, cell_timeout=60)
    assert (outcome.done, outcome.failed, outcome.left) == (7, 3, 0)
    assert guilty(study, tmp_path / "s.db") == ["Hangs", "Killed", "Leaks"]
    table = (
        read_results(study, tmp_path / "s.db").dropna(subset="error").set_index("learner")["error"]
    )
    assert "killed by SIGKILL" in table["Killed"]
    assert "in misbehave" in table["Hangs"]
    assert "TimeoutError" in table["Hangs"].splitlines()[-1]
    assert "MemoryError" in table["Leaks"]
    out, err = capfd.readouterr()
    assert out == ""
    assert "not JSON\nneither is this" in err


@pytest.fixture(scope="module")
def worker():
    """One that several tests share: it takes seconds to start.

    It starts itself anew where a test ends it; those that leave it dead come last.
    """
    with closing(Worker()) as worker:
        yield worker


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_keeps_its_files(study_of, worker):
    study = study_of("Forks")
    data = load_source(study.datasets[0])
    rows = list(chain(*worker.evaluate(study, second_fold(study), data, None)))
    assert [row.get("error") for row in rows] == [None]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_worker_that_died_between_two_tasks_takes_its_children_with_it(study_of, faulty, worker):
    study = study_of("Lingers")
    data = load_source(study.datasets[0])
    rows = list(chain(*worker.evaluate(study, second_fold(study), data, None)))
    assert [row.get("error") for row in rows] == [None]
    pid, child = map(int, (faulty / "pids").read_text().split())
    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert runs(child)
    fine = study_of("Fine")
    list(worker.evaluate(fine, second_fold(fine), data, None))
    latest = time.monotonic() + 60
    while runs(child) and time.monotonic() < latest:
        time.sleep(0.01)
    assert not runs(child)


def runs(pid):
    """Say whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_rows_that_nobody_waited_for_are_not_those_of_the_next_task(study_of, worker):
    study = study_of("Fine")
    data = load_source(study.datasets[0])
    first, second = ([cell for cell in study.cells() if cell.fold == fold] for fold in (0, 1))
    abandoned = worker.evaluate(study, tuple(first), data, None)
    next(abandoned)
    abandoned.close()
    rows = chain(*worker.evaluate(study, tuple(second), data, None))
    assert [row["fold"] for row in rows] == [cell.fold for cell in second]


class Unreadable:
    """Data that can be sent and not received."""

    def __reduce__(self):
        return getattr, ("", "nothing of this name")


def test_an_order_that_a_worker_cannot_read_is_a_failed_cell(study_of, worker):
    study = study_of("Fine")
    cells, data = second_fold(study), Unreadable()
    rows = evaluate_in_worker(worker, study, cells, data, timeout=None, last=True)
    assert [row["status"] for row in chain(*rows)] == ["failed"]


def test_a_limit_of_no_time_is_refused(study_of, tmp_path):
    with pytest.raises(StudyError, match="cell_timeout must be > 0"):
        run_study(study_of("Fine"), tmp_path / "s.db", cell_timeout=0)
    assert not (tmp_path / "s.db").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_only_the_guilty_cell_fails_on_a_cluster_of_its_own(study_of, tmp_path):
    pytest.importorskip("distributed")
    study = study_of("Fine", "Killed")
    outcome = run_study(study, tmp_path / "s.db", executor="dask", n_jobs=2)
    assert (outcome.done, outcome.failed, outcome.left) == (3, 1, 0)
    assert guilty(study, tmp_path / "s.db") == ["Killed"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_a_learner_cannot_kill_a_dask_worker(study_of, tmp_path):
    """The worker is a thread of this very process, which is there to tell."""
    distributed = pytest.importorskip("distributed")
    study = study_of("Killed", "Fine")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        outcome = run_study(study, tmp_path / "s.db", executor="dask", address=address)
    assert (outcome.done, outcome.failed, outcome.left) == (3, 1, 0)
    assert guilty(study, tmp_path / "s.db") == ["Killed"]


@pytest.mark.filterwarnings("ignore")
def test_cells_are_stored_while_their_task_goes_on(study_of, tmp_path, monkeypatch):
    """Else a cluster that loses its workers loses finished cells."""
    distributed = pytest.importorskip("distributed")
    sent, over = Event(), Event()

    def first_then_hang(worker, study, cells, data, **options):
        yield from evaluate_cells(study, cells[:1], data)
        sent.set()
        over.wait(60)

    def no_worker(client, n_workers, timeout):
        if sent.is_set():
            raise TimeoutError

    monkeypatch.setattr("labelance.study._runner.evaluate_in_worker", first_then_hang)
    monkeypatch.setattr(distributed.Client, "wait_for_workers", no_worker)
    study = study_of("Fine")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        try:
            with pytest.raises(StudyError, match="There has been none"):
                run_study(
                    study, tmp_path / "s.db", executor="dask", address=address, cell_timeout=60
                )
        finally:
            over.set()
    assert len(statuses(study, tmp_path / "s.db")) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_learner_that_hangs_on_a_cluster(study_of, tmp_path):
    distributed = pytest.importorskip("distributed")
    study = study_of("Hangs")
    # Kernels are compiled, if need be.
    run_study(study_of("Fine"), tmp_path / "s.db", executor="serial")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        run_study(
            study,
            tmp_path / "s.db",
            executor="dask",
            address=cluster.scheduler_address,
            cell_timeout=60,
        )
    assert sorted(statuses(study, tmp_path / "s.db").values()) == ["done", "failed"]


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there(study_of, tmp_path):
    pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    soon = {"distributed.comm.timeouts.connect": "0.5s"}
    for address in ("tcp://127.0.0.1:1", "nonsense://"):
        with dask.config.set(soon), pytest.raises(StudyError, match="does not answer"):
            run_study(study_of("Fine"), tmp_path / "s.db", executor="dask", address=address)
    assert Store(tmp_path / "s.db").claims() == []


# Disks and files


def test_no_room_for_the_data_is_no_failure_of_cells(study_of, tmp_path, monkeypatch):
    def full(data, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("joblib.dump", full)
    study = study_of("Fine")
    with pytest.raises(StudyError, match="No space left on device"):
        run_study(study, tmp_path / "s.db", executor="serial")
    assert statuses(study, tmp_path / "s.db") == {}
    assert Store(tmp_path / "s.db").claims() == []


def test_a_full_disk_ends_the_run_and_costs_nothing_that_is_finished(
    study_of, tmp_path, monkeypatch
):
    study, store = replace(study_of("Fine"), repeats=20), Store(tmp_path / "s.db")
    connect = sqlite3.connect

    def small(*place, **options):
        db = connect(*place, **options)
        db.execute("PRAGMA max_page_count = 11")  # SQLite then says what it says of a disk
        return db

    with monkeypatch.context() as patch:
        patch.setattr("sqlite3.connect", small)
        with pytest.raises(StudyError, match=r"disk of .* is full"):
            run_study(study, store.path, executor="serial")
    before = store.rows()
    assert 0 < len(before) < 40
    outcome = run_study(study, store.path, executor="serial")
    assert (outcome.done, outcome.failed) == (40, 0)
    assert all(row in store.rows() for row in before)
