"""How a profile looks, as plain text and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from labelance.imbalance._profile import ImbalanceProfile

LONGEST_TABLE = 20
LONGEST_NAME = 28


def draw_text(profile: ImbalanceProfile) -> str:
    """Return the profile as lines of text: overall measures, types, table of labels."""
    parts = [_shape(profile), _overall(profile), _types(profile), _text_table(profile)]
    parts.append(_constant(profile))
    return "\n\n".join(part for part in parts if part)


def draw_html(profile: ImbalanceProfile) -> str:
    """Return the same with the labels in an HTML table; their names are escaped."""
    header, *rows = _rows(profile)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>" + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    above = "\n\n".join(filter(None, (_shape(profile), _overall(profile), _types(profile))))
    return (
        f"<div><pre>{escape(above)}</pre>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<pre>{escape(_constant(profile))}</pre></div>"
    )


def _shape(profile: ImbalanceProfile) -> str:
    counted = [(profile.n_samples, "row"), (profile.n_features, "feature")]
    counted.append((profile.n_labels, "label"))
    return ", ".join(_plural(count, thing) for count, thing in counted if count is not None)


def _overall(profile: ImbalanceProfile) -> str:
    """Three columns of measures: of the labels, of their ratios, of their concurrence."""
    measures = [
        [
            ("cardinality", _number(profile.cardinality)),
            ("density", _number(profile.density)),
            ("labelsets", _number(profile.n_labelsets)),
            ("seen once", f"{profile.share_single_labelsets:.1%}"),
        ],
        [
            ("MeanIR", _number(profile.mean_ir)),
            ("CVIR", _number(profile.cvir)),
            ("MeanImR", _number(profile.mean_imr)),
        ],
        [
            ("SCUMBLE", _number(profile.scumble)),
            ("SCUMBLE.CV", _number(profile.scumble_cv)),
            *([] if profile.tcs is None else [("TCS", _number(profile.tcs))]),
        ],
    ]
    blocks = [_aligned(block) for block in measures]
    lines = ("    ".join(block[line] for block in blocks if line < len(block)) for line in range(4))
    return "\n".join(lines)


def _types(profile: ImbalanceProfile) -> str:
    shares = profile.type_shares
    if shares is None or profile.type_counts is None:
        return ""
    counts = profile.type_counts.sum(axis=0)
    if not counts.any():
        return f"minority cells, k={profile.k}: none"
    listed = (f"{n} {kind} ({share:.0%})" for n, (kind, share) in zip(counts, shares.items()))
    return f"minority cells, k={profile.k}: {', '.join(listed)}"


def _text_table(profile: ImbalanceProfile) -> str:
    return "\n".join(_aligned(_rows(profile)))


def _rows(profile: ImbalanceProfile) -> list[tuple[str, ...]]:
    """Return the header and the shown labels' cells as text, with the gap marked."""
    columns = profile.columns
    shown, gap = _shortened(profile.n_labels)
    rows = [
        (_name(profile.label_names[j]), *(_number(values[j]) for values in columns.values()))
        for j in shown
    ]
    if gap:
        hidden = profile.n_labels - len(rows)
        rows.insert(gap, (f"… {hidden} more", *("" for _ in columns)))
    return [("label", *columns), *rows]


def _shortened(n_labels: int) -> tuple[list[int], int]:
    """Return the labels to show, and how many of them stand before the gap (0: no gap)."""
    if n_labels <= LONGEST_TABLE:
        return list(range(n_labels)), 0
    tail = LONGEST_TABLE // 4
    head = LONGEST_TABLE - tail
    return [*range(head), *range(n_labels - tail, n_labels)], head


def _constant(profile: ImbalanceProfile) -> str:
    names = profile.constant_labels
    if not names:
        return ""
    more = f", … {len(names) - 5} more" if len(names) > 5 else ""
    line = f"{_plural(len(names), 'constant label')}: {', '.join(map(_name, names[:5]))}{more}"
    return fill(line, width=88, subsequent_indent="  ")


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Pad the first column on the right and the others on the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def _number(value: Any) -> str:
    if isinstance(value, int | np.integer):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.3f}"


def _name(label: Any) -> str:
    text = " ".join(str(label).split())
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _plural(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
