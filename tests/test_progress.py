"""Progress: what a terminal shows, what a pipe shows, and that nobody's line is spoilt."""

import os
import pickle
import re
import signal
import threading
from io import StringIO
from types import SimpleNamespace

import joblib
import numpy as np
import pytest

from labelance import _progress
from labelance._progress import loop, print_notice, run_parallel, show_progress, track
from labelance.ensemble import EMLS
from labelance.learners import BinaryRelevance, MLkNN
from labelance.neighbors import find_neighbors
from labelance.sampling import MLROS, MLSOL

pty = pytest.importorskip("pty", reason="there are no terminals to imitate")

LINE = re.compile(r"(\w[\w ]*: [\d,]+ of [\d,]+ \w+(, about [\w. ]+ left)?( \| )?)*\s*\Z")


class Terminal:
    """A terminal in place of standard error, and what was written to it."""

    def __init__(self):
        self.master, slave = pty.openpty()
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
def pipe(monkeypatch):
    stream = StringIO()
    set_stderr(monkeypatch, stream)
    return stream


@pytest.fixture
def impatient(monkeypatch):
    """Everything is shown at once, and everything is long."""
    for name in ("_PATIENCE", "_LONG", "_MEASURED"):
        monkeypatch.setattr(_progress, name, -1.0)
    monkeypatch.setattr(_progress, "_PERIOD", 0.001)
    _progress._board.cache_clear()  # they told nobody yet


def test_a_terminal_shows_the_loops_and_then_nothing(terminal, impatient):
    with show_progress(1):
        for done in track(range(2), "Outer", "labels"):
            with loop("Inner", 1000, "rows") as progress:
                progress.advance(200)
                progress.advance(200)
                terminal.wait_for(f"Outer: {done} of 2 labels | Inner: 400 of 1,000 rows, about ")
    assert re.search(r"\r +\rOuter: 2 labels", terminal.settled())  # the line was taken away


def test_a_narrow_terminal_keeps_it_on_one_line(terminal, impatient, monkeypatch):
    monkeypatch.setattr(_progress, "_COLUMNS", 20)
    with show_progress(1), loop("A loop with a very long name", 10, "rows"):
        terminal.wait_for("A loop with a very ")
    assert max(map(len, re.split("[\r\n]+", terminal.settled()))) == 19


def test_nothing_is_shown_of_what_is_short(terminal):
    with show_progress(1), loop("Short", 10, "rows", advice="Hurry.") as progress:
        progress.advance(10)
    assert terminal.settled() == ""


def test_without_verbose_a_terminal_is_told_once_how_to_be_done_sooner(terminal, impatient):
    for _ in range(2):
        with loop("Searching", 8, "rows", advice="Take fewer.") as progress:
            for _ in range(8):
                progress.advance()
        with loop("Growing", 8, "trees") as progress:  # nobody can do anything about it
            progress.advance(4)
            progress.advance(2)
    told = terminal.settled()
    assert "Searching: 8 rows take about" in told
    assert told.count("\n") == 1
    assert "Take fewer. verbose=1" in told


def test_a_pipe_hears_only_of_what_takes_over_a_minute(pipe, impatient):
    with show_progress(1), loop("Searching", 8, "rows", advice="Take fewer.") as progress:
        for _ in range(8):
            progress.advance()
    first, last = pipe.getvalue().splitlines()
    assert re.fullmatch(r"Searching: 8 rows take about [\d.]+ s\. Take fewer\.", first)
    assert re.fullmatch(r"Searching: 8 rows done in [\d.]+ s\.", last)


def test_a_pipe_is_quiet_otherwise(pipe, capfd):
    X = np.random.default_rng(0).random((600, 40))
    find_neighbors(X, 3, verbose=1)
    with loop("Searching", 8, "rows", advice="Take fewer.") as progress:
        progress.advance()
    assert pipe.getvalue() == ""
    assert capfd.readouterr() == ("", "")


def test_threads_and_lines_of_others_do_not_spoil_the_line(terminal, impatient):
    with show_progress(1), loop("Counting", 4000, "sheep") as progress:
        terminal.wait_for("Counting: 0 of 4,000 sheep")
        threads = [
            threading.Thread(target=lambda: [progress.advance() for _ in range(1000)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        print_notice("Somebody compiles.")
        for thread in threads:
            thread.join()
        terminal.wait_for("Counting: 4,000 of 4,000 sheep")
    for line in re.split("[\r\n]+", terminal.settled()):
        assert line in ("Somebody compiles.",) or "take about" in line or "done in" in line or (
            LINE.fullmatch(line)
        ), line  # fmt: skip
    # after the line that was taken away, or after what another thread told at that moment
    assert re.search(r"[\r\n]Somebody compiles\.\r\n", terminal.text)


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


def test_workers_of_a_pool_are_silent(terminal, impatient, monkeypatch):
    with show_progress(1), loop("Members", 2, "members") as progress:
        pickle.loads(pickle.dumps(progress)).advance()  # counts for nobody
        terminal.wait_for("Members: 0 of 2")
        monkeypatch.setattr(_progress.os, "getpid", lambda: 0)
        with loop("Inside a worker", 2, "rows") as inside:
            inside.advance()
        progress.advance()
        monkeypatch.undo()
    assert "Inside a worker" not in terminal.settled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # there are threads, of course
def test_a_forked_process_does_not_wait_for_a_thread_that_it_has_not_got():
    board, outer = _progress.Board(draws=False), _progress.Loop("Counting", 2, "sheep")
    held, over = threading.Event(), threading.Event()

    def hold():
        with board._lock:
            held.set()
            over.wait()

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)  # ends a child that waits
        board.advance(outer, 1)  # a counter that came with the fork
        with show_progress(1), loop("Counting", 1, "sheep") as progress:
            progress.advance()
            print_notice("A line.")
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    over.set()
    holder.join()
    assert ended == 0


def test_parallel_tasks_return_in_order_and_count(terminal, impatient):
    tasks = [joblib.delayed(pow)(number, 2) for number in range(20)]
    options = {"n_jobs": 2, "prefer": "threads"}
    expected = [number**2 for number in range(20)]
    assert run_parallel(joblib.Parallel, tasks, 20, "Squaring", "numbers", **options) == expected
    with show_progress(1):
        told = run_parallel(joblib.Parallel, tasks, 20, "Squaring", "numbers", **options)
    assert told == expected
    assert "Squaring: 20 numbers done" in terminal.settled()


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

    with pytest.raises(ValueError) as kept, show_progress(1):  # kept: so is the generator
        broken()
    before = len(terminal.settled())
    with show_progress(1), loop("Next", 2, "rows"):
        terminal.wait_for("Next: 0 of 2 rows")
    assert "Broken" not in terminal.settled()[before:]
    del kept


def test_a_loop_may_end_while_its_thread_writes(terminal, impatient, monkeypatch):
    """As when the garbage collector closes a generator just then."""
    write = _progress._write

    def work():
        with show_progress(1):
            left = track([1, 2], "Left", "items")
            next(left)
            monkeypatch.setattr(_progress, "_write", lambda text: left.close() or write(text))
            print_notice("Something else.")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


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


def test_a_search_shows_how_far_it_is(terminal, impatient):
    X = np.random.default_rng(0).random((3000, 40))
    quiet = find_neighbors(X, 3)
    # In one thread: with many of them all blocks end at once, and nothing is left to tell of.
    shown = find_neighbors(X, 3, verbose=1, n_jobs=1)
    np.testing.assert_array_equal(quiet.indices, shown.indices)
    np.testing.assert_array_equal(quiet.distances, shown.distances)
    text = terminal.settled()
    assert re.search(r"Searching neighbors: 3,000 rows take about .*Fewer rows", text)
    assert "Searching neighbors: 3,000 rows done in" in text


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_estimators_count_what_they_have_done(terminal, monkeypatch, n_jobs, capsys):
    shown, show = [], _progress.Board.show
    monkeypatch.setattr(
        _progress.Board, "show", lambda board, loop: shown.append(loop) or show(board, loop)
    )
    rng = np.random.default_rng(0)
    X, y = rng.random((2000, 40)), (rng.random((2000, 3)) < 0.2).astype(int)
    MLSOL(sampling_ratio=0.01, verbose=1, n_jobs=n_jobs, random_state=0).fit_resample(X, y)
    learner = BinaryRelevance(verbose=1, n_jobs=n_jobs).fit(X[:200, :3], y[:200])
    learner.predict(X[:, :3])
    plain = EMLS(MLkNN(), MLROS(), n_estimators=2, objective=None, verbose=1)
    plain.fit(X[:50], y[:50]).predict(X[:50])
    assert [(loop.what, loop.total) for loop in shown] == [
        ("Searching neighbors", 2000),
        ("Growing trees", 3),
        ("Asking trees", 2000),
        ("Fitting members", 2),
        ("Asking members", 2),
    ]
    assert all(loop.done == loop.total for loop in shown)
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
    monkeypatch.setattr(_progress, "_MEASURED", 0.0)
    monkeypatch.setattr(_progress, "_LONG", -1.0)
    with show_progress(1), loop("Counting sheep", 3, "sheep") as progress:
        for _ in range(3):
            progress.advance()
    with loop("Counting goats", 1, "goats", advice="Count fewer.") as progress:
        progress.advance()
