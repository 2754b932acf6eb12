"""Progress of long work: one line on a terminal, next to nothing in a pipe.

A loop counts what it has done, and a call with ``verbose=1`` shows it::

    with show_progress(self.verbose):                                 # a public method
        with loop("Searching neighbors", n, "rows") as progress:     # somewhere below it
            progress.advance(512)

Nothing is handed down: a loop finds out by itself whether a caller listens, and if none does it
is a loop of nothing. Only the thread and the process that were asked to speak do: what runs in
others is a step of a loop of theirs.

By hand and for the command line too, because rich is installed with that only: two ways to draw
took more code than this one. The bars of rich and tqdm take a line for each loop, and do not leave
the time in which code is compiled out of the time left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from multiprocessing import current_process
from threading import Event, RLock, Thread
from time import perf_counter
from typing import Any, Protocol

_PATIENCE = 1.0  # seconds until a loop is shown
_LONG = 60.0  # seconds that are said beforehand
_MEASURED = 0.5  # seconds of work that a forecast rests on
_PERIOD = 0.2  # seconds between two pictures of the line
_COLUMNS = 80  # of a terminal that does not tell


class Progress(Protocol):
    """What the body of a loop sees of it."""

    def advance(self, n: int = 1) -> None:
        """Count n more units as done."""


class Loop:
    """A loop of known length, and how long it still takes.

    Parameters
    ----------
    what : str
        What it does, as the beginning of a line: "Searching neighbors".
    total : int
        How many units there are to do.
    unit : str
        What is counted, in the plural.
    advice : str
        How to get done faster, shown where it takes over a minute.
    warm_up : int
        The first steps that do not count for the forecast, because code is compiled in them.
    """

    def __init__(
        self, what: str, total: int, unit: str, *, advice: str = "", warm_up: int = 1
    ) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.advice, self.warm_up = advice, warm_up
        self.done = self.steps = 0
        self.began = perf_counter()
        self._warm: tuple[float, int] | None = None  # when the forecast begins, and from where

    def count(self, n: int) -> None:
        """Count n units as done, in one step."""
        self.done += n
        self.steps += 1
        if self.steps == self.warm_up:
            self._warm = perf_counter(), self.done

    @property
    def seconds(self) -> float:
        """How long it has taken up to now."""
        return perf_counter() - self.began

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at the speed so far; None as long as little is known."""
        if self._warm is None or self.done == self._warm[1]:
            return None
        since, before = self._warm
        spent = perf_counter() - since
        if spent < _MEASURED:
            return None
        return spent / (self.done - before) * (self.total - self.done)

    def __str__(self) -> str:
        share = f"{self.what}: {self.done:,} of {self.total:,} {self.unit}"
        left = self.seconds_left
        return share if left is None else f"{share}, about {span(left)} left"


class Board:
    """Where loops are shown, the outer ones first; here a line that is written again.

    Threads may count at the same time: one lock orders them, and one thread draws.

    Parameters
    ----------
    draws : bool
        Whether there is a line; else only what takes over a minute is shown, in lines of their own.
    heading : str
        What the line begins with, whether a loop runs or not; it may be set again.
    reword : callable
        Returns a line that stays in other words.
    """

    def __init__(
        self, *, draws: bool, heading: str = "", reword: Callable[[str], str] = str
    ) -> None:
        self.draws, self.heading, self.reword = draws, heading, reword
        # The collector may end a loop that was left early while its own thread writes the line.
        self._lock, self._stop = RLock(), Event()
        self._loops: list[Loop] = []
        self._told: set[str] = set()
        self._width = 0  # of the line that stands there
        self._users = 0
        self._began = perf_counter()
        self.process = os.getpid()

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Draw the loops that run in the block."""
        with self._lock:
            self._users += 1
            first = self._users == 1
        if first:
            self._told.clear()
        if first and self.draws:
            self._stop = Event()
            Thread(target=self._draw_on, args=(self._stop,), daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._stop.set()
                    self._loops.clear()  # a generator that was left early may still hold one
                    self.clear()

    def _draw_on(self, stop: Event) -> None:
        while not stop.wait(_PERIOD):
            with self._lock:
                if not stop.is_set():
                    self._draw()

    @contextmanager
    def show(self, loop: Loop) -> Iterator[Progress]:
        """Show a loop while the block runs."""
        with self._lock:
            self._loops.append(loop)
        try:
            yield _Counter(loop, self)
            self._tell_end(loop)
        finally:
            with self._lock:
                self._loops = [other for other in self._loops if other is not loop]
                if not self._loops and not self.heading:
                    self.clear()

    def advance(self, loop: Loop, n: int) -> None:
        """Count, and tell once if it takes over a minute."""
        if os.getpid() != self.process:  # a fork has not got the thread that may hold the lock
            return
        with self._lock:
            loop.count(n)
            if loop.what not in self._told and self._is_worth_telling(loop):
                left = loop.seconds_left
                if left is not None and left > _LONG:
                    self._told.add(loop.what)
                    advice = f" {loop.advice}" if loop.advice else ""
                    about = span(loop.seconds + left)
                    self.tell(
                        f"{loop.what}: {loop.total:,} {loop.unit} take about {about}.{advice}"
                    )

    def _is_worth_telling(self, loop: Loop) -> bool:
        """Say whether it is the outermost loop, or the user can do something about it."""
        return bool(loop.advice) or self._loops[:1] == [loop]

    def _tell_end(self, loop: Loop) -> None:
        with self._lock:
            if loop.what in self._told and self._loops[:1] == [loop] and loop.seconds > _LONG:
                self.tell(f"{loop.what}: {loop.total:,} {loop.unit} done in {span(loop.seconds)}.")

    def _draw(self) -> None:
        shown = [str(loop) for loop in self._loops if loop.seconds > _PATIENCE]
        if self.heading and perf_counter() - self._began > _PATIENCE:
            shown.insert(0, self.heading)
        line = " | ".join(shown)[: _columns() - 1]
        if line or self._width:
            _write(f"\r{line:<{self._width}}" + ("" if line else "\r"))
            self._width = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            _write(f"\r{'':<{self._width}}\r")
            self._width = 0

    def tell(self, text: str) -> None:
        """Write a line that stays, above the one that is written again."""
        self.clear()
        _write(f"{self.reword(text)}\n")

    def print_notice(self, text: str) -> None:
        """Write a line that stays, for a caller who holds no lock."""
        with self._lock:
            self.tell(text)


class _Counter:
    """A loop on a board."""

    def __init__(self, loop: Loop, board: Board) -> None:
        self._loop, self._board = loop, board

    def advance(self, n: int = 1) -> None:
        self._board.advance(self._loop, n)

    def __reduce__(self) -> Any:
        return _Unheard, ()  # in another process


class _Advice(Board):
    """Tells people who did not ask for progress what can be had faster, once."""

    def tell(self, text: str) -> None:
        print_notice(f"{text} verbose=1 shows how far it is.")

    def _tell_end(self, loop: Loop) -> None:
        pass


class _Unheard:
    """Silent progress loop."""

    def advance(self, n: int = 1) -> None:
        pass


_UNHEARD: AbstractContextManager[Progress] = nullcontext(_Unheard())
_listener: ContextVar[Board | None] = ContextVar("listener", default=None)
_boards: list[Board] = []  # the last one says what comes from elsewhere


@cache
def _board(kind: type[Board], process: int, *, draws: bool = False) -> Board:
    """Return the board that the threads of a process share."""
    return kind(draws=draws)


def show_progress(verbose: int | bool, board: Board | None = None) -> AbstractContextManager[None]:
    """Let the loops in the block be heard, if ``verbose`` says so or an outer call did.

    Parameters
    ----------
    verbose : int or bool
        0 leaves it as it is.
    board : Board, optional
        Where to show them; by default a line on a terminal or in a notebook, and lines for what
        takes over a minute elsewhere.

    Examples
    --------
    >>> from labelance._progress import loop, show_progress
    >>> with show_progress(1), loop("Counting", 3, "sheep") as progress:  # too short to be shown
    ...     for _ in range(3):
    ...         progress.advance()
    """
    if not verbose or (board is None and _listener.get() is not None):
        return nullcontext()
    return _speak(board or _board(Board, os.getpid(), draws=is_interactive(notebooks=True)))


@contextmanager
def _speak(board: Board) -> Iterator[None]:
    before = _listener.set(board)
    _boards.append(board)
    try:
        with board.drawn():
            yield
    finally:
        _boards.remove(board)
        _listener.reset(before)


def loop(
    what: str, total: int, unit: str, *, advice: str = "", warm_up: int = 1
) -> AbstractContextManager[Progress]:
    """Return a loop of known length, whose progress is shown if a caller listens.

    Parameters are those of :class:`Loop`. Without a listener a loop with advice still tells
    people at a terminal if it will take over a minute, once.
    """
    board = _listener.get()
    if board is None and advice and is_interactive():
        board = _board(_Advice, os.getpid())
    if board is None or board.process != os.getpid():
        return _UNHEARD
    return board.show(Loop(what, total, unit, advice=advice, warm_up=warm_up))


def track(items: Any, what: str, unit: str) -> Iterator[Any]:
    """Yield the items of a sequence or array; each is done when the next one is asked for.

    Examples
    --------
    >>> from labelance._progress import track
    >>> [2 * item for item in track([1, 2, 3], "Doubling", "numbers")]
    [2, 4, 6]
    """
    with loop(what, len(items), unit) as progress:
        for item in items:
            yield item
            progress.advance()


def run_parallel(
    parallel: Any, tasks: Iterable[Any], total: int, what: str, unit: str, **options: Any
) -> list[Any]:
    """Return what joblib's tasks return, and show how many are done.

    Parameters
    ----------
    parallel : class
        ``Parallel`` of joblib or of scikit-learn.
    tasks : iterable
        What ``delayed`` returns.
    total : int
        How many tasks there are.
    what, unit : str
        As for :class:`Loop`.
    **options
        Go to ``parallel``.
    """
    if _listener.get() is None:
        return parallel(**options)(tasks)
    try:
        run = parallel(**options, return_as="generator")
    except ValueError:  # a backend that returns all results at once
        return parallel(**options)(tasks)
    results = []
    with loop(what, total, unit) as progress:
        for result in run(tasks):
            results.append(result)
            progress.advance()
    return results


def note(text: str) -> None:
    """Write a line that stays, for the listener; without a listener nothing."""
    board = _listener.get()
    if board is not None and board.process == os.getpid():
        board.print_notice(text)


def print_notice(text: str) -> None:
    """Write a line on standard error without spoiling the one that shows progress."""
    if _boards and _boards[-1].process == os.getpid():
        _boards[-1].print_notice(text)
    else:
        _write(f"{text}\n")


def is_interactive(*, notebooks: bool = False) -> bool:
    """Say whether standard error is a terminal, or a notebook if that counts, of this process."""
    # The standard error of a worker of a pool belongs to the caller.
    if sys.stderr is None or current_process().name != "MainProcess":
        return False
    if notebooks and type(sys.stderr).__module__.startswith("ipykernel"):
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # a user's stream, or one that is closed
        return False


def span(seconds: float) -> str:
    """Return a span of time in the two largest units.

    Examples
    --------
    >>> from labelance._progress import span
    >>> span(4.24), span(75), span(3 * 3600 + 62), span(200_000)
    ('4.2 s', '1 min 15 s', '3 h 1 min', '2 d 7 h')
    >>> span(0.04), span(9.96), span(59.4), span(60)
    ('0.0 s', '10 s', '59 s', '1 min 0 s')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    place = next(number for number, (_, size) in enumerate(units) if seconds >= size)
    (large, size), (small, step) = units[place], units[place + 1]
    return f"{int(seconds // size)} {large} {int(seconds % size // step)} {small}"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except (OSError, ValueError, AttributeError):  # a notebook, or a user's stream
        return _COLUMNS


def _write(text: str) -> None:
    if sys.stderr is None:  # a program without a console has none
        return
    # Who reads may have gone away, which is no reason to end hours of work.
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
