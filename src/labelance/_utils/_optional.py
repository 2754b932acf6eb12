"""Optional packages, imported where they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from labelance.exceptions import MissingDependencyError


def optional_import(name: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module, or say which extra of this distribution brings it.

    Parameters
    ----------
    name : str
        The module to import.
    extra : str
        The extra of this distribution that installs it.
    purpose : str
        What needs it, as the beginning of a sentence ("Drawing a profile").

    Examples
    --------
    >>> from labelance._utils import optional_import
    >>> optional_import("json", extra="cli", purpose="Reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs the package {name.partition('.')[0]}",
            "it is not installed",
            f"Install it with: pip install 'labelance[{extra}]'",
        ) from error
