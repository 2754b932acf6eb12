"""The seam: the only code that knows numpy arrays from sparse matrices from data frames.

Algorithms see a *table*: clean values, column names, and a way to build the same kind of
container again. Everything else is a verb (:func:`take_rows`, :func:`mix_rows`).
"""

from labelance._arrays._mix import mix_rows
from labelance._arrays._open import Table, open_table
from labelance._arrays._rows import squeeze_runs, stack_rows, take_rows
from labelance._arrays._structure import check_compressed, check_structure

__all__ = [
    "Table",
    "check_compressed",
    "check_structure",
    "mix_rows",
    "open_table",
    "squeeze_runs",
    "stack_rows",
    "take_rows",
]
