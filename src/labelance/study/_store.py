"""The store: an SQLite file that any number of runners may share and nothing can half-write."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelance.ensemble._stacked_bagging import StackedBagging
from labelance.exceptions import StudyError
from labelance.study._design import Component, DataSource, digest, identity
from labelance.study._heartbeat import Heartbeat
from labelance.study._study import Cell, Fold, Study

METRICS = ("macro_f1", "macro_auc_roc", "macro_auc_pr")
# Machines may differ in the last bits of a sum; anything more is another result.
TOLERANCE = 1e-12
# The regressions of a second level sum up by BLAS, in an order that depends on the processor. Last
# bits of their scores may exchange two rows that are all but equal, and so move an AUC.
STACKED_TOLERANCE = 1e-6

Row = dict[str, Any]


def cell_of(row: Row) -> Cell:
    """Return the cell that a row is about."""
    return Cell(*(row[name] for name in Cell._fields))


def rows_of(study: Study, rows: Iterable[Row]) -> list[Row]:
    """Return the rows that were computed as a study would compute them, in its order."""
    place = {(cell, study.config(cell)): number for number, cell in enumerate(study.cells())}
    keyed = {(cell_of(row), row["config"]): row for row in rows}
    return [keyed[key] for key in sorted(place.keys() & keyed.keys(), key=place.__getitem__)]


def largest_difference(one: Row, other: Row) -> tuple[float, str]:
    """Return how far the figures of two rows are apart at most, and in which metric."""
    return max((_difference(one[name], other[name]), name) for name in METRICS)


def _difference(one: float | None, other: float | None) -> float:
    """Return a distance; a figure that is not defined is far from any that is."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other)


def tolerance_of(study: Study, cell: Cell) -> float:
    """Return how far the figures of a cell may be apart on two machines."""
    method = study.method(cell.method)
    used = (study.component(study.learner(cell.learner), method), method.ensemble)
    stacked = any(_is_stacked(component) for component in used if component is not None)
    return STACKED_TOLERANCE if stacked else TOLERANCE


def _is_stacked(component: Component) -> bool:
    """Say whether a component, or a part of it, learns a second level."""
    try:
        found = component.find()
    except StudyError:  # code that is not trusted, or not installed, is not asked
        found = None
    stacked = isinstance(found, type) and issubclass(found, StackedBagging)
    return stacked or any(map(_is_stacked, component.parts()))


def check_no_conflict(mine: Iterable[Row], other: Iterable[Row], studies: Sequence[Study]) -> None:
    """Raise if two rows are of the same cell and configuration, but with different figures.

    One of the studies that the other rows belong to says how far the figures may be apart.
    """
    done = {(cell_of(row), row["config"]): row for row in mine if row["status"] == "done"}
    for row in other:
        known = done.get((cell_of(row), row["config"]))
        if row["status"] != "done" or known is None:
            continue
        apart, name = largest_difference(known, row)
        if apart > TOLERANCE and apart > max(
            (tolerance_of(study, cell_of(row)) for study in studies if rows_of(study, [row])),
            default=TOLERANCE,
        ):
            raise StudyError(
                "Merged results must agree on the cells they share",
                f"{name} of {cell_of(row)} is {known[name]!r} in one and {row[name]!r} in another",
                "Check which is right: labelance study verify",
            )


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
_PLANS = dict.fromkeys(("hash", "datasets", "name", "plan", "begun"), "TEXT")
_CLAIMS = {
    "dataset": "TEXT",
    "repeat": "INTEGER",
    "fold": "INTEGER",
    "runner": "TEXT NOT NULL",
    "pid": "INTEGER NOT NULL",
    "host": "TEXT NOT NULL",
    "beat": "REAL NOT NULL",
    "started": "INTEGER",
    "processes": "TEXT NOT NULL",
    "clock": "TEXT NOT NULL",
    "ticks": "REAL NOT NULL",
}
# What Table 1 of a report shows of a dataset, so that a report needs neither data nor code.
FIGURES = {
    "dataset": "TEXT NOT NULL",
    "n": "INTEGER NOT NULL",
    "d": "INTEGER NOT NULL",
    "q": "INTEGER NOT NULL",
    "LC": "REAL",
    "MeanImR": "REAL",
}
_TABLES = {"cells": COLUMNS, "studies": _PLANS, "claims": _CLAIMS, "figures": FIGURES}


def _columns(kinds: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in kinds.items())


_APPLICATION, _VERSION = 0x6C626C6E, 2  # "lbln" marks a file as ours
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS cells (
  {_columns(COLUMNS)}, PRIMARY KEY ({", ".join(_IDENTITY)})
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS studies ({_columns(_PLANS)}, PRIMARY KEY (hash, datasets, name));
CREATE TABLE IF NOT EXISTS claims ({_columns(_CLAIMS)}, PRIMARY KEY (dataset, repeat, fold));
CREATE TABLE IF NOT EXISTS figures (identity TEXT PRIMARY KEY, {_columns(FIGURES)});
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_WAIT = 60.0
_FOLD = "dataset=? AND repeat=? AND fold=?"


class Store:
    """Finished cells in one SQLite file.

    Parameters
    ----------
    path : path
        The file; it is made with its first row.
    read_only : bool, default=False
        Raise if the file is not there, and never write to it.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        # Workers may stand in another folder than the runner.
        self.path, self.read_only = Path(path).absolute(), read_only
        if read_only and not _is_there(self.path):
            raise StudyError(
                f"{self.path} does not exist",
                "A store is an SQLite file made by `labelance study run`",
                "Check the path, or run the study first",
            )
        self._check_no_other_files()
        if not read_only:
            self._make_folder()
        with self._open() as db:
            if _is_new(db, self.path, read_only=read_only):
                db.execute("PRAGMA journal_mode=WAL")
                db.executescript(_SCHEMA)

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(
                f"The folder of the store {self.path} cannot be created",
                f"{error}",
                "Choose another path",
            ) from error

    def _check_no_other_files(self) -> None:
        try:
            if not self.path.exists() or self.path.stat().st_size == 0:
                return
            ours = self.path.is_file() and _beginning(self.path) == b"SQLite format 3"
        except OSError as error:
            raise StudyError(
                f"The store {self.path} cannot be read", f"{error}", "Check the path"
            ) from error
        if not ours:
            raise StudyError(
                f"{self.path} is not an SQLite file", "A store must be one", "Check the path"
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection; what it did is committed at the end, or nothing of it is."""
        with _our_errors(self.path), self._connection() as db, db:
            db.row_factory = sqlite3.Row
            yield db

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection and close it, also if the file turns out to be damaged."""
        if self.read_only:
            with _connection_to_read(self.path) as db:
                yield db
            return
        with closing(sqlite3.connect(self.path, timeout=_WAIT)) as db:
            # A power cut may cost the last transactions, never the file; a kill costs nothing.
            db.execute("PRAGMA synchronous=NORMAL")
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
        checked = {name: COLUMNS[name] for name in (*_IDENTITY, "status", *METRICS)}
        with self._open() as db:
            _check_no_damaged(db, self.path, "cells", checked)
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
        names = tuple(COLUMNS) if columns is None else (*_IDENTITY, "status", *columns)
        with self._open() as db:
            _check_no_damaged(db, self.path, "cells", {name: COLUMNS[name] for name in names})
            found = [dict(row) for row in db.execute(f"SELECT {', '.join(names)} FROM cells")]
        return found if study is None else rows_of(study, found)

    def remember(self, study: Study, plan: dict[str, Any]) -> None:
        """Keep the plan, so that status and report need nothing but the store."""
        self.take([], [plan_row(study, plan)])

    def plans(self) -> list[dict[str, Any]]:
        """Return the plans of all studies that were run into this store, oldest first."""
        with self._open() as db:
            _check_no_damaged(db, self.path, "studies", _PLANS)
            found = db.execute("SELECT plan FROM studies ORDER BY begun, rowid").fetchall()
        return [read_json(row["plan"], f"The plan in {self.path}") for row in found]

    def describe(self, source: DataSource, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a dataset, for the first table of a report."""
        row = (digest(identity(source)), *(_plain(figures[name]) for name in FIGURES))
        with self._open() as db:
            db.execute("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def figures(self, study: Study) -> dict[str, dict[str, Any]]:
        """Return the figures of the datasets of a study that are kept, by name."""
        with self._open() as db:
            _check_no_damaged(db, self.path, "figures", FIGURES)
            found = db.execute("SELECT * FROM figures").fetchall()
        kept = {row["identity"]: {name: row[name] for name in FIGURES} for row in found}
        wanted = ((source.name, digest(identity(source))) for source in study.datasets)
        return {name: {**kept[key], "dataset": name} for name, key in wanted if key in kept}

    def forget_failures(self, study: Study) -> int:
        """Delete the failed cells of a study, so that they are tried again."""
        failed = [row for row in self.rows(study) if row["status"] == "failed"]
        same = " AND ".join(f"{name} = :{name}" for name in _IDENTITY)
        with self._open() as db:
            db.executemany(f"DELETE FROM cells WHERE status = 'failed' AND {same}", failed)
        return len(failed)

    # Claims: which runner does which fold.

    def claim(self, fold: Fold, runner: str) -> bool:
        """Take a fold, also over from a runner that was killed; not from one that lives."""
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            held = _holder(db, fold)
            if held is not None and held["runner"] != runner and _alive(held):
                return False
            row = (*fold, runner, *astuple(Heartbeat.now()))
            db.execute(f"INSERT OR REPLACE INTO claims VALUES ({', '.join('?' * len(row))})", row)
            return True

    def holds(self, fold: Fold, runner: str) -> bool:
        """Say whether the runner still has a fold."""
        with self._open() as db:
            held = _holder(db, fold)
        return held is not None and held["runner"] == runner

    def release(self, runner: str, fold: Fold | None = None) -> None:
        """Give back one fold, or all that the runner has."""
        here = "TRUE" if fold is None else _FOLD
        with self._open() as db:
            db.execute(f"DELETE FROM claims WHERE {here} AND runner=?", (*(fold or ()), runner))

    def beat(self, runner: str) -> None:
        """Say that the runner is alive."""
        me = Heartbeat.now()
        with self._open() as db:
            here = (me.beat, me.ticks, runner)
            db.execute("UPDATE claims SET beat=?, ticks=? WHERE runner=?", here)

    def claims(self) -> list[dict[str, Any]]:
        """Return the folds that runners hold, and whether these are alive."""
        with self._open() as db:
            _check_no_damaged(db, self.path, "claims", _CLAIMS)
            held = db.execute("SELECT * FROM claims ORDER BY dataset, repeat, fold").fetchall()
        return [{**dict(row), "alive": _alive(row)} for row in held]

    def plan_rows(self) -> list[tuple[Any, ...]]:
        """Return the plans as they are kept, for another store."""
        with self._open() as db:
            _check_no_damaged(db, self.path, "studies", _PLANS)
            return [tuple(row) for row in db.execute(f"SELECT {', '.join(_PLANS)} FROM studies")]

    def take(self, rows: list[dict[str, Any]], plans: Iterable[tuple[Any, ...]]) -> int:
        """Take over rows and plans, and keep what it knows; return how many are new."""
        before = self._count()
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


def _holder(db: sqlite3.Connection, fold: Fold) -> sqlite3.Row | None:
    return db.execute(f"SELECT * FROM claims WHERE {_FOLD}", fold).fetchone()


def _alive(claim: sqlite3.Row) -> bool:
    """Say whether the runner of a claim lives."""
    return Heartbeat(*tuple(claim)[4:]).alive


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return json.dumps(value) if isinstance(value, dict) else value


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(15)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a folder that may not be entered, a name that cannot be one
        return False


def read_json(text: str, what: str) -> Any:
    """Return what JSON from outside says."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise StudyError(
            f"{what} is not valid JSON", f"The parser reports: {error}", RESTORE
        ) from error


RESTORE = "Restore it from a backup, or export it again; it is damaged, or another program wrote it"


@contextmanager
def _connection_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to a store that must not change by it, even in a read-only folder.

    SQLite lays two files next to a store that it opens, even to read. They exist while another
    runner writes; then this connection joins. Otherwise the file is copied into memory.
    """
    log = path.with_name(f"{path.name}-wal")
    while True:
        if _is_there(log) and log.stat().st_size:
            address = f"{path.as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAIT)) as db:
                yield db
            return
        before = path.stat()
        with closing(sqlite3.connect(":memory:")) as copied:
            with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as file:
                file.backup(copied)
            after = path.stat()
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
                yield copied
                return
        # Another process wrote to the file during the copy: try again.


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as ours: here, and nowhere else."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for names of tables
        # The low byte is the kind; the others say more than we do.
        kind = (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_CORRUPT) & 0xFF
        raise StudyError(
            f"The store {path} cannot be read or written", *_explain(kind, path, error)
        ) from error
    except OSError as error:
        raise StudyError(
            f"The store {path} cannot be read or written", f"{error}", "Check the path"
        ) from error


def _explain(kind: int, path: Path, error: Exception) -> tuple[str, str]:
    if kind == sqlite3.SQLITE_FULL:
        return (
            f"The disk of {path} is full",
            "Free disk space; the same command resumes",
        )
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"Another program has locked it for {_WAIT:.0f} seconds", "Try again later"
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return f"Access failed: {error}", "Check the permissions of the file and its folder"
    if kind == sqlite3.SQLITE_IOERR:
        return f"The disk of {path} fails: {error}", "Copy the file to another disk"
    return f"The file is damaged: {error}", RESTORE


def _is_new(db: sqlite3.Connection, path: Path, *, read_only: bool) -> bool:
    """Say whether a file has yet to become a store; raise for one that is none of ours."""
    mark, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
    if not read_only and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return True
    if mark == _APPLICATION and version != _VERSION:
        raise StudyError(
            f"This version of labelance reads stores of version {_VERSION}",
            f"{path} has version {version}",
            "Install the version of labelance that wrote it",
        )
    lacking = [
        f"{table}.{column}"
        for table, columns in _TABLES.items()
        for column in columns.keys() - {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    ]
    if mark != _APPLICATION or lacking:
        raise StudyError(
            f"{path} is not a store made by `labelance study run`",
            f"It is another database, without {', '.join(sorted(lacking)[:3]) or 'our mark'}",
            "Choose another path",
        )
    return False


_MARKS = ("application_id", "user_version")
_TYPES = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real'", "BLOB": "'blob'"}
_NUMBERS = [name for name, kind in COLUMNS.items() if kind == "REAL" and name not in METRICS]
# Infinite times, and F-measures of a million, are damage too.
_RANGES = {
    "cells": {
        **{name: f"{name} BETWEEN 0 AND 1" for name in METRICS},
        **{name: f"abs({name}) < 1e15" for name in _NUMBERS},
        "status": "status IN ('done', 'failed')",
    },
    "claims": {"pid": "pid BETWEEN 1 AND 2147483647", "beat": "abs(beat) < 1e15"},
}


def _check_no_damaged(
    db: sqlite3.Connection, path: Path, table: str, kinds: Mapping[str, str]
) -> None:
    """Raise for values of another type than their column's; SQLite itself takes any."""
    ranges = _RANGES.get(table, {})
    wrong = {name: f"NOT ({_rule(name, kind, ranges)})" for name, kind in kinds.items()}
    query = f"SELECT {', '.join(wrong.values())} FROM {table} WHERE {' OR '.join(wrong.values())}"
    found = db.execute(f"{query} LIMIT 1").fetchone()
    if found is not None:
        names = [name for name, is_wrong in zip(wrong, found) if is_wrong]
        raise StudyError(
            f"{path} has a row with a wrong type in the table {table}",
            f"The columns are {', '.join(names)}",
            RESTORE,
        )


def _rule(name: str, kind: str, ranges: Mapping[str, str]) -> str:
    rule = f"typeof({name}) = {_TYPES[kind.partition(' ')[0]]}"
    if name in ranges:
        rule += f" AND {ranges[name]}"
    return rule if kind.endswith("NOT NULL") else f"{name} IS NULL OR {rule}"
