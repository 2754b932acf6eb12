"""What all figures share: style, and the way from a figure to a piece of HTML."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from labelance._utils import optional_import

# Dark text on white, and two colors that people with color-blindness can tell apart.
INK, FAINT, BLUE, ORANGE = "#1b1f24", "#8a9099", "#0072B2", "#D55E00"
# Inches: at this width letters of 10 points are about 11 pixels on a phone.
WIDTH = 4.6

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    # Names are other people's text: a dollar sign in them does not begin a formula.
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    # Letters stay letters: smaller files, and readable by search and screen readers.
    "svg.fonttype": "none",
}


def short(name: str, most: int = 18) -> str:
    """Cut a long name; figures have little room and the tables have it whole."""
    return name if len(name) <= most else name[: most - 1] + "…"


@contextmanager
def drawing() -> Iterator[Any]:
    """Yield matplotlib's figure module under the report's style."""
    style = optional_import("matplotlib.style", extra="report", purpose="Drawing a report")
    figures = optional_import("matplotlib.figure", extra="report", purpose="Drawing a report")
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # Names in any script are drawn by the reader's fonts, not by those found here.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield figures


def to_svg(figure: Any, *, name: str, title: str, description: str) -> str:
    """Return a figure as SVG to stand inside HTML, with words for those who cannot see it.

    The same figure gives the same bytes: no date, and ids made from ``name``.
    """
    matplotlib = optional_import("matplotlib", extra="report", purpose="Drawing a report")
    file = io.StringIO()
    with drawing(), matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(file.getvalue(), name, title, description)


def _inline(svg: str, name: str, title: str, description: str) -> str:
    """Drop what only files need, and all ids that nothing refers to."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    head, _, body = svg.partition(">")
    body = body.replace("xlink:href", "href")
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", body))
    body = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", body)
    box = re.search(r'viewBox="([^"]*)"', head)
    words = f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc>"
    size = box[1] if box else "0 0 1 1"
    return f'<svg viewBox="{size}" role="img" aria-label="{html.escape(title)}">{words}{body}'
