"""Do the tests notice a wrong program? Small errors are put into a copy of it, one at a time.

A mutant is the package with one expression or statement changed: ``<`` to ``<=``, ``+`` to ``-``,
``and`` to ``or``, a number to the next, a value returned to None, a statement left out. The tests
that run the changed line are run, the fastest first, until one fails: the mutant is killed. One
that survives shows a law that no test states, or a change that makes no difference; mutants.toml
beside this file says of some why they make none.

Kernels run as Python, so that a change needs no compilation. What has been tried is kept, and a
second call goes on where the first ended; another ``--work`` folder begins anew.

    python benchmarks/mutants.py --sample 300 --work /tmp/mutants
    python benchmarks/mutants.py --package sampling --file _mlsol.py --work /tmp/mutants
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ |= {"CI": "true", "MPLBACKEND": "Agg"}
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
sys.dont_write_bytecode = True  # two mutants of one second and size would share their bytecode

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = Path(__file__).with_suffix(".toml")
PACKAGES = {"imbalance": "imbalance", "sampling": "sampling", "statistics": "study/statistics"}
PYTEST = [
    "-q",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "--tb=no",
    "-m",
    "not data",
]
# What importing packages before the tests brings.
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
WARM = ("hypothesis.extra.numpy", "imblearn.base", "pandas", "polars", "pytest")
WARM += ("scipy.stats", "sklearn.ensemble", "sklearn.utils.estimator_checks")
SLOWEST = 5.0  # seconds of a test that is still asked

OTHER_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OTHER_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: which node of a file, in the order of ``ast.walk``, and which change of it."""

    package: str
    file: str
    node: int
    choice: int
    line: int
    code: str
    before: str
    after: str

    @property
    def name(self) -> str:
        change = f"`{self.before}` -> `{self.after}`"
        return f"{self.file}:{self.line} {change} ({self.node}.{self.choice})"

    @property
    def change(self) -> tuple[str, str, str, str]:
        """What stays the same when lines above it come and go."""
        return self.file, self.code, self.before, self.after


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the wrong versions of ``node``."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in OTHER_COMPARISONS[type(node.ops[0])]:
            yield replaced(node, ops=[other()])
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OTHER_ARITHMETIC:
        yield replaced(node, op=OTHER_ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield replaced(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Return) and node.value and not is_none(node.value):
        yield replaced(node, value=ast.Constant(None))
    elif isinstance(node, ast.Raise) or is_call(node):
        yield ast.Pass()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    if isinstance(node, ast.AugAssign):
        yield ast.Pass()


def replaced(node: ast.AST, **fields: object) -> ast.AST:
    twin = copy.copy(node)
    for field, value in fields.items():
        setattr(twin, field, value)
    return twin


def is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def beyond_behaviour(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes of annotations, decorators and imports for type checkers."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef():
                roots += [node.returns, *node.decorator_list]
            case ast.ClassDef():
                roots += node.decorator_list
            case ast.arg():
                roots += [node.annotation]
            case ast.AnnAssign():
                names_a_type = "TypeAlias" in ast.unparse(node.annotation)
                roots += [node if names_a_type else node.annotation]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                roots += [node]
            case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "overload")):
                roots += node.args
    return {inner for root in roots if root is not None for inner in ast.walk(root)}


def mutants_of(package: str, path: Path, source_root: Path) -> Iterator[Mutant]:
    text = path.read_text()
    lines, tree = text.encode().splitlines(keepends=True), ast.parse(text)
    left_out = beyond_behaviour(tree)
    for number, node in enumerate(ast.walk(tree)):
        if node in left_out:
            continue
        for choice, changed in enumerate(changes(node)):
            yield Mutant(
                package=package,
                file=str(path.relative_to(source_root)),
                node=number,
                choice=choice,
                line=node.lineno,
                code=lines[node.lineno - 1].decode().strip(),
                before=brief(source_of(node, lines)),
                after=brief(ast.unparse(ast.fix_missing_locations(changed))),
            )


def source_of(node: ast.AST, lines: list[bytes]) -> str:
    """Return what ``ast.get_source_segment`` does, which splits the whole file for every node."""
    part = lines[node.lineno - 1 : node.end_lineno]
    part[-1] = part[-1][: node.end_col_offset]  # first the end: it may be the same line
    part[0] = part[0][node.col_offset :]
    return b"".join(part).decode()


def brief(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 70 else f"{line[:67]}..."


def mutate(source: str, mutant: Mutant) -> str:
    tree = ast.parse(source)
    node = next(node for i, node in enumerate(ast.walk(tree)) if i == mutant.node)
    changed = list(changes(node))[mutant.choice]

    class Swap(ast.NodeTransformer):
        def visit(self, other: ast.AST) -> ast.AST:
            return changed if other is node else self.generic_visit(other)

    return ast.unparse(ast.fix_missing_locations(Swap().visit(tree)))


class Recorder:
    """Notes the seconds of each test, and tells ``coverage`` which one is running."""

    def __init__(self, coverage: object = None) -> None:
        self.coverage = coverage
        self.seconds: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.started = time.process_time()
        if self.coverage:
            self.coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = time.process_time() - self.started

    def pytest_runtest_logreport(self, report: object) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def in_child(task, cpu_seconds: float) -> object:
    """Run ``task`` in a fork of this process; None if it dies or computes for too long."""
    read, write = os.pipe()
    if not (pid := os.fork()):
        os.setsid()  # so that processes it starts end with it
        os.close(read)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        limit = int(cpu_seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        signal.alarm(20 * limit)  # for one that waits instead of computing
        try:
            answer = json.dumps(task())
        except BaseException as error:
            answer = json.dumps({"broken": repr(error)})
        with os.fdopen(write, "w") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return json.loads(answer) if answer else None


class Workshop:
    """A copy of the program and its tests, in which one file at a time is wrong."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.tree = work / "tree"
        self.package_root = self.tree / "src" / "labelance"
        self.kept = work / "results.json"
        if not self.tree.exists():
            for name in ("src", "tests"):
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / name, self.tree / name, ignore=ignore)
            for name in ("pyproject.toml", "README.md"):
                shutil.copy(ROOT / name, self.tree / name)

    def pytest(self, arguments: list[str], recorder: Recorder) -> int:
        import pytest

        os.chdir(self.tree)
        sys.path.insert(0, str(self.tree / "src"))
        return int(pytest.main([*PYTEST, *arguments], plugins=[recorder]))

    def baseline(self, package: str) -> dict[str, object]:
        """Return seconds of each test of the package, and the tests that run each line."""
        kept = self.work / f"baseline_{package}.json"
        if not kept.exists():
            print(f"{package}: which tests run which lines", flush=True)
            answer = in_child(lambda: self.trace(PACKAGES[package]), cpu_seconds=3600)
            if not answer or "broken" in answer:
                raise SystemExit(f"the tests of {package} did not run: {answer}")
            kept.write_text(json.dumps(answer))
        return json.loads(kept.read_text())

    def trace(self, folder: str) -> dict[str, object]:
        from coverage import Coverage

        source = str(self.package_root / folder)
        coverage = Coverage(data_file=None, include=[f"{source}/*"], config_file=False)
        recorder = Recorder(coverage)
        coverage.start()
        self.pytest([f"tests/{folder}", f"src/labelance/{folder}"], recorder)
        coverage.stop()
        data = coverage.get_data()
        lines = {
            str(Path(file).relative_to(self.package_root)): data.contexts_by_lineno(file)
            for file in data.measured_files()
        }
        return {"seconds": recorder.seconds, "failed": recorder.failed, "lines": lines}

    def judge(self, mutant: Mutant, base: dict, *, thorough: bool) -> dict[str, object]:
        """Put the change in, run the tests that can notice, and take it out again."""
        tests = able_to_notice(mutant, base, thorough=thorough)
        allowed = 20 + 5 * sum(base["seconds"][test] for test in tests)
        path = self.package_root / mutant.file
        right = path.read_text()
        path.write_text(mutate(right, mutant))
        try:
            answer = in_child(lambda: self.ask(tests), allowed)
        finally:
            path.write_text(right)
        if answer is None:
            return {"outcome": "killed", "by": "a crash or an endless computation"}
        if "broken" in answer:
            return {"outcome": "killed", "by": answer["broken"]}
        if answer["status"]:
            return {"outcome": "killed", "by": next(iter(answer["failed"]), "no test could start")}
        return {"outcome": "survived", "asked": len(tests)}

    def ask(self, tests: list[str]) -> dict[str, object]:
        recorder = Recorder()
        return {"status": self.pytest(["-x", *tests], recorder), "failed": recorder.failed}


def able_to_notice(mutant: Mutant, base: dict, *, thorough: bool) -> list[str]:
    """Return the tests that run the changed line, then all others if asked, the fastest first."""
    seconds = base["seconds"]
    running = set(base["lines"].get(mutant.file, {}).get(str(mutant.line), [])) - {""}
    # A line that runs at import, or behind a cache that another test has filled, names too few.
    asked = set(seconds) if thorough or not running else running
    asked = {test for test in asked if seconds[test] <= SLOWEST} - set(base["failed"])
    return sorted(asked, key=lambda test: (test not in running, seconds[test]))


def chosen(options: argparse.Namespace, shop: Workshop) -> list[Mutant]:
    found = [
        mutant
        for mutant in all_mutants(options.package or PACKAGES, shop.package_root)
        if not options.file or Path(mutant.file).name in options.file
    ]
    random.Random(options.seed).shuffle(found)
    print(f"{len(found)} mutants, of which {min(options.sample, len(found))} are tried")
    return found[: options.sample]


def explained() -> set[tuple[str, ...]]:
    """Return the changes of which mutants.toml says why they make no difference."""
    entries = tomllib.loads(EXPLAINED.read_text())["mutant"]
    return {tuple(entry[key] for key in ("file", "code", "before", "after")) for entry in entries}


def all_mutants(packages: Iterable[str], root: Path) -> Iterator[Mutant]:
    """Yield all mutants of some packages, file by file."""
    for package in packages:
        for path in sorted((root / PACKAGES[package]).glob("*.py")):
            yield from mutants_of(package, path, root)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--package", action="append", choices=PACKAGES)
    parser.add_argument("--file", action="append", help="a file's name inside the package")
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, required=True, help="folder for the copy and results")
    parser.add_argument(
        "--thorough", action="store_true", help="show survivors to all tests of their package"
    )
    return parser.parse_args()


def warm_up() -> None:
    """Import what every test needs, once for all children."""
    for name in WARM:
        importlib.import_module(name)


def main() -> None:
    options = arguments()
    shop = Workshop(options.work.resolve())
    results = json.loads(shop.kept.read_text()) if shop.kept.exists() else {}
    warm_up()
    tried = chosen(options, shop)
    for number, mutant in enumerate(tried, start=1):
        known = results.get(mutant.name, {})
        if known and not (options.thorough and known["outcome"] == "survived"):
            continue
        base = shop.baseline(mutant.package)
        result = shop.judge(mutant, base, thorough=options.thorough)
        results[mutant.name] = asdict(mutant) | result
        shop.kept.write_text(json.dumps(results, indent=1))
        print(f"{number:4} {result['outcome']:8} {mutant.name}", flush=True)
    harmless = explained()
    for package in options.package or PACKAGES:
        ours = [mutant for mutant in tried if mutant.package == package]
        alive = [mutant for mutant in ours if results[mutant.name]["outcome"] == "survived"]
        known = sum(mutant.change in harmless for mutant in alive)
        killed = len(ours) - len(alive)
        print(f"{package}: {killed} of {len(ours)} killed, {known} of the others explained")


if __name__ == "__main__":
    main()
