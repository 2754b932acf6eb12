"""Draw a result as the small HTML that notebooks show: verdict first, then at most ten rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from labelance._utils._messages import shorten

MOST_ROWS = 10
_LONGEST_TEXT = 60
_WIDTH = "max-width: 60em"  # of text; a table is as wide as it needs
#: What the heads of tables mean, wherever they stand.
MEANINGS = {
    "count": "rows that have the label",
    "share": "rows that have the label, of all rows",
    "IRLbl": "rows of the most frequent label over rows of this one",
    "ImR": "rows of the label's larger class over rows of its smaller one",
    "SCUMBLE": "how much the label shares rows with labels of other frequency; 0 is not at all",
    "minority": "the rarer value of the label, 0 or 1",
    "SF": "safe minority cells: fewer than 30 % of their neighbors have the other value",
    "BD": "borderline minority cells: 30 to 70 % of their neighbors have the other value",
    "RR": "rare minority cells: 70 % or more of their neighbors have the other value, but not all",
    "OT": "outliers: minority cells all of whose neighbors have the other value",
    "seeds": "original rows from which the added rows were made",
    "pre": "precision: of the rows predicted to have the label, the share that has it",
    "rec": "recall: of the rows that have the label, the share that was found",
    "spe": "specificity: of the rows without the label, the share predicted to lack it",
    "geo": "geometric mean of recall and specificity",
    "f1": "harmonic mean of precision and recall",
    "brier": "mean squared error of the probabilities; 0 is best",
    "ece": "expected calibration error of the probabilities; 0 is best",
    "sup": "support: rows that have the label",
    "threshold": "a label is predicted where its score is at least this",
    "n_positive": "rows that have the label",
    "n_known": "rows in which the label is known",
    "n_needed": "rows with the label that the guarantee needs",
    "n_predicted": "rows predicted to have the label",
    "n_expected": "rows expected to have the label, by the probabilities",
    "n_found": "rows predicted to have the label that have it",
    "value": "the objective at the threshold, on the rows that it was found on",
    "low": "lower end of the interval",
    "high": "upper end of the interval",
    "rank": "mean rank over the data sets; 1 is best",
    "wins": "methods that it is significantly better than",
    "losses": "methods that it is significantly worse than",
    "n": "rows",
    "d": "features",
    "q": "labels",
    "LC": "label cardinality: mean number of labels of a row",
    "MeanImR": "mean of ImR, the rows of a label's larger class over those of its smaller one",
    "-Brier": "Brier loss with its sign changed; larger is better",
    "AUCPR": "area under the curve of precision and recall, mean over labels",
    "AUC-ROC": "area under the ROC curve, mean over labels",
    "F": "harmonic mean of precision and recall, mean over labels",
    "calibrated_by": "a map of the label's own, one that rare labels share (pooled), or its share",
    "CPU s": "processor seconds for one model",
    "origin": "measured by finished cells, probed by small fits, or guessed from others",
    "gain": "difference from doing nothing, with its 95 % interval",
}


def draw_result(
    verdict: str,
    table: Mapping[str, Any],
    *,
    order: Iterable[int] | None = None,
    things: str = "labels",
    facts: Sequence[str] = (),
    code: str = "",
) -> str:
    """Return HTML with a verdict, facts, a table and what its heads mean.

    It sets no color of its own, so that it is light or dark as the notebook is.

    Parameters
    ----------
    verdict : str
        What to know first.
    table : mapping of str to sequence
        A column of values under each head; the first column names the rows.
    order : iterable of int, optional
        The rows by their numbers, most important first. The first ten are shown.
    things : str, default="labels"
        What the rows are.
    facts : sequence of str
        More sentences, one paragraph each.
    code : str
        Python code.

    Examples
    --------
    >>> from labelance._utils._notebook import draw_result
    >>> "<strong>1 &lt; 2</strong>" in draw_result("1 < 2", {"label": ["a"], "count": [3]})
    True
    """
    columns = list(table.values())
    rows = list(range(len(columns[0])) if order is None else order)
    is_left = [not c or (bool(rows) and isinstance(v[rows[0]], str)) for c, v in enumerate(columns)]
    head = "".join(_cell("th", name, left, _tip(name)) for name, left in zip(table, is_left))
    body = "".join(
        "<tr>"
        + "".join(
            _cell("td" if c else "th", format_cell(column[i]), is_left[c])
            for c, column in enumerate(columns)
        )
        + "</tr>"
        for i in rows[:MOST_ROWS]
    )
    more = f"<p>… {len(rows) - MOST_ROWS:,} more {things}</p>" if len(rows) > MOST_ROWS else ""
    meanings = "".join(
        f"<li><b>{escape(name)}</b>: {escape(MEANINGS[name])}</li>"
        for name in table
        if name in MEANINGS
    )
    parts = [
        f'<p style="{_WIDTH}"><strong>{escape(verdict)}</strong></p>',
        *(f'<p style="{_WIDTH}">{escape(fact)}</p>' for fact in facts if fact),
        '<div style="overflow-x: auto"><table>',
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>",
        more,
        f"<details><summary>What the columns mean</summary><ul>{meanings}</ul></details>"
        if meanings
        else "",
        f"<pre>{escape(code)}</pre>" if code else "",
    ]
    # Names may hold bytes that are no text.
    html = f"<div>{''.join(parts)}</div>"
    return html.encode("utf-8", "replace").decode("utf-8")


def _tip(head: str) -> str:
    return f' title="{escape(MEANINGS[head])}"' if head in MEANINGS else ""


def _cell(tag: str, text: str, left: bool, more: str = "") -> str:
    style = f"text-align: {'left' if left else 'right'}"
    if tag == "td":
        style += "; white-space: nowrap"
    return f'<{tag}{more} style="{style}">{escape(text)}</{tag}>'


def format_cell(value: Any) -> str:
    """Return a value in few characters: about four digits of a number, yes for True.

    Examples
    --------
    >>> from labelance._utils._notebook import format_cell
    >>> [format_cell(value) for value in (12345, 0.12345, 17.23, float("nan"), True, "a")]
    ['12,345', '0.123', '17.2', '–', 'yes', 'a']
    """
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if math.isnan(value):
            return "–"
        size = abs(value)
        tiny = 0 < size < 0.001
        return f"{value:.2g}" if tiny else f"{value:,.{3 if size < 10 else int(size < 1000)}f}"
    return shorten(value, _LONGEST_TEXT)
