"""LaTeX: a document that compiles, of tables (booktabs) that can be copied out of it."""

from __future__ import annotations

from labelance.report._gather import Report
from labelance.report._table import Row, Table

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
_TABLE = str.maketrans(_ESCAPES)
# More rows than this do not fit on a page.
_LONG = 34

_HEAD = r"""\documentclass{article}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\usepackage{longtable}
\begin{document}
"""


def to_latex(report: Report) -> str:
    """Return the report as a LaTeX document."""
    said = [f"{key}: {value}" for key, value in report.about.items()] + report.notes
    items = "\n".join(rf"\item {escape(line)}" for line in said)
    parts = [
        rf"\section*{{{escape(report.title)}}}" + "\n\n" + escape(" ".join(report.verdict)),
        "\\begin{itemize}\n" + items + "\n\\end{itemize}" if items else "",
        *(_table(table) for table in report.tables),
    ]
    # A page for every few tables: LaTeX gives up with too many of them waiting for a place.
    body = "\n\n\\clearpage\n".join(part for part in parts if part)
    return f"{_HEAD}\n{body}\n\n\\end{{document}}\n"


def escape(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Examples
    --------
    >>> from labelance.report._latex import escape
    >>> print(escape("a_b & 5%"))
    a\_b \& 5\%
    """
    return text.translate(_TABLE)


def _table(table: Table) -> str:
    heads = table.heads[1:] if table.is_grouped else table.heads
    kinds = "l" * len(heads) + "r" * len(table.columns)
    head = _line([escape(name) for name in (*heads, *table.columns)])
    groups = [_group(table, group) for group in table.groups]
    body = "\n\\midrule\n".join(groups)
    title = f"{table.title}. {table.note}" if table.note else f"{table.title}."
    caption = rf"\caption{{{escape(title)}}}"
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


def _group(table: Table, rows: list[Row]) -> str:
    """Write a run of rows, under its name in the middle as in the paper."""
    first = 1 if table.is_grouped else 0
    lines = [_line(_cells(row)[first:]) for row in rows]
    if table.is_grouped:
        width = len(table.heads) - 1 + len(table.columns)
        name = escape(rows[0].heads[0])
        lines.insert(0, rf"\multicolumn{{{width}}}{{c}}{{{name}}} \\ \midrule")
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    bold = [
        rf"\textbf{{{escape(cell)}}}" if place in row.best else escape(cell)
        for place, cell in enumerate(row.cells)
    ]
    return [*map(escape, row.heads), *bold]


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
