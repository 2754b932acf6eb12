"""Whether a runner is alive: by its process where that can be asked, by its heartbeat anywhere."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import getnode

# A runner that has not been heard of for so long is dead. Runners beat every 20 seconds.
SILENCE = 120.0


@dataclass(frozen=True)
class Heartbeat:
    """A sign of life of a process: which one it is, and when it gave the sign.

    A process id alone says little: after a restart of a container another process has it. With
    the time at which the process started, the machine's boot and the id's namespace it is
    exact. The wall clock may be set back, so the time of the sign is also given by the
    monotonic clock, which all processes since a boot share.

    Parameters
    ----------
    pid, started : int
        The process, and when it started by the kernel's count; None where that is unknown.
    host : str
        The machine's name.
    processes : str
        The table in which the process id is to be looked up: boot, host and namespace.
    clock : str
        Whose monotonic clock is meant: the boot's, or the machine's where that is unknown.
    ticks, beat : float
        The sign's time by the monotonic clock and by the wall clock.
    """

    pid: int
    host: str
    beat: float
    started: int | None
    processes: str
    clock: str
    ticks: float

    @classmethod
    def now(cls) -> Heartbeat:
        """Return a sign of life of the present process."""
        pid = os.getpid()
        return cls(pid, _host(), time.time(), _started(pid), _processes(), _clock(),
                   time.monotonic())  # fmt: skip

    @property
    def alive(self) -> bool:
        """Return whether the process has beaten lately and, as far as can be seen, still runs."""
        return self._is_fresh() and (self.processes != _processes() or self._runs())

    def _is_fresh(self) -> bool:
        if self.clock == _clock():
            return 0 <= time.monotonic() - self.ticks < SILENCE
        # Another boot, be it of a machine with the same name: silence alone decides. A beat from
        # the future is as strange as an old one, since a wall clock that was set back would
        # otherwise keep the dead alive until it catches up.
        return abs(time.time() - self.beat) < SILENCE

    def _runs(self) -> bool:
        if not _exists(self.pid):
            return False
        started = _started(self.pid)
        return None in (started, self.started) or started == self.started


def _exists(pid: int) -> bool:
    """Say whether there is a process; where that cannot be asked, there is."""
    if os.name != "posix":  # on Windows os.kill would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> int | None:
    """Return when a process started, in the kernel's ticks since boot, where it says so (Linux)."""
    try:
        # The name of the program, in brackets, may hold blanks and brackets itself.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


@cache
def _host() -> str:
    return socket.gethostname()


@cache
def _clock() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{_host()} {getnode():x}"  # names of machines need not differ


@cache
def _processes() -> str:
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{_clock()} {_host()} {namespace}"
