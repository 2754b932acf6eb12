"""What the HTML pages share: style, script, and the hash that allows this script alone."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from labelance._utils._messages import optional_import


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


def render(package: str, name: str, escape: Callable[[str], str], **values: Any) -> str:
    """Fill in a jinja template with ``<< value >>`` and ``<% if %>``, and escape every value.

    Those are signs that LaTeX and Markdown leave free. What a macro returned is passed through
    ``| safe``: its values are escaped already.
    """
    jinja2 = optional_import("jinja2", extra="report", purpose="A report")
    environment = jinja2.Environment(
        block_start_string="<%", block_end_string="%>",
        variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
        loader=jinja2.FunctionLoader(partial(read_template, package)),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else escape(str(value)),
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return str(environment.get_template(name).render(**values))
