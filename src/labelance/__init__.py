"""Imbalanced multi-label learning: the missing half of imbalanced-learn.

This page is the table of contents. A package is imported when its name is first used, so that
``import labelance`` itself is quick and touches no library of numbers.

Examples
--------
>>> import labelance
>>> "MLSOL" in dir(labelance)
True
"""

from importlib import import_module

__version__ = "0.1.0"

# The stub is the only list: each line that counts is "from PACKAGE import NAME as NAME". Not by
# ``lazy_loader.attach_stub``, whose ``ast`` takes twenty times as long as all that is here.
_STUB = __loader__.get_data(f"{__path__[0]}/__init__.pyi").decode()
_HOMES = {
    line.split()[3]: line.split()[1] for line in _STUB.splitlines() if line.startswith("from")
}
_PACKAGES = [name for name, home in _HOMES.items() if home == "labelance"]

__all__ = ["__version__", *_HOMES]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'labelance' has no attribute {name!r}")
    if name in _PACKAGES:
        return import_module(f"labelance.{name}")
    # Kept in the module, so that the second look-up is an ordinary one.
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__():
    return sorted(__all__)
