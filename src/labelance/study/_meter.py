"""How long something took, and how much memory it needed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cost:
    """Seconds of the clock and of the processor."""

    seconds: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Add what the block takes."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.cpu + other.cpu)


def total(costs: list[Cost]) -> Cost:
    """Add costs up."""
    return sum(costs, Cost())


def forget_peak() -> None:
    """Begin to measure the peak anew, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # then the peak is that of the whole process so far


def peak_mb() -> float:
    """Return the most memory that this process has had since then."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return _peak_of_process()


def _peak_of_process() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
