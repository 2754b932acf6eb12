"""A release is one version everywhere: tag, package, citation, changelog.

    python .ci/check_release.py v0.2.0 [NOTES]

Prints what is wrong and fails, or writes the changelog's section to the file NOTES.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def found(pattern: str, file: str) -> str:
    """Return the version that a file states, or a dash."""
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.M)
    return match[1] if match else "-"


def section(version: str) -> str | None:
    """Return what the changelog says of a version, without its heading."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)"
    match = re.search(heading, text, flags=re.M | re.S)
    return match[1].strip() if match else None


def main(tag: str, notes: str | None = None) -> int:
    version = tag.removeprefix("v")
    stated = {
        "src/labelance/__init__.py": found(r'^__version__ = "(.+)"$', "src/labelance/__init__.py"),
        "CITATION.cff": found(r"^version: (.+)$", "CITATION.cff"),
    }
    wrong = [f"{file} says {it}, the tag {version}" for file, it in stated.items() if it != version]
    changes = section(version)
    if not changes:
        wrong.append(f"CHANGELOG.md has no section '## [{version}] - YEAR-MONTH-DAY' with changes")
    if wrong:
        print("\n".join(wrong))
        return 1
    if notes:
        Path(notes).write_text(changes + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
