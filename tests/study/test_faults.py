"""What goes wrong on real machines: none of it costs a finished cell, or an innocent one."""

import os
import subprocess
import sys
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from threading import Semaphore

import pytest

from labelance.exceptions import FileWriteError, StudyError
from labelance.study import Component, Learner, Store, read_results, run_study
from labelance.study._study import Fold, plan_of

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


class KilledOnce(Fine):
    def misbehave(self):
        died = os.path.join(os.path.dirname(__file__), "died")
        if not os.path.exists(died):
            open(died, "w").close()
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


# Learners


def test_a_learner_that_exits_or_raises_is_a_failed_cell(study_of, tmp_path):
    study = study_of("Exits", "Raises", "Fine")
    outcome = run_study(study, tmp_path / "s.store", executor="serial")
    assert (outcome.done, outcome.failed) == (4, 2)
    assert guilty(study, tmp_path / "s.store") == ["Exits", "Raises"]
    assert "SystemExit: enough" in " ".join(
        read_results(study, tmp_path / "s.store")["error"].dropna()
    )


def test_ctrl_c_is_nobodys_failure(study_of, tmp_path):
    study = study_of("Interrupts")
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "s.store", executor="serial")
    assert "failed" not in statuses(study, tmp_path / "s.store").values()
    assert Store(tmp_path / "s.store").claims() == []


@pytest.mark.skipif(sys.platform != "linux", reason="kills and limits processes")
def test_only_the_guilty_cells_fail_in_processes(study_of, tmp_path, capfd):
    # Kernels are compiled, if need be.
    run_study(study_of("Fine"), tmp_path / "s.store", executor="serial")
    forkserver._forkserver._stop()  # that of an earlier test writes where that test did
    study = study_of("Fine", "Killed", "Hangs", "Prints", "Leaks")
    # Long enough for an honest cell on a busy machine.
    outcome = run_study(study, tmp_path / "s.store", n_jobs=2, cell_timeout=60)
    assert (outcome.done, outcome.failed, outcome.left) == (7, 3, 0)
    assert guilty(study, tmp_path / "s.store") == ["Hangs", "Killed", "Leaks"]
    table = read_results(study, tmp_path / "s.store").dropna(subset="error")
    table = table.set_index("learner")["error"]
    assert "killed by SIGKILL" in table["Killed"]
    assert "TimeoutError" in table["Hangs"]
    assert "MemoryError" in table["Leaks"]
    out, err = capfd.readouterr()
    assert out == ""
    assert "not JSON\nneither is this" in err


def test_two_runners_in_two_processes_share_the_work(study_of, tmp_path, faulty):
    """Each process claims folds; together they have the whole table, and no claim is left."""
    study, store = replace(study_of("Fine"), repeats=6), tmp_path / "s.store"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from labelance.study import run_study\n"
        "from labelance.study._config import study_of\n"
        "study = study_of(eval(sys.argv[2]))\n"
        "run_study(study, sys.argv[3], executor='serial')"
    )
    words = [sys.executable, "-c", script, str(faulty), repr(plan_of(study)), str(store)]
    runners = [subprocess.Popen(words) for _ in range(2)]
    assert [runner.wait(200) for runner in runners] == [0, 0]
    assert set(statuses(study, store).values()) == {"done"}
    assert len(Store(store).rows(study)) == 12
    assert Store(store).claims() == []


def test_a_script_without_a_guard_is_told_so(tiny, tmp_path):
    """Processes import the script; one that runs a study at once would begin anew in each."""
    script = tmp_path / "mine.py"
    script.write_text(
        "from labelance.study import load_study, run_study\n"
        "study = load_study('quick').only(datasets=['small'], learners=['MLkNN'], repeats=1)\n"
        "run_study(study.only(methods=['Default']), 'mine.store', n_jobs=1)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "call run_study below `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]
    assert Store(tmp_path / "mine.store").rows() == []


def test_a_limit_of_no_time_is_refused(study_of, tmp_path):
    with pytest.raises(StudyError, match="cell_timeout must be > 0"):
        run_study(study_of("Fine"), tmp_path / "s.store", cell_timeout=0)
    assert not (tmp_path / "s.store").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_only_the_guilty_cell_fails_on_a_cluster_of_its_own(study_of, tmp_path):
    pytest.importorskip("distributed")
    study = study_of("Fine", "Killed")
    outcome = run_study(study, tmp_path / "s.store", executor="dask", n_jobs=2)
    assert (outcome.done, outcome.failed, outcome.left) == (3, 1, 0)
    assert guilty(study, tmp_path / "s.store") == ["Killed"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_what_a_worker_of_a_cluster_had_is_done_by_another(study_of, faulty, tmp_path):
    pytest.importorskip("distributed")
    outcome = run_study(study_of("KilledOnce"), tmp_path / "s.store", executor="dask", n_jobs=2)
    assert (faulty / "died").exists()
    assert (outcome.done, outcome.failed, outcome.left) == (2, 0, 0)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there(study_of, tmp_path):
    pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    soon = {"distributed.comm.timeouts.connect": "0.5s"}
    for address in ("tcp://127.0.0.1:1", "nonsense://"):
        with dask.config.set(soon), pytest.raises(StudyError, match="does not answer"):
            run_study(study_of("Fine"), tmp_path / "s.store", executor="dask", address=address)
    assert Store(tmp_path / "s.store").claims() == []


# Disks and files


def test_a_full_disk_ends_the_run_and_costs_nothing_that_is_finished(
    study_of, tmp_path, monkeypatch
):
    study, store = replace(study_of("Fine"), repeats=5), Store(tmp_path / "s.store")
    written, real = [], Path.write_text

    def write(path, text, **options):
        written.append(path)
        if len(written) > 6:
            real(path, text[: len(text) // 2], **options)
            raise OSError(28, "No space left on device")
        return real(path, text, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", write)
        with pytest.raises(FileWriteError, match="No space left on device"):
            run_study(study, store.path, executor="serial")
    before = store.rows()
    assert 0 < len(before) < 10
    assert store.claims() == []
    assert "failed" not in statuses(study, store.path).values()
    outcome = run_study(study, store.path, executor="serial")
    assert (outcome.done, outcome.failed) == (10, 0)
    assert all(row in store.rows() for row in before)
    assert not list(store.path.rglob(".*"))  # nothing half-written remains


def test_a_disk_that_answers_no_more_does_not_end_the_heartbeats(tmp_path, monkeypatch):
    from labelance.study._runner import _repeating

    store, again = Store(tmp_path / "s.store"), Semaphore(0)

    def refuse(path):
        again.release()
        raise OSError(5, "Input/output error")

    store.claim(Fold("one", 0, 0))
    monkeypatch.setattr("os.utime", refuse)
    with pytest.raises(StudyError, match="cannot be read or written"):
        store.beat()
    with _repeating(store.beat, 0.001):
        assert all(again.acquire(timeout=60) for _ in range(4))
