"""The store: a folder with a small file for each fold, which any number of runners may share.

A file is written aside and renamed, and begins with a hash of what it says: nothing half-written
is read. A runner claims a fold by making a file, and renews its time stamp; a fold that two
runners do after all has the same figures twice.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import time
import uuid
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any

from labelance._utils._files import replace_when_done
from labelance.exceptions import LabelanceError, LabelanceWarning, StudyError
from labelance.study._design import DataSource, digest, identity
from labelance.study._study import Cell, Fold, Study, plan_of

Row = dict[str, Any]
METRICS = ("macro_f1", "macro_auc_roc", "macro_auc_pr")
# A runner whose claim is that old is dead. Runners renew their claims every 20 seconds.
STALE_SECONDS = 120.0
_MARK, _FORMAT = "labelance-store-", "1"
_ABOUT = "The results of a study: labelance study status FOLDER. A file in folds is a fold.\n"

_TEXT, _COUNT, _NUMBER = (str, NoneType), (int, NoneType), (int, float, NoneType)
# Columns of a finished cell, in the order of tables, and what their values are.
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("dataset", "learner", "method"), str),
    **dict.fromkeys(("repeat", "fold"), int),
    "config": str,
    **dict.fromkeys(METRICS, _NUMBER),
    **dict.fromkeys(("n_undefined", "n_train", "n_resampled"), _COUNT),
    **dict.fromkeys(("sample_seconds", "fit_seconds", "predict_seconds", "cpu_seconds"), _NUMBER),
    **dict.fromkeys(("peak_mb", "member_disagreement"), _NUMBER),
    "seed": _COUNT,
    "status": str,
    **dict.fromkeys(("error", "runner", "version", "commit_id", "versions", "machine"), _TEXT),
    **dict.fromkeys(("finished", "labels"), _TEXT),
}
# What Table 1 of a report shows of a dataset, so that a report needs neither data nor code.
FIGURES = {"dataset": str, "n": int, "d": int, "q": int, "LC": _NUMBER, "MeanImR": _NUMBER}
_PLAN = {"plan": dict, "begun": str}


def cell_of(row: Row) -> Cell:
    """Return the cell that a row is about."""
    return Cell(*(row[name] for name in Cell._fields))


def rows_of(study: Study, rows: Iterable[Row]) -> list[Row]:
    """Return the rows that were computed as a study would compute them, in its order."""
    place = {(cell, study.config(cell)): number for number, cell in enumerate(study.cells())}
    keyed = {key_of(row): row for row in rows}
    return [keyed[key] for key in sorted(place.keys() & keyed.keys(), key=place.__getitem__)]


def key_of(row: Row) -> tuple[Cell, str]:
    """Return what a row is about: the cell, and how it was computed."""
    return cell_of(row), row["config"]


def is_of(value: Any, kinds: Mapping[str, Any]) -> bool:
    """Say whether a value from outside is a mapping with values of these kinds."""
    return isinstance(value, dict) and all(
        isinstance(item := value.get(name), kind) and not isinstance(item, bool) and _is_sane(item)
        for name, kind in kinds.items()
    )


def _is_sane(item: Any) -> bool:
    """Say whether a value can be written and drawn: no infinite time, no half of a character."""
    if isinstance(item, str):
        return item == item.encode(errors="replace").decode()
    return not isinstance(item, (int, float)) or abs(item) < 1e15


class Store:
    """Finished cells in a folder.

    Parameters
    ----------
    path : path
        The folder; it is made if it is not there.
    read_only : bool, default=False
        Raise if the folder is not there, and never write to it.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path).absolute()
        self.runner = uuid.uuid4().hex[:12]
        self._known: dict[Path, tuple[Any, Any]] = {}  # files, and what they said when last read
        self._claimed: set[Path] = set()
        with _our_errors(self.path):
            if not _check_place(self.path, must_exist=read_only):
                with replace_when_done(self._mark) as part:
                    part.write_text(_ABOUT, encoding="utf-8")

    @property
    def _mark(self) -> Path:
        return self.path / f"{_MARK}{_FORMAT}"

    @staticmethod
    def is_at(path: str | os.PathLike[str]) -> bool:
        """Say whether a folder is a store."""
        return os.path.isfile(os.path.join(path, f"{_MARK}{_FORMAT}"))

    def add(self, rows: Iterable[Row]) -> None:
        """Write finished rows; a cell that is done stays as it is."""
        by_fold: dict[Fold, list[Row]] = defaultdict(list)
        for row in rows:
            by_fold[cell_of(row).place].append({name: _plain(row.get(name)) for name in COLUMNS})
        for fold, new in by_fold.items():
            path = self._file("folds", fold)
            kept = {key_of(row): row for row in self._rows_in(path)} if path.exists() else {}
            for row in new:
                before = kept.get(key_of(row))
                if before is None or before["status"] == "failed":
                    kept[key_of(row)] = row
            _write(path, list(kept.values()))

    def rows(self, study: Study | None = None) -> list[Row]:
        """Return rows as dictionaries: all, or those of a study in the order of its cells."""
        found = [dict(row) for path in self._files("folds") for row in self._rows_in(path)]
        return found if study is None else rows_of(study, found)

    def status(self, study: Study) -> dict[Cell, str]:
        """Return which cells of a study are here, and whether they are done or failed."""
        return {cell_of(row): row["status"] for row in self.rows(study)}

    def remember(self, study: Study) -> None:
        """Keep the plan, so that status and report need nothing but the store."""
        plan = plan_of(study)
        path = self.path / "plans" / f"{digest(plan)}.json"
        if not path.exists():
            begun = datetime.now(UTC).isoformat(timespec="milliseconds")
            _write(path, {"plan": plan, "begun": begun})

    def plans(self) -> list[dict[str, Any]]:
        """Return the plans of all studies that were run into this store, oldest first."""
        found = [self._read(path, lambda said: is_of(said, _PLAN)) for path in self._files("plans")]
        return [one["plan"] for one in sorted(filter(None, found), key=lambda one: one["begun"])]

    def describe(self, source: DataSource, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a dataset, for the first table of a report."""
        path = self.path / "datasets" / f"{digest(identity(source))}.json"
        _write(path, {name: _plain(figures[name]) for name in FIGURES})

    def figures(self, study: Study) -> dict[str, dict[str, Any]]:
        """Return the figures of the datasets of a study that are kept, by name."""
        files = {path.stem: path for path in self._files("datasets")}
        found = {}
        for source in study.datasets:
            path = files.get(digest(identity(source)))
            figures = path and self._read(path, lambda said: is_of(said, FIGURES))
            if figures:
                found[source.name] = {**figures, "dataset": source.name}
        return found

    # Claims: which runner does which fold.

    def claim(self, fold: Fold) -> bool:
        """Take a fold, also over from a runner that was killed; not from one that lives."""
        path = self._file("claims", fold)
        who = {"runner": self.runner, "host": socket.gethostname(), "pid": os.getpid()}
        with _our_errors(self.path):
            path.parent.mkdir(exist_ok=True)
            held = _holder(path)
            if held.get("runner") != self.runner:
                if held and _is_held(path, held, self._now()):
                    return False
                if held and _holder(path) == held:  # no claim that another has made since
                    path.unlink(missing_ok=True)
                try:
                    with path.open("x", encoding="utf-8") as file:
                        json.dump({**fold._asdict(), **who}, file)
                except FileExistsError:  # another runner was quicker
                    return False
        self._claimed.add(path)
        return True

    def _now(self) -> float:
        """Return the time by the clock that stamps files here, on a network disk the disk's."""
        os.utime(self._mark)
        return self._mark.stat().st_mtime

    def beat(self) -> None:
        """Say that this runner is alive."""
        with _our_errors(self.path):
            for path in list(self._claimed):
                with suppress(FileNotFoundError):  # taken by one who took us for dead
                    os.utime(path)

    def release(self, fold: Fold | None = None) -> None:
        """Give back one fold, or all that this runner has."""
        with _our_errors(self.path):
            for path in list(self._claimed) if fold is None else [self._file("claims", fold)]:
                if _holder(path).get("runner") == self.runner:
                    path.unlink(missing_ok=True)
                self._claimed.discard(path)

    def claims(self) -> list[dict[str, Any]]:
        """Return the folds that runners hold, and whether these are alive."""
        held = {path: _holder(path) for path in self._files("claims")}
        return [{**one, "alive": _is_held(path, one, time.time())} for path, one in held.items()]

    def _file(self, folder: str, fold: Fold) -> Path:
        # Names of datasets may be anything, and hardly any file system takes all of them.
        name = re.sub(r"[^\w-]", "_", fold.dataset, flags=re.ASCII)[:40]
        name += f"-{fold.repeat}-{fold.fold}-{digest([fold.dataset])}.json"
        return self.path / folder / name

    def _files(self, folder: str) -> list[Path]:
        with _our_errors(self.path):
            found = sorted((self.path / folder).glob("*.json"))
        return [path for path in found if not path.name.startswith(".")]  # being written

    def _rows_in(self, path: Path) -> list[Row]:
        found = self._read(path, lambda said: isinstance(said, list) and all(map(_is_row, said)))
        return found or []

    def _read(self, path: Path, is_fine: Any) -> Any:
        """Return what a file says; None, and say so, where it is damaged."""
        with _our_errors(self.path):
            state = path.stat()
            stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
            if self._known.get(path, (None,))[0] != stamp:
                self._known[path] = stamp, _open(path, is_fine)
        return self._known[path][1]


def _check_place(path: Path, *, must_exist: bool) -> bool:
    """Say whether there is a store; raise where one cannot be made."""
    if os.path.isfile(path):
        raise StudyError("A store must be a folder", f"{path} is a file")
    # Before the mark is looked for: another runner may be making it.
    others = os.listdir(path) if os.path.isdir(path) else []
    if Store.is_at(path):
        return True
    if must_exist and not os.path.isdir(path):
        raise StudyError(f"{path} does not exist", "A store is made by `labelance study run`")
    others = [name for name in others if not name.startswith(".")]
    problem = f"{path} is not a store made by `labelance study run`"
    if any(name.startswith(_MARK) for name in others):
        found = "Another version of labelance made it"
        raise StudyError(problem, found, "Install the version of labelance that made it")
    if others or must_exist:
        raise StudyError(problem, "It is another folder", "Choose another path")
    return False


def _write(path: Path, value: Any) -> None:
    text = json.dumps(value)
    with replace_when_done(path) as part:
        part.write_text(f"{sha256(text.encode()).hexdigest()}\n{text}", encoding="ascii")


def _open(path: Path, is_fine: Any) -> Any:
    try:
        found, _, text = path.read_bytes().partition(b"\n")
        said = json.loads(text) if sha256(text).hexdigest().encode() == found.strip() else None
    except (ValueError, RecursionError):
        said = None
    if said is not None and is_fine(said):
        return said
    warnings.warn(
        f"{path} is damaged and counts as not there; a run computes its cells again",
        LabelanceWarning,
        stacklevel=2,
    )
    return None


def _is_row(row: Any) -> bool:
    """Say whether a row has all columns of a cell, each of its kind."""
    return (
        is_of(row, COLUMNS)
        and row.keys() == COLUMNS.keys()
        and row["status"] in ("done", "failed")
        and all(row[name] is None or -1e-9 <= row[name] <= 1 + 1e-9 for name in METRICS)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return value.item() if hasattr(value, "item") else value


def _holder(path: Path) -> dict[str, Any]:
    """Return who holds a fold; an empty mapping if no runner does."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        held = None
    # A claim that is just being written, or was cut off, holds until it is stale.
    return held if is_of(held, {"runner": str, "host": str}) else {"runner": "", "host": ""}


def _is_held(path: Path, held: Mapping[str, Any], now: float) -> bool:
    """Say whether the runner of a claim lives, as far as can be seen."""
    try:
        age = abs(now - path.stat().st_mtime)
    except FileNotFoundError:
        return False
    here = held.get("host") == socket.gethostname()
    return age < STALE_SECONDS and (not here or _runs(held.get("pid")))


def _runs(pid: Any) -> bool:
    """Say whether there is a process; where that cannot be asked, there is."""
    if os.name != "posix":  # on Windows os.kill would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, TypeError, OverflowError):
        pass
    return True


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, LabelanceError):
            raise
        raise StudyError(f"The store {path} cannot be read or written", f"{error}") from error
