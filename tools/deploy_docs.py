"""Put a built site into its folder of the branch gh-pages, and push it.

    python tools/deploy_docs.py SITE REF [--no-push]   # REF: main, or a tag such as v0.1.2
    python tools/deploy_docs.py --folder REF           # print the folder of REF

``main`` goes to ``dev``, a tag to its MAJOR.MINOR; a pre-release has no folder. ``stable`` copies
the highest version, the front page leads there, and ``versions.json`` is what the menu shows.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from pathlib import Path

BRANCH = "gh-pages"
ATTEMPTS = 5  # to push, as another run may be faster
FRONT = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}/">\n'


def folder_of(ref: str) -> str | None:
    """Return the folder of a branch or tag, None for a pre-release.

    Examples
    --------
    >>> [folder_of(ref) for ref in ("main", "v0.1.2", "v0.2.0rc1")]
    ['dev', '0.1', None]
    """
    if ref == "main":
        return "dev"
    match = re.fullmatch(r"v(\d+\.\d+)\.\d+", ref)
    return match[1] if match else None


def place_site(site: Path, tree: Path, ref: str) -> bool:
    """Copy a site into a checkout of the branch; say whether anything was to do."""
    folder = folder_of(ref)
    if folder is None:
        return False
    replace_folder(site, tree / folder)
    versions = sorted(
        (path.name for path in tree.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)),
        key=lambda name: [int(part) for part in name.split(".")],
        reverse=True,
    )
    if versions:
        replace_folder(tree / versions[0], tree / "stable")
    first = "stable" if versions else "dev"
    (tree / "index.html").write_text(FRONT.format(first), encoding="utf-8")
    names = [*(["stable"] if versions else []), "dev", *versions]
    menu = [{"name": name, "version": name, "url": f"../{name}/"} for name in names]
    (tree / "versions.json").write_text(json.dumps(menu, indent=1) + "\n", encoding="utf-8")
    (tree / ".nojekyll").touch()  # folders that start with _ are part of the site
    for name in ("llms.txt", "sitemap.xml"):
        if (tree / first / name).exists():
            shutil.copy(tree / first / name, tree / name)
    return True


def replace_folder(source: Path, target: Path) -> None:
    """Copy a folder over another, of which nothing stays."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def git(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=folder, check=True, text=True, capture_output=True)


def open_branch(root: Path, tree: Path) -> None:
    """Check the branch out, or begin it."""
    there = git("ls-remote", "--heads", "origin", BRANCH, folder=root).stdout
    if there:
        git("fetch", "origin", BRANCH, folder=root)
        git("worktree", "add", "-B", BRANCH, str(tree), f"origin/{BRANCH}", folder=root)
    else:
        git("worktree", "add", "--detach", str(tree), folder=root)
        git("checkout", "--orphan", BRANCH, folder=tree)
        git("rm", "-rf", "--quiet", "--ignore-unmatch", ".", folder=tree)


def publish(site: Path, ref: str, root: Path, *, push: bool) -> str:
    """Commit a site to the branch, push it, and say what was done."""
    tree = root / "gh-pages-tree"
    open_branch(root, tree)
    if not place_site(site, tree, ref):
        return f"{ref} is a pre-release: nothing to publish"
    git("add", "--all", folder=tree)
    if not git("status", "--porcelain", folder=tree).stdout:
        return "The site is as it was"
    author = ["-c", "user.name=github-actions", "-c", "user.email=actions@users.noreply.github.com"]
    git(*author, "commit", "--quiet", "-m", f"Publish the site of {ref}", folder=tree)
    if push:
        git("push", "origin", BRANCH, folder=tree)
    return f"Published {folder_of(ref)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, nargs="?")
    parser.add_argument("ref")
    parser.add_argument("--folder", action="store_true")
    parser.add_argument("--no-push", action="store_true")
    given = parser.parse_args()
    if given.folder:
        print(folder_of(given.ref) or "dev")
        return 0
    root = Path.cwd()
    for attempt in range(ATTEMPTS):
        try:
            print(publish(given.site, given.ref, root, push=not given.no_push))
            return 0
        except subprocess.CalledProcessError as error:
            # The run of another branch or tag may have pushed in between.
            if error.cmd[1] != "push" or attempt == ATTEMPTS - 1:
                raise
            git("worktree", "remove", "--force", "gh-pages-tree", folder=root)
            git("branch", "-D", BRANCH, folder=root)  # begin again from what was pushed
    raise AssertionError("the last attempt returns or raises")


if __name__ == "__main__":
    raise SystemExit(main())
