"""Markdown: tables with pipes, as GitHub and most others read them."""

from __future__ import annotations

import re

from labelance.report._gather import Report
from labelance.report._table import Row, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")


def to_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    about = [f"- {escape(key)}: {escape(value)}" for key, value in report.about.items()]
    notes = [f"- {escape(note)}" for note in report.notes]
    verdict = escape(" ".join(report.verdict))
    parts = [f"# {escape(report.title)}", verdict, "\n".join(about), "\n".join(notes)]
    parts += [_table(table) for table in report.tables]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    Examples
    --------
    >>> from labelance.report._markdown import escape
    >>> print(escape("a_b|<c>"))
    a\_b\|\<c\>
    """
    return _SPECIAL.sub(r"\\\1", text)


def _table(table: Table) -> str:
    columns = [*table.heads, *table.columns]
    ruler = [":--"] * len(table.heads) + ["--:"] * len(table.columns)
    lines = [_line([escape(column) for column in columns]), _line(ruler)]
    lines += [_line(_cells(row)) for row in table.rows]
    note = f"\n\n{escape(table.note)}" if table.note else ""
    return f"## {escape(table.title)}\n\n" + "\n".join(lines) + note


def _cells(row: Row) -> list[str]:
    bold = [
        f"**{escape(cell)}**" if place in row.best else escape(cell)
        for place, cell in enumerate(row.cells)
    ]
    return [*map(escape, row.heads), *bold]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
