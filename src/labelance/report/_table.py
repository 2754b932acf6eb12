"""Tables ready to be written: text in cells, where the best stand, and names fit to print."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

# Columns of the results, and what the paper calls them.
METRICS = {"macro_f1": "F-measure", "macro_auc_roc": "AUC-ROC", "macro_auc_pr": "AUCPR"}
PAPER_METHODS = ("Default", "MLSMOTE", "RHwRSMT", "MLSOL", "EMLSMOTE", "ERHwRSMT", "EMLSOL")
PAPER_LEARNERS = ("BR", "MLkNN", "CLR", "RAkEL", "COCOA", "ECCRU3")

# Characters that turn the reading direction would let a name rewrite the line it stands in.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """Sort ``names``: those in ``first`` as they stand there, then the others by alphabet.

    Examples
    --------
    >>> from labelance.report._table import PAPER_METHODS, in_order
    >>> in_order(["mine", "EMLSOL", "Default"], PAPER_METHODS)
    ['Default', 'EMLSOL', 'mine']
    """
    place = {name: position for position, name in enumerate(first)}
    return sorted(set(names), key=lambda name: (place.get(name, len(place)), name))


def one_line(name: object) -> str:
    r"""Return a name as one line of printable text; what cannot be printed becomes U+FFFD.

    Examples
    --------
    >>> from labelance.report._table import one_line
    >>> one_line("two\nlines"), one_line("nul\x00")
    ('two lines', 'nul�')
    """
    return "".join(map(_printable, " ".join(str(name).split())))


def slug(name: str) -> str:
    """Return a name for files and anchors; names that had to be changed keep apart by a hash.

    Examples
    --------
    >>> from labelance.report._table import slug
    >>> slug("MLkNN"), slug("a b")
    ('mlknn', 'a-b-c8687a')
    """
    simple = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    if re.fullmatch("[A-Za-z0-9-]+", name):
        return simple
    return f"{simple}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _printable(character: str) -> str:
    hidden = unicodedata.category(character) in ("Cc", "Cs") or character in _TURNING
    return "\ufffd" if hidden else character


NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """One line: the words that name it, its cells, and which of them are in bold."""

    heads: tuple[str, ...]
    cells: tuple[str, ...]
    best: frozenset[int] = frozenset()
    is_total: bool = False


@dataclass(frozen=True)
class Table:
    """A titled table of text, the same for every format.

    Attributes
    ----------
    name : str
        For file names and anchors: small letters and hyphens.
    title : str
        What the table shows, in a few words.
    heads, columns : tuple of str
        Headings of the words that name a row, and of its cells. With more than one, the first
        names a group of rows.
    rows : list of Row
        The lines.
    note : str
        How to read it, or what is missing.
    """

    name: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    note: str = ""

    @property
    def groups(self) -> list[list[Row]]:
        """The rows in runs of equal first word; one run where a row has one word only."""
        if not self.is_grouped:
            return [self.rows]
        return [list(run) for _, run in groupby(self.rows, key=lambda row: row.heads[0])]

    @property
    def is_grouped(self) -> bool:
        """Whether the first word of a row names its group."""
        return len(self.heads) > 1

    def to_frame(self) -> Any:
        """Return the cells as they are shown, without emphasis, as a data frame."""
        import pandas as pd

        lines = [(*row.heads, *row.cells) for row in self.rows]
        return pd.DataFrame(lines, columns=[*self.heads, *self.columns])


def where_least(values: Sequence[float], *, digits: int) -> frozenset[int]:
    """Return the places of the least value, as far as ``digits`` decimals show it.

    What more than half of them share distinguishes none: then there is none.

    Examples
    --------
    >>> from labelance.report._table import where_least
    >>> sorted(where_least([1.501, 1.502, 3.0, 4.0], digits=2)), where_least([1, 1], digits=2)
    ([0, 1], frozenset())
    """
    shown = [round(value, digits) for value in values if not math.isnan(value)]
    least = min(shown, default=math.nan)
    if 2 * shown.count(least) > len(shown):
        return frozenset()
    return frozenset(place for place, value in enumerate(values) if round(value, digits) == least)


def decimals(value: float, digits: int) -> str:
    """Write a number with this many decimals, a dash for what is not a number.

    Examples
    --------
    >>> from labelance.report._table import decimals
    >>> decimals(1.3846, 2), decimals(float("nan"), 2)
    ('1.38', '–')
    """
    return NOTHING if math.isnan(value) else f"{value:.{digits}f}"


def p_text(p: float) -> str:
    """Write a p-value, the very small ones as a bound.

    Examples
    --------
    >>> from labelance.report._table import p_text
    >>> p_text(0.0312), p_text(1e-9)
    ('0.031', '<0.001')
    """
    return "<0.001" if p < 0.001 else decimals(p, 3)


def seconds_text(seconds: float, *, total: float) -> str:
    """Write seconds with as many decimals as suit their total, so that a table has the same.

    Examples
    --------
    >>> from labelance.report._table import seconds_text
    >>> [seconds_text(value, total=640) for value in (0.01234, 12.34, 640)]
    ['<0.1', '12.3', '640.0']
    >>> seconds_text(0.01234, total=3)
    '0.012'
    """
    if math.isnan(seconds):
        return NOTHING
    digits = 3 if total < 10 else 2 if total < 100 else 1 if total < 10_000 else 0
    unit = 10.0**-digits
    return f"<{unit:.{digits}f}" if 0 < seconds < unit / 2 else f"{seconds:,.{digits}f}"


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    Examples
    --------
    >>> from labelance.report._table import listed
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
