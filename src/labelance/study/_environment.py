"""Where and with what a cell was computed."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from labelance import __version__

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
