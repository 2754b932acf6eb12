"""A run that can be killed and continues: a folder next to its output, and what it was asked."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import hash as joblib_hash

from labelance import __version__
from labelance._progress import print_notice
from labelance._utils._checksums import hash_file
from labelance._utils._files import replace_when_done
from labelance.datasets.formats._parquet import list_parquet
from labelance.datasets.formats._text_file import format_amount
from labelance.exceptions import FileWriteError, InputError, LabelanceError

_RECORD, _LOCK = "run.json", "lock"


class Job:
    """The folder of a run, with what it was asked and what it decided at its beginning.

    A step of a run leaves a file under its final name only when the step is complete, so what is
    there can be relied on, whenever the process was ended.
    """

    def __init__(self, folder: Path, record: dict[str, Any], *, is_new: bool = True) -> None:
        self.folder, self.is_new = folder, is_new
        self._record = record

    def decide(self, name: str, choose: Callable[[], Any]) -> Any:
        """Return what was decided when the run began, or decide now and keep it."""
        decided = self._record["decided"]
        if name not in decided:
            decided[name] = choose()
            self._write()
        return decided[name]

    def is_done(self, step: str) -> bool:
        """Tell whether a step is complete."""
        return step in self._record["decided"]

    def finish(self, step: str) -> None:
        """Remember that a step is complete."""
        self.decide(step, lambda: True)

    def _write(self) -> None:
        with replace_when_done(self.folder / _RECORD) as temporary:
            signed = {**self._record, "checksum": _hash_record(self._record)}
            temporary.write_text(json.dumps(signed), encoding="utf-8")


def job_folder(output: Path) -> Path:
    """Return the folder in which the run works that writes a file."""
    return output.with_name(f"{output.name}.partial")


@contextmanager
def open_job(output: Path, asked: dict[str, Any], *, overwrite: bool) -> Iterator[Job]:
    """Begin a run, or go on with one that was asked the same; its folder goes when it is done.

    Parameters
    ----------
    output : Path
        The file that the run writes.
    asked : dict
        Everything that the result depends on, as JSON takes it.
    overwrite : bool
        Begin again where the folder is of a run that was asked something else.
    """
    folder, asked = job_folder(output), {"version": __version__, **asked}
    _make(folder)
    _check_ours(folder)
    try:
        with _alone(folder):
            job = _begin(folder, asked, overwrite=overwrite)
            with _removed_if_refused(folder):
                yield job
    except FileWriteError:
        raise
    except OSError as problem:
        raise _cannot_write(folder, problem) from problem
    shutil.rmtree(folder, ignore_errors=os.name == "nt")  # which keeps files that are mapped


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileWriteError(
            f"The working folder {folder} cannot be created",
            f"{problem.strerror or problem}",
            "Choose an output in a writable folder",
        ) from problem


def _check_ours(folder: Path) -> None:
    """Raise for a folder with files in which no run has worked: they would be removed."""
    files = {path.name for path in folder.iterdir()}
    if files and not files & {_RECORD, _LOCK}:
        raise InputError(
            f"The working folder {folder} must be empty",
            f"It holds other files, such as {min(files)!r}",
            "Move them, or choose another output",
        )


def _begin(folder: Path, asked: dict[str, Any], *, overwrite: bool) -> Job:
    """Return the run of a folder that no one else works in."""
    record = _read_record(folder)
    if record is not None and record["asked"] != asked:
        if not overwrite:
            raise _asked_otherwise(folder, record["asked"], asked)
        record = None
    if record is not None:
        return Job(folder, record, is_new=False)
    _empty(folder)  # without its record nothing says what a file belongs to
    job = Job(folder, {"asked": asked, "decided": {}})
    job._write()
    return job


@contextmanager
def _removed_if_refused(folder: Path) -> Iterator[None]:
    """Remove the folder of a run that can never be done, so that no one continues with it."""
    try:
        yield
    except FileWriteError:
        raise
    except LabelanceError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _empty(folder: Path) -> None:
    """Remove what another run left, but for the lock that is held."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _cannot_write(folder: Path, problem: OSError) -> FileWriteError:
    """Say what a disk said while blocks were written; what was written before stays."""
    free = format_amount(shutil.disk_usage(folder).free)
    return FileWriteError(
        f"Writing data larger than memory to {folder} failed",
        f"{problem.strerror or problem}; {free} are free",
        "Free disk space and repeat the call, which resumes the run; or delete the folder and "
        "choose an output on another disk",
    )


def describe_file(path: Path) -> dict[str, Any]:
    """Return what changes when a file, or one of a folder of Parquet files, does."""
    if not (path.is_file() or path.is_dir()):
        raise InputError(
            f"There is no file or folder {str(path)!r}",
            "Data larger than memory must be a file, or a folder of Parquet files",
            "Check the path",
        )
    files = list_parquet(path)
    content = [(file.name, hash_file(file)) for file in files]
    return {
        "path": str(path.resolve()),
        "bytes": sum(file.stat().st_size for file in files),
        "content": str(joblib_hash(content)),
    }


def _read_record(folder: Path) -> dict[str, Any] | None:
    """Return what a run wrote about itself; None if it has not, or if that is damaged."""
    try:
        record: dict[str, Any] = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        checksum = record.pop("checksum")
        whole = checksum == _hash_record(record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        whole = False
    if whole:
        return record
    if any(path.name != _LOCK for path in folder.iterdir()):
        print_notice(f"{folder / _RECORD} is damaged or missing; the run starts again")
    return None


def _hash_record(record: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(record).encode()).hexdigest()


def _asked_otherwise(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> InputError:
    old, new = _flatten(before), _flatten(now)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    said = "; ".join(f"{name} was {old.get(name)} and is {new.get(name)}" for name in names)
    if "data content" in names and "data path" not in names:
        where = f" in {now['data']['path']}" if "path" in now["data"] else ""
        said = f"data{where} were changed after it began"
    return InputError(
        f"The interrupted run in {folder} has other data or options",
        f"Different: {said}",
        f"Repeat the call that started it, or start again: delete {folder}, or pass overwrite=True",
    )


def _flatten(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked without groups: ``sampler random_state`` and the like."""
    flat: dict[str, Any] = {}
    for name, value in asked.items():
        if isinstance(value, dict):
            flat |= {f"{name} {inner}": told for inner, told in value.items()}
        else:
            flat[name] = value
    return flat


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no other process work in the folder; who is killed no longer does."""
    if os.name != "posix":
        yield
        return
    import fcntl

    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise InputError(
                f"{folder} is in use",
                "Another process works in it",
                "Wait for the other process, or choose another output",
            ) from problem
        yield
