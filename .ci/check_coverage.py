"""Branch coverage of each package that results rest on; less than 95 % is a failure.

"coverage json" is read from standard input.
"""

import json
import sys
from collections import Counter
from pathlib import PurePath

LEAST = 95.0
PACKAGES = (
    "imbalance",
    "sampling",
    "metrics",
    "model_selection",
    "study",
    "datasets/formats",
)
COUNTED = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def totals(files: dict, package: str) -> Counter:
    """Sum the counts of the package's files, those of its subpackages too."""
    here = f"/labelance/{package}/"
    inside = [file["summary"] for name, file in files.items() if here in PurePath(name).as_posix()]
    if not inside:
        raise SystemExit(f"no file of labelance/{package} was measured")
    return sum((Counter({key: each[key] for key in COUNTED}) for each in inside), Counter())


def percent(count: Counter) -> float:
    return (
        100
        * (count["covered_lines"] + count["covered_branches"])
        / (count["num_statements"] + count["num_branches"])
    )


files = json.load(sys.stdin)["files"]
figures = {package: percent(totals(files, package)) for package in PACKAGES}
for package, figure in figures.items():
    print(f"{package:<18} {figure:6.2f} %")
low = [package for package, figure in figures.items() if figure < LEAST]
if low:
    raise SystemExit(f"less than {LEAST:g} % in {', '.join(low)}: run 'coverage report -m'")
