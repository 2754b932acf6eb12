"""Ctrl-C, SIGTERM and SIGHUP end a command with the shell's exit code.

Nothing but the standard library is imported here, so that this is in place before the slow
imports begin.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from contextlib import suppress

TYPE_CHECKING = False  # importing typing takes time in which no signal can be taken
if TYPE_CHECKING:
    from types import FrameType

# SIGHUP: the terminal was closed. Those that the caller has us ignore (nohup) are ignored.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
# Seconds in which further signals do not disturb the way out. Python loses an exception that is
# raised while an object is torn down, and such a command must still end at a later one.
_PATIENCE = 20.0


class Signals:
    """Raise KeyboardInterrupt at the first signal, and leave with its exit code.

    While modules are imported there is nothing to tidy up, and a library might turn the exception
    into another one: the process ends at once, until ``raises`` is true.
    """

    def __init__(self) -> None:
        self.came: int | None = None
        self.raises = False
        self._since = 0.0

    def install(self) -> None:
        """Take the signals, where that is ours to do."""
        if threading.current_thread() is threading.main_thread():
            for number in _numbers():
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, self._handle)

    def ignore(self) -> None:
        """Let nothing disturb the end of the process."""
        if threading.current_thread() is threading.main_thread():
            for number in _numbers():
                signal.signal(number, signal.SIG_IGN)

    def leave(self) -> None:
        """End the process as the signal asked, with what a shell says of that: 130, 143.

        What libraries do at exit is done, but nothing is torn down: not what the interrupt left
        half made, nor compiled code that other threads are in.
        """
        if "multiprocessing" in sys.modules:
            from multiprocessing import active_children

            for child in active_children():
                child.kill()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # no one reads it any more
                stream.flush()
        os._exit(128 + (self.came or 0))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.raises:
            os._exit(128 + number)
        if self.came is None:
            self.came, self._since = number, time.monotonic()
            raise KeyboardInterrupt
        if time.monotonic() - self._since > _PATIENCE:
            os._exit(128 + number)


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
