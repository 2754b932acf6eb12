"""Which modules import which: import-linter keeps the layers, these laws the rest."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import labelance
from design_numbers import unlisted_names

ROOT = Path(labelance.__file__).parent

# Packages whose modules still import each other in a circle. Only ever take lines away.
CIRCLES: set[str] = set()


def module_name(path: Path) -> str:
    parts = ("labelance", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> set[str]:
    """Every module of ours that a file imports when it runs, also inside functions."""
    found, waiting = set(), [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES.keys()
            found |= inner or {node.module}
        waiting.extend(ast.iter_child_nodes(node))
    return {name for name in found if name.startswith("labelance")}


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def imports() -> dict[str, set[str]]:
    """Return what every module imports: all files are read, once and not while tests are found."""
    return {name: imported_modules(path) for name, path in MODULES.items()}


def top(module: str) -> str:
    """The package of a module: the second part of its name."""
    return module.split(".")[1] if "." in module else ""


def test_packages_show_public_names_only():
    """Inside the library a name is imported from the module that it lives in."""
    shown = {
        name: unlisted_names(ast.parse(path.read_text(encoding="utf-8")))
        for name, path in MODULES.items()
        if path.name == "__init__.py"
    }
    assert not any(shown.values()), {name: names for name, names in shown.items() if names}


def find_circle(package: str) -> list[str]:
    """Modules of a package that import each other in a circle, or nothing."""
    graph = defaultdict(set)
    for module, names in imports().items():
        if top(module) == package and MODULES[module].name != "__init__.py":
            graph[module] = {name for name in names if top(name) == package and name != module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.slow
def test_no_import_circle_inside_a_package():
    circles = {package: find_circle(package) for package in {top(module) for module in MODULES}}
    circles = {package: circle for package, circle in circles.items() if circle}
    new, gone = circles.keys() - CIRCLES, CIRCLES - circles.keys()
    assert not new, f"break these circles: {[circles[package] for package in new]}"
    assert not gone, f"no longer needed, take them out of CIRCLES: {gone}"
