"""Compressed files: gzip, bzip2, xz and Zstandard, unpacked block by block and written.

What a file is packed with follows from its first bytes when it is read, and by its name when it is
written. Python's own modules unpack all but Zstandard, for which pyarrow does.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from labelance._utils._messages import optional_import
from labelance.exceptions import DataFileError

# An unpacker may take this much memory for what it has seen: xz of the highest level takes half.
_WINDOW = 1 << 27


class Unreadable(DataFileError):
    """The bytes cannot be read; the caller that counts lines adds file and line."""


class _Unpacker(Protocol):
    """A decompressor of the standard library."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """zlib's decompressor, which hands back what it did not take, as one that keeps it."""

    def __init__(self) -> None:
        self.member = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self.member.eof

    @property
    def needs_input(self) -> bool:
        return not self.member.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self.member.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self.member.decompress(self.member.unconsumed_tail + data, max_length)


def _make_unpacker(name: str) -> _Unpacker:
    if name == "gzip":
        return _Gunzip()
    if name == "bzip2":
        return bz2.BZ2Decompressor()
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_WINDOW)


class _Codec(NamedTuple):
    """How a kind of compressed file is called, begins and ends its name."""

    name: str
    magics: tuple[bytes, ...]
    suffix: str


# The first letters of bzip2 may be those of a text; a level, and a block or the end, follow them.
_BZIP2 = tuple(
    b"BZh%d" % level + block for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")
)
_CODECS = (
    _Codec("gzip", (b"\x1f\x8b",), ".gz"),
    _Codec("bzip2", _BZIP2, ".bz2"),
    _Codec("xz", (b"\xfd7zXZ\x00",), ".xz"),
    _Codec("Zstandard", (b"\x28\xb5\x2f\xfd",), ".zst"),
)
_SUFFIXES = {codec.suffix: codec.name for codec in _CODECS}


def is_compressed(path: Path) -> bool:
    """Return whether the name of a file ends like that of a compressed one."""
    return path.suffix.lower() in _SUFFIXES


def strip_suffix(path: Path) -> Path:
    """Return the name that a file has when it is unpacked."""
    return path.with_suffix("") if is_compressed(path) else path


def find_codec(head: bytes) -> str | None:
    """Return what a file that begins with these bytes is compressed with, if it is."""
    return next((codec.name for codec in _CODECS if head.startswith(codec.magics)), None)


def unpack(
    name: str, stream: BinaryIO, head: bytes, *, read_size: int, block_size: int
) -> Iterator[bytes]:
    """Yield what a compressed file holds, never more than ``block_size`` bytes at a time.

    Parameters
    ----------
    name : str
        What it is compressed with.
    stream : file
        The file, after its first bytes.
    head : bytes
        Those.
    read_size, block_size : int
        How much is read and yielded at a time.
    """
    if name == "Zstandard":
        yield from _unpack_zstandard(stream, block_size)
        return
    member, packed = _make_unpacker(name), head
    while True:
        try:
            chunk = member.decompress(packed, block_size)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as problem:
            raise _broken(name, f"Its bytes are damaged ({problem})") from problem
        if chunk:
            yield chunk
        if member.eof:
            # Zeros may pad the end; anything else begins another member.
            packed = member.unused_data.lstrip(b"\0") or stream.read(read_size).lstrip(b"\0")
            if not packed:
                return
            member = _make_unpacker(name)
            continue
        packed = stream.read(read_size) if member.needs_input else b""
        if member.needs_input and not packed:
            raise _broken(name, "It ends in the middle")


def _unpack_zstandard(stream: BinaryIO, block_size: int) -> Iterator[bytes]:
    pyarrow = _import_pyarrow("Reading")
    stream.seek(0)
    try:
        with pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, "r"), "zstd") as unpacked:
            while chunk := unpacked.read(block_size):
                yield chunk
    except OSError as problem:
        raise _broken("Zstandard", f"It is damaged or ends in the middle ({problem})") from problem


def compress(path: Path, out: BinaryIO) -> AbstractContextManager[Any]:
    """Return the file to write to, so that ``out`` gets it compressed as the name of ``path`` says.

    Neither name nor time goes in, so that the same data gives the same bytes.
    """
    name = _SUFFIXES[path.suffix.lower()]
    if name == "gzip":
        return gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6)
    if name == "bzip2":
        return bz2.BZ2File(out, "wb")
    if name == "xz":
        return lzma.LZMAFile(out, "wb")
    pyarrow = _import_pyarrow("Writing")
    return pyarrow.CompressedOutputStream(pyarrow.PythonFile(out, "w"), "zstd")


def _import_pyarrow(verb: str) -> Any:
    return optional_import("pyarrow", extra="data", purpose=f"{verb} Zstandard (.zst) files")


def _broken(name: str, found: str) -> Unreadable:
    return Unreadable(f"This is not a complete {name} file", found, "Download or copy it again")
