"""Samplers and learners of a plan: found by name, built if trusted, prepared for a dataset."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
from imblearn.base import SamplerMixin
from sklearn.base import ClassifierMixin

from labelance._utils import did_you_mean, set_random_states
from labelance.exceptions import StudyError
from labelance.learners import C45Classifier
from labelance.sampling import BaseMultiLabelSampler

_PACKAGES = ("labelance", "sklearn", "imblearn")
# Making one of these only stores its parameters. Pipelines, searches and clusterers are left
# out: some load pickles from a folder that a parameter names.
_KINDS = (ClassifierMixin, SamplerMixin, BaseMultiLabelSampler)
_GENERATORS = ("labelance.datasets.make_", "sklearn.datasets.make_")
_NOT_FOR_USE = ("tests", "conftest", "externals")


def may_import(module: str, trust: Iterable[str]) -> bool:
    """Say whether a module may be imported: a public one of ours, or one that is trusted."""
    if _is_within(module, trust):
        return True
    package, *parts = module.split(".")
    return package in _PACKAGES and not any(
        part.startswith("_") or part in _NOT_FOR_USE for part in parts
    )


def may_build(found: Any, path: str, trust: Iterable[str]) -> bool:
    """Say whether what an import path led to may be called.

    It must be defined where the path begins: a module also has the names that it imported, such
    as ``subprocess`` or ``os``.
    """
    defined = getattr(found, "__module__", None) or ""
    if _is_within(path.rpartition(".")[0], trust):
        return callable(found) and _is_within(defined, trust)
    if not _is_within(defined, [path.partition(".")[0]]):
        return False
    if inspect.isclass(found):
        return issubclass(found, _KINDS)
    return inspect.isfunction(found) and path.startswith(_GENERATORS) and path.count(".") == 2


def _is_within(module: str, packages: Iterable[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in packages)


# Where a bare name such as "MLSOL" is looked for.
_OURS = ("labelance.sampling", "labelance.learners", "labelance.ensemble")


@dataclass(frozen=True)
class Component:
    """A class by its import path, and parameters of plain values.

    Parameters
    ----------
    path : str
        A name of ours such as ``"MLSOL"``, or an import path such as
        ``"my_package.samplers.Mine"``.
    params : mapping, default={}
        Parameters for the class. A value that is itself a mapping with the key ``class`` is
        a component too.
    trust : tuple of str, optional
        Modules whose code may be built besides the estimators of labelance, scikit-learn and
        imbalanced-learn. None, for what a user wrote, allows any; what is read from results
        has an empty tuple.

    Examples
    --------
    >>> from labelance.study import Component
    >>> Component("RHwRSMT", {"resampler": {"class": "MLSMOTE", "k_neighbors": 3}}).build()
    RHwRSMT(resampler=MLSMOTE(k_neighbors=3))
    """

    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    trust: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def build(self) -> Any:
        """Import the class and make one."""
        found = self.find()
        params = {name: self._build_value(value) for name, value in self.params.items()}
        try:
            return found(**params)
        except TypeError as error:
            known = sorted(found._get_param_names()) if hasattr(found, "_get_param_names") else []
            raise StudyError(
                f"{self.path} is made with the parameters of the plan",
                str(error),
                f"It takes {', '.join(known)}" if known else "Mend the plan",
            ) from error

    def find(self) -> Any:
        """Import the class, if it may be built."""
        if self.trust is None:
            return _find(self.path)
        return find_trusted(self.path, self.trust)

    def check(self) -> None:
        """Raise unless its class, and those of its parameters, are there and may be built."""
        self.find()
        for value in self.params.values():
            if isinstance(value, Mapping) and "class" in value:
                Component.of(value, trust=self.trust).check()

    def _build_value(self, value: Any) -> Any:
        if isinstance(value, Mapping) and "class" in value:
            return Component.of(value, trust=self.trust).build()
        return list(value) if isinstance(value, tuple) else value

    def document(self) -> dict[str, Any]:
        """Return it as plain values, equal for equal components."""
        return {"class": self.path, **json.loads(json.dumps(dict(self.params), sort_keys=True))}

    def __hash__(self) -> int:
        return hash(json.dumps(self.document(), sort_keys=True))

    @classmethod
    def of(cls, value: Any, *, trust: tuple[str, ...] | None = None) -> Component:
        """Read a name, a mapping with ``class``, or a component."""
        if isinstance(value, Component):
            return value
        if isinstance(value, str):
            return cls(value, trust=trust)
        if isinstance(value, Mapping) and isinstance(value.get("class"), str):
            return cls(value["class"], {k: v for k, v in value.items() if k != "class"}, trust)
        raise StudyError(
            "A sampler or learner is a name, an import path, or a table with the key class",
            f"{value!r} came",
            'Write for example sampler = "MLSOL" or sampler = {class = "MLSOL", k_neighbors = 7}',
        )


def _find(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        if module:
            return getattr(import_module(module), name)
        return next(
            getattr(package, name)
            for package in map(import_module, _OURS)
            if name in package.__all__
        )
    except (ImportError, AttributeError, StopIteration, TypeError, ValueError) as error:
        raise StudyError(
            f"{path!r} names a class",
            str(error) or f"none of {', '.join(_OURS)} has it",
            f"{_near(path)}Give an import path that Python finds, such as my_package.MySampler; "
            "the command line also looks at Python files of the folder it is run in",
        ) from error


def _near(path: str) -> str:
    """Ask for a class of ours with a name like that of a path; nothing else is imported."""
    names = (name for package in map(import_module, _OURS) for name in package.__all__)
    return "" if "." in path else did_you_mean(path, names)


def find_trusted(path: str, trust: tuple[str, ...]) -> Any:
    """Import what a plan from outside names; nothing is imported unless its module may be."""
    full = path if "." in path else f"labelance.{path}"
    found = _find(path) if may_import(full.rpartition(".")[0], trust) else None
    if found is None or not may_build(found, full, trust):
        raise StudyError(
            "Results are computed again with classifiers, samplers and generators of labelance, "
            "scikit-learn and imbalanced-learn only, unless you trust more",
            f"they name {path!r}",
            "If you know that code, name its module: trust=[...] in Python, --trust MODULE on the "
            "command line",
        )
    return found


_MASK = "categorical_features"


def prepare(estimator: Any, nominal: np.ndarray) -> Any:
    """Tell an estimator, and those inside it, which features are nominal unless it knows."""
    if not nominal.any() or not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params(deep=True)
    unset = [name for name in params if _is(name, _MASK) and params[name] is None]
    return estimator.set_params(**dict.fromkeys(unset, nominal))


def _is(name: str, parameter: str) -> bool:
    """Say whether a name is that of a parameter, of an estimator or of one inside it."""
    return name == parameter or name.endswith(f"__{parameter}")


def search_of(estimator: Any, nominal: np.ndarray) -> tuple[int, dict[str, Any]] | None:
    """Return how many neighbors it looks for and in which space, if it can take them ready.

    One that was told other nominal features than the dataset has lives in another space.
    """
    k = getattr(estimator, "k_neighbors", getattr(estimator, "n_neighbors", None))
    names = ("metric", "scale", "missing")
    if not isinstance(k, Integral) or not all(hasattr(estimator, name) for name in names):
        return None
    mask = getattr(estimator, _MASK, None)
    if mask is not nominal and (mask is not None or nominal.any()):
        return None
    space = {name: getattr(estimator, name) for name in names}
    # A learner may leave missing values to the search; then none may be there.
    if space["missing"] not in ("error", "distance") or not isinstance(space["metric"], str):
        return None
    return int(k), space


def build_learner(
    component: Component, nominal: np.ndarray, *, balanced: bool = False, seed: int = 0
) -> Any:
    """Make a learner for data with these nominal features.

    One whose ``random_state`` the plan leaves open takes the study's seed, so that its figures
    can be computed again.
    """
    built = component.build()
    if balanced:
        _balance(built)
    return prepare(set_random_states(built, seed, only_unset=True), nominal)


def takes_weights(component: Component) -> bool:
    """Say whether the base classifier of a learner can weigh classes."""
    return _balance(component.build())


def _balance(built: Any) -> bool:
    params = built.get_params(deep=True) if hasattr(built, "get_params") else {}
    if "estimator" in params and params["estimator"] is None:
        built.set_params(estimator=C45Classifier(class_weight="balanced"))
        return True
    weighing = [name for name in params if name.endswith("class_weight")]
    built.set_params(**dict.fromkeys(weighing, "balanced"))
    return bool(weighing)
