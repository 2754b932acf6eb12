"""A runner's job: claim folds one by one, do them, write what is finished."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labelance.study._cells import Cell, Task, tasks_of
from labelance.study._environment import environment
from labelance.study._folds import Shelf
from labelance.study._store import Store, runs
from labelance.study._study import Study
from labelance.study._work import do_task, failure, groups_of


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

    def _has_data(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        """Lay the data of a task ready; if they cannot be had, its cells have failed."""
        try:
            self.shelf.put(self.study.dataset(task.dataset))
        except Exception:
            self._fail(cells)
            return False
        return True

    def _fail(self, cells: Iterable[Cell]) -> None:
        self.store.add(signed([failure(self.study, cell) for cell in cells], self.runner))

    def bury(self, tasks: Iterable[Task]) -> int:
        """Record what workers died of: the first unfinished cells of each task, in its order.

        Called while the error is handled; its traceback goes into the rows.
        """
        status, count = self.store.status(self.study), 0
        for task in tasks:
            groups = groups_of(self.study, task)
            dead = next((g for g in groups if not all(cell in status for cell in g)), [])
            self._fail(dead)
            count += len(dead)
        return count

    def _pending(self) -> list[Cell]:
        finished = self.store.status(self.study)
        return [cell for cell in self.study.cells() if cell not in finished]


@dataclass(frozen=True)
class Bench:
    """What a worker process on this machine needs: where things are, and whose work it is."""

    study: Study
    store: str
    shelf: str
    runner: str
    boss: int

    @classmethod
    def of(cls, job: Job) -> Bench:
        """Return the bench of workers that the present process directs."""
        return cls(job.study, str(job.store.path), str(job.shelf.folder), job.runner, os.getpid())

    def do(self, task: Task) -> int:
        """Do a fold and write its cells as they are finished; return how many."""
        store, count = Store(self.store), 0
        for rows in do_task(self.study, task, Shelf(Path(self.shelf)).get(task.dataset)):
            store.add(signed(rows, self.runner))
            count += len(rows)
            if not (runs(self.boss) and store.holds(task, self.runner)):
                return count  # the runner is gone, and its folds are somebody else's
        store.release(self.runner, task)
        return count


def signed(rows: list[dict[str, Any]], runner: str) -> list[dict[str, Any]]:
    """Add to rows who computed them, where, and with what."""
    return [{**row, **environment(), "runner": runner} for row in rows]
