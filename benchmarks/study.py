"""A small study from start to end, on the command line: wall and processor seconds.

    python benchmarks/study.py [PRESET]

The preset is "quick" unless given. One process does all cells, compiled already by a first run.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

COMMAND = "from labelance.cli import main; main()"


def run(preset: str) -> None:
    """Run a study into a store that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["study", "run", preset, "--executor", "serial", "--store", f"{folder}/s.store"]
        subprocess.run(
            [sys.executable, "-c", COMMAND, *words, "--json"],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def processor_seconds() -> float:
    """Return what all processes that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    preset = sys.argv[1] if len(sys.argv) > 1 else "quick"
    run(preset)
    start, used = time.perf_counter(), processor_seconds()
    run(preset)
    print(
        f"study {preset}: {processor_seconds() - used:.2f} processor seconds, "
        f"{time.perf_counter() - start:.2f} wall"
    )


if __name__ == "__main__":
    main()
