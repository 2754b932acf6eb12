"""The store: an SQLite file that any number of runners may share and nothing can half-write."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._agreement import METRICS, refuse_conflict
from labelance.study._cells import Cell, Task
from labelance.study._design import digest
from labelance.study._liveness import Heartbeat
from labelance.study._study import Study

# Columns of a finished cell, in the order of tables; the first six are its identity.
COLUMNS = {
    "dataset": "TEXT NOT NULL",
    "learner": "TEXT NOT NULL",
    "method": "TEXT NOT NULL",
    "repeat": "INTEGER NOT NULL",
    "fold": "INTEGER NOT NULL",
    "config": "TEXT NOT NULL",
    "macro_f1": "REAL",
    "macro_auc_roc": "REAL",
    "macro_auc_pr": "REAL",
    "n_undefined": "INTEGER",
    "n_train": "INTEGER",
    "n_resampled": "INTEGER",
    "sample_seconds": "REAL",
    "fit_seconds": "REAL",
    "predict_seconds": "REAL",
    "cpu_seconds": "REAL",
    "peak_mb": "REAL",
    "member_disagreement": "REAL",
    "seed": "INTEGER",
    "status": "TEXT NOT NULL",
    "error": "TEXT",
    "runner": "TEXT",
    "version": "TEXT",
    "commit_id": "TEXT",
    "versions": "TEXT",
    "machine": "TEXT",
    "finished": "TEXT",
    "labels": "BLOB",
}
_IDENTITY = ("dataset", "learner", "method", "repeat", "fold", "config")
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS cells (
  {", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())},
  PRIMARY KEY ({", ".join(_IDENTITY)})
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS studies (hash TEXT, datasets TEXT, name TEXT, plan TEXT, begun TEXT,
  PRIMARY KEY (hash, datasets, name));
CREATE TABLE IF NOT EXISTS claims (
  dataset TEXT, repeat INTEGER, fold INTEGER, runner TEXT NOT NULL, pid INTEGER, host TEXT,
  beat REAL NOT NULL, PRIMARY KEY (dataset, repeat, fold)
);
CREATE TABLE IF NOT EXISTS runners (
  runner TEXT PRIMARY KEY, started INTEGER, processes TEXT, clock TEXT, ticks REAL
);
"""
_WAIT = 60.0
_FOLD = "dataset=? AND repeat=? AND fold=?"
# A claim and who holds it, as far as that is known.
_CLAIM = "* FROM claims LEFT JOIN runners USING (runner)"


class Store:
    """Finished cells in one SQLite file.

    Parameters
    ----------
    path : path
        The file; it is made with its first row.
    must_exist : bool, default=False
        Raise if the file is not there.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        # Workers may stand in another folder than the runner.
        self.path = Path(path).absolute()
        if must_exist and not self.path.exists():
            raise StudyError(
                "A store is an SQLite file that `labelance study run` made",
                f"{self.path} does not exist",
                "Check the path, or run the study first",
            )
        self._refuse_other_files()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.executescript(_SCHEMA)

    def _refuse_other_files(self) -> None:
        if not self.path.exists() or self.path.stat().st_size == 0:
            return
        if self.path.is_dir() or _beginning(self.path) != b"SQLite format 3":
            raise StudyError(
                "A store is an SQLite file", f"{self.path} is something else", "Choose another path"
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection; what it did is committed at the end, or nothing of it is."""
        with closing(sqlite3.connect(self.path, timeout=_WAIT)) as db:
            db.row_factory = sqlite3.Row
            # A power cut may cost the last transactions, never the file; a kill costs nothing.
            db.execute("PRAGMA synchronous=NORMAL")
            with db:
                yield db

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write finished rows in one transaction; a finished cell is never overwritten."""
        names = ", ".join(COLUMNS)
        marks = ", ".join(f":{name}" for name in COLUMNS)
        full = [{name: _plain(row.get(name)) for name in COLUMNS} for row in rows]
        with self._open() as db:
            db.executemany(
                f"INSERT INTO cells ({names}) VALUES ({marks}) ON CONFLICT DO UPDATE SET "
                + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)
                + " WHERE cells.status = 'failed'",
                full,
            )

    def status(self, study: Study) -> dict[Cell, str]:
        """Return which cells of a study are here, and whether they are done or failed."""
        with self._open() as db:
            found = db.execute(f"SELECT {', '.join(_IDENTITY)}, status FROM cells").fetchall()
        here = {(Cell(*row[:5]), row[5]): row[6] for row in map(tuple, found)}
        wanted = ((cell, (cell, study.config(cell))) for cell in study.cells())
        return {cell: here[key] for cell, key in wanted if key in here}

    def rows(
        self, study: Study | None = None, *, columns: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return rows as dictionaries: all, or those of a study in the order of its cells.

        Every row has its identity and status, and these columns of the others, or all.
        """
        names = ", ".join(COLUMNS if columns is None else (*_IDENTITY, "status", *columns))
        with self._open() as db:
            found = [dict(row) for row in db.execute(f"SELECT {names} FROM cells")]
        if study is None:
            return found
        wanted = {(cell, study.config(cell)): place for place, cell in enumerate(study.cells())}
        keyed = {(Cell(*(row[n] for n in _IDENTITY[:5])), row["config"]): row for row in found}
        return [keyed[key] for key in sorted(wanted.keys() & keyed.keys(), key=wanted.__getitem__)]

    def remember(self, study: Study, plan: dict[str, Any]) -> None:
        """Keep the plan, so that status and report need nothing but the store."""
        self.take([], [plan_row(study, plan)])

    def plans(self) -> list[dict[str, Any]]:
        """Return the plans of all studies that were run into this store, oldest first."""
        with self._open() as db:
            found = db.execute("SELECT plan FROM studies ORDER BY begun, rowid").fetchall()
        return [json.loads(row["plan"]) for row in found]

    def forget_failures(self, study: Study) -> int:
        """Delete the failed cells of a study, so that they are tried again."""
        failed = [row for row in self.rows(study) if row["status"] == "failed"]
        same = " AND ".join(f"{name} = :{name}" for name in _IDENTITY)
        with self._open() as db:
            db.executemany(f"DELETE FROM cells WHERE status = 'failed' AND {same}", failed)
        return len(failed)

    # Claims: which runner does which fold.

    def claim(self, task: Task, runner: str) -> bool:
        """Take a fold, unless another living runner has it."""
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            held = _holder(db, task)
            if held is not None and held["runner"] != runner and _alive(held):
                return False
            me = Heartbeat.now()
            db.execute(
                "INSERT OR REPLACE INTO runners VALUES (?, ?, ?, ?, ?)",
                (runner, me.started, me.processes, me.clock, me.ticks),
            )
            db.execute(
                "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*task.place, runner, me.pid, me.host, me.beat),
            )
            return True

    def holds(self, task: Task, runner: str) -> bool:
        """Say whether the runner still has a fold."""
        with self._open() as db:
            held = _holder(db, task)
        return held is not None and held["runner"] == runner

    def release(self, runner: str, task: Task | None = None) -> None:
        """Give back one fold, or all that the runner has."""
        with self._open() as db:
            if task is None:
                db.execute("DELETE FROM claims WHERE runner=?", (runner,))
                db.execute("DELETE FROM runners WHERE runner NOT IN (SELECT runner FROM claims)")
            else:
                db.execute(f"DELETE FROM claims WHERE {_FOLD} AND runner=?", (*task.place, runner))

    def beat(self, runner: str) -> None:
        """Say that the runner is alive."""
        me = Heartbeat.now()
        with self._open() as db:
            db.execute("UPDATE claims SET beat=? WHERE runner=?", (me.beat, runner))
            db.execute("UPDATE runners SET ticks=? WHERE runner=?", (me.ticks, runner))

    def claims(self) -> list[dict[str, Any]]:
        """Return the folds that runners hold, and whether these are alive."""
        with self._open() as db:
            held = db.execute(f"SELECT {_CLAIM} ORDER BY dataset, repeat, fold").fetchall()
        shown = ("dataset", "repeat", "fold", "runner", "pid", "host", "beat")
        return [{**{name: row[name] for name in shown}, "alive": _alive(row)} for row in held]

    def plan_rows(self) -> list[tuple[Any, ...]]:
        """Return the plans as they are kept, for another store."""
        with self._open() as db:
            return [tuple(row) for row in db.execute("SELECT * FROM studies")]

    def take(self, rows: list[dict[str, Any]], plans: Iterable[tuple[Any, ...]]) -> int:
        """Take over rows and plans, unless it knows them otherwise; return how many are new."""
        before = self._count()
        if rows:
            refuse_conflict(self.rows(columns=METRICS), rows)
            self.add(rows)
        with self._open() as db:
            db.executemany("INSERT OR IGNORE INTO studies VALUES (?, ?, ?, ?, ?)", plans)
        return self._count() - before

    def _count(self) -> int:
        with self._open() as db:
            return int(db.execute("SELECT count(*) FROM cells").fetchone()[0])


def plan_row(study: Study, plan: dict[str, Any], begun: str | None = None) -> tuple[Any, ...]:
    """Return how a plan is kept; any change of it, be it of repetitions, makes it another."""
    datasets = ",".join(source.name for source in study.datasets)
    when = begun or datetime.now(UTC).isoformat(timespec="seconds")
    return digest(plan), datasets, study.name, json.dumps(plan), when


def _holder(db: sqlite3.Connection, task: Task) -> sqlite3.Row | None:
    return db.execute(f"SELECT {_CLAIM} WHERE {_FOLD}", task.place).fetchone()


def _alive(claim: sqlite3.Row) -> bool:
    """Say whether the runner of a claim lives."""
    known = {name: claim[name] for name in ("started", "processes", "clock")}
    return Heartbeat(
        claim["pid"], claim["host"], claim["beat"], **known, ticks=claim["ticks"] or 0.0
    ).alive


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return json.dumps(value) if isinstance(value, dict) else value


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(15)
