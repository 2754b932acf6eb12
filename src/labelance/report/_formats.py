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

from labelance._utils._files import replace_when_done
from labelance._utils._messages import is_number
from labelance.exceptions import InputError
from labelance.report._gather import Report, gather
from labelance.report._html import to_html
from labelance.report._ranking import Correction
from labelance.report._table import Row, Table

# A spreadsheet takes text that begins so for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@")

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
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
# More rows than this do not fit on a page.
_LONG = 34

_LATEX_HEAD = r"""\documentclass{article}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\usepackage{longtable}
\begin{document}
"""


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
    # Two columns may have one name ("p" in a user's table), so columns are taken by place.
    safe = frame.copy()
    for place, column in enumerate(frame.columns):
        if column in words:
            safe.isetitem(place, frame.iloc[:, place].map(disarm))
    safe.columns = [disarm(str(column)) for column in frame.columns]
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


def to_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    about = [
        f"- {escape_markdown(key)}: {escape_markdown(value)}" for key, value in report.about.items()
    ]
    notes = [f"- {escape_markdown(note)}" for note in report.notes]
    verdict = escape_markdown(" ".join(report.verdict))
    parts = [f"# {escape_markdown(report.title)}", verdict, "\n".join(about), "\n".join(notes)]
    parts += [_markdown_table(table) for table in report.tables]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape_markdown(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Examples
    --------
    >>> from labelance.report._formats import escape_markdown
    >>> print(escape_markdown("a_b|<c>"))
    a\_b\|\<c\>
    """
    return _MARKDOWN.sub(r"\\\1", text)


def _markdown_table(table: Table) -> str:
    columns = [*table.heads, *table.columns]
    ruler = [":--"] * len(table.heads) + ["--:"] * len(table.columns)
    lines = [_markdown_line([escape_markdown(column) for column in columns]), _markdown_line(ruler)]
    lines += [_markdown_line(_cells(row, escape_markdown, "**%s**")) for row in table.rows]
    note = f"\n\n{escape_markdown(table.note)}" if table.note else ""
    return f"## {escape_markdown(table.title)}\n\n" + "\n".join(lines) + note


def _markdown_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def to_latex(report: Report) -> str:
    """Return the report as a LaTeX document."""
    said = [f"{key}: {value}" for key, value in report.about.items()] + report.notes
    items = "\n".join(rf"\item {escape_latex(line)}" for line in said)
    parts = [
        rf"\section*{{{escape_latex(report.title)}}}"
        + "\n\n"
        + escape_latex(" ".join(report.verdict)),
        "\\begin{itemize}\n" + items + "\n\\end{itemize}" if items else "",
        *(_latex_table(table) for table in report.tables),
    ]
    # A page for every few tables: LaTeX gives up with too many of them waiting for a place.
    body = "\n\n\\clearpage\n".join(part for part in parts if part)
    return f"{_LATEX_HEAD}\n{body}\n\n\\end{{document}}\n"


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Examples
    --------
    >>> from labelance.report._formats import escape_latex
    >>> print(escape_latex("a_b & 5%"))
    a\_b \& 5\%
    """
    return text.translate(_LATEX)


def _latex_table(table: Table) -> str:
    heads = table.heads[1:] if table.is_grouped else table.heads
    kinds = "l" * len(heads) + "r" * len(table.columns)
    head = _latex_line([escape_latex(name) for name in (*heads, *table.columns)])
    groups = [_latex_group(table, group) for group in table.groups]
    body = "\n\\midrule\n".join(groups)
    title = f"{table.title}. {table.note}" if table.note else f"{table.title}."
    caption = rf"\caption{{{escape_latex(title)}}}"
    label = rf"\label{{tab:{table.name}}}"
    if len(table.rows) > _LONG:
        return (
            "{\\footnotesize\n\\setlength{\\tabcolsep}{4pt}\n"
            f"\\begin{{longtable}}{{@{{}}{kinds}@{{}}}}\n{caption}{label}\\\\\n"
            f"\\toprule\n{head}\n\\midrule\n\\endfirsthead\n"
            f"\\toprule\n{head}\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n"
            f"{body}\n\\end{{longtable}}\n}}"
        )
    return (
        "\\begin{table}[htbp]\n\\centering\n\\footnotesize\n\\setlength{\\tabcolsep}{4pt}\n"
        f"{caption}\n{label}\n\\begin{{tabular}}{{@{{}}{kinds}@{{}}}}\n"
        f"\\toprule\n{head}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}"
    )


def _latex_group(table: Table, rows: list[Row]) -> str:
    """Write a run of rows, under its name in the middle as in the paper."""
    first = 1 if table.is_grouped else 0
    lines = [_latex_line(_cells(row, escape_latex, r"\textbf{%s}")[first:]) for row in rows]
    if table.is_grouped:
        width = len(table.heads) - 1 + len(table.columns)
        name = escape_latex(rows[0].heads[0])
        lines.insert(0, rf"\multicolumn{{{width}}}{{c}}{{{name}}} \\ \midrule")
    return "\n".join(lines)


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cells(row: Row, escape: Callable[[str], str], bold: str) -> list[str]:
    """Return the escaped text of a row's cells, the best of them in bold."""
    cells = [
        bold % escape(cell) if place in row.best else escape(cell)
        for place, cell in enumerate(row.cells)
    ]
    return [*map(escape, row.heads), *cells]


Format = Literal["html", "markdown", "latex", "csv"]
_SUFFIXES: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".tex": "latex",
    ".csv": "csv",
    "": "csv",
}
_WRITERS = {"html": to_html, "markdown": to_markdown, "latex": to_latex}


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
        results,
        datasets=datasets,
        title=title,
        about=about,
        config=config,
        methods=methods,
        learners=learners,
        correction=correction,
        alpha=alpha,
    )
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
            'Rename it, or pass format="html", "markdown", "latex" or "csv"',
        )
    return kind
