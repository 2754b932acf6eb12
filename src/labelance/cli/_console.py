"""What a person types and sees: flags, errors in their words, tables, progress and JSON."""

from __future__ import annotations

import json
import os
import sys
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from shlex import quote
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from labelance._progress import heading, show_progress
from labelance.exceptions import COLUMN, LABEL, LabelanceError, LabelanceWarning, arg_in_python

# A pipe has no width; wide enough that no name is cut.
console = Console() if sys.stdout.isatty() else Console(width=160)
errors = Console(stderr=True)


def fail(message: str) -> NoReturn:
    """Print an error on standard error and stop with exit code 1."""
    errors.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    sys.exit(1)


def say(text: str, *, to: Console | None = None) -> None:
    """Print a line as it is, however long."""
    (to or console).print(text, highlight=False, soft_wrap=True, markup=False)


_HINT = (
    ". Several values go by commas, without blanks (--labels happy,sad), a parameter without blanks"
    " (--set name=value); quote values with blanks or *."
)


class _PlainFlags:
    """Shows flags by their name alone in the help, to which typer adds ``<bool>``."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_PlainFlags, TyperCommand):
    """A command that says how several values are typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed; an option that takes one value is given once."""
        use_flags(self.params)
        for param in self.params:
            self._check_no_repeated(ctx, param, args)
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:  # of click, or of typer's own copy
            message = getattr(problem, "message", "")
            if isinstance(message, str) and "unexpected extra argument" in message:
                problem.message = message + _HINT  # type: ignore[attr-defined]
            raise

    def _check_no_repeated(self, ctx: Any, param: Any, given: list[str]) -> None:
        several = any(getattr(param, kind, False) for kind in ("multiple", "is_flag", "count"))
        typed = [flag for flag in param.opts if flag.startswith("-")]
        count = sum(word.partition("=")[0] in typed for word in given)
        if count > 1 and not several:
            names = f", with names separated by commas: {typed[-1]} first,second"
            names *= "commas" in (param.help or "")
            ctx.fail(f"{typed[-1]} is given {count} times. Give it once{names}.")


class _Group(_PlainFlags, TyperGroup):
    """A group of commands."""


class App(typer.Typer):
    """A tree of commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Any:
        """Add a function as a command."""
        return super().command(name, cls=_Command, **options)


# --- flags for parameters of Python ---------------------------------------------------------------

# What raises an error marks the parameters that it names (`labelance.exceptions.arg`); the command
# that runs says here how each is typed. These have other names in Python.
_OTHER_NAMES = {
    "overwrite": "force", "random_state": "seed", "n_jobs": "jobs", "y": "labels",
    "y_true": "truth", "y_score": "scores", "y_proba": "scores",
}  # fmt: skip
flags: dict[str, str] = {}  # how parameters are typed
_names: dict[str, Sequence[str]] = {}


def use_flags(params: Iterable[Any]) -> None:
    """Begin a command with these parameters, of click."""
    flags.clear()
    _names.clear()
    for param in params:
        is_option = param.param_type_name == "option"
        name = max(param.opts, key=len) if is_option else param.metavar or param.name.upper()
        flags[param.name.rstrip("_")] = name
    flags.update({python: flags[name] for python, name in _OTHER_NAMES.items() if name in flags})


def use_names(feature_names: Sequence[str], label_names: Sequence[str]) -> None:
    """Name columns and labels of data that travel without their names."""
    _names.update({COLUMN: feature_names, LABEL: label_names})


def in_flags(said: Exception | Warning) -> str:
    """Return an error or a warning in the words of the command that runs."""
    if isinstance(said, (LabelanceError, LabelanceWarning)):
        return said.write(_spell)
    return str(said) or type(said).__name__


def _spell(name: str, value: str) -> str:
    """Write a parameter, and its value in Python if it has one, as one types it in a shell."""
    if name in _names and int(value) < len(_names[name]):
        return repr(_names[name][int(value)])
    flag = flags.get(name)
    if flag is None or not value:
        return flag or arg_in_python(name, value)
    if value == "True" and " " not in flag:
        return flag
    try:
        read = literal_eval(value)
    except (ValueError, SyntaxError):
        read = value
    several = isinstance(read, (list, tuple))
    typed = "…" if value == "…" else quote(",".join(map(str, read)) if several else str(read))
    return f"{flag}{'=' if ' ' in flag else ' '}{typed}"  # --set name=value


# --- output ---------------------------------------------------------------------------------------


@contextmanager
def only_results_on_stdout() -> Iterator[None]:
    """Redirect stdout of the block to stderr, from Python, C or a process."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def report_kept_files(*files: Path) -> Iterator[None]:
    """Say, if Ctrl-C ends the block, which of the files it has written.

    Parameters
    ----------
    *files : Path
        What the block may write.
    """
    before = [_version(file) for file in files]
    try:
        yield
    except KeyboardInterrupt:
        written = [str(file) for file, old in zip(files, before) if _version(file) != old]
        kept = f"after writing {', '.join(written)}" if written else "before anything was written"
        say(f"interrupted {kept}", to=errors)
        raise


def _version(file: Path) -> tuple[int, int] | None:
    """Return what differs between two files of one name; writing makes a new one."""
    try:
        about = file.stat()
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_mtime_ns


def print_json(value: Any, *, aside: bool = False) -> None:
    """Print a value as JSON, ``aside`` on standard error; not-a-number becomes null."""
    print(json.dumps(plain(value), indent=2), file=sys.stderr if aside else None)


def plain(value: Any) -> Any:
    """Return a value of types that JSON has; not-a-number and infinity become None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1
) -> None:
    """Print rows of text under a heading; the first ``left`` columns are left-aligned."""
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(
            escape(column), justify="left" if number < left else "right", no_wrap=number == 0
        )
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


@contextmanager
def long_work(description: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show what a command is at, with the loops of the library that take their time.

    The block gets a function that changes the description. ``quiet`` is silent, as a pipe is.
    """
    with show_progress(not quiet), heading(description) as tell:
        yield tell
