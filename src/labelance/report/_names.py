"""The paper's names and their order, and any other name made fit to print."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

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
    >>> from labelance.report._names import PAPER_METHODS, in_order
    >>> in_order(["mine", "EMLSOL", "Default"], PAPER_METHODS)
    ['Default', 'EMLSOL', 'mine']
    """
    place = {name: position for position, name in enumerate(first)}
    return sorted(set(names), key=lambda name: (place.get(name, len(place)), name))


def plain(name: object) -> str:
    r"""Return a name as one line of printable text; what cannot be printed becomes U+FFFD.

    Examples
    --------
    >>> from labelance.report._names import plain
    >>> plain("two\nlines"), plain("nul\x00")
    ('two lines', 'nul�')
    """
    return "".join(map(_printable, " ".join(str(name).split())))


def slug(name: str) -> str:
    """Return a name for files and anchors; names that had to be changed keep apart by a hash.

    Examples
    --------
    >>> from labelance.report._names import slug
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
