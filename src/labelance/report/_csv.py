"""CSV: one file of numbers, or a folder with one file per table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelance._utils import replace_when_done
from labelance.report._gather import Report

# A spreadsheet takes text that begins so for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@")


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
    >>> from labelance.report._csv import disarm
    >>> disarm("=1+1"), disarm("yeast"), disarm("-0.25")
    ("'=1+1", 'yeast', '-0.25')
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
