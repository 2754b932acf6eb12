"""Progress: what a terminal shows, that a pipe is quiet, and that nobody's line is spoilt."""

import os
import pickle
import re
import signal
import struct
import threading
from contextlib import ExitStack
from io import StringIO
from types import SimpleNamespace

import joblib
import numpy as np
import pytest

from labelance import _progress
from labelance._progress import (
    heading,
    loop,
    print_notice,
    run_parallel,
    show_progress,
    track,
)
from labelance.ensemble import EMLS
from labelance.learners import BinaryRelevance, MLkNN
from labelance.neighbors import find_neighbors
from labelance.sampling import MLROS, MLSOL

pty = pytest.importorskip("pty", reason="there are no terminals to imitate")

fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")


class Terminal:
    """A terminal in place of standard error, and what was written to it."""

    def __init__(self):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        self.stream = os.fdopen(slave, "w")
        self.text, self.changed = "", threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while data := os.read(self.master, 4096):
                with self.changed:
                    self.text += data.decode()
                    self.changed.notify_all()
        except OSError:  # Linux says so at the end
            pass

    def close(self):
        self.stream.close()
        self.reader.join()  # or it would read from whatever gets the number of the file next
        os.close(self.master)

    def wait_for(self, words):
        """Wait until the words stand there; a slow machine takes its time."""
        with self.changed:
            assert self.changed.wait_for(lambda: words in self.text, timeout=60), self.text

    def settled(self):
        """Return all that was written before now."""
        self.stream.write("\0")
        self.stream.flush()
        self.wait_for("\0")
        return self.text.replace("\0", "")


def set_stderr(monkeypatch, stream):
    """Put a stream in the place of standard error, which pytest sets anew before a test."""
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=stream))


@pytest.fixture
def terminal(monkeypatch):
    imitation = Terminal()
    set_stderr(monkeypatch, imitation.stream)
    yield imitation
    imitation.close()


@pytest.fixture
def bars(monkeypatch):
    """All bars that are made."""
    made, start = [], _progress._bars(os.getpid()).__init__
    monkeypatch.setattr(
        _progress._bars(os.getpid()),
        "__init__",
        lambda bar, **options: made.append(bar) or start(bar, **options),
    )
    return made


@pytest.fixture
def pipe(monkeypatch):
    stream = StringIO()
    set_stderr(monkeypatch, stream)
    return stream


@pytest.fixture
def impatient(monkeypatch):
    """Everything is shown at once."""
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)


def test_a_terminal_shows_the_loops_and_then_nothing(terminal, impatient):
    with show_progress(1), heading("Reading") as tell:
        for done in track(range(2), "Outer", "labels"):
            tell(f"Label {done}")
            with loop("Inner", 1000, "rows") as progress:
                progress.advance(400)
                terminal.wait_for(f"Label {done} [00:0")
                terminal.wait_for("Inner:   0%")
    text = terminal.settled()
    assert "Reading [00:00]" in text
    assert "Outer:   0%" in text
    assert re.search(r"\r +\r\Z", text)  # the line was taken away


def test_nothing_is_shown_of_what_is_short(terminal):
    with show_progress(1), loop("Short", 10, "rows") as progress:
        progress.advance(10)
    assert terminal.settled() == ""


def test_without_verbose_a_terminal_is_quiet(terminal, impatient):
    with loop("Searching", 8, "rows") as progress:
        progress.advance()
    assert terminal.settled() == ""


def test_a_pipe_is_quiet(pipe, impatient, capfd):
    X = np.random.default_rng(0).random((600, 40))
    find_neighbors(X, 3, verbose=1)
    with show_progress(1), heading("Reading"), loop("Searching", 8, "rows") as progress:
        progress.advance()
    assert pipe.getvalue() == ""
    assert capfd.readouterr() == ("", "")


def test_threads_and_lines_of_others_do_not_spoil_the_bar(terminal, impatient, bars):
    with show_progress(1), loop("Counting", 4000, "sheep") as progress:
        threads = [
            threading.Thread(target=lambda: [progress.advance() for _ in range(1000)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        print_notice("Somebody speaks.")
        for thread in threads:
            thread.join()
    assert [bar.n for bar in bars] == [4000]
    assert re.search(r"[\r\n]Somebody speaks\.\r\n", terminal.settled())


def test_other_threads_were_not_asked_to_speak(terminal, impatient):
    def work():
        with loop("Elsewhere", 2, "rows") as progress:
            progress.advance()

    with show_progress(1), loop("Here", 2, "rows"):
        terminal.wait_for("Here")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert "Elsewhere" not in terminal.settled()


def test_workers_of_a_pool_are_silent(terminal, impatient, bars, monkeypatch):
    with show_progress(1), loop("Members", 2, "members") as progress:
        pickle.loads(pickle.dumps(progress)).advance()  # counts for nobody
        monkeypatch.setattr(_progress.os, "getpid", lambda: 0)
        with loop("Inside a worker", 2, "rows") as inside:
            inside.advance()
        progress.advance()
        monkeypatch.undo()
    assert [(bar.desc, bar.n) for bar in bars] == [("Members", 0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # there are threads, of course
def test_a_forked_process_does_not_wait_for_a_thread_that_it_has_not_got(terminal, impatient):
    counting = ExitStack()
    counting.enter_context(show_progress(1))
    outer = counting.enter_context(loop("Counting", 2, "sheep"))
    held, over = threading.Event(), threading.Event()

    def hold():
        with _progress._bars(os.getpid()).get_lock():
            held.set()
            over.wait()

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # ends a child that waits
        outer.advance()  # a counter that came with the fork
        with show_progress(1), loop("Counting", 1, "sheep") as progress:
            progress.advance()
            print_notice("A line.")
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    over.set()
    holder.join()
    counting.close()
    assert ended == 0


def test_parallel_tasks_return_in_order_and_count(terminal, impatient, bars):
    tasks = [joblib.delayed(pow)(number, 2) for number in range(20)]
    options = {"n_jobs": 2, "prefer": "threads"}
    expected = [number**2 for number in range(20)]
    assert run_parallel(joblib.Parallel, tasks, 20, "Squaring", "numbers", **options) == expected
    with show_progress(1):
        told = run_parallel(joblib.Parallel, tasks, 20, "Squaring", "numbers", **options)
    assert told == expected
    assert [bar.n for bar in bars] == [20]


@pytest.mark.slow
def test_a_backend_that_returns_all_at_once_works_without_progress(terminal, impatient):
    """joblib refuses to make a generator of it, and a fit with verbose=1 failed."""
    tasks = [joblib.delayed(pow)(number, 2) for number in range(4)]
    options = {"n_jobs": 2, "backend": "multiprocessing"}
    with show_progress(1):
        told = run_parallel(joblib.Parallel, tasks, 4, "Squaring", "numbers", **options)
    assert told == [0, 1, 4, 9]


def test_a_loop_that_fails_is_forgotten(terminal, impatient):
    def broken():
        for item in track([1, 2], "Broken", "items"):
            if item == 2:
                raise ValueError

    with pytest.raises(ValueError), show_progress(1):
        broken()
    before = len(terminal.settled())
    with show_progress(1), loop("Next", 2, "rows"):
        terminal.wait_for("Next:   0%")
    assert "Broken" not in terminal.settled()[before:]


def test_a_notebook_is_a_place_to_watch(monkeypatch):
    class OutStream(StringIO):
        pass

    OutStream.__module__ = "ipykernel.iostream"
    set_stderr(monkeypatch, OutStream())
    assert _progress.is_interactive(notebooks=True)
    assert not _progress.is_interactive()


def test_a_program_without_a_console_works(monkeypatch, impatient):
    set_stderr(monkeypatch, None)
    with show_progress(1), loop("Searching", 4, "rows") as progress:
        for _ in range(4):
            progress.advance()
        print_notice("Nobody reads this.")


@pytest.mark.slow
def test_a_search_shows_how_far_it_is(terminal, impatient):
    X = np.random.default_rng(0).random((3000, 40))
    quiet = find_neighbors(X, 3)
    shown = find_neighbors(X, 3, verbose=1, n_jobs=1)
    np.testing.assert_array_equal(quiet.indices, shown.indices)
    np.testing.assert_array_equal(quiet.distances, shown.distances)
    assert "Searching neighbors:   0%" in terminal.settled()


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_estimators_count_what_they_have_done(terminal, bars, n_jobs, capsys):
    rng = np.random.default_rng(0)
    X, y = rng.random((2000, 40)), (rng.random((2000, 3)) < 0.2).astype(int)
    MLSOL(sampling_ratio=0.01, verbose=1, n_jobs=n_jobs, random_state=0).fit_resample(X, y)
    learner = BinaryRelevance(verbose=1, n_jobs=n_jobs).fit(X[:200, :3], y[:200])
    learner.predict(X[:, :3])
    plain = EMLS(MLkNN(), MLROS(), n_estimators=2, objective=None, verbose=1)
    plain.fit(X[:50], y[:50]).predict(X[:50])
    assert [(bar.desc, bar.n, bar.total) for bar in bars] == [
        ("Searching neighbors", 2000, 2000),
        ("Growing trees", 3, 3),
        ("Asking trees", 2000, 2000),
        ("Fitting members", 2, 2),
        ("Asking members", 2, 2),
    ]
    assert capsys.readouterr().out.startswith("[MLSOL] 2000 -> 2020 rows")


class Gone(StringIO):
    """A stream whose reader went away."""

    def write(self, text):
        raise BrokenPipeError


def closed():
    stream = StringIO()
    stream.close()
    return stream


STREAMS = {
    "reader gone": Gone(),
    "closed": closed(),
    "without isatty": SimpleNamespace(write=lambda text: None, flush=lambda: None),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_work_goes_on_where_nobody_can_be_told(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    with show_progress(1), loop("Counting sheep", 3, "sheep") as progress:
        for _ in range(3):
            progress.advance()
        print_notice("A line.")
