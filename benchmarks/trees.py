"""C4.5 trees, label by label: the same as Weka's J48, and how much faster.

    LABELANCE_DATA=... python benchmarks/trees.py [--weka] [--only flags yeast] [--repeats 3]

Without options: processor seconds of all trees of a dataset, grown together by ``fit_many`` and
one by one by ``C45Classifier``, against ``DecisionTreeClassifier(criterion="entropy",
min_samples_leaf=2)`` per label, the faster of dense and CSC.

--weka  adds the time of Weka's J48 in the same run (processor time of the Java thread that
        builds, the least of the repeats, so after Java's warm-up), and compares every tree with
        Weka's. It needs java and the jar of Weka 3.9.5, which is in the package
        python-weka-wrapper3==0.1.16 (``pip install --no-deps`` is enough), or which
        LABELANCE_WEKA_JAR names.

A tree is identical if structure, split points (to the last bit) and weights of the leaves (to
1e-9) are. The tables are Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from _measure import interleaved_seconds

sys.path.append(str(Path(__file__).parents[1] / "tests/learners/tree"))

import weka_cases
import weka_trees

DATASETS = (*weka_cases.MULTI_LABEL, *weka_cases.FLAT)


def settings_of(name: str) -> list[Any]:
    whole = weka_cases.load_case(name)
    cases = [setting(whole) for setting in weka_cases.SETTINGS]
    return [*cases, weka_cases.with_names(whole)] if name == "genbase" else cases


def print_row(*cells: Any) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def ask_weka(cases: list[Any], repeats: int) -> list[Any]:
    """Return J48's trees of all cases, with fair times of the whole data.

    Java compiles what it has run for a while, so what is timed comes after the rest.
    """
    order = sorted(range(len(cases)), key=lambda i: cases[i].setting == "whole")
    times = [repeats if cases[i].setting == "whole" else 1 for i in order]
    with tempfile.TemporaryDirectory() as folder:
        answers = weka_trees.ask_weka([cases[i] for i in order], Path(folder), times)
    return [answers[order.index(i)] for i in range(len(cases))]


def compare(names: list[str], repeats: int) -> dict[str, float]:
    """Print the table of agreement; return the seconds of J48 by dataset."""
    cases = [case for name in names for case in settings_of(name)]
    answers = ask_weka(cases, repeats)
    print_row("dataset", "setting", "trees", "identical", "same predictions", "largest difference")
    print_row("---", "---", "---:", "---:", "---:", "---:")
    trees, identical = 0, 0
    for case, theirs in zip(cases, answers):
        agreement = weka_trees.compare(weka_trees.grown_together(case), theirs)
        same, decided = agreement.identical.sum(), agreement.same_predictions.sum()
        largest = f"{agreement.difference.max():.0e}"
        print_row(case.name, case.setting, len(theirs), same, decided, largest)
        alone = weka_trees.compare(weka_trees.grown_alone(case), theirs)
        if not np.array_equal(agreement.identical, alone.identical):
            raise SystemExit("grown one by one, other trees are identical")
        if case.setting != weka_cases.ROWS_COUNTED:
            trees, identical = trees + len(theirs), identical + same
    left_out = f"{weka_cases.ROWS_COUNTED!r} left out"
    print(f"\n{identical} of {trees} trees are identical ({identical / trees:.2%}), {left_out}")
    return {
        case.name: sum(tree.seconds for tree in theirs)
        for case, theirs in zip(cases, answers)
        if case.setting == "whole"
    }


def fit_scikit(X: Any, y: Any) -> None:
    for target in y.T:
        tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
        tree.fit(X, target)


def time_trees(names: list[str], repeats: int, weka_seconds: dict[str, float]) -> None:
    """Print the table of processor seconds."""
    print()
    head = ["dataset", "trees", "together s", "one by one s", "scikit-learn s", "ratio"]
    print_row(*head, *(["J48 s", "ratio"] if weka_seconds else []))
    print_row("---", *["---:"] * (len(head) - 1 + 2 * bool(weka_seconds)))
    for name in names:
        case = weka_cases.load_case(name)
        dense = case.X.toarray() if sp.issparse(case.X) else case.X
        forms = {"dense": dense.astype(np.float32), "csc": sp.csc_matrix(dense, dtype=np.float32)}
        weka_trees.fit_together(case), weka_trees.fit_alone(case)  # compiles
        calls = {
            "together": lambda: weka_trees.fit_together(case),  # noqa: B023
            "alone": lambda: weka_trees.fit_alone(case),  # noqa: B023
            "dense": lambda: fit_scikit(forms["dense"], case.y),  # noqa: B023
            "csc": lambda: fit_scikit(forms["csc"], case.y),  # noqa: B023
        }
        took = interleaved_seconds(calls, repeats, time.process_time)
        scikit = min(took["dense"], took["csc"])
        cells = [took["together"], took["alone"], scikit]
        row = [name, case.y.shape[1], *(f"{s:.4f}" for s in cells), f"{scikit / cells[0]:.1f}x"]
        if weka_seconds:
            row += [f"{weka_seconds[name]:.4f}", f"{weka_seconds[name] / cells[0]:.1f}x"]
        print_row(*row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--weka", action="store_true")
    parser.add_argument("--only", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.weka and weka_trees.what_is_absent():
        raise SystemExit(weka_trees.what_is_absent())
    seconds = compare(options.only, options.repeats) if options.weka else {}
    time_trees(options.only, options.repeats, seconds)


if __name__ == "__main__":
    main()
