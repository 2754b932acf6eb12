"""One HTML file that needs nothing else: style, script and figures are inside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import labelance
from labelance._utils._messages import optional_import
from labelance._utils._page import read_page_parts, read_template
from labelance.report._figures import (
    plot_critical_difference,
    plot_scores,
    plot_time_quality,
    to_svg,
)
from labelance.report._gather import Report
from labelance.report._ranking import Block
from labelance.report._table import METRICS, Table, decimals, listed, p_text, slug


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
        figures.append(
            to_svg(
                plot_critical_difference(block.comparison, title="Average ranks"),
                name=f"cd-{name}",
                title=f"Critical-difference diagram: {title}",
                description=_describe_ranks(block),
            )
        )
        figures.append(
            to_svg(
                plot_scores(block.scores, title="Scores", measure=block.metric_name),
                name=f"box-{name}",
                title=f"Box plots: {title}",
                description=f"One box per method over {len(block.scores)} datasets. Medians: "
                + ", ".join(f"{name} {value:.3f}" for name, value in block.scores.median().items()),
            )
        )
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
