"""The command line: parse, call a public function, print.

Little but the standard library is imported here, so that signals are taken before the slow imports.
"""

import atexit
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

# Seconds in which further signals do not disturb the way out. Python loses an exception that is
# raised while an object is torn down, and such a command must still end at a later one.
_PATIENCE = 20.0
_came: list[tuple[int, float]] = []  # signals, and when


def main() -> None:
    """Run the command line; Ctrl-C, SIGTERM and SIGHUP end it with the shell's exit code."""
    _came.clear()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup does
            signal.signal(number, _interrupt)
    try:
        _main()
    except BaseException:
        if not _came:
            raise
        # Whatever an interrupt became on its way here, what happened is an interrupt.
        _leave(128 + _came[0][0])


def _main() -> None:
    from labelance._utils._messages import optional_import
    from labelance.exceptions import MissingDependencyError

    try:
        for name in ("typer", "rich"):
            optional_import(name, extra="cli", purpose="The command line")
    except MissingDependencyError as error:
        raise SystemExit(str(error)) from None
    # A pool of Arrow's own keeps what it has read; this is read at its import.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from labelance.cli._app import run

    run()


def _interrupt(number: int, frame: Any) -> None:
    """Raise KeyboardInterrupt at the first signal."""
    if not _came:
        _came.append((number, time.monotonic()))
        raise KeyboardInterrupt
    if time.monotonic() - _came[0][1] > _PATIENCE:
        os._exit(128 + number)


def _leave(code: int) -> None:
    """End the process; compiled code that other threads are in is not waited for."""
    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children

        for child in active_children():
            child.kill()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # no one reads it any more
            stream.flush()
    os._exit(code)
