"""A profile as lines of text, and as the small HTML that a notebook shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from labelance.imbalance._measures import mean_where_defined, rarest_first, rarity_bands
from labelance.imbalance._verdict import describe

if TYPE_CHECKING:
    from labelance.imbalance._profile import ImbalanceProfile

LONGEST_TABLE = 20
LONGEST_NAME = 28


def draw_text(profile: ImbalanceProfile, top: int) -> str:
    """Return the profile as lines of text: overall measures, types, table of labels."""
    parts = [_shape(profile), _overall(profile), _types(profile), _text_table(profile, top)]
    if profile.n_labels > top:
        parts.append("\n".join(_aligned(_band_rows(profile))))
    parts.append(_constant(profile))
    return "\n\n".join(part for part in parts if part)


def draw_html(profile: ImbalanceProfile) -> str:
    """Return a verdict and the same with an HTML table; names of labels are escaped."""
    header, *rows = _rows(profile, LONGEST_TABLE)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    most = math.log1p(profile.label_counts.max())
    body = "".join(
        f"<tr><th>{escape(name)}</th>{_bar(count, most)}"
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for name, count, *cells in rows
    )
    above = "\n\n".join(filter(None, (_shape(profile), _overall(profile), _types(profile))))
    return (
        f"<div><p>{escape(' '.join(describe(profile)))}</p><pre>{escape(above)}</pre>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<pre>{escape(_constant(profile))}</pre></div>"
    )


def _bar(count: str, most: float) -> str:
    """Return the cell of a count with a bar behind it, on a log scale."""
    share = math.log1p(int(count)) / most if count and most else 0.0
    bar = f"linear-gradient(90deg, #7fb2d680 {share:.0%}, transparent 0)"
    return f'<td style="background: {bar}; min-width: 6em">{count}</td>'


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
    some = profile.n_searched != profile.n_samples
    among = f" of {profile.n_searched} rows drawn at random" if some else ""
    if not counts.any():
        return f"minority cells{among}, k={profile.k}: none"
    listed = (f"{n} {kind} ({share:.0%})" for n, (kind, share) in zip(counts, shares.items()))
    return f"minority cells{among}, k={profile.k}: {', '.join(listed)}"


def _text_table(profile: ImbalanceProfile, top: int) -> str:
    return "\n".join(_aligned(_rows(profile, top)))


def _rows(profile: ImbalanceProfile, top: int) -> list[tuple[str, ...]]:
    """Return the header and the shown labels' cells as text, with the gap marked."""
    columns = profile.columns
    order = rarest_first(profile.label_counts).tolist()
    shown, gap = _shortened(order, top)
    rows = [
        (_name(profile.label_names[j]), *(_number(values[j]) for values in columns.values()))
        for j in shown
    ]
    if gap:
        hidden = profile.n_labels - len(rows)
        rows.insert(gap, (f"… {hidden} more", *("" for _ in columns)))
    return [("label", *columns), *rows]


def _shortened(order: list[int], top: int) -> tuple[list[int], int]:
    """Return the labels to show, and how many of them stand before the gap (0: no gap)."""
    if len(order) <= top:
        return order, 0
    tail = top // 4
    head = top - tail
    return [*order[:head], *order[len(order) - tail :]], head


def _band_rows(profile: ImbalanceProfile) -> list[tuple[str, ...]]:
    """Return a header, and means over the labels of like rarity as text."""
    measures = {"IRLbl": profile.irlbl, "ImR": profile.imr, "SCUMBLE": profile.scumble_labels}
    rows = []
    for band, labels in rarity_bands(profile.label_counts).items():
        means = (mean_where_defined(values[labels]) for values in measures.values())
        rows.append((band, str(len(labels)), *map(_number, means)))
    return [("means of labels in", "labels", *measures), *rows]


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
