"""Print the numbers that say how heavy the code is, next to the limits that CI holds.

    python tools/design_numbers.py                 # print the table; exit code 1 above a limit
    python tools/design_numbers.py --root FOLDER   # another checkout, without its limits
    python tools/design_numbers.py --update        # lower the limits to today's numbers

Limits are in ``design_limits.json`` and may only fall. Code lines are lines that hold a token
other than a comment or a docstring, those of kernels and stubs among them. What a call enters and
validates is counted by running it (``benchmarks/call_depth.py`` lists the files). Another checkout
is built before: ``tools/build.py --root FOLDER``.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMITS = HERE / "design_limits.json"
CONTAINER_QUESTIONS = {
    "issparse", "is_tensor", "on_device", "device_of", "is_dask", "is_blocks",
    "is_sparse", "has_sparse_rows", "kind_of", "place_of",
}  # fmt: skip
_BLANK = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that hold code."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *Functions)) and ast.get_docstring(node):
            found.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


def kernel_lines(text: str) -> int:
    """Count the lines of a file in Cython that hold code."""
    text = re.sub(r'^ *""".*?"""$', "", text, flags=re.M | re.S)
    return sum(not line.lstrip().startswith("#") for line in text.splitlines() if line.strip())


def is_private(node: ast.ImportFrom) -> bool:
    """Say whether an import takes a private name of another project."""
    module = node.module or ""
    if node.level or module.split(".")[0] in ("labelance", "__future__"):
        return False
    return "._" in module or any(alias.name.startswith("_") for alias in node.names)


def static_numbers(package: Path) -> dict[str, int]:
    """Return what the sources say."""
    numbers: Counter[str] = Counter()
    question_files, private_files = set(), set()
    lengths = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        numbers["files"] += 1
        numbers["code lines"] += len(lines)
        inside_arrays = "_arrays" in path.parts
        for node in ast.walk(tree):
            if isinstance(node, Functions):
                lengths.append(len(lines.intersection(range(node.lineno, node.end_lineno + 1))))
                numbers["refuse_* functions"] += node.name.lstrip("_").startswith("refuse_")
            elif isinstance(node, ast.Call) and not inside_arrays:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in CONTAINER_QUESTIONS:
                    numbers["container questions outside _arrays"] += 1
                    question_files.add(path)
            elif isinstance(node, ast.ImportFrom) and is_private(node):
                numbers["private imports"] += 1
                private_files.add(path)
        if not inside_arrays:
            numbers['sys.modules["torch"] outside _arrays'] += text.count('sys.modules["torch"]')
        if path.name == "__init__.py":
            numbers["names outside __all__"] += len(unlisted_names(tree))
    for path in package.rglob("*.pyi"):
        text = path.read_text(encoding="utf-8")
        numbers["code lines"] += len(code_lines(text, ast.parse(text)))
    for path in (path for kind in ("pyx", "pxd", "pxi") for path in package.rglob(f"*.{kind}")):
        numbers["code lines"] += kernel_lines(path.read_text(encoding="utf-8"))
    numbers["files with container questions"] = len(question_files)
    numbers["files with private imports"] = len(private_files)
    numbers["longest function"] = max(lengths)
    numbers["functions above 60 code lines"] = sum(length > 60 for length in lengths)
    numbers["import cycles"] = len(import_cycles(package))
    return dict(numbers)


def unlisted_names(tree: ast.Module) -> set[str]:
    """Return the names that an ``__init__`` imports and does not list in ``__all__``."""
    listed, found = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(getattr(target, "id", "") == "__all__" for target in targets):
                listed |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labelance"):
            found |= {alias.asname or alias.name for alias in node.names}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found - listed - used


def import_cycles(package: Path) -> list[list[str]]:
    """Return groups of modules that import each other, lazily and for types included."""
    modules = {}
    for path in package.rglob("*.py"):
        parts = ("labelance", *path.relative_to(package).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: set(imported(path, modules)) - {name} for name, path in modules.items()}
    # An __init__ that gathers its package is no cycle with the modules in it.
    graph = {
        name: {other for other in names if modules[other].name != "__init__.py"}
        for name, names in graph.items()
    }
    return [group for group in strong_components(graph) if len(group) > 1]


def imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a file names in an import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name for name in inner if name in modules]
            yield from found or ([node.module] if node.module in modules else [])


def strong_components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in graph[name]:
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            place = stack.index(name)
            found.append(stack[place:])
            del stack[place:]

    for name in graph:
        if name not in order:
            visit(name)
    return found


PROGRAM = """
import json, sys, warnings
from collections import Counter
from pathlib import Path
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
from benchmarks.call_depth import count_calls, make_calls
import labelance
from labelance.datasets import make_multilabel_imbalanced
from labelance.ensemble import EMLS, MLSOLBagging
from labelance.learners import BinaryRelevance
from labelance.sampling import MLSOL

root = Path(labelance.__file__).parent
numbers = {}
for name, call in make_calls().items():
    if "study" not in name:
        numbers["files entered: " + name] = len(count_calls(call, root))
X, y = make_multilabel_imbalanced(60, 4, 3, random_state=0)
for name, model in [
    ("EMLS(n_estimators=5)", EMLS(BinaryRelevance(), MLSOL(), n_estimators=5, random_state=0)),
    ("MLSOLBagging()", MLSOLBagging(BinaryRelevance(), random_state=0)),
]:
    seen = Counter()
    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name in ("validate_features", "validate_labels"):
            seen[frame.f_code.co_name] += 1
    sys.setprofile(note)
    model.fit(X, y)
    sys.setprofile(None)
    for which in ("validate_features", "validate_labels"):
        numbers[f"{which} in {name}.fit"] = seen[which]
print(json.dumps(numbers))
"""


def called_numbers(root: Path) -> dict[str, int]:
    """Return what calls enter and validate, counted in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(root)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=HERE.parent, help="another checkout")
    parser.add_argument("--update", action="store_true", help="lower the limits to these numbers")
    options = parser.parse_args()
    root = options.root.resolve()
    numbers = static_numbers(root / "src" / "labelance") | called_numbers(root)
    known = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    limits: defaultdict[str, float] = defaultdict(lambda: float("inf"), known)
    above = 0
    for name, value in numbers.items():
        over = value > limits[name] and root == HERE.parent
        above += over
        limit = f"{known[name]:>8}" if name in known else " " * 8
        print(f"{name:<62} {value:>8} {limit}{'  above its limit' if over else ''}")
    if options.update:
        lower = {name: min(value, limits[name]) for name, value in numbers.items()}
        LIMITS.write_text(json.dumps(lower, indent=1) + "\n")
    return 1 if above and not options.update else 0


if __name__ == "__main__":
    raise SystemExit(main())
