"""Fill the figures of README and docs from committed results, or check that they agree.

    python benchmarks/claims.py                      # exit code 1 where a page and results differ
    python benchmarks/claims.py --write              # fill all pages
    python benchmarks/claims.py docs/user_guide/methods.md --write

A page shows a figure between ``<!-- begin: SOURCE/NAME -->`` and ``<!-- end: SOURCE/NAME -->``:
on lines of their own around a table or a sentence, or inside a line around a number. Such a line
must not begin with the comment, because Markdown would then take all of it for HTML.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from figures.annotation import annotation_figures
from figures.beyond import beyond_figures
from figures.decisions import decision_figures
from figures.leaderboard import leaderboard_figures
from figures.long_tail import long_tail_figures
from figures.losses import losses_figures
from figures.paper import fair_figures, paper_figures
from figures.practice import practice_figures, practice_gains, text_figures, today_figures
from figures.rivals import rivals_figures
from figures.scale import scale_figures
from figures.street import street_figures
from figures.unknown_labels import unknown_label_figures

ROOT = Path(__file__).resolve().parent.parent
# A source: the function that returns figures by name, and the folders of results/ that it reads.
SOURCES: dict[str, tuple[Callable[..., dict[str, str]], tuple[str, ...]]] = {
    "paper": (paper_figures, ("paper",)),
    "fair": (fair_figures, ("fair",)),
    "rivals": (rivals_figures, ("rivals",)),
    "beyond": (beyond_figures, ("paper", "beyond")),
    "practice": (practice_figures, ("practice",)),
    "practice-gains": (practice_gains, ("practice",)),
    "practice-sparse": (practice_figures, ("practice-sparse",)),
    "practice-text": (text_figures, ("practice-text",)),
    "practice-today": (today_figures, ("practice-today",)),
    "long-tail": (long_tail_figures, ("long_tail",)),
    "losses": (losses_figures, ("losses",)),
    "decisions": (decision_figures, ("decisions",)),
    "leaderboard": (leaderboard_figures, ("leaderboard",)),
    "scale": (scale_figures, ("scale",)),
    "street": (street_figures, ("street",)),
    "annotation": (annotation_figures, ("annotation",)),
    "unknown-labels": (unknown_label_figures, ("unknown_labels",)),
}
PLACE = re.compile(r"(<!-- begin: (\S+) -->)(.*?)(<!-- end: \2 -->)", re.DOTALL)
MARK = re.compile(r"<!-- (?:begin|end): (\S+) -->")
INLINE_AT_START = re.compile(r"^ {0,3}(<!-- begin: \S+ -->)[^\n]", re.MULTILINE)


@cache
def figures_of(source: str) -> dict[str, str]:
    """Return the figures of a source, as ``SOURCE/NAME``."""
    make, folders = SOURCES[source]
    found = make(*(ROOT / "results" / folder for folder in folders))
    return {f"{source}/{name}": text for name, text in found.items()}


def pages() -> list[Path]:
    """Return the pages that may show figures."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("[!_]*/*.md"))]


def fill(text: str) -> str:
    """Return a page with the figures of today in their places."""
    if wrong := INLINE_AT_START.search(text):
        raise ValueError(f"a line begins with {wrong[1]}: move a word before it")
    if left := MARK.search(PLACE.sub("", text)):
        raise ValueError(f"{left[0]} has no counterpart")

    def put(place: re.Match[str]) -> str:
        begin, name, old, end = place.groups()
        source = name.partition("/")[0]
        if source not in SOURCES or name not in figures_of(source):
            raise ValueError(f"no source has the figure {name}")
        edge = "\n" if old.startswith("\n") else ""
        return f"{begin}{edge}{figures_of(source)[name]}{edge}{end}"

    return PLACE.sub(put, text)


def unused(texts: Iterable[str]) -> list[str]:
    """Return the figures that no page shows."""
    shown = {name for text in texts for name in MARK.findall(text)}
    return [name for source in SOURCES for name in figures_of(source) if name not in shown]


def differing(old: str, new: str) -> list[str]:
    """Return the names of the places that differ."""
    pairs = zip(PLACE.finditer(old), PLACE.finditer(new))
    return [before[2] for before, after in pairs if before[3] != after[3]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="*", help="default: all")
    parser.add_argument("--write", action="store_true", help="fill the pages")
    options = parser.parse_args()
    problems = []
    for page in options.pages or pages():
        text = page.read_text(encoding="utf-8")
        try:
            filled = fill(text)
        except ValueError as error:
            problems.append(f"{page}: {error}")
            continue
        if options.write and filled != text:
            page.write_text(filled, encoding="utf-8")
            print(f"{page}: filled {', '.join(differing(text, filled))}")
        else:
            problems += [f"{page}: {name} differs" for name in differing(text, filled)]
    if not options.pages:
        problems += [
            f"no page shows {name}" for name in unused(page.read_text("utf-8") for page in pages())
        ]
    print("\n".join(problems) or "All figures of the pages are those of the results.")
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
