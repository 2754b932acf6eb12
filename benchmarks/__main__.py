"""Run benchmarks, keep what they printed as JSON, and compare two runs or two commits.

    python -m benchmarks list
    python -m benchmarks run mlsol --only yeast
    python -m benchmarks compare before.json after.json
    python -m benchmarks against HEAD~5 mlsol --only yeast

What stands behind the name goes to the benchmark itself. Results are kept in benchmarks/results
(not committed), or in the file that --out names.
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
    command = [sys.executable, f"benchmarks/{name}.py", *arguments]
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


def comparison(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield every line that both outputs have, with each pair of figures and its ratio."""
    earlier: dict[str, list[list[float]]] = {}
    for words, numbers in rows_of(before):
        earlier.setdefault(words, []).append(numbers)
    for words, numbers in rows_of(after):
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
    other = commands.add_parser("against", help="another commit and this one, one after the other")
    other.add_argument("commit")
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
        print(*comparison(before["output"], after["output"]), sep="\n")
        return 0
    if options.command == "run":
        result = run(options.name, options.arguments)
        print(f"kept in {keep(result, options.out)}", file=sys.stderr)
        return int(result["exit_code"])
    with checkout(options.commit) as folder:
        # The first run of each compiles; the second of each counts.
        trees = {"before": folder, "after": ROOT}
        for _ in range(2):
            results = {
                side: run(options.name, options.arguments, tree) for side, tree in trees.items()
            }
    print(f"\n{results['before']['commit']} -> {results['after']['commit']}")
    print(*comparison(results["before"]["output"], results["after"]["output"]), sep="\n")
    return max(int(result["exit_code"]) for result in results.values())


if __name__ == "__main__":
    raise SystemExit(main())
