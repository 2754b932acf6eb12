"""Dask collections: tables whose blocks of rows are computed later, and perhaps elsewhere.

X stays in Dask. Algorithms see :class:`DaskRows`, clean rows in blocks; what they ask of a block is
done wherever Dask works, by its default scheduler or on the cluster of the active ``Client``, and
only small results come to the client. Labels are small: they come to the client as one sparse
matrix, and go back as blocks of a new collection.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import (
    DenseContainer,
    FrameContainer,
    Kind,
    Nominal,
    SparseContainer,
    check_no_delayed,
    find_columns,
    is_blocks,
    is_dask,
)
from labelance.exceptions import ContainerError, InputError

_IN_MEMORY = 1 << 26  # bytes of selected rows that come to the client rather than stay in blocks


@dataclass(frozen=True, eq=False)
class DaskRows:
    """Clean rows in blocks that Dask computes.

    Parameters
    ----------
    blocks : tuple of Delayed
        Blocks of rows, none of them empty: arrays or CSR arrays of one dtype.
    edges : ndarray of int
        Where blocks begin, and the number of rows at the end.
    n_columns : int
        Columns of every block.
    dtype : dtype
        The type of the numbers.
    is_sparse : bool
        Whether blocks are CSR arrays.
    """

    blocks: tuple[Any, ...]
    edges: np.ndarray
    n_columns: int
    dtype: np.dtype
    is_sparse: bool
    kind: ClassVar[Kind] = "blocks"

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.edges[-1]), self.n_columns

    @property
    def largest(self) -> int:
        """How many rows the largest block has."""
        return int(np.diff(self.edges).max(initial=1))

    def compute(self, function: Callable[..., Any], *each: Iterable[Any]) -> list[Any]:
        """Return ``function(block, …)`` of every block, with one of ``each`` for every block."""
        return compute(map_blocks(function, self.blocks, *each))

    def transform(self, function: Callable[..., Any], *each: Iterable[Any]) -> DaskRows:
        """Return the rows that ``function(block, …)`` makes of every block, later."""
        return replace(self, blocks=map_blocks(function, self.blocks, *each))

    def fold(self, function: Callable[..., Any], state: Any) -> Any:
        """Hand ``state = function(block, state)`` on from block to block, in order."""
        for block in self.blocks:
            (state,) = map_blocks(function, [block], [state])
        return compute([state])[0]

    def take(self, rows: np.ndarray, edges: np.ndarray | None = None) -> DaskRows:
        """Return some rows, in order, in blocks of the given edges, or as large as these."""
        edges = even_edges(len(rows), self.largest) if edges is None else edges
        return replace(self, blocks=gather(self.blocks, self.edges, rows, edges), edges=edges)

    def gather(self, rows: np.ndarray) -> Any:
        """Return some rows, in order, in the memory of the client."""
        used, inside, places = _divide_rows(rows, self.edges)
        return _join(compute(map_blocks(_take, [self.blocks[b] for b in used], inside)), places)

    def __getitem__(self, rows: np.ndarray | slice) -> Any:
        """Return some rows: in the memory of the client if they are few, else in blocks."""
        rows = np.arange(self.shape[0])[rows] if isinstance(rows, slice) else np.asarray(rows)
        if self.is_sparse:
            small = len(rows) <= self.largest
        else:
            small = len(rows) * self.n_columns * self.dtype.itemsize <= _IN_MEMORY
        return self.gather(rows) if len(rows) and small else self.take(rows)

    def persist(self) -> DaskRows:
        """Compute the blocks now, and leave them where they are."""
        return replace(self, blocks=persist(self.blocks))

    def columns_where(self, test: str) -> np.ndarray:
        """Return the columns with a cell that ``isnan`` or ``isinf``, as ``test`` says."""
        return self._strange_columns[test]

    @cached_property
    def _strange_columns(self) -> dict[str, np.ndarray]:
        tests = ("isnan", "isinf")
        found = self.compute(partial(find_columns, tests=tests))
        return {test: np.unique(np.concatenate(each)) for test, each in zip(tests, zip(*found))}


def map_blocks(
    function: Callable[..., Any], blocks: Sequence[Any], *each: Iterable[Any]
) -> tuple[Any, ...]:
    """Return a task for every block that calls ``function(block, …)``, with one of ``each``.

    The function of a task is a dependency next to its arguments, for a task of two dependencies is
    never fused. Fused in one part of a result and not in another, a task would be two under one
    name, and a scheduler that has not yet forgotten the one takes it for the other.
    """
    from dask import delayed
    from dask.utils import funcname

    shared, call, name = share(function), delayed(_call, pure=False), funcname(function)
    return tuple(
        call(shared, *arguments, dask_key_name=f"{name}-{uuid4().hex}")
        for arguments in zip(blocks, *each)
    )


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def compute(tasks: Iterable[Any]) -> list[Any]:
    """Run tasks on the active client, or by Dask's default scheduler."""
    import dask

    return list(dask.compute(*tasks))


def persist(tasks: Iterable[Any]) -> tuple[Any, ...]:
    """Run tasks, and leave their results where they are."""
    import dask

    return tuple(dask.persist(*tasks))


def share(value: Any) -> Any:
    """Return a value for many tasks, which is sent to a worker once."""
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def even_edges(n: int, most: int) -> np.ndarray:
    """Return where blocks of at most ``most`` of n rows begin, all about as large.

    Examples
    --------
    >>> from labelance._arrays._dask import even_edges
    >>> even_edges(10, 4)
    array([ 0,  3,  6, 10])
    """
    return np.arange((count := max(1, -(-n // most))) + 1) * n // count


def gather(
    blocks: Sequence[Any], edges: np.ndarray, rows: np.ndarray, new_edges: np.ndarray
) -> tuple[Any, ...]:
    """Return blocks of the given rows, in their order: a shuffle by row number."""
    divided = [_divide_rows(rows[start:stop], edges) for start, stop in pairwise(new_edges)]
    pairs = [pair for used, inside, _ in divided for pair in zip(used, inside)]
    parts = iter(map_blocks(_take, [blocks[b] for b, _ in pairs], [some for _, some in pairs]))
    groups = [list(islice(parts, len(used))) for used, *_ in divided]
    return map_blocks(_join, groups, [places for *_, places in divided])


def _divide_rows(
    rows: np.ndarray, edges: np.ndarray
) -> tuple[list[int], list[np.ndarray], np.ndarray]:
    """Return the blocks that rows are in, their places there, and where they go when joined."""
    if not len(rows):
        return [0], [rows], rows
    block_of = np.searchsorted(edges, rows, side="right") - 1
    order = np.argsort(block_of, kind="stable")
    used, first = np.unique(block_of[order], return_index=True)
    inside = [rows[places] - edges[b] for b, places in zip(used, np.split(order, first[1:]))]
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return used.tolist(), inside, places


def _take(block: Any, rows: np.ndarray) -> Any:
    if hasattr(block, "iloc"):
        return block.iloc[rows]
    return block.tocsr()[rows].asformat(block.format) if sp.issparse(block) else block[rows]


def _join(parts: list[Any], places: np.ndarray) -> Any:
    """Put blocks one below the other, and their rows in another order."""
    if len(parts) == 1:
        return parts[0]  # a stable order of one block is the order that was asked for
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts).iloc[places]
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")[places].asformat(parts[0].format)
    return np.concatenate(parts)[places]


# --- containers -----------------------------------------------------------------------------------


def open_dask(
    data: Any, role: str, nominal: Nominal | None = None, *, only_rows: bool = False
) -> DaskContainer:
    """Wrap an array or data frame of Dask in its container.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame
        A table.
    role : str
        How messages call it.
    nominal : callable, optional
        Returns a mask of columns of the container: those that are nominal.
    only_rows : bool
        Whether rows are only copied, so that their cells are not read.
    """
    check_no_delayed(data, role)
    if hasattr(data, "to_delayed") and hasattr(data, "chunks"):
        return DaskArray(data, role, only_rows=only_rows)
    if hasattr(data, "to_delayed") and getattr(data, "ndim", 0) == 2:
        return DaskFrame(data, role, nominal, only_rows=only_rows)
    raise ContainerError(
        f"{role} must be a Dask array or data frame",
        f"Got a Dask {type(data).__name__}",
        f"Convert it: {role}.to_frame() for a Series, {role}.to_dataframe() for a bag",
    )


def count_rows_and_columns(data: Any) -> tuple[int, ...]:
    """Return the shape of a table; rows that a Dask collection does not know of are counted."""
    return open_dask(data, "X", only_rows=True).shape if is_dask(data) else np.shape(data)


class DaskContainer(ABC):
    """Rows in blocks as given.

    Parameters
    ----------
    native : dask.array.Array or dask.dataframe.DataFrame
        The collection as given.
    blocks : sequence of Delayed
        Its blocks of rows, which may be empty.
    lengths : sequence of int
        How many rows they have; counted where one is NaN.
    prototype : array, sparse matrix or data frame
        A table of the same kind with few rows or none, in memory.
    only_rows : bool
        Whether the cells are not read.
    """

    kind: Kind = "blocks"
    names: tuple[Any, ...] | None = None

    def __init__(
        self,
        native: Any,
        blocks: Sequence[Any],
        lengths: Sequence[float],
        prototype: Any,
        *,
        only_rows: bool,
    ) -> None:
        self.native, self.prototype, self.only_rows = native, prototype, only_rows
        if np.isnan(lengths).any():
            lengths = compute(map_blocks(_count_rows, blocks))
        filled = np.flatnonzero(lengths)
        self.blocks = tuple(blocks[b] for b in filled.tolist())
        self.edges = np.append(0, np.cumsum(np.asarray(lengths)[filled])).astype(np.int64)
        self.nominal = np.zeros(self.shape[1], dtype=bool)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.edges[-1]), self.prototype.shape[1]

    def clean(self) -> Any:
        """Return clean rows in blocks; zeros that take no memory where rows are only copied."""
        if self.only_rows:
            return np.broadcast_to(0.0, self.shape)
        dtype = self._working_dtype()
        blocks = map_blocks(partial(_clean, dtype=dtype), self.blocks)
        return DaskRows(blocks, self.edges, self.shape[1], dtype, sp.issparse(self.prototype))

    def raw(self) -> Any:
        """Return the cells of all blocks as one sparse matrix in the memory of the client."""
        parts = compute(map_blocks(_sparse_cells, self.blocks))
        return sp.csr_array(sp.vstack(parts, format="csr")) if parts else sp.csr_array(self.shape)

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return the declared words of every nominal column, in the order of their codes."""
        return {}

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        if rows is None and new is None:
            return self.native
        added = 0 if new is None else new.shape[0]
        edges = result_edges(self.edges, rows, added)
        blocks = self._kept(rows, edges)
        if new is not None:
            made = cut_rows(new, edges[len(blocks) :] - edges[len(blocks)])
            blocks += map_blocks(partial(_restore, prototype=self.prototype), made)
        return self._collect(blocks, edges, renumber=new is not None or _repeats(rows))

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels in this container's kind; in the graph their blocks are sparse."""
        edges = result_edges(self.edges, rows, added)
        restore = partial(_restore_labels, prototype=self.prototype)
        blocks = map_blocks(restore, cut_rows(Y, edges))
        renumber = bool(added) or _repeats(rows)
        if not renumber:
            blocks = self._named_as(blocks, self._kept(rows, edges))
        return self._collect(blocks, edges, renumber=renumber)

    def take(self, rows: np.ndarray) -> Any:
        """Return some of the rows as given, with their names if they have any."""
        edges = result_edges(self.edges, rows, 0)
        return self._collect(self._kept(rows, edges), edges, renumber=False)

    def _kept(self, rows: np.ndarray | None, edges: np.ndarray) -> tuple[Any, ...]:
        if rows is None:
            return self.blocks
        return gather(self.blocks, self.edges, rows, edges[edges <= len(rows)])

    def _named_as(self, blocks: tuple[Any, ...], kept: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return blocks whose rows have the names of the kept ones; those of arrays have none."""
        return blocks

    @abstractmethod
    def _working_dtype(self) -> np.dtype:
        """Return the dtype that clean rows would have in memory."""

    @abstractmethod
    def _collect(self, blocks: tuple[Any, ...], edges: np.ndarray, *, renumber: bool) -> Any:
        """Return blocks as one collection; ``renumber`` names its rows again, from 0."""


class DaskArray(DaskContainer):
    """An array whose blocks are arrays, or sparse matrices of scipy."""

    def __init__(self, native: Any, role: str, *, only_rows: bool = False) -> None:
        _check_table(native, role)
        n_blocks, d = len(native.chunks[0]), native.shape[1]
        whole = native.rechunk({1: -1})
        blocks = whole.to_delayed(optimize_graph=not _is_persisted(native)).reshape(n_blocks)
        lengths = native.chunks[0]
        if sp.issparse(native._meta):
            prototype = type(native._meta)((0, d), dtype=native.dtype)
        else:
            prototype = np.empty((0, d), dtype=native.dtype)
        super().__init__(native, blocks.tolist(), lengths, prototype, only_rows=only_rows)

    def _working_dtype(self) -> np.dtype:
        return np.dtype(np.float32 if self.native.dtype in (np.float32, np.float16) else np.float64)

    def _collect(self, blocks: tuple[Any, ...], edges: np.ndarray, *, renumber: bool) -> Any:
        import dask.array as da

        blocks = map_blocks(_as_it_is, blocks)  # of no name that an array was made of before
        shapes = [(n, self.shape[1]) for n in np.diff(edges).tolist()]
        parts = [da.from_delayed(*each, meta=self.prototype) for each in zip(blocks, shapes)]
        return da.concatenate(parts)


def _is_persisted(native: Any) -> bool:
    """Tell whether workers keep blocks of an array, or of what it is made of.

    An optimised graph of Dask does not hold them any more, and with the last graph that does
    the workers forget them.
    """
    distributed = sys.modules.get("distributed")
    return distributed is not None and bool(distributed.futures_of(native))


def _check_table(native: Any, role: str) -> None:
    if native.ndim != 2 or np.isnan(native.shape[1]):
        raise InputError(
            f"{role} must be a table with two dimensions, rows and columns",
            f"{role} is a Dask array with shape {native.shape}",
            f"Reshape it, or let Dask count its columns: {role}.compute_chunk_sizes()",
        )
    known = isinstance(native._meta, np.ndarray) or sp.issparse(native._meta)
    if not known or native.dtype.kind not in "biuf":
        raise ContainerError(
            f"The blocks of {role} must be numpy arrays or scipy sparse matrices of real numbers",
            f"The blocks are {type(native._meta).__name__} of {native.dtype}",
            f"Convert them, for example {role}.map_blocks(numpy.asarray, dtype=float)",
        )


class DaskFrame(DaskContainer):
    """A data frame whose partitions are frames of pandas."""

    names: tuple[Any, ...]

    def __init__(
        self, native: Any, role: str, nominal: Nominal | None = None, *, only_rows: bool = False
    ) -> None:
        meta = native._meta
        if not type(meta).__module__.startswith("pandas"):
            raise ContainerError(
                f"{role} must have pandas partitions",
                f"The partitions are {type(meta).__module__} frames",
                f'Convert them: {role}.to_backend("pandas")',
            )
        prototype, opened = meta, None
        if not only_rows:
            opened = FrameContainer(meta, role, nominal)
            _check_known_categories(meta, opened.nominal, role)
            prototype = _frame_of_all_categories(meta, opened.nominal)
        # One column is enough to count rows, and a Parquet file is then not read whole.
        lengths = compute(map_blocks(_count_rows, native[list(meta.columns[:1])].to_delayed()))
        super().__init__(native, native.to_delayed(), lengths, prototype, only_rows=only_rows)
        self.names = tuple(meta.columns)
        if opened is not None:
            self.nominal = opened.nominal

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return the declared words of every nominal column, in the order of their codes."""
        return FrameContainer(self.prototype, "X").categories()

    def _working_dtype(self) -> np.dtype:
        # A missing value may widen a column, so that blocks may differ.
        return np.result_type(*compute(map_blocks(_dtype_of_values, self.blocks)))

    def _named_as(self, blocks: tuple[Any, ...], kept: tuple[Any, ...]) -> tuple[Any, ...]:
        return map_blocks(_take_index, blocks, kept)

    def _collect(self, blocks: tuple[Any, ...], edges: np.ndarray, *, renumber: bool) -> Any:
        import dask.dataframe as dd

        if not renumber:
            return dd.from_delayed(list(blocks), meta=self.native._meta, verify_meta=False)
        meta = self.native._meta.reset_index(drop=True)
        named = map_blocks(_number_rows, blocks, edges[:-1].tolist())
        divisions = (*edges[:-1].tolist(), int(edges[-1]) - 1)
        return dd.from_delayed(list(named), meta=meta, divisions=divisions, verify_meta=False)


def _check_known_categories(meta: Any, nominal: np.ndarray, role: str) -> None:
    """Raise for nominal columns whose categories Dask does not know."""
    unknown = [
        str(name)
        for name, dtype, is_nominal in zip(meta.columns, meta.dtypes, nominal)
        if is_nominal and _unknown_categories(dtype)
    ]
    if unknown:
        raise InputError(
            f"The categories of categorical columns of {role} must be known in advance",
            f"Categories are unknown in {', '.join(unknown[:5])}",
            f"Let Dask find them: {role} = {role}.categorize(columns={unknown[:5]})",
        )


def _unknown_categories(dtype: Any) -> bool:
    from dask.dataframe.utils import UNKNOWN_CATEGORIES

    return not hasattr(dtype, "categories") or UNKNOWN_CATEGORIES in dtype.categories


def _frame_of_all_categories(meta: Any, nominal: np.ndarray) -> Any:
    """Return a frame in which every category of every nominal column occurs, and a missing one."""
    import pandas

    sizes = [len(dtype.categories) for dtype in meta.dtypes[nominal]]
    codes = np.arange(max(sizes, default=0) + 1)
    columns = [
        pandas.Categorical.from_codes(
            np.where(codes < len(dtype.categories), codes, -1), dtype=dtype
        )
        if is_nominal
        else pandas.Series(np.zeros(len(codes), dtype=np.int8)).astype(dtype)
        for dtype, is_nominal in zip(meta.dtypes, nominal)
    ]
    frame = pandas.DataFrame(dict(enumerate(columns)))
    frame.columns = meta.columns
    return frame


def result_edges(edges: np.ndarray, rows: np.ndarray | None, added: int) -> np.ndarray:
    """Return where the blocks of a result begin.

    Rows that are kept in their order stay in the blocks they were in; clones, and then added rows,
    follow in blocks as large as those. So X and y of the same blocks come back in the same blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays._dask import result_edges
    >>> result_edges(np.array([0, 4, 8]), np.array([1, 2, 5, 6, 7]), 0)
    array([0, 2, 5])
    >>> result_edges(np.array([0, 4, 8]), None, 6)
    array([ 0,  4,  8, 11, 14])
    """
    most = int(np.diff(edges).max())
    kept = edges
    if rows is not None:
        falls = np.flatnonzero(np.diff(rows) <= 0)
        rising = int(falls[0]) + 1 if len(falls) else len(rows)
        kept = np.unique(np.searchsorted(rows[:rising], edges))
        kept = _append_edges(kept, len(rows) - rising, most)
    return _append_edges(kept, added, most)


def _append_edges(edges: np.ndarray, n: int, most: int) -> np.ndarray:
    return np.append(edges, edges[-1] + even_edges(n, most)[1:]) if n else edges


def _repeats(rows: np.ndarray | None) -> bool:
    """Tell whether a row comes more than once, so that a frame's index is numbered again."""
    return rows is not None and len(np.unique(rows)) < len(rows)


def cut_rows(table: Any, edges: np.ndarray, rows: np.ndarray | None = None) -> Sequence[Any]:
    """Return blocks of the rows of a clean table (all if None, in order), with the given edges."""
    if not is_blocks(table):
        table = table if rows is None else table[rows]
        return [share(table[start:stop]) for start, stop in pairwise(edges)]
    if rows is None and np.array_equal(table.edges, edges):
        return table.blocks
    return table.take(np.arange(table.shape[0]) if rows is None else rows, edges).blocks


def cut_pairs(
    A: Any, B: Any, rows_a: np.ndarray | None, rows_b: np.ndarray | None
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return blocks of both tables with the same edges."""
    if is_blocks(A) and rows_a is None:
        edges = A.edges
    else:
        n = A.shape[0] if rows_a is None else len(rows_a)
        edges = even_edges(n, (A if is_blocks(A) else B).largest)
    return cut_rows(A, edges, rows_a), cut_rows(B, edges, rows_b)


# --- what is done with a block, wherever it is ----------------------------------------------------


def _as_it_is(block: Any) -> Any:
    return block


def _wrap(block: Any) -> Any:
    """Return the container of a block in memory."""
    if hasattr(block, "iloc"):
        return FrameContainer(block, "a block of rows")
    if sp.issparse(block):
        return SparseContainer(block)
    return DenseContainer(np.asarray(block))


def _count_rows(block: Any) -> int:
    return int(block.shape[0])


def _dtype_of_values(block: Any) -> np.dtype:
    return _wrap(block).clean().dtype


def _clean(block: Any, dtype: np.dtype) -> Any:
    return _wrap(block).clean().astype(dtype, copy=False)


def _sparse_cells(block: Any) -> sp.csr_array:
    return sp.csr_array(_wrap(block).raw())


def _restore(block: Any, prototype: Any) -> Any:
    """Return clean rows in the kind of the prototype."""
    return _wrap(prototype).restore(np.empty(0, dtype=np.int64), block)


def _restore_labels(block: sp.csr_array, prototype: Any) -> Any:
    return _wrap(prototype).restore_labels(block, None, block.shape[0])


def _take_index(block: Any, kept: Any) -> Any:
    return block.set_axis(kept.index, axis=0)


def _number_rows(block: Any, start: int) -> Any:
    import pandas

    return block.set_axis(pandas.RangeIndex(start, start + len(block)), axis=0)
