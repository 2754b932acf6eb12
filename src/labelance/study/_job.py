"""A runner's job: claim folds one by one, have them done, write what is finished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from labelance.study._cells import Cell, Task, tasks_of
from labelance.study._describe import describe
from labelance.study._environment import environment
from labelance.study._folds import Shelf, load
from labelance.study._store import Store
from labelance.study._study import Study
from labelance.study._work import Row, failure


@dataclass(frozen=True)
class Job:
    """A study, the store it goes to, who runs it, and where its data lie."""

    study: Study
    store: Store
    runner: str
    shelf: Shelf

    def claimed(self, *, by_learner: bool = False) -> Iterator[Task]:
        """Yield work that nobody else has, claimed when it is asked for and not before."""
        for task in tasks_of(self._pending(), by_learner=by_learner):
            if not self.store.claim(task, self.runner):
                continue
            finished = self.store.status(self.study)
            left = tuple(cell for cell in task.cells if cell not in finished)
            if not left:
                self.store.release(self.runner, task)
            elif self._has_data(task, left):
                yield replace(task, cells=left)

    def claimed_again(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield, one by one, the cells of tasks that nobody has finished since."""
        finished = self.store.status(self.study)
        for task in tasks:
            for cell in task.cells:
                if cell not in finished and self.store.claim(task, self.runner):
                    yield replace(task, cells=(cell,))

    def keep(self, task: Task, finished: Iterable[list[Row]]) -> int:
        """Write rows of a task as they come, while the fold is ours; return how many."""
        count = 0
        for rows in finished:
            self.store.add(signed(rows, self.runner))
            count += len(rows)
            if not self.store.holds(task, self.runner):
                return count  # we were taken for dead, and the fold is somebody else's
        if count == len(task.cells):
            self.store.release(self.runner, task)
        return count

    def fail(self, cells: Iterable[Cell], error: str | None = None) -> int:
        """Write that cells have failed, of this error or the one being handled."""
        rows = [failure(self.study, cell, error) for cell in cells]
        self.store.add(signed(rows, self.runner))
        return len(rows)

    def _has_data(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        """Lay the data of a task ready; if they cannot be had, its cells have failed."""
        source = self.study.dataset(task.dataset)
        if self.shelf.has(source):
            return True
        try:
            data = load(source)
        except BaseException:
            self.fail(cells)
            return False
        self.shelf.put(source, data)
        self.store.describe(source, describe(source.name, data))
        return True

    def _pending(self) -> list[Cell]:
        finished = self.store.status(self.study)
        return [cell for cell in self.study.cells() if cell not in finished]


def signed(rows: list[Row], runner: str) -> list[dict[str, Any]]:
    """Add to rows who computed them, where, and with what."""
    return [{**row, **environment(), "runner": runner} for row in rows]
