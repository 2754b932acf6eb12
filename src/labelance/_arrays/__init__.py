"""The only code that knows arrays, sparse matrices, data frames, tensors and Dask apart.

Algorithms see a *container*: clean values, column names, and a way to build the same kind
again. Everything else is a verb (:func:`take_rows`, :func:`interpolate_rows`).
"""

from labelance._arrays._containers import (
    HOST_DEVICES,
    SparseRows,
    column_counts,
    device_of,
    has_categories,
    is_free_text,
    is_tensor,
    keep_device,
    on_device,
    sparse_rows,
    squeeze_runs,
)
from labelance._arrays._dask import (
    DaskRows,
    compute,
    count_rows_and_columns,
    cut_rows,
    even_edges,
    is_blocks,
    is_dask,
    map_blocks,
    peek_columns,
    persist,
    refuse_delayed,
    share,
)
from labelance._arrays._gather import gather_rows
from labelance._arrays._interpolate import (
    count_numbers,
    interpolate_pairs,
    interpolate_rows,
    skip_numbers,
)
from labelance._arrays._labels import ABSENT, PRESENT, LabelSets, find_label_sets, open_labels
from labelance._arrays._open import (
    Container,
    RowsContainer,
    columns_where,
    open_container,
    open_rows,
    stack_rows,
    take_columns,
    take_rows,
)
from labelance._arrays._sparse import check_compressed, check_structure, narrow_indices
from labelance._arrays._torch import (
    column_sums,
    has_triton,
    places_in,
    to_device,
    to_host,
)

__all__ = [
    "ABSENT",
    "HOST_DEVICES",
    "PRESENT",
    "Container",
    "DaskRows",
    "LabelSets",
    "RowsContainer",
    "SparseRows",
    "check_compressed",
    "check_structure",
    "column_counts",
    "column_sums",
    "columns_where",
    "compute",
    "count_numbers",
    "count_rows_and_columns",
    "cut_rows",
    "device_of",
    "even_edges",
    "find_label_sets",
    "gather_rows",
    "has_categories",
    "is_free_text",
    "has_triton",
    "interpolate_pairs",
    "interpolate_rows",
    "is_blocks",
    "is_dask",
    "is_tensor",
    "keep_device",
    "map_blocks",
    "narrow_indices",
    "on_device",
    "open_container",
    "open_labels",
    "open_rows",
    "peek_columns",
    "persist",
    "places_in",
    "refuse_delayed",
    "share",
    "skip_numbers",
    "sparse_rows",
    "squeeze_runs",
    "stack_rows",
    "take_columns",
    "take_rows",
    "to_device",
    "to_host",
]
