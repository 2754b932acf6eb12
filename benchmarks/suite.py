"""What the tests cost: processor seconds by folder, and the dearest tests.

    python benchmarks/suite.py                                   # all tests, two processes
    python benchmarks/suite.py --both                            # quick tests, then slow ones
    python benchmarks/suite.py --root ../before --top 40 -- tests/sampling -k laws

What stands behind ``--`` goes to pytest. Seconds of a test are those of its process and of the
processes that it has waited for, set-up included; what is left is importing, collecting and
starting, and on Linux processes that nobody waited for (fork servers). Seconds of the clock say
little on a machine that does other things as well.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
_FILE, _PLUGIN = "LABELANCE_SUITE_COSTS", "labelance_suite_costs"


def processor_seconds() -> float:
    """Return what this process has used, and those that it has waited for."""
    return sum(os.times()[:4])


# ------------------------------------------------------------------------- the plugin inside pytest

_before = 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    global _before
    _before = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    """Add what a phase of a test has cost to its report, which travels to the first process."""
    global _before
    report = yield
    now = processor_seconds()
    report.user_properties = [*report.user_properties, ("cpu", now - _before)]
    _before = now
    return report


def pytest_runtest_logreport(report: Any) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        cost = dict(report.user_properties).get("cpu", 0.0)
        with open(os.environ[_FILE], "a") as out:
            out.write(json.dumps([report.nodeid, cost]) + "\n")


# -------------------------------------------------------------------------------------- the program


def run_tests(root: Path, arguments: list[str]) -> tuple[Counter[str], float, int]:
    """Run the tests of a checkout; return costs by test, the cost of all, and the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder, "costs")
        costs.touch()
        # By a name of its own: the other checkout has a package benchmarks, too.
        shutil.copy(__file__, Path(folder, f"{_PLUGIN}.py"))
        paths = [str(root / "src"), folder, os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), _FILE: str(costs)}
        adopt_orphans()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", _PLUGIN, *arguments],
            cwd=root,
            env=environment,
            check=False,
        )
        wait_for_orphans()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        by_test: Counter[str] = Counter()
        for line in costs.read_text().splitlines():  # a line for each phase of a test
            test, cost = json.loads(line)
            by_test[test] += cost
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return by_test, used, done.returncode


def adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, so that their seconds are counted."""
    if sys.platform == "linux":
        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1)


def wait_for_orphans(seconds: float = 30.0) -> None:
    """Wait until all have ended, within reason."""
    latest = monotonic() + seconds
    while monotonic() < latest:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            sleep(0.1)


def folder_of(test: str) -> str:
    """Return the folder of a test below tests, or that its example is in the library."""
    file = test.partition("::")[0]
    if not file.startswith("tests/"):
        return "examples in docstrings"
    parts = file.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "tests/*.py"


def print_costs(by_test: Counter[str], used: float, top: int) -> None:
    """Print a run: folders, the rest, all, and the dearest tests."""
    by_folder: Counter[str] = Counter()
    for test, cost in by_test.items():
        by_folder[folder_of(test)] += cost
    sizes = Counter(map(folder_of, by_test))
    print(f"{'folder':<28} {'tests':>6} {'CPU s':>8}")
    for folder, cost in by_folder.most_common():
        print(f"{folder:<28} {sizes[folder]:>6} {cost:>8.1f}")
    print(f"{'starting and collecting':<28} {'':>6} {used - sum(by_folder.values()):>8.1f}")
    print(f"{'all':<28} {len(by_test):>6} {used:>8.1f}")
    for test, cost in by_test.most_common(top):
        print(f"{cost:8.1f} {test}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--both", action="store_true", help="the quick tests, then the slow ones")
    parser.add_argument("--jobs", type=int, default=2, help="processes of pytest")
    parser.add_argument("--top", type=int, default=0, help="number of the dearest tests to print")
    parser.add_argument("pytest", nargs="*", help="what goes to pytest")
    options = parser.parse_args()
    parallel = ["-n", str(options.jobs)] if options.jobs > 1 else []
    commands = {"pytest": [], "pytest -m slow": ["-m", "slow"]} if options.both else {"pytest": []}
    totals, worst = {}, 0
    for name, marked in commands.items():
        arguments = [*parallel, *marked, *options.pytest]
        by_test, totals[name], code = run_tests(options.root.resolve(), arguments)
        worst = max(worst, code)
        print_costs(by_test, totals[name], options.top)
    if options.both:
        print("\n".join(f"{name:<28} {used:>8.1f} CPU s" for name, used in totals.items()))
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
