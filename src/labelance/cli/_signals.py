"""Ctrl-C and SIGTERM end a command: tidily, at any moment, with the shell's exit code.

Nothing but the standard library is imported here, so that this is in place before the slow
imports begin.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time

TYPE_CHECKING = False  # importing typing takes time in which no signal can be taken
if TYPE_CHECKING:
    from types import FrameType

# SIGHUP: the terminal was closed. Those that the caller has us ignore (nohup) are ignored.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
# A command that is still not over so long after the signal is not going to end by itself.
_PATIENCE = 20.0


class Signals:
    """What the signals do, from the first moment of a command to the end of the process.

    While modules are imported there is nothing to tidy up, and an exception might be turned
    into another one by whatever is being imported: the process ends at once. Then the first
    signal raises KeyboardInterrupt, and those that follow do not disturb the tidying up. At
    the end they are ignored, since Python's own way out could be hit too.
    """

    def __init__(self) -> None:
        self.came: signal.Signals | None = None
        self._tidy = False
        self._hook, self._in_hook = sys.unraisablehook, False

    @property
    def exit_code(self) -> int:
        """Return what a shell says of a process that a signal ended: 130, 143."""
        return 128 + (self.came or 0)

    def install(self) -> None:
        """Take the signals, where that is ours to do."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _numbers():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def raise_from_now_on(self) -> None:
        """Let the first signal raise KeyboardInterrupt."""
        self._tidy = True
        sys.unraisablehook = self._catch_lost

    def ignore(self) -> None:
        """Let nothing disturb the way out."""
        if threading.current_thread() is threading.main_thread():
            for number in _numbers():
                signal.signal(number, signal.SIG_IGN)
        # What a signal left half made complains when it is torn down, and no user needs to see it.
        if self.came is None:
            sys.unraisablehook = self._hook

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._tidy:
            os._exit(128 + number)
        if self.came is None and not self._in_hook:
            self.came = signal.Signals(number)
            # Not a Thread, which takes locks that the interrupted code may hold.
            _thread.start_new_thread(self._end_late, ())
            raise KeyboardInterrupt

    def _end_late(self) -> None:
        time.sleep(_PATIENCE)
        os._exit(self.exit_code)

    def _catch_lost(self, lost: sys.UnraisableHookArgs) -> None:
        """Raise an interrupt again that arrived while an object was torn down, where it is lost."""
        if self.came is None:
            self._hook(lost)
        elif issubclass(lost.exc_type, KeyboardInterrupt):
            self._in_hook = True
            number, self.came = self.came, None
            _thread.start_new_thread(self._insist, (number,))
            self._in_hook = False

    def _insist(self, number: signal.Signals) -> None:
        while self.came is None:
            time.sleep(0.01)
            _thread.interrupt_main(number)


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
