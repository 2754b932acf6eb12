"""A sampler or learner as it is written in a plan: a class and its parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._trust import may_build, may_import

# Where a bare name such as "MLSOL" is looked for.
_ROOMS = ("labelance.sampling", "labelance.learners", "labelance.ensemble")


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
            getattr(room, name) for room in map(import_module, _ROOMS) if name in room.__all__
        )
    except (ImportError, AttributeError, StopIteration, TypeError, ValueError) as error:
        raise StudyError(
            f"{path!r} names a class",
            str(error) or f"none of {', '.join(_ROOMS)} has it",
            "Give an import path that Python finds, such as my_package.MySampler; the command line "
            "also looks at Python files of the folder it is run in",
        ) from error


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
