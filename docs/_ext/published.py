"""What a published site has besides its pages: llms.txt, sitemap.xml, links to other projects.

``llms.txt`` (https://llmstxt.org) is written always. The environment variable LABELANCE_SITE is the
address of the site, with the folders of all versions below it; where it is not set, the build
reaches no network and names no address.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.sax.saxutils import escape

SITE = os.environ.get("LABELANCE_SITE", "").rstrip("/")
FOLDER = os.environ.get("LABELANCE_SITE_FOLDER", "dev")
# Inventories of other projects, for links from our reference to theirs.
OTHERS = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "imblearn": ("https://imbalanced-learn.org/stable", None),
    "pandas": ("https://pandas.pydata.org/docs", None),
}
CHAPTER = re.compile(r"^```{toctree}\n:caption: ([^\n]+)\n(?::[^\n]*\n)*\n(.*?)```", re.M | re.S)


def add_address(app, config):
    """Set what depends on the address: links to others, the base of all pages, the versions."""
    config.html_baseurl = f"{SITE}/{FOLDER}/"
    config.intersphinx_mapping = OTHERS
    # The two files differ in every version; the menu is read from one place.
    config.html_theme_options = config.html_theme_options | {
        "switcher": {"json_url": f"{SITE}/versions.json", "version_match": FOLDER},
        "check_switcher": False,
        "navbar_end": ["version-switcher", *config.html_theme_options["navbar_end"]],
    }


def list_chapters(guide, titles):
    """Yield the captions of the guide, each with the names and titles of its pages.

    Examples
    --------
    >>> text = "```{toctree}\\n:caption: Data\\n:maxdepth: 1\\n\\nformats\\n```\\n"
    >>> list(list_chapters(text, {"user_guide/formats": "Formats"}))
    [('Data', [('user_guide/formats', 'Formats')])]
    """
    for heading, pages in CHAPTER.findall(guide):
        yield heading, find_titles([f"user_guide/{name}" for name in pages.split()], titles)


def find_titles(names, titles):
    """Return names of pages that are there, with their titles."""
    return [(name, titles[name]) for name in names if name in titles]


def write_llms(app, titles):
    """Write an overview for programs that read: what it is, and a line for every page."""
    base = app.config.html_baseurl
    guide = Path(app.srcdir, "user_guide", "index.md").read_text(encoding="utf-8")
    chapters = [
        ("Overview", find_titles(("index", "install"), titles)),
        *list_chapters(guide, titles),
        ("Reference", find_titles(("api/index", "studies/index", "stability"), titles)),
    ]
    lines = [
        "# labelance",
        "",
        "> Imbalanced multi-label learning in Python: measure imbalance, resample, weight,",
        "> set thresholds, compare. In the style of imbalanced-learn and scikit-learn.",
    ]
    for heading, pages in chapters:
        lines += ["", f"## {heading}", ""]
        lines += [f"- [{title}]({base}{name}.html)" for name, title in pages]
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_sitemap(app, names):
    """Write the addresses of all pages, for search engines."""
    pages = "".join(
        f" <url><loc>{escape(app.config.html_baseurl + name)}.html</loc></url>\n" for name in names
    )
    Path(app.outdir, "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{pages}</urlset>\n',
        encoding="utf-8",
    )


def write_files(app, failure):
    """Write the files at the end of a build that went well."""
    if failure or app.builder.format != "html":
        return
    titles = {name: title.astext() for name, title in app.env.titles.items()}
    write_llms(app, titles)
    if SITE:
        write_sitemap(app, sorted(titles))


def setup(app):
    """Let Sphinx call us."""
    if SITE:
        app.setup_extension("sphinx.ext.intersphinx")
        app.connect("config-inited", add_address, priority=100)  # before intersphinx reads it
    app.connect("build-finished", write_files)
    return {"parallel_read_safe": True}
