"""How many files and functions of labelance a public call passes: what a reader has to open.

Every call runs once before it is counted, so that imports and first uses are not. ``--list`` names
the files, with the functions called in each; ``--root`` measures another checkout's ``src`` folder.

    python benchmarks/call_depth.py
    python benchmarks/call_depth.py MLSOL --list
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

Calls = dict[str, set[str]]


def count_calls(call: Callable[[], Any], root: Path) -> Calls:
    """Return the functions that a call passes, by file below ``root``."""
    seen: Calls = defaultdict(set)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{root}{os.sep}"):
            name = getattr(code, "co_qualname", code.co_name)
            seen[os.path.relpath(code.co_filename, root)].add(name)

    call()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def make_calls() -> dict[str, Callable[[], Any]]:
    """Return the calls to measure, by name, on small data."""
    import pandas as pd

    from labelance.datasets import make_multilabel_imbalanced
    from labelance.ensemble import EMLS
    from labelance.learners import BinaryRelevance
    from labelance.neighbors import find_neighbors
    from labelance.sampling import MLSOL
    from labelance.study import load_study, run_study

    X, y = make_multilabel_imbalanced(60, 4, 3, random_state=0)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(4)])
    study = load_study("quick").only(
        datasets=["small"], learners=["MLkNN"], methods=["MLSOL"], repeats=1
    )

    def run_one_cell() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run_study(study, f"{folder}/results.store", executor="serial")

    return {
        "MLSOL().fit_resample(frame, y)": lambda: MLSOL(random_state=0).fit_resample(frame, y),
        "BinaryRelevance().fit(X, y)": lambda: BinaryRelevance().fit(X, y),
        "EMLS(BinaryRelevance(), MLSOL()).fit(X, y)": lambda: EMLS(BinaryRelevance(), MLSOL()).fit(
            X, y
        ),
        "find_neighbors(X, 5)": lambda: find_neighbors(X, 5),
        "run_study, one method on one dataset": run_one_cell,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="?", default="", help="only calls whose name has this in it")
    parser.add_argument("--list", action="store_true", help="name files and functions")
    parser.add_argument("--root", type=Path, help="the src folder of another checkout")
    options = parser.parse_args()
    if options.root:
        sys.path.insert(0, str(options.root))

    import labelance

    root = Path(labelance.__file__).parent
    print(f"{'call':<44} {'files':>5} {'functions':>9}")
    for name, call in make_calls().items():
        if options.name not in name:
            continue
        seen = count_calls(call, root)
        print(f"{name:<44} {len(seen):5d} {sum(map(len, seen.values())):9d}")
        if options.list:
            for file, functions in sorted(seen.items()):
                print(f"    {file}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
