"""The only code that knows numpy arrays from sparse matrices from data frames.

Algorithms see a *container*: clean values, column names, and a way to build the same kind
again. Everything else is a verb (:func:`take_rows`, :func:`interpolate_rows`).
"""

from labelance._arrays._frame import has_categories
from labelance._arrays._interpolate import interpolate_rows
from labelance._arrays._open import Container, open_container, stack_rows, take_rows
from labelance._arrays._sparse import (
    SparseRows,
    check_compressed,
    check_structure,
    narrow_indices,
    sparse_rows,
    squeeze_runs,
)

__all__ = [
    "Container",
    "SparseRows",
    "check_compressed",
    "check_structure",
    "has_categories",
    "interpolate_rows",
    "narrow_indices",
    "open_container",
    "sparse_rows",
    "squeeze_runs",
    "stack_rows",
    "take_rows",
]
