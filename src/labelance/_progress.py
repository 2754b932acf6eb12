"""Progress of long work: bars of tqdm on a terminal or in a notebook, nothing in a pipe.

A loop counts what it has done, and a call with ``verbose=1`` shows it::

    with show_progress(self.verbose):                                 # a public method
        with loop("Searching neighbors", n, "rows") as progress:     # somewhere below it
            progress.advance(512)

Nothing is handed down: a loop finds out by itself whether a caller listens. Only the thread and
the process that were asked to show their work do: what runs in others is a step of their loops.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from multiprocessing import current_process
from threading import RLock
from typing import Any, Protocol

_PATIENCE = 1.0  # seconds until a loop is shown

_listener: ContextVar[int] = ContextVar("listener", default=0)  # the process that shows its work


class Progress(Protocol):
    """What the body of a loop sees of it."""

    def advance(self, n: int = 1) -> None:
        """Count n more units as done."""


class _Silent:
    """A loop without a bar."""

    def advance(self, n: int = 1) -> None:
        pass


class _Counter:
    """A loop with a bar; threads may count at the same time."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._process = bar, os.getpid()

    def advance(self, n: int = 1) -> None:
        if os.getpid() == self._process:  # a fork has not got the thread that may hold the lock
            with self._bar.get_lock():
                self._bar.update(n)

    def __reduce__(self) -> Any:
        return _Silent, ()  # in another process


@cache
def _bars(process: int) -> Any:
    """Return the class of bars for a process, without tqdm's thread and lock of processes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without widgets they are text
        from tqdm.autonotebook import tqdm

    class Bar(tqdm):
        monitor_interval = 0

    Bar.set_lock(RLock())
    return Bar


def _is_heard() -> bool:
    return _listener.get() == os.getpid()


@contextmanager
def show_progress(verbose: int | bool) -> Iterator[None]:
    """Show the loops in the block, if ``verbose`` says so or an outer call did.

    Examples
    --------
    >>> from labelance._progress import loop, show_progress
    >>> with show_progress(1), loop("Counting", 3, "sheep") as progress:  # too short to be shown
    ...     for _ in range(3):
    ...         progress.advance()
    """
    token = _listener.set(os.getpid() if verbose else _listener.get())
    try:
        yield
    finally:
        _listener.reset(token)


def loop(what: str, total: int, unit: str) -> AbstractContextManager[Progress]:
    """Return a loop of known length, with a bar if a caller listens.

    Parameters
    ----------
    what : str
        What it does, as the beginning of a line: "Searching neighbors".
    total : int
        How many units there are to do.
    unit : str
        What is counted, in the plural.
    """
    if not (_is_heard() and is_interactive(notebooks=True)):
        return nullcontext(_Silent())
    return _show_bar(what, total=total, unit=unit, delay=_PATIENCE, miniters=1)


@contextmanager
def _show_bar(what: str, **options: Any) -> Iterator[Progress]:
    with _bars(os.getpid())(desc=what, leave=False, file=sys.stderr, **options) as bar:
        yield _Counter(bar)


@contextmanager
def heading(text: str) -> Iterator[Callable[[str], Any]]:
    """Show a line above the loops in the block, which gets a function that changes it."""
    if not (_is_heard() and is_interactive()):
        yield lambda text: None
        return
    form = {"bar_format": "{desc} [{elapsed}]", "leave": False, "file": sys.stderr}
    with _bars(os.getpid())(desc=text, **form) as bar:
        yield bar.set_description_str


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
        As for :func:`loop`.
    **options
        Go to ``parallel``.
    """
    if not _is_heard():
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
    """Write a line that stays, if a caller listens."""
    if _is_heard():
        print_notice(text)


def print_notice(text: str) -> None:
    """Write a line on standard error, above the bars."""
    # Who reads may have gone away, which is no reason to end hours of work.
    if sys.stderr is not None:  # a program without a console has none
        with suppress(OSError, ValueError), above_bars():
            print(text, file=sys.stderr, flush=True)


def above_bars() -> AbstractContextManager[Any]:
    """Take the bars away while the block writes on standard error."""
    drawn = _bars.cache_info().currsize
    return _bars(os.getpid()).external_write_mode(file=sys.stderr) if drawn else nullcontext()


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
