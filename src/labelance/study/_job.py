"""A runner's job: claim folds one by one, do them, write what is finished."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from labelance.study._cells import Task, tasks_of
from labelance.study._environment import environment
from labelance.study._folds import Shelf
from labelance.study._store import Store
from labelance.study._study import Study
from labelance.study._work import do_task


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
            if left:
                self.shelf.put(self.study.dataset(task.dataset))
                yield replace(task, cells=left)

    def _pending(self) -> list[Any]:
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
        from pathlib import Path

        store, count = Store(self.store), 0
        for rows in do_task(self.study, task, Shelf(Path(self.shelf)).get(task.dataset)):
            store.add(signed(rows, self.runner))
            count += len(rows)
            if not (_runs(self.boss) and store.holds(task, self.runner)):
                return count  # the runner is gone, and its folds are somebody else's
        store.release(self.runner, task)
        return count


def signed(rows: list[dict[str, Any]], runner: str) -> list[dict[str, Any]]:
    """Add to rows who computed them, where, and with what."""
    return [{**row, **environment(), "runner": runner} for row in rows]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
