"""Read a data frame from R's file format: numbers, strings, lists, attributes.

Read by hand, since the package rdata keeps every zero: for a frame of 2,000 rows and 10,000
columns it takes 546 MB and 1.1 s, this module 60 MB and 0.7 s.
Numbers are kept as their nonzero entries, column by column as they come from the stream, so
that a frame of 6,000 rows and 47,000 columns, 2 GB of mostly zeros, needs little memory.
The format is that of ``save()`` (XDR, versions 2 and 3), see "R Internals", section 1.8.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from labelance.datasets.formats._labels import Table, find_columns
from labelance.datasets.formats._text_file import (
    BUDGET_PER_BYTE,
    BYTES_PER_NAME,
    DEFAULT_BUDGET,
    TextFile,
    find_codec,
    unpack,
)
from labelance.exceptions import DataFileError, arg

# Codes of the format that have no value of their own: NULL and the standard environments.
_EMPTY = frozenset({0, 241, 242, 253, 254})
_SYMBOL, _PAIRS, _CHARS, _LOGICAL, _INTEGER = 1, 2, 9, 10, 13
_REAL, _STRINGS, _LIST, _COMPACT, _REFERENCE = 14, 16, 19, 238, 255
_NO_INTEGER = -(1 << 31)  # what R stores for a missing one
_HAS_ATTRIBUTES, _HAS_TAG, _LATIN1 = 1 << 9, 1 << 10, 1 << 14


class SparseVector(NamedTuple):
    """A vector of numbers, by its nonzero entries."""

    length: int
    places: NDArray[np.intp]
    values: NDArray[Any]

    def dense(self) -> NDArray[np.float64]:
        """Return all numbers."""
        numbers = np.zeros(self.length)
        numbers[self.places] = self.values
        return numbers


@dataclass(frozen=True)
class RObject:
    """A vector or list of R, with its attributes."""

    value: Any
    attributes: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """Return the element of a list that has this name."""
        return self.value[self.attributes["names"].value.index(name)]


def read_rda(content: bytes, name: str) -> dict[str, RObject]:
    """Read the objects that a file holds, by their names."""
    codec, packed = find_codec(content[:16]), io.BytesIO(content)
    budget = max(DEFAULT_BUDGET, BUDGET_PER_BYTE * len(content))
    try:
        with unpack(codec, packed) if codec else packed as stream:
            return dict(_Reader(stream, budget).objects())
    except Exception as error:
        # Damaged bytes can fail anywhere: in the archive, in an item, in what it refers to.
        problem = f"{name} is not a readable file of R objects (.rda)"
        cure = "Download it again"
        raise DataFileError(problem, str(error) or "It ends too early", cure) from error


class _Reader:
    """Reader of one item after the other; it keeps symbols, since later items refer to them."""

    def __init__(self, stream: BinaryIO, max_size: int) -> None:
        self._stream, self._left = stream, max_size
        self._symbols: list[str] = []

    def objects(self) -> list[tuple[str, RObject]]:
        magic = self._stream.read(7)
        if magic not in (b"RDX2\nX\n", b"RDX3\nX\n"):
            raise ValueError(f"It begins with {magic!r}")
        self._take("3i")  # the versions of the format and of R
        if magic[3:4] == b"3":
            self._bytes(self._integer())  # the writer's encoding
        pairs: list[tuple[str, RObject]] = self._item()
        return pairs

    def _take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(">" + layout, self._stream.read(struct.calcsize(">" + layout)))

    def _bytes(self, length: int) -> bytes:
        """Read exactly ``length`` bytes."""
        if length < 0:
            raise ValueError("It holds an item of negative size")
        content = self._stream.read(length)
        if len(content) < length:
            raise EOFError
        return content

    def _keep(self, size: int) -> None:
        """Count what stays in memory."""
        self._left -= size
        if self._left < 0:
            raise ValueError("Its content takes more memory than a dataset of its size")

    def _integer(self) -> int:
        return int(self._take("i")[0])

    def _item(self) -> Any:
        self._keep(BYTES_PER_NAME)
        (flags,) = self._take("I")
        code = flags & 0xFF
        if code in _EMPTY:
            return None
        if code == _SYMBOL:
            self._symbols.append(self._item())
            return self._symbols[-1]
        if code == _REFERENCE:
            return self._symbols[(flags >> 8 or self._integer()) - 1]
        if code == _PAIRS:
            return self._pairs(flags)
        if code == _CHARS:
            return self._chars(flags)
        if code == _COMPACT:
            return self._compact()
        value = self._vector(code)
        attributes = dict(self._item()) if flags & _HAS_ATTRIBUTES else {}
        return RObject(value, attributes)

    def _pairs(self, flags: int) -> list[tuple[str, Any]]:
        """Read a linked list: each link may have attributes and a tag, and has a value."""
        pairs = []
        while flags & 0xFF == _PAIRS:
            if flags & _HAS_ATTRIBUTES:
                self._item()
            tag = self._item() if flags & _HAS_TAG else ""
            pairs.append((tag, self._item()))
            (flags,) = self._take("I")
        return pairs

    def _compact(self) -> RObject:
        """Read a vector that R stores as a rule: a sequence, or a wrapper around another one."""
        kind = self._item()[0][1]
        state, attributes = self._item(), dict(self._item() or ())
        if kind.startswith("compact_"):
            length, first, step = state.value.dense()
            self._keep(16 * int(length))
            numbers = first + step * np.arange(int(length))
            return RObject(_nonzero(numbers), attributes)
        if kind.startswith("wrap_"):
            return RObject(state.value[0].value, state.value[0].attributes | attributes)
        raise ValueError(f"It holds a {kind}, which data frames do not have")

    def _chars(self, flags: int) -> str | None:
        length = self._integer()
        if length < 0:
            return None
        self._keep(length)
        return self._bytes(length).decode("latin-1" if flags & _LATIN1 else "utf-8")

    def _vector(self, code: int) -> Any:
        if code not in (_LOGICAL, _INTEGER, _REAL, _STRINGS, _LIST):
            raise ValueError(f"It holds an item of kind {code}, which data frames do not have")
        length = self._integer()
        if code in (_STRINGS, _LIST):
            return [self._item() for _ in range(length)]
        kind = np.dtype(">f8" if code == _REAL else ">i4")
        if length * kind.itemsize > self._left:
            raise ValueError("A column takes more memory than a dataset of its size")
        values = np.frombuffer(self._bytes(length * kind.itemsize), dtype=kind)
        self._keep(int(np.count_nonzero(values)) * (8 + kind.itemsize))
        return _nonzero(values.astype(kind.newbyteorder("=")))


def _nonzero(values: NDArray[Any]) -> SparseVector:
    places = np.flatnonzero(values)
    return SparseVector(len(values), places, values[places])


# Columns that the package mldr adds to the data for its own use.
NOT_DATA = frozenset({".labelcount", ".SCUMBLE"})


def is_label(dataset: RObject) -> NDArray[np.bool_]:
    """Say of every column of an mldr object whether it is a label."""
    flags = np.zeros(len(dataset["dataset"].value), dtype=np.bool_)
    flags[dataset["labels"]["index"].value.dense().astype(np.intp) - 1] = True
    return flags


def read_mldr(file: TextFile, *, ignore: Sequence[str] = ()) -> Table:
    """Read the one mldr object of a file of R objects (.rda) into a table."""
    objects = read_rda(file.read_bytes(), str(file.path))
    try:
        (dataset,) = objects.values()
        frame, labels = dataset["dataset"], is_label(dataset)
        names: list[str] = frame.attributes["names"].value
        columns = [_read_column(column) for column in frame.value]
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        found = f"It holds {', '.join(objects) or 'nothing'}"
        cure = "Make one in R with mldr_from_dataframe(frame, labelIndices), and save() it alone"
        raise file.error("A file of R objects must hold one mldr object", found, cure) from problem
    dropped = {*find_columns(file, names, ignore, arg("ignore", ...))}
    kept = [j for j, name in enumerate(names) if name not in NOT_DATA and j not in dropped]
    cells: Any = combine_columns([columns[j][0] for j in kept])
    features = [columns[j] for j in kept if not labels[j]]
    # A CSR entry takes 12 bytes, a dense cell 8.
    stored = sum(12 * len(numbers.places) - 8 * numbers.length for numbers, _ in features)
    sparse = stored < 0 and all(values is None for _, values in features)
    return Table(
        file=file,
        names=tuple(names[j] for j in kept),
        categories=tuple(columns[j][1] for j in kept),
        cells=cells if sparse else cells.toarray(),
        name=next(iter(objects)),
        labels=tuple(np.flatnonzero(labels[kept]).tolist()),
    )


def _read_column(column: RObject) -> tuple[SparseVector, tuple[str, ...] | None]:
    """Return the numbers of a column, or the codes and values of a factor or of texts."""
    if isinstance(column.value, list):
        values = tuple(sorted({text for text in column.value if text is not None}))
        codes = {None: np.nan} | {text: float(code) for code, text in enumerate(values)}
        return _nonzero(np.array([codes[text] for text in column.value], dtype=float)), values
    numbers = column.value.dense()
    numbers[numbers == _NO_INTEGER] = np.nan
    if "levels" in column.attributes:
        return _nonzero(numbers - 1), tuple(column.attributes["levels"].value)
    return _nonzero(numbers), None


def combine_columns(columns: Sequence[SparseVector]) -> csr_array:
    """Return a matrix of these columns."""
    ends = np.cumsum([0, *(len(column.places) for column in columns)])
    values = np.concatenate([column.values.astype(float) for column in columns])
    places = np.concatenate([column.places for column in columns])
    shape = (columns[0].length, len(columns))
    return csc_array((values, places, ends), shape=shape).tocsr()
