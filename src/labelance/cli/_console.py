"""What a person sees: tables and progress on a terminal, plain lines or JSON in a pipe."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from labelance._progress import heading, show_progress
from labelance.cli._flags import use_flags

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


class _PlainFlags:
    """Shows flags by their name alone in the help; some versions of typer add ``<bool>``."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


_HINT = (
    ". Several values go by commas, without blanks (--labels happy,sad), a parameter without blanks"
    " (--set name=value); quote values with blanks or *."
)


class _Command(_PlainFlags, TyperCommand):
    """A command whose help shows plain flags, and which says how several values are typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed; an option that takes one value is given once."""
        params = self.get_params(ctx)
        use_flags(params)
        for param in params:
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
        flags = [flag for flag in param.opts if flag.startswith("-")]
        typed = [word for word in given if word.partition("=")[0] in flags]
        if len(typed) > 1 and not several:
            commas = "commas" in (param.help or "")
            several_names = f", with names separated by commas: {flags[-1]} first,second"
            ctx.fail(
                f"{flags[-1]} is given {len(typed)} times. Give it once{several_names * commas}."
            )


class _Group(_PlainFlags, TyperGroup):
    """A group of commands whose help shows plain flags."""


class App(typer.Typer):
    """A tree of commands whose help shows plain flags."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=_Group, **options)

    def command(self, name: str | None = None, **options: Any) -> Any:
        """Add a function as a command."""
        return super().command(name, cls=_Command, **options)


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
