"""Write a report in the format that its path names: CSV, Markdown, LaTeX or HTML.

HTML is one file that needs nothing else: style, script and figures are inside. CSV is one file of
numbers, or a folder with one file per table; Markdown has tables with pipes, as GitHub and most
others read them; LaTeX is a document that compiles, of tables (booktabs) that can be copied out
of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

import labelance
from labelance._utils._files import replace_when_done
from labelance._utils._messages import is_number, optional_import
from labelance._utils._page import read_page_parts, read_template, render
from labelance.exceptions import InputError
from labelance.report._figures import (
    plot_critical_difference,
    plot_scores,
    plot_time_quality,
    to_svg,
)
from labelance.report._ranking import Block, Correction
from labelance.report._table import METRICS, Table, decimals, listed, p_text, slug
from labelance.report._tables import Report, gather

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
_TEMPLATES: dict[Format, tuple[str, Callable[[str], str]]] = {
    "markdown": ("report.md", escape_markdown),
    "latex": ("report.tex", escape_latex),
}


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
    if kind == "html":
        text = to_html(report)
    else:
        text = render("labelance.report", *_TEMPLATES[kind], report=report)
    with replace_when_done(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


def _kind(path: Path, format: Format | None) -> Format:
    kind = format or _SUFFIXES.get(path.suffix.lower())
    if kind is None or kind not in _SUFFIXES.values():
        problem = "The path of a report must end in .html, .md, .tex or .csv, or have no extension"
        raise InputError(problem, f"Got {path.name!r} with format={format!r}")
    return kind


# --- HTML -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Detail:
    """A part that the reader can choose; without a measure it belongs to the learner."""

    name: str
    title: str
    learner: str
    metric: str
    figures: list[Any]
    remark: str = ""
    table: Table | None = None


def to_html(report: Report) -> str:
    """Return the report as HTML. Everything in it is escaped by the template."""
    jinja2 = optional_import("jinja2", extra="report", purpose="Writing HTML")
    markup = optional_import("markupsafe", extra="report", purpose="Writing HTML").Markup
    loader = jinja2.FunctionLoader(partial(read_template, "labelance.report"))
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    parts = read_page_parts("labelance.report", "report")
    return environment.get_template("report.html").render(
        report=report,
        details=_details(report, markup),
        metrics=[METRICS[metric] for metric in report.results.metrics],
        style=markup(parts.style),
        script=markup(parts.script),
        script_hash=parts.script_hash,
        version=labelance.__version__,
    )


def _details(report: Report, markup: Any) -> list[Detail]:
    """Return every learner's comparisons, and after them what its methods cost."""
    parts = []
    for learner in report.results.learners:
        own = [(block, table) for block, table in report.details if block.learner == learner]
        parts += [_comparison(block, table, markup) for block, table in own]
        parts += _time_quality(report, learner, [block for block, _ in own], markup)
    return parts


def _comparison(block: Block, table: Table, markup: Any) -> Detail:
    title = f"{block.learner}, {block.metric_name}"
    name = f"{slug(block.metric_name)}-{slug(block.learner)}"
    figures = []
    if block.comparison is not None:
        ranks = plot_critical_difference(block.comparison, title="Average ranks")
        heading = f"Critical-difference diagram: {title}"
        words = _describe_ranks(block)
        figures.append(to_svg(ranks, name=f"cd-{name}", title=heading, description=words))
        boxes = plot_scores(block.scores, title="Scores", measure=block.metric_name)
        medians = ", ".join(f"{one} {value:.3f}" for one, value in block.scores.median().items())
        words = f"One box per method over {len(block.scores)} datasets. Medians: {medians}"
        heading = f"Box plots: {title}"
        figures.append(to_svg(boxes, name=f"box-{name}", title=heading, description=words))
    return Detail(
        f"detail-{name}", title, block.learner, block.metric_name, list(map(markup, figures)),
        remark=_describe_tests(block), table=table,
    )  # fmt: skip


def _describe_ranks(block: Block) -> str:
    assert block.comparison is not None
    ranks = block.comparison.average_ranks.sort_values(kind="stable")
    shown = ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
    joined = "; ".join(listed(group) for group in block.comparison.cliques)
    return f"Average ranks: {shown}." + (
        f" Not significantly different: {joined}." if joined else ""
    )


def _describe_tests(block: Block) -> str:
    if block.comparison is None:
        return "Too few complete datasets or methods to rank."
    test = block.comparison.friedman
    return (
        f"Friedman's test over {len(block.scores)} datasets: χ² = {decimals(test.chi2, 2)}, "
        f"p {_equals(test.p)}. An orange bar joins methods that the corrected Wilcoxon test "
        "does not tell apart; dots are datasets, the thick line their median. "
        f"{block.comparison.remark()}"
    ).strip()


def _equals(p: float) -> str:
    return p_text(p).replace("<", "< ") if p < 0.001 else f"= {p_text(p)}"


def _time_quality(report: Report, learner: str, blocks: list[Block], markup: Any) -> list[Detail]:
    """Draw cost over datasets ranked under all measures, so that all methods did the same."""
    ranked = [block for block in blocks if block.comparison is not None]
    cells = report.results.done
    if not ranked or "cpu_seconds" not in cells:
        return []
    datasets = set.intersection(*(set(block.scores.index) for block in ranked))
    here = cells[(cells["learner"] == learner) & cells["dataset"].isin(datasets)]
    seconds = here.groupby("method")["cpu_seconds"].mean().dropna()
    ranks: Any = sum(block.ranks for block in ranked) / len(ranked)
    methods = [method for method in ranks.index if method in seconds.index]
    if not methods:
        return []
    title = f"{learner}: time against quality"
    pairs = (f"{name} {seconds[name]:.3g} s, rank {ranks[name]:.2f}" for name in methods)
    svg = to_svg(
        plot_time_quality(seconds[methods], ranks[methods], title="Rank over time"),
        name=f"time-{slug(learner)}",
        title=title,
        description="CPU seconds per fold and average rank. " + "; ".join(pairs),
    )
    remark = (
        f"CPU seconds per fold, mean over {len(datasets)} datasets; average rank, mean over "
        f"{listed([block.metric_name for block in ranked])}."
    )
    return [Detail(f"time-{slug(learner)}", title, learner, "", [markup(svg)], remark)]
