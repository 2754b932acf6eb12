"""Text files: lines block by block, compressed or not, within a budget of memory; cells as text.

A parser that works on blocks of bytes needs no more memory than a block and what it builds. A
file of some kilobytes can stand for gigabytes, by compression or by what it declares, so every
reader adds up what its result will take and asks before it takes it.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from labelance._arrays._containers import to_dense
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._compression import Unreadable, find_codec, unpack
from labelance.exceptions import DataFileError, InputError, arg

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
    """Return how many bytes the data of a file may take."""
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
        raise InputError(
            f"{arg(name)} must be a number of bytes, or an amount such as '4GB' or '512MiB'",
            f"Got {arg(name, amount)}",
            f"Try {arg(name, '4GB')}",
        )
    power = _UNITS.index(match[2].lower()) + 1 if match[2] else 0
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def format_amount(amount: int) -> str:
    """Write a number of bytes for people: ``4.1 GB``."""
    power = min((len(str(amount)) - 1) // 3, len(_UNITS))
    return f"{amount / 1000**power:.3g} {_UNITS[power - 1].upper() if power else ''}B"


def json_memory(text: bytes) -> int:
    """Bound what the values of a JSON text take: each follows a comma or opens something."""
    return len(text) + BYTES_PER_NAME * sum(map(text.count, (b",", b"[", b"{")))


READ_SIZE = 1 << 18
BLOCK_SIZE = 1 << 22
# A long line is in memory as read, as a block, in the parts of it that are looked at, as text.
LINE_COPIES = 4
# Positions in a block are 32-bit numbers.
MAX_BLOCK = 2**31 - 2


@dataclass(frozen=True)
class TextFile:
    """A text file, plain or compressed: where it is, its encoding, the memory it may take."""

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
            raise self.error(
                None,
                "A data file must be a regular file, since it is read twice",
                "This is a pipe or a device",
                "Write its content to a file first",
            )

    def error(self, line: int | None, problem: str, found: str, cure: str) -> DataFileError:
        """Make the error that names this file and the line."""
        where = f"{self.path}" if line is None else f"{self.path}, line {line}"
        return DataFileError(f"{where}: {problem}", found, cure)

    def require(self, needed: int, *, what: str = "the data", line: int | None = None) -> None:
        """Raise if more bytes than allowed are needed; ask before they are taken."""
        if needed > self.max_size:
            raise self.error(
                line, *self.too_large(f"{what.capitalize()} would take {format_amount(needed)}")
            )

    def too_large(self, found: str) -> tuple[str, str, str]:
        """Say what is wrong with a file that takes more memory than allowed."""
        return (
            f"The content of the file exceeds {arg('max_size', format_amount(self.max_size))}",
            found,
            f"If you trust the file, raise it, for example to {arg('max_size', '4GB')}",
        )

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes, unzipped and otherwise as they are."""
        chunks = self._chunks()
        while chunk := self._next(chunks, None):
            yield chunk

    def lines(self, *, quote: bytes | None = None) -> Iterator[tuple[int, bytes]]:
        r"""Yield blocks of whole lines with the number of their first line.

        Lines end with ``\n`` whatever the file uses. With ``quote``, a line break inside quotes
        does not end a line.
        """
        number, pending, inside = 1, [b""], False
        chunks = self._newlines()
        while chunk := self._next(chunks, number):
            cut = _last_line_end(chunk, quote, inside)
            if cut:
                block = b"".join([*pending, chunk[:cut]])
                pending, inside = [], False
                yield number, self._checked(number, block)
                number += block.count(b"\n")
            pending.append(chunk[cut:])
            needed = LINE_COPIES * sum(map(len, pending))
            if needed > self.max_size:
                what = "a line" if quote is None else "a line, or a cell whose quote is not closed,"
                self.require(needed, what=what, line=number)
            inside ^= quote is not None and chunk.count(quote, cut) % 2 == 1
        if any(pending):
            rest = b"".join([*pending, b"\n"])
            pending.clear()
            yield number, self._checked(number, rest)

    def _next(self, chunks: Iterator[bytes], number: int | None) -> bytes:
        """Return the next chunk, nothing at the end; a broken file breaks in line ``number``."""
        try:
            return next(chunks, b"")
        except Unreadable as problem:
            raise self.error(number, *problem.parts) from problem

    def _chunks(self) -> Iterator[bytes]:
        """Yield the bytes, unzipped, in chunks of at most ``BLOCK_SIZE``."""
        with self._open() as stream:
            head = stream.read(READ_SIZE)
            codec = find_codec(head)
            if codec is not None:
                chunks = unpack(codec, stream, head, read_size=READ_SIZE, block_size=BLOCK_SIZE)
                # A small file is read faster than a thread is started.
                yield from self._limited(chunks if len(head) < READ_SIZE else _read_ahead(chunks))
            else:
                yield from _read(stream, head)

    def _limited(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield unzipped chunks; endless zeros would take no memory, but all the time there is."""
        total = 0
        for chunk in chunks:
            total += len(chunk)
            if total > self.max_size:
                raise Unreadable(*self.too_large("It is larger when unzipped"))
            yield chunk

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as problem:
            raise self.error(
                None, "The file cannot be opened", str(problem.strerror), "Check the path"
            ) from problem

    def _newlines(self) -> Iterator[bytes]:
        r"""Yield the bytes with every kind of line end made ``\n``, and no byte order mark."""
        held, first = b"", True
        for chunk in self._chunks():
            chunk = held + chunk
            if first:
                chunk, first = chunk.removeprefix(codecs.BOM_UTF8), False
            # A carriage return at the end may be the first half of a line end.
            held = b"\r" if chunk.endswith(b"\r") else b""
            chunk = chunk[: len(chunk) - len(held)]
            if b"\r" in chunk:
                chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if chunk:
                yield chunk
        if held:
            yield b"\n"

    def _checked(self, number: int, block: bytes) -> bytes:
        """Return the block if it is text in the encoding of the file."""
        if len(block) > MAX_BLOCK:
            raise self.error(
                number,
                f"A line can have at most {MAX_BLOCK} bytes",
                "This one has more",
                "Check that this is a data file",
            )
        if b"\0" in block:
            line = number + block.count(b"\n", 0, block.index(b"\0"))
            raise self.error(
                line,
                "A data file must be text",
                "It has a zero byte, like a binary file or UTF-16",
                "Check the path, or save it as UTF-8 text",
            )
        if block.isascii():
            return block
        try:
            block.decode(self.encoding)
        except UnicodeDecodeError as problem:
            raise self.error(
                number + block.count(b"\n", 0, problem.start),
                f"The file is not text in {self.encoding}",
                f"Found the byte 0x{block[problem.start]:02x}",
                f"Pass the encoding of the file, such as {arg('encoding', 'latin-1')}",
            ) from problem
        return block


def _extends_ascii(encoding: str) -> bool:
    """Return whether the bytes of ASCII mean themselves, which all parsers build on."""
    ascii_bytes = bytes(range(32, 127)) + b"\\x41+AGE-\n.xn--bcher-kva.a"
    try:
        return ascii_bytes.decode(encoding) == ascii_bytes.decode("ascii")
    except (LookupError, UnicodeError, ValueError):
        return False


def _read(stream: BinaryIO, head: bytes) -> Iterator[bytes]:
    while head:
        yield head
        head = stream.read(BLOCK_SIZE)


def _read_ahead(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Unzip the next chunk in another thread while the last one is parsed; both leave the GIL."""
    with ThreadPoolExecutor(1) as worker:
        following = worker.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = worker.submit(next, chunks, None)
            yield chunk


def _last_line_end(text: bytes, quote: bytes | None, inside: bool) -> int:
    """Return the position after the last line end outside quotes, 0 if there is none.

    ``inside`` says whether the text begins inside quotes.
    """
    cut = text.rfind(b"\n") + 1
    if quote is None:
        return cut
    inside ^= text.count(quote, 0, cut) % 2 == 1
    while cut and inside:
        # No line ends after the quote that opened; look before it.
        before = text.rfind(b"\n", 0, max(text.rfind(quote, 0, cut), 0)) + 1
        inside ^= text.count(quote, before, cut) % 2 == 1
        cut = before
    return cut


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
