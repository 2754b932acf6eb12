"""Check the links of a built site: ``python .ci/check_links.py docs/_build/html``.

Every link inside the site leads to a file, and to an anchor that is there. Of links to other sites
only the form is checked, so that this needs no network. Every example of the gallery has a
thumbnail of its own: two alike are placeholders.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that lead somewhere, and schemes that are no places of a site.
LEADS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src"}
OTHER = {"mailto", "data", "javascript"}


@dataclass
class Page(HTMLParser):
    """The anchors of a page, and the links in it."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is called and where it leads."""
        found = dict(attrs)
        self.anchors |= {name for name in (found.get("id"), found.get("name")) if name}
        link = found.get(LEADS.get(tag, ""))
        if link:
            self.links.append(link)


def read_page(path: Path) -> Page:
    """Return the anchors and links of a file."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(root: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a site, a sentence each."""
    files = (path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts)
    pages = {path.resolve(): read_page(path) for path in files}
    for path, page in pages.items():
        for link in page.links:
            problem = find_problem(link, path, root.resolve(), pages)
            if problem:
                yield f"{path.relative_to(root.resolve())}: {link} {problem}"


def find_problem(link: str, path: Path, root: Path, pages: dict[Path, Page]) -> str:
    """Return what is wrong with a link, nothing if it is right."""
    parts = urlsplit(link)
    if parts.scheme in OTHER:
        return ""
    if parts.scheme or parts.netloc:
        good = parts.scheme == "https" and "." in parts.netloc and " " not in link
        return "" if good else "is no whole address that begins with https://"
    start = root if parts.path.startswith("/") else path.parent
    target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root):
        return "leads out of the site"
    if not target.is_file():
        return "leads to no file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "leads to no anchor of that page"
    return ""


def repeated_thumbnails(root: Path) -> Iterator[str]:
    """Yield the thumbnails that another example has, too."""
    seen: dict[bytes, str] = {}
    for path in sorted((root / "_images").glob("sphx_glr_*_thumb.png")):
        first = seen.setdefault(path.read_bytes(), path.name)
        if first != path.name:
            yield f"_images/{path.name}: the same picture as {first}; draw one in the example"


if __name__ == "__main__":
    site = Path(sys.argv[1])
    problems = [*broken_links(site), *repeated_thumbnails(site)]
    print(*problems, sep="\n")
    if problems:
        raise SystemExit(f"{len(problems)} broken links and thumbnails")
    print("all links lead somewhere, and all examples have a picture")
