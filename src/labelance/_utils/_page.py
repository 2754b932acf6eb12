"""What the HTML pages share: style, script, and the hash that allows this script alone."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import NamedTuple


class PageParts(NamedTuple):
    """Parts of a page that needs no other file.

    Attributes
    ----------
    style, script : str
        What all pages have, and then what this one has.
    script_hash : str
        The hash by which the page allows its own script and no other, whatever a name smuggles in.
    """

    style: str
    script: str
    script_hash: str


def read_template(package: str, name: str) -> str:
    """Return a file of a package's folder ``templates``."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


def read_page_parts(package: str, name: str) -> PageParts:
    """Return style and script of the page ``name`` of a package.

    Examples
    --------
    >>> from labelance._utils._page import read_page_parts
    >>> read_page_parts("labelance.imbalance", "profile").script_hash[:7]
    'sha256-'
    """
    style, script = (
        read_template("labelance._utils", f"page.{kind}") + read_template(package, f"{name}.{kind}")
        for kind in ("css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return PageParts(style, script, f"sha256-{digest}")
