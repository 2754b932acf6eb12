"""Count words that plain English does not need, in comments, strings and pages; fail if more.

The limits are in ``prose_limits.json`` and may only fall: ``python tools/check_prose.py --update``
lowers them. The subject of the last commit is checked as well: at most 72 characters, a capital
letter first, no period at the end.
"""

import argparse
import ast
import json
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMITS = HERE / "prose_limits.json"
INSTEAD = {
    "anew": "again",
    "anybody": "name the actor",
    "behind": "after",
    "beside": "next to",
    "came": "got",
    "everybody": "name the actor",
    "goes on": "resumes",
    "mend": "fix",
    "nobody": "name the actor",
    "so many": "name the quantity",
    "somebody": "name the actor",
    "sooner": "faster",
    "told": "given",
    "whoever": "name the actor",
    "whole number": "integer",
}
_WORDS = re.compile(rf"\b({'|'.join(INSTEAD)})s?\b", re.IGNORECASE)


def find_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the prose of a file with its lines: all of a page, comments and strings of Python."""
    if path.suffix == ".md":
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from enumerate(node.value.splitlines(), node.lineno)
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def find_words(root: Path) -> list[tuple[str, str]]:
    """Return every word of the list with its place."""
    paths = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
    for folder in ("src", "examples", "tools", ".ci"):
        paths += root.glob(f"{folder}/**/*.py")
    return [
        (match[1].lower(), f"{path.relative_to(root)}:{line}")
        for path in sorted(paths)
        if path.name not in ("CHANGELOG.md", Path(__file__).name)  # history, and this list
        for line, text in find_texts(path)
        for match in _WORDS.finditer(text)
    ]


def subject_problem(subject: str) -> str | None:
    """Return what is wrong with the first line of a commit, or None."""
    if len(subject) > 72:
        return f"has {len(subject)} characters, and 72 is the limit"
    if subject.endswith("."):
        return "ends with a period"
    return None if subject[:1].isupper() else "does not start with a capital letter"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=HERE.parent, help="another checkout")
    parser.add_argument("--limits", type=Path, default=LIMITS, help="another file of limits")
    parser.add_argument("--update", action="store_true", help="lower the limits to these counts")
    parser.add_argument("--list", action="store_true", help="print every place")
    options = parser.parse_args(arguments)
    found = find_words(options.root.resolve())
    counts = Counter(word for word, _ in found)
    limits = json.loads(options.limits.read_text()) if options.limits.exists() else {}
    above = [word for word in INSTEAD if counts[word] > limits.get(word, 0)]
    for word, instead in INSTEAD.items():
        over = f"  above its limit; write: {instead}" if word in above else ""
        print(f"{word:<14} {counts[word]:>5} {limits.get(word, 0):>5}{over}")
    for word, place in found:
        if options.list or word in above:
            print(f"{place}: {word}")
    if options.update:
        lower = {word: min(counts[word], limits.get(word, counts[word])) for word in INSTEAD}
        options.limits.write_text(json.dumps(lower, indent=1) + "\n")
        return 0
    log = ["git", "-C", str(options.root), "log", "-1", "--no-merges", "--format=%s"]
    subject = subprocess.run(log, capture_output=True, text=True, check=False).stdout.strip()
    problem = subject_problem(subject) if subject else None
    if problem:
        print(f"the subject of the last commit {problem}: {subject}")
    return 1 if above or problem else 0


if __name__ == "__main__":
    raise SystemExit(main())
