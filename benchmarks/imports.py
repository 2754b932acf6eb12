"""What ``import labelance`` costs, over importing ``sklearn.neighbors`` and ``imblearn``.

Every import runs in its own fresh process, the three in turn, and the processor time that the
process used is what counts, so that a busy machine disturbs the ratio little. The cost of a
bare interpreter is taken off all of them. The target is a ratio of at most 1.3 for
``import labelance``; the first use of MLSOL, which brings numba, is printed beside it.

    python benchmarks/imports.py --repeats 7
"""

import argparse
import statistics
import subprocess
import sys

TARGET = 1.3
STATEMENTS = {
    "an empty program": "pass",
    "sklearn.neighbors + imblearn": "import sklearn.neighbors, imblearn",
    "labelance": "import labelance",
    "labelance.MLSOL (first use)": "import labelance; labelance.MLSOL",
}


def processor_seconds(statement: str) -> float:
    """Processor time of a fresh interpreter that runs one statement."""
    program = f"{statement}\nimport time; print(time.process_time())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measure(repeats: int) -> dict[str, float]:
    """Median seconds of every statement; a first, unmeasured round warms the disk's cache."""
    rounds = [
        {name: processor_seconds(statement) for name, statement in STATEMENTS.items()}
        for _ in range(repeats + 1)
    ][1:]
    return {name: statistics.median(each[name] for each in rounds) for name in STATEMENTS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    seconds = measure(parser.parse_args().repeats)
    empty = seconds["an empty program"]
    base = seconds["sklearn.neighbors + imblearn"] - empty
    print(f"{'import':<30} {'seconds':>8} {'ratio':>6}")
    for name, value in seconds.items():
        print(f"{name:<30} {value - empty:8.3f} {(value - empty) / base:6.2f}")
    ratio = (seconds["labelance"] - empty) / base
    print(f"target: import labelance at most {TARGET} of scikit-learn and imbalanced-learn")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
