"""Which code may be built for a plan that came with results, and not from its user."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from imblearn.base import SamplerMixin
from sklearn.base import ClassifierMixin

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
