"""Whole lines of a file, block by block: gunzip, count bytes and lines, refuse what is not text.

A parser that works on blocks of bytes needs no more memory than a block and what it builds.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from labelance.datasets.formats._memory import LEAST, show_amount
from labelance.exceptions import DataFileError, InputError

GZIP_MAGIC = b"\x1f\x8b"
READ_SIZE = 1 << 18
BLOCK_SIZE = 1 << 22
# Positions in a block are 32-bit numbers.
MAX_BLOCK = 2**31 - 2


class _Unreadable(DataFileError):
    """The bytes cannot be had; whoever counts lines adds the file and the line."""


@dataclass(frozen=True)
class TextFile:
    """A text file, plain or gzipped: where it is, its encoding, the memory it may take."""

    path: Path
    encoding: str = "utf-8"
    max_memory: int = LEAST

    def __post_init__(self) -> None:
        if not _extends_ascii(self.encoding):
            raise InputError(
                "encoding is an encoding of text that Python knows and that extends ASCII",
                f"encoding={self.encoding!r}",
                "Give one such as 'utf-8', 'latin-1' or 'cp1252'",
            )

    def error(self, line: int | None, asked: str, came: str, fix: str) -> DataFileError:
        """Make the error that names this file and the line."""
        where = f"{self.path}" if line is None else f"{self.path}, line {line}"
        return DataFileError(f"{where}: {asked}", came, fix)

    def require(self, needed: int, *, what: str = "the data", line: int | None = None) -> None:
        """Raise if more bytes than allowed are needed; ask before they are taken."""
        if needed > self.max_memory:
            raise self.error(line, *self.too_large(f"{what} would take {show_amount(needed)}"))

    def too_large(self, came: str) -> tuple[str, str, str]:
        """Say what is wrong with a file that takes more memory than allowed."""
        return (
            f"What is in the file takes at most max_memory={show_amount(self.max_memory)}",
            came,
            "If you trust the file, give more, such as max_memory='4GB' "
            "(for commands: --max-memory 4GB)",
        )

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes, unzipped and otherwise as they are."""
        pieces = self._pieces()
        while piece := self._next(pieces, None):
            yield piece

    def lines(self, *, quote: bytes | None = None) -> Iterator[tuple[int, bytes]]:
        r"""Yield blocks of whole lines with the number of their first line.

        Lines end with ``\n`` whatever the file uses. With ``quote``, a line break inside quotes
        does not end a line.
        """
        number, pending, inside = 1, [b""], False
        pieces = self._newlines()
        while piece := self._next(pieces, number):
            cut = _last_line_end(piece, quote, inside)
            if cut:
                block = b"".join([*pending, piece[:cut]])
                yield number, self._checked(number, block)
                number += block.count(b"\n")
                pending, inside = [], False
            pending.append(piece[cut:])
            self.require(sum(map(len, pending)), what="a line", line=number)
            inside ^= quote is not None and piece.count(quote, cut) % 2 == 1
        rest = b"".join(pending)
        if rest:
            yield number, self._checked(number, rest + b"\n")

    def _next(self, pieces: Iterator[bytes], number: int | None) -> bytes:
        """Give the next piece, nothing at the end; a broken file breaks in line ``number``."""
        try:
            return next(pieces, b"")
        except _Unreadable as problem:
            raise self.error(number, problem.asked, problem.came, problem.fix) from problem

    def _pieces(self, *, size: int = BLOCK_SIZE) -> Iterator[bytes]:
        """Yield the bytes, unzipped, in pieces of at most ``size``."""
        with self._open() as stream:
            head = stream.read(READ_SIZE)
            if head.startswith(GZIP_MAGIC):
                pieces = _gunzip(stream, head, size)
                # A small file is read sooner than a thread is started.
                yield from self._limited(pieces if len(head) < READ_SIZE else _ahead(pieces))
            else:
                yield from _read(stream, head, size)

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield unzipped pieces; endless zeros would take no memory, but all the time there is."""
        total = 0
        for piece in pieces:
            total += len(piece)
            if total > self.max_memory:
                raise _Unreadable(*self.too_large("it is larger when unzipped"))
            yield piece

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as problem:
            raise self.error(
                None, "The file is opened", str(problem.strerror), "Check the path"
            ) from problem

    def _newlines(self) -> Iterator[bytes]:
        r"""Yield the bytes with every kind of line end made ``\n``, and no byte order mark."""
        held, first = b"", True
        for piece in self._pieces():
            piece = held + piece
            if first:
                piece, first = piece.removeprefix(codecs.BOM_UTF8), False
            # A carriage return at the end may be the first half of a line end.
            held = b"\r" if piece.endswith(b"\r") else b""
            piece = piece[: len(piece) - len(held)]
            if b"\r" in piece:
                piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if piece:
                yield piece
        if held:
            yield b"\n"

    def _checked(self, number: int, block: bytes) -> bytes:
        """Return the block if it is text in the encoding of the file."""
        if len(block) > MAX_BLOCK:
            raise self.error(
                number,
                f"A line has at most {MAX_BLOCK} bytes",
                "this one has more",
                "Check that this is a file of data",
            )
        if b"\0" in block:
            line = number + block.count(b"\n", 0, block.index(b"\0"))
            raise self.error(
                line,
                "A data file is text",
                "there is a zero byte, as in a binary file or in UTF-16",
                "Give the right file, or save it as UTF-8 text",
            )
        if block.isascii():
            return block
        try:
            block.decode(self.encoding)
        except UnicodeDecodeError as problem:
            raise self.error(
                number + block.count(b"\n", 0, problem.start),
                f"The file is text in {self.encoding}",
                f"there is the byte 0x{block[problem.start]:02x}, which is not",
                "Give the encoding it was written in, such as encoding='latin-1'",
            ) from problem
        return block


def _extends_ascii(encoding: str) -> bool:
    """Tell whether the bytes of ASCII mean themselves, which all parsers build on."""
    ascii_bytes = bytes(range(32, 127)) + b"\\x41+AGE-\n.xn--bcher-kva.a"
    try:
        return ascii_bytes.decode(encoding) == ascii_bytes.decode("ascii")
    except (LookupError, UnicodeError, ValueError):
        return False


def _read(stream: BinaryIO, head: bytes, size: int) -> Iterator[bytes]:
    while head:
        yield head
        head = stream.read(size)


def _ahead(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unzip the next piece in another thread while the last one is parsed; both leave the GIL."""
    with ThreadPoolExecutor(1) as worker:
        following = worker.submit(next, pieces, None)
        while (piece := following.result()) is not None:
            following = worker.submit(next, pieces, None)
            yield piece


def _gunzip(stream: BinaryIO, head: bytes, size: int) -> Iterator[bytes]:
    """Unzip one or several gzip members, never more than ``size`` bytes at a time."""
    compressed, member = head, zlib.decompressobj(wbits=31)
    while compressed or (compressed := stream.read(READ_SIZE)):
        try:
            piece = member.decompress(compressed, size)
        except zlib.error as problem:
            raise _broken_gzip("its bytes are damaged") from problem
        if piece:
            yield piece
        compressed = member.unconsumed_tail
        if member.eof:
            # Zeros may pad the end; anything else begins another member.
            compressed = member.unused_data.lstrip(b"\0") or stream.read(READ_SIZE).lstrip(b"\0")
            if not compressed:
                return
            member = zlib.decompressobj(wbits=31)
    raise _broken_gzip("it ends in the middle")


def _broken_gzip(came: str) -> _Unreadable:
    return _Unreadable("The file is a whole gzip file", came, "Download or copy it again")


def _last_line_end(text: bytes, quote: bytes | None, inside: bool) -> int:
    """Position after the last line end outside quotes, 0 if there is none.

    ``inside`` tells whether the text begins inside quotes.
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
