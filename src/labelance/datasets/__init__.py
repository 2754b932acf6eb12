"""Multi-label data in and out: file formats, a catalogue of public datasets, generators.

A name is imported when it is first used: listing the catalogue does not wait for the readers.
"""

from labelance._utils._lazy import attach

__getattr__, __dir__, _homes = attach(__name__)
__all__ = list(_homes)
