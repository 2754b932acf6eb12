"""A cell: one method under one learner, tested on one fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple


class Cell(NamedTuple):
    """One test evaluation; ``str(cell)`` is its stable key.

    Examples
    --------
    >>> from labelance.study import Cell
    >>> str(Cell("flags", "BR", "EMLSOL", 0, 1))
    'flags/BR/EMLSOL/0/1'
    """

    dataset: str
    learner: str
    method: str
    repeat: int
    fold: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


@dataclass(frozen=True)
class Task:
    """Cells of one fold that one worker does, since they share its data and neighbors."""

    dataset: str
    repeat: int
    fold: int
    cells: tuple[Cell, ...]

    @property
    def place(self) -> tuple[str, int, int]:
        """Return which fold it is."""
        return self.dataset, self.repeat, self.fold


def tasks_of(cells: Iterable[Cell], *, by_learner: bool = False) -> Iterator[Task]:
    """Group cells by fold, or by fold and learner for smaller pieces, in the order they come."""
    cells = list(cells)
    order = {place: number for number, place in enumerate(dict.fromkeys(map(_place, cells)))}
    learners = {name: number for number, name in enumerate(dict.fromkeys(c.learner for c in cells))}

    def group(cell: Cell) -> tuple[int, int]:
        return order[_place(cell)], learners[cell.learner] if by_learner else 0

    for _, found in groupby(sorted(cells, key=group), key=group):
        together = tuple(found)
        yield Task(*_place(together[0]), together)


def _place(cell: Cell) -> tuple[str, int, int]:
    return cell.dataset, cell.repeat, cell.fold
