"""What is recorded of an evaluation: its figures, its cost, and where it was computed.

Peak memory is asked of Linux itself: psutil knows no peak there, and ``resource`` only that of the
whole life of a process, which evaluates many cells.
"""

from __future__ import annotations

import io
import os
import platform
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from labelance import __version__
from labelance.metrics import label_areas, macro_f1


@dataclass(frozen=True, eq=False)
class Measures:
    """F and both areas of every label, and their means as the paper takes them.

    F is 1 for a label that is neither there nor predicted; a label without an area is left
    out of the mean AUC-ROC and counts 0 in AUCPR, as in the authors' program.
    """

    f1: np.ndarray
    auc_roc: np.ndarray
    auc_pr: np.ndarray

    def row(self) -> dict[str, Any]:
        """Return the columns of a result."""
        defined = ~np.isnan(self.auc_roc)
        return {
            "macro_f1": float(self.f1.mean()),
            "macro_auc_roc": float(self.auc_roc[defined].mean()) if defined.any() else None,
            "macro_auc_pr": float(np.nan_to_num(self.auc_pr).mean()),
            "n_undefined": int((~defined).sum()),
            "labels": pack(np.stack([self.f1, self.auc_roc, self.auc_pr])),
        }


def measure(Y: Any, scores: np.ndarray, predicted: Any) -> Measures:
    """Measure scores and predictions of the rows of a test fold."""
    areas = label_areas(Y, scores)
    f1 = macro_f1(Y, predicted, average=None, zero_division=1)
    return Measures(f1, areas.auc_roc, areas.auc_pr)


def disagreement(scores: list[np.ndarray]) -> float:
    """Return one minus the mean correlation of two members' scores, over labels and pairs.

    0 means that members rank the rows alike, 1 that they know nothing of each other. Labels
    for which some member gives all rows the same score have no correlation and are left out.
    """
    if len(scores) < 2:
        return float("nan")
    centred = [member - member.mean(axis=0) for member in scores]
    lengths = [np.sqrt((member**2).sum(axis=0)) for member in centred]
    varied = np.all([length > 1e-12 for length in lengths], axis=0)
    if not varied.any():
        return float("nan")
    units = [
        member[:, varied] / length[varied] for member, length in zip(centred, lengths, strict=True)
    ]
    pairs = [(a * b).sum(axis=0).mean() for a, b in combinations(units, 2)]
    return float(1 - np.mean(pairs))


def pack(table: np.ndarray) -> bytes:
    """Return an array as compressed bytes."""
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    return zlib.compress(buffer.getvalue())


def unpack(content: bytes) -> np.ndarray:
    """Return what :func:`pack` packed."""
    return np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False)


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


_PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "numba", "joblib")


@cache
def environment() -> dict[str, Any]:
    """Return the columns that say it, the same for all cells of a process."""
    cores = f"{os.cpu_count()} cores"
    return {
        "version": __version__,
        "commit_id": _commit(),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": f"{platform.system()} {platform.machine()}, {cores}, {_processor()}",
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def _commit() -> str | None:
    """Return the commit of a checkout of ours, with a plus if files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        # Installed somewhere inside another project, the commit would be that project's.
        if Path(git("rev-parse", "--show-toplevel")) / "src/labelance/study" != here:
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
