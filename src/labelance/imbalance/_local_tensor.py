"""C and types of minority cells, and what new rows get of them, on the device of the labels.

Labels are packed, 32 to a number, so that n rows with q labels take n q / 8 bytes. Whether a
neighbor has a cell is one bit to look at. Types that follow from other types are found in rounds,
until a round changes nothing; so they are those of the search in a graph that the CPU makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelance._arrays._torch import to_device, to_host, torch_module

_CELLS = 1 << 24  # cells looked at together


class PackedCells:
    """The cells of a sparse matrix on a device, and a bit for every one of them.

    Parameters
    ----------
    M : csr_array of shape (n, q)
        The minority cells.
    neighbors : ndarray of shape (n, k)
        Row numbers.
    like : tensor
        What says on which device to work.
    """

    def __init__(self, M: csr_array, neighbors: np.ndarray, like: Any) -> None:
        torch = torch_module()
        self.n_words = -(-M.shape[1] // 32)
        self.shape = M.shape
        self.index_type = M.indptr.dtype
        self.neighbors = to_device(neighbors, like)
        self.labels = to_device(M.indices, like).long()
        sizes = to_device(np.diff(M.indptr), like).long()
        self.rows = torch.repeat_interleave(sizes)

    def pack(self, cells: Any) -> Any:
        """Return a bit for every row and label, set for the given cells."""
        torch = torch_module()
        words = torch.zeros(
            self.shape[0] * self.n_words, dtype=torch.int32, device=self.labels.device
        )
        self.set(words, cells)
        return words

    def set(self, words: Any, cells: Any) -> None:
        """Set the bits of cells, none of which is set yet."""
        torch = torch_module()
        for part in cells.split(_CELLS):
            labels = self.labels[part]
            at = self.rows[part] * self.n_words + labels.div(32, rounding_mode="floor")
            bits = torch.ones_like(labels).bitwise_left_shift(labels % 32).to(torch.int32)
            words.index_add_(0, at, bits)

    def count(self, words: Any, cells: Any) -> Any:
        """Return how many neighbors of each cell's row have the bit of its label set."""
        torch = torch_module()
        out = torch.zeros(len(cells), dtype=torch.int32, device=cells.device)
        for start in range(0, len(cells), _CELLS):
            part = cells[start : start + _CELLS]
            labels, near = self.labels[part], self.neighbors[self.rows[part]]
            word = labels.div(32, rounding_mode="floor")
            for place in range(near.shape[1]):
                found = words[near[:, place] * self.n_words + word]
                out[start : start + _CELLS] += (found >> (labels % 32).to(torch.int32)) & 1
        return out


@dataclass(frozen=True, eq=False)
class MeasuredCells:
    """What is known of every minority cell, on the device.

    Parameters
    ----------
    packed : PackedCells
        The cells.
    opposite : tensor of int32
        How many neighbors are of the opposite class.
    types : tensor of int8
        The codes of the types.
    """

    packed: PackedCells
    opposite: Any
    types: Any

    def to_host(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts and the types as arrays."""
        return to_host(self.opposite), to_host(self.types)

    def shares(self) -> csr_array:
        """Return the terms of the paper's equation (3), with the bits that an array gives."""
        torch, packed = torch_module(), self.packed
        k, (n, q) = packed.neighbors.shape[1], packed.shape
        usable = self.opposite < k
        total = torch.zeros(q, dtype=torch.int64, device=usable.device)
        total.index_add_(0, packed.labels, self.opposite.long() * usable)
        defined = (usable & (total > 0)[packed.labels]).nonzero().ravel()
        labels = packed.labels[defined]
        share = self.opposite[defined].double() / total[labels].double()
        ends = packed.rows[defined].bincount(minlength=n).cumsum(0)
        indptr = np.concatenate(([0], to_host(ends))).astype(packed.index_type)
        columns = to_host(labels).astype(packed.index_type)
        return csr_array((to_host(share), columns, indptr), shape=(n, q))

    def typed(self) -> TypedCells:
        """Return what the labels of new rows are made of."""
        packed = self.packed
        ends = packed.rows.bincount(minlength=packed.shape[0]).cumsum(0)
        starts = torch_module().nn.functional.pad(ends, (1, 0))
        return TypedCells(starts, packed.labels.int(), self.types, packed.shape[1])


@dataclass(frozen=True, eq=False)
class TypedCells:
    """Minority cells on a device, row after row, in the order of their labels.

    Parameters
    ----------
    starts : tensor of int64 of shape (n + 1,)
        Where the cells of each row begin.
    labels, types : tensors
        The label of each cell, and the code of its type.
    n_labels : int
        How many labels there are.
    """

    starts: Any
    labels: Any
    types: Any
    n_labels: int

    def merge(
        self, theta: np.ndarray, seeds: np.ndarray, references: np.ndarray, cd: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the minority cells of synthetic rows: their labels, and how many a row has.

        A cell of both parents is kept, and a cell of one if that reaches as far as the row:
        cd, or 1 - cd from the reference, is at most the ``theta`` of its type.
        """
        torch, like = torch_module(), self.starts
        there = [to_device(array, like) for array in (seeds, references, cd)]
        reach = to_device(theta, like)
        largest = int(self.starts.diff().max())
        step = max(1, _CELLS // max(1, 2 * largest))
        blocks = zip(*(array.split(step) for array in there))
        parts = [self._merge(reach, *block) for block in blocks]
        labels, counts = (torch.cat(part) for part in zip(*parts))
        return to_host(labels), to_host(counts)

    def _merge(self, reach: Any, seeds: Any, references: Any, cd: Any) -> tuple[Any, Any]:
        torch = torch_module()
        of_seed, seed_cells = self._cells(seeds)
        of_reference, reference_cells = self._cells(references)
        rows = torch.cat([of_seed, of_reference])
        cells = torch.cat([seed_cells, reference_cells])
        away = torch.cat([cd[of_seed], 1 - cd[of_reference]])
        kept = away <= reach[self.types[cells].long()]
        keys, order = (rows * self.n_labels + self.labels[cells]).sort()
        pad, twice = torch.nn.functional.pad, keys[1:] == keys[:-1]
        is_first, is_second = pad(twice, (0, 1)), pad(twice, (1, 0))
        chosen = keys[is_first | (kept[order] & ~is_second)]
        return chosen % self.n_labels, (chosen // self.n_labels).bincount(minlength=len(seeds))

    def _cells(self, rows: Any) -> tuple[Any, Any]:
        """Return every cell of the rows, and for which of them it is."""
        torch = torch_module()
        first = self.starts[rows]
        sizes = self.starts[rows + 1] - first
        owner = torch.repeat_interleave(sizes)
        before = (sizes.cumsum(0) - sizes - first)[owner]
        return owner, torch.arange(len(owner), device=owner.device) - before


def measure_cells(
    M: csr_array,
    neighbors: np.ndarray,
    by_count: np.ndarray,
    codes: tuple[int, int, int],
    like: Any,
    *,
    spreads: bool,
) -> MeasuredCells:
    """Count the opposite neighbors of every minority cell, and find its type.

    Parameters
    ----------
    M, neighbors, like
        As :class:`PackedCells` takes them.
    by_count : ndarray of int8 of shape (k + 1,)
        The type of a cell with 0, 1, … k opposite neighbors.
    codes : tuple
        The types safe, borderline and rare.
    spreads : bool
        Whether a borderline neighbor makes a rare cell borderline as well, and this again
        others; otherwise only a safe one does.
    """
    torch = torch_module()
    packed = PackedCells(M, neighbors, like)
    everybody = torch.arange(len(packed.labels), device=packed.labels.device)
    opposite = neighbors.shape[1] - packed.count(packed.pack(everybody), everybody)
    types = to_device(by_count, like)[opposite.long()]
    safe, borderline, rare = codes
    good = (types == safe) | (types == borderline) if spreads else types == safe
    words, waiting = packed.pack(good.nonzero().ravel()), (types == rare).nonzero().ravel()
    while len(waiting):
        reached = packed.count(words, waiting) > 0
        found, waiting = waiting[reached], waiting[~reached]
        types[found] = borderline
        if not spreads or not len(found):
            break
        packed.set(words, found)
    return MeasuredCells(packed, opposite, types)
