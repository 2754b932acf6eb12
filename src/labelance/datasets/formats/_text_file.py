"""Text files: what they hold, compressed or not, within a limit of size; cells of text by pandas.

What a file is packed with follows from its first bytes when it is read, and by its name when it is
written. Python's own modules unpack all but Zstandard, for which pyarrow does.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from labelance._arrays._containers import to_dense
from labelance._utils._messages import optional_import
from labelance.datasets._dataset import MultiLabelDataset
from labelance.exceptions import DataFileError, InputError, arg

_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
# The first letters of bzip2 may be those of a text; a level, and a block or the end, follow them.
_MAGICS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "Zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
}


def is_compressed(path: Path) -> bool:
    """Return whether the name of a file ends like that of a compressed one."""
    return path.suffix.lower() in _SUFFIXES


def strip_suffix(path: Path) -> Path:
    """Return the name that a file has when it is unpacked."""
    return path.with_suffix("") if is_compressed(path) else path


def find_codec(head: bytes) -> str | None:
    """Return what a file that begins with these bytes is compressed with, if it is."""
    return next((name for name, magic in _MAGICS.items() if magic.match(head)), None)


def unpack(name: str, stream: BinaryIO) -> Any:
    """Return a file to read what an open one holds."""
    if name == "Zstandard":
        pyarrow = _import_pyarrow("Reading")
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, "r"), "zstd")
    openers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    return openers[name](stream)


def compress(path: Path, out: BinaryIO) -> Any:
    """Return the file to write to, so that ``out`` gets it compressed as the name of ``path`` says.

    Neither name nor time goes in, so that the same data gives the same bytes.
    """
    name = _SUFFIXES.get(path.suffix.lower())
    if name == "gzip":
        return gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6)
    if name == "Zstandard":
        pyarrow = _import_pyarrow("Writing")
        return pyarrow.CompressedOutputStream(pyarrow.PythonFile(out, "w"), "zstd")
    return bz2.open(out, "wb") if name == "bzip2" else lzma.open(out, "wb")


def _import_pyarrow(verb: str) -> Any:
    return optional_import("pyarrow", extra="data", purpose=f"{verb} Zstandard (.zst) files")


# By default this much in any case, and this many times the size of the file.
DEFAULT_BUDGET = 1 << 30
BUDGET_PER_BYTE = 100
VARIABLE = "LABELANCE_MAX_SIZE"

# A short Python string and its place in a tuple.
BYTES_PER_NAME = 64
BYTES_PER_NUMBER = 8

_AMOUNT = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:([kmgtp])(i?)b?|b)?\s*", re.A | re.I)
_UNITS = "kmgtp"


def find_budget(path: Path, max_size: int | str | None = None) -> int:
    """Return how large a file may be when it is unpacked, in bytes."""
    if max_size is None:
        max_size = os.environ.get(VARIABLE)
    if max_size is not None:
        return parse_amount(max_size)
    try:
        return max(DEFAULT_BUDGET, BUDGET_PER_BYTE * path.stat().st_size)
    except OSError:
        return DEFAULT_BUDGET  # opening the file raises what is wrong with it


def parse_amount(amount: int | str, name: str = "max_size") -> int:
    """Return a number of bytes, such as 4000000000 for ``"4GB"``; ``name`` is what errors name.

    Examples
    --------
    >>> from labelance.datasets.formats._text_file import parse_amount
    >>> parse_amount("4GB"), parse_amount("1.5 GiB"), parse_amount(1024)
    (4000000000, 1610612736, 1024)
    """
    if not isinstance(amount, str) and not isinstance(amount, bool) and int(amount) > 0:
        return int(amount)
    match = _AMOUNT.fullmatch(str(amount)) if isinstance(amount, str) else None
    if match is None or not float(match[1]):
        problem = f"{arg(name)} must be a number of bytes, or an amount such as '4GB' or '512MiB'"
        raise InputError(problem, f"Got {arg(name, amount)}", f"Try {arg(name, '4GB')}")
    power = _UNITS.index(match[2].lower()) + 1 if match[2] else 0
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def format_amount(amount: int) -> str:
    """Write a number of bytes for people: ``4.1 GB``."""
    power = min((len(str(amount)) - 1) // 3, len(_UNITS))
    return f"{amount / 1000**power:.3g} {_UNITS[power - 1].upper() if power else ''}B"


def json_memory(text: bytes) -> int:
    """Bound what the values of a JSON text take: each follows a comma or opens something."""
    return len(text) + BYTES_PER_NAME * sum(map(text.count, (b",", b"[", b"{")))


READ_SIZE = 1 << 20


@dataclass(frozen=True)
class TextFile:
    """A text file, plain or compressed: where it is, its encoding, how large it may be."""

    path: Path
    encoding: str = "utf-8"
    max_size: int = DEFAULT_BUDGET

    def __post_init__(self) -> None:
        if not _extends_ascii(self.encoding):
            raise InputError(
                f"{arg('encoding')} must be a text encoding that Python knows, and extend ASCII",
                f"Got {arg('encoding', self.encoding)}",
                "Try 'utf-8', 'latin-1' or 'cp1252'",
            )
        if self.path.exists() and not self.path.is_file() and not self.path.is_dir():
            raise self.error("A data file must be a regular file", "This is a pipe or a device")

    def error(
        self, problem: str, found: str, cure: str = "", *, line: int | None = None
    ) -> DataFileError:
        """Make the error that names this file and the line."""
        where = f"{self.path}" if line is None else f"{self.path}, line {line}"
        return DataFileError(f"{where}: {problem}", found, cure)

    def require(self, needed: int, *, what: str = "the data") -> None:
        """Raise if more bytes than allowed are needed; ask before they are taken."""
        if needed > self.max_size:
            raise self._too_large(f"{what.capitalize()} would take {format_amount(needed)}")

    def _too_large(self, found: str) -> DataFileError:
        problem = f"The content of the file exceeds {arg('max_size', format_amount(self.max_size))}"
        cure = f"If you trust the file, raise it, for example to {arg('max_size', '4GB')}"
        return self.error(problem, found, cure)

    def open(self) -> BinaryIO:
        """Open the file as it is, or say why it cannot be opened."""
        try:
            return self.path.open("rb")
        except OSError as problem:
            why = str(problem.strerror)
            raise self.error("The file cannot be opened", why, "Check the path") from problem

    def read_bytes(self) -> bytes:
        """Return what the file holds, unpacked and otherwise as it is."""
        with self.open() as stream:
            name = find_codec(stream.read(16))
            stream.seek(0)
            if name is not None:
                return self._read_packed(name, stream)
            self.require(self.path.stat().st_size)
            return stream.read()

    def _read_packed(self, name: str, stream: BinaryIO) -> bytes:
        content = bytearray()
        try:
            with unpack(name, stream) as unpacked:
                while chunk := unpacked.read1(READ_SIZE):
                    content += chunk
                    # A few kilobytes can stand for gigabytes.
                    if len(content) > self.max_size:
                        raise self._too_large("It is larger when unzipped")
        except (zlib.error, lzma.LZMAError, OSError, EOFError) as problem:
            found = f"It is damaged or ends in the middle ({problem})"
            cure, line = "Download or copy it again", 1 + content.count(b"\n")
            error = self.error(f"This is not a complete {name} file", found, cure, line=line)
            raise error from problem
        return bytes(content)

    def read(self) -> bytes:
        r"""Return the text as UTF-8 in which ``\n`` ends every line, the last one, too."""
        text = self.read_bytes().removeprefix(codecs.BOM_UTF8)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\0" in text:
            problem = "A data file must be text"
            found = "It has a zero byte, like a binary file or UTF-16"
            cure = "Check the path, or save it as UTF-8 text"
            raise self.error(problem, found, cure, line=text.count(b"\n", 0, text.index(b"\0")) + 1)
        if not text.isascii():
            text = self._encode(text)
        return text if text.endswith(b"\n") or not text else text + b"\n"

    def _encode(self, text: bytes) -> bytes:
        """Return text of the encoding of the file in UTF-8."""
        try:
            decoded = text.decode(self.encoding)
        except UnicodeDecodeError as problem:
            found = f"Found the byte 0x{text[problem.start]:02x}"
            cure = f"Pass the encoding of the file, such as {arg('encoding', 'cp1252')}"
            line = text.count(b"\n", 0, problem.start) + 1
            error = self.error(f"The file is not text in {self.encoding}", found, cure, line=line)
            raise error from problem
        return text if codecs.lookup(self.encoding).name == "utf-8" else decoded.encode()


def _extends_ascii(encoding: str) -> bool:
    """Return whether the bytes of ASCII mean themselves, which all parsers build on."""
    ascii_bytes = bytes(range(32, 127)) + b"\\x41+AGE-\n.xn--bcher-kva.a"
    try:
        return ascii_bytes.decode(encoding) == ascii_bytes.decode("ascii")
    except (LookupError, UnicodeError, ValueError):
        return False


# --- cells of text --------------------------------------------------------------------------------


MISSING, BLANKS = "?", " \t"
_DIGITS = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(
    r"[-+]?(?:nan|inf(?:inity)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)", re.I
)


def read_frame(
    text: bytes, separator: str, width: int, *, dtype: Any = None, **options: Any
) -> Any:
    """Return rows of cells as a frame; raise ValueError for a row of more cells than ``width``.

    A row of fewer cells is filled with empty ones.
    """
    import pandas as pd

    typed = dtype is not None and (not isinstance(dtype, dict) or len(dtype) == width)
    # pandas takes the first row for the right one, however long it is.
    first = separator.join([MISSING] * width)
    version = tuple(map(int, pd.__version__.split(".")[:2]))
    if version < (3, 1):  # later it is the default, and warned of
        options["float_precision"] = "round_trip"
    frame = pd.read_csv(
        io.BytesIO(b"".join([first.encode(), b"\n", text])),
        sep=separator,
        header=None,
        names=range(width),
        index_col=False,
        dtype=dtype,
        keep_default_na=False,
        skipinitialspace=True,
        # In parts where all types are known; else a column is of one type as a whole.
        **{"na_values": [MISSING], "low_memory": typed, **options},
    )
    return frame.iloc[1:]


def is_number(text: str) -> bool:
    """Return whether a text is a number; `float` takes digits of other scripts and underscores."""
    return _NUMBER.fullmatch(text) is not None


def parse_number(text: str) -> float:
    """Return the number that a text is; raise ValueError if it is none."""
    if not is_number(text):
        raise ValueError
    return float(text)


def are_integers(values: Iterable[str]) -> bool:
    """Return whether these values are integers as Python writes them, so that numbers tell them."""
    return all(len(value) < 16 and _DIGITS.fullmatch(value) for value in values)


def codes_of_integers(numbers: NDArray[np.float64], values: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the positions of numbers among declared integers; NaN stays.

    Raises ValueError for any other number.
    """
    declared = np.array(values, dtype=np.float64)
    order = np.argsort(declared)
    place = np.searchsorted(declared[order], numbers)
    found = order[np.minimum(place, len(order) - 1)]
    missing = np.isnan(numbers)
    if not ((declared[found] == numbers) | missing).all():
        raise ValueError
    return np.where(missing, np.nan, found)


Words = NDArray[np.object_]

# Rows are written in blocks of about this many cells.
BLOCK_CELLS = 1 << 20


def number_texts(values: NDArray[np.float64], *, missing: str, infinity: str) -> list[str]:
    """Write numbers with as few digits as give the same double back, in one go."""
    if not values.size:
        return []
    text = repr(values.tolist())[1:-1] + ","
    text = text.replace(".0,", ",").replace("nan", missing).replace("inf", infinity)
    return text[:-1].split(", ")


def row_blocks(data: MultiLabelDataset) -> Iterator[slice]:
    """Yield slices of rows that have about BLOCK_CELLS cells, zeros counted."""
    size = max(BLOCK_CELLS // max(data.n_features + data.n_labels, 1), 1)
    for start in range(0, data.n_samples, size):
        yield slice(start, start + size)


class CellWriter:
    """The cells of a dataset, features then labels, as text."""

    def __init__(
        self, data: MultiLabelDataset, quote: Callable[[str], str], *, missing: str, infinity: str
    ) -> None:
        self.data, self.missing, self.infinity = data, missing, infinity
        lists = [values or () for values in data.categories] + [()] * data.n_labels
        self.nominal = np.concatenate([data.categorical_features, np.zeros(data.n_labels, bool)])
        self.first = np.cumsum([0, *map(len, lists)])
        self.words: Words = np.array([quote(v) for values in lists for v in values] + [""], object)

    def dense_rows(self) -> Iterator[list[list[str]]]:
        """Yield blocks of rows, each row the texts of all its cells."""
        width = self.data.n_features + self.data.n_labels
        for rows in row_blocks(self.data):
            X: Any = self.data.values[rows]
            X = to_dense(X)
            table = np.hstack([X, self.data.Y[rows].toarray()])
            columns = np.tile(np.arange(width), len(table))
            yield self._texts(table.reshape(-1), columns).reshape(table.shape).tolist()

    def sparse_rows(self) -> Iterator[tuple[csr_array, Words]]:
        """Yield blocks of rows as a CSR and the texts of what it stores."""
        for rows in row_blocks(self.data):
            block = hstack([self.data.values[rows], self.data.Y[rows]], format="csr")
            yield block, self._texts(block.data, block.indices)

    def _texts(self, values: NDArray[np.float64], columns: NDArray[Any]) -> Words:
        numbers = number_texts(values, missing=self.missing, infinity=self.infinity)
        texts: Words = np.array(numbers, dtype=object)
        named = self.nominal[columns] & ~np.isnan(values)
        texts[named] = self.words[self.first[columns[named]] + values[named].astype(np.intp)]
        return texts
