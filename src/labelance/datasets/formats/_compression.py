"""Compressed files: gzip, bzip2, xz and Zstandard.

What a file is packed with follows from its first bytes when it is read, and by its name when it is
written. Python's own modules unpack all but Zstandard, for which pyarrow does.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from pathlib import Path
from typing import Any, BinaryIO

from labelance._utils._messages import optional_import

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


def unpack(name: str | None, stream: Any) -> Any:
    """Return a file to read what an open one holds, packed as the codec of this name does."""
    if name == "gzip":
        return gzip.GzipFile(fileobj=stream)
    if name == "bzip2":
        return bz2.BZ2File(stream)
    if name == "xz":
        return lzma.LZMAFile(stream)
    if name == "Zstandard":
        pyarrow = _import_pyarrow("Reading")
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, "r"), "zstd")
    return stream


def compress(path: Path, out: BinaryIO) -> Any:
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
