"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # typing takes longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Callable


def attach(
    package: str,
) -> tuple[Callable[[str], object], Callable[[], list[str]], dict[str, str]]:
    """Return ``__getattr__``, ``__dir__`` and the names of a package with their homes.

    Each line of ``__init__.pyi`` that counts is "from MODULE import NAME as NAME". Not by
    ``lazy_loader.attach_stub``, whose ``ast`` takes twenty times as long as all that is here.
    """
    module = sys.modules[package]
    stub = module.__loader__.get_data(f"{module.__path__[0]}/__init__.pyi").decode()  # type: ignore[union-attr]
    lines = [line.split() for line in stub.splitlines() if line.startswith("from")]
    homes = {line[3]: line[1] for line in lines}

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        # Kept in the module, so that the second look-up is an ordinary one.
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    return find, lambda: sorted(module.__all__), homes
