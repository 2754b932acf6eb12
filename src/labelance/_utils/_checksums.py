"""Files that a later run resumes from, each with a checksum in a second file.

A file that was cut, changed or deleted between two runs is found by its checksum, and its part of
the work is done again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from labelance._progress import print_notice
from labelance._utils._files import replace_when_done

_PIECE = 1 << 20  # bytes that are read at once


def hash_file(path: Path) -> str:
    """Return a checksum of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.blake2b).hexdigest()


@contextmanager
def keep_file(path: Path) -> Iterator[Path]:
    """Write a file as `replace_when_done` does, and its checksum.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance._utils._checksums import is_intact, keep_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "some.txt"
    ...     with keep_file(file) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     is_intact(file)
    True
    """
    with replace_when_done(path) as temporary:
        yield temporary
        checksum = hash_file(temporary)
    with replace_when_done(_checksum_of(path)) as temporary:
        temporary.write_text(checksum, encoding="ascii")


def is_intact(path: Path) -> bool:
    """Tell whether an earlier run has written a file that is unchanged; say so if it is not."""
    checksum = _checksum_of(path)
    if not path.exists() and not checksum.exists():
        return False
    try:
        whole = checksum.read_bytes() == hash_file(path).encode()
    except OSError:
        whole = False
    if not whole:
        print_notice(f"{path} is damaged or missing; its part starts again")
    return whole


class GrowingFile:
    """A file that grows by blocks of arrays, with a checksum of every block.

    Parameters
    ----------
    path : Path
        The file, which may have blocks of an earlier run.

    Attributes
    ----------
    blocks : list of (int, str)
        The size of every whole block, and its checksum. What follows them is cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = _read_lines(_checksum_of(path))
        self.blocks = _find_whole(path, lines)
        left = path.stat().st_size if path.exists() else 0
        if len(self.blocks) < len(lines) or left > self.size:
            print_notice(f"{path} is incomplete after {self.size:,} bytes; the rest starts again")
        self._file = path.open("ab")
        self.keep(len(self.blocks))
        self._hash = hashlib.blake2b()
        self._written = 0

    @property
    def size(self) -> int:
        """The bytes of the whole blocks."""
        return sum(size for size, _ in self.blocks)

    def keep(self, n_blocks: int) -> None:
        """Cut off all but the first blocks."""
        del self.blocks[n_blocks:]
        self._file.truncate(self.size)
        with replace_when_done(_checksum_of(self.path)) as temporary:
            temporary.write_text("".join(map(_line, self.blocks)), encoding="ascii")

    def write(self, array: np.ndarray) -> None:
        """Add the cells of an array to the current block."""
        array = np.ascontiguousarray(array)
        array.tofile(self._file)
        self._hash.update(array.reshape(-1).view(np.uint8).data)
        self._written += array.nbytes

    def end_block(self) -> None:
        """Complete the current block."""
        self._file.flush()
        self.blocks.append((self._written, self._hash.hexdigest()))
        with _checksum_of(self.path).open("a", encoding="ascii") as checksums:
            checksums.write(_line(self.blocks[-1]))
        self._hash, self._written = hashlib.blake2b(), 0

    def rename(self, target: Path) -> None:
        """Close the file and give it its final name."""
        self._file.close()
        os.replace(self.path, target)

    def __enter__(self) -> GrowingFile:
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.close()


def _checksum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sum")


def _line(block: tuple[int, str]) -> str:
    return f"{block[0]} {block[1]}\n"


def _read_lines(checksums: Path) -> list[bytes]:
    return checksums.read_bytes().splitlines(keepends=True) if checksums.exists() else []


def _find_whole(path: Path, lines: list[bytes]) -> list[tuple[int, str]]:
    """Return the first blocks of a file that are as their lines say."""
    blocks: list[tuple[int, str]] = []
    if not path.exists():
        return blocks
    with path.open("rb") as file:
        for line in lines:
            size = line.partition(b" ")[0]
            if not (size.isdigit() and len(size) < 20):
                break
            block = int(size), _hash_bytes(file, int(size))
            if _line(block).encode() != line:
                break
            blocks.append(block)
    return blocks


def _hash_bytes(file: BinaryIO, size: int) -> str:
    """Return a checksum of the next bytes of a file."""
    found = hashlib.blake2b()
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        found.update(piece)
        size -= len(piece)
    return found.hexdigest()
