"""Timing and memory for the benchmarks: the best of several runs, and the peak of one."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Clock = Callable[[], float]


def best_seconds(call: Callable[[], Any], repeats: int, clock: Clock = time.perf_counter) -> float:
    """Return the shortest time of ``repeats`` calls; noise only ever adds."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def interleaved_seconds(
    calls: dict[str, Callable[[], Any]], repeats: int, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Return the shortest time of each call, taking turns, so that noise hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(best_seconds(call, 1, clock))
    return {name: min(values) for name, values in times.items()}


def peak_extra_bytes(call: Callable[[], Any]) -> int:
    """Return how far the process's memory rose above its start while ``call`` ran."""
    gc.collect()
    # What was freed before and is still held would be used again and not be counted.
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
    start = peak = _resident_bytes()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, _resident_bytes())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    call()
    done.set()
    watcher.join()
    return max(peak, _resident_bytes()) - start


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
