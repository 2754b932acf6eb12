"""Run benchmarks, keep what they printed as JSON, and compare two runs or two commits.

    python -m benchmarks list
    python -m benchmarks run mlsol --only yeast
    python -m benchmarks compare before.json after.json
    python -m benchmarks against --rounds 3 HEAD~5 mlsol --only yeast

What stands behind the name goes to the benchmark itself. Results are kept in benchmarks/results
(not committed), or in the file that --out names. Two commits take turns, each with its own
benchmark of that name, or with ours where it has none; after a round in which they compile, the
median of the rounds counts.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?(?![\w.]*\w)")

Row = tuple[str, list[float]]


def scripts() -> dict[str, Path]:
    """Return the benchmarks by name; what begins with an underscore is shared by them."""
    return {path.stem: path for path in sorted(FOLDER.glob("[!_]*.py"))}


def first_line(path: Path) -> str:
    """Return the first line of a benchmark's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def run(name: str, arguments: list[str], root: Path = ROOT) -> dict[str, Any]:
    """Run a benchmark of a checkout, show its output as it comes, and return what to keep."""
    own = root / "benchmarks" / f"{name}.py"
    command = [sys.executable, str(own if own.exists() else scripts()[name]), *arguments]
    paths = os.pathsep.join(filter(None, (str(root / "src"), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}
    lines = []
    with subprocess.Popen(
        command, cwd=root, env=environment, text=True, stdout=subprocess.PIPE
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return {
        "benchmark": name,
        "arguments": arguments,
        "commit": commit_of(root),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "exit_code": process.returncode,
        "versions": versions(),
        "output": lines,
    }


def commit_of(root: Path) -> str:
    """Return the commit of a checkout, marked where files were changed since."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=root,
        text=True,
        capture_output=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"


def versions() -> dict[str, Any]:
    """Return the versions and the machine, as a bug report has them."""
    import labelance

    return labelance.show_versions(as_dict=True)


def rows_of(lines: list[str]) -> list[Row]:
    """Read the figures of every line of output, beside the words that name them."""
    found = []
    for line in lines:
        numbers = [float(text.replace(",", "")) for text in NUMBER.findall(line)]
        if numbers:
            found.append((" ".join(NUMBER.sub("", line).split()), numbers))
    return found


def median_rows(outputs: list[list[str]]) -> list[Row]:
    """Return the rows of several outputs of one benchmark, with the median of each figure."""
    first, *others = map(rows_of, outputs)
    by_row = [[numbers] for _, numbers in first]
    for rows in others:
        for found, (words, _), (same, numbers) in zip(by_row, first, rows):
            if words == same and len(numbers) == len(found[0]):
                found.append(numbers)
    return [(words, [*map(median, zip(*found))]) for (words, _), found in zip(first, by_row)]


def comparison(before: list[Row], after: list[Row]) -> Iterator[str]:
    """Yield every line that both outputs have, with each pair of figures and its ratio."""
    earlier: dict[str, list[list[float]]] = {}
    for words, numbers in before:
        earlier.setdefault(words, []).append(numbers)
    for words, numbers in after:
        old = earlier[words].pop(0) if earlier.get(words) else None
        if old is None or len(old) != len(numbers):
            yield f"{words}: only in one of the two"
            continue
        yield f"{words}: " + ", ".join(map(_pair, old, numbers))


def _pair(old: float, new: float) -> str:
    ratio = f" ({new / old:.2f})" if old else ""
    return f"{old:g} -> {new:g}{ratio}"


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Yield a folder with another commit of this repository, gone afterwards."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "--quiet", str(folder), commit],
            cwd=ROOT,
            check=True,
        )
        try:
            if (folder / "CMakeLists.txt").exists():
                build = [sys.executable, str(ROOT / "tools" / "build.py"), "--root", str(folder)]
                subprocess.run(build, check=True)
            yield folder
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(folder)], cwd=ROOT, check=True
            )


def keep(result: dict[str, Any], out: Path | None) -> Path:
    """Write a result to a temporary name and rename it, so that no half of it is ever read."""
    stamp = result["when"].replace(":", "").replace("+0000", "")
    path = out or FOLDER / "results" / f"{result['benchmark']}-{stamp}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".tmp")
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.replace(path)
    return path


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the benchmarks, a line each")
    one = commands.add_parser("run", help="run one and keep its output")
    one.add_argument("--out", type=Path, help="the JSON file to keep it in")
    two = commands.add_parser("compare", help="the figures of two kept runs, side by side")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    other = commands.add_parser("against", help="another commit and this one, taking turns")
    other.add_argument("commit")
    other.add_argument("--rounds", type=int, default=1, help="how often they take turns")
    for sub in (one, other):
        sub.add_argument("name", choices=list(scripts()))
        sub.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.command == "list":
        for name, path in scripts().items():
            print(f"{name:<12} {first_line(path)}")
        return 0
    if options.command == "compare":
        before, after = (json.loads(p.read_text()) for p in (options.before, options.after))
        print(f"{before['benchmark']}: {before['commit']} -> {after['commit']}")
        print(*comparison(rows_of(before["output"]), rows_of(after["output"])), sep="\n")
        return 0
    if options.command == "run":
        result = run(options.name, options.arguments)
        print(f"kept in {keep(result, options.out)}", file=sys.stderr)
        return int(result["exit_code"])
    with checkout(options.commit) as folder:
        rounds = [
            [run(options.name, options.arguments, tree) for tree in (folder, ROOT)]
            for _ in range(options.rounds + 1)
        ]
    before, after = ([result["output"] for result in side] for side in zip(*rounds[1:]))
    print("\n" + " -> ".join(result["commit"] for result in rounds[0]))
    print(*comparison(median_rows(before), median_rows(after)), sep="\n")
    return max(int(result["exit_code"]) for pair in rounds for result in pair)


if __name__ == "__main__":
    raise SystemExit(main())
