"""Nominal values to codes, looked up by their bytes in one hash table for all columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel

UNKNOWN = -1


class Vocabulary(NamedTuple):
    """The values of every nominal column; columns that declare the same values share a list.

    ``lists[column]`` is the list of a column. Entry e of the table is the value
    ``words[bounds[e]:bounds[e + 1]]`` with code ``codes[e]`` in the list ``owners[e]``; the
    entries hang in ``slots`` by open addressing.
    """

    lists: NDArray[np.int64]
    words: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    owners: NDArray[np.int64]
    codes: NDArray[np.int64]
    slots: NDArray[np.int64]


def build_vocabulary(categories: Sequence[tuple[str, ...] | None], encoding: str) -> Vocabulary:
    """Collect the values of all columns; a column of numbers has None."""
    numbers: dict[tuple[str, ...], int] = {}
    lists = [-1 if c is None else numbers.setdefault(c, len(numbers)) for c in categories]
    words = [_encode(value, encoding) for known in numbers for value in known]
    lengths = [len(known) for known in numbers]
    bounds = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in words], out=bounds[1:])
    codes = [code for length in lengths for code in range(length)]
    # At most half full, so that a search is short and always meets an empty slot.
    size = 1 << (2 * len(words) + 1).bit_length()
    vocabulary = Vocabulary(
        lists=np.array(lists, dtype=np.int64),
        words=np.frombuffer(b"".join(words) + b"\0", dtype=np.uint8),
        bounds=bounds,
        owners=np.repeat(np.arange(len(lengths)), lengths).astype(np.int64),
        codes=np.array(codes, dtype=np.int64),
        slots=np.full(size, UNKNOWN, dtype=np.int64),
    )
    _fill(vocabulary.words, vocabulary.bounds, vocabulary.owners, vocabulary.slots)
    return vocabulary


def _encode(value: str, encoding: str) -> bytes:
    """Return the bytes of a value; one that only an escape can write has bytes that no cell has."""
    try:
        return value.encode(encoding)
    except UnicodeEncodeError:
        return b"\n"


@kernel
def _fill(
    words: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    owners: NDArray[np.int64],
    slots: NDArray[np.int64],
) -> None:
    for entry in range(len(owners)):
        start, stop = bounds[entry], bounds[entry + 1]
        slots[find_slot(words, bounds, owners, slots, owners[entry], words, start, stop)] = entry


@kernel
def find_slot(
    words: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    owners: NDArray[np.int64],
    slots: NDArray[np.int64],
    owner: np.int64,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
) -> int:
    """Give the slot that holds the value ``text[start:stop]``, or the empty one for it."""
    key = np.uint64(14695981039346656037) ^ np.uint64(owner)  # FNV-1a
    for i in range(start, stop):
        key = (key ^ np.uint64(text[i])) * np.uint64(1099511628211)
    last = len(slots) - 1
    slot = int(np.int64((key ^ (key >> np.uint64(32))) & np.uint64(last)))
    while True:
        entry = slots[slot]
        if entry == UNKNOWN:
            return slot
        first, length = bounds[entry], bounds[entry + 1] - bounds[entry]
        if owners[entry] == owner and length == stop - start:
            i = 0
            while i < length and words[first + i] == text[start + i]:
                i += 1
            if i == length:
                return slot
        slot = (slot + 1) & last
