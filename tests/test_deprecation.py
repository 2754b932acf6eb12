"""What is deprecated warns, works, and goes when its time has come."""

import ast
import inspect
import pickle
from pathlib import Path
from typing import NamedTuple

import pytest
from sklearn.base import BaseEstimator, clone

import labelance
from labelance._utils._deprecation import deprecated, removal_version, renamed_parameter
from labelance._utils._parameters import ListsParameters

SOURCES = Path(labelance.__file__).parent


@deprecated(since="0.2", instead="Use New")
class Old(ListsParameters, BaseEstimator):
    def __init__(self, *, n_neighbors=5, k="deprecated"):
        self.n_neighbors = n_neighbors
        self.k = k

    def fit(self):
        found = renamed_parameter("k", self.k, "n_neighbors", self.n_neighbors, since="0.3")
        self.n_neighbors_ = found
        return self


@deprecated(since="1.9", instead="Use sum")
def total(values, *, start=0):
    """Add."""
    return sum(values, start)


def test_a_function_warns_and_works():
    with pytest.warns(
        FutureWarning, match=r"total is deprecated\. .*1\.9.*in 1\.11\. Use sum\.$"
    ) as caught:
        assert total([1, 2], start=3) == 6
    assert caught[0].filename == __file__
    assert total.__doc__ == "Add."
    assert list(inspect.signature(total).parameters) == ["values", "start"]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_class_stays_an_estimator():
    old = Old(n_neighbors=2)
    assert clone(old).get_params() == {"n_neighbors": 2, "k": "deprecated"}
    assert pickle.loads(pickle.dumps(old)).fit().n_neighbors_ == 2
    with pytest.raises(TypeError, match="no parameter 'n_neighbor'"):
        Old(n_neighbor=2)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_classes_without_a_constructor_of_their_own_work():
    @deprecated(since="0.2", instead="Use New")
    class Pair(NamedTuple):
        a: int
        b: int = 2

    @deprecated(since="0.2", instead="Use New")
    class Plain(BaseEstimator):
        pass

    assert Pair(1) == (1, 2)
    assert list(inspect.signature(Pair).parameters) == ["a", "b"]
    assert isinstance(clone(Plain()), Plain)


def test_a_class_warns_and_an_old_parameter_too():
    with pytest.warns(FutureWarning, match=r"Old is deprecated\. .*0\.4\. Use New") as caught:
        old = clone(Old(k=7))
    assert {one.filename for one in caught} == {__file__}
    with pytest.warns(FutureWarning, match=r"^k= .*in 0\.5\. Use n_neighbors=\.") as caught:
        assert old.fit().n_neighbors_ == 7
    assert caught[0].filename == __file__


def deprecations(text):
    """Yield since when, for every call of the helpers."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
            "deprecated",
            "renamed_parameter",
        }:
            yield from (ast.literal_eval(one.value) for one in node.keywords if one.arg == "since")


def is_due(since, version):
    """Say whether a version may no longer have what is deprecated since another."""
    parts = [
        tuple(int(part) for part in one.split(".")[:2])
        for one in (removal_version(since, version), version)
    ]
    return parts[0] <= parts[1]


def test_deprecations_are_found_and_end():
    text = '@deprecated(since="0.2", instead="Use b")\ndef a(): pass\n'
    assert list(deprecations(text)) == ["0.2"]
    due = {"0.2.0": False, "0.3.5": False, "0.4.0rc1": True, "1.0.0": False, "1.1.0": True}
    assert {version: is_due("0.2", version) for version in due} == due


def test_nothing_stays_beyond_its_time():
    due = [
        f"{path.relative_to(SOURCES)}: deprecated since {since}"
        for path in SOURCES.rglob("*.py")
        if path.name != "_deprecation.py"
        for since in deprecations(path.read_text(encoding="utf-8"))
        if is_due(since, labelance.__version__)
    ]
    assert not due
