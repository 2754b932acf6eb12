"""Write a report in the format that its path names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from labelance._utils._files import replace_when_done
from labelance.exceptions import InputError
from labelance.report._formats import to_latex, to_markdown, write_csv
from labelance.report._gather import gather
from labelance.report._html import to_html
from labelance.report._ranking import Correction

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
            "The ending of a report's path is .html, .md, .tex, .csv or none",
            f"{path.name!r} with format={format!r} came",
            'Rename it, or say format="html", "markdown", "latex" or "csv"',
        )
    return kind
