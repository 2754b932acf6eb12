"""Imbalanced multi-label learning: the missing half of imbalanced-learn.

This page is the table of contents. A package is imported when its name is first used, so that
``import labelance`` itself is quick and touches no library of numbers.

Examples
--------
>>> import labelance
>>> "MLSOL" in dir(labelance)
True
"""

from labelance._utils._lazy import attach

__version__ = "0.1.0.dev0"

__getattr__, __dir__, _homes = attach(__name__)
_PACKAGES = [name for name, home in _homes.items() if home == __name__]

__all__ = ["__version__", *_homes]
