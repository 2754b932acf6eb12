"""Private names of other projects exist, take what we give them, and lie in one file.

When one of these tests fails after an upgrade, mend ``labelance._utils._compat``.
"""

import ast
import inspect
import tomllib
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor

import labelance
from labelance._utils import _compat

SOURCES = Path(labelance.__file__).parent

# How we call them; None for base classes, types and exceptions.
CALLS = {
    "HasMethods": ((["fit", "predict"],), {}),
    "Interval": ((int, 1, None), {"closed": "left"}),
    "RealNotInt": None,
    "StrOptions": (({"a", "b"},), {}),
    "InvalidParameterError": None,
    "validate_params": (({},), {"prefer_skip_nested_validation": True}),
    "fit_context": ((), {"prefer_skip_nested_validation": True}),
    "BaseComposition": None,
    "check_sample_weight": ((None, "X"), {"dtype": float, "ensure_non_negative": True}),
    "num_samples": (("y",), {}),
}


def is_private(module: str, names: list[str]) -> bool:
    """Say whether an import takes a private name of another project."""
    if module.split(".")[0] in ("labelance", "__future__"):
        return False
    return "._" in module or any(name.startswith("_") for name in names)


def private_imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [alias.name for alias in node.names]
            found += [f"{node.module}: {names}"] * is_private(node.module, names)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if is_private(alias.name, [])]
    return found


@pytest.mark.slow
def test_one_file_takes_private_names():
    found = {
        str(path.relative_to(SOURCES)): private_imports(path) for path in SOURCES.rglob("*.py")
    }
    assert {name for name, lines in found.items() if lines} <= {"_utils/_compat.py"}


def test_names_exist_and_take_what_we_pass(case):
    for name in _compat.PRIVATE:
        with case(name):
            found = getattr(_compat, name)
            if CALLS[name] is not None:
                arguments, options = CALLS[name]
                inspect.signature(found).bind(*arguments, **options)


def test_what_estimators_inherit():
    """The check of parameters, and the methods of a composition that are called by their names."""
    assert callable(BaseEstimator._validate_params)
    assert inspect.signature(_compat.BaseComposition._get_params).bind("self", "steps", deep=True)
    assert inspect.signature(_compat.BaseComposition._set_params).bind("self", "steps", name=1)
    assert _compat.parameter_names(labelance.MLSOL) == sorted(labelance.MLSOL().get_params())


@pytest.mark.parametrize("name", _compat.CHECKED)
def test_pyproject_allows_the_versions_that_were_checked_and_no_later_ones(name):
    path = Path(__file__).parents[1] / "pyproject.toml"
    lines = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["dependencies"]
    allowed = next(one for one in map(Requirement, lines) if one.name == name).specifier
    first, last = map(Version, _compat.CHECKED[name])
    bounds = {one.operator: Version(one.version) for one in allowed}
    assert bounds[">="] == first
    assert bounds["<"] == Version(f"{last.major}.{last.minor + 1}")


def test_every_project_with_private_names_is_checked():
    projects = {place.partition(".")[0] for place in _compat.PRIVATE.values()}
    assert projects == {name.replace("scikit-learn", "sklearn") for name in _compat.CHECKED}


def test_unknown_name():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = _compat.no_such_name


def test_a_tree_without_node_values_still_finds_leaves():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)).astype(np.float32), rng.random((50, 4))
    tree = DecisionTreeRegressor(random_state=0).fit(X, Y)
    leaves = tree.apply(X)
    _compat.drop_node_values(tree)
    assert tree.tree_.value.shape == (tree.tree_.node_count, 1, 1)
    np.testing.assert_array_equal(tree.apply(X), leaves)
