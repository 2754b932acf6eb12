"""Write a report in the format that its path names: CSV, Markdown, LaTeX, or HTML by `_html`.

CSV is one file of numbers, or a folder with one file per table; Markdown has tables with pipes,
as GitHub and most others read them; LaTeX is a document that compiles, of tables (booktabs) that
can be copied out of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labelance._utils._files import replace_when_done
from labelance._utils._messages import is_number
from labelance._utils._page import render
from labelance.exceptions import InputError
from labelance.report._gather import Report, gather
from labelance.report._html import to_html
from labelance.report._ranking import Correction

# A spreadsheet takes text that begins so for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@")

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")

_ESCAPES = {sign: f"\\{sign}" for sign in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # Brackets after a line's end would be read as its option.
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "∞": r"$\infty$",
    "–": "--",
    "…": r"\dots{}",
}
_LATEX = str.maketrans(_ESCAPES)


def write_csv(report: Report, path: Path) -> None:
    """Write the scores as one tidy file, or all tables into a folder."""
    if path.suffix:
        _write(report.scores, path)
        return
    frames = {table.name: table.to_frame() for table in report.tables}
    for name, frame in {**frames, "ranks": report.ranks, "scores": report.scores}.items():
        _write(frame, path / f"{name}.csv")


def _write(frame: Any, path: Path) -> None:
    words = frame.select_dtypes(exclude="number").columns
    safe = frame.rename(columns=lambda name: disarm(str(name)))
    # Two columns may have one name ("p" in a user's table), so columns are taken by place.
    for place in np.flatnonzero(frame.columns.isin(words)):
        safe.isetitem(place, frame.iloc[:, place].map(disarm))
    with replace_when_done(path) as temporary:
        safe.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")


def disarm(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula.

    Examples
    --------
    >>> from labelance.report._formats import disarm
    >>> disarm("=1+1"), disarm("yeast"), disarm("-0.25")
    ("'=1+1", 'yeast', '-0.25')
    """
    return f"'{text}" if text.startswith(_FORMULA) and not is_number(text) else text


def escape_markdown(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Examples
    --------
    >>> from labelance.report._formats import escape_markdown
    >>> print(escape_markdown("a_b|<c>"))
    a\_b\|\<c\>
    """
    return _MARKDOWN.sub(r"\\\1", text)


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Examples
    --------
    >>> from labelance.report._formats import escape_latex
    >>> print(escape_latex("a_b & 5%"))
    a\_b \& 5\%
    """
    return text.translate(_LATEX)


Format = Literal["html", "markdown", "latex", "csv"]
_SUFFIXES: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".tex": "latex",
    ".csv": "csv",
    "": "csv",
}
_WRITERS: dict[Format, Callable[[Report], str]] = {
    "html": to_html,
    "markdown": lambda report: _fill_in(report, "report.md", escape_markdown),
    "latex": lambda report: _fill_in(report, "report.tex", escape_latex),
}


def _fill_in(report: Report, name: str, escape: Callable[[str], str]) -> str:
    return render("labelance.report", name, escape, report=report)


def write_report(
    results: Any,
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    datasets: Any = None,
    title: str = "Study",
    about: Mapping[str, Any] | None = None,
    config: str | None = None,
    methods: Sequence[str] | None = None,
    learners: Sequence[str] | None = None,
    correction: Correction | None = "bergmann_hommel",
    alpha: float = 0.05,
) -> Path:
    """Write a report of a study: a verdict, tables, and in HTML also figures.

    Parameters
    ----------
    results : pandas.DataFrame
        Tidy results, as in :func:`study_tables`.
    path : str or path
        Where to; its ending says the format: ``.html`` (one file, opens offline), ``.md``,
        ``.tex``, ``.csv`` (the scores as numbers), no ending (a folder with one CSV file per
        table).
    format : {"html", "markdown", "latex", "csv"}, optional
        The format, where the ending does not say it.
    datasets : pandas.DataFrame, optional
        What Table 1 shows.
    title : str, default="Study"
        The heading.
    about : dict, optional
        What stands below the heading: preset, version, machine, date. Nothing is added to
        it, so that the same results give the same bytes.
    config, methods, learners, correction, alpha
        As in :func:`study_tables`.

    Returns
    -------
    path : pathlib.Path
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from labelance.report import write_report
    >>> cells = pd.DataFrame(
    ...     [(d, "BR", m, 0, f, 0.5 + 0.1 * (m == "MLSOL") + 0.01 * f)
    ...      for d in "abc" for m in ("Default", "MLSOL") for f in (0, 1)],
    ...     columns=["dataset", "learner", "method", "repeat", "fold", "macro_f1"])
    >>> path = write_report(cells, Path(tempfile.mkdtemp()) / "report.md")
    >>> path.read_text().splitlines()[0]
    '# Study'
    """
    target = Path(path)
    kind = _kind(target, format)
    report = gather(
        results, datasets=datasets, title=title, about=about, config=config, methods=methods,
        learners=learners, correction=correction, alpha=alpha,
    )  # fmt: skip
    if kind == "csv":
        write_csv(report, target)
        return target
    text = _WRITERS[kind](report)
    with replace_when_done(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


def _kind(path: Path, format: Format | None) -> Format:
    kind = format or _SUFFIXES.get(path.suffix.lower())
    if kind is None or kind not in _SUFFIXES.values():
        raise InputError(
            "The path of a report must end in .html, .md, .tex or .csv, or have no extension",
            f"Got {path.name!r} with format={format!r}",
        )
    return kind
